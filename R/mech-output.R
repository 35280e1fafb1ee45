# Method "output": Algorithm 2 of Rho, Cummings and Misra (2023). Noise on the ridge weights, then
# noise on the donors' post-period outcomes. Everything that touches a donor's row is in C++
# (inst/include/dpsc/release/weights_release.hpp).

#' Public constants of output perturbation
#'
#' `calibration = "tight"`: ridge weights have the exact sensitivity of [ridge_sensitivity()]. With
#' `delta > 0` both releases are discrete Gaussian and share one Gaussian shift (mu); with
#' `delta = 0` both are gamma-norm and split epsilon. `calibration = "published"`: the constants of
#' Algorithm 2, which hold but are many times too large.
#'
#' @param public (`list`)\cr from `public_facts()`.
#' @return A list of class `dpsc_plan`: what each noise step costs. PUBLIC.
#' @noRd
plan_output <- function(public) {
  lambda <- public$control$lambda %||% public$T0
  sensitivity <- if (public$calibration == "published") {
    published_ridge_sensitivity(public$n, public$T0, lambda)
  } else {
    ridge_sensitivity(
      sqrt(sum(public$y^2)), public$T0, lambda,
      bound = sqrt(mean(public$half[seq_len(public$T0)]^2))
    )
  }
  # A target that is zero on this scale has weights of zero; any positive bound is one.
  weights <- list(lambda = lambda, sensitivity = max(sensitivity, 1e-9))
  if (!public$private) {
    return(list(weights = weights, post = list(), cost = NULL, steps = NULL))
  }
  check_representable(public)
  post_sensitivity <- public_post_sensitivity(public)
  check_rounding(public$n, public$T0, lambda)
  reach <- weights$sensitivity +
    ridge_rounding(public$n, public$T0, lambda, sqrt(sum(public$y^2)))
  if (public$calibration == "tight" && public$delta > 0) {
    mu <- gdp_budget_cpp(public$epsilon, public$delta)
    share <- public$control$split %||%
      best_share(public, reach, post_sensitivity, mu^2 / 2, gaussian = TRUE)
    weights <- c(weights, plan_gaussian(reach, mu * sqrt(share), sqrt(public$n)))
    post <- plan_gaussian(post_sensitivity, mu * sqrt(1 - share))
    cost <- new_cost("gdp", epsilon = public$epsilon, mu = mu)
  } else {
    share <- public$control$split %||% if (public$calibration == "published") {
      1 / 2
    } else {
      best_share(public, reach, post_sensitivity, public$epsilon, gaussian = FALSE)
    }
    weights <- c(weights, plan_gamma_norm(reach, share * public$epsilon))
    post <- plan_gamma_norm(post_sensitivity, (1 - share) * public$epsilon)
    cost <- new_cost("pure", epsilon = public$epsilon)
  }
  list(
    weights = weights, post = c(post, sensitivity = post_sensitivity), cost = cost, share = share,
    steps = rbind(describe_step("ridge weights", weights), describe_step("post-period outcomes",
      c(post, sensitivity = post_sensitivity)))
  )
}

#' Release by output perturbation
#' @param plan (`list`)\cr from `plan_output()`.
#' @param donors (`matrix`, n x T, outcome units, PRIVATE).
#' @return A list: `weights` (n), `counterfactual` (T1, scaled units). RELEASED.
#' @noRd
run_output <- function(plan, donors, public) {
  weights_release_cpp(donors, core_scale(public$bounds), public$y, list(
    solver = "ridge", penalty = plan$weights$lambda, noise = plan$weights, post = plan$post,
    shuffled = isTRUE(public$shuffled)
  ), public$control$rng)
}

#' Public bound on the rounding error of ridge weights, for two panels
#'
#' The computed weights are the exact ones for `X'X + c I + E`, `c = lambda / 2`. They move by at
#' most `|X (X'X + c I)^-1| |E| |y| / c`, and the first norm is at most `1 / (2 sqrt(c))` and
#' `sqrt(n T0) / c` (proofs/ridge.md). Twice that, for safety.
#' @param y_norm (`number`)\cr norm of the target, scaled units.
#' @noRd
ridge_rounding <- function(n, T0, lambda, y_norm) {
  c <- lambda / 2
  solve <- min(1 / (2 * sqrt(c)), sqrt(n * T0) / c)
  2 * 2 * ridge_backward_error(n, T0, lambda) * solve * y_norm
}

#' `|E| / c` of one panel
#'
#' In any order of summation a Gram matrix of n rows is off by at most `n u` times its trace, which
#' is at most `n T0`; a Cholesky solve is backward stable (Higham, 2002, Theorem 10.4).
#' @noRd
ridge_backward_error <- function(n, T0, lambda) {
  unit <- .Machine$double.eps / 2
  (n + 4 * T0^2 + 2) * unit * (1 + 2 * n * T0 / lambda)
}

#' Refuse a ridge penalty at which rounding could tell donors apart
#'
#' Up to the limit a Cholesky factorisation cannot fail, whatever the rows (ibid., Theorem 10.7),
#' and what rounding adds to the sensitivity, and to the noise, is about a tenth of it at most.
#' @param mu (`number`)\cr the penalty, lambda or more.
#' @noRd
check_rounding <- function(n, T0, mu) {
  if (!(2 * ridge_backward_error(n, T0, mu) <= 0.1)) {
    abort(c(
      "{.arg lambda} is too small for double precision with this many donors and periods.",
      i = paste(
        "The weights would follow rounding errors. Take a larger {.arg lambda} in",
        "{.fn dp_control}."
      )
    ), "argument")
  }
}

#' Refuse an epsilon whose noise, or the product of two noises, leaves the doubles
#' @noRd
check_representable <- function(public) {
  if (public$epsilon < 1e-100 || public$epsilon > 1e100) {
    abort(c(
      "{.arg epsilon} is too {if (public$epsilon < 1) 'small' else 'large'} for this method.",
      x = "It is {public$epsilon}; noise of such a size cannot be computed with."
    ), "argument")
  }
}

public_post_sensitivity <- function(public) {
  post_sensitivity(public$T1, bound = sqrt(mean(public$half[-seq_len(public$T0)]^2)))
}

#' One discrete Gaussian step: grid, variance and cost
#' @param mu (`number`)\cr the Gaussian shift that covers the step.
#' @param rounding (`number`, grid units)\cr what rounding to the grid adds to the sensitivity.
#' @return A list, with `rho` the cost in zCDP, at most `mu^2 / 2`.
#' @noRd
plan_gaussian <- function(sensitivity, mu, rounding = 0) {
  grid <- gaussian_grid(sensitivity, mu)
  reach <- sensitivity * 2^grid + rounding
  variance <- gaussian_variance(reach, mu)
  list(
    law = "discrete_gaussian", grid = grid, variance = variance, shift = mu,
    rho = reach^2 / (2 * variance), scale = sqrt(variance) / 2^grid
  )
}

#' One gamma-norm step
#' @noRd
plan_gamma_norm <- function(sensitivity, epsilon) {
  list(law = "gamma_norm", scale = sensitivity / epsilon, epsilon = epsilon)
}

#' One line of the record that a release keeps of its noise
#' @param step (`list`)\cr with `shift`, its mu (Gaussian differential privacy), if it has one.
#' @noRd
describe_step <- function(what, step) {
  data.frame(
    step = what, law = step$law, sensitivity = step$sensitivity, scale = step$scale,
    epsilon = step$epsilon %||% NA_real_, rho = step$rho %||% NA_real_,
    mu = step$shift %||% NA_real_
  )
}

#' Split of the budget that minimises the expected squared privacy error of a prediction
#'
#' With noise variances a^2 on a weight and b^2 on an outcome, the error of one prediction is
#' `n a^2 (m + b^2) + b^2 |f|^2`, m the mean square of an outcome. Public stand-ins: m = 1/3
#' (uniform within the bounds), |f|^2 = 1/n (equal weights).
#' @noRd
best_share <- function(public, weights_sensitivity, post_sensitivity, budget, gaussian) {
  variance <- function(sensitivity, part, dimension) {
    if (gaussian) sensitivity^2 / (2 * part) else (dimension + 1) * (sensitivity / part)^2
  }
  error <- function(share) {
    a2 <- variance(weights_sensitivity, share * budget, public$n)
    b2 <- variance(post_sensitivity, (1 - share) * budget, public$n * public$T1)
    # Finite even where a tiny epsilon makes it overflow.
    min(log(public$n * a2 * (1 / 3 + b2) + b2 / public$n), 1e4)
  }
  stats::optimize(error, c(0.01, 0.99), tol = 1e-4)$minimum
}

#' Is the noise that a release reports that of its steps?
#' @noRd
output_conflict <- function(release) {
  vertical_noise_conflict(release, function(noise, settings) {
    about_equal(settings$weights_variance, noise)
  })
}
