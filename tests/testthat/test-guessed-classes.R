# A reader or a driver guesses the class of a column from people's cells, so the class of a cell in
# a batch, a shard or a result of a database changes neither an error nor other people's rows.

# One cell of each class that a reader may guess, and of a few that no reader guesses.
guessed_cells_of <- function() {
  c(list(
    "a", "zzz", "", " ", "1", "1.0", "oops", NA_character_, 7, 1, Inf, NaN, NA_real_, 7L,
    NA_integer_, TRUE, NA, factor("a"), factor("zzz"), factor(NA), as.Date("2020-01-01"),
    as.Date(NA), as.POSIXct("2020-01-01", tz = "UTC"), as.difftime(1, units = "mins"),
    structure(5e-324, class = "integer64"), 1i
  ))
}

one_row <- function(y, cell) {
  rows <- data.frame(y = y)
  rows$g <- cell
  rows
}

test_that("no class of a cell stops a batch of one person, and every batch has one row", {
  # Plants faults 89, 90.
  limits <- list(
    levels = list(y = c(0, 1), g = c("a", "b")), codes = list(y = c(0, 1), g = c("1", "7")),
    range = list(y = c(0, 1), g = c(0, 9)), flags = list(y = c(0, 1), g = c(FALSE, TRUE))
  )
  streams <- list(
    online = function(b) dp_online(y ~ g, epsilon = 1, horizon = 9, bounds = b),
    log = function(b) dp_online(y ~ log(g + 1), 1, horizon = 9, bounds = b),
    product = function(b) dp_online(y ~ I(y > 0.5):g + I(y > 0.5) + g, 1, horizon = 9, bounds = b)
  )
  stopped <- function(make, limit, cells) {
    Filter(function(cell) {
      stream <- make(limit)
      length(canary_conditions(update(stream, one_row(0.5, cell)))) > 0L ||
        !identical(as.double(stream$released$steps), 1)
    }, cells)
  }
  cells <- c(guessed_cells_of(), list(list("a")), list(I(matrix(1))))
  for (limit in names(limits)) {
    for (name in names(streams)) {
      if ((name == "log") != (limit == "range") && name != "online") next
      expect_identical(stopped(streams[[name]], limits[[limit]], cells), list(), label = name)
    }
  }
  # Other classes also enter as an outcome.
  for (cell in cells) {
    rows <- one_row(0, "a")
    rows$y <- cell
    stream <- streams$online(limits$levels)
    expect_length(canary_conditions(update(stream, rows)), 0L)
  }
  counts <- function(categories) {
    function(none) dp_stream_count(1, horizon = 9, categories = categories)
  }
  sums <- function(none) dp_stream_sum(c(0, 1), 1, horizon = 9)
  two <- function(none) dp_stream_sum(list(y = c(0, 1), g = c(0, 1)), 1, horizon = 9)
  for (make in list(counts(c("a", "b")), counts(NULL), counts(c("1", "2")), sums)) {
    for (cell in guessed_cells_of()) {
      stream <- make()
      expect_length(canary_conditions(update(stream, cell)), 0L)
      expect_identical(as.double(stream$released$steps), 1)
    }
  }
  expect_identical(stopped(two, NULL, cells), list())
  # The faults are the checks of a cell's class in a batch.
  with_internal("own_column", function(column, data, batch) {
    x <- .subset2(data, as.character(column$expression))
    if (!is.null(column$levels)) check_levels_fit(column$levels, type_of_cells(x), column$name)
    x
  }, {
    expect_gt(length(stopped(streams$online, limits$levels, cells)), 0L)
  })
  with_internal("guessed_numbers", function(x) {
    if (!is.numeric(x)) abort("The columns to add up must be numeric.", "data")
    x
  }, expect_gt(length(stopped(two, NULL, cells)), 0L))
})

test_that("in a batch a cell of another class changes only its own row", {
  people <- data.frame(y = 1:6 / 10, g = c("1", "2", "7", "1.0", "x", NA), x = c(1:5, NA) / 8)
  online <- dp_online(y ~ g + x, 1,
    horizon = 99, bounds = list(y = c(0, 1), g = c("1", "2"), x = c(0, 1))
  )
  count <- dp_stream_count(1, horizon = 99, categories = c("1", "2"))
  sums <- dp_stream_sum(list(y = c(0, 1), x = c(0, 1)), 1, horizon = 99)
  base <- stream_table(online, people)
  for (cell in list("2020-01-01", "", "7", "oops", NA, "TRUE")) {
    changed <- people
    changed$g[[5L]] <- cell
    changed$x <- replace(as.character(people$x), 5L, cell)
    expect_identical(stream_table(online, changed)[-5L, ], base[-5L, ])
    expect_identical(stream_table(count, changed$g)[-5L, ], stream_table(count, people$g)[-5L, ])
    expect_identical(stream_table(sums, changed)[-5L, ], stream_table(sums, people)[-5L, ])
    # Without the only text, a reader reads numbers.
    read <- utils::type.convert(changed[-5L, ], as.is = TRUE)
    expect_type(read$g, "double")
    expect_identical(stream_table(online, read), base[-5L, ])
    expect_identical(stream_table(count, read$g), stream_table(count, people$g)[-5L, ])
    expect_identical(stream_table(sums, read), stream_table(sums, people)[-5L, ])
  }
  # A matrix with one text contains only text.
  text <- as.matrix(data.frame(y = c("0.5", "oops"), x = c("1", "0.25")))
  expect_identical(
    stream_table(sums, text), stream_table(sums, matrix(c(0.5, NA, 1, 0.25), 2L))
  )
  # No rows, and no cells.
  for (none in list(people[0L, ], utils::type.convert(people[0L, ], as.is = TRUE))) {
    expect_identical(dim(stream_table(online, none)), c(0L, 4L))
    expect_identical(dim(stream_table(count, none$g)), c(0L, 2L))
    expect_identical(dim(stream_table(sums, none)), c(0L, 2L))
  }
})

test_that("a cell of another class changes sums of a stream at most by the stated loss", {
  from <- data.frame(y = 1:40 / 41, g = rep(c("1", "2"), 20L))
  kinds <- list(
    online = function(people, control) {
      stream <- dp_online(y ~ g, 3,
        horizon = 40, batch = TRUE, bounds = list(y = c(0, 1), g = c("1", "2")), control = control
      )
      update(stream, utils::type.convert(people, as.is = TRUE))
    },
    count = function(people, control) {
      update(
        dp_stream_count(3, horizon = 40, batch = TRUE, categories = c("1", "2"), control = control),
        utils::type.convert(people$g, as.is = TRUE)
      )
    },
    sum = function(people, control) {
      update(
        dp_stream_sum(c(0, 3), 3, horizon = 40, batch = TRUE, control = control),
        utils::type.convert(people$g, as.is = TRUE)
      )
    }
  )
  for (kind in names(kinds)) {
    for (cell in c("oops", "", "9", "2020-01-01", "TRUE")) {
      audit <- dp_audit(audit_mechanism(kinds[[kind]], epsilon = 3), from,
        replace(from, "g", list(replace(from$g, 1L, cell))), n_runs = 1, mode = "replay"
      )
      expect_lte(audit$observed$ratio, 1 + 1e-9, label = paste(kind, cell))
    }
  }
})

test_that("errors of streams depend on the names of columns and on the call alone", {
  online <- dp_online(y ~ g, 1, horizon = 9, bounds = list(y = c(0, 1), g = c("a", "b")))
  two <- dp_stream_sum(list(y = c(0, 1), g = c(0, 1)), 1, horizon = 9)
  count <- dp_stream_count(1, horizon = 9, categories = c("a", "b"))
  expect_error(update(online, "a"), class = "dpsc_error_data")
  expect_error(update(two, data.frame(y = 1)), "lack the column", class = "dpsc_error_data")
  expect_error(update(two, 1), class = "dpsc_error_data")
  expect_error(update(two, matrix(1, 1L, 3L)), class = "dpsc_error_data")
  for (one in list(list("a"), NULL, data.frame(g = "a"), matrix("a"), sum)) {
    expect_error(update(count, one), class = "dpsc_error_data")
  }
  damaged <- data.frame(y = 1:2, g = 1:2)
  attr(damaged, "row.names") <- 1:3
  expect_error(update(two, damaged), "damaged", class = "dpsc_error_data")
  expect_error(
    dp_stream_count(1, horizon = 9, categories = c("1", "01")), "spellings",
    class = "dpsc_error_argument"
  )
  for (stream in list(online, two, count)) expect_identical(as.double(stream$released$steps), 0)
})

# Two shards that a reader made. The second one contains the changed cell.
shards <- function(cell) {
  withr::local_seed(3)
  one <- data.frame(y = stats::runif(60), g = rep(c("a", "b"), 30L), x = stats::runif(60))
  other <- one[seq_along(cell), ]
  other$g <- cell
  list(one, other)
}

test_that("no class of a column stops shards in dp_sources(), as it does not in dp_chunks()", {
  # Plants faults 91.
  bounds <- list(y = c(0, 1), g = c("a", "b"), x = c(0, 1))
  columns <- lm_columns(y ~ g + x, bounds)
  opened <- function(data) {
    rows <- lm_source(columns, data, list(), TRUE)
    withr::defer(close_donors(rows$table))
    gather_rows(rows$table)
  }
  cells <- c(guessed_cells_of(), list(list("a")), list(rep(NA, 5L)), list(logical()))
  for (cell in cells) {
    parts <- shards(cell)
    read <- NULL
    expect_length(canary_conditions(read <- opened(dp_sources(parts))), 0L)
    expect_identical(read, opened(dp_chunks(parts)))
    expect_identical(read[1:60, ], opened(dp_chunks(parts[1L])))
    expect_identical(nrow(read), 60L + length(cell))
  }
  # A range, a condition and weights on a column of each class.
  ranged <- lm_columns(y ~ x, bounds[c("y", "x")])
  for (cell in Filter(function(cell) !inherits(cell, c("Date", "POSIXct")), cells)) {
    parts <- shards(cell)
    names(parts[[2L]])[2:3] <- c("x", "g")
    for (choice in list(list(), list(subset = quote(g > 0.2 | is.na(g))))) {
      expect_length(
        canary_conditions(lm_source(ranged, dp_sources(parts), choice, TRUE)), 0L
      )
    }
  }
  dates <- shards(as.Date("2020-01-01") + 0:2)
  dates[[2L]]$x <- dates[[2L]]$g
  expect_identical(opened(dp_sources(dates))[61:63, 2L], rep(NA_real_, 3L))
  for (verb in list(
    function(d) dp_describe(~ g + x, d, epsilon = 40, bounds = bounds[-1L]),
    function(d) dp_glm(g ~ x, d, epsilon = 40, bounds = bounds[-1L]),
    function(d) dp_lm(y ~ g, d, epsilon = 40, bounds = bounds[-3L])
  )) {
    for (cell in list(NA, 7, NA_real_, 7L)) {
      classes <- lapply(canary_conditions(verb(dp_sources(shards(cell)))), class)
      expect_false("dpsc_error" %in% unlist(classes))
    }
  }
  # The fault is the former check of a shard's classes.
  with_internal("open_rows.data.frame", function(part, columns, choice, private) {
    check_classes_fit(columns, part)
    chosen_rows(columns_in_blocks(columns), part, choice, private)
  }, {
    expect_error(
      lm_source(columns, dp_sources(shards(NA)), list(), TRUE), class = "dpsc_error_bounds"
    )
  })
  # A data frame of the user has the user's classes.
  expect_error(opened(shards(7)[[2L]]), class = "dpsc_error_bounds")
})

test_that("no class of a column stops a worker's data frame", {
  skip_if_not_installed("parallel")
  columns <- lm_columns(y ~ g, list(y = c(0, 1), g = c("a", "b")))
  for (cell in list(NA, 7, "a", as.difftime(1, units = "mins"))) {
    rows <- open_rows(shards(cell)[[2L]], columns, list(), TRUE)
    expect_identical(dim(rows), c(1L, 2L))
  }
})

# A study in SQLite or CSV with protected treated people, whose factor has the given cells.
roster_fit <- function(cells, place, absent = FALSE, na = "interpolate", levels = c("f", "m")) {
  n <- 60L
  long <- expand.grid(unit = sprintf("u%03d", seq_len(n)), t = 1:6, stringsAsFactors = FALSE)
  long$y <- round(sin(seq_len(nrow(long))), 3L)
  long$sx <- rep(levels, length.out = nrow(long))
  long$tr <- as.integer(long$unit > "u050" & long$t >= 5)
  roster <- dp_roster(sprintf("u%03d", 1:n), ifelse(1:n > 50, 5, NA), 1:6)
  treated <- long$unit > "u050"
  long$sx[treated] <- NA
  long$sx[long$unit == "u051"] <- cells
  if (absent) long <- long[!treated | long$unit == "u051" & !is.na(long$sx), ]
  withr::local_seed(5)
  dp_synth(y ~ tr | sx, place(long),
    epsilon = 30, protect = "everyone", bounds = list(y = c(-1, 1), sx = levels), na = na,
    roster = if (na == "interpolate") roster, control = dp_control(rng = "R")
  )
}

test_that("no error reveals whether a protected treated person has a level in SQLite or CSV", {
  # Plants faults 92.
  skip_if_not_installed("RSQLite")
  places <- list(
    sqlite = function(long) {
      con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
      withr::defer(DBI::dbDisconnect(con), envir = parent.frame(2L))
      DBI::dbWriteTable(con, "sales", long)
      dp_table(con, "sales", c("unit", "t"))
    },
    csv = function(long) {
      path <- withr::local_tempfile(fileext = ".csv", .local_envir = parent.frame(2L))
      utils::write.csv(long, path, row.names = FALSE, quote = FALSE, na = "")
      dp_files(path, index = c("unit", "t"))
    }
  )
  seen <- function(...) {
    out <- NULL
    said <- canary_conditions(out <- roster_fit(...))
    list(vapply(said, conditionMessage, ""), vapply(said, function(x) class(x)[[1L]], ""),
      class(out), is.null(out))
  }
  for (place in places) {
    for (levels in list(c("f", "m"), c("1", "2"))) {
      for (absent in c(FALSE, TRUE)) {
        none <- seen(NA, place, absent, levels = levels)
        expect_false(none[[4L]])
        for (cell in c(levels[[1L]], "zzz", "7")) {
          expect_identical(seen(cell, place, absent, levels = levels), none)
        }
      }
    }
    # Without a roster a missing level is an error, which does not depend on the other people.
    expect_identical(
      seen(NA, place, na = "error"), seen(c("f", rep(NA, 5L)), place, na = "error")
    )
  }
  with_internal("with_text_levels", function(found, table, declared) found, {
    expect_error(roster_fit(NA, places$sqlite), class = "dpsc_error_bounds")
  })
})
