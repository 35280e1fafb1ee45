# The settings of a fit.

test_that("dp_control() defaults to secure noise and intervals; unset numbers are NULL", {
  control <- dp_control()
  expect_s3_class(control, "dp_control")
  expect_identical(control$rng, "secure")
  expect_false(control$donor_names)
  expect_true(control$intervals)
  expect_true(control$target_round)
  others <- setdiff(names(control), c("rng", "donor_names", "intervals", "target_round"))
  expect_true(all(lengths(unclass(control)[others]) == 0L))
})

test_that("dp_control() stores numeric settings as doubles", {
  control <- dp_control(rng = "R", lambda = 3L, split = 0.5, cap = 0.1, curvature = 2)
  expect_identical(control$lambda, 3)
  expect_identical(unclass(control)[c("split", "cap", "curvature")],
    list(split = 0.5, cap = 0.1, curvature = 2)
  )
})

test_that("dp_control() refuses invalid settings", {
  refused <- function(...) expect_error(dp_control(...), class = "dpsc_error_argument")
  for (bad in list(0, -1, NA, Inf, "1", c(1, 2), TRUE)) {
    refused(lambda = bad)
    refused(cap = bad)
    refused(curvature = bad)
  }
  for (bad in list(0, 1, -1, NA, "0.5", c(0.1, 0.2))) refused(split = bad)
  for (bad in list("r", NA_character_, 1, NULL, "/dev/random", c("R", "secure"))) refused(rng = bad)
  for (bad in list(NA, 1, "yes", NULL, c(TRUE, TRUE))) {
    refused(donor_names = bad)
    refused(intervals = bad)
  }
  # The settings cannot contain a seed.
  expect_error(dp_control(seed = 1))
})

test_that("print() of a dp_control() shows every setting", {
  text <- utils::capture.output(out <- withVisible(print(dp_control(lambda = 2.5))))
  expect_false(out$visible)
  for (name in names(dp_control())) expect_match(text, name, all = FALSE, fixed = TRUE)
  expect_match(text, "2.5", all = FALSE, fixed = TRUE)
})

test_that("without intervals the moments get the budget share meant for calibration", {
  panel <- sim_panel(n = 800, T0 = 8, T1 = 2)
  fit <- function(intervals, size = 1) {
    dp_synth(panel$donors,
      target = panel$target, T0 = 8, epsilon = 1, bounds = c(-1, 1), size = size,
      control = dp_control(intervals = intervals)
    )
  }
  for (size in c(1, 50)) {
    with <- fit(TRUE, size)$release$privacy$steps
    without <- fit(FALSE, size)$release$privacy$steps
    expect_true(any(grepl("placebo", with$step)))
    expect_false(any(grepl("placebo", without$step)))
    # The total is the same and is spent completely.
    expect_equal(sum(without$mu^2), sum(with$mu^2), tolerance = 1e-6)
    noise <- function(steps) steps$mu[grepl("moments", steps$step)]
    expect_true(all(noise(without) > noise(with)))
  }
})

test_that("a fit without intervals states that no intervals were requested", {
  panel <- sim_panel(n = 800, T0 = 8, T1 = 2)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = 8, epsilon = 1, bounds = c(-1, 1),
    control = dp_control(intervals = FALSE)
  )
  expect_true(all(is.na(confint(fit))))
  expect_true(all(is.na(tidy(fit)$std.error)))
  expect_false(anyNA(tidy(fit)$privacy.se))
  text <- paste(utils::capture.output(print(fit)), collapse = " ")
  expect_match(text,
    "no interval: the release was made without intervals, by dp_control(intervals = FALSE)",
    fixed = TRUE
  )
})

test_that("the print names too few donors or too many people as the reason for no interval", {
  panel <- sim_panel(n = 300, T0 = 8, T1 = 2)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = 8, epsilon = 1, bounds = c(-1, 1), size = 50
  )
  reason <- function(fit) paste(utils::capture.output(print(fit)), collapse = " ")
  expect_match(reason(fit), "300 donors at epsilon = 1 cannot calibrate an interval")
  one <- dp_synth(fit$release, target = panel$target)
  expect_match(reason(one), "the mean of so many people that its donors cannot calibrate an")
})

test_that("a dp_control() setting that the method does not use causes an error at no cost", {
  panel <- sim_panel(60, 6, 2)
  given <- list(
    gram = list(cap = 0.1), gram = list(split = 0.5), gram = list(curvature = 1),
    gram = list(settings = list(rank = 2)), output = list(features = 2), output = list(cap = 0.1),
    output = list(intervals = FALSE), objective = list(features = Inf)
  )
  for (i in seq_along(given)) {
    ledger <- dp_ledger(2, 1e-6)
    error <- expect_error(
      dp_release(panel$donors,
        target = panel$target, T0 = 6, epsilon = 1, bounds = c(-1, 1), ledger = ledger,
        method = names(given)[[i]], control = do.call(dp_control, given[[i]])
      ),
      class = "dpsc_error_argument"
    )
    expect_match(conditionMessage(error), names(given[[i]]), fixed = TRUE)
    expect_identical(nrow(as.data.frame(ledger)), 0L)
  }
  # Every setting of dp_control() belongs to some method, to all methods, or to the estimators on
  # raw data.
  known <- unlist(lapply(mechanism_table$dp_synth, `[[`, "options"))
  expect_setequal(c(known, "rng", "donor_names", "settings"), names(formals(dp_control)))
})
