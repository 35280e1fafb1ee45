# People of a protected group who are far from the others (inst/proofs/treated.md, section 4).

#' The part of a group's mean due to people far from the others, relative to donors
#' @return `NULL` without tails, or a list: `shift` and `variance`, in units of the sum of the
#'   residuals' features over the root of their number; `knots` and `share`, the net share of far
#'   people at each knot of the last round beyond the donors', with the standard deviation `sd` of
#'   its noise; `z`, how clearly it exceeds this noise; `least`, the smallest share that noise does
#'   not hide. RELEASED.
#' @noRd
far_people <- function(treated, control) {
  if (!is.null(control$tail)) {
    far_people_cpp(
      treated$rounds, treated$weights, control,
      treated$mean_sd^2 + (control$mean_sd / treated$kept)^2
    )
  }
}

#' A group's path with the part of its mean that is due to far people
#' @param back (`matrix`)\cr from clipped residuals to a path, divided by the share of a shift that
#'   clipping keeps.
#' @noRd
add_far_people <- function(treated, back, T1) {
  far <- far_people(treated, treated$control)
  treated$far <- far
  if (is.null(far)) {
    return(treated)
  }
  shift <- rowSums(back) * treated$kept * far$shift / sqrt(T1)
  for (path in c("path", "lean")) treated[[path]] <- treated[[path]] + shift
  treated
}

#' Do the tails of a group's rounds and of the donors match, and is their effect computed from them?
#' @noRd
far_fits <- function(x) {
  if (is.null(x$far)) {
    return(is.null(x$control$tail))
  }
  size <- length(x$control$tail)
  tail_fits <- function(part) {
    size > 0L && is_vector_of(part$tail, size) && is_amount(part$tail_sd) &&
      is_array_of(part$both, c(size, size)) && is_amount(part$both_sd)
  }
  tail_fits(x$control) && all(vapply(x$rounds, function(round) {
    tail_fits(round) && is_amount(round$bend) && is_vector_of(round$knots, size) &&
      all(diff(c(round$bend, round$knots)) > 0)
  }, NA)) && isTRUE(all.equal(x$far, far_people(x, x$control), tolerance = 1e-9))
}
