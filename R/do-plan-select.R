# The expected accuracy of a selection or a stream, before any data are read.

#' Plan a selection or a stream before touching any data
#'
#' Predicts the accuracy of [dp_select()] with `n` people, or of [dp_online()] over `horizon` steps,
#' from the noise that these functions would add at a given budget. No data are used.
#'
#' @inheritParams dp_select
#' @param formula (`formula`)\cr `outcome ~ candidates`, or the formula of [dp_online()].
#' @param n (`count`)\cr number of people.
#' @param signal (`number` or `NULL`)\cr covariance of a candidate with the outcome, given the other
#'   selected variables, in scaled units. In these units the bounds of a variable are -1 and 1. If a
#'   variable is `located` (see below), the values -1 and 1 are 1.2 robust standard deviations from
#'   its median (3 for `"gram"`). With a `signal` the plan gives the number of people needed.
#' @param horizon (`count`, at least 2)\cr number of steps of the stream.
#' @param family,radius,ball,psi see [dp_online()].
#' @param width (`number`)\cr a public guess of half the width of a variable's bounds, in standard
#'   deviations of the variable.
#' @param r.squared (`number`, in (0, 1))\cr a public guess of the share of the outcome's variance
#'   that the regressors explain (for logistic models, the variance of a latent outcome).
#' @return `dp_plan_select()`: a data frame with one row for each of the methods `"ranks"`,
#'   `"pursuit"`, `"screening"` and, for at most 400 candidates, `"gram"`. PUBLIC:
#'   * `hurdle`: the covariance at which a variable is found about two times in three. In the
#'     simulations of `bench/selection.R` variables were found nearly always at 1.5 times this
#'     covariance, and seldom at half of it.
#'   * `needs`: the number of people for whom `signal` is 1.5 times the hurdle, or `NA` without a
#'     `signal`.
#'   * `located`: whether medians and scales are found privately, so that the scaled unit is 1.2
#'     robust standard deviations (3 for `"gram"`). For `"ranks"`, which needs no located
#'     candidates, the value is always `TRUE`, and the unit is always 1.2 standard deviations.
#'   * `recommended`: whether this method is recommended.
#'
#'   `dp_plan_online()`: a data frame with one row. PUBLIC:
#'   * `method`: the default method.
#'   * `noise`: the default form of noise, as in [dp_online()].
#'   * `useful_from`: the first step at which the noise of the coefficients by method `"ftal"` is
#'     not larger than `ball`.
#'   * `regret`: the regret of the default method at the horizon for people with the given `width`
#'     and `r.squared`, divided by the regret of predicting the middle of the outcome's bounds. A
#'     value of 1 is useless. The value is accurate within a factor of 2 (`bench/online.R`).
#' @section Errors: `dpsc_error_argument`, `dpsc_error_bounds`.
#' @examples
#' bounds <- c(list(y = c(-1, 1)), stats::setNames(rep(list(c(-1, 1)), 50), paste0("V", 1:50)))
#' dp_plan_select(y ~ ., bounds, n = 4000, size = 3, epsilon = 1, signal = 0.05)
#' dp_plan_online(y ~ V1 + V2 + V3, bounds, horizon = 5000, epsilon = 1)
#' @export
dp_plan_select <- function(formula, bounds, n, size, epsilon, delta = 1e-6, signal = NULL,
                           refit = TRUE, share = 0.8, radius = NULL,
                           ...) door("dp_plan_select", {
  check_no_dots(...)
  check_every_bound(formula, if (!missing(bounds)) bounds)
  check_given(missing(n), "n", "the number of people")
  check_given(missing(size), "size", "the largest number of variables to select")
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept")
  columns <- new_columns(formula, bounds, "gaussian")
  facts <- list(
    n = check_count(n, 2), p = length(columns$names) - columns$intercept,
    intercept = columns$intercept,
    share = check_number(share, 0, 1, open = c("min", "max")),
    refit = check_flag(refit), numbers = sum(number_places(columns)),
    indicators = count_indicators(columns)
  )
  facts$size <- check_count(size, 1, facts$p)
  signal <- if (!is.null(signal)) check_number(signal, 0, open = "min")
  epsilon <- check_number(epsilon, 0, open = "min")
  budget <- stream_budget(epsilon, delta, NULL, dp_control())
  if (budget$rho == 0) abort("{.fn dp_select} needs {.arg delta} above 0.", "argument")
  radius <- radius %||% usual_length(columns)
  methods <- c("ranks", "pursuit", "screening", "gram")
  # In standard deviations of the variables, a row is shorter than in units of the bounds.
  located <- !is.null(selection_location("gram", facts, budget))
  if (located) radius <- min(radius, sqrt(1 + facts$p / location_reach[["moments"]]^2 * 1.5))
  if (facts$p > 400) methods <- setdiff(methods, "gram")
  hurdles <- vapply(methods, selection_hurdle, 0, facts = facts, budget = budget, radius = radius)
  data.frame(
    method = methods, hurdle = unname(hurdles),
    needs = if (is.null(signal)) NA_real_ else unname(ceiling(1.5 * hurdles * facts$n / signal)),
    located = vapply(methods, function(method) {
      method == "ranks" || !is.null(selection_location(method, facts, budget))
    }, NA, USE.NAMES = FALSE),
    recommended = methods == choose_selection(NULL, facts, budget)
  )
})

#' Smallest covariance, in scaled units, that is clearly above the noise of all candidates'
#' covariances
#' @noRd
selection_hurdle <- function(method, facts, budget, radius) {
  if (is.null(mechanism_table$dp_select[[method]]$pick)) {
    # Noise of an off-diagonal entry, for rows x and y with norms of at most `radius` and 1.
    sd <- (radius^2 + 1) / sqrt(2 * budget$rho)
    return(sqrt(2 * log(facts$p)) * sd / facts$n)
  }
  shares <- selection_shares(method, facts, budget)
  constants <- list(
    size = facts$size, intercept = facts$intercept, located = !is.null(shares$location)
  )
  constants[c("exponent", "rho_step")] <- choice_budget(method, shares, constants)
  hurdle <- covariance_hurdle(method, facts, constants)
  # For two normal variables the clipped covariance is about 0.65 times the rank correlation.
  if (mechanism_table$dp_select[[method]]$hurdle == "covariance") hurdle else 0.65 * hurdle
}

#' @rdname dp_plan_select
#' @export
dp_plan_online <- function(formula, bounds, horizon, epsilon, delta = 1e-6,
                           family = c("gaussian", "binomial"), radius = NULL, ball = NULL,
                           psi = NULL, width = 3, r.squared = 0.5,
                           ...) door("dp_plan_online", {
  check_no_dots(...)
  check_every_bound(formula, if (!missing(bounds)) bounds)
  check_given(missing(horizon), "horizon", "the largest number of steps of the stream")
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept")
  family <- check_choice(family, c("gaussian", "binomial"))
  columns <- new_columns(formula, bounds, family)
  horizon <- check_count(horizon, 2, 2^40)
  epsilon <- check_number(epsilon, 0, open = "min")
  budget <- stream_budget(epsilon, delta, NULL, dp_control())
  if (budget$rho == 0) abort("{.fn dp_online} needs {.arg delta} above 0.", "argument")
  learner <- learner_settings(columns, radius, ball, psi)
  noise <- choose_noise(NULL, horizon, budget)
  plan_for <- planner_of(learner, noise, horizon, c(times = 1, apart = 1), budget)
  learner$method <- default_method(learner, plan_for, horizon)
  guess <- list(
    width = check_number(width, 0, open = "min"),
    r.squared = check_number(r.squared, 0, 1, open = c("min", "max"))
  )
  plan <- plan_for("ftal")
  fills <- function(t) {
    sqrt(learner$columns) * prefix_sd(learner, plan, t) / (learner$psi * t) > learner$ball
  }
  data.frame(
    method = learner$method, noise = noise, useful_from = ceiling(first_that(function(t) {
      !fills(t)
    }, 1, 1e12)),
    regret = planned_regret(columns, complete_learner(learner, plan_for, horizon), guess, horizon,
      budget)
  )
})

#' Regret of the stream's own code on simulated people with the assumed properties
#'
#' The regret depends only on the ratio of noise to signal: T steps with budget rho are equivalent
#' to fewer steps with proportionally less noise. The stream is simulated three times from a fixed
#' seed, so that a repeated plan gives the same result.
#' @noRd
planned_regret <- function(columns, learner, guess, horizon, budget) {
  steps <- min(horizon, 3000)
  log_factor <- function(t) 1.066 + log(t) / pi
  budget$rho <- budget$rho * (horizon / steps * log_factor(steps) / log_factor(horizon))^2
  plan <- planner_of(learner, choose_noise(NULL, steps, budget), steps, c(times = 1, apart = 1),
    budget)(learner$method)
  mean(keep_seed({
    set.seed(1)
    replicate(3, regret_of_guess(columns, learner, guess, steps, plan))
  }))
}

#' @noRd
regret_of_guess <- function(columns, learner, guess, steps, plan) {
  people <- made_up_people(columns, guess, steps)
  state <- stream_open_cpp(plan, learner)
  scores <- stream_advance_cpp(state, cbind(people$x, people$y), FALSE, TRUE, "R")$scores
  relative_regret(columns$family, people$truth, scores)
}

#' @noRd
relative_regret <- function(family, truth, scores) {
  if (family == "gaussian") {
    return(sum((scores - truth)^2) / sum(truth^2))
  }
  chance <- stats::plogis(truth)
  loss <- function(score) sum(log1p(exp(-abs(score))) + pmax(score, 0) - chance * score)
  (loss(scores) - loss(truth)) / (loss(0 * truth) - loss(truth))
}

#' Scaled columns of people with the assumed standard deviations, an outcome, and the outcome's mean
#' @noRd
made_up_people <- function(columns, guess, n) {
  parts <- lapply(columns$regressors, made_up_column, columns$intercept, guess$width, n)
  x <- do.call(cbind, c(if (columns$intercept) list(rep(1, n)), parts))
  slopes <- stats::rnorm(ncol(x)) / pmax(apply(x, 2L, stats::sd), 1e-6)
  if (columns$intercept) slopes[[1L]] <- 0
  truth <- drop(x %*% slopes)
  truth <- (truth - mean(truth)) / stats::sd(truth)
  if (columns$family == "binomial") {
    truth <- truth * 1.8 * sqrt(guess$r.squared / (1 - guess$r.squared))
    return(list(x = x, y = stats::rbinom(n, 1, stats::plogis(truth)), truth = truth))
  }
  truth <- truth * sqrt(guess$r.squared) / guess$width
  left <- stats::rnorm(n, sd = sqrt(1 - guess$r.squared) / guess$width)
  list(x = x, y = truth + left, truth = truth)
}

#' @noRd
made_up_column <- function(column, intercept, width, n) {
  if (!is.null(column$levels)) {
    level <- sample.int(length(column$levels), n, replace = TRUE)
    shown <- if (intercept) seq_along(column$levels)[-1L] else seq_along(column$levels)
    return(outer(level, shown, `==`) + 0)
  }
  # A 0/1 variable is simulated as 1 for one person in five; rarer variables are less informative.
  if (always_full(column)) sample(c(-1, 1), n, TRUE, c(0.8, 0.2)) else stats::rnorm(n) / width
}
