# The records of the methods of dp_aggregate() for the table of methods.

#' Summary of the blocks' answers
#'
#' @param by_rank,located,mean (`flag`)\cr whether quantiles are chosen, whether the answers are
#'   added up within released quartiles, and whether the answers are added up unchanged.
#' @param theorem (function of a flag: is the noise Gaussian?).
#' @param ranks,noise (functions of a plan)\cr the noise in ranks, and the standard deviation of the
#'   noise on the sum of the answers, divided by the width of the limits; `NA` without such noise.
#' @noRd
aggregator <- function(title, theorem, by_rank = FALSE, located = FALSE, mean = FALSE,
                       ranks = released_ranks, noise = added_deviation) {
  new_mechanism("dp_aggregate", title, needs = "rows", person = "rows",
    by_rank = by_rank, located = located, mean = mean, theorem = theorem, ranks = ranks,
    noise = noise
  )
}

#' @noRd
aggregators <- function() {
  none <- function(plan) NA_real_
  list(
    winsorised = aggregator("Winsorised mean", function(gaussian) {
      paste("exponential and", addition_name(gaussian), "mechanisms on answers of disjoint blocks")
    }, located = TRUE),
    median = aggregator("Median", function(gaussian) {
      "exponential mechanism on ranks of disjoint blocks"
    }, by_rank = TRUE, noise = none),
    mean = aggregator("Mean", function(gaussian) {
      paste(addition_name(gaussian), "mechanism on answers of disjoint blocks")
    }, mean = TRUE, ranks = none)
  )
}

addition_name <- function(gaussian) if (gaussian) "Gaussian" else "Laplace"

added_deviation <- function(plan) {
  (if (plan$gaussian) sqrt(plan$scale) else sqrt(2) * plan$scale) / 2^plan$grid
}

#' Rank error of a released median, which is approximately a Laplace draw with scale 1 / exponent
#' @noRd
released_ranks <- function(plan) sqrt(2) / plan$exponent
