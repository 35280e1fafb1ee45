# Fits for several adoption dates. Each cohort has one ordinary fit, and all fits use one release
# and share a part of their errors. Only the classical estimators read donors here.

#' Several adoption dates
#'
#' If treated units adopt at different dates, [dp_synth()] fits every *cohort* (the units that
#' adopt in the same period) and averages the cohorts' effects by time since adoption, by cohort, by
#' period, and overall.
#'
#' @section Method: Donors are the units that are never treated; units that are not yet treated are
#'   not donors. The donors' moments are released **once**, relative to the first adoption, and used
#'   for all cohorts, so any number of dates costs as much as one date. A cohort that adopts later
#'   is predicted from its past up to its own adoption. Each period after the first adoption is a
#'   separate predictor. With `protect = "donors"` the treated units' data are public.
#'
#' With covariates (`y ~ treated | x1 + x2`) every cohort is predicted from its own past and its
#' covariates. A numeric covariate is the mean over the periods before the *first* adoption, for
#' everybody. The classical estimators `"sdid"`, `"factor"` and `"mcnnm"` use the values of each
#' period ([dp_synth_covariates]).
#'
#' With `protect = "everyone"` every cohort is a group of protected people. The donors and each
#' cohort have the whole budget, since nobody is in two of these groups (`proofs/treated.md`). The
#' unknown part of a protected cohort's past is set to the donors' values. Residuals are then
#' uninformative, so the event table has no rows before the adoption. At most a fifth of the donors'
#' budget is divided among steps that adapt the clipping to each cohort, so many dates mean more
#' noise in each of these steps. A cohort that is too small for the budget is refused.
#'
#' ATT(g, t), the effect on cohort g in period t, is estimated by the cohort's mean outcome minus
#' its counterfactual. Averages weight cohorts by their numbers of people (`size`). The average for
#' a time since adoption is over the cohorts that have been treated for this long (fewer for long
#' times; the column `cohorts` gives their number). The average for a period is over the cohorts
#' treated in this period, and the average for a cohort is over its treated periods. The overall
#' average is over the people of all cohorts, after averaging over each person's treated periods.
#'
#' @section Intervals: As for one date, intervals are calibrated on the donors' own placebo errors:
#' each donor is predicted as if it were in each cohort. The second moment of these errors in every
#' cohort, and their tails in all cohorts together, are released under the same budget. The variance
#' of an average over cohorts is the sum of one part per cohort, for the prediction error of its
#' people, and of a shared part, for the noise of the release and the donors' regression. The error
#' of such an average is assumed to have the same tails as the error for a mean of equally many
#' people. With `simultaneous = TRUE` the limits cover all rows of a table together, by Sidak's
#' inequality. If a cohort in an average has no interval, the average has no interval either, and
#' the print gives the reason. The release is calibrated for means if *every* cohort has at least 20
#' people, and for single people otherwise. Coverage is measured (`bench/cohorts.R` in the source
#' package), not proved.
#'
#' Rows before the adoption are residuals. Between the first adoption and a cohort's own adoption,
#' the release permits forecasts of each period from all periods before it. Rows of kind
#' `"forecast"` are the residuals of these forecasts. Rows of kind `"fitted"` are the in-sample
#' residuals of the fit, which are usually smaller than prediction errors. Residuals have no
#' intervals.
#'
#' The classical estimators (`epsilon = Inf`, NOT PRIVATE) fit each cohort's mean and give no
#' intervals; `placebo_space(fit$cohorts[[1]])` and similar functions take the fit of one cohort.
#'
#' @param x,object (`dp_cohorts`)\cr a fit by [dp_synth()] of several adoption dates.
#' @param type (`string`)\cr the rows: `"event"`, by periods since adoption (0 is the first treated
#'   period); `"cohort"`; `"calendar"`, by period; `"group_time"`, every cohort in every period;
#'   `"overall"`. The names in the package did are also accepted: `"dynamic"` for `"event"`, and
#'   `"group"` for `"cohort"`. `plot()` also takes `"path"`, for each cohort's observed and
#'   counterfactual path.
#' @param conf.int,conf.level,simultaneous see [tidy.dp_synth()].
#' @param level (`number`, in (0, 1))\cr coverage of the intervals.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @param measure (`string`)\cr the table by `as.data.frame()`: `"effect"`, `"percent"` or
#'   `"cumulative"`.
#' @param parm (`character` or `NULL`)\cr the requested rows, by `term`; `NULL` requests all rows.
#' @param estimator,lambda,size values for the new fit; unchanged if missing.
#' @param format,... arguments of [report()]; unused by the other methods.
#' @return An object of class `dp_cohorts`, a list. PUBLIC or RELEASED; NOT PRIVATE for
#'   `epsilon = Inf`:
#'   * `release`: the single [dp_release()].
#'   * `cohorts`: a list of ordinary fits ([dp_synth()]), named by the first treated period, on
#'     which every method works.
#'   * `adopted` (periods before adoption) and `size` (people): one number for each treated unit, in
#'     an order unrelated to the units if they are protected.
#'   * `errors`: covariances that all cohorts share, in squared outcome units. The matrices
#'     `privacy`, for the noise of the release, and `regression`, for the donors' regression, have
#'     one row per cohort and period.
#'   * `forecasts`: the residuals before the adoption.
#'   * `estimator`: the name of the estimator.
#'   * `protected`: `TRUE` if the treated people are protected.
#'
#'   Methods return:
#'   * `tidy()`: a data frame with the columns `term`; `cohort`, `period`, `event` where they apply;
#'     `kind` (`"effect"`, and before the adoption `"forecast"` or `"fitted"`), `cohorts` (the
#'     number of cohorts in the average), `people`, `estimate`, `std.error`, `privacy.se`,
#'     `statistic`, `p.value`, and `conf.low`, `conf.high` if requested. The overall average comes
#'     first, except in `"group_time"`.
#'   * `coef()`, `vcov()`: the estimates of the requested type from the adoption on, and their
#'     covariance. `confint()`: their limits.
#'   * `glance()`: one row with the columns `method`, `estimator`, `n.donors`, `n.cohorts`,
#'     `n.targets`, `people`, `periods`, `effect`, `std.error`, `pre.rmse`, `epsilon`, `delta`,
#'     `rho`, `private`.
#'   * `augment()`: the tables of the cohorts' fits, with a column `cohort`. `effects()`,
#'     `predict()`, `fitted()`, `residuals()` and `weights()`: lists by cohort.
#'   * `as.data.frame()`: the table by `tidy()` with limits. With `measure = "percent"` effects are
#'     in per cent of the average counterfactual of the same cohorts and periods (`NA` where this
#'     average is not positive, or is hidden by the noise of a protected group); with `"cumulative"`
#'     they are sums of the averages up to each time since adoption (`type = "event"`).
#'   * `update()`: a fit by another estimator, penalty or size on the same release, at no cost; an
#'     error for classical estimators.
#'   * `summary()`: the tables by event, by cohort and by period. `nobs()`: the number of donors.
#'
#'   [conformal()], [placebo_time()], [penalty_path()], [placebo_space()], [leave_one_out()] and
#'   `simulate()` stop with the advice to use the fit of one cohort.
#' @section Errors: `dpsc_error_panel` for a unit whose treatment ends, a cohort with fewer than two
#'   periods before its adoption, or a panel in which every unit is treated; `dpsc_error_argument`
#'   for methods that accept only one date. These errors occur before any budget is spent.
#' @references Callaway, B. and Sant'Anna, P. (2021). Difference-in-Differences with Multiple Time
#'   Periods. Journal of Econometrics 225. Borusyak, K., Jaravel, X. and Spiess, J. (2024).
#'   Revisiting Event-Study Designs. Review of Economic Studies 91. Ben-Michael, E., Feller, A. and
#'   Rothstein, J. (2022). Synthetic Controls with Staggered Adoption. Journal of the Royal
#'   Statistical Society B 84.
#' @examples
#' panel <- sim_panel(n = 2000, T0 = 12, T1 = 8)
#' # Two programmes of 40 people each, from periods 13 and 16 on; the effect is 0.2.
#' targets <- rbind(first = panel$target, second = panel$target)
#' targets["first", 13:20] <- targets["first", 13:20] + 0.2
#' targets["second", 16:20] <- targets["second", 16:20] + 0.2
#' fit <- dp_synth(panel$donors,
#'   target = targets, T0 = c(12, 15), size = 40, epsilon = 2, bounds = c(-1, 1),
#'   protect = "donors"
#' )
#' fit
#' tidy(fit, type = "event", conf.int = TRUE)
#' tidy(fit, type = "cohort")
#' fit$cohorts[["16"]]
#' @name dp_cohorts
NULL

#' Fit a classical estimator to each cohort. NOT PRIVATE.
#' @param fit_one (`function`)\cr a function from the panel of one cohort to its fit.
#' @return A `dp_cohorts`.
#' @noRd
classical_cohorts <- function(panel, size, fit_one) {
  periods <- panel$T0 + panel$T1
  fits <- lapply(adoption_dates(panel), function(T0) {
    at <- panel$adopted == T0
    own <- panel
    own$target <- panel$target[at, , drop = FALSE]
    own$T0 <- T0
    own$T1 <- periods - T0
    own$adopted <- NULL
    fit <- fit_one(with_own_predictors(own, at))
    fit$size <- sum(size[at])
    fit
  })
  release <- fits[[1L]]$release
  release$statistics <- list(cohorts = list(T0 = adoption_dates(panel)))
  new_cohorts(release, fits, panel$adopted, size, fits[[1L]]$estimator,
    forecasts = classical_forecasts(panel, fits, fit_one)
  )
}

#' A panel restricted to some of its treated units, with their mean predictors. NOT PRIVATE.
#' @param known (`integer`)\cr positions of the periods in the restricted panel.
#' @noRd
with_own_predictors <- function(panel, at, known = seq_along(panel$times)) {
  if (!is.null(panel$predictors)) {
    panel$predictors$target <- colMeans(panel$predictors$treated[at, , drop = FALSE])
  }
  given <- panel$regressors
  if (!is.null(given)) {
    panel$regressors <- list(
      donors = given$donors[, known, , drop = FALSE],
      target = colMeans(given$treated[at, known, , drop = FALSE])
    )
  }
  panel
}

#' One-step forecasts between the first adoption and each cohort's adoption, from fits to earlier
#' periods
#' @inheritParams classical_cohorts
#' @return As [held_out_residuals()]; `NULL` if predictors define the fit. NOT PRIVATE.
#' @noRd
classical_forecasts <- function(panel, fits, fit_one) {
  if (fits[[1L]]$estimator == "predictors") {
    return(NULL)
  }
  dates <- adoption_dates(panel)
  rows <- lapply(seq_along(dates)[-1L], function(g) {
    ends <- seq.int(dates[[1L]], dates[[g]] - 1L)
    residual <- vapply(ends, function(T0) {
      known <- seq_len(T0 + 1L)
      own <- panel
      own$donors <- panel$donors[, known, drop = FALSE]
      own$target <- fits[[g]]$target[, known, drop = FALSE]
      own$times <- panel$times[known]
      own[c("T0", "T1", "adopted")] <- list(T0, 1L, NULL)
      own <- with_own_predictors(own, panel$adopted == dates[[g]], known)
      # With few periods the covariates may be collinear; such a fit gives no forecast.
      fit <- tryCatch(fit_one(own), dpsc_error_covariate = function(e) NULL)
      if (is.null(fit)) NA_real_ else fit$target[[T0 + 1L]] - fit$counterfactual[[T0 + 1L]]
    }, 0)
    data.frame(cohort = g, period = ends + 1L, residual = residual)[is.finite(residual), ]
  })
  do.call(rbind, rows)
}

new_cohorts <- function(release, fits, adopted, size, estimator, errors = NULL, forecasts = NULL) {
  dates <- sort(unique(adopted))
  names(fits) <- period_text(release$panel$times)[dates + 1L]
  structure(list(
    release = release, cohorts = fits, adopted = as.integer(adopted), size = size,
    errors = errors, forecasts = forecasts, estimator = estimator
  ), class = "dp_cohorts")
}

#' Number of people in each cohort
#' @noRd
cohort_sizes <- function(fits) vapply(fits, function(fit) sum(fit$size), 0)
