# Plots of inference over time, drawn from the result, never from donors.
#
# A ggplot keeps the frame in which it was made. The frame of an S3 method refers to its caller's
# environment, which may contain the donors. So the methods call separate functions that draw.

#' @rdname placebo_time
#' @exportS3Method ggplot2::autoplot
autoplot.dp_placebo_time <- function(object, type = c("effect", "path"), dates = NULL,
                                     labels = NULL, ...) door("plot", {
  start_picture("to plot placebo dates.", ...)
  attr(object, "outcome") <- labelled(attr(object, "outcome") %||% "outcome", labels)
  type <- check_choice(type, c("effect", "path"))
  switch(type, effect = draw_placebo_dates(object), path = draw_placebo_paths(object, dates))
})

#' @rdname placebo_time
#' @export
plot.dp_placebo_time <- plot_by(autoplot.dp_placebo_time)

# The default number of placebo dates in a plot.
most_dates <- 4L

#' The placebo dates to draw
#' @noRd
chosen_dates <- function(object, dates) {
  known <- unique(object$date)
  if (is.null(dates)) {
    return(known[unique(round(seq(1, length(known), length.out = min(length(known), most_dates))))])
  }
  at <- match(period_text(dates), period_text(known))
  if (anyNA(at) || !length(at)) {
    abort(c(
      "{.arg dates} must be placebo dates of the result.",
      i = "The dates are {period_text(known)}."
    ), "argument")
  }
  known[at]
}

#' Panels of the placebo dates: observed and refitted paths
#' @return A list: `lines`, in the form for [path_lines()], and `start` (of each panel).
#' @noRd
placebo_lines <- function(object, dates) {
  paths <- attr(object, "paths")
  if (is.null(paths)) {
    abort("Paths need the whole result: select by {.arg dates}, not by rows.", "argument")
  }
  paths <- paths[period_text(paths$date) %in% period_text(chosen_dates(object, dates)), ]
  panel <- paste("from", period_text(paths$date))
  if (length(unique(paths$target)) > 1L) panel <- paste0(paths$target, ", ", panel)
  paths$target <- factor(panel, levels = unique(panel))
  times <- plot_periods(unique(paths$period))
  paths$period <- times[match(period_text(paths$period), period_text(unique(paths$period)))]
  T0 <- tapply(!paths$treated, paths$target, sum)
  start <- between_periods(times, as.vector(T0))
  list(
    lines = fit_lines(paths, FALSE), times = times,
    start = data.frame(target = factor(names(T0), levels = levels(paths$target)), at = start)
  )
}

draw_placebo_paths <- function(object, dates) {
  data <- placebo_lines(object, dates)
  panels <- nlevels(data$lines$target)
  across <- if (panels > 4L) 3 else if (panels > 1L) 2 else 1
  ggplot2::ggplot() +
    dotted_at(data$start) + path_lines(data$lines) + target_panels(data$lines$target, across) +
    period_axis(data$times, across) +
    ggplot2::labs(
      x = axis_of_times(data$times), y = outcome_label(list(outcome = attr(object, "outcome"))),
      title = "Placebos in time",
      subtitle = paste0(
        if (!isTRUE(attr(object, "private"))) "NOT PRIVATE. ",
        "There can be no effect yet: the lines should stay together"
      ),
      caption = "Dotted line: placebo start of the treatment."
    ) +
    dpsc_theme()
}

draw_placebo_dates <- function(object) {
  data <- as.data.frame(unclass(object))
  data$date <- plot_periods(data$date)
  data$target <- factor(data$target, levels = unique(data$target))
  width <- interval_quantile(0.95) * data$std.error
  errors <- data.frame(
    target = data$target, at = data$date, low = data$effect - width, high = data$effect + width
  )
  # Classical fits, on raw donors, and fits without an interval contain no standard errors.
  bars <- !all(is.na(width))
  across <- min(3, length(levels(data$target)))
  ggplot2::ggplot(data, ggplot2::aes(.data$date, .data$effect)) +
    zero_line() +
    error_layers(errors, "bar") +
    ggplot2::geom_point(size = 1.8) +
    ggplot2::labs(
      x = "placebo start of the treatment", y = "mean effect until the true start",
      title = "Placebos in time", subtitle = paste0(
        if (!isTRUE(attr(object, "private"))) "NOT PRIVATE. ", "There can be no effect yet",
        if (bars) "; bars: 95 % interval, each date by itself"
      )
    ) +
    period_axis(data$date, across) +
    target_panels(data$target, ncol = across) +
    dpsc_theme()
}

#' @rdname penalty_path
#' @exportS3Method ggplot2::autoplot
autoplot.dp_penalty_path <- function(object, ...) door("plot", {
  start_picture("to plot a penalty path.", ...)
  draw_penalty_path(object)
})

#' @rdname penalty_path
#' @export
plot.dp_penalty_path <- plot_by(autoplot.dp_penalty_path)

draw_penalty_path <- function(object) {
  data <- as.data.frame(unclass(object))
  labels <- c(
    effect = "average effect (band: 95 % interval)", weight = "weight in the fit",
    cv = "forecast error of the pre-period"
  )
  shown <- names(labels)[c(TRUE, TRUE, !all(is.na(data$cv)))]
  long <- do.call(rbind, lapply(shown, function(column) {
    data.frame(data[c("target", "penalty")],
      value = data[[column]], panel = factor(labels[[column]], levels = labels),
      width = if (column == "effect") interval_quantile(0.95) * data$std.error else NA_real_
    )
  }))
  limits <- data.frame(
    target = long$target, panel = long$panel, at = long$penalty, low = long$value - long$width,
    high = long$value + long$width
  )
  ggplot2::ggplot(long, ggplot2::aes(.data$penalty, .data$value, group = .data$target)) +
    error_layers(limits, "band") +
    ggplot2::geom_line(colour = band_colour, linewidth = 0.7, na.rm = TRUE) +
    ggplot2::facet_wrap(~panel, scales = "free_y", ncol = 1L) +
    log_axis(long$penalty) +
    ggplot2::labs(
      x = "penalty", y = NULL, title = "Effect under every penalty",
      subtitle = if (!isTRUE(attr(object, "private"))) "NOT PRIVATE"
    ) +
    dpsc_theme()
}

#' @rdname conformal
#' @exportS3Method ggplot2::autoplot
autoplot.dp_conformal <- function(object, ...) door("plot", {
  start_picture("to plot conformal intervals.", ...)
  if (NROW(object$intervals) == 0L) {
    abort(c(
      "There are no intervals to plot.",
      i = object$note[2L] %||% "Call {.fn conformal} with {.code intervals = TRUE}."
    ), "argument")
  }
  draw_conformal(object)
})

#' @rdname conformal
#' @export
plot.dp_conformal <- plot_by(autoplot.dp_conformal)

draw_conformal <- function(object) {
  data <- object$intervals
  data$target <- factor(data$target, levels = unique(data$target))
  across <- min(3, length(levels(data$target)))
  # An unbounded interval is drawn as an arrow, without a bar.
  data$open <- is.infinite(data$conf.low) | is.infinite(data$conf.high)
  terms <- factor(data$term, levels = unique(data$term))
  data$term <- terms
  limits <- data.frame(
    target = data$target, at = terms, low = data$conf.low, high = data$conf.high
  )
  ggplot2::ggplot(data, ggplot2::aes(.data$term, .data$estimate)) +
    zero_line() +
    error_layers(limits[!data$open, ], "bar") +
    ggplot2::geom_point(ggplot2::aes(shape = .data$open), size = 1.8, show.legend = FALSE) +
    ggplot2::scale_shape_manual(values = c(`FALSE` = 16, `TRUE` = 1)) +
    period_axis(terms, across) +
    target_panels(data$target, ncol = across) +
    ggplot2::labs(
      x = "period", y = "effect",
      title = paste("Conformal", percent_text(object$level), "intervals"),
      subtitle = paste0(
        if (!object$private) "NOT PRIVATE. ", "Each bar by itself",
        if (any(data$open)) {
          paste0(
            "; hollow: no interval, since ", percent_text(object$level),
            " needs more periods before the treatment"
          )
        }
      )
    ) +
    dpsc_theme()
}
