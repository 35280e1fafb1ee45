# What a release says of cohorts that adopt at different dates. All post-processing: every cohort's
# counterfactual is a function of the one release.

#' A release as a cohort sees it that adopts after `T0` periods
#'
#' An ordinary release by method gram: what follows the first adoption and comes before this
#' cohort's own is past to it, period by period. Its intervals are those that the release calibrated
#' for this date.
#' @param release (`dp_release`)\cr by method gram.
#' @param T0 (`count`)\cr from the release's own on.
#' @return A `dp_release`. RELEASED.
#' @noRd
cohort_view <- function(release, T0) {
  panel <- release$panel
  s <- release$statistics
  cohorts <- s$cohorts
  # A release for one date calibrated that one.
  same <- is.null(cohorts) && T0 == panel$T0
  g <- match(T0, cohorts$T0)
  release$panel$T0 <- as.integer(T0)
  release$panel$T1 <- as.integer(panel$T0 + panel$T1 - T0)
  if (same) {
    return(release)
  }
  view <- cohort_view_cpp(s, T0)
  view$rounds <- s$rounds
  rows <- s$leave_one_out$rows %||% cohorts$leave_one_out[[1L]]$rows
  if (is.na(g) && !is.null(rows)) {
    view$leave_one_out <- list(
      n = panel$n, T0 = T0, penalty = raw_penalty(view, panel$n), rows = rows
    )
  } else if (is.na(g)) {
    view$reason <- "the release calibrated none for this adoption date"
  } else if (release$privacy$private && !is.null(cohorts$intervals)) {
    view$intervals <- cohorts$intervals
    view$intervals$second <- cohorts$intervals$second[[g]]
  } else if (!release$privacy$private) {
    view$leave_one_out <- cohorts$leave_one_out[[g]]
  }
  release$statistics <- view
  release
}

#' Covariances between the errors of several cohorts' counterfactuals
#'
#' The noise and the donors' own regression are shared; what else makes a cohort stray is its own.
#' @param release (`dp_release`)\cr by method gram.
#' @param dates (`integer(G)`)\cr the cohorts' `T0`.
#' @param target (`matrix`, G x T, outcome units)\cr one path a cohort. PUBLIC.
#' @param penalty (`numeric(G)`)\cr as in a fit; used where nothing is private.
#' @return A list of two matrices, squared outcome units, `privacy` and `regression`: cohort by
#'   cohort, within each the periods from its adoption on. RELEASED.
#' @noRd
shared_errors <- function(release, dates, target, penalty, estimator) {
  n <- release$panel$n
  private <- release$privacy$private
  scale <- release_scale(release)
  lambda <- if (estimator == "ridge") release$settings$lambda
  options <- lapply(penalty, function(one) {
    gram_options(private, n, scale, estimator, lambda, if (private) NaN else one / (2 * n))
  })
  errors <- cohort_errors_cpp(
    release$statistics, options, dates, unname(to_scale(target, scale)), n
  )
  lift <- regression_lift(release, dates, errors$regression)
  list(
    privacy = errors$privacy * scale$unit^2,
    regression = errors$regression * tcrossprod(sqrt(lift)) * scale$unit^2
  )
}

#' By how much the donors' placebo errors exceed what the moments say, for each row of
#' [shared_errors()]; 1 at least
#' @noRd
regression_lift <- function(release, dates, regression) {
  periods <- release$panel$T0 + release$panel$T1 - dates
  intervals <- release$statistics$cohorts$intervals
  if (is.null(intervals)) {
    return(rep(1, sum(periods)))
  }
  last <- cumsum(periods)
  lift <- vapply(seq_along(dates), function(g) {
    rows <- last[[g]] - periods[[g]] + seq_len(periods[[g]])
    modelled <- mean(regression[rows, rows]) * release$panel$n
    released <- max(intervals$second[match(dates[[g]], intervals_dates(release))], 0) +
      intervals$second_sd
    if (isTRUE(modelled > 0) && !is.na(released)) max(1, released / modelled) else 1
  }, 0)
  rep(lift, periods)
}

intervals_dates <- function(release) release$statistics$cohorts$T0

#' One-step forecasts of the periods between the first adoption and each cohort's own
#'
#' The release holds these periods one by one, so each can be predicted from those before it: what
#' a placebo date would say, free.
#' @inheritParams shared_errors
#' @param size (`numeric(G)`)\cr people in each cohort.
#' @return A data frame: `cohort` (position), `period` (position), `residual` (outcome units).
#'   RELEASED.
#' @noRd
held_out_residuals <- function(release, dates, target, size, estimator) {
  from <- release$panel$T0
  rows <- lapply(seq.int(from, length.out = max(0L, max(dates) - from)), function(T0) {
    later <- which(dates > T0)
    view <- cohort_view(release, T0)
    # Penalties that the fit would choose without knowing more.
    scale <- release_scale(release)
    scaled <- unname(to_scale(target[later, , drop = FALSE], scale))
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
