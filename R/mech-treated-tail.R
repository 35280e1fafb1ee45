# People of a protected group who are far from the others (inst/proofs/treated.md, section 4).
# Post-processing of the rounds' tails and of the donors' tail.

# Found by simulation (bench/protect-responders.R); none depends on data. The prior weight of a tail
# in the estimate is this number times the variance of the rest of the mean, per variance of the
# noise that the tail would add; in errors, and for donors, it is constant. The standard deviation
# of a tail is in units of the standard deviation of its noise. At the first knot and at others, a
# tail below `far_gate` standard deviations counts as noise.
far_prior <- 0.02
far_doubted <- 0.3
far_spread <- 4
far_gate <- c(1.9, 2.4)
# If there are people at the first knot, the others may be distributed unlike donors, too: the
# assumed error, as a share of the effect of the people at this knot.
far_others <- 0.6
# Assumed places of far people between two knots, and the weight from which a place counts for a
# knot.
far_places <- c(1, 1.25, 1.5, 1.75)
far_counts <- 0.3

#' Probability that a noisy value of z standard deviations is not zero, but `N(0, far_spread^2)`
#' @noRd
far_chance <- function(z, prior) {
  shrink <- far_spread^2 / (1 + far_spread^2)
  stats::plogis(stats::qlogis(prior) - log1p(far_spread^2) / 2 + shrink * z^2 / 2)
}

#' The posterior mean and variance of noisy values that may be zero
#' @noRd
far_values <- function(x, sd) {
  shrink <- far_spread^2 / (1 + far_spread^2)
  there <- far_chance(x / sd, far_doubted)
  list(
    mean = there * shrink * x,
    variance = there * shrink * sd^2 + there * (1 - there) * (shrink * x)^2
  )
}

#' Weights of far people on knots, one column per assumed place (see `unit_pair` in
#' inst/include/dpsc/release/treated_tail.hpp)
#' @noRd
far_templates <- function(size) {
  far <- (2 * far_places - sqrt(5 - far_places^2)) / 5
  out <- lapply(seq_len(size), function(k) {
    if (k == size) {
      return(diag(size)[, k])
    }
    vapply(far, function(w) replace(numeric(size), k + 0:1, c(sqrt(1 - w^2), w)), numeric(size))
  })
  matrix(unlist(out), size)
}

#' The pooled tails of a group's rounds, in weights on the last round's knots
#' @return A list: `net`, people above the centre minus people below, with `net_sd`; `both`, second
#'   moments of people's weights, with `both_sd`.
#' @noRd
pooled_tails <- function(treated) {
  last <- treated$rounds[[length(treated$rounds)]]
  parts <- Map(function(weight, round) {
    scaled <- weight * round$knots / last$knots
    list(
      net = scaled * round$tail, net_variance = (scaled * round$tail_sd)^2,
      both = weight * round$both, both_variance = (weight * round$both_sd)^2
    )
  }, treated$weights, treated$rounds)
  all <- function(name) Reduce(`+`, lapply(parts, `[[`, name))
  list(
    net = all("net"), net_sd = sqrt(all("net_variance")), both = all("both"),
    both_sd = sqrt(all("both_variance"))
  )
}

#' The part of a group's mean due to people far from the others, relative to donors
#'
#' Weights times knots add up to a far person's average residual (Lemma 9), so the sum over knots is
#' unbiased, but its noise is far larger than the noise of the rest. A knot counts only as far as
#' the people there, net and on both sides, exceed their noise.
#' @return `NULL` without tails, or a list: `shift` and `variance`, in units of the sum of the
#'   residuals' features over the root of their number; `knots` and `share`, the net share of far
#'   people at each knot of the last round beyond the donors', with the standard deviation `sd` of
#'   its noise; `z`, how clearly it exceeds this noise. RELEASED.
#' @noRd
far_people <- function(treated, control) {
  knots <- treated$rounds[[length(treated$rounds)]]$knots
  if (is.null(knots)) {
    return(NULL)
  }
  places <- far_templates(length(knots))
  at_places <- function(both) colSums(places * (both %*% places))
  group <- pooled_tails(treated)
  own <- far_values(control$tail, control$tail_sd)
  own_both <- far_values(at_places(control$both), control$both_sd)
  share <- group$net - own$mean
  variance <- group$net_sd^2 + own$variance
  v_net <- drop(variance %*% places^2)
  v_both <- group$both_sd^2 + own_both$variance
  both <- at_places(group$both) - own_both$mean
  z_places <- (abs(drop(share %*% places)) / v_net + both / v_both) / sqrt(1 / v_net + 1 / v_both)
  z <- apply(places, 1L, function(weights) max(0, z_places[weights >= far_counts]))
  effect <- far_effect(knots * share, knots^2 * variance, z, treated, control)
  c(effect, list(knots = knots, share = share, sd = sqrt(variance), z = z))
}

#' Estimate and error variance of the effect of far people
#' @param x,variance (`numeric`)\cr effects of the people at each knot, and the noise's variance.
#' @noRd
far_effect <- function(x, variance, z, treated, control) {
  calm <- treated$mean_sd^2 + (control$mean_sd / treated$kept)^2
  clear <- z > far_gate[pmin(seq_along(z), 2L)]
  used <- clear * far_chance(z, pmin(0.5, far_prior * calm / variance))
  there <- clear * far_chance(z, far_doubted)
  doubt <- sqrt(there * (1 - used)^2 + (1 - there) * used^2) * abs(x)
  others <- far_others * there[[1L]] * x[[1L]]
  list(
    shift = sum(used * x), variance = sum(there * variance) + sum(doubt)^2 + others^2
  )
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
