# Estimates for cohorts with different adoption dates. All cohorts use the same release, and all
# code here is post-processing.

#' A release in the form for a cohort that adopts after `T0` periods
#'
#' The result is an ordinary release by method gram, in which the single periods between the first
#' adoption and this cohort's adoption belong to the past. Its intervals are the intervals of the
#' release for this date.
#' @param release (`dp_release`)\cr by method gram.
#' @param T0 (`count`)\cr number of periods before the treatment, at least as many as in the
#'   release.
#' @param pooled (`data.frame` or `NULL`)\cr from `pooled_seconds()`.
#' @return A `dp_release`. RELEASED.
#' @noRd
cohort_view <- function(release, T0, pooled = pooled_seconds(release)) {
  panel <- release$panel
  s <- release$statistics
  cohorts <- s$cohorts
  # A release for one date is calibrated for that date only.
  same <- is.null(cohorts) && T0 == panel$T0
  g <- match(T0, cohorts$T0)
  release$panel$T0 <- as.integer(T0)
  release$panel$T1 <- as.integer(panel$T0 + panel$T1 - T0)
  if (same) {
    return(release)
  }
  view <- cohort_view_cpp(s, T0)
  view$rounds <- s$rounds
  view$share <- s$share
  rows <- s$leave_one_out$rows %||% cohorts$leave_one_out[[1L]]$rows
  if (is.na(g) && !is.null(rows)) {
    q <- NROW(panel$covariates)
    view$leave_one_out <- list(
      n = panel$n, T0 = T0 + q, penalty = raw_penalty(view, panel$n),
      rows = rows[, cohort_order(panel$T0, q, T0, panel$T0 + panel$T1), drop = FALSE]
    )
  } else if (is.na(g)) {
    view$reason <- "the release has no calibration for this adoption date"
  } else if (release$privacy$private && !is.null(cohorts$intervals)) {
    view$intervals <- cohorts$intervals
    view$intervals$second <- cohorts$intervals$second[[g]]
    view$intervals$pooled <- as.list(pooled[g, ])
  } else if (!release$privacy$private) {
    view$leave_one_out <- cohorts$leave_one_out[[g]]
  }
  if (!is.na(g) && !is.null(cohorts$treated)) {
    view$treated <- cohorts$treated[[g]]
    release$panel$treated <- panel$treated[[g]]
  }
  release$statistics <- view
  release
}

#' Second moments of placebo errors by cohort, each shrunk towards the pooled moment
#'
#' The moments of all cohorts have noise of the same variance, which grows with the number of
#' cohorts, while the ratio of placebo errors to the model's errors is similar for all cohorts.
#' Therefore the excess over the model is pooled (empirical Bayes), as far as noise explains the
#' variation between cohorts. The variance between cohorts is taken one standard deviation above its
#' estimate.
#' @return A data frame in scaled units with columns `second` and `second_sd` and one row per
#'   cohort; `NULL` without calibration. RELEASED.
#' @noRd
pooled_seconds <- function(release) {
  cohorts <- release$statistics$cohorts
  intervals <- cohorts$intervals
  if (is.null(intervals)) {
    return(NULL)
  }
  modelled <- vapply(cohorts$T0, modelled_second, 0, release = release)
  pool_seconds(intervals$second, intervals$second_sd, modelled)
}

#' @param noise (`number`)\cr standard deviation of the noise of each moment.
#' @param modelled (`numeric`)\cr the model's value for each moment.
#' @noRd
pool_seconds <- function(second, noise, modelled) {
  size <- length(second)
  if (size < 2L || !all(modelled > 0)) {
    return(data.frame(second = second, second_sd = noise))
  }
  share <- modelled / sum(modelled)
  common <- max(0, sum(second)) * share
  apart <- second - common
  between <- max(0, sum(apart^2) / (size - 1) - noise^2) + noise^2 * sqrt(2 / size)
  own <- between / (between + noise^2)
  sd <- sqrt(own * noise^2 + (1 - own)^2 * size * (noise * share)^2)
  data.frame(second = common + own * apart, second_sd = pmin(sd, noise))
}

#' Squared error of an average by the released moments, for a cohort at the donors' mean
#' @noRd
modelled_second <- function(T0, release) {
  s <- cohort_view_cpp(release$statistics, T0)
  options <- gram_options(
    TRUE, release$panel$n, release_scale(release),
    release$statistics$cohorts$intervals$estimator, release$statistics$cohorts$intervals$lambda
  )
  A <- seq_len(s$pre)
  known <- T0 + NROW(release$panel$covariates)
  basis <- s$loadings[seq_len(known), A, drop = FALSE]
  path <- drop(basis %*% solve(crossprod(basis), s$mean[A]))
  path <- c(path, numeric(nrow(s$loadings) - known))
  mean(gram_estimate_cpp(s, options, matrix(path, 1L), 1)[[1L]]$prediction)
}

#' A cohort's path and covariates in scaled units, in the cohort's order of columns
#' @param fit (`dp_synth`)\cr the fit of the cohort; for protected people it contains the released
#'   path.
#' @noRd
cohort_path <- function(fit) {
  release <- fit$release
  if (is_released_group(fit)) {
    return(released_path(release)$path)
  }
  scaled <- unname(to_scale(fit$target, release_scale(release)))
  drop(with_covariates(release, scaled, fit$covariates))
}

#' Covariances between the errors of several cohorts' counterfactuals
#'
#' All cohorts share the noise and the donors' regression. The remaining prediction errors of
#' cohorts are independent.
#' @param release (`dp_release`)\cr by method gram.
#' @param dates (`integer(G)`)\cr the cohorts' `T0`.
#' @param paths (`list` of `numeric`, scaled units)\cr one per cohort, from [cohort_path()].
#' @param penalty (`numeric(G)`)\cr as in a fit; used only without privacy.
#' @return A list of two matrices in squared outcome units, `privacy` and `regression`, with the
#'   periods from the adoption on, cohort by cohort. RELEASED.
#' @noRd
shared_errors <- function(release, dates, paths, penalty, estimator) {
  n <- release$panel$n
  private <- release$privacy$private
  scale <- release_scale(release)
  lambda <- if (estimator == "ridge") release$settings$lambda
  options <- lapply(penalty, function(one) {
    gram_options(private, n, scale, estimator, lambda, if (private) NaN else one / (2 * n))
  })
  errors <- cohort_errors_cpp(release$statistics, options, dates, do.call(rbind, paths), n)
  more <- regression_excess(release, dates, errors$regression)
  list(
    privacy = errors$privacy * scale$unit^2,
    regression = (errors$regression + tcrossprod(sqrt(more))) * scale$unit^2
  )
}

#' The part of the regression's variance from the donors' placebo errors, for each row of
#' `shared_errors()`: the excess of these errors over the prediction by the moments, divided by the
#' number of donors
#' @noRd
regression_excess <- function(release, dates, regression) {
  n <- release$panel$n
  periods <- release$panel$T0 + release$panel$T1 - dates
  cohorts <- release$statistics$cohorts
  last <- cumsum(periods)
  more <- vapply(seq_along(dates), function(g) {
    rows <- last[[g]] - periods[[g]] + seq_len(periods[[g]])
    at <- match(dates[[g]], cohorts$T0)
    if (is.null(cohorts$intervals) || is.na(at)) {
      return(0)
    }
    released <- max(cohorts$intervals$second[[at]], 0) + cohorts$intervals$second_sd
    max(0, released / n - mean(regression[rows, rows]))
  }, 0)
  rep(more, periods)
}

#' One-step forecasts of the periods between the first adoption and each cohort's own adoption
#'
#' The release contains these single periods, so each period can be predicted from earlier periods,
#' at no cost.
#' @inheritParams shared_errors
#' @param target (`matrix`, G x T, outcome units)\cr one path per cohort. PUBLIC.
#' @param covariates (`matrix`, G x q, or `NULL`)\cr the covariates of the cohorts.
#' @param size (`numeric(G)`)\cr number of people in each cohort.
#' @return A data frame: `cohort` (position), `period` (position), `residual` (outcome units).
#'   RELEASED.
#' @noRd
held_out_residuals <- function(release, dates, target, size, estimator, covariates = NULL) {
  from <- release$panel$T0
  pooled <- pooled_seconds(release)
  rows <- lapply(seq.int(from, length.out = max(0L, max(dates) - from)), function(T0) {
    later <- which(dates > T0)
    view <- cohort_view(release, T0, pooled)
    # The penalties that the fit would choose by default.
    scale <- release_scale(release)
    scaled <- with_covariates(
      view, unname(to_scale(target[later, , drop = FALSE], scale)),
      covariates[later, , drop = FALSE]
    )
    fits <- estimate_gram(view, scaled, size[later], estimator)
    path <- from_scale(do.call(rbind, lapply(fits, `[[`, "path")), scale)
    data.frame(
      cohort = later, period = T0 + 1L,
      residual = target[later, T0 + 1L] - path[, T0 + 1L]
    )
  })
  none <- data.frame(cohort = integer(), period = integer(), residual = numeric())
  do.call(rbind, c(list(none), rows))
}
