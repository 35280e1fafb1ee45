# Periods as an axis shows them.

#' Periods as something an axis can show
#' @noRd
plot_periods <- function(times) {
  if (is.character(times)) {
    factor(times, levels = times)
  } else if (inherits(times, c("yearmon", "yearqtr"))) {
    first_day(times)
  } else if (inherits(times, "difftime")) {
    as.numeric(times)
  } else {
    times
  }
}

#' First days of zoo's months and quarters, which are years and fractions of years
#' @noRd
first_day <- function(times) {
  months <- round(12 * as.numeric(times))
  as.Date(sprintf("%04d-%02d-01", as.integer(months %/% 12), as.integer(months %% 12) + 1L))
}
