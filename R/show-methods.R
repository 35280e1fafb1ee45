# The methods of a fitted model, which read the fit and no donors.

#' Effects, intervals and other methods for a fitted model
#'
#' These methods use only the fit, which was computed from the release and public data, so they cost
#' no privacy.
#'
#' @param object (`dp_synth`)\cr a fit.
#' @param parm (`character` or `NULL`)\cr requested rows: `"average"` or periods; `NULL` requests
#'   all rows.
#' @param level (`number`, in (0, 1))\cr coverage of the limits.
#' @param simultaneous (`flag`)\cr whether the intervals cover all periods (and targets) together,
#'   by Sidak's inequality, for any correlation.
#' @param type (`string`)\cr for `predict()`: whether to return the counterfactual from the
#'   treatment on (`"post"`), before the treatment (`"pre"`), or in all periods (`"all"`).
#' @param shrink (`flag`)\cr for `confint()`: whether to shrink the effects of a protected group's
#'   periods, see [tidy.dp_synth()].
#' @param ... unused.
#' @return
#' * `effects()`: a matrix of observed minus counterfactual outcomes, in outcome units, with one row
#'   per target and one column per treated period. For a group with `protect = "everyone"` these
#'   effects are the released effects, as in all tables, tests and plots unless `shrink = TRUE` is
#'   set.
#' * `confint()`: a matrix with one row for the average effect and one row for each period (for
#'   several targets, named `target: period`). Limits allow for the privacy noise and for the
#'   prediction error of a unit drawn like the donors. For methods `"output"` and `"objective"`,
#'   which release no moments, limits allow for **the privacy noise alone**. A fit by a classical
#'   estimator has limits only after [placebo_errors()]; otherwise `confint()` stops with an error.
#' * `fitted()` and `predict()`: a matrix of the counterfactual in outcome units, with one row per
#'   target. `fitted()` returns the periods before the treatment, `predict()` the periods in `type`.
#' * `residuals()`: a matrix of the *target's* observed minus fitted values before the treatment,
#'   with one row per target. It contains no donor's values.
#' * `nobs()`: the number of donors.
#' @section Errors: `dpsc_error_argument`.
#' @seealso [coef()][coef.dp_synth()], `vcov()`, `weights()` and methods for other packages.
#' @examples
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 2, bounds = c(-1, 1)
#' )
#' effects(fit)
#' confint(fit)
#' predict(fit)
#' @name effects.dp_synth
NULL

#' @rdname effects.dp_synth
#' @importFrom stats effects
#' @export
effects.dp_synth <- function(object, ...) {
  effects_of(object)
}

#' @rdname effects.dp_synth
#' @importFrom stats confint
#' @export
confint.dp_synth <- function(object, parm = NULL, level = 0.95, simultaneous = FALSE, ...,
                             shrink = FALSE) door("confint", {
  confint_effects(object, parm, level, simultaneous, ..., shrink = shrink)
})

#' @rdname effects.dp_synth
#' @importFrom stats fitted
#' @export
fitted.dp_synth <- function(object, ...) door("fitted", {
  predict.dp_synth(object, type = "pre")
})

#' @rdname effects.dp_synth
#' @importFrom stats predict
#' @export
predict.dp_synth <- function(object, type = c("post", "pre", "all"), ...) door("predict", {
  check_no_dots(...)
  type <- check_choice(type, c("post", "pre", "all"))
  periods <- switch(type,
    post = post_periods(object), pre = seq_len(object$release$panel$T0),
    all = seq_along(object$release$panel$times)
  )
  out <- object$counterfactual[, periods, drop = FALSE]
  colnames(out) <- period_text(object$release$panel$times[periods])
  out
})

#' @rdname effects.dp_synth
#' @importFrom stats residuals
#' @export
residuals.dp_synth <- function(object, ...) door("residuals", {
  object$target[, seq_len(object$release$panel$T0), drop = FALSE] - fitted.dp_synth(object)
})

#' @rdname effects.dp_synth
#' @importFrom stats nobs
#' @export
nobs.dp_synth <- function(object, ...) {
  as.integer(object$release$panel$n)
}
