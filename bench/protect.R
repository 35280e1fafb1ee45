# protect = "everyone": error and coverage of the average effect on a protected group, compared with
# a public target under the default release and under the same release without a target.
# DPSC_BENCH_REPLICATIONS scales the draws (default 1). Writes bench/results/protect.csv:
#   errors    root mean squares, in units of half the bounds' width; `document`: of a prototype
#   coverage  of nominal 95 % intervals, and the share of draws with an interval
#   length    the interval's median length divided by the 95 % quantile of its error on both sides
# For single periods:
#   month_public, month  errors, as above
#   month_oracle         the error of a public target plus the noise of an oracle, which knows the
#                        residuals of all people from the donors' prediction, hence the group's mean
#                        and the best radius, and spends the whole budget on one mean in one ball
#   month_ratio          `month` divided by `month_oracle`
#   month_coverage       the coverage by period
suppressPackageStartupMessages(library(dpsc))
simulate_factor <- dpsc:::simulate_factor
times <- as.numeric(Sys.getenv("DPSC_BENCH_REPLICATIONS", "1"))
only <- as.numeric(strsplit(Sys.getenv("DPSC_BENCH_DONORS", "1000,3000,10000"), ",")[[1L]])
T0 <- 18L
# The number of periods for the rows about single periods.
T1_months <- 8L

designs <- list(
  factor = list(bounds = c(-1, 1), draw = function(people, T1) {
    simulate_factor(people, T0 + T1, 3, 0.8, 0.075, 0.2, 0.05, 0.05)$outcome
  }),
  # Levels, a season that affects people to different degrees, and autoregressive noise.
  season = list(bounds = c(0, 200), draw = function(people, T1) {
    periods <- T0 + T1
    noise <- matrix(stats::rnorm(people * periods, 0, 10), people)
    for (t in seq_len(periods)[-1L]) noise[, t] <- 0.6 * noise[, t - 1L] + 0.8 * noise[, t]
    season <- outer(stats::rnorm(people, 1, 0.5), 8 * sin(2 * pi * seq_len(periods) / 12))
    pmin(pmax(100 + stats::rnorm(people, 0, 15) + season + noise, 0), 200)
  }),
  counts = list(bounds = c(0, 20), draw = function(people, T1) {
    rate <- exp(stats::rnorm(people, 0.8, 0.5))
    pmin(matrix(stats::rpois(people * (T0 + T1), rate), people) + 0, 20)
  }),
  # Most people have no costs in most months. The other people have log-normal sums.
  costs = list(bounds = c(0, 5000), draw = function(people, T1) {
    user <- stats::rbinom(people, 1, 0.4)
    level <- stats::rnorm(people, 5, 0.8)
    months <- matrix(stats::rbinom(people * (T0 + T1), 1, 0.5), people) * user
    noise <- matrix(stats::rnorm(people * (T0 + T1), 0, 0.6), people)
    pmin(months * exp(level + noise), 5000)
  }),
  binary = list(bounds = c(0, 1), draw = function(people, T1) {
    rate <- stats::plogis(stats::rnorm(people, -1, 1.2))
    matrix(stats::rbinom(people * (T0 + T1), 1, rate), people) * 1
  })
)
document <- data.frame(
  n = rep(c(1000, 3000, 10000), each = 3L), m = rep(c(60, 200, 1000), 3L),
  error = c(.069, .033, .042, .061, .030, .029, .052, .017, .015)
)

# The variance that an oracle's noise adds to the effect in a period, in outcome units.
oracle_variance <- function(release, group, mu) {
  x <- release$statistics$treated
  T1 <- release$panel$T1
  own <- seq.int(to = length(x$mean), length.out = T1)
  back <- utils::tail(x$moves, T1)[, own] / x$mean_sd
  scale <- unclass(dpsc:::release_scale(release))[c("centre", "unit")]
  residual <- tcrossprod(((group - scale$centre[1L]) / scale$unit) %*% x$loadings[, own], back)
  residual <- sweep(residual, 2L, colMeans(residual))
  norm <- sqrt(rowSums(residual^2))
  # The share of a shift that remains in the mean of clipped rows, averaged over the directions of
  # the shift.
  kept <- function(R) mean(ifelse(norm <= R, 1, R / norm * (1 - 1 / T1)))
  noise <- vapply(sqrt(mean(norm^2)) * 2^seq(-4, 3, 0.1), function(R) {
    2 * R / (nrow(group) * mu * kept(R))
  }, 0)
  (min(noise) * scale$unit)^2
}

one <- function(design, n, m, effect, far, epsilon, T1, seed) {
  set.seed(seed)
  d <- designs[[design]]
  # There is one draw only, since a second draw would have other common shocks.
  people <- d$draw(n + m * (1 + far), T1)
  half <- diff(d$bounds) / 2
  post <- T0 + seq_len(T1)
  donors <- people[seq_len(n), ]
  group <- people[n + seq_len(m), ]
  # A group that differs from the donors: half of its people are those with the highest past among
  # twice as many people.
  if (far) {
    more <- people[n + seq_len(2 * m), ]
    group <- more[order(-rowMeans(more[, seq_len(T0)]))[seq_len(m)], ]
  }
  before <- colMeans(group[, post])
  untreated <- group
  group[, post] <- pmin(pmax(group[, post] + effect * half, d$bounds[1L]), d$bounds[2L])
  months <- colMeans(group[, post]) - before
  truth <- mean(months)
  control <- dp_control(rng = "R")
  run <- function(target, ...) {
    suppressWarnings(dp_synth(donors,
      target = target, T0 = T0, epsilon = epsilon, bounds = d$bounds, control = control, ...
    ))
  }
  fits <- list(public = run(colMeans(group), size = m), everyone = run(group, protect = "everyone"))
  fits$free <- suppressWarnings(
    dp_synth(fits$everyone$release, target = colMeans(group), size = m)
  )
  table <- tidy(fits$everyone, conf.int = TRUE)
  errors <- vapply(fits, function(fit) mean(effects(fit)) - truth, 0) / half
  month_error <- function(fit) sqrt(mean((effects(fit) - months)^2)) / half
  oracle <- oracle_variance(
    fits$everyone$release, untreated, dpsc:::gdp_budget_cpp(epsilon, 1e-6)
  )
  month <- table[-1L, ]
  c(errors,
    covers = table$conf.low[[1L]] <= truth && truth <= table$conf.high[[1L]],
    length = (table$conf.high[[1L]] - table$conf.low[[1L]]) / half,
    month_public = month_error(fits$public), month = month_error(fits$everyone),
    month_noise = sqrt(oracle) / half,
    month_covers = mean(month$conf.low <= months & months <= month$conf.high)
  )
}

cell <- function(design, n, m, effect = 0, far = FALSE, epsilon = 1, draws = 40,
                 T1 = 6L) {
  draws <- ceiling(draws * times)
  out <- t(vapply(seq_len(draws), function(seed) {
    one(design, n, m, effect, far, epsilon, T1, seed)
  }, numeric(9L)))
  rmse <- function(name) sqrt(mean(out[, name]^2))
  has <- !is.na(out[, "covers"])
  row <- data.frame(
    design, n, m, T1, epsilon, effect, far, draws,
    public = rmse("public"), free = rmse("free"), everyone = rmse("everyone"),
    ratio = rmse("everyone") / rmse("public"), coverage = mean(out[has, "covers"]),
    with_interval = mean(has),
    width = stats::median(out[has, "length"]) /
      (2 * stats::quantile(abs(out[, "everyone"]), 0.95)),
    month_public = rmse("month_public"), month = rmse("month"),
    month_oracle = sqrt(rmse("month_public")^2 + rmse("month_noise")^2),
    month_ratio = rmse("month") / sqrt(rmse("month_public")^2 + rmse("month_noise")^2),
    month_coverage = mean(out[has, "month_covers"]),
    document = if (design == "factor" && effect == 0 && !far && epsilon == 1 && T1 == 6L) {
      document$error[match(paste(n, m), paste(document$n, document$m))]
    } else {
      NA_real_
    }
  )
  row[-1L] <- lapply(row[-1L], function(x) if (is.numeric(x)) signif(x, 3L) else x)
  cat(format(unlist(row)), "\n")
  row
}

rows <- list()
for (n in only) {
  for (m in c(60, 200, 1000)) {
    rows <- c(rows, list(cell("factor", n, m, draws = if (n > 5000) 20 else 40)))
  }
}
if (3000 %in% only) {
  for (effect in c(0.1, 0.5)) {
    for (m in c(60, 200)) rows <- c(rows, list(cell("factor", 3000, m, effect)))
  }
  rows <- c(rows, list(
    cell("factor", 3000, 200, far = TRUE), cell("factor", 3000, 200, epsilon = 4),
    cell("costs", 3000, 200), cell("costs", 3000, 1000), cell("costs", 3000, 200, far = TRUE),
    cell("binary", 3000, 60), cell("binary", 3000, 200), cell("binary", 3000, 1000)
  ))
  for (design in c("factor", "season", "counts", "costs")) {
    rows <- c(rows, list(cell(design, 3000, 100, T1 = T1_months)))
  }
}
path <- Sys.getenv("DPSC_BENCH_OUT", "bench/results/protect.csv")
utils::write.csv(do.call(rbind, rows), path, row.names = FALSE)
