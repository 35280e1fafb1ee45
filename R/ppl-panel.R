# The panel: donors and targets as matrices. The only place that turns what the user gave into a
# "dpsc_panel"; everything after it sees matrices, sizes and periods.

#' Construct a panel
#'
#' A value inside the package, never returned to a user: it is the last place where raw donor values
#' exist before [release()].
#'
#' @param donors (`matrix`, n x T, outcome units)\cr one row a donor. PRIVATE. Integer or double,
#'   kept as it is: never copied.
#' @param target (`matrix`, k x T, double, outcome units)\cr one row a treated unit, named by unit.
#'   PUBLIC.
#' @param times (`vector` of length T)\cr the periods in order: numeric, integer, Date, POSIXct or
#'   character (a factor becomes its labels). PUBLIC.
#' @param T0 (`integer`)\cr number of periods before the treatment. PUBLIC.
#' @param outcome,unit,time (`string`)\cr the outcome as the user wrote it; the index columns.
#'   PUBLIC.
#' @param layout (`list`)\cr public facts on how the panel was given: `source` (`"formula"` or
#'   `"matrix"`), `treated` (the indicator as the user wrote it, or `NULL`).
#' @return A list of class `dpsc_panel` with the arguments as fields, `T1` (`integer`, number of
#'   periods from the treatment on) and `n` (`integer`, number of donors). Who makes it may add
#'   `donor_names` (`character(n)`), where the user declared them public; `covariates`; `adopted`;
#'   `bounds`, of the outcome; `assumes`.
#' @noRd
new_panel_design <- function(donors, target, times, T0, outcome, unit, time, layout) {
  structure(list(
    donors = donors, target = target, times = times, T0 = as.integer(T0),
    T1 = ncol(target) - as.integer(T0), n = nrow(donors), outcome = outcome, unit = unit,
    time = time, layout = layout
  ), class = "dpsc_panel")
}

# Checks that every input shares -------------------------------------------------------------------

#' Check that an argument was given
#'
#' R's own error for a missing argument may carry the call, and the call of [do.call()] holds the
#' data.
#' @param missing (`flag`)\cr is it missing?
#' @param arg,meaning (`string`)\cr its name and what it is.
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_given <- function(missing, arg, meaning) {
  if (missing) {
    abort(c("{.arg {arg}} is required: {meaning}."), "argument")
  }
}

#' Check that there are two donors at least
#' @param n (`integer`)\cr number of donors.
#' @param mend (`string`)\cr what to look at.
#' @noRd
check_donor_count <- function(n, mend) {
  if (n == 0L) {
    abort(c(
      "There must be donors: units that are never treated.",
      x = "There are none.", i = mend
    ), "panel")
  }
  if (n == 1L) {
    abort(c(
      "Two donors at least are needed: units that are never treated.",
      x = "There is only one.",
      i = "With one donor the synthetic control is that donor's own row. Add donors."
    ), "panel")
  }
}

#' Check that donors' values are finite; say nothing but that some are not
#'
#' Where gaps are, and how many, follows from donors' rows. One pass over memory in C++ that
#' allocates nothing and whose time does not depend on the values.
#' @param donors (`matrix`, n x T)\cr PRIVATE.
#' @param label (`string`)\cr the outcome as the user wrote it.
#' @noRd
check_donors_finite <- function(donors, label) {
  if (!all_finite_cpp(donors)) {
    abort(c(
      "The outcome must be finite for every donor in every period.",
      x = "{.code {label}} is missing or not finite for some donor.",
      i = row_by_row_advice
    ), "panel")
  }
}

# What may be done about gaps: a rule for one row at a time changes no other row. Dropping donors,
# or filling them in from others, makes rows depend on each other.
row_by_row_advice <- paste(
  "Fill gaps by a rule that looks at one person's row alone: carry that person's own values",
  "forward, or take the middle of {.arg bounds}. {.code ?preparing_data} says which rules keep the",
  "guarantee."
)

#' Check that the target's values are finite; name unit and period
#' @inheritParams check_donors_finite
#' @param target (`matrix`, k x T, with row names)\cr PUBLIC.
#' @param times (`vector` of length T)\cr the periods.
#' @noRd
check_finite_target <- function(target, times, label, hide = FALSE,
                                ask = function() NULL) {
  if (!all_finite_cpp(target)) ask()
  if (hide) {
    return(check_treated_finite(target, label))
  }
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
    ), "panel")
  }
}

#' The same where the treated are protected: say nothing but that some are not
#' @noRd
check_treated_finite <- function(target, label) {
  if (!all_finite_cpp(target)) {
    abort(c(
      "The outcome must be finite for every treated person in every period.",
      x = "{.code {label}} is missing or not finite for some of them.",
      i = row_by_row_advice
    ), "panel")
  }
}

#' Check the number of people whose mean each target is
#' @return A vector of length `k`.
#' @noRd
check_size <- function(size, k) {
  if (is.null(size)) {
    return(rep(1, k))
  }
  fits <- is.numeric(size) && length(size) %in% c(1L, k) && all(is.finite(size)) &&
    all(size >= 1) && all(size == round(size))
  if (!fits) {
    abort(c(
      "{.arg size} must be the number of people whose mean the target is.",
      x = "It is {describe(size)}.",
      i = if (k > 1L) "Give one whole number for all {k} treated units, or one for each."
    ), "argument")
  }
  rep_len(as.double(size), k)
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

#' Rows of a user without an attribute that means "on the grid already" in our own blocks
#' @noRd
without_grid <- function(rows) {
  if (!is.null(attr(rows, "on_grid", exact = TRUE))) attr(rows, "on_grid") <- NULL
  rows
}
