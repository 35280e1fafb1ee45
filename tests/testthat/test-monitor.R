# Growing releases: results and refusals of update(), stored and written values.

test_that("a fit can be updated for the announced periods, and earlier results are unchanged", {
  withr::local_seed(1)
  p <- monitor_panel()
  start <- start_monitor(p, monitor = 3)
  expect_identical(monitor_left(start), 3L)
  fit <- next_period(start, p)
  later <- next_period(fit, p, by = 2)
  expect_identical(monitor_left(later$release), 0L)
  expect_identical(c(later$release$panel$T0, later$release$panel$T1), c(10L, 4L))
  expect_identical(later$release$panel$times, 1:14)
  expect_identical(length(later$release$bounds$lower), 14L)
  # The published values of a period do not change.
  expect_equal(later$counterfactual[, 1:12], fit$counterfactual[, 1:12])
  expect_equal(fit$counterfactual[, 1:11], start$counterfactual[, 1:11])
  expect_equal(tidy(later)$std.error[2:3], tidy(fit)$std.error[2:3])
  expect_equal(tidy(fit)$std.error[[2]], tidy(start)$std.error[[2]])
  expect_equal(vcov(later, type = "privacy")[2:3, 2:3], vcov(fit, type = "privacy")[2:3, 2:3])
  # At epsilon = 4 the estimates of an effect of zero are small.
  expect_true(all(abs(coef(later)) < 0.25))
  covariance <- vcov(later)[-1, -1]
  expect_true(all(eigen(covariance, symmetric = TRUE)$values > -1e-10))
  expect_equal(tidy(later)$term, c("average", "11", "12", "13", "14"))
  expect_identical(nrow(confint(later, simultaneous = TRUE)), 5L)
  expect_identical(nrow(summary(later)$effects), 5L)
  skip_if_not_installed("ggplot2")
  drawn <- ggplot2::ggplot_build(ggplot2::autoplot(later))
  expect_true(14 %in% unlist(lapply(drawn$data, `[[`, "x")))
})

test_that("prints give the number of remaining periods and recommend updating the newest fit", {
  withr::local_seed(2)
  p <- monitor_panel()
  fit <- next_period(start_monitor(p, monitor = 3, rng = "secure"), p)
  said <- utils::capture.output(print(fit))
  expect_match(said, "3 further periods paid for, 2 left", all = FALSE)
  expect_match(said, "update the newest fit only", all = FALSE)
  expect_match(paste(report(fit), collapse = " "), "1 of 3 further periods since")
  expect_match(utils::capture.output(print(summary(fit$release))), "sums of the period, 3 times",
    all = FALSE)
  ledger <- dp_ledger(4, 1e-6)
  fit <- start_monitor(p, monitor = 3, rng = "secure", ledger = ledger)
  expect_no_match(utils::capture.output(print(fit)), "update the newest")
  expect_match(format(ledger), "and 3 periods to come", all = FALSE)
})

test_that("a group's fit is updated from long data, and gaps in the data need `na` and a roster", {
  withr::local_seed(3)
  p <- monitor_panel(n = 300, T0 = 8, T1 = 3)
  rows <- rbind(p$donors, p$target, p$target + 0.02)
  long <- data.frame(
    who = rep(seq_len(nrow(rows)), ncol(rows)), when = rep(2000 + seq_len(11), each = nrow(rows)),
    y = as.vector(rows)
  )
  long$on <- as.integer(long$who > 300 & long$when > 2008)
  fit <- dp_synth(y ~ on, long[long$when <= 2009, ], c("who", "when"),
    epsilon = 4, bounds = c(-1, 1), size = c(20, 60), protect = "donors", monitor = 4,
    control = dp_control(rng = "R")
  )
  grown <- update(fit, long[sample(nrow(long)), ], index = c("who", "when"))
  expect_identical(grown$release$panel$times, as.numeric(2001:2011))
  expect_equal(grown$target[1, ], p$target + 0.015, ignore_attr = TRUE)
  expect_identical(rownames(grown$target), "mean of 2 treated units")
  expect_identical(grown$size, 80)
  expect_null(grown$units)
  expect_equal(update(grown)$counterfactual, grown$counterfactual)
  # Gaps are filled row by row, with a roster that includes the new periods.
  holes <- long[!(long$who %in% 5:20 & long$when > 2009), ]
  roster <- dp_roster(1:302, rep(c(NA, 2009), c(300, 2)), 2001:2011)
  expect_error(update(fit, holes, index = c("who", "when")), class = "dpsc_error_panel")
  filled <- update(fit, holes, index = c("who", "when"), na = "interpolate", roster = roster,
    again = TRUE)
  expect_identical(filled$release$panel$T1, 3L)
})

test_that("a fit stores the names of its index columns, and update() then needs no `index`", {
  withr::local_seed(4)
  p <- monitor_panel(n = 300, T0 = 8, T1 = 3)
  rows <- rbind(p$donors, p$target)
  long <- data.frame(
    who = rep(seq_len(nrow(rows)), ncol(rows)), when = rep(seq_len(11), each = nrow(rows)),
    y = as.vector(rows)
  )
  long$on <- as.integer(long$who > 300 & long$when > 8)
  fit <- dp_synth(y ~ on, long[long$when <= 9, ], c("who", "when"),
    epsilon = 4, bounds = c(-1, 1), monitor = 2, control = dp_control(rng = "R")
  )
  expect_identical(fit$index, c("who", "when"))
  # With missing columns, an additional unit, or another order of rows, nothing is drawn.
  expect_error(update(fit, stats::setNames(long, c("who", "month", "y", "on"))),
    class = "dpsc_error")
  expect_error(update(fit, rbind(long, transform(long[long$who == 1, ], who = 999))), "same people",
    class = "dpsc_error_monitor")
  expect_error(suppressWarnings(update(fit, long[long$when != 10, ])), "skips",
    class = "dpsc_error_monitor")
  expect_identical(monitor_left(fit), 2L)
  fit <- update(fit, long[long$when <= 10, ][sample(301 * 10), ])
  expect_identical(monitor_left(fit), 1L)
  expect_identical(update(fit, long)$index, c("who", "when"))
  # A fit without stored column names needs `index`.
  fit$index <- NULL
  expect_error(update(fit, long), "index", class = "dpsc_error_argument")
})

test_that("updates of a release from chunks equal updates of a release from a matrix", {
  p <- monitor_panel(n = 300)
  chunks <- function(upto) {
    dp_chunks(list(p$donors[1:100, seq_len(upto)], p$donors[101:300, seq_len(upto)]))
  }
  withr::with_seed(5, {
    fit <- next_period(start_monitor(p), p, by = 2)
  })
  withr::with_seed(5, {
    other <- dp_synth(chunks(11), p$target[1:11], 10, epsilon = 4, bounds = c(-1, 1), monitor = 4,
      control = dp_control(rng = "R"))
    other <- update(other, chunks(13), target = p$target[1:13])
  })
  expect_identical(other$release$statistics$monitor$periods, fit$release$statistics$monitor$periods)
  expect_equal(other$counterfactual, fit$counterfactual)
})

test_that("invalid `monitor` and settings that exclude updates are refused before the charge", {
  p <- monitor_panel(n = 300)
  ledger <- dp_ledger(4, 1e-6)
  refused <- function(...) {
    expect_error(start_monitor(p, rng = "secure", ledger = ledger, ...), class = "dpsc_error")
    expect_identical(nrow(as.data.frame(ledger)), 0L)
  }
  wrong <- list(Inf, 0, -1, 1.5, 1001, NA, "12", c(1, 2), TRUE)
  for (monitor in wrong) {
    expect_error(start_monitor(p, monitor = monitor, ledger = ledger, rng = "secure"),
      class = "dpsc_error_monitor"
    )
  }
  expect_error(start_monitor(p, monitor = Inf), "revised", class = "dpsc_error_monitor")
  refused(method = "output")
  refused(estimator = "did")
  expect_error(start_monitor(p, estimator = "did"), class = "dpsc_error_monitor")
  expect_error(start_monitor(p, epsilon = Inf), class = "dpsc_error_monitor")
  expect_error(start_monitor(p, epsilon = Inf, estimator = "simplex"), class = "dpsc_error_monitor")
  several <- function(...) {
    dp_synth(p$donors, rbind(a = p$target, b = p$target), epsilon = 4, bounds = c(-1, 1),
      monitor = 2, ledger = ledger, ...)
  }
  expect_error(several(T0 = c(10, 12), protect = "donors"), class = "dpsc_error_monitor")
  expect_error(several(T0 = 10, protect = "everyone"), class = "dpsc_error")
  expect_error(check_can_grow(list(
    monitor = 2, private = TRUE, method = "gram", estimator = "ridge"
  ), structure(list(compute = "database"), class = c("dp_table", "dp_source"))), "here",
  class = "dpsc_error_monitor")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("one ledger pays for fits of two dates, each at the epsilon that the error recommends", {
  p <- monitor_panel(n = 300)
  for (delta in c(1e-6, 0)) {
    error <- expect_error(
      dp_synth(p$donors, rbind(p$target, p$target), T0 = c(10, 12), epsilon = 6, delta = delta,
        bounds = c(-1, 1), monitor = 2, protect = "donors"),
      "without the other dates' units", class = "dpsc_error_monitor"
    )
    each <- as.numeric(sub(".*epsilon = ([0-9.]+).*", "\\1", conditionMessage(error)))
    expect_equal(each, if (delta > 0) 4.1 else 3, tolerance = 0.05)
    ledger <- dp_ledger(6, delta)
    one <- function(T0) {
      dp_synth(p$donors[, 1:13], p$target[1:13], T0 = T0, epsilon = each, delta = delta,
        bounds = c(-1, 1), monitor = 2, ledger = ledger)
    }
    fits <- lapply(c(10, 12), one)
    for (fit in fits) {
      grown <- update(fit, p$donors, target = p$target, ledger = ledger)
      expect_identical(monitor_left(grown), 0L)
    }
    expect_error(one(11), class = "dpsc_error_budget")
  }
})

test_that("update() refuses data and arguments that do not continue the fit, at no cost", {
  withr::local_seed(6)
  p <- monitor_panel(n = 300)
  fit <- next_period(start_monitor(p, monitor = 3), p)
  refused <- function(code, class = "dpsc_error_monitor", words = NULL) {
    expect_error(code, words, class = class)
  }
  grow <- function(donors = p$donors[, 1:13], target = p$target[1:13], ...) {
    update(fit, donors, target = target, ...)
  }
  refused(grow(p$donors[, 1:12], p$target[1:12]), words = "no new period")
  refused(grow(p$donors[1:200, 1:13]), words = "same people")
  refused(grow(target = rbind(p$target[1:13], p$target[1:13])), words = "same people")
  refused(grow(target = p$target[1:13] + 0.01), words = "past")
  refused(grow(times = c(1:12, 14)), words = "skips")
  refused(grow(times = 2:14), words = "must begin with")
  refused(grow(p$donors, p$target), words = "2 announced periods are left")
  refused(grow(target = p$target[1:12]), "dpsc_error_panel")
  refused(update(fit, p$donors[, 1:13]), "dpsc_error_argument", "target")
  refused(grow(estimator = "did"), "dpsc_error_argument")
  refused(grow(lambda = 3), "dpsc_error_argument")
  refused(grow(size = 3), "dpsc_error_argument")
  refused(grow(epsilon = 3), "dpsc_error_argument")
  refused(grow(ledger = dp_ledger(1)), words = "not charged to a ledger")
  refused(grow(again = NA), "dpsc_error_argument")
  holes <- p$donors[, 1:13]
  holes[7, 13] <- NA
  refused(grow(holes), "dpsc_error_panel")
  # The period is not lost and can still be drawn.
  expect_identical(monitor_left(grow()), 1L)
  # New periods are estimated by ridge only, and only for the target of the release.
  refused(update(fit, target = fit$target + 0.1))
  refused(update(fit, estimator = "did"))
  refused(update(fit, lambda = 3))
  refused(update(fit, size = 9))
  refused(dp_synth(fit$release, target = fit$target, T0 = 11))
  plain <- dp_synth(p$donors[, 1:11], p$target[1:11], 10, epsilon = 4, bounds = c(-1, 1),
    control = dp_control(rng = "R"))
  refused(update(plain, as.data.frame(p$donors)), words = "monitor = ")
  expect_error(monitor_left(plain), class = "dpsc_error_argument")
  for (what in list(conformal, placebo_time, penalty_path)) {
    expect_error(what(fit), class = "dpsc_error")
  }
  expect_error(pdp(fit, p$donors[, 1:12], p$target[1:12], 10), class = "dpsc_error")
})

test_that("skipped_period() finds the first period after a gap in months or integers", {
  months <- function(...) as.Date(c(...))
  none <- NA_integer_
  expect_identical(skipped_period(months("2020-01-01", "2020-02-01", "2020-03-01"), 2), none)
  expect_identical(skipped_period(months("2020-02-01", "2020-03-01", "2020-04-01"), 2), none)
  expect_identical(skipped_period(months("2020-01-01", "2020-02-01", "2020-04-01"), 2), 3L)
  expect_identical(skipped_period(c(1, 2, 3, 4, 6), 3), 5L)
  expect_identical(skipped_period(letters[1:4], 2), none)
})

test_that("a period is drawn once for all copies of a fit; `again` takes another period's share", {
  withr::local_seed(7)
  p <- monitor_panel(n = 300)
  start <- start_monitor(p, monitor = 2)
  fit <- next_period(start, p)
  expect_error(next_period(start, p), "drawn before", class = "dpsc_error_monitor")
  # A lost draw uses another share of the budget.
  other <- next_period(start, p, again = TRUE)
  expect_identical(monitor_left(other), 0L)
  expect_error(next_period(fit, p), "All 2", class = "dpsc_error_budget")
  # A file records the number of periods drawn before it was written.
  session$monitors[[start$release$statistics$monitor$id]] <- NULL
  expect_error(next_period(other, p), class = "dpsc_error_monitor")
})

test_that("the ledger is charged once for all announced periods and records every draw", {
  p <- monitor_panel(n = 300)
  ledger <- dp_ledger(4, 1e-6)
  start <- start_monitor(p, monitor = 3, rng = "secure", ledger = ledger)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  charged <- as.data.frame(ledger)
  expect_equal(sum(start$release$privacy$steps$mu^2), charged$mu^2, tolerance = 1e-6)
  expect_lte(sum(start$release$privacy$steps$mu^2), charged$mu^2)
  expect_error(next_period(start, p), "ledger", class = "dpsc_error_monitor")
  expect_error(next_period(start, p, ledger = dp_ledger(4, 1e-6)), "did not pay",
    class = "dpsc_error_monitor")
  fit <- next_period(start, p, ledger = ledger)
  expect_identical(as.data.frame(ledger), charged)
  expect_error(next_period(start, p, ledger = ledger), "drawn before", class = "dpsc_error_monitor")
  # A copy of the ledger cannot pay. A ledger that was taken over contains the record of the draws.
  copy <- unserialize(serialize(ledger, NULL))
  expect_error(next_period(fit, p, ledger = copy), class = "dpsc_error_budget")
  taken <- dp_ledger(resume = copy)
  expect_error(next_period(start, p, ledger = taken), "drawn before", class = "dpsc_error_monitor")
  expect_error(next_period(fit, p, ledger = ledger), class = "dpsc_error_budget")
  expect_identical(monitor_left(next_period(fit, p, ledger = taken)), 1L)
  # A request above the remaining budget of the ledger is refused as a whole.
  small <- dp_ledger(1, 1e-6)
  expect_error(start_monitor(p, rng = "secure", ledger = small), class = "dpsc_error_budget")
  expect_null(small$monitors)
})

test_that("a ledger in the option dpsc.ledger pays for a growing release and records its draws", {
  p <- monitor_panel(n = 300)
  ledger <- dp_ledger(4, 1e-6)
  withr::local_options(dpsc.ledger = ledger)
  start <- start_monitor(p, monitor = 3, rng = "secure")
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  fit <- next_period(start, p)
  # The copy of the fit is in another session, which has no record of the draws.
  session$monitors[[start$release$statistics$monitor$id]] <- NULL
  expect_error(next_period(start, p), "drawn before", class = "dpsc_error_monitor")
  expect_error(next_period(fit, p, ledger = dp_ledger(4, 1e-6)), "did not pay",
    class = "dpsc_error_monitor")
  withr::local_options(dpsc.ledger = NULL)
  expect_error(next_period(fit, p), "is required", class = "dpsc_error_monitor")
  expect_identical(monitor_left(next_period(fit, p, ledger = ledger)), 1L)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})

test_that("a growing release read from its file is unchanged and can be updated further", {
  skip_if_not_installed("jsonlite")
  withr::local_seed(8)
  p <- monitor_panel(n = 300)
  path <- withr::local_tempfile(fileext = ".json")
  for (delta in c(1e-6, 0)) {
    fit <- start_monitor(p, monitor = 3, rng = "secure", delta = delta, epsilon = 6)
    for (k in 0:2) {
      write_release(fit$release, path)
      back <- read_release(path)
      expect_identical(back, fit$release)
      again <- dp_synth(back, target = fit$target)
      expect_equal(tidy(again), tidy(fit))
      # A fit read from a file can be extended.
      fit <- next_period(again, p)
      expect_identical(monitor_left(fit), 2L - k)
    }
  }
  doctored <- function(change) {
    release <- fit$release
    release$statistics$monitor <- utils::modifyList(release$statistics$monitor, change)
    release
  }
  expect_null(release_problem(fit$release))
  wrong <- list(
    list(announced = 4L), list(announced = 2L), list(drawn = 1L), list(epsilon = -1),
    list(target = 1:3), list(size = 0), list(id = 5), list(paid = NA), list(periods = 1)
  )
  for (change in wrong) expect_type(release_problem(doctored(change)), "character")
  release <- fit$release
  release$statistics$monitor$periods[[2]]$sd <- release$statistics$monitor$periods[[2]]$sd / 2
  expect_match(release_problem(release), "noise")
  release <- fit$release
  release$privacy$steps$scale <- release$privacy$steps$scale * 2
  expect_type(release_problem(release), "character")
})

test_that("an updated fit, its results and an error contain no donor's values", {
  p <- canary_panel(n = 300, T0 = 6, T1 = 3)
  start <- dp_synth(p$donors[, 1:7], p$target[1:7], 6, epsilon = 8, bounds = p$bounds, monitor = 2)
  fit <- update(start, p$donors, target = p$target)
  objects <- list(
    start = start, fit = fit, tidy = tidy(fit, conf.int = TRUE), summary = summary(fit),
    printed = utils::capture.output(print(fit)), covariance = vcov(fit), state = session$monitors
  )
  for (name in names(objects)) expect_no_canary(objects[[name]], p$secrets, name)
  long <- p$data
  fit <- dp_synth(y ~ on, long[long$time <= 2007, ], c("unit", "time"),
    epsilon = 8, bounds = p$bounds, monitor = 2)
  expect_no_canary(update(fit, long, index = c("unit", "time")), p$secrets, "long")
  # An error contains no secrets either.
  long$y[[3]] <- NA
  seen <- tryCatch(update(fit, long, index = c("unit", "time")), error = identity)
  expect_s3_class(seen, "dpsc_error_panel")
  expect_no_canary(seen, p$secrets, "error")
})
