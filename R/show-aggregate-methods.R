# Methods of aggregates, which use released values and public facts.

#' Methods for an aggregate
#'
#' These methods for a result of [dp_aggregate()] are post-processing and cost nothing.
#'
#' @param x,object (`dp_aggregate`).
#' @param ... unused.
#' @return
#' * `coef()`, `vcov()`, `confint()`, `nobs()`: see [dp_estimates]. The estimand of the confidence
#'   limits is the statistic of a block, see [dp_aggregate()]. `vcov()` and `confint()` cause an
#'   error if no standard deviation over blocks was released (method `"mean"`, and `"median"`
#'   without `spread`).
#' * `tidy()`: a data frame with `term`, `estimate`, `std.error` (of the estimate, for sampling and
#'   privacy), `privacy.se` (for privacy noise alone), `identified` (whether the quantiles are
#'   clearly above the noise), and `conf.low`, `conf.high` if requested. Standard errors are `NA` if
#'   no standard deviation over blocks was released, or if the statistic is not identified.
#' * `glance()`: one row with `method`, `nobs`, `blocks`, `epsilon`, `delta`, `private` (whether the
#'   stated guarantee is valid) and `identified`.
#' * `summary()`: the printed result, with all facts on privacy and the steps.
#' @section Errors: `dpsc_error_argument`.
#' @name dp_aggregate-methods
NULL

#' @noRd
aggregate_estimates <- function(fit) {
  k <- length(fit$estimate)
  # Medians of the same blocks are correlated, but the release does not contain the correlation.
  apart <- function(error) {
    out <- named_square(rep(NA_real_, k^2), names(fit$estimate))
    diag(out) <- error^2
    out
  }
  new_estimates(fit$estimate,
    index = data.frame(term = names(fit$estimate), identified = rep(fit$plan$identified, k)),
    columns = c(error_columns[1:4], "identified"), nobs = fit$nobs,
    covariance = if (has_spread(fit)) {
      list(total = apart(fit$std.error), privacy = apart(fit$privacy.se))
    },
    law = list(df = Inf, errors = function() {
      data.frame(std.error = fit$std.error, privacy.se = fit$privacy.se)
    }),
    lacks = list(
      reason = "this aggregate was released without its standard deviation",
      advice = paste(
        "Release by {.code method = \"winsorised\"}, with about 96 / epsilon blocks per statistic",
        "or more."
      ),
      strict = TRUE
    ),
    facts = list(
      method = fit$method, nobs = fit$nobs, blocks = fit$plan$blocks,
      epsilon = fit$privacy$epsilon, delta = fit$privacy$delta, private = fit$privacy$holds,
      identified = fit$plan$identified
    )
  )
}

#' @rdname dp_aggregate-methods
#' @export
print.dp_aggregate <- function(x, ...) print_lines(x, aggregate_lines(x))

#' @rdname dp_aggregate-methods
#' @export
summary.dp_aggregate <- function(object, ...) new_summary(object, aggregate_lines(object), ...)

aggregate_lines <- function(x) {
  title <- mechanism_table$dp_aggregate[[x$method]]$title
  c(
    paste0(if (!x$privacy$private) "Raw ", if (x$privacy$private) title else tolower(title),
      " of your statistic over ", count_words(x$plan$blocks), " blocks of ",
      count_words(floor(x$nobs / x$plan$blocks)), " people"),
    "",
    paste0("  ", formatC(names(x$estimate), width = -max(nchar(names(x$estimate)))), "  ",
      formatC(x$estimate, digits = 5L, format = "g"),
      ifelse(is.na(x$std.error), "", paste0("  (", formatC(x$std.error, digits = 3L, format = "g"),
        ")"))),
    strwrap(c(aggregate_reason(x), fallback_line(x)), 90L, prefix = "  ")
  )
}

#' Reason for a missing interval, by public facts, or `NULL`
#' @noRd
aggregate_reason <- function(x) {
  if (!x$plan$identified) {
    return(paste0(
      "Not identified at this budget: the noise amounts to ", formatC(x$plan$ranks, digits = 3L,
        format = "g"), " of ", count_words(x$plan$blocks), " ranks. Use more people, ",
      "fewer statistics or a larger epsilon."
    ))
  }
  if (!has_spread(x)) {
    return("No interval: the standard deviation over blocks was not released.")
  }
  # Objects of version 0.2.0 lack this fact.
  if (isFALSE(x$plan$large)) {
    paste0("No interval: blocks have fewer than ", least_block, " people, and the bias of a ",
      "statistic in small samples is not known.")
  }
}

fallback_line <- function(x) {
  failed <- at_fallback(x)
  lost <- lost_spread(x)
  if (length(lost)) {
    return(paste0("For ", paste(lost, collapse = ", "), ", ", lost_spread_words))
  }
  if (length(failed)) {
    paste0("The released numbers are those of a statistic that equals the fallback on most ",
      "blocks (", paste(failed, collapse = ", "), "): the statistic may have failed.")
  }
}
