# Calls that cannot succeed by public facts. They are refused before any budget is spent.

# The largest noise on a mean square of people's features, relative to its largest possible value,
# at which donors are informative. It was found by simulation of the best case
# (bench/plan-refusal.R): identical people and a common change after the treatment of a third to
# four fifths of the bounds' half-width. Above this noise the release reduces the error of
# extrapolating the target's level by at most about a tenth; below it, by at least a half.
hopeless_noise <- 2.5

#' Can a release by method "gram" succeed, judged by public facts alone?
#'
#' A release cannot succeed if the noise exceeds the range of the bounds. A call that may be
#' informative is never refused, even with a wide interval.
#' @param public (`list`)\cr from `public_facts()`. PUBLIC.
#' @param plan (`list`)\cr the plan of the method. Its field `noise`, the noise on a mean square, is
#'   absent for other methods and without privacy.
#' @return A string for the user (the reason, and sufficient values), or `NULL`.
#' @noRd
plan_refusal <- function(public, plan) {
  here <- plan$noise
  if (is.null(here) || here <= hopeless_noise) {
    return(NULL)
  }
  noise <- function(n, epsilon) {
    facts <- utils::modifyList(gram_facts(public), list(n = n, epsilon = epsilon))
    plan <- tryCatch(gram_plan_cpp(facts), `dpsc::budget_too_small` = function(e) NULL)
    if (is.null(plan)) Inf else plan$moment_noise
  }
  serves <- function(n, epsilon) noise(n, epsilon) <= hopeless_noise
  instead <- least_that_serves(public, serves, "donors")
  paste0(
    "A release for ", count_of(public$n, "donor"), " at epsilon = ", format(public$epsilon),
    " would be uninformative: the standard deviation of the noise on a mean square is ",
    signif(here, 2), " times the largest mean square that the bounds allow. ",
    if (length(instead)) {
      paste0("An informative release needs at least ", paste(instead, collapse = ", or "), ". ")
    },
    "dp_plan() gives the expected error."
  )
}

#' Refuse, before the charge, a fit that cannot succeed by public facts
#' @noRd
check_hopeless <- function(public, plan) {
  doomed <- plan_refusal(public, plan)
  if (!is.null(doomed)) {
    abort(c("{doomed}"), "argument")
  }
}

#' Words on the smallest number of people, and on the smallest epsilon, that would suffice
#' @param serves (`function`)\cr a function of the number of people and of epsilon: would these
#'   values suffice?
#' @param who (`string`)\cr the name of the counted people, in the plural.
#' @noRd
least_that_serves <- function(public, serves, who) {
  n <- ceiling(first_that(function(x) serves(ceiling(x), public$epsilon), public$n, 1e9))
  epsilon <- signif_up(first_that(function(x) serves(public$n, x), public$epsilon, 1e6))
  c(
    if (!is.na(n)) paste(count_words(n), who, "at this epsilon"),
    if (!is.na(epsilon)) paste0("epsilon = ", format(epsilon), " with these ", who)
  )
}

#' Error with the smallest n, or epsilon, that would suffice
#' @param would (`function` of n and epsilon)\cr would these values suffice? PUBLIC.
#' @param reason (`character`)\cr the reason for the refusal.
#' @param plan (`string`)\cr the verb that plans.
#' @noRd
abort_unidentified <- function(public, would, reason, plan) {
  instead <- least_that_serves(public, would, "people")
  abort(c(
    "{count_words(public$n)} people at epsilon = {public$epsilon} would identify no coefficient.",
    reason,
    i = if (length(instead)) {
      "An informative release needs at least {paste(instead, collapse = ', or ')}."
    },
    i = "{.fn {plan}} gives the expected error."
  ), "argument")
}
