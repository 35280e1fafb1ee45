# Cells of an engine's columns as SQL, by the rule of R/ppl-cells.R. The engine reports the type of
# a column without reading rows, so the type does not depend on the cells.
#
# Engines convert text to numbers in different ways, some with an error. So text is converted here,
# block by block, or when a file is copied (R/ppl-source-files.R), which stores a number beside each
# cell.

#' Names and contents of columns in queries about a row
#' @param given (`list` or `NULL`)\cr checked bounds by name.
#' @return A list: `short`, columns in SQL, strings in the form for comparisons by bytes; `names`,
#'   their quoted names; `types`, from [column_types()]; `numbers`, names of columns with a number
#'   beside each cell; `given`, `dialect`; `quote`, a function that quotes strings.
#' @noRd
cell_row <- function(table, names, given = NULL) {
  con <- table$con
  types <- column_types(table, names)
  own <- short <- stats::setNames(lapply(names, quoted, con = con), names)
  is_text <- types == "text"
  short[is_text] <- lapply(short[is_text], table$dialect$order)
  list(
    short = short, names = own, types = types, numbers = table$numbers, given = given,
    dialect = table$dialect,
    quote = function(x) as.character(DBI::dbQuoteString(con, x))
  )
}

#' Content of columns, without reading rows
#' @return By name: `"number"`; `"exact"`, with any number of decimal digits; `"text"`; `"cell"`,
#'   text of a file with a number beside the text; `"flag"`; `"any"` or `"other"`.
#' @noRd
column_types <- function(table, names) {
  looked <- run_sql(table$con, paste("SELECT * FROM", table$from, "WHERE 1 = 0"), TRUE,
    what = "Inspecting the table"
  )
  types <- vapply(looked[names], function(x) {
    switch(cell_kind(x),
      text = , factor = "text", number = "number",
      # SQLite has no logical type and reports logical values, or raw bytes, for columns of unknown
      # type.
      flag = if (table$dialect$loose) "any" else "flag", if (table$dialect$loose) "any" else "other"
    )
  }, "")
  types[types == "text" & names %in% names(table$numbers)] <- "cell"
  numbers <- which(types == "number")
  if (length(numbers) && !is.null(table$dialect$type)) {
    asked <- vapply(names[numbers], function(name) {
      table$dialect$type(quoted(table$con, name), table$from)
    }, "")
    said <- run_sql(table$con, paste("SELECT", paste(asked, "AS", paste0("t", seq_along(asked)),
      collapse = ", ")), TRUE, what = "Inspecting the table")
    types[numbers[!unlist(said) %in% table$dialect$doubles]] <- "exact"
  }
  types
}

#' A column as a double, NULL where it contains no number
#' @section Errors: `dpsc_error_data` for text, by its type.
#' @noRd
number_column <- function(name, row) {
  column <- row$short[[name]]
  switch(row$types[[name]],
    double = column,
    number = row$dialect$number(column),
    exact = row$dialect$exact(column),
    any = paste0("(", row$dialect$number(column), ")"),
    cell = row$numbers[[name]],
    flag = paste0("(CASE WHEN ", column, " THEN ", sql_real(1, row$dialect), " WHEN NOT ", column,
      " THEN ", sql_real(0, row$dialect), " END)"),
    abort(c(
      "Column {.code {name}} is not numeric in the database.",
      i = paste(
        "Cast it to numbers in the database, give its public levels in {.arg bounds}, or set",
        "{.code compute = \"here\"}."
      )
    ), c("data", "panel"))
  )
}

#' SQL condition that a column's cell equals this level
#' @noRd
holds_level <- function(name, level, row) {
  column <- row$short[[name]]
  type <- row$types[[name]]
  of_flag <- level %in% c("FALSE", "TRUE")
  if (type == "flag") {
    return(if (!of_flag) "(1 = 0)" else if (level == "TRUE") column else paste("NOT", column))
  }
  if (type == "text") {
    return(paste(column, "=", row$quote(level)))
  }
  # In an engine without a logical type, a logical value is 0 or 1.
  value <- text_numbers(level)
  # In an engine without strict types, a numeric column may contain text.
  of_any <- type == "any" || row$dialect$loose
  if (of_any && is.na(value)) {
    return(paste(column, "=", row$quote(level)))
  }
  if (is.na(value)) {
    return("(1 = 0)")
  }
  same <- sql_equals(number_column(name, row), value, row$dialect)
  if (of_any) paste0("(", same, " OR ", column, " = ", row$quote(level), ")") else same
}

#' SQL condition that a number equals a public number, which may be infinite
#' @noRd
sql_equals <- function(x, value, dialect) {
  largest <- sql_real(.Machine$double.xmax, dialect)
  if (is.finite(value)) {
    paste(x, "=", sql_real(value, dialect))
  } else if (value < 0) {
    paste0("(", x, " < -", largest, ")")
  } else {
    # Some engines sort NaN above all numbers and treat NaN as equal to -NaN.
    paste0("(", x, " > ", largest, " AND -", x, " < ", x, ")")
  }
}

#' An unchanged column in a condition on rows
#' @noRd
raw_operand <- function(name, row) {
  column <- row$short[[name]]
  switch(row$types[[name]],
    double = list(text = paste0("(", sql_within(column, NULL, row$dialect), ")"), type = "number"),
    text = list(text = column, type = "text"),
    flag = list(text = column, type = "flag")
  )
}

#' A variable of the formula in a condition, which is within its range or one of its levels
#' @noRd
bounded_operand <- function(name, row) {
  bound <- row$given[[name]]
  if (is.null(bound$levels)) {
    within <- sql_within(number_column(name, row), c(bound$lower, bound$upper), row$dialect)
    return(list(text = paste0("(", within, ")"), type = "number"))
  }
  holds <- vapply(bound$levels, holds_level, "", name = name, row = row)
  if (identical(bound$levels, c("FALSE", "TRUE"))) {
    return(flag_sql("(CASE WHEN ", holds[["TRUE"]], " THEN 1 WHEN ", holds[["FALSE"]],
      " THEN 0 END = 1)"))
  }
  shown <- if (isTRUE(bound$codes)) {
    vapply(as.double(bound$levels), sql_real, "", row$dialect)
  } else {
    row$quote(bound$levels)
  }
  list(
    text = paste0("(CASE ", paste0("WHEN ", holds, " THEN ", shown, collapse = " "), " END)"),
    type = if (isTRUE(bound$codes)) "number" else "text"
  )
}

#' A table with a column of doubles as outcome
#' @return The table, with `y`, the name of the outcome's column in SQL.
#' @section Errors: `dpsc_error_panel` for a column of text, by its type.
#' @noRd
with_outcome <- function(table, outcome) {
  row <- cell_row(table, outcome)
  type <- row$types[[outcome]]
  table$y <- quoted(table$con, outcome)
  if (type == "cell") {
    table$y <- table$numbers[[outcome]]
  } else if (type != "number" || table$dialect$loose) {
    table$from <- paste0("(SELECT s.*, ", number_column(outcome, row), " AS dpsc_y FROM ",
      table$from, ") s")
    table$y <- "dpsc_y"
  }
  table
}

#' Cells of treated people for R, with the outcome first and then the covariates
#'
#' Drivers give a column the type of its first value. Therefore every cell is read separately, by
#' the rule for donors' cells.
#' @param table (`dp_table`)\cr from [with_outcome()].
#' @param declared (`list`)\cr covariates by name, from [split_bounds()].
#' @param hide (`flag`)\cr whether these people are protected.
#' @return Columns as SQL.
#' @noRd
treated_cells <- function(table, declared, hide) {
  # A driver may return integers beyond 32 bits as missing.
  outcome <- sql_cast(table$y, table$dialect$real)
  if (!length(declared)) {
    return(outcome)
  }
  row <- cell_row(table, names(declared))
  covariates <- vapply(names(declared), function(name) {
    levels <- declared[[name]]
    type <- row$types[[name]]
    column <- row$short[[name]]
    if (!is.character(levels)) {
      ranged <- type == "cell" || (type != "text" && (hide || is.numeric(levels)))
      if (ranged) return(number_column(name, row))
      return(if (hide && type == "text") carried_text(name, row) else column)
    }
    if (!hide || !(row$dialect$loose || type %in% c("text", "cell"))) {
      return(if (type %in% c("number", "exact")) number_column(name, row) else column)
    }
    holds <- vapply(levels, holds_level, "", name = name, row = row)
    # An unknown level counts as the first level.
    paste0("CASE ", paste0("WHEN ", holds, " THEN ", row$quote(levels), collapse = " "), " WHEN ",
      column, " IS NOT NULL THEN ", row$quote(levels[[1L]]), " END")
  }, "")
  c(outcome, covariates)
}

#' Text that every driver can return, whatever a person's cell contains
#'
#' A driver fails for bytes that it cannot convert, so a cell would be an error. The query writes
#' public strings itself, and returns other text only if it is plain.
#' @param known (`character`)\cr public strings that are returned in any case.
#' @param rest (`string` or `NULL`)\cr text in place of other text that is not plain.
#' @noRd
carried_text <- function(name, row, known = NULL, rest = NULL) {
  column <- row$short[[name]]
  plain <- row$dialect$plain
  if (is.null(plain)) {
    abort(c(
      "Text of column {.code {name}} cannot be read from this kind of database.",
      x = "A person's text that the database's driver cannot convert would cause an error.",
      i = "Give its public levels in {.arg bounds}, or cast it to numbers in the database."
    ), c("engine", "data", "panel"))
  }
  when <- function(condition, text) paste("WHEN", condition, "THEN", text)
  paste("CASE", paste(c(
    if (length(known)) when(paste(column, "=", row$quote(known)), row$quote(known)),
    when(plain(column), column),
    if (!is.null(rest)) when(paste(column, "IS NOT NULL"), row$quote(rest))
  ), collapse = " "), "END")
}

#' A column that R reads block by block, with the same type in every block
#'
#' R converts text to numbers. A cell with declared levels is one of them or missing. If an engine
#' permits any type in a column, every cell is read separately.
#' @param choice (`list`)\cr the conditions on rows, which use columns unchanged.
#' @return A list: `sql`, and `type`, the type of the column in R: `"number"`, `"text"` or `"own"`.
#' @noRd
streamed_column <- function(name, row, choice) {
  type <- row$types[[name]]
  levels <- row$given[[name]]$levels
  as_is <- is.null(row$given[[name]]) || name %in% unlist(lapply(choice, all.vars))
  loose <- row$dialect$loose
  of_text <- type %in% c("text", "cell") ||
    (as_is && type == "any" && any(vapply(choice, is_compared_with_text, NA, name = name)))
  coded <- !as_is && !is.null(levels) && (type == "text" || (loose && !of_text)) &&
    !type %in% c("flag", "other")
  out <- if (coded) {
    holds <- vapply(levels, holds_level, "", name = name, row = row)
    paste0("CASE ", paste0("WHEN ", holds, " THEN ", row$quote(levels), collapse = " "), " END")
  } else if (of_text) {
    known <- if (as_is) unique(c(levels, as.character(unlist(lapply(choice, all_constants)))))
    carried_text(name, row, known, if (as_is) other_text(known))
  } else if (type %in% c("flag", "other")) {
    row$short[[name]]
  } else {
    number_column(name, row)
  }
  column <- row$names[[name]]
  list(
    sql = if (identical(out, column)) column else paste(out, "AS", column),
    type = if (of_text || coded) "text" else if (type %in% c("flag", "other")) "own" else "number"
  )
}

#' A string that differs from public strings
#' @noRd
other_text <- function(known) {
  out <- "other text"
  while (out %in% known) out <- paste0(out, ".")
  out
}

#' Does code compare this column with a string?
#' @noRd
is_compared_with_text <- function(code, name) {
  if (!is.call(code)) {
    return(FALSE)
  }
  parts <- as.list(code)[-1L]
  here <- any(vapply(parts, identical, NA, as.name(name))) &&
    "character" %in% vapply(unlist(lapply(parts, all_constants)), typeof, "")
  here || any(vapply(parts, is_compared_with_text, NA, name = name))
}

all_constants <- function(code) {
  if (is.call(code)) lapply(as.list(code)[-1L], all_constants) else if (!is.symbol(code)) code
}

#' The treatment column, which contains 0 and 1, or flags
#' @noRd
indicator_column <- function(table, name) {
  row <- cell_row(table, name)
  if (row$types[[1L]] == "cell") number_column(name, row) else row$short[[1L]]
}

#' A number clipped to its range, or NULL if it is missing
#'
#' Some engines sort NaN above all numbers and treat it as equal to -NaN, whereas -infinity is below
#' infinity.
#' @param range (`numeric(2)` or `NULL`)\cr `NULL`: the number is unchanged.
#' @noRd
sql_within <- function(x, range, dialect) {
  real <- function(value) sql_real(value, dialect)
  largest <- real(.Machine$double.xmax)
  lower <- if (is.null(range)) x else real(range[[1L]])
  upper <- if (is.null(range)) x else real(range[[2L]])
  inner <- if (is.null(range)) {
    x
  } else {
    paste0("CASE WHEN ", x, " > ", upper, " THEN ", upper, " WHEN ", x, " < ", lower, " THEN ",
      lower, " ELSE ", x, " END")
  }
  paste0(
    "CASE WHEN ", sql_is_finite(x, dialect), " THEN ", inner,
    " WHEN ", x, " > ", largest, " AND -", x, " < ", x, " THEN ", upper,
    " WHEN ", x, " < -", largest, " THEN ", lower, " END"
  )
}

#' A column of identifiers, in the form for comparisons by an engine
#' @noRd
sql_identifier <- function(table, column) {
  if (!column %in% table$fields) abort("The rows contain no column {.code {column}}.", "data")
  type <- column_types(table, column)[[column]]
  if (type == "other") {
    abort(
      "Column {.code {column}} must contain numbers, text or logical values in the database.",
      "data"
    )
  }
  key <- quoted(table$con, column)
  if (table$dialect$loose) return(table$dialect$order(sql_any_identifier(key)))
  if (type %in% c("text", "cell")) by_bytes(table$dialect, key, column) else key
}
