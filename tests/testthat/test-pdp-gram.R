# Losses of a release by method "gram", compared with the integer rows whose sums were released.

# The integers that a round sums, row by row.
clipped_rows <- function(rows, round, bounds) {
  row_integers_cpp(rows, bounds, round$loadings, round$origin, round$radius,
    round$clipped
  )$clipped
}

moments_of_row <- function(w) list(gram = tcrossprod(w), sum = w)

gram_shift <- function(a, b, constant) {
  sqrt(sum((a$gram - b$gram)^2) + 2 * constant^2 * sum((a$sum - b$sum)^2))
}

test_that("pdp() computes a person's contribution from the integer row that the release used", {
  panel <- toy_panel(n = 60, T0 = 6, T1 = 2)
  bounds <- new_bounds(c(-1, 1), 8)
  release <- release_of(panel, "gram", epsilon = 3)
  withr::local_seed(4)
  for (round in release$statistics$rounds) {
    w <- clipped_rows(panel$donors, round, bounds)
    got <- gram_contributions(round, panel$donors, bounds)
    expect_identical(got$squared, rowSums(w^2))
    expect_identical(got$absolute, rowSums(abs(w)))
    chunks <- panel_from_donors(
      dp_chunks(list(panel$donors[1:9, ], panel$donors[-(1:9), ])), panel$target, 6
    )$donors
    expect_identical(gram_contributions(round, chunks, bounds), got)
    mirrored <- clipped_rows(-panel$donors, round, bounds)
    for (i in seq_len(60)) {
      own <- moments_of_row(w[i, ])
      mine <- c(round, lapply(got, `[[`, i))
      brute <- gram_shift(own, list(gram = 0, sum = 0), round$constant)
      # The values are equal, except for the effect of discreteness on the variance.
      covered <- round$noise - 32
      expect_equal(sqrt(removal_shift2(mine) * covered), brute, tolerance = 1e-12)
      absolute <- sum(abs(own$gram[upper.tri(own$gram, TRUE)])) + round$constant * sum(abs(own$sum))
      expect_equal(laplace_removal(mine) * round$noise, absolute, tolerance = 1e-12)
      for (j in sample.int(60, 5)) {
        other <- moments_of_row(if (j %% 2) w[j, ] else mirrored[j, ])
        apart <- gram_shift(own, other, round$constant)
        expect_lte(apart, sqrt(replacement_shift2(mine) * covered) * (1 + 1e-12))
        change <- own$gram - other$gram
        l1 <- sum(abs(change[upper.tri(change, TRUE)])) +
          round$constant * sum(abs(own$sum - other$sum))
        expect_lte(l1, laplace_replacement(mine) * round$noise * (1 + 1e-12))
      }
    }
  }
})

test_that("the largest shift of moments by a replaced row in a ball equals the closed form", {
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
    # A noise of 33 counts as a variance of one.
    bound <- replacement_shift2(
      list(squared = sum(w^2), constant = K, clipped = R, noise = 33)
    )
    starts <- c(list(-w * R / sqrt(sum(w^2))), replicate(6, stats::rnorm(d) * R, simplify = FALSE))
    found <- max(vapply(starts, function(v) {
      -stats::optim(v, function(v) -shift(v), control = list(maxit = 2000, reltol = 1e-12))$value
    }, 0))
    expect_lte(found, bound * (1 + 1e-9))
    expect_gte(found, bound * (1 - 1e-3))
  }
})

test_that("pdp() counts steps that release no moments with their whole charge", {
  panel <- toy_panel(n = 400, T0 = 6, T1 = 2)
  for (delta in c(0, 1e-6)) {
    release <- release_of(panel, "gram", epsilon = 2, delta = delta)
    steps <- release$privacy$steps
    # With Gaussian noise the release also contains a third round and the round for the target.
    expect_identical(nrow(steps), if (delta > 0) 13L else 9L)
    column <- if (delta > 0) steps$mu^2 else steps$epsilon
    expect_equal(other_costs(release), sum(column[-c(2, 4, if (delta > 0) 6)]))
    # A row that adds nothing to any sum still has the loss of the other steps.
    least <- pdp_bound(release, norm = 0)$removal
    mu <- sqrt(other_costs(release))
    expect_equal(least, if (delta > 0) shift_epsilon(mu, delta) else other_costs(release),
      tolerance = 1e-9
    )
    # A row as long as both radii has the loss of the whole release.
    expect_equal(pdp_bound(release, norm = 1)$replacement, 2, tolerance = 1e-3)
  }
})

test_that("for releases by version 0.1.0 pdp() bounds the contributions of rows from above", {
  skip_if_not_installed("jsonlite")
  withr::local_seed(31)
  panel <- sim_panel(n = 60, T0 = 6, T1 = 2)
  bounds <- new_bounds(c(-1, 1), 8)
  for (name in c("gaussian", "pure")) {
    release <- read_release(test_path("fixtures", paste0("gram-0.1.0-", name, ".json")))
    loss <- pdp(release, panel$donors)$donors
    expect_true(all(loss$removal > 0 & loss$removal <= loss$replacement))
    expect_true(all(loss$replacement <= 2))
    for (round in release$statistics$rounds) {
      got <- gram_contributions(round, panel$donors, bounds)
      # Version 0.1.0 summed rounded rows without shrinking them.
      now <- row_integers_cpp(panel$donors, bounds, round$loadings, round$origin,
        round$radius, round$clipped
      )
      z <- now$features
      norms <- sqrt(rowSums(z^2))
      w <- round(z * ifelse(norms <= now$radius, 1, now$radius / norms) *
        round$clipped / now$radius)
      expect_true(all(got$squared >= pmin(rowSums(w^2), round$clipped^2)))
      expect_true(all(got$absolute >= rowSums(abs(w)) * (1 - 1e-2)))
      expect_true(all(got$squared <= round$clipped^2))
    }
    own <- pdp_bound(release, row = panel$donors)
    expect_equal(own$replacement, loss$replacement)
  }
})

test_that("losses under method gram are at most the release's epsilon, also from chunks", {
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
      # The bound from a donor's row alone is at least both losses, and equals the loss of a
      # replacement.
      own <- pdp_bound(release, row = panel$donors)
      expect_true(all(own$removal >= loss$donors$removal))
      expect_equal(own$replacement, loss$donors$replacement)
      curve <- pdp_bound(release, norm = c(0, 0.3, 1, 7))
      expect_true(all(diff(curve$removal) >= 0) && curve$removal[[4]] == curve$removal[[3]])
      expect_true(all(curve$replacement <= epsilon * (1 + 1e-12)))
    }
  }
})

test_that("pdp() clips the columns of a computed outcome as the release does", {
  withr::local_seed(5)
  data <- expand.grid(unit = sprintf("p%03d", 1:301), time = 1:8, stringsAsFactors = FALSE)
  who <- match(data$unit, unique(data$unit))
  data$y <- 5 + stats::rnorm(301)[who] + 0.3 * stats::rnorm(nrow(data))
  data$on <- as.integer(who == 301 & data$time > 6)
  data$y[who == 7] <- 80
  index <- c("unit", "time")
  clipped <- transform(data, y = pmin(pmax(y, 1), 10))
  for (model in list(cos(y) ~ on, log(y) ~ on)) {
    suppressMessages(fit <- dp_synth(model, data, index, epsilon = 4, bounds = list(y = c(1, 10))))
    expect_identical(
      pdp(fit, model, data = data, index = index)$donors,
      pdp(fit$release, model, data = clipped, index = index)$donors
    )
    # The value becomes NaN before it is clipped.
    data$y[who == 7] <- -3
    clipped$y[who == 7] <- 1
  }
})

test_that("pdp() gives the same losses for a release by gram and for its JSON file", {
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
