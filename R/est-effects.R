# The effects of a fit, for the whole group or for its members.

#' A fit of the whole group, or its members' fits
#' @param type (`string`)\cr `"overall"` or `"unit"`.
#' @noRd
fit_view <- function(fit, type = "overall") {
  if (type == "unit" && !is.null(fit$units)) fit[names(fit$units)] <- fit$units
  fit
}

post_periods <- function(fit) {
  fit$release$panel$T0 + seq_len(fit$release$panel$T1)
}

#' Effects by period, outcome units
#' @return A k x T1 matrix.
#' @noRd
effects_of <- function(fit) {
  post <- post_periods(fit)
  effect <- fit$target[, post, drop = FALSE] - fit$counterfactual[, post, drop = FALSE]
  dimnames(effect) <- list(rownames(fit$target), period_text(fit$release$panel$times[post]))
  effect
}

#' Targets in scaled units with their covariates, in a release's form
#' @param covariates (`matrix`, k x q, or `NULL`).
#' @noRd
with_covariates <- function(release, scaled, covariates) {
  columns <- release$panel$covariates
  if (is.null(columns)) {
    return(scaled)
  }
  insert_covariates(scaled, scaled_covariates(covariates, columns), release$panel$T0)
}
