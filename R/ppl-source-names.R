# Names of treated units as R reads them. A driver may round a number, or give all rows the type of
# the first, so numbers are compared with their text in the engine.

#' Names of treated units in a query, and their text if the names may be numbers
#' @param hide (`flag`)\cr whether these people are protected: a driver may fail for a name.
#' @return Columns as SQL, the name first.
#' @noRd
sql_names <- function(table, hide) {
  dialect <- table$dialect
  unit <- unit_column(table)
  kind <- table$kinds[[1L]]
  if (is.character(kind)) {
    return(if (hide) dialect$hex(unit) else unit)
  }
  # Other engines are not known to write numbers as text without an error.
  if (is.object(kind) || !dialect$bytes) {
    return(unit)
  }
  column <- quoted(table$con, table$index[[1L]])
  text <- if (dialect$loose) sql_any_identifier(column) else dialect$order(column)
  c(unit, if (hide) dialect$hex(text) else text)
}

#' The names that a query of [sql_names()] returned, as text if numbers would not tell them apart
#' @param text (`character` or `NULL`)\cr the text of the names.
#' @return A list: `unit`, and `literal`, whether [sql_literals()] writes these names exactly.
#' @noRd
exact_names <- function(unit, text, hide) {
  if (is.character(unit) && is.null(text)) {
    return(list(unit = unit, literal = TRUE))
  }
  if (is.object(unit)) {
    return(list(unit = unit, literal = FALSE))
  }
  number <- suppressWarnings(as.double(unit))
  # The largest number of which the neighbours are doubles, too.
  short <- !is.na(number) & abs(number) < 2^53
  if (is.null(text)) {
    return(list(unit = unit, literal = all(short & number == floor(number))))
  }
  told <- !anyNA(number) && length(unique(number)) == length(unique(text))
  if (!hide) told <- told && all(short & (text_numbers(text) == number) %in% TRUE)
  if (!told) {
    return(list(unit = text, literal = FALSE))
  }
  list(unit = unit, literal = !hide && identical(text, sprintf("%.0f", number)))
}
