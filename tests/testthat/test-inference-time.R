# Conformal tests, placebo dates and the penalty path, from a release.

full_fit <- function(epsilon = 4, n = 1000, T0 = 12, T1 = 2, effect = 0, seed = 1, features = Inf) {
  withr::local_seed(seed)
  panel <- sim_panel(n, T0, T1, effect = effect)
  dp_synth(panel$donors,
    target = panel$target, T0 = T0, epsilon = epsilon, bounds = c(-1, 1),
    control = dp_control(rng = "R", features = features)
  )
}

test_that("without noise conformal residuals are the residuals of the ridge fit to all periods", {
  withr::local_seed(1)
  panel <- sim_panel(60, 8, 2)
  fit <- dp_synth(panel$donors, target = panel$target, T0 = 8, epsilon = Inf)
  engine <- dpsc:::conformal_engine_release(fit, 1L)
  effect <- c(numeric(8), 0.3, -0.1)
  residual <- drop(engine(matrix(effect, 1L), 1:10))
  centred <- sweep(panel$donors, 2L, colMeans(panel$donors))
  gram <- crossprod(centred)
  u <- panel$target - effect - colMeans(panel$donors)
  penalty <- fit$penalty / 2
  expect_equal(residual, u - drop(gram %*% solve(gram + penalty * diag(10), u)), tolerance = 1e-8)
})

test_that("conformal tests rarely reject a true 0 and accept an interval's middle; p >= 1 / 14", {
  p <- vapply(1:60, function(seed) {
    conformal(full_fit(n = 300, seed = seed), intervals = FALSE)$test$p.value
  }, 0)
  expect_gte(min(p), 1 / 14)
  # Among 60 tests more than 18 reject at 2/14 with probability below 1e-3 if the size is correct.
  expect_lte(sum(p <= 2 / 14 + 1e-9), 18L)
  fit <- full_fit(effect = 0.4)
  result <- conformal(fit, level = 0.9)
  expect_s3_class(result, "dp_conformal")
  expect_named(result$intervals, c("target", "term", "estimate", "conf.low", "conf.high"))
  expect_identical(result$intervals$term, c("13", "14", "average"))
  ends <- unlist(result$intervals[3L, c("conf.low", "conf.high")])
  inside <- conformal(fit, effect = mean(ends), intervals = FALSE)$test$p.value
  expect_gt(inside, 0.1)
  expect_output(print(result), "13|14|average")
  expect_identical(tidy(result), result$intervals)
  withr::local_seed(2)
  iid <- conformal(fit, permutations = "iid", n_perm = 199, intervals = FALSE)
  expect_identical(iid$test$permutations, 200L)
})

test_that("conformal() and placebo_time() refuse compressed pre-periods and method output", {
  fit <- full_fit(epsilon = 1, n = 200, T0 = 20, features = 3)
  expect_error(conformal(fit), "features = Inf", class = "dpsc_error_release")
  expect_error(placebo_time(fit), "features = Inf", class = "dpsc_error_release")
  expect_true(all(is.na(penalty_path(fit)$cv)))
  withr::local_seed(1)
  panel <- sim_panel(40, 6, 2)
  vertical <- dp_synth(panel$donors,
    target = panel$target, T0 = 6, epsilon = 5, bounds = c(-1, 1), method = "output"
  )
  expect_error(conformal(vertical), "confint", class = "dpsc_error_release")
  expect_error(placebo_time(vertical), class = "dpsc_error_release")
  expect_error(penalty_path(vertical), class = "dpsc_error_release")
  expect_error(conformal(fit, levle = 0.9), class = "dpsc_error_argument")
})

test_that("without noise the fit at a placebo date is the ridge fit to fewer pre-periods", {
  withr::local_seed(3)
  panel <- sim_panel(80, 10, 2)
  fit <- dp_synth(panel$donors, target = panel$target, T0 = 10, epsilon = Inf)
  result <- placebo_time(fit, 7)
  A <- 1:6
  B <- 7:10
  mean <- colMeans(panel$donors)
  gram <- crossprod(sweep(panel$donors, 2L, mean))
  predicted <- mean[B] +
    drop(gram[B, A] %*% solve(gram[A, A] + fit$penalty / 2 * diag(6), panel$target[A] - mean[A]))
  expect_equal(result$effect, mean(panel$target[B] - predicted), tolerance = 1e-8)
  expect_identical(as.numeric(result$T0), 6)
  expect_identical(result$date, 7L)
})

test_that("tests at placebo dates of private fits rarely reject, and repeated calls agree", {
  rejected <- vapply(1:40, function(seed) {
    placebo_time(full_fit(n = 500, seed = seed), 9)$p.value < 0.05
  }, NA)
  # Among 40 tests more than 9 reject at 5 % with probability below 1e-3.
  expect_lte(sum(rejected), 9L)
  fit <- full_fit()
  expect_identical(placebo_time(fit), placebo_time(fit))
  expect_error(placebo_time(fit, 2), class = "dpsc_error_argument")
  expect_error(placebo_time(fit, 13), class = "dpsc_error_argument")
  expect_error(placebo_time(fit, "x"), class = "dpsc_error_argument")
  expect_output(print(placebo_time(fit)), "Placebo dates")
})

test_that("the weighted mean of the penalty path is near the fit's effect; weights sum to one", {
  fit <- full_fit(features = NULL)
  path <- penalty_path(fit)
  # The round for the target corrects the fit, but not the path.
  fit$release$statistics$target <- NULL
  fit <- dp_synth(fit$release, target = fit$target)
  kept <- c("penalty", "effect", "weight")
  expect_identical(penalty_path(fit)[kept], path[kept])
  path <- penalty_path(fit)
  expect_equal(sum(path$weight), 1)
  # Shrinkage towards the target's level moves the fit a little.
  expect_equal(sum(path$weight * path$effect), mean(effects(fit)), tolerance = 0.05)
  raw <- dp_synth(fit$release, target = fit$target)
  expect_identical(penalty_path(raw), path)
  withr::local_seed(4)
  panel <- sim_panel(60, 8, 2)
  inf <- dp_synth(panel$donors, target = panel$target, T0 = 8, epsilon = Inf)
  path <- penalty_path(inf)
  chosen <- path[path$weight == 1, ]
  expect_equal(chosen$effect, mean(effects(inf)), tolerance = 1e-10)
  expect_equal(chosen$penalty, inf$penalty)
  expect_true(all(is.finite(path$cv)))
  expect_output(print(path), "Penalty path")
})

test_that("refitted paths of placebo_time() agree with its table; plots show the chosen dates", {
  skip_if_not_installed("ggplot2")
  dates <- placebo_time(full_fit())
  paths <- attr(dates, "paths")
  for (k in seq_len(nrow(dates))) {
    one <- paths[paths$date == dates$date[[k]], ]
    gap <- one$.observed - one$.fitted
    expect_equal(sum(!one$treated), dates$T0[[k]])
    expect_equal(mean(gap[one$treated]), dates$effect[[k]])
    expect_equal(sqrt(mean(gap[!one$treated]^2)), dates$rmspe_pre[[k]])
  }
  picture <- ggplot2::autoplot(dates, type = "path", dates = dates$date[c(3, 1)])
  built <- ggplot2::ggplot_build(picture)
  expect_identical(nrow(built$layout$layout), 2L)
  expect_equal(sort(built$data[[1L]]$xintercept), sort(dates$T0[c(1, 3)] + 0.5))
  expect_match(picture$labels$caption, "placebo start")
  four <- ggplot2::ggplot_build(ggplot2::autoplot(dates, type = "path"))
  expect_lte(nrow(four$layout$layout), 4L)
  expect_error(plot(dates, type = "path", dates = 99), class = "dpsc_error_argument")
  expect_error(plot(dates, type = "paths"), class = "dpsc_error_argument")
})

test_that("plots of conformal tests, placebo dates and penalty paths show the computed results", {
  skip_if_not_installed("ggplot2")
  fit <- full_fit()
  drawn <- function(result, layer) {
    ggplot2::ggplot_build(ggplot2::autoplot(result))$data[[layer]]
  }
  intervals <- conformal(fit, level = 0.9)
  expect_equal(drawn(intervals, 3L)$y, intervals$intervals$estimate)
  expect_equal(drawn(intervals, 2L)$ymin, intervals$intervals$conf.low)
  dates <- placebo_time(fit)
  expect_equal(drawn(dates, 3L)$y, dates$effect)
  expect_equal(drawn(dates, 2L)$ymax, dates$effect + qnorm(0.975) * dates$std.error)
  path <- penalty_path(fit)
  lines <- drawn(path, 2L)
  expect_equal(lines$y[lines$PANEL == 1], path$effect)
  expect_equal(lines$y[lines$PANEL == 2], path$weight)
  expect_equal(lines$x[lines$PANEL == 1], log10(path$penalty))
  expect_error(
    ggplot2::autoplot(conformal(fit, intervals = FALSE)), class = "dpsc_error_argument"
  )
})

test_that("a refit with fixed penalty is near a direct ridge fit, and penalty_path() refuses it", {
  fit <- full_fit(epsilon = 1e5, n = 400, features = NULL)
  panel <- withr::with_seed(1, sim_panel(400, 12, 2))
  fixed <- dp_synth(fit$release, fit$target, lambda = 12)
  raw <- dp_synth(panel$donors,
    target = panel$target, T0 = 12, epsilon = Inf, control = dp_control(lambda = 12)
  )
  # For the target of the release the parametrisation is the same with and without noise.
  own <- withr::with_seed(2, dp_synth(panel$donors,
    target = panel$target, T0 = 12, epsilon = 1e5, bounds = c(-1, 1),
    control = dp_control(lambda = 12, rng = "R")
  ))
  expect_equal(predict(own), predict(raw), tolerance = 0.02, ignore_attr = TRUE)
  # For another target, changes are relative to that target's level, and the penalty shrinks towards
  # no change. The formulas are written out.
  pre <- scale(panel$donors[, 1:12], scale = FALSE)
  change <- panel$donors[, 13:14] - rowMeans(panel$donors[, 1:12])
  slopes <- solve(crossprod(pre) + diag(6, 12), crossprod(pre, change))
  y <- panel$target[1:12]
  relative <- mean(y) + colMeans(change) + drop((y - attr(pre, "scaled:center")) %*% slopes)
  expect_equal(c(predict(fixed)), relative, tolerance = 0.02, ignore_attr = TRUE)
  expect_error(penalty_path(fixed), "fixed", class = "dpsc_error_release")
  expect_equal(dp_synth(fixed$release, fit$target, lambda = NULL), fit)
  expect_error(dp_synth(fit$release, fit$target, lambda = -1), class = "dpsc_error_argument")
  vertical <- dp_synth(panel$donors,
    target = panel$target, T0 = 12, epsilon = 5, bounds = c(-1, 1), method = "output"
  )
  expect_error(
    dp_synth(vertical$release, vertical$target, lambda = 3), class = "dpsc_error_argument"
  )
})
