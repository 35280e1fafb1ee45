# protect = "everyone" with three adoption dates: error and coverage of the overall effect, of
# cohorts' effects and of single cells, compared with a separate release of the last cohort for one
# date. Writes bench/results/protect-cohorts.csv: root mean squared errors in units of half the
# bounds' width, and coverage of nominal 95 % (`cells`: mean and smallest coverage of the 21 cells).
# DPSC_BENCH_REPLICATIONS scales the draws (default 1).
suppressPackageStartupMessages(library(dpsc))
simulate_factor <- dpsc:::simulate_factor
times <- as.numeric(Sys.getenv("DPSC_BENCH_REPLICATIONS", "1"))
dates <- c(8, 10, 12)
periods <- 15L
effect <- 0.1

settings <- data.frame(
  n = c(1000, 1000, 3000, 1500), m = c(100, 200, 60, 300), epsilon = c(2, 1, 1, 4),
  delta = c(1e-6, 1e-6, 1e-6, 0), draws = c(100, 100, 240, 240)
)

one <- function(set, seed) {
  set.seed(seed)
  adopted <- rep(dates, each = set$m)
  treated <- set$n + seq_along(adopted)
  rows <- simulate_factor(
    set$n + length(adopted), periods, 2, 0.8, 0.1, 0.2, 0.05, 0.08
  )$outcome
  post <- outer(adopted, seq_len(periods), `<`)
  rows[treated, ] <- pmin(rows[treated, ] + effect * post, 1)
  run <- function(target, T0) {
    suppressWarnings(dp_synth(rows[-treated, ],
      target = target, T0 = T0, epsilon = set$epsilon, delta = set$delta, bounds = c(-1, 1),
      protect = "everyone", control = dp_control(rng = "R")
    ))
  }
  fit <- run(rows[treated, ], adopted)
  last <- adopted == dates[[3L]]
  alone <- run(rows[treated[last], ], dates[[3L]])
  list(
    cohort = tidy(fit, "cohort", conf.int = TRUE), cell = tidy(fit, "group_time", conf.int = TRUE),
    alone = mean(effects(alone))
  )
}

result <- do.call(rbind, lapply(seq_len(nrow(settings)), function(i) {
  set <- settings[i, ]
  set$draws <- max(2, round(set$draws * times))
  draws <- lapply(seq_len(set$draws), one, set = set)
  of <- function(table, column) {
    vapply(draws, function(d) d[[table]][[column]], draws[[1L]][[table]][[column]])
  }
  rmse <- function(x) sqrt(mean((x - effect)^2))
  covers <- function(table) {
    low <- of(table, "conf.low")
    high <- of(table, "conf.high")
    rowMeans(low <= effect & effect <= high, na.rm = TRUE)
  }
  error <- apply(of("cohort", "estimate"), 1L, rmse)
  inside <- covers("cohort")
  cells <- covers("cell")
  data.frame(
    set, overall = error[[1L]], cohort1 = error[[2L]], cohort2 = error[[3L]], cohort3 = error[[4L]],
    alone3 = rmse(vapply(draws, `[[`, 0, "alone")), cover_overall = inside[[1L]],
    cover_cohorts = mean(inside[-1L]), cover_cells = mean(cells), cover_least = min(cells)
  )
}))
number <- vapply(result, is.double, NA)
result[number] <- lapply(result[number], signif, 3)
path <- Sys.getenv("DPSC_BENCH_OUT", "bench/results/protect-cohorts.csv")
utils::write.csv(result, path, row.names = FALSE, quote = FALSE)
print(result)
