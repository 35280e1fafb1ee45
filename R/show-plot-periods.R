# Labels of periods on an axis.

#' Periods in a form for an axis, with text dates from a file as dates
#' @noRd
plot_periods <- function(times) {
  if (is.character(times) && all(grepl("^[0-9]{4}-[01][0-9]-[0-3][0-9]$", times))) {
    dates <- as.Date(times, format = "%Y-%m-%d")
    if (anyNA(dates)) factor(times, levels = unique(times)) else dates
  } else if (is.character(times)) {
    factor(times, levels = times)
  } else if (inherits(times, c("yearmon", "yearqtr"))) {
    first_day(times)
  } else if (inherits(times, "difftime")) {
    as.numeric(times)
  } else {
    times
  }
}

#' First days of the months and quarters of package zoo, which are years and fractions of years
#' @noRd
first_day <- function(times) {
  months <- round(12 * as.numeric(times))
  as.Date(sprintf("%04d-%02d-01", as.integer(months %/% 12), as.integer(months %% 12) + 1L))
}
