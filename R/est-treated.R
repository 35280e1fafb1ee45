# Estimates for a protected group, whose released path replaces the public target. All code here is
# post-processing.

#' The released path of a protected group
#' @param release (`dp_release`)\cr a release with `protect = "everyone"`.
#' @return A list, scaled units: `path` and `lean` (T, around the group's level if features are
#'   demeaned), `level`, `moves` (T x d). RELEASED.
#' @noRd
released_path <- function(release) {
  x <- release$statistics$treated
  pre <- seq_len(release$panel$T0)
  level <- if (release$statistics$demean) mean(x$path[pre]) else 0
  # Covariates have no level.
  own <- insert_covariates(
    matrix(level, 1L, release$panel$T0 + release$panel$T1),
    matrix(0, 1L, NROW(release$panel$covariates)), release$panel$T0
  )
  list(
    path = x$path - own[1L, ], lean = x$lean - own[1L, ], level = min(max(level, -1), 1),
    moves = x$moves
  )
}

#' Fit a protected group to its release
#'
#' The noise of the path affects the outcome after the treatment directly, and the counterfactual
#' through the past. Both effects are computed by finite differences of one standard deviation.
#' @param estimate (`function`)\cr the estimate of method gram.
#' @param scale (`dpsc_bounds`)\cr the bounds of the release.
#' @return The value of `fit_targets()`, and `translation` (T1, outcome units), the changes to the
#'   displayed effects of single periods (inst/proofs/treated.md, section 5).
#' @noRd
fit_treated <- function(release, estimator, estimate, scale) {
  m <- release$panel$treated
  known <- released_path(release)
  post <- release$panel$T0 + seq_len(release$panel$T1)
  covariates <- release$panel$T0 + seq_len(NROW(release$panel$covariates))
  d <- ncol(known$moves)
  moves <- t(known$moves)
  paths <- rbind(
    known$path, rep(known$path, each = d) + moves, rep(known$path, each = d) - moves, known$lean
  )
  fits <- estimate(release, paths, rep(m, nrow(paths)), estimator)
  if (length(covariates)) paths <- paths[, -covariates, drop = FALSE]
  effect <- function(i) paths[i, post] - fits[[i]]$path[post]
  by_noise <- function(of) {
    moved <- vapply(seq_len(d), function(k) {
      (of(1L + k) - of(1L + d + k)) / 2
    }, numeric(length(post)))
    matrix(moved, length(post))
  }
  moved <- by_noise(effect)
  fit <- fits[[length(fits)]]
  label <- paste("mean of", count_words(m), "treated people")
  shown <- function(path) {
    out <- from_scale(matrix(path + known$level, 1L), scale)
    rownames(out) <- label
    out
  }
  base <- fit$prediction + fit$privacy + tcrossprod(by_noise(function(i) fits[[i]]$path[post])) +
    level_variance(release)
  spread <- fit$spread
  if (is.null(spread$reason)) spread$reason <- clipped_reason(release)
  variance <- list(
    prediction = (fit$prediction + group_excess(release) / m + cut_doubt(release)) * scale$unit^2,
    privacy = (fit$privacy + tcrossprod(moved)) * scale$unit^2
  )
  list(
    target = shown(paths[1L, ]), size = m, counterfactual = shown(fits[[1L]]$path),
    variance = list(variance),
    translation = limited_translation_cpp(effect(1L) * scale$unit, Reduce(`+`, variance)),
    spread = list(spread), penalty = fits[[1L]]$penalty,
    base_error = sqrt(pmax(diag(base), 0)) * scale$unit
  )
}

#' Variance of the noise on the level of a released path, in scaled units; effects do not depend on
#' it
#' @noRd
level_variance <- function(release) {
  s <- release$statistics
  # Without a feature for the level, the level follows from the other features.
  if (!s$demean) {
    return(0)
  }
  (s$treated$mean_sd / sum(s$treated$loadings[, s$pre + 1L]))^2
}

#' The ratio of treated people's residual variance to donors' residual variance, without the noise
#' @noRd
group_excess <- function(release) {
  x <- release$statistics$treated
  max(0, x$second - x$second_sd - x$own_variance)
}

#' Covariance of the unknown part of the group's mean that clipping may have removed, which is a
#' share of the distance between this mean and the centre of the last round (share from
#' bench/protect.R)
#' @noRd
cut_doubt <- function(release) {
  x <- release$statistics$treated
  residual <- seq.int(to = length(x$mean), length.out = release$panel$T1)
  # This map leads from features to outcomes in scaled units.
  back <- utils::tail(x$moves, release$panel$T1)[, residual, drop = FALSE] / x$mean_sd
  if (is.null(x$kept)) {
    # Releases of versions up to 0.2.0 do not estimate the share of a shift that clipping keeps.
    return((0.8 * sum(from_centre(x)[residual]) * abs(mean(back)))^2)
  }
  # If the centre is distant, the donors reveal little about the part that clipping removes.
  tcrossprod(0.3 * back %*% from_centre(x)[residual]) +
    (x$stray %||% 0) * length(residual) * mean(back)^2 + far_doubt(x$far, back)
}

#' Covariance of the unknown part of the group's mean that is due to people far from the others
#'
#' Their average is estimated. A third of it is the assumed standard deviation of single periods
#' around this average.
#' @param back (`matrix`, T1 x T1)\cr from features to outcomes in scaled units.
#' @noRd
far_doubt <- function(far, back) {
  if (is.null(far)) {
    return(0)
  }
  T1 <- nrow(back)
  (far$variance + (diag(T1) - 1 / T1) * (far$shift / 3)^2) * T1 * mean(back)^2
}

#' The group's mean minus the last round's centre, as retained by clipping
#' @noRd
from_centre <- function(x) {
  last <- x$rounds[[length(x$rounds)]]
  last$mean %||% (x$mean - (last$origin - x$rounds[[1L]]$origin))
}

#' Note that the group's mean is unknown because of clipping, or `NULL`
#'
#' The last round is centred at the group's estimated mean. If its people are still far from this
#' centre on average, they lie beyond the radius, at an unknown distance.
#' @noRd
clipped_reason <- function(release) {
  x <- release$statistics$treated
  residual <- utils::tail(from_centre(x), release$panel$T1)
  last <- x$rounds[[length(x$rounds)]]
  if (abs(sum(residual)) / sqrt(length(residual)) > 0.65 * last$radius) {
    "the treated people lie near or beyond the clipping radius, which was found with noise"
  }
}
