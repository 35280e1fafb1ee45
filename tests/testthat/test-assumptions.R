# The assumptions of a guarantee are stated, and damaged or edited input is refused before the
# charge.

said_in <- function(x) gsub("\\s+", " ", paste(utils::capture.output(print(x)), collapse = " "))

assumption_rows <- function(n = 3000) {
  withr::local_seed(1)
  data.frame(x = stats::runif(n), y = stats::runif(n))
}
unit_limits <- list(y = c(0, 1), x = c(0, 1))

test_that("only fits to an SQL query state that the guarantee covers the query's result", {
  skip_if_not_installed("RSQLite")
  rows <- assumption_rows()
  con <- sqlite_of(rows, "people")
  fit_of <- function(table) dp_lm(y ~ x, dp_table(con, table), 1, bounds = unit_limits)
  starts <- "guarantee covers the query's result.*number is public and exact"
  for (table in list("people", DBI::Id(table = "people"), DBI::SQL("people"))) {
    expect_null(fit_of(table)$privacy$assumes)
    expect_no_match(said_in(fit_of(table)), "query|assumed")
  }
  query <- DBI::SQL("SELECT * FROM people WHERE x > .1")
  fit <- fit_of(query)
  expect_match(said_in(fit), starts)
  expect_match(said_in(report(fit)), starts)
  expect_match(said_in(dp_table(con, query)), "query")
  p <- long_panel(400, 5, 2)
  DBI::dbWriteTable(con, "sales", p$data)
  panel <- function(table) {
    dp_synth(y ~ on, dp_table(con, table, c("unit", "week")), epsilon = 4, bounds = c(-1, 1))
  }
  fit <- panel(DBI::SQL("SELECT * FROM sales"))
  expect_match(said_in(fit), starts)
  expect_match(said_in(report(fit)), starts)
  expect_no_match(said_in(panel("sales")), "query|assumed")
  skip_if_not_installed("jsonlite")
  path <- withr::local_tempfile(fileext = ".json")
  write_release(fit, path)
  expect_identical(read_release(path), fit$release)
})

test_that("fits to sources and combined releases assume in print that nobody is in two of them", {
  rows <- assumption_rows()
  halves <- dp_sources(list(rows[1:1500, ], rows[1501:3000, ]))
  fit <- dp_lm(y ~ x, halves, 1, bounds = unit_limits)
  expect_match(said_in(fit), "assumed: nobody is in two of the sources")
  model <- dp_glm(y ~ x, halves, "gaussian", 1, bounds = unit_limits)
  expect_match(said_in(model), "assumed: nobody is in two of the sources")
  # The statement is the same if a person is in both sources.
  twice <- dp_lm(y ~ x, dp_sources(list(rows[1:1500, ], rows[1:1500, ])), 1, bounds = unit_limits)
  expect_identical(twice$privacy$assumes, fit$privacy$assumes)
  expect_null(dp_lm(y ~ x, rows, 1, bounds = unit_limits)$privacy$assumes)
  p <- sim_panel(n = 800, T0 = 6, T1 = 2)
  group <- function(at) {
    dp_release(p$donors[at, ],
      target = p$target, T0 = 6, epsilon = 1, bounds = c(-1, 1), control = dp_control(features = 3)
    )
  }
  both <- combine_releases(group(1:400), group(1:400))
  expect_match(said_in(both), "assumed: nobody is in two of the groups")
  skip_if_not_installed("jsonlite")
  path <- withr::local_tempfile(fileext = ".json")
  for (x in list(fit, model)) {
    write_release(x, path)
    expect_identical(read_release(path), x)
  }
})

test_that("selections and streams that use a numerical solver are not declared exact", {
  rows <- assumption_rows(2000)
  for (method in c("stability", "lasso")) {
    found <- dp_select(y ~ x, rows, 4, size = 1, bounds = unit_limits, method = method)
    expect_false(found$privacy$exact)
    expect_match(said_in(found), "exact integer samplers, applied to a solver.s result.*asserted")
  }
  expect_true(dp_select(y ~ x, rows, 4, size = 1, bounds = unit_limits)$privacy$exact)
  online <- dp_online(y ~ x, 4, horizon = 200, bounds = unit_limits, method = "pigd")
  expect_false(online$privacy$exact)
  expect_match(said_in(online), "asserted")
})

test_that("an attribute on_grid of the donors' matrix does not change the released statistics", {
  p <- toy_panel(400, 5, 2)
  fit_of <- function(donors) {
    withr::local_seed(3)
    dp_release(donors,
      target = p$target, T0 = 5, epsilon = 4, bounds = c(-1, 1), control = dp_control(rng = "R")
    )$statistics
  }
  marked <- p$donors
  plain <- fit_of(p$donors)
  # The grid of these bounds, and a different grid.
  for (mark in list(grid_of(new_bounds(c(-1, 1), 7), 7L, 5)$id, c(1, 2))) {
    attr(marked, "on_grid") <- mark
    expect_identical(fit_of(marked), plain)
    halves <- list(marked[1:200, ], marked[201:400, ])
    for (k in 1:2) attr(halves[[k]], "on_grid") <- mark
    expect_identical(fit_of(dp_chunks(halves)), plain)
    expect_identical(fit_of(dp_sources(halves)), fit_of(dp_sources(list(
      p$donors[1:200, ], p$donors[201:400, ]
    ))))
  }
})

test_that("a data frame with a column that is too short is refused at no cost", {
  damaged <- function(data, column, to) {
    whole <- attributes(data)
    data <- unclass(data)
    data[[column]] <- data[[column]][seq_len(to)]
    attributes(data) <- whole
    data
  }
  ledger <- dp_ledger(10, 1e-5)
  p <- toy_panel(40, 5, 2)
  refused <- function(code) {
    error <- expect_error(code, "damaged", class = "dpsc_error")
    expect_identical(nrow(as.data.frame(ledger)), 0L)
  }
  rows <- damaged(assumption_rows(), "x", 1500)
  refused(dp_synth(y ~ treated, damaged(p$data, "y", nrow(p$data) / 2), c("unit", "time"), 1,
    bounds = c(-1, 1), ledger = ledger))
  refused(dp_lm(y ~ x, rows, 1, bounds = unit_limits, ledger = ledger))
  refused(dp_glm(y ~ x, rows, "gaussian", 1, bounds = unit_limits, ledger = ledger))
  refused(dp_select(y ~ x, rows, 1, size = 1, bounds = unit_limits, ledger = ledger))
  refused(dp_aggregate(rows, function(d) mean(d$x), lower = 0, upper = 1, epsilon = 1,
    ledger = ledger))
  stream <- dp_online(y ~ x, 1, horizon = 5000, bounds = unit_limits)
  refused(update(stream, rows))
  # Columns that contain lists also have one entry per row.
  whole <- assumption_rows(3)
  whole$when <- as.POSIXlt("2020-01-01") + 1:3
  whole$pair <- matrix(1:6, 3)
  expect_no_error(check_whole_columns(whole, "data"))
})

test_that("read_release() refuses a growing release with an edited identifier or payment flag", {
  skip_if_not_installed("jsonlite")
  p <- monitor_panel()
  ledger <- dp_ledger(4, 1e-6)
  paid <- start_monitor(p, rng = "secure", ledger = ledger)
  free <- start_monitor(p, rng = "secure")
  path <- withr::local_tempfile(fileext = ".json")
  for (fit in list(paid, free, next_period(free, p))) {
    write_release(fit, path)
    expect_identical(read_release(path), fit$release)
    record <- fit$release$statistics$monitor
    for (edit in list(list(id = "another"), list(paid = !record$paid))) {
      edited <- fit$release
      edited$statistics$monitor[names(edit)] <- edit
      write_release(edited, path)
      expect_error(read_release(path), "identifier of the growing", class = "dpsc_error_release")
    }
  }
  # Another first release has another name. A seeded release gets a new name each time.
  expect_false(paid$release$statistics$monitor$id == free$release$statistics$monitor$id)
  seeded <- lapply(1:2, function(k) withr::with_seed(1, start_monitor(p)))
  ids <- vapply(seeded, function(fit) fit$release$statistics$monitor$id, "")
  expect_false(ids[[1]] == ids[[2]])
  expect_s3_class(next_period(paid, p, ledger = ledger), "dp_synth")
})
