# Matrix completion with nuclear norm minimisation (Athey, Bayati, Doudchenko, Imbens and Khosravi,
# 2021). Unit and period effects are not penalised.

#' Settings of estimator "mcnnm", with the penalty on the nuclear norm
#'
#' The penalty is on the paper's scale: squared errors are averaged over observed cells. Without
#' `lambda` the target's periods before the treatment are held out in turn (of more than 20 periods,
#' every 20th period together), for 30 penalties. These decrease from the smallest penalty that
#' leaves only effects of units and periods to a thousandth of this penalty. The penalty with the
#' smallest mean squared error is chosen. The authors hold out random cells of all units, so their
#' choice depends on the draw.
#' @param settings (`list`)\cr `lambda` (outcome units), and `predictors` and `covariates`, see
#'   `complete_covariates()`: their coefficients are not penalised.
#' @noRd
complete_mcnnm <- function(raw, settings) {
  given <- complete_covariates(raw, settings)
  if (!is.null(settings$lambda)) {
    return(c(list(
      lambda = check_number(settings$lambda, 0, open = "min", arg = "lambda"),
      path = settings$path
    ), given))
  }
  if (raw$T0 < 3L) {
    abort(c(
      "Estimator {.val mcnnm} chooses its penalty from at least three pre-treatment periods.",
      x = "There {?is/are} {raw$T0} pre-treatment period{?s}.",
      i = "Give {.code lambda} in {.code dp_control(settings = )}."
    ), "argument")
  }
  own <- covariate_blocks(raw$donors, given)
  path <- mcnnm_path_cpp(raw$donors, raw$target, raw$T0, 30L, 1e-3, own$varying, own$units)
  # The largest singular value of the residuals from effects and covariates, compared with rounding
  # errors.
  largest <- path$lambda[[1L]] * (length(raw$donors) + raw$T0) / 2
  if (largest <= 1e-7 * max(abs(raw$donors), abs(raw$target))) {
    abort(c(
      if (length(given)) {
        "Effects of units, periods and covariates explain the outcomes completely."
      } else {
        "Effects of units and periods explain the outcomes completely."
      },
      i = if (length(given)) {
        "Use estimator {.val factor} with {.code rank = 0}."
      } else {
        "Use estimator {.val did}."
      }
    ), "argument")
  }
  c(list(
    lambda = path$lambda[[which.min(path$error)]],
    path = data.frame(lambda = path$lambda, error = path$error)
  ), given)
}

#' @return As `fit_classical()`, with implied weights for the periods after the treatment.
#' @noRd
fit_mcnnm <- function(donors, target, T0, settings) {
  own <- covariate_blocks(donors, settings)
  mcnnm_fit_cpp(donors, target, T0, settings$lambda, own$varying, own$units)
}
