# Estimates from a growing release: from its first release, and from the additions of each new
# period. All code here is post-processing.

#' Counterfactuals from a release, possibly with added periods
#'
#' New periods are valid only for the target of the release.
#' @inheritParams estimate_gram
#' @return As [estimate_gram()], for all periods.
#' @noRd
estimate_growing <- function(release, target, size = rep(1, nrow(target)), estimator = "ridge") {
  first <- base_release(release)
  if (!periods_grown(release)) {
    fits <- estimate_gram(first, target, size, estimator)
    # Results for a period use only the noise of the first release, so that they do not change when
    # further periods arrive.
    growing <- !is.null(release$statistics$monitor)
    return(if (growing) lapply(fits, `[<-`, c("released", "hidden"), NULL) else fits)
  }
  kept <- seq_len(first$panel$T0 + NROW(first$panel$covariates) + first$panel$T1)
  fits <- estimate_gram(first, target[, kept, drop = FALSE], size, estimator)
  scale <- release_scale(release)
  lapply(fits, function(e) {
    half <- scale$half[[length(scale$half)]]
    grown <- growing_estimate_cpp(
      growing_base(release, e), release$statistics$monitor$periods,
      e$privacy, half
    )
    e$path <- c(e$path, grown$path)
    e[c("released", "hidden")] <- NULL
    e$privacy <- capped(grown$privacy, scale$half[-seq_len(first$panel$T0)])
    e$prediction <-
      group_scale(e) * grown$own * (1 / e$size + (1 + e$leverage) / first$panel$n) +
      carried(e$disagreement, grown$left) + grown$model
    e$spread$band <- e$spread$joint %||% e$spread$band
    e
  })
}

#' The core's input from a first release and added periods
#' @param release (`dp_release`)\cr a growing release.
#' @param e (`list`)\cr from [estimate_gram()], the estimate for the target from the first release.
#' @noRd
growing_base <- function(release, e = growing_start(release)) {
  first <- base_release(release)
  list(
    statistics = first$statistics, own = e$own,
    target = unlist(release$statistics$monitor[c("target", "covariates")], use.names = FALSE),
    options = gram_options(
      first$privacy$private, first$panel$n, release_scale(first), "ridge", first$settings$lambda
    ),
    lift = e$spread$floor %||% 1, radius = rev(first$statistics$rounds)[[1L]]$radius
  )
}

#' The first release's estimate for the monitored target
#' @noRd
growing_start <- function(release) {
  first <- base_release(release)
  monitor <- release$statistics$monitor
  target <- matrix(c(monitor$target, monitor$covariates, numeric(first$panel$T1)), 1L)
  estimate_gram(first, target, sum(monitor$size), "ridge")[[1L]]
}

#' Limit on the standard deviation of a mean within the bounds: half of their width (Popoviciu,
#' 1935)
#' @noRd
capped <- function(covariance, half) {
  factor <- pmin(1, half / sqrt(pmax(diag(covariance), 1e-300)))
  covariance * tcrossprod(factor)
}

#' Extend the disagreement between penalties to new periods
#'
#' The disagreement is treated as a single error, and a share of this error remains in each new
#' period.
#' @param disagreement (`matrix`, T1 x T1).
#' @param left (`numeric`)\cr the share of the error that remains in each new period.
#' @noRd
carried <- function(disagreement, left) {
  across <- outer(rowMeans(disagreement), left)
  rbind(
    cbind(disagreement, across), cbind(t(across), mean(disagreement) * tcrossprod(left))
  )
}

#' Do target, people and estimator agree with the new periods of a release?
#' @param group (`matrix`, 1 x T, outcome units)\cr the mean target.
#' @param covariates (`matrix`, 1 x q, or `NULL`)\cr the covariates of the mean target.
#' @section Errors: `dpsc_error_monitor`.
#' @noRd
check_growing_target <- function(release, group, size, estimator, covariates = NULL) {
  if (!periods_grown(release)) {
    return(invisible())
  }
  monitor <- release$statistics$monitor
  pre <- to_scale(group, release_scale(release))[1L, seq_len(release$panel$T0)]
  same <- isTRUE(all.equal(unname(pre), monitor$target, tolerance = 1e-8)) &&
    isTRUE(all.equal(sum(size), sum(monitor$size))) && same_between(release, covariates)
  if (!same || estimator != "ridge") {
    abort(c(
      "The new periods of this release are valid for its own target and estimator ridge only.",
      i = paste(
        "For other targets, group sizes and estimators use the fit before the first",
        "{.code update(newdata = )}, which covers the first release's periods only."
      )
    ), "monitor")
  }
}

#' Are these the covariates of the monitored target?
#' @noRd
same_between <- function(release, covariates) {
  known <- release$statistics$monitor$covariates
  is.null(known) || isTRUE(all.equal(
    scaled_covariates(covariates, release$panel$covariates)[1L, ], known, tolerance = 1e-8
  ))
}
