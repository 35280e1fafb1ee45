# A pair of limits: its checks and its display. PUBLIC.

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

#' Is it `c(FALSE, TRUE)`, in either order?
#' @noRd
is_flag_pair <- function(x) is.logical(x) && identical(sort(unname(x)), c(FALSE, TRUE))

#' A pair of limits as code; other values could be people's
#' @noRd
limits_text <- function(x) {
  pair <- is.atomic(x) && !is.object(x) && is.null(dim(x)) && length(x) == 2L
  if (pair) paste(deparse(unname(x), 500L), collapse = "") else "..."
}
