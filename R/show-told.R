# Notes on the origin of the results: filled gaps, covariates, and intervals much wider than
# planned. They use public settings and released numbers only.

#' Words on the rule for gaps, or `NULL`; the positions and the number of gaps are never stated
#' @noRd
gaps_words <- function(release) {
  if (is.null(release$panel$gaps)) {
    return(NULL)
  }
  paste(
    "Gaps in a row were filled from that row alone: linearly between observed values, flat before",
    "the first and after the last. A row without a value before the treatment is set to the middle",
    "of the bounds. Rows of people who leave early stay flat; no interval covers this error."
  )
}

#' The rule for gaps as a line of a print
#' @noRd
gaps_line <- function(release) {
  if (!is.null(release$panel$gaps)) {
    "  gaps are filled from the values of the same row alone (na = \"interpolate\")"
  }
}

#' Names of a release's covariates, with one name per factor
#' @noRd
covariates_told <- function(release) {
  unique(sub(": .*", "", as.character(release$panel$covariates$name)))
}

#' Words on the covariates of a release, or `NULL`
#' @noRd
covariates_words <- function(release) {
  names <- covariates_told(release)
  if (length(names)) {
    paste0(
      "The prediction also uses covariates (", enumerate(names, length(names)),
      "), with one value per person and with limits or levels fixed beforehand."
    )
  }
}

# Width -------------------------------------------------------------------------------------------

# The usual factor by which the donors' placebo errors, with their noise, increase a person's
# standard error. Medians over 150 releases at six sizes and budgets were 1.6 to 2.3; for groups the
# factors are 1.02.
usual_lift <- 2.3

#' The ratio of a fit's standard error to the error implied by its moments alone
#' @noRd
interval_lift <- function(spread) {
  known <- is.numeric(spread$average) && is.numeric(spread$floor)
  if (known) spread$average * sqrt(spread$floor) else NA_real_
}

#' A sentence on an interval more than twice as wide as usual, or `NULL`
#' @noRd
wide_words <- function(fit, i = 1L) {
  if (isTRUE(fit$spread[[i]]$unseen > 0)) {
    return(unseen_interval_words(fit))
  }
  if (isTRUE(fit$spread[[i]]$shift > 0)) {
    return(paste(
      "After the treatment a few donors change far more than all others. Their part of the",
      "counterfactual is partly cut off, and the interval allows for it."
    ))
  }
  lift <- interval_lift(fit$spread[[i]])
  if (!fit$release$privacy$private || !isTRUE(lift > 2 * usual_lift)) {
    return(NULL)
  }
  paste0(
    "The interval is ", format(lift, digits = 2L), " times as wide as the released moments alone ",
    "would make it; usual factors are at most about ", usual_lift, ". In this release the ",
    "donors' placebo errors, or the noise in these errors, are large."
  )
}

#' A sentence on an interval that allows for donors with large errors beyond a small range
#' @noRd
unseen_interval_words <- function(fit) {
  paste0(
    "The target's outcome stays at a bound, and in this release the donors' placebo errors seem ",
    "small. A few donors with large errors may be hidden: the standard error allows for ",
    format(100 * unseen_share(fit$release), digits = 2L), " % of donors with errors of half the ",
    "bounds' width. Narrower bounds for another release, chosen without these data, would make ",
    "this allowance smaller."
  )
}

swamped_words <- "THE NOISE SWAMPS THE DATA"

#' Is noise of this standard deviation as large as the bounds?
#' @noRd
is_swamping <- function(noise, release) noise > width_of_bounds(release) / 8

width_of_bounds <- function(release) max(release$bounds$upper - release$bounds$lower)

#' @param unlike (`string`)\cr how this noise differs from the noise of the printed estimate.
#' @noRd
swamped_line <- function(noise, release, unlike = "") {
  paste0(
    "  ", swamped_words, ": the noise has standard deviation ", format_value(noise), unlike,
    ", and the bounds have width ", format_value(width_of_bounds(release)), "."
  )
}
