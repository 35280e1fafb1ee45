# Growing releases: the influence of one person over all looks, and reported errors.

test_that("no person changes a draw for a new period by more than charged", {
  withr::local_seed(23)
  for (setting in list(
    list(n = 300, delta = 1e-6, size = 1), list(n = 900, delta = 1e-6, size = 30),
    list(n = 900, delta = 0, size = 1)
  )) {
    mechanism <- monitor_mechanism(setting$n, setting$delta, 4, setting$size)
    largest <- 0
    for (pair in monitor_pairs(setting$n)) {
      audit <- replay_growing(mechanism, pair)
      expect_false(audit$violated)
      months <- audit$table[grepl("of the period", audit$table$call), ]
      expect_identical(nrow(months), 6L)
      largest <- max(largest, months$ratio[months$law == "discrete_gaussian"])
    }
    # A residual that changes its sign reaches the bound.
    if (setting$delta > 0) expect_gt(largest, 0.8)
  }
})

test_that("an audit detects a period that spends the budget of all periods", {
  # Plants faults 16.
  withr::local_seed(24)
  mechanism <- monitor_mechanism(300, epsilon = 4)
  pair <- monitor_pairs(300)$turn
  greedy <- function(facts) utils::modifyList(facts, list(periods = 1))
  expect_true(replay_growing(mechanism, pair, tamper = greedy)$violated)
  expect_false(replay_growing(mechanism, pair)$violated)
})

# The recorded noise of the sums in all looks.
monitor_noise <- function(mechanism, panels, ...) {
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, list(
    gram_release_cpp = core_hook(recorder), growing_release_cpp = growing_hook(recorder, ...)
  ))
  recorder$start("record")
  grow_recorded(mechanism, panels, scope)
  recorder$collect()
  calls <- c(recorder$calls, recorder$more)
  sums <- Filter(function(call) identical(call$label, "sums of the period"), calls)
  vapply(sums, function(call) as.numeric(call$output - call$value), numeric(8))
}

test_that("each new period has its own noise at the charged scale; reused noise is detected", {
  withr::local_seed(25)
  mechanism <- monitor_mechanism(300, epsilon = 4)
  panels <- monitor_pairs(300)$turn[[1]]
  repeated <- function(noise) any(duplicated(t(noise)))
  noise <- do.call(cbind, lapply(1:20, function(i) monitor_noise(mechanism, panels)))
  expect_false(repeated(noise))
  plan <- growing_plan_cpp(list(n = 300, epsilon = 4, delta = 1e-6, periods = 3))
  sigma <- plan$steps$scale[[2]]
  expect_gt(stats::ks.test(jitter(as.vector(noise)) / sigma, "pnorm")$p.value, 1e-4)
  expect_lt(abs(stats::cor(as.vector(noise[, -60]), as.vector(noise[, -1]))), 0.25)
  # The fault is that every look uses the same bits, as after a fork of the generator. A look
  # repeats the noise of its sums only if its earlier draws took the same number of bits, which is
  # so for about half the tapes.
  found <- vapply(21:30, function(seed) {
    tape <- withr::with_seed(seed, as.raw(sample.int(256, 8 * 4000, TRUE) - 1L))
    repeated(monitor_noise(mechanism, panels, bits = tape))
  }, NA)
  expect_gte(sum(found), 3)
})

test_that("steps for new periods spend 99 to 100 % of their share of the budget", {
  for (delta in c(1e-6, 0)) {
    for (K in c(1, 7, 60)) {
      facts <- list(n = 5000, epsilon = 2, delta = delta, periods = K)
      plan <- growing_plan_cpp(facts)
      steps <- plan$steps
      limit <- steps$sensitivity[[2]] / if (delta > 0) 2 else 2 * sqrt(8)
      expect_equal(log2(limit), round(log2(limit)))
      if (delta > 0) {
        total <- gdp_budget_cpp(2, delta)^2
        expect_lte(K * sum(steps$mu^2), total * (1 - plan$share))
        expect_gt(K * sum(steps$mu^2), 0.99 * total * (1 - plan$share))
        variance <- steps$scale[[2]]^2
        expect_equal(steps$mu[[2]], 2 * limit / sqrt(variance - 16), tolerance = 1e-9)
      } else {
        expect_lte(K * sum(steps$epsilon), 2 * (1 - plan$share) * (1 + 1e-12))
        expect_gt(K * sum(steps$epsilon), 2 * (1 - plan$share) * 0.99)
      }
    }
  }
  expect_error(
    growing_plan_cpp(list(n = 10, epsilon = 1e-9, delta = 1e-6, periods = 1000)),
    class = "dpsc::budget_too_small"
  )
})

test_that("predictors of a new period are a residual, an average and near-orthogonal directions", {
  withr::local_seed(27)
  p <- monitor_panel(n = 2000, T0 = 12, T1 = 4)
  fit <- next_period(start_monitor(p, epsilon = 50), p, by = 2)
  release <- fit$release
  frame <- growing_frame_cpp(growing_base(release), release$statistics$monitor$periods)
  z <- sweep(p$donors %*% frame$loadings, 2, frame$origin)
  k <- length(frame$aim) - 1
  expect_true(k >= 2 && k <= 4)
  expect_identical(dim(z), c(2000L, 2L + as.integer(k)))
  # The numbers are in units of the columns' standard deviations.
  expect_true(all(abs(log(apply(z, 2, stats::sd))) < log(2)))
  # Directions depend on the past and are nearly orthogonal to each other.
  expect_equal(frame$loadings[13:16, -(1:2)], matrix(0, 4, k))
  apart <- stats::cor(z[, -(1:2)])
  expect_lt(max(abs(apart[upper.tri(apart)])), 0.35)
  # The new period affects only the residual.
  expect_gt(frame$loadings[16, 1], 0)
  expect_equal(frame$loadings[16, -1], numeric(k + 1))
  # For the target the prediction is the counterfactual of the previous period.
  scaled <- p$target
  scaled[16] <- fit$counterfactual[1, 15]
  expect_lt(abs(sum(frame$loadings[, 1] * scaled) - frame$origin[1]), 1e-8)
  # The vector `aim` consists of one and the target's coordinates, so that the weights balance the
  # past.
  own <- drop(scaled %*% frame$loadings) - frame$origin
  expect_equal(frame$aim, c(1, own[-(1:2)]), tolerance = 1e-8)
  weights <- drop(cbind(1, z[, -(1:2)]) %*% frame$aim)
  gap <- colMeans(weights * p$donors[, 1:12]) - p$target[1:12]
  expect_lt(sqrt(mean(gap^2)), 0.4 * sqrt(mean((colMeans(p$donors[, 1:12]) - p$target[1:12])^2)))
})

test_that("at epsilon = 100 counterfactuals of new periods follow a common shock to within 0.05", {
  withr::local_seed(28)
  p <- monitor_panel(n = 4000, T0 = 12, T1 = 4)
  shock <- c(rep(0, 14), 0.3, 0.3)
  p$donors <- sweep(p$donors, 2, shock, `+`)
  p$target <- p$target + shock
  fit <- next_period(start_monitor(p, epsilon = 100), p, by = 3)
  error <- fit$counterfactual[1, 13:16] - p$truth[13:16] - shock[13:16]
  expect_lt(sqrt(mean(error^2)), 0.05)
})

test_that("over draws the SDs of new periods' effects are 0.6 to 1.6 times the stated noise", {
  withr::local_seed(29)
  p <- monitor_panel(n = 2000, T0 = 12, T1 = 4)
  one <- function(i) {
    fit <- next_period(start_monitor(p, monitor = 3, epsilon = 6), p, by = 3)
    list(
      effect = coef(fit), stated = vcov(fit, type = "privacy"), covered = NULL
    )
  }
  runs <- lapply(seq_len(if (is_audit()) 120 else 60), one)
  effects <- do.call(rbind, lapply(runs, `[[`, "effect"))
  stated <- Reduce(`+`, lapply(runs, `[[`, "stated")) / length(runs)
  found <- stats::cov(effects)
  # The standard deviation is robust. Its relative error is 7 % with 120 draws and 11 % with 60
  # draws.
  ratio <- apply(effects, 2, stats::mad) / sqrt(diag(stated))
  expect_true(all(ratio > 0.6 & ratio < 1.6))
  # The errors of neighbouring periods have a common part, so a contrast is tested as well.
  contrast <- c(0, 0, 1, -1, 0)
  expect_lt(abs(log(stats::mad(effects %*% contrast) / sqrt(contrast %*% stated %*% contrast))),
    log(1.7))
})
