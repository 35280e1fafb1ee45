# Counts and numbers as words.

count_of <- function(n, noun) {
  # formatC() would take longer than a small release.
  text <- if (n < 1000 && n == round(n)) {
    as.character(n)
  } else {
    formatC(n, format = "d", big.mark = ",")
  }
  paste0(text, " ", noun, if (n != 1) "s")
}

format_value <- function(x) {
  formatC(x, digits = 4L, format = "g", width = 1L)
}

#' Periods as text
#' @param times (`vector`)\cr periods. PUBLIC.
#' @return One string per period.
#' @noRd
period_text <- function(times) {
  if (is.character(times) || is.factor(times)) {
    as.character(times)
  } else if (is.object(times)) {
    format(times)
  } else {
    number_text(times)
  }
}

#' Units as text
#' @param values (`vector`)\cr sorted units from [code_index()].
#' @return One string per unit.
#' @noRd
unit_labels <- function(values) {
  if (is.object(values)) {
    format(values)
  } else if (is.double(values)) {
    number_text(values)
  } else {
    as.character(values)
  }
}

number_text <- function(x) {
  vapply(x, format, "", digits = 15L, scientific = FALSE)
}

#' Words for a list: the first entries, and the number of other entries
#' @noRd
enumerate <- function(shown, count) {
  more <- count - length(shown)
  paste0(paste(shown, collapse = ", "), if (more > 0L) paste(" and", more, "more"))
}

charge_stays <- paste(
  "The budget of this release was charged before the failure and stays spent. Nothing was released."
)

# Advice on gaps. A rule for one row at a time changes no other row. Dropping donors, or filling
# their gaps from other donors, makes rows depend on each other.
row_by_row_advice <- paste(
  "Fill gaps by a rule that uses one person's row alone: carry that person's own values",
  "forward, or take the middle of {.arg bounds}. {.code ?preparing_data} lists rules that keep the",
  "guarantee."
)

count_words <- function(n) formatC(n, format = "d", big.mark = ",")

format_p <- function(p) {
  if (is.na(p)) return("not known")
  if (p < 1e-4) "< 0.0001" else paste("=", formatC(p, digits = 2L, format = "g", width = 1L))
}

# Above this epsilon, the guarantee allows odds of exp(10) = 22,000 to 1.
weak_epsilon <- 10

#' A note on a finite epsilon that protects little, or `NULL`
#' @param epsilon (`number`, PUBLIC).
#' @return A string, for prints.
#' @noRd
weak_budget <- function(epsilon) {
  if (is.finite(epsilon) && epsilon > weak_epsilon) {
    paste0(
      "epsilon = ", format(epsilon, digits = 4L), " protects little: somebody who knows all ",
      "donors but one could distinguish two possible rows of the remaining donor with odds of up ",
      "to exp(", format(epsilon, digits = 4L), ") to 1."
    )
  }
}

#' Print lines at the end of a print method
#' @param ... (`character`)\cr the lines.
#' @noRd
say_lines <- function(x, ...) {
  cat(..., sep = "\n")
  invisible(x)
}
