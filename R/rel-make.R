# This function makes every release of every verb, and it alone charges a ledger. A verb parses the
# user's arguments into a request and calls make_release(). The steps that differ between verbs are
# functions in the record of the verb, below (not in the record of a method, R/mech-record.R).

#' The request of a verb
#'
#' A request contains the verb's record, a list of functions of the request and, except for `plan`,
#' of the plan. These functions do not charge a budget.
#'
#' * `plan`: returns shares, noise and `cost`, from public facts alone. PUBLIC.
#' * `refuse` (optional): stops if the plan cannot succeed.
#' * `open` (optional): returns the rows, ready to be read or queried, and stops at faults of rows
#'   or of an engine. Without `open` the request's `people` are the rows. PRIVATE.
#' * `promise`: returns `holds`, `reason`, `theorem` and similar fields. PUBLIC.
#' * `label`: returns the name of the charge in the ledger. PUBLIC.
#' * `run`: draws the release, as a function also of the rows. RELEASED.
#' @param record (`list`)\cr the verb's record, as above.
#' @param public (`list`, PUBLIC)\cr the checked request: `private`, and the facts that the verb's
#'   record needs.
#' @param people (PRIVATE)\cr the object that `open` turns into rows, or without `open` the rows.
#'   `NULL` for a stream, which receives its rows later.
#' @param ledger (`dp_ledger` or `NULL`)\cr charged if the release is private.
#' @noRd
new_request <- function(record, public, people, ledger) {
  stopifnot(
    all(c("plan", "promise", "label", "run") %in% names(record)),
    names(record) %in% c("plan", "refuse", "open", "promise", "label", "run")
  )
  list(
    record = record, public = public, people = people,
    ledger = paying_ledger(ledger, public$private)
  )
}

#' Make a release by the steps plan, refuse, open, promise, charge, draw
#'
#' Every check by public facts precedes the charge, and the charge precedes the draw. After a
#' failure in the draw the charge remains, and [after_charge()] states this fact in errors of rows.
#' @return A list: `plan`, `promise`, `charge` (from [spend()]; PUBLIC) and `drawn`, the value of
#'   `run`. RELEASED.
#' @noRd
make_release <- function(request) {
  record <- request$record
  private <- request$public$private
  first <- start_waiting()
  on.exit(stop_waiting(first))
  plan <- record$plan(request)
  if (!is.null(record$refuse)) record$refuse(request, plan)
  rows <- if (is.null(record$open)) request$people else record$open(request, plan)
  on.exit(close_donors(rows), add = TRUE, after = FALSE)
  promise <- record$promise(request, plan)
  charge <- NULL
  if (private) {
    check_composed(plan$steps, plan$cost, promise$holds)
    charge <- spend(request$ledger, plan$cost, record$label(request, plan), promise)
  }
  if (is.list(rows)) rows <- after_charge(rows, private)
  drawn <- record$run(request, plan, rows)
  list(plan = plan, promise = promise, drawn = drawn, charge = charge)
}

#' A release, or an object that contains a release, with its charge
#' @param charge (`list` or `NULL`)\cr from [spend()]. PUBLIC.
#' @noRd
with_charge <- function(x, charge, where = "privacy") {
  x[[where]]$charge <- charge
  x
}
