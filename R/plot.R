#' Plot a fit
#'
#' Draws the target and its counterfactual, or the gap between them; never a donor.
#'
#' @param x,object (`dp_synth`)\cr a fit.
#' @param type (`string`)\cr `"path"`: observed and counterfactual; `"gap"`: their difference.
#' @param level (`number`, in (0, 1))\cr coverage of the bands.
#' @param simultaneous (`flag`)\cr whether the band shall cover all periods together.
#' @param ... unused.
#' @return `autoplot()`: a ggplot; `plot()` draws it and returns it invisibly. The dark part of the
#'   band is the privacy noise, the light part adds the prediction error; for methods `"output"` and
#'   `"objective"` only the former is known. Holds nothing but the fit's public and released values.
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' panel <- sim_panel(n = 500, T0 = 20, T1 = 6, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 20, epsilon = 2, bounds = c(-1, 1)
#' )
#' plot(fit)
#' plot(fit, type = "gap")
#' @export
plot.dp_synth <- function(x, type = c("path", "gap"), level = 0.95, simultaneous = FALSE, ...) {
  picture <- autoplot.dp_synth(x, type = type, level = level, simultaneous = simultaneous)
  print(picture)
  invisible(picture)
}

#' @rdname plot.dp_synth
#' @exportS3Method ggplot2::autoplot
autoplot.dp_synth <- function(object, type = c("path", "gap"), level = 0.95,
                              simultaneous = FALSE, ...) {
  call <- public_call("plot")
  check_no_dots(..., call = call)
  rlang::check_installed("ggplot2", "to plot a fit.")
  type <- check_choice(type, c("path", "gap"), call = call)
  level <- check_number(level, 0, 1, open = c("min", "max"), call = call)
  data <- plot_data(object, level, check_flag(simultaneous, call = call))
  switch(type, path = plot_path(object, data), gap = plot_gap(object, data))
}

# Okabe and Ito's blue and vermillion: told apart by the colour-blind, and in grey.
line_colours <- c(observed = "#000000", counterfactual = "#0072B2")
band_colour <- "#0072B2"

#' Paths and band limits, one row for each target and period
#' @noRd
plot_data <- function(fit, level, simultaneous) {
  data <- augment.dp_synth(fit)
  data$period <- plot_periods(fit$release$panel$times)[seq_along(fit$release$panel$times)]
  table <- effect_table(fit)
  post <- data$treated
  effect_rows <- table$term != "average"
  data$width <- NA_real_
  data$noise <- NA_real_
  data$width[post] <- interval_width(table, level, simultaneous)[effect_rows]
  table$std.error <- table$privacy.se
  data$noise[post] <- interval_width(table, level, simultaneous)[effect_rows]
  data
}

#' Periods as something an axis can show
#' @noRd
plot_periods <- function(times) {
  if (is.character(times)) {
    factor(times, levels = times)
  } else if (inherits(times, "difftime")) {
    as.numeric(times)
  } else {
    times
  }
}

plot_path <- function(fit, data) {
  lines <- rbind(
    data.frame(data[c("target", "period")], value = data$.observed, line = "observed"),
    data.frame(data[c("target", "period")], value = data$.fitted, line = "counterfactual")
  )
  lines$line <- factor(lines$line, levels = names(line_colours))
  band <- data[!is.na(data$width), ]
  finish_plot(fit, ggplot2::ggplot() +
    band_layer(band, band$.fitted, "width", 0.18) + band_layer(band, band$.fitted, "noise", 0.35) +
    ggplot2::geom_line(
      ggplot2::aes(.data$period, .data$value,
        colour = .data$line, linetype = .data$line, group = .data$line
      ), lines,
      na.rm = TRUE, linewidth = 0.7
    ) +
    single_points(lines) +
    ggplot2::scale_colour_manual(NULL, values = line_colours) +
    ggplot2::scale_linetype_manual(NULL, values = c(observed = 1, counterfactual = 2)) +
    ggplot2::labs(x = NULL, y = fit$release$panel$outcome))
}

plot_gap <- function(fit, data) {
  band <- data[!is.na(data$width), ]
  finish_plot(fit, ggplot2::ggplot() +
    ggplot2::geom_hline(yintercept = 0, colour = "grey60") +
    band_layer(band, band$.resid, "width", 0.18) + band_layer(band, band$.resid, "noise", 0.35) +
    ggplot2::geom_line(ggplot2::aes(.data$period, .data$.resid, group = 1), data,
      na.rm = TRUE, linewidth = 0.7
    ) +
    ggplot2::labs(x = NULL, y = paste("effect on", fit$release$panel$outcome)))
}

#' One band around the counterfactual or the gap, from the treatment on
#' @noRd
band_layer <- function(band, centre, width, alpha) {
  band$low <- centre - band[[width]]
  band$high <- centre + band[[width]]
  if (nrow(band) && all(table(band$target) == 1L)) {
    return(ggplot2::geom_linerange(
      ggplot2::aes(.data$period, ymin = .data$low, ymax = .data$high), band,
      colour = band_colour, alpha = alpha, linewidth = 3
    ))
  }
  ggplot2::geom_ribbon(
    ggplot2::aes(.data$period, ymin = .data$low, ymax = .data$high, group = 1), band,
    fill = band_colour, alpha = alpha
  )
}

#' A line of one period is no line: draw it as a point
#' @noRd
single_points <- function(lines) {
  known <- lines[!is.na(lines$value), ]
  alone <- stats::ave(known$value, known$target, known$line, FUN = length) == 1
  ggplot2::geom_point(
    ggplot2::aes(.data$period, .data$value, colour = .data$line), known[alone, ],
    show.legend = FALSE
  )
}

#' The marks that every plot of a fit has: the treatment, the panels, the privacy statement
#' @noRd
finish_plot <- function(fit, plot) {
  panel <- fit$release$panel
  times <- plot_periods(panel$times)
  start <- if (is.factor(times)) {
    panel$T0 + 0.5
  } else {
    mean(c(as.numeric(times[[panel$T0]]), as.numeric(times[[panel$T0 + 1L]])))
  }
  plot <- plot + ggplot2::geom_vline(xintercept = start, linetype = 3, colour = "grey40") +
    ggplot2::labs(title = plot_title(fit), subtitle = plot_subtitle(fit)) +
    ggplot2::theme_minimal(base_size = 11) +
    ggplot2::theme(legend.position = "bottom", plot.title.position = "plot",
      panel.grid.minor = ggplot2::element_blank(), panel.spacing.x = ggplot2::unit(18, "pt"),
      plot.margin = ggplot2::margin(6, 18, 6, 6)
    )
  if (nrow(fit$target) > 1L) {
    plot <- plot + ggplot2::facet_wrap(~target)
  }
  plot + period_axis(times)
}

#' An axis of periods: whole numbers where they are, and labels that do not run into each other
#' @noRd
period_axis <- function(times) {
  if (is.factor(times)) {
    ggplot2::scale_x_discrete(guide = ggplot2::guide_axis(check.overlap = TRUE))
  } else if (is.numeric(times) && !is.object(times) && all(times == round(times))) {
    ggplot2::scale_x_continuous(breaks = function(limits) {
      unique(round(pretty(limits, min(6, diff(limits)))))
    })
  }
}

plot_title <- function(fit) {
  names <- rownames(fit$target)
  paste0(
    enumerate(utils::head(names, 3L), length(names)),
    " against ", if (length(names) > 1L) "their synthetic controls" else "its synthetic control"
  )
}

plot_subtitle <- function(fit) {
  privacy <- fit$release$privacy
  budget <- paste0("epsilon = ", format(privacy$epsilon), ", delta = ", format(privacy$delta))
  donors <- count_of(fit$release$panel$n, "donor")
  if (!privacy$private) {
    paste0(donors, "; NOT PRIVATE (no noise)")
  } else if (!privacy$holds) {
    paste0(donors, "; NOT PRIVATE (nominal ", budget, " does not hold)")
  } else {
    paste0(donors, "; private with ", budget, "; dark band: privacy noise")
  }
}
