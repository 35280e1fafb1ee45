# Targets unlike most donors: their distance from the released donors, given the targets' level.

apart_statistics <- function(moment_sd = 1e-6, mean_sd = 0.01) {
  plan <- gram_plan_cpp(c(gram_facts_of(T0 = 6, T1 = 3, n = 200, features = 4), level = TRUE))
  rows <- 0.01 * (1 + 0.6^abs(outer(1:9, 1:9, "-")))
  d <- ncol(plan$loadings)
  list(
    loadings = plan$loadings, pre = plan$pre, covariates = 0, weight = plan$weight,
    demean = plan$demean, mean = seq_len(d) / 500, restore = diag(d) + 0.1,
    covariance = crossprod(plan$loadings, rows) %*% plan$loadings, mean_sd = mean_sd,
    moment_sd = moment_sd
  )
}

apart_of <- function(s, y, size = 1, n = 500) {
  options <- list(
    estimator = "ridge", private = TRUE, penalty = NaN, half = rep(1, nrow(s$loadings)), n = n
  )
  gram_estimate_cpp(s, options, t(c(y, numeric(3))), size)[[1L]]$apart
}

# A regression of the other features on the level, written out.
oracle_apart <- function(s, y, size, n) {
  d <- length(s$mean)
  edge <- 2 * s$moment_sd * sqrt(d / 2)
  at <- eigen(s$covariance, TRUE)
  values <- ifelse(at$values > edge, sqrt(pmax(at$values^2 - edge^2, 0)), 0) + edge
  one <- at$vectors %*% (values * t(at$vectors))
  A <- seq_len(s$pre)
  V <- (s$restore %*% ((1 / size + 1 / n) * one + s$mean_sd^2 * diag(d)) %*% t(s$restore))[A, A]
  u <- drop(y %*% s$loadings[1:6, A]) - s$mean[A]
  slope <- V[-1L, 1L] / V[1L, 1L]
  rest <- u[-1L] - slope * u[[1L]]
  sum(rest * solve(V[-1L, -1L] - tcrossprod(slope) * V[1L, 1L], rest)) / length(rest)
}

test_that("distances of 1 and 40 people from donors of their level equal a direct computation", {
  s <- apart_statistics()
  y <- c(0.3, 0.1, -0.2, 0.25, 0, 0.1)
  for (size in c(1, 40)) {
    expect_equal(apart_of(s, y, size), oracle_apart(s, y, size, 500), tolerance = 1e-8)
  }
  noisy <- apart_statistics(moment_sd = 5e-4)
  expect_equal(apart_of(noisy, y, 40), oracle_apart(noisy, y, 40, 500), tolerance = 1e-8)
  # The test notices the fault: without the error of the donors' regression the distance is larger.
  expect_gt(apart_of(s, y, 40, n = 1e9), 1.01 * apart_of(s, y, 40, n = 500))
})

test_that("distances from donors average 1 for random people and ignore a person's level", {
  withr::local_seed(2)
  s <- apart_statistics(1e-10, 1e-9)
  s$restore <- diag(ncol(s$loadings))
  s$mean[] <- 0
  people <- matrix(stats::rnorm(6 * 2000), 2000) %*%
    chol(0.01 * (1 + 0.6^abs(outer(1:6, 1:6, "-"))))
  far <- apply(people, 1L, function(y) apart_of(s, y, 1, 1e9))
  expect_equal(mean(far), 1, tolerance = 0.05)
  y <- people[1L, ]
  level <- s$loadings[1:6, 1L] / sum(s$loadings[1:6, 1L]^2)
  moved <- drop(solve(crossprod(s$loadings[1:6, 1:s$pre])) %*% s$covariance[1:s$pre, 1])
  along <- drop(s$loadings[1:6, 1:s$pre] %*% moved)
  expect_equal(apart_of(s, y + 3 * along, 1, 1e9), apart_of(s, y, 1, 1e9), tolerance = 1e-6)
})

test_that("the distance from donors is 0 without noise or without a level among the features", {
  s <- apart_statistics(moment_sd = 0)
  expect_identical(apart_of(s, rep(0.3, 6)), 0)
  s <- apart_statistics()
  s$loadings[1, 1] <- 2 * s$loadings[1, 1]
  expect_identical(apart_of(s, c(0.3, 0, 0, 0.1, 0, 0)), 0)
})

test_that("a group's variance grows with distance from donors, less if placebo errors are large", {
  e <- list(prediction = diag(2), size = 50, apart = 1)
  intervals <- list(second = 0.4, second_sd = 0.1)
  expect_equal(group_variance(intervals, e), diag(2))
  with_apart <- function(apart) utils::modifyList(e, list(apart = apart))
  expect_equal(group_scale(e), 1)
  expect_equal(group_scale(with_apart(6)), 2)
  # The distance in excess of random groups counts in full.
  expect_equal(group_scale(with_apart(32)), 27.2)
  expect_equal(group_scale(with_apart(0)), 1)
  # The distance does not increase the donors' clipping radius or a single person's interval.
  expect_equal(group_variance(intervals, with_apart(32)), diag(2))
  expect_equal(group_scale(utils::modifyList(e, list(apart = 32, size = 1))), 1)
  # The model implies two variances of one half, and the placebo errors are ten times as large.
  wide <- list(second = 4.5, second_sd = 0.5)
  expect_equal(placebo_lift(wide, e), 10)
  expect_equal(placebo_apart(wide, utils::modifyList(e, list(apart = 30))), 3)
  expect_null(placebo_apart(NULL, e))
})

two_clusters <- function(size, minority) {
  withr::local_seed(1)
  time <- 1:16
  paths <- rbind(0.8 * sin(time / 4), 2.5 * (time / 12 - 0.5))
  people <- function(which) {
    stats::rnorm(length(which), 0, 1.3) + paths[which, , drop = FALSE] +
      matrix(stats::rnorm(length(which) * 16, sd = 0.35), length(which))
  }
  target <- colMeans(people(rep(if (minority) 2L else 1:2, length.out = size)))
  if (!minority) target <- colMeans(people(1L + (seq_len(size) %% 10L == 0L)))
  suppressWarnings(dp_synth(people(1L + (seq_len(1500) %% 10L == 0L)),
    target = target, T0 = 12, epsilon = 1, delta = 1e-6, bounds = c(-8, 8), size = size,
    control = dp_control(rng = "R")
  ))
}

test_that("print(), summary() and report() state that a target is unlike the released donors", {
  fit <- two_clusters(50, TRUE)
  expect_gt(fit$spread[[1L]]$apart, most_apart)
  said <- "unlike the released donors"
  expect_match(paste(capture.output(print(fit)), collapse = " "), said, fixed = TRUE)
  expect_match(paste(capture.output(print(summary(fit))), collapse = " "), said, fixed = TRUE)
  expect_match(paste(format(report(fit)), collapse = " "), said, fixed = TRUE)
  random <- two_clusters(50, FALSE)
  expect_null(unlike_words(random))
  expect_no_match(paste(capture.output(print(random)), collapse = " "), said, fixed = TRUE)
})
