# The simplex solver compared with oracles: quadprog, and a search over all supports.

# The best point over all sets of donors that may have weight, for small problems only.
brute_simplex <- function(x, y, cost = rep(0, nrow(x))) {
  p <- sweep(x, 2, y)
  best <- Inf
  for (set in seq_len(2^nrow(x) - 1)) {
    on <- which(bitwAnd(set, 2^(seq_len(nrow(x)) - 1)) > 0)
    gram <- tcrossprod(p[on, , drop = FALSE])
    system <- rbind(cbind(2 * gram, -1), c(rep(1, length(on)), 0))
    w <- tryCatch(solve(system, c(-cost[on], 1))[seq_along(on)], error = function(e) NULL)
    if (is.null(w) || any(w < -1e-12)) next
    best <- min(best, sum((w %*% p[on, , drop = FALSE])^2) + sum(cost[on] * w))
  }
  best
}

quadprog_simplex <- function(x, y) {
  p <- sweep(x, 2, y)
  gram <- tcrossprod(p)
  n <- nrow(x)
  ridge <- 1e-12 * mean(diag(gram))
  w <- quadprog::solve.QP(
    gram + diag(ridge, n), rep(0, n), cbind(1, diag(n)), c(1, rep(0, n)),
    meq = 1
  )$solution
  w <- pmax(w, 0) / sum(pmax(w, 0))
  list(weights = w, objective = sum((w %*% p)^2))
}

solve_simplex <- function(x, y, lambda = 0, demean = FALSE) {
  simplex_fit_cpp(x, y, length(y), demean, lambda)
}

test_that("the simplex solver agrees with an enumeration of all supports", {
  withr::local_seed(1)
  for (i in 1:60) {
    n <- sample(1:7, 1)
    m <- sample(1:6, 1)
    x <- matrix(rnorm(n * m), n)
    y <- rnorm(m)
    lambda <- if (i %% 2) 0 else exp(rnorm(1))
    fit <- solve_simplex(x, y, lambda)
    cost <- lambda * rowSums(sweep(x, 2, y)^2)
    expect_equal(fit$objective, brute_simplex(x, y, cost), tolerance = 1e-9)
    expect_equal(sum(fit$weights), 1, tolerance = 1e-14)
    expect_true(all(fit$weights >= 0))
  }
})

test_that("the simplex solver's objective is not above the objective of quadprog", {
  skip_if_not_installed("quadprog")
  withr::local_seed(2)
  for (size in list(c(5, 20), c(38, 19), c(100, 30), c(20, 60))) {
    for (i in 1:5) {
      factors <- matrix(rnorm(3 * size[[2]]), 3)
      noise <- function(n) matrix(rnorm(n * size[[2]], sd = 0.3), n)
      x <- matrix(rnorm(size[[1]] * 3), size[[1]]) %*% factors + noise(size[[1]])
      y <- drop(rnorm(3, sd = 0.3) %*% factors + noise(1))
      fit <- solve_simplex(x, y)
      oracle <- quadprog_simplex(x, y)
      expect_lte(fit$objective, oracle$objective * (1 + 1e-9) + 1e-18 * sum(x^2))
      if (size[[1]] <= size[[2]]) {
        expect_lt(max(abs(fit$weights - oracle$weights)), 1e-6)
      }
      expect_lte(fit$gap, 1e-12 * max(rowSums(sweep(x, 2, y)^2)))
    }
  }
})

test_that("the simplex solver's certificate of optimality equals a recomputation in R", {
  withr::local_seed(3)
  x <- matrix(rnorm(300), 30)
  y <- rnorm(10) / 2 + 2
  fit <- solve_simplex(x, y)
  gradient <- 2 * drop(x %*% (crossprod(x, fit$weights) - y))
  level <- sum(gradient * fit$weights)
  expect_lt(abs(fit$gap - (level - min(gradient))), 1e-11)
  support <- fit$weights > 0
  violation <- max(abs(gradient[support] - level), level - gradient[!support], 0)
  expect_lt(abs(fit$kkt - violation), 1e-11)
})

test_that("for degenerate problems the simplex solver returns one solution and counts its ties", {
  # Of two equal donors the first one gets the weight.
  x <- rbind(c(1, 0), c(0, 1), c(1, 0))
  fit <- solve_simplex(x, c(1, -1))
  expect_identical(fit$weights, c(1, 0, 0))
  expect_identical(fit$ties, 1)
  # All donors are equal to each other and to the target.
  fit <- solve_simplex(matrix(3, 4, 5), rep(3, 5))
  expect_identical(fit$weights, c(1, 0, 0, 0))
  expect_identical(fit$ties, 3)
  expect_identical(fit$objective, 0)
  # The target is inside the hull of many donors, so at most T0 + 1 donors give a perfect fit.
  withr::local_seed(4)
  x <- matrix(rnorm(200 * 6), 200)
  y <- colMeans(x)
  fit <- solve_simplex(x, y)
  expect_lt(fit$objective, 1e-24)
  expect_lte(sum(fit$weights > 0), 7)
  expect_identical(solve_simplex(x, y)$weights, fit$weights)
  expect_identical(fit$ties, 200 - sum(fit$weights > 0))
  # The donors are collinear.
  line <- outer(1:9, c(1, 2, 3))
  expect_lt(solve_simplex(line, c(4.5, 9, 13.5))$objective, 1e-24)
  expect_equal(solve_simplex(line, c(20, 40, 60))$weights, c(rep(0, 8), 1))
  # Integer grids have many ties.
  grid <- as.matrix(expand.grid(-2:2, -2:2)) + 0
  expect_equal(solve_simplex(grid, c(5, 0.5))$objective, 9, tolerance = 1e-12)
  expect_identical(solve_simplex(matrix(2, 1, 3), c(1, 2, 3))$weights, 1)
})

test_that("scale, a common shift and the order of donors do not change simplex weights", {
  withr::local_seed(5)
  x <- matrix(rnorm(12 * 15), 12)
  y <- rnorm(15) / 3
  w <- solve_simplex(x, y)$weights
  expect_equal(solve_simplex(1e-6 * x, 1e-6 * y)$weights, w, tolerance = 1e-10)
  expect_equal(solve_simplex(1e9 * x, 1e9 * y)$weights, w, tolerance = 1e-10)
  expect_equal(solve_simplex(x + 1e4, y + 1e4)$weights, w, tolerance = 1e-8)
  expect_equal(solve_simplex(x[12:1, ], y)$weights[12:1], w, tolerance = 1e-10)
  # With an intercept, a shift of the target alone does not change the weights.
  shifted <- solve_simplex(x, y + 7, demean = TRUE)
  plain <- solve_simplex(x, y, demean = TRUE)
  expect_equal(shifted$weights, plain$weights, tolerance = 1e-9)
  expect_equal(shifted$intercept, plain$intercept + 7, tolerance = 1e-9)
})

test_that("the simplex solver refuses non-finite or invalid input", {
  x <- matrix(c(1, 2, 3, 4, 5, 6), 3)
  for (bad in c(NA, NaN, Inf, -Inf, 1e200)) {
    broken <- x
    broken[2, 1] <- bad
    expect_error(solve_simplex(broken, c(1, 2)), class = "std::domain_error")
    expect_error(solve_simplex(x, c(bad, 2)), class = "std::domain_error")
  }
  expect_error(solve_simplex(x, c(1, 2), lambda = -1), class = "std::invalid_argument")
  expect_error(simplex_fit_cpp(x, c(1, 2), 3L, FALSE, 0), class = "std::invalid_argument")
  expect_error(simplex_placebos_cpp(x[1, , drop = FALSE], 2L, FALSE, 0),
    class = "std::invalid_argument"
  )
  expect_error(simplex_leave_out_cpp(x, c(1, 2), 2L, FALSE, 0, 4L), class = "std::out_of_range")
})

test_that("placebo, leave-one-out and residual loops in C++ equal single simplex fits", {
  withr::local_seed(6)
  x <- matrix(rnorm(9 * 14), 9)
  y <- rnorm(14) / 3
  for (kind in list(list(FALSE, 0), list(TRUE, 0), list(FALSE, 0.1))) {
    one <- function(x, y, T0) simplex_fit_cpp(x, y, T0, kind[[1]], kind[[2]])$counterfactual
    placebos <- simplex_placebos_cpp(x, 8L, kind[[1]], kind[[2]])$paths
    dropped <- simplex_leave_out_cpp(x, y, 8L, kind[[1]], kind[[2]], c(2L, 9L, 1L))$paths
    targets <- rbind(y, y + c(rep(0, 8), 1:6), -y)
    residuals <- simplex_residuals_cpp(x, targets, kind[[1]], kind[[2]])$paths
    for (i in 1:9) {
      expect_equal(placebos[i, ], one(x[-i, ], x[i, ], 8L), tolerance = 1e-9)
    }
    for (k in 1:3) {
      expect_equal(dropped[k, ], one(x[-c(2, 9, 1)[k], ], y, 8L), tolerance = 1e-9)
      expect_equal(
        residuals[k, ], targets[k, ] - one(x, targets[k, ], 14L),
        tolerance = 1e-8, ignore_attr = TRUE
      )
    }
  }
})
