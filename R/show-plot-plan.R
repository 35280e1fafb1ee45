# Plots of plans: the gain from more donors or a larger budget. No data are used.

#' @rdname dp_plan
#' @exportS3Method ggplot2::autoplot
autoplot.dp_plan <- function(object, type = c("error", "funnel"), method = NULL,
                             ...) door("plot", {
  start_picture("to plot a plan.", ...)
  type <- check_choice(type, c("error", "funnel"))
  method <- if (!is.null(method)) {
    vapply(method, check_choice, "", unique(object$table$method), arg = "method", USE.NAMES = FALSE)
  }
  switch(type,
    error = plot_plan_error(object, method %||% methods_within_reach(object)),
    funnel = plot_plan_funnel(object, method[1L] %||% plan_centre(object)$method)
  )
})

#' @rdname dp_plan
#' @export
plot.dp_plan <- plot_by(autoplot.dp_plan)

# A method is not plotted if its error exceeds the best method's error by more than this factor.
most_error_drawn <- 10

#' The recommended methods of a plan, and methods with up to ten times their error
#' @noRd
methods_within_reach <- function(plan) {
  first <- plan$table[!duplicated(plan$table$method), ]
  reach <- first$error <= most_error_drawn * suppressWarnings(min(first$error, na.rm = TRUE))
  seen <- first$method[first$recommended | (reach & !is.na(reach))]
  if (length(seen)) seen else first$method[[1L]]
}

#' Errors of methods along donors and along epsilon, through the point of the plan
#'
#' Errors are simulated at a few points and at the point of the plan, and interpolated linearly in
#' logs.
#' @return A data frame: `method`, `panel` (factor), `against`, `error`, `floor`, `half_width`,
#'   `detectable` (outcome units, or `NA`).
#' @noRd
plan_sweep <- function(plan, methods) {
  centre <- plan_centre(plan)
  labels <- c(
    paste("donors, at epsilon =", format(centre$epsilon)),
    paste("epsilon, with", count_of(centre$n, "donor"))
  )
  facts <- centre_facts(plan, centre)
  drawn <- function(method, of) {
    knots <- plan_knots(facts, centre[[of]], if (of == "n") c(1, 5) else c(-1, 2), method)
    panel <- factor(labels[[1L + (of == "epsilon")]], levels = labels)
    line <- sweep_line(method, of, knots, centre, facts, plan)
    data.frame(method = method, panel = panel, line)
  }
  do.call(rbind, lapply(methods, function(method) {
    rbind(drawn(method, "n"), drawn(method, "epsilon"))
  }))
}

#' The points at which errors are simulated, and the range of the lines
#' @param decades (`integer(2)`)\cr decades of the axis.
#' @noRd
plan_knots <- function(facts, centre, decades, method) {
  all <- 10^seq(decades[[1L]], decades[[2L]], by = 0.1)
  every <- if (method == "gram") 5L else 1L
  if (is_study(facts)) {
    # Studies take long, so the plot covers one decade on each side.
    all <- centre * 10^seq(-1, 1, by = 0.1)
  }
  through <- function(x) sort(c(x[abs(log(x / centre)) > 1e-6], centre))
  list(at = through(all[seq.int(1L, length(all), by = every)]), line = through(all))
}

#' Errors at the knots, with linear interpolation of logs in between
#' @param of (`string`)\cr `"n"` or `"epsilon"`.
#' @noRd
sweep_line <- function(method, of, knots, centre, facts, plan) {
  found <- lapply(knots$at, function(x) {
    at <- centre[c("n", "epsilon")]
    at[[of]] <- if (of == "n") round(x) else x
    # At the plan's point, the plotted value is the plan's result.
    if (x != centre[[of]]) facts$studies <- plan_searched
    row <- tryCatch(plan_errors(method, at$n, at$epsilon, facts)[1L, ],
      dpsc_error_argument = function(e) NULL
    )
    if (is.null(row)) {
      return(rep(NA_real_, 4L))
    }
    if (isTRUE(row$short)) row$half_width <- NA_real_
    c(unlist(row[c("error", "floor", "half_width")]), least_effect(row, plan$power))
  })
  unit <- new_bounds(plan$bounds, 1)$unit
  part <- function(i) {
    value <- log(vapply(found, `[[`, 0, i))
    known <- is.finite(value)
    if (sum(known) < 2L) return(rep(NA_real_, length(knots$line)))
    exp(stats::approx(log(knots$at[known]), value[known], log(knots$line))$y) * unit
  }
  error <- part(1L)
  floor <- if (is_study(facts)) NA_real_ else pmin(part(2L), error)
  data.frame(
    against = knots$line, error = error, floor = floor, half_width = part(3L),
    detectable = part(4L)
  )
}

#' The determinants of errors at the point of a plan, for protected people with the plan's effect
#' @noRd
centre_facts <- function(plan, centre) {
  facts <- plan$facts
  rows <- plan$table[plan$table$method == centre$method & !is.na(plan$table$T0), ]
  facts$size <- ifelse(is.na(rows$size), plan_starts$size, rows$size)
  facts
}

#' The plan's point, common to both panels
#' @noRd
plan_centre <- function(plan) {
  best <- c(which(plan$table$recommended), 1L)[[1L]]
  centre <- plan$table[best, c("n", "epsilon", "method")]
  if (is.na(centre$n)) centre$n <- 1000
  if (is.na(centre$epsilon)) centre$epsilon <- 1
  centre
}

#' Names of panels, placed below the panels
#' @noRd
two_lines <- function(names) {
  vapply(names, function(name) paste(whole_terms(name, 24L), collapse = "\n"), "")
}

#' Dotted lines at a plan's number of people and epsilon
#' @noRd
plan_point <- function(data, at) {
  panels <- levels(data$panel)
  dotted_at(data.frame(panel = factor(panels, levels = panels), at = at))
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

plot_plan_error <- function(plan, methods) {
  data <- plan_sweep(plan, methods)
  data <- data[!is.na(data$error), ]
  range <- 2 * new_bounds(plan$bounds, 1)$unit
  legend <- if (length(methods) > 1L) beside_legend() else "none"
  colours <- c(gram = "#0072B2", output = "#D55E00", objective = "#009E73")
  ggplot2::ggplot(data, ggplot2::aes(
    .data$against, .data$error,
    colour = .data$method, linetype = .data$method
  )) +
    ggplot2::geom_hline(yintercept = range, colour = guide_colour, linewidth = 0.3) +
    ggplot2::geom_line(linewidth = 0.7) +
    (if (!is_study(plan$facts)) {
      ggplot2::geom_line(ggplot2::aes(y = .data$floor), linewidth = 0.3, show.legend = FALSE)
    }) +
    ggplot2::scale_y_log10(labels = plain_labels) +
    # Lines end at the error from the bounds alone.
    ggplot2::coord_cartesian(ylim = error_limits(data, range)) +
    two_scales(colours, c(gram = 1, output = 2, objective = 4), breaks = methods, guide = legend) +
    ggplot2::labs(
      x = NULL, y = "error of one period's effect", title = "Expected errors",
      subtitle = plan_error_words(plan, methods)
    ) +
    plan_panels()
}

#' Range from the smallest error, or the error without privacy, to the largest error, up to twice
#' the width of the bounds
#' @noRd
error_limits <- function(data, range) {
  low <- min(data$error, if (!all(is.na(data$floor))) data$floor, na.rm = TRUE)
  c(low, min(max(data$error, 1.2 * low), max(2 * range, 2 * low)))
}

#' The subtitle of a plan's errors
#' @noRd
plan_error_words <- function(plan, methods) {
  left <- setdiff(unique(plan$table$method), methods)
  paste0(
    if (length(methods) == 1L) paste0("Method \"", methods, "\", root mean square"),
    if (length(methods) > 1L) "Root mean square",
    if (!is_study(plan$facts)) "; thin line: without privacy",
    "; grey line: the width of the bounds",
    if (length(left)) {
      paste0(
        ". Not shown, with errors of more than ", most_error_drawn, " times the smallest: ",
        paste(left, collapse = ", ")
      )
    }
  )
}

#' The interval around zero, and the detectable effect, against donors and epsilon
#' @noRd
plot_plan_funnel <- function(plan, method) {
  centre <- plan_centre(plan)
  data <- plan_sweep(plan, method)
  data <- data[!is.na(data$half_width), ]
  if (!nrow(data)) {
    abort(c(
      "There is no interval to plot: method {.val {method}} gives no interval here.",
      i = "{.code print()} of the plan reports how to get an interval."
    ), "argument")
  }
  found <- paste("detected with power", percent_shown(plan$power))
  lines <- stats::setNames(c(2, 4), c(found, "the effect to detect"))
  ggplot2::ggplot(data, ggplot2::aes(.data$against)) +
    error_layers(data.frame(
      target = data$panel, panel = data$panel, at = data$against, low = -data$half_width,
      high = data$half_width
    ), "band", c(all = "95 % interval of the average effect if it is zero")) +
    ggplot2::geom_line(ggplot2::aes(y = .data$detectable, linetype = found), colour = band_colour) +
    ggplot2::geom_line(
      ggplot2::aes(y = -.data$detectable, linetype = found), colour = band_colour
    ) +
    zero_line() +
    plan_point(data, c(centre$n, centre$epsilon)) +
    (if (!is.null(plan$effect)) {
      ggplot2::geom_hline(
        ggplot2::aes(yintercept = plan$effect, linetype = "the effect to detect"), data.frame(1)
      )
    }) +
    ggplot2::scale_linetype_manual(NULL, values = lines) +
    ggplot2::labs(
      x = NULL, y = "average effect", title = "Gain from more donors or a larger budget",
      subtitle = paste0(
        "Method \"", method, "\"; the dotted line marks this plan. An estimate inside the band is ",
        "not significantly different from zero. Without a band there is no interval"
      )
    ) +
    plan_panels()
}
