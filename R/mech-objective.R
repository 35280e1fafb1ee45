# Method "objective": Algorithm 3 of Rho, Cummings and Misra (2023), as published and repaired. The
# method adds a random linear term to the ridge objective, then noise to the post-period outcomes,
# in C++ (inst/include/dpsc/release/weights_release.hpp). Proof of the repaired version:
# inst/proofs/objective.md.

#' Public constants of objective perturbation
#'
#' `calibration = "tight"` minimises over `C = {||f||_1 <= 1, |f_j| <= cap}`, where one donor's
#' influence is bounded, and satisfies the stated `epsilon` and `delta`. `calibration = "published"`
#' uses the constants of Algorithm 3 without the constraint; the published guarantee is not valid.
#'
#' With `delta > 0`, half of delta goes to each step.
#' @inheritParams plan_output
#' @return A list: `weights` and `post`, the constants of the two steps; `share`, the share of the
#'   budget for the weights; `cost`; `steps` (a data frame). PUBLIC.
#' @noRd
plan_objective <- function(public) {
  facts <- weights_facts(public)
  if (!public$private) {
    cap <- min(1, facts$cap %||% (2 / sqrt(facts$n)))
    weights <- list(lambda = facts$lambda, mu = facts$lambda, cap = cap, tolerance = 1e-10)
    return(list(weights = weights, post = list(), cost = NULL, steps = NULL))
  }
  plan <- plan_objective_cpp(facts)
  check_solvable(plan)
  weights <- c(plan$weights, lambda = facts$lambda)
  list(
    weights = weights, post = plan$post, share = plan$share,
    cost = new_cost("approximate", public$epsilon, public$delta, pure = public$delta == 0),
    steps = rbind(
      describe_step("linear term of the objective", weights),
      if (!is.null(weights$cover)) describe_step("accuracy of the solver", weights$cover),
      describe_step("post-period outcomes", plan$post)
    )
  )
}

#' Release by objective perturbation
#' @inheritParams run_output
#' @noRd
run_objective <- function(plan, donors, public) {
  step <- plan$weights
  weights_release_cpp(donors, public$bounds, public$y, list(
    solver = if (public$calibration == "published") "perturbed" else "bounded",
    penalty = step$mu, cap = step$cap, tolerance = step$tolerance,
    noise = step, cover = step$cover, post = plan$post, shuffled = isTRUE(public$shuffled)
  ), public$control$rng)
}

#' Does the noise that a release reports agree with its steps? The noise was divided by a curvature
#' of at least `lambda`.
#' @noRd
objective_conflict <- function(release) {
  vertical_noise_conflict(release, function(noise, settings) {
    settings$weights_variance > 0 && at_most(settings$weights_variance, noise / settings$lambda^2)
  })
}
