# Targets fitted to a release: checks of the request, and the fit itself. All of it is
# post-processing.

#' Check the covariates of targets that a release is asked about
#' @return A matrix, k x q, or `NULL`.
#' @noRd
check_target_covariates <- function(release, covariates, k) {
  columns <- release$panel$covariates
  if (is.null(columns) && is.null(covariates)) {
    return(NULL)
  }
  q <- NROW(columns)
  if (!is.numeric(covariates) || length(covariates) != k * q || !all(is.finite(covariates))) {
    abort(c(
      "{.arg covariates} must hold the covariates of the release, one row per target.",
      i = if (q > 0L) "They are {.val {columns$name}}." else "This release has none."
    ), "covariate")
  }
  matrix(as.double(covariates), k, q, byrow = is.null(dim(covariates)))
}

#' A release whose fits use another penalty: free for method "gram", fixed for the others
#' @noRd
with_penalty <- function(release, lambda) {
  if (identical(lambda, release$settings$lambda)) {
    return(release)
  }
  if (periods_grown(release)) {
    abort(c(
      "The new periods of this release were measured for its own penalty.",
      i = "For other penalties use the fit from before the first {.code update(newdata = )}."
    ), "monitor")
  }
  if (!gives_moments(release$method)) {
    abort(c(
      "The penalty of a release by method {.val {release$method}} is fixed.",
      i = "Only releases by method {.val gram} can be fitted with another one."
    ), "argument")
  }
  release$settings["lambda"] <- list(
    if (!is.null(lambda)) check_number(lambda, 0, open = "min")
  )
  release
}

#' Fit targets to a release
#'
#' Several targets are one group: the fit is for their mean. Those of its members are in
#' `units`, a fit's fields of their own, for whoever asks.
#' @param release (`dp_release`).
#' @param target (`matrix`, k x T, outcome units, PUBLIC, or `NULL`)\cr `NULL`: the protected group
#'   that the release holds.
#' @param size (`numeric(k)`)\cr people in each target.
#' @param covariates (`matrix`, k x q, or `NULL`)\cr of the targets, where the release has any.
#' @return A `dp_synth`.
#' @noRd
fit_release <- function(release, target, estimator, size, covariates = NULL) {
  if (is.null(target)) {
    return(structure(c(
      list(release = release),
      fit_treated(release, estimator, estimate_gram, release_scale(release)),
      list(estimator = estimator, protected = TRUE)
    ), class = "dp_synth"))
  }
  group <- mean_target(target, size)
  if (!gives_moments(release$method)) check_fitted_target(release, group)
  mean_covariates <- if (!is.null(covariates)) {
    matrix(colSums(covariates * (size / sum(size))), 1L)
  }
  check_growing_target(release, group, size, estimator, mean_covariates)
  overall <- fit_targets(release, group, sum(size), estimator, mean_covariates)
  # New periods are of the group's mean.
  several <- nrow(target) > 1L && gives_moments(release$method) && !periods_grown(release)
  structure(c(
    list(release = release), overall, list(
      estimator = estimator,
      units = if (several) fit_targets(release, target, size, estimator, covariates)
    )
  ), class = "dp_synth")
}

#' Estimates of a release for each target
#' @noRd
fit_targets <- function(release, target, size, estimator, covariates = NULL) {
  scale <- release_scale(release)
  scaled <- with_covariates(release, unname(to_scale(target, scale)), covariates)
  estimate <- if (gives_moments(release$method)) estimate_growing else estimate_vertical
  fits <- estimate(release, scaled, size, estimator)
  counterfactual <- from_scale(do.call(rbind, lapply(fits, `[[`, "path")), scale)
  rownames(counterfactual) <- rownames(target)
  out <- list(
    target = target, size = size, counterfactual = counterfactual,
    variance = lapply(fits, reported_variance, unit = scale$unit),
    spread = lapply(fits, `[[`, "spread"), penalty = vapply(fits, `[[`, 0, "penalty")
  )
  out$covariates <- covariates
  out
}

#' The parts of a target's error as they are reported, squared outcome units
#'
#' `privacy` is of the estimate over releases, `noise` before it was drawn towards the target's own
#' level. The noise removed by this shrinkage returns as its error: `prediction` and `privacy` add
#' up to the whole.
#' @noRd
reported_variance <- function(fit, unit) {
  parts <- list(
    prediction = fit$prediction + (fit$hidden %||% 0), privacy = fit$released %||% fit$privacy,
    noise = fit$privacy
  )
  lapply(parts, `*`, unit^2)
}

#' Is this the target whose weights were released?
#' @noRd
check_fitted_target <- function(release, target) {
  pre <- target[1L, seq_len(release$panel$T0)]
  if (!isTRUE(all.equal(pre, release$settings$target, tolerance = 1e-8))) {
    abort(c(
      "This release holds weights that were fitted to another target.",
      i = "A release by {.val gram} serves any target, {.val {release$method}} only its own target."
    ), "argument")
  }
}
