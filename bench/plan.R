# dp_plan() compared with observed errors: ratio of planned to observed root mean squared error of a
# period's effect of zero. Writes bench/results/plan.csv.
#
# A cell is one population. 300 of its people (or as many as a real panel permits) are the public
# pilot, from which the plan gets standard deviations or whose rows it gets. Donors and a target are
# repeatedly drawn from the other people, released and estimated. Columns:
#   observed, average  error of a period, and of the average effect, over `releases` releases, in
#                      half-widths of the bounds
#   pilot, spreads     planned error of a period over observed: with the pilot's rows; with
#                      sd_between and sd_within of the pilot (shared = 0.4, the default)
#   average_pilot, average_spreads  the same for the average effect
#   width_pilot, width_spreads      planned over median observed half-width of the 95 % interval
#
# From the package's root, with dpsc installed: Rscript bench/plan.R [quick]. Real data are in the
# folder DPSC_SHARED.
library(dpsc)
source("bench/battery-designs.R")

sim_design <- function(design) {
  function(N, T0, T1) {
    list(rows = sim_panel(N - 1, T0, T1, design = design)$donors, bounds = c(-1, 1))
  }
}

population <- function(cell) {
  if (cell$design %in% names(real_panels)) {
    people <- real_panels[[cell$design]]()
  } else {
    design <- designs[[cell$design]] %||% sim_design(sub("sim_", "", cell$design))
    people <- c(design(cell$n + 2501L, cell$T0, cell$T1), cell[c("T0", "T1")])
  }
  rows <- clip(people$rows, people$bounds)[sample.int(nrow(people$rows)), ]
  pilot <- seq_len(min(300L, nrow(rows) %/% 3L))
  c(
    list(pilot = rows[pilot, ], rows = rows[-pilot, ]), people[c("T0", "T1", "bounds")]
  )
}

`%||%` <- rlang::`%||%`

# The numbers that a practitioner would compute: the standard deviation of levels without sampling
# error, and of each person's deviations from the common path.
spreads_of <- function(rows) {
  level <- rowMeans(rows)
  own <- rows - level
  own <- sweep(own, 2L, colMeans(own))
  within <- sum(own^2) / ((nrow(rows) - 1) * (ncol(rows) - 1))
  list(
    sd_between = sqrt(max(stats::var(level) - within / ncol(rows), 1e-3 * within)),
    sd_within = sqrt(within)
  )
}

# Errors for the target of each release. Rare events make these errors vary. The errors of
# extrapolating each target's level are a control variate, whose mean over all people is known.
observe <- function(people, cell, releases) {
  pre <- seq_len(people$T0)
  move <- colMeans(people$rows[, -pre]) - mean(people$rows[, pre])
  carried <- function(rows) {
    error <- sweep(rows[, -pre, drop = FALSE] - rowMeans(rows[, pre, drop = FALSE]), 2L, move)
    rbind(rowMeans(error^2), rowMeans(error)^2)
  }
  runs <- vapply(seq_len(releases), function(r) {
    chosen <- sample.int(nrow(people$rows), cell$n + cell$size)
    donors <- people$rows[chosen[seq_len(cell$n)], ]
    target <- colMeans(people$rows[chosen[-seq_len(cell$n)], , drop = FALSE])
    fit <- suppressWarnings(dp_synth(donors,
      target = target, T0 = people$T0, epsilon = cell$epsilon, bounds = people$bounds,
      size = cell$size, control = dp_control(rng = "R")
    ))
    table <- tidy(fit, conf.int = TRUE)
    average <- table[table$term == "average", ]
    c(
      mean(effects(fit)^2), mean(effects(fit))^2, stats::qnorm(0.975) * average$std.error,
      carried(matrix(target, 1L))
    )
  }, numeric(5L))
  expected <- rowMeans(carried(people$rows)) / cell$size
  squared <- vapply(1:2, function(i) {
    slope <- stats::cov(runs[i, ], runs[3L + i, ]) / stats::var(runs[3L + i, ])
    mean(runs[i, ]) - slope * (mean(runs[3L + i, ]) - expected[[i]])
  }, 0)
  half <- diff(people$bounds) / 2
  c(sqrt(squared), stats::median(runs[3L, ], na.rm = TRUE)) / half
}

judge_plan <- function(cell, releases) {
  set.seed(4000 + cell$seed)
  people <- population(cell)
  cell$n <- min(cell$n, nrow(people$rows) - cell$size)
  observed <- observe(people, cell, releases)
  question <- list(
    n = cell$n, T0 = people$T0, T1 = people$T1, epsilon = cell$epsilon, bounds = people$bounds,
    size = cell$size, method = "gram"
  )
  half <- diff(people$bounds) / 2
  planned <- function(...) {
    table <- do.call(dp_plan, c(question, ...))$table
    unlist(table[c("error", "average", "half_width")]) / half / observed
  }
  by_pilot <- planned(list(pilot = people$pilot))
  by_spreads <- planned(spreads_of(people$pilot))
  data.frame(
    cell[c("design", "size", "n")], T0 = people$T0, T1 = people$T1, epsilon = cell$epsilon,
    releases = releases, observed = signif(observed[[1L]], 3), average = signif(observed[[2L]], 3),
    pilot = by_pilot[[1L]], spreads = by_spreads[[1L]], average_pilot = by_pilot[[2L]],
    average_spreads = by_spreads[[2L]], width_pilot = by_pilot[[3L]],
    width_spreads = by_spreads[[3L]], row.names = NULL
  )
}

grid <- function(quick) {
  simulated <- expand.grid(
    epsilon = c(0.5, 1, 4), n = c(300, 1000, 3000),
    design = c("sim_factor", "sim_linear", names(designs)), size = 1, stringsAsFactors = FALSE
  )
  simulated$T0 <- ifelse(simulated$n == 3000, 24, 10)
  simulated$T1 <- 3
  real <- rbind(
    expand.grid(epsilon = c(0.5, 1, 4), n = c(300, 1000, 2600), design = "clinic", size = c(1, 60)),
    expand.grid(epsilon = c(0.5, 1, 4), n = c(300, 396), design = "wages", size = 1),
    expand.grid(epsilon = c(0.5, 1, 4), n = 300, design = "males", size = 1)
  )
  real$T0 <- real$T1 <- NA
  cells <- rbind(simulated, real[names(simulated)])
  cells$seed <- seq_len(nrow(cells))
  if (quick) cells[cells$epsilon == 1, ] else cells
}

main <- function(quick) {
  cells <- grid(quick)
  table <- do.call(rbind, parallel::mclapply(seq_len(nrow(cells)), function(i) {
    out <- judge_plan(cells[i, ], if (quick) 24L else 60L)
    cat(sprintf("%-10s size %3d, n = %4d, epsilon %.1f: %.2f by pilot, %.2f by spreads\n",
      out$design, out$size, out$n, out$epsilon, out$pilot, out$spreads))
    out
  }, mc.cores = min(2L, as.integer(Sys.getenv("DPSC_BENCH_CORES", "2")))))
  ratios <- grep("pilot|spreads", names(table))
  table[ratios] <- lapply(table[ratios], round, 2)
  print(table, row.names = FALSE)
  for (by in c("pilot", "spreads")) {
    outside <- table[[by]] < 0.7 | table[[by]] > 1.4
    cat(sum(outside), "of", nrow(table), "cells outside 0.7 to 1.4 by", by, "\n")
  }
  if (!quick) utils::write.csv(table, "bench/results/plan.csv", row.names = FALSE)
}
main("quick" %in% commandArgs(TRUE))
