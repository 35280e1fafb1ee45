# From a release to the fit of its targets, of one date or of several. No donor is read here.

#' The fit of a release's own targets
#' @param panel (`dpsc_panel`)\cr with `size`; its donors are not read.
#' @noRd
fit_released <- function(release, panel) {
  estimator <- release$asked$estimator
  public <- is.null(panel$treated)
  target <- if (public) panel$target
  covariates <- if (public) panel$covariates$target
  if (!is.null(panel$adopted)) {
    return(fit_cohorts(release, target, panel$adopted, estimator, panel$size, covariates))
  }
  fit_release(release, target, estimator, panel$size, covariates)
}

#' Fit several cohorts to a release
#' @param release (`dp_release`)\cr by method gram.
#' @param target (`matrix`, k x T, outcome units, PUBLIC, or `NULL`)\cr `NULL`: the protected people
#'   that the release holds.
#' @param adopted (`integer(k)`)\cr periods before each unit's adoption, not all the same.
#' @param size (`numeric(k)`)\cr people in each unit.
#' @param covariates (`matrix`, k x q, or `NULL`)\cr of the targets.
#' @return A `dp_cohorts`.
#' @noRd
fit_cohorts <- function(release, target, adopted, estimator, size, covariates = NULL) {
  dates <- sort(unique(adopted))
  pooled <- pooled_seconds(release)
  fits <- lapply(dates, function(T0) {
    at <- adopted == T0
    fit_release(
      cohort_view(release, T0, pooled), if (!is.null(target)) target[at, , drop = FALSE],
      estimator, size[at],
      covariates = if (!is.null(covariates)) covariates[at, , drop = FALSE]
    )
  })
  penalty <- vapply(fits, function(fit) fit$penalty[[1L]], 0)
  errors <- shared_errors(release, dates, lapply(fits, cohort_path), penalty, estimator)
  if (is.null(target)) {
    # How many adopted when is public; in the order of names it is not.
    order <- order(adopted, size)
    out <- new_cohorts(release, fits, adopted[order], size[order], estimator, errors)
    out$protected <- TRUE
    return(out)
  }
  paths <- do.call(rbind, lapply(fits, `[[`, "target"))
  means <- do.call(rbind, lapply(fits, `[[`, "covariates"))
  new_cohorts(
    release, fits, adopted, size, estimator, errors,
    forecasts = held_out_residuals(release, dates, paths, cohort_sizes(fits), estimator, means)
  )
}

#' The fit of the protected people that a release holds
#' @noRd
fit_protected <- function(release, estimator) {
  dates <- release$statistics$cohorts$T0
  if (is.null(dates)) {
    return(fit_release(release, NULL, estimator, NULL))
  }
  people <- release$panel$treated
  fit_cohorts(release, NULL, rep(dates, people), estimator, rep(1, sum(people)))
}
