# Ridge augmented synthetic control.

test_that("estimator augmented minimises squared errors penalised towards simplex weights", {
  for (seed in 1:4) {
    panel <- model_panel(n = c(5, 12, 20, 9)[[seed]], seed = seed)
    x <- panel$donors[, 1:9]
    y <- panel$target[1:9]
    n <- nrow(x)
    base <- slow_simplex(x, y)
    for (lambda in c(0.01, 1, 100)) {
      fit <- fit_classical(panel$donors, panel$target, 9, "augmented", list(lambda = lambda))
      # min ||y - x'w||^2 + lambda ||w - base||^2 with sum w = 1 (Ben-Michael et al., lemma 2) is
      # one linear system.
      system <- rbind(cbind(tcrossprod(x) + diag(lambda, n), 1), c(rep(1, n), 0))
      w <- solve(system, c(unname(drop(x %*% y)) + lambda * base, 1))[seq_len(n)]
      expect_equal(unname(fit$weights), unname(w), tolerance = 1e-4)
      expect_weights_tell(panel, fit)
    }
  }
  # A large penalty leaves the simplex weights unchanged.
  large <- fit_classical(panel$donors, panel$target, 9, "augmented", list(lambda = 1e12))
  simplex <- fit_classical(panel$donors, panel$target, 9, "simplex")
  expect_equal(large$weights, simplex$weights, tolerance = 1e-9)
})

test_that("the penalty of estimator augmented is chosen by leaving out one period at a time", {
  panel <- model_panel(n = 7, T0 = 6)
  x <- panel$donors[, 1:6]
  y <- panel$target[1:6]
  fit <- fit_classical(panel$donors, panel$target, 6, "augmented")
  path <- fit$settings$path
  errors <- sapply(1:6, function(t) {
    base <- slow_simplex(x[, -t], y[-t])
    centred <- scale(x[, -t], scale = FALSE)
    sapply(path$lambda, function(lambda) {
      imbalance <- y[-t] - drop(base %*% x[, -t])
      w <- base + drop(centred %*% solve(crossprod(centred) + diag(lambda, 5), imbalance))
      (y[t] - sum(w * x[, t]))^2
    })
  })
  expect_equal(path$error, rowMeans(errors), tolerance = 1e-4)
  expect_equal(path$std.error, apply(errors, 1, sd) / sqrt(6), tolerance = 1e-4)
  best <- which.min(path$error)
  expect_equal(
    fit$settings$lambda,
    max(path$lambda[path$error <= path$error[best] + path$std.error[best]])
  )
  least <- fit_classical(panel$donors, panel$target, 6, "augmented", list(rule = "min"))
  expect_equal(least$settings$lambda, path$lambda[best])
  expect_gte(fit$settings$lambda, least$settings$lambda)
})

test_that("estimator augmented equals augsynth 0.2.0 on the California and Basque panels", {
  # Values of augsynth 0.2.0, ridge.R, with an exact solver for the simplex weights.
  panel <- california()
  fit <- fit_classical(panel$donors, panel$target, 19, "augmented")
  expect_equal(fit$settings$lambda, 429.8375828134, tolerance = 1e-7)
  expect_equal(effect_on(panel, fit), -15.9525665729, tolerance = 1e-7)
  expect_equal(sqrt(fit$objective), 3.1979614695, tolerance = 1e-7)
  least <- fit_classical(panel$donors, panel$target, 19, "augmented", list(rule = "min"))
  expect_equal(effect_on(panel, least), -12.3745870084, tolerance = 1e-6)

  panel <- basque()
  fit <- fit_classical(panel$donors, panel$target, 15, "augmented")
  expect_equal(fit$settings$lambda, 0.000640904480584, tolerance = 1e-10)
  expect_equal(effect_on(panel, fit), -0.368597373386, tolerance = 1e-8)
})

test_that("estimator augmented reproduces the published estimate for Kansas", {
  data <- utils::read.csv(shared_data("kansas.csv"))
  panel <- split_target(wide_panel(data, "fips", "year_qtr", "lngdpcapita"), "20", 89)
  fit <- fit_classical(panel$donors, panel$target, 89, "augmented")
  # The vignette of augsynth gives -0.0401 with imbalance 0.062, and -0.0294 without augmentation.
  expect_equal(effect_on(panel, fit), -0.0400629125765, tolerance = 1e-8)
  expect_equal(sqrt(fit$objective), 0.0615152493632, tolerance = 1e-8)
  expect_equal(round(effect_on(panel, fit_classical(panel$donors, panel$target, 89)), 4), -0.0294)
})

test_that("estimator augmented refuses invalid settings, two pre-periods and identical donors", {
  panel <- model_panel()
  run <- function(T0, ...) fit_classical(panel$donors, panel$target, T0, "augmented", list(...))
  expect_error(run(9, lambda = 0), "lambda", class = "dpsc_error_argument")
  expect_error(run(9, rule = "best"), "rule", class = "dpsc_error_argument")
  expect_error(run(2), "at least three pre-treatment periods", class = "dpsc_error_argument")
  expect_error(run(9, rank = 1), "rank", class = "dpsc_error_argument")
  alike <- matrix(1, 4, 6)
  expect_error(fit_classical(alike, rep(2, 6), 4, "augmented"), "identical",
    class = "dpsc_error_argument"
  )
})
