# The fit: from a release and a target to estimates. No code here reads donors.

#' Differentially private synthetic control
#'
#' Estimates the outcome that a treated unit would have had without its treatment, from a panel of
#' untreated people, the *donors*. Their data are used once, for a private [dp_release()] of noisy
#' statistics. The estimate, its interval and all other results are computed from the release and
#' public data alone, so they reveal no more about any one donor than `epsilon` allows. For
#' intervals and tests see [dp_synth_intervals].
#'
#' @section Methods:
#' * `"gram"` (default): releases the means and second moments (over donors) of the outcome paths,
#'   with exact integer noise. More donors reduce its privacy error, and one release serves any
#'   target.
#' * `"output"`: Algorithm 2 of Rho, Cummings and Misra (2023), with noise on the ridge weights and
#'   on the donors' outcomes. More donors do not reduce its error.
#' * `"objective"`: Algorithm 3 of the same paper, with noise in the objective.
#'
#' `calibration = "tight"` uses the exact sensitivities that this package proves; `"published"` uses
#' the paper's constants, for reproduction. With these constants the guarantee of `"objective"` does
#' not hold, as every print states. `"gram"` has no published constants and ignores this argument.
#'
#' @section Protected people: Neighbouring panels arise by replacing one donor's whole row,
#' including the identifier. The number of donors, the periods, the bounds and the target's data are
#' public; `protect = "everyone"` also protects the treated people ([dp_synth_treated]). Values
#' outside the bounds are clipped silently, since their number is private. The presence of one
#' finite value per donor and period counts as public, but an error about gaps in donors' rows names
#' only the kind of gap, not the donor, the period or the number of gaps.
#'
#' Under a finite `epsilon` the outcome must be computed row by row: from columns of `data` and
#' constants, by arithmetic, comparisons and functions such as `log()`, `round()`, `pmin()` or
#' `ifelse()`, as defined in base R. Other functions are refused, since a function such as `scale()`
#' or `max()` would let one donor change other rows.
#'
#' The theorems named in prints are proved in `system.file("proofs", package = "dpsc")`.
#'
#' A repeated call spends the budget again, with or without a ledger, so save the result
#' ([write_release()]).
#'
#' @section Errors: The usual classes are `dpsc_error_panel`, `dpsc_error_bounds`,
#' `dpsc_error_argument`, `dpsc_error_budget`, `dpsc_error_protect`, `dpsc_error_covariate`,
#' `dpsc_error_roster` and `dpsc_error_index`. The last class means that `index` is probably in the
#' wrong order: units are numbers, periods are numbers or strings, and there are fewer donors than
#' periods. If the order is right, convert the units to strings. Errors are raised before budget is
#' spent or noise is drawn, except when a reader of [dp_chunks()], a database engine or a worker
#' fails later. No error quotes a donor's value or name. A call is also refused if bounds miss most
#' of the target's pre-treatment values, if `epsilon` is out of range, or if the noise on a mean
#' square exceeds 2.5 times its largest possible value.
#'
#' `dpsc_warning_calendar`: an otherwise regular calendar lacks some periods for everybody.
#' `dpsc_warning_bounds`: the target leaves the bounds before the treatment, or the released numbers
#' suggest wrong bounds (donors' values differ by about a thousandth of the bounds' width).
#'
#' @param x (`formula`)\cr `outcome ~ treated`, where either side may be an expression and `treated`
#'   is 1 exactly for treated units from their treatment on. Other pages describe several adoption
#'   dates ([dp_cohorts]), several outcomes, `cbind(y1, y2) ~ treated` ([dp_outcomes]), covariates,
#'   `outcome ~ treated | x1 + x2` ([dp_synth_covariates]), and donors as a matrix or a release
#'   ([dp_synth_donors]).
#' @param data (`data.frame`, [dp_table()] or [dp_files()])\cr long data, one row per unit and
#'   period, in any order. PRIVATE. Give `index` to [dp_table()] or [dp_files()] itself. The
#'   guarantee starts from these columns and does not cover their computation from people's data;
#'   [preparing_data] lists permitted preparations.
#' @param index (`character(2)`)\cr columns of unit and time.
#' @param epsilon (`number`, from 1e-9 to 1e9, no default)\cr privacy loss. Above 10 protection is
#'   weak. `Inf` gives the non-private fit.
#' @param delta (`number`, in \[0, 1))\cr failure probability. 0 gives pure differential privacy.
#' @param bounds (`numeric(2)`, or `matrix`, periods x 2, outcome units)\cr PUBLIC limits of the
#'   outcome, for the whole panel or by period. Bounds are required when `epsilon` is finite, and
#'   must not come from the donors' data. For a computed outcome, covariates or several outcomes
#'   give a named list ([dp_bounds]), with all levels of a factor, the reference level first.
#' @param method,calibration (`string`)\cr see Methods.
#' @param estimator (`string`)\cr `"ridge"` (default), or `"did"`, difference-in-differences from
#'   the same release. `epsilon = Inf` also permits classical estimators on the raw donors:
#'   `"simplex"`, `"demeaned"`, `"hsvt"`, `"penalised"`, `"predictors"`, `"augmented"`, `"sdid"`,
#'   `"factor"`, `"mcnnm"`, `"elastic"` (see `vignette("classical")`; settings: [dp_control()]).
#' @param size (`count`, or one per treated unit)\cr number of people over whom a treated unit is
#'   averaged; `NULL` means 1. The mean of many people varies less than one person's outcome, so its
#'   interval is shorter. From 20 people on a release by `"gram"` is calibrated for a mean, so give
#'   `size` when you make the release. PUBLIC. Several treated units form a group of `sum(size)`
#'   people with one average effect; `tidy(fit, type = "unit")` gives the members' effects.
#' @param ledger ([dp_ledger()] or `NULL`)\cr ledger to charge before the noise is drawn.
#' @param control ([dp_control()])\cr settings. Decide about two of them before the budget is spent:
#'   `features = Inf`, which [conformal()] and [placebo_time()] need, and `intervals = FALSE`, which
#'   saves the budget of intervals.
#' @param protect (`string` or `NULL`)\cr `"donors"` or `"everyone"`, see [dp_synth_treated]. Under
#'   a finite `epsilon` this argument is required with several treated units, and with one unit if
#'   `size = 1`, or if `size` is missing and the unit's rows would cause an error. A single treated
#'   unit is always public.
#' @param na (`string`)\cr `"error"`: every unit must have one finite value per period.
#'   `"interpolate"`: gaps are filled, see [preparing_data].
#' @param roster ([dp_roster()] or `NULL`)\cr the units, their roles and dates, and the periods of
#'   the panel. A roster is required with `na = "interpolate"`, refused otherwise, and replaces the
#'   formula's indicator.
#' @param monitor (`count` or `NULL`)\cr number of further periods to pay for now;
#'   [update()][dp_monitor] draws them once they are observed.
#' @param weights (`name` of a column)\cr column of `data` with people's weights, for example of a
#'   survey. Moments, placebo errors and intervals then refer to a population with these weights. A
#'   donor's weight is the column's mean before the treatment. PRIVATE. Weights require `method =
#'   "gram"`, `delta > 0`, one adoption date, one outcome and `protect = "donors"`, and exclude
#'   [dp_sources()], `monitor`, `dp_control(lambda = )` and `dp_control(features = Inf)`. With
#'   `epsilon = Inf` there is no interval.
#' @param max_weight (`number`, positive, PUBLIC)\cr the largest permitted weight; larger weights
#'   are reduced to `max_weight`, and negative weights count as 0. With `NULL` the weights' entry in
#'   `bounds` gives the limits. Noise is as large as if all donors had the largest weight, so a
#'   limit far above the mean weight reduces accuracy.
#' @param ... unused; an unknown argument causes an error.
#' @return With several outcomes an object of class [dp_outcomes], and with several adoption dates
#'   an object of class [dp_cohorts]. Otherwise a list of class `dp_synth`. Except in classical
#'   fits, all values are public or computed from the release and public data alone:
#'   * `release`: the [dp_release()].
#'   * `target`: 1 x periods, outcome units: the treated unit, or the mean of several units. PUBLIC.
#'   * `size`: the target's number of people. PUBLIC.
#'   * `counterfactual`: 1 x periods, outcome units; before the treatment the fitted path (`NA` for
#'     `"output"` and `"objective"`, which release no path). RELEASED.
#'   * `variance`: a list with one list of covariances between treated periods, in squared outcome
#'     units: `prediction`, of the prediction error for such a target (including the error from
#'     shrinking the estimate to the target's own level); `privacy` and `noise`, of the estimate
#'     over releases, after and before this shrinkage. RELEASED.
#'   * `spread`: a list with one list: the constants that turn the variance into intervals (`floor`,
#'     and factors for the `average`, a `period` and the joint `band`), or the `reason` for a
#'     missing interval; `unseen`, the variance added for donors with large errors that noise may
#'     hide (bounds scaled to -1 and 1); `apart`, the target's squared distance from the donors,
#'     relative to random targets. RELEASED.
#'   * `units`: the same fields for each of several treated units, or `NULL`.
#'   * `covariates`: one row, the target's covariates, if any. PUBLIC.
#'   * `protected`: `TRUE` if treated people are protected, in which case `target` is RELEASED.
#'   * `estimator`, `penalty`. PUBLIC or RELEASED.
#'   * `weights`, `settings`, `slopes` (of time-varying regressors) and the data for placebos, in
#'     classical fits only. NOT PRIVATE.
#'
#'   Methods: [print][print.dp_synth()], [summary][print.dp_synth()], [plot][plot.dp_synth()],
#'   [effects][effects.dp_synth()], [confint][effects.dp_synth()], [tidy][tidy.dp_synth()],
#'   [glance][tidy.dp_synth()], [augment][tidy.dp_synth()], [coef][effects.dp_synth()],
#'   [fitted][effects.dp_synth()], [predict][effects.dp_synth()], [residuals][effects.dp_synth()],
#'   [nobs][effects.dp_synth()].
#' @references Rho, S., Cummings, R. and Misra, V. (2023). Differentially Private Synthetic Control.
#'   AISTATS.
#'
#'   Dong, J., Roth, A. and Su, W. (2022). Gaussian Differential Privacy. Journal of the Royal
#'   Statistical Society B 84.
#' @examples
#' # The treated unit is the mean of a programme's 60 patients.
#' fit <- dp_synth(pressure ~ enrolled,
#'   data = clinic_panel, index = c("patient", "month"),
#'   epsilon = 1, delta = 1e-6, bounds = c(80, 200), size = 60
#' )
#' fit
#' summary(fit)
#' @export
dp_synth <- function(x, ...) {
  door("dp_synth", pays = TRUE, check_argument_names(...names(), "dp_synth"))
  UseMethod("dp_synth")
}

#' @rdname dp_synth
#' @export
dp_synth.formula <- function(x, data, index, epsilon, delta = 1e-6, bounds = NULL,
                             method = "gram",
                             calibration = c("tight", "published"), estimator = "ridge",
                             size = NULL, ledger = NULL, control = dp_control(), protect = NULL,
                             na = c("error", "interpolate"), roster = NULL, monitor = NULL,
                             weights = NULL, max_weight = NULL,
                             ...) door("dp_synth", pays = TRUE, {
  check_no_dots(...)
  request <- panel_request(
    epsilon = if (!missing(epsilon)) epsilon, delta = delta, bounds = bounds, method = method,
    calibration = calibration, estimator = estimator, size = size, ledger = ledger,
    control = control, protect = protect, monitor = monitor, weights = substitute(weights),
    max_weight = max_weight, formula = x
  )
  fit_formula(x, panel_people(data, index, na, roster, substitute(index)), request)
})

#' @rdname dp_synth
#' @export
dp_synth.default <- function(x, ...) door("dp_synth", pays = TRUE, {
  abort_unknown_input(x)
})

#' The fit of a formula and long data, with one outcome or several
#' @param people (`list`)\cr from [panel_people()].
#' @noRd
fit_formula <- function(formula, people, request) {
  several <- split_outcomes(formula, request$bounds, request$private)
  if (is.null(several)) {
    panel <- formula_panel(formula, people, request)
    fit <- fit_panel(panel, request)
  } else {
    if (!is.null(request$weights)) refuse_weighted_panel(NULL, several = TRUE)
    panels <- lapply(several, function(one) {
      request$bounds <- one$bounds
      formula_panel(one$formula, people, request, one$own)
    })
    check_can_grow(list(monitor = request$monitor, outcomes = length(several)))
    fit <- if (request$private) {
      fit_outcomes(panels, request)
    } else {
      new_outcomes(lapply(panels, fit_panel, request))
    }
  }
  fit$formula <- shown_formula(formula)
  # New periods are read by these public column names. A table in a database has its own names.
  if (!is.null(request$monitor) && !is.null(people$index)) {
    fit$index <- unname(as.character(people$index))
  }
  # Rows read later, for new periods or losses, are clipped as the released rows were.
  if (is.null(several)) fit$limits <- panel$limits
  fit
}

#' The formula, if it contains only names and short numbers, since a longer number could be a
#' person's value
#' @noRd
shown_formula <- function(formula) {
  constants <- function(e) {
    if (is.call(e)) return(all(vapply(as.list(e), constants, NA)))
    is.symbol(e) || (length(e) == 1L && is.numeric(e) && identical(signif(e, 2L), e)) ||
      is.logical(e)
  }
  if (constants(formula)) bare_formula(formula)
}

#' @rdname dp_synth_donors
#' @export
dp_synth.matrix <- function(x, target, T0, epsilon, delta = 1e-6, bounds = NULL,
                            method = "gram",
                            calibration = c("tight", "published"), estimator = "ridge",
                            size = NULL, ledger = NULL, control = dp_control(), times = NULL,
                            protect = NULL, monitor = NULL, weights = NULL, max_weight = NULL,
                            ...) door("dp_synth", pays = TRUE, {
  check_no_dots(...)
  request <- panel_request(
    epsilon = if (!missing(epsilon)) epsilon, delta = delta, bounds = bounds, method = method,
    calibration = calibration, estimator = estimator, size = size, ledger = ledger,
    control = control, protect = protect, monitor = monitor, weights = weights,
    max_weight = max_weight
  )
  panel <- donors_panel(x, target, T0, times, request)
  fit_panel(panel, request)
})

#' @rdname dp_synth_donors
#' @export
dp_synth.dp_chunks <- dp_synth.matrix

#' @rdname dp_synth_donors
#' @export
dp_synth.dp_source <- dp_synth.matrix

#' The fit of a checked panel
#' @param request (`list`)\cr from [panel_request()].
#' @noRd
fit_panel <- function(panel, request) {
  panel <- guard_panel(panel, request)
  if (request$classical) {
    check_can_grow(list(monitor = request$monitor, private = FALSE))
    return(fit_raw_panel(panel, request))
  }
  release <- release_panel(panel, request, refuse = TRUE)
  fit <- fit_released(release, panel)
  warn_doubts(fit_doubts(fit))
  fit
}

#' A classical fit to a panel with one or several adoption dates. NOT PRIVATE.
#' @noRd
fit_raw_panel <- function(panel, request) {
  size <- panel$size
  panel$size <- NULL
  one <- function(panel) fit_classical_panel(panel, request)
  if (is.null(panel$adopted)) one(panel) else classical_cohorts(panel, size, one)
}

#' @rdname dp_synth_donors
#' @export
dp_synth.dp_release <- function(x, target, estimator = "ridge", size = NULL,
                                lambda = x$settings$lambda, T0 = NULL, covariates = NULL,
                                ...) door("dp_synth", {
  check_no_dots(...)
  x <- with_penalty(x, lambda)
  estimator <- check_estimator(estimator, x$method)
  if (missing(target) && !is.null(x$panel$treated)) {
    return(fit_protected(x, estimator))
  }
  check_given(missing(target), "target", "the treated unit's outcome, one value per period")
  periods <- x$panel$T0 + x$panel$T1
  target <- check_target(target, periods)
  if (!all_finite_cpp(target)) abort_target_gaps(target, x$panel$times, "target")
  size <- check_size(size, nrow(target))
  covariates <- check_target_covariates(x, covariates, nrow(target))
  estimator <- check_estimator(estimator, x$method)
  if (!is.null(T0)) check_not_grown(x, "Another adoption date")
  if (!is.null(T0) || !is.null(x$statistics$cohorts)) {
    adopted <- check_release_dates(T0 %||% x$panel$T0, x, nrow(target))
    if (length(unique(adopted)) > 1L) {
      return(fit_cohorts(x, target, adopted, estimator, size, covariates))
    }
    x <- cohort_view(x, adopted[[1L]])
  }
  fit_release(x, target, estimator, size, covariates)
})
