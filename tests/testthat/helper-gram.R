# The core of method "gram" as tests call it: facts, noise that is recorded or replayed.

gram_facts_of <- function(T0 = 6, T1 = 2, n = 200, epsilon = 1, delta = 1e-6,
                          y = sin(seq_len(T0)) / 2, features = NaN, intervals = TRUE,
                          targeted = FALSE) {
  list(
    n = n, T0 = T0, T1 = T1, epsilon = epsilon, delta = delta, y = y, features = features,
    intervals = intervals, targeted = targeted
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

# A random public map: bounds by period, loadings over many orders of magnitude.
random_map <- function(periods = sample(2:9, 1), d = sample.int(periods, 1)) {
  half <- 10^stats::runif(periods, -sample(c(0, 2, 9, 100), 1), 0)
  middle <- stats::rnorm(periods) * half * sample(c(0, 1, 1e4), 1)
  unit <- 10^stats::runif(1, -100, 100)
  bounds <- new_bounds(cbind(middle - 2 * half, middle + 2 * half) * unit, periods)
  loadings <- matrix(stats::rnorm(periods * d), periods) * 10^stats::runif(1, -50, 50)
  loadings <- loadings %*% diag(10^stats::runif(d, 0, sample(c(1, 7, 12), 1)), d)
  origin <- stats::rnorm(d) * max(abs(loadings)) * sample(c(0, 1, 1e3), 1)
  list(bounds = bounds, loadings = loadings, origin = origin)
}

# Rows inside, at and far beyond the bounds, and those that push a feature furthest.
random_rows <- function(map, n = 12) {
  bounds <- map$bounds
  periods <- length(bounds$half)
  width <- rep(bounds$upper - bounds$lower, each = n)
  x <- matrix(rep(bounds$lower, each = n) + stats::runif(n * periods) * width, n)
  x[1:3, ] <- sample(c(-1, 1), 3 * periods, TRUE) * .Machine$double.xmax
  x[4, ] <- bounds$upper
  x[5, ] <- bounds$centre
  x[6, ] <- ifelse(map$loadings[, 1] < 0, -1, 1) * .Machine$double.xmax
  x[7, ] <- -x[6, ]
  x
}
