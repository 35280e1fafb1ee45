# SQL text for sums over people of a regression: from a row's columns to integers on the core's
# grid, and from these to the integers of inst/include/dpsc/rows/people.hpp, bit for bit. The rules
# are the rules of R/ppl-source-sql.R: only integers are summed, constants are integers divided by
# powers of two, and each level of the query makes one step. No code here runs a query. The
# statements avoid overflow, underflow and casts that an engine may refuse.

# Number of grid steps in half a range.
grid_one <- 1048576

#' A finite number on the grid, which is (x - centre) / half, clipped to one and rounded to steps
#' @noRd
sql_grid <- function(x, centre, half, dialect) {
  sql_rounded(x, centre, function(off, real) {
    paste0("((", off, " / ", real(half), ") * ", real(grid_one), ")")
  }, grid_one, 2 * half, 0.25 * half / grid_one, dialect)
}

#' The square root of a case weight over the largest weight; zero if this underflows
#' @noRd
sql_presence <- function(w, max_weight, dialect) {
  most <- sql_real(max_weight, dialect)
  paste0(
    "CASE WHEN ", w, " >= ", most, " THEN ", sql_real(1, dialect), " WHEN ", w, " < ",
    sql_real(least_quotient(max_weight), dialect), " THEN ", sql_real(0, dialect), " ELSE SQRT(",
    w, " / ", most, ") END"
  )
}

#' The smallest double whose quotient by a given number is not zero
#' @noRd
least_quotient <- function(x) {
  step <- function(t) max(2^-1074, 2^(floor(log2(t)) - 52))
  t <- max(2^-1074, (x * 2^-500) * 2^-575)
  t <- max(2^-1074, t - 8 * step(t))
  while (t / x == 0) t <- t + step(t)
  t
}

#' Query for rows of people as integers q1, q2, ... and presence a
#'
#' @param from (`string`)\cr the SQL after FROM.
#' @param columns (`character`, named)\cr the needed values of a row, as expressions of its columns.
#' @param values (`character`)\cr one expression per variable in terms of these names, with a finite
#'   number as value, 0 or 1 for an indicator, or NULL for a missing value.
#' @param design (`list`)\cr from `lm_design()`.
#' @param keep (`string` or `NULL`)\cr a condition in terms of these names.
#' @param weight (`string` or `NULL`)\cr a number in terms of these names.
#' @param person (`string` or `NULL`)\cr identifier of people, who are numbered by `dpsc_p`.
#' @noRd
sql_people <- function(from, columns, values, design, keep, weight, max_weight, dialect,
                       person = NULL) {
  k <- seq_along(values)
  own <- of_person(design)
  taken <- sql_level(c(
    paste(columns, "AS", names(columns)),
    if (!is.null(person)) paste0("DENSE_RANK() OVER (ORDER BY ", person, ") AS dpsc_p")
  ), from, "s1", dialect)
  made <- sql_level(c(
    paste0(values, " AS x", k), if (!is.null(weight)) paste(weight, "AS w"),
    if (!is.null(keep)) paste("CASE WHEN", keep, "THEN 1 ELSE 0 END AS kept"), own
  ), taken, "s2", dialect)
  there <- paste0(
    "CASE WHEN ", paste0("x", k, " IS NOT NULL", collapse = " AND "),
    if (!is.null(weight)) " AND w IS NOT NULL", if (!is.null(keep)) " AND kept = 1",
    " THEN 1 ELSE 0 END AS there"
  )
  known <- sql_level(
    c(paste0("x", k), if (!is.null(weight)) "w", there, own), made, "s3", dialect
  )
  cells <- vapply(k, function(j) {
    x <- paste0("x", j)
    cell <- if (design$indicator[[j]]) {
      paste0("CASE WHEN ", x, " = 1 THEN ", sql_whole(grid_one), " ELSE -", sql_whole(grid_one),
        " END")
    } else {
      sql_grid(x, design$centre[[j]], design$half[[j]], dialect)
    }
    paste0("CASE WHEN there = 1 THEN ", cell, " ELSE 0 END AS q", j)
  }, "")
  presence <- if (is.null(weight)) {
    "there AS a"
  } else {
    paste0("CASE WHEN there = 1 THEN ", sql_presence("w", max_weight, dialect), " ELSE ",
      sql_real(0, dialect), " END AS a")
  }
  paste0("SELECT ", paste(c(cells, presence, own), collapse = ", "), " FROM ", known)
}

#' The column that numbers people with several rows
#' @noRd
of_person <- function(design) if (isTRUE(design$person)) "dpsc_p"

# Questions ---------------------------------------------------------------------------------------

#' Query for the number of rows of a temporary table, `n`, or for people with several rows the
#' number of people and then of rows
#' @noRd
sql_size <- function(table, dialect, person = FALSE) {
  counted <- if (person) {
    c(sql_count("n", dialect, "DISTINCT dpsc_p"), sql_count("m", dialect))
  } else {
    sql_count("n", dialect)
  }
  paste("SELECT", paste(counted, collapse = ", "), "FROM", table)
}

#' Counts of people in cells of equal width of a variable: one row per cell, with its position, from
#' 0, and its count
#' @noRd
sql_medians <- function(table, variable, question, dialect, design = NULL) {
  at <- paste0("(", sql_cast(paste0("q", variable), dialect$whole), " + ", sql_whole(grid_one), ")")
  cell <- paste0(at, " - (", dialect$modulo(at, sql_whole(question$width)), ")")
  sql_counts(cell, paste(table, "WHERE a > 0"), design, dialect)
}

#' Counts of people by limit: the first limit, numbered from 0, that is at least a person's distance
#' from the middle
#' @noRd
sql_scales <- function(table, variable, middle, limits, dialect, design = NULL) {
  last <- length(limits)
  first <- paste0("WHEN far <= ", vapply(limits[-last], sql_whole, ""), " THEN ",
    seq_len(last - 1L) - 1L, collapse = " ")
  far <- paste0("ABS(", sql_cast(paste0("q", variable), dialect$whole), " - ",
    sql_whole(middle), ") AS far")
  rows <- sql_level(c(far, of_person(design)), paste(table, "WHERE a > 0"), "b", dialect)
  sql_counts(paste0("CASE ", first, " ELSE ", last - 1L, " END"), rows, design, dialect)
}

#' Counts `k` by cell `f`, of rows or, for people with several rows, of shares of people
#' @noRd
sql_counts <- function(cell, rows, design, dialect) {
  if (isTRUE(design$person)) {
    return(sql_shares(cell, rows, dialect))
  }
  paste0(
    "SELECT f, ", sql_count("k", dialect), " FROM (SELECT ", cell, " AS f FROM ", rows,
    ") c GROUP BY f"
  )
}

#' Columns of the model e1, e2, ..., the response last, from q1, q2, ...
#' @param design (`list`)\cr from `lm_design()`.
#' @param question (`list`)\cr `median`, `scale`, `gain`.
#' @noRd
sql_model <- function(table, design, question, dialect) {
  k <- seq_along(design$indicator)
  kept <- c("a", of_person(design))
  wide <- sql_level(
    c(paste0(sql_cast(paste0("q", k), dialect$whole), " AS q", k), kept), table, "m1", dialect
  )
  is_variable <- vapply(design$columns, function(column) {
    length(column$variables) == 1L && column$powers[[1L]] == 1L
  }, NA)
  p <- length(design$columns)
  used <- sort(unique(unlist(lapply(design$columns[!is_variable], `[[`, "variables"))))
  if (length(used)) {
    factors <- vapply(used, function(j) sql_factor(j, design, question, dialect), "")
    wide <- sql_level(c(paste0("q", k), kept, paste0(factors, " AS t", used)), wide, "m2", dialect)
  }
  products <- vapply(which(!is_variable), function(c) {
    column <- design$columns[[c]]
    parts <- rep(paste0("t", column$variables), column$powers)
    paste0("((", paste(parts, collapse = " * "), ") * ",
      sql_real(grid_one / question$gain[[c]], dialect), ") AS e", c)
  }, "")
  response <- length(design$indicator)
  plain <- c(vapply(which(is_variable), function(c) {
    paste0("q", design$columns[[c]]$variables, " AS e", c)
  }, ""), paste0("q", response, " AS e", p + 1L))
  out <- sql_level(c(plain, products, kept), wide, "m3", dialect)
  if (!length(products)) {
    return(out)
  }
  one <- sql_real(grid_one, dialect)
  cut <- vapply(which(!is_variable), function(c) {
    e <- paste0("e", c)
    paste0("CASE WHEN ", e, " > ", one, " THEN ", sql_whole(grid_one), " WHEN ", e, " < -", one,
      " THEN -", sql_whole(grid_one), " ELSE ", sql_cast(sql_rint(e, dialect), dialect$whole),
      " END AS ", e)
  }, "")
  sql_level(c(paste0("e", c(which(is_variable), p + 1L)), cut, kept), out, "m4", dialect)
}

#' A variable in a product, which is 0 or 1, or standardised and clipped at eight
#' @noRd
sql_factor <- function(j, design, question, dialect) {
  real <- function(x) sql_real(x, dialect)
  x <- paste0("(", sql_cast(paste0("q", j), dialect$real), " / ", real(grid_one), ")")
  if (design$indicator[[j]]) {
    return(paste0("((", x, " + ", real(1), ") / ", real(2), ")"))
  }
  t <- paste0("((", x, " - ", real(question$median[[j]]), ") / ", real(question$scale[[j]]), ")")
  paste0("CASE WHEN ", t, " > ", real(8), " THEN ", real(8), " WHEN ", t, " < ", real(-8),
    " THEN ", real(-8), " ELSE ", t, " END")
}

#' Features z1, ..., zp of regressors, zr of the residual, and nn, the squared length of z1, ..., zp
#' @noRd
sql_residuals <- function(table, design, question, dialect) {
  map <- question$map
  p <- length(design$columns)
  kept <- c("a", of_person(design))
  names <- c(paste0("z", seq_len(p)), "zr")
  features <- vapply(seq_len(p + 1L), function(j) {
    paste(sql_feature(paste0("e", seq_len(p + 1L)), map, j, dialect), "AS", names[[j]])
  }, "")
  z <- names[seq_len(p)]
  sql_level(
    c(names, kept, paste0(paste(z, z, sep = " * ", collapse = " + "), " AS nn")),
    sql_level(c(features, kept), sql_model(table, design, question, dialect), "b", dialect),
    "c", dialect
  )
}

#' Query with a single row n, there, b1, b2, ... on the people beyond each limit on |z|^2
#' @noRd
sql_lengths <- function(table, design, question, dialect) {
  limits <- vapply(question$limits, sql_whole, "")
  rows <- sql_residuals(table, design, question, dialect)
  sql_limits("a > 0 AND nn", limits, rows, design, dialect)
}

#' Rows beyond limits, or shares of people, in one row
#' @param value (`string`)\cr the compared value, after the conditions on a row.
#' @noRd
sql_limits <- function(value, limits, rows, design, dialect) {
  if (isTRUE(design$person)) {
    return(sql_limit_shares(value, limits, rows, dialect))
  }
  beyond <- paste("CASE WHEN", value, ">", limits, "THEN 1 ELSE 0 END")
  paste0(
    "SELECT ", sql_there(dialect), ", ",
    paste(sql_sum(beyond, paste0("b", seq_along(limits)), dialect), collapse = ", "),
    " FROM ", rows
  )
}

#' Features with a factor s0 that clips a row to the radius
#' @noRd
sql_shortened <- function(table, design, question, dialect) {
  z <- c(paste0("z", seq_along(design$columns)), "zr", "a", of_person(design))
  radius <- sql_real(question$radius, dialect)
  norms <- sql_level(
    c(z, paste0("SQRT(", sql_cast("nn", dialect$real), ") AS l")),
    sql_residuals(table, design, question, dialect), "d", dialect
  )
  sql_level(c(z, paste0(
    "CASE WHEN l <= ", radius, " THEN ", sql_real(1, dialect), " ELSE ", radius, " / l END AS s0"
  )), norms, "e", dialect)
}

#' Query on the people beyond each limit on the clipped residual
#' @noRd
sql_beyond <- function(table, design, question, dialect) {
  limits <- vapply(question$limits, sql_real, "", dialect)
  values <- sql_level(c(
    "a", of_person(design), paste0("((", sql_cast("ABS(zr)", dialect$real), " * a) * s0) AS v")
  ), sql_shortened(table, design, question, dialect), "g", dialect)
  sql_limits("v", limits, values, design, dialect)
}

#' Sums of products of clipped rows (w, r, k), or of their scores
#'
#' The final comparisons use the summed columns.
#' @return Queries with a single row each: n, there, and then, over all queries, g1_1, g1_2, g2_2,
#'   ...
#' @noRd
sql_products <- function(table, design, question, dialect) {
  p <- length(design$columns)
  real <- function(x) sql_real(x, dialect)
  z <- c(paste0("z", seq_len(p)), "zr")
  moved <- sql_level(
    c(
      paste0("(", sql_cast(z, dialect$real), " * (a * s0)) AS ", z), "(a * s0) AS s", "a",
      of_person(design)
    ),
    sql_shortened(table, design, question, dialect), "g", dialect
  )
  clip <- real(question$clip)
  small <- function(x) sql_cast(sql_rint(x, dialect), dialect$small)
  w <- paste0("w", seq_len(p))
  rows <- sql_level(c(
    paste0(vapply(paste0(z[seq_len(p)], " * ", real(question$zoom)), small, ""), " AS ", w),
    paste0(small(paste0(
      "CASE WHEN zr > ", clip, " THEN ", clip, " WHEN zr < -", clip, " THEN -", clip,
      " ELSE zr END * ", real(question$residual_zoom)
    )), " AS r"),
    paste0(small(paste0("s * ", real(question$constant))), " AS k"), "a", of_person(design)
  ), moved, "h", dialect)
  squares <- function(x) paste(x, x, sep = " * ", collapse = " + ")
  guard <- paste0(
    squares(w), " <= ", sql_whole(question$limit^2), " AND r <= ",
    sql_whole(question$residual_limit), " AND r >= -", sql_whole(question$residual_limit),
    " AND k >= 0 AND k <= ", sql_whole(question$constant)
  )
  if (isTRUE(design$person)) {
    return(sql_person_products(w, rows, guard, question, dialect))
  }
  summed <- c(w, "r", "k")
  if (question$kind == "scores") {
    summed <- paste0("g", c(seq_len(p), "k"))
    factors <- sql_level(c(w, "k", "a", paste0(
      "(", sql_cast("r", dialect$real), " * ", real(question$score_zoom), ") AS f"
    )), paste(rows, "WHERE", guard), "i", dialect)
    rows <- sql_level(c("a", paste0(
      vapply(paste0(sql_cast(c(w, "k"), dialect$real), " * f"), small, ""), " AS ", summed
    )), factors, "j", dialect)
    guard <- paste0(squares(summed), " <= ", sql_whole(question$score_limit^2))
  }
  at <- moment_pairs(length(summed))
  sums <- sql_sum(
    paste(summed[at$i], "*", summed[at$j]), paste0("g", at$i, "_", at$j), dialect
  )
  sql_in_parts(sql_there(dialect), sums, paste(rows, "WHERE", guard))
}
