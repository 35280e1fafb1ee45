# Columns of blocks and batches. A reader guesses their classes from people's cells, so no class
# causes an error.

#' Columns of a block in classes with numbers, text or dates
#'
#' A reader can guess another class, such as a time difference or a list, from one person's cell.
#' The cells of such a column are missing, as is text that cannot be read as a number.
#' @param data (`data.frame`). PRIVATE.
#' @param ranged (`character`)\cr names of columns with a range, in which dates are missing, as
#'   their text is.
#' @return The data, with the same columns and rows. PRIVATE.
#' @noRd
guessed_columns <- function(data, ranged = character()) {
  rows <- .row_names_info(data, 2L)
  kinds <- vapply(seq_along(data), function(j) cell_kind(.subset2(data, j)), "")
  read <- vapply(seq_along(data), function(j) !is.null(block_cells(.subset2(data, j)[0L])), NA)
  other <- (kinds == "other" & !read) | (kinds == "date" & names(data) %in% ranged)
  if (!any(other)) {
    return(data)
  }
  attributes <- attributes(data)
  data <- unclass(data)
  for (j in which(other)) data[[j]] <- guessed_cells(data[[j]], rows)
  attributes(data) <- attributes
  data
}

#' Cells of one column; a matrix with one column counts as a column
#' @noRd
guessed_cells <- function(x, rows) {
  if (cell_kind(x) == "other" && length(dim(x)) == 2L && ncol(x) == 1L) attr(x, "dim") <- NULL
  if (cell_kind(x) %in% c("other", "date") || length(x) != rows) rep(NA_character_, rows) else x
}

#' Cells of a batch as numbers, `NA` for a cell without a number
#' @noRd
guessed_numbers <- function(x) {
  if (is.null(block_cells(x[0L]))) rep(NA_real_, NROW(x)) else block_numbers(x, dates = FALSE)
}
