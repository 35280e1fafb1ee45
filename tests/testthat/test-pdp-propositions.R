# Per-instance losses of people who are not in the data, over several releases, and the propositions
# of Wang (2019). Each is compared with brute force: refits, integration, moments without
# simulation.

posterior_fit <- function(data, method = "ops") {
  withr::local_seed(5)
  dp_lm(y ~ a + g, data, epsilon = 2, delta = 1e-5, bounds = paper_bounds(), method = method,
    settings = if (method == "ops") list(ridge = 60) else list(), control = dp_control(rng = "R"))
}

# delta at epsilon of N(0, 1/h) against N(m, 1/(h + l)), in both directions, by a fine grid.
brute_delta <- function(epsilon, leverage, gamma, error) {
  t <- seq(-14, 14, length.out = 4e5)
  p <- stats::dnorm(t)
  shift <- sqrt(gamma * leverage) * error / (1 + leverage)
  q <- stats::dnorm(t, shift, 1 / sqrt(1 + leverage))
  over <- function(p, q) sum(pmax(p - exp(epsilon) * q, 0)) * diff(t[1:2])
  max(over(p, q), over(q, p))
}

test_that("a person outside the data has the same loss as a member with the same row", {
  data <- paper_people(400)
  for (i in c(3, 77, 400)) {
    missing <- data
    missing$a[i] <- NA
    for (method in c("ops", "adaops", "moments")) {
      fit <- if (method == "moments") {
        withr::with_seed(5, dp_lm(y ~ a + g, missing, epsilon = 2, delta = 1e-5,
          bounds = paper_bounds(), control = dp_control(rng = "R")))
      } else {
        posterior_fit(missing, method)
      }
      joins <- pdp(fit, missing, newdata = data[i, ])
      expect_identical(nrow(joins$donors), 1L)
      # The same release is evaluated with the person's row in the data.
      inside <- pdp(fit, data)$donors
      expect_equal(joins$donors$removal, inside$removal[[i]])
      expect_lte(joins$donors$removal, 2)
    }
  }
})

test_that("at the computed losses of people outside the data an integral gives the claimed delta", {
  data <- paper_people(400)
  fit <- posterior_fit(data)
  others <- data.frame(a = c(-1, 0, 1), g = c("u", "v", "u"), y = c(3, 0, -3))
  loss <- pdp(fit, data, newdata = others)$donors$removal
  rows <- paper_rows_cpp(lm_table(fit$columns, data, TRUE), fit$facts$design)
  new <- paper_rows_cpp(lm_table(fit$columns, others, TRUE), fit$facts$design)
  H <- crossprod(rows$x) + diag(60, 3)
  theta <- drop(solve(H, crossprod(rows$x, rows$y)))
  one_way <- 1e-5 / (1 + exp(1))
  for (i in seq_len(3)) {
    x <- new$x[i, ]
    leverage <- sum(x * solve(H, x))
    error <- new$y[[i]] - sum(x * theta)
    below <- brute_delta(loss[[i]] * 0.999, leverage, fit$plan$gamma, error)
    at <- brute_delta(loss[[i]], leverage, fit$plan$gamma, error)
    expect_lte(at, one_way * 1.001)
    expect_gte(below, one_way * 0.999)
  }
})

test_that("the losses of two releases add up to a bound on the joint loss", {
  data <- paper_people(400)
  one <- pdp(posterior_fit(data), data)
  two <- pdp_compose(one, one)
  expect_equal(two$donors$removal, 2 * one$donors$removal)
  expect_equal(two$delta, 2 * one$delta)
  expect_equal(two$worst, 2 * one$worst)
  leverage <- 0.02
  gamma <- 3
  error <- 0.8
  single <- posterior_loss_cpp(leverage, gamma, error, 1e-3, TRUE)
  t <- seq(-8, 8, length.out = 1500)
  shift <- sqrt(gamma * leverage) * error / (1 + leverage)
  p <- stats::dnorm(t)
  q <- stats::dnorm(t, shift, 1 / sqrt(1 + leverage))
  both <- sum(pmax(outer(p, p) - exp(2 * single) * outer(q, q), 0)) * diff(t[1:2])^2
  expect_lte(both, 2e-3)
  expect_gt(both, 0)
})

test_that("pdp_compose() and argument `newdata` of pdp() refuse unusable input", {
  data <- paper_people(400)
  fit <- posterior_fit(data)
  loss <- pdp(fit, data)
  expect_error(pdp_compose(loss), class = "dpsc_error_argument")
  expect_error(pdp_compose(loss, 1), class = "dpsc_error_argument")
  some <- pdp(fit, data, newdata = data[1:2, ])
  expect_error(pdp_compose(loss, some), class = "dpsc_error_argument")
  expect_error(pdp(fit, data, newdata = 1), class = "dpsc_error_argument")
  expect_error(pdp(fit, data, newdata = data[0, ]), class = "dpsc_error_argument")
})

# Proposition 16.1, formula (9), for rows of length at most 1, where H is the precision without
# gamma.
formula_9 <- function(x, y, H, theta, gamma, L) {
  least <- min(eigen(H, symmetric = TRUE)$values)
  e <- abs(y - sum(x * theta))
  sqrt(gamma * L / least) * e + gamma * e^2 / (2 * max(least, 1)) + gamma * (1 + L) / (2 * least)
}

test_that("formula 9 of Wang (2019) can be below the exact loss if gamma is at most 1", {
  withr::local_seed(16)
  delta <- 1e-5
  ratio <- function(gamma) {
    vapply(1:150, function(i) {
      X <- matrix(stats::rnorm(60), 20)
      X <- X / pmax(1, sqrt(rowSums(X^2)))
      y <- stats::runif(20, -1, 1)
      H <- crossprod(X) + diag(stats::runif(1, 0.5, 20), 3)
      theta <- drop(solve(H, crossprod(X, y)))
      x <- eigen(H, symmetric = TRUE)$vectors[, 3]
      outcome <- sum(x * theta) + stats::runif(1, 0, 0.05)
      leverage <- sum(x * solve(H, x))
      exact <- posterior_loss_cpp(leverage, gamma, outcome - sum(x * theta), delta, TRUE)
      formula_9(x, outcome, H, theta, gamma, log(2 / delta)) / exact
    }, 0)
  }
  expect_gt(min(ratio(10)), 1)
  # The last term of the formula, the loss from the covariance, is half of the required size and
  # lacks a factor gamma.
  expect_lt(min(ratio(1)), 0.95)
  expect_lt(min(ratio(0.01)), 0.5)
})

test_that("the draw's variance in Wang's Proposition 17.2 is 1 / gamma, not gamma sigma^2", {
  withr::local_seed(17)
  X <- matrix(stats::rnorm(300), 100)
  sigma <- 0.5
  gamma <- 8
  inverse <- solve(crossprod(X))
  errors <- replicate(20000, {
    mean <- drop(inverse %*% crossprod(X, sigma * stats::rnorm(100)))
    sum((mean + backsolve(chol(crossprod(X)), stats::rnorm(3)) / sqrt(gamma))^2)
  })
  right <- (sigma^2 + 1 / gamma) * sum(diag(inverse))
  printed <- (1 + gamma) * sigma^2 * sum(diag(inverse))
  expect_lt(abs(mean(errors) - right), 4 * stats::sd(errors) / sqrt(20000))
  expect_gt(abs(mean(errors) - printed), 50 * stats::sd(errors) / sqrt(20000))
})
