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
evaluate_rowwise <- function(code, environment, data) {
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
        "it was computed; see {.code ?preparing_data}."
      )
    ), "panel")
  }
  check_text_compared(code)
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

#' Preparing data without breaking the guarantee
#'
#' A private fit starts from the rows that it is given. **One person in, one row out**: a person's
#' prepared row may depend on that person's own data and on public facts, and on nobody else's data.
#' Otherwise one person is in everybody's row, and the guarantee is not about people.
#' Nothing in a result would show it.
#'
#' @section Allowed:
#'   * scale: `log(y)`, `y / 1000`, per head with published numbers;
#'   * outliers: limits that are known, as `pmin(y, 500)`; `bounds` clips by itself;
#'   * gaps: the person's own last value, or the middle of the bounds;
#'   * trend and season: differences or averages of the person's own values;
#'   * donors: a list made beforehand, from facts that may be known;
#'   * bounds: the scale of the instrument, law, earlier publications; periods: the calendar.
#'
#' @section Not allowed:
#'   * scale: `scale(y)`, `y / max(y)`, ranks, the donors' mean as 100;
#'   * outliers: winsorising at quantiles of the sample;
#'   * gaps: the month's mean, or imputation from other people;
#'   * trend and season: subtracting the donors' mean of each month;
#'   * donors: dropping people with gaps, extreme values or a poor fit before the treatment;
#'   * bounds: `range(y)`, quantiles, a look at the histogram; periods: those that everybody has.
#'
#' What is row by row can be written into the formula, `log(pmin(y, 190)) ~ treated`; what may look
#' at several rows is an error there. A column of `data` is taken as it is: nobody can see how it
#' came about. `vignette("preparing-data")` has examples, where vignettes are installed.
#' @name preparing_data
NULL
