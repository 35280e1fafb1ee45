# Counts and numbers in words.

count_of <- function(n, noun) {
  # formatC() takes longer than a small release.
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
