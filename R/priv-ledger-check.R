# Ledgers that a machine demands.

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
