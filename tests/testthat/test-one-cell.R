# One person's cell of an unexpected kind changes only that person's row. It causes no error and
# changes neither a type nor another row.

# Two tables of people in SQLite whose columns accept any type. The tables differ in one cell.
loose_pair <- function(cell, declared = "", at = 1L) {
  withr::local_seed(6)
  n <- 300L
  y <- stats::rnorm(n)
  g <- sprintf("'%s'", rep(c("a", "b", "c"), length.out = n))
  lapply(list(g, replace(g, at, cell)), function(g) {
    con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
    withr::defer(DBI::dbDisconnect(con), envir = parent.frame(3L))
    DBI::dbExecute(con, sprintf("CREATE TABLE people (y REAL, g %s)", declared))
    rows <- paste0("(", format(y, digits = 17L), ", ", g, ")", collapse = ", ")
    DBI::dbExecute(con, paste("INSERT INTO people VALUES", rows))
    con
  })
}

# The rows of the table as a regression reads them, block by block.
rows_read <- function(con, subset = NULL) {
  columns <- lm_columns(y ~ g, list(y = c(-5, 5), g = c("a", "b")))
  table <- dp_table(con, "people", block = 100)
  rows <- open_rows(table, columns, list(subset = subset), TRUE)
  withr::defer(close_donors(rows))
  gather_rows(rows)
}

test_that("an unexpected value in one SQLite cell changes only the row of that cell", {
  skip_if_not_installed("RSQLite")
  turn <- 0L
  for (cell in c("1e300", "7", "x'41'", "NULL", "'zqx'", "9223372036854775807")) {
    for (declared in c("", "INTEGER", "NUMERIC", "TEXT", "BLOB")) {
      pair <- loose_pair(cell, declared)
      subsets <- list(NULL, quote(g == "a" | g == "b"), quote(g != "c"))
      # Each cell and declaration uses one of the three subsets in turn, or all three in the audit.
      turn <- turn + 1L
      for (subset in if (is_audit()) subsets else subsets[turn %% 3L + 1L]) {
        # The rows are ordered by a column, so their order may differ.
        both <- lapply(pair, function(con) {
          factor(apply(rows_read(con, subset), 1L, function(row) {
            paste(sprintf("%a", row), collapse = " ")
          }))
        })
        all <- union(levels(both[[1L]]), levels(both[[2L]]))
        moved <- table(factor(both[[1L]], all)) - table(factor(both[[2L]], all))
        expect_lte(sum(abs(moved)), 2L)
      }
    }
  }
})

test_that("text in a numeric SQLite column is missing; a number matches the level with its text", {
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(data.frame(y = as.numeric(1:4)), "people")
  DBI::dbExecute(con, "CREATE TABLE mixed (y REAL, g, h INTEGER)")
  DBI::dbExecute(con, paste(
    "INSERT INTO mixed VALUES (1, 'a', 1), (2, 2, 'b'), (3, 'b', 2), (4, '2', 3), (5, 2.0, NULL)"
  ))
  columns <- lm_columns(y ~ g + h, list(y = c(0, 9), g = c("a", "2"), h = c(0, 9)))
  rows <- gather_rows(open_rows(dp_table(con, "mixed"), columns, list(), TRUE))
  rows <- rows[order(rows[, 3L]), ]
  expect_identical(rows[, 1L], c(0, 1, NA, 1, 1))
  expect_identical(rows[, 2L], c(1, NA, 2, 3, NA))
  # The condition itself, not a cell, determines whether text is compared.
  read <- function(subset) {
    own <- lm_columns(y ~ h, list(y = c(0, 9), h = c(0, 9)))
    table <- gather_rows(open_rows(dp_table(con, "mixed"), own, list(subset = subset), TRUE))
    sort(table[!is.na(table[, 2L]), 2L])
  }
  expect_identical(read(quote(g == "b")), 3)
  expect_identical(read(quote(g >= 2)), c(2, 5))
})

# Protected treated people of a SQLite table whose columns accept any type. One cell of these people
# changes.
loose_treated <- function(change, gaps) {
  people <- data.frame(
    unit = rep(sprintf("u%02d", 1:30), 6L), week = rep(1:6, each = 30L),
    y = stats::dnorm(1:180 / 60), x = rep(1:30 / 7, 6L), f = rep(c("a", "b"), 90L)
  )
  people$on <- as.integer(people$unit > "u20" & people$week > 4L)
  con <- sqlite_of(people, "typed")
  DBI::dbExecute(con, "CREATE TABLE sales (unit TEXT, week INTEGER, y, x, f, \"on\" INTEGER)")
  DBI::dbExecute(con, "INSERT INTO sales SELECT * FROM typed")
  if (!is.null(change)) DBI::dbExecute(con, change)
  units <- unique(people$unit)
  roster <- if (gaps) dp_roster(units, ifelse(units > "u20", 5L, NA), 1:6)
  declared <- list(x = c(0, 5), f = c("a", "b"))
  rows <- NULL
  said <- canary_conditions({
    panel <- read_panel(
      y ~ on, in_sqlite(con), roster = roster, bounds = c(0, 1), covariates = declared,
      hide = TRUE
    )
    rows <- unname(cbind(panel$target, panel$covariates$target))
  })
  list(rows = rows, said = lapply(said, conditionMessage))
}

test_that("a protected person's cell changes only that person's row; no message reveals the cell", {
  skip_if_not_installed("RSQLite")
  set <- function(who, column, cell) {
    sprintf("UPDATE sales SET %s = %s WHERE unit = '%s' AND week = 1", column, cell, who)
  }
  turn <- 0L
  for (gaps in c(FALSE, TRUE)) {
    whole <- loose_treated(NULL, gaps)$rows
    expect_identical(dim(whole), c(10L, 8L))
    for (column in c("y", "x", "f")) {
      for (cell in c("'zqx'", "'0.3'", "NULL", "9e999", "7", "x'41'")) {
        turn <- turn + 1L
        # Half of the cells of the covariates are tested with gaps, the other half without.
        if (!is_audit() && column != "y" && turn %% 2L == as.integer(gaps)) next
        # R reads the first person's cell first.
        both <- lapply(c("u21", "u27"), function(who) loose_treated(set(who, column, cell), gaps))
        expect_identical(both[[1L]]$said, both[[2L]]$said)
        expect_identical(is.null(both[[1L]]$rows), is.null(both[[2L]]$rows))
        # With gaps no cell causes a message. Otherwise the only message is that a value is missing.
        if (gaps) expect_length(both[[1L]]$said, 0L)
        expect_false(any(grepl("class|zqx", unlist(both[[1L]]$said))))
        if (is.null(both[[1L]]$rows)) next
        expect_identical(both[[1L]]$rows[-1L, ], whole[-1L, ])
        expect_identical(both[[2L]]$rows[-7L, ], whole[-7L, ])
      }
    }
  }
})

# Strings that R can neither compare nor convert, in any encoding.
odd_strings <- function() {
  bytes <- "\xff\xfe"
  Encoding(bytes) <- "bytes"
  broken <- "a\xffb"
  Encoding(broken) <- "UTF-8"
  list(bytes, broken, "\xff")
}

test_that("strings that R cannot convert cause no condition in dp_lm(), dp_select() and streams", {
  withr::local_seed(2)
  people <- data.frame(
    y = stats::runif(400), g = sample(c("a", "b"), 400, TRUE), h = sample(c("1", "2"), 400, TRUE)
  )
  people$on <- people$g == "a"
  bounds <- list(y = c(0, 1), g = c("a", "b"))
  uses <- list(
    lm = function(rows) dp_lm(y ~ g, rows, epsilon = 1, bounds = bounds),
    equal = function(rows) dp_lm(y ~ g, rows, epsilon = 1, bounds = bounds, subset = g != "c"),
    number = function(rows) {
      dp_lm(y ~ on, rows,
        epsilon = 1, bounds = list(y = c(0, 1), on = c(FALSE, TRUE)),
        subset = as.numeric(g) > 0 | y > 0
      )
    },
    select = function(rows) dp_select(y ~ g, rows, epsilon = 1, size = 1, bounds = bounds),
    online = function(rows) update(dp_online(y ~ g, 1, horizon = 400, bounds = bounds), rows),
    count = function(rows) {
      update(dp_stream_count(1, horizon = 400, categories = c("a", "b")), rows$g)
    }
  )
  for (name in names(uses)) {
    for (odd in odd_strings()) {
      people$g[[7L]] <- odd
      expect_length(canary_conditions(uses[[name]](people)), 0L)
      factors <- people
      factors$g <- factor(factors$g, levels = unique(people$g))
      expect_length(canary_conditions(uses[[name]](factors)), 0L)
    }
  }
})

test_that("neither cells of an unexpected type nor columns without a value stop a stream", {
  online <- function(bounds) dp_online(y ~ g, 1, horizon = 50, batch = TRUE, bounds = bounds)
  levels <- list(y = c(0, 1), g = c("a", "b"))
  range <- list(y = c(0, 1), g = c(0, 1))
  rows <- function(g) data.frame(y = c(0.2, 0.4, 0.6), g = g)
  stops <- function(bounds, g) length(canary_conditions(update(online(bounds), rows(g)))) > 0L
  for (one in list("a", TRUE, 1, 1L)) {
    none <- rep(one, 3L)
    is.na(none) <- 1:3
    some <- none
    some[[2L]] <- one
    for (bounds in list(levels, range)) {
      expect_identical(stops(bounds, none), stops(bounds, some))
      expect_false(stops(bounds, some))
    }
    counts <- function(x) {
      length(canary_conditions(update(
        dp_stream_count(1, horizon = 50, batch = TRUE, categories = c("a", "b")), x
      ))) > 0L
    }
    expect_identical(counts(none), counts(some))
    expect_false(counts(some))
  }
  # Text in a column with a range is missing, for one cell as for all cells, so the contents of
  # cells never stop a call.
  expect_false(stops(range, rep("a", 3L)))
  expect_false(stops(levels, rep("a", 3L)))
})

test_that("dp_aggregate() succeeds if the conversion of one block's answer causes an error", {
  assign("as.double.dpsc_odd", function(x, ...) stop("SENTINEL"), globalenv())
  withr::defer(rm("as.double.dpsc_odd", envir = globalenv()))
  statistic <- function(x) if (any(x > 0.9)) structure(1, class = "dpsc_odd") else mean(x)
  fit <- dp_aggregate(c(rep(0.5, 399), 0.95), statistic, lower = 0, upper = 1, epsilon = 1)
  expect_true(is.finite(fit$estimate))
})

test_that("attributes of arguments do not enter dp_glm() or dp_select() fits, streams or ledgers", {
  withr::local_seed(4)
  secrets <- stats::runif(20, 100, 900)
  hang <- function(x) structure(x, secret = secrets)
  rows <- data.frame(y = stats::runif(200), x = stats::runif(200), b = stats::runif(200) < 0.5)
  bounds <- lapply(list(y = c(0, 1), x = c(0, 1), b = c(FALSE, TRUE)), hang)
  ledger <- dp_ledger(hang(100), hang(1e-3))
  glm <- function(...) {
    dp_glm(b ~ x, rows,
      epsilon = hang(1), delta = hang(1e-6), bounds = bounds, ledger = ledger, ...
    )
  }
  made <- list(
    glm(constraints = list(lower = hang(0))),
    glm(constraints = list(A = hang(matrix(1, 1L, 1L)), b = hang(2))),
    glm(penalty = list(lasso = hang(0.1))), glm(method = "napp", settings = list(stages = hang(2))),
    dp_stream_count(hang(1), horizon = hang(10), categories = hang(c("a", "b"))),
    dp_stream_sum(hang(c(0, 1)), hang(1), hang(1e-6), horizon = 10),
    dp_online(y ~ x, hang(1), hang(1e-6), horizon = 10, bounds = bounds, radius = hang(1)),
    dp_select(y ~ x, rows, hang(1), hang(1e-6), size = hang(1), bounds = bounds),
    ledger
  )
  for (one in made) {
    parts <- if (is.environment(one)) mget(ls(one, all.names = TRUE), one) else unclass(one)
    expect_no_canary(parts, secrets, class(one)[[1L]])
  }
})

test_that("attributes of calls inside a formula do not enter fits", {
  withr::local_seed(4)
  secrets <- stats::runif(20, 100, 900)
  hung <- function(formula) {
    for (side in seq_along(formula)[-1L]) {
      if (is.call(formula[[side]])) attr(formula[[side]], "secret") <- secrets
    }
    formula
  }
  rows <- data.frame(y = stats::runif(400), x = stats::runif(400))
  of <- list(y = c(0, 1), x = c(0, 1))
  panel <- expand.grid(t = 1:8, id = 1:61)
  panel$y <- stats::runif(nrow(panel))
  panel$on <- as.integer(panel$id == 61 & panel$t > 5)
  made <- list(
    dp_lm(hung(I(y) ~ I(x)), rows, epsilon = 5, bounds = of),
    dp_glm(hung(I(y) ~ I(x)), rows, "gaussian", epsilon = 5, bounds = of,
      offset = hung(~ I(x * 0.5))),
    dp_synth(hung(I(y) ~ on), panel, c("id", "t"), epsilon = 5, protect = "donors",
      bounds = list(`I(y)` = c(0, 1)))
  )
  for (one in made) expect_no_canary(unclass(one), secrets, class(one)[[1L]])
  # The empty argument of x[, 1] remains.
  expect_identical(bare_code(quote(log(x[, 1]) + 2)), quote(log(x[, 1]) + 2))
})
