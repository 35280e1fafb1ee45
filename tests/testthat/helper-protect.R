# Panels whose treated units are people, with values that noise could not produce by chance.

protected_panel_of <- function(n = 400, m = 120, T0 = 6, T1 = 2, seed = 3, effect = 0) {
  withr::local_seed(seed)
  people <- simulate_factor(n + m, T0 + T1, 2, 0.8, 0.1, 0.2, 0.05, 0.08)$outcome
  group <- people[n + seq_len(m), , drop = FALSE]
  group[, T0 + seq_len(T1)] <- pmin(group[, T0 + seq_len(T1)] + effect, 1)
  list(donors = people[seq_len(n), ], group = group, T0 = T0, T1 = T1)
}

protected_fit <- function(p, ..., epsilon = 2, control = dp_control(rng = "R")) {
  dp_synth(p$donors,
    target = p$group, T0 = p$T0, epsilon = epsilon, bounds = c(-1, 1), protect = "everyone",
    control = control, ...
  )
}

long_people <- function(p) {
  units <- c(
    sprintf("%s-d%04d", canary_mark, seq_len(nrow(p$donors))),
    sprintf("%s-t%04d", canary_mark, seq_len(nrow(p$group)))
  )
  periods <- p$T0 + p$T1
  n <- nrow(p$donors)
  data.frame(
    unit = rep(units, periods), time = rep(2000 + seq_len(periods), each = length(units)),
    y = c(rbind(p$donors, p$group)),
    on = as.integer(outer(seq_along(units), seq_len(periods), function(i, t) i > n & t > p$T0))
  )
}

# The secrets, which must not occur anywhere: single values, means and moments of the treated
# people, in outcome units and scaled units (here equal), and the donors' values and moments.
protected_secrets <- function(p) {
  of <- function(x) {
    unlist(list(x, colMeans(x), colSums(x), crossprod(x), crossprod(x) / nrow(x), stats::cov(x)))
  }
  sort(unique(unname(c(of(p$donors), of(p$group)))))
}

# Replacements for the three glue calls for protected people. They record their noise. `facts`
# changes the group's public facts, for planted faults.
protected_hooks <- function(recorder, facts = identity) {
  list(
    treated_look_cpp = function(donors, group, frame, scale, rng) {
      treated_look_cpp(donors, facts(group), frame, scale, recorder$noise)
    },
    treated_release_cpp = function(rows, group, statistics, look, scale, rng) {
      treated_release_cpp(rows, facts(group), statistics, look, scale, recorder$noise)
    },
    treated_control_cpp = function(donors, group, treated, scale, rng) {
      treated_control_cpp(donors, facts(group), treated, scale, recorder$noise)
    }
  )
}

# The audit of a release for everyone against one neighbour: for each step the change in units of
# the declared sensitivity, and its cost as a share of the (squared) budget.
audit_protected <- function(p, other, facts = identity, epsilon = 2, delta = 1e-6,
                            hooks = function(recorder) protected_hooks(recorder, facts)) {
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, hooks(recorder))
  run <- function(panel) {
    scope$dp_release.matrix(panel$donors,
      target = panel$group, T0 = panel$T0, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
      protect = "everyone", control = dp_control(rng = "R")
    )
  }
  calls <- record_and_replay(list(recorder = recorder, run = run), p, other)
  steps <- attr(calls, "result")$privacy$steps
  moved <- vapply(calls, function(call) any(call$value != call$other$value), NA)
  by_step <- split(steps, seq_len(nrow(steps)))
  # The cost of the changes under the actual noise of the calls, independent of the privacy record.
  shift <- vapply(calls, call_shift, 0)
  cost <- mapply(function(call, shift) {
    if (call$law == "exponential") exponential_step_mu_cpp(shift) else shift / sqrt(max(call$scale))
  }, calls, shift)
  declared <- vapply(by_step, function(step) {
    if (step$law == "exponential") 1 / step$scale else step$sensitivity
  }, 0)
  out <- data.frame(
    step = steps$step, account = steps$account, moved, ratio = shift / declared,
    share = (cost / gdp_budget_cpp(epsilon, delta))^2
  )
  attr(out, "release") <- attr(calls, "result")
  out
}
