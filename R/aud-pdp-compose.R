# Losses of single people over several releases: PRIVATE, for the curator only.

#' Privacy loss of each person over several releases
#'
#' If releases from the same people's data have independent noise, a person's joint privacy loss is
#' at most the sum of the person's losses, at the sum of the deltas (composition of per-instance
#' losses, Wang, 2019). The result is for the **curator only**.
#'
#' @param ... (`dp_pdp`)\cr losses from [pdp()] for the same people in the same order.
#' @return An object of class `dp_pdp`, PRIVATE. It contains the sums of each person's `removal`,
#'   `replacement` and `realised`, the sum of the releases' `delta`, and the sum of their epsilon
#'   (`worst`). The joint guarantee is valid if the guarantees of all releases are valid.
#' @section Errors: `dpsc_error_argument`.
#' @references Wang, Y.-X. (2019). Per-instance Differential Privacy. Journal of Privacy and
#'   Confidentiality 9(1).
#' @examples
#' people <- data.frame(x = runif(2000, -1, 1))
#' people$y <- pmin(pmax(people$x + rnorm(2000, sd = 0.3), -3), 3)
#' bounds <- list(y = c(-3, 3), x = c(-1, 1))
#' first <- dp_lm(y ~ x, people, epsilon = 1, bounds = bounds)
#' second <- dp_lm(y ~ x, people, epsilon = 1, bounds = bounds, method = "ops")
#' summary(pdp_compose(pdp(first, people), pdp(second, people)))
#' @export
pdp_compose <- function(...) door("pdp_compose", {
  losses <- list(...)
  check_composable(losses)
  sum_of <- function(part) Reduce(`+`, lapply(losses, part))
  donors <- losses[[1L]]$donors
  for (kind in intersect(c("removal", "replacement", "realised"), names(donors))) {
    donors[[kind]] <- sum_of(function(of) of$donors[[kind]] %||% NA_real_)
  }
  donors[startsWith(names(donors), "mu_")] <- NULL
  out <- losses[[1L]]
  out$donors <- donors
  out$worst <- sum_of(function(of) of$worst)
  out$delta <- sum_of(function(of) of$delta)
  out$method <- paste(vapply(losses, `[[`, "", "method"), collapse = "\" and \"")
  out$holds <- all(vapply(losses, `[[`, NA, "holds"))
  out$reason <- paste(unique(unlist(lapply(losses, `[[`, "reason"))), collapse = "; ")
  out
})

#' @noRd
check_composable <- function(losses) {
  if (length(losses) < 2L || !all(vapply(losses, inherits, NA, "dp_pdp"))) {
    abort("{.fn pdp_compose} needs at least two results of {.fn pdp}.", "argument")
  }
  people <- vapply(losses, function(of) nrow(of$donors), 0L)
  if (length(unique(people)) > 1L) {
    abort(c(
      "These are not losses of the same people.",
      x = "The numbers of people are {paste(people, collapse = ', ')}.",
      i = "Give results of {.fn pdp} for the same people, in the same order."
    ), "argument")
  }
}
