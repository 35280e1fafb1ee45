# For reference values see the shared design notes (classical estimators) and
# sc_reference_values.json.

effect_of <- function(panel, fit) {
  gap <- drop(panel$target) - fit$counterfactual
  mean(gap[-seq_len(panel$T0)])
}

# `expected` is a named list of nonzero weights, rounded to `digits`.
expect_weights <- function(fit, expected, digits = 8) {
  expected <- unlist(expected)
  full <- fit$weights * 0
  full[names(expected)] <- expected
  testthat::expect_lt(max(abs(fit$weights - full)), 10^-digits)
}

for (place in c("california", "basque")) {
  panel_of <- get(place)

  test_that(paste("the simplex estimator meets its reference values:", place), {
    panel <- panel_of()
    ref <- shared_json("sc_reference_values.json")[[place]]$simplex
    fit <- fit_classical(panel$donors, panel$target, panel$T0)
    expect_weights(fit, ref$w)
    expect_equal(fit$objective, ref$pre_ssr, tolerance = 1e-10)
    expect_lte(fit$objective, ref$pre_ssr * (1 + 1e-9))
    expect_lt(fit$kkt, 2e-11)
    expect_equal(effect_of(panel, fit), ref$att, tolerance = 1e-9)
    gap <- drop(panel$target) - fit$counterfactual
    expect_lt(max(abs(gap - unlist(ref$gaps)[names(gap)])), 1e-6)
    expect_equal(fit$ties, 0)
  })

  test_that(paste("demeaned, did, penalised, hsvt and ridge meet their reference values:", place), {
    panel <- panel_of()
    ref <- shared_json("sc_reference_values.json")[[place]]
    run <- function(estimator, settings = list()) {
      fit_classical(panel$donors, panel$target, panel$T0, estimator, settings)
    }
    demeaned <- run("demeaned")
    expect_weights(demeaned, ref$demeaned$w)
    expect_equal(demeaned$intercept, ref$demeaned$intercept, tolerance = 1e-9)
    expect_equal(demeaned$objective, ref$demeaned$pre_ssr, tolerance = 1e-9)
    expect_equal(effect_of(panel, demeaned), ref$demeaned$att, tolerance = 1e-9)
    expect_equal(effect_of(panel, run("did")), ref$did, tolerance = 1e-9)
    for (one in ref$penalized) {
      fit <- run("penalised", list(lambda = one$lambda))
      expect_weights(fit, one$w, 6)
      expect_equal(effect_of(panel, fit), one$att, tolerance = 1e-8)
    }
    for (one in ref$hsvt) {
      fit <- run("hsvt", list(rank = one$k))
      expect_equal(effect_of(panel, fit), one$att, tolerance = 1e-8)
      pre <- seq_len(panel$T0)
      error <- drop(panel$target)[pre] - fit$counterfactual[pre]
      expect_equal(sqrt(mean(error^2)), one$pre_rmse, tolerance = 1e-8)
    }
    for (one in ref$ridge) {
      fit <- run("ridge", list(lambda = one$lambda))
      expect_equal(effect_of(panel, fit), one$att, tolerance = 1e-8)
      expect_equal(sqrt(sum(fit$weights^2)), one$norm, tolerance = 1e-8)
    }
  })

  test_that(paste("placebos, leave-one-out and conformal tests meet their references:", place), {
    panel <- panel_of()
    ref <- shared_json("sc_reference_values.json")[[place]]$simplex
    fit <- classical_fit(panel$donors, panel$target, panel$T0, panel$times)
    space <- placebo_space(fit)
    ratios <- setNames(space$table$ratio, space$table$unit)
    expect_equal(space$table$ratio[[1]], ref$rmspe_ratio, tolerance = 1e-9)
    expect_equal(space$table$rmspe_pre[[1]], ref$pre_rmspe, tolerance = 1e-8)
    expect_lt(max(abs(ratios[names(ref$placebo_ratios)] - unlist(ref$placebo_ratios))), 1e-6)
    expect_equal(space$table$rank[[1]], ref$placebo_rank_excl_treated)
    expect_equal(space$p_value, ref$p_value, tolerance = 1e-10)
    expect_equal(nrow(space$table), ref$n_units)

    loo <- leave_one_out(fit)$table
    expect_setequal(loo$donor, names(ref$loo_att))
    expect_lt(max(abs(loo$effect - unlist(ref$loo_att)[loo$donor])), 1e-6)

    fake <- placebo_time_classical(fit, ref$in_time_placebo$fake_t0)
    expect_equal(fake$effect, ref$in_time_placebo$att, tolerance = 1e-8)

    T1 <- ncol(panel$donors) - panel$T0
    test <- conformal_p(conformal_engine_classical(fit), panel$T0, T1)
    expect_equal(test$p_value, ref$cwz_movingblock_p, tolerance = 1e-9)
  })
}

rev_rows <- function(x) x[rev(seq_len(nrow(x))), ]

test_that("weights from predictors of given importance equal their reference values", {
  ref <- shared_json("sc_fixedV_reference.json")
  panel <- california()
  settings <- list(predictors = california_predictors(panel), v = rep(1, 7))
  fit <- fit_classical(panel$donors, panel$target, 19, "predictors", settings)
  expect_weights(fit, ref$california_equalV_W)
  # Rows of predictors are matched to donors by name, so their order is irrelevant.
  shuffled <- settings
  shuffled$predictors$donors <- rev_rows(settings$predictors$donors)
  expect_weights(
    fit_classical(panel$donors, panel$target, 19, "predictors", shuffled), ref$california_equalV_W
  )
  # The scale of V is arbitrary.
  settings$v <- rep(3, 7)
  again <- fit_classical(panel$donors, panel$target, 19, "predictors", settings)
  expect_equal(again$weights, fit$weights, tolerance = 1e-10)

  panel <- basque()
  settings <- list(predictors = basque_predictors(panel), v = rep(1, 14), judged = 6:15)
  fit <- fit_classical(panel$donors, panel$target, 15, "predictors", settings)
  expect_weights(fit, ref$basque_equalV_W)
  settings$v <- unlist(ref$basque_jss_V)
  fit <- fit_classical(panel$donors, panel$target, 15, "predictors", settings)
  expect_weights(fit, ref$basque_exact_W_given_V)
  expect_equal(fit$loss, 0.0088646, tolerance = 1e-4)
})

test_that("the search for predictor weights comes within 1 % of the lowest known loss", {
  panel <- california()
  settings <- list(predictors = california_predictors(panel))
  fit <- fit_classical(panel$donors, panel$target, 19, "predictors", settings)
  expect_lte(fit$loss, 3.076664 * 1.01)
  expect_equal(sum(fit$settings$importance), 1)
  # The report agrees with those importances.
  settings$v <- fit$settings$importance
  given <- fit_classical(panel$donors, panel$target, 19, "predictors", settings)
  expect_equal(given$loss, fit$loss, tolerance = 1e-6)

  panel <- basque()
  settings <- list(predictors = basque_predictors(panel), judged = 6:15)
  fit <- fit_classical(panel$donors, panel$target, 15, "predictors", settings)
  expect_lte(fit$loss, 0.004286071 * 1.01)
  # No importances give a better fit than the best mixture for these periods.
  bound <- fit_classical(panel$donors[, 6:15], panel$target[, 6:15], 10)$objective / 10
  expect_gte(fit$loss, bound * (1 - 1e-9))
})

test_that("placebos of estimator predictors use donors' predictors; conformal tests are refused", {
  panel <- california()
  predictors <- california_predictors(panel)
  fit <- classical_fit(panel$donors, panel$target, 19, panel$times, "predictors",
    list(predictors = predictors, v = rep(1, 7))
  )
  space <- placebo_space(fit)
  by_hand <- fit_classical(panel$donors[-5, ], panel$donors[5, ], 19, "predictors", list(
    predictors = list(donors = predictors$donors[-5, ], target = predictors$donors[5, ]),
    v = rep(1, 7)
  ))
  expect_equal(space$gaps[6, ], panel$donors[5, ] - by_hand$counterfactual, tolerance = 1e-8)
  loo <- leave_one_out(fit)
  expect_equal(nrow(loo$table), 4)
  error <- tryCatch(conformal_engine_classical(fit), error = identity)
  expect_s3_class(error, "dpsc_error_argument")
})

test_that("elastic-net weights are optimal, equal ridge weights at alpha = 0, and can be zero", {
  withr::local_seed(6)
  donors <- matrix(stats::rnorm(30 * 12), 30, dimnames = list(paste0("d", 1:30), NULL))
  target <- 0.7 * donors[1, ] + 0.3 * donors[2, ] + stats::rnorm(12, sd = 0.1)
  run <- function(lambda, alpha) {
    fit_classical(donors, target, 9, "elastic", list(lambda = lambda, alpha = alpha))
  }
  x <- donors[, 1:9]
  y <- target[1:9]
  value <- function(w, lambda, alpha) {
    sum((y - drop(crossprod(x, w)))^2) + lambda * (alpha * sum(abs(w)) + (1 - alpha) * sum(w^2))
  }
  for (lambda in c(0.05, 1, 10)) {
    for (alpha in c(1, 0.5, 0.1)) {
      fit <- run(lambda, alpha)
      w <- unname(fit$weights)
      slope <- drop(-2 * x %*% (y - crossprod(x, w))) + 2 * lambda * (1 - alpha) * w
      lasso <- lambda * alpha
      expect_equal(unname(slope)[w != 0], -lasso * sign(w[w != 0]), tolerance = 1e-6)
      expect_lte(max(abs(slope[w == 0]), 0), lasso * (1 + 1e-6))
      expect_lt(fit$kkt, 1e-6)
      expect_equal(fit$objective, value(fit$weights, lambda, alpha))
      for (k in 1:20) {
        other <- fit$weights + stats::rnorm(30, sd = 10^-(k %% 4 + 1))
        expect_gte(value(other, lambda, alpha), fit$objective - 1e-9)
      }
    }
  }
  ridge <- fit_classical(donors, target, 9, "ridge", list(lambda = 2))
  expect_equal(run(2, 0)$weights, ridge$weights, tolerance = 1e-7)
  expect_equal(run(2, 0)$counterfactual, ridge$counterfactual, tolerance = 1e-7)
  expect_true(all(run(1e4, 1)$weights == 0))
  expect_gt(sum(run(1, 1)$weights == 0), 20)
  # For one donor the soft threshold is computed by hand.
  one <- fit_classical(matrix(c(1, 2, 0), 1), c(2, 4, 0), 2, "elastic", list(lambda = 4))
  expect_equal(unname(one$weights), (2 * 10 - 4) / 10)
  for (bad in list(
    list(), list(lambda = 0), list(lambda = 1, alpha = 2), list(lambda = 1, rank = 1)
  )) {
    expect_error(fit_classical(donors, target, 9, "elastic", bad), class = "dpsc_error_argument")
  }
})

test_that("dp_synth() fits elastic-net weights without privacy and refuses a finite epsilon", {
  withr::local_seed(7)
  donors <- matrix(stats::rnorm(12 * 20), 12, dimnames = list(paste0("d", 1:12), NULL))
  target <- colMeans(donors[1:3, ]) + c(rep(0, 15), rep(2, 5))
  settings <- dp_control(settings = list(lambda = 0.5))
  fit <- dp_synth(donors, target = target, T0 = 15, epsilon = Inf, estimator = "elastic",
    control = settings)
  expect_equal(mean(tidy(fit)$estimate), 2, tolerance = 0.1)
  expect_output(print(fit), "elastic")
  expect_identical(nrow(placebo_space(fit)$table), 13L)
  expect_error(
    dp_synth(donors, target = target, T0 = 15, epsilon = 1, bounds = c(-9, 9),
      estimator = "elastic", control = settings),
    class = "dpsc_error_argument"
  )
})
