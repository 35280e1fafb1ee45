# Targets like few of the donors: what the release says of people there must not be hidden.

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

test_that("the fit uses donors with a rare covariate, or its interval covers the true effect", {
  fit_one <- function(n, seed) {
    withr::local_seed(seed)
    average_of(dp_synth(y ~ treated | x,
      data = carrier_panel(n), index = c("id", "time"), epsilon = 1, delta = 1e-6,
      bounds = list(y = c(-6, 8), x = c(0, 1)), control = dp_control(rng = "R")
    ))
  }
  # The jump of two is the covariate's, and no effect.
  many <- vapply(1:5, function(seed) fit_one(20000, seed), numeric(3L))
  expect_lt(stats::median(abs(many[1L, ])), 0.8)
  few <- vapply(1:8, function(seed) fit_one(3000, seed), numeric(3L))
  expect_gte(mean(few[2L, ] <= 0 & few[3L, ] >= 0), 0.7)
})

test_that("a group with the distinct path of a tenth of the donors is fitted from these donors", {
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

test_that("intervals cover the effects of people with an outcome that most people never have", {
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

test_that("each half octave of clipping costs more for a group than for one person", {
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
