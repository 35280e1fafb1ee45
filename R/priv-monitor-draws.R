# Which announced periods of which growing release were drawn: what is paid for once must not be
# drawn twice. A ledger remembers for its releases, the session for the others.

#' Let a ledger remember a release whose periods it paid for
#' @param id (`string` or `NULL`)\cr of the release; `NULL`: it does not grow.
#' @noRd
reserve_draws <- function(ledger, id) {
  if (!is.null(ledger) && !is.null(id)) ledger$monitors[[id]] <- list(periods = integer())
  invisible()
}

#' Take one of a release's announced draws, or fail without a trace
#'
#' Written down before anything is drawn, as a charge is.
#' @param monitor (`list`)\cr of the release.
#' @param period (`count`)\cr the period to be drawn, counted from the first new one.
#' @param again (`flag`)\cr draw a period a second time, from one of the other announced shares.
#' @return How many of the announced draws are taken now.
#' @section Errors: `dpsc_error_monitor`, `dpsc_error_budget`.
#' @noRd
take_draw <- function(monitor, period, ledger, again) {
  check_draw_ledger(monitor, ledger)
  known <- if (monitor$paid) ledger$monitors[[monitor$id]] else session$monitors[[monitor$id]]
  # What the fit itself knows: it may come from another session.
  known <- list(
    periods = union(known$periods, seq_along(monitor$periods)),
    taken = max(monitor$drawn, known$taken)
  )
  if (known$taken >= monitor$announced) {
    abort(c(
      "All {monitor$announced} announced periods of this release were drawn.",
      i = "A release for more periods is a new one."
    ), c("monitor", "budget"))
  }
  if (period %in% known$periods && !again) {
    abort(c(
      "This period of this release was drawn before.",
      x = "A second look at the same share of the budget would not be private.",
      i = paste(
        "Use the fit that the first call of",
        "{.fn update} gave. If it is lost, {.code again = TRUE} draws anew and takes the share of",
        "one of the {monitor$announced - known$taken} announced period{?s} that {?is/are} left."
      )
    ), c("monitor", "budget"))
  }
  known$periods <- union(known$periods, as.integer(period))
  known$taken <- known$taken + 1L
  if (monitor$paid) {
    ledger$monitors[[monitor$id]] <- known
  } else {
    session$monitors[[monitor$id]] <- known
  }
  known$taken
}

#' Is this the ledger that paid for the release's periods?
#' @noRd
check_draw_ledger <- function(monitor, ledger) {
  check_ledger(ledger)
  if (!monitor$paid) {
    if (!is.null(ledger)) {
      abort(c(
        "This release was not paid for from a ledger.",
        i = "Leave {.arg ledger} out: its periods were paid for when it was made."
      ), "monitor")
    }
    return(invisible())
  }
  if (is.null(ledger)) {
    abort(c(
      "{.arg ledger} is required: the one that paid for this release's periods.",
      i = "It remembers which of them were drawn, and is not charged again."
    ), "monitor")
  }
  check_live(ledger)
  if (is.null(ledger$monitors[[monitor$id]])) {
    abort(c(
      "This ledger did not pay for this release's periods.",
      i = "Give the ledger that the release was made with."
    ), "monitor")
  }
}
