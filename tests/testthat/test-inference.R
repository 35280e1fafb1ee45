# Variances, intervals and the moment test, against brute force.

inference_fit <- function(T1 = 2, k = 1) {
  withr::local_seed(21)
  panel <- sim_panel(800, 8, T1)
  target <- panel$target + outer(seq_len(k), seq_len(8 + T1)) / 100
  dp_synth(panel$donors,
    target = rbind(target), T0 = 8, epsilon = 2, bounds = c(-1, 1), control = dp_control(rng = "R")
  )
}

test_that("the privacy variance is that of refits under the known noise, to first order", {
  s <- inference_fit()$release$statistics
  # Noise small enough for first order, and no direction lost to shrinkage.
  s$moment_sd <- s$mean_sd <- 1e-7
  d <- length(s$mean)
  s$covariance <- s$covariance + diag(2 * abs(min(eigen(s$covariance)$values)) + 1e-3, d)
  y <- seq(-0.2, 0.1, length.out = 10)
  predict_from <- function(s) {
    model <- dpsc:::gram_model(s)
    # The penalty and the noise enter as they do in a fit; shrinkage at this size moves nothing.
    dpsc:::fit_penalty(model, dpsc:::target_features(s, y, 8)$u, 1e-3, crossprod(model$restore_A))
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
  model <- dpsc:::gram_model(s)
  expect_length(model$noise, 0L)
  w <- solve(
    model$covariance[model$A, model$A] + 1e-3 * crossprod(model$restore_A),
    model$covariance[model$A, model$B]
  )
  margin <- dpsc:::moment_margin(model, model$restore_B - model$restore_A %*% w)
  claimed <- base$privacy - margin
  # 3000 draws know a variance to 2.6 %; five times that fails by chance below 1e-6.
  expect_equal(cov(moved) / sqrt(tcrossprod(diag(claimed))),
    claimed / sqrt(tcrossprod(diag(claimed))),
    tolerance = 0.13
  )
})

test_that("intervals and tests follow from the covariances, written out", {
  fit <- inference_fit(T1 = 3, k = 2)
  covariance <- fit$variance[[2L]]$prediction + fit$variance[[2L]]$privacy
  effect <- effects(fit)[2L, ]
  se <- c(sqrt(sum(covariance)) / 3, sqrt(diag(covariance)))
  interval <- confint(fit)[5:8, ]
  expect_equal(unname(interval[, 1L]), unname(c(mean(effect), effect) - qnorm(0.975) * se))
  expect_equal(tidy(fit)$std.error[5:8], se)
  wide <- confint(fit, simultaneous = TRUE)[6:8, ]
  # Sidak over two targets of three periods each.
  expect_equal(unname(wide[, 2L] - wide[, 1L]), 2 * qnorm((1 + 0.95^(1 / 6)) / 2) * se[-1L])
  test <- summary(fit)$test[[2L]]
  expect_equal(test$statistic, drop(effect %*% solve(covariance, effect)))
  expect_equal(test$p.value, pchisq(test$statistic, 3, lower.tail = FALSE))
  expect_identical(test$df, 3L)
})

test_that("simultaneous intervals cover correlated normal errors together", {
  withr::local_seed(23)
  root <- chol(0.6 + diag(0.4, 5))
  z <- matrix(rnorm(5 * 4000), 4000) %*% root
  covered <- mean(apply(abs(z), 1L, max) <= dpsc:::interval_quantile(0.95, 5))
  expect_gt(covered, 0.95 - 4.8 * sqrt(0.05 * 0.95 / 4000))
})

test_that("a capped covariance stays one and has no deviation above the limit", {
  withr::local_seed(24)
  for (i in 1:50) {
    covariance <- crossprod(matrix(rnorm(16), 4)) * 10^runif(1, -3, 3)
    limit <- runif(4, 0.1, 2)
    capped <- dpsc:::cap_covariance(covariance, limit)
    expect_true(all(sqrt(diag(capped)) <= limit * (1 + 1e-12)))
    expect_gte(min(eigen(capped, symmetric = TRUE)$values), -1e-9 * max(diag(capped)))
    small <- diag(capped) < diag(covariance) * (1 - 1e-9)
    expect_equal(sqrt(diag(capped))[small], limit[small])
  }
})
