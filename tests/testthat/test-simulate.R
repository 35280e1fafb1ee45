# Simulated panels.

test_that("simulated panels have the requested sizes and lie within their bounds", {
  for (design in c("factor", "linear")) {
    withr::local_seed(1)
    panel <- sim_panel(50, T0 = 7, T1 = 3, design = design)
    expect_s3_class(panel, "sim_panel")
    expect_identical(dim(panel$donors), c(50L, 10L))
    expect_length(panel$target, 10)
    expect_length(panel$counterfactual, 10)
    expect_identical(panel$effect, numeric(3))
    expect_lte(max(abs(panel$donors)), 1)
    expect_lte(max(abs(panel$target)), 1)
  }
  withr::local_seed(1)
  panel <- sim_panel(1, T0 = 1, T1 = 1, factors = 0)
  expect_identical(dim(panel$donors), c(1L, 2L))
})

test_that("the simulated effect is added only to the target after the treatment", {
  draw <- function(effect) withr::with_seed(2, sim_panel(20, 5, 3, effect = effect))
  without <- draw(0)
  with <- draw(c(0.1, 0.2, 0.3))
  expect_identical(with$donors, without$donors)
  expect_identical(with$counterfactual, without$counterfactual)
  expect_equal(with$target - without$target, c(rep(0, 5), 0.1, 0.2, 0.3))
  expect_identical(draw(0.2)$effect, rep(0.2, 3))
})

test_that("sim_panel() gives the same panel for the same seed", {
  draw <- function() withr::with_seed(3, sim_panel(20, 5))
  expect_identical(draw(), draw())
  expect_false(identical(sim_panel(20, 5)$donors, sim_panel(20, 5)$donors))
})

test_that("panels of the factor design have the requested standard deviations", {
  withr::local_seed(4)
  only <- function(...) {
    arguments <- list(
      n = 4000, T0 = 30, factors = 0, loading_sd = 0, unit_sd = 0, time_sd = 0, noise_sd = 0
    )
    given <- list(...)
    arguments[names(given)] <- given
    do.call(sim_panel, arguments)$donors
  }
  expect_identical(range(only()), c(0, 0))
  expect_equal(sd(only(noise_sd = 0.1)), 0.1, tolerance = 0.02)
  expect_equal(sd(only(unit_sd = 0.1)[, 1]), 0.1, tolerance = 0.05)
  factor <- only(factors = 1, loading_sd = 0.1, T0 = 3000, n = 400)
  expect_equal(var(c(factor)), 0.01, tolerance = 0.3)
  time <- only(time_sd = 0.1, T0 = 20000, n = 2)
  expect_identical(time[1, ], time[2, ])
  expect_equal(sd(time[1, ]), 0.1, tolerance = 0.1)
  expect_equal(cor(time[1, -1], time[1, -20003]), 0.8, tolerance = 0.03)
})

test_that("simulated long data and the simulated matrix contain the same panel", {
  withr::local_seed(5)
  panel <- sim_panel(15, 5, 2, effect = 0.2)
  data <- as.data.frame(panel)
  expect_identical(dim(data), c(112L, 4L))
  expect_named(data, c("unit", "time", "outcome", "treated"))
  expect_identical(sum(data$treated), 2L)
  long <- dp_synth(outcome ~ treated, data, c("unit", "time"), Inf)
  wide <- dp_synth(panel$donors, target = panel$target, T0 = 5, epsilon = Inf)
  expect_equal(unname(predict(long, "all")), unname(predict(wide, "all")))
})

test_that("sim_panel() refuses invalid arguments", {
  refused <- function(...) expect_error(sim_panel(...), class = "dpsc_error_argument")
  for (bad in list(0, -1, 1.5, NA, "5", Inf, c(1, 2))) {
    refused(bad, 5)
    refused(5, bad)
    refused(5, 5, bad)
  }
  for (bad in list(c(1, 2), NA, Inf, "1", numeric())) refused(5, 5, 3, effect = bad)
  refused(5, 5, design = "iid")
  refused(5, 5, persistence = 1)
  refused(5, 5, noise_sd = -1)
  refused(5, 5, factors = 1.5)
})

test_that("print() of a simulated panel gives the design and the sizes", {
  withr::local_seed(6)
  panel <- sim_panel(1500, 5, 2, effect = 0.2)
  expect_output(
    print(panel),
    "\"factor\": 1500 donors, 5 periods before the treatment, 2 from the treatment on"
  )
})

test_that("clinic_panel contains the documented columns; its estimated effect is -14 to -2 mmHg", {
  expect_gte(length(unique(clinic_panel$patient)), 1001)
  expect_identical(nrow(clinic_panel), 24L * length(unique(clinic_panel$patient)))
  expect_named(clinic_panel, c("patient", "month", "pressure", "enrolled"))
  expect_s3_class(clinic_panel$month, "Date")
  expect_setequal(clinic_panel$patient[clinic_panel$enrolled == 1], "programme")
  expect_equal(sum(clinic_panel$enrolled), 6)
  expect_true(all(clinic_panel$pressure > 80 & clinic_panel$pressure < 220))
  withr::local_seed(7)
  fit <- dp_synth(pressure ~ enrolled, clinic_panel, c("patient", "month"),
    epsilon = 1, bounds = c(80, 200), control = dp_control(rng = "R")
  )
  # The programme lowers blood pressure by several mmHg, so the effect is negative.
  expect_lt(mean(effects(fit)), -2)
  expect_gt(mean(effects(fit)), -14)
})
