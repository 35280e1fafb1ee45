# Descriptions of few people: radii drawn late, and limits above the noise. Proof:
# inst/proofs/describe.md.

few_described <- function(x, bounds, ..., seed = NULL, epsilon = 1) {
  if (!is.null(seed)) withr::local_seed(seed)
  dp_describe(~x, data.frame(x = x),
    epsilon = epsilon, bounds = list(x = bounds), ...,
    control = if (is.null(seed)) dp_control() else dp_control(rng = "R")
  )
}

few_row <- function(found, statistic, ...) {
  table <- tidy(found, ...)
  table[table$statistic == statistic, ]
}

mostly_zero <- function(n, share, seed = 1) {
  withr::with_seed(seed, ifelse(stats::runif(n) < share, 0, stats::rexp(n, 1 / 20)))
}

# The largest log-ratio between neighbours, by brute force, of all outputs and of the outputs after
# the quartiles: two choices, then a count with geometric noise, preceded by a radius if the choices
# coincide.
late_loss <- function(here, there, e1, e, coincide = NULL, undivided = FALSE) {
  cells <- seq_along(here)
  choice <- function(losses, cost) {
    weight <- exp(-cost / 2 * losses)
    weight / sum(weight)
  }
  places <- function(counts, q) choice(place_losses_cpp(counts, q) / 1000, e1 / 2)
  radii <- function(counts, y) {
    beyond <- vapply(0:3, function(r) sum(counts[abs(cells - y) > r]), 0)
    choice(pmax(beyond - 2, 2 - c(sum(counts), beyond[-4L])), e / 2)
  }
  within <- function(counts, y, r) sum(counts[abs(cells - y) <= r])
  by_rows <- function(counts) {
    which.max(cumsum(counts) >= sum(counts) / 4) == which.max(cumsum(counts) >= 3 * sum(counts) / 4)
  }
  if (identical(coincide, "rows") && by_rows(here) != by_rows(there)) {
    return(c(all = Inf, after = Inf))
  }
  worst <- c(all = -Inf, after = -Inf)
  for (i in cells) {
    for (j in cells) {
      quantiles <- log(places(here, 250)[[i]] * places(here, 750)[[j]]) -
        log(places(there, 250)[[i]] * places(there, 750)[[j]])
      moments <- if (i == j) {
        sums <- vapply(0:3, function(r) abs(within(here, i, r) - within(there, i, r)), 0)
        max(log(radii(here, i)) - log(radii(there, i)) + (if (undivided) e else e / 2) * sums)
      } else {
        e * abs(within(here, i, abs(j - i)) - within(there, i, abs(j - i)))
      }
      worst <- pmax(worst, c(quantiles + moments, moments))
    }
  }
  worst
}

test_that("radii chosen by noisy quantiles do not increase the cost of quantiles and moments", {
  # Plants faults 83, 84.
  withr::local_seed(21)
  worst <- function(...) {
    apply(vapply(1:60, function(run) {
      here <- as.double(stats::rpois(5, 2)) + 6 * (seq_len(5) == run %% 6)
      if (!sum(here)) here[[1L]] <- 1
      from <- sample(rep(which(here > 0), 2), 1)
      there <- replace(here, from, here[[from]] - 1)
      to <- sample(5, 1)
      there[to] <- there[to] + 1
      late_loss(here, there, 0.8, 1, ...)
    }, c(0, 0)), 1, max)
  }
  found <- worst()
  expect_lte(found[["all"]], 0.8 + 1)
  expect_lte(found[["after"]], 1 + 1e-12)
  expect_identical(worst(coincide = "rows")[["all"]], Inf)
  expect_gt(worst(undivided = TRUE)[["after"]], 1.05)
})

test_that("if radii depend on noisy quantiles, losses between neighbours are within the budget", {
  withr::local_seed(6)
  here <- data.frame(x = mostly_zero(400, 0.85), arm = rep(c("new", "old"), 200))
  for (by in list(NULL, ~arm)) {
    found <- dp_describe(~x, here, by = by, epsilon = 1, delta = 0,
      bounds = list(x = c(0, 500), arm = c("new", "old")))
    expect_true(found$plan$late || !is.null(by))
    for (x in c(500, NA)) {
      there <- here
      there$x[[1L]] <- x
      there$arm[[1L]] <- "old"
      verb <- function(people, control) {
        dp_describe(~x, people, by = by, epsilon = 1, delta = 0, control = control,
          bounds = list(x = c(0, 500), arm = c("new", "old")))
      }
      audit <- dp_audit(audit_mechanism(verb), here, there, n_runs = 1, mode = "replay")
      expect_false(audit$violated)
      expect_lte(max(audit$table$ratio), 1)
    }
  }
})

test_that("if quartiles coincide, radii are drawn after quantiles, and the steps list the cost", {
  equal <- few_described(mostly_zero(500, 0.85), c(0, 5000), seed = 1)
  spread <- few_described(withr::with_seed(1, stats::rexp(500)), c(0, 50), seed = 1)
  expect_true(equal$plan$late)
  expect_gt(max(equal$release$numbers[[1L]]$radii), 0)
  expect_identical(max(spread$release$numbers[[1L]]$radii), 0)
  expect_true("moments after radii" %in% equal$steps$step)
  expect_false("moments after radii" %in% spread$steps$step)
  for (found in list(equal, spread)) {
    cost <- found$steps[[5L]]
    expect_lte(sum(cost), 1)
    expect_gte(sum(cost), 0.99)
    expect_gt(min(cost), 0)
  }
  path <- withr::local_tempfile(fileext = ".json")
  skip_if_not_installed("jsonlite")
  write_release(equal, path, allow_not_private = TRUE)
  again <- read_release(path)
  expect_equal(tidy(again), tidy(equal))
  expect_identical(again$steps, equal$steps)
  # The bounds are 250 standard deviations wide. Without a radius the noise on the mean would be 40.
  expect_lt(abs(few_row(equal, "mean")$estimate - 3), 15)
})

test_that("noisy counts of people beyond a window usually do not extend limits to the bounds", {
  wide <- vapply(1:20, function(seed) {
    x <- withr::with_seed(seed, stats::rlnorm(500, 7, 1))
    found <- few_described(x, c(0, 300000), seed = seed)
    short <- lapply(c("mean", "sd"), function(what) few_row(found, what, clusters = FALSE))
    c(short[[1L]]$conf.high, short[[2L]]$conf.high)
  }, c(0, 0))
  # The mean is 1,808 and the standard deviation 2,370.
  expect_gte(mean(wide[1L, ] < 5000), 0.9)
  # A quarter of such columns appear too skewed for a limit.
  expect_gte(mean(wide[2L, ] < 20000), 0.5)
  expect_gte(mean(wide[2L, ] > 2370), 0.9)
})

test_that("for a very skewed column the SD's upper limit exceeds 80 % of the largest possible SD", {
  x <- withr::with_seed(2, stats::runif(500)^(-1 / 1.1))
  found <- few_described(x, c(0, 10000), seed = 3)
  expect_gt(few_row(found, "sd")$conf.high, 4000)
})

# Most people are around 0, and a share of them is at `far`.
clustered <- function(n, share, far) ifelse(stats::runif(n) < share, far, 0) + stats::rnorm(n)

test_that("limits of means and SDs cover at least 93 % if some values are far outliers", {
  runs <- if (is_audit()) 200 else 24
  for (case in list(c(500, 0.02, 900), c(500, 0.1, 100), c(1000, 0.1, 900), c(5000, 0.02, 900))) {
    truth <- case[[2L]] * case[[3L]]
    spread <- sqrt(1 + case[[2L]] * (1 - case[[2L]]) * case[[3L]]^2)
    covered <- vapply(seq_len(runs), function(seed) {
      x <- withr::with_seed(seed, clustered(case[[1L]], case[[2L]], case[[3L]]))
      found <- few_described(x, c(-1000, 1000), seed = seed)
      middle <- few_row(found, "mean")
      width <- few_row(found, "sd")
      c(middle$conf.low <= truth && truth <= middle$conf.high,
        width$conf.low <= spread && spread <= width$conf.high)
    }, NA[1:2])
    expect_gte(min(rowMeans(covered)), 0.93 - 2 * sqrt(0.93 * 0.07 / runs))
  }
})

test_that("limits of means of 5,000 people without outliers are below 0.5 wide in 80 % of runs", {
  wide <- vapply(1:20, function(seed) {
    x <- withr::with_seed(seed, stats::rnorm(5000))
    found <- few_described(x, c(-1000, 1000), seed = seed)
    few_row(found, "mean")$conf.high - few_row(found, "mean")$conf.low
  }, 0)
  expect_gte(mean(wide < 0.5), 0.8)
})

test_that("the limit on the number of people beyond a window is not below their number", {
  found <- few_described(stats::rnorm(500), c(-1000, 1000), seed = 5)
  x <- c(seq(-3, 3, length.out = 470), rep(300, 30))
  # Sums of this column without noise, in the window given by the released quantiles.
  own <- found$release$numbers[[1L]]$quantiles <- c(-0.7, 0, 0.7)
  unit <- found$plan$moments
  expect_identical(found$release$numbers[[1L]]$radii, c(0, 0))
  z <- pmin(pmax(x / 4.9, -1), 1)
  found$release$numbers[[1L]]$sums <- c(
    length(x) * unit$small, sum(z) * unit$one, sum(z^2) * unit$square, sum(z^4) * unit$rest,
    sum(abs(x) > 4.9) * unit$rest
  )
  far <- dpsc:::unseen_people(found)
  expect_equal(c(far$low, far$high), c(-4.9, 4.9))
  noise <- log(10) * unit$scale / unit$square / 500
  # The number of people also contains noise.
  expect_gt(far$share, mean(z^2) - 0.4 / 49 + noise)
  expect_lt(far$share, mean(z^2) - 0.4 / 49 + 1.5 * noise)
  expect_gt(far$share, 0.06)
  # The limits allow for unseen people at a bound.
  expect_gt(few_row(found, "mean")$conf.high, 0.06 * 995)
  expect_gt(few_row(found, "sd")$conf.high, sqrt(0.06) * 995)
  expect_match(utils::capture.output(print(found)), "noise may hide", all = FALSE)
  short <- few_row(found, "mean", clusters = FALSE)
  expect_lt(short$conf.high, 3)
  expect_match(utils::capture.output(print(found, clusters = FALSE)), "assume that no", all = FALSE)
  expect_error(tidy(found, clusters = NA), class = "dpsc_error_argument")
})

test_that("limits of quantiles cover at least 90 % for 500 people and 11 distinct values", {
  truth <- c(2, 5, 8)
  covered <- vapply(1:20, function(seed) {
    x <- withr::with_seed(seed, floor(stats::runif(500) * 11))
    table <- tidy(few_described(x, c(0, 20), seed = seed))[4:6, ]
    table$conf.low <= truth & truth <= table$conf.high
  }, NA[1:3])
  expect_gte(min(rowMeans(covered)), 0.9)
})

test_that("dp_describe() counts a rare level among 2,000 people with a mean error below 1.05", {
  off <- vapply(seq_len(if (is_audit()) 600 else 200), function(seed) {
    ill <- withr::with_seed(seed, stats::runif(2000) < 0.03)
    withr::local_seed(seed)
    table <- tidy(dp_describe(~ill, data.frame(ill = ill),
      epsilon = 1, bounds = list(ill = c(FALSE, TRUE)), control = dp_control(rng = "R")))
    2000 * abs(table$estimate[[2L]] - mean(ill))
  }, 0)
  # The error is a Laplace draw of scale 1. The standard error of 600 runs is 0.04.
  expect_lt(mean(off), 1.05)
})
