# Releases that grow from tables, files and several places equal the releases from memory, bit for
# bit. Impossible requests are refused, and no draw is lost.

# Long rows of `long_panel()`, with one period after the treatment in the first release.
growing_table <- function(n = 260, T0 = 5, T1 = 4, seed = 1) {
  p <- long_panel(n, T0, T1, seed)
  p$first <- p$data[p$data$week <= 2000 + T0 + 1, ]
  p
}

start_growing <- function(data, ..., seed = 31, formula = y ~ on, bounds = c(-1, 1), rng = "R") {
  seeded(data, formula = formula, bounds = bounds, epsilon = 4, seed = seed, fun = dp_synth,
    monitor = 3, rng = rng, ...)
}

grow <- function(fit, data, ..., seed = 32) withr::with_seed(seed, update(fit, data, ...))

# All fields except the release's unique name.
nameless <- function(fit) {
  fit$release$statistics$monitor$id <- NULL
  fit[c("formula", "index")] <- NULL
  fit
}

test_that("updates from a table, from parts or from files equal updates from a data frame", {
  skip_if_not_installed("RSQLite")
  p <- growing_table()
  con <- sqlite_of(p$first, "first")
  DBI::dbWriteTable(con, "sales", p$data)
  units <- sort(unique(p$data$unit), method = "radix")
  half <- p$data$unit %in% units[1:100]
  DBI::dbWriteTable(con, "north", p$data[half, ])
  DBI::dbWriteTable(con, "south", p$data[!half, ])
  folder <- withr::local_tempdir()
  utils::write.csv(p$data, file.path(folder, "all.csv"), row.names = FALSE)
  by_csv <- utils::read.csv(file.path(folder, "all.csv"))

  start <- start_growing(p$first)
  reference <- grow(start, p$data)
  expect_identical(monitor_left(reference), 0L)
  from <- start_growing(in_sqlite(con, name = "first", block = 41))
  expect_identical(nameless(from), nameless(start))
  expect_null(from$index)
  shards <- dp_sources(list(
    in_sqlite(con, name = "north", block = 33), in_sqlite(con, name = "south", groups = 3)
  ))
  grown <- list(
    table = grow(from, in_sqlite(con, block = 41)), shards = grow(start_growing(p$first), shards),
    frame = grow(start_growing(in_sqlite(con, name = "first")), p$data,
      index = c("unit", "week"))
  )
  for (name in names(grown)) {
    expect_identical(nameless(grown[[name]]), nameless(reference), label = name)
  }
  files <- dp_files(file.path(folder, "all.csv"), c("unit", "week"))
  expect_identical(
    nameless(grow(start_growing(p$first), files)), nameless(grow(start_growing(p$first), by_csv))
  )
  # The periods are added one after the other.
  upto <- function(week) {
    dp_table(con, DBI::SQL(paste("SELECT * FROM sales WHERE week <=", week)), c("unit", "week"))
  }
  one <- start_growing(in_sqlite(con, name = "first"))
  two <- start_growing(p$first)
  for (week in 2007:2009) {
    one <- grow(one, upto(week), seed = week)
    two <- grow(two, p$data[p$data$week <= week, ], seed = week)
  }
  expect_identical(nameless(one), nameless(two))
  # No table remains in the engine.
  expect_identical(sort(DBI::dbListTables(con)), c("first", "north", "sales", "south"))
  expect_identical(
    nrow(DBI::dbGetQuery(con, "SELECT name FROM sqlite_temp_master WHERE type = 'table'")), 0L
  )
})

test_that("fits to sources without treated units can be updated if a target is given", {
  skip_if_not_installed("RSQLite")
  p <- growing_table()
  donors <- donors_of(p$data)
  long <- p$data[!p$data$unit %in% treated_of(p$data), ]
  names <- sort(unique(long$unit), method = "radix")
  con <- sqlite_of(long[long$unit %in% names[1:90], ], "some")
  mixed <- function(upto) {
    weeks <- seq_len(upto)
    text <- paste("SELECT * FROM some WHERE week <=", 2000 + upto)
    dp_sources(list(
      dp_table(con, DBI::SQL(text), c("unit", "week"), outcome = "y", block = 17),
      donors[91:120, weeks], dp_chunks(list(donors[121:130, weeks], donors[131:260, weeks]))
    ))
  }
  begin <- function(x, ...) {
    withr::local_seed(3)
    dp_synth(x, p$target[1:6], T0 = 5, epsilon = 4, bounds = c(-1, 1), monitor = 2,
      control = by_seed, ...)
  }
  whole <- grow(begin(donors[, 1:6], times = 2001:2006), donors[, 1:8], target = p$target[1:8],
    times = 2001:2008)
  fit <- begin(mixed(6))
  expect_error(update(fit, mixed(8)), "target", class = "dpsc_error_argument")
  expect_identical(nameless(grow(fit, mixed(8), target = p$target[1:8])), nameless(whole))
})

test_that("updates from a table with gaps and a roster equal updates from a data frame", {
  skip_if_not_installed("RSQLite")
  p <- growing_table()
  treated <- treated_of(p$data)
  gone <- !p$data$unit %in% treated & p$data$week > 2006 & p$data$unit < "u3"
  holes <- p$data[!gone, ]
  units <- sort(unique(p$data$unit))
  roster <- function(upto) dp_roster(units, ifelse(units %in% treated, 2006, NA), 2001:upto)
  con <- sqlite_of(holes)
  first <- holes[holes$week <= 2006, ]
  fits <- lapply(list(holes, in_sqlite(con, block = 50)), function(data) {
    fit <- start_growing(first, na = "interpolate", roster = roster(2006))
    grow(fit, data, na = "interpolate", roster = roster(2008))
  })
  expect_identical(fits[[1]]$release$panel$T1, 3L)
  expect_identical(nameless(fits[[2]]), nameless(fits[[1]]))
})

test_that("fits with `monitor` refuse sources that return sums, before any budget is spent", {
  skip_if_not_installed("RSQLite")
  p <- growing_table(120)
  con <- sqlite_of(p$data)
  ledger <- dp_ledger(4, 1e-6)
  there <- in_sqlite(con, compute = "database", calibrate = TRUE)
  expect_error(start_growing(there, ledger = ledger, rng = "secure"), "compute = \"here\"",
    class = "dpsc_error_monitor")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  fit <- start_growing(p$first, ledger = ledger, rng = "secure")
  before <- ledger$monitors
  for (source in list(there, dp_sources(list(in_sqlite(con), there)))) {
    expect_error(update(fit, source, ledger = ledger), class = "dpsc_error")
  }
  expect_error(update(fit, there, ledger = ledger), "compute = \"here\"",
    class = "dpsc_error_monitor")
  expect_error(update(fit, in_sqlite(con), ledger = ledger, index = c("unit", "week")), "index",
    class = "dpsc_error_argument")
  expect_identical(ledger$monitors, before)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  # Workers cannot give rows either.
  workers <- structure(list(compute = "database", calibrate = TRUE), class = c("dp_workers",
    "dp_source"))
  held <- structure(list(parts = list(workers), n = 5), class = "dp_elsewhere")
  expect_identical(source_gives(held), "sums")
  expect_identical(source_gives(structure(list(parts = list(matrix(1, 2, 2), in_sqlite(con))),
    class = "dp_elsewhere")), "blocks")
  # The call uses the core's entry point directly.
  asked <- structure(list(n = 120), class = "dp_asked")
  base <- growing_base(fit$release)
  expect_error(
    draw_period(fit$release, base, asked, newer_bounds(fit$release, 7)), "not sums"
  )
  expect_identical(monitor_left(update(fit, in_sqlite(con), ledger = ledger)), 0L)
})

test_that("a table with other people, periods or target outcomes stops an update before a draw", {
  skip_if_not_installed("RSQLite")
  p <- growing_table(120)
  fit <- start_growing(p$first)
  donors <- setdiff(sort(unique(p$data$unit)), treated_of(p$data))
  someone <- p$data$unit == donors[[7]]
  worst <- list(
    "fewer people" = p$data[!someone, ],
    "more people" = rbind(p$data, transform(p$data[someone, ], unit = "u99998x")),
    "a gap" = p$data[!(someone & p$data$week == 2008), ],
    "nothing known" = transform(p$data, y = ifelse(someone & p$data$week == 2008, NA, y)),
    "a skipped period" = p$data[p$data$week != 2007, ],
    "no new period" = p$first,
    "another past" = transform(p$data, y = y + 0.1 * (unit == treated_of(p$data))),
    "too many periods" = rbind(p$data, transform(p$data[p$data$week == 2009, ], week = 2010L))
  )
  for (name in names(worst)) {
    con <- sqlite_of(worst[[name]])
    seen <- tryCatch(suppressWarnings(update(fit, in_sqlite(con))), error = identity)
    expect_s3_class(seen, "dpsc_error")
    expect_no_match(conditionMessage(seen), donors[[7]], label = name)
    expect_identical(DBI::dbListTables(con), "sales", label = name)
  }
  expect_null(session$monitors[[fit$release$statistics$monitor$id]])
  # A revised past in one person's rows of the table causes no error, and no message reveals it.
  con <- sqlite_of(transform(p$data, y = ifelse(someone & week < 2004, -y, y)))
  expect_identical(monitor_left(update(fit, in_sqlite(con))), 0L)
})

test_that("an update stops if rows change between passes, but its budget share stays spent", {
  skip_if_not_installed("RSQLite")
  p <- growing_table(250)
  con <- sqlite_of(p$data[p$data$week <= 2007, ])
  own <- run_sql
  harm <- c("DELETE FROM %s WHERE r = 117", "UPDATE %s SET q7 = q7 + 1 WHERE r = 117")
  for (statement in harm) {
    fit <- start_growing(p$first)
    asked <- 0L
    with_internal("run_sql", function(con, text, fetch = FALSE, charged = FALSE,
                                      what = "") {
      asked <<- asked + charged
      if (charged && asked == 5L) {
        kept <- DBI::dbGetQuery(con, "SELECT name FROM sqlite_temp_master WHERE type = 'table'")
        DBI::dbExecute(con, sprintf(statement, grep("^dpsc_", kept$name, value = TRUE)[[1]]))
      }
      own(con, text, fetch, charged, what)
    }, {
      # Each pass reads three blocks, so the fifth reading is the second reading of rows 101 to 200.
      error <- tryCatch(update(fit, in_sqlite(con, block = 100)), error = identity)
    })
    expect_s3_class(error, "dpsc_error_engine")
    expect_match(conditionMessage(error), "stays spent")
    id <- fit$release$statistics$monitor$id
    expect_identical(session$monitors[[id]]$taken, 1L)
    expect_error(update(fit, in_sqlite(con)), "drawn before", class = "dpsc_error_monitor")
    expect_identical(monitor_left(update(fit, in_sqlite(con), again = TRUE)), 1L)
  }
})

test_that("neither a fit updated from a table nor its SQL statements contain a donor's value", {
  skip_if_not_installed("RSQLite")
  p <- canary_panel(n = 300, T0 = 6, T1 = 3)
  con <- sqlite_of(p$data[p$data$time <= 2007, ], "first")
  DBI::dbWriteTable(con, "sales", p$data)
  log <- character()
  own <- run_sql
  with_internal("run_sql", function(con, text, ...) {
    log <<- c(log, text)
    own(con, text, ...)
  }, {
    start <- dp_synth(y ~ on, dp_table(con, "first", c("unit", "time")), epsilon = 8,
      bounds = p$bounds, monitor = 2)
    fit <- update(start, dp_table(con, "sales", c("unit", "time"), block = 90))
  })
  expect_gt(length(log), 15)
  expect_null(canary_found(log, p$secrets))
  expect_no_canary(list(start, fit, utils::capture.output(print(fit)), tidy(fit),
    session$monitors), p$secrets, "fits")
})

# The rows of a panel in one table, or in two sources.
placed_in <- function(con, name) {
  count <- 0L
  function(rows) {
    count <<- count + 1L
    table <- paste0(name, count)
    DBI::dbWriteTable(con, table, data.frame(
      unit = as.vector(row(rows)), week = as.vector(col(rows)), y = as.vector(rows)
    ))
    dp_table(con, table, c("unit", "week"), outcome = "y", block = 128)
  }
}

test_that("an audit of updates from tables passes, and detects a person who is in two sources", {
  # Plants faults 18.
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  withr::defer(DBI::dbDisconnect(con))
  withr::local_seed(33)
  mechanism <- monitor_mechanism(300, epsilon = 4)
  pairs <- monitor_pairs(300)
  for (name in c("turn", "revised")) {
    audit <- replay_growing(mechanism, pairs[[name]], place = placed_in(con, name), n_runs = 1)
    expect_false(audit$violated, label = name)
    expect_identical(sum(grepl("of the period", audit$table$call)), 6L)
  }
  # One person's row is in two sources. The number of rows is right, but another person is missing.
  twice <- function(rows) dp_sources(list(rows[1:299, ], rows[1, , drop = FALSE]))
  expect_true(replay_growing(mechanism, pairs$turn, place = twice, n_runs = 1)$violated)
  once <- function(rows) dp_sources(list(rows[1:299, ], rows[300, , drop = FALSE]))
  expect_false(replay_growing(mechanism, pairs$turn, place = once, n_runs = 1)$violated)
})
