# Estimators on raw data, for fits without privacy (epsilon = Inf). Every estimator uses the donors'
# rows and the target's periods before treatment, and returns a path for the target over all
# periods.

#' Fit one estimator on raw data
#'
#' `y` and `x_j` are the target's and donor j's `T0` outcomes before the treatment.
#'
#' * `"simplex"`: the exact minimum of ||y - sum_j w_j x_j||^2 over w >= 0, sum w = 1.
#' * `"demeaned"`: simplex weights for deviations from each unit's mean, which adds an intercept.
#' * `"penalised"`: the simplex objective + lambda sum_j w_j ||y - x_j||^2 (Abadie and L'Hour,
#'   2021).
#'
#'   For these three estimators predictors are further columns of y and x, see `balanced_columns()`.
#' * `"ridge"`: ||y - sum_j w_j x_j||^2 + lambda ||w||^2, signs free. The private method "output"
#'   halves lambda, as in its paper, so its lambda is twice the lambda of this estimator.
#' * `"elastic"`: ||y - sum_j w_j x_j||^2 + lambda (alpha ||w||_1 + (1 - alpha) ||w||^2), signs
#'   free (Doudchenko and Imbens, 2016, without an intercept).
#' * `"hsvt"`: the donors' pre-period block is truncated to its `rank` largest singular values and
#'   used for minimum-norm least squares; the prediction uses the unchanged donors (Amjad, Shah and
#'   Shen, 2018).
#' * `"did"`: equal weights and an intercept.
#' * `"predictors"`: simplex weights that match predictors, each divided by its standard deviation
#'   over target and donors and weighted by importances V. V is given, or chosen by the resulting
#'   fit before the treatment (Abadie, Diamond and Hainmueller, 2010).
#' * `"augmented"`, `"sdid"`, `"factor"`, `"mcnnm"`: see `complete_augmented()` and the similar
#'   functions.
#'
#' @param donors (`matrix`, n x T, outcome units)\cr one row per donor. PRIVATE.
#' @param target (`numeric(T)` or `matrix`, 1 x T)\cr the treated unit.
#' @param T0 (`count`)\cr number of periods before the treatment.
#' @param estimator (`string`)\cr a name of [classical_table()].
#' @param settings (`list`)\cr `lambda` (`"ridge"`: default `T0`; `"penalised"`, `"elastic"`:
#'   required); `alpha` (`"elastic"`: default 1, the lasso); `rank` (`"hsvt"`: default by the
#'   Gavish-Donoho threshold); `covariates`, see `complete_covariates()`; for `"predictors"`:
#'   `predictors`, a list of `donors` (n x K, rows matched with the donors by name; by position only
#'   where neither has names) and `target` (K), `v` (K importances, or `NULL` to search), `judged`
#'   (periods whose fit V is judged by: default all before the treatment), `screened`, `starts` and
#'   `evaluations` (effort of the search). Completed settings, which contain `importance`, may be
#'   given again.
#' @return A list: `weights` (n, named), `intercept`, `counterfactual` (T), `objective` (the
#'   minimised value), `kkt` (largest violation of the optimality conditions, `NA` if no problem is
#'   solved), `settings` (completed), and `slopes` of covariates that change over time, whose
#'   contribution the weighted donors and the intercept do not include. The simplex family adds
#'   `ties`: the number of further donors that could get weight at no cost. `"predictors"` adds
#'   `loss`, the mean squared error over the judged periods, and the V used as
#'   `settings$importance`. All of these are NOT PRIVATE.
#' @section Errors: `dpsc_error_argument`.
#' @noRd
fit_classical <- function(donors, target, T0, estimator = "simplex", settings = list()) {
  estimator <- check_choice(estimator, names(classical_table()))
  raw <- check_raw(donors, target, T0)
  settings <- complete_settings(raw, estimator, settings)
  fit_checked(raw$donors, raw$target, raw$T0, estimator, settings)
}

fit_checked <- function(donors, target, T0, estimator, settings) {
  fit <- classical_table()[[estimator]]$fit(donors, target, T0, settings)
  names(fit$weights) <- rownames(donors)
  if (!is.null(fit$importance)) {
    settings$importance <- fit$importance
  }
  if (length(fit$slopes)) names(fit$slopes) <- varying_names(settings$covariates$donors)
  keep <- c(
    "weights", "intercept", "counterfactual", "objective", "kkt", "ties", "loss", "period_weights",
    if (length(fit$slopes)) "slopes"
  )
  c(fit[intersect(keep, names(fit))], list(settings = settings))
}

#' Matrices in the form that C++ needs: doubles, finite, one target
#' @noRd
check_raw <- function(donors, target, T0) {
  if (!(is.matrix(donors) && is.numeric(donors) && nrow(donors) >= 1L)) {
    abort("{.arg donors} must be a numeric matrix with one row per donor.", "argument")
  }
  if (!(is.numeric(target) && length(target) == ncol(donors))) {
    abort("{.arg target} must have one value for each column of {.arg donors}.", "argument")
  }
  if (!all(is.finite(donors)) || !all(is.finite(target))) {
    abort("{.arg donors} and {.arg target} must be finite.", "argument")
  }
  if (!is.double(donors)) {
    storage.mode(donors) <- "double"
  }
  list(
    donors = donors, target = as.double(target),
    T0 = check_count(T0, 1, ncol(donors), arg = "T0")
  )
}

complete_settings <- function(raw, estimator, settings) {
  record <- classical_table()[[estimator]]
  known <- record$knows
  unknown <- setdiff(names(settings), known)
  if (length(unknown) || (length(settings) && is.null(names(settings)))) {
    abort(c(
      if (length(unknown)) {
        "Estimator {.val {estimator}} has no setting {.or {.val {unknown}}}."
      } else {
        "The settings of estimator {.val {estimator}} must have names."
      },
      i = if (length(known)) "Its settings are {.val {known}}." else "It has no settings."
    ), "argument")
  }
  record$complete(raw, settings)
}

#' Many fits in one call, if the estimator supports such a call for these settings
#' @param what (`string`)\cr `"placebos"`, `"left_out"` or `"residuals"`.
#' @noRd
batch_of <- function(estimator, settings, what) {
  if (is.null(settings$predictors) || estimator == "predictors") {
    classical_table()[[estimator]][[what]]
  }
}

#' Counterfactual of every donor from all other donors
#'
#' The target is excluded: a treated unit among the donors would bias the placebos.
#' @return A matrix, n x T, with donor i's counterfactual in row i. NOT PRIVATE.
#' @noRd
placebo_counterfactuals <- function(raw, estimator, settings) {
  donors <- raw$donors
  placebos <- batch_of(estimator, settings, "placebos")
  if (!is.null(placebos)) {
    return(placebos(raw, settings))
  }
  paths_without(raw, seq_len(nrow(donors)), function(others, i) {
    settings <- settings_without(settings, i, target = TRUE)
    fit_checked(others, donors[i, ], raw$T0, estimator, settings)
  })
}

#' A path from the other donors for each of several donors
#' @param fit (`function`)\cr a function of the other donors and of the excluded donor's position.
#' @noRd
paths_without <- function(raw, which, fit) {
  paths <- vapply(which, function(i) {
    fit(raw$donors[-i, , drop = FALSE], i)$counterfactual
  }, numeric(ncol(raw$donors)))
  matrix(paths, length(which), byrow = TRUE)
}

#' Counterfactuals of the target without each of some donors
#' @param dropped (`integer`)\cr positions of donors.
#' @return A matrix, one row per dropped donor, T columns. NOT PRIVATE.
#' @noRd
leave_out_counterfactuals <- function(raw, estimator, settings, dropped) {
  left_out <- batch_of(estimator, settings, "left_out")
  if (!is.null(left_out)) {
    return(left_out(raw, settings, dropped))
  }
  paths_without(raw, dropped, function(others, i) {
    fit_checked(others, raw$target, raw$T0, estimator, settings_without(settings, i))
  })
}
