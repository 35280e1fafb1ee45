# The panel from long data: rows in any order become cells of a matrix of units and periods.

#' Build a panel from a formula and long data
#'
#' Rows may come in any order. Donors and targets are sorted by unit (factors by level, numbers by
#' size, strings in the C locale), so the panel does not depend on the order of the rows. Periods
#' are sorted in the same way. **Character periods are sorted alphabetically**, so `"10"` precedes
#' `"2"`: give numbers, dates or a factor instead. Unused factor levels are dropped.
#'
#' @param formula (`formula`)\cr `outcome ~ treated`; either side may be an expression, evaluated by
#'   [stats::model.frame()]. The indicator (0/1, FALSE/TRUE or a factor of these) is 1 exactly for
#'   treated units in post-treatment periods.
#' @param people (`list`)\cr from [panel_people()]. `data` (`data.frame`, tibble, data.table or
#'   `plm::pdata.frame`): one row for each unit and period, every unit in every period. PRIVATE.
#'   `index` (`character(2)`): columns of unit and time, in this order. A swapped index is an error
#'   if it can be detected. Detection is impossible if both orders give a valid design and the types
#'   of the columns are inconclusive; donors' names would then become public periods.
#' @param request (`list`)\cr see [panel_request()]. Under a finite epsilon the outcome must be
#'   computed row by row.
#' @return A `dpsc_panel`, see [new_panel_design()]. Its field `covariates`, if any, contains
#'   `donors`, `target` (one row per unit) and `columns`.
#' @section Errors: `dpsc_error_panel`: for donors' rows only the kind of problem, without person,
#'   position or frequency. The presence of one finite value per unit and period is public. Treated
#'   units and their periods are named unless `quiet`.
#' @noRd
panel_from_formula <- function(formula, people, request) {
  check_given(!"data" %in% names(people), "data", "a data frame in long format")
  UseMethod("panel_from_formula", people$data)
}

#' @noRd
#' @exportS3Method
panel_from_formula.default <- function(formula, people, request) {
  data <- people$data
  check_given(!"index" %in% names(people), "index", "the columns of unit and time")
  n_rows <- check_long_data(data)
  formula <- check_panel_formula(formula)
  index <- check_index(people$index, data)
  keep_names <- check_flag(request$keep_names, "keep_names")
  units <- code_index(.subset2(data, index[[1L]]), index[[1L]])
  times <- code_index(.subset2(data, index[[2L]]), index[[2L]])
  variables <- evaluate_formula(formula, data, n_rows, index, request$private)

  check_units_recur(units, times)
  treated <- unique(units$code[variables$treated])
  if (length(treated)) {
    check_panel_order(
      units, times, length(units$values) - length(treated),
      request$private && is.null(request$protect)
    )
  }
  ask <- request$ask <- ask_of_units(request$ask, treated)
  quiet <- request$quiet
  # This check comes before any message that names a period, since the periods might be the donors.
  check_orientation(units, times, variables$treated, ask)
  if (request$private) {
    check_few_numbers(units, times, length(units$values) - length(treated), ask)
  }
  cells <- match_cells(units, times, if (request$hide) integer() else treated, quiet, ask)
  treatment <- find_treatment(units, times, variables$treated, quiet, ask)
  # The cells are in column-major order, so that each row of the matrix is one unit.
  outcome <- numeric(n_rows)
  outcome[cells] <- variables$outcome
  dim(outcome) <- c(length(units$values), length(times$values))
  panel <- panel_of_rows(outcome, units$values, times$values, treatment, formula, index, keep_names)
  warn_calendar_gap(times$values, times$name)
  if (!all_finite_cpp(panel$target)) {
    note <- text_note(formula, data)
    abort_target_gaps(panel$target, times$values, panel$outcome, quiet, ask, note)
  }
  check_donors_finite(panel$donors, panel$outcome, text_note(formula, data))
  if (length(people$covariates)) {
    found <- covariates_of_units(people, units, times, treatment, request)
    panel$covariates <- split_units(found, treatment$units)
  }
  panel
}

#' The panel from the rows of all units
#' @param rows (`matrix`)\cr the rows of all units, named by `units`. PRIVATE.
#' @param treatment (`list`)\cr from [find_treatment()].
#' @noRd
panel_of_rows <- function(rows, units, times, treatment, formula, index, keep_names) {
  own <- treatment$units
  target <- rows[own, , drop = FALSE]
  rownames(target) <- unit_labels(units[own])
  panel <- new_panel_design(
    rows[-own, , drop = FALSE], c(list(target = target, times = times), treatment), "formula",
    outcome = code_label(formula[[2L]], "outcome"), index = index
  )
  if (keep_names) panel$donor_names <- unit_labels(units[-own])
  panel
}

#' The source of a panel's rows, for a formula
#' @param data,index,na,roster in the user's form; the first two may be missing.
#' @param code (`language`)\cr the user's code for `index`.
#' @return A list of the given arguments; later also `bounds` (of the outcome) and `covariates`
#'   (their declarations, see [split_bounds()]). PRIVATE.
#' @noRd
panel_people <- function(data, index, na = "error", roster = NULL, code = quote(index)) {
  if (!missing(data) && inherits(data, "tbl_lazy")) {
    index <- if (!missing(index)) given_index(index, code)
    return(list(data = dp_table(data, index = index), na = na, roster = roster))
  }
  c(
    if (!missing(data)) list(data = data),
    if (!missing(index)) list(index = given_index(index, code)),
    list(na = na, roster = roster)
  )
}

abort_index_given <- function() {
  abort(c(
    "{.arg index} cannot be given for a source of rows.",
    i = "Give it when you create the source: {.code dp_table(con, table, index)}."
  ), "argument")
}

#' Check that long data are a data frame with rows
#' @return Their number of rows (`integer`).
#' @noRd
check_long_data <- function(data) {
  if (!is.data.frame(data)) {
    abort(c(
      "{.arg data} must be a data frame in long format: one row for each unit and period.",
      x = "It is an object of class {class(data)[[1L]]}.",
      i = "Convert it with {.code as.data.frame()}, or give a matrix of donors."
    ), "panel")
  }
  check_whole_columns(data, "panel")
  n_rows <- .row_names_info(data, 2L)
  if (n_rows == 0L) {
    abort(c(
      "{.arg data} must have one row for each unit and period.",
      x = "It has zero rows.",
      i = "Check whether a filter has removed all rows."
    ), "panel")
  }
  n_rows
}

#' Check the names of the index columns
#' @return `index` without names.
#' @noRd
check_index <- function(index, data) {
  mend <- "Write, for instance, {.code index = c(\"store\", \"week\")}."
  if (!is.character(index) || length(index) != 2L || anyNA(index)) {
    abort(c(
      "{.arg index} must name two columns of {.arg data}: unit and time.",
      x = "It is {describe_value(index)}.", i = mend
    ), "panel")
  }
  index <- as.vector(index)
  if (index[[1L]] == index[[2L]]) {
    abort(c(
      "{.arg index} must name two different columns of {.arg data}: unit and time.",
      x = "Both are {.code {index[[1L]]}}.", i = mend
    ), "panel")
  }
  unknown <- setdiff(index, names(data))
  # The rows of an attribute need not be the rows of the data after filter() or arrange().
  if (length(unknown) > 0L && all(unknown %in% names(attr(data, "index")))) {
    abort(c(
      "{.arg index} must name two columns of {.arg data}: unit and time.",
      x = "{.code {unknown}} {?is/are} only in the attribute {.code index} of {.arg data}.",
      i = "Create the panel by {.code plm::pdata.frame(..., drop.index = FALSE)}."
    ), "panel")
  }
  if (length(unknown) > 0L) {
    abort(c(
      "{.arg index} must name two columns of {.arg data}: unit and time.",
      x = "{.code {unknown}} {?is not a column/are not columns} of {.arg data}.", i = mend
    ), "panel")
  }
  index
}

#' Refuse a repeated cross-section
#' @inheritParams match_cells
#' @section Errors: `dpsc_error_panel`; names the unit's column.
#' @noRd
check_units_recur <- function(units, times) {
  if (length(units$values) == length(units$code) && length(times$values) > 1L) {
    abort(c(
      "{.arg data} must follow the same units over time.",
      x = "In {.code {units$name}} every unit appears once, as in a repeated cross-section.",
      i = paste(
        "Check that {.code {units$name}} identifies units, not rows. Donors can also",
        "be recurring groups, such as regions. Then regions are protected, not people."
      )
    ), "panel")
  }
}

#' Refuse several rows of a treated unit whose data are public: another unit may have its name
#' @param unit (`string`)\cr the unit, in words.
#' @section Errors: `dpsc_error_panel`.
#' @noRd
abort_several_rows <- function(unit, period, name) {
  period <- period_text(period)
  abort(c(
    "{.arg data} must have one row for each unit and period.",
    x = "{unit}, which is treated, has several rows in period {period}.",
    i = "Check that {.code {name}} identifies the units."
  ), "panel")
}

#' Each row's cell in the unit x period matrix
#' @param units,times (`list`)\cr from [code_index()].
#' @param treated (`integer`)\cr codes of the treated units, which errors may distinguish from
#'   donors.
#' @param quiet (`flag`)\cr whether to distinguish the treated units without naming them.
#' @param ask (`function`)\cr called before such an error.
#' @return Cell numbers (`integer`, column-major), a permutation of all cells.
#' @section Errors: `dpsc_error_panel` for duplicate or absent rows: the kind of problem, and a
#'   treated unit with this problem.
#' @noRd
match_cells <- function(units, times, treated, quiet = FALSE, ask = function() NULL) {
  n_units <- length(units$values)
  n_times <- length(times$values)
  n_rows <- length(units$code)
  # If the rows are as many as the cells and every cell is hit, each cell is hit once.
  if (n_rows == as.double(n_units) * n_times) {
    cells <- units$code + n_units * (times$code - 1L)
    hit <- logical(n_rows)
    hit[cells] <- TRUE
    if (all(hit)) {
      return(cells)
    }
  }
  # The target's rows are public, so they come first and the message names them.
  own <- which(units$code %in% treated)
  twice <- own[duplicated(cbind(units$code, times$code)[own, , drop = FALSE])]
  label <- function(code) if (quiet) "A unit" else unit_labels(units$values[code])
  if (length(twice) > 0L) {
    ask()
    abort_several_rows(
      label(units$code[twice[[1L]]]), times$values[times$code[twice[[1L]]]], units$name
    )
  }
  short <- treated[tabulate(match(units$code[own], treated), length(treated)) < n_times]
  if (length(short) > 0L) {
    ask()
    unit <- label(min(short))
    abort(c(
      "The panel must be balanced: every unit must have a row in every period.",
      # The message does not name the period, since the panel may contain the period because of one
      # donor.
      x = "{unit}, which is treated, has no row in some period of the panel.",
      i = "Add the missing rows of the treated units, whose data are public."
    ), "panel")
  }
  if (anyDuplicated(units$code + as.double(n_units) * (times$code - 1L))) {
    abort(c(
      "{.arg data} must have one row for each unit and period.",
      x = "Some unit has several rows in one period.",
      i = paste(
        "Check that {.code {units$name}} identifies the units; combine rows of one person by a",
        "rule that uses that person's rows alone."
      )
    ), "panel")
  }
  abort(c(
    "The panel must be balanced: every unit must have a row in every period.",
    x = "At least one unit has no row in at least one period.",
    i = row_by_row_advice
  ), "panel")
}

#' Sentence on columns of text in the outcome, or `NULL`
#'
#' The sentence depends on the types of columns, never on their cells.
#' @noRd
text_note <- function(formula, data) {
  names <- intersect(all.vars(formula[[2L]]), names(data))
  text <- names[vapply(names, function(name) {
    is.character(data[[name]]) || is.factor(data[[name]])
  }, NA)]
  if (length(text)) {
    paste0(
      "`", text[[1L]], "` is a column of text: values that are not plain numbers, such as \"$12\" ",
      "or \"1,200\", count as missing."
    )
  }
}
