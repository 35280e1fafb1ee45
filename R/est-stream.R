# Coefficients of a stream by method "gram", and their errors. Post-processing of released moments.

#' Least squares from released moments, without a penalty, or the shrunk coefficients
#' @param released (`list`, RELEASED)\cr `moments` of (x, y), `moment_sd` (the noise of a diagonal
#'   entry), `rows`, and `estimate` (the shrunk coefficients).
#' @param learner (`list`, PUBLIC)\cr settings of the learner.
#' @param intercept (`flag`)\cr is the first regressor constant?
#' @return A list in scaled units: `estimate`, and `total` and `privacy` (covariances); or
#'   `estimate` (shrunk) and `reason`, the reason for missing covariances.
#' @noRd
stream_slopes <- function(released, learner, intercept) {
  shrunk <- function(reason) list(estimate = released$estimate, reason = reason)
  if (is.null(released$moments)) {
    return(shrunk("the stream was written by an earlier version, whose errors lacked a bias"))
  }
  found <- stream_slopes_cpp(
    released$moments, released$moment_sd, released$rows, learner$radius, intercept
  )
  switch(found$curvature,
    "few rows" = shrunk("the stream has too few rows"),
    collinear = shrunk("the regressors are collinear so far"),
    hidden = shrunk(paste(
      "the noise hides the curvature of the regressors so far; the coefficients are shrunk to zero"
    )),
    found[c("estimate", "privacy", "total")]
  )
}
