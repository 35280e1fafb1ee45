# Code shared by methods "output" and "objective", which release weights.

#' Do names determine the donors' order? If so, weights are in a random order that is not stored
#'
#' Long data are sorted by units, and the names of units are protected unless they were declared
#' public. The rows of a matrix without row names remain in the user's order.
#' @noRd
named_places <- function(panel, control) {
  named <- !identical(panel$source, "matrix") || !is.null(rownames(panel$donors))
  named && !control$donor_names
}

#' Settings of the vertical estimator, with its target and the variances of the noise
#'
#' The weights of objective perturbation change by at most the linear term divided by the curvature.
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

#' All released values, as one vector
#' @noRd
vertical_numbers <- function(statistics) c(statistics$weights, statistics$counterfactual)

#' Fault of the statistics of a release of weights, or `NULL`
#' @noRd
vertical_problem <- function(release) {
  panel <- release$panel
  statistics <- release$statistics
  settings <- release$settings
  amounts <- settings[c("lambda", "weights_variance", "post_variance")]
  fits <- is_vector_of(statistics$weights, panel$n) &&
    is_vector_of(statistics$counterfactual, panel$T1) && is_vector_of(settings$target, panel$T0) &&
    all(vapply(amounts, is_amount, NA, zero = TRUE))
  if (!fits) {
    "The statistics do not match the sizes of the panel."
  }
}

#' Does the noise that the vertical estimator assumes agree with the steps?
#'
#' The first step releases the weights, and the last step releases the outcomes.
#' @param agrees (`function`)\cr does the variance of the weights agree with the variance of the
#'   first step's noise and the settings?
#' @noRd
vertical_noise_conflict <- function(release, agrees) {
  settings <- release$settings
  privacy <- release$privacy
  panel <- release$panel
  if (!privacy$private) {
    if (settings$weights_variance != 0 || settings$post_variance != 0) {
      return("The release is marked not private, but it reports noise.")
    }
    return(NULL)
  }
  steps <- privacy$steps
  first <- noise_variance(steps$law[[1L]], steps$scale[[1L]], panel$n)
  last <- nrow(steps)
  post <- noise_variance(steps$law[[last]], steps$scale[[last]], panel$n * panel$T1)
  half <- new_bounds(cbind(release$bounds$lower, release$bounds$upper), panel$T0 + panel$T1)$half
  sensitivity <- post_sensitivity_cpp(panel$T1, sqrt(mean(half[-seq_len(panel$T0)]^2)))
  if (!agrees(first, settings) || !about_equal(settings$post_variance, post) || last < 2L ||
      !about_equal(sensitivity, steps$sensitivity[[last]])) {
    "The noise of the statistics does not match the noise steps."
  }
}
