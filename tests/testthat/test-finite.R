# One pass over a table of donors: whether every value is finite, and whether the rows equal the
# rows read before.

test_that("the check for finite values agrees with is.finite() for doubles and integers", {
  odd <- c(0, -0, 1, -1, 5e-324, .Machine$double.xmin, .Machine$double.xmax, -.Machine$double.xmax)
  expect_true(all_finite_cpp(odd))
  expect_true(all_finite_cpp(matrix(.Machine$double.xmax, 300, 7)))
  expect_true(all_finite_cpp(double()))
  expect_true(all_finite_cpp(c(.Machine$integer.max, -.Machine$integer.max, 0L)))
  withr::local_seed(1)
  for (bad in list(NA_real_, NaN, Inf, -Inf, NA_integer_)) {
    x <- matrix(if (is.integer(bad)) sample.int(100) else rnorm(100), 20)
    for (at in c(1, 2, 50, 99, 100)) {
      expect_false(all_finite_cpp(replace(x, at, bad)))
    }
  }
  # The values contain every bit pattern of the exponent.
  values <- outer(c(1, -1.5, 1.75), 2^(-1074:1023))
  expect_identical(vapply(values, all_finite_cpp, NA), as.vector(is.finite(values)))
  expect_error(all_finite_cpp("a"), "numeric")
  expect_error(all_finite_cpp(TRUE), "numeric")
})

test_that("the check for finite values is at most twice as slow for huge, tiny or NaN values", {
  skip_unless_audit()
  n <- 4e6
  tables <- list(
    ordinary = stats::runif(n), huge = rep_len(c(1.7e308, 1.7e308, 1), n), tiny = rep(5e-324, n),
    bad = rep(NaN, n)
  )
  # The runs alternate, so that other work on the machine affects all of them equally.
  times <- replicate(9, vapply(tables, function(x) {
    system.time(for (i in 1:4) all_finite_cpp(x))[["elapsed"]]
  }, 0))
  best <- apply(times, 1L, min)
  # The earlier check by a sum, with a second pass for "huge" values, took several times as long.
  expect_lt(max(best) / min(best), 2)
})

test_that("the checksum of a panel depends only on the values of the rows and their positions", {
  withr::local_seed(2)
  x <- matrix(round(rnorm(60), 2), 12)
  sum_of <- function(x) checksum_cpp(x)
  expect_identical(sum_of(x), sum_of(x + 0))
  expect_length(sum_of(x), 2L)
  expect_true(all(sum_of(x) == round(sum_of(x)) & sum_of(x) >= 0 & sum_of(x) < 2^32))
  # The values are equal, but stored in another type.
  whole <- matrix(sample.int(1000, 60), 12)
  expect_identical(sum_of(whole), sum_of(whole + 0))
  expect_identical(sum_of(c(0, 1)), sum_of(c(-0, 1)))
  # One value, one sign or one bit changes, or two entries are exchanged.
  changed <- c(
    lapply(seq_along(x), function(i) replace(x, i, x[[i]] + 1e-9)),
    lapply(seq_along(x), function(i) replace(x, i, -x[[i]])),
    lapply(2:60, function(i) replace(x, c(1, i), x[c(i, 1)]))
  )
  same <- vapply(changed, identical, NA, x)
  sums <- vapply(changed[!same], function(y) paste(sum_of(y), collapse = " "), "")
  expect_false(paste(sum_of(x), collapse = " ") %in% sums)
  # By the birthday bound, no two of 2,000 similar tables have the same checksum.
  many <- vapply(1:2000, function(i) paste(sum_of(c(i, 2000 - i)), collapse = " "), "")
  expect_identical(anyDuplicated(many), 0L)
  expect_error(checksum_cpp("a"), "numeric")
})

test_that("the checksum of a panel distinguishes rows with equal sums", {
  x <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  for (y in list(x[2:1, ], x[, 3:1], x + c(1, -1, 0, 0, 0, 0), matrix(mean(x), 2, 3))) {
    expect_equal(sum(x), sum(y))
    expect_false(identical(checksum_cpp(x), checksum_cpp(y)))
  }
})
