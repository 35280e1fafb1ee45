# Unions of releases of disjoint groups of donors: the moments of the groups add up to the moments
# of the union. Post-processing.

#' Combine releases of disjoint groups of donors
#'
#' If donors belong to a few public groups, such as regions or types of clinic, each group can be
#' released separately with the whole budget. No person is in two groups, so a person's privacy loss
#' comes only from the release of their group (parallel composition). The moments of a union of
#' groups are then sums of the groups' released moments, and cost nothing. You can therefore choose
#' the groups after the releases, by their fit to the target before the treatment.
#'
#' The groups must be public, and must not depend on outcomes. In neighbouring data sets one donor's
#' row is replaced by another row **of the same group**: group membership is not protected. Use a
#' separate [dp_ledger()] for each group. Set the same number of features for all groups by
#' [dp_control()], since the default depends on the number of donors. The noise variances of the
#' groups in a union add up: the noise of a union of `k` groups is about `sqrt(k)` times the noise
#' of one release of all their donors.
#'
#' Intervals are conservative. Tails and second moments of the placebo errors are released within
#' each group. The union uses the widest tails, and the mean of the second moments, weighted by the
#' numbers of donors.
#'
#' @param ... (`dp_release`)\cr two to eight private releases by method `"gram"`, with the same
#'   periods, target, bounds and settings. Growing releases, and releases with several adoption
#'   dates, protected treated people or weights, are refused.
#' @return A `dp_release` of all donors of the groups. Its element `groups` contains the number of
#'   donors per group. [dp_synth()] accepts the result like any other release. [write_release()]
#'   does not write the result: write the releases of the groups.
#' @section Errors: `dpsc_error_argument`, and `dpsc_error_release` if releases cannot be combined.
#' @references McSherry, F. (2009). Privacy Integrated Queries. SIGMOD.
#' @examples
#' panel <- sim_panel(n = 2000, T0 = 10, T1 = 3)
#' # Fix the number of features for groups of different sizes.
#' north <- dp_release(panel$donors[1:900, ],
#'   target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1),
#'   control = dp_control(features = 4)
#' )
#' south <- dp_release(panel$donors[901:2000, ],
#'   target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1),
#'   control = dp_control(features = 4)
#' )
#' dp_synth(combine_releases(north, south), target = panel$target)
#' @export
combine_releases <- function(...) door("combine_releases", {
  parts <- unname(list(...))
  if (length(parts) < 2L || length(parts) > 8L || !all(vapply(parts, inherits, NA, "dp_release"))) {
    abort("Give two to eight releases of disjoint groups of donors.", "argument")
  }
  check_same_release(parts)
  n <- vapply(parts, function(part) as.double(part$panel$n), 0)
  out <- parts[[1L]]
  out$panel$n <- sum(n)
  out$panel["donor_names"] <- list(NULL)
  out$groups <- n
  out$asked <- NULL
  out$statistics <- union_statistics(lapply(parts, `[[`, "statistics"), n / sum(n))
  out$privacy <- union_privacy(lapply(parts, `[[`, "privacy"))
  out
})

#' @noRd
check_same_release <- function(parts) {
  alike <- function(what, name) {
    same <- vapply(parts[-1L], function(part) identical(what(part), what(parts[[1L]])), NA)
    if (!all(same)) {
      abort(c(
        "The releases cannot be combined: their {name} differ.",
        i = paste(
          "Release every group with the same target, periods, bounds and settings; the number of",
          "features follows from the number of donors, or from {.code dp_control(features = )}."
        )
      ), "release")
    }
  }
  alike(function(part) c(part$method, part$calibration), "methods")
  if (!gives_moments(parts[[1L]]$method)) {
    abort("Only releases by {.code method = \"gram\"} can be combined.", "release")
  }
  if (any(vapply(parts, is_growing, NA))) {
    abort("Growing releases cannot be combined.", "release")
  }
  several <- vapply(parts, function(part) {
    !is.null(part$statistics$cohorts) || !is.null(part$panel$treated)
  }, NA)
  if (any(several)) {
    abort(c(
      "Releases of several adoption dates, or of treated people, cannot be combined.",
      i = "Release every group for one date, with {.code protect = \"donors\"}."
    ), "release")
  }
  alike(function(part) part$panel[c("T0", "T1", "times", "outcome")], "periods")
  alike(function(part) part$panel$covariates, "covariates")
  if (any(vapply(parts, function(part) !is.null(part$panel$weights), NA))) {
    abort("Releases whose donors have weights cannot be combined.", "release")
  }
  alike(function(part) part$panel$gaps, "rules for gaps")
  alike(function(part) part$bounds, "bounds")
  alike(function(part) part$settings, "settings")
  alike(function(part) part$privacy$private, "guarantees")
  alike(function(part) part$statistics[c("loadings", "pre", "weight", "demean")], "features")
  once <- anyDuplicated(lapply(parts, function(part) part$statistics$mean)) > 0L
  if (once || any(vapply(parts, function(part) !is.null(part$groups), NA))) {
    abort(c(
      "Every release must be of a single group, and no group can occur twice.",
      i = "Give the release of every group once, and no union of groups."
    ), "release")
  }
  if (!parts[[1L]]$privacy$private) {
    abort(c(
      "Releases with {.code epsilon = Inf} need no union.", i = "Give all donors to one call."
    ), "release")
  }
}

#' Moments of a union, in features whitened by the mean of the groups' transforms
#' @param share (`numeric`)\cr each group's share of the donors.
#' @noRd
union_statistics <- function(parts, share) {
  d <- length(parts[[1L]]$mean)
  total <- function(f) Reduce(`+`, Map(function(part, w) w * f(part), parts, share))
  mean <- total(function(part) part$mean)
  second <- total(function(part) {
    part$restore %*% part$covariance %*% t(part$restore) + tcrossprod(part$mean - mean)
  })
  restore <- t(chol(total(function(part) tcrossprod(part$restore))))
  half <- forwardsolve(restore, second)
  covariance <- t(forwardsolve(restore, t(half)))
  # In the new units one common variance approximates the noise.
  size <- vapply(parts, function(part) sum(forwardsolve(restore, part$restore)^2) / d, 0)
  noise <- function(name, power) {
    sd <- vapply(parts, `[[`, 0, name)
    sqrt(sum((share * sd)^2 * size^power))
  }
  out <- parts[[1L]][c("loadings", "pre", "weight", "demean")]
  out$covariates <- parts[[1L]]$covariates
  out$mean <- mean
  out$restore <- restore
  out$covariance <- (covariance + t(covariance)) / 2
  out$mean_sd <- noise("mean_sd", 1)
  out$moment_sd <- noise("moment_sd", 2)
  out$intervals <- union_intervals(lapply(parts, `[[`, "intervals"), share)
  out
}

#' The largest tail factors, and the mean second moment, of placebo errors within the groups
#' @noRd
union_intervals <- function(parts, share) {
  if (any(vapply(parts, is.null, NA))) {
    return(NULL)
  }
  same <- function(name) length(unique(lapply(parts, `[[`, name))) == 1L
  if (!same("estimator") || !same("lambda") || !same("group")) {
    return(NULL)
  }
  out <- parts[[1L]]
  value <- function(name) vapply(parts, `[[`, 0, name)
  out$calm <- if (!any(vapply(parts, function(one) is.null(one$calm), NA))) min(value("calm"))
  for (name in c("clip", "average", "period", "band", "tail")) out[[name]] <- max(value(name))
  out$second <- sum(share * value("second"))
  out$second_sd <- sqrt(sum((share * value("second_sd"))^2))
  out
}

#' @noRd
union_privacy <- function(parts) {
  value <- function(name) vapply(parts, `[[`, parts[[1L]][[name]], name)
  out <- parts[[1L]]
  out[c("epsilon", "delta", "rho")] <- list(
    max(value("epsilon")), max(value("delta")), max(value("rho"))
  )
  out$neighbours <- "replace one donor's row by another of the same group"
  # The version of the union is the version of its oldest part.
  versions <- lapply(parts, `[[`, "version")
  old <- vapply(versions, at_most_version, NA, last = "0.2.0")
  out["version"] <- versions[order(!old)[[1L]]]
  out$doubt <- any(vapply(parts, function(part) isTRUE(part$doubt), NA))
  out$holds <- all(value("holds"))
  out$assumes <- "nobody is in two of the groups, which is not checked"
  out$exact <- all(value("exact"))
  reasons <- value("reason")
  out$reason <- c(reasons[nzchar(reasons)], "")[[1L]]
  out$theorem <- paste(
    "parallel composition over disjoint public groups (McSherry, 2009) of",
    paste(unique(value("theorem")), collapse = "; ")
  )
  out$steps <- do.call(rbind, Map(function(part, group) {
    cbind(part$steps, group = group)
  }, parts, seq_along(parts)))
  out
}
