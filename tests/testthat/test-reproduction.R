# The fast loops of inst/reproduction compared with plain loops. The probability of a false alarm is
# 1e-4 per test, under fixed seeds. The loops are not part of the package and are compiled here,
# which takes a minute, so the tests run in `make audit`.
loops <- new.env()

compile_loops <- function() {
  if (is.null(loops$repeat_linear)) {
    home <- test_path("..", "..", "inst", "reproduction")
    source(file.path(home, "functions.R"), local = loops)
    # The option -g of R follows PKG_CXXFLAGS and would override it. Without optimisation the loops
    # lose more time than compilation saves.
    flags <- c("-include $(HOME)/.R/Makevars", "CXX17FLAGS = -O2 -g0")
    flags <- withr::local_tempfile(lines = flags)
    withr::local_envvar(R_MAKEVARS_USER = flags)
    loops$compile_loops(home, loops)
  }
}

simulated <- function() {
  withr::local_seed(7)
  x <- matrix(stats::runif(4 * 7, -1, 1), 4)
  list(x = x[, 1:5], post = x[, 6:7], y = stats::runif(5, -1, 1), truth = c(0.3, -0.2))
}

plain_errors <- function(data, weights_noise, post_noise, solve_weights, runs = 2000) {
  vapply(seq_len(runs), function(i) {
    f <- solve_weights(weights_noise(4))
    noisy <- data$post + matrix(post_noise(8), 4)
    sqrt(mean((drop(crossprod(noisy, f)) - data$truth)^2))
  }, 0)
}

radial <- function(d, norm) {
  z <- stats::rnorm(d)
  z / sqrt(sum(z^2)) * norm
}

test_that("in the reproduction errors of output perturbation are distributed as in a plain loop", {
  skip_unless_audit()
  compile_loops()
  withr::local_seed(1)
  data <- simulated()
  weights <- ridge_weights_cpp(data$x, data$y, 3)
  laws <- list(
    gamma_norm = function(d, scale) radial(d, stats::rgamma(1, d, scale = scale)),
    radial_laplace = function(d, scale) radial(d, stats::rexp(1) * scale),
    gaussian = function(d, scale) stats::rnorm(d, sd = scale)
  )
  for (law in names(laws)) {
    fast <- loops$repeat_linear(
      weights, rep(1, 4), law, 0.3, data$post, data$truth, law, 0.2, 2000L
    )
    plain <- plain_errors(
      data, function(d) laws[[law]](d, 0.3), function(d) laws[[law]](d, 0.2),
      function(v) weights + v
    )
    expect_gt(stats::ks.test(fast, plain)$p.value, 1e-4)
  }
})

test_that("errors of objective perturbation in an eigenbasis are distributed as in a plain loop", {
  skip_unless_audit()
  compile_loops()
  withr::local_seed(2)
  data <- simulated()
  hessian <- 2 * tcrossprod(data$x) + diag(3, 4)
  linear <- 2 * drop(data$x %*% data$y)
  basis <- eigen(tcrossprod(data$x), symmetric = TRUE)
  curvature <- 2 * basis$values + 3
  fast <- loops$repeat_linear(
    drop(crossprod(basis$vectors, linear)) / curvature, 1 / curvature, "gaussian", 2,
    crossprod(basis$vectors, data$post), data$truth, "gamma_norm", 0.2, 2000L
  )
  plain <- plain_errors(
    data, function(d) stats::rnorm(d, sd = 2),
    function(d) radial(d, stats::rgamma(1, d, scale = 0.2)),
    function(b) drop(solve(hessian, linear - b))
  )
  expect_gt(stats::ks.test(fast, plain)$p.value, 1e-4)
})

test_that("the reproduction's loop with bounds gives the errors of the package's bounded solver", {
  skip_unless_audit()
  compile_loops()
  withr::local_seed(3)
  data <- simulated()
  linear <- 2 * drop(data$x %*% data$y)
  exact <- loops$repeat_bounded(
    data$x, linear, 3, 0.6, 1e-9, "none", 0, data$post, data$truth, "none", 0, 2L
  )
  f <- capped_l1_qp_cpp(data$x, linear, 3, 0.6, 1e-9)$solution
  expect_equal(exact, rep(sqrt(mean((drop(crossprod(data$post, f)) - data$truth)^2)), 2))
  fast <- loops$repeat_bounded(
    data$x, linear, 3, 0.6, 1e-9, "gaussian", 2, data$post, data$truth, "none", 0, 2000L
  )
  plain <- stats::rnorm(2000, sd = 1e-10) + plain_errors(
    data, function(d) stats::rnorm(d, sd = 2), numeric,
    function(b) capped_l1_qp_cpp(data$x, linear - b, 3, 0.6, 1e-9)$solution
  )
  # Noise puts several minimisers on the same corner, so ties are split.
  fast <- fast + stats::rnorm(2000, sd = 1e-10)
  expect_gt(stats::ks.test(fast, plain)$p.value, 1e-4)
})

test_that("the reproduction's loop refuses invalid parameters", {
  skip_unless_audit()
  compile_loops()
  data <- simulated()
  run <- function(law, scale, spread = rep(1, 4)) {
    loops$repeat_linear(
      rep(0, 4), spread, law, scale, data$post, data$truth, "none", 0, 2L
    )
  }
  expect_error(run("cauchy", 1), "unknown law")
  expect_error(run("gaussian", 0), class = "std::domain_error")
  expect_error(run("gaussian", 1, spread = 1), class = "std::invalid_argument")
})

test_that("one mean error of output perturbation is between the published and corrected bounds", {
  skip_unless_audit()
  compile_loops()
  withr::local_seed(3)
  n <- 10
  T0 <- 10
  T1 <- 3
  lambda <- 10
  signal <- outer(stats::runif(n + 1, 3, 5), 1:13) / 66
  x <- signal[-1, ] + stats::rnorm(130, sd = 0.005)
  y <- (signal[1, ] + stats::rnorm(13, sd = 0.005))[1:T0]
  weights <- ridge_weights_cpp(x[, 1:T0], y, lambda)
  off <- (signal[1, 11] - sum(signal[-1, 11] * weights)) / sum(signal[-1, 11]^2) * signal[-1, 11]
  at <- function(form) {
    paper_rmse_bound("output",
      n = n, T0 = T0, T1 = T1, lambda = lambda, epsilon1 = 50, epsilon2 = 50, form = form,
      signal_norm = norm(signal[-1, 11:13], "2"), noise_sd = 0.005,
      largest_weight = max(abs(weights)), weights_error = sqrt(sum(off^2))
    )
  }
  errors <- loops$repeat_linear(
    weights, rep(1, n), "gamma_norm", 4 * T0 * sqrt(8 + n) / (lambda * 50), x[, 11:13],
    signal[1, 11:13], "gamma_norm", 2 * sqrt(T1) / 50, 2000L
  )
  expect_gt(mean(errors), at("published"))
  expect_lt(mean(errors), at("corrected"))
})

test_that("in the reproduction errors of method gram are distributed as in dp_synth()", {
  skip_unless_audit()
  compile_loops()
  withr::local_seed(4)
  panel <- sim_panel(40, 6, 2, noise_sd = 0.2)
  plain <- function(epsilon, runs) {
    vapply(seq_len(runs), function(i) {
      fit <- dp_synth(panel$donors,
        target = panel$target, T0 = 6, epsilon = epsilon, delta = 0, bounds = c(-1, 1),
        control = dp_control(rng = "R")
      )
      sqrt(mean((fit$counterfactual[7:8] - panel$counterfactual[7:8])^2))
    }, 0)
  }
  fast <- function(epsilon, runs) {
    loops$repeat_gram(panel$donors, panel$target[1:6], panel$counterfactual[7:8], epsilon, 0, runs)
  }
  # Counterfactuals at the bounds are equal, so ties are split.
  apart <- function(errors) errors + stats::rnorm(length(errors), sd = 1e-10)
  expect_gt(stats::ks.test(apart(fast(10, 400L)), apart(plain(10, 400L)))$p.value, 1e-4)
  # With hardly any noise both numbers agree.
  expect_equal(fast(1e7, 5L), plain(1e7, 5L), tolerance = 1e-3)
  expect_error(
    loops$repeat_gram(panel$donors, panel$target[1:5], panel$counterfactual[7:8], 1, 0, 1L),
    class = "std::invalid_argument"
  )
})

test_that("the stored tables of theoretical values satisfy the inequalities of the articles", {
  table_of <- function(name) {
    utils::read.csv(system.file("reproduction", "results", name, package = "dpsc"))
  }
  risk <- table_of("thakurta-risk.csv")
  expect_true(all(risk$risk_least < risk$lemma_least & risk$lemma_least < risk$high_least))
  expect_true(all(risk$risk_ideal < risk$lemma_ideal & risk$distance < risk$apart))
  moor <- table_of("moor.csv")
  expect_true(all(moor$repaired <= moor$two_terms + 1e-6))
  expect_gt(mean(moor$printed[moor$family == "gaussian"] > moor$two_terms), 0.2)
  rates <- table_of("rates.csv")
  expect_true(all(rates$correct < rates$bound_corrected & rates$correct > rates$bound_published))
  lower <- table_of("lower.csv")
  expect_equal(lower$pair_at_1 / lower$exact_at_1, rep(0.5, 4), tolerance = 0.02)
  expect_equal(lower$exact_as_defined, rep(1, 4))
  rejection <- table_of("rejection.csv")
  expect_gt(min(rejection$length, na.rm = TRUE), 2.5)
  expect_gt(min(rejection$outside, na.rm = TRUE), 0.003)
})
