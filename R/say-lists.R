# Small facts of lists and tables, which call nothing of ours.

#' Numbers of options with their names and sizes, without whatever else hangs on them
#' @noRd
bare_options <- function(x) {
  if (is.list(x)) {
    return(lapply(x, bare_options))
  }
  attributes(x) <- attributes(x)[intersect(c("names", "dim", "dimnames"), names(attributes(x)))]
  x
}

#' A record with these fields: a field that is not known is a mistake of ours
#' @param fields (`list`)\cr all fields with their defaults.
#' @param given (`list`)\cr some of them.
#' @noRd
with_fields <- function(fields, given) {
  stopifnot(rlang::names2(given) %in% names(fields))
  fields[names(given)] <- given
  fields
}

#' Is it a matrix of plain numbers, of no class?
#' @noRd
is_plain_table <- function(x) {
  is.matrix(x) && !is.object(x) && typeof(x) %in% c("integer", "double")
}

#' Rows of a user without an attribute that means "on the grid already" in our own blocks
#' @noRd
without_grid <- function(rows) {
  if (!is.null(attr(rows, "on_grid", exact = TRUE))) attr(rows, "on_grid") <- NULL
  rows
}
