# The tests of samplers have a joint false-alarm probability of 1e-3, divided equally among them.
# Seeds are fixed, so a failure comes from a change of code, not from chance.
n_sampler_tests <- 18
expect_not_rejected <- function(p_value) {
  testthat::expect_gt(p_value, 1e-3 / n_sampler_tests)
}

# A tape of 64-bit words for the engine, least significant byte first.
tape <- function(n_words) {
  as.raw(sample.int(256L, 8L * n_words, replace = TRUE) - 1L)
}

# Probability mass of the discrete Gaussian, by summation of the series.
discrete_gaussian_mass <- function(x, variance) {
  k <- -2000:2000
  exp(-x^2 / (2 * variance)) / sum(exp(-k^2 / (2 * variance)))
}
