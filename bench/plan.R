# dp_plan() against simulation, over the grid of the coverage table: ratio of planned to simulated
# root mean squared error, on panels that the plan's table has not seen. Writes
# bench/results/plan.csv.
library(dpsc)

cells <- expand.grid(
  epsilon = c(1, 4), T0 = c(10, 40), n = c(100, 1000, 10000), design = c("factor", "linear"),
  method = c("gram", "output", "objective"), stringsAsFactors = FALSE
)
# The vertical methods are not for many donors: their error is beyond any bounds long before.
cells <- cells[cells$method == "gram" | cells$n <= 1000, ]
scale <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))

rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(4000 + i)
  replications <- if (cell$n > 3000) 100 else if (cell$method == "gram") 300 else 60
  squared <- replicate(max(10, round(scale * replications)), {
    panel <- sim_panel(cell$n, cell$T0, 3, design = cell$design)
    fit <- dp_synth(panel$donors,
      target = panel$target, T0 = cell$T0, epsilon = cell$epsilon, bounds = c(-1, 1),
      method = cell$method, control = dp_control(rng = "R")
    )
    mean((predict(fit)[1, ] - panel$counterfactual[-seq_len(cell$T0)])^2)
  })
  planned <- dp_plan(
    n = cell$n, T0 = cell$T0, T1 = 3, epsilon = cell$epsilon, method = cell$method,
    design = cell$design
  )$table$error
  simulated <- sqrt(mean(squared))
  data.frame(cell[c("method", "design", "n", "T0", "epsilon")],
    planned = signif(planned, 3), simulated = signif(simulated, 3),
    ratio = round(planned / simulated, 2)
  )
})
result <- do.call(rbind, rows)
print(result, row.names = FALSE)
if (scale >= 1) utils::write.csv(result, "bench/results/plan.csv", row.names = FALSE)
