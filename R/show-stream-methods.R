# Methods of streams, from released values and public facts, at no cost.

#' Methods for a stream
#'
#' These methods use released values only and cost nothing.
#'
#' @param x,object (`dp_online` or `dp_stream_sum`)\cr a stream.
#' @param newdata (`data.frame`)\cr rows to predict; the outcome is not needed.
#' @param type (`string`)\cr `"response"` for predictions on the outcome's scale, within its bounds;
#'   `"link"` for the linear predictor, which in linear models is in the outcome's units.
#' @param conf.int (`flag`)\cr whether to add confidence limits.
#' @param conf.level (`number`, in (0, 1))\cr coverage of the confidence limits.
#' @param ... unused.
#' @return
#' * `predict()`: a vector with one value per row; `NA` if a regressor is missing. For `"gram"`,
#'   `"ftal"` and `"ftrl"` the coefficients are shrunk, which moves predictions towards the middle
#'   of the outcome's bounds. The prediction is this middle as long as noise alone could have
#'   produced the coefficients. In `bench/online.R` the regret is at most 1.05 times the regret of
#'   always predicting this middle.
#' * `coef()`: coefficients in the units of the variables (`dp_online`), or the running sums. For
#'   `"gram"` these are least-squares coefficients without shrinkage, so `predict()` does not equal
#'   their linear predictor. As long as the noise hides the curvature of the regressors,
#'   `coef()` returns the shrunk coefficients, and there are no standard errors: `tidy()` contains
#'   `NA`, `vcov()` and `confint()` raise an error with the reason, and the print states the reason.
#' * `vcov()`, `confint()`, `nobs()`, `glance()`, `formula()`: see [dp_estimates]. Standard errors
#'   of running sums are for privacy noise alone.
#' * `tidy()` of `dp_online`: a data frame with `term`, `estimate`, `std.error` (for sampling and
#'   privacy; `NA` for `"ftal"` and `"ftrl"`, which release no residual variance), `privacy.se`,
#'   `statistic` and `p.value`. The standard errors of `"gram"` contain the noise in both kinds of
#'   moments to second order, and an allowance for rows that were clipped to `radius`.
#' * `tidy()` of running sums: a data frame with one row per stored step and term, and columns
#'   `step`, `rows`, `term`, `estimate` and `privacy.se`. The stored steps are the first 500 steps,
#'   then one step for each increase of the number of steps by 1 %, and the last step.
#' * `summary()`: a list of class `summary.dp_stream` with `stream`, `facts` (as from `glance()`)
#'   and `table` (current estimates with their standard errors).
#' @name dp_stream-methods
NULL

#' @noRd
online_estimates <- function(fit) {
  units <- unscaling(fit$columns)
  names <- fit$columns$names
  # The other methods release no covariance of sampling errors.
  found <- if (holds_moments(fit)) {
    stream_slopes(fit$released, fit$learner, fit$columns$intercept)
  } else {
    list(estimate = fit$released$estimate, privacy = fit$released$noise)
  }
  part <- function(covariance) {
    if (length(covariance)) named_square(units$map %*% covariance %*% t(units$map), names)
  }
  new_estimates(
    stats::setNames(drop(units$map %*% found$estimate) + units$shift, names),
    covariance = list(total = part(found$total), privacy = part(found$privacy)),
    text = fit$columns$text, nobs = fit$released$rows, facts = stream_facts(fit),
    lacks = list(reason = found$reason, advice = if (is.null(found$reason)) {
      "Method {.val gram} releases the moments that a covariance needs."
    } else {
      "More rows, a larger {.arg epsilon} or narrower {.arg bounds} resolve the curvature."
    })
  )
}

#' @noRd
sum_estimates <- function(fit) {
  columns <- fit$columns
  width <- columns$width
  noise <- fit$released$noise
  if (!length(noise)) noise <- diag(0, length(width))
  # The only error of running sums is the noise, since they have no sampling error.
  noise <- named_square(noise * tcrossprod(width), columns$names)
  new_estimates(
    stats::setNames(
      columns$lower * fit$released$rows + width * fit$released$estimate, columns$names
    ),
    covariance = list(total = noise, privacy = noise), nobs = fit$released$rows,
    facts = stream_facts(fit)
  )
}

stream_facts <- function(fit) {
  list(
    method = fit$learner$method, noise = fit$plan$facts$noise, steps = fit$released$steps,
    rows = fit$released$rows, horizon = planned_horizon(fit), epsilon = fit$privacy$epsilon,
    delta = fit$privacy$delta, rho = fit$privacy$rho, private = fit$privacy$holds
  )
}

#' @rdname dp_stream-methods
#' @export
predict.dp_online <- function(object, newdata, type = c("response", "link"), ...) door("predict", {
  check_no_dots(...)
  check_given(missing(newdata), "newdata", "the rows to predict")
  type <- check_choice(type, c("response", "link"))
  table <- table_of_rows(object$columns, newdata, outcome = FALSE)
  # Objects of old versions do not contain the share.
  score <- drop(table %*% object$released$estimate) * (object$released$share %||% 1)
  score[is.nan(score)] <- NA_real_
  if (type == "response") {
    return(outcome_of_score(object, score))
  }
  score * object$columns$outcome$half + object$columns$outcome$centre
})

add_limits <- function(table, error, level) {
  level <- check_level(level, "conf.level")
  width <- stats::qnorm((1 + level) / 2) * error
  cbind(table, conf.low = table$estimate - width, conf.high = table$estimate + width)
}

#' @rdname dp_stream-methods
#' @export
tidy.dp_stream_sum <- function(x, conf.int = FALSE, conf.level = 0.95, ...) door("tidy", {
  check_table_dots(...)
  trace <- trace_to_now(x$released)
  terms <- x$columns$names
  parts <- lapply(seq_along(terms), function(j) {
    data.frame(
      step = trace[, 1L], rows = trace[, 2L], term = rep(terms[[j]], nrow(trace)),
      estimate = x$columns$lower[[j]] * trace[, 2L] + x$columns$width[[j]] * trace[, 3L + j],
      privacy.se = x$columns$width[[j]] * trace[, 3L]
    )
  })
  out <- do.call(rbind, parts)
  if (check_flag(conf.int)) {
    out <- add_limits(out, out$privacy.se, conf.level)
  }
  out
})

#' The stored steps, and the last step taken
#' @param released (`list`)\cr the released values of a stream of sums.
#' @noRd
trace_to_now <- function(released) {
  trace <- released$trace
  if (!nrow(trace) || released$steps <= trace[nrow(trace), 1L]) {
    return(trace)
  }
  sd <- if (length(released$noise)) sqrt(released$noise[[1L]]) else 0
  rbind(trace, c(released$steps, released$rows, sd, released$estimate))
}

planned_horizon <- function(stream) {
  horizon <- stream$plan$facts$horizon
  if (horizon == unknown_horizon) Inf else horizon
}

#' @rdname dp_stream-methods
#' @export
print.dp_stream <- function(x, ...) say_lines(x, stream_lines(x))

#' @rdname dp_stream-methods
#' @export
summary.dp_stream <- function(object, ...) door("summary", {
  check_no_dots(...)
  table <- if (inherits(object, "dp_online")) {
    generics::tidy(object)
  } else {
    data.frame(
      term = object$columns$names, estimate = unname(stats::coef(object)),
      privacy.se = unname(sqrt(diag(stats::vcov(object))))
    )
  }
  structure(list(
    stream = stream_lines(object, values = FALSE), facts = as.data.frame(stream_facts(object)),
    table = table
  ), class = "summary.dp_stream")
})

#' @export
print.summary.dp_stream <- function(x, ...) {
  blank <- which(!nzchar(x$stream))[[1L]]
  cat(x$stream[seq_len(blank)], sep = "\n")
  print(x$table, digits = 4L, row.names = FALSE)
  say_lines(x, x$stream[-seq_len(blank - 1L)])
}

stream_lines <- function(stream, values = TRUE) {
  horizon <- planned_horizon(stream)
  online <- inherits(stream, "dp_online")
  title <- if (online) {
    paste0("online ", if (stream$columns$family == "binomial") "logistic ",
      "regression by method \"",
      stream$learner$method, "\"")
  } else {
    stream$what
  }
  all <- stats::coef(stream)
  shown <- utils::head(all, 20L)
  c(
    paste0(if (stream$privacy$private) "Private " else "Raw ", title, ", noise \"",
      stream$plan$facts$noise, "\""),
    if (online) paste0("  ", stream$columns$text),
    paste0("  ", count_words(stream$released$steps), " of ",
      if (is.finite(horizon)) count_words(horizon) else "2^30", " steps taken",
      if (!is.finite(horizon)) " (the plan for horizon = Inf)",
      if (stream$batch) paste0(" (", count_words(stream$released$rows), " rows)")),
    if (!online && stream$privacy$private) {
      paste0("  standard error from privacy noise at the horizon: ", plan_text(stream))
    },
    doubt_lines(stream$doubts),
    if (!is.null(stream$gone)) paste0("  its state no longer exists here: ", stream$gone),
    "",
    if (values) c(
      paste0("  ", formatC(names(shown), width = -max(nchar(names(shown)))), "  ",
        formatC(shown, digits = 5L, format = "g"), stream_errors(stream, length(shown))),
      if (length(all) > 20L) paste("  and", length(all) - 20L, "more: see coef()"),
      hidden_words(stream), share_words(stream), ""
    ),
    if (values) privacy_lines(stream) else privacy_summary(stream)
  )
}

#' The reason for missing standard errors, for a stream that has steps
#' @noRd
hidden_words <- function(stream) {
  if (!inherits(stream, "dp_online") || stream$released$steps == 0) {
    return(NULL)
  }
  reason <- online_estimates(stream)$lacks$reason
  if (!is.null(reason)) strwrap(paste("no standard errors:", reason), 90L, prefix = "  ")
}

#' A note that predictions use modified coefficients
#' @noRd
share_words <- function(stream) {
  share <- stream$released$share %||% 1
  if (stream$released$steps == 0 || share > 0.995) {
    return(NULL)
  }
  if (share == 0) {
    # The note must not contradict the tests of single coefficients.
    p <- if (holds_moments(stream)) error_table(online_estimates(stream))$p.value
    return(paste0("  ", if (any(p < 0.05, na.rm = TRUE)) {
      "all coefficients together are too uncertain for predictions"
    } else {
      "all coefficients may be noise"
    }, ", so predictions are the middle of the outcome's bounds"))
  }
  paste0("  predictions go ", format(100 * share, digits = 2L),
    " % of the way from the middle of the outcome's bounds to the model's values")
}

#' Standard errors of the privacy noise of the printed values, in brackets, to identify sums that
#' are mostly noise
#' @noRd
stream_errors <- function(stream, k) {
  if (!stream$privacy$private || stream$released$steps == 0) {
    return("")
  }
  maker <- if (inherits(stream, "dp_online")) online_estimates else sum_estimates
  noise <- part_errors(maker(stream), "privacy")[seq_len(k)]
  ifelse(is.na(noise), "", paste0("  (noise ", formatC(noise, digits = 3L, format = "g"), ")"))
}

#' Noise of a sum at the horizon, which is known before the data are seen
#' @noRd
plan_text <- function(stream) {
  paste(formatC(stream$columns$width * horizon_se(stream$plan), digits = 3L, format = "g"),
    collapse = ", ")
}

#' @return Standard deviation of a sum at the horizon, for entries in [0, 1]. PUBLIC.
#' @noRd
horizon_se <- function(plan) {
  one <- max(plan$scale) / plan$unit * (if (plan$gaussian) 1 else sqrt(2))
  horizon <- plan$facts$horizon
  if (plan$facts$noise != "tree") {
    factor <- if (plan$facts$noise == "toeplitz") 4096 else 1
    return(one * 2^-plan$grid / factor * sqrt(1.066 + log(horizon) / pi))
  }
  # Honaker's variances by level, for the levels that make up the horizon.
  levels <- floor(log2(horizon)) + 1
  v <- Reduce(function(v, l) 1 / (1 + 1 / (2 * v)), seq_len(levels - 1), 1, accumulate = TRUE)
  used <- floor(horizon / 2^(seq_len(levels) - 1)) %% 2 == 1
  one * sqrt(sum(v[used]))
}

#' @rdname plot.dp_stream
#' @exportS3Method ggplot2::autoplot
autoplot.dp_stream <- function(object, level = 0.95, labels = NULL, ...) door("plot", {
  start_picture("to plot a stream.", ...)
  level <- check_level(level)
  data <- stream_path(object, level)
  if (!nrow(data)) abort("The stream has no steps yet, so there is nothing to plot.", "stream")
  online <- inherits(object, "dp_online")
  # Each coefficient has different units and a separate axis.
  data$term <- factor(data$term, levels = object$columns$names)
  levels(data$term) <- labelled(levels(data$term), labels)
  across <- min(3L, nlevels(data$term))
  ggplot2::ggplot(data, ggplot2::aes(.data$step, .data$estimate)) +
    (if (!online) {
      error_layers(
        data.frame(target = data$term, term = data$term, at = data$step,
          noise_low = data$conf.low, noise_high = data$conf.high, low = NA_real_, high = NA_real_
        ), "band", band_labels(level, ", each step by itself", both = FALSE)
      )
    }) +
    (if (online && holds_moments(object)) {
      # The line is shrunk to its end, so that the last estimate is not a jump of the path.
      line <- data
      now <- line$step == object$released$steps
      line$estimate[now] <- unscaled(object, object$released$estimate)
      list(
        ggplot2::geom_line(data = line, colour = band_colour, linewidth = 0.5),
        ggplot2::geom_point(data = data[now, ], colour = band_colour, size = 1.5)
      )
    } else {
      ggplot2::geom_line(colour = if (online) band_colour else "black", linewidth = 0.5)
    }) +
    ggplot2::facet_wrap(~term,
      scales = "free_y", ncol = across, labeller = strip_labeller(across)
    ) +
    (if (online) log_axis(data$step, across) else period_axis(data$step, across)) +
    ggplot2::labs(
      x = "step", y = if (online) "coefficient" else "sum to date",
      title = if (online) "Released coefficients" else "Released sums",
      subtitle = if (object$privacy$holds) {
        paste0("Private with epsilon = ", format(object$privacy$epsilon), ", delta = ",
          format(object$privacy$delta), " for all steps together")
      } else {
        "NOT PRIVATE"
      }
    ) +
    dpsc_theme()
})

#' Plot a stream
#'
#' Plots the released path of the coefficients, in the units of the variables, or of the running
#' sums with a confidence band. For method `"gram"` the line shows the shrunk coefficients, which
#' serve predictions, and the point at its end shows `coef()`.
#' @param x,object (`dp_stream`)\cr a stream.
#' @param level (`number`, in (0, 1))\cr coverage of the band at each step, for privacy noise alone.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @param ... unused.
#' @return `autoplot()`: a ggplot; `plot()` draws it and returns it invisibly.
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' visits <- dp_stream_count(epsilon = 1, delta = 1e-6, horizon = 500)
#' update(visits, rbinom(500, 1, 0.3))
#' plot(visits)
#' @export
plot.dp_stream <- plot_by(autoplot.dp_stream)

stream_path <- function(stream, level) {
  if (!inherits(stream, "dp_online")) {
    return(tidy.dp_stream_sum(stream, conf.int = TRUE, conf.level = level))
  }
  released <- stream$released
  terms <- stream$columns$names
  # The path contains the shrunk solutions of some steps; its end is `coef()`.
  before <- released$trace[, 1L] < released$steps
  step <- c(released$trace[before, 1L], if (released$steps > 0) released$steps)
  estimate <- rbind(
    unscaled(stream, released$trace[before, -(1:3), drop = FALSE]),
    if (released$steps > 0) unname(online_estimates(stream)$estimate)
  )
  data.frame(
    step = rep(step, length(terms)), term = rep(terms, each = length(step)),
    estimate = as.vector(estimate)
  )
}

#' Coefficients of scaled variables, one row per solution, in the units of the variables
#' @noRd
unscaled <- function(stream, scaled) {
  units <- unscaling(stream$columns)
  if (!is.matrix(scaled)) scaled <- t(scaled)
  sweep(scaled %*% t(units$map), 2L, units$shift, `+`)
}
