# Ridge augmented synthetic control (Ben-Michael, Feller and Rothstein, 2021).

#' Settings of estimator "augmented", with the ridge penalty
#'
#' Without `lambda` every period before the treatment is held out in turn, for 21 penalties from the
#' largest eigenvalue of the centred donors' moments down to 1e-8 of this eigenvalue.
#' `rule = "1se"`, the authors' rule, selects the largest penalty with a mean squared error within
#' one standard error of the smallest mean squared error. `"min"` selects the penalty with the
#' smallest error.
#'
#' @param settings (`list`)\cr `lambda` (squared outcome units), `rule`, and `predictors`:
#'   covariates that are balanced in addition to the outcomes, each scaled to the outcomes' standard
#'   deviation.
#' @noRd
complete_augmented <- function(raw, settings) {
  out <- list(rule = check_choice(
    settings$rule %||% "1se", c("1se", "min"), arg = "rule"
  ))
  if (!is.null(settings$predictors)) {
    out$predictors <- check_predictors(settings$predictors, raw$donors)
  }
  if (!is.null(settings$lambda)) {
    out$path <- settings$path
    out$lambda <- check_number(settings$lambda, 0, open = "min", arg = "lambda")
    return(out)
  }
  if (raw$T0 < 3L) {
    abort(c(
      "Estimator {.val augmented} chooses its penalty from at least three pre-treatment periods.",
      x = "There {?is/are} {raw$T0} pre-treatment period{?s}.",
      i = "Give {.code lambda} in {.code dp_control(settings = )}."
    ), "argument")
  }
  both <- balanced_columns(raw$donors, raw$target, raw$T0, out$predictors)
  path <- augmented_path_cpp(both$donors, both$target, raw$T0, 20L, 1e-8)
  if (path$lambda[[1L]] <= 1e-20 * max(raw$donors^2)) {
    abort("The donors are identical before the treatment: there is nothing to fit.", "argument")
  }
  error <- colMeans(path$error)
  spread <- apply(path$error, 2L, stats::sd) / sqrt(raw$T0)
  best <- which.min(error)
  limit <- error[[best]] + if (out$rule == "1se") spread[[best]] else 0
  out$lambda <- max(path$lambda[error <= limit])
  out$path <- data.frame(lambda = path$lambda, error = error, std.error = spread)
  out
}

fit_augmented <- function(donors, target, T0, settings) {
  both <- balanced_columns(donors, target, T0, settings$predictors)
  fit <- augmented_fit_cpp(both$donors, both$target, settings$lambda)
  fit$intercept <- 0
  fit$counterfactual <- drop(crossprod(donors, fit$weights))
  fit
}
