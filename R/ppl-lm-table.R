# People's rows as numbers, row by row, with one column per variable; and the columns of the model,
# computed from these numbers.

#' The numbers of people's rows, one column per variable
#'
#' Missing values and levels that are not public become `NaN`; the core gives such a row weight
#' zero. Errors depend on names and types of columns only, and in blocks on names only.
#' @param data (`data.frame`, PRIVATE).
#' @param clip (`flag`)\cr whether to clip the formula's variables to their bounds before any
#'   function is applied.
#' @param variables (`list`)\cr some of `columns$variables`.
#' @return A matrix of doubles. PRIVATE.
#' @noRd
lm_table <- function(columns, data, clip, variables = columns$variables) {
  if (!is.data.frame(data)) {
    abort(c(
      "{.arg data} must be a data frame.", x = "It is {describe(data)}."
    ), "data")
  }
  check_whole_columns(data, "data")
  if (isTRUE(columns$blocks)) {
    is_range <- vapply(columns$given, function(bound) is.null(bound$levels), NA)
    data <- guessed_columns(data, names(columns$given)[is_range])
  }
  plain <- plain_values(columns, data, clip, unique(unlist(lapply(variables, symbols_of))))
  out <- matrix(0, nrow(data), length(variables))
  for (j in seq_along(variables)) {
    out[, j] <- variable_values(variables[[j]], plain, nrow(data), isTRUE(columns$blocks))
  }
  out
}

#' Refuse levels that columns of a data frame cannot have, by the columns' classes only
#'
#' Not for blocks of a source, in which a class may depend on the cells.
#' @noRd
check_classes_fit <- function(columns, data) {
  used <- unique(unlist(lapply(columns$variables, symbols_of)))
  for (name in intersect(used, names(data))) {
    levels <- columns$given[[name]]$levels
    if (!is.null(levels)) check_levels_fit(levels, type_of_cells(data[[name]]), name)
  }
}

#' Columns whose class may differ between blocks, because a reader guesses it
#'
#' Such columns are read by the rule of [block_cells()]. Otherwise one person's malformed cell,
#' which turns a block's column into text, would change the values of other rows.
#' @section Errors: as from [check_spellings()].
#' @noRd
columns_in_blocks <- function(columns) {
  for (name in names(columns$given)) check_spellings(columns$given[[name]]$levels, name)
  columns$blocks <- TRUE
  columns
}

symbols_of <- function(variable) {
  if (variable$kind == "product") {
    unlist(lapply(variable$parts, symbols_of))
  } else {
    all.vars(variable$expression)
  }
}

variable_values <- function(variable, plain, rows, blocks) {
  if (variable$kind == "product") {
    value <- rep(1, rows)
    for (i in seq_along(variable$parts)) {
      part <- variable_values(variable$parts[[i]], plain, rows, blocks)
      value <- value * part^variable$powers[[i]]
    }
    return(value)
  }
  code <- variable$expression
  value <- if (is.symbol(code)) {
    plain_cells(plain[[as.character(code)]])
  } else {
    value_by_row(code, plain, blocks)
  }
  if (is.null(value) || length(value) != rows) {
    abort(c(
      "{.code {variable$name}} cannot be computed from the rows.",
      i = "It must give one number, or one level, per row."
    ), "data")
  }
  if (variable$kind == "level") {
    held <- cell_levels(value, variable$levels, blocks = blocks)
    return(as.double(held == match(variable$level, variable$levels)))
  }
  cell_numbers(value)
}

# The rows that a regression uses, and their weights -------------------------------------------

#' @noRd
chosen_rows <- function(columns, data, choice, clip) {
  table <- lm_table(columns, data, clip)
  if (isTRUE(columns$blocks)) data <- guessed_columns(data)
  if (!is.null(choice$weights)) {
    weights <- row_weights(choice$weights, data, choice$max_weight, isTRUE(columns$blocks))
    table <- cbind(table, weights, deparse.level = 0)
  }
  if (is.null(choice$subset)) {
    return(table)
  }
  leave_out(table, choice$subset, data, isTRUE(columns$blocks))
}

#' Case weights divided by the largest weight, one number per row
#' @noRd
row_weights <- function(weights, data, max_weight, blocks = FALSE) {
  weights <- with_dates(weights, data, blocks)
  check_rowwise(weights)
  unknown <- setdiff(all.vars(weights), names(data))
  if (length(unknown) || !length(all.vars(weights))) {
    abort(c(
      "{.arg weights} must be a column of {.arg data}, or an expression that uses one row of it.",
      x = if (length(unknown)) "The rows contain no column {.code {unknown}}."
    ), "argument")
  }
  value <- value_by_row(weights, columns_of_code(weights, data, blocks), blocks)
  if (length(value) != nrow(data)) {
    abort("{.arg weights} must give one number per row.", "argument")
  }
  share <- cell_numbers(value) / max_weight
  # An infinite share, also by a very small largest weight, is the largest one.
  share[share %in% Inf] <- 1
  share
}

#' Weights with zero for rows excluded by a private choice, without a change of n
#' @param subset (`expression`).
#' @noRd
leave_out <- function(table, subset, data, blocks = FALSE) {
  unknown <- setdiff(all.vars(subset), names(data))
  if (length(unknown) || !length(all.vars(subset))) {
    abort(c(
      "{.arg subset} must be a condition on columns of {.arg data} that uses one row at a time.",
      x = if (length(unknown)) "The rows contain no column {.code {unknown}}."
    ), "argument")
  }
  subset <- with_dates(subset, data, blocks)
  check_rowwise(subset)
  keep <- value_by_row(subset, columns_of_code(subset, data, blocks), blocks)
  if (length(keep) != nrow(table)) {
    abort("{.arg subset} must give TRUE or FALSE for each row.", "argument")
  }
  table[!as.logical(cell_numbers(keep)) %in% TRUE, ] <- NaN
  table
}

#' Columns of the model for public rows, in the formula's units
#' @return A matrix with one named column per column of the model, intercept first.
#' @noRd
lm_matrix <- function(columns, newdata) {
  regressors <- columns$variables[-c(columns$offset$at, length(columns$variables))]
  model_columns(columns, lm_table(columns, newdata, clip = FALSE, variables = regressors))
}

#' Columns of the model from variables' values, intercept first
#' @noRd
model_columns <- function(columns, table) {
  out <- vapply(columns$columns, function(column) {
    value <- rep(1, nrow(table))
    for (i in seq_along(column$variables)) {
      value <- value * table[, column$variables[[i]]]^column$powers[[i]]
    }
    value
  }, numeric(nrow(table)))
  out <- cbind(1, matrix(out, nrow(table)))
  colnames(out) <- c("(Intercept)", vapply(columns$columns, `[[`, "", "name"))
  out
}
