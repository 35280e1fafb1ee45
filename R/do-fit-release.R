# From a release to the fit of its targets, for one date or several: checks of the request, and the
# fit. All code here is post-processing and reads no donor.

#' Check the covariates of a release's targets
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
      if (q > 0L) {
        "{.arg covariates} must contain finite values of the release's covariates for each target."
      } else {
        "{.arg covariates} cannot be given: this release has no covariates."
      },
      i = if (q > 0L) {
        "Give one row per target and one column per covariate: {.val {columns$name}}."
      } else {
        "Omit {.arg covariates}."
      }
    ), "covariate")
  }
  matrix(as.double(covariates), k, q, byrow = is.null(dim(covariates)))
}

#' Check the adoption dates for a release
#' @param T0 (`numeric`)\cr one number, or one for each target.
#' @return Whole numbers, one for each target.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_panel`.
#' @noRd
check_release_dates <- function(T0, release, k) {
  first <- release$panel$T0
  last <- first + release$panel$T1 - 1
  if (!gives_moments(release$method) && !all(T0 == first)) {
    abort(c(
      "A release by method {.val {release$method}} is valid only for its own adoption date.",
      i = "A release by {.val gram} is valid for later dates, too."
    ), "argument")
  }
  if (length(T0) == 1L) T0 <- rep(T0, k)
  T0 <- check_each_split(T0, k, last + 1)
  if (any(T0 < first)) {
    abort(c(
      "{.arg T0} must be at least {first}, the number of periods before the first adoption.",
      x = "The smallest {.arg T0} is {min(T0)}.",
      i = "An earlier adoption needs a new release with a smaller {.arg T0}, which spends budget."
    ), "argument")
  }
  T0
}

#' A release with another penalty for its fits, which only method "gram" permits
#' @noRd
with_penalty <- function(release, lambda) {
  if (identical(lambda, release$settings$lambda)) {
    return(release)
  }
  if (periods_grown(release)) {
    abort(c(
      "The new periods of this release are valid for its own penalty only.",
      i = "For other penalties use the fit before the first {.code update(newdata = )}."
    ), "monitor")
  }
  if (!is.null(release$panel$weights) && !is.null(lambda)) {
    abort(c(
      "A release whose donors have weights does not accept another penalty.",
      x = "Its fits average over penalties.", i = "Omit {.arg lambda}."
    ), "argument")
  }
  if (!gives_moments(release$method)) {
    abort(c(
      "The penalty of a release by method {.val {release$method}} is fixed.",
      i = "Only releases by method {.val gram} allow another penalty."
    ), "argument")
  }
  release$settings["lambda"] <- list(
    if (!is.null(lambda)) check_number(lambda, 0, open = "min")
  )
  release
}

#' The fit of the targets of a release
#' @param panel (`dpsc_panel`)\cr a panel with `size`; its donors are not read.
#' @noRd
fit_released <- function(release, panel) {
  estimator <- release$asked$estimator
  public <- is.null(panel$treated)
  target <- if (public) panel$target
  covariates <- if (public) panel$covariates$target
  if (!is.null(panel$adopted)) {
    return(fit_cohorts(release, target, panel$adopted, estimator, panel$size, covariates))
  }
  fit_release(release, target, estimator, panel$size, covariates)
}

#' Fit several cohorts to a release
#' @param release (`dp_release`)\cr a release by method gram.
#' @param target (`matrix`, k x T, outcome units, PUBLIC, or `NULL`)\cr `NULL`: the release's
#'   protected people.
#' @param adopted (`integer(k)`)\cr number of periods before each unit's adoption; the numbers
#'   differ.
#' @param size (`numeric(k)`)\cr number of people in each unit.
#' @param covariates (`matrix`, k x q, or `NULL`)\cr the targets' covariates.
#' @return A `dp_cohorts`.
#' @noRd
fit_cohorts <- function(release, target, adopted, estimator, size, covariates = NULL) {
  dates <- sort(unique(adopted))
  pooled <- pooled_seconds(release)
  fits <- lapply(dates, function(T0) {
    at <- adopted == T0
    fit_release(
      cohort_view(release, T0, pooled), if (!is.null(target)) target[at, , drop = FALSE],
      estimator, size[at],
      covariates = if (!is.null(covariates)) covariates[at, , drop = FALSE]
    )
  })
  penalty <- vapply(fits, function(fit) fit$penalty[[1L]], 0)
  errors <- shared_errors(release, dates, lapply(fits, cohort_path), penalty, estimator)
  if (is.null(target)) {
    # The number of adoptions per date is public, but the order of the units by name is not.
    order <- order(adopted, size)
    out <- new_cohorts(release, fits, adopted[order], size[order], estimator, errors)
    out$protected <- TRUE
    return(out)
  }
  paths <- do.call(rbind, lapply(fits, `[[`, "target"))
  means <- do.call(rbind, lapply(fits, `[[`, "covariates"))
  new_cohorts(
    release, fits, adopted, size, estimator, errors,
    forecasts = held_out_residuals(release, dates, paths, cohort_sizes(fits), estimator, means)
  )
}

#' The fit of the protected people in a release
#' @noRd
fit_protected <- function(release, estimator) {
  dates <- release$statistics$cohorts$T0
  if (is.null(dates)) {
    return(fit_release(release, NULL, estimator, NULL))
  }
  people <- release$panel$treated
  fit_cohorts(release, NULL, rep(dates, people), estimator, rep(1, sum(people)))
}

#' Fit targets to a release
#'
#' Several targets are one group, and the fit is for their mean. The field `units` contains the same
#' fields for each member.
#' @param release (`dp_release`).
#' @param target (`matrix`, k x T, outcome units, PUBLIC, or `NULL`)\cr `NULL`: the release's
#'   protected group.
#' @param size (`numeric(k)`)\cr number of people in each target.
#' @param covariates (`matrix`, k x q, or `NULL`)\cr the targets' covariates, if the release
#'   contains covariates.
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
  # New periods contain only the group's mean.
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

#' The reported parts of a target's error, squared outcome units
#'
#' `privacy` is the variance of the estimate over releases, and `noise` is this variance before
#' shrinkage towards the target's level. Shrinkage turns the removed noise into a prediction error,
#' so `prediction` and `privacy` add up to the total error.
#' @noRd
reported_variance <- function(fit, unit) {
  parts <- list(
    prediction = fit$prediction + (fit$hidden %||% 0), privacy = fit$released %||% fit$privacy,
    noise = fit$privacy
  )
  lapply(parts, `*`, unit^2)
}

#' Were the released weights computed for this target?
#' @noRd
check_fitted_target <- function(release, target) {
  pre <- target[1L, seq_len(release$panel$T0)]
  if (!isTRUE(all.equal(pre, release$settings$target, tolerance = 1e-8))) {
    abort(c(
      "This release contains weights for another target.",
      i = paste(
        "Give the target of the release. Only a release by {.val gram} can be fitted to other",
        "targets."
      )
    ), "argument")
  }
}
