# Malformed cells of one person. Each cell may change that person's row, but no other row.

# Cells of a column that `bounds` declares as a number: the text, and the number that this text
# means.
hostile_numbers <- local({
  table <- list(
    list("1e3", 1000), list(" 12 ", 12), list("1,5", NA), list("0x10", NA), list("TRUE", 1),
    list("F", 0), list("", NA), list("NA", NA), list("Inf", Inf), list("-inf", -Inf),
    list("nan", NaN), list("1e400", Inf), list("-1e400", -Inf), list("1e-400", 0),
    list(strrep("9", 400), Inf), list(paste0("0.", strrep("3", 60)), 1 / 3), list("maybe", NA),
    list("5\"", NA), list("\xff5", NA), list("01", 1), list("+3", 3), list(".5", 0.5),
    list("3.", 3), list("1L", NA), list("2020-01-01", NA), list("9007199254740993", 2^53),
    list("4294967296", 2^32), list("'; DROP TABLE rows; --", NA), list("5\r", NA)
  )
  data.frame(
    text = vapply(table, `[[`, "", 1L), number = vapply(table, function(x) as.double(x[[2L]]), 0)
  )
})

# Cells of a column to which `bounds` gives the levels "01", "02", "a": the text, and its level.
hostile_levels <- data.frame(
  text = c("01", "02", "a", "1", " 01", "A", "", "3", "\xffa", "TRUE", "a\"b", "NA", "1e0"),
  level = c("01", "02", "a", rep(NA, 10))
)

# Lines of a file with columns y, x, g: the line, and the row that this line means.
hostile_lines <- local({
  none <- list(y = NA_real_, x = NA_real_, g = NA_character_)
  row <- function(y, x, g) list(y = y, x = x, g = g)
  list(
    list("3,4", none), list("3,4,a,", none), list("3,4,a,5,6", none), list("\"3,4,a", none),
    list("3,\"4,a", none), list("3,\"4\"5,a", none), list("\"3\",\"4\",\"a\"", row(3, 4, "a")),
    list("3,4,\"a\"\"b\"", row(3, 4, "a\"b")), list("3,4\",a", row(3, NA, "a")),
    list("3,4,a\r", row(3, 4, "a")), list("3,4\r,a", row(3, NA, "a")), list("", none),
    list(",,", none), list("\"", none), list("3;4;a", none), list("3,\"1,5\",a", row(3, NA, "a")),
    list("y,x,g", row(NA_real_, NA_real_, "g")), list("#3,4,a", row(NA_real_, 4, "a")),
    list("3\t4\ta", none), list("\xef\xbb\xbf3,4,a", row(NA_real_, 4, "a"))
  )
})

hostile_bounds <- list(y = c(0, 10), x = c(-5, 20), g = c("01", "02", "a"))

# Ordinary rows with codes as text.
hostile_rows <- function(n) {
  withr::local_seed(5)
  data.frame(
    y = round(stats::runif(n, 0, 10), 3), x = round(stats::runif(n, -5, 20), 2),
    g = sample(c("01", "02", "a"), n, TRUE)
  )
}

# The numbers of rows as each verb computes them, sorted, because the rows of an engine have no
# order.
hostile_columns <- function() lm_columns(y ~ x + g, hostile_bounds)

sorted_rows <- function(table) {
  table[is.na(rowSums(table)), ] <- NaN
  table[do.call(order, as.data.frame(table)), , drop = FALSE]
}

# All rows of a source as a verb reads them.
rows_of_source <- function(source) {
  rows <- open_people(source, hostile_columns(), list(), TRUE)$table
  on.exit(close_donors(rows))
  sorted_rows(gather_rows(rows))
}

rows_of_frame <- function(data) {
  sorted_rows(chosen_rows(hostile_columns(), data, list(), TRUE))
}
