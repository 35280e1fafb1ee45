# The rounds of each account in a release for everyone.

#' Rounds and order of columns for each account of a release for everyone
#' @param release (`dp_release`)\cr a release with `protect = "everyone"`.
#' @return A list by account, with `rounds` in the form for [gram_contributions()], and `order`, the
#'   positions of the release's columns in a row.
#' @noRd
account_rounds <- function(release) {
  s <- release$statistics
  dates <- s$cohorts$T0 %||% release$panel$T0
  groups <- s$cohorts$treated %||% list(s$treated)
  q <- NROW(release$panel$covariates)
  periods <- release$panel$T0 + release$panel$T1
  orders <- lapply(dates, function(T0) cohort_order(release$panel$T0, q, T0, periods))
  control <- Map(function(group, order) {
    loadings <- group$loadings
    loadings[order, ] <- group$loadings
    last <- group$rounds[[length(group$rounds)]]
    c(group$control[c("clipped", "constant", "noise")], list(
      loadings = loadings, origin = donor_origin(group), radius = last$radius
    ))
  }, groups, orders)
  treated <- Map(function(group, order) {
    list(order = order, rounds = lapply(group$rounds, function(round) {
      c(round, list(loadings = group$loadings))
    }))
  }, groups, orders)
  names(treated) <- if (length(groups) == 1L) "treated" else cohort_account(seq_along(groups))
  c(list(donors = list(order = seq_len(periods + q), rounds = c(s$rounds, control))), treated)
}

#' The part of a release for one account, as input of [gram_losses()]
#' @noRd
account_release <- function(release, account) {
  steps <- release$privacy$steps
  release$privacy$steps <- steps[steps$account == account, ]
  release
}
