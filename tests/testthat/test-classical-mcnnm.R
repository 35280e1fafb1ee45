# Matrix completion with nuclear norm minimisation.

# Soft-impute with fixed effects, as in the authors' code: effects, then one step of shrinkage.
slow_completion <- function(y, mask, lambda, rounds = 20000) {
  low <- y * 0
  u <- rowSums(y * 0)
  v <- colSums(y * 0)
  for (i in seq_len(rounds)) {
    u <- rowSums(mask * (y - low - rep(v, each = nrow(y)))) / rowSums(mask)
    v <- colSums(mask * (y - low - u)) / colSums(mask)
    parts <- svd(mask * (y - outer(u, v, "+") - low) + low)
    low <- parts$u %*% (pmax(parts$d - lambda * sum(mask) / 2, 0) * t(parts$v))
  }
  outer(u, v, "+") + low
}

small_completion <- function(seed) {
  panel <- model_panel(n = 6, T0 = 5, T1 = 2, seed = seed)
  mask <- matrix(1, 7, 7)
  mask[7, 6:7] <- 0
  c(panel, list(all = rbind(panel$donors, panel$target), mask = mask))
}

test_that("estimator mcnnm agrees with soft-impute", {
  for (seed in 1:3) {
    panel <- small_completion(seed)
    for (lambda in c(0.02, 0.08, 0.2)) {
      fit <- fit_classical(panel$donors, panel$target, 5, "mcnnm", list(lambda = lambda))
      slow <- slow_completion(panel$all, panel$mask, lambda, 2500)
      expect_equal(fit$counterfactual, unname(slow[7, ]), tolerance = 1e-5)
      expect_weights_tell(panel, fit)
    }
  }
})

test_that("mcnnm satisfies its optimality conditions, recomputed in R", {
  panel <- model_panel(n = 15, T0 = 12, T1 = 5, seed = 4)
  lambda <- 0.06
  fit <- fit_classical(panel$donors, panel$target, 12, "mcnnm", list(lambda = lambda))
  theta <- lambda * (15 * 17 + 12) / 2
  # Filling missing cells with the values of the fit, demeaning both ways and shrinking must give
  # the same fit.
  filled <- rbind(panel$donors, c(panel$target[1:12], fit$counterfactual[13:17]))
  centred <- scale(filled - rowMeans(filled), scale = FALSE)
  effects <- filled - centred
  parts <- svd(centred)
  kept <- pmax(parts$d - theta, 0)
  expect_gt(sum(kept > 0), 1)
  again <- effects + parts$u %*% (kept * t(parts$v))
  expect_equal(fit$counterfactual, unname(again[16, ]), tolerance = 1e-7)
  expect_equal(fit$objective, sum(pmin(parts$d, theta)^2) / 2 + theta * sum(kept),
    tolerance = 1e-9
  )
  expect_lt(fit$kkt, 1e-6)
  expect_weights_tell(panel, fit)
})

test_that("mcnnm finds the minimum for wide, tall and square matrices and for shifted data", {
  for (shape in list(c(5, 20), c(20, 5), c(9, 9))) {
    panel <- model_panel(n = shape[[1]], T0 = shape[[2]] - 2, T1 = 2, seed = shape[[1]])
    for (shift in c(0, 1e6)) {
      fit <- fit_classical(panel$donors + shift, panel$target + shift, shape[[2]] - 2, "mcnnm",
        list(lambda = 0.05)
      )
      all <- rbind(panel$donors, panel$target)
      mask <- all * 0 + 1
      mask[nrow(all), shape[[2]] - 1:0] <- 0
      slow <- slow_completion(all, mask, 0.05, 1500)
      expect_equal(fit$counterfactual - shift, unname(slow[nrow(all), ]), tolerance = 1e-4)
    }
  }
})

test_that("with a large penalty mcnnm equals difference-in-differences", {
  panel <- small_completion(5)
  fit <- fit_classical(panel$donors, panel$target, 5, "mcnnm", list(lambda = 100))
  did <- fit_classical(panel$donors, panel$target, 5, "did")
  expect_equal(effect_on(panel, fit), effect_on(panel, did), tolerance = 1e-6)
})

test_that("mcnnm chooses its penalty by leaving out one period of the target at a time", {
  panel <- small_completion(6)
  fit <- fit_classical(panel$donors, panel$target, 5, "mcnnm")
  path <- fit$settings$path
  expect_length(path$lambda, 30)
  expect_equal(path$lambda[30] / path$lambda[1], 1e-3)
  for (j in c(8, 15)) {
    error <- sapply(1:5, function(t) {
      mask <- panel$mask
      mask[7, t] <- 0
      # The penalty is the penalty of the paper times the number of cells observed in this fit.
      slow <- slow_completion(panel$all, mask, path$lambda[j] * 47 / 46, 1500)
      panel$target[t] - slow[7, t]
    })
    expect_equal(path$error[j], mean(error^2), tolerance = 1e-3)
  }
  expect_equal(fit$settings$lambda, path$lambda[which.min(path$error)])
})

test_that("for Proposition 99 mcnnm equals MCPanel and is near the published estimate", {
  panel <- california()
  run <- function(...) fit_classical(panel$donors, panel$target, 19, "mcnnm", list(...))
  # MCPanel stops at relative tolerance 1e-14.
  expect_equal(effect_on(panel, run(lambda = 0.1)), -20.55119, tolerance = 2e-6)
  expect_equal(effect_on(panel, run(lambda = 0.05)), -20.02135, tolerance = 3e-6)
  expect_equal(effect_on(panel, run(lambda = 0.0126)), -19.86107, tolerance = 5e-6)
  # Arkhangelsky et al. (2021), table 1, give -20.2 (11.5), with a penalty chosen by random held-out
  # cells.
  fit <- run()
  expect_equal(effect_on(panel, fit), -20.2, tolerance = 0.4 / 20.2)
  raw <- check_raw(panel$donors, panel$target, 19)
  placebo <- rowMeans((panel$donors - placebo_counterfactuals(raw, "mcnnm", fit$settings))[, 20:31])
  expect_equal(sqrt(mean((placebo - mean(placebo))^2)), 11.5, tolerance = 0.5 / 11.5)
})

test_that("mcnnm refuses a penalty of 0, two pre-periods and panels without interactions", {
  panel <- model_panel()
  run <- function(T0, ...) fit_classical(panel$donors, panel$target, T0, "mcnnm", list(...))
  expect_error(run(9, lambda = 0), "lambda", class = "dpsc_error_argument")
  expect_error(run(2), "at least three pre-treatment periods", class = "dpsc_error_argument")
  flat <- outer(1:5, 1:6, "+") + 0
  expect_error(fit_classical(flat, 1:6 + 0, 4, "mcnnm"), "Effects of units",
    class = "dpsc_error_argument"
  )
})
