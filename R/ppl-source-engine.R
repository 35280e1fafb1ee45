# Communication with the engine that stores rows. The engine's messages may contain values, so only
# errors about names, rights and syntax are shown (R/ppl-source-engine-words.R).

#' Let drivers draw random numbers, for names and similar uses, without changing R's generator
#'
#' Without this function a seeded release would depend on the source of the rows.
#' @noRd
keep_seed <- function(expr) {
  seed <- globalenv()[[".Random.seed"]]
  on.exit(if (is.null(seed)) {
    if (exists(".Random.seed", globalenv(), inherits = FALSE)) rm(".Random.seed", pos = 1L)
  } else {
    assign(".Random.seed", seed, pos = 1L)
  })
  expr
}

#' Run an engine's work without its messages, and without draws from R's generator
#' @noRd
quietly <- function(code) keep_seed(suppressMessages(suppressWarnings(code)))

#' Run a query or a statement; an error about its names, rights or syntax is shown
#' @param fetch (`flag`)\cr whether the query returns rows.
#' @return A data frame, or the number of rows touched.
#' @section Errors: `dpsc_error_engine`, also a `dpsc_error_panel`.
#' @noRd
run_sql <- function(con, text, fetch = FALSE, charged = FALSE, what = "A statement") {
  # A failure of this package in making the statement is not the engine's.
  force(text)
  if (!is.null(waiting$since)) tick_waiting()
  out <- tryCatch(
    quietly(if (fetch) DBI::dbGetQuery(con, text) else DBI::dbExecute(con, text)),
    error = function(e) NULL
  )
  if (is.null(out)) {
    closed <- is_closed(con)
    words <- if (!charged && !closed) planning_words(con, text)
    abort(c(
      "{what} failed in the database that contains the rows.",
      x = if (closed) "The connection is closed.",
      x = if (!is.null(words)) "The database's error, before any row was read: {words}",
      i = if (is.null(words) && !closed) {
        paste(
          "Check that the connection is open. The database's error is not shown, since it may",
          "contain data."
        )
      },
      i = if (charged) charge_stays
    ), c("engine", "panel"))
  }
  if (fetch) plain_frame(out) else out
}

#' An engine's error for a statement that it cannot plan, or `NULL`
#'
#' Statements contain no person's values.
#' @noRd
planning_words <- function(con, text) {
  if (!dialect_of(con)$planning || !grepl("^(SELECT|CREATE TEMPORARY TABLE) ", text)) {
    return(NULL)
  }
  words <- tryCatch(
    {
      quietly(DBI::dbGetQuery(con, paste("EXPLAIN", text)))
      NULL
    },
    error = conditionMessage
  )
  if (!is.null(words)) known_error(words, text)
}

#' Columns of 64-bit integers, converted to doubles
#' @noRd
plain_frame <- function(x) {
  for (j in seq_along(x)) {
    # The conversion warns of lost digits; R/ppl-source-names.R compares names with their text.
    if (inherits(x[[j]], "integer64")) x[[j]] <- suppressWarnings(as.double(x[[j]]))
  }
  x
}

#' The only row of a query, as numbers
#' @noRd
sql_numbers <- function(con, text, charged = FALSE) {
  row <- run_sql(con, text, TRUE, charged, "A sum")
  if (nrow(row) != 1L) abort_sums(charged)
  out <- vapply(row, as.double, 0)
  if (!all(is.finite(out)) || !all(out == floor(out)) || any(abs(out) > 2^53)) {
    abort_sums(charged)
  }
  out
}

abort_sums <- function(charged) {
  abort(c(
    "The database that contains the rows did not return whole numbers for sums.",
    i = "Check how the connection returns large numbers.",
    i = if (charged) charge_stays
  ), c("engine", "panel"))
}

#' Refuse a table whose connection another process opened, and may use at the same time
#' @section Errors: `dpsc_error_engine`.
#' @noRd
check_own_process <- function(table) {
  if (!identical(table$state$process, Sys.getpid())) {
    abort(c(
      "The connection of the table or the files was opened in another process.",
      x = "A fork, or a copy from a file, cannot use a connection of another process.",
      i = "Open the connection in this process, and call {.fn dp_table} or {.fn dp_files} again."
    ), c("engine", "panel"))
  }
}

#' Run a source's answer; an error without a class may contain data, and is replaced
#' @noRd
classed <- function(code, charged) {
  tryCatch(code, error = function(e) {
    if (inherits(e, "dpsc_error")) stop(e)
    abort(c(
      "A source of rows did not answer a question as expected.",
      i = "The error is not shown, since it may contain data. Check the source's connections.",
      i = if (charged) charge_stays
    ), c("engine", "panel"))
  })
}

abort_changed <- function(charged) {
  abort(c(
    "The rows changed between two passes over the data.",
    i = "The database must keep its temporary table until the release is finished.",
    i = if (charged) charge_stays
  ), c("engine", "reader", "panel"))
}

#' The quoted name of a column
#' @noRd
quoted <- function(con, name) as.character(DBI::dbQuoteIdentifier(con, name))

#' Public values as literals, with integers as integers
#' @noRd
sql_literals <- function(con, values) {
  if (is.numeric(values) && !is.object(values)) {
    return(vapply(values, sql_whole, ""))
  }
  instant <- if (inherits(values, "POSIXct")) dialect_of(con)$instant
  if (is.null(instant)) as.character(DBI::dbQuoteLiteral(con, values)) else instant(con, values)
}

#' Identifiers in a column that may contain values of any type: 1, 1.0 and '1' are one person
#'
#' A view or a query can combine numbers and their text in one column, and a person with both would
#' count twice.
#' @noRd
sql_any_identifier <- function(key) {
  whole <- paste0("CAST(", key, " AS INTEGER)")
  paste0(
    "(CASE WHEN typeof(", key, ") <> 'real' THEN CAST(", key, " AS TEXT) WHEN ", key, " = ", whole,
    " THEN CAST(", whole, " AS TEXT) WHEN CAST(printf('%!.15g', ", key, ") AS REAL) = ", key,
    " THEN printf('%!.15g', ", key, ") ELSE printf('%!.17g', ", key, ") END)"
  )
}

#' The same for units: in a column of numbers, text of a number is this number, so that numbers keep
#' their order
#' @param text (`flag`)\cr whether the column contains text by its type.
#' @noRd
sql_any_name <- function(key, text) {
  name <- sql_any_identifier(key)
  if (text) {
    return(name)
  }
  made <- function(x) sql_any_identifier(x)
  paste0(
    "(CASE WHEN typeof(", key, ") IN ('integer', 'real') THEN ", key,
    paste0(
      " WHEN ", name, " = ", vapply(paste0("CAST(", key, " AS ", c("INTEGER", "REAL"), ")"),
        made, ""), " THEN CAST(", key, " AS ", c("INTEGER", "REAL"), ")", collapse = ""
    ),
    " ELSE ", name, " END)"
  )
}

#' A column of a panel's index, quoted; strings are equal only if their bytes are equal
#'
#' R compares names by bytes. If the engine did not, a donor whose name equals the name of a treated
#' unit in other letters would be read as treated.
#' @param k (`count`)\cr 1 for units, 2 for periods.
#' @param of (`string`)\cr prefix of the column, such as `"s."`.
#' @noRd
index_column <- function(table, k, of = "") {
  sql_index(table, k, paste0(of, quoted(table$con, table$index[[k]])))
}

#' A column in the form of the index, so that equal names are equal in the engine
#' @param column (`string`)\cr a column of the table, or of names in R.
#' @noRd
sql_index <- function(table, k, column) {
  if (!is_text_index(table, k)) {
    return(column)
  }
  if (k == 1L && table$dialect$loose) {
    column <- sql_any_name(column, is.character(table$kinds[[1L]]))
  }
  by_bytes(table$dialect, column, table$index[[k]])
}

#' May a column of the index contain strings?
#'
#' Without strict types a column of numbers may contain strings, too. The driver recognises dates by
#' the column itself.
#' @noRd
is_text_index <- function(table, k) {
  kind <- table$kinds[[k]]
  is.character(kind) || (table$dialect$loose && !is.object(kind))
}

unit_column <- function(table) index_column(table, 1L)

time_column <- function(table) index_column(table, 2L)

#' Identifiers that are strings, as SQL whose values are equal only if their bytes are equal
#' @section Errors: `dpsc_error_engine` for an engine without such a comparison, by its kind.
#' @noRd
by_bytes <- function(dialect, column, name) {
  if (!dialect$bytes) {
    abort(c(
      "Identifiers that are text need a database that compares strings by their bytes.",
      x = "{.code {name}} is text, and this kind of database may take two names for one.",
      i = paste(
        "Use a column of whole numbers or of dates, or read the rows from Postgres, SQLite,",
        "DuckDB or files."
      )
    ), c("engine", "panel"))
  }
  dialect$order(column)
}

#' An unused name for a temporary table, created without random numbers
#' @noRd
fresh_name <- local({
  count <- 0L
  function(dialect) {
    count <<- count + 1L
    paste0(if (dialect$name == "mssql") "#", "dpsc_", Sys.getpid(), "_", count)
  }
})

#' Write rows into a temporary table
#' @return `TRUE` if the rows were written.
#' @noRd
write_rows <- function(con, name, rows) {
  isTRUE(tryCatch(
    quietly(DBI::dbWriteTable(con, name, rows, temporary = TRUE)), error = function(e) FALSE
  ))
}

#' Run statements that may fail without harm
#' @noRd
quiet_sql <- function(con, statements) {
  for (text in statements) {
    tryCatch(quietly(DBI::dbExecute(con, text)), error = function(e) NULL)
  }
}

is_closed <- function(con) {
  isFALSE(tryCatch(quietly(DBI::dbIsValid(con)), error = function(e) NULL))
}

close_quietly <- function(con) {
  tryCatch(suppressWarnings(DBI::dbDisconnect(con)), error = function(e) NULL)
}
