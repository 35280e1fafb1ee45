# Donors outside R, opened for one release: blocks of integers that stream to the core, or sums that
# the engine computes. They are opened before the charge, so that errors in rows or in the engine
# cost no budget, and closed after the last pass.

#' Open donors for the passes of one release
#'
#' @param donors (`any`)\cr a panel's donors: `dp_elsewhere`, or a matrix or chunks, which are
#'   returned unchanged. PRIVATE.
#' @param public (`list`)\cr from `public_facts()`.
#' @param calibrated (`flag`)\cr whether intervals will be calibrated, which needs rows.
#' @return The input of the core and of [sum_over_donors()]: a matrix, `dp_chunks`, `dp_asked` or
#'   `dp_joined`. PRIVATE.
#' @section Errors: `dpsc_error_panel`, `dpsc_error_engine`, `dpsc_error_argument`.
#' @noRd
open_donors <- function(donors, public, calibrated) {
  if (!inherits(donors, "dp_elsewhere")) {
    return(donors)
  }
  grid <- if (public$private) grid_of(public$bounds, NROW(public$covariates), public$T0)
  open_all(donors$parts, open_part, donors$design, grid, calibrated, then = function(opened) {
    if (sum(vapply(opened, count_rows, 0)) != donors$n) {
      abort(c(
        "The panel must be balanced: every unit must have a row in every period.",
        x = "Donors' rows have changed, or do not match the units and periods found before."
      ), "panel")
    }
    join_rows(opened)
  })
}

#' Open all parts, the tables of one connection in one state of its database; after any failure,
#' close the parts that are open
#' @param open (`function`)\cr a function from a part and `...` to the rows of the part.
#' @param then (`function`)\cr a function from the list of open parts to the returned value.
#' @noRd
open_all <- function(parts, open, ..., then) {
  opened <- list()
  done <- FALSE
  on.exit(if (!done) close_donors(list(parts = opened)))
  in_common_snapshot(parts, function() {
    for (part in parts) opened <<- c(opened, list(open(part, ...)))
  })
  out <- then(stats::setNames(opened, names(parts)))
  done <- TRUE
  out
}

count_rows <- function(rows) {
  if (is.matrix(rows)) return(as.double(nrow(rows)))
  as.double(rows$n %||% sum(vapply(rows$sizes, function(size) as.double(size[[1L]]), 0)))
}

# Parts -------------------------------------------------------------------------------------------

#' Open one part of a panel's donors for a release
#' @param part (`dp_table`, `dp_workers`, `matrix` or `dp_chunks`). PRIVATE.
#' @param design (`list`)\cr `outcome`, `treated`, `on`, `periods`, `units`. PUBLIC.
#' @param grid (`list` or `NULL`)\cr from `grid_of()`; `NULL` without privacy.
#' @noRd
open_part <- function(part, design, grid, calibrated) UseMethod("open_part")

#' @noRd
#' @exportS3Method
open_part.default <- function(part, design, grid, calibrated) part

#' Turn a table's long rows into one row per person, and return a function that reads or sums them
#' @noRd
#' @exportS3Method
open_part.dp_table <- function(part, design, grid, calibrated) {
  check_own_process(part)
  here <- part$compute == "here"
  if (is.null(grid)) refuse_source(part, "blocks", "{.code epsilon = Inf}")
  if (!here) {
    check_calibration(part, calibrated)
    prove_engine(part)
  }
  wide <- make_wide(part, design, grid, sql_covariates)
  if (here) {
    if (!is.null(design$covariates)) wide <- raw_covariates(wide, design$covariates)
    return(stream_rows(wide))
  }
  rows <- asked_table(wide)
  if (calibrated) rows$ready()
  rows
}

#' Refuse calibration, which needs rows, unless the user permits rows to leave the source
#' @noRd
check_calibration <- function(source, calibrated) {
  if (calibrated && !source$calibrate) {
    abort(c(
      paste(
        "Intervals are calibrated by the placebo errors of up to 100,000 donors, whose rows",
        "would leave their source."
      ),
      i = paste(
        "Permit this by {.code calibrate = TRUE}, or request a release without intervals:",
        "{.code control = dp_control(intervals = FALSE)}."
      )
    ), "argument")
  }
}

# The core's questions -----------------------------------------------------------------------------

#' The core's question to a source that returns sums; called by the core
#' @param donors (`dp_asked`). PRIVATE.
#' @return Sums without noise, for the core alone. PRIVATE.
#' @noRd
answer_question <- function(donors, question) {
  charged <- isTRUE(donors$charged)
  sums <- classed(donors$ask(question, charged), charged)
  # A row was lost or added between two passes.
  if (!identical(sums$rows, donors$n)) abort_changed(charged)
  sums
}

#' Rows at some positions of a source, for a permitted calibration; called by the core
#' @param places (`environment`)\cr `at`, positions in increasing order, from 0; without `at` all
#'   rows. PRIVATE: the positions are in no message, and in no call that a traceback would show.
#' @return A list: `blocks` of rows, and `rows`, their total number. PRIVATE.
#' @noRd
sample_rows <- function(donors, places) {
  if (!donors$calibrate) {
    abort(c(
      "This computation needs rows, but the rows stay at their source.",
      i = if (isTRUE(donors$charged)) charge_stays
    ), c("engine", "panel"))
  }
  charged <- isTRUE(donors$charged)
  blocks <- classed(donors$sample(places, charged), charged)
  list(blocks = if (is.list(blocks)) blocks else list(blocks), rows = donors$n)
}
