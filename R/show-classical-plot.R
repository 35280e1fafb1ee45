# Plots of raw data: placebos, ranks, weights, and paths without a donor. The data of each plot are
# computed by a separate function, which is tested alone.

placebo_colours <- c(target = "#0072B2", others = "grey65")

#' @rdname placebo_space
#' @exportS3Method ggplot2::autoplot
autoplot.dp_placebo_space <- function(object, type = c("gaps", "ratio"), prune = 20,
                                      labels = NULL, ...) door("plot", {
  start_picture("to plot placebos.", ...)
  object$outcome <- labelled(object$outcome %||% "outcome", labels)
  type <- check_choice(type, c("gaps", "ratio"))
  prune <- check_number(prune, 1, infinite = TRUE)
  switch(type, gaps = plot_placebo_gaps(object, prune), ratio = plot_placebo_ratios(object))
})

#' @rdname placebo_space
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' panel <- sim_panel(n = 20, T0 = 15, T1 = 4, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 15, epsilon = Inf, estimator = "simplex"
#' )
#' space <- placebo_space(fit)
#' space
#' head(tidy(space), 3)
#' plot(space)
#' @importFrom rlang .data
#' @export
plot.dp_placebo_space <- plot_by(autoplot.dp_placebo_space)

#' The ranked units, and the units with a sufficient fit for the plot
#'
#' For a perfectly fitted target the multiple is undefined, and all units are plotted.
#' @return A list of `ranked`, `drawn` (flags).
#' @noRd
placebos_drawn <- function(x, prune) {
  error <- x$table$rmspe_pre^2
  ranked <- !is.na(x$table$rank)
  near <- x$table$treated | error[[1L]] == 0 | error <= prune * error[[1L]]
  list(ranked = ranked, drawn = ranked & near)
}

#' Effects of all units in long form, with the target last so that it is drawn on top
#' @noRd
plot_data_gaps <- function(x, prune = Inf) {
  units <- c(seq_len(nrow(x$gaps))[-1L], 1L)
  kept <- units[placebos_drawn(x, prune)$drawn[units]]
  data.frame(
    unit = factor(
      rep(rownames(x$gaps)[kept], each = ncol(x$gaps)), levels = unique(rownames(x$gaps)[kept])
    ),
    role = rep(ifelse(x$table$treated[kept], "target", "others"), each = ncol(x$gaps)),
    time = rep(plot_periods(x$times), length(kept)),
    gap = as.vector(t(x$gaps[kept, , drop = FALSE]))
  )
}

#' Subtitle of placebos in space
#' @noRd
placebo_words <- function(x, prune) {
  units <- placebos_drawn(x, prune)
  left <- sum(units$ranked) - sum(units$drawn)
  paste0(
    capital(short_name(x$table$unit[[1L]])), ": rank ", x$table$rank[[1L]], " of ",
    sum(units$ranked), " by the ratio of errors after and before treatment, p = ",
    format(x$p_value, digits = 2L),
    if (left) {
      paste0(". Not drawn: ", count_of(left, "placebo"), " with more than ", format(prune),
        " times the mean squared error of this unit before the treatment")
    }, ". NOT PRIVATE"
  )
}

plot_placebo_gaps <- function(x, prune = Inf) {
  data <- plot_data_gaps(x, prune)
  name <- short_name(x$table$unit[[1L]])
  labels <- c(target = name, others = count_of(nlevels(data$unit) - 1L, "placebo"))
  ggplot2::ggplot(data, ggplot2::aes(
    x = .data$time, y = .data$gap, group = .data$unit, colour = .data$role,
    linewidth = .data$role
  )) +
    zero_line() +
    ggplot2::geom_line() +
    dotted_line(x) + period_axis(plot_periods(x$times)) +
    two_scales(placebo_colours, c(target = 1.1, others = 0.35),
      labels = labels, guide = beside_legend(), second = ggplot2::scale_linewidth_manual
    ) +
    ggplot2::labs(
      x = axis_of_times(x$times), y = paste("effect on", outcome_label(x)),
      title = "Placebos in space", subtitle = placebo_words(x, prune)
    ) +
    dpsc_theme()
}

# The number of rows that fit on a page.
most_ratios <- 50L

plot_placebo_ratios <- function(x) {
  data <- x$table[!is.na(x$table$rank), ]
  data$role <- ifelse(data$treated, "target", "others")
  # The page shows the first ratios and the treated unit, since 1,000 donors would not fit.
  order <- order(-data$ratio)
  kept <- union(utils::head(order, most_ratios), which(data$treated))
  left <- nrow(data) - length(kept)
  ranked <- nrow(data)
  data <- data[order[order %in% kept], ]
  labels <- make.unique(short_name(as.character(data$unit)))
  data$unit <- factor(labels, levels = rev(labels))
  # A perfect fit before treatment has an infinite ratio, which is drawn at the edge.
  finite <- data$ratio[is.finite(data$ratio)]
  data$shown <- pmin(data$ratio, if (length(finite)) max(finite) * 1.1 else 1)
  ggplot2::ggplot(data, ggplot2::aes(x = .data$shown, y = .data$unit, colour = .data$role)) +
    ggplot2::geom_segment(
      ggplot2::aes(x = 0, xend = .data$shown, yend = .data$unit), linewidth = 0.4
    ) +
    ggplot2::geom_point(size = 1.8) +
    ggplot2::scale_colour_manual(values = placebo_colours, guide = "none") +
    ggplot2::scale_x_continuous(expand = ggplot2::expansion(mult = c(0, 0.05))) +
    ggplot2::labs(
      x = if (x$squared) "MSPE after / before" else "RMSPE after / before (not squared)",
      y = NULL, title = "Effect against fit before treatment",
      subtitle = paste0(
        capital(short_name(x$table$unit[[1L]])), ": rank ", x$table$rank[[1L]], " of ", ranked,
        ", p = ", format(x$p_value, digits = 2L), if (left) paste0("; ", left, " units not shown"),
        ". NOT PRIVATE")
    ) +
    dpsc_theme() +
    ggplot2::theme(
      panel.grid.major.y = ggplot2::element_blank(),
      axis.text.y = ggplot2::element_text(size = ggplot2::rel(if (nrow(data) > 25L) 0.8 else 1))
    )
}

#' @rdname leave_one_out
#' @exportS3Method ggplot2::autoplot
autoplot.dp_leave_one_out <- function(object, type = c("paths", "weights"), labels = NULL,
                                      ...) door("plot", {
  start_picture("to plot fits without a donor.", ...)
  object$outcome <- labelled(object$outcome %||% "outcome", labels)
  type <- check_choice(type, c("paths", "weights"))
  switch(type, paths = plot_leave_one_out_paths(object), weights = plot_weight_bars(object$table))
})

#' @rdname leave_one_out
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' panel <- sim_panel(n = 20, T0 = 15, T1 = 4, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 15, epsilon = Inf, estimator = "simplex"
#' )
#' without <- leave_one_out(fit)
#' without
#' plot(without)
#' @export
plot.dp_leave_one_out <- plot_by(autoplot.dp_leave_one_out)

#' Outcome, counterfactual, and counterfactuals without one donor, in long form
#' @noRd
plot_data_leave_one_out <- function(x) {
  periods <- length(x$times)
  donors <- nrow(x$paths)
  line <- c(paste("without", rownames(x$paths)), "counterfactual", "observed")
  data.frame(
    line = factor(rep(line, each = periods), levels = line),
    role = factor(
      rep(c("without one donor", "counterfactual", "observed"), periods * c(donors, 1L, 1L)),
      levels = c("observed", "counterfactual", "without one donor")
    ),
    time = rep(plot_periods(x$times), donors + 2L),
    value = c(t(x$paths), x$counterfactual, x$target)
  )
}

plot_leave_one_out_paths <- function(x) {
  said <- trimws(format(c(x$effect, range(x$table$effect)), digits = 4L))
  ggplot2::ggplot(plot_data_leave_one_out(x), ggplot2::aes(
    x = .data$time, y = .data$value, group = .data$line, colour = .data$role,
    linetype = .data$role, linewidth = .data$role
  )) +
    ggplot2::geom_line() +
    dotted_line(x) + period_axis(plot_periods(x$times)) +
    ggplot2::scale_colour_manual(
      values = c("#000000", unname(placebo_colours)), name = NULL
    ) +
    ggplot2::scale_linetype_manual(values = c("solid", "longdash", "solid"), name = NULL) +
    ggplot2::scale_linewidth_manual(values = c(0.9, 0.9, 0.4), name = NULL) +
    ggplot2::labs(
      x = axis_of_times(x$times), y = outcome_label(x),
      title = "Counterfactuals that each leave out one donor",
      subtitle = paste0("Mean effect ", said[[1L]], ", between ", said[[2L]], " and ", said[[3L]],
        ". NOT PRIVATE")
    ) +
    dpsc_theme()
}

#' Name of the outcome, if the result contains it
#' @noRd
outcome_label <- function(x) axis_name(x$outcome %||% "outcome")
