# The papers' methods for counts and linear models: NAPP-ERM, and Algorithm 4.1 of Thakurta (2013).
# Proofs: inst/proofs/papers.md, sections 6 and 7.

# Slope and curvature of the loss of a capped count and of log-cosh at a linear predictor.
capped <- function(span) {
  mean <- function(t) {
    middle <- log(span / 2)
    ifelse(t <= middle, exp(pmin(t, middle)), span - span / 2 * exp(middle - pmax(t, middle)))
  }
  list(
    slope = function(t, y) mean(t) - y, curvature = function(t, y) pmin(mean(t), span - mean(t)),
    outcomes = c(0, span / 2, span)
  )
}
log_cosh <- function(tau) {
  list(
    slope = function(t, y) -tau * tanh((y - t) / tau),
    curvature = function(t, y) 1 - tanh((y - t) / tau)^2, outcomes = c(-1, 0, 1)
  )
}

# The largest log-ratio of the minimiser's density, in one dimension, over base rows and replaced
# rows.
worst_of_family <- function(loss, ridge, scale) {
  theta <- c(-rev(10^seq(-3, 2.5, 0.02)), 0, 10^seq(-3, 2.5, 0.02))
  all <- as.matrix(expand.grid(x = c(-1, -0.7, 0, 0.7, 1), y = loss$outcomes))
  each <- lapply(seq_len(nrow(all)), function(i) {
    t <- all[i, 1L] * theta
    list(
      slope = loss$slope(t, all[i, 2L]) * all[i, 1L],
      curvature = loss$curvature(t, all[i, 2L]) * all[i, 1L]^2
    )
  })
  sum_of <- function(rows, part) Reduce(`+`, lapply(each[rows], `[[`, part), 0)
  worst <- 0
  for (base in list(integer(), 1L, rep(c(3L, 8L), 10L))) {
    slope <- ridge * theta + sum_of(base, "slope")
    curvature <- ridge + sum_of(base, "curvature")
    for (offset in scale * c(-5, -0.5, 0, 0.5, 5)) {
      density <- lapply(each, function(row) {
        log(curvature + row$curvature) - abs(slope + offset + row$slope) / scale
      })
      worst <- max(worst, do.call(pmax, density) - do.call(pmin, density))
    }
  }
  worst
}

napp_facts <- function(family, span, epsilon, ...) {
  core_facts("napp", epsilon = epsilon, family = family, span = span, ...)
}

test_that("the closed form of the largest log-cosh privacy loss equals its maximum on a grid", {
  for (x in c(0.01, 0.3, 1, 4)) {
    for (c in c(0, 0.01, 0.5, 2, 40)) {
      h <- seq(0, 1, length.out = 20001)
      expect_equal(even_loss_cpp(x, c), max(h * x + log1p(c / 2 * (1 - h^2))), tolerance = 1e-7)
    }
  }
})

test_that("in one dimension NAPP's losses stay within epsilon, but not with a third of the noise", {
  for (epsilon in c(0.4, 1, 3)) {
    for (case in list(
      list("poisson", 6, capped(6)), list("poisson", 2, capped(2)),
      list("gaussian", 0.25, log_cosh(0.25)), list("gaussian", 2, log_cosh(2))
    )) {
      plan <- paper_plan_cpp(napp_facts(case[[1L]], case[[2L]], epsilon, stages = 1))
      worst <- worst_of_family(case[[3L]], plan$ridge, plan$scale)
      expect_lte(worst, epsilon)
      expect_gt(worst, 0.4 * epsilon)
      expect_gt(worst_of_family(case[[3L]], plan$ridge, plan$scale / 3), epsilon)
      expect_gt(worst_of_family(case[[3L]], plan$ridge / 50, plan$scale), epsilon)
    }
  }
})

test_that("with delta = 0 NAPP's steps add up to epsilon; noise is proportional to loss slopes", {
  for (epsilon in c(0.3, 1, 5)) {
    for (delta in c(0, 1e-6)) {
      count <- paper_plan_cpp(napp_facts("poisson", 8, epsilon, delta = delta))
      logit <- paper_plan_cpp(core_facts("napp", epsilon = epsilon, delta = delta))
      # In units of the slope the loss is the same, and the ridge is larger by the factor of the
      # curvature.
      expect_equal(count$scale, 8 * logit$scale, tolerance = 1e-6)
      expect_equal(count$ridge, 16 * logit$ridge, tolerance = 1e-6)
      if (delta == 0) expect_equal(sum(count$steps$epsilon), epsilon, tolerance = 1e-9)
    }
  }
})

test_that("the ridge minimum on a box is optimal and no larger than the minimum by optim()", {
  withr::local_seed(1)
  for (k in 1:40) {
    p <- sample.int(8, 1)
    x <- matrix(stats::rnorm(30 * p), 30)
    if (k %% 3 == 0 && p > 1) x[, 2] <- x[, 1] + 1e-3 * x[, 2]
    A <- crossprod(x) + diag(0.1, p)
    v <- stats::rnorm(p, sd = 30)
    limit <- c(0.1, 1, 50)[[k %% 3 + 1L]]
    found <- box_ridge_cpp(A, v, limit, 1e-9)
    expect_lte(max(abs(found)), limit)
    g <- drop(A %*% found - v)
    held <- (found >= limit & g < 0) | (found <= -limit & g > 0)
    expect_lte(sqrt(sum(g[!held]^2)), 1e-9)
    value <- function(t) sum(t * (A %*% t)) / 2 - sum(v * t)
    other <- stats::optim(numeric(p), value, function(t) drop(A %*% t) - v, method = "L-BFGS-B",
      lower = -limit, upper = limit)
    expect_lte(value(found), other$value + 1e-9 * abs(other$value))
  }
})

test_that("for rows of length one published KST has the constants of Algorithm 4.1", {
  # The printed variance is p^3 (32 log(2 / delta) + 16 epsilon) / epsilon^2 for outcomes in [-p, p]
  # and an added row. Here rows have length one, outcomes are in [-1, 1], and a replaced row doubles
  # the sensitivity.
  e <- 0.999
  plan <- paper_plan_cpp(core_facts("kst", "published", delta = 1e-6, family = "gaussian",
    span = 0.25, box = 1))
  p <- 2
  printed <- sqrt(p^3 * (32 * log(2e6) + 16 * e)) / e / sqrt(p)
  expect_equal(plan$scale, printed * 2 * (1 + p) / (2 * p))
  expect_equal(plan$ridge, 2 / e)
  tight <- paper_plan_cpp(core_facts("kst", delta = 1e-6, family = "gaussian", box = 1))
  expect_lt(tight$scale, plan$scale)
})

test_that("for kst on a box gradients of two rows differ by at most the declared sensitivity", {
  withr::local_seed(2)
  d <- 2 # columns of the design: an intercept and one regressor
  plan <- paper_plan_cpp(core_facts("kst", epsilon = 1, family = "gaussian", box = 3))
  bound <- plan$steps$sensitivity[[1L]]
  expect_identical(bound, 2 + d * 3)
  row <- function() {
    x <- stats::rnorm(d)
    x <- x / sqrt(sum(x^2)) * sample(c(1, 1, stats::runif(1)), 1)
    function(theta, y = sample(c(-1, 1), 1)) x * (sum(x * theta) - y)
  }
  corners <- as.matrix(expand.grid(c(-1, 1), c(-1, 1))) * 3 * sqrt(d)
  apart <- replicate(20000, {
    theta <- corners[sample.int(4, 1), ]
    sqrt(sum((row()(theta) - row()(theta))^2))
  })
  expect_lte(max(apart), bound)
  expect_gt(max(apart), 0.85 * bound)
})

test_that("for kst on a box the loss stays within epsilon, but not with a third of the noise", {
  # In one dimension the minimiser is (v - b) / H, cut at the walls, with Laplace noise b and rows
  # in [-1, 1]. The probability of a wall is the probability of all b beyond it.
  worst <- function(plan, limit, scale = plan$scale) {
    theta <- seq(-limit, limit, length.out = 401)
    rows <- as.matrix(expand.grid(x = c(-1, -0.5, 0, 0.5, 1), y = c(-1, 1)))
    most <- 0
    # Thousands of people with x near zero give any sum of products with the outcome, but no
    # curvature.
    for (base in list(c(0, 0), c(40, 39), c(40, -80), c(0, 80), c(0, -80), c(0, 2 * limit))) {
      laws <- apply(rows, 1L, function(row) {
        H <- base[[1L]] + row[[1L]]^2 + plan$ridge
        v <- base[[2L]] + row[[1L]] * row[[2L]]
        inside <- -abs(v - H * theta) / scale + log(H / (2 * scale))
        beyond <- function(b) ifelse(b < 0, b / scale - log(2), log1p(-exp(-b / scale) / 2))
        c(inside, beyond(v - H * limit), beyond(-(v + H * limit)))
      })
      most <- max(most, apply(laws, 1L, function(l) diff(range(l))))
    }
    most
  }
  for (epsilon in c(0.4, 1, 3)) {
    for (box in c(0.2, 1, 5)) {
      plan <- paper_plan_cpp(core_facts("kst", epsilon = epsilon, family = "gaussian", box = box))
      limit <- box * sqrt(2)
      expect_lte(worst(plan, limit), epsilon)
      expect_gt(worst(plan, limit), 0.6 * epsilon)
      expect_gt(worst(plan, limit, plan$scale / 3), epsilon)
    }
  }
})

test_that("kst and napp approach lm() and glm() for linear models and counts, and are charged", {
  withr::local_seed(5)
  data <- data.frame(a = stats::runif(3000, -1, 1), b = stats::runif(3000, 0, 4))
  data$y <- pmax(-3, pmin(3, 1 + data$a - 0.2 * data$b + stats::rnorm(3000, 0, 0.3)))
  data$k <- pmin(20, stats::rpois(3000, exp(1 + 0.5 * data$a)))
  limits <- list(y = c(-3, 3), k = c(0, 20), a = c(-1, 1), b = c(0, 4))
  fit <- function(formula, family, method, epsilon = 200, ...) {
    dp_glm(formula, data, family, epsilon = epsilon, delta = 1e-6, bounds = limits,
      method = method, ...)
  }
  least <- coef(lm(y ~ a + b, data))
  expect_equal(coef(fit(y ~ a + b, "gaussian", "kst")), least, tolerance = 0.05)
  expect_equal(coef(fit(y ~ a + b, "gaussian", "napp")), least, tolerance = 0.05)
  counts <- coef(glm(k ~ a + b, poisson, data))
  expect_equal(coef(fit(k ~ a + b, "poisson", "napp")), counts, tolerance = 0.1)
  narrow <- fit(y ~ a, "gaussian", "kst", settings = list(box = 0.1))
  expect_equal(coef(narrow)[["a"]], 0.3, tolerance = 0.01) # a tenth, times 3 of the outcome
  ledger <- dp_ledger(1, 1e-6)
  box <- fit(y ~ a + b, "gaussian", "kst", 1, ledger = ledger)
  expect_true(box$privacy$holds)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_output(print(box), "Linear regression on a box")
  path <- withr::local_tempfile(fileext = ".json")
  for (made in list(box, fit(k ~ a, "poisson", "napp", 1))) {
    write_release(made, path)
    expect_identical(coef(read_release(path)), coef(made))
    unlink(path)
  }
  refused <- function(...) {
    expect_error(dp_glm(bounds = limits, data = data, epsilon = 1, ledger = ledger, ...),
      class = "dpsc_error_argument")
  }
  refused(k ~ a, family = "poisson", method = "kst")
  refused(k ~ a, family = "poisson", method = "napp", calibration = "published")
  refused(y ~ a, family = "gaussian", method = "cms")
  refused(y ~ a, family = "gaussian", method = "napp", settings = list(box = 1))
  refused(y ~ a, family = "gaussian", method = "kst", settings = list(box = 0))
  refused(y ~ a, family = "gaussian", method = "napp", settings = list(tau = -1))
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})
