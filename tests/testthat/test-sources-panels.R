# Panels of several kinds from donors outside R: covariates, gaps, protected people. The release
# equals the release of the data frame, or an error before the charge reveals no person's data.

test_that("releases with covariates are the same from rows or sums of a table and a data frame", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(300, 5, 2)
  data <- with_covariates_in(p$data)
  con <- sqlite_of(data)
  fit <- function(x, ..., formula = on_covariates, bounds = covariate_bounds) {
    seeded(x, formula = formula, bounds = bounds, ...)
  }
  for (epsilon in c(1, 8)) {
    reference <- fit(data, epsilon = epsilon)
    expect_equal(reference$statistics$covariates, 4)
    expect_identical(fit(in_sqlite(con, block = 41), epsilon = epsilon), reference)
    there <- in_sqlite(con, compute = "database", calibrate = TRUE)
    expect_identical(fit(there, epsilon = epsilon), reference)
  }
  expect_identical(
    fit(in_sqlite(con, groups = 7), fun = dp_synth, size = 30),
    fit(data, fun = dp_synth, size = 30)
  )
  # The covariates change the shape of the release.
  without <- fit(data, formula = y ~ on, bounds = c(-1, 1), epsilon = 8)
  expect_false(identical(dim(without$statistics$loadings), dim(reference$statistics$loadings)))
  # The panel has several adoption dates and protected people.
  others <- setdiff(sort(unique(data$unit)), treated_of(data))[1:12]
  later <- data
  later$on[later$unit == others[[1L]] & later$week > 2006] <- 1L
  DBI::dbWriteTable(con, "later", later)
  expect_identical(
    fit(in_sqlite(con, name = "later", compute = "database", calibrate = TRUE), protect = "donors"),
    fit(later, protect = "donors")
  )
  for (unit in others) data$on[data$unit == unit] <- as.integer(data$week[data$unit == unit] > 2005)
  DBI::dbWriteTable(con, "many", data)
  expect_identical(
    fit(in_sqlite(con, name = "many"), protect = "everyone", epsilon = 20),
    fit(data, protect = "everyone", epsilon = 20)
  )
  expect_identical(sort(DBI::dbListTables(con)), c("later", "many", "sales"))
  # The rows are divided into shards.
  first <- data$unit %in% sort(unique(data$unit), method = "radix")[1:150]
  DBI::dbWriteTable(con, "north", later[first, ])
  DBI::dbWriteTable(con, "south", later[!first, ])
  shards <- dp_sources(list(
    in_sqlite(con, name = "north", compute = "database", calibrate = TRUE),
    in_sqlite(con, name = "south")
  ))
  expect_identical(fit(shards, protect = "donors"), fit(later, protect = "donors"))
})

test_that("without privacy fits with covariates from a table and data frame agree up to rounding", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(200, 5, 2, extreme = FALSE)
  data <- with_covariates_in(p$data)
  data$age[1:6] <- 5
  con <- sqlite_of(data)
  fit <- function(x, bounds) {
    tidy(seeded(x, formula = on_covariates, bounds = bounds, epsilon = Inf, fun = dp_synth))
  }
  levels <- list(y = c(-1, 1), g = c("a", "b", "c"))
  for (bounds in list(covariate_bounds, levels)) {
    expect_equal(
      fit(in_sqlite(con, block = 70), bounds), fit(data, bounds), tolerance = 1e-7
    )
  }
  expect_error(fit(in_sqlite(con), NULL), class = "dpsc_error_bounds")
})

test_that("missing or unusable covariates are refused before the charge", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(60, 4, 2)
  data <- with_covariates_in(p$data)
  donor <- which(data$unit != treated_of(data) & data$week == 2002)[[5L]]
  name <- data$unit[[donor]]
  ledger <- dp_ledger(50, 1e-4)
  refused <- function(data, class, ..., formula = on_covariates, bounds = covariate_bounds) {
    con <- sqlite_of(data)
    for (compute in c("here", "database")) {
      error <- tryCatch(
        seeded(in_sqlite(con, compute = compute, calibrate = TRUE), formula = formula,
          bounds = bounds, ledger = ledger, rng = "secure"),
        error = identity
      )
      expect_s3_class(error, class)
      expect_no_match(conditionMessage(error), name)
    }
    expect_identical(DBI::dbListTables(con), "sales")
  }
  refused(replace(data, "age", list(replace(data$age, donor, NA))), "dpsc_error_covariate")
  refused(replace(data, "g", list(replace(data$g, donor, NA))), "dpsc_error_covariate")
  refused(data, "dpsc_error_covariate", formula = y ~ on | height,
    bounds = list(y = c(-1, 1), height = c(1, 2)))
  # Text in a column declared as a number is missing, so no error reveals that one person's cell is
  # text.
  refused(data, "dpsc_error_covariate", formula = y ~ on | g,
    bounds = list(y = c(-1, 1), g = c(1, 2)))
  # No person has a number in this spelling.
  refused(data, "dpsc_error_bounds", formula = y ~ on | age,
    bounds = list(y = c(-1, 1), age = c("a", "b")))
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # After the treatment numbers may be missing, and a missing factor counts as the first level.
  late <- data
  late$age[late$week > 2004] <- NA
  con <- sqlite_of(late)
  fit <- function(x) seeded(x, formula = on_covariates, bounds = covariate_bounds)
  expect_identical(fit(in_sqlite(con, compute = "database", calibrate = TRUE)), fit(late))
})

test_that("gaps in tables are filled as in memory, whether rows or sums are read", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(200, 5, 3)
  roster <- roster_of(p$data)
  data <- with_covariates_in(gappy(p$data))
  data$age[c(11, 40:60)] <- NA
  data$g[30:90] <- NA
  strangers <- data[1:9, ]
  strangers$unit <- "stranger"
  strangers$week <- strangers$week + rep(0:2, 3) * 100L
  data <- rbind(data, strangers)
  con <- sqlite_of(data)
  fit <- function(x, ..., formula = on_covariates, bounds = covariate_bounds) {
    seeded(x, formula = formula, bounds = bounds, na = "interpolate", roster = roster, ...)
  }
  plain <- function(x, ..., bounds = c(-1, 1)) fit(x, ..., formula = y ~ on, bounds = bounds)
  wide <- cbind(seq(-1, -0.5, length.out = 8), seq(0.4, 2, length.out = 8))
  for (bounds in list(c(-1, 1), c(-0.7, 1.3), wide)) {
    reference <- plain(data, bounds = bounds)
    expect_identical(plain(in_sqlite(con, block = 37), bounds = bounds), reference)
    expect_identical(plain(in_sqlite(con, groups = 3), bounds = bounds), reference)
    there <- in_sqlite(con, compute = "database", calibrate = TRUE)
    expect_identical(plain(there, bounds = bounds), reference)
  }
  reference <- fit(data)
  expect_identical(fit(in_sqlite(con, block = 37)), reference)
  expect_identical(fit(in_sqlite(con, compute = "database", calibrate = TRUE)), reference)
  # The fit is without privacy.
  tame <- data
  tame$y <- pmax(pmin(tame$y, 1), -1)
  DBI::dbWriteTable(con, "tame", tame)
  expect_equal(
    tidy(plain(in_sqlite(con, name = "tame"), epsilon = Inf, fun = dp_synth)),
    tidy(plain(tame, epsilon = Inf, fun = dp_synth)),
    tolerance = 1e-7
  )
  expect_identical(sort(DBI::dbListTables(con)), c("sales", "tame"))
})

test_that("SQLite fills gaps with exactly the values of interpolate_rows()", {
  # Plants faults 103.
  skip_if_not_installed("RSQLite")
  withr::local_seed(4)
  periods <- 9L
  rows <- matrix(stats::rnorm(60 * periods) * 10^stats::runif(60 * periods, -300, 300), 60)
  rows[stats::runif(length(rows)) < 0.45] <- NA
  rows[1, ] <- c(1.7e308, NA, -1.7e308, NA, 1e308, NA, NA, 5e-324, NA)
  rows[2, ] <- NA
  # The largest doubles beside the smallest, and differences next to the largest double.
  rows[3, ] <- c(-.Machine$double.xmax, NA, 5e-324, NA, .Machine$double.xmax, NA, NA, 2^969, NA)
  rows[4, ] <- c(-3 * 2^970, NA, .Machine$double.xmax - 2^971, NA, -2^970, NA, NA, 2^1023, NA)
  long <- data.frame(
    unit = rep(seq_len(60), periods), week = rep(seq_len(periods), each = 60), y = c(rows)
  )
  con <- sqlite_of(long[sample(nrow(long)), ])
  middle <- seq(-1, 1, length.out = periods)
  for (T0 in c(2, 5, 8)) {
    wide <- make_wide(
      in_sqlite(con, outcome = "y"), list(
        outcome = "y", periods = seq_len(periods),
        roster = list(units = seq_len(60), T0 = T0, middle = middle)
      ), NULL
    )
    found <- stream_rows(wide)$reader(1, FALSE)
    wide$close()
    expect_identical(found, interpolate_rows(rows, T0, middle))
  }
})

test_that("SQLite fills a gap between any two of the largest doubles as interpolate_rows() does", {
  # Plants faults 112.
  skip_if_not_installed("RSQLite")
  step <- 1 + 2^-52
  ends <- c(.Machine$double.xmax, .Machine$double.xmax / step, 2^970 * c(1, step, 1 - 2^-53), 2^969)
  pairs <- expand.grid(from = c(ends, -ends), to = c(ends, -ends), gap = 1:3)
  rows <- matrix(NA_real_, nrow(pairs), 5L)
  rows[, 1L] <- pairs$from
  rows[cbind(seq_len(nrow(pairs)), pairs$gap + 2L)] <- pairs$to
  long <- data.frame(unit = c(row(rows)), week = c(col(rows)), y = c(rows))
  wide <- make_wide(
    in_sqlite(sqlite_of(long), outcome = "y"), list(
      outcome = "y", periods = 1:5,
      roster = list(units = seq_len(nrow(rows)), T0 = 2, middle = rep(0, 5))
    ), NULL
  )
  withr::defer(wide$close())
  expect_identical(stream_rows(wide)$reader(1, FALSE), interpolate_rows(rows, 2, rep(0, 5)))
})

test_that("gaps require a single table, and missing rows of a person change no other row", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(80, 5, 2)
  roster <- roster_of(p$data)
  con <- sqlite_of(p$data)
  ledger <- dp_ledger(5, 1e-4)
  refused <- function(x, class, ...) {
    expect_error(
      seeded(x, na = "interpolate", ledger = ledger, rng = "secure", ...), class = class
    )
  }
  refused(dp_sources(list(in_sqlite(con), in_sqlite(con))), "dpsc_error_argument", roster = roster)
  refused(in_sqlite(con), "dpsc_error_roster")
  refused(in_sqlite(con), "dpsc_error_panel", roster = roster, formula = yy ~ on)
  numbered <- dp_roster(seq_along(roster$unit), roster$from, roster$periods)
  refused(in_sqlite(con), "dpsc_error_roster", roster = numbered)
  half <- dp_roster(roster$unit, ifelse(is.na(roster$from), NA, 4), 1:7 + 0.5 - 0.5 * (1:7 == 4))
  refused(in_sqlite(con), "dpsc_error_panel", roster = half)
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # If one person has several rows or none, the integers of all other people and their number remain
  # unchanged.
  cells <- function(data) {
    con <- sqlite_of(data)
    panel <- read_panel(
      y ~ on, in_sqlite(con), roster = roster, bounds = c(-1, 1)
    )
    opened <- open_donors(panel$donors, list(private = TRUE, bounds = new_bounds(c(-1, 1), 7)),
      FALSE)
    withr::defer(close_donors(opened))
    opened$reader(1L, FALSE)
  }
  whole <- cells(p$data)
  unit <- setdiff(roster$unit, treated_of(p$data))[[5L]]
  gone <- cells(p$data[p$data$unit != unit, ])
  expect_identical(gone[-5L, ], whole[-5L, ])
  expect_true(all(gone[5L, ] == 0L))
  # If a cell occurs twice, its largest value within the limits counts.
  twice <- rbind(p$data, transform(p$data[p$data$unit == unit, ], y = 1e300))
  expect_identical(cells(twice)[-5L, ], whole[-5L, ])
  expect_true(all(cells(twice)[5L, ] == 2^20))
})

test_that("no SQL statement contains an identifier from a roster with protected people", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(300, 5, 2)
  data <- p$data
  others <- setdiff(sort(unique(data$unit)), treated_of(data))[1:12]
  data$on[data$unit %in% others & data$week > 2005] <- 1L
  roster <- roster_of(data)
  con <- sqlite_of(gappy(data))
  fit <- function(x) {
    seeded(x, na = "interpolate", roster = roster, protect = "everyone", epsilon = 20)
  }
  log <- logged_sql(release <- fit(in_sqlite(con)))
  expect_identical(release, fit(gappy(data)))
  expect_gt(length(log), 5)
  expect_false(any(grepl(paste(roster$unit, collapse = "|"), log)))
})

test_that("no release and no SQL statement contains a donor's value, with covariates or gaps", {
  skip_if_not_installed("RSQLite")
  p <- canary_panel(300)
  donors <- unique(p$data$unit[p$data$unit != "treated"])
  withr::local_seed(8)
  age <- stats::runif(nrow(p$data), 20, 80)
  data <- p$data
  data$age <- age
  gaps <- data[-sample(nrow(data), 400), ]
  con <- sqlite_of(data)
  DBI::dbWriteTable(con, "gaps", gaps)
  roster <- dp_roster(
    c("treated", donors), c(2007, rep(NA, length(donors))), sort(unique(data$time))
  )
  bounds <- list(y = p$bounds, age = c(0, 99))
  secrets <- age[data$unit != "treated"]
  for (compute in c("here", "database")) {
    log <- logged_sql({
      table <- function(name) {
        dp_table(con, name, c("unit", "time"), compute = compute, calibrate = TRUE)
      }
      whole <- dp_release(y ~ on | age, table("sales"), epsilon = 1, bounds = bounds)
      filled <- dp_release(y ~ on | age, table("gaps"),
        epsilon = 1, bounds = bounds, na = "interpolate", roster = roster
      )
    })
    for (release in list(whole, filled)) {
      expect_no_canary(release, p$secrets, compute)
      expect_no_canary(release, secrets, compute)
    }
    expect_gt(length(log), if (compute == "here") 15 else 40)
    expect_null(canary_found(log, p$secrets))
    expect_null(canary_found(log, secrets))
  }
})
