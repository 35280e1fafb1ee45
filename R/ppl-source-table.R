# Donors in a database, in files, or in several places: what the user says of them. Nothing is read
# here but the names of columns.

#' Donors in a database, in files, or in several places
#'
#' Give one of these where a data frame or a matrix of donors would stand: to [dp_synth()] and
#' [dp_release()] as `data` of a formula, or in the place of the matrix, with `target` and `T0`; to
#' [dp_lm()] and [dp_glm()] as `data`, where rows are people. Seeded results are, bit for bit, those
#' of a data frame of the same numbers and text with one row a unit and period. Where an engine
#' gives another number than R would (of text, NUMERIC or 32-bit columns), they are those of its
#' number.
#'
#' * `dp_table()`: a table, view or query of a DBI connection, or a lazy `tbl()` with joins and
#'   filters. One row a unit and period.
#' * `dp_files()`: CSV files, which are copied into a temporary table of duckdb or, where it is not
#'   installed, SQLite; or Parquet files, by duckdb.
#' * `dp_sources()`: several of these, and matrices or chunks; their sums add up. Shards of one
#'   table, or different engines. **A person must be in one of them only**: this is assumed, and
#'   not checked. Whether somebody is in two is itself a fact about people; who is in k places has
#'   k times the loss.
#' * [dp_workers()]: sources that other processes hold.
#'
#' @section Two ways to compute:
#' `compute = "here"`: the engine turns long rows into one row of integers a person, once, into a
#' temporary table; blocks of these stream to the core, which does the rest. Memory is bounded by
#' `block`. Blocks are read up to nine times, one block only once: where memory holds all people, 4
#' bytes a number, a `block` of as many is fastest.
#'
#' `compute = "database"`: the sums are made by SQL as well, and only they travel: counts, sums and
#' products of integers, a few hundred numbers a pass. They are the core's integers bit for bit, and
#' an engine proves that on rows of ours, before its first use, or is refused. Intervals are
#' calibrated on the placebo errors of 10,000 people (at most; up to 100,000 where the budget is so
#' small that fewer say nothing: below `epsilon` of about 0.2), which are no sums: their rows travel
#' where you say `calibrate = TRUE`; otherwise ask for a release without intervals,
#' `dp_control(intervals = FALSE)`. So do the rows of the treated people whom `protect = "everyone"`
#' protects. [dp_lm()] asks about 30 queries and lets no row travel; [dp_glm()] needs rows, and is
#' refused before anything is spent.
#'
#' @section What each verb takes:
#' A verb's method says what it needs of people's rows, and that alone decides which sources it
#' takes; the others are refused before anything is spent. *Blocks* are [dp_chunks()], and tables
#' and files with `compute = "here"`; *sums* are `compute = "database"` and [dp_workers()]; several
#' sources give what the least of them gives, blocks at most. With `epsilon = Inf` sums are refused
#' everywhere.
#'
#' | verb | method | in memory | blocks | sums |
#' |---|---|---|---|---|
#' | `dp_synth`, `dp_release` | `gram` | yes | yes | yes |
#' | `dp_synth`, `dp_release` | `gram` with `monitor` | yes | yes | no |
#' | `dp_synth`, `dp_release` | `output`, `objective` | yes | no | no |
#' | `dp_lm` | `moments` | yes | yes | yes |
#' | `dp_lm` | `ops`, `adaops` | yes | no | no |
#' | `dp_glm` | all | yes | yes | no |
#' | `dp_select` | all | yes | no | no |
#' | `dp_aggregate` | all | yes | no | no |
#' | `dp_describe` | all | yes | yes | no |
#' | `dp_online` | all | yes | no | no |
#' @section Panels:
#' Several adoption dates, covariates and `protect = "everyone"` work as with a data frame, in both
#' ways. So does `na = "interpolate"` with a [dp_roster()], from one table or files: the roster's
#' units are written into a temporary table, and the engine fills gaps row by row. An engine's rows
#' have no order: of several rows of a unit in a period the largest outcome counts. Without a roster
#' every unit needs one finite outcome a period. Outcome, treatment and covariates are columns, and
#' a factor's levels are in `bounds` also where `epsilon = Inf`. Fits that grow ([dp_monitor]) take
#' `compute = "here"`, for the first release and for `update(fit, newdata)`. Methods other than
#' `"gram"` and classical estimators need the donors in memory.
#'
#' @section What a cell is:
#' A cell becomes a number or a level by `bounds`, by its column's type and by nothing else, and
#' none makes an error. Numbers are themselves, TRUE and FALSE are 1 and 0, and text is read as
#' decimal digits with a point and an exponent, blanks around them aside: `"1e3"`, `" 12 "`,
#' `"01"`, `".5"`. `"Inf"`, `"TRUE"`, `"T"` and the like are what they say; `"1,5"`, `"0x10"`,
#' `"nan"`, `""` and other text are missing. In regressions a number beyond its bounds, infinite or
#' too large for a double, is the nearest bound, and one next to zero (`1e-400`) is zero. Text
#' holds a level with the same bytes; a number holds the level that reads as it.
#'
#' The type of a database's column is what its table declares. Text is read by R alone: a column of
#' text that is to be a number needs `compute = "here"`, and the outcome of a panel must be declared
#' as a number. SQLite keeps anything in a column: text in a column of numbers is missing.
#'
#' CSV files have commas, double quotes, a header and UTF-8, with or without a mark of the byte
#' order; nothing is guessed from rows. A line feed ends a line, wherever it stands, and every line
#' after the header is one row, an empty one as well: whoever writes a file of people takes line
#' ends out of their text, or one person's text makes several rows. A cell that begins with a quote
#' ends at the next single quote of its line; quotes inside another cell are text. All cells are
#' missing of a line with more or fewer cells than the header, with a quote that is not closed, or
#' with something after a closing quote. Cells without quotes that are empty or `NA` are missing,
#' as are those with bytes that no string can hold. Units are text. Periods are numbers if all of
#' them are whole ones, or if those of a [dp_roster()] are numbers.
#'
#' @section What the engine must stand:
#' The temporary table is a snapshot: every pass has the same rows, and says so by its count and, of
#' blocks, its checksum. What is wrong with the rows is found before the budget is charged, and said
#' without naming anyone. An engine's own words are shown where it fails before it reads a row, at
#' a misspelt name or a missing right (SQLite, Postgres, DuckDB); other errors of an engine are
#' replaced, since their text may hold values.
#'
#' The right to read the table and to make temporary tables is enough. Statements hold public bounds
#' and released numbers, and no one's values. Where they stand in the engine's log they do no harm.
#' The sums of `"database"` leave the engine *without noise*: whoever runs engine and R is trusted.
#'
#' Postgres, SQLite and DuckDB are tested. SQL for Spark, BigQuery, Snowflake and SQL Server is
#' UNTESTED: it was rendered and read, but never run.
#'
#' A Postgres table may have partitions on other servers (`postgres_fdw`): releases are the same,
#' but Postgres fetches their rows to sum them. [dp_sources()] of one connection to each server
#' makes the sums where the rows are.
#'
#' @section A query is outside the guarantee:
#' Where `table` is a query, or a lazy `tbl()` that filters, joins or computes, **the guarantee
#' starts from the query's result**: its rows are the people, and their number is public and exact.
#' So `WHERE age >= 18` tells how many are adults, and `LIMIT`, `DISTINCT`, or `y - (SELECT MAX(y)
#' ...)` make one person's row change those of others. Choose rows by `subset =` of [dp_lm()] and
#' [dp_glm()], which counts no one. With a table's or a view's name nothing of this applies, but for
#' a view that is such a query.
#'
#' @section Order:
#' People are numbered in the order of their identifiers, strings by their bytes, as in a data
#' frame, and source after source. A person's identifier is part of the row that neighbours may
#' change; it is protected. So nothing that is released depends on the order: where there are more
#' than 10,000 people, those whose errors calibrate are drawn at random, and the engine is given
#' their numbers in a temporary table. Periods and the treated units are public.
#'
#' @param con (`DBIConnection`, or a lazy `tbl`)\cr where the rows are.
#' @param table (`string`, [DBI::Id()] or [DBI::SQL()])\cr a table or view, or a query. Not with a
#'   lazy `tbl`.
#' @param index (`character(2)`, or `NULL`)\cr columns of unit and time, in this order. `NULL` for
#'   [dp_lm()], where rows are people.
#' @param outcome (`string` or `NULL`)\cr the outcome's column, where no formula names it.
#' @param compute (`string`)\cr `"here"` or `"database"`, see below.
#' @param calibrate (`flag`)\cr with `"database"`: may rows travel, of 10,000 people or more for the
#'   intervals, and of protected treated people?
#' @param block (`count`)\cr with `"here"`: people in memory at a time.
#' @param groups (`count`)\cr people are made wide in so many groups, one after the other: an engine
#'   with little memory needs not spill. Each group reads the table once.
#' @param files (`character`)\cr paths; `*` stands for anything.
#' @param memory (`string` or `NULL`)\cr limit for duckdb, such as `"1GB"`.
#' @param sources (`list`)\cr of `dp_table()`, `dp_files()`, [dp_workers()]; of matrices and
#'   [dp_chunks()] where `target` and `T0` are given; of data frames for [dp_lm()].
#' @param x (`dp_source`)\cr donors.
#' @param ... unused.
#' @return An object of class `dp_source`, which can read donors: PRIVATE. It holds the connection,
#'   and is of use in this session only.
#' @section Errors: `dpsc_error_argument` for what is no table; `dpsc_error_package` for a package
#'   that is needed. From the fitting functions `dpsc_error_panel` for rows that are no panel, and
#'   `dpsc_error_engine` for an engine that fails or that counts in another way.
#' @examplesIf requireNamespace("RSQLite", quietly = TRUE)
#' con <- DBI::dbConnect(RSQLite::SQLite())
#' DBI::dbWriteTable(con, "clinic", as.data.frame(clinic_panel))
#' clinic <- dp_table(con, "clinic", index = c("patient", "month"))
#' dp_synth(pressure ~ enrolled, clinic, epsilon = 1, bounds = c(80, 200), size = 60)
#' DBI::dbDisconnect(con)
#' @export
dp_table <- function(con, table, index = NULL, outcome = NULL, compute = c("here", "database"),
                     calibrate = FALSE, block = 65536, groups = 1) door("dp_table", {
  index <- given_index(index, substitute(index), "argument")
  need_package("DBI", "dp_table()")
  if (inherits(con, "tbl_lazy")) {
    if (!missing(table)) {
      abort("Leave {.arg table} out: a lazy {.cls tbl} has its own table.", "argument")
    }
    need_package("dbplyr", "a lazy tbl")
    from <- paste0("(", dbplyr::sql_render(con), ")")
    con <- dbplyr::remote_con(con)
  } else {
    check_given(missing(table), "table", "the table that holds the rows")
    if (!inherits(con, "DBIConnection")) {
      abort(c(
        "{.arg con} must be a DBI connection or a lazy {.cls tbl}.",
        x = "It is {describe(con)}."
      ), "argument")
    }
    from <- from_text(con, table)
  }
  out <- new_table(con, paste(from, "s"), index, outcome, compute, calibrate, block, groups)
  # What is no name is a query.
  out$query <- grepl("^[(]", from)
  out
})

#' What stands after FROM
#' @noRd
from_text <- function(con, table) {
  if (inherits(table, "SQL")) {
    return(if (grepl("\\s", table)) paste0("(", table, ")") else as.character(table))
  }
  if (!inherits(table, "Id") && !is_name(table)) {
    abort(c(
      "{.arg table} must be a table's name, a {.fn DBI::Id} or {.fn DBI::SQL}.",
      x = "It is {describe(table)}."
    ), "argument")
  }
  as.character(DBI::dbQuoteIdentifier(con, table))
}

new_table <- function(con, from, index, outcome, compute, calibrate, block, groups) {
  # dp_files() gives one way.
  compute <- check_choice(compute, c("here", "database"))
  if (!is.null(index) && !(is.character(index) && length(index) == 2L && !anyNA(index))) {
    abort(c(
      "{.arg index} must name two columns: unit and time.", x = "It is {describe(index)}.",
      i = "For instance {.code index = c(\"store\", \"week\")}."
    ), "argument")
  }
  if (!is.null(outcome) && !is_name(outcome)) {
    abort("{.arg outcome} must name one column.", "argument")
  }
  state <- new.env(parent = emptyenv())
  out <- structure(list(
    con = con, from = from, index = as.vector(index), outcome = outcome, compute = compute,
    calibrate = check_flag(calibrate), block = check_count(block, 1),
    groups = check_count(groups, 1, 1000),
    dialect = dialect_of(con), state = state
  ), class = c("dp_table", "dp_source"))
  # Columns of no rows: names, and of the index the types.
  looked <- look_at_table(con, from)
  out$fields <- names(looked)
  named <- c(index, outcome)
  unknown <- setdiff(named, out$fields)
  if (length(unknown)) {
    abort(c(
      "{.code {unknown}} {?is not a column/are not columns} of the table.",
      i = "Check the spelling and the case."
    ), "argument")
  }
  if (length(index) && index[[1L]] == index[[2L]]) {
    abort("{.arg index} must name two different columns: unit and time.", "argument")
  }
  out$kinds <- as.list(looked)[index]
  out
}

#' A table's columns, without rows
#' @noRd
look_at_table <- function(con, from) {
  tryCatch(
    run_sql(con, paste("SELECT * FROM", from, "WHERE 1 = 0"), TRUE, what = "Inspecting the table"),
    dpsc_error_engine = function(e) {
      hint <- table_hint(from)
      if (!is.null(hint)) e$message <- paste0(e$message, "\n", hint)
      stop(e)
    }
  )
}

#' What a table's name that was not found may have been meant as
#' @noRd
table_hint <- function(from) {
  name <- sub(" s$", "", from)
  inner <- gsub("[^[:alnum:] ._*]", "", name)
  hint <- if (grepl("^(select|with) ", inner, ignore.case = TRUE)) {
    "A query is given as {.code DBI::SQL(\"SELECT ...\")}."
  } else if (grepl("^[^.() ]+[.][^.() ]+$", inner)) {
    "A schema and a table are given as {.code DBI::Id(schema = , table = )}."
  }
  if (!is.null(hint)) rlang::format_error_bullets(c(i = cli::format_inline(hint)))
}

#' @rdname dp_table
#' @export
dp_sources <- function(sources) door("dp_sources", {
  known <- function(x) {
    is.data.frame(x) || is_plain_table(x) || inherits(x, c("dp_source", "dp_chunks"))
  }
  if (!is.list(sources) || is.data.frame(sources) || !length(sources) ||
      !all(vapply(sources, known, NA))) {
    abort(c(
      "{.arg sources} must be a list of places that hold donors.",
      i = "Tables, files, workers; matrices and chunks; or data frames for {.fn dp_lm}."
    ), "argument")
  }
  parts <- unlist(lapply(sources, function(x) {
    if (inherits(x, "dp_sources")) x$parts else list(x)
  }), recursive = FALSE)
  structure(list(parts = unname(parts)), class = c("dp_sources", "dp_source"))
})

#' @rdname dp_table
#' @export
print.dp_source <- function(x, ...) {
  cat(source_words(x), sep = "\n")
  invisible(x)
}

#' A lazy table that is given as data, as a source
#' @noRd
source_of_tbl <- function(data, index = NULL) {
  if (inherits(data, "tbl_lazy")) dp_table(data, index = index) else data
}

#' What a guarantee over these rows rests on, which nobody checks, in words, or `NULL`
#'
#' PUBLIC: of how the source was given, never of its rows. A check for people in two sources would
#' be an answer about people.
#' @noRd
assumptions_of <- function(x) UseMethod("assumptions_of")

#' @export
assumptions_of.default <- function(x) NULL

#' @export
assumptions_of.dp_source <- function(x) {
  parts <- if (inherits(x, "dp_sources")) x$parts else list(x)
  queries <- vapply(parts, function(part) inherits(part, "dp_table") && isTRUE(part$query), NA)
  several <- length(parts) > 1L || length(x$cluster) > 1L
  found <- c(
    if (any(queries)) {
      paste(
        "the guarantee starts from the query's result: its rows are the people, and their number",
        "is public and exact"
      )
    },
    if (several) "nobody is in two of the sources, which is not checked"
  )
  if (length(found)) paste(found, collapse = "; ")
}

source_words <- function(x) {
  if (inherits(x, "dp_sources")) {
    inner <- unlist(lapply(x$parts, source_words))
    return(c(paste("Donors in", length(x$parts), "places"), paste0("  ", inner)))
  }
  if (!inherits(x, "dp_table")) {
    return(if (inherits(x, "dp_source")) {
      paste("Donors that", length(x$cluster), "workers hold")
    } else {
      "Donors in memory"
    })
  }
  where <- if (inherits(x, "dp_files")) "files" else "a database"
  how <- if (x$compute == "here") {
    "integers stream to this process"
  } else if (x$calibrate) {
    "sums are computed there; some people's rows come here for the calibration"
  } else {
    "only sums leave it"
  }
  c(
    paste0("Donors in ", where, " (", x$dialect$name, "): ", how),
    if (!x$dialect$tested) "SQL for this engine is UNTESTED.",
    if (isTRUE(x$query)) "A query: the guarantee starts from its result, whose rows are counted."
  )
}

is_name <- function(x) is.character(x) && length(x) == 1L && !is.na(x) && nzchar(x)
