# Runs of the audited mechanism.

#' Run a function many times, with a progress bar for long computations
#' @param run (`function`)\cr a function of the number of the run.
#' @return A list.
#' @noRd
repeat_runs <- function(n_runs, run) {
  bar <- cli::cli_progress_bar("Auditing", total = n_runs)
  on.exit(cli::cli_progress_done(id = bar))
  lapply(seq_len(n_runs), function(i) {
    result <- run(i)
    cli::cli_progress_update(id = bar)
    result
  })
}

#' A release of this package
#'
#' @param panel (`matrix`)\cr rows of donors; with `protect = "everyone"`, followed by the treated
#'   people's rows.
#' @param release (`function`)\cr the verb, or a copy with a fault planted by a test.
#' @return A `dp_release`.
#' @noRd
run_release <- function(mechanism, panel, release = dp_release.matrix) {
  donors <- seq_len(nrow(panel) - (mechanism$treated %||% 0))
  # Warnings about delta do not concern the audit.
  withCallingHandlers(
    release(panel[donors, , drop = FALSE],
      target = mechanism$target %||% panel[-donors, , drop = FALSE], T0 = mechanism$T0,
      epsilon = mechanism$epsilon, delta = mechanism$delta, bounds = mechanism$bounds,
      method = mechanism$method,
      calibration = mechanism$calibration, control = mechanism$control,
      protect = mechanism$protect %||% "donors"
    ),
    dpsc_warning_delta = function(w) invokeRestart("muffleWarning")
  )
}

#' A function from a panel to a vector of numbers
#' @noRd
as_black_box <- function(mechanism, ...) {
  if (is.function(mechanism)) {
    return(function(panel) mechanism(panel, ...))
  }
  if (is.function(mechanism$verb)) {
    return(function(people) numbers_only(released_numbers(run_verb(mechanism, people))))
  }
  function(panel) {
    mechanism_table$dp_synth[[mechanism$method]]$numbers(run_release(mechanism, panel)$statistics)
  }
}

numbers_only <- function(x) {
  x <- suppressWarnings(as.numeric(x))
  x[!is.na(x)]
}
