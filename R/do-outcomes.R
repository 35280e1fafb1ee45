# Fits of several outcomes, `cbind(y1, y2) ~ treated`: one ordinary fit per outcome, under one
# charge. Only rel-release.R reads donors.

#' Several outcomes of the same people
#'
#' The formula `cbind(sales, visits) ~ treated` gives [dp_synth()] several outcomes. `bounds` is
#' then a named list with the limits of each outcome (optional with `epsilon = Inf`). One person's
#' row contains all outcomes in all periods, and the covariates; `epsilon` and `delta` apply to the
#' whole row and are charged once.
#'
#' @section Shares of the budget: Every outcome has a separate release, with an equal share of the
#'   budget (of the squared parameter of Gaussian differential privacy, or of `epsilon` if `delta =
#'   0`). The budget of one outcome's release is smaller than the budget of all outcomes together,
#'   so quote the budget in the print of the fit, not the budget of one element. With K outcomes the
#'   noise of each outcome grows by a factor of about the square root of K, or of K if `delta = 0`.
#'   In a single release of all columns with `delta > 0` the noise would grow by a factor of K, like
#'   the squared length of a row. Therefore an outcome is predicted from its own past, and from
#'   other outcomes only if you name them as covariates: `sales ~ treated | visits` uses each
#'   person's mean number of visits before the treatment.
#'
#' With `protect = "everyone"` donors and treated people each have the whole budget, as for one
#' outcome. With `epsilon = Inf` every outcome is fitted separately.
#'
#' @param x,object,formula (`dp_outcomes`)\cr a fit by [dp_synth()] of several outcomes.
#' @param conf.int,conf.level,level,simultaneous as for one outcome. With `simultaneous = TRUE`
#'   limits cover the rows of all outcomes together (by Bonferroni's inequality over outcomes).
#' @param parm (`character` or `NULL`)\cr the requested effects, by their names in `coef()`; `NULL`
#'   requests all effects.
#' @param type (`string`)\cr the figure by `plot()`: `"path"`, `"effect"`, `"cumulative"`,
#'   `"percent"` or `"balance"`; for several dates `"event"`, `"cohort"`, `"calendar"` or `"path"`.
#' @param shrink (`flag`)\cr whether to shrink the effects of a protected group's periods, see
#'   [tidy.dp_synth()].
#' @param row.names,optional unused.
#' @param labels (`character` or `NULL`)\cr names for readers, see [plot.dp_synth()].
#' @param format see [report()].
#' @param ... passed to the method of one outcome's fit. An example is `type`, which for
#'   `as.data.frame()` and `plot()` may be `"effect"`, `"percent"` or `"cumulative"`; for `coef()`
#'   and `vcov()` of several dates see [dp_cohorts].
#' @return An object of class `dp_outcomes`, a list. PUBLIC or RELEASED; NOT PRIVATE for `epsilon =
#'   Inf`:
#'   * `outcomes`: ordinary fits by name ([dp_synth()], or [dp_cohorts] for several dates), on which
#'     every method works.
#'   * `privacy`: as in a [dp_release()], for all outcomes together, with a column `outcome` in its
#'     `steps`.
#'
#'   Methods return:
#'   * `tidy()`, `glance()`, `augment()`, `as.data.frame()`: the tables of the outcomes, one below
#'     the other, with a column `outcome`. The `epsilon`, `delta` and `rho` of `glance()` are for
#'     all outcomes together.
#'   * `coef()`: effects with names `outcome: term`. `vcov()`: their covariances, with `NA` between
#'     outcomes, since covariances between outcomes are not released. `confint()`: their limits.
#'   * `effects()`, `predict()`, `fitted()`, `residuals()`, `weights()`: lists by outcome.
#'   * `update()`: fits by another estimator, penalty or size for all outcomes, at no cost.
#'   * `autoplot()`: a ggplot with one panel per outcome, each on its own scale; `plot()` draws this
#'     ggplot. The types are the types of one outcome's fit, except `"weights"`.
#'
#'   [conformal()], [placebo_time()], [penalty_path()], [placebo_space()], [leave_one_out()] and
#'   `simulate()` stop with the advice to use the fit of one outcome.
#'
#'   `write_release(fit$outcomes[[1]]$release, file)` writes the release of one outcome.
#' @section Errors: `dpsc_error_panel` for outcomes without different names (name computed outcomes:
#'   `cbind(sales = log(sales), visits)`), `dpsc_error_bounds` for an outcome without bounds, and
#'   `dpsc_error_argument` for a method other than `"gram"`, both under a finite `epsilon`;
#'   `dpsc_error_argument` for `weights`, and `dpsc_error_monitor` for `monitor`. All errors occur
#'   before any budget is spent.
#' @examples
#' # Two outcomes of 1,060 people; a programme of 60 of them changes both from month 11 on.
#' set.seed(1)
#' people <- 1060
#' data <- expand.grid(person = seq_len(people), month = 1:14)
#' level <- rnorm(people)[data$person]
#' data$treated <- as.integer(data$person > 1000 & data$month > 10)
#' season <- cos(data$month / 2) * (1 + level / 4)
#' data$cost <- 100 + 20 * level + 10 * season + rnorm(nrow(data), 0, 5) - 8 * data$treated
#' data$visits <- 4 + level + season / 2 + rnorm(nrow(data), 0, 0.5) + data$treated
#' fit <- dp_synth(cbind(cost, visits) ~ treated, data, c("person", "month"),
#'   epsilon = 2, bounds = list(cost = c(0, 200), visits = c(0, 10)), protect = "donors"
#' )
#' fit
#' tidy(fit, conf.int = TRUE)
#' fit$outcomes$visits
#' as.data.frame(fit, type = "percent")
#' @name dp_outcomes
NULL

#' Fit several outcomes privately, under one charge
#' @param panels (`list`)\cr the panels by outcome, from [formula_panel()].
#' @param request (`list`)\cr from [panel_request()].
#' @return A `dp_outcomes`.
#' @noRd
fit_outcomes <- function(panels, request) {
  check_epsilon_given(is.null(request$epsilon))
  budget <- checked_budget(request$epsilon, request$delta, request$ledger, request$control)
  method <- check_choice(request$method, names(mechanism_table$dp_synth), "method")
  if (!gives_moments(method) || request$classical) {
    abort("Several outcomes need {.code method = \"gram\"}, or {.code epsilon = Inf}.", "argument")
  }
  ledger <- paying_ledger(request$ledger, budget$private)
  # Each outcome is a separate request with a share of the budget. Only the joint request is
  # released and charged.
  request$epsilon <- share_of_epsilon(budget$epsilon, budget$delta, 1 / length(panels))
  panels <- lapply(panels, guard_panel, request)
  requests <- lapply(panels, function(panel) {
    public <- release_facts(panel, request)
    public$refuse <- TRUE
    new_request(panel_record(public), public, panel, ledger)
  })
  made <- make_release(new_request(outcomes_record(), budget, requests, ledger))
  fits <- Map(fit_released, lapply(made$drawn, with_charge, made$charge), panels)
  warn_doubts(unlist(lapply(fits, fit_doubts), use.names = FALSE))
  new_outcomes(fits, c(list(
    private = TRUE, epsilon = budget$epsilon, delta = budget$delta, rho = made$plan$cost$rho,
    neighbours = neighbours_of(requests[[1L]]$public$treated), steps = made$plan$steps,
    rng = request$control$rng, version = own_version()
  ), with_charge(made["promise"], made$charge, "promise")$promise))
}

#' The release functions for several outcomes, by name, under one charge
#' @noRd
outcomes_record <- function() {
  list(
    plan = function(request) {
      plans <- lapply(request$people, function(one) one$record$plan(one))
      steps <- outcome_steps(lapply(plans, `[[`, "steps"))
      list(each = plans, steps = steps, cost = outcome_cost(request$public))
    },
    refuse = function(request, plan) {
      Map(function(one, plan) one$record$refuse(one, plan), request$people, plan$each)
    },
    open = function(request, plan) open_outcomes(request$people, plan$each),
    promise = function(request, plan) {
      first <- request$people[[1L]]
      guarantee(first$public, list(steps = plan$steps), first$people$assumes)
    },
    label = function(request, plan) {
      everyone <- !is.null(request$people[[1L]]$public$treated)
      count <- length(plan$each)
      paste0("release by method \"gram\", ", count, " outcomes", if (everyone) ", everyone")
    },
    run = function(request, plan, rows) {
      Map(function(one, plan, rows) one$record$run(one, plan, rows), request$people, plan$each,
        rows$parts)
    }
  )
}

#' @return `dp_joined` rows with one part per outcome. PRIVATE.
#' @noRd
open_outcomes <- function(requests, plans) {
  open <- function(name) requests[[name]]$record$open(requests[[name]], plans[[name]])
  names <- stats::setNames(nm = names(requests))
  open_all(names, open, then = function(parts) structure(list(parts = parts), class = "dp_joined"))
}

#' The steps of all outcomes, in the order in which they are drawn
#' @param steps (`list` of `data.frame`)\cr the steps by outcome.
#' @noRd
outcome_steps <- function(steps) {
  out <- do.call(rbind, Map(function(one, name) cbind(one, outcome = name), steps, names(steps)))
  rownames(out) <- NULL
  out
}

#' Joint cost of all outcomes, each of which contains every person
#' @noRd
outcome_cost <- function(budget) {
  whole_cost(list(all_epsilon = budget$epsilon, delta = budget$delta))
}

#' @param fits (`list`)\cr the fits by outcome.
#' @param privacy (`list` or `NULL`)\cr the privacy record of all fits together. `NULL`: the fits
#'   are not private.
#' @noRd
new_outcomes <- function(fits, privacy = fits[[1L]]$release$privacy) {
  structure(list(outcomes = fits, privacy = privacy), class = "dp_outcomes")
}
