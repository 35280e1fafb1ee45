# Targets that resemble few of the donors. The release must not lose its information about such
# people.

carrier_panel <- function(n, share = 0.02, T0 = 8, T1 = 4) {
  x <- c(1, stats::rbinom(n, 1, share))
  rows <- stats::rnorm(n + 1) + matrix(stats::rnorm((n + 1) * (T0 + T1), sd = 0.5), n + 1)
  rows[, T0 + seq_len(T1)] <- rows[, T0 + seq_len(T1)] + 2 * x
  data <- data.frame(
    id = rep(seq_len(n + 1), T0 + T1), time = rep(seq_len(T0 + T1), each = n + 1),
    y = c(pmin(pmax(rows, -6), 8)), x = x
  )
  data$treated <- as.numeric(data$id == 1 & data$time > T0)
  data
}

average_of <- function(fit) {
  unlist(tidy(fit, conf.int = TRUE, type = "unit")[1L, c("estimate", "conf.low", "conf.high")])
}

test_that("with a rare covariate the median error is below 0.8; with few donors coverage is 70 %", {
  fit_one <- function(n, seed) {
    withr::local_seed(seed)
    average_of(dp_synth(y ~ treated | x,
      data = carrier_panel(n), index = c("id", "time"), epsilon = 1, delta = 1e-6,
      bounds = list(y = c(-6, 8), x = c(0, 1)), control = dp_control(rng = "R")
    ))
  }
  # The jump of two belongs to the covariate, so it is not an effect.
  many <- vapply(1:5, function(seed) fit_one(20000, seed), numeric(3L))
  expect_lt(stats::median(abs(many[1L, ])), 0.8)
  few <- vapply(1:8, function(seed) fit_one(3000, seed), numeric(3L))
  expect_gte(mean(few[2L, ] <= 0 & few[3L, ] >= 0), 0.7)
})

test_that("the median error for a group whose path a tenth of donors share is below 0.22", {
  errors <- vapply(1:5, function(seed) {
    withr::local_seed(seed)
    periods <- 1:20
    people <- function(k, own) {
      path <- sin(periods / 3) + own * 0.3 * (periods - 8)
      stats::rnorm(k) + matrix(path, k, 20, byrow = TRUE) +
        matrix(stats::rnorm(20 * k, sd = 0.3), k)
    }
    donors <- rbind(people(4500, 0), people(500, 1))
    fit <- dp_synth(donors,
      target = colMeans(people(100, 1)), T0 = 16, epsilon = 1, delta = 1e-6, bounds = c(-8, 8),
      size = 100, control = dp_control(rng = "R")
    )
    abs(average_of(fit)[[1L]])
  }, 0)
  expect_lt(stats::median(errors), 0.22)
})

test_that("over 85 % of intervals cover zero for people with events that most people never have", {
  cover <- vapply(1:4, function(seed) {
    withr::local_seed(seed)
    rates <- function(k) stats::rbeta(k, 3, 3)
    events <- function(rate) matrix(stats::rbinom(length(rate) * 9, 1, rate), length(rate))
    donors <- events(ifelse(stats::runif(1500) < 0.13, rates(1500), 0))
    targets <- events(rates(60))
    release <- dp_release(donors,
      target = targets[1L, ], T0 = 6, epsilon = 1, delta = 1e-6, bounds = c(0, 1),
      control = dp_control(rng = "R")
    )
    found <- tidy(dp_synth(release, target = targets), conf.int = TRUE, type = "unit")
    found <- found[seq(1, nrow(found), by = 4), ]
    mean(found$conf.low <= 0 & found$conf.high >= 0)
  }, 0)
  expect_gt(mean(cover), 0.85)
})

test_that("the choice of an error range penalises narrow ranges more for groups than for people", {
  step_of <- function(group) {
    withr::local_seed(1)
    facts <- c(gram_facts_of(n = 1500), list(group = group))
    calls <- gram_core(sim_panel(1500, 6, 2)$donors, facts)$calls
    at <- match("range of placebo errors", call_parts(calls, "label"))
    -mean(diff(as.numeric(calls[[at]]$offset)))
  }
  expect_equal(step_of(FALSE), 0.7, tolerance = 1e-5)
  expect_equal(step_of(TRUE), 1.2, tolerance = 1e-5)
})

rare_release <- function(seed, n = 300) {
  withr::local_seed(seed)
  events <- function(k) {
    rate <- ifelse(stats::runif(k) < 0.1, stats::rbeta(k, 2, 4), 0)
    matrix(stats::rbinom(k * 13, 1, rate), k)
  }
  release <- suppressMessages(dp_release(events(n),
    target = numeric(13), T0 = 10, epsilon = 1, delta = 1e-6, bounds = c(0, 1),
    control = dp_control(rng = "R")
  ))
  list(release = release, targets = events(60))
}

test_that("if few people have events, the median standard error is over a third of the RMSE", {
  both <- vapply(1:8, function(seed) {
    x <- rare_release(seed)
    found <- tidy(dp_synth(x$release, target = x$targets), type = "unit")
    found <- found[found$term == "average", ]
    c(stats::median(found$std.error), mean(found$estimate^2))
  }, numeric(2L))
  expect_gt(stats::median(both[1L, ]), sqrt(mean(both[2L, ])) / 3)
})

test_that("standard errors of targets at a bound allow for donors with larger errors", {
  release <- rare_release(1)$release
  release$statistics$intervals[c("clip", "second", "second_sd")] <- list(0.0625, 1e-3, 1e-4)
  flat <- rep(-1, 13)
  event <- replace(flat, 4, 1)
  share <- unseen_share(release)
  expect_equal(share, 0.5 / (300 * tail_signal(release)))
  expect_equal(unseen_variance(release, rbind(flat, -flat, event, 0 * flat)), c(share, share, 0, 0))
  e <- estimate_gram(release, rbind(flat, event))
  modelled <- mean(e[[1L]]$prediction + e[[1L]]$privacy)
  expect_equal(e[[1L]]$spread$floor * modelled, max(modelled, 1e-3 + share))
  expect_equal(e[[2L]]$spread$unseen, 0)
  # A larger range includes the large errors.
  release$statistics$intervals$clip <- 0.125
  expect_equal(unseen_variance(release, rbind(flat, event)), c(0, 0))
  # With bounds five times as wide no person is at a bound.
  release$bounds$lower <- rep(-2, 13)
  release$bounds$upper <- rep(3, 13)
  release$statistics$intervals$clip <- 0.0625
  expect_equal(unseen_variance(release, rbind(flat, event) / 5), c(0, 0))
})

test_that("for a target at a bound print() and report() warn of hidden donors with large errors", {
  x <- rare_release(1)
  x$release$statistics$intervals$clip <- 0.0625
  said <- "A few donors with large errors may be hidden"
  fit <- dp_synth(x$release, target = numeric(13))
  expect_match(paste(capture.output(print(fit)), collapse = " "), said, fixed = TRUE)
  expect_match(paste(format(report(fit)), collapse = " "), said, fixed = TRUE)
  fit <- dp_synth(x$release, target = replace(numeric(13), 3:4, 1))
  expect_no_match(paste(capture.output(print(fit)), collapse = " "), said, fixed = TRUE)
})

test_that("the variance for donors with hidden large errors equals an R computation, bit for bit", {
  reference <- function(clip, signal, n, target, half, T0) {
    width <- mean(half[-seq_len(T0)])
    pre <- target[, seq_len(T0), drop = FALSE]
    from <- function(side) apply(rep(half[seq_len(T0)], each = nrow(pre)) + side * pre, 1L, max)
    hidden <- clip <= max(1 / 15, 20 / n) * width & pmin(from(1), from(-1)) <= clip
    unname(ifelse(hidden, 0.5 / (signal * min(n, 1e4)) * width^2, 0))
  }
  set.seed(1)
  at <- matrix(sample(c(-1, 1), 60, TRUE), 60, 9)
  target <- at * (1 - matrix(stats::runif(540, 0, 0.1) * stats::rbinom(60, 1, 0.7), 60))
  for (half in list(rep(1, 9), c(rep(1, 5), 1, 0.75, 0.5, 0.25))) {
    for (clip in c(0.02, 0.0625, 0.08)) {
      for (n in c(290, 4e4)) {
        expect_identical(
          unseen_variance_cpp(clip, 0.137, n, target, half, 5L),
          reference(clip, 0.137, n, target, half, 5L)
        )
      }
    }
  }
})

# The outcomes are 0/1, and one person in thirty always has a one before the treatment.
often_release <- function(seed, n = 1000, targets = 40) {
  set.seed(seed)
  people <- function(k) {
    matrix(stats::rbinom(k * 14, 1, stats::plogis(stats::rnorm(k, -1, 1.2))), k)
  }
  release <- suppressMessages(dp_release(people(n),
    target = numeric(14), T0 = 10, epsilon = 1, delta = 1e-6, bounds = c(0, 1),
    control = dp_control(rng = "R")
  ))
  all <- people(60 * targets)
  ones <- all[rowMeans(all[, 1:10]) == 1, , drop = FALSE]
  list(release = release, targets = utils::head(ones, targets))
}

test_that("bands are narrowed for targets near the donors' mean level, but not for rare levels", {
  x <- often_release(1)
  s <- x$release$statistics
  covariance <- s$restore %*% s$covariance %*% t(s$restore)
  # The first feature is a multiple of the level.
  expect_true(s$demean && length(unique(s$loadings[1:10, 1L])) == 1L)
  one <- sum(s$loadings[1:10, 1L])
  at <- function(z) matrix((s$mean[[1L]] + z * sqrt(covariance[1L, 1L])) / one, 1L, 14L)
  scale <- function(path) estimate_gram(x$release, path)[[1L]]$spread$band / s$intervals$band
  expect_equal(vapply(c(-1, 0, 1), function(z) scale(at(z)), 0), rep(sqrt(0.8), 3L))
  expect_equal(vapply(c(-4, 4), function(z) scale(at(z)), 0), c(1, 1))
  # A larger scale of the path is used at any level.
  wave <- 3 * cos(2 * pi * seq_len(14) / 10)
  expect_gt(scale(at(4) + wave), 1)
  expect_equal(scale(at(4) + wave), scale(at(0) + wave))
})

test_that("95 % bands for people at a bound cover at least 93 %, and narrower bands below 90 %", {
  need <- unlist(lapply(1:24, function(seed) {
    x <- often_release(seed)
    table <- effect_table(fit_view(dp_synth(x$release, target = x$targets), "unit"))
    table <- table[table$term != "average", ]
    ratio <- matrix(abs(table$estimate) / table$band.error, ncol = 4L, byrow = TRUE)
    apply(ratio, 1L, max) / interval_quantile(0.95, 4)
  }))
  expect_gte(mean(need <= 1), 0.93)
  # The planted fault is a scale from the path's variation, which is 0.
  expect_lt(mean(need <= sqrt(0.8)), 0.9)
})
