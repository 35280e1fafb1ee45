# SQL text for sums over people: from long rows to one row of integers per person, and from these to
# the integers of inst/include/dpsc/rows/sums.hpp, bit for bit. No code here runs a query.
#
# Only integers are summed, across and within people. The other operations are - * / SQRT, whose
# rounding IEEE 754 fixes, and comparisons. Constants are integers, or integers divided by powers of
# two, because engines read decimal literals differently. ROUND and LEAST are avoided, since engines
# differ in their rules for ties and for NULL.

# Engines -----------------------------------------------------------------------------------------

#' Differences between engines' dialects
#'
#' @param name (`string`).
#' @param ... fields that differ from the defaults:
#'   * `real`, `whole`, `small` (`string`): the types of doubles, of 64-bit integers and of 32-bit
#'     integers.
#'   * `fence` (`string`): text that prevents an engine from copying the expressions of a subquery
#'     into the next subquery. Without it a query over 24 features takes 20 GB in Postgres.
#'   * `number` (`function`): converts a column to a double, or to NULL if the cell contains no
#'     number.
#'   * `order` (`function`): converts a column to strings that are sorted by bytes.
#'   * `bytes` (`flag`): are the strings of `order` equal only if their bytes are equal? Otherwise
#'     identifiers cannot be text.
#'   * `plain` (`function` or `NULL`): the condition that every driver can return a string of
#'     `order`. With `NULL` only public strings are returned.
#'   * `hex` (`function`): the bytes of a string as plain text.
#'   * `make` (`function`): the statement that stores the rows of a query for the session.
#'   * `index` (`flag`): does the stored table need an index to find rows by number?
#'   * `modulo` (`function`): the remainder of two SQL expressions.
#'   * `loose` (`flag`): may a column contain values of any type?
#'   * `before`, `after` (`character`): statements before and after a release's queries.
#'   * `tested` (`flag`): has this package been tested on the engine?
#'   * `type` (`function` or `NULL`): the name of the type of a column in a table, if R does not
#'     distinguish types with unlimited decimal digits from `doubles`, the types whose numbers are
#'     doubles or integers. A type of any other name counts as unlimited.
#'   * `snapshot` (`string`): how several statements read one state of a table: `"begin"`, in a
#'     transaction; `"level"`, in a transaction of a higher isolation level; `"alone"`, no other
#'     process can write; `"none"`.
#'   * `instant` (`function` or `NULL`): literals of dates with times, if literals of the driver
#'     depend on the session's time zone.
#'   * `planning` (`flag`): does EXPLAIN plan a statement without returning rows?
#'   * `exact` (`function`): converts a column of any other type to a double, or to infinity beyond
#'     the doubles.
#' @noRd
new_dialect <- function(name, ...) {
  given <- list(...)
  real <- given$real %||% "DOUBLE PRECISION"
  with_fields(list(
    name = name, real = real, whole = "BIGINT", small = "INTEGER", fence = "",
    order = function(x) x, bytes = FALSE, plain = NULL, hex = NULL,
    make = function(name, query) paste0("CREATE TEMPORARY TABLE ", name, " AS ", query),
    number = function(x) sql_cast(x, real), index = FALSE,
    modulo = function(a, b) paste0("(", a, ") % ", b), loose = FALSE, before = character(),
    after = character(), tested = FALSE, type = NULL, doubles = NULL, exact = NULL,
    planning = FALSE, snapshot = "none", instant = NULL
  ), given)
}

sql_dialects <- function() {
  list(
    sqlite = new_dialect("sqlite",
      real = "REAL", whole = "INTEGER", fence = " LIMIT -1 OFFSET 0", index = TRUE,
      # A column may declare that "A" equals "a", so the collation is given here.
      order = function(x) paste(x, "COLLATE BINARY"), bytes = TRUE,
      # R would read text only up to its first zero byte.
      plain = function(x) paste0("typeof(", x, ") = 'text' AND instr(", x, ", char(0)) = 0"),
      hex = function(x) paste0("hex(", x, ")"),
      # A column may contain values of any type, and a cast converts them to numbers.
      number = function(x) {
        paste0("CASE WHEN typeof(", x, ") IN ('integer', 'real') THEN CAST(", x, " AS REAL) END")
      }, loose = TRUE, tested = TRUE, planning = TRUE, snapshot = "begin"
    ),
    postgres = new_dialect("postgres",
      fence = " OFFSET 0", order = function(x) paste0("CAST(", x, " AS TEXT) COLLATE \"C\""),
      # The server converts each string to the encoding of the connection, and fails if a character
      # does not exist there.
      bytes = TRUE, plain = function(x) {
        paste0("((getdatabaseencoding() = 'UTF8' AND pg_client_encoding() = 'UTF8') OR ", x,
          " ~ '^[\t-~]*$')")
      },
      hex = function(x) paste0("encode(convert_to(", x, ", getdatabaseencoding()), 'hex')"),
      index = TRUE, before = "SET jit = off", after = "RESET jit", tested = TRUE,
      type = function(column, from) {
        paste0("CAST(pg_typeof((SELECT ", column, " FROM ", from, " WHERE 1 = 0)) AS TEXT)")
      },
      # In this engine a cast is an error if the number is too large for a double, or so small that
      # it rounds to zero. NaN is above all numbers and equal to -NaN. A domain has its own name.
      doubles = c("double precision", "real", "smallint", "integer", "bigint"),
      planning = TRUE, snapshot = "level", instant = postgres_instants, exact = function(x) {
        real <- function(value) sql_cast(value, "DOUBLE PRECISION")
        paste0("(CASE WHEN ", x, " > 1.7976931348623157e308 THEN CASE WHEN -", x, " < ", x,
          " THEN ",
          real("'Infinity'"), " END WHEN ", x, " < -1.7976931348623157e308 THEN ",
          real("'-Infinity'"), " WHEN ", x, " < 2.5e-324 AND ", x, " > -2.5e-324 THEN ", real("0"),
          " ELSE ", real(x), " END)")
      }
    ),
    duckdb = new_dialect("duckdb",
      real = "DOUBLE", tested = TRUE, bytes = TRUE,
      order = function(x) paste0("CAST(", x, " AS VARCHAR) COLLATE \"binary\""),
      plain = function(x) paste0("NOT contains(", x, ", chr(0))"),
      hex = function(x) paste0("hex(", x, ")"), planning = TRUE, snapshot = "alone"
    ),
    spark = new_dialect("spark",
      real = "DOUBLE", small = "INT",
      make = function(name, query) paste0("CACHE TABLE ", name, " AS ", query)
    ),
    bigquery = new_dialect("bigquery",
      real = "FLOAT64", whole = "INT64", small = "INT64",
      modulo = function(a, b) paste0("MOD(", a, ", ", b, ")")
    ),
    snowflake = new_dialect("snowflake", real = "DOUBLE"),
    # In this engine a SUM of INT can overflow.
    mssql = new_dialect("mssql",
      real = "FLOAT", small = "BIGINT",
      order = function(x) paste0(x, " COLLATE Latin1_General_BIN2"),
      make = function(name, query) paste0("SELECT * INTO ", name, " FROM (", query, ") k")
    ),
    unknown = new_dialect("unknown")
  )
}

# The table is built once, after all files are read.
delayedAssign("sql_dialect_table", sql_dialects())

#' The dialect of a connection, by its class
#' @section Errors: `dpsc_error_argument` for a driver that does not keep DBI's promises.
#' @noRd
dialect_of <- function(con) {
  # This driver prints the server's errors and notices, and makes permanent tables for temporary
  # ones.
  if (inherits(con, "PostgreSQLConnection")) {
    abort(c(
      paste(
        "Connections of package {.pkg RPostgreSQL} are refused, since this package prints errors",
        "of the server, which may contain data, and makes temporary tables permanent."
      ),
      i = "Connect with {.code DBI::dbConnect(RPostgres::Postgres(), ...)}."
    ), "argument")
  }
  classes <- c(
    SQLiteConnection = "sqlite", PqConnection = "postgres", duckdb_connection = "duckdb",
    `Spark SQL` = "spark", BigQueryConnection = "bigquery",
    Snowflake = "snowflake", `Microsoft SQL Server` = "mssql"
  )
  found <- intersect(names(classes), class(con))
  sql_dialect_table[[if (length(found)) classes[[found[[1L]]]] else "unknown"]]
}

# People ------------------------------------------------------------------------------------------

#' One row per person, with the person's number in the order of identifiers, a flag for a complete
#' row, and the cells
#'
#' Cells are aggregated by MAX, so that duplicate rows cannot move a cell beyond its limits. `k`
#' counts a person's rows, and `ok` counts the finite rows, for the next check.
#' @param people (`list`)\cr `from` (`string`): the SQL after FROM, long rows of donors; `unit`,
#'   `time`, `outcome` (`string`): columns, quoted; `text` (`flag`): are the identifiers strings?
#'   `before` (`count`): the number of people who already have numbers.
#' @param periods (`character`)\cr literals, in order.
#' @param map (`list` or `NULL`)\cr `centre`, `scale`, `limit`, and `times`, the positions of
#'   periods; `NULL`: unchanged outcomes.
#' @param more (`list` or `NULL`)\cr covariates, from [sql_covariates()], to be placed after the
#'   first `more$T0` periods.
#' @noRd
sql_wide <- function(people, periods, map, dialect, more = NULL) {
  y <- sql_cast(people$outcome, dialect$real)
  cells <- vapply(seq_along(periods), function(t) {
    cell <- sql_outcome(y, t, map, dialect)
    paste0("MAX(CASE WHEN ", people$time, " = ", periods[[t]], " THEN ", cell, " END) AS q", t)
  }, "")
  grouped <- paste0(
    "SELECT ", people$unit, " AS u, COUNT(*) AS k, SUM(CASE WHEN ", sql_is_finite(y, dialect),
    " THEN 1 ELSE 0 END) AS ok, ", paste(c(cells, more$inner), collapse = ", "), " FROM ",
    people$from, " GROUP BY ", people$unit
  )
  columns <- paste0("q", seq_along(periods))
  if (!is.null(more)) columns <- sql_columns_of(columns, more)
  by <- if (people$text) dialect$order("u") else "u"
  paste0(
    "SELECT ROW_NUMBER() OVER (ORDER BY ", by, ") + ", sql_whole(people$before), " AS r, k, ok, ",
    paste(columns, collapse = ", "), " FROM (",
    grouped, ") p"
  )
}

#' Columns q1, q2, ... of a person: outcomes, with covariates after the pre-period, and whether the
#' covariates are complete
#' @noRd
sql_columns_of <- function(outcomes, more) {
  pre <- seq_len(more$T0)
  values <- c(outcomes[pre], more$outer, outcomes[-pre])
  c(
    paste(values, "AS", paste0("q", seq_along(values))),
    paste0("CASE WHEN ", more$whole, " THEN 1 ELSE 0 END AS known")
  )
}

#' Query for the numbered identifiers that divide people into groups of a given size
#'
#' The identifiers stay in a temporary table of the engine, so that no statement contains an
#' identifier.
#' @param from (`string`)\cr rows of one period, with one row per person.
#' @noRd
sql_cuts <- function(from, unit, size, dialect, text = FALSE) {
  by <- if (text) dialect$order("u") else "u"
  paste0(
    "SELECT u, (r / ", sql_whole(size), ") AS b FROM (SELECT u, ROW_NUMBER() OVER (ORDER BY ", by,
    ") AS r FROM (SELECT ", unit, " AS u FROM ", from, ") a) c WHERE ",
    dialect$modulo("r", sql_whole(size)), " = 0"
  )
}

#' Conditions for a unit to be in group b
#' @noRd
sql_group <- function(unit, cuts, b, groups, dialect, text = FALSE) {
  as_text <- if (text) dialect$order else identity
  end <- function(k) as_text(paste0("(SELECT u FROM ", cuts, " WHERE b = ", k, ")"))
  unit <- as_text(unit)
  c(
    if (b > 1L) paste(unit, ">", end(b - 1L)), if (b < groups) paste(unit, "<=", end(b))
  )
}

#' The number of people, the number of people without one finite value in every period and, with
#' covariates, the number of people with missing covariates
#' @noRd
sql_check <- function(table, periods, dialect, covariates = 0L) {
  whole <- paste0("k = ", periods, " AND ok = ", periods, " AND ",
    paste0("q", seq_len(periods + covariates), " IS NOT NULL", collapse = " AND "))
  failing <- function(condition, name) {
    sql_sum(paste("CASE WHEN", condition, "THEN 0 ELSE 1 END"), name, dialect)
  }
  counts <- c(
    sql_count("n", dialect), if (covariates > 0L) failing("known = 1", "missing"),
    failing(whole, "bad")
  )
  paste("SELECT", paste(counts, collapse = ", "), "FROM", table)
}

# Questions ---------------------------------------------------------------------------------------

#' A level of nested queries
#' @noRd
sql_level <- function(columns, from, name, dialect) {
  paste0("(SELECT ", paste(columns, collapse = ", "), " FROM ", from, dialect$fence, ") ", name)
}

#' The summands of every person, which are whole numbers z1, z2, ... (features, or products of
#' features), and their squared norm nn
#' @param map (`list`)\cr the row map of a question; with `lift` and `slope` the first feature
#'   multiplies the others. PUBLIC or RELEASED.
#' @noRd
sql_features <- function(table, map, dialect) {
  periods <- nrow(map$loadings)
  d <- ncol(map$loadings)
  wide <- sql_level(
    paste0(sql_cast(paste0("q", seq_len(periods)), dialect$whole), " AS q", seq_len(periods)),
    table, "a", dialect
  )
  name <- if (is.null(map$lift)) paste0("z", seq_len(d)) else c("f", paste0("r", seq_len(d - 1L)))
  features <- vapply(seq_len(d), function(j) {
    paste(sql_feature(paste0("q", seq_len(periods)), map, j, dialect), "AS", name[[j]])
  }, "")
  from <- sql_level(features, wide, "b", dialect)
  if (!is.null(map$lift)) from <- sql_multiplied(from, name[-1L], map, dialect)
  z <- paste0("z", seq_len(summed_count(map)))
  norm <- paste0(paste(z, z, sep = " * ", collapse = " + "), " AS nn")
  sql_level(c(z, norm), from, "c", dialect)
}

#' Number of summands per person
#' @noRd
summed_count <- function(map) ncol(map$loadings) - !is.null(map$lift)

#' Products z1, z2, ... of feature f and the other features, which are multiplied by 1 + f and
#' rounded
#' @noRd
sql_multiplied <- function(from, others, map, dialect) {
  gain <- paste0(
    "(", sql_real(map$lift, dialect), " + ", sql_cast("f", dialect$real), " * ",
    sql_real(map$slope, dialect), ") AS g"
  )
  products <- vapply(seq_along(others), function(t) {
    product <- paste0(sql_cast(others[[t]], dialect$real), " * g")
    paste0(sql_cast(sql_rint(product, dialect), dialect$whole), " AS z", t)
  }, "")
  sql_level(products, sql_level(c(others, gain), from, "p", dialect), "q", dialect)
}

#' One feature as an integer: the sum weighted by loadings, rescaled and rounded, minus the origin
#' @noRd
sql_feature <- function(q, map, j, dialect) {
  loading <- map$loadings[, j]
  used <- which(loading != 0)
  sum <- if (length(used)) {
    paste0(q[used], " * ", vapply(loading[used], sql_whole, ""), collapse = " + ")
  } else {
    sql_cast("0", dialect$whole)
  }
  scaled <- paste0(sql_cast(sum, dialect$real), " * ", sql_real(map$rescale, dialect))
  paste0(
    sql_cast(sql_rint(scaled, dialect), dialect$whole), " - ", sql_whole(map$origin[[j]])
  )
}

#' For each radius, the sum of the squared norms of people within the radius, relative to the
#' squared radius, and the number of people beyond the radius
#' @param question (`list`)\cr `map`, `squared`, `inverse`, `one`.
#' @return A query with a single row `n`, `k1`, ..., `b1`, ...
#' @noRd
sql_energy <- function(table, question, dialect) {
  nn <- sql_cast("nn", dialect$real)
  radii <- seq_along(question$squared)
  # Squared norms remain below 2^51.
  squared <- vapply(pmin(question$squared, 2^62), sql_whole, "")
  kept <- vapply(radii, function(k) {
    energy <- sql_rint(paste0(nn, " * ", sql_real(question$inverse[[k]], dialect)), dialect)
    sql_sum(paste(
      "CASE WHEN nn <=", squared[[k]], "THEN", sql_cast(energy, dialect$small), "ELSE 0 END"
    ), paste0("k", k), dialect)
  }, "")
  beyond <- paste("CASE WHEN nn >", squared, "THEN 1 ELSE 0 END")
  beyond <- sql_sum(beyond, paste0("b", radii), dialect)
  paste0(
    "SELECT ", paste(c(sql_count("n", dialect, "nn"), kept, beyond), collapse = ", "), " FROM ",
    sql_features(table, question$map, dialect)
  )
}

# Columns per query: Postgres takes 1,664, SQLite 2,000.
sql_columns <- 1500L

#' Sums and products of people's clipped rows w: integers, |w| <= limit
#'
#' The final comparison uses the summed columns.
#' @param question (`list`)\cr `map`, `radius`, `limit`, `zoom`; `kind`: `"moments"`, or `"sums"`
#'   without products.
#' @return Queries with a single row each: `n`, and then, over all queries, `s1`, ..., and the
#'   products `g1_1`, `g1_2`, `g2_2`, ...
#' @noRd
sql_moments <- function(table, question, dialect) {
  d <- summed_count(question$map)
  z <- paste0("z", seq_len(d))
  w <- paste0("w", seq_len(d))
  real <- function(x) sql_real(x, dialect)
  norms <- sql_level(
    c(z, paste0("SQRT(", sql_cast("nn", dialect$real), ") AS l")),
    sql_features(table, question$map, dialect), "d", dialect
  )
  factors <- sql_level(c(z, paste0(
    "CASE WHEN l <= ", real(question$radius), " THEN ", real(question$zoom), " ELSE ",
    real(question$zoom), " * (", real(question$radius), " / l) END AS f"
  )), norms, "e", dialect)
  # The square of 2^20 does not fit into 32 bits.
  type <- if (question$limit > 4096) dialect$whole else dialect$small
  clipped <- sql_level(paste0(
    sql_cast(sql_rint(paste0(sql_cast(z, dialect$real), " * f"), dialect), type), " AS ", w
  ), factors, "g", dialect)
  at <- moment_pairs(d)
  sums <- c(
    sql_sum(w, paste0("s", seq_len(d)), dialect),
    if (question$kind == "moments") {
      sql_sum(paste(w[at$i], "*", w[at$j]), paste0("g", at$i, "_", at$j), dialect)
    }
  )
  guard <- paste0(paste(w, w, sep = " * ", collapse = " + "), " <= ", sql_whole(question$limit^2))
  sql_in_parts(sql_count("n", dialect), sums, paste(clipped, "WHERE", guard))
}

#' Sums over the same rows, in as many queries as the number of sums requires
#' @param first (`string`)\cr the first column of each query.
#' @noRd
sql_in_parts <- function(first, sums, from) {
  groups <- split(sums, (seq_along(sums) - 1L) %/% sql_columns)
  vapply(groups, function(columns) {
    paste0("SELECT ", paste(c(first, columns), collapse = ", "), " FROM ", from)
  }, "", USE.NAMES = FALSE)
}

moment_pairs <- function(d) {
  list(i = unlist(lapply(seq_len(d), seq_len)), j = rep(seq_len(d), seq_len(d)))
}

#' Cells of people by number, for a block or a selection of people
#' @noRd
sql_block <- function(table, periods, first, last) {
  paste0(
    "SELECT ", paste0("q", seq_len(periods), collapse = ", "), " FROM ", table, " WHERE r > ",
    sql_whole(first), " AND r <= ", sql_whole(last), " ORDER BY r"
  )
}

#' @param kept (`string`)\cr the quoted table of positions, from [keep_units()].
#' @noRd
sql_sample <- function(table, kept, periods) {
  paste0(
    "SELECT ", paste0("q", seq_len(periods), collapse = ", "), " FROM ", table, " JOIN ", kept,
    " ON r = dpsc_u ORDER BY r"
  )
}

# A condition on a row, as SQL text.
flag_sql <- function(...) list(text = paste0(...), type = "flag")
