# Several rows per person in chunks and in tables whose rows are read here: blocks of whole people,
# the same in every pass. This file also contains the code that copies a table's rows and reads them
# in blocks.

#' Regrouped chunks, in which each block contains all rows of its people
#'
#' A pass over a block reads all chunks, so the number of blocks is as small as memory permits, by
#' public numbers.
#' @param most (`number`)\cr the approximate number of values per block, at one row per person: 256
#'   MB.
#' @return As `lm_source()`.
#' @noRd
chunks_by_person <- function(columns, data, choice, clip, most = 2^25) {
  who <- columns$person
  known <- kinds <- character()
  # Later passes must read the rows assigned to people here, in the same order.
  rows <- data
  of <- rows$sizes <- rows$checksums <- vector("list", data$count)
  for (i in seq_len(data$count)) {
    block <- read_block(data, i)
    check_frame(block, i)
    cells <- identifiers_of(block, who, text = TRUE)
    known <- unique(c(known, cells[!is.na(cells)]))
    of[[i]] <- match(cells, known, nomatch = 0L)
    kinds <- union(kinds, identifier_kind(block, who))
    table <- chosen_rows(columns, block, choice, clip)
    rows$sizes[[i]] <- dim(table)
    rows$checksums[[i]] <- checksum_cpp(table)
  }
  rows$read <- function(i) chosen_rows(columns, data$read(i), choice, clip)
  check_person_rows(sum(lengths(of)))
  alike <- spelled_alike(known, length(kinds) > 1L && "double" %in% kinds)
  known <- unique(alike)
  of <- lapply(of, function(person) c(0L, match(alike, known))[person + 1L])
  n <- length(known)
  made <- data
  made$count <- max(1, ceiling(n * length(columns$variables) / most))
  made$reader <- function(group, charged) {
    rows$charged <- charged
    people <- n * (group - 0:1) / made$count
    parts <- lapply(seq_len(rows$count), function(i) {
      mine <- of[[i]] > people[[2L]] & of[[i]] <= people[[1L]]
      list(table = read_block(rows, i)[mine, , drop = FALSE], of = of[[i]][mine])
    })
    table <- do.call(rbind, lapply(parts, `[[`, "table"))
    rows_by_person(table, list(of = unlist(lapply(parts, `[[`, "of")), n = n))$table
  }
  list(table = made, n = n)
}

#' Does a block's column contain all digits of the identifiers?
#' @noRd
identifier_kind <- function(block, who) {
  cells <- .subset2(block, who$column)
  rounded <- is.double(cells) && !inherits(cells, c("integer64", "Date", "POSIXct", "hms"))
  if (rounded) "double" else "exact"
}

#' Identifiers with one spelling per number
#'
#' If a reader guesses classes, one malformed identifier turns the numbers of a block into text.
#' With two spellings everyone with rows in both blocks would count as two people, with twice the
#' loss, and another person's row would decide this. One spelling for two people costs nothing.
#' @param known (`character`). PRIVATE.
#' @param rounded (`flag`)\cr whether some but not all blocks contain numbers that were rounded to
#'   doubles.
#' @noRd
spelled_alike <- function(known, rounded) {
  numbers <- text_numbers(known)
  # The digits of a long number remain unchanged, unless another block has lost them.
  short <- rounded | abs(numbers) < 2^53 | !grepl("^[ \t]*[-+]?[0-9]+([.]0*)?[ \t]*$", known)
  found <- which(!is.na(numbers) & short)
  known[found] <- exact_text(numbers[found])
  long <- which(!is.na(numbers) & !short)
  known[long] <- sub("^[ \t]*(-?)[+]?0*([0-9]+)([.]0*)?[ \t]*$", "\\1\\2", known[long])
  known
}

#' Blocks of a table's people, with all their rows
#'
#' The engine numbers people once, in the order of their identifiers, so that every pass reads the
#' same rows in the same order. Rows without an identifier are omitted.
#' @return `dp_chunks` with `n`, the number of people. PRIVATE, except `n`.
#' @noRd
stream_persons <- function(table, columns, choice, private) {
  con <- table$con
  cells <- streamed_cells(table, columns, choice)
  key <- sql_identifier(table, columns$person$column)
  select <- paste0(
    "SELECT DENSE_RANK() OVER (ORDER BY ", key, ") AS dpsc_p, ROW_NUMBER() OVER (ORDER BY ", key,
    ") AS dpsc_r, ", paste(cells, collapse = ", "), " FROM ", table$from, " WHERE ",
    quoted(con, columns$person$column), " IS NOT NULL"
  )
  stream_copied(table, cells, select, "dpsc_p", function(name) {
    found <- sql_numbers(con, sql_size(name, table$dialect, TRUE))
    check_person_rows(found[[2L]])
    found[[1L]]
  }, function(rows) {
    cbind(chosen_rows(columns, rows, choice, private), as.double(rows$dpsc_p), deparse.level = 0)
  })
}

#' Blocks of rows, copied once into a temporary table so that every pass has the same rows
#' @param select (`string`)\cr a query for rows with their numbers `key`.
#' @param key (`string`)\cr the column that defines blocks: `dpsc_r`, a row's own number, or
#'   `dpsc_p`, the number of its person.
#' @param count (`function`)\cr a function of the table's name: the number of distinct keys.
#' @param cells (`character`)\cr from [streamed_cells()].
#' @param block_of (`function`)\cr a function that is applied to rows as they are read.
#' @return `dp_chunks` with `n`, the number of keys. PRIVATE, except `n`.
#' @noRd
stream_copied <- function(table, cells, select, key, count, block_of) {
  con <- table$con
  name <- fresh_name(table$dialect)
  close <- function() quiet_sql(con, paste("DROP TABLE", name))
  done <- FALSE
  on.exit(if (!done) close())
  # An interrupt arrives after the statement.
  run_sql(con, table$dialect$make(name, select), what = "Preparing the rows")
  if (table$dialect$index) {
    kind <- if (key == "dpsc_r") "CREATE UNIQUE INDEX " else "CREATE INDEX "
    run_sql(con, paste0(kind, name, "_i ON ", name, " (", key, ")"))
  }
  rows <- numbered_chunks(count(name), table$block, function(first, last, charged) {
    rows <- run_sql(con, paste0(
      "SELECT * FROM ", name, " WHERE ", key, " > ", sql_whole(first), " AND ", key, " <= ",
      sql_whole(last), " ORDER BY ", paste(unique(c(key, "dpsc_r")), collapse = ", ")
    ), TRUE, charged, "Reading the rows")
    if (length(unique(rows[[key]])) != last - first) abort_changed(charged)
    block_of(of_streamed_types(rows, cells))
  }, close)
  # Errors in columns are found before the charge.
  rows$reader(1L, FALSE)
  done <- TRUE
  rows
}

#' The necessary columns of rows, as SQL by name
#' @noRd
streamed_cells <- function(table, columns, choice) {
  needed <- needed_columns(table, columns, choice)
  row <- cell_row(table, needed, given = columns$given)
  check_typed_levels(columns$given, row$types, table$dialect)
  made <- lapply(stats::setNames(nm = needed), streamed_column,
    row = row, choice = choice[c("subset", "weights")]
  )
  structure(vapply(made, `[[`, "", "sql"), types = vapply(made, `[[`, "", "type"))
}

#' A block's columns by the types in the query
#'
#' A driver may give a column without any value another type, so that one person's cell would decide
#' how the formula reads the column.
#' @noRd
of_streamed_types <- function(rows, cells) {
  types <- attr(cells, "types")
  for (name in names(types)) {
    rows[[name]] <- switch(types[[name]],
      text = cell_text(rows[[name]]), number = cell_numbers(rows[[name]]), rows[[name]]
    )
  }
  rows
}
