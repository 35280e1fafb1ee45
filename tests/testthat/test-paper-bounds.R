bound <- function(method, form, lambda = 10, ...) {
  arguments <- utils::modifyList(list(
    n = 10, T0 = 10, T1 = 3, lambda = lambda, epsilon1 = 50, epsilon2 = 50, form = form,
    signal_norm = 4, noise_sd = 0.005, largest_weight = 0.2, weights_error = 0.05
  ), list(...))
  do.call(paper_rmse_bound, c(list(method), arguments))
}

test_that("the papers' error bounds, published and corrected, equal their formulas", {
  moved <- 4 * 10 * sqrt(18) / (10 * 50)
  expect_equal(
    bound("output", "published"),
    4 / sqrt(3) * (0.05 + moved) + (sqrt(10) * 0.005 + sqrt(2) / 50) * (sqrt(10) * 0.2 + moved)
  )
  expect_equal(
    bound("output", "corrected"),
    4 / sqrt(3) * (0.05 + 10 * moved) +
      (sqrt(10) * 0.005 + 30 * 2 / 50) * (sqrt(10) * 0.2 + 10 * moved)
  )
  # For delta = 0 and lambda = 10 the curvature uses log(1 + 2 c / lambda + (c / lambda)^2) of
  # epsilon = 50.
  ratio <- (1 + sqrt(145)) * 10 / 10
  epsilon0 <- 50 - log(1 + 2 * ratio + ratio^2)
  moved <- 2 / 10 * 4 * 10 * sqrt(18) / epsilon0
  expect_equal(
    bound("objective", "published"),
    4 / sqrt(3) * (0.05 + moved) + (sqrt(10) * 0.005 + sqrt(2) / 50) * (sqrt(10) * 0.2 + moved)
  )
  # For delta > 0 the noise is Gaussian.
  extra <- (1 + sqrt(145)) * 10 / (exp(0.25) - 1)
  beta <- 40 * sqrt(18) * sqrt(2 * log(2e6) + 0.5) / 0.5
  moved <- 2 / extra * sqrt(10) * beta + (1 / 10 + 1 / extra) * 200 * sqrt(10)
  expect_equal(
    bound("objective", "corrected", epsilon1 = 1, delta = 1e-6),
    4 / sqrt(3) * (0.05 + moved) + (sqrt(10) * 0.005 + 1.2) * (sqrt(10) * 0.2 + moved)
  )
  expect_equal(
    bound("output", "corrected", weights_error = NULL, noise_max = 1, xi = 0.5) -
      bound("output", "corrected"),
    4 / sqrt(3) * ((sqrt(20) * 0.01 * 10 + 5) / 10 - 0.05)
  )
})

test_that("corrected error bounds exceed published bounds, and fall as the budget grows", {
  for (method in c("output", "objective")) {
    for (lambda in c(1, 10, 1000)) {
      expect_gt(bound(method, "corrected", lambda), bound(method, "published", lambda))
      expect_lt(
        bound(method, "corrected", lambda, epsilon1 = 100, epsilon2 = 100),
        bound(method, "corrected", lambda)
      )
    }
  }
})

test_that("with one donor and huge epsilon2 output's corrected bound equals the published bound", {
  one <- function(form) {
    paper_rmse_bound("output",
      n = 1, T0 = 5, T1 = 1, lambda = 5, epsilon1 = 1, epsilon2 = 1e12, form = form,
      weights_error = 0
    )
  }
  expect_equal(one("corrected"), one("published"), tolerance = 1e-9)
})

test_that("paper_rmse_bound() refuses invalid arguments", {
  expect_error(bound("output", "published", delta = 1e-6), class = "dpsc_error_argument")
  expect_error(bound("ridge", "published"), class = "dpsc_error_argument")
  expect_error(bound("output", "better"), class = "dpsc_error_argument")
  expect_error(bound("output", "published", lambda = 0), class = "dpsc_error_argument")
  expect_error(
    bound("output", "published", weights_error = NULL, xi = 1), class = "dpsc_error_argument"
  )
})

# The simulated errors of Algorithm 2 on one panel exceed the published bound but not the corrected
# bound.
