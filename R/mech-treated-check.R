# Check that the statements of a release about a protected group are possible.

#' Fault in the statistics of a treated group from a file, or `NULL`
#' @noRd
treated_problem <- function(release) {
  groups <- protected_groups(release)
  m <- release$panel$treated
  if (is.null(groups) && is.null(m)) {
    return(NULL)
  }
  fits <- length(groups) == length(m) && is.numeric(m) &&
    all(vapply(groups, function(group) group_fits(group$x, group$m, group$release), NA))
  if (!fits) "The treated group's statistics do not match the sizes of the panel."
}

#' The protected groups of a release, each with the release at the group's date
#' @return A list with one list per group: `x`, the released values; `m`, the number of people;
#'   `release`, with the sizes for the group's date. `NULL` if treated people are not protected.
#' @noRd
protected_groups <- function(release) {
  s <- release$statistics
  m <- release$panel$treated
  if (!is.null(s$treated)) {
    return(list(list(x = s$treated, m = m, release = release)))
  }
  groups <- s$cohorts$treated
  if (is.null(groups)) {
    return(NULL)
  }
  lapply(seq_along(groups), function(g) {
    later <- s$cohorts$T0[[g]] - release$panel$T0
    own <- release
    own$panel$T0 <- release$panel$T0 + later
    own$panel$T1 <- release$panel$T1 - later
    own$statistics$pre <- s$pre + later
    list(x = groups[[g]], m = m[[g]], release = own)
  })
}

#' Centre of the donors' features, where the rounds of versions up to 0.2.0 began
#' @noRd
donor_origin <- function(x) x$origin %||% x$rounds[[1L]]$origin

#' Do the released values of a group match its sizes?
#' @noRd
group_fits <- function(x, m, release) {
  periods <- release$panel$T0 + NROW(release$panel$covariates) + release$panel$T1
  d <- length(x$mean)
  is_number(m) && m >= 2 && m == round(m) &&
    is.list(x) && is.numeric(x$mean) && all(is.finite(x$mean)) &&
    d == release$statistics$pre + release$statistics$demean + release$panel$T1 &&
    is_array_of(x$loadings, c(periods, d)) &&
    is_array_of(x$moves, c(periods, d + release$panel$T1)) &&
    is_vector_of(x$path, periods) && is_vector_of(x$lean, periods) &&
    is_number(x$second) && is.finite(x$second) && is_amount(x$mean_sd) &&
    is_amount(x$second_sd) && is_amount(x$own_variance) && rounds_weigh(x) &&
    place_fits(x$place, d, x$origin) &&
    (if (is.null(x$place)) is.null(x$stray) else is_amount(x$stray, TRUE)) &&
    is_vector_of(x$control$mean, d) &&
    all(vapply(x$control[c("mean_sd", "clipped", "constant", "noise")], is_amount, NA)) &&
    far_fits(x) &&
    all(vapply(x$rounds, function(round) {
      is.list(round) && length(round$origin) == d &&
        all(vapply(round[c("radius", "exponent", "clipped", "constant", "noise")], is_amount, NA))
    }, NA))
}

#' Can this be the released location of a group? Versions up to 0.2.0 did not estimate a location.
#' @noRd
place_fits <- function(place, d, origin) {
  if (is.null(place)) {
    return(is.null(origin))
  }
  knots <- place$knots
  is.list(place) && is_vector_of(origin, d) && is.numeric(knots) && length(knots) > 2L &&
    all(is.finite(knots)) && all(diff(knots) > 0) && is_vector_of(place$counts, length(knots)) &&
    is_amount(place$counts_sd) && is_number(place$centre) && is.finite(place$centre) &&
    is_number(place$doubt) && is.finite(place$doubt) && place$doubt >= 0
}

#' Do the weights of a group's rounds, and the shares of a shift that remain after clipping, match
#' the rounds?
#'
#' Versions up to 0.2.0 had two rounds, and did not estimate these shares.
#' @noRd
rounds_weigh <- function(x) {
  size <- length(x$rounds)
  share <- function(x) is_number(x) && is.finite(x) && x > 0 && x <= 1
  if (is.null(x$weights)) {
    first <- x$of_first
    return(size == 2L && is.null(x$look) &&
      (is.null(first) || (is_number(first) && first >= 0 && first < 1)))
  }
  is_vector_of(x$weights, size) && all(x$weights >= 0) && about_equal(sum(x$weights), 1) &&
    size >= 2L && is.list(x$look) && is_amount(x$look$radius) && is_amount(x$look$base) &&
    is_amount(x$look$kept_sd) && is.numeric(x$look$kept) &&
    all(vapply(x$look$kept, share, NA)) && share(x$kept) &&
    all(vapply(x$rounds, function(round) {
      is.list(round) && share(round$kept) && is_amount(round$mean_sd) &&
        is_vector_of(round$mean, length(x$mean))
    }, NA))
}

#' The smallest share of a group that noise does not hide, or `NULL` if far people are not counted
#'
#' An effect on fewer people, alike and far from the others, is not seen.
#' @noRd
least_seen <- function(release) {
  far <- lapply(protected_groups(release), function(group) group$x$far)
  if (length(far) && !any(vapply(far, is.null, NA))) {
    max(vapply(far, `[[`, 0, "least"))
  }
}
