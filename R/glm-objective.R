# Method "objective" of dp_glm(): whitened objective perturbation with spherical Laplace noise.
# The core is inst/include/dpsc/release/glm_release.hpp; proofs are in inst/proofs/glm.md.

#' @noRd
objective_glm <- function() {
  list(
    title = "objective perturbation in whitened coordinates",
    families = c("binomial", "poisson", "gaussian"), calibrations = "tight",
    options = c("intervals", "penalty", "constraints"), prepare = prepare_objective_glm,
    promise = promise_objective_glm, plan = plan_objective_glm,
    run = function(plan, table, public) glm_release_cpp(table, public$facts, public$rng),
    estimate = function(release, public) {
      estimate <- glm_estimate_cpp(release, public$facts)
      # What a penalty or a limit does to an error is not known.
      bare <- !public$facts$intervals || length(public$facts$wishes)
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

#' What slopes are asked to be, in the core's terms
#' @noRd
prepare_objective_glm <- function(public, columns, call) {
  penalty <- public$options$penalty
  limits <- public$options$constraints
  if (is.null(penalty) && is.null(limits)) {
    return(public)
  }
  weights <- check_weights(penalty, call)
  names <- vapply(columns$columns, `[[`, "", "name")
  terms <- vapply(columns$columns, `[[`, 0L, "term")
  if (weights[["group"]] > 0 && (weights[["lasso"]] > 0 || length(limits))) {
    abort("A penalty on groups goes with no {.code lasso} and no constraints.", "argument", call)
  }
  if (length(limits) && !(is.list(limits) && all(names(limits) %in% c("lower", "upper")) &&
    length(names(limits)) == length(limits))) {
    abort("{.arg constraints} must be a list of {.code lower} and {.code upper}.", "argument", call)
  }
  lower <- check_limits(limits$lower, -1e300, names, call)
  upper <- check_limits(limits$upper, 1e300, names, call)
  if (any(lower > upper)) {
    abort("A slope's lower limit is above its upper one.", "argument", call)
  }
  public$facts$wishes <- c(as.list(weights), list(
    groups = unname(split(seq_along(terms), terms)), lower = lower, upper = upper
  ))
  # Noisy information would serve nothing.
  public$facts$intervals <- public$options$intervals <- FALSE
  public
}

check_weights <- function(penalty, call) {
  known <- c("lasso", "ridge", "group")
  ok <- is.null(penalty) || (is.list(penalty) && length(names(penalty)) == length(penalty) &&
    all(names(penalty) %in% known) && !anyDuplicated(names(penalty)))
  if (!ok) {
    abort("{.arg penalty} must be a list of {.or {.code {known}}}.", "argument", call)
  }
  vapply(stats::setNames(nm = known), function(name) {
    if (is.null(penalty[[name]])) return(0)
    check_number(penalty[[name]], 0, 1e6, arg = paste0("penalty$", name), call = call)
  }, 0)
}

check_limits <- function(given, free, names, call) {
  out <- rep(free, length(names))
  if (is.null(given)) {
    return(out)
  }
  ok <- is.numeric(given) && !anyNA(given) && all(is.finite(given)) &&
    (length(given) == 1L && is.null(names(given)) ||
      length(given) && !is.null(names(given)) && all(names(given) %in% names) &&
        !anyDuplicated(names(given)))
  if (!ok) {
    abort(c(
      "A limit must be one number, or numbers named by slopes.", i = "They are {.val {names}}."
    ), "argument", call)
  }
  if (is.null(names(given))) out[] <- given else out[match(names(given), names)] <- given
  out
}
