# protect = "everyone" if the treatment acts on some people more than on others: error and coverage
# of the average effect. Writes bench/results/protect-responders.csv:
#   truth     the mean effect of the treated people, in outcome units
#   bias, rmse, se, width   of the average effect; `se` and `width` are medians
#   coverage  of nominal 95 % intervals of the average, and `periods` of single periods
# The constants of R/mech-treated-tail.R were adjusted on `use` "tuning" only.
# DPSC_BENCH_REPLICATIONS scales the 60 releases per cell.
suppressPackageStartupMessages(library(dpsc))
times <- as.numeric(Sys.getenv("DPSC_BENCH_REPLICATIONS", "1"))

# A person's level, and autoregressive noise of standard deviation 3.
people <- function(n, periods) {
  x <- matrix(stats::rnorm(n * periods, 0, 3), n)
  for (t in seq_len(periods)[-1L]) x[, t] <- 0.5 * x[, t - 1L] + sqrt(0.75) * x[, t]
  50 + stats::rnorm(n, 0, 5) + x
}
counts <- function(n, periods) {
  matrix(stats::rpois(n * periods, 20 * stats::rgamma(n, 6, 6)), n) + 0
}
some <- function(share, by) function(g) -by * stats::rbinom(g, 1, share)
effects_of <- list(
  none = some(0, 0), all = some(1, 20), tenth = some(0.1, 40), twentieth = some(0.05, 40),
  third = some(0.3, 20), half = some(0.5, 20), fifth = some(0.2, 10), mild = some(0.3, 8),
  exponential5 = function(g) -stats::rexp(g, 1 / 5),
  exponential10 = function(g) -stats::rexp(g, 1 / 10),
  gamma = function(g) -stats::rgamma(g, 0.5, 0.1), normal = function(g) stats::rnorm(g, -5, 5),
  # Held out.
  up = some(0.15, -30), both = function(g) 25 * sample(c(-1, 0, 1), g, TRUE, c(0.25, 0.65, 0.1)),
  lognormal = function(g) -stats::rlnorm(g, 1, 1), uniform = function(g) -stats::runif(g, 0, 20),
  two = function(g) -ifelse(stats::runif(g) < 0.15, 25, 4)
)

cell <- function(use, effect, n, m, epsilon, T1 = 4L, T0 = 8L, draw = people, scale = 1,
                 bounds = c(0, 100), draws = 60) {
  runs <- t(vapply(seq_len(ceiling(draws * times)), function(seed) {
    set.seed(4e4 + seed)
    post <- T0 + seq_len(T1)
    x <- draw(n + m, T0 + T1)
    group <- n + seq_len(m)
    x <- pmin(pmax(x, bounds[[1L]]), bounds[[2L]])
    before <- x[group, post]
    x[group, post] <- pmin(pmax(before + effects_of[[effect]](m), bounds[[1L]]), bounds[[2L]])
    truth <- scale * mean(x[group, post] - before)
    x <- scale * x
    fit <- suppressWarnings(dp_synth(x[-group, ],
      target = x[group, ], T0 = T0, epsilon = epsilon, bounds = scale * bounds,
      protect = "everyone", control = dp_control(rng = "R")
    ))
    months <- tidy(fit, conf.int = TRUE)
    by_month <- scale * colMeans(x[group, post, drop = FALSE] / scale - before)
    row <- months[1L, ]
    months <- months[-1L, ]
    c(
      truth = truth, error = row$estimate - truth, se = row$std.error,
      width = row$conf.high - row$conf.low,
      covers = row$conf.low <= truth && truth <= row$conf.high,
      periods = mean(months$conf.low <= by_month & by_month <= months$conf.high)
    )
  }, numeric(6L)))
  row <- data.frame(
    use, effect, n, m, epsilon, T1, scale, width_of_bounds = diff(bounds),
    truth = mean(runs[, "truth"]), bias = mean(runs[, "error"]),
    rmse = sqrt(mean(runs[, "error"]^2)), se = stats::median(runs[, "se"], na.rm = TRUE),
    width = stats::median(runs[, "width"], na.rm = TRUE),
    coverage = mean(runs[, "covers"], na.rm = TRUE),
    periods = mean(runs[, "periods"], na.rm = TRUE)
  )
  number <- vapply(row, is.double, NA)
  row[number] <- lapply(row[number], signif, 3)
  cat(format(unlist(row)), "\n")
  row
}

rows <- c(
  lapply(names(effects_of)[1:12], cell, use = "tuning", n = 2000, m = 300, epsilon = 1),
  list(
    cell("tuning", "tenth", 2000, 1000, 1), cell("tuning", "twentieth", 2000, 300, 4),
    cell("tuning", "exponential10", 2000, 1000, 2), cell("tuning", "fifth", 2000, 1000, 2)
  ),
  lapply(names(effects_of)[13:17], cell, use = "held out", n = 2000, m = 300, epsilon = 1),
  list(
    cell("held out", "none", 3000, 150, 1, T1 = 8L, T0 = 16L),
    cell("held out", "tenth", 5000, 600, 1, T1 = 1L),
    cell("held out", "third", 800, 200, 1, T1 = 6L, T0 = 12L, scale = 1000),
    cell("held out", "up", 2000, 600, 0.5, T1 = 2L),
    cell("held out", "two", 5000, 2000, 1, T1 = 8L, T0 = 16L),
    cell("held out", "lognormal", 1500, 500, 4, bounds = c(-100, 300)),
    cell("held out", "none", 1500, 500, 2, bounds = c(-1000, 1000)),
    cell("held out", "third", 1500, 500, 2, bounds = c(-1000, 1000), scale = 0.001),
    cell("held out", "none", 2000, 300, 1, draw = counts, bounds = c(0, 150)),
    cell("held out", "up", 2000, 300, 1, draw = counts, bounds = c(0, 150)),
    cell("held out", "fifth", 1000, 100, 2, T0 = 6L)
  )
)
path <- Sys.getenv("DPSC_BENCH_OUT", "bench/results/protect-responders.csv")
utils::write.csv(do.call(rbind, rows), path, row.names = FALSE)
