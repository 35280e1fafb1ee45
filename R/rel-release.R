# The release: the noisy statistics, the only result computed from donors that this file returns.

#' Release the donors' statistics once, privately
#'
#' `dp_release()` makes all computations of [dp_synth()] that use donors, with noise, and charges
#' the ledger before the noise is drawn. A release by method `"gram"` can be used for any target and
#' any settings at no further cost, by `dp_synth(release, target = y)`. Results are most accurate
#' for the release's own target: if donors and budget permit, 12 % of the budget is spent on the
#' donors' moments in this target's direction. This step requires `delta > 0`, the default
#' estimator, features that are not single periods, one adoption date, no covariates, and `protect =
#' "donors"`. The release's intervals are calibrated for the default estimator with the penalty in
#' `control` and, depending on `size`, for single people or for means of at least 20 people.
#' Releases by `"output"` and `"objective"` contain weights for one target.
#'
#' @inheritParams dp_synth_donors
#' @inheritParams dp_synth
#' @param size (`count`, or one for each treated unit)\cr number of people over whom the target is
#'   averaged; `NULL` means 1. From 20 people on a release by `"gram"` spends the part of the budget
#'   for intervals on intervals for a mean, which are shorter than intervals for single people and
#'   replace them. PUBLIC.
#' @return An object of class `dp_release`, a list of noisy statistics and public facts:
#'   * `method`, `calibration`: as requested.
#'   * `statistics`: the noisy statistics. RELEASED (private information with noise).
#'   * `panel`: `n` (donors), `T0` and `T1` (periods before and from the treatment), `times`,
#'     `outcome`. PUBLIC.
#'   * `bounds`: `lower` and `upper`, one value per period, outcome units. PUBLIC.
#'   * `settings`: the settings of [dp_control()] that the estimator needs. PUBLIC.
#'   * `asked`: the other facts that determine the plan, such as options and the target before the
#'     treatment. PUBLIC.
#'   * `privacy`: `private`, `holds`, `reason`, `epsilon`, `delta`, `rho`, `neighbours`, `theorem`,
#'     `steps` (one row per noise step: law, sensitivity, scale, cost), `rng`, `exact`. PUBLIC.
#'
#'   The object contains no donor's value or name, and no call, formula or environment.
#' @inheritSection dp_synth Errors
#' @seealso [dp_synth()], [write_release()].
#' @examples
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3)
#' release <- dp_release(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1)
#' )
#' release
#' dp_synth(release, target = panel$target)
#' @export
dp_release <- function(x, ...) {
  door("dp_release", pays = TRUE, check_argument_names(...names(), "dp_release"))
  UseMethod("dp_release")
}

#' @rdname dp_release
#' @export
dp_release.default <- function(x, ...) door("dp_release", pays = TRUE, {
  abort_unknown_input(x)
})

#' @rdname dp_release
#' @export
dp_release.formula <- function(x, data, index, epsilon, delta = 1e-6, bounds = NULL,
                               method = "gram",
                               calibration = c("tight", "published"), ledger = NULL,
                               control = dp_control(), size = NULL, protect = NULL,
                               na = c("error", "interpolate"), roster = NULL, weights = NULL,
                               max_weight = NULL, ...) door("dp_release", pays = TRUE, {
  check_no_dots(...)
  request <- panel_request(
    epsilon = if (!missing(epsilon)) epsilon, delta = delta, bounds = bounds, method = method,
    calibration = calibration, size = size, ledger = ledger, control = control,
    protect = protect, weights = substitute(weights), max_weight = max_weight, formula = x
  )
  if (!is.null(split_outcomes(x, bounds, request$private))) {
    abort(c(
      "A release can have only one outcome.",
      i = "{.fn dp_synth} releases several outcomes, {.code cbind(y1, y2) ~ treated}, in one call."
    ), "panel")
  }
  people <- panel_people(data, index, na, roster, substitute(index))
  release_guarded(formula_panel(x, people, request), request)
})

#' @rdname dp_release
#' @export
dp_release.matrix <- function(x, target, T0, epsilon, delta = 1e-6, bounds = NULL,
                              method = "gram",
                              calibration = c("tight", "published"), ledger = NULL,
                              control = dp_control(), times = NULL, size = NULL,
                              protect = NULL, weights = NULL, max_weight = NULL,
                              ...) door("dp_release", pays = TRUE, {
  check_no_dots(...)
  request <- panel_request(
    epsilon = if (!missing(epsilon)) epsilon, delta = delta, bounds = bounds, method = method,
    calibration = calibration, size = size, ledger = ledger, control = control,
    protect = protect, weights = weights, max_weight = max_weight
  )
  panel <- donors_panel(x, target, T0, times, request)
  release_guarded(panel, request)
})

#' @rdname dp_release
#' @export
dp_release.dp_chunks <- dp_release.matrix

#' @rdname dp_release
#' @export
dp_release.dp_source <- dp_release.matrix

#' Request for a release of a panel, before its people are read
#'
#' @param ... the user's arguments, by name: `epsilon` (`NULL`: missing), `delta`, `bounds`,
#'   `method`, `calibration`, `estimator`, `size`, `ledger`, `control`, `protect`, `monitor`.
#' @param weights,max_weight,formula as in [with_weights()].
#' @return A list of these arguments, with `private`; `guarding`, the methods that can protect
#'   treated people, if such protection is requested; `classical`, whether the estimator uses raw
#'   donors. The list also contains rules for messages about treated people and donors: `hide`
#'   (treated people are protected, so there is no message), `quiet` (messages contain no name,
#'   because by `size` each treated unit is one person), `ask` (`NULL`, or a function of the number
#'   of treated units and of whether their rows fail a check, which requests `protect`),
#'   `keep_names` (the donors' names are public).
#' @noRd
panel_request <- function(..., control, weights = NULL, max_weight = NULL, formula = NULL) {
  check_control(control)
  request <- list(..., control = control)
  size <- check_size_value(request$size)
  single <- is.null(size) || !is.numeric(size) || !all(size > 1)
  # A missing or invalid epsilon counts as finite; it is checked later.
  request$private <- !(is_number(request$epsilon) && request$epsilon == Inf)
  request$classical <- isTRUE(request$estimator %in% raw_estimators)
  request$hide <- request$private && identical(request$protect, "everyone")
  if (request$hide) request$guarding <- methods_with("everyone")
  request$quiet <- request$hide || (request$private && single)
  request$keep_names <- request$control$donor_names || request$classical
  # One treated unit without `size` may be a person or a clinic. `protect` is required only if the
  # unit's rows contain a fault, before any message about them.
  request$ask <- function(k, failing = FALSE) {
    check_protect(request, k, people = single && (failing || !is.null(size)))
  }
  if (is.null(weights) && is.null(max_weight)) {
    return(request)
  }
  with_weights(request, weights, max_weight, formula)
}

#' The panel of donors (a matrix, chunks or a source) and of targets
#' @param request (`list`)\cr from [panel_request()].
#' @noRd
donors_panel <- function(x, target, T0, times, request) {
  # `protect` is required before any error about a target.
  if (!missing(target)) check_protect(request, if (is.matrix(target)) nrow(target) else 1L)
  weighted <- !is.null(request$weights)
  if (weighted) x <- weighted_chunks(x, request)
  panel <- panel_from_donors(x, target, T0, times, hide = request$quiet)
  if (request$keep_names) panel$donor_names <- rownames(x)
  panel$bounds <- request$bounds
  if (weighted) take_given_weights(panel, request) else panel
}

#' The release of a checked panel that protects the people in `protect`
#' @noRd
release_guarded <- function(panel, request) {
  panel <- guard_panel(panel, request)
  release <- release_panel(panel, request)
  warn_doubts(panel_doubts(release))
  release
}

#' The release of a checked panel, by the steps plan, charge, draw
#'
#' The guarantee depends on the order of the steps: every check by public facts precedes the charge,
#' the charge precedes the draw, and donors are not used afterwards.
#' @param panel (`dpsc_panel`, donors PRIVATE)\cr from [guard_panel()].
#' @param request (`list`)\cr from [panel_request()].
#' @param refuse (`flag`)\cr whether to stop if the plan cannot succeed.
#' @return A `dp_release`. RELEASED.
#' @noRd
release_panel <- function(panel, request, refuse = FALSE) {
  # The ledger that pays, which may be the session's ledger, records the draws of announced periods.
  request["ledger"] <- list(paying_ledger(request$ledger, request$private))
  public <- release_facts(panel, request)
  public$refuse <- refuse
  made <- make_release(new_request(panel_record(public), public, panel, request$ledger))
  release <- with_charge(made$drawn, made$charge)
  reserve_draws(request$ledger, release$statistics$monitor$id)
  release
}

#' The verb's record for a release of a panel with these public facts
#' @noRd
panel_record <- function(public) {
  mechanism <- release_mechanism(public)
  list(
    plan = function(request) mechanism$plan(request$public),
    refuse = function(request, plan) {
      hopeless <- isTRUE(plan$noise > hopeless_noise)
      if (request$public$refuse && hopeless) check_hopeless(request$public, plan)
    },
    open = function(request, plan) {
      donors <- request$people$donors
      # Rows in memory need not be opened.
      if (is.matrix(donors)) return(donors)
      open_donors(donors, request$public, isTRUE(plan$calibrated))
    },
    promise = function(request, plan) guarantee(request$public, plan),
    label = function(request, plan) {
      public <- request$public
      later <- public$monitor
      paste0(
        "release by method \"", public$method, "\"", if (!is.null(public$treated)) ", everyone",
        if (!is.null(later)) paste0(", and ", count_of(later, "period"), " to come")
      )
    },
    run = function(request, plan, rows) {
      public <- request$public
      panel <- request$people
      if (!is.null(public$covariates)) rows <- mechanism_rows(rows, "donors", panel, public)
      # The core expects weights in the last column.
      if (!is.null(panel$weights)) rows <- unname(cbind(rows, panel$weights))
      if (!is.null(panel$treated)) {
        treated <- mechanism_rows(panel$treated, "target", panel, public)
        rows <- list(donors = rows, treated = treated)
      }
      statistics <- mechanism$run(plan, rows, public)
      new_release(public, plan, statistics, panel)
    }
  )
}

#' All public facts of a release, for all mechanisms
#' @noRd
release_facts <- function(panel, request) {
  public <- public_facts(panel, request)
  public$size <- sum(panel$size)
  public$treated <- nrow(panel$treated)
  public$covariates <- panel$covariates$columns
  public$weights <- panel$weight_limits
  if (!is.null(panel$adopted)) {
    check_cohort_method(public$method, panel$adopted)
    public$size <- smallest_group(panel$size, panel$adopted)
    public$dates <- adoption_dates(panel)
    public$treated <- treated_counts(panel)
    public$adopted <- panel$adopted
  }
  if (!is.null(public$covariates)) check_covariate_method(public)
  if (!is.null(request$monitor)) {
    public$monitor <- check_monitor(request$monitor)
    public[c("paid", "sizes")] <- list(!is.null(request$ledger), panel$size)
    check_can_grow(public, panel$donors)
    public$between <- mean_between(panel$covariates, panel$size)
  }
  public
}

#' Rows in the mechanisms' form: outcome units, with covariates after the pre-period
#' @param who (`string`)\cr `"donors"` or `"target"`.
#' @noRd
mechanism_rows <- function(rows, who, panel, public) {
  # The rows of donors outside R contain the covariates.
  if (is.null(public$covariates) || (who == "donors" && is.null(panel$covariates$donors))) {
    return(rows)
  }
  between <- if (who == "donors") {
    panel$covariates$scaled
  } else {
    scaled_covariates(panel$covariates[[who]], public$covariates)
  }
  insert_covariates(rows, between * public$bounds$unit, public$T0)
}

#' @noRd
check_covariate_method <- function(public) {
  if (!is.null(public$covariates) && !gives_moments(public$method)) {
    abort(c(
      "Covariates need {.code method = \"gram\"}."
    ), "covariate")
  }
}

#' The mechanism of a release, which is the mechanism of its method or a variant for several dates,
#' for protected treated people, or for announced periods
#' @noRd
release_mechanism <- function(public) {
  record <- mechanism_table$dp_synth[[public$method]]
  asked <- c(
    if (!is.null(public$treated)) "everyone", if (!is.null(public$dates)) "dates",
    if (!is.null(public$monitor)) "growing"
  )
  if (is.null(asked)) record else record$variants[[paste(asked, collapse = "_")]]
}

#' All public facts of a release, checked
#' @return A list: sizes, scale, budget, settings, and the scaled pre-period of the (mean) target
#'   `y`.
#' @noRd
public_facts <- function(panel, request) {
  table <- mechanism_table$dp_synth
  method <- check_choice(request$method, names(table), "method")
  check_draws_here()
  calibration <- check_choice(request$calibration, c("tight", "published"), "calibration")
  if (is.null(request$epsilon)) check_epsilon_given(TRUE)
  epsilon <- check_epsilon(request$epsilon)
  delta <- check_number(request$delta, 0, 1, open = "max", arg = "delta")
  private <- is.finite(epsilon)
  control <- request$control
  check_method_options(method, table[[method]]$options, control)
  estimator <- check_estimator(request$estimator %||% "ridge", method)
  if (!is.matrix(panel$donors)) {
    refuse_needed(panel$donors, table[[method]]$needs, method, private)
  }
  bounds <- panel$bounds
  periods <- panel$T0 + panel$T1
  if (private && is.null(bounds)) {
    abort(c(
      "{.arg bounds} is required when {.arg epsilon} is finite.",
      i = paste(
        "Give public limits on the outcome, {.code {outcome_to_paste(panel$outcome)}}. They must",
        "not come from the donors' data, which is why there is no default."
      )
    ), "bounds")
  }
  if (!private) check_nothing_to_charge(check_ledger(request$ledger))
  size <- panel$size %||% rep(1, nrow(panel$target))
  # A single row is the mean of the group, for any group size.
  group <- if (nrow(panel$target) > 1L) mean_target(panel$target, size) else panel$target
  pre_mean <- unname(group[1L, seq_len(panel$T0)])
  scale <- if (is.null(bounds)) no_bounds(periods) else new_bounds(bounds, periods)
  if (private && delta >= 1 / panel$n) warn_of_delta(delta, panel$n, "donor")
  target <- to_scale(panel$target, scale)
  y <- to_scale(rbind(pre_mean), scale, seq_along(pre_mean))[1L, ]
  if (private) check_target_bounds(panel, target, scale, method, calibration)
  list(
    method = method, estimator = estimator, calibration = calibration, private = private,
    epsilon = epsilon, delta = if (private) delta else 0, n = panel$n, T0 = panel$T0, T1 = panel$T1,
    bounds = scale, half = scale$half, y = y,
    target = pre_mean, control = control,
    shuffled = private && table[[method]]$needs == "rows" && named_places(panel, control)
  )
}

#' Do the bounds, which must come from other knowledge, agree with the public target?
#' @param target (`matrix`, k x T)\cr scaled.
#' @noRd
check_target_bounds <- function(panel, target, scale, method, calibration) {
  if (!all(abs(target) < 1e6)) {
    abort(c(
      "The target is more than a million half-widths of {.arg bounds} away from their middle.",
      i = "Give {.arg bounds} in the units of the outcome."
    ), "bounds")
  }
  if (calibration == "published" && has_calibrations(method) &&
      any(abs(target[, seq_len(panel$T0)]) > 1)) {
    abort(c(
      "The published constants require a target within {.arg bounds} before the treatment.",
      i = "Widen {.arg bounds}, or use {.code calibration = \"tight\"}."
    ), "bounds")
  }
  pre <- seq_len(panel$T0)
  outside <- abs(t(target[, pre, drop = FALSE])) > scale$half[pre]
  if (mean(outside) > 1 / 2) {
    abort(c(
      "{.arg bounds} miss the target: most of the target's pre-treatment values lie outside.",
      x = paste(
        "The values range from {signif(min(panel$target[, pre]), 4)} to",
        "{signif(max(panel$target[, pre]), 4)}, and the bounds from",
        "{signif(min(scale$lower), 4)} to {signif(max(scale$upper), 4)}."
      ),
      i = paste(
        "{.arg bounds} must be in the units of the outcome in {.arg formula}. For a log give",
        "limits of the log."
      )
    ), "bounds")
  }
  if (any(outside)) {
    warn(c(
      "The target lies outside {.arg bounds} in at least one period before the treatment.",
      i = paste(
        "Donors like the target are clipped. The resulting bias of the counterfactual can exceed",
        "the width of the interval. Widen {.arg bounds}."
      )
    ), "bounds")
  }
}

#' @noRd
check_epsilon_given <- function(missing) {
  if (missing) {
    abort(c(
      "{.arg epsilon} is required: the privacy loss you accept.",
      i = "Smaller values protect more; 1 is common. {.code epsilon = Inf} is not private."
    ), "argument")
  }
}

#' @noRd
new_release <- function(public, plan, statistics, panel) {
  structure(list(
    method = public$method, calibration = public$calibration, statistics = statistics,
    panel = c(list(
      n = public$n, T0 = public$T0, T1 = public$T1, times = panel$times, outcome = panel$outcome,
      donor_names = if (names_are_public(public)) panel$donor_names
    ), if (!is.null(public$treated)) list(treated = public$treated),
    if (!is.null(public$covariates)) list(covariates = public$covariates),
    if (!is.null(public$weights)) list(weights = public$weights),
    if (!is.null(panel$gaps)) list(gaps = panel$gaps)),
    bounds = public$bounds[c("lower", "upper")],
    settings = mechanism_table$dp_synth[[public$method]]$settings(public, plan),
    asked = asked_facts(public, plan),
    privacy = c(
      list(
        private = public$private, epsilon = public$epsilon, delta = public$delta,
        rho = plan$cost$rho %||% NA_real_, neighbours = neighbours_of(
          public$treated, names_are_public(public) && !is.null(panel$donor_names)
        ),
        steps = plan$steps, rng = public$control$rng, version = own_version()
      ),
      guarantee(public, plan, panel$assumes)
    )
  ), class = "dp_release")
}

#' The facts of a plan that no other field of a release contains, for a new plan from a file
#' @return A list: `target` (T0, outcome units; the middle of the bounds for protected treated
#'   people), `y` (the scaled target), `size`, `estimator`, `dates`, `control`. PUBLIC.
#' @noRd
asked_facts <- function(public, plan) {
  control <- unclass(public$control)[
    c("lambda", "features", "split", "cap", "curvature", "intervals", "target_round")
  ]
  control["split"] <- list(plan$share %||% control$split)
  list(
    target = public$target, y = public$y, size = public$size,
    estimator = public$estimator, dates = public$dates, control = control
  )
}

#' Does a release contain the donors' names? A method of sums lists no donors and never does
#' @noRd
names_are_public <- function(public) {
  listed <- mechanism_table$dp_synth[[public$method]]$needs == "rows"
  public$control$donor_names && (listed || !public$private)
}

abort_unknown_input <- function(x) {
  abort(c(
    "The first argument must be a formula, a matrix or chunks of donors, or a release.",
    x = "It is {describe(x)}.",
    i = if (is.data.frame(x)) {
      "For long data write {.code outcome ~ treated, data = ..., index = c(\"unit\", \"time\")}."
    },
    i = if (is.data.frame(x)) {
      "For wide data, one row per donor and one column per period, use {.code as.matrix()}."
    }
  ), "argument")
}
