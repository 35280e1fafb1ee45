# One value in several classes and spellings, if a reader or an engine chooses the class. One
# person's cell must not change other people's rows, and nobody may become two people.

spelled_bounds <- list(y = c(0, 10), x = c(-3, 3), g = c("1", "2"))

spelled_rows <- function(n = 200) {
  withr::local_seed(2)
  data.frame(
    y = stats::runif(n, 0, 10), x = pmin(pmax(stats::rnorm(n), -3), 3),
    g = sample(c("1.0", "2"), n, TRUE), id = sprintf("%d", seq_len(n))
  )
}

# The largest ratio of a loss to its declared value, and whether all other values are the same.
spelled_loss <- function(from, to, place, formula = y ~ x, ..., verb = dp_lm) {
  audited <- audit_mechanism(function(people, control) {
    verb(formula, place(people),
      epsilon = 20, bounds = spelled_bounds, control = control, ...
    )
  }, epsilon = 20)
  dp_audit(audited, from, to, mode = "replay", n_runs = 2)$observed$ratio
}

# Blocks for which a reader guesses the classes of columns, as read.csv() does.
guessed <- function(data) {
  half <- seq_len(nrow(data) / 2)
  dp_chunks(lapply(list(data[half, ], data[-half, ]), utils::type.convert, as.is = TRUE))
}

test_that("a level matches the same rows in blocks of text and in blocks of numbers", {
  from <- to <- spelled_rows()
  to$g[[1L]] <- "bad"
  expect_identical(vapply(1:2, function(i) class(guessed(to)$read(i)$g), ""),
    c("character", "numeric"))
  for (level in c("1", "1.0", "01")) {
    bounds <- replace(spelled_bounds, "g", list(c(level, "2")))
    columns <- lm_columns(y ~ x + g, bounds)
    rows <- lapply(list(from, to), function(data) {
      gather_rows(lm_source(columns, guessed(data), list(), TRUE)$table)
    })
    expect_identical(rows[[1L]][-1L, ], rows[[2L]][-1L, ])
    expect_false(anyNA(rows[[1L]]))
  }
  expect_lte(spelled_loss(from, to, guessed, y ~ g), 1 + 1e-9)
  expect_lte(spelled_loss(from, to, guessed, y ~ x, subset = g == "1"), 1 + 1e-9)
  expect_lte(spelled_loss(from, to, guessed, y ~ x, subset = g != "01"), 1 + 1e-9)
  expect_lte(spelled_loss(from, to, guessed, y ~ x, subset = g %in% c("1.00", "b")), 1 + 1e-9)
  expect_lte(
    spelled_loss(from, to, guessed, y ~ x, weights = ifelse(g == "1", 1, 2), max_weight = 2),
    1 + 1e-9
  )
  flags <- lapply(list(from, to), function(data) {
    data$g <- replace(ifelse(data$g == "2", "T", "F"), data$g == "bad", "bad")
    data
  })
  spelled_flags <- replace(spelled_bounds, "g", list(c("F", "T")))
  columns <- lm_columns(y ~ x + g, spelled_flags)
  rows <- lapply(flags, function(data) {
    gather_rows(lm_source(columns, guessed(data), list(), TRUE)$table)
  })
  expect_identical(rows[[1L]][-1L, ], rows[[2L]][-1L, ])
})

test_that("two levels that are spellings of the same number are refused in blocks", {
  data <- spelled_rows()
  ledger <- dp_ledger(1, 1e-5)
  expect_error(
    dp_lm(y ~ g, guessed(data),
      epsilon = 1, bounds = list(y = c(0, 10), g = c("01", "1")), ledger = ledger
    ), "spellings of the same number", class = "dpsc_error_bounds"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # In a data frame a column has one class.
  expect_no_error(lm_source(
    lm_columns(y ~ g, list(y = c(0, 10), g = c("01", "1"))), data, list(), TRUE
  ))
})

test_that("in blocks spellings of a number identify one person; long numbers keep their digits", {
  first <- spelled_rows()
  second <- first
  second$id <- sprintf("%03d", seq_len(nrow(first)))
  from <- rbind(first, second)
  # In both blocks the column contains text.
  from$id[c(1L, nrow(first) + 2L)] <- c("q!", "w!")
  to <- from
  to$id[[1L]] <- "99999"
  expect_lte(spelled_loss(from, to, guessed, person = ~id), 1 + 1e-9)
  expect_identical(
    spelled_alike(c("7", "007", " 7.0", "7e0", "x7", "-0", "0"), FALSE),
    c("7", "7", "7", "7", "x7", "0", "0")
  )
  # Long numbers keep their digits, unless a block has lost them.
  long <- c("1152921504606846977", "01152921504606846976", "-1152921504606846977")
  expect_identical(spelled_alike(long, FALSE),
    c("1152921504606846977", "1152921504606846976", "-1152921504606846977"))
  expect_identical(anyDuplicated(spelled_alike(long, TRUE)), 2L)
})

# 64-bit integers without the package that defines their class.
as_64 <- function(high, low) {
  words <- rbind(as.integer(low), rep_len(as.integer(high), length(low)))
  structure(
    readBin(writeBin(as.vector(words), raw(), endian = "little"), "double", length(low),
      endian = "little"),
    class = "integer64"
  )
}

test_that("64-bit identifiers that round to the same double remain different people", {
  expect_identical(
    text_64(as_64(c(2^28, 0, 0, -1, -1), c(1, 5, 0, -5, 0))),
    c("1152921504606846977", "5", "0", "-5", "-4294967296")
  )
  low <- 1000 + 1:200
  from <- to <- spelled_rows()
  from$id <- as_64(2^28, low)
  to$id <- as_64(replace(rep(2^28, 200), 1L, 7), low)
  expect_identical(people_of(from, list(column = "id")), list(of = 1:200, n = 200L))
  expect_lte(spelled_loss(from, to, identity, person = ~id), 1 + 1e-9)
  block <- function(data, rows) {
    out <- data[rows, ]
    class(out$id) <- "integer64"
    out
  }
  halves <- function(data) dp_chunks(list(block(data, 1:90), block(data, 91:200)))
  expect_lte(spelled_loss(from, to, halves, person = ~id), 1 + 1e-9)
})

test_that("in SQLite a number and its text identify the same person", {
  skip_if_not_installed("RSQLite")
  half <- spelled_rows(100)
  # A view of two tables whose columns of identifiers have different types.
  as_view <- function(data, ...) {
    con <- sqlite_of(rbind(data, data)[0L, ], "rows", parent.frame(4L))
    DBI::dbWriteTable(con, "a", transform(data, id = as.integer(id)))
    DBI::dbWriteTable(con, "b", transform(data, id = paste0(id)))
    DBI::dbWriteTable(con, "c", transform(data, id = as.numeric(id)))
    from <- "SELECT * FROM b UNION ALL SELECT * FROM a UNION ALL SELECT * FROM c"
    dp_table(con, DBI::SQL(from), ...)
  }
  from <- to <- half
  from[1L, c("y", "x")] <- c(0, 3)
  to[1L, c("y", "x")] <- c(10, 3)
  for (compute in c("here", "database")) {
    place <- function(data) as_view(data, compute = compute)
    expect_lte(spelled_loss(from, to, place, person = ~id), 1 + 1e-9)
    fit <- dp_lm(y ~ x, place(from), 20, bounds = spelled_bounds[1:2], person = ~id)
    expect_identical(fit$nobs, 100L)
  }
})

test_that("text with a zero byte matches no level, whether rows or sums of SQLite are read", {
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(spelled_rows(), "rows")
  DBI::dbExecute(con, "UPDATE rows SET g = '1' WHERE g = '1.0'")
  DBI::dbExecute(con, "UPDATE rows SET g = '2' || char(0) || '2' WHERE id IN ('3', '5')")
  opened <- open_people(dp_table(con, "rows"), lm_columns(y ~ x + g, spelled_bounds), list(), TRUE)
  expect_identical(sum(is.na(gather_rows(opened$table)[, 2L])), 2L)
  close_donors(opened$table)
  fits <- lapply(c("here", "database"), function(compute) {
    withr::local_seed(4)
    dp_lm(y ~ x + g, dp_table(con, "rows", compute = compute), 50,
      bounds = spelled_bounds, control = dp_control(rng = "R")
    )
  })
  expect_identical(fits[[1L]]$release, fits[[2L]]$release)
})

test_that("an infinite level matches infinite numbers in SQLite, as in R", {
  skip_if_not_installed("RSQLite")
  data <- spelled_rows()
  data$g <- ifelse(data$g == "2", Inf, 1)
  bounds <- replace(spelled_bounds, "g", list(c("1", "Inf")))
  fit <- function(data) {
    force(data)
    withr::local_seed(4)
    coef(dp_lm(y ~ x + g, data, 50, bounds = bounds, control = dp_control(rng = "R")))
  }
  text <- fit(transform(data, g = as.character(g)))
  for (compute in c("here", "database")) {
    expect_identical(fit(dp_table(sqlite_of(data, "rows"), "rows", compute = compute)), text)
  }
})

test_that("tables with the names of the package's internal columns are refused", {
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(data.frame(y = 1, dpsc_Y = 2), "rows")
  expect_error(dp_table(con, "rows"), "dpsc_Y", class = "dpsc_error_argument")
  expect_no_error(dp_table(con, DBI::SQL("SELECT y FROM rows")))
})

test_that("a `subset` without a column is refused for any number of rows", {
  for (rows in c(1L, 30L)) {
    expect_error(
      lm_source(lm_columns(y ~ x, spelled_bounds), spelled_rows(30)[seq_len(rows), ],
        list(subset = quote(1 > 0)), TRUE),
      class = "dpsc_error_argument"
    )
  }
})

test_that("a level matches the same rows in batches of text and in batches of numbers", {
  bounds <- list(y = c(0, 10), x = c(-3, 3), g = c("1", "2"))
  columns <- new_columns(y ~ x * g, bounds, "gaussian")
  text <- transform(spelled_rows(), g = replace(g, 1L, "bad"))
  numbers <- transform(text[-1L, ], g = as.double(g))
  expect_identical(table_of_rows(columns, text)[-1L, ], table_of_rows(columns, numbers))
  expect_false(anyNA(table_of_rows(columns, numbers)))
  ledger <- dp_ledger(1, 1e-5)
  expect_error(
    dp_online(y ~ g, 1, horizon = 9, bounds = list(y = c(0, 1), g = c("1", "01")), ledger = ledger),
    "spellings of the same number", class = "dpsc_error_bounds"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})
