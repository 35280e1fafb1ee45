# The panel: donors and targets as matrices. The only place that turns what the user gave into a
# "dpsc_panel"; everything after it sees matrices, sizes and periods.

#' Construct a panel
#'
#' A value inside the package, never returned to a user: it is the last place where raw donor values
#' exist before [release()].
#'
#' @param donors (`matrix`, n x T, outcome units)\cr one row a donor. PRIVATE. Integer or double, kept
#'   as it is: never copied.
#' @param target (`matrix`, k x T, double, outcome units)\cr one row a treated unit, named by unit.
#'   PUBLIC.
#' @param times (`vector` of length T)\cr the periods in order: numeric, integer, Date, POSIXct or
#'   character (a factor becomes its labels). PUBLIC.
#' @param T0 (`integer`)\cr number of periods before the treatment. PUBLIC.
#' @param outcome,unit,time (`string`)\cr the outcome as the user wrote it; the index columns. PUBLIC.
#' @param layout (`list`)\cr public facts on how the panel was given: `source` (`"formula"` or
#'   `"matrix"`), `treated` (the indicator as the user wrote it, or `NULL`).
#' @param donor_names (`character` of length n, or `NULL`)\cr only when the user declared the names
#'   public.
#' @return A list of class `dpsc_panel` with the arguments as fields, `T1` (`integer`, number of
#'   periods from the treatment on) and `n` (`integer`, number of donors). `donor_names` is there only
#'   if it was given.
#' @noRd
new_panel_design <- function(donors, target, times, T0, outcome, unit, time, layout,
                             donor_names = NULL) {
  design <- list(
    donors = donors, target = target, times = times, T0 = as.integer(T0),
    T1 = ncol(target) - as.integer(T0), n = nrow(donors), outcome = outcome, unit = unit,
    time = time, layout = layout
  )
  design$donor_names <- donor_names
  structure(design, class = "dpsc_panel")
}

#' Build a panel from a formula and long data
#'
#' Rows may come in any order. Donors and targets are sorted by unit (factors by level, numbers by
#' size, strings in the C locale), so the panel does not depend on the order of the rows. Periods are
#' sorted likewise: **character periods alphabetically**, so `"10"` comes before `"2"`; give numbers,
#' dates or a factor instead. Unused factor levels are dropped.
#'
#' @param formula (`formula`)\cr `outcome ~ treated`; either side may be an expression, evaluated by
#'   [stats::model.frame()]. The indicator (0/1, FALSE/TRUE or a factor of these) is 1 exactly for
#'   treated units in post-treatment periods.
#' @param data (`data.frame`, tibble, data.table or `plm::pdata.frame`)\cr one row for each unit and
#'   period, every unit in every period. PRIVATE.
#' @param index (`character(2)`)\cr columns of unit and time.
#' @param keep_names (`flag`)\cr are the donors' names public? Then the panel holds them.
#' @return A `dpsc_panel`, see [new_panel_design()].
#' @section Errors: `dpsc_error_panel`: the kind of problem, and the period, column or count where it
#'   is. Treated units are named; a donor's name or value never is.
#' @noRd
panel_from_formula <- function(formula, data, index, call = NULL, keep_names = FALSE) {
  n_rows <- check_long_data(data, call)
  formula <- check_panel_formula(formula, call)
  index <- check_index(index, data, call)
  keep_names <- check_flag(keep_names, call = call)
  units <- code_index(index_column(data, index[[1L]]), index[[1L]], call)
  times <- code_index(index_column(data, index[[2L]]), index[[2L]], call)
  variables <- evaluate_formula(formula, data, n_rows, call)

  cells <- match_cells(units, times, call)
  treatment <- find_treatment(units, times, variables$treated, call)
  # Column-major, so that a whole row of the panel is one unit.
  outcome <- numeric(n_rows)
  outcome[cells] <- variables$outcome
  dim(outcome) <- c(length(units$values), length(times$values))
  target <- outcome[treatment$units, , drop = FALSE]
  rownames(target) <- unit_labels(units$values[treatment$units])
  donors <- outcome[-treatment$units, , drop = FALSE]

  label <- code_label(formula[[2L]], "outcome")
  check_finite_target(target, times$values, label, call)
  check_finite_donors(donors, times$values, label, call)
  new_panel_design(
    donors, target, times$values, treatment$T0, label, index[[1L]], index[[2L]],
    layout = list(source = "formula", treated = code_label(formula[[3L]], "treated")),
    donor_names = if (keep_names) unit_labels(units$values[-treatment$units])
  )
}

#' Build a panel from matrices
#'
#' `donors` is used as it is: no copy, and no vector of its size is made by the checks. Row names are
#' donors' names and are ignored.
#'
#' @param donors (`matrix`, n x T, integer or double, outcome units)\cr one row a donor. PRIVATE.
#' @param target (`numeric` of length T, or `matrix`, k x T, outcome units)\cr the treated units. Row
#'   names, if every row has one, are the units' labels. PUBLIC.
#' @param T0 (`count`, from 2 to T - 1)\cr number of periods before the treatment.
#' @param times (`vector` of length T, or `NULL`)\cr the periods in order; 1 to T if `NULL`. Increasing
#'   if numeric, a date or a factor; distinct if character.
#' @return A `dpsc_panel`, see [new_panel_design()]. Its `outcome`, `unit` and `time` are these words.
#' @section Errors: `dpsc_error_panel`; `dpsc_error_argument` for a `T0` that is no whole number.
#' @noRd
panel_from_matrix <- function(donors, target, T0, times = NULL, call = NULL) {
  check_donor_matrix(donors, call)
  n_times <- ncol(donors)
  target <- check_target(target, n_times, call)
  T0 <- check_count(T0, call = call)
  check_split(T0, n_times, call)
  times <- check_times(times, n_times, call)
  check_finite_target(target, times, "target", call)
  check_finite_donors(donors, times, "donors", call)
  new_panel_design(
    donors, target, times, T0, "outcome", "unit", "time",
    layout = list(source = "matrix", treated = NULL)
  )
}

# Long data ----------------------------------------------------------------------------------------

#' Check that long data are a data frame with rows
#' @return Their number of rows (`integer`).
#' @noRd
check_long_data <- function(data, call = NULL) {
  if (!is.data.frame(data)) {
    abort(c(
      "{.arg data} must be a data frame in long format: one row for each unit and period.",
      x = "It is an object of class {class(data)[[1L]]}.",
      i = "Convert it with {.code as.data.frame()}, or give a matrix of donors."
    ), "panel", call)
  }
  n_rows <- .row_names_info(data, 2L)
  if (n_rows == 0L) {
    abort(c(
      "{.arg data} must have one row for each unit and period.",
      x = "It has zero rows.",
      i = "Was everything filtered out?"
    ), "panel", call)
  }
  n_rows
}

#' Check the names of the index columns
#' @return `index` without names.
#' @noRd
check_index <- function(index, data, call = NULL) {
  mend <- "For instance {.code index = c(\"store\", \"week\")}."
  if (!is.character(index) || length(index) != 2L || anyNA(index)) {
    abort(c(
      "{.arg index} must name two columns of {.arg data}: unit and time.",
      x = "It is {describe(index)}.", i = mend
    ), "panel", call)
  }
  index <- as.vector(index)
  if (index[[1L]] == index[[2L]]) {
    abort(c(
      "{.arg index} must name two different columns of {.arg data}: unit and time.",
      x = "Both are {.code {index[[1L]]}}.", i = mend
    ), "panel", call)
  }
  unknown <- index[!index %in% c(names(data), names(attr(data, "index")))]
  if (length(unknown) > 0L) {
    abort(c(
      "{.arg index} must name two columns of {.arg data}: unit and time.",
      x = "{.code {unknown}} {?is not a column/are not columns} of {.arg data}.", i = mend
    ), "panel", call)
  }
  index
}

#' One index column; a pdata.frame may keep it in an attribute only
#' @noRd
index_column <- function(data, name) {
  if (name %in% names(data)) .subset2(data, name) else .subset2(attr(data, "index"), name)
}

#' Turn an index column into codes 1, 2, ... of its sorted values
#'
#' [factor()] would sort a million strings; here only the distinct ones are sorted.
#' @param x (`vector`)\cr an index column. PRIVATE if it holds units.
#' @param name (`string`)\cr its name.
#' @return A list with `code` (`integer`, one a row), `values` (the sorted distinct values, of the
#'   type of `x` with nothing attached but a known class; a factor's are its labels) and `name`.
#' @section Errors: `dpsc_error_panel` for a column of another type or with missing values.
#' @noRd
code_index <- function(x, name, call = NULL) {
  ok <- is.factor(x) || (is.null(dim(x)) && (is.character(x) || is_plain_number(x)))
  if (!ok) {
    abort(c(
      "The index columns must be numbers, dates, date-times, strings or factors.",
      x = "{.code {name}} is an object of class {class(x)[[1L]]}.",
      i = "Convert it, for instance with {.code as.character()} or {.code as.POSIXct()}."
    ), "panel", call)
  }
  if (is.factor(x)) {
    code <- as.integer(x)
    used <- which(tabulate(code, nlevels(x)) > 0L)
    values <- levels(x)[used]
    if (length(used) < nlevels(x)) {
      code <- match(code, used)
    }
    missing <- anyNA(code) || anyNA(values)
  } else {
    plain <- as.vector(x)
    values <- unique(plain)
    values <- values[order(values, method = "radix")]
    code <- match(plain, values)
    missing <- anyNA(values) || (is.double(values) && any(is.infinite(values)))
    attributes(values) <- known_attributes(x)
  }
  if (missing) {
    count <- sum(is.na(x) | (is.double(x) & is.infinite(x)))
    abort(c(
      "Every row must say its unit and its period.",
      x = "{.code {name}} is missing or infinite in {count} row{?s}.",
      i = "Remove these rows or complete them."
    ), "panel", call)
  }
  list(code = code, values = values, name = name)
}

#' The attributes of a vector of periods that are worth keeping
#'
#' A class that is known to need only these. Anything else a column carries (labels, the index that
#' plm hangs on every series) might hold donors' names.
#' @noRd
known_attributes <- function(x) {
  class <- intersect(
    class(x), c("IDate", "Date", "POSIXct", "POSIXt", "difftime", "yearmon", "yearqtr")
  )
  if (length(class) > 0L) {
    kept <- list(class = class, tzone = attr(x, "tzone"), units = attr(x, "units"))
    kept[!vapply(kept, is.null, NA)]
  }
}

#' The cell of the unit x period matrix that each row fills
#' @param units,times (`list`)\cr from [code_index()].
#' @return Cell numbers (`integer`, column-major), a permutation of all cells.
#' @section Errors: `dpsc_error_panel` for duplicate or absent rows.
#' @noRd
match_cells <- function(units, times, call = NULL) {
  n_units <- length(units$values)
  n_times <- length(times$values)
  n_rows <- length(units$code)
  # As many rows as cells, and every cell hit: each cell is hit once.
  if (n_rows == as.double(n_units) * n_times) {
    cells <- units$code + n_units * (times$code - 1L)
    hit <- logical(n_rows)
    hit[cells] <- TRUE
    if (all(hit)) {
      return(cells)
    }
  }
  repeated <- duplicated(units$code + as.double(n_units) * (times$code - 1L))
  if (any(repeated)) {
    count <- sum(repeated)
    period <- period_text(times$values[min(times$code[repeated])])
    abort(c(
      "{.arg data} must have one row for each unit and period.",
      x = "{count} row{?s} repeat{?s/} a unit and period; the first such period is {period}.",
      i = "Remove the duplicates, or check that {.code {units$name}} tells the units apart."
    ), "panel", call)
  }
  incomplete <- which(tabulate(times$code, n_times) < n_units)
  count <- length(incomplete)
  periods <- enumerate(period_text(times$values[utils::head(incomplete, 5L)]), count)
  abort(c(
    "The panel must be balanced: every unit in every period.",
    x = "{count} of {n_times} period{?s} lack{qty(count)}{?s/} rows: {periods}.",
    i = "Complete the units, drop the incomplete ones, or drop these periods."
  ), "panel", call)
}

#' Who is treated, and from when
#' @param units,times (`list`)\cr from [code_index()].
#' @param rows (`integer`)\cr rows where the indicator is 1.
#' @return A list with `units` (`integer`, codes of the treated units, sorted) and `T0` (`integer`).
#' @section Errors: `dpsc_error_panel` for a pattern of treatment that is no synthetic control design.
#' @noRd
find_treatment <- function(units, times, rows, call = NULL) {
  if (length(rows) == 0L) {
    abort(c(
      "One unit at least must be treated.",
      x = "The treatment indicator is 0 in every row.",
      i = "Set it to 1 for the treated unit from the first treated period on."
    ), "panel", call)
  }
  n_times <- length(times$values)
  unit <- units$code[rows]
  treated <- sort(unique(unit))
  check_donor_count(
    length(units$values) - length(treated),
    "The indicator is 1 only for treated units in post-treatment periods, not for every unit.", call
  )
  unit <- match(unit, treated)
  period <- times$code[rows]
  first <- vapply(split(period, unit), min, 1L)
  labels <- unit_labels(units$values[treated])

  switches <- which(tabulate(unit, length(treated)) != n_times - first + 1L)
  if (length(switches) > 0L) {
    i <- switches[[1L]]
    off <- min(setdiff(seq.int(first[[i]], n_times), period[unit == i]))
    on_text <- period_text(times$values[first[[i]]])
    off_text <- period_text(times$values[off])
    abort(c(
      "A treatment must last to the end of the panel.",
      x = paste(
        "{labels[[i]]} is treated in period {on_text} and no longer in period {off_text}",
        "({length(switches)} such unit{?s})."
      ),
      i = "Cut the panel before the treatment ends, or code the indicator as treated for good.",
      i = if (is.character(times$values)) {
        "Periods that are strings are sorted alphabetically: use numbers, dates or a factor."
      }
    ), "panel", call)
  }
  if (length(unique(first)) > 1L) {
    dates <- sort(unique(first))
    shown <- vapply(utils::head(dates, 5L), function(date) {
      members <- labels[first == date]
      members <- enumerate(utils::head(members, 5L), length(members))
      paste0(period_text(times$values[date]), " (", members, ")")
    }, "")
    shown <- enumerate(shown, length(dates))
    abort(c(
      "All treated units must adopt the treatment in the same period.",
      x = "There are {length(dates)} adoption dates: {shown}.",
      i = "Fit each adoption date on its own, without the units treated at the others."
    ), "panel", call)
  }
  T0 <- first[[1L]] - 1L
  if (T0 < 2L) {
    period <- period_text(times$values[T0 + 1L])
    abort(c(
      "Two periods at least must come before the treatment.",
      x = if (T0 == 0L) {
        "The treatment begins in {period}, the first period of the panel."
      } else {
        "The treatment begins in {period}, the second period of the panel."
      },
      i = if (T0 == 0L) {
        paste(
          "The indicator is 1 only in post-treatment periods, not in all rows of a treated unit.",
          "Add earlier periods if there are any."
        )
      } else {
        "Add earlier periods."
      }
    ), "panel", call)
  }
  list(units = treated, T0 = T0)
}

# Matrices -----------------------------------------------------------------------------------------

check_donor_matrix <- function(donors, call = NULL) {
  if (!is.matrix(donors) || is.object(donors) || !typeof(donors) %in% c("integer", "double")) {
    kind <- if (is.matrix(donors) && !is.object(donors)) {
      paste("a matrix of type", typeof(donors))
    } else {
      paste("an object of class", class(donors)[[1L]])
    }
    abort(c(
      "{.arg donors} must be a plain numeric matrix: one row a donor, one column a period.",
      x = "It is {kind}.",
      i = "Convert it with {.code as.matrix()} or {.code data.matrix()}."
    ), "panel", call)
  }
  check_donor_count(nrow(donors), "Rows of {.arg donors} are donors, columns are periods.", call)
}

#' Check that there are two donors at least
#' @param n (`integer`)\cr number of donors.
#' @param mend (`string`)\cr what to look at.
#' @noRd
check_donor_count <- function(n, mend, call = NULL) {
  if (n == 0L) {
    abort(c(
      "There must be donors: units that are never treated.",
      x = "There are none, every unit is treated.", i = mend
    ), "panel", call)
  }
  if (n == 1L) {
    abort(c(
      "Two donors at least are needed: units that are never treated.",
      x = "There is only one.",
      i = "With one donor the synthetic control is that donor's own row. Add donors."
    ), "panel", call)
  }
}

#' Check the target and make it a matrix
#' @return A double matrix (k x T) with row names.
#' @noRd
check_target <- function(target, n_times, call = NULL) {
  shape <- if (is.null(dim(target))) {
    paste("length", length(target))
  } else {
    paste("size", paste(dim(target), collapse = " x "))
  }
  shaped <- if (is.matrix(target)) {
    nrow(target) > 0L && ncol(target) == n_times
  } else {
    is.null(dim(target)) && length(target) == n_times
  }
  numeric <- is.numeric(target) && is_plain_number(target)
  if (!numeric || !shaped) {
    abort(c(
      paste(
        "{.arg target} must be a numeric vector with one value a period, or a matrix with one row",
        "a treated unit."
      ),
      x = if (numeric) {
        "It has {shape}, {.arg donors} has {n_times} column{?s}."
      } else {
        "It is an object of class {class(target)[[1L]]}."
      },
      i = "Give {.arg donors} and {.arg target} the same periods, as columns."
    ), "panel", call)
  }
  labels <- rownames(target)
  k <- if (is.matrix(target)) nrow(target) else 1L
  if (is.null(labels) || anyNA(labels) || !all(nzchar(labels))) {
    labels <- if (k == 1L) "target" else paste("target", seq_len(k))
  }
  matrix(as.double(target), k, n_times, dimnames = list(labels, NULL))
}

check_split <- function(T0, n_times, call = NULL) {
  if (T0 < 2 || T0 >= n_times) {
    abort(c(
      "{.arg T0} must be at least 2 and leave one period at least after it.",
      x = "It is {T0}, {.arg donors} has {n_times} period{?s}.",
      i = "{.arg T0} counts the columns before the treatment."
    ), "panel", call)
  }
}

#' Check the periods of a matrix
#' @return Them, with nothing attached but a known class; 1 to T for `NULL`; a factor's labels.
#' @noRd
check_times <- function(times, n_times, call = NULL) {
  if (is.null(times)) {
    return(seq_len(n_times))
  }
  ok <- is.factor(times) || (is.null(dim(times)) && (is.character(times) || is_plain_number(times)))
  if (!ok || length(times) != n_times) {
    abort(c(
      "{.arg times} must hold one period for each column of {.arg donors}.",
      x = if (ok) {
        "It has length {length(times)}, {.arg donors} has {n_times} column{?s}."
      } else {
        "It is an object of class {class(times)[[1L]]}."
      },
      i = "Use numbers, dates, date-times, strings or a factor."
    ), "panel", call)
  }
  plain <- if (is.factor(times)) as.integer(times) else as.vector(times)
  finite <- if (is.character(plain)) !is.na(plain) else is.finite(plain)
  repeated <- duplicated(plain)
  backward <- !is.character(plain) & c(FALSE, diff(seq_along(plain)[order(order(plain))]) < 0)
  bad <- which(!finite | repeated | backward)
  if (length(bad) > 0L) {
    i <- bad[[1L]]
    abort(c(
      "{.arg times} must increase from column to column, each period once.",
      x = if (!finite[[i]]) {
        "It is missing or infinite at column {i}."
      } else if (repeated[[i]]) {
        "Column {i} repeats the period {period_text(times[[i]])}."
      } else {
        "It goes back at column {i}, to {period_text(times[[i]])}."
      },
      i = "Sort the columns of {.arg donors} and {.arg target} by period."
    ), "panel", call)
  }
  if (is.factor(times)) {
    return(as.character(times))
  }
  attributes(plain) <- known_attributes(times)
  plain
}

# Values -------------------------------------------------------------------------------------------

#' Is every value finite? One pass over memory, nothing allocated
#'
#' A finite sum means finite terms. `FALSE` may be a false alarm: finite terms can overflow.
#' @noRd
is_finite_for_sure <- function(x) {
  if (is.integer(x)) !anyNA(x) else is.finite(sum(x))
}

#' Check that donors' values are finite; name the periods only
#' @param donors (`matrix`, n x T)\cr PRIVATE. Never copied; at most one column is at hand.
#' @param times (`vector` of length T)\cr the periods.
#' @param label (`string`)\cr the outcome as the user wrote it.
#' @noRd
check_finite_donors <- function(donors, times, label, call = NULL) {
  if (is_finite_for_sure(donors)) {
    return(invisible())
  }
  is_bad <- function(t) {
    column <- donors[, t]
    !is_finite_for_sure(column) && !all(is.finite(column))
  }
  bad <- which(vapply(seq_len(ncol(donors)), is_bad, NA))
  count <- length(bad)
  if (count > 0L) {
    periods <- enumerate(period_text(times[utils::head(bad, 5L)]), count)
    abort(c(
      "The outcome must be finite for every donor in every period.",
      x = "{.code {label}} is missing or not finite for donors in {count} period{?s}: {periods}.",
      i = "Complete the values, or drop the donors or the periods."
    ), "panel", call)
  }
}

#' Check that the target's values are finite; name unit and period
#' @inheritParams check_finite_donors
#' @param target (`matrix`, k x T, with row names)\cr PUBLIC.
#' @noRd
check_finite_target <- function(target, times, label, call = NULL) {
  bad <- which(!is.finite(target), arr.ind = TRUE)
  count <- nrow(bad)
  if (count > 0L) {
    unit <- rownames(target)[bad[[1L, 1L]]]
    period <- period_text(times[bad[[1L, 2L]]])
    abort(c(
      "The outcome of a treated unit must be finite in every period.",
      x = paste(
        "{.code {label}} is missing or not finite for {unit} in period {period}",
        "({count} such value{?s})."
      ),
      i = "Complete the values, or drop the periods."
    ), "panel", call)
  }
}

# Words --------------------------------------------------------------------------------------------

#' Periods as text
#' @param times (`vector`)\cr periods. PUBLIC.
#' @return A string for each.
#' @noRd
period_text <- function(times) {
  if (is.character(times) || is.factor(times)) {
    as.character(times)
  } else if (is.object(times)) {
    format(times)
  } else {
    number_text(times)
  }
}

#' Units as text
#' @param values (`vector`)\cr sorted units from [code_index()].
#' @return A string for each.
#' @noRd
unit_labels <- function(values) {
  if (is.object(values)) {
    format(values)
  } else if (is.double(values)) {
    number_text(values)
  } else {
    as.character(values)
  }
}

number_text <- function(x) {
  vapply(x, format, "", digits = 15L, scientific = FALSE)
}

#' A list in words: those shown, and how many more there are
#' @noRd
enumerate <- function(shown, count) {
  more <- count - length(shown)
  paste0(paste(shown, collapse = ", "), if (more > 0L) paste(" and", more, "more"))
}
