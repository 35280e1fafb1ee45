# A growing release compared with one release at the end and with a new release each month, in the
# settings of a planned monitor: 40 periods before the treatment, three factors that move
# (AR(1), 0.9), and a target that is the mean of 60 people far from the donors' mean.
#
#   Rscript bench/monitor.R [runs] [compared] [n]      writes bench/results/monitor.csv
#
# Errors are relative to the target's path without the target's noise, over 12 periods, one of which
# is in the first release; `planned` periods are paid for in total. `monthly` splits the budget
# evenly by squared shifts, and is made only in the first `compared` runs. Medians and means are
# over runs. `covered` and `covered.period` are the shares of 95 % intervals, of the average effect
# and of the new periods, that contain the true effect, 0.

library(dpsc)

before <- 40
after <- 12
people <- 60
own <- 0.1

factor_panel <- function(n, factors = 3, phi = 0.9, spread = 0.15) {
  periods <- before + after
  paths <- replicate(factors, {
    path <- stats::arima.sim(list(ar = phi), periods, n.start = 100)
    as.numeric(path) * sqrt(1 - phi^2)
  })
  donors <- matrix(rnorm(n * factors, 0, spread), n) %*% t(paths) +
    own * matrix(rnorm(n * periods), n)
  truth <- drop(paths %*% rnorm(factors, 0, spread))
  list(donors = donors, truth = truth, target = truth + own / sqrt(people) * rnorm(periods))
}

seeded <- dp_control(rng = "R")

part <- function(p, keep, epsilon, ...) {
  suppressWarnings(dp_synth(p$donors[, keep], p$target[keep],
    T0 = before, epsilon = epsilon, bounds = c(-1, 1), size = people, control = seeded, ...
  ))
}

# The counterfactual of one period, or the target's level if a call is refused as hopeless.
monthly_path <- function(p, epsilon, planned) {
  mu <- 1 / gaussian_sigma(epsilon, 1e-6) / sqrt(planned)
  small <- uniroot(
    function(e) log(gaussian_delta(e, sigma = 1 / mu) / 1e-6), c(1e-6, epsilon)
  )$root
  vapply(before + seq_len(after), function(t) {
    fit <- tryCatch(part(p, c(seq_len(before), t), small), dpsc_error_argument = function(e) NULL)
    if (is.null(fit)) mean(p$target[seq_len(before)]) else fit$counterfactual[1, before + 1]
  }, 0)
}

one_run <- function(n, epsilon, planned, compare) {
  p <- factor_panel(n)
  post <- before + seq_len(after)
  end <- part(p, seq_len(before + after), epsilon)
  grown <- part(p, seq_len(before + 1), epsilon, monitor = planned - 1)
  grown <- update(grown, p$donors, target = p$target)
  error <- function(path) sqrt(mean((path - p$truth[post])^2))
  table <- tidy(grown, conf.int = TRUE)
  inside <- table$conf.low <= 0 & table$conf.high >= 0
  c(
    end = error(end$counterfactual[1, post]),
    monthly = if (compare) error(monthly_path(p, epsilon, planned)) else NA,
    grown = error(grown$counterfactual[1, post]), mean = error(colMeans(p$donors)[post]),
    average = abs(mean(grown$counterfactual[1, post] - p$truth[post])),
    privacy.se = mean(table$privacy.se[-1]),
    covered = inside[[1]], covered.period = mean(inside[-(1:2)])
  )
}

given <- as.integer(commandArgs(TRUE))
runs <- c(given, 24)[[1]]
compared <- min(runs, if (length(given) > 1) given[[2]] else runs)
cells <- expand.grid(planned = c(12, 24), epsilon = c(4, 1), n = c(2000, 10000))
if (length(given) > 2) cells <- cells[cells$n == given[[3]], ]
rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(170)
  all <- vapply(seq_len(runs), function(k) {
    one_run(cell$n, cell$epsilon, cell$planned, k <= compared)
  }, numeric(8))
  middle <- function(name, of = seq_len(runs)) stats::median(all[name, of])
  first <- seq_len(compared)
  data.frame(
    n = cell$n, epsilon = cell$epsilon, planned = cell$planned, runs = runs, compared = compared,
    t(signif(vapply(c("end", "grown", "mean", "average", "privacy.se"), middle, 0), 3)),
    monthly = signif(middle("monthly", first), 3),
    grown.mean = signif(mean(all["grown", ]), 3), end.mean = signif(mean(all["end", ]), 3),
    of.end = round(middle("grown") / middle("end"), 2),
    of.monthly = round(middle("grown", first) / middle("monthly", first), 2),
    covered = round(mean(all["covered", ]), 3),
    covered.period = round(mean(all["covered.period", ]), 3)
  )
})
path <- file.path("bench", "results", "monitor.csv")
new <- do.call(rbind, rows)
print(new, row.names = FALSE)
# Cells of another n remain unchanged.
old <- if (length(given) > 2 && file.exists(path)) utils::read.csv(path)
if (identical(names(old), names(new))) new <- rbind(old[old$n != given[[3]], ], new)
write.csv(new[order(new$n), ], path, row.names = FALSE)
