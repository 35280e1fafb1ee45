# Messages for users of engines. The engine's message is shown if no row was read; tbl() as data and
# CSV files by name give advice.

test_that("a database error before any row is read is shown, with code that avoids the error", {
  p <- long_panel(60, 4, 2)
  con <- sqlite_of(p$data)
  said <- function(call) {
    conditionMessage(expect_error(call, class = "dpsc_error_engine"))
  }
  expect_match(said(in_sqlite(con, name = "sale")), "before any row was read: no such table: sale")
  text <- said(in_sqlite(con, name = "main.sales"))
  expect_match(text, "DBI::Id(schema = , table = )", fixed = TRUE)
  text <- said(in_sqlite(con, name = "SELECT * FROM sales"))
  expect_match(text, "DBI::SQL(\"SELECT ...\")", fixed = TRUE)
  expect_match(said(in_sqlite(con, name = DBI::SQL("SELECT nothing FROM sales"))), "nothing")
  expect_match(said(in_sqlite(con, name = DBI::SQL("SELECT FROM WHERE"))), "syntax error")
  closed <- DBI::dbConnect(RSQLite::SQLite())
  DBI::dbDisconnect(closed)
  expect_match(said(dp_table(closed, "sales")), "closed")
})

test_that("a database error that rows cause is hidden, since its text may contain data", {
  p <- canary_panel()
  con <- sqlite_of(p$data)
  # The rows cause an error, since a number is too large for the engine's abs().
  DBI::dbExecute(con, "CREATE VIEW bad AS SELECT unit, time AS week, \"on\",
    CASE WHEN abs(-9223372036854775807 - 1) > 0 THEN 1.0 ELSE 2.0 END AS y FROM sales")
  error <- expect_error(
    seeded(in_sqlite(con, name = "bad")), class = "dpsc_error_engine"
  )
  expect_match(conditionMessage(error), "not shown, since it may contain data")
  expect_no_match(conditionMessage(error), "overflow")
  # The engine plans SELECT statements and temporary tables only.
  expect_null(planning_words(con, "DROP TABLE sales"))
  expect_null(planning_words(con, "SELECT y FROM sales"))
  expect_match(planning_words(con, "SELECT why FROM sales"), "why")
  expect_true("sales" %in% DBI::dbListTables(con))
})

test_that("only errors of a database about names, rights and syntax are shown, at most in part", {
  # Plants faults 100, 117.
  text <- "SELECT why, s.age FROM \"sale\" s"
  known <- c(
    "no such table: sale", "no such column: why", "near \"FROM\": syntax error",
    "Failed to prepare query : ERROR:  relation \"sale\" does not exist\nLINE 1: SELECT",
    "ERROR:  column s.age does not exist", "ERROR:  syntax error at or near \"FROM\"",
    "Failed to fetch row : ERROR:  permission denied for table sale",
    "ERROR:  operator does not exist: text > integer",
    "Catalog Error: Table with name sale does not exist!"
  )
  for (words in known) expect_match(words, known_error(words, text), fixed = TRUE)
  # Planners run functions of views, so these words quote a person's cell.
  cell <- "HIV positive, 1200 EUR"
  hidden <- paste0(c(
    "Failed to fetch row : ERROR:  invalid input syntax for type double precision: \"",
    "ERROR:  \"", "ERROR:  duplicate row \"", "Invalid Input Error: CSV line \"",
    "IO Error: near \"why\" no such table: \""
  ), cell, "\"")
  for (words in hidden) expect_null(known_error(words, text))
  parts <- paste(c(
    "ERROR:  relation \"%s\" does not exist", "ERROR:  column reference \"%s\" is ambiguous",
    "no such table: %s", "ERROR:  syntax error at or near \"%s\"", "near \"%s\": syntax error",
    "ERROR:  permission denied for table %s"
  ))
  for (words in sprintf(parts, cell)) {
    expect_no_match(known_error(words, text), "HIV")
    expect_match(known_error(words, text), "not exist|ambiguous|no such|syntax|denied")
  }
  expect_null(known_error("ERROR:  operator does not exist: hiv > positive", text))
  # Cells of one or two letters, and cells with words of the message.
  short <- "SELECT \"y\", 'm' AS g FROM \"sale\" s WHERE week IN (1, 2)"
  for (cell in c("m", "s", "y", "g", "1", "sal", "relation", "e")) {
    words <- sprintf("ERROR:  relation \"%s\" does not exist", cell)
    expect_identical(known_error(words, short), "relation \"...\" does not exist")
  }
  for (cell in c("m", "e", "sal", "column")) {
    words <- sprintf("ERROR:  column \"%s\" does not exist", cell)
    expect_identical(known_error(words, short), "column \"...\" does not exist")
  }
  expect_identical(known_error("no such table: sale", short), "no such table: sale")
  words <- "no such column: s.y"
  expect_identical(known_error(words, "SELECT s.y FROM sale"), words)
  expect_null(known_error("no such table: \xff", text))
})

test_that("connections of RPostgreSQL are refused by name, before anything is sent to the server", {
  # Plants faults 101.
  skip_if_not_installed("DBI")
  home <- environment()
  methods::setClass("PostgreSQLConnection", contains = methods::getClass("DBIConnection",
    where = asNamespace("DBI")), where = home)
  con <- methods::new(methods::getClass("PostgreSQLConnection", where = home))
  error <- expect_error(dp_table(con, "people"), class = "dpsc_error_argument")
  expect_match(conditionMessage(error), "RPostgreSQL.*RPostgres::Postgres")
})

test_that("a function that returns rows is a query, whose number of rows is public", {
  con <- sqlite_of(data.frame(a = 1:3), "people")
  DBI::dbWriteTable(con, "f(2)", data.frame(a = 1:3))
  said <- function(table) isTRUE(dp_table(con, table)$query)
  expect_true(said(DBI::SQL("pragma_table_info('people')")))
  expect_true(said(DBI::SQL("(SELECT a FROM people)")))
  expect_true(said(DBI::SQL("SELECT a FROM people")))
  expect_false(said("f(2)"))
  expect_false(said(DBI::SQL("\"f(2)\"")))
  expect_false(said(DBI::Id(table = "people")))
})

test_that("a lazy tbl of a database is accepted as data like its table", {
  skip_if_not_installed("dbplyr")
  skip_if_not_installed("dplyr")
  p <- long_panel(300, 4, 2)
  con <- sqlite_of(p$data)
  sales <- dplyr::tbl(con, "sales")
  release <- function(data, ...) {
    withr::local_seed(11)
    dp_release(y ~ on, data, ...,
      epsilon = 1, bounds = c(-1, 1), control = dp_control(rng = "R"), protect = "donors"
    )
  }
  reference <- release(p$data, c("unit", "week"))
  taken <- release(sales, c("unit", "week"))
  expect_identical(taken$statistics, reference$statistics)
  # The input is a query, and its assumptions are stated.
  kept <- dp_release(y ~ on, sales, c("unit", "week"),
    epsilon = 1, bounds = c(-1, 1), protect = "donors"
  )
  expect_match(kept$privacy$assumes, "query")
  expect_error(release(sales, c(unit, week)), "quotes", class = "dpsc_error_panel")
  withr::local_seed(3)
  rows <- data.frame(x = stats::runif(900))
  rows$y <- (rows$x + stats::runif(900)) / 2
  rows$b <- rows$y > 0.5
  DBI::dbWriteTable(con, "people", rows)
  there <- dplyr::tbl(con, "people")
  bounds <- list(y = c(0, 1), x = c(0, 1))
  regress <- function(data) {
    withr::local_seed(2)
    dp_lm(y ~ x, data, 2, bounds = bounds, control = dp_control(rng = "R"))
  }
  expect_identical(coef(regress(there)), coef(regress(rows)))
  fit <- dp_glm(b ~ x, there, epsilon = 2, bounds = list(b = c(0, 1), x = c(0, 1)))
  expect_s3_class(fit, "dp_glm")
  # A verb that needs rows in memory says so in an error.
  expect_error(
    dp_select(y ~ x, there, 2, size = 1, bounds = bounds), class = "dpsc_error_argument"
  )
})

csv_files <- function(..., env = parent.frame()) {
  dir <- withr::local_tempdir(.local_envir = env)
  for (name in ...names()) writeLines(...elt(match(name, ...names())), file.path(dir, name))
  file.path(dir, ...names())
}

test_that("columns of CSV files are matched by name, in any order", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(200, 4, 2, extreme = FALSE)
  dir <- withr::local_tempdir()
  half <- seq_len(nrow(p$data)) <= 500
  write <- function(data, name) {
    utils::write.csv(data, file.path(dir, name), row.names = FALSE)
    file.path(dir, name)
  }
  one <- write(p$data, "all.csv")
  two <- c(write(p$data[half, ], "a.csv"), write(rev(p$data[!half, ]), "b.csv"))
  read <- function(paths) seeded(dp_files(paths, c("unit", "week")), protect = "donors")
  expect_identical(read(two)$statistics, read(one)$statistics)
})

test_that("errors about separators and columns name file and place, but not a person's line", {
  skip_if_not_installed("RSQLite")
  said <- function(...) {
    conditionMessage(expect_error(
      dp_files(csv_files(...), c("id", "week")), class = "dpsc_error_argument"
    ))
  }
  good <- c("id,week,y", "a,1,2")
  text <- said(a.csv = c("id;week;y", "smith;1;2,5"))
  expect_match(text, "a.csv' has semicolons")
  expect_match(text, "write.csv")
  expect_match(said(a.csv = good, b.csv = c("id\tweek\ty", "smith\t1\t2")), "b.csv' has tabs")
  text <- said(a.csv = good, b.csv = c("id,y,when", "smith,2,1"))
  expect_match(text, "b.csv' does not have the columns")
  expect_match(text, "It contains no column `week`", fixed = TRUE)
  # In a file without a header the first line is a person.
  for (text in list(
    said(a.csv = good, b.csv = "smith,1,2"), said(a.csv = "smith,1,2", b.csv = good),
    said(a.csv = c("smith,3,4", "jones,1,2"), b.csv = "kelly,1,2"),
    said(a.csv = good, b.csv = c("id,week,y,smith", "b,1,2,3"))
  )) {
    expect_no_match(text, "smith|jones|kelly")
  }
  text <- said(a.csv = c("id,week,y,income", "a,1,2,3"), b.csv = c("id,week,y,wage", "b,1,2,3"))
  expect_match(text, "It lacks column 4 of the first file")
  expect_no_match(text, "income|wage")
  text <- said(a.csv = c("id,week,y,u,v", "a,1,2,3,4"), b.csv = c("id,week,y,w,x", "b,1,2,3,4"))
  expect_match(text, "It lacks columns 4 and 5 of the first file")
  expect_match(said(a.csv = c("id,id,y", "a,1,2")), "stopped in .*a.csv")
})

test_that("dates that SQLite stores as numbers or text are read as dates", {
  withr::local_seed(1)
  p <- sim_panel(300, 8, 2)
  months <- seq(as.Date("2023-01-01"), by = "month", length.out = 10)
  long <- data.frame(
    unit = rep(sprintf("u%03d", 1:301), 10), week = rep(months, each = 301),
    y = c(rbind(p$donors, p$target))
  )
  long$on <- as.integer(long$unit == "u301" & long$week >= months[[9L]])
  reference <- seeded(long, protect = "donors")
  skip_if_not_installed("RSQLite")
  # RSQLite uses package hms to read dates.
  skip_if_not_installed("hms")
  con <- DBI::dbConnect(RSQLite::SQLite(), extended_types = TRUE)
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "sales", long)
  as_text <- transform(long, week = format(week))
  DBI::dbWriteTable(con, "texts", as_text, field.types = c(week = "DATE"))
  for (name in c("sales", "texts")) {
    for (compute in c("here", "database")) {
      table <- in_sqlite(con, name = name, compute = compute, calibrate = TRUE)
      there <- seeded(table, protect = "donors")
      expect_identical(there$statistics, reference$statistics, label = paste(name, compute))
      expect_identical(there$panel$times, months, label = name)
    }
  }
  expect_identical(plot_periods(format(months)), months)
  expect_s3_class(plot_periods(c("2023-99-99", "2023-01-01")), "factor")
  expect_s3_class(plot_periods(c("a", "b")), "factor")
})

test_that("a compressed CSV file that is cut off at any byte is refused, not read in part", {
  # Plants faults 109.
  folder <- withr::local_tempdir()
  path <- file.path(folder, "people.csv.gz")
  withr::local_seed(1)
  lines <- c("id,week,y", paste(rep(1:300, each = 4), 1:4, stats::runif(1200), sep = ","))
  file <- gzfile(path, "w")
  writeLines(lines, file)
  close(file)
  whole <- readBin(path, "raw", 1e6)
  count <- function(bytes) {
    writeBin(bytes, path)
    table <- dp_files(path, c("id", "week"), "y")
    DBI::dbGetQuery(table$con, "SELECT COUNT(*) AS n FROM rows")$n
  }
  expect_equal(count(whole), 1200)
  # Some writers compress blocks separately.
  expect_equal(count(c(whole, whole)), 2401)
  n <- length(whole)
  damaged <- replace(whole, n %/% 2, xor(whole[[n %/% 2]], as.raw(1)))
  cuts <- lapply(c(n - 1, n - 8, n - 9, n - 20, n %/% 2, n %/% 9, 15, 3), function(k) whole[1:k])
  for (bytes in c(cuts, list(damaged, c(whole, whole[1:(n %/% 2)])))) {
    expect_error(count(bytes), "cut off or damaged", class = "dpsc_error_argument")
  }
  file <- bzfile(path, "w")
  writeLines(lines, file)
  close(file)
  expect_error(dp_files(path), "bzip2", class = "dpsc_error_argument")
  # A file without compression may have any name.
  writeLines(lines, path)
  expect_s3_class(dp_files(path), "dp_files")
})

test_that("a table or files with a connection of another process are refused before a charge", {
  skip_on_os("windows")
  withr::local_seed(1)
  people <- data.frame(x = stats::runif(400))
  people$y <- people$x
  con <- sqlite_of(people)
  path <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(people, path, row.names = FALSE)
  for (table in list(dp_table(con, "sales"), dp_files(path))) {
    fit <- function() {
      dp_lm(y ~ x, table, epsilon = 1, bounds = list(x = c(0, 1), y = c(0, 1)))
    }
    error <- parallel::mccollect(parallel::mcparallel(
      tryCatch(fit(), error = identity)
    ))[[1L]]
    expect_s3_class(error, "dpsc_error_engine")
    expect_match(conditionMessage(error), "another process.*nothing was spent")
    expect_s3_class(fit(), "dp_lm")
  }
})
