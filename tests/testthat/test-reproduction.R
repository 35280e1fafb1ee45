# The fast loop against a plain one. False alarms: 1e-4 a test, under fixed seeds.
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

test_that("errors of output perturbation have the law of a plain loop", {
  withr::local_seed(1)
  data <- simulated()
  weights <- ridge_weights_cpp(data$x, data$y, 3)
  laws <- list(
    gamma_norm = function(d, scale) radial(d, stats::rgamma(1, d, scale = scale)),
    radial_laplace = function(d, scale) radial(d, stats::rexp(1) * scale),
    gaussian = function(d, scale) stats::rnorm(d, sd = scale)
  )
  for (law in names(laws)) {
    fast <- repeat_linear_cpp(
      weights, rep(1, 4), law, 0.3, data$post, data$truth, law, 0.2, 2000L, "R"
    )
    plain <- plain_errors(
      data, function(d) laws[[law]](d, 0.3), function(d) laws[[law]](d, 0.2),
      function(v) weights + v
    )
    expect_gt(stats::ks.test(fast, plain)$p.value, 1e-4)
  }
})

test_that("errors of objective perturbation in the eigenbasis have the law of a plain loop", {
  withr::local_seed(2)
  data <- simulated()
  hessian <- 2 * tcrossprod(data$x) + diag(3, 4)
  linear <- 2 * drop(data$x %*% data$y)
  basis <- eigen(tcrossprod(data$x), symmetric = TRUE)
  curvature <- 2 * basis$values + 3
  fast <- repeat_linear_cpp(
    drop(crossprod(basis$vectors, linear)) / curvature, 1 / curvature, "gaussian", 2,
    crossprod(basis$vectors, data$post), data$truth, "gamma_norm", 0.2, 2000L, "R"
  )
  plain <- plain_errors(
    data, function(d) stats::rnorm(d, sd = 2),
    function(d) radial(d, stats::rgamma(1, d, scale = 0.2)),
    function(b) drop(solve(hessian, linear - b))
  )
  expect_gt(stats::ks.test(fast, plain)$p.value, 1e-4)
})

test_that("the bounded version solves the same problem as the release", {
  withr::local_seed(3)
  data <- simulated()
  linear <- 2 * drop(data$x %*% data$y)
  exact <- repeat_bounded_cpp(
    data$x, linear, 3, 0.6, 1e-9, "none", 0, data$post, data$truth, "none", 0, 2L, "R"
  )
  f <- capped_l1_qp_cpp(data$x, linear, 3, 0.6, 1e-9)$solution
  expect_equal(exact, rep(sqrt(mean((drop(crossprod(data$post, f)) - data$truth)^2)), 2))
  fast <- repeat_bounded_cpp(
    data$x, linear, 3, 0.6, 1e-9, "gaussian", 2, data$post, data$truth, "none", 0, 2000L, "R"
  )
  plain <- stats::rnorm(2000, sd = 1e-10) + plain_errors(
    data, function(d) stats::rnorm(d, sd = 2), numeric,
    function(b) capped_l1_qp_cpp(data$x, linear - b, 3, 0.6, 1e-9)$solution
  )
  # Noise puts some minimisers on the same corner: split ties.
  fast <- fast + stats::rnorm(2000, sd = 1e-10)
  expect_gt(stats::ks.test(fast, plain)$p.value, 1e-4)
})

test_that("the loop refuses what it cannot draw", {
  data <- simulated()
  run <- function(law, scale, spread = rep(1, 4)) {
    repeat_linear_cpp(
      rep(0, 4), spread, law, scale, data$post, data$truth, "none", 0, 2L, "R"
    )
  }
  expect_error(run("cauchy", 1), "unknown law")
  expect_error(run("gaussian", 0), class = "std::domain_error")
  expect_error(run("gaussian", 1, spread = 1), class = "std::invalid_argument")
})
