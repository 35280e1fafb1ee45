# Method "output": Algorithm 2 of Rho, Cummings and Misra (2023). The method adds noise to the ridge
# weights, then to the donors' post-period outcomes. C++ code computes the cost of each step
# (inst/include/dpsc/mechanism/weights_constants.hpp), and only C++ code reads a donor's row
# (release/weights_release.hpp).

#' Public constants of output perturbation
#'
#' `calibration = "tight"` uses the exact sensitivity of ridge weights from [ridge_sensitivity()].
#' With `delta > 0` both releases contain discrete Gaussian noise and share one Gaussian shift (mu).
#' With `delta = 0` both releases contain gamma-norm noise and share epsilon.
#' `calibration = "published"` uses the constants of Algorithm 2, which are private but many times
#' too large.
#'
#' @param public (`list`)\cr from `public_facts()`.
#' @return A list: `weights` and `post`, the constants of the two steps; `share`, the share of the
#'   budget for the weights; `cost`; `steps` (a data frame). PUBLIC.
#' @noRd
plan_output <- function(public) {
  facts <- weights_facts(public)
  plan <- plan_output_cpp(facts)
  weights <- list(lambda = facts$lambda, sensitivity = plan$sensitivity)
  if (!public$private) {
    return(list(weights = weights, post = list(), cost = NULL, steps = NULL))
  }
  check_solvable(plan)
  # The step's sensitivity includes the rounding of the weights.
  weights <- c(weights, plan$weights[names(plan$weights) != "sensitivity"])
  list(
    weights = weights, post = plan$post, share = plan$share,
    cost = new_cost("gdp", public$epsilon, mu = plan$mu, pure = is.nan(plan$mu)),
    steps = rbind(
      describe_step("ridge weights", weights), describe_step("post-period outcomes", plan$post)
    )
  )
}

#' Facts from which the core plans releases of weights
#' @return A list. PUBLIC.
#' @noRd
weights_facts <- function(public) {
  if (public$private) check_representable(public)
  asked <- public$control
  list(
    published = public$calibration == "published", n = public$n, T0 = public$T0, T1 = public$T1,
    epsilon = public$epsilon, delta = public$delta, half = public$half, y = public$y,
    lambda = asked$lambda %||% public$T0, split = asked$split, cap = asked$cap,
    curvature = asked$curvature
  )
}

#' Release by output perturbation
#' @param plan (`list`)\cr from `plan_output()`.
#' @param donors (`matrix`, n x T, outcome units, PRIVATE).
#' @return A list: `weights` (n), `counterfactual` (T1, scaled units). RELEASED.
#' @noRd
run_output <- function(plan, donors, public) {
  weights_release_cpp(donors, public$bounds, public$y, list(
    solver = "ridge", penalty = plan$weights$lambda, noise = plan$weights, post = plan$post,
    shuffled = isTRUE(public$shuffled)
  ), public$control$rng)
}

#' Refuse a ridge penalty if rounding could reveal donors, and noise that no sampler can draw
#' @param plan (`list`)\cr from the core.
#' @noRd
check_solvable <- function(plan) {
  if (!plan$solvable) {
    abort(c(
      "{.arg lambda} is too small for double precision with this many donors and periods.",
      i = paste(
        "Rounding errors would determine the weights. Take a larger {.arg lambda} in",
        "{.fn dp_control}."
      )
    ), "argument")
  }
  variance <- c(plan$weights$variance, plan$post$variance)
  if (!all(is.finite(variance) & variance <= 2^56)) {
    abort(c(
      "{.arg epsilon} or {.arg delta} is too small: the noise would exceed the sampler's range.",
      i = "Give a larger {.arg epsilon} or {.arg delta}."
    ), "argument")
  }
}

#' Refuse an epsilon if the noise, or a product of two noises, is outside double precision
#' @noRd
check_representable <- function(public) {
  if (public$epsilon < 1e-100 || public$epsilon > 1e100) {
    abort(c(
      "{.arg epsilon} is too {if (public$epsilon < 1) 'small' else 'large'} for this method.",
      x = "It is {public$epsilon}; the noise would be outside the range of double precision."
    ), "argument")
  }
}

#' One row of a release's record of its noise
#' @param step (`list`)\cr a step, with `shift`, its mu of Gaussian differential privacy, if any.
#' @noRd
describe_step <- function(what, step) {
  frame_of(
    step = what, law = step$law, sensitivity = step$sensitivity, scale = step$scale,
    epsilon = step$epsilon %||% NA_real_, rho = step$rho %||% NA_real_,
    mu = step$shift %||% NA_real_
  )
}

#' Does the noise that a release reports agree with its steps?
#' @noRd
output_conflict <- function(release) {
  vertical_noise_conflict(release, function(noise, settings) {
    about_equal(settings$weights_variance, noise)
  })
}
