# A growing release: the first release, and the remaining announced periods.

#' Is the release a growing release?
#' @noRd
is_growing <- function(release) !is.null(release$statistics$monitor)

#' Number of periods released after the first release
#' @noRd
periods_grown <- function(release) length(release$statistics$monitor$periods)

#' The first release of a growing release, an ordinary release by method gram
#'
#' Its `epsilon` is the part of the budget for the first release.
#' @param release (`dp_release`)\cr a release of any kind; a release without announced periods is
#'   returned unchanged.
#' @return A `dp_release`. RELEASED.
#' @noRd
base_release <- function(release) {
  monitor <- release$statistics$monitor
  if (is.null(monitor)) {
    return(release)
  }
  grown <- periods_grown(release)
  release$panel$T1 <- release$panel$T1 - grown
  kept <- seq_len(release$panel$T0 + release$panel$T1)
  release$panel$times <- release$panel$times[kept]
  release$bounds <- lapply(release$bounds, `[`, kept)
  release$statistics$monitor <- NULL
  release$privacy$epsilon <- monitor$epsilon
  steps <- release$privacy$steps
  if (!is.null(steps)) {
    release$privacy$steps <- steps[seq_len(nrow(steps) - 2L * monitor$announced), ]
  }
  release
}

#' Refuse functions for the first release only
#' @param what (`string`)\cr the requested function.
#' @noRd
check_not_grown <- function(release, what) {
  if (periods_grown(release)) {
    abort(c(
      "{what} is for the first release only, but this release has grown.",
      i = "Use the fit from before the first {.code update(newdata = )}."
    ), "monitor")
  }
}

#' Remaining announced periods, according to the release
#' @noRd
periods_left <- function(release) {
  monitor <- release$statistics$monitor
  monitor$announced - monitor$drawn
}
