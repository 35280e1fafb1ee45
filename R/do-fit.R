# The fit: what a release and a target give. Nothing here sees a donor.

#' Differentially private synthetic control
#'
#' Estimates what would have happened to a treated unit without its treatment, from a panel of
#' donors who are people, so that what is returned tells about any one donor's row no more than
#' `epsilon` allows. The donors are used once, to make a private [dp_release()]; the estimate, its
#' interval and everything else come from the release and the target's own public data.
#'
#' More on [donors as a matrix and further targets][dp_synth_donors], on
#' [treated people][dp_synth_treated], [covariates][dp_synth_covariates], [intervals and
#' tests][dp_synth_intervals], [several adoption dates][dp_cohorts], [several
#' outcomes][dp_outcomes], [gaps and other preparations][preparing_data].
#'
#' @section Methods:
#' * `"gram"` (default): the donors' mean and second moments over time, released once with exact
#'   integer noise. Privacy error falls with more donors; serves any target.
#' * `"output"`: Algorithm 2 of Rho, Cummings and Misra (2023): noise on the ridge weights and on
#'   the donors' outcomes. Its error does not fall with more donors.
#' * `"objective"`: their Algorithm 3: noise in the objective.
#'
#' `calibration = "tight"` uses the exact sensitivities that this package proves; `"published"` the
#' paper's constants, for reproduction (for `"objective"` its epsilon does not hold, and every print
#' says so). `"gram"` has no published constants and ignores it.
#'
#' @section Who is protected:
#' Neighbours are panels that differ in one donor's whole row. A person's identifier is part of the
#' row that neighbours may change; it is protected. The number of donors, the periods, the bounds
#' and the target's data are public; with `protect = "everyone"` the treated are people
#' who are protected, too ([dp_synth_treated]). Values outside the bounds are clipped, silently,
#' because how many there are is private. That every donor has one finite value in every period
#' counts as public: so an error about donors' rows says what kind of gap there is, but not whose,
#' where or how many.
#'
#' Under a finite `epsilon` the outcome must be computed row by row: from columns of `data` and
#' single numbers, by arithmetic, comparisons and functions such as `log()`, `sqrt()`, `round()`,
#' `pmin()`, `ifelse()`, `is.na()` or `qlogis()`, which always mean those of base R. Anything else,
#' such as `scale(y)` or `y / max(y)`, lets one donor change the rows of others and is refused.
#'
#' The theorems that prints name are proved in `system.file("proofs", package = "dpsc")`.
#'
#' Every run of a call draws noise anew and spends the budget again, with or without a ledger: keep
#' the result ([write_release()]).
#'
#' @section Errors:
#' `dpsc_error_panel`, `dpsc_error_bounds`, `dpsc_error_argument`, `dpsc_error_budget`,
#' `dpsc_error_protect`, `dpsc_error_covariate`, `dpsc_error_roster`, `dpsc_error_index` (units are
#' numbers, periods numbers or strings, and donors are fewer than periods, as when `index` is the
#' wrong way round: turn units into strings if it is not). All come
#' before anything is spent or drawn, except that of a [dp_chunks()] reader that fails later, and
#' none quotes a donor's value or name. What public facts doom is refused as well: bounds that most
#' of the target's values before the treatment miss, an `epsilon` out of range, donors so few that
#' the noise exceeds what the bounds already tell.
#'
#' `dpsc_warning_calendar`: the periods skip some that nobody has, in a calendar that is regular
#' otherwise. `dpsc_warning_bounds`: the target leaves the bounds, or, after the release and free,
#' what was released speaks against them: nearly all values at a bound, or spread over a thousandth
#' of its width.
#'
#' @param x (`formula`)\cr `outcome ~ treated`, where either side may be an expression and the
#'   indicator is 1 exactly for treated units from the treatment on (each from its own adoption on,
#'   see [dp_cohorts]); `cbind(y1, y2) ~ treated` for several outcomes, see [dp_outcomes];
#'   `outcome ~ treated | x1 + x2` with covariates, see [dp_synth_covariates]. Of donors as a matrix
#'   and of releases: [dp_synth_donors].
#' @param data (`data.frame`, [dp_table()] or [dp_files()])\cr long data, one row for each unit and
#'   period, in any order. PRIVATE. A table or files hold their own `index`.
#'   The guarantee starts from these columns: how they were computed from people's data it does not
#'   cover. [preparing_data] says what may be done to them before.
#' @param index (`character(2)`)\cr columns of unit and time.
#' @param epsilon (`number`, from 1e-9 to 1e9)\cr privacy loss. Above 10 it protects little. `Inf`
#'   gives the non-private fit. No default.
#' @param delta (`number`, in \[0, 1))\cr failure probability. 0 gives pure differential privacy.
#' @param bounds (`numeric(2)`, or `matrix`, T x 2, outcome units)\cr PUBLIC limits of the outcome,
#'   for the panel or by period. Required when `epsilon` is finite; never from the donors' data.
#'   For an outcome that is computed, with covariates and with several outcomes a list by name: see
#'   [dp_bounds], the one convention of all verbs. Of a factor all levels, the first of which the
#'   others are compared with.
#' @param method,calibration (`string`)\cr see Methods.
#' @param estimator (`string`)\cr `"ridge"` (default), or `"did"`, difference-in-differences from
#'   the same release. With `epsilon = Inf` also a classical estimator on the raw donors:
#'   `"simplex"`, `"demeaned"`, `"hsvt"`, `"penalised"`, `"predictors"`, `"augmented"`,
#'   `"sdid"`, `"factor"`, `"mcnnm"`, `"elastic"`: see `vignette("classical")`, settings in
#'   [dp_control()].
#' @param size (`count`, or one for each treated unit)\cr number of people whose mean a treated unit
#'   is; 1 if `NULL`. The mean of many people strays less than one person: its interval is shorter.
#'   From 20 people on the release is calibrated for a mean: give `size` when it is made. PUBLIC.
#'   Several treated units are a group of `sum(size)` people with one average effect; those of its
#'   members are shown on request, `tidy(fit, type = "unit")`.
#' @param ledger ([dp_ledger()] or `NULL`)\cr charged before the noise is drawn.
#' @param control ([dp_control()])\cr settings. Two must be decided before the budget is spent:
#'   `features = Inf`, for [conformal()] and [placebo_time()], and `intervals = FALSE`, for none.
#' @param protect (`string` or `NULL`)\cr `"donors"` or `"everyone"`, see [dp_synth_treated].
#'   Required with several treated units under a finite `epsilon`, with one of `size = 1`, and
#'   before anything wrong with the treated rows of one person is said; else one treated unit is
#'   public.
#' @param na (`string`)\cr `"error"`: every unit has one finite value a period. `"interpolate"`:
#'   gaps are filled, see [preparing_data].
#' @param roster ([dp_roster()] or `NULL`)\cr who is in the panel, in which role, from when and over
#'   which periods; required with `na = "interpolate"`, when the formula's indicator is not read.
#' @param monitor (`count` or `NULL`)\cr number of further periods to pay for now, which
#'   [update()][dp_monitor] draws when they are there.
#' @param ... nothing else: an unknown argument is an error.
#' @return With several outcomes a [dp_outcomes], with several adoption dates a [dp_cohorts]. Else
#'   an object of class `dp_synth`, a list of public values and of values computed from the release
#'   alone:
#'   * `release`: the [dp_release()].
#'   * `target`: 1 x T, outcome units: the treated unit, or the mean of the treated people. PUBLIC.
#'   * `size`: the number of people in it. PUBLIC.
#'   * `counterfactual`: 1 x T, outcome units; before the treatment the fitted path (`NA` for the
#'     vertical methods `"output"` and `"objective"`, which release no fitted path). RELEASED.
#'   * `variance`: a list with a list of T1 x T1 covariances, squared outcome units: `prediction`,
#'     how far such a target strays from its own prediction (with the error of drawing the estimate
#'     to its own level), `privacy`, of the estimate over releases, and `noise`, the same before
#'     the estimate is drawn to the target's own level. RELEASED.
#'   * `spread`: a list with a list of what turns the variance into intervals (`floor`, and factors
#'     for the `average`, a `period` and the `band` of all), or the `reason` why there is none; and
#'     `apart`, how unlike the donors the target is (1: as a random one). RELEASED.
#'   * `units`: the same fields for each of several treated units, or `NULL`.
#'   * `covariates`: 1 x q, of the target, if there are any. PUBLIC.
#'   * `protected`: `TRUE` where the treated are protected: then `target` is RELEASED.
#'   * `estimator`, `penalty`. PUBLIC or RELEASED.
#'   * of a classical fit also `weights`, `settings`, `slopes` (of regressors that change over time)
#'     and what its placebos need. NOT PRIVATE.
#'
#'   Methods: [print][print.dp_synth()], [summary][print.dp_synth()], [plot][plot.dp_synth()],
#'   [effects][effects.dp_synth()], [confint][effects.dp_synth()], [tidy][tidy.dp_synth()],
#'   [glance][tidy.dp_synth()], [augment][tidy.dp_synth()], [coef][effects.dp_synth()],
#'   [fitted][effects.dp_synth()], [predict][effects.dp_synth()], [residuals][effects.dp_synth()],
#'   [nobs][effects.dp_synth()].
#' @references Rho, S., Cummings, R. and Misra, V. (2023). Differentially Private Synthetic Control.
#'   AISTATS.
#'
#'   Kranz, S. (2022). Synthetic Difference-in-Differences with Time-Varying Covariates. Ulm
#'   University. Bai, J. (2009). Panel Data Models with Interactive Fixed Effects. Econometrica 77.
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
  paying_door("dp_synth", check_argument_names(...names(), "dp_synth"))
  UseMethod("dp_synth")
}

#' @rdname dp_synth
#' @export
dp_synth.default <- function(x, ...) paying_door("dp_synth", {
  abort_unknown_input(x)
})

#' @rdname dp_synth
#' @export
dp_synth.formula <- function(x, data, index, epsilon, delta = 1e-6, bounds = NULL,
                             method = "gram",
                             calibration = c("tight", "published"), estimator = "ridge",
                             size = NULL, ledger = NULL, control = dp_control(), protect = NULL,
                             na = c("error", "interpolate"), roster = NULL, monitor = NULL,
                             ...) paying_door("dp_synth", {
  check_no_dots(...)
  request <- panel_request(
    epsilon = if (!missing(epsilon)) epsilon, delta = delta, bounds = bounds, method = method,
    calibration = calibration, estimator = estimator, size = size, ledger = ledger,
    control = control, protect = protect, monitor = monitor
  )
  fit_formula(x, panel_people(data, index, na, roster, substitute(index)), request)
})

#' The fit of a formula and long data: of one outcome or of several
#' @param people (`list`)\cr from [panel_people()].
#' @noRd
fit_formula <- function(formula, people, request) {
  several <- split_outcomes(formula, request$bounds, request$private)
  if (is.null(several)) {
    panel <- formula_panel(formula, people, request)
    fit <- fit_panel(panel, request)
  } else {
    panels <- lapply(several, function(one) {
      request$bounds <- one$bounds
      formula_panel(one$formula, people, request, one$own)
    })
    check_can_grow(list(monitor = request$monitor, outcomes = length(several)))
    fit <- fit_outcomes(panels, request)
  }
  fit$formula <- shown_formula(formula)
  # By these names of columns, which are public, new periods are read. A table holds its own.
  if (!is.null(request$monitor)) {
    if (!is.null(people$index)) fit$index <- unname(as.character(people$index))
    fit$limits <- panel$limits
  }
  fit
}

#' The formula, if it holds names and plain numbers only: a longer one could be somebody's value
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
                            protect = NULL, monitor = NULL, ...) paying_door("dp_synth", {
  check_no_dots(...)
  request <- panel_request(
    epsilon = if (!missing(epsilon)) epsilon, delta = delta, bounds = bounds, method = method,
    calibration = calibration, estimator = estimator, size = size, ledger = ledger,
    control = control, protect = protect, monitor = monitor
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
  check_finite_target(target, x$panel$times, "target")
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
