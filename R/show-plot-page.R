# Figures that fit the page. In ggplot2 the length of a title does not depend on the width of the
# device, so a long title is cut off at the edge. Our figures therefore break lines, and use smaller
# text on a narrow page, when they are built for an open device. Everything else is ggplot2's
# default.

# A narrower page is a column of a paper, for which text of size base_text is too large.
narrow_page <- 4.5
base_text <- 11
narrow_text <- 8.5

#' Mark a figure that is to be fitted to its page
#' @noRd
#' @exportS3Method ggplot2::ggplot_add
ggplot_add.dpsc_page <- function(object, plot, ...) {
  class(plot) <- unique(c("dpsc_figure", class(plot)))
  plot
}

#' @exportS3Method ggplot2::ggplot_build
ggplot_build.dpsc_figure <- function(plot, ...) {
  class(plot) <- setdiff(class(plot), "dpsc_figure")
  if (is_page_open()) plot <- fit_page(plot, page_inches())
  ggplot2::ggplot_build(plot)
}

#' Is a graphics device open? Without a device a query for its width would open a device.
#' @noRd
is_page_open <- function() {
  requireNamespace("grid", quietly = TRUE) && !identical(.Device, "null device")
}

#' The number of letters of an axis' labels that fit side by side in one panel
#' @param panels (`count`)\cr number of panels side by side.
#' @noRd
label_room <- function(panels) {
  inches <- if (is_page_open()) page_inches()[[1L]] else 7
  size <- if (inches < narrow_page) narrow_text else base_text
  (max(0, 72 * inches - 60) / panels - 18 * (panels > 1)) / (0.55 * 0.8 * size)
}

#' Breaks of an axis, as many as fit on the page when the figure is built
#' @param make (`function`)\cr a function of limits and a number, such as [pretty()].
#' @param text (`function`)\cr a function from breaks to their labels.
#' @param range (`vector(2)`)\cr range of the data; breaks outside this range are omitted, since
#'   their labels would be cut off.
#' @param taken (`count`)\cr number of letters of the axis beside each panel.
#' @noRd
breaks_that_fit <- function(make, text, range, panels, taken = 0L) {
  # A plot keeps this frame. An unforced promise in the frame would keep the frame of a caller.
  for (given in list(make, text, range, panels, taken)) force(given)
  function(limits) {
    ends <- c(max(range[[1L]], limits[[1L]]), min(range[[2L]], limits[[2L]]))
    if (ends[[1L]] >= ends[[2L]]) {
      return(ends[[1L]])
    }
    room <- label_room(panels) - taken
    for (most in 7:1) {
      at <- make(ends, most)
      at <- at[!is.na(at) & at >= ends[[1L]] & at <= ends[[2L]]]
      if (length(at) && sum(nchar(text(at)) + 3L) <= room + 3L) {
        return(at)
      }
    }
    utils::head(if (length(at)) at else ends, 1L)
  }
}

#' Width and height of the graphics device
#' @noRd
page_inches <- function() {
  of <- function(convert) convert(grid::unit(1, "npc"), "in", valueOnly = TRUE)
  c(of(grid::convertWidth), of(grid::convertHeight))
}

#' A figure with its text broken for a page
#' @param inches (`numeric(2)`)\cr width and height.
#' @noRd
fit_page <- function(plot, inches) {
  narrow <- inches[[1L]] < narrow_page
  if (narrow) plot <- plot + narrow_theme(plot)
  size <- if (narrow) narrow_text else base_text
  room <- 72 * inches - 26
  # Complete themes of ggplot2 align the title with the panel.
  title <- room[[1L]] - if (identical(plot$theme$plot.title.position, "plot")) 0 else 5 * size
  plot + do.call(ggplot2::labs, Filter(Negate(is.null), list(
    title = break_lines(plot$labels$title, 1.2 * size, title),
    subtitle = break_lines(plot$labels$subtitle, 0.86 * size, title),
    caption = break_lines(plot$labels$caption, 0.8 * size, room[[1L]]),
    x = break_lines(plot$labels$x, size, 0.72 * room[[1L]]),
    y = break_lines(plot$labels$y, size, 0.52 * room[[2L]])
  )))
}

#' Smaller text, and legends below each other, unless the user set another size
#' @noRd
narrow_theme <- function(plot) {
  own <- plot$theme$text$size
  if (is.null(own) || own != base_text) {
    return(NULL)
  }
  place <- plot$theme$legend.position
  # Complete themes of ggplot2 put the legend to the right, which leaves no room for the figure.
  ggplot2::theme(
    legend.position = if (identical(place, "right")) "bottom" else place,
    legend.box = "vertical", legend.margin = ggplot2::margin(0, 0, 0, 0),
    text = ggplot2::element_text(size = narrow_text),
    plot.subtitle = ggplot2::element_text(size = 0.86 * narrow_text),
    legend.direction = "vertical", legend.box.spacing = ggplot2::unit(4, "pt"),
    legend.key.size = ggplot2::unit(10, "pt"), legend.key.width = ggplot2::unit(16, "pt"),
    legend.spacing.y = ggplot2::unit(1, "pt"),
    plot.margin = ggplot2::margin(4, 10, 4, 4)
  )
}

#' Text broken into lines of a given width, with existing line breaks
#' @param size,points (`number`)\cr the sizes of the font and of a line.
#' @noRd
break_lines <- function(text, size, points) {
  if (!is.character(text) || length(text) != 1L || is.na(text) || !nzchar(text)) {
    return(NULL)
  }
  drawn <- grid::textGrob(text, gp = grid::gpar(fontsize = size))
  wide <- grid::convertWidth(grid::grobWidth(drawn), "points", valueOnly = TRUE)
  lines <- strsplit(text, "\n", fixed = TRUE)[[1L]]
  # The number of letters that fit on a line, with some room for wide letters.
  room <- floor(0.96 * max(nchar(lines)) * points / wide)
  if (wide <= points) text else paste(whole_terms(lines, room + 1L), collapse = "\n")
}

#' Lines without breaks inside "delta = 1e-06" or "95 %"
#' @noRd
whole_terms <- function(lines, width) {
  kept <- gsub(" (?==|%)|(?<==) ", "\001", lines, perl = TRUE)
  gsub("\001", " ", strwrap(kept, width), fixed = TRUE)
}
