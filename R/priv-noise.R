# Variances of the noise. All random numbers are drawn in C++.

#' Variance of one coordinate of a step's noise
#' @param dimension (`count`)\cr the dimension of the vector to which the noise is added.
#' @noRd
noise_variance <- function(law, scale, dimension) {
  if (law == "gamma_norm") (dimension + 1) * scale^2 else scale^2
}
