# The round for the target of a release.

targeted_facts <- function(n, y, T1 = 2, epsilon = 1) {
  gram_facts_of(length(y), T1, n, epsilon = epsilon, y = y, targeted = TRUE)
}

# The map of the round from released values (section 5 of the proof).
targeted_rows <- function(donors, s, y, options) {
  p <- s$pre
  A <- seq_len(p)
  model <- gram_model(s)
  fits <- fit_penalties(model, drop(crossprod(s$loadings[seq_along(y), A], y)) - s$mean[A])
  evidence <- vapply(fits, `[[`, 0, "evidence")
  weight <- exp(evidence - max(evidence)) / sum(exp(evidence - max(evidence)))
  shape <- crossprod(model$restore_A)
  u <- drop(crossprod(s$loadings[seq_along(y), A], y)) - s$mean[A]
  h <- numeric(p)
  slopes <- matrix(0, p, ncol(s$loadings) - p)
  for (k in seq_along(fits)) {
    C <- model$covariance[A, A] + fits[[k]]$penalty * shape
    h <- h + weight[[k]] * solve(C, u)
    slopes <- slopes + weight[[k]] * solve(C, model$covariance[A, -A])
  }
  features <- donors %*% s$loadings
  x <- sweep(features[, A, drop = FALSE], 2L, s$mean[A])
  r <- sweep(features[, -A, drop = FALSE], 2L, s$mean[-A]) - x %*% slopes
  (1 + drop(x %*% h)) * r / s$weight
}

test_that("the correction's sum for the target equals a direct sum of clipped rows", {
  withr::local_seed(1)
  n <- 1500
  donors <- sim_panel(n, 6, 2)$donors
  y <- sim_panel(1, 6, 2)$donors[1L, 1:6]
  run <- gram_core(donors, targeted_facts(n, y))
  call <- run$calls[[length(run$calls)]]
  expect_identical(call$label, "sum for the target")
  found <- run$statistics$target
  rows <- targeted_rows(donors, run$statistics, y)
  length <- sqrt(rowSums(rows^2))
  short <- rows * pmin(1, found$radius / length)
  grid <- found$sd / sqrt(call$scale[[1L]])
  # Rows are rounded to integers, so the error of their mean is at most half a step.
  expect_lt(max(abs(grid * call$value - colMeans(short))), 0.5 * n * grid)
  expect_lt(n * grid, 1e-6 * found$radius)
  expect_equal(grid * call$output, drop(found$mean))
  # Less than half of the rows are shortened.
  expect_gt(mean(length < found$radius), 0.5)
})

test_that("replacing a row changes the sum for the target by at most twice the radius", {
  withr::local_seed(2)
  n <- 300
  y <- c(0.3, -0.2, 0.1, 0.4, 0, 0.2)
  donors <- sim_panel(n, 6, 2)$donors
  facts <- targeted_facts(n, y, epsilon = 4)
  run <- gram_core(donors, facts)
  outputs <- call_parts(run$calls, "output")
  limit <- gram_plan_cpp(facts)$steps
  limit <- limit$sensitivity[[nrow(limit)]] / 2
  value <- function(x) {
    calls <- gram_core(x, facts, outputs = outputs)$calls
    calls[[length(calls)]]$value
  }
  corners <- replicate(60, sample(c(-1, 0, 1), 8, TRUE))
  values <- apply(corners, 2L, function(row) value(rbind(row, donors[-1L, ])))
  apart <- as.matrix(stats::dist(t(values)))
  expect_lte(max(apart), 2 * limit)
  expect_gt(max(apart), 1.8 * limit)
})

test_that("replacing a row changes losses of the correction's radii by numbers at most 3 apart", {
  withr::local_seed(3)
  n <- 300
  y <- c(0.3, -0.2, 0.1, 0.4, 0, 0.2)
  donors <- sim_panel(n, 6, 2)$donors
  facts <- targeted_facts(n, y, epsilon = 4)
  run <- gram_core(donors, facts)
  outputs <- call_parts(run$calls, "output")
  at <- length(run$calls) - 1L
  expect_identical(run$calls[[at]]$label, "radius for the target")
  losses <- function(x) gram_core(x, facts, outputs = outputs)$calls[[at]]$value
  rows <- rbind(0, t(replicate(40, stats::runif(8, -1, 1))), 1, -1)
  all <- apply(rows, 1L, function(row) losses(rbind(row, donors[-1L, ])))
  widest <- 0
  for (i in seq_len(ncol(all))) {
    for (j in seq_len(i)) {
      widest <- max(widest, diff(range(all[, i] - all[, j])))
    }
  }
  expect_lte(widest, 3 * 2^20)
  expect_gt(widest, 2^20)
})

test_that("the correction for a target applies only to this target, estimator and penalty", {
  withr::local_seed(4)
  p <- sim_panel(1500, 8, 2)
  release <- dp_release(p$donors,
    target = p$target, T0 = 8, epsilon = 1, bounds = c(-1, 1), control = dp_control(rng = "R")
  )
  without <- release
  without$statistics$target <- NULL
  effect <- function(release, target = p$target, ...) drop(effects(dp_synth(release, target, ...)))
  expect_false(isTRUE(all.equal(effect(release), effect(without))))
  expect_identical(effect(release, rev(p$target)), effect(without, rev(p$target)))
  expect_identical(
    effect(release, estimator = "did"), effect(without, estimator = "did")
  )
  expect_identical(effect(release, lambda = 3), effect(without, lambda = 3))
  # After the treatment the target may have any values.
  moved <- p$target + c(numeric(8), 0.1, 0.2)
  expect_equal(effect(release, moved) - effect(release), c(0.1, 0.2), ignore_attr = TRUE)
})

test_that("a release that cannot use the correction for a target is not charged for it", {
  p <- sim_panel(1500, 8, 2)
  steps <- function(...) {
    withr::local_seed(5)
    dp_synth(p$donors, target = p$target, T0 = 8, bounds = c(-1, 1), ...)$release$privacy$steps$step
  }
  own <- "sum for the target"
  seeded <- dp_control(rng = "R")
  expect_true(own %in% steps(epsilon = 1, control = seeded))
  expect_false(own %in% steps(epsilon = 1, control = seeded, estimator = "did"))
  expect_false(own %in% steps(epsilon = 1, control = seeded, delta = 0))
  expect_false(own %in% steps(epsilon = 1, control = dp_control(rng = "R", features = Inf)))
})

test_that("at epsilon = 10,000 corrected effects are within 10 % of effects without privacy", {
  withr::local_seed(6)
  p <- sim_panel(3000, 6, 2)
  exact <- dp_synth(p$donors, target = p$target, T0 = 6, epsilon = Inf)
  near <- dp_synth(p$donors,
    target = p$target, T0 = 6, epsilon = 1e4, bounds = c(-1, 1),
    control = dp_control(rng = "R", features = 5)
  )
  expect_equal(effects(near), effects(exact), tolerance = 0.1)
})

test_that("the correction for a target reduces the RMSE of simulated estimates by over 5 %", {
  withr::local_seed(7)
  errors <- replicate(40, {
    p <- sim_panel(1500, 12, 3)
    fit <- dp_synth(p$donors,
      target = p$target, T0 = 12, epsilon = 1, bounds = c(-1, 1), control = dp_control(rng = "R")
    )
    without <- fit$release
    without$statistics$target <- NULL
    error <- function(fit) mean((fit$counterfactual[13:15] - p$counterfactual[13:15])^2)
    c(error(fit), error(dp_synth(without, p$target)))
  })
  rmse <- sqrt(rowMeans(errors))
  expect_lt(rmse[[1L]], 0.95 * rmse[[2L]])
})

test_that("with trends, many features and much noise the correction adds at most 25 % to errors", {
  # With personal levels and skewed slopes the covariance of eleven features is mostly noise. The
  # remainder of the correction, a product of noises, can exceed its gain.
  n <- 2000
  size <- 500
  time <- seq_len(16) / 16
  errors <- vapply(1000 * 1:12 + n, function(seed) {
    withr::local_seed(seed)
    people <- n + size
    rows <- stats::rnorm(people, 300, 60) + outer(stats::rexp(people, 1 / 80), time) -
      30 * rep(time^2, each = people) + matrix(stats::rnorm(people * 16, sd = 12), people)
    treated <- sample.int(people, size)
    target <- colMeans(rows[treated, ])
    release <- dp_release(rows[-treated, ],
      target = target, T0 = 12, epsilon = 4, bounds = c(0, 1000), size = size,
      control = dp_control(rng = "R")
    )
    without <- release
    without$statistics$target <- NULL
    # The true effect is zero.
    average <- function(release) tidy(dp_synth(release, target, size = size))$estimate[[1L]]
    c(average(release), average(without))
  }, c(0, 0))
  # With weights from the first-order variance alone, the correction changed the second of these
  # errors by 14.
  expect_lt(max(abs(errors[1L, ])), 6)
  root <- sqrt(rowMeans(errors^2))
  expect_lt(root[[1L]], 1.25 * root[[2L]])
})

test_that("replayed and exact losses of a target's correction do not exceed the charges", {
  withr::local_seed(8)
  p <- sim_panel(400, 6, 2)
  neighbour <- p$donors
  neighbour[1L, ] <- c(-1, 1, -1, 1, -1, 1, 1, 1)
  release <- audit_mechanism("gram", target = p$target, T0 = 6, epsilon = 2, bounds = c(-1, 1))
  replay <- dp_audit(release, p$donors, neighbour, n_runs = 4, mode = "replay")
  expect_false(replay$violated)
  own <- replay$table[grepl("for the target", replay$table$call), ]
  expect_identical(nrow(own), 2L)
  expect_true(all(own$ratio > 0 & own$ratio <= 1))
  loss <- dp_audit(release, p$donors, neighbour, n_runs = 30, mode = "loss")
  expect_false(loss$violated)
})
