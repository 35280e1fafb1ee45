# The methods that a plan compares, each by its record.

#' What a plan asks of a method, a record each: functions of n, epsilon and facts
#'
#' `errors`: see [plan_errors()]; `noise`: the deviation of that on one weight, or on one moment of
#' the donors; `penalty` (of facts); `steps`: how often the interval is halved that holds the answer
#' to a question asked the other way round; `bar`: does that take long?
#' @noRd
plan_methods <- function() {
  list(
    gram = list(
      errors = function(n, epsilon, facts) {
        if (is_study(facts)) study_errors(n, epsilon, facts) else gram_errors(n, epsilon, facts)
      },
      noise = function(n, epsilon, facts) {
        plan_of <- if (is_study(facts)) study_plan else gram_plan_of
        plan_of(n, epsilon, facts)$moment_noise %||% NA_real_
      },
      penalty = function(facts) NA_real_, steps = 4L, bar = TRUE
    ),
    output = vertical_plan(output_noise, function(n, epsilon, facts) {
      step_deviation(plan_output(plan_facts("output", n, epsilon, facts))$weights, n)
    }),
    objective = vertical_plan(objective_noise, function(n, epsilon, facts) {
      step <- plan_objective(plan_facts("objective", n, epsilon, facts))$weights
      step_deviation(step, n) / step$mu
    })
  )
}

vertical_plan <- function(deviation, noise) {
  list(
    errors = function(n, epsilon, facts) vertical_errors(deviation, n, epsilon, facts),
    noise = noise, penalty = function(facts) facts$T0, steps = 8L, bar = FALSE
  )
}

#' Errors of a method at n donors and epsilon
#' @param facts (`list`)\cr from [plan_facts_of()].
#' @return A data frame, one row of all adoption dates together, then one of each if there are
#'   several: `error` (of a period), `floor` (without privacy), `average`, `half_width` (of the
#'   average's interval), `period_width`, `given` (share of releases that give an interval).
#' @noRd
plan_errors <- function(method, n, epsilon, facts) {
  plan_methods()[[method]]$errors(n, epsilon, facts)
}
