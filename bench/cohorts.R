# Several adoption dates: coverage of nominal 95 % intervals without any effect, and width of the
# intervals. Three cohorts of `size` fresh people each are treated after 10, 13 and 16 of 20
# periods. DPSC_BENCH_REPLICATIONS scales the cells (default 1: 40 releases each). Writes
# bench/results/cohorts.csv: coverage of the overall average, of a cohort's average, of an event
# time, of a group in a period (each separately) and of all event times together; and the median
# length of the interval over the 95 % range of the error, for the overall average and an event
# time.
suppressPackageStartupMessages(library(dpsc))
times <- as.numeric(Sys.getenv("DPSC_BENCH_REPLICATIONS", "1"))
dates <- c(10, 13, 16)
periods <- 20

people <- function(design, m, factors) {
  clip <- function(x) pmax(pmin(x, 1), -1)
  binary <- function(level) {
    rate <- plogis(rnorm(m, level, 1.2))
    2 * matrix(rbinom(m * periods, 1, rate), m) - 1
  }
  switch(design,
    factor = clip(matrix(rnorm(3 * m), m) %*% factors / 4 + rnorm(m, 0, 0.15) +
      rnorm(m * periods, 0, 0.12)),
    binary = binary(-1), rare = binary(-4),
    heavy = clip(rnorm(m, 0, 0.1) + matrix(0.1 * rt(m * periods, 3), m))
  )
}

one_release <- function(design, n, size, epsilon, seed) {
  set.seed(seed)
  factors <- t(apply(matrix(rnorm(3 * periods), 3), 1, cumsum)) / sqrt(periods)
  rows <- people(design, n + 3 * size, factors)
  target <- t(vapply(1:3, function(g) {
    colMeans(rows[n + (g - 1) * size + seq_len(size), , drop = FALSE])
  }, numeric(periods)))
  fit <- suppressWarnings(dp_synth(rows[seq_len(n), ],
    target = target, T0 = dates, size = size, epsilon = epsilon, bounds = c(-1, 1),
    control = dp_control(rng = if (is.finite(epsilon)) "R" else "secure"), protect = "donors"
  ))
  covers <- function(table) table$conf.low <= 0 & table$conf.high >= 0
  table <- function(type, simultaneous = FALSE) {
    out <- tidy(fit, type, conf.int = TRUE, simultaneous = simultaneous)
    out[out$kind == "effect", ]
  }
  event <- table("event")
  length_of <- event$conf.high - event$conf.low
  later <- event[-1, ]
  c(
    overall = covers(event)[[1]], cohort = mean(covers(table("cohort")[-1, ])),
    event = mean(covers(later)), group_time = mean(covers(table("group_time"))),
    together = all(covers(table("event", TRUE)[-1, ])), width = length_of[[1]],
    error = event$estimate[[1]], width_event = mean(length_of[-1]),
    error_event = sqrt(mean(later$estimate^2))
  )
}

cell <- function(design, n, size, epsilon) {
  replications <- ceiling(40 * times)
  out <- vapply(seq_len(replications), function(i) {
    one_release(design, n, size, epsilon, 1000 + i)
  }, numeric(9))
  mean_of <- function(name) mean(out[name, ])
  range <- 2 * quantile(abs(out["error", ]), 0.95)
  spread <- 2 * 1.96 * sqrt(mean(out["error_event", ]^2))
  data.frame(
    design, n, size, epsilon, overall = mean_of("overall"), cohort = mean_of("cohort"),
    event = mean_of("event"), group_time = mean_of("group_time"), together = mean_of("together"),
    width = round(unname(median(out["width", ]) / range), 2),
    width_event = round(median(out["width_event", ]) / spread, 2), replications
  )
}

cells <- rbind(
  expand.grid(
    design = c("factor", "binary", "rare", "heavy"), n = 1000, size = c(1, 40), epsilon = 1,
    stringsAsFactors = FALSE
  ),
  expand.grid(design = c("factor", "rare"), n = 3000, size = c(1, 40), epsilon = 1),
  expand.grid(design = c("factor", "binary"), n = 60, size = c(1, 20), epsilon = Inf)
)
rows <- lapply(seq_len(nrow(cells)), function(i) do.call(cell, as.list(cells[i, ])))
result <- do.call(rbind, rows)
numbers <- vapply(result, is.numeric, NA)
result[numbers] <- lapply(result[numbers], round, 3)
print(result)
write.csv(result, "bench/results/cohorts.csv", row.names = FALSE)
