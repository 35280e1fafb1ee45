# Numbers as SQL text that every engine reads as the same doubles, with their rounding and the grid
# cells computed from them.

#' A whole number as text
#' @noRd
sql_whole <- function(x) {
  stopifnot(is.finite(x), x == floor(x))
  text <- sprintf("%.0f", x)
  if (x < 0) paste0("(", text, ")") else text
}

#' A double as text that every engine reads as this double, by a whole number times or over powers
#' of two
#' @noRd
sql_real <- function(x, dialect) {
  stopifnot(is.finite(x))
  parts <- binary_parts(abs(x))
  cast <- function(text) paste0("CAST(", text, " AS ", dialect$real, ")")
  out <- cast(sprintf("%.0f", parts$whole))
  left <- abs(parts$power)
  while (left > 0) {
    step <- min(left, 62)
    out <- paste(out, if (parts$power < 0) "/" else "*", cast(sprintf("%.0f", 2^step)))
    left <- left - step
  }
  paste0("(", if (x < 0) "-", out, ")")
}

#' `x = whole * 2^power` with an odd `whole` below 2^53
#' @noRd
binary_parts <- function(x) {
  if (x == 0) {
    return(list(whole = 0, power = 0))
  }
  text <- regmatches(
    sprintf("%a", x), regexec("^0x([01])[.]?([0-9a-f]*)p([-+][0-9]+)$", sprintf("%a", x))
  )[[1L]]
  digits <- strtoi(strsplit(paste0(text[[2L]], text[[3L]]), "")[[1L]], 16L)
  whole <- Reduce(function(sum, digit) 16 * sum + digit, digits, 0)
  power <- as.integer(text[[4L]]) - 4L * nchar(text[[3L]])
  while (whole %% 2 == 0) {
    whole <- whole / 2
    power <- power + 1L
  }
  list(whole = whole, power = power)
}

#' The nearest whole number, ties to even, as in the core
#' @noRd
sql_rint <- function(x, dialect) {
  magic <- paste0("CAST(6755399441055744 AS ", dialect$real, ")")
  paste0("((", x, " + ", magic, ") - ", magic, ")")
}

sql_cast <- function(x, type) paste0("CAST(", x, " AS ", type, ")")

#' A sum or a count that leaves the engine, as a double, which is exact below 2^53
#'
#' A driver may return integers beyond 32 bits as missing. A sum over no rows is 0.
#' @param x (`character`)\cr summands.
#' @noRd
sql_sum <- function(x, name, dialect) {
  total <- paste0("COALESCE(SUM(", x, "), 0)")
  paste(sql_cast(total, dialect$real), "AS", name)
}

#' @param of (`string`)\cr the counted cells, of which NULL is not counted.
#' @noRd
sql_count <- function(name, dialect, of = "*") {
  paste(sql_cast(paste0("COUNT(", of, ")"), dialect$real), "AS", name)
}

#' A number in steps from a centre, clipped to a limit and rounded
#'
#' Distant values are clipped before any multiplication or division, and values next to the centre
#' are set to zero, so that overflow or underflow cannot cause an error in an engine.
#' @param x (`string`)\cr a double.
#' @param steps (`function`)\cr a function of the distance to the centre and of a writer
#'   of numbers.
#' @param reach,tiny (`number`)\cr distances from the centre in units of `x`: `reach` is certainly
#'   beyond the limit, and `tiny` is certainly less than half a step.
#' @noRd
sql_rounded <- function(x, centre, steps, limit, reach, tiny, dialect) {
  real <- function(value) sql_real(value, dialect)
  limit <- sql_whole(limit)
  off <- paste0("(", x, " - ", real(centre), ")")
  v <- steps(off, real)
  ends <- centre + c(-reach, reach)
  paste0(
    "CASE ",
    if (is.finite(ends[[2L]])) paste0("WHEN ", x, " > ", real(ends[[2L]]), " THEN ", limit, " "),
    if (is.finite(ends[[1L]])) paste0("WHEN ", x, " < ", real(ends[[1L]]), " THEN -", limit, " "),
    "WHEN ", off, " < ", real(tiny), " AND ", off, " > ", real(-tiny), " THEN 0 ",
    "WHEN ", v, " > ", limit, " THEN ", limit, " ",
    "WHEN ", v, " < -", limit, " THEN -", limit, " ",
    "ELSE ", sql_cast(sql_rint(v, dialect), dialect$small), " END"
  )
}

#' One person's cell on the grid: clipped and rounded
#' @param y (`string`)\cr the outcome, a double.
#' @param map (`list`)\cr `centre`, `scale`, `limit`, with one number each. PUBLIC.
#' @noRd
sql_cell <- function(y, map, dialect) {
  sql_rounded(y, map$centre, function(off, real) paste0("(", off, " * ", real(map$scale), ")"),
    map$limit, 2 * (map$limit + 1) / map$scale, 0.25 / map$scale, dialect)
}

#' An unchanged outcome, or the cell of an outcome in period t
#' @noRd
sql_outcome <- function(y, t, map, dialect) {
  if (is.null(map)) {
    return(y)
  }
  at <- if (is.null(map$times)) t else map$times[[t]]
  sql_cell(y, list(centre = map$centre[[at]], scale = map$scale, limit = map$limit[[at]]), dialect)
}

sql_is_finite <- function(x, dialect) {
  largest <- sql_real(.Machine$double.xmax, dialect)
  paste0(x, " >= -", largest, " AND ", x, " <= ", largest)
}

#' Dates with times as literals without a type, in the time zone of the driver and with its offset
#'
#' Postgres reads such a literal by the type of the column: the offset counts if the type has a time
#' zone, and the local time otherwise, which the driver has read in its own time zone.
#' @noRd
postgres_instants <- function(con, values) {
  zone <- attr(con, "timezone", exact = TRUE) %||% "UTC"
  # Half a microsecond more is cut to the nearest microsecond.
  text <- paste0("'", format(values + 5e-7, "%Y-%m-%d %H:%M:%OS6%z", tz = zone), "'")
  ifelse(is.finite(values), text, as.character(DBI::dbQuoteLiteral(con, values)))
}

#' The numbers of rows and of present rows
#' @noRd
sql_there <- function(dialect, present = "a") {
  present <- paste("CASE WHEN", present, "> 0 THEN 1 ELSE 0 END")
  paste0(sql_count("n", dialect), ", ", sql_sum(present, "there", dialect))
}
