# Records of drawn periods of growing releases: a period that is paid for once must not be drawn
# twice. A ledger records the draws of its releases, the session all other draws. A ledger outside R
# contains one row per draw, which costs nothing and belongs to the chain of hashes, like a charge.

#' Record a growing release in the ledger that was charged for its periods
#' @param id (`string` or `NULL`)\cr the identifier of the release; `NULL` for a release that does
#'   not grow.
#' @noRd
reserve_draws <- function(ledger, id) {
  if (is.null(ledger) || is.null(id)) return(invisible())
  if (is_outside(ledger)) {
    in_ledger(ledger, function(con) add_draw_row(con, ledger, "grows", draw_label(id, 0L, 0L)))
  } else {
    ledger$monitors[[id]] <- list(periods = integer())
  }
  invisible()
}

#' Take one of a release's announced draws, or fail without a trace
#'
#' Like a charge, the draw is recorded before noise is drawn.
#' @param monitor (`list`)\cr the field `monitor` of the release.
#' @param period (`count`)\cr the period to be drawn, counted from the first new one.
#' @param again (`flag`)\cr whether to draw a period a second time, with the share of another
#'   announced period.
#' @return A list: `taken`, the number of announced draws that were used, and, for a ledger outside
#'   R, `hash`, the hash of the ledger after the record of the draw. PUBLIC.
#' @section Errors: `dpsc_error_monitor`, `dpsc_error_budget`.
#' @noRd
take_draw <- function(monitor, period, ledger, again) {
  # As for a charge, the ledger of the session or the machine replaces a missing ledger.
  if (monitor$paid) ledger <- paying_ledger(ledger, TRUE)
  check_draw_ledger(monitor, ledger)
  if (monitor$paid && is_outside(ledger)) {
    return(take_draw_outside(monitor, period, ledger, again))
  }
  known <- if (monitor$paid) ledger$monitors[[monitor$id]] else session$monitors[[monitor$id]]
  known <- next_draw(monitor, period, known, again)
  if (monitor$paid) {
    ledger$monitors[[monitor$id]] <- known
  } else {
    session$monitors[[monitor$id]] <- known
  }
  list(taken = known$taken)
}

#' The draws of a release with a further draw, or an error if this draw is not permitted
#' @param known (`list` or `NULL`)\cr `periods`, `taken`: the earlier records.
#' @return The records with this draw.
#' @noRd
next_draw <- function(monitor, period, known, again) {
  # The record in the fit, which may come from another session.
  known <- list(
    periods = union(known$periods, seq_along(monitor$periods)),
    taken = max(monitor$drawn, known$taken)
  )
  if (known$taken >= monitor$announced) {
    abort(c(
      "All {monitor$announced} announced periods of this release have been drawn.",
      i = "Make a new release for more periods."
    ), c("monitor", "budget"))
  }
  if (period %in% known$periods && !again) {
    abort(c(
      "This period of this release was drawn before.",
      x = "A second draw under the same share of the budget would not be private.",
      i = paste(
        "Use the fit that the first call of",
        "{.fn update} returned. If this fit is lost, {.code again = TRUE} uses the share of",
        "one of the {monitor$announced - known$taken} remaining period{?s} for a second draw."
      )
    ), c("monitor", "budget"))
  }
  known$periods <- union(known$periods, as.integer(period))
  known$taken <- as.integer(known$taken) + 1L
  known
}

#' Use a draw in a ledger outside R, which is read and written while other writers are excluded
#' @noRd
take_draw_outside <- function(monitor, period, ledger, again) {
  in_ledger(ledger, function(con) {
    known <- draws_outside(con, ledger, monitor$id)
    if (is.null(known)) stop_draw_ledger()
    known <- next_draw(monitor, period, known, again)
    hash <- add_draw_row(con, ledger, "draw", draw_label(monitor$id, period, known$taken))
    list(taken = known$taken, hash = hash)
  })
}

draw_label <- function(id, period, taken) {
  paste0("release ", id, ", period ", period, ", draw ", taken)
}

#' A growing release's records in a ledger outside R
#' @return A list: `periods`, `taken`; `NULL` if the ledger was not charged for the release.
#' @noRd
draws_outside <- function(con, ledger, id) {
  rows <- chained_rows(con, ledger)
  labels <- rows$label[!is_charge_row(rows)]
  labels <- labels[startsWith(labels, paste0("release ", id, ", "))]
  if (!length(labels)) return(NULL)
  of <- function(name) as.integer(sub(paste0(".*, ", name, " ([0-9]+).*"), "\\1", labels))
  list(periods = setdiff(of("period"), 0L), taken = max(of("draw")))
}

#' Record a growing release, or the draw of one of its periods
#' @return The row's hash.
#' @noRd
add_draw_row <- function(con, ledger, kind, label) {
  nothing <- list(
    kind = kind, epsilon = NA_real_, delta = NA_real_, rho = NA_real_, mu = NA_real_
  )
  add_charge_row(con, ledger, chained_rows(con, ledger), nothing, label)$hash
}

#' Was this ledger charged for the release's periods?
#' @noRd
check_draw_ledger <- function(monitor, ledger) {
  check_ledger(ledger)
  if (!monitor$paid) {
    if (!is.null(ledger)) {
      abort(c(
        "This release was not charged to a ledger.",
        i = "Leave {.arg ledger} out: the budget of the release already covers its periods."
      ), "monitor")
    }
    return(invisible())
  }
  if (is.null(ledger)) {
    abort(c(
      "{.arg ledger} is required: the ledger that paid for this release's periods.",
      i = "The ledger records which periods have been drawn, and is not charged again."
    ), "monitor")
  }
  check_live(ledger)
  if (!is_outside(ledger) && is.null(ledger$monitors[[monitor$id]])) stop_draw_ledger()
}

stop_draw_ledger <- function() {
  abort(c(
    "This ledger did not pay for this release's periods.",
    i = "Give the ledger that paid for the release."
  ), "monitor")
}
