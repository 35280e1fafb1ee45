# Utility theorems of Thakurta (2013) and of Li and Liu beside measured errors, and the comparisons
# of Thakurta's sections 4.5 and 5.8.1. Writes results/thakurta-risk.csv, -offline.csv, -box.csv.
# Noise is seeded, for these tables alone.
library(dpsc)
home <- Sys.getenv("DPSC_REPRODUCTION", file.path("inst", "reproduction"))
runs <- as.integer(Sys.getenv("DPSC_THAKURTA_RUNS", "10"))
seeded <- dp_control(rng = "R")
delta <- 1e-6

# Regressors in [-1, 1]; rows (1, x) / sqrt(d) have length 1 at most, theta is sqrt(d) times beta.
draw_logistic <- function(n, p) {
  x <- matrix(stats::runif(n * p, -1, 1), n, dimnames = list(NULL, paste0("x", seq_len(p))))
  beta <- rep_len(c(1.5, -1, 0.5), p) / sqrt(p / 3)
  data.frame(x, y = stats::runif(n) < stats::plogis(drop(x %*% beta)))
}
limits <- function(p, y) {
  c(list(y = y), stats::setNames(rep(list(c(-1, 1)), p), paste0("x", seq_len(p))))
}
mean_loss <- function(b, data) {
  eta <- drop(cbind(1, as.matrix(data[names(data) != "y"])) %*% b)
  mean(log1p(exp(-abs(eta))) + pmax(eta, 0) - data$y * eta)
}
average <- function(cells, one) {
  out <- do.call(rbind, lapply(seq_len(nrow(cells)), function(i) {
    set.seed(i)
    values <- replicate(runs, one(cells[i, ]))
    means <- as.list(signif(rowMeans(values, na.rm = TRUE), 3))
    data.frame(cells[i, ], runs, means, row.names = NULL)
  }))
  print(out, row.names = FALSE)
  out
}

# Theorems 3.20 to 3.30 and Lemma 3.19; of Li and Liu, Theorem 8, which is the same lemma. Printed
# constants, a replaced row (twice the noise). `lemma`: 2 |b|^2 / (ridge n) + ridge |theta|^2 /
# (2 n) with the mean of |b|^2. `high`: Theorem 3.24 with a chance of 9 in 10. `apart`: 3.29 (1a).
risk_cell <- function(cell) {
  d <- cell$p + 1
  data <- draw_logistic(cell$n, cell$p)
  best <- stats::coef(stats::glm(y ~ ., stats::binomial(), data))
  fit <- function(ridge) {
    dp_glm(y ~ ., data, "binomial", epsilon = cell$epsilon, delta = cell$delta, method = "kst",
      bounds = limits(cell$p, c(FALSE, TRUE)), calibration = "published", control = seeded,
      settings = if (is.null(ridge)) list() else list(ridge = ridge))
  }
  first <- suppressWarnings(fit(NULL))
  noise <- first$plan$scale # of one entry, or of the law of the length
  square <- if (cell$delta > 0) d * noise^2 else d * (d + 1) * noise^2
  theta <- sqrt(d * sum(best^2))
  ideal <- 2 * sqrt(square) / theta # the ridge of Theorem 3.20
  made <- suppressWarnings(fit(ideal))
  x <- cbind(1, as.matrix(data[names(data) != "y"])) / sqrt(d)
  w <- stats::fitted(stats::glm(y ~ ., stats::binomial(), data))
  eta <- min(eigen(crossprod(x, w * (1 - w) * x), TRUE, TRUE)$values)
  lemma <- function(ridge) 2 * square / (ridge * cell$n) + ridge * theta^2 / (2 * cell$n)
  far <- if (cell$delta > 0) {
    4 * d * noise^2 * log(10)
  } else {
    2 * (d * noise * log(10 * d))^2
  }
  high <- far / (cell$n * first$plan$ridge) + first$plan$ridge * theta^2 / (2 * cell$n)
  excess <- function(f) mean_loss(stats::coef(f), data) - mean_loss(best, data)
  c(
    risk_least = excess(first), lemma_least = lemma(first$plan$ridge), high_least = high,
    risk_ideal = excess(made), lemma_ideal = lemma(ideal),
    distance = sqrt(d * sum((stats::coef(first) - best)^2)),
    apart = sqrt(square) * sqrt(2 * log(10)) / (first$plan$ridge + eta)
  )
}
risk <- rbind(
  expand.grid(n = c(1000, 4000, 16000), p = c(3, 7, 15), epsilon = c(1, 4), delta = delta),
  expand.grid(n = c(1000, 4000, 16000), p = c(3, 7, 15), epsilon = 1, delta = 0)
)
write <- function(table, name) {
  utils::write.csv(table, file.path(home, "results", name), row.names = FALSE)
}
write(average(risk, risk_cell), "thakurta-risk.csv")

# Section 5.8.1: private offline learning by an online algorithm, against output and objective
# perturbation. Excess mean loss; guessing one half for everybody: `zero`.
offline_cell <- function(cell) {
  data <- draw_logistic(cell$n, cell$p)
  bounds <- limits(cell$p, c(FALSE, TRUE))
  best <- mean_loss(stats::coef(stats::glm(y ~ ., stats::binomial(), data)), data)
  by <- function(method, delta) {
    mean_loss(stats::coef(suppressWarnings(dp_glm(y ~ ., data, "binomial", epsilon = 1,
      delta = delta, bounds = bounds, method = method, intervals = FALSE, control = seeded))), data)
  }
  stream <- dp_online(y ~ ., epsilon = 1, delta = delta, horizon = cell$n, bounds = bounds,
    family = "binomial", method = "poffl", control = seeded)
  update(stream, data)
  out <- c(
    poffl = mean_loss(stats::coef(stream), data), output_pure = by("output", 0),
    output = by("output", delta), cms_pure = by("cms", 0), kst = by("kst", delta),
    objective = by("objective", delta), zero = log(2)
  )
  out - best
}
offline <- expand.grid(n = c(3000, 30000), p = c(4, 16, 48))
write(average(offline, offline_cell), "thakurta-offline.csv")

# Section 4.5: Algorithm 4.1 against propose-test-release. The latter after Dwork and Lei (2009):
# least squares in disjoint blocks of 2 (p + 1) people, and of each coefficient the median, its
# noise by a scale h that is tested: epsilon / p and delta / p per coefficient, half of it for the
# test.
ptr_median <- function(z, epsilon, delta) {
  z <- sort(z)
  k <- length(z)
  h <- (z[[ceiling(0.75 * k)]] - z[[ceiling(0.25 * k)]]) * k^(-1 / 3) # taken for public: a favour
  half <- ceiling(k / 2)
  moves <- pmin(seq_len(half) - 1, half - 1)
  wide <- pmax(z[pmin(k, half + moves)] - z[[half]], z[[half]] - z[pmax(1, half - moves)]) > h
  away <- if (any(wide)) which(wide)[[1L]] - 1 else half
  if (away + (stats::rexp(1) - stats::rexp(1)) * 2 / epsilon <= 1 + 2 * log(1 / delta) / epsilon) {
    return(NA_real_)
  }
  z[[half]] + (stats::rexp(1) - stats::rexp(1)) * 2 * h / epsilon
}
ptr <- function(data, p) {
  block <- rep(seq_len(nrow(data) %/% (2 * p + 2)), each = 2 * p + 2)
  x <- cbind(1, as.matrix(data[paste0("x", seq_len(p))]))
  slopes <- vapply(split(seq_along(block), block), function(rows) {
    stats::lm.fit(x[rows, ], data$y[rows])$coefficients[-1L]
  }, numeric(p))
  apply(matrix(slopes, p), 1, ptr_median, epsilon = 1 / p, delta = delta / p)
}
box_cell <- function(cell) {
  p <- cell$p
  x <- matrix(stats::runif(cell$n * p, -1, 1), cell$n)
  colnames(x) <- paste0("x", seq_len(p))
  beta <- rep_len(c(0.8, -0.5, 0.3, 0), p) / p
  data <- data.frame(x, y = drop(x %*% beta) + stats::runif(cell$n, -0.2, 0.2))
  far <- function(b) sqrt(sum((b - beta)^2))
  by <- function(f, ...) {
    far(stats::coef(suppressWarnings(f(y ~ ., data, epsilon = 1, delta = delta,
      bounds = limits(p, c(-1, 1)), control = seeded, ...)))[-1L])
  }
  tested <- ptr(data, p)
  c(
    algorithm41 = by(dp_glm, family = "gaussian", method = "kst", calibration = "published"),
    tight = by(dp_glm, family = "gaussian", method = "kst"), lm = by(dp_lm),
    ptr = if (anyNA(tested)) NA else far(tested), refused = anyNA(tested), zero = far(0)
  )
}
box <- expand.grid(n = c(2000, 8000, 32000, 128000), p = c(1, 2, 4, 8))
write(average(box, box_cell), "thakurta-box.csv")
