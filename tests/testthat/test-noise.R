draws <- 2e5

chi_square_p <- function(x, mass) {
  support <- as.integer(names(mass))
  inside <- x[x %in% support]
  counts <- c(tabulate(match(inside, support), length(support)), length(x) - length(inside))
  expected <- c(mass, max(1 - sum(mass), 0)) * length(x)
  keep <- expected > 5
  statistic <- sum((counts[keep] - expected[keep])^2 / expected[keep])
  pchisq(statistic, sum(keep) - 1, lower.tail = FALSE)
}

test_that("discrete Gaussian probabilities equal reference values, and draws follow them", {
  pins <- c(
    "0.1" = .98670328702885817, "0.25" = .7865707070419479, "0.5" = .56413122621884207,
    "1" = .39894227826686171, "4" = .19947114020071634, "10" = .126156626101008
  )
  for (variance in names(pins)) {
    expect_equal(discrete_gaussian_mass(0, as.numeric(variance)), pins[[variance]],
      tolerance = 1e-12)
  }
  withr::local_seed(1)
  for (ratio in list(c(1, 10), c(1, 4), c(1, 2), c(1, 1), c(4, 1), c(10, 1))) {
    x <- discrete_gaussian_ratio_cpp(draws, ratio[1], ratio[2], "R")
    support <- -15:15
    mass <- setNames(discrete_gaussian_mass(support, ratio[1] / ratio[2]), support)
    expect_not_rejected(chi_square_p(x, mass))
  }
})

test_that("discrete Gaussian draws with large standard deviations pass a Kolmogorov-Smirnov test", {
  withr::local_seed(2)
  for (sigma in c(2^10, 2^20 + 12345, 2^28 - 1)) {
    x <- discrete_gaussian_cpp(rep(floor(sigma^2), 5e4), "R")
    expect_true(all(x == round(x)))
    expect_not_rejected(suppressWarnings(ks.test(x / sigma, "pnorm")$p.value))
  }
})

test_that("discrete Laplace draws pass distribution tests at the scales 1 and 2^30", {
  withr::local_seed(3)
  x <- discrete_laplace_cpp(rep(1, draws), "R")
  support <- -12:12
  mass <- setNames((exp(1) - 1) / (exp(1) + 1) * exp(-abs(support)), support)
  expect_equal(mass[["0"]], .46211715726000976, tolerance = 1e-14)
  expect_not_rejected(chi_square_p(x, mass))
  z <- (var(x) - 1.8413471884155846) / sqrt((mean((x - mean(x))^4) - var(x)^2) / draws)
  expect_not_rejected(2 * pnorm(-abs(z)))
  scale <- 2^30
  x <- discrete_laplace_cpp(rep(scale, 5e4), "R")
  expect_not_rejected(suppressWarnings(ks.test(abs(x) / scale, "pexp")$p.value))
})

test_that("gamma-norm noise has a Gamma(d, scale) norm and a uniform direction", {
  withr::local_seed(4)
  x <- replicate(2e4, gamma_norm_noise_cpp(10, 0.5, "R"))
  norms <- sqrt(colSums(x^2))
  expect_equal(mean(norms), 5, tolerance = 0.01) # E||v|| = d a, not a
  expect_not_rejected(ks.test(norms, "pgamma", shape = 10, scale = 0.5)$p.value)
  # One squared coordinate of a uniform direction is Beta(1/2, (d - 1)/2).
  expect_not_rejected(ks.test((x[3, ] / norms)^2, "pbeta", 0.5, 4.5)$p.value)
  expect_equal(mean(x^2), 2.75, tolerance = 0.02)
})

test_that("gamma-norm noise in one dimension is Laplace noise", {
  withr::local_seed(5)
  x <- replicate(2e4, gamma_norm_noise_cpp(1, 2, "R"))
  laplace <- function(q) ifelse(q < 0, exp(q / 2) / 2, 1 - exp(-q / 2) / 2)
  expect_not_rejected(ks.test(x, laplace)$p.value)
})

test_that("the scale argument of Gaussian noise is its standard deviation, not its variance", {
  withr::local_seed(6)
  x <- gaussian_noise_cpp(5e4, 3, "R")
  expect_not_rejected(ks.test(x, "pnorm", sd = 3)$p.value)
})

test_that("noise from the system has the stated mean and variance and does not change R's seed", {
  set.seed(8)
  before <- .Random.seed
  x <- discrete_gaussian_cpp(rep(2^20, 2e4), "secure")
  y <- gaussian_noise_cpp(100, 1, "secure")
  expect_identical(.Random.seed, before)
  # No seed can be fixed here. By chance, the bound fails with probability below 1e-12.
  expect_lt(abs(mean(x)) / 2^10 * sqrt(2e4), 7.2)
  expect_lt(abs(var(x) / 2^20 - 1) * sqrt(2e4 / 2), 7.2)
  expect_false(identical(y, gaussian_noise_cpp(100, 1, "secure")))
})

test_that("with R's generator the same seed gives the same noise", {
  set.seed(9)
  x <- discrete_gaussian_cpp(rep(100, 5), "R")
  set.seed(9)
  expect_identical(discrete_gaussian_cpp(rep(100, 5), "R"), x)
})

test_that("given random bytes determine all noise, and too few bytes cause an error", {
  withr::local_seed(10)
  words <- tape(4000)
  x <- discrete_gaussian_cpp(rep(2^24, 20), words)
  expect_identical(discrete_gaussian_cpp(rep(2^24, 20), words), x)
  expect_error(discrete_gaussian_cpp(rep(2^24, 20), words[1:64]), "exhausted")
  expect_error(discrete_gaussian_cpp(1, raw()), "exhausted")
})

test_that("noise samplers refuse invalid scales, dimensions and sources of randomness", {
  expect_error(discrete_gaussian_cpp(0, "secure"), "variance")
  expect_error(discrete_gaussian_cpp(2^57, "secure"), "variance")
  expect_error(discrete_laplace_cpp(0, "secure"), "scale")
  expect_error(gamma_norm_noise_cpp(0, 1, "secure"), "dimension")
  expect_error(gaussian_noise_cpp(3, -1, "secure"), "scale")
  expect_error(gaussian_noise_cpp(3, NaN, "secure"), "scale")
  expect_error(discrete_gaussian_cpp(1, "dice"), "randomness")
})
