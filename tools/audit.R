# make audit: the audits of tests/testthat/test-audit.R with more runs, panels and mechanisms.
# Prints claimed and observed losses and writes bench/results/audit.csv. Exit status 1 if a claim of
# the package is violated, or if an audit accepts a mechanism known to be wrong.
library(dpsc)
internal <- asNamespace("dpsc")
helpers <- new.env(parent = internal)
for (file in paste0("helper-", c("audit", "panels", "gram", "glm", "papers", "probes"), ".R")) {
  sys.source(file.path("tests", "testthat", file), envir = helpers)
}
# A smaller DPSC_AUDIT_SCALE, such as 0.1, gives fewer runs.
scale <- as.numeric(Sys.getenv("DPSC_AUDIT_SCALE", "1"))
runs <- function(n) max(min(n, 20), round(n * scale))
set.seed(20240607)

rows <- list()
note <- function(audit, mechanism, panel, expected) {
  loss <- audit$mode == "loss"
  replay <- audit$mode == "replay"
  row <- data.frame(
    mechanism = mechanism, panel = panel, mode = audit$mode, runs = audit$n_runs,
    claimed.epsilon = audit$claimed$epsilon, claimed.delta = audit$claimed$delta,
    observed.epsilon = if (replay) NA else audit$observed$epsilon,
    observed.delta = if (loss) max(audit$table$delta.estimate) else NA,
    largest.loss = if (loss) audit$observed$loss else NA,
    share.above = if (loss) max(audit$table$share.above) else NA,
    sensitivity.ratio = if (replay) audit$observed$ratio else NA,
    violated = audit$violated, expected = expected
  )
  rows[[length(rows) + 1L]] <<- row
  cat(sprintf(
    "%-34s %-9s %-8s claimed %-5s %-7s observed %-8s %s%s\n", mechanism, panel, audit$mode,
    format(row$claimed.epsilon), format(row$claimed.delta),
    signif(if (replay) row$sensitivity.ratio else row$observed.epsilon, 4),
    if (audit$violated) "VIOLATED" else "-", if (audit$violated != expected) "  UNEXPECTED" else ""
  ))
}

describe <- function(method, calibration, epsilon, delta, T0 = 4, T1 = 2, lambda = NULL) {
  audit_mechanism(method, calibration,
    target = helpers$audit_target(T0 + T1), T0 = T0, epsilon = epsilon, delta = delta,
    control = dp_control(rng = "R", lambda = lambda)
  )
}

cat("Sensitivity of every noise call (ratio of observed to declared)\n")
for (size in list(c(2, 4, 2), c(12, 10, 3), c(60, 6, 2))) {
  for (delta in c(0, 1e-6)) {
    for (method in c("gram", "output", "objective")) {
      if (method == "objective" && size[[1L]] > 12) next
      ours <- describe(method, "tight", 2, delta, size[[2L]], size[[3L]])
      periods <- size[[2L]] + size[[3L]]
      pairs <- helpers$audit_pairs(size[[1L]], periods, size[[2L]], seed = size[[1L]])
      audits <- lapply(pairs, function(pair) {
        dp_audit(ours, pair$data, pair$neighbour, n_runs = runs(6), mode = "replay")
      })
      worst <- which.max(vapply(audits, function(a) a$observed$ratio, 0))
      note(audits[[worst]], sprintf("%s n=%d", method, size[[1L]]), names(pairs)[[worst]], FALSE)
    }
  }
}

cat("The steps that calibrate intervals\n")
for (delta in c(0, 1e-6)) {
  ours <- describe("gram", "tight", 2, delta)
  for (shape in c("appears", "outside", "tiny", "random")) {
    pair <- helpers$audit_pairs(500, 6, 4)[[shape]]
    audit <- dp_audit(ours, pair$data, pair$neighbour, n_runs = runs(40), mode = "replay")
    table <- tidy(audit)
    for (step in table$call[-(1:4)]) {
      one <- audit
      one$observed$ratio <- table$ratio[table$call == step]
      one$violated <- one$observed$ratio > 1 + 1e-9
      note(one, step, shape, FALSE)
    }
  }
}

cat("Exact loss of our releases\n")
for (delta in c(0, 0.02)) {
  for (epsilon in c(0.5, 2)) {
    for (method in c("gram", "output")) {
      ours <- describe(method, "tight", epsilon, delta)
      for (shape in c("jump", "corner")) {
        pair <- helpers$audit_pairs(6, 6, 4)[[shape]]
        note(
          dp_audit(ours, pair$data, pair$neighbour, n_runs = runs(300), mode = "loss"),
          method, shape, FALSE
        )
      }
    }
  }
}
for (delta in c(0, 0.02)) {
  pair <- helpers$audit_pairs(300, 6, 4)$appears
  ours <- describe("gram", "tight", 1, delta)
  note(
    dp_audit(ours, pair$data, pair$neighbour, n_runs = runs(300), mode = "loss"),
    "gram, calibrated", "appears", FALSE
  )
}
# These rows use the whole sensitivity of the ridge weights.
ridge <- describe("output", "tight", 1, 0, lambda = 8)
y <- ridge$target[1:4]
pair <- list(rbind(c(y / sqrt(sum(y^2)), 1, 1), 0, 0), rbind(c(-y / sqrt(sum(y^2)), -1, -1), 0, 0))
audit <- dp_audit(ridge, pair[[1L]], pair[[2L]], n_runs = runs(1000), mode = "loss")
note(audit, "output", "extreme", FALSE)

cat("Black box, our releases\n")
for (method in c("gram", "output", "objective")) {
  for (delta in c(0, 1e-6)) {
    if (method == "objective" && delta > 0) next
    pair <- helpers$audit_pairs(5, 6, 4)$jump
    ours <- describe(method, "tight", 2, delta)
    note(dp_audit(ours, pair$data, pair$neighbour, n_runs = runs(600)), method, "jump", FALSE)
  }
}

cat("Mechanisms that are wrong\n")
for (n in c(10, 100)) {
  for (epsilon in c(1, 2, 5, 10, 25, 50)) {
    note(helpers$audit_published(n, 10, 10, epsilon, 0, "gamma_norm", runs(2000)),
      sprintf("published objective n=%d", n), "swap", TRUE)
  }
}
for (noise in c("gaussian", "variance", "radial")) {
  for (size in list(c(10, 10, 50), c(38, 19, 10))) {
    audit <- helpers$audit_published(size[[1L]], size[[2L]], size[[3L]], 1, 1e-6, noise, runs(2000))
    note(audit, sprintf("objective, %s n=%d", noise, size[[1L]]), "swap", TRUE)
  }
}
for (d in c(2, 10, 38)) {
  note(helpers$audit_radial(d, runs(4000)), sprintf("radial Laplace d=%d", d), "shift", TRUE)
}
sigma <- gaussian_sigma(1, 1e-5, sensitivity = 20)
for (sd in c(sigma, sqrt(sigma))) {
  gaussian <- function(panel) sum(panel) + rnorm(1, sd = sd)
  audit <- dp_audit(gaussian, matrix(0, 2, 1), matrix(c(20, 0)), 1, 1e-5, runs(4000))
  note(audit, if (sd == sigma) "Gaussian" else "Gaussian, variance for sd", "shift", sd != sigma)
}
fixed <- function(panel) {
  set.seed(1)
  sum(panel) + rnorm(1, sd = 1e3)
}
state <- .Random.seed
note(dp_audit(fixed, matrix(0, 2, 1), matrix(c(1, 0)), 1, 0, 200), "fixed seed", "shift", TRUE)
assign(".Random.seed", state, globalenv())
for (name in names(helpers$planted_faults())) {
  pair <- helpers$audit_pairs(300, 6, 4)$jump
  audit <- do.call(helpers$replay_faulty, c(
    list(describe("gram", "tight", 1, 1e-6), pair, n_runs = 10), helpers$planted_faults()[[name]]
  ))
  audit <- c(audit, list(mode = "replay", n_runs = 10, claimed = list(epsilon = 1, delta = 1e-6)))
  note(audit, paste("gram,", name), "jump", TRUE)
}

cat("Streams, selections, regressions\n")
bounds <- function(names, half = 1) stats::setNames(rep(list(c(-half, half)), length(names)), names)
r_noise <- dp_control(rng = "R")
running <- function(panel) {
  stream <- dp_stream_sum(bounds("x"), epsilon = 1, delta = 0, horizon = 8, noise = "tree",
    control = r_noise
  )
  tidy(update(stream, data.frame(x = panel[, 1])))$estimate
}
empty <- matrix(-1, 8, 1)
once <- rbind(1, empty[-1, , drop = FALSE])
note(dp_audit(running, empty, once, 1, 0, runs(3000)), "running sum, tree", "swap", FALSE)
# The person has eight rows that were not declared.
note(dp_audit(running, empty, -empty, 1, 0, runs(3000)), "running sum, person eight times", "swap",
  TRUE)
pick <- function(exponent) {
  facts <- list(size = 1, exponent = exponent, rho_step = Inf, blocks = 2, ball = 1,
    intercept = FALSE)
  function(panel) internal$select_pick_cpp(panel, "pursuit", facts, "R")[[1L]]
}
base <- rbind(c(1, 1, 1), c(1, 1, 1))
swap <- list(rbind(base, c(1, -1, 1)), rbind(base, c(-1, 1, 1)))
note(dp_audit(pick(2), swap[[1]], swap[[2]], 2, 0, runs(6000)), "selection, pursuit", "swap", FALSE)
note(dp_audit(pick(6), swap[[1]], swap[[2]], 2, 0, runs(6000)), "selection, thrice the exponent",
  "swap", TRUE)
by_ranks <- function(exponent) {
  facts <- list(size = 1, exponent = exponent, rho_step = Inf, location = 0, locate_picks = FALSE,
    steps = FALSE, centred = FALSE)
  function(panel) internal$select_ranks_cpp(panel, rep(TRUE, 3), facts, "R")$order[[1L]]
}
base <- rbind(c(-0.5, -0.5, -0.5), c(0, 0, 0), c(0.5, 0.5, 0.5))[rep(1:3, 2), ]
swap <- list(rbind(base, c(1, -1, 1)), rbind(base, c(-1, 1, 1)))
note(dp_audit(by_ranks(2), swap[[1]], swap[[2]], 2, 0, runs(6000)), "selection, ranks", "swap",
  FALSE)
note(dp_audit(by_ranks(6), swap[[1]], swap[[2]], 2, 0, runs(6000)),
  "selection, ranks, thrice the exponent", "swap", TRUE)
regression_replay <- function(one, two, delta) {
  columns <- internal$lm_columns(y ~ a, bounds(c("y", "a"), 20))
  facts <- list(n = nrow(one), epsilon = 4, delta = delta, scores = TRUE,
    design = internal$lm_design(columns))
  rows <- function(x) internal$lm_table(columns, as.data.frame(x), TRUE)
  noise <- internal$noise_recorder_cpp("R")
  recorded <- function(x) {
    internal$lm_release_cpp(rows(x), facts, noise)
    internal$noise_calls_cpp(noise)
  }
  first <- recorded(one)
  internal$noise_replay_cpp(noise, lapply(first$calls, `[[`, "output"), first$places)
  second <- recorded(two)
  steps <- internal$lm_plan_cpp(facts)$steps
  ratio <- mapply(function(a, b, mu, epsilon) {
    d <- b$value - a$value
    if (a$law == "exponential") {
      x <- diff(range(d)) * a$scale
      if (delta > 0) internal$exponential_step_mu_cpp(x) / mu else x / epsilon
    } else if (delta > 0) {
      sqrt(sum(d^2 / (a$scale - 16))) / mu
    } else {
      sum(abs(d) / a$scale) / epsilon
    }
  }, first$calls, second$calls, steps$mu, steps$epsilon)
  list(mode = "replay", n_runs = 1, claimed = list(epsilon = 4, delta = delta),
    observed = list(ratio = max(ratio)), violated = max(ratio) > 1 + 1e-9)
}
people <- data.frame(y = stats::rnorm(500), a = stats::rnorm(500))
far <- function(rows, sign) {
  people[rows, ] <- list(20, 20 * sign)
  people
}
for (delta in c(0, 1e-6)) {
  note(regression_replay(far(1, 1), far(1, -1), delta), "regression with scores", "swap", FALSE)
  note(regression_replay(far(1:2, 1), far(1:2, -1), delta), "regression, person twice", "swap",
    TRUE)
}
cat("The papers' methods, right and wrong\n")
for (row in helpers$paper_audits(runs(3000))) note(row$audit(), row$name, "rows", row$wrong)
cat("Generalised linear models, exact densities of the minimiser in one and two dimensions\n")
# The nodes of the noise are equally likely, so the shares of nodes are probabilities. Other
# densities need a mass.
note_exact <- function(mechanism, family, epsilon, delta, losses, expected,
                       mass = 1 / length(losses)) {
  above <- sum(mass * (losses > epsilon * (1 + 1e-9)))
  reached <- sum(mass * pmax(0, -expm1(epsilon - losses)))
  violated <- if (delta > 0) reached > delta else above > 0
  rows[[length(rows) + 1L]] <<- data.frame(
    mechanism = mechanism, panel = family, mode = "exact", runs = length(losses),
    claimed.epsilon = epsilon, claimed.delta = delta, observed.epsilon = NA,
    observed.delta = reached, largest.loss = max(losses), share.above = above,
    sensitivity.ratio = NA, violated = violated, expected = expected
  )
  cat(sprintf("%-34s %-9s %-8s claimed %-5s %-7s delta %-8s %s%s\n", mechanism, family, "exact",
    format(epsilon), format(delta), signif(reached, 4), if (violated) "VIOLATED" else "-",
    if (violated != expected) "  UNEXPECTED" else ""
  ))
}
for (family in c("binomial", "poisson", "gaussian")) {
  span <- if (family == "binomial") 1 else 2
  for (delta in c(0, 1e-2)) {
    for (d in 1:2) {
      claim <- helpers$exact_claim(1, delta, d, family, span)
      nodes <- helpers$noise_nodes(d)
      worst <- NULL
      for (k in seq_len(runs(40))) {
        pair <- helpers$exact_pair(d, family, span)
        losses <- helpers$exact_losses(
          pair[[1L]], pair[[2L]], claim$loss, claim$ridge, claim$kappa, nodes
        )
        if (is.null(worst) || max(losses) > max(worst)) worst <- losses
      }
      note_exact(sprintf("glm objective d=%d", d), family, 1, delta, worst, FALSE)
    }
  }
}
claim <- helpers$exact_claim(1, 0, 1L, "binomial", 1)
for (factor in c(1, 0.5)) {
  losses <- helpers$exact_worst(claim$loss, factor * claim$ridge, claim$kappa)
  name <- if (factor == 1) "glm objective, worst pair" else "glm objective, half the ridge"
  note_exact(name, "binomial", 1, 0, losses, factor < 1)
}
claim <- helpers$exact_claim(1, 1e-2, 2L, "binomial", 1)
for (shape in 2:1) {
  losses <- helpers$exact_opposite(claim, shape)
  name <- if (shape == 2) "glm objective, opposite rows" else "glm objective, norm of shape 1"
  note_exact(name, "binomial", 1, 1e-2, losses, shape == 1)
}
# Linear limits in the mechanism, on a half plane and its edge, and with springs. The faults are a
# quarter of the ridge, and a limit that follows the rows.
for (family in c("binomial", "poisson", "gaussian")) {
  for (delta in c(0, 1e-2)) {
    claim <- helpers$exact_claim(1, delta, 2L, family, if (family == "binomial") 1 else 2)
    worst <- list()
    for (k in seq_len(runs(20))) {
      pair <- helpers$exact_pair(2L, family, claim$loss$unit)
      m <- nrow(pair[[1L]]$x)
      if (k %% 2) {
        pair[[2L]]$x[m, ] <- pair[[1L]]$x[m, ]
        pair[[2L]]$w[[m]] <- pair[[1L]]$w[[m]]
      }
      unit <- claim$kappa / claim$ridge
      normal <- stats::rnorm(2)
      limit <- stats::rnorm(1) * unit
      plane <- function(share, ...) {
        helpers$exact_half_plane(pair[[1L]], pair[[2L]], claim$loss, share * claim$ridge,
          claim$kappa, normal, limit, nodes = 100L, ...
        )
      }
      stiff <- 30 * claim$ridge
      found <- list(
        face = plane(1), springs = plane(1, stiff = stiff), quarter = plane(0.25),
        moved = plane(1, stiff = stiff, moved = limit + 0.3 * unit)
      )
      for (name in names(found)) {
        if (is.null(worst[[name]]) || max(found[[name]]$loss) > max(worst[[name]]$loss)) {
          worst[[name]] <- found[[name]]
        }
      }
    }
    tell <- function(name, words, expected) {
      note_exact(paste("glm limits,", words), family, 1, delta, worst[[name]]$loss, expected,
        worst[[name]]$mass
      )
    }
    tell("face", "half plane and edge", FALSE)
    tell("springs", "springs", FALSE)
    tell("moved", "limit from the rows", TRUE)
    # The curvature matters most if slopes have both signs.
    if (family == "gaussian" && delta == 0) tell("quarter", "a quarter of the ridge", TRUE)
  }
}

table <- do.call(rbind, rows)
if (scale >= 1) {
  dir.create("bench/results", showWarnings = FALSE, recursive = TRUE)
  shown <- table
  numbers <- vapply(shown, is.numeric, NA)
  shown[numbers] <- lapply(shown[numbers], signif, 5)
  utils::write.csv(shown, "bench/results/audit.csv", row.names = FALSE)
}
wrong <- sum(table$violated != table$expected)
cat(nrow(table) - wrong, " as expected, ", wrong, " not\n", sep = "")
quit(status = as.integer(wrong > 0))
