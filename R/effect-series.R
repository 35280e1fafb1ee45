# The paths that plots draw and `as.data.frame()` gives: one row for each target and period, with
# limits. Computed from the fit alone.

#' A series of a fit with its limits
#' @param type (`string`)\cr `"path"` (the counterfactual), `"effect"`, `"cumulative"` or
#'   `"percent"`.
#' @return A data frame: `target` (factor in the fit's order), `period` (as on an axis), `treated`,
#'   `.observed`, `.fitted`, `estimate`, `low`, `high` (all errors), `noise_low`, `noise_high` (the
#'   privacy noise alone). Limits are `NA` before the treatment and where errors are not known.
#' @noRd
effect_series <- function(fit, type, level, simultaneous = FALSE) {
  data <- augment.dp_synth(fit)
  data$target <- factor(data$target, levels = unique(data$target))
  times <- fit$release$panel$times
  data$period <- rep(plot_periods(times), nrow(fit$target))
  table <- effect_table(fit)
  width <- limit_widths(fit, table, type, level, simultaneous)
  for (name in c("width", "noise")) {
    data[[name]] <- NA_real_
    data[[name]][data$treated] <- width[[name]]
  }
  data$estimate <- switch(type,
    path = data$.fitted, effect = data$.resid, percent = percent_of(data$.observed, data$.fitted),
    cumulative = cumulative_effect(data)
  )
  if (type == "percent") {
    # More counterfactual is less effect: the limits change sides.
    data$low <- percent_of(data$.observed, data$.fitted + data$width)
    data$high <- percent_of(data$.observed, data$.fitted - data$width)
    data$noise_low <- percent_of(data$.observed, data$.fitted + data$noise)
    data$noise_high <- percent_of(data$.observed, data$.fitted - data$noise)
    return(data)
  }
  data$low <- data$estimate - data$width
  data$high <- data$estimate + data$width
  data$noise_low <- data$estimate - data$noise
  data$noise_high <- data$estimate + data$noise
  data
}

#' Half-widths of the limits by target and period, and those of the noise alone
#' @noRd
limit_widths <- function(fit, table, type, level, simultaneous) {
  rows <- table$term != "average"
  noise <- table
  noise$std.error <- table$privacy.se
  if (type == "cumulative") {
    table$std.error[rows] <- cumulative_errors(fit, known_parts(fit))
    noise$std.error[rows] <- cumulative_errors(fit, intersect(known_parts(fit), "privacy"))
  }
  list(
    width = interval_width(table, level, simultaneous)[rows],
    noise = interval_width(noise, level, simultaneous)[rows]
  )
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

#' Difference in per cent of a base; `NA` where the base is not positive
#' @noRd
percent_of <- function(observed, base) {
  ifelse(!is.na(base) & base > 0, 100 * (observed - base) / base, NA_real_)
}
