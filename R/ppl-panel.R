# The panel: donors and targets as matrices. This file leads from the user's input to a
# "dpsc_panel", contains the checks of every input, and builds the panel from a matrix of donors.
# All later code uses matrices, sizes and periods.
#' Construct a panel
#'
#' A panel is internal and never returned to a user: it is the last object with raw donor values
#' before [release()].
#'
#' @param donors (`matrix`, n x T, outcome units)\cr one row per donor. PRIVATE. Integer or double,
#'   unchanged and never copied.
#' @param design (`list`, PUBLIC)\cr `target` (k x T matrix, double, outcome units; one row per
#'   treated unit, named by unit), `times` (length T; the periods in order: numeric, integer, Date,
#'   POSIXct or character, a factor's labels), `T0` (periods before the treatment), `adopted`
#'   (periods before each unit's own adoption, if there are several dates).
#' @param n (`count`)\cr donors. PUBLIC.
#' @param outcome,index (`string`, `character(2)`)\cr the outcome as the user wrote it; the columns
#'   of unit and time. PUBLIC.
#' @param source (`string`)\cr the form of the input: `"formula"`, `"matrix"` or `"chunks"`. PUBLIC.
#' @return A list of class `dpsc_panel` with these fields, `unit` and `time` for `index`, and `T1`
#'   (`integer`, number of periods from the treatment on). The caller may add `donor_names`
#'   (`character(n)`), if the user declared them public; `covariates`; `bounds`, of the outcome;
#'   `assumes`.
#' @noRd
new_panel_design <- function(donors, design, source, n = nrow(donors), outcome = "outcome",
                             index = c("unit", "time")) {
  T0 <- as.integer(design$T0)
  panel <- structure(list(
    donors = donors, target = design$target, times = design$times, T0 = T0,
    T1 = ncol(design$target) - T0, n = n, outcome = outcome, unit = index[[1L]],
    time = index[[2L]], source = source
  ), class = "dpsc_panel")
  panel$adopted <- design$adopted
  panel
}

# Checks shared by all inputs ----------------------------------------------------------------------

#' Check that there are at least two donors
#' @param n (`integer`)\cr number of donors.
#' @param mend (`string`)\cr a hint for the user.
#' @noRd
check_donor_count <- function(n, mend) {
  if (n == 0L) {
    abort(c(
      "There must be donors: units that are never treated.",
      x = "No unit is a donor.", i = mend
    ), "panel")
  }
  if (n == 1L) {
    abort(c(
      "At least two donors are needed: units that are never treated.",
      x = "There is only one donor.",
      i = "With one donor the counterfactual depends on that donor's row alone. Add donors."
    ), "panel")
  }
}

#' Check that donors' values are finite; the error states only that some values are not finite
#'
#' The positions and the number of gaps depend on donors' rows. The check is one pass over memory in
#' C++ without allocation, and its time does not depend on the values.
#' @param donors (`matrix`, n x T)\cr PRIVATE.
#' @param label (`string`)\cr the outcome as the user wrote it.
#' @param note (`string` or `NULL`)\cr a public reason for gaps.
#' @noRd
check_donors_finite <- function(donors, label, note = NULL) {
  if (!all_finite_cpp(donors)) {
    abort(c(
      "The outcome must be finite for every donor in every period.",
      x = "{.code {label}} is missing or not finite for some donor.",
      i = if (!is.null(note)) "{note}", i = row_by_row_advice
    ), "panel")
  }
}

#' Error for non-finite values of the target, with unit and period if they may be named
#' @inheritParams check_donors_finite
#' @param target (`matrix`, k x T, with row names)\cr PUBLIC.
#' @param times (`vector` of length T)\cr the periods.
#' @noRd
abort_target_gaps <- function(target, times, label, hide = FALSE, ask = function() NULL,
                              note = NULL) {
  ask()
  if (hide) {
    abort(c(
      "The outcome must be finite for every treated person in every period.",
      x = "{.code {label}} is missing or not finite for some treated person.",
      i = if (!is.null(note)) "{note}", i = row_by_row_advice
    ), "panel")
  }
  bad <- which(!is.finite(target), arr.ind = TRUE)
  count <- nrow(bad)
  unit <- rownames(target)[bad[[1L, 1L]]]
  period <- period_text(times[bad[[1L, 2L]]])
  abort(c(
    "The outcome of a treated unit must be finite in every period.",
    x = paste(
      "{.code {label}} is missing or not finite for {unit} in period {period}",
      "({count} such value{?s})."
    ),
    i = if (!is.null(note)) "{note}", i = "Complete the values, or drop the periods."
  ), "panel")
}

#' Check the number of people over whom each target is averaged
#' @return A vector of length `k`.
#' @noRd
check_size <- function(size, k) {
  if (is.null(size)) {
    return(rep(1, k))
  }
  check_size_value(size)
  if (!length(size) %in% c(1L, k)) abort_size(size, k)
  rep_len(as.double(size), k)
}

#' Check the values of `size`, which precedes every error about `protect`
#' @noRd
check_size_value <- function(size) {
  fits <- is.null(size) || (is.numeric(size) && length(size) > 0L && all(is.finite(size)) &&
    all(size >= 1) && all(size == round(size)))
  if (fits) size else abort_size(size)
}

#' @param k (`count`)\cr number of treated units, if it is known.
#' @noRd
abort_size <- function(size, k = 1L) {
  abort(c(
    "{.arg size} must be the number of people over whom the target is averaged.",
    x = "It is {describe_value(size)}.",
    i = if (k > 1L) "Give one whole number for all {k} treated units, or one number per unit."
  ), "argument")
}

#' The mean of the people in several targets
#' @noRd
mean_target <- function(target, size) {
  k <- nrow(target)
  if (k == 1L) {
    return(target)
  }
  label <- paste("mean of", k, "treated units")
  matrix(colSums(target * (size / sum(size))), 1L, dimnames = list(label, NULL))
}

# A matrix of donors -----------------------------------------------------------------------------

#' Build a panel from a matrix of donors
#'
#' A matrix of donors is used unchanged: the checks create no copy, and no vector of the same size.
#' Row names are donors' names and are ignored.
#'
#' @param donors (`matrix`, n x T, integer or double, outcome units, `dp_chunks` or `dp_source`)\cr
#'   one row per donor. PRIVATE.
#' @param target (`numeric` of length T, or `matrix`, k x T, outcome units)\cr the treated units.
#'   Row names, if every row has one, are the units' labels. PUBLIC.
#' @param T0 (`count`, from 2 to T - 1)\cr number of periods before the treatment.
#' @param times (`vector` of length T, or `NULL`)\cr the periods in order; 1 to T if `NULL`.
#'   Increasing if numeric, a date or a factor; distinct if character.
#' @return A `dpsc_panel`, see [new_panel_design()]. Its fields `outcome`, `unit` and `time` contain
#'   the words "outcome", "unit" and "time".
#' @section Errors: `dpsc_error_panel`; `dpsc_error_argument` for a `T0` that is not a whole number.
#' @noRd
panel_from_donors <- function(donors, target, T0, times = NULL, hide = FALSE) {
  check_given(missing(target), "target", "the treated unit's outcome, one value per period")
  check_given(missing(T0), "T0", "the number of periods before the treatment")
  UseMethod("panel_from_donors")
}

#' @noRd
#' @exportS3Method
panel_from_donors.default <- function(donors, target, T0, times = NULL, hide = FALSE) {
  donors <- check_donor_matrix(donors)
  check_donor_count(nrow(donors), "Rows of {.arg donors} are donors, and columns are periods.")
  design <- design_public(target, T0, times, ncol(donors), hide)
  check_donors_finite(donors, "donors")
  new_panel_design(donors, design, "matrix")
}

#' The public part of a design given as matrices, checked
#' @param n_times (`integer`)\cr number of columns of the donors.
#' @return A list: `target` (k x T), `T0`, `times`, `adopted` (see [find_treatment()]).
#' @noRd
design_public <- function(target, T0, times, n_times, hide = FALSE) {
  target <- check_target(target, n_times)
  T0 <- if (length(T0) > 1L) {
    check_each_split(T0, nrow(target), n_times)
  } else {
    check_count(T0, min = -Inf)
  }
  adopted <- if (length(unique(T0)) > 1L) T0
  if (is.null(adopted) && (T0[[1L]] < 2 || T0[[1L]] >= n_times)) abort_split(T0[[1L]], n_times)
  times <- if (is.null(times)) seq_len(n_times) else check_times(times, n_times)
  if (!is.null(adopted)) {
    labels <- if (hide) rep("a treated unit", nrow(target)) else rownames(target)
    check_adopted(adopted, labels, times)
  }
  if (!all_finite_cpp(target)) abort_target_gaps(target, times, "target", hide)
  list(target = target, T0 = min(T0), times = times, adopted = adopted)
}

#' Check that donors are a matrix of numbers
#' @return The matrix, without the attribute that marks the package's own blocks as already on the
#'   grid.
#' @noRd
check_donor_matrix <- function(donors) {
  if (!is_plain_table(donors)) {
    kind <- if (is.matrix(donors) && !is.object(donors)) {
      paste("a matrix of type", typeof(donors))
    } else {
      paste("an object of class", class(donors)[[1L]])
    }
    abort(c(
      "{.arg donors} must be a plain numeric matrix: one row per donor, one column per period.",
      x = "It is {kind}.",
      i = "Convert it with {.code as.matrix()} or {.code data.matrix()}."
    ), "panel")
  }
  without_grid(donors)
}

#' Check the target and make it a matrix
#' @return A double matrix (k x T) with row names.
#' @noRd
check_target <- function(target, n_times) {
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
        "{.arg target} must be a numeric vector with one value per period, or a matrix with one",
        "row per treated unit."
      ),
      x = if (numeric) {
        "It has {shape}; the donors have {n_times} period{?s}."
      } else {
        "It is an object of class {class(target)[[1L]]}."
      },
      i = paste(
        "Give {.arg target} for the periods of the donors, in the same order. Each row of the",
        "donors is a unit, and each column is a period."
      )
    ), "panel")
  }
  labels <- rownames(target)
  k <- if (is.matrix(target)) nrow(target) else 1L
  if (is.null(labels) || anyNA(labels) || !all(nzchar(labels))) {
    labels <- if (k == 1L) "target" else paste("target", seq_len(k))
  }
  matrix(as.double(target), k, n_times, dimnames = list(labels, NULL))
}

abort_split <- function(T0, n_times) {
  abort(c(
    "{.arg T0} must be at least 2 and less than the number of periods.",
    x = "It is {number_text(T0)}; {.arg donors} has {n_times} period{?s}.",
    i = "{.arg T0} counts the columns before the treatment."
  ), "panel")
}

#' Check the periods of a matrix
#' @return The periods, without attributes except a known class; for a factor its labels.
#' @noRd
check_times <- function(times, n_times) {
  ok <- is.factor(times) || (is.null(dim(times)) && (is.character(times) || is_plain_number(times)))
  if (!ok || length(times) != n_times) {
    abort(c(
      "{.arg times} must have one period for each column of {.arg donors}.",
      x = if (ok) {
        "It has length {length(times)}; {.arg donors} has {n_times} column{?s}."
      } else {
        "It is an object of class {class(times)[[1L]]}."
      },
      i = "Use numbers, dates, date-times ({.cls POSIXct}), strings or a factor."
    ), "panel")
  }
  plain <- if (is.factor(times)) as.integer(times) else as.vector(times)
  finite <- if (is.character(plain)) !is.na(plain) else is.finite(plain)
  repeated <- duplicated(plain)
  backward <- !is.character(plain) & c(FALSE, diff(seq_along(plain)[order(order(plain))]) < 0)
  bad <- which(!finite | repeated | backward)
  if (length(bad) > 0L) {
    i <- bad[[1L]]
    abort(c(
      "{.arg times} must increase from column to column and contain each period once.",
      x = if (!finite[[i]]) {
        "{.arg times} is missing or infinite at column {i}."
      } else if (repeated[[i]]) {
        "Column {i} repeats the period {period_text(times[[i]])}."
      } else {
        "{.arg times} decreases at column {i}, to {period_text(times[[i]])}."
      },
      i = "Sort the columns of {.arg donors} and {.arg target} by period."
    ), "panel")
  }
  if (is.factor(times)) {
    return(as.character(times))
  }
  attributes(plain) <- known_attributes(times)
  plain
}

#' Fill every row separately
#'
#' Gaps are filled by linear interpolation between two values of the row, by the position of the
#' periods. Before the first and after the last value the nearest value is used. For a row without a
#' value before the treatment the middle of the bounds is used. The result for a row does not depend
#' on other rows.
#' @param rows (`matrix`, n x T)\cr `NA` for missing values. PRIVATE.
#' @param middle (`numeric(T)`).
#' @noRd
interpolate_rows <- function(rows, T0, middle) {
  periods <- ncol(rows)
  n <- nrow(rows)
  before <- after <- rows
  at_before <- at_after <- matrix(rep(seq_len(periods), each = n), n)
  at_before[is.na(rows)] <- at_after[is.na(rows)] <- NA
  carry <- function(values, places, to, from) {
    gap <- is.na(places[, to])
    values[gap, to] <- values[gap, from]
    places[gap, to] <- places[gap, from]
    list(values, places)
  }
  for (t in seq_len(periods)[-1L]) {
    moved <- carry(before, at_before, t, t - 1L)
    before <- moved[[1L]]
    at_before <- moved[[2L]]
  }
  for (t in rev(seq_len(periods - 1L))) {
    moved <- carry(after, at_after, t, t + 1L)
    after <- moved[[1L]]
    at_after <- moved[[2L]]
  }
  none <- is.na(at_before[, T0])
  at <- matrix(rep(seq_len(periods), each = n), n)
  share <- (at - at_before) / (at_after - at_before)
  gap <- after - before
  # The difference of two huge values may be infinite, but their weighted mean is finite.
  between <- ifelse(is.finite(gap), before + share * gap, (1 - share) * before + share * after)
  out <- ifelse(is.na(at_before), after, ifelse(
    is.na(at_after) | at_after == at_before, before, between
  ))
  out[none, ] <- rep(middle, each = sum(none))
  out
}
