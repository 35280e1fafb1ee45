# Per-donor loss of method "gram": the donor's own contributions to the two rounds of the release.
#
# In a round, a donor's features z (whole numbers) are clipped to w, |w| <= R; released are a
# radius, by the exponential mechanism, and the Gram matrix of the vectors (w, K) with noise of
# variance v on the diagonal and v / 2 off it. Given the radius and the transforms, which were
# released, the shift that a donor causes is known:
# * taken out:        |ww'|^2 + 2 K^2 |w|^2 = |w|^4 + 2 K^2 |w|^2;
# * replaced by w':   |uu' - u'u''|^2 = |u|^4 + |u'|^4 - 2 (u.u')^2, u = (w, K). Over |w'| <= R it
#   is largest at |w'| = R and w.w' as close to -K^2 as can be:
#   (|w|^2 + K^2)^2 + (R^2 + K^2)^2 - 2 max(0, K^2 - |w| R)^2.
# Divided by v they are squared Gaussian shifts. The choice of a radius moves the odds of one set of
# radii by e^exponent, no more: a test of one bit, covered by the Gaussian shift
# probit(q) - probit(q'), logit(q) - logit(q') = exponent, largest at q = 1 - q'.

#' What a round of the release was made with
#' @param loadings,origin,radius what [row_map()] and [release_moments()] got.
#' @param step (`list`)\cr from [plan_radius()].
#' @param moments (`list`)\cr from [plan_moments()].
#' @return A list of numbers, RELEASED or PUBLIC. `radii`, `price`, `exponent`: of the choice of the
#'   radius; `clipped`, `constant` (R and K), `noise` (v, or the Laplace scale), whole grid units.
#' @noRd
gram_round <- function(loadings, origin, radius, step, moments) {
  list(
    loadings = loadings, origin = origin, radius = radius, radii = step$radii, price = step$price,
    exponent = floor(step$exponent * 2^20) / 2^20, clipped = moments$radius,
    constant = moments$constant, noise = moments$variance %||% moments$scale
  )
}

#' Do the rounds of a release, if it has any, fit its sizes?
#' @param size (`integer(2)`)\cr periods and features.
#' @noRd
rounds_fit <- function(rounds, size) {
  numbers <- c("radius", "price", "clipped", "constant", "noise")
  fits <- function(round) {
    is.list(round) && is.numeric(round$loadings) && identical(dim(round$loadings), size) &&
      is.numeric(round$origin) && length(round$origin) == size[[2L]] &&
      all(is.finite(c(round$loadings, round$origin))) && is.numeric(round$radii) &&
      is_number(round$exponent) && round$exponent >= 0 &&
      all(vapply(round[numbers], function(x) is_number(x) && is.finite(x) && x > 0, NA))
  }
  is.null(rounds) || (is.list(rounds) && length(rounds) == 2L && all(vapply(rounds, fits, NA)))
}

#' The rounds of a release
#' @noRd
gram_rounds <- function(release, call) {
  rounds <- release$statistics$rounds
  if (is.null(rounds)) {
    abort(c(
      "This release does not hold the radii that its donors' losses depend on.",
      i = "It was made by an older version of the package."
    ), "argument", call)
  }
  rounds
}

#' Losses of a release by method gram
#' @param donors (`matrix` or `dp_chunks`, n x T, outcome units, PRIVATE).
#' @noRd
pdp_gram <- function(release, donors, delta, call = NULL) {
  scale <- release_scale(release)
  rounds <- lapply(gram_rounds(release, call), function(round) {
    contribution <- gram_contributions(round, donors, scale)
    c(round, contribution, list(odds = radius_odds(round, contribution$index)))
  })
  gram_losses(rounds, is_gaussian_release(release), delta)
}

is_gaussian_release <- function(release) {
  all(release$privacy$steps$law != "discrete_laplace")
}

#' Norms of the donors' clipped features in one round, and where they stand among the radii
#' @return A list of vectors of length n: `squared` (|w|^2) and `absolute` (|w|_1), grid units,
#'   never too small; `index`, the first radius that holds the donor (one more than there are: none
#'   does).
#' @noRd
gram_contributions <- function(round, donors, scale) {
  rows <- row_map(scale, round$loadings, round$origin, on_grid = TRUE)
  radius <- radius_steps(round$radius, rows)
  zoom <- round$clipped / radius
  one <- function(block) {
    storage.mode(block) <- "double"
    z <- row_features_cpp(block, rows$map)
    norm2 <- rowSums(z^2)
    factor <- ifelse(norm2 <= radius^2, 1, radius / sqrt(norm2)) * zoom
    w <- round(z * factor)
    # What rounding carried beyond R is shortened: entries shrink, the norm ends at R or below.
    list(
      squared = pmin(rowSums(w^2), round$clipped^2), absolute = rowSums(abs(w)),
      index = findInterval(norm2, radius_steps(round$radii, rows)^2, left.open = TRUE) + 1
    )
  }
  if (!inherits(donors, "dp_chunks")) {
    return(one(donors))
  }
  blocks <- lapply(seq_len(donors$count), function(i) one(read_block(donors, i)))
  lapply(c(squared = "squared", absolute = "absolute", index = "index"), function(part) {
    unlist(lapply(blocks, `[[`, part))
  })
}

#' Log-odds that the chosen radius holds a donor, for each donor
#' @param index (`integer(n)`)\cr from [gram_contributions()].
#' @noRd
radius_odds <- function(round, index) {
  steps <- seq_along(round$radii)
  within <- cumsum(tabulate(index, length(steps)))
  utility <- round$exponent * (within - round$price * steps)
  mass <- exp(utility - max(utility))
  above <- c(rev(cumsum(rev(mass))), 0)
  below <- c(0, cumsum(mass))
  log(above[index]) - log(below[index])
}

#' Losses from contributions
#' @param rounds (`list`)\cr rounds with `squared`, `absolute` and `odds` (`NULL`: the worst there
#'   are).
#' @noRd
gram_losses <- function(rounds, gaussian, delta) {
  total <- function(part) Reduce(`+`, lapply(rounds, part))
  if (!gaussian) {
    return(loss_table(
      total(function(r) laplace_removal(r) + radius_loss(r$odds, r$exponent)),
      total(function(r) laplace_replacement(r) + r$exponent)
    ))
  }
  removal <- total(function(r) removal_shift2(r) + radius_shift(r$odds, r$exponent)^2)
  replacement <- total(function(r) replacement_shift2(r) + radius_shift(NULL, r$exponent)^2)
  shift_losses(sqrt(removal), sqrt(replacement), delta)
}

#' Squared Gaussian shifts of the moments' release
#' @noRd
removal_shift2 <- function(round) {
  (round$squared^2 + 2 * round$constant^2 * round$squared) / round$noise
}

#' @noRd
replacement_shift2 <- function(round) {
  K2 <- round$constant^2
  overlap <- pmax(0, K2 - sqrt(round$squared) * round$clipped)
  ((round$squared + K2)^2 + (round$clipped^2 + K2)^2 - 2 * overlap^2) / round$noise
}

#' Losses of the moments' release with Laplace noise
#'
#' The entries on and above the diagonal of ww' have absolute values that add up to
#' `(|w|_1^2 + |w|^2) / 2`, at most `(d + 1) R^2 / 2`.
#' @noRd
laplace_removal <- function(round) {
  d <- length(round$origin)
  most <- (d + 1) * round$clipped^2 / 2 + sqrt(d) * round$constant * round$clipped
  shift <- (round$absolute^2 + round$squared) / 2 + round$constant * round$absolute
  pmin(shift, most) / round$noise
}

laplace_replacement <- function(round) {
  d <- length(round$origin)
  most <- (d + 1) * round$clipped^2 / 2 + sqrt(d) * round$constant * round$clipped
  laplace_removal(round) + most / round$noise
}

#' Gaussian shift that covers the choice of a radius
#' @param odds (`numeric(n)` or `NULL`)\cr log-odds with the donor; `NULL`: the worst.
#' @noRd
radius_shift <- function(odds, exponent) {
  probit <- function(logit) {
    -sign(logit) * stats::qnorm(stats::plogis(-abs(logit), log.p = TRUE), log.p = TRUE)
  }
  if (is.null(odds)) {
    return(2 * probit(exponent / 2))
  }
  ifelse(is.finite(odds), probit(odds) - probit(odds - exponent), 0)
}

#' Largest log-ratio of the probabilities of a radius, with and without a donor
#' @noRd
radius_loss <- function(odds, exponent) {
  if (is.null(odds)) {
    return(exponent)
  }
  # P(held) / P'(held) and P(not held) / P'(not held)
  held <- stats::plogis(odds, log.p = TRUE) - stats::plogis(odds - exponent, log.p = TRUE)
  ifelse(is.finite(odds), pmax(held, exponent - held), 0)
}

#' Bound on a donor's loss from the donor's own row alone
#'
#' A release by method `"gram"` costs a donor more or less depending on that donor's features alone,
#' relative to the radii that were released. `pdp_bound()` is computed from the release and, at
#' most, the row of whoever asks: **it may be published** as a function of the norm, and each donor
#' may evaluate it at their own row. [pdp()] needs the whole panel and may not. It is a reading of
#' what this run cost, given its radii; the promise made beforehand is the release's epsilon.
#'
#' @param release (`dp_release` or `dp_synth`)\cr a private release by method `"gram"`.
#' @param norm (`numeric`)\cr norms of a donor's features as a share of the released radius, in both
#'   rounds of the release; 1 and above is clipped to 1.
#' @param row (`numeric(T)` or `matrix` with T columns, outcome units, or `NULL`)\cr a donor's own
#'   row; `norm` is then not used. PRIVATE to that donor, as is the result.
#' @inheritParams pdp
#' @return A data frame: `norm1` and `norm2`, the shares of the radius in both rounds; `removal` and
#'   `replacement`, certified upper bounds on the donor's epsilon at `delta`. PUBLIC if from `norm`.
#' @section Errors: `dpsc_error_argument`.
#' @examples
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3)
#' release <- dp_release(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1)
#' )
#' pdp_bound(release, norm = c(0, 0.5, 1))
#' @export
pdp_bound <- function(release, norm = seq(0, 1, by = 0.1), row = NULL, delta = NULL) {
  call <- public_call("pdp_bound")
  if (inherits(release, "dp_synth")) release <- release$release
  if (!inherits(release, "dp_release") || release$method != "gram") {
    abort(c(
      "{.arg release} must be a private release by method {.val gram}.",
      i = paste(
        "Losses of the other methods depend on all donors' rows: no bound on them that is finer",
        "than the guarantee can be published."
      )
    ), "argument", call)
  }
  check_private_release(release, call)
  delta <- if (is.null(delta)) {
    release$privacy$delta
  } else {
    check_number(delta, 0, 1, open = "max", call = call)
  }
  rounds <- gram_rounds(release, call)
  rounds <- if (is.null(row)) {
    rounds_at_norm(rounds, norm, call)
  } else {
    rounds_at_row(release, rounds, row, call)
  }
  share <- lapply(rounds, function(round) sqrt(round$squared) / round$clipped)
  loss <- gram_losses(rounds, is_gaussian_release(release), delta)
  data.frame(
    norm1 = share[[1L]], norm2 = share[[2L]], removal = loss$removal, replacement = loss$replacement
  )
}

rounds_at_norm <- function(rounds, norm, call) {
  if (!is.numeric(norm) || length(norm) == 0L || anyNA(norm) || any(norm < 0)) {
    abort(c(
      "{.arg norm} must be numbers, at least 0.", x = "It is {describe(norm)}."
    ), "argument", call)
  }
  lapply(rounds, function(round) {
    length <- pmin(norm, 1) * round$clipped
    # The largest absolute values of a row of that length; the odds of the radius are not known.
    c(round, list(squared = length^2, absolute = sqrt(length(round$origin)) * length))
  })
}

rounds_at_row <- function(release, rounds, row, call) {
  periods <- release$panel$T0 + release$panel$T1
  if (is.numeric(row) && is.null(dim(row))) row <- matrix(row, 1L)
  if (!is.matrix(row) || !is.numeric(row) || ncol(row) != periods || !all(is.finite(row))) {
    abort(c(
      "{.arg row} must hold finite numbers, one for each of the {periods} periods.",
      i = "In outcome units, as in the panel that was released."
    ), "argument", call)
  }
  scale <- release_scale(release)
  lapply(rounds, function(round) {
    c(round, gram_contributions(round, unname(row), scale)[c("squared", "absolute")])
  })
}
