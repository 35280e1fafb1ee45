# The rows of people that a regression uses, and their weights.

#' @noRd
chosen_rows <- function(columns, data, choice, clip) {
  table <- lm_table(columns, data, clip)
  if (!is.null(choice$weights)) {
    table <- cbind(table, row_weights(choice$weights, data, choice$max_weight))
  }
  leave_out(table, choice$subset, data)
}

#' Case weights divided by the largest: one number per row
#' @noRd
row_weights <- function(weights, data, max_weight) {
  weights <- with_dates(weights, data)
  check_rowwise(weights)
  unknown <- setdiff(all.vars(weights), names(data))
  if (length(unknown) || !length(all.vars(weights))) {
    abort(c(
      "{.arg weights} must be a column of {.arg data}, or a function of one row of it.",
      x = if (length(unknown)) "The rows have no column {.code {unknown}}."
    ), "argument")
  }
  value <- value_by_row(weights, columns_of_code(weights, data))
  if (length(value) != nrow(data)) {
    abort("{.arg weights} must give one number per row.", "argument")
  }
  value <- cell_numbers(value)
  value[value %in% Inf] <- max_weight
  value / max_weight
}
