# The parts of the default method: rows on a grid of integers, the radius, the joint moments, and
# the division of the budget among rounds. inst/proofs/gram.md explains why each property is
# necessary.

integers_of <- function(x, map, radius = 1, limit = 4096) {
  row_integers_cpp(x, map$bounds, map$loadings, map$origin, radius, limit)
}

identity_map <- function(d) {
  list(bounds = new_bounds(c(-1, 1), d), loadings = diag(d), origin = numeric(d))
}

# The documented formulas, one step per line. All numbers are below 2^53, so the integers are exact.
naive_features <- function(x, map) {
  q <- sweep(x, 2L, map$centre) * map$scale
  limit <- rep(map$limit, each = nrow(x))
  q <- round(pmax(pmin(q, limit), -limit))
  sweep(round(q %*% map$loadings * map$rescale), 2L, map$origin)
}

naive_clipped <- function(z, radius, limit) {
  zoom <- (limit - sqrt(ncol(z)) / 2) * (1 - 2^-40) / radius
  norms <- sqrt(rowSums(z^2))
  round(z * (zoom * ifelse(norms <= radius, 1, radius / norms)))
}

test_that("features of a row equal the documented integers, with squared norms below 2^53", {
  withr::local_seed(1)
  largest <- 0
  for (i in 1:300) {
    map <- random_map()
    x <- random_rows(map)
    got <- integers_of(x, map)
    z <- got$features
    expect_identical(z, naive_features(x, got$map))
    norm2 <- rowSums(z^2)
    expect_true(all(z == round(z)) && all(norm2 < 2^53))
    # The lengths respect the public bound, up to the rounding of d entries.
    expect_true(all(sqrt(norm2) * got$unit <= got$reach + 2 * ncol(z) * got$unit))
    largest <- max(largest, norm2)
  }
  # The numbers on a much finer grid would be too large.
  expect_gt(largest, 2^46)
})

test_that("integer features of a row do not depend on other rows, blocks or storage types", {
  withr::local_seed(12)
  map <- random_map(6, 3)
  x <- random_rows(map, 2500)
  whole <- integers_of(x, map, 1e-3 * max(abs(map$loadings)))
  some <- c(1, 7, 1024, 1025, 2048, 2500)
  alone <- integers_of(x[some, ], map, 1e-3 * max(abs(map$loadings)))
  expect_identical(alone$features, whole$features[some, ])
  expect_identical(alone$clipped, whole$clipped[some, ])
  expect_identical(colSums(whole$clipped), whole$sum)
  expect_identical(crossprod(whole$clipped), whole$gram)
  counts <- matrix(sample.int(50, 60, TRUE), 10)
  bounds <- list(bounds = new_bounds(c(0, 40), 6), loadings = diag(6), origin = numeric(6))
  expect_identical(integers_of(counts, bounds), integers_of(counts + 0, bounds))
})

test_that("row maps are refused if invalid, or if their integers could be too large to be exact", {
  map <- identity_map(3)
  refused <- function(..., radius = 1, limit = 64) {
    expect_error(integers_of(matrix(0, 1, 3), utils::modifyList(map, list(...)), radius, limit))
  }
  refused(loadings = diag(3) * Inf)
  refused(loadings = diag(c(1, 1, NaN)))
  refused(origin = c(0, 0, Inf))
  refused(origin = c(0, 0))
  refused(loadings = diag(2))
  refused(limit = 64.5)
  refused(limit = 0)
  refused(bounds = list(centre = c(0, 0, NaN), unit = 1, half = rep(1, 3)))
  refused(bounds = list(centre = numeric(3), unit = 0, half = rep(1, 3)))
  refused(bounds = list(centre = numeric(3), unit = 1, half = c(1, 1, 2^40)))
})

test_that("clipped rows equal the documented integers and are within the limit for any values", {
  withr::local_seed(2)
  within <- function(got, limit) {
    w <- got$clipped
    all(w == round(w)) && all(rowSums(w^2) <= limit^2) &&
      identical(w, naive_clipped(got$features, got$radius, limit))
  }
  for (i in 1:150) {
    map <- random_map()
    x <- random_rows(map)
    z <- integers_of(x, map)
    size <- sqrt(rowSums(z$features^2)) * z$unit
    radius <- sample(c(size, z$unit), 1) * sample(c(0.01, 0.5, 1, 3), 1)
    limit <- 2^sample(6:12, 1)
    expect_true(within(integers_of(x, map, radius, limit), limit))
  }
  # All entries round up by a half, and shrinking must allow for this.
  closest <- 0
  for (d in c(1, 2, 7, 40, 120)) {
    map <- identity_map(d)
    for (limit in 2^c(6, 9, 12)) {
      entry <- (floor(limit / sqrt(d)) + c(0.5, 0.5 + 1e-6, -0.5, 0)) / limit
      x <- outer(entry, sample(c(-1, 1), d, TRUE))
      got <- integers_of(rbind(x, x * (1 - 1e-9), 100 * x), map, 1, limit)
      expect_true(within(got, limit))
      closest <- max(closest, sqrt(max(rowSums(got$clipped^2))) / limit)
    }
  }
  expect_gt(closest, 0.9995)
})

test_that("rows inside the radius are only scaled and rounded; other rows keep their direction", {
  map <- identity_map(4)
  inside <- c(0.3, -0.2, 0.1, 0.7)
  one <- function(x) drop(integers_of(matrix(x, 1L), map, 0.9)$clipped)
  expect_equal(one(inside), inside / 0.9 * (4096 - 1), tolerance = 3e-4)
  outside <- c(1, -0.8, 0.9, 0.2)
  cut <- outside / sqrt(sum(outside^2)) * (4096 - 1)
  expect_lte(max(abs(one(outside) - cut)), 1)
})

# Losses of the radii, computed row by row in the order of the documentation.
naive_losses <- function(z, squared, bits) {
  norm2 <- rowSums(z^2)
  each <- vapply(squared, function(r2) {
    kept <- pmin(2^bits, round(norm2 * (2^bits / r2)))
    sum(ifelse(norm2 <= r2, 2^bits - kept, 2 * 2^bits))
  }, 0)
  each
}

test_that("losses of candidate radii equal a direct computation from the rows, also for ties", {
  withr::local_seed(3)
  for (i in 1:100) {
    map <- random_map()
    x <- random_rows(map, 30)
    got <- integers_of(x, map)
    norm <- sqrt(rowSums(got$features^2))
    radii <- sort(c(sample(norm, 3), stats::runif(3) * max(norm), 0)) * got$unit
    squared <- pmax(1, floor(radii / got$unit))^2
    bits <- sample(8:20, 1)
    losses <- radius_losses_cpp(x, map$bounds, map$loadings, map$origin, radii, bits)
    expect_identical(losses, naive_losses(got$features, squared, bits))
    expect_true(all(losses >= 0) && all(losses <= 2 * 30 * 2^bits))
  }
})

test_that("replacing a row changes losses of candidate radii by amounts that are at most 3 apart", {
  withr::local_seed(4)
  largest <- 0
  for (i in 1:400) {
    d <- sample.int(4, 1)
    map <- identity_map(d)
    x <- matrix(stats::runif(4 * d, -1, 1), 4)
    other <- x
    # Short rows replace long rows, with radii between their lengths.
    x[1L, ] <- stats::runif(d, -1, 1) * 10^stats::runif(1, -4, 0)
    other[1L, ] <- sample(c(-1, 1), d, TRUE) * stats::runif(1, 0.5, 1)
    short <- sqrt(sum(x[1L, ]^2))
    long <- sqrt(sum(other[1L, ]^2))
    # The radii just contain the short row, just miss the long row, or just contain it.
    radii <- sort(c(short * c(1, 1.5, 30), long * c(0.5, 1 - 1e-4, 1 + 1e-4, 2)))
    bits <- sample(8:20, 1)
    of <- function(x) {
      radius_losses_cpp(x, map$bounds, map$loadings, map$origin, radii, bits)
    }
    move <- of(x) - of(other)
    expect_lte(max(move) - min(move), 3 * 2^bits)
    largest <- max(largest, (max(move) - min(move)) / 2^bits)
  }
  expect_gt(largest, 2.99)
})

test_that("rows at the origin have no influence on the clipping radius", {
  map <- identity_map(3)
  of <- function(x) {
    radius_losses_cpp(x, map$bounds, map$loadings, map$origin, c(0.01, 0.1, 1), 20)
  }
  rows <- matrix(0.2, 5, 3)
  expect_identical(of(rbind(rows, matrix(0, 40, 3))) - of(rows), rep(40 * 2^20, 3))
})

# The cost of the steps from their noise and from the shifts in the proofs.
proved_cost <- function(steps, delta) {
  choice <- steps$law == "exponential"
  sensitivity <- steps$sensitivity
  if (delta == 0) {
    return(ifelse(choice, 1 / steps$scale, sensitivity / steps$scale))
  }
  joint <- grepl("^mean and moments", steps$step)
  covered <- pmax(steps$scale^2 - ifelse(joint, 32, 16), 0)
  ifelse(choice, vapply(1 / steps$scale, exponential_step_mu_cpp, 0), sensitivity / sqrt(covered))
}

test_that("costs of the steps of method gram sum to nearly the budget and do not exceed it", {
  withr::local_seed(5)
  calibrated <- 0
  for (i in 1:200) {
    T0 <- sample(2:30, 1)
    facts <- gram_facts_of(T0, sample(1:9, 1), round(10^stats::runif(1, 0.4, 7)),
      epsilon = 10^stats::runif(1, 0, 3), delta = sample(c(0, 1e-6, 1e-40, 0.1), 1),
      features = sample(c(NaN, 1, T0 - 1, Inf), 1), intervals = sample(c(TRUE, FALSE), 1),
      targeted = sample(c(TRUE, FALSE), 1)
    )
    plan <- gram_plan_cpp(facts)
    gaussian <- facts$delta > 0
    total <- if (gaussian) gdp_budget_cpp(facts$epsilon, facts$delta) else facts$epsilon
    expect_identical(plan$total, total)
    targeted <- any(plan$steps$step == "sum for the target")
    signal <- facts$n * sqrt(cdp_rho_cpp(facts$epsilon, max(facts$delta, 1e-300)))
    # By the public rule the round needs enough donors or budget, and features other than single
    # periods.
    rule <- facts$targeted && gaussian && !is.infinite(facts$features) && signal >= 40
    expect_identical(targeted, rule)
    # With a round for the target, moments are released three times, except for very many rows.
    more <- 2L * targeted + 2L * (targeted && signal <= 20000)
    expect_identical(nrow(plan$steps), (if (plan$calibrated) 9L else 4L) + more)
    expect_true(!plan$calibrated || facts$intervals)
    calibrated <- calibrated + plan$calibrated
    told <- plan$steps[[if (gaussian) "mu" else "epsilon"]]
    proved <- proved_cost(plan$steps, facts$delta)
    # No step costs more than its record states, and all steps together cost no more than the
    # budget.
    expect_true(all(proved <= told * (1 + 1e-12)))
    power <- if (gaussian) 2 else 1
    expect_lte(sum(told^power), total^power * (1 + 1e-14))
    # The difference comes from rounding the variances of noise to whole numbers. It is small,
    # except for huge budgets.
    if (facts$epsilon < 100) expect_gt(sum(told^power) / total^power, 0.999)
    if (gaussian) {
      expect_equal(plan$steps$rho, told^2 / 2)
    } else {
      expect_true(all(is.na(plan$steps$mu)))
    }
    expect_true(all(is.na(plan$steps$epsilon)) == gaussian)
  }
  expect_gt(calibrated, 30)
})

test_that("each draw has its planned integer scale; Gaussian variances halve off the diagonal", {
  withr::local_seed(6)
  for (delta in c(0, 1e-6)) {
    for (n in c(30, 400)) {
      facts <- gram_facts_of(n = n, delta = delta, epsilon = 2, targeted = n > 100)
      donors <- matrix(stats::runif(8 * n, -1, 1), n)
      run <- gram_core(donors, facts)
      steps <- gram_plan_cpp(facts)$steps
      expect_identical(unlist(call_parts(run$calls, "label")), steps$step)
      expect_identical(unlist(call_parts(run$calls, "law")), steps$law)
      for (k in seq_along(run$calls)) {
        call <- run$calls[[k]]
        scale <- call$scale
        if (call$law == "exponential") {
          # The radius has a third of the exponent per unit, in units of 2^-20; the factor of
          # periods has 1/T1 of it.
          parts <- if (grepl("radius", call$label)) 3 * 2^20 else if (grepl("period", call$label)) 2
          expect_lte(scale * (parts %||% 1), 1 / steps$scale[[k]])
          expect_equal(scale * (parts %||% 1), 1 / steps$scale[[k]], tolerance = 1e-3)
        } else if (call$label %in% c("mean squared placebo error", "sum for the target")) {
          expect_equal(unique(scale), if (delta > 0) steps$scale[[k]]^2 else steps$scale[[k]],
            tolerance = 1e-12
          )
          expect_identical(scale, round(scale))
        } else {
          d <- ncol(run$statistics$loadings)
          diagonal <- cumsum(seq_len(d))
          full <- if (delta > 0) steps$scale[[k]]^2 else steps$scale[[k]]
          off <- if (delta > 0) full / 2 else full
          expected <- rep(off, d * (d + 1) / 2 + d)
          expected[diagonal] <- full
          expect_equal(scale, expected, tolerance = 1e-12)
          expect_true(all(scale == round(scale)))
          round <- run$statistics$rounds[[k / 2]]
          expect_identical(round$noise, max(scale))
          expect_true(round$clipped %in% 2^(6:12))
          expect_true(round$constant >= 1 && round$constant <= round$clipped)
        }
      }
    }
  }
})

test_that("an epsilon that is too small is refused before the charge and before any draw", {
  panel <- toy_panel(n = 30, T0 = 5, T1 = 2)
  ledger <- dp_ledger(1, 1e-6)
  withr::local_seed(6)
  state <- .Random.seed
  for (delta in c(0, 1e-6)) {
    for (epsilon in c(1e-5, 1e-9, 1e-300)) {
      expect_error(
        dp_release(panel$donors,
          target = panel$target, T0 = 5, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
          ledger = ledger, control = dp_control(rng = "R")
        ),
        "too small",
        class = "dpsc_error_argument"
      )
    }
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  expect_identical(.Random.seed, state)
})

test_that("steps after a draw depend on released outputs and not on donors", {
  withr::local_seed(7)
  for (delta in c(0, 1e-6)) {
    facts <- gram_facts_of(delta = delta, n = 400, epsilon = 2, targeted = TRUE)
    one <- matrix(stats::runif(3200, -1, 1), 400)
    other <- matrix(sample(c(-1, 1), 3200, TRUE), 400)
    run <- gram_core(one, facts)
    # The release contains one more round of moments, and its last two steps are for the target.
    expect_length(run$calls, if (delta > 0) 13L else 9L)
    again <- gram_core(other, facts, outputs = call_parts(run$calls, "output"))
    expect_identical(public_parts(again), public_parts(run))
    expect_identical(again$statistics, run$statistics)
    # The values without noise differ.
    expect_false(identical(call_parts(again$calls, "value"), call_parts(run$calls, "value")))
    # The replay also tries released moments that no donors could have: not positive, far beyond the
    # radius, all zero.
    for (factor in list(0, -1, 1e6)) {
      outputs <- call_parts(run$calls, "output")
      outputs[[2L]] <- outputs[[2L]] * factor
      first <- gram_core(one, facts, outputs = outputs)
      second <- gram_core(other, facts, outputs = outputs)
      expect_identical(public_parts(second), public_parts(first))
      expect_identical(second$statistics, first$statistics)
    }
  }
})

test_that("a replay that requests noise other than the recorded noise stops with an error", {
  withr::local_seed(8)
  facts <- gram_facts_of(n = 20)
  donors <- matrix(stats::runif(160, -1, 1), 20)
  outputs <- call_parts(gram_core(donors, facts)$calls, "output")
  wrong <- list(outputs[-4L], outputs[c(1, 1, 3, 4)], replace(outputs, 1L, 1e9), list())
  for (given in wrong) {
    expect_error(gram_core(donors, facts, outputs = given), class = "dpsc::replay_diverged")
  }
})

test_that("whitening and its inverse cancel; each centre moves by at most the previous radius", {
  withr::local_seed(9)
  for (i in 1:20) {
    n <- sample(c(10, 300), 1)
    facts <- gram_facts_of(n = n, epsilon = 10^stats::runif(1, -0.5, 2), targeted = i > 10)
    s <- gram_core(matrix(stats::runif(8 * n, -1, 1), n), facts)$statistics
    expect_length(s$rounds, 2L + !is.null(s$target))
    expect_identical(s$rounds[[1L]]$loadings, s$loadings)
    last <- s$rounds[[length(s$rounds)]]
    expect_equal(last$loadings %*% t(s$restore), s$loadings, tolerance = 1e-6)
    # In the coordinates of the previous round, each centre moves by at most its radius.
    for (k in seq_along(s$rounds)[-1L]) {
      before <- s$rounds[[k - 1L]]
      now <- s$rounds[[k]]
      back <- t(qr.solve(now$loadings, before$loadings))
      apart <- drop(back %*% now$origin) - before$origin
      expect_lte(sqrt(sum(apart^2)), before$radius * (1 + 1e-6))
    }
  }
})

test_that("without noise the released moments equal the donors' moments up to one grid step", {
  withr::local_seed(10)
  facts <- gram_facts_of(n = 60)
  donors <- matrix(stats::runif(480, -0.8, 0.8), 60)
  outputs <- call_parts(gram_core(donors, facts)$calls, "output")
  # The outputs are the largest radius and the sums without noise, round after round.
  plan <- gram_plan_cpp(facts)
  choices <- c(1L, 3L)
  for (k in seq_along(outputs)) {
    run <- gram_core(donors, facts, outputs = outputs)
    exact <- run$calls[[k]]$value
    outputs[[k]] <- if (k %in% choices) length(exact) - 1 else exact
  }
  s <- gram_core(donors, facts, outputs = outputs)$statistics
  features <- donors %*% plan$loadings
  centred <- sweep(features, 2L, colMeans(features))
  restored <- s$restore %*% s$covariance %*% t(s$restore)
  # Rows are multiples of a grid step, whose size is at most this value.
  step <- s$rounds[[2L]]$radius / s$rounds[[2L]]$clipped * max(abs(s$restore))
  expect_lt(max(abs(s$mean - colMeans(features))), step)
  expect_lt(max(abs(restored - crossprod(centred) / 60)), step)
  expect_lt(step, 0.01)
})

test_that("the noise in the moments released by method gram has the declared variance", {
  withr::local_seed(11)
  donors <- matrix(0.1, 5, 8)
  for (delta in c(0, 1e-6)) {
    facts <- gram_facts_of(n = 5, delta = delta, epsilon = 3, features = 1)
    first <- gram_core(donors, facts)
    d <- ncol(first$statistics$loadings)
    draws <- t(replicate(1500, {
      # The first round is the same in all runs, so the second round has one distribution.
      run <- gram_core(donors, facts)
      (run$calls[[2L]]$output - run$calls[[2L]]$value) / sqrt(run$calls[[2L]]$scale)
    }))
    sd <- apply(draws, 2L, stats::sd)
    # In units of the root of the scale: with a variance the standard deviation is one, with a
    # Laplace scale s it is sqrt(2 s).
    unit <- if (delta > 0) 1 else sqrt(2 * first$calls[[2L]]$scale)
    expect_equal(sd / unit, rep(1, ncol(draws)), tolerance = 0.1)
    correlation <- stats::cor(draws)
    expect_lt(max(abs(correlation - diag(ncol(draws)))), 0.13)
  }
})

test_that("method gram uses at most one feature per period, the first along the target's path", {
  y <- c(0.1, 0.4, -0.3, 0.2, 0.6, 0)
  of <- function(features, ...) gram_plan_cpp(gram_facts_of(y = y, features = features, ...))
  for (p in c(1, 3, 5)) {
    f <- of(p)
    expect_equal(c(f$pre, ncol(f$loadings)), c(p, p + 2))
    expect_true(f$demean)
    basis <- f$loadings[1:6, seq_len(p), drop = FALSE]
    expect_equal(crossprod(basis), diag(1 / 6, p))
    expect_equal(colSums(basis), numeric(p))
    # The first feature follows the target's path. A post-period value is relative to the row's
    # mean.
    expect_equal(abs(drop(crossprod(basis[, 1], y - mean(y)))), sqrt(sum((y - mean(y))^2) / 6))
    expect_equal(drop(c(y, 1, 2) %*% f$loadings[, p + 1:2]), f$weight * (c(1, 2) - mean(y)))
  }
  full <- of(Inf)
  expect_identical(full$loadings, diag(1 / sqrt(6), 8))
  expect_false(full$demean)
  # The rule gives as many features as periods, so the level is included, and rows are not demeaned.
  rich <- of(NaN, n = 1e6)
  expect_identical(rich$pre, 6L)
  expect_false(rich$demean)
  expect_equal(crossprod(rich$loadings[1:6, 1:6]), diag(1 / 6, 6))
  expect_identical(of(NaN, n = 2, epsilon = 0.5)$pre, 1L)
  # A constant target has no path to follow.
  flat <- gram_plan_cpp(gram_facts_of(y = rep(0.3, 6), features = 2))
  expect_equal(crossprod(flat$loadings[1:6, 1:2]), diag(1 / 6, 2))
  for (f in list(full, rich, flat, of(1))) {
    expect_true(all(is.finite(f$loadings)) && 0 < f$low && f$low <= f$high / 2)
  }
})

test_that("with a huge budget an estimate of method gram is near the ridge regression on donors", {
  panel <- toy_panel(n = 400, T0 = 5, T1 = 2)
  release <- withr::with_seed(11, dp_release(panel$donors,
    target = panel$target, T0 = 5, epsilon = 1e7, bounds = c(-1, 1),
    control = dp_control(rng = "R", lambda = 8, target_round = FALSE)
  ))
  fit <- estimate_gram(release, unname(panel$target))[[1L]]
  x <- panel$donors
  centred <- sweep(x, 2L, colMeans(x))
  s <- crossprod(centred) / 400
  u <- (panel$target - colMeans(x))[1:5]
  # The features are sqrt(5) times smaller than the periods. The penalty is the paper's penalty, on
  # periods.
  w <- solve(s[1:5, 1:5] / 5 + diag(8 / 800 / 5, 5), u / sqrt(5))
  expect_equal(fit$path[6:7], colMeans(x)[6:7] + drop(crossprod(s[1:5, 6:7] / sqrt(5), w)),
    tolerance = 0.02
  )
  for (part in fit[c("prediction", "privacy")]) {
    expect_true(isSymmetric(part) && all(eigen(part, only.values = TRUE)$values > -1e-12))
  }
})

test_that("releases at epsilon = 0.05 give estimates within the bounds and finite variances", {
  panel <- toy_panel(n = 12, T0 = 5, T1 = 3)
  far <- panel$target * 50
  for (seed in 1:10) {
    for (delta in c(0, 1e-6)) {
      release <- withr::with_seed(seed, dp_release(panel$donors,
        target = panel$target, T0 = 5, epsilon = 0.05, delta = delta, bounds = c(-1, 1),
        control = dp_control(rng = "R", features = list(NULL, 1, 4, Inf)[[seed %% 4 + 1]])
      ))
      for (estimator in c("ridge", "did")) {
        targets <- unname(rbind(panel$target, far, 0))
        for (fit in estimate_gram(release, targets, estimator = estimator)) {
          expect_true(all(abs(fit$path[6:8]) <= 1 + 1e-9) && all(is.finite(fit$path)))
          # The prediction error of one person drawn like the donors, to which the error of the
          # regression is added.
          person <- diag(fit$prediction - fit$disagreement) / (1 + (1 + fit$leverage) / 12)
          variances <- c(person, diag(fit$privacy), diag(fit$disagreement))
          expect_true(all(is.finite(variances) & variances >= 0 & variances <= 1 + 1e-9))
        }
      }
    }
  }
})

test_that("integer sums of method gram stay below 2^53 for 1e3 to 1e12 donors", {
  # K is between 1 and R, so the sensitivity sqrt(2) (R^2 + K^2) determines R, a power of two.
  limits <- function(n) {
    steps <- gram_plan_cpp(gram_facts_of(n = n, epsilon = 50))$steps
    bound <- steps$sensitivity[steps$step %in% c("mean and moments", "mean and moments, whitened")]
    2^floor(log2(bound / sqrt(2)) / 2)
  }
  for (n in c(1e3, 2^29 - 1, 2^29, 1e9, 1e12)) expect_true(all(n * limits(n)^2 < 2^53))
  expect_identical(limits(2^29 - 1), c(4096, 4096))
  expect_identical(limits(2^29), c(2048, 2048))
})

test_that("huge budgets and targets far outside the bounds give finite statistics", {
  panel <- toy_panel(n = 30, T0 = 5, T1 = 2)
  for (far in c(2, 1e3, 9e5)) {
    for (epsilon in c(1, 1e6, 1e9)) {
      for (features in list(NULL, Inf)) {
        expect_warning(
          release <- withr::with_seed(12, dp_release(panel$donors,
            target = c(far, 0.5, 0.2, 0, -0.5, far, 0), T0 = 5, epsilon = epsilon, delta = 0,
            bounds = c(-1, 1), control = dp_control(rng = "R", features = features)
          )),
          class = "dpsc_warning_bounds"
        )
        expect_true(all(is.finite(unlist(release$statistics[c("mean", "covariance", "restore")]))))
      }
    }
  }
})

test_that("the smallest clipping radius is one step of the integer grid", {
  map <- identity_map(2)
  map$origin <- c(2^40, 0)
  for (radius in c(1e-9, 1, 2^38)) {
    got <- integers_of(matrix(0.5, 3, 2), map, radius, 64)
    expect_identical(got$radius, max(1, floor(radius / got$unit)))
    expect_true(all(is.finite(got$clipped)))
  }
})

test_that("bounds too narrow for double precision are refused, and whole numbers are accepted", {
  expect_error(new_bounds(c(-1, 1) * 1e-302, 3), class = "dpsc_error_bounds")
  whole <- matrix(c(2000000000L, 2100000000L), 3, 2, byrow = TRUE)
  expect_no_warning(scale <- new_bounds(whole, 3))
  expect_identical(scale$centre, rep(2.05e9, 3))
  expect_identical(new_bounds(c(1e308, 1.5e308), 2)$centre, rep(1.25e308, 2))
})
