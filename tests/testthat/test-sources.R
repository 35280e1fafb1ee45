# Donors in a database, in files, or in several places. The release equals the release from memory,
# or an error occurs before the charge that reveals no person's data.

test_that("a seeded release is the same from a data frame and from SQLite, by rows or by sums", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(400, 6, 3)
  con <- sqlite_of(p$data)
  shapes <- list(
    c(-1, 1), c(-0.7, 1.3), cbind(seq(-1, -0.5, length.out = 9), seq(0.4, 2, length.out = 9))
  )
  for (bounds in shapes) {
    for (epsilon in c(1, 8)) {
      reference <- seeded(p$data, bounds = bounds, epsilon = epsilon)
      expect_false(is.null(reference$statistics$intervals))
      # By default the release contains three rounds of moments and the round for the target.
      expect_length(reference$statistics$rounds, 3L)
      expect_length(reference$statistics$target$mean, 3L)
      here <- seeded(in_sqlite(con, block = 37), bounds = bounds, epsilon = epsilon)
      expect_identical(here, reference)
      there <- seeded(in_sqlite(con, compute = "database", calibrate = TRUE),
        bounds = bounds, epsilon = epsilon
      )
      expect_identical(there, reference)
    }
  }
  # Without intervals no row leaves its source.
  reference <- seeded(p$data, intervals = FALSE, delta = 0)
  with_internal("fetch_rows", function(...) stop("a row travelled"), {
    stays <- seeded(in_sqlite(con, compute = "database"), intervals = FALSE, delta = 0)
  })
  expect_identical(stays, reference)
  # No table remains in the engine.
  expect_identical(DBI::dbListTables(con), "sales")
})

test_that("a fit to a table equals the fit to the data frame", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(300, 5, 2)
  con <- sqlite_of(p$data)
  expect_identical(
    seeded(in_sqlite(con), fun = dp_synth, size = 30),
    seeded(p$data, fun = dp_synth, size = 30)
  )
  # Without privacy the rows are read.
  p <- long_panel(300, 5, 2, extreme = FALSE)
  con <- sqlite_of(p$data)
  expect_equal(
    tidy(seeded(in_sqlite(con, block = 50), epsilon = Inf, bounds = NULL, fun = dp_synth)),
    tidy(seeded(p$data, epsilon = Inf, bounds = NULL, fun = dp_synth)),
    tolerance = 1e-8
  )
  expect_error(
    seeded(in_sqlite(con, compute = "database"), epsilon = Inf, bounds = NULL, fun = dp_synth),
    class = "dpsc_error_argument"
  )
})

test_that("intervals from rows or sums of a table use the same donors as from a data frame", {
  skip_if_not_installed("RSQLite")
  # With more than 10,000 donors, the donors at random places calibrate.
  p <- long_panel(10050, 2, 1)
  con <- sqlite_of(p$data)
  reference <- seeded(p$data)
  expect_identical(seeded(in_sqlite(con, block = 999)), reference)
  expect_identical(seeded(in_sqlite(con, compute = "database", calibrate = TRUE)), reference)
})

test_that("tables, matrices, chunks and sums combined give the release of all rows", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(300, 5, 2)
  units <- sort(unique(p$data$unit), method = "radix")
  half <- units[1:150]
  north <- p$data[p$data$unit %in% half, ]
  south <- p$data[!p$data$unit %in% half, ]
  con <- sqlite_of(north, "north")
  DBI::dbWriteTable(con, "south", south)
  reference <- seeded(p$data)
  for (compute in c("here", "database")) {
    shards <- dp_sources(list(
      in_sqlite(con, name = "north", compute = compute, calibrate = TRUE),
      in_sqlite(con, name = "south", block = 31)
    ))
    expect_output(print(shards), "2 places")
    expect_identical(seeded(shards), reference)
  }
  # The wide table is built in groups of columns.
  DBI::dbWriteTable(con, "sales", p$data)
  for (groups in c(2, 7, 1000)) {
    expect_identical(seeded(in_sqlite(con, groups = groups, block = 40)), reference)
  }
  # The table contains donors only, and the target is given separately.
  donors <- donors_of(p$data)
  long <- p$data[!p$data$unit %in% treated_of(p$data), ]
  names <- sort(unique(long$unit), method = "radix")
  DBI::dbWriteTable(con, "first", long[long$unit %in% names[1:100], ])
  given <- list(
    in_sqlite(con, name = "first", outcome = "y", compute = "database", calibrate = TRUE),
    donors[101:150, ], dp_chunks(list(donors[151:170, ], donors[171:290, ])), donors[291:300, ]
  )
  mixed <- function(x) {
    withr::local_seed(2)
    dp_release(x,
      target = p$target, T0 = 5, epsilon = 1, bounds = c(-1, 1), control = by_seed
    )
  }
  whole <- mixed(donors)
  whole$panel$times <- 2000L + 1:7
  expect_identical(mixed(dp_sources(given)), whole)
  given[[1L]] <- in_sqlite(con, name = "first", outcome = "y", block = 7)
  expect_identical(mixed(dp_sources(given)), whole)
})

test_that("lazy tables with filters and SQL queries are accepted as tables", {
  skip_if_not_installed("RSQLite")
  skip_if_not_installed("dbplyr")
  skip_if_not_installed("dplyr")
  p <- long_panel(150, 4, 2)
  con <- sqlite_of(p$data)
  DBI::dbWriteTable(con, "extra", data.frame(unit = "nobody", week = 2001L, y = 5, on = 0L))
  lazy <- dplyr::tbl(con, "sales")
  table <- dp_table(dplyr::filter(lazy, week > 2000L), index = c("unit", "week"))
  expect_identical(seeded(table), seeded(p$data))
  query <- dp_table(con, DBI::SQL("SELECT * FROM sales WHERE week > 0"), c("unit", "week"))
  expect_identical(seeded(query), seeded(p$data))
})

test_that("rows that do not form a panel are refused before the charge without naming anybody", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(60, 4, 2)
  data <- p$data
  donor <- which(data$on == 0 & !data$unit %in% treated_of(data))
  faults <- list(
    missing = function(d) d[-donor[[3L]], ],
    null = function(d) replace(d, "y", list(replace(d$y, donor[[3L]], NA))),
    infinite = function(d) replace(d, "y", list(replace(d$y, donor[[3L]], Inf))),
    twice = function(d) rbind(d, d[donor[[3L]], ]),
    swapped = function(d) rbind(d[-donor[[4L]], ], d[donor[[3L]], ]),
    nobody = function(d) replace(d, "unit", list(replace(d$unit, donor[[3L]], NA))),
    never = function(d) replace(d, "week", list(replace(d$week, donor[[3L]], NA)))
  )
  for (fault in names(faults)) {
    con <- sqlite_of(faults[[fault]](data))
    for (compute in c("here", "database")) {
      ledger <- dp_ledger(5, 1e-6)
      table <- in_sqlite(con, compute = compute, calibrate = TRUE)
      error <- tryCatch(seeded(table, ledger = ledger, rng = "secure"), error = identity)
      expect_s3_class(error, c("dpsc_error_panel", "dpsc_error"), exact = FALSE)
      expect_no_match(conditionMessage(error), "u[0-9]{5}|secret")
      expect_identical(nrow(as.data.frame(ledger)), 0L, label = fault)
      expect_identical(DBI::dbListTables(con), "sales", label = fault)
    }
  }
})

test_that("`index` in the wrong order causes an error that names no unit", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(60, 4, 2)
  # The treated unit is in the middle, or the last unit.
  for (name in c("u50000", "zz")) {
    data <- p$data
    data$unit[data$unit == treated_of(data)] <- name
    con <- sqlite_of(data)
    error <- tryCatch(
      seeded(dp_table(con, "sales", c("week", "unit")), protect = "donors"),
      error = identity, warning = identity
    )
    expect_s3_class(error, "dpsc_error_panel")
    expect_match(conditionMessage(error), "index|treated|treatment")
    expect_no_match(conditionMessage(error), "u[0-9]{5}")
    expect_identical(seeded(in_sqlite(con)), seeded(data))
  }
  many <- data.frame(unit = "a", week = 1:950, y = 0, on = 0L)
  con <- sqlite_of(many)
  expect_error(seeded(in_sqlite(con)), "too many periods", class = "dpsc_error_panel")
})

test_that("no SQL statement and no error names protected treated units", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(60, 4, 2)
  data <- p$data
  second <- data$unit == unique(setdiff(data$unit, treated_of(data)))[[1L]]
  data$on[second] <- as.integer(data$week[second] > 2004)
  secret <- treated_of(data)
  hidden <- function(data) {
    con <- sqlite_of(data)
    log <- logged_sql({
      panel <- read_panel(y ~ on, in_sqlite(con), hide = TRUE)
      opened <- open_donors(panel$donors, list(
        private = TRUE, bounds = new_bounds(c(-1, 1), 6)
      ), FALSE)
      close_donors(opened)
    })
    list(panel = panel, n = opened$n, log = log)
  }
  found <- hidden(data)
  expect_identical(found$n, 59)
  expect_equal(unname(found$panel$target[order(found$panel$target[, 1]), ]), local({
    own <- data[data$unit %in% secret, ]
    own <- matrix(own$y[order(own$week, own$unit)], 2)
    own[order(own[, 1]), ]
  }))
  expect_gt(length(found$log), 5)
  expect_false(any(grepl(paste(secret, collapse = "|"), found$log)))
  faults <- list(
    replace(data, "y", list(replace(data$y, which(data$on == 1)[[1L]], NA))),
    data[-which(data$on == 1)[[1L]], ], rbind(data, data[data$on == 1, ][1L, ]),
    replace(data, "on", list(replace(data$on, data$week == 2006, 0L)))
  )
  for (bad in faults) {
    error <- tryCatch(hidden(bad), error = identity)
    expect_s3_class(error, "dpsc_error_panel")
    expect_no_match(conditionMessage(error), paste(secret, collapse = "|"))
  }
})

test_that("a reader that draws random numbers and resets the seed does not change the release", {
  p <- long_panel(60, 4, 2)
  donors <- donors_of(p$data)
  reader <- dp_chunks(function(i) {
    seed <- globalenv()$.Random.seed
    stats::runif(3)
    assign(".Random.seed", seed, globalenv())
    donors[if (i == 1) 1:20 else 21:60, ]
  }, 2)
  release <- function(x) {
    withr::local_seed(8)
    dp_release(x, p$target, 4, epsilon = 5, bounds = c(-1, 1), control = by_seed)
  }
  expect_equal(release(reader), release(donors))
})

test_that("rows lost or changed between two passes stop the release, and the charge remains", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(250, 4, 2)
  con <- sqlite_of(p$data)
  kept <- function() {
    grep("^dpsc_", DBI::dbGetQuery(con, "SELECT name FROM sqlite_temp_master WHERE type = 'table'")
    $name, value = TRUE)
  }
  harm <- list(
    lost = "DELETE FROM %s WHERE r = 17", changed = "UPDATE %s SET q2 = q2 + 1 WHERE r = 17",
    gone = "DROP TABLE %s"
  )
  for (kind in names(harm)) {
    for (compute in c("here", "database")) {
      # Blocks reveal a changed value by comparison; sums reveal only a changed count.
      if (kind == "changed" && compute == "database") next
      ledger <- dp_ledger(5, 1e-6)
      asked <- 0L
      own <- run_sql
      release <- NULL
      with_internal("run_sql", function(con, text, fetch = FALSE, charged = FALSE,
                                        what = "") {
        if (charged) asked <<- asked + 1L
        if (charged && asked == 2L) DBI::dbExecute(con, sprintf(harm[[kind]], kept()[[1L]]))
        own(con, text, fetch, charged, what)
      }, {
        error <- tryCatch(
          release <- seeded(in_sqlite(con, compute = compute, calibrate = TRUE, block = 100),
            ledger = ledger, rng = "secure"
          ),
          error = identity
        )
      })
      expect_s3_class(error, "dpsc_error_engine")
      expect_match(conditionMessage(error), "stays spent", label = paste(kind, compute))
      expect_no_match(conditionMessage(error), "no such table")
      expect_null(release)
      expect_identical(nrow(as.data.frame(ledger)), 1L)
      expect_identical(kept(), character())
    }
  }
})

test_that("a single block is read once, but several blocks are read in every pass", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(250, 4, 2)
  con <- sqlite_of(p$data)
  reads <- 0L
  own <- fetch_rows
  count <- function(block) {
    reads <<- 0L
    with_internal("fetch_rows", function(...) {
      reads <<- reads + 1L
      own(...)
    }, {
      release <- seeded(in_sqlite(con, block = block))
    })
    expect_identical(release, seeded(p$data))
    reads
  }
  expect_identical(count(1000), 1L)
  # Two blocks are read in three passes, a first check and one pass per round.
  expect_identical(count(249), 6L)
})

test_that("impossible sums of donors' rows from a database are rejected", {
  p <- long_panel(200, 4, 2)
  donors <- pmax(pmin(donors_of(p$data), 1), -1)
  blocks <- dp_chunks(list(donors[1:80, ], donors[81:200, ]))
  question <- random_questions(c(-1, 1), 6L, 3L)
  honest <- lapply(question, function(q) row_sums_cpp(donors, q))
  asked <- function(change) {
    structure(list(n = 200, calibrate = TRUE, ask = function(question, charged) {
      change(row_sums_cpp(donors, question))
    }, sample = function(first, step, charged) donors), class = "dp_asked")
  }
  fails <- function(change, class = NULL) {
    expect_error(
      with_internal("open_donors", function(donors, ...) asked(change), {
        dp_release(blocks, p$target, 4, epsilon = 5, bounds = c(-1, 1))
      }),
      class = class
    )
  }
  fails(function(x) replace(x, "rows", 199), "dpsc_error_engine")
  fails(function(x) if (is.null(x$kept)) x else replace(x, "kept", list(x$kept + 0.5)))
  fails(function(x) if (is.null(x$kept)) x else replace(x, "kept", list(x$kept * 1e6)))
  fails(function(x) if (is.null(x$gram)) x else replace(x, "gram", list(x$gram + 0.25)))
  fails(function(x) if (is.null(x$gram)) x else replace(x, "gram", list(x$gram * 1e6)))
  fails(function(x) if (is.null(x$sum)) x else replace(x, "sum", list(x$sum[-1])))
  # The products are for the target's round.
  own <- function(x, change) {
    if (is.null(x$sum) || !is.null(x$gram)) x else replace(x, "sum", list(change(x$sum)))
  }
  fails(function(x) own(x, function(sum) sum + 0.5))
  fails(function(x) own(x, function(sum) sum * 1e9))
  fails(function(x) own(x, function(sum) sum[-1]))
  expect_s3_class(with_internal("open_donors", function(donors, ...) asked(identity), {
    dp_release(blocks, p$target, 4, epsilon = 5, bounds = c(-1, 1))
  }), "dp_release")
})

test_that("a failure while rows are counted or joined leaves no temporary table in the database", {
  con <- sqlite_of(long_panel(60, 4, 2)$data, "panel")
  DBI::dbWriteTable(con, "people", data.frame(y = stats::runif(60), x = stats::runif(60)))
  left <- function() {
    DBI::dbGetQuery(con, "SELECT name FROM sqlite_temp_master WHERE type = 'table'")$name
  }
  source <- dp_table(con, "panel", index = c("unit", "week"))
  fit <- function() dp_release(y ~ on, source, epsilon = 1, bounds = c(-1, 1))
  for (name in c("count_rows", "join_rows")) {
    fails <- function(...) {
      expect_gt(length(left()), 0L)
      stop("no such rows")
    }
    expect_error(with_internal(name, fails, fit()), "no such rows")
    expect_identical(left(), character())
    expect_error(with_internal(name, fails, {
      dp_lm(y ~ x, dp_table(con, "people"), 1, bounds = list(y = c(0, 1), x = c(0, 1)))
    }), "no such rows")
    expect_identical(left(), character())
  }
  expect_s3_class(fit(), "dp_release")
})

test_that("no release, error or logged SQL statement contains a donor's value", {
  skip_if_not_installed("RSQLite")
  p <- canary_panel(300)
  con <- sqlite_of(p$data)
  for (compute in c("here", "database")) {
    log <- logged_sql({
      table <- dp_table(con, "sales", c("unit", "time"), compute = compute, calibrate = TRUE)
      release <- dp_release(y ~ on, table, epsilon = 1, bounds = p$bounds)
    })
    expect_no_canary(release, p$secrets, compute)
    expect_gt(length(log), if (compute == "here") 5 else 15)
    expect_null(canary_found(log, p$secrets))
  }
  broken <- tryCatch(
    dp_release(y ~ on, dp_table(con, DBI::SQL(paste(
      "SELECT unit, time, \"on\", CASE WHEN y > 0 THEN abs(-9223372036854775807 - 1) END AS y",
      "FROM sales"
    )), c("unit", "time")), epsilon = 1, bounds = p$bounds), error = identity
  )
  expect_s3_class(broken, "dpsc_error_engine")
  expect_no_match(conditionMessage(broken), "overflow")
})

test_that("invalid sources and unsupported requests stop with classed errors", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(60, 4, 2)
  con <- sqlite_of(p$data)
  argument <- function(code) expect_error(code, class = "dpsc_error_argument")
  argument(dp_table(1, "sales"))
  argument(dp_table(con, 7, c("unit", "week")))
  argument(dp_table(con, "sales", "unit"))
  argument(dp_table(con, "sales", c("unit", "unit")))
  argument(dp_table(con, "sales", c("unit", "wek")))
  argument(dp_table(con, "sales", c("unit", "week"), compute = "there"))
  argument(dp_sources(list()))
  argument(dp_sources(list("sales")))
  rows <- data.frame(y = 0.1234567, who = "Anna")
  expect_identical(format(dp_sources(list(rows))), c("Rows in 1 place", "  Rows in memory"))
  argument(dp_files("nowhere.csv"))
  expect_error(dp_table(con, "sale", c("unit", "week")), class = "dpsc_error_engine")
  # Intervals need rows, but the rows remain at their source.
  error <- tryCatch(seeded(in_sqlite(con, compute = "database"), epsilon = 20), error = identity)
  expect_s3_class(error, "dpsc_error_argument")
  expect_match(conditionMessage(error), "calibrate = TRUE")
  argument(seeded(dp_sources(list(in_sqlite(con), donors_of(p$data)))))
  panel <- function(code) expect_error(code, class = "dpsc_error_panel")
  panel(seeded(in_sqlite(con), formula = log(y) ~ on))
  panel(seeded(in_sqlite(con), formula = yy ~ on))
  panel(seeded(in_sqlite(con), formula = y ~ unit))
  panel(seeded(in_sqlite(con), formula = y ~ week))
  argument(dp_release(y ~ on, in_sqlite(con), index = c("unit", "week"), epsilon = 1,
    bounds = c(-1, 1)))
  argument(dp_release(y ~ on, in_sqlite(con), epsilon = 1, bounds = c(-1, 1), method = "output"))
  release <- seeded(in_sqlite(con))
  argument(pdp(release, y ~ on, data = in_sqlite(con)))
  expect_output(print(in_sqlite(con, compute = "database")), "only sums leave")
  unknown <- in_sqlite(con)
  unknown$dialect <- sql_dialects()$spark
  expect_output(print(unknown), "UNTESTED")
})

test_that("dp_lm() gives the same fit from a table or from two places as from a data frame", {
  skip_if_not_installed("RSQLite")
  withr::local_seed(4)
  n <- 3000
  people <- data.frame(age = stats::runif(n, 18, 80), region = sample(c("n", "s"), n, TRUE))
  people$wage <- exp(1 + 0.02 * people$age + 0.3 * (people$region == "s") + stats::rnorm(n, 0, 0.4))
  people$age[5:9] <- NA
  con <- sqlite_of(people, "people")
  fit <- function(data, epsilon = 2) {
    withr::local_seed(9)
    dp_lm(log(wage) ~ age + region, data,
      epsilon = epsilon, subset = age > 20, control = dp_control(rng = "R"),
      bounds = list(wage = c(1, 1000), age = c(0, 120), region = c("n", "s"))
    )
  }
  reference <- fit(people)
  expect_identical(fit(dp_table(con, "people", block = 700)), reference)
  expect_equal(coef(fit(dp_table(con, "people", block = 700), Inf)), coef(fit(people, Inf)))
  DBI::dbWriteTable(con, "tail", people[2001:n, ])
  expect_identical(fit(dp_sources(list(people[1:2000, ], dp_table(con, "tail")))), reference)
  expect_identical(sort(DBI::dbListTables(con)), c("people", "tail"))
  expect_error(fit(dp_table(con, "people", compute = "database")), class = "dpsc_error_argument")
  expect_error(
    dp_lm(log(wage) ~ height, dp_table(con, "people"),
      epsilon = 1, bounds = list(wage = c(1, 1000), height = c(1, 2))
    ),
    class = "dpsc_error_data"
  )
})

test_that("CSV files are read without duckdb, while Parquet files need duckdb", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(150, 4, 2)
  folder <- withr::local_tempdir()
  half <- seq_len(nrow(p$data)) <= 400
  utils::write.csv(p$data[half, ], file.path(folder, "a.csv"), row.names = FALSE)
  utils::write.csv(p$data[!half, ], file.path(folder, "b.csv"), row.names = FALSE)
  by_csv <- rbind(
    utils::read.csv(file.path(folder, "a.csv")), utils::read.csv(file.path(folder, "b.csv"))
  )
  files <- function(...) dp_files(file.path(folder, ...), c("unit", "week"))
  expect_identical(seeded(files("*.csv")), seeded(by_csv))
  with_internal("csv_bytes", 50L, {
    expect_identical(seeded(files("*.csv")), seeded(by_csv))
  })
  utils::write.csv(p$data[1:9, 1:3], file.path(folder, "c.csv"), row.names = FALSE)
  if (!nzchar(system.file(package = "duckdb"))) {
    expect_error(files("*.csv"), class = "dpsc_error_argument")
    writeLines("x", file.path(folder, "d.parquet"))
    expect_error(files("d.parquet"), class = "dpsc_error_package")
  }
})

test_that("tables give the releases of data frames with several dates or protected people", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(500, 8, 3)
  data <- p$data
  others <- setdiff(sort(unique(data$unit)), treated_of(data))[1:12]
  data$on[data$unit == others[[1L]] & data$week > 2009] <- 1L
  con <- sqlite_of(data)
  for (compute in c("here", "database")) {
    table <- in_sqlite(con, compute = compute, calibrate = TRUE)
    expect_identical(
      seeded(table, protect = "donors", epsilon = 3), seeded(data, protect = "donors", epsilon = 3)
    )
  }
  # The people are protected, with one adoption date.
  data <- p$data
  for (unit in others) data$on[data$unit == unit] <- as.integer(data$week[data$unit == unit] > 2008)
  con <- sqlite_of(data)
  reference <- seeded(data, protect = "everyone", epsilon = 10)
  expect_identical(seeded(in_sqlite(con), protect = "everyone", epsilon = 10), reference)
  # The engine computes the sums over donors. The rows of the treated people leave their source if
  # this is allowed.
  there <- in_sqlite(con, compute = "database", calibrate = TRUE)
  expect_identical(seeded(there, protect = "everyone", epsilon = 10), reference)
  ledger <- dp_ledger(20, 1e-5)
  log <- logged_sql(expect_error(
    seeded(in_sqlite(con, compute = "database"),
      protect = "everyone", epsilon = 10, ledger = ledger, rng = "secure"
    ),
    class = "dpsc_error_argument"
  ))
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # No row was read.
  expect_true(all(grepl("WHERE 1 = 0", log)))
  # The release is the same from shards, each with treated people.
  first <- data$unit %in% sort(unique(data$unit), method = "radix")[1:250]
  DBI::dbWriteTable(con, "north", data[first, ])
  DBI::dbWriteTable(con, "south", data[!first, ])
  expect_gt(length(intersect(treated_of(data), data$unit[first])), 0)
  expect_gt(length(intersect(treated_of(data), data$unit[!first])), 0)
  shards <- dp_sources(list(
    in_sqlite(con, name = "north", block = 71),
    in_sqlite(con, name = "south", compute = "database", calibrate = TRUE)
  ))
  expect_identical(seeded(shards, protect = "everyone", epsilon = 10), reference)
  # The groups adopt at two dates.
  data$on[data$unit == others[[1L]] & data$week > 2006] <- 1L
  later <- others[seq_len(6)]
  data$on[data$unit %in% later] <- as.integer(data$week[data$unit %in% later] > 2009)
  DBI::dbWriteTable(con, "dates", data)
  given <- list(protect = "everyone", epsilon = 60)
  expect_identical(
    do.call(seeded, c(
      list(in_sqlite(con, name = "dates", compute = "database", calibrate = TRUE)), given
    )),
    do.call(seeded, c(list(data), given))
  )
  # Several treated units without `protect` cause an error that requests it, also for a table.
  expect_error(seeded(in_sqlite(con)), class = "dpsc_error_protect")
  # The release is from donors only, with T0 given.
  p <- long_panel(400, 8, 3)
  donors <- donors_of(p$data)
  con <- sqlite_of(p$data[!p$data$unit %in% treated_of(p$data), ])
  targets <- rbind(p$target, rev(p$target))
  release <- function(x) {
    withr::local_seed(3)
    dp_release(x, targets, c(6, 8),
      epsilon = 3, bounds = c(-1, 1), protect = "donors", control = by_seed,
      times = 2000L + 1:11
    )
  }
  expect_identical(release(in_sqlite(con, outcome = "y")), release(donors))
})

# Two connections to one file, of which the second can write while the first reads.
two_connections <- function(data, env = parent.frame()) {
  skip_if_not_installed("DBI")
  skip_if_not_installed("RSQLite")
  path <- withr::local_tempfile(fileext = ".sqlite", .local_envir = env)
  both <- lapply(1:2, function(i) DBI::dbConnect(RSQLite::SQLite(), path))
  withr::defer(for (con in both) DBI::dbDisconnect(con), envir = env)
  DBI::dbGetQuery(both[[1L]], "PRAGMA journal_mode = WAL")
  DBI::dbWriteTable(both[[1L]], "sales", data)
  both
}

test_that("a release reads one state of a table, or stops because the table changed", {
  # Plants faults 102.
  p <- long_panel(120, 4, 2)
  p$data$week <- p$data$week - 2000L
  units <- setdiff(sort(unique(p$data$unit)), treated_of(p$data))
  roster <- dp_roster(
    c(units, "zz", treated_of(p$data)), c(rep(NA, length(units) + 1L), 5L), 1:6
  )
  calls <- list(
    plain = function(data) seeded(data, protect = "donors"),
    gaps = function(data) seeded(data, na = "interpolate", roster = roster)
  )
  for (kind in names(calls)) {
    reference <- calls[[kind]](p$data)
    both <- two_connections(p$data)
    rename <- function(from, to) {
      DBI::dbExecute(both[[2L]], "UPDATE sales SET unit = ? WHERE unit = ?", list(to, from))
    }
    table <- in_sqlite(both[[1L]], groups = 3)
    release <- moved_release(calls[[kind]](table), units, rename)
    expect_identical(release, reference, label = kind)
    # Between the facts and the donors' rows the treated unit and a donor change places.
    own <- open_all
    ledger <- dp_ledger(5, 1e-6)
    error <- with_internal("open_all", function(...) {
      rename(treated_of(p$data), "swap")
      rename(units[[7L]], treated_of(p$data))
      rename("swap", units[[7L]])
      own(...)
    }, tryCatch(calls[[kind]](table), error = identity))
    expect_s3_class(error, "dpsc_error_engine")
    expect_match(conditionMessage(error), "The table changed while it was read", label = kind)
    expect_no_match(conditionMessage(error), paste(units, collapse = "|"))
    left <- "SELECT name FROM sqlite_temp_master WHERE type = 'table'"
    expect_identical(DBI::dbGetQuery(both[[1L]], left)$name, character())
    # The connection is not in a transaction.
    expect_no_error(DBI::dbBegin(both[[1L]]))
    DBI::dbRollback(both[[1L]])
  }
})

test_that("several tables of one connection are read in one state of the database", {
  # Plants faults 114.
  p <- long_panel(120, 4, 2)
  people <- data.frame(id = 1:400, y = stats::runif(400), x = stats::runif(400))
  both <- two_connections(p$data)
  units <- setdiff(sort(unique(p$data$unit)), treated_of(p$data))
  north <- p$data$unit %in% units[1:60]
  DBI::dbWriteTable(both[[1L]], "p1", p$data[north, ])
  DBI::dbWriteTable(both[[1L]], "p2", p$data[!north, ])
  DBI::dbWriteTable(both[[1L]], "q1", people[1:200, ])
  DBI::dbWriteTable(both[[1L]], "q2", people[201:400, ])
  # After the first table was copied, people change places.
  swap <- function(a, b, key, one, two) {
    texts <- c(
      "CREATE TEMP TABLE moved AS SELECT * FROM %1$s WHERE %5$s = '%3$s'",
      "DELETE FROM %1$s WHERE %5$s = '%3$s'",
      "INSERT INTO %1$s SELECT * FROM %2$s WHERE %5$s = '%4$s'",
      "DELETE FROM %2$s WHERE %5$s = '%4$s'", "INSERT INTO %2$s SELECT * FROM moved",
      "DROP TABLE moved"
    )
    # Most statements use some of the names.
    for (text in texts) {
      text <- suppressWarnings(sprintf(text, a, b, one, two, key))
      DBI::dbExecute(both[[2L]], text)
    }
  }
  moving <- function(name, move, code) {
    own <- get(name, asNamespace("dpsc"))
    count <- 0L
    out <- with_internal(name, function(...) {
      value <- own(...)
      count <<- count + 1L
      if (count == 1L) move()
      value
    }, code)
    expect_identical(count, 2L)
    out
  }
  in_both <- function(of) dp_sources(lapply(1:2, of))
  panel <- function(compute) {
    seeded(in_both(function(i) {
      in_sqlite(both[[1L]], name = paste0("p", i), compute = compute, calibrate = TRUE)
    }), protect = "donors")
  }
  fit <- function(compute) {
    coef(seeded(in_both(function(i) dp_table(both[[1L]], paste0("q", i), compute = compute)),
      formula = y ~ x, fun = dp_lm, bounds = list(y = c(0, 1), x = c(0, 1)), epsilon = 20
    ))
  }
  for (compute in c("here", "database")) {
    reference <- panel(compute)
    release <- with_internal("prove_engine", function(table) NULL, moving("make_wide", function() {
      swap("p1", "p2", "unit", units[[3L]], units[[100L]])
    }, panel(compute)))
    expect_identical(release$statistics, reference$statistics)
    swap("p1", "p2", "unit", units[[100L]], units[[3L]])
    reference <- fit(compute)
    step <- if (compute == "here") "stream_copied" else "asked_people"
    fitted <- moving(step, function() swap("q1", "q2", "id", 3, 300), fit(compute))
    expect_identical(fitted, reference)
    swap("q1", "q2", "id", 300, 3)
  }
  # The connection is not in a transaction.
  expect_no_error(DBI::dbBegin(both[[1L]]))
  DBI::dbRollback(both[[1L]])
})

test_that("a panel is read in the user's transaction; groups need an engine with transactions", {
  p <- long_panel(60, 4, 2)
  con <- sqlite_of(p$data)
  DBI::dbBegin(con)
  DBI::dbExecute(con, "UPDATE sales SET y = y / 2")
  halved <- seeded(transform(p$data, y = y / 2))
  expect_identical(seeded(in_sqlite(con, groups = 2)), halved)
  DBI::dbRollback(con)
  expect_identical(seeded(in_sqlite(con)), seeded(p$data))
  table <- in_sqlite(con, groups = 2)
  table$dialect$snapshot <- "none"
  error <- expect_error(seeded(table), class = "dpsc_error_argument")
  expect_match(conditionMessage(error), "groups")
  table$groups <- 1
  expect_identical(seeded(table), seeded(p$data))
})
