# Estimates from a gram release: ridge regression of the post-period on the pre-period with the donors'
# noisy moments. All post-processing.

#' Counterfactual of one target from a gram release
#' @param release (`dp_release`)\cr by method gram.
#' @param y (`numeric(T)`)\cr the target, scaled units; its post-period is not used. PUBLIC.
#' @param estimator (`string`)\cr `"ridge"` or `"did"`.
#' @return A list, scaled units: `path` (T), `prediction` and `privacy` (T1 x T1 covariances),
#'   `penalty`. RELEASED.
#' @noRd
estimate_gram <- function(release, y, estimator = "ridge") {
  s <- release$statistics
  T0 <- release$panel$T0
  T1 <- release$panel$T1
  n <- release$panel$n
  pre <- seq_len(T0)
  A <- seq_len(s$pre)
  B <- length(s$mean) - T1 + seq_len(T1)
  d <- length(s$mean)
  level <- if (s$demean) mean(y[pre]) else 0
  u <- drop(crossprod(s$loadings[pre, A, drop = FALSE], y[pre])) - s$mean[A]
  private <- release$privacy$private
  edge <- s$moment_sd * sqrt(d / 2)
  spectrum <- eigen(s$covariance, symmetric = TRUE)
  values <- if (private) shrink_spectrum(spectrum$values, edge) else pmax(spectrum$values, 0)
  half <- s$restore %*% spectrum$vectors %*% diag(sqrt(values), d)
  covariance <- tcrossprod(half)
  within <- tcrossprod(s$restore[A, , drop = FALSE])
  penalty <- if (!private) {
    if (is.null(release$settings$lambda)) choose_penalty(covariance, A, B, n) else release$settings$lambda / 2 / n
  } else {
    edge
  }
  system <- covariance[A, A, drop = FALSE] + penalty * if (private) within else diag(length(A))
  slope <- solve(system, covariance[A, , drop = FALSE])
  fitted <- s$mean + drop(crossprod(slope, u))
  residual <- covariance[B, B] - crossprod(slope[, B, drop = FALSE], covariance[A, B])
  path <- numeric(T0 + T1)
  basis <- s$loadings[pre, A, drop = FALSE]
  path[pre] <- level + drop(basis %*% solve(crossprod(basis), fitted[A]))
  path[-pre] <- level + fitted[B] / s$weight
  list(path = path, prediction = residual, privacy = matrix(0, T1, T1), penalty = penalty * n * 2)
}

choose_penalty <- function(covariance, A, B, n) {
  spectrum <- eigen(covariance[A, A, drop = FALSE], symmetric = TRUE)
  l <- pmax(spectrum$values, 0)
  cross <- crossprod(spectrum$vectors, covariance[A, B, drop = FALSE])^2
  candidates <- max(l) * 10^seq(-10, 2, by = 0.25)
  gcv <- vapply(candidates, function(c) {
    df <- sum(l / (l + c))
    rss <- sum(diag(covariance)[B]) - sum(rowSums(cross) * (l + 2 * c) / (l + c)^2)
    if (df >= n - 2) Inf else rss / (1 - (df + 1) / n)^2
  }, 0)
  candidates[[which.min(gcv)]]
}
