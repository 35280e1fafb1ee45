# Covariates of the estimators on raw data, given in the formula: gaps, several dates, several
# outcomes, and inference. test-classical-covariates.R defines the panels.

test_that("regressors of a classical fit can vary by period or have one value per unit", {
  panel <- regressor_panel()
  data <- regressor_data(panel)
  data$kind <- c("b", "a", "c")[match(data$unit, rownames(panel$all)) %% 3 + 1]
  for (estimator in c("sdid", "factor", "mcnnm")) {
    settings <- switch(estimator,
      sdid = list(), factor = list(rank = 1), mcnnm = list(lambda = 0.03)
    )
    fit <- do.call(fit_formula, c(
      list(y ~ on | price + I(2 * rain) + age, data, estimator), settings
    ))
    given <- list(
      covariates = panel$covariates, predictors = panel$predictors
    )
    given$covariates$donors[, , 2] <- 2 * given$covariates$donors[, , 2]
    given$covariates$target[, 2] <- 2 * given$covariates$target[, 2]
    hand <- fit_classical(panel$donors, panel$target, 9, estimator, c(settings, given))
    expect_equal(unname(fit$counterfactual[1, ]), unname(hand$counterfactual), tolerance = 1e-9)
    expect_named(fit$slopes, c("price", "I(2 * rain)"))
    table <- summary(fit)$balance
    expect_identical(rownames(table), c("age", "price", "I(2 * rain)"))
    expect_equal(table$target, c(
      panel$z[13, 1], mean(panel$x[13, 1:9, 1]), 2 * mean(panel$x[13, 1:9, 2])
    ), ignore_attr = TRUE)
    expect_equal(table$`donors' mean`[[2]], mean(panel$x[1:12, 1:9, 1]))
    expect_equal(table$synthetic[[1]], unname(drop(fit$weights %*% panel$predictors$donors)))
    expect_equal(table$coefficient, c(NA, unname(fit$slopes)))
    expect_output(print(summary(fit)), "coefficient")
    # Levels are compared with the first level; a mean over some periods is one value per unit.
    fit <- do.call(fit_formula, c(
      list(y ~ on | kind + over(price, 2:4), data, estimator), settings
    ))
    expect_identical(
      colnames(fit$settings$predictors$donors), c("over(price, 2:4)", "kindb", "kindc")
    )
    expect_equal(
      unname(fit$settings$predictors$donors[, 1]), rowMeans(panel$x[1:12, 2:4, 1]),
      ignore_attr = TRUE
    )
    expect_null(fit$settings$covariates)
  }
})

test_that("a regressor with one value per unit has a separate slope in every period", {
  panel <- regressor_panel(slopes = c(0, 0), drift = 0, n = 25, seed = 3)
  data <- regressor_data(panel)
  # The mean of the donors is subtracted. A common change is not due to a covariate, but the penalty
  # of sdid depends on it.
  age <- data$age - mean(panel$predictors$donors)
  data$moved <- data$y + age * cumsum(sin(1:13))[data$time]
  for (estimator in c("sdid", "factor", "mcnnm")) {
    settings <- switch(estimator,
      sdid = list(), factor = list(rank = 1), mcnnm = list(lambda = 0.03)
    )
    run <- function(formula) {
      mean(effects(do.call(fit_formula, c(list(formula, data, estimator), settings))))
    }
    expect_equal(run(moved ~ on | age), run(y ~ on | age), tolerance = 1e-6)
    expect_gt(abs(run(moved ~ on) - run(y ~ on | age)), 1e-3)
  }
})

test_that("placebos, placebo dates and conformal tests are refitted with the covariates", {
  panel <- regressor_panel(seed = 6)
  data <- regressor_data(panel)
  given <- list(covariates = panel$covariates, predictors = panel$predictors)
  without <- function(i) {
    list(
      covariates = list(
        donors = panel$covariates$donors[-i, , ], target = panel$covariates$donors[i, , ]
      ),
      predictors = list(
        donors = panel$predictors$donors[-i, , drop = FALSE], target = panel$predictors$donors[i, ]
      )
    )
  }
  for (estimator in c("sdid", "factor", "mcnnm")) {
    settings <- switch(estimator,
      sdid = list(zeta = 1, zeta_periods = 0.1), factor = list(rank = 1),
      mcnnm = list(lambda = 0.03)
    )
    fit <- do.call(fit_formula, c(list(y ~ on | price + rain + age, data, estimator), settings))
    space <- placebo_space(fit)
    hand <- fit_classical(panel$donors[-4, ], panel$donors[4, ], 9, estimator,
      c(settings, without(4))
    )
    expect_equal(
      unname(space$gaps[5, ]), unname(panel$donors[4, ] - hand$counterfactual), tolerance = 1e-6
    )
    gaps <- space$gaps[-1, 10:13]
    expect_equal(
      tidy(placebo_errors(fit))$std.error[[1]],
      sqrt(mean((rowMeans(gaps) - mean(gaps))^2)), tolerance = 1e-6
    )
    one <- leave_one_out(fit)
    left <- match(one$table$donor[[1]], letters)
    again <- without(left)
    again$covariates$target <- panel$covariates$target
    again$predictors$target <- panel$predictors$target
    hand <- fit_classical(panel$donors[-left, ], panel$target, 9, estimator, c(settings, again))
    expect_equal(unname(one$paths[1, ]), unname(hand$counterfactual), tolerance = 1e-6)
    dates <- placebo_time_classical(fit, 7)
    early <- list(
      covariates = list(
        donors = panel$covariates$donors[, 1:9, ], target = panel$covariates$target[1:9, ]
      ),
      predictors = panel$predictors
    )
    hand <- fit_classical(panel$donors[, 1:9], panel$target[1:9], 6, estimator, c(settings, early))
    expect_equal(dates$effect, mean((panel$target[1:9] - hand$counterfactual)[7:9]),
      tolerance = 1e-6
    )
    if (estimator == "sdid") {
      expect_error(conformal(fit), "periods in the same way", class = "dpsc_error_argument")
      next
    }
    # Under the null hypothesis all periods are fitted, and the residuals do not depend on the order
    # of the periods.
    parts <- raw_parts(fit)
    engine <- conformal_engine_classical(fit)
    null <- matrix(0, 1, 13)
    all <- fit_classical(panel$donors, panel$target, 13, estimator, c(settings, given))
    expect_equal(drop(engine(null, 1:13)), unname(panel$target - all$counterfactual),
      tolerance = 1e-6
    )
    order <- c(13, 2:12, 1)
    expect_equal(drop(engine(null, order)), drop(engine(null, 1:13))[order], tolerance = 1e-5)
    expect_s3_class(conformal(fit, level = 0.8), "dp_conformal")
    # A mean over some periods changes with the order of the periods.
    windowed <- do.call(fit_formula, c(list(y ~ on | over(age, 2:3), data, estimator), settings))
    expect_error(conformal(windowed), "depend on the date of the treatment",
      class = "dpsc_error_argument"
    )
  }
})

test_that("simplex estimators, their placebos and conformal tests use predictors in formulas", {
  panel <- regressor_panel(seed = 7)
  data <- regressor_data(panel)
  given <- list(predictors = panel$predictors)
  for (estimator in c("simplex", "demeaned", "penalised", "augmented")) {
    settings <- if (estimator %in% c("penalised", "augmented")) list(lambda = 0.2)
    fit <- do.call(fit_formula, c(list(y ~ on | age, data, estimator), settings))
    hand <- fit_classical(panel$donors, panel$target, 9, estimator, c(settings, given))
    expect_equal(unname(fit$weights), unname(hand$weights), tolerance = 1e-9)
    expect_identical(rownames(summary(fit)$balance), "age")
    space <- placebo_space(fit)
    own <- list(predictors = list(
      donors = panel$predictors$donors[-4, , drop = FALSE], target = panel$predictors$donors[4, ]
    ))
    hand <- fit_classical(panel$donors[-4, ], panel$donors[4, ], 9, estimator, c(settings, own))
    expect_equal(
      unname(space$gaps[5, ]), unname(panel$donors[4, ] - hand$counterfactual), tolerance = 1e-8
    )
    engine <- conformal_engine_classical(fit)
    all <- fit_classical(panel$donors, panel$target, 13, estimator, c(settings, given))
    expect_equal(drop(engine(matrix(0, 1, 13), 1:13)), unname(panel$target - all$counterfactual),
      tolerance = 1e-8
    )
    # A mean over the periods before the treatment depends on the set of these periods.
    changing <- do.call(fit_formula, c(list(y ~ on | price, data, estimator), settings))
    expect_error(conformal(changing), "depend on the date of the treatment",
      class = "dpsc_error_argument"
    )
  }
  heavy <- fit_formula(y ~ on | age + price, data, "simplex", v = c(age = 100, price = 0))
  expect_equal(summary(heavy)$balance$V, c(100, 0))
})

test_that("placebos of several treated units are groups of donors with their covariates", {
  panel <- regressor_panel(n = 11, seed = 13)
  data <- regressor_data(panel)
  data$on <- as.integer(data$unit %in% c("unit", "a") & data$time > 9)
  settings <- list(zeta = 1, zeta_periods = 0.1)
  fit <- do.call(fit_formula, c(list(y ~ on | price + age, data, "sdid"), settings))
  group <- c(1, 12)
  mean_of <- function(i) {
    list(
      covariates = list(
        donors = panel$x[-c(group, i), , 1], target = colMeans(panel$x[i, , 1, drop = FALSE])
      ),
      predictors = list(
        donors = panel$z[-c(group, i), , drop = FALSE], target = mean(panel$z[i, 1])
      ), treated = 2
    )
  }
  hand <- fit_classical(panel$all[-group, ], colMeans(panel$all[group, ]), 9, "sdid",
    c(settings, mean_of(group))
  )
  expect_equal(unname(fit$counterfactual[1, ]), unname(hand$counterfactual), tolerance = 1e-9)
  withr::local_seed(5)
  several <- placebo_errors(fit, draws = 3)
  withr::local_seed(5)
  effect <- vapply(1:3, function(draw) {
    own <- 1 + sample.int(10, 2)
    fit <- fit_classical(panel$all[-c(group, own), ], colMeans(panel$all[own, ]), 9, "sdid",
      c(settings, mean_of(own))
    )
    mean((colMeans(panel$all[own, ]) - fit$counterfactual)[10:13])
  }, 0)
  expect_equal(tidy(several)$std.error[[1]], sqrt(mean((effect - mean(effect))^2)),
    tolerance = 1e-6
  )
})

# The covariate fit for several dates, gaps and outcomes equals the combination of the simple fits.
test_that("classical fits with covariates to several dates, outcomes or gaps equal separate fits", {
  panel <- regressor_panel(n = 14, T0 = 9, T1 = 4, seed = 12)
  data <- regressor_data(panel)
  units <- rownames(panel$all)
  treated <- c("unit", "a", "b")
  first <- c(unit = 10, a = 10, b = 8)
  data$on <- as.integer(data$unit %in% treated & data$time >= first[data$unit])
  data$z <- data$y / 2 + data$price
  donors <- setdiff(units, treated)
  settings <- list(
    sdid = list(zeta = 1, zeta_periods = 0.1), factor = list(rank = 1),
    mcnnm = list(lambda = 0.03), simplex = list(), penalised = list(lambda = 0.1)
  )
  roster <- dp_roster(c(donors, treated), c(rep(NA, length(donors)), first[treated]), 1:13)
  for (estimator in names(settings)) {
    run <- function(formula, data, ...) {
      dp_synth(formula, data, c("unit", "time"), epsilon = Inf, estimator = estimator,
        control = dp_control(settings = settings[[estimator]]), ...
      )
    }
    several <- run(y ~ on | price + age, data)
    for (from in c(8, 10)) {
      cohort <- names(first)[first == from]
      own <- run(y ~ on | price + age, data[data$unit %in% c(donors, cohort), ])
      known <- estimator %in% c("simplex", "penalised")
      # Predictors are means over the periods before the first adoption, for all units.
      if (!known || from == 8) {
        expect_equal(
          unname(effects(several$cohorts[[as.character(from)]])[1, ]), unname(effects(own)[1, ]),
          tolerance = 1e-6
        )
      }
    }
    expect_false(anyNA(tidy(several)$estimate))
    both <- run(cbind(y, z) ~ on | price + age, data)
    expect_equal(tidy(both$outcomes$y)$estimate, tidy(several)$estimate, tolerance = 1e-8)
    # Gaps in outcomes and covariates are filled row by row; rows of other units are omitted.
    holes <- data
    gone <- holes$unit == "c" & holes$time == 5
    holes$y[gone] <- holes$price[gone] <- NA
    stranger <- holes[holes$unit == "d", ]
    stranger$unit <- "stranger"
    holes <- rbind(holes[!(holes$unit == "d" & holes$time == 3), ], stranger)
    filled <- data
    for (who in c("c", "d")) {
      at <- if (who == "c") 5 else 3
      for (column in c("y", "price")) {
        value <- function(t) filled[[column]][filled$unit == who & filled$time == t]
        gap <- filled$unit == who & filled$time == at
        filled[[column]][gap] <- mean(c(value(at - 1), value(at + 1)))
      }
    }
    gaps <- run(y ~ on | price + age, holes, na = "interpolate", roster = roster)
    whole <- run(y ~ on | price + age, filled)
    tolerance <- if (estimator %in% c("simplex", "penalised")) 0.1 else 1e-8
    expect_equal(tidy(gaps)$estimate, tidy(whole)$estimate, tolerance = tolerance)
  }
})

test_that("unusable covariates of classical fits raise errors that name the fault", {
  panel <- regressor_panel()
  data <- regressor_data(panel)
  data$season <- data$time^2
  data$twice <- 2 * data$price + data$time
  data$level <- ifelse(data$unit == "unit", 1, 0)
  data$same <- data$age * 2 + 1
  data$when <- as.Date("2020-01-01")
  refuse <- function(formula, message, class = "dpsc_error_covariate", ...) {
    for (estimator in c("sdid", "factor", "mcnnm")) {
      expect_error(fit_formula(formula, data, estimator, ...), message, class = class)
    }
  }
  refuse(y ~ on | price + twice, "twice.* is determined by effects")
  refuse(y ~ on | season, "season.* is determined by effects")
  # Only the target has this level, so the donors do not identify its effect.
  refuse(y ~ on | level, "level.* is determined by effects")
  refuse(y ~ on | age + same, "same.* is determined by effects")
  refuse(y ~ on | when, "Date", "dpsc_error_panel")
  refuse(y ~ on | nothing, "nothing", "dpsc_error_panel")
  refuse(y ~ on | over(price, 11:12), "before the treatment", "dpsc_error_panel")
  refuse(y ~ on | price, "both contain", "dpsc_error_argument", predictors = panel$predictors)
  data$price[data$unit == "c" & data$time == 12] <- NA
  refuse(y ~ on | price, "is missing for 1 pair of unit and period")
  data$price[data$unit == "c"] <- NA
  roster <- dp_roster(rownames(panel$all), c(rep(NA, 12), 10), 1:13)
  expect_error(
    dp_synth(y ~ on | price, data, c("unit", "time"), epsilon = Inf, estimator = "factor",
      na = "interpolate", roster = roster
    ), "missing in all periods of some unit", class = "dpsc_error_covariate"
  )
  expect_error(fit_formula(y ~ on | price, data, "simplex"), "missing for 1 unit",
    class = "dpsc_error_panel"
  )
  # The data are matrices.
  run <- function(...) fit_classical(panel$donors, panel$target, 9, "sdid", list(...))
  expect_error(run(covariates = 1), "wrong form", class = "dpsc_error_argument")
  short <- list(donors = panel$covariates$donors[, -1, ], target = panel$covariates$target[-1, ])
  expect_error(run(covariates = short), "wrong form", class = "dpsc_error_argument")
  lost <- panel$covariates
  lost$donors[2, 3, 1] <- NA
  expect_error(run(covariates = lost), "finite", class = "dpsc_error_covariate")
  still <- list(
    donors = matrix(rep(panel$z[1:12, 1], 13), 12), target = rep(panel$z[13, 1], 13)
  )
  expect_error(run(covariates = still), "predictors", class = "dpsc_error_covariate")
  expect_error(fit_classical(panel$donors, panel$target, 9, "simplex", list(v = 1)), "no pred",
    class = "dpsc_error_argument"
  )
})

test_that("a factor level of a single donor does not stop fits that leave this donor out", {
  panel <- regressor_panel()
  data <- regressor_data(panel)
  data$coast <- ifelse(data$unit == "c", "yes", "no")
  for (estimator in c("sdid", "factor", "mcnnm")) {
    settings <- switch(estimator,
      sdid = list(), factor = list(rank = 1), mcnnm = list(lambda = 0.03)
    )
    fit <- do.call(fit_formula, c(list(y ~ on | coast + price, data, estimator), settings))
    space <- placebo_space(fit)
    expect_false(anyNA(space$gaps))
    # Without that donor no donor has the level, so the fit equals the fit without the level.
    own <- list(
      donors = panel$covariates$donors[-3, , 1], target = panel$covariates$donors[3, , 1]
    )
    settings <- if (estimator == "sdid") fit$settings[c("zeta", "zeta_periods")] else settings
    hand <- fit_classical(panel$donors[-3, ], panel$donors[3, ], 9, estimator,
      c(settings, list(covariates = own))
    )
    expect_equal(unname(space$gaps[4, ]), unname(panel$donors[3, ] - hand$counterfactual),
      tolerance = 1e-6
    )
  }
})

test_that("update() keeps covariates or refuses a change; print() and report() name covariates", {
  panel <- regressor_panel()
  fit <- fit_formula(y ~ on | price + age, regressor_data(panel), "factor", rank = 1)
  again <- update(fit, target = fit$target)
  expect_equal(again$counterfactual, fit$counterfactual)
  expect_equal(again$slopes, fit$slopes)
  # The covariates of another target are unknown, and another estimator may use covariates
  # differently.
  expect_error(update(fit, target = fit$target + 1), "covariates", class = "dpsc_error_argument")
  expect_error(update(fit, estimator = "sdid"), "covariates", class = "dpsc_error_argument")
  expect_output(print(fit), "covariates: age, price \\(1")
  expect_match(paste(format(report(fit)), collapse = " "), "with the covariates age, price")
})

test_that("Proposition 99 with prices gives the results of gsynth, and of synthdid on residuals", {
  smoking <- california()$data
  smoking$treated <- as.integer(smoking$state == "California" & smoking$year >= 1989)
  run <- function(estimator, ...) {
    dp_synth(cigsale ~ treated | retprice, smoking, c("state", "year"),
      epsilon = Inf, estimator = estimator, control = dp_control(settings = list(...))
    )
  }
  # Values of gsynth 1.2.1, force = "two-way", tol = 1e-10.
  att <- c(-14.748219001, -4.55143062919, -5.28552886424, -6.56071989952, 4.17937070591)
  slope <- c(-0.500123108981, -0.440033707306, -0.442904209509, -0.422158791432, -0.269285751304)
  for (r in 0:4) {
    fit <- run("factor", rank = r)
    expect_equal(mean(effects(fit)), att[[r + 1]], tolerance = 1e-5)
    expect_equal(fit$slopes[["retprice"]], slope[[r + 1]], tolerance = 1e-5)
  }
  path <- run("factor")$settings$path
  expect_equal(path$error, c(57.68676, 20.91823, 9.45907, 9.46689, 5.33796, 5.42844),
    tolerance = 1e-5
  )
  # Values of lm() with effects of states and years, then of synthdid 0.0.9. It reaches -2.33707
  # after 300,000 steps, with objectives slightly above the minimum.
  fit <- run("sdid")
  expect_equal(fit$slopes[["retprice"]], -0.49951937336, tolerance = 1e-9)
  expect_equal(mean(effects(fit)), -2.33707, tolerance = 4e-4)
  expect_equal(mean(effects(fit)), -2.33757162604, tolerance = 1e-7)
  expect_equal(fit$settings$zeta, 8.867592, tolerance = 1e-6)
})
