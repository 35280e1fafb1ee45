# Methods "output" and "objective": the share of nominal 95 % intervals, which allow for the privacy
# noise alone, that contain the effect of the same method without noise. Writes
# bench/results/coverage-vertical.csv.
library(dpsc)

cells <- expand.grid(
  n = c(20, 100), delta = c(0, 1e-6), epsilon = c(2, 20, 200),
  calibration = c("tight", "published"), method = c("output", "objective"),
  stringsAsFactors = FALSE
)
rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(5000 + i)
  covered <- replicate(if (cell$method == "output") 400 else 150, {
    panel <- sim_panel(cell$n, 8, 2)
    fit <- function(epsilon) {
      dp_synth(panel$donors,
        target = panel$target, T0 = 8, epsilon = epsilon, delta = cell$delta, bounds = c(-1, 1),
        method = cell$method, calibration = cell$calibration, control = dp_control(rng = "R")
      )
    }
    effect <- effects(fit(Inf))[1L, ]
    interval <- confint(fit(cell$epsilon))
    inside <- interval[, 1L] <= c(mean(effect), effect) & c(mean(effect), effect) <= interval[, 2L]
    c(average = inside[[1L]], period = mean(inside[-1L]))
  })
  data.frame(
    cell[c("method", "calibration", "epsilon", "delta", "n")], as.list(round(rowMeans(covered), 3))
  )
})
result <- do.call(rbind, rows)
print(result, row.names = FALSE)
utils::write.csv(result, "bench/results/coverage-vertical.csv", row.names = FALSE)
