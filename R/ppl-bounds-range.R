# The check of a range: two finite numbers whose squares and products can be computed.

check_range <- function(range, name) {
  ok <- is.numeric(range) && length(range) == 2L && all(is.finite(range)) &&
    range[[1L]] < range[[2L]]
  if (!ok) {
    abort(c(
      paste(
        "The bounds of {.code {name}} must be two finite numbers, {.code c(lower, upper)}, with",
        "{.code lower < upper}."
      ),
      x = "They are {describe_limits(range)}.",
      i = if (inherits(range, c("Date", "POSIXt"))) {
        "A date is not a number. Use a column of numbers, such as days since a public date."
      }
    ), "bounds")
  }
  check_size_of_range(as.double(range), name)
}

#' Bounds as text, with two numbers shown in full because bounds are public
#' @noRd
describe_limits <- function(range) {
  if (is.numeric(range) && !is.object(range) && length(range) == 2L) {
    paste(format(range[[1L]]), "and", format(range[[2L]]))
  } else {
    describe_value(range)
  }
}

#' Refuse a range whose squares or products would overflow or underflow
#' @noRd
check_size_of_range <- function(range, name) {
  if (max(abs(range)) > 1e100 || diff(range) < 1e-100) {
    abort(c(
      "The bounds of {.code {name}} must be between -1e100 and 1e100, and at least 1e-100 apart.",
      x = "The bounds are {format(range[[1L]])} and {format(range[[2L]])}.",
      i = "Convert the variable to other units."
    ), "bounds")
  }
  if (diff(range) < 2^-32 * max(abs(range))) {
    abort(c(
      "The bounds of {.code {name}} are too close together for their size.",
      x = "The bounds are {format(range[[1L]], digits = 15)} and
        {format(range[[2L]], digits = 15)}.",
      i = "Subtract a public constant from the variable."
    ), "bounds")
  }
  range
}
