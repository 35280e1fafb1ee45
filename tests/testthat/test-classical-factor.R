# Interactive fixed effects (generalised synthetic control).

# Alternating least squares of the donors on unit, period and factor effects, then the effects of
# the target.
slow_factors <- function(donors, target, T0, rank, rounds = 3000) {
  periods <- ncol(donors)
  common <- matrix(0, nrow(donors), periods)
  for (i in seq_len(rounds)) {
    left <- donors - common
    unit <- rowMeans(left)
    time <- colMeans(left) - mean(left)
    rest <- donors - outer(unit, time, "+")
    if (i == 1) f <- matrix(cos(outer(seq_len(periods), seq_len(rank))), periods)
    loadings <- rest %*% f %*% solve(crossprod(f))
    f <- t(rest) %*% loadings %*% solve(crossprod(loadings))
    common <- tcrossprod(loadings, f)
  }
  pre <- seq_len(T0)
  own <- stats::lm.fit(cbind(1, f[pre, , drop = FALSE]), (target - time)[pre])$coefficients
  unname(time + drop(cbind(1, f) %*% own))
}

test_that("estimator factor equals alternating least squares, and estimator did at rank 0", {
  for (rank in 1:3) {
    panel <- model_panel(seed = rank)
    fit <- fit_classical(panel$donors, panel$target, 9, "factor", list(rank = rank))
    slow <- slow_factors(panel$donors, panel$target, 9, rank)
    expect_equal(fit$counterfactual, slow, tolerance = 1e-6)
    expect_weights_tell(panel, fit)
  }
  none <- fit_classical(panel$donors, panel$target, 9, "factor", list(rank = 0))
  did <- fit_classical(panel$donors, panel$target, 9, "did")
  expect_equal(none$counterfactual, unname(did$counterfactual), tolerance = 1e-10)
})

test_that("estimator factor chooses its number of factors by leaving out one period at a time", {
  panel <- model_panel(n = 20)
  fit <- fit_classical(panel$donors, panel$target, 9, "factor")
  time <- colMeans(panel$donors)
  centred <- scale(panel$donors - rowMeans(panel$donors), scale = FALSE)
  f <- svd(centred)$v
  for (r in 0:5) {
    design <- cbind(1, f[, seq_len(r), drop = FALSE])[1:9, , drop = FALSE]
    own <- (panel$target - time)[1:9]
    error <- sapply(1:9, function(t) {
      b <- qr.solve(design[-t, , drop = FALSE], own[-t])
      own[t] - sum(design[t, ] * b)
    })
    expect_equal(fit$settings$path$error[r + 1], mean(error^2), tolerance = 1e-8)
  }
  expect_identical(fit$settings$rank, 2L)
})

test_that("estimator factor agrees with gsynth, including the number of factors", {
  # Values of gsynth 1.2.1, force = "two-way".
  panel <- california()
  att <- c(-27.3491110836, -13.8912234038, -0.404206943991, -1.87277496741, -1.90266188867)
  for (r in 0:4) {
    fit <- fit_classical(panel$donors, panel$target, 19, "factor", list(rank = r))
    expect_equal(effect_on(panel, fit), att[r + 1], tolerance = 1e-6)
  }
  fit <- fit_classical(panel$donors, panel$target, 19, "factor")
  expect_identical(fit$settings$rank, 2L)
  expect_equal(fit$settings$path$error,
    c(57.07537, 19.85596, 3.35306, 4.08450, 4.73685, 5.70820), tolerance = 1e-6
  )
  panel <- basque()
  att <- c(-0.430804396043, -1.07464240614, -1.26930297679, -1.09441463785)
  for (r in 0:3) {
    fit <- fit_classical(panel$donors, panel$target, 15, "factor", list(rank = r))
    expect_equal(effect_on(panel, fit), att[r + 1], tolerance = 1e-6)
  }
  fit <- fit_classical(panel$donors, panel$target, 15, "factor")
  expect_identical(fit$settings$rank, 5L)
  expect_equal(effect_on(panel, fit), 0.413475405031, tolerance = 1e-8)
})

test_that("estimator factor fits no factor to flat or short panels and refuses invalid ranks", {
  flat <- outer(1:5, 1:6, "+") + 0
  fit <- fit_classical(flat, 1:6 + 0, 4, "factor")
  expect_identical(fit$settings$rank, 0L)
  expect_equal(fit$counterfactual, 1:6 + 0, tolerance = 1e-10)
  panel <- model_panel()
  run <- function(T0, ...) fit_classical(panel$donors, panel$target, T0, "factor", list(...))
  expect_identical(run(2)$settings$rank, 0L)
  expect_error(run(9, rank = 8), "rank", class = "dpsc_error_argument")
  expect_error(run(9, rank = 0.5), "rank", class = "dpsc_error_argument")
  expect_length(run(9, most = 2)$settings$path$rank, 3)
})
