# Strings of engines: identifiers are equal only if their bytes are equal, and no person's text is
# returned that a driver may fail to convert.

in_nocase <- function(data, env = parent.frame()) {
  con <- sqlite_of(data.frame(a = 1), "other", env)
  DBI::dbWriteTable(con, "sales", data, field.types = c(unit = "TEXT COLLATE NOCASE"))
  in_sqlite(con)
}

# The columns' own equality.
by_collation <- function(table, k, column) column

test_that("a donor with a treated unit's name in other letters is a donor and is in one row", {
  # Plants faults 96.
  p <- long_panel(60, 4, 2)
  names <- unique(p$data$unit)
  other <- setdiff(names, treated_of(p$data))[[1L]]
  p$data$unit <- sub(treated_of(p$data), "clinic", p$data$unit)
  p$data$unit <- sub(other, "Clinic", p$data$unit)
  target <- function() {
    seeded(in_nocase(p$data), fun = dp_synth, protect = "donors")$target
  }
  reference <- seeded(p$data, fun = dp_synth, protect = "donors")$target
  expect_identical(target(), reference)
  expect_identical(rownames(target()), "clinic")
  roster <- roster_of(p$data)
  roster <- dp_roster(c(roster$unit, "CLINIC"), c(roster$from, NA), roster$periods)
  rows <- function() {
    panel <- read_panel(y ~ on, in_nocase(p$data), roster = roster, bounds = c(-1, 1))
    opened <- open_donors(panel$donors, list(private = TRUE, bounds = new_bounds(c(-1, 1), 6)),
      FALSE)
    withr::defer(close_donors(opened))
    opened$reader(1L, FALSE)
  }
  at <- match(c("Clinic", "CLINIC"), roster$unit[is.na(roster$from)])
  found <- rows()
  expect_true(any(found[at[[1L]], ] != 0L))
  expect_true(all(found[at[[2L]], ] == 0L))
  with_internal("sql_index", by_collation, {
    expect_error(target(), class = "dpsc_error_engine")
    with_internal("check_treated_units", function(treated) NULL, {
      expect_false(identical(unname(target()), unname(reference)))
    })
    expect_error(rows(), "treated, has several rows", class = "dpsc_error_panel")
    twice <- with_internal("check_target_rows", function(...) NULL, rows())
    expect_identical(twice[at[[1L]], ], twice[at[[2L]], ])
  })
})

test_that("engines that may take two names for one refuse identifiers that are text, not numbers", {
  p <- long_panel(60, 4, 2)
  con <- sqlite_of(p$data)
  DBI::dbWriteTable(con, "people", data.frame(
    id = rep(letters, 10), x = rep(1:10 / 10, 26), y = 1:260 / 260
  ))
  ledger <- dp_ledger(5, 1e-4)
  for (name in c("unknown", "mssql", "spark", "bigquery", "snowflake")) {
    table <- in_sqlite(con)
    people <- dp_table(con, "people")
    # These statements are valid in SQLite.
    other <- sql_dialects()$sqlite
    other[c("name", "bytes", "loose")] <- list(name, sql_dialects()[[name]]$bytes, FALSE)
    table$dialect <- people$dialect <- other
    refused <- function(code) {
      error <- expect_error(code, class = "dpsc_error_engine")
      expect_match(conditionMessage(error), "whole numbers")
    }
    refused(seeded(table, ledger = ledger, rng = "secure"))
    refused(seeded(table, ledger = ledger, rng = "secure", na = "interpolate",
      roster = roster_of(p$data)))
    refused(dp_lm(y ~ x, people, epsilon = 20, bounds = list(x = c(0, 1), y = c(0, 1)),
      person = ~id, ledger = ledger))
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  p$data$unit <- match(p$data$unit, unique(p$data$unit))
  DBI::dbWriteTable(con, "sales", p$data, overwrite = TRUE)
  table <- in_sqlite(con)
  table$dialect$bytes <- FALSE
  table$dialect$loose <- FALSE
  expect_identical(seeded(table), seeded(p$data))
})

# The strings that an engine returns while code runs.
returned_text <- function(code) {
  found <- character()
  own <- run_sql
  with_internal("run_sql", function(con, text, fetch = FALSE, ...) {
    out <- own(con, text, fetch, ...)
    if (fetch) found <<- c(found, unlist(Filter(is.character, out)))
    out
  }, code)
  unique(found[!is.na(found)])
}

test_that("a query returns declared levels, plain text or public strings, and no other text", {
  # Plants faults 97.
  data <- data.frame(
    z = rep(1:3, 40), g = rep(c("a", "b", "secret"), 40), x = rep(c("0.5", "1", "secret"), 40),
    y = 1:120 / 120
  )
  con <- sqlite_of(data, "people")
  bounds <- list(y = c(0, 1), g = c("a", "b"), x = c(0, 1), z = c(1, 3))
  fit <- function(formula, ...) {
    dp_lm(formula, dp_table(con, "people", block = 50), epsilon = 20, bounds = bounds, ...)
  }
  levels <- function() returned_text(suppressWarnings(fit(y ~ g)))
  expect_setequal(levels(), c("a", "b"))
  # No text counts as plain.
  plain <- sql_dialects()
  plain$sqlite$plain <- function(x) "1 = 0"
  with_internal("sql_dialect_table", plain, {
    expect_identical(returned_text(suppressWarnings(fit(y ~ x))), character())
    found <- returned_text(suppressWarnings(fit(y ~ z, subset = g != "b" & x != "other text")))
    expect_setequal(found, c("a", "b", "other text."))
  })
  # An engine whose drivers are unknown returns no text that is not public.
  plain$sqlite["plain"] <- list(NULL)
  with_internal("sql_dialect_table", plain, {
    expect_setequal(levels(), c("a", "b"))
    expect_error(fit(y ~ x), class = "dpsc_error_engine")
  })
  with_internal("streamed_column", function(name, row, choice) {
    list(sql = row$names[[name]], type = "text")
  }, expect_true("secret" %in% levels()))
})

test_that("a number of a type that is not known to be a double or an integer is cast with care", {
  con <- sqlite_of(data.frame(x = 1, y = 2), "people")
  table <- dp_table(con, "people")
  type <- function(name) {
    table$dialect <- utils::modifyList(sql_dialects()$postgres, list(
      type = function(column, from) paste0("'", name, "'")
    ))
    unique(column_types(table, c("x", "y")))
  }
  for (name in c("double precision", "integer")) expect_identical(type(name), "number")
  # A domain over NUMERIC has its own name.
  for (name in c("numeric", "money_amount")) expect_identical(type(name), "exact")
})

test_that("columns of the index and the treatment may have the names n, u, k and r", {
  p <- long_panel(60, 4, 2)
  reference <- seeded(p$data)
  for (names in list(c("k", "n", "u"), c("u", "r", "n"))) {
    data <- stats::setNames(p$data, c(names[1:2], "y", names[[3L]]))
    table <- dp_table(sqlite_of(data), "sales", names[1:2])
    expect_identical(
      coef(seeded(table, formula = stats::reformulate(names[[3L]], "y"))), coef(reference)
    )
  }
})

test_that("a donor with the name of another source's treated unit is a donor", {
  # Plants faults 98.
  p <- long_panel(60, 4, 2)
  first <- unique(p$data$unit)[1:30]
  in_first <- p$data$unit %in% c(first, treated_of(p$data))
  release <- function(name) {
    second <- p$data[!in_first, ]
    second$unit[second$unit == max(second$unit)] <- name
    seeded(dp_sources(list(in_sqlite(sqlite_of(p$data[in_first, ])),
      in_sqlite(sqlite_of(second)))))
  }
  expect_identical(coef(release(treated_of(p$data))), coef(release("a")))
  own <- with_own_units
  with_internal("with_own_units", function(part, facts, hide) {
    part$own <- treated_of(p$data)
    part
  }, expect_error(release(treated_of(p$data)), class = "dpsc_error_panel"))
})

test_that("names of protected treated people are returned as their bytes, whatever they contain", {
  # Plants faults 99.
  p <- long_panel(60, 4, 2)
  treated <- unique(p$data$unit)[1:2]
  p$data$on <- as.integer(p$data$unit %in% treated & p$data$week > 2004)
  con <- sqlite_of(p$data)
  release <- function() seeded(in_sqlite(con), protect = "everyone", epsilon = 200)
  reference <- release()
  expect_identical(reference, seeded(p$data, protect = "everyone", epsilon = 200))
  expect_false(any(treated %in% returned_text(release())))
  # R would read both names up to their zero bytes.
  for (k in 1:2) {
    DBI::dbExecute(con, sprintf("UPDATE sales SET unit = 'u' || char(0) || %d WHERE unit = '%s'", k,
      treated[[k]]))
  }
  expect_s3_class(release(), "dp_release")
  plain <- sql_dialects()
  plain$sqlite$hex <- identity
  with_internal("sql_dialect_table", plain, {
    expect_error(suppressWarnings(release()), class = "dpsc_error")
  })
})
