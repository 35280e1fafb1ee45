# Columns of a person's row from a formula and public bounds. No fact here is learned from data:
# `bounds` gives ranges, levels and scales, so that the numbers of a row depend on that row alone.

#' Columns of a regression on people, from public facts alone
#' @param formula (`formula`)\cr outcome and regressors, possibly with products; `.` stands for all
#'   other names in `bounds`.
#' @param bounds (`list`, PUBLIC)\cr as in [dp_bounds].
#' @param family (`string`)\cr `"gaussian"` or `"binomial"`.
#' @return A list: `outcome`, `regressors` (each with `name`, `expression`, `levels` or `lower`,
#'   `upper`, `centre`, `half`), `intercept`, `names` of the columns, `family`, `text` (the
#'   formula), `given` (the bounds). PUBLIC, without environments.
#' @noRd
new_columns <- function(formula, bounds, family) {
  bounds <- bounds_of_regression(formula, bounds)
  # Levels and ranges as everywhere: a column of people in place of its levels is refused.
  bounds <- Map(
    function(x, name) if (is_flag_pair(x)) c(FALSE, TRUE) else plain_bound(lm_bound(x, name)),
    bounds, names(bounds)
  )
  terms <- expand_terms(formula, bounds)
  labels <- attr(terms, "term.labels")
  if (length(attr(terms, "offset"))) {
    abort("The formula cannot contain an offset.", "argument")
  }
  check_margins(terms)
  intercept <- attr(terms, "intercept") == 1L
  if (!intercept && !length(labels)) {
    abort("The formula must contain at least one regressor.", "argument")
  }
  outcome <- new_outcome(formula[[2L]], bounds, family, intercept)
  regressors <- unlist(lapply(seq_along(labels), function(k) {
    parts <- lapply(parts_of_term(terms, k), new_column, bounds, intercept)
    if (length(parts) == 1L) parts else product_columns(parts, intercept)
  }), recursive = FALSE)
  names <- c(if (intercept) "(Intercept)", unlist(lapply(regressors, column_names, intercept)))
  list(
    outcome = outcome, regressors = regressors, intercept = intercept, names = names,
    family = family, text = plain_text(formula), given = bare_options(bounds)
  )
}

#' Bounds of a column of the formula, given by its text or otherwise implied by the limits of its
#' variables
#' @return A range or levels.
#' @noRd
find_bounds <- function(expression, bounds) {
  found <- bounds[[written(expression)]]
  if (is.null(found)) {
    known <- intersect(all.vars(expression), names(bounds))
    given <- Map(lm_bound, bounds[known], known)
    check_known(expression, given)
    image <- image_of(expression, written(expression), given)
    found <- if (is.null(image$levels)) c(image$lower, image$upper) else c(FALSE, TRUE)
  }
  # A logical column counts as a number, 0 or 1.
  if (is_flag_pair(found)) c(0, 1) else found
}

new_column <- function(expression, bounds, intercept) {
  check_rowwise(expression)
  found <- find_bounds(expression, bounds)
  name <- written(expression)
  if (is.call(expression)) expression <- clipped_code(expression, bounds)
  if (is.character(found)) {
    return(list(name = name, expression = expression, levels = found))
  }
  range <- check_range(found, name)
  c(list(name = name, expression = expression), scale_of(range, intercept))
}

#' The variables of a term, as expressions
#' @noRd
parts_of_term <- function(terms, k) {
  factors <- attr(terms, "factors")
  lapply(rownames(factors)[factors[, k] > 0], str2lang)
}

#' Refuse a product without its main effects, for which factors would need other columns
#' @noRd
check_margins <- function(terms) {
  if (any(attr(terms, "factors") == 2L)) {
    abort(c(
      "An interaction needs its main effects in the formula.",
      i = "Write {.code a * b}, or {.code a + b + a:b}."
    ), "argument")
  }
}

#' Columns of an interaction, which are products of numbers and of indicators of levels
#' @param parts (`list`)\cr columns from [new_column()].
#' @noRd
product_columns <- function(parts, intercept) {
  pieces <- lapply(parts, pieces_of, intercept)
  chosen <- expand.grid(lapply(pieces, seq_along))
  lapply(seq_len(nrow(chosen)), function(i) {
    multiplied(Map(function(piece, j) piece[[j]], pieces, chosen[i, ]), intercept)
  })
}

pieces_of <- function(column, intercept) {
  if (is.null(column$levels)) {
    return(list(column))
  }
  shown <- if (intercept) column$levels[-1L] else column$levels
  lapply(shown, function(level) {
    list(
      name = paste0(column$name, level), indicator = TRUE, lower = 0, upper = 1,
      expression = call("==", column$expression, level)
    )
  })
}

multiplied <- function(pieces, intercept) {
  range <- Reduce(function(x, piece) range(outer(x, c(piece$lower, piece$upper))), pieces, 1)
  code <- Reduce(function(x, y) call("*", x, y), lapply(pieces, clipped_piece))
  name <- paste(vapply(pieces, `[[`, "", "name"), collapse = ":")
  c(list(name = name, expression = code), scale_of(range, intercept))
}

#' A product of variables, each clipped to its bounds before multiplication, as in dp_lm()
#' @noRd
clipped_piece <- function(piece) {
  if (isTRUE(piece$indicator)) {
    return(call("(", piece$expression))
  }
  call("pmin", call("pmax", piece$expression, piece$lower), piece$upper)
}

#' Is a column at one of its bounds in every row, as levels and variables with bounds 0 and 1 are?
#' @noRd
always_full <- function(column) {
  !is.null(column$levels) ||
    (is.null(column$deviation) && column$lower == 0 && column$upper == 1)
}

#' Scale of a column; without an intercept a column must not be shifted, since the model would
#' change
#' @noRd
scale_of <- function(range, intercept) {
  centre <- if (intercept) mean(range) else 0
  list(
    lower = range[[1L]], upper = range[[2L]], centre = centre,
    half = if (intercept) diff(range) / 2 else max(abs(range))
  )
}

new_outcome <- function(expression, bounds, family, intercept) {
  check_rowwise(expression)
  name <- written(expression)
  code <- if (is.call(expression)) clipped_code(expression, bounds) else expression
  if (family == "gaussian") {
    range <- check_range(find_bounds(expression, bounds), name)
    return(c(list(name = name, expression = code), scale_of(range, intercept)))
  }
  found <- bounds[[name]] %||% c(0, 1)
  expression <- code
  out <- list(name = name, expression = expression, lower = 0, upper = 1, centre = 0, half = 1)
  if (is.character(found)) {
    out$levels <- found
    if (length(out$levels) != 2L) {
      abort(
        "{.arg bounds} must give two levels of {.code {name}}, first failure and then success.",
        "bounds"
      )
    }
  } else if (!isTRUE(all.equal(as.numeric(found), c(0, 1)))) {
    abort(c(
      "A binomial outcome must be 0 or 1, TRUE or FALSE, or one of two levels.",
      x = "The bounds of {.code {name}} are {describe_value(found)}."
    ), "bounds")
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
#' A missing value, or a level that is not public, turns its row into `NaN`, and the core counts
#' such a row as zeros, because no error may depend on one person's values. In a batch this is also
#' true of a cell of any other class.
#' @param data (`data.frame`, PRIVATE).
#' @param outcome (`flag`)\cr whether the outcome is needed, as last column.
#' @param batch (`flag`)\cr may the rows be a batch of a stream?
#' @return A matrix, rows x columns, scaled. PRIVATE.
#' @noRd
table_of_rows <- function(columns, data, outcome = TRUE, batch = TRUE) {
  if (!is.data.frame(data)) {
    abort(c(
      "The rows must be a data frame.", x = "They are {describe(data)}."
    ), "data")
  }
  check_whole_columns(data, "data")
  if (batch) data <- guessed_columns(data)
  parts <- c(
    if (columns$intercept) list(rep(1, nrow(data))),
    lapply(columns$regressors, scaled_column, data, columns$intercept, batch),
    if (outcome) list(scaled_outcome(columns$outcome, data, batch))
  )
  # An empty batch has no rows.
  out <- matrix(
    as.double(unlist(parts, use.names = FALSE)), nrow(data), length(columns$names) + outcome
  )
  out[!is.finite(rowSums(out)), ] <- NaN
  out
}

#' Values of an expression (numbers, or positions of levels), computed only from the table's columns
#' @param batch (`flag`)\cr may the rows be a batch of a stream?
#' @noRd
values_of <- function(column, data, batch = TRUE) {
  code <- with_dates(column$expression, data, batch)
  own <- columns_of_code(code, data, batch)
  # A reader may guess the classes of a batch's columns.
  value <- own_column(column, data, batch) %||% value_by_row(code, own, blocks = batch)
  if (is.null(value) || length(value) != nrow(data)) {
    abort(c(
      "{.code {column$name}} cannot be computed from the rows.",
      i = "It must give one number, or one level, per row."
    ), "data")
  }
  if (is.null(column$levels)) {
    return(if (batch) block_numbers(value) else cell_numbers(value))
  }
  cell_levels(value, column$levels, blocks = batch)
}

#' A column of the table unchanged; outside of streams its class must agree with `bounds`
#' @return The column, or `NULL` if the formula computes values.
#' @noRd
own_column <- function(column, data, batch) {
  code <- column$expression
  of_factor <- is.call(code) && length(code) == 2L &&
    as.character(code[[1L]])[[1L]] %in% c("factor", "as.factor")
  if (of_factor) code <- code[[2L]]
  if (!is.symbol(code)) {
    return(NULL)
  }
  x <- .subset2(data, as.character(code))
  # A batch may be one person, whose cells then determine the classes of the columns.
  if (batch) {
    return(if (is.null(column$levels) && !is.null(x)) guessed_numbers(x) else x)
  }
  check_cell_kind(x, column$name, is.null(column$levels))
  if (!is.null(column$levels)) check_levels_fit(column$levels, type_of_cells(x), column$name)
  x
}

scaled_column <- function(column, data, intercept, batch) {
  value <- values_of(column, data, batch)
  if (is.null(column$levels)) {
    return(clip_scaled(value, column))
  }
  shown <- if (intercept) seq_along(column$levels)[-1L] else seq_along(column$levels)
  as.double(outer(value, shown, `==`))
}

scaled_outcome <- function(column, data, batch) {
  value <- values_of(column, data, batch)
  if (!is.null(column$levels)) {
    return(value - 1)
  }
  clip_scaled(value, column)
}

clip_scaled <- function(x, column) {
  (within_bounds(x, column$lower, column$upper) - column$centre) / column$half
}

#' Linear map from coefficients of scaled columns to coefficients of the user's columns
#' @return A list: `map` (p x p) and `shift` (p). PUBLIC.
#' @noRd
unscaling <- function(columns) {
  each <- function(part, of_level) {
    unlist(lapply(columns$regressors, function(column) {
      if (is.null(column$levels)) return(column[[part]])
      rep(of_level, length(column_names(column, columns$intercept)))
    }))
  }
  half <- each("half", 1)
  centre <- each("centre", 0)
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

#' Usual length of a row. Variables are seldom all at their bounds, but an intercept, a factor and a
#' 0/1 variable always have length one.
#' @noRd
usual_length <- function(columns) {
  full <- sum(vapply(columns$regressors, always_full, NA))
  deviations <- unlist(lapply(columns$regressors, `[[`, "deviation"))
  numbers <- length(columns$regressors) - full - length(deviations)
  # If standard deviations are known, normal columns seldom exceed this norm within their limits.
  squares <- pmin(deviations^2, 0.4)
  located <- sum(squares) + 2 * sqrt(sum(2 * squares^2))
  sqrt(columns$intercept + full + located + if (numbers) 0.65 + 0.35 * numbers else 0)
}
