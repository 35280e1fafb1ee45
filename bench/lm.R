# Private linear regression: error, R2 lost and coverage of intervals over a grid of designs,
# compared with lm() (not private), AdaSSP (Wang, 2018) and SSP (noisy sufficient statistics);
# bench/lm-peers.R contains more peers. Also submodels, and time on a large table. Not private:
# seeded.
#   error    root mean square of (slope - truth) / (standard error of OLS), median over runs
#   R2 lost  share of the response's variance, median over runs
#   coverage of 95 % intervals of all slopes; `sample`: of lm()'s estimate by the privacy part alone
#   earlier  error of a prototype with continuous noise (2 to 40 runs per cell); in table 3, of an
#            emulation that knows all locations and uses the whole budget
# DPSC_BENCH_SCALE multiplies the runs.
library(dpsc)
source("bench/lm-designs.R")
source("bench/lm-mechanisms.R")
set.seed(20)
delta <- 1e-6
more <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))

run_once <- function(cell, peers) {
  people <- make_people(cell$p, cell$cond, cell$n, cell$r2, cell$tails)
  range <- limits[[cell$bounds]]
  bounds <- stats::setNames(rep(list(range), cell$p + 1), names(people$data))
  ols <- .lm.fit(cbind(1, as.matrix(people$data[-1])), people$data$y)$coefficients[-1]
  fit <- suppressWarnings(
    dp_lm(y ~ ., people$data, cell$epsilon, delta, bounds, control = dp_control(rng = "R"))
  )
  own <- coef(fit)[-1]
  error <- function(b) sqrt(mean(((b - people$slopes) / people$se)^2))
  lost <- function(b) sum((b - people$slopes) * (people$sigma %*% (b - people$slopes)))
  rho <- cdp_rho(cell$epsilon, delta)
  rows <- scaled_rows(people, range)
  ada <- if (peers) ada_ssp(rows, rho, delta) else NA
  plain <- if (peers) ssp(rows, rho) else NA
  reach <- stats::qnorm(0.975)
  inside <- confint(fit)[-1, , drop = FALSE]
  c(
    ols = error(ols), dp_lm = error(own), lost = lost(own) - lost(ols),
    adassp = if (peers) error(ada) else NA, adassp_lost = if (peers) lost(ada) else NA,
    ssp = if (peers) error(plain) else NA, ssp_lost = if (peers) lost(plain) else NA,
    # The width is in standard errors of OLS, and infinite for unbounded intervals.
    width = mean((inside[, 2] - inside[, 1]) / (2 * reach) / people$se),
    coverage = mean(inside[, 1] < people$slopes & people$slopes < inside[, 2]),
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
    3   5    1    500  .5     3x       1 normal  2000    2.7     NA
    3   5    1   1000  .5     3x       1 normal 1000    2.5     NA
    3  10    1   2000  .5     3x       1 normal  400    2.2     NA
    3   5    1   5000  .5     3x       1 normal  400   1.25     NA
")

rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  runs <- max(2, round(cell$runs * more))
  # Fits that are hopeless by their plan are refused before the charge, for any rows.
  values <- tryCatch(replicate(runs, run_once(cell, peers = cell$table == 1)),
    dpsc_error_argument = function(e) NULL
  )
  refused <- is.null(values)
  if (refused) values <- replicate(2L, replace(some_values, TRUE, NA))
  some_values <<- values[, 1L]
  middle <- apply(values, 1, stats::median)
  average <- rowMeans(values)
  out <- data.frame(
    cell[1:8], runs, t(signif(middle[1:8], 3)),
    t(round(average[c("coverage", "sample", "naive", "identified", "resolved", "located")], 3)),
    refused, earlier = cell$earlier, earlier_coverage = cell$earlier_coverage
  )
  out$worse <- !refused && out$dp_lm > 1.2 * cell$earlier
  cat(sprintf(
    "p %2d cond %3g n %6g R2 %.1f %s eps %.1f %s: %.2f (earlier %.1f), lm %.2f, coverage %.3f\n",
    cell$p, cell$cond, cell$n, cell$r2, cell$bounds, cell$epsilon, cell$tails, out$dp_lm,
    cell$earlier, out$ols, out$coverage
  ))
  out
})
utils::write.csv(do.call(rbind, rows), "bench/results/lm.csv", row.names = FALSE)

# Submodels with three of p columns, from one release, at epsilon = 1.
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

# CPU seconds for 1,000,000 people and 20 columns.
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
