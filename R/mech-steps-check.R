# Check that the steps of a release from a file add up to its promised budget.

#' Check of methods with composed steps, by Gaussian shifts or zCDP for delta > 0 and otherwise by
#' sums of epsilons
#'
#' Gamma-norm noise (published `"output"`) gives pure privacy for any delta.
#' @noRd
composed_conflict <- function(release) {
  steps <- release$privacy$steps
  # Each of the disjoint groups has a separate account.
  for (account in split(steps, steps$account %||% rep("donors", nrow(steps)))) {
    problem <- account_conflict(account, release$privacy)
    if (!is.null(problem)) {
      return(problem)
    }
  }
}

#' @noRd
account_conflict <- function(steps, privacy) {
  fits <- if (privacy$delta == 0 || all(steps$law == "gamma_norm")) {
    is.na(privacy$rho) && at_most(sum(steps$epsilon), privacy$epsilon)
  } else if (in_shifts(steps)) {
    mu <- gdp_budget_cpp(privacy$epsilon, privacy$delta)
    about_equal(privacy$rho, mu^2 / 2) && at_most(sum(steps$mu^2), mu^2)
  } else {
    about_equal(privacy$rho, cdp_rho_cpp(privacy$epsilon, privacy$delta)) &&
      at_most(sum(steps$rho), privacy$rho)
  }
  if (!fits) "The cost of the noise steps does not match the release."
}

#' Check of method objective: epsilons add up, and a separate Gaussian step is converted at half of
#' delta
#' @noRd
added_conflict <- function(release) {
  privacy <- release$privacy
  steps <- privacy$steps
  rho <- sum(steps$rho, na.rm = TRUE)
  converted <- if (rho > 0 && in_shifts(steps)) {
    gdp_epsilon_cpp(sqrt(sum(steps$mu^2, na.rm = TRUE)), privacy$delta / 2)
  } else if (rho > 0) {
    cdp_epsilon_cpp(rho, privacy$delta / 2)
  } else {
    0
  }
  complete <- all(!is.na(steps$epsilon) | !is.na(steps$rho)) && (rho == 0 || privacy$delta > 0)
  total <- sum(steps$epsilon, na.rm = TRUE) + converted
  if (!complete || !is.na(privacy$rho) || !at_most(total, privacy$epsilon)) {
    "The cost of the noise steps does not match the release."
  }
}
