# Public facts of streams, passed directly to the core.
stream_rho <- function(epsilon = 1, delta = 1e-6) dpsc::cdp_rho(epsilon, delta)

stream_facts <- function(noise, shape = "range", size = 1, horizon, rho = stream_rho(), times = 1,
                         apart = 1, epsilon = 0) {
  list(
    noise = noise, shape = shape, size = size, horizon = horizon, times = times, apart = apart,
    rho = rho, epsilon = epsilon
  )
}
stream_plan <- function(...) dpsc:::stream_plan_cpp(stream_facts(...))
stream_learner <- function(method = "sum", columns = 1, family = "gaussian", radius = 1, clip = 1,
                           ball = 2, psi = 1, lambda = 0, damping = 1) {
  list(
    method = method, family = family, columns = columns, radius = radius, clip = clip, ball = ball,
    psi = psi, lambda = lambda, damping = damping
  )
}
all_noises <- c("tree", "toeplitz", "blt")

# The share of a plan's budget that the replacement of one entry costs. The share is 1 for the whole
# budget.
replayed_share <- function(plan, learner, x, other, charged = plan) {
  words <- 60 * length(plan$scale) * nrow(x) + 4000
  out <- stream_replay_cpp(plan, learner, x, other, tape(words))
  testthat::expect_true(out$same)
  if (plan$gaussian) out$rho / charged$rho else out$epsilon / charged$epsilon
}

replace_rows <- function(x, at, by) {
  x[at, ] <- by
  x
}
