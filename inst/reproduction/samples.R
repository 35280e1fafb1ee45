# Theorem 10 of Li and Liu (sample complexity) for a ridge, with constants (inst/proofs/papers.md,
# section 9), beside measured errors. Writes results/samples.csv and results/samples-needed.csv.
# Noise is seeded, for these tables alone.
#   excess   mean loss of a person who is not in the data, above the loss of the true coefficients
#   error    standard error of that mean over runs
#   bound    (ridge |theta|^2 + E|b|^2 / ridge) / (2 (n + 1)) + 1 / ridge
#   fixed    the least ridge that privacy allows, for every n: the theorem as printed
#   best     the ridge that makes the bound smallest
library(dpsc)
home <- Sys.getenv("DPSC_REPRODUCTION", file.path("inst", "reproduction"))
runs <- as.integer(Sys.getenv("DPSC_SAMPLES_RUNS", "40"))
p <- 3
d <- p + 1
beta <- c(0, 1.5, -1, 0.5)
length2 <- d * sum(beta^2) # of coefficients of rows (1, x) / sqrt(d), which have length 1 at most
names3 <- paste0("x", seq_len(p))
limits <- c(list(y = c(FALSE, TRUE)), stats::setNames(rep(list(c(-1, 1)), p), names3))

draw <- function(n) matrix(stats::runif(n * p, -1, 1), n, dimnames = list(NULL, names3))
set.seed(10)
others <- cbind(1, draw(50000))
chance <- stats::plogis(drop(others %*% beta))
mean_loss <- function(b) {
  eta <- drop(others %*% b)
  mean(log1p(exp(-abs(eta))) + pmax(eta, 0) - chance * eta)
}
fit <- function(data, delta, ridge) {
  suppressWarnings(dp_glm(y ~ ., data, "binomial", epsilon = 1, delta = delta, method = "kst",
    bounds = limits, calibration = "published", control = dp_control(rng = "R"),
    settings = if (is.null(ridge)) list() else list(ridge = ridge)))
}
plan_of <- function(delta) {
  fit(data.frame(draw(50), y = rep(c(TRUE, FALSE), 25)), delta, NULL)$plan
}
square_of <- function(delta, scale) if (delta > 0) d * scale^2 else d * (d + 1) * scale^2
bound_of <- function(n, ridge, square) {
  (ridge * length2 + square / ridge) / (2 * (n + 1)) + 1 / ridge
}
cell <- function(n, delta, choice) {
  plan <- plan_of(delta)
  square <- square_of(delta, plan$scale)
  ridge <- if (choice == "fixed") plan$ridge else sqrt((square + 2 * (n + 1)) / length2)
  ridge <- max(ridge, plan$ridge)
  excess <- replicate(if (n > 20000) max(2, runs %/% 4) else runs, {
    x <- draw(n)
    data <- data.frame(x, y = stats::runif(n) < stats::plogis(drop(cbind(1, x) %*% beta)))
    mean_loss(stats::coef(fit(data, delta, ridge))) - mean_loss(beta)
  })
  data.frame(choice, delta, n, runs = length(excess), ridge = signif(ridge, 3),
    excess = signif(mean(excess), 3), error = signif(stats::sd(excess) / sqrt(length(excess)), 2),
    bound = signif(bound_of(n, ridge, square), 3))
}
cells <- expand.grid(
  n = c(250, 1000, 4000, 16000, 64000), delta = c(0, 1e-6), choice = c("fixed", "best"),
  stringsAsFactors = FALSE
)
results <- do.call(rbind, Map(cell, cells$n, cells$delta, cells$choice))
print(results, row.names = FALSE)

# The number of people needed for an error: by the bound, and by log-log interpolation of the
# measured errors between two sizes.
measured <- function(rows, rho) {
  at <- which(rows$excess <= rho)
  if (!length(at) || at[[1L]] == 1L) {
    return(NA_real_)
  }
  stats::approx(log(rows$excess[at[[1L]] - 0:1]), log(rows$n[at[[1L]] - 0:1]), log(rho))$y
}
needed <- do.call(rbind, lapply(c(0.1, 0.03, 0.01, 0.003), function(rho) {
  do.call(rbind, lapply(c(0, 1e-6), function(delta) {
    plan <- plan_of(delta)
    square <- square_of(delta, plan$scale)
    above <- rho - 1 / plan$ridge
    fixed <- (plan$ridge * length2 + square / plan$ridge) / 2 / above
    of <- function(choice) {
      exp(measured(results[results$delta == delta & results$choice == choice, ], rho))
    }
    data.frame(rho, delta,
      fixed_bound = if (above > 0) signif(fixed, 3) else Inf,
      fixed_measured = signif(of("fixed"), 2),
      best_bound = signif((length2 + sqrt(length2^2 + rho^2 * length2 * square)) / rho^2, 3),
      best_measured = signif(of("best"), 2))
  }))
}))
print(needed, row.names = FALSE)
utils::write.csv(results, file.path(home, "results", "samples.csv"), row.names = FALSE)
utils::write.csv(needed, file.path(home, "results", "samples-needed.csv"), row.names = FALSE)
