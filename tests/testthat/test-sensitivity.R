ridge_reference <- function(x, y, lambda) {
  drop(solve(tcrossprod(x) + lambda / 2 * diag(nrow(x)), x %*% y))
}

ridge_distance <- function(x, row, y, lambda) {
  other <- x
  other[1L, ] <- row
  sqrt(sum((ridge_reference(x, y, lambda) - ridge_reference(other, y, lambda))^2))
}

# Rows from the corners, the centre and the inside of the box.
adversarial_rows <- function(n, T0) {
  shape <- sample(4L, 1L)
  switch(shape,
    matrix(sample(c(-1, 1), n * T0, TRUE), n),
    matrix(stats::runif(n * T0, -1, 1), n),
    matrix(stats::runif(n * T0, -1, 1), n) * rbinom(n, 1, 0.5),
    matrix(sample(c(-1, 1), n, TRUE), n, T0) * stats::runif(1)
  )
}

test_that("the exact ridge sensitivity equals its formula and lies between reference bounds", {
  cases <- data.frame(
    T0 = c(6, 6, 6, 8, 8), lambda = c(1, 20, 100, 1000, 5), n = c(4, 4, 4, 3, 3),
    ours = c(3.46410, 0.77460, 0.21748, 0.03156, 1.78885),
    paper = c(83.138, 4.1569, 0.83138, 0.10613, 21.226),
    found = c(3.35950, 0.75000, 0.21429, 0.03150, 1.77778)
  )
  for (i in seq_len(nrow(cases))) {
    case <- cases[i, ]
    exact <- ridge_sensitivity(sqrt(case$T0), case$T0, case$lambda)
    r <- 2 * case$T0 / case$lambda
    expect_equal(exact, if (r >= 1) sqrt(r) else 2 * r / (1 + r))
    # The pinned values are older than the exact theorem. They are an upper bound, and the best pair
    # found by search.
    expect_gte(exact, case$found * (1 - 2e-4))
    expect_lte(exact, case$ours * (1 + 1e-5))
    expect_equal(
      published_ridge_sensitivity(case$n, case$T0, case$lambda), case$paper, tolerance = 1e-4
    )
  }
  expect_equal(ridge_sensitivity(sqrt(10), 10, 10), sqrt(2))
  expect_equal(published_ridge_sensitivity(100, 10, 10), 41.569, tolerance = 1e-4)
  expect_equal(published_ridge_sensitivity(10, 10, 10), 16.971, tolerance = 1e-4)
})

test_that("no random pair of neighbours changes ridge weights by more than their sensitivity", {
  withr::local_seed(1)
  for (i in 1:400) {
    n <- sample(5L, 1L)
    T0 <- sample(6L, 1L)
    lambda <- exp(stats::runif(1, -3, 4))
    y <- stats::runif(T0, -1, 1)
    x <- adversarial_rows(n, T0)
    limit <- ridge_sensitivity(sqrt(sum(y^2)), T0, lambda)
    row <- adversarial_rows(1, T0)
    expect_lte(ridge_distance(x, row, y, lambda), limit * (1 + 1e-10))
    expect_lte(ridge_distance(x, -x[1L, ], y, lambda), limit * (1 + 1e-10))
  }
})

test_that("some neighbours change ridge weights by over 99 % of their sensitivity", {
  for (lambda in c(0.2, 1, 6, 12, 30, 200)) {
    T0 <- 6
    y <- rep(c(1, -1), 3)
    s <- min(1, sqrt(lambda / 2 / T0))
    x <- rbind(s * y, matrix(0, 3, T0))
    expect_gt(
      ridge_distance(x, -s * y, y, lambda), 0.99 * ridge_sensitivity(sqrt(T0), T0, lambda)
    )
  }
  # A bound on the root mean square is attained for any y.
  y <- c(1, 0.2, -0.7)
  row <- 0.5 * sqrt(3) * y / sqrt(sum(y^2))
  expect_equal(
    ridge_distance(rbind(row), -row, y, 6), ridge_sensitivity(sqrt(sum(y^2)), 3, 6, bound = 0.5)
  )
})

test_that("ridge_sensitivity() refuses invalid arguments", {
  expect_error(ridge_sensitivity(1, 0, 1), class = "dpsc_error_argument")
  expect_error(ridge_sensitivity(1, 2, 0), class = "dpsc_error_argument")
  expect_error(ridge_sensitivity(-1, 2, 1), class = "dpsc_error_argument")
})

test_that("the sensitivity of the post-period outcomes is the diameter of the bounds' box", {
  expect_equal(post_sensitivity(4), sqrt(sum((rep(1, 4) - rep(-1, 4))^2)))
  expect_equal(post_sensitivity(9, bound = 0.5), 3)
})

log_det <- function(basis, x, mu) {
  k <- ncol(basis)
  as.numeric(determinant(2 * tcrossprod(crossprod(basis, x)) + mu * diag(k))$modulus)
}

test_that("determinants restricted to a face stay within the bound, and some attain the bound", {
  withr::local_seed(2)
  T0 <- 2
  for (n in 2:4) {
    for (mu in c(0.3, 5, 100)) {
      signs <- sample(c(-1, 1), n, TRUE)
      full <- diag(n)
      sum_face <- qr.Q(qr(cbind(signs, diag(n))))[, 2:n, drop = FALSE]
      bound <- function(faces) log1p(curvature_bound(n, T0, faces) / mu)
      for (i in 1:60) {
        x <- adversarial_rows(n, T0)
        other <- x
        other[1L, ] <- adversarial_rows(1, T0)
        for (k in seq_len(n)) {
          free <- full[, unique(c(1L, seq_len(k))), drop = FALSE]
          expect_lte(log_det(free, other, mu) - log_det(free, x, mu), bound("box") + 1e-10)
          if (k > 1) {
            on_sum <- rbind(qr.Q(qr(cbind(signs[1:k], diag(k))))[, 2:k, drop = FALSE],
              matrix(0, n - k, k - 1))
            expect_lte(log_det(on_sum, other, mu) - log_det(on_sum, x, mu), bound("l1") + 1e-10)
          }
        }
      }
      others <- matrix(signs[-1L], n - 1L, T0)
      attained <- log_det(sum_face, rbind(-signs[1L], others), mu) -
        log_det(sum_face, rbind(signs[1L], others), mu)
      expect_equal(attained, bound("l1"))
      # A claim for faces of the box alone would be too small on this face.
      expect_gt(attained, bound("box"))
    }
  }
  expect_lt(curvature_bound(100, 10, "l1"), published_curvature(100, 10) / 5)
})

gradient_difference <- function(x, row, y, f) {
  other <- x
  other[1L, ] <- row
  gradient <- function(x) 2 * x %*% (crossprod(x, f) - y)
  sqrt(sum((gradient(other) - gradient(x))^2))
}

test_that("gradient differences in method objective are within the bound, and some attain it", {
  withr::local_seed(3)
  for (n in c(1, 2, 3, 6, 10)) {
    for (cap in c(1, 0.5, 2 / sqrt(n), 0.2)) {
      cap <- min(cap, 1)
      T0 <- 3
      half <- c(1, 0.6, 0.3)
      y <- c(1, -2, 0.5) # the target may leave the bounds
      bound <- gradient_sensitivity(n, T0, cap, y, half)
      for (i in 1:40) {
        f <- project_capped_l1_cpp(stats::rnorm(n) * 3, cap)
        scaled <- function(x) x * rep(half, each = nrow(x))
        x <- scaled(adversarial_rows(n, T0))
        row <- drop(scaled(adversarial_rows(1, T0)))
        expect_lte(gradient_difference(x, row, y, f), bound * (1 + 1e-10))
        # In the worst case all other donors act in the same direction.
        x[-1L, ] <- rep(half * sign(-y), each = n - 1L)
        x[1L, ] <- half * sign(y)
        expect_lte(gradient_difference(x, -x[1L, ], y, abs(f)), bound * (1 + 1e-10))
      }
    }
  }
  for (n in c(2, 5, 10, 100)) {
    T0 <- 4
    best <- 0
    cap <- min(1, 2 / sqrt(n))
    for (u in c(0, cap)) {
      x <- rbind(rep(-1, T0), matrix(-1, n - 1, T0))
      f <- c(u, rep(min((1 - u) / (n - 1), cap), n - 1))
      best <- max(best, gradient_difference(x, rep(1, T0), rep(1, T0), f))
      f[1L] <- -u
      best <- max(best, gradient_difference(x, rep(1, T0), rep(1, T0), f))
    }
    expect_gt(best, 0.99 * gradient_sensitivity(n, T0, cap))
  }
})

test_that("the gradient bound is at most a simpler bound and below the published bound", {
  simpler <- function(n, cap) {
    u <- c(1e-12, seq(1e-6, cap, length.out = 2000))
    phi <- ifelse(u <= 2 / 3, 4 - 2 * u, (2 + u)^2 / (4 * u))
    max(sqrt(4 * phi^2 + 16 * (n - 1) * u^2))
  }
  for (n in c(1, 2, 3, 6, 10, 100)) {
    for (cap in c(1, 0.5, 0.2)) {
      expect_lte(gradient_sensitivity(n, 7, cap) / 7, simpler(n, cap) + 1e-9)
    }
  }
  expect_lt(gradient_sensitivity(100, 7, 0.2), 4 * 7 * sqrt(108) / 3.8)
})
