# Regressions in methods of other packages. At epsilon = Inf they give the results of lm() and
# glm(), with privacy the results that coef() and vcov() imply. Each test needs the other package.

other_fits <- local({
  made <- NULL
  function() {
    if (is.null(made)) {
      withr::local_seed(1)
      n <- 3000
      d <- data.frame(x = stats::rnorm(n), g = factor(sample(c("a", "b", "c"), n, TRUE)))
      d$z <- stats::runif(n)
      d$y <- d$x + (d$g == "b") + d$x * d$z + stats::rnorm(n)
      d$ill <- stats::runif(n) < stats::plogis(d$x)
      limits <- list(
        y = c(-20, 20), x = c(-6, 6), g = c("a", "b", "c"), z = c(0, 1), ill = c(FALSE, TRUE)
      )
      linear <- function(epsilon) {
        dp_lm(y ~ x * g + z, d, epsilon, bounds = limits[1:4], control = dp_control(rng = "R"))
      }
      logistic <- function(epsilon) {
        dp_glm(ill ~ x + g, d,
          epsilon = epsilon, bounds = limits[c("ill", "x", "g")], control = dp_control(rng = "R")
        )
      }
      made <<- list(
        d = d, lm = do.call(stats::lm, list(y ~ x * g + z, d)),
        glm = do.call(stats::glm, list(ill ~ x + g, stats::binomial(), d)),
        raw = linear(Inf), raw_glm = logistic(Inf), private = linear(8), private_glm = logistic(8)
      )
    }
    made
  }
})

test_that("without privacy car::Anova() gives lm()'s type II and III and glm()'s type II tests", {
  skip_if_not_installed("car")
  f <- other_fits()
  for (type in c("II", "III")) {
    ours <- car::Anova(f$raw, type = type)
    theirs <- car::Anova(f$lm, type = type)[rownames(ours), ]
    expect_equal(ours$F, theirs[["F value"]], tolerance = 1e-5)
    expect_equal(ours$Df, theirs$Df)
    expect_equal(ours[["Pr(>F)"]], theirs[["Pr(>F)"]], tolerance = 1e-4)
  }
  expect_equal(car::Anova(f$raw, type = 3), car::Anova(f$raw, type = "III"))
  ours <- car::Anova(f$raw_glm)
  theirs <- car::Anova(f$glm, test.statistic = "Wald")
  expect_equal(ours$Chisq, theirs$Chisq, tolerance = 1e-3)
  # Type III tests equal the tests of anova().
  expect_equal(car::Anova(f$private, type = 3)$F, stats::anova(f$private)$F)
  expect_error(car::Anova(f$raw, type = "I"), class = "dpsc_error_argument")
  expect_error(car::Anova(f$raw, white.adjust = TRUE), class = "dpsc_error_argument")
})

test_that("with privacy car::Anova() gives type II Wald tests from coef() and vcov()", {
  skip_if_not_installed("car")
  fit <- other_fits()$private
  wald <- function(names) {
    drop(coef(fit)[names] %*% solve(vcov(fit)[names, names], coef(fit)[names]))
  }
  ours <- car::Anova(fit, test.statistic = "Chisq")
  expect_equal(ours["x", "Chisq"], wald(c("x", "x:gb", "x:gc")) - wald(c("x:gb", "x:gc")))
  expect_equal(ours["z", "Chisq"], wald("z"))
  lost <- fit
  lost$identified[["z"]] <- FALSE
  expect_identical(is.na(car::Anova(lost)$F), c(FALSE, FALSE, TRUE, FALSE))
})

test_that("without privacy lmtest::waldtest() gives the tests of lm() and glm()", {
  skip_if_not_installed("lmtest")
  f <- other_fits()
  small <- update(f$raw, . ~ . - x:g)
  pairs <- list(
    list(lmtest::waldtest(f$raw), lmtest::waldtest(f$lm)),
    list(lmtest::waldtest(f$raw, . ~ . - z), lmtest::waldtest(f$lm, . ~ . - z)),
    list(lmtest::waldtest(f$raw, "z"), lmtest::waldtest(f$lm, "z")),
    list(lmtest::waldtest(f$raw, 3), lmtest::waldtest(f$lm, 3)),
    list(lmtest::waldtest(small, f$raw), lmtest::waldtest(stats::update(f$lm, . ~ . - x:g), f$lm)),
    list(
      lmtest::waldtest(f$raw, small, test = "Chisq"),
      lmtest::waldtest(f$lm, stats::update(f$lm, . ~ . - x:g), test = "Chisq")
    ),
    list(
      lmtest::waldtest(f$raw_glm, "g"), lmtest::waldtest(f$glm, "g", test = "Chisq")
    )
  )
  for (pair in pairs) {
    expect_identical(names(pair[[1L]]), names(pair[[2L]]))
    last <- vapply(pair, function(x) unlist(x[2L, 2:4]), numeric(3))
    expect_equal(last[, 1L], last[, 2L], tolerance = 1e-3)
  }
  expect_equal(pairs[[5L]][[1L]]$Res.Df, pairs[[5L]][[2L]]$Res.Df)
  for (other in list("nothing", . ~ . + w, 9, f$private)) {
    expect_error(lmtest::waldtest(f$raw, other), class = "dpsc_error_argument")
  }
  expect_error(lmtest::waldtest(f$raw, vcov = diag(7)), class = "dpsc_error_argument")
})

test_that("parameters::parameters() gives the same numbers as tidy()", {
  skip_if_not_installed("parameters")
  f <- other_fits()
  for (fit in f[c("raw", "raw_glm", "private", "private_glm")]) {
    table <- parameters::parameters(fit, ci = 0.9)
    ours <- tidy(fit, conf.int = TRUE, conf.level = 0.9)
    expect_equal(table$Coefficient, ours$estimate)
    expect_equal(table$SE, ours$std.error)
    expect_equal(table$CI_high, ours$conf.high)
    expect_equal(table$p, ours$p.value)
    expect_output(print(table), "Intercept")
  }
  theirs <- parameters::parameters(f$lm)
  ours <- parameters::parameters(f$raw)
  expect_equal(ours$CI_low, theirs$CI_low, tolerance = 1e-5)
  expect_equal(ours$t, theirs$t, tolerance = 1e-5)
  odds <- parameters::parameters(f$raw_glm, exponentiate = TRUE)
  theirs <- parameters::parameters(f$glm, exponentiate = TRUE)
  expect_equal(odds$Coefficient, theirs$Coefficient, tolerance = 1e-3)
  expect_equal(odds$SE, theirs$SE, tolerance = 1e-3)
})

test_that("without privacy emmeans() and pairs() agree with lm() and glm(), emtrends() with lm()", {
  skip_if_not_installed("emmeans")
  f <- other_fits()
  table <- function(x) as.data.frame(summary(x, infer = TRUE))
  expect_same <- function(verb, pairs = list(f[c("raw", "lm")], f[c("raw_glm", "glm")])) {
    for (pair in pairs) {
      found <- suppressMessages(lapply(pair, verb))
      numbers <- vapply(found[[1L]], is.numeric, NA)
      expect_equal(found[[1L]][numbers], found[[2L]][numbers], tolerance = 1e-3, ignore_attr = TRUE)
    }
  }
  at <- list(x = 1, z = 0.3)
  expect_same(function(fit) table(emmeans::emmeans(fit, ~g, at = at)))
  expect_same(function(fit) table(emmeans::emmeans(fit, ~g, at = at, type = "response")))
  expect_same(function(fit) table(graphics::pairs(emmeans::emmeans(fit, ~g, at = at))))
  expect_same(function(fit) table(emmeans::emtrends(fit, ~g, var = "x")), list(f[c("raw", "lm")]))
  # With public rows, means are over these rows.
  expect_same(function(fit) table(emmeans::emmeans(fit, ~g, data = f$d)))
  # Without rows, each number is at the middle of its bounds.
  middle <- table(suppressMessages(emmeans::emmeans(f$private, ~g)))
  rows <- data.frame(x = 0, g = c("a", "b", "c"), z = 0.5)
  expect_equal(middle$emmean, unname(predict(f$private, rows)))
  expect_equal(middle$SE, unname(predict(f$private, rows, se.fit = TRUE)$se.fit))
})

test_that("without privacy effects::Effect() gives the results of lm() and glm() at given rows", {
  skip_if_not_installed("effects")
  f <- other_fits()
  levels <- list(x = c(-1, 0, 1))
  for (pair in list(f[c("raw", "lm")], f[c("raw_glm", "glm")])) {
    ours <- as.data.frame(effects::Effect(c("g", "x"), pair[[1L]], xlevels = levels, data = f$d))
    theirs <- as.data.frame(effects::Effect(c("g", "x"), pair[[2L]], xlevels = levels))
    expect_equal(ours[c("fit", "se", "lower", "upper")], theirs[c("fit", "se", "lower", "upper")],
      tolerance = 1e-3, ignore_attr = TRUE
    )
  }
  ours <- as.data.frame(effects::Effect(c("g", "x"), f$private, xlevels = list(x = 1:2)))
  rows <- data.frame(x = rep(1:2, each = 3), g = c("a", "b", "c"), z = 0.5)
  expect_equal(ours$fit, unname(predict(f$private, rows)))
  expect_equal(ours$se, unname(predict(f$private, rows, se.fit = TRUE)$se.fit))
  expect_s3_class(effects::allEffects(f$private_glm), "efflist")
})

test_that("without privacy marginaleffects' results at public rows agree with lm() and glm()", {
  skip_if_not_installed("marginaleffects")
  works <- tryCatch(
    {
      cars <- datasets::mtcars
      fit <- stats::lm(mpg ~ wt, cars)
      suppressWarnings(marginaleffects::predictions(fit, newdata = cars))
      TRUE
    },
    error = function(e) FALSE
  )
  skip_if(!works, "this version of marginaleffects does not run on this R, whatever the model")
  f <- other_fits()
  rows <- data.frame(x = c(-1, 0, 1), g = factor(c("a", "b", "c")), z = 0.5)
  verbs <- list(
    function(fit, type) marginaleffects::predictions(fit, newdata = rows, type = type),
    function(fit, type) {
      marginaleffects::slopes(fit, newdata = rows, variables = "x", type = type)
    },
    function(fit, type) marginaleffects::avg_comparisons(fit, newdata = rows, type = type)
  )
  for (verb in verbs) {
    for (pair in list(f[c("raw", "lm")], f[c("raw_glm", "glm")])) {
      found <- suppressWarnings(lapply(pair, verb, type = "response"))
      expect_equal(found[[1L]]$estimate, found[[2L]]$estimate, tolerance = 1e-3)
      expect_equal(found[[1L]]$std.error, found[[2L]]$std.error, tolerance = 1e-3)
    }
  }
  test <- as.data.frame(marginaleffects::hypotheses(f$private, "z = 1"))
  expect_equal(test$estimate, coef(f$private)[["z"]] - 1, ignore_attr = TRUE)
  expect_equal(test$std.error, tidy(f$private)$std.error[[5L]],
    tolerance = 1e-6, ignore_attr = TRUE
  )
})

test_that("functions that need single people's values, such as residuals(), are refused", {
  f <- other_fits()
  verbs <- list(
    residuals = stats::residuals, fitted = stats::fitted, AIC = stats::AIC, BIC = stats::BIC,
    logLik = stats::logLik, deviance = stats::deviance, simulate = stats::simulate,
    model.frame = stats::model.frame, hatvalues = stats::hatvalues
  )
  if (requireNamespace("sandwich", quietly = TRUE)) verbs$estfun <- sandwich::estfun
  for (fit in f[c("raw", "raw_glm", "private", "private_glm")]) {
    for (name in names(verbs)) {
      error <- expect_error(verbs[[name]](fit), "single people", class = "dpsc_error_argument")
      expect_identical(as.character(conditionCall(error)), name)
    }
    expect_error(stats::model.matrix(fit), "public rows", class = "dpsc_error_argument")
  }
})

test_that("terms and model matrices of public rows equal the results of lm()", {
  f <- other_fits()
  expect_identical(attr(terms(f$private), "term.labels"), attr(terms(f$lm), "term.labels"))
  ours <- stats::model.matrix(f$raw, f$d[1:20, ])
  theirs <- stats::model.matrix(f$lm)[1:20, ]
  expect_equal(ours, theirs, ignore_attr = TRUE)
  expect_identical(colnames(ours), colnames(theirs))
})

test_that("public_rows() simulates rows within the bounds whose model matrix has full rank", {
  rows <- public_rows(other_fits()$private)
  expect_equal(mean(rows$x), 0)
  expect_equal(mean(rows$z), 0.5)
  expect_true(all(abs(rows$x) <= 6 & rows$z >= 0 & rows$z <= 1))
  expect_identical(levels(rows$g), c("a", "b", "c"))
  expect_identical(qr(stats::model.matrix(~ x * g + z, rows))$rank, 7L)
  withr::local_seed(3)
  d <- data.frame(y = stats::rnorm(500), w = stats::runif(500, 1, 9))
  own <- dp_lm(y ~ log(w), d, Inf, bounds = list(y = c(-5, 5), `log(w)` = c(0, 3)))
  expect_error(public_rows(own), "no limits for `w` itself", class = "dpsc_error_argument")
})

test_that("tidy() and coef() refuse unknown arguments; tidy() accepts table packages' arguments", {
  f <- other_fits()
  withr::local_seed(5)
  p <- sim_panel(300, 6, 2)
  sums <- update(dp_stream_sum(c(0, 1), 4, horizon = 900), stats::runif(700))
  raw <- dp_synth(p$donors[1:20, ], p$target, 6, epsilon = Inf, estimator = "simplex")
  fits <- list(
    f$private, f$private_glm, sums, raw,
    dp_synth(p$donors, p$target, 6, epsilon = 2, bounds = c(-1, 1)),
    dp_aggregate(f$d, function(part) mean(part$x), lower = -1, upper = 1, epsilon = 4),
    dp_select(y ~ x + z, f$d, 4, size = 1, bounds = list(y = c(-9, 9), x = c(-4, 4), z = c(0, 1)))
  )
  for (fit in fits) {
    expect_error(tidy(fit, nonsense = 1), "nonsense", class = "dpsc_error_argument")
    expect_error(coef(fit, nonsense = 1), "nonsense", class = "dpsc_error_argument")
    expect_identical(tidy(fit, coef_rename = FALSE, vcov = NULL), tidy(fit))
  }
  for (read in list(placebo_space(raw), leave_one_out(raw))) {
    expect_error(tidy(read, nonsense = 1), "nonsense", class = "dpsc_error_argument")
  }
  expect_error(tidy(raw, exponentiate = TRUE), class = "dpsc_error_argument")
  # The last row of a stream's table is the step of its estimates.
  expect_equal(utils::tail(tidy(sums)$estimate, 1L), coef(sums)[[1L]])
  expect_equal(utils::tail(tidy(sums)$privacy.se, 1L), sqrt(vcov(sums)[[1L]]))
  expect_identical(utils::tail(tidy(sums)$rows, 1L), 700)
})

test_that("dp_plan_lm(), _glm(), _select() and _online() take the formula and the bounds first", {
  first <- function(plan) utils::head(names(formals(plan)), 2L)
  for (plan in list(dp_plan_lm, dp_plan_glm, dp_plan_select, dp_plan_online)) {
    expect_identical(first(plan), c("formula", "bounds"))
  }
  bounds <- list(ill = c(FALSE, TRUE), x = c(0, 1), g = c("a", "b", "c"))
  expect_identical(
    dp_plan_glm(ill ~ x + g, bounds, n = c(500, 5000), epsilon = 1),
    dp_plan_glm(n = c(500, 5000), epsilon = 1, p = 3, numbers = 1)
  )
  expect_error(dp_plan_glm(ill ~ x + w, bounds, n = 9), "w = c", class = "dpsc_error_bounds")
  expect_error(dp_plan_glm(5000, 3, 1), "dp_plan_glm\\(n = ", class = "dpsc_error_argument")
  expect_error(dp_plan_glm(n = 5000), "`formula` is required", class = "dpsc_error_argument")
})

test_that("tables of effects name periods in words and give statistics in at most 8 characters", {
  p <- staggered_covariates(n = 600)
  size <- rep(30, 4)
  cohorts <- suppressWarnings(
    staggered_fit(p, y ~ on, epsilon = 8, bounds = list(y = c(0, 100)), size = size)
  )
  p$data$z <- p$data$y
  outcomes <- suppressWarnings(staggered_fit(p, cbind(y, z) ~ on,
    epsilon = 8, bounds = list(y = c(0, 100), z = c(0, 100)), size = size
  ))
  withr::local_seed(8)
  panel <- sim_panel(400, 8, 2)
  fit <- dp_synth(panel$donors, panel$target, 8, epsilon = 2, bounds = c(-1, 1))
  table <- model_parameters.dp_synth(cohorts)
  shown <- tidy(cohorts, conf.int = TRUE)
  shown <- shown[shown$kind == "effect", ]
  expect_identical(table$Parameter, c(
    "average", "period of adoption", "1 period after adoption", "2 periods after adoption",
    "3 periods after adoption"
  ))
  expect_identical(table$Coefficient, shown$estimate)
  expect_identical(table$CI_high, shown$conf.high)
  expect_identical(model_parameters.dp_synth(outcomes, ci = NULL)$Parameter,
    paste0(rep(c("y", "z"), each = 5), ", ", table$Parameter)
  )
  table <- model_parameters.dp_synth(fit)
  expect_identical(table$Parameter, c("average", "period 9", "period 10"))
  facts <- unlist(glance_custom.dp_synth(fit))
  expect_true(all(nchar(facts) <= 8L))
  expect_equal(as.numeric(facts[["rho"]]), glance(fit)$rho, tolerance = 1e-2)
  expect_false("n.donors" %in% names(facts))
  skip_if_not_installed("modelsummary")
  table <- modelsummary::modelsummary(list(fit, cohorts), output = "data.frame")
  expect_true(all(c("period 9", "2 periods after adoption") %in% table$term))
})

test_that("tables of tests of a fit without a guarantee say NOT PRIVATE", {
  withr::local_seed(4)
  d <- data.frame(x = stats::runif(3000), z = stats::runif(3000))
  d$y <- d$x + stats::runif(3000)
  bounds <- list(y = c(0, 2), x = c(0, 1), z = c(0, 1))
  seeded <- dp_lm(y ~ x + z, d, 4, bounds = bounds, control = dp_control(rng = "R"))
  raw <- dp_lm(y ~ x + z, d, Inf, bounds = bounds)
  private <- dp_lm(y ~ x + z, d, 4, bounds = bounds)
  expect_output(print(stats::anova(seeded)), "NOT PRIVATE")
  expect_output(print(stats::anova(raw)), "NOT PRIVATE")
  expect_no_match(utils::capture.output(print(stats::anova(private))), "NOT PRIVATE")
  skip_if_not_installed("car")
  expect_output(print(car::Anova(seeded)), "NOT PRIVATE")
})
