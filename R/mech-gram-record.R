# The record of method "gram" of dp_synth() for the table of methods.

#' @noRd
gram_mechanism <- function() {
  new_mechanism("dp_synth",
    title = "from the donors' mean and second moments over time", needs = "sums",
    options = c("lambda", "features", "intervals", "target_round"),
    plan = plan_gram, run = run_gram,
    settings = function(public, plan) plan$settings,
    theorem = gram_theorem, gives = "moments", calibrations = "tight", problem = gram_problem,
    cost = composed_conflict, noise = gram_noise_conflict, loss = pdp_gram,
    numbers = gram_numbers, variants = gram_variants()
  )
}

#' Variants of method gram for protected treated people, for several dates and for announced periods
#' @noRd
gram_variants <- function() {
  list(
    dates = list(plan = plan_cohorts, run = run_cohorts),
    everyone = list(
      plan = function(public) plan_everyone(public, plan_gram),
      run = function(plan, rows, public) run_everyone(plan, rows, public, run_gram)
    ),
    everyone_dates = list(
      plan = function(public) plan_everyone_cohorts(public, plan_cohorts),
      run = function(plan, rows, public) run_everyone_cohorts(plan, rows, public, run_cohorts)
    ),
    # Each person's numbers are clipped before they are summed, which a database engine cannot do.
    growing = list(plan = plan_growing, run = run_growing, needs = "blocks")
  )
}

gram_theorem <- function(public, steps) {
  # Version 0.1.0 counted losses in zCDP.
  kind <- if (in_shifts(steps)) "Gaussian" else "zero-concentrated"
  composition_theorem(if (public$delta == 0) "pure" else kind, "gram")
}
