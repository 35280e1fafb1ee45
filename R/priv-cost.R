# What a release costs, and a history of such costs.

#' The price of a release, in the currency of its proof
#' @param kind (`string`)\cr `"gdp"`, `"zcdp"`, `"pure"` or `"approximate"`.
#' @param epsilon,delta,rho,mu (`number`)\cr what the kind needs. A mu-GDP release is
#'   (mu^2 / 2)-zCDP: its `rho`, if not given.
#' @noRd
new_cost <- function(kind = c("zcdp", "pure", "approximate", "gdp"), epsilon = NA_real_, delta = 0,
                     rho = if (is.na(mu)) NA_real_ else mu^2 / 2, mu = NA_real_) {
  list(kind = match.arg(kind), epsilon = epsilon, delta = delta, rho = rho, mu = mu)
}

#' Are the steps' costs Gaussian shifts? Version 0.1.0 counted in zCDP.
#' @noRd
in_shifts <- function(steps) is.numeric(steps$mu) && any(!is.na(steps$mu))

#' A history with all its columns, also one from an older version
#' @noRd
complete_history <- function(history) {
  if (is.null(history$mu)) history$mu <- rep(NA_real_, nrow(history))
  history
}
