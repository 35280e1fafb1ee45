# Errors in every figure, as a band, a vertical or a horizontal bar. The pale part is the interval,
# the dark part the interval from the privacy noise alone.

band_colour <- "#0072B2"
band_alpha <- c(all = 0.25, noise = 0.4)
# The dark part lies on the pale part. A dark part without a pale part is drawn in the same tone.
dark_alpha <- 1 - prod(1 - band_alpha)
# For bands only, the legend contains a key for each part.
fill_key <- c(fill = TRUE, colour = FALSE, linetype = FALSE)
bar_width_pt <- 2.6

#' Legend texts of the two parts
#' @param covers (`string`)\cr scope of the level, such as `", each period by itself"`.
#' @param both (`flag`)\cr whether the interval is known, and not only the noise.
#' @noRd
band_labels <- function(level, covers = "", both = TRUE) {
  c(
    all = paste0(percent_text(level), " interval", covers),
    noise = if (both) {
      "from privacy noise alone"
    } else {
      paste0(percent_text(level), " range of the privacy noise alone", covers)
    }
  )
}

#' Errors as two bands, with a legend; no layers if no errors are known
#' @param data (`data.frame`)\cr `at`, `low`, `high`, `noise_low`, `noise_high`, and the variables
#'   of panels and groups. A part that is always `NA` is neither drawn nor named in the legend.
#' @param shape (`string`)\cr `"band"` or `"bar"` for vertical errors at `at`, `"lying"` for
#'   horizontal errors.
#' @param labels (`character`)\cr the labels of the legend, from [band_labels()]; `NULL`: no legend.
#' @noRd
error_layers <- function(data, shape = "band", labels = NULL) {
  parts <- band_parts(data)
  if (!length(parts)) {
    return(NULL)
  }
  alpha <- band_alpha[names(parts)]
  if (length(parts) == 1L && names(parts) == "noise") alpha[["noise"]] <- dark_alpha
  drawn <- if (shape == "band") {
    Map(band_layer, parts, alpha, seq_along(parts) == 1L, USE.NAMES = FALSE)
  } else {
    list(bar_layer(do.call(rbind, unname(parts)), shape == "lying"))
  }
  c(drawn, band_scale(alpha, shape == "band", labels))
}

#' The interval and the noise's part, if known
#' @return A list by name of data frames with `at`, `low`, `high`, `part`.
#' @noRd
band_parts <- function(data) {
  other <- setdiff(names(data), c("low", "high", "noise_low", "noise_high"))
  parts <- lapply(c(all = "", noise = "noise_"), function(part) {
    low <- data[[paste0(part, "low")]]
    high <- data[[paste0(part, "high")]]
    if (is.null(low)) low <- high <- rep(NA_real_, nrow(data))
    known <- !is.na(low) & !is.na(high)
    data.frame(data[other], low = low, high = high)[known, ]
  })
  for (name in names(parts)) parts[[name]]$part <- rep(name, nrow(parts[[name]]))
  Filter(nrow, parts)
}

#' One band, or a bar for a single period
#' @param key (`flag`)\cr whether this layer draws the keys of the legend, which would be darker if
#'   drawn twice.
#' @noRd
band_layer <- function(band, alpha, key) {
  if (all(table(band$target) <= 1L)) {
    return(ggplot2::geom_tile(
      ggplot2::aes(.data$at, (.data$low + .data$high) / 2,
        height = .data$high - .data$low, width = .data$wide, fill = .data$part
      ), band,
      inherit.aes = FALSE, alpha = alpha, show.legend = if (key) fill_key else FALSE
    ))
  }
  ggplot2::geom_ribbon(
    ggplot2::aes(.data$at,
      ymin = .data$low, ymax = .data$high, fill = .data$part,
      group = paste(.data$part, .data$target)
    ), band,
    inherit.aes = FALSE, alpha = alpha, show.legend = if (key) fill_key else FALSE
  )
}

#' @param lying (`flag`)\cr whether the errors are horizontal, along x.
#' @noRd
bar_layer <- function(bars, lying) {
  mapping <- if (lying) {
    ggplot2::aes(y = .data$at, xmin = .data$low, xmax = .data$high, alpha = .data$part)
  } else {
    ggplot2::aes(.data$at, ymin = .data$low, ymax = .data$high, alpha = .data$part)
  }
  ggplot2::geom_linerange(mapping, bars,
    inherit.aes = FALSE, colour = band_colour, linewidth = bar_width_pt
  )
}

#' @param alpha (`numeric`)\cr the opacity of each part drawn.
#' @param filled (`flag`)\cr whether to draw bands, and not bars.
#' @noRd
band_scale <- function(alpha, filled, labels) {
  used <- names(alpha)
  labels <- if (!is.null(labels)) vapply(labels[used], wrap_text, "", USE.NAMES = FALSE)
  seen <- unname(ifelse(used == "noise", dark_alpha, alpha))
  guide <- if (is.null(labels)) "none" else ggplot2::guide_legend(
    order = 2, override.aes = if (filled) list(fill = band_colour, alpha = seen) else
      list(alpha = seen)
  )
  if (!filled) {
    return(ggplot2::scale_alpha_manual(NULL,
      values = alpha, limits = used, labels = labels %||% used, guide = guide
    ))
  }
  ggplot2::scale_fill_manual(NULL,
    values = stats::setNames(rep(band_colour, length(used)), used), limits = used,
    labels = labels %||% used, guide = guide
  )
}
