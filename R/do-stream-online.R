#' Learn a regression from a stream of people
#'
#' Updates the coefficients of a regression along a stream of people, under differential privacy.
#' Each row is one person. One budget, which is charged when the stream is created, covers all
#' releases from the first to the last step. The prediction of a row before the row is used costs
#' nothing.
#'
#' @section Methods:
#' * `"gram"` (default for linear models with up to 50 columns): running sums of all products.
#'   Predictions use ridge regression computed from these sums, without tuning; `coef()` and
#'   `tidy()` give least squares from the same sums, with standard errors as soon as the noise no
#'   longer hides the curvature of the regressors (proofs/streams.md, section 6).
#' * `"ftal"` (default for other models): follow the approximate leader. Clipped gradients at
#'   released coefficients are added to running sums, from which the minimiser of quadratic lower
#'   bounds is computed. Expected regret after T steps grows as log(T)^2 for losses with curvature
#'   `psi` (proofs/streams.md, Theorem 3).
#' * `"ftrl"`: follow the regularised leader, for losses without curvature (Kairouz et al., 2021).
#'   This method is the default if the noise is too large for `"ftal"`.
#'
#' All three methods release running sums of clipped integers with exact integer noise. They are
#' private for every loss and for streams that react to released values (proofs/streams.md, Theorem
#' 1). Neighbouring streams arise by replacing one entry (one row), or with `participation` all
#' entries of one person; the number of entries is public.
#'
#' Four algorithms of Thakurta (2013, chapter 5) are available for reproduction, with corrections
#' (proofs/streams.md, Theorem 5):
#' * `"pigd"` takes implicit gradient steps, and releases every iterate with new noise.
#' * `"pgiga"` takes gradient steps, and releases every iterate with new noise.
#' * `"pocp"` minimises the sum of all losses so far, and releases every iterate with new noise.
#'   With logistic losses the time grows with the square of the number of steps, which is at most
#'   20,000.
#' * `"poffl"` releases one average of all iterates, at the horizon.
#'
#' For these algorithms `psi` is the weight of a ridge that is part of the loss. They need a finite
#' horizon, one row per step, one entry per person, and a stream that does not react to released
#' values, and are several times less accurate than the default (bench/streams.R).
#'
#' @section Noise:
#' * `"toeplitz"` (default for `delta > 0` and up to 1,024 steps; possible for up to 4,096): the
#'   square-root factorisation of prefix sums. The secret state contains the whole stream.
#' * `"blt"` (default for `delta > 0` and more steps): the square-root factor, approximated by about
#'   log(T) buffers. The memory is O(p log T) for p coefficients and T steps.
#' * `"tree"` (the only choice for `delta = 0`, in [dp_stream_sum()]): binary trees with Honaker's
#'   estimate. The noise is up to twice as large as with `"toeplitz"`, and the state can be
#'   published ([checkpoint()]).
#'
#' @param formula (`formula`)\cr `outcome ~ regressors`, with functions of one row and interactions;
#'   `.` stands for all other names in `bounds`.
#' @param epsilon (`number`, positive)\cr privacy loss for the whole horizon. `Inf`: NOT PRIVATE.
#' @param delta (`number`, in (0, 1))\cr failure probability.
#' @param horizon (`count` or `Inf`)\cr the largest number of steps. With `Inf` the stream is
#'   planned for 2^30 steps, and the noise is 1.3 to 1.5 times as large as for a known horizon of
#'   1,000 to 100,000 steps.
#' @param bounds (`list`, PUBLIC)\cr one entry per variable or expression, named by its text. An
#'   entry is a range `c(lower, upper)`, to which values are clipped, or the levels of a factor; see
#'   [dp_bounds]. Levels, centres and scales are never learned from rows. At the end of the stream a
#'   warning appears if numbers released by method `"gram"` contradict the bounds.
#' @param family (`string`)\cr `"gaussian"` or `"binomial"` (logistic).
#' @param method (`string` or `NULL`)\cr see Methods. `NULL`: the default, which depends only on
#'   public facts.
#' @param noise (`string` or `NULL`)\cr see Noise. `NULL`: the default for this horizon and `delta`.
#' @param batch (`flag`)\cr whether all rows in one call of [update()][update.dp_stream] form one
#'   step. The number of rows per call is then public.
#' @param participation (`c(times =, apart =)`)\cr the largest number of entries of one person, and
#'   the smallest number of steps between two entries of one person. You declare these numbers; they
#'   are not checked.
#' @param radius (`number` or `NULL`)\cr the largest norm of a row of regressors that are scaled to
#'   \[-1, 1\]; longer rows are clipped, which biases coefficients away from zero; standard errors
#'   contain an allowance. The noise grows with the square of the radius. `NULL`: the
#'   square root of the sum of 1 for the intercept, 1 per factor, and `0.65 + 0.35 k` for k numeric
#'   regressors.
#' @param ball (`number` or `NULL`)\cr the largest norm of the scaled coefficients. `NULL`:
#'   `sqrt(p)` for p coefficients, or `3 sqrt(p)` in logistic models.
#' @param psi (`number` or `NULL`)\cr a public guess of the curvature of the expected loss, for
#'   `"ftal"`. `NULL`: `0.9 radius^2 / p` for p coefficients, or `0.13 radius^2 / p` in logistic
#'   models. For the algorithms of Thakurta (2013): the weight of the ridge; `NULL` means the weight
#'   with the smallest expected error.
#' @param calibration (`string`)\cr for the methods of Thakurta (2013): `"tight"` for corrected
#'   constants, or `"published"` for the published constants, which give no guarantee.
#' @param ledger (`dp_ledger` or `NULL`)\cr charged once for the whole horizon, when the stream is
#'   created.
#' @param control (`dp_control`)\cr only `rng` is used.
#' @param ... unused.
#' @return An object of class `dp_online` with reference semantics, which contains RELEASED values
#'   and PUBLIC facts. The secret state is in memory that `saveRDS()` does not save. `$released`
#'   contains the numbers of steps and rows, the coefficients for predictions, their path, and for
#'   `"gram"` the moments; [coef()] and [tidy()] give the estimates;
#'   `$privacy` contains the guarantee.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_bounds`, `dpsc_error_budget`.
#' @seealso [update.dp_stream()], [checkpoint()], [dp_stream_sum()].
#' @references
#' Thakurta, A. (2013). Differentially Private Convex Optimization for Empirical Risk Minimization
#' and
#' High-Dimensional Regression. Dissertation, Pennsylvania State University.
#'
#' Denisov, S., McMahan, B., Rush, K., Smith, A. and Thakurta, A. (2022). Improved Differential
#' Privacy for SGD via Optimal Private Linear Operators on Adaptive Streams. NeurIPS.
#'
#' Dvijotham, K., McMahan, B., Pillutla, K., Steinke, T. and Thakurta, A. (2024). Efficient and
#' Near-Optimal Noise Generation for Streaming Differential Privacy. FOCS.
#'
#' Kairouz, P., McMahan, B., Song, S., Thakkar, O., Thakurta, A. and Xu, Z. (2021). Practical and
#' Private (Deep) Learning without Sampling or Shuffling. ICML.
#' @examples
#' stream <- dp_online(y ~ x1 + x2,
#'   epsilon = 1, delta = 1e-6, horizon = 5000,
#'   bounds = list(y = c(-3, 3), x1 = c(-1, 1), x2 = c(0, 10))
#' )
#' rows <- data.frame(x1 = runif(5000, -1, 1), x2 = runif(5000, 0, 10))
#' rows$y <- rows$x1 + 0.1 * rows$x2 + rnorm(5000, sd = 0.3)
#' update(stream, rows)
#' tidy(stream)
#' predict(stream, data.frame(x1 = 0.5, x2 = 3))
#' @export
dp_online <- function(formula, epsilon, delta = 1e-6, horizon, bounds,
                      family = c("gaussian", "binomial"), method = NULL, noise = NULL,
                      batch = FALSE, participation = c(times = 1, apart = 1), radius = NULL,
                      ball = NULL, psi = NULL, calibration = c("tight", "published"),
                      ledger = NULL, control = dp_control(),
                      ...) door("dp_online", pays = TRUE, {
  check_no_dots(...)
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept")
  check_given(missing(horizon), "horizon", "the largest number of steps, or Inf")
  check_every_bound(formula, if (!missing(bounds)) bounds)
  family <- check_choice(family, c("gaussian", "binomial"))
  columns <- new_columns(formula, bounds, family)
  for (column in c(columns$regressors, list(columns$outcome))) {
    check_spellings(column$levels, column$name)
  }
  steps <- check_horizon(horizon)
  batch <- check_flag(batch)
  participation <- check_participation(participation)
  budget <- stream_budget(epsilon, delta, ledger, control)
  if (budget$rho == 0) {
    abort(c(
      "{.fn dp_online} needs {.arg delta} above 0.",
      i = paste(
        "Give a {.arg delta} far below one over the number of people. Only {.fn dp_stream_sum} and",
        "{.fn dp_stream_count} accept {.code delta = 0}."
      )
    ), "argument")
  }
  noise <- choose_noise(noise, steps, budget)
  learner <- learner_settings(columns, radius, ball, psi)
  plan_for <- planner_of(learner, noise, steps, participation, budget)
  if (!is.null(method)) {
    method <- check_choice(method, names(mechanism_table$dp_online))
    check_family_served(method, family)
  }
  calibration <- check_choice(calibration, c("tight", "published"))
  if (!is.null(method) && has_own_noise(method)) {
    return(open_iterates(columns, learner, budget, list(
      method = method, calibration = calibration, horizon = horizon, batch = batch,
      participation = participation, psi = psi, ledger = ledger
    )))
  }
  if (calibration == "published") {
    abort(paste(
      "{.code calibration = \"published\"} is only for method {.or {.val {chapter_five()}}}."
    ), "argument")
  }
  learner$method <- method %||% default_method(learner, plan_for, horizon)
  learner <- complete_learner(learner, plan_for, horizon)
  new_stream("dp_online", paste0("stream by method \"", learner$method, "\""), columns, learner,
    plan_for(learner$method), budget, batch, ledger)
})

#' @noRd
check_family_served <- function(method, family) {
  families <- mechanism_table$dp_online[[method]]$families
  if (!family %in% families) {
    abort(c(
      "{.code method = {.val {method}}} is for linear models only.",
      x = "{.arg family} is {.val {family}}."
    ), "argument")
  }
}

learner_settings <- function(columns, radius, ball, psi) {
  p <- length(columns$names)
  linear <- columns$family == "gaussian"
  positive <- function(x, default, arg) {
    if (is.null(x)) default else check_number(x, 0, open = "min", arg = arg)
  }
  radius <- positive(radius, usual_length(columns), "radius")
  list(
    family = columns$family, columns = as.double(p), radius = radius,
    # A residual of a scaled outcome is at most about 1; larger residuals are clipped.
    clip = radius, ball = positive(ball, (if (linear) 1 else 3) * sqrt(p), "ball"),
    psi = positive(psi, (if (linear) 0.9 else 0.13) * radius^2 / p, "psi"), lambda = 0,
    damping = 1 # complete_learner() replaces this value
  )
}

#' Add damping and penalty, found by simulation over public designs (bench/streams.R) without data
#' @noRd
complete_learner <- function(learner, plan_for, horizon) {
  record <- mechanism_table$dp_online[[learner$method]]
  learner$damping <- record$damping
  learner$lambda <- record$penalty(learner, plan_for(learner$method), horizon)
  learner
}

#' The noise of a stream with these columns, by method
#' @noRd
planner_of <- function(learner, noise, horizon, participation, budget) {
  function(method) {
    record <- mechanism_table$dp_online[[method]]
    plan_stream(noise, record$step, learner$columns + record$more, horizon, participation, budget)
  }
}

default_method <- function(learner, plan_for, horizon) {
  if (learner$family == "gaussian" && learner$columns <= 50) {
    return("gram")
  }
  if (!is.finite(horizon)) {
    return("ftal")
  }
  t <- max(1, horizon / 10)
  noise <- sqrt(learner$columns) * prefix_sd(learner, plan_for("ftal"), t) / (learner$psi * t)
  if (noise > learner$ball) "ftrl" else "ftal"
}
