# Inference over time: conformal tests, placebo dates, the penalty path. All code here is
# post-processing of a release. Functions of single pre-periods need a release with all pre-periods.

#' The statistics of a gram release in terms of single periods
#'
#' A release does not determine single periods if it describes the pre-period by fewer features than
#' periods.
#' @param alike (`flag`)\cr whether all periods must have the same noise.
#' @return Statistics as from [run_gram()], with the identity for loadings.
#' @section Errors: `dpsc_error_release` if the release does not contain single periods.
#' @noRd
period_statistics <- function(release, what, alike = FALSE) {
  s <- release$statistics
  if (!gives_moments(release$method)) {
    abort(c(
      "{what} needs the donors' moments, which method {.val {release$method}} does not release.",
      i = free_inference(release),
      i = paste(
        "Otherwise make another release, by {.code method = \"gram\"} with",
        "{.code dp_control(features = Inf)}, which spends budget again."
      )
    ), "release")
  }
  if (!is.null(release$panel$covariates)) {
    abort("{what} is not available for a release with covariates.", "release")
  }
  if (alike && !is.null(release$panel$weights)) {
    abort("{what} compares people of equal weights, but this release has weights.", "release")
  }
  if (!holds_periods(release, alike)) {
    abort(c(
      "{what} needs a release that contains every pre-period{if (alike) ' in the same way'}.",
      x = paste(
        "This release summarises {release$panel$T0} pre-periods in {s$pre} feature{?s}, which is",
        "more accurate."
      ),
      i = free_inference(release),
      i = paste(
        "Otherwise make another release, with {.code dp_control(features = Inf)}, which spends",
        "budget again. In a new study, choose {.arg features} before the first release."
      )
    ), "release")
  }
  back <- solve(t(s$loadings))
  s$mean <- drop(back %*% s$mean)
  s$restore <- back %*% s$restore
  s$loadings <- diag(length(s$mean))
  s$weight <- 1
  s
}

# predict_columns_cpp(s, A, B, u, penalties, whitened) predicts periods B from periods A at each
# penalty per donor (by default, on a grid around the edge of the noise). `s` contains the
# statistics, by single periods or by features, and `u` a unit's values at A minus the donors' mean.
# The result is a list per penalty: `fitted`, for A and then B, is the mean plus `t(map) %*% u`;
# `prediction` and `privacy` are covariances for B; `penalty` and `evidence` are numbers.

#' The penalty for refits, which is the penalty of the fit and depends only on pre-periods
#' @noRd
kept_penalty <- function(fit, i) {
  fit$penalty[[i]] / (2 * counted_donors(fit$release))
}

#' Residual function of a release for conformal inference
#' @noRd
conformal_engine_release <- function(fit, i) {
  s <- period_statistics(fit$release, "Conformal inference", alike = TRUE)
  y <- drop(to_scale(fit$target[i, , drop = FALSE], release_scale(fit$release)))
  penalty <- kept_penalty(fit, i)
  private <- fit$release$privacy$private
  unit <- release_scale(fit$release)$unit
  maps <- list()
  conformal_engine(y * unit, function(path, periods) {
    key <- paste(periods, collapse = " ")
    u <- path / unit - s$mean[periods]
    if (is.null(maps[[key]])) {
      maps[[key]] <<- predict_columns_cpp(s, periods, integer(), u, penalty, private)[[1L]]$map
    }
    (u - drop(crossprod(maps[[key]], u))) * unit
  })
}

#' Conformal inference on the effect
#'
#' Tests a hypothetical path of the effect (Chernozhukov, Wuthrich and Zhu, 2021): the fit is
#' repeated on all periods under the null hypothesis, and the residuals are permuted over time. An
#' interval is the hull of the effects that the test does not reject. The test for a period uses
#' this period and the periods before the treatment. For a private fit the test uses only the
#' release and the target, and costs nothing. The p-value is never 0.
#'
#' @param object (`dp_synth`, or for `autoplot()` a result)\cr a fit with a release that contains
#'   every pre-period and treats all periods in the same way, as with `dp_control(features = Inf)`.
#'   Growing fits, and fits with protected treated people, covariates or weights, are refused. Or a
#'   fit by a classical estimator except `"sdid"` and `"predictors"`, which do not treat all periods
#'   in the same way.
#' @param effect (`number` or `numeric(T1)`)\cr effect under the null hypothesis, in outcome units.
#' @param permutations (`string`)\cr `"block"`: all cyclic shifts of the periods, valid for
#'   dependent errors. `"iid"`: random permutations.
#' @param n_perm (`count`)\cr number of permutations for `"iid"`, drawn with R's generator.
#' @param level (`number`, in (0, 1))\cr coverage of the intervals.
#' @param intervals (`flag`)\cr whether to compute intervals.
#' @param x (`dp_conformal`)\cr a result.
#' @param ... unused.
#' @return An object of class `dp_conformal`, a list that is RELEASED, or NOT PRIVATE for a
#'   non-private fit:
#'   * `test`: a data frame with `target`, `p.value`, `statistic` and `permutations`.
#'   * `intervals`: a data frame with `target`, `term`, `estimate`, `conf.low` and `conf.high`. The
#'     row `"average"` assumes a constant effect. A row is missing if the number of permutations is
#'     too small for the level.
#'   * `note`: the highest possible level for missing rows. With `T0` periods before the treatment
#'     and `T1` periods from the treatment on, there are `T0 + 1` cyclic shifts for a single period
#'     and `T0 + T1` cyclic shifts for the average. Therefore, with `permutations = "block"`,
#'     intervals with 95 % coverage for single periods need 19 periods before the treatment.
#'
#'   `tidy()` returns the intervals.
#' @section Errors: `dpsc_error_argument`, and `dpsc_error_release` if the release does not contain
#'   every pre-period.
#' @references Chernozhukov, V., Wuthrich, K. and Zhu, Y. (2021). An Exact and Robust Conformal
#'   Inference Method for Counterfactual and Synthetic Controls. JASA 116.
#' @examples
#' panel <- sim_panel(n = 2000, T0 = 24, T1 = 3, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 24, epsilon = 4, bounds = c(-1, 1),
#'   control = dp_control(features = Inf)
#' )
#' conformal(fit, level = 0.9)
#' @export
conformal <- function(object, ...) {
  UseMethod("conformal")
}

#' @rdname conformal
#' @export
conformal.dp_synth <- function(object, effect = 0, permutations = c("block", "iid"),
                               n_perm = 999, level = 0.95, intervals = TRUE,
                               ...) door("conformal", {
  check_no_dots(...)
  check_not_protected(object, "Conformal inference")
  check_not_grown(object$release, "Conformal inference")
  permutations <- check_choice(permutations, c("block", "iid"))
  check_flag(intervals)
  level <- check_level(level)
  n_perm <- check_count(n_perm, 1, 1e7)
  T0 <- object$release$panel$T0
  T1 <- object$release$panel$T1
  possible <- conformal_possible(T0, T1, permutations, n_perm, level)
  effects <- effects_of(object)
  parts <- lapply(seq_len(nrow(effects)), function(i) {
    engine <- if (is.null(object$raw)) {
      conformal_engine_release(object, i)
    } else {
      conformal_engine_classical(object)
    }
    test <- conformal_p(engine, T0, T1, permutations, n_perm, effect)
    target <- rownames(effects)[[i]]
    list(
      test = data.frame(
        target = target, p.value = test$p_value, statistic = test$statistic,
        permutations = test$n_sets
      ),
      intervals = if (intervals) {
        inverted <- conformal_interval(engine, T0, effects[i, ], level, permutations, n_perm,
          parts = possible$parts)
        data.frame(
          target = rep(target, nrow(inverted)),
          term = c(colnames(effects), "average")[possible$parts],
          inverted[c("estimate", "conf.low", "conf.high")]
        )
      }
    )
  })
  structure(list(
    test = do.call(rbind, lapply(parts, `[[`, "test")),
    intervals = do.call(rbind, lapply(parts, `[[`, "intervals")), level = level,
    note = if (intervals) possible$note, effect = effect, kind = permutations,
    private = is_private_fit(object)
  ), class = "dp_conformal")
})

#' Conformal intervals that are possible at a level, and a note on intervals that are not
#' @return A list: `parts` (`logical(T1 + 1)`: periods, average), `note` (lines or `NULL`).
#' @noRd
conformal_possible <- function(T0, T1, permutations, n_perm, level) {
  sets <- if (permutations == "block") c(T0 + 1, T0 + T1) else rep(n_perm + 1, 2L)
  enough <- 1 / sets <= (1 - level) * (1 + 1e-9)
  highest <- vapply(1 - 1 / sets, format_percent, "")
  needed <- ceiling(1 / (1 - level) - 1e-9) - 1
  wanted <- format_percent(level)
  needs <- if (permutations == "block") {
    paste0(
      wanted, " for a single period needs ", needed,
      " periods before the treatment, and the panel has ", T0
    )
  } else {
    paste0(wanted, " needs n_perm = ", needed, ", and n_perm is ", n_perm)
  }
  note <- if (!enough[[1L]]) {
    c(
      paste0("There are no ", wanted, " intervals for ",
        if (enough[[2L]]) "single periods" else "single periods or the average", ": ", needs, "."),
      paste0("The highest level possible is ", highest[[1L]], " for a single period",
        if (!enough[[2L]]) paste0(" and ", highest[[2L]], " for the average"), ".")
    )
  }
  list(parts = rep(enough, c(T1, 1L)), note = note)
}

#' @rdname conformal
#' @export
print.dp_conformal <- function(x, ...) {
  cat(
    if (!x$private) "NOT PRIVATE: ", "Conformal test of an effect of ",
    paste(format(x$effect), collapse = ", "), " (", x$test$permutations[[1L]], " ",
    if (x$kind == "block") "cyclic shifts" else "permutations", ")\n",
    sep = ""
  )
  cat(paste0("  ", x$test$target, ": p = ", formatC(x$test$p.value, digits = 3L)), sep = "\n")
  if (NROW(x$intervals) > 0L) {
    cat(format(100 * x$level), "% intervals\n")
    print(x$intervals, digits = 4L, row.names = FALSE)
  }
  if (!is.null(x$note)) cat(x$note, sep = "\n")
  invisible(x)
}

#' @rdname conformal
#' @export
tidy.dp_conformal <- function(x, ...) door("tidy", {
  check_table_dots(...)
  x$intervals
})

#' Placebo tests with an earlier treatment date
#'
#' Fits the target again with fewer pre-periods, and predicts the remaining periods before the true
#' treatment, in which the treatment has no effect. The tests cost nothing, since they use the same
#' release.
#'
#' @param object (`dp_synth`, or for `autoplot()` a result)\cr a fit with a release that contains
#'   every pre-period (see [conformal()]), or a fit by a classical estimator. Growing fits, and fits
#'   with protected treated people or covariates, are refused.
#' @param periods (`vector` or `NULL`)\cr placebo dates: the first periods of placebo treatments,
#'   which are before the true date and have at least two earlier periods. `NULL`: every period in
#'   the second half of the pre-period.
#' @param x (`dp_placebo_time`)\cr a result.
#' @param type (`string`)\cr `"effect"`: the mean effect by placebo date. `"path"`: the observed
#'   path and the refitted path, with one panel per date.
#' @param dates (`vector` or `NULL`)\cr for `"path"`: the dates to plot. `NULL`: at most four evenly
#'   spaced dates.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @param ... unused.
#' @return A data frame of class `dp_placebo_time` with one row per target and date, and columns
#'   `target`, `date`, `T0` (the number of periods before the date), `effect` (the mean gap from
#'   this date to the true treatment), `std.error`, `p.value`, `rmspe_pre` and `rmspe_post` (root
#'   mean squared prediction errors before the date and from the date on). `std.error` and `p.value`
#'   are calibrated as in the fit, and are `NA` if the fit has no interval and for classical
#'   estimators.
#' @section Errors: `dpsc_error_release`, `dpsc_error_argument`.
#' @examples
#' panel <- sim_panel(n = 2000, T0 = 24, T1 = 3, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 24, epsilon = 4, bounds = c(-1, 1),
#'   control = dp_control(features = Inf)
#' )
#' placebo_time(fit, periods = c(16, 20))
#' @export
placebo_time <- function(object, ...) {
  UseMethod("placebo_time")
}

#' @rdname placebo_time
#' @export
placebo_time.dp_synth <- function(object, periods = NULL, ...) door("placebo_time", {
  check_no_dots(...)
  check_not_protected(object, "A placebo date")
  check_not_grown(object$release, "A placebo date")
  panel <- object$release$panel
  if (is.null(periods)) {
    periods <- panel$times[seq.int(max(3L, panel$T0 %/% 2L + 1L), panel$T0)]
  }
  first <- match(period_text(periods), period_text(panel$times))
  if (anyNA(first) || any(first < 3L) || any(first > panel$T0)) {
    limits <- period_text(panel$times[c(1L, panel$T0)])
    abort(c(
      "{.arg periods} must be before the treatment, each with at least two periods before it.",
      i = "The pre-period is {limits[[1L]]} to {limits[[2L]]}."
    ), "argument")
  }
  rows <- if (is.null(object$raw)) {
    s <- period_statistics(object$release, "A placebo date")
    unlist(lapply(seq_len(nrow(object$target)), function(i) {
      lapply(first - 1L, function(T0) placebo_date(object, s, i, T0))
    }), recursive = FALSE)
  } else {
    raw <- placebo_time_classical(object, panel$times[first])
    list(structure(data.frame(
      target = rownames(object$target), date = raw$date, T0 = raw$T0, effect = raw$effect,
      std.error = NA_real_, p.value = NA_real_, rmspe_pre = raw$rmspe_pre,
      rmspe_post = raw$rmspe_post
    ), paths = attr(raw, "paths")))
  }
  paths <- do.call(rbind, lapply(rows, attr, "paths"))
  structure(do.call(rbind, rows),
    class = c("dp_placebo_time", "data.frame"), private = is_private_fit(object), paths = paths,
    outcome = object$release$panel$outcome
  )
})

is_private_fit <- function(fit) isTRUE(fit$release$privacy$holds)

placebo_date <- function(fit, s, i, T0) {
  scale <- release_scale(fit$release)
  y <- drop(to_scale(fit$target[i, , drop = FALSE], scale))
  A <- seq_len(T0)
  B <- seq.int(T0 + 1L, fit$release$panel$T0)
  estimate <- predict_columns_cpp(
    s, A, B, y[A] - s$mean[A], kept_penalty(fit, i), fit$release$privacy$private
  )[[1L]]
  gap <- (y[c(A, B)] - estimate$fitted) * scale$unit
  effect <- mean(gap[B])
  se <- refit_error(fit, i, estimate$prediction, estimate$privacy) * scale$unit
  name <- rownames(fit$target)[[i]]
  observed <- fit$target[i, c(A, B)]
  structure(data.frame(
    target = name, date = fit$release$panel$times[[T0 + 1L]], T0 = T0,
    effect = effect, std.error = se, p.value = normal_p(effect / se),
    rmspe_pre = sqrt(mean(gap[A]^2)), rmspe_post = sqrt(mean(gap[B]^2))
  ), paths = placebo_path(name, fit$release$panel$times, T0, observed, observed - gap))
}

#' @rdname placebo_time
#' @export
print.dp_placebo_time <- function(x, ...) {
  cat(
    if (!isTRUE(attr(x, "private"))) "NOT PRIVATE: ",
    "Placebo dates: mean effect from the placebo start to the true start of the treatment\n",
    sep = ""
  )
  shown <- as.data.frame(unclass(x), stringsAsFactors = FALSE)
  # Empty columns are omitted.
  shown <- shown[!vapply(shown, function(column) all(is.na(column)), NA)]
  print(shown, digits = 4L, row.names = FALSE)
  invisible(x)
}

#' Standard error of the average effect of a refit, scaled units
#'
#' Calibrated like the fit's own standard error, by the same factors and for as many people; `NA` if
#' the fit has no interval.
#' @param prediction,privacy (`matrix`)\cr covariances of one person over the periods.
#' @noRd
refit_error <- function(fit, i, prediction, privacy) {
  spread <- fit$spread[[i]]
  if (!is.null(spread$reason)) {
    return(NA_real_)
  }
  size <- fit$size[[i]]
  own <- group_variance(
    fit$release$statistics$intervals, list(prediction = prediction, size = size)
  )
  own <- own * group_scale(list(size = size, apart = spread$apart))
  variance <- mean(own) * (1 / size + 1 / counted_donors(fit$release)) + mean(privacy)
  (spread$average %||% 1) * sqrt((spread$floor %||% 1) * max(0, variance))
}
