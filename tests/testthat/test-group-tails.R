# Means of groups, if a few donors change far more after the event than all others: their part of
# the mean is partly cut off, and the interval must not be as short as for the others alone.

# People with a level and noise; a share of them changes by `jump` after the eighth of 12 periods.
jumping_people <- function(n, share, jump) {
  rows <- 30 + stats::rnorm(n, 0, 3) + matrix(stats::rnorm(12 * n, sd = 2), n)
  rows[, 9:12] <- rows[, 9:12] + jump * (stats::runif(n) < share)
  pmin(pmax(rows, 0), 120)
}

jumping_fit <- function(n, size, share, jump, epsilon = 1) {
  rows <- jumping_people(n + size, share, jump)
  suppressWarnings(dp_synth(rows[1:n, ],
    target = colMeans(rows[n + 1:size, ]), T0 = 8, epsilon = epsilon, bounds = c(0, 120),
    size = size, control = dp_control(rng = "R")
  ))
}

test_that("an interval for a group covers although some donors change far more than the others", {
  withr::local_seed(41)
  runs <- if (is_audit()) 100 else 12
  for (design in list(c(5000, 200, 0.03, 60), c(3000, 60, 0.1, 60), c(4000, 100, 0.05, -30))) {
    fits <- lapply(seq_len(runs), function(k) do.call(jumping_fit, as.list(design)))
    covers <- vapply(fits, function(fit) {
      row <- tidy(fit, conf.int = TRUE)[1L, ]
      row$conf.low <= 0 && row$conf.high >= 0
    }, NA)
    expect_gte(mean(covers), 0.83)
    told <- vapply(fits, function(fit) fit$spread[[1L]]$shift > 0, NA)
    expect_gte(mean(told), 0.83)
    expect_match(
      paste(utils::capture.output(summary(fits[[which(told)[[1L]]]])), collapse = " "),
      "a few donors change far more"
    )
  }
})

test_that("without such donors the range is hardly ever extended, and nothing is added", {
  withr::local_seed(42)
  fits <- lapply(1:30, function(k) jumping_fit(2000, 50, 0, 0))
  shift <- vapply(fits, function(fit) fit$spread[[1L]]$shift, 0)
  expect_lte(sum(shift > 0), 2)
  width <- vapply(fits, function(fit) tidy(fit)$std.error[[1L]], 0)
  expect_lt(stats::median(width), 0.24)
})

test_that("a donor changes the draw of the largest errors by at most its exponent", {
  withr::local_seed(43)
  rows <- jumping_people(400, 0.2, 60)
  target <- colMeans(rows[1:40, ])
  fit <- function(donors, control) {
    dp_synth(donors, target = target, T0 = 8, epsilon = 6, bounds = c(0, 120), size = 40,
      control = control)
  }
  from <- to <- rows
  from[1L, ] <- 30
  to[1L, ] <- c(rep(0, 8), rep(120, 4))
  audit <- dp_audit(audit_mechanism(fit, epsilon = 6), from, to, n_runs = 3, mode = "replay")
  expect_false(audit$violated)
  expect_true("range of the largest errors" %in% audit$table$call)
})

test_that("no tail of errors shifts a mean by more than the bound from its second moment", {
  # Adversarial search over two-point and many-point tails: E (a - R)_+ against E a^2 / (4 R).
  withr::local_seed(44)
  largest <- 0
  for (round in 1:4000) {
    cut <- 10^stats::runif(1, -2, 0)
    errors <- cut * 2^stats::rnorm(sample(1:5, 1L), 1, sample(c(0.01, 1, 3), 1L))
    shares <- 10^stats::runif(length(errors), -4, -1)
    second <- sum(shares * errors^2)
    # A range so small that only the length of rows limits the shift.
    bound <- hidden_shift_cpp(1e-6, 1e-3 * cut, second, 0, cut)
    largest <- max(largest, sum(shares * pmax(0, errors - cut)) / bound)
  }
  expect_lte(largest, 1 + 1e-12)
  expect_gt(largest, 0.99)
  # Errors anywhere within the range: their mean, all of it cut off, is at most the other bound.
  for (range in c(0.1, 2)) {
    for (errors in list(range * (1:100) / 100, range / 2, range * stats::rbeta(1e5, 2, 2))) {
      share <- 0.03
      second <- 0.001 + share * mean(errors^2)
      bound <- hidden_shift_cpp(0.01, range, second, 0.001, Inf)
      expect_equal(bound, 2 * share * mean(errors^2) / range)
      expect_gte(bound / (share * mean(errors)), 0.99)
    }
  }
  # No tail: a range within an octave, or one not far from the model's deviation.
  expect_identical(hidden_shift_cpp(0.1, 0.2, 1, 0.1, 1), 0)
  expect_identical(hidden_shift_cpp(0.1, 0.3, 0.01, 0.01, 1), 0)
  expect_gt(hidden_shift_cpp(0.1, 0.3, 0.02, 0.01, 1), 0)
})
