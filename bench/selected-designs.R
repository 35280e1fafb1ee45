# Held-out designs for bench/selected.R, which were not used for tuning. Sourced after
# battery-designs.R.

held_out <- list(
  # AR(1) around a skewed personal level; a third of the variance is transitory and decays slowly.
  sticky = function(N, T0, T1) {
    list(
      rows = 20 + stats::rgamma(N, 3, 0.25) + ar1(N, T0 + T1, 0.9, 6), bounds = c(-10, 80)
    )
  },
  # Differences between people are transitory.
  passing = function(N, T0, T1) {
    list(rows = stats::rnorm(N, 50, 2) + ar1(N, T0 + T1, 0.5, 8), bounds = c(0, 100))
  },
  # Two latent groups, of which the smaller group has higher levels and a separate trend. A linear
  # prediction for the upper third is wrong here even without privacy.
  latent = function(N, T0, T1) {
    time <- seq_len(T0 + T1) / (T0 + T1)
    upper <- stats::runif(N) < 0.3
    list(
      rows = ifelse(upper, 58, 46) + stats::rnorm(N, 0, 3) + outer(ifelse(upper, 4, 0), time) +
        noise(N, T0 + T1, 7), bounds = c(0, 100)
    )
  },
  # Gamma outcomes around a personal mean, with standard deviations in proportion to the mean.
  gamma = function(N, T0, T1) {
    mean <- stats::rgamma(N, 1.5, 0.05)
    list(rows = matrix(stats::rgamma(N * (T0 + T1), 1.2), N) * mean / 1.2, bounds = c(0, 300))
  },
  # Seasons with personal amplitude and phase.
  amplitude = function(N, T0, T1) {
    phase <- outer(stats::rnorm(N, 0, 0.6), 2 * pi * seq_len(T0 + T1) / 12, `+`)
    list(
      rows = stats::rnorm(N, 40, 4) + stats::rexp(N, 1 / 5) * cos(phase) + noise(N, T0 + T1, 4),
      bounds = c(0, 80)
    )
  },
  # 0/1 outcomes. Most people hardly ever have a one, and some people nearly always.
  often = function(N, T0, T1) {
    rate <- stats::rbeta(N, 0.3, 0.9)
    list(rows = matrix(stats::rbinom(N * (T0 + T1), 1, rate), N), bounds = c(0, 1))
  },
  # 0/1 outcomes in spells that last for some periods.
  spells = function(N, T0, T1) {
    enter <- stats::rbeta(N, 1, 12)
    leave <- stats::rbeta(N, 2, 5)
    rows <- matrix(stats::rbinom(N, 1, enter / (enter + leave)), N, T0 + T1)
    for (t in seq_len(T0 + T1)[-1L]) {
      rows[, t] <- stats::rbinom(N, 1, ifelse(rows[, t - 1L] == 1, 1 - leave, enter))
    }
    list(rows = rows, bounds = c(0, 1))
  }
)

# Two clusters with different paths. The targets belong to the smaller cluster.
cluster_panel <- function(n, share, size, T0, kind, T1 = 4) {
  periods <- seq_len(T0 + T1)
  paths <- list(
    trend = list(0.8 * sin(periods / 4), 4.5 * (periods / T0 - 0.5)),
    wave = list(0, 1.5 * cos(periods / 3) + 0.1 * periods)
  )[[kind]]
  people <- function(k, path) {
    stats::rnorm(k, 0, 1.3) + matrix(path, k, T0 + T1, byrow = TRUE) + noise(k, T0 + T1, 0.35)
  }
  own <- stats::rbinom(1L, n, share)
  rows <- rbind(people(n - own, paths[[1L]]), people(own, paths[[2L]]))[sample.int(n), ]
  target <- colMeans(clip(people(size, paths[[2L]]), c(-8, 8)))
  list(
    donors = clip(rows, c(-8, 8)), targets = rbind(target), T0 = T0, bounds = c(-8, 8), size = size
  )
}
