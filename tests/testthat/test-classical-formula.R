# Predictors of the classical estimators, given in the formula.

predictor_panel <- function() {
  panel <- model_panel(n = 8, T0 = 6, T1 = 3, seed = 3)
  all <- rbind(panel$donors, unit = panel$target)
  data <- data.frame(
    unit = rep(rownames(all), 9), time = rep(2001:2009, each = 9), y = as.vector(all)
  )
  data$treated <- as.integer(data$unit == "unit" & data$time > 2006)
  withr::with_seed(4, {
    data$x1 <- rnorm(81)
    data$x2 <- rexp(81)
    data$kind <- sample(c("north", "south"), 9, TRUE)[match(data$unit, rownames(all))]
  })
  list(data = data[sample(81), ], wide = all)
}

fit_predictors_of <- function(formula, data, estimator = "predictors", ...) {
  dp_synth(formula, data, c("unit", "time"),
    epsilon = Inf, estimator = estimator, control = dp_control(settings = list(...))
  )
}

test_that("predictors in a formula are means before treatment, matched with the units", {
  panel <- withr::with_seed(1, predictor_panel())
  data <- panel$data
  data$x1[data$unit == "c" & data$time == 2002] <- NA
  fit <- fit_predictors_of(
    y ~ treated | x1 + over(x2, 2002:2003) + log(x2) + kind + over(y, 2006), data,
    v = rep(1, 6)
  )
  by_hand <- function(column, periods) {
    kept <- data$time %in% periods
    drop(tapply(column[kept], data$unit[kept], mean, na.rm = TRUE))[c(letters[1:8], "unit")]
  }
  expected <- cbind(
    by_hand(data$x1, 2001:2006), by_hand(data$x2, 2002:2003), by_hand(log(data$x2), 2001:2006),
    by_hand(data$kind == "north", 2001:2006), by_hand(data$kind == "south", 2001:2006),
    by_hand(data$y, 2006)
  )
  given <- fit$settings$predictors
  expect_equal(unname(given$donors), unname(expected[1:8, ]))
  expect_equal(given$target, unname(expected[9, ]))
  expect_identical(
    colnames(given$donors),
    c("x1", "over(x2, 2002:2003)", "log(x2)", "kindnorth", "kindsouth", "over(y, 2006)")
  )
  same <- dp_synth(panel$wide[1:8, ], target = panel$wide[9, ], T0 = 6, epsilon = Inf,
    estimator = "predictors", control = dp_control(settings = list(
      predictors = list(donors = expected[1:8, ], target = expected[9, ]), v = rep(1, 6)
    ))
  )
  expect_equal(fit$weights, same$weights, tolerance = 1e-10)
  # The mean of several treated units represents them.
  two <- data
  two$treated[two$unit == "a" & two$time > 2006] <- 1L
  fit <- fit_predictors_of(y ~ treated | x2, two, v = 1)
  expect_equal(fit$settings$predictors$target, mean(by_hand(two$x2, 2001:2006)[c("a", "unit")]))
})

test_that("the augmented estimator, placebos and the balance table use predictors in formulas", {
  panel <- withr::with_seed(1, predictor_panel())
  fit <- fit_predictors_of(y ~ treated | x1 + x2, panel$data, "augmented", lambda = 0.3)
  plain <- fit_predictors_of(y ~ treated, panel$data, "augmented", lambda = 0.3)
  expect_gt(max(abs(fit$weights - plain$weights)), 1e-3)
  # Covariates are columns like the periods, on the scale of the outcomes' deviations (the rule of
  # augsynth).
  given <- fit$settings$predictors
  x <- scale(panel$wide[1:8, 1:6], scale = FALSE)
  z <- sweep(scale(given$donors, scale = FALSE), 2, sd(x) / apply(given$donors, 2, sd), "*")
  x1 <- panel$wide[9, 1:6] - attr(x, "scaled:center")
  z1 <- (given$target - colMeans(given$donors)) * sd(x) / apply(given$donors, 2, sd)
  both <- cbind(x, z)
  base <- slow_simplex(both, c(x1, z1))
  step <- solve(crossprod(both) + diag(0.3, 8), c(x1, z1) - drop(base %*% both))
  expect_equal(unname(fit$weights), unname(base + drop(both %*% step)), tolerance = 1e-4)
  expect_error(conformal(fit), "depend on the date of the treatment", class = "dpsc_error_argument")
  space <- placebo_space(fit)
  swapped <- list(donors = given$donors[-3, ], target = given$donors[3, ])
  hand <- fit_classical(panel$wide[c(1:2, 4:8), ], panel$wide[3, ], 6, "augmented",
    list(lambda = 0.3, predictors = swapped)
  )
  expect_equal(unname(space$gaps["c", ]), unname(panel$wide[3, ] - hand$counterfactual),
    tolerance = 1e-8
  )
  nested <- fit_predictors_of(y ~ treated | x1 + x2, panel$data, screened = 20, starts = 1)
  table <- summary(nested)$balance
  expect_identical(rownames(table), c("x1", "x2"))
  expect_equal(sum(table$V), 1)
  expect_equal(table$synthetic, unname(drop(nested$weights %*% given$donors)))
  expect_output(print(summary(nested)), "balance of predictors")
  expect_output(print(nested), "importances \\(V\\): x1")
  expect_null(summary(plain)$balance)
})

test_that("a formula fits Proposition 99 with the predictors of Abadie and co-authors", {
  panel <- california()
  data <- panel$data
  data$treated <- as.integer(data$state == "California" & data$year >= 1989)
  fit <- dp_synth(
    cigsale ~ treated | over(lnincome, 1980:1988) + over(retprice, 1980:1988) +
      over(age15to24, 1980:1988) + over(beer, 1984:1988) + over(cigsale, 1988) +
      over(cigsale, 1980) + over(cigsale, 1975),
    data, c("state", "year"),
    epsilon = Inf, estimator = "predictors"
  )
  by_hand <- fit_classical(panel$donors, panel$target, 19, "predictors",
    list(predictors = california_predictors(panel))
  )
  expect_equal(unname(fit$weights), unname(by_hand$weights), tolerance = 1e-8)
  expect_lte(sum((fit$target - fit$counterfactual)[1:19]^2) / 19, 3.076664 * 1.01)
})

test_that("unusable predictors in a formula raise errors that name the fault", {
  data <- withr::with_seed(1, predictor_panel())$data
  bad <- function(formula, message, estimator = "predictors", ...) {
    expect_error(fit_predictors_of(formula, data, estimator, ...), message,
      class = "dpsc_error_panel"
    )
  }
  bad(y ~ treated | x1, "takes no predictors", "hsvt")
  bad(y ~ treated | x1 * x2, "joined by")
  bad(y ~ treated | x9, "x9")
  bad(y ~ treated | over(x1, 2007), "before the treatment")
  bad(y ~ treated | over(x1, 1900), "before the treatment")
  bad(y ~ treated | over(x1), "needs exactly two arguments")
  data$x1[data$unit == "c"] <- NA
  bad(y ~ treated | x1, "missing for 1 unit")
  data$when <- as.Date("2020-01-01")
  bad(y ~ treated | when, "Date")
  given <- list(donors = matrix(1:8 + 0, 8, dimnames = list(letters[1:8], "x")), target = 1)
  expect_error(fit_predictors_of(y ~ treated | x2, data, predictors = given), "both contain",
    class = "dpsc_error_argument"
  )
  expect_error(fit_predictors_of(y ~ treated, data), "needs predictors",
    class = "dpsc_error_argument"
  )
})

test_that("augmented, sdid, factor and mcnnm are refused at a finite epsilon and for a release", {
  panel <- model_panel()
  for (estimator in c("augmented", "sdid", "factor", "mcnnm")) {
    ledger <- dp_ledger(epsilon = 1)
    expect_error(
      dp_synth(panel$donors,
        target = panel$target, T0 = 9, epsilon = 1, bounds = c(-9, 9), estimator = estimator,
        ledger = ledger
      ), "without any noise", class = "dpsc_error_argument"
    )
    expect_equal(nrow(as.data.frame(ledger)), 0)
    release <- dp_synth(panel$donors, target = panel$target, T0 = 9, epsilon = Inf)$release
    expect_error(dp_synth(release, panel$target, estimator = estimator), "raw donors",
      class = "dpsc_error_argument"
    )
  }
})
