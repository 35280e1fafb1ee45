# Methods for generics of other packages, compared with the covariances from which they are
# computed.

verbs_fit <- function(epsilon = 2, k = 1, method = "gram", T1 = 3) {
  withr::local_seed(41)
  panel <- sim_panel(400, 8, T1, effect = 0.3)
  target <- panel$target + outer(seq_len(k) - 1, seq_len(8 + T1)) / 100
  rownames(target) <- sprintf("group %d", seq_len(k))
  suppressWarnings(dp_synth(panel$donors,
    target = target, T0 = 8, epsilon = epsilon, bounds = c(-1, 1), method = method,
    control = dp_control(rng = "R"), protect = "donors"
  ))
}

classical_fit <- function(estimator = "simplex") {
  withr::local_seed(42)
  panel <- sim_panel(30, 12, 3, effect = 0.3)
  donors <- panel$donors
  rownames(donors) <- sprintf("state %02d", 1:30)
  dp_synth(donors, target = panel$target, T0 = 12, epsilon = Inf, estimator = estimator)
}

test_that("coef(), vcov() and tidy() report the same estimates and variances", {
  for (k in 1:2) {
    fit <- verbs_fit(k = k)
    table <- tidy(fit)
    expect_identical(unname(coef(fit)), table$estimate)
    expect_identical(names(coef(fit)), c("average", "9", "10", "11"))
    expect_identical(dimnames(vcov(fit)), list(names(coef(fit)), names(coef(fit))))
    expect_equal(unname(sqrt(diag(vcov(fit)))), table$std.error)
    expect_equal(unname(sqrt(diag(vcov(fit, type = "privacy")))), table$privacy.se)
    expect_true(isSymmetric(vcov(fit)))
    expect_gte(min(eigen(vcov(fit), symmetric = TRUE)$values), -1e-12)
  }
})

test_that("in vcov() the row of the average is the mean of the periods' rows", {
  fit <- verbs_fit()
  for (type in c("privacy", "sampling")) {
    part <- fit$variance[[1L]][[c(privacy = "privacy", sampling = "prediction")[[type]]]]
    v <- vcov(fit, type = type)
    expect_equal(v[["average", "average"]], mean(part))
    expect_equal(unname(v["average", -1L]), colMeans(part))
    expect_equal(unname(v[-1L, -1L]), part)
  }
  expect_equal(unname(coef(fit)["average"]), mean(effects(fit)))
})

test_that("the total covariance combines the parts' correlations with calibrated errors", {
  fit <- verbs_fit()
  parts <- vcov(fit, type = "privacy") + vcov(fit, type = "sampling")
  expect_equal(stats::cov2cor(vcov(fit)), stats::cov2cor(parts))
  expect_true(all(diag(vcov(fit)) > diag(parts)))
})

test_that("in vcov() the privacy part is 0 without noise, the sampling part NA by method output", {
  inf <- verbs_fit(epsilon = Inf)
  expect_equal(stats::cov2cor(vcov(inf)), stats::cov2cor(vcov(inf, type = "sampling")))
  expect_true(all(vcov(inf, type = "privacy") == 0))
  output <- verbs_fit(method = "output")
  expect_true(all(is.na(vcov(output, type = "sampling"))))
  expect_equal(unname(sqrt(diag(vcov(output)))), tidy(output)$privacy.se)
  expect_error(vcov(inf, type = "HC1"), class = "dpsc_error_argument")
})

test_that("weights() gives the weights of simplex and output fits, and an error for method gram", {
  classical <- classical_fit()
  expect_equal(sum(weights(classical)), 1)
  expect_named(weights(classical), sprintf("state %02d", 1:30))
  expect_named(weights(verbs_fit(method = "output")), as.character(1:400))
  expect_error(weights(verbs_fit()), "has no weights", class = "dpsc_error_argument")
})

test_that("tidy() and glance() ignore the arguments that table packages pass", {
  fit <- verbs_fit()
  expect_identical(tidy(fit, vcov = NULL, coef_rename = FALSE, exponentiate = FALSE), tidy(fit))
  expect_identical(glance(fit, vcov = "HC3"), glance(fit))
  expect_identical(augment(fit, data = NULL), augment(fit))
  expect_named(tidy(fit, conf.int = TRUE), c(
    "target", "term", "estimate", "std.error", "privacy.se", "statistic", "p.value", "conf.low",
    "conf.high"
  ))
  expect_match(knitr::kable(tidy(fit)), "average", all = FALSE)
})

test_that("bare_formula() drops the environment; formula() of a fit without formula is an error", {
  secret <- stats::rnorm(10) # nolint: object_usage_linter.
  bare <- bare_formula(log(y) ~ treated)
  expect_identical(environment(bare), baseenv())
  fit <- verbs_fit()
  expect_error(formula(fit), "no formula", class = "dpsc_error_argument")
  fit$formula <- bare
  expect_identical(formula(fit), bare)
})

test_that("update() changes arguments that cost no budget and refuses the others", {
  fit <- verbs_fit()
  expect_equal(update(fit)$counterfactual, fit$counterfactual)
  did <- update(fit, estimator = "did")
  expect_identical(did$release, fit$release)
  expect_identical(did$estimator, "did")
  other <- update(fit, target = fit$target + 0.01)
  expect_equal(other$target, fit$target + 0.01)
  expect_identical(update(fit, lambda = 3)$release$settings$lambda, 3)
  expect_error(update(fit, epsilon = 2), "spends budget", class = "dpsc_error_argument")
  expect_error(update(fit, . ~ . + x), class = "dpsc_error_argument")
  if (!is.null(fit$size)) {
    group <- dp_synth(fit$release, rbind(fit$target, fit$target + 0.1), size = c(30, 10))
    expect_equal(update(group)$size, 40)
    expect_equal(vcov(update(group)), vcov(group))
    expect_equal(update(group, estimator = "did")$units$size, c(30, 10))
    expect_equal(update(fit, size = 25)$size, 25)
  }
  classical <- classical_fit()
  expect_equal(weights(update(classical)), weights(classical))
  expect_identical(update(classical, estimator = "demeaned")$estimator, "demeaned")
  expect_equal(
    weights(update(classical, estimator = "demeaned")), weights(classical_fit("demeaned"))
  )
})

test_that("simulate() draws with the mean of predict() and the covariance of vcov()", {
  fit <- verbs_fit()
  withr::local_seed(9)
  draws <- simulate(fit, nsim = 4000, seed = 3)
  expect_identical(dim(draws), c(3L, 4000L))
  expect_identical(rownames(draws), c("9", "10", "11"))
  total <- unname(vcov(fit)[-1L, -1L])
  # The mean of 4,000 draws has an error of 0.016 standard deviations, and the tolerance is five
  # times this error.
  error <- (rowMeans(draws) - predict(fit)[1L, ]) / sqrt(diag(total))
  expect_lt(max(abs(error)), 0.08)
  expect_equal(unname(cov(t(draws))), total, tolerance = 0.12, ignore_attr = TRUE)
  expect_identical(simulate(fit, nsim = 2, seed = 3), simulate(fit, nsim = 2, seed = 3))
  # A seed does not change the caller's random numbers.
  withr::local_seed(9)
  simulate(fit, seed = 3)
  expect_identical(stats::runif(1), withr::with_seed(9, stats::runif(1)))
  expect_error(simulate(classical_fit()), "distribution of this fit.s errors is unknown",
    class = "dpsc_error_argument"
  )
})

test_that("as.data.frame() returns effects and their sums with limits that agree with confint()", {
  for (epsilon in c(2, Inf)) {
    fit <- verbs_fit(epsilon = epsilon)
    expect_identical(as.data.frame(fit), augment(fit))
    effect <- as.data.frame(fit, type = "effect")
    expect_equal(effect$estimate, c(t(effects(fit))))
    expect_equal(unname(cbind(effect$conf.low, effect$conf.high)), unname(confint(fit)[2:4, ]))
    wide <- as.data.frame(fit, type = "effect", simultaneous = TRUE)
    expect_equal(unname(cbind(wide$conf.low, wide$conf.high)),
      unname(confint(fit, simultaneous = TRUE)[2:4, ]))
    total <- as.data.frame(fit, type = "cumulative")
    expect_equal(total$estimate, cumsum(effects(fit)[1L, ]), ignore_attr = TRUE)
    # The sum over all periods and its limits are the average and its limits times the number of
    # periods.
    expect_equal(
      unlist(total[3L, c("conf.low", "conf.high")], use.names = FALSE),
      3 * unname(confint(fit)["average", ])
    )
  }
})

test_that("simultaneous cumulative limits are wider than pointwise limits", {
  fit <- verbs_fit()
  one <- as.data.frame(fit, type = "cumulative")
  all <- as.data.frame(fit, type = "cumulative", simultaneous = TRUE)
  expect_true(all(all$conf.high > one$conf.high & all$conf.low < one$conf.low))
})

test_that("percentage limits are missing if the counterfactual is not positive", {
  withr::local_seed(43)
  panel <- sim_panel(400, 8, 3, effect = 0.3)
  percent_of_fit <- function(shift) {
    fit <- suppressWarnings(dp_synth(panel$donors + shift,
      target = panel$target + shift, T0 = 8, epsilon = 2, bounds = c(-1, 1) + shift,
      control = dp_control(rng = "R")
    ))
    list(fit = fit, table = as.data.frame(fit, type = "percent"))
  }
  high <- percent_of_fit(5)
  y <- high$fit$target[1L, 9:11]
  effect <- as.data.frame(high$fit, type = "effect")
  expect_equal(high$table$estimate, unname(100 * (y / predict(high$fit)[1L, ] - 1)))
  expect_equal(high$table$conf.low, 100 * effect$conf.low / (y - effect$conf.low),
    ignore_attr = TRUE)
  expect_equal(high$table$conf.high, 100 * effect$conf.high / (y - effect$conf.high),
    ignore_attr = TRUE)
  expect_true(all(is.na(percent_of_fit(-5)$table[3:5])))
  # If the limits of a counterfactual near zero extend below zero, the effect in per cent has no
  # upper limit.
  zero <- percent_of_fit(0)
  low <- zero$fit$target[1L, 9:11] - as.data.frame(zero$fit, type = "effect")$conf.high
  expect_identical(is.na(zero$table$conf.high), unname(low <= 0))
})

# These tests need packages for tables and tests.

test_that("modelsummary tabulates and plots the effects and limits of dp_synth() fits", {
  skip_if_not_installed("modelsummary")
  fits <- list(Private = verbs_fit(), Raw = verbs_fit(epsilon = Inf))
  table <- modelsummary::modelsummary(fits, output = "data.frame")
  estimate <- table[table$term == "average" & table$statistic == "estimate", c("Private", "Raw")]
  expect_equal(as.numeric(estimate),
    vapply(fits, function(f) round(coef(f)[["average"]], 3), 0),
    ignore_attr = TRUE
  )
  expect_true("n.donors" %in% table$term)
  expect_s3_class(
    modelsummary::modelsummary(list(classical_fit()), output = "data.frame", statistic = NULL),
    "data.frame"
  )
  skip_if_not_installed("ggplot2")
  picture <- modelsummary::modelplot(fits[[1L]])
  drawn <- picture$data[picture$data$term == "average", ]
  expect_equal(drawn$conf.low, confint(fits[[1L]])[["average", 1L]])
})

test_that("marginaleffects::hypotheses() tests effects of a dp_synth() fit by coef() and vcov()", {
  skip_if_not_installed("marginaleffects")
  works <- tryCatch(
    {
      suppressWarnings(
        marginaleffects::hypotheses(stats::lm(mpg ~ wt, datasets::mtcars), "wt = 0")
      )
      TRUE
    },
    error = function(e) FALSE
  )
  skip_if(!works, "this version of marginaleffects does not run on this R, whatever the model")
  fit <- verbs_fit()
  withr::local_options(marginaleffects_safe = FALSE)
  test <- as.data.frame(marginaleffects::hypotheses(fit, "average = 0.1"))
  expect_equal(test$estimate, coef(fit)[["average"]] - 0.1, ignore_attr = TRUE)
  expect_equal(test$std.error, tidy(fit)$std.error[[1L]],
    tolerance = 1e-6, ignore_attr = TRUE
  )
  change <- as.data.frame(marginaleffects::hypotheses(fit, "b4 - b2 = 0"))
  contrast <- c(0, -1, 0, 1)
  expect_equal(change$std.error, sqrt(drop(contrast %*% vcov(fit) %*% contrast)),
    tolerance = 1e-6, ignore_attr = TRUE
  )
  expect_true("dp_synth" %in% getOption("marginaleffects_model_classes"))
})

test_that("parameters gives tidy()'s numbers for dp_synth() fits; multcomp and car test effects", {
  fit <- verbs_fit()
  if (requireNamespace("parameters", quietly = TRUE)) {
    table <- parameters::parameters(fit)
    expect_equal(table$Coefficient, tidy(fit)$estimate)
    expect_equal(table$CI_low, tidy(fit, conf.int = TRUE)$conf.low)
    expect_output(print(table), "average")
  }
  if (requireNamespace("multcomp", quietly = TRUE)) {
    k <- rbind(`last less first` = c(0, -1, 0, 1))
    test <- summary(multcomp::glht(multcomp::parm(coef(fit), vcov(fit)), k))
    expect_equal(test$test$coefficients[[1L]], diff(effects(fit)[c(1, 3)]))
  }
  skip_if_not_installed("car")
  expect_lt(car::linearHypothesis(fit, "average = 0", test = "Chisq")$`Pr(>Chisq)`[[2L]], 1)
})
