# Noise on a grid, and noise in floating point. Everything random passes through here.

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
  # The proof that discreteness costs nothing more asks for mu of 1e-90 or above.
  if (!is.finite(variance) || variance > 2^56 || mu < 1e-90) {
    abort(c(
      "{.arg epsilon} or {.arg delta} is too small: the noise would not fit the exact sampler.",
      i = "Nothing was released and nothing was spent."
    ), "argument")
  }
  variance
}

#' Integers plus exact discrete Gaussian noise
#' @param values (`numeric`, whole grid units, PRIVATE)\cr exact sums, below 2^53.
#' @param variance (`numeric`, length 1 or that of `values`)\cr whole numbers.
#' @param rng (`string` or `raw`)\cr `"secure"`, `"R"`, or a tape.
#' @return `values` plus noise, RELEASED.
#' @noRd
add_discrete_gaussian <- function(values, variance, rng) {
  values + discrete_gaussian_cpp(rep_len(as.double(variance), length(values)), rng)
}

#' Integers plus exact discrete Laplace noise
#' @param scale (`numeric`, length 1 or that of `values`)\cr whole numbers.
#' @inheritParams add_discrete_gaussian
#' @noRd
add_discrete_laplace <- function(values, scale, rng) {
  values + discrete_laplace_cpp(rep_len(as.double(scale), length(values)), rng)
}

#' A real vector plus continuous noise, rounded to a public grid far below the noise
#'
#' Rounding hides the low bits in which floating-point noise betrays its argument (Mironov, 2012),
#' though it is no proof: the release says so.
#' @param law (`string`)\cr `"gamma_norm"` or `"gaussian"`.
#' @param scale (`number`)\cr scale of the norm's Gamma law, or the standard deviation.
#' @noRd
add_continuous <- function(values, law, scale, rng) {
  noise <- switch(law,
    gamma_norm = gamma_norm_noise_cpp(length(values), scale, rng),
    gaussian = gaussian_noise_cpp(length(values), scale, rng)
  )
  grid <- 2^(floor(log2(scale)) - 20)
  round((values + noise) / grid) * grid
}
