# A slow oracle of inst/include/dpsc/release/far_people.hpp, written before it and apart from it.

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

far_chance <- function(z, prior) {
  shrink <- far_spread^2 / (1 + far_spread^2)
  stats::plogis(stats::qlogis(prior) - log1p(far_spread^2) / 2 + shrink * z^2 / 2)
}

far_values <- function(x, sd) {
  shrink <- far_spread^2 / (1 + far_spread^2)
  there <- far_chance(x / sd, far_doubted)
  list(
    mean = there * shrink * x,
    variance = there * shrink * sd^2 + there * (1 - there) * (shrink * x)^2
  )
}

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

slow_far_people <- function(treated, control) {
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
