# The quick version of the audits. tools/audit.R contains longer runs and more mechanisms.

test_that("an audit's confidence bound for epsilon equals the bound from Clopper-Pearson limits", {
  expect_equal(epsilon_from_counts(900, 100, 1000, 1e-5, 0.95), 1.98969, tolerance = 1e-5)
  expect_equal(epsilon_from_counts(0, 0, 50, 0, 0.95), -Inf)
  expect_lt(epsilon_from_counts(50, 50, 50, 0, 0.95), 0)
})

releases <- function(delta = 1e-6, T0 = 4, T1 = 2, epsilon = 1, rng = "secure") {
  one <- function(method, calibration = "tight") {
    audit_mechanism(method, calibration,
      target = audit_target(T0 + T1), T0 = T0, epsilon = epsilon, delta = delta,
      control = dp_control(rng = rng)
    )
  }
  list(
    gram = one("gram"), output = one("output"), objective = one("objective"),
    output_published = one("output", "published")
  )
}

test_that("in three methods inputs of noise change between neighbours by at most the sensitivity", {
  # The drawn radii determine how closely a call reaches its declared cost.
  withr::local_seed(14)
  worst <- list()
  for (case in list(c(0, 9), c(1e-6, 2))) {
    pairs <- audit_pairs(case[[2L]], 6, 4)
    for (name in names(releases())) {
      release <- releases(case[[1L]], epsilon = 4, rng = "R")[[name]]
      for (pair in pairs) {
        audit <- dp_audit(release, pair$data, pair$neighbour, n_runs = 2, mode = "replay")
        expect_false(audit$violated, label = paste(name, case))
        worst[[name]] <- max(worst[[name]], tidy(audit)$ratio)
      }
    }
  }
  # The audit can detect a fault, since some call of each method reaches its declared cost.
  expect_gt(min(unlist(worst)), 0.99)
})

test_that("replacing a row changes integer moments by at most, and nearly, their sensitivities", {
  # u, w are rows (v, K): |uu' - ww'|_F <= sqrt(2) (R^2 + K^2); off-diagonal entries count twice.
  withr::local_seed(1)
  seen <- c(frobenius = 0, l1 = 0)
  for (i in 1:300) {
    d <- sample(1:6, 1)
    radius <- sample(c(0.3, 0.9, 1, 1.7, 3), 1)
    bounds <- new_bounds(c(-1, 1), d)
    R <- 2^sample(6:12, 1)
    K <- round(sample(c(0.2, 0.7, 1), 1) * R)
    x <- switch(sample(5, 1),
      matrix(stats::runif(2 * d, -1, 1), 2), matrix(sample(c(-1, 1), 2 * d, TRUE), 2),
      # The lengths are just beyond and just within the radius.
      t(apply(matrix(stats::rnorm(2 * d), 2, d), 1, function(z) {
        z / sqrt(sum(z^2)) * radius * (1 + stats::runif(1, -1e-6, 1e-6))
      })),
      rbind(c(1, numeric(d - 1)), c(numeric(d - 1), 1)) * min(1, radius),
      matrix(c(0, 1), 2, d)
    )
    if (nrow(x) != 2L) x <- t(x)
    w <- row_integers_cpp(x, bounds, diag(d), numeric(d), radius, R)$clipped
    expect_true(all(w == round(w)) && all(rowSums(w^2) <= R^2))
    gram <- tcrossprod(w[1L, ]) - tcrossprod(w[2L, ])
    mean <- K * (w[1L, ] - w[2L, ])
    # All numbers are below 2^53, so the comparison is exact.
    expect_lte(sum(gram^2) + 2 * sum(mean^2), 2 * (R^2 + K^2)^2)
    upper <- gram[upper.tri(gram, diag = TRUE)]
    sensitivity <- laplace_gram_sensitivity_cpp(R, K, d)
    expect_lte(sum(abs(upper)) + sum(abs(mean)), sensitivity)
    seen <- pmax(seen, c(
      sqrt((sum(gram^2) + 2 * sum(mean^2)) / 2) / (R^2 + K^2),
      (sum(abs(upper)) + sum(abs(mean))) / sensitivity
    ))
  }
  expect_gt(seen[["frobenius"]], 0.95)
  expect_gt(seen[["l1"]], 0.85)
  # Two rows with v'w = -K^2 reach the Frobenius bound.
  v <- c(1, 0) * 64
  w <- c(-1, 0) * 64
  shift <- tcrossprod(c(v, 64)) - tcrossprod(c(w, 64))
  expect_equal(sum(shift^2), 2 * (64^2 + 64^2)^2)
})

# The exact distribution of a choice by the sampler: exp(-(loss units + offset) 2^-shift).
choice_law <- function(losses, units, log_prior, shift) {
  offset <- round((max(log_prior) - log_prior) * 2^shift)
  log_mass <- -(losses * units + offset) * 2^-shift
  mass <- exp(log_mass - max(log_mass))
  mass / sum(mass)
}

test_that("replacing a row changes the log probability of a choice by at most the exponent", {
  withr::local_seed(2)
  hinge <- function(outside, allowed) pmax(0, outside - allowed)
  # The cases of the distances to the limits share one expectation, since each expectation takes
  # half a millisecond.
  share <- spread <- size <- numeric(2000)
  for (i in 1:2000) {
    periods <- sample.int(4, 1)
    thresholds <- sort(stats::rexp(sample(2:9, 1)))
    rows <- matrix(stats::rexp(5 * periods), 5)
    other <- rows
    other[1L, ] <- sample(c(0, Inf, stats::rexp(1)), periods, TRUE)
    allowed <- sample(0:4, 1) * sample(c(1, periods), 1)
    of <- function(x) {
      hinge(vapply(thresholds, function(at) sum(is.nan(x) | x > at), 0), allowed)
    }
    move <- of(rows) - of(other)
    # The exponent is divided by the number of values per row.
    share[[i]] <- (max(move) - min(move)) / periods
    exponent <- stats::runif(1, 0.01, 3)
    units <- floor(exponent / periods * 2^20)
    prior <- -stats::rexp(length(thresholds))
    ratio <- log(choice_law(of(rows), units, prior, 20) / choice_law(of(other), units, prior, 20))
    limit <- exponent * (1 + 1e-9) + 1e-12
    spread[[i]] <- max(ratio) - min(ratio) - limit
    size[[i]] <- max(abs(ratio)) - limit
  }
  expect_lte(max(share), 1)
  expect_lte(max(spread), 0)
  expect_lte(max(size), 0)
  expect_identical(max(share), 1)
})

test_that("no step of method gram changes between neighbours by more than its sensitivity", {
  withr::local_seed(13)
  facts <- gram_facts_of(T0 = 4, T1 = 3, n = 120, epsilon = 4)
  donors <- matrix(stats::runif(840, -0.1, 0.1), 120)
  steps <- gram_plan_cpp(facts)$steps
  worst <- numeric(9)
  for (i in 1:25) {
    other <- donors
    other[1L, ] <- sample(c(-1, 1, 0, 0.05), 7, TRUE)
    run <- gram_core(donors, facts)
    outputs <- call_parts(run$calls, "output")
    # Unlikely answers are also tried.
    if (i %% 2 == 0) outputs[[5L]] <- sample(0:8, 1)
    run <- gram_core(donors, facts, outputs = outputs)
    again <- gram_core(other, facts, outputs = outputs)
    for (k in 1:9) {
      call <- c(run$calls[[k]], list(moments = TRUE, other = again$calls[[k]]))
      worst[[k]] <- max(worst[[k]], call_shift(call) / call_declared(call, steps[k, ]))
    }
  }
  expect_true(all(worst <= 1 + 1e-9))
  expect_true(all(worst[5:9] > 0.5))
  expect_gt(max(worst[5:9]), 0.999)
})

test_that("exponential-mechanism draws match their probabilities; those below 1e-6 never occur", {
  withr::local_seed(14)
  cases <- list(
    list(losses = c(0, 1, 3, 10, 0), units = floor(0.7 * 2^20), prior = numeric(5), shift = 20),
    list(losses = c(2, 0, 5), units = floor(0.4 * 2^20), prior = c(0, -0.7, -1.4), shift = 20),
    list(
      losses = c(3, 5, 4) * 2^20, units = floor(0.9 / 3 * 2^20), prior = numeric(3), shift = 40
    ),
    list(losses = c(0, 2e4), units = 2^20, prior = c(0, 0), shift = 20)
  )
  for (case in cases) {
    x <- replicate(4000, private_choice_cpp(
      case$losses, case$units, case$prior, case$shift, "R"
    ))
    law <- choice_law(case$losses, case$units, case$prior, case$shift)
    seen <- tabulate(x, length(law))
    likely <- law > 1e-6
    expect_identical(sum(seen[!likely]), 0L)
    if (sum(likely) > 1L) {
      expect_not_rejected(suppressWarnings(
        stats::chisq.test(seen[likely], p = law[likely] / sum(law[likely]))
      )$p.value)
    }
  }
  expect_identical(private_choice_cpp(c(3, 0, 1), 2^53, numeric(3), 20, "R"), 2L)
  expect_error(private_choice_cpp(c(0.5, 1), 1, c(0, 0), 20, "R"), "whole")
  expect_error(private_choice_cpp(c(-1, 1), 1, c(0, 0), 20, "R"), "negative")
})

test_that("the number, distributions and scales of noise draws do not depend on the donors", {
  # The replay checks this value for neighbours; these two panels share no row.
  for (delta in c(0, 1e-6)) {
    for (release in releases(delta)) {
      hooked <- as_hooked(release)
      far <- record_and_replay(hooked, matrix(0, 9, 6), matrix(rep_len(c(-1, 1, 1), 54), 9))
      expect_false(is.null(far))
    }
  }
})

test_that("an audit detects a sequence of noise draws that depends on the panel", {
  # Plants faults 1.
  leaky <- function(panel, add_noise) {
    if (panel[1, 1] > 0) add_noise(0, 1, 1)
    add_noise(sum(panel), 1, 2)
  }
  audit <- dp_audit(leaky, matrix(1, 2, 2), rbind(-1, c(1, 1)), n_runs = 4, mode = "replay")
  expect_true(audit$violated)
  expect_match(audit$note, "sequence")
  skip_if_not_installed("ggplot2")
  expect_error(ggplot2::autoplot(audit), class = "dpsc_error_argument")
})

test_that("an audit detects that a user's mechanism declares half its sensitivity", {
  # Plants faults 2.
  mean_of <- function(panel, add_noise, declared) {
    add_noise(mean(panel), scale = 1, sensitivity = declared, law = "laplace")
  }
  pair <- list(matrix(1, 4, 1), matrix(c(-1, 1, 1, 1)))
  good <- dp_audit(mean_of, pair[[1L]], pair[[2L]], n_runs = 2, mode = "replay", declared = 0.5)
  expect_false(good$violated)
  expect_equal(tidy(good)$ratio, 1)
  bad <- dp_audit(mean_of, pair[[1L]], pair[[2L]], n_runs = 2, mode = "replay", declared = 0.25)
  expect_equal(tidy(bad)$ratio, 2)
  expect_true(bad$violated)
  expect_error(dp_audit(sum, 1, 2, mode = "replay"), class = "dpsc_error_argument")
})

# The budget has a delta that a few hundred runs can resolve.
test_that("exact losses of methods gram and output keep to the budget for extreme neighbours", {
  withr::local_seed(3)
  largest <- c()
  for (delta in c(0, 0.05)) {
    for (name in c("gram", "output")) {
      release <- releases(delta, epsilon = 1)[[name]]
      for (shape in c("jump", "outside")) {
        pair <- audit_pairs(6, 6, 4)[[shape]]
        audit <- suppressWarnings(
          dp_audit(release, pair$data, pair$neighbour, n_runs = 30, mode = "loss")
        )
        expect_false(audit$violated, label = paste(name, delta, shape))
        if (delta == 0) expect_lte(audit$observed$loss, 1 + 1e-6)
        expect_lte(max(tidy(audit)$delta.estimate), max(delta, 1e-9))
        largest <- c(largest, audit$observed$loss)
      }
    }
  }
  expect_gt(max(largest), 0.9)
})

test_that("exact privacy losses of an audit satisfy E exp(-loss) = 1", {
  withr::local_seed(4)
  pair <- audit_pairs(6, 6, 4)$jump
  for (name in c("gram", "output")) {
    delta <- if (name == "gram") 1e-3 else 0
    loss <- loss_of_release(releases(delta, epsilon = 0.7)[[name]])
    weight <- exp(-replicate(100, loss(pair$data, pair$neighbour)))
    expect_lt(abs(mean(weight) - 1), 4.5 * stats::sd(weight) / 10)
  }
  published <- published_objective(6, 4, 4, 4, 0, "gamma_norm")
  pair <- swap_pair(6, 4)
  weight <- replicate(2000, {
    f <- published$mechanism(pair$data)
    exp(published$log_density(f, pair$neighbour) - published$log_density(f, pair$data))
  })
  expect_lt(abs(mean(weight) - 1), 4.5 * stats::sd(weight) / sqrt(2000))
})

test_that("the replayed loss of published objective perturbation equals its log density ratio", {
  release <- audit_mechanism("objective", "published", rep(1, 5), 4,
    epsilon = 8, delta = 0, control = dp_control(rng = "R", lambda = 4)
  )
  fixture <- published_objective(6, 4, 4, 4, 0, "gamma_norm")
  pair <- lapply(swap_pair(6, 4), cbind, 0)
  withr::local_seed(5)
  calls <- record_and_replay(as_hooked(release), pair$data, pair$neighbour)
  calls <- Filter(function(call) is.finite(call$log_curvature), calls)
  f <- calls[[1L]]$output
  log_density <- function(panel) fixture$log_density(f, panel[, 1:4])
  expected <- log_density(pair$data) - log_density(pair$neighbour)
  expect_equal(call_loss(calls[[1L]]), expected, tolerance = 1e-6)
})

test_that("audits of outputs alone find no violation by methods gram, output and objective", {
  withr::local_seed(6)
  pair <- audit_pairs(5, 6, 4)$jump
  for (name in c("gram", "output", "objective")) {
    delta <- if (name == "objective") 0 else 1e-6
    audit <- dp_audit(releases(delta)[[name]], pair$data, pair$neighbour, n_runs = 100)
    expect_false(audit$violated, label = name)
  }
})

# Faults that audits must detect ------------------------------------------------------------------

test_that("published objective perturbation violates its claim at about the rates in the errata", {
  # Plants faults 3.
  withr::local_seed(7)
  rates <- data.frame(
    n = c(10, 10, 100), T0 = 10, epsilon = c(5, 10, 10), rate = c(0.22, 0.65, 0.9)
  )
  for (i in seq_len(nrow(rates))) {
    case <- rates[i, ]
    audit <- audit_published(case$n, case$T0, case$T0, case$epsilon, 0, "gamma_norm", 300)
    expect_true(audit$violated)
    expect_equal(tidy(audit)$share.above[[1L]], case$rate, tolerance = 0.25)
    expect_gt(audit$observed$epsilon, 2 * case$epsilon)
  }
  release <- audit_mechanism("objective", "published", rep(1, 11), 10, epsilon = 20, delta = 0)
  pair <- lapply(swap_pair(10, 10), cbind, 0)
  audit <- dp_audit(release, pair$data, pair$neighbour, n_runs = 100, mode = "loss")
  expect_true(audit$violated)
  # The sensitivity of the gradient is wrong in this mechanism.
  replay <- dp_audit(release, pair$data, pair$neighbour, n_runs = 20, mode = "replay")
  expect_true(replay$violated)
})

test_that("audits detect radial Laplace noise and a variance used as a standard deviation", {
  # Plants faults 4, 5.
  withr::local_seed(8)
  # The expected values are 0.077 for the variance and 0.014 for the published Gaussian noise.
  audit <- audit_published(10, 10, 50, 1, 1e-6, "variance", 500)
  expect_true(audit$violated)
  expect_equal(mean(tidy(audit)$delta.estimate), 0.077, tolerance = 0.3)
  audit <- audit_published(10, 10, 50, 1, 1e-6, "radial", 1000)
  expect_true(audit$violated)
  # The noise is a length drawn from |Laplace| times a direction, with sensitivity and scale 1. It
  # gives 0.35, 0.76 and 0.93.
  audits <- lapply(c(2, 10, 38), audit_radial, n_runs = 500)
  expect_true(all(vapply(audits, `[[`, logical(1), "violated")))
  found <- vapply(audits, function(audit) mean(tidy(audit)$delta.estimate), numeric(1))
  expect_equal(found, c(0.35, 0.76, 0.93), tolerance = 0.1)
  # This audit does not use the density.
  d <- 10
  radial <- function(panel) {
    direction <- stats::rnorm(d)
    panel[1, ] + direction / sqrt(sum(direction^2)) * stats::rexp(1)
  }
  zero <- matrix(0, 2, d)
  one <- rbind(rep(1 / sqrt(d), d), 0)
  expect_true(dp_audit(radial, zero, one, epsilon = 1, n_runs = 1000)$violated)
  sigma <- gaussian_sigma(1, 1e-5, sensitivity = 20)
  gaussian <- function(sd) function(panel) sum(panel) + stats::rnorm(1, sd = sd)
  neighbour <- rbind(5, matrix(0, 4, 4))
  wrong <- dp_audit(gaussian(sqrt(sigma)), 0 * neighbour, neighbour, 1, 1e-5, n_runs = 1000)
  expect_true(wrong$violated)
  right <- dp_audit(gaussian(sigma), 0 * neighbour, neighbour, 1, 1e-5, n_runs = 1000)
  expect_false(right$violated)
  expect_gt(wrong$observed$epsilon, 2)
})

test_that("audits detect faults planted in a release that uses method gram", {
  # Plants faults 6, 7, 8, 9, 10, 11.
  withr::local_seed(9)
  # The donors suffice for all steps. A remote row counts fully, so a small shift hides no fault.
  pair <- audit_pairs(300, 6, 4)$jump
  for (delta in c(0, 1e-6)) {
    release <- releases(delta, epsilon = 2)$gram
    expect_false(replay_faulty(release, pair, n_runs = 2)$violated)
    for (name in names(planted_faults())) {
      n_runs <- if (grepl("panel", name)) 1 else 8
      audit <- do.call(
        replay_faulty, c(list(release, pair, n_runs = n_runs), planted_faults()[[name]])
      )
      expect_true(audit$violated, label = paste(name, delta))
    }
  }
})

test_that("an audit detects noise with a fixed seed", {
  # Plants faults 12.
  seeded <- function(panel) {
    withr::local_seed(1)
    sum(panel) + stats::rnorm(1, sd = 1e6)
  }
  audit <- dp_audit(seeded, matrix(0, 2, 2), rbind(1, c(0, 0)), epsilon = 50, n_runs = 20)
  expect_true(audit$violated)
  expect_match(audit$note, "no fresh noise is drawn")
  # A constant that is equal on both panels reveals nothing.
  constant <- dp_audit(function(panel) 1, matrix(0, 2, 2), rbind(1, c(0, 0)), 1, n_runs = 20)
  expect_false(constant$violated)
  expect_null(constant$note)
})

test_that("recorded noise needs a sensitivity; audits refuse noise that differs from the record", {
  noise <- noise_recorder_cpp("R")
  expect_error(discrete_gaussian_cpp(1, noise))
  expect_error(discrete_laplace_cpp(1, noise))
  expect_error(gaussian_noise_cpp(1, 1, noise))
  expect_error(gamma_norm_noise_cpp(1, 1, noise))
  expect_identical(noise_calls_cpp(noise)$calls, list())
  release <- releases()$output
  pair <- audit_pairs(3, 6, 4)$swap
  silent <- function(plan, donors, public) list(weights = numeric(3), counterfactual = c(0, 0))
  expect_error(
    replay_changed(release, pair, list(run_output = silent)), class = "dpsc_error_internal"
  )
})

test_that("dp_audit() refuses invalid arguments", {
  x <- matrix(0, 2, 2)
  expect_error(dp_audit(1, x, x, 1), class = "dpsc_error_argument")
  expect_error(dp_audit(sum, x, x), class = "dpsc_error_argument")
  expect_error(dp_audit(sum, x, x, 1, n_runs = 3), class = "dpsc_error_argument")
  expect_error(dp_audit(sum, x, x, 1, mode = "loss"), class = "dpsc_error_argument")
  expect_error(dp_audit(sum, x, x, 1, level = 1), class = "dpsc_error_argument")
  expect_error(dp_audit(function(p) numeric(), x, x, 1), class = "dpsc_error_argument")
  release <- releases()$gram
  expect_error(dp_audit(release, x, x), class = "dpsc_error_argument")
  expect_error(dp_audit(release, x, x[1, , drop = FALSE]), class = "dpsc_error_argument")
  expect_error(dp_audit(release, x, x, typo = 1), class = "dpsc_error_argument")
  pair <- audit_pairs(3, 6, 4)$swap
  expect_error(
    dp_audit(releases()$objective, pair$data, pair$neighbour, mode = "loss"),
    class = "dpsc_error_argument"
  )
  # Two rows differ between the panels.
  pair$data[2L, ] <- 0
  expect_error(dp_audit(release, pair$data, pair$neighbour), class = "dpsc_error_argument")
})

test_that("audits have methods for format(), tidy() and autoplot() and contain no donor's data", {
  withr::local_seed(10)
  release <- releases()$gram
  pair <- audit_pairs(5, 6, 4)$random
  audits <- list(
    dp_audit(release, pair$data, pair$neighbour, n_runs = 20),
    dp_audit(release, pair$data, pair$neighbour, n_runs = 4, mode = "loss"),
    dp_audit(release, pair$data, pair$neighbour, n_runs = 2, mode = "replay")
  )
  for (audit in audits) {
    expect_match(paste(format(audit), collapse = "\n"), "audit")
    expect_s3_class(tidy(audit), "data.frame")
    expect_false(any(vapply(pair$data, holds_number, logical(1), object = audit)))
    skip_if_not_installed("ggplot2")
    expect_s3_class(ggplot2::autoplot(audit), "ggplot")
    expect_silent(ggplot2::ggplot_build(ggplot2::autoplot(audit)))
  }
  expect_output(print(release), "gram")
})

test_that("an audit is neither passed nor failed if the change of a call is not known", {
  withr::local_seed(2)
  rows <- data.frame(x = stats::runif(60, -1, 1), y = stats::runif(60, -1, 1))
  other <- rows
  rows[1, ] <- c(1e-9, 1)
  other[1, ] <- c(-1e-9, -1)
  # 1/x has limits so wide that a coefficient is at a corner of its box.
  run <- function(data, control) {
    dp_glm(y ~ I(1 / x), data, "gaussian",
      method = "kst", epsilon = 8, bounds = list(y = c(-1, 1), x = c(-1, 1)), control = control
    )
  }
  audit <- dp_audit(audit_mechanism(run, epsilon = 8), rows, other, n_runs = 2, mode = "replay")
  expect_identical(audit$violated, NA)
  expect_match(format(audit), "NOT KNOWN whether", all = FALSE)
  expect_match(audit$note, "its change is not known")
})
