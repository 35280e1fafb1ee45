# Code as text: labels for users' code, without constants that might be a person's value.

#' Code as a label, unless it contains data
#'
#' A formula made by [bquote()] or [do.call()] can contain a whole column, which deparsing would
#' print. A string can be a donor's name, and a number with many digits can be a donor's value, so
#' both count as data. Such a number is shown as three dots.
#' @param code (`language`)\cr one side of a formula.
#' @param default (`string`)\cr the label if the code contains objects other than names, calls and
#'   single constants (numbers, `TRUE`, `FALSE`, `NULL`).
#' @return A string. PUBLIC.
#' @noRd
code_label <- function(code, default) {
  if (is.symbol(code)) return(trimws(as.character(code)))
  if (!is_plain_code(code)) {
    return(default)
  }
  paste(trimws(deparse(without_long_numbers(code), 500L)), collapse = " ")
}

is_plain_code <- function(code) {
  if (is.call(code)) {
    for (i in seq_along(code)) {
      # The empty argument of x[, 1] must not be evaluated.
      if (!identical(code[[i]], quote(expr = )) && !is_plain_code(code[[i]])) { # nolint
        return(FALSE)
      }
    }
    return(TRUE)
  }
  is.symbol(code) || is.null(code) ||
    (is.atomic(code) && !is.character(code) && length(code) == 1L && is.null(attributes(code)))
}

# These digits suffice for 100, 0.01 or 1.5, but not for a measurement.
label_digits <- 2L

without_long_numbers <- function(code) {
  if (is.call(code)) {
    return(code_of_parts(as.list(code), without_long_numbers))
  }
  if (is.complex(code) || is.raw(code) ||
      (is.numeric(code) && is.finite(code) && code != signif(code, label_digits))) {
    return(quote(...))
  }
  code
}

#' Code without `package::name`, functions defined in it, and names after `$` or `@`
#'
#' [all.vars()] would count these names as variables.
#' @noRd
without_qualified_names <- function(code) {
  if (!is.call(code)) {
    return(code)
  }
  operator <- if (is.symbol(code[[1L]])) as.character(code[[1L]]) else ""
  if (operator %in% c("::", ":::", "function")) {
    return(quote((NULL)))
  }
  parts <- as.list(code)
  if (operator %in% c("$", "@")) {
    parts <- c(parts[-3L], "")
  }
  code_of_parts(parts, without_qualified_names)
}

#' A call with a function applied to each of its parts
#' @noRd
code_of_parts <- function(parts, change, ..., head = TRUE) {
  # The empty argument of x[, 1] must not be evaluated.
  changed <- !vapply(parts, identical, NA, quote(expr = )) # nolint
  changed[[1L]] <- head
  parts[changed] <- lapply(parts[changed], change, ...)
  as.call(parts)
}

#' Names of the functions that code calls
#' @noRd
called_functions <- function(code) {
  setdiff(all.names(code), all.vars(code))
}

#' A formula that a fit may contain, without its environment, which can contain the panel
#' @noRd
bare_formula <- function(formula) formula_from(bare_code(formula))

#' Code without the attributes of its calls, which no evaluation needs and which can hold anything
#' @noRd
bare_code <- function(code) {
  if (!is.call(code)) {
    return(code)
  }
  code_of_parts(as.list(code), bare_code)
}

#' The name of code in `bounds`
#' @noRd
written <- function(code) {
  gsub("`", "", if (is.symbol(code)) as.character(code) else plain_text(code), fixed = TRUE)
}

#' Code as text, unless it contains a whole column, which would be printed
#' @noRd
plain_text <- function(expression) {
  if (holds_column(expression)) {
    return("an expression that contains data")
  }
  paste(deparse(expression, width.cutoff = 500L), collapse = " ")
}

holds_column <- function(code) {
  if (is.call(code)) {
    parts <- as.list(code)
    # The empty argument of x[, 1] must not be evaluated.
    parts <- parts[!vapply(parts, identical, NA, quote(expr = ))] # nolint
    return(any(vapply(parts, holds_column, NA)))
  }
  !is.symbol(code) && !is.null(code) && !(is.atomic(code) && length(code) == 1L)
}

#' A formula from its text, with access to base R only
#'
#' The text may come from a file. It is parsed and never evaluated, whereas [stats::as.formula()]
#' would run any code in the text.
#' @section Errors: errors without a class, for text that is not a formula.
#' @noRd
formula_of <- function(text) {
  stopifnot(is_string(text))
  formula_from(str2lang(text))
}

#' @param code (`call`)\cr a call of `~`, with one or two sides.
#' @noRd
formula_from <- function(code) {
  stopifnot(
    is.call(code), identical(code[[1L]], as.name("~")), length(code) %in% 2:3,
    is.null(names(code))
  )
  structure(code, class = "formula", .Environment = baseenv())
}

#' Is a formula's right side a call of this function?
#' @noRd
right_is <- function(formula, operator) {
  inherits(formula, "formula") && length(formula) == 3L && is.call(formula[[3L]]) &&
    identical(formula[[3L]][[1L]], operator)
}

strip_factor <- function(expression) {
  is_factor <- is.call(expression) && length(expression) == 2L && is.symbol(expression[[2L]]) &&
    is.symbol(expression[[1L]]) && as.character(expression[[1L]]) %in% c("factor", "as.factor")
  if (is_factor) expression[[2L]] else expression
}
