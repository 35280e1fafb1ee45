# protect = "everyone": people far from the rest of their group.

# Most people are close together, and the bounds are wide.
panel_with_far <- function(n, m, share, by, seed = 1, T0 = 8, T1 = 4, within = 2.5) {
  withr::local_seed(seed)
  x <- 50 + stats::rnorm(n + m, 0, 5) + matrix(stats::rnorm((n + m) * (T0 + T1), 0, within), n + m)
  drop <- by * (stats::runif(m) < share)
  x[n + seq_len(m), T0 + seq_len(T1)] <- x[n + seq_len(m), T0 + seq_len(T1)] - drop
  x <- (pmin(pmax(x, 0), 100) - 50) / 50
  list(
    donors = x[seq_len(n), ], group = x[n + seq_len(m), ], T0 = T0, T1 = T1,
    truth = -mean(drop) / 50
  )
}

test_that("intervals cover the average effect if the treatment acts on some people only", {
  covers <- function(share, by, seed) {
    p <- panel_with_far(1500, 300, share, by, seed)
    fit <- withr::with_seed(seed, suppressWarnings(protected_fit(p, epsilon = 1)))
    limits <- tidy(fit, conf.int = TRUE)[1L, ]
    limits$conf.low <= p$truth && p$truth <= limits$conf.high
  }
  # Without tails these intervals cover in fewer than one of four releases.
  expect_gte(mean(vapply(1:15, function(seed) covers(0.15, 40, seed), NA)), 0.8)
  expect_gte(mean(vapply(1:15, function(seed) covers(0.2, 12, seed), NA)), 0.8)
  expect_gte(mean(vapply(1:15, function(seed) covers(0, 0, seed), NA)), 0.85)
})

test_that("weights times knots add up to the average residual of people far from their group", {
  # Lemma 9 by number: with a large budget the tails are those of a plain computation.
  p <- panel_with_far(300, 200, 0.1, 40, within = 0.5)
  x <- withr::with_seed(2, suppressWarnings(protected_fit(p, epsilon = 100)))
  x <- x$release$statistics$treated
  last <- x$rounds[[3L]]
  z <- sweep(p$group %*% x$loadings, 2L, last$origin)
  along <- rowSums(z[, seq.int(to = ncol(z), length.out = p$T1)]) / sqrt(p$T1)
  far <- abs(along) > last$knots[[1L]] & abs(along) <= max(last$knots)
  expect_gt(sum(far), 10)
  by_hand <- vapply(seq_along(last$knots), function(k) {
    sum(vapply(along, function(u) {
      at <- c(last$bend, last$knots)
      right <- match(TRUE, at >= abs(u))
      w <- if (is.na(right)) {
        c(0, 1, length(last$knots))
      } else if (right == 1L) {
        c(0, 0, 1)
      } else {
        ratio <- at[[right]] / at[[right - 1L]]
        position <- abs(u) / at[[right - 1L]]
        second <- (ratio * position - sqrt(1 + ratio^2 - position^2)) / (1 + ratio^2)
        c(sqrt(1 - second^2), second, right - 1L)
      }
      # The two weights are a unit vector, and linear in the position.
      expect_lte(sum(w[1:2]^2), 1 + 1e-12)
      sign(u) * ((w[[3L]] == k) * w[[2L]] + (w[[3L]] - 1 == k) * w[[1L]])
    }, 0))
  }, 0) / nrow(p$group)
  expect_lt(max(abs(last$tail - by_hand)), 5 * last$tail_sd)
  expect_gt(max(abs(by_hand)), 50 * last$tail_sd)
  # Beyond the first knot nothing is lost.
  beyond <- which(far)
  position <- outer(abs(along[beyond]), last$knots, "/")
  expect_true(all(position[, 1L] >= 1))
  expect_gt(abs(x$far$shift), 0)
})

test_that("no person changes a round with a tail by more than the declared sensitivity", {
  # Attack on Lemma 9: people far from a group that is close together, at the knots and between.
  p <- panel_with_far(150, 60, 0.1, 40, T0 = 5, T1 = 2)
  p$donors <- p$donors / 4
  p$group <- p$group / 4
  row <- function(after) c(rep(0, 5), rep(after, 2))
  largest <- 0
  for (part in c("donors", "group")) {
    for (after in list(c(-1, 1), c(0.3, -0.6), c(0.05, 1), c(0.15, 0.45))) {
      here <- there <- p
      here[[part]][1, ] <- row(after[[1L]])
      there[[part]][1, ] <- row(after[[2L]])
      table <- withr::with_seed(4, audit_protected(here, there, epsilon = 4))
      account <- if (part == "donors") "donors" else "treated"
      expect_identical(unique(table$account[table$moved]), account)
      expect_lte(max(table$ratio), 1 + 1e-9)
      expect_lte(sum(table$share[table$moved]), 1 + 1e-6)
      moments <- grepl("moments of the treated", table$step)
      if (part == "group") largest <- max(largest, table$ratio[moments])
    }
  }
  expect_gt(largest, 0.5)
})

test_that("tails are read back and checked, and prints state which share of people noise hides", {
  p <- panel_with_far(400, 200, 0.3, 40)
  fit <- withr::with_seed(5, suppressWarnings(protected_fit(p, epsilon = 2)))
  path <- withr::local_tempfile(fileext = ".json")
  write_release(fit$release, path, allow_not_private = TRUE)
  back <- read_release(path)
  expect_equal(back$statistics$treated$far, fit$release$statistics$treated$far)
  expect_null(release_problem(back))
  back$statistics$treated$far$shift <- 0
  expect_match(release_problem(back), "treated group")
  expect_output(print(fit), "only a few treated people \\(fewer than about [0-9]+ %\\) is not seen")
  real <- suppressWarnings(protected_fit(p, epsilon = 2, control = dp_control()))
  said <- paste(unlist(report(real)), collapse = " ")
  expect_match(said, "An effect on only a few treated people")
  pure <- withr::with_seed(5, suppressWarnings(protected_fit(p, epsilon = 8, delta = 0)))
  expect_null(pure$release$statistics$treated$far)
  expect_output(print(pure), "on only a few treated people is not seen")
})

test_that("the effect of far people equals a slow computation in R", {
  withr::local_seed(8)
  for (round in 1:300) {
    size <- sample(1:6, 1L)
    tail_of <- function(knots) {
      x <- matrix(stats::rnorm(size^2), size)
      c(
        list(
          tail = stats::rnorm(size, 0, 0.1), tail_sd = stats::runif(1, 0.005, 0.1),
          both = crossprod(x) / 100 - diag(size) * stats::runif(1, 0, 0.02),
          both_sd = stats::runif(1, 0.002, 0.05)
        ),
        if (knots) list(knots = stats::runif(1, 0.1, 5) * 2^seq_len(size))
      )
    }
    weights <- stats::runif(3)
    treated <- list(
      rounds = replicate(3, tail_of(TRUE), simplify = FALSE), weights = weights / sum(weights),
      mean_sd = stats::runif(1, 0.001, 1), kept = stats::runif(1, 0.3, 1)
    )
    control <- c(tail_of(FALSE), mean_sd = stats::runif(1, 0.001, 0.1))
    fast <- far_people(treated, control)
    slow <- slow_far_people(treated, control)
    expect_equal(fast[names(slow)], slow, tolerance = 1e-10)
    expect_equal(fast$least, max(far_gate) * max(slow$sd), tolerance = 1e-10)
  }
})
