# The figures of the paper's section 8, in its arrangement, one panel per version. Colours:
# Okabe-Ito.

palette_two <- c(out = "#0072B2", obj = "#D55E00", gram = "#009E73", ridge = "#000000")
labels_two <- c(
  out = "output perturbation", obj = "objective perturbation",
  gram = "gram (picks its own penalty)", ridge = "ridge, not private"
)
version_labels <- c(
  correct = "Published, correct noise", code = "Public code's noise (NOT PRIVATE)",
  own = "Public code's noise and data (NOT PRIVATE)", tight = "This package, tight", gram = "gram"
)
rmse_axis <- "RMSE after treatment (outcome in [-1, 1])"

log_axis <- function(axis) {
  ggplot2::scale_y_log10(axis, labels = function(x) {
    plain <- format(x, trim = TRUE, drop0trailing = TRUE, scientific = FALSE)
    ifelse(x >= 1e5, formatC(x, format = "e", digits = 0), plain)
  })
}
lambda_axis <- function() {
  ggplot2::scale_x_log10(expression("penalty " * lambda * " (no unit)"),
    breaks = c(1, 10, 100, 1000), labels = c("1", "10", "100", "1000")
  )
}
epsilon_axis <- function() {
  ggplot2::scale_x_log10(expression("total privacy loss " * epsilon),
    breaks = c(1, 2, 4, 10, 20, 40, 100, 200)
  )
}
theme_paper <- function() {
  ggplot2::theme_bw(base_size = 10) + ggplot2::theme(
    legend.position = "bottom", legend.margin = ggplot2::margin(0, 0, 0, 0),
    panel.grid.minor = ggplot2::element_blank(), legend.key.width = ggplot2::unit(2.2, "lines"),
    strip.background = ggplot2::element_rect(fill = "grey94")
  )
}
# Every figure is returned; `folder = NULL` writes no file.
save_figure <- function(plot, folder, name, width, height) {
  if (!is.null(folder)) {
    ggplot2::ggsave(file.path(folder, name), plot, width = width, height = height, dpi = 110)
  }
  invisible(plot)
}
intervals <- function() {
  ggplot2::geom_errorbar(ggplot2::aes(ymin = low, ymax = high), width = 0, show.legend = FALSE)
}

# The signals of the bounds on one panel: f is the weight vector nearest to the ridge weights that
# reproduces the target's signal.
bounds_table <- function(data, epsilon = 100) {
  signal <- data$panel$signal[, -seq_len(data$T0)]
  slope <- signal[, 1L] / sqrt(sum(signal[, 1L]^2))
  rows <- lapply(lambdas, function(lambda) {
    weights <- drop(solve(tcrossprod(data$pre) + diag(lambda / 2, data$n), data$pre %*% data$y))
    off <- abs(data$truth[[1L]] / sqrt(sum(signal[, 1L]^2)) - sum(slope * weights))
    forms <- expand.grid(
      method = c("out", "obj"), form = c("published", "corrected"), stringsAsFactors = FALSE
    )
    forms <- cbind(n = data$n, T0 = data$T0, forms, lambda = lambda)
    forms$rmse <- mapply(function(method, form) {
      paper_rmse_bound(if (method == "out") "output" else "objective",
        n = data$n, T0 = data$T0, T1 = T1, lambda = lambda, epsilon1 = epsilon / 2,
        epsilon2 = epsilon / 2, form = form, signal_norm = norm(signal, "2"),
        noise_sd = sqrt(0.1) / (5 * (data$T0 + T1) + 1), largest_weight = max(abs(weights)),
        weights_error = off
      )
    }, forms$method, forms$form)
    forms
  })
  do.call(rbind, rows)
}

figure_2 <- function(data, folder) {
  periods <- ncol(data$panel$donors)
  donors <- data.frame(
    period = rep(seq_len(periods), each = data$n), outcome = as.vector(data$panel$donors),
    unit = rep(seq_len(data$n), periods)
  )
  target <- data.frame(period = seq_len(periods), outcome = data$panel$target, unit = 0)
  plot <- ggplot2::ggplot(donors, ggplot2::aes(period, outcome, group = unit)) +
    ggplot2::geom_line(ggplot2::aes(colour = "donors"), alpha = 0.6) +
    ggplot2::geom_line(ggplot2::aes(colour = "target"), target, linewidth = 1) +
    ggplot2::geom_vline(xintercept = data$T0 + 0.5, linetype = 2) +
    ggplot2::annotate("text", data$T0 + 0.4, 0.02, label = "treatment", hjust = 1, size = 3) +
    ggplot2::scale_colour_manual(NULL, values = c(donors = "grey50", target = "#D55E00")) +
    ggplot2::scale_x_continuous("period", breaks = seq(1, periods, 2)) +
    ggplot2::labs(y = "outcome, scaled by 5 T + 1") + theme_paper()
  save_figure(plot, folder, "figure-2.png", 5, 3.6)
}

# Figures 3 and 5: both methods on the smallest panel, one panel per version.
two_methods <- function(results, experiment, axis, folder, name) {
  rows <- results[results$experiment == experiment & results$n == 10 & results$T0 == 10 &
    results$design == "paper" & results$delta == 0 & results$version != "gram", ]
  gram <- results[results$version == "gram" & results$n == 10 & results$T0 == 10 &
    results$delta == 0, ]
  x <- if (experiment == "lambda") "lambda" else "epsilon"
  if (experiment == "lambda") {
    gram <- gram[gram$epsilon == 100, ][rep(1, length(lambdas)), ]
    gram$lambda <- lambdas
    ridge <- rows[rows$method == "out", ]
    ridge[c("rmse", "low", "high")] <- ridge$non_private
    ridge$method <- "ridge"
    rows <- rbind(rows, ridge)
  }
  gram$version <- "tight"
  rows <- rbind(rows, gram)
  shown <- version_labels[c("correct", "code", "tight")]
  rows$version <- factor(version_labels[rows$version], shown)
  plot <- ggplot2::ggplot(rows, ggplot2::aes(.data[[x]], rmse, colour = method, shape = method)) +
    ggplot2::geom_line() + intervals() + ggplot2::geom_point(size = 1.8) +
    ggplot2::facet_wrap(~version) + axis + log_axis(rmse_axis) +
    ggplot2::scale_colour_manual(NULL, values = palette_two, labels = labels_two) +
    ggplot2::scale_shape_manual(
      NULL, values = c(out = 16, obj = 17, gram = 15, ridge = 4), labels = labels_two
    ) + theme_paper()
  if (experiment == "lambda") plot <- plot + ggplot2::geom_vline(xintercept = 10, linetype = 3)
  save_figure(plot, folder, name, 9, 3.9)
}

figure_3 <- function(results, folder) {
  two_methods(results, "lambda", lambda_axis(), folder, "figure-3.png")
}

figure_5 <- function(results, folder) {
  two_methods(results, "epsilon", epsilon_axis(), folder, "figure-5.png")
}

figure_4 <- function(results, bounds, folder) {
  rows <- results[results$experiment == "lambda" & results$n == 10 & results$T0 == 10 &
    results$design == "paper" & results$version %in% c("correct", "code"), ]
  bounds <- bounds[bounds$n == 10 & bounds$T0 == 10, ]
  lines <- rbind(
    data.frame(rows[c("method", "lambda", "rmse")], what = rows$version),
    data.frame(bounds[c("method", "lambda", "rmse")], what = bounds$form)
  )
  names <- c(
    corrected = "bound, corrected", published = "bound, published",
    correct = "simulated, correct noise", code = "simulated, public code's noise (NOT PRIVATE)"
  )
  lines$what <- factor(names[lines$what], names)
  methods <- c(out = "Output perturbation", obj = "Objective perturbation")
  lines$method <- factor(methods[lines$method], methods)
  colours <- stats::setNames(c("#0072B2", "#56B4E9", "#000000", "#D55E00"), names)
  plot <- ggplot2::ggplot(lines, ggplot2::aes(lambda, rmse,
    colour = what, linetype = what, shape = what
  )) +
    ggplot2::geom_line() + ggplot2::geom_point(size = 1.6, na.rm = TRUE) +
    ggplot2::facet_wrap(~method) +
    lambda_axis() + log_axis(rmse_axis) + ggplot2::scale_colour_manual(NULL, values = colours) +
    ggplot2::scale_linetype_manual(NULL, values = stats::setNames(c(2, 2, 1, 1), names)) +
    ggplot2::scale_shape_manual(NULL, values = stats::setNames(c(NA, NA, 16, 17), names)) +
    ggplot2::guides(colour = ggplot2::guide_legend(nrow = 2)) + theme_paper()
  save_figure(plot, folder, "figure-4.png", 8, 4.2)
}

# Figures 6 to 8: four sizes in each panel.
four_sizes <- function(rows, x, axis, panels, folder, name, height, mark = NULL) {
  rows$panel <- factor(rows$panel, panels)
  rows$T0 <- factor(rows$T0)
  rows$n <- factor(rows$n)
  # T0 hardly matters: points are shifted by a few per cent so that they do not overlap.
  rows$x <- rows[[x]] * ifelse(rows$T0 == "10", 1 / 1.05, 1.05)
  plot <- ggplot2::ggplot(rows, ggplot2::aes(x, rmse, colour = n, shape = T0, linetype = T0)) +
    ggplot2::geom_line() + intervals() + ggplot2::geom_point(size = 1.8) +
    ggplot2::facet_wrap(~panel, ncol = 2) + axis + log_axis(rmse_axis) +
    ggplot2::scale_colour_manual("donors n", values = c("10" = "#0072B2", "100" = "#D55E00")) +
    ggplot2::scale_shape_manual("pre-periods T0", values = c("10" = 16, "100" = 2)) +
    ggplot2::scale_linetype_manual("pre-periods T0", values = c("10" = 1, "100" = 2)) +
    theme_paper() + ggplot2::theme(legend.box = "horizontal")
  if (!is.null(mark)) plot <- plot + ggplot2::geom_vline(xintercept = mark, linetype = 3)
  save_figure(plot, folder, name, 7.5, height)
}

panel_rows <- function(results, order) {
  results$shown <- ifelse(results$design == "code" & results$version == "code", "own",
    results$version
  )
  results <- results[results$design == "paper" | results$shown == "own", ]
  results[results$shown %in% order, ]
}

figure_6 <- function(results, folder) {
  order <- c("correct", "code", "own", "tight", "gram")
  rows <- panel_rows(results[results$experiment == "epsilon" & results$method != "out", ], order)
  name <- function(version, delta) {
    paste0(if (version == "gram") "gram" else short_label(version), ", delta = ", delta)
  }
  rows$panel <- mapply(name, rows$shown, rows$delta)
  panels <- unlist(lapply(order, function(v) c(name(v, 0), name(v, 1e-6))))
  four_sizes(rows, "epsilon", epsilon_axis(), panels, folder, "figure-6.png", 12)
}

short_label <- function(version) {
  c(
    correct = "correct noise", code = "public code (NOT PRIVATE)",
    own = "public code, its data (NOT PRIVATE)", tight = "tight"
  )[[version]]
}

method_panels <- function(rows) {
  mapply(function(version, method) {
    paste0(c(out = "Output, ", obj = "Objective, ")[[method]], short_label(version))
  }, rows$shown, rows$method)
}

figure_7 <- function(results, folder) {
  order <- c("correct", "code", "own", "tight")
  rows <- panel_rows(results[results$experiment == "lambda", ], order)
  rows$panel <- method_panels(rows)
  panels <- method_panels(expand.grid(method = c("out", "obj"), shown = order,
    stringsAsFactors = FALSE))
  four_sizes(rows, "lambda", lambda_axis(), panels, folder, "figure-7.png", 10, c(10, 100))
}

figure_8 <- function(results, folder) {
  order <- c("correct", "code", "own", "tight")
  chosen <- results$experiment == "epsilon" & (results$delta == 0 | results$version == "gram")
  rows <- panel_rows(results[chosen, ], c(order, "gram"))
  gram <- rows$version == "gram"
  rows$panel[gram] <- paste0("gram, delta = ", rows$delta[gram])
  rows$panel[!gram] <- method_panels(rows[!gram, ])
  panels <- c(method_panels(expand.grid(method = c("out", "obj"), shown = order,
    stringsAsFactors = FALSE)), "gram, delta = 0", "gram, delta = 1e-06")
  four_sizes(rows, "epsilon", epsilon_axis(), panels, folder, "figure-8.png", 12)
}

side_by_side <- function(results, folder) {
  rows <- results[results$experiment == "epsilon" & results$design == "paper", ]
  rows <- rows[rows$delta == ifelse(rows$version %in% c("tight", "gram"), 1e-6, 0), ]
  key <- paste(rows$version, rows$method)
  names <- c(
    "correct out" = "output, correct noise", "correct obj" = "objective, correct noise",
    "code out" = "output, public code (NOT PRIVATE)",
    "code obj" = "objective, public code (NOT PRIVATE)", "tight out" = "output, tight",
    "tight obj" = "objective, tight", "gram gram" = "gram (default)"
  )
  rows$what <- factor(names[key], names)
  rows$size <- factor(sprintf("n = %d, T0 = %d", rows$n, rows$T0),
    sprintf("n = %d, T0 = %d", sizes$n, sizes$T0)
  )
  colours <- c("#0072B2", "#0072B2", "#999999", "#999999", "#D55E00", "#D55E00", "#009E73")
  set <- function(values) stats::setNames(values, names)
  plot <- ggplot2::ggplot(rows, ggplot2::aes(epsilon, rmse,
    colour = what, shape = what, linetype = what
  )) +
    ggplot2::geom_line() + intervals() + ggplot2::geom_point(size = 1.8) +
    ggplot2::facet_wrap(~size) + epsilon_axis() + log_axis(rmse_axis) +
    ggplot2::scale_colour_manual(NULL, values = set(colours)) +
    ggplot2::scale_shape_manual(NULL, values = set(c(16, 2, 16, 2, 16, 2, 15))) +
    ggplot2::scale_linetype_manual(NULL, values = set(c(1, 2, 1, 2, 1, 2, 1))) +
    ggplot2::guides(colour = ggplot2::guide_legend(ncol = 2)) + theme_paper() +
    ggplot2::labs(caption = paste(
      "Means of the runs, 95 % intervals. delta = 1e-6 for tight and gram, else 0.",
      "Predicting 0 has RMSE 0.7 to 0.9."
    ))
  save_figure(plot, folder, "side-by-side.png", 8.5, 8)
}

draw_all <- function(results, panels, bounds, folder) {
  figure_2(panels[["paper 10 10"]], folder)
  figure_3(results, folder)
  figure_4(results, bounds, folder)
  figure_5(results, folder)
  figure_6(results, folder)
  figure_7(results, folder)
  figure_8(results, folder)
  side_by_side(results, folder)
}
