# Functions for lists and tables, which call no other function of the package.

#' Numeric options with their names and sizes, without other attributes
#' @noRd
bare_options <- function(x) {
  if (is.list(x)) {
    return(lapply(x, bare_options))
  }
  attributes(x) <- attributes(x)[intersect(c("names", "dim", "dimnames"), names(attributes(x)))]
  x
}

#' A data frame of plain vectors with one value per row, or a single value, without row names
#'
#' `data.frame()` takes a quarter of a millisecond, mostly for names, which is a tenth of the time
#' of a small fit.
#' @noRd
frame_of <- function(...) {
  columns <- list(...)
  rows <- max(lengths(columns))
  stopifnot(lengths(columns) %in% c(1L, rows))
  columns <- lapply(columns, function(x) unname(if (length(x) == rows) x else rep(x, rows)))
  structure(columns, class = "data.frame", row.names = .set_row_names(rows))
}

#' A record with given fields; an unknown field is a programming error
#' @param fields (`list`)\cr all fields with their defaults.
#' @param given (`list`)\cr some of the fields.
#' @noRd
with_fields <- function(fields, given) {
  stopifnot(rlang::names2(given) %in% names(fields))
  fields[names(given)] <- given
  fields
}

#' The text of the first fault that is found, or `NULL`
#' @param ... (`flag`)\cr flags with texts as names; each flag is evaluated only if all earlier
#'   flags are `FALSE`.
#' @noRd
first_fault <- function(...) {
  for (i in seq_len(...length())) {
    if (...elt(i)) {
      return(...names()[[i]])
    }
  }
}
