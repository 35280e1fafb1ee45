# Designs of other kinds than bench/battery-designs.R, which were not used for tuning. `Rscript
# bench/battery.R holdout` judges them after the constants are fixed. This file is sourced after
# battery-designs.R.

holdout_designs <- list(
  # Spending: gamma, with a mean that grows by a personal rate, and noise in proportion to the mean.
  spending = function(N, T0, T1) {
    periods <- T0 + T1
    start <- stats::rgamma(N, 3, 0.03)
    growth <- stats::rnorm(N, 0.01, 0.02)
    signal <- pmin(start * exp(outer(growth, seq_len(periods))), 600)
    rows <- matrix(stats::rgamma(N * periods, 4, 4), N) * signal
    list(rows = rows, signal = after(signal, T0), bounds = c(0, 1000))
  },
  # Employment: a Markov chain with personal rates of entry and exit.
  state = function(N, T0, T1) {
    periods <- T0 + T1
    enter <- stats::rbeta(N, 1, 6)
    leave <- stats::rbeta(N, 1, 9)
    rows <- matrix(stats::rbinom(N, 1, enter / (enter + leave)), N, periods)
    for (t in seq_len(periods)[-1L]) {
      rows[, t] <- stats::rbinom(N, 1, ifelse(rows[, t - 1L] == 1, 1 - leave, enter))
    }
    share <- enter / (enter + leave)
    decay <- outer(1 - enter - leave, seq_len(T1), `^`)
    list(rows = rows, signal = share + (rows[, T0] - share) * decay, bounds = c(0, 1))
  },
  # Visits: negative binomial counts, halved in every sixth period for all people.
  visits = function(N, T0, T1) {
    periods <- T0 + T1
    dip <- ifelse(seq_len(periods) %% 6 == 0, 0.5, 1)
    signal <- outer(stats::rgamma(N, 1.2, 0.4), dip)
    rows <- matrix(stats::rnbinom(N * periods, size = 1.5, mu = signal), N)
    list(rows = rows, signal = after(signal, T0), bounds = c(0, 40))
  },
  # Two distant groups with separate trends, which bend halfway.
  bimodal = function(N, T0, T1) {
    periods <- T0 + T1
    time <- seq_len(periods) / periods
    upper <- stats::runif(N) < 0.35
    bend <- pmax(time - T0 / periods / 2, 0)
    signal <- ifelse(upper, 70, 30) + stats::rnorm(N, sd = 4) +
      outer(ifelse(upper, 12, -6), time) + outer(ifelse(upper, -20, 5), bend)
    list(
      rows = signal + noise(N, periods, 2.5), signal = after(signal, T0), bounds = c(0, 100)
    )
  },
  # Test scores near the maximum for most people: whole points from 0 to 20 with a ceiling.
  ceiling = function(N, T0, T1) {
    periods <- T0 + T1
    latent <- stats::rnorm(N, 18, 4) + outer(abs(stats::rnorm(N, 0, 0.1)), seq_len(periods))
    mean_score <- function(latent) {
      # The mean of the rounded and capped score.
      20 - Reduce(`+`, lapply(0:19, function(k) stats::pnorm((k + 0.5 - latent) / 1.5)))
    }
    list(
      rows = clip(round(latent + noise(N, periods, 1.5)), c(0, 20)),
      signal = after(mean_score(latent), T0), bounds = c(0, 20)
    )
  },
  # Shocks of one or two periods that hit half of the people, before and after T0.
  shocks = function(N, T0, T1) {
    periods <- T0 + T1
    hit <- stats::rbinom(N, 1, 0.5)
    shock <- numeric(periods)
    shock[unique(c(max(1, T0 - 1), T0 + 1L, sample.int(periods, max(2, periods %/% 6))))] <- 1
    shock <- shock * stats::rnorm(periods, -6, 4)
    signal <- stats::rnorm(N, 50, 7) + outer(hit, shock)
    list(
      rows = signal + noise(N, periods, 2), signal = after(signal, T0), bounds = c(10, 90)
    )
  }
)
