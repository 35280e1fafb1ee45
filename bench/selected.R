# Targets that are not drawn like the donors, on held-out designs: targets chosen for their level,
# or from a minority with a different path. No target has an effect.
#
# From the package's root, with dpsc installed:
# Rscript bench/selected.R [levels|minority|monotone|random]
# Each cell uses DPSC_BENCH_REPLICATIONS (default 24) releases with one target each, at epsilon = 1
# and Inf on the same panels. Writes bench/results/selected-levels.csv and selected-minority.csv:
#   cover, cover_inf   of nominal 95 % intervals of the average; none: share without an interval
#   error, to_inf      root mean square, in half-widths of the bounds, and its ratio to the error
#                      without privacy
#   se_ratio           median standard error over the error
#   noted              share with the note that the target is unlike the released donors
#   covered_unnoted    coverage of targets without the note
# Also writes selected-monotone.csv, the median error at n donors and its ratio to the error at
# (about) half as many, and selected-random.csv, the share of random targets with the note and the
# share without an interval for this reason.
library(dpsc)
source("bench/battery-designs.R")
source("bench/battery-measures.R")
source("bench/selected-designs.R")

replications <- as.integer(Sys.getenv("DPSC_BENCH_REPLICATIONS", "24"))
designs_of <- function(name) held_out[[name]] %||% designs[[name]] %||% name

has_note <- function(fit, i = 1L) !is.null(dpsc:::unlike_words(fit, i))
has_reason <- function(fit, i = 1L) identical(fit$spread[[i]]$reason, dpsc:::unseen_words)
says_unlike <- function(fit) has_note(fit) || has_reason(fit)

read_one <- function(panel, epsilon) {
  fit <- fit_donors(panel, epsilon, panel$targets[1L, ])
  row <- tidy_units(fit)[1L, ]
  data.frame(
    error = row$estimate, se = row$std.error, low = row$conf.low, high = row$conf.high,
    noted = says_unlike(fit), apart = fit$spread[[1L]]$apart %||% NA
  )
}

summarise_cell <- function(private, exact, half) {
  covers <- function(x) mean(x$low <= 0 & x$high >= 0, na.rm = TRUE)
  rmse <- sqrt(mean(private$error^2))
  data.frame(
    releases = nrow(private), cover = covers(private), cover_inf = covers(exact),
    none = mean(is.na(private$low)), error = rmse / half, to_inf = rmse / sqrt(mean(exact$error^2)),
    se_ratio = stats::median(private$se, na.rm = TRUE) / rmse, noted = mean(private$noted),
    covered_unnoted = covers(private[!private$noted, ]), apart = stats::median(private$apart)
  )
}

run_cell <- function(cell, draw) {
  runs <- lapply(seq_len(replications), function(r) {
    set.seed(seed_of("selected", cell$design, cell$target, cell$n, cell$T0) + r)
    panel <- draw(cell)
    list(half = diff(panel$bounds) / 2, private = read_one(panel, 1), exact = read_one(panel, Inf))
  })
  bind <- function(part) do.call(rbind, lapply(runs, `[[`, part))
  row <- cbind(cell, summarise_cell(bind("private"), bind("exact"), runs[[1L]]$half))
  print(row, row.names = FALSE, digits = 3)
  row
}

run_cells <- function(cells, draw) {
  do.call(rbind, lapply(seq_len(nrow(cells)), function(i) run_cell(cells[i, ], draw)))
}

levels_table <- function() {
  kinds <- c(
    "person", "mean30", "mean200", "third1", "third30", "third200", "twothirds200"
  )
  cells <- rbind(
    expand.grid(design = names(held_out), target = kinds, n = 1500, T0 = c(6, 24)),
    expand.grid(design = names(held_out), target = kinds, n = 5000, T0 = c(6, 12)),
    expand.grid(design = names(held_out), target = kinds, n = 20000, T0 = 24),
    # A real panel has fixed n and T0.
    expand.grid(
      design = c("clinic", "males", "wages"), target = c("mean30", "third30"), n = 0, T0 = 0
    )
  )
  cells[1:2] <- lapply(cells[1:2], as.character)
  run_cells(cells, function(cell) {
    draw_panel(designs_of(cell$design), cell$n, cell$T0, 4L, 1L, cell$target)
  })
}

minority_table <- function() {
  cells <- expand.grid(
    design = c("trend", "wave"), share = c(0.03, 0.1), size = c(1, 30, 100), n = c(1500, 5000),
    T0 = c(8, 18), stringsAsFactors = FALSE
  )
  cells$target <- paste0(100 * cells$share, "%, ", cells$size)
  run_cells(cells, function(cell) {
    cluster_panel(cell$n, cell$share, cell$size, cell$T0, cell$design)
  })
}

# The donors are nested: each smaller set is part of the larger sets.
monotone_table <- function(sizes = c(1500, 3000, 6000, 12000, 20000)) {
  cells <- expand.grid(
    design = c("season", "amplitude", "sticky", "factor"), target = c("person", "mean100"),
    T0 = c(6, 24), stringsAsFactors = FALSE
  )
  do.call(rbind, lapply(seq_len(nrow(cells)), function(i) {
    cell <- cells[i, ]
    errors <- vapply(seq_len(replications), function(r) {
      set.seed(seed_of("monotone", cell$design, cell$target, cell$T0) + r)
      panel <- draw_panel(designs_of(cell$design), max(sizes), cell$T0, 4L, 1L, cell$target)
      donors <- panel$donors
      vapply(sizes, function(n) {
        panel$donors <- donors[seq_len(n), ]
        effects <- dpsc:::effects_of(fit_donors(panel, 1, panel$targets[1L, ]))
        sqrt(mean(effects^2))
      }, 0)
    }, sizes)
    median <- apply(errors, 1L, stats::median)
    rms <- sqrt(rowMeans(errors^2))
    row <- data.frame(
      cell, n = sizes, panels = replications, error = median,
      ratio = c(NA, median[-1L] / median[-length(sizes)]),
      rms_ratio = c(NA, rms[-1L] / rms[-length(sizes)]), row.names = NULL
    )
    print(row, row.names = FALSE, digits = 3)
    row
  }))
}

# Half as many releases with six targets each, since the second fit reuses the release of the first.
random_table <- function() {
  cells <- rbind(
    expand.grid(design = names(c(held_out, designs)), n = 1500, T0 = c(6, 24)),
    expand.grid(design = names(c(held_out, designs)), n = 5000, T0 = 12)
  )
  cells <- merge(cells, data.frame(target = c("person", "mean30", "mean200")))
  cells$design <- as.character(cells$design)
  do.call(rbind, lapply(seq_len(nrow(cells)), function(i) random_cell(cells[i, ])))
}

random_cell <- function(cell) {
  said <- do.call(rbind, lapply(seq_len(max(1L, replications %/% 2L)), function(r) {
    set.seed(seed_of("random", cell$design, cell$target, cell$n, cell$T0) + r)
    panel <- draw_panel(designs_of(cell$design), cell$n, cell$T0, 4L, 6L, cell$target)
    first <- fit_donors(panel, 1, panel$targets[1L, ])
    units <- dpsc:::fit_view(
      fit_targets(first$release, panel$targets[-1L, , drop = FALSE], panel$size), "unit"
    )
    others <- t(vapply(1:5, function(i) c(has_note(units, i), has_reason(units, i)), c(NA, NA)))
    rbind(c(has_note(first), has_reason(first)), others)
  }))
  row <- data.frame(
    cell, targets = nrow(said), noted = mean(said[, 1L]), reason = mean(said[, 2L])
  )
  print(row, row.names = FALSE, digits = 3)
  row
}

tables <- list(
  levels = levels_table, minority = minority_table, monotone = monotone_table,
  random = random_table
)
asked <- commandArgs(trailingOnly = TRUE)
for (name in if (length(asked)) asked else names(tables)) {
  save_results(tables[[name]](), paste0("selected-", name, ".csv"))
}
