# Synthetic difference-in-differences (Arkhangelsky, Athey, Hirshberg, Imbens and Wager, 2021).

#' Settings of estimator "sdid", with the regularisation of both sets of weights
#'
#' The defaults are from the paper. Let sigma be the standard deviation of the donors' first
#' differences before the treatment. Then `zeta` is (treated units x periods after)^(1/4) sigma, and
#' `zeta_periods` is 1e-6 sigma, which only makes the weights of periods unique.
#' @param settings (`list`)\cr `zeta`, `zeta_periods` (outcome units), `treated` (`count`, the
#'   number of treated units over which the target is averaged), and `predictors` and `covariates`,
#'   see `complete_covariates()`, which are first partialled out of the outcomes.
#' @noRd
complete_sdid <- function(raw, settings) {
  T1 <- ncol(raw$donors) - raw$T0
  if (T1 < 1L) {
    abort("Estimator {.val sdid} needs at least one period after the treatment.", "argument")
  }
  treated <- check_count(settings$treated %||% 1, 1, arg = "treated")
  out <- c(
    list(zeta = settings$zeta, zeta_periods = settings$zeta_periods, treated = treated),
    complete_covariates(raw, settings)
  )
  if (is.null(out$zeta) || is.null(out$zeta_periods)) {
    if (nrow(raw$donors) * (raw$T0 - 1L) < 2L) {
      abort(c(
        "Estimator {.val sdid} cannot compute its regularisation.",
        x = paste(
          "It needs at least two of the donors' changes from one pre-treatment period to the",
          "next."
        ),
        i = "Give {.code zeta} and {.code zeta_periods} in {.code dp_control(settings = )}."
      ), "argument")
    }
    rest <- take_covariates_out(raw$donors, raw$target, raw$T0, out)
    sigma <- difference_deviation_cpp(rest$donors, raw$T0)
    out$zeta <- out$zeta %||% ((treated * T1)^0.25 * sigma)
    out$zeta_periods <- out$zeta_periods %||% (1e-6 * sigma)
  }
  out$zeta <- check_number(out$zeta, 0, arg = "zeta")
  out$zeta_periods <- check_number(out$zeta_periods, 0, arg = "zeta_periods")
  out
}

#' @return As `fit_classical()`, with `period_weights`, the weights of the periods before the
#'   treatment.
#' @noRd
fit_sdid <- function(donors, target, T0, settings) {
  rest <- take_covariates_out(donors, target, T0, settings)
  fit <- sdid_fit_cpp(rest$donors, rest$target, T0, settings$zeta, settings$zeta_periods)
  fit$counterfactual <- fit$counterfactual + rest$path
  fit$slopes <- rest$slopes
  fit
}
