# Gaps in the calendar: periods without a row of any unit.

calendar_panel <- function(times, n = 6) {
  periods <- length(times)
  data <- data.frame(
    id = rep(seq_len(n), periods), when = rep(times, each = n),
    y = rep(seq_len(n), periods) / 10 + rep(seq_len(periods), each = n) / 100
  )
  data$tr <- as.numeric(data$id == 1 & rep(seq_len(periods), each = n) == periods)
  data
}

fit_calendar <- function(times, ...) {
  dp_synth(y ~ tr, calendar_panel(times), c("id", "when"), epsilon = Inf, ...)
}

test_that("a year without rows is no period, and a warning names the years around it", {
  expect_warning(fit <- fit_calendar(c(1990:1993, 1995, 1996)), "between 1993 and 1995",
    class = "dpsc_warning_calendar"
  )
  expect_identical(fit$release$panel$T0, 5L)
  expect_warning(fit_calendar(c(1990, 1991, 1993)), class = "dpsc_warning_calendar")
  expect_warning(
    fit_calendar(c(1:5, 7:9, 11:13, 15:17, 19:30)), "and 1 more", class = "dpsc_warning_calendar"
  )
})

test_that("missing periods are found in dates, in date-times and in years and months as numbers", {
  gap <- function(times) calendar_gaps(times)
  months <- seq(as.Date("2019-10-01"), by = "month", length.out = 8)
  ends <- as.Date(c("2019-11-30", "2019-12-31", "2020-01-31", "2020-02-29", "2020-04-30"))
  expect_identical(gap(months), integer())
  expect_identical(gap(months[-3]), 2L)
  expect_identical(gap(ends), 4L)
  expect_identical(gap(as.POSIXct(format(months[-3]), tz = "America/New_York")), 2L)
  expect_identical(gap(as.Date(c("2001-01-01", "2002-01-01", "2003-01-01", "2005-01-01"))), 3L)
  expect_identical(gap(c(199010, 199011, 199012, 199101, 199103)), 4L)
  expect_identical(gap(c(19901, 19902, 19903, 19904, 19911)), integer())
  expect_identical(gap(structure(2000 + (0:5)[-3] / 12, class = "yearmon")), 2L)
  expect_identical(gap(c(1990, 1995, 2000, 2010)), 3L)
})

test_that("irregular periods, declared periods and periods without a calendar cause no warning", {
  gap <- function(times) calendar_gaps(times)
  expect_identical(gap(c(1990, 1993, 1995, 2000)), integer())
  expect_identical(gap(c(0, 1, 3, 7, 30)), integer())
  expect_identical(gap(c(0.5, 1, 1.5, 2.5)), integer())
  expect_identical(gap(c("1990", "1991", "1993")), integer())
  # Weeks and days written as numbers jump between years.
  expect_identical(gap(c(199050, 199051, 199052, 199101)), integer())
  expect_identical(gap(c(20001230, 20001231, 20010101, 20010102)), integer())
  # These dates are working days.
  days <- as.Date("2024-03-04") + c(0:4, 7:11)
  expect_identical(gap(days), integer())
  expect_identical(gap(days[-3]), 2L)
  expect_no_warning(fit_calendar(factor(c("1990", "1991", "1993", "1994"))))
  declared <- calendar_panel(c(1990, 1991, 1993, 1994))
  roster <- dp_roster(1:6, c(1994, rep(NA, 5)), c(1990, 1991, 1993, 1994))
  expect_no_warning(dp_synth(y ~ tr, declared, c("id", "when"),
    epsilon = Inf, bounds = c(0, 1), na = "interpolate", roster = roster
  ), class = "dpsc_warning_calendar")
})
