# dp_glm() with rare groups: inst/proofs/glm.md, sections 1 and 6.

rare_people <- function(n, share) {
  data <- data.frame(t = stats::runif(n) < share, a = stats::rnorm(n))
  data$y <- as.double(stats::runif(n) < stats::plogis(-0.5 + 0.5 * data$t - 0.5 * data$a))
  data
}

rare_bounds <- list(y = c(0, 1), t = c(FALSE, TRUE), a = c(-9, 9))

test_that("with a rare dummy dp_glm() has RMS errors below 1.5 SEs of glm(), coverage above 85 %", {
  runs <- if (is_audit()) 60 else 20
  found <- vapply(seq_len(runs), function(seed) {
    data <- withr::with_seed(seed, rare_people(20000, 0.03))
    raw <- stats::glm(y ~ t + a, stats::binomial(), data)
    fit <- seeded_glm(y ~ t + a, data, "binomial", epsilon = 1, bounds = rare_bounds, seed = seed)
    error <- (stats::coef(fit) - c(-0.5, 0.5, -0.5))[-1L]
    se <- sqrt(diag(vcov(fit)))[-1L]
    least <- sqrt(diag(stats::vcov(raw)))[-1L]
    c(
      error = mean((error / least)^2), covers = mean(abs(error) < 2 * se),
      wide = se[[1L]] / least[[1L]], known = all(fit$identified)
    )
  }, numeric(4))
  expect_lt(sqrt(mean(found["error", ])), 1.5)
  expect_lt(stats::median(found["wide", ]), 2)
  expect_gt(mean(found["covers", ]), 0.85)
  expect_identical(mean(found["known", ]), 1)
})

test_that("dp_glm() shrinks rows by the released factor, and no row exceeds the limit", {
  data <- withr::with_seed(2, rare_people(20000, 0.03))
  facts <- function(n, intervals = TRUE) {
    columns <- lm_columns(y ~ t + a, rare_bounds, glm_families$binomial$outcome)
    list(
      n = n, epsilon = 1, delta = 1e-6, design = lm_design(columns), family = "binomial",
      upper = 1, intervals = intervals
    )
  }
  table <- lm_table(
    lm_columns(y ~ t + a, rare_bounds, glm_families$binomial$outcome), data, TRUE
  )
  release <- withr::with_seed(1, glm_audit_cpp(table, facts(20000), c(1, 2, 3), "R", NULL)$release)
  share <- (release$centre[[1L]] + 1) / 2
  expect_equal(release$limit^2, 1 + (1 - share) / share + 1, tolerance = 1e-8)
  expect_equal(release$ridge, release$limit^2 / 0.5, tolerance = 1e-12)
  rows <- glm_rows_cpp(table, facts(20000), release)
  long <- sqrt(rowSums(rows$x^2))
  expect_lte(max(rows$weight * long), rows$limit)
  expect_lte(max(rows$weight * long^2), rows$limit^2)
  expect_identical(rows$limit, release$limit)
  # Row limits that the noise would make useless are not chosen. The longest limit is public.
  longest <- vapply(c(500, 2000, 20000), function(n) glm_plan_cpp(facts(n))$longest, 0)
  expect_true(all(diff(longest) > 0))
  expect_lte(release$limit, longest[[3L]])
})

test_that("dp_plan_glm() reports how much wider intervals become if a level is rare", {
  plans <- vapply(c(0.5, 0.1, 0.01), function(share) {
    dp_plan_glm(n = 20000, p = 2, numbers = 1, share = share)$longer
  }, 0)
  # If the limit of rows exceeds the length of a group's rows, the group does not widen intervals.
  expect_true(all(diff(plans) >= 0))
  expect_gt(plans[[3L]], plans[[2L]])
  expect_identical(dp_plan_glm(n = 20000, p = 2, numbers = 1)$longer, plans[[1L]])
  expect_false(dp_plan_glm(n = 2000, p = 1, numbers = 0, share = 0.01)$identified)
  expect_error(dp_plan_glm(n = 100, p = 2, share = 0.6), class = "dpsc_error_argument")
})

test_that("a dp_glm() release without a recorded row limit is read with the smallest limit", {
  data <- withr::with_seed(3, rare_people(5000, 0.5))
  fit <- suppressWarnings(seeded_glm(y ~ a, data, "binomial",
    epsilon = 1, bounds = rare_bounds, settings = list(length = 0)
  ))
  old <- fit
  old$release[c("limit", "flat")] <- NULL
  expect_identical(estimate_glm(old)$coefficients, fit$coefficients)
  expect_identical(fit$release$limit, sqrt(2))
})

test_that("diagonal and off-diagonal blocks of the information matrix are shrunk separately", {
  noisy <- diag(c(40, 100, 100, 100))
  mix <- c(12, -9, 6)
  noisy[1L, 2:4] <- noisy[2:4, 1L] <- mix
  # Noise of three entries with variance sd^2 / 2, and its probability.
  keep <- function(sd) max(0, 1 - (1 + 2 * sqrt(2 / 3)) * 1.5 * sd^2 / sum(mix^2))
  for (sd in c(0.01, 2, 5)) {
    parted <- parted_information(noisy, sd, 1, 1L)
    expect_equal(parted[1L, 2:4], keep(sd) * mix, tolerance = 1e-8)
    expect_equal(diag(parted), c(40, 100, 100, 100), tolerance = 1e-8)
  }
  expect_gt(keep(5), 0.3)
  expect_equal(parted_information(noisy, 9, 1, 1L)[1L, 2:4], c(0, 0, 0))
  # Noise of this size would make all eigenvalues equal without the division into parts.
  whole <- parted_information(noisy, 60, 1, 0L)
  expect_equal(whole, diag(85, 4), tolerance = 1e-8)
  # The curvature of each part is at least a fiftieth of the mean curvature of the strong part.
  noisy[1L, 1L] <- -5
  expect_equal(parted_information(noisy, 9, 1, 1L)[1L, 1L], 2, tolerance = 1e-8)
})
