# Drivers that return large integers as missing, or as other types: the release is the same, or the
# engine is refused before the charge.

# A connection whose driver returns integers beyond 32 bits in a given type.
sqlite_by <- function(bigint, data, env = parent.frame()) {
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:", bigint = bigint)
  withr::defer(DBI::dbDisconnect(con), envir = env)
  DBI::dbWriteTable(con, "sales", data)
  con
}

test_that("sums beyond 32 bits are exact for a driver that returns such integers as missing", {
  # Plants faults 111.
  skip_if_not_installed("RSQLite")
  withr::local_seed(1)
  people <- data.frame(y = stats::runif(3000), x = rep(c(TRUE, FALSE), 1500))
  fit <- function(con) {
    seeded(dp_table(con, "sales", compute = "database"), formula = y ~ x, fun = dp_lm,
      bounds = list(y = c(0, 1), x = c(FALSE, TRUE)), epsilon = 8
    )
  }
  reference <- fit(sqlite_of(people))
  con <- sqlite_by("integer", people)
  expect_identical(fit(con), reference)
  expect_identical(fit(sqlite_by("character", people)), reference)
  # Without the conversion the tests of the engine find a wrong sum.
  uncast <- function(x, name, dialect) paste0("COALESCE(SUM(", x, "), 0) AS ", name)
  for (prove in c(prove_engine, prove_people, function(table) prove_people(table, TRUE))) {
    expect_no_error(prove(dp_table(con, "sales", compute = "database")))
    expect_error(
      with_internal("sql_sum", uncast, prove(dp_table(con, "sales", compute = "database"))),
      class = "dpsc_error_engine"
    )
  }
  # A missing sum is never zero.
  expect_error(sql_numbers(con, "SELECT 5000000000 AS n"), class = "dpsc_error_engine")
  expect_error(sql_numbers(con, "SELECT NULL AS n"), class = "dpsc_error_engine")
})

test_that("an interrupt leaves no copy of people's rows in the database", {
  # Plants faults 113.
  skip_if_not_installed("RSQLite")
  people <- data.frame(y = stats::runif(50), x = stats::runif(50), id = rep(1:25, 2))
  con <- sqlite_of(people)
  own <- run_sql
  for (person in list(NULL, ~id)) {
    stopped <- FALSE
    # A driver delivers the interrupt after the statement.
    with_internal("run_sql", function(con, text, ...) {
      out <- own(con, text, ...)
      if (grepl("^CREATE TEMP", text)) {
        rlang::cnd_signal(structure(class = c("interrupt", "condition"), list()))
      }
      out
    }, tryCatch(
      dp_lm(y ~ x, dp_table(con, "sales"), epsilon = 1, person = person,
        bounds = list(y = c(0, 1), x = c(0, 1))
      ),
      interrupt = function(e) stopped <<- TRUE
    ))
    expect_true(stopped)
    left <- DBI::dbGetQuery(con, "SELECT name FROM sqlite_temp_master WHERE type = 'table'")
    expect_identical(left$name, character())
  }
})

# The same panel with other names, which are SQL of the units 0, 1, 2, ...
named_panel <- function(con, names, type = "BIGINT", table = "named") {
  DBI::dbExecute(con, paste("DROP TABLE IF EXISTS", table))
  columns <- paste("unit", type, ", week INT, y FLOAT, treated INT")
  DBI::dbExecute(con, paste0("CREATE TABLE ", table, " (", columns, ")"))
  rows <- expand.grid(unit = seq_along(names) - 1L, week = 1:7)
  DBI::dbExecute(con, paste0("INSERT INTO ", table, " VALUES ", paste(sprintf(
    "(%s, %d, %.3f, %d)", names[rows$unit + 1L], rows$week, sin(rows$unit * rows$week) / 2,
    as.integer(rows$unit == 0 & rows$week > 5)
  ), collapse = ", ")))
}

test_that("names of more digits than a double has tell the treated unit from donors", {
  # Plants faults 115.
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(data.frame(x = 1))
  released <- function(first, ...) {
    names <- c(first, sprintf("%.0f", 9007199254742000 + 4 * 1:60))
    named_panel(con, names)
    seeded(in_sqlite(con, name = "named"), formula = y ~ treated, ...)
  }
  reference <- released(c("1", "2"), protect = "donors")
  # The name of the treated unit is rounded to the name of a donor.
  for (donor in c("9007199254740992", "9007199254740994")) {
    release <- released(c("9007199254740993", donor), protect = "donors")
    expect_identical(release$statistics, reference$statistics)
  }
  expect_identical(exact_names(c(2^53, 2^53), c("9007199254740992", "9007199254740993"), TRUE)$unit,
    c("9007199254740992", "9007199254740993"))
  expect_identical(exact_names(c(NA, 1), c("3000000000", "1"), FALSE)$unit, c("3000000000", "1"))
  expect_identical(exact_names(c(7, 1), c("7", "1"), FALSE), list(unit = c(7, 1), literal = TRUE))
  expect_false(exact_names(1, "1.00000000000000000001", FALSE)$literal)
  # A roster's units are doubles.
  roster <- dp_roster(2^53 + 2 * 0:60, c(6, rep(NA, 60)), 1:7)
  expect_error(
    seeded(in_sqlite(con, name = "named"), formula = y ~ treated, na = "interpolate",
      roster = roster, protect = "donors"
    ),
    class = "dpsc_error_roster"
  )
})

test_that("in SQLite a number and its text are one unit, in panels and in rosters", {
  # Plants faults 116.
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(data.frame(x = 1))
  names <- c(3, 7.5, 0.1, 10:60)
  named_panel(con, names, "")
  roster <- dp_roster(names, c(6, rep(NA, length(names) - 1L)), 1:7)
  filled <- function(table) {
    seeded(in_sqlite(con, name = table), formula = y ~ treated, na = "interpolate", roster = roster,
      protect = "donors"
    )$statistics
  }
  reference <- list(
    seeded(in_sqlite(con, name = "named"), formula = y ~ treated, protect = "donors")$statistics,
    filled("named")
  )
  # Every unit has its first weeks as a number, and the others as text.
  for (first in c("SELECT", "SELECT CAST(unit AS TEXT) AS unit, week, y, treated FROM named WHERE 0
    UNION ALL SELECT")) {
    DBI::dbExecute(con, "DROP VIEW IF EXISTS mixed")
    DBI::dbExecute(con, paste("CREATE VIEW mixed AS", first,
      "* FROM named WHERE week < 4 UNION ALL",
      "SELECT CAST(unit AS TEXT), week, y, treated FROM named WHERE week > 3"))
    release <- seeded(in_sqlite(con, name = "mixed"), formula = y ~ treated, protect = "donors")
    expect_identical(release$statistics, reference[[1L]])
    if (first == "SELECT") expect_identical(filled("mixed"), reference[[2L]])
  }
  # A unit with all weeks twice is not two donors.
  DBI::dbExecute(con, "DROP VIEW mixed")
  DBI::dbExecute(con, paste("CREATE VIEW mixed AS SELECT * FROM named UNION ALL",
    "SELECT CAST(unit AS TEXT), week, y, treated FROM named WHERE unit = 20"))
  expect_error(seeded(in_sqlite(con, name = "mixed"), formula = y ~ treated, protect = "donors"),
    class = "dpsc_error_panel"
  )
})

test_that("a weight far above a very small largest weight counts as this largest weight", {
  # Plants faults 118.
  skip_if_not_installed("RSQLite")
  withr::local_seed(5)
  people <- data.frame(y = stats::runif(200), x = stats::runif(200), w = 1e10)
  fit <- function(data) {
    force(data)
    withr::local_seed(11)
    coef(dp_lm(y ~ x, data, epsilon = 20, weights = w, max_weight = 2^-1000,
      bounds = list(y = c(0, 1), x = c(0, 1)), control = by_seed
    ))
  }
  reference <- fit(dp_table(sqlite_of(people), "sales", compute = "database"))
  expect_identical(fit(people), reference)
  expect_false(anyNA(reference))
})
