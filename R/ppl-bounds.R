#' Public bounds as a scale
#'
#' Every mechanism uses `(x - centre_t) / unit`, which is in `[-half_t, half_t]` with `half_t <= 1`.
#' All periods have the same unit, so that differences over time remain comparable if the bounds
#' differ by period.
#'
#' @param bounds (`numeric(2)` or `matrix`, T x 2, outcome units, PUBLIC)\cr lower and upper limit
#'   of the outcome, for the panel or for each period (rows in the order of time).
#' @param periods (`count`)\cr number of periods T.
#' @return A list of class `dpsc_bounds`: `lower`, `upper`, `centre` (length T, outcome units),
#'   `half` (length T, scaled), `unit` (outcome units). All PUBLIC.
#' @section Errors: `dpsc_error_bounds`.
#' @noRd
new_bounds <- function(bounds, periods) {
  fail <- function(problem) {
    abort(c(
      paste(
        "{.arg bounds} must be public limits on the outcome: {.code c(lower, upper)}, or a matrix",
        "with one such row for each period."
      ),
      x = problem,
      i = "Take limits from prior knowledge about the outcome, never from the donors' data."
    ), "bounds")
  }
  if (!is.numeric(bounds)) fail("It is {describe_value(bounds)}.")
  if (is.null(dim(bounds))) {
    if (length(bounds) != 2L) fail("It has length {length(bounds)}.")
    bounds <- matrix(as.double(bounds), periods, 2L, byrow = TRUE)
  }
  if (!identical(dim(bounds), c(as.integer(periods), 2L))) {
    fail("It is {nrow(bounds)} x {ncol(bounds)}, and the panel has {periods} periods.")
  }
  storage.mode(bounds) <- "double"
  if (anyNA(bounds)) fail("Some limits are missing.")
  if (!all(is.finite(bounds))) fail("Some limits are infinite.")
  if (any(bounds[, 1L] >= bounds[, 2L])) {
    fail("A lower limit is not below its upper limit. Check whether they are interchanged.")
  }
  half <- (bounds[, 2L] - bounds[, 1L]) / 2
  if (!all(is.finite(half))) fail("The limits are too far apart for double precision.")
  if (any(half < .Machine$double.xmin) || max(half) < 1e-300) {
    fail("The limits are too close for double precision.")
  }
  structure(list(
    lower = bounds[, 1L], upper = bounds[, 2L], centre = bounds[, 1L] / 2 + bounds[, 2L] / 2,
    half = half / max(half), unit = max(half)
  ), class = "dpsc_bounds")
}

#' No bounds: the identity scale of a non-private fit
#' @noRd
no_bounds <- function(periods) {
  structure(list(
    lower = rep(-Inf, periods), upper = rep(Inf, periods), centre = numeric(periods),
    half = rep(Inf, periods), unit = 1
  ), class = "dpsc_bounds")
}

#' Outcome units to scaled units, for public values (rows are units, columns periods)
#' @noRd
to_scale <- function(x, bounds, periods = seq_along(bounds$centre)) {
  (x - rep(bounds$centre[periods], each = nrow(x))) / bounds$unit
}

#' Donors clipped to the bounds, in scaled units, without their names
#' @param donors (`matrix`, n x T, outcome units, PRIVATE).
#' @noRd
clip_to_scale <- function(donors, bounds, clip = TRUE) {
  scaled <- unname(to_scale(donors, bounds))
  if (!clip) {
    return(scaled)
  }
  limit <- rep(bounds$half, each = nrow(scaled))
  pmax(pmin(scaled, limit), -limit)
}

#' Scaled units back to outcome units
#' @noRd
from_scale <- function(x, bounds, periods = seq_along(bounds$centre)) {
  x * bounds$unit + rep(bounds$centre[periods], each = nrow(x))
}

#' The bounds of a release, as a scale again
#' @noRd
release_scale <- function(release) {
  if (all(is.finite(release$bounds$lower))) {
    new_bounds(cbind(release$bounds$lower, release$bounds$upper), length(release$bounds$lower))
  } else {
    no_bounds(length(release$bounds$lower))
  }
}

#' Covariates in the mechanism's units, with bounds \[-1, 1\], or unchanged without bounds
#' @param values (`matrix`, k x q).
#' @noRd
scaled_covariates <- function(values, columns) {
  finite <- is.finite(columns$lower)
  centre <- ifelse(finite, (columns$lower + columns$upper) / 2, 0)
  half <- ifelse(finite, (columns$upper - columns$lower) / 2, 1)
  unname(sweep(sweep(values, 2L, centre), 2L, half, `/`))
}

#' Rows with covariates between the periods before and after the treatment
#' @param rows (`matrix`, k x T).
#' @param between (`matrix`, k x q, or `NULL`).
#' @noRd
insert_covariates <- function(rows, between, T0) {
  if (is.null(between)) {
    return(rows)
  }
  pre <- seq_len(T0)
  unname(cbind(rows[, pre, drop = FALSE], between, rows[, -pre, drop = FALSE]))
}

#' A scale for rows with covariates
#' @noRd
insert_scale <- function(scale, q, T0) {
  scale$centre <- append(scale$centre, numeric(q), T0)
  scale$half <- append(scale$half, rep(1, q), T0)
  scale
}

#' The scale of rows with the covariates of a release
#' @noRd
rows_scale <- function(release) {
  insert_scale(release_scale(release), NROW(release$panel$covariates), release$panel$T0)
}
