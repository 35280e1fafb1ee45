# Limits of named estimates in the form of `confint()`.

#' @param estimate,reach (`numeric`)\cr named estimates, and half widths of intervals at `level`.
#' @return A matrix with one row per estimate and the percentages as column names.
#' @noRd
symmetric_limits <- function(estimate, reach, level) {
  out <- cbind(estimate - reach, estimate + reach)
  dimnames(out) <- list(names(estimate), percent_names(level))
  out
}

#' Names of the columns of limits
#' @noRd
percent_names <- function(level) {
  paste(format(100 * c((1 - level) / 2, (1 + level) / 2), trim = TRUE, digits = 3L), "%")
}

#' The requested limits
#' @param parm (`character`, `integer` or missing)\cr the requested estimates; all estimates if
#'   missing.
#' @param what (`string`)\cr the quantity with limits, for the error.
#' @noRd
limits_asked <- function(limits, parm, what) {
  if (missing(parm)) {
    return(limits)
  }
  names <- rownames(limits)
  known <- if (is.character(parm)) parm %in% names else parm %in% seq_along(names)
  if (!all(known)) {
    unknown <- parm[!known]
    abort(c(
      "{.arg parm} must name {what}.",
      x = "There is no {.or {.val {unknown}}}.", i = "The names are {.val {names}}."
    ), "argument")
  }
  limits[parm, , drop = FALSE]
}

#' Limits as columns of a table
#' @param change (`function`)\cr a function of the limits, such as `exp()`.
#' @noRd
with_limits <- function(table, limits, change = identity) {
  table$conf.low <- change(unname(limits[, 1L]))
  table$conf.high <- change(unname(limits[, 2L]))
  table
}

#' The level of each outcome's limits for joint coverage
#' @noRd
outcome_level <- function(x, level, simultaneous) {
  if (simultaneous) 1 - (1 - level) / length(x$outcomes) else level
}
