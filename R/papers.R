# The papers' own private regressions, by name and calibration. They release coefficients and nothing
# else; rows are used in public units (bounds), so none of them finds scales or medians first.

#' What each of them is: one record a method and calibration
#'
#' @return A list of lists: `family`, `calibrations` (the first is the default), `needs` (`"delta"`
#'   where it has no guarantee without), `theorem` (by calibration), `source`, `holds` (by
#'   calibration), `reason` where it does not. PUBLIC.
#' @noRd
paper_methods <- function() {
  list(
    ops = list(
      title = "One posterior sample", family = "gaussian", calibrations = "tight",
      needs = "delta", theorem = c(tight = "one Gaussian posterior draw, repaired (Theorem 2)"),
      source = "Wang, Fienberg and Smola (2015); Wang (2019)", holds = c(tight = TRUE)
    ),
    adaops = list(
      title = "Adaptive posterior sample", family = "gaussian", calibrations = "tight",
      needs = "delta",
      theorem = c(tight = "noisy smallest eigenvalue, then one posterior draw (Theorem 3)"),
      source = "Wang (2019), Algorithm 1, repaired", holds = c(tight = TRUE)
    ),
    output = list(
      title = "Output perturbation", family = "binomial", calibrations = c("tight", "published"),
      theorem = c(
        tight = "sensitivity 2 / ridge of the minimiser (Theorem 4)",
        published = "Lemma 3.1 of Thakurta (2013), twice the noise it needs (Theorem 4)"
      ),
      source = "Chaudhuri, Monteleoni and Sarwate (2011); Thakurta (2013)",
      holds = c(tight = TRUE, published = TRUE)
    ),
    objective = list(
      title = "Objective perturbation", family = "binomial",
      calibrations = c("tight", "kst", "cms"),
      theorem = c(
        tight = "slope and curvature of one record at the same place (Theorem 5)",
        kst = "Kifer, Smith and Thakurta (2012), proof repaired (Theorem 6)",
        cms = "Chaudhuri, Monteleoni and Sarwate (2011), Algorithm 2 (Theorem 6)"
      ),
      source = "Kifer, Smith and Thakurta (2012); Chaudhuri, Monteleoni and Sarwate (2011)",
      holds = c(tight = TRUE, kst = TRUE, cms = TRUE)
    ),
    napp = list(
      title = "NAPP-ERM", family = "binomial", calibrations = c("tight", "published"),
      theorem = c(
        tight = "stages with fresh noise and joint calibration (Theorem 7)", published = ""
      ),
      source = "Li and Liu, NAPP-ERM", holds = c(tight = TRUE, published = FALSE),
      reason = paste(
        "NAPP-ERM as printed reuses its noise while the penalty follows the estimate, and draws",
        "that noise from the wrong law: no epsilon holds (inst/proofs/papers.md, section 6)"
      )
    )
  )
}

#' Check a method's options and release
#' @param family (`string`)\cr `"gaussian"` or `"binomial"`.
#' @param settings (`list`, PUBLIC)\cr `ridge`, `stages`, `condition`, `iterations`, `target`.
#' @return A `dp_paper`.
#' @noRd
release_by_paper <- function(formula, data, family, method, calibration, epsilon, delta, bounds,
                             settings, subset, ledger, control, call) {
  record <- paper_methods()[[method]]
  if (record$family != family) refuse_family(method, family, record, call)
  calibration <- if (is.null(calibration)) {
    record$calibrations[[1L]]
  } else {
    check_choice(calibration, record$calibrations, call = call)
  }
  public <- paper_public(formula, data, family, method, calibration, epsilon, delta, bounds,
    settings, ledger, control, call)
  table <- leave_out(
    lm_table(public$columns, public$data, public$private, call), subset, data, call
  )
  plan <- paper_plan(public, record, call)
  promise <- paper_promise(public, record)
  if (public$private) {
    spend(ledger, plan$cost, tolower(record$title), call, promise)
    release <- paper_release_cpp(table, public$facts, public$rng)
  } else {
    release <- paper_raw_cpp(table, public$facts)
  }
  new_paper(public, record, plan, promise, release)
}

refuse_family <- function(method, family, record, call) {
  if (method %in% c("ops", "adaops")) {
    abort(c(
      "{.val {method}} is for linear regression only.",
      x = paste(
        "A posterior of a logistic regression has no exact sampler: a Markov chain stops at a",
        "distance from it that nobody can bound, and that distance is a part of delta."
      ),
      i = "Exact draws also lose to objective perturbation: use {.fn dp_glm} as it comes."
    ), "argument", call)
  }
  abort(c(
    "Method {.val {method}} is for logistic regression.",
    i = "For linear regression {.fn dp_lm} releases moments, and is far more accurate."
  ), "argument", call)
}

#' @noRd
paper_public <- function(formula, data, family, method, calibration, epsilon, delta, bounds,
                         settings, ledger, control, call) {
  epsilon <- check_epsilon(epsilon, call)
  delta <- check_number(delta, 0, 1, open = "max", call = call)
  control <- check_control(control, call)
  check_ledger(ledger, call)
  private <- is.finite(epsilon)
  if (!private && !is.null(ledger)) {
    abort(c(
      "{.code epsilon = Inf} is not private and cannot be charged to a ledger.",
      i = "Give a finite {.arg epsilon}, or drop {.arg ledger}."
    ), "budget", call)
  }
  if (!is.data.frame(data)) {
    abort(c("{.arg data} must be a data frame.", x = "It is {describe(data)}."), "data", call)
  }
  outcome <- if (family == "binomial") two_level_outcome(formula, data, bounds, call)
  columns <- lm_columns(formula, outcome$bounds %||% bounds, call)
  p <- length(columns$columns)
  if (nrow(data) <= p + 1) {
    abort(c(
      "There must be more rows than columns.", x = "There are {nrow(data)} rows and {p} columns."
    ), "data", call)
  }
  settings <- paper_settings(settings, method, calibration, call)
  list(
    private = private, epsilon = epsilon, delta = if (private) delta else 0, n = nrow(data),
    rng = control$rng, columns = columns, data = outcome$data %||% data, family = family,
    method = method, calibration = calibration, positive = outcome$positive,
    facts = c(list(
      n = nrow(data), epsilon = if (private) epsilon else 1, delta = if (private) delta else 1e-6,
      design = lm_design(columns), method = method, calibration = calibration
    ), settings)
  )
}

#' A two-valued outcome as 0 and 1
#' @return A list: `bounds`, `data`, with the outcome as numbers; `positive`, what 1 stands for.
#' @noRd
two_level_outcome <- function(formula, data, bounds, call) {
  name <- if (inherits(formula, "formula") && length(formula) == 3L && is.symbol(formula[[2L]])) {
    as.character(formula[[2L]])
  }
  bound <- if (!is.null(name) && is.list(bounds)) bounds[[name]]
  if (is.null(bound)) {
    abort(c(
      "The outcome of a logistic regression must be a column with an entry in {.arg bounds}.",
      i = "Its two levels, {.code c(FALSE, TRUE)} or {.code c(0, 1)}."
    ), "bounds", call)
  }
  levels <- lm_bound(if (is.numeric(bound) && !is.factor(bound)) as.character(bound) else bound,
    name, call)$levels
  if (length(levels) != 2L) {
    abort(c(
      "The outcome must have two levels.", x = "{.arg bounds} gives {length(levels)}."
    ), "bounds", call)
  }
  value <- data[[name]]
  if (is.null(value) || !is.atomic(value) || !is.null(dim(value))) {
    abort("The rows have no plain column {.code {name}}.", "data", call)
  }
  bounds[[name]] <- c(0, 1)
  data <- as.list(data)
  data[[name]] <- as.double(match(as.character(value), levels) - 1L)
  list(bounds = bounds, data = list2DF(data), positive = levels[[2L]])
}

paper_settings <- function(settings, method, calibration, call) {
  known <- switch(method,
    adaops = "condition",
    napp = if (calibration == "published") c("iterations", "target") else c("ridge", "stages"),
    "ridge"
  )
  if (!is.list(settings) || !all(rlang::names2(settings) %in% known)) {
    abort(c(
      "{.arg settings} must be a list with names among {.val {known}}, for method {.val {method}}."
    ), "argument", call)
  }
  number <- function(name, default, min = 0) {
    if (is.null(settings[[name]])) {
      return(default)
    }
    check_number(settings[[name]], min, 1e12, open = "min", arg = name, call = call)
  }
  list(
    ridge = number("ridge", 0), condition = number("condition", 4), target = number("target", 1),
    stages = check_count(settings$stages %||% 2, 1, 10, arg = "stages", call = call),
    iterations = check_count(settings$iterations %||% 20, 1, 1000, arg = "iterations", call = call)
  )
}

#' @return A list: `cost`, `steps`, and what the noise is. PUBLIC.
#' @noRd
paper_plan <- function(public, record, call) {
  if (!public$private) {
    return(list(cost = NULL, steps = NULL, delta = 0))
  }
  if (identical(record$needs, "delta") && public$delta == 0) {
    abort("Method {.val {public$method}} needs {.arg delta} above 0.", "argument", call)
  }
  plan <- tryCatch(paper_plan_cpp(public$facts), error = function(e) {
    abort(c(
      "{.arg epsilon} is too small for this regression, or {.arg ridge} is.",
      i = "Nothing was released and nothing was spent."
    ), "argument", call)
  })
  approximate <- isTRUE(plan$gaussian) || identical(record$needs, "delta")
  plan$delta <- if (approximate) public$delta else 0
  plan$cost <- if (approximate) {
    new_cost("approximate", epsilon = public$epsilon, delta = public$delta)
  } else {
    new_cost("pure", epsilon = public$epsilon)
  }
  plan
}

paper_promise <- function(public, record) {
  seeded <- !identical(public$rng, "secure")
  sound <- record$holds[[public$calibration]]
  list(
    holds = public$private && sound && !seeded,
    theorem = paste0(record$theorem[[public$calibration]], " (proofs/papers.md)"),
    reason = if (!public$private) {
      "epsilon = Inf: no noise was added"
    } else if (!sound) {
      record$reason
    } else if (seeded) {
      "the noise came from R's generator and can be reproduced from its seed"
    } else {
      ""
    },
    exact = FALSE
  )
}

#' @noRd
new_paper <- function(public, record, plan, promise, release) {
  names <- c("(Intercept)", vapply(public$columns$columns, `[[`, "", "name"))
  stages <- lapply(release$stages, stats::setNames, names)
  privacy <- c(list(
    private = public$private, epsilon = public$epsilon, delta = plan$delta, rho = NA_real_,
    neighbours = "replace one person's row", steps = plan$steps, rng = public$rng
  ), promise)
  structure(list(
    coefficients = stages[[length(stages)]], stages = stages, scaled = release$theta,
    ridge = release$ridge, family = public$family, method = public$method,
    calibration = public$calibration, source = record$source, title = record$title,
    positive = public$positive, nobs = public$n, columns = public$columns,
    text = public$columns$text, facts = public$facts, privacy = privacy,
    plan = plan[setdiff(names(plan), c("cost", "steps"))]
  ), class = "dp_paper")
}
