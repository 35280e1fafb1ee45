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
