#' Print, summarise and plot privacy losses
#'
#' The results of these methods are for the curator only: see [pdp()].
#'
#' @param x,object (`dp_pdp` or `summary.dp_pdp`)\cr losses from [pdp()].
#' @param epsilon (`number`, at least 0, or `NULL`)\cr `summary()` gives the share of people with a
#'   loss of at most `epsilon`. `NULL`: a tenth, a quarter, a half and all of the release's epsilon.
#' @param probs (`numeric`, in \[0, 1])\cr probabilities of the quantiles.
#' @param row.names,optional ignored.
#' @param ... unused.
#' @return All results are PRIVATE:
#'   * `print()`: the argument, invisibly.
#'   * `summary()`: a list of class `summary.dp_pdp`. Its elements `quantiles`, `mean` and `shares`
#'     describe the losses for each kind of neighbour. `generalisation` is a bound on the
#'     generalisation error: the expected difference between the mean error of a model on other
#'     people and on the people in the data, for any error measure from 0 to 1 (Wang, 2019,
#'     Proposition 9). The bound is estimated from these people, and is uninformative if it is at
#'     least 1.
#'   * `as.data.frame()`, `tidy()`: a data frame with one row per donor or person.
#'   * `autoplot()`: a ggplot of the share of donors with a loss of at most epsilon, with the
#'     release's epsilon as a vertical line. `plot()` draws it and returns it invisibly.
#' @section Errors: `dpsc_error_argument`.
#' @examples
#' panel <- sim_panel(n = 300, T0 = 10, T1 = 3)
#' release <- dp_release(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1), method = "output"
#' )
#' summary(pdp(release, panel$donors), epsilon = 0.5)
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' plot(pdp(release, panel$donors))
#' @name print.dp_pdp
NULL

#' @rdname print.dp_pdp
#' @export
print.dp_pdp <- function(x, ...) {
  cat(pdp_lines(x), "", sep = "\n")
  print_quantiles(loss_quantiles(x$donors, c(0, 0.5, 1), c("smallest", "median", "largest")))
  if (!is.null(x$donors$realised) && !anyNA(x$donors$realised)) {
    cat(
      "\nRealised loss for the released values (log density ratio with and without the person):",
      paste(formatC(range(x$donors$realised), digits = 3L, format = "g"), collapse = " to "), "\n"
    )
  }
  invisible(x)
}

#' @rdname print.dp_pdp
#' @export
summary.dp_pdp <- function(object, epsilon = NULL, probs = c(0, 0.05, 0.25, 0.5, 0.75, 0.95, 1),
                           ...) door("summary", {
  check_no_dots(...)
  if (!is.numeric(probs) || anyNA(probs) || any(probs < 0 | probs > 1)) {
    abort(c(
      "{.arg probs} must be numbers from 0 to 1.", x = "It is {describe_value(probs)}."
    ), "argument")
  }
  epsilon <- if (is.null(epsilon)) {
    c(0.1, 0.25, 0.5, 1) * object$worst
  } else {
    check_number(epsilon, 0, infinite = TRUE)
  }
  known <- known_losses(object$donors)
  shares <- t(vapply(known, function(kind) {
    vapply(epsilon, function(e) mean(object$donors[[kind]] <= e), 0)
  }, numeric(length(epsilon))))
  structure(list(
    pdp = object, mean = vapply(object$donors[known], mean, 0),
    sd = if (!is.null(object$unit)) vapply(object$donors[known], stats::sd, 0),
    quantiles = loss_quantiles(object$donors, probs, paste0(format(100 * probs, trim = TRUE), "%")),
    shares = matrix(shares, length(known), dimnames = list(known, format(epsilon, trim = TRUE))),
    epsilon = epsilon,
    generalisation = if ("removal" %in% known) {
      generalisation_bound(object$donors$removal, object$delta)
    }
  ), class = "summary.dp_pdp")
})

#' Bound on the mean difference between losses of people outside and inside the data
#'
#' The bound is Proposition 9 of Wang (2019), for a loss function between 0 and 1. Its mean over
#' data sets is estimated from one data set.
#' @param losses (`numeric`, PRIVATE)\cr epsilon of each person's removal, at `delta`.
#' @return A number, PRIVATE.
#' @noRd
generalisation_bound <- function(losses, delta) {
  moment <- mean(exp(losses))
  moment^2 - 1 + delta * (1 + moment)
}

#' @rdname print.dp_pdp
#' @export
print.summary.dp_pdp <- function(x, ...) {
  people <- if (is.null(x$pdp$unit)) "donors" else "people"
  cat(pdp_lines(x$pdp), "", paste0("Quantiles of epsilon over ", people), sep = "\n")
  print_quantiles(cbind(x$quantiles, mean = x$mean, sd = x$sd))
  cat("\nShare of ", people, " whose epsilon is at most\n", sep = "")
  print_quantiles(x$shares)
  if (!is.null(x$generalisation)) {
    bound <- formatC(x$generalisation, digits = 3L, format = "g")
    cat("\n", strwrap(paste0(
      "Generalisation error: ", if (x$generalisation < 1) {
        paste0("at most ", bound, " for any loss function with values from 0 to 1")
      } else {
        paste0("the bound, ", bound, ", is uninformative for losses from 0 to 1")
      }, " (Wang, 2019, Proposition 9, with the mean over these ", people, ")"
    ), 84L), sep = "\n")
  }
  invisible(x)
}

#' @rdname print.dp_pdp
#' @export
as.data.frame.dp_pdp <- function(x, row.names = NULL, optional = FALSE, ...) {
  x$donors
}

#' @rdname print.dp_pdp
#' @export
tidy.dp_pdp <- function(x, ...) door("tidy", {
  check_table_dots(...)
  x$donors
})

pdp_lines <- function(x) {
  c(
    "CURATOR ONLY - data-dependent, not covered by the guarantee",
    paste0(
      "Privacy loss of each of ", count_of_unit(nrow(x$donors), x$unit),
      ", release by method \"", x$method, "\"",
      if (x$method != "gram") paste0(", ", x$calibration, " calibration")
    ),
    paste0(
      "  epsilon at delta = ", format(x$delta),
      "; the release's epsilon for any ",
      if (is.null(x$unit)) "donor of any panel" else paste("person of any", x$of %||% "table"),
      ": ", format(x$worst)
    ),
    if (!"replacement" %in% known_losses(x$donors)) {
      "  for the removal of a donor; no bound is known for a replacement"
    },
    if (!x$holds) {
      strwrap(paste0(
        "THE RELEASE'S EPSILON DOES NOT HOLD: ", x$reason,
        if (x$method == "objective" && x$calibration == "published") {
          "; these losses are computed from the actual noise"
        } else {
          "; these losses are valid only against an adversary who does not know the seed"
        }
      ), 84L, prefix = "  ")
    }
  )
}

# For the published objective perturbation, the loss under replacement is unknown.
known_losses <- function(donors) {
  Filter(function(kind) !anyNA(donors[[kind]]), c("removal", "replacement"))
}

loss_quantiles <- function(donors, probs, labels) {
  known <- known_losses(donors)
  values <- vapply(known, function(kind) {
    stats::quantile(donors[[kind]], probs, names = FALSE, type = 1L)
  }, numeric(length(probs)))
  matrix(t(values), length(known), dimnames = list(known, labels))
}

print_quantiles <- function(table) {
  shown <- format(table, digits = 3L)
  shown[] <- formatC(table, digits = 3L, format = "fg", flag = "#")
  shown[table == 0] <- "0"
  print(shown, quote = FALSE, right = TRUE)
}

#' @rdname print.dp_pdp
#' @exportS3Method ggplot2::autoplot
autoplot.dp_pdp <- function(object, ...) door("plot", {
  start_picture("to plot privacy losses.", ...)
  kinds <- known_losses(object$donors)
  n <- nrow(object$donors)
  steps <- do.call(rbind, lapply(kinds, function(kind) {
    loss <- sort(object$donors[[kind]][is.finite(object$donors[[kind]])])
    data.frame(
      epsilon = c(utils::head(loss, 1L), loss), share = c(0[length(loss) > 0], seq_along(loss) / n),
      neighbour = rep(kind, length(loss) + (length(loss) > 0))
    )
  }))
  infinite <- sum(is.infinite(object$donors$removal))
  worst <- if (object$holds) "the release's epsilon" else "the release's nominal epsilon"
  ggplot2::ggplot(steps, ggplot2::aes(.data$epsilon, .data$share)) +
    ggplot2::geom_vline(xintercept = object$worst, linetype = 3, colour = "grey30") +
    ggplot2::annotate("text",
      x = object$worst, y = 0.02, label = worst, angle = 90, hjust = 0, vjust = 1.4, size = 3.2,
      colour = "grey30"
    ) +
    ggplot2::geom_step(
      ggplot2::aes(colour = .data$neighbour, linetype = .data$neighbour),
      linewidth = 0.8
    ) +
    two_scales(
      c(removal = "#0072B2", replacement = "#D55E00"), c(removal = 1, replacement = 2),
      labels = loss_labels(object$unit)
    ) +
    ggplot2::scale_y_continuous(
      limits = c(0, 1), labels = function(x) paste(round(100 * x), "%")
    ) +
    ggplot2::scale_x_continuous(limits = c(0, NA), expand = ggplot2::expansion(c(0.02, 0.07))) +
    ggplot2::labs(
      x = paste0("privacy loss: epsilon at delta = ", format(object$delta)),
      y = if (is.null(object$unit)) "share of donors" else "share of people",
      title = paste0("Privacy loss of ", count_of_unit(nrow(object$donors), object$unit)),
      caption = if (infinite) {
        paste0("Not shown: infinite loss of ", count_of_unit(infinite, object$unit))
      },
      subtitle = "CURATOR ONLY: data-dependent, not covered by the guarantee"
    ) +
    dpsc_theme()
})

#' @rdname print.dp_pdp
#' @export
plot.dp_pdp <- plot_by(autoplot.dp_pdp)

count_of_unit <- function(n, unit) sub("persons$", "people", count_of(n, unit %||% "donor"))

loss_labels <- function(unit) {
  c(
    removal = paste("the", unit %||% "donor", "taken out"),
    replacement = paste("the", unit %||% "donor", "replaced (upper bound)")
  )
}
