# Covariates as regressors in the estimators that model outcomes ("sdid", "factor", "mcnnm"). A
# covariate that varies over time has one coefficient; a constant covariate has one coefficient per
# period.

#' Check the covariates of an estimator that models outcomes
#' @param settings (`list`)\cr `covariates`, a list of `donors` (n x T x p) and `target` (T x p)
#'   with values that change over time; `predictors`, a list of `donors` (n x q) and `target` (q)
#'   with one value per unit.
#' @return A list of the checked covariates. NOT PRIVATE.
#' @section Errors: `dpsc_error_argument` for a wrong form; `dpsc_error_covariate` for covariates
#'   collinear with effects of units and periods, or with each other.
#' @noRd
complete_covariates <- function(raw, settings) {
  out <- list()
  if (!is.null(settings$predictors)) {
    out$predictors <- check_predictors(settings$predictors, raw$donors)
  }
  if (!is.null(settings$covariates)) {
    out$covariates <- check_varying(settings$covariates, raw$donors)
  }
  if (length(out)) check_told_apart(raw, out)
  out
}

#' @noRd
check_varying <- function(given, donors) {
  shape <- if (is.list(given)) dim(given$donors)
  if (length(shape) == 2L && is.numeric(given$target)) {
    given$donors <- array(given$donors, c(shape, 1L))
    given$target <- matrix(given$target, ncol = 1L)
    shape <- c(shape, 1L)
  }
  ok <- length(shape) == 3L && is.numeric(given$donors) && shape[[3L]] >= 1L &&
    identical(shape[1:2], dim(donors)) && is.matrix(given$target) && is.numeric(given$target) &&
    identical(dim(given$target), shape[2:3])
  if (!ok) {
    abort(c(
      "The setting {.arg covariates} has the wrong form.",
      i = paste(
        "It must be a list of {.code donors} (array: donors x periods x covariates) and",
        "{.code target} (matrix: periods x covariates)."
      )
    ), "argument")
  }
  if (!all(is.finite(given$donors)) || !all(is.finite(given$target))) {
    abort(c(
      "Covariates must be finite for every unit in every period, also after the treatment.",
      i = "Leave out covariates with missing values, or fill the values first."
    ), "covariate")
  }
  storage.mode(given$donors) <- "double"
  storage.mode(given$target) <- "double"
  given[c("donors", "target")]
}

#' Do the donors identify every covariate, given the others and effects of units and periods?
#' @noRd
check_told_apart <- function(raw, given) {
  n <- nrow(raw$donors)
  own <- covariate_blocks(raw$donors, given)
  kept <- lapply(own, function(block) block[seq_len(n), , drop = FALSE])
  at <- covariates_redundant_cpp(kept$varying, kept$units, ncol(raw$donors))
  if (at == 0L) {
    return(invisible())
  }
  q <- ncol(kept$units)
  constant <- at > q && {
    x <- given$covariates$donors[, , at - q]
    all(abs(x - x[, 1L]) <= 1e-8 * max(abs(x)))
  }
  # The fit is not private, so the error may name the covariate.
  name <- covariate_names(given)[[at]]
  abort(c(
    "The covariates are collinear.",
    x = paste(
      "Among the donors {.code {name}} is determined by effects of units, effects of periods and",
      "the covariates before it."
    ),
    i = if (constant) {
      "This covariate is constant over time: give it in {.code predictors}, one value per unit."
    } else {
      "Leave out this covariate."
    }
  ), "covariate")
}

#' Names of covariates, with time-invariant covariates first
#' @noRd
covariate_names <- function(settings) {
  named <- function(names, count, word) names %||% paste(word, seq_len(count))
  units <- settings$predictors$donors
  varying <- settings$covariates$donors
  c(
    if (!is.null(units)) named(colnames(units), ncol(units), "predictor"),
    if (!is.null(varying)) varying_names(varying)
  )
}

varying_names <- function(x) dimnames(x)[[3L]] %||% paste("covariate", seq_len(dim(x)[[3L]]))

#' Covariates in the core's form, with donors as rows and the target as last row
#' @return A list: `varying`, (n + 1) x T p, with a block of T columns per covariate; `units`, (n +
#'   1) x q.
#' @noRd
covariate_blocks <- function(donors, settings) {
  n <- nrow(donors)
  x <- settings$covariates
  z <- settings$predictors
  list(
    varying = if (is.null(x)) {
      matrix(0, n + 1L, 0L)
    } else {
      rbind(matrix(x$donors, n), as.vector(x$target))
    },
    units = if (is.null(z)) matrix(0, n + 1L, 0L) else unname(rbind(z$donors, z$target))
  )
}

#' Settings for some of the periods
#' @param periods (`integer`)\cr positions.
#' @noRd
settings_of_periods <- function(settings, periods) {
  x <- settings$covariates
  if (!is.null(x)) {
    settings$covariates <- list(
      donors = x$donors[, periods, , drop = FALSE], target = x$target[periods, , drop = FALSE]
    )
  }
  settings
}

#' Settings for a fit without the donors `i`, possibly with their mean as target
#' @noRd
settings_without <- function(settings, i, target = FALSE) {
  z <- settings$predictors
  if (!is.null(z)) {
    if (target) settings$predictors$target <- colMeans(z$donors[i, , drop = FALSE])
    settings$predictors$donors <- z$donors[-i, , drop = FALSE]
  }
  x <- settings$covariates
  if (!is.null(x)) {
    if (target) settings$covariates$target <- colMeans(x$donors[i, , , drop = FALSE])
    settings$covariates$donors <- x$donors[-i, , , drop = FALSE]
  }
  settings
}

#' Remove covariates from outcomes before "sdid"
#'
#' The slopes come from least squares with effects of units and periods on all untreated cells
#' (Kranz, 2022). The weight of the target's row is the number of `treated` units in its average.
#' @return A list: `donors`, `target` (minus `path`), `path` (T, the covariates' contribution to the
#'   target), `slopes`.
#' @noRd
take_covariates_out <- function(donors, target, T0, settings) {
  if (is.null(settings$covariates) && is.null(settings$predictors)) {
    return(list(donors = donors, target = target, path = 0))
  }
  own <- covariate_blocks(donors, settings)
  out <- covariates_out_cpp(donors, target, T0, own$varying, own$units, settings$treated)
  out$target <- target - out$path
  out
}
