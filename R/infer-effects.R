# Intervals and p-values from a release: post-processing at no cost.
#
# The counterfactual has two independent errors, reported separately: the target's prediction error,
# and the release's noise, whose distribution is known. Factors from the donors' released placebo
# errors multiply both errors.

#' Covariance of the estimated effects of one target over the post-period
#' @param fit (`dp_synth`).
#' @param i (`count`)\cr the target's position.
#' @param parts (`character`)\cr `"prediction"`, `"privacy"` or both.
#' @return A T1 x T1 matrix in squared outcome units; `NA` if a part is unknown.
#' @noRd
effect_covariance <- function(fit, i, parts = c("prediction", "privacy")) {
  Reduce(`+`, fit$variance[[i]][parts])
}

#' The parts of the variance that a fit contains
#' @noRd
known_parts <- function(fit) {
  variance <- fit$variance[[1L]]
  c(
    if (!anyNA(variance$prediction)) "prediction",
    if (fit$release$privacy$private && !anyNA(variance$privacy)) "privacy"
  )
}

#' Is the noise the only known part of the errors?
#' @noRd
noise_only <- function(fit) {
  fit$release$privacy$private && !"prediction" %in% known_parts(fit)
}

#' Reason for a fit's missing interval, or `NULL`
#' @noRd
missing_interval <- function(fit, i = 1L, level = 0.95) {
  if (!isTRUE(fit$spread[[i]]$raw)) {
    return(fit$spread[[i]]$reason)
  }
  raw <- raw_limits(fit, i, level)
  if (is.character(raw)) raw
}

#' Note on a target that few donors resemble, or `NULL`
#'
#' The comparison is conditional on the level: a target that was chosen only for its level resembles
#' donors with this level. If many identical people dominate the moments, the reason for the missing
#' interval replaces the note.
#' @noRd
unlike_words <- function(fit, i = 1L) {
  spread <- fit$spread[[i]]
  if (!isTRUE(spread$apart > most_apart) || identical(spread$reason, unseen_words)) {
    return(NULL)
  }
  whom <- if (fit$size[[i]] > 1) "the mean of equally many random people" else "a random donor"
  paste0(
    "Before the treatment the target is unlike the released donors: it is ",
    format(sqrt(spread$apart), digits = 2L), " times as far from them as ", whom, " with the same ",
    "level would be. Few donors are like the target, and the other donors may bias the estimate."
  )
}

#' Effects with standard errors: one row for each target's average and for each of its periods
#' @param type (`string`)\cr `"overall"` for the group; `"unit"` for each treated unit.
#' @return A data frame in outcome units with columns `target`, `term`, `estimate`, `std.error`
#'   (calibrated so that intervals are normal; `NA` without an interval), `band.error` (for limits
#'   that cover all periods jointly) and `privacy.se` (standard deviation of the estimate over
#'   releases).
#' @noRd
effect_table <- function(fit, type = "overall") {
  fit <- fit_view(fit, type)
  T1 <- fit$release$panel$T1
  effect <- effects_of(fit)
  targets <- seq_len(nrow(effect))
  errors <- lapply(targets, effect_errors, fit = fit)
  private <- fit$release$privacy$private
  frame_of(
    target = rep(rownames(effect), each = T1 + 1L),
    term = rep(c("average", colnames(effect)), nrow(effect)),
    estimate = c(rbind(apply(effect, 1L, mean), t(effect))),
    std.error = unlist(lapply(errors, `[[`, "single")),
    band.error = unlist(lapply(errors, `[[`, "band")),
    privacy.se = if (private) unlist(lapply(targets, model_errors, fit = fit, "privacy")) else 0
  )
}

#' Standard deviations of the average and of each period, from the covariances only
#' @noRd
model_errors <- function(fit, i, parts) {
  T1 <- fit$release$panel$T1
  averaging <- rbind(rep(1 / T1, T1), diag(T1))
  sqrt(pmax(rowSums((averaging %*% effect_covariance(fit, i, parts)) * averaging), 0))
}

#' Calibrated standard errors, `single` for single intervals and `band` for all periods jointly
#' @noRd
effect_errors <- function(fit, i) {
  T1 <- fit$release$panel$T1
  spread <- fit$spread[[i]]
  if (!is.null(spread$reason)) {
    unknown <- rep(NA_real_, T1 + 1L)
    return(list(single = unknown, band = unknown))
  }
  if (isTRUE(spread$raw)) {
    error <- raw_errors(raw_account(fit$release, raw_path(fit, i), fit$estimator), fit$size[[i]])
    error <- error * release_scale(fit$release)$unit
    return(list(single = error, band = error))
  }
  total <- model_errors(fit, i, c("prediction", "privacy"))
  if (is.null(spread$floor)) {
    return(list(single = total, band = total))
  }
  total <- total * sqrt(spread$floor)
  list(
    single = c(spread$average, rep(spread$period, T1)) * total,
    band = c(spread$average, rep(spread$band, T1)) * total
  )
}

#' A target in scaled units
#' @noRd
raw_path <- function(fit, i) {
  path <- to_scale(fit$target[i, , drop = FALSE], release_scale(fit$release))
  drop(with_covariates(fit$release, path, fit$covariates[i, , drop = FALSE]))
}

#' Limits of effects without privacy, in outcome units, or the reason for missing limits
#' @noRd
raw_limits <- function(fit, i, level, simultaneous = FALSE) {
  limits <- raw_intervals(
    fit$release, raw_path(fit, i), fit$size[[i]], level, simultaneous, fit$estimator
  )
  if (is.character(limits)) {
    return(limits)
  }
  limits[c("conf.low", "conf.high")] * release_scale(fit$release)$unit
}

#' Half-widths of intervals, before the bounds' limits
#' @param table (`data.frame`)\cr from [effect_table()].
#' @noRd
interval_width <- function(table, level, simultaneous = FALSE) {
  average <- table$term == "average"
  periods <- sum(!average) / max(1, sum(average))
  statements <- if (simultaneous) ifelse(average, 1, periods) else 1
  interval_quantile(level, statements) * (if (simultaneous) table$band.error else table$std.error)
}

#' Effects with interval limits and p-values
#'
#' Limits stay within the range implied by the bounds, since a counterfactual lies within the
#' bounds. If a release has no moments of the donors, the limits allow for the privacy noise only.
#' @param simultaneous (`flag`)\cr over all periods of a target together.
#' @param shrink (`flag`)\cr whether the effects of a protected group's periods are changed by
#'   limited translation. Standard errors are the errors of the released effects in both cases.
#' @return The columns of [effect_table()] and `statistic`, `p.value`, `conf.low`, `conf.high`.
#' @noRd
effect_limits <- function(fit, level = 0.95, simultaneous = FALSE, type = "overall",
                          shrink = FALSE) {
  fit <- fit_view(fit, type)
  table <- effect_table(fit)
  if (shrink && !is.null(fit$translation)) table$estimate <- table$estimate + c(0, fit$translation)
  table$statistic <- table$estimate / table$std.error
  table$p.value <- normal_p(table$statistic)
  if (noise_only(fit)) table$std.error <- table$band.error <- table$privacy.se
  width <- interval_width(table, level, simultaneous)
  table$conf.low <- table$estimate - width
  table$conf.high <- table$estimate + width
  if (fit$release$privacy$private && !noise_only(fit)) {
    allowed <- allowed_effects(fit)
    table$conf.low <- pmax(table$conf.low, allowed$low)
    table$conf.high <- pmin(table$conf.high, allowed$high)
  }
  raw_rows(fit, table, level, simultaneous)
}

#' Limits and p-values from the donors' errors, for fits without privacy
#' @noRd
raw_rows <- function(fit, table, level, simultaneous) {
  size <- fit$release$panel$T1 + 1L
  for (i in which(vapply(fit$spread, function(spread) isTRUE(spread$raw), NA))) {
    rows <- (i - 1L) * size + seq_len(size)
    limits <- raw_limits(fit, i, level, simultaneous)
    none <- is.character(limits)
    table$conf.low[rows] <- if (none) NA_real_ else limits$conf.low
    table$conf.high[rows] <- if (none) NA_real_ else limits$conf.high
    table$p.value[rows] <- raw_p_value(
      fit$release, raw_path(fit, i), fit$size[[i]], fit$estimator
    )
  }
  table
}

#' The possible effects: the observed outcome minus any counterfactual within the bounds
#' @noRd
allowed_effects <- function(fit) {
  post <- post_periods(fit)
  bounds <- fit$release$bounds
  # The level of a released path is uncertain, but the effect must respect the bounds.
  nearest <- function(limit) {
    other <- if (identical(limit, bounds$upper)) bounds$lower else bounds$upper
    if (is_released_group(fit)) matrix(other[post], 1L) else fit$target[, post, drop = FALSE]
  }
  limits <- function(limit) {
    gap <- sweep(nearest(limit), 2L, limit[post])
    as.vector(t(cbind(rowMeans(gap), gap)))
  }
  list(low = limits(bounds$upper), high = limits(bounds$lower))
}

#' Test for an effect in any period, by the calibrated tail of the largest standardised effect
#' @return A list with `statistic` (the largest effect divided by its standard error for joint
#'   intervals), `periods` and `p.value`; or `NULL` without intervals.
#' @noRd
any_effect_test <- function(fit, i = 1L) {
  if (!is.null(missing_interval(fit, i)) || isTRUE(fit$spread[[i]]$raw)) {
    return(NULL)
  }
  # The table of all targets, built once per target, would take quadratic time.
  error <- effect_errors(fit, i)$band[-1L]
  largest <- max(abs(effects_of(fit)[i, ]) / error)
  list(
    statistic = largest, periods = length(error),
    p.value = -expm1(length(error) * log1p(-normal_p(largest)))
  )
}

#' Covariance of one target's effects by period; `NA` if no part of it is known
#' @noRd
known_covariance <- function(fit, i, parts) {
  T1 <- fit$release$panel$T1
  if (length(parts)) effect_covariance(fit, i, parts) else matrix(NA_real_, T1, T1)
}
