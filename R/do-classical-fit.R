# Fits by the classical estimators on raw donors: NOT PRIVATE, for comparison and for panels whose
# donors need no protection. The fits store the donors, since placebos need them.

#' Fit a classical estimator to a checked panel
#' @return A `dp_synth_classical`, which is also a `dp_synth`, with the fields of [dp_synth()],
#'   `raw` (donors, target, `T0` and times, PRIVATE) and `settings`. NOT PRIVATE.
#' @noRd
fit_classical_panel <- function(panel, request) {
  estimator <- request$estimator
  if (request$private) {
    abort(c(
      "{.code estimator = {.val {estimator}}} is NOT PRIVATE and needs {.code epsilon = Inf}.",
      x = "It is fitted to the donors' rows without any noise.",
      i = "The private estimators are {.val ridge} and {.val did}."
    ), "argument")
  }
  check_nothing_to_charge(check_ledger(request$ledger))
  refuse_source(panel$donors, "rows", paste0("{.code estimator = \"", estimator, "\"}"))
  k <- nrow(panel$target)
  label <- if (k == 1L) rownames(panel$target) else paste("mean of", k, "treated units")
  target <- matrix(colMeans(panel$target), 1L, dimnames = list(label, NULL))
  donors <- panel$donors
  storage.mode(donors) <- "double"
  rownames(donors) <- panel$donor_names %||% seq_len(nrow(donors))
  settings <- classical_settings(request$control$settings, estimator, panel)
  fit <- fit_classical(donors, target, panel$T0, estimator, settings)
  T1 <- panel$T1
  unknown <- matrix(NA_real_, T1, T1)
  structure(list(
    release = classical_release(panel, fit, estimator), target = target,
    counterfactual = matrix(fit$counterfactual, 1L, dimnames = list(label, NULL)),
    variance = list(list(prediction = unknown, privacy = unknown)),
    spread = list(list(reason = "classical estimators have no model for their errors")), size = k,
    estimator = estimator,
    penalty = fit$settings$lambda %||% NA_real_, weights = fit$weights, intercept = fit$intercept,
    objective = fit$objective, kkt = fit$kkt, ties = fit$ties, settings = fit$settings,
    period_weights = fit$period_weights, slopes = fit$slopes,
    raw = list(donors = donors, target = target, T0 = panel$T0, times = panel$times)
  ), class = c("dp_synth_classical", "dp_synth"))
}

#' The user's settings, with settings that are computed from the panel
#' @noRd
classical_settings <- function(settings, estimator, panel) {
  if (estimator == "sdid") settings$treated <- settings$treated %||% nrow(panel$target)
  brought <- list(predictors = panel$predictors, covariates = panel$regressors)
  brought <- brought[!vapply(brought, is.null, NA)]
  if (length(brought) && !(is.null(settings$predictors) && is.null(settings$covariates))) {
    abort(c(
      "The formula and {.code dp_control(settings = )} both contain predictors or covariates.",
      i = "Give them in only one of the two places."
    ), "argument")
  }
  settings[names(brought)] <- brought
  settings
}

#' Placeholder for the release of a fit without a release, so that verbs need no special case
#' @noRd
classical_release <- function(panel, fit, estimator) {
  periods <- panel$T0 + panel$T1
  structure(list(
    method = estimator, calibration = "none", statistics = list(weights = unname(fit$weights)),
    panel = list(
      n = panel$n, T0 = panel$T0, T1 = panel$T1, times = panel$times, outcome = panel$outcome,
      donor_names = names(fit$weights), gaps = panel$gaps
    ),
    bounds = list(lower = rep(-Inf, periods), upper = rep(Inf, periods)),
    settings = list(covariates = covariate_names(fit$settings)),
    privacy = list(
      private = FALSE, epsilon = Inf, delta = 0, rho = NA_real_,
      neighbours = "replace one donor's row", steps = NULL, rng = "none", holds = FALSE,
      theorem = "", reason = "a classical estimator on raw donors", exact = TRUE
    )
  ), class = "dp_release")
}
