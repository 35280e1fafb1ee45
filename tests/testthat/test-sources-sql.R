# SQL text: constants, reference queries in each dialect, and the integers that SQLite computes with
# these queries.

sales_people <- list(
  from = "sales s", unit = "\"store\"", time = "\"week\"", outcome = "\"y\"", text = TRUE,
  before = 0
)

test_that("SQL contains doubles as whole numbers and powers of two, which are read bit for bit", {
  withr::local_seed(1)
  dialect <- sql_dialects()$sqlite
  values <- c(
    0, 1, -1, 1 / 3, 0.1 + 0.2, 2^53, -2^53 - 2, 2^62, .Machine$double.xmax, .Machine$double.xmin,
    5e-324, -2^-1074 * 12345, stats::rnorm(300) * 10^stats::runif(300, -300, 300)
  )
  for (x in values) {
    parts <- binary_parts(abs(x))
    expect_true(parts$whole == 0 || parts$whole %% 2 == 1)
    expect_lte(parts$whole, 2^53)
    expect_no_match(sql_real(x, dialect), "[.e]", label = format(x))
  }
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(data.frame(a = 1))
  text <- vapply(values, sql_real, "", dialect)
  text <- paste0("SELECT ", text, " AS x", collapse = " UNION ALL ")
  expect_identical(DBI::dbGetQuery(con, text)$x, values)
})

# All queries of a small release.
all_queries <- function(dialect) {
  bounds <- new_bounds(cbind(c(-1, 0, -1 / 3), c(1, 2, 0.1)), 3)
  scale <- bounds
  # The loadings do not depend on the generator of a library.
  loadings <- cbind(c(1, 1, 1) / 4, c(1, -1, 0))
  questions <- asked_of(
    row_map_cpp(scale, loadings, c(0, 0.25)),
    product_map_cpp(scale, cbind(c(0, 0, 1), loadings), c(0.5, 0, 0.25)),
    squared = floor(2^25 * 2^(-20:-19 / 2))^2
  )
  questions <- lapply(questions, function(question) {
    if (!is.null(question$zoom)) question$zoom <- 1 / 3
    question
  })
  c(
    wide = dialect$make("w", sql_wide(
      sales_people, c("1", "2", "3"), grid_of(bounds), dialect
    )),
    check = sql_check("w", 3, dialect), energy = sql_energy("w", questions[[1L]], dialect),
    moments = sql_moments("w", questions[[2L]], dialect), block = sql_block("w", 3, 0, 100),
    sample = sql_sample("w", "kept", 3),
    target_energy = sql_energy("w", questions[[3L]], dialect),
    target = sql_moments("w", questions[[4L]], dialect)
  )
}

test_that("queries about panels in every dialect match their snapshots", {
  for (dialect in sql_dialects()) {
    queries <- all_queries(dialect)
    # Each expression is on a separate line.
    shown <- gsub(", ", ",\n  ", gsub("FROM ", "\nFROM ", queries), fixed = FALSE)
    expect_snapshot(cat(shown, sep = "\n\n"), variant = dialect$name)
  }
})

test_that("no SQL query contains a decimal literal, ROUND, LEAST, an average or a 32-bit float", {
  expect_true(sql_faults("SELECT 0.5"))
  expect_true(sql_faults("SELECT ROUND(x)"))
  expect_true(sql_faults("SELECT 1e3"))
  for (dialect in sql_dialects()) {
    queries <- all_queries(dialect)
    expect_identical(unname(Filter(sql_faults, queries)), character(), label = dialect$name)
    # Queries across people use only MAX, COUNT, and SUM of integers.
    sums <- unlist(regmatches(queries, gregexpr("\\bSUM\\(", queries)))
    expect_gt(length(sums), 5)
    # Every level of a query has an optimisation fence if the engine needs one.
    levels <- lengths(regmatches(queries, gregexpr("(SELECT", queries, fixed = TRUE)))
    if (nzchar(dialect$fence)) {
      fences <- lengths(regmatches(queries, gregexpr(dialect$fence, queries, fixed = TRUE)))
      nested <- grepl("energy|moments|target", names(queries))
      expect_identical(fences[nested], levels[nested])
    }
  }
})

# Arguments of each SUM that are neither constants nor columns cast to integers.
doubtful_sums <- function(query, dialect) {
  at <- gregexpr("\\bSUM\\(", query)[[1L]]
  arguments <- if (at[[1L]] < 0L) character() else vapply(at, function(from) {
    rest <- substring(query, from + 4L)
    signs <- strsplit(rest, "")[[1L]]
    depth <- cumsum((signs == "(") - (signs == ")"))
    substr(rest, 1L, which(depth < 0)[[1L]] - 1L)
  }, "")
  cast <- paste0(" AS ", dialect$small, ")")
  whole <- function(name) {
    any(vapply(c(dialect$small, dialect$whole), function(type) {
      grepl(paste0(" AS ", type, ") AS ", name), query, fixed = TRUE)
    }, NA))
  }
  fits <- vapply(arguments, function(x) {
    if (grepl("^[a-z]+[0-9]*( [*] [a-z]+[0-9]*)?$", x)) {
      return(all(vapply(strsplit(x, " * ", fixed = TRUE)[[1L]], whole, NA)))
    }
    counted <- sub(cast, " 1)", sub("THEN CAST", "THEN (", x, fixed = TRUE), fixed = TRUE)
    grepl("^CASE WHEN .* THEN [01] ELSE [01] END$", x) ||
      (counted != x && grepl("^CASE WHEN .* ELSE 0 END$", x))
  }, NA)
  unique(arguments[!fits])
}

test_that("no SQL query adds doubles within or across people", {
  # Plants faults 28.
  made <- proof_people()
  design <- lm_design(made$columns)
  people <- function(dialect) {
    question <- c(made$questions[[6L]], list(limits = 1))
    c(
      sql_people("rows s", c(c1 = "x"), rep("c1", 6L), design, NULL, "c1", 2, dialect),
      sql_lengths("p", design, question, dialect), sql_beyond("p", design, question, dialect),
      sql_products("p", design, question, dialect),
      sql_products("p", design, made$questions[[7L]], dialect)
    )
  }
  for (dialect in sql_dialects()) {
    for (query in c(all_queries(dialect), people(dialect))) {
      expect_identical(doubtful_sums(query, dialect), character(), label = dialect$name)
    }
  }
  # The planted faults are sums of values that are not cast to integers, and a sum of doubles within
  # a person.
  dialect <- sql_dialects()$postgres
  planted <- function(name, fault, queries) {
    with_internal(name, fault, {
      expect_gt(length(unlist(lapply(queries(dialect), doubtful_sums, dialect))), 0)
    })
  }
  loose <- function(x, type) x
  planted("sql_cast", loose, all_queries)
  planted("sql_cast", loose, people)
  expect_length(doubtful_sums("SELECT SUM(CASE WHEN t = 1 THEN y ELSE 0 END) AS q1", dialect), 1L)
  expect_length(doubtful_sums("SELECT SUM(y * 3) AS z1", dialect), 1L)
})

# Queries that make the wide table for panels with covariates or gaps.
panel_queries <- function(dialect, gaps) {
  con <- sqlite_of(data.frame(store = "a", week = 1L, y = 1, age = 1, g = "a"))
  table <- dp_table(con, "sales", c("store", "week"))
  # The types are the types of SQLite.
  table$dialect <- replace(dialect, "type", list(NULL))
  # Elsewhere identifiers that are text are refused.
  if (!dialect$bytes) table$kinds[[1L]] <- 1L
  bounds <- new_bounds(cbind(c(-1, 0, -1 / 3), c(1, 2, 0.1)), 3)
  covariates <- list(
    declared = list(age = c(0, 99.7), g = c("a", "b", "c")), T0 = 2,
    columns = data.frame(name = c("age", "g: b", "g: c"))
  )
  periods <- c("1", "2", "3")
  more <- c(covariates, sql_covariates(table, covariates, periods, gaps, TRUE))
  grid <- grid_of(bounds, 3L, 2)
  query <- if (gaps) {
    sql_filled(joined_units(table, "people"), "\"week\"", "\"y\"", periods, grid,
      list(T0 = 2, middle = bounds$centre), dialect, more)
  } else {
    sql_wide(sales_people, periods, grid, dialect, more)
  }
  c(dialect$make("w", query), sql_check("w", 3, dialect, 3L))
}

test_that("queries for panels with covariates or gaps match their snapshots and round cells", {
  # Plants faults 29.
  skip_if_not_installed("RSQLite")
  for (dialect in sql_dialects()) {
    queries <- c(panel_queries(dialect, FALSE), panel_queries(dialect, TRUE))
    expect_identical(Filter(sql_faults, queries), character(), label = dialect$name)
    for (query in queries) expect_identical(doubtful_sums(query, dialect), character())
    if (!dialect$tested) next
    expect_snapshot(cat(gsub(", ", ",\n  ", gsub("FROM ", "\nFROM ", queries)), sep = "\n\n"),
      variant = dialect$name
    )
  }
  # The planted fault is cells that are not rounded before a person's rows are summed.
  with_internal("sql_cell", function(y, map, dialect) paste0("(", y, " - 1)"), {
    queries <- panel_queries(sql_dialects()$postgres, FALSE)
    expect_gt(length(unlist(lapply(queries, doubtful_sums, sql_dialects()$postgres))), 0)
  })
})

test_that("SQLite computes the same integers as C++ for random rows and random maps of rows", {
  skip_if_not_installed("RSQLite")
  withr::local_seed(42)
  for (round in 1:25) {
    map <- random_map()
    rows <- random_rows(map, 30)
    periods <- ncol(rows)
    long <- data.frame(
      unit = rep(seq_len(30), periods), week = rep(seq_len(periods), each = 30), y = c(rows)
    )
    con <- sqlite_of(long[sample.int(nrow(long)), ])
    table <- in_sqlite(con, outcome = "y", compute = "database")
    wide <- make_wide(table, list(periods = seq_len(periods)), grid_of(map$bounds))
    given <- row_map_cpp(map$bounds, map$loadings, map$origin)
    # The grid of a block equals the grid of the core.
    identity <- row_map_cpp(map$bounds, diag(periods), numeric(periods))
    own <- row_sums_cpp(rows, list(
      kind = "moments", map = identity, radius = 1, limit = 4096, zoom = 1
    ))
    block <- stream_rows(wide)$reader(1, FALSE)
    expect_identical(attr(block, "on_grid"), grid_of(map$bounds)$id)
    expect_error(row_sums_cpp(block, list(
      kind = "moments", radius = 1, limit = 4096, zoom = 1,
      map = row_map_cpp(new_bounds(c(-7, 7), periods), diag(periods), numeric(periods))
    )), "another grid")
    expect_identical(row_sums_cpp(block, list(
      kind = "moments", map = identity, radius = 1, limit = 4096, zoom = 1
    )), own)
    limit <- 2^sample(6:12, 1)
    d <- ncol(map$loadings)
    norms <- sqrt(rowSums(
      row_integers_cpp(rows, map$bounds, map$loadings, map$origin, 1, 64)$features^2
    ))
    radius <- max(1, floor(stats::median(norms)))
    inner <- stats::quantile(norms, c(0.1, 0.5, 0.8, 1), names = FALSE)
    squared <- unique(sort(c(1, floor(inner)^2)))
    squared <- squared[squared >= 1]
    products <- if (d > 1L) product_map_cpp(map$bounds, map$loadings, map$origin)
    questions <- asked_of(given, products, radius, squared)
    questions[[2L]]$limit <- limit
    questions[[2L]]$zoom <- (limit - sqrt(d) / 2) * (1 - 2^-40) / radius
    if (d > 1L) {
      # The limits have the magnitude of the products.
      v <- sqrt(rowSums(products_of(rows, products)^2))
      inner <- floor(stats::quantile(v, c(0.1, 0.5, 0.8, 1), names = FALSE))^2
      squared <- unique(sort(pmax(1, c(1, inner))))
      questions[[3L]][c("squared", "inverse")] <- list(squared, 2^20 / squared)
      radius <- max(1, floor(stats::median(v)))
      questions[[4L]]$radius <- radius
      questions[[4L]]$zoom <- (2^20 - sqrt(d - 1) / 2) * (1 - 2^-40) / radius
    }
    for (question in questions) {
      core <- row_sums_cpp(rows, question)
      expect_identical(ask_table(wide, question, FALSE), core, label = paste(round, question$kind))
      expect_identical(row_sums_cpp(block, question), core)
    }
  }
})

test_that("a database is tested and refused if it rounds incorrectly or misreads constants", {
  # Plants faults 30, 31, 32, 33, 34.
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(long_panel(20, 3, 1)$data)
  table <- in_sqlite(con, compute = "database")
  expect_no_condition(prove_engine(table))
  expect_true(table$state$proved)
  refused <- function(name, fault) {
    table <- in_sqlite(con, compute = "database")
    with_internal(name, fault, {
      expect_error(prove_engine(table), class = "dpsc_error_engine")
      expect_null(table$state$proved)
    })
  }
  # The planted fault rounds half away from zero.
  refused("sql_rint", function(x, dialect) paste0("ROUND(", x, ")"))
  # The planted fault writes constants as decimals with 15 digits.
  refused("sql_real", function(x, dialect) paste0("(", format(x, digits = 15), ")"))
  # The planted fault does not round cells before they are summed within a person.
  refused("sql_cell", function(y, map, dialect) {
    paste0("((", y, " - ", sql_real(map$centre, dialect), ") * ", sql_real(map$scale, dialect), ")")
  })
  # The planted fault uses the floor instead of the nearest integer.
  refused("sql_rint", function(x, dialect) paste0("FLOOR(", x, ")"))
  # The planted faults are products that are not rounded, that equal the features, or that lack the
  # features.
  refused("sql_multiplied", function(from, others, map, dialect) {
    z <- paste0(others, " * (1 + f * ", sql_real(map$slope, dialect), ") AS z", seq_along(others))
    sql_level(z, from, "q", dialect)
  })
  refused("sql_multiplied", function(from, others, map, dialect) {
    sql_level(paste0(others, " AS z", seq_along(others)), from, "q", dialect)
  })
  own <- sql_multiplied
  refused("sql_multiplied", function(from, others, map, dialect) {
    map$lift <- 0
    own(from, others, map, dialect)
  })
})
