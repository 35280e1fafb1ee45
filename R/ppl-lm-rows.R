# People's rows of a private regression as the core reads them: one table of numbers, or chunks of
# it. The numbers of a row depend only on that row and on public facts.

#' Rows in memory, in chunks or in a source, as numbers
#'
#' @param data (`data.frame`, `dp_chunks` of them or `dp_source`, PRIVATE).
#' @param choice (`list`)\cr `subset` and `weights` (expressions or `NULL`), `max_weight`.
#' @return A list: `table` (a matrix, or chunks of one, PRIVATE) and `n`.
#' @noRd
lm_source <- function(columns, data, choice, clip) {
  if (inherits(data, "dp_chunks")) {
    return(lm_chunks(columns, data, choice, clip))
  }
  if (inherits(data, "dp_source")) {
    return(open_people(data, columns, choice, clip))
  }
  if (!is.data.frame(data)) {
    abort(c(
      "{.arg data} must be a data frame.", x = "It is {describe(data)}."
    ), "data")
  }
  check_classes_fit(columns, data)
  if (is.null(columns$person$column)) {
    return(list(table = chosen_rows(columns, data, choice, clip), n = nrow(data)))
  }
  people <- people_of(data, columns$person)
  rows_by_person(chosen_rows(columns, data, choice, clip), people)
}

#' Chunks of numbers from chunks of data frames, after one pass that checks every block
#' @return As `lm_source()`.
#' @noRd
lm_chunks <- function(columns, data, choice, clip) {
  columns <- columns_in_blocks(columns)
  if (!is.null(columns$person$column)) {
    return(chunks_by_person(columns, data, choice, clip))
  }
  sizes <- checksums <- vector("list", data$count)
  n <- 0
  for (i in seq_len(data$count)) {
    block <- read_block(data, i)
    check_frame(block, i)
    table <- chosen_rows(columns, block, choice, clip)
    sizes[[i]] <- dim(table)
    checksums[[i]] <- checksum_cpp(table)
    n <- n + nrow(table)
  }
  made <- data
  made$read <- function(i) chosen_rows(columns, data$read(i), choice, clip)
  made$sizes <- sizes
  made$checksums <- checksums
  list(table = made, n = n)
}

#' All rows as one table of numbers, for fits without privacy
#' @noRd
gather_rows <- function(table) {
  if (is.matrix(table)) {
    return(table)
  }
  do.call(rbind, lapply(seq_len(table$count), function(i) read_block(table, i)))
}
