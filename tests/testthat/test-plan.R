# Plans use no data and agree with the results of releases.

a_plan <- function(..., method = "gram") {
  dp_plan(T0 = 10, T1 = 3, ..., method = method)
}

test_that("a plan contains one row per method, with errors and widths in units of the outcome", {
  local_quick_plans()
  plan <- dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = 1)
  expect_s3_class(plan, "dp_plan")
  expect_identical(plan$table$method, c("gram", "output", "objective"))
  expect_identical(plan$table$recommended, c(TRUE, FALSE, FALSE))
  expect_equal(plan$table$error^2, plan$table$privacy^2 + plan$table$floor^2, tolerance = 1e-8)
  scaled <- dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = 1, bounds = c(0, 100))
  expect_equal(scaled$table$error, 50 * plan$table$error)
  expect_equal(scaled$table$half_width, 50 * plan$table$half_width)
  expect_output(print(plan), "no data were used")
  # An average over periods is more precise than a single period, and its interval is wider than its
  # error.
  expect_lt(plan$table$average[[1L]], plan$table$error[[1L]])
  expect_gt(plan$table$half_width[[1L]], 1.5 * plan$table$average[[1L]])
})

test_that("a plan leaves R's generator unchanged and is reproducible", {
  local_quick_plans()
  withr::local_seed(7)
  before <- .Random.seed
  first <- a_plan(n = 100, epsilon = 2)
  expect_identical(.Random.seed, before)
  rm(list = ls(plan_memory), envir = plan_memory)
  expect_identical(a_plan(n = 100, epsilon = 2), first)
})

test_that("in plans more donors reduce the errors of gram and increase the errors of output", {
  error <- function(method, n, epsilon, size = 1) {
    a_plan(n = n, epsilon = epsilon, method = method, size = size)$table$error
  }
  # From 1,000 donors on, the error of one person is close to its floor, but the error of a mean of
  # people is not.
  expect_lt(error("gram", 10000, 1, size = 20), 0.9 * error("gram", 1000, 1, size = 20))
  expect_lt(error("gram", 10000, 1, size = 60), 0.85 * error("gram", 1000, 1, size = 60))
  expect_lt(error("gram", 10000, 1, size = 200), 0.75 * error("gram", 1000, 1, size = 200))
  expect_lt(error("gram", 10000, 1), error("gram", 1000, 1))
  expect_lt(error("gram", 1000, 1), error("gram", 100, 1))
  expect_gt(error("output", 10000, 1), error("output", 1000, 1))
  for (method in c("gram", "output", "objective")) {
    expect_lt(error(method, 300, 4), error(method, 300, 1))
  }
})

test_that("the donors and the epsilon that a plan requires for an error give this error again", {
  local_quick_plans()
  plan <- dp_plan(T0 = 10, T1 = 3, epsilon = 1, error = 0.1)
  n <- plan$table$n[[1L]]
  # The simulated errors vary by a few per cent.
  expect_equal(a_plan(n = n, epsilon = 1)$table$error, 0.1, tolerance = 0.15)
  expect_true(all(is.na(plan$table$n[-1L])))
  plan <- a_plan(n = 1000, error = 0.1)
  expect_equal(a_plan(n = 1000, epsilon = plan$table$epsilon)$table$error, 0.1, tolerance = 0.15)
  impossible <- a_plan(epsilon = 1, error = 1e-9)
  expect_true(all(is.na(impossible$table$n)))
  expect_output(print(impossible), "not reached with")
  # A note gives the error without privacy, which no number of donors and no budget can reduce.
  expect_output(print(impossible), "without privacy")
})

# Errors of targets of the releases, whose outcomes are known.
observed <- function(draw, releases, T0, bounds, epsilon, size = 1, ...) {
  squared <- vapply(seq_len(releases), function(r) {
    panel <- draw()
    fit <- suppressWarnings(dp_synth(panel$donors,
      target = panel$target, T0 = T0, epsilon = epsilon, bounds = bounds, size = size,
      control = dp_control(rng = "R"), ...
    ))
    mean(effects(fit)^2)
  }, 0)
  sqrt(mean(squared))
}

test_that("planned errors for simulated people are within a factor of 1.6 of releases' errors", {
  # A root mean square of 60 runs has a relative error of about 15 %. bench/plan.R contains the full
  # comparison.
  withr::local_seed(1)
  error <- observed(function() sim_panel(600, 20, 3), 60, 20, c(-1, 1), 2)
  planned <- dp_plan(n = 600, T0 = 20, T1 = 3, epsilon = 2, method = "gram")$table$error
  expect_lt(abs(log(planned / error)), log(1.4))
  error <- observed(function() sim_panel(100, 10, 3), 30, 10, c(-1, 1), 4, method = "output")
  planned <- a_plan(n = 100, epsilon = 4, method = "output")$table$error
  expect_lt(abs(log(planned / error)), log(1.6))
})

clinic_rows <- function() {
  people <- clinic_panel[clinic_panel$patient != "programme", ]
  people <- people[order(people$patient, people$month), ]
  matrix(people$pressure, ncol = 24L, byrow = TRUE)
}

test_that("planned errors for clinic_panel are within a factor of 1.6 of releases' errors", {
  withr::local_seed(2)
  rows <- clinic_rows()
  pilot <- rows[1:300, ]
  for (size in c(1, 60)) {
    error <- observed(function() {
      chosen <- 300 + sample.int(2700, 600 + size)
      list(
        donors = rows[chosen[1:600], ],
        target = colMeans(rows[chosen[-(1:600)], , drop = FALSE])
      )
    }, 40, 18, c(80, 200), 1, size)
    plan <- dp_plan(
      n = 600, T0 = 18, T1 = 6, epsilon = 1, bounds = c(80, 200), pilot = pilot, size = size,
      method = "gram"
    )
    expect_lt(abs(log(plan$table$error / error)), log(1.4))
    # The plan has no pilot, but uses a statistician's knowledge of blood pressures.
    plan <- dp_plan(
      n = 600, T0 = 18, T1 = 6, epsilon = 1, bounds = c(80, 200), sd_between = 11, sd_within = 3.3,
      size = size, method = "gram"
    )
    expect_lt(abs(log(plan$table$error / error)), log(1.6))
  }
})

test_that("same_noise() gives the epsilon at which fewer donors have the noise of more donors", {
  facts <- list(T0 = 10, T1 = 3, delta = 1e-6, size = 1)
  for (delta in c(1e-6, 0)) {
    facts$delta <- delta
    epsilon <- same_noise(1, 4, delta)
    expect_equal(
      gram_plan_of(1000, epsilon, facts)$moment_noise, gram_plan_of(4000, 1, facts)$moment_noise,
      tolerance = 0.03
    )
  }
  expect_identical(same_noise(1, 1, 1e-6), 1)
})

test_that("simulated people of a plan have the requested standard deviations", {
  people <- spread_people(
    list(between = 5, within = 3, shared = 0.5), new_bounds(c(0, 100), 1), 40
  )
  found <- function(people, periods = 40L) {
    # Shared paths are drawn anew for every panel.
    parts <- vapply(1:20, function(seed) {
      rows <- simulate_people_cpp(people, 300L, periods - 1L, 1L, 0L, 1L, seed)$donors
      own <- rows - rowMeans(rows)
      own <- sweep(own, 2, colMeans(own))
      within <- sum(own^2) / (299 * (periods - 1))
      c(var(rowMeans(rows)), within)
    }, numeric(2))
    sqrt(rowMeans(parts))
  }
  expect_equal(found(people)[[2L]], 3 / 50, tolerance = 0.1)
  expect_equal(found(people)[[1L]], 5 / 50, tolerance = 0.1)
  # Near the limits of the bounds, standard deviations refer to people who stay within the bounds.
  people <- spread_people(
    list(between = 0.45, within = 0.8, shared = 0), new_bounds(c(-1, 1), 1), 40
  )
  rows <- simulate_people_cpp(people, 2000L, 39L, 1L, 0L, 1L, 1)$donors
  expect_lte(max(abs(rows)), 1)
  expect_equal(sqrt(mean(apply(rows, 1L, var))), 0.8, tolerance = 0.1)
})

test_that("people simulated in C++ and by sim_panel() have similar levels and changes", {
  withr::local_seed(3)
  for (design in c("factor", "linear")) {
    core <- simulate_people_cpp(design_people(design), 4000L, 9L, 3L, 0L, 1L, 5)$donors
    ours <- sim_panel(4000, 9, 3, design)$donors
    expect_equal(sd(rowMeans(core)), sd(rowMeans(ours)), tolerance = 0.15)
    expect_equal(
      mean(apply(core, 1L, function(x) mean(diff(x)^2))),
      mean(apply(ours, 1L, function(x) mean(diff(x)^2))),
      tolerance = 0.3
    )
  }
})

test_that("donors and targets drawn from a pilot panel are different people", {
  rows <- matrix(seq_len(40) / 40, 40, 5)
  panel <- simulate_people_cpp(list(kind = "pilot", rows = rows), 500L, 4L, 1L, 50L, 1L, 9)
  expect_length(intersect(panel$donors[, 1], panel$targets[, 1]), 0L)
  expect_true(all(c(panel$donors, panel$targets) %in% rows))
  # A group's mean is the mean of many people.
  group <- simulate_people_cpp(list(kind = "pilot", rows = rows), 5L, 4L, 1L, 200L, 25L, 9)$targets
  expect_lt(sd(group[, 1]), 2 * sd(rows[, 1]) / 5)
})

test_that("the planned error of a group is smaller than a person's error, and plans give both", {
  person <- a_plan(n = 1000, epsilon = 4, sd_between = 0.2, sd_within = 0.1)
  group <- a_plan(n = 1000, epsilon = 4, sd_between = 0.2, sd_within = 0.1, size = 100)
  expect_lt(group$table$error, 0.5 * person$table$error)
  expect_lt(group$table$half_width, 0.6 * person$table$half_width)
  expect_equal(group$table$person, person$table$error)
  expect_output(print(group), "mean of 100 people")
})

test_that("without an interval a plan gives the n and the epsilon that an interval needs", {
  local_quick_plans()
  few <- a_plan(n = 40, epsilon = 1)
  expect_false(few$interval$calibrated)
  expect_identical(few$table$half_width, NA_real_)
  expect_output(print(few), "No 95 % interval")
  expect_true(a_plan(n = few$interval$n, epsilon = 1)$interval$calibrated)
  expect_false(a_plan(n = floor(0.98 * few$interval$n), epsilon = 1)$interval$calibrated)
  expect_true(a_plan(n = 40, epsilon = few$interval$epsilon)$interval$calibrated)
  # The plan uses the rule of the release.
  panel <- sim_panel(few$interval$n, 10, 3)
  release <- dp_release(panel$donors,
    target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1), control = dp_control(rng = "R")
  )
  expect_false(is.null(release$statistics$intervals))
})

test_that("uninformative releases are refused with suggested donors and epsilon that suffice", {
  public <- function(n, epsilon, private = TRUE) {
    list(
      method = "gram", private = private, n = n, T0 = 10L, T1 = 3L, epsilon = epsilon,
      delta = 1e-6, y = seq(-0.1, 0.1, length.out = 10), control = dp_control()
    )
  }
  refusal <- function(...) plan_refusal(public(...), plan_gram(public(...)))
  expect_null(refusal(300, 0.1))
  expect_null(refusal(30, 1))
  expect_null(refusal(2, Inf, private = FALSE))
  said <- refusal(10, 0.1)
  expect_match(said, "release for 10 donors at epsilon = 0.1 would be uninformative", fixed = TRUE)
  # The suggested value succeeds.
  donors <- as.numeric(gsub(",", "", sub(".*needs at least ([0-9,]+) donors.*", "\\1", said)))
  expect_null(refusal(donors, 0.1))
  epsilon <- as.numeric(sub(".*epsilon = ([0-9.]+) with these donors.*", "\\1", said))
  expect_null(refusal(10, epsilon))
  # A call is refused if donors do not reduce the error even in the best case.
  best <- list(
    kind = "common", level = 0.02, loading = 0, time = 0, drift = 0, noise = 0.02, shift = 0.5
  )
  left <- function(n, epsilon) {
    facts <- list(n = n, T0 = 10, T1 = 3, epsilon = epsilon, delta = 1e-6, group = FALSE)
    sqrt(mean(simulate_gram_cpp(best, facts, 1L, 1L, 60L, 0L, 1)$error^2)) / 0.5
  }
  expect_gt(left(10, 0.1), 0.85)
  expect_lt(left(300, 1), 0.3)
})

test_that("dp_plan() refuses invalid arguments", {
  pilot <- matrix(0, 30, 12)
  for (bad in list(
    list(T0 = 10), list(T0 = 10, n = 100), list(T0 = 10, n = 100, epsilon = 1, error = 1),
    list(T0 = 10, error = 1), list(n = 100, epsilon = 1), list(T0 = 1, n = 100, epsilon = 1),
    list(T0 = 10, n = 100, epsilon = -1), list(T0 = 10, n = 100, epsilon = Inf),
    list(T0 = 10, n = 1, epsilon = 1), list(T0 = 10, n = 100, epsilon = 1, method = "x"),
    list(T0 = 10, n = 100, epsilon = 1, bounds = c(1, 0)),
    list(T0 = 10, n = 100, epsilon = 1, sd_between = 0.1),
    list(T0 = 10, n = 100, epsilon = 1, sd_between = 0.1, sd_within = -1),
    list(T0 = 10, n = 100, epsilon = 1, sd_between = 11, sd_within = 3),
    list(T0 = 10, n = 100, epsilon = 1, sd_between = 0.1, sd_within = 0.1, shared = 1),
    list(T0 = 10, n = 100, epsilon = 1, pilot = pilot),
    list(T0 = 10, T1 = 2, n = 100, epsilon = 1, pilot = pilot, sd_between = 1, sd_within = 1),
    list(T0 = 10, T1 = 2, n = 100, epsilon = 1, pilot = pilot[1:10, ]),
    list(T0 = 10, T1 = 2, n = 100, epsilon = 1, pilot = "x"),
    list(T0 = 10, n = 100, epsilon = 1, size = 0)
  )) {
    expect_error(do.call(dp_plan, bad), class = "dpsc_error")
  }
})

test_that("plots of plans show the recommended and similar methods, or the requested methods", {
  local_quick_plans()
  skip_if_not_installed("ggplot2")
  plan <- dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = 1)
  expect_identical(methods_within_reach(plan), "gram")
  expect_identical(unique(ggplot2::autoplot(plan)$data$method), "gram")
  picture <- ggplot2::autoplot(plan, method = plan$table$method)
  # At the n and epsilon of the plan, the plot agrees with the table in both panels.
  lines <- picture$data
  at <- lines$method == "gram" & (abs(lines$against - 1000) < 1e-6 | abs(lines$against - 1) < 1e-9)
  expect_equal(unique(signif(lines$error[at], 10)), signif(plan$table$error[[1L]], 10))
  # The plot shows one line per method and panel, on logarithmic axes.
  drawn <- ggplot2::ggplot_build(picture)$data[[2L]]
  expect_identical(nrow(unique(drawn[c("PANEL", "group")])), 6L)
  expect_equal(sort(drawn$y), sort(log10(lines$error)))
  expect_error(ggplot2::autoplot(plan, method = "ols"), class = "dpsc_error_argument")
  # A method with a moderately larger error is within the plotted range.
  plan$table$error[[2L]] <- 5 * plan$table$error[[1L]]
  expect_identical(methods_within_reach(plan), c("gram", "output"))
  plan$table$recommended <- FALSE
  plan$table$error <- NA
  expect_identical(methods_within_reach(plan), "gram")
})

test_that("plots of plans for everyone show the table's errors and omit budgets that are refused", {
  local_quick_plans()
  skip_if_not_installed("ggplot2")
  plan <- dp_plan(
    n = 400, T0 = 6, T1 = 2, epsilon = 2, size = 150, protect = "everyone", effect = 0.2
  )
  lines <- plan_sweep(plan, "gram")
  at <- abs(lines$against - 400) < 1e-6 | abs(lines$against - 2) < 1e-9
  expect_equal(lines$error[at], rep(plan$table$error, 2))
  expect_equal(lines$half_width[at], rep(plan$table$half_width, 2))
  # At a tenth of the budget the group is refused.
  expect_true(anyNA(lines$error))
  expect_no_error(ggplot2::ggplot_build(ggplot2::autoplot(plan)))
  funnel <- ggplot2::ggplot_build(ggplot2::autoplot(plan, "funnel"))
  expect_true(any(vapply(funnel$data, function(x) {
    all(!is.null(x$yintercept)) && 0.2 %in% x$yintercept
  }, NA)))
})

test_that("a plan recommends no release whose interval misses the changes of a few people", {
  withr::local_seed(1)
  calm <- 30 + stats::rnorm(400, 0, 3) + matrix(stats::rnorm(400 * 12, 0, 2), 400)
  jump <- calm
  jump[, 9:12] <- jump[, 9:12] + stats::rbinom(400, 1, 0.03) * 60
  plan <- function(pilot, ..., size = 50, effect = 1) {
    dp_plan(n = 2000, T0 = 8, T1 = 4, epsilon = 1, bounds = c(0, 120), pilot = pilot, size = size,
      effect = effect, method = "gram", ...)
  }
  short <- plan(jump)
  expect_lt(short$table$coverage, 0.5)
  expect_false(short$table$recommended)
  expect_identical(short$table$detectable, NA_real_)
  expect_identical(short$table$power, NA_real_)
  expect_match(paste(capture.output(print(short)), collapse = " "), "Intervals will be too short")
  expect_no_match(paste(capture.output(print(short)), collapse = " "), "is detected")
  usual <- plan(calm)
  expect_gt(usual$table$coverage, 0.9)
  expect_true(usual$table$recommended)
  expect_gt(usual$table$detectable, usual$table$half_width)
  # One person's interval covers, but rare errors are far larger than the interval.
  one <- plan(jump, size = 1, effect = 0.1)$table
  expect_lt(one$half_width, one$average)
  expect_gt(one$coverage, 0.9)
  expect_gt(one$detectable, one$half_width)
  expect_lt(one$power, 0.1)
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(short), "ggplot")
})
