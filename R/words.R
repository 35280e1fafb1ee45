# Counts and numbers in words.

count_of <- function(n, noun) {
  paste0(formatC(n, format = "d", big.mark = ","), " ", noun, if (n != 1) "s")
}

format_value <- function(x) {
  formatC(x, digits = 4L, format = "g", width = 1L)
}
