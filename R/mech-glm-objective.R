# Method "objective" of dp_glm(): whitened objective perturbation with spherical Laplace noise.
# Core: inst/include/dpsc/release/glm_release.hpp; proofs: inst/proofs/glm.md.

#' @noRd
objective_glm <- function() {
  new_mechanism("dp_glm",
    title = "objective perturbation in whitened coordinates", needs = "blocks", person = "blocks",
    weighs = paste(
      "Rows far from the middle have smaller weights, which depend on regressors alone. If the",
      "model is not exact, coefficients can differ from those of glm() by several standard errors. "
    ),
    references = c("kst", "rkw"),
    loss = function(fit, table, delta, others = NULL) {
      read <- function(x) if (!is.null(x)) glm_rows_cpp(x, fit$public$facts, fit$release)
      whitened_row_losses(fit, read(table), delta, read(others))
    },
    families = c("binomial", "poisson", "gaussian"), calibrations = "tight",
    options = c("intervals", "penalty", "constraints", "settings", "offset", "weights"),
    prepare = prepare_objective_glm,
    refuse = function(public) unknown_settings(public$options$settings, "length"),
    promise = promise_objective_glm, plan = plan_objective_glm, hopeless = check_curved,
    run = function(plan, table, public) glm_release_cpp(table, public$facts, public$rng),
    estimate = function(release, public) {
      estimate <- glm_estimate_cpp(release, public$facts)
      limits <- public$linear
      if (length(limits)) {
        estimate <- constrain_estimate(estimate, limits, !is.null(public$facts$wishes))
      }
      # With a lasso penalty or a limit, the errors are unknown.
      bare <- !public$facts$intervals || length(limits)
      if (bare) estimate[c("privacy", "sampling")] <- list(NULL)
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
    # The linear term is an exact draw and is rounded. Exact noise covers the rounding, except for
    # the longest terms, whose probability of exp(-60) is counted in delta if delta > 0.
    exact = public$delta > 0
  )
}

plan_objective_glm <- function(public) {
  plan <- glm_plan_cpp(public$facts)
  plan$cost <- new_cost("approximate", public$epsilon, public$delta, pure = public$delta == 0)
  plan
}

# With four fifths of the requirement, for a balanced design, only 2 of 440 simulated fits
# identified a slope.
hopeless_share <- 0.8

#' Refuse if, by the plan, the ridge outweighs the rows so that no slope would be identified
#'
#' For n rows of length R the curvature adds up to at most n k R^2 over d directions, where k is the
#' largest curvature of the loss. The ridge is b R^2 / c. R and the outcome's range cancel in the
#' ratio of curvature and ridge. Limits and penalties add information, so fits with limits or
#' penalties can still be useful.
#' @section Errors: `dpsc_error_argument`, before the charge.
#' @noRd
check_curved <- function(public, plan) {
  told <- function(n, epsilon) {
    facts <- utils::modifyList(public$facts, list(n = n, epsilon = min(epsilon, 1000)))
    plan <- tryCatch(glm_plan_cpp(facts), `dpsc::budget_too_small` = function(e) NULL)
    d <- length(public$facts$design$columns) + 1
    most <- if (public$family == "gaussian") 1 / 2 else 1 / 4
    !is.null(plan) && n * most * plan$c / d > hopeless_share * plan$identified.from
  }
  declared <- length(public$options$penalty) || length(public$options$constraints)
  if (declared || told(public$n, public$epsilon)) {
    return(invisible(NULL))
  }
  abort_unidentified(public, told, c(
    x = "The ridge penalty that privacy requires outweighs the information in all rows."
  ), "dp_plan_glm")
}

#' The requested row limit divided by its smallest value, or `NULL`
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_row_length <- function(settings) {
  length <- settings[["length"]]
  if (is.null(length) || is_number(length) && length == 0) {
    return(length)
  }
  check_number(length, 1, 100, arg = "settings$length")
}

#' Constraints on slopes in the core's form
#' @noRd
prepare_objective_glm <- function(public, columns) {
  # This limit is below the largest accepted loss. Beyond it the noise is negligible, and the best
  # order lies outside the search range.
  public$facts$epsilon <- min(public$facts$epsilon, 1000)
  public$facts$length <- check_row_length(public$options$settings)
  penalty <- public$options$penalty
  limits <- public$options$constraints
  if (!is.null(penalty) && isTRUE(columns$weighted)) {
    abort(c(
      "{.arg penalty} cannot be combined with {.arg weights}.",
      x = "A penalty is relative to the mean loss, and the total of the weights is private."
    ), "argument")
  }
  if (is.null(penalty) && is.null(limits)) {
    return(public)
  }
  weights <- check_weights(penalty)
  names <- vapply(columns$columns, `[[`, "", "name")
  known <- c("lower", "upper", "A", "b", "simplex", "after")
  if (length(limits) && !(is.list(limits) && all(names(limits) %in% known) &&
    length(names(limits)) == length(limits) && !anyDuplicated(names(limits)))) {
    abort(c(
      "{.arg constraints} must be a named list without repeated names.",
      i = "The allowed names are {.code {known}}."
    ), "argument")
  }
  after <- check_flag(limits$after %||% FALSE, arg = "constraints$after")
  if (after && any(weights > 0)) {
    abort(
      "Constraints imposed {.code after} the release cannot be combined with a penalty.", "argument"
    )
  }
  free <- list(lower = rep(-1e300, length(names)), upper = rep(1e300, length(names)))
  if (after || any(c("A", "b", "simplex") %in% names(limits))) {
    if (weights[["lasso"]] > 0 || weights[["group"]] > 0) {
      abort(
        "{.code A} and {.code simplex} cannot be combined with {.code lasso} or {.code group}.",
        "argument"
      )
    }
    public$linear <- linear_limits(limits, names)
    if (!is.null(limits$A)) {
      # The names are removed, since a file does not store them.
      public$options$constraints$A <- check_constraint_rows(limits$A, names) + 0
      dimnames(public$options$constraints$A) <- NULL
    }
    if (after) {
      return(public)
    }
    if (!is.null(public$person$column)) {
      abort(c(
        paste(
          "With {.arg person}, {.code A} and {.code simplex} can be imposed only {.code after} the",
          "release."
        ),
        i = paste(
          "Set {.code after = TRUE} in {.arg constraints}. During the fit, the bound on rounding",
          "errors over an unknown number of rows would be too wide."
        )
      ), "argument")
    }
    public$facts$wishes <- c(as.list(weights), list(groups = list()), free, public$linear)
    public$facts$intervals <- public$options$intervals <- FALSE
    return(public)
  }
  terms <- vapply(columns$columns, `[[`, 0L, "term")
  if (weights[["group"]] > 0 && (weights[["lasso"]] > 0 || length(limits))) {
    abort("A penalty on groups cannot be combined with {.code lasso} or constraints.", "argument")
  }
  lower <- check_limits(limits$lower, -1e300, names)
  upper <- check_limits(limits$upper, 1e300, names)
  if (any(lower > upper)) {
    abort("A slope's lower limit is above its upper limit.", "argument")
  }
  public$facts$wishes <- c(as.list(weights), list(
    groups = unname(split(seq_along(terms), terms)), lower = lower, upper = upper
  ))
  if (!only_ridge(public$facts$wishes)) {
    # With such a penalty, noisy information would be useless.
    public$facts$intervals <- public$options$intervals <- FALSE
  }
  public
}

#' Is the penalty a ridge alone, without constraints? Only then are standard errors available, which
#' refer to the penalised fit of the population
#' @noRd
only_ridge <- function(wishes) {
  is.null(wishes$A) && wishes$lasso == 0 && wishes$group == 0 && all(wishes$lower <= -1e300) &&
    all(wishes$upper >= 1e300)
}

check_weights <- function(penalty) {
  known <- c("lasso", "ridge", "group")
  ok <- is.null(penalty) || (is.list(penalty) && length(names(penalty)) == length(penalty) &&
    all(names(penalty) %in% known) && !anyDuplicated(names(penalty)))
  if (!ok) {
    abort(c(
      "{.arg penalty} must be a named list without repeated names.",
      i = "The allowed names are {.code {known}}."
    ), "argument")
  }
  vapply(stats::setNames(nm = known), function(name) {
    if (is.null(penalty[[name]])) return(0)
    check_number(penalty[[name]], 0, 1e6, arg = paste0("penalty$", name))
  }, 0)
}
