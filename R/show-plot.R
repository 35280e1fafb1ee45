#' @rdname plot.dp_synth
#' @exportS3Method ggplot2::autoplot
autoplot.dp_synth <- function(object, type = c(
                                "path", "effect", "cumulative", "percent", "weights", "balance"
                              ), level = 0.95, simultaneous = FALSE, targets = NULL,
                              labels = NULL, ..., shrink = FALSE) door("plot", {
  start_picture("to plot a fit.", ...)
  if (identical(type, "gap")) type <- "effect"
  type <- check_choice(
    type, c("path", "effect", "cumulative", "percent", "weights", "balance")
  )
  level <- check_level(level)
  simultaneous <- check_flag(simultaneous)
  object$release$panel$outcome <- labelled(object$release$panel$outcome, labels)
  # With several treated units the fit is for the group. Named units are drawn separately.
  if (!is.null(targets)) object <- fit_view(object, "unit")
  shown <- chosen_targets(object, targets)
  switch(type,
    weights = plot_fit_weights(object), balance = plot_balance(object, shown),
    path = plot_path(object, shown, level, simultaneous),
    plot_effect(object, shown, type, level, simultaneous, check_flag(shrink))
  )
}, page = "autoplot.dp_synth")

#' @rdname plot.dp_synth
#' @export
plot.dp_release <- function(x, ...) door("plot", {
  abort(c(
    "A release has no target to plot.",
    i = "Fit a target: {.code plot(dp_synth(release, target = ))}."
  ), "argument")
})

#' Plot a fit
#'
#' Draws the target and the counterfactual, or their difference with limits. No figure shows a
#' single donor, except the weights in a classical fit, which is NOT PRIVATE.
#'
#' @param x,object (`dp_synth`)\cr a fit. A `dp_release` is refused: fit a target to it first.
#' @param type (`string`)\cr
#'   * `"path"`: the observed and the counterfactual outcome.
#'   * `"effect"` (or `"gap"`): the observed minus the counterfactual outcome.
#'   * `"cumulative"`: the sum of the effects from the treatment on.
#'   * `"percent"`: the effect in per cent of the counterfactual; for protected people only in
#'     periods in which the counterfactual is positive beyond the noise of its level.
#'   * `"balance"`: the target's difference, before the treatment, from the synthetic control and
#'     from the donors' mean (for method `"gram"`, from the path by difference-in-differences on the
#'     same release). For `estimator = "predictors"` there is a difference for each predictor, in
#'     standard deviations. Not available for methods `"output"` and `"objective"`, nor for
#'     protected treated people.
#'   * `"weights"`: the weights of at most 25 donors, the largest first, for classical fits only.
#' @param level (`number`, in (0, 1))\cr coverage of the bands.
#' @param simultaneous (`flag`)\cr whether the band covers all periods together.
#' @param targets (`character`, `numeric` or `NULL`)\cr the targets to plot, by name or position.
#'   With `NULL` the figure shows the group of several treated units, or the first nine targets.
#' @param labels (`character` or `NULL`)\cr readable names of outcomes or of the terms of a
#'   regression. For example, `c(cigsale = "Packs per person")` replaces the name `cigsale` by this
#'   text.
#' @param shrink (`flag`)\cr for `type = "effect"`: whether to shrink the effects of a protected
#'   group's periods, see [tidy.dp_synth()].
#' @param ... unused; an unknown argument causes an error.
#' @return `autoplot()` returns a ggplot, to which you can add layers and scales; `plot()` draws
#'   this ggplot and returns it invisibly. The light band is the interval, and the dark band is the
#'   part from the privacy noise alone; for methods `"output"` and `"objective"` only the dark band
#'   is known. The plot contains only public and released values of the fit; its numbers come from
#'   [as.data.frame()][coef.dp_synth()]. Text breaks into lines that fit on the page, and is smaller
#'   on pages narrower than 4.5 inches.
#' @section Errors: `dpsc_error_argument`.
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' panel <- sim_panel(n = 500, T0 = 20, T1 = 6, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 20, epsilon = 2, bounds = c(-1, 1)
#' )
#' plot(fit)
#' plot(fit, type = "cumulative", simultaneous = TRUE)
#' @export
plot.dp_synth <- plot_by(autoplot.dp_synth)

# Small multiples remain readable up to a grid of three by three.
most_panels <- 9L

#' Positions of the targets to draw
#' @noRd
chosen_targets <- function(fit, targets) {
  names <- rownames(fit$target)
  if (is.null(targets)) {
    return(utils::head(seq_along(names), most_panels))
  }
  at <- if (is.numeric(targets)) match(targets, seq_along(names)) else match(targets, names)
  if (anyNA(at) || !length(at)) {
    abort(c(
      "{.arg targets} must name targets of the fit, or give their positions.",
      i = "The fit has {length(names)} target{?s}."
    ), "argument")
  }
  at
}

plot_path <- function(fit, shown, level, simultaneous) {
  data <- rows_shown(fit, effect_series(fit, "path", level, simultaneous), shown)
  plot <- draw_paths(fit, data, level, simultaneous) +
    ggplot2::labs(x = axis_of_periods(fit), y = axis_name(fit$release$panel$outcome))
  with_note(finish_plot(fit, plot, data, shown, level), path_words(fit))
}

#' Meaning of a protected group's band, and the noise of its level; or `NULL`
#' @param error (`numeric`)\cr standard errors of the level, in the unit of the figure, if any.
#' @noRd
path_words <- function(fit, error = fit$base_error) {
  if (is_released_group(fit)) {
    paste0(
      "The band is for the difference of the lines. Noise may also shift both lines together",
      if (length(error)) paste(", by a standard deviation of", format(max(error), digits = 2L)), "."
    )
  }
}

#' Observed and counterfactual lines over the band
#' @param data (`data.frame`)\cr from [effect_series()].
#' @noRd
draw_paths <- function(fit, data, level, simultaneous) {
  lines <- fit_lines(data, is_released_group(fit))
  ggplot2::ggplot() + path_bands(fit, data, level, simultaneous) + path_lines(lines) +
    lone_points(lines)
}

#' Bands of paths: around the counterfactual, or around the released path, within its bounds
#' @noRd
path_bands <- function(fit, data, level, simultaneous) {
  if (is_released_group(fit)) {
    limits <- c("high", "low", "noise_high", "noise_low")
    data[limits[c(2L, 1L, 4L, 3L)]] <- lapply(data[limits], function(limit) {
      pmin(pmax(data$.observed + data$.fitted - limit, data$.lower), data$.upper)
    })
  }
  fit_bands(fit, data, level, simultaneous)
}

plot_effect <- function(fit, shown, type, level, simultaneous, shrink) {
  data <- rows_shown(fit, effect_series(fit, type, level, simultaneous, shrink), shown)
  later <- starts_treated(fit, type)
  if (later) data <- droplevels(data[data$treated, ])
  outcome <- axis_name(fit$release$panel$outcome)
  plot <- draw_effects(fit, data, level, simultaneous) +
    ggplot2::labs(x = axis_of_periods(fit), y = effect_label(type, paste(" on", outcome)))
  plot <- finish_plot(fit, plot, data, shown, level, if (!later) dotted_line(fit$release$panel))
  with_note(plot, if (type == "percent") percent_words(fit, data))
}

#' The reason for missing effects in per cent or missing limits; or `NULL`
#' @param data (`data.frame`)\cr from [effect_series()].
#' @noRd
percent_words <- function(fit, data) {
  data <- data[data$treated, ]
  none <- is.na(data$estimate)
  noise <- !is.na(data$noise_low + data$noise_high) & fit$release$privacy$private
  open <- is.na(data$low + data$high) & !noise & !none
  words <- c(
    if (any(none)) {
      paste0("The effect in per cent is not defined ", if (all(none)) "because " else "where ",
        "the counterfactual is not positive", if (is_released_group(fit)) " beyond its noise", ".")
    },
    if (any(open) && is_classical(fit$release$method)) {
      "No limits: a classical fit has no standard errors; see placebo_space()."
    } else if (any(open)) {
      paste0("There are no limits ", if (all(open)) "because " else "where ",
        "the counterfactual may be as low as zero or its error is unknown.")
    }
  )
  if (length(words)) paste(words, collapse = " ")
}

#' A figure with a further sentence below
#' @noRd
with_note <- function(plot, note) {
  if (is.null(note)) {
    return(plot)
  }
  plot + ggplot2::labs(caption = paste(c(plot$labels$caption, note), collapse = " "))
}

#' Does a figure of effects start with the treatment?
#'
#' This is the case for sums, which start with the treatment, and for protected people, whose
#' pre-treatment fit is exact.
#' @noRd
starts_treated <- function(fit, type) {
  type %in% c("effect", "percent", "cumulative") && (type == "cumulative" || is_released_group(fit))
}

#' Effects as points on a line over their band
#' @noRd
draw_effects <- function(fit, data, level, simultaneous) {
  ggplot2::ggplot() + zero_line() + fit_bands(fit, data, level, simultaneous) +
    ggplot2::geom_line(ggplot2::aes(.data$period, .data$estimate, group = 1), data,
      na.rm = TRUE, linewidth = 0.6
    ) +
    ggplot2::geom_point(ggplot2::aes(.data$period, .data$estimate), data,
      na.rm = TRUE, size = 1.1
    )
}

effect_label <- function(type, on = "") {
  switch(type,
    effect = paste0("effect", on), cumulative = paste0("cumulative effect", on),
    percent = "effect (% of the counterfactual)"
  )
}

#' The errors of a fit, from the treatment on
#' @noRd
fit_bands <- function(fit, data, level, simultaneous) {
  data$at <- data$period
  data$wide <- bar_width(data$period)
  if (!"prediction" %in% known_parts(fit)) data$low <- data$high <- NA_real_
  if (!fit$release$privacy$private) data$noise_low <- data$noise_high <- NA_real_
  columns <- c("target", "at", "wide", "low", "high", "noise_low", "noise_high")
  covers <- if (simultaneous) ", all periods together" else ", each period by itself"
  error_layers(data[columns], "band",
    band_labels(level, covers, !all(is.na(data$low)))
  )
}

#' Width of a bar, less than the distance to the neighbouring period in any unit of time
#' @noRd
bar_width <- function(periods) {
  if (is.factor(periods)) 0.3 else 0.3 * min(diff(sort(unique(as.numeric(periods)))))
}

#' Points for invisible lines: a single period, and ends over a bar
#' @noRd
lone_points <- function(lines) {
  known <- lines[!is.na(lines$value), ]
  alone <- stats::ave(as.numeric(known$treated), known$target, known$line, known$treated,
    FUN = length
  ) == 1 & known$treated
  if (!any(alone)) {
    return(NULL)
  }
  ggplot2::geom_point(
    ggplot2::aes(.data$period, .data$value, colour = .data$line), known[alone, ],
    size = 2, show.legend = FALSE
  )
}

#' The common parts of a fit's plots: the treatment, the panels, the privacy statement
#' @noRd
finish_plot <- function(fit, plot, data, shown, level,
                        line = dotted_line(fit$release$panel)) {
  across <- if (length(shown) > 4L) 3 else if (length(shown) > 1L) 2 else 1
  plot + line + dpsc_theme() + target_panels(data$target, ncol = across) +
    period_axis(data$period, across) +
    ggplot2::labs(
      title = plot_title(fit, shown),
      subtitle = paste(
        c(plot_subtitle(fit, shown), no_interval_words(fit, shown, level)), collapse = "\n"
      )
    )
}
