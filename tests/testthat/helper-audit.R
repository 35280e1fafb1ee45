# Pairs of neighbouring data sets for audits, and mechanisms known not to be private.

# Neighbours of a panel on [-1, 1], whose first row is replaced. A named list of list(data,
# neighbour).
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

# The minimiser `(2 X X' + mu I)^-1 linear`, written out.
minimise_unconstrained <- function(x, linear, mu) {
  inner <- solve(crossprod(x) + diag(mu / 2, ncol(x)), crossprod(x, linear))
  drop(linear - x %*% inner) / mu
}

# A list of `log_density` and `draw` for the published Algorithm 3 with a given distribution of the
# linear term: "gaussian" and "gamma_norm" are the published distributions, "radial" is a
# Laplace-distributed length times a direction (the authors' public code), and "variance" is a
# Gaussian with sd = sqrt(beta).
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

# Output perturbation whose noise is a Laplace-distributed length times a direction, with
# sensitivity and scale 1.
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

# Replays of a release of the package with manipulated functions. `changes` is a list of functions,
# or a function that makes this list from the recorder.
replay_changed <- function(mechanism, pair, changes, n_runs = 3, record = identity) {
  recorder <- new_recorder()
  if (is.function(changes)) changes <- changes(recorder)
  scope <- hooked_namespace(recorder, changes)
  audit_replay(list(
    recorder = recorder, ours = TRUE,
    run = function(panel) {
      own <- handing(mechanism, recorder$noise)
      record(run_release(own, panel, scope$dp_release.matrix)$privacy)
    }
  ), pair, n_runs)
}

# Replays of a release by method "gram" with a planted fault in the core.
replay_faulty <- function(mechanism, pair, ..., n_runs = 3, record = identity) {
  changes <- function(recorder) list(gram_release_cpp = core_hook(recorder, ...))
  replay_changed(mechanism, pair, changes, n_runs, record)
}

# A copy of the namespace whose glue functions draw from the recorder's noise, for any named
# generator.
hooked_namespace <- function(recorder, changes = list()) {
  drawing <- c(
    "gram_release_cpp", "cohort_release_cpp", "treated_look_cpp", "treated_release_cpp",
    "treated_control_cpp",
    "weights_release_cpp", "growing_release_cpp", "lm_release_cpp", "glm_release_cpp",
    "paper_release_cpp", "aggregate_order_cpp", "aggregate_release_cpp"
  )
  hooks <- lapply(rlang::set_names(drawing), function(name) {
    handed_to(recorder, getFromNamespace(name, "dpsc"))
  })
  hooks[names(changes)] <- changes
  changed_namespace(hooks)
}

handed_to <- function(recorder, draw) {
  function(...) {
    arguments <- list(...)
    # Every glue function that draws takes the generator as its last argument.
    arguments[[length(arguments)]] <- recorder$noise
    do.call(draw, arguments)
  }
}

# Replaces a release by method "gram" by a faulty release. With `doubled` the first row occurs
# twice; `tamper` is a function of the facts and the recorder's mode.
core_hook <- function(recorder, doubled = FALSE, tamper = function(facts, mode) facts) {
  function(donors, facts, scale, options, rng) {
    facts <- tamper(facts, recorder$mode)
    if (doubled) donors <- rbind(donors, donors[1L, ])
    gram_release_cpp(donors, facts, scale, options, recorder$noise)
  }
}

# Replaces a release for several adoption dates by a faulty release. `tamper` is a function of the
# donors and the recorder's mode.
cohort_hook <- function(recorder, tamper = function(donors, mode) donors) {
  function(donors, facts, dates, scale, options, rng) {
    donors <- tamper(donors, recorder$mode)
    cohort_release_cpp(donors, facts, dates, scale, options, recorder$noise)
  }
}

# Runs a glue function with recorded noise and records its sums without noise. If `outputs` are
# given, they replace the noisy sums.
with_record <- function(rng, outputs, shown, run) {
  noise <- noise_recorder_cpp(rng)
  if (!is.null(outputs)) {
    noise_replay_cpp(noise, outputs, as.list(attr(outputs, "places")))
  }
  released <- run(noise)
  c(noise_calls_cpp(noise)[c("calls", "places")], stats::setNames(list(released), shown))
}

gram_audit_cpp <- function(donors, facts, scale, options, rng, outputs, doubled = FALSE) {
  if (doubled) donors <- rbind(donors, donors[1L, ])
  with_record(rng, outputs, "statistics", function(noise) {
    gram_release_cpp(donors, facts, scale, options, noise)
  })
}

cohort_audit_cpp <- function(donors, facts, dates, scale, options, rng, outputs) {
  with_record(rng, outputs, "statistics", function(noise) {
    cohort_release_cpp(donors, facts, dates, scale, options, noise)
  })
}

lm_audit_cpp <- function(rows, facts, rng, outputs) {
  with_record(rng, outputs, "release", function(noise) lm_release_cpp(rows, facts, noise))
}

glm_audit_cpp <- function(rows, facts, linear, rng, outputs) {
  with_record(rng, outputs, "release", function(noise) {
    glm_known_term_cpp(rows, facts, linear, noise)
  })
}

# Faults that audits must detect, by name, with the arguments of replay_faulty().
planted_faults <- function() {
  list(
    "first row counted twice" = list(doubled = TRUE),
    # If the panel determines the budget, noise and radii depend on the panel.
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
    # The core receives twice the budget, so it spends more than is charged.
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

# The namespace with some functions replaced, including all functions that call them.
changed_namespace <- function(changes) {
  namespace <- asNamespace("dpsc")
  scope <- new.env(parent = namespace)
  for (name in functions_that_reach(names(changes), namespace)) {
    value <- get(name, envir = namespace)
    environment(value) <- scope
    assign(name, value, scope)
  }
  for (name in names(changes)) assign(name, changes[[name]], scope)
  # The table of methods contains the functions of the namespace, so the copy needs a separate
  # table.
  if (!"mechanism_table" %in% names(changes)) {
    scope$mechanism_table <- get("make_mechanisms", scope)()
  }
  scope
}

# Names of functions of the namespace that mention these names, directly or through other functions.
functions_that_reach <- function(names, namespace) {
  callers <- callers_of_names(namespace)
  reaching <- more <- names
  while (length(more) > 0L) {
    more <- setdiff(unlist(mget(more, callers, ifnotfound = list(NULL))), reaching)
    reaching <- c(reaching, more)
  }
  setdiff(reaching, names)
}

# An environment that lists, for each name, the functions of the namespace that mention it. It is
# built once, unless a test has changed a function.
callers_of_names <- function(namespace) {
  all <- mget(ls(namespace, all.names = TRUE), envir = namespace)
  own <- all[vapply(all, function(x) is.function(x) && identical(environment(x), namespace), NA)]
  if (!identical(own, known_callers$own)) {
    known_callers$callers <- list2env(callers_in(own), parent = emptyenv())
    known_callers$own <- own
  }
  known_callers$callers
}
known_callers <- new.env(parent = emptyenv())

callers_in <- function(functions) {
  mentioned <- lapply(functions, function(f) unique(all.names(body(f))))
  # A generic function calls its methods.
  for (name in names(mentioned)[vapply(mentioned, function(words) "UseMethod" %in% words, NA)]) {
    methods <- names(mentioned)[startsWith(names(mentioned), paste0(name, "."))]
    mentioned[[name]] <- c(mentioned[[name]], methods)
  }
  mentioned <- lapply(mentioned, function(words) {
    c(words, if ("mechanism_table" %in% words) "make_mechanisms")
  })
  words <- unlist(mentioned, use.names = FALSE)
  callers <- split(rep(names(mentioned), lengths(mentioned)), words)
  callers[nzchar(names(callers))]
}
