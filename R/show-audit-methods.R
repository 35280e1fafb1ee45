# Methods of audits: print, tidy, plot.

#' Methods for an audit
#'
#' @param x,object (`dp_audit`)\cr from [dp_audit()].
#' @param ... unused.
#' @return
#' * `tidy()` for mode `"blackbox"`: a data frame with one row per event and columns `score`,
#'   `favours`, `true.positive`, `false.positive`, `runs` and `epsilon` (the lower bound).
#' * `tidy()` for mode `"loss"`: a data frame with one row per direction and columns `from`,
#'   `epsilon.claimed`, `delta.estimate`, `delta.low`, `delta.high`, `epsilon` (the lower bound),
#'   `share.above` (the share of losses above the claim), `largest.loss` and `runs`.
#' * `tidy()` for mode `"replay"`: a data frame with one row per noise call and columns `call`,
#'   `law`, `size`, `declared`, `observed` (the largest observed sensitivity) and `ratio`.
#' * `autoplot()`: a ggplot; `plot()` draws it. For mode `"blackbox"` the plot shows true positives
#'   against false positives of the events, with the region that the claim permits. For mode
#'   `"loss"` it shows delta against epsilon, with confidence limits and the claim. For mode
#'   `"replay"` it shows the ratio of observed to declared sensitivity.
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' laplace <- function(panel) sum(panel) + rexp(1) - rexp(1)
#' audit <- dp_audit(laplace, matrix(0, 3, 1), matrix(c(1, 0, 0)), epsilon = 1, n_runs = 500)
#' plot(audit)
#' @export
print.dp_audit <- function(x, ...) say_lines(x, format.dp_audit(x))

#' @rdname print.dp_audit
#' @export
format.dp_audit <- function(x, ...) {
  number <- audit_number
  title <- switch(x$mode,
    blackbox = "Black-box audit", loss = "Exact-loss audit", replay = "Sensitivity audit"
  )
  runs <- paste0(
    title, ", ", format(x$n_runs, big.mark = ","), " runs on each of two neighbouring data sets"
  )
  if (x$mode == "replay") {
    return(c(
      paste0(title, ", ", format(x$n_runs, big.mark = ","), " recorded and replayed runs"),
      audit_calls(x$table, number), if (!is.null(x$note)) paste0("  ", x$note),
      paste0("  ", if (is.na(x$violated)) {
        "NOT KNOWN whether a call's argument changed by more than declared."
      } else if (x$violated) {
        "VIOLATED: a noise call's argument depends more on the data than declared."
      } else {
        "No call's argument changed by more than declared between these two data sets."
      })
    ))
  }
  claim <- paste0("  claimed   epsilon ", number(x$claimed$epsilon), ", delta ",
    number(x$claimed$delta))
  confidence <- paste0(" (lower bound, ", format(100 * x$level), " % confidence)")
  c(
    runs, claim,
    paste0("  observed  epsilon ", number(x$observed$epsilon), " at the claimed delta",
      confidence),
    if (x$mode == "loss") {
      c(
        paste0("            delta ", number(x$observed$delta), " at the claimed epsilon",
          confidence),
        paste0("            largest loss ", number(x$observed$loss), "; ",
          number(100 * max(x$table$share.above)), " % of losses exceed the claim")
      )
    },
    if (!is.null(x$note)) paste0("  ", x$note),
    paste0("  ", if (x$violated) {
      "VIOLATED: the mechanism does not meet its claim."
    } else {
      "No violation found. This does not prove the claim."
    })
  )
}

audit_number <- function(values) {
  vapply(values, function(value) format(signif(value, 4L)), character(1))
}

#' @noRd
audit_calls <- function(table, number) {
  if (is.null(table)) {
    return(NULL)
  }
  shown <- data.frame(
    call = table$call, law = table$law, declared = number(table$declared),
    observed = number(table$observed), ratio = formatC(table$ratio, digits = 3L, format = "f")
  )
  paste0("  ", utils::capture.output(print(shown, row.names = FALSE, right = FALSE)))
}

#' @rdname print.dp_audit
#' @export
tidy.dp_audit <- function(x, ...) door("tidy", {
  check_table_dots(...)
  x$table
})

#' @rdname print.dp_audit
#' @exportS3Method ggplot2::autoplot
autoplot.dp_audit <- function(object, ...) door("plot", {
  start_picture("to plot an audit.", ...)
  if (is.null(object$table)) {
    abort("There is nothing to plot, because the sequences of noise calls differed.", "argument")
  }
  picture <- switch(object$mode,
    blackbox = plot_audit_events(object), loss = plot_audit_loss(object),
    replay = plot_audit_calls(object)
  )
  picture + dpsc_theme()
})

#' @rdname print.dp_audit
#' @export
plot.dp_audit <- plot_by(autoplot.dp_audit)

# The blue and vermillion of Okabe and Ito.
audit_colours <- c(claimed = "#0072B2", observed = "#D55E00")

audit_title <- function(x) {
  if (is.na(x$violated)) {
    "Not known"
  } else if (x$violated) {
    "The claim does not hold"
  } else {
    "No violation found"
  }
}

#' Events, with the region that the claim permits
#' @noRd
plot_audit_events <- function(x) {
  epsilon <- x$claimed$epsilon
  delta <- x$claimed$delta
  edge <- data.frame(false = sort(unique(c(
    seq(0, 1, length.out = 101), 10^seq(-4, 0, length.out = 81)
  ))))
  allowed <- function(epsilon) {
    pmin(1, exp(epsilon) * edge$false + delta, 1 - exp(-epsilon) * (1 - delta - edge$false))
  }
  edge$true <- allowed(epsilon)
  observed <- max(0, x$observed$epsilon)
  shown <- paste0(c("claimed: epsilon ", "observed: epsilon at least "),
    audit_number(c(epsilon, observed)))
  floor <- edge
  floor$true <- allowed(observed)
  lines <- rbind(data.frame(edge, what = shown[[1L]]), data.frame(floor, what = shown[[2L]]))
  lines$what <- factor(lines$what, levels = shown)
  ggplot2::ggplot() +
    ggplot2::geom_ribbon(
      ggplot2::aes(.data$false, ymin = 0, ymax = .data$true), edge,
      fill = audit_colours[["claimed"]], alpha = 0.12
    ) +
    ggplot2::geom_line(
      ggplot2::aes(.data$false, .data$true, colour = .data$what, linetype = .data$what), lines,
      linewidth = 0.8
    ) +
    ggplot2::geom_point(
      ggplot2::aes(.data$false.positive, .data$true.positive, shape = .data$score), x$table,
      size = 2.6, colour = audit_colours[["observed"]]
    ) +
    ggplot2::scale_colour_manual(NULL, values = unname(audit_colours)) +
    ggplot2::scale_linetype_manual(NULL, values = c(1, 2)) +
    ggplot2::scale_shape_discrete("event on") +
    ggplot2::coord_cartesian(
      xlim = c(0, shown_range(x$table$false.positive)),
      ylim = c(0, shown_range(x$table$true.positive))
    ) +
    ggplot2::guides(
      colour = ggplot2::guide_legend(nrow = 2), shape = ggplot2::guide_legend(nrow = 2)
    ) +
    ggplot2::labs(
      x = "frequency of the event on the other panel",
      y = "frequency of the event", title = audit_title(x),
      subtitle = "The claim allows points in the shaded area. Points are selected events"
    )
}

# Events are often rare, so the figure shows the corner that contains them.
shown_range <- function(share) min(1, max(0.1, 1.5 * share))

#' Plot of delta(epsilon) against the claim
#' @noRd
plot_audit_loss <- function(x) {
  curve <- x$curve
  floor <- max(1e-6, min(c(curve$high, x$claimed$delta[x$claimed$delta > 0])) / 3)
  shown <- function(value) pmax(value, floor)
  claim <- data.frame(epsilon = x$claimed$epsilon, delta = shown(x$claimed$delta))
  ggplot2::ggplot(curve, ggplot2::aes(.data$epsilon)) +
    ggplot2::geom_ribbon(
      ggplot2::aes(ymin = shown(.data$low), ymax = shown(.data$high)),
      fill = audit_colours[["observed"]], alpha = 0.2
    ) +
    ggplot2::geom_line(
      ggplot2::aes(y = ifelse(.data$estimate < floor, NA, .data$estimate)),
      colour = audit_colours[["observed"]], linewidth = 0.8, na.rm = TRUE
    ) +
    ggplot2::geom_point(
      ggplot2::aes(.data$epsilon, .data$delta), claim,
      colour = audit_colours[["claimed"]], shape = 18, size = 4
    ) +
    ggplot2::geom_text(
      ggplot2::aes(.data$epsilon, .data$delta, label = "claimed"), claim,
      colour = audit_colours[["claimed"]], hjust = -0.25, vjust = -0.5, size = 3.5
    ) +
    ggplot2::scale_y_log10() +
    ggplot2::labs(
      x = "epsilon", y = "delta", title = audit_title(x),
      subtitle = paste0(
        "The line is delta(epsilon) from the exact losses of ", format(x$n_runs, big.mark = ","),
        " runs; the band shows its ", format(100 * x$level), " % limits",
        if (x$claimed$delta < floor) "\nThe claimed delta is 0, below the axis"
      )
    )
}

#' Plot of observed divided by declared sensitivity, call by call
#' @noRd
plot_audit_calls <- function(x) {
  data <- x$table
  labels <- make.unique(data$call, sep = " ")
  data$call <- factor(labels, levels = rev(labels))
  ggplot2::ggplot(data, ggplot2::aes(.data$ratio, .data$call)) +
    ggplot2::geom_col(fill = audit_colours[["observed"]], width = 0.55) +
    ggplot2::geom_vline(xintercept = 1, colour = audit_colours[["claimed"]], linewidth = 0.9) +
    ggplot2::scale_x_continuous(limits = c(0, max(1.05, data$ratio))) +
    ggplot2::labs(
      x = "largest observed shift / declared sensitivity", y = NULL, title = audit_title(x),
      subtitle = "Line: declared sensitivity"
    )
}
