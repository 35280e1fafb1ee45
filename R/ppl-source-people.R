# People's rows outside R, for dp_lm(): blocks of a table's rows as numbers, or sums that an engine
# or a worker computes.

#' @noRd
people_parts <- function(source) {
  parts <- if (inherits(source, "dp_sources")) source$parts else list(source)
  fits <- vapply(parts, function(part) {
    is.data.frame(part) || inherits(part, c("dp_table", "dp_workers"))
  }, NA)
  if (!all(fits)) {
    abort("Sources of people's rows must be tables, files, workers or data frames.", "argument")
  }
  parts
}

#' People's rows as blocks of numbers from [lm_table()], or functions that answer questions about
#' the rows
#'
#' The columns of a table are copied into a temporary table, so that every pass reads the same rows.
#' @param columns (`list`)\cr from `lm_columns()`.
#' @param choice (`list`)\cr as in [lm_source()].
#' @return A list: `table`, a matrix, `dp_chunks` that [read_block()] reads, `dp_asked` or
#'   `dp_joined`, PRIVATE; `n`, the number of people, PUBLIC.
#' @noRd
open_people <- function(source, columns, choice, private) {
  open_all(people_parts(source), open_rows, columns, choice, private, then = function(opened) {
    # The number of rows in the snapshot that every pass reads, not in a later state of the table.
    n <- sum(vapply(opened, count_rows, 0))
    list(table = join_rows(opened), n = whole_count(n))
  })
}

#' People's rows from one part of a source
#' @noRd
open_rows <- function(part, columns, choice, private) UseMethod("open_rows")

#' @noRd
#' @exportS3Method
open_rows.data.frame <- function(part, columns, choice, private) {
  # A shard may have been read by a reader that guesses classes, here or in a worker.
  chosen_rows(columns_in_blocks(columns), part, choice, private)
}

#' @noRd
#' @exportS3Method
open_rows.dp_table <- function(part, columns, choice, private) {
  check_own_process(part)
  if (part$compute == "here") {
    stream <- if (is.null(columns$person$column)) stream_people else stream_persons
    return(stream(part, columns, choice, private))
  }
  if (!private) refuse_source(part, "blocks", "{.code epsilon = Inf}")
  by_person <- !is.null(columns$person$column)
  if (by_person) check_person_columns(columns)
  prove_people(part, by_person)
  asked_people(part, columns, choice)
}

#' Blocks of a table's rows
#' @noRd
stream_people <- function(table, columns, choice, private) {
  cells <- streamed_cells(table, columns, choice)
  select <- paste0(
    "SELECT ROW_NUMBER() OVER (ORDER BY ", quoted(table$con, names(cells)[[1L]]), ") AS dpsc_r, ",
    paste(cells, collapse = ", "), " FROM ", table$from
  )
  stream_copied(table, cells, select, "dpsc_r", function(name) {
    sql_numbers(table$con, sql_size(name, table$dialect))[[1L]]
  }, function(rows) chosen_rows(columns, rows, choice, private))
}
