#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment

#' Tidy data frames of a fit
#'
#' Methods for the package broom. Their results are public, or computed from the release.
#'
#' @param x (`dp_synth`)\cr a fit.
#' @param conf.int (`flag`)\cr whether to add interval limits.
#' @param conf.level (`number`, in (0, 1))\cr coverage of the limits.
#' @param simultaneous (`flag`)\cr whether the limits cover all periods together.
#' @param type (`string`)\cr the rows for several treated units: `"overall"`, for their mean (the
#'   average effect on the treated), or `"unit"`, for each unit under its own name. The treated
#'   units are then not protected, so show their names and effects only if you have permission.
#' @param shrink (`flag`)\cr for a group with `protect = "everyone"` and at least four periods:
#'   whether to shrink the effects of the periods, see the section Shrunk effects. Other fits are
#'   unchanged.
#' @param ... unused. `tidy()` stops at an unknown argument, except for the arguments that table
#'   packages pass (`vcov`, `coef_rename`, `data` and similar arguments), which are ignored.
#' @return
#' * `tidy()`: one row for the average effect and one row for each period, with the columns
#'   `target`, `term`, `estimate`, `std.error` (calibrated on the donors' placebo errors: the limits
#'   are the estimate plus and minus a multiple of `std.error`, cut off at the bounds), `privacy.se`
#'   (standard deviation of the estimate over releases), `statistic`, `p.value` (of no effect), and
#'   `conf.low`, `conf.high` if requested. `std.error`, `statistic`, `p.value` and limits are `NA`
#'   if no interval could be calibrated; the print gives the reason. With `epsilon = Inf` and
#'   method `"gram"`, limits and p-values come from the donors' leave-one-out errors, and are `NA`
#'   if the level needs more donors. For classical estimators they are `NA` before
#'   [placebo_errors()]. For methods `"output"` and `"objective"` the standard errors allow for the
#'   privacy noise alone, and `statistic` and `p.value` are `NA`, since no prediction error is
#'   released.
#' * `glance()`: one row with the columns `method`, `estimator`, `n.donors`, `T0` and `T1` (periods
#'   before and from the treatment), `n.targets`, `effect` (mean over targets and periods),
#'   `pre.rmse` (error of the pre-treatment fit; `NA` for protected people, whose pre-treatment fit
#'   is exact by construction), `epsilon`, `delta`, `rho` (half the squared parameter of Gaussian
#'   differential privacy; `NA` if the guarantee has no such parameter), `private` (whether the
#'   stated guarantee is valid).
#' * `augment()`: one row for each target and period, with the columns `target`, `period`,
#'   `treated` (whether the period is from the treatment on), `.observed`, `.fitted` (the
#'   counterfactual), `.resid`.
#'
#' `statistic` is `estimate` divided by `std.error`, and `coef()`, `confint()`, `summary()` and the
#' print return the same estimates, limits and p-values. With privacy, `p.value` follows from
#' `statistic`: it is below .05 if and only if the 95 % interval excludes 0.
#' @section Shrunk effects:
#' By default all tables, tests and plots use the released effects of single periods with their own
#' standard errors, on which the test of [summary()][summary.dp_synth()] for an effect in any period
#' is based as well. The effects of a protected group contain much noise. `shrink = TRUE` moves the
#' effect of each period towards the common value of all periods (from six periods on, towards a
#' line), by at most half of its `std.error` (limited translation, Efron and Morris, 1972), which
#' usually reduces its error. The average is unchanged, and so is `std.error`: intervals have the
#' width of the intervals for released effects, with a shrunk centre, and `statistic` and `p.value`
#' are for the shrunk effect. They are then less exact. If a period has no effect and most other
#' periods have large effects, a test at .05 rejects in up to 8 % of the releases, and the 95 %
#' interval has coverage of at least 92 %. Use released effects for tests.
#' @examples
#' panel <- sim_panel(n = 1000, T0 = 10, T1 = 3, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 2, bounds = c(-1, 1)
#' )
#' tidy(fit, conf.int = TRUE)
#' glance(fit)
#' head(augment(fit))
#' @name tidy.dp_synth
NULL

#' @rdname tidy.dp_synth
#' @export
tidy.dp_synth <- function(x, conf.int = FALSE, conf.level = 0.95, simultaneous = FALSE,
                          type = c("overall", "unit"), ..., shrink = FALSE) door("tidy", {
  tidy_effects(x, conf.int, conf.level, simultaneous, ..., type = type, shrink = shrink)
})

#' @rdname tidy.dp_synth
#' @export
glance.dp_synth <- function(x, ...) door("glance", {
  release <- x$release
  data.frame(
    method = release$method, estimator = x$estimator, n.donors = stats::nobs(x),
    T0 = release$panel$T0, T1 = release$panel$T1, n.targets = nrow(x$target),
    effect = mean(effects_of(x)), pre.rmse = pre_rmse(x),
    epsilon = release$privacy$epsilon, delta = release$privacy$delta,
    rho = release$privacy$rho, private = release$privacy$holds
  )
})

#' Pre-treatment error, which is missing for a protected group because its fit is exact by
#' construction
#' @noRd
pre_rmse <- function(x) {
  if (is_released_group(x)) NA_real_ else sqrt(mean(stats::residuals(x)^2))
}

#' @rdname tidy.dp_synth
#' @export
augment.dp_synth <- function(x, ...) {
  k <- nrow(x$target)
  periods <- seq_along(x$release$panel$times)
  out <- data.frame(
    target = rep(rownames(x$target), each = length(periods)),
    period = rep(x$release$panel$times, k),
    treated = rep(periods > x$release$panel$T0, k),
    .observed = as.vector(t(x$target)), .fitted = as.vector(t(x$counterfactual))
  )
  out$.resid <- out$.observed - out$.fitted
  out
}
