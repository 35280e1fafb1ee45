# Conformal inference for counterfactuals (Chernozhukov, Wuthrich and Zhu, 2021). The refit is a
# function argument, so that raw data and private releases share all code here.
#
# A residual function takes `effects`, a matrix with one row per null hypothesis and one column per
# element of `periods`, and `periods`, the positions of periods. It subtracts each row from the
# target, refits on all these periods, and returns the residuals in a matrix of the same shape.

#' A residual function from a refit of one path
#' @param y (`numeric(T)`)\cr the target.
#' @param refit (`function(path, periods)`)\cr a function that fits `path` on `periods` and returns
#'   the residuals.
#' @return A residual function.
#' @noRd
conformal_engine <- function(y, refit) {
  force(refit)
  function(effects, periods) {
    out <- effects
    for (i in seq_len(nrow(effects))) {
      out[i, ] <- refit(y[periods] - effects[i, ], periods)
    }
    out
  }
}

#' The residual function of a fit on raw data, in one call if the estimator supports many fits
#' @param fit (`dp_synth`)\cr a fit with `epsilon = Inf`.
#' @noRd
conformal_engine_classical <- function(fit) {
  parts <- raw_parts(fit)
  raw <- parts$raw
  if (!treats_periods_alike(parts)) {
    abort(c(
      "Conformal inference needs an estimator that treats all periods in the same way.",
      x = if (parts$estimator == "sdid") {
        "Estimator {.val sdid} does not: it weights the periods before treatment."
      } else {
        paste(
          "Estimator {.val {parts$estimator}} does not: its predictors, or their importances,",
          "depend on the date of the treatment."
        )
      },
      i = "Use {.fn placebo_space}, {.fn leave_one_out} or {.fn placebo_time} instead."
    ), "argument")
  }
  residuals <- batch_of(parts$estimator, parts$settings, "residuals")
  if (is.null(residuals)) {
    return(conformal_engine(raw$target, function(path, periods) {
      donors <- raw$donors[, periods, drop = FALSE]
      settings <- settings_of_periods(parts$settings, periods)
      path - fit_checked(donors, path, length(periods), parts$estimator, settings)$counterfactual
    }))
  }
  function(effects, periods) {
    paths <- rep(raw$target[periods], each = nrow(effects)) - effects
    residuals(raw$donors[, periods, drop = FALSE], paths, parts$settings)
  }
}

#' Conformal p-value of a null effect path
#'
#' Residuals of the fit under the null hypothesis are permuted over time. The statistic is their
#' mean absolute value over the last `T1` periods (or the absolute value of their mean). With
#' `permutations = "block"` all `T0 + T1` rotations of the periods are used, including the identity.
#' With `"iid"` the last periods are replaced by `T1` periods drawn without replacement, `n_perm`
#' times, and p = (1 + number of statistics at least as large) / (1 + n_perm). So p is never 0.
#'
#' @param residual_fun (`function(effects, periods)`)\cr residuals under null effects, see the top
#'   of this file.
#' @param T0,T1 (`count`)\cr numbers of periods before and after the treatment.
#' @param permutations (`string`)\cr `"block"` (valid for dependent errors) or `"iid"`.
#' @param n_perm (`count`)\cr number of draws for `"iid"`, with R's generator.
#' @param effect (`numeric(1 or T1)`)\cr the null effect after the treatment.
#' @param statistic (`string`)\cr `"mean_abs"` or `"abs_mean"`.
#' @return A list: `p_value`, `statistic`, `n_sets` (number of permutations, including the
#'   identity).
#' @noRd
conformal_p <- function(residual_fun, T0, T1, permutations = "block", n_perm = 999, effect = 0,
                        statistic = "mean_abs") {
  if (!(is.numeric(effect) && length(effect) %in% c(1, T1) && all(is.finite(effect)))) {
    abort(
      "{.arg effect} must be one number, or one number per post-treatment period.", "argument"
    )
  }
  sets <- permutation_sets(T0, T1, permutations, n_perm)
  null <- matrix(c(rep(0, T0), rep_len(effect, T1)), 1L)
  values <- set_statistics(residual_fun(null, seq_len(T0 + T1)), sets, statistic)
  list(p_value = share_at_least(values), statistic = values[[1L]], n_sets = ncol(sets))
}

#' Conformal intervals by inverting the p-value
#'
#' For one period after the treatment the interval contains the effects that the test on this period
#' and the periods before the treatment does not reject. For the average it contains the constant
#' effects that the test on all periods, with the absolute mean residual as statistic, does not
#' reject. This is an interval for the average effect if the effect is constant, since the null
#' hypothesis must fix every period.
#'
#' With `m` permutations no p-value is below 1/m, so the interval is infinite if `1 - level` is
#' below 1/m. The set of effects that are not rejected may have gaps. Its hull is returned, with an
#' error of about 1e-4 of its distance from `centre`. The hull may exclude the estimate if the
#' estimator fits the periods before the treatment almost perfectly: the refit under the null
#' hypothesis then absorbs the effect.
#'
#' @inheritParams conformal_p
#' @param centre (`numeric(T1)`)\cr the estimated effects, where the search starts.
#' @param level (`number`)\cr confidence level.
#' @param average (`flag`)\cr whether to add the interval for the average effect.
#' @param parts (`logical(T1 + 1)`)\cr which parts to compute: the periods, then the average. Other
#'   parts have no row.
#' @return A data frame with one row per period after the treatment and, if requested, a last row
#'   for the average. Columns: `period` (position after the treatment, `NA` for the average),
#'   `estimate`, `conf.low`, `conf.high`.
#' @noRd
conformal_interval <- function(residual_fun, T0, centre, level = 0.95, permutations = "block",
                               n_perm = 999, average = TRUE,
                               parts = rep(c(TRUE, average), c(length(centre), 1L))) {
  T1 <- length(centre)
  pre <- seq_len(T0)
  start <- residual_fun(matrix(c(rep(0, T0), centre), 1L), seq_len(T0 + T1))
  unit <- max(mean(abs(start)), 1e-9 * abs(centre), 1e-300)
  invert <- function(from, periods, sets, statistic) {
    length <- length(periods) - T0
    invert_test(from, unit, ncol(sets), level, function(values) {
      null <- matrix(0, length(values), T0 + length)
      null[, T0 + seq_len(length)] <- values
      share_at_least(set_statistics(residual_fun(null, periods), sets, statistic))
    })
  }
  # Every effect is tested with the same permutations, since new permutations would add noise to the
  # limits.
  one <- permutation_sets(T0, 1, permutations, n_perm)
  ends <- lapply(which(parts[seq_len(T1)]), function(t) {
    invert(centre[[t]], c(pre, T0 + t), one, "mean_abs")
  })
  if (parts[[T1 + 1L]]) {
    all <- permutation_sets(T0, T1, permutations, n_perm)
    ends <- c(ends, list(invert(mean(centre), seq_len(T0 + T1), all, "abs_mean")))
  }
  ends <- matrix(as.double(unlist(ends)), ncol = 2L, byrow = TRUE)
  data.frame(
    period = c(seq_len(T1), NA)[parts], estimate = unname(c(centre, mean(centre)))[parts],
    conf.low = ends[, 1L], conf.high = ends[, 2L]
  )
}

#' Hull of the values whose p-value exceeds 1 - level
#' @param unit (`number`)\cr length of a small step.
#' @param sets (`count`)\cr number of permutations.
#' @param test (`function(values)`)\cr a function that returns p-values of null effects.
#' @return Two numbers, possibly infinite; `NA` if every value tried was rejected.
#' @noRd
invert_test <- function(centre, unit, sets, level, test) {
  # p-values and levels are multiples of small fractions, so the comparison needs a small tolerance.
  limit <- (1 - level) * (1 + 1e-9)
  if (1 / sets > limit) {
    return(c(-Inf, Inf))
  }
  offsets <- c(0, unit * 2^(-4:9))
  for (attempt in 1:2) {
    values <- c(centre - offsets, centre + offsets)
    p <- test(values)
    if (p[[1L]] > limit) {
      break
    }
    # If the test rejects the estimate itself, which can happen with refits, start at the value with
    # the largest p-value.
    centre <- values[[which.max(p)]]
  }
  if (!any(p > limit)) {
    return(c(NA_real_, NA_real_))
  }
  # Column 1 searches downwards and column 2 upwards. Each limit lies between two offsets.
  last <- apply(matrix(p > limit, ncol = 2L), 2L, function(ok) max(which(ok), 1L))
  inner <- offsets[last]
  outer <- c(offsets[-1L], Inf)[last]
  sign <- c(-1, 1)
  inside <- (0:8) / 9
  for (round in seq_len(if (any(is.finite(outer))) 4L else 0L)) {
    width <- ifelse(is.finite(outer), outer - inner, 0)
    steps <- cbind(inner[[1L]] + inside * width[[1L]], inner[[2L]] + inside * width[[2L]])
    ok <- matrix(test(centre + rep(sign, each = 9L) * as.vector(steps)) > limit, ncol = 2L)
    for (side in which(is.finite(outer))) {
      at <- max(which(ok[, side]), 1L)
      inner[[side]] <- steps[at, side]
      outer[[side]] <- inner[[side]] + width[[side]] / 9
    }
  }
  # The outer end of each bracket is the limit, so that rounding does not reduce coverage.
  centre + sign * outer
}

#' The periods that each permutation places after the treatment
#' @return A 0/1 matrix, periods x permutations; the first column is the identity.
#' @noRd
permutation_sets <- function(T0, T1, permutations, n_perm) {
  periods <- T0 + T1
  chosen <- if (permutations == "block") {
    (outer(T0 + seq_len(T1), seq_len(periods), "+") - 2L) %% periods + 1L
  } else {
    drawn <- vapply(seq_len(n_perm), function(i) sample.int(periods, T1), integer(T1))
    cbind(T0 + seq_len(T1), matrix(drawn, T1))
  }
  sets <- matrix(0, periods, ncol(chosen))
  sets[cbind(as.vector(chosen), rep(seq_len(ncol(chosen)), each = T1))] <- 1
  sets
}

#' Statistics of all permutations, one row per row of residuals
#' @noRd
set_statistics <- function(residuals, sets, statistic) {
  T1 <- sum(sets[, 1L])
  if (statistic == "mean_abs") abs(residuals) %*% sets / T1 else abs(residuals %*% sets) / T1
}

#' Share of permutations with a statistic of at least the first permutation's statistic, up to
#' rounding
#' @noRd
share_at_least <- function(values) {
  own <- values[, 1L]
  rowMeans(values >= own - 1e-9 * rowMeans(values))
}
