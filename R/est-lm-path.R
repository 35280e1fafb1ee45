# Ridge and lasso paths from the moments of a private regression: post-processing.

#' Ridge and lasso of a private regression
#'
#' Computes the fits for all penalties from one release, at no further cost, by coordinate descent
#' on the noisy moments of a [dp_lm()]. Columns are scaled to variance one, and the intercept is not
#' penalised.
#'
#' @param fit (`dp_lm`)\cr a fit, or a submodel of one.
#' @param alpha (`number`, in \[0, 1\])\cr 1 for the lasso, 0 for ridge regression.
#' @param penalties (`numeric` or `NULL`)\cr nonnegative penalties, in units of the outcome. `NULL`:
#'   50 values, from the smallest penalty at which all slopes are zero (for `alpha` below 0.01, at
#'   which they would be zero with `alpha = 0.01`) down to a thousandth of this penalty.
#' @param x,object (`dp_lm_path`)\cr a path.
#' @param penalty (`number` or `NULL`)\cr a penalty; the nearest value in `penalties` is used.
#'   `NULL`: the best penalty.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @param row.names,optional as in [as.data.frame()]; `optional` is ignored.
#' @param ... unused.
#' @return An object of class `dp_lm_path`, a list. RELEASED:
#'   * `alpha`: the argument.
#'   * `path`: a data frame with one row per penalty and columns `penalty`, `df`, `r.squared` and
#'     `cp`. Up to a constant, which makes the smallest `cp` zero, `cp` estimates the expected
#'     squared error of a predicted mean, which includes sampling error and privacy noise. The best
#'     penalty minimises `cp`.
#'   * `coefficients`: a matrix with one row per penalty and the intercept in the first column.
#'   * `best`: the row of the best penalty.
#'
#'   `coef()` returns one row of the coefficients. `as.data.frame()` returns path and coefficients
#'   with one row per penalty, and `tidy()` one row per coefficient and penalty. Standard errors are
#'   not available, since the standard errors of [dp_lm()] are for the model without penalty.
#' @section Errors: `dpsc_error_argument`.
#' @references
#' Friedman, J., Hastie, T. and Tibshirani, R. (2010). Regularization Paths for Generalized Linear
#' Models via Coordinate Descent. Journal of Statistical Software.
#' @examples
#' n <- 20000
#' people <- as.data.frame(matrix(runif(n * 6, -1, 1), n))
#' people$y <- people$V1 - 0.5 * people$V2 + rnorm(n)
#' bounds <- c(list(y = c(-6, 6)), stats::setNames(rep(list(c(-1, 1)), 6), paste0("V", 1:6)))
#' fit <- dp_lm(y ~ ., people, epsilon = 1, bounds = bounds)
#' lasso <- lm_path(fit)
#' lasso
#' coef(lasso)
#' @export
lm_path <- function(fit, alpha = 1, penalties = NULL, ...) door("lm_path", {
  check_no_dots(...)
  if (!inherits(fit, "dp_lm")) {
    abort(c("{.arg fit} must come from {.fn dp_lm}.", x = "It is {describe(fit)}."), "argument")
  }
  alpha <- check_number(alpha, 0, 1)
  m <- path_moments(fit)
  scale <- sqrt(diag(m$covariance))
  scale[!(scale > 0)] <- 1
  if (is.null(penalties)) {
    top <- max(abs(m$cross / scale)) / max(alpha, 0.01)
    penalties <- top * 10^seq(0, -3, length.out = 50)
  }
  if (!is.numeric(penalties) || !length(penalties) || !all(is.finite(penalties) & penalties >= 0)) {
    abort("{.arg penalties} must be nonnegative numbers.", "argument")
  }
  penalties <- sort(as.double(penalties), decreasing = TRUE)
  slopes <- penalised_path_cpp(m$covariance, m$cross, alpha, penalties)
  error <- rowSums((slopes %*% m$covariance) * slopes) - 2 * drop(slopes %*% m$cross)
  spent <- lapply(seq_along(penalties), function(k) {
    path_cost(slopes[k, ], penalties[[k]], alpha, m)
  })
  df <- vapply(spent, `[[`, 0, "df")
  cp <- error + 2 * vapply(spent, `[[`, 0, "optimism")
  coefficients <- cbind(m$response_mean - drop(slopes %*% m$mean), slopes)
  colnames(coefficients) <- names(fit$coefficients)
  structure(list(
    alpha = alpha,
    path = data.frame(
      penalty = penalties, df = df, r.squared = pmin(1, pmax(0, -error / m$response)),
      cp = cp - min(cp)
    ),
    coefficients = coefficients, best = which.min(cp), text = fit$text, privacy = fit$privacy
  ), class = "dp_lm_path")
})

#' Moments of the remaining columns of a model
#' @noRd
path_moments <- function(fit) {
  kept <- fit$kept
  if (fit$privacy$private) {
    m <- lm_moments_cpp(fit$release, lm_design(fit$columns), fit$nobs)
    m$cross <- m$cross[kept]
    m$mean <- m$mean[kept]
    m$covariance <- m$covariance[kept, kept, drop = FALSE]
    m$doubt <- m$doubt[kept, kept, drop = FALSE]
    return(m)
  }
  raw <- fit$release
  last <- length(raw$mean)
  S <- raw$covariance[kept, kept, drop = FALSE]
  list(
    mean = raw$mean[kept], covariance = S, cross = raw$covariance[kept, last],
    response_mean = raw$mean[[last]], response = raw$covariance[last, last],
    doubt = fit$sigma^2 / raw$rows * S
  )
}

#' The effective number of columns, and the optimism of a fit's error on the moments of the fit
#'
#' The trace of (S + penalty)^-1 times the covariance of the cross moments' error, on the included
#' columns.
#' @noRd
path_cost <- function(b, penalty, alpha, m) {
  used <- which(b != 0)
  if (!length(used)) {
    return(list(df = 0, optimism = 0))
  }
  S <- m$covariance[used, used, drop = FALSE]
  ridge <- S + diag(penalty * (1 - alpha) * diag(S), length(used))
  list(
    df = sum(diag(solve(ridge, S))),
    optimism = sum(diag(solve(ridge, m$doubt[used, used, drop = FALSE])))
  )
}

#' @rdname lm_path
#' @export
coef.dp_lm_path <- function(object, penalty = NULL, ...) door("coef", {
  check_no_dots(...)
  if (is.null(penalty)) {
    return(object$coefficients[object$best, ])
  }
  penalty <- check_number(penalty, 0)
  object$coefficients[which.min(abs(object$path$penalty - penalty)), ]
})
