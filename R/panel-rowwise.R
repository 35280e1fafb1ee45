# Outcomes that are computed row by row. Under a finite epsilon one donor's change must move that
# donor's row and no other: `y / max(y)` or `rank(y)` would move everybody's.

#' Evaluate an outcome row by row
#'
#' Only columns of the data, constants and `rowwise_functions` exist where it is evaluated, so that
#' neither a function of the user's with the name of one of these nor a vector computed before can
#' make rows depend on each other. A single number of the formula's environment is a constant.
#'
#' How a column was computed is the user's.
#' @param code (`language`)\cr the left-hand side of the formula.
#' @param environment (`environment`)\cr that of the formula.
#' @param data (`data.frame`)\cr long data. PRIVATE.
#' @return The outcome as it comes (PRIVATE), or `NULL` if its evaluation failed.
#' @section Errors: `dpsc_error_panel` for code that may mix rows.
#' @noRd
evaluate_rowwise <- function(code, environment, data, call = NULL) {
  code <- with_dates(unqualified(code), data)
  problem <- rowwise_problem(code, environment, data)
  if (!is.null(problem)) {
    abort(c(
      paste(
        "With a finite {.arg epsilon} the outcome must be computed row by row, or one donor would",
        "change the rows of others."
      ),
      x = "{problem}",
      i = paste(
        "Arithmetic and functions such as {.fn log} or {.fn ifelse} of columns and single numbers",
        "are fine."
      ),
      i = paste(
        "Anything else: add it to {.arg data} as a column. The guarantee then does not cover how",
        "it was computed; see {.code vignette(\"preparing-data\")}."
      )
    ), "panel", call)
  }
  check_text_compared(code, call)
  if (is.symbol(code) && as.character(code) %in% names(data)) {
    return(outcome_column(.subset2(data, as.character(code))))
  }
  values <- lapply(rlang::set_names(all.vars(code)), function(name) {
    if (name %in% names(data)) plain_column(.subset2(data, name)) else find_value(name, environment)
  })
  # A name that stands for nothing.
  if (any(vapply(values, is.null, NA))) {
    return(NULL)
  }
  outcome_column(value_by_row(code, values))
}

#' A column that is the outcome: numbers, where its class says that it may hold any
#' @noRd
outcome_column <- function(x) {
  if (is.null(plain_column(x)) || cell_kind(x) == "date") x else cell_numbers(plain_column(x))
}

#' Why code may mix rows, in words, or `NULL`
#' @noRd
rowwise_problem <- function(code, environment, data) {
  other <- setdiff(called_by_code(code), names(rowwise_functions))
  # Functions and variables that do not exist are left to the error that names them.
  known <- grepl("[: ]", other) | vapply(other, exists, NA, envir = environment, mode = "function")
  other <- other[known]
  if (length(other) > 0L) {
    shown <- paste0("`", utils::head(other, 3L), "`", collapse = ", ")
    return(paste0("It calls ", shown, ", which may look at several rows at once."))
  }
  if (!has_single_constants(code)) {
    return("A vector is written into it.")
  }
  for (name in setdiff(all.vars(code), names(data))) {
    value <- find_value(name, environment)
    if (!is.null(value) && !is_single(value)) {
      return(paste0("`", name, "` is no column of the data and no single number."))
    }
  }
  for (name in intersect(all.vars(code), names(data))) {
    if (is.call(code) && is.null(plain_column(.subset2(data, name)))) {
      return(paste0("`", name, "` is of a class whose arithmetic is not known to go row by row."))
    }
  }
}

find_value <- function(name, environment) {
  tryCatch(
    {
      value <- get(name, envir = environment)
      if (is.function(value)) {
        NULL
      } else if (length(value) == 1L && cell_kind(value) == "date") {
        cell_numbers(value)
      } else {
        value
      }
    },
    error = function(e) NULL
  )
}
