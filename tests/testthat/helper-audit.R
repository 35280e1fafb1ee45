# Pairs of neighbours for audits, and mechanisms that are known not to be private.

# Neighbours of a panel on [-1, 1]: the first row is replaced. Named list of list(data, neighbour).
audit_pairs <- function(n, periods, pre, seed = 1) {
  withr::local_seed(seed)
  random <- function() matrix(stats::runif(n * periods, -1, 1), n)
  with_rows <- function(others, row, other_row) {
    data <- others
    neighbour <- others
    data[1L, ] <- row
    neighbour[1L, ] <- other_row
    list(data = data, neighbour = neighbour)
  }
  ones <- matrix(1, n, periods)
  zeros <- matrix(0, n, periods)
  wave <- rep_len(c(1, -1), periods)
  step <- ifelse(seq_len(periods) <= pre, 1, -1)
  corner <- sample(c(-1, 1), periods, replace = TRUE)
  list(
    random = with_rows(random(), stats::runif(periods, -1, 1), stats::runif(periods, -1, 1)),
    swap = with_rows(ones, 1, -1),
    alone = with_rows(zeros, 1, -1),
    appears = with_rows(zeros, 0, step),
    jump = with_rows(random(), step, -step),
    wave = with_rows(ones * rep(wave, each = n), wave, -wave),
    corner = with_rows(matrix(sample(c(-1, 1), n * periods, TRUE), n), corner, rev(-corner)),
    outside = with_rows(random(), 40 * corner, -3 * step),
    tiny = with_rows(zeros, 1e-9 * corner, -corner)
  )
}

audit_target <- function(periods) sin(seq_len(periods)) * 0.6

# `(2 X X' + mu I)^-1 linear`, written out.
minimise_unconstrained <- function(x, linear, mu) {
  inner <- solve(crossprod(x) + diag(mu / 2, ncol(x)), crossprod(x, linear))
  drop(linear - x %*% inner) / mu
}

# A list of `log_density` and `draw` for the published Algorithm 3 with some law of the linear
# term: "gaussian" and "gamma_norm" as published, "radial" a Laplace-distributed length
# times a direction (the authors' public code), "variance" a Gaussian with sd = sqrt(beta).
published_objective <- function(n, T0, lambda, epsilon, delta, noise, y = rep(1, T0)) {
  public <- list(
    method = "objective", calibration = "published", private = TRUE, epsilon = 2 * epsilon,
    delta = delta, n = n, T0 = T0, T1 = 1, half = rep(1, T0 + 1), y = y,
    control = dp_control(rng = "R", lambda = lambda)
  )
  step <- plan_objective(public)$weights
  beta <- step$scale
  size <- function(b) sqrt(sum(b^2))
  log_noise <- switch(noise,
    gaussian = function(b) -sum(b^2) / (2 * beta^2), variance = function(b) -sum(b^2) / (2 * beta),
    gamma_norm = function(b) -size(b) / beta,
    radial = function(b) -size(b) / beta - (n - 1) * log(size(b))
  )
  draw <- switch(noise,
    gaussian = function() stats::rnorm(n, sd = beta),
    variance = function() stats::rnorm(n, sd = sqrt(beta)),
    gamma_norm = function() gamma_norm_noise_cpp(n, beta, "R"),
    radial = function() {
      direction <- stats::rnorm(n)
      direction / size(direction) * stats::rexp(1, 1 / beta)
    }
  )
  list(
    epsilon = epsilon, mechanism = function(x) {
      minimise_unconstrained(x, 2 * drop(x %*% y) - draw(), step$mu)
    },
    log_density = function(f, x) {
      b <- 2 * drop(x %*% y) - 2 * drop(x %*% crossprod(x, f)) - step$mu * f
      inner <- diag(T0) + 2 / step$mu * crossprod(x)
      as.numeric(determinant(inner)$modulus) + log_noise(b)
    }
  )
}

swap_pair <- function(n, T0) {
  ones <- matrix(1, n, T0)
  list(data = rbind(-1, ones[-1L, ]), neighbour = ones)
}

audit_published <- function(n, T0, lambda, epsilon, delta, noise, n_runs) {
  fixture <- published_objective(n, T0, lambda, epsilon, delta, noise)
  pair <- swap_pair(n, T0)
  dp_audit(fixture$mechanism, pair$data, pair$neighbour, epsilon, delta, n_runs,
    log_density = fixture$log_density
  )
}

# Output perturbation with a Laplace-distributed length times a direction, sensitivity and scale 1.
audit_radial <- function(d, n_runs) {
  size <- function(v) sqrt(sum(v^2))
  draw <- function(panel) {
    direction <- stats::rnorm(d)
    panel + direction / size(direction) * stats::rexp(1)
  }
  log_density <- function(output, panel) {
    r <- size(output - panel)
    -r - (d - 1) * log(r)
  }
  dp_audit(draw, numeric(d), c(1, numeric(d - 1)), epsilon = 1, n_runs = n_runs,
    log_density = log_density
  )
}

# Replays of a release of ours whose functions were tampered with.
replay_changed <- function(mechanism, pair, changes, n_runs = 3) {
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, changes)
  audit_replay(list(
    recorder = recorder, ours = TRUE,
    run = function(panel) run_release(mechanism, panel, scope)$privacy
  ), pair, n_runs)
}

# Replays of a gram release with a planted fault in the core.
replay_faulty <- function(mechanism, pair, ..., n_runs = 3, record = identity) {
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, list(gram_release_cpp = core_hook(recorder, ...)))
  audit_replay(list(
    recorder = recorder, ours = TRUE,
    run = function(panel) record(run_release(mechanism, panel, scope)$privacy)
  ), pair, n_runs)
}

# Faults that audits must notice: name, and arguments of replay_faulty().
planted_faults <- function() {
  list(
    "first row counted twice" = list(doubled = TRUE),
    # Where the panel decides on the budget, noise and radii follow.
    "budget from the panel" = list(tamper = function(facts, mode) {
      if (mode == "replay") facts$epsilon <- facts$epsilon * 1.1
      facts
    }),
    "features from the panel" = list(tamper = function(facts, mode) {
      if (mode == "replay") facts$y <- rev(facts$y)
      facts
    }),
    "calibration from the panel" = list(tamper = function(facts, mode) {
      if (mode == "replay") facts$intervals <- FALSE
      facts
    }),
    # More is drawn than is charged: the core is given twice the budget.
    "half of the cost told" = list(record = function(privacy) {
      privacy$steps[c("mu", "epsilon")] <- privacy$steps[c("mu", "epsilon")] / 2
      privacy
    }),
    "half of the sensitivity told" = list(record = function(privacy) {
      privacy$steps$sensitivity <- privacy$steps$sensitivity / 2
      privacy
    })
  )
}

# The namespace with some functions replaced, those that lead to them included.
changed_namespace <- function(changes) {
  namespace <- asNamespace("dpsc")
  scope <- new.env(parent = namespace)
  for (name in functions_that_reach(names(changes), namespace)) {
    value <- get(name, envir = namespace)
    environment(value) <- scope
    assign(name, value, scope)
  }
  for (name in names(changes)) assign(name, changes[[name]], scope)
  scope
}
