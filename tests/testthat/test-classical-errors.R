# Standard errors from placebos.

test_that("placebo standard errors are the standard deviations of the donors' placebo effects", {
  panel <- model_panel(n = 10)
  for (estimator in c("simplex", "sdid", "factor")) {
    settings <- if (estimator == "factor") list(rank = 1) else list()
    fit <- dp_synth(panel$donors,
      target = panel$target, T0 = 9, epsilon = Inf, estimator = estimator,
      control = dp_control(settings = settings)
    )
    expect_true(all(is.na(tidy(fit)$std.error)))
    with_errors <- placebo_errors(fit)
    effects <- sapply(1:10, function(i) {
      hand <- fit_classical(panel$donors[-i, ], panel$donors[i, ], 9, estimator, fit$settings)
      (panel$donors[i, ] - hand$counterfactual)[10:13]
    })
    se <- function(x) sqrt(mean((x - mean(x))^2))
    table <- tidy(with_errors, conf.int = TRUE)
    expect_equal(table$std.error, c(se(colMeans(effects)), apply(effects, 1, se)),
      tolerance = 1e-8
    )
    expect_equal(table$conf.high - table$estimate, stats::qnorm(0.975) * table$std.error,
      tolerance = 1e-8
    )
    expect_equal(unname(confint(with_errors)[, 1]), table$conf.low)
    expect_equal(unname(diag(vcov(with_errors))), table$std.error^2, tolerance = 1e-8)
    expect_identical(table$estimate, tidy(fit)$estimate)
  }
  expect_output(print(with_errors), "standard error .* from 10 placebos")
  expect_output(print(summary(with_errors)), "95 % interval")
  expect_match(report(with_errors)$methods, "interactive fixed effects .*placebo effects")
  expect_match(report(fit)$references, "Xu, Y.", all = FALSE)
  expect_error(confint(fit), "placebo_errors", class = "dpsc_error_argument")
})

test_that("for three treated units placebo standard errors come from groups of three donors", {
  panel <- model_panel(n = 12)
  fit <- dp_synth(panel$donors[-(1:2), ],
    target = rbind(panel$donors[1:2, ], panel$target), T0 = 9, epsilon = Inf, estimator = "sdid"
  )
  found <- withr::with_seed(1, placebo_errors(fit, draws = 3))
  groups <- withr::with_seed(1, lapply(1:3, function(i) sample.int(10, 3)))
  donors <- panel$donors[-(1:2), ]
  average <- sapply(groups, function(g) {
    own <- colMeans(donors[g, ])
    hand <- fit_classical(donors[-g, ], own, 9, "sdid", fit$settings)
    mean((own - hand$counterfactual)[10:13])
  })
  expect_equal(tidy(found)$std.error[1], sqrt(mean((average - mean(average))^2)), tolerance = 1e-8)
})

test_that("95 % intervals from placebo errors cover at least 88 % of exchangeable units", {
  hit <- vapply(1:150, function(seed) {
    panel <- model_panel(n = 20, T0 = 8, T1 = 3, seed = seed)
    fit <- dp_synth(panel$donors, target = panel$target, T0 = 8, epsilon = Inf, estimator = "sdid")
    limits <- confint(placebo_errors(fit))["average", ]
    limits[[1]] <= 0 && limits[[2]] >= 0
  }, NA)
  expect_gte(mean(hit), 0.88)
})

test_that("placebo standard errors require enough donors and a fit without privacy", {
  panel <- model_panel(n = 10)
  fit <- dp_synth(panel$donors[1:2, ],
    target = panel$target, T0 = 9, epsilon = Inf, estimator = "simplex"
  )
  expect_error(placebo_errors(fit), "too few donors", class = "dpsc_error_argument")
  expect_error(placebo_errors(fit, draw = 3), class = "dpsc_error_argument")
  private <- dp_synth(sim_panel(100, 6, 2)$donors,
    target = sim_panel(100, 6, 2)$target, T0 = 6, epsilon = 1, bounds = c(-1, 1)
  )
  expect_error(placebo_errors(private), class = "dpsc_error_private")
})
