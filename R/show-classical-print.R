# Prints of the classical fits, and substitutes for the intervals that these fits lack.

#' @rdname print.dp_synth
#' @export
print.dp_synth_classical <- function(x, ...) {
  say_lines(
    x, fit_headline(x), describe_targets(x), "",
    average_effect_lines(x), closing_lines(x)
  )
}

closing_lines <- function(fit) {
  c(
    fit_quality_lines(fit), weight_line(fit), tuning_lines(fit), "", next_lines(fit), "",
    privacy_lines(fit)
  )
}

#' The average effect, with the results of `placebo_errors()`
#' @noRd
average_effect_lines <- function(fit) {
  line <- paste0("  average effect   ", format_value(mean(effects_of(fit))))
  if (is.null(fit$placebos)) {
    return(line)
  }
  average <- effect_limits(fit)[1L, ]
  c(
    paste0(
      line, " [", format_value(average$conf.low), ", ", format_value(average$conf.high), "], 95 %"
    ),
    paste0(
      "  standard error   ", format_value(average$std.error), ", from ",
      count_of(fit$placebos, "placebo")
    )
  )
}

#' @rdname print.dp_synth
#' @export
summary.dp_synth_classical <- function(object, ...) door("summary", {
  check_no_dots(...)
  effect <- effects_of(object)
  structure(list(
    fit = object,
    effects = data.frame(
      target = rownames(effect), term = c("average", colnames(effect)),
      estimate = c(mean(effect), effect)
    ),
    rmspe = classical_rmspe(object), balance = balance_table(object)
  ), class = "summary.dp_synth_classical")
})

#' @rdname print.dp_synth
#' @export
print.summary.dp_synth_classical <- function(x, ...) {
  fit <- x$fit
  cat(fit_headline(fit), describe_targets(fit), "", sep = "\n")
  print(effect_columns(fit, x$effects))
  if (!is.null(x$balance)) {
    cat("", "  balance of predictors", sep = "\n")
    print(x$balance, digits = 4L)
  }
  say_lines(x, "", closing_lines(fit))
}

#' @rdname effects.dp_synth
#' @export
confint.dp_synth_classical <- function(object, ...) door("confint", {
  if (!is.null(object$placebos)) {
    return(NextMethod())
  }
  instead <- if (!treats_periods_alike(object)) {
    paste(
      "{.fn placebo_errors} computes standard errors from placebos on the donors;",
      "{.fn placebo_space} ranks the target's effect among the placebos' effects."
    )
  } else {
    highest <- classical_level(object)
    paste0(
      "{.code conformal(fit", if (highest < 0.95) paste0(", level = ", highest), ")} gives ",
      "intervals, and {.fn placebo_errors} gives standard errors from placebos on the donors."
    )
  }
  abort(c(
    "A fit by estimator {.val {object$estimator}} has no standard errors for {.fn confint}.",
    i = instead
  ), "argument")
})

#' The highest level, up to 95 %, at which conformal() has intervals for single periods
#' @noRd
classical_level <- function(fit) {
  min(0.95, floor(100 * (1 - 1 / (fit$release$panel$T0 + 1)) + 1e-9) / 100)
}

classical_rmspe <- function(fit) {
  rmspe(fit$target - fit$counterfactual, fit$release$panel$T0)
}

#' Pre-treatment fit of the target, and its shortcomings
#' @noRd
fit_quality_lines <- function(fit) {
  pre <- seq_len(fit$release$panel$T0)
  error <- classical_rmspe(fit)$pre
  own <- fit$target[1L, pre]
  spread <- sqrt(mean((own - mean(own))^2))
  perfect <- error < 1e-8 * max(abs(fit$raw$donors), abs(own))
  poor <- !perfect && error > spread / 2
  c(
    paste0("  pre-treatment RMSPE ", format_value(error), " (standard deviation of the target ",
      format_value(spread), ")"),
    if (perfect) {
      c(
        "  PERFECT FIT before the treatment: probably too many donors for so few periods. The",
        "  weights may not be unique, and the post/pre ratio in placebo_space() is meaningless."
      )
    },
    if (!perfect && isTRUE(fit$ties > 0)) {
      "  THE WEIGHTS ARE NOT UNIQUE: other weights fit equally well."
    },
    if (poor) {
      c(
        "  POOR FIT before the treatment: the weighted donors do not follow the target, and the",
        paste0("  effect includes this misfit.", if (fit$estimator == "simplex") {
          " With estimator = \"demeaned\" the levels can differ."
        })
      )
    }
  )
}

#' Printed effects, with the limits from `placebo_errors()`
#' @noRd
effect_columns <- function(fit, effects) {
  out <- data.frame(effect = format_value(effects$estimate), row.names = effects$term)
  if (!is.null(fit$placebos)) {
    table <- effect_limits(fit)
    out[["95 % interval"]] <- paste0(
      "[", format_value(table$conf.low), ", ", format_value(table$conf.high), "]"
    )
    out$std.error <- format_value(table$std.error)
  }
  out
}

#' Predictors of the target, of its synthetic control and of the donors' mean, with importances (V)
#'
#' For covariates that change over time the table contains the means before the treatment, and the
#' coefficients.
#' @return A data frame, one row per predictor, or `NULL` without predictors. NOT PRIVATE.
#' @noRd
balance_table <- function(fit) {
  settings <- fit$settings
  given <- balanced_means(settings, fit$release$panel$T0)
  if (is.null(given)) {
    return(NULL)
  }
  out <- data.frame(
    target = given$target, synthetic = drop(fit$weights %*% given$donors),
    donors = colMeans(given$donors), row.names = covariate_names(settings)
  )
  names(out)[[3L]] <- "donors' mean"
  out$V <- settings$importance %||% settings$v
  if (!is.null(fit$slopes)) {
    out$coefficient <- c(rep(NA_real_, nrow(out) - length(fit$slopes)), fit$slopes)
  }
  out
}

#' A fit's inputs besides outcomes, each with one value per unit
#' @return A list: `donors` (n x K), `target` (K); `NULL` without such inputs.
#' @noRd
balanced_means <- function(settings, T0) {
  z <- settings$predictors
  x <- settings$covariates
  if (is.null(z) && is.null(x)) {
    return(NULL)
  }
  pre <- seq_len(T0)
  means <- if (!is.null(x)) {
    list(
      donors = apply(x$donors[, pre, , drop = FALSE], c(1L, 3L), mean),
      target = colMeans(x$target[pre, , drop = FALSE])
    )
  }
  list(donors = cbind(z$donors, means$donors), target = unname(c(z$target, means$target)))
}

#' The largest weights with donors' names. NOT PRIVATE, like the fit.
#' @noRd
weight_line <- function(fit) {
  if (fit$estimator == "did") {
    return(NULL)
  }
  weights <- fit$weights[order(-abs(fit$weights))]
  weights <- weights[abs(weights) > 5e-4]
  if (!length(weights)) {
    return("  no donor has weight")
  }
  shown <- utils::head(weights, 5L)
  implied <- if (fit$estimator %in% c("factor", "mcnnm")) "implied "
  strwrap(paste0(
    "largest ", implied, "weights: ", paste(names(shown), formatC(shown, digits = 3L, format = "f"),
      collapse = ", "
    ), if (length(weights) > 5L) paste0(" and ", length(weights) - 5L, " more: see weights()")
  ), 96L, prefix = "  ", initial = "  ")
}

#' Settings chosen by the estimator: penalty, factors, weights of periods, importances
#' @noRd
tuning_lines <- function(fit) {
  settings <- fit$settings
  chosen <- if (!is.null(settings$path)) ", by cross-validation"
  c(switch(fit$estimator,
    augmented = , mcnnm = paste0("  penalty ", format(settings$lambda, digits = 3L), chosen),
    factor = paste0("  ", count_of(settings$rank, "factor"), chosen),
    sdid = named_line("weights of periods", sdid_periods(fit)),
    predictors = named_line("importances (V)", settings$importance)
  ), covariate_line(fit))
}

#' Covariates, with the coefficients of covariates that change over time
#' @noRd
covariate_line <- function(fit) {
  names <- covariate_names(fit$settings)
  if (is.null(names) || fit$estimator == "predictors") {
    return(NULL)
  }
  slopes <- fit$slopes[names]
  strwrap(paste0("covariates: ", paste0(
    names, if (!is.null(slopes)) ifelse(is.na(slopes), "", paste0(" (", format_value(slopes), ")")),
    collapse = ", "
  )), 96L, prefix = "  ", initial = "  ")
}

sdid_periods <- function(fit) {
  times <- fit$raw$times %||% seq_along(fit$target)
  stats::setNames(fit$period_weights, period_text(times[seq_along(fit$period_weights)]))
}

named_line <- function(label, values) {
  if (is.null(names(values))) names(values) <- seq_along(values)
  values <- values[values > 5e-4]
  strwrap(
    paste0(label, ": ", paste(names(values), formatC(values, digits = 3L, format = "f"),
      collapse = ", "
    )), 96L, prefix = "  ", initial = "  "
  )
}

#' Sources of inference for a classical fit
#' @noRd
next_lines <- function(fit) {
  highest <- classical_level(fit)
  errors <- if (is.null(fit$placebos)) ", placebo_errors(fit) for standard errors"
  c(
    "  next: placebo_space(fit) for a p-value, leave_one_out(fit) for the influence of each donor,",
    if (!treats_periods_alike(fit)) {
      paste0("  placebo_time(fit) for placebo dates", errors)
    } else {
      paste0("  conformal(fit", if (highest < 0.95) paste0(", level = ", highest),
        ") for intervals", errors)
    }
  )
}
