# Simulated staggered panels, similar to the example data of difference-in-differences packages, and
# slow reference versions of the estimators. The long data contain unit, time, y, first (Inf if
# never treated), treated.

# `cohorts` gives the number of people by first treated period; `effect` is a function of the
# periods since adoption, by cohort.
staggered_panel <- function(never, cohorts, times, effect, level = 1, drift = 0.5, noise = 0.3,
                            factor = 0, seed = 1) {
  withr::local_seed(seed)
  n <- never + sum(cohorts)
  first <- c(rep(Inf, never), rep(as.numeric(names(cohorts)), cohorts))
  common <- cumsum(stats::rnorm(length(times), 0.02, 0.05))
  shock <- cumsum(stats::rnorm(length(times), 0, 0.1))
  people <- stats::rnorm(n, level, drift)
  loading <- stats::rnorm(n) * factor
  y <- outer(people, common, `+`) + outer(loading, shock) +
    stats::rnorm(n * length(times), 0, noise)
  since <- outer(first, times, function(g, t) t - g)
  on <- since >= 0
  y[on] <- y[on] + effect(since[on], first[row(y)[on]])
  unit <- rep(sprintf("u%05d", seq_len(n)), length(times))
  data.frame(
    unit = unit, time = rep(times, each = n), y = as.vector(y), first = rep(first, length(times)),
    treated = as.numeric(on)
  )
}

# Log teen employment by county, 2003 to 2007 (did::mpdta), with small falling effects and three
# cohorts.
mpdta_like <- function(never = 300) {
  staggered_panel(never, c(`2004` = 20, `2006` = 40, `2007` = 130), 2003:2007,
    function(e, g) -0.04 - 0.03 * e, level = 5.7, drift = 1.4, noise = 0.1, seed = 4
  )
}

# Ten periods, with one cohort that adopts in each period from the third on (fixest::base_stagg),
# and growing effects.
stagg_like <- function(never = 60) {
  cohorts <- stats::setNames(rep(5, 8), 3:10)
  staggered_panel(never, cohorts, 1:10, function(e, g) 0.4 * (e + 1) - 0.1 * (g - 6),
    level = 0, drift = 1, noise = 0.5, seed = 5
  )
}

# Log homicides by state, 2000 to 2010, with a constant effect of 0.08, five dates and few donors.
castle_like <- function(never = 29) {
  staggered_panel(never, c(`2005` = 1, `2006` = 13, `2007` = 4, `2008` = 2, `2009` = 1), 2000:2010,
    function(e, g) rep(0.08, length(e)), level = 1.5, drift = 0.5, noise = 0.1, factor = 0.5,
    seed = 6
  )
}

# Callaway and Sant'Anna (2021) with never-treated controls and no covariates: the difference of
# mean changes since the last period before the adoption. One row per cohort and treated period.
callaway_santanna <- function(data) {
  mean_of <- function(first, time) mean(data$y[data$first == first & data$time == time])
  times <- sort(unique(data$time))
  cohorts <- sort(unique(data$first[is.finite(data$first)]))
  do.call(rbind, lapply(cohorts, function(g) {
    base <- max(times[times < g])
    do.call(rbind, lapply(times[times >= g], function(t) {
      data.frame(cohort = g, period = t, estimate = mean_of(g, t) - mean_of(g, base) -
        (mean_of(Inf, t) - mean_of(Inf, base)))
    }))
  }))
}

# Imputation (Borusyak, Jaravel and Spiess, 2024): unit and period effects from all untreated
# observations, by alternating means until convergence.
imputation <- function(data) {
  data$unit <- as.character(data$unit)
  free <- data[data$treated == 0, ]
  unit <- stats::setNames(numeric(length(unique(data$unit))), unique(data$unit))
  time <- stats::setNames(numeric(length(unique(data$time))), unique(data$time))
  for (i in 1:2000) {
    own <- tapply(free$y - time[as.character(free$time)], free$unit, mean)
    common <- tapply(free$y - own[free$unit], free$time, mean)
    moved <- max(abs(common - time[names(common)]))
    unit[names(own)] <- own
    time[names(common)] <- common
    if (moved < 1e-11) break
  }
  on <- data[data$treated == 1, ]
  effect <- on$y - unit[on$unit] - time[as.character(on$time)]
  out <- stats::aggregate(effect, on[c("first", "time")], mean)
  out <- out[order(out$first, out$time), ]
  data.frame(cohort = out$first, period = out$time, estimate = out$x)
}

# A panel for private fits, with two dates and donors and targets in [-1, 1].
cohort_panel <- function(n = 600, T0 = 8, T1 = 5, k = 2, seed = 1) {
  withr::local_seed(seed)
  panel <- sim_panel(n = n + k, T0 = T0, T1 = T1)
  list(donors = panel$donors[seq_len(n), ], target = panel$donors[n + seq_len(k), , drop = FALSE])
}

cohort_fit_of <- function(panel, T0 = c(8, 10), ..., epsilon = 4, seed = 1) {
  withr::local_seed(seed)
  dp_synth(panel$donors,
    target = panel$target, T0 = T0, epsilon = epsilon, protect = "donors", bounds = c(-1, 1),
    control = dp_control(rng = "R"), ...
  )
}
