# A donor's privacy loss from a release by moments, as a function of that donor's row. This part of
# pdp() may be published.

#' Bound on a donor's privacy loss from the donor's row alone
#'
#' The bound on a donor's privacy loss from a release by method `"gram"` depends on the donor's data
#' only by the ratio of the donor's features to the released radii. `pdp_bound()` uses the release,
#' and at most the row of the donor who requests the bound. As a function of the norm **the bound
#' may be published**, and each donor may evaluate it for their own row. By contrast, [pdp()] needs
#' the whole panel, and its result may not be published. The bound is valid for this run, given its
#' radii. The guarantee that is known before the run is the release's epsilon. For a release with
#' `protect = "everyone"` the bound is for donors.
#'
#' @param release (`dp_release` or `dp_synth`)\cr a private release by method `"gram"`. Growing
#'   releases and releases with weights are refused, since they allow no bound below epsilon.
#' @param norm (`numeric`)\cr norms of a donor's features, divided by the released radius, in all
#'   rounds of the release; values above 1 are clipped to 1.
#' @param row (`numeric`, `matrix` or `NULL`)\cr a donor's outcomes in all periods, or several rows
#'   as a matrix; `norm` is then not used. The row and the result are PRIVATE to this donor.
#' @param ... unused; an unknown argument causes an error.
#' @inheritParams pdp
#' @return A data frame, PUBLIC if computed from `norm`. Columns `norm1`, `norm2` and so on are the
#'   norms divided by the radius, for each round. Columns `removal` and `replacement` are certified
#'   upper bounds on the donor's epsilon at `delta`.
#' @section Errors: `dpsc_error_argument`.
#' @examples
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3)
#' release <- dp_release(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1)
#' )
#' pdp_bound(release, norm = c(0, 0.5, 1))
#' @export
pdp_bound <- function(release, norm = seq(0, 1, by = 0.1), row = NULL,
                      delta = NULL, ...) door("pdp_bound", {
  check_no_dots(...)
  if (inherits(release, "dp_synth")) release <- release$release
  if (!inherits(release, "dp_release") || !gives_moments(release$method)) {
    abort(c(
      "{.arg release} must be a private release by method {.val gram}.",
      i = paste(
        "Losses under the other methods depend on all donors' rows, so no bound finer than the",
        "guarantee can be published."
      )
    ), "argument")
  }
  check_noisy(release)
  # With weights, the sum of shares is also noisy, so the norm alone understates a person's shift.
  coarse <- c(
    if (is_growing(release)) "A growing release",
    if (!is.null(release$panel$weights)) "A release with weights"
  )
  if (length(coarse)) {
    abort(c(
      "{coarse[[1L]]} allows no bound on losses finer than its guarantee.",
      i = "The release's epsilon = {format(release$privacy$epsilon)} bounds every loss."
    ), "argument")
  }
  delta <- if (is.null(delta)) {
    release$privacy$delta
  } else {
    check_number(delta, 0, 1, open = "max")
  }
  rounds <- gram_rounds(release)
  if (!is.null(release$panel$treated)) {
    rounds <- account_rounds(release)$donors$rounds
    release <- account_release(release, "donors")
  }
  rounds <- if (is.null(row)) {
    rounds_at_norm(rounds, norm)
  } else {
    rounds_at_row(release, rounds, row)
  }
  share <- lapply(rounds, function(round) sqrt(round$squared) / round$clipped)
  loss <- gram_losses(rounds, release, delta)
  names(share) <- paste0("norm", seq_along(share))
  data.frame(share, removal = loss$removal, replacement = loss$replacement)
})

rounds_at_norm <- function(rounds, norm) {
  if (!is.numeric(norm) || length(norm) == 0L || anyNA(norm) || any(norm < 0)) {
    abort(c(
      "{.arg norm} must contain only numbers of at least 0.", x = "It is {describe(norm)}."
    ), "argument")
  }
  lapply(rounds, function(round) {
    length <- pmin(norm, 1) * round$clipped
    # The largest sum of squares and the largest sum of absolute values of a row with this norm.
    c(round, list(squared = length^2, absolute = sqrt(length(round$origin)) * length))
  })
}

rounds_at_row <- function(release, rounds, row) {
  periods <- release$panel$T0 + release$panel$T1
  if (is.numeric(row) && is.null(dim(row))) row <- matrix(row, 1L)
  if (!is.matrix(row) || !is.numeric(row) || ncol(row) != periods || !all(is.finite(row))) {
    abort(c(
      "{.arg row} must have one finite number for each of the {periods} periods.",
      i = "Use outcome units, as in the released panel."
    ), "argument")
  }
  scale <- release_scale(release)
  lapply(rounds, function(round) {
    c(round, gram_contributions(round, unname(row), scale))
  })
}
