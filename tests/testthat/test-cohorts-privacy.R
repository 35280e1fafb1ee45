# Several adoption dates: the cost of the release, the influence of one person, and the reported
# errors.

cohort_mechanism_of <- function(n = 30, dates = c(4, 6, 7), epsilon = 1, delta = 1e-6, size = 1) {
  withr::local_seed(11)
  target <- matrix(stats::runif(length(dates) * 9, -0.5, 0.5), length(dates))
  mechanism <- audit_mechanism(
    "gram", target = target, T0 = dates[[1]], epsilon = epsilon, delta = delta
  )
  mechanism$T0 <- dates
  mechanism$size <- size
  mechanism
}

# A copy of run_release() that also passes the size.
release_of <- function(mechanism, donors, scope) {
  suppressWarnings(scope$dp_release.matrix(donors,
    target = mechanism$target, T0 = mechanism$T0, epsilon = mechanism$epsilon,
    delta = mechanism$delta, bounds = c(-1, 1), control = mechanism$control,
    size = mechanism$size, protect = "donors"
  ))
}

replay_cohorts <- function(mechanism, pair, ..., n_runs = 2, record = identity) {
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, list(cohort_release_cpp = cohort_hook(recorder, ...)))
  audit_replay(list(
    recorder = recorder, ours = TRUE,
    run = function(panel) record(release_of(mechanism, panel, scope)$privacy)
  ), pair, n_runs)
}

# Flat donors, one of whom is replaced by another person whose errors are large in every cohort or
# in none.
cohort_pairs <- function(n) {
  withr::local_seed(12)
  flat <- matrix(stats::runif(n * 9, -0.1, 0.1), n)
  swap <- function(from, to) {
    one <- other <- flat
    one[1, ] <- from
    other[1, ] <- to
    list(one, other)
  }
  list(
    jump = swap(rep(0, 9), c(rep(-1, 7), 1, 1)),
    early = swap(rep(0, 9), c(-1, -1, -1, -1, 1, 1, 1, 1, 1)),
    edges = swap(rep(-1, 9), rep(1, 9)),
    beats = swap(c(1, -1, 1, -1, 1, -1, 1, -1, 1), -c(1, -1, 1, -1, 1, -1, 1, -1, 1))
  )
}

test_that("with several adoption dates a neighbour changes no step by more than is charged", {
  withr::local_seed(13)
  for (setting in list(
    list(n = 300, delta = 1e-6, size = 1, steps = 9), list(n = 900, delta = 1e-6, size = 30,
      steps = 7), list(n = 900, delta = 0, size = 1, steps = 9)
  )) {
    mechanism <- cohort_mechanism_of(
      setting$n, epsilon = 2, delta = setting$delta, size = setting$size
    )
    for (pair in cohort_pairs(setting$n)) {
      audit <- replay_cohorts(mechanism, pair)
      expect_false(audit$violated)
      expect_identical(nrow(audit$table), as.integer(setting$steps))
    }
  }
})

test_that("audits detect people counted twice and second moments charged for one cohort only", {
  # Plants faults 13, 14.
  withr::local_seed(14)
  mechanism <- cohort_mechanism_of(300, epsilon = 2)
  pairs <- cohort_pairs(300)
  twice <- function(donors, mode) {
    if (mode == "replay") donors[2:6, ] <- donors[rep(1, 5), ]
    donors
  }
  expect_true(any(vapply(pairs, function(pair) {
    replay_cohorts(mechanism, pair, tamper = twice)$violated
  }, NA)))
  # The sums of all three cohorts change together by the sensitivity recorded for one cohort.
  cheap <- function(privacy) {
    at <- which(privacy$steps$step == "mean squared placebo error")
    for (column in c("sensitivity", "mu")) {
      privacy$steps[[column]][at] <- privacy$steps[[column]][at] / sqrt(3)
    }
    privacy
  }
  worst <- function(record) {
    max(vapply(pairs, function(pair) {
      table <- replay_cohorts(mechanism, pair, n_runs = 6, record = record)$table
      table$ratio[table$call == "mean squared placebo error"]
    }, 0))
  }
  expect_lte(worst(identity), 1)
  expect_gt(worst(cheap), 1)
})

test_that("a release for three dates costs no more than a release for one, and is charged once", {
  panel <- cohort_panel(400, 6, 6, k = 3)
  for (delta in c(1e-6, 0)) {
    ledger <- dp_ledger(epsilon = 4, delta = 1e-5)
    fit <- suppressWarnings(dp_synth(panel$donors,
      target = panel$target, T0 = c(6, 8, 9), epsilon = 2,
      protect = "donors", delta = delta, bounds = c(-1, 1),
      ledger = ledger
    ))
    one <- suppressWarnings(dp_synth(panel$donors,
      target = panel$target[1, ], T0 = 6, epsilon = 2,
      protect = "donors", delta = delta, bounds = c(-1, 1),
      control = dp_control(target_round = FALSE)
    ))
    steps <- fit$release$privacy$steps
    alone <- one$release$privacy$steps
    expect_identical(steps$step, alone$step)
    expect_equal(nrow(as.data.frame(ledger)), 1)
    if (delta > 0) {
      expect_lte(sum(steps$mu^2), gdp_budget_cpp(2, delta)^2)
      expect_lte(steps$mu[[6]], alone$mu[[6]])
      expect_equal(steps$mu[[6]], alone$mu[[6]], tolerance = 1e-6)
      expect_equal(steps$sensitivity[[6]] / steps$scale[[6]],
        alone$sensitivity[[6]] / alone$scale[[6]], tolerance = 1e-6)
    } else {
      expect_lte(sum(steps$epsilon), 2)
    }
    second <- fit$release$statistics$cohorts$intervals$second
    expect_length(second, 3)
  }
})

test_that("the calibration for several dates uses placebo errors as recomputed row by row", {
  panel <- cohort_panel(250, 6, 5, k = 2)
  bounds <- new_bounds(c(-1, 1), 11)
  facts <- c(gram_facts_of(T0 = 6, T1 = 5, n = 250, epsilon = 3), group = FALSE)
  options <- gram_options(TRUE, 250, bounds)
  dates <- c(6L, 8L)
  run <- withr::with_seed(4, cohort_audit_cpp(
    panel$donors, facts, dates, bounds, options, "R", NULL
  ))
  calls <- run$calls
  s <- run$statistics
  errors <- lapply(dates, function(T0) {
    view <- cohort_view_cpp(s, T0)
    grid <- round(panel$donors * 2^20) / 2^20
    fits <- gram_estimate_cpp(view, options, grid, rep(1, 250))
    path <- do.call(rbind, lapply(fits, `[[`, "path"))
    error <- (grid - path)[, -seq_len(T0)]
    variance <- t(vapply(fits, function(e) {
      total <- e$prediction + e$disagreement + e$privacy
      c(mean(total), diag(total))
    }, numeric(12 - T0)))
    list(
      error = cbind(rowMeans(error), error), variance = variance,
      scale = vapply(fits, `[[`, 0, "scale")
    )
  })
  clip <- s$cohorts$intervals$clip
  sums <- calls[[6]]$value
  one <- 2^20
  mine <- vapply(errors, function(e) sum(floor(one * pmin(1, (e$error[, 1] / clip)^2))), 0)
  expect_equal(sums, mine, tolerance = 1e-6)
  # The tail factors count rows beyond a threshold, in units of the interval of each row.
  intervals <- s$cohorts$intervals
  ratio <- lapply(seq_along(dates), function(g) {
    e <- errors[[g]]
    floor <- max(intervals$second[[g]], intervals$second_sd / 2)
    lift <- pmax(1, floor / e$variance[, 1])
    abs(e$error) / (e$scale * sqrt(lift * e$variance))
  })
  factors <- c(1.15^(-2:8), 1.15^8 * 3^(1:5))
  quantile <- stats::qnorm(1 - intervals$tail / 2)
  beyond <- function(values) vapply(factors, function(f) sum(values > f * quantile), 0)
  average <- beyond(do.call(cbind, lapply(ratio, function(r) r[, 1])))
  period <- beyond(do.call(cbind, lapply(ratio, function(r) r[, -1])))
  # A loss is a count beyond a limit, minus the permitted number.
  left <- function(counts, losses) unique((counts - losses)[losses > 0])
  expect_length(left(average, calls[[7]]$value), 1)
  expect_length(left(period, calls[[8]]$value), 1)
  band <- do.call(cbind, lapply(ratio, function(r) {
    together <- stats::qnorm((1 + (1 - intervals$tail)^(1 / (ncol(r) - 1))) / 2)
    apply(r[, -1], 1, max) / together
  }))
  largest <- vapply(factors, function(f) sum(band > f), 0)
  expect_length(left(largest, calls[[9]]$value), 1)
})

test_that("the noise covariance of two cohorts' effects equals a delta-method computation", {
  withr::local_seed(15)
  rows <- cohort_panel(200, 5, 5)$donors
  facts <- c(gram_facts_of(T0 = 5, T1 = 5, n = 200, features = 2, y = (1:5) / 5), group = FALSE)
  plan <- gram_plan_cpp(facts)
  features <- rows %*% plan$loadings
  d <- ncol(features)
  centre <- colMeans(features)
  s <- list(
    loadings = plan$loadings, pre = plan$pre, weight = plan$weight, demean = plan$demean,
    mean = centre, restore = diag(d) * 0.5, covariance = 4 * crossprod(sweep(features, 2, centre)) /
      200, mean_sd = 1e-9, moment_sd = 1e-9
  )
  dates <- c(5L, 7L)
  bounds <- new_bounds(c(-1, 1), 10)
  options <- gram_options(TRUE, 200, bounds, lambda = 8)
  targets <- matrix(stats::runif(20, -0.3, 0.3), 2)
  post <- function(s) {
    unlist(lapply(1:2, function(g) {
      view <- cohort_view_cpp(s, dates[[g]])
      own <- gram_estimate_cpp(view, options, targets[g, , drop = FALSE], 1)[[1]]
      own$path[-seq_len(dates[[g]])]
    }))
  }
  step <- 1e-6
  slope <- function(change) (post(change(s, step)) - post(change(s, -step))) / (2 * step)
  expected <- matrix(0, 8, 8)
  for (i in seq_len(d)) {
    for (j in seq_len(i)) {
      moved <- slope(function(s, by) {
        s$covariance[i, j] <- s$covariance[j, i] <- s$covariance[i, j] + by
        s
      })
      expected <- expected + tcrossprod(moved) * s$moment_sd^2 / if (i == j) 1 else 2
    }
    moved <- slope(function(s, by) {
      # The noise of the mean is in whitened units.
      s$mean <- s$mean + s$restore[, i] * by
      s
    })
    expected <- expected + tcrossprod(moved) * s$mean_sd^2
  }
  shared <- cohort_errors_cpp(s, list(options, options), dates, targets, 200)
  expect_equal(shared$privacy, expected, tolerance = 1e-4)
  # The diagonal equals the variance of the estimate for a single date.
  own <- gram_estimate_cpp(cohort_view_cpp(s, 7L), options, targets[2, , drop = FALSE], 1)[[1]]
  expect_equal(shared$privacy[6:8, 6:8], own$privacy, tolerance = 1e-6)
  expect_equal(
    shared$regression[6:8, 6:8], (1 + own$leverage) / 200 * own$prediction, tolerance = 1e-6
  )
  expect_gt(min(eigen(shared$regression, symmetric = TRUE)$values), -1e-12)
})

test_that("regression error covariances of cohorts are within a factor of 1.7 of resampling", {
  withr::local_seed(16)
  rows <- sim_panel(n = 3002, T0 = 5, T1 = 5)$donors
  # Two equal targets share a large part of their errors. The penalty leaves only small errors of
  # first order.
  target <- rows[c(3001, 3001), ]
  bounds <- new_bounds(c(-1, 1), 10)
  dates <- c(5L, 7L)
  n <- 300
  estimate <- function(s) {
    unlist(lapply(1:2, function(g) {
      view <- cohort_view_cpp(s, dates[[g]])
      options <- gram_options(FALSE, n, bounds, penalty = 1e-3)
      own <- gram_estimate_cpp(view, options, target[g, , drop = FALSE], 1)[[1]]
      own$path[-seq_len(dates[[g]])]
    }))
  }
  draws <- t(replicate(250, {
    sample <- rows[sample(3000, n), ]
    estimate(raw_statistics_cpp(sample, n, 5L, 5L, bounds))
  }))
  observed <- stats::cov(draws)
  s <- raw_statistics_cpp(rows[1:3000, ], 3000, 5L, 5L, bounds)
  options <- gram_options(FALSE, n, bounds, penalty = 1e-3)
  said <- cohort_errors_cpp(s, list(options, options), dates, target, n)$regression
  # Covariances of the cohorts' averages, and the variance of their mean.
  form <- rbind(c(rep(0.2, 5), rep(0, 3)), c(rep(0, 5), rep(1 / 3, 3)))
  ratio <- (form %*% said %*% t(form)) / (form %*% observed %*% t(form))
  expect_true(all(ratio > 0.6 & ratio < 1.7))
})

test_that("privacy.se of cohort averages is within a factor of two of their SD over releases", {
  panel <- cohort_panel(1500, 8, 6, k = 3)
  fits <- lapply(1:40, function(seed) {
    cohort_fit_of(panel, c(8, 10, 11), size = 25, epsilon = 2, seed = seed)
  })
  tables <- lapply(fits, tidy, type = "cohort")
  observed <- apply(vapply(tables, `[[`, numeric(4), "estimate"), 1, stats::sd)
  said <- sqrt(rowMeans(vapply(tables, `[[`, numeric(4), "privacy.se")^2))
  expect_true(all(said / observed > 0.6 & said / observed < 2))
})

test_that("pooling cohorts' second moments adds at most 10 % to the MSE; its limits cover 90 %", {
  withr::local_seed(21)
  modelled <- seq(1, 3, length.out = 12)
  # In every case the pooled value plus two standard deviations is at least the true value.
  for (excess in list(rep(1.5, 12), exp(stats::rnorm(12, 0, 0.5)), rep(c(1, 3), 6))) {
    truth <- modelled * excess
    for (noise in c(0.1, 1, 5)) {
      draws <- replicate(400, {
        raw <- truth + stats::rnorm(12, 0, noise)
        out <- pool_seconds(raw, noise, modelled)
        c(
          pooled = mean((out$second - truth)^2), raw = mean((raw - truth)^2),
          held = mean(pmax(out$second, 0) + 2 * out$second_sd >= truth),
          sd = max(out$second_sd)
        )
      })
      expect_lte(mean(draws["pooled", ]), 1.1 * mean(draws["raw", ]))
      expect_gte(mean(draws["held", ]), 0.9)
      expect_lte(max(draws["sd", ]), noise)
    }
  }
  expect_lt(mean(pool_seconds(modelled, 5, modelled)$second_sd), 3)
  # Values that cannot be pooled remain unchanged.
  expect_identical(pool_seconds(c(1, 2), 0.3, c(1, 0))$second, c(1, 2))
})

test_that("95 % intervals of event-time averages cover an effect of 0 in at least 90 % of cases", {
  covered <- vapply(1:12, function(seed) {
    panel <- cohort_panel(800, 8, 6, k = 3, seed = seed)
    fit <- cohort_fit_of(panel, c(8, 10, 11), epsilon = 2, seed = seed)
    events <- tidy(fit, "event", conf.int = TRUE)
    events <- events[events$kind == "effect", ]
    mean(events$conf.low <= 0 & events$conf.high >= 0)
  }, 0)
  expect_gte(mean(covered), 0.9)
})

test_that("cohorts without calibration have no interval, and the print gives the reason", {
  panel <- cohort_panel(100)
  few <- suppressWarnings(cohort_fit_of(panel, epsilon = 1))
  expect_true(all(is.na(tidy(few, "event")$std.error)))
  expect_true(all(is.finite(tidy(few, "overall")$privacy.se)))
  expect_output(print(few), "no interval: 100 donors at epsilon = 1 cannot calibrate")
  # Intervals are calibrated for single people if the smallest cohort consists of one person.
  panel <- cohort_panel(700)
  mixed <- cohort_fit_of(panel, size = c(1, 40), epsilon = 1)
  expect_false(mixed$release$statistics$cohorts$intervals$group)
  means <- cohort_fit_of(panel, size = c(30, 40), epsilon = 1)
  expect_true(means$release$statistics$cohorts$intervals$group)
  person <- dp_synth(means$release, target = panel$target, T0 = c(8, 10), size = c(1, 40))
  expect_output(print(person), "no interval for 9: .*the mean of 20 people or more")
  expect_true(is.na(tidy(person, "overall")$std.error))
  none <- withr::with_seed(1, dp_synth(panel$donors,
    target = panel$target, T0 = c(8, 10), epsilon = 1, protect = "donors", bounds = c(-1, 1),
    control = dp_control(rng = "R", intervals = FALSE)
  ))
  expect_output(print(none), "no interval: the release was made without")
})

test_that("a fit of several dates contains no donor's value or name and no sum over donors", {
  panel <- cohort_panel(300)
  rownames(panel$donors) <- sprintf("secret%03d", 1:300)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = c(8, 10), epsilon = 4, protect = "donors", bounds = c(-1, 1)
  )
  things <- list(
    fit, tidy(fit, "group_time", conf.int = TRUE), summary(fit), report(fit), vcov(fit),
    capture.output(print(summary(fit)))
  )
  for (thing in things) {
    expect_false(holds_text(thing, "secret"))
    for (value in c(panel$donors[7, ], colSums(panel$donors), colMeans(panel$donors))) {
      expect_false(holds_number(thing, value))
    }
  }
})

test_that("with several adoption dates no row and no sum of rows passes from C++ to R", {
  p <- canary_panel(n = 220)
  target <- rbind(p$target, p$target + 7)
  secrets <- unique(c(p$secrets, canary_secrets(p$donors, colMeans(target), 4, p$bounds)))
  for (chunked in c(FALSE, TRUE)) {
    donors <- p$donors
    if (chunked) donors <- dp_chunks(list(donors[1:100, ], donors[-(1:100), ]))
    results <- crossings_of(function(scope) {
      withr::local_seed(18)
      scope[[if (chunked) "dp_synth.dp_chunks" else "dp_synth.matrix"]](donors,
        target = target, T0 = c(4, 6), epsilon = 2, bounds = p$bounds, protect = "donors",
        control = dp_control(rng = "R")
      )
    })
    expect_gt(length(results), 4)
    expect_no_canary(results, secrets, paste("crossings", chunked))
    released <- Filter(function(x) is.list(x) && !is.null(x$rounds), results)
    expect_length(released[[1]]$cohorts$intervals$second, 2L)
  }
})

test_that("with several adoption dates no donor's removal loss from pdp() exceeds epsilon", {
  panel <- cohort_panel(300)
  release <- dp_release(panel$donors,
    target = panel$target, T0 = c(8, 10), epsilon = 2, protect = "donors", bounds = c(-1, 1)
  )
  loss <- pdp(release, panel$donors)
  expect_identical(nrow(loss$donors), 300L)
  expect_true(all(loss$donors$removal <= 2 + 1e-9, na.rm = TRUE))
})
