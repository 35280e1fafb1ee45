# The table of the methods of all verbs, with one record each (see new_mechanism()).

#' All records, by verb and by name
#' @noRd
make_mechanisms <- function() {
  list(
    dp_synth = list(
      gram = gram_mechanism(), output = output_mechanism(), objective = objective_mechanism()
    ),
    dp_lm = c(list(moments = moments_mechanism()), posterior_mechanisms()),
    dp_glm = c(list(objective = objective_glm()), paper_mechanisms()),
    dp_select = selectors(),
    dp_aggregate = aggregators(),
    dp_describe = list(table = describe_mechanism()),
    dp_online = learners()
  )
}

# A constant, built once, after all files are read.
delayedAssign("mechanism_table", make_mechanisms())

#' Does a method release moments of the donors, unlike estimators on raw donors?
#' @noRd
gives_moments <- function(method) identical(mechanism_table$dp_synth[[method]]$gives, "moments")

#' Does a method have several calibrations?
#' @noRd
has_calibrations <- function(method) length(mechanism_table$dp_synth[[method]]$calibrations) > 1L

#' Does a method have this variant? See [new_mechanism()]
#' @noRd
has_variant <- function(method, variant) {
  !is.null(mechanism_table$dp_synth[[method]]$variants[[variant]])
}

methods_with <- function(variant) {
  names(Filter(function(record) !is.null(record$variants[[variant]]), mechanism_table$dp_synth))
}

#' Refuse settings that a method would ignore
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

#' Check the estimator of a release
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

#' Refuse several adoption dates if the method supports only one date
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_cohort_method <- function(method, adopted) {
  if (!is.null(adopted) && !has_variant(method, "dates")) {
    abort(c(
      "Method {.val {method}} takes one adoption date, but there are {length(unique(adopted))}.",
      i = "{.code method = {.val {methods_with(\"dates\")}}} covers all dates by one release."
    ), "argument")
  }
}

#' Can such a release grow? The check precedes any charge
#' @param public (`list`)\cr from `public_facts()`, with `monitor`.
#' @param donors (PRIVATE)\cr the source of the donors' rows, if it is known.
#' @noRd
check_can_grow <- function(public, donors = NULL) {
  if (is.null(public$monitor)) {
    return(invisible())
  }
  problem <- if (!is.null(public$outcomes)) {
    c("A growing release can have only one outcome.",
      "Monitor each outcome separately, with one {.fn dp_ledger}.")
  } else if (!public$private) {
    c("Without privacy, periods need not be announced.", "Fit the longer panel each time.")
  } else if (!has_variant(public$method, "growing")) {
    c("Method {.val {public$method}} releases weights for one panel.",
      "Use {.code method = {.val {methods_with(\"growing\")}}}.")
  } else if (!is.null(public$treated)) {
    c("A growing release needs {.code protect = \"donors\"}.",
      "With {.code protect = \"everyone\"} make one release once all periods have been observed.")
  } else if (!is.null(public$dates)) {
    c("A growing release can have only one adoption date.", each_date_words(public))
  } else if (!identical(public$estimator, "ridge")) {
    c("A growing release needs {.code estimator = \"ridge\"}.",
      "Difference-in-differences for a new period needs a separate release.")
  }
  if (!is.null(problem)) {
    abort(c(
      "This release cannot grow: {.arg monitor} conflicts with the other arguments.",
      x = problem[[1L]], i = problem[[2L]]
    ), "monitor")
  }
  check_growing_source(public$method, donors)
}

#' Refuse sources without people's rows, since new periods need separately clipped rows
#' @section Errors: `dpsc_error_monitor`.
#' @noRd
check_growing_source <- function(method, donors) {
  needs <- mechanism_table$dp_synth[[method]]$variants$growing$needs
  if (!is.null(needs)) refuse_source(donors, needs, "A release that grows", "monitor")
}

#' Advice for several dates: the option with the smallest measured error (bench/monitor-dates.R)
#' @noRd
each_date_words <- function(public) {
  dates <- length(public$dates)
  each <- share_of_epsilon(public$epsilon, public$delta, 1 / dates)
  digits <- 10^(2 - floor(log10(each)))
  paste0(
    "Monitor each date separately, without the other dates' units, with one {.fn dp_ledger}: ",
    dates, " fits of {.code epsilon = ", format(floor(each * digits) / digits),
    "} together cost no more than the requested fit."
  )
}
