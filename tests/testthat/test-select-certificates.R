# The certificates of the two stability tests for the LASSO, compared with a slow independent
# computation (proofs/selection.md, Theorems 3 and 4) and with neighbours that reach their terms.

# argmin sum h_tau(y - x'theta) + penalty |theta|_1 on [-1, 1] (`box`); bisection solves the
# equation of each coordinate.
slow_sparse_fit <- function(x, y, penalty, tau, box) {
  theta <- numeric(ncol(x))
  end <- if (box) 1 else 4
  for (sweep in seq_len(60L)) {
    before <- theta
    for (j in seq_along(theta)) {
      rest <- y - drop(x[, -j, drop = FALSE] %*% theta[-j])
      # This function increases with t.
      slope <- function(t) -sum(x[, j] * pmax(pmin(rest - x[, j] * t, tau), -tau))
      at <- slope(0)
      sign <- if (at < -penalty) 1 else if (at > penalty) -1 else 0
      edge <- function(t) slope(sign * t) * sign + penalty
      theta[[j]] <- if (sign == 0) {
        0
      } else if (edge(end) <= 0) {
        sign * end
      } else {
        sign * stats::uniroot(edge, c(0, end), tol = 1e-14)$root
      }
    }
    if (max(abs(theta - before)) < 1e-13) break
  }
  theta
}

least_value <- function(x) min(eigen(crossprod(x), TRUE, TRUE)$values)

# The terms of Theorem 4: the largest k for each condition, minus one.
slow_huber_terms <- function(table, f) {
  n <- nrow(table)
  x <- table[, -ncol(table)]
  y <- table[, ncol(table)]
  theta <- slow_sparse_fit(x, y, f$penalty, f$tau, FALSE)
  S <- theta != 0
  r <- y - drop(x %*% theta)
  a <- 2 * f$tau * sqrt(f$size) / (f$psi * n)
  off <- abs(crossprod(x[, !S, drop = FALSE], pmax(pmin(r, f$tau), -f$tau)))
  inner <- function(k) {
    rows <- abs(r) <= f$tau - k * sqrt(f$size) * a
    least_value(x[rows, S, drop = FALSE]) - f$psi * n - (k - 1) * f$size
  }
  k <- c(
    if (inner(1) <= 0) 0 else stats::uniroot(inner, c(1, 1e5), tol = 1e-9)$root,
    1 + (f$kappa2 * n - max(eigen(crossprod(x[, S, drop = FALSE]), TRUE, TRUE)$values)) / f$size,
    1 + f$kappa1 * n - max(colSums(x^2)),
    (f$penalty - max(off, 0)) / (2 * f$tau + sqrt(f$kappa1 * f$kappa2) * n * a),
    min(abs(theta[S])) / a
  )
  k - 1
}

# The terms of Theorem 3.
slow_lasso_terms <- function(table, f) {
  n <- nrow(table)
  x <- table[, -ncol(table)]
  y <- table[, ncol(table)]
  theta <- slow_sparse_fit(x, y, f$penalty, Inf, TRUE)
  S <- theta != 0
  a <- 2 * f$size^1.5 / (f$psi * n)
  off <- abs(crossprod(x[, !S, drop = FALSE], y - x %*% theta))
  c(
    (f$penalty - max(off, 0)) / (2 * f$size^2 / f$psi + 4 * f$size) - 1,
    (least_value(x[, S, drop = FALSE]) - 2 * f$psi * n) / f$size,
    min(abs(theta[S])) / a - 1,
    (1 - max(abs(theta[S]))) / a - 1
  )
}

slow_terms <- function(method, table, facts) {
  (if (method == "lasso") slow_lasso_terms else slow_huber_terms)(table, facts)
}

certified <- function(method, table, facts) {
  select_distance_cpp(table, method, facts, "R")
}

case_facts <- function(...) {
  given <- list(size = 1, penalty = 300, tau = 0.4, psi = 0.485, kappa1 = 0.51, kappa2 = 0.51,
    blocks = 5, intercept = FALSE)
  utils::modifyList(given, list(...))
}

on_grid <- function(x) round(x * 1024) / 1024

# 2,000 rows (x1, x2, y), of which `usual` occurs 1,000 times (`mirrored`: half with -x2) and
# `special` 12 times.
case_table <- function(case) {
  usual <- matrix(case$usual, 1000, 3, TRUE)
  if (isTRUE(case$mirrored)) usual[, 2L] <- usual[, 2L] * c(1, -1)
  on_grid(rbind(usual, matrix(case$special, 12, 3, TRUE), matrix(0, 988, 3)))
}

# One case per term: the binding term, the table, a row that replaces the special rows, and the
# share of one by which this row can change the distance.
huber_cases <- function() {
  list(
    curvature = list(
      term = 1, share = 1, row = c(0, 0, 0), special = c(1, 0, 0.75), usual = c(1, 0, 0.75),
      facts = case_facts(psi = 0.504)
    ),
    spread = list(
      term = 2, share = 1, row = c(1, 0, 0.75), special = c(0, 0, 0), usual = c(1, 0, 0.75),
      facts = case_facts(kappa1 = 0.6, kappa2 = 0.5022, psi = 0.4)
    ),
    column = list(
      term = 3, share = 1, row = c(0, 1, 0), special = c(0, 0, 0), usual = c(1, 1, 0.75),
      facts = case_facts(kappa1 = 0.5022, kappa2 = 0.6, psi = 0.4), mirrored = TRUE
    ),
    # The slopes of these rows change the residuals of the other rows, and thereby the score of the
    # second column.
    gap = list(
      term = 4, share = 0.95, row = c(1, -1, -1), special = c(1, -1, 1), usual = c(1, 0.99, 0.8),
      facts = case_facts()
    ),
    coefficient = list(
      term = 5, share = 0.95, row = c(1, 0, -1), special = c(1, 0, 1), usual = c(1, 0, 0.25),
      facts = case_facts(kappa1 = 0.52, kappa2 = 0.52, penalty = 250.6)
    )
  )
}

lasso_cases <- function() {
  n <- 2000
  # Residuals reach 2 on one side only, so a product x r changes by half of the permitted 4.
  list(
    gap = list(
      term = 1, share = 0.28, row = c(1, -1, -1), special = c(1, 1, -1), usual = c(1, 0.4, 1),
      facts = case_facts(psi = 0.24, penalty = 120)
    ),
    curvature = list(
      term = 2, share = 1, row = c(0, 0, 0), special = c(1, 0, 0.75), usual = c(1, 0, 0.75),
      facts = case_facts(psi = 1008 / (2 * n))
    ),
    coefficient = list(
      term = 3, share = 0.45, row = c(1, 0, -1), special = c(1, 0, 1), usual = c(1, 0, 0.25),
      facts = case_facts(psi = 0.24, penalty = 238)
    ),
    box = list(
      term = 4, share = 0.4, row = c(1, 0, 1), special = c(1, 0, -1), usual = c(0.5, 0, 1),
      facts = case_facts(psi = 250 / (2 * n), penalty = 250 * 0.95)
    )
  )
}

test_that("stability certificates equal the theorems' numbers, whichever condition is strictest", {
  # Plants faults 70.
  for (method in c("stability", "lasso")) {
    for (case in if (method == "lasso") lasso_cases() else huber_cases()) {
      table <- case_table(case)
      terms <- slow_terms(method, table, case$facts)
      # Each case reaches the term for which it was made.
      expect_identical(which.min(terms), as.integer(case$term))
      found <- certified(method, table, case$facts)$distance
      expect_gt(found, 0.5)
      expect_lte(found, min(terms))
      expect_gt(found, min(terms) - 2 / 1024)
      # The fault is steps of half the length.
      expect_gt(2 * found + 1, min(terms) + 1)
    }
  }
})

test_that("stability certificates equal the theorems' numbers for random tables", {
  withr::local_seed(21)
  stable <- c(stability = 0, lasso = 0)
  for (k in 1:16) {
    n <- 1500
    x <- matrix(sample(c(-1, 0, 0.5, 1), 3 * n, TRUE), n)
    size <- 1 + k %% 2
    signal <- if (size == 1) 0.7 * x[, 1] else 0.45 * (x[, 1] - x[, 2])
    table <- on_grid(cbind(x, pmax(pmin(signal + stats::rnorm(n, sd = 0.05), 1), -1)))
    for (method in names(stable)) {
      facts <- case_facts(size = size, penalty = n * stats::runif(1, 0.1, 0.2), tau = 0.6,
        psi = stats::runif(1, 0.15, 0.25), kappa1 = 0.8, kappa2 = 0.8)
      least <- max(0, min(slow_terms(method, table, facts)))
      found <- certified(method, table, facts)$distance
      expect_lte(found, least)
      expect_gte(found, max(0, least - 2 / 1024))
      stable[[method]] <- stable[[method]] + (found > 0)
    }
  }
  expect_gte(min(stable), 4)
})

test_that("the worst replaced row changes each certificate's distance by 0.28 to 1", {
  # Plants faults 71.
  for (method in c("stability", "lasso")) {
    for (case in if (method == "lasso") lasso_cases() else huber_cases()) {
      table <- case_table(case)
      other <- table
      other[1001L, ] <- on_grid(case$row)
      moved <- certified(method, table, case$facts)$distance -
        certified(method, other, case$facts)$distance
      expect_lte(moved, 1026 / 1024)
      expect_gt(moved, case$share - 2 / 1024)
      # With the fault the distance changes by twice as much.
      if (case$share > 0.9) expect_gt(2 * moved, 1026 / 1024)
    }
  }
})

test_that("replacing the certified number of rows changes no support; replacing more rows does", {
  for (case in huber_cases()[c("gap", "coefficient")]) {
    table <- case_table(case)
    now <- certified("stability", table, case$facts)
    replaced <- 0
    repeat {
      replaced <- replaced + 1
      table[1000L + replaced, ] <- on_grid(case$row)
      if (!identical(certified("stability", table, case$facts)$support, now$support)) break
    }
    expect_gt(replaced, now$distance)
    # A certificate of 2 d + 1 would have guaranteed this support.
    expect_lt(replaced, 2 * now$distance + 1)
  }
})
