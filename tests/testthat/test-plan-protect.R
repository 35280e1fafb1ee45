# Plans of protected groups, of several dates, and with covariates, which simulate whole studies.

everyone_plan <- function(..., n = 600, size = 200, protect = "everyone") {
  dp_plan(n = n, T0 = 8, T1 = 3, epsilon = 2, size = size, protect = protect, ...)
}

test_that("a plan that protects everyone contains one row, in outcome units, and is reproducible", {
  local_quick_plans()
  withr::local_seed(7)
  before <- .Random.seed
  plan <- everyone_plan()
  expect_identical(.Random.seed, before)
  expect_identical(plan$table$method, "gram")
  expect_identical(plan$table$recommended, TRUE)
  rm(list = ls(plan_memory), envir = plan_memory)
  RNGkind("Wichmann-Hill")
  withr::defer(RNGkind("default"))
  expect_identical(everyone_plan()$table, plan$table)
  scaled <- everyone_plan(bounds = c(0, 100))
  for (column in c("error", "average", "half_width", "period_width", "detectable")) {
    expect_equal(scaled$table[[column]], 50 * plan$table[[column]])
  }
  # The noise of a group's release is added to the noise of a public target's estimate.
  public <- everyone_plan(protect = "donors", method = "gram")
  expect_gt(plan$table$error, public$table$error)
  expect_gt(plan$table$half_width, public$table$half_width)
  expect_output(print(plan), "The treated people are also protected")
})

test_that("a plan needs no ledger, even if the session requires a ledger", {
  local_quick_plans()
  withr::local_options(dpsc.ledger = dp_ledger(1, 1e-6), dpsc.require_ledger = TRUE)
  plan <- dp_plan(
    n = 401, T0 = 6, T1 = 3, epsilon = 6, bounds = c(0, 10), size = 60, protect = "everyone"
  )
  expect_s3_class(plan, "dp_plan")
  expect_identical(nrow(as.data.frame(getOption("dpsc.ledger"))), 0L)
})

test_that("dp_plan() finds a group too small exactly when dp_release() does", {
  for (m in c(5, 15, 40, 200)) {
    p <- protected_panel_of(n = 600, m = m, T0 = 8)
    ledger <- dp_ledger(2, 1e-6)
    refused <- tryCatch({
      dp_release(p$donors,
        target = p$group, T0 = 8, epsilon = 1, bounds = c(-1, 1), protect = "everyone",
        ledger = ledger
      )
      ""
    }, dpsc_error_argument = conditionMessage)
    said <- tryCatch({
      dp_plan(n = 600, T0 = 8, T1 = 2, epsilon = 1, size = m, protect = "everyone")
      ""
    }, dpsc_error_argument = conditionMessage)
    expect_identical(grepl("too small", said), grepl("too small", refused))
    expect_identical(nrow(as.data.frame(ledger)), if (nzchar(refused)) 0L else 1L)
  }
})

test_that("planned errors of a protected group are within a factor of 1.4 of simulated errors", {
  # A root mean square of 40 runs has a relative error of about 12 %. bench/plan-studies.R contains
  # the full comparison.
  withr::local_seed(3)
  effect <- 0.05
  runs <- vapply(1:40, function(r) {
    rows <- sim_panel(800, 8, 3)$donors
    group <- rows[601:800, ]
    moved <- group
    moved[, 9:11] <- pmin(group[, 9:11] + effect, 1)
    fit <- dp_synth(rows[1:600, ],
      target = moved, T0 = 8, epsilon = 2, bounds = c(-1, 1), protect = "everyone",
      control = dp_control(rng = "R")
    )
    error <- effects(fit)[1L, ] - colMeans(moved - group)[9:11]
    table <- tidy(fit)
    c(mean(error^2), mean(error)^2, qnorm(0.975) * table$std.error[[1L]])
  }, numeric(3L))
  plan <- everyone_plan(effect = effect)$table
  expect_lt(abs(log(plan$error / sqrt(mean(runs[1L, ])))), log(1.4))
  expect_lt(abs(log(plan$average / sqrt(mean(runs[2L, ])))), log(1.4))
  expect_lt(abs(log(plan$half_width / stats::median(runs[3L, ], na.rm = TRUE))), log(1.4))
})

test_that("planned errors of a public target are within a factor of 1.3 of errors from C++", {
  facts <- dp_plan(n = 500, T0 = 8, T1 = 3, epsilon = 2, size = 30, method = "gram")$facts
  core <- gram_errors(500, 2, facts)
  study <- study_errors(500, 2, facts)
  for (column in c("error", "average", "half_width", "period_width")) {
    expect_lt(abs(log(study[[column]] / core[[column]])), log(1.3))
  }
})

test_that("a plan contains one row per date and one for all dates, whatever the order of dates", {
  local_quick_plans()
  dates <- function(T0, size, ...) {
    dp_plan(n = 400, T0 = T0, T1 = 2, epsilon = 2, size = size, ...)
  }
  plan <- dates(c(9, 6), c(40, 60), effect = 0.1)
  expect_identical(plan$table$T0, c(NA, 6, 9))
  expect_identical(plan$table$size, c(100, 60, 40))
  expect_identical(dates(c(6, 9), c(60, 40), effect = 0.1)$table, plan$table)
  # The average over all people is more precise than an average over some people.
  expect_lt(plan$table$half_width[[1L]], min(plan$table$half_width[-1L]))
  expect_gt(plan$table$power[[1L]], max(plan$table$power[-1L]) - 1e-9)
  expect_output(print(plan), "adoptions after 6 and 9")
  expect_output(print(plan), "after 6 ")
})

test_that("planned errors for two dates are within a factor of 1.4 of simulated errors", {
  withr::local_seed(4)
  adopted <- rep(c(6, 9), c(60, 40))
  runs <- vapply(1:80, function(r) {
    rows <- sim_panel(500, 6, 5)$donors
    fit <- dp_synth(rows[1:400, ],
      target = rowsum(rows[401:500, ], adopted) / c(60, 40), T0 = c(6, 9), size = c(60, 40),
      epsilon = 2, bounds = c(-1, 1), protect = "donors", control = dp_control(rng = "R")
    )
    table <- tidy(fit, type = "cohort")
    c(table$estimate^2, qnorm(0.975) * table$std.error[[1L]])
  }, numeric(4L))
  plan <- dp_plan(n = 400, T0 = c(6, 9), T1 = 2, epsilon = 2, size = c(60, 40))$table
  # A root mean square of 40 planned studies has a relative error of about 12 %; the two dates share
  # no treated people.
  expect_lt(abs(log(plan$average[[1L]] / sqrt(mean(runs[1L, ])))), log(1.4))
  expect_lt(abs(log(sqrt(mean(plan$average[-1L]^2) / mean(runs[2:3, ])))), log(1.4))
  width <- stats::median(runs[4L, ], na.rm = TRUE)
  expect_lt(abs(log(plan$half_width[[1L]] / width)), log(1.4))
})

test_that("dp_plan() plans two dates of protected people together and refuses a small group", {
  local_quick_plans()
  plan <- dp_plan(n = 600, T0 = c(6, 8), T1 = 2, epsilon = 4, size = 150, protect = "everyone")
  expect_identical(plan$table$size, c(300, 150, 150))
  expect_true(all(is.finite(plan$table$detectable)))
  expect_error(
    dp_plan(n = 600, T0 = c(6, 8), T1 = 2, epsilon = 1, size = c(150, 5), protect = "everyone"),
    "5 treated people is too small", class = "dpsc_error_argument"
  )
})

test_that("in plans useful covariates reduce errors by over 20 %, useless ones by less than 5 %", {
  plan <- function(...) {
    dp_plan(n = 2000, T0 = 8, T1 = 3, epsilon = 4, size = 30, sd_between = 0.2, sd_within = 0.1,
      ...)
  }
  none <- plan(method = "gram")
  expect_null(none$without)
  much <- plan(covariates = 2, explained = 0.8)
  expect_lt(much$table$average, 0.8 * much$without$average)
  expect_output(print(much), "Without the covariates the error of the average would be")
  idle <- plan(covariates = 6)
  expect_gt(idle$table$average, 0.95 * idle$without$average)
  # Covariates explain the requested share of the changes of simulated people, and the variances of
  # the changes are as requested.
  withr::local_seed(5)
  rows <- sim_panel(4000, 8, 3)$donors / 2
  between <- matrix(runif(8000, -1, 1), 4000)
  moved <- foretold(rows, between, list(T0 = 8, explained = 0.3))
  change <- function(rows) rowMeans(rows[, 9:11]) - rowMeans(rows[, 1:8])
  expect_equal(sd(change(moved)), sd(change(rows)), tolerance = 0.05)
  expect_equal(summary(lm(change(moved) ~ between))$r.squared, 0.3, tolerance = 0.1)
  expect_identical(moved[, 1:8], rows[, 1:8])
})

test_that("a plan's power follows from its error, half-width and share of runs with intervals", {
  row <- data.frame(average = 0.5, half_width = 1, given = 1)
  expect_equal(power_of(row, 1), pnorm(0) + pnorm(-4))
  expect_identical(power_of(row, -1), power_of(row, 1))
  for (power in c(0.1, 0.5, 0.8, 0.95)) {
    expect_equal(power_of(row, least_effect(row, power)), power, tolerance = 1e-6)
  }
  # A release without an interval detects no effect.
  row$given <- 0.75
  expect_lt(power_of(row, 100), 0.7500001)
  expect_identical(least_effect(row, 0.8), Inf)
  expect_equal(power_of(row, least_effect(row, 0.5)), 0.5, tolerance = 1e-6)
  row$half_width <- NA
  expect_identical(c(power_of(row, 1), least_effect(row, 0.8)), c(NA_real_, NA_real_))
  # The test always exists here.
  expect_identical(least_effect(data.frame(average = 1, half_width = 0, given = 1), 0.8), 0)
})

test_that("a plan gives the power for an effect, and the effect for a power", {
  local_quick_plans()
  ask <- function(...) {
    dp_plan(n = 1000, T0 = 8, T1 = 3, epsilon = 2, size = 40, method = "gram", ...)
  }
  plan <- ask()
  expect_identical(plan$table$power, NA_real_)
  found <- plan$table$detectable
  expect_gt(found, plan$table$half_width)
  expect_equal(ask(effect = found)$table$power, 0.8, tolerance = 1e-4)
  expect_equal(ask(effect = -found)$table$power, 0.8, tolerance = 1e-4)
  expect_equal(ask(effect = found, power = 0.5)$table$power, 0.8, tolerance = 1e-4)
  expect_lt(ask(power = 0.5)$table$detectable, found)
  expect_output(print(plan), "is detected with\\s+power 80 %")
  expect_output(print(ask(effect = found)), "power: for an average effect of")
  # Methods without intervals have no test.
  other <- dp_plan(n = 1000, T0 = 8, T1 = 3, epsilon = 2, size = 40, effect = found)$table
  expect_identical(is.na(other$power), c(FALSE, TRUE, TRUE))
})

test_that("the epsilon that a plan gives for an effect is large enough for intervals", {
  plan <- dp_plan(3000, 18, 6, size = 60, effect = 1.5, bounds = c(80, 200), sd_between = 11,
    sd_within = 3.3, method = "gram")
  row <- plan$table
  # By chance, a twentieth or more of the simulated releases may lack an interval.
  expect_gt(row$power, 0.6)
  expect_true(is.finite(row$half_width))
  expect_lt(row$epsilon, 0.16)
  # Boundaries: the answer is the smallest value with a test, and rounded up.
  least <- function(x) if (x < 0.13) Inf else 0.1
  expect_equal(corrected(least, 1, 0.16, c(0.01, 10)), 0.13, tolerance = 0.05)
  expect_gte(corrected(least, 1, 0.16, c(0.01, 10)), 0.13)
  expect_gte(corrected(least, 1, 0.16, c(0.15, 10)), 0.15)
  expect_identical(rounded_up(c(0.13021, 0.13, 1234.1, 9.999), 3L), c(0.131, 0.13, 1240, 10))
})

test_that("a plan finds the donors, the budget or the group size for an effect and a power", {
  ask <- function(n = 1000, epsilon = 2, size = 40, effect = 0.04, ...) {
    dp_plan(n = n, T0 = 8, T1 = 3, epsilon = epsilon, size = size, effect = effect, ...)
  }
  for (unknown in c("n", "epsilon", "size")) {
    at <- stats::setNames(list(NULL), unknown)
    row <- do.call(ask, c(at, list(method = "gram")))$table
    # The simulated errors vary by a few per cent.
    expect_lt(abs(log(row$detectable / 0.04)), log(1.15))
    expect_gt(row$power, 0.6)
  }
  expect_identical(do.call(ask, list(size = NULL, effect = 1e-6, method = "gram"))$table$size,
    NA_real_)
  group <- dp_plan(n = 1000, T0 = 8, T1 = 3, epsilon = 2, size = NULL, effect = 0.05,
    protect = "everyone")
  expect_lt(abs(log(group$table$detectable / 0.05)), log(1.3))
  expect_output(print(group), "to be detected with power 80 %")
  error <- dp_plan(n = 1000, T0 = 8, T1 = 3, epsilon = 2, size = NULL, error = 0.03,
    method = "gram")
  expect_equal(error$table$error, 0.03, tolerance = 0.15)
})

test_that("dp_plan()'s search brackets the required quantity and stays within the limits", {
  asked <- numeric()
  f <- function(x) {
    asked <<- c(asked, x)
    1 / x
  }
  expect_identical(bracket_of(f, 1 / 50, 10, c(1, 1000)), c(40, 160))
  expect_identical(bracket_of(f, 1 / 3, 10, c(1, 1000)), c(2.5, 10))
  expect_identical(bracket_of(f, 1e-9, 10, c(1, 1000))[[2L]], 1000)
  expect_identical(bracket_of(f, 9, 10, c(1, 1000))[[1L]], 1)
  expect_true(all(asked >= 1 & asked <= 1000))
  # One step corrects an inaccurate answer.
  expect_equal(corrected(function(x) 1 / x, 1 / 50, 30, c(1, 1000)), 50)
  expect_equal(corrected(function(x) 1 / sqrt(x), 1 / 7, 100, c(1, 1000)), 49, tolerance = 0.02)
  expect_identical(corrected(function(x) 1 / x, 1 / 50, NA_real_, c(1, 1000)), NA_real_)
})

test_that("invalid or contradictory arguments of dp_plan() give errors of a documented class", {
  ask <- function(..., T0 = 8, T1 = 3) dp_plan(T0 = T0, T1 = T1, ...)
  refused <- function(text, ...) expect_error(ask(...), text, class = "dpsc_error_argument")
  refused("different", n = 100, epsilon = 1, T0 = c(8, 8))
  refused("whole number, at least 2", n = 100, epsilon = 1, T0 = c(8, 1))
  refused("whole number, at least 2", n = 100, epsilon = 1, T0 = c(8, NA))
  refused("size", n = 100, epsilon = 1, T0 = c(8, 10), size = c(5, 5, 5))
  refused("give its `size`", n = 100, epsilon = 1, protect = "everyone")
  refused("method", n = 100, epsilon = 1, size = 50, protect = "everyone", method = "output")
  refused("method", n = 100, epsilon = 1, T0 = c(8, 9), method = c("gram", "objective"))
  refused("covariates", n = 100, epsilon = 1, covariates = 1.5)
  refused("covariates", n = 100, epsilon = 1, covariates = 1e6)
  refused("explained", n = 100, epsilon = 1, covariates = 1, explained = 1)
  refused("is 0", n = 100, epsilon = 1, explained = 0.3)
  refused("not be 0", n = 100, epsilon = 1, effect = 0)
  refused("the width of .bounds. is 120", n = 100, epsilon = 1, effect = 130, bounds = c(80, 200))
  refused("power", n = 100, epsilon = 1, effect = 0.1, power = 1)
  refused("power", n = 100, epsilon = 1, effect = 0.1, power = 0.01)
  refused("two goals", n = 100, effect = 0.1, error = 0.1)
  refused("no quantity is missing", n = 100, epsilon = 1, error = 0.1)
  refused("two of these three", n = 100, effect = 0.1, size = NULL)
  refused("two of these three", n = 100, epsilon = 1, size = NULL)
})
