# One state of a table for one release. All statements that read people's rows run in one
# transaction, if the engine has one, and the facts found before are asked again in it. Otherwise
# somebody whose identifier changes in between could be counted twice, or as treated and as donor.

#' Facts that a release found in a table, to be asked again
#' @param table (`dp_table`)\cr the table.
#' @param ask (`function`)\cr a function of the table that returns the facts.
#' @param facts (`any`)\cr the facts found now. PRIVATE, and only their hash is kept.
#' @return The table, with `seen`.
#' @noRd
with_seen <- function(table, ask, facts) {
  table$seen <- list(ask = ask, hash = rlang::hash(facts))
  table
}

#' Rows sorted by all of their cells
#' @noRd
ordered_rows <- function(rows) {
  cells <- unname(as.list(rows))
  sorted <- Filter(is.atomic, cells)
  if (!length(sorted)) {
    return(cells)
  }
  at <- do.call(order, c(sorted, list(method = "radix")))
  lapply(cells, `[`, at)
}

#' Run the statements that read a table, on one state of the table
#'
#' @param table (`dp_table`)\cr the table, with `seen`, unless its rows are of this package.
#' @param run (`function`)\cr a function without arguments.
#' @return The value of `run`.
#' @section Errors: `dpsc_error_engine` if the table changed, or if one state cannot be guaranteed;
#'   nothing else about the rows decides it.
#' @noRd
in_snapshot <- function(table, run) {
  begun <- begin_snapshot(table)
  done <- FALSE
  on.exit(if (begun && !done) try_transaction(table$con, DBI::dbRollback))
  out <- run()
  check_unchanged(table)
  if (begun && !try_transaction(table$con, DBI::dbCommit)) abort_table_changed()
  done <- TRUE
  out
}

#' Run code that opens several parts, with one state of each database of which a connection has
#' several parts
#'
#' Otherwise a person who moves from one table to another in between would be in both or in none.
#' @param parts (`list`)\cr `dp_table`s and other parts.
#' @return The value of `run`.
#' @noRd
in_common_snapshot <- function(parts, run) {
  parts <- Filter(function(part) inherits(part, "dp_table"), parts)
  if (!length(parts)) {
    return(run())
  }
  first <- parts[[1L]]
  mine <- vapply(parts, function(part) identical(part$con, first$con), NA)
  inner <- function() in_common_snapshot(parts[!mine], run)
  if (sum(mine) == 1L) {
    return(inner())
  }
  check_own_process(first)
  # Every part compares its own facts.
  first$seen <- NULL
  in_snapshot(first, inner)
}

#' Begin a transaction that sees one state of the database
#' @return `FALSE` if the user's own transaction has this property, or if the engine needs none.
#' @noRd
begin_snapshot <- function(table) {
  con <- table$con
  kind <- table$dialect$snapshot
  if (kind == "alone") {
    return(FALSE)
  }
  if (kind == "none") {
    if (table$groups > 1) {
      abort(c(
        "{.code groups} must be 1 for this kind of database.",
        x = "People whose rows change between two groups could be read twice."
      ), c("argument", "panel"))
    }
    return(FALSE)
  }
  if (kind == "begin") {
    # SQLite refuses a transaction in a transaction, and the outer one sees one state.
    return(try_transaction(con, DBI::dbBegin))
  }
  if (is_in_transaction(con)) {
    return(FALSE)
  }
  begun <- try_transaction(con, function(con) {
    DBI::dbBegin(con)
    DBI::dbExecute(con, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
  })
  if (!begun) {
    try_transaction(con, DBI::dbRollback)
    abort(c(
      "A transaction that sees one state of the table could not be begun.",
      i = "Check that the connection is open and not inside a transaction."
    ), c("engine", "panel"))
  }
  TRUE
}

#' Is the connection in a transaction of the user that sees one state of the database?
#' @section Errors: `dpsc_error_argument` for a transaction that sees several.
#' @noRd
is_in_transaction <- function(con) {
  # Only in a transaction does this setting have an effect.
  quiet_sql(con, "SET LOCAL dpsc.inside = 'yes'")
  found <- run_sql(con, paste(
    "SELECT current_setting('dpsc.inside', true) AS inside,",
    "current_setting('transaction_isolation') AS level"
  ), TRUE, what = "Beginning to read")
  inside <- identical(found$inside, "yes")
  if (inside && !found$level %in% c("repeatable read", "serializable")) {
    abort(c(
      "The connection is in a transaction that can see several states of the table.",
      i = "Commit it before this call, or begin it at isolation level REPEATABLE READ."
    ), c("argument", "panel"))
  }
  inside
}

#' Begin or end a transaction
#' @param how (`function`)\cr a function of the connection, such as `DBI::dbBegin()`.
#' @return `TRUE` if this was possible.
#' @noRd
try_transaction <- function(con, how) {
  tryCatch(
    {
      quietly(how(con))
      TRUE
    },
    error = function(e) FALSE
  )
}

#' Refuse a table whose facts differ from the facts found before
#' @noRd
check_unchanged <- function(table) {
  if (is.null(table$seen)) {
    return(invisible())
  }
  # Any error about the rows is new, since there was none before.
  now <- tryCatch(rlang::hash(table$seen$ask(table)), dpsc_error = function(e) NULL)
  if (!identical(now, table$seen$hash)) abort_table_changed()
}

abort_table_changed <- function() {
  abort(c(
    "The table changed while it was read.",
    i = "Call the function again when nobody writes to the table."
  ), c("engine", "panel"))
}
