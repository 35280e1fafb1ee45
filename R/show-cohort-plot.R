# Plots of several adoption dates: effects by time since adoption, by cohort and by period, and the
# paths of the cohorts. Donors are never plotted.

#' @rdname dp_cohorts
#' @exportS3Method ggplot2::autoplot
autoplot.dp_cohorts <- function(object, type = c("event", "cohort", "calendar", "path"),
                                level = 0.95, simultaneous = FALSE, labels = NULL,
                                ...) door("plot", {
  start_picture("to plot a fit.", ...)
  if (identical(type, "dynamic")) type <- "event"
  if (identical(type, "group")) type <- "cohort"
  type <- check_choice(type, c("event", "cohort", "calendar", "path"))
  level <- check_level(level)
  simultaneous <- check_flag(simultaneous)
  object$release$panel$outcome <- labelled(object$release$panel$outcome, labels)
  if (type == "path") {
    return(plot_cohort_paths(object, level, simultaneous))
  }
  plot_cohort_effects(object, type, level, simultaneous)
})

#' @rdname dp_cohorts
#' @export
plot.dp_cohorts <- plot_by(autoplot.dp_cohorts)

#' Data of an effect plot: the rows of the table, with limits and the part from noise
#' @noRd
plot_data_cohorts <- function(fit, type, level, simultaneous) {
  table <- cohort_table(fit, type, level, simultaneous)
  table <- table[!table$term %in% "average", ]
  statements <- if (simultaneous) sum(table$kind == "effect") else 1
  noise <- interval_quantile(level, statements) * table$privacy.se
  at <- switch(type,
    event = table$event, calendar = plot_periods(table$period),
    cohort = factor(table$cohort, levels = table$cohort)
  )
  limits <- within_limits(list(
    low = table$conf.low, high = table$conf.high,
    noise_low = table$estimate - noise, noise_high = table$estimate + noise
  ))
  data.frame(
    at = at, estimate = table$estimate, limits,
    kind = factor(table$kind, levels = names(kind_labels)), cohorts = table$cohorts
  )
}

kind_labels <- c(
  effect = "effect", forecast = "before adoption: forecast error",
  fitted = "before adoption: residual of the fit"
)
kind_shapes <- c(effect = 16, forecast = 1, fitted = 4)

plot_cohort_effects <- function(fit, type, level, simultaneous) {
  data <- plot_data_cohorts(fit, type, level, simultaneous)
  outcome <- axis_name(fit$release$panel$outcome)
  draw_cohort_effects(fit, data, type, level, simultaneous) +
    ggplot2::labs(
      y = paste("effect on", outcome), title = cohort_title(fit), subtitle = cohort_subtitle(fit)
    )
}

#' @param data (`data.frame`)\cr from [plot_data_cohorts()].
#' @noRd
draw_cohort_effects <- function(fit, data, type, level, simultaneous) {
  kinds <- levels(droplevels(data$kind))
  plot <- ggplot2::ggplot(data, ggplot2::aes(.data$at, .data$estimate)) + zero_line() +
    cohort_bars(fit, data, level, simultaneous) +
    ggplot2::geom_point(ggplot2::aes(shape = .data$kind), size = 2, na.rm = TRUE) +
    # The expansion keeps points at the ends of the axis whole.
    ggplot2::scale_y_continuous(expand = ggplot2::expansion(0.08)) +
    ggplot2::scale_shape_manual(NULL, values = kind_shapes[kinds], labels = kind_labels[kinds],
      guide = if (length(kinds) > 1L) ggplot2::guide_legend(order = 1) else "none"
    ) +
    dpsc_theme() +
    ggplot2::labs(x = switch(type,
      event = "periods since adoption (the first: 0)",
      calendar = axis_of_times(fit$release$panel$times), cohort = "treated from"
    ))
  plot + switch(type,
    event = list(
      ggplot2::geom_vline(xintercept = -0.5, linetype = 3, colour = guide_colour),
      ggplot2::labs(caption = dotted_line_words), period_axis(data$at)
    ),
    calendar = period_axis(data$at),
    cohort = ggplot2::scale_x_discrete(guide = ggplot2::guide_axis(check.overlap = TRUE))
  )
}

#' Display of errors as bars
#' @noRd
cohort_bars <- function(fit, data, level, simultaneous) {
  if (!fit$release$privacy$private) data$noise_low <- data$noise_high <- NA_real_
  covers <- if (simultaneous) ", all points together" else ", each point by itself"
  columns <- intersect(
    c("target", "at", "low", "high", "noise_low", "noise_high"), names(data)
  )
  error_layers(data[columns], "bar", band_labels(level, covers, !all(is.na(data$low))))
}

cohort_title <- function(fit) {
  paste0(
    count_of(length(fit$adopted), "treated unit"), ", ", length(fit$cohorts), " adoption dates"
  )
}

cohort_subtitle <- function(fit) {
  # The subtitle describes the whole release, which every cohort's fit contains.
  plot_subtitle(fit$cohorts[[1L]], 1L)
}

#' Cohorts' paths and adoption dates
#' @param before (`string`)\cr prefix of a panel's name.
#' @return A list: `paths`, as from [effect_series()], and `adoption`. Both contain the panel's
#'   name, `target`.
#' @noRd
cohort_paths <- function(fit, level, simultaneous, before = "") {
  names <- utils::head(names(fit$cohorts), most_panels)
  panels <- paste0(before, "from ", names)
  paths <- do.call(rbind, lapply(seq_along(names), function(g) {
    one <- effect_series(fit$cohorts[[g]], "path", level, simultaneous)
    one$target <- panels[[g]]
    one
  }))
  times <- plot_periods(fit$release$panel$times)
  at <- between_periods(times, utils::head(cohort_dates(fit), most_panels))
  list(paths = paths, adoption = data.frame(target = panels, at = at))
}

plot_cohort_paths <- function(fit, level, simultaneous) {
  known <- cohort_paths(fit, level, simultaneous)
  plot <- draw_cohort_paths(fit, known, level, simultaneous) + ggplot2::labs(
    x = axis_of_periods(fit), caption = dotted_line_words,
    y = axis_name(fit$release$panel$outcome), title = cohort_title(fit),
    subtitle = cohort_subtitle(fit)
  )
  error <- unlist(lapply(fit$cohorts, `[[`, "base_error"))
  with_note(plot, path_words(fit$cohorts[[1L]], error))
}

#' @param known (`list`)\cr from [cohort_paths()].
#' @noRd
draw_cohort_paths <- function(fit, known, level, simultaneous, across = NULL, scales = "fixed") {
  panels <- known$adoption$target
  adoption <- known$adoption
  adoption$target <- factor(panels, levels = panels)
  paths <- known$paths
  paths$target <- factor(paths$target, levels = panels)
  one <- fit$cohorts[[1L]]
  lines <- fit_lines(paths, is_released_group(one))
  n <- length(panels)
  across <- across %||% if (n > 4L) 3 else if (n > 1L) 2 else 1
  ggplot2::ggplot() +
    dotted_at(adoption) +
    path_bands(one, paths, level, simultaneous) + path_lines(lines) + lone_points(lines) +
    target_panels(paths$target, ncol = across, scales = scales) +
    period_axis(plot_periods(fit$release$panel$times), across) + dpsc_theme()
}
