# Standard errors of classical fits from placebos in space.

#' Standard errors of a classical fit from placebo effects
#'
#' Every donor in turn takes the place of the treated unit and is fitted from the other donors. With
#' k treated units, groups of k donors take their place. The standard deviation of these placebo
#' effects is the standard error (Arkhangelsky et al., 2021, algorithm 4). This standard error
#' assumes that donors and treated units have errors of equal variance, and with n donors its
#' relative error is about `1 / sqrt(2 n)`. Each placebo fit uses the penalties, ranks and given
#' importances of the fit; importances from a search are found again in each placebo fit.
#'
#' @inheritSection placebo_space Not for private fits
#' @param fit (`dp_synth`)\cr a fit by a classical estimator (`epsilon = Inf`).
#' @param draws (`count`)\cr number of groups, drawn with R's generator if several units are
#'   treated. With one treated unit every donor is used once and nothing is drawn.
#' @param ... unused.
#' @return The fit with standard errors. `print()`, [tidy()][tidy.dp_synth()],
#'   [confint()][effects.dp_synth()], [vcov()][coef.dp_synth()] and `plot()` then give standard
#'   errors and normal intervals for the average effect and for each period. NOT PRIVATE.
#' @section Errors: `dpsc_error_private` for a fit that is not by a classical estimator, and
#'   `dpsc_error_argument` for fewer than three donors, or fewer than two donors per treated unit.
#' @references
#' Arkhangelsky, D., Athey, S., Hirshberg, D. A., Imbens, G. W. and Wager, S. (2021). Synthetic
#' Difference-in-Differences. American Economic Review 111, 4088-4118.
#' @examples
#' panel <- sim_panel(n = 20, T0 = 15, T1 = 4, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 15, epsilon = Inf, estimator = "sdid"
#' )
#' tidy(placebo_errors(fit), conf.int = TRUE)
#' @export
placebo_errors <- function(fit, ...) {
  UseMethod("placebo_errors")
}

#' @rdname placebo_errors
#' @export
placebo_errors.dp_synth <- function(fit, draws = 200, ...) door("placebo_errors", {
  check_no_dots(...)
  draws <- check_count(draws, 2, 1e6)
  parts <- raw_parts(fit)
  n <- nrow(parts$raw$donors)
  treated <- sum(fit$size %||% 1)
  if (n < max(3, 2 * treated)) {
    abort(c(
      "There are too few donors for standard errors from placebos.",
      x = "The panel has {treated} treated unit{?s} and {n} donor{?s}.",
      i = "At least three donors are needed, and at least two donors per treated unit."
    ), "argument")
  }
  gaps <- placebo_gaps(parts, treated, draws)[, -seq_len(parts$raw$T0), drop = FALSE]
  centred <- sweep(gaps, 2L, colMeans(gaps))
  prediction <- crossprod(centred) / nrow(gaps)
  fit$variance <- list(list(prediction = prediction, privacy = 0 * prediction))
  fit$spread <- list(list())
  fit$placebos <- nrow(gaps)
  fit
})

#' Outcome minus counterfactual of placebo groups
#' @return A matrix, one row per placebo, T columns. NOT PRIVATE.
#' @noRd
placebo_gaps <- function(parts, treated, draws) {
  raw <- parts$raw
  if (treated == 1) {
    return(raw$donors - placebo_counterfactuals(raw, parts$estimator, parts$settings))
  }
  gaps <- vapply(seq_len(draws), function(draw) {
    group <- sample.int(nrow(raw$donors), treated)
    own <- colMeans(raw$donors[group, , drop = FALSE])
    others <- raw$donors[-group, , drop = FALSE]
    settings <- settings_without(parts$settings, group, target = TRUE)
    own - fit_checked(others, own, raw$T0, parts$estimator, settings)$counterfactual
  }, numeric(ncol(raw$donors)))
  t(gaps)
}
