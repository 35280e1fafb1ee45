# The estimators on raw data, with one record each, which contains everything that depends on the
# estimator.

#' The estimators by name
#'
#' A record is a list:
#' * `knows` (character): the names of its settings; other settings are errors.
#' * `complete` (function of raw, settings and call): the checked settings with defaults.
#' * `fit` (function of donors, target, T0 and settings): the fit, see [fit_classical()].
#' * `placebos` (function of raw and settings), `left_out` (function of raw, settings and omitted
#'   donors), `residuals` (function of donors, paths and settings): many fits in one call; `NULL` if
#'   only single fits are possible.
#' @noRd
classical_table <- function() {
  record <- function(fit, knows = character(), complete = function(raw, settings) list(),
                     placebos = NULL) {
    list(knows = knows, complete = complete, fit = fit, placebos = placebos)
  }
  regressors <- c("predictors", "covariates")
  list(
    simplex = simplex_record(),
    ridge = record(fit_ridge, "lambda", complete_ridge),
    demeaned = simplex_record(demean = TRUE),
    hsvt = record(fit_hsvt, "rank", complete_hsvt),
    did = record(fit_did),
    elastic = record(fit_elastic, c("lambda", "alpha"), complete_elastic),
    penalised = simplex_record(knows = "lambda", complete = complete_penalised),
    predictors = record(fit_predictors, c(
      "predictors", "v", "judged", "screened", "starts", "evaluations", "importance"
    ), complete_predictors, placebo_predictors),
    augmented = record(
      fit_augmented, c("lambda", "rule", "predictors", "path"), complete_augmented
    ),
    sdid = record(fit_sdid, c(regressors, "zeta", "zeta_periods", "treated"), complete_sdid),
    factor = record(fit_factor, c(regressors, "rank", "most", "path"), complete_factor),
    mcnnm = record(fit_mcnnm, c(regressors, "lambda", "path"), complete_mcnnm)
  )
}

#' Weights on the simplex, with or without an intercept and a penalty
#'
#' With predictors only single fits on the balanced variables are possible.
#' @noRd
simplex_record <- function(demean = FALSE, knows = character(), complete = complete_balanced) {
  penalty <- function(settings) settings$lambda %||% 0
  list(
    knows = c(knows, "predictors", "v"), complete = complete,
    fit = function(donors, target, T0, settings) {
      if (is.null(settings$predictors)) {
        return(simplex_fit_cpp(donors, target, T0, demean, penalty(settings)))
      }
      both <- balanced_columns(donors, target, T0, settings$predictors, settings$v, demean)
      fit <- simplex_fit_cpp(
        both$donors, both$target, ncol(both$donors), FALSE, penalty(settings)
      )
      path <- drop(crossprod(donors, fit$weights))
      if (demean) fit$intercept <- mean((target - path)[seq_len(T0)])
      fit$counterfactual <- path + fit$intercept
      fit
    },
    placebos = function(raw, settings) {
      simplex_placebos_cpp(raw$donors, raw$T0, demean, penalty(settings))$paths
    },
    left_out = function(raw, settings, dropped) {
      simplex_leave_out_cpp(
        raw$donors, raw$target, raw$T0, demean, penalty(settings), dropped
      )$paths
    },
    residuals = function(donors, paths, settings) {
      simplex_residuals_cpp(donors, paths, demean, penalty(settings))$paths
    }
  )
}
