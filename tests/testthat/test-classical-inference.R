small_fit <- function(estimator = "simplex", settings = list(), seed = 1) {
  panel <- toy_panel(n = 8, T0 = 10, T1 = 4, seed = seed)
  donors <- panel$donors
  rownames(donors) <- letters[1:8]
  target <- rbind(unit = 0.5 * donors[1, ] + 0.5 * donors[2, ] + 0.1 * panel$target[1, ])
  classical_fit(donors, target, 10, panel$times, estimator, settings)
}

all_settings <- function() {
  list(
    simplex = list(), ridge = list(lambda = 2), demeaned = list(), hsvt = list(rank = 2),
    did = list(), penalised = list(lambda = 0.1)
  )
}

test_that("every estimator has placebos and leave-one-out that equal fits by hand", {
  for (estimator in names(all_settings())) {
    settings <- all_settings()[[estimator]]
    fit <- small_fit(estimator, settings)
    raw <- fit$raw
    space <- placebo_space(fit)
    loo <- leave_one_out(fit)
    hand <- fit_classical(raw$donors[-3, ], raw$donors[3, ], 10, estimator, settings)
    expect_equal(unname(space$gaps["c", ]), unname(raw$donors[3, ] - hand$counterfactual),
      tolerance = 1e-8
    )
    last <- nrow(loo$table)
    without <- raw$donors[rownames(raw$donors) != loo$table$donor[last], ]
    hand <- fit_classical(without, raw$target, 10, estimator, settings)
    expect_equal(loo$paths[last, ], hand$counterfactual, tolerance = 1e-8, ignore_attr = TRUE)
    expect_equal(
      loo$table$effect[last], mean((raw$target[1, ] - hand$counterfactual)[11:14]),
      tolerance = 1e-8
    )
  }
})

test_that("ranks count ties against the target and squaring changes ratios only", {
  fit <- small_fit()
  plain <- placebo_space(fit)
  squared <- placebo_space(fit, squared = TRUE)
  expect_equal(squared$table$ratio, plain$table$ratio^2)
  expect_identical(squared$table$rank, plain$table$rank)
  expect_identical(squared$p_value, plain$p_value)
  expect_equal(plain$p_value, mean(plain$table$ratio >= plain$table$ratio[[1]]))
  some <- placebo_space(fit, max_ratio = 2)
  expect_true(all(is.na(some$table$rank) == (some$table$rmspe_pre > 2 * some$table$rmspe_pre[[1]])))
  # A target equal to a donor is fitted perfectly: the ratio is infinite or 0, never rounding.
  fit$raw$target[1, ] <- fit$raw$donors[4, ]
  same <- placebo_space(fit)
  expect_identical(same$table$ratio[[1]], 0)
  expect_identical(same$p_value, 1)
  fit$raw$target[1, 14] <- 5
  expect_identical(placebo_space(fit)$table$ratio[[1]], Inf)
})

test_that("a private fit is refused, and told what to use instead", {
  private <- structure(list(estimator = "gram"), class = "dp_synth")
  expect_error(placebo_space(private), class = "dpsc_error_private")
  expect_error(leave_one_out(private), "placebo_time")
  expect_error(placebo_time_classical(private, 1), class = "dpsc_error_private")
  expect_error(conformal_engine_classical(private), class = "dpsc_error_private")
  expect_snapshot(error = TRUE, placebo_space(private))
})

test_that("bad settings are refused with their name", {
  x <- toy_panel()
  run <- function(...) fit_classical(x$donors, x$target, x$T0, ...)
  expect_error(run("lasso"), class = "dpsc_error_argument")
  expect_error(run("penalised"), "lambda")
  expect_error(run("simplex", list(lambda = 1)), "lambda")
  expect_error(run("ridge", list(lambda = 0)), class = "dpsc_error_argument")
  expect_error(run("hsvt", list(rank = 9)), "rank")
  expect_error(run("predictors"), "predictors")
  expect_error(fit_classical(x$donors, x$target[, -1], 2), class = "dpsc_error_argument")
  expect_error(fit_classical(x$donors * NA, x$target, 2), class = "dpsc_error_argument")
  expect_error(placebo_space(small_fit(), sqared = TRUE), class = "dpsc_error_argument")
  one <- small_fit()
  one$raw$donors <- one$raw$donors[1, , drop = FALSE]
  expect_error(placebo_space(one), "two donors")
  expect_error(placebo_time_classical(small_fit(), 2012), class = "dpsc_error_argument")
})

test_that("conformal p-values equal a permutation test written out", {
  fit <- small_fit()
  raw <- fit$raw
  engine <- conformal_engine_classical(fit)
  by_hand <- function(effect, power_mean) {
    y <- raw$target[1, ] - c(rep(0, 10), rep(effect, 4))
    u <- y - fit_classical(raw$donors, y, 14)$counterfactual
    s <- vapply(0:13, function(k) power_mean(u[(10:13 + k) %% 14 + 1]), 0)
    mean(s >= s[[1]] - 1e-12)
  }
  for (effect in c(-1, 0, 0.5)) {
    expect_equal(
      conformal_p(engine, 10, 4, effect = effect)$p_value, by_hand(effect, \(u) mean(abs(u)))
    )
    expect_equal(
      conformal_p(engine, 10, 4, effect = effect, statistic = "abs_mean")$p_value,
      by_hand(effect, \(u) abs(mean(u)))
    )
  }
  # A closure that refits one path at a time is the same engine.
  slow <- conformal_engine(raw$target[1, ], function(path, periods) {
    donors <- raw$donors[, periods]
    path - fit_classical(donors, path, length(periods))$counterfactual
  })
  nulls <- rbind(rep(0, 14), c(rep(0, 10), 1:4))
  expect_equal(slow(nulls, 1:14), engine(nulls, 1:14), tolerance = 1e-8)
})

test_that("iid permutations use R's generator, are never 0, and converge to all subsets", {
  engine <- function(effects, periods) matrix(c(0.1, -0.2, 0.3, 0, 5, -6), 1)
  withr::local_seed(7)
  test <- conformal_p(engine, 4, 2, "iid", n_perm = 1999)
  expect_identical(test$n_sets, 2000L)
  # Only 1 of 15 pairs of periods reaches the observed statistic: itself.
  expect_lt(abs(test$p_value - 1 / 15), 0.025)
  huge <- conformal_p(function(effects, periods) matrix(c(rep(0, 50), 9), 1), 50, 1, "iid", 9)
  expect_gte(huge$p_value, 1 / 10)
  before <- .Random.seed
  conformal_p(engine, 4, 2, "block")
  expect_identical(.Random.seed, before)
})

test_that("intervals invert the test", {
  # Residuals without a refit: the interval for one period is known.
  y <- c(0.5, -1, 0.25, 1, -0.75, 0.1, -0.3, 0.9, -0.6, 10)
  engine <- conformal_engine(y, function(path, periods) path)
  got <- conformal_interval(engine, 9, 1, 10, level = 0.8, average = FALSE)
  # Accepted when more than 2 of 10 absolute residuals reach |10 - effect|: up to the 2nd largest.
  expect_equal(c(got$conf.low, got$conf.high), c(9, 11), tolerance = 1e-3)
  expect_lte(got$conf.low, 9)
  expect_gte(got$conf.high, 11)
  # Too few periods for the level: nothing can be rejected.
  wide <- conformal_interval(engine, 9, 1, 10, level = 0.95, average = FALSE)
  expect_identical(c(wide$conf.low, wide$conf.high), c(-Inf, Inf))

  fit <- small_fit()
  engine <- conformal_engine_classical(fit)
  gap <- fit$raw$target[1, ] - fit_classical(fit$raw$donors, fit$raw$target, 10)$counterfactual
  ends <- conformal_interval(engine, 10, 4, unname(gap[11:14]), level = 0.85)
  expect_identical(ends$period, c(1:4, NA))
  expect_true(all(ends$conf.low <= ends$estimate & ends$estimate <= ends$conf.high))
  p <- function(value, t) {
    null <- matrix(c(rep(0, 10), value), 1)
    values <- set_statistics(
      engine(null, c(1:10, 10 + t)), permutation_sets(10, 1, "block"), "mean_abs"
    )
    share_at_least(values)
  }
  for (t in 1:4) {
    expect_lte(p(ends$conf.low[t] - 1e-3, t), 0.15)
    expect_lte(p(ends$conf.high[t] + 1e-3, t), 0.15)
    expect_gt(p(ends$conf.high[t] - 1e-3, t), 0.15)
  }
})

test_that("printed, tidied and plotted forms say what they are", {
  fit <- small_fit()
  space <- placebo_space(fit)
  loo <- leave_one_out(fit)
  expect_snapshot(print(space))
  expect_snapshot(print(placebo_space(fit, squared = TRUE, max_ratio = 3)))
  expect_snapshot(print(loo))
  expect_identical(generics::tidy(space)$rank, sort(space$table$rank))
  expect_identical(generics::tidy(loo), loo$table)
  skip_if_not_installed("ggplot2")
  data <- plot_data_gaps(space)
  expect_identical(levels(data$unit)[[9]], "unit")
  expect_equal(data$gap[data$unit == "c"], unname(space$gaps["c", ]))
  data <- plot_data_leave_one_out(loo)
  expect_equal(data$value[data$line == "observed"], unname(fit$raw$target[1, ]))
  withr::local_pdf(NULL)
  for (p in list(plot(space), plot(space, "ratio"), plot(loo), plot(loo, "weights"))) {
    expect_s3_class(p, "ggplot")
  }
  named <- space
  named$times <- paste("week", 101:114)
  expect_s3_class(plot(named), "ggplot")
  expect_error(plot(loo, "gaps"), class = "dpsc_error_argument")
})
