# Bounds and the scale that they define.

new_bounds <- dpsc:::new_bounds

test_that("bounds are one pair of limits for all periods, or a matrix with one row per period", {
  scale <- new_bounds(c(0, 500), 3)
  expect_identical(unclass(scale), list(
    lower = rep(0, 3), upper = rep(500, 3), centre = rep(250, 3), half = rep(1, 3), unit = 250
  ))
  scale <- new_bounds(cbind(c(0, 10), c(4, 12)), 2)
  expect_identical(unclass(scale), list(
    lower = c(0, 10), upper = c(4, 12), centre = c(2, 11), half = c(1, 0.5), unit = 2
  ))
  expect_identical(new_bounds(c(0L, 500L), 3), new_bounds(c(0, 500), 3))
})

test_that("scaling maps the bounds of outcomes into [-1, 1], and its inverse maps them back", {
  limits <- cbind(c(-3, 0, 1e6), c(5, 1e-3, 1e6 + 7))
  scale <- new_bounds(limits, 3)
  scaled <- dpsc:::to_scale(t(limits), scale)
  expect_lte(max(abs(scaled)), 1)
  expect_equal(max(abs(scaled)), 1)
  expect_equal(dpsc:::from_scale(scaled, scale), t(limits))
  expect_equal(
    dpsc:::from_scale(scaled[, 2:3], scale, 2:3), dpsc:::from_scale(scaled, scale)[, 2:3]
  )
})

test_that("the error for invalid bounds names the fault", {
  problems <- list(
    "interchanged" = c(1, 0), "interchanged" = c(1, 1), "infinite" = c(0, Inf),
    "missing" = c(0, NA), "has length 3" = 1:3, "has length 0" = numeric(),
    "2 x 2" = matrix(1:4, 2), "3 x 3" = matrix(1:9, 3), "class data.frame" = data.frame(0, 1),
    "type character" = c("0", "1"),
    "missing" = c(NA_real_, 1), "too far apart" = c(-1.7e308, 1.7e308)
  )
  for (i in seq_along(problems)) {
    expect_error(new_bounds(problems[[i]], 3), names(problems)[[i]], class = "dpsc_error_bounds")
  }
  expect_error(new_bounds(array(0:1, c(3, 2, 1)), 3), class = "dpsc_error_bounds")
  # The two bounds are so close that their distance is not representable.
  expect_error(new_bounds(c(0, 5e-324), 3), class = "dpsc_error_bounds")
})
