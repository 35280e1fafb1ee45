# Losses of one person from shifts of Gaussian noise, and their table.

#' Losses as columns of a table
#' @noRd
loss_table <- function(removal, replacement, mu_removal = NA_real_, mu_replacement = NA_real_) {
  data.frame(
    removal = removal, replacement = replacement, mu_removal = mu_removal,
    mu_replacement = mu_replacement
  )
}

shift_losses <- function(mu_removal, mu_replacement, delta) {
  loss_table(
    shift_epsilon(mu_removal, delta), shift_epsilon(mu_replacement, delta), mu_removal,
    mu_replacement
  )
}

#' Epsilon of Gaussian shifts at delta, rounded up, by bisection of the exact trade-off
#' @param mu (`numeric`)\cr shifts in standard deviations.
#' @noRd
shift_epsilon <- function(mu, delta) {
  if (delta <= 0) {
    return(ifelse(mu > 0, Inf, 0))
  }
  high <- mu^2 / 2 + mu * sqrt(-2 * log(delta))
  bisect(function(epsilon) log_shift_delta(mu, epsilon), high, log(delta))
}

#' Epsilon at delta of a shift to either side, for the side with the larger loss
#' @param low,high (`numeric`)\cr shifts in standard deviations, 0 or more.
#' @noRd
sided_epsilon <- function(low, high, delta) {
  if (delta <= 0) {
    return(ifelse(pmax(low, high) > 0, Inf, 0))
  }
  most <- pmax(low, high)
  least <- pmin(low, high)
  # Twice the epsilon of the larger shift suffices.
  start <- most^2 / 2 + most * sqrt(-2 * log(delta / 2))
  bisect(function(epsilon) {
    first <- log_shift_delta(most, epsilon)
    second <- log_shift_delta(least, epsilon)
    ifelse(is.finite(first), first + log1p(exp(pmin(second - first, 0))), first)
  }, start, log(delta))
}

#' Smallest values in `[0, high]` at which decreasing functions are at most a level, rounded up
#' @param f (`function`)\cr a function from vectors to vectors.
#' @noRd
bisect <- function(f, high, level) {
  low <- numeric(length(high))
  high[f(low) <= level] <- 0
  for (i in seq_len(60L)) {
    middle <- (low + high) / 2
    enough <- f(middle) <= level
    high[enough] <- middle[enough]
    low[!enough] <- middle[!enough]
  }
  high
}

#' Refuse losses from a result without noise
#' @param verb,what,who (`string`)\cr the operation, its result, and the people in it.
#' @noRd
check_noisy <- function(x, verb = "Release", what = "release", who = "donor") {
  if (!x$privacy$private) {
    abort(c(
      "This {what} is NOT PRIVATE: no noise was added, so every {who}'s loss is infinite.",
      i = "{verb} with a finite {.arg epsilon}."
    ), "argument")
  }
}

#' Refuse losses for which no formula is proved
#' @param of (`string`)\cr the people with these losses, in a few words.
#' @param ... bullets of the error.
#' @noRd
abort_unknown_losses <- function(of, ...) {
  abort(
    c(paste0("Losses of single people are not known for ", of, "."), ...), "argument",
    rlang::caller_env()
  )
}

#' Delta of a Gaussian shift of mu standard deviations, at epsilon; vectors
#' @noRd
shift_delta <- function(mu, epsilon) {
  exp(log_shift_delta(mu, epsilon))
}

log_shift_delta <- function(mu, epsilon) {
  first <- stats::pnorm(mu / 2 - epsilon / mu, log.p = TRUE)
  second <- epsilon + stats::pnorm(-mu / 2 - epsilon / mu, log.p = TRUE)
  out <- first + log(pmax(-expm1(pmin(second - first, 0)), 0))
  ifelse(mu > 0 & is.finite(epsilon), out, -Inf)
}

#' Losses of people who have one row each
#' @noRd
row_losses <- function(removal, replacement, realised = NA_real_) {
  data.frame(loss_table(removal, replacement), realised = realised)
}

#' The guaranteed epsilon, at a delta for which it is valid
#' @noRd
nominal_epsilon <- function(fit, delta) {
  if (delta >= fit$privacy$delta) fit$privacy$epsilon else Inf
}

#' The delta of the losses, which is the guaranteed delta or another delta
#' @noRd
loss_delta <- function(x, delta) {
  if (is.null(delta)) x$privacy$delta else check_number(delta, 0, 1, open = "max")
}
