# Output perturbation: the sensitivity includes rounding, no failure depends on donors, and a pair
# of neighbours reaches the Gaussian account.

output_public <- function(n, T0, T1, epsilon, delta, lambda = NULL, calibration = "tight",
                          y = rep(1, T0), split = NULL) {
  list(
    method = "output", calibration = calibration, private = TRUE, epsilon = epsilon, delta = delta,
    n = n, T0 = T0, T1 = T1, half = rep(1, T0 + T1), y = y,
    control = list(lambda = lambda, split = split, rng = "R")
  )
}

release_output <- function(donors, y, T1, lambda, ..., ledger = NULL, delta = 0, epsilon = 1) {
  dp_release(donors,
    target = c(y, numeric(T1)), T0 = length(y), epsilon = epsilon, delta = delta, bounds = c(-1, 1),
    control = dp_control(lambda = lambda), ledger = ledger, ...
  )
}

# The weights from a QR decomposition of the stacked rows. Its error grows only with the root of the
# condition number.
accurate_weights <- function(x, y, lambda) {
  stacked <- rbind(x, diag(sqrt(lambda / 2), ncol(x)))
  root <- qr.R(qr(stacked, LAPACK = TRUE))
  order <- qr(stacked, LAPACK = TRUE)$pivot
  w <- numeric(ncol(x))
  w[order] <- backsolve(root, backsolve(root, y[order], transpose = TRUE))
  drop(x %*% w)
}

# The smallest penalty that a plan accepts.
smallest_lambda <- function(n, T0) {
  2 * n * T0 / (0.1 / (2 * (n + 4 * T0^2 + 2) * .Machine$double.eps / 2) - 1)
}

test_that("a penalty too small for double precision is refused before the charge", {
  n <- 60
  y <- c(0.5, -0.5)
  flat <- matrix(0.3, n, 4)
  bent <- flat
  bent[1, 1:2] <- c(0.9, -0.9)
  ledger <- dp_ledger(100, 1e-3)
  for (lambda in c(1e-16, 1e-18)) {
    for (delta in c(0, 1e-6)) {
      for (calibration in c("tight", "published")) {
        for (method in c("output", "objective")) {
          if (method == "objective" && calibration == "tight") next
          errors <- lapply(list(flat, bent), function(donors) {
            expect_error(
              release_output(donors, y, 2, lambda,
                delta = delta, epsilon = 200, method = method, calibration = calibration,
                ledger = if (method == "output") ledger
              ),
              "too small for double precision", class = "dpsc_error_argument"
            )
          })
          expect_identical(conditionMessage(errors[[1L]]), conditionMessage(errors[[2L]]))
        }
      }
    }
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # For a target of zero the weights are zero, and the plan is refused as well.
  expect_error(plan_output(output_public(60, 2, 2, 1, 0, 1e-16, y = c(0, 0))),
    class = "dpsc_error_argument"
  )
  # Panels of realistic sizes are accepted.
  for (n in c(1e3, 1e5, 1e7)) {
    expect_type(plan_output(output_public(n, 20, 5, 1, 1e-6)), "list")
  }
})

test_that("at the smallest accepted penalty ridge weights' rounding errors are within the bound", {
  withr::local_seed(1)
  for (size in list(c(1000, 2), c(1000, 6), c(20000, 2), c(200, 20))) {
    n <- size[[1L]]
    T0 <- size[[2L]]
    lambda <- smallest_lambda(n, T0)
    planned <- function(lambda) plan_output(output_public(n, T0, 1, 1, 0, lambda))
    expect_silent(planned(lambda * (1 + 1e-9)))
    expect_error(planned(lambda * (1 - 1e-9)), class = "dpsc_error_argument")
    for (i in seq_len(10)) {
      row <- stats::runif(T0, -1, 1)
      x <- tcrossprod(sample(c(-1, 1), n, TRUE), row)
      if (i %% 2) x <- x * (1 + 1e-15 * sample(-4:4, n * T0, TRUE))
      if (i > 5) x[] <- sign(x)
      y <- stats::runif(T0, -1, 1)
      weights <- ridge_weights_cpp(x, y, lambda)
      error <- sqrt(sum((weights - accurate_weights(x, y, lambda))^2))
      # The bound is for two panels and is therefore doubled.
      expect_lte(error, ridge_rounding(n, T0, lambda, sqrt(sum(y^2))) / 4)
    }
  }
})

test_that("rounding errors of ridge weights of up to 100,000 rows are within their bound", {
  y <- c(1, -1)
  for (case in list(c(1e3, 2), c(1e5, 2), c(1e5, 1e-2))) {
    n <- case[[1L]]
    x <- cbind(0.1, rep_len(c(0.1, 0.101), n))
    error <- sqrt(sum((ridge_weights_cpp(x, y, case[[2L]]) - accurate_weights(x, y, case[[2L]]))^2))
    expect_lte(error, ridge_rounding(n, 2, case[[2L]], sqrt(2)) / 4)
  }
})

test_that("computed ridge weights of neighbours differ by at most the planned sensitivity", {
  withr::local_seed(2)
  largest <- 0
  for (size in list(c(1000, 4), c(1e5, 2))) {
    n <- size[[1L]]
    T0 <- size[[2L]]
    y <- rep_len(c(1, -1), T0)
    for (lambda in c(smallest_lambda(n, T0) * (1 + 1e-9), T0)) {
      plan <- plan_output(output_public(n, T0, 1, 1, 0, lambda, y = y))
      claim <- plan$weights$scale * plan$weights$epsilon
      # The slack is also included when delta = 0.
      expect_gt(claim, plan$weights$sensitivity * (1 + 1e-15))
      expect_lt(claim, plan$weights$sensitivity * if (lambda == T0) 1 + 1e-5 else 1.11)
      for (i in seq_len(4)) {
        x <- if (i == 1) matrix(0, n, T0) else tcrossprod(stats::rnorm(n), rep(0.1, T0))
        x <- pmax(pmin(x, 1), -1)
        x[1L, ] <- min(1, sqrt(lambda / 2 / T0)) * y
        other <- x
        other[1L, ] <- -x[1L, ]
        moved <- ridge_weights_cpp(x, y, lambda) - ridge_weights_cpp(other, y, lambda)
        distance <- sqrt(sum(moved^2))
        expect_lte(distance, claim)
        largest <- max(largest, distance / claim)
      }
    }
  }
  expect_gt(largest, 0.997)
})

vertical_methods <- list(c("output", "tight"), c("output", "published"), c("objective", "tight"))

test_that("methods output and objective refuse an epsilon out of range before the charge", {
  ledger <- dp_ledger(1e200, 1e-3)
  donors <- toy_panel(n = 20, T0 = 4, T1 = 2)
  for (epsilon in c(5e-324, 1e-250, 1e-101, 1e101, 1e300, .Machine$double.xmax)) {
    for (delta in c(0, 1e-6)) {
      for (method in vertical_methods) {
        expect_error(
          dp_release(donors$donors,
            target = donors$target, T0 = 4, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
            method = method[[1L]], calibration = method[[2L]], ledger = ledger
          ),
          if (epsilon < 1) "too small" else "too large", class = "dpsc_error_argument"
        )
      }
    }
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("an epsilon in range gives a finite release by output and objective, or costs nothing", {
  p <- toy_panel(n = 20, T0 = 4, T1 = 2)
  for (epsilon in c(1e-100, 1e-30, 1e-8, 1e-3, 1e3, 1e9, 1e30, 1e100)) {
    for (delta in c(0, 1e-300, 1e-6)) {
      for (method in vertical_methods) {
        ledger <- dp_ledger(1e101, 1e-3)
        answer <- tryCatch(
          dp_release(p$donors,
            target = p$target, T0 = 4, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
            method = method[[1L]], calibration = method[[2L]], ledger = ledger
          ),
          dpsc_error = identity
        )
        if (inherits(answer, "dpsc_error")) {
          expect_s3_class(answer, "dpsc_error_argument")
          expect_identical(nrow(as.data.frame(ledger)), 0L)
        } else {
          expect_true(all(is.finite(unlist(answer$statistics))))
        }
      }
    }
  }
})

test_that("with delta > 0 a pair of neighbours in method output uses 99.9 to 100 % of delta", {
  for (epsilon in c(0.5, 1, 4)) {
    T0 <- 4
    T1 <- 3
    public <- output_public(50, T0, T1, epsilon, 1e-6)
    plan <- plan_output(public)
    mu <- gdp_budget_cpp(epsilon, 1e-6)
    expect_identical(plan$cost$kind, "gdp")
    expect_identical(plan$cost$mu, mu)
    expect_equal(sum(plan$steps$mu^2), mu^2)
    expect_null(plan$weights$mu)
    expect_equal(sum(plan$steps$rho), mu^2 / 2, tolerance = 1e-6)
    expect_lte(sum(plan$steps$rho), mu^2 / 2)
    # The noise is 5.6 to 7.7 % smaller than with the rho of zCDP.
    gain <- mu / sqrt(2 * cdp_rho(epsilon, 1e-6))
    expect_gt(gain, 1.055)
    expect_lt(gain, 1.078)
    # Only one row is not zero. It is along the target, then opposite to it, with all outcomes
    # reversed.
    x <- matrix(0, 50, T0)
    x[1L, ] <- sqrt(T0 / 2 / T0)
    moved <- 2 * sqrt(sum(ridge_weights_cpp(x, public$y, T0)^2))
    shift <- sqrt((moved / plan$weights$scale)^2 + (2 * sqrt(T1) / plan$post$scale)^2)
    expect_lte(shift, mu)
    delta <- gaussian_delta(epsilon, 1 / shift)
    expect_lte(delta, 1e-6)
    expect_gt(delta, 0.999e-6)
  }
})

test_that("the table of steps gives mu only if delta > 0, and for objective in one step only", {
  p <- toy_panel(n = 30, T0 = 4, T1 = 2)
  steps <- function(...) {
    dp_release(p$donors,
      target = p$target, T0 = 4, epsilon = 1, bounds = c(-1, 1),
      control = dp_control(rng = "R"), ...
    )$privacy$steps
  }
  expect_false(anyNA(steps(method = "output")$mu))
  expect_true(all(is.na(steps(method = "output", delta = 0)$mu)))
  expect_identical(is.na(steps(method = "objective")$mu), c(TRUE, TRUE, FALSE))
})

test_that("method output splits its budget as well as a grid search that uses its error formula", {
  for (delta in c(0, 1e-6)) {
    for (size in list(c(30, 5, 2), c(1000, 12, 4))) {
      n <- size[[1L]]
      T1 <- size[[3L]]
      plan <- function(split) plan_output(output_public(n, size[[2L]], T1, 1, delta, split = split))
      noise <- function(step, dimension) dpsc:::noise_variance(step$law, step$scale, dimension)
      error <- function(plan) {
        b2 <- noise(plan$post, n * T1)
        n * noise(plan$weights, n) * (1 / 3 + b2) + b2 / n
      }
      shares <- seq(0.01, 0.99, length.out = 99)
      slow <- vapply(shares, function(share) error(plan(share)), 0)
      expect_lte(error(plan(NULL)), min(slow) * (1 + 1e-6))
    }
  }
})
