# People's rows whose sums an engine computes: a temporary table of integers, with one row per
# person, and the core's questions about this table.

#' People in an engine, as integers, with functions that answer the core's questions
#' @param table (`dp_table`). PRIVATE.
#' @param columns,choice (`list`)\cr as in [lm_source()].
#' @return A `dp_asked`. PRIVATE.
#' @section Errors: `dpsc_error_data`, `dpsc_error_argument`, `dpsc_error_engine`: from names and
#'   types of columns, formula and engine. An engine's failures are outside the guarantee.
#' @noRd
asked_people <- function(table, columns, choice) {
  people <- make_people(table, columns, choice)
  structure(list(
    n = people$n, calibrate = FALSE, close = people$close,
    ask = function(question, charged) ask_people(people, question, charged)
  ), class = "dp_asked")
}

#' The temporary table of integers
#' @return A list: `con`, `name`, `n`, `design`, `dialect`, `close`.
#' @noRd
make_people <- function(table, columns, choice) {
  con <- table$con
  dialect <- table$dialect
  query <- people_query(table, columns, choice)
  name <- fresh_name(dialect)
  close <- function() quiet_sql(con, c(paste("DROP TABLE", name), dialect$after))
  quiet_sql(con, dialect$before)
  done <- FALSE
  on.exit(if (!done) close())
  run_sql(con, dialect$make(name, query), what = "Preparing the rows")
  design <- lm_design(columns)
  n <- sql_numbers(con, sql_size(name, dialect, design$person))
  if (design$person) check_person_rows(n[[2L]])
  done <- TRUE
  list(con = con, name = name, n = n[[1L]], design = design, dialect = dialect, close = close)
}

#' SQL that converts a row's columns to integers
#' @noRd
people_query <- function(table, columns, choice) {
  con <- table$con
  dialect <- table$dialect
  needed <- needed_columns(table, columns, choice)
  given <- cell_row(table, needed)
  check_typed_levels(columns$given, given$types, dialect)
  # Copying a file converts its cells to numbers.
  is_number <- given$types %in% c("number", "exact")
  row <- given
  row$short <- stats::setNames(as.list(paste0("c", seq_along(needed))), needed)
  row$types[is_number] <- "double"
  row$given <- columns$given
  values <- vapply(columns$variables, sql_value, "", row)
  keep <- if (!is.null(choice$subset)) {
    check_rowwise(choice$subset)
    raw <- function(name) raw_operand(name, row)
    condition <- as_condition(sql_condition(choice$subset, raw, dialect, row$quote))
    if (is.null(condition)) abort_expression(choice$subset)
    condition$text
  }
  weight <- if (!is.null(choice$weights)) {
    if (!is.symbol(choice$weights)) abort_expression(choice$weights)
    ends <- c(-1, 1) * .Machine$double.xmax
    sql_within(number_column(as.character(choice$weights), row), ends, dialect)
  }
  taken <- vapply(needed, function(name) {
    column <- given$short[[name]]
    switch(given$types[[name]],
      number = , exact = number_column(name, given), column
    )
  }, "")
  who <- columns$person$column
  from <- paste0(
    table$from, if (!is.null(who)) paste0(" WHERE ", quoted(con, who), " IS NOT NULL")
  )
  sql_people(
    from, stats::setNames(taken, row$short), values, lm_design(columns), keep, weight,
    choice$max_weight, dialect, if (!is.null(who)) sql_identifier(table, who)
  )
}

#' The columns of a table that a regression reads
#' @noRd
needed_columns <- function(table, columns, choice) {
  needed <- unique(unlist(c(
    lapply(columns$variables, symbols_of), lapply(choice[c("subset", "weights")], all.vars)
  )))
  unknown <- setdiff(needed, table$fields)
  if (length(unknown)) abort("The rows contain no column {.code {unknown}}.", "data")
  needed
}

#' Refuse levels that are impossible for a column's type; without strict types every level is
#' possible
#' @noRd
check_typed_levels <- function(given, types, dialect) {
  if (dialect$loose) {
    return(invisible(NULL))
  }
  for (name in intersect(names(given), names(types))) {
    type <- switch(types[[name]], flag = "logical", exact = "number", types[[name]])
    check_levels_fit(given[[name]]$levels, type, name)
  }
}

#' @noRd
abort_expression <- function(expression) {
  abort(c(
    "The database cannot compute {.code {plain_text(expression)}} bit for bit as R does.",
    i = paste(
      "Compute a column in the database, by a view or {.code tbl(con, \"people\") |> mutate(...)},",
      "and give its limits in {.arg bounds}; or set {.code compute = \"here\"}."
    )
  ), "argument")
}

#' One variable of the model, as a number within its range, or 0 or 1; NULL if it is missing
#' @noRd
sql_value <- function(variable, row) {
  expression <- variable$expression
  if (variable$kind == "value" && is.symbol(expression)) {
    range <- c(variable$lower, variable$upper)
    return(sql_within(number_column(as.character(expression), row), range, row$dialect))
  }
  if (variable$kind != "level") {
    abort_expression(expression %||% as.name(variable$name))
  }
  if (is.symbol(expression)) {
    name <- as.character(expression)
    other <- vapply(setdiff(variable$levels, variable$level), holds_level, "",
      name = name, row = row
    )
    return(paste0("CASE WHEN ", holds_level(name, variable$level, row), " THEN 1 WHEN ",
      paste(other, collapse = " OR "), " THEN 0 END"))
  }
  own <- function(name) bounded_operand(name, row)
  condition <- as_condition(sql_condition(expression, own, row$dialect, row$quote))
  if (is.null(condition)) abort_expression(expression)
  yes <- if (variable$level == "TRUE") c(1, 0) else c(0, 1)
  paste0("CASE WHEN ", condition$text, " THEN ", yes[[1L]], " WHEN NOT ", condition$text, " THEN ",
    yes[[2L]], " END")
}

# Questions ---------------------------------------------------------------------------------------

#' The core's question about people, as queries to the engine
#' @param question (`list`)\cr a question from `from_question()` in src/r_people.h. PUBLIC or
#'   RELEASED.
#' @return A list: `rows`, `there`, `sums`, without noise. PRIVATE.
#' @noRd
ask_people <- function(people, question, charged) {
  switch(question$kind,
    medians = ask_cells(people, question$cells, charged, function(variable, k) {
      list(
        text = sql_medians(people$name, variable, question, people$dialect, people$design),
        size = question$width
      )
    }),
    scales = ask_cells(people, length(question$limits), charged, function(variable, k) {
      text <- sql_scales(
        people$name, variable, question$middle[[k]], question$limits, people$dialect,
        people$design
      )
      list(text = text, size = 1)
    }),
    lengths = ask_limits(people, question, sql_lengths, charged),
    residuals = ask_limits(people, question, sql_beyond, charged),
    ask_products(people, question, charged)
  )
}

#' Counts by cell for every variable except indicators
#' @param query (`function`)\cr a function from a variable and its position to a query of cells `f`
#'   and counts `k`, and to the `size` of a cell.
#' @noRd
ask_cells <- function(people, cells, charged, query) {
  which <- which(!people$design$indicator)
  sums <- matrix(0, cells, length(which))
  for (k in seq_along(which)) {
    asked <- query(which[[k]], k)
    found <- run_sql(people$con, asked$text, TRUE, charged, "A sum")
    at <- as.double(found[[1L]]) / asked$size
    counts <- as.double(found[[2L]])
    if (anyNA(at) || any(at < 0 | at != floor(at)) || anyNA(counts)) abort_sums(charged)
    # A value at the upper bound belongs to the last cell.
    at <- pmin(at, cells - 1) + 1
    for (i in seq_along(at)) sums[at[[i]], k] <- sums[at[[i]], k] + counts[[i]]
  }
  counted <- if (people$design$person) {
    present <- "DISTINCT CASE WHEN a > 0 THEN dpsc_p END"
    paste0(
      sql_count("n", people$dialect, "DISTINCT dpsc_p"), ", ",
      sql_count("there", people$dialect, present)
    )
  } else {
    sql_there(people$dialect)
  }
  text <- paste("SELECT", counted, "FROM", people$name)
  there <- sql_numbers(people$con, text, charged)
  list(rows = there[[1L]], there = there[[2L]], sums = sums)
}

#' Numbers of people by the smallest limit that they do not exceed, from the number of people beyond
#' each limit
#' @noRd
ask_limits <- function(people, question, query, charged) {
  text <- query(people$name, people$design, question, people$dialect)
  found <- sql_numbers(people$con, text, charged)
  one <- if (people$design$person) share_one else 1
  inside <- diff(c(0, rev(found[-(1:2)]), one * found[[1L]]))
  list(rows = found[[1L]], there = found[[2L]], sums = cbind(rev(unname(inside))))
}

#' A Gram matrix of integers
#' @noRd
ask_products <- function(people, question, charged) {
  queries <- sql_products(people$name, people$design, question, people$dialect)
  parts <- lapply(queries, function(query) sql_numbers(people$con, query, charged))
  known <- unique(lapply(parts, `[`, 1:2))
  if (length(known) != 1L) abort_changed(charged)
  d <- length(people$design$columns) + if (question$kind == "scores") 1L else 2L
  at <- moment_pairs(d)
  sums <- matrix(0, d, d)
  own <- unlist(lapply(parts, `[`, -(1:2)), use.names = FALSE)
  sums[cbind(at$i, at$j)] <- sums[cbind(at$j, at$i)] <- own
  list(rows = known[[1L]][[1L]], there = known[[1L]][[2L]], sums = sums)
}
