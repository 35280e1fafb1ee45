# Method "objective" of dp_glm(): whitened objective perturbation with spherical Laplace noise.
# The core is inst/include/dpsc/release/glm_release.hpp; proofs are in inst/proofs/glm.md.

#' @noRd
objective_glm <- function() {
  list(
    title = "objective perturbation in whitened coordinates",
    families = c("binomial", "poisson", "gaussian"), calibrations = "tight",
    options = "intervals", promise = promise_objective_glm, plan = plan_objective_glm,
    run = function(plan, table, public) glm_release_cpp(table, public$facts, public$rng),
    estimate = function(release, public) {
      estimate <- glm_estimate_cpp(release, public$facts)
      if (!public$facts$intervals) estimate[c("privacy", "sampling")] <- list(NULL)
      estimate
    }
  )
}

promise_objective_glm <- function(public) {
  list(
    holds = TRUE, neighbours = "replace one person's row", reason = "",
    theorem = if (public$delta > 0) {
      paste("Renyi bound of objective perturbation, composed with zero-concentrated steps",
        "(proofs/glm.md, Theorem 3)")
    } else {
      "pure objective perturbation (proofs/glm.md, Theorem 2)"
    },
    # The linear term is drawn in floating point.
    exact = FALSE
  )
}

plan_objective_glm <- function(public, call) {
  plan <- glm_plan_cpp(public$facts)
  plan$cost <- if (public$delta > 0) {
    new_cost("approximate", epsilon = public$epsilon, delta = public$delta)
  } else {
    new_cost("pure", epsilon = public$epsilon)
  }
  plan
}
