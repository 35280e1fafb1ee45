# The plotted paths, as returned by `as.data.frame()`: one row per target and period, with limits.
# They are computed from the fit alone.

#' A series of a fit with its limits
#' @param type (`string`)\cr `"path"` (the counterfactual), `"effect"`, `"cumulative"` or
#'   `"percent"`.
#' @return A data frame: `target` (factor in the order of the fit), `period` (as on an axis),
#'   `treated`, `.observed`, `.fitted`, `.lower`, `.upper` (the bounds), `estimate`, `low`, `high`
#'   (limits for all errors), `noise_low`, `noise_high` (limits for the privacy noise alone). Limits
#'   are `NA` before the treatment and if errors are unknown.
#' @noRd
effect_series <- function(fit, type, level, simultaneous = FALSE, shrink = FALSE) {
  data <- generics::augment(fit)
  data$target <- factor(data$target, levels = unique(data$target))
  times <- fit$release$panel$times
  data$period <- rep(plot_periods(times), nrow(fit$target))
  data <- with_bounds(fit, data)
  # Sums, paths and shares use the released effects.
  shrink <- shrink && type == "effect"
  limits <- series_limits(fit, type, level, simultaneous, shrink)
  for (name in names(limits)) {
    data[[name]] <- NA_real_
    data[[name]][data$treated] <- limits[[name]]
  }
  data$estimate <- switch(type,
    path = data$.fitted, effect = data$.resid, percent = percent_of(data$.observed, data$.fitted),
    cumulative = cumulative_effect(data)
  )
  if (shrink && !is.null(fit$translation)) {
    data$estimate[data$treated] <- data$estimate[data$treated] + fit$translation
  }
  for (name in names(limits)) {
    # Here the limits are for the effect. A counterfactual is the observed value minus the effect,
    # so its upper limit follows from the lower limit of the effect.
    data[[name]] <- switch(type,
      path = data$.observed - data[[name]],
      percent = percent_of(data$.observed, data$.observed - data[[name]]), data[[name]]
    )
  }
  if (type == "path") {
    data[c("low", "high", "noise_low", "noise_high")] <-
      data[c("high", "low", "noise_high", "noise_low")]
  }
  if (type == "percent" && is_released_group(fit)) {
    statements <- if (simultaneous) fit$release$panel$T1 else 1
    base <- data$.fitted[data$treated]
    data$estimate[data$treated] <- known_share(data$estimate[data$treated], base, fit$base_error)
    width <- interval_quantile(level, statements) * fit$base_error
    data[data$treated, names(limits)] <- c(
      share_limits(limits$low, limits$high, base, width),
      share_limits(limits$noise_low, limits$noise_high, base, width)
    )
  }
  data
}

#' One row per period of a fit, with the bounds of the period
#' @noRd
with_bounds <- function(fit, data) {
  data$.lower <- rep_len(fit$release$bounds$lower, nrow(data))
  data$.upper <- rep_len(fit$release$bounds$upper, nrow(data))
  data
}

#' Effects in per cent, or `NA` if noise leaves unknown whether their base is positive
#'
#' The error of the level of a protected group's released path can exceed the level.
#' @param error (`numeric`)\cr standard errors of the base.
#' @noRd
known_share <- function(share, base, error) {
  ifelse(base > interval_quantile(0.95) * error, share, NA_real_)
}

#' Limits in per cent of a noisy base
#'
#' A ratio r is within the limits if the effect minus r times the base is within the largest
#' combination of both errors (Fieller, 1954). The limits are unknown if the base may be zero.
#' @param low,high (`numeric`)\cr limits of the effect.
#' @param width (`numeric`)\cr the largest error of the base.
#' @return A list: low, high.
#' @noRd
share_limits <- function(low, high, base, width) {
  least <- base - width
  least[!is.na(least) & least <= 0] <- NA_real_
  list(
    100 * low / ifelse(low < 0, least, base + width),
    100 * high / ifelse(high > 0, least, base + width)
  )
}

#' Limits of the effects by target and period, `low` and `high`, and limits from the noise alone
#' @noRd
series_limits <- function(fit, type, level, simultaneous, shrink) {
  table <- effect_limits(fit, level, simultaneous, shrink = shrink)
  rows <- table$term != "average"
  if (type == "cumulative") {
    single <- effect_limits(fit, level)
    return(cumulative_limits(fit, single, level, simultaneous))
  }
  statements <- if (simultaneous) fit$release$panel$T1 else 1
  noise <- interval_quantile(level, statements) * table$privacy.se
  within_limits(list(
    low = table$conf.low[rows], high = table$conf.high[rows],
    noise_low = (table$estimate - noise)[rows], noise_high = (table$estimate + noise)[rows]
  ))
}

#' Limits from the noise, cut off at the limits from all errors, which end at the bounds
#' @noRd
within_limits <- function(limits) {
  known <- !is.na(limits$low) & !is.na(limits$high)
  limits$noise_low[known] <- pmax(limits$noise_low, limits$low)[known]
  limits$noise_high[known] <- pmin(limits$noise_high, limits$high)[known]
  limits
}

#' Limits of the sums of the effects, in proportions between the limits of the first period, which
#' is the first sum, and the limits of the average, which is proportional to the last sum
#' @param table (`data.frame`)\cr from [effect_limits()], pointwise.
#' @noRd
cumulative_limits <- function(fit, table, level, simultaneous) {
  rows <- table$term != "average"
  target <- factor(table$target, levels = unique(table$target))
  total <- stats::ave(table$estimate[rows], target[rows], FUN = cumsum)
  ratio <- function(limit) sum_ratios(fit, table, limit)
  error <- cumulative_errors(fit, c("prediction", "privacy"))
  if (!"prediction" %in% known_parts(fit) && fit$release$privacy$private) {
    error <- cumulative_errors(fit, "privacy")
    ratio <- function(limit) interval_quantile(level)
  }
  noise <- if (fit$release$privacy$private) cumulative_errors(fit, "privacy") else 0
  # Simultaneous limits of all sums are wider by the same factor as the limits of the periods, and
  # by at least Sidak's factor.
  sidak <- if (simultaneous) {
    interval_quantile(level, fit$release$panel$T1) / interval_quantile(level)
  } else {
    1
  }
  wider <- sidak * if (simultaneous) {
    max(1, table$band.error[rows] / table$std.error[rows])
  } else {
    1
  }
  noise <- sidak * interval_quantile(level) * noise
  within_limits(list(
    low = total - wider * ratio("conf.low") * error,
    high = total + wider * ratio("conf.high") * error,
    noise_low = total - noise, noise_high = total + noise
  ))
}

#' Half-widths of all sums of effects, relative to the errors from the covariances
#' @inheritParams cumulative_limits
#' @noRd
sum_ratios <- function(fit, table, limit) {
  modelled <- unlist(lapply(seq_len(nrow(fit$target)), model_errors, fit = fit,
    parts = c("prediction", "privacy")
  ))
  T1 <- fit$release$panel$T1
  ratio <- matrix(abs(table[[limit]] - table$estimate) / modelled, T1 + 1L)
  last <- (seq_len(T1) - 1) / max(1, T1 - 1)
  c(outer(1 - last, ratio[2L, ]) + outer(last, ratio[1L, ]))
}

#' Standard errors of the sums of the effects up to each period, target by target
#' @noRd
cumulative_errors <- function(fit, parts) {
  unlist(lapply(seq_len(nrow(fit$target)), function(i) {
    covariance <- known_covariance(fit, i, parts)
    summing <- lower.tri(covariance, diag = TRUE) + 0
    sqrt(pmax(diag(summing %*% covariance %*% t(summing)), 0))
  }))
}

cumulative_effect <- function(data) {
  effect <- ifelse(data$treated, data$.resid, 0)
  total <- stats::ave(effect, data$target, FUN = cumsum)
  ifelse(data$treated, total, NA_real_)
}

#' Difference in per cent of a base; `NA` if the base is not positive
#' @noRd
percent_of <- function(observed, base) {
  ifelse(!is.na(base) & base > 0, 100 * (observed - base) / base, NA_real_)
}
