# The methods that tables, tests and papers need from a model. `coef()` and `vcov()` match, in the
# order of `tidy()`. All methods use `effect_table()` and `effect_covariance()`, and cost nothing.

#' Coefficients, covariances and data frames of a fit, for other packages
#'
#' `coef()` and `vcov()` compute the effects and their covariance from the fit alone, with the
#' average effect first. Functions that use only these two methods therefore work at no cost in
#' privacy. Examples are `marginaleffects::hypotheses()`, `multcomp::glht()`,
#' `car::linearHypothesis()`, and functions of the packages `parameters` and `modelsummary`.
#'
#' @param object,x,formula (`dp_synth`)\cr a fit.
#' @param type (`string`)\cr for `vcov()`, the `"total"` or one of its parts: `"privacy"` for the
#'   noise, or `"sampling"` for the prediction error of a unit drawn like the donors. For
#'   `as.data.frame()`, the kind of table, see Value.
#' @param level (`number`, in (0, 1))\cr coverage of the limits.
#' @param simultaneous (`flag`)\cr whether the limits cover all periods together.
#' @param shrink (`flag`)\cr for `coef()`, and `as.data.frame()` with `type = "effect"`: whether to
#'   shrink the effects of a protected group's periods, see [tidy.dp_synth()]. `vcov()` is the
#'   covariance of the effects that are not shrunk.
#' @param newdata the panel with new periods, for a growing fit; see [dp_monitor].
#' @param target,estimator,lambda,size values for the new fit; see [dp_synth()]. Missing arguments
#'   are unchanged. Without a new `target`, a new `size` is for the same target.
#' @param nsim (`count`)\cr number of draws.
#' @param seed (`number` or `NULL`)\cr a seed for R's generator, whose state is restored afterwards.
#'   With `NULL` the draws continue from the current state.
#' @param row.names,optional unused.
#' @param ... unused. For `update()` with `newdata` see [dp_monitor]. Any other argument of
#'   `update()` causes an error, since it needs a new release.
#' @return
#' * `coef()`: a named vector in outcome units: the average effect, then the effect in each period.
#'   With several targets the names are `target: term`.
#' * `vcov()`: the covariance of these effects, with the same names, in squared outcome units.
#'   Unknown entries are `NA`: the sampling part of methods `"output"` and `"objective"` (whose
#'   total is the privacy noise alone, as in `tidy()`), all entries for classical estimators before
#'   [placebo_errors()], and entries between two targets. In a joint test use the periods without
#'   the average, which the periods determine. Every row of the total is scaled to the calibrated
#'   standard error of its effect, as in `tidy()`. The variance of the average therefore differs
#'   from the variance of the mean of the periods, which `hypotheses()` of `marginaleffects` and
#'   similar functions would compute from the rows of the periods. For the average use the row
#'   `average`.
#' * `weights()`: weights of the donors. For a classical fit the weights have the donors' names (NOT
#'   PRIVATE). For methods `"output"` and `"objective"` the weights are noisy. For a matrix without
#'   row names these noisy weights are in the order of the rows. If `dp_control(donor_names = TRUE)`
#'   declared names public, they have the donors' names. Otherwise they are in a random order that
#'   is not stored, since a person's place among sorted names is a function of all names. For
#'   `"gram"`, which has no weights, the call stops with an error.
#' * `formula()`: the formula of the fit. The call stops with an error for a fit to a matrix or to a
#'   release, and if the formula contains a constant that could be a person's value.
#' * `as.data.frame()`: one row for each target and period, for plots and publications. With
#'   `"path"` the result is the table of `augment()`. With `"effect"`, `"cumulative"` and
#'   `"percent"` (of the counterfactual) the columns are `target`, `period`, `estimate`, `conf.low`,
#'   `conf.high`. Limits of `"percent"` are computed from the limits of the counterfactual. A limit
#'   is `NA` if the counterfactual's limit is not positive.
#' * `update()`: a fit with another target, estimator or penalty on the same release, at no cost.
#' * `simulate()`: a data frame with `nsim` columns, and one row for each target and each period
#'   from the treatment on. If the standard errors are `NA`, the call stops with an error. Each
#'   column is a draw of the outcomes without treatment, from the normal distribution on which the
#'   intervals are based.
#' @section Errors: `dpsc_error_argument`.
#' @examples
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 2, bounds = c(-1, 1)
#' )
#' coef(fit)
#' sqrt(diag(vcov(fit, type = "privacy")))
#' # Does the last period's effect differ from the first one's?
#' contrast <- c(0, -1, 0, 1)
#' sum(contrast * coef(fit)) / sqrt(drop(contrast %*% vcov(fit) %*% contrast))
#' as.data.frame(fit, type = "cumulative")
#' update(fit, estimator = "did")
#' simulate(fit, nsim = 2, seed = 1)
#' @name coef.dp_synth
NULL

#' @rdname coef.dp_synth
#' @importFrom stats coef
#' @export
coef.dp_synth <- function(object, ..., shrink = FALSE) door("coef", {
  coef_effects(object, ..., shrink = shrink)
})

#' @rdname coef.dp_synth
#' @importFrom stats vcov
#' @export
vcov.dp_synth <- function(object, type = c("total", "privacy", "sampling"), ...) door("vcov", {
  type <- check_choice(type, c("total", "privacy", "sampling"))
  parts <- switch(type,
    total = known_parts(object), privacy = "privacy", sampling = "prediction"
  )
  table <- effect_table(object)
  out <- matrix(NA_real_, nrow(table), nrow(table))
  # Covariances of rows that belong to different targets remain unknown.
  for (target in intersect(table$target, rownames(object$target))) {
    rows <- which(table$target == target)
    i <- match(target, rownames(object$target))
    out[rows, rows] <- average_and_periods(known_covariance(object, i, parts))
  }
  if (type == "total") {
    # The covariance is calibrated like the standard errors.
    lift <- table$std.error / sqrt(diag(out))
    lift[!is.finite(lift) | is.na(table$std.error)] <- if (noise_only(object)) 1 else NA_real_
    out <- out * tcrossprod(lift)
  }
  dimnames(out) <- rep(list(effect_names(table)), 2L)
  out
})

#' Covariance of the average and the periods from the periods' covariance
#' @noRd
average_and_periods <- function(covariance) {
  T1 <- nrow(covariance)
  averaging <- rbind(rep(1 / T1, T1), diag(T1))
  out <- averaging %*% covariance %*% t(averaging)
  (out + t(out)) / 2
}

#' @rdname coef.dp_synth
#' @importFrom stats weights
#' @export
weights.dp_synth <- function(object, ...) door("weights", {
  release <- object$release
  weights <- release$statistics$weights
  if (is.null(weights)) {
    abort(c(
      "A fit by method {.val {release$method}} has no weights for single donors.",
      i = paste(
        "Method {.val gram} releases sums; methods {.val output} and {.val objective} release",
        "noisy weights."
      )
    ), "argument")
  }
  names(weights) <- release$panel$donor_names %||% seq_along(weights)
  weights
})

#' @rdname coef.dp_synth
#' @importFrom stats formula
#' @export
formula.dp_synth <- function(x, ...) door("formula", {
  if (is.null(x$formula)) {
    abort(c(
      "This fit contains no formula.",
      x = paste(
        "It was made from a matrix or a release, or its formula contains a constant that could be",
        "a person's value."
      ),
      i = "The outcome is {.val {x$release$panel$outcome}}."
    ), "argument")
  }
  x$formula
})

#' @rdname coef.dp_synth
#' @importFrom stats simulate
#' @export
simulate.dp_synth <- function(object, nsim = 1, seed = NULL, ...) door("simulate", {
  nsim <- check_count(nsim, 1)
  if (!is.null(seed)) seed <- check_number(seed)
  total <- vcov.dp_synth(object)
  if (anyNA(diag(total))) {
    abort(c(
      "The distribution of this fit's errors is unknown, so there is nothing to draw from.",
      i = "For a fit by a classical estimator, use {.fn placebo_space} or {.fn conformal}."
    ), "argument")
  }
  T1 <- object$release$panel$T1
  draws <- with_generator(seed, lapply(seq_len(nrow(object$target)), function(i) {
    # The rows of a target are its average, which is not simulated, and its periods.
    periods <- (i - 1L) * (T1 + 1L) + 1L + seq_len(T1)
    root <- covariance_root(total[periods, periods, drop = FALSE])
    centre <- object$counterfactual[i, post_periods(object)]
    centre + root %*% matrix(stats::rnorm(length(centre) * nsim), length(centre))
  }))
  out <- as.data.frame(do.call(rbind, draws))
  names(out) <- paste0("sim_", seq_len(nsim))
  periods <- period_text(object$release$panel$times[post_periods(object)])
  several <- nrow(object$target) > 1L
  rownames(out) <- if (several) {
    paste0(rep(rownames(object$target), each = length(periods)), ": ", periods)
  } else {
    periods
  }
  out
})

#' A matrix root: its product with its transpose is the covariance
#' @noRd
covariance_root <- function(covariance) {
  spectrum <- eigen(covariance, symmetric = TRUE)
  spectrum$vectors %*% diag(sqrt(pmax(spectrum$values, 0)), nrow(covariance))
}

#' @rdname coef.dp_synth
#' @export
as.data.frame.dp_synth <- function(x, row.names = NULL, optional = FALSE,
                                   type = c("path", "effect", "cumulative", "percent"),
                                   level = 0.95, simultaneous = FALSE, ...,
                                   shrink = FALSE) door("as.data.frame", {
  check_table_dots(...)
  type <- check_choice(type, c("path", "effect", "cumulative", "percent"))
  if (type == "path") {
    return(augment.dp_synth(x))
  }
  level <- check_level(level)
  data <- effect_series(x, type, level, check_flag(simultaneous), check_flag(shrink))
  data <- data[data$treated, ]
  rownames(data) <- NULL
  data.frame(
    data[c("target", "period", "estimate")], conf.low = data$low, conf.high = data$high
  )
})

# Other packages -----------------------------------------------------------------------------------

#' Register our fits with marginaleffects, which reads classes from an option
#' @noRd
announce_classes <- function() {
  name <- "marginaleffects_model_classes"
  options(stats::setNames(list(union(getOption(name), c("dp_synth", "dp_lm", "dp_glm"))), name))
}

# For numerical derivatives marginaleffects changes the coefficients; `coef()` always returns the
# fitted coefficients.

#' @exportS3Method insight::get_parameters
get_parameters.dp_synth <- get_parameters.dp_regression

#' @exportS3Method marginaleffects::set_coef
set_coef.dp_synth <- set_coef.dp_regression

#' @exportS3Method marginaleffects::get_vcov
get_vcov.dp_synth <- get_vcov.dp_regression
