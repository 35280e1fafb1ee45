# One figure for a fit of several outcomes: one panel per outcome, each with its own axis. Donors
# are never plotted.

#' @rdname dp_outcomes
#' @exportS3Method ggplot2::autoplot
autoplot.dp_outcomes <- function(object, type = NULL, level = 0.95, simultaneous = FALSE,
                                 labels = NULL, ...) door("plot", {
  start_picture("to plot a fit.", ...)
  level <- check_level(level)
  simultaneous <- check_flag(simultaneous)
  several <- inherits(object$outcomes[[1L]], "dp_cohorts")
  types <- if (several) {
    c("event", "cohort", "calendar", "path")
  } else {
    c("path", "effect", "cumulative", "percent", "balance")
  }
  if (identical(type, "weights")) {
    abort(c(
      "A plot of weights shows one outcome at a time.",
      i = "See {.code plot(fit$outcomes[[1]], type = \"weights\")}."
    ), "argument")
  }
  type <- check_choice(outcome_type(type) %||% types, types, "type")
  names(object$outcomes) <- labelled(names(object$outcomes), labels)
  draw <- if (several) draw_outcome_cohorts else draw_outcomes
  draw(object, type, level, simultaneous) + ggplot2::labs(
    title = outcomes_title(object), subtitle = outcomes_subtitle(object)
  )
})

#' @rdname dp_outcomes
#' @export
plot.dp_outcomes <- plot_by(autoplot.dp_outcomes)

#' A type by its name in this plot
#' @noRd
outcome_type <- function(type) {
  aliases <- c(gap = "effect", dynamic = "event", group = "cohort")
  if (rlang::is_string(type, names(aliases))) {
    return(aliases[[type]])
  }
  type
}

#' Rows of all outcomes, with panels named by outcome
#' @param rows (`function`)\cr a function of one outcome's fit.
#' @noRd
stack_outcomes <- function(x, rows) {
  out <- do.call(rbind, lapply(names(x$outcomes), function(name) {
    one <- rows(x$outcomes[[name]])
    one$target <- rep(name, nrow(one))
    one
  }))
  out$target <- factor(out$target, levels = names(x$outcomes))
  out
}

outcomes_across <- function(x) if (length(x$outcomes) > 4L) 3 else min(2, length(x$outcomes))

#' @noRd
draw_outcomes <- function(x, type, level, simultaneous) {
  fit <- x$outcomes[[1L]]
  across <- outcomes_across(x)
  own <- outcome_level(x, level, simultaneous)
  if (type == "balance") {
    data <- stack_outcomes(x, function(one) balance_data(one, 1L))
    return(draw_balance(data) + target_panels(data$target, across, "free_y") +
      balance_scales(levels(data$against)) +
      period_axis(data$item, across) +
      ggplot2::labs(x = axis_of_periods(fit), y = "difference") + dpsc_theme())
  }
  data <- stack_outcomes(x, function(one) effect_series(one, type, own, simultaneous))
  later <- starts_treated(fit, type)
  if (later) data <- droplevels(data[data$treated, ])
  plot <- if (type == "path") {
    draw_paths(fit, data, level, simultaneous) + ggplot2::labs(y = NULL)
  } else {
    draw_effects(fit, data, level, simultaneous) + ggplot2::labs(y = effect_label(type))
  }
  plot <- plot + (if (!later) dotted_line(fit$release$panel)) + dpsc_theme() +
    target_panels(data$target, across, "free_y") + period_axis(data$period, across) +
    ggplot2::labs(x = axis_of_periods(fit))
  with_note(plot, switch(type, percent = percent_words(fit, data), path = path_words(fit, NULL)))
}

#' The figure for several adoption dates; paths have one panel per outcome and cohort
#' @noRd
draw_outcome_cohorts <- function(x, type, level, simultaneous) {
  fit <- x$outcomes[[1L]]
  if (type == "path") {
    own <- outcome_level(x, level, simultaneous)
    known <- Map(function(one, name) cohort_paths(one, own, simultaneous, paste0(name, ", ")),
      x$outcomes, names(x$outcomes)
    )
    all <- list(
      paths = do.call(rbind, lapply(known, `[[`, "paths")),
      adoption = do.call(rbind, lapply(known, `[[`, "adoption"))
    )
    across <- min(3, length(fit$cohorts))
    plot <- draw_cohort_paths(fit, all, level, simultaneous, across, "free_y") +
      ggplot2::labs(x = axis_of_periods(fit), y = NULL, caption = dotted_line_words)
    return(with_note(plot, path_words(fit$cohorts[[1L]], NULL)))
  }
  own <- outcome_level(x, level, simultaneous)
  data <- stack_outcomes(x, function(one) plot_data_cohorts(one, type, own, simultaneous))
  draw_cohort_effects(fit, data, type, level, simultaneous) +
    target_panels(data$target, outcomes_across(x), "free_y") + ggplot2::labs(y = "effect")
}

outcomes_title <- function(x) {
  fit <- x$outcomes[[1L]]
  who <- if (inherits(fit, "dp_cohorts")) cohort_title(fit) else plot_title(fit)
  paste0(count_of(length(x$outcomes), "outcome"), ": ", who)
}

#' The guarantee for all outcomes together, not for a single outcome
#' @noRd
outcomes_subtitle <- function(x) {
  lines <- unlist(lapply(x$outcomes, function(fit) {
    if (inherits(fit, "dp_cohorts")) fit <- fit$cohorts[[1L]]
    share <- c("epsilon", "delta")
    fit$release$privacy[share] <- x$privacy[share]
    strsplit(plot_subtitle(fit, 1L), "\n", fixed = TRUE)[[1L]]
  }))
  paste(unique(lines), collapse = "\n")
}
