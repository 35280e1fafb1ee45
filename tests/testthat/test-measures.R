# Effects in per cent and cumulative effects, with limits, for protected groups and several dates.

measured_panel <- function(effect = -10, n = 3000, m = 400, seed = 5) {
  withr::local_seed(seed)
  rows <- 60 + 10 * simulate_factor(n + m, 9, 2, 0.8, 0.2, 0.2, 0.05, 0.08)$outcome
  list(
    donors = rows[seq_len(n), ], group = rows[n + seq_len(m), ], m = m, effect = effect
  )
}

test_that("percentage limits are the extreme ratios of effect to base within the limits of both", {
  off <- seq(-1, 1, length.out = 41)
  for (limits in list(c(-8, -2), c(-3, 4), c(1, 9))) {
    got <- share_limits(limits[1], limits[2], 20, 5)
    all <- outer(seq(limits[1], limits[2], length.out = 41), 20 + 5 * off, `/`)
    expect_equal(unlist(got), 100 * range(all))
  }
  expect_identical(unlist(share_limits(-1, 1, 4, 5)), c(NA_real_, NA_real_))
})

test_that("percentage limits of a protected group cover the effect and include its level's noise", {
  p <- measured_panel()
  post <- 7:9
  p$group[, post] <- p$group[, post] + p$effect
  truth <- 100 * p$effect / (colMeans(p$group[, post]) - p$effect)
  one <- function(seed) {
    withr::local_seed(seed)
    fit <- dp_synth(p$donors,
      target = p$group, T0 = 6, epsilon = 1, bounds = c(0, 120), protect = "everyone",
      control = dp_control(rng = "R")
    )
    table <- as.data.frame(fit, type = "percent")
    # If the drawn radius is too short, there is no interval.
    if (anyNA(table$conf.low)) {
      return(rep(NA, 3))
    }
    plain <- as.data.frame(fit, type = "effect")
    # Relative to the counterfactual, these limits are wider than the limits of the effect, since
    # the level is also uncertain.
    expect_true(all(
      (table$conf.high - table$conf.low) >= 100 * (plain$conf.high - plain$conf.low) /
        fit$counterfactual[1L, post] * 0.999
    ))
    table$conf.low <= truth & truth <= table$conf.high
  }
  covers <- vapply(1:30, one, logical(3))
  expect_lte(mean(is.na(covers)), 0.1)
  expect_gte(mean(covers, na.rm = TRUE), 0.93)
})

test_that("fits with two treatment dates give percentage and cumulative effects with limits", {
  p <- measured_panel()
  adopted <- rep(c(5, 6), each = 200)
  on <- outer(adopted, 1:9, `<`)
  p$group <- p$group + p$effect * on
  run <- function(protect, epsilon = 4) {
    withr::local_seed(7)
    target <- p$group
    T0 <- adopted
    dp_synth(p$donors,
      target = target, T0 = T0, epsilon = epsilon, bounds = c(0, 120), protect = protect,
      control = dp_control(rng = if (is.finite(epsilon)) "R" else "secure")
    )
  }
  for (protect in c("donors", "everyone")) {
    fit <- run(protect)
    for (type in c("event", "cohort", "calendar", "group_time", "overall")) {
      share <- as.data.frame(fit, type = type, measure = "percent")
      plain <- as.data.frame(fit, type = type)
      plain <- plain[plain$kind == "effect", ]
      expect_identical(share$term, plain$term)
      expect_true(all(share$conf.low < share$estimate & share$estimate < share$conf.high))
      expect_true(all(share$estimate > -30 & share$estimate < -5))
    }
    # The effect in the first period of the first cohort is computed by hand.
    one <- fit$cohorts[[1]]
    cell <- as.data.frame(fit, measure = "percent")[1, ]
    at <- one$release$panel$T0 + 1
    expect_equal(
      cell$estimate,
      unname(100 * (one$target[1, at] - one$counterfactual[1, at]) / one$counterfactual[1, at])
    )
    total <- as.data.frame(fit, type = "event", measure = "cumulative")
    events <- tidy(fit, "event")
    events <- events[events$kind == "effect" & events$term != "average", ]
    expect_equal(total$estimate, cumsum(events$estimate))
    expect_equal(
      (total$conf.high - total$conf.low)[1], 2 * stats::qnorm(0.975) * events$std.error[1]
    )
    expect_true(all(diff(total$conf.high - total$conf.low) > 0))
    wide <- as.data.frame(fit, type = "event", measure = "cumulative", simultaneous = TRUE)
    expect_true(all(wide$conf.low < total$conf.low))
    expect_error(as.data.frame(fit, type = "calendar", measure = "cumulative"),
      class = "dpsc_error_argument"
    )
    expect_error(as.data.frame(fit, measure = "log"), class = "dpsc_error_argument")
  }
})
