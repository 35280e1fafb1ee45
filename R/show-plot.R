#' Plot a fit
#'
#' Draws the target, its counterfactual and their difference with limits. Donors are never drawn,
#' but for the weights of a classical fit, which is NOT PRIVATE.
#'
#' @param x,object (`dp_synth`)\cr a fit. A `dp_release` has no target and is refused.
#' @param type (`string`)\cr
#'   * `"path"`: observed and counterfactual.
#'   * `"effect"` (or `"gap"`): their difference.
#'   * `"cumulative"`: the sum of the effects from the treatment on.
#'   * `"percent"`: the effect in per cent of the counterfactual.
#'   * `"balance"`: how far the target was from the synthetic control before the treatment, and from
#'     the donors' mean (of a private fit: from difference-in-differences on the same release); for
#'     `estimator = "predictors"` by predictor, in standard deviations.
#'   * `"weights"`: the donors' weights; only for classical fits.
#' @param level (`number`, in (0, 1))\cr coverage of the bands.
#' @param simultaneous (`flag`)\cr whether the band shall cover all periods together.
#' @param targets (`character`, `numeric` or `NULL`)\cr which of several targets, by name or
#'   position. `NULL`: the group that several treated units are, or the first nine targets.
#' @param labels (`character` or `NULL`)\cr names for readers, of outcomes or of the terms of a
#'   regression: `c(cigsale = "Packs per person")` puts the text in place of the name.
#' @param ... nothing else: an unknown argument is an error.
#' @return `autoplot()`: a ggplot, to be changed by adding to it; `plot()` draws it and returns it
#'   invisibly. The light band is the interval, the dark one what the privacy noise alone would
#'   make; for methods `"output"` and `"objective"` only the latter is known. Holds nothing but the
#'   fit's public and released values; its numbers come from [as.data.frame()][coef.dp_synth()].
#'   Text breaks into lines that the page holds; on pages narrower than 4.5 inches it is smaller.
#' @section Errors: `dpsc_error_argument`.
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' panel <- sim_panel(n = 500, T0 = 20, T1 = 6, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 20, epsilon = 2, bounds = c(-1, 1)
#' )
#' plot(fit)
#' plot(fit, type = "cumulative", simultaneous = TRUE)
#' @export
plot.dp_synth <- function(x, type = c(
                            "path", "effect", "cumulative", "percent", "weights", "balance"
                          ), level = 0.95, simultaneous = FALSE, targets = NULL, labels = NULL,
                          ...) door("plot", {
  show_picture(autoplot.dp_synth(x,
    type = type, level = level, simultaneous = simultaneous, targets = targets, labels = labels,
    ...
  ))
})

#' @rdname plot.dp_synth
#' @exportS3Method ggplot2::autoplot
autoplot.dp_synth <- function(object, type = c(
                                "path", "effect", "cumulative", "percent", "weights", "balance"
                              ), level = 0.95, simultaneous = FALSE, targets = NULL,
                              labels = NULL, ...) door("plot", {
  check_no_dots(...)
  rlang::check_installed("ggplot2", "to plot a fit.")
  if (identical(type, "gap")) type <- "effect"
  type <- check_choice(
    type, c("path", "effect", "cumulative", "percent", "weights", "balance")
  )
  level <- check_level(level)
  simultaneous <- check_flag(simultaneous)
  object$release$panel$outcome <- labelled(object$release$panel$outcome, labels)
  # Of several treated units the fit is of the group; who is named is drawn alone.
  if (!is.null(targets)) object <- fit_view(object, "unit")
  shown <- chosen_targets(object, targets)
  switch(type,
    weights = plot_fit_weights(object), balance = plot_balance(object, shown),
    path = plot_path(object, shown, level, simultaneous),
    plot_effect(object, shown, type, level, simultaneous)
  )
}, page = "autoplot.dp_synth")

#' @rdname plot.dp_synth
#' @export
plot.dp_release <- function(x, ...) door("plot", {
  abort(c(
    "A release has no target of its own to draw.",
    i = "Fit one: {.code plot(dp_synth(release, target = ))}."
  ), "argument")
})

# Small multiples stay readable up to three by three.
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
      i = "It has {length(names)}."
    ), "argument")
  }
  at
}

#' The rows of the targets shown, with the targets in that order
#' @noRd
rows_shown <- function(fit, data, shown) {
  names <- rownames(fit$target)[shown]
  data <- data[data$target %in% names, ]
  data$target <- factor(data$target, levels = names)
  data
}

plot_path <- function(fit, shown, level, simultaneous) {
  data <- rows_shown(fit, effect_series(fit, "path", level, simultaneous), shown)
  plot <- draw_paths(fit, data, level, simultaneous) +
    ggplot2::labs(x = axis_of_periods(fit), y = short_name(fit$release$panel$outcome, 40L))
  finish_plot(fit, plot, data, shown, level)
}

#' Observed and counterfactual lines over their band
#' @param data (`data.frame`)\cr from [effect_series()].
#' @noRd
draw_paths <- function(fit, data, level, simultaneous) {
  lines <- fit_lines(data, is_released_group(fit))
  ggplot2::ggplot() + fit_bands(fit, data, level, simultaneous) + path_lines(lines) +
    lone_points(lines)
}

plot_effect <- function(fit, shown, type, level, simultaneous) {
  data <- rows_shown(fit, effect_series(fit, type, level, simultaneous), shown)
  later <- starts_treated(fit, type)
  if (later) data <- droplevels(data[data$treated, ])
  outcome <- short_name(fit$release$panel$outcome, 40L)
  plot <- draw_effects(fit, data, level, simultaneous) +
    ggplot2::labs(x = axis_of_periods(fit), y = effect_label(type, paste(" on", outcome)))
  plot <- finish_plot(fit, plot, data, shown, level, if (!later) dotted_line(fit$release$panel))
  with_note(plot, if (type == "percent") percent_words(fit, data))
}

#' Why effects in per cent, or their limits, are missing; or `NULL`
#' @param data (`data.frame`)\cr from [effect_series()].
#' @noRd
percent_words <- function(fit, data) {
  data <- data[data$treated, ]
  none <- is.na(data$estimate)
  noise <- !is.na(data$noise_low + data$noise_high) & fit$release$privacy$private
  open <- is.na(data$low + data$high) & !noise & !none
  words <- c(
    if (any(none)) {
      paste0("No effect in per cent ", if (all(none)) "as " else "where ",
        "the counterfactual is not positive.")
    },
    if (any(open) && is_classical(fit$release$method)) {
      "No limits: a classical fit has no standard errors; see placebo_space()."
    } else if (any(open)) {
      paste0("No limits ", if (all(open)) "as " else "where ",
        "the counterfactual may be as low as zero, or its error is not known.")
    }
  )
  if (length(words)) paste(words, collapse = " ")
}

#' A figure with one more sentence below it
#' @noRd
with_note <- function(plot, note) {
  if (is.null(note)) {
    return(plot)
  }
  plot + ggplot2::labs(caption = paste(c(plot$labels$caption, note), collapse = " "))
}

#' Is a figure of effects drawn from the treatment on only?
#'
#' A sum starts with the treatment, and the path of protected people is met before it.
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
  both <- "prediction" %in% known_parts(fit)
  if (!both) data$low <- data$high <- NA_real_
  if (!fit$release$privacy$private) data$noise_low <- data$noise_high <- NA_real_
  columns <- c("target", "at", "wide", "low", "high", "noise_low", "noise_high")
  covers <- if (simultaneous) ", all periods together" else ", each period by itself"
  error_layers(data[columns], "band",
    band_labels(level, covers, both)
  )
}

#' Narrower than the way to the neighbouring period, whatever the unit of time
#' @noRd
bar_width <- function(periods) {
  if (is.factor(periods)) 0.3 else 0.3 * min(diff(sort(unique(as.numeric(periods)))))
}

#' What a line would not show: a lone period of it, and the ends over a bar
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

#' The marks that every plot of a fit has: the treatment, the panels, the privacy statement
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

#' Why a figure has no band but the noise's, which is no interval; or `NULL`
#' @noRd
no_interval_words <- function(fit, shown, level) {
  reasons <- if (!is_classical(fit$release$method) && !noise_only(fit)) {
    unique(unlist(lapply(shown, function(i) missing_interval(fit, i, level))))
  }
  if (length(reasons)) paste0("NO INTERVAL: ", reasons[[1L]])
}

plot_title <- function(fit, shown = seq_len(nrow(fit$target))) {
  names <- short_name(rownames(fit$target)[shown])
  paste0(
    if (length(names) > 1L) enumerate(utils::head(names, 3L), length(names)) else capital(names),
    " against ", if (length(names) > 1L) "their synthetic controls" else "its synthetic control"
  )
}

plot_subtitle <- function(fit, shown = seq_len(nrow(fit$target))) {
  privacy <- fit$release$privacy
  budget <- paste0("epsilon = ", format(privacy$epsilon), ", delta = ", format(privacy$delta))
  left <- nrow(fit$target) - length(shown)
  text <- c(
    paste0(count_of(fit$release$panel$n, "donor"), "; ", if (!privacy$private) {
      "NOT PRIVATE (no noise)"
    } else if (!privacy$holds) {
      paste0("NOT PRIVATE (nominal ", budget, " does not hold)")
    } else {
      paste0("private with ", budget)
    }, if (left > 0L) paste0("; ", length(shown), " of ", nrow(fit$target), " targets")),
    if (noise_swamps(fit)) "THE NOISE SWAMPS THE DATA: do not read an effect from this figure"
  )
  paste(text, collapse = "\n")
}

#' Whether the noise of an average is as large as the bounds: see `noise_note()`
#' @noRd
noise_swamps <- function(fit) {
  release <- fit$release
  table <- effect_table(fit)
  error <- table$privacy.se[table$term == "average"]
  half_range <- max(release$bounds$upper - release$bounds$lower) / 2
  release$privacy$private && !anyNA(error) && max(error) > half_range / 4
}

# Weights and balance ------------------------------------------------------------------------------

plot_fit_weights <- function(fit) {
  if (!inherits(fit, "dp_synth_classical")) {
    abort(c(
      "Only a classical fit has weights of donors to draw.",
      x = "Donors of a private fit are never drawn.",
      i = "See {.code plot(fit, type = \"balance\")}."
    ), "argument")
  }
  weights <- stats::weights(fit)
  plot_weight_bars(data.frame(donor = names(weights), weight = weights), fit)
}

# As many bars as a page holds.
most_bars <- 25L

plot_weight_bars <- function(table, fit = NULL) {
  table <- table[order(-abs(table$weight)), ]
  carrying <- sum(abs(table$weight) > 1e-4)
  data <- utils::head(table, max(1L, min(carrying, most_bars)))
  labels <- make.unique(short_name(as.character(data$donor)))
  data$donor <- factor(labels, levels = rev(labels))
  ggplot2::ggplot(data, ggplot2::aes(x = .data$weight, y = .data$donor)) +
    ggplot2::geom_vline(xintercept = 0, colour = guide_colour, linewidth = 0.3) +
    ggplot2::geom_col(fill = band_colour, width = 0.7) +
    ggplot2::labs(
      x = "weight", y = NULL, title = "Donors' weights",
      subtitle = paste0(
        "NOT PRIVATE. ", carrying, " of ", count_of(nrow(table), "donor"), " carry weight",
        if (carrying > nrow(data)) paste0("; the largest ", nrow(data))
      )
    ) +
    dpsc_theme() +
    ggplot2::theme(panel.grid.major.y = ggplot2::element_blank())
}

#' How far the target is from the synthetic control and from a plain mean before the treatment
#' @return A data frame: `target`, `item` (period or predictor), `against`, `difference`.
#' @noRd
balance_data <- function(fit, shown) {
  against <- balance_paths(fit)
  if (identical(fit$release$method, "predictors")) {
    return(predictor_balance(fit))
  }
  pre <- seq_len(fit$release$panel$T0)
  times <- plot_periods(fit$release$panel$times)[pre]
  parts <- lapply(names(against), function(name) {
    do.call(rbind, lapply(shown, function(i) {
      data.frame(
        target = rownames(fit$target)[[i]], item = times, against = name,
        difference = fit$target[i, pre] - against[[name]][i, pre]
      )
    }))
  })
  data <- do.call(rbind, parts)
  data$against <- factor(data$against, levels = names(against))
  data
}

#' Paths that the target is compared with, k x T each
#' @noRd
balance_paths <- function(fit) {
  if (inherits(fit, "dp_synth_classical")) {
    mean <- matrix(colMeans(fit$raw$donors), 1L)
    return(list(`donors' mean` = mean, `synthetic control` = fit$counterfactual))
  }
  if (is_released_group(fit)) {
    abort(c(
      "Of protected people there is no balance before the treatment to draw.",
      x = "Their path before it is released as what the fit makes of it, which the fit meets."
    ), "protect")
  }
  if (!gives_moments(fit$release$method)) {
    abort(c(
      "Method {.val {fit$release$method}} releases no path before the treatment.",
      i = "Balance needs {.code method = \"gram\"}."
    ), "argument")
  }
  did <- stats::update(fit, estimator = "did")
  if (nrow(fit$target) > 1L) did <- fit_view(did, "unit")
  list(
    `difference-in-differences` = did$counterfactual, `synthetic control` = fit$counterfactual
  )
}

#' Differences of predictors in standard deviations over all units
#' @noRd
predictor_balance <- function(fit) {
  given <- fit$settings$predictors
  labels <- colnames(given$donors) %||% paste("predictor", seq_len(ncol(given$donors)))
  spread <- apply(rbind(given$target, given$donors), 2L, stats::sd)
  spread[!is.finite(spread) | spread == 0] <- 1
  synthetic <- drop(stats::weights(fit) %*% given$donors)
  kinds <- c("donors' mean", "synthetic control")
  data.frame(
    target = rownames(fit$target)[[1L]], item = factor(rep(labels, 2L), levels = rev(labels)),
    against = factor(rep(kinds, each = length(labels)), levels = kinds),
    difference = c(given$target - colMeans(given$donors), given$target - synthetic) / spread
  )
}

plot_balance <- function(fit, shown) {
  # A plot keeps this frame: an unforced promise in it would lead to the caller's, and its donors.
  data <- balance_data(fit, shown)
  kinds <- levels(data$against)
  size <- vapply(kinds, function(kind) {
    sqrt(mean(data$difference[data$against == kind]^2))
  }, 0)
  labels <- stats::setNames(
    paste0(kinds, " (root mean square ", formatC(size, digits = 3L, format = "g"), ")"), kinds
  )
  scales <- list(
    ggplot2::scale_colour_manual(NULL,
      values = stats::setNames(contrast_colours, kinds), labels = labels
    ),
    ggplot2::scale_shape_manual(NULL, values = stats::setNames(c(1, 16), kinds), labels = labels),
    ggplot2::labs(
      title = "Target less its comparison, before the treatment",
      subtitle = plot_subtitle(fit, shown)
    ),
    dpsc_theme(), ggplot2::theme(legend.direction = "vertical")
  )
  if (is.factor(data$item) && identical(fit$release$method, "predictors")) {
    return(ggplot2::ggplot(data, ggplot2::aes(
      .data$difference, .data$item, colour = .data$against, shape = .data$against
    )) +
      ggplot2::geom_vline(xintercept = 0, colour = guide_colour, linewidth = 0.3) +
      ggplot2::geom_point(size = 2.4) +
      ggplot2::labs(x = "difference (standard deviations)", y = NULL) + scales)
  }
  across <- if (length(shown) > 4L) 3 else if (length(shown) > 1L) 2 else 1
  data <- rows_shown(fit, data, shown)
  draw_balance(data) + target_panels(data$target, ncol = across) + period_axis(data$item, across) +
    ggplot2::labs(
      x = axis_of_periods(fit), y = paste("difference in", short_name(fit$release$panel$outcome))
    ) +
    scales
}

#' Differences before the treatment, period by period
#' @param data (`data.frame`)\cr from [balance_data()].
#' @noRd
draw_balance <- function(data) {
  ggplot2::ggplot(data, ggplot2::aes(
    .data$item, .data$difference,
    colour = .data$against, shape = .data$against, group = .data$against
  )) +
    zero_line() +
    ggplot2::geom_line(linewidth = 0.4) +
    ggplot2::geom_point(size = 1.8)
}
