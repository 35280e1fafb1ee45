# protect = "everyone" with several adoption dates: every cohort is a separate group. Its
# coordinates come from the one release of the donors, adapted to the date of the cohort. Only C++
# code reads a person's row (inst/include/dpsc/release/treated_release.hpp).

#' Budget and steps of a release for everyone with several dates
#'
#' Donors and cohorts are disjoint, so each of these groups has its own account with the whole
#' budget. For each cohort the donors are read before and after the cohort.
#' @inheritParams plan_everyone
#' @param public (`list`)\cr public facts, with `dates` and, by date, the number of `treated`
#'   people.
#' @return As [plan_everyone()], with `groups`, the core's facts on each cohort.
#' @noRd
plan_everyone_cohorts <- function(public, plan_first) {
  # Each cohort gets the same share as a single date, up to the limit on the donors' budget.
  share <- min(control_share * length(public$dates), largest_control_share)
  public <- with_share(public, 1 - share)
  donors <- plan_first(public)
  groups <- lapply(seq_along(public$dates), function(g) {
    later <- public$dates[[g]] - public$T0
    group <- treated_facts(public, donors$features, public$treated[[g]])
    utils::modifyList(group, list(
      T0 = public$T0 + later, T1 = public$T1 - later, pre = group$pre + later,
      control = share / length(public$dates)
    ))
  })
  plans <- lapply(groups, plan_group)
  of_cohorts <- Map(function(plan, g) {
    cbind(plan$steps, account = cohort_account(g))
  }, plans, seq_along(plans))
  of_donors <- function(part) lapply(plans, function(plan) cbind(plan[[part]], account = "donors"))
  steps <- do.call(rbind, c(
    list(cbind(donors$steps, account = "donors")), of_donors("look"), of_cohorts,
    of_donors("control")
  ))
  donors$cost <- whole_cost(public)
  donors$steps <- steps
  donors$groups <- groups
  donors$public <- public
  donors
}

# The largest share of the donors' budget for all last steps on the donors together.
largest_control_share <- 0.2

#' Release for everyone: donors, then every cohort, then the donors again
#' @param rows (`list`, PRIVATE)\cr `donors`, `treated` (m x T, outcome units).
#' @param public (`list`)\cr public facts, with `adopted`, each treated person's date.
#' @return As [run_cohorts()]; `cohorts` contains `treated`, the value of [run_everyone()] for the
#'   group of each date. RELEASED.
#' @noRd
run_everyone_cohorts <- function(plan, rows, public, run_first) {
  statistics <- run_first(plan, rows$donors, plan$public)
  q <- NROW(public$covariates)
  scale <- insert_scale(unclass(public$bounds)[c("centre", "unit", "half")], q, public$T0)
  orders <- lapply(public$dates, function(T0) {
    cohort_order(public$T0, q, T0, public$T0 + public$T1)
  })
  rng <- public$control$rng
  second <- statistics$cohorts$intervals$second %||% numeric(length(orders))
  given <- lapply(seq_along(orders), function(g) {
    c(cohort_view_cpp(statistics, public$dates[[g]]), second = max(second[[g]], 0))
  })
  # The columns of the donors remain in the order of the release.
  asked <- function(g, x) {
    x$loadings[orders[[g]], ] <- x$loadings
    x
  }
  looks <- lapply(seq_along(orders), function(g) {
    frame <- asked(g, treated_frame_cpp(given[[g]]))
    treated_look_cpp(rows$donors, plan$groups[[g]], frame, scale, rng)
  })
  groups <- lapply(seq_along(orders), function(g) {
    own <- scale
    own[c("centre", "half")] <- lapply(scale[c("centre", "half")], `[`, orders[[g]])
    people <- rows$treated[public$adopted == public$dates[[g]], orders[[g]], drop = FALSE]
    treated_release_cpp(people, plan$groups[[g]], given[[g]], looks[[g]], own, rng)
  })
  groups <- Map(function(group, look) c(group, list(look = look)), groups, looks)
  controls <- lapply(seq_along(groups), function(g) {
    treated_control_cpp(rows$donors, plan$groups[[g]], asked(g, groups[[g]]), scale, rng)
  })
  last <- public$T0 + public$T1 - public$dates
  statistics$cohorts$treated <- Map(less_control, groups, controls, last)
  statistics
}
