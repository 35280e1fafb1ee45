# protect = "everyone": coverage on designs not used to adjust its constants.
#   Rscript bench/protect-holdout.R     writes bench/results/protect-holdout.csv
# All people are drawn from one distribution, except in `selected`, where the treated people are the
# half with the highest past among twice as many. The effect is zero; constant (three standard
# errors of a period); a ramp up to this size; or one spike of this size in the second period.
# Standard errors are from a first release of the design. Coverage of nominal 95 % is for `average`,
# `periods` (mean over periods) and `joint` (simultaneous limits about limited translation, all
# periods), among releases with an interval (`with`). `error` is the root mean squared error of the
# average in units of its median standard error. DPSC_BENCH_REPLICATIONS scales the 60 releases per
# cell.
suppressPackageStartupMessages(library(dpsc))
times <- as.numeric(Sys.getenv("DPSC_BENCH_REPLICATIONS", "1"))
T0 <- 16L

steady <- function(people, periods, draw) matrix(draw(people * periods), people)
designs <- list(
  # Levels and shocks have three degrees of freedom.
  heavy = list(bounds = c(-10, 10), T1 = 6L, draw = function(people, periods) {
    x <- stats::rt(people, 4) + 0.7 * steady(people, periods, function(n) stats::rt(n, 3))
    pmin(pmax(x, -10), 10)
  }),
  # People respond to a common random walk to different degrees.
  drift = list(bounds = c(0, 100), T1 = 6L, draw = function(people, periods) {
    walk <- cumsum(stats::rnorm(periods, 0.5, 1.5))
    x <- stats::rnorm(people, 45, 9) + outer(stats::runif(people, 0.3, 1.7), walk) +
      steady(people, periods, function(n) stats::rnorm(n, 0, 4))
    pmin(pmax(x, 0), 100)
  }),
  # People remain for some time in one of two states.
  states = list(bounds = c(0, 1), T1 = 6L, draw = function(people, periods) {
    x <- matrix(0, people, periods)
    x[, 1L] <- stats::rbinom(people, 1, 0.4)
    for (t in seq_len(periods)[-1L]) {
      x[, t] <- stats::rbinom(people, 1, ifelse(x[, t - 1L] > 0, 0.8, 0.15))
    }
    x
  }),
  # Visits vary by season, and some people never have a visit.
  visits = list(bounds = c(0, 15), T1 = 6L, draw = function(people, periods) {
    rate <- stats::rbinom(people, 1, 0.65) * stats::rgamma(people, 2, 1.2)
    season <- exp(0.4 * cos(2 * pi * seq_len(periods) / 12))
    pmin(matrix(stats::rpois(people * periods, outer(rate, season)), people) + 0, 15)
  })
)
designs$selected <- utils::modifyList(designs$drift, list(selected = TRUE))
designs$one_period <- utils::modifyList(designs$drift, list(T1 = 1L))
designs$long <- utils::modifyList(designs$visits, list(T1 = 24L))
paths <- list(
  none = function(T1) numeric(T1), constant = function(T1) rep(1, T1),
  ramp = function(T1) seq(0, 1, length.out = T1),
  spike = function(T1) replace(numeric(T1), min(2L, T1), 1)
)

panel_of <- function(d, n, m, effect, seed) {
  set.seed(seed)
  post <- T0 + seq_len(d$T1)
  people <- d$draw(n + 2L * m, T0 + d$T1)
  group <- people[n + seq_len(2L * m), ]
  past <- if (isTRUE(d$selected)) -rowMeans(group[, seq_len(T0)]) else seq_len(2L * m)
  group <- group[order(past)[seq_len(m)], ]
  without <- colMeans(group[, post, drop = FALSE])
  group[, post] <- pmin(pmax(group[, post] + rep(effect, each = m), d$bounds[1L]), d$bounds[2L])
  truth <- colMeans(group[, post, drop = FALSE]) - without
  list(donors = people[seq_len(n), ], group = group, truth = truth, bounds = d$bounds)
}

release_of <- function(p) {
  suppressWarnings(dp_synth(p$donors,
    target = p$group, T0 = T0, epsilon = 1, bounds = p$bounds, protect = "everyone",
    control = dp_control(rng = "R")
  ))
}

inside <- function(table, truth) table$conf.low <= truth & truth <= table$conf.high

cell <- function(name, path, n = 2000, m = 100, draws = 60) {
  d <- designs[[name]]
  draws <- max(2, ceiling(draws * times))
  first <- tidy(release_of(panel_of(d, n, m, 0, 1e4)))
  size <- 3 * stats::median(first$std.error[-1L], na.rm = TRUE)
  runs <- t(vapply(seq_len(draws), function(seed) {
    p <- panel_of(d, n, m, size * paths[[path]](d$T1), 2e4 + seed)
    fit <- release_of(p)
    table <- tidy(fit, conf.int = TRUE)
    band <- tidy(fit, conf.int = TRUE, simultaneous = TRUE)[-1L, ]
    c(
      average = inside(table[1L, ], mean(p$truth)), periods = mean(inside(table[-1L, ], p$truth)),
      joint = all(inside(band, p$truth)), error = mean(effects(fit)) - mean(p$truth),
      se = table$std.error[[1L]]
    )
  }, numeric(5L)))
  row <- data.frame(
    design = name, T1 = d$T1, path, n, m, draws, with = mean(!is.na(runs[, "average"])),
    t(colMeans(runs[, c("average", "periods", "joint"), drop = FALSE], na.rm = TRUE)),
    error = sqrt(mean(runs[, "error"]^2)) / stats::median(runs[, "se"], na.rm = TRUE)
  )
  cat(format(unlist(row), digits = 3), "\n")
  row
}

# With two adoption dates, the overall effect, and every period of every cohort.
two_dates <- function(n = 2000, m = 100, draws = 60) {
  d <- designs$drift
  dates <- c(T0, T0 + 3L)
  draws <- max(2, ceiling(draws * times))
  runs <- t(vapply(seq_len(draws), function(seed) {
    set.seed(3e4 + seed)
    people <- d$draw(n + 2L * m, T0 + d$T1)
    adopted <- rep(dates, each = m)
    fit <- suppressWarnings(dp_synth(people[seq_len(n), ],
      target = people[n + seq_len(2L * m), ], T0 = adopted, epsilon = 1, bounds = d$bounds,
      protect = "everyone", control = dp_control(rng = "R")
    ))
    cohorts <- tidy(fit, "cohort", conf.int = TRUE)
    cells <- tidy(fit, "group_time", conf.int = TRUE)
    c(
      average = inside(cohorts[1L, ], 0), periods = mean(inside(cells, 0), na.rm = TRUE),
      error = cohorts$estimate[[1L]], se = cohorts$std.error[[1L]]
    )
  }, numeric(4L)))
  data.frame(
    design = "two_dates", T1 = d$T1, path = "none", n, m, draws,
    with = mean(!is.na(runs[, "average"])), average = mean(runs[, "average"], na.rm = TRUE),
    periods = mean(runs[, "periods"], na.rm = TRUE), joint = NA,
    error = sqrt(mean(runs[, "error"]^2)) / stats::median(runs[, "se"], na.rm = TRUE)
  )
}

cells <- expand.grid(path = names(paths), design = names(designs), stringsAsFactors = FALSE)
cells <- cells[!(cells$design == "one_period" & cells$path %in% c("ramp", "spike")), ]
rows <- rbind(do.call(rbind, Map(cell, cells$design, cells$path)), two_dates())
number <- vapply(rows, is.double, NA)
rows[number] <- lapply(rows[number], signif, 3)
path <- Sys.getenv("DPSC_BENCH_OUT", "bench/results/protect-holdout.csv")
utils::write.csv(rows, path, row.names = FALSE)
