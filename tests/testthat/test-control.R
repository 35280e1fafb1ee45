# The settings of a fit.

test_that("defaults are private and leave the rest to public rules", {
  control <- dp_control()
  expect_s3_class(control, "dp_control")
  expect_identical(control$rng, "secure")
  expect_false(control$donor_names)
  others <- setdiff(names(control), c("rng", "donor_names"))
  expect_true(all(lengths(unclass(control)[others]) == 0L))
})

test_that("settings are kept as numbers", {
  control <- dp_control(rng = "R", lambda = 3L, split = 0.5, cap = 0.1, curvature = 2)
  expect_identical(control$lambda, 3)
  expect_identical(unclass(control)[c("split", "cap", "curvature")],
    list(split = 0.5, cap = 0.1, curvature = 2)
  )
})

test_that("bad settings are refused", {
  refused <- function(...) expect_error(dp_control(...), class = "dpsc_error_argument")
  for (bad in list(0, -1, NA, Inf, "1", c(1, 2), TRUE)) {
    refused(lambda = bad)
    refused(cap = bad)
    refused(curvature = bad)
  }
  for (bad in list(0, 1, -1, NA, "0.5", c(0.1, 0.2))) refused(split = bad)
  for (bad in list("r", NA_character_, 1, NULL, "/dev/random", c("R", "secure"))) refused(rng = bad)
  for (bad in list(NA, 1, "yes", NULL, c(TRUE, TRUE))) refused(donor_names = bad)
  # No seed can be stored.
  expect_error(dp_control(seed = 1))
})

test_that("print() shows every setting", {
  text <- utils::capture.output(out <- withVisible(print(dp_control(lambda = 2.5))))
  expect_false(out$visible)
  for (name in names(dp_control())) expect_match(text, name, all = FALSE, fixed = TRUE)
  expect_match(text, "2.5", all = FALSE, fixed = TRUE)
})
