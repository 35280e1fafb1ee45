# weights = in dp_synth() and dp_release(), for people of a survey (proofs/gram.md, section 10).

# The donors are of two kinds. The second kind changes after the treatment and was sampled at a
# quarter of the rate.
kinds_panel <- function(n = 3000, T0 = 8, T1 = 2, share = 0.2, seed = 1) {
  withr::local_seed(seed)
  periods <- T0 + T1
  kind <- stats::runif(n) < share
  y <- stats::rnorm(n, 0, 0.2) + matrix(stats::rnorm(n * periods, 0, 0.1), n)
  y[kind, T0 + seq_len(T1)] <- y[kind, T0 + seq_len(T1)] + 0.4
  list(
    donors = pmin(pmax(y, -1), 1), w = ifelse(kind, 2, 0.5), target = rep(0, periods), T0 = T0,
    T1 = T1, n = n
  )
}

weighted_release <- function(p, weights = p$w, max_weight = 2, epsilon = 1, rng = "R",
                             fun = dp_release, seed = 3, ...) {
  control <- dp_control(rng = "R")
  control$rng <- rng
  withr::local_seed(seed)
  fun(p$donors,
    target = p$target, T0 = p$T0, epsilon = epsilon, bounds = c(-1, 1), weights = weights,
    max_weight = max_weight, control = control, ...
  )
}

kinds_long <- function(p) {
  rows <- rbind(p$donors, p$target)
  data.frame(
    unit = sprintf("u%05d", c(row(rows))), time = c(col(rows)), y = c(rows),
    on = as.integer(row(rows) > p$n & col(rows) > p$T0), w = c(p$w, 1)[c(row(rows))]
  )
}

long_weighted <- function(data, ..., bounds = list(y = c(-1, 1), w = c(0, 2)), epsilon = 1,
                          fun = dp_release) {
  withr::local_seed(3)
  fun(y ~ on, data, c("unit", "time"),
    epsilon = epsilon, bounds = bounds, weights = w, control = dp_control(rng = "R"), ...
  )
}

test_that("without privacy weighted moments equal the results of stats::cov.wt()", {
  p <- kinds_panel(300)
  release <- weighted_release(p, epsilon = Inf)
  known <- stats::cov.wt(p$donors, p$w / sum(p$w), method = "ML")
  # Weights are multiples of 2^-20 of the largest weight.
  expect_equal(release$statistics$mean, known$center, tolerance = 1e-6, ignore_attr = TRUE)
  expect_equal(release$statistics$covariance, known$cov, tolerance = 1e-5, ignore_attr = TRUE)
  expect_equal(release$statistics$share * 300, sum(p$w)^2 / sum(p$w^2), tolerance = 1e-5)
  fit <- weighted_release(p, epsilon = Inf, fun = dp_synth)
  bare <- weighted_release(p, NULL, NULL, epsilon = Inf, fun = dp_synth)
  expect_gt(mean(fit$counterfactual[9:10]) - mean(bare$counterfactual[9:10]), 0.08)
  expect_true(is.na(tidy(fit, conf.int = TRUE)$conf.low[[1]]))
  # Only the ratios of weights matter. The default of the largest weight is the largest weight of
  # the donors.
  twice <- weighted_release(p, 7 * p$w, NULL, epsilon = Inf, fun = dp_synth)
  expect_equal(twice$counterfactual, fit$counterfactual, tolerance = 1e-6)
})

test_that("if all weights are at the maximum, weighted sums equal sums without weights", {
  p <- kinds_panel(400)
  sums <- function(...) {
    recorder <- new_recorder()
    recorder$start("record")
    weighted_release(p, ..., rng = recorder$noise)
    recorder$collect()
    noise_close_cpp(recorder$noise)
    recorder$calls
  }
  bare <- sums(NULL, NULL)
  alike <- sums(rep(3, 400), 2)
  expect_identical(
    vapply(alike, `[[`, "", "label"), vapply(bare, `[[`, "", "label")
  )
  # From the second draw on the noise differs, since one more moment is drawn.
  expect_identical(alike[[1L]]$value, bare[[1L]]$value)
  d <- (sqrt(8 * length(alike[[2L]]$value) + 1) - 1) / 2 - 1
  last <- length(alike[[2L]]$value)
  expect_identical(alike[[2L]]$value[-last], bare[[2L]]$value)
  expect_equal(length(bare[[2L]]$value), d * (d + 1) / 2 + d)
  constant <- weighted_release(p)$statistics$rounds[[1L]]$constant
  expect_identical(alike[[2L]]$value[[last]], 400 * constant^2)
})

test_that("private fits with weights are near non-private fits with weights, not without them", {
  p <- kinds_panel(20000)
  path <- function(...) mean(weighted_release(p, ..., fun = dp_synth)$counterfactual[9:10])
  known <- path(epsilon = Inf)
  bare <- path(NULL, NULL, epsilon = Inf)
  expect_gt(abs(known - bare), 0.1)
  for (size in c(1, 50)) expect_lt(abs(path(epsilon = 4, size = size) - known), 0.03)
  fit <- weighted_release(p, epsilon = 4, fun = dp_synth)
  expect_equal(fit$release$statistics$share, mean(p$w) / 2, tolerance = 0.02)
  expect_false(anyNA(tidy(fit, conf.int = TRUE)$conf.low))
})

test_that("with weights chunks and long data give the same release as the matrix", {
  p <- kinds_panel(500)
  release <- weighted_release(p)
  both <- cbind(p$donors, p$w)
  chunks <- dp_chunks(list(both[1:123, ], both[124:500, ]))
  expect_equal(
    weighted_release(list(donors = chunks, target = p$target, T0 = p$T0), "last"), release
  )
  data <- kinds_long(p)
  found <- long_weighted(data[rev(seq_len(nrow(data))), ])
  expect_equal(found$statistics, release$statistics)
  # A person's weight is the mean of their values before the treatment.
  later <- data$time > p$T0
  light <- data$w == 0.5 & !later
  data$w[light] <- 0.5 + 0.1 * (-1)^data$time[light]
  data$w[later] <- 100
  expect_equal(long_weighted(data)$statistics$share, release$statistics$share, tolerance = 1e-3)
  # The weights also apply with covariates, and in each verb.
  data$age <- stats::ave(data$y, data$unit, FUN = function(x) x[[1L]])
  withr::local_seed(1)
  fit <- dp_synth(y ~ on | age, data, c("unit", "time"),
    epsilon = 1, bounds = list(y = c(-1, 1), age = c(-1, 1), w = c(0, 2)), weights = w,
    control = dp_control(rng = "R")
  )
  expect_identical(fit$release$panel$covariates$name, "age")
  expect_identical(fit$release$panel$weights, c(0, 2))
})

test_that("donor weights outside their limits are clipped to the limits", {
  p <- kinds_panel(500)
  data <- kinds_long(p)
  limited <- function(w) {
    data$w <- w[match(data$unit, unique(data$unit))]
    long_weighted(data, bounds = list(y = c(-1, 1), w = c(0.5, 2)))
  }
  inside <- limited(c(p$w, 1))
  outside <- limited(c(ifelse(p$w == 2, 1e9, -4), 1))
  expect_identical(outside$statistics, inside$statistics)
  # If noise would put the mean below the lower limit, it equals the limit.
  tiny <- weighted_release(p, rep(1e-9, 500), 2, epsilon = 0.3)
  expect_gt(tiny$statistics$share, 0)
})

weighted_pairs <- function(n = 60, T0 = 4) {
  p <- kinds_panel(n, T0, 2, share = 0.5)
  panel <- cbind(p$donors, p$w)
  corner <- rep_len(c(1, -1), 6)
  of_first <- function(one, two) {
    lapply(list(one, two), function(row) {
      panel[1L, ] <- row
      panel
    })
  }
  list(
    weight = of_first(c(corner, 0), c(corner, 2)), beyond = of_first(c(corner, -9), c(corner, 1e9)),
    both = of_first(c(corner, 2), c(-corner, 2)), less = of_first(c(corner, 2), c(-corner, 0.3))
  )
}

# The release of a panel whose last column contains weights, computed with the given functions and
# noise.
replayed_weights <- function(pair, n_runs = 4, scope = asNamespace("dpsc"),
                             recorder = new_recorder(), size = NULL) {
  audit_replay(list(recorder = recorder, ours = TRUE, run = function(panel) {
    control <- dp_control(rng = "R")
    control$rng <- recorder$noise
    scope$dp_release.matrix(panel[, 1:6],
      target = c(0.1, -0.1, 0.2, 0, 0, 0), T0 = 4, epsilon = 2, bounds = c(-1, 1), size = size,
      weights = panel[, 7], max_weight = 2, control = control
    )$privacy
  }), pair, n_runs)
}

test_that("no step changes by more than declared if a donor's row or weight is replaced", {
  withr::local_seed(5)
  reached <- list()
  for (n in c(60, 400)) {
    for (pair in weighted_pairs(n)) {
      audit <- replayed_weights(pair, size = if (n == 400) 1)
      expect_false(audit$violated)
      table <- audit$table
      for (call in table$call) {
        reached[[call]] <- max(reached[[call]], table$ratio[table$call == call])
      }
    }
  }
  expect_true(all(c("sum for the target", "tail of a period's error") %in% names(reached)))
  expect_gt(max(unlist(reached[grep("^mean and moments", names(reached))])), 0.5)
  expect_gt(reached[["sum for the target"]], 0.3)
  expect_gt(reached[["mean squared placebo error"]], 0.3)
})

test_that("an audit detects a planted division by the largest weight in the panel", {
  # Plants faults 78.
  withr::local_seed(6)
  pair <- weighted_pairs()$both
  pair[[2L]][1L, 7L] <- 6
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, list(
    gram_release_cpp = function(donors, facts, scale, options, rng) {
      facts$weights[[2L]] <- max(donors[, ncol(donors)])
      gram_release_cpp(donors, facts, scale, options, recorder$noise)
    }
  ))
  expect_true(replayed_weights(pair, 3, scope, recorder)$violated)
  expect_false(replayed_weights(pair, 3)$violated)
})

test_that("invalid donor weights and uses of weights without a proof are refused at no cost", {
  p <- kinds_panel(60)
  data <- kinds_long(p)
  ledger <- dp_ledger(10, 1e-3)
  refused <- function(code, class = "dpsc_error_argument", text = NULL) {
    expect_error(code, text, class = class)
  }
  one <- function(...) weighted_release(p, ..., ledger = ledger)
  refused(one(max_weight = NULL))
  refused(one(weights = NULL))
  refused(one(weights = p$w[-1]))
  refused(one(weights = replace(p$w, 3, NA)))
  refused(one(weights = "last"))
  refused(one(method = "output"))
  refused(one(method = "objective"))
  refused(one(delta = 0))
  refused(one(protect = "everyone"))
  refused(one(fun = dp_synth, monitor = 2))
  refused(one(fun = dp_synth, estimator = "simplex"))
  long <- function(...) long_weighted(data, ..., ledger = ledger)
  refused(long(bounds = c(-1, 1)))
  refused(dp_release(y ~ on, data, c("unit", "time"),
    epsilon = 1, bounds = c(-1, 1), weights = w + 1, max_weight = 2, ledger = ledger
  ))
  refused(dp_synth(cbind(y, time) ~ on, data, c("unit", "time"),
    epsilon = 1, bounds = list(y = c(-1, 1), time = c(0, 20)), weights = w, max_weight = 2,
    ledger = ledger
  ))
  for (control in list(dp_control(lambda = 1), dp_control(features = Inf))) {
    refused(dp_release(p$donors,
      target = p$target, T0 = p$T0, epsilon = 1, bounds = c(-1, 1), weights = p$w,
      max_weight = 2, control = control, ledger = ledger
    ))
  }
  staggered <- rbind(p$target, p$target)
  refused(dp_release(p$donors,
    target = staggered, T0 = c(5, 8), epsilon = 1, bounds = c(-1, 1), weights = p$w,
    max_weight = 2, protect = "donors", ledger = ledger
  ))
  refused(dp_release(y ~ on, data, c("unit", "time"),
    epsilon = 1, bounds = c(-1, 1), weights = absent, max_weight = 2, ledger = ledger
  ), text = "no column `absent`")
  refused(dp_release(y ~ on, data, c("unit", "time"),
    epsilon = 1, bounds = list(y = c(-1, 1)), weights = y, max_weight = 2, ledger = ledger
  ), text = "the outcome and the weights")
  # The treatment status is public, so it must not depend on weights.
  refused(dp_release(y ~ I(as.integer(w > 1)), data, c("unit", "time"),
    epsilon = 1, bounds = c(-1, 1), weights = w, max_weight = 2, ledger = ledger
  ), "dpsc_error_panel")
  data$w <- as.character(data$w)
  refused(long(bounds = list(y = c(-1, 1), w = c("0.5", "2"))))
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  release <- weighted_release(p)
  refused(dp_synth(release, target = p$target, lambda = 2))
  refused(pdp(release, p$donors))
  refused(pdp_bound(release))
  refused(combine_releases(release, weighted_release(p, seed = 9)), "dpsc_error_release")
})

test_that("a release with weights is read back, prints their limit and contains nobody's weight", {
  skip_if_not_installed("jsonlite")
  p <- kinds_panel(500)
  withr::local_seed(8)
  p$w <- stats::runif(500, 0.123, 1.987)
  release <- weighted_release(p)
  expect_null(canary_found(release, c(p$w, sum(p$w), mean(p$w), sum(p$w) / 2, mean(p$w) / 2)))
  file <- withr::local_tempfile()
  write_release(release, file, allow_not_private = TRUE)
  expect_identical(read_release(file)$statistics, release$statistics)
  fit <- dp_synth(read_release(file), target = p$target)
  expect_match(paste(utils::capture.output(print(fit)), collapse = " "), "weights up to 2, mean ab")
  expect_match(paste(format(report(fit)), collapse = " "), "weights up to 2")
  # A smaller total weight requires more noise than the file states.
  release$statistics$share <- release$statistics$share / 2
  write_release(release, file, allow_not_private = TRUE)
  expect_error(read_release(file), class = "dpsc_error_release")
  release$statistics$share <- NULL
  write_release(release, file, allow_not_private = TRUE)
  expect_error(read_release(file), class = "dpsc_error_release")
})

test_that("donors of weight 0 do not count, also at placebo dates and other adoption dates", {
  p <- kinds_panel(n = 200)
  few <- p$w == 0.5
  fit_of <- function(donors, ...) {
    dp_synth(donors, target = p$target, T0 = p$T0, epsilon = Inf, ...)
  }
  plain <- fit_of(p$donors[few, ])
  weighted <- fit_of(p$donors, weights = as.numeric(few))
  expect_equal(coef(weighted), coef(plain))
  expect_equal(counted_donors(weighted$release), sum(few))
  shown <- lapply(list(weighted, plain), function(fit) {
    as.data.frame(placebo_time(fit))[c("effect", "rmspe_pre", "rmspe_post")]
  })
  expect_equal(shown[[1L]], shown[[2L]])
  later <- lapply(list(weighted, plain), function(fit) {
    dp_synth(fit$release, target = p$target, T0 = p$T0 + 1)
  })
  expect_equal(counted_donors(later[[1L]]$release), sum(few))
  expect_equal(coef(later[[1L]]), coef(later[[2L]]))
  expect_error(conformal(weighted), "equal weights", class = "dpsc_error_release")
})

test_that("a private release with weights counts the same donors at another adoption date", {
  p <- kinds_panel()
  release <- weighted_release(p)
  later <- dp_synth(release, target = p$target, T0 = p$T0 + 1)
  expect_identical(counted_donors(later$release), counted_donors(release))
  expect_equal(kept_penalty(later, 1L) * 2 * counted_donors(release), later$penalty[[1L]])
  expect_match(paste(utils::capture.output(print(later)), collapse = " "), "mean about [0-9]")
})
