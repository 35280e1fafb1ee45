# The battery: intervals and errors of dp_synth() on data like people's. No target has an effect.
#
# From the package's root, with dpsc installed:
#   Rscript bench/battery.R            the grid below; about an hour on one core
#   Rscript bench/battery.R quick      a part of it, three minutes; writes battery-quick.csv
#   Rscript bench/battery.R holdout    designs not used for tuning (battery-holdout.R)
#   Rscript bench/battery.R selected   targets chosen for their level; writes battery-selected.csv
#   Rscript bench/battery.R privacy    privacy standard errors on clinic_panel and plm::Wages
# DPSC_BENCH_CORES (default 2) gives the number of processes, and DPSC_BENCH_SCALE (default 1)
# multiplies the releases. Real data are in the folder DPSC_SHARED. Finished cells are in
# results/battery-partial.csv until all cells are finished. A run that finds this file keeps its
# cells if the cells of every tenth block, drawn again, agree.
# All cells of the code `current` are from 2026-11-28 (18 minutes on two cores). Their errors and
# shares of refusals equal the former ones of 2026-11-25 to 27. Coverages differ by at most .012.
# battery-selected.csv contains all 44 blocks. battery-holdout.csv contains all 30 blocks, of which
# `bimodal`, `shocks`, `spending` are from the code before.
#
# A cell is a design, n, T0, kind of target and epsilon. As a user would do, its releases are made
# for the path of one target. They are then judged on fresh people (dp_synth(release, target = ))
# and on that target. Writes bench/results/battery.csv, one row per cell:
#   cover_average, cover_period, cover_band  coverage of nominal 95 % (cover_se, cover_period_se,
#                         cover_band_se: their Monte Carlo errors, between releases; cells before
#                         2026-11-27, 05:50, contain only the first); cover_own: for the target of
#                         the release
#   size_average, size_period, size_joint    rejections at 5 %: average, single periods, all periods
#   width, width_period   median half-width over the 95 % quantile of the same estimator's |error|
#   se_min, se_median     smallest and median standard error of the average over its true rmse
#   refused               share of intervals refused
#   rmse, rmse_signal     in half-widths of the bounds: average against the truth, and periods
#                         against the signal; to_inf, signal_to_inf: over epsilon = Inf
#                         on the same panels; q95: quantile of |error| of the average
#   privacy_ratio         reported privacy SE over the standard deviation of the estimate over
#                         releases of one panel
library(dpsc)
source("bench/battery-designs.R")
source("bench/battery-measures.R")
source("bench/battery-holdout.R")

grid_rows <- function(design, n, T0, T1, epsilons, releases, people, target = "person",
                      repeats = 12L) {
  expand.grid(
    design = design, target = target, n = n, T0 = T0, T1 = T1, epsilons = epsilons,
    releases = as.integer(releases), people = as.integer(people), repeats = as.integer(repeats),
    stringsAsFactors = FALSE
  )
}

default_grid <- function(chosen = setdiff(names(designs), "types")) {
  rbind(
    grid_rows(chosen, 300, 10, 3, "0.5 1 4 Inf", 24, 100),
    grid_rows(chosen, 1000, 10, 4, "0.5 1 4 Inf", 20, 100),
    grid_rows(chosen, 1000, 5, 2, "1 Inf", 20, 25, repeats = 0),
    grid_rows(chosen, 3000, 24, 3, "1 4 Inf", 20, 25),
    grid_rows(chosen, 10000, 10, 3, "1 Inf", 20, 25, repeats = 0)
  )
}

# The targets of one release share its donors, so a cell of groups contains as many releases as
# possible.
groups <- 200L

special_grid <- function() {
  rbind(
    grid_rows("types", c(300, 3000), 10, 3, "1 4 Inf", 20, 25),
    grid_rows(c("factor", "binary", "costs", "poisson"), 1000, 10, 4, "1 Inf", 20, 25,
      c("edge", "flat"), repeats = 0),
    grid_rows(c("factor", "binary", "costs", "rare"), 1000, 10, 4, "1 Inf", groups, 2,
      c("mean20", "mean200"), repeats = 0),
    grid_rows("rare", 3000, 10, 4, "1 Inf", groups, 2, "mean200", repeats = 0),
    grid_rows(c("factor", "ar1", "walk", "poisson"), 1000, 10, 4, "1 4 Inf", groups, 2, "low20",
      repeats = 0)
  )
}

# Groups and persons from the upper third, or the upper two thirds, of the mean before the
# treatment, and random groups and persons beside them. bench/selected.R covers other designs and
# numbers of periods.
selected_grid <- function() {
  chosen <- c("ar1", "binary", "poisson", "costs")
  rbind(
    grid_rows(chosen, c(1500, 5000), 12, 4, "1 Inf", 20, 25, c("third1", "twothirds1"),
      repeats = 0),
    grid_rows(chosen, c(1500, 5000), 12, 4, "1 Inf", groups, 1, c("third30", "third200", "mean200"),
      repeats = 0),
    grid_rows(chosen, 1500, 6, 4, "1 Inf", groups, 1, "third200", repeats = 0)
  )
}

# The data of a real panel fix the numbers `n`, `T0` and `T1`.
real_grid <- function() {
  rbind(
    grid_rows("clinic", 0, 0, 0, "0.5 1 4 Inf", 20, 25),
    grid_rows("clinic", 0, 0, 0, "1 Inf", groups, 2, "mean20", repeats = 0),
    grid_rows("clinic", 0, 0, 0, "1 4 Inf", groups, 2, "mean100"),
    grid_rows(c("wages", "males"), 0, 0, 0, "0.5 1 4 Inf", 20, 25),
    grid_rows("firms", 0, 0, 0, "4 Inf", 30, 14),
    grid_rows("smoking", 0, 0, 0, "4 Inf", 60, 1, repeats = 0)
  )
}

quick_grid <- function() {
  rbind(
    grid_rows(c("factor", "linear", "binary", "rare", "costs", "poisson"), 1000, 10, 3, "1 Inf", 8,
      60, repeats = 8),
    grid_rows(c("factor", "binary", "costs", "answers"), 300, 5, 2, "1 Inf", 8, 60, repeats = 8),
    grid_rows(c("clinic", "wages", "males"), 0, 0, 0, "1 Inf", 8, 50, repeats = 8),
    grid_rows("clinic", 0, 0, 0, "1", 8, 8, "mean100", repeats = 0),
    grid_rows("rare", 1000, 10, 4, "1", 8, 20, "mean200", repeats = 0)
  )
}

scaled <- function(grid) {
  scale <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))
  grid$releases <- as.integer(pmax(1, round(scale * grid$releases)))
  grid$repeats <- as.integer(pmin(grid$repeats, pmax(6, round(scale * grid$repeats))))
  grid
}

cell_names <- function(cells) {
  do.call(paste, c(cells[c("design", "target", "n", "T0", "T1", "epsilon")], sep = "/"))
}

# A committed table contains four digits, and NA for NaN. Its rows may come from a stopped run.
same_numbers <- function(kept, drawn) {
  kept <- kept[match(cell_names(drawn), cell_names(kept)), names(drawn)]
  chosen <- vapply(drawn, is.numeric, NA) & names(drawn) != "seconds"
  both <- lapply(list(kept, drawn), function(cells) {
    numbers <- as.matrix(cells[chosen])
    replace(numbers, is.nan(numbers), NA)
  })
  apart <- abs(both[[1L]] - both[[2L]]) > 1e-3 * abs(both[[2L]])
  all(is.na(both[[1L]]) == is.na(both[[2L]])) && !any(apart, na.rm = TRUE)
}

#' Blocks whose cells a stopped run has left, and that are still valid for this code
#'
#' Each cell has its own seeds, so the same code draws the same numbers: every tenth block, the
#' cheapest ones and one in the middle, is drawn again.
kept_blocks <- function(kept, grid, cost, source) {
  names <- vapply(seq_len(nrow(grid)), function(i) {
    epsilon <- as.numeric(strsplit(grid$epsilons[[i]], " ")[[1L]][[1L]])
    if (grid$n[[i]] == 0) NA_character_ else cell_names(cbind(grid[i, 1:5], epsilon))
  }, "")
  done <- which(names %in% cell_names(kept))
  if (!length(done)) return(done)
  again <- done[order(cost[done])][unique(c(
    seq_len(ceiling(length(done) / 10)), ceiling(length(done) / 2)
  ))]
  for (i in again) {
    if (!same_numbers(kept, judge_block(grid[i, ], source))) {
      stop("Cells of bench/results/battery-partial.csv differ from those of today's code in block ",
        names[[i]], ": remove the file and begin again.")
    }
    cat("kept: ", names[[i]], " is the same\n", sep = "")
  }
  done
}

run_grid <- function(grid, source = designs) {
  partial <- "bench/results/battery-partial.csv"
  grid <- scaled(grid)
  cost <- grid$releases * (grid$n * (grid$T0 + grid$T1) / 100 + grid$people * 3)
  kept <- if (file.exists(partial)) utils::read.csv(partial)
  todo <- setdiff(order(-cost), if (!is.null(kept)) kept_blocks(kept, grid, cost, source))
  # The longest cells come first, so that no core waits for the last one.
  cells <- parallel::mclapply(todo, function(i) {
    out <- judge_block(grid[i, ], source)
    cat(sprintf("%-9s %-8s n = %5d, T0 = %2d: coverage %s (%.0f s)\n", grid$design[[i]],
      grid$target[[i]], out$n[[1L]], out$T0[[1L]],
      paste(sprintf("%.3f", out$cover_average), collapse = " "), sum(out$seconds)))
    first <- !file.exists(partial)
    utils::write.table(out, partial, append = !first, sep = ",", row.names = FALSE,
      col.names = first)
    out
  }, mc.cores = min(2L, as.integer(Sys.getenv("DPSC_BENCH_CORES", "2"))), mc.preschedule = FALSE)
  failed <- vapply(cells, inherits, NA, "try-error")
  if (any(failed)) stop(cells[failed][[1L]])
  cells <- do.call(rbind, c(list(kept), cells))
  unlink(partial)
  cells[order(cells$design, cells$target, cells$n, cells$T0, cells$epsilon), ]
}

#' Reported and observed privacy standard errors
#'
#' clinic_panel and plm::Wages with the targets of the README: the programme's mean (60 people, see
#' data-raw) and the mean of the 67 women, each taken as one person and as the mean that it is.
#' `sd`: of the average effect over releases; `privacy_se`, `se`: root mean squares.
privacy_table <- function(releases = 200L, epsilons = c(0.25, 1, 4, 16, 64)) {
  clinic <- clinic_panel
  wages <- plm_data("Wages")
  wages$person <- rep(seq_len(nrow(wages) / 7), each = 7)
  wages$year <- rep(1:7, nrow(wages) / 7)
  women <- wages$sex == "female"
  panels <- list(
    clinic = c(real_panels$clinic(), list(
      target = clinic$pressure[clinic$patient == "programme"], people = 60
    )),
    wages = list(
      rows = long_to_rows(wages[!women, ], "person", "year", "lwage", 1:7),
      target = as.numeric(tapply(wages$lwage[women], wages$year[women], mean)),
      people = sum(women) / 7, T0 = 5, T1 = 2, bounds = c(4, 9)
    )
  )
  cells <- expand.grid(epsilon = epsilons, group = c(FALSE, if (sized) TRUE), data = names(panels),
    stringsAsFactors = FALSE)
  rows <- lapply(seq_len(nrow(cells)), function(i) {
    panel <- panels[[cells$data[[i]]]]
    panel$donors <- panel$rows
    size <- if (cells$group[[i]]) panel$people else 1
    set.seed(seed_of("privacy", cells$data[[i]], cells$epsilon[[i]]))
    average <- vapply(seq_len(releases), function(r) {
      read <- read_fit(fit_donors(panel, cells$epsilon[[i]], panel$target, size), size)
      c(read$estimate[[1L]], read$privacy[[1L]], read$se[[1L]])
    }, numeric(3L))
    observed <- stats::sd(average[1L, ])
    reported <- sqrt(mean(average[2L, ]^2))
    data.frame(
      data = cells$data[[i]], size, epsilon = cells$epsilon[[i]], releases, sd = observed,
      privacy_se = reported,
      ratio = reported / observed, se = sqrt(mean(average[3L, ]^2, na.rm = TRUE)),
      se_median = stats::median(average[3L, ], na.rm = TRUE), refused = mean(is.na(average[3L, ]))
    )
  })
  do.call(rbind, rows)
}

main <- function(what) {
  if (what == "privacy") {
    table <- privacy_table()
    print(table, row.names = FALSE, digits = 3)
    return(save_results(table, "privacy-se.csv"))
  }
  cells <- switch(what,
    quick = run_grid(quick_grid()),
    selected = run_grid(selected_grid()),
    holdout = run_grid(default_grid(names(holdout_designs)), holdout_designs),
    run_grid(rbind(default_grid(), special_grid(), real_grid()))
  )
  print_battery(cells)
  save_results(cells, switch(what,
    quick = "battery-quick.csv", holdout = "battery-holdout.csv",
    selected = "battery-selected.csv", "battery.csv"
  ))
}

main(c(commandArgs(trailingOnly = TRUE), "all")[[1L]])
