# Terms of formulas: a table of accepted terms, and pairs of data sets in which one person's cell
# used to change the rows of all people.

rows_of_all <- function(n = 30) {
  withr::local_seed(8)
  rows <- data.frame(
    x = stats::runif(n, 0.5, 9), k = sample(1:9, n, TRUE),
    g = sample(c("a", "b", "c"), n, TRUE), flag = stats::runif(n) < 0.5
  )
  rows$f <- factor(rows$g)
  rows$o <- factor(rows$g, c("a", "b", "c"), ordered = TRUE)
  rows$code <- sprintf("%02d", rows$k)
  rows$day <- as.Date("2020-01-01") + rows$k
  rows$at <- as.POSIXct("2020-01-01", tz = "UTC") + 3600 * rows$k
  rows
}

value <- function(code, data) {
  code <- with_dates(code, data)
  check_rowwise(code)
  value_by_row(code, columns_of_code(code, data))
}

test_that("accepted terms, evaluated by row, have R's values; a missing row affects no other row", {
  data <- rows_of_all()
  table <- alist(
    log(x), sqrt(x), I(x^2), x > 3, x <= k, k == 3, k != 3, x + k * 2, -x, round(x, 1), x %% 2,
    g == "a", g != "a", g %in% c("a", "c"), g %in% "a", f == "a", f != "b", f %in% c("a", "z"),
    o == "b", k %in% c(1, 3, -2), k %in% 5, code == "03", code %in% c("01", "09"), !(k %in% 1:1),
    day > as.Date("2020-01-05"), day == "2020-01-03", day >= "2020-01-03", day != "2020-01-04",
    at > as.POSIXct("2020-01-01 04:00", tz = "UTC"), at <= "2020-01-01 03:00:00",
    as.Date("2020-01-05") < day, ifelse(x > 3, x, k), ifelse(g == "a", 1, 0), is.na(x), is.na(g),
    is.na(log(x - 3)), flag & x > 3, !flag, flag == TRUE, xor(flag, k > 3), pmin(x, 3),
    (x > 2) * 1, as.numeric(flag), as.integer(x), as.character(g) == "b", is.finite(x),
    ifelse(f == "a", "u", "v") == "u", g == f,
    ifelse(x > 3, "u", k) == "u"
  )
  for (code in table) {
    if (identical(code, quote(!(k %in% 1:1)))) code <- quote(!(k %in% 1))
    expected <- suppressWarnings(eval(code, data))
    found <- value(code, data)
    if (is.logical(expected)) found <- as.logical(found)
    expect_equal(found, if (is.numeric(expected)) as.double(expected) else expected,
      label = deparse(code))
    # Missing cells of a row affect only that row.
    gap <- data
    gap[4L, ] <- NA
    expect_identical(value(code, gap)[-4L], value(code, data)[-4L], label = deparse(code))
  }
})

test_that("formulas refuse ordering, arithmetic and date conversion of text, and %in% a column", {
  data <- rows_of_all()
  for (code in alist(g < "b", o > "a", f >= "b", code < "05", x + "1", log("2"), pmax(g, "b"),
                     as.Date(g), g %in% f, k %in% c(x, 1), c(x, 1), as.POSIXct(g) > 1)) {
    expect_error(value(code, data), class = "dpsc_error_argument", label = deparse(code))
  }
})

# In base R, one person's cell would change the whole column here.
test_that("in formulas one person's value does not change a value of another person", {
  data <- rows_of_all()
  check <- function(code, a, b) {
    # `evaluate_rowwise()` and `subset` accept these forms.
    expect_identical(cell_numbers(value(code, a))[-1L], cell_numbers(value(code, b))[-1L],
      label = deparse(code))
  }
  # An ordered factor gets one more level, or another order of levels.
  other <- data
  other$o <- factor(replace(data$g, 1, "zz"), c("zz", "c", "b", "a"), ordered = TRUE)
  for (code in alist(o == "zz", o == "b", o != "zz", o %in% "zz", o == f)) check(code, data, other)
  # One cell turns integers into doubles, text, or 64-bit integers.
  data$k[2L] <- 100000L
  whole <- replace(data, "k", list(c(7L, data$k[-1L])))
  real <- replace(data, "k", list(c(7.5, data$k[-1L])))
  text <- replace(data, "k", list(c("maybe", data$k[-1L])))
  for (code in alist(k == "100000", k * 1000000L, k %/% 3L, k %in% "100000",
    as.character(k) == "100000",
                     log(k), k > 3, ifelse(k > 3, k, 2), round(k / 3, 2), is.na(k), as.integer(k),
                     k * 1000000L > 2147483647L, ifelse(k > 3, k, "a") == "a",
                     ifelse(k > 3, "a", k) == "a")) {
    check(code, whole, real)
    check(code, whole, text)
    check(code, whole, replace(whole, "k", list(factor(text$k))))
  }
  if (requireNamespace("bit64", quietly = TRUE)) {
    long <- data
    long$k <- bit64::as.integer64(c(2^40, data$k[-1L]))
    for (code in alist(k * 2, k == 100000, k > 3)) check(code, whole, long)
  }
  # The class of this column has special methods.
  for (generic in c("as.vector", "as.double", "Ops", "Math", "is.na", "as.character")) {
    registerS3method(generic, "telling", function(x, ...) rep(max(unclass(x)), length(unclass(x))),
      envir = baseenv())
  }
  told <- replace(data, "x", list(structure(data$x, class = "telling")))
  tells <- replace(data, "x", list(structure(replace(data$x, 1, 1e6), class = "telling")))
  for (code in alist(x, x * 2, log(x), x > 3, is.na(x))) check(code, told, tells)
})

test_that("in a panel's formula a cell changes only its person's row; text counts as missing", {
  p <- long_panel(40, 4, 2)
  data <- p$data
  data$n <- seq_len(nrow(data)) %% 7L
  fit <- function(data) {
    read_panel(I(y * (n == "3") + n * 1000000L) ~ on, data, c("unit", "week"))$donors
  }
  other <- data
  donor <- which(other$unit != other$unit[which(other$on == 1)[[1L]]])[[1L]]
  other$n[[donor]] <- 2.5
  mine <- match(other$unit[[donor]], sort(unique(
    other$unit[!other$unit %in% other$unit[other$on == 1]]), method = "radix"))
  expect_identical(fit(data)[-mine, ], fit(other)[-mine, ])
  # Text in one person's outcome counts as missing, which a roster allows.
  text <- data
  text$y <- replace(as.character(text$y), donor, "maybe")
  gap <- data
  gap$y <- as.double(as.character(gap$y))
  gap$y[[donor]] <- NA
  treated <- unique(data$unit[data$on == 1])
  units <- unique(data$unit)
  roster <- dp_roster(units, ifelse(units %in% treated, min(data$week[data$on == 1]), NA),
    sort(unique(data$week)))
  filled <- function(data) {
    read_panel(y ~ on, data, c("unit", "week"), roster, c(-1, 1))$donors
  }
  expect_identical(filled(text), filled(gap))
})
