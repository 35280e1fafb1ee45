# Covariates of people are further columns of a person's row, `outcome ~ treated | x1 + x2`. Each
# covariate has one value per person, by a rule that uses only that person's rows.

#' Separate the covariates from a formula
#' @param formula (`any`)\cr the user's argument; its faults are found by later checks.
#' @return A list: `formula` (without covariates), `names` (`NULL` without any).
#' @section Errors: `dpsc_error_covariate`.
#' @noRd
split_covariates <- function(formula) {
  if (!right_is(formula, quote(`|`))) {
    return(list(formula = formula, names = NULL))
  }
  names <- added_names(formula[[3L]][[3L]])
  if (is.null(names) || anyDuplicated(names)) {
    abort(c(
      "Covariates must be columns, each given once: {.code outcome ~ treated | x1 + x2}.",
      i = "To use a computed covariate, add it to {.arg data} as a column."
    ), "covariate")
  }
  formula[[3L]] <- formula[[3L]][[2L]]
  list(formula = formula, names = names)
}

#' The names in a sum of names, or `NULL` for other code
#' @noRd
added_names <- function(code) {
  if (is.symbol(code)) {
    return(as.character(code))
  }
  if (!is.call(code) || !identical(code[[1L]], quote(`+`)) || length(code) != 3L) {
    return(NULL)
  }
  left <- added_names(code[[2L]])
  right <- added_names(code[[3L]])
  if (!is.null(left) && !is.null(right)) c(left, right)
}

#' The outcome's bounds, and the declarations of the covariates
#' @param bounds (`numeric`, `matrix`, `list` or `NULL`)\cr in the user's form.
#' @param names (`character` or `NULL`)\cr covariates.
#' @param left (`language`)\cr the outcome.
#' @param own (`string`)\cr another name that the user gave to the outcome.
#' @param data (`any`)\cr people's rows, of which only classes of columns are read.
#' @return A list: `outcome`, entries of the outcome by name; `covariates`, a list by name of
#'   `numeric(2)` or of levels (`character`), with `NULL` for a covariate without a declaration.
#' @section Errors: `dpsc_error_bounds`.
#' @noRd
split_bounds <- function(bounds, names, private, left = quote(outcome), own = NULL,
                         data = NULL) {
  given <- names(bounds)
  outcome <- intersect(given, c(own, written(left), columns_in(left)))
  missing <- if (private) setdiff(names, given)
  unknown <- setdiff(given, c(outcome, names))
  label <- code_label(left, "outcome")
  if (length(missing) || length(unknown) || anyDuplicated(given) ||
      (length(bounds) && private && !length(outcome))) {
    lacking <- c(if (!length(outcome)) label, missing)
    abort(c(
      "{.arg bounds} must be a list that names the outcome and each covariate once.",
      x = if (length(missing)) "It has no limits for {.code {missing}}.",
      x = if (length(bounds) && private && !length(outcome)) {
        "It has no limits for {.code {label}}."
      },
      x = if (length(unknown)) "The formula does not contain {.code {unknown}}.",
      x = if (anyDuplicated(given)) "At least one name occurs more than once.",
      if (length(lacking) && private) {
        kinds <- vapply(rlang::set_names(lacking), blank_limits, "", data = data)
        to_paste(kinds, bounds[setdiff(given, unknown)])
      } else {
        c(i = paste(
          "Give two numbers, or all levels of a factor, from prior knowledge, not from the data,",
          "such as {.code bounds = list(y = c(0, 9), age = c(0, 99), sex = c(\"f\", \"m\"))}."
        ))
      },
      i = if (length(unknown) && !length(names)) covariate_advice
    ), "bounds")
  }
  covariates <- rlang::set_names(lapply(names, function(name) {
    check_covariate_bounds(bounds[[name]], name)
  }), names)
  list(outcome = bounds[outcome], covariates = covariates)
}

#' The outcome's code, with each column clipped to its limits, and the limits of the outcome's
#' values
#' @param limits (`list`)\cr entries of the outcome, from [split_bounds()].
#' @param formula (`formula`)\cr the formula with the outcome as left side.
#' @param columns (`character`)\cr names of the data's columns.
#' @param own (`string`)\cr as in [split_bounds()].
#' @return A list: `formula`, and `limits` in the form for [new_bounds()].
#' @section Errors: `dpsc_error_bounds`.
#' @noRd
outcome_limits <- function(formula, limits, columns, own = NULL) {
  left <- left_side(formula)
  whole <- limits[[written(left)]] %||% if (!is.null(own)) limits[[own]]
  if (is_flag_pair(whole)) whole <- c(0, 1)
  if (is.symbol(left) || !length(limits)) {
    return(list(formula = formula, limits = whole))
  }
  limits <- limits[intersect(names(limits), columns_in(left))]
  if (any(vapply(limits, is.matrix, NA))) {
    abort(c(
      "Limits that differ by period cannot be limits of a column inside an expression.",
      i = paste(
        "Limit the expression instead: name the limits by its text,",
        "{.code {code_label(left, 'outcome')}}."
      )
    ), "bounds")
  }
  checked <- Map(lm_bound, limits, names(limits))
  if (is.null(whole) && length(limits)) tell_whose(names(limits), left)
  plain <- unqualified(with_constants(left, environment(formula), c(columns, names(limits))))
  formula[[2L]] <- clipped_code(left, limits)
  list(formula = formula, limits = whole %||% implied_limits(plain, checked))
}

#' Message that named bounds limit a column; in version 0.2.0 they limited the outcome
#' @noRd
tell_whose <- function(columns, left) {
  label <- code_label(left, "the outcome")
  rlang::inform(
    paste0(
      "The entries of bounds named ", paste(columns, collapse = ", "), " limit columns, before ",
      label, " is computed. To limit the outcome, name the limits by its text. ",
      "In version 0.2.0 such entries limited the outcome."
    ),
    class = "dpsc_message_bounds", .frequency = "once", .frequency_id = "dpsc_whose_bounds"
  )
}

#' Limits that an expression's columns imply
#' @noRd
implied_limits <- function(code, checked) {
  check_known(code, checked)
  check_rowwise(code)
  name <- code_label(code, "outcome")
  ends <- lapply(checked, function(x) if (is.null(x$levels)) c(x$lower, x$upper) else x$levels)
  corners <- value_by_row(code, as.list(expand.grid(ends, stringsAsFactors = FALSE)))
  if (is.numeric(corners) && !all(is.finite(corners))) {
    abort(c(
      "{.code {name}} is not finite at the limits of its columns.",
      i = "Give limits within which it is finite, such as limits above 0 for a log."
    ), "bounds")
  }
  image <- image_of(code, name, checked)
  if (is.null(image$levels)) c(image$lower, image$upper) else c(0, 1)
}

#' Code in which single numbers from its environment are written out
#' @noRd
with_constants <- function(code, environment, columns) {
  constants <- lapply(rlang::set_names(setdiff(all.vars(code), columns)), find_value, environment)
  do.call(substitute, list(code, Filter(is_single, constants)))
}

#' @noRd
check_covariate_bounds <- function(x, name) {
  # A logical column counts as a number, 0 or 1.
  if (is_flag_pair(x)) x <- c(0, 1)
  limits <- is.numeric(x) && length(x) == 2L && all(is.finite(x)) && x[[1L]] < x[[2L]] &&
    is.finite(x[[2L]] - x[[1L]])
  levels <- is.character(x) && length(x) >= 2L && !anyNA(x) && !anyDuplicated(x)
  if (!is.null(x) && !limits && !levels) {
    abort(c(
      "{.arg bounds} of {.code {name}} must be two finite numbers, or the levels of a factor.",
      i = "Give {.code c(lower, upper)}, or at least two levels without repetition."
    ), "bounds")
  }
  if (limits) check_size_of_range(as.double(x), name)
  x
}
