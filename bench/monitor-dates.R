# Three ways to pay for the new periods of G treated groups that are monitored.
#   own      each group has a separate growing release, from a G-th of the squared shift
#   split    one first release serves all groups, without a round for any target, and each period's
#            share is split over the groups
#   monthly  one new release per period serves all groups
#   single   each group has the whole budget, which no private scheme can give
#
#   Rscript bench/monitor-dates.R [runs] [n]      adds to bench/results/monitor-dates.csv
#
# Groups are means of 60 people in a factor panel with 24 periods before the treatment and 12
# periods after it, one of which is in the first release. Errors are differences from the targets'
# paths without the targets' noise, over all groups and periods; medians over runs. All groups have
# one adoption date here. With different dates the shared first release would contain the periods
# between them as single features, without more accuracy.

library(dpsc)

before <- 24
after <- 12
people <- 60
own <- 0.1
post <- before + seq_len(after)

factor_panel <- function(n, groups, factors = 3, phi = 0.9, spread = 0.15) {
  periods <- before + after
  paths <- replicate(factors, {
    path <- stats::arima.sim(list(ar = phi), periods, n.start = 100)
    as.numeric(path) * sqrt(1 - phi^2)
  })
  donors <- matrix(rnorm(n * factors, 0, spread), n) %*% t(paths) +
    own * matrix(rnorm(n * periods), n)
  truth <- t(paths %*% matrix(rnorm(factors * groups, 0, spread), factors))
  noise <- own / sqrt(people) * matrix(rnorm(groups * periods), groups)
  list(donors = donors, truth = truth, target = truth + noise)
}

part <- function(p, g, keep, epsilon, round, ...) {
  suppressWarnings(dp_synth(p$donors[, keep], p$target[g, keep],
    T0 = before, epsilon = epsilon, bounds = c(-1, 1), size = people,
    control = dp_control(rng = "R", target_round = round), ...
  ))
}

# The epsilon of one of `parts` equal shares of the squared shift.
part_of <- function(epsilon, parts) {
  mu <- 1 / gaussian_sigma(epsilon, 1e-6) / sqrt(parts)
  uniroot(
    function(e) log(gaussian_delta(e, sigma = 1 / mu) / 1e-6), c(1e-6, epsilon)
  )$root
}

# If a call is refused as hopeless, its estimate is the target's level.
monthly_paths <- function(p, epsilon) {
  vapply(post, function(t) {
    keep <- c(seq_len(before), t)
    release <- tryCatch(part(p, 1, keep, epsilon, FALSE)$release, dpsc_error = function(e) NULL)
    if (is.null(release)) return(rowMeans(p$target[, seq_len(before)]))
    vapply(seq_len(nrow(p$target)), function(g) {
      fit <- suppressWarnings(dp_synth(release, target = p$target[g, keep], size = people))
      fit$counterfactual[1, before + 1]
    }, 0)
  }, numeric(nrow(p$target)))
}

one_run <- function(n, epsilon, groups) {
  p <- factor_panel(n, groups)
  error <- function(paths) sqrt(mean((paths - p$truth[, post])^2))
  grown <- function(epsilon, monitor, round) {
    error(t(vapply(seq_len(groups), function(g) {
      fit <- part(p, g, seq_len(before + 1), epsilon, round, monitor = monitor)
      update(fit, p$donors, target = p$target[g, ])$counterfactual[1, post]
    }, numeric(after))))
  }
  c(
    single = grown(epsilon, after - 1, TRUE),
    own = grown(part_of(epsilon, groups), after - 1, TRUE),
    split = grown(epsilon, groups * (after - 1), FALSE),
    monthly = error(monthly_paths(p, part_of(epsilon, after)))
  )
}

given <- as.integer(commandArgs(TRUE))
runs <- c(given, 6)[[1]]
n <- if (length(given) > 1) given[[2]] else 2000L
cells <- expand.grid(groups = c(2, 4), epsilon = c(4, 1))
rows <- lapply(seq_len(nrow(cells)), function(i) {
  set.seed(180)
  all <- replicate(runs, one_run(n, cells$epsilon[[i]], cells$groups[[i]]))
  data.frame(n = n, cells[i, ], runs = runs, t(signif(apply(all, 1, stats::median), 3)))
})
new <- do.call(rbind, rows)
print(new, row.names = FALSE)
path <- file.path("bench", "results", "monitor-dates.csv")
old <- if (file.exists(path)) utils::read.csv(path)
if (identical(names(old), names(new))) new <- rbind(old[old$n != n, ], new)
write.csv(new[order(new$n), ], path, row.names = FALSE)
