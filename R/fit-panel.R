# From a panel or a release to a fit: what all ways of calling dp_synth() share. Donors are read by
# the release only, or by the classical estimators.

#' From a checked panel to a fit
#' @noRd
fit_panel <- function(panel, epsilon, delta, bounds, method, calibration, estimator, size,
                      ledger, control, call, protect = NULL, monitor = NULL) {
  panel <- guard_panel(panel, protect, is_private(epsilon), method, size, bounds, call)
  # The release is for the group's mean.
  panel$size <- panel$size %||% check_size(size, nrow(panel$target), call)
  if (is_classical(estimator)) {
    check_can_grow(list(monitor = monitor, private = FALSE), call)
    return(fit_raw_panel(panel, epsilon, estimator, ledger, control, call))
  }
  method <- check_choice(method, names(mechanisms()), call = call)
  estimator <- check_estimator(estimator, method, call)
  release <- release_panel(
    panel, epsilon, delta, bounds, method, calibration, ledger, control, call, estimator,
    panel$size, refuse = TRUE, monitor = monitor
  )
  fit <- fit_released(release, panel, estimator, call)
  warn_doubts(fit_doubts(fit), call)
  fit
}

#' A classical estimator on a panel of one date or several. NOT PRIVATE.
#' @noRd
fit_raw_panel <- function(panel, epsilon, estimator, ledger, control, call) {
  size <- panel$size
  panel$size <- NULL
  one <- function(panel) fit_classical_panel(panel, epsilon, estimator, ledger, control, call)
  if (is.null(panel$adopted)) one(panel) else classical_cohorts(panel, size, one)
}

#' The fit of a release's own targets
#' @param panel (`dpsc_panel`)\cr with `size`; its donors are not read.
#' @noRd
fit_released <- function(release, panel, estimator, call) {
  public <- is.null(panel$treated)
  target <- if (public) panel$target
  covariates <- if (public) panel$covariates$target
  if (!is.null(panel$adopted)) {
    fit_one <- function(...) fit_release(..., call = call)
    return(fit_cohorts(
      release, target, panel$adopted, estimator, panel$size, fit_one, covariates
    ))
  }
  fit_release(release, target, estimator, panel$size, call, covariates)
}

#' The fit of the protected people that a release holds
#' @noRd
fit_protected <- function(release, estimator, call) {
  dates <- release$statistics$cohorts$T0
  if (is.null(dates)) {
    return(fit_release(release, NULL, estimator, NULL, call))
  }
  people <- release$panel$treated
  fit_one <- function(...) fit_release(..., call = call)
  fit_cohorts(release, NULL, rep(dates, people), estimator, rep(1, sum(people)), fit_one)
}
