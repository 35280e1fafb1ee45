# Analyses of a fit that cost no budget.

#' Words on alternatives for a fit that cost no budget
#'
#' Every refusal uses this text, so that no refusal suggests a function that is also refused.
#' @param release (`dp_release`).
#' @return A string for [abort()].
#' @noRd
free_inference <- function(release) {
  if (!gives_moments(release$method)) {
    return(paste(
      "At no cost, use {.fn confint}, whose intervals allow for the privacy noise only.",
      "There is no test, because no prediction error was released."
    ))
  }
  if (holds_periods(release)) {
    return(paste(
      "At no cost, use the placebo test in {.fn summary}, {.fn placebo_time}, {.fn conformal}",
      "or {.fn confint}."
    ))
  }
  paste(
    "At no cost, use the placebo test in {.fn summary}, which compares the target's deviation",
    "with the donors' deviations, or use {.fn confint}."
  )
}

#' Does a release contain the single pre-periods?
#' @inheritParams period_statistics
#' @noRd
holds_periods <- function(release, alike = TRUE) {
  s <- release$statistics
  gives_moments(release$method) && s$pre >= release$panel$T0 &&
    (!alike || all(s$loadings[row(s$loadings) != col(s$loadings)] == 0))
}
