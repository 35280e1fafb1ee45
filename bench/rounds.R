# Point error of the default on eight panels of people: root mean squared error for the target of
# the release, compared with its signal after T0, over the error at epsilon = Inf on the same
# panels; geometric mean over the panels. The same panels also show two rounds of moments without a
# round for the target, which was the default before, and numbers of features that dp_control() may
# fix. Each cell uses DPSC_BENCH_REPLICATIONS (default 60) panels.
#
# From the package's root, with dpsc installed: Rscript bench/rounds.R
# Writes bench/results/rounds.csv (one row per cell; `signal` is n sqrt(rho), `ratio` the default's
# ratio, `before` the ratio of two rounds, `against_before` their quotient with its standard error,
# `fixed` the best single number of features in hindsight) and rounds-panels.csv (each panel, errors
# in half-widths of the bounds).
library(dpsc)
source("bench/battery-designs.R")
source("bench/battery-measures.R")

replications <- as.integer(Sys.getenv("DPSC_BENCH_REPLICATIONS", "60"))
panels <- c("factor", "linear", "season", "ar1", "walk", "binary", "costs", "poisson")
fixed <- c(4, 8, Inf)
cells <- rbind(
  expand.grid(n = c(300, 1000, 3000, 10000), T0 = 10, T1 = 3, epsilon = 1, wider = 1),
  expand.grid(n = c(300, 1000, 3000, 10000), T0 = 24, T1 = 3, epsilon = 1, wider = 1),
  expand.grid(n = c(1000, 3000, 10000), T0 = 24, T1 = 6, epsilon = 1, wider = 5),
  expand.grid(n = c(300, 1000, 3000, 10000), T0 = 10, T1 = 6, epsilon = 4, wider = 5)
)

with_control <- function(panel, epsilon, ...) {
  fit <- suppressWarnings(suppressMessages(dp_synth(panel$donors,
    target = panel$targets[1L, ], T0 = panel$T0, epsilon = epsilon, bounds = panel$bounds,
    control = dp_control(rng = "R", ...)
  )))
  drop(fit$counterfactual)
}

errors_of <- function(name, cell, r) {
  # The rows lie within the tight bounds, for any declared bounds.
  panel <- draw_panel(name, cell$n, cell$T0, cell$T1, 1L,
    seed = seed_of("rounds", name, cell$n, cell$T0, cell$T1) + r
  )
  panel$bounds <- mean(panel$bounds) + c(-0.5, 0.5) * cell$wider * diff(panel$bounds)
  paths <- c(
    list(
      private = function() {
        drop(fit_donors(panel, cell$epsilon, panel$targets[1L, ])$counterfactual)
      },
      exact = function() drop(fit_donors(panel, Inf, panel$targets[1L, ])$counterfactual),
      before = function() with_control(panel, cell$epsilon, target_round = FALSE)
    ),
    stats::setNames(lapply(fixed, function(k) {
      function() {
        features <- min(k, if (is.finite(k)) panel$T0 - 1)
        with_control(panel, cell$epsilon, features = features)
      }
    }), paste0("features", fixed))
  )
  vapply(paths, function(path) {
    set.seed(seed_of("noise", name, cell$n, r))
    mean((path()[-seq_len(cell$T0)] - panel$signal)^2) / (diff(panel$bounds) / 2)^2
  }, 0)
}

# Standard error of the log ratio of two root mean squares that come from paired errors.
log_error <- function(x, y) {
  part <- x / mean(x) - y / mean(y)
  stats::sd(part) / sqrt(length(part)) / 2
}

grid <- merge(cells, data.frame(panel = panels), by = NULL)
errors <- parallel::mclapply(order(-grid$n), function(i) {
  squared <- vapply(seq_len(replications), function(r) {
    errors_of(grid$panel[[i]], grid[i, ], r)
  }, numeric(3L + length(fixed)))
  rmse <- sqrt(rowMeans(squared))
  data.frame(
    grid[i, ], as.list(rmse), ratio = rmse[["private"]] / rmse[["exact"]],
    against_before = rmse[["private"]] / rmse[["before"]],
    log_error = log_error(squared["private", ], squared["before", ])
  )
}, mc.cores = min(2L, as.integer(Sys.getenv("DPSC_BENCH_CORES", "2"))), mc.preschedule = FALSE)
failed <- vapply(errors, inherits, NA, "try-error")
if (any(failed)) stop(errors[failed][[1L]])
errors <- do.call(rbind, errors)

results <- do.call(rbind, lapply(seq_len(nrow(cells)), function(i) {
  own <- merge(errors, cells[i, ])
  mean_ratio <- function(x) exp(mean(log(x / own$exact)))
  by_features <- vapply(paste0("features", fixed), function(k) mean_ratio(own[[k]]), 0)
  data.frame(
    cells[i, ], signal = cells$n[[i]] * sqrt(cdp_rho(cells$epsilon[[i]], 1e-6)), replications,
    ratio = mean_ratio(own$private), before = mean_ratio(own$before),
    against_before = exp(mean(log(own$against_before))),
    log_error = sqrt(sum(own$log_error^2)) / nrow(own),
    fixed = min(by_features), fixed_features = fixed[[which.min(by_features)]],
    worst = max(own$ratio), worst_panel = own$panel[[which.max(own$ratio)]]
  )
}))
print(results, row.names = FALSE, digits = 3)
print(errors[errors$against_before > 1.05, ], row.names = FALSE, digits = 3)
save_results(results, "rounds.csv")
save_results(errors[order(errors$wider, errors$T0, errors$n, errors$panel), ], "rounds-panels.csv")
