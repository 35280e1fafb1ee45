# Intervals without privacy, from the error of predicting each donor from all other donors.
#
# With donors as samples and a fixed penalty, leaving out a donor has a closed form. So has the set
# of outcomes that a conformal test accepts for the target: this interval covers for any
# distribution of the errors, if the target is exchangeable with the donors. NOT PRIVATE.

# The largest number of donors whose rows a release stores. For more donors it stores counts of
# errors.
leave_one_out_rows <- 2000

# Weight of the common scale in the scale of a row: kappa^2 = (4 + v / v_bar) / 5, where v is the
# row's variation before the treatment. Such intervals are narrower if some people vary more than
# others (bench/few-donors.R).
row_softness <- 4

# The relative accuracy that the variance of the errors of a group's mean must reach.
variance_known <- 0.6

#' Statistics of the donors for intervals without privacy
#'
#' @param donors (`matrix` or `dp_chunks`, n x T, outcome units).
#' @param public (`list`)\cr from `public_facts()`: `n`, `T0`, `T1`, `bounds`, `control$lambda`.
#' @param statistics (`list`)\cr `mean` (T) and `covariance` (T x T, over n) of the scaled rows.
#' @return A list: `n`, `T0`, and `penalty` (per donor, from cross-validation or from the setting
#'   `lambda`). For up to `leave_one_out_rows` donors also `rows` (n x T, scaled); for more donors
#'   `moments` and `counts`, the distribution of leave-one-out errors for `ridge` and `did`. NOT
#'   PRIVATE.
#' @noRd
raw_calibration <- function(donors, public, statistics = raw_statistics(donors, public)) {
  n <- public$n
  lambda <- public$control$lambda
  penalty <- if (is.null(lambda)) raw_penalty(statistics, n) else lambda / (2 * n)
  out <- list(n = n, T0 = public$T0, penalty = penalty)
  if (n <= leave_one_out_rows) {
    return(c(out, list(rows = all_rows(donors, public$bounds))))
  }
  moments <- list(mean = statistics$mean, covariance = statistics$covariance, n = n)
  counts <- function(penalty) {
    sum_over_donors(donors, function(block) {
      deleted_counts_cpp(scaled_rows(block, public$bounds), moments, public$T0, penalty,
        row_softness)
    })
  }
  c(out, list(moments = moments, counts = list(ridge = counts(penalty), did = counts(Inf))))
}

#' Mean and covariance of the rows without noise, by single periods, scaled units. NOT PRIVATE.
#' @noRd
raw_statistics <- function(donors, public) {
  if (is.null(public$weights)) {
    return(raw_statistics_cpp(donors, public$n, public$T0, public$T1, public$bounds))
  }
  raw_weighted_cpp(donors, public$n, public$T0, public$T1, public$bounds, public$weights)
}

scaled_rows <- function(block, bounds) {
  rows <- clip_to_scale(block, bounds, clip = FALSE)
  storage.mode(rows) <- "double"
  rows
}

all_rows <- function(donors, bounds) {
  if (source_gives(donors) == "rows") {
    return(scaled_rows(donors, bounds))
  }
  do.call(rbind, lapply(seq_len(donors$count), function(i) {
    scaled_rows(read_block(donors, i), bounds)
  }))
}

#' Intervals of the effects of a fit without privacy
#'
#' For one person (`size = 1`) the intervals are conformal: among `n + 1` exchangeable rows, the
#' target's error belongs to the smallest share `level` of errors with probability at least `level`.
#' This probability is exact for the average and for each period if the penalty does not depend on
#' the donors, and nearly exact otherwise. The band over all periods uses the largest period in
#' units of the donors' errors, and is conservative. Errors are divided by the scale of their row.
#' For the mean of `size` people, the variance of errors is divided by `size` and taken one standard
#' deviation above its estimate. The variance of the regression is added. Quantiles are normal, and
#' are widened by the part of single people's tails that can remain in a mean.
#'
#' @param release (`dp_release`)\cr not private, with `statistics$leave_one_out` by
#'   [raw_calibration()].
#' @param y (`numeric(T)`)\cr the target's outcomes, scaled units.
#' @param size (`count`)\cr the number of people over whom the target is averaged.
#' @param level (`number`, in (0, 1))\cr coverage.
#' @param simultaneous (`flag`)\cr whether the intervals cover all periods together.
#' @param estimator (`string`)\cr `"ridge"` or `"did"`.
#' @return A data frame in scaled units, with one row for the average and one row per period:
#'   `term`, `estimate` (effect), `conf.low` and `conf.high` (`NA` for a period without an
#'   interval), `std.error` (root mean squared leave-one-out error, at the scale of the target's row
#'   or its size). Or a string, the reason for the missing interval. NOT PRIVATE.
#' @references Vovk, V., Gammerman, A. and Shafer, G. (2005). Algorithmic Learning in a Random
#'   World, section 2.3. Barber, R., Candes, E., Ramdas, A. and Tibshirani, R. (2021). Predictive
#'   inference with the jackknife+. Annals of Statistics 49.
#' @noRd
raw_intervals <- function(release, y, size = 1, level = 0.95, simultaneous = FALSE,
                          estimator = "ridge") {
  account <- raw_account(release, y, estimator)
  reach <- if (size > 1) group_reach(account, size, level) else person_reach(account, level)
  if (is.character(reach)) {
    return(reach)
  }
  if (simultaneous) {
    reach$low[-1L] <- -reach$band
    reach$high[-1L] <- reach$band
  }
  # The counterfactual lies between predicted + low and predicted + high.
  data.frame(
    term = account$term, estimate = account$gap, conf.low = account$gap - reach$high,
    conf.high = account$gap - reach$low, std.error = raw_errors(account, size)
  )
}

#' p-values of no effect, on average and in each period, without privacy
#'
#' For one person p is the share of the `n + 1` rows, including the target, with a leave-one-out
#' error of at least the target's error. Under the null hypothesis each row is predicted from all
#' other rows. p is exact for exchangeable rows and a given penalty, and at least `1 / (n + 1)`. The
#' interval at a level contains 0 exactly if p exceeds one minus this level. For a group, p is one
#' minus the level at which the interval just reaches 0.
#' @inheritParams raw_intervals
#' @return A vector of p-values, of the average and then of the periods. NOT PRIVATE.
#' @noRd
raw_p_value <- function(release, y, size = 1, estimator = "ridge") {
  account <- raw_account(release, y, estimator)
  gap <- account$gap
  if (size > 1) {
    reach <- group_reach(account, size, 0.95)
    if (is.character(reach)) {
      return(rep(NA_real_, length(gap)))
    }
    return(normal_p(stats::qnorm(0.975) * gap / reach$high))
  }
  at_least <- vapply(seq_along(gap), function(j) {
    if (!is.null(account$limits)) {
      sum(account$limits$low[, j] <= gap[[j]] & gap[[j]] <= account$limits$high[, j])
    } else {
      sum(account$counts[account$ends >= abs(gap[[j]]) / account$unit[[j]], j])
    }
  }, 0)
  (1 + at_least) / (account$n + 1)
}

#' The donors' errors and the target's effects
#' @return A list: `n`, `term`, `gap` (effects: the average, then the periods), `leverage`, `scale`
#'   (of the target's row), `spread` (root mean squared errors divided by row scales), `squares`
#'   (mean squared errors), `doubt` (relative standard deviation of `squares`), and either `limits`
#'   from C++ or `counts`, `ends` and `unit`.
#' @noRd
raw_account <- function(release, y, estimator) {
  store <- release$statistics$leave_one_out
  pre <- seq_len(store$T0)
  lambda <- release$settings$lambda
  penalty <- if (estimator == "did") {
    Inf
  } else if (is.null(lambda)) {
    store$penalty
  } else {
    lambda / (2 * store$n)
  }
  own <- as.double(y[pre])
  if (!is.null(store$rows)) {
    limits <- deleted_limits_cpp(store$rows, own, penalty, row_softness)
    target <- limits$target
    errors <- deleted_errors_cpp(store$rows, store$T0, penalty)$error^2
    second <- colMeans(errors)
    fourth <- colMeans(errors^2)
    parts <- list(limits = limits, spread = limits$spread, squares = second)
  } else {
    counts <- store$counts[[estimator]]
    target <- deleted_target_cpp(store$moments, own, penalty, row_softness)
    powers <- counts$powers / store$n
    second <- powers[2L, ]
    fourth <- powers[3L, ]
    parts <- list(
      counts = counts$counts, ends = deleted_count_ends_cpp(),
      unit = target$row_scale * target$spread, spread = target$spread * sqrt(powers[1L, ]),
      squares = target$spread^2 * second
    )
  }
  post <- as.double(y[-pre])
  doubt <- sqrt(pmax(fourth - second^2, 0) / store$n) / second
  doubt[!is.finite(doubt)] <- Inf
  c(parts, list(
    n = store$n,
    term = c("average", period_text(utils::tail(release$panel$times, length(post)))),
    gap = c(mean(post), post) - target$predicted, leverage = target$leverage,
    scale = target$row_scale, doubt = doubt
  ))
}

#' Standard errors: root mean squared leave-one-out errors
#' @noRd
raw_errors <- function(account, size) {
  if (size > 1) {
    return(sqrt(account$squares * (1 / size + account$leverage)))
  }
  account$scale * account$spread
}

#' Rank of the donor with the decisive error at a level; more than `n` if there is no such donor
#' @noRd
deciding_rank <- function(n, level) {
  ceiling(level * (n + 1) - 1e-9)
}

#' Limits on the distance of one person's outcomes from their prediction
#' @return A list: `low`, `high` (average, periods), `band` (periods); or a string.
#' @noRd
person_reach <- function(account, level) {
  n <- account$n
  rank <- deciding_rank(n, level)
  if (rank > n) {
    return(paste0(
      "With ", n, " donors there is no ", format_percent(level), " interval: the highest level ",
      "possible is ", format_percent(n / (n + 1)), ", and ", format_percent(level), " needs ",
      ceiling(level / (1 - level) - 1e-9), " donors."
    ))
  }
  reach <- ranked_reach(account, rank)
  if (!is.finite(reach$high[[1L]] - reach$low[[1L]])) {
    return(paste(
      "The target is so unlike the donors that it would determine its own prediction, so there is",
      "no", format_percent(level), "interval."
    ))
  }
  reach
}

ranked_reach <- function(account, rank) {
  if (!is.null(account$limits)) {
    limits <- account$limits
    ranked <- function(x) sort(x)[[rank]]
    return(list(
      low = -apply(-limits$low, 2L, ranked), high = apply(limits$high, 2L, ranked),
      band = ranked(limits$band) * limits$spread[-1L]
    ))
  }
  last <- ncol(account$counts)
  at <- apply(account$counts, 2L, function(x) account$ends[[which(cumsum(x) >= rank)[[1L]]]])
  high <- at[-last] * account$unit
  list(low = -high, high = high, band = at[[last]] * account$unit[-1L])
}

#' Limits on the distance of a group's mean from its prediction
#' @inherit person_reach return
#' @noRd
group_reach <- function(account, size, level) {
  if (!(account$doubt[[1L]] <= variance_known)) {
    return(paste(
      "The variance of the donors' errors cannot be estimated, because the errors are too few or",
      "too uneven.",
      "There is no interval for the mean of a group."
    ))
  }
  variance <- account$squares * (1 + account$doubt) * (1 / size + account$leverage)
  periods <- length(variance) - 1L
  # The tails of a mean retain a part of the tails of single people.
  single <- ranked_reach(account, min(deciding_rank(account$n, 0.95), account$n))
  widest <- pmax(single$high, -single$low) / (account$scale * account$spread)
  tail <- function(widest, statements) {
    ratio <- ifelse(is.finite(widest), widest, 0) / interval_quantile(0.95, statements)
    1 + pmax(0, ratio - 1) / sqrt(size)
  }
  high <- interval_quantile(level) * sqrt(variance) * tail(widest, 1)
  band <- single$band / (account$scale * account$spread[-1L])
  band <- interval_quantile(level, periods) * sqrt(variance[-1L]) * tail(band, periods)
  unknown <- !(account$doubt <= variance_known)
  high[unknown] <- NA_real_
  band[unknown[-1L]] <- NA_real_
  list(low = -high, high = high, band = band)
}

format_percent <- function(x) {
  paste0(format(floor(1000 * x + 1e-6) / 10), " %")
}

#' The penalty of a raw release by cross-validation
#' @noRd
raw_penalty <- function(s, n) {
  A <- seq_len(s$pre)
  if (all(diag(s$covariance)[A] == 0)) {
    # All pre-treatment paths are flat, so there are no regressors and the penalty is irrelevant.
    return(1)
  }
  found <- validated_penalties(s, n)
  found$penalty[[found$best]]
}

#' Candidate penalties without noise, and a choice by cross-validation over donors
#' @noRd
validated_penalties <- function(s, n) {
  validate_penalties_cpp(s$restore %*% s$covariance %*% t(s$restore), s$pre, n)
}
