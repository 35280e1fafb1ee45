# The records of the methods of dp_aggregate() for the table of methods, and faults that released
# numbers show.

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

#' Do the released numbers alone show that the statistic failed on most blocks?
#' @noRd
at_fallback <- function(x) {
  if (is.null(x$quantiles)) {
    return(character())
  }
  cell <- (x$plan$upper - x$plan$lower) / 2^x$plan$cells
  located <- mechanism_table$dp_aggregate[[x$method]]$located
  middle <- if (located) x$quantiles[, "median"] else x$estimate
  wide <- if (located) {
    x$quantiles[, "spread"]
  } else {
    x$quantiles[, 2L] - x$quantiles[, 1L]
  }
  # The noise around answers that equal the fallback; other answers in its cell are farther away.
  far <- located & !is.na(x$privacy.se) & abs(x$estimate - x$plan$fallback) > 3 * x$privacy.se
  names(x$estimate)[abs(middle - x$plan$fallback) <= cell & wide <= 2 * cell & !far]
}

#' Statistics whose released deviation over blocks is impossible within the limits
#'
#' The draw of the median or of the spread then found a remote cell.
#' @noRd
lost_spread <- function(x) {
  located <- mechanism_table$dp_aggregate[[x$method]]$located
  # For an unidentified statistic the print shows the reason instead.
  if (is.null(x$quantiles) || !located || !x$plan$identified) {
    return(character())
  }
  names(x$estimate)[x$quantiles[, "spread"] > (x$plan$upper - x$plan$lower) / 2]
}

lost_spread_words <- paste(
  "the released standard deviation over blocks is impossible within the limits. Perhaps most",
  "blocks give the same answer, such as the fallback of a statistic that fails."
)

warn_of_fallback <- function(x) {
  failed <- at_fallback(x)
  lost <- lost_spread(x)
  if (length(lost)) {
    rlang::warn(cli::format_message(c(
      paste("For {.val {lost}},", lost_spread_words),
      i = "Try the statistic on simulated rows ({.arg example}). The budget is spent."
    )), class = "dpsc_warning_fallback")
  }
  if (length(failed)) {
    rlang::warn(cli::format_message(c(
      paste(
        "The released numbers of {.val {failed}} are those of a statistic that equals",
        "{.arg fallback} on most blocks."
      ),
      i = paste(
        "If it may fail on blocks, try it on simulated rows ({.arg example}), and give a",
        "{.arg fallback} that it cannot return otherwise. The budget is spent."
      )
    )), class = "dpsc_warning_fallback")
  }
}
