# `bounds` alone determine how a cell becomes a number or a level. In every source a hostile cell
# changes only its row, causes no error and removes no row.

test_that("text_numbers() converts malformed text to the expected number or to NA", {
  expect_identical(
    is.na(text_numbers(hostile_numbers$text)), is.na(hostile_numbers$number)
  )
  known <- !is.na(hostile_numbers$number)
  expect_equal(text_numbers(hostile_numbers$text)[known], hostile_numbers$number[known],
    tolerance = 1e-15)
  expect_identical(text_numbers(character()), numeric())
  # A line feed does not count as a blank.
  expect_identical(text_numbers(c("3\n", " 3\n ", "3\r\n", " 3")), c(NA, NA, NA, 3))
  # Very long text is read quickly.
  expect_identical(text_numbers(paste0(strrep("1", 1e6), "x")), NA_real_)
})

test_that("cells become numbers or text without calling methods of their class", {
  calls <- 0
  for (generic in c("as.vector", "as.double", "as.character", "is.na", "length", "[")) {
    registerS3method(generic, "greedy_cells", function(x, ...) {
      calls <<- calls + 1
      rep(9, 3)
    }, envir = baseenv())
  }
  greedy <- structure(c(1, 2, 3), class = "greedy_cells")
  expect_identical(cell_numbers(greedy), c(1, 2, 3))
  expect_identical(cell_text(greedy), c("1", "2", "3"))
  expect_identical(plain_column(greedy), c(1, 2, 3))
  expect_identical(calls, 0)
  expect_identical(cell_numbers(1:3), c(1, 2, 3))
  expect_identical(cell_numbers(c(TRUE, NA)), c(1, NA))
  expect_identical(cell_numbers(factor(c("10", "2", "z"))), c(10, 2, NA))
  expect_identical(cell_text(ordered(c("b", "a"), c("b", "a"))), c("b", "a"))
  expect_identical(cell_text(c(100000, 1.5, NaN)), c("100000", "1.5", NA))
  expect_identical(cell_text(100000L), "100000")
  expect_identical(plain_column(as.Date("1970-01-11")), 10)
  # The codes of a damaged factor do not select the levels of other rows.
  damaged <- structure(c(1L, 0L, -1L, 9L, 2L), levels = c("7", "8"), class = "factor")
  expect_identical(cell_numbers(damaged), c(7, NA, NA, NA, 8))
  expect_identical(cell_text(damaged), c("7", NA, NA, NA, "8"))
  expect_null(plain_column(as.difftime(1, units = "days")))
  expect_null(plain_column(list(1)))
  expect_null(plain_column(1i))
  skip_if_not_installed("bit64")
  long <- bit64::as.integer64(c("1", "-1", NA, "2147483648", "-2147483648", "9007199254740992"))
  expect_identical(cell_numbers(long), c(1, -1, NA, 2^31, -2^31, 2^53))
})

# The method of this column's class uses all rows.
looking_methods <- function(class) {
  look <- function(x, ...) rep(unclass(x)[[1L]], length(unclass(x)))
  for (generic in c("as.vector", "[", "as.integer", "as.character", "unique", "is.na", "!=")) {
    registerS3method(generic, class, look, envir = baseenv())
  }
}

test_that("units, periods, treatments, covariates and outcomes are read without class methods", {
  looking_methods("looking_cells")
  p <- long_panel(12, 4, 2)
  data <- transform(p$data, x = stats::dnorm(seq_along(y)))
  periods <- sort(unique(data$week))
  units <- unique(data$unit)
  roster <- dp_roster(units, replace(rep(periods[NA_integer_], 13), units == treated_of(data),
    periods[[5L]]), periods)
  index <- c("unit", "week")
  declared <- list(x = c(0, 1))
  read <- list(
    whole = function(data) read_panel(y ~ on, data, index, covariates = declared),
    gaps = function(data) {
      read_panel(y ~ on, data, index, roster, c(-1, 1), covariates = declared)
    }
  )
  for (panel in read) {
    plain <- panel(data)
    for (name in c("unit", "week", "on", "x", "y")) {
      looking <- data
      class(looking[[name]]) <- "looking_cells"
      expect_identical(panel(looking), plain, label = name)
    }
  }
})

test_that("invalid codes of a damaged factor count as missing, which a panel's index refuses", {
  p <- long_panel(12, 4, 2)
  index <- c("unit", "week")
  for (name in index) {
    for (code in c(-1L, 0L, 99L)) {
      data <- p$data
      codes <- as.integer(factor(data[[name]]))
      row <- which(data$on == 0 & data$unit != treated_of(data))[[3L]]
      data[[name]] <- structure(replace(codes, row, code),
        levels = levels(factor(data[[name]])), class = "factor")
      expect_error(read_panel(y ~ on, data, index), "have a unit and a period",
        class = "dpsc_error_panel")
    }
  }
  damaged <- structure(c(1L, 0L, 9L, 2L), levels = c("a", "b"), class = "factor")
  expect_identical(roster_column(damaged), c("a", NA, NA, "b"))
})

test_that("a value matches a declared level by its text or by its number", {
  place <- match(hostile_levels$level, hostile_bounds$g)
  expect_identical(cell_levels(hostile_levels$text, hostile_bounds$g), place)
  expect_identical(cell_levels(factor(hostile_levels$text[1:8]), hostile_bounds$g), place[1:8])
  expect_identical(cell_levels(c(1, 2, 3, NaN), hostile_bounds$g), c(1L, 2L, NA, NA))
  expect_identical(cell_levels(c("01", "1", "2.0", "x"), c("1", "2"), TRUE), c(1L, 1L, 2L, NA))
  expect_identical(cell_levels(c("T", "false", "1", "no"), c("FALSE", "TRUE")), c(2L, 1L, 2L, NA))
  expect_identical(cell_levels(c(0, 1, 2), c("FALSE", "TRUE")), c(1L, 2L, NA))
  expect_identical(cell_levels(c(TRUE, NA), c("FALSE", "TRUE")), c(2L, NA))
  # Integers and doubles give the same text, although R writes 100000 in two ways.
  expect_identical(cell_levels(100000L, "100000"), cell_levels(1e5, "100000"))
})

# The cell is in a data frame, whose whole column then becomes text, and in blocks.
test_that("a malformed value in a data frame or a block changes only its own row", {
  n <- 20
  data <- hostile_rows(n)
  good <- chosen_rows(hostile_columns(), data, list(), TRUE)
  for (at in c(1L, 7L, n)) {
    for (k in seq_len(nrow(hostile_numbers))) {
      bad <- data
      bad$x <- replace(as.character(data$x), at, hostile_numbers$text[[k]])
      made <- chosen_rows(hostile_columns(), bad, list(), TRUE)
      expect_identical(made[-at, ], good[-at, ])
      expected <- data[at, ]
      expected$x <- hostile_numbers$number[[k]]
      expect_equal(made[at, , drop = FALSE],
        chosen_rows(hostile_columns(), expected, list(), TRUE), tolerance = 1e-15)
      bad$x <- factor(bad$x)
      expect_identical(chosen_rows(hostile_columns(), bad, list(), TRUE), made)
    }
    for (k in seq_len(nrow(hostile_levels))) {
      bad <- data
      bad$g[[at]] <- hostile_levels$text[[k]]
      made <- chosen_rows(hostile_columns(), bad, list(), TRUE)
      expect_identical(made[-at, ], good[-at, ])
    }
  }
  bad <- data
  bad$x <- replace(as.character(data$x), 7, "maybe")
  whole <- dp_chunks(list(data[1:5, ], bad[6:n, ]))
  blocks <- lm_source(hostile_columns(), whole, list(), TRUE)
  data$x[[7L]] <- NA
  expect_identical(sorted_rows(gather_rows(blocks$table)), rows_of_frame(data))
})

# Rows 1 and 7, and rows on both sides of the number of rows from which some readers guess column
# types.
test_that("in frames, blocks and SQLite malformed values near row 50,000 change only their rows", {
  n <- 50003L
  data <- hostile_rows(n)
  at <- c(1L, 7L, 49999L, 50001L)
  expected <- data
  expected$x[at] <- c(NA, Inf, 1, NaN)
  bad <- data
  bad$x <- as.character(data$x)
  bad$x[at] <- c("maybe", "1e400", "TRUE", "nan")
  columns <- hostile_columns()
  expect_identical(chosen_rows(columns, bad, list(), TRUE),
    chosen_rows(columns, expected, list(), TRUE))
  # One block contains numbers, the next block text or a factor.
  blocks <- split(seq_len(n), (seq_len(n) - 1L) %/% 20000L)
  parts <- lapply(blocks, function(rows) data[rows, ])
  parts[[1L]] <- bad[blocks[[1L]], ]
  parts[[3L]] <- transform(bad[blocks[[3L]], ], x = factor(x))
  read <- lm_source(columns, dp_chunks(unname(parts)), list(), TRUE)
  expect_identical(sorted_rows(gather_rows(read$table)), rows_of_frame(expected))
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(data, "people")
  cells <- c("'maybe'", "9e999", "x'00ff'", "NULL")
  for (k in seq_along(at)) {
    DBI::dbExecute(con, paste("UPDATE people SET x =", cells[[k]], "WHERE rowid =", at[[k]]))
  }
  expected$x[at] <- c(NA, Inf, NA, NA)
  expect_identical(rows_of_source(dp_table(con, "people", block = 20000)), rows_of_frame(expected))
})

test_that("malformed text counts as missing for dp_lm(), dp_glm() and rows of dp_online()", {
  data <- hostile_rows(120)
  bad <- data
  bad$x <- replace(as.character(data$x), 7, "maybe")
  good <- data
  good$x[[7L]] <- NA
  seeded <- dp_control(rng = "R")
  same <- function(fit) {
    withr::local_seed(2)
    a <- suppressWarnings(fit(good))
    withr::local_seed(2)
    expect_identical(coef(suppressWarnings(fit(bad))), coef(a))
  }
  same(function(x) dp_lm(y ~ x, x, epsilon = 4, bounds = hostile_bounds, control = seeded))
  same(function(x) {
    dp_lm(I(y + x) ~ g, x, epsilon = 4, bounds = hostile_bounds, control = seeded, subset = x < 15)
  })
  same(function(x) {
    dp_glm(I(y > 5) ~ x, x, epsilon = 4, bounds = hostile_bounds, control = seeded,
      family = "binomial")
  })
  online <- new_columns(y ~ x + g, hostile_bounds, "gaussian")
  expect_identical(table_of_rows(online, bad), table_of_rows(online, good))
})

# Files -------------------------------------------------------------------------------------------

write_lines <- function(lines, ...) {
  path <- withr::local_tempfile(fileext = ".csv", .local_envir = parent.frame())
  writeBin(as.raw(unlist(lapply(paste0(c(...), lines, "\n"), charToRaw))), path)
  path
}

plain_lines <- function(data) paste(data$y, data$x, paste0("\"", data$g, "\""), sep = ",")

test_that("a malformed line of a CSV file counts as one row", {
  skip_if_not_installed("RSQLite")
  data <- hostile_rows(12)
  for (at in c(1L, 7L, 12L)) {
    for (k in seq_along(hostile_lines)) {
      # The middle line contains each case in turn; the first line contains half of the cases, the
      # last line the others.
      if (!is_audit() && at == c(12L, 1L)[[k %% 2L + 1L]]) next
      case <- hostile_lines[[k]]
      lines <- plain_lines(data)
      lines[[at]] <- case[[1L]]
      path <- write_lines(c("y,x,g", lines))
      expected <- data
      expected[at, ] <- case[[2L]]
      for (bytes in if (at == 7L) c(2^22, 5) else 2^22) {
        with_internal("csv_bytes", bytes, {
          expect_identical(rows_of_source(dp_files(path, block = 5)), rows_of_frame(expected),
            label = paste(at, encodeString(case[[1L]])))
        })
      }
    }
  }
})

test_that("a malformed value in a CSV file changes only its own row", {
  skip_if_not_installed("RSQLite")
  data <- hostile_rows(12)
  quoted <- function(x) paste0("\"", gsub("\"", "\"\"", x, useBytes = TRUE), "\"")
  at <- 1L
  for (k in seq_len(nrow(hostile_numbers))) {
    lines <- plain_lines(data)
    lines[[at]] <- paste(data$y[[at]], quoted(hostile_numbers$text[[k]]), data$g[[at]], sep = ",")
    expected <- data
    expected$x[[at]] <- hostile_numbers$number[[k]]
    expect_equal(rows_of_source(dp_files(write_lines(c("y,x,g", lines)))), rows_of_frame(expected),
      tolerance = 1e-15, label = hostile_numbers$text[[k]])
  }
  # The line contains a byte that strings cannot contain, and the file ends without a line feed.
  path <- write_lines(c("y,x,g", plain_lines(data)))
  bytes <- readBin(path, "raw", 1e5)
  ends <- which(bytes == as.raw(10L))
  bytes[[ends[[1L]] + 1L]] <- as.raw(0L)
  writeBin(bytes[-length(bytes)], path)
  expected <- data
  expected$y[[1L]] <- NA
  expect_identical(rows_of_source(dp_files(path)), rows_of_frame(expected))
  # The file begins with a byte order mark and has line ends of two bytes.
  path <- write_lines(paste0(c("y,x,g", plain_lines(data)), "\r"), c("\ufeff", rep("", 12)))
  expect_identical(rows_of_source(dp_files(path)), rows_of_frame(data))
})

test_that("CSV lines after the first 50,000 are read by the same rules as earlier lines", {
  skip_if_not_installed("RSQLite")
  n <- 50003L
  data <- hostile_rows(n)
  lines <- plain_lines(data)
  at <- c(1L, 7L, 49999L, 50001L)
  lines[at] <- c("3,maybe,02", "\"3,4,02", "T,1e400,1", "3,4,\"02")
  expected <- data
  expected[at, ] <- list(
    c(3, NA, 1, NA), c(NA, NA, Inf, NA), c("02", NA, NA, NA)
  )
  source <- dp_files(write_lines(c("y,x,g", lines)), block = 20000)
  expect_identical(rows_of_source(source), rows_of_frame(expected))
})

test_that("a CSV panel gives the same release as its data frame, and refuses text as an outcome", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(60, 4, 2)
  folder <- withr::local_tempdir()
  path <- file.path(folder, "a.csv")
  utils::write.csv(p$data, path, row.names = FALSE)
  panel <- function() dp_files(path, c("unit", "week"))
  expect_identical(seeded(panel()), seeded(utils::read.csv(path)))
  # Text in place of a donor's number counts as missing, as in a data frame.
  lines <- readLines(path)
  donor <- which(p$data$on == 0)[[3L]] + 1L
  bad <- lines
  cell <- format(p$data$y[[donor - 1L]], digits = 15)
  bad[[donor]] <- sub(cell, "maybe", bad[[donor]], fixed = TRUE)
  expect_false(identical(bad, lines))
  writeLines(bad, path)
  expect_error(seeded(panel()), class = "dpsc_error_panel")
})

# Databases ---------------------------------------------------------------------------------------

test_that("a malformed value in SQLite changes only its own row, whether rows or sums are read", {
  skip_if_not_installed("RSQLite")
  data <- hostile_rows(40)
  con <- sqlite_of(data, "people")
  text <- c("maybe", "5", "", "NaN", "1e400")
  for (cell in c(paste0("'", text, "'"), "9e999", "-9e999", "x'00ff'", "NULL", "12", "1e-310")) {
    for (at in c(1L, 7L)) {
      DBI::dbExecute(con, paste0("UPDATE people SET x = ", cell, " WHERE rowid = ", at))
      expected <- data
      number <- suppressWarnings(as.double(cell))
      # SQLite converts '5' to a number by the column's type affinity, as documented.
      held <- DBI::dbGetQuery(con, paste("SELECT typeof(x) AS t, CAST(x AS REAL) AS v FROM people",
        "WHERE rowid =", at))
      expected$x[[at]] <- if (held$t %in% c("real", "integer")) held$v else NA
      expect_identical(rows_of_source(dp_table(con, "people", block = 7)), rows_of_frame(expected))
      fit <- function(x) {
        withr::local_seed(9)
        suppressWarnings(dp_lm(y ~ x + g, x, epsilon = 12, bounds = hostile_bounds,
          control = dp_control(rng = "R")))
      }
      expect_identical(
        coef(fit(dp_table(con, "people", compute = "database"))), coef(fit(expected))
      )
      DBI::dbExecute(con, paste0("UPDATE people SET x = ", data$x[[at]], " WHERE rowid = ", at))
    }
  }
  # R converts this column of text.
  DBI::dbWriteTable(con, "words", transform(data, x = as.character(x)))
  expect_identical(rows_of_source(dp_table(con, "words", block = 7)), rows_of_frame(data))
})

test_that("SQLite compares identifiers and levels by bytes under the collations NOCASE and RTRIM", {
  con <- sqlite_of(data.frame(a = 1))
  withr::local_seed(2)
  panel <- expand.grid(id = c(paste0("u", 1:99), "U7"), t = 1:8, stringsAsFactors = FALSE)
  panel$y <- runif(nrow(panel))
  panel$on <- as.integer(panel$id == "U7" & panel$t > 6)
  rows <- data.frame(
    id = rep(c(letters, LETTERS), 40), g = rep(c("a", "b", "A"), length.out = 2080), y = runif(2080)
  )
  rows$id <- paste0(rows$id, seq_len(2080) %% 10)
  for (collation in c("NOCASE", "RTRIM")) {
    if (collation == "RTRIM") {
      panel$id <- sub("U7", "u7 ", panel$id)
      rows$g <- sub("A", "a ", rows$g)
    }
    text <- paste("TEXT COLLATE", collation)
    DBI::dbWriteTable(con, "p", panel, overwrite = TRUE, field.types = c(id = text))
    DBI::dbWriteTable(con, "r", rows, overwrite = TRUE, field.types = c(id = text, g = text))
    synth <- function(data, ...) {
      withr::local_seed(9)
      suppressWarnings(coef(dp_synth(y ~ on, data, ..., epsilon = 4, bounds = c(0, 1),
        control = dp_control(rng = "R", intervals = FALSE))))
    }
    lm <- function(data) {
      withr::local_seed(9)
      bounds <- list(g = c("a", "b"), y = c(0, 1))
      fit <- suppressWarnings(dp_lm(y ~ g, data, 9, 1e-4, bounds, person = ~id,
        control = dp_control(rng = "R")))
      c(coef(fit), fit$nobs)
    }
    for (compute in c("here", "database")) {
      expect_identical(synth(dp_table(con, "p", c("id", "t"), compute = compute)),
        synth(panel, index = c("id", "t")))
      expect_identical(lm(dp_table(con, "r", compute = compute)), lm(rows))
    }
  }
})
