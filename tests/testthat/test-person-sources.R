# Several rows of one person in chunks and tables give the release of the data frame, bit for bit.

scattered_people <- function(n = 900, seed = 8) {
  withr::local_seed(seed)
  id <- rep(sprintf("p%04d", seq_len(n)), sample(1:5, n, TRUE))
  people <- data.frame(
    id = id, age = stats::runif(length(id), 18, 80),
    region = sample(c("n", "s", "w"), length(id), TRUE)
  )
  people$wage <- 5 + 0.2 * people$age + 3 * (people$region == "s") + stats::rnorm(length(id), 0, 4)
  people$ill <- as.numeric(stats::runif(length(id)) < stats::plogis(people$age / 20 - 3))
  people$wage[5:9] <- NA
  people <- people[sample(nrow(people)), ]
  people$id[4] <- NA
  people
}

scattered_bounds <- list(
  wage = c(0, 100), age = c(0, 120), region = c("n", "s", "w"), ill = c(0, 1)
)

scattered_lm <- function(data, ..., delta = 1e-6) {
  force(data)
  withr::local_seed(9)
  dp_lm(wage ~ age + region, data,
    epsilon = 3, delta = delta, bounds = scattered_bounds, person = ~id,
    control = dp_control(rng = "R"), ...
  )
}

scattered_glm <- function(data, ...) {
  force(data)
  withr::local_seed(9)
  dp_glm(ill ~ age + region, data, "binomial",
    epsilon = 3, bounds = scattered_bounds, person = ~id, control = dp_control(rng = "R"), ...
  )
}

cut_up <- function(data, blocks = 4) {
  unname(split(data, rep_len(seq_len(blocks), nrow(data))))
}

test_that("people whose rows are in several chunks give the same release as in a data frame", {
  people <- scattered_people()
  blocks <- cut_up(people)
  expect_identical(scattered_lm(dp_chunks(blocks)), scattered_lm(people))
  expect_identical(scattered_lm(dp_chunks(blocks), vcov = "const", delta = 0),
    scattered_lm(people, vcov = "const", delta = 0))
  expect_identical(scattered_lm(dp_chunks(blocks), subset = age > 30),
    scattered_lm(people, subset = age > 30))
  glm <- scattered_glm(people)
  expect_equal(coef(scattered_glm(dp_chunks(blocks))), coef(glm), tolerance = 1e-4)
  # The column of a block may be a factor with different levels.
  blocks[[2]]$id <- factor(blocks[[2]]$id)
  expect_identical(scattered_lm(dp_chunks(blocks)), scattered_lm(people))
})

test_that("if one identifier turns a block's numbers into text, people's rows stay together", {
  people <- scattered_people(400)
  people <- people[!is.na(people$id), ]
  people$id <- sub("p", "", people$id)
  blocks <- cut_up(people, 3)
  blocks[[2]]$id[7] <- "1x7"
  together <- do.call(rbind, blocks)
  # utils::read.csv() would guess these classes.
  blocks <- lapply(blocks, function(block) {
    block$id <- utils::type.convert(block$id, as.is = TRUE)
    block
  })
  classes <- vapply(blocks, function(x) class(x$id), "")
  expect_identical(classes, c("integer", "character", "integer"))
  fit <- scattered_lm(dp_chunks(blocks))
  expect_identical(fit$nobs, scattered_lm(together)$nobs)
  expect_identical(fit$release, scattered_lm(together)$release)
  # Rows of both classes of a column belong to the same person.
  with_wage <- function(wage) {
    dp_chunks(lapply(blocks, function(block) {
      block$wage[block$id %in% c("3", "0003")] <- wage
      block
    }))
  }
  verb <- audit_mechanism(function(people, control) {
    dp_lm(wage ~ age, people,
      epsilon = 3, bounds = scattered_bounds, person = ~id, control = control
    )
  })
  audit <- dp_audit(verb, with_wage(0), with_wage(100), n_runs = 1, mode = "replay")
  expect_false(audit$violated)
})

test_that("chunks whose rows change their order after people were assigned are refused", {
  # One person has 40 equal rows. In another order these rows would belong to other people.
  reads <- 0
  chunks <- function(after) {
    reads <<- 0
    data <- data.frame(id = c(rep(1, 40), rep(2:101, each = 2)), x = rep(c(1, 0.5), c(40, 200)))
    dp_chunks(function(i) {
      reads <<- reads + 1
      if (reads > after) data[rev(seq_len(nrow(data))), ] else data
    }, 1)
  }
  describe <- function(data, ...) {
    dp_describe(~x, data, epsilon = 1, bounds = list(x = c(0, 1)), person = ~id, ...)
  }
  for (after in 1:2) {
    expect_error(describe(chunks(after)), class = "dpsc_error_reader")
  }
  expect_identical(describe(chunks(Inf))$nobs, 101L)
})

test_that("spellings of a number, date or time in chunks identify one person", {
  nobs <- function(...) {
    blocks <- lapply(list(...), function(id) data.frame(id = id, x = 0.5))
    dp_describe(~x, dp_chunks(blocks),
      epsilon = 1, bounds = list(x = c(0, 1)), person = ~id, control = dp_control(rng = "R")
    )$nobs
  }
  long <- c("9007199254740993", "9007199254740992")
  expect_identical(nobs(long, paste0(long, ".0")), 2L)
  expect_identical(nobs(long, paste0(" +0", long, ". ")), 2L)
  expect_identical(nobs(long, paste0(long, ".5")), 3L)
  times <- as.POSIXct("2020-01-01", tz = "UTC") + 1:3
  for (other in list(times, format(times))) {
    expect_identical(nobs(times, other), 3L)
  }
  days <- as.Date("2020-01-01") + 1:3
  expect_identical(nobs(days, format(days)), 3L)
})

test_that("reading people in several blocks gives the same release as in one block", {
  columns <- lm_columns(wage ~ age + region, scattered_bounds)
  columns$person <- list(declared = FALSE, column = "id")
  chunks <- dp_chunks(cut_up(scattered_people()))
  facts <- list(
    n = 900, epsilon = 3, delta = 1e-6, scores = TRUE, design = lm_design(columns)
  )
  release <- function(made) withr::with_seed(3, lm_release_cpp(made$table, facts, "R"))
  whole <- chunks_by_person(columns, chunks, list(), TRUE)
  several <- chunks_by_person(columns, chunks, list(), TRUE, most = 1000)
  expect_identical(whole$n, 900L)
  expect_identical(c(whole$table$count, several$table$count), c(1, 4))
  expect_identical(release(several), release(whole))
})

test_that("a table whose rows R reads gives the dp_lm() release of a data frame, bit for bit", {
  skip_if_not_installed("RSQLite")
  people <- scattered_people()
  con <- sqlite_of(people, "people")
  here <- function(...) dp_table(con, "people", compute = "here", ...)
  expect_identical(scattered_lm(here()), scattered_lm(people))
  # Each block contains 50 people.
  expect_identical(scattered_lm(here(block = 50)), scattered_lm(people))
  glm <- scattered_glm(people)
  expect_equal(coef(scattered_glm(here(block = 50))), coef(glm), tolerance = 1e-4)
  expect_identical(DBI::dbListTables(con), "people")
  ledger <- dp_ledger(epsilon = 5, delta = 1e-5)
  both <- dp_sources(list(here(), people))
  expect_error(scattered_lm(both, ledger = ledger), "one place", class = "dpsc_error_argument")
  DBI::dbWriteTable(con, "other", people[-1])
  expect_error(
    scattered_lm(dp_table(con, "other", compute = "here"), ledger = ledger),
    class = "dpsc_error_data"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("sums by person in a database equal sums from a data frame, bit for bit", {
  skip_if_not_installed("RSQLite")
  people <- scattered_people()
  people$weight <- rep_len(c(1, 0.5, 2, 0), nrow(people))
  con <- sqlite_of(people, "people")
  there <- dp_table(con, "people", compute = "database")
  for (vcov in c("const", "HC")) {
    for (delta in c(0, 1e-6)) {
      known <- scattered_lm(people, vcov = vcov, delta = delta)
      expect_identical(scattered_lm(there, vcov = vcov, delta = delta), known)
    }
  }
  expect_true(there$state$proved_persons)
  expect_identical(
    scattered_lm(there, subset = age > 30 & region != "w", weights = weight, max_weight = 2),
    scattered_lm(people, subset = age > 30 & region != "w", weights = weight, max_weight = 2)
  )
  expect_identical(DBI::dbListTables(con), "people")
  ledger <- dp_ledger(epsilon = 5, delta = 1e-5)
  expect_error(scattered_glm(there, ledger = ledger), "here", class = "dpsc_error_argument")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("sums by person change if one row per person repeats, but not if all rows repeat", {
  made <- proof_people(TRUE)
  core <- core_people(made)
  twice <- made
  twice$rows <- rbind(made$rows, made$rows[!duplicated(made$rows$id), ])
  expect_false(identical(core_people(twice), core))
  # If all rows of a person are repeated, only the numbers of rows per person change.
  again <- made
  again$rows <- rbind(made$rows, made$rows)
  expect_identical(core_people(again), core)
})

test_that("CSV files of people's rows give the same dp_lm() release as a data frame, bit for bit", {
  skip_if_not_installed("duckdb")
  people <- scattered_people()
  people <- people[!is.na(people$id), ]
  people[c("age", "wage")] <- round(people[c("age", "wage")], 6)
  paths <- withr::local_tempfile(fileext = paste0(1:2, ".csv"))
  halves <- cut_up(people, 2)
  for (i in 1:2) utils::write.csv(halves[[i]], paths[[i]], row.names = FALSE, na = "")
  expect_identical(scattered_lm(dp_files(paths))$release, scattered_lm(people)$release)
})
