# The penalty of a ridge fit, and the estimate as a function of it, from the release alone.

#' The penalty path of a fit by method gram
#'
#' Computes the average effect for every penalty of a grid, and the weights of the penalties in the
#' fit, at no cost. If the release contains a separate round for the target (see [dp_release()]),
#' this round corrects the fit but not the points of the path.
#'
#' @param object (`dp_synth`, or for `autoplot()` a result)\cr a fit by method `"gram"` with
#'   `estimator = "ridge"` and without a fixed `lambda`. Growing fits and fits for protected people
#'   are refused.
#' @param x (`dp_penalty_path`)\cr a result.
#' @param ... unused.
#' @return A data frame of class `dp_penalty_path` with one row per target and penalty, and columns:
#'   * `target`, `penalty`: the target and the penalty.
#'   * `effect`: the average effect, in outcome units.
#'   * `std.error`: the standard error for privacy noise and prediction together, calibrated as in
#'     the fit; `NA` if the fit has no interval.
#'   * `weight`: the weight of the penalty in the fit, from the prior and the likelihood of the
#'     target's pre-period. In a fit without privacy the weight is 1 at the minimum of generalised
#'     cross-validation, and 0 otherwise.
#'   * `cv`: the root mean squared error of one-step forecasts in the second half of the target's
#'     pre-period, with a rolling origin; `NA` if there are fewer features than pre-periods.
#' @section Errors: `dpsc_error_release`.
#' @examples
#' panel <- sim_panel(n = 1000, T0 = 20, T1 = 3, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 20, epsilon = 4, bounds = c(-1, 1)
#' )
#' penalty_path(fit)
#' @export
penalty_path <- function(object, ...) {
  UseMethod("penalty_path")
}

#' @rdname penalty_path
#' @export
penalty_path.dp_synth <- function(object, ...) door("penalty_path", {
  check_no_dots(...)
  check_not_protected(object, "The penalty path")
  check_not_grown(object$release, "The penalty path")
  release <- object$release
  if (!gives_moments(release$method) || object$estimator != "ridge") {
    abort(c(
      "A penalty path needs {.code method = \"gram\"} and {.code estimator = \"ridge\"}.",
      i = "Other methods fix the penalty before the release, and estimator {.val did} has none."
    ), "release")
  }
  if (!is.null(release$settings$lambda)) {
    abort(c(
      "This fit has one fixed penalty, {.arg lambda}, and no path.",
      i = "Fit the release with {.code lambda = NULL} to average over penalties, at no cost."
    ), "release")
  }
  rows <- lapply(seq_len(nrow(object$target)), function(i) path_of(object, i))
  structure(do.call(rbind, rows),
    class = c("dp_penalty_path", "data.frame"), private = is_private_fit(object)
  )
})

path_of <- function(fit, i) {
  release <- fit$release
  scale <- release_scale(release)
  s <- release$statistics
  T0 <- release$panel$T0
  y <- drop(to_scale(fit$target[i, , drop = FALSE], scale))
  own <- target_features(s, y, T0)
  A <- seq_len(s$pre)
  B <- seq_along(s$mean)[-A]
  private <- release$privacy$private
  found <- if (!private) validated_penalties(s, counted_donors(release))
  grid <- predict_columns_cpp(s, A, B, own$u, as.double(found$penalty), private)
  weight <- if (private) {
    evidence <- vapply(grid, `[[`, 0, "evidence")
    exp(evidence - max(evidence)) / sum(exp(evidence - max(evidence)))
  } else {
    as.numeric(seq_along(grid) == found$best)
  }
  observed <- mean(y[-seq_len(T0)])
  penalty <- vapply(grid, `[[`, 0, "penalty")
  average <- vapply(grid, function(g) mean(g$fitted[B] / s$weight) + own$level, 0)
  error <- vapply(grid, function(g) {
    refit_error(fit, i, g$prediction / s$weight^2, g$privacy / s$weight^2)
  }, 0)
  data.frame(
    target = rownames(fit$target)[[i]], penalty = 2 * counted_donors(release) * penalty,
    effect = (observed - average) * scale$unit, std.error = error * scale$unit,
    weight = weight, cv = rolling_error(release, y, penalty) * scale$unit
  )
}

#' The target's pre-period in the release's features
#' @return A list: `level` (the reference of demeaned features) and `u` (the target's features minus
#'   the donors' mean).
#' @noRd
target_features <- function(s, y, T0) {
  pre <- seq_len(T0)
  A <- seq_len(s$pre)
  list(
    level = if (s$demean) mean(y[pre]) else 0,
    u = drop(crossprod(s$loadings[pre, A, drop = FALSE], y[pre])) - s$mean[A]
  )
}

#' Errors of one-step forecasts over the target's pre-period, with a rolling origin
#' @noRd
rolling_error <- function(release, y, penalties) {
  T0 <- release$panel$T0
  if (release$statistics$pre < T0) {
    return(rep(NA_real_, length(penalties)))
  }
  s <- period_statistics(release, "The forecast error of a penalty path")
  private <- release$privacy$private
  origins <- seq.int(max(2L, T0 %/% 2L), T0 - 1L)
  errors <- vapply(origins, function(t) {
    before <- seq_len(t)
    fits <- predict_columns_cpp(s, before, t + 1L, y[before] - s$mean[before], penalties, private)
    y[[t + 1L]] - vapply(fits, function(fit) fit$fitted[[t + 1L]], 0)
  }, penalties)
  sqrt(rowMeans(matrix(errors, length(penalties))^2))
}

#' @rdname penalty_path
#' @export
print.dp_penalty_path <- function(x, ...) {
  cat(
    if (!isTRUE(attr(x, "private"))) "NOT PRIVATE: ",
    "Penalty path of method \"gram\" (weight: the penalty's weight in the fit)\n",
    sep = ""
  )
  print(as.data.frame(unclass(x)), digits = 3L, row.names = FALSE)
  invisible(x)
}
