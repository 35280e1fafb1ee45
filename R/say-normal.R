# Normal quantiles and p-values.

normal_p <- function(statistic) 2 * stats::pnorm(-abs(statistic))

#' Normal quantile of an interval
#'
#' For m simultaneous statements the quantile follows from Sidak's inequality (1967), which is valid
#' for normal errors with any correlation.
#' @noRd
interval_quantile <- function(level, statements = 1) {
  stats::qnorm((1 + level^(1 / statements)) / 2)
}
