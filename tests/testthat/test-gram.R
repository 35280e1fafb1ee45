# The default method, piece by piece: rows on a grid of integers, the radius, the joint moments, and
# how two rounds share a budget. inst/proofs/gram.md says why each of these must hold.

gram_public <- function(T0 = 6, T1 = 2, n = 200, epsilon = 1, delta = 1e-6,
                        y = sin(seq_len(T0)) / 2, ...) {
  list(
    method = "gram", private = TRUE, epsilon = epsilon, delta = delta, n = n, T0 = T0, T1 = T1,
    y = y, bounds = new_bounds(c(-1, 1), T0 + T1), control = dp_control(rng = "R", ...)
  )
}

# A random public map: bounds by period, loadings over many orders of magnitude.
random_map <- function(periods = sample(2:9, 1), d = sample.int(periods, 1)) {
  half <- 10^stats::runif(periods, -sample(c(0, 2, 9, 100), 1), 0)
  middle <- stats::rnorm(periods) * half * sample(c(0, 1, 1e4), 1)
  unit <- 10^stats::runif(1, -100, 100)
  bounds <- new_bounds(cbind(middle - 2 * half, middle + 2 * half) * unit, periods)
  loadings <- matrix(stats::rnorm(periods * d), periods) * 10^stats::runif(1, -50, 50)
  loadings <- loadings %*% diag(10^stats::runif(d, 0, sample(c(1, 7, 12), 1)), d)
  origin <- stats::rnorm(d) * max(abs(loadings)) * sample(c(0, 1, 1e3), 1)
  list(bounds = bounds, rows = row_map(bounds, loadings, origin, on_grid = TRUE))
}

# Rows inside, at and far beyond the bounds, and those that push a feature furthest.
random_rows <- function(bounds, loadings, n = 12) {
  periods <- length(bounds$half)
  width <- rep(bounds$upper - bounds$lower, each = n)
  x <- matrix(rep(bounds$lower, each = n) + stats::runif(n * periods) * width, n)
  x[1:3, ] <- sample(c(-1, 1), 3 * periods, TRUE) * .Machine$double.xmax
  x[4, ] <- bounds$upper
  x[5, ] <- bounds$centre
  x[6, ] <- ifelse(loadings[, 1] < 0, -1, 1) * .Machine$double.xmax
  x[7, ] <- -x[6, ]
  x
}

# The documented formula, one step a line. Everything below 2^53, so these are the integers.
naive_features <- function(x, map) {
  q <- sweep(x, 2L, map$centre) * map$scale
  limit <- rep(map$limit, each = nrow(x))
  q <- round(pmax(pmin(q, limit), -limit))
  sweep(round(q %*% map$loadings * map$rescale), 2L, map$origin)
}

one_row <- function(x, rows, on_grid, clipped) {
  clipped_moments_cpp(matrix(x, 1L), rows$map, on_grid, clipped / on_grid, clipped)
}

test_that("features are the documented integers, and their squared norms below 2^53", {
  withr::local_seed(1)
  largest <- 0
  for (i in 1:300) {
    map <- random_map()
    x <- random_rows(map$bounds, map$rows$map$loadings)
    z <- row_features_cpp(x, map$rows$map)
    expect_identical(z, naive_features(x, map$rows$map))
    norm2 <- rowSums(z^2)
    expect_true(all(z == round(z)) && all(norm2 < 2^53))
    # The public reach holds, up to the rounding of d entries.
    expect_true(all(sqrt(norm2) * map$rows$unit <= map$rows$reach + 2 * ncol(z) * map$rows$unit))
    largest <- max(largest, norm2)
  }
  # Not much finer would fit.
  expect_gt(largest, 2^46)
})

test_that("a row map that could leave the exact integers is refused", {
  rows <- row_map(new_bounds(c(-1, 1), 3), diag(3), numeric(3), on_grid = TRUE)
  refused <- function(...) {
    map <- utils::modifyList(rows$map, list(...))
    expect_error(row_features_cpp(matrix(0, 1, 3), map))
    expect_error(radius_counts_cpp(matrix(0, 1, 3), map, 1))
    expect_error(clipped_moments_cpp(matrix(0, 1, 3), map, 1, 1, 1))
  }
  refused(loadings = diag(3) / 2)
  refused(loadings = diag(3) * 2^31)
  refused(limit = c(1, 1, 2^51))
  refused(limit = c(1, 1, 0.5))
  refused(origin = c(0, 0, 0.25))
  refused(origin = c(0, 0, 2^27))
  refused(rescale = 3)
  refused(rescale = 2^20)
  refused(scale = Inf)
  refused(centre = c(0, 0, NaN))
  expect_error(one_row(numeric(3), rows, 0, 64))
  expect_error(one_row(numeric(3), rows, 10, 64.5))
  expect_error(radius_counts_cpp(matrix(0, 1, 3), rows$map, c(4, 1)))
})

test_that("clipped rows are integers within the radius, whatever the row", {
  withr::local_seed(2)
  within <- function(x, rows, on_grid, clipped) {
    m <- one_row(x, rows, on_grid, clipped)
    all(m$sum == round(m$sum)) && sum(m$sum^2) <= clipped^2 && identical(m$gram, tcrossprod(m$sum))
  }
  for (i in 1:150) {
    map <- random_map()
    x <- random_rows(map$bounds, map$rows$map$loadings)
    size <- sqrt(rowSums(row_features_cpp(x, map$rows$map)^2))
    on_grid <- max(1, floor(sample(c(size, 1), 1) * sample(c(0.01, 0.5, 1, 3), 1)))
    clipped <- 2^sample(6:12, 1)
    for (k in seq_len(nrow(x))) expect_true(within(x[k, ], map$rows, on_grid, clipped))
  }
  # Entries that all round up: the row must be shortened.
  for (d in c(2, 7, 40, 120)) {
    rows <- row_map(new_bounds(c(-1, 1), d), diag(d), numeric(d), on_grid = TRUE)
    for (clipped in 2^c(6, 9, 12)) {
      entry <- (floor(clipped / sqrt(d)) + 0.5) / clipped
      x <- entry * sample(c(-1, 1), d, TRUE)
      on_grid <- floor(1 / rows$unit)
      expect_true(within(x, rows, on_grid, clipped))
      expect_true(within(x * (1 - 1e-9), rows, on_grid, clipped))
      expect_true(within(100 * x, rows, on_grid, clipped))
    }
  }
})

test_that("a row inside the radius is only rounded, one outside keeps its direction", {
  rows <- row_map(new_bounds(c(-1, 1), 4), diag(4), numeric(4), on_grid = TRUE)
  on_grid <- floor(0.9 / rows$unit)
  inside <- c(0.3, -0.2, 0.1, 0.7)
  expect_equal(one_row(inside, rows, on_grid, 4096)$sum, inside / 0.9 * 4096, tolerance = 2e-4)
  outside <- c(1, -0.8, 0.9, 0.2)
  cut <- outside / sqrt(sum(outside^2)) * 4096
  expect_lte(max(abs(one_row(outside, rows, on_grid, 4096)$sum - cut)), 2)
})

test_that("counts within radii are those of the rows, ties included", {
  withr::local_seed(3)
  for (i in 1:100) {
    map <- random_map()
    x <- random_rows(map$bounds, map$rows$map$loadings, 30)
    norm2 <- rowSums(row_features_cpp(x, map$rows$map)^2)
    squared <- sort(c(sample(norm2, 3), floor(stats::runif(3) * max(norm2)), 0))
    counts <- drop(radius_counts_cpp(x, map$rows$map, squared))
    expect_identical(counts, vapply(squared, function(s) as.double(sum(norm2 <= s)), 0))
  }
})

# What a plan spends, from the noise it will draw and the shifts that are proved.
spent <- function(plan) {
  steps <- plan$steps_plan
  d <- ncol(plan$features$loadings)
  exponents <- floor(c(steps$radius1$exponent, steps$radius2) * 2^20) / 2^20
  moments <- steps[c("moments1", "moments2")]
  squared <- vapply(moments, function(m) m$radius^2 + m$constant^2, 0)
  if (plan$cost$kind == "zcdp") {
    sum(exponents^2) / 8 + sum(squared^2 / vapply(moments, `[[`, 0, "variance"))
  } else {
    sum(exponents) + sum((d + 2) * squared / vapply(moments, `[[`, 0, "scale"))
  }
}

test_that("steps add up to the budget and never exceed it", {
  withr::local_seed(4)
  expect_equal(sum(gram_constants$shares), 1)
  for (i in 1:200) {
    T0 <- sample(2:30, 1)
    public <- gram_public(T0, sample(1:9, 1), round(10^stats::runif(1, 0.4, 7)),
      epsilon = 10^stats::runif(1, -1, 3), delta = sample(c(0, 1e-6, 1e-40, 0.1), 1),
      features = sample(list(NULL, 1, T0 - 1, Inf), 1)[[1L]]
    )
    plan <- plan_gram(public)
    gaussian <- public$delta > 0
    expect_identical(plan$cost$kind, if (gaussian) "zcdp" else "pure")
    budget <- if (gaussian) plan$cost$rho else plan$cost$epsilon
    total <- if (gaussian) cdp_rho(public$epsilon, public$delta) else public$epsilon
    expect_identical(budget, total)
    expect_lte(spent(plan), budget)
    # What is lost is the rounding of exponents to 2^-20, and of small noise to whole numbers.
    expect_gt(spent(plan) / budget, 0.99)
    # The steps as they are told say the same.
    told <- plan$steps[[if (gaussian) "rho" else "epsilon"]]
    expect_equal(sum(told), budget)
    for (step in plan$steps_plan[c("moments1", "moments2")]) {
      expect_true(step$radius %in% 2^(6:12))
      expect_true(step$constant == round(step$constant) && step$constant >= 1)
      expect_lte(step$constant, step$radius)
      if (gaussian) {
        # Half of it is the variance off the diagonal, a whole number too.
        expect_true(step$variance %% 2 == 0 && step$variance >= 2 && step$variance <= 2^55)
      } else {
        expect_true(step$scale == round(step$scale) && step$scale >= 1 && step$scale <= 2^52)
      }
    }
  }
})

test_that("prices and radii of a search are whole and increasing", {
  withr::local_seed(5)
  for (i in 1:100) {
    low <- 10^stats::runif(1, -5, 0)
    step <- plan_radius(10^stats::runif(1, -8, 3), low, low * 2^stats::runif(1, 0.1, 10),
      round(10^stats::runif(1, 0.4, 9))
    )
    expect_true(step$price >= 1 && step$price == round(step$price))
    expect_false(is.unsorted(step$radii, strictly = TRUE))
    expect_lte(step$radii[[1L]], low * (1 + 1e-9))
  }
})

test_that("an epsilon that is too small is refused before the charge, with no noise drawn", {
  panel <- toy_panel(n = 30, T0 = 5, T1 = 2)
  ledger <- dp_ledger(1, 1e-6)
  withr::local_seed(6)
  state <- .Random.seed
  for (delta in c(0, 1e-6)) {
    for (epsilon in c(1e-5, 1e-9, 1e-300)) {
      expect_error(
        dp_release(panel$donors,
          target = panel$target, T0 = 5, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
          ledger = ledger, control = dp_control(rng = "R")
        ),
        "too small",
        class = "dpsc_error_argument"
      )
    }
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  expect_identical(.Random.seed, state)
})

# A run with the noisy steps replaced by given answers; what the steps were asked is kept.
scripted_run <- function(public, donors, pick, moments) {
  asked <- list()
  keep <- function(...) asked <<- c(asked, list(list(...)))
  scope <- changed_namespace(list(
    release_radius = function(donors, rows, step, n, rng) {
      keep("radius", rows, step, n)
      step$radii[[pick]]
    },
    release_moments = function(donors, rows, radius, step, n, rng) {
      keep("moments", rows, radius, step, n)
      moments
    }
  ))
  released <- scope$run_gram(plan_gram(public), donors, public)
  list(asked = asked, released = released)
}

test_that("the second round is planned from the first one's outputs, not from donors", {
  withr::local_seed(7)
  for (delta in c(0, 1e-6)) {
    public <- gram_public(delta = delta, n = 20)
    d <- ncol(plan_gram(public)$features$loadings)
    one <- matrix(stats::runif(160, -1, 1), 20)
    other <- matrix(sample(c(-1, 1), 160, TRUE), 20)
    moments <- function(scale) {
      list(
        mean = scale * stats::rnorm(d),
        moment = scale^2 * crossprod(matrix(stats::rnorm(d * d), d)),
        mean_sd = 0.01, moment_sd = 0.02
      )
    }
    # Released moments that no donors have, too: not positive, far beyond the radius, all zero.
    for (given in list(moments(0.3), moments(1e6), lapply(moments(0), abs))) {
      given$moment <- given$moment - diag(0.1 * sample(0:1, 1), d)
      run <- scripted_run(public, one, 3, given)
      expect_identical(scripted_run(public, other, 3, given), run)
      expect_identical(vapply(run$asked, `[[`, "", 1L), rep(c("radius", "moments"), 2))
      # Budgets of both rounds are those of the plan.
      plan <- plan_gram(public)$steps_plan
      expect_identical(run$asked[[3L]][[3L]]$exponent, plan$radius2)
      expect_identical(run$asked[[4L]][[4L]], plan$moments2)
      # And its map is one the passes accept.
      z <- row_features_cpp(one, run$asked[[3L]][[2L]]$map)
      expect_true(all(z == round(z)) && all(rowSums(z^2) < 2^53))
    }
  }
})

test_that("whitening and its way back cancel, also when the noise is all there is", {
  withr::local_seed(8)
  for (i in 1:30) {
    d <- sample(1:6, 1)
    first <- list(
      mean = stats::rnorm(d),
      moment = crossprod(matrix(stats::rnorm(d^2), d)) - diag(stats::rexp(1), d),
      mean_sd = 1, moment_sd = 10^stats::runif(1, -12, 3)
    )
    frame <- whitening(first, radius <- stats::rexp(1))
    expect_equal(frame$whiten %*% t(frame$restore), diag(d), tolerance = 1e-6)
    expect_lte(sqrt(sum(frame$centre^2)), radius * (1 + 1e-12))
    expect_true(frame$spread > 0 && frame$spread <= radius * sqrt(d) * (1 + 1e-12))
  }
  # A mean of exactly zero has no direction.
  zero <- whitening(list(mean = c(0, 0), moment = matrix(0, 2, 2), moment_sd = 1), 1)
  expect_identical(zero$centre, c(0, 0))
})

test_that("with noise of one grid step, released moments are those of the clipped rows", {
  withr::local_seed(9)
  d <- 3
  x <- matrix(stats::runif(40 * d, -1, 1), 40)
  rows <- row_map(new_bounds(c(-1, 1), d), diag(d), c(0.1, 0, -0.2), on_grid = TRUE)
  z <- sweep(x, 2L, c(0.1, 0, -0.2))
  z <- z * pmin(1, 1.2 / sqrt(rowSums(z^2)))
  step <- list(radius = 4096, constant = 2896, sigma = sqrt(2))
  for (noise in list(
    list(law = "discrete_gaussian", variance = 2), list(law = "discrete_laplace", scale = 1)
  )) {
    out <- release_moments(x, rows, 1.2, c(step, noise), 40, "R")
    expect_equal(out$mean, colMeans(z), tolerance = 1e-3)
    expect_equal(out$moment, crossprod(z) / 40, tolerance = 1e-3)
    expect_identical(out$moment, t(out$moment))
    expect_equal(out$moment_sd, sqrt(2) * (1.2 / 4096)^2 / 40, tolerance = 1e-5)
    expect_equal(out$mean_sd, 1.2 / 4096 / 2896 / 40, tolerance = 1e-5)
  }
})

test_that("noise has the declared size: V on the diagonal, V / 2 off it and on the sums", {
  withr::local_seed(10)
  rows <- row_map(new_bounds(c(-1, 1), 2), diag(2), c(0, 0), on_grid = TRUE)
  x <- matrix(0, 5, 2)
  for (step in list(
    list(law = "discrete_gaussian", variance = 1e6, sigma = 1e3),
    list(law = "discrete_laplace", scale = 500, sigma = 1e3)
  )) {
    step <- c(list(radius = 64, constant = 64), step)
    draws <- t(replicate(4000, unlist(release_moments(x, rows, 1, step, 5, "R"))))
    sd <- apply(draws, 2L, stats::sd)
    known <- draws[1L, c("mean_sd", "moment_sd")]
    off <- known[["moment_sd"]] / sqrt(2)
    diagonal <- if (step$law == "discrete_gaussian") known[["moment_sd"]] else off
    expected <- c(rep(known[["mean_sd"]], 2), diagonal, off, off, diagonal)
    expect_equal(unname(sd[1:6]), expected, tolerance = 0.08)
    # Independent, but for the two sides of the diagonal.
    correlation <- stats::cor(draws[, c(1:4, 6)])
    expect_lt(max(abs(correlation - diag(5))), 0.08)
  }
})

test_that("features: one, all but one, every period; the level and the target come first", {
  y <- c(0.1, 0.4, -0.3, 0.2, 0.6, 0)
  of <- function(features, ...) plan_gram(gram_public(y = y, features = features, ...))$features
  for (p in c(1, 3, 5)) {
    f <- of(p)
    expect_equal(c(f$pre, ncol(f$loadings)), c(p, p + 2))
    expect_true(f$demean)
    basis <- f$loadings[1:6, seq_len(p), drop = FALSE]
    expect_equal(crossprod(basis), diag(1 / 6, p))
    expect_equal(colSums(basis), numeric(p))
    # Along the target's own path; a post-period value is less the row's own mean.
    expect_equal(abs(drop(crossprod(basis[, 1], y - mean(y)))), sqrt(sum((y - mean(y))^2) / 6))
    expect_equal(drop(c(y, 1, 2) %*% f$loadings[, p + 1:2]), f$weight * (c(1, 2) - mean(y)))
  }
  full <- of(Inf)
  expect_identical(full$loadings, diag(1 / sqrt(6), 8))
  expect_false(full$demean)
  # As many as periods, by the rule: the level too, and nothing is demeaned.
  rich <- of(NULL, n = 1e6)
  expect_identical(rich$pre, 6L)
  expect_false(rich$demean)
  expect_equal(crossprod(rich$loadings[1:6, 1:6]), diag(1 / 6, 6))
  expect_identical(of(NULL, n = 2, epsilon = 0.5)$pre, 1L)
  # A constant target has no path of its own.
  flat <- plan_gram(gram_public(y = rep(0.3, 6), features = 2))$features
  expect_equal(crossprod(flat$loadings[1:6, 1:2]), diag(1 / 6, 2))
  for (f in list(full, rich, flat, of(1))) {
    expect_true(all(is.finite(f$loadings)) && 0 < f$low && f$low <= f$high / 2)
  }
})

test_that("an estimate is the ridge regression of the released moments, written out", {
  panel <- toy_panel(n = 400, T0 = 5, T1 = 2)
  release <- withr::with_seed(11, dp_release(panel$donors,
    target = panel$target, T0 = 5, epsilon = 1e7, bounds = c(-1, 1),
    control = dp_control(rng = "R", lambda = 8)
  ))
  fit <- estimate_gram(release, drop(panel$target))
  x <- panel$donors
  centred <- sweep(x, 2L, colMeans(x))
  s <- crossprod(centred) / 400
  u <- (panel$target - colMeans(x))[1:5]
  # The features are sqrt(5) times smaller than the periods; the penalty is the paper's, on periods.
  w <- solve(s[1:5, 1:5] / 5 + diag(8 / 800 / 5, 5), u / sqrt(5))
  expect_equal(fit$path[6:7], colMeans(x)[6:7] + drop(crossprod(s[1:5, 6:7] / sqrt(5), w)),
    tolerance = 0.02
  )
  for (part in fit[c("prediction", "privacy")]) {
    expect_true(isSymmetric(part) && all(eigen(part, only.values = TRUE)$values > -1e-12))
  }
})

test_that("estimates of any release stay within the bounds, with finite positive variances", {
  panel <- toy_panel(n = 12, T0 = 5, T1 = 3)
  far <- panel$target * 50
  for (seed in 1:10) {
    for (delta in c(0, 1e-6)) {
      release <- withr::with_seed(seed, dp_release(panel$donors,
        target = panel$target, T0 = 5, epsilon = 0.05, delta = delta, bounds = c(-1, 1),
        control = dp_control(rng = "R", features = list(NULL, 1, 4, Inf)[[seed %% 4 + 1]])
      ))
      for (y in list(drop(panel$target), drop(far), numeric(8))) {
        for (estimator in c("ridge", "did")) {
          fit <- estimate_gram(release, y, estimator)
          expect_true(all(abs(fit$path[6:8]) <= 1 + 1e-9) && all(is.finite(fit$path)))
          variances <- c(diag(fit$prediction), diag(fit$privacy))
          expect_true(all(is.finite(variances) & variances >= 0 & variances <= 1 + 1e-9))
        }
      }
    }
  }
})

test_that("sums stay below 2^53 for any number of donors", {
  radius <- function(n, delta) {
    steps <- plan_gram(gram_public(n = n, delta = delta, epsilon = 50))$steps_plan
    vapply(steps[c("moments1", "moments2")], `[[`, 0, "radius")
  }
  for (delta in c(0, 1e-6)) {
    for (n in c(1e3, 2^29 - 1, 2^29, 1e9, 1e12)) expect_true(all(n * radius(n, delta)^2 < 2^53))
    expect_identical(unname(radius(2^29 - 1, delta)), c(4096, 4096))
    expect_identical(unname(radius(2^29, delta)), c(2048, 2048))
  }
})

test_that("targets far outside the bounds at times and huge budgets do no harm", {
  panel <- toy_panel(n = 30, T0 = 5, T1 = 2)
  for (far in c(2, 1e3, 9e5)) {
    for (epsilon in c(1, 1e6, 1e9)) {
      for (features in list(NULL, Inf)) {
        expect_warning(
          release <- withr::with_seed(12, dp_release(panel$donors,
            target = c(far, 0.5, -far, 0, -0.5, far, 0), T0 = 5, epsilon = epsilon, delta = 0,
            bounds = c(-1, 1), control = dp_control(rng = "R", features = features)
          )),
          class = "dpsc_warning_bounds"
        )
        expect_true(all(is.finite(unlist(release$statistics[c("mean", "covariance", "restore")]))))
      }
    }
  }
})

test_that("a radius has one grid step at least", {
  rows <- row_map(new_bounds(c(-1, 1), 2), diag(2), c(2^40, 0), on_grid = TRUE)
  expect_identical(radius_steps(c(1e-9, 1, 2^38), rows), c(1, 1, floor(2^38 / rows$unit)))
  out <- release_moments(matrix(0.5, 3, 2), rows, 1e-3,
    list(law = "discrete_laplace", radius = 64, constant = 64, scale = 1, sigma = 2), 3, "R"
  )
  expect_true(all(is.finite(unlist(out))))
})

test_that("an exponent beyond any budget picks the best", {
  expect_identical(draw_exponential(c(-3, 0, -1), 1e200, "R"), 2L)
})

test_that("bounds that doubles cannot scale are refused, whole numbers are not", {
  expect_error(new_bounds(c(-1, 1) * 1e-302, 3), class = "dpsc_error_bounds")
  whole <- matrix(c(2000000000L, 2100000000L), 3, 2, byrow = TRUE)
  expect_no_warning(scale <- new_bounds(whole, 3))
  expect_identical(scale$centre, rep(2.05e9, 3))
  expect_identical(new_bounds(c(1e308, 1.5e308), 2)$centre, rep(1.25e308, 2))
})
