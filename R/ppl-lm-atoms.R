# One factor of a formula's term: a number with a range, a factor with levels or a whole power, from
# public bounds alone.

#' One entry of `bounds`
#' @return A list with `lower` and `upper`, or with `levels` (strings); `values` as given.
#' @noRd
lm_bound <- function(x, name) {
  if (is.factor(x)) x <- levels(x)
  if (is.character(x) || is.logical(x)) {
    levels <- as.character(if (is.logical(x)) sort(unique(x)) else x)
    if (length(levels) < 2L || anyNA(x) || anyDuplicated(levels)) {
      abort("There must be at least two different levels of {.code {name}}.", "bounds")
    }
    return(list(levels = levels))
  }
  if (is.numeric(x) && length(x) > 2L && all(is.finite(x)) && !anyDuplicated(x)) {
    return(list(levels = as.character(x), codes = TRUE))
  }
  range <- check_range(x, name)
  list(lower = range[[1L]], upper = range[[2L]])
}

#' One factor of a term
#' @return A list: `kind` `"value"` (with `expression`, `lower`, `upper`), `"levels"` (with
#'   `expression`, `levels`) or `"power"` (a value, and `power`).
#' @noRd
lm_atom <- function(expression, given) {
  name <- written(expression)
  inner <- strip_factor(expression)
  if (!is.symbol(expression) && !is.null(given[[name]])) {
    return(own_atom(inner, name, given[[name]]))
  }
  check_known(inner, given)
  if (is.symbol(inner)) {
    bound <- given[[as.character(inner)]]
    as_levels <- !identical(inner, expression)
    if (as_levels && is.null(bound$levels)) bound <- levels_of_pair(bound, name)
    if (isTRUE(bound$codes) && !as_levels) {
      abort(c(
        "The bounds of {.code {name}} must be {.code c(lower, upper)}.",
        i = "For numeric codes write {.code factor({name})} in the formula."
      ), "bounds")
    }
    if (!is.null(bound$levels)) {
      return(list(kind = "levels", name = name, expression = inner, levels = bound$levels))
    }
    return(list(
      kind = "value", name = name, expression = inner, lower = bound$lower, upper = bound$upper
    ))
  }
  check_rowwise(inner)
  power <- whole_power(inner, given)
  if (!is.null(power)) {
    base <- lm_atom(power$base, given)
    return(c(list(kind = "power", label = name, power = power$power), base[names(base) != "kind"]))
  }
  image_of(inner, name, given)
}

#' One factor outside products, where a power is a separate number
#' @noRd
whole_atom <- function(expression, given) {
  atom <- lm_atom(expression, given)
  if (atom$kind == "power") image_of(expression, atom$label, given) else atom
}

#' An expression with its own limits or levels, found by its text
#' @noRd
own_atom <- function(expression, name, bound) {
  check_rowwise(expression)
  if (isTRUE(bound$codes) && !is.symbol(expression)) {
    abort(c(
      "The bounds of {.code {name}} must be {.code c(lower, upper)}, or levels as text."
    ), "bounds")
  }
  if (is.symbol(expression) && is.null(bound$levels)) bound <- levels_of_pair(bound, name)
  kind <- if (is.null(bound$levels)) "value" else "levels"
  c(list(kind = kind, name = name, expression = expression), bound[c("lower", "upper", "levels")])
}

#' Levels of a pair of numbers with nothing in between, that is, of 0 and 1
#' @noRd
levels_of_pair <- function(bound, name) {
  if (bound$upper - bound$lower != 1) {
    abort(c(
      "{.code {name}} needs its public levels, not a range.",
      i = "Give every code, as in {.code c(0, 1, 2, 3)}, or levels as text."
    ), "bounds")
  }
  list(levels = as.character(c(bound$lower, bound$upper)))
}

check_known <- function(expression, given) {
  unknown <- setdiff(all.vars(expression), names(given))
  if (length(unknown)) {
    abort(c(
      "{.arg bounds} has no entry for {.code {unknown}}.",
      i = "Every variable of the formula needs its public range, or its public levels.",
      i = if (is.call(expression)) "Or give limits of the expression, named by its text."
    ), "bounds")
  }
}

#' `I(x^k)` of a number, k = 2, 3, ..., 6
#' @noRd
whole_power <- function(expression, given) {
  inner <- expression
  while (is.call(inner) && as.character(inner[[1L]])[[1L]] %in% c("I", "(")) inner <- inner[[2L]]
  is_power <- is.call(inner) && identical(inner[[1L]], as.name("^")) && is.symbol(inner[[2L]]) &&
    is.numeric(inner[[3L]]) && inner[[3L]] %in% 2:6
  if (is_power && is.null(given[[as.character(inner[[2L]])]]$levels)) {
    list(base = inner[[2L]], power = as.integer(inner[[3L]]))
  }
}

#' Range, or levels, of a function of one row, on a public grid of its variables
#' @noRd
image_of <- function(expression, name, given) {
  variables <- all.vars(expression)
  if (!length(variables) || length(variables) > 3L) {
    abort(c(
      "{.code {name}} must be a function of one, two or three variables.",
      i = "Put it in a separate column with its own bounds."
    ), "argument")
  }
  steps <- c(1001L, 101L, 41L)[[length(variables)]]
  grid <- expand.grid(lapply(given[variables], function(bound) {
    if (is.null(bound$levels)) {
      seq(bound$lower, bound$upper, length.out = steps)
    } else if (identical(bound$levels, c("FALSE", "TRUE"))) {
      c(FALSE, TRUE)
    } else {
      plain_bound(bound)
    }
  }), stringsAsFactors = FALSE, KEEP.OUT.ATTRS = FALSE)
  value <- value_by_row(expression, as.list(grid))
  if (is.logical(value) && length(value) == nrow(grid)) {
    return(list(kind = "levels", name = name, expression = expression, levels = c("FALSE", "TRUE")))
  }
  value <- if (is.numeric(value) && length(value) == nrow(grid)) value[is.finite(value)]
  if (length(value) < 2L || !(min(value) < max(value))) {
    abort(c(
      "{.code {name}} is not a number that varies within {.arg bounds}."
    ), "bounds")
  }
  range <- check_size_of_range(range(value), name)
  list(
    kind = "value", name = name, expression = expression, lower = range[[1L]],
    upper = range[[2L]]
  )
}

#' The indicator of one level, as a variable
#' @param atom (`list`)\cr of kind `"levels"`.
#' @noRd
level_of <- function(atom, level, name = paste0(atom$name, level)) {
  list(
    kind = "level", name = name, expression = atom$expression, levels = atom$levels,
    level = level, lower = 0, upper = 1
  )
}

#' A checked entry of `bounds`, in the user's form
#' @noRd
plain_bound <- function(bound) {
  if (is.null(bound$levels)) {
    c(bound$lower, bound$upper)
  } else if (isTRUE(bound$codes)) {
    as.double(bound$levels)
  } else {
    bound$levels
  }
}

# Limits of a number ------------------------------------------------------------------------------

check_range <- function(range, name) {
  ok <- is.numeric(range) && length(range) == 2L && all(is.finite(range)) &&
    range[[1L]] < range[[2L]]
  if (!ok) {
    abort(c(
      "The bounds of {.code {name}} must be {.code c(lower, upper)}, finite, lower below upper.",
      x = "They are {describe_limits(range)}.",
      i = if (inherits(range, c("Date", "POSIXt"))) {
        "A date is not a number. Use a column of numbers, such as days since a public date."
      }
    ), "bounds")
  }
  check_size_of_range(as.double(range), name)
}

#' Bounds as text: they are public, so two numbers are shown in full
#' @noRd
describe_limits <- function(range) {
  if (is.numeric(range) && !is.object(range) && length(range) == 2L) {
    paste(format(range[[1L]]), "and", format(range[[2L]]))
  } else {
    describe(range)
  }
}

#' Refuse a range whose squares or products would overflow or underflow
#' @noRd
check_size_of_range <- function(range, name) {
  if (max(abs(range)) > 1e100 || diff(range) < 1e-100) {
    abort(c(
      "The bounds of {.code {name}} must lie within 1e100 and be at least 1e-100 apart.",
      x = "They are {format(range[[1L]])} and {format(range[[2L]])}.",
      i = "Use other units."
    ), "bounds")
  }
  range
}
