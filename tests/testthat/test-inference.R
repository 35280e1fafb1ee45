# Variances, intervals and tests, compared with brute force.

inference_fit <- function(T1 = 2, k = 1, noise_sd = 0.05) {
  withr::local_seed(21)
  panel <- sim_panel(800, 8, T1, noise_sd = noise_sd)
  target <- panel$target + outer(seq_len(k), seq_len(8 + T1)) / 100
  target[] <- pmax(pmin(target, 1), -1)
  dp_synth(panel$donors,
    target = rbind(target), T0 = 8, epsilon = 4, bounds = c(-1, 1), control = dp_control(rng = "R"),
    protect = "donors"
  )
}

test_that("the first-order privacy variance equals the variance of refits under known noise", {
  s <- inference_fit()$release$statistics
  # The noise is small enough for a first-order approximation, and shrinkage removes no direction.
  s$moment_sd <- s$mean_sd <- 1e-7
  d <- length(s$mean)
  s$covariance <- s$covariance + diag(2 * abs(min(eigen(s$covariance)$values)) + 1e-3, d)
  y <- seq(-0.2, 0.1, length.out = 10)
  predict_from <- function(s) {
    model <- gram_model(s)
    # Penalty and noise enter as in a fit; shrinkage of this size changes nothing.
    fit_penalty(model, dpsc:::target_features(s, y, 8)$u, 1e-3, crossprod(model$restore_A))
  }
  base <- predict_from(s)
  B <- d - 1:0
  withr::local_seed(22)
  moved <- t(replicate(3000, {
    noise <- matrix(rnorm(d^2, sd = s$moment_sd / sqrt(2)), d)
    perturbed <- s
    perturbed$covariance <- s$covariance + (noise + t(noise)) / sqrt(2)
    perturbed$mean <- s$mean + drop(s$restore %*% rnorm(d, sd = s$mean_sd))
    predict_from(perturbed)$fitted[B] - base$fitted[B]
  }))
  expect_length(gram_model(s)$noise, 0L)
  claimed <- base$privacy
  # The variance of 3000 draws has a relative error of 2.6 %, and five times this error is exceeded
  # with probability below 1e-6.
  expect_equal(cov(moved) / sqrt(tcrossprod(diag(claimed))),
    claimed / sqrt(tcrossprod(diag(claimed))),
    tolerance = 0.13
  )
})

test_that("the estimate in C++ equals the weighted average of the estimates in R over penalties", {
  # Two independent programs use the same formulas, except for the shrinkage towards the target's
  # level.
  fit <- inference_fit()
  s <- fit$release$statistics
  s$mean_sd <- 0
  y <- seq(-0.2, 0.1, length.out = 10)
  model <- gram_model(s)
  expect_gt(oracle_return(s), 0)
  fits <- fit_penalties(model, target_features(s, y, 8)$u, level_slopes(s))
  evidence <- vapply(fits, `[[`, 0, "evidence")
  weights <- exp(evidence - max(evidence))
  weights <- weights / sum(weights)
  mix <- function(part) Reduce(`+`, Map(function(fit, w) w * fit[[part]], fits, weights))
  B <- model$B
  fitted <- mix("fitted")
  apart <- Reduce(`+`, Map(function(fit, w) {
    w * tcrossprod((fit$fitted - fitted)[B])
  }, fits, weights))
  scale <- new_bounds(c(-1, 1), 10)
  options <- gram_options(TRUE, 800, scale)
  e <- gram_estimate_cpp(s, options, matrix(y, 1L), 1)[[1L]]
  level <- if (s$demean) mean(y[1:8]) else 0
  expect_equal(e$path[9:10], unname(fitted[B]) / s$weight + level)
  expect_equal(e$prediction, mix("prediction") / s$weight^2)
  expect_equal(e$privacy, mix("privacy") / s$weight^2)
  far <- max(0, sum(weights * vapply(fits, `[[`, 0, "distance")) - 3)
  doubt <- 0.15 * far * mean(diag(mix("prediction")))
  # Half of the returning level counts as uncertain, to the degree that the moments were
  # inconclusive.
  rest <- sum(weights * vapply(fits, `[[`, 0, "rest")^2)
  level_doubt <- (0.5 * oracle_return(s, full = TRUE) * s$weight / 0.3)^2 * rest
  expect_equal(e$disagreement, (apart + level_doubt + diag(doubt, length(B))) / s$weight^2)
  expect_equal(e$penalty, sum(weights * vapply(fits, `[[`, 0, "penalty")))
})

test_that("standard errors, limits and a p-value of dp_synth() equal the formulas written out", {
  fit <- inference_fit(T1 = 3, k = 2, noise_sd = 0.25)
  expect_identical(dim(fit$target), c(1L, 11L))
  intervals <- fit$release$statistics$intervals
  for (type in c("overall", "unit")) {
    view <- fit_view(fit, type)
    last <- nrow(view$target)
    expect_identical(last, if (type == "unit") 2L else 1L)
    spread <- view$spread[[last]]
    covariance <- (view$variance[[last]]$prediction + view$variance[[last]]$privacy)
    effect <- effects(view)[last, ]
    factors <- c(spread$average, rep(spread$period, 3))
    se <- sqrt(spread$floor) * factors * c(sqrt(sum(covariance)) / 3, sqrt(diag(covariance)))
    rows <- 4 * (last - 1) + 1:4
    table <- tidy(fit, conf.int = TRUE, type = type)[rows, ]
    expect_equal(table$std.error, se)
    expect_equal(table$statistic, unname(c(mean(effect), effect)) / se)
    # Limits do not exceed the bounds.
    post <- view$target[last, 9:11]
    least <- c(mean(post) - 1, post - 1)
    expect_equal(table$conf.low, unname(pmax(least, c(mean(effect), effect) - qnorm(0.975) * se)))
    # For one person the variance is at least the second moment of the placebo errors, and includes
    # the scale of the row.
    if (type == "unit") {
      own <- intervals$second * fit$release$bounds$upper[[1L]]^2
      expect_gte(spread$floor * mean(covariance), own * (1 - 1e-9))
      expect_equal(spread$average / spread$period, intervals$average / intervals$period)
    }
    wide <- effect_limits(fit, simultaneous = TRUE, type = type)[rows, ]
    band <- sqrt(spread$floor * diag(covariance)) * spread$band
    width <- qnorm((1 + 0.95^(1 / 3)) / 2) * band
    expect_equal(wide$conf.high[-1L], unname(pmin(post + 1, effect + width)))
  }
  test <- summary(fit)$test
  table <- effect_table(fit)
  expect_equal(test$statistic, max(abs(table$estimate / table$band.error)[-1L]))
  expect_equal(test$p.value, 1 - (1 - 2 * pnorm(-test$statistic))^3)
  expect_identical(test$periods, 3L)
})

test_that("the variance of a group's mean and its interval's factor fall with the group's size", {
  withr::local_seed(21)
  panel <- sim_panel(800, 8, 2, noise_sd = 0.25)
  release <- dp_release(panel$donors,
    target = panel$target, T0 = 8, epsilon = 4, bounds = c(-1, 1), control = dp_control(rng = "R")
  )
  group <- colMeans(panel$donors[1:25, ])
  fits <- lapply(c(4, 25, 400), function(size) dp_synth(release, group, size = size))
  intervals <- release$statistics$intervals
  for (i in 1:3) {
    size <- fits[[i]]$size
    spread <- fits[[i]]$spread[[1L]]
    fade <- if (size >= 20) 0 else 1 / sqrt(size)
    expect_identical(spread$floor, 1)
    expect_equal(spread$average, 1 + max(0, intervals$average - 1) * fade + 1 / size)
  }
  own <- vapply(fits, function(fit) mean(fit$variance[[1L]]$prediction), 0)
  expect_true(all(diff(own) < 0))
  # For one person the variance is at least the released second moment plus one standard deviation
  # of its noise. For a group's mean it is divided by the number of people.
  least <- (intervals$second + intervals$second_sd) / c(4, 25, 400)
  expect_true(all(own >= least))
})

test_that("simultaneous 95 % intervals cover five correlated normal errors with 95 % probability", {
  withr::local_seed(23)
  root <- chol(0.6 + diag(0.4, 5))
  z <- matrix(rnorm(5 * 4000), 4000) %*% root
  covered <- mean(apply(abs(z), 1L, max) <= dpsc:::interval_quantile(0.95, 5))
  expect_gt(covered, 0.95 - 4.8 * sqrt(0.05 * 0.95 / 4000))
})

test_that("capping keeps covariances valid and SDs at most half the width of the bounds", {
  withr::local_seed(24)
  s <- inference_fit(T1 = 4)$release$statistics
  d <- length(s$mean)
  half <- c(rep(1, 8), 0.3, 1, 0.6, 0.2)
  capped <- 0
  for (i in 1:50) {
    s$covariance <- crossprod(matrix(rnorm(d^2), d)) * 10^runif(1, -5, 3)
    s$mean_sd <- s$moment_sd <- 10^runif(1, -6, 1)
    options <- gram_options(TRUE, 800, list(half = half))
    e <- gram_estimate_cpp(s, options, matrix(runif(12, -1, 1), 1L), 1)[[1L]]
    for (covariance in e[c("prediction", "privacy")]) {
      expect_true(all(sqrt(diag(covariance)) <= half[9:12] * (1 + 1e-12)))
      spectrum <- eigen(covariance, symmetric = TRUE, only.values = TRUE)$values
      expect_gte(min(spectrum), -1e-9 * max(spectrum, 1e-12))
      capped <- capped + any(sqrt(diag(covariance)) >= half[9:12] * (1 - 1e-12))
    }
  }
  expect_gt(capped, 10)
})

test_that("if most donors are identical, the interval for a large group is NA or contains 0", {
  expect_null(unseen_reason(list(size = 1, variation = 1e3)))
  expect_null(unseen_reason(list(size = 500, variation = 0.5)))
  expect_match(unseen_reason(list(size = 500, variation = 70)), "most donors are identical")
  # Eight people in ten never have a cost, and all costs double after the treatment. A method that
  # misses this change must not give an interval that excludes it.
  set.seed(1)
  costs <- function(n) {
    spent <- matrix(rbinom(n * 15, 1, 0.5) * rlnorm(n * 15, 5, 0.6), n)
    pmin(spent * (runif(n) > 0.8) * rep(c(rep(1, 12), 2, 2, 2), each = n), 2000)
  }
  for (run in 1:4) {
    fit <- dp_synth(costs(2000),
      target = colMeans(costs(500)), T0 = 12, epsilon = 1, bounds = c(0, 2000), size = 500,
      control = dp_control(rng = "R")
    )
    limits <- confint(fit)[1L, ]
    expect_true(is.na(limits[[1L]]) || prod(limits) <= 0)
    if (is.na(limits[[1L]])) expect_output(print(fit), "no interval: before the treatment")
  }
})

test_that("with one treated period the average, the period and the band have one interval", {
  for (size in c(1, 4, 30)) {
    withr::local_seed(21)
    panel <- sim_panel(800, 8, 1, noise_sd = 0.25)
    fit <- dp_synth(panel$donors,
      target = panel$target, T0 = 8, epsilon = 4, bounds = c(-1, 1), size = size,
      control = dp_control(rng = "R")
    )
    # Tails that were drawn apart, as single people's tails are.
    drawn <- list(average = 0.9, period = 3, band = 1.4)
    factors <- interval_factors(drawn, size, 1L)
    expect_identical(factors$average, factors$period)
    expect_identical(factors$average, factors$band)
    if (size == 1) expect_identical(factors$average, 1.4)
    fit$release$statistics$intervals[names(drawn)] <- drawn
    fit <- dp_synth(fit$release, panel$target, size = size)
    table <- effect_limits(fit)
    expect_false(anyNA(table$conf.low))
    for (column in c("estimate", "std.error", "p.value", "conf.low", "conf.high")) {
      expect_equal(table[[column]][[1L]], table[[column]][[2L]])
    }
    joint <- effect_limits(fit, simultaneous = TRUE)
    expect_equal(joint$conf.high, table$conf.high)
    expect_equal(summary(fit)$test$p.value, table$p.value[[1L]])
    expect_no_match(paste(capture.output(print(summary(fit))), collapse = " "), "in any of")
  }
  plan <- dp_plan(n = 800, T0 = 8, T1 = 1, epsilon = 4)$table
  expect_equal(plan$half_width, plan$period_width)
})

test_that("the first sum of effects has the first period's interval, the last the average's", {
  fit <- inference_fit(T1 = 4, noise_sd = 0.25)
  fit$release$statistics$intervals[c("average", "period", "band")] <- list(4, 1, 4)
  fit <- fit_view(dp_synth(fit$release, fit$target), "unit")
  table <- effect_limits(fit)
  sums <- as.data.frame(fit, type = "cumulative")
  for (limit in c("conf.low", "conf.high")) {
    expect_equal(sums[[limit]][[1L]], table[[limit]][[2L]])
    expect_equal(sums[[limit]][[4L]], 4 * table[[limit]][[1L]])
  }
})
