# Privacy loss of each donor from method "gram", by the donor's contributions to the rounds of the
# release.
#
# In a round, a donor's features z (whole numbers) are shrunk and rounded to w, |w| <= R. The round
# releases a radius, by the exponential mechanism, and the Gram matrix of the vectors (w, K), with
# noise of variance v on the diagonal and v / 2 off it. Given the released radius and transforms,
# the squared shift that a donor causes has a closed form:
# * removed: |ww'|^2 + 2 K^2 |w|^2 = |w|^4 + 2 K^2 |w|^2;
# * replaced by w': |uu' - u'u''|^2 = |u|^4 + |u'|^4 - 2 (u.u')^2, u = (w, K). Over |w'| <= R the
#   maximum is at |w'| = R and w.w' as close to -K^2 as possible: (|w|^2 + K^2)^2 + (R^2 + K^2)^2 -
#   2 max(0, K^2 - |w| R)^2.
# Divided by v - 32 these values are squared Gaussian shifts (proofs/accounting.md, Theorem 3). The
# other steps (radii, calibration of the intervals, the target's round) count at their full charge.

# Allowance for discrete noise (proofs/accounting.md, section 2).
discrete_margin <- 1 + 1e-12

#' The rounds of a release, with their noise
#' @noRd
gram_rounds <- function(release) {
  rounds <- release$statistics$rounds
  if (is.null(rounds)) {
    abort(c(
      "This release does not contain the radii, on which its donors' losses depend.",
      i = "The release was made by an older version of the package."
    ), "argument")
  }
  rounds
}

#' Losses of a release by method gram
#' @param donors (`matrix` or `dp_chunks`, n x T, outcome units, PRIVATE).
#' @noRd
pdp_gram <- function(release, donors, delta) {
  scale <- release_scale(release)
  rounds <- lapply(gram_rounds(release), function(round) {
    c(round, gram_contributions(round, donors, scale))
  })
  gram_losses(rounds, release, delta)
}

#' Norms of the donors' clipped features in one round
#' @return A list of vectors of length n in grid units, rounded up: `squared` (|w|^2) and `absolute`
#'   (|w|_1). PRIVATE.
#' @noRd
gram_contributions <- function(round, donors, scale) {
  own <- gram_contributions_cpp(donors, scale, round)[c("squared", "absolute")]
  if (is.null(round$radii)) {
    return(own)
  }
  # Version 0.1.0 did not shrink rows before rounding. This code undoes the shrinking and allows for
  # the rounding.
  d <- length(round$origin)
  rounding <- sqrt(d) / 2
  shrunk <- (round$clipped - rounding) * (1 - 2^-40)
  length <- (sqrt(own$squared) + rounding) * (round$clipped / shrunk) + rounding
  length <- pmin(length, round$clipped)
  list(squared = length^2, absolute = sqrt(d) * length)
}

#' Cost of all steps except the releases of moments, that is, of choices and one mean of squared
#' errors
#' @return A number, the sum of squared Gaussian shifts or of epsilons.
#' @noRd
other_costs <- function(release) {
  steps <- release$privacy$steps
  other <- steps[-moments_at(steps, release), ]
  if (release$privacy$delta == 0) {
    return(sum(other$epsilon))
  }
  if (!is.null(other$mu)) {
    return(sum(other$mu^2))
  }
  # Version 0.1.0 charged choices in zCDP and made no other such charges.
  sum(vapply(1 / other$scale, exponential_step_mu_cpp, 0)^2)
}

#' The steps that release moments: the first step with noise and, with `protect = "everyone"`, all
#' rounds on treated people and the last step on donors
#' @noRd
moments_at <- function(steps, release) {
  noisy <- which(steps$law != "exponential")
  if (!identical(steps$account[1L] %||% "donors", "donors")) {
    # A step that follows the choice of its radius is a step of moments. The step of the group's
    # location is not such a step.
    return(noisy[noisy > 1L & steps$law[pmax(noisy - 1L, 1L)] == "exponential"])
  }
  control <- length(release$panel$treated)
  c(noisy[seq_along(release$statistics$rounds)], utils::tail(noisy, control))
}

#' Losses from the donors' contributions
#' @param rounds (`list`)\cr rounds with `squared` and `absolute`.
#' @noRd
gram_losses <- function(rounds, release, delta) {
  total <- function(part) Reduce(`+`, lapply(rounds, part)) + other_costs(release)
  if (release$privacy$delta == 0) {
    return(loss_table(total(laplace_removal), total(laplace_replacement)))
  }
  shift <- function(part) sqrt(total(part)) * discrete_margin
  shift_losses(shift(removal_shift2), shift(replacement_shift2), delta)
}

#' Squared Gaussian shifts of the release of moments
#' @noRd
removal_shift2 <- function(round) {
  (round$squared^2 + 2 * round$constant^2 * round$squared) / shift_variance(round)
}

#' @noRd
replacement_shift2 <- function(round) {
  K2 <- round$constant^2
  overlap <- pmax(0, K2 - sqrt(round$squared) * round$clipped)
  ((round$squared + K2)^2 + (round$clipped^2 + K2)^2 - 2 * overlap^2) / shift_variance(round)
}

#' Variance of the normal noise, less 32, from which the discrete noise follows by post-processing
#' @noRd
shift_variance <- function(round) max(round$noise - 32, 0)

#' Losses of the release of moments with Laplace noise
#'
#' The absolute values of the entries on and above the diagonal of ww' add up to
#' `(|w|_1^2 + |w|^2) / 2`, which is at most `(d + 1) R^2 / 2`. Two rows differ by at most the
#' sensitivity of the step.
#' @noRd
laplace_removal <- function(round) {
  shift <- (round$absolute^2 + round$squared) / 2 + round$constant * round$absolute
  pmin(shift, laplace_most(round)) / round$noise
}

laplace_replacement <- function(round) {
  apart <- laplace_gram_sensitivity_cpp(round$clipped, round$constant, length(round$origin))
  pmin(laplace_removal(round) + laplace_most(round) / round$noise, apart / round$noise)
}

laplace_most <- function(round) {
  d <- length(round$origin)
  (d + 1) * round$clipped^2 / 2 + sqrt(d) * round$constant * round$clipped
}
