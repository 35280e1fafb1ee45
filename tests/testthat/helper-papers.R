# Made-up people and exact laws for the papers' methods.

paper_people <- function(n = 300, seed = 3) {
  withr::local_seed(seed)
  data <- data.frame(a = stats::runif(n, -1, 1), g = sample(c("u", "v"), n, TRUE))
  data$y <- pmax(-3, pmin(3, 0.5 + data$a - 0.4 * (data$g == "v") + stats::rnorm(n, 0, 0.5)))
  data$z <- stats::runif(n) < stats::plogis(0.5 + 1.5 * data$a)
  data
}

paper_bounds <- function() {
  list(y = c(-3, 3), z = c(FALSE, TRUE), a = c(-1, 1), g = c("u", "v"))
}

paper_design <- function(formula = z ~ a, outcome = binary_outcome) {
  lm_design(lm_columns(formula, paper_bounds(), NULL, outcome))
}

core_facts <- function(method, calibration = "tight", epsilon = 1, delta = 0, n = 10, ridge = 0,
                       stages = 2, iterations = 20, target = 1, formula = z ~ a) {
  list(
    n = n, epsilon = epsilon, delta = delta, design = paper_design(formula), method = method,
    calibration = calibration, ridge = ridge, condition = 4, target = target, stages = stages,
    iterations = iterations
  )
}

# log-density of the minimiser of sum l + ridge/2 theta^2 + b theta, in one dimension, at theta; b has
# log-density `log_noise`. `rows`: a matrix with columns x, y.
minimiser_density <- function(theta, rows, ridge, log_noise, offset = 0) {
  slope <- ridge * theta + offset
  curvature <- rep(ridge, length(theta))
  for (i in seq_len(nrow(rows))) {
    p <- stats::plogis(rows[i, 1L] * theta)
    slope <- slope + (p - rows[i, 2L]) * rows[i, 1L]
    curvature <- curvature + p * (1 - p) * rows[i, 1L]^2
  }
  log_noise(-slope) + log(curvature)
}

# Largest log-ratio over bases of rows and replaced rows, one dimension; `absent`: against no row.
worst_replaced <- function(ridge, scale, absent = FALSE) {
  theta <- c(-rev(10^seq(-3, 2.5, 0.05)), 0, 10^seq(-3, 2.5, 0.05))
  laplace <- function(b) -abs(b) / scale
  all <- as.matrix(expand.grid(x = c(-1, -0.5, 0.5, 1), y = 0:1))
  # Thousands of people with x near zero have slopes that add up to any offset, and no curvature.
  bases <- expand.grid(
    rows = c("none", "one", "two", "many"), offset = c(-50, -2, 0, 2, 50), stringsAsFactors = FALSE
  )
  worst <- 0
  for (i in seq_len(nrow(bases))) {
    base <- switch(bases$rows[[i]],
      none = NULL, one = all[4, , drop = FALSE], two = all[c(1, 8), ], many = all[rep(c(4, 5), 20), ]
    )
    law <- function(row) {
      minimiser_density(theta, rbind(base, row), ridge, laplace, bases$offset[[i]])
    }
    density <- apply(all, 1L, law)
    if (absent) {
      none <- law(c(0, 1))
      worst <- max(worst, abs(density - none))
    } else {
      worst <- max(worst, apply(density, 1L, function(v) diff(range(v))))
    }
  }
  worst
}

# The delta at epsilon between two laws on a grid of masses.
hockey_stick <- function(p, q, epsilon) sum(pmax(p - exp(epsilon) * q, 0))
