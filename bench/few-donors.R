# Intervals without privacy: coverage of nominal 95 % and width, for one person (conformal; every
# donor of a real panel as a target without effect, or fresh people) and for the mean of a group.
# DPSC_BENCH_REPLICATIONS scales the simulated cells (default 1). Writes
# bench/results/few-donors.csv: coverage of the average, of single periods and of all periods
# together, the share of targets with an interval, and the median length of the average's interval
# over the 95 % quantile of its error, on both sides. Needs plm. The data of Proposition 99 and the
# Basque Country come from the folder DPSC_SHARED and are omitted without it.
suppressPackageStartupMessages(library(dpsc))
raw_calibration <- dpsc:::raw_calibration
raw_intervals <- dpsc:::raw_intervals
raw_p_value <- dpsc:::raw_p_value
times <- as.numeric(Sys.getenv("DPSC_BENCH_REPLICATIONS", "1"))

release_of <- function(donors, T0) {
  periods <- ncol(donors)
  public <- list(
    n = nrow(donors), T0 = T0, T1 = periods - T0, control = list(lambda = NULL),
    bounds = list(centre = rep(0, periods), half = rep(1, periods), unit = 1)
  )
  list(
    statistics = list(leave_one_out = raw_calibration(donors, public)), settings = list(),
    panel = list(times = seq_len(periods))
  )
}

judge <- function(release, y, size = 1, level = 0.95) {
  single <- raw_intervals(release, y, size, level)
  if (is.character(single) || is.na(single$conf.low[[1L]])) {
    return(rep(NA_real_, 7L))
  }
  joint <- raw_intervals(release, y, size, level, simultaneous = TRUE)
  covers <- function(x) x$conf.low <= 0 & 0 <= x$conf.high
  c(
    covers(single)[[1L]], mean(covers(single)[-1L]), all(covers(joint)[-1L]),
    single$conf.high[[1L]] - single$conf.low[[1L]], single$estimate[[1L]],
    raw_p_value(release, y, size) <= 1 - level + 1e-9, single$std.error[[1L]]
  )
}

row_of <- function(panel, n, T0, size, level, outcomes) {
  outcomes <- do.call(rbind, outcomes)
  has <- !is.na(outcomes[, 1L])
  mean_of <- function(j) round(mean(outcomes[has, j], na.rm = TRUE), 3L)
  row <- data.frame(
    panel, n, T0, size, level,
    targets = nrow(outcomes), with_interval = round(mean(has), 3L), average = mean_of(1L),
    period = mean_of(2L), simultaneous = mean_of(3L), rejected = mean_of(6L),
    width = round(
      stats::median(outcomes[has, 4L]) / (2 * stats::quantile(abs(outcomes[has, 5L]), 0.95)), 2L
    ),
    se_ratio = round(sqrt(mean(outcomes[has, 7L]^2) / mean(outcomes[has, 5L]^2)), 2L)
  )
  cat(format(unlist(row[1L, ])), "\n")
  row
}

every_donor <- function(name, panel, T0, level = 0.95) {
  panel <- 2 * (panel - mean(panel)) / diff(range(panel))
  row_of(name, nrow(panel) - 1L, T0, 1, level, lapply(seq_len(nrow(panel)), function(i) {
    judge(release_of(panel[-i, , drop = FALSE], T0), panel[i, ], 1, level)
  }))
}

wide <- function(data, unit, time, value) {
  out <- tapply(data[[value]], list(data[[unit]], data[[time]]), mean)
  out[stats::complete.cases(out), ]
}

real_panels <- function() {
  data(list = c("Produc", "Grunfeld"), package = "plm", envir = environment())
  Produc$log_gsp <- log(Produc$gsp)
  out <- list(
    Produc = list(wide(Produc, "state", "year", "log_gsp"), 12),
    Grunfeld = list(wide(Grunfeld, "firm", "year", "inv"), 15)
  )
  folder <- file.path(Sys.getenv("DPSC_SHARED"), "data")
  if (file.exists(file.path(folder, "smoking.csv"))) {
    smoking <- utils::read.csv(file.path(folder, "smoking.csv"))
    basque <- utils::read.csv(file.path(folder, "basque.csv"))
    smoking <- wide(smoking, "state", "year", "cigsale")
    basque <- wide(basque[basque$regionname != "Spain (Espana)", ], "regionname", "year", "gdpcap")
    out[["Prop 99"]] <- list(smoking[rownames(smoking) != "California", ], 19)
    out$Basque <- list(basque[!grepl("Basque", rownames(basque)), ], 15)
  }
  out
}

# Each design returns a function that draws people of one population.
designs <- list(
  factor = function(periods) {
    factors <- matrix(stats::rnorm(2 * periods), 2L)
    function(n) {
      matrix(stats::rnorm(2 * n), n) %*% factors + stats::rnorm(n) +
        matrix(stats::rnorm(n * periods, sd = 0.5), n)
    }
  },
  zero_one = function(periods) {
    function(n) matrix(stats::rbinom(n * periods, 1, stats::plogis(stats::rnorm(n, -2, 1.2))), n)
  },
  rare = function(periods) {
    function(n) matrix(stats::rbinom(n * periods, 1, pmin(0.02 * stats::rexp(n), 1)), n)
  },
  cost = function(periods) {
    function(n) {
      user <- stats::rbinom(n, 1, 0.4)
      level <- rep(stats::rnorm(n), periods)
      any <- user * stats::rbinom(n * periods, 1, 0.5)
      matrix(any * exp(level + stats::rnorm(n * periods)), n)
    }
  },
  t3 = function(periods) {
    function(n) stats::rnorm(n) + matrix(stats::rt(n * periods, 3), n)
  }
)

fresh_people <- function(name, n, T0, replications, fresh) {
  outcomes <- lapply(seq_len(replications), function(r) {
    draw <- designs[[name]](T0 + 3L)
    release <- release_of(draw(n), T0)
    others <- draw(fresh)
    lapply(seq_len(fresh), function(i) judge(release, others[i, ]))
  })
  row_of(name, n, T0, 1, 0.95, unlist(outcomes, recursive = FALSE))
}

groups <- function(name, n, sizes, replications, T0 = 10) {
  outcomes <- lapply(seq_len(replications), function(r) {
    draw <- designs[[name]](T0 + 3L)
    release <- release_of(draw(n), T0)
    lapply(sizes, function(size) judge(release, colMeans(draw(size)), size))
  })
  do.call(rbind, lapply(seq_along(sizes), function(s) {
    row_of(name, n, T0, sizes[[s]], 0.95, lapply(outcomes, `[[`, s))
  }))
}

rows <- list()
add <- function(row) rows[[length(rows) + 1L]] <<- row
panels <- real_panels()
for (name in names(panels)) {
  n <- nrow(panels[[name]][[1L]]) - 1L
  level <- if (n >= 19L) 0.95 else n / (n + 1)
  add(every_donor(name, panels[[name]][[1L]], panels[[name]][[2L]], level))
}
set.seed(20)
for (n in c(20, 40, 100)) add(fresh_people("factor", n, 20, ceiling(times * 1000), 1))
for (name in setdiff(names(designs), "factor")) {
  for (n in c(50, 300, 1000)) {
    for (T0 in c(10, 24)) {
      add(fresh_people(name, n, T0, ceiling(times * c(150, 60, 12)[match(n, c(50, 300, 1000))]),
        if (n == 1000) 50 else 10))
    }
  }
}
for (name in c("factor", "cost")) add(fresh_people(name, 5000, 10, ceiling(times * 10), 100))
for (name in names(designs)) {
  for (n in c(10, 20, 100, 300, 1000, 3000)) {
    add(groups(name, n, c(2, 5, 20, 200), ceiling(times * if (n <= 300) 300 else 100)))
  }
}
if (times >= 1) {
  utils::write.csv(do.call(rbind, rows), "bench/results/few-donors.csv", row.names = FALSE)
}
