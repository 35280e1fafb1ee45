# The privacy standard error is the standard deviation over releases of the reported path, after
# shrinkage towards the target's level and cutting at the bounds.

donors_of <- function(n, T0 = 8, T1 = 2, sd = 0.05) {
  set.seed(n)
  stats::rnorm(n, sd = 0.2) + matrix(stats::rnorm(n * (T0 + T1), sd = sd), n)
}

estimates <- function(statistics, targets, periods, half = 1) {
  gram_estimate_cpp(
    statistics, gram_options(TRUE, 1000, list(half = rep(half, periods))), targets,
    rep(1, nrow(targets))
  )
}

# The core's prediction of a path, relative to the target's level, with shrinkage and bounds.
finished <- function(path, noise, half, level) {
  signal <- min(max(0, mean(path^2) - noise), 0.25)
  pmin(pmax(path * signal / (signal + noise) + level, -half), half)
}

test_that("without shrinkage and clipping the privacy SE is 1.2 times the first-order SE", {
  fit <- gram_core(donors_of(4000), gram_facts_of(8, 2, 4000, 4, y = sin(1:8) / 3))
  statistics <- fit$statistics
  # With hardly any noise in the mean, paths are not shrunk.
  statistics$mean_sd <- 1e-9
  targets <- 0.3 * cos(outer(1:3, 1:10)) + 0.1
  for (e in estimates(statistics, targets, 10, half = 1e6)) {
    expect_equal(e$released, 1.2 * e$privacy, tolerance = 1e-6)
  }
})

test_that("privacy covariances after shrinkage and bounds are within 15 % of simulated ones", {
  fit <- gram_core(donors_of(600), gram_facts_of(8, 2, 600, 0.5, y = sin(1:8) / 3))
  s <- fit$statistics
  set.seed(1)
  targets <- matrix(stats::runif(6 * 10, -0.5, 0.5), 6)
  noise <- s$mean_sd^2 * mean(colSums(t(s$restore[s$pre + 1:2, ])^2)) / s$weight^2
  seen <- 0
  for (half in c(1e6, 0.4)) {
    reported <- estimates(s, targets, 10, half)
    raw <- estimates(s, targets, 10, 1e6)
    for (i in seq_len(nrow(targets))) {
      level <- mean(targets[i, 1:8])
      # To undo the shrinkage, x (x^2 - noise) / x^2 has a unique inverse above the noise.
      about <- raw[[i]]$path[9:10] - level
      if (mean(about^2) == 0 || mean(about^2) > 0.2) next
      root <- eigen(1.2 * raw[[i]]$privacy, symmetric = TRUE)
      step <- root$vectors %*% (sqrt(pmax(root$values, 0)) * matrix(stats::rnorm(2 * 2e4), 2))
      paths <- apply(about + step, 2, finished, noise = noise, half = half, level = level)
      expect_lt(max(abs(reported[[i]]$released - stats::cov(t(paths)))),
        0.15 * max(diag(stats::cov(t(paths)))) + 1e-12)
      seen <- seen + 1
    }
  }
  expect_gt(seen, 3)
})

test_that("the noise hidden by shrinkage is the positive part of the fall in privacy covariance", {
  fit <- gram_core(donors_of(600), gram_facts_of(8, 2, 600, 0.5, y = sin(1:8) / 3))
  set.seed(2)
  targets <- matrix(stats::runif(6 * 10, -0.5, 0.5), 6)
  largest <- 0
  for (e in estimates(fit$statistics, targets, 10, 0.4)) {
    lacks <- eigen(e$privacy - e$released, symmetric = TRUE)
    nearest <- lacks$vectors %*% (pmax(lacks$values, 0) * t(lacks$vectors))
    expect_equal(e$hidden, nearest)
    largest <- max(largest, nearest)
  }
  expect_gt(largest, 0)
})

test_that("a fit's total variance is at least prediction error plus noise before shrinkage", {
  set.seed(3)
  donors <- donors_of(500)
  # Flat paths of people are shrunk strongly.
  fit <- dp_synth(donors, target = rep(0.1, 10), T0 = 8, epsilon = 1, delta = 1e-6,
    bounds = c(-1, 1), control = dp_control(rng = "R"))
  e <- estimate_gram(fit$release, to_scale(fit$target, release_scale(fit$release)))[[1]]
  unit <- release_scale(fit$release)$unit^2
  parts <- fit$variance[[1]]
  expect_equal(parts$privacy, e$released * unit)
  more <- (parts$prediction + parts$privacy) / unit - e$prediction - e$privacy
  expect_gt(min(eigen(more, symmetric = TRUE)$values), -1e-12)
  expect_lt(sum(diag(parts$privacy)), sum(diag(e$privacy * unit)) * 1.2001)
  row <- tidy(fit)[1, ]
  expect_equal(row$privacy.se, sqrt(mean(parts$privacy)))
})

test_that("privacy SEs of two targets are 0.7 to 1.45 times the standard deviation over releases", {
  donors <- donors_of(1500, sd = 0.08)
  targets <- donors_of(2, sd = 0.08)
  runs <- replicate(60, {
    fit <- dp_synth(donors, target = targets[1, ], T0 = 8, epsilon = 1, delta = 1e-6,
      bounds = c(-1, 1), control = dp_control(rng = "R"))
    other <- dp_synth(fit$release, target = targets[2, , drop = FALSE])
    c(t(tidy(fit)[1, c("estimate", "privacy.se")]), t(tidy(other)[1, c("estimate", "privacy.se")]))
  })
  for (at in c(0, 2)) {
    ratio <- sqrt(mean(runs[at + 2, ]^2)) / stats::sd(runs[at + 1, ])
    expect_gt(ratio, 0.7)
    expect_lt(ratio, 1.45)
  }
})

test_that("if many people are identical, the released variance is above half the true variance", {
  set.seed(8)
  # One person in five has events.
  rate <- ifelse(stats::runif(20000) < 0.2, 0.15, 0)
  donors <- matrix(stats::rbinom(20000 * 13, 1, rate), 20000)
  fit <- dp_synth(donors, target = donors[1, ], T0 = 10, epsilon = 8, delta = 1e-6,
    bounds = c(0, 1), control = dp_control(rng = "R"))
  s <- fit$release$statistics
  moments <- s$restore %*% s$covariance %*% t(s$restore)
  post <- mean(diag(moments)[-seq_len(s$pre)]) / s$weight^2 * 0.25
  truth <- mean(apply(donors[, 11:13], 2, stats::var))
  # Shortened rows vary less. An earlier version was too small by a factor of a hundred.
  expect_gt(post, truth / 2)
})
