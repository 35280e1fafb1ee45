# Method "objective": Algorithm 3 of Rho, Cummings and Misra (2023), as published and repaired. A
# random linear term is added to the ridge objective, then the post-period outcomes get noise, in
# C++ (inst/include/dpsc/release/weights_release.hpp).
# The repaired version and its proof: inst/proofs/objective.md.

#' Public constants of objective perturbation
#'
#' `calibration = "tight"`: the minimiser over `C = {||f||_1 <= 1, |f_j| <= cap}`, where one donor's
#' influence is bounded; `epsilon` and `delta` are as promised. `calibration = "published"`: the
#' constants of Algorithm 3 and no constraint, whose promise does not hold.
#'
#' With `delta > 0`, half of delta goes to each step.
#' @inheritParams plan_output
#' @return A list of class `dpsc_plan`: what each noise step costs. PUBLIC.
#' @noRd
plan_objective <- function(public) {
  lambda <- public$control$lambda %||% public$T0
  if (!public$private) {
    weights <- list(
      lambda = lambda, mu = lambda, cap = objective_cap(public), tolerance = 1e-10
    )
    return(list(weights = weights, post = list(), cost = NULL, steps = NULL))
  }
  check_representable(public)
  tight <- public$calibration == "tight"
  share <- public$control$split %||% if (tight) objective_share(public, lambda) else 1 / 2
  weights <- if (tight) {
    plan_bounded(public, lambda, share)
  } else {
    plan_algorithm3(public, lambda, share * public$epsilon)
  }
  sensitivity <- public_post_sensitivity(public)
  post <- c(plan_objective_post(public, sensitivity, share), sensitivity = sensitivity)
  cost <- if (public$delta > 0) {
    new_cost("approximate", epsilon = public$epsilon, delta = public$delta)
  } else {
    new_cost("pure", epsilon = public$epsilon)
  }
  list(
    weights = weights, post = post, cost = cost, share = share,
    steps = rbind(
      describe_step("linear term of the objective", weights),
      if (tight) describe_step("accuracy of the solver", weights$cover),
      describe_step("post-period outcomes", post)
    )
  )
}

#' Release by objective perturbation
#' @inheritParams run_output
#' @noRd
run_objective <- function(plan, donors, public) {
  step <- plan$weights
  weights_release_cpp(donors, core_scale(public$bounds), public$y, list(
    solver = if (public$calibration == "published") "perturbed" else "bounded",
    penalty = step$mu, cap = step$cap, tolerance = step$tolerance,
    noise = step, cover = step$cover, post = plan$post, shuffled = isTRUE(public$shuffled)
  ), public$control$rng)
}

#' Algorithm 3, steps 1 to 5, constants as published
#' @param epsilon (`number`)\cr budget of the weights.
#' @noRd
plan_algorithm3 <- function(public, lambda, epsilon) {
  n <- public$n
  T0 <- public$T0
  curvature <- public$control$curvature %||% published_curvature(n, T0)
  log_ratio <- 2 * log1p(curvature / lambda)
  enough <- epsilon > log_ratio
  epsilon0 <- if (enough) epsilon - log_ratio else epsilon / 2
  extra <- if (enough) 0 else curvature / expm1(epsilon / 4) - lambda
  gradient <- 4 * T0 * sqrt(8 + n)
  noise <- if (public$delta > 0) {
    list(
      law = "gaussian", sensitivity = gradient,
      scale = gradient * sqrt(2 * log(2 / public$delta) + epsilon0) / epsilon0
    )
  } else {
    gradient <- min(gradient, curvature * sqrt(n) + 4 * T0)
    list(law = "gamma_norm", sensitivity = gradient, scale = gradient / epsilon0)
  }
  # The Cholesky factorisation of the minimiser's system is not to fail.
  check_rounding(n, T0, lambda + extra)
  c(noise, list(
    epsilon = epsilon, epsilon0 = epsilon0, lambda = lambda, mu = lambda + extra,
    curvature = curvature
  ))
}

plan_objective_post <- function(public, sensitivity, share) {
  epsilon <- (1 - share) * public$epsilon
  if (public$calibration == "tight" && public$delta > 0) {
    plan_gaussian(sensitivity, gdp_budget_cpp(epsilon, public$delta / 2))
  } else {
    plan_gamma_norm(sensitivity, epsilon)
  }
}

objective_cap <- function(public) {
  min(1, public$control$cap %||% (2 / sqrt(public$n)))
}

# Share of the weights' epsilon that pays for the noise over the solver's error.
cover_share <- 1e-3

#' Constants of the repaired step 1 at a given share of epsilon
#'
#' The curvature `mu` (lambda or more) is the one that minimises the public error formula.
#' @noRd
plan_bounded <- function(public, lambda, share) {
  epsilon <- share * public$epsilon
  cover_epsilon <- min(cover_share * epsilon, 1)
  facts <- bounded_facts(public, lambda, epsilon - cover_epsilon, cover_epsilon)
  step <- bounded_step(public, facts, best_curvature(public, facts)$mu)
  sensitivity <- 2 * step$tolerance
  cover <- c(plan_gamma_norm(sensitivity, cover_epsilon), sensitivity = sensitivity)
  c(step, list(cover = cover))
}

#' The noise that belongs to a curvature
#' @noRd
bounded_step <- function(public, facts, mu) {
  epsilon0 <- facts$epsilon - log1p(facts$curvature / mu)
  scale <- if (public$delta > 0) {
    gaussian_objective_scale(facts$sensitivity, epsilon0, facts$delta)
  } else {
    facts$sensitivity / epsilon0
  }
  law <- if (public$delta > 0) "gaussian" else "gamma_norm"
  c(facts, list(
    law = law, scale = scale, epsilon0 = epsilon0, mu = mu,
    tolerance = objective_tolerance(public, mu, law, scale)
  ))
}

bounded_facts <- function(public, lambda, epsilon, cover_epsilon) {
  half <- public$half[seq_len(public$T0)]
  cap <- objective_cap(public)
  list(
    lambda = lambda, epsilon = epsilon, cap = cap,
    # Covering noise multiplies the delta of what it covers by exp(cover_epsilon / 2).
    delta = public$delta / 2 * exp(-cover_epsilon / 2),
    sensitivity = gradient_sensitivity(public$n, public$T0, cap, public$y, half),
    curvature = curvature_bound(
      public$n, public$T0, if (public$n * cap <= 1) "box" else "l1", sqrt(mean(half^2))
    )
  )
}

#' Standard deviation of a Gaussian linear term, for epsilon0 and delta
#'
#' Gradient differences of a pair of neighbours lie in one plane, so the privacy loss is at most
#' `q R + q^2 / 2`, q = sensitivity / sd and R a Rayleigh variable. Its delta is
#' `sqrt(2 pi) q exp(epsilon0) P(N > epsilon0 / q + q / 2)` as long as `q^2 <= 2 epsilon0`.
#' @noRd
gaussian_objective_scale <- function(sensitivity, epsilon0, delta) {
  enough <- function(q) {
    log(2 * pi) / 2 + log(q) + epsilon0 +
      stats::pnorm(epsilon0 / q + q / 2, lower.tail = FALSE, log.p = TRUE) <= log(delta)
  }
  # From the tail bound P(R > tail) = delta: valid, a little too small.
  tail <- sqrt(-2 * log(delta))
  low <- 2 * epsilon0 / (tail + sqrt(tail^2 + 2 * epsilon0))
  high <- sqrt(2 * epsilon0)
  if (enough(high)) {
    low <- high
  } else {
    for (i in seq_len(60L)) {
      middle <- (low + high) / 2
      if (enough(middle)) low <- middle else high <- middle
    }
  }
  sensitivity / low * (1 + 1e-9)
}

#' Public accuracy asked of the solver: 1e-9, or the rounding error of its certificate if larger
#'
#' The bounds on the linear term are those of the samplers: no normal deviate from 53 random bits
#' exceeds 10.
#' @noRd
objective_tolerance <- function(public, mu, law, scale) {
  n <- public$n
  half <- public$half[seq_len(public$T0)]
  shape <- n - 1 / 3
  largest <- scale * if (law == "gaussian") {
    10 * sqrt(n)
  } else {
    shape * (1 + 10 / (3 * sqrt(shape)))^3
  }
  rows <- n * sum(half^2)
  linear <- 2 * sqrt(n) * sum(half * abs(public$y)) + largest
  products <- 4 * (n + public$T0 + 8) * rows
  rounding <- .Machine$double.eps * (products + (n + 8) * (mu + 2.1 * rows) + 2 * linear) / mu
  1e-9 + 2 * rounding
}

#' Curvature `mu >= lambda` that minimises a public formula for the prediction's squared error
#'
#' Stand-ins for what is private: outcomes uniform within the bounds (mean square m), donors with a
#' common trend, whose curvature is `2 n T0 m`. Noise in the weights, `n sd^2 / mu^2`, cannot leave
#' C, whose squared radius is at most the cap. The prediction keeps the share
#' `2 n T0 m / (2 n T0 m + mu)` of its signal, times the share that noise leaves before it fills C.
#' No more than half of the signal is traded for lower noise, unless half of epsilon would go to the
#' curvature: otherwise a small budget would answer "no weights at all".
#' @return A list: `mu`, `error`, and `spread`, the squared norm of the weights' noise. PUBLIC.
#' @noRd
best_curvature <- function(public, facts) {
  n <- public$n
  m <- mean(public$half^2) / 3
  trend <- 2 * n * public$T0 * m
  evaluate <- function(log_mu) {
    mu <- exp(log_mu)
    epsilon0 <- facts$epsilon - log1p(facts$curvature / mu)
    variance <- if (public$delta > 0) {
      (facts$sensitivity / epsilon0)^2 * (epsilon0 - 2 * log(facts$delta))
    } else {
      (n + 1) * (facts$sensitivity / epsilon0)^2
    }
    noise <- n * variance / mu^2
    room <- facts$cap / (facts$cap + noise)
    list(
      mu = mu, spread = noise * room,
      error = m * (noise * room + (1 - room * trend / (trend + mu))^2)
    )
  }
  # At least a tenth of epsilon is left for the noise.
  from <- max(facts$lambda, facts$curvature / expm1(0.9 * facts$epsilon))
  to <- max(from, trend, facts$curvature / expm1(0.5 * facts$epsilon))
  grid <- evaluate(seq(log(from), log(to), length.out = 501L))
  lapply(grid, `[`, which.min(grid$error))
}

#' Share of epsilon for the weights that minimises the public error formula of both steps
#'
#' Between a tenth and nine tenths.
#' @noRd
objective_share <- function(public, lambda) {
  sensitivity <- public_post_sensitivity(public)
  error <- function(share) {
    epsilon <- share * public$epsilon
    cover <- min(cover_share * epsilon, 1)
    step1 <- best_curvature(public, bounded_facts(public, lambda, epsilon - cover, cover))
    left <- (1 - share) * public$epsilon
    variance <- if (public$delta > 0) {
      (sensitivity / gdp_budget_cpp(left, public$delta / 2))^2
    } else {
      (public$n * public$T1 + 1) * (sensitivity / left)^2
    }
    min(log(step1$error + variance * (1 / public$n + step1$spread)), 1e4)
  }
  shares <- seq(0.1, 0.9, by = 0.05)
  at <- shares[which.min(vapply(shares, error, numeric(1)))]
  around <- pmin(pmax(at + c(-0.05, 0.05), 0.1), 0.9)
  stats::optimize(error, around, tol = 1e-4)$minimum
}

#' Is the noise that a release reports that of its steps? It was divided by a curvature of `lambda`
#' at least.
#' @noRd
objective_conflict <- function(release) {
  vertical_noise_conflict(release, function(noise, settings) {
    settings$weights_variance > 0 && at_most(settings$weights_variance, noise / settings$lambda^2)
  })
}
