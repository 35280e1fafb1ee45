# Coverage of nominal 95 % intervals, size and power of the tests, by simulation.
# Cells: n x T0 x epsilon x design, DPSC_BENCH_REPLICATIONS replications each (default 400).
# Writes bench/results/coverage.csv: coverage of the average effect, of single periods, of all
# periods together; rejection of a true null at 5 % by the z test of the average and by the moment
# test; power of the z test for an effect of `power_effect`.
library(dpsc)
`%||%` <- rlang::`%||%`

replications <- as.integer(Sys.getenv("DPSC_BENCH_REPLICATIONS", "400"))
effect <- c(factor = 0.2, linear = 0.1)
cells <- expand.grid(
  epsilon = c(1, 4), T0 = c(10, 40), n = c(100, 1000, 10000), design = c("factor", "linear"),
  stringsAsFactors = FALSE
)

one <- function(cell) {
  panel <- sim_panel(cell$n, cell$T0, 3, design = cell$design)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = cell$T0, epsilon = cell$epsilon, bounds = c(-1, 1),
    control = dp_control(rng = "R")
  )
  covers <- function(interval) interval[, 1L] <= 0 & 0 <= interval[, 2L]
  pointwise <- covers(confint(fit))
  average <- tidy(fit)[1L, ]
  # The effect adds to the estimate and changes nothing else.
  shifted <- 2 * pnorm(-abs(average$estimate + effect[[cell$design]]) / average$std.error)
  c(
    average = pointwise[[1L]], period = mean(pointwise[-1L]),
    simultaneous = all(covers(confint(fit, simultaneous = TRUE))[-1L]),
    reject_average = average$p.value < 0.05,
    reject_moments = (summary(fit)$test[[1L]]$p.value %||% 1) < 0.05,
    power_average = shifted < 0.05, width = 2 * 1.96 * average$std.error,
    privacy_share = summary(fit)$effects$privacy.share[[1L]]
  )
}

rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(3000 + i)
  outcome <- rowMeans(replicate(replications, one(cell)))
  cat(cell$design, cell$n, cell$T0, cell$epsilon, round(outcome, 3), "\n")
  data.frame(cell[c("design", "n", "T0", "epsilon")], as.list(round(outcome, 3)), replications)
})
if (replications >= 400) {
  utils::write.csv(do.call(rbind, rows), "bench/results/coverage.csv", row.names = FALSE)
}
