# Interactions, powers and factors, with the columns of lm(), in verbs that read one row at a time.

product_rows <- function(n = 3000) {
  withr::with_seed(1, {
    rows <- data.frame(
      a = stats::runif(n, -1, 2), b = stats::runif(n, 0, 3),
      g = sample(c("u", "v", "w"), n, TRUE), h = sample(c("no", "yes"), n, TRUE)
    )
    rows$y <- rows$a + rows$a * rows$b / 2 + (rows$g == "v") * rows$a + rows$b^2 / 10 +
      (rows$g == "w" & rows$h == "yes") + stats::rnorm(n, sd = 0.1)
    rows
  })
}

product_bounds <- list(
  y = c(-20, 20), a = c(-1, 2), b = c(0, 3), g = c("u", "v", "w"), h = c("no", "yes")
)

products <- y ~ a * b + g * h + g:a + I(b^2)

test_that("dp_online() and dp_select() with products of columns are near lm() at epsilon = Inf", {
  rows <- product_rows()
  raw <- stats::coef(stats::lm(products, rows))
  stream <- dp_online(products, Inf, 1e-6, 3000, product_bounds, method = "gram")
  update(stream, rows)
  expect_setequal(names(coef(stream)), names(raw))
  # The fit includes a ridge penalty, so the tolerance is large.
  expect_equal(coef(stream)[names(raw)], raw, tolerance = 0.1)
  picked <- dp_select(products, rows, Inf, 1e-6, length(raw) - 1, product_bounds, method = "gram")
  expect_setequal(names(coef(picked)), names(raw))
  expect_equal(coef(picked)[names(raw)], raw, tolerance = 0.1)
  expect_equal(
    unname(predict(picked, rows[1:20, ])), unname(stats::predict(stats::lm(products, rows),
      rows[1:20, ])), tolerance = 0.05
  )
})

test_that("products of columns have the names of lm() and correlate perfectly with its columns", {
  rows <- product_rows()
  named <- function(fit) sort(names(coef(fit)))
  raw <- sort(names(stats::coef(stats::lm(products, rows))))
  expect_identical(named(dp_lm(products, rows, Inf, bounds = product_bounds)), raw)
  columns <- dpsc:::new_columns(products, product_bounds, "gaussian")
  expect_identical(sort(columns$names), raw)
  # The results equal the results of lm() on the public scale.
  table <- dpsc:::table_of_rows(columns, rows)
  x <- stats::model.matrix(products, rows)[, columns$names]
  for (j in seq_along(columns$names)[-1]) {
    expect_equal(abs(stats::cor(table[, j], x[, j])), 1, tolerance = 1e-9)
  }
  expect_true(all(abs(table) <= 1 + 1e-12))
})

test_that("products use clipped values, and their bounds follow from the bounds of their columns", {
  columns <- dpsc:::new_columns(y ~ a * b, product_bounds, "gaussian")
  product <- columns$regressors[[3]]
  expect_identical(product$name, "a:b")
  expect_identical(c(product$lower, product$upper), c(-3, 6))
  one <- data.frame(y = 0, a = c(100, 2), b = c(-5, 0))
  table <- dpsc:::table_of_rows(columns, one)
  expect_identical(table[1, ], table[2, ])
})

test_that("dp_select() selects products of columns and charges once; its file keeps coefficients", {
  rows <- product_rows()
  ledger <- dp_ledger(50, 1e-2)
  fit <- suppressWarnings(dp_select(products, rows, 20, 1e-6, 3, product_bounds, ledger = ledger))
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  # `a` and its products with `b` and `g` can replace each other, but no other column can replace
  # `gw:hyes`.
  expect_true("gw:hyes" %in% fit$selected)
  expect_true(any(c("a", "a:b", "a:gv") %in% fit$selected))
  file <- withr::local_tempfile(fileext = ".json")
  write_release(fit, file)
  expect_equal(coef(read_release(file)), coef(fit))
})

test_that("dp_select() refuses products without main effects; dp_online() refuses an offset", {
  expect_error(dp_select(y ~ a + g:a, product_rows(50), 1, 1e-6, 1, product_bounds),
    "main effects", class = "dpsc_error_argument")
  expect_error(dp_online(y ~ a + offset(b), 1, 1e-6, 10, product_bounds), class = "dpsc_error")
})
