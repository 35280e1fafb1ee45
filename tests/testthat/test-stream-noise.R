# Running sums under noise: pinned values, exactness, and replay audits with planted faults.

path <- function(plan, x = matrix(0, 12, 1), learner = stream_learner(columns = ncol(x)),
                 rng = "secure") {
  stream_path_cpp(plan, learner, x, rng)
}

test_that("the discrete Gaussian sampler for streams passes distribution tests", {
  withr::local_seed(1)
  for (sigma in c(1, 2, 7)) {
    x <- whole_sigma_gaussian_cpp(2e5, sigma, "R")
    cells <- pmax(pmin(x, 4 * sigma), -4 * sigma)
    support <- seq(-4 * sigma, 4 * sigma)
    wide <- -2000:2000
    mass <- tapply(discrete_gaussian_mass(wide, sigma^2), pmax(pmin(wide, 4 * sigma), -4 * sigma),
      sum)
    p <- stats::chisq.test(table(factor(cells, support)), p = mass / sum(mass))$p.value
    expect_not_rejected(p)
  }
  x <- whole_sigma_gaussian_cpp(1e5, 2^26, "R") / 2^26
  expect_not_rejected(suppressWarnings(stats::ks.test(x, "pnorm"))$p.value) # ties on a fine grid
  expect_error(whole_sigma_gaussian_cpp(1, 0, "R"), "whole number")
  # The binary expansion of exp(-1/2), with which decisions are compared.
  digits <- c(0x9b45, 0x97e3, 0x7cb0, 0x4ff3)
  expect_equal(sum(digits / 65536^(1:4)), exp(-0.5), tolerance = 1e-16)
})

test_that("without noise a stream releases the sums with an error of less than 2^-20 per row", {
  withr::local_seed(2)
  x <- matrix(stats::runif(600), 300)
  for (noise in all_noises) {
    out <- path(stream_plan(noise, size = 2, horizon = 300, rho = Inf), x)
    expect_lt(max(abs(out$estimate - apply(x, 2, cumsum))), 300 * 2^-20)
    expect_identical(out$sd, numeric(300))
  }
})

test_that("variances of a stream's noise equal published values for trees and square roots", {
  # Values from the document for a tree with Honaker's estimate, T = 12, h = 4.
  plan <- stream_plan("tree", horizon = 12)
  expect_equal(plan$reach, 2, tolerance = 1e-9)
  expect_equal(4 * (path(plan)$sd / plan$scale)^2, c(
    4, 2.666667, 6.666667, 2.285714, 6.285714, 4.952381, 8.952381, 2.133333, 6.133333, 4.8, 8.8,
    4.419048
  ), tolerance = 1e-6)
  # The square-root factor: the column norm sum c^2, and the standard deviations of the first and
  # the last sum.
  squared <- c(`2` = 1.25, `3` = 1.390625, `12` = 1.8506765781, `60` = 2.3682222507,
    `1000` = 3.2650030807)
  first <- c(1.11803399, 1.17924764, 1.36039574, 1.53890294, 1.80693195)
  for (k in seq_along(squared)) {
    horizon <- as.integer(names(squared)[[k]])
    plan <- stream_plan("toeplitz", horizon = horizon)
    expect_equal((plan$reach / 4096)^2, squared[[k]], tolerance = 2e-4)
    sd <- path(plan, matrix(0, horizon, 1))$sd / plan$unit * sqrt(2 * plan$rho)
    expect_equal(sd[c(1, horizon)], c(first[[k]], squared[[k]]), tolerance = 2e-4)
  }
  expect_equal(stream_plan("toeplitz", horizon = 5)$reach^2, 26223616, tolerance = 1e-11)
  # Buffers agree with the square-root factor to a few thousandths.
  for (horizon in c(1000, 20000)) {
    plan <- stream_plan("blt", horizon = horizon)
    k <- seq_len(horizon - 1)
    best <- 1 + sum(cumprod((2 * k - 1) / (2 * k))^2)
    sd <- path(plan, matrix(0, horizon, 1))$sd[horizon] / plan$unit * sqrt(2 * plan$rho)
    expect_lt(abs(sd / best - 1), 0.007)
  }
})

test_that("an unknown horizon of a stream increases the noise by 20 to 45 %", {
  known <- stream_plan("blt", horizon = 1e4)
  unknown <- stream_plan("blt", horizon = 2^30)
  x <- matrix(0, 1e4, 1)
  ratio <- (path(unknown, x)$sd[1e4] / unknown$unit) / (path(known, x)$sd[1e4] / known$unit)
  expect_lt(ratio, 1.45)
  expect_gt(ratio, 1.2)
})

test_that("horizon_se() is within 5 % of the standard error of a stream's last release", {
  for (noise in all_noises) {
    for (horizon in c(12, 300)) {
      plan <- stream_plan(noise, horizon = horizon)
      sd <- path(plan, matrix(0, horizon, 1))$sd[horizon] / plan$unit
      expect_lt(abs(dpsc:::horizon_se(plan) / sd - 1), 0.05) # asymptotic, except for trees
    }
  }
})

test_that("the errors of a stream have the stated variance", {
  withr::local_seed(3)
  x <- matrix(stats::runif(200), 200)
  at <- c(1, 63, 64, 200)
  p <- vapply(all_noises, function(noise) {
    plan <- stream_plan(noise, horizon = 200)
    z <- replicate(150, {
      out <- path(plan, x, rng = "R")
      (out$estimate[at] - cumsum(x)[at]) * plan$unit / out$sd[at]
    })
    stats::pchisq(sum(z[c(1, 4), ]^2) / 1.9, 2 * 150 / 1.9, lower.tail = FALSE)
  }, 0)
  # The test is two-sided and allows for the correlation of the two sums.
  expect_true(all(p > 1e-4 & p < 1 - 1e-4))
})

test_that("one entry changes all releases of a stream by at most the charged sensitivity", {
  withr::local_seed(4)
  for (noise in all_noises) {
    for (horizon in c(1, 2, 5, 64, 100)) {
      x <- matrix(stats::runif(horizon), horizon)
      plan <- stream_plan(noise, horizon = horizon)
      shares <- vapply(unique(c(1, ceiling(horizon / 2), horizon)), function(at) {
        replayed_share(plan, stream_learner(), replace_rows(x, at, 0), replace_rows(x, at, 1))
      }, 0)
      expect_lte(max(shares), 1 + 1e-9)
      # The bound is reached, except for the levels of a tree that are never completed.
      if (noise != "tree" || horizon == 64) expect_gt(shares[[1L]],
        if (noise == "tree") 0.99 else 0.998)
    }
  }
})

test_that("a row of a stream of categories or with a pure budget costs 99 to 100 % of the charge", {
  withr::local_seed(5)
  x <- diag(3)[sample.int(3, 32, TRUE), ]
  for (noise in all_noises) {
    plan <- stream_plan(noise, shape = "category", size = 3, horizon = 32)
    share <- replayed_share(plan, stream_learner("count", 3), replace_rows(x, 1, c(1, 0, 0)),
      replace_rows(x, 1, c(0, 1, 0)))
    expect_lte(share, 1 + 1e-9)
    expect_gt(share, 0.99)
  }
  plan <- stream_plan("tree", shape = "category", size = 3, horizon = 32, rho = 0, epsilon = 1)
  expect_false(plan$gaussian)
  share <- replayed_share(plan, stream_learner("count", 3), replace_rows(x, 1, c(1, 0, 0)),
    replace_rows(x, 1, c(0, 1, 0)))
  expect_equal(share, 1, tolerance = 1e-6)
  expect_lte(plan$epsilon, 1)
})

test_that("a person's entries in a stream cost at most the charge if as far apart as declared", {
  withr::local_seed(6)
  x <- matrix(stats::runif(60), 60)
  for (noise in all_noises) {
    plan <- stream_plan(noise, horizon = 60, times = 3, apart = 10)
    worst <- 0
    for (pattern in list(c(1, 11, 21), c(2, 30, 60), c(1, 11, 40), c(40, 50, 60))) {
      share <- replayed_share(plan, stream_learner(), replace_rows(x, pattern, 0),
        replace_rows(x, pattern, 1))
      expect_lte(share, 1 + 1e-9)
      worst <- max(worst, share)
    }
    expect_gt(worst, if (noise == "tree") 0.5 else 0.998)
    # Entries of one person that are closer together than declared cost more than the charge. (The
    # bound of a tree is not tight.)
    if (noise != "tree") {
      close <- replayed_share(plan, stream_learner(), replace_rows(x, 1:3, 0), replace_rows(x, 1:3,
        1))
      expect_gt(close, 1.02)
    }
  }
})

test_that("an audit detects faults planted in the charge of a stream", {
  # Plants faults 23, 24, 25.
  withr::local_seed(7)
  x <- matrix(stats::runif(64), 64)
  zero <- replace_rows(x, 1, 0)
  one <- replace_rows(x, 1, 1)
  # The fault is a horizon longer than planned, which increases the column norms.
  for (noise in all_noises) {
    short <- stream_plan(noise, horizon = 31)
    long <- short
    long$facts$horizon <- 64
    expect_gt(replayed_share(long, stream_learner(), zero, one, charged = short), 1.05)
  }
  # The fault is that the column norm lacks its first coefficient, 1 of sum c^2.
  plan <- stream_plan("toeplitz", horizon = 64)
  forgotten <- plan
  forgotten$scale <- ceiling(plan$scale * sqrt(1 - 4096^2 / plan$reach^2))
  expect_gt(replayed_share(forgotten, stream_learner(), zero, one, charged = plan), 1.5)
  # The fault is that a tree lacks one level.
  plan <- stream_plan("tree", horizon = 64)
  forgotten <- plan
  forgotten$scale <- ceiling(plan$scale * sqrt(6 / 7))
  expect_gt(replayed_share(forgotten, stream_learner(), zero, one, charged = plan), 1.1)
})

test_that("streams refuse steps beyond the horizon and budgets that are too small", {
  plan <- stream_plan("tree", horizon = 3)
  expect_error(path(plan, matrix(0, 4, 1)), "horizon")
  expect_error(stream_plan("blt", horizon = 1e6, rho = 1e-18), "too small")
  expect_error(stream_plan("toeplitz", horizon = 5000), "4096")
})

test_that("a failing random generator leaves a stream unchanged", {
  withr::local_seed(8)
  for (noise in all_noises) {
    plan <- stream_plan(noise, horizon = 10, rho = 1)
    state <- dpsc:::stream_open_cpp(plan, stream_learner())
    x <- matrix(0.5, 1, 1)
    dpsc:::stream_advance_cpp(state, x, FALSE, FALSE, "R")
    before <- dpsc:::stream_released_cpp(state)
    expect_error(dpsc:::stream_advance_cpp(state, x, FALSE, FALSE, tape(0)), "exhausted")
    expect_identical(dpsc:::stream_released_cpp(state), before)
  }
})
