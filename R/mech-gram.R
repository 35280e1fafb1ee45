# Method "gram": joint releases of the mean and second moments of the donors' features, and of the
# donors' placebo errors for intervals. Only C++ code reads a donor's row
# (inst/include/dpsc/release/gram_release.hpp), and it returns only values with noise.

#' Budget and steps of a gram release
#' @param public (`list`)\cr from `public_facts()`.
#' @return A list: `cost`, `steps` (a data frame), `calibrated` (whether the intervals are
#'   calibrated), `noise` (the noise on a mean square of features, divided by its largest value),
#'   `settings`, `features` (the number of pre-period features, and whether features are relative to
#'   the level of a row). PUBLIC.
#' @noRd
plan_gram <- function(public) {
  settings <- list(
    lambda = public$control$lambda, estimator = public$estimator %||% "ridge"
  )
  if (!public$private) {
    return(list(cost = NULL, steps = NULL, settings = settings, calibrated = FALSE))
  }
  facts <- gram_facts(public)
  plan <- planned(gram_plan_cpp(facts), "this panel")
  list(
    cost = new_cost("gdp", public$epsilon, mu = plan$total, pure = public$delta == 0),
    steps = plan$steps, calibrated = plan$calibrated, noise = plan$moment_noise,
    settings = settings, features = plan[c("pre", "demean")]
  )
}

#' The public facts in the core's terms
#' @noRd
gram_facts <- function(public) {
  control <- public$control
  ridge <- (public$estimator %||% "ridge") == "ridge"
  # A round for the target needs one public target. A protected group's path is not public, cohorts
  # have several targets, and the facts do not contain a target's covariates.
  plain <- ridge && is.null(public$dates) && is.null(public$treated) && is.null(public$covariates)
  further <- !isFALSE(control$target_round)
  facts <- list(
    n = public$n, T0 = public$T0, T1 = public$T1, epsilon = public$epsilon, delta = public$delta,
    y = public$y, features = control$features %||% NaN, intervals = control$intervals %||% TRUE,
    group = (public$size %||% 1) >= group_size, covariates = NROW(public$covariates),
    # Whether the core may plan a round for the target.
    targeted = plain && further,
    # Whether the core may plan a third round of moments. With protect = "everyone" this round
    # reduces the error (bench/protect.R), because the error that remains after the group's round
    # depends on the donors' regression. For several dates alone it does not; with covariates its
    # effect was not measured.
    thrice = ridge && !is.null(public$treated) && further,
    # Whether a row's level is one of the features, in addition to the features relative to the
    # level. If the user fixes the penalty, the level is not a feature, since that penalty is for a
    # fit without noise, which shrinks to zero.
    level = plain && is.null(control$lambda)
  )
  facts$weights <- public$weights
  facts
}

#' The estimator in the core's terms
#' @param scale (`dpsc_bounds`).
#' @noRd
gram_options <- function(private, n, scale, estimator = "ridge", lambda = NULL, penalty = NaN) {
  list(
    estimator = estimator, private = private, half = scale$half, n = n,
    # The paper adds the penalty with lambda / 2 to a sum over donors; the core divides this sum by
    # n.
    penalty = if (is.null(lambda)) penalty else lambda / (2 * n)
  )
}

#' Release by method gram
#' @param plan (`list`)\cr from [plan_gram()].
#' @param donors (`matrix` or `dp_chunks`, n x T, outcome units, PRIVATE).
#' @return A list in scaled units: the public `loadings`, `pre`, `weight`, `demean`; `mean` (d) of
#'   the features; `restore` (d x d), the map from whitened features to features; `covariance` (d x
#'   d) of the whitened features; `mean_sd`, `moment_sd`, the noise in whitened units; `rounds`, the
#'   input of [pdp()] and [pdp_bound()]; `intervals`, moments of the donors' placebo errors (absent
#'   if the budget is too small); `target`, the pre-period of the target and the result of a
#'   separate round for it (absent if such a round does not reduce the error). RELEASED.
#' @noRd
run_gram <- function(plan, donors, public) {
  q <- NROW(public$covariates)
  scale <- public$bounds
  if (q > 0L) scale <- insert_scale(scale, q, public$T0)
  if (!public$private) {
    # Covariates count as periods before the treatment.
    public$T0 <- public$T0 + q
    public$bounds[names(scale)] <- scale
    statistics <- raw_statistics(donors, public)
    if (is.null(public$weights)) {
      statistics$leave_one_out <- raw_calibration(donors, public, statistics)
    } else {
      statistics$reason <- weights_reason
    }
    if (q > 0L) statistics$covariates <- q
    return(statistics)
  }
  statistics <- gram_release_cpp(
    donors, gram_facts(public), scale, release_options(plan, public), public$control$rng
  )
  with_estimator(statistics, plan, public)
}

#' Message on the people with calibrated intervals, and on the target with a corrected prediction
#' @noRd
with_estimator <- function(statistics, plan, public = NULL) {
  if (!is.null(statistics$intervals)) {
    statistics$intervals$estimator <- plan$settings$estimator
    statistics$intervals["lambda"] <- list(plan$settings$lambda)
  }
  if (!is.null(statistics$target)) {
    statistics$target$pre <- public$y
    statistics$target["lambda"] <- list(plan$settings$lambda)
  }
  statistics
}

#' The estimator with calibrated placebo errors in a release
#' @noRd
release_options <- function(plan, public) {
  gram_options(TRUE, public$n, public$bounds, plan$settings$estimator, plan$settings$lambda)
}

#' All released values, as one vector
#' @noRd
gram_numbers <- function(statistics) {
  s <- statistics
  covariance <- s$restore %*% s$covariance %*% t(s$restore)
  groups <- c(if (!is.null(s$treated)) list(s$treated), s$cohorts$treated)
  of_groups <- lapply(groups, function(group) c(group$mean, group$second, group$control$mean))
  c(s$mean, covariance[upper.tri(covariance, diag = TRUE)], unlist(of_groups))
}

#' Fault of the statistics of a gram release, or `NULL`
#' @noRd
gram_problem <- function(release) {
  s <- release$statistics
  T1 <- release$panel$T1
  d <- length(s$mean)
  q <- NROW(release$panel$covariates)
  lambda <- release$settings$lambda
  fits <- is.numeric(s$mean) && all(is.finite(s$mean)) && is_number(s$pre) && s$pre >= 1 &&
    s$pre == d - T1 && is_array_of(s$loadings, c(release$panel$T0 + q + T1, d)) &&
    identical(as.double(s$covariates %||% 0), as.double(q)) && covariates_fit(release$panel) &&
    is_array_of(s$covariance, c(d, d)) && is_array_of(s$restore, c(d, d)) &&
    is_flag(s$demean) && is_amount(s$weight) && is_amount(s$mean_sd, TRUE) &&
    is_amount(s$moment_sd, TRUE) &&
    (is.null(lambda) || is_amount(lambda)) && rounds_fit(s$rounds, dim(s$loadings)) &&
    intervals_fit(s$intervals) && leave_one_out_fit(s$leave_one_out, release$panel) &&
    target_fits(s$target, release$panel) && weights_fit(release)
  if (!fits) "The statistics do not match the sizes of the panel."
}

covariates_fit <- function(panel) {
  x <- panel$covariates
  is.null(x) || (is.data.frame(x) && identical(names(x), c("name", "lower", "upper")) &&
    is.character(x$name) && is.numeric(x$lower) && is.numeric(x$upper) && all(x$lower < x$upper))
}

intervals_fit <- function(x) {
  amounts <- c("clip", "second_sd", "average", "period", "band", "tail")
  is.null(x) || (is.list(x) && is_number(x$second) && is.finite(x$second) &&
    all(vapply(x[amounts], is_amount, NA)) &&
    (is.null(x$calm) || (is_amount(x$calm) && x$calm <= x$clip)))
}

target_fits <- function(x, panel) {
  is.null(x) || (is.list(x) && is_vector_of(x$pre, panel$T0) &&
    is_vector_of(x$mean, panel$T1) &&
    is_amount(x$sd) && is_amount(x$radius) && (is.null(x$lambda) || is_amount(x$lambda)))
}

leave_one_out_fit <- function(x, panel) {
  before <- panel$T0 + NROW(panel$covariates)
  periods <- before + panel$T1
  is.null(x) || (is.list(x) && isTRUE(x$n == panel$n) && isTRUE(x$T0 == before) &&
    is_number(x$penalty) && x$penalty > 0 &&
    if (is.null(x$rows)) {
      is.list(x$moments) && length(x$moments$mean) == periods && is.list(x$counts) &&
        is_array_of(x$moments$covariance, c(periods, periods)) && is.numeric(x$moments$mean) &&
        all(vapply(x$counts[c("ridge", "did")], function(one) {
          is.list(one) && is.matrix(one$counts) && is.numeric(one$counts) &&
            is_array_of(one$powers, c(3, 3))
        }, NA))
    } else {
      is_array_of(x$rows, c(panel$n, periods))
    })
}

#' Do the rounds of a release, if there are rounds, match its sizes?
#' @param size (`integer(2)`)\cr periods and features.
#' @noRd
rounds_fit <- function(rounds, size) {
  numbers <- c("radius", "clipped", "constant", "noise")
  fits <- function(round) {
    is.list(round) && is.numeric(round$loadings) && identical(dim(round$loadings), size) &&
      is.numeric(round$origin) && length(round$origin) == size[[2L]] &&
      all(is.finite(c(round$loadings, round$origin))) &&
      (is.null(round$radii) || is.numeric(round$radii)) &&
      is_number(round$exponent) && round$exponent >= 0 &&
      all(vapply(round[numbers], is_amount, NA))
  }
  is.null(rounds) || (is.list(rounds) && length(rounds) %in% 2:3 && all(vapply(rounds, fits, NA)))
}

#' The core's plan for an ordinary target, or `NULL` if the budget is too small
#' @noRd
gram_plan_of <- function(n, epsilon, facts) {
  y <- cos(pi * (seq_len(facts$T0) - 0.5) / facts$T0) / 10
  tryCatch(
    gram_plan_cpp(list(
      n = n, T0 = facts$T0, T1 = facts$T1, epsilon = epsilon, delta = facts$delta, y = y,
      features = NaN, intervals = TRUE, group = facts$size >= group_size, targeted = TRUE
    )),
    `dpsc::budget_too_small` = function(e) NULL
  )
}

# For a mean of at least this number of people, the tails of single people do not matter.
group_size <- 20

#' Divisor of sums: the number of donors with the largest weight that has the same total weight.
#' RELEASED.
#' @noRd
counted_donors <- function(release) release$panel$n * (release$statistics$share %||% 1)

#' Do the weights of a release agree with its panel?
#' @noRd
weights_fit <- function(release) {
  limits <- release$panel$weights
  share <- release$statistics$share
  if (is.null(limits)) {
    return(is.null(share))
  }
  is.numeric(limits) && length(limits) == 2L && all(is.finite(limits)) && limits[[1L]] >= 0 &&
    limits[[1L]] <= limits[[2L]] && limits[[2L]] > 0 && is_number(share) && share > 0 && share <= 1
}

# The reason why a fit without privacy and with weights has no intervals.
weights_reason <- paste(
  "without privacy there is no interval if donors have weights: leave-one-out errors",
  "require donors with equal weights"
)
