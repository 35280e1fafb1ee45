# Plans see no data and agree with what happens.

test_that("a plan has one row a method, in the units of the bounds", {
  plan <- dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = 1)
  expect_s3_class(plan, "dp_plan")
  expect_identical(plan$table$method, c("gram", "output", "objective"))
  expect_identical(plan$table$recommended, c(TRUE, FALSE, FALSE))
  expect_equal(plan$table$error^2, plan$table$privacy^2 + plan$table$floor^2, tolerance = 1e-8)
  scaled <- dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = 1, bounds = c(0, 100))
  expect_equal(scaled$table$error, 50 * plan$table$error)
  expect_output(print(plan), "no data were looked at")
})

test_that("errors fall with donors for gram and rise for output; all fall with epsilon", {
  error <- function(method, n, epsilon) {
    dp_plan(n = n, T0 = 20, T1 = 3, epsilon = epsilon, method = method)$table$error
  }
  expect_lt(error("gram", 10000, 1), error("gram", 1000, 1))
  expect_gt(error("output", 10000, 1), error("output", 1000, 1))
  for (method in c("gram", "output", "objective")) {
    expect_lt(error(method, 300, 4), error(method, 300, 1))
  }
})

test_that("inverse questions are answered by the same formula", {
  plan <- dp_plan(T0 = 10, T1 = 3, epsilon = 1, error = 0.08)
  n <- plan$table$n[[1L]]
  expect_equal(
    dp_plan(n = n, T0 = 10, T1 = 3, epsilon = 1, method = "gram")$table$error, 0.08,
    tolerance = 0.01
  )
  expect_true(all(is.na(plan$table$n[-1L])))
  plan <- dp_plan(T0 = 10, T1 = 3, n = 1000, error = 0.08)
  epsilon <- plan$table$epsilon[[1L]]
  expect_equal(
    dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = epsilon, method = "gram")$table$error, 0.08,
    tolerance = 0.01
  )
  impossible <- dp_plan(T0 = 10, T1 = 3, epsilon = 1, error = 1e-9)
  expect_true(all(is.na(impossible$table$n)))
  expect_output(print(impossible), "cannot reach")
})

test_that("the plan agrees with simulation", {
  # Away from the table's knots. 80 runs know a root mean square to about 15 %; the full comparison,
  # within 25 % over the whole grid, is bench/plan.R.
  withr::local_seed(1)
  error <- sqrt(mean(replicate(80, {
    panel <- sim_panel(600, 20, 3)
    fit <- dp_synth(panel$donors,
      target = panel$target, T0 = 20, epsilon = 2, bounds = c(-1, 1),
      control = dp_control(rng = "R")
    )
    mean((predict(fit)[1, ] - panel$counterfactual[21:23])^2)
  })))
  planned <- dp_plan(n = 600, T0 = 20, T1 = 3, epsilon = 2, method = "gram")$table$error
  expect_lt(abs(log(planned / error)), log(1.6))
  output <- sqrt(mean(replicate(40, {
    panel <- sim_panel(100, 10, 3)
    fit <- dp_synth(panel$donors,
      target = panel$target, T0 = 10, epsilon = 4, bounds = c(-1, 1), method = "output",
      control = dp_control(rng = "R")
    )
    mean((predict(fit)[1, ] - panel$counterfactual[11:13])^2)
  })))
  planned <- dp_plan(n = 100, T0 = 10, T1 = 3, epsilon = 4, method = "output")$table$error
  expect_lt(abs(log(planned / output)), log(1.6))
})

test_that("bad questions are refused", {
  for (bad in list(
    list(T0 = 10), list(T0 = 10, n = 100), list(T0 = 10, n = 100, epsilon = 1, error = 1),
    list(T0 = 10, error = 1), list(n = 100, epsilon = 1), list(T0 = 1, n = 100, epsilon = 1),
    list(T0 = 10, n = 100, epsilon = -1), list(T0 = 10, n = 100, epsilon = Inf),
    list(T0 = 10, n = 1, epsilon = 1), list(T0 = 10, n = 100, epsilon = 1, method = "x"),
    list(T0 = 10, n = 100, epsilon = 1, bounds = c(1, 0))
  )) {
    expect_error(do.call(dp_plan, bad), class = "dpsc_error")
  }
})

test_that("a plan can be drawn", {
  skip_if_not_installed("ggplot2")
  plan <- dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = 1)
  picture <- ggplot2::autoplot(plan)
  # What is drawn at the plan's own n and epsilon is what its table says, in both panels.
  lines <- picture$data
  at <- lines$method == "gram" & (abs(lines$against - 1000) < 1e-6 | abs(lines$against - 1) < 1e-9)
  expect_equal(lines$error[at], rep(plan$table$error[[1L]], 2))
  # One line a method and panel, on log axes.
  drawn <- ggplot2::ggplot_build(picture)$data[[2L]]
  expect_identical(nrow(unique(drawn[c("PANEL", "group")])), 6L)
  expect_equal(sort(drawn$y), sort(log10(lines$error)))
})
