# The core of method "gram" as tests call it: facts, noise that is recorded or replayed.

gram_facts_of <- function(T0 = 6, T1 = 2, n = 200, epsilon = 1, delta = 1e-6,
                          y = sin(seq_len(T0)) / 2, features = NaN, intervals = TRUE) {
  list(
    n = n, T0 = T0, T1 = T1, epsilon = epsilon, delta = delta, y = y, features = features,
    intervals = intervals
  )
}

gram_core <- function(donors, facts, bounds = c(-1, 1), outputs = NULL, doubled = FALSE) {
  bounds <- new_bounds(bounds, ncol(donors))
  gram_audit_cpp(
    donors, facts, core_scale(bounds), gram_options(TRUE, nrow(donors), bounds), "R", outputs,
    doubled
  )
}

call_parts <- function(calls, part) lapply(calls, `[[`, part)

# What a call's noise may depend on: nothing but released and public values.
public_parts <- function(run) lapply(run$calls, `[`, c("label", "law", "scale", "offset", "output"))
