# dp_online() with bounds that are too wide: regret of the progressive predictions over the regret
# of predicting the middle of the outcome's bounds (1: no gain; above 1: harmful), and the forecast
# of dp_plan_online() for the width of the bounds. The designs were not used for tuning.
#   online.csv: R^2 = 0.5, epsilon = 1, delta = 1e-6; `width`: half of the bounds in standard
#     deviations. cor: AR(0.7); dummies: every other column is 0/1, with a tenth of ones; lognormal:
#     bounds from 0; logistic: as cor, with an outcome of 0 and 1.
library(dpsc)

regressors <- function(design, n, p) {
  z <- matrix(stats::rnorm(n * p), n)
  if (design %in% c("cor", "logistic")) {
    for (j in 2:p) z[, j] <- 0.7 * z[, j - 1] + sqrt(1 - 0.49) * z[, j]
  }
  if (design == "dummies") z[, seq(1, p, 2)] <- (z[, seq(1, p, 2)] > 1.28) * 1
  if (design == "lognormal") z <- exp(0.6 * z)
  z
}
simulate <- function(design, n, p) {
  z <- regressors(design, n, p)
  eta <- drop(z %*% (stats::rnorm(p)))
  eta <- (eta - mean(eta)) / stats::sd(eta)
  y <- if (design == "logistic") {
    stats::rbinom(n, 1, stats::plogis(2 * eta))
  } else {
    eta + stats::rnorm(n)
  }
  data.frame(z, y = y)
}
wide <- function(rows, width) {
  lapply(rows, function(x) {
    if (all(x %in% 0:1)) {
      c(0, 1)
    } else if (min(x) > 0) {
      c(0, 2 * width * stats::sd(x))
    } else {
      c(-1, 1) * width * stats::sd(x)
    }
  })
}
# The loss of progressive predictions in excess of the best loss, relative to the loss of predicting
# the middle.
regret <- function(rows, bounds, logistic) {
  stream <- dp_online(y ~ ., epsilon = 1, horizon = nrow(rows), bounds = bounds,
    family = if (logistic) "binomial" else "gaussian")
  found <- update(stream, rows, predict = TRUE)
  if (logistic) {
    best <- suppressWarnings(stats::glm(y ~ ., stats::binomial(), rows))$fitted.values
    loss <- function(p) {
      p <- pmin(pmax(p, 1e-12), 1 - 1e-12)
      -sum(rows$y * log(p) + (1 - rows$y) * log1p(-p))
    }
  } else {
    best <- stats::lm(y ~ ., rows)$fitted.values
    loss <- function(eta) sum((rows$y - eta)^2)
  }
  zero <- rep(mean(bounds$y), nrow(rows))
  (loss(found) - loss(best)) / (loss(zero) - loss(best))
}

cells <- expand.grid(width = c(3, 10), T = c(2000, 20000), p = c(5, 15),
  design = c("cor", "dummies", "lognormal", "logistic"), stringsAsFactors = FALSE)
reps <- max(2, round(8 * as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))))
rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(100 + i)
  logistic <- cell$design == "logistic"
  found <- replicate(reps, {
    data <- simulate(cell$design, cell$T, cell$p)
    bounds <- wide(data, cell$width)
    plan <- dp_plan_online(y ~ ., bounds, horizon = cell$T, epsilon = 1, width = cell$width,
      family = if (logistic) "binomial" else "gaussian")
    c(regret(data, bounds, logistic), plan$regret)
  })
  out <- data.frame(cell[4:1], regret = signif(mean(found[1, ]), 2),
    worst = signif(max(found[1, ]), 2), plan = signif(mean(found[2, ]), 2), replications = reps)
  cat(unlist(out), "\n")
  out
})
utils::write.csv(do.call(rbind, rows), "bench/results/online.csv", row.names = FALSE)
