# Grids and variances of the discrete Gaussian. What is random is drawn in C++.

# Standard deviations stay below 2^27 grid units: then 128-bit integers hold every exact sampler.
largest_sigma <- 2^27

#' Exponent k of the finest grid 2^-k on which a discrete Gaussian can be drawn exactly
#' @param sensitivity (`number`, scaled units)\cr L2 sensitivity.
#' @param mu (`number`)\cr Gaussian shift that the step may cost.
#' @return An integer. PUBLIC.
#' @noRd
gaussian_grid <- function(sensitivity, mu) {
  floor(log2(largest_sigma * mu / sensitivity))
}

#' Variance in grid units that makes a step mu-GDP, rounded up to an integer
#'
#' `sensitivity^2 / (variance - 16) <= mu^2`: discreteness costs 16 (proofs/accounting.md).
#' @param sensitivity (`number`, grid units)\cr L2 sensitivity.
#' @noRd
gaussian_variance <- function(sensitivity, mu) {
  variance <- gaussian_vector_variance_cpp(sensitivity, mu)
  if (!is.finite(variance) || variance > 2^56) {
    abort(c(
      "{.arg epsilon} or {.arg delta} is too small: the noise would not fit the exact sampler."
    ), "argument")
  }
  variance
}

#' Variance of one coordinate of a step's noise
#' @param dimension (`count`)\cr of what the noise is added to.
#' @noRd
noise_variance <- function(law, scale, dimension) {
  if (law == "gamma_norm") (dimension + 1) * scale^2 else scale^2
}
