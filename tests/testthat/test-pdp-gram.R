# Losses of a gram release against the integer rows that it added up.

# The integers that a round adds up, row by row, by the package's own pass.
clipped_row <- function(row, round, bounds) {
  rows <- row_map(bounds, round$loadings, round$origin, on_grid = TRUE)
  radius <- floor(round$radius / rows$unit)
  clipped_moments_cpp(matrix(row, 1), rows$map, radius, round$clipped / radius, round$clipped)
}

gram_shift <- function(a, b, constant) {
  sqrt(sum((a$gram - b$gram)^2) + 2 * constant^2 * sum((a$sum - b$sum)^2))
}

test_that("contributions are those of the integer rows", {
  panel <- toy_panel(n = 60, T0 = 6, T1 = 2)
  bounds <- new_bounds(c(-1, 1), 8)
  release <- release_of(panel, "gram", epsilon = 3)
  nothing <- function(round) list(gram = 0, sum = 0)
  for (round in release$statistics$rounds) {
    got <- gram_contributions(round, panel$donors, bounds)
    for (i in seq_len(60)) {
      w <- clipped_row(panel$donors[i, ], round, bounds)
      mine <- c(round, lapply(got, `[[`, i))
      brute <- gram_shift(w, list(gram = 0, sum = 0), round$constant)
      # Equal, but for rows that the pass shortened after rounding.
      expect_gte(sqrt(removal_shift2(mine) * round$noise), brute * (1 - 1e-12))
      expect_equal(sqrt(removal_shift2(mine) * round$noise), brute, tolerance = 0.02)
      absolute <- sum(abs(w$gram[upper.tri(w$gram, TRUE)])) + round$constant * sum(abs(w$sum))
      expect_gte(laplace_removal(mine) * round$noise, absolute * (1 - 1e-12))
      for (j in sample.int(60, 5)) {
        other <- clipped_row(panel$donors[j, ] * sample(c(-1, 1), 1), round, bounds)
        expect_lte(
          gram_shift(w, other, round$constant), sqrt(replacement_shift2(mine) * round$noise)
        )
      }
    }
    rows <- row_map(bounds, round$loadings, round$origin, on_grid = TRUE)
    squared <- floor(round$radii / rows$unit)^2
    within <- radius_counts_cpp(panel$donors, rows$map, squared)
    expect_equal(cumsum(tabulate(got$index, length(squared))), within)
  }
})

test_that("the largest shift of a replacement in a ball is the closed form", {
  withr::local_seed(2)
  for (case in 1:40) {
    d <- sample(2:4, 1)
    R <- 10
    K <- R * stats::runif(1, 0.05, 1)
    w <- stats::rnorm(d)
    w <- w / sqrt(sum(w^2)) * R * stats::runif(1)^2
    shift <- function(v) {
      v <- v / max(1, sqrt(sum(v^2)) / R)
      sum((tcrossprod(c(w, K)) - tcrossprod(c(v, K)))^2)
    }
    bound <- replacement_shift2(
      list(squared = sum(w^2), constant = K, clipped = R, noise = 1)
    )
    starts <- c(list(-w * R / sqrt(sum(w^2))), replicate(6, stats::rnorm(d) * R, simplify = FALSE))
    found <- max(vapply(starts, function(v) {
      -stats::optim(v, function(v) -shift(v), control = list(maxit = 2000, reltol = 1e-12))$value
    }, 0))
    expect_lte(found, bound * (1 + 1e-9))
    expect_gte(found, bound * (1 - 1e-3))
  }
})

test_that("the choice of a radius costs what its two laws say", {
  withr::local_seed(3)
  for (case in 1:20) {
    index <- sample.int(9, 30, TRUE)
    round <- list(radii = 1:8, price = sample(0:4, 1), exponent = stats::runif(1, 0.01, 2))
    law <- function(index) {
      within <- cumsum(tabulate(index, 8))
      mass <- exp(round$exponent * (within - round$price * 1:8))
      mass / sum(mass)
    }
    odds <- radius_odds(round, index)
    for (i in seq_len(30)) {
      ratio <- log(law(index) / law(index[-i]))
      loss <- radius_loss(odds[[i]], round$exponent)
      expect_equal(loss, max(abs(ratio)), tolerance = 1e-9)
      expect_lte(loss, round$exponent + 1e-12)
      # The Gaussian shift covers it at every epsilon, in both directions.
      mu <- radius_shift(odds[[i]], round$exponent)
      expect_lte(mu, radius_shift(NULL, round$exponent) + 1e-12)
      for (epsilon in c(0, 0.05, 0.3, 1)) {
        forth <- sum(pmax(law(index) - exp(epsilon) * law(index[-i]), 0))
        back <- sum(pmax(law(index[-i]) - exp(epsilon) * law(index), 0))
        expect_lte(max(forth, back), shift_delta(mu, epsilon) + 1e-12)
      }
    }
  }
})

test_that("losses by gram stay below the release's epsilon, chunks or not", {
  panel <- toy_panel(n = 80, T0 = 6, T1 = 2)
  panel$donors[7, ] <- c(100, -100, 100, -100, 100, -100, 100, 100)
  for (delta in c(1e-6, 0)) {
    for (epsilon in c(0.3, 4)) {
      # At the larger epsilon every period is a feature.
      control <- list(features = if (epsilon > 1) Inf)
      release <- release_of(panel, "gram", epsilon = epsilon, delta = delta, control = control)
      loss <- pdp(release, panel$donors)
      expect_true(all(loss$donors$removal <= loss$donors$replacement))
      expect_true(all(loss$donors$replacement <= epsilon))
      chunks <- dp_chunks(list(panel$donors[1:30, ], panel$donors[31:80, ]))
      expect_identical(pdp(release, chunks)$donors, loss$donors)
      # What a donor finds from their own row alone bounds both, and is replacement's number.
      own <- pdp_bound(release, row = panel$donors)
      expect_true(all(own$removal >= loss$donors$removal))
      expect_equal(own$replacement, loss$donors$replacement)
      curve <- pdp_bound(release, norm = c(0, 0.3, 1, 7))
      expect_true(all(diff(curve$removal) >= 0) && curve$removal[[4]] == curve$removal[[3]])
      expect_true(all(curve$replacement <= epsilon * (1 + 1e-12)))
    }
  }
})

test_that("a gram release keeps what losses need, also as JSON", {
  skip_if_not_installed("jsonlite")
  panel <- toy_panel(n = 30, T0 = 6, T1 = 2)
  release <- release_of(panel, "gram")
  path <- withr::local_tempfile(fileext = ".json")
  write_release(release, path, allow_not_private = TRUE)
  expect_identical(pdp(read_release(path), panel$donors), pdp(release, panel$donors))
  release$statistics$rounds <- NULL
  expect_error(pdp(release, panel$donors), "older version", class = "dpsc_error_argument")
  expect_error(pdp_bound(release), "older version", class = "dpsc_error_argument")
})
