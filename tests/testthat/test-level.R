# The level of a row beside features relative to this level, for targets chosen for their level.

# Exact moments of people with a lasting level (variance a) and an autoregressive part (variance s).
level_statistics <- function(a = 1, s = 1, phi = 0.6, T0 = 6, T1 = 3, mean_sd = 0, moment_sd = 0,
                             n = 200) {
  plan <- gram_plan_cpp(c(gram_facts_of(T0 = T0, T1 = T1, n = n, features = 4), level = TRUE))
  time <- seq_len(T0 + T1)
  rows <- 0.01 * (a + s * phi^abs(outer(time, time, "-")))
  list(
    loadings = plan$loadings, pre = plan$pre, covariates = 0, weight = plan$weight,
    demean = plan$demean, mean = numeric(ncol(plan$loadings)),
    restore = diag(ncol(plan$loadings)),
    covariance = crossprod(plan$loadings, rows) %*% plan$loadings,
    mean_sd = mean_sd, moment_sd = moment_sd
  )
}

level_options <- function(s, private = TRUE) {
  list(estimator = "ridge", private = private, penalty = NaN, half = rep(1, nrow(s$loadings)))
}

# The share of a level that returns to the mean, in closed form.
returned <- function(a, s, phi, T0, T1) {
  k <- seq_len(T0 - 1)
  v <- s / T0 * (1 + 2 * sum((1 - k / T0) * phi^k))
  passing <- s * phi * (1 - phi^T0) * (1 - phi^T1) / (T0 * T1 * (1 - phi)^2)
  (v - passing) / (a + v)
}

test_that("the level of a group is the first feature and replaces one cosine feature", {
  y <- c(0.1, 0.4, -0.3, 0.2, 0.6, 0)
  facts <- gram_facts_of(y = y, features = 4)
  alone <- gram_plan_cpp(facts)
  beside <- gram_plan_cpp(c(facts, level = TRUE))
  expect_true(beside$demean)
  expect_identical(beside$pre, alone$pre)
  expect_equal(beside$loadings[, 1], c(rep(0.3 / 6, 6), 0, 0))
  expect_identical(beside$loadings[, -1], alone$loadings[, -4])
  # However large the budget is, responses remain relative to the row's level.
  rich <- gram_plan_cpp(c(gram_facts_of(y = y, n = 1e6), level = TRUE))
  expect_true(rich$demean)
  expect_identical(rich$pre, 6L)
})

test_that("with negligible noise the estimated regression to the mean equals its closed form", {
  for (phi in c(0, 0.6, 0.9)) {
    s <- level_statistics(phi = phi, moment_sd = 1e-9)
    expect_equal(oracle_return(s), returned(1, 1, phi, 6, 3), tolerance = 1e-4)
    # All directions lie within the edge of the noise, and the variance of the level is three times
    # its noise, so the prior alone decides.
    s$moment_sd <- 0.02
    s$restore[1, 1] <- sqrt(s$covariance[1, 1] / 0.06)
    s$covariance <- solve(s$restore, t(solve(s$restore, s$covariance)))
    path <- gram_estimate_cpp(s, level_options(s), t(c(rep(0.2, 6), numeric(3))), 1)[[1L]]$path
    expect_equal(path[7:9], rep(0.2 * (1 - oracle_return(s)), 3), tolerance = 1e-6)
    expect_equal(path[1:6], rep(0.2, 6))
  }
})

test_that("the estimate averages ridge regressions that shrink to the regression to the mean", {
  s <- level_statistics(moment_sd = 4e-4, mean_sd = 1e-9)
  y <- 0.2 + c(0.05, -0.03, 0.02, 0, 0.01, -0.05)
  own <- gram_estimate_cpp(s, level_options(s), t(c(y, numeric(3))), 1)[[1L]]
  model <- gram_model(s)
  u <- drop(y %*% s$loadings[1:6, model$A])
  fits <- fit_penalties(model, u, level_slopes(s))
  evidence <- vapply(fits, `[[`, 0, "evidence")
  weight <- exp(evidence - max(evidence))
  weight <- weight / sum(weight)
  post <- Reduce(`+`, Map(function(fit, w) w * drop(u %*% fit$slopes), fits, weight))
  # The noise of means is negligible, so paths are not shrunk.
  expect_equal(own$path[7:9], mean(y) + post / s$weight, tolerance = 1e-4)
})

test_that("people chosen for their level regress to the mean as the closed form predicts", {
  withr::local_seed(4)
  N <- 2e5
  e <- matrix(0, N, 9)
  e[, 1] <- stats::rnorm(N)
  for (t in 2:9) e[, t] <- 0.6 * e[, t - 1] + sqrt(1 - 0.36) * stats::rnorm(N)
  rows <- stats::rnorm(N) + e
  level <- rowMeans(rows[, 1:6])
  chosen <- level > stats::quantile(level, 2 / 3)
  change <- mean(rows[chosen, 7:9]) - mean(level[chosen])
  expect_equal(change, -returned(1, 1, 0.6, 6, 3) * (mean(level[chosen]) - mean(level)),
    tolerance = 0.03
  )
})

# Average effects (truth: 0) on means of `size` people, chosen for their level or at random.
level_cell <- function(chosen, releases = 25, n = 1500, size = 100, T0 = 6, T1 = 3) {
  runs <- vapply(seq_len(releases), function(r) {
    withr::local_seed(r)
    people <- stats::rnorm(n + 3 * size, 50, 6) +
      matrix(stats::rnorm((n + 3 * size) * (T0 + T1), sd = 10), n + 3 * size)
    others <- people[-seq_len(n), ]
    first <- if (chosen) order(-rowMeans(others[, seq_len(T0)])) else seq_len(3 * size)
    fit <- suppressMessages(dp_synth(people[seq_len(n), ],
      target = colMeans(others[first[seq_len(size)], ]), T0 = T0, epsilon = 1, delta = 1e-6,
      bounds = c(0, 100), size = size, control = dp_control(rng = "R")
    ))
    table <- tidy(fit, conf.int = TRUE)[1L, ]
    c(table$estimate, table$conf.low, table$conf.high)
  }, numeric(3L))
  list(
    bias = mean(runs[1, ]), cover = mean(runs[2, ] <= 0 & runs[3, ] >= 0, na.rm = TRUE),
    refused = mean(is.na(runs[2, ]))
  )
}

test_that("95 % intervals cover at least 88 % of groups chosen by level and of random groups", {
  skip_on_cran()
  chosen <- level_cell(TRUE)
  # Levels that are extrapolated unchanged have a bias of -2.5, more than three standard errors.
  expect_gte(chosen$cover, 0.88)
  expect_lt(abs(chosen$bias), 1.25)
  random <- level_cell(FALSE)
  expect_gte(random$cover, 0.88)
  expect_identical(random$refused, 0)
})
