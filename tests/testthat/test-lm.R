# dp_lm() from formula to methods.

test_that("without privacy a fit by dp_lm() equals the fit by lm()", {
  data <- lm_people(500)
  data$a[c(4, 90)] <- NA
  formula <- y ~ a * b + g + s + I(b^2) + I(a > 3)
  expect_silent(fit <- dp_lm(formula, data, epsilon = Inf, bounds = lm_bounds()))
  ols <- stats::lm(formula, data)
  expect_equal(coef(fit)[names(coef(ols))], coef(ols), tolerance = 1e-8)
  expect_equal(vcov(fit)[names(coef(ols)), names(coef(ols))], vcov(ols), tolerance = 1e-8)
  expect_equal(sigma(fit), sigma(ols), tolerance = 1e-8)
  expect_equal(glance(fit)$r.squared, summary(ols)$r.squared, tolerance = 1e-8)
  expect_equal(
    confint(fit)[names(coef(ols)), ], confint(ols), tolerance = 1e-8, ignore_attr = TRUE
  )
  new <- data[c(1, 7, 9), ]
  for (interval in c("none", "confidence", "prediction")) {
    expect_equal(predict(fit, new, interval = interval), predict(ols, new, interval = interval),
      tolerance = 1e-8, ignore_attr = TRUE
    )
  }
  small <- update(fit, . ~ . - g - I(a > 3))
  expect_equal(coef(small), coef(update(ols, . ~ . - g - I(a > 3)))[names(coef(small))],
    tolerance = 1e-8
  )
  expect_output(print(fit), "NOT PRIVATE")
})

test_that("columns of dp_lm() have the names and values of the columns of model.matrix()", {
  data <- lm_people(50)
  for (formula in list(
    y ~ a * g, y ~ g:s + a, y ~ a:b, y ~ I(a^2) + b, log(abs(y) + 1) ~ a, y ~ g * s, y ~ .,
    y ~ factor(s), y ~ a:g, y ~ exp(b / 3) + sqrt(abs(a)) + I(a^2):g
  )) {
    columns <- lm_columns(formula, lm_bounds())
    names <- vapply(columns$columns, `[[`, "", "name")
    want <- colnames(stats::model.matrix(formula, data))[-1L]
    expect_setequal(names, want)
    own <- lm_matrix(columns, data)
    expect_equal(own[, want], stats::model.matrix(formula, data)[, want], ignore_attr = TRUE)
    expect_true(lm_closed_cpp(lm_design(columns)))
  }
})

test_that("with a large budget a fit by dp_lm() approaches the fit by lm()", {
  data <- lm_people(20000)
  formula <- y ~ a + b + g + s + I(b^2) + a:b
  fit <- seeded_lm(formula, data, epsilon = 1e4, bounds = lm_bounds())
  ols <- stats::lm(formula, data)
  error <- (coef(fit) - coef(ols)[names(coef(fit))]) / sqrt(diag(vcov(ols)))[names(coef(fit))]
  # The difference comes from the clipping of a few residuals and from the weights of long rows.
  expect_lt(max(abs(error)), 1)
  expect_lt(abs(sigma(fit) / sigma(ols) - 1), 0.02)
  expect_true(all(fit$identified))
  expect_equal(sqrt(diag(vcov(fit)) / diag(vcov(ols))[names(coef(fit))]),
    rep(1, length(coef(fit))), tolerance = 0.15, ignore_attr = TRUE
  )
})

test_that("95 % intervals of dp_lm() cover at least 88 % of the true slopes", {
  withr::local_seed(21)
  covered <- replicate(40, {
    n <- 3000
    data <- data.frame(a = stats::rnorm(n, 10), b = stats::rnorm(n), c = stats::rnorm(n))
    data$b <- data$b + data$a / 2
    data$y <- data$a - data$b + 0.5 * data$c + stats::rnorm(n)
    range <- c(-50, 50)
    fit <- dp_lm(y ~ a + b + c, data,
      epsilon = 1, bounds = list(y = range, a = range, b = range, c = range),
      control = dp_control(rng = "R")
    )
    limits <- confint(fit)[-1L, ]
    limits[, 1] < c(1, -1, 0.5) & c(1, -1, 0.5) < limits[, 2]
  })
  expect_gte(mean(covered), 0.88)
})

test_that("if noise hides the moments, the print of dp_lm() states that they are not resolved", {
  data <- lm_people(800)
  fit <- seeded_lm(y ~ (a + b + g + s)^2, data, epsilon = 1, bounds = lm_bounds())
  expect_false(fit$plan$resolved)
  expect_output(print(fit), "not resolved at this budget", ignore.case = TRUE)
})

test_that("before the charge dp_lm() refuses fits that would identify no coefficient", {
  for (n in c(20, 200)) {
    ledger <- dp_ledger(1, 1e-6)
    error <- expect_error(
      dp_lm(y ~ a + b, lm_people(n), epsilon = 1, bounds = lm_bounds(), ledger = ledger),
      "would identify no coefficient", class = "dpsc_error_argument"
    )
    expect_identical(nrow(as.data.frame(ledger)), 0L)
  }
  # The suggested value succeeds.
  words <- gsub("\n", " ", conditionMessage(error))
  least <- as.numeric(sub(".*at least ([0-9]+) people.*", "\\1", words))
  expect_true(lm_plan_cpp(c(lm_facts_of(n = least), scores = FALSE))$located)
  expect_false(lm_plan_cpp(c(lm_facts_of(n = 0.95 * least), scores = FALSE))$located)
})

test_that("invalid input of dp_lm() gives one error of a documented class and spends nothing", {
  data <- lm_people(3000)
  ledger <- dp_ledger(1, 1e-6)
  bounds <- lm_bounds()
  fails <- function(class, ...) {
    arguments <- list(formula = y ~ a, data = data, epsilon = 0.5, bounds = bounds, ledger = ledger)
    arguments[...names()] <- list(...)
    error <- tryCatch(do.call(dp_lm, arguments), error = identity)
    expect_s3_class(error, paste0("dpsc_error_", class))
    expect_identical(canary_found(error, c(data$a, data$b, data$y)), NULL)
  }
  fails("argument", formula = y ~ poly(a, 2))
  fails("argument", formula = y ~ scale(a))
  fails("argument", formula = y ~ splines::bs(a))
  fails("argument", formula = y ~ cut(a, 4))
  fails("argument", formula = y ~ a - 1)
  fails("argument", formula = y ~ a + offset(b))
  fails("argument", formula = y ~ 1)
  fails("argument", formula = ~a)
  fails("bounds", formula = y ~ a + zz)
  fails("bounds", formula = g ~ a)
  fails("bounds", bounds = list(y = c(1, 0), a = c(0, 1)))
  fails("bounds", bounds = list(y = c(0, 1), a = c(0, NA)))
  fails("bounds", bounds = list(y = c(0, 1), a = "one"))
  fails("bounds", bounds = list())
  fails("data", bounds = list(y = c(0, 1), a = c("x", "z")), data = 1:3)
  fails("data", formula = y ~ q, bounds = c(bounds, list(q = c(0, 1))))
  fails("data", formula = y ~ d, bounds = list(y = c(0, 1), d = c(0, 1)),
    data = transform(data, d = as.Date("2020-01-01")))
  fails("data", data = data[1:2, ])
  fails("argument", epsilon = -1)
  fails("argument", epsilon = NA)
  fails("argument", delta = 2)
  fails("budget", epsilon = 2)
  fails("budget", control = dp_control(rng = "R"))
  fails("budget", epsilon = Inf)
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  expect_error(dp_lm(y ~ a, data, bounds = bounds), class = "dpsc_error_argument")
  suppressWarnings(dp_lm(y ~ a, data, epsilon = 0.5, bounds = bounds, ledger = ledger))
  charged <- as.data.frame(ledger)
  expect_identical(charged$kind, "gdp")
  expect_equal(charged$mu, gdp_budget_cpp(0.5, 1e-6))
})

test_that("a level without rows and a duplicate column stay among the coefficients of dp_lm()", {
  data <- lm_people(700)
  data$g <- factor(data$g, levels = c("w", "v", "u", "q"))
  data$g[data$g == "v"] <- "u"
  fit <- seeded_lm(y ~ a + g, data, epsilon = 1, bounds = lm_bounds())
  expect_named(coef(fit), c("(Intercept)", "a", "gv", "gw"))
  expect_true(all(is.finite(sqrt(diag(vcov(fit))))))
  expect_true(all(is.finite(coef(fit)) | !fit$identified))
  data <- lm_people(6000)
  data$g[data$g == "v"] <- "u"
  fit <- seeded_lm(y ~ a + g, data, epsilon = 1, bounds = lm_bounds())
  expect_named(coef(fit), c("(Intercept)", "a", "gv", "gw"))
  expect_true(all(is.finite(coef(fit)) & is.finite(sqrt(diag(vcov(fit))))))
  data <- lm_people(400)
  twice <- c(lm_bounds(), list(c = c(-20, 20)))
  data$c <- data$a
  aliased <- seeded_lm(y ~ a + c, data, epsilon = 4, bounds = twice)
  expect_named(coef(aliased), c("(Intercept)", "a", "c"))
  expect_true(all(is.finite(confint(aliased))))
})

test_that("in dp_lm() missing rows and rows outside the subset have weight zero and count in n", {
  data <- lm_people(3000)
  data$y[data$a > 3.5 & data$g == "u"] <- 25
  subset_fit <- seeded_lm(y ~ a + b, data, epsilon = 1e4, bounds = lm_bounds(),
    subset = !(a > 3.5 & g == "u"))
  gone <- data
  gone$y[gone$a > 3.5 & gone$g == "u"] <- NA
  expect_identical(
    unclass(subset_fit), unclass(seeded_lm(y ~ a + b, gone, epsilon = 1e4, bounds = lm_bounds()))
  )
  expect_identical(nobs(subset_fit), 3000L)
  kept <- stats::lm(y ~ a + b, gone)
  expect_equal(coef(subset_fit), coef(kept), tolerance = 0.05)
})

test_that("submodels by update() use the release of the dp_lm() fit and agree with lm()", {
  data <- lm_people(20000)
  fit <- seeded_lm(y ~ a + b + g + s, data, epsilon = 50, bounds = lm_bounds())
  small <- update(fit, . ~ . - s - g)
  expect_identical(small$release, fit$release)
  expect_named(coef(small), c("(Intercept)", "a", "b"))
  ols <- stats::lm(y ~ a + b, data)
  expect_lt(max(abs(coef(small) - coef(ols)) / sqrt(diag(vcov(ols)))), 1.5)
  expect_lt(abs(sigma(small) / sigma(ols) - 1), 0.03)
  expect_identical(formula(small), y ~ a + b, ignore_formula_env = TRUE)
  test <- anova(fit, small)
  expect_lt(test$`Pr(>F)`, 1e-8)
  expect_identical(test$Df, 3L)
  expect_identical(rownames(anova(fit)), c("a", "b", "g", "s"))
  expect_error(update(fit, . ~ . + I(a^2)), class = "dpsc_error_argument")
  expect_error(update(fit, log(y) ~ .), class = "dpsc_error_argument")
  expect_error(anova(fit, fit), class = "dpsc_error_argument")
})

test_that("dp_lm() fits refuse residuals() and predict() without rows; prints state privacy", {
  fit <- seeded_lm(y ~ a, lm_people(600), epsilon = 1, bounds = lm_bounds())
  expect_error(residuals(fit), class = "dpsc_error_argument")
  expect_error(fitted(fit), class = "dpsc_error_argument")
  expect_error(predict(fit), class = "dpsc_error_argument")
  expect_error(augment(fit), class = "dpsc_error_argument")
  expect_output(print(fit), "NOT PRIVATE: the nominal")
  secure <- dp_lm(y ~ a, lm_people(600), epsilon = 1, bounds = lm_bounds())
  expect_true(glance(secure)$private)
  expect_output(print(summary(secure)), "private: epsilon = .*by replacing one person's row")
})

test_that("intervals of dp_lm() at delta = 0 contain the estimates by lm()", {
  data <- lm_people(20000)
  fit <- seeded_lm(y ~ a + b, data, epsilon = 4, delta = 0, bounds = lm_bounds())
  limits <- confint(fit)
  truth <- coef(stats::lm(y ~ a + b, data))
  expect_true(all(limits[, 1] < truth & truth < limits[, 2]))
  expect_equal(sum(fit$privacy$steps$epsilon), 4, tolerance = 0.01)
})

test_that("plots of slopes of dp_lm() show the limits of confint()", {
  skip_if_not_installed("ggplot2")
  withr::local_seed(12)
  fit <- seeded_lm(y ~ a, lm_people(400), epsilon = 2, bounds = lm_bounds())
  picture <- ggplot2::autoplot(fit, level = 0.8)
  expect_s3_class(picture, "ggplot")
  drawn <- picture$data
  expect_identical(as.character(drawn$term), "a")
  expect_equal(c(drawn$low, drawn$high), unname(confint(fit, "a", level = 0.8)[1L, ]))
  inner <- confint(fit, "a", level = 0.8, type = "privacy")
  expect_equal(2 * drawn$noise, unname(diff(inner[1L, ])))
  expect_error(plot(fit, colour = "red"), "colour", class = "dpsc_error_argument")
})

# The largest error of a slope in standard errors of lm() on the same rows, and whether the
# intervals contain the truth.
dummy_error <- function(data, formula, truth, bounds) {
  fit <- dp_lm(formula, data, epsilon = 1, bounds = bounds, control = dp_control(rng = "R"))
  se <- sqrt(diag(stats::vcov(stats::lm(formula, data))))[-1L]
  limits <- confint(fit)[-1L, , drop = FALSE]
  c(
    error = max(abs(coef(fit)[-1L] - truth) / se),
    inside = mean(limits[, 1L] <= truth & truth <= limits[, 2L]),
    identified = all(fit$identified)
  )
}

test_that("if a level is rare, median errors of dp_lm()'s slopes are below 3 SEs of lm()", {
  withr::local_seed(17)
  n <- 20000
  bounds <- list(y = c(-15, 15), t = c(FALSE, TRUE), post = c(FALSE, TRUE), z = c(0, 1))
  runs <- function(formula, truth, share) {
    apply(replicate(11, {
      data <- data.frame(t = runif(n) < share, post = runif(n) < 0.5)
      data$z <- as.numeric(data$t)
      data$y <- 1 + 0.5 * data$t + rnorm(n)
      if (length(truth) > 1L) data$y <- data$y - 0.5 * data$post + 0.5 * data$t * data$post
      dummy_error(data, formula, truth, bounds)
    }), 1L, stats::median)
  }
  # Earlier versions gave errors of 744 and 292, and of 8 million at 1 %.
  rare <- runs(y ~ t, 0.5, 0.09)
  expect_lt(rare[["error"]], 1.5)
  expect_lt(runs(y ~ t, 0.5, 0.01)[["error"]], 3)
  expect_lt(runs(y ~ t * post, c(0.5, -0.5, 0.5), 0.1)[["error"]], 2)
  # The released variance shows that a number takes the values 0 and 1 only.
  number <- runs(y ~ z, 0.5, 0.02)
  expect_lt(number[["error"]], 3)
  expect_identical(number[["identified"]], 1)
})

test_that("beyond_bounds() marks only logical columns' slopes beyond the outcome's range", {
  data <- lm_people(3000)
  fit <- seeded_lm(y ~ a + s, data, epsilon = 2, bounds = lm_bounds())
  expect_identical(unname(beyond_bounds(fit, c(1e6, 59))), c(FALSE, FALSE))
  expect_identical(unname(beyond_bounds(fit, c(0, -61))), c(FALSE, TRUE))
})
