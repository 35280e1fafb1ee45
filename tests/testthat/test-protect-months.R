# Single periods of a protected group: the steps on donors, the rounds, and limited translation.

test_that("one row changes the share of a shift left after clipping by at most the row's share", {
  # Plants faults 77.
  # Lemma 7: the core's sums compared with a plain computation, and neighbours compared with the
  # claim.
  p <- protected_panel_of(n = 150, m = 60, T0 = 5)
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, protected_hooks(recorder))
  run <- function(p) {
    scope$dp_release.matrix(p$donors,
      target = p$group, T0 = p$T0, epsilon = 4, bounds = c(-1, 1), protect = "everyone",
      control = dp_control(rng = "R")
    )
  }
  calls_of <- function(other) {
    withr::with_seed(4, record_and_replay(list(recorder = recorder, run = run), p, other))
  }
  # A typical donor is replaced by a donor as far from the other donors as the bounds allow.
  p$donors[1, ] <- colMeans(p$donors)
  other <- p
  other$donors[1, ] <- rep(c(1, -1), c(5, 2))
  calls <- calls_of(other)
  release <- attr(calls, "result")
  step <- which(release$privacy$steps$step == "what a cut keeps of donors")
  call <- calls[[step]]
  moved <- abs(call$value - call$other$value)
  one <- release$privacy$steps$sensitivity[[step]] / sqrt(3)
  expect_true(any(moved > 0))
  expect_lte(max(moved), one)
  expect_equal(log2(one), round(log2(one)), tolerance = 1e-9)
  # Together the three shares change by nearly the claim, so the test notices noise calibrated for
  # one of them.
  expect_lte(sqrt(sum(moved^2)), release$privacy$steps$sensitivity[[step]])
  expect_gt(sqrt(sum(moved^2)), 0.95 * release$privacy$steps$sensitivity[[step]])
  planted <- release$privacy$steps$sensitivity[[step]] / sqrt(3)
  expect_gt(sqrt(sum(moved^2)), planted)

  x <- release$statistics$treated
  z <- sweep(p$donors %*% x$loadings, 2L, x$origin)
  own <- seq.int(to = ncol(z), length.out = p$T1)
  kept <- function(R) {
    norm <- sqrt(rowSums(z^2))
    mean(ifelse(norm <= R, 1, R / norm * (1 - rowSums(z[, own]^2) / (p$T1 * norm^2))))
  }
  by_hand <- vapply(c(0.5, 1, 2) * x$look$base, kept, 0)
  expect_equal(call$value / (one * 150), by_hand, tolerance = 1e-3)
  # The share of a shift that remains in the mean of clipped rows, averaged over the last
  # directions.
  R <- 0.6 * x$look$base
  clipped <- function(z) z * pmin(1, R / sqrt(rowSums(z^2)))
  shown <- vapply(own, function(k) {
    step <- replace(numeric(ncol(z)), k, 1e-5)
    mean((clipped(sweep(z, 2L, step, "+")) - clipped(sweep(z, 2L, step)))[, k]) / 2e-5
  }, 0)
  expect_equal(mean(shown), kept(R), tolerance = 1e-3)
})

test_that("a person changes the sums that locate a group by a length of at most sqrt(2)", {
  # Plants faults 79.
  # Lemma 8: people at opposite ends compared with the claim, and a distant group compared with a
  # plain computation.
  p <- protected_panel_of(n = 150, m = 60, T0 = 5, effect = 0.4)
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, protected_hooks(recorder))
  place_of <- function(p, other, delta) {
    run <- function(p) {
      scope$dp_release.matrix(p$donors,
        target = p$group, T0 = p$T0, epsilon = 4, delta = delta, bounds = c(-1, 1),
        protect = "everyone", control = dp_control(rng = "R")
      )
    }
    calls <- withr::with_seed(4, record_and_replay(list(recorder = recorder, run = run), p, other))
    release <- attr(calls, "result")
    at <- which(release$privacy$steps$step == "place of the treated")
    list(
      claim = release$privacy$steps$sensitivity[[at]], value = calls[[at]]$value,
      moved = calls[[at]]$value - calls[[at]]$other$value, x = release$statistics$treated
    )
  }
  replaced <- function(side) {
    p$group[1, ] <- rep(c(0, side), c(p$T0, p$T1))
    p
  }
  pure <- place_of(replaced(-1), replaced(1), 0)
  expect_lte(sum(abs(pure$moved)), pure$claim)
  expect_gt(sum(abs(pure$moved)), pure$claim / 2)
  p <- replaced(-1)
  place <- place_of(p, replaced(1), 1e-6)
  expect_lte(sqrt(sum(place$moved^2)), place$claim)
  # The test notices a fault, noise for one person's vector instead of two.
  expect_gt(sqrt(sum(place$moved^2)), 0.99 * place$claim)

  x <- place$x
  own <- seq.int(to = length(x$mean), length.out = p$T1)
  knots <- x$place$knots
  at <- rowMeans(sweep(p$group %*% x$loadings, 2L, x$origin)[, own])
  at <- pmin(pmax(at, min(knots)), max(knots))
  left <- pmin(findInterval(at, knots), length(knots) - 1L)
  angle <- pi / 2 * (at - knots[left]) / (knots[left + 1L] - knots[left])
  by_hand <- numeric(length(knots))
  for (i in seq_along(at)) {
    to <- left[[i]] + 0:1
    by_hand[to] <- by_hand[to] + c(cos(angle[[i]]), sin(angle[[i]]))
  }
  one <- 2^round(log2(place$claim / sqrt(2)))
  expect_equal(place$value / one, by_hand, tolerance = 1e-3)
  # The location has an error of at most 1.5 standard deviations of a person.
  person <- knots[[(length(knots) + 3) / 2]] / 4
  expect_gt(abs(mean(at)), 3 * person)
  expect_lt(abs(x$place$centre - mean(at)), 1.5 * person)
})

test_that("single-period RMSEs of a protected group are below four times a public target's RMSE", {
  # The ratio was 7.1 in version 0.2.0. An oracle that knows all residuals reaches 2.7
  # (bench/protect.R).
  errors <- vapply(1:10, function(seed) {
    withr::local_seed(seed)
    people <- simulate_factor(3100, 32, 3, 0.8, 0.075, 0.2, 0.05, 0.05)$outcome
    group <- people[3000 + 1:100, ]
    fit <- function(target, ...) {
      dp_synth(people[1:3000, ],
        target = target, T0 = 24, epsilon = 1, bounds = c(-1, 1), control = dp_control(rng = "R"),
        ...
      )
    }
    c(
      mean(effects(fit(colMeans(group), size = 100))^2),
      mean(effects(fit(group, protect = "everyone"))^2)
    )
  }, numeric(2L))
  means <- sqrt(rowMeans(errors))
  expect_lt(means[[2L]] / means[[1L]], 4)
})

test_that("limited translation moves each period by at most half an SD and keeps the average", {
  withr::local_seed(1)
  for (periods in c(4, 5, 6, 8, 24)) {
    root <- matrix(stats::rnorm(periods^2), periods)
    covariance <- crossprod(root) / periods + diag(periods)
    for (size in c(0, 1, 100)) {
      y <- size * stats::rnorm(periods) + stats::rnorm(periods)
      moves <- limited_translation_cpp(y, covariance)
      X <- cbind(rep(1, periods), if (periods >= 6) seq_len(periods))
      across <- diag(periods) - X %*% solve(crossprod(X), t(X))
      most <- sqrt(diag(across %*% covariance %*% across) * periods / (periods - ncol(X)))
      most <- pmin(most, sqrt(diag(covariance)))
      expect_lte(max(abs(moves) / most), 0.5 + 1e-9)
      expect_lt(abs(sum(moves)), 1e-9 * max(1, abs(y)))
    }
  }
  for (periods in 1:3) {
    moves <- limited_translation_cpp(stats::rnorm(periods), diag(periods))
    expect_identical(moves, numeric(periods))
  }
  # A slow second computation of the posterior by a fine grid, before the limit is applied.
  y <- c(0.3, -0.2, 0.1, 0.25, -0.1)
  tau <- tan(pi / 2 * (seq_len(20000) - 0.5) / 20000)
  precision <- 1 / (1 + tau^2)
  left <- y - mean(y)
  weight <- precision^(length(y) / 2 - 0.5) * exp(-0.5 * sum(left^2) * precision)
  wanted <- -left * sum(weight * precision) / sum(weight)
  expect_equal(limited_translation_cpp(y, diag(5)), wanted, tolerance = 0.02)
})

test_that("bands around translated estimates cover constant, growing and one-period effects", {
  withr::local_seed(2)
  covariance <- 0.7 * diag(8) + 0.3
  root <- t(chol(covariance))
  width <- interval_quantile(0.95, 8)
  paths <- list(
    constant = rep(1, 8), ramp = seq(-2, 2, length.out = 8), spike = c(0, 0, 0, 3, 0, 0, 0, 0)
  )
  for (name in names(paths)) {
    runs <- replicate(600, {
      raw <- paths[[name]] + drop(root %*% stats::rnorm(8))
      shown <- raw + limited_translation_cpp(raw, covariance)
      c(all(abs(shown - paths[[name]]) <= width), mean((shown - paths[[name]])^2))
    })
    expect_gte(mean(runs[1L, ]), 0.93)
    expect_lt(sqrt(mean(runs[2L, ])), 1.08)
  }
})

test_that("with shrink = TRUE tables shrink effects of periods but keep interval widths", {
  p <- protected_panel_of(T1 = 8)
  fit <- withr::with_seed(1, protected_fit(p))
  table <- tidy(fit, conf.int = TRUE, shrink = TRUE)
  raw <- as.numeric(effects(fit))
  expect_true(any(fit$translation != 0))
  expect_equal(table$estimate, c(mean(raw), raw + fit$translation))
  expect_equal(table$statistic, c(mean(raw), raw + fit$translation) / table$std.error)
  without <- fit
  without$translation <- NULL
  plain <- tidy(without, conf.int = TRUE)
  expect_equal(tidy(fit, conf.int = TRUE), plain)
  expect_equal(tidy(without, conf.int = TRUE, shrink = TRUE), plain)
  expect_equal(plain$statistic, c(mean(raw), raw) / plain$std.error)
  expect_equal(plain$std.error, table$std.error)
  expect_equal(plain$conf.high - plain$conf.low, table$conf.high - table$conf.low)
  expect_equal(as.numeric(coef(fit)), c(mean(raw), raw))
  expect_equal(as.numeric(coef(fit, shrink = TRUE)), table$estimate)
  expect_equal(
    unname(confint(fit, shrink = TRUE)), unname(as.matrix(table[c("conf.low", "conf.high")]))
  )
  expect_equal(as.data.frame(fit, type = "effect")$estimate, raw)
  shown <- as.data.frame(fit, type = "effect", shrink = TRUE)
  expect_equal(shown$estimate, raw + fit$translation)
  expect_equal(shown$conf.low, table$conf.low[-1L])
  for (type in c("cumulative", "percent")) {
    expect_equal(
      as.data.frame(fit, type = type, shrink = TRUE), as.data.frame(without, type = type)
    )
  }
  expect_error(tidy(fit, shrink = NA), class = "dpsc_error_argument")
})

test_that("estimate, errors, limits and p-values of protected groups agree in all tables", {
  contradicts <- function(table) {
    any((table$p.value < 0.05) != (table$conf.low > 0 | table$conf.high < 0))
  }
  moved <- FALSE
  for (seed in 1:6) {
    fit <- withr::with_seed(seed, protected_fit(protected_panel_of(T1 = 4 + seed)))
    for (shrink in c(FALSE, TRUE)) {
      table <- tidy(fit, conf.int = TRUE, shrink = shrink)
      expect_equal(table$statistic, table$estimate / table$std.error)
      expect_equal(table$p.value, 2 * stats::pnorm(-abs(table$statistic)))
      expect_equal(unname(coef(fit, shrink = shrink)), table$estimate)
      expect_false(contradicts(table))
    }
    moved <- moved || any(fit$translation != 0)
    table <- tidy(fit, conf.int = TRUE)
    expect_equal(unname(coef(fit)), table$estimate)
    expect_equal(unname(sqrt(diag(vcov(fit)))), table$std.error)
    expect_equal(summary(fit)$effects[c("estimate", "p.value", "conf.low", "conf.high")],
      table[c("estimate", "p.value", "conf.low", "conf.high")])
    if (rlang::is_installed("parameters")) {
      read <- parameters::parameters(fit)
      expect_equal(read$Coefficient, table$estimate)
      expect_equal(read$z, read$Coefficient / read$SE)
    }
    if (rlang::is_installed("lmtest")) {
      read <- lmtest::coeftest(fit)
      expect_equal(unname(read[, 1L]), table$estimate)
      expect_equal(unname(read[, 3L]), table$statistic)
      expect_equal(unname(read[, 4L]), table$p.value)
    }
  }
  expect_true(moved)
})
