# Costs that are mostly zero: effect of bounds seven times too wide on the errors of dp_synth().
#   Rscript bench/wide-bounds.R       about six minutes; writes bench/results/wide-bounds.csv
# `target` is public, or the mean of `size` protected people (one group per release). The panels and
# seeds are the same with bounds of 3,000, which cut the outcome, and of 21,000. Each release has 24
# targets without effect; a target is one person or the mean of 100 people.
#   rmse_tight, rmse_wide, rmse_inf   of the average effect; _inf: epsilon = Inf
#   se_tight, se_wide, se_inf         medians over releases and targets
#   privacy_tight, privacy_wide       the part of the standard error from noise
#   refused_tight, refused_wide       share of targets without an interval
#   se_ratio                          se_wide over se_tight (goal: at most 1.2; for a public target
#     at a bound the standard error allows for donors whom noise hides, with errors of half the
#     bounds' width, and no release at this budget excludes such donors: inst/proofs/gram.md, "Few
#     donors with large errors")
library(dpsc)
source("bench/battery-designs.R")
source("bench/battery-measures.R")

targets <- 25L

costs_panel <- function(n, size, seed) {
  set.seed(seed)
  rows <- pmin(designs$costs(n + targets * size, 10, 4)$rows, 3000)
  treated <- seq_len(targets * size)
  means <- rowsum(rows[treated, ], rep(seq_len(targets), each = size)) / size
  list(donors = rows[-treated, ], targets = means)
}

judge_bounds <- function(panel, size, epsilon, upper, seed) {
  set.seed(seed)
  fit <- fit_donors(
    list(donors = panel$donors, T0 = 10, bounds = c(0, upper)), epsilon, panel$targets[1L, ], size
  )
  read <- read_fit(fit_targets(fit$release, panel$targets[-1L, , drop = FALSE], size), size)
  c(
    squared = mean(read$estimate[, 1L]^2), se = stats::median(read$se[, 1L], na.rm = TRUE),
    privacy = stats::median(read$privacy[, 1L]), refused = mean(is.na(read$se[, 1L]))
  )
}

# The people of the group are also protected.
judge_protected <- function(n, size, epsilon, upper, seed) {
  set.seed(seed)
  rows <- pmin(designs$costs(n + size, 10, 4)$rows, 3000)
  fit <- suppressWarnings(dp_synth(rows[seq_len(n), ],
    target = rows[n + seq_len(size), ], T0 = 10, epsilon = epsilon, bounds = c(0, upper),
    protect = "everyone", control = dp_control(rng = "R")
  ))
  table <- tidy(fit)
  c(
    squared = table$estimate[[1L]]^2, se = table$std.error[[1L]],
    privacy = table$privacy.se[[1L]], refused = as.numeric(is.na(table$std.error[[1L]]))
  )
}

judge_cell <- function(n, size, target = "public", epsilon = 1, releases = 30L) {
  if (target == "protected") releases <- 4L * releases
  kinds <- list(tight = c(epsilon, 3000), wide = c(epsilon, 21000), inf = c(Inf, 3000))
  each <- lapply(seq_len(releases), function(r) {
    if (target == "public") panel <- costs_panel(n, size, r)
    vapply(kinds, function(kind) {
      if (target == "public") {
        judge_bounds(panel, size, kind[[1L]], kind[[2L]], 1e4 + r)
      } else if (is.finite(kind[[1L]])) {
        judge_protected(n, size, kind[[1L]], kind[[2L]], 1e4 + r)
      } else {
        # Without privacy `protect` has no effect.
        rep(NA_real_, 4L)
      }
    }, numeric(4L))
  })
  part <- function(name) t(vapply(each, function(one) one[name, ], numeric(3L)))
  rmse <- sqrt(colMeans(part("squared")))
  se <- apply(part("se"), 2L, stats::median, na.rm = TRUE)
  privacy <- apply(part("privacy"), 2L, stats::median)
  refused <- colMeans(part("refused"))
  data.frame(
    target, n, size, epsilon, releases, rmse_tight = rmse[["tight"]], rmse_wide = rmse[["wide"]],
    rmse_inf = rmse[["inf"]], se_tight = se[["tight"]], se_wide = se[["wide"]],
    se_inf = se[["inf"]], privacy_tight = privacy[["tight"]], privacy_wide = privacy[["wide"]],
    refused_tight = refused[["tight"]], refused_wide = refused[["wide"]],
    se_ratio = se[["wide"]] / se[["tight"]]
  )
}

cells <- rbind(
  expand.grid(n = c(1000, 3000), size = c(1, 100), target = "public", stringsAsFactors = FALSE),
  expand.grid(
    n = c(1000, 3000), size = c(100, 300), target = "protected", stringsAsFactors = FALSE
  )
)
if (nzchar(only <- Sys.getenv("DPSC_BENCH_TARGET"))) cells <- cells[cells$target == only, ]
table <- do.call(rbind, Map(judge_cell, cells$n, cells$size, cells$target))
print(table, digits = 3, row.names = FALSE)
save_results(table, "wide-bounds.csv")
