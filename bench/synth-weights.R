# Private synthetic control of donors with weights: error and coverage of an average effect of zero.
# The target is the mean of `size` people of a population. Half of the population is of a kind that
# changes by `shift` in the last periods, independent of the past.
#   none     donors are drawn like the population, without weights
#   free     donors are drawn like the population, with arbitrary weights from 0.2 to 1
#   kind     this kind was drawn a quarter as often as the other, and weights correct for this
#   ignored  the same donors without their weights
#   bias, rmse  of the average effect, outcome units; se: mean standard error
#   cover    of 95 % intervals, and its standard error; none: releases without an interval
# From the package's root: Rscript bench/synth-weights.R
# Writes bench/results/synth-weights.csv. Not private: seeded. DPSC_BENCH_SCALE multiplies the runs.
library(dpsc)
runs <- ceiling(200 * as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1")))
before <- 12
after <- 4
shift <- 8
weight_bounds <- c(0, 1)

draw_people <- function(n, share) {
  periods <- before + after
  kind <- stats::runif(n) < share
  level <- stats::rnorm(n, 50, 8)
  slope <- stats::rnorm(n)
  season <- cos(seq_len(periods) / 2)
  y <- level + slope %o% (3 * season) + matrix(stats::rnorm(n * periods, sd = 5), n)
  last <- before + seq_len(after)
  y[kind, last] <- y[kind, last] + shift
  list(y = pmin(pmax(y, 0), 100), kind = kind)
}

one_run <- function(seed, cell) {
  set.seed(seed)
  informative <- cell$weights %in% c("kind", "ignored")
  donors <- draw_people(cell$n, if (informative) 0.2 else 0.5)
  w <- switch(cell$weights,
    free = stats::runif(cell$n, 0.2, 1), kind = ifelse(donors$kind, 1, 0.25)
  )
  target <- colMeans(draw_people(cell$size, 0.5)$y)
  fit <- suppressWarnings(dp_synth(donors$y,
    target = target, T0 = before, epsilon = cell$epsilon, bounds = c(0, 100), size = cell$size,
    protect = "donors", weights = w, max_weight = if (!is.null(w)) weight_bounds[[2L]],
    control = dp_control(rng = "R")
  ))
  found <- generics::tidy(fit, conf.int = TRUE)[1L, ]
  unlist(found[c("estimate", "std.error", "conf.low", "conf.high")])
}

measure <- function(cell) {
  each <- t(vapply(seq_len(runs), one_run, numeric(4), cell))
  made <- !is.na(each[, 2L])
  cover <- mean(each[made, 3L] <= 0 & each[made, 4L] >= 0)
  data.frame(cell,
    runs = runs, bias = mean(each[, 1L]), rmse = sqrt(mean(each[, 1L]^2)),
    se = mean(each[made, 2L]), cover = cover, cover.se = sqrt(cover * (1 - cover) / sum(made)),
    none = sum(!made)
  )
}

cells <- expand.grid(
  weights = c("none", "free", "kind", "ignored"), n = c(2000, 10000), epsilon = c(1, 4),
  size = c(1, 100), stringsAsFactors = FALSE
)
out <- do.call(rbind, lapply(seq_len(nrow(cells)), function(i) {
  found <- measure(as.list(cells[i, ]))
  print(found, digits = 3)
  found
}))
numbers <- c("bias", "rmse", "se", "cover", "cover.se")
out[numbers] <- lapply(out[numbers], signif, 3)
utils::write.csv(out, "bench/results/synth-weights.csv", row.names = FALSE)
