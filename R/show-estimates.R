# The methods that read a record of estimates, each written once, and the classes with such a
# record.

#' Methods for regressions, selections, aggregates and streams
#'
#' These methods are for results of [dp_lm()], [dp_glm()], [dp_select()], [dp_aggregate()] and
#' [dp_online()], and for the running sums of [dp_stream_sum()] and [dp_stream_count()]. The methods
#' use the release alone and cost nothing.
#' Further methods are described in [dp_lm-methods], [dp_glm-methods], [dp_paper-methods],
#' [dp_selection-methods], [dp_aggregate-methods] and [dp_stream-methods].
#'
#' @param object,x (`dp_regression`, `dp_selection`, `dp_aggregate` or `dp_stream`)\cr a fit.
#' @param parm (`character` or `integer`)\cr the requested estimates.
#' @param level,conf.level (`number`, in (0, 1))\cr coverage of confidence limits.
#' @param type (`string`)\cr `"total"`: the error relative to the population. `"privacy"`: the error
#'   from noise, and from a ridge that privacy needs, relative to the fit to the same rows without
#'   noise. `"sampling"`: the error of the fit without noise.
#' @param conf.int,exponentiate (`flag`)\cr whether to add confidence limits, and whether to give
#'   estimates and limits as odds ratios or rate ratios.
#' @param complete unused; accepted because other packages pass it.
#' @param ... no further arguments, except those that table packages pass to `tidy()`. `glance()`
#'   ignores further arguments.
#' @return
#' * `coef()`: a named vector, in the units of the formula.
#' * `nobs()`: the number of people, or of rows used.
#' * `formula()`: for regressions and [dp_online()], the model, without an environment.
#' * `residuals()`, `fitted()`: for regressions, an error, since residuals and fitted values are
#'   values of single people.
#' * `vcov()`: the covariance matrix of the estimates, or an error with the reason if no standard
#'   errors were released.
#' * `confint()`: a matrix with one row per estimate, or an error with the reason if no standard
#'   errors were released.
#' * `tidy()`: a data frame with one row per estimate and columns `term`, `estimate`, `std.error`
#'   (for sampling and privacy), `privacy.se` (for privacy alone), `statistic` and `p.value` (not
#'   for [dp_aggregate()]), and `conf.low`, `conf.high` if requested. Standard errors, tests and
#'   limits are `NA` if no estimate is identified or no standard errors were released; for
#'   [dp_aggregate()] without standard errors `conf.int = TRUE` causes an error with the reason. For
#'   [dp_lm()], [dp_glm()] and [dp_aggregate()] there is also a column `identified`, for
#'   [dp_select()] a column `rank`. For running sums see [dp_stream-methods].
#' * `glance()`: one row with the number of people or rows, the budget, `private` (whether the
#'   stated guarantee is valid), and columns that depend on the class.
#' @section Errors: `dpsc_error_argument`.
#' @aliases dp_regression
#' @name dp_estimates
NULL

#' The record of a fit's estimates
#' @return See [new_estimates()].
#' @noRd
estimates <- function(fit) {
  makers <- list(
    dp_lm = lm_estimates, dp_glm = glm_estimates, dp_paper = paper_estimates,
    dp_selection = selection_estimates, dp_aggregate = aggregate_estimates,
    dp_online = online_estimates, dp_stream_sum = sum_estimates
  )
  makers[[intersect(class(fit), names(makers))]](fit)
}

coef_estimates <- function(object, complete = TRUE, ...) door("coef", {
  check_no_dots(...)
  estimates(object)$estimate
})

vcov_estimates <- function(object, type = c("total", "privacy", "sampling"), complete = TRUE,
                           ...) door("vcov", {
  check_no_dots(...)
  known_part(estimates(object), check_choice(type, covariance_parts))
})

confint_estimates <- function(object, parm, level = 0.95,
                              type = c("total", "privacy", "sampling"), ...) door("confint", {
  check_no_dots(...)
  level <- check_level(level)
  type <- check_choice(type, covariance_parts)
  limits_asked(limits_of(estimates(object), level, type), parm, "estimates")
})

tidy_estimates <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE,
                           ...) door("tidy", {
  check_table_dots(...)
  e <- estimates(x)
  if (is.null(e$estimate)) {
    return(e$index)
  }
  change <- if (check_flag(exponentiate)) exp else identity
  out <- error_table(e)[e$columns]
  out$estimate <- change(out$estimate)
  if (check_flag(conf.int)) {
    level <- check_level(conf.level, "conf.level")
    # A table of several models requests limits for all of them.
    known <- isTRUE(e$lacks$strict) || !is.null(e$covariance$total)
    limits <- if (known) limits_of(e, level, "total") else matrix(NA_real_, nrow(out), 2L)
    out <- with_limits(out, limits, change)
  }
  out
})

glance_estimates <- function(x, ...) as.data.frame(estimates(x)$facts)

nobs_estimates <- function(object, ...) estimates(object)$nobs

formula_estimates <- function(x, ...) door("formula", {
  text <- estimates(x)$text
  if (is.null(text)) abort("This object has no formula.", "argument")
  formula_of(text)
})

# Classes ------------------------------------------------------------------------------------------

#' @rdname dp_estimates
#' @export
coef.dp_regression <- coef_estimates

#' @rdname dp_estimates
#' @export
coef.dp_selection <- coef_estimates

#' @rdname dp_estimates
#' @export
coef.dp_aggregate <- coef_estimates

#' @rdname dp_estimates
#' @export
coef.dp_stream <- coef_estimates

#' @rdname dp_estimates
#' @export
vcov.dp_regression <- vcov_estimates

#' @rdname dp_estimates
#' @export
vcov.dp_selection <- vcov_estimates

#' @rdname dp_estimates
#' @export
vcov.dp_aggregate <- vcov_estimates

#' @rdname dp_estimates
#' @export
vcov.dp_stream <- vcov_estimates

#' @rdname dp_estimates
#' @export
confint.dp_regression <- confint_estimates

#' @rdname dp_estimates
#' @export
confint.dp_selection <- confint_estimates

#' @rdname dp_estimates
#' @export
confint.dp_aggregate <- confint_estimates

#' @rdname dp_estimates
#' @export
confint.dp_stream <- confint_estimates

#' @rdname dp_estimates
#' @export
tidy.dp_regression <- tidy_estimates

#' @rdname dp_estimates
#' @export
tidy.dp_selection <- tidy_estimates

#' @rdname dp_estimates
#' @export
tidy.dp_aggregate <- tidy_estimates

#' @rdname dp_estimates
#' @export
tidy.dp_stream <- tidy_estimates

#' @rdname dp_estimates
#' @export
glance.dp_regression <- glance_estimates

#' @rdname dp_estimates
#' @export
glance.dp_selection <- glance_estimates

#' @rdname dp_estimates
#' @export
glance.dp_aggregate <- glance_estimates

#' @rdname dp_estimates
#' @export
glance.dp_stream <- glance_estimates

#' @rdname dp_estimates
#' @export
nobs.dp_regression <- nobs_estimates

#' @rdname dp_estimates
#' @export
nobs.dp_selection <- nobs_estimates

#' @rdname dp_estimates
#' @export
nobs.dp_aggregate <- nobs_estimates

#' @rdname dp_estimates
#' @export
nobs.dp_stream <- nobs_estimates

#' @rdname dp_estimates
#' @export
formula.dp_regression <- formula_estimates

#' @rdname dp_estimates
#' @export
formula.dp_stream <- formula_estimates
