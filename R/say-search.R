# Search for the smallest number with a given property.

#' The smallest number with a property that all larger numbers share; `NA` without such a number
#' @noRd
first_that <- function(holds, low, high) {
  if (!holds(high)) {
    return(NA_real_)
  }
  if (holds(low)) {
    return(low)
  }
  while (high / low > 1.0005) {
    middle <- sqrt(low * high)
    if (holds(middle)) high <- middle else low <- middle
  }
  high
}

signif_up <- function(x) {
  rounded <- signif(x, 2L)
  if (is.na(x) || rounded >= x) rounded else rounded + 10^(floor(log10(x)) - 1)
}
