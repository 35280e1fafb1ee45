# SQL for panels with gaps: the units of a roster in a temporary table, their rows joined to it, and
# the gaps of each person filled from that person's values, as by `interpolate_rows()`.

#' Store units in a temporary table, so that no statement contains a unit
#' @param units (`vector`)\cr units of a roster, or positions of people, in order.
#' @param charged (`string`)\cr a sentence on a charge that was made.
#' @return The quoted name of the table.
#' @noRd
keep_units <- function(table, name, units, charged = NULL) {
  if (!write_rows(table$con, name, data.frame(dpsc_u = units, dpsc_r = seq_along(units)))) {
    abort(c(
      "Units could not be written into a temporary table of the database.",
      i = "Check that the database's user may create temporary tables. The error is not shown.",
      i = charged
    ), c("engine", "panel"))
  }
  quoted(table$con, name)
}

#' All rows of units, including units without rows
#' @param where (`string`)\cr further condition on the units' numbers.
#' @noRd
joined_units <- function(table, units, where = NULL) {
  # Two rows of the roster must not find the rows of one person.
  named <- sql_index(table, 1L, "ro.dpsc_u")
  own <- index_column(table, 1L, "s.")
  from <- table$from
  if (table$dialect$loose) {
    # SQLite makes an index of a column for this join, but not of an expression.
    from <- paste0("(SELECT s.*, ", own, " AS dpsc_v FROM ", from, table$dialect$fence, ") s")
    own <- "s.dpsc_v"
  }
  paste0(
    "(SELECT ro.dpsc_r AS dpsc_r, s.* FROM ", units, " ro LEFT JOIN ", from, " ON ", own, " = ",
    named, if (!is.null(where)) paste0(" WHERE ", where),
    ") g"
  )
}

#' One row per person of a roster, with gaps filled, in the form of [sql_wide()]
#' @param from (`string`)\cr rows of the roster's people, numbered `dpsc_r`.
#' @param roster (`list`)\cr `T0`, and `middle`, the value of a row without a past.
#' @noRd
sql_filled <- function(from, time, outcome, periods, map, roster, dialect, more = NULL) {
  k <- seq_along(periods)
  y <- sql_cast(outcome, dialect$real)
  observed <- vapply(k, function(t) {
    paste0("MAX(CASE WHEN ", time, " = ", periods[[t]], " AND ", sql_is_finite(y, dialect),
      " THEN ", y, " END) AS y", t)
  }, "")
  people <- paste0(
    "(SELECT dpsc_r AS r, ", paste(c(observed, more$inner), collapse = ", "), " FROM ", from,
    " GROUP BY dpsc_r", dialect$fence, ") a"
  )
  kept <- sub("^.* AS ", "", more$inner)
  last <- length(k)
  around <- unlist(lapply(k, function(t) {
    c(
      first_known(rev(k[k < t]), FALSE, "b", t, dialect),
      first_known(rev(k[k < t]), TRUE, "i", t, dialect),
      first_known(k[k > t], FALSE, "d", t, dialect),
      first_known(k[k > t], TRUE, "j", t, dialect)
    )
  }))
  none <- paste0(
    "CASE WHEN ", paste0("y", seq_len(roster$T0), " IS NULL", collapse = " AND "),
    " THEN 1 ELSE 0 END AS never"
  )
  known <- sql_level(c("r", paste0("y", k), around, none, kept), people, "b", dialect)
  steps <- sql_level(c(
    "r", "never", paste0("y", k), paste0("b", k), paste0("d", k),
    paste0(sql_cast(paste0(k, " - i", k), dialect$real), " / ",
      sql_cast(paste0("j", k, " - i", k), dialect$real), " AS h", k),
    paste0(vapply(k, sql_difference, "", dialect), " AS g", k), kept
  ), known, "c", dialect)
  values <- vapply(k, sql_between, "", roster$middle, dialect)
  filled <- sql_level(c("r", paste0(values, " AS v", k), kept), steps, "d", dialect)
  cells <- vapply(k, function(t) {
    v <- paste0("v", t)
    if (is.null(map)) return(v)
    paste0("CASE WHEN ", v, " IS NOT NULL THEN ", sql_outcome(v, t, map, dialect), " END")
  }, "")
  gridded <- sql_level(c("r", paste0(cells, " AS c", k), kept), filled, "e", dialect)
  columns <- if (is.null(more)) {
    paste0("c", k, " AS q", k)
  } else {
    # If gaps are allowed, no cell counts as missing.
    sql_columns_of(paste0("c", k), utils::modifyList(more, list(whole = "1 = 1")))
  }
  paste0(
    "SELECT r, ", last, " AS k, ", last, " AS ok, ", paste(columns, collapse = ", "), " FROM ",
    gridded
  )
}

#' The first known outcome of several periods, or its position; NULL if no outcome is known
#' @noRd
first_known <- function(places, place, name, t, dialect) {
  if (!length(places)) {
    return(paste0(sql_cast("NULL", if (place) dialect$whole else dialect$real), " AS ", name, t))
  }
  said <- if (place) places else paste0("y", places)
  paste0(
    "CASE ", paste0("WHEN y", places, " IS NOT NULL THEN ", said, collapse = " "),
    " END AS ", name, t
  )
}

#' The difference of two neighbours, or NULL if it overflows
#'
#' Neighbours below 2^970, half a step of the largest double, cannot make a difference overflow, and
#' 2^970 itself can, since the sum of the largest double and 2^970 rounds to infinity.
#' Halves of larger numbers are exact, and their difference is rounded like the difference.
#' @noRd
sql_difference <- function(t, dialect) {
  b <- paste0("b", t)
  d <- paste0("d", t)
  large <- sql_real(2^970, dialect)
  half <- sql_real(.Machine$double.xmax / 2, dialect)
  two <- sql_real(2, dialect)
  paste0(
    "CASE WHEN ABS(", b, ") >= ", large, " AND ABS(", d, ") >= ", large, " THEN CASE WHEN ABS(", d,
    " / ", two, " - ", b, " / ", two, ") > ", half, " THEN NULL ELSE ", d, " - ", b, " END ELSE ",
    d, " - ", b, " END"
  )
}

#' The value of a period, or an interpolated value as in `interpolate_rows()`
#'
#' Products that would underflow are avoided, since some engines stop with an error.
#' @noRd
sql_between <- function(t, middle, dialect) {
  at <- function(name) paste0(name, t)
  tiny <- sql_real(2^-1000, dialect)
  never <- if (is.na(middle[[t]])) "NULL" else sql_real(middle[[t]], dialect)
  one <- sql_real(1, dialect)
  paste0(
    "CASE WHEN never = 1 THEN ", never, " WHEN ", at("y"), " IS NOT NULL THEN ", at("y"), " WHEN ",
    at("b"), " IS NULL THEN ", at("d"), " WHEN ", at("d"), " IS NULL THEN ", at("b"), " WHEN ",
    at("g"), " IS NULL THEN (", one, " - ", at("h"), ") * ", at("b"), " + ", at("h"), " * ",
    at("d"), " WHEN ", at("g"), " < ", tiny, " AND ", at("g"), " > -", tiny, " THEN ", at("b"),
    " ELSE ", at("b"), " + ", at("h"), " * ", at("g"), " END"
  )
}
