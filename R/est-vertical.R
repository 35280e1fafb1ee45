# Estimates from a release of weights, methods "output" and "objective": post-processing only.

#' Counterfactual of the vertical methods, from the release
#'
#' Its privacy variance is computed from the two noise distributions, with variance a^2 for each
#' weight and b^2 for each outcome. A prediction has variance `a^2 sum_i x_i^2 + b^2 |w|^2`, where w
#' are the released weights, and `sum_i x_i^2 <= n` is a public bound. The expectation of `|w|^2` is
#' `|f|^2 + n a^2`, where f are the weights without noise, so the product of the two noises is
#' included.
#' @noRd
estimate_vertical <- function(release, target, size, estimator) {
  panel <- release$panel
  T1 <- panel$T1
  statistics <- release$statistics
  noise <- release$privacy$steps
  privacy <- matrix(0, T1, T1)
  if (release$privacy$private) {
    weights_variance <- release$settings$weights_variance
    post_variance <- release$settings$post_variance
    squared <- sum(statistics$weights^2)
    half <- release_scale(release)$half[-seq_len(panel$T0)]
    privacy <- diag(post_variance * squared, T1) +
      weights_variance * panel$n * tcrossprod(half)
  }
  list(list(
    path = c(rep(NA_real_, panel$T0), statistics$counterfactual),
    prediction = matrix(NA_real_, T1, T1), privacy = privacy,
    penalty = release$settings$lambda, spread = list(
      reason = "an interval needs the donors' moments, which this method does not release"
    )
  ))
}
