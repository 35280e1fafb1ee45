# Placebos in space and leave-one-out fits. Both show donors, so they exist only for fits without
# privacy.

#' Placebo tests with donors as targets
#'
#' Each donor in turn takes the place of the target and is fitted from all other donors, without the
#' target. If the target's effect is real, few donors should have an effect that is as large
#' relative to the error of their pre-treatment fit (placebos in space).
#'
#' @section Not for private fits: The result is computed from single donors' paths. For a fit that
#' is not by a classical estimator, the functions stop with an error that lists alternatives at no
#' cost. The corresponding test for private fits is the placebo test in
#' [summary()][print.dp_synth()], which uses released moments. [placebo_time()] and [conformal()] of
#' a private fit need a release made with `dp_control(features = Inf)`.
#'
#' @param fit (`dp_synth`)\cr a fit by a classical estimator (`epsilon = Inf`).
#' @param squared (`flag`)\cr whether the ratio is computed from mean squared errors, as in Abadie,
#'   Diamond and Hainmueller (2010), or from root mean squared errors (the default). Ranks and
#'   p-value do not depend on this choice.
#' @param max_ratio (`number`)\cr placebos are omitted from the ranking if their error before the
#'   treatment exceeds this multiple of the target's error. By default no placebo is omitted.
#' @param ... unused.
#' @param x,object (`dp_placebo_space` or `dp_leave_one_out`)\cr the result to show.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @param type (`string`)\cr `"gaps"`: effects of the target and all placebos over time. `"ratio"`:
#'   the ranking by the ratio of the error after the treatment to the error before it; `prune` has
#'   no effect. For `leave_one_out()`: `"paths"` or `"weights"`.
#' @param prune (`number`, at least 1)\cr the plot of `"gaps"` omits placebos if their mean squared
#'   error before the treatment exceeds this multiple of the target's error, and gives the number of
#'   omitted placebos. Ranks and p-value do not depend on `prune`. `Inf`: all placebos are plotted.
#' @return An object of class `dp_placebo_space`, a list. NOT PRIVATE:
#'   * `table`: a data frame with one row per unit, the target first, and columns `unit`, `treated`,
#'     `rmspe_pre` and `rmspe_post` (root mean squared prediction errors before and after the
#'     treatment, in outcome units), `ratio`, and `rank` (`NA` for an omitted placebo).
#'   * `gaps`: a matrix of outcome minus counterfactual, with one row per unit.
#'   * `p_value`: among the ranked units, which include the target, the share of units with a ratio
#'     of at least the target's ratio. The p-value is therefore at least one over the number of
#'     ranked units.
#'   * `squared`, `times`, `T0`, `estimator`, `outcome`: the argument, the periods, the number of
#'     periods before the treatment, the estimator, and the name of the outcome.
#'
#'   `tidy()` returns `table` in the order of the ranks. `autoplot()` returns a ggplot; `plot()`
#'   draws it.
#' @references
#' Abadie, A., Diamond, A. and Hainmueller, J. (2010). Synthetic Control Methods for Comparative
#' Case Studies. JASA 105, 493-505.
#' @export
placebo_space <- function(fit, ...) {
  UseMethod("placebo_space")
}

#' @rdname placebo_space
#' @export
placebo_space.dp_synth <- function(fit, squared = FALSE, max_ratio = Inf,
                                   ...) door("placebo_space", {
  check_no_dots(...)
  squared <- check_flag(squared)
  max_ratio <- check_number(max_ratio, 0, open = "min", infinite = TRUE)
  parts <- raw_parts(fit)
  raw <- parts$raw
  if (nrow(raw$donors) < 2L) {
    abort("Placebos need at least two donors.", "argument")
  }
  own <- fit_checked(raw$donors, raw$target, raw$T0, parts$estimator, parts$settings)
  others <- placebo_counterfactuals(raw, parts$estimator, parts$settings)
  gaps <- rbind(raw$target - own$counterfactual, raw$donors - others)
  dimnames(gaps) <- list(c(parts$target_name, rownames(raw$donors)), as.character(parts$times))
  error <- rmspe(gaps, raw$T0)
  # A fit whose error is only rounding counts as perfect.
  error$pre[error$pre < 1e-10 * max(abs(raw$donors), abs(raw$target))] <- 0
  ratio <- error$post / error$pre
  ratio[is.nan(ratio)] <- 0
  ranked <- is.infinite(max_ratio) | error$pre <= max_ratio * error$pre[[1L]]
  ranked[[1L]] <- TRUE
  rank <- rep(NA_integer_, length(ratio))
  # Equal ratios share the last rank, so ties count against the target.
  rank[ranked] <- rank(-ratio[ranked], ties.method = "max")
  structure(list(
    table = data.frame(
      unit = rownames(gaps), treated = seq_along(ratio) == 1L, rmspe_pre = error$pre,
      rmspe_post = error$post, ratio = if (squared) ratio^2 else ratio, rank = rank
    ),
    gaps = gaps, p_value = rank[[1L]] / sum(ranked), squared = squared, times = parts$times,
    T0 = raw$T0, estimator = parts$estimator, outcome = fit$release$panel$outcome
  ), class = "dp_placebo_space")
})

#' Leave one donor out
#'
#' Fits the target again, each time without one of the donors with nonzero weight. The fits reveal
#' whether the effect depends on one donor. Donors with weight zero are skipped, since the fit would
#' not change.
#'
#' @inheritSection placebo_space Not for private fits
#' @inheritParams placebo_space
#' @return An object of class `dp_leave_one_out`, a list. NOT PRIVATE:
#'   * `table`: a data frame with one row per omitted donor and columns `donor`, `weight` (in the
#'     full fit), `effect` (the mean effect without this donor) and `rmspe_pre` (the root mean
#'     squared prediction error before the treatment).
#'   * `paths`: a matrix of counterfactuals, with one row per omitted donor.
#'   * `effect`: the mean effect of the full fit.
#'   * `counterfactual`, `target`: the paths of the full fit.
#'   * `times`, `T0`, `estimator`, `outcome`: the periods, the number of periods before the
#'     treatment, the estimator, and the name of the outcome.
#'
#'   `tidy()` returns `table`. `autoplot()` returns a ggplot; `plot()` draws it.
#' @export
leave_one_out <- function(fit, ...) {
  UseMethod("leave_one_out")
}

#' @rdname leave_one_out
#' @export
leave_one_out.dp_synth <- function(fit, ...) door("leave_one_out", {
  check_no_dots(...)
  parts <- raw_parts(fit)
  raw <- parts$raw
  if (nrow(raw$donors) < 2L) {
    abort("Leaving a donor out needs at least two donors.", "argument")
  }
  own <- fit_checked(raw$donors, raw$target, raw$T0, parts$estimator, parts$settings)
  dropped <- which(own$weights != 0)
  paths <- leave_out_counterfactuals(raw, parts$estimator, parts$settings, dropped)
  dimnames(paths) <- list(rownames(raw$donors)[dropped], as.character(parts$times))
  gaps <- rep(raw$target, each = nrow(paths)) - paths
  post <- seq_len(ncol(gaps)) > raw$T0
  structure(list(
    table = data.frame(
      donor = rownames(paths), weight = unname(own$weights[dropped]),
      effect = unname(rowMeans(gaps[, post, drop = FALSE])), rmspe_pre = rmspe(gaps, raw$T0)$pre
    ),
    paths = paths, effect = mean((raw$target - own$counterfactual)[post]),
    counterfactual = own$counterfactual, target = raw$target, times = parts$times, T0 = raw$T0,
    estimator = parts$estimator, outcome = fit$release$panel$outcome
  ), class = "dp_leave_one_out")
})

#' Placebo dates on raw data, with the treatment moved to earlier periods
#'
#' The fit uses only periods before the placebo date. The effect is computed from the placebo date
#' to the true date.
#' @param fit (`dp_synth`)\cr a fit with `epsilon = Inf`.
#' @param dates (`vector`)\cr first periods of the placebo treatment, among the fit's times.
#' @return A data frame with one row per date and columns `date`, `T0`, `effect` (mean),
#'   `rmspe_pre`, `rmspe_post`, `ratio` (not squared).
#' @noRd
placebo_time_classical <- function(fit, dates) {
  parts <- raw_parts(fit)
  raw <- parts$raw
  first <- match(as.character(dates), as.character(parts$times))
  if (anyNA(first) || any(first < 3L) || any(first > raw$T0)) {
    abort(c(
      "Placebo dates must be periods before treatment.",
      i = "At least two periods must come before each date."
    ), "argument")
  }
  before <- seq_len(raw$T0)
  donors <- raw$donors[, before, drop = FALSE]
  rows <- lapply(first - 1L, function(T0) {
    settings <- settings_of_periods(parts$settings, before)
    fit <- fit_checked(donors, raw$target[before], T0, parts$estimator, settings)
    gap <- raw$target[before] - fit$counterfactual
    error <- rmspe(matrix(gap, 1L), T0)
    structure(data.frame(
      T0 = T0, effect = mean(gap[-seq_len(T0)]), rmspe_pre = error$pre, rmspe_post = error$post,
      ratio = error$post / error$pre
    ), paths = placebo_path(
      parts$target_name, parts$times, T0, raw$target[before], fit$counterfactual
    ))
  })
  structure(cbind(data.frame(date = parts$times[first]), do.call(rbind, rows)),
    paths = do.call(rbind, lapply(rows, attr, "paths"))
  )
}

#' The observed pre-treatment path, and its refit to the periods before a date
#' @param T0 (`count`)\cr number of periods before the placebo date.
#' @noRd
placebo_path <- function(target, times, T0, observed, fitted) {
  data.frame(
    target = target, date = times[[T0 + 1L]], period = times[seq_along(observed)],
    treated = seq_along(observed) > T0, .observed = unname(observed), .fitted = unname(fitted)
  )
}

#' Root mean squared prediction errors of gaps, one row per unit
#' @noRd
rmspe <- function(gaps, T0) {
  pre <- seq_len(ncol(gaps)) <= T0
  list(
    pre = unname(sqrt(rowMeans(gaps[, pre, drop = FALSE]^2))),
    post = unname(sqrt(rowMeans(gaps[, !pre, drop = FALSE]^2)))
  )
}

#' The raw data inside a non-private fit, or a refusal
#' @return A list: `raw` (from `check_raw()`, donors named), `estimator`, `settings` (completed),
#'   `times`, `target_name`. NOT PRIVATE.
#' @section Errors: `dpsc_error_private` for a private fit.
#' @noRd
raw_parts <- function(fit) {
  if (is.null(fit$raw)) {
    refuse_raw(fit$release)
  }
  raw <- check_raw(fit$raw$donors, fit$raw$target, fit$raw$T0)
  if (raw$T0 >= ncol(raw$donors)) {
    abort("The panel contains no post-treatment period.", "argument")
  }
  estimator <- check_choice(fit$estimator, names(classical_table()), arg = "estimator")
  settings <- complete_settings(raw, estimator, fit$settings)
  if (is.null(rownames(raw$donors))) {
    rownames(raw$donors) <- paste("donor", seq_len(nrow(raw$donors)))
  }
  name <- rownames(fit$raw$target)
  list(
    raw = raw, estimator = estimator,
    settings = settings,
    times = fit$raw$times %||% seq_len(ncol(raw$donors)),
    target_name = if (is.null(name)) "target" else name[[1L]]
  )
}

#' Refuse functions of single donors, and list the alternatives for this fit
#' @noRd
refuse_raw <- function(release) {
  private <- isTRUE(release$privacy$private)
  abort(c(
    if (private) {
      "This fit is private and contains no donor's data."
    } else {
      "This fit is not by a classical estimator: it uses moments instead of single donors."
    },
    x = paste("{.fn placebo_space}, {.fn leave_one_out} and {.fn placebo_errors}", if (private) {
      paste(
        "need single donors' data, and are available only for classical estimators with",
        "{.code epsilon = Inf}."
      )
    } else {
      paste(
        "need a classical estimator, such as {.code estimator = \"simplex\"}, with",
        "{.code epsilon = Inf}."
      )
    }),
    i = free_inference(release)
  ), "private")
}

#' @rdname placebo_space
#' @export
format.dp_placebo_space <- function(x, ...) {
  own <- x$table[1L, ]
  ranked <- sum(!is.na(x$table$rank))
  word <- if (x$squared) "squared RMSPE ratio" else "RMSPE ratio (not squared)"
  c(
    paste0("NOT PRIVATE: placebos in space, estimator \"", x$estimator, "\""),
    paste0(
      "  ", own$unit, ": rank ", own$rank, " of ", ranked, " by ", word, ", p = ",
      format(x$p_value, digits = 3L)
    ),
    paste0(
      "  ratio ", format(own$ratio, digits = 4L), " (after ", format(own$rmspe_post, digits = 4L),
      ", before ", format(own$rmspe_pre, digits = 4L), ", both as RMSPE)"
    ),
    if (own$rmspe_pre == 0) {
      "  the target is fitted perfectly before the treatment, so its ratio is meaningless"
    },
    if (ranked < nrow(x$table)) {
      paste0(
        "  ", count_of(nrow(x$table) - ranked, "placebo"), " left out for poor pre-treatment fit"
      )
    }
  )
}

#' @rdname placebo_space
#' @export
print.dp_placebo_space <- function(x, ...) say_lines(x, format(x))

#' @rdname leave_one_out
#' @export
format.dp_leave_one_out <- function(x, ...) {
  range <- range(x$table$effect)
  largest <- x$table[which.max(abs(x$table$effect - x$effect)), ]
  c(
    paste0("NOT PRIVATE: leave-one-out effects, estimator \"", x$estimator, "\""),
    paste0(
      "  mean effect ", format(x$effect, digits = 5L), "; if one of ",
      count_of(nrow(x$table), "donor"), " is left out, between ",
      format(range[[1L]], digits = 5L), " and ", format(range[[2L]], digits = 5L)
    ),
    paste0("  largest change if ", largest$donor, " is left out")
  )
}

#' @rdname leave_one_out
#' @export
print.dp_leave_one_out <- function(x, ...) say_lines(x, format(x))

#' @rdname placebo_space
#' @export
tidy.dp_placebo_space <- function(x, ...) door("tidy", {
  check_table_dots(...)
  out <- x$table[order(x$table$rank, -x$table$ratio), ]
  rownames(out) <- NULL
  out
})

#' @rdname leave_one_out
#' @export
tidy.dp_leave_one_out <- function(x, ...) door("tidy", {
  check_table_dots(...)
  x$table
})

#' Is the fit independent of the order of the periods?
#'
#' Covariates that change over time are permuted with their periods. A covariate with one value per
#' unit must not be a mean over some periods.
#' @noRd
treats_periods_alike <- function(fit) {
  given <- fit$settings$predictors
  !fit$estimator %in% c("sdid", "predictors") && (is.null(given) || isTRUE(given$fixed))
}
