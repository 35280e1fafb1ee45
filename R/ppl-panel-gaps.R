# Panels with gaps, `na = "interpolate"`. Each row is filled separately. Units, roles, dates and
# periods are declared, so that no missing cell can change them.

#' Declare the units, roles, dates and periods of a panel
#'
#' If the data contain gaps, the units and periods must be declared, not derived from the data.
#' Otherwise a person without any row, or the only observation of a month, would change the
#' published numbers of donors or periods. Everything in a roster is PUBLIC: create it from a
#' register, a study protocol or a calendar, not from the observed rows.
#'
#' @param unit (`vector`)\cr every unit of the panel once, as in the data's column of units. Names
#'   of protected people are used for matching and are not stored. The guarantee assumes that every
#'   person's rows stand under the person's own name, which is not checked: rows under another name
#'   change the rows of two people, and under the name of a public treated unit they are public.
#'   Several rows of such a unit in one period cause an error.
#' @param from (`vector`, one per unit)\cr the period from which the unit is treated; `NA` for
#'   donors. Different values mean several adoption dates, see [dp_cohorts].
#' @param periods (`vector`)\cr all periods in order, at least three, as in the data's column of
#'   time.
#' @param ... unused; an unknown argument causes an error.
#' @return A list of class `dp_roster`: `unit`, `from`, `periods`. PUBLIC, except the names of the
#'   units, which a fit does not contain.
#' @section Errors: `dpsc_error_roster`.
#' @seealso [dp_synth()] with `na = "interpolate"`.
#' @examples
#' roster <- dp_roster(
#'   unit = c("ann", "bob", "cy", "clinic"), from = c(NA, NA, NA, 4), periods = 1:5
#' )
#' roster
#' @export
dp_roster <- function(unit, from, periods, ...) door("dp_roster", {
  check_no_dots(...)
  fail <- function(...) abort(c(...), "roster")
  unit <- roster_column(unit)
  from <- roster_column(from)
  periods <- roster_column(periods)
  if (is.null(unit) || anyNA(unit) || anyDuplicated(unit)) {
    fail("{.arg unit} must name every unit once.", i = "Use numbers, strings or a factor.")
  }
  if (is.null(periods) || anyNA(periods) || anyDuplicated(periods) || length(periods) < 3L ||
        (!is.character(periods) && is.unsorted(unclass(periods)))) {
    fail(
      "{.arg periods} must contain at least three periods, in order and each once.",
      i = "Use numbers, dates or strings."
    )
  }
  if (is.null(from) || length(from) != length(unit)) {
    fail(paste(
      "{.arg from} must give, for every unit, the period in which its treatment starts, or",
      "{.code NA} for a donor."
    ))
  }
  if (!all(is.na(from) | from %in% periods)) {
    fail("Each value of {.arg from} must be in {.arg periods}, or {.code NA} for a donor.")
  }
  structure(list(unit = unit, from = from, periods = periods), class = "dp_roster")
})

#' A column of a roster as values that can be matched, or `NULL`
#' @noRd
roster_column <- function(x) {
  if (cell_kind(x) == "factor") return(cell_text(x))
  plain_type <- is.character(x) || is.logical(x) || is_plain_number(x)
  # The unit of a difference of times may depend on one person's row.
  if (!is.null(attr(x, "dim")) || !plain_type || inherits(x, "difftime")) return(NULL)
  plain <- readable(without_attributes(x))
  attributes(plain) <- known_attributes(x)
  plain
}

#' @export
print.dp_roster <- function(x, ...) {
  treated <- sum(!is.na(x$from))
  cat(
    "Roster: ", count_words(length(x$unit) - treated), " donors, ", count_words(treated),
    " treated, ", length(x$periods), " periods\n",
    sep = ""
  )
  invisible(x)
}

#' Check `na` and `roster`, which must be given together
#' @noRd
check_gaps <- function(na, roster) {
  na <- check_choice(na, c("error", "interpolate"))
  if (na == "interpolate" && !inherits(roster, "dp_roster")) {
    abort(c(
      "{.code na = \"interpolate\"} needs a {.arg roster} from {.fn dp_roster}.",
      i = paste(
        "The numbers of units, the dates of treatment and the periods are published. With gaps",
        "they must be declared, and not derived from the data."
      )
    ), "roster")
  }
  if (na == "error" && !is.null(roster)) {
    abort(c(
      "{.arg roster} needs {.code na = \"interpolate\"}.",
      i = "Without gaps, the data themselves determine who is in the panel."
    ), "roster")
  }
  na
}

#' Build a panel from long data, with or without gaps
#' @inheritParams panel_from_formula
#' @noRd
panel_with_gaps <- function(formula, people, request) {
  people$na <- check_gaps(people$na, people$roster)
  if (people$na == "error") {
    return(panel_from_formula(formula, people, request))
  }
  check_given(!"data" %in% names(people), "data", "a data frame in long format")
  panel <- panel_of_roster(formula, people, request)
  panel$gaps <- people$na
  panel
}

#' The panel of a roster, from long data in R or in a source
#' @inheritParams panel_from_formula
#' @noRd
panel_of_roster <- function(formula, people, request) {
  UseMethod("panel_of_roster", people$data)
}

#' Refuse several rows of a treated unit with public data, since a donor may have its name
#' @param repeated (`vector`)\cr the periods of its further rows.
#' @param name (`string`)\cr the column of units.
#' @section Errors: `dpsc_error_panel`.
#' @noRd
check_target_rows <- function(repeated, name, request) {
  if (!request$hide && length(repeated)) {
    request$ask()
    abort_several_rows("A unit", repeated[[1L]], name)
  }
}

#' Build a panel with gaps from long data and a roster
#'
#' The presence of a cell affects only the row of its unit. Rows of units or periods outside the
#' roster are omitted; if a donor, or a protected treated unit, has several rows in a period, the
#' first counts; missing and non-finite values are gaps. The indicator of the formula is not read.
#' @param people (`list`)\cr see [panel_people()]; `bounds` (`numeric(2)`, `matrix` or `NULL`) limit
#'   the outcome.
#' @return As [panel_from_formula()].
#' @noRd
#' @exportS3Method
panel_of_roster.default <- function(formula, people, request) {
  data <- people$data
  roster <- people$roster
  check_given(!"index" %in% names(people), "index", "the columns of unit and time")
  n_rows <- check_long_data(data)
  formula <- check_panel_formula(formula)
  index <- check_index(people$index, data)
  request$ask <- ask_of_units(request$ask, roster$unit[!is.na(roster$from)])
  treatment <- roster_treatment(roster, request$quiet, request$ask)
  outcome <- roster_outcome(formula, data, n_rows, request$private)
  place <- function(column, values) match(data_column(data, column, values), values)
  unit <- place(index[[1L]], roster$unit)
  time <- place(index[[2L]], roster$periods)
  known <- which(!is.na(unit) & !is.na(time))
  repeated <- duplicated(unit[known] + length(roster$unit) * as.double(time[known]))
  own <- known[repeated & !is.na(roster$from)[unit[known]]]
  check_target_rows(roster$periods[time[own]], index[[1L]], request)
  known <- known[!repeated]
  periods <- length(roster$periods)
  rows <- matrix(NA_real_, length(roster$unit), periods)
  rows[cbind(unit[known], time[known])] <- outcome[known]
  rows <- fill_rows(rows, treatment, row_middle(people$bounds, periods, request$private))
  check_filled(rows, code_label(formula[[2L]], "outcome"))
  panel <- panel_of_rows(
    rows, roster$unit, roster$periods, treatment, formula, index, request$keep_names
  )
  if (length(people$covariates)) {
    codes <- function(code, values) list(code = code[known], values = values)
    people$data <- chosen_cells(data, intersect(names(people$covariates), names(data)), known)
    found <- covariates_of_units(
      people, codes(unit, roster$unit), codes(time, roster$periods), treatment, request
    )
    panel$covariates <- split_units(found, treatment$units)
  }
  panel
}

#' Some rows of some columns, without methods of a column's class
#' @noRd
chosen_cells <- function(data, names, rows) {
  lapply(rlang::set_names(names), function(name) {
    x <- .subset2(data, name)
    kept <- attributes(x)[c("class", "levels")]
    x <- without_attributes(x)[rows]
    attributes(x) <- kept[!vapply(kept, is.null, NA)]
    x
  })
}

#' A column of units or periods, of the roster's type
#' @noRd
data_column <- function(data, name, declared) {
  x <- roster_column(.subset2(data, name))
  if (is.null(x) || is.character(x) != is.character(declared) ||
        !identical(class(x)[is.object(x)], class(declared)[is.object(declared)])) {
    abort(c(
      "Units and periods must have the same class in the roster as in {.arg data}.",
      x = "{.code {name}} is of class {class(.subset2(data, name))[[1L]]}.",
      i = "Give {.fn dp_roster} values of the same class."
    ), "roster")
  }
  x
}

#' The declared treated units and dates
#' @return As [find_treatment()].
#' @noRd
roster_treatment <- function(roster, hide = FALSE, ask = function() NULL) {
  units <- which(!is.na(roster$from))
  if (!length(units)) {
    abort("At least one unit must be treated: {.arg from} is {.code NA} for all units.", "roster")
  }
  check_donor_count(
    length(roster$unit) - length(units),
    "Set {.arg from} to {.code NA} for units that are never treated."
  )
  first <- match(roster$from[units], roster$periods)
  if (min(first) < 3L) ask()
  if (length(unique(first)) > 1L) {
    labels <- if (hide) rep("a treated unit", length(units)) else unit_labels(roster$unit[units])
    adopted <- check_adopted(first - 1L, labels, roster$periods, hide)
    return(list(units = units, T0 = min(adopted), adopted = adopted))
  }
  if (first[[1L]] < 3L) {
    abort("At least two periods must come before the treatment.", "roster")
  }
  list(units = units, T0 = first[[1L]] - 1L)
}

#' The outcome of long data, computed row by row for private fits; non-finite values are gaps
#' @noRd
roster_outcome <- function(formula, data, n_rows, private) {
  outcome <- if (private) {
    evaluate_rowwise(formula[[2L]], environment(formula), data)
  } else {
    evaluate_frame(formula[-3L], data)[[1L]]
  }
  if (is.null(outcome)) abort_evaluation(formula, data)
  outcome <- check_outcome(outcome, code_label(formula[[2L]], "outcome"))
  if (length(outcome) != n_rows) {
    abort(c(
      "The outcome must have one value for each row of {.arg data}.",
      x = "{.arg data} has {n_rows} row{?s}; the outcome has {length(outcome)}."
    ), "panel")
  }
  outcome[!is.finite(outcome)] <- NA
  as.double(outcome)
}

#' The middle of the bounds by period; missing without privacy and bounds
#' @noRd
row_middle <- function(bounds, periods, private) {
  if (!is.null(bounds)) {
    return(new_bounds(bounds, periods)$centre)
  }
  if (private) {
    abort(c(
      "{.arg bounds} is required when {.arg epsilon} is finite.",
      i = "Give public limits on the outcome, {.code bounds = c(lower, upper)}."
    ), "bounds")
  }
  rep(NA_real_, periods)
}

#' Fill the rows of donors, and the rows of treated units by the units' dates
#' @param treatment (`list`)\cr from [roster_treatment()].
#' @noRd
fill_rows <- function(rows, treatment, middle) {
  T0 <- rep(treatment$T0, nrow(rows))
  T0[treatment$units] <- treatment$adopted %||% treatment$T0
  for (date in unique(T0)) {
    at <- T0 == date
    rows[at, ] <- interpolate_rows(rows[at, , drop = FALSE], date, middle)
  }
  rows
}

#' Refuse, without bounds, a row without any value before the treatment, which cannot be filled. NOT
#' PRIVATE.
#' @noRd
check_filled <- function(rows, label) {
  if (!all_finite_cpp(rows)) {
    abort(c(
      "Some unit has no value of {.code {label}} before the treatment.",
      i = "Leave such units out of the roster, or give {.arg bounds}, whose midpoint is then used."
    ), "panel")
  }
}
