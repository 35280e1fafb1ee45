# The methods of dp_release(), a record each: what a method is stands here, and no one asks for its
# name elsewhere. What a method's noise does to a prediction is not a fact of the method: it needs
# an estimator, and stands with these (estimate-*.R).

#' The methods, by name
#'
#' A record is a list:
#' * `plan` (function of public): what it will spend, on which steps, and its constants. PUBLIC.
#' * `run` (function of plan, rows and public): the statistics. RELEASED.
#' * `needs` (string): `"sums"` over donors, wherever they are, or their `"rows"` at once.
#' * `options` (character): settings of [dp_control()] that it knows; others are refused.
#' * `settings` (function of public and plan): what the estimator has to know. PUBLIC.
#' * `theorem` (function of public and steps): a string.
#' * `published_fails` (string or `NULL`): why the published calibration does not hold.
#' * `gives` (string): `"moments"` of the donors, which serve any target, penalty and later date, or
#'   `"weights"` of one.
#' * `calibrations` (character): which it has; the first is the default.
#' * `problem` (function of release): what is wrong with statistics read from a file, or `NULL`.
#' * `cost`, `noise` (functions of release): the same of a private release whose steps do not add up
#'   to its promise, and of one whose statistics report other noise than its steps.
#' * `loss` (function of release, donors, delta and call): privacy loss of every donor, a table as
#'   `loss_table()` makes it. PRIVATE.
#' * `numbers` (function of statistics): what was released, one vector, for audits. RELEASED.
#' @noRd
mechanisms <- function() {
  list(
    gram = list(
      plan = plan_gram, run = run_gram, needs = "sums",
      options = c("lambda", "features", "intervals", "target_round"),
      settings = function(public, plan) plan$settings,
      theorem = gram_theorem, gives = "moments", calibrations = "tight", problem = gram_problem,
      cost = composed_conflict, noise = gram_noise_conflict, loss = pdp_gram,
      numbers = gram_numbers
    ),
    output = list(
      plan = plan_output, run = run_output, needs = "rows", options = c("lambda", "split"),
      settings = vertical_settings, theorem = output_theorem, gives = "weights",
      calibrations = c("tight", "published"), problem = vertical_problem,
      cost = composed_conflict, noise = output_conflict, loss = pdp_output,
      numbers = vertical_numbers
    ),
    objective = list(
      plan = plan_objective, run = run_objective, needs = "rows",
      options = c("lambda", "split", "cap", "curvature"),
      settings = vertical_settings, theorem = objective_theorem, gives = "weights",
      calibrations = c("tight", "published"), problem = vertical_problem,
      cost = added_conflict, noise = objective_conflict, loss = pdp_objective,
      numbers = vertical_numbers,
      published_fails = paste(
        "the published proof bounds the gradient on ||f||_1 <= 1, but the minimiser ranges over",
        "all of R^n, where one donor's influence is unbounded"
      )
    )
  )
}

#' Does a method release moments of the donors? Estimators on raw donors do not.
#' @noRd
gives_moments <- function(method) identical(mechanisms()[[method]]$gives, "moments")

#' Has a method another calibration than its default?
#' @noRd
has_calibrations <- function(method) length(mechanisms()[[method]]$calibrations) > 1L

#' Refuse settings that a method does not know, which would change nothing
#' @param control (`dp_control`).
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_method_options <- function(method, options, control) {
  optional <- c("lambda", "features", "split", "cap", "curvature")
  given <- c(
    optional[!vapply(control[optional], is.null, NA)], if (!control$intervals) "intervals",
    if (!control$target_round) "target_round", if (length(control$settings)) "settings"
  )
  unknown <- setdiff(given, options)
  if (length(unknown)) {
    abort(c(
      "Method {.val {method}} has no option {.or {.arg {unknown}}}.",
      i = "See {.fn dp_control} for the options of each method."
    ), "argument")
  }
}

#' Check the estimator that a release is for
#' @noRd
check_estimator <- function(estimator, method) {
  estimator <- check_choice(estimator, c("ridge", "did", raw_estimators))
  if (estimator %in% raw_estimators) {
    abort(c(
      "{.code estimator = {.val {estimator}}} works on raw donors, not on a release.",
      i = "Give the donors and {.code epsilon = Inf}, which is NOT PRIVATE."
    ), "argument")
  }
  if (estimator == "did" && !gives_moments(method)) {
    abort(c(
      "{.code estimator = \"did\"} needs {.code method = \"gram\"}.",
      i = "Methods {.val output} and {.val objective} release ridge weights only."
    ), "argument")
  }
  estimator
}

gram_theorem <- function(public, steps) {
  if (public$delta == 0) {
    "adaptive composition of pure differential privacy (Dwork and Roth, 2014; proofs/gram.md)"
  } else if (in_shifts(steps)) {
    paste(
      "adaptive composition of Gaussian differential privacy (Dong, Roth and Su, 2022;",
      "proofs/gram.md)"
    )
  } else {
    # Version 0.1.0.
    paste(
      "adaptive composition of zero-concentrated differential privacy (Bun and Steinke, 2016;",
      "proofs/gram.md)"
    )
  }
}

output_theorem <- function(public, steps) {
  if (public$calibration == "published") {
    "Rho, Cummings and Misra (2023), Theorem 3.1, whose noise is larger than needed"
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

#' What a release promises, by which theorem, and whether the promise holds
#' @return A list: `holds` (flag), `theorem`, `reason` (strings), `exact` (flag: no floating-point
#'   noise), and `assumes` (string) where it rests on something. PUBLIC.
#' @noRd
guarantee <- function(public, plan, assumes = NULL) {
  if (!public$private) {
    return(list(holds = FALSE, theorem = "", reason = unkept_reason(public), exact = TRUE))
  }
  mechanism <- mechanisms()[[public$method]]
  theorem <- mechanism$theorem(public, plan$steps)
  if (!is.null(public$treated)) {
    theorem <- paste0(
      sub(")$", "", theorem), "), for donors and treated each (adaptive parallel composition, ",
      "proofs/treated.md)"
    )
  }
  if (!is.null(public$monitor)) {
    theorem <- sub("proofs/gram.md)", "proofs/gram.md, proofs/growing.md)", theorem, fixed = TRUE)
  }
  fails <- if (public$calibration == "published") mechanism$published_fails
  drawn <- list(private = TRUE, rng = public$control$rng)
  c(list(
    holds = is.null(fails) && is_kept(drawn), theorem = theorem,
    reason = fails %||% unkept_reason(drawn),
    exact = all(plan$steps$law %in% exact_laws)
  ), assumed(drawn, assumes))
}
