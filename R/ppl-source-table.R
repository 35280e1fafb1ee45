# Donors in a database, in files, or in several places: the user's declarations. Only the names of
# columns are read here.

#' Donors in a database, in files, or in several places
#'
#' The value of any of these functions, a source, can replace a data frame or a matrix of donors. In
#' [dp_synth()] and [dp_release()] a source is the `data` of a formula, or replaces the matrix
#' beside `target` and `T0`. In [dp_lm()] and [dp_glm()] a source is the `data`, with one row per
#' person. Seeded results are identical to the results for a data frame of the same numbers and text
#' with one row per unit and period. If an engine returns a different number than R (for text,
#' NUMERIC or 32-bit columns), the engine's number is used.
#'
#' * `dp_table()`: a table, view or query of a DBI connection, or a lazy `tbl()` with joins and
#'   filters, with one row per unit and period.
#' * `dp_files()`: CSV files, which are copied into a temporary table of duckdb (of SQLite, if
#'   duckdb is not installed), or Parquet files, which duckdb reads.
#' * `dp_sources()`: several tables, files, workers, matrices, chunks or data frames, whose sums are
#'   added, for example the parts of one table or tables in different engines. **Each person must be
#'   in only one source**. This condition is assumed, not checked, because a person's presence in
#'   two sources is itself a private fact. A person in k sources is protected only like a group of k
#'   people. Tables of one connection are read in one state of the database (Postgres, SQLite); of
#'   other sources, nobody may move from one to another during a release.
#' * [dp_workers()]: sources to which only other processes have access.
#'
#' @section Two ways to compute: `compute = "here"`: in a temporary table the engine turns long rows
#' into one row of integers per person, once. The package's C++ core reads blocks of these rows and
#' does all other computations. `block` limits the memory. Several blocks are read up to nine times,
#' but a single block is read only once. If the rows of all people fit into memory, at 4 bytes per
#' number, a `block` of all people is therefore fastest.
#'
#' `compute = "database"`: SQL also computes the sums, and only these sums are transferred: counts,
#' sums and sums of products of integers, a few hundred numbers per pass. The sums are identical to
#' the core's integers. Before its first use an engine is tested for this property, and refused if
#' it fails the test. Intervals are calibrated on the placebo errors of at most 10,000 people (up to
#' 100,000 if `epsilon` is so small, below about 0.15 at `delta = 1e-6`, that fewer people would be
#' uninformative). These errors are not sums. Set `calibrate = TRUE` to permit the transfer of the
#' rows of these people, or request a release without intervals, `dp_control(intervals = FALSE)`.
#' The rows of treated people protected by `protect = "everyone"` also need `calibrate = TRUE`.
#' [dp_lm()] sends about 30 queries and transfers no row; [dp_glm()] needs rows, and refuses sums
#' before any budget is spent.
#'
#' @section Sources that each function accepts: Each method of a function needs all rows in memory,
#' blocks of rows, or only sums over rows. This requirement alone determines the accepted sources;
#' other sources are refused before any budget is spent. *Blocks* come from [dp_chunks()], and from
#' tables and files with `compute = "here"`; *sums* come from `compute = "database"` and
#' [dp_workers()]. Several sources together permit the access of the most restrictive source, but
#' never more than blocks. With `epsilon = Inf` sums are always refused.
#'
#' | function | method | in memory | blocks | sums |
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
#' @section Panels: Several adoption dates, covariates and `protect = "everyone"` work as with a
#' data frame, for both values of `compute`. `na = "interpolate"` with a [dp_roster()] works for one
#' table or one set of files: the roster's units are written into a temporary table, and the engine
#' fills gaps row by row. Since rows of an engine have no order, the largest outcome counts if a
#' unit has several rows in a period. Without a roster every unit needs one finite outcome per
#' period. Outcome, treatment and covariates are columns, periods are whole numbers, dates or
#' strings, and a factor's levels are required in `bounds` even for `epsilon = Inf`. Growing fits
#' ([dp_monitor]) require `compute = "here"`, for the first release and for `update(fit, newdata)`.
#' Classical estimators, and methods other than `"gram"`, need the donors in memory.
#'
#' @section Reading of cells: Only `bounds` and the type of a cell's column determine how the cell
#' is read as a number or level, and no cell causes an error. Numbers remain numbers, and TRUE and
#' FALSE are 1 and 0. Text is a number if it consists of decimal digits, with or without a point, an
#' exponent and surrounding blanks, such as `"1e3"`, `" 12 "`, `"01"` or `".5"`. `"Inf"`, `"TRUE"`,
#' `"T"` and similar words have their usual meaning; `"1,5"`, `"0x10"`, `"nan"`, `""` and other text
#' are missing. In regressions a number that lies beyond its bounds, is infinite or is too large for
#' a double becomes the nearest bound. A number that is too small for a double (`1e-400`) becomes
#' zero. Text matches a level with the same bytes; a number matches the level whose text is this
#' number.
#'
#' The type of a database's column is the type that its table declares. Only R reads text as
#' numbers, so a column of text with numeric bounds needs `compute = "here"`, and the outcome of a
#' panel must be declared as a number. SQLite stores any value in any column; text in a column of
#' numbers counts as missing. A column without any value has its declared type, too. The rows of
#' data frames in [dp_sources()] and of workers are blocks, whose cells are read one by one (section
#' *Cells of blocks* of [dp_chunks()]).
#'
#' CSV files must have commas, double quotes and a header, and UTF-8 encoding with or without a
#' byte-order mark; nothing is guessed from rows. A line feed always ends a line, and every line
#' after the header, even an empty line, is one row. Remove line feeds from people's text before you
#' write the file, since otherwise one person's text makes several rows. A cell that begins with a
#' quote ends at the next quote in its line that is not doubled; quotes inside other cells are text.
#' All cells of a line count as missing if the line contains more or fewer cells than the header, a
#' quote that is not closed, or text after a closing quote. Cells without quotes that are empty or
#' `NA` count as missing, as do cells with bytes that a string in R cannot contain. Names of units
#' are read as text. Periods are read as numbers if all periods are whole numbers, or if the periods
#' of a [dp_roster()] are numbers.
#'
#' @section Requirements on the engine: The temporary table is a snapshot: of a table that changes
#' while a panel is read, one state is used, or the call stops before the charge (`groups > 1`
#' therefore needs Postgres, SQLite or DuckDB; Parquet files must not change). On Postgres the call
#' must not be inside a transaction, unless its level is REPEATABLE READ. Every pass must find the
#' same rows, so the number of rows (and a checksum, for blocks) is compared in every pass. Faults
#' of the rows are found before the budget is charged, and reported without naming anyone. An
#' engine's own error is shown only if it concerns names, rights or syntax, and without names that
#' are not in the statement (SQLite, Postgres, DuckDB). Other errors of an engine are hidden, since
#' their text may contain people's values; planners run functions of views, so this also holds
#' before any row is read. Connections of package RPostgreSQL, which prints the server's errors, are
#' refused.
#'
#' Identifiers and periods that are text are compared by their bytes, whatever their collation;
#' engines other than Postgres, SQLite and DuckDB need whole numbers or dates. Of text, a query
#' returns public strings, and other text only if every driver can convert it.
#'
#' The rights to read the table and to make temporary tables are sufficient. SQL statements contain
#' public bounds and released numbers, never a person's values, so they may appear in the engine's
#' log. With `"database"` the sums leave the engine *without noise*, so the operators of the engine
#' and of R must be trusted.
#'
#' Postgres, SQLite and DuckDB are tested. SQL for Spark, BigQuery, Snowflake and SQL Server is
#' UNTESTED: we read the generated SQL, but never ran it.
#'
#' A Postgres table may have partitions on other servers (`postgres_fdw`). Releases are then the
#' same, but Postgres fetches the partitions' rows to sum them. [dp_sources()] with one connection
#' per server computes the sums on each server.
#'
#' @section Queries and the guarantee: If `table` is a query, or a lazy `tbl()` that filters, joins
#' or computes, **the guarantee covers the query's result**: the rows of this result are the people,
#' and the number of rows is public and exact. Thus `WHERE age >= 18` reveals the number of adults,
#' and `LIMIT`, `DISTINCT`, or `y - (SELECT MAX(y) ...)` let one person's row change other people's
#' rows. Select rows by `subset =` of [dp_lm()] and [dp_glm()], which does not reveal the number of
#' selected rows. The name of a table or view is not a query in this sense, unless the view itself
#' filters, joins or computes.
#'
#' @section Order: People are numbered source by source, and within a source in the order of their
#' identifiers, as in a data frame (strings by their bytes). A person's identifier is part of the
#' row that is replaced in a neighbouring data set, and is protected. No released number depends on
#' the order: with more than 10,000 people, the people whose errors calibrate the intervals are
#' drawn at random, and the engine receives the positions of these people in a temporary table.
#' Periods and the treated units are public.
#'
#' @param con (`DBIConnection`, or a lazy `tbl`)\cr the connection to the rows.
#' @param table (`string`, [DBI::Id()] or [DBI::SQL()])\cr a table or view, or a query. Omit this
#'   argument for a lazy `tbl`. Names of columns that begin with `dpsc_` are reserved.
#' @param index (`character(2)`, or `NULL`)\cr columns of unit and time, in this order. Use `NULL`
#'   for [dp_lm()], with one row per person.
#' @param outcome (`string` or `NULL`)\cr the outcome's column, if no formula names it.
#' @param compute (`string`)\cr `"here"` or `"database"`, see Two ways to compute.
#' @param calibrate (`flag`)\cr for `"database"`: whether to permit the transfer of the rows of
#'   protected treated people, and of the people whose errors calibrate the intervals.
#' @param block (`count`)\cr for `"here"`: number of people in memory at a time.
#' @param groups (`count`)\cr number of groups of people. The engine turns the long rows of one
#'   group after the other into one row per person, so that an engine with little memory need not
#'   use its disk. The table is read once for each group.
#' @param files (`character`)\cr paths of CSV files (also `.csv.gz`) or of Parquet files; `*`
#'   matches any text. A compressed file that is cut off is refused.
#' @param memory (`string` or `NULL`)\cr memory limit for duckdb, such as `"1GB"`; unused if duckdb
#'   is not installed.
#' @param sources (`list`)\cr values of `dp_table()`, `dp_files()` and [dp_workers()]; matrices and
#'   [dp_chunks()] if `target` and `T0` are given; data frames for [dp_lm()].
#' @param x (`dp_source`)\cr a source.
#' @param ... unused.
#' @return An object of class `dp_source`, which can read donors: PRIVATE. The object contains the
#'   connection, and can be used only in this session, not in its forks.
#' @section Errors: `dpsc_error_argument` if an argument is not a table; `dpsc_error_package` for a
#'   missing package. The fitting functions raise `dpsc_error_panel` for rows that are not a panel,
#'   and `dpsc_error_engine` for an engine that fails or computes differently.
#' @examplesIf requireNamespace("RSQLite", quietly = TRUE)
#' con <- DBI::dbConnect(RSQLite::SQLite())
#' DBI::dbWriteTable(con, "clinic", as.data.frame(clinic_panel))
#' clinic <- dp_table(con, "clinic", index = c("patient", "month"))
#' dp_synth(pressure ~ enrolled, clinic, epsilon = 1, bounds = c(80, 200), size = 60)
#' DBI::dbDisconnect(con)
#' @export
dp_table <- function(con, table, index = NULL, outcome = NULL, compute = c("here", "database"),
                     calibrate = FALSE, block = 65536, groups = 1, ...) door("dp_table", {
  check_no_dots(...)
  index <- given_index(index, substitute(index), "argument")
  need_package("DBI", "dp_table()")
  if (inherits(con, "tbl_lazy")) {
    if (!missing(table)) {
      abort(c(
        "{.arg table} cannot be given with a lazy {.cls tbl}, which contains its own table.",
        i = "Leave out {.arg table}."
      ), "argument")
    }
    need_package("dbplyr", "A lazy tbl")
    from <- paste0("(", dbplyr::sql_render(con), ")")
    con <- dbplyr::remote_con(con)
  } else {
    check_given(missing(table), "table", "the table that contains the rows")
    if (!inherits(con, "DBIConnection")) {
      abort(c(
        "{.arg con} must be a DBI connection or a lazy {.cls tbl}.",
        x = "It is {describe(con)}."
      ), "argument")
    }
    from <- from_text(con, table)
  }
  out <- new_table(con, paste(from, "s"), index, outcome, compute, calibrate, block, groups)
  # A query numbers people in additional columns, whose names must be free.
  reserved <- out$fields[startsWith(tolower(out$fields), "dpsc_")]
  if (length(reserved)) {
    abort(c(
      "The table contains {.code {reserved}}, but names beginning with {.code dpsc_} are reserved.",
      i = "Rename these columns in a view or a query."
    ), "argument")
  }
  # A parenthesis outside quoted names belongs to a query or to a function that returns rows.
  is_text <- grepl("^[(]", from) || inherits(table, "SQL")
  out$query <- is_text && grepl("[(]", gsub("\"[^\"]*\"", "", from))
  out
})

#' The SQL after FROM
#' @noRd
from_text <- function(con, table) {
  if (inherits(table, "SQL")) {
    return(if (grepl("\\s", table)) paste0("(", table, ")") else as.character(table))
  }
  if (!inherits(table, "Id") && !is_name(table)) {
    abort(c(
      "{.arg table} must be a table's name, a {.fn DBI::Id} or {.fn DBI::SQL}.",
      x = "It is {describe_value(table)}."
    ), "argument")
  }
  as.character(DBI::dbQuoteIdentifier(con, table))
}

new_table <- function(con, from, index, outcome, compute, calibrate, block, groups) {
  # dp_files() computes in one way only.
  compute <- check_choice(compute, c("here", "database"))
  if (!is.null(index) && !(is.character(index) && length(index) == 2L && !anyNA(index))) {
    abort(c(
      "{.arg index} must name two columns: unit and time.", x = "It is {describe_value(index)}.",
      i = "Write, for instance, {.code index = c(\"store\", \"week\")}."
    ), "argument")
  }
  if (!is.null(outcome) && !is_name(outcome)) {
    abort("{.arg outcome} must name one column.", "argument")
  }
  state <- new.env(parent = emptyenv())
  state$process <- Sys.getpid()
  out <- structure(list(
    con = con, from = from, index = as.vector(index), outcome = outcome, compute = compute,
    calibrate = check_flag(calibrate), block = check_count(block, 1),
    groups = check_count(groups, 1, 1000),
    dialect = dialect_of(con), state = state
  ), class = c("dp_table", "dp_source"))
  # The query returns no rows, only the names of all columns and the types of the index.
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

#' Hint on possible meanings of an unknown table name
#' @noRd
table_hint <- function(from) {
  name <- sub(" s$", "", from)
  inner <- gsub("[^[:alnum:] ._*]", "", name)
  hint <- if (grepl("^(select|with) ", inner, ignore.case = TRUE)) {
    "Give a query as {.code DBI::SQL(\"SELECT ...\")}."
  } else if (grepl("^[^.() ]+[.][^.() ]+$", inner)) {
    "Give a schema and a table as {.code DBI::Id(schema = , table = )}."
  }
  if (!is.null(hint)) rlang::format_error_bullets(c(i = cli::format_inline(hint)))
}

#' @rdname dp_table
#' @export
dp_sources <- function(sources, ...) door("dp_sources", {
  check_no_dots(...)
  known <- function(x) {
    is.data.frame(x) || is_plain_table(x) || inherits(x, c("dp_source", "dp_chunks"))
  }
  if (!is.list(sources) || is.data.frame(sources) || !length(sources) ||
      !all(vapply(sources, known, NA))) {
    abort(c(
      "{.arg sources} must be a list of sources.",
      i = "Use tables, files, workers, matrices or chunks; for regressions also data frames."
    ), "argument")
  }
  parts <- unlist(lapply(sources, function(x) {
    if (inherits(x, "dp_sources")) x$parts else list(x)
  }), recursive = FALSE)
  structure(list(parts = unname(parts)), class = c("dp_sources", "dp_source"))
})

#' @rdname dp_table
#' @export
print.dp_source <- function(x, ...) say_lines(x, source_words(x))

# The default method would show rows in memory.
#' @noRd
#' @exportS3Method
format.dp_source <- function(x, ...) source_words(x)

#' Unchecked assumptions of a guarantee over these rows, in words, or `NULL`
#'
#' The words are PUBLIC, since they depend on the form of the source and never on its rows. A check
#' for people in two sources would reveal information about people.
#' @param roster (`dp_roster` or `NULL`).
#' @noRd
assumptions_of <- function(x, roster = NULL) {
  if (!is.null(roster)) {
    # Whatever a repeated cell counts, rows under another identifier change two people's rows.
    own <- paste(
      "each person's rows stand under the person's own identifier of the roster, which is not",
      "checked"
    )
    return(paste(c(assumptions_of(x), own), collapse = "; "))
  }
  if (!inherits(x, "dp_source")) {
    return(NULL)
  }
  parts <- if (inherits(x, "dp_sources")) x$parts else list(x)
  queries <- vapply(parts, function(part) inherits(part, "dp_table") && isTRUE(part$query), NA)
  several <- length(parts) > 1L || length(x$cluster) > 1L
  found <- c(
    if (any(queries)) {
      paste(
        "the guarantee covers the query's result: its rows are the people, and their number",
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
    return(c(paste("Rows in", count_of(length(x$parts), "place")), paste0("  ", inner)))
  }
  if (!inherits(x, "dp_table")) {
    return(if (inherits(x, "dp_source")) {
      paste("Rows on", count_of(length(x$cluster), "worker"))
    } else {
      "Rows in memory"
    })
  }
  where <- if (inherits(x, "dp_files")) "files" else "a database"
  how <- if (x$compute == "here") {
    "rows are read into this process"
  } else if (x$calibrate) {
    "sums are computed at the source; some people's rows are sent to R for the calibration"
  } else {
    "of protected people only sums leave the source"
  }
  c(
    paste0("Rows in ", where, " (", x$dialect$name, "): ", how),
    if (!x$dialect$tested) "UNTESTED: the generated SQL has never run on this kind of database.",
    if (isTRUE(x$query)) "The guarantee covers the query's result, whose number of rows is public."
  )
}

#' The source for a lazy table that is given as data
#' @noRd
source_of_tbl <- function(data) {
  if (inherits(data, "tbl_lazy")) dp_table(data) else data
}
