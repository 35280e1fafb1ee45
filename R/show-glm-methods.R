# Methods of private generalised linear models: post-processing of the release.

#' Methods for a private generalised linear model
#'
#' These methods for a fit by [dp_glm()] are named as for [stats::glm()], use the release alone, and
#' spend no budget. No object contains a person's fitted value, residual, hat value or model frame.
#'
#' @param object,x (`dp_glm`)\cr a fit.
#' @param level (`number`, in (0, 1))\cr coverage of intervals.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @param type (`string`)\cr `"link"` for the linear predictor, or `"response"` for the mean.
#' @param newdata (`data.frame`, PUBLIC)\cr rows to predict; required. Values beyond the bounds
#'   extrapolate the model. For a missing value or a level that is
#'   not in `bounds` the prediction is `NA`.
#' @param interval (`string`)\cr `"none"`, or `"confidence"` for confidence limits of the mean or,
#'   with `type = "link"`, of the linear predictor.
#' @param se.fit (`flag`)\cr whether to add standard errors, for sampling and privacy together.
#' @param ... unused. `predict()`, `augment()`, `anova()` and `plot()` refuse further arguments.
#' @return
#' * `coef()`, `vcov()`, `confint()`, `nobs()`, `formula()`: see [dp_estimates].
#' * `predict()`: a vector, or with `interval = "confidence"` a matrix with columns `fit`, `lwr`,
#'   `upr`. With `se.fit` a list: the vector or matrix as `fit`, `se.fit` (for `"response"` the
#'   standard errors of the mean, to first order) and `residual.scale`, which is 1. Intervals and
#'   standard errors cause an error if no standard errors were released.
#' * `anova()`: Wald chi-squared tests of all terms with the total covariance; `NA` for a term with
#'   a coefficient that is not identified.
#' * `family()`: the family, as for [stats::glm()].
#' * `update()`: an error, since the release determines no other model.
#' * `tidy()`: a data frame with `term`, `estimate`, `std.error`, `privacy.se` (standard error for
#'   privacy noise alone), `statistic`, `p.value`, `identified`, and `conf.low`, `conf.high` if
#'   requested.
#' * `glance()`: one row with `family`, `method`, `nobs`, `df` (the number of coefficients without
#'   the intercept), `epsilon`, `delta`, `private` (whether the stated guarantee is valid), `ridge`,
#'   `noise` and `identified` (whether all coefficients are identified).
#' * `augment()`: `newdata` with `.fitted` (the mean) and, if standard errors were released,
#'   `.se.fit` (the standard error of the linear predictor).
#' * `autoplot()`: a ggplot of the estimates with their confidence intervals; `plot()` draws it. The
#'   thick part of a line is the interval for sampling error alone. The axis covers the identified
#'   coefficients; the intervals of the other coefficients end in arrows.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_data`.
#' @name dp_glm-methods
NULL

#' @noRd
glm_estimates <- function(fit) {
  new_estimates(fit$coefficients,
    index = data.frame(term = names(fit$coefficients), identified = unname(fit$identified)),
    covariance = as.list(fit$covariance[covariance_parts]), text = fit$text, nobs = fit$nobs,
    columns = c(error_columns, "identified"),
    lacks = if (is.null(fit$covariance)) glm_no_errors(fit),
    facts = list(
      family = fit$family, method = fit$method, nobs = fit$nobs,
      df = length(fit$coefficients) - 1L, epsilon = fit$privacy$epsilon,
      delta = fit$privacy$delta, private = fit$privacy$holds,
      ridge = fit$release$ridge %||% NA_real_, noise = fit$release$kappa %||% NA_real_,
      identified = all(fit$identified)
    )
  )
}

glm_covariance <- function(fit, type) known_part(glm_estimates(fit), type)

#' Reason for missing standard errors, and the setting that would give standard errors
#' @return A list of two strings. PUBLIC.
#' @noRd
glm_no_errors <- function(fit) {
  if (isTRUE(fit$release$failed)) {
    return(list(reason = "its minimiser was not found", advice = "The budget is spent."))
  }
  wishes <- fit$public$facts$wishes
  if (length(fit$public$linear) || length(wishes) && !only_ridge(wishes)) {
    return(list(
      reason = "errors of penalised or constrained slopes have an unknown, non-normal distribution",
      advice = paste(
        "A fit without penalty and constraints gives intervals at the same budget. So does a fit",
        "of the selected columns to people who are not in this fit."
      )
    ))
  }
  if (!"intervals" %in% mechanism_table$dp_glm[[fit$method]]$options) {
    return(list(
      reason = "this method releases coefficients alone",
      advice = "{.code method = \"objective\"} with {.code intervals = TRUE} gives intervals."
    ))
  }
  list(
    reason = "the release was made with intervals = FALSE",
    advice = "Only a new release with {.code intervals = TRUE} gives intervals. It spends budget."
  )
}

#' @rdname dp_glm-methods
#' @importFrom stats update
#' @export
update.dp_glm <- function(object, ...) door("update", {
  abort(c(
    "A private generalised linear model cannot be fitted again from its release.",
    x = paste(
      "Another model's minimiser is not a function of this model's coefficients, and",
      "nothing else about the rows was released."
    ),
    i = paste(
      "{.fn dp_glm} fits another model with another budget; {.fn dp_lm} releases moments, from",
      "which submodels cost nothing; {.arg constraints} fix slopes at given values."
    )
  ), "argument")
})

#' @rdname dp_glm-methods
#' @importFrom stats family
#' @export
family.dp_glm <- function(object, ...) family_law(object$family)

#' @rdname dp_glm-methods
#' @export
predict.dp_glm <- function(object, newdata, type = c("link", "response"),
                           interval = c("none", "confidence"), level = 0.95, se.fit = FALSE,
                           ...) door("predict", {
  check_no_dots(...)
  se.fit <- check_flag(se.fit)
  type <- check_choice(type, c("link", "response"))
  interval <- check_choice(interval, c("none", "confidence"))
  level <- check_level(level)
  rows <- linear_predictor(object, newdata)
  fit <- rows$fit
  mean <- if (type == "response") glm_families[[object$family]]$mean else identity
  if (interval == "none" && !se.fit) {
    return(mean(fit))
  }
  error <- predictor_errors(rows$x, glm_covariance(object, "total"))
  reach <- stats::qnorm((1 + level) / 2) * error
  out <- if (interval == "none") {
    mean(fit)
  } else {
    cbind(fit = mean(fit), lwr = mean(fit - reach), upr = mean(fit + reach))
  }
  if (!se.fit) {
    return(out)
  }
  # The error is to first order, as in predict.glm().
  slope <- if (type == "response") family.dp_glm(object)$mu.eta(fit) else 1
  list(fit = out, se.fit = stats::setNames(abs(slope) * error, names(fit)), residual.scale = 1)
})

#' @rdname dp_glm-methods
#' @export
augment.dp_glm <- function(x, newdata, ...) door("augment", {
  check_no_dots(...)
  rows <- linear_predictor(x, newdata)
  newdata$.fitted <- unname(glm_families[[x$family]]$mean(rows$fit))
  if (!is.null(x$covariance)) {
    newdata$.se.fit <- predictor_errors(rows$x, x$covariance$total)
  }
  newdata
})
