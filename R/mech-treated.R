# protect = "everyone": after the donors' release by method "gram", a second such release covers the
# treated people, in coordinates from the donors' release. Only C++ code reads a person's row
# (inst/include/dpsc/release/treated_release.hpp).

#' Budget and steps of a release for everyone
#'
#' Donors and treated people are disjoint, so each group has the whole budget (adaptive parallel
#' composition, proofs/treated.md): the cost is the larger of the two accounts.
#' @param public (`list`)\cr from `public_facts()`, with `treated`, the number of treated people.
#' @param plan_first (`function`)\cr a function of method gram.
#' @return As [plan_gram()]; `steps` contains a column `account`, and `group` the core's facts.
#' @noRd
plan_everyone <- function(public, plan_first) {
  # A part of the donors' account is reserved for the steps after the treated group.
  public <- with_share(public, 1 - control_share)
  donors <- plan_first(public)
  group <- treated_facts(public, donors$features, public$treated)
  treated <- plan_group(group)
  donors$cost <- whole_cost(public)
  donors$steps <- rbind(
    cbind(donors$steps, account = "donors"), cbind(treated$look, account = "donors"),
    cbind(treated$steps, account = "treated"), cbind(treated$control, account = "donors")
  )
  donors$group <- group
  donors$public <- public
  donors
}

#' Public facts of a protected group, in the core's form
#' @param features (`list`)\cr the features in the donors' plan.
#' @param m (`count`)\cr number of people.
#' @noRd
treated_facts <- function(public, features, m) {
  list(
    m = m, n = public$n, T0 = public$T0, T1 = public$T1, pre = features$pre,
    level = features$demean, epsilon = public$all_epsilon, delta = public$delta
  )
}

#' The plan of a group that is large enough for its budget
#' @noRd
plan_group <- function(group) {
  plan <- planned(treated_plan_cpp(group), "this group")
  check_group_noise(plan$noise, group)
  plan
}

# The shares of the donors' budget for the steps on donors before and after the treated group
# (inst/include/dpsc/release/treated_release.hpp).
control_share <- 0.07

#' Public facts for a share of the budget, that is, of the squared shift or of epsilon
#' @return `public` with a smaller `epsilon`, and `all_epsilon`.
#' @noRd
with_share <- function(public, share) {
  public$all_epsilon <- public$epsilon
  public$epsilon <- share_of_epsilon(public$epsilon, public$delta, share)
  public
}

#' The epsilon of a share of a budget, that is, of the squared shift or of epsilon itself
#' @noRd
share_of_epsilon <- function(epsilon, delta, share) {
  if (delta > 0) {
    mu <- gdp_budget_cpp(epsilon, delta) * sqrt(share)
    # Rounding must not make the parts exceed the whole.
    gdp_epsilon_cpp(mu * (1 - 1e-9), delta)
  } else {
    epsilon * share
  }
}

#' The cost of a release on disjoint groups of people, each with the whole budget
#' @noRd
whole_cost <- function(public) {
  new_cost("gdp", public$all_epsilon,
    mu = gdp_budget_cpp(public$all_epsilon, public$delta), pure = public$delta == 0
  )
}

# The largest accepted standard deviation of the noise on a group's mean, relative to the length at
# which the group's people are clipped. With more noise, an effect larger than that length would go
# unnoticed (bench/protect.R).
largest_group_noise <- 0.23

#' Refuse a group that is too small for its budget, by its public size and the public budget
#' @noRd
check_group_noise <- function(noise, group) {
  if (noise <= largest_group_noise) {
    return(invisible(NULL))
  }
  serves <- function(m, epsilon) {
    group[c("m", "epsilon")] <- list(m, epsilon)
    plan <- tryCatch(treated_plan_cpp(group), `dpsc::budget_too_small` = function(e) NULL)
    !is.null(plan) && plan$noise <= largest_group_noise
  }
  people <- which(vapply(group$m * 2^(0:20), serves, NA, epsilon = group$epsilon))
  budget <- which(vapply(group$epsilon * 2^(0:20), function(e) serves(group$m, e), NA))
  instead <- c(
    if (length(people)) paste(count_words(group$m * 2^(people[[1L]] - 1)), "people"),
    if (length(budget)) paste("epsilon =", format(group$epsilon * 2^(budget[[1L]] - 1)))
  )
  abort(c(
    "A group of {group$m} treated {?person/people} is too small to be protected at this budget.",
    x = paste(
      "The standard deviation of the noise in their mean would be {signif(noise, 2)} times the",
      "length at which a person's row is clipped. An informative release needs a ratio of at most",
      "{largest_group_noise}."
    ),
    i = if (length(instead)) {
      paste0("Protection needs about ", paste(instead, collapse = ", or "), ".")
    },
    i = paste(
      "{.code protect = \"donors\"} publishes the group's mean without noise, which does not",
      "protect its members."
    )
  ), "argument")
}

#' Release for everyone: donors, then treated people in the donors' released coordinates
#' @param rows (`list`, PRIVATE)\cr `donors`, `treated` (m x T, outcome units).
#' @param run_first (`function`)\cr a function of method gram.
#' @return As [run_gram()], with `treated`, a list: `loadings` (T x d) of a person's features about
#'   the donors' `origin`; `place`, the group's location as estimated before its rounds; `mean`, the
#'   noisy mean of the rounds, `mean_sd`, the standard deviation of its noise, and `weights`, the
#'   weights of the rounds in this mean; `path` (T, scaled units), the resulting path; `lean`, a
#'   path with its past not reduced to the values that exceed the noise; `moves` (T x (d + T1)), the
#'   change of the path by noise of one standard deviation; `second` and `second_sd`, the noisy
#'   variance of a person's average residual, and `own_variance`, the donors' variance; `rounds`,
#'   each with its `mean` and with `kept`, the share of a shift that remains after clipping; `look`,
#'   the donors' radius and the shares of a shift that remain after clipping; `control`, the donors'
#'   mean of the features. RELEASED.
#' @noRd
run_everyone <- function(plan, rows, public, run_first) {
  statistics <- run_first(plan, rows$donors, plan$public)
  given <- c(
    statistics[intersect(names(statistics), c(
      "loadings", "pre", "covariates", "weight", "demean", "mean", "restore", "covariance",
      "mean_sd", "moment_sd"
    ))],
    second = max(statistics$intervals$second %||% 0, 0)
  )
  scale <- unclass(public$bounds)[c("centre", "unit", "half")]
  scale <- insert_scale(scale, NROW(public$covariates), public$T0)
  rng <- public$control$rng
  look <- treated_look_cpp(rows$donors, plan$group, treated_frame_cpp(given), scale, rng)
  treated <- treated_release_cpp(rows$treated, plan$group, given, look, scale, rng)
  treated$look <- look
  control <- treated_control_cpp(rows$donors, plan$group, treated, scale, rng)
  statistics$treated <- less_control(treated, control, public$T1)
  statistics
}

#' A group's path relative to the donors' path with the same clipping
#' @return `treated` with `control`, and its noise in `moves`.
#' @noRd
less_control <- function(treated, control, T1) {
  residual <- seq.int(to = length(treated$mean), length.out = T1)
  # The map is divided by the share of a shift that clipping keeps.
  back <- treated$moves[, residual, drop = FALSE] / (treated$mean_sd * treated$kept)
  for (path in c("path", "lean")) {
    treated[[path]] <- treated[[path]] - drop(back %*% control$mean[residual])
  }
  treated$moves <- cbind(treated$moves, back * control$mean_sd)
  treated$control <- control
  add_far_people(treated, back, T1)
}
