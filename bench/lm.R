# Private linear regression: error, R2 lost and coverage of intervals over a grid of designs, with
# lm() (not private), AdaSSP (Wang, 2018) and SSP (noisy sufficient statistics) beside it;
# submodels; and time on a large table. The peers get zCDP and replace-one constants as tight as
# ours. Not private: seeded.
#   error    root mean square of (slope - truth) / (standard error of OLS), median over runs
#   R2 lost  share of the response's variance, median over runs
#   coverage of 95 % intervals of all slopes; `sample`: of lm()'s estimate by the privacy part alone
#   earlier  what a prototype with continuous noise reached (2 to 40 runs a cell)
# DPSC_BENCH_SCALE multiplies the runs.
library(dpsc)
set.seed(20)
delta <- 1e-6
more <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))

make_people <- function(p, cond, n, r2, tails) {
  values <- exp(seq(0, -log(cond), length.out = p))
  rotate <- qr.Q(qr(matrix(rnorm(p^2), p)))
  sigma <- stats::cov2cor(rotate %*% (values * t(rotate)))
  spectrum <- eigen(sigma, symmetric = TRUE)
  x <- matrix(rnorm(n * p), n) %*% (sqrt(spectrum$values) * t(spectrum$vectors))
  # Equal slopes in every principal direction.
  slopes <- rowSums(spectrum$vectors)
  slopes <- slopes * sqrt(r2 / sum(slopes * (sigma %*% slopes)))
  noise <- if (tails == "t3") rt(n, 3) / sqrt(3) else rnorm(n)
  y <- drop(x %*% slopes) + sqrt(1 - r2) * noise
  list(
    data = data.frame(y = y, x), slopes = slopes, sigma = sigma,
    se = sqrt((1 - r2) * diag(solve(sigma)) / n)
  )
}

# 10x: half-width 30 deviations, the middle 10 deviations off.
limits <- list(`10x` = c(-40, 20), tight = c(-3.5, 3.5))

scaled_rows <- function(people, range) {
  z <- as.matrix(people$data)
  z <- (pmax(pmin(z, range[[2]]), range[[1]]) - mean(range)) / (diff(range) / 2)
  list(x = cbind(1, z[, -1]), y = z[, 1])
}

symmetric_noise <- function(d, sd) {
  e <- matrix(0, d, d)
  e[upper.tri(e, diag = TRUE)] <- rnorm(d * (d + 1) / 2, sd = sd / sqrt(2))
  diag(e) <- diag(e) * sqrt(2)
  e[lower.tri(e)] <- t(e)[lower.tri(e)]
  e
}

# Wang (2018), Algorithm 2, a third of rho each for the smallest eigenvalue, X'X and X'y.
ada_ssp <- function(people, range, rho) {
  rows <- scaled_rows(people, range)
  d <- ncol(rows$x)
  sd <- d / sqrt(2 * rho / 3)
  smallest <- min(eigen(crossprod(rows$x), TRUE, TRUE)$values) + rnorm(1, sd = sd)
  smallest <- max(0, smallest - sd * sqrt(2 * log(6 / delta)))
  ridge <- max(0, sqrt(d * log(2 * d^2 / 0.05)) * sd - smallest)
  # |xx' - vv'|_F <= sqrt(2) d, |xy - vw| <= 2 sqrt(d).
  gram <- crossprod(rows$x) + symmetric_noise(d, sqrt(2) * sd)
  cross <- crossprod(rows$x, rows$y) + rnorm(d, sd = 2 * sqrt(d) / sqrt(2 * rho / 3))
  drop(solve(gram + diag(ridge, d), cross))[-1]
}

# All moments of (x, y) under one noise; ridge at the edge of the noise.
ssp <- function(people, range, rho) {
  rows <- scaled_rows(people, range)
  z <- cbind(rows$x, rows$y)
  d <- ncol(z)
  sd <- d / sqrt(rho)
  gram <- crossprod(z) + symmetric_noise(d, sd)
  at <- seq_len(d - 1)
  drop(solve(gram[at, at] + diag(2 * sd * sqrt(d / 2), d - 1), gram[at, d]))[-1]
}

run_once <- function(cell, peers) {
  people <- make_people(cell$p, cell$cond, cell$n, cell$r2, cell$tails)
  range <- limits[[cell$bounds]]
  bounds <- stats::setNames(rep(list(range), cell$p + 1), names(people$data))
  ols <- .lm.fit(cbind(1, as.matrix(people$data[-1])), people$data$y)$coefficients[-1]
  fit <- suppressWarnings(
    dp_lm(y ~ ., people$data, cell$epsilon, delta, bounds, control = dp_control(rng = "R"))
  )
  own <- coef(fit)[-1]
  total <- sqrt(diag(vcov(fit)))[-1]
  error <- function(b) sqrt(mean(((b - people$slopes) / people$se)^2))
  lost <- function(b) sum((b - people$slopes) * (people$sigma %*% (b - people$slopes)))
  rho <- cdp_rho(cell$epsilon, delta)
  ada <- if (peers) ada_ssp(people, range, rho) else NA
  plain <- if (peers) ssp(people, range, rho) else NA
  reach <- stats::qnorm(0.975)
  c(
    ols = error(ols), dp_lm = error(own), lost = lost(own) - lost(ols),
    adassp = if (peers) error(ada) else NA, adassp_lost = if (peers) lost(ada) else NA,
    ssp = if (peers) error(plain) else NA, ssp_lost = if (peers) lost(plain) else NA,
    width = mean(total / people$se), coverage = mean(abs(own - people$slopes) < reach * total),
    sample = mean(abs(own - ols) < reach * sqrt(diag(vcov(fit, "privacy")))[-1]),
    naive = mean(abs(own - people$slopes) < reach * sqrt(diag(vcov(fit, "sampling")))[-1]),
    identified = mean(fit$identified), resolved = fit$plan$resolved, located = fit$plan$located
  )
}

cells <- utils::read.table(header = TRUE, text = "
table   p cond     n  r2 bounds epsilon tails  runs earlier earlier_coverage
    1   2    1  1000  .2    10x       1 normal  100    2.8    .95
    1   5   10   300  .8    10x       4 normal  100    4.1    .94
    1   5   10  1000  .8    10x       1 normal  100    9.0    .95
    1   5   10  1000  .8    10x       4 normal  100    1.3    .95
    1   5   10 10000  .8    10x      .5 normal   40    2.1    .96
    1   5   10 10000  .8    10x       1 normal   40    1.7    .95
    1   5   10 10000  .8    10x       4 normal   40    1.1    .96
    1   5   10 10000  .8    10x       1     t3   40    2.4    .96
    1   5    1 10000  .8  tight       1 normal   40    1.3    .96
    1  10   10 10000  .2    10x       1 normal   30    2.0    .96
    1  20   10 10000  .8    10x       1 normal   20    3.2    .93
    1  20  100 100000    .8    10x       1 normal    5    1.4    .98
    1  20    1 100000    .2  tight       1 normal    5    1.3    .93
    1   5    1 100000    .2    10x       1 normal    8    1.2   1.00
    1  50   10 100000    .8    10x       1 normal    2    1.6    .98
    2   2    1   300  .5    10x       1 normal  200   12.6    .95
    2   5   10   300  .5    10x       1 normal  100    7.9    .87
    2   5   10  1000  .5    10x      .5 normal  100   11.8    .98
    2  20   10  3000  .5    10x       1 normal   20    7.8   1.00
    2   2    1   300  .5    10x       4 normal  200    1.6    .97
    2   2    1  1000  .5    10x       1 normal  200    2.8    .93
    2   5   10  1000  .5    10x       1 normal  100    5.7    .96
    2   5   10  1000  .5    10x       4 normal  100    1.3    .98
    2   5   10  3000  .5    10x       1 normal  100    2.5    .94
    2  10    1  3000  .5    10x       1 normal   60    3.0    .97
    2   5   10 10000  .5    10x       1 normal   40    1.6    .97
    2   5  100 10000  .5    10x       1 normal   40    1.7    .97
    2  20   10 10000  .5    10x       1 normal   20    2.6    .96
    2  20   10 10000  .5    10x       4 normal   20    1.2    .96
    2  20  100 100000    .5    10x       1 normal    4    1.4    .96
    2  50    1 10000  .5    10x       1 normal    6    3.9   1.00
    2  50   10 100000    .5    10x       1 normal    2    1.7    .96
")

rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  runs <- max(2, round(cell$runs * more))
  values <- replicate(runs, run_once(cell, peers = cell$table == 1))
  middle <- apply(values, 1, stats::median)
  average <- rowMeans(values)
  out <- data.frame(
    cell[1:8], runs, t(signif(middle[1:8], 3)),
    t(round(average[c("coverage", "sample", "naive", "identified", "resolved", "located")], 3)),
    earlier = cell$earlier, earlier_coverage = cell$earlier_coverage
  )
  out$worse <- out$dp_lm > 1.2 * cell$earlier
  cat(sprintf(
    "p %2d cond %3g n %6g R2 %.1f %s eps %.1f %s: %.2f (earlier %.1f), lm %.2f, coverage %.3f\n",
    cell$p, cell$cond, cell$n, cell$r2, cell$bounds, cell$epsilon, cell$tails, out$dp_lm,
    cell$earlier, out$ols, out$coverage
  ))
  out
})
utils::write.csv(do.call(rbind, rows), "bench/results/lm.csv", row.names = FALSE)

# Submodels with three of p columns, from the same release, at epsilon = 1.
submodel_once <- function(p, n) {
  people <- make_people(p, 10, n, 0.5, "normal")
  bounds <- stats::setNames(rep(list(limits[["10x"]]), p + 1), names(people$data))
  fit <- dp_lm(y ~ ., people$data, 1, delta, bounds, control = dp_control(rng = "R"))
  part <- update(fit, y ~ X1 + X2 + X3)
  own <- people$sigma[1:3, 1:3]
  truth <- drop(solve(own, people$sigma[1:3, ] %*% people$slopes))
  left <- 1 - sum(truth * (own %*% truth))
  se <- sqrt(left * diag(solve(own)) / n)
  ols <- .lm.fit(cbind(1, as.matrix(people$data[2:4])), people$data$y)$coefficients[-1]
  error <- coef(part)[-1] - truth
  reach <- stats::qnorm(0.975)
  c(
    ols = sqrt(mean(((ols - truth) / se)^2)), dp_lm = sqrt(mean((error / se)^2)),
    width = mean(sqrt(diag(vcov(part)))[-1] / se),
    coverage = mean(abs(error) < reach * sqrt(diag(vcov(part)))[-1]),
    sample = mean(abs(coef(part)[-1] - ols) < reach * sqrt(diag(vcov(part, "privacy")))[-1]),
    sigma = sigma(part) / sqrt(left)
  )
}
designs <- data.frame(
  p = c(5, 10, 20), n = c(3000, 10000, 100000), runs = c(60, 30, 5), earlier = c(2.6, 2.3, 1.4),
  earlier_coverage = c(0.96, 0.91, 0.88)
)
submodels <- lapply(seq_len(nrow(designs)), function(i) {
  values <- replicate(designs$runs[[i]], submodel_once(designs$p[[i]], designs$n[[i]]))
  middle <- apply(values[1:3, ], 1, stats::median)
  data.frame(designs[i, ], t(signif(middle, 3)), t(round(rowMeans(values[4:6, ]), 3)))
})
utils::write.csv(do.call(rbind, submodels), "bench/results/lm-submodels.csv", row.names = FALSE)
print(do.call(rbind, submodels))

# Seconds of processor: 1,000,000 people x 20 columns.
n <- as.integer(Sys.getenv("DPSC_BENCH_PEOPLE", "1000000"))
matrix_form <- matrix(rnorm(n * 21), n, dimnames = list(NULL, c(paste0("V", 1:20), "y")))
big <- as.data.frame(matrix_form)
bounds <- stats::setNames(rep(list(c(-20, 20)), 21), names(big))
processor <- function(code) {
  time <- system.time(code)
  time[["user.self"]] + time[["sys.self"]]
}
seconds <- c(
  dp_lm = processor(dp_lm(y ~ ., big, 1, 1e-8, bounds)),
  crossprod = min(replicate(3, processor(crossprod(matrix_form)))),
  lm = processor(.lm.fit(cbind(1, matrix_form[, 1:20]), matrix_form[, 21]))
)
utils::write.csv(
  data.frame(people = n, columns = 20, what = names(seconds), seconds = signif(seconds, 3),
    times_crossprod = signif(seconds / seconds[["crossprod"]], 3)),
  "bench/results/lm-speed.csv", row.names = FALSE
)
print(signif(seconds, 3))
