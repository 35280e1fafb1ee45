# The records of methods "output" and "objective" of dp_synth() for the table of methods.

#' @noRd
output_mechanism <- function() {
  new_mechanism("dp_synth",
    title = "with noise on the weights (Rho, Cummings and Misra, 2023, Algorithm 2)",
    needs = "rows", options = c("lambda", "split"),
    plan = plan_output, run = run_output,
    settings = vertical_settings, theorem = output_theorem, gives = "weights",
    calibrations = c("tight", "published"), problem = vertical_problem,
    cost = composed_conflict, noise = output_conflict, loss = pdp_output,
    numbers = vertical_numbers
  )
}

#' @noRd
objective_mechanism <- function() {
  new_mechanism("dp_synth",
    title = "with noise in the objective (Rho, Cummings and Misra, 2023, Algorithm 3)",
    needs = "rows",
    options = c("lambda", "split", "cap", "curvature"),
    plan = plan_objective, run = run_objective,
    settings = vertical_settings, theorem = objective_theorem, gives = "weights",
    calibrations = c("tight", "published"), problem = vertical_problem,
    cost = added_conflict, noise = objective_conflict, loss = pdp_objective,
    numbers = vertical_numbers,
    published_fails = paste(
      "the published proof bounds the gradient on ||f||_1 <= 1, but the minimiser ranges over",
      "all of R^n, where one donor's influence is unbounded"
    )
  )
}

output_theorem <- function(public, steps) {
  if (public$calibration == "published") {
    "Theorem 3.1 of Rho, Cummings and Misra (2023), with more noise than needed"
  } else {
    "exact sensitivity of ridge weights (leave-one-out identity, proofs/ridge.md)"
  }
}

objective_theorem <- function(public, steps) {
  if (public$calibration == "published") {
    "Rho, Cummings and Misra (2023), Theorem 3.4, whose proof fails"
  } else {
    paste(
      "objective perturbation over a bounded set, face by face (Kifer, Smith and Thakurta, 2012,",
      "repaired, proofs/objective.md)"
    )
  }
}
