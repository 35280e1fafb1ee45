# What methods "output" and "objective", which release weights, have in common.

#' What the vertical estimator needs to know: the target it serves, and the variances of the noise
#'
#' The weights of objective perturbation move by at most the linear term over the curvature.
#' @noRd
vertical_settings <- function(public, plan) {
  variance <- function(step, dimension) {
    if (is.null(step$law)) 0 else noise_variance(step$law, step$scale, dimension)
  }
  list(
    target = public$target, lambda = plan$weights$lambda, cap = plan$weights$cap,
    weights_variance = variance(plan$weights, public$n) / (plan$weights$mu %||% 1)^2,
    post_variance = variance(plan$post, public$n * public$T1)
  )
}

#' What is wrong with the statistics of a release of weights, or `NULL`
#' @noRd
vertical_problem <- function(release) {
  is_vector <- function(x, size) is.numeric(x) && length(x) == size && all(is.finite(x))
  is_amount <- function(x) is_number(x) && is.finite(x) && x >= 0
  panel <- release$panel
  statistics <- release$statistics
  settings <- release$settings
  if (!is_vector(statistics$weights, panel$n) || !is_vector(statistics$counterfactual, panel$T1) ||
    !is_vector(settings$target, panel$T0) || !is_amount(settings$lambda) ||
    !is_amount(settings$weights_variance) || !is_amount(settings$post_variance)) {
    "The statistics do not fit the sizes of the panel."
  }
}
