# Figures of donor weights and of the pre-treatment balance of target and synthetic control.

plot_fit_weights <- function(fit) {
  if (!inherits(fit, "dp_synth_classical")) {
    abort(c(
      "Only a classical fit has donor weights to plot.",
      x = "Donors of other fits are never plotted.",
      i = "See {.code plot(fit, type = \"balance\")}."
    ), "argument")
  }
  weights <- stats::weights(fit)
  plot_weight_bars(data.frame(donor = names(weights), weight = weights), length(weights))
}

# The number of bars that fit on a page.
most_bars <- 25L

#' @param donors (`count` or `NULL`)\cr the number of all donors; the table may contain only some
#'   donors.
#' @noRd
plot_weight_bars <- function(table, donors = NULL) {
  table <- table[order(-abs(table$weight)), ]
  carrying <- sum(abs(table$weight) > 1e-4)
  data <- utils::head(table, max(1L, min(carrying, most_bars)))
  labels <- make.unique(short_name(as.character(data$donor)))
  data$donor <- factor(labels, levels = rev(labels))
  ggplot2::ggplot(data, ggplot2::aes(x = .data$weight, y = .data$donor)) +
    ggplot2::geom_vline(xintercept = 0, colour = guide_colour, linewidth = 0.3) +
    ggplot2::geom_col(fill = band_colour, width = 0.7) +
    ggplot2::labs(
      x = "weight", y = NULL, title = "Donors' weights",
      subtitle = paste0(
        "NOT PRIVATE. ", if (is.null(donors)) count_of(carrying, "donor") else
          paste(carrying, "of", count_of(donors, "donor")), " carry weight",
        if (carrying > nrow(data)) paste0("; the largest ", nrow(data))
      )
    ) +
    dpsc_theme() +
    ggplot2::theme(panel.grid.major.y = ggplot2::element_blank())
}

#' Distance of the target from the synthetic control and from a plain mean before the treatment
#' @return A data frame: `target`, `item` (period or predictor), `against`, `difference`.
#' @noRd
balance_data <- function(fit, shown) {
  against <- balance_paths(fit)
  if (identical(fit$release$method, "predictors")) {
    return(predictor_balance(fit))
  }
  pre <- seq_len(fit$release$panel$T0)
  times <- plot_periods(fit$release$panel$times)[pre]
  parts <- lapply(names(against), function(name) {
    do.call(rbind, lapply(shown, function(i) {
      data.frame(
        target = rownames(fit$target)[[i]], item = times, against = name,
        difference = fit$target[i, pre] - against[[name]][i, pre]
      )
    }))
  })
  data <- do.call(rbind, parts)
  data$against <- factor(data$against, levels = names(against))
  data
}

#' Paths for comparison with the target, each k x T
#' @noRd
balance_paths <- function(fit) {
  if (inherits(fit, "dp_synth_classical")) {
    mean <- matrix(colMeans(fit$raw$donors), 1L)
    return(list(`donors' mean` = mean, `synthetic control` = fit$counterfactual))
  }
  if (is_released_group(fit)) {
    abort(c(
      "Protected people have no pre-treatment balance to plot.",
      x = "The released pre-treatment path is a fitted path, so its fit is exact by construction."
    ), "protect")
  }
  if (!gives_moments(fit$release$method)) {
    abort(c(
      "Method {.val {fit$release$method}} releases no path before the treatment.",
      i = "A plot of the balance needs {.code method = \"gram\"}."
    ), "argument")
  }
  did <- stats::update(fit, estimator = "did")
  if (nrow(fit$target) > 1L) did <- fit_view(did, "unit")
  list(
    `difference-in-differences` = did$counterfactual, `synthetic control` = fit$counterfactual
  )
}

#' Differences of predictors in standard deviations over all units
#' @noRd
predictor_balance <- function(fit) {
  given <- fit$settings$predictors
  labels <- colnames(given$donors) %||% paste("predictor", seq_len(ncol(given$donors)))
  spread <- apply(rbind(given$target, given$donors), 2L, stats::sd)
  spread[!is.finite(spread) | spread == 0] <- 1
  synthetic <- drop(stats::weights(fit) %*% given$donors)
  kinds <- c("donors' mean", "synthetic control")
  data.frame(
    target = rownames(fit$target)[[1L]], item = factor(rep(labels, 2L), levels = rev(labels)),
    against = factor(rep(kinds, each = length(labels)), levels = kinds),
    difference = c(given$target - colMeans(given$donors), given$target - synthetic) / spread
  )
}

plot_balance <- function(fit, shown) {
  # A plot keeps this frame. An unforced promise in the frame would keep the frame of the caller,
  # with its donors.
  data <- balance_data(fit, shown)
  kinds <- levels(data$against)
  size <- vapply(kinds, function(kind) {
    sqrt(mean(data$difference[data$against == kind]^2))
  }, 0)
  labels <- stats::setNames(
    paste0(kinds, " (root mean square ", formatC(size, digits = 3L, format = "g"), ")"), kinds
  )
  scales <- list(
    balance_scales(kinds, labels = labels),
    ggplot2::labs(
      title = "Target minus comparison, before the treatment",
      subtitle = plot_subtitle(fit, shown)
    ),
    dpsc_theme(), ggplot2::theme(legend.direction = "vertical")
  )
  if (is.factor(data$item) && identical(fit$release$method, "predictors")) {
    return(ggplot2::ggplot(data, ggplot2::aes(
      .data$difference, .data$item, colour = .data$against, shape = .data$against
    )) +
      ggplot2::geom_vline(xintercept = 0, colour = guide_colour, linewidth = 0.3) +
      ggplot2::geom_point(size = 2.4) +
      ggplot2::labs(x = "difference (standard deviations)", y = NULL) + scales)
  }
  across <- if (length(shown) > 4L) 3 else if (length(shown) > 1L) 2 else 1
  data <- rows_shown(fit, data, shown)
  draw_balance(data) + target_panels(data$target, ncol = across) + period_axis(data$item, across) +
    ggplot2::labs(
      x = axis_of_periods(fit), y = paste("difference in", axis_name(fit$release$panel$outcome))
    ) +
    scales
}

#' @param kinds (`character(2)`)\cr the comparisons.
#' @noRd
balance_scales <- function(kinds, ...) {
  named <- function(values) stats::setNames(values, kinds)
  two_scales(named(contrast_colours), named(c(1, 16)), ..., second = ggplot2::scale_shape_manual)
}

#' Differences before the treatment, period by period
#' @param data (`data.frame`)\cr from [balance_data()].
#' @noRd
draw_balance <- function(data) {
  ggplot2::ggplot(data, ggplot2::aes(
    .data$item, .data$difference,
    colour = .data$against, shape = .data$against, group = .data$against
  )) +
    zero_line() +
    ggplot2::geom_line(linewidth = 0.4) +
    ggplot2::geom_point(size = 1.8)
}
