# Columns of a person's row from a formula and public bounds. Nothing here is learned from data:
# ranges, levels and scales all come from `bounds`, so that a row becomes numbers by itself.

#' Columns of a regression on people, from public facts alone
#' @param formula (`formula`)\cr outcome and main effects; `.` means all other names of `bounds`.
#' @param bounds (`list`, named by variable as the formula writes it, PUBLIC)\cr a range
#'   `c(lower, upper)`, or the levels of a factor.
#' @param family (`string`)\cr `"gaussian"` or `"binomial"`.
#' @return A list: `outcome`, `regressors` (each with `name`, `expression`, `levels` or `lower`,
#'   `upper`, `centre`, `half`), `intercept`, `names` of the columns. PUBLIC, without environments.
#' @noRd
new_columns <- function(formula, bounds, family, call) {
  if (!inherits(formula, "formula") || length(formula) != 3L) {
    abort(c(
      "The formula must be {.code outcome ~ regressors}.", x = "It is {describe(formula)}."
    ), "argument", call)
  }
  check_bounds_list(bounds, call)
  terms <- expand_terms(formula, bounds, call)
  labels <- attr(terms, "term.labels")
  if (any(attr(terms, "order") > 1L) || length(attr(terms, "offset"))) {
    abort(c(
      "Only main effects can be given: no interactions and no offsets.",
      i = "Put the product in a column of its own, with bounds of its own."
    ), "argument", call)
  }
  intercept <- attr(terms, "intercept") == 1L
  if (!intercept && !length(labels)) abort("The formula has no regressors.", "argument", call)
  outcome <- new_outcome(formula[[2L]], bounds, family, intercept, call)
  regressors <- lapply(labels, function(label) {
    new_column(str2lang(label), bounds, intercept, call)
  })
  names <- c(if (intercept) "(Intercept)", unlist(lapply(regressors, column_names, intercept)))
  list(
    outcome = outcome, regressors = regressors, intercept = intercept, names = names,
    family = family, text = plain_text(formula)
  )
}

check_bounds_list <- function(bounds, call) {
  if (!is.list(bounds) || is.data.frame(bounds) || !length(bounds) ||
      any(!nzchar(rlang::names2(bounds))) || anyDuplicated(names(bounds))) {
    abort(c(
      "{.arg bounds} must be a list named by variable.",
      i = "For example {.code list(y = c(0, 10), age = c(18, 90), sex = c(\"f\", \"m\"))}.",
      i = "They come from what is known about the variables, never from the data."
    ), "bounds", call)
  }
}

expand_terms <- function(formula, bounds, call) {
  outcome <- all.vars(formula[[2L]])
  others <- setdiff(names(bounds), c(outcome, plain_text(formula[[2L]])))
  # `.` is expanded from the public bounds, never from the columns of a table.
  skeleton <- as.data.frame(stats::setNames(
    rep(list(0), length(others) + length(outcome)), c(outcome, others)
  ), optional = TRUE)
  tryCatch(
    stats::terms(formula, data = skeleton),
    error = function(e) abort("The formula cannot be read.", "argument", call)
  )
}

plain_text <- function(expression) {
  paste(deparse(expression, width.cutoff = 500L), collapse = " ")
}

find_bounds <- function(expression, bounds, call) {
  name <- gsub("`", "", plain_text(expression), fixed = TRUE)
  found <- bounds[[name]]
  if (is.null(found)) {
    abort(c(
      "{.arg bounds} has no entry for {.code {name}}.",
      i = "Give its public range, or its levels, under the name that the formula writes."
    ), "bounds", call)
  }
  # A flag is a number, 0 or 1.
  if (is.logical(found) && identical(sort(found), c(FALSE, TRUE))) c(0, 1) else found
}

new_column <- function(expression, bounds, intercept, call) {
  check_rowwise(expression, call)
  found <- find_bounds(expression, bounds, call)
  name <- gsub("`", "", plain_text(expression), fixed = TRUE)
  if (is.character(found) || is.factor(found)) {
    levels <- unique(as.character(found))
    if (length(levels) < 2L || anyNA(levels)) {
      abort("The levels of {.code {name}} must be two different names at least.", "bounds", call)
    }
    return(list(name = name, expression = expression, levels = levels))
  }
  range <- check_range(found, name, call)
  c(list(name = name, expression = expression), scale_of(range, intercept))
}

check_range <- function(range, name, call) {
  ok <- is.numeric(range) && length(range) == 2L && all(is.finite(range)) &&
    range[[1L]] < range[[2L]]
  if (!ok) {
    abort(c(
      "The bounds of {.code {name}} must be {.code c(lower, upper)}, finite, lower below upper.",
      x = "They are {describe_limits(range)}.",
      i = if (inherits(range, c("Date", "POSIXt"))) {
        "A date is no number: make a column of numbers, such as days since a public date."
      }
    ), "bounds", call)
  }
  check_size_of_range(as.double(range), name, call)
}

#' Bounds are public: two numbers are shown as they are
#' @noRd
describe_limits <- function(range) {
  if (is.numeric(range) && !is.object(range) && length(range) == 2L) {
    paste(format(range[[1L]]), "and", format(range[[2L]]))
  } else {
    describe(range)
  }
}

#' Squares and products of a range must be numbers that a computer has
#' @noRd
check_size_of_range <- function(range, name, call) {
  if (max(abs(range)) > 1e100 || diff(range) < 1e-100) {
    abort(c(
      "The bounds of {.code {name}} must lie within 1e100 and be 1e-100 apart at least.",
      x = "They are {format(range[[1L]])} and {format(range[[2L]])}.",
      i = "Use other units."
    ), "bounds", call)
  }
  range
}

#' Without an intercept a column must not be moved, or the model would change
#' @noRd
scale_of <- function(range, intercept) {
  centre <- if (intercept) mean(range) else 0
  list(
    lower = range[[1L]], upper = range[[2L]], centre = centre,
    half = if (intercept) diff(range) / 2 else max(abs(range))
  )
}

new_outcome <- function(expression, bounds, family, intercept, call) {
  check_rowwise(expression, call)
  name <- gsub("`", "", plain_text(expression), fixed = TRUE)
  if (family == "gaussian") {
    range <- check_range(find_bounds(expression, bounds, call), name, call)
    return(c(list(name = name, expression = expression), scale_of(range, intercept)))
  }
  found <- bounds[[name]] %||% c(0, 1)
  out <- list(name = name, expression = expression, lower = 0, upper = 1, centre = 0, half = 1)
  if (is.character(found) || is.factor(found)) {
    out$levels <- unique(as.character(found))
    if (length(out$levels) != 2L) {
      abort("The levels of {.code {name}} must be two: failure, success.", "bounds", call)
    }
  } else if (!isTRUE(all.equal(as.numeric(found), c(0, 1)))) {
    abort(c(
      "A binomial outcome is 0 or 1, TRUE or FALSE, or one of two levels.",
      x = "The bounds of {.code {name}} are {describe(found)}."
    ), "bounds", call)
  }
  out
}

column_names <- function(column, intercept) {
  if (is.null(column$levels)) {
    column$name
  } else {
    paste0(column$name, if (intercept) column$levels[-1L] else column$levels)
  }
}

#' The numbers of some people's rows
#'
#' A value that is missing, or a level that is not among the public ones, makes its row `NaN`, and
#' the core counts such a row as zeros: no error may depend on one person's values.
#' @param data (`data.frame`, PRIVATE).
#' @param outcome (`flag`)\cr whether the outcome is needed, as last column.
#' @return A matrix, rows x columns, scaled. PRIVATE.
#' @noRd
table_of_rows <- function(columns, data, outcome = TRUE, call = NULL) {
  if (!is.data.frame(data)) {
    abort(c(
      "The rows must be a data frame.", x = "They are {describe_people(data)}."
    ), "data", call)
  }
  check_whole_columns(data, "data", call)
  parts <- c(
    if (columns$intercept) list(rep(1, nrow(data))),
    lapply(columns$regressors, scaled_column, data, columns$intercept, call),
    if (outcome) list(scaled_outcome(columns$outcome, data, call))
  )
  # A batch may be empty.
  out <- matrix(
    as.double(unlist(parts, use.names = FALSE)), nrow(data), length(columns$names) + outcome
  )
  out[!is.finite(rowSums(out)), ] <- NaN
  out
}

#' Values of an expression, numbers or places of levels, from the table's columns and nothing else
#' @noRd
values_of <- function(column, data, call) {
  code <- with_dates(column$expression, data)
  value <- value_by_row(code, columns_of_code(code, data, call))
  if (is.null(value) || length(value) != nrow(data)) {
    abort(c(
      "{.code {column$name}} cannot be computed from the rows.",
      i = "It must give one number, or one level, a row."
    ), "data", call)
  }
  if (is.null(column$levels)) cell_numbers(value) else cell_levels(value, column$levels)
}

scaled_column <- function(column, data, intercept, call) {
  value <- values_of(column, data, call)
  if (is.null(column$levels)) {
    return(clip_scaled(value, column))
  }
  shown <- if (intercept) seq_along(column$levels)[-1L] else seq_along(column$levels)
  as.double(outer(value, shown, `==`))
}

scaled_outcome <- function(column, data, call) {
  value <- values_of(column, data, call)
  if (!is.null(column$levels)) {
    return(value - 1)
  }
  clip_scaled(value, column)
}

clip_scaled <- function(x, column) {
  (within_bounds(x, column$lower, column$upper) - column$centre) / column$half
}

#' From coefficients of scaled columns to those of the user's, as a linear map
#' @return A list: `map` (p x p) and `shift` (p). PUBLIC.
#' @noRd
unscaling <- function(columns) {
  half <- unlist(lapply(columns$regressors, function(column) {
    if (is.null(column$levels)) column$half else rep(1, length(column_names(column,
      columns$intercept)))
  }))
  centre <- unlist(lapply(columns$regressors, function(column) {
    if (is.null(column$levels)) column$centre else numeric(length(column_names(column,
      columns$intercept)))
  }))
  size <- columns$outcome$half
  p <- length(columns$names)
  map <- diag(size / c(if (columns$intercept) 1, half), p)
  shift <- numeric(p)
  if (columns$intercept) {
    map[1L, -1L] <- -size * centre / half
    shift[[1L]] <- columns$outcome$centre
  }
  list(map = map, shift = shift)
}

outcome_of_score <- function(stream, score) {
  outcome <- stream$columns$outcome
  if (stream$columns$family == "binomial") {
    return(stats::plogis(score))
  }
  pmax(pmin(score * outcome$half + outcome$centre, outcome$upper), outcome$lower)
}
