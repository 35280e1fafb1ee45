# Texts in the figures of a fit (title, promise, reasons for missing parts), and the rows of these
# figures.

#' The rows of the displayed targets, with the targets in the order of display
#' @noRd
rows_shown <- function(fit, data, shown) {
  names <- rownames(fit$target)[shown]
  data <- data[data$target %in% names, ]
  data$target <- factor(data$target, levels = names)
  data
}

#' The reason why a figure shows only a band for the noise, which is not an interval; or `NULL`
#' @noRd
no_interval_words <- function(fit, shown, level) {
  reasons <- if (!is_classical(fit$release$method) && !noise_only(fit)) {
    unique(unlist(lapply(shown, function(i) missing_interval(fit, i, level))))
  }
  if (length(reasons)) paste0("NO INTERVAL: ", reasons[[1L]])
}

plot_title <- function(fit, shown = seq_len(nrow(fit$target))) {
  names <- rownames(fit$target)[shown]
  names <- short_name(names, if (length(names) > 1L) 28L else 60L)
  # A number alone is not a readable name.
  if (length(names) == 1L && grepl("^[0-9]+$", names)) names <- paste("unit", names)
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
    if (noise_swamps(fit)) paste0(swamped_words, ": do not read an effect from this figure")
  )
  paste(text, collapse = "\n")
}

#' Is the noise of an average as large as the bounds? See `noise_note()`
#' @noRd
noise_swamps <- function(fit) {
  release <- fit$release
  table <- effect_table(fit)
  error <- table$privacy.se[table$term == "average"]
  release$privacy$private && !anyNA(error) && is_swamping(max(error), release)
}
