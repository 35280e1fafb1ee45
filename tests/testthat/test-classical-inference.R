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
    did = list(), penalised = list(lambda = 0.1), augmented = list(lambda = 0.5),
    sdid = list(zeta = 0.5, zeta_periods = 0.1), factor = list(rank = 1),
    mcnnm = list(lambda = 0.05)
  )
}

test_that("placebo and leave-one-out fits of ten estimators equal fits made directly", {
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

test_that("in placebo tests ties count against the target, and squared ratios give equal ranks", {
  fit <- small_fit()
  plain <- placebo_space(fit)
  squared <- placebo_space(fit, squared = TRUE)
  expect_equal(squared$table$ratio, plain$table$ratio^2)
  expect_identical(squared$table$rank, plain$table$rank)
  expect_identical(squared$p_value, plain$p_value)
  expect_equal(plain$p_value, mean(plain$table$ratio >= plain$table$ratio[[1]]))
  some <- placebo_space(fit, max_ratio = 2)
  expect_true(all(is.na(some$table$rank) == (some$table$rmspe_pre > 2 * some$table$rmspe_pre[[1]])))
  # A target equal to a donor is fitted perfectly, so the ratio is infinite or 0 without rounding
  # errors.
  fit$raw$target[1, ] <- fit$raw$donors[4, ]
  same <- placebo_space(fit)
  expect_identical(same$table$ratio[[1]], 0)
  expect_identical(same$p_value, 1)
  fit$raw$target[1, 14] <- 5
  expect_identical(placebo_space(fit)$table$ratio[[1]], Inf)
})

released_fit <- function(epsilon = 1, features = NULL, method = "gram", n = 200, rng = "R") {
  withr::local_seed(1)
  panel <- sim_panel(n, 12, 2)
  dp_synth(panel$donors,
    target = panel$target, T0 = 12, epsilon = epsilon, bounds = c(-1, 1), method = method,
    control = dp_control(rng = rng, features = features)
  )
}

# The functions that a refusal lists as free, without the functions of the refusal.
named_free <- function(message) {
  line <- grep("At no cost", strsplit(message, "\n")[[1L]], value = TRUE)
  regmatches(line, gregexpr("[a-z_]+(?=\\(\\))", line, perl = TRUE))[[1L]]
}

test_that("errors of placebo and conformal tests recommend only functions that work for the fit", {
  fits <- list(
    compressed = released_fit(), full = released_fit(features = Inf),
    vertical = released_fit(method = "output"), raw = released_fit(epsilon = Inf)
  )
  refusals <- list(
    placebo_space = placebo_space, leave_one_out = leave_one_out, conformal = conformal,
    placebo_time = placebo_time
  )
  free <- list(
    compressed = c("summary", "confint"),
    full = c("summary", "placebo_time", "conformal", "confint"), vertical = "confint",
    raw = c("summary", "placebo_time", "conformal", "confint")
  )
  refused <- 0L
  for (name in names(fits)) {
    for (fun in refusals) {
      error <- tryCatch(fun(fits[[name]]), error = identity)
      if (!inherits(error, "error")) next
      refused <- refused + 1L
      expect_s3_class(error, "dpsc_error")
      named <- named_free(conditionMessage(error))
      expect_identical(named, free[[name]])
      for (works in named) {
        result <- if (works == "conformal") {
          conformal(fits[[name]], level = 0.9)
        } else {
          get(works)(fits[[name]])
        }
        expect_false(is.null(result))
      }
    }
  }
  # All four functions refuse to draw donors, and two refuse single periods.
  expect_identical(refused, 12L)
  expect_error(placebo_space(fits$full), "private", class = "dpsc_error_private")
  expect_error(placebo_space(fits$raw), "simplex", class = "dpsc_error_private")
  expect_error(conformal_engine_classical(fits$full), class = "dpsc_error_private")
  expect_error(placebo_time_classical(fits$full, 1), class = "dpsc_error_private")
  expect_snapshot(error = TRUE, placebo_space(fits$compressed))
  expect_snapshot(error = TRUE, conformal(fits$compressed))
})

test_that("classical fits and placebo tests refuse invalid settings, donors, targets and dates", {
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

test_that("conformal p-values equal the p-values of a permutation test computed directly", {
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
  # A closure that refits one path at a time gives the same results.
  slow <- conformal_engine(raw$target[1, ], function(path, periods) {
    donors <- raw$donors[, periods]
    path - fit_classical(donors, path, length(periods))$counterfactual
  })
  nulls <- rbind(rep(0, 14), c(rep(0, 10), 1:4))
  expect_equal(slow(nulls, 1:14), engine(nulls, 1:14), tolerance = 1e-8)
})

test_that("iid permutation p-values are accurate and positive; block permutations draw nothing", {
  engine <- function(effects, periods) matrix(c(0.1, -0.2, 0.3, 0, 5, -6), 1)
  withr::local_seed(7)
  test <- conformal_p(engine, 4, 2, "iid", n_perm = 1999)
  expect_identical(test$n_sets, 2000L)
  # Of 15 pairs of periods only the observed pair reaches the observed statistic.
  expect_lt(abs(test$p_value - 1 / 15), 0.025)
  huge <- conformal_p(function(effects, periods) matrix(c(rep(0, 50), 9), 1), 50, 1, "iid", 9)
  expect_gte(huge$p_value, 1 / 10)
  before <- .Random.seed
  conformal_p(engine, 4, 2, "block")
  expect_identical(.Random.seed, before)
})

test_that("conformal intervals contain the effects that the conformal test accepts", {
  # For residuals without a refit, the interval for one period is known.
  y <- c(0.5, -1, 0.25, 1, -0.75, 0.1, -0.3, 0.9, -0.6, 10)
  engine <- conformal_engine(y, function(path, periods) path)
  got <- conformal_interval(engine, 9, 10, level = 0.8, average = FALSE)
  # An effect is accepted if more than 2 of 10 absolute residuals reach |10 - effect|, that is, up
  # to the second largest.
  expect_equal(c(got$conf.low, got$conf.high), c(9, 11), tolerance = 1e-3)
  expect_lte(got$conf.low, 9)
  expect_gte(got$conf.high, 11)
  # The periods are too few for the level, so no effect can be rejected.
  wide <- conformal_interval(engine, 9, 10, level = 0.95, average = FALSE)
  expect_identical(c(wide$conf.low, wide$conf.high), c(-Inf, Inf))

  fit <- small_fit()
  engine <- conformal_engine_classical(fit)
  gap <- fit$raw$target[1, ] - fit_classical(fit$raw$donors, fit$raw$target, 10)$counterfactual
  ends <- conformal_interval(engine, 10, unname(gap[11:14]), level = 0.85)
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

test_that("placebo and leave-one-out results print, and have tables and plots", {
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

simplex_panel_fit <- function(T0 = 12, estimator = "simplex", noise = 0.1, settings = list()) {
  panel <- toy_panel(n = 30, T0 = T0, T1 = 3)
  donors <- panel$donors
  rownames(donors) <- sprintf("unit%02d", 1:30)
  target <- 0.6 * donors[3, ] + 0.4 * donors[8, ] + noise * panel$target[1, ]
  dp_synth(donors,
    target = target, T0 = T0, epsilon = Inf, estimator = estimator,
    control = dp_control(settings = settings)
  )
}

test_that("conformal intervals exist if the level permits; otherwise the print gives the reason", {
  fit <- simplex_panel_fit()
  result <- conformal(fit)
  expect_identical(nrow(result$intervals), 0L)
  expect_match(result$note[[1L]],
    "95 % for a single period needs 19 periods before the treatment",
    fixed = TRUE
  )
  expect_match(result$note[[2L]], "92.3 % for a single period", fixed = TRUE)
  expect_identical(nrow(result$test), 1L)
  expect_output(print(result), "needs 19 periods")
  # The suggested level succeeds, and all limits are finite.
  named <- conformal(fit, level = 0.923)
  expect_identical(named$intervals$term, c("13", "14", "15", "average"))
  expect_true(all(is.finite(named$intervals$conf.low)))
  expect_identical(named$note, NULL)
  # With 18 periods the average has one more rotation than single periods and therefore an interval.
  some <- conformal(simplex_panel_fit(18))
  expect_identical(some$intervals$term, "average")
  all_of_it <- conformal(simplex_panel_fit(19))
  expect_identical(all_of_it$intervals$term, c("20", "21", "22", "average"))
  iid <- withr::with_seed(1, conformal(fit, permutations = "iid", n_perm = 9))
  expect_match(iid$note[[1L]], "needs n_perm = 19", fixed = TRUE)
  skip_if_not_installed("ggplot2")
  expect_error(ggplot2::autoplot(result), "92.3 %", class = "dpsc_error_argument")
  expect_match(ggplot2::autoplot(named)$labels$subtitle, "NOT PRIVATE")
})

test_that("the print of a classical fit gives fit quality, main donors and next steps", {
  fit <- simplex_panel_fit()
  text <- paste(capture.output(print(fit)), collapse = "\n")
  rmspe <- sqrt(mean((fit$target - fit$counterfactual)[1:12]^2))
  expect_match(text, paste("pre-treatment RMSPE", format_value(rmspe)), fixed = TRUE)
  expect_match(text, "largest weights: unit03", fixed = TRUE)
  expect_match(text, "placebo_space(fit)", fixed = TRUE)
  expect_match(text, "conformal(fit, level = 0.92)", fixed = TRUE)
  expect_match(text, "NOT PRIVATE", fixed = TRUE)
  expect_no_match(text, "PERFECT|POOR|UNIQUE")
  expect_identical(nrow(conformal(fit, level = 0.92)$intervals), 4L)
  expect_output(print(summary(fit)), "RMSPE")
  expect_output(print(simplex_panel_fit(4, noise = 0)), "PERFECT FIT")
  expect_output(print(placebo_space(simplex_panel_fit(4, noise = 0))), "is meaningless")
  far <- simplex_panel_fit(noise = 5)
  expect_output(print(far), "POOR FIT")
  for (estimator in c("demeaned", "hsvt")) {
    expect_output(print(simplex_panel_fit(estimator = estimator)), "RMSPE")
  }
})

test_that("the error from confint() of a classical fit suggests a call of conformal()", {
  fit <- simplex_panel_fit()
  expect_error(confint(fit), "conformal\\(fit, level = 0.92\\)", class = "dpsc_error_argument")
  expect_error(confint(simplex_panel_fit(20)), "conformal\\(fit\\)", class = "dpsc_error_argument")
})

test_that("placebo dates of classical fits and of seeded releases are marked NOT PRIVATE", {
  fit <- simplex_panel_fit()
  dates <- placebo_time(fit)
  expect_output(print(dates), "NOT PRIVATE: Placebo dates")
  # Placebo dates of a seeded release are marked in the same way.
  expect_output(print(placebo_time(released_fit(features = Inf))), "^NOT PRIVATE: Placebo dates")
  private <- placebo_time(released_fit(features = Inf, n = 600, rng = "secure"))
  expect_output(print(private), "^Placebo dates")
  expect_output(print(private), "std.error")
  # The donors are too few for an interval, so the dates have no standard errors either.
  uncalibrated <- placebo_time(released_fit(features = Inf, rng = "secure"))
  expect_true(all(is.na(uncalibrated$std.error) & is.na(uncalibrated$p.value)))
  expect_output(print(uncalibrated), "^Placebo dates")
  expect_no_match(paste(capture.output(print(dates)), collapse = ""), "std.error|p.value")
  skip_if_not_installed("ggplot2")
  expect_match(ggplot2::autoplot(dates)$labels$subtitle, "^NOT PRIVATE")
  expect_no_match(ggplot2::autoplot(dates)$labels$subtitle, "bars")
  expect_match(ggplot2::autoplot(private)$labels$subtitle, "^There can be no effect.*bars")
  expect_identical(ggplot2::autoplot(uncalibrated)$labels$subtitle, "There can be no effect yet")
})

test_that("predictors are matched with donors by name, or by position if neither has names", {
  panel <- toy_panel(n = 12, T0 = 8, T1 = 2)
  donors <- panel$donors
  rownames(donors) <- paste("state", LETTERS[1:12])
  predictors <- cbind(early = rowMeans(donors[, 1:4]), late = rowMeans(donors[, 5:8]),
    last = donors[, 8L])
  own <- c(early = 0.1, late = -0.1, last = 0.2)
  run <- function(predictors, target = own, donors_given = donors, ...) {
    dp_synth(donors_given,
      target = panel$target, T0 = 8, epsilon = Inf, estimator = "predictors",
      control = dp_control(settings = list(
        predictors = list(donors = predictors, target = target), v = c(1, 2, 3)
      ))
    )
  }
  fit <- run(predictors)
  shuffled <- withr::with_seed(1, sample(12L))
  expect_false(identical(shuffled, 1:12))
  again <- run(predictors[shuffled, ])
  expect_equal(again$weights, fit$weights, tolerance = 1e-10)
  expect_equal(effects(again), effects(fit), tolerance = 1e-10)
  expect_equal(placebo_space(again)$table, placebo_space(fit)$table, tolerance = 1e-8)
  expect_equal(leave_one_out(again)$table, leave_one_out(fit)$table, tolerance = 1e-8)
  # The target's predictors are also matched by name, and rows of units that are not donors are
  # ignored.
  expect_equal(run(predictors, own[c(3, 1, 2)])$weights, fit$weights, tolerance = 1e-10)
  expect_equal(run(rbind(treated = 9, predictors))$weights, fit$weights, tolerance = 1e-10)
  # With a formula the donors may be in another order.
  data <- data.frame(
    unit = rep(c(rownames(donors), "treated"), 10L), time = rep(1:10, each = 13L),
    y = c(rbind(donors, panel$target)),
    on = as.integer(outer(1:13, 1:10, function(i, t) i == 13L & t > 8L))
  )
  long <- dp_synth(y ~ on, data[sample.int(nrow(data)), ], c("unit", "time"),
    epsilon = Inf, estimator = "predictors", control = dp_control(settings = list(
      predictors = list(donors = predictors[shuffled, ], target = own), v = c(1, 2, 3)
    ))
  )
  expect_equal(long$weights[names(fit$weights)], fit$weights, tolerance = 1e-8)
  wrong <- predictors
  rownames(wrong)[[2L]] <- "elsewhere"
  expect_error(run(wrong), "1 of 12", class = "dpsc_error_argument")
  rownames(wrong)[[2L]] <- rownames(wrong)[[1L]]
  expect_error(run(wrong), "more than once", class = "dpsc_error_argument")
  expect_error(run(unname(predictors)), "have no names", class = "dpsc_error_argument")
  expect_error(run(predictors, c(early = 1, late = 1, other = 1)), "differ from the donors",
    class = "dpsc_error_argument"
  )
  # If neither side has names, rows are matched by position.
  expect_equal(unname(run(unname(predictors), unname(own), unname(donors))$weights),
    unname(fit$weights),
    tolerance = 1e-10
  )
  expect_error(run(predictors, own, unname(donors)), "match", class = "dpsc_error_argument")
  expect_error(run(unname(predictors)[-1, ], own, unname(donors)), "12 donors and 11 rows",
    class = "dpsc_error_argument"
  )
})
