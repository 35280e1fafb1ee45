# Slow reference versions of the classical estimators, by first-order methods that share no code
# with the core.

# Projection onto the simplex by sorting.
project_simplex <- function(v) {
  u <- sort(v, decreasing = TRUE)
  k <- max(which(u + (1 - cumsum(u)) / seq_along(u) > 0))
  pmax(v + (1 - sum(u[seq_len(k)])) / k, 0)
}

# The minimum of w'Gw / 2 - l'w on the simplex if its weights are positive exactly on this support,
# otherwise NULL. It follows from one linear system and the conditions of Karush, Kuhn and Tucker.
simplex_minimum <- function(gram, linear, support) {
  k <- length(support)
  system <- rbind(cbind(gram[support, support, drop = FALSE], -1), c(rep(1, k), 0))
  if (rcond(system) < 1e-10) return(NULL)
  found <- solve(system, c(linear[support], 1))
  w <- replace(numeric(nrow(gram)), support, found[seq_len(k)])
  slack <- drop(gram %*% w) - linear - found[[k + 1L]]
  if (all(w >= 0) && all(slack >= -1e-12 * max(abs(gram)))) w
}

# min ||w x - y||^2 + ridge ||w||^2 over the simplex. With `intercept` both are demeaned by row.
slow_simplex <- function(x, y, ridge = 0, intercept = FALSE, steps = 20000) {
  if (intercept) {
    x <- x - rowMeans(x)
    y <- y - mean(y)
  }
  gram <- tcrossprod(x) + diag(ridge, nrow(x))
  linear <- drop(x %*% y)
  size <- 1 / max(eigen(gram, TRUE, TRUE)$values)
  w <- v <- rep(1 / nrow(x), nrow(x))
  momentum <- 1
  step <- function(v) project_simplex(v - size * (drop(gram %*% v) - linear))
  for (i in seq_len(steps)) {
    new <- step(v)
    # A fixed point of the iteration is the minimum.
    if (max(abs(new - w)) < 1e-15 && max(abs(step(new) - new)) < 1e-15) break
    exact <- if (i %% 100 == 0) simplex_minimum(gram, linear, which(new > 1e-6))
    if (!is.null(exact)) return(exact)
    # The iteration restarts if the momentum points uphill.
    again <- sum((v - new) * (new - w)) > 0
    following <- if (again) 1 else (1 + sqrt(1 + 4 * momentum^2)) / 2
    v <- if (again) new else new + (momentum - 1) / following * (new - w)
    w <- new
    momentum <- following
  }
  w
}

# A small panel from a model with two latent factors, levels of units and noise.
model_panel <- function(n = 12, T0 = 9, T1 = 4, seed = 1) {
  withr::with_seed(seed, {
    periods <- T0 + T1
    factors <- rbind(cumsum(rnorm(periods)), sin(seq_len(periods)))
    all <- rnorm(n + 1, sd = 2) + matrix(rnorm(2 * (n + 1)), n + 1) %*% factors +
      matrix(rnorm((n + 1) * periods, sd = 0.3), n + 1)
    rownames(all) <- c(letters[seq_len(n)], "unit")
    list(donors = all[seq_len(n), ], target = all[n + 1, ], T0 = T0, times = seq_len(periods))
  })
}

effect_on <- function(panel, fit) {
  mean((drop(panel$target) - fit$counterfactual)[-seq_len(panel$T0)])
}

# Weights and intercept reproduce the counterfactual after the treatment, and the weights sum to
# one.
expect_weights_tell <- function(panel, fit, tolerance = 1e-7) {
  post <- -seq_len(panel$T0)
  path <- drop(fit$weights %*% panel$donors) + fit$intercept
  testthat::expect_lt(max(abs(path - fit$counterfactual)[post]), tolerance)
  testthat::expect_equal(sum(fit$weights), 1, tolerance = 1e-9)
}

# Two factors, levels, two covariates that change over time, and one constant covariate per unit,
# whose coefficient changes from period to period.
regressor_panel <- function(n = 12, T0 = 9, T1 = 4, seed = 1, slopes = c(1.5, -0.8), drift = 1) {
  panel <- model_panel(n, T0, T1, seed)
  withr::with_seed(seed + 100, {
    periods <- T0 + T1
    x <- array(rnorm((n + 1) * periods * 2), c(n + 1, periods, 2))
    # The covariates are correlated with the levels and with time, as real covariates are.
    x[, , 1] <- x[, , 1] + rnorm(n + 1, 3) + rep(seq_len(periods) / 5, each = n + 1)
    z <- matrix(rnorm(n + 1, 40, 5), dimnames = list(NULL, "age"))
    by_period <- drift * cumsum(rnorm(periods, 0, 0.05))
  })
  names <- c(if (n > 26) paste0("d", seq_len(n)) else letters[seq_len(n)], "unit")
  rownames(z) <- names
  all <- rbind(panel$donors, panel$target) + slopes[[1]] * x[, , 1] +
    slopes[[2]] * x[, , 2] + outer(z[, 1], by_period)
  rownames(all) <- names
  dimnames(x) <- list(names, NULL, c("price", "rain"))
  last <- n + 1
  c(panel[c("T0", "times")], list(
    donors = all[-last, ], target = all[last, ], all = all, x = x, z = z,
    covariates = list(donors = x[-last, , ], target = x[last, , ]),
    predictors = list(donors = z[-last, , drop = FALSE], target = z[last, ])
  ))
}

regressor_data <- function(panel) {
  all <- panel$all
  n <- nrow(all)
  data <- data.frame(
    unit = rep(rownames(all), ncol(all)), time = rep(seq_len(ncol(all)), each = n),
    y = as.vector(all), price = as.vector(panel$x[, , 1]), rain = as.vector(panel$x[, , 2]),
    age = rep(panel$z[, 1], ncol(all))
  )
  data$on <- as.integer(data$unit == "unit" & data$time > panel$T0)
  data[withr::with_seed(1, sample(nrow(data))), ]
}

fit_formula <- function(formula, data, estimator, ...) {
  dp_synth(formula, data, c("unit", "time"),
    epsilon = Inf, estimator = estimator, control = dp_control(settings = list(...))
  )
}
