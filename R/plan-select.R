# What a selection or a stream will tell, before any data are touched.

#' Plan a selection or a stream before touching any data
#'
#' What [dp_select()] and [dp_online()] can be expected to tell with so many people and so much
#' budget, from the noise that they would add. No data are involved.
#'
#' @inheritParams dp_select
#' @param formula (`formula`)\cr `outcome ~ candidates`, or that of [dp_online()].
#' @param n (`count`)\cr number of people.
#' @param signal (`number` or `NULL`)\cr covariance of a candidate with the outcome, given the
#'   others that were selected, in scaled units (both range from -1 to 1): then the plan says how
#'   many people it takes.
#' @param horizon (`count`)\cr steps of the stream.
#' @param family,radius,ball,psi see [dp_online()].
#' @return `dp_plan_select()`: a data frame with one row a method of `"pursuit"`, `"screening"`,
#'   `"gram"`: `hurdle`, the covariance at which a variable is found about two times in three
#'   (nearly always at 1.5 times that, seldom at half; measured in bench/selection.R), `needs`
#'   (people whom `signal` needs at 1.5 times the hurdle), `recommended`.
#'
#'   `dp_plan_online()`: a data frame with one row: `method` (the default), `noise`, `useful_from`
#'   (steps until noise no longer fills the ball of coefficients) and `regret` at the horizon,
#'   relative to predicting zero (1 is useless; within a factor 2, bench/streams.R). PUBLIC.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_bounds`.
#' @examples
#' bounds <- c(list(y = c(-1, 1)), stats::setNames(rep(list(c(-1, 1)), 50), paste0("V", 1:50)))
#' dp_plan_select(y ~ ., bounds, n = 4000, size = 3, epsilon = 1, signal = 0.05)
#' dp_plan_online(y ~ V1 + V2 + V3, bounds, horizon = 5000, epsilon = 1)
#' @export
dp_plan_select <- function(formula, bounds, n, size, epsilon, delta = 1e-6, signal = NULL,
                           refit = TRUE, share = 0.8, radius = NULL) {
  call <- public_call("dp_plan_select")
  check_given(missing(bounds), "bounds", "public limits of every variable", call)
  check_given(missing(n), "n", "the number of people", call)
  check_given(missing(size), "size", "how many variables to select at most", call)
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept", call)
  columns <- new_columns(formula, bounds, "gaussian", call)
  facts <- list(
    n = check_count(n, 2, call = call), p = length(columns$names) - columns$intercept,
    intercept = columns$intercept,
    share = check_number(share, 0, 1, open = c("min", "max"), call = call),
    refit = check_flag(refit, call = call)
  )
  facts$size <- check_count(size, 1, facts$p, call = call)
  signal <- if (!is.null(signal)) check_number(signal, 0, open = "min", call = call)
  epsilon <- check_number(epsilon, 0, open = "min", call = call)
  budget <- stream_budget(epsilon, delta, NULL, dp_control(), call)
  if (budget$rho == 0) abort("{.fn dp_select} needs {.arg delta} above 0.", "argument", call)
  radius <- radius %||% usual_length(columns)
  methods <- c("pursuit", "screening", "gram")
  if (facts$p > 400) methods <- setdiff(methods, "gram")
  hurdles <- vapply(methods, selection_hurdle, 0, facts = facts, budget = budget, radius = radius)
  data.frame(
    method = methods, hurdle = unname(hurdles),
    needs = if (is.null(signal)) NA_real_ else unname(ceiling(1.5 * hurdles * facts$n / signal)),
    recommended = methods == choose_selection(NULL, facts, budget, call)
  )
}

#' Covariance (scaled units) that stands out from the noise on those of all candidates
#' @noRd
selection_hurdle <- function(method, facts, budget, radius) {
  if (method == "gram") {
    # Noise of an entry off the diagonal: rows (x, y) are no longer than `radius` and 1.
    sd <- (radius^2 + 1) / sqrt(2 * budget$rho)
    return(sqrt(2 * log(facts$p)) * sd / facts$n)
  }
  shares <- selection_shares(method, facts, budget)
  constants <- list(size = facts$size, intercept = facts$intercept)
  constants[c("exponent", "rho_step")] <- choice_budget(method, shares, constants)
  covariance_hurdle(method, facts, constants)
}

#' @rdname dp_plan_select
#' @export
dp_plan_online <- function(formula, bounds, horizon, epsilon, delta = 1e-6,
                           family = c("gaussian", "binomial"), radius = NULL, ball = NULL,
                           psi = NULL) {
  call <- public_call("dp_plan_online")
  check_given(missing(bounds), "bounds", "public limits of every variable", call)
  check_given(missing(horizon), "horizon", "the most steps the stream may take", call)
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept", call)
  family <- check_choice(family, c("gaussian", "binomial"), call = call)
  columns <- new_columns(formula, bounds, family, call)
  horizon <- check_count(horizon, 2, 2^40, call = call)
  epsilon <- check_number(epsilon, 0, open = "min", call = call)
  budget <- stream_budget(epsilon, delta, NULL, dp_control(), call)
  if (budget$rho == 0) abort("{.fn dp_online} needs {.arg delta} above 0.", "argument", call)
  learner <- learner_settings(columns, radius, ball, psi, call)
  noise <- choose_noise(NULL, horizon, budget, call)
  plan_for <- planner_of(learner, noise, horizon, c(times = 1, apart = 1), budget, call)
  plan <- plan_for("ftal")
  fills <- function(t) {
    sqrt(learner$columns) * prefix_sd(learner, plan, t) / (learner$psi * t) > learner$ball
  }
  useful <- first_that(function(t) !fills(t), 1, 1e12)
  # Measured: three times the share of steps that noise fills, less where that is near one.
  lost <- 3 * useful / horizon
  data.frame(
    method = default_method(learner, plan_for, horizon), noise = noise,
    useful_from = ceiling(useful), regret = lost / (1 + lost / 3)
  )
}
