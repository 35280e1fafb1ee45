# Several adoption dates by method "gram": the never-treated donors are released once, relative to
# the first adoption, with placebo errors of every cohort's estimator. Only C++ code reads a donor's
# row (inst/include/dpsc/release/cohorts_release.hpp).

#' Budget and steps of a release for several dates, the same as of a release for the first date
#' @param public (`list`)\cr from `public_facts()`, with `dates`.
#' @return As [plan_gram()]. PUBLIC.
#' @noRd
plan_cohorts <- function(public) {
  plan <- plan_gram(public)
  if (public$private) {
    made <- planned(cohort_plan_cpp(gram_facts(public), public$dates), "this many adoption dates")
    plan[c("steps", "calibrated")] <- made[c("steps", "calibrated")]
  }
  plan
}

#' Release for several adoption dates
#' @inheritParams run_gram
#' @return As [run_gram()] for the first adoption, with `cohorts` in place of `intervals` and
#'   `leave_one_out`. `cohorts` is a list: `T0`, the dates; `intervals`, with a second moment per
#'   date; without privacy `leave_one_out`, a list with one element per date. RELEASED.
#' @noRd
run_cohorts <- function(plan, donors, public) {
  if (!public$private) {
    return(raw_cohorts(plan, donors, public))
  }
  scale <- insert_scale(public$bounds, NROW(public$covariates), public$T0)
  statistics <- cohort_release_cpp(
    donors, gram_facts(public), public$dates, scale, release_options(plan, public),
    public$control$rng
  )
  statistics$cohorts <- with_estimator(statistics$cohorts, plan)
  statistics
}

#' Statistics without noise for several dates. NOT PRIVATE.
#' @noRd
raw_cohorts <- function(plan, donors, public) {
  q <- NROW(public$covariates)
  periods <- public$T0 + public$T1
  each <- lapply(public$dates, function(T0) {
    facts <- utils::modifyList(public, list(T0 = T0, T1 = periods - T0))
    own <- if (q > 0L) donors[, cohort_order(public$T0, q, T0, periods), drop = FALSE] else donors
    run_gram(plan, own, facts)
  })
  stores <- lapply(each, `[[`, "leave_one_out")
  # Without covariates all cohorts have the same rows, which are stored once.
  if (q == 0L) {
    stores <- lapply(stores, function(store) {
      if (!is.null(store$rows)) store$rows <- stores[[1L]]$rows
      store
    })
  }
  statistics <- each[[1L]]
  statistics$leave_one_out <- NULL
  statistics$cohorts <- list(T0 = public$dates, leave_one_out = stores)
  statistics
}

#' Fault in the parts of a release for several dates, or `NULL`
#' @noRd
cohorts_problem <- function(release) {
  x <- release$statistics$cohorts
  if (!is.null(x) && !cohorts_fit(x, release$panel)) {
    "The adoption dates do not match the statistics."
  }
}

cohorts_fit <- function(x, panel) {
  periods <- panel$T0 + panel$T1
  dates <- x$T0
  known <- is.list(x) && is.numeric(dates) && length(dates) > 1L && all(is.finite(dates)) &&
    all(dates == round(dates)) && all(diff(dates) > 0) && dates[[1L]] == panel$T0 &&
    dates[[length(dates)]] < periods
  if (!known) {
    return(FALSE)
  }
  second <- x$intervals$second
  each <- function(g) {
    one <- x$intervals
    if (!is.null(one)) one$second <- second[[g]]
    own <- utils::modifyList(panel, list(T0 = dates[[g]], T1 = periods - dates[[g]]))
    intervals_fit(one) && leave_one_out_fit(x$leave_one_out[[g]], own)
  }
  (is.null(x$intervals) || length(second) == length(dates)) &&
    (is.null(x$leave_one_out) || length(x$leave_one_out) == length(dates)) &&
    all(vapply(seq_along(dates), each, NA))
}
