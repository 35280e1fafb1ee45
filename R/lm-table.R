# People's rows as numbers, one column a variable, each row by itself; and the model's columns made
# of them.

#' The numbers of people's rows, one column a variable
#'
#' What is missing, or a level that is not public, makes a value `NaN`; the core counts such a row
#' as nothing. Errors depend on names and types of columns only.
#' @param data (`data.frame`, PRIVATE).
#' @param clip (`flag`)\cr clip the formula's variables to their bounds before any function.
#' @param variables (`list`)\cr which of `columns$variables`.
#' @return A matrix of doubles. PRIVATE.
#' @noRd
lm_table <- function(columns, data, clip, call, variables = columns$variables) {
  if (!is.data.frame(data)) {
    abort(c(
      "{.arg data} must be a data frame.", x = "It is {describe_people(data)}."
    ), "data", call)
  }
  check_whole_columns(data, "data", call)
  # The core clips every variable; what goes into a function is clipped before it.
  inner <- Filter(function(variable) !is.symbol(variable$expression), variables)
  clip <- if (clip) unlist(lapply(inner, symbols_of))
  plain <- plain_values(columns, data, clip, call, unique(unlist(lapply(variables, symbols_of))))
  out <- matrix(0, nrow(data), length(variables))
  for (j in seq_along(variables)) {
    out[, j] <- variable_values(variables[[j]], plain, nrow(data), call)
  }
  out
}

symbols_of <- function(variable) {
  if (variable$kind == "product") {
    unlist(lapply(variable$parts, symbols_of))
  } else {
    all.vars(variable$expression)
  }
}

#' The formula's variables as plain vectors: a column's own class could do anything
#' @param clip (`character`)\cr which of them to clip to their bounds.
#' @noRd
plain_values <- function(columns, data, clip, call, needed) {
  missing <- setdiff(needed, names(data))
  if (length(missing)) {
    abort("The rows have no column {.code {missing}}.", "data", call)
  }
  out <- lapply(stats::setNames(nm = needed), function(name) {
    x <- data[[name]]
    bound <- columns$given[[name]]
    if (!is.atomic(x) || !is.null(dim(x))) {
      abort("Column {.code {name}} must be a plain vector.", "data", call)
    }
    check_plain_numbers(x, name, call)
    if (is.null(bound$levels)) {
      if (is.factor(x) || !(is.numeric(x) || is.logical(x))) {
        abort(c(
          "Column {.code {name}} is not numeric, and {.arg bounds} gives it a range.",
          i = if (inherits(x, c("Date", "POSIXt"))) {
            "A date is no number: make a column of numbers, such as days since a public date."
          } else {
            "Make a column of numbers of it; a regressor may have its public levels instead."
          }
        ), "data", call)
      }
      x <- as.double(unclass(x))
      return(if (name %in% clip) pmax(pmin(x, bound$upper), bound$lower) else x)
    }
    text <- readable(as.character(x))
    text[!text %in% bound$levels] <- NA
    if (identical(bound$levels, c("FALSE", "TRUE"))) {
      as.logical(text)
    } else if (isTRUE(bound$codes)) {
      as.double(text)
    } else {
      text
    }
  })
  out
}

variable_values <- function(variable, plain, rows, call) {
  if (variable$kind == "product") {
    value <- rep(1, rows)
    for (i in seq_along(variable$parts)) {
      part <- variable_values(variable$parts[[i]], plain, rows, call)
      value <- value * part^variable$powers[[i]]
    }
    return(value)
  }
  value <- value_by_row(variable$expression, plain)
  if (is.null(value) || length(value) != rows || !is.atomic(value)) {
    abort(c(
      "{.code {variable$name}} cannot be computed from the rows.",
      i = "It must give one number, or one level, a row."
    ), "data", call)
  }
  if (variable$kind == "level") {
    value <- as.character(value)
    value[!value %in% variable$levels] <- NA
    return(as.double(value == variable$level))
  }
  as.double(value)
}

#' Rows that a private choice leaves out weigh nothing; n stays
#' @param subset (`expression` or `NULL`).
#' @noRd
leave_out <- function(table, subset, data, call) {
  if (is.null(subset)) {
    return(table)
  }
  check_rowwise(subset, call)
  unknown <- setdiff(all.vars(subset), names(data))
  if (length(unknown)) {
    abort(c(
      "{.arg subset} names {.code {unknown}}, which the rows do not have.",
      i = "It must be a condition on columns of {.arg data}."
    ), "argument", call)
  }
  keep <- value_by_row(subset, columns_of_code(subset, data, call))
  if (!is.logical(keep) || length(keep) != nrow(table)) {
    abort("{.arg subset} must give TRUE or FALSE a row.", "argument", call)
  }
  table[is.na(keep) | !keep, ] <- NaN
  table
}

#' Columns of the model for public rows, in the formula's units
#' @return A matrix with one named column a column of the model, intercept first.
#' @noRd
lm_matrix <- function(columns, newdata, call) {
  regressors <- columns$variables[-length(columns$variables)]
  model_columns(columns, lm_table(columns, newdata, clip = FALSE, call, variables = regressors))
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
