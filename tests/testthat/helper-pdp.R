# Releases with seeded noise, and donors' privacy losses by brute force.

release_of <- function(panel, method, ..., epsilon = 1, delta = 1e-6, seed = 1, control = list()) {
  withr::local_seed(seed)
  suppressWarnings(dp_release(panel$donors,
    target = panel$target, T0 = panel$T0, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
    method = method, control = do.call(dp_control, c(list(rng = "R"), control)), ...
  ))
}

ridge <- function(x, y, lambda) drop(solve(tcrossprod(x) + diag(lambda / 2, nrow(x)), x %*% y))
distance <- function(a, b) sqrt(sum((a - b)^2))
with_row <- function(x, i, row) {
  x[i, ] <- row
  x
}
