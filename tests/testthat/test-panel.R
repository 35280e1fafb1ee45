# The input of a panel. test-panel-errors.R tests bad input.

index <- c("unit", "time")

# The panel of long data equals the panel of matrices, for any form of the data.
expect_toy_panel <- function(data, p, formula = y ~ treated, times = p$times, ...) {
  panel <- read_panel(formula, data, index, ...)
  expect_s3_class(panel, "dpsc_panel", exact = TRUE)
  expect_identical(panel$donors, p$donors)
  expect_identical(panel$target, p$target)
  expect_identical(panel$times, times)
  expect_identical(c(panel$T0, panel$T1, panel$n), as.integer(c(p$T0, p$T1, p$n)))
  invisible(panel)
}

test_that("long data and matrices give the same panel, in any order of the rows", {
  p <- toy_panel(k = 2)
  panel <- expect_toy_panel(p$data, p)
  expect_toy_panel(p$data[order(p$data$unit, -p$data$time), ], p)
  expect_toy_panel(p$data[rev(seq_len(nrow(p$data))), ], p)
  by_matrix <- panel_from_donors(p$donors, p$target, p$T0, p$times)
  shared <- setdiff(names(panel), c("outcome", "unit", "time", "source"))
  expect_identical(by_matrix[shared], panel[shared])
  expect_identical(
    panel[c("outcome", "unit", "time")], list(outcome = "y", unit = "unit", time = "time")
  )
  expect_identical(panel$source, "formula")
  expect_identical(by_matrix$source, "matrix")
})

test_that("a panel with two donors, two periods before the treatment and one after is accepted", {
  p <- toy_panel(n = 2, T0 = 2, T1 = 1)
  expect_toy_panel(p$data, p)
})

test_that("periods can be dates, date-times, factors, strings and numbers", {
  p <- toy_panel()
  k <- p$data$time - 2000L
  recode <- function(values) {
    data <- p$data
    data$time <- values[k]
    expect_toy_panel(data, p, times = if (is.factor(values)) as.character(values) else values)
    times <- panel_from_donors(p$donors, p$target, p$T0, values)$times
    expect_identical(times, if (is.factor(values)) as.character(values) else values)
  }
  recode(as.Date("2020-01-31") + 7 * 0:5)
  recode(as.POSIXct("2020-03-29 00:00:00", tz = "Europe/Berlin") + 3600 * 0:5)
  recode(factor(c("z", "b", "y", "c", "x", "d"), c("z", "b", "y", "c", "x", "d")))
  recode(factor(c("z", "b", "y", "c", "x", "d"), c("z", "b", "y", "c", "x", "d"), ordered = TRUE))
  recode(sprintf("2020Q%d", 1:6))
  recode(c(-1.5, 0, .1, 1, 2, 1e6))
  recode(c(9L, 10L, 11L, 100L, 101L, 1000L))
  recode(as.difftime(1:6, units = "weeks"))
})

test_that("unused factor levels of units and periods are dropped; the others give the order", {
  p <- toy_panel()
  data <- p$data
  data$unit <- factor(data$unit, c("nobody", rev(p$units), "nobody else"))
  data$time <- factor(data$time, c(1999L, p$times, 2100L))
  panel <- read_panel(y ~ treated, data, index)
  expect_identical(panel$donors, p$donors[rev(seq_len(p$n)), ])
  expect_identical(panel$target, p$target)
  expect_identical(panel$times, as.character(p$times))
})

test_that("units can be numbers, dates or strings, and are sorted in radix order", {
  p <- toy_panel()
  number <- match(p$data$unit, p$units)
  for (ids in list(c(3L, 20L, 100L, 101L, 1000L, 7L), c(.5, 1, 2.25, 3, 4e15, 1e5),
                   c("A", "B", "a", "b", "\u00e4", "C"))) {
    data <- p$data
    data$unit <- ids[number]
    panel <- read_panel(y ~ treated, data, index, private = FALSE)
    expect_identical(panel$donors, p$donors[order(ids[1:5], method = "radix"), ])
    expect_identical(rownames(panel$target), format(ids[[6]], scientific = FALSE))
  }
  data$unit <- as.Date("2020-01-01") + number
  data$time <- as.Date("2021-01-01") + data$time
  expect_identical(rownames(read_panel(y ~ treated, data, index)$target), "2020-01-07")
})

test_that("tibbles and data.tables are accepted, and data.tables are not changed", {
  p <- toy_panel(k = 2)
  skip_if_not_installed("tibble")
  expect_toy_panel(tibble::as_tibble(p$data), p)
  skip_if_not_installed("data.table")
  table <- data.table::as.data.table(p$data)
  before <- data.table::copy(table)
  expect_toy_panel(table, p)
  expect_identical(table, before)
  data.table::setkeyv(table, c("time", "unit"))
  expect_toy_panel(table, p)
})

test_that("a pdata.frame is accepted with its index as columns, not as an attribute alone", {
  # Plants faults 94.
  skip_if_not_installed("plm")
  p <- toy_panel(k = 2)
  data <- plm::pdata.frame(p$data, index = index)
  panel <- expect_toy_panel(data, p, times = as.character(p$times))
  expect_null(attributes(panel$times))
  # Rows that are removed or sorted by another package leave the attribute as it was, so that the
  # rows of one person would belong to other units.
  bare <- plm::pdata.frame(p$data, index = index, drop.index = TRUE)
  marked <- p$data[c("y", "treated")]
  attr(marked, "index") <- p$data[c("unit", "time")]
  for (data in list(bare, marked)) {
    expect_false("unit" %in% names(data))
    expect_error(
      dp_synth(y ~ treated, data, index, epsilon = Inf, bounds = c(-99, 99)),
      "drop.index = FALSE", class = "dpsc_error_panel"
    )
  }
})

test_that("the treatment indicator can be integer, logical, a factor or an expression", {
  p <- toy_panel(k = 2)
  on <- p$data$treated == 1
  indicators <- list(
    as.integer(on), on, factor(on), factor(as.integer(on)), factor(on, c(TRUE, FALSE)),
    factor(on, c("FALSE", "TRUE", "0")[1:2]), c(named = on), matrix(as.double(on))
  )
  for (indicator in indicators) {
    data <- p$data
    data$treated <- indicator
    expect_toy_panel(data, p)
  }
  expect_toy_panel(p$data, p, y ~ I(grepl("target", unit) & time > 2004))
  expect_toy_panel(p$data, p, y ~ (treated == 1))
})

test_that("a treatment factor without the treated level causes an error", {
  p <- toy_panel()
  data <- p$data
  data$treated <- factor(rep(0, nrow(data)))
  expect_error(read_panel(y ~ treated, data, index), class = "dpsc_error_panel")
})

test_that("each of several treated units is a target", {
  p <- toy_panel(n = 4, k = 3)
  panel <- expect_toy_panel(p$data, p)
  expect_identical(dim(panel$target), c(3L, 6L))
  expect_identical(rownames(panel$target), c("target01", "target02", "target03"))
})

test_that("the outcome log(y) is the logarithm of the column", {
  p <- toy_panel()
  data <- transform(p$data, y = y + 2)
  panel <- read_panel(log(y) ~ treated, data, index)
  expect_identical(panel$donors, log(p$donors + 2))
  expect_identical(panel$target, log(p$target + 2))
  expect_identical(panel$outcome, "log(y)")
})

# test-panel-rowwise.R tests the labels of a private fit.
test_that("without privacy a formula's variables are sought in the data, then in its environment", {
  p <- toy_panel()
  make_formula <- function(shift, y) {
    double <- function(x) 2 * x
    double(y) + shift ~ treated
  }
  panel <- read_panel(make_formula(3, y = "not this one"), p$data, index, private = FALSE)
  expect_identical(panel$donors, 2 * p$donors + 3)
  expect_identical(panel$outcome, "double(y) + shift")
  outcome <- p$data$y
  panel <- read_panel(outcome ~ treated, p$data, index, private = FALSE)
  expect_identical(panel$donors, p$donors)
  without <- y ~ treated
  environment(without) <- NULL
  expect_identical(read_panel(without, p$data, index)$donors, p$donors)
})

test_that("the panel contains no donor's identifier and no row name, attribute or inlined column", {
  p <- toy_panel()
  data <- p$data
  rownames(data) <- paste0("CANARY", seq_len(nrow(data)))
  data$y <- structure(data$y, label = "CANARY", names = rownames(data))
  data$time <- structure(data$time, label = "CANARY")
  panel <- read_panel(y ~ treated, data, index)
  expect_identical(panel$donors, p$donors)
  expect_null(attributes(panel$times))
  expect_false(holds_text(panel, "CANARY"))
  expect_false(holds_text(panel, "donor000"))
  # An inlined column or a string may name a donor, so it is not a label.
  for (formula in list(bquote(I(.(data$y)) ~ treated), y * (unit != "CANARY") ~ treated)) {
    panel <- read_panel(stats::as.formula(formula), data, index, private = FALSE)
    expect_identical(panel$outcome, "outcome")
    expect_false(holds_text(panel, "CANARY"))
  }
})

test_that("donors' names are kept only if they are declared public", {
  p <- toy_panel()
  expect_null(read_panel(y ~ treated, p$data, index)$donor_names)
  panel <- read_panel(y ~ treated, p$data, index, keep_names = TRUE)
  expect_identical(panel$donor_names, p$units[1:5])
})

test_that("panels accept integer outcomes from long data and from matrices", {
  p <- toy_panel()
  data <- p$data
  data$y <- as.integer(round(100 * data$y))
  panel <- read_panel(y ~ treated, data, index)
  expect_identical(panel$donors, round(100 * p$donors))
  donors <- p$donors
  donors[] <- round(100 * donors)
  storage.mode(donors) <- "integer"
  panel <- panel_from_donors(donors, 1:6, 4)
  expect_identical(panel$donors, donors)
  expect_identical(panel$target, matrix(as.double(1:6), 1, dimnames = list("target", NULL)))
})

test_that("a panel accepts outcomes as large as the largest finite number", {
  p <- toy_panel()
  p$donors[] <- .Machine$double.xmax
  expect_identical(panel_from_donors(p$donors, p$target, 4)$donors, p$donors)
  data <- p$data
  data$y <- sign(data$y) * .Machine$double.xmax
  expect_true(all(is.finite(read_panel(y ~ treated, data, index)$donors)))
})

test_that("a panel with a constant target is accepted", {
  p <- toy_panel()
  expect_identical(unname(panel_from_donors(p$donors, rep(1, 6), 4)$target), matrix(1, 1, 6))
})

test_that("panel_from_donors() does not copy a matrix of donors", {
  donors <- matrix(0, 1e4, 50)
  skip_if_not(capabilities("profmem"))
  file <- withr::local_tempfile()
  utils::Rprofmem(file, threshold = 1e6)
  panel <- panel_from_donors(donors, rep(0, 50), 40)
  utils::Rprofmem(NULL)
  # Memory pages for small objects are logged at any threshold.
  expect_identical(grep("new page", readLines(file), value = TRUE, invert = TRUE), character())
  expect_identical(panel$donors, donors)
})

test_that("row names of a target matrix are labels if every row has a name", {
  p <- toy_panel(k = 2)
  labels <- function(names) {
    rownames(p$target) <- names
    rownames(panel_from_donors(p$donors, p$target, 4)$target)
  }
  expect_identical(labels(c("a", "b")), c("a", "b"))
  expect_identical(labels(NULL), c("target 1", "target 2"))
  expect_identical(labels(c("a", "")), c("target 1", "target 2"))
  expect_identical(rownames(panel_from_donors(p$donors, p$target[1, ], 4)$target), "target")
})

test_that("without `times` the periods are 1, 2, ..., and a matrix of donors gives no names", {
  p <- toy_panel()
  panel <- panel_from_donors(p$donors, p$target, 4)
  expect_identical(panel$times, 1:6)
  expect_null(panel$donor_names)
})

test_that("warnings from an outcome's expression are not passed on", {
  p <- toy_panel()
  data <- transform(p$data, y = y - 5)
  conditions <- signalled(read_panel(log(y) ~ treated, data, index))
  expect_length(conditions, 1)
  expect_s3_class(conditions[[1]], "dpsc_error_panel")
})
