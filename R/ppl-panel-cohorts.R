# Several adoption dates: units that adopt together, and refused cohorts. All values are PUBLIC.

#' Check that every cohort has periods before its adoption
#' @param adopted (`integer(k)`)\cr number of periods before each unit's adoption; the numbers
#'   differ.
#' @param labels (`character(k)`)\cr the treated units, which are public.
#' @param times (`vector`)\cr the periods.
#' @param hide (`flag`)\cr whether messages must not name the treated units, for example because
#'   they are protected.
#' @return `adopted`.
#' @section Errors: `dpsc_error_panel`; names the units, unless `hide`.
#' @noRd
check_adopted <- function(adopted, labels, times, hide = FALSE) {
  early <- adopted < 2L
  if (any(early)) {
    units <- enumerate(utils::head(labels[early], 5L), sum(early))
    period <- period_text(times[[max(adopted[early]) + 1L]])
    abort(c(
      "At least two periods must come before the adoption of every cohort.",
      x = if (hide) {
        "Some treated unit has fewer periods before its adoption."
      } else {
        "Units treated in {period} or before: {units}."
      },
      i = paste(
        "Leave these units out (their counterfactual cannot be estimated), or add earlier periods.",
        "These units cannot be donors."
      )
    ), "panel")
  }
  adopted
}

#' Check a `T0` with one value per treated unit
#' @param k (`count`)\cr number of treated units.
#' @return `T0`, whole numbers.
#' @section Errors: `dpsc_error_argument`; `dpsc_error_panel` for a date after the last period.
#' @noRd
check_each_split <- function(T0, k, n_times) {
  if (length(T0) != k) {
    abort(c(
      "{.arg T0} must be one number, or one for each row of {.arg target}.",
      x = "It has length {length(T0)}; {.arg target} has {k} row{?s}."
    ), "argument")
  }
  T0 <- vapply(T0, check_count, 0, min = -Inf, arg = "T0")
  if (any(T0 >= n_times)) {
    abort(c(
      "Every treated unit must be observed in at least one period from its adoption on.",
      x = "{.arg T0} is {max(T0)} for some unit, and the panel has {n_times} periods.",
      i = "Units that are never treated belong to the donors, not to {.arg target}."
    ), "panel")
  }
  as.integer(T0)
}

#' The dates of a panel's cohorts: periods before each adoption, increasing; `NULL` for one date
#' @noRd
adoption_dates <- function(panel) {
  if (!is.null(panel$adopted)) sort(unique(panel$adopted))
}

#' Numbers of protected people, by date for several dates; `NULL` without protected people
#' @noRd
treated_counts <- function(panel) {
  if (is.null(panel$treated) || is.null(panel$adopted)) {
    return(nrow(panel$treated))
  }
  as.integer(table(panel$adopted))
}

#' The number of people in the smallest cohort, which determines the calibration; for one date the
#' total number
#' @param size (`numeric`)\cr number of people in each treated unit.
#' @noRd
smallest_group <- function(size, adopted) {
  if (is.null(adopted)) sum(size) else min(tapply(rep_len(size, length(adopted)), adopted, sum))
}

#' The name of a cohort's account
#' @noRd
cohort_account <- function(g) paste("cohort", g)

#' The columns of a row in a cohort's order
#'
#' A row of a release contains `before` periods, `q` covariates, and the other periods. A row of a
#' cohort that adopts after `T0` periods contains the cohort's past first, then the covariates.
#' @noRd
cohort_order <- function(before, q, T0, periods) {
  column <- seq_len(periods) + ifelse(seq_len(periods) > before, q, 0L)
  past <- seq_len(T0)
  c(column[past], before + seq_len(q), column[-past])
}
