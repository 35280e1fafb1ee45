# Private generalised linear models with case weights: error of the slopes and the intercept, and
# coverage of their intervals. The weights are
#   none   absent, for the same people
#   free   from 0.2 to 1, independent of the person
#   group  3 for people of a group of 30 % of the sample, otherwise 1: a stratum drawn less often
#   chosen inverse to the probability of selection: people with y > 0 were drawn three times as
#     often
# The results are
#   rmse, rmse_glm  root mean square error of the slopes, glm() with the same weights (not private)
#   longer          rmse over rmse_glm; identified: share of coefficients
#   coverage        of 95 % intervals about the coefficients of the population; se: over releases
#   ratio           root mean square of released sampling errors over those of the weighted glm()
# Not private: seeded. DPSC_BENCH_SCALE multiplies the runs.
library(dpsc)
runs <- ceiling(100 * as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1")))
truth <- c(-0.5, 0.5, -0.4)

draw_people <- function(n, family) {
  data <- data.frame(a = rnorm(n), b = rexp(n) - 1)
  eta <- drop(cbind(1, data$a, data$b) %*% truth)
  data$y <- if (family == "poisson") rpois(n, exp(eta)) else as.double(runif(n) < plogis(eta))
  data
}

make_people <- function(n, family, weights) {
  if (weights != "chosen") {
    data <- draw_people(n, family)
    data$w <- switch(weights,
      none = 1, free = runif(n, 0.2, 1), group = ifelse(data$a > qnorm(0.7), 1, 1 / 3)
    )
    return(data)
  }
  pool <- draw_people(6 * n, family)
  # Each person is drawn independently, so weights are inverse probabilities of selection.
  data <- pool[pool$y > 0 | runif(6 * n) < 1 / 3, ][seq_len(n), ]
  data$w <- ifelse(data$y > 0, 1 / 3, 1)
  data
}

one_run <- function(cell) {
  data <- make_people(cell$n, cell$family, cell$weights)
  bounds <- list(
    y = if (cell$family == "poisson") c(0, 100) else c(0, 1), a = c(-10, 10), b = c(-10, 10),
    w = c(0, 1)
  )
  fit <- suppressWarnings(if (cell$weights == "none") {
    dp_glm(y ~ a + b, data, cell$family,
      epsilon = cell$epsilon, bounds = bounds, control = dp_control(rng = "R"))
  } else {
    dp_glm(y ~ a + b, data, cell$family,
      epsilon = cell$epsilon, bounds = bounds, weights = w, control = dp_control(rng = "R"))
  })
  known <- dp_glm(y ~ a + b, data, cell$family, epsilon = Inf, bounds = bounds, weights = w)
  limits <- confint(fit)
  list(
    error = coef(fit)[-1] - truth[-1], glm = coef(known)[-1] - truth[-1],
    covered = limits[, 1] <= truth & truth <= limits[, 2], identified = fit$identified,
    ratio = sqrt(diag(fit$covariance$sampling) / diag(known$covariance$sampling))
  )
}

measure <- function(cell) {
  set.seed(28 + cell$seed)
  cell$seed <- NULL
  all <- lapply(seq_len(runs), function(run) one_run(cell))
  part <- function(name) do.call(rbind, lapply(all, `[[`, name))
  root <- function(x) sqrt(mean(x^2))
  covered <- rowMeans(part("covered"))
  data.frame(cell,
    runs = runs, rmse = root(part("error")), rmse_glm = root(part("glm")),
    longer = root(part("error")) / root(part("glm")), coverage = mean(covered),
    se = sd(covered) / sqrt(runs), ratio = root(part("ratio")),
    identified = mean(part("identified"))
  )
}

cells <- expand.grid(
  weights = c("none", "free", "group", "chosen"), family = c("binomial", "poisson"),
  n = c(5000, 20000), epsilon = c(1, 4), stringsAsFactors = FALSE
)
cells$seed <- seq_len(nrow(cells))
out <- do.call(rbind, lapply(seq_len(nrow(cells)), function(i) measure(cells[i, ])))
numbers <- vapply(out, is.double, NA)
out[numbers] <- lapply(out[numbers], signif, 3)
write.csv(out, "bench/results/glm-weights.csv", row.names = FALSE)
print(out)
