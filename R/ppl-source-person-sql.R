# SQL text for sums over people with several rows: the integers of
# inst/include/dpsc/mechanism/person.hpp, bit for bit. The column `dpsc_p` numbers the people.

#' The unit of counts, as a share of a person
#' @noRd
share_one <- 1048576

#' floor(a / b) of integers, for any rule by which an engine divides integers
#' @noRd
sql_part <- function(a, dialect) {
  a <- paste0("(", a, ")")
  sql_cast(paste0("(", a, " - ", dialect$modulo(a, "m"), ") / m"), dialect$whole)
}

#' Shares of people by cell, cumulated within each person and rounded down to whole units
#' @param cell (`string`)\cr SQL for a cell of a row.
#' @param rows (`string`)\cr the SQL after FROM, for the used rows.
#' @noRd
sql_shares <- function(cell, rows, dialect) {
  cells <- sql_level(c("dpsc_p", paste(cell, "AS f")), rows, "c1", dialect)
  counted <- sql_level(c("dpsc_p", "f", "COUNT(*) AS k"), paste(cells, "GROUP BY dpsc_p, f"), "c2",
    dialect)
  upto <- sql_level(c("f", "k", "SUM(k) OVER (PARTITION BY dpsc_p ORDER BY f) AS upto",
    "SUM(k) OVER (PARTITION BY dpsc_p) AS m"), counted, "c3", dialect)
  one <- paste(sql_whole(share_one), "* ")
  part <- paste0(sql_part(paste0(one, "upto"), dialect), " - ",
    sql_part(paste0(one, "(upto - k)"), dialect))
  paste0("SELECT f, ", sql_sum(part, "k", dialect), " FROM ", upto, " GROUP BY f")
}

# For a query level with one row per person, where m is the person's number of rows that count.
sql_people_there <- function(dialect) sql_there(dialect, "m")
sql_rows_there <- "SUM(CASE WHEN a > 0 THEN 1 ELSE 0 END) AS m"

#' Shares of people beyond limits, in one row
#' @noRd
sql_limit_shares <- function(value, limits, rows, dialect) {
  k <- seq_along(limits)
  within <- paste0("SUM(CASE WHEN a > 0 AND ", value, " <= ", limits, " THEN 1 ELSE 0 END) AS c", k)
  people <- sql_level(
    c("dpsc_p", sql_rows_there, within), paste(rows, "GROUP BY dpsc_p"), "p1", dialect
  )
  one <- sql_whole(share_one)
  parts <- vapply(k, function(i) {
    part <- sql_part(paste0(one, " * c", i), dialect)
    share <- paste0("CASE WHEN m = 0 THEN 0 ELSE ", one, " - ", part, " END")
    sql_sum(share, paste0("b", i), dialect)
  }, "")
  counts <- c(sql_people_there(dialect), parts)
  paste("SELECT", paste(counts, collapse = ", "), "FROM", people)
}

#' Sums over people of means of u u', or of products of mean scores
#' @param w (`character`)\cr the columns of whitened regressors; `r` and `k` follow.
#' @param guard (`string`)\cr a condition on every row; a person with a row that violates the
#'   condition is omitted, which a later check detects.
#' @noRd
sql_person_products <- function(w, rows, guard, question, dialect) {
  scored <- question$kind == "scores"
  u <- if (scored) c(w, "k") else c(w, "r", "k")
  at <- if (scored) list(i = u, j = "r") else lapply(moment_pairs(length(u)), function(k) u[k])
  sums <- paste0("SUM(", at$i, " * ", at$j, ") AS g", seq_along(at$i))
  bad <- paste("SUM(CASE WHEN", guard, "THEN 0 ELSE 1 END) AS bad")
  people <- sql_level(
    c("dpsc_p", sql_rows_there, bad, sums), paste(rows, "GROUP BY dpsc_p"), "p1", dialect
  )
  if (scored) {
    sql_mean_scores(u, people, question, dialect)
  } else {
    sql_mean_products(length(sums), people, question, dialect)
  }
}

#' One score per person: the rounded mean
#' @noRd
sql_mean_scores <- function(u, people, question, dialect) {
  g <- paste0("g", seq_along(u))
  means <- sql_level(c("m", "bad", paste0("CASE WHEN m = 0 THEN 0 ELSE ", vapply(g, function(one) {
    mean <- paste0("(", sql_cast(one, dialect$real), " / ", sql_cast("m", dialect$real), ")")
    sql_cast(
      sql_rint(paste0("(", mean, " * ", sql_real(question$score_zoom, dialect), ")"), dialect),
      dialect$small
    )
  }, ""), " END AS ", g)), people, "p2", dialect)
  at <- moment_pairs(length(u))
  squares <- paste(g, g, sep = " * ", collapse = " + ")
  sums <- sql_sum(paste(g[at$i], "*", g[at$j]), paste0("t", seq_along(at$i)), dialect)
  paste0("SELECT ", sql_people_there(dialect), ", ", paste(sums, collapse = ", "), " FROM ",
    means, " WHERE bad = 0 AND ", squares, " <= ", sql_whole(question$score_limit^2))
}

#' A mean of products, unchanged if it is an integer, otherwise shrunk and rounded
#' @noRd
sql_mean_products <- function(count, people, question, dialect) {
  g <- paste0("g", seq_len(count))
  # A sum of remainders is a short expression; a chain of AND would be deeply nested.
  left <- paste0("ABS(", dialect$modulo(g, "m"), ")")
  whole <- sql_level(c("m", "bad", g, paste0(
    "CASE WHEN m = 0 THEN 0 ELSE ", sql_balanced(left), " END AS rest"
  )), people, "p2", dialect)
  real <- function(x) sql_cast(x, dialect$real)
  rounded <- vapply(g, function(one) {
    mean <- paste0("(", real(one), " / ", real("m"), ")")
    kept <- sql_rint(paste0("(", sql_real(question$keep, dialect), " * ", mean, ")"), dialect)
    sql_cast(kept, dialect$whole)
  }, "")
  made <- sql_level(c("m", paste0(
    "CASE WHEN m = 0 THEN 0 WHEN rest = 0 THEN ", sql_cast(paste(g, "/ m"), dialect$whole),
    " ELSE ", rounded, " END AS t", seq_len(count)
  )), paste(whole, "WHERE bad = 0"), "p3", dialect)
  sums <- sql_sum(paste0("t", seq_len(count)), paste0("s", seq_len(count)), dialect)
  paste0("SELECT ", sql_people_there(dialect), ", ", paste(sums, collapse = ", "), " FROM ", made)
}

#' A sum of many terms in brackets, with logarithmic depth
#' @noRd
sql_balanced <- function(terms) {
  while (length(terms) > 1L) {
    odd <- seq(1L, length(terms), by = 2L)
    terms <- vapply(odd, function(i) {
      if (i == length(terms)) terms[[i]] else paste0("(", terms[[i]], " + ", terms[[i + 1L]], ")")
    }, "")
  }
  terms
}

#' Refuse columns beyond the limit of a query by person
#' @noRd
check_person_columns <- function(columns) {
  count <- length(columns$columns)
  if (count > 30L) {
    abort(c(
      "With {.arg person} a database computes sums of at most 30 columns.",
      x = "The formula gives {count} columns.", i = "Set {.code compute = \"here\"}."
    ), "argument")
  }
}
