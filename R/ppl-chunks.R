# Donors that come in blocks of rows. Sums over donors are exact integers, so the statistics are
# identical bit for bit in any order and for any number of blocks.

#' Donors in chunks
#'
#' Declares a panel that does not fit in memory, as a list of matrices or as a function that reads
#' block `i` from a file or a database. [dp_synth()] and [dp_release()] with `method = "gram"` read
#' the blocks up to nine times, and their results equal the results for the whole matrix, bit for
#' bit.
#'
#' @section Functions that read blocks: The function must return the same rows in each call.
#'   [dp_synth()] computes a checksum of every block in the first pass, before the charge, and
#'   compares the checksum in every later pass before the block is used. Warnings and messages of
#'   the function are not shown and its errors are replaced, since they may contain data; its output
#'   by `cat()` is not suppressed. Call the function yourself to see its messages.
#'
#'   If blocks are data frames, set the classes of their columns, for example by
#'   `read.csv(colClasses = )`.
#'
#'   If, after the charge, a block cannot be read again or has changed, a `dpsc_error_reader`
#'   occurs: the charge remains, and nothing is released. The error message contains only the number
#'   of the block. The guarantee does not cover this error, since a reader that fails because of one
#'   donor's row reveals this fact. Read from a file or a snapshot that does not change.
#'
#' @section Cells of blocks: If a reader guesses classes, one cell can turn a whole column of a
#'   block into text. Therefore the cells of every block (of chunks, of a batch of a stream, and of
#'   a data frame in [dp_sources()] or [dp_workers()]) are read one by one, by a rule that depends
#'   neither on the class of the column nor on other cells:
#'   * Blank text, `"NA"`, `NaN`, and complex numbers with an imaginary part are missing.
#'   * TRUE and FALSE, also as `"T"` or `"true"`, are 1 and 0. Text is a number in every spelling
#'     that R reads: 1, `"1.0"`, `"01"` and `"0x1"` are one value, as a cell, a constant, a level or
#'     an identifier.
#'   * A date or a time, as a class or in the ISO format (`"2020-01-31"`, `"2020-01-31 12:00"`), is
#'     the number of days since 1970-01-01 in UTC, with a fraction for the time. A time of day is a
#'     share of a day. A date can be compared with `as.Date("2020-06-01")` or `"2020-06-01"`.
#'   * All other text remains text, which `==`, `!=`, `%in%`, `ifelse()` and `is.na()` use, and
#'     which is missing as a number.
#'
#'   Entries of `bounds` then clip the number, or choose the level. In a column with a range, dates
#'   are missing. Two levels that are spellings of
#'   the same number are refused, and so are levels that are blank, `"NA"` or `"NaN"`. Numbers of
#'   more than 15 digits, and numbers or dates in formats that only some readers know (`"1,234"`,
#'   `"31.01.2020"`), still need fixed classes.
#'
#' @param blocks (`list` of `matrix` or `data.frame`, or `function`)\cr blocks of donors, each a
#'   matrix in outcome units with one row per donor and one column per period. For [dp_lm()],
#'   [dp_glm()] and [dp_describe()]: data frames. PRIVATE. A function takes the number of a block
#'   and returns the block.
#' @param count (`count`)\cr number of blocks; required for a function.
#' @param x (`dp_chunks`)\cr donors in chunks.
#' @param ... unused.
#' @return An object of class `dp_chunks`, which contains or can read the rows of donors. PRIVATE.
#' @section Errors: `dpsc_error_argument`. The fitting functions signal `dpsc_error_panel` if a
#'   block does not match the other blocks, and `dpsc_error_reader` if a block cannot be read or has
#'   changed.
#' @examples
#' panel <- sim_panel(n = 900, T0 = 10)
#' chunks <- dp_chunks(list(panel$donors[1:400, ], panel$donors[401:900, ]))
#' dp_synth(chunks, target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1))
#' @export
dp_chunks <- function(blocks, count = NULL, ...) door("dp_chunks", {
  check_no_dots(...)
  if (is.function(blocks)) {
    count <- check_count(count, 1)
    read <- blocks
  } else if (is.list(blocks) && !is.data.frame(blocks) && length(blocks) > 0L) {
    if (!is.null(count)) {
      abort("{.arg count} can be given only if {.arg blocks} is a function.", "argument")
    }
    count <- length(blocks)
    read <- function(i) blocks[[i]]
  } else {
    abort(c(
      paste(
        "{.arg blocks} must be a list of matrices or data frames, or a function that reads block",
        "{.code i}."
      ),
      x = "It is {describe(blocks)}."
    ), "argument")
  }
  structure(list(read = read, count = count), class = "dp_chunks")
})

#' @rdname dp_chunks
#' @export
print.dp_chunks <- function(x, ...) {
  cat("Rows in ", count_of(x$count, "block"), "\n", sep = "")
  invisible(x)
}

#' Read one block, in the only function that calls a reader
#'
#' The reader is the user's code and may put data into its conditions. Its warnings and messages are
#' suppressed, and its error is replaced. After the first pass a block is compared with its checksum
#' from the first pass before it is used.
#' @param chunks (`dp_chunks`)\cr donors in chunks, from the first pass on with `sizes` and
#'   `checksums`. PRIVATE.
#' @return The block, a plain numeric matrix after the first pass. PRIVATE.
#' @section Errors: `dpsc_error_reader`, also a `dpsc_error_panel`.
#' @noRd
read_block <- function(chunks, i) {
  tick_waiting()
  # For an engine the package's code, not the user's, reads the rows.
  if (is.function(chunks$reader)) {
    charged <- isTRUE(chunks$charged)
    return(classed(chunks$reader(i, charged), charged))
  }
  block <- tryCatch(
    suppressMessages(suppressWarnings(chunks$read(i))), error = function(e) NULL
  )
  block <- without_grid(block)
  if (is.null(block)) {
    abort(c(
      "Block {i} of the rows could not be read.",
      i = "If your blocks come from a function, call it with {i} to see its error or its value.",
      i = if (isTRUE(chunks$charged)) charge_stays
    ), c("reader", "panel"))
  }
  if (!is.null(chunks$checksums) && !is_same_block(block, chunks, i)) {
    abort(c(
      "Block {i} of the rows changed between two reads.",
      i = "The function that reads the block must return the same rows each time.",
      i = if (isTRUE(chunks$charged)) charge_stays
    ), c("reader", "panel"))
  }
  block
}

is_same_block <- function(block, chunks, i) {
  is_plain_table(block) && identical(dim(block), chunks$sizes[[i]]) &&
    identical(checksum_cpp(block), chunks$checksums[[i]])
}

#' Add up a statistic over the blocks of donors
#' @param donors (`matrix` or `dp_chunks`, PRIVATE)\cr donors.
#' @param statistic (`function`)\cr a function from a matrix of donors to a list of numeric arrays.
#' @return The list of sums. PRIVATE.
#' @noRd
sum_over_donors <- function(donors, statistic) {
  if (!inherits(donors, "dp_chunks")) {
    return(statistic(donors))
  }
  total <- statistic(read_block(donors, 1L))
  for (i in seq_len(donors$count)[-1L]) {
    total <- Map(`+`, total, statistic(read_block(donors, i)))
  }
  total
}

#' Donors with errors that, from now on, state that the budget is spent
#' @param donors (`matrix` or `dp_chunks`, PRIVATE)
#' @noRd
after_charge <- function(donors, private) {
  if (private && inherits(donors, c("dp_chunks", "dp_asked"))) donors$charged <- TRUE
  if (inherits(donors, "dp_joined")) donors$parts <- lapply(donors$parts, after_charge, private)
  donors
}

#' Close the rows that a release opened
#' @noRd
close_donors <- function(rows) {
  # In a table in memory a column may have any name.
  if (!is.list(rows) || is.data.frame(rows)) {
    return(invisible())
  }
  for (part in rows$parts) close_donors(part)
  if (is.function(rows$close)) rows$close()
  invisible()
}

#' Several sources as one: chunks of chunks, or a list that the core reads in turn
#' @noRd
join_rows <- function(opened) {
  if (length(opened) == 1L) {
    return(opened[[1L]])
  }
  if (any(vapply(opened, inherits, NA, "dp_asked"))) {
    return(structure(list(parts = opened), class = "dp_joined"))
  }
  counts <- vapply(opened, function(x) if (is.matrix(x)) 1 else as.double(x$count), 0)
  first <- c(0, cumsum(counts))
  reader <- function(i, charged) {
    at <- findInterval(i - 1, first, rightmost.closed = TRUE)
    part <- opened[[at]]
    if (is.matrix(part)) {
      return(part)
    }
    part$charged <- charged
    read_block(part, i - first[[at]])
  }
  structure(list(
    reader = reader, count = first[[length(first)]], close = function() {
      close_donors(list(parts = opened))
    }
  ), class = "dp_chunks")
}
