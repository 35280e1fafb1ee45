# Estimates from a release by method "gram", and their errors. All code here is post-processing.

#' Counterfactuals of targets from a gram release
#' @param release (`dp_release`)\cr a release by method gram.
#' @param target (`matrix`, k x (T + q), scaled units)\cr paths, with covariates after the
#'   pre-period; the post-periods are not used. PUBLIC.
#' @param size (`numeric(k)`)\cr number of people over whom each target is averaged.
#' @param estimator (`string`)\cr `"ridge"` or `"did"`.
#' @return For each target a list in scaled units: `path` (T), `penalty`, `spread` (from
#'   `interval_spread()`), and the T1 x T1 covariances `prediction`, `privacy` (noise before the
#'   path is shrunk), `released` (remaining noise over releases) and `hidden` (noise removed by
#'   shrinkage). RELEASED.
#' @noRd
estimate_gram <- function(release, target, size = rep(1, nrow(target)), estimator = "ridge") {
  s <- release$statistics
  n <- counted_donors(release)
  private <- release$privacy$private
  scale <- release_scale(release)
  # Evidence or cross-validation chooses the penalty, unless the user fixed it.
  lambda <- if (estimator == "ridge") release$settings$lambda
  # Without noise the penalty comes from cross-validation.
  penalty <- if (private) NaN else s$leave_one_out$penalty %||% raw_penalty(s, n)
  options <- gram_options(private, n, scale, estimator, lambda, penalty)
  own <- has_own_round(release, target, estimator)
  estimates <- gram_estimate_cpp(s, options, target, size, own)
  unseen <- unseen_variance(release, target)
  Map(function(e, unseen) {
    e$penalty <- 2 * n * e$penalty
    e$unseen <- unseen
    e$apart <- placebo_apart(s$intervals, e)
    # The prediction variance is for the mean of this number of people and includes the error of the
    # donors' regression.
    own <- group_variance(s$intervals, e)
    shift <- hidden_shift(release, e)
    e$own <- own
    e$prediction <- group_scale(e) * own * (1 / e$size + (1 + e$leverage) / n) + e$disagreement +
      shift^2
    e$spread <- interval_spread(release, e, estimator)
    e$spread$shift <- shift
    e$spread$apart <- e$apart
    q <- NROW(release$panel$covariates)
    if (q > 0L) e$path <- e$path[-(release$panel$T0 + seq_len(q))]
    e
  }, estimates, unseen)
}

#' The targets with a separate round for this estimator
#' @return Logicals.
#' @noRd
has_own_round <- function(release, target, estimator) {
  own <- release$statistics$target
  if (is.null(own) || estimator != "ridge" || !identical(own$lambda, release$settings$lambda)) {
    return(logical(nrow(target)))
  }
  pre <- target[, seq_along(own$pre), drop = FALSE]
  rowSums(abs(sweep(pre, 2L, own$pre)) > 1e-9) == 0
}

#' The variance of one person's error, for the mean of several people, which is at least the
#' released second moment of placebo errors plus one standard deviation
#' @noRd
group_variance <- function(intervals, e) {
  if (is.null(intervals) || e$size == 1) {
    return(e$prediction)
  }
  average <- mean(e$prediction)
  least <- least_variance(intervals) + (e$unseen %||% 0)
  if (average > 0) e$prediction * max(1, least / average) else e$prediction + least
}

#' The shift of a group's counterfactual by a few donors whose outcomes change far more than others'
#' @param e (`list`)\cr a target's estimate, with the variance of one person's error. RELEASED.
#' @noRd
hidden_shift <- function(release, e) {
  intervals <- release$statistics$intervals
  # Up to version 0.2.0 there was no range of the largest errors.
  if (e$size == 1 || is.null(intervals$calm)) {
    return(0)
  }
  radius <- release$statistics$target$radius %||% Inf
  hidden_shift_cpp(
    intervals$calm, intervals$clip, least_variance(intervals), mean(e$prediction),
    radius / sqrt(release$panel$T1)
  )
}

#' Variance of one person's error due to donors beyond a small range of errors, scaled units
#' @return One number per target, 0 for other releases and targets. RELEASED.
#' @noRd
unseen_variance <- function(release, target) {
  clip <- release$statistics$intervals$clip
  if (is.null(clip) || !release$privacy$private) {
    return(numeric(nrow(target)))
  }
  unseen_variance_cpp(
    clip, tail_signal(release), counted_donors(release), target, release_scale(release)$half,
    release$panel$T0
  )
}

#' The share of donors who may lie beyond the range of errors without any loss in the draw of the
#' range
#' @noRd
unseen_share <- function(release) {
  unseen_share_cpp(tail_signal(release), counted_donors(release))
}

#' Upper limit of a released second moment of placebo errors, given its noise
#' @noRd
least_variance <- function(intervals) {
  # The second moments are pooled over adoption dates.
  second <- intervals$pooled %||% intervals[c("second", "second_sd")]
  max(second$second, 0) + second$second_sd
}

#' Excess of donors' placebo errors over the released moments' prediction
#' @noRd
placebo_lift <- function(intervals, e) {
  average <- mean(e$prediction)
  if (average > 0) max(1, least_variance(intervals) / average) else 1
}

#' Distance of a target from the donors, if donors' errors calibrate the moments
#'
#' The distance is the target's mean squared distance, relative to a random mean of equally many
#' people. If many identical people dominate the moments, all other people seem far, and placebo
#' errors then also exceed the model's errors.
#' @noRd
placebo_apart <- function(intervals, e) {
  if (!is.null(intervals)) (e$apart %||% 0) / placebo_lift(intervals, e)
}

# Multiple of the mean squared distance of random targets from the donors beyond which a target
# counts as far. Hardly any random target exceeds this limit, but nearly all groups of 30 people who
# resemble only one donor in ten exceed it (bench/selected.R).
most_apart <- 7

#' Variance ratio of a group's people to the donors, implied by the distance of the group's mean
#'
#' The ratio has weight one fifth, as for the scale of a single donor, and is at least one. Beyond
#' the ratio for random groups it has full weight.
#' @noRd
group_scale <- function(e) {
  if (e$size == 1) {
    return(1)
  }
  apart <- e$apart %||% 0
  max(1, (4 + apart) / 5) + 0.8 * max(0, apart - most_apart)
}

#' Factors from covariances to intervals, by the donors' placebo errors
#'
#' A standard error is `factor * sqrt(floor * variance)`. `floor` raises the variance of one person
#' to the second moment of placebo errors. The factors contain the scale of the row, and the tails
#' of the placebo errors of the average, of single periods, and of the largest period.
#' @return A list: `floor`, `unseen` (from `unseen_variance()`; part of the floor), and the factors
#'   of `interval_factors()`; or `reason`, the reason for a missing interval.
#' @noRd
interval_spread <- function(release, e, estimator) {
  if (!is.null(release$statistics$reason)) {
    return(list(reason = release$statistics$reason))
  }
  if (!release$privacy$private) {
    if (estimator == "did" && !is.null(release$panel$covariates)) {
      return(list(reason = "difference-in-differences does not use covariates"))
    }
    # The donors' leave-one-out errors suffice (see raw_intervals()).
    return(list(raw = !is.null(release$statistics$leave_one_out)))
  }
  intervals <- release$statistics$intervals
  reason <- no_interval_reason(release, intervals, e$size, estimator) %||% unseen_reason(e)
  if (!is.null(reason)) {
    return(list(reason = reason))
  }
  factors <- interval_factors(intervals, e$size, release$panel$T1)
  unseen <- e$unseen %||% 0
  if (e$size > 1) {
    return(c(list(floor = 1, unseen = unseen), factors))
  }
  # The second moment counts as at least half of the standard deviation of its noise.
  floor <- max(1, (max(intervals$second, intervals$second_sd / 2) + unseen) /
    mean(e$prediction + e$privacy))
  c(list(floor = floor, unseen = unseen), lapply(factors, `*`, e$scale))
}

#' Factors of the average, of a period and of all periods jointly, without the scale of the row
#'
#' With one treated period these are three draws of the tail of one number. Their median is less
#' noisy than each draw, and one factor gives one interval (proofs/gram.md, section 4).
#' @param T1 (`count`)\cr number of treated periods.
#' @return A list: `average`, `period`, `band`, and with one period `joint`, the factor for joint
#'   intervals with periods of other cohorts or with later periods.
#' @noRd
interval_factors <- function(intervals, size, T1) {
  lift <- function(factor, rest) {
    if (size == 1) return(factor)
    # The tails of a mean of people become lighter with the number of people. The tails of a single
    # period, and of the largest of several periods, become lighter more slowly than the tails of
    # the average.
    fade <- if (size >= group_size) 0 else 1 / sqrt(size)
    1 + max(0, factor - 1) * fade + rest / size
  }
  band <- lift(intervals$band, 4)
  if (T1 == 1) {
    drawn <- stats::median(c(intervals$average, intervals$period, intervals$band))
    one <- lift(drawn, if (size >= group_size) 3 else 1)
    return(list(average = one, period = one, band = one, joint = max(one, band)))
  }
  list(
    average = lift(intervals$average, 1),
    period = period_factor(lift(intervals$period, 3), band, T1), band = band
  )
}

#' A joint band that also covers each period
#' @param T1 (`count`)\cr the number of periods for which the factors were computed.
#' @noRd
period_factor <- function(period, band, T1) {
  min(period, band * interval_quantile(0.95, T1) / interval_quantile(0.95))
}

# A mean of people varies less over time than one person. A mean that varies this many times as much
# as the released donors is unlike them, or most donors are so similar (no cost or event in any
# period) that the release describes only these donors.
most_variation <- 10

#' Reason why the released moments do not describe people like the target's people, or `NULL`
#' @param e (`list`)\cr a target's estimate, see [estimate_gram()]. RELEASED.
#' @noRd
unseen_reason <- function(e) {
  if (e$size >= group_size && isTRUE(e$variation > most_variation)) unseen_words
}

unseen_words <- paste(
  "before the treatment the target varies far more than the released donors: most",
  "donors are identical and the noise hides the others, or the target is unlike all donors"
)

#' Exponent of the mechanism that chooses the range of placebo errors
#' @noRd
tail_signal <- function(release) {
  steps <- release$privacy$steps
  # A union of groups contains one value per group.
  min(1 / steps$scale[steps$step == "range of placebo errors"])
}

#' Reason for a release without calibration, which was not requested or not possible
#' @noRd
uncalibrated_reason <- function(release, size) {
  facts <- c(release$panel[c("T0", "T1")], delta = release$privacy$delta)
  could <- function(size) {
    plan <- gram_plan_of(release$panel$n, release$privacy$epsilon, c(facts, size = size))
    isTRUE(plan$calibrated)
  }
  if (could(group_size)) {
    return("the release was made without intervals, by dp_control(intervals = FALSE)")
  }
  if (size < group_size && could(1)) {
    return(paste(
      "the release is for the mean of so many people that its donors cannot calibrate an",
      "interval, or it was made with dp_control(intervals = FALSE)"
    ))
  }
  paste0(
    count_of(release$panel$n, "donor"), " at epsilon = ", format(release$privacy$epsilon),
    " cannot calibrate an interval"
  )
}

#' Reason for a release's missing interval, or `NULL`
#' @noRd
no_interval_reason <- function(release, intervals, size, estimator) {
  if (is.null(intervals)) {
    if (!is.null(release$statistics$rounds[[1L]]$radii)) {
      return("the release was made by version 0.1.0, which had no calibration")
    }
    return(uncalibrated_reason(release, size))
  }
  if (!identical(intervals$estimator, estimator) ||
        (estimator == "ridge" && !identical(intervals$lambda, release$settings$lambda))) {
    return(paste(
      "the release's intervals are for another",
      if (identical(intervals$estimator, estimator)) "penalty" else "estimator"
    ))
  }
  if (size < group_size && isTRUE(intervals$group)) {
    return(paste(
      "the release's interval is for the mean of", group_size, "people or more"
    ))
  }
  if (size >= group_size && !isTRUE(intervals$group) &&
        counted_donors(release) * tail_signal(release) < 40) {
    return(paste(
      "the release's intervals are for single people, and its donors are too few for the mean",
      "of many people; such an interval needs a release with `size`"
    ))
  }
  NULL
}
