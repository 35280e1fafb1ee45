# Plots of plans: what more donors or more budget would buy. No data are involved.

#' @rdname dp_plan
#' @export
plot.dp_plan <- function(x, type = c("error", "funnel"), ...) door("plot", {
  show_picture(autoplot.dp_plan(x, type = type, ...))
})

#' @rdname dp_plan
#' @exportS3Method ggplot2::autoplot
autoplot.dp_plan <- function(object, type = c("error", "funnel"), ...) door("plot", {
  check_no_dots(...)
  rlang::check_installed("ggplot2", "to plot a plan.")
  type <- check_choice(type, c("error", "funnel"))
  switch(type, error = plot_plan_error(object), funnel = plot_plan_funnel(object))
})

#' Errors of methods along donors and along epsilon, through the plan's own point
#'
#' Simulated errors are computed at a few points and at the plan's own, joined by straight lines on
#' the log scale.
#' @return A data frame: `method`, `panel` (factor), `against`, `error`, `floor` (outcome units).
#' @noRd
plan_sweep <- function(plan, methods) {
  unit <- new_bounds(plan$bounds, 1)$unit
  facts <- plan[c("T0", "T1", "delta", "people", "size")]
  centre <- plan_centre(plan)
  labels <- c(
    paste("donors, at epsilon =", format(centre$epsilon)),
    paste("epsilon, with", count_of(centre$n, "donor"))
  )
  sweep_of <- function(method, along, centre, label, errors) {
    with_centre <- function(x) sort(c(x[abs(log(x / centre)) > 1e-6], centre))
    knots <- if (method == "gram") along[seq.int(1L, length(along), by = 5L)] else along
    knots <- with_centre(knots)
    found <- lapply(knots, errors, method = method)
    against <- with_centre(along)
    line <- function(part) {
      value <- vapply(found, `[[`, 0, part)
      exp(stats::approx(log(knots), log(value), log(against))$y) * unit
    }
    error <- line("error")
    data.frame(
      method = method, panel = factor(label, levels = labels), against = against,
      error = error, floor = pmin(line("floor"), error)
    )
  }
  do.call(rbind, lapply(methods, function(method) {
    rbind(
      sweep_of(method, 10^seq(1, 5, by = 0.1), centre$n, labels[[1L]], function(n, method) {
        plan_errors(method, round(n), centre$epsilon, facts)
      }),
      sweep_of(method, 10^seq(-1, 2, by = 0.1), centre$epsilon, labels[[2L]], function(e, method) {
        plan_errors(method, centre$n, e, facts)
      })
    )
  }))
}

#' The point of a plan that both panels go through
#' @noRd
plan_centre <- function(plan) {
  centre <- plan$table[plan$table$recommended, c("n", "epsilon", "method")][1L, ]
  if (is.na(centre$method)) centre$method <- plan$table$method[[1L]]
  if (is.na(centre$n)) centre$n <- 1000
  if (is.na(centre$epsilon)) centre$epsilon <- 1
  centre
}

#' Names of panels that stand below them
#' @noRd
two_lines <- function(names) {
  vapply(names, function(name) paste(whole_terms(name, 24L), collapse = "\n"), "")
}

plan_panels <- function() {
  list(
    ggplot2::facet_wrap(~panel,
      scales = "free_x", strip.position = "bottom", labeller = ggplot2::as_labeller(two_lines)
    ),
    ggplot2::scale_x_log10(
      labels = plain_labels, guide = ggplot2::guide_axis(check.overlap = TRUE)
    ),
    dpsc_theme(),
    ggplot2::theme(
      strip.placement = "outside", strip.text = ggplot2::element_text(hjust = 0.5),
      panel.spacing.x = ggplot2::unit(24, "pt")
    )
  )
}

plot_plan_error <- function(plan) {
  data <- plan_sweep(plan, plan$table$method)
  range <- 2 * new_bounds(plan$bounds, 1)$unit
  seen <- methods_seen(data, range)
  colours <- c(gram = "#0072B2", output = "#D55E00", objective = "#009E73")
  ggplot2::ggplot(data, ggplot2::aes(
    .data$against, .data$error,
    colour = .data$method, linetype = .data$method
  )) +
    ggplot2::geom_hline(yintercept = range, colour = guide_colour, linewidth = 0.3) +
    ggplot2::geom_line(linewidth = 0.7) +
    ggplot2::scale_y_log10(labels = plain_labels) +
    # Lines leave the figure where they are worse than knowing the bounds alone.
    ggplot2::coord_cartesian(ylim = c(min(data$error), max(2 * range, 2 * min(data$error)))) +
    ggplot2::scale_colour_manual(NULL,
      values = colours, breaks = seen, guide = beside_legend()
    ) +
    ggplot2::scale_linetype_manual(NULL,
      values = c(gram = 1, output = 2, objective = 4), breaks = seen, guide = beside_legend()
    ) +
    ggplot2::labs(
      x = NULL, y = "error of one period's effect", title = "Expected errors",
      subtitle = plan_error_words(data, seen)
    ) +
    plan_panels()
}

#' Methods that are better than the bounds alone somewhere; all, where none is
#' @noRd
methods_seen <- function(data, range) {
  best <- tapply(data$error, data$method, min)
  seen <- names(best)[best <= range]
  if (length(seen)) intersect(unique(data$method), seen) else unique(data$method)
}

#' Subtitle of a plan's errors
#' @noRd
plan_error_words <- function(data, seen) {
  left <- setdiff(unique(data$method), seen)
  paste0(
    "Root mean squared; grey line: the width of the bounds",
    if (length(left)) {
      paste0(". Not shown, worse than the bounds everywhere: ", paste(left, collapse = ", "))
    }
  )
}

plot_plan_funnel <- function(plan) {
  centre <- plan_centre(plan)
  data <- plan_sweep(plan, centre$method)
  width <- interval_quantile(0.95)
  range <- 2 * new_bounds(plan$bounds, 1)$unit
  here <- data.frame(panel = levels(data$panel), at = c(centre$n, centre$epsilon))
  here$panel <- factor(here$panel, levels = levels(data$panel))
  # Wider than the bounds is as good as nothing: cut there.
  data$all <- pmin(width * data$error, range)
  data$least <- pmin(width * data$floor, range)
  ggplot2::ggplot(data, ggplot2::aes(.data$against)) +
    error_layers(data.frame(
      target = data$panel, panel = data$panel, at = data$against, low = -data$all, high = data$all
    ), "band", c(all = "95 % of one period's effects that are none")) +
    ggplot2::geom_ribbon(
      ggplot2::aes(ymin = -.data$least, ymax = .data$least, linetype = "without privacy"),
      fill = NA, colour = band_colour, linewidth = 0.5
    ) +
    zero_line() +
    ggplot2::geom_vline(
      ggplot2::aes(xintercept = .data$at), here, linetype = 3, colour = guide_colour
    ) +
    ggplot2::scale_linetype_manual(NULL, values = 2) +
    ggplot2::labs(
      x = NULL, y = "effect that looks like none",
      title = "Gain from more donors or a larger budget",
      subtitle = paste0(
        "Method \"", centre$method, "\"; dotted: this plan. An effect inside the band cannot be ",
        "told from none"
      )
    ) +
    plan_panels()
}
