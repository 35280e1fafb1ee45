# Simulated people for regressions.

lm_people <- function(n = 2000, seed = 3) {
  withr::local_seed(seed)
  data <- data.frame(
    a = stats::rnorm(n, 3), b = stats::runif(n, -2, 2),
    g = sample(c("u", "v", "w"), n, TRUE), s = stats::runif(n) < 0.4
  )
  data$y <- 1 + 0.5 * data$a - data$b + 0.7 * (data$g == "v") + 0.3 * data$s + stats::rnorm(n)
  data
}

lm_bounds <- function() {
  list(y = c(-30, 30), a = c(-20, 20), b = c(-5, 5), g = c("u", "v", "w"), s = c(FALSE, TRUE))
}

lm_facts_of <- function(formula = y ~ a + b, n = 200, epsilon = 1, delta = 1e-6,
                        bounds = lm_bounds()) {
  columns <- lm_columns(formula, bounds)
  list(n = n, epsilon = epsilon, delta = delta, design = lm_design(columns))
}

lm_rows <- function(data, formula = y ~ a + b, bounds = lm_bounds()) {
  lm_table(lm_columns(formula, bounds), data, TRUE)
}

seeded_lm <- function(..., seed = 5) {
  withr::local_seed(seed)
  dp_lm(..., control = dp_control(rng = "R"))
}
