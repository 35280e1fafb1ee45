# Effects of several cohorts and their averages, with errors. Every row of a table is an average
# over cohorts of one number per cohort: the effect in a period, or the mean over the cohort's
# periods.

cohort_types <- c("event", "cohort", "calendar", "group_time", "overall")

#' A type of average, possibly by its name in package did
#' @noRd
check_cohort_type <- function(type) {
  aliases <- c(dynamic = "event", group = "cohort")
  if (rlang::is_string(type, names(aliases))) {
    return(aliases[[type]])
  }
  check_choice(type, cohort_types, "type")
}

#' @noRd
#' @exportS3Method
effects_table.dp_cohorts <- function(fit, level = 0.95, simultaneous = FALSE, type = NULL,
                                     shrink = FALSE) {
  table <- cohort_table(fit, check_cohort_type(type %||% "event"), level, simultaneous)
  table$label <- table$term
  table
}

#' Effects by event time, by cohort, by period, or by all three
#' @param fit (`dp_cohorts`).
#' @param type (`string`)\cr see [tidy.dp_cohorts()].
#' @return A data frame with the columns of `tidy()`, and `band.error`, the standard error for
#'   simultaneous limits.
#' @noRd
cohort_table <- function(fit, type, level = 0.95, simultaneous = FALSE) {
  contrasts <- cohort_contrasts(fit, type)
  pieces <- lapply(fit$cohorts, cohort_pieces, level = level)
  shared <- shared_rows(fit, pieces)
  rows <- lapply(contrasts$parts, contrast_row, pieces, shared, cohort_sizes(fit$cohorts), level)
  table <- cbind(contrasts$labels, do.call(rbind, rows))
  statements <- if (simultaneous) sum(!table$overall) else 1
  error <- if (simultaneous) ifelse(table$overall, table$std.error, table$band.error)
  if (!is.null(error)) {
    width <- ifelse(table$overall, interval_quantile(level), interval_quantile(level, statements)) *
      error
    table$conf.low <- pmax(table$estimate - width, table$least)
    table$conf.high <- pmin(table$estimate + width, table$most)
  }
  # The release contains the past of protected people as fitted values, so there are no residuals.
  if (type == "event" && !is_released_group(fit)) {
    table <- with_residuals(table, cohort_residuals(fit))
  }
  table[setdiff(names(table), c("overall", "least", "most"))]
}

#' The average in each row of a table
#' @return A list: `labels` (a data frame: `term`, `cohort`, `period`, `event`, `kind`, `cohorts`,
#'   `overall`) and `parts`, for each row a data frame with `g` (cohort), `row` (0 for the average,
#'   otherwise the period since adoption, from 1) and `weight`.
#' @noRd
cohort_contrasts <- function(fit, type) {
  size <- cohort_sizes(fit$cohorts)
  dates <- cohort_dates(fit)
  times <- fit$release$panel$times
  last <- length(times)
  each <- function(g, row) {
    data.frame(g = g, row = rep_len(row, length(g)), weight = unname(size[g] / sum(size[g])))
  }
  overall <- list(each(seq_along(size), 0))
  events <- seq_len(last - min(dates))
  treated <- seq.int(min(dates) + 1L, last)
  cell <- do.call(rbind, lapply(seq_along(dates), function(g) {
    data.frame(g = g, row = seq_len(last - dates[[g]]))
  }))
  parts <- switch(type,
    overall = list(),
    event = lapply(events, function(e) each(which(dates + e <= last), e)),
    cohort = lapply(seq_along(size), each, 0),
    calendar = lapply(treated, function(t) each(which(dates < t), t - dates[dates < t])),
    group_time = Map(each, cell$g, cell$row)
  )
  if (type != "group_time") parts <- c(overall, parts)
  blank <- function(values) if (type == "group_time") values else c(NA, values)
  period <- switch(type,
    calendar = times[c(NA, treated)], group_time = times[dates[cell$g] + cell$row],
    times[rep(NA_integer_, length(parts))]
  )
  names <- names(fit$cohorts)
  own <- switch(type, cohort = names, group_time = names[cell$g], rep(NA, length(parts) - 1L))
  event <- switch(type,
    event = events - 1L, group_time = cell$row - 1L, rep(NA_integer_, length(parts) - 1L)
  )
  overall <- seq_along(parts) == 1L & type != "group_time"
  term <- switch(type,
    overall = "average", event = c("average", events - 1L), cohort = c("average", names),
    calendar = c("average", period_text(times[treated])),
    group_time = paste0(own, ": ", period_text(period))
  )
  list(
    labels = data.frame(
      term = term, cohort = blank(own), period = period, event = blank(event),
      kind = rep("effect", length(parts)), cohorts = vapply(parts, nrow, 0L),
      people = vapply(parts, function(part) sum(size[part$g]), 0), overall = overall
    ),
    parts = parts
  )
}

cohort_dates <- function(fit) sort(unique(fit$adopted))

#' One cohort's numbers, for its average and then for its periods
#' @return A data frame: `estimate`; `error`, a standard error without the factors for tails; `tail`
#'   and `band`, the factors by which tails exceed normal tails; `privacy`; `scale` of the shared
#'   part; `least` and `most`, the range of effects within the bounds; and `single`, `low`, `high`,
#'   `p`, the values of the fit for the single row.
#' @noRd
cohort_pieces <- function(fit, level) {
  effect <- effects_of(fit)[1L, ]
  if (inherits(fit, "dp_synth_classical")) {
    unknown <- rep(NA_real_, length(effect) + 1L)
    return(frame_of(
      estimate = c(mean(effect), effect), error = unknown, tail = unknown, band = unknown,
      privacy = unknown, scale = 1, least = -Inf, most = Inf, single = unknown, low = unknown,
      high = unknown, p = unknown
    ))
  }
  table <- effect_limits(fit, level)
  allowed <- if (fit$release$privacy$private) {
    allowed_effects(fit)
  } else {
    list(low = -Inf, high = Inf)
  }
  tails <- cohort_tails(fit, table$std.error)
  frame_of(
    estimate = table$estimate, error = table$std.error / tails$divide, tail = tails$tail,
    band = tails$band, privacy = table$privacy.se, scale = tails$scale, least = allowed$low,
    most = allowed$high, single = table$std.error, low = table$conf.low, high = table$conf.high,
    p = table$p.value
  )
}

#' The factors between a standard error and the quantiles of placebo errors
#' @return A list by row: `divide`, the factor that `std.error` already includes; `tail`; `band`;
#'   and `scale`, a number.
#' @noRd
cohort_tails <- function(fit, error) {
  T1 <- fit$release$panel$T1
  spread <- fit$spread[[1L]]
  if (isTRUE(spread$raw)) {
    reach <- function(simultaneous) {
      limits <- raw_limits(fit, 1L, 0.95, simultaneous)
      if (is.character(limits)) NA_real_ else (limits$conf.high - limits$conf.low) / 2
    }
    quantile <- c(interval_quantile(0.95), rep(interval_quantile(0.95, T1), T1))
    return(list(
      divide = 1, tail = reach(FALSE) / (interval_quantile(0.95) * error),
      band = reach(TRUE) / (quantile * error), scale = 1
    ))
  }
  if (!is.null(spread$reason) || is.null(spread$floor)) {
    return(list(divide = 1, tail = 1, band = 1, scale = 1))
  }
  single <- fit$size[[1L]] == 1
  intervals <- fit$release$statistics$intervals
  # For one person the spread includes the scale of the person's row.
  scale <- if (single) {
    spread$average / interval_factors(intervals, 1, T1)$average
  } else {
    1
  }
  tail <- c(spread$average, rep(spread$period, T1)) / scale
  band <- c(spread$average, rep(spread$joint %||% spread$band, T1)) / scale
  # An average may use a second moment below the prediction from the moments. It must not use a
  # single tail below one, since rare large errors are more frequent in an average of people.
  known <- 1
  if (single) {
    second <- (max(intervals$second, 0) + intervals$second_sd) * release_scale(fit$release)$unit^2
    known <- min(1, sqrt(second) * scale * tail[[1L]] / error[[1L]])
  }
  list(
    divide = tail / known, tail = tail / known, band = band / known,
    scale = if (single) scale * sqrt(spread$floor) else 1
  )
}

#' Shared covariances of cohorts, for the rows from `cohort_pieces()`
#' @return A list of matrices `privacy` and `all`, with `at`, the position before each cohort's
#'   first row; `NULL` if errors are unknown.
#' @noRd
shared_rows <- function(fit, pieces) {
  if (is.null(fit$errors)) {
    return(NULL)
  }
  sizes <- vapply(pieces, nrow, 0L)
  rows <- sum(sizes)
  form <- matrix(0, rows, rows - length(sizes))
  at <- cumsum(sizes) - sizes
  for (g in seq_along(sizes)) {
    T1 <- sizes[[g]] - 1L
    columns <- at[[g]] - (g - 1L) + seq_len(T1)
    form[at[[g]] + 1L, columns] <- 1 / T1
    form[cbind(at[[g]] + 1L + seq_len(T1), columns)] <- 1
  }
  scale <- unlist(lapply(pieces, `[[`, "scale"))
  by_row <- function(covariance) form %*% covariance %*% t(form)
  privacy <- by_row(fit$errors$privacy)
  list(
    privacy = privacy, at = at,
    all = (privacy + by_row(fit$errors$regression)) * tcrossprod(scale)
  )
}

#' An average over cohorts, with its errors
#' @param part (`data.frame`)\cr from [cohort_contrasts()].
#' @param size (`numeric`)\cr number of people in each cohort.
#' @noRd
contrast_row <- function(part, pieces, shared, size, level) {
  own <- do.call(rbind, Map(function(g, row) pieces[[g]][row + 1L, ], part$g, part$row))
  a <- part$weight
  estimate <- sum(a * own$estimate)
  least <- sum(a * own$least)
  most <- sum(a * own$most)
  if (nrow(own) == 1L) {
    return(frame_of(
      estimate = estimate, std.error = own$single, privacy.se = own$privacy,
      statistic = estimate / own$single, p.value = own$p, conf.low = own$low,
      conf.high = own$high, band.error = own$error * own$band, least = least, most = most
    ))
  }
  at <- shared$at[part$g] + part$row + 1L
  between <- function(covariance) {
    if (is.null(covariance)) return(NA_real_)
    cross <- covariance[at, at]
    diag(cross) <- 0
    drop(a %*% cross %*% a)
  }
  people <- 1 / sum(a^2 / size[part$g])
  periods <- part$row[[1L]] > 0
  variance <- sum((a * own$error)^2) + between(shared$all)
  private <- any(own$privacy > 0, na.rm = TRUE)
  error <- function(tail, rest) {
    average_error(a, own$error, tail, variance, people, if (private) rest else 0)
  }
  single <- error(own$tail, if (periods) 3 else 1)
  width <- interval_quantile(level) * single
  frame_of(
    estimate = estimate, std.error = single,
    privacy.se = sqrt(max(0, sum((a * own$privacy)^2) + between(shared$privacy))),
    statistic = estimate / single, p.value = normal_p(estimate / single),
    conf.low = max(least, estimate - width), conf.high = min(most, estimate + width),
    band.error = max(single, error(own$band, if (periods) 4 else 1)), least = least, most = most
  )
}

#' Calibrated standard error of an average over cohorts
#'
#' As for the mean of several people, tails become lighter with the number of cohorts, and with few
#' people a margin for rare events remains. The standard error is at most the joint allowance of the
#' cohorts' intervals (Bonferroni).
#' @param a (`numeric`)\cr weights.
#' @param error,tail (`numeric`)\cr the error and the tail of each cohort, see [cohort_pieces()].
#' @param variance (`number`)\cr the variance of the average by the covariances.
#' @param people (`number`)\cr the effective number of people.
#' @param rest (`number`)\cr the margin for one person.
#' @noRd
average_error <- function(a, error, tail, variance, people, rest) {
  lift <- 1 + max(0, max(tail) - 1) * sqrt(sum(a^2)) + rest / people
  together <- stats::qnorm(1 - 0.025 / length(a)) / interval_quantile(0.95)
  min(
    lift * sqrt(max(0, variance)), together * sum(a * error * pmax(tail, 1))
  )
}

#' Residuals before the adoption, by time to the adoption
#' @return A data frame: `event`, `kind`, `cohorts`, `people`, `estimate`.
#' @noRd
cohort_residuals <- function(fit) {
  dates <- cohort_dates(fit)
  size <- cohort_sizes(fit$cohorts)
  fitted <- do.call(rbind, lapply(seq_along(dates), function(g) {
    residual <- residuals.dp_synth(fit$cohorts[[g]])[1L, ]
    data.frame(cohort = g, period = seq_along(residual), residual = unname(residual))
  }))
  fitted$kind <- rep("fitted", nrow(fitted))
  forecast <- fit$forecasts
  if (NROW(forecast)) forecast$kind <- "forecast"
  all <- rbind(fitted, if (NROW(forecast)) forecast)
  all$event <- all$period - dates[all$cohort] - 1L
  rows <- lapply(sort(unique(all$event)), function(e) {
    here <- all[all$event == e, ]
    kind <- if (any(here$kind == "forecast")) "forecast" else "fitted"
    here <- here[here$kind == kind, ]
    data.frame(
      event = e, kind = kind, cohorts = nrow(here), people = sum(size[here$cohort]),
      estimate = stats::weighted.mean(here$residual, size[here$cohort])
    )
  })
  do.call(rbind, rows)
}

#' A table by event time with the residuals before the adoption
#' @noRd
with_residuals <- function(table, residuals) {
  before <- table[rep(1L, nrow(residuals)), ]
  before[vapply(before, is.numeric, NA)] <- NA
  before[names(residuals)] <- residuals
  before$term <- as.character(residuals$event)
  before$overall <- rep(FALSE, nrow(before))
  out <- rbind(table[1L, ], before, table[-1L, ])
  rownames(out) <- NULL
  out
}

#' Covariance of the effects of a type, calibrated like their standard errors
#' @noRd
cohort_covariance <- function(fit, type) {
  contrasts <- cohort_contrasts(fit, type)
  table <- cohort_table(fit, type)
  table <- table[table$kind == "effect", ]
  pieces <- lapply(fit$cohorts, cohort_pieces, level = 0.95)
  sizes <- vapply(pieces, nrow, 0L)
  at <- cumsum(sizes) - sizes
  form <- matrix(0, nrow(table), sum(sizes))
  for (i in seq_along(contrasts$parts)) {
    part <- contrasts$parts[[i]]
    form[i, at[part$g] + part$row + 1L] <- part$weight
  }
  joint <- joint_covariance(fit, pieces)
  out <- form %*% joint %*% t(form)
  lift <- table$std.error / sqrt(diag(out))
  lift[!is.finite(lift)] <- NA_real_
  out <- out * tcrossprod(lift)
  dimnames(out) <- rep(list(table$term), 2L)
  out
}

#' Covariance of all cohorts' rows, from a separate part per cohort and a part that cohorts share
#' @noRd
joint_covariance <- function(fit, pieces) {
  shared <- shared_rows(fit, pieces)
  sizes <- vapply(pieces, nrow, 0L)
  if (is.null(shared)) {
    return(matrix(NA_real_, sum(sizes), sum(sizes)))
  }
  out <- shared$all
  for (g in seq_along(sizes)) {
    rows <- shared$at[[g]] + seq_len(sizes[[g]])
    out[rows, rows] <- stats::vcov(fit$cohorts[[g]])
  }
  out
}
