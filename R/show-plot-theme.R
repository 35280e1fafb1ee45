# Code shared by all plots: colours, theme, axes of periods, and shortened names.

# The black, blue and vermillion of Okabe and Ito: distinguishable for colour-blind readers, and in
# grey. Line types repeat the meaning of the colours.
line_colours <- c(observed = "#000000", released = "#000000", counterfactual = "#0072B2")
line_labels <- c(
  observed = "observed", released = "treated, released with noise",
  counterfactual = "counterfactual"
)
contrast_colours <- c("#D55E00", "#0072B2")
muted_colour <- "grey65"
# Lines at zero and at dates are visible on a white and on a dark panel.
guide_colour <- "grey25"

#' The common theme of all figures
#' @noRd
dpsc_theme <- function() {
  list(
    structure(list(), class = "dpsc_page"), ggplot2::theme_minimal(base_size = base_text),
    ggplot2::theme(
      # Figures may be pasted onto pages of any colour.
      plot.background = ggplot2::element_rect(fill = "white", colour = NA),
      legend.position = "bottom", legend.box = "vertical",
      legend.margin = ggplot2::margin(0, 0, 0, 0),
      legend.spacing.y = ggplot2::unit(2, "pt"),
      plot.title.position = "plot", plot.caption.position = "plot",
      plot.subtitle = ggplot2::element_text(colour = "grey30", size = 9.5),
      plot.caption = ggplot2::element_text(colour = "grey30", hjust = 0),
      panel.grid.minor = ggplot2::element_blank(), panel.spacing.x = ggplot2::unit(18, "pt"),
      strip.text = ggplot2::element_text(hjust = 0), plot.margin = ggplot2::margin(6, 18, 6, 6)
    )
  )
}

#' Observed and counterfactual paths
#' @param lines (`data.frame`)\cr `period`, `value`, `line`, one of `line_colours`' names.
#' @noRd
path_lines <- function(lines) {
  used <- intersect(names(line_colours), lines$line)
  lines$line <- factor(lines$line, levels = used)
  list(
    ggplot2::geom_line(
      ggplot2::aes(.data$period, .data$value,
        colour = .data$line, linetype = .data$line, group = .data$line
      ), lines,
      na.rm = TRUE, linewidth = 0.7
    ),
    two_scales(
      line_colours[used], c(observed = 1, released = 1, counterfactual = 2)[used],
      labels = line_labels[used], guide = beside_legend(order = 1)
    )
  )
}

#' Paths of a fit as lines
#'
#' A protected group's path before the treatment is released as fitted values, so a good fit is
#' uninformative and is not drawn. The noisy path can exceed the bounds, and is cut off at the
#' bounds.
#' @param data (`data.frame`)\cr `target`, `period`, `treated`, `.observed`, `.fitted`, `.lower`,
#'   `.upper`.
#' @noRd
fit_lines <- function(data, released) {
  one <- data[c("target", "period", "treated")]
  if (!released) {
    return(rbind(
      data.frame(one, value = data$.observed, line = "observed"),
      data.frame(one, value = data$.fitted, line = "counterfactual")
    ))
  }
  shown <- pmin(pmax(data$.observed, data$.lower), data$.upper)
  fitted <- ifelse(data$treated, data$.fitted, NA)
  rbind(
    data.frame(one, value = shown, line = "released"),
    data.frame(one, value = fitted, line = "counterfactual")
  )
}

#' Scales of lines or points that differ in colour and in one other aesthetic, with one legend
#' @param second (`function`)\cr the other scale.
#' @param ... arguments of both scales: `labels`, `guide`, `breaks`.
#' @noRd
two_scales <- function(colours, others, ..., second = ggplot2::scale_linetype_manual) {
  first <- ggplot2::scale_colour_manual(NULL, values = colours, ...)
  list(first, second(NULL, values = others, ...))
}

#' A legend of short names, side by side even on narrow pages
#' @noRd
beside_legend <- function(...) ggplot2::guide_legend(direction = "horizontal", ...)

zero_line <- function() ggplot2::geom_hline(yintercept = 0, colour = guide_colour, linewidth = 0.3)

#' An axis of periods: integers for integer periods, with as many labels as fit on the page
#' @param panels (`count`)\cr number of panels side by side, which share the width of the page.
#' @noRd
period_axis <- function(times, panels = 1) {
  guide <- ggplot2::guide_axis(check.overlap = TRUE)
  fitting <- function(make, text = format) breaks_that_fit(make, text, range(times), panels)
  if (is.factor(times)) {
    ggplot2::scale_x_discrete(
      breaks = function(limits) spread_labels(limits, label_room(panels)), drop = FALSE,
      guide = guide
    )
  } else if (inherits(times, "Date")) {
    ggplot2::scale_x_date(
      breaks = fitting(pretty, date_labels), labels = date_labels, guide = guide
    )
  } else if (inherits(times, "POSIXct")) {
    ggplot2::scale_x_datetime(breaks = fitting(pretty), guide = guide)
  } else if (is.numeric(times) && !is.object(times) && all(times == round(times))) {
    whole <- function(limits, most) unique(round(pretty(limits, min(most, diff(limits)))))
    ggplot2::scale_x_continuous(guide = guide, breaks = fitting(whole))
  } else {
    ggplot2::scale_x_continuous(guide = guide, breaks = fitting(pretty))
  }
}

#' An axis of logs, with as many powers of ten as fit
#' @noRd
log_axis <- function(values, panels = 1) {
  powers <- function(limits, most) {
    ends <- c(ceiling(log10(limits[[1L]])), floor(log10(limits[[2L]])))
    if (diff(ends) < 1) {
      return(pretty(limits, most))
    }
    10^seq(ends[[1L]], ends[[2L]], by = ceiling((diff(ends) + 1) / most))
  }
  ggplot2::scale_x_log10(
    breaks = breaks_that_fit(powers, plain_labels, range(values), panels), labels = plain_labels,
    guide = ggplot2::guide_axis(check.overlap = TRUE)
  )
}

#' Title of an axis of periods, or `NULL` if its labels are dates
#' @noRd
axis_of_periods <- function(fit) axis_of_times(fit$release$panel$times)

axis_of_times <- function(times) {
  if (!inherits(plot_periods(times), c("Date", "POSIXct"))) "period"
}

#' Dates as text, without the day if all dates are first days of a month, and as years if all are
#' first days of a year
#' @noRd
date_labels <- function(dates) {
  all_are <- function(what, text) all(format(dates, what) == text, na.rm = TRUE)
  year <- all_are("%m-%d", "01-01") && sum(!is.na(dates)) > 1L
  format(dates, if (year) "%Y" else if (all_are("%d", "01")) "%Y-%m" else "%Y-%m-%d")
}

#' As many labels as fit on a line, evenly spread, including the first
#' @param room (`number`)\cr number of characters that fit.
#' @noRd
spread_labels <- function(labels, room) {
  most <- max(1, floor(room / (max(nchar(labels)) + 2)))
  labels[seq(1, length(labels), by = ceiling(length(labels) / most))]
}

#' Position between the last period before the treatment and the first treated period
#' @noRd
treatment_line <- function(x) {
  dotted_at(data.frame(at = between_periods(plot_periods(x$times), x$T0)))
}

#' Dotted lines, separate for each of several panels
#' @param data (`data.frame`)\cr `at`, and the column of the panels.
#' @noRd
dotted_at <- function(data) {
  ggplot2::geom_vline(
    ggplot2::aes(xintercept = .data$at), data, linetype = 3, colour = guide_colour
  )
}

#' The middle between a period and the next on an axis, in the axis's class
#' @param times (`vector`)\cr the periods in the form for an axis, from [plot_periods()].
#' @param T0 (`integer`)\cr positions.
#' @noRd
between_periods <- function(times, T0) {
  if (is.factor(times)) {
    return(T0 + 0.5)
  }
  at <- (as.numeric(times[T0]) + as.numeric(times[T0 + 1L])) / 2
  if (inherits(times, "Date")) {
    .Date(at)
  } else if (inherits(times, "POSIXct")) {
    .POSIXct(at, attr(times, "tzone"))
  } else {
    at
  }
}

dotted_line_words <- "Dotted line: start of the treatment."

#' The dotted line, and its meaning
#' @noRd
dotted_line <- function(x) {
  list(treatment_line(x), ggplot2::labs(caption = dotted_line_words))
}

#' A title that starts with a capital, unless its first word is a name with digits
#' @noRd
capital <- function(text) sub("^([a-z])(?=[a-z]* |[a-z]*$)", "\\U\\1", text, perl = TRUE)

#' Readable names of variables
#' @param labels (`character` or `NULL`)\cr labels with the replaced variables as names; unknown
#'   names have no effect, so that one vector can be used for all figures of a paper.
#' @noRd
labelled <- function(names, labels) {
  if (is.null(labels)) {
    return(names)
  }
  known <- rlang::names2(labels)
  if (!is.character(labels) || anyNA(labels) || any(known == "") || anyDuplicated(known)) {
    abort(c(
      "{.arg labels} must be text, named by the variables to relabel.",
      i = 'For example {.code labels = c(cigsale = "Packs per person")}.'
    ), "argument")
  }
  at <- match(as.character(names), known)
  out <- ifelse(is.na(at), as.character(names), unname(labels)[at])
  if (anyDuplicated(out) && !anyDuplicated(names)) {
    abort("{.arg labels} must not give two variables of a figure the same name.", "argument")
  }
  out
}

#' A name as an axis title, broken into lines
#' @noRd
axis_name <- function(name) short_name(name, 60L)

#' A name shortened to the space of a title or a legend
#' @noRd
short_name <- function(names, width = 28L) {
  long <- nchar(names) > width
  names[long] <- paste0(trimws(substr(names[long], 1L, width - 3L)), "...")
  names
}

#' Panels in the order of the targets, with names that fit
#' @noRd
target_panels <- function(targets, ncol, scales = "fixed") {
  if (length(unique(targets)) > 1L) {
    list(
      ggplot2::facet_wrap(~target,
        ncol = ncol, scales = scales,
        labeller = strip_labeller(ncol, ceiling(length(unique(targets)) / ncol))
      ),
      ggplot2::guides(y = ggplot2::guide_axis(check.overlap = TRUE))
    )
  }
}

#' Names above panels, with one line, or two lines if the page is high enough
#' @param panels,rows (`count`)\cr number of panels side by side, and number of rows of panels.
#' @param taken (`count`)\cr letters of the axis beside each panel.
#' @noRd
strip_text <- function(names, panels, rows = 1L, taken = 0L) {
  room <- max(8L, floor(label_room(panels)) - taken)
  high <- !is_page_open() || page_inches()[[2L]] > rows
  vapply(as.character(names), function(name) {
    lines <- strwrap(name, room + 1L)
    if (!high || length(lines) < 2L) {
      return(short_name(name, room))
    }
    paste(short_name(c(lines[[1L]], paste(lines[-1L], collapse = " ")), room), collapse = "\n")
  }, "", USE.NAMES = FALSE)
}

#' @noRd
strip_labeller <- function(panels, rows = 1L, taken = 0L) {
  for (given in list(panels, rows, taken)) force(given)
  ggplot2::as_labeller(function(names) strip_text(names, panels, rows, taken))
}

#' Lines of a legend, without line breaks
#' @noRd
wrap_text <- function(text, width = 46L) {
  paste(strwrap(text, width), collapse = "\n")
}

plain_labels <- function(breaks) {
  format(breaks, big.mark = ",", scientific = FALSE, trim = TRUE, drop0trailing = TRUE)
}

percent_text <- function(level) paste(format(100 * level, digits = 4L), "%")

#' Subtitle of slopes and other released numbers
#' @noRd
privacy_subtitle <- function(privacy) {
  if (privacy$private && privacy$holds) {
    paste0("Private with epsilon = ", format(privacy$epsilon), ", delta = ", format(privacy$delta))
  } else {
    "NOT PRIVATE"
  }
}
