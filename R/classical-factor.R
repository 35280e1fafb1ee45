# Generalised synthetic control (Xu, 2017): interactive fixed effects of the donors.

#' Settings of "factor": how many factors
#'
#' Without `rank` each period before treatment is predicted from the others, for 0 to `most` factors
#' besides the effects of units and periods; as in the paper one more factor must lower the mean
#' squared error by a thousandth.
#' @param settings (`list`)\cr `rank` (`count` from 0), `most` (`count`, default 5).
#' @noRd
complete_factor <- function(raw, settings, call) {
  # A constant, the factors, and a period to judge them by.
  limit <- min(raw$T0 - 2L, nrow(raw$donors) - 1L)
  if (!is.null(settings$rank)) {
    rank <- check_count(settings$rank, 0, max(limit, 0L), arg = "rank", call = call)
    return(list(rank = rank, path = settings$path))
  }
  most <- min(check_count(settings$most %||% 5, 0, arg = "most", call = call), limit)
  if (most < 1L) {
    return(list(rank = 0L, path = NULL))
  }
  error <- factor_path_cpp(raw$donors, raw$target, raw$T0, most)
  best <- 1L
  for (r in seq_along(error)) {
    if (error[[r]] < error[[best]] * (1 - 1e-3)) best <- r
  }
  list(
    rank = best - 1L, path = data.frame(rank = seq_along(error) - 1L, error = error)
  )
}

#' @return As `fit_classical()`; the weights are implied: signs free, sum one.
#' @noRd
fit_factor <- function(donors, target, T0, settings) {
  # Fits at earlier dates or without a donor may not carry as many factors.
  rank <- max(min(settings$rank, T0 - 2L, nrow(donors) - 1L), 0L)
  c(factor_fit_cpp(donors, target, T0, rank), list(kkt = NA_real_))
}
