# Postgres and DuckDB for real: `make test-databases` starts its servers and passes their addresses.
# In `make test` SQLite stands for them (tests/testthat/test-sources.R).

engines <- function(env = parent.frame()) {
  out <- list()
  if (nzchar(Sys.getenv("DPSC_POSTGRES"))) out$postgres <- connect_postgres(env)
  if (nzchar(Sys.getenv("DPSC_LIBDUCKDB"))) {
    out$duckdb <- connect_adbc()
  } else if (nzchar(Sys.getenv("DPSC_DUCKDB"))) {
    out$duckdb <- DBI::dbConnect(duckdb::duckdb())
  }
  withr::defer(for (con in out) DBI::dbDisconnect(con), envir = env)
  skip_if(!length(out), "neither Postgres nor DuckDB here: make test-databases")
  out
}

fill <- function(con, name, data) {
  tryCatch(DBI::dbExecute(con, paste("DROP TABLE", name)), error = function(e) NULL)
  DBI::dbWriteTable(con, name, data)
}

test_that("engines give the data frame's release, streamed and summed there", {
  p <- long_panel(400, 6, 3)
  # Upper and lower case, digits and accents: identifiers are ordered by bytes, not by a language's
  # rules.
  p$data$unit <- paste0(ifelse(as.integer(factor(p$data$unit)) %% 2 == 0, "b", "B"), p$data$unit)
  p$data$unit <- sub("7", "\u00e4", p$data$unit)
  for (con in engines()) {
    fill(con, "sales", p$data)
    for (bounds in list(c(-1, 1), cbind(seq(-1, -0.5, length.out = 9), 1 / 1:9))) {
      reference <- seeded(p$data, bounds = bounds)
      expect_identical(seeded(in_sqlite(con, block = 90), bounds = bounds), reference)
      expect_identical(seeded(in_sqlite(con, groups = 5), bounds = bounds), reference)
      there <- in_sqlite(con, compute = "database", calibrate = TRUE)
      expect_identical(seeded(there, bounds = bounds), reference)
      expect_true(there$state$proved)
    }
  }
})

test_that("engines make the core's integers of any rows and any map", {
  for (con in engines()) {
    withr::local_seed(43)
    for (round in 1:12) {
      map <- random_map()
      rows <- random_rows(map, 30)
      periods <- ncol(rows)
      long <- data.frame(
        unit = rep(seq_len(30), periods), week = rep(seq_len(periods), each = 30), y = c(rows)
      )
      fill(con, "odd", long[sample.int(nrow(long)), ])
      wide <- make_wide(
        in_sqlite(con, name = "odd", outcome = "y", compute = "database"),
        list(periods = seq_len(periods)), grid_of(map$bounds)
      )
      given <- row_map_cpp(map$bounds, map$loadings, map$origin)
      d <- ncol(map$loadings)
      squared <- floor(2^25 * 2^(-30:2 / 3))^2
      for (radius in c(2^20, 2^24)) {
        products <- if (d > 1L) product_map_cpp(map$bounds, map$loadings, map$origin)
        questions <- asked_of(given, products, radius, squared)
        for (question in questions) {
          expect_identical(ask_table(wide, question, FALSE), row_sums_cpp(rows, question),
            label = paste(wide$dialect$name, round, question$kind)
          )
        }
      }
      wide$close()
    }
  }
})

test_that("dates, 64-bit identifiers, flags and many features work", {
  p <- long_panel(200, 30, 3)
  p$data$unit <- as.integer(factor(p$data$unit))
  p$data$week <- as.Date("2020-01-05") + 7 * (p$data$week - 2001L)
  reference <- seeded(p$data, epsilon = 20)
  for (con in engines()) {
    fill(con, "typed", p$data)
    table <- if (inherits(con, "PqConnection")) {
      dp_table(con, DBI::SQL(paste(
        "SELECT CAST(unit AS BIGINT) AS unit, week, y, (\"on\" = 1) AS \"on\" FROM typed"
      )), c("unit", "week"))
    } else {
      in_sqlite(con, name = "typed")
    }
    release <- seeded(table, epsilon = 20)
    expect_identical(release$statistics, reference$statistics)
    expect_equal(release$panel$times, reference$panel$times)
  }
})

test_that("shards on two servers' connections, and engines mixed, add up", {
  p <- long_panel(300, 5, 2)
  units <- sort(unique(p$data$unit), method = "radix")
  at <- cut(match(p$data$unit, units), 3, labels = FALSE)
  connections <- engines()
  reference <- seeded(p$data)
  shards <- lapply(1:3, function(k) {
    con <- connections[[(k - 1L) %% length(connections) + 1L]]
    fill(con, paste0("shard", k), p$data[at == k, ])
    in_sqlite(con, name = paste0("shard", k), calibrate = TRUE, block = 33,
      compute = c("database", "here", "database")[[k]])
  })
  expect_identical(seeded(dp_sources(shards)), reference)
})

test_that("values that no panel holds are refused before the charge, without the engine's words", {
  p <- long_panel(60, 4, 2)
  donor <- which(!p$data$unit %in% treated_of(p$data))[[5L]]
  for (con in engines()) {
    for (value in c(NA, NaN, Inf, -Inf)) {
      fill(con, "bad", replace(p$data, "y", list(replace(p$data$y, donor, value))))
      for (compute in c("here", "database")) {
        ledger <- dp_ledger(5, 1e-6)
        error <- tryCatch(
          seeded(in_sqlite(con, name = "bad", compute = compute, calibrate = TRUE),
            ledger = ledger, rng = "secure"
          ),
          error = identity
        )
        expect_s3_class(error, "dpsc_error_panel")
        expect_identical(nrow(as.data.frame(ledger)), 0L)
      }
    }
    if (!inherits(con, "PqConnection")) next
    DBI::dbExecute(con, "DROP TABLE IF EXISTS huge")
    DBI::dbExecute(con, paste(
      "CREATE TABLE huge AS SELECT unit, week, CASE WHEN unit = 'nobody' THEN 1 ELSE CAST(y AS",
      "NUMERIC) END AS y, \"on\" FROM bad WHERE y > -10 AND y < 10"
    ))
    DBI::dbExecute(con, "UPDATE huge SET y = y * 1e200 * 1e200 WHERE y > 0.5")
    error <- tryCatch(seeded(in_sqlite(con, name = "huge")), error = identity)
    expect_s3_class(error, "dpsc_error_panel")
    expect_no_match(conditionMessage(error), "out of range|numeric field")
  }
})

test_that("a fenced query of 24 features is planned by Postgres in time", {
  con <- engines()$postgres
  skip_if(is.null(con), "no Postgres")
  p <- long_panel(500, 20, 4)
  fill(con, "wide24", p$data)
  wide <- make_wide(in_sqlite(con, name = "wide24", compute = "database"), list(
    outcome = "y", treated = "on", on = "1", periods = 2000L + 1:24, units = treated_of(p$data)
  ), grid_of(new_bounds(c(-1, 1), 24)))
  donors <- donors_of(p$data)
  for (question in random_questions(c(-1, 1), 24L, 24L)) {
    time <- system.time(sums <- ask_table(wide, question, FALSE))[["elapsed"]]
    expect_lt(time, 60)
    expect_identical(sums, row_sums_cpp(donors, question))
  }
  wide$close()
})

test_that("engines make a regression's sums: the data frame's release, and odd values", {
  withr::local_seed(5)
  n <- 900
  people <- data.frame(
    age = stats::runif(n, 18, 80), hours = stats::rnorm(n, 38, 9),
    region = sample(c("n", "s", "w", "N"), n, TRUE), member = stats::runif(n) < 0.4,
    class = sample(c(1L, 2L, 3L, 9L), n, TRUE), weight = stats::rexp(n)
  )
  people$wage <- 5 + 0.2 * people$age + 3 * (people$region == "s") + stats::rnorm(n, 0, 4)
  people$age[5:9] <- NA
  people$hours[10:15] <- c(5e-324, 38, 0, 1e308, -1e308, 1e-320)
  people$region[16] <- NA
  people$member[17] <- NA
  people$weight[18:22] <- c(NA, -1, 0, 1e9, 1e-320)
  bounds <- list(
    wage = c(0, 100), age = c(0, 120), hours = c(0, 80), region = c("n", "s", "w"),
    member = c(FALSE, TRUE), class = c(1, 2, 3)
  )
  fit <- function(data, formula, ...) {
    withr::local_seed(9)
    dp_lm(formula, data, ..., epsilon = 2, bounds = bounds, control = dp_control(rng = "R"))
  }
  formulas <- list(
    wage ~ age + region, wage ~ age * member + I(age^2) + factor(class) + I(hours > 40)
  )
  for (con in engines()) {
    # NaN and infinities, which SQLite does not store.
    odd <- people
    odd$hours[23:27] <- c(NaN, Inf, -Inf, NaN, Inf)
    odd$wage[28:30] <- c(NaN, Inf, -Inf)
    fill(con, "people", odd)
    there <- dp_table(con, "people", compute = "database")
    for (formula in formulas) {
      expect_identical(fit(there, formula, vcov = "HC"), fit(odd, formula, vcov = "HC"))
      expect_identical(
        fit(there, formula, weights = weight, max_weight = 3),
        fit(odd, formula, weights = weight, max_weight = 3)
      )
      expect_identical(
        fit(there, formula, subset = !(hours > 40) | age < 30 | region == "N"),
        fit(odd, formula, subset = !(hours > 40) | age < 30 | region == "N")
      )
      expect_identical(fit(dp_table(con, "people", block = 250), formula), fit(odd, formula))
    }
    expect_true(there$state$proved_people)
  }
})

test_that("engines make the core's integers of any rows and any regression", {
  formulas <- list(y ~ x, y ~ x + z + g, y ~ x * z + I(z^2) + g, y ~ x * g + I(z <= 0.25))
  for (con in engines()) {
    withr::local_seed(13)
    for (round in 1:8) {
      middle <- stats::rnorm(3) * 10^stats::runif(3, -100, 100)
      half <- abs(middle) * 10^stats::runif(3, -3, 3) + 1e-90
      bounds <- stats::setNames(Map(function(m, h) c(m - h, m + h), middle, half), c("y", "x", "z"))
      bounds$g <- c("a", "b")
      columns <- lm_columns(formulas[[1L + round %% 4L]], bounds)
      columns$weighted <- round %% 3L == 0L
      draw <- function(b) {
        at <- stats::runif(60, -1.2, 1.2)
        at[1:20] <- (sample(2^21, 20) - 2^20 + 0.5) / 2^20
        out <- mean(b) + at * diff(b) / 2
        out[21:28] <- c(NA, 1e308, -1e308, 5e-324, 0, b[[2L]], Inf, NaN)
        out
      }
      rows <- data.frame(
        y = draw(bounds$y), x = draw(bounds$x), z = draw(bounds$z),
        g = sample(c("a", "b", "c", NA), 60, TRUE),
        w = stats::rexp(60) * 10^stats::runif(60, -200, 2)
      )
      choice <- list(
        subset = if (round %% 2L) quote(x > 0 | g == "a"),
        weights = if (columns$weighted) quote(w), max_weight = 1.7
      )
      fill(con, "rows60", rows)
      people <- make_people(dp_table(con, "rows60", compute = "database"), columns, choice)
      table <- chosen_rows(columns, rows, choice, TRUE)
      design <- lm_design(columns)
      questions <- proof_asked(columns)
      questions[[3L]]$middle <- round(stats::runif(sum(!design$indicator), -1, 1) * 2^20)
      for (question in questions) {
        expect_identical(
          ask_people(people, question, FALSE), people_sums_cpp(table, design, question),
          label = paste(people$dialect$name, round, question$kind)
        )
      }
      people$close()
    }
  }
})

test_that("engines give the release of a data frame with covariates, gaps, protected people", {
  p <- long_panel(300, 5, 3)
  whole <- with_covariates_in(p$data)
  others <- setdiff(sort(unique(whole$unit)), treated_of(whole))[1:12]
  many <- whole
  many$on[many$unit %in% others & many$week > 2005] <- 1L
  gaps <- with_covariates_in(gappy(p$data))
  gaps$age[c(11, 40:60)] <- NA
  gaps$g[30:90] <- NA
  # Infinities and NaN, which SQLite does not store.
  gaps$age[100:104] <- c(Inf, -Inf, NaN, Inf, NaN)
  gaps$y[120:126] <- c(Inf, -Inf, NaN, Inf, NaN, 1e-320, -1e-310)
  roster <- roster_of(p$data)
  fit <- function(x, ..., epsilon = 1) {
    seeded(x, formula = on_covariates, bounds = covariate_bounds, epsilon = epsilon, ...)
  }
  filled <- function(x) fit(x, na = "interpolate", roster = roster)
  for (con in engines()) {
    fill(con, "whole", whole)
    fill(con, "many", many)
    fill(con, "gaps", gaps)
    for (compute in c("here", "database")) {
      table <- function(name) in_sqlite(con, name = name, compute = compute, calibrate = TRUE)
      expect_identical(fit(table("whole")), fit(whole))
      expect_identical(
        fit(table("many"), protect = "everyone", epsilon = 20),
        fit(many, protect = "everyone", epsilon = 20)
      )
      expect_identical(filled(table("gaps")), filled(gaps))
    }
  }
})

test_that("engines fill gaps as interpolate_rows() does, cell by cell", {
  withr::local_seed(4)
  rows <- matrix(stats::rnorm(540) * 10^stats::runif(540, -300, 300), 60)
  rows[stats::runif(540) < 0.45] <- NA
  rows[1, ] <- c(1.7e308, NA, -1.7e308, NA, 1e308, NA, NA, 5e-324, NA)
  rows[2, ] <- c(5e-324, NA, -5e-324, NA, 1e-310, NA, 5e-324, NA, NA)
  rows[3, ] <- c(-.Machine$double.xmax, NA, 5e-324, NA, .Machine$double.xmax, NA, NA, 2^969, NA)
  rows[4, ] <- c(-3 * 2^970, NA, .Machine$double.xmax - 2^971, NA, -2^970, NA, NA, 2^1023, NA)
  long <- data.frame(unit = rep(1:60, 9), week = rep(1:9, each = 60), y = c(rows))
  for (con in engines()) {
    fill(con, "gaps60", long[sample(540), ])
    wide <- make_wide(in_sqlite(con, name = "gaps60", outcome = "y"), list(
      outcome = "y", periods = 1:9, roster = list(units = 1:60, T0 = 5, middle = 1:9 / 3)
    ), NULL)
    found <- stream_rows(wide)$reader(1, FALSE)
    wide$close()
    expected <- interpolate_rows(rows, 5, 1:9 / 3)
    # Between values below 2^-1000 gaps are not interpolated by a line.
    tiny <- abs(expected) < 1e-300
    expect_identical(found[!tiny], expected[!tiny])
    expect_lt(max(abs(found[tiny])), 1e-300)
  }
})

test_that("Parquet files are read by DuckDB", {
  con <- engines()$duckdb
  skip_if(is.null(con), "no DuckDB")
  p <- long_panel(150, 4, 2)
  fill(con, "sales", p$data)
  folder <- withr::local_tempdir()
  for (part in c("<=", ">")) {
    DBI::dbExecute(con, sprintf("COPY (SELECT * FROM sales WHERE week %s 2003) TO '%s/%d.parquet'",
      part, folder, nchar(part)))
  }
  utils::write.csv(p$data, file.path(folder, "c.csv"), row.names = FALSE)
  by_csv <- utils::read.csv(file.path(folder, "c.csv"))
  # dp_files() itself, whose connection is made by package duckdb where that is installed.
  other <- if (nzchar(Sys.getenv("DPSC_LIBDUCKDB"))) connect_adbc else connect_duckdb
  with_internal("connect_duckdb", other, with_internal("has_duckdb", function() TRUE, {
    parquet <- dp_files(file.path(folder, "*.parquet"), c("unit", "week"), memory = "200MB")
    expect_identical(seeded(parquet), seeded(p$data))
    csv <- dp_files(file.path(folder, "c.csv"), c("unit", "week"))
    expect_identical(seeded(csv)$statistics, seeded(by_csv)$statistics)
  }))
})

test_that("two Postgres shards that mirai's workers hold give the release of all rows", {
  skip_if_not_installed("mirai")
  connections <- engines()
  skip_if(is.null(connections$postgres), "no Postgres")
  p <- long_panel(300, 5, 2)
  units <- sort(unique(p$data$unit), method = "radix")
  north <- p$data$unit %in% units[1:150]
  fill(connections$postgres, "north", p$data[north, ])
  fill(connections$postgres, "south", p$data[!north, ])
  # Workers see R_LIBS, not our library paths.
  withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), TZ = "UTC")
  cluster <- mirai::make_cluster(2)
  withr::defer(mirai::stop_cluster(cluster))
  host <- Sys.getenv("DPSC_POSTGRES")
  open <- local({
    host <- host
    function(i) {
      con <- DBI::dbConnect(RPostgres::Postgres(), host = host, user = "postgres")
      dpsc::dp_table(con, c("north", "south")[[i]], c("unit", "week"), compute = "database")
    }
  }, envir = list2env(list(host = host), parent = globalenv()))
  workers <- dp_workers(cluster, open, calibrate = TRUE)
  expect_identical(seeded(workers), seeded(p$data))
})

test_that("mirai's workers hold the people of a regression, and none of them draws", {
  skip_if_not_installed("mirai")
  withr::local_seed(2)
  people <- data.frame(x = stats::runif(900, -1, 1), g = sample(c("a", "b"), 900, TRUE))
  people$y <- people$x + (people$g == "b") + stats::rnorm(900, 0, 0.3)
  withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), TZ = "UTC")
  cluster <- mirai::make_cluster(2)
  withr::defer(mirai::stop_cluster(cluster))
  halves <- list(people[1:400, ], people[401:900, ])
  open <- function(i) halves[[i]]
  environment(open) <- list2env(list(halves = halves), parent = globalenv())
  workers <- dp_workers(cluster, open)
  bounds <- list(y = c(-4, 4), x = c(-1, 1), g = c("a", "b"))
  fit <- function(data) {
    withr::local_seed(6)
    dp_lm(y ~ x * g, data, epsilon = 2, bounds = bounds, control = dp_control(rng = "R"))
  }
  expect_identical(fit(workers), fit(people))
  tried <- parallel::clusterCall(cluster, function(people, bounds) {
    tryCatch(
      dpsc::dp_lm(y ~ x, people, epsilon = 1, bounds = bounds),
      error = function(e) class(e)[[1L]]
    )
  }, people, bounds)
  expect_identical(unlist(tried), rep("dpsc_error_worker", 2L))
})

# Hostile cells ------------------------------------------------------------------------------------

people_of <- function(source) {
  withr::local_seed(9)
  suppressWarnings(dp_lm(y ~ x + g, source, epsilon = 3, bounds = hostile_bounds,
    control = dp_control(rng = "R")))$coefficients
}

test_that("a hostile cell of an engine moves its own row, streamed or summed, and is no error", {
  data <- hostile_rows(120)
  numeric_cells <- c(
    "1e400", "-1e400", "1e-400", "-1e-400", "'NaN'", "NULL", "1e308",
    "123456789012345678901234567890",
    "4.94e-324", "2e-324", "1.7976931348623158e308", "1.7976931348623159e308", "5"
  )
  double_cells <- c("'Infinity'", "'-Infinity'", "'NaN'", "NULL", "1e308", "5")
  number <- function(cell) suppressWarnings(as.double(gsub("'", "", cell)))
  for (con in engines()) {
    postgres <- inherits(con, "PqConnection")
    for (type in c(if (postgres) "NUMERIC", "DOUBLE PRECISION")) {
      cells <- if (type == "NUMERIC") numeric_cells else double_cells
      fill(con, "people", data)
      DBI::dbExecute(con, paste0("ALTER TABLE people ALTER COLUMN x TYPE ", type))
      DBI::dbExecute(con, "ALTER TABLE people ADD COLUMN id INTEGER")
      # A row unlike every other row.
      DBI::dbExecute(con, paste0("UPDATE people SET id = 7 WHERE y = ", data$y[[7L]]))
      for (cell in cells) {
        DBI::dbExecute(con, paste0("UPDATE people SET x = CAST(", cell, " AS ", type,
          ") WHERE id = 7"))
        expected <- data
        expected$x[[7L]] <- if (cell == "NULL") NA else number(cell)
        expect_identical(rows_of_source(dp_table(con, "people", block = 9)),
          rows_of_frame(expected), label = paste(type, cell))
        expect_identical(people_of(dp_table(con, "people", compute = "database")),
          people_of(expected), label = paste(type, cell))
      }
    }
    # Text is read by R, by one rule for every engine.
    fill(con, "words", transform(data, x = as.character(x)))
    for (k in which(validUTF8(hostile_numbers$text))) {
      text <- DBI::dbQuoteString(con, hostile_numbers$text[[k]])
      DBI::dbExecute(con, paste0("UPDATE words SET x = ", text, " WHERE y = ", data$y[[7L]]))
      expected <- data
      expected$x[[7L]] <- hostile_numbers$number[[k]]
      expect_equal(rows_of_source(dp_table(con, "words", block = 9)), rows_of_frame(expected),
        tolerance = 1e-15)
    }
    expect_error(people_of(dp_table(con, "words", compute = "database")), class = "dpsc_error_data")
  }
})

test_that("a panel's outcome beyond the doubles is no error of the engine", {
  p <- long_panel(60, 4, 2)
  con <- engines()$postgres
  skip_if(is.null(con), "no Postgres")
  fill(con, "sales", p$data)
  DBI::dbExecute(con, "ALTER TABLE sales ALTER COLUMN y TYPE NUMERIC")
  rounded <- DBI::dbGetQuery(con, "SELECT * FROM sales")
  expect_identical(seeded(in_sqlite(con)), seeded(rounded))
  donor <- p$data$unit[p$data$on == 0][[1L]]
  set <- function(cell) {
    DBI::dbExecute(con, paste0("UPDATE sales SET y = ", cell, " WHERE week = ", p$data$week[[1L]],
      " AND unit = ", DBI::dbQuoteString(con, donor)))
  }
  set("1e-400")
  mine <- rounded$unit == donor & rounded$week == p$data$week[[1L]]
  expect_identical(seeded(in_sqlite(con)), seeded(transform(rounded, y = replace(y, mine, 0))))
  set("1e400")
  # As in memory: that every donor's outcome is finite counts as public.
  error <- tryCatch(seeded(in_sqlite(con)), error = identity)
  expect_s3_class(error, "dpsc_error_panel")
  expect_false(inherits(error, "dpsc_error_engine"))
})

test_that("hostile cells of CSV and Parquet move their own rows in DuckDB", {
  con <- engines()$duckdb
  skip_if(is.null(con), "no DuckDB")
  data <- hostile_rows(60)
  folder <- withr::local_tempdir()
  other <- if (nzchar(Sys.getenv("DPSC_LIBDUCKDB"))) connect_adbc else connect_duckdb
  with_internal("connect_duckdb", other, with_internal("has_duckdb", function() TRUE, {
    for (case in hostile_lines) {
      lines <- paste(data$y, data$x, data$g, sep = ",")
      lines[[7L]] <- case[[1L]]
      path <- file.path(folder, "a.csv")
      writeBin(as.raw(unlist(lapply(paste0(c("y,x,g", lines), "\n"), charToRaw))), path)
      expected <- data
      expected[7L, ] <- case[[2L]]
      expect_identical(rows_of_source(dp_files(path, block = 9)), rows_of_frame(expected))
    }
    for (cell in list(Inf, -Inf, NaN, NA, 1e308)) {
      expected <- data
      expected$x[[7L]] <- cell
      fill(con, "people", expected)
      path <- file.path(folder, "a.parquet")
      DBI::dbExecute(con, sprintf("COPY people TO '%s'", path))
      expect_identical(rows_of_source(dp_files(path, block = 9)), rows_of_frame(expected))
    }
  }))
})

test_that("no error of the planner of Postgres shows a cell, while errors about names are shown", {
  con <- engines()$postgres
  skip_if(is.null(con), "no Postgres")
  run <- function(...) DBI::dbExecute(con, paste0(...))
  run("DROP TABLE IF EXISTS costs CASCADE")
  run("CREATE TABLE costs (id TEXT, cost TEXT, age DOUBLE PRECISION, y DOUBLE PRECISION)")
  run("INSERT INTO costs SELECT 'P'||i, (i*10)::text, i, i/500.0 FROM generate_series(1,500) i")
  # The planner runs this function to estimate the number of rows.
  for (kind in c("float8", "regclass::oid::bigint::float8")) {
    run("CREATE OR REPLACE FUNCTION top_cost() RETURNS DOUBLE PRECISION STABLE LANGUAGE sql AS",
      " 'SELECT max(cost::", kind, ") FROM costs'")
    run("CREATE OR REPLACE VIEW adults AS SELECT age, y FROM costs WHERE age < top_cost()")
    run("UPDATE costs SET cost = 'HIV positive, 1200 EUR' WHERE id = 'P7'")
    error <- expect_error(dp_table(con, "adults"), class = "dpsc_error_engine")
    expect_no_match(conditionMessage(error), "HIV|1200|P7")
  }
  said <- function(table) {
    conditionMessage(expect_error(dp_table(con, table), class = "dpsc_error_engine"))
  }
  expect_match(said("nobody"), "relation \"nobody\" does not exist")
  expect_match(said(DBI::SQL("SELECT ag FROM costs")), "column \"ag\" does not exist")
  expect_match(said(DBI::SQL("SELECT FROM WHERE")), "syntax error at or near \"WHERE\"")
  run("DROP ROLE IF EXISTS nobody_here")
  run("CREATE ROLE nobody_here")
  run("SET ROLE nobody_here")
  words <- said("costs")
  run("RESET ROLE")
  expect_match(words, "permission denied for table")
})

test_that("in Postgres a release reads one state of a table, also in the user's transaction", {
  con <- engines()$postgres
  skip_if(is.null(con), "no Postgres")
  other <- connect_postgres()
  withr::defer(DBI::dbDisconnect(other))
  p <- long_panel(160, 4, 2, extreme = FALSE)
  p$data$on[p$data$unit %in% sort(unique(p$data$unit))[1:40] & p$data$week > 2004L] <- 1L
  units <- setdiff(sort(unique(p$data$unit), method = "radix"), treated_of(p$data))
  fill(con, "live", p$data)
  rename <- function(from, to) {
    DBI::dbExecute(other, "UPDATE live SET unit = $1 WHERE unit = $2", list(to, from))
  }
  table <- in_sqlite(con, name = "live", groups = 3, calibrate = TRUE)
  everyone <- function(data) seeded(data, protect = "everyone", epsilon = 6)
  reference <- everyone(p$data)
  expect_identical(moved_release(everyone(table), units, rename), reference)
  # Protected treated people and donors change places after the first reading.
  own <- open_all
  error <- with_internal("open_all", function(...) {
    rename(treated_of(p$data)[[1L]], "swap")
    rename(units[[7L]], treated_of(p$data)[[1L]])
    rename("swap", units[[7L]])
    own(...)
  }, tryCatch(everyone(table), error = identity))
  expect_s3_class(error, "dpsc_error_engine")
  expect_match(conditionMessage(error), "The table changed while it was read")
  fill(con, "live", p$data)
  # Transactions of the user.
  DBI::dbExecute(con, "BEGIN")
  error <- expect_error(everyone(table), class = "dpsc_error_argument")
  expect_match(conditionMessage(error), "REPEATABLE READ")
  DBI::dbExecute(con, "ROLLBACK")
  DBI::dbExecute(con, "BEGIN ISOLATION LEVEL REPEATABLE READ")
  DBI::dbExecute(con, "UPDATE live SET y = y / 2")
  expect_identical(everyone(table), everyone(transform(p$data, y = y / 2)))
  DBI::dbExecute(con, "ROLLBACK")
  expect_identical(everyone(table), reference)
  left <- DBI::dbGetQuery(con, "SELECT relname FROM pg_class WHERE relname LIKE 'dpsc_%'")
  expect_identical(nrow(left), 0L)
})

test_that("periods with times are found in any time zone of the session and of the driver", {
  skip_if(is.null(engines()$postgres), "no Postgres")
  p <- long_panel(200, 4, 2)
  p$data$week <- as.POSIXct("2020-07-01 22:30:00", tz = "UTC") + 43200.25 * (p$data$week - 2001L)
  reference <- seeded(p$data)
  for (zone in c("UTC", "Europe/Berlin")) {
    con <- DBI::dbConnect(RPostgres::Postgres(),
      host = Sys.getenv("DPSC_POSTGRES"), user = "postgres", dbname = "postgres", timezone = zone
    )
    for (type in c("timestamptz", "timestamp")) {
      fill(con, "times", p$data)
      DBI::dbExecute(con, paste("ALTER TABLE times ALTER week TYPE", type))
      for (session in c(zone, "America/New_York")) {
        DBI::dbExecute(con, paste0("SET TIME ZONE '", session, "'"))
        release <- seeded(in_sqlite(con, name = "times"))
        expect_identical(release$statistics, reference$statistics,
          label = paste(zone, type, session))
      }
      DBI::dbExecute(con, paste0("SET TIME ZONE '", zone, "'"))
    }
    DBI::dbDisconnect(con)
  }
})

test_that("names are equal only if their bytes are equal, for units, rosters and people", {
  p <- long_panel(100, 4, 2)
  other <- setdiff(unique(p$data$unit), treated_of(p$data))[[1L]]
  p$data$unit <- sub(treated_of(p$data), "clinic", p$data$unit)
  p$data$unit <- sub(other, "Clinic", p$data$unit)
  roster <- roster_of(p$data)
  roster <- dp_roster(c(roster$unit, "CLINIC"), c(roster$from, NA), roster$periods)
  filled <- function(data) {
    panel <- read_panel(y ~ on, data, roster = roster, bounds = c(-1, 1))
    opened <- open_donors(panel$donors, list(private = TRUE, bounds = new_bounds(c(-1, 1), 6)),
      FALSE)
    withr::defer(close_donors(opened))
    opened$reader(1L, FALSE)
  }
  at <- match(c("Clinic", "CLINIC"), roster$unit[is.na(roster$from)])
  target <- function(data, ...) {
    suppressWarnings(seeded(data, fun = dp_synth, protect = "donors", ...))$target
  }
  for (con in engines()) {
    types <- if (inherits(con, "PqConnection")) {
      DBI::dbExecute(con, "CREATE EXTENSION IF NOT EXISTS citext")
      DBI::dbExecute(con, paste(
        "CREATE COLLATION IF NOT EXISTS letters (provider = icu, locale = 'und-u-ks-level2',",
        "deterministic = false)"
      ))
      c("CITEXT", "TEXT COLLATE letters")
    } else {
      "VARCHAR COLLATE NOCASE"
    }
    for (type in types) {
      fill(con, "plain_names", p$data)
      fill(con, "named", p$data[0L, ])
      DBI::dbExecute(con, paste("ALTER TABLE named ALTER unit TYPE", type))
      DBI::dbExecute(con, "INSERT INTO named SELECT * FROM plain_names")
      reference <- target(p$data)
      expect_identical(target(in_sqlite(con, name = "named")), reference)
      expect_identical(target(in_sqlite(con, name = "named", groups = 3)), reference)
      found <- filled(in_sqlite(con, name = "named"))
      expect_true(any(found[at[[1L]], ] != 0L))
      expect_true(all(found[at[[2L]], ] == 0L))
    }
  }
})

test_that("no cell of text that the driver cannot convert, and no domain, is an error", {
  skip_if(!nzchar(Sys.getenv("DPSC_POSTGRES")), "Postgres")
  home <- connect_postgres()
  withr::defer(DBI::dbDisconnect(home))
  bounds <- list(y = c(0, 1), g = c("a", "b"), x = c(0, 1))
  for (encoding in c("SQL_ASCII", "WIN1252")) {
    name <- tolower(encoding)
    DBI::dbExecute(home, paste("DROP DATABASE IF EXISTS", name))
    DBI::dbExecute(home, paste0("CREATE DATABASE ", name, " TEMPLATE template0 ENCODING '",
      encoding, "' LC_COLLATE 'C' LC_CTYPE 'C'"))
    con <- connect_postgres(dbname = name)
    DBI::dbExecute(con, paste(
      "CREATE TABLE p AS SELECT CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS g, 'i' || (i / 2)",
      "AS id, (i / 500.0)::text AS x, i / 500.0::float8 AS y FROM generate_series(1, 500) i"
    ))
    fits <- function(...) {
      people <- dp_table(con, "p", block = 300)
      fit <- function(formula, ...) {
        withr::local_seed(4)
        suppressWarnings(coef(dp_lm(formula, people, epsilon = 5, bounds = bounds, ...,
          control = dp_control(rng = "R"))))
      }
      list(
        fit(y ~ g), fit(y ~ x), fit(y ~ g, person = ~id), fit(y ~ x, subset = g != "b"),
        fit(y ~ x, subset = g == "a")
      )
    }
    fits()
    # A byte without a character in UTF-8.
    DBI::dbExecute(con, paste0("SET client_encoding = '", encoding, "'"))
    bad <- paste0("convert_from(decode('81', 'hex'), '", encoding, "')")
    DBI::dbExecute(con, paste0("UPDATE p SET g = ", bad, ", id = ", bad, ", x = ", bad,
      " WHERE y = 0.8"))
    DBI::dbExecute(con, "SET client_encoding = 'UTF8'")
    expect_error(DBI::dbGetQuery(con, "SELECT * FROM p"))
    expect_length(fits(), 5L)
    # Protected treated people.
    DBI::dbExecute(con, paste(
      "CREATE TABLE long AS SELECT CASE WHEN i = 7 THEN", bad, "ELSE 'u' || i END AS unit,",
      "t AS week, sin(i * t) / 2 AS y, CASE WHEN i < 100 AND t > 5 THEN 1 ELSE 0 END AS treated,",
      "CASE WHEN i = 8 THEN", bad, "ELSE 'a' END AS g",
      "FROM generate_series(1, 400) i, generate_series(1, 7) t"
    ))
    expect_s3_class(seeded(in_sqlite(con, name = "long"), protect = "everyone", epsilon = 20,
      bounds = list(y = c(-1, 1), g = c("a", "b")), formula = y ~ treated | g), "dp_release")
    DBI::dbDisconnect(con)
    DBI::dbExecute(home, paste("DROP DATABASE", name))
  }
  DBI::dbExecute(home, "DROP DOMAIN IF EXISTS money_amount CASCADE")
  DBI::dbExecute(home, "CREATE DOMAIN money_amount AS NUMERIC")
  for (value in c("1e400", "1e-400")) {
    fill(home, "paid", data.frame(x = 1:500 / 500, y = 1:500 / 500))
    DBI::dbExecute(home, "ALTER TABLE paid ALTER x TYPE money_amount")
    DBI::dbExecute(home, paste("UPDATE paid SET x =", value, "WHERE y = 0.2"))
    for (compute in c("here", "database")) {
      expect_s3_class(dp_lm(y ~ x, dp_table(home, "paid", compute = compute), epsilon = 5,
        bounds = bounds[c("x", "y")]), "dp_lm")
    }
  }
})
