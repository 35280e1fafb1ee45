# Panels from a formula: of one outcome, or of several, `cbind(y1, y2) ~ treated`, each with bounds
# of its own. One person's row is all of them.

#' Several outcomes apart
#' @param formula (`any`)\cr what the user gave; its other faults are found later.
#' @param bounds (`list` or `NULL`)\cr by outcome, and by covariate.
#' @return `NULL` for one outcome; else a list by outcome of lists: `formula`, `bounds` (its own and
#'   those of the covariates).
#' @section Errors: `dpsc_error_panel`, `dpsc_error_bounds`.
#' @noRd
split_outcomes <- function(formula, bounds, private, call) {
  several <- inherits(formula, "formula") && length(formula) == 3L && is.call(formula[[2L]]) &&
    (identical(formula[[2L]][[1L]], quote(cbind)) ||
      identical(formula[[2L]][[1L]], quote(base::cbind)))
  if (!several || length(formula[[2L]]) == 2L) {
    return(NULL)
  }
  sides <- as.list(formula[[2L]])[-1L]
  names <- outcome_names(sides, call)
  limits <- outcome_bounds(bounds, names, private, call)
  out <- lapply(seq_along(sides), function(k) {
    formula[[2L]] <- sides[[k]]
    list(formula = formula, bounds = limits[[k]])
  })
  rlang::set_names(out, names)
}

#' Names of outcomes: as given, else as written
#' @noRd
outcome_names <- function(sides, call) {
  given <- names(sides) %||% character(length(sides))
  written <- vapply(sides, code_label, "", default = "")
  names <- ifelse(nzchar(given), given, written)
  if (any(!nzchar(names)) || anyDuplicated(names) || "deparse.level" %in% names) {
    abort(c(
      "Several outcomes are columns, each once: {.code cbind(sales, visits) ~ treated}.",
      i = "Name what is computed: {.code cbind(sales = log(sales), visits)}."
    ), "panel", call)
  }
  names
}

#' Bounds of each outcome, with those of what is no outcome
#' @return A list, an element an outcome, as [split_bounds()] takes them.
#' @noRd
outcome_bounds <- function(bounds, names, private, call) {
  if (is.null(bounds) && !private) {
    return(vector("list", length(names)))
  }
  missing <- setdiff(names, names(bounds))
  if (!is.list(bounds) || length(missing) || anyDuplicated(names(bounds))) {
    abort(c(
      "{.arg bounds} must be a list with limits for each outcome by name.",
      x = if (length(missing)) "There is nothing for {.code {missing}}.",
      i = "For instance {.code bounds = list(sales = c(0, 500), visits = c(0, 31))}.",
      i = "An expression takes a name: {.code cbind(sales = log(sales), visits)}."
    ), "bounds", call)
  }
  others <- bounds[setdiff(names(bounds), names)]
  lapply(names, function(name) if (length(others)) c(bounds[name], others) else bounds[[name]])
}

#' The panel of one outcome
#' @param estimator (`string` or `NULL`)\cr a classical one, whose predictors the formula names.
#' @param ... of [panel_with_gaps()].
#' @return A list: `panel`; `bounds`, those of the outcome.
#' @noRd
formula_panel <- function(formula, data, index, na, roster, bounds, call, private, estimator = NULL,
                          ...) {
  predictors <- if (!is.null(estimator)) split_predictors(formula, estimator, call)
  parts <- if (is.null(predictors)) split_covariates(formula, call) else predictors
  # Without privacy covariates need no bounds: those of a private call may stay where they are.
  names <- if (is.null(predictors)) parts$names else bounded_predictors(parts, bounds)
  limits <- split_bounds(bounds, names, private, call)
  panel <- panel_with_gaps(
    parts$formula, data, index, check_gaps(na, roster, call), roster, limits$outcome, call,
    private = private, covariates = if (is.null(predictors)) limits$covariates, ...
  )
  if (isTRUE(estimator %in% regressor_estimators)) {
    found <- formula_regressors(predictors, data, index, panel, na[[1L]] == "interpolate", call)
    panel[c("predictors", "regressors")] <- found[c("predictors", "covariates")]
  } else {
    panel$predictors <- formula_predictors(predictors, data, index, panel, call)
  }
  panel$assumes <- assumptions_of(data)
  list(panel = panel, bounds = limits$outcome)
}
