test_that("gaussian_sigma() returns reference scales, and six times the scale at sensitivity 6", {
  pins <- rbind(
    c(0.1, 1e-5, 30.74956613197745), c(0.5, 1e-5, 7.0318266755824914),
    c(1, 1e-5, 3.7306316348159418), c(1, 1e-6, 4.2246788893268353),
    c(1, 1e-9, 5.4952661572382962), c(1, 1e-13, 6.8799764006319641),
    c(2, 1e-5, 1.9938124456435367), c(3, 1e-5, 1.3905934566745367),
    c(5, 1e-6, 0.98004900030920991), c(8, 1e-5, 0.60022907219895156),
    c(10, 1e-10, 0.68304396722748118), c(50, 1e-12, 0.19071044240637714),
    c(0.01, 0.1, 3.8094438061099846), c(1, 0.5, 0.50706503147633136)
  )
  sigma <- mapply(gaussian_sigma, pins[, 1], pins[, 2])
  expect_equal(sigma, pins[, 3], tolerance = 1e-11)
  expect_true(all(sigma >= pins[, 3] * (1 - 1e-15)))
  expect_equal(gaussian_sigma(1, 0.78760074), 1 / 3, tolerance = 1e-7)
  expect_equal(gaussian_sigma(1, 1e-6, sensitivity = 6), 6 * gaussian_sigma(1, 1e-6))
})

test_that("gaussian_sigma() returns the smallest sufficient scale for delta from 0.1 to 1e-300", {
  for (epsilon in c(0.01, 1, 10, 50)) {
    for (delta in c(0.1, 1e-6, 1e-15, 1e-100, 1e-300)) {
      sigma <- gaussian_sigma(epsilon, delta)
      # The recomputation of so small a delta has a rounding error.
      expect_lte(gaussian_delta(epsilon, sigma), delta * (1 + 1e-7))
      expect_gt(gaussian_delta(epsilon, sigma * (1 - 1e-6)), delta)
    }
  }
})

test_that("at epsilon = 0 gaussian_sigma() gives a sufficient scale for delta = 1e-300 and 1e-6", {
  # delta(0) = 2 Phi(1 / (2 sigma)) - 1, about 0.4 / sigma.
  expect_gte(gaussian_sigma(0, 1e-300), dnorm(0) * 1e300)
  expect_equal(gaussian_sigma(0, 1e-6), dnorm(0) * 1e6, tolerance = 1e-6)
})

test_that("gaussian_delta() equals reference values for Gaussian noise", {
  expect_equal(gaussian_delta(1, 1), 0.12693673750664395, tolerance = 1e-13)
  expect_equal(gaussian_delta(0, 1), 0.38292492254802621, tolerance = 1e-13)
  expect_equal(gaussian_delta(1, 1 / 0.5), 0.0068295949831145754, tolerance = 1e-13)
  expect_equal(gaussian_delta(1, 1 / 2), 0.50986166005467015, tolerance = 1e-13)
  # The classic formula gives too little noise at large epsilon.
  expect_equal(gaussian_delta(10, 0.681894), 1.086e-10, tolerance = 1e-3)
})

test_that("log_normal_cdf_cpp() equals pnorm(log.p = TRUE) for arguments from -1e4 to 30", {
  x <- c(-1e4, -300, -40, -10, -5.0001, -5, -4.9999, -1, 0, 1, 5, 5.1, 9, 30)
  expect_equal(vapply(x, log_normal_cdf_cpp, 0), pnorm(x, log.p = TRUE), tolerance = 1e-13)
})

test_that("conversions between zCDP and (epsilon, delta) equal published reference values", {
  expect_equal(cdp_delta(0.025, 1), 1.3361319064032225e-6, tolerance = 1e-12)
  expect_equal(cdp_delta(0.05, 0.25), 0.081772753103695521, tolerance = 1e-12)
  pins <- rbind(
    c(0.025, 1e-6, 1.0140742547261279), c(0.1, 1e-6, 2.1419389283854737),
    c(0.5, 1e-5, 4.7283869849433139), c(0.5, 1e-6, 5.221534444530169),
    c(0.5, 1e-7, 5.6708588354687703), c(1, 1e-5, 7.0771966958063398),
    c(1 / 32, 1e-3, 0.68800245548780839), c(0.01, 1e-5, 0.5457255482740024)
  )
  expect_equal(mapply(cdp_epsilon, pins[, 1], pins[, 2]), pins[, 3], tolerance = 1e-12)
  pins <- rbind(
    c(1, 1e-6, 0.024355970359538373), c(1, 1e-5, 0.030556595197639566),
    c(0.5, 1e-6, 0.006641524356660502), c(3, 1e-6, 0.18506984065340148)
  )
  expect_equal(mapply(cdp_rho, pins[, 1], pins[, 2]), pins[, 3], tolerance = 1e-12)
  expect_equal(cdp_delta(5e-30, 1e-13), 2.619676329730346e-234, tolerance = 1e-10)
})

test_that("cdp_rho() inverts cdp_epsilon(); cdp_delta() is 0 for rho = 0 and for epsilon = Inf", {
  expect_identical(cdp_delta(0, 1), 0)
  expect_identical(cdp_delta(0.1, Inf), 0)
  expect_lte(cdp_delta(1e6, 0), 1)
  expect_identical(cdp_epsilon(0.3, 1), 0)
  for (epsilon in c(1e-3, 0.1, 1, 4, 100)) {
    for (delta in c(1e-3, 1e-6, 1e-30)) {
      rho <- cdp_rho(epsilon, delta)
      expect_lte(cdp_delta(rho, epsilon), delta * (1 + 1e-9))
      expect_equal(cdp_epsilon(rho, delta), epsilon, tolerance = 1e-9)
    }
  }
})

test_that("cdp_epsilon(0.1, 1e-6) is below the textbook bound; no Renyi order lowers it", {
  rho <- 0.1
  delta <- 1e-6
  epsilon <- cdp_epsilon(rho, delta)
  expect_lt(epsilon, rho + 2 * sqrt(rho * log(1 / delta)))
  alpha <- 1 + exp(seq(log(1e-4), log(1e4), length.out = 20001))
  at_alpha <- exp((alpha - 1) * (alpha * rho - epsilon) + alpha * log1p(-1 / alpha)) / (alpha - 1)
  expect_gte(min(at_alpha), delta * (1 - 1e-6))
})

test_that("gaussian_sigma(), cdp_epsilon() and cdp_rho() refuse invalid arguments", {
  expect_error(gaussian_sigma(-1, 1e-6), class = "dpsc_error_argument")
  expect_error(gaussian_sigma(1, 0), class = "dpsc_error_argument")
  expect_error(cdp_epsilon(-1, 1e-6), class = "dpsc_error_argument")
  expect_error(cdp_rho("1", 1e-6), class = "dpsc_error_argument")
})
