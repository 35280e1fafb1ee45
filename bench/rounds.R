# Point error of the default on eight panels of people: root mean squared error of the release's own
# target against what was to be expected of it (its signal after T0), over that of epsilon = Inf on
# the same panels; geometric mean over the panels. DPSC_BENCH_REPLICATIONS (default 60) panels each.
#
# From the package's root, with dpsc installed: Rscript bench/rounds.R
# Writes bench/results/rounds.csv (one row a cell; `signal` is n sqrt(rho)) and rounds-panels.csv
# (each panel, errors in half-widths of the bounds).
library(dpsc)
source("bench/battery-designs.R")
source("bench/battery-measures.R")

replications <- as.integer(Sys.getenv("DPSC_BENCH_REPLICATIONS", "60"))
panels <- c("factor", "linear", "season", "ar1", "walk", "binary", "costs", "poisson")
cells <- rbind(
  expand.grid(n = c(300, 1000, 3000, 10000), T0 = 10, T1 = 3, epsilon = 1, wider = 1),
  expand.grid(n = c(300, 1000, 3000, 10000), T0 = 24, T1 = 3, epsilon = 1, wider = 1),
  expand.grid(n = c(1000, 3000, 10000), T0 = 24, T1 = 6, epsilon = 1, wider = 5),
  expand.grid(n = c(300, 1000, 3000, 10000), T0 = 10, T1 = 6, epsilon = 4, wider = 5)
)

errors_of <- function(name, cell, r) {
  # Rows within the tight bounds, whatever the bounds that are declared.
  panel <- draw_panel(name, cell$n, cell$T0, cell$T1, 1L,
    seed = seed_of("rounds", name, cell$n, cell$T0, cell$T1) + r
  )
  panel$bounds <- mean(panel$bounds) + c(-0.5, 0.5) * cell$wider * diff(panel$bounds)
  vapply(c(private = cell$epsilon, exact = Inf), function(epsilon) {
    set.seed(seed_of("noise", name, cell$n, r))
    fit <- fit_donors(panel, epsilon, panel$targets[1L, ])
    mean((fit$counterfactual[-seq_len(cell$T0)] - panel$signal)^2) / (diff(panel$bounds) / 2)^2
  }, 0)
}

grid <- merge(cells, data.frame(panel = panels), by = NULL)
errors <- parallel::mclapply(order(-grid$n), function(i) {
  squared <- vapply(seq_len(replications), function(r) {
    errors_of(grid$panel[[i]], grid[i, ], r)
  }, numeric(2L))
  rmse <- sqrt(rowMeans(squared))
  data.frame(grid[i, ], private = rmse[[1L]], exact = rmse[[2L]], ratio = rmse[[1L]] / rmse[[2L]])
}, mc.cores = min(2L, as.integer(Sys.getenv("DPSC_BENCH_CORES", "2"))), mc.preschedule = FALSE)
failed <- vapply(errors, inherits, NA, "try-error")
if (any(failed)) stop(errors[failed][[1L]])
errors <- do.call(rbind, errors)

results <- do.call(rbind, lapply(seq_len(nrow(cells)), function(i) {
  own <- merge(errors, cells[i, ])
  data.frame(
    cells[i, ], signal = cells$n[[i]] * sqrt(cdp_rho(cells$epsilon[[i]], 1e-6)), replications,
    ratio = exp(mean(log(own$ratio))), worst = max(own$ratio),
    worst_panel = own$panel[[which.max(own$ratio)]]
  )
}))
print(results, row.names = FALSE, digits = 3)
save_results(results, "rounds.csv")
save_results(errors[order(errors$wider, errors$T0, errors$n, errors$panel), ], "rounds-panels.csv")
