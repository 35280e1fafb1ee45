# The record of a private fit's estimates, which all methods read: coefficients, their errors by
# part, the distribution of their limits, and facts. Post-processing of the release.

#' A record of estimates
#' @param estimate (named `numeric`, RELEASED)\cr estimates in the units of the formula, or `NULL`
#'   without estimates.
#' @param facts (`list`, PUBLIC or RELEASED)\cr the row of `glance()`.
#' @param nobs (`count`, PUBLIC).
#' @param ... fields that differ from the defaults:
#'   * `index` (`data.frame`): one row per estimate: `term`, and further columns that identify it
#'     (outcome, cohort, target, period, rank).
#'   * `covariance` (`list` of matrices): `total`, `privacy`, `sampling`; `NULL` for an unknown
#'     part.
#'   * `law` (`list`), the distribution for limits: `df`, degrees of freedom of Student's t (`Inf`:
#'     normal). If some estimates need other limits, `limits` (a function of the level that returns
#'     columns `low`, `high`, with `NA` for ordinary limits) and `errors` (a function that returns
#'     `std.error`, `privacy.se`, `statistic`, `p.value`).
#'   * `columns` (`character`): the columns of `tidy()`.
#'   * `text` (`string` or `NULL`): the formula.
#'   * `lacks` (`list`): the `reason` for missing standard errors, and `advice` on how to obtain
#'     them; `strict`: do limits of `tidy()` stop with an error, instead of being `NA`?
#' @noRd
new_estimates <- function(estimate, facts, nobs, ...) {
  check_estimates(with_fields(list(
    estimate = estimate, index = data.frame(term = as.character(names(estimate))),
    covariance = list(), law = list(df = Inf), columns = error_columns, facts = facts, nobs = nobs,
    text = NULL, lacks = list()
  ), list(...)))
}

error_columns <- c("term", "estimate", "std.error", "privacy.se", "statistic", "p.value")

#' @noRd
check_estimates <- function(e) {
  k <- length(e$estimate)
  square <- function(part) is.null(part) || is.matrix(part) && identical(dim(part), c(k, k))
  stopifnot(
    is.null(e$estimate) || is.numeric(e$estimate) && !is.null(names(e$estimate)),
    is.null(e$estimate) || nrow(e$index) == k, "term" %in% names(e$index),
    all(names(e$covariance) %in% covariance_parts), vapply(e$covariance, square, NA),
    is.numeric(e$law$df), is.list(e$facts)
  )
  e
}

covariance_parts <- c("total", "privacy", "sampling")

#' One part of the covariance, or an error with the reason for its absence
#' @noRd
known_part <- function(e, type) {
  part <- e$covariance[[type]]
  if (is.null(part)) {
    reason <- if (all(vapply(e$covariance, is.null, NA))) e$lacks$reason
    abort(c(
      if (!is.null(e$covariance$total)) {
        "The covariance of type {.val {type}} is not available for this fit."
      } else if (is.null(reason)) {
        "This fit has no standard errors."
      } else {
        "This fit has no standard errors: {reason}."
      },
      i = e$lacks$advice
    ), "argument")
  }
  part
}

#' Limits of all estimates, as a matrix
#' @noRd
limits_of <- function(e, level, type) {
  reach <- stats::qt((1 + level) / 2, e$law$df) * sqrt(diag(known_part(e, type)))
  out <- symmetric_limits(e$estimate, reach, level)
  if (type == "total" && !is.null(e$law$limits)) {
    other <- e$law$limits(level)
    replaced <- !is.na(other$low)
    out[replaced, ] <- cbind(other$low, other$high)[replaced, ]
  }
  out
}

#' Estimates with standard errors and tests, one row per estimate
#' @noRd
error_table <- function(e) {
  estimate <- unname(e$estimate)
  if (!is.null(e$law$errors)) {
    return(cbind(e$index, estimate = estimate, e$law$errors()))
  }
  error <- part_errors(e, "total")
  statistic <- estimate / error
  cbind(e$index,
    estimate = estimate, std.error = error, privacy.se = part_errors(e, "privacy"),
    statistic = statistic, p.value = 2 * stats::pt(-abs(statistic), e$law$df)
  )
}

part_errors <- function(e, type) {
  part <- e$covariance[[type]]
  if (is.null(part)) rep(NA_real_, length(e$estimate)) else unname(sqrt(diag(part)))
}

named_square <- function(covariance, names) {
  matrix(as.double(covariance), length(names), dimnames = list(names, names))
}
