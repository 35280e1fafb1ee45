# Growing releases of simulated panels with time-varying factors; the target is a mean of people.

monitor_panel <- function(n = 400, T0 = 10, T1 = 5, seed = 3, noise = 0.1) {
  withr::local_seed(seed)
  periods <- T0 + T1
  factors <- apply(matrix(stats::rnorm(2 * periods), periods), 2, function(e) {
    as.numeric(stats::filter(e, 0.8, "recursive")) * 0.6
  })
  loadings <- matrix(stats::rnorm(2 * n), n) * 0.15
  own <- c(0.2, -0.15)
  list(
    donors = loadings %*% t(factors) + noise * matrix(stats::rnorm(n * periods), n),
    truth = drop(factors %*% own), target = drop(factors %*% own) + stats::rnorm(periods, 0, 0.01),
    T0 = T0, T1 = T1
  )
}

# The first `upto` periods of a panel, as arguments of dp_synth() and update().
part_of <- function(p, upto) {
  list(p$donors[, seq_len(upto), drop = FALSE], target = p$target[seq_len(upto)])
}

start_monitor <- function(p, monitor = 4, epsilon = 4, ..., rng = "R",
                          control = dp_control(rng = rng)) {
  do.call(dp_synth, c(part_of(p, p$T0 + 1), list(
    T0 = p$T0, epsilon = epsilon, bounds = c(-1, 1), monitor = monitor, control = control, ...
  )))
}

next_period <- function(fit, p, by = 1, ...) {
  upto <- fit$release$panel$T0 + fit$release$panel$T1 + by
  do.call(update, c(list(fit), part_of(p, upto), list(...)))
}

# Replaces the release of a period. `tamper` plants faults in the facts. `bits` plants a fault in
# the noise: the same bits in every period, instead of the recorder's bits.
growing_hook <- function(recorder, tamper = identity, bits = NULL) {
  function(donors, facts, base, periods, scale, rng) {
    run <- function(noise) {
      growing_release_cpp(donors, tamper(facts), base, periods, scale, noise)
    }
    if (is.null(bits)) return(run(recorder$noise))
    own <- noise_recorder_cpp(bits)
    released <- run(own)
    recorder$more <- c(recorder$more, noise_calls_cpp(own)$calls)
    released
  }
}

# A first release and all announced periods, recorded. `panels` contains one panel per look at the
# people; `place` stores each panel in the source from which it is read.
grow_recorded <- function(mechanism, panels, scope, place = identity) {
  first <- mechanism$T0 + 1
  rows <- place(panels[[1]][, seq_len(first)])
  start <- if (is.matrix(rows)) scope$dp_synth.matrix else scope$dp_synth.dp_source
  fit <- suppressWarnings(start(rows,
    target = mechanism$target[seq_len(first)], T0 = mechanism$T0, epsilon = mechanism$epsilon,
    delta = mechanism$delta, bounds = c(-1, 1), control = dp_control(rng = "R"),
    size = mechanism$size, monitor = length(panels) - 1
  ))
  for (k in seq_along(panels)[-1]) {
    upto <- seq_len(first + k - 1)
    fit <- scope$update_growing(fit, place(panels[[k]][, upto]), target = mechanism$target[upto])
  }
  fit$release
}

replay_growing <- function(mechanism, pair, ..., n_runs = 2, place = identity) {
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, list(
    gram_release_cpp = core_hook(recorder), growing_release_cpp = growing_hook(recorder, ...)
  ))
  audit_replay(list(
    recorder = recorder, ours = TRUE,
    run = function(panels) grow_recorded(mechanism, panels, scope, place)$privacy
  ), pair, n_runs)
}

# Public facts of a growing release for audits.
monitor_mechanism <- function(n, delta = 1e-6, epsilon = 2, size = 1) {
  withr::local_seed(21)
  list(
    target = stats::runif(9, -0.5, 0.5), T0 = 5, epsilon = epsilon, delta = delta, size = size
  )
}

# Looks at flat donors, one of whom is replaced in all looks by another person, with a different
# past in each look.
monitor_pairs <- function(n, looks = 4) {
  withr::local_seed(22)
  flat <- matrix(stats::runif(n * 9, -0.1, 0.1), n)
  swap <- function(from, to) {
    lapply(list(from, to), function(row) {
      lapply(seq_len(looks), function(k) {
        panel <- flat
        panel[1, ] <- if (is.function(row)) row(k) else row
        panel
      })
    })
  }
  past <- rep(c(1, -1), length.out = 5)
  list(
    turn = swap(c(past, rep(1, 4)), c(past, rep(-1, 4))),
    edges = swap(rep(-1, 9), rep(1, 9)),
    jump = swap(rep(0, 9), c(rep(-1, 6), 1, -1, 1)),
    # The past is revised between looks, differently in the two data sets.
    revised = swap(
      function(k) c((-1)^k * past, rep((-1)^k, 4)), function(k) c(past, rep((-1)^(k + 1), 4))
    )
  )
}
