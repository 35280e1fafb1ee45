# Intervals without privacy: closed forms compared with refits, and the functions that the fit
# calls.

raw_release <- function(rows, T0, lambda = NULL, settings = list(), blocks = NULL) {
  periods <- ncol(rows)
  public <- list(
    n = nrow(rows), T0 = T0, T1 = periods - T0, control = list(lambda = lambda),
    bounds = list(centre = rep(0, periods), half = rep(1, periods), unit = 1)
  )
  list(
    statistics = list(leave_one_out = raw_calibration(blocks %||% rows, public)),
    settings = settings, panel = list(times = 2000L + seq_len(periods))
  )
}

# The prediction of one row from all other rows, by refitting a ridge with an unpenalised mean.
refit <- function(others, row, T0, ridge) {
  A <- seq_len(T0)
  mean <- colMeans(others)
  x <- sweep(others, 2L, mean)
  slopes <- solve(crossprod(x[, A]) + ridge * diag(T0), crossprod(x[, A], x[, -A]))
  drop(mean[-A] + crossprod(slopes, row[A] - mean[A]))
}

own_scale <- function(rows, T0) {
  v <- apply(rows[, seq_len(T0)], 1L, function(row) sum((row - mean(row))^2))
  sqrt((4 + v / mean(v)) / 5)
}

random_rows <- function(n, periods, seed = 1) {
  withr::with_seed(seed, {
    level <- stats::rnorm(n)
    0.2 * (level + outer(level^2, seq_len(periods) / periods) +
      matrix(stats::rnorm(n * periods), n))
  })
}

test_that("leave-one-out errors equal the errors of n refits at the same penalty", {
  for (size in list(c(30, 8, 3), c(12, 15, 2), c(90, 20, 4))) {
    n <- size[[1L]]
    T0 <- size[[2L]]
    rows <- random_rows(n, T0 + size[[3L]])
    got <- deleted_errors_cpp(rows, T0, 0.05)
    by_hand <- t(vapply(seq_len(n), function(i) {
      rows[i, -seq_len(T0)] - refit(rows[-i, ], rows[i, ], T0, 0.05 * n)
    }, numeric(size[[3L]])))
    expect_equal(got$error[, -1L], by_hand, tolerance = 1e-10)
    expect_equal(got$error[, 1L], rowMeans(by_hand), tolerance = 1e-10)
    expect_true(all(got$leverage > 1 / n & got$leverage < 1))
    # Difference-in-differences predicts the mean change of the other rows.
    did <- deleted_errors_cpp(rows, T0, Inf)
    change <- rows[, -seq_len(T0)] - rowMeans(rows[, seq_len(T0)])
    expect_equal(did$error[3L, -1L], change[3L, ] - colMeans(change[-3L, ]), tolerance = 1e-10)
  }
})

test_that("the leave-one-out interval contains exactly the effects that a conformal test accepts", {
  T0 <- 6L
  n <- 25L
  rows <- random_rows(n, 9L)
  pre <- random_rows(1L, 9L, seed = 2)[1L, seq_len(T0)]
  limits <- deleted_limits_cpp(rows, pre, 0.02, row_softness)
  distances <- c(-1, -0.3, -0.1, -0.02, 0.05, 0.15, 0.4, 2)
  for (distance in distances) {
    all <- rbind(rows, c(pre, limits$target$predicted[-1L] + distance))
    errors <- t(vapply(seq_len(n + 1L), function(i) {
      all[i, -seq_len(T0)] - refit(all[-i, ], all[i, ], T0, 0.02 * n)
    }, numeric(3L))) / own_scale(all, T0)
    at_least <- function(x) x[seq_len(n)] >= x[[n + 1L]]
    inside <- function(t) limits$low[, t] <= distance & distance <= limits$high[, t]
    expect_identical(inside(1L), at_least(abs(rowMeans(errors))))
    expect_identical(inside(3L), at_least(abs(errors[, 2L])))
    # The band includes every value that the test of the largest period accepts.
    largest <- apply(sweep(abs(errors), 2L, limits$spread[-1L], "/"), 1L, max)
    accepted <- at_least(largest)
    expect_true(all(max(abs(distance) / limits$spread[-1L]) <= limits$band[accepted]))
  }
  expect_true(any(limits$high[, 1L] < 2) && any(limits$high[, 1L] > 0.05))
})

test_that("leave-one-out intervals contain 0 exactly if p > 1 - level, and cover 38 of 40 rows", {
  rows <- random_rows(39L, 10L)
  y <- random_rows(1L, 10L, seed = 3)[1L, ]
  release <- raw_release(rows, 7L)
  for (shift in c(0, 0.2, 0.5, 1)) {
    target <- y + c(numeric(7L), rep(shift, 3L))
    p <- raw_p_value(release, target)[[1L]]
    expect_true(p >= 1 / 40 && p <= 1)
    for (level in c(0.5, 0.8, 0.9, 0.95, 0.975)) {
      table <- raw_intervals(release, target, level = level)
      holds <- table$conf.low[[1L]] <= 0 && 0 <= table$conf.high[[1L]]
      expect_identical(holds, p > 1 - level + 1e-9)
    }
  }
  table <- raw_intervals(release, y)
  expect_identical(table$term, c("average", "2008", "2009", "2010"))
  expect_equal(table$estimate[[1L]], mean(table$estimate[-1L]))
  # Each of n + 1 exchangeable rows is the target in turn. At a fixed penalty the share of covered
  # rows equals the level exactly.
  all <- random_rows(40L, 10L, seed = 4)
  covered <- vapply(seq_len(40L), function(i) {
    one <- raw_release(all[-i, ], 7L, lambda = 4, settings = list(lambda = 4))
    table <- raw_intervals(one, all[i, ])
    table$conf.low[1:2] <= 0 & 0 <= table$conf.high[1:2]
  }, logical(2L))
  expect_identical(rowSums(covered), c(38, 38))
})

test_that("with too few donors the reason for no interval states the number that the level needs", {
  for (n in c(9L, 18L)) {
    release <- raw_release(random_rows(n, 8L), 5L)
    y <- random_rows(1L, 8L, seed = 5)[1L, ]
    reason <- raw_intervals(release, y)
    expect_type(reason, "character")
    expect_match(reason, "needs 19 donors", fixed = TRUE)
    highest <- n / (n + 1)
    expect_match(reason, paste0(floor(1000 * highest) / 10, " %"), fixed = TRUE)
    expect_s3_class(raw_intervals(release, y, level = highest), "data.frame")
    expect_type(raw_intervals(release, y, level = highest + 1e-4), "character")
    expect_true(all(raw_p_value(release, y) >= 1 / (n + 1)))
  }
  expect_s3_class(raw_intervals(raw_release(random_rows(19L, 8L), 5L), y), "data.frame")
  expect_match(raw_intervals(raw_release(random_rows(40L, 8L), 5L), y, level = 0.99), "99 donors")
})

test_that("in leave-one-out tests donors with equal values count as ties in spite of rounding", {
  # Most people never have an event. A target without events resembles them, at every level.
  rows <- withr::with_seed(6, matrix(stats::rbinom(60L * 9L, 1, 0.03), 60L)) + 0
  rows <- rows[order(rowSums(rows)), ]
  release <- raw_release(rows, 6L)
  flat <- numeric(9L)
  expect_gt(mean(rowSums(rows) == 0), 0.6)
  expect_gt(raw_p_value(release, flat)[[1L]], mean(rowSums(rows) == 0))
  table <- raw_intervals(release, flat, level = 0.5)
  expect_true(all(table$conf.low <= 0 & 0 <= table$conf.high))
})

test_that("leave-one-out intervals for a person exist even if donors' pre-periods are identical", {
  rows <- cbind(matrix(0.5, 30L, 5L), random_rows(30L, 2L))
  release <- raw_release(rows, 5L)
  table <- raw_intervals(release, c(rep(0.5, 5L), 0, 0))
  expect_true(all(is.finite(unlist(table[-1L]))))
  constant <- matrix(0.25, 30L, 7L)
  table <- raw_intervals(raw_release(constant, 5L), rep(0.25, 7L))
  expect_equal(table$conf.high, numeric(3L), tolerance = 1e-9)
  expect_match(raw_intervals(raw_release(constant, 5L), rep(0.25, 7L), size = 5), "variance")
})

test_that("many donors' leave-one-out errors are stored as counts; widths change by under 2 %", {
  rows <- random_rows(leave_one_out_rows + 500L, 9L)
  y <- random_rows(1L, 9L, seed = 8)[1L, ]
  release <- raw_release(rows, 6L)
  store <- release$statistics$leave_one_out
  expect_null(store$rows)
  expect_equal(colSums(store$counts$ridge$counts), rep(nrow(rows), 5L))
  # Memory does not grow with the number of donors, and the object contains no row.
  expect_lt(object.size(store), 3e5)
  expect_identical(holds_number(store, rows[7L, 3L]), FALSE)
  kept <- c(store[c("n", "T0", "penalty")], list(rows = rows))
  exact <- release
  exact$statistics$leave_one_out <- kept
  for (estimator in c("ridge", "did")) {
    for (size in c(1, 30)) {
      for (joint in c(FALSE, TRUE)) {
        arguments <- list(y = y, size = size, simultaneous = joint, estimator = estimator)
        got <- do.call(raw_intervals, c(list(release), arguments))
        want <- do.call(raw_intervals, c(list(exact), arguments))
        expect_equal(got$estimate, want$estimate, tolerance = 1e-10)
        expect_equal(got$std.error, want$std.error, tolerance = 0.01)
        ratio <- (got$conf.high - got$conf.low) / (want$conf.high - want$conf.low)
        expect_true(all(ratio > 0.99 & ratio < 1.02))
      }
    }
    expect_equal(raw_p_value(release, y, estimator = estimator),
      raw_p_value(exact, y, estimator = estimator),
      tolerance = 0.03
    )
  }
  chunks <- dp_chunks(list(rows[1:900, ], rows[-(1:900), ]))
  expect_equal(
    raw_release(rows, 6L, blocks = chunks)$statistics$leave_one_out$counts, store$counts
  )
  few <- rows[1:50, ]
  chunks <- dp_chunks(list(few[1:20, ], few[21:50, ]))
  expect_equal(raw_release(few, 6L, blocks = chunks), raw_release(few, 6L))
})

test_that("leave-one-out standard errors fall with the square root of the group's size", {
  withr::local_seed(9)
  rows <- random_rows(400L, 9L)
  release <- raw_release(rows, 6L)
  y <- colMeans(random_rows(100L, 9L, seed = 10))
  one <- raw_intervals(release, y)
  errors <- deleted_errors_cpp(rows, 6L, release$statistics$leave_one_out$penalty)$error
  for (size in c(2, 20, 100)) {
    group <- raw_intervals(release, y, size = size)
    expect_equal(group$estimate, one$estimate)
    # The error of the regression is at most the error of a few rows in 400.
    expect_equal(group$std.error, sqrt(colMeans(errors^2) * (1 / size + 0.004)), tolerance = 0.2)
    p <- raw_p_value(release, y, size = size)[[1L]]
    level <- 1 - p
    ends <- raw_intervals(release, y, size = size, level = level)[1L, ]
    expect_lt(min(abs(c(ends$conf.low, ends$conf.high))), 1e-8)
  }
  covered <- vapply(1:200, function(seed) {
    group <- colMeans(random_rows(20L, 9L, seed = 1000 + seed))
    table <- raw_intervals(release, group, size = 20, simultaneous = TRUE)
    c(table$conf.low[[1L]] <= 0 & 0 <= table$conf.high[[1L]],
      all(table$conf.low[-1L] <= 0 & 0 <= table$conf.high[-1L]))
  }, logical(2L))
  # At 95 %, fewer than 180 of 200 intervals cover with probability below 1e-3.
  expect_true(all(rowSums(covered) >= 180))
})

test_that("leave-one-out intervals cover at least 91 % of new people with zero-inflated costs", {
  cost <- function(n) {
    user <- stats::rbinom(n, 1, 0.4)
    any <- user * stats::rbinom(n * 13L, 1, 0.5)
    matrix(any * exp(rep(stats::rnorm(n), 13L) + stats::rnorm(n * 13L)), n) / 50
  }
  withr::local_seed(11)
  covered <- replicate(40L, {
    release <- raw_release(cost(100L), 10L)
    vapply(1:10, function(i) {
      table <- raw_intervals(release, cost(1L)[1L, ])
      if (is.character(table)) NA else table$conf.low[[1L]] <= 0 && 0 <= table$conf.high[[1L]]
    }, NA)
  })
  expect_gte(mean(covered, na.rm = TRUE), 0.91)
})

test_that("leave-one-out intervals cover at least 36 of 38 donor states of Proposition 99", {
  data <- utils::read.csv(shared_data("smoking.csv"))
  panel <- wide_panel(data, "state", "year", "cigsale")
  panel <- panel[rownames(panel) != "California", ] / 100
  covered <- vapply(seq_len(nrow(panel)), function(i) {
    table <- raw_intervals(raw_release(panel[-i, ], 19L), panel[i, ], simultaneous = TRUE)
    inside <- table$conf.low <= 0 & 0 <= table$conf.high
    c(inside[[1L]], all(inside[-1L]))
  }, logical(2L))
  expect_true(all(rowSums(covered) >= 36))
})
