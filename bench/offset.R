# Private generalised linear models with an offset: error and coverage of intervals of slopes. The
# offset is declared within tight limits and within limits ten times as wide (for exposure: on both
# sides). The same people with equal exposures, and glm() (not private), are given for comparison.
#   rmse, rmse_glm  root mean square error of the two slopes of standard deviation one, all runs
#   coverage        of 95 % intervals of slopes and intercept; se: over releases
#   longer          rmse over rmse_glm; identified: share of coefficients
# Counts have rates exp(-1 + ...) per year and exposures of 0.2 to 5 years. Log odds are known
# except for an error that regressors explain. Not private: seeded. DPSC_BENCH_SCALE multiplies the
# runs.
library(dpsc)
set.seed(27)
runs <- ceiling(100 * as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1")))
truth <- c(-1, 0.5, -0.4)

make_people <- function(n, family, spread) {
  data <- data.frame(a = rnorm(n), b = rnorm(n), o = spread * runif(n, log(0.2), log(5)))
  eta <- drop(cbind(1, data$a, data$b) %*% truth) + data$o
  data$y <- if (family == "poisson") rpois(n, exp(eta)) else as.double(runif(n) < plogis(eta))
  data
}

one_run <- function(cell) {
  spread <- if (cell$limits == "none") 0 else 1
  data <- make_people(cell$n, cell$family, spread)
  wide <- if (cell$limits == "wide") log(10) else 0
  bounds <- list(
    y = if (cell$family == "poisson") c(0, 500) else c(0, 1), a = c(-10, 10), b = c(-10, 10),
    o = c(log(0.2) - wide, log(5) + wide)
  )
  given <- if (cell$limits == "none") {
    bounds$o <- NULL
    NULL
  } else {
    ~o
  }
  fit <- suppressWarnings(dp_glm(y ~ a + b, data, cell$family,
    epsilon = cell$epsilon, bounds = bounds, offset = given, control = dp_control(rng = "R")
  ))
  known <- glm(y ~ a + b, cell$family, data, offset = o)
  limits <- confint(fit)
  list(
    error = coef(fit)[-1] - truth[-1], glm = coef(known)[-1] - truth[-1],
    covered = limits[, 1] <= truth & truth <= limits[, 2], identified = fit$identified
  )
}

measure <- function(cell) {
  all <- lapply(seq_len(runs), function(run) one_run(cell))
  part <- function(name) do.call(rbind, lapply(all, `[[`, name))
  root <- function(x) sqrt(mean(x^2))
  covered <- rowMeans(part("covered"))
  data.frame(cell,
    runs = runs, rmse = root(part("error")), rmse_glm = root(part("glm")),
    longer = root(part("error")) / root(part("glm")), coverage = mean(covered),
    se = sd(covered) / sqrt(runs), identified = mean(part("identified"))
  )
}

cells <- expand.grid(
  limits = c("none", "tight", "wide"), family = c("poisson", "binomial"), n = c(5000, 20000),
  epsilon = c(1, 4), stringsAsFactors = FALSE
)
out <- do.call(rbind, lapply(seq_len(nrow(cells)), function(i) measure(cells[i, ])))
numbers <- vapply(out, is.double, NA)
out[numbers] <- lapply(out[numbers], signif, 3)
write.csv(out, "bench/results/offset.csv", row.names = FALSE)
print(out)
