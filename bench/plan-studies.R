# dp_plan() of protected groups, several adoption dates and covariates: ratios of planned to
# observed values of dp_synth(). Writes bench/results/plan-studies.csv.
#
# A cell is a population. 300 of its people are the public pilot, from which the plan gets standard
# deviations (and the share of changes that covariates explain), or whose rows it gets. Donors and
# treated people are repeatedly drawn from the other people, released and fitted. Columns:
#   n, size, effect      donors, treated people by date, the effect on them (half-widths of bounds)
#   observed, average    root mean square of one period's error and of the average effect's error,
#                        over `releases`; for all dates together (a period: by time since adoption)
#   width, given, power  median half-width of the average's 95 % interval, share of releases with
#                        an interval, share of releases whose interval excludes zero
#   error_*, average_*, width_*  planned over observed, with the pilot's rows and with its spreads
#   dates_*              the same for the averages of single dates (root of the mean square)
#   power_*              planned power (of `effect`)
#
# From the package's root, with dpsc installed: Rscript bench/plan-studies.R [cell ...]
suppressPackageStartupMessages(library(dpsc))

autoregressive <- function(periods, rho = 0.8) {
  as.numeric(stats::filter(stats::rnorm(periods, 0, sqrt(1 - rho^2)), rho, "recursive",
    init = stats::rnorm(1)))
}

# Each law returns rows (people x periods), bounds, and covariates (people x k, between -1 and 1).
laws <- list(
  factor = function(people, T0, periods) {
    list(rows = sim_panel(people, T0, periods - T0)$donors, bounds = c(-1, 1))
  },
  linear = function(people, T0, periods) {
    list(rows = sim_panel(people, T0, periods - T0, "linear")$donors, bounds = c(-1, 1))
  },
  # Days in pain are whole numbers that depend on age and sex. Young people recover from the first
  # adoption on.
  days = function(people, T0, periods) {
    age <- stats::runif(people, -1, 1)
    sex <- sample(c(-1, 1), people, TRUE)
    level <- 11 + 2.4 * age + 0.4 * sex + stats::rnorm(people, 0, 3)
    after <- pmax(seq_len(periods) - T0, 0)
    mean <- outer(level, sin(seq_len(periods) / 2), `+`) + outer(1.5 * age, pmin(after, 2))
    days <- round(mean + stats::rnorm(people * periods, 0, 2))
    list(rows = pmin(pmax(days, 0), 31), bounds = c(0, 31), between = cbind(age, sex))
  },
  # Most people have no costs in most months, and a risk score predicts higher costs.
  costs = function(people, T0, periods) {
    risk <- pmin(pmax(stats::rnorm(people, 0, 0.4), -1), 1)
    user <- stats::rbinom(people, 1, 0.5)
    shock <- 0.15 * autoregressive(periods)
    level <- outer(stats::rnorm(people, 5, 0.7), shock, `+`) +
      outer(risk, seq_len(periods) > T0) * 0.8
    months <- matrix(stats::rbinom(people * periods, 1, 0.5), people) * user
    rows <- months * exp(level + stats::rnorm(people * periods, 0, 0.5))
    list(rows = pmin(rows, 2000), bounds = c(0, 2000), between = cbind(risk))
  }
)

cell <- function(law, protect, n, T0, T1, size, effect = 0, covariates = FALSE, epsilon = 1) {
  list(law = law, protect = protect, n = n, T0 = T0, T1 = T1, size = rep_len(size, length(T0)),
    effect = effect, covariates = covariates, epsilon = epsilon)
}
cells <- list(
  cell("factor", "everyone", 1000, 12, 6, 100),
  cell("factor", "everyone", 3000, 12, 6, 300, effect = 0.03),
  cell("factor", "everyone", 1000, 10, 3, 200, effect = 0.1, epsilon = 2),
  cell("linear", "everyone", 1000, 12, 6, 200),
  cell("days", "everyone", 2000, 12, 6, 150, effect = -0.1),
  cell("days", "everyone", 5000, 12, 8, 500, effect = -0.03),
  cell("costs", "everyone", 3000, 12, 6, 200),
  cell("factor", "donors", 1000, c(8, 12, 14), 4, c(50, 30, 20), effect = 0.05),
  cell("days", "donors", 2000, c(12, 14, 16), 4, 50, effect = -0.05),
  cell("costs", "donors", 3000, c(10, 14), 4, 1),
  cell("factor", "everyone", 1000, c(10, 13), 4, 150, effect = 0.03),
  cell("days", "everyone", 3000, c(12, 14, 16), 4, 300, effect = -0.05),
  cell("costs", "everyone", 3000, c(12, 15), 4, 200),
  cell("days", "donors", 1000, 12, 6, 60, effect = -0.03, covariates = TRUE),
  cell("costs", "donors", 3000, 12, 6, 100, covariates = TRUE),
  cell("days", "everyone", 2000, 12, 6, 200, effect = -0.05, covariates = TRUE)
)

# The numbers that a practitioner would compute from public people, as in bench/plan.R.
spreads_of <- function(rows) {
  level <- rowMeans(rows)
  own <- sweep(rows - level, 2L, colMeans(rows - level))
  within <- sum(own^2) / ((nrow(rows) - 1) * (ncol(rows) - 1))
  list(
    sd_between = sqrt(max(stats::var(level) - within / ncol(rows), 1e-3 * within)),
    sd_within = sqrt(within)
  )
}

explained_by <- function(rows, between, T0) {
  pre <- seq_len(T0)
  change <- rowMeans(rows[, -pre]) - rowMeans(rows[, pre])
  summary(stats::lm(change ~ between))$adj.r.squared
}

# The people of one design are one panel, since shared paths are drawn anew for each panel.
draw <- function(cell, people) {
  laws[[cell$law]](people, min(cell$T0), max(cell$T0) + cell$T1)
}

fit_matrix <- function(drawn, treated, cell, adopted) {
  donors <- drawn$rows[seq_len(cell$n), ]
  public <- cell$protect == "donors"
  target <- if (public) rowsum(treated, adopted) / tabulate(match(adopted, cell$T0)) else treated
  dates <- if (public) cell$T0 else adopted
  dp_synth(donors,
    target = unname(target), T0 = if (length(cell$T0) > 1L) dates else cell$T0,
    epsilon = cell$epsilon, bounds = drawn$bounds, size = if (public) cell$size,
    protect = cell$protect, control = dp_control(rng = "R")
  )
}

fit_formula <- function(drawn, treated, cell, adopted) {
  donors <- drawn$rows[seq_len(cell$n), ]
  k <- seq_len(cell$n)
  between <- drawn$between
  public <- cell$protect == "donors"
  own <- between[-k, , drop = FALSE]
  rows <- rbind(donors, if (public) colMeans(treated) else treated)
  x <- rbind(between[k, , drop = FALSE], if (public) colMeans(own) else own)
  periods <- ncol(rows)
  data <- data.frame(
    id = rep(sprintf("p%05d", seq_len(nrow(rows))), periods), t = rep(seq_len(periods),
      each = nrow(rows)), y = as.vector(rows),
    on = as.integer(outer(seq_len(nrow(rows)) > cell$n, seq_len(periods) > cell$T0, `&`))
  )
  names <- paste0("x", seq_len(ncol(x)))
  data[names] <- x[rep(seq_len(nrow(rows)), periods), ]
  bounds <- c(list(y = drawn$bounds), stats::setNames(rep(list(c(-1, 1)), ncol(x)), names))
  dp_synth(stats::reformulate(paste("on |", paste(names, collapse = " + ")), "y"),
    data = data, index = c("id", "t"), epsilon = cell$epsilon, bounds = bounds,
    size = if (public) cell$size, protect = cell$protect, control = dp_control(rng = "R")
  )
}

observe <- function(cell, seed) {
  set.seed(seed)
  drawn <- draw(cell, cell$n + sum(cell$size))
  half <- diff(drawn$bounds) / 2
  adopted <- rep(cell$T0, cell$size)
  without <- drawn$rows[-seq_len(cell$n), , drop = FALSE]
  after <- outer(adopted, seq_len(ncol(without)), `<`)
  treated <- pmin(pmax(without + cell$effect * half * after, drawn$bounds[1L]), drawn$bounds[2L])
  fit <- suppressWarnings(
    (if (cell$covariates) fit_formula else fit_matrix)(drawn, treated, cell, adopted)
  )
  moved <- rowsum(treated - without, adopted) / tabulate(match(adopted, cell$T0))
  truth <- lapply(seq_along(cell$T0), function(g) moved[g, -seq_len(cell$T0[[g]])])
  fits <- if (is.null(fit$cohorts)) list(fit) else fit$cohorts
  error <- Map(function(one, truth) effects(one)[1L, ] - truth, fits, truth)
  overall <- stats::weighted.mean(vapply(error, mean, 0), cell$size)
  months <- vapply(seq_len(max(lengths(error))), function(e) {
    reach <- lengths(error) >= e
    stats::weighted.mean(vapply(error[reach], `[[`, 0, e), cell$size[reach])
  }, 0)
  row <- tidy(fit, type = "overall", conf.int = TRUE)[1L, ]
  list(
    period = sqrt(mean(months^2)) / half, average = overall / half,
    dates = vapply(error, mean, 0) / half,
    width = stats::qnorm(0.975) * row$std.error / half,
    found = isTRUE(row$conf.low > 0 || row$conf.high < 0)
  )
}

judge <- function(i, releases) {
  cell <- cells[[i]]
  runs <- lapply(seq_len(releases), function(r) observe(cell, 1000 * i + r))
  of <- function(name) vapply(runs, `[[`, 0, name)
  rms <- function(x) sqrt(mean(x^2))
  found <- c(
    error = rms(of("period")), average = rms(of("average")),
    width = stats::median(of("width"), na.rm = TRUE),
    dates = rms(unlist(lapply(runs, `[[`, "dates")))
  )
  set.seed(99 + i)
  public <- draw(cell, 300L)
  half <- diff(public$bounds) / 2
  question <- list(
    n = cell$n, T0 = cell$T0, T1 = cell$T1, epsilon = cell$epsilon, bounds = public$bounds,
    size = cell$size, protect = cell$protect, method = "gram"
  )
  if (cell$effect != 0) question$effect <- cell$effect * half
  if (cell$covariates) {
    question$covariates <- ncol(public$between)
    question$explained <- max(0, explained_by(public$rows, public$between, min(cell$T0)))
  }
  planned <- function(...) {
    table <- do.call(dp_plan, c(question, ...))$table
    dates <- if (nrow(table) > 1L) table$average[-1L] else table$average
    c(
      unlist(table[1L, c("error", "average", "half_width")]) / half / found[1:3],
      rms(dates) / half / found[["dates"]], table$power[[1L]]
    )
  }
  by <- list(pilot = planned(list(pilot = public$rows)), spreads = planned(spreads_of(public$rows)))
  ratios <- unlist(lapply(names(by), function(name) {
    stats::setNames(round(by[[name]], 2), paste0(
      c("error", "average", "width", "dates", "power"), "_", name
    ))
  }))
  out <- data.frame(
    law = cell$law, protect = cell$protect, dates = length(cell$T0), n = cell$n,
    size = paste(cell$size, collapse = "/"), effect = cell$effect,
    covariates = cell$covariates, epsilon = cell$epsilon, releases = releases,
    observed = signif(found[["error"]], 3), average = signif(found[["average"]], 3),
    width = signif(found[["width"]], 3), given = mean(!is.na(of("width"))),
    power = if (cell$effect == 0) NA else mean(vapply(runs, `[[`, NA, "found")), as.list(ratios)
  )
  print(out, row.names = FALSE)
  out
}

main <- function(which) {
  table <- do.call(rbind, lapply(which, judge, releases = 60L))
  for (name in grep("^(error|average|width|dates)_", names(table), value = TRUE)) {
    outside <- table[[name]] < 0.7 | table[[name]] > 1.4
    cat(name, ":", sum(outside, na.rm = TRUE), "of", nrow(table), "cells outside 0.7 to 1.4\n")
  }
  if (length(which) == length(cells)) {
    utils::write.csv(table, "bench/results/plan-studies.csv", row.names = FALSE, quote = FALSE)
  }
}
asked <- as.integer(commandArgs(TRUE))
main(if (length(asked)) asked else seq_along(cells))
