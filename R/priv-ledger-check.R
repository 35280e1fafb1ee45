# Ledgers checked by those who did not make them, and ledgers that a machine demands.

#' Check a ledger that lives outside R
#'
#' Each row of such a ledger holds a hash of itself and of the row before it. An edit of a row, a
#' row that went or came in between, and another order are found. Rows cut off at the end, or an
#' older copy of the whole ledger, leave a chain that is whole: they are found with the `receipts`
#' of releases, or not at all, and it is said which.
#'
#' @param ledger (`dp_ledger`)\cr a ledger made with `path` or `con`.
#' @param receipts (`character`)\cr hashes of charges that are known to have been made, as
#'   `as.data.frame(ledger)$hash` has them, kept elsewhere.
#' @return A list of class `dp_ledger_check`: `whole` (flag), `broken` (numbers of rows), `missing`
#'   (receipts that are not in the ledger), `charges` (count), `complete` (`NA`: cannot be told).
#'   PUBLIC.
#' @section Errors: `dpsc_error_argument` for a ledger that lives in R.
#' @examplesIf rlang::is_installed(c("RSQLite", "openssl"))
#' file <- tempfile(fileext = ".sqlite")
#' ledger <- dp_ledger(epsilon = 1, delta = 1e-6, path = file)
#' verify_ledger(ledger)
#' @export
verify_ledger <- function(ledger, receipts = character()) door("verify_ledger", {
  check_ledger(ledger)
  if (!is_outside(ledger)) {
    abort(c(
      "Only a ledger that lives outside R can be verified.",
      i = "Make one with {.code dp_ledger(path = )} or {.code dp_ledger(con = )}."
    ), "argument")
  }
  rows <- in_ledger(ledger, function(con) raw_ledger_rows(con, ledger), writes = FALSE)
  broken <- broken_rows(rows)
  missing <- setdiff(receipts, rows$hash)
  structure(list(
    whole = !length(broken) && !length(missing), broken = broken, missing = missing,
    charges = sum(rows$number > 0), complete = if (length(receipts)) !length(missing) else NA
  ), class = "dp_ledger_check")
})

#' @export
print.dp_ledger_check <- function(x, ...) {
  cat("Ledger: ", x$charges, " charges, ", sep = "")
  cat(if (length(x$broken)) {
    paste0("CHANGED: rows that do not follow from those before: ", toString(x$broken), "\n")
  } else {
    "each row follows from the one before\n"
  })
  cat(if (is.na(x$complete)) {
    "Whether rows were cut off at the end cannot be told without receipts of releases.\n"
  } else if (x$complete) {
    "All receipts are in it; what came after the last of them cannot be told.\n"
  } else {
    paste0("ROWS ARE MISSING: ", length(x$missing), " receipts are not in it.\n")
  })
  invisible(x)
}

#' The ledger that a call pays from: its own, or the one that the session or the machine demands
#'
#' `options(dpsc.ledger = )` or the environment's `DPSC_LEDGER`, a path; with
#' `options(dpsc.require_ledger = TRUE)` or `DPSC_REQUIRE_LEDGER=1` none is an error.
#' @noRd
paying_ledger <- function(ledger, private) {
  if (!is.null(ledger) || !private) return(ledger)
  ledger <- getOption("dpsc.ledger")
  path <- Sys.getenv("DPSC_LEDGER")
  if (is.null(ledger) && nzchar(path)) ledger <- dp_ledger(path = path)
  if (is.null(ledger) && ledger_is_required()) {
    abort(c(
      "A private call needs a ledger here.",
      x = "{.code dpsc.require_ledger}, or {.envvar DPSC_REQUIRE_LEDGER}, says so.",
      i = "Give {.arg ledger}, or set {.code options(dpsc.ledger = dp_ledger(...))}."
    ), "budget")
  }
  check_ledger(ledger)
}

ledger_is_required <- function() {
  isTRUE(getOption("dpsc.require_ledger")) ||
    tolower(Sys.getenv("DPSC_REQUIRE_LEDGER")) %in% c("1", "true", "yes")
}

#' Refuse a growing release from a ledger outside R, which keeps no list of periods drawn
#' @noRd
check_keeps_draws <- function(ledger) {
  if (!is.null(ledger) && is_outside(ledger)) {
    abort(c(
      "A ledger outside R does not pay for {.arg monitor} yet.",
      x = "It keeps charges, and no list of the periods that were drawn.",
      i = "Use a ledger in this session for it, of a part of the budget."
    ), "budget")
  }
}
