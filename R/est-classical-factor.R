# Generalised synthetic control (Xu, 2017): interactive fixed effects of the donors.

#' Settings of estimator "factor", with the number of factors
#'
#' Without `rank` each period before the treatment is predicted from the other periods, for 0 to
#' `most` factors besides the effects of units and periods. As in the paper, one more factor must
#' reduce the mean squared error by a thousandth.
#' @param settings (`list`)\cr `rank` (`count` from 0), `most` (`count`, default 5), and
#'   `predictors` and `covariates`, see `complete_covariates()`: the donors' slopes are estimated
#'   jointly with the factors, for each number of factors.
#' @noRd
complete_factor <- function(raw, settings) {
  given <- complete_covariates(raw, settings)
  limit <- most_factors(nrow(raw$donors), raw$T0, given)
  if (!is.null(settings$rank)) {
    rank <- check_count(settings$rank, 0, max(limit, 0L), arg = "rank")
    return(c(list(rank = rank, path = settings$path), given))
  }
  most <- min(check_count(settings$most %||% 5, 0, arg = "most"), limit)
  if (most < 1L) {
    return(c(list(rank = 0L, path = NULL), given))
  }
  own <- covariate_blocks(raw$donors, given)
  error <- factor_path_cpp(raw$donors, raw$target, raw$T0, most, own$varying, own$units)
  best <- 1L
  for (r in seq_along(error)) {
    if (error[[r]] < error[[best]] * (1 - 1e-3)) best <- r
  }
  c(
    list(rank = best - 1L, path = data.frame(rank = seq_along(error) - 1L, error = error)), given
  )
}

#' A constant, the factors, and a period for the evaluation of the fit; donors' slopes of
#' time-invariant covariates are first
#' @noRd
most_factors <- function(n, T0, settings) {
  min(T0 - 2L, n - 1L - NCOL(settings$predictors$donors) * !is.null(settings$predictors))
}

#' @return As `fit_classical()`; the implied weights may be negative, and have sum one.
#' @noRd
fit_factor <- function(donors, target, T0, settings) {
  # Fits at earlier dates or without a donor may support fewer factors.
  rank <- max(min(settings$rank, most_factors(nrow(donors), T0, settings)), 0L)
  own <- covariate_blocks(donors, settings)
  factor_fit_cpp(donors, target, T0, rank, own$varying, own$units)
}
