# The treated units and the start of their treatment, from the indicator in long data.

#' Check that there is a treated row and that unit and time are not interchanged
#'
#' If unit and time are interchanged, donors' names would become periods, which are public and
#' appear in errors. So this check precedes every check that names a period. A treatment that lasts
#' to the end includes the last periods; for other treatments there is no further message. The
#' positions of donors among the names of units have no effect, since otherwise a new name for one
#' donor would change the message.
#' @inheritParams find_treatment
#' @section Errors: `dpsc_error_panel`; the message names only the columns. The error that requests
#'   `protect` occurs earlier.
#' @noRd
check_orientation <- function(units, times, rows, ask = function() NULL) {
  if (length(rows) == 0L) {
    abort(c(
      "At least one unit must be treated.",
      x = "The treatment indicator is 0 in every row.",
      i = "Set it to 1 for the treated unit from the first treated period on."
    ), "panel")
  }
  by_type <- dates_are_units(units, times)
  early <- !is_tail(times$code[rows], length(times$values))
  if (by_type || early) {
    ask()
    # Numbers are seldom units if text would be periods. The positions of units have no effect.
    swapped <- by_type || (is.numeric(units$values) && times$alphabetical)
    abort(c(
      if (swapped) {
        "{.arg index} must name the unit first and the time second."
      } else {
        "A treatment must last to the end of the panel."
      },
      x = if (by_type) {
        dates_are_units_text
      } else {
        paste(
          "With {.code {units$name}} as the unit and {.code {times$name}} as the time, the",
          "treatment ends before the last period."
        )
      },
      i = "Check the order in {.arg index}, and that the treatment lasts to the end of the panel.",
      i = if (early) {
        paste(
          "If the treatment ends early, drop the periods after its end, or code the unit as",
          "treated to the end."
        )
      },
      i = if (early && times$alphabetical) {
        paste(
          "Strings are sorted alphabetically. If the order is right, give",
          "{.code {times$name}} as numbers, dates or a factor."
        )
      }
    ), "panel")
  }
}

#' Does the unit contain dates, but the time does not? Only classes of columns are read.
#' @noRd
dates_are_units <- function(units, times) {
  is_date <- function(x) inherits(x, c("Date", "POSIXct", "yearmon", "yearqtr"))
  is_date(units$values) && !is_date(times$values)
}

dates_are_units_text <- paste(
  "{.code {units$name}}, given as the unit, contains dates; {.code {times$name}} does not."
)

#' The faults of a panel that are reported even before `protect` is required, since they depend only
#' on classes of columns and on the numbers of units, which are public
#' @param n (`count`)\cr number of donors.
#' @param asks (`flag`)\cr whether `protect` is still lacking.
#' @section Errors: `dpsc_error_panel`; for dates also a `dpsc_error_protect` if `protect` is
#'   lacking.
#' @noRd
check_panel_order <- function(units, times, n, asks) {
  if (n == 0L) check_donor_count(n, no_donor_advice)
  if (asks && dates_are_units(units, times)) {
    abort(c(
      "{.arg index} must name the unit first and the time second.",
      x = dates_are_units_text,
      i = "Check the order in {.arg index}, and that the treatment lasts to the end of the panel."
    ), c("protect", "panel"))
  }
}

no_donor_advice <-
  "Set the indicator to 1 only for treated units in post-treatment periods, not for every unit."

#' Refuse numeric units that seem to be periods
#'
#' If the last units are treated, the panel is valid in both orders. If the number of "donors" is
#' below the number of periods, they are probably periods, and everybody's last outcome would become
#' public.
#' @param n (`count`)\cr number of donors.
#' @section Errors: `dpsc_error_index`, also a `dpsc_error_panel`; names the columns only.
#' @noRd
check_few_numbers <- function(units, times, n, ask = function() NULL) {
  unclear <- is.numeric(units$values) && (is.numeric(times$values) || is.character(times$values))
  # A panel without donors is refused for the lack of donors, in either order of `index`.
  if (unclear && n > 0L && n < length(times$values)) {
    ask()
    abort(c(
      "There are fewer donors than periods, so unit and time in {.arg index} may be interchanged.",
      i = paste(
        "{.code {units$name}} is used as the unit and {.code {times$name}} as the time; the",
        "unit contains numbers. If unit and time are interchanged, donors' names become periods,",
        "which are public."
      ),
      i = "If the order is right, turn {.code {units$name}} into strings."
    ), c("index", "panel"))
  }
}

#' Are these codes, as a set, the last codes of 1, ..., n?
#' @noRd
is_tail <- function(codes, n) {
  length(unique(codes)) == n - min(codes) + 1L
}

#' Who is treated, and from when
#' @param units,times (`list`)\cr from [code_index()].
#' @param rows (`integer`)\cr rows with indicator 1; at least one, and no unit and period twice.
#' @param hide (`flag`)\cr name no treated unit.
#' @param ask (`function`)\cr called before a message about a treated unit.
#' @return A list with `units` (`integer`, codes of the treated units, sorted), `T0` (`integer`,
#'   before the first adoption) and `adopted` (`integer`, periods before each unit's own adoption,
#'   or `NULL` if all units adopt in the same period).
#' @section Errors: `dpsc_error_panel` for a pattern of treatment that is not a synthetic control
#'   design.
#' @noRd
find_treatment <- function(units, times, rows, hide = FALSE,
                           ask = function() NULL) {
  n_times <- length(times$values)
  unit <- units$code[rows]
  treated <- sort(unique(unit))
  check_donor_count(
    length(units$values) - length(treated), no_donor_advice
  )
  unit <- match(unit, treated)
  period <- times$code[rows]
  first <- vapply(split(period, unit), min, 1L)
  labels <- if (hide) {
    rep("a treated unit", length(treated))
  } else {
    unit_labels(units$values[treated])
  }

  switches <- which(tabulate(unit, length(treated)) != n_times - first + 1L)
  if (length(switches) > 0L) {
    ask()
    i <- switches[[1L]]
    off <- min(setdiff(seq.int(first[[i]], n_times), period[unit == i]))
    on_text <- period_text(times$values[first[[i]]])
    off_text <- period_text(times$values[off])
    abort(c(
      "A treatment must last to the end of the panel.",
      x = if (hide) {
        "Some treated unit is no longer treated in a later period."
      } else {
        paste(
          "{labels[[i]]} is treated in period {on_text} and no longer in period {off_text}",
          "({length(switches)} such unit{?s})."
        )
      },
      i = "Drop the periods after the treatment ends, or code the unit as treated to the end.",
      i = if (times$alphabetical) {
        "Periods that are strings are sorted alphabetically: use numbers, dates or a factor."
      }
    ), "panel")
  }
  if (min(first) < 3L) ask()
  if (length(unique(first)) > 1L) {
    adopted <- check_adopted(unname(first) - 1L, labels, times$values, hide)
    return(list(units = treated, T0 = min(adopted), adopted = adopted))
  }
  T0 <- first[[1L]] - 1L
  if (T0 < 2L) {
    period <- period_text(times$values[T0 + 1L])
    abort(c(
      "At least two periods must come before the treatment.",
      x = if (hide) {
        "The treatment begins in one of the first two periods."
      } else if (T0 == 0L) {
        "The treatment begins in {period}, the first period of the panel."
      } else {
        "The treatment begins in {period}, the second period of the panel."
      },
      i = if (T0 == 0L) {
        paste(
          "Set the indicator to 1 only in post-treatment periods, not in all rows of a treated",
          "unit. Add earlier periods if there are any."
        )
      } else {
        "Add earlier periods."
      }
    ), "panel")
  }
  list(units = treated, T0 = T0)
}
