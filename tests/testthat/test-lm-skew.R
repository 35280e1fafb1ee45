# dp_lm() with skewed and heavy-tailed errors: inst/proofs/regression.md, sections 3 and 6.

skew_people <- function(errors, n = 20000, seed = 1) {
  withr::local_seed(seed)
  data <- data.frame(a = stats::rnorm(n), b = stats::rnorm(n))
  data$y <- pmin(30, 1 + 0.5 * data$a - 0.5 * data$b + errors(data$a))
  data
}
skew_bounds <- list(y = c(-30, 30), a = c(-5, 5), b = c(-5, 5))

skew_fit <- function(data, epsilon = 1, seed = 1) {
  suppressWarnings(
    seeded_lm(y ~ a + b, data, epsilon = epsilon, bounds = skew_bounds, seed = seed)
  )
}
clips_of <- function(fit) vapply(fit$release$rounds, `[[`, 0, "clip")
privacy_of <- function(fit) sqrt(diag(vcov(fit, "privacy")))

# Variance of a normal distribution with this second moment after clipping.
implied_variance <- function(second, clip) {
  clipped <- function(v) {
    a <- clip / sqrt(v)
    v * (1 - 2 * stats::pnorm(-a) - 2 * a * stats::dnorm(a)) + 2 * clip^2 * stats::pnorm(-a)
  }
  stats::uniroot(function(v) clipped(v) - second, c(0.1, 10) * second, tol = 1e-12)$root
}

test_that("the intercept extrapolated from several clipping bounds is within 2 SEs of the truth", {
  clips <- c(1.2, 3, 4.5, 6)
  levels <- function(g, sd = 1e-4) cbind(clips, -g(clips), sd, as.double(clips > 2))
  tails <- list(
    light = function(c) exp(-c), middle = function(c) (1 + 0.2 * c)^-4,
    heavy = function(c) (1 + 0.5 * c)^-1, none = function(c) 0 * c
  )
  found <- lapply(tails, function(g) extrapolate_level(levels(g), 1, 1e6))
  level <- vapply(found, `[[`, 0, "level")
  sd <- sqrt(vapply(found, `[[`, 0, "variance"))
  expect_true(all(abs(level) < 2 * sd))
  # The last round alone would have an error of exp(-6), 0.14 of 1.2^-4, and 0.25.
  expect_lt(sd[["light"]], 0.03)
  expect_lt(sd[["middle"]], 0.08)
  expect_gt(sd[["heavy"]], 0.08)
  expect_lt(abs(level[["heavy"]]), 0.15)
  expect_lt(sd[["none"]], 1e-3)
  # With heavier tails, more of the bias of the slopes remains.
  left <- vapply(found, `[[`, 0, "left")
  expect_true(all(diff(left[1:3]) > 0))
  exact <- function(c) (1 + c) * exp(-c)
  used <- mean(exact(clips[2:4]))
  expect_equal(left[["light"]], used / (exact(1.2) - used), tolerance = 0.3)
  # No residual exceeds the bounds, and noise widens the intervals.
  near <- extrapolate_level(levels(tails$heavy), 1, 8)
  expect_lt(near$level, found$heavy$level)
  noisy <- extrapolate_level(levels(tails$middle, sd = 0.05), 1, 1e6)
  expect_gt(noisy$variance, 2 * found$middle$variance)
})

test_that("with a large budget dp_lm() approaches lm(), even with skewed errors", {
  data <- skew_people(function(a) exp(0.8 * stats::rnorm(length(a)) + 0.3 * a), n = 5000)
  ols <- stats::lm(y ~ a + b, data)
  se <- sqrt(diag(stats::vcov(ols)))
  fits <- lapply(c(10, 100, 1e4), function(epsilon) skew_fit(data, epsilon))
  off <- vapply(fits, function(fit) max(abs(coef(fit) - coef(ols)) / se), 0)
  expect_lt(off[[3L]], 0.1)
  for (fit in fits) expect_true(all(abs(coef(fit) - coef(ols)) < 2.5 * privacy_of(fit)))
  # The clipping bounds grow to the range of the outcome. Then no residual is clipped, and the fit
  # is not robust.
  clips <- vapply(fits, function(fit) clips_of(fit)[[5L]], 0)
  expect_true(all(diff(clips) > 0))
  expect_identical(last_clip(fits[[3L]]), Inf)
  expect_null(robust_words(fits[[3L]]))
  expect_lt(last_clip(fits[[1L]]), 30)
  # Without skewness a moderate clipping bound suffices.
  plain <- skew_fit(skew_people(function(a) stats::rnorm(length(a)), n = 5000), 100)
  expect_lt(last_clip(plain), 15)
  expect_gt(clips_of(plain)[[5L]], 1.4 * clips_of(plain)[[2L]])
})

test_that("the noise at dp_lm()'s last clipping bound is 0.25 to 0.5 of a sampling SE", {
  data <- skew_people(function(a) exp(0.8 * stats::rnorm(length(a)) + 0.3 * a), n = 20000)
  fit <- skew_fit(data, epsilon = 30)
  noise <- vapply(fit$release$rounds[4:5], function(round) {
    round$sd[[2L]] * sqrt(20000) / round$clip
  }, 0)
  # The noise is per clipping bound in standard deviations, over three rounds: 0.35 at the bound of
  # the last round.
  deviation <- sigma(fit) / 30 / fit$release$scale[[3L]]
  reach <- clips_of(fit)[[5L]] / deviation
  expect_gt(mean(noise) * reach / sqrt(3), 0.25)
  expect_lt(mean(noise) * reach / sqrt(3), 0.5)
})

test_that("dp_lm() widens its clipping if a regressor's sign decides the sign of the skewness", {
  data <- skew_people(function(a) sign(a) * (stats::rexp(length(a)) - 1))
  ols <- stats::lm(y ~ a + b, data)
  fit <- skew_fit(data)
  expect_gt(clips_of(fit)[[5L]], 1.3 * clips_of(fit)[[2L]])
  expect_true(all(abs(coef(fit) - coef(ols)) < 2.5 * privacy_of(fit)))
})

test_that("shifts of intercept, slopes or variance under a wide clip increase standard errors", {
  fit <- skew_fit(skew_people(function(a) stats::rnorm(length(a))))
  rounds <- fit$release$rounds
  expect_lt(clips_of(fit)[[5L]], 1.3 * clips_of(fit)[[2L]])
  unit <- 30 * fit$release$scale[[3L]]
  moved <- function(change) {
    other <- fit
    other$release$rounds[[3L]] <- change(rounds[[3L]])
    estimate_lm(other)
  }
  # The error of the level is 0.8 of the change.
  level <- moved(function(round) replace(round, "residual", round$residual + 0.5))
  more <- diag(vcov(level, "privacy") - vcov(fit, "privacy"))[[1L]]
  expect_equal(sqrt(more) / unit / 0.5, 0.8, tolerance = 0.1)
  # The error of the slopes is 0.8 of the change along it.
  slopes <- moved(function(round) replace(round, "cross", list(round$cross + c(0.5, 0))))
  own <- vcov(slopes, "privacy")[-1L, -1L] - vcov(fit, "privacy")[-1L, -1L]
  largest <- sqrt(max(eigen(own, TRUE)$values))
  whiten <- rounds[[5L]]$whiten %*% c(0.5, 0)
  scale <- 5 * fit$release$scale[1:2]
  expect_equal(largest / sqrt(sum((unit * whiten / scale)^2)), 0.8, tolerance = 0.25)
  # The variance has two parts: the effect of clipping on normal errors, and the variance that the
  # narrow clipping bound hid. Tails like t^-3 add as much again beyond the wide bound.
  second <- 1.6 * rounds[[3L]]$variance
  heavy <- moved(function(round) replace(round, "variance", second))
  clips <- clips_of(fit)
  hidden <- implied_variance(second, clips[[3L]]) /
    implied_variance(rounds[[2L]]$variance, clips[[2L]]) - 1
  range <- 2 / fit$release$scale[[3L]]
  times <- 1 + (1 / clips[[3L]] - 1 / range) / (1 / clips[[2L]] - 1 / clips[[3L]])
  more <- diag(vcov(heavy, "privacy") - vcov(fit, "privacy"))[-1L]
  expect_equal(more / diag(vcov(fit, "sampling"))[-1L], rep(hidden * times, 2),
    tolerance = 0.25, ignore_attr = TRUE
  )
})

test_that("with skewed errors intervals of dp_lm() contain most intercepts and slopes of lm()", {
  runs <- if (is_audit()) 30 else 6
  kinds <- list(
    lognormal = function(a) 0.8 * exp(stats::rnorm(length(a))),
    spread = function(a) exp(0.8 * stats::rnorm(length(a)) + 0.4 * a)
  )
  for (errors in kinds) {
    found <- vapply(seq_len(runs), function(seed) {
      data <- skew_people(errors, 10000, seed)
      ols <- stats::lm(y ~ a + b, data)
      fit <- skew_fit(data, 1, seed)
      abs(coef(fit) - coef(ols)) < 1.96 * privacy_of(fit)
    }, logical(3))
    expect_gt(mean(found), 0.85)
    expect_gt(mean(found[1L, ]), 0.6)
  }
})

test_that("heavy symmetric tails increase the privacy variance, but normal errors hardly do", {
  # At this budget wide clipping bounds cost nothing, so there is no allowance.
  ratio <- function(errors) {
    stats::median(vapply(1:3, function(seed) {
      data <- skew_people(errors, seed = seed)
      own <- privacy_of(skew_fit(data, 100, seed = seed))
      stats::median((own / sqrt(diag(stats::vcov(stats::lm(y ~ a + b, data)))))[-1L])
    }, 0))
  }
  heavy <- ratio(function(a) stats::rt(length(a), 3))
  plain <- ratio(function(a) stats::rnorm(length(a)))
  expect_gt(heavy, plain + 0.1)
  expect_lt(plain, 0.3)
})

# The usual distance of slopes from lm(), in residual standard deviations, from the numbers of a
# release.
usual_distance <- function(fit) {
  last <- fit$release$rounds[[length(fit$release$rounds)]]
  p <- length(coef(fit)) - 1
  weight <- mean(vapply(fit$release$rounds[-1L], `[[`, 0, "weight"))
  clip <- last_clip(fit)
  shortened <- min(0.09 * sqrt(max(0, 1 - min(1, weight))), 0.03 * (p / last$radius^2)^1.5)
  sqrt(shortened^2 + (0.012 * (1.5 / clip)^1.5)^2)
}

test_that("if the budget excludes wide clips, SEs allow for 1.5 times the usual distance to lm()", {
  fit <- skew_fit(skew_people(function(a) stats::rnorm(length(a)), 3000), 0.45)
  plan <- dp_plan_lm(y ~ a + b, skew_bounds, n = 3000, epsilon = 0.45)
  ratio <- (privacy_of(fit)^2 / diag(vcov(fit, "sampling")))[-1L]
  allowance <- 3000 * (1.5 * usual_distance(fit))^2
  expect_gt(allowance, 0.5 * plan$privacy^2)
  expect_equal(unname(ratio), rep(plan$privacy^2 + allowance, 2), tolerance = 0.15)
  expect_equal(plan$allowance, allowance, tolerance = 0.2)
  # The error of the intercept comes from the clipping bound alone, and from noise of less than two
  # sampling variances.
  level <- fit$sigma^2 * (1.5 * 0.045 * (1.5 / last_clip(fit))^1.5)^2
  sampling <- diag(vcov(fit, "sampling"))[[1L]]
  expect_gt(level, 5 * sampling)
  expect_gt(privacy_of(fit)[[1L]]^2, level)
  expect_lt(privacy_of(fit)[[1L]]^2, level + 2 * sampling)
})

test_that("if only a rare group excludes wide clips, SEs allow for the usual distance once", {
  withr::local_seed(1)
  data <- data.frame(t = stats::runif(20000) < 0.01, y = stats::rnorm(20000))
  bounds <- list(y = c(-9, 9), t = c(FALSE, TRUE))
  fit <- dp_lm(y ~ t, data, 1, bounds = bounds, control = dp_control(rng = "R"))
  plan <- dp_plan_lm(y ~ t, bounds, n = 20000, epsilon = 1, share = 0.01)
  ratio <- (privacy_of(fit)^2 / diag(vcov(fit, "sampling")))[[2L]]
  once <- 20000 * usual_distance(fit)^2
  expect_equal(ratio, plan$privacy^2 + once, tolerance = 0.2)
  expect_lt(ratio, plan$privacy^2 + 2 * once)
  expect_lt(plan$allowance, 2 * once)
})

test_that("with normal errors the slopes' median SE is within 10 % of the SE by dp_plan_lm()", {
  plan <- dp_plan_lm(y ~ a + b, skew_bounds, n = 20000, epsilon = 1)
  ratios <- vapply(1:4, function(seed) {
    fit <- skew_fit(skew_people(function(a) stats::rnorm(length(a)), seed = seed), seed = seed)
    mean(sqrt(diag(vcov(fit)) / diag(vcov(fit, "sampling")))[-1L])
  }, 0)
  expect_equal(stats::median(ratios), sqrt(plan$ratio^2 + plan$allowance), tolerance = 0.1)
  expect_gt(plan$allowance, 0.3)
})

test_that("if the mean is curved and errors are skewed, intervals contain most slopes of lm()", {
  curved <- function(a) 0.12 * (a^2 - 1) + stats::rexp(length(a)) - 1
  found <- vapply(seq_len(if (is_audit()) 30 else 8), function(seed) {
    data <- skew_people(curved, 5000, seed)
    fit <- skew_fit(data, 0.5, seed)
    abs(coef(fit) - coef(stats::lm(y ~ a + b, data))) < 1.96 * privacy_of(fit)
  }, logical(3))
  expect_gt(mean(found), 0.85)
})

test_that("with 300 people dp_lm()'s third clipping bound is less than 1.3 times the second", {
  growth <- vapply(85:140, function(seed) {
    data <- skew_people(function(a) stats::rnorm(length(a)), n = 300, seed = seed)
    clips <- vapply(skew_fit(data, 1, seed)$release$rounds, `[[`, 0, "clip")
    clips[[3L]] / clips[[2L]]
  }, 0)
  expect_lt(max(growth), 1.3)
  # Releases reach the limit, so without it chance would exceed 1.3.
  expect_gt(max(growth), 1.298)
})
