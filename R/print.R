#' Print and summarise a fit or a release
#'
#' The first lines say what the privacy guarantee is, by which theorem, and whether it holds; where
#' it does not, they say NOT PRIVATE and why.
#'
#' @param x,object (`dp_synth`, `dp_release` or `summary.dp_synth`)\cr what to print.
#' @param level (`number`, in (0, 1))\cr coverage of the intervals.
#' @param ... unused.
#' @return `print()`: its argument, invisibly. `summary()`: a list of class `summary.dp_synth` with
#'   `fit`, `level`, `effects` (a data frame: estimates, intervals, and the share of each interval's
#'   variance that is privacy noise), `simultaneous` (the critical value of intervals that cover all
#'   periods together) and `test` (the moment-based placebo test of each target).
#' @examples
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 2, bounds = c(-1, 1)
#' )
#' summary(fit)
#' @name print.dp_synth
NULL

#' @rdname print.dp_synth
#' @export
print.dp_synth <- function(x, level = 0.95, ...) {
  cat(fit_headline(x), describe_targets(x), "", average_lines(x, level), "",
    privacy_lines(x$release),
    sep = "\n"
  )
  invisible(x)
}

#' @rdname print.dp_synth
#' @export
print.dp_release <- function(x, ...) {
  title <- if (x$privacy$private) "Private release" else "Release of raw statistics"
  cat(
    paste0(title, " of donors' statistics by ", describe_method(x)), panel_line(x), "",
    privacy_lines(x), "", step_lines(x),
    sep = "\n"
  )
  invisible(x)
}

#' @rdname print.dp_synth
#' @export
summary.dp_synth <- function(object, level = 0.95, ...) {
  call <- public_call("summary")
  check_no_dots(..., call = call)
  level <- check_number(level, 0, 1, open = c("min", "max"), call = call)
  table <- effect_table(object)
  width <- interval_width(table, level)
  effects <- cbind(table[c("target", "term", "estimate")],
    conf.low = table$estimate - width, conf.high = table$estimate + width,
    privacy.share = (table$privacy.se / table$std.error)^2
  )
  targets <- seq_len(nrow(object$target))
  structure(list(
    fit = object, level = level, effects = effects,
    simultaneous = interval_quantile(level, sum(table$term != "average")),
    test = lapply(targets, function(i) moment_test(object, i))
  ), class = "summary.dp_synth")
}

#' @rdname print.dp_synth
#' @export
print.summary.dp_synth <- function(x, ...) {
  fit <- x$fit
  cat(fit_headline(fit), describe_targets(fit), "", sep = "\n")
  table <- x$effects
  shown <- data.frame(
    estimate = format_value(table$estimate),
    low = format_value(table$conf.low), high = format_value(table$conf.high),
    noise = ifelse(is.na(table$privacy.share), "",
      paste0(formatC(100 * table$privacy.share, digits = 0L, format = "f"), " %")
    )
  )
  names(shown) <- c("effect", interval_names(fit, x$level), "privacy noise")
  # A column that has nothing to say is not shown.
  shown <- shown[c(TRUE, rep(length(known_parts(fit)) > 0L, 2L), any(nzchar(shown[[4L]])))]
  several <- nrow(fit$target) > 1L
  rownames(shown) <- if (several) paste0(table$target, ": ", table$term) else table$term
  print(shown)
  cat("\n")
  for (i in seq_along(x$test)) {
    test <- x$test[[i]]
    if (!is.null(test)) {
      cat("Placebo test from moments", if (several) paste0(" (", rownames(fit$target)[[i]], ")"),
        ": chi-squared = ", format(test$statistic, digits = 4L), " on ", test$df,
        " df, p ", format_p(test$p.value), "\n",
        sep = ""
      )
    }
  }
  if ("prediction" %in% known_parts(fit)) {
    cat("Intervals are pointwise; to cover all periods together multiply their widths by ",
      format(x$simultaneous / interval_quantile(x$level), digits = 3L), ".\n",
      sep = ""
    )
  }
  cat("\n")
  cat(privacy_lines(fit$release), "", step_lines(fit$release), sep = "\n")
  invisible(x)
}

# Lines --------------------------------------------------------------------------------------------

fit_headline <- function(fit) {
  what <- if (fit$release$privacy$private) "Private synthetic control" else "Synthetic control"
  paste0(what, " by ", describe_method(fit$release), estimator_note(fit))
}

estimator_note <- function(fit) {
  if (fit$estimator == "did") ", difference-in-differences" else ""
}

describe_method <- function(release) {
  if (is_classical(release$method)) {
    return(paste0("estimator \"", release$method, "\""))
  }
  paste0(
    "method \"", release$method, "\"",
    if (release$method != "gram") paste0(", ", release$calibration, " calibration")
  )
}

panel_line <- function(release) {
  panel <- release$panel
  paste0(
    "  ", panel$outcome, ": ", count_of(panel$n, "donor"), ", ", count_of(panel$T0, "period"),
    " before the treatment, ", panel$T1, " from it on"
  )
}

count_of <- function(n, noun) {
  paste0(formatC(n, format = "d", big.mark = ","), " ", noun, if (n != 1) "s")
}

describe_targets <- function(fit) {
  names <- rownames(fit$target)
  shown <- enumerate(utils::head(names, 3L), length(names))
  c(paste0("  treated: ", shown), panel_line(fit$release))
}

average_lines <- function(fit, level) {
  table <- effect_table(fit)
  width <- interval_width(table, level)
  rows <- which(table$term == "average")
  several <- length(rows) > 1L
  labels <- paste0("average effect", if (several) paste(" on", table$target))
  c(vapply(utils::head(rows, 10L), function(i) {
    paste0(
      "  ", formatC(labels[[i]], width = -max(16L, nchar(labels))), " ",
      format_value(table$estimate[[i]]),
      interval_text(fit, table[i, ], width[[i]], level)
    )
  }, ""), if (length(rows) > 10L) {
    paste("  and", length(rows) - 10L, "more: see tidy()")
  }, noise_note(fit, table[rows, ]))
}

interval_text <- function(fit, row, width, level) {
  if (is.na(width) || !length(known_parts(fit))) {
    return("")
  }
  limits <- paste0(
    format_value(row$estimate - width), ", ", format_value(row$estimate + width)
  )
  coverage <- paste(format(100 * level, digits = 4L), "% interval")
  if ("prediction" %in% known_parts(fit)) {
    paste0(
      "  [", coverage, ": ", limits, "; p ", format_p(normal_p(row$estimate / row$std.error)), "]"
    )
  } else {
    paste0("  [", coverage, " of the privacy noise alone: ", limits, "]")
  }
}

#' How much of what is shown is noise, and what that means
#' @noRd
noise_note <- function(fit, averages) {
  release <- fit$release
  if (!release$privacy$private || anyNA(averages$privacy.se)) {
    return(NULL)
  }
  share <- max((averages$privacy.se / averages$std.error)^2)
  half_range <- max(release$bounds$upper - release$bounds$lower) / 2
  swamped <- max(averages$privacy.se) > half_range / 4
  c(
    if ("prediction" %in% known_parts(fit)) {
      paste0("  privacy noise is ", formatC(100 * share, digits = 0L, format = "f"),
        " % of the interval's variance")
    },
    if (swamped) {
      paste0(
        "  THE NOISE SWAMPS THE DATA: its standard error is ",
        format_value(max(averages$privacy.se)), ", the bounds are ",
        format_value(2 * half_range), " apart.\n",
        "  ", count_of(release$panel$n, "donor"), " at epsilon = ",
        format(release$privacy$epsilon), " cannot support this method; see the README's table."
      )
    }
  )
}

#' What a release promises, in words
#' @noRd
privacy_lines <- function(release) {
  privacy <- release$privacy
  if (!privacy$private) {
    return(paste("  NOT PRIVATE:", privacy$reason))
  }
  budget <- paste0("epsilon = ", format(privacy$epsilon), ", delta = ", format(privacy$delta))
  if (!privacy$holds) {
    return(c(
      paste0("  NOT PRIVATE: the nominal ", budget, " does not hold,"),
      strwrap(paste0("because ", privacy$reason), 84L, prefix = "    ")
    ))
  }
  zcdp <- if (!is.na(privacy$rho)) paste0(" (rho = ", format(privacy$rho, digits = 4L), ")")
  c(
    paste0("  private: ", budget, zcdp, ", neighbours ", privacy$neighbours),
    strwrap(paste0("by ", privacy$theorem), 84L, prefix = "    "),
    paste0("    noise from the operating system, ", if (privacy$exact) {
      "exact integer samplers"
    } else {
      "in floating point (rounded; the usual caveat of such noise applies)"
    })
  )
}

#' The noise steps of a release, as a table
#' @noRd
step_lines <- function(release) {
  steps <- release$privacy$steps
  if (is.null(steps) || !nrow(steps)) {
    return(character())
  }
  cost <- ifelse(is.na(steps$rho),
    paste0("epsilon = ", format(steps$epsilon, digits = 3L)),
    paste0("rho = ", format(steps$rho, digits = 3L))
  )
  paste0(
    "  ", formatC(steps$step, width = -max(nchar(steps$step))), "  ",
    formatC(gsub("_", " ", steps$law), width = -max(nchar(steps$law))), "  ", cost
  )
}

interval_names <- function(fit, level) {
  paste(format(100 * c(1 - level, 1 + level) / 2, trim = TRUE, digits = 3L), "%")
}

format_value <- function(x) {
  formatC(x, digits = 4L, format = "g", width = 1L)
}

format_p <- function(p) {
  if (p < 1e-4) "< 0.0001" else paste("=", formatC(p, digits = 2L, format = "g"))
}
