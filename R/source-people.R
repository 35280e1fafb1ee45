# Rows that are people, elsewhere: blocks of a table's rows, as numbers, for dp_lm().

#' How many people a source of dp_lm() holds. PUBLIC.
#' @noRd
count_people <- function(source, call) {
  sum(vapply(people_parts(source, call), function(part) {
    if (is.data.frame(part)) {
      return(as.double(nrow(part)))
    }
    sql_numbers(part$con, paste("SELECT COUNT(*) AS n FROM", part$from), call,
      what = "Counting the rows"
    )[[1L]]
  }, 0))
}

people_parts <- function(source, call) {
  parts <- if (inherits(source, "dp_sources")) source$parts else list(source)
  fits <- vapply(parts, function(part) is.data.frame(part) || inherits(part, "dp_table"), NA)
  if (!all(fits)) {
    abort("For {.fn dp_lm} give tables, files and data frames.", "argument", call)
  }
  if (any(vapply(parts, function(part) identical(part$compute, "database"), NA))) {
    abort(c(
      "{.fn dp_lm} makes its sums here.",
      i = "Say {.code compute = \"here\"} in {.fn dp_table}."
    ), "argument", call)
  }
  parts
}

#' People's rows as blocks of numbers, by [lm_table()]
#'
#' A table's columns are copied into a temporary table: every pass has the same rows.
#' @param columns (`list`)\cr from `lm_columns()`.
#' @param choice (`list`)\cr as in [lm_source()].
#' @return `dp_chunks` that [read_block()] reads. PRIVATE.
#' @noRd
open_people <- function(source, columns, choice, private, call) {
  parts <- people_parts(source, call)
  opened <- list()
  done <- FALSE
  on.exit(if (!done) close_donors(list(parts = opened)))
  numbers <- function(data, call) chosen_rows(columns, data, choice, private, call)
  more <- c(all.vars(choice$subset), all.vars(choice$weights))
  for (part in parts) {
    rows <- if (is.data.frame(part)) {
      numbers(part, call)
    } else {
      stream_people(part, columns, more, numbers, call)
    }
    opened <- c(opened, list(rows))
  }
  # What columns cannot give is found before the charge.
  for (rows in opened) if (!is.matrix(rows)) read_block(rows, 1L, call)
  done <- TRUE
  join_rows(opened)
}

stream_people <- function(table, columns, more, numbers, call) {
  con <- table$con
  needed <- unique(c(unlist(lapply(columns$variables, symbols_of)), more))
  unknown <- setdiff(needed, table$fields)
  if (length(unknown)) abort("The rows have no column {.code {unknown}}.", "data", call)
  # A number is one in every block, whatever an engine takes its first value for.
  cells <- vapply(needed, function(name) {
    bound <- columns$given[[name]]
    column <- quoted(con, name)
    if (!is.null(bound) && is.null(bound$levels)) {
      column <- paste(sql_cast(column, table$dialect$real), "AS", column)
    }
    column
  }, "")
  name <- fresh_name(table$dialect)
  run_sql(con, table$dialect$make(name, paste0(
    "SELECT ROW_NUMBER() OVER (ORDER BY ", quoted(con, needed[[1L]]), ") AS dpsc_r, ",
    paste(cells, collapse = ", "), " FROM ", table$from
  )), call, what = "Preparing the rows")
  close <- function() quiet_sql(con, paste("DROP TABLE", name))
  done <- FALSE
  on.exit(if (!done) close())
  if (table$dialect$index) {
    run_sql(con, paste0("CREATE UNIQUE INDEX ", name, "_r ON ", name, " (dpsc_r)"), call)
  }
  n <- sql_numbers(con, paste("SELECT COUNT(*) AS n FROM", name), call)[[1L]]
  sums <- new.env(parent = emptyenv())
  reader <- function(i, charged, call) {
    first <- (i - 1) * table$block
    last <- min(n, i * table$block)
    rows <- run_sql(con, paste0(
      "SELECT * FROM ", name, " WHERE dpsc_r > ", sql_whole(first), " AND dpsc_r <= ",
      sql_whole(last), " ORDER BY dpsc_r"
    ), call, TRUE, charged, "Reading the rows")
    if (nrow(rows) != last - first) abort_changed(charged, call)
    block <- numbers(rows, call)
    same_block(sums, i, block, charged, call)
  }
  done <- TRUE
  structure(
    list(reader = reader, count = max(1, ceiling(n / table$block)), n = n, close = close),
    class = "dp_chunks"
  )
}
