# Targets that resemble a minority of the donors, and intervals of extreme width, by the default.
#
# From the package's root, with dpsc installed: Rscript bench/minority.R. Writes
# bench/results/minority.csv, one row per cell: `error`, the median absolute error of the average
# effect, whose true value is zero; `to_inf`, the ratio of this error to the error at epsilon = Inf
# on the same panels; `cover` and `cover_inf`, the coverage of nominal 95 % intervals; `width`, the
# median half-width; `wide`, the share of releases whose interval is more than twice as wide as the
# median. Each cell contains DPSC_BENCH_REPLICATIONS (default 20) releases.
library(dpsc)
source("bench/battery-designs.R")
source("bench/battery-measures.R")

replications <- as.integer(Sys.getenv("DPSC_BENCH_REPLICATIONS", "20"))

# Carriers of a rare covariate change their level when the treatment begins, and the target is a
# carrier.
carriers <- function(n, share, T0 = 10, T1 = 3) {
  x <- c(1, stats::rbinom(n, 1, share))
  rows <- stats::rnorm(n + 1, 5, 1.2) + ar1(n + 1, T0 + T1, 0.5, 0.6)
  rows[, T0 + seq_len(T1)] <- rows[, T0 + seq_len(T1)] + 2.5 * x
  data <- data.frame(
    id = rep(seq_len(n + 1), T0 + T1), time = rep(seq_len(T0 + T1), each = n + 1),
    y = c(clip(rows, c(-1, 14))), x = x
  )
  data$treated <- as.numeric(data$id == 1 & data$time > T0)
  list(data = data, bounds = list(y = c(-1, 14), x = c(0, 1)))
}

# Two clusters have different paths, and the target belongs to the smaller cluster.
clusters <- function(n, share, size, T0 = 18, T1 = 4) {
  periods <- seq_len(T0 + T1)
  people <- function(k, own) {
    path <- if (own) 0.25 * (periods - 9) else 0.8 * sin(periods / 4)
    stats::rnorm(k, 0, 1.3) + matrix(path, k, T0 + T1, byrow = TRUE) + noise(k, T0 + T1, 0.35)
  }
  own <- stats::rbinom(1, n, share)
  rows <- rbind(people(n - own, FALSE), people(own, TRUE))[sample.int(n), ]
  list(
    donors = clip(rows, c(-8, 8)), T0 = T0, bounds = c(-8, 8), size = size,
    target = colMeans(clip(people(size, TRUE), c(-8, 8)))
  )
}

# Most people never have an event, but the targets are people with events.
affected <- function(n, share, T0 = 8, T1 = 2, targets = 100) {
  rate <- ifelse(stats::runif(n) < share, stats::rgamma(n, 4, 2), 0)
  count <- function(rate) {
    clip(matrix(stats::rpois(length(rate) * (T0 + T1), rate), length(rate)), c(0, 10))
  }
  list(
    donors = count(rate), targets = count(stats::rgamma(targets, 4, 2)), T0 = T0,
    bounds = c(0, 10), size = 1L
  )
}

average <- function(fit) {
  table <- tidy_units(fit)
  table <- table[seq(1L, nrow(table), by = fit$release$panel$T1 + 1L), ]
  cbind(error = table$estimate, low = table$conf.low, high = table$conf.high)
}

fits <- list(
  carriers = function(panel, epsilon) {
    average(muffled(dp_synth(y ~ treated | x,
      data = panel$data, index = c("id", "time"), epsilon = epsilon, delta = 1e-6,
      bounds = panel$bounds, control = dp_control(rng = "R")
    )))
  },
  clusters = function(panel, epsilon) average(fit_donors(panel, epsilon, panel$target)),
  affected = function(panel, epsilon) {
    release <- fit_donors(panel, epsilon, panel$targets[1L, ])$release
    average(fit_targets(release, panel$targets, 1))
  },
  readme = function(panel, epsilon) {
    average(muffled(dp_synth(pressure ~ enrolled,
      data = clinic_panel, index = c("patient", "month"), epsilon = epsilon, delta = 1e-6,
      bounds = c(80, 200), size = 60, control = dp_control(rng = "R")
    )))
  }
)

cells <- rbind(
  expand.grid(design = "carriers", n = c(3000, 20000), share = c(0.02, 0.05), size = 1),
  expand.grid(design = "clusters", n = c(1500, 5000), share = 0.1, size = c(1, 100)),
  expand.grid(design = "affected", n = c(600, 1500, 3000), share = c(0.05, 0.13, 0.2), size = 1),
  data.frame(design = "readme", n = 3000, share = NA, size = 60)
)
cells$design <- as.character(cells$design)

draw <- function(cell) {
  switch(cell$design,
    carriers = carriers(cell$n, cell$share), clusters = clusters(cell$n, cell$share, cell$size),
    affected = affected(cell$n, cell$share)
  )
}

measure_cell <- function(cell) {
  count <- if (cell$design == "readme") 10L * replications else replications
  both <- lapply(seq_len(count), function(r) {
    set.seed(seed_of("minority", cell$design, cell$n, 100 * cell$share, cell$size) + r)
    panel <- draw(cell)
    fit <- fits[[cell$design]]
    compare <- cell$design %in% c("carriers", "clusters")
    list(private = fit(panel, 1), exact = if (compare) fit(panel, Inf))
  })
  part <- function(name) do.call(rbind, lapply(both, `[[`, name))
  covers <- function(x) mean(x[, "low"] <= 0 & x[, "high"] >= 0, na.rm = TRUE)
  private <- part("private")
  exact <- part("exact")
  half <- (private[, "high"] - private[, "low"]) / 2
  width <- stats::median(half, na.rm = TRUE)
  known <- cell$design != "readme"
  error <- stats::median(abs(private[, "error"]))
  data.frame(
    cell, replications = count, error = if (known) error else NA,
    to_inf = if (is.null(exact)) NA else error / stats::median(abs(exact[, "error"])),
    cover = if (known) covers(private) else NA,
    cover_inf = if (is.null(exact)) NA else covers(exact),
    none = mean(is.na(half)), width = width, wide = mean(half > 2 * width, na.rm = TRUE)
  )
}

results <- do.call(rbind, lapply(seq_len(nrow(cells)), function(i) {
  row <- measure_cell(cells[i, ])
  print(row, row.names = FALSE, digits = 3)
  row
}))
save_results(results, "minority.csv")
