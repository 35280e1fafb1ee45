# Figures of coefficients: estimates with their limits. The dark part is from the noise alone.

#' A table of coefficients in a figure's form
#'
#' The axis covers the identified coefficients. Other coefficients can have limits a hundred times
#' as wide, which would compress the identified coefficients to dots, so these limits end in arrows.
#' @param table (`data.frame`)\cr `term`, `estimate`, `low`, `high` (all errors), `noise` (half
#'   width for the privacy noise alone, or `NA`), `identified`.
#' @return The table with `term` as a factor, `at`, `from`, `to` (drawn), `in_low`, `in_high` (the
#'   dark part), `cut_low`, `cut_high` (flags), and the attribute `limits` (of the axis).
#' @noRd
coefficient_data <- function(table) {
  table$term <- factor(table$term, levels = rev(unique(table$term)))
  finite <- is.finite(table$low) & is.finite(table$high)
  table$known <- table$identified & (finite | is.na(table$low))
  ends <- function(rows) unlist(table[rows, c("estimate", "low", "high")])
  shown <- ends(table$known)
  if (!any(table$known)) shown <- ends(rep(TRUE, nrow(table)))
  limits <- range(0, shown[is.finite(shown)])
  if (diff(limits) == 0) limits <- c(-1, 1)
  limits <- limits + c(-0.06, 0.06) * diff(limits)
  inside <- function(x) pmin(pmax(x, limits[[1L]]), limits[[2L]])
  table$cut_low <- !is.na(table$low) & table$low < limits[[1L]]
  table$cut_high <- !is.na(table$high) & table$high > limits[[2L]]
  table$from <- inside(table$low)
  table$to <- inside(table$high)
  table$at <- as.double(ifelse(table$estimate == inside(table$estimate), table$estimate, NA))
  part <- ifelse(table$known, table$noise, NA_real_)
  table$in_low <- pmax(inside(table$estimate - part), table$from)
  table$in_high <- pmin(inside(table$estimate + part), table$to)
  structure(table, limits = limits)
}

#' @param labels (`character`)\cr the labels of the errors, from [band_labels()].
#' @param unknown (`string`)\cr label of a coefficient that is not identified.
#' @noRd
draw_coefficients <- function(table, title, subtitle, labels = band_labels(0.95),
                              unknown = "not identified") {
  data <- coefficient_data(table)
  limits <- attr(data, "limits")
  ggplot2::ggplot(data, ggplot2::aes(.data$at, .data$term)) +
    ggplot2::geom_vline(xintercept = 0, colour = guide_colour, linewidth = 0.3) +
    error_layers(data.frame(
      at = data$term, low = data$from, high = data$to, noise_low = data$in_low,
      noise_high = data$in_high
    ), "lying", labels) +
    cut_arrows(data, limits) +
    ggplot2::geom_point(ggplot2::aes(shape = .data$known), size = 1.2, na.rm = TRUE) +
    ggplot2::scale_shape_manual(values = c(`TRUE` = 16, `FALSE` = 1), guide = "none") +
    unknown_words(data, limits, unknown) +
    ggplot2::scale_x_continuous(limits = limits, expand = ggplot2::expansion(0)) +
    ggplot2::coord_cartesian(clip = "off") +
    ggplot2::scale_y_discrete(expand = ggplot2::expansion(add = 0.7), labels = short_name) +
    ggplot2::labs(
      x = "estimate", y = NULL, title = title, subtitle = subtitle
    ) +
    dpsc_theme() +
    ggplot2::theme(panel.grid.major.y = ggplot2::element_blank())
}

#' Arrows for limits beyond the figure, from the estimate or, if it lies outside, from within the
#' figure
#' @noRd
cut_arrows <- function(data, limits) {
  step <- 0.08 * diff(limits)
  arrow <- function(rows, to, inside) {
    if (!any(rows)) {
      return(NULL)
    }
    ggplot2::geom_segment(
      ggplot2::aes(x = .data$start, xend = .data[[to]], yend = .data$term),
      transform(data, start = ifelse(is.na(data$at), inside, data$at))[rows, ],
      colour = band_colour, linewidth = 0.6,
      arrow = ggplot2::arrow(length = ggplot2::unit(5, "pt"), type = "closed")
    )
  }
  list(
    arrow(data$cut_low, "from", limits[[1L]] + step),
    arrow(data$cut_high, "to", limits[[2L]] - step)
  )
}

# The largest number of coefficients with room for labels between them.
most_words <- 8L

#' Labels of coefficients that are not identified, unless they would overlap
#' @noRd
unknown_words <- function(data, limits, unknown) {
  lost <- data[!data$known, ]
  if (!nrow(lost)) {
    return(NULL)
  }
  if (nrow(data) > most_words) {
    return(ggplot2::labs(caption = paste0("Hollow: ", unknown, ".")))
  }
  finite <- is.finite(lost$low) & is.finite(lost$high)
  ends <- paste0(format_value(lost$low), " to ", format_value(lost$high), ": ")
  lost$said <- paste0(ifelse(finite, ends, ""), unknown)
  ggplot2::geom_text(
    ggplot2::aes(x = limits[[2L]], label = .data$said), lost, hjust = 1, vjust = -0.8,
    size = 2.6, colour = "grey30"
  )
}

# Private regressions ------------------------------------------------------------------------------

#' @rdname dp_lm-methods
#' @exportS3Method ggplot2::autoplot
autoplot.dp_lm <- function(object, level = 0.95, labels = NULL, ...) door("plot", {
  start_picture("to plot a fit.", ...)
  level <- check_level(level)
  reach <- stats::qt((1 + level) / 2, object$df.residual)
  draw_slopes(
    object, stats::confint(object, level = level),
    reach * sqrt(diag(object$covariance$privacy)), level, labels
  )
})

#' @rdname dp_lm-methods
#' @export
plot.dp_lm <- plot_by(autoplot.dp_lm)

#' @rdname dp_glm-methods
#' @exportS3Method ggplot2::autoplot
autoplot.dp_glm <- function(object, level = 0.95, labels = NULL, ...) door("plot", {
  start_picture("to plot a fit.", ...)
  level <- check_level(level)
  width <- stats::qnorm((1 + level) / 2)
  reach <- function(type) width * sqrt(diag(glm_covariance(object, type)))
  limits <- symmetric_limits(object$coefficients, reach("total"), level)
  draw_slopes(object, limits, reach("privacy"), level, labels)
})

#' @rdname dp_glm-methods
#' @export
plot.dp_glm <- plot_by(autoplot.dp_glm)

#' @param limits (`matrix`)\cr limits of all coefficients.
#' @param noise (`numeric`)\cr half widths for the privacy noise alone.
#' @noRd
draw_slopes <- function(object, limits, noise, level, labels) {
  private <- object$privacy$private
  table <- data.frame(
    term = labelled(names(object$coefficients), labels), estimate = unname(object$coefficients),
    low = unname(limits[, 1L]), high = unname(limits[, 2L]),
    noise = if (private) unname(noise) else NA_real_, identified = unname(object$identified)
  )[-1L, ]
  draw_coefficients(table, paste("Slopes of", object$text), privacy_subtitle(object$privacy),
    band_labels(level, ", each slope by itself"),
    unknown = "not identified at this budget"
  )
}

# The colours of Okabe and Ito that are distinguishable on white, in descending order of contrast.
term_colours <- c(
  "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9"
)
# The dotted line is omitted, since it marks a penalty.
term_lines <- c("solid", "dashed", "dotdash", "longdash", "twodash", "F2", "4222")

#' A legend of names in as many columns as fit on a narrow page
#' @noRd
columns_legend <- function(names) {
  long <- max(nchar(short_name(names)))
  ggplot2::guide_legend(ncol = if (long > 14L) 1L else if (long > 7L) 2L else 4L)
}

#' @rdname lm_path
#' @exportS3Method ggplot2::autoplot
autoplot.dp_lm_path <- function(object, labels = NULL, ...) door("plot", {
  start_picture("to plot a path.", ...)
  slopes <- object$coefficients[, -1L, drop = FALSE]
  terms <- labelled(colnames(slopes), labels)
  largest <- order(-apply(abs(slopes), 2L, max))
  named <- terms[sort(utils::head(largest, length(term_colours)))]
  data <- data.frame(
    penalty = rep(object$path$penalty, length(terms)), estimate = as.vector(slopes),
    term = rep(terms, each = nrow(slopes))
  )
  data <- data[data$penalty > 0, ]
  data$shown <- factor(ifelse(data$term %in% named, data$term, "others"),
    levels = c(named, if (length(terms) > length(named)) "others")
  )
  best <- object$path$penalty[[object$best]]
  ggplot2::ggplot(data, ggplot2::aes(
    .data$penalty, .data$estimate, group = .data$term, colour = .data$shown,
    linetype = .data$shown
  )) +
    zero_line() +
    (if (best > 0) {
      ggplot2::geom_vline(xintercept = best, linetype = 3, colour = guide_colour)
    }) +
    ggplot2::geom_line(linewidth = 0.7) +
    log_axis(data$penalty) +
    two_scales(
      c(term_colours[seq_along(named)], muted_colour), c(term_lines[seq_along(named)], "solid"),
      labels = short_name, guide = columns_legend(named)
    ) +
    ggplot2::labs(
      x = "penalty", y = "slope", title = paste("Slopes of", object$text),
      subtitle = paste0(
        if (!object$privacy$holds) "NOT PRIVATE. ", "All fits are from one release. The dotted ",
        "line marks the penalty with the smallest expected error"
      )
    ) +
    dpsc_theme()
})

#' @rdname lm_path
#' @export
plot.dp_lm_path <- plot_by(autoplot.dp_lm_path)

#' @rdname dp_selection-methods
#' @exportS3Method ggplot2::autoplot
autoplot.dp_selection <- function(object, level = 0.95, labels = NULL, ...) door("plot", {
  start_picture("to plot a selection.", ...)
  level <- check_level(level)
  table <- generics::tidy(object)
  table <- table[table$rank > 0, ]
  if (is.null(table$estimate) || !nrow(table)) {
    abort(c(
      "This selection has no estimates to plot.",
      i = if (is.null(object$coefficients)) {
        "The selection was made with {.code refit = FALSE}, or no variable was selected."
      }
    ), "argument")
  }
  table$term <- labelled(table$term, labels)
  reach <- stats::qnorm((1 + level) / 2)
  table$low <- table$estimate - reach * table$std.error
  table$high <- table$estimate + reach * table$std.error
  table$noise <- if (object$privacy$private) reach * table$privacy.se else NA_real_
  table$identified <- TRUE
  draw_coefficients(table[order(table$rank), ],
    paste0("Variables selected by method \"", object$method, "\", in the order of the picks"),
    paste0(privacy_subtitle(object$privacy), ". Conditional on the selection"),
    band_labels(level, ", each slope by itself")
  )
})

#' @rdname dp_selection-methods
#' @param level (`number`, in (0, 1))\cr coverage.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @export
plot.dp_selection <- plot_by(autoplot.dp_selection)

#' @rdname dp_aggregate-methods
#' @exportS3Method ggplot2::autoplot
autoplot.dp_aggregate <- function(object, level = 0.95, labels = NULL, ...) door("plot", {
  start_picture("to plot an aggregate.", ...)
  level <- check_level(level)
  names(object$estimate) <- labelled(names(object$estimate), labels)
  draw_aggregate(object, level)
})

#' @rdname dp_aggregate-methods
#' @param level (`number`, in (0, 1))\cr coverage.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @export
plot.dp_aggregate <- plot_by(autoplot.dp_aggregate)

#' Panels with an axis for each statistic, since statistics have different units
#' @noRd
draw_aggregate <- function(object, level) {
  data <- aggregate_bars(object, level)
  private <- object$privacy$private && object$privacy$holds
  ggplot2::ggplot(data, ggplot2::aes(.data$estimate, .data$at)) +
    error_layers(data, "lying", band_labels(level, both = has_spread(object))) +
    ggplot2::geom_point(size = 1.8) +
    ggplot2::facet_wrap(~term, scales = "free_x", ncol = 1L) +
    ggplot2::labs(
      x = "estimate", y = NULL,
      title = paste0(if (object$method == "median") "Medians" else "Means", " over ",
        count_of(object$plan$blocks, "block")),
      subtitle = paste0(if (!private) "NOT PRIVATE. ", aggregate_words(object))
    ) +
    dpsc_theme()
}

#' @noRd
aggregate_bars <- function(object, level) {
  reach <- stats::qnorm((1 + level) / 2)
  estimate <- unname(object$estimate)
  all <- reach * if (has_spread(object)) unname(object$std.error) else NA_real_
  noise <- reach * if (object$privacy$private) unname(object$privacy.se) else NA_real_
  data.frame(
    term = factor(names(object$estimate), levels = names(object$estimate)), at = "",
    estimate = estimate, low = estimate - all, high = estimate + all,
    noise_low = estimate - noise, noise_high = estimate + noise
  )
}

#' Scope of an aggregate's limits
#' @noRd
aggregate_words <- function(object) {
  if (has_spread(object)) {
    "Limits: sampling and privacy together"
  } else if (!anyNA(object$privacy.se)) {
    "Limits of the privacy noise alone"
  } else {
    "No limits: the standard deviation over blocks was not released"
  }
}

# Plans --------------------------------------------------------------------------------------------

#' @rdname dp_plan_lm
#' @exportS3Method ggplot2::autoplot
autoplot.dp_plan_lm <- function(object, ...) door("plot", {
  start_picture("to plot a plan.", ...)
  if (is.na(object$n) || is.na(object$epsilon)) {
    abort(paste(
      "{if (is.na(object$n)) 'No number of people' else 'No epsilon'} suffices, so there is",
      "nothing to plot."
    ), "argument")
  }
  data <- lm_plan_sweep(object)
  if (all(is.na(data$ratio))) {
    abort(c(
      "Noise hides all estimates near this plan, so there is nothing to plot.",
      i = "Print the plan: it states the number of people or the epsilon that is needed."
    ), "argument")
  }
  ggplot2::ggplot(data, ggplot2::aes(.data$against, .data$ratio)) +
    ggplot2::geom_hline(yintercept = 1, colour = guide_colour, linewidth = 0.3) +
    plan_point(data, c(object$n, object$epsilon)) +
    ggplot2::geom_line(colour = band_colour, linewidth = 0.7, na.rm = TRUE) +
    ggplot2::scale_y_log10(labels = plain_labels) +
    ggplot2::labs(
      x = NULL, y = "standard error relative to lm()",
      title = paste("Plan of", object$text),
      subtitle = paste(
        "The grey line is for lm(), and the dotted line marks this plan. No line is drawn where",
        "noise hides the moments"
      )
    ) +
    plan_panels()
})

#' @rdname dp_plan_lm
#' @param object (`dp_plan_lm`)\cr a plan.
#' @export
plot.dp_plan_lm <- plot_by(autoplot.dp_plan_lm)

#' Expected ratios along the number of people and along epsilon, through the point of the plan
#' @return A data frame: `panel` (factor), `against`, `ratio` (`NA` if no slope is resolved).
#' @noRd
lm_plan_sweep <- function(plan) {
  labels <- c(
    paste("people, at epsilon =", format(plan$epsilon)),
    paste("epsilon, with", format(plan$n, big.mark = ",", scientific = FALSE), "people")
  )
  ratio <- function(n, epsilon) {
    regression_outlook(n, epsilon, plan$facts)$ratio
  }
  around <- 10^seq(-2, 2, by = 0.05)
  people <- unique(round(pmax(plan$n * around, plan$columns + 2)))
  budgets <- plan$epsilon * around
  budgets <- budgets[budgets >= 1e-6 & budgets <= 1e6]
  of <- function(label, against, f) {
    data.frame(
      panel = factor(label, levels = labels), against = against, ratio = vapply(against, f, 0)
    )
  }
  rbind(
    of(labels[[1L]], people, function(n) ratio(n, plan$epsilon)),
    of(labels[[2L]], budgets, function(epsilon) ratio(plan$n, epsilon))
  )
}
