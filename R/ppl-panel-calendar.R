# Gaps in the calendar are periods without a row of any unit. Periods are public, and so are these
# messages.

#' Warn of periods that are missing for everybody
#'
#' Estimators use only the order of periods and not their distances, so a year that is missing from
#' the data would be skipped without a message. A declared order of periods (a roster, a factor,
#' strings, a matrix) is not checked.
#' @param times (`vector`)\cr sorted periods, PUBLIC.
#' @param name (`string`)\cr the name of the column of time.
#' @section Warnings: `dpsc_warning_calendar`.
#' @noRd
warn_calendar_gap <- function(times, name) {
  after <- calendar_gaps(times)
  if (!length(after)) {
    return(invisible(NULL))
  }
  shown <- utils::head(after, 3L)
  gaps <- paste(period_text(times[shown]), "and", period_text(times[shown + 1L]))
  more <- length(after) - length(shown)
  warn(c(
    "{.code {name}} has gaps: periods are missing for everybody.",
    x = "The gaps are between {gaps}{if (more) paste0(', and ', more, ' more')}.",
    i = paste(
      "Periods on both sides of a gap are treated as adjacent. Complete the data or, if these",
      "periods do not exist, make {.code {name}} a factor with its levels in order."
    )
  ), "calendar")
}

#' Positions where a calendar skips whole periods
#'
#' At least half of the steps must have the shortest length, all other steps must be multiples of
#' this length, and at most as many periods may be missing as are present. Otherwise the periods are
#' irregular and gaps are undefined. Weekends are not missing days.
#' @return Positions of the last periods before the gaps; empty without gaps.
#' @noRd
calendar_gaps <- function(times) {
  steps <- calendar_steps(times)
  if (length(steps) < 2L) {
    return(integer())
  }
  usual <- min(steps)
  regular <- usual > 0 && all(steps %% usual == 0) && mean(steps == usual) >= 1 / 2 &&
    sum(steps / usual - 1) <= length(times)
  gaps <- which(steps > usual)
  if (regular && inherits(times, "Date") && usual == 1) {
    gaps <- gaps[!only_weekends(times, gaps)]
  }
  if (regular) gaps else integer()
}

#' Steps between periods in whole units, or `NULL` if periods are not calendar numbers
#' @noRd
calendar_steps <- function(times) {
  if (inherits(times, "POSIXct")) {
    clock <- format(times, "%H:%M:%S")
    whole <- length(unique(clock)) == 1L
    times <- if (whole) as.Date(format(times, "%Y-%m-%d")) else as.numeric(times)
  }
  position <- if (inherits(times, "Date")) {
    month_count(times) %||% as.numeric(times)
  } else if (inherits(times, "yearmon")) {
    round(12 * as.numeric(times))
  } else if (inherits(times, "yearqtr")) {
    round(4 * as.numeric(times))
  } else if (is.numeric(times)) {
    coded_periods(as.numeric(times))
  }
  if (!is.null(position) && all(position == round(position))) diff(position)
}

#' Months of dates that are all on the same day of the month, or on its last day
#' @noRd
month_count <- function(dates) {
  part <- function(format) as.numeric(format(dates, format))
  day <- part("%d")
  last <- as.numeric(format(dates + 1, "%d")) == 1
  if (all(day == day[[1L]]) || all(last)) 12 * part("%Y") + part("%m")
}

#' Integers unchanged; years with a month or a quarter, as in 199012 and 19904, as consecutive
#' numbers
#' @return `NULL` for longer numbers, which may be codes of some other kind.
#' @noRd
coded_periods <- function(times) {
  if (all(abs(times) < 10000)) {
    return(times)
  }
  for (code in list(c(100, 12), c(10, 4))) {
    year <- times %/% code[[1L]]
    part <- times %% code[[1L]]
    if (all(year >= 1500 & year <= 2999 & part >= 1 & part <= code[[2L]])) {
      return(code[[2L]] * year + part)
    }
  }
  NULL
}

#' For each gap between days: does it consist of Saturdays and Sundays only?
#' @noRd
only_weekends <- function(dates, gaps) {
  vapply(gaps, function(gap) {
    between <- seq(dates[[gap]], dates[[gap + 1L]], by = 1)
    all(format(between[-c(1L, length(between))], "%u") %in% c("6", "7"))
  }, NA)
}
