# Synthetic difference-in-differences, and the simplex solver with the ridge that this estimator
# needs.

test_that("the simplex solver with a ridge agrees with projected gradients and is optimal", {
  withr::local_seed(1)
  for (i in 1:12) {
    n <- sample(2:9, 1)
    m <- sample(2:12, 1)
    x <- matrix(rnorm(n * (m + 2)), n)
    y <- rnorm(m + 2)
    zeta <- exp(rnorm(1, -1))
    fit <- sdid_fit_cpp(x, y, m, zeta, 0.1)
    expect_equal(fit$weights, slow_simplex(x[, 1:m], y[1:m], zeta^2 * m, TRUE, 4000),
      tolerance = 1e-6
    )
    after <- rowMeans(x[, m + 1:2])
    expect_equal(fit$period_weights, slow_simplex(t(x[, 1:m]), after, 0.01 * n, TRUE, 4000),
      tolerance = 1e-6
    )
    # The recomputed optimality conditions: equal gradients for donors with weight, larger gradients
    # for all other donors.
    centred <- x[, 1:m] - rowMeans(x[, 1:m])
    error <- drop(fit$weights %*% centred) - (y[1:m] - mean(y[1:m]))
    gradient <- drop(centred %*% error) + zeta^2 * m * fit$weights
    on <- fit$weights > 0
    expect_lt(diff(range(gradient[on])), 1e-10)
    if (any(!on)) expect_gt(min(gradient[!on]) - min(gradient[on]), -1e-10)
    expect_lt(fit$kkt, 1e-9)
  }
})

test_that("with a strong ridge more donors than periods have positive weight", {
  withr::local_seed(2)
  x <- matrix(rnorm(60 * 5), 60)
  y <- rnorm(5)
  fit <- sdid_fit_cpp(x, y, 3L, 5, 1e-3)
  expect_gt(sum(fit$weights > 0), 4)
  expect_equal(fit$weights, slow_simplex(x[, 1:3], y[1:3], 75, TRUE, 2000), tolerance = 1e-6)
  expect_lt(fit$kkt, 1e-9)
})

test_that("sdid equals a direct computation from its definition", {
  panel <- model_panel()
  fit <- fit_classical(panel$donors, panel$target, 9, "sdid")
  expect_equal(fit$settings$zeta, 4^0.25 * sd(apply(panel$donors[, 1:9], 1, diff)))
  expect_equal(sum(fit$period_weights), 1)
  both <- rbind(panel$target, panel$donors)
  contrast <- c(-fit$period_weights, rep(1 / 4, 4))
  by_hand <- sum(c(1, -fit$weights) * drop(both %*% contrast))
  expect_equal(effect_on(panel, fit), by_hand, tolerance = 1e-10)
  expect_weights_tell(panel, fit)
  # Equal weights of donors and of periods give difference-in-differences.
  even <- fit_classical(panel$donors, panel$target, 9, "sdid", list(zeta = 1e6, zeta_periods = 1e6))
  did <- fit_classical(panel$donors, panel$target, 9, "did")
  expect_equal(effect_on(panel, even), effect_on(panel, did), tolerance = 1e-6)
})

test_that("sdid is near the published estimate for California and near synthdid 0.0.9", {
  panel <- california()
  fit <- fit_classical(panel$donors, panel$target, 19, "sdid")
  # Arkhangelsky et al. (2021, table 1) give -15.6. synthdid 0.0.9 stops at -15.60383 and, with more
  # steps, at -15.60564; neither value is exactly the minimum.
  expect_equal(effect_on(panel, fit), -15.6, tolerance = 0.05 / 15.6)
  expect_equal(effect_on(panel, fit), -15.60383, tolerance = 2e-4)
  expect_equal(effect_on(panel, fit), -15.6053979, tolerance = 1e-7)
  expect_equal(fit$settings$zeta, 10.2262325715, tolerance = 1e-9)
  largest <- fit$weights[c("Nevada", "New Hampshire", "Connecticut")]
  expect_lt(max(abs(largest - c(0.124489, 0.105048, 0.078287))), 6e-4)
  expect_equal(fit$period_weights[17:19], c(0.36647, 0.20645, 0.42708), tolerance = 1e-4)
  # The placebo standard error over all 38 donors. synthdid gives 9.370917 over the same donors.
  # (The 8.4 of the paper is from 200 random draws.)
  raw <- check_raw(panel$donors, panel$target, 19)
  paths <- placebo_counterfactuals(raw, "sdid", fit$settings)
  placebo <- rowMeans((panel$donors - paths)[, 20:31])
  expect_equal(sqrt(mean((placebo - mean(placebo))^2)), 9.370917, tolerance = 1e-4)

  panel <- basque()
  fit <- fit_classical(panel$donors, panel$target, 15, "sdid")
  expect_equal(effect_on(panel, fit), -0.793430519666, tolerance = 1e-4)
})

test_that("the zeta of sdid depends on the number of treated units; invalid input is refused", {
  panel <- model_panel()
  settings <- fit_classical(panel$donors, panel$target, 9, "sdid", list(treated = 3))$settings
  plain <- fit_classical(panel$donors, panel$target, 9, "sdid")$settings
  expect_equal(settings$zeta / plain$zeta, 3^0.25)
  two <- dp_synth(panel$donors[-1, ],
    target = rbind(panel$target, panel$donors[1, ]), T0 = 9, epsilon = Inf, estimator = "sdid"
  )
  expect_identical(two$settings$treated, 2)
  run <- function(...) fit_classical(panel$donors, panel$target, ...)
  expect_error(run(13, "sdid"), "after the treatment", class = "dpsc_error_argument")
  expect_error(run(9, "sdid", list(zeta = -1)), "zeta", class = "dpsc_error_argument")
  one <- function(...) fit_classical(panel$donors[1:2, 9:10], panel$target[9:10], 1, "sdid", ...)
  expect_error(one(), "regularisation", class = "dpsc_error_argument")
  expect_equal(one(list(zeta = 1, zeta_periods = 1))$weights, c(a = 0.5, b = 0.5))
  fit <- dp_synth(panel$donors, target = panel$target, T0 = 9, epsilon = Inf, estimator = "sdid")
  expect_error(conformal(fit), "periods in the same way", class = "dpsc_error_argument")
})
