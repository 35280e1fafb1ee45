# Plots of inference that moves in time. Drawn from the result, never from donors.

#' @rdname placebo_time
#' @export
plot.dp_placebo_time <- function(x, ...) {
  picture <- autoplot.dp_placebo_time(x, ...)
  print(picture)
  invisible(picture)
}

#' @rdname placebo_time
#' @exportS3Method ggplot2::autoplot
autoplot.dp_placebo_time <- function(object, ...) {
  check_no_dots(..., call = public_call("plot"))
  rlang::check_installed("ggplot2", "to plot placebo dates.")
  data <- as.data.frame(unclass(object))
  data$date <- plot_periods(data$date)
  width <- interval_quantile(0.95) * data$std.error
  data$low <- data$effect - width
  data$high <- data$effect + width
  plot <- ggplot2::ggplot(data, ggplot2::aes(.data$date, .data$effect)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey60") +
    ggplot2::geom_linerange(ggplot2::aes(ymin = .data$low, ymax = .data$high),
      colour = band_colour, alpha = 0.5, linewidth = 1.2, na.rm = TRUE
    ) +
    ggplot2::geom_point(size = 2) +
    ggplot2::labs(
      x = "pretended start of the treatment", y = "mean effect until the true start",
      subtitle = paste0(
        if (!isTRUE(attr(object, "private"))) "NOT PRIVATE. ", "No effect can be there",
        if (!all(is.na(data$std.error))) "; bars: pointwise 95 % intervals"
      )
    ) +
    period_axis(data$date) +
    inference_theme()
  if (length(unique(data$target)) > 1L) plot <- plot + ggplot2::facet_wrap(~target)
  plot
}

#' @rdname penalty_path
#' @export
plot.dp_penalty_path <- function(x, ...) {
  picture <- autoplot.dp_penalty_path(x, ...)
  print(picture)
  invisible(picture)
}

#' @rdname penalty_path
#' @exportS3Method ggplot2::autoplot
autoplot.dp_penalty_path <- function(object, ...) {
  check_no_dots(..., call = public_call("plot"))
  rlang::check_installed("ggplot2", "to plot a penalty path.")
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
  long$low <- long$value - long$width
  long$high <- long$value + long$width
  ggplot2::ggplot(long, ggplot2::aes(.data$penalty, .data$value, group = .data$target)) +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = .data$low, ymax = .data$high),
      long[!is.na(long$width), ],
      fill = band_colour, alpha = 0.2
    ) +
    ggplot2::geom_line(colour = band_colour, linewidth = 0.7, na.rm = TRUE) +
    ggplot2::facet_wrap(~panel, scales = "free_y", ncol = 1L) +
    ggplot2::scale_x_log10() +
    ggplot2::labs(x = "penalty", y = NULL) +
    inference_theme()
}

#' @rdname conformal
#' @export
plot.dp_conformal <- function(x, ...) {
  picture <- autoplot.dp_conformal(x, ...)
  print(picture)
  invisible(picture)
}

#' @rdname conformal
#' @exportS3Method ggplot2::autoplot
autoplot.dp_conformal <- function(object, ...) {
  call <- public_call("plot")
  check_no_dots(..., call = call)
  rlang::check_installed("ggplot2", "to plot conformal intervals.")
  if (NROW(object$intervals) == 0L) {
    abort(c(
      "There are no intervals to plot.",
      i = object$note[2L] %||% "Call {.fn conformal} with {.code intervals = TRUE}."
    ), "argument", call)
  }
  data <- object$intervals
  data$term <- factor(data$term, levels = unique(data$term))
  ggplot2::ggplot(data, ggplot2::aes(.data$term, .data$estimate)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey60") +
    ggplot2::geom_linerange(ggplot2::aes(ymin = .data$conf.low, ymax = .data$conf.high),
      colour = band_colour, alpha = 0.5, linewidth = 1.2, na.rm = TRUE
    ) +
    ggplot2::geom_point(size = 2) +
    ggplot2::facet_wrap(~target) +
    ggplot2::labs(
      x = NULL, y = "effect",
      subtitle = paste0(
        if (!object$private) "NOT PRIVATE. ", "Conformal ", format(100 * object$level),
        " % intervals"
      )
    ) +
    inference_theme()
}

inference_theme <- function() {
  list(
    ggplot2::theme_minimal(base_size = 11),
    ggplot2::theme(
      panel.grid.minor = ggplot2::element_blank(), plot.margin = ggplot2::margin(6, 18, 6, 6)
    )
  )
}
