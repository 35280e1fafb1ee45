# Several rows per person. The declaration `person` is public and identities are private. The
# frequency of an identifier affects only time and memory.

#' @name dp_person
#' @title Several rows of one person
#'
#' @description The argument `person` declares which person each row belongs to. With
#' `person = ~ id` the column `id` identifies people, and neighbours arise by replacing *all*
#' rows of one person. With `person = "row"` each row is a different person, and the printed result
#' repeats this declaration. Without this argument each row counts as a different person, and people
#' with several rows have less protection than stated.
#'
#' With a column of identifiers each person counts once, however many rows they have: a person's
#' contribution to any step is the mean of the contributions of their rows. Therefore the number of
#' rows per person needs no limit, and the privacy cost does not increase. The estimand is the
#' regression, or the distribution of a column, in which every person has weight one, spread equally
#' over their rows. The number of people is public. The number of rows is private, and no result,
#' message or plan reveals it, although time and memory depend on it.
#'
#' A person's mean omits rows with a missing value and rows outside `subset`. In a description a row
#' is omitted only for the variables that are missing. A row without an identifier is omitted.
#' People without any remaining row still count in the number of people.
#'
#' The rules above apply to [dp_lm()], [dp_glm()], [dp_describe()] and method `"ranks"` of
#' [dp_select()]. In [dp_aggregate()], and in methods `"votes"`, `"blocks"` and `"subsamples"` of
#' [dp_select()], all rows of a person are in the same blocks. [dp_aggregate()] and [dp_select()]
#' take rows in memory only, with or without `person`. Regressions and descriptions also take
#' [dp_table()] and [dp_files()] with rows read in R, and [dp_chunks()], where the rows of a person
#' may be in several chunks. In chunks an identifier counts as a number if it can be read as a
#' number, in any spelling, or as a date or time, and otherwise as text; a blank identifier is
#' missing ([dp_chunks()] contains the whole rule). In SQLite a number and its
#' text identify the same person. For [dp_lm()] a database can compute the sums by person
#' (`compute = "database"`, at most 30 columns). Methods without a proof for several rows per
#' person, workers and [dp_sources()] refuse a column of identifiers before the charge. The proof is
#' in `proofs/person.md`.
NULL

#' Check the declaration of people, and whether the method and the rows permit it
#' @param person (`NULL`, `"row"` or one-sided formula).
#' @param record (`list`)\cr the method's record; its field `person` gives the access to rows that a
#'   column of people needs.
#' @return `NULL`, or a list: `declared` (one row is one person) and `column`. PUBLIC.
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_person <- function(person, record, method, data) {
  said <- if (!is.null(person)) said_person(person)
  if (is.null(said$column)) {
    return(said)
  }
  if (is.null(record$person)) {
    abort(c(
      "{.code method = \"{method}\"} needs one row per person.",
      x = "The proof of this method does not cover means over a person's rows.",
      i = "Combine each person's rows into one row beforehand, one person at a time."
    ), "argument")
  }
  refuse_split_people(data)
  refuse_source(data, record$person, "{.arg person}")
  said
}

#' Meaning of `person`, from the expression only
#' @noRd
said_person <- function(person) {
  if (is.null(person)) {
    return(NULL)
  }
  if (identical(person, "row")) {
    return(list(declared = TRUE))
  }
  formula <- inherits(person, "formula") && length(person) == 2L && is.symbol(person[[2L]])
  if (!formula) {
    abort(c(
      "{.arg person} must be {.code ~ column}, or {.val row} if each row is a different person.",
      x = "It is {describe(person)}.",
      i = if (is_name(person)) "For the column of this name, write {.code person = ~{person}}.",
      i = "If several columns identify people, combine them into one column beforehand."
    ), "argument")
  }
  list(declared = FALSE, column = as.character(person[[2L]]))
}

#' @noRd
check_frame <- function(block, i) {
  if (!is.data.frame(block)) {
    abort(c(
      "Every block must be a data frame.", x = "Block {i} is {describe(block)}."
    ), "data")
  }
}

#' The person of each row as an integer, 0 without an identifier
#' @param who (`list`)\cr from [check_person()].
#' @return A list: `of` (PRIVATE) and `n`, the number of people. PUBLIC.
#' @noRd
people_of <- function(data, who) {
  cells <- identifiers_of(data, who)
  known <- unique(cells[!is.na(cells)])
  list(of = match(cells, known, nomatch = 0L), n = length(known))
}

#' Identifiers for comparison, different for different people
#' @param text (`flag`)\cr whether to return text, for comparison with blocks of other classes.
#' @noRd
identifiers_of <- function(data, who, text = FALSE) {
  if (!who$column %in% names(data)) {
    abort("The rows contain no column {.code {who$column}}.", "data")
  }
  cells <- .subset2(data, who$column)
  known <- if (text) !is.null(block_cells(cells[0L])) else cell_kind(cells) != "other"
  if (!known) {
    abort(paste(
      "Column {.code {who$column}} must be a vector of numbers, logical values, text or dates, or",
      "a factor."
    ), "data")
  }
  if (text) {
    return(identifiers_in_blocks(cells))
  }
  cells <- if (inherits(cells, "integer64")) {
    # As doubles, different identifiers of 17 digits would become one person.
    text_64(cells)
  } else if (cell_kind(cells) %in% c("text", "factor")) {
    cell_text(cells)
  } else {
    cell_numbers(cells)
  }
  cells[is.na(cells)] <- NA
  cells
}

#' Identifiers of a block as text, by the rule for its cells, with all digits of whole numbers
#' @noRd
identifiers_in_blocks <- function(cells) {
  if (inherits(cells, "integer64")) {
    return(text_64(cells))
  }
  out <- block_text(cells)
  if (cell_kind(cells) %in% c("text", "factor")) {
    own <- cell_text(cells)
    digits <- which(!is.na(out) & !is.na(text_numbers(own)))
    out[digits] <- own[digits]
  }
  out
}

# Bounds of rounding errors use this number of rows instead of the private number.
most_person_rows <- 2^27

check_person_rows <- function(rows) {
  if (rows > most_person_rows) {
    abort("With {.arg person} the data can have at most 134,217,728 rows.", "data")
  }
}

#' A table of numbers with rows sorted by person, and the person in the last column
#' @param people (`list`)\cr from [people_of()].
#' @return A list: `table` (PRIVATE), `n`.
#' @noRd
rows_by_person <- function(table, people) {
  check_person_rows(nrow(table))
  order <- order(people$of)
  order <- order[people$of[order] > 0L]
  list(table = cbind(table[order, , drop = FALSE], people$of[order]), n = people$n)
}

#' Words on the definition of neighbours, for prints
#' @noRd
person_neighbours <- function(who) {
  if (is.null(who)) {
    "replace one person's row"
  } else if (isTRUE(who$declared)) {
    "replace one person's row (each row is a different person, as declared)"
  } else {
    paste0("replace all rows of one person (by ", who$column, ")")
  }
}

#' Do neighbours arise by replacing all rows of one person?
#' @noRd
is_by_person <- function(privacy) startsWith(privacy$neighbours, "replace all rows")

#' The declaration of people in a file
#' @noRd
read_person <- function(who) {
  if (is.null(who)) {
    return(NULL)
  }
  column <- who$column
  stopifnot(is.list(who), isTRUE(who$declared) || is_string(column))
  if (isTRUE(who$declared)) list(declared = TRUE) else list(declared = FALSE, column = column)
}
