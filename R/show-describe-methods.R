# Methods of descriptions, which use released values and public facts.

#' Methods for a description
#'
#' These methods for a result of [dp_describe()] are post-processing and cost nothing.
#'
#' @param x,object (`dp_description`).
#' @param conf.int (`flag`)\cr whether to add confidence limits.
#' @param level,conf.level (`number`, in (0, 1))\cr coverage of limits.
#' @param clusters (`flag`)\cr whether limits of means and standard deviations allow for a hidden
#'   cluster: values far from all other values, but hidden by the noise. See [dp_describe()],
#'   section Confidence limits.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @param ... no further arguments, except those that table packages pass to `tidy()`. `glance()`
#'   ignores further arguments.
#' @return
#' * `print()`: a table with one column per group and the confidence limits of each number. If the
#'   limits allow for a hidden cluster (see `clusters`), a note below the table gives the largest
#'   possible share of people in it. A standard deviation with a released square of at most 0 is
#'   printed as "below the noise", with limits; `tidy()` returns 0.
#' * `tidy()`: a data frame with one row per number and columns `variable`, `level` (of a factor,
#'   else `NA`), `group` (`NA` for all people), `statistic` (`"n"`, `"share"`, `"mean"`, `"sd"`, or
#'   a quantile such as `"q0.25"`), `estimate`, `std.error` (for sampling and privacy), `privacy.se`
#'   (for privacy alone), `conf.low` and `conf.high`. Standard errors of `n` are for noise alone.
#' * `glance()`: one row with `nobs`, `epsilon`, `delta` and `private` (whether the stated guarantee
#'   is valid).
#' * `nobs()`: the number of rows, or with `person = ~ id` of people.
#' * `summary()`: the printed table, with all facts on privacy and the steps.
#' * `plot()`, `autoplot()`: a figure of quantiles, means and shares with their limits, with one
#'   panel per variable.
#' @section Errors: `dpsc_error_argument`.
#' @name dp_description-methods
NULL

#' @rdname dp_description-methods
#' @export
tidy.dp_description <- function(x, conf.int = TRUE, conf.level = 0.95, clusters = TRUE,
                                ...) door("tidy", {
  check_table_dots(...)
  level <- check_level(conf.level, "conf.level")
  out <- description_table(x, level, check_flag(clusters))
  if (check_flag(conf.int)) out else out[setdiff(names(out), c("conf.low", "conf.high"))]
})

#' @rdname dp_description-methods
#' @export
glance.dp_description <- function(x, ...) {
  data.frame(
    nobs = x$nobs, epsilon = x$privacy$epsilon, delta = x$privacy$delta,
    private = x$privacy$holds
  )
}

#' @rdname dp_description-methods
#' @export
nobs.dp_description <- function(object, ...) object$nobs

#' @rdname dp_description-methods
#' @export
print.dp_description <- function(x, clusters = TRUE, ...) {
  print_lines(x, description_lines(x, check_flag(clusters)))
}

#' @rdname dp_description-methods
#' @export
summary.dp_description <- function(object, ...) {
  new_summary(object, description_lines(object), ...)
}

description_lines <- function(x, clusters = TRUE) {
  table <- description_table(x, 0.95, clusters)
  title <- paste0(if (!x$privacy$private) "Raw description of " else "Description of ",
    count_words(x$nobs), if (is_by_person(x$privacy)) " people" else " rows",
    if (x$privacy$private) ", with 95 % limits (sampling and privacy together)")
  c(title, "", paste0("  ", table_text(table)), counts_note(x, table), grid_note(x),
    unseen_note(x, clusters), doubt_lines(description_doubts(x)))
}

#' Reason for wide limits of means and standard deviations
#' @noRd
unseen_note <- function(x, clusters) {
  far <- unseen_people(x)
  if (is.null(far) || !nrow(far)) {
    return(NULL)
  }
  far <- far[!duplicated(far$variable), ]
  text <- function(value) trimws(formatC(signif(value, 3L), format = "fg", big.mark = ","))
  where <- ifelse(is.na(far$low), paste("above", text(far$high)),
    ifelse(is.na(far$high), paste("below", text(far$low)),
      paste("outside", text(far$low), "to", text(far$high))))
  hidden <- paste0(far$variable, " (", text(100 * far$share), " % ", where, ")", collapse = ", ")
  c("", strwrap(if (clusters) {
    paste0("Limits of mean and sd allow for far outliers that noise may hide: ",
      hidden, ". Narrower bounds, a larger epsilon or fewer requested statistics narrow these ",
      "limits; ",
      "print(clusters = FALSE) assumes that there are no such outliers.")
  } else {
    paste0("Limits of mean and sd assume that no cluster of people lies far from all others. ",
      "Noise may hide such people: ", hidden, ".")
  }, 84L, prefix = "  "))
}

#' Reason for coarse quantiles: the tail that has the fewest people determines the number of cells
#' @noRd
grid_note <- function(x) {
  # 2^10 cells: bounds twenty times as wide as the values still resolve them.
  if (x$privacy$private && any(x$facts$whole == 0) && x$plan$cells %in% 1:9) {
    c("", strwrap(paste0(
      "Quantiles are drawn among ", 2^x$plan$cells, " intervals between the bounds, since the ",
      "budget per quantile is small. Fewer `quantiles`, values nearer to the median, narrower ",
      "bounds, more people or a larger epsilon make the intervals narrower."
    ), 84L, prefix = "  "))
  }
}

#' Reason for different counts of one group
#' @noRd
counts_note <- function(x, table) {
  counts <- table[table$statistic == "n", ]
  if (x$privacy$private && anyDuplicated(counts$group)) {
    c("", strwrap(paste(
      "For each variable, the people with a value are counted separately, with separate noise.",
      "So counts of the same people can differ."
    ), 84L, prefix = "  "))
  }
}

#' Text of a table with one row per statistic and one column per group
#' @noRd
table_text <- function(table) {
  cells <- description_cells(table)
  key <- paste(table$variable, table$level, table$statistic, sep = "\r")
  groups <- unique(table$group)
  rows <- !duplicated(key)
  body <- vapply(groups, function(group) {
    own <- table$group %in% group
    cells[own][match(key[rows], key[own])]
  }, character(sum(rows)))
  body <- matrix(body, sum(rows))
  labels <- description_labels(table[rows, ])
  if (!anyNA(groups)) {
    body <- rbind(groups, body)
    labels <- c("", labels)
  }
  columns <- c(list(labels), lapply(seq_len(ncol(body)), function(g) body[, g]))
  lines <- do.call(paste, c(lapply(columns, function(text) {
    formatC(text, width = -max(nchar(text)))
  }), sep = "  "))
  sub(" +$", "", lines)
}

description_labels <- function(rows) {
  quantile <- paste0(100 * as.numeric(sub("^q", "", sub("^[^q].*", NA, rows$statistic))), " %")
  words <- c(n = "people", mean = "mean", sd = "sd", q0.5 = "median")[rows$statistic]
  words[is.na(words)] <- quantile[is.na(words)]
  ifelse(is.na(rows$level), paste0(rows$variable, ", ", words), paste(rows$variable, rows$level))
}

#' Text such as "43.1 (42.0 to 44.2)", with digits according to the limits; shares in per cent
#' @noRd
description_cells <- function(table) {
  by <- ifelse(table$statistic == "share", 100, 1)
  wide <- by * (table$conf.high - table$conf.low)
  known <- is.finite(wide) & wide > 0
  digits <- ifelse(known, pmin(pmax(1 - floor(log10(ifelse(known, wide, 1))), 0), 8), 1)
  digits[table$statistic == "n"] <- 0
  text <- function(value) {
    vapply(seq_along(value), function(i) {
      formatC(by[[i]] * value[[i]],
        digits = digits[[i]], format = "f", big.mark = ",", mode = "double"
      )
    }, "")
  }
  # If the released variance is not positive, only its limits are informative.
  drowned <- table$statistic == "sd" & table$estimate %in% 0 & known
  paste0(
    ifelse(drowned, "below the noise", text(table$estimate)),
    ifelse(table$statistic == "share", " %", ""),
    ifelse(known, paste0(" (", text(table$conf.low), " to ", text(table$conf.high), ")"), "")
  )
}

#' @rdname dp_description-methods
#' @exportS3Method ggplot2::autoplot
autoplot.dp_description <- function(object, level = 0.95, labels = NULL, clusters = TRUE,
                                    ...) door("plot", {
  start_picture("to plot a description.", ...)
  level <- check_level(level)
  rows <- description_rows(object, level, check_flag(clusters))
  shares <- levels(rows$variable) %in% rows$variable[rows$share]
  levels(rows$variable) <- paste0(
    labelled(levels(rows$variable), labels), ifelse(shares, " (share)", "")
  )
  draw_description(object, rows, level)
})

#' @rdname dp_description-methods
#' @export
plot.dp_description <- plot_by(autoplot.dp_description)

#' The plotted part of a description, without counts and standard deviations
#' @noRd
description_rows <- function(object, level, clusters = TRUE) {
  table <- description_table(object, level, clusters)
  table <- table[!table$statistic %in% c("n", "sd"), ]
  at <- ifelse(is.na(table$level), statistic_words(table$statistic), table$level)
  if (!all(is.na(table$group))) at <- paste0(at, ", ", table$group)
  noise <- interval_quantile(level) * table$privacy.se
  data.frame(
    variable = factor(table$variable, levels = unique(table$variable)),
    group = ifelse(is.na(table$group), "all", table$group), estimate = table$estimate,
    share = !is.na(table$level),
    at = factor(at, levels = rev(unique(at))),
    within_limits(list(
      low = table$conf.low, high = table$conf.high,
      noise_low = table$estimate - noise, noise_high = table$estimate + noise
    ))
  )
}

#' Names of quantiles in tables: p25, median, p75
#' @noRd
statistic_words <- function(statistic) {
  is_quantile <- grepl("^q[0-9.]+$", statistic)
  share <- as.numeric(sub("^q", "", statistic[is_quantile]))
  words <- paste0("p", vapply(100 * share, format, "", digits = 6L))
  statistic[is_quantile] <- ifelse(share == 0.5, "median", words)
  statistic
}

#' @param data (`data.frame`)\cr from [description_rows()].
#' @noRd
draw_description <- function(object, data, level) {
  if (!object$privacy$private) data$noise_low <- data$noise_high <- NA_real_
  taken <- max(nchar(levels(data$at)))
  ggplot2::ggplot(data, ggplot2::aes(.data$estimate, .data$at)) +
    error_layers(data, "lying", band_labels(level, ", each number by itself")) +
    ggplot2::geom_point(size = 1.2) +
    ggplot2::facet_wrap(ggplot2::vars(.data$variable),
      scales = "free", ncol = 2L, labeller = strip_labeller(2L, taken = taken)
    ) +
    ggplot2::scale_x_continuous(
      breaks = breaks_that_fit(pretty, format, c(-Inf, Inf), 2L, taken),
      guide = ggplot2::guide_axis(check.overlap = TRUE)
    ) +
    ggplot2::guides(y = ggplot2::guide_axis(check.overlap = TRUE)) +
    ggplot2::labs(
      x = NULL, y = NULL, title = "Description", subtitle = privacy_subtitle(object$privacy)
    ) +
    dpsc_theme()
}
