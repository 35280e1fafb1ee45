# Estimators on raw data, for fits that are not private (epsilon = Inf). Every one gives a path for
# the target over all periods from the donors' rows and the target's periods before treatment.

#' Names of the estimators on raw data
#' @noRd
classical_estimators <- function() {
  c(
    "simplex", "ridge", "demeaned", "hsvt", "did", "penalised", "predictors", "augmented", "sdid",
    "factor", "mcnnm"
  )
}

#' Fit one estimator on raw data
#'
#' `y` and `x_j` are the target's and donor j's `T0` outcomes before treatment.
#'
#' * `"simplex"`: min ||y - sum_j w_j x_j||^2 over w >= 0, sum w = 1, exactly.
#' * `"demeaned"`: the same on deviations from each unit's own mean, which adds an intercept.
#' * `"penalised"`: the simplex objective + lambda sum_j w_j ||y - x_j||^2 (Abadie and L'Hour,
#'   2021).
#' * `"ridge"`: ||y - sum_j w_j x_j||^2 + lambda ||w||^2, signs free. The private method "output"
#'   halves lambda, as its paper does: its lambda is twice this one.
#' * `"hsvt"`: donors' pre-period block cut to its `rank` largest singular values, minimum-norm
#'   least squares on that, prediction with the donors as they are (Amjad, Shah and Shen, 2018).
#' * `"did"`: equal weights and an intercept.
#' * `"predictors"`: simplex weights that match predictors, each divided by its standard deviation
#'   over target and donors and weighted by importances V. V is given, or chosen by the fit before
#'   treatment that it leads to (Abadie, Diamond and Hainmueller, 2010).
#' * `"augmented"`, `"sdid"`, `"factor"`, `"mcnnm"`: see `complete_augmented()` and its kin.
#'
#' @param donors (`matrix`, n x T, outcome units)\cr one row a donor. PRIVATE.
#' @param target (`numeric(T)` or `matrix`, 1 x T)\cr the treated unit.
#' @param T0 (`count`)\cr number of periods before treatment.
#' @param estimator (`string`)\cr one of `classical_estimators()`.
#' @param settings (`list`)\cr `lambda` (`"ridge"`: default `T0`; `"penalised"`: required); `rank`
#'   (`"hsvt"`: default by the Gavish-Donoho threshold); for `"predictors"`: `predictors`, a list of
#'   `donors` (n x K, rows matched with the donors by name; by position only where neither has
#'   names) and `target` (K), `v` (K importances, or `NULL` to search), `judged` (periods
#'   whose fit V is judged by: default all before treatment), `screened`, `starts` and `evaluations`
#'   (effort of the search). Completed settings, which hold `importance`, may be given again.
#' @return A list: `weights` (n, named), `intercept`, `counterfactual` (T), `objective` (what was
#'   minimised), `kkt` (largest violation of the optimality conditions, `NA` where there is nothing
#'   to solve), `settings` (completed). The simplex family adds `ties`: how many further donors
#'   could take weight at no cost. `"predictors"` adds `loss`, the mean squared error over the
#'   judged periods, and puts the V that was used into `settings$importance`.
#'   NOT PRIVATE, all of it.
#' @section Errors: `dpsc_error_argument`.
#' @noRd
fit_classical <- function(donors, target, T0, estimator = "simplex", settings = list(),
                          call = NULL) {
  estimator <- check_choice(estimator, classical_estimators(), call = call)
  raw <- check_raw(donors, target, T0, call)
  settings <- complete_settings(raw, estimator, settings, call)
  fit_checked(raw$donors, raw$target, raw$T0, estimator, settings)
}

fit_checked <- function(donors, target, T0, estimator, settings) {
  fit <- switch(estimator,
    ridge = fit_ridge(donors, target, T0, settings$lambda),
    hsvt = fit_hsvt(donors, target, T0, settings$rank),
    did = fit_did(donors, target, T0),
    predictors = fit_predictors(donors, target, T0, settings),
    augmented = fit_augmented(donors, target, T0, settings),
    sdid = fit_sdid(donors, target, T0, settings),
    factor = fit_factor(donors, target, T0, settings),
    mcnnm = fit_mcnnm(donors, target, T0, settings),
    simplex_fit_cpp(donors, target, T0, estimator == "demeaned", simplex_penalty(settings))
  )
  names(fit$weights) <- rownames(donors)
  if (!is.null(fit$importance)) {
    settings$importance <- fit$importance
  }
  keep <- c(
    "weights", "intercept", "counterfactual", "objective", "kkt", "ties", "loss", "period_weights"
  )
  c(fit[intersect(keep, names(fit))], list(settings = settings))
}

simplex_family <- function() {
  c("simplex", "demeaned", "penalised")
}

simplex_penalty <- function(settings) {
  settings$lambda %||% 0
}

#' Matrices as the C++ side wants them: doubles, finite, one target
#' @noRd
check_raw <- function(donors, target, T0, call = NULL) {
  if (!(is.matrix(donors) && is.numeric(donors) && nrow(donors) >= 1L)) {
    abort("{.arg donors} must be a numeric matrix with one row a donor.", "argument", call)
  }
  if (!(is.numeric(target) && length(target) == ncol(donors))) {
    abort("{.arg target} must hold one value for each column of {.arg donors}.", "argument", call)
  }
  if (!all(is.finite(donors)) || !all(is.finite(target))) {
    abort("{.arg donors} and {.arg target} must be finite.", "argument", call)
  }
  if (!is.double(donors)) {
    storage.mode(donors) <- "double"
  }
  list(
    donors = donors, target = as.double(target),
    T0 = check_count(T0, 1, ncol(donors), arg = "T0", call = call)
  )
}

complete_settings <- function(raw, estimator, settings, call = NULL) {
  known <- list(
    ridge = "lambda", penalised = "lambda", hsvt = "rank",
    predictors = c(
      "predictors", "v", "judged", "screened", "starts", "evaluations", "importance"
    ),
    augmented = c("lambda", "rule", "predictors", "path"),
    sdid = c("zeta", "zeta_periods", "treated"), factor = c("rank", "most", "path"),
    mcnnm = c("lambda", "path")
  )[[estimator]]
  unknown <- setdiff(names(settings), known)
  if (length(unknown) || (length(settings) && is.null(names(settings)))) {
    abort(c(
      "Estimator {.val {estimator}} does not know every setting given: {.val {unknown}}.",
      i = if (length(known)) "It knows {.val {known}}." else "It knows none."
    ), "argument", call)
  }
  switch(estimator,
    ridge = list(lambda = check_number(
      settings$lambda %||% raw$T0, 0,
      open = "min", arg = "lambda", call = call
    )),
    penalised = list(lambda = check_lambda(settings$lambda, call)),
    hsvt = list(rank = complete_rank(raw, settings$rank, call)),
    predictors = complete_predictors(raw, settings, call),
    augmented = complete_augmented(raw, settings, call),
    sdid = complete_sdid(raw, settings, call),
    factor = complete_factor(raw, settings, call),
    mcnnm = complete_mcnnm(raw, settings, call),
    list()
  )
}

check_lambda <- function(lambda, call) {
  if (is.null(lambda)) {
    abort(c(
      "Estimator {.val penalised} needs a penalty {.arg lambda}.",
      i = "Between 0 (the simplex fit) and large values (the nearest donor); 0.1 is a start."
    ), "argument", call)
  }
  check_number(lambda, 0, arg = "lambda", call = call)
}

fit_ridge <- function(donors, target, T0, lambda) {
  pre <- seq_len(T0)
  x <- donors[, pre, drop = FALSE]
  moment <- crossprod(x)
  diag(moment) <- diag(moment) + lambda
  root <- chol(moment)
  weights <- drop(x %*% backsolve(root, backsolve(root, target[pre], transpose = TRUE)))
  path <- drop(crossprod(donors, weights))
  residual <- target[pre] - path[pre]
  list(
    weights = weights, intercept = 0, counterfactual = path,
    objective = sum(residual^2) + lambda * sum(weights^2),
    kkt = 2 * max(abs(lambda * weights - drop(x %*% residual)))
  )
}

fit_hsvt <- function(donors, target, T0, rank) {
  pre <- seq_len(T0)
  parts <- svd(donors[, pre, drop = FALSE])
  rank <- min(rank, max(sum(parts$d > 1e-10 * parts$d[[1L]]), 1L))
  kept <- seq_len(rank)
  parts$u <- parts$u[, kept, drop = FALSE]
  parts$v <- parts$v[, kept, drop = FALSE]
  scores <- drop(crossprod(parts$v, target[pre]))
  weights <- drop(parts$u %*% (scores / parts$d[kept]))
  path <- drop(crossprod(donors, weights))
  list(
    weights = weights, intercept = 0, counterfactual = path,
    objective = sum((target[pre] - drop(parts$v %*% scores))^2), kkt = NA_real_
  )
}

# Singular values above the threshold of Gavish and Donoho (2014), noise level unknown.
complete_rank <- function(raw, rank, call) {
  pre <- raw$donors[, seq_len(raw$T0), drop = FALSE]
  values <- svd(pre, nu = 0L, nv = 0L)$d
  largest <- sum(values > 1e-10 * values[[1L]])
  if (largest == 0L) {
    abort("The donors are all zero before treatment: there is nothing to fit.", "argument", call)
  }
  if (is.null(rank)) {
    shape <- min(dim(pre)) / max(dim(pre))
    factor <- 0.56 * shape^3 - 0.95 * shape^2 + 1.82 * shape + 1.43
    rank <- min(max(sum(values > factor * stats::median(values)), 1L), largest)
  }
  check_count(rank, 1, largest, arg = "rank", call = call)
}

fit_did <- function(donors, target, T0) {
  pre <- seq_len(T0)
  average <- colMeans(donors)
  intercept <- mean(target[pre]) - mean(average[pre])
  list(
    weights = rep(1 / nrow(donors), nrow(donors)), intercept = intercept,
    counterfactual = average + intercept,
    objective = sum((target[pre] - average[pre] - intercept)^2), kkt = NA_real_
  )
}

complete_predictors <- function(raw, settings, call) {
  if (is.null(settings$predictors)) {
    abort(c(
      "Estimator {.val predictors} needs predictors.",
      i = paste(
        "Name columns in the formula, {.code outcome ~ treated | x1 + x2}, or give a setting",
        "{.arg predictors}."
      )
    ), "argument", call)
  }
  given <- check_predictors(settings$predictors, raw$donors, call)
  v <- settings$v
  if (!is.null(names(v)) && setequal(names(v), colnames(given$donors))) {
    v <- unname(v[colnames(given$donors)])
  }
  if (!is.null(v) && !(is.numeric(v) && length(v) == ncol(given$donors) && all(is.finite(v)) &&
    all(v >= 0) && sum(v) > 0)) {
    abort(c(
      "{.arg v} must hold one importance for each predictor.",
      i = "Not negative, not all zero; {.code NULL} searches for them."
    ), "argument", call)
  }
  judged <- settings$judged %||% seq_len(raw$T0)
  if (!(is.numeric(judged) && length(judged) >= 1L && all(judged %in% seq_len(raw$T0)))) {
    abort("{.arg judged} must be positions of periods before treatment.", "argument", call)
  }
  effort <- list(screened = 400, starts = 6, evaluations = 150)
  for (name in names(effort)) {
    if (!is.null(settings[[name]])) {
      effort[[name]] <- check_count(settings[[name]], 1, 1e6, arg = name, call = call)
    }
  }
  c(list(predictors = given, v = v, judged = as.integer(judged)), effort)
}

#' Predictors on comparable scales: each divided by its standard deviation over all units
#' @noRd
scale_predictors <- function(donors, target = NULL) {
  spread <- apply(rbind(donors, target), 2L, stats::sd)
  # A predictor that does not vary cannot tell donors apart; any scale does.
  spread[!is.finite(spread) | spread == 0] <- 1
  list(
    donors = sweep(donors, 2L, spread, "/"), target = if (!is.null(target)) target / spread
  )
}

fit_predictors <- function(donors, target, T0, settings) {
  scaled <- scale_predictors(settings$predictors$donors, settings$predictors$target)
  judged <- settings$judged[settings$judged <= T0]
  if (length(judged) == 0L) {
    judged <- seq_len(T0)
  }
  fit <- nested_fit_cpp(
    scaled$donors, scaled$target, donors[, judged, drop = FALSE], target[judged],
    as.double(settings$v), settings$screened, settings$starts, settings$evaluations
  )
  names(fit$importance) <- colnames(settings$predictors$donors)
  fit$intercept <- 0
  fit$counterfactual <- drop(crossprod(donors, fit$weights))
  fit
}

#' Counterfactual of every donor from all other donors
#'
#' The target takes no part: a treated unit among the donors would bend the placebos.
#' @return A matrix, n x T, row i donor i's counterfactual. NOT PRIVATE.
#' @noRd
placebo_counterfactuals <- function(raw, estimator, settings) {
  donors <- raw$donors
  if (estimator %in% simplex_family()) {
    lambda <- simplex_penalty(settings)
    return(simplex_placebos_cpp(donors, raw$T0, estimator == "demeaned", lambda)$paths)
  }
  if (estimator == "predictors") {
    scaled <- scale_predictors(settings$predictors$donors)
    return(nested_placebos_cpp(
      scaled$donors, donors, settings$judged, as.double(settings$v), settings$screened,
      settings$starts, settings$evaluations
    )$paths)
  }
  paths <- vapply(seq_len(nrow(donors)), function(i) {
    others <- donors[-i, , drop = FALSE]
    settings <- settings_without(settings, i, target = TRUE)
    fit_checked(others, donors[i, ], raw$T0, estimator, settings)$counterfactual
  }, numeric(ncol(donors)))
  matrix(paths, nrow(donors), byrow = TRUE)
}

#' Settings for a fit without the donors `i`, whose mean may be the target instead
#' @noRd
settings_without <- function(settings, i, target = FALSE) {
  given <- settings$predictors
  if (is.null(given)) {
    return(settings)
  }
  if (target) settings$predictors$target <- colMeans(given$donors[i, , drop = FALSE])
  settings$predictors$donors <- given$donors[-i, , drop = FALSE]
  settings
}

#' Counterfactuals of the target without each of some donors
#' @param dropped (`integer`)\cr positions of donors.
#' @return A matrix, one row a dropped donor, T columns. NOT PRIVATE.
#' @noRd
leave_out_counterfactuals <- function(raw, estimator, settings, dropped) {
  donors <- raw$donors
  if (estimator %in% simplex_family()) {
    return(simplex_leave_out_cpp(
      donors, raw$target, raw$T0, estimator == "demeaned", simplex_penalty(settings), dropped
    )$paths)
  }
  paths <- vapply(dropped, function(i) {
    others <- donors[-i, , drop = FALSE]
    settings <- settings_without(settings, i)
    fit_checked(others, raw$target, raw$T0, estimator, settings)$counterfactual
  }, numeric(ncol(donors)))
  matrix(paths, length(dropped), byrow = TRUE)
}
