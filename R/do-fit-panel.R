# From a panel or a release to a fit: what all ways of calling dp_synth() share. Donors are read by
# the release only, or by the classical estimators.

#' From a checked panel to a fit
#' @noRd
fit_panel <- function(panel, epsilon, delta, bounds, method, calibration, estimator, size,
                      ledger, control, protect = NULL, monitor = NULL) {
  panel <- guard_panel(panel, protect, is_private(epsilon), method, size, bounds)
  # The release is for the group's mean.
  panel$size <- panel$size %||% check_size(size, nrow(panel$target))
  if (is_classical(estimator)) {
    check_can_grow(list(monitor = monitor, private = FALSE))
    return(fit_raw_panel(panel, epsilon, estimator, ledger, control))
  }
  method <- check_choice(method, names(mechanisms()))
  estimator <- check_estimator(estimator, method)
  release <- release_panel(
    panel, epsilon, delta, bounds, method, calibration, ledger, control, estimator,
    panel$size, refuse = TRUE, monitor = monitor
  )
  fit <- fit_released(release, panel, estimator)
  warn_doubts(fit_doubts(fit))
  fit
}

#' A classical estimator on a panel of one date or several. NOT PRIVATE.
#' @noRd
fit_raw_panel <- function(panel, epsilon, estimator, ledger, control) {
  size <- panel$size
  panel$size <- NULL
  one <- function(panel) fit_classical_panel(panel, epsilon, estimator, ledger, control)
  if (is.null(panel$adopted)) one(panel) else classical_cohorts(panel, size, one)
}

#' The fit of a release's own targets
#' @param panel (`dpsc_panel`)\cr with `size`; its donors are not read.
#' @noRd
fit_released <- function(release, panel, estimator) {
  public <- is.null(panel$treated)
  target <- if (public) panel$target
  covariates <- if (public) panel$covariates$target
  if (!is.null(panel$adopted)) {
    fit_one <- function(...) fit_release(...)
    return(fit_cohorts(
      release, target, panel$adopted, estimator, panel$size, fit_one, covariates
    ))
  }
  fit_release(release, target, estimator, panel$size, covariates)
}

#' The fit of the protected people that a release holds
#' @noRd
fit_protected <- function(release, estimator) {
  dates <- release$statistics$cohorts$T0
  if (is.null(dates)) {
    return(fit_release(release, NULL, estimator, NULL))
  }
  people <- release$panel$treated
  fit_one <- function(...) fit_release(...)
  fit_cohorts(release, NULL, rep(dates, people), estimator, rep(1, sum(people)), fit_one)
}
