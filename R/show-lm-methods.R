# Methods of private regressions. All code here is post-processing of the release.

#' Methods for a private regression
#'
#' These methods for a fit by [dp_lm()] are named as for [stats::lm()], use the release alone, and
#' spend no budget. No object contains a person's fitted value, residual, hat value or model frame.
#'
#' @param object,x (`dp_lm`)\cr a fit.
#' @param level (`number`, in (0, 1))\cr coverage of intervals.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @param newdata (`data.frame`, PUBLIC)\cr rows to predict; required. Values beyond the bounds
#'   extrapolate the model. For a missing value or a level that is
#'   not in `bounds` the prediction is `NA`.
#' @param interval (`string`)\cr `"none"`, `"confidence"` (of the mean) or `"prediction"` (of one
#'   person's outcome, in the formula's units).
#' @param formula. (`formula`)\cr a submodel, as in [stats::update()], which contains only columns
#'   of the released model.
#' @param se.fit (`flag`)\cr whether to add standard errors of the means, for sampling and privacy
#'   together.
#' @param ... for `anova()` a submodel. `predict()` and `augment()` accept no further arguments, and
#'   the other methods do not use them.
#' @return
#' * `coef()`, `vcov()`, `confint()`, `nobs()`, `formula()`: see [dp_estimates].
#' * `predict()`: a vector, or a matrix with columns `fit`, `lwr`, `upr`. With `se.fit` a list: the
#'   vector or matrix as `fit`, `se.fit`, `df` and `residual.scale`.
#' * `autoplot()`: a ggplot of the slopes with their confidence intervals; `plot()` draws it. The
#'   thick part of a line is the interval for sampling error alone. The axis covers the identified
#'   slopes; the intervals of the other slopes end in arrows.
#' * `update()`: a `dp_lm` of the submodel, from the same release at no cost. Its standard errors
#'   assume a constant variance, since the second moments of scores were released for the full
#'   model's residuals.
#' * `anova()`: Wald F tests with the total covariance, of each term or of the terms that a submodel
#'   omits; `NA` for a term with a slope that is not identified. Differences of residual sums of
#'   squares would be mostly noise.
#' * `tidy()`: a data frame with `term`, `estimate`, `std.error`, `privacy.se` (standard error for
#'   privacy noise alone), `statistic`, `p.value`, and `conf.low`, `conf.high` if requested.
#'   The column `identified` marks the coefficients that the budget identifies. For these
#'   coefficients `statistic` (`estimate` divided by `std.error`), `p.value` and limits belong to
#'   one Wald test, which is also the test of `summary()` and of `anova()` for one column: `p.value`
#'   is below .05 if and only if the 95 % interval excludes 0. For a slope that is not identified
#'   `statistic` is `NA`. Its limits and `p.value` are from the test of Anderson and Rubin if the
#'   slopes that this test does not reject form a bounded interval; otherwise `p.value` is `NA`, and
#'   limits contain all slopes that the standard deviation of the outcome allows. Standard errors
#'   are `NA` if no slope is identified because medians were not found.
#' * `glance()`: one row of facts, with the noisy number of rows used (`used`) and the noisy share
#'   of residuals beyond three standard deviations (`far`).
#' * `augment()`: `newdata` with `.fitted` and `.se.fit`.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_data`.
#' @importFrom stats anova df.residual sigma
#' @name dp_lm-methods
NULL

#' @noRd
lm_estimates <- function(fit) {
  counts <- lm_counts(fit)
  new_estimates(fit$coefficients,
    index = data.frame(term = names(fit$coefficients), identified = unname(fit$identified)),
    covariance = fit$covariance, text = fit$text, nobs = fit$nobs,
    columns = c(error_columns, "identified"),
    law = list(
      df = fit$df.residual, limits = function(level) uncontradicted(fit, level),
      errors = function() coefficient_tests(fit)
    ),
    facts = list(
      r.squared = fit$r.squared, sigma = fit$sigma, df = length(fit$kept),
      df.residual = fit$df.residual, nobs = fit$nobs, epsilon = fit$privacy$epsilon,
      delta = fit$privacy$delta, rho = fit$privacy$rho, private = fit$privacy$holds,
      resolved = fit$plan$resolved, located = fit$plan$located, identified = all(fit$identified),
      used = counts[["used"]], far = counts[["far"]]
    )
  )
}

#' Limits of slopes that are not identified: all slopes that are compatible with the noisy moments
#'
#' Identified slopes keep the limits of their standard errors, since Wald tests of these slopes hold
#' their level although other slopes are not identified (inst/proofs/regression.md, section 6).
#'
#' Without medians the slopes are unknown, since the frames of the rounds are then noise and their
#' apparent precision is misleading.
#' @return A data frame with one row per coefficient: `low`, `high`, and `p`, the p-value for a
#'   slope of 0; `NA` if limits are unavailable or not needed.
#' @noRd
uncontradicted <- function(fit, level = 0.95) {
  out <- data.frame(low = NA_real_, high = NA_real_, p = rep(NA_real_, length(fit$coefficients)))
  if (!fit$privacy$private || all(fit$identified)) {
    return(out)
  }
  if (!fit$plan$located) {
    out$low <- -Inf
    out$high <- Inf
    return(out)
  }
  if (length(fit$kept) < length(fit$columns$columns)) {
    return(out)
  }
  found <- lm_anderson_cpp(
    fit$release, lm_design(fit$columns), fit$nobs, stats::qchisq(level, 1)
  )
  # For other slopes the limits cover all values that the standard deviation of the outcome allows.
  closed <- !fit$identified[-1L] & is.finite(found[, 1L]) & is.finite(found[, 2L])
  out$low[-1L][closed] <- found[closed, 1L]
  out$high[-1L][closed] <- found[closed, 2L]
  out$p[-1L][closed] <- stats::pchisq(found[closed, 3L], 1, lower.tail = FALSE)
  out
}

#' Standard errors and tests of single coefficients, as far as the budget permits
#' @return A data frame: `std.error`, `privacy.se`, `statistic`, `p.value`; `NA` for unavailable
#'   values.
#' @noRd
coefficient_tests <- function(fit) {
  error <- unname(sqrt(diag(fit$covariance$total)))
  statistic <- unname(fit$coefficients) / error
  out <- data.frame(
    std.error = error, privacy.se = unname(sqrt(diag(fit$covariance$privacy))),
    statistic = statistic,
    p.value = 2 * stats::pt(-abs(statistic), fit$df.residual)
  )
  honest <- uncontradicted(fit)
  # The standard error of a slope within the noise gives no test.
  lost <- !fit$identified
  out$statistic[lost] <- NA
  out$p.value[lost] <- honest$p[lost]
  out[is.infinite(honest$low) | is.na(fit$coefficients), ] <- NA
  out
}

#' @rdname dp_lm-methods
#' @export
df.residual.dp_lm <- function(object, ...) {
  object$df.residual
}

#' @rdname dp_lm-methods
#' @export
sigma.dp_lm <- function(object, ...) {
  object$sigma
}

#' @rdname dp_lm-methods
#' @export
predict.dp_lm <- function(object, newdata, interval = c("none", "confidence", "prediction"),
                          level = 0.95, se.fit = FALSE, ...) door("predict", {
  check_no_dots(...)
  se.fit <- check_flag(se.fit)
  interval <- check_choice(interval, c("none", "confidence", "prediction"))
  level <- check_level(level)
  rows <- linear_predictor(object, newdata)
  fit <- rows$fit
  if (interval == "none" && !se.fit) {
    return(fit)
  }
  error <- stats::setNames(predictor_errors(rows$x, object$covariance$total), names(fit))
  if (!object$plan$located) {
    return(cbind(fit = fit, lwr = -Inf, upr = Inf))
  }
  spread <- if (interval == "prediction") sqrt(error^2 + object$sigma^2) else error
  reach <- stats::qt((1 + level) / 2, object$df.residual) * spread
  if (interval != "none") fit <- cbind(fit = fit, lwr = fit - reach, upr = fit + reach)
  if (!se.fit) {
    return(fit)
  }
  list(fit = fit, se.fit = error, df = object$df.residual, residual.scale = object$sigma)
})

#' @rdname dp_lm-methods
#' @export
update.dp_lm <- function(object, formula., ...) door("update", {
  check_no_dots(...)
  check_given(missing(formula.), "formula.", "the submodel")
  if (!inherits(formula., "formula")) {
    abort("{.arg formula.} must be a formula.", "argument")
  }
  new <- stats::update(stats::formula(object), formula.)
  terms <- stats::terms(new)
  if (attr(terms, "intercept") != 1L) check_lm_terms(terms)
  same <- identical(plain_text(new[[2L]]), plain_text(stats::formula(object)[[2L]]))
  kept <- submodel_columns(object$columns, attr(terms, "term.labels"))
  if (!same || is.null(kept)) {
    abort(c(
      "A submodel can only drop terms of the released model.",
      x = "The released model is {.code {object$columns$text}}.",
      i = "Another outcome or additional terms need a new {.fn dp_lm}, which spends budget."
    ), "argument")
  }
  object$kept <- kept
  object$text <- plain_text(new)
  object$terms <- attr(terms, "term.labels")
  estimate_lm(object)
})

#' The columns of a submodel's terms, or `NULL`
#' @noRd
submodel_columns <- function(columns, labels) {
  plain <- function(x) {
    vapply(strsplit(gsub(" ", "", x), ":", fixed = TRUE), function(part) {
      paste(sort(part), collapse = ":")
    }, "")
  }
  which <- match(plain(labels), plain(columns$terms))
  if (anyNA(which)) {
    return(NULL)
  }
  terms <- vapply(columns$columns, `[[`, 0L, "term")
  which(terms %in% which)
}

#' @rdname dp_lm-methods
#' @export
anova.dp_lm <- function(object, ...) door("anova", {
  others <- list(...)
  fit <- object
  if (!length(others)) {
    sets <- term_places(object$columns, object$kept)
  } else {
    pair <- if (length(others) == 1L) nested_fits(object, others[[1L]])
    if (is.null(pair)) {
      abort(c(
        "{.fn anova} compares two nested fits of one release.",
        i = "Make the smaller fit with {.fn update}."
      ), "argument")
    }
    fit <- pair$full
    sets <- list(pair$places)
    names(sets) <- paste("without", paste(names(fit$coefficients)[sets[[1L]]], collapse = ", "))
  }
  rows <- lapply(sets, function(places) {
    row <- wald_row(wald_statistic(places, fit), fit, "F")
    data.frame(row["Df"], Res.Df = fit$df.residual, row[-1L], check.names = FALSE)
  })
  wald_table(rows, fit)
})

#' @rdname dp_lm-methods
#' @export
augment.dp_lm <- function(x, newdata, ...) door("augment", {
  check_no_dots(...)
  rows <- linear_predictor(x, newdata)
  newdata$.fitted <- unname(rows$fit)
  newdata$.se.fit <- predictor_errors(rows$x, x$covariance$total)
  newdata
})
