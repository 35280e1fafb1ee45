# The spine: every release that the package makes, of whatever verb, is made by this one function,
# the only place that charges a ledger. A verb parses the user's arguments into a request, and gives
# it to make_release(); the verb's own steps are functions of its record, below.

#' The request of a verb
#'
#' Its record is a list of functions of the request and, except `plan`, of the plan. None charges.
#'
#' * `plan`: shares, noise and `cost`, from public facts alone. PUBLIC.
#' * `refuse` (may be absent): stops where the plan is known to be hopeless.
#' * `open` (absent where the request's `people` are the rows): the rows, ready to be read or
#'   queried; faults of rows or of an engine stop here. PRIVATE.
#' * `promise`: `holds`, `reason`, `theorem` and the like. PUBLIC.
#' * `label`: the charge's name in the ledger. PUBLIC.
#' * `run`, of the rows, too: draws. RELEASED.
#' @param record (`list`)\cr as above.
#' @param public (`list`, PUBLIC)\cr the checked request: `private`, and the facts that the record
#'   needs.
#' @param people (PRIVATE)\cr the holder of the rows; the argument of the record's `open`. `NULL`
#'   for a stream, whose rows arrive later.
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

#' Make a release: plan, refuse, open, promise, charge, draw
#'
#' Whatever can fail for a public reason fails before the charge, and the charge comes before the
#' draw. A failure in the draw keeps its charge: [after_charge()] adds that to errors of rows.
#' @return A list: `plan`, `promise`, `charge` (from [spend()]; PUBLIC) and `drawn`, the value of
#'   the record's `run`. RELEASED.
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
  drawn <- record$run(request, plan, after_charge(rows, private))
  list(plan = plan, promise = promise, drawn = drawn, charge = charge)
}

#' A release, or an object that holds one, with the charge that paid for it
#' @param charge (`list` or `NULL`)\cr from [spend()]. PUBLIC.
#' @noRd
with_charge <- function(x, charge, where = "privacy") {
  x[[where]]$charge <- charge
  x
}
