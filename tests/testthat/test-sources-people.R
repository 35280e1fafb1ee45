# Regressions on people outside R, from sums that an engine computes, from blocks, or from several
# sources. The release equals the release of the data frame, or an error occurs before the charge
# that reveals no person's data.

people_frame <- function(n = 2000, seed = 4) {
  withr::local_seed(seed)
  people <- data.frame(
    age = stats::runif(n, 18, 80), hours = stats::rnorm(n, 38, 9),
    region = sample(c("n", "s", "w", "x"), n, TRUE), member = stats::runif(n) < 0.4,
    class = sample(c(1, 2, 3, 9), n, TRUE), weight = stats::rexp(n)
  )
  people$wage <- 5 + 0.2 * people$age + 3 * (people$region == "s") + stats::rnorm(n, 0, 4)
  people$age[5:9] <- NA
  people$wage[10:12] <- c(NA, 1e308, -1e308)
  people$hours[13:15] <- c(5e-324, 38, 0)
  people$region[16] <- NA
  people$weight[17:20] <- c(NA, -1, 0, 1e9)
  people
}

people_bounds <- list(
  wage = c(0, 100), age = c(0, 120), hours = c(0, 80), region = c("n", "s", "w"),
  member = c(FALSE, TRUE), class = c(1, 2, 3)
)

people_fit <- function(data, formula = wage ~ age + region, ..., epsilon = 2, delta = 1e-6,
                       vcov = "const") {
  withr::local_seed(9)
  dp_lm(formula, data, ...,
    epsilon = epsilon, delta = delta, bounds = people_bounds, vcov = vcov,
    control = dp_control(rng = "R")
  )
}

people_in <- function(con, name = "people", ...) dp_table(con, name, compute = "database", ...)

test_that("sums by SQLite give the same dp_lm() release as a data frame, bit for bit", {
  skip_if_not_installed("RSQLite")
  people <- people_frame()
  con <- sqlite_of(people, "people")
  there <- people_in(con)
  expect_identical(people_fit(there), people_fit(people))
  expect_true(there$state$proved_people)
  for (vcov in c("const", "HC")) {
    formula <- wage ~ age * member + I(age^2) + region + factor(class) + I(hours > 40)
    expect_identical(
      people_fit(there, formula, vcov = vcov), people_fit(people, formula, vcov = vcov)
    )
  }
  expect_identical(people_fit(there, delta = 0, epsilon = 20),
    people_fit(people, delta = 0, epsilon = 20))
  # The medians are found, but the moments are not resolved.
  few <- people[1:80, ]
  DBI::dbWriteTable(con, "few", few)
  reference <- people_fit(few, epsilon = 4)
  expect_false(reference$plan$resolved)
  expect_identical(people_fit(people_in(con, "few"), epsilon = 4), reference)
  # No table remains in the engine.
  expect_identical(sort(DBI::dbListTables(con)), c("few", "people"))
})

test_that("weights, conditions and missing values have the same meaning in a database and in R", {
  skip_if_not_installed("RSQLite")
  people <- people_frame()
  con <- sqlite_of(people, "people")
  there <- people_in(con)
  expect_identical(
    people_fit(there, weights = weight, max_weight = 3),
    people_fit(people, weights = weight, max_weight = 3)
  )
  same <- function(...) expect_identical(people_fit(there, ...), people_fit(people, ...))
  same(subset = age > 20 & hours <= 45)
  same(subset = !(region == "n" | region == "w") | age > 70)
  same(subset = region != "s" & (hours >= -3 | age < 30))
  same(subset = !(age == hours), weights = weight, max_weight = 0.5, vcov = "HC")
  # These tests concern presence alone, with the smallest weights, and with weights beyond the range
  # of doubles.
  for (most in c(1e-300, 0.3, 1, 3, 1e17, 1e300)) {
    w <- least_quotient(most)
    expect_gt(w / most, 0)
    below <- if (w == 2^-1074) 0 else w - max(2^-1074, 2^(floor(log2(w)) - 53))
    expect_identical(below / most, 0, label = format(most))
    odd <- data.frame(w = c(w, below, most, most / 3, -1, 5e-324, 1e308))
    DBI::dbWriteTable(con, "odd", odd, overwrite = TRUE)
    found <- DBI::dbGetQuery(con, paste(
      "SELECT", sql_presence("w", most, sql_dialects()$sqlite), "AS a FROM odd"
    ))$a
    expect_identical(found, sqrt(pmin(pmax(odd$w / most, 0), 1)), label = format(most))
  }
})

test_that("mixed sources give the same dp_lm() release, whether rows are kept in memory or not", {
  skip_if_not_installed("RSQLite")
  people <- people_frame()
  con <- sqlite_of(people[1:700, ], "north")
  DBI::dbWriteTable(con, "south", people[701:1500, ])
  reference <- people_fit(people, vcov = "HC")
  parts <- list(
    people_in(con, "north"), dp_table(con, "south", block = 111), people[1501:2000, ]
  )
  expect_identical(people_fit(dp_sources(parts), vcov = "HC"), reference)
  expect_identical(people_fit(dp_sources(parts[c(3, 1, 2)]), vcov = "HC"), reference)
  # The engine makes one pass per question instead of storing rows.
  columns <- lm_columns(wage ~ age * hours + region, people_bounds)
  table <- lm_table(columns, people, TRUE)
  facts <- list(n = 2000, epsilon = 1, delta = 1e-6, scores = TRUE, design = lm_design(columns))
  run <- function(facts, rows) {
    withr::local_seed(3)
    lm_release_cpp(rows, facts, "R")
  }
  chunks <- dp_chunks(list(table[1:999, ], table[1000:2000, ]))
  kept <- run(facts, table)
  facts$kept <- 0
  expect_identical(run(facts, table), kept)
  expect_identical(run(facts, chunks), kept)
  # Counts that cost budget are the same as well.
  facts$epsilon <- 8
  expect_gt(run(facts, table)$counts[["rows"]], 1000)
  most <- utils::modifyList(facts, list(kept = 2^28))
  expect_identical(run(facts, chunks), run(most, table))
})

test_that("dp_lm() gives the same fit from CSV files as from a data frame", {
  skip_if_not_installed("RSQLite")
  people <- people_frame(900)
  folder <- withr::local_tempdir()
  for (k in 1:2) {
    utils::write.csv(people[(1:450) + 450 * (k - 1), ], row.names = FALSE,
      file.path(folder, paste0("people", k, ".csv")))
  }
  read <- do.call(rbind, lapply(list.files(folder, full.names = TRUE), utils::read.csv))
  expect_identical(people_fit(dp_files(file.path(folder, "*.csv"), block = 200)), people_fit(read))
})

test_that("in databases without logicals flags are 0 or 1, whether rows or sums are read", {
  skip_if_not_installed("RSQLite")
  people <- people_frame()
  con <- sqlite_of(people, "people")
  reference <- people_fit(people, wage ~ member + age)
  expect_identical(people_fit(dp_table(con, "people", block = 300), wage ~ member + age), reference)
  expect_identical(people_fit(people_in(con), wage ~ member + age), reference)
})

# All queries about people for a small release.
people_queries <- function(dialect) {
  design <- lm_design(proof_people()$columns)
  question <- list(
    median = c(0.25, -0.5, 0, 0, 0, 0.125), scale = c(0.5, 0.25, 1, 1, 1, 0.5),
    gain = c(2, 4, 1, 1, 16, 1, 64, 2), radius = 1e6, clip = 2e6, limit = 4096,
    residual_limit = 2500, constant = 1448, zoom = 1 / 3, residual_zoom = 0.25,
    score_limit = 2048, score_zoom = 1 / 7, limits = c(100, 400),
    map = list(loadings = diag(8) + 1, rescale = 2^-20, origin = 1:8)
  )
  p <- length(design$columns)
  question$map$loadings <- diag(p + 1) + (row(diag(p + 1)) == 1)
  question$map$origin <- seq_len(p + 1)
  question$gain <- rep(2, p + 1)
  ask <- function(kind) c(list(kind = kind), question)
  operand <- function(name) {
    list(text = name, type = if (name == "c1") "number" else "text")
  }
  keep <- sql_condition(quote(!(c1 > 0.5) | c2 == "a" & !(c1 == 2)), operand, dialect, shQuote)
  values <- c(
    sql_within("c1", c(-3, 3), dialect), sql_within("c2", c(-3, 3), dialect),
    "CASE WHEN c3 = 'b' THEN 1 ELSE 0 END",
    "CASE WHEN c3 = 'c' THEN 1 ELSE 0 END",
    paste0("CASE WHEN ", sql_within("c2", c(0, 1), dialect), " > 1 THEN 1 ELSE 0 END"),
    sql_within("c4", c(-3, 3), dialect)
  )
  c(
    people = dialect$make("p", sql_people("rows s", c(c1 = dialect$number("\"x\"")), values, design,
      keep$text, sql_within("c5", c(-3, 3), dialect), 3, dialect)),
    medians = sql_medians("p", 1L, list(width = 2^15), dialect),
    scales = sql_scales("p", 1L, 77, c(10, 20, 40), dialect),
    lengths = sql_lengths("p", design, ask("lengths"), dialect),
    residuals = sql_beyond("p", design, ask("residuals"), dialect),
    outer = sql_products("p", design, ask("outer"), dialect),
    scores = sql_products("p", design, ask("scores"), dialect)
  )
}

test_that("in every dialect queries about people match snapshots and contain no inexact SQL", {
  for (dialect in sql_dialects()) {
    queries <- people_queries(dialect)
    shown <- gsub(", ", ",\n  ", gsub("FROM ", "\nFROM ", queries), fixed = FALSE)
    expect_snapshot(cat(shown, sep = "\n\n"), variant = dialect$name)
    expect_identical(unname(Filter(sql_faults, queries)), character(), label = dialect$name)
    if (nzchar(dialect$fence)) {
      asked <- queries[c("lengths", "residuals", "outer", "scores")]
      levels <- lengths(regmatches(asked, gregexpr("(SELECT", asked, fixed = TRUE)))
      fences <- lengths(regmatches(asked, gregexpr(dialect$fence, asked, fixed = TRUE)))
      expect_identical(fences, levels)
    }
  }
})

test_that("SQLite computes the same integers as C++ for random rows and four regressions", {
  skip_if_not_installed("RSQLite")
  withr::local_seed(12)
  formulas <- list(y ~ x, y ~ x + z + g, y ~ x * z + I(z^2) + g, y ~ x * g + I(z <= 0.25))
  for (round in 1:16) {
    middle <- stats::rnorm(3) * 10^stats::runif(3, -45, 45)
    half <- abs(middle) * 10^stats::runif(3, -3, 3) + 1e-60
    bounds <- Map(function(m, h) c(m - h, m + h), middle, half)
    names(bounds) <- c("y", "x", "z")
    bounds$g <- c("a", "b")
    columns <- lm_columns(formulas[[1L + round %% 4L]], bounds)
    columns$weighted <- round %% 3L == 0L
    n <- 60
    draw <- function(b) {
      at <- stats::runif(n, -1.2, 1.2)
      # The rows contain ties and remote values.
      at[1:20] <- (sample(2^21, 20) - 2^20 + 0.5) / 2^20
      out <- mean(b) + at * diff(b) / 2
      out[21:26] <- c(NA, 1e308, -1e308, 5e-324, 0, b[[2L]])
      out
    }
    rows <- data.frame(
      y = draw(bounds$y), x = draw(bounds$x), z = draw(bounds$z),
      g = sample(c("a", "b", "c", NA), n, TRUE), w = stats::rexp(n) * 10^stats::runif(n, -200, 2)
    )
    choice <- list(
      subset = if (round %% 2L) quote(x > 0 | g == "a"),
      weights = if (columns$weighted) quote(w), max_weight = 1.7
    )
    con <- sqlite_of(rows, "rows")
    people <- make_people(people_in(con, "rows"), columns, choice)
    table <- chosen_rows(columns, rows, choice, TRUE)
    design <- lm_design(columns)
    questions <- proof_asked(columns)
    # Every located variable has a different middle.
    questions[[3L]]$middle <- round(stats::runif(sum(!design$indicator), -1, 1) * 2^20)
    for (question in questions) {
      expect_identical(
        ask_people(people, question, FALSE), people_sums_cpp(table, design, question),
        label = paste(round, question$kind)
      )
    }
    people$close()
  }
})

test_that("a database is tested on rows of people and refused if its results are incorrect", {
  # Plants faults 35, 36, 37, 38, 39, 40.
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(people_frame(60), "people")
  refused <- function(name, fault) {
    table <- people_in(con)
    ledger <- dp_ledger(5, 1e-4)
    with_internal(name, fault, {
      expect_error(
        # A test engine returns sums beyond the range of doubles.
        suppressWarnings(dp_lm(wage ~ age, table,
          epsilon = 1, delta = 1e-5, bounds = people_bounds, ledger = ledger
        )),
        class = "dpsc_error_engine"
      )
    })
    expect_null(table$state$proved_people)
    expect_identical(nrow(as.data.frame(ledger)), 0L)
  }
  # The faults are rounding half away from zero, floors, and decimal constants.
  refused("sql_rint", function(x, dialect) paste0("ROUND(", x, ")"))
  refused("sql_rint", function(x, dialect) paste0("FLOOR(", x, ")"))
  refused("sql_real", function(x, dialect) paste0("(", format(x, digits = 15), ")"))
  # The faults are a grid of fractions, weights without their root, infinities that count as
  # missing, and NULL that does not count as missing.
  refused("sql_grid", function(x, centre, half, dialect) {
    paste0("((", x, " - ", sql_real(centre, dialect), ") / ", sql_real(half, dialect), ")")
  })
  refused("sql_presence", function(w, max_weight, dialect) paste0("(", w, " / 2)"))
  refused("sql_within", function(x, range, dialect) paste0("COALESCE(", x, ", 0)"))
})

test_that("sources that return sums refuse methods that need rows before the charge", {
  skip_if_not_installed("RSQLite")
  people <- people_frame(400)
  con <- sqlite_of(people, "people")
  ledger <- dp_ledger(9, 1e-3)
  refused <- function(code, class = "dpsc_error_argument") {
    expect_error(code, class = class)
    expect_identical(nrow(as.data.frame(ledger)), 0L)
    expect_identical(DBI::dbListTables(con), "people")
  }
  fit <- function(formula, ..., data = people_in(con), fun = dp_lm) {
    fun(formula, data, ..., epsilon = 1, bounds = people_bounds, ledger = ledger)
  }
  refused(fit(log(wage) ~ age))
  refused(fit(wage ~ I(age + hours)))
  refused(fit(wage ~ age:hours))
  refused(fit(wage ~ age, weights = weight / 2, max_weight = 1))
  refused(fit(wage ~ age, subset = age + 1 > 20))
  refused(fit(wage ~ age, subset = region > "n"))
  refused(fit(wage ~ age, subset = nchar(region) == 1))
  refused(fit(wage ~ age, method = "ops"))
  refused(fit(I(wage > 20) ~ age, family = "binomial", fun = dp_glm))
  refused(fit(member ~ age, family = "binomial", fun = dp_glm))
  refused(dp_lm(wage ~ age, people_in(con), epsilon = Inf, bounds = people_bounds))
  bounds <- c(people_bounds, list(height = c(0, 2)))
  refused(
    dp_lm(wage ~ height, people_in(con), epsilon = 1, bounds = bounds, ledger = ledger),
    "dpsc_error_data"
  )
  # Engines read text in a column in different ways, but R uses one rule.
  bounds$region <- c(0, 1)
  refused(
    dp_lm(wage ~ region, people_in(con), epsilon = 1, bounds = bounds, ledger = ledger),
    "dpsc_error_data"
  )
})

test_that("people who disappear between two passes stop the release, and the charge remains", {
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(people_frame(1500), "people")
  kept <- function() {
    DBI::dbGetQuery(con, "SELECT name FROM sqlite_temp_master WHERE type = 'table'")$name
  }
  for (harm in c("DELETE FROM %s WHERE rowid = 17", "DROP TABLE %s")) {
    ledger <- dp_ledger(5, 1e-4)
    asked <- 0L
    own <- run_sql
    fit <- NULL
    with_internal("run_sql", function(con, text, fetch = FALSE, charged = FALSE,
                                      what = "") {
      if (charged) asked <<- asked + 1L
      if (charged && asked == 8L) DBI::dbExecute(con, sprintf(harm, kept()[[1L]]))
      own(con, text, fetch, charged, what)
    }, {
      error <- tryCatch(
        fit <- dp_lm(wage ~ age, people_in(con), epsilon = 2, bounds = people_bounds,
          ledger = ledger),
        error = identity
      )
    })
    expect_s3_class(error, "dpsc_error_engine")
    expect_match(conditionMessage(error), "stays spent")
    expect_null(fit)
    expect_identical(nrow(as.data.frame(ledger)), 1L)
    expect_identical(kept(), character())
  }
})

test_that("impossible sums of people's rows from a database are rejected", {
  people <- people_frame(700)
  columns <- lm_columns(wage ~ age + region, people_bounds)
  design <- lm_design(columns)
  table <- lm_table(columns, people, TRUE)
  facts <- list(n = 700, epsilon = 10, delta = 1e-6, scores = TRUE, design = design)
  seen <- character()
  asked <- function(change) {
    rows <- structure(list(n = 700, calibrate = FALSE, ask = function(question, charged) {
      seen <<- union(seen, question$kind)
      change(people_sums_cpp(table, design, question), question$kind)
    }), class = "dp_asked")
    withr::local_seed(1)
    lm_release_cpp(rows, facts, "R")
  }
  withr::local_seed(1)
  reference <- lm_release_cpp(table, facts, "R")
  expect_identical(asked(function(x, kind) x), reference)
  kinds <- c("medians", "scales", "residuals", "outer", "scores")
  expect_setequal(seen, kinds)
  wrong <- list(
    # The faults are a fraction, more people than possible, negative numbers, another shape, and
    # more rows than present.
    function(x) replace(x, "sums", list(x$sums + 0.5)),
    function(x) replace(x, "sums", list(replace(x$sums, 1L, x$sums[[1L]] + 1e13))),
    function(x) replace(x, "sums", list(replace(x$sums, 1L, -1))),
    function(x) replace(x, "sums", list(x$sums[-1L, , drop = FALSE])),
    function(x) replace(x, "there", x$rows + 1), function(x) replace(x, "rows", 699),
    function(x) replace(x, "sums", list(x$sums * NaN))
  )
  for (kind in kinds) {
    for (change in wrong) {
      expect_error(asked(function(x, own) if (own == kind) change(x) else x))
    }
  }
  # The fault is a matrix that is not symmetric.
  for (kind in c("outer", "scores")) {
    expect_error(asked(function(x, own) {
      if (own == kind) x$sums[1L, 2L] <- x$sums[1L, 2L] + 1
      x
    }), "out of range")
  }
})

test_that("only sums leave the database, and no SQL statement contains a person's data", {
  skip_if_not_installed("RSQLite")
  people <- people_frame(3000)
  people$age[21:200] <- 41 + 1 / 3 + seq_len(180) * 1e-7
  con <- sqlite_of(people, "people")
  log <- character()
  rows <- integer()
  several <- character()
  own <- run_sql
  with_internal("run_sql", function(con, text, fetch = FALSE, charged = FALSE,
                                    what = "") {
    out <- own(con, text, fetch, charged, what)
    log <<- c(log, text)
    if (charged) rows <<- c(rows, nrow(out))
    if (charged && nrow(out) > 1L) several <<- union(several, names(out))
    out
  }, {
    fit <- people_fit(people_in(con), wage ~ age * hours, vcov = "HC")
  })
  expect_gt(length(log), 30)
  # A query returns one row of sums, or the cells of a histogram, but never one row per person.
  expect_identical(several, c("f", "k"))
  # The questions are two counts of people, five rounds, remote residuals, and scores.
  expect_identical(sum(rows == 1L), 9L)
  secrets <- vapply(people$age[21:200], function(x) sprintf("%.17g", x), "")
  expect_false(any(vapply(secrets, grepl, NA, x = paste(log, collapse = " "), fixed = TRUE)))
})

test_that("dp_glm() gives the same fit from a table, a source or chunks as from a data frame", {
  skip_if_not_installed("RSQLite")
  people <- people_frame(3000)
  con <- sqlite_of(people, "people")
  fit <- function(data, epsilon = 2) {
    withr::local_seed(5)
    dp_glm(member ~ age + region, data, "binomial",
      epsilon = epsilon, bounds = people_bounds, subset = hours > 20,
      control = dp_control(rng = "R")
    )
  }
  reference <- fit(people)
  expect_identical(fit(dp_table(con, "people", block = 700)), reference)
  expect_identical(fit(dp_sources(list(dp_table(con, "people", block = 999)))), reference)
  expect_identical(fit(dp_chunks(list(people[1:100, ], people[101:3000, ]))), reference)
  expect_equal(coef(fit(dp_table(con, "people", block = 700), Inf)), coef(fit(people, Inf)))
})
