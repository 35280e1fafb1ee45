# One person's row changes only that person's numbers, for every allowed formula, `subset` and
# `weights`.

rows_of <- function(n = 40) {
  withr::with_seed(3, data.frame(
    x = stats::runif(n), w = stats::runif(n), y = stats::runif(n), z = 0, max = stats::runif(n),
    mean = stats::runif(n), g = sample(c("2", "4"), n, TRUE)
  ))
}

unit <- function(...) {
  c(stats::setNames(rep(list(c(0, 1)), 6), c("x", "w", "y", "z", "max", "mean")), list(...))
}

test_that("formulas, `subset` and `weights` refuse inline code and functions that mix rows", {
  refused <- function(formula, ..., data = rows_of()) {
    for (make in list(dp_lm, dp_glm)) {
      expect_error(make(formula, data, epsilon = 1, bounds = unit(), ...),
        class = "dpsc_error_argument")
    }
  }
  refused(y ~ I(max / max(max)))
  refused(y ~ x, subset = x < mean(x) & mean > 0)
  refused(eval(bquote(I(y * .(rows_of()$x)) ~ x)))
  refused(eval(bquote(.(function(v) v > mean(v))(y) ~ x)))
  refused(y ~ I((function(v) v - mean(v))(x)))
  expect_error(
    dp_lm(y ~ x, rows_of(), epsilon = 1, bounds = unit(), weights = max(max), max_weight = 1),
    class = "dpsc_error_argument"
  )
  expect_error(new_columns(y ~ I(x / mean(x) + mean), unit(), "gaussian"),
    class = "dpsc_error_argument")
  expect_error(
    leave_out(as.matrix(rows_of()), bquote(.(function(v) v > mean(v))(y)), rows_of()),
    class = "dpsc_error_argument"
  )
})

test_that("a column given as `na.rm` is refused, whatever its first value", {
  n <- 40
  data <- rows_of(n)
  data$w[1:30] <- NA
  for (z in 0:1) {
    data$z[1] <- z
    expect_error(
      dp_lm(y ~ I(pmax(x, w, na.rm = z)), data, epsilon = 1, bounds = unit()),
      class = "dpsc_error"
    )
  }
  columns <- lm_columns(y ~ I(pmax(x, w, na.rm = TRUE)), unit())
  expect_identical(dim(lm_table(columns, data, TRUE)), c(40L, 2L))
})

test_that("numbers computed for a row by a formula do not depend on other rows", {
  data <- rows_of()
  other <- data
  other[1, c("x", "w", "y", "z", "max", "mean")] <- 1e6
  other$g[1] <- "1"
  data$g <- factor(data$g)
  other$g <- factor(other$g)
  bounds <- unit(g = c("1", "2", "4"))
  codes <- c(
    "log1p(x)", "ifelse(g == '2', x, w)", "pmin(x, w)", "round(x, 1)", "x > w", "is.na(x)",
    "x %% w", "sqrt(max) * mean"
  )
  for (code in codes) {
    columns <- lm_columns(stats::as.formula(paste0("y ~ I(", code, ")")), bounds)
    expect_identical(
      lm_table(columns, data, TRUE)[-1L, ], lm_table(columns, other, TRUE)[-1L, ]
    )
  }
  online <- new_columns(y ~ x + I(x > w), c(unit(), list(`I(x > w)` = c(0, 1))), "gaussian")
  expect_identical(table_of_rows(online, data)[-1L, ], table_of_rows(online, other)[-1L, ])
  # The codes of a factor depend on all of its levels, so its text is read.
  expect_identical(row_weights(quote(g), data, 4), as.numeric(as.character(data$g)) / 4)
  weigh <- quote(as.numeric(g))
  expect_identical(
    row_weights(weigh, data, 4)[-1L], row_weights(weigh, other, 4)[-1L]
  )
})

test_that("the type of one person's missing value does not determine the type of a column", {
  columns <- new_columns(y ~ x + g, unit(g = c("2", "4")), "gaussian")
  one <- rows_of()[1L, ]
  for (lost in list(NA, NA_character_, NA_real_)) {
    one$g <- lost
    expect_true(all(is.nan(table_of_rows(columns, one))))
  }
})

test_that("errors about rows of the wrong type do not contain the rows' value", {
  secret <- "52,317"
  sums <- dp_stream_sum(bounds = c(0, 20), epsilon = 1, horizon = 12)
  counts <- dp_stream_count(categories = c("a", "b"), epsilon = 1, horizon = 12)
  online <- dp_online(y ~ x, epsilon = 1, horizon = 12, bounds = list(y = c(0, 1), x = c(0, 1)))
  for (say in list(
    function() update(sums, list(secret)), function() update(counts, list(52317)),
    function() update(online, secret), function() dp_lm(y ~ x, secret, 1, bounds = unit()),
    function() dp_glm(y ~ x, secret, epsilon = 1, bounds = unit())
  )) {
    found <- tryCatch(say(), error = identity)
    expect_s3_class(found, "dpsc_error")
    expect_no_match(conditionMessage(found), "52.?317")
  }
  # A batch may be one person's cell, so text in a sum is no error: it is missing.
  printed <- paste(capture.output(
    print(update(sums, secret)), print(update(counts, 52317))
  ), collapse = " ")
  expect_no_match(printed, "52.?317")
})

test_that("a ledger refuses streams without a valid guarantee", {
  seeded <- dp_control(rng = "R")
  ledger <- dp_ledger(epsilon = 50, delta = 1e-3)
  b <- list(y = c(0, 1), x = c(0, 1))
  online <- function(...) {
    dp_online(y ~ x, epsilon = 1, horizon = 100, bounds = b, ledger = ledger, ...)
  }
  expect_error(online(control = seeded), class = "dpsc_error_budget")
  expect_error(online(method = "poffl", calibration = "published"), class = "dpsc_error_budget")
  expect_error(
    dp_stream_sum(bounds = c(0, 1), epsilon = 1, horizon = 100, ledger = ledger, control = seeded),
    class = "dpsc_error_budget"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  online()
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})

test_that("bounds with squares beyond the range of doubles are refused before the charge", {
  data <- rows_of()
  ledger <- dp_ledger(5, 1e-6)
  for (range in list(c(-1e308, 1e308), c(0, 1e-310), c(0, 1e200))) {
    expect_error(
      dp_lm(y ~ x, data, epsilon = 1, bounds = list(y = c(0, 1), x = range), ledger = ledger),
      class = "dpsc_error_bounds"
    )
  }
  expect_error(
    dp_lm(y ~ I(x^6), data, epsilon = 1, bounds = list(y = c(0, 1), x = c(-1, 1) * 1e20),
      ledger = ledger),
    class = "dpsc_error_bounds"
  )
  expect_error(
    dp_lm(y ~ factor(x), data, epsilon = 1, bounds = list(y = c(0, 1), x = c(0, 3))),
    class = "dpsc_error_bounds"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})
