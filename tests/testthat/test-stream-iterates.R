# Chapter 5 of Thakurta (2013): pinned constants, sensitivities by search, and the errors of the
# printed version.

iterate_facts <- function(method, horizon, ..., published = FALSE) {
  given <- list(
    method = method, family = "gaussian", published = published, columns = 1, horizon = horizon,
    radius = 1, clip = 1, ball = 1, psi = 1, rho = 0.5, epsilon = 1, delta = 1e-6
  )
  utils::modifyList(given, list(...))
}
clean <- function(facts, table) {
  facts$rho <- Inf
  iterates_clean_cpp(facts, table)
}
declared <- function(facts) dpsc:::iterates_plan_cpp(facts)$sensitivity

test_that("steps and constants of the papers' streams equal values computed by hand", {
  # PIGD from 0 with x = 1, y = 1, psi = 1 gives 1/3 (for y = -1, -1/3).
  for (y in c(1, -1)) {
    expect_equal(clean(iterate_facts("pigd", 9, clip = 9, ball = 9), cbind(1, y))[1, 1], y / 3)
  }
  # The tight schedule has S = 1/2, 1/3, 1/4 for L = 1/2, T = 4, mu = 1.
  facts <- iterate_facts("pigd", 4, clip = 0.5)
  plan <- dpsc:::iterates_plan_cpp(facts)
  expect_equal(plan$sensitivity, 1 / (2:4), tolerance = 1e-9)
  expect_equal(plan$sd, c(0.7734829, 0.5902779, 0.4872637), tolerance = 1e-6)
  expect_equal(sum(plan$sensitivity^2 / plan$sd^2), 1)
  # The printed beta is for (1/3, 5e-7) and lambda = 2 L / psi = 1.
  for (case in list(c(100, 511.540451), c(1000, 1711.910130))) {
    facts <- iterate_facts("pigd", case[[1L]], published = TRUE, clip = 0.25, ball = 0.25)
    expect_equal(dpsc:::iterates_plan_cpp(facts)$sd[[1L]], case[[2L]], tolerance = 1e-6)
  }
  # For weighted POffL the sensitivity is (8/e) L / (psi T).
  expect_equal(declared(iterate_facts("poffl", 1000, clip = 1.1, psi = 0.01, ball = 100))[[1L]],
    0.32373391, tolerance = 1e-6)
  expect_equal(declared(iterate_facts("poffl", 4, psi = 0.5, ball = 100))[[1L]], 1.4715178,
    tolerance = 1e-6)
  # The printed sensitivity lacks 1/psi.
  printed <- iterate_facts("poffl", 1000, published = TRUE, psi = 0.01, clip = 0.1, ball = 100)
  expect_equal(dpsc:::iterates_plan_cpp(printed)$sd[[1L]], 0.08272426806, tolerance = 1e-6)
})

# The largest ratio of a shift to the declared sensitivity, by search over streams that differ in
# one row.
worst_ratio <- function(facts, tries = 60) {
  p <- facts$columns
  n <- facts$horizon
  max(vapply(seq_len(tries), function(k) {
    direction <- stats::rnorm(p)
    x <- if (k %% 2 == 0) {
      matrix(stats::rnorm(n * p), n)
    } else {
      matrix(direction / sqrt(sum(direction^2)) * facts$radius, n, p, byrow = TRUE)
    }
    table <- cbind(x, stats::runif(n, -1, 1) * (k %% 3 > 0))
    other <- table
    at <- if (k %% 5 == 0) sample.int(n, 1L) else if (k %% 5 < 3) 1L else max(1L, n %/% 3L)
    # Rows without curvature cause the smallest contraction.
    if (k %% 4 == 0) {
      x[-at, ] <- 0
      x[at, ] <- c(facts$radius, numeric(p - 1L))
    }
    table <- cbind(x, table[, p + 1L])
    other <- table
    table[at, p + 1L] <- 1
    other[at, p + 1L] <- if (facts$family == "binomial") 0 else -1
    if (facts$method == "poffl") {
      moved <- sqrt(rowSums((clean(facts, table) - clean(facts, other))^2))[n]
      return(moved / declared(facts)[[1L]])
    }
    moved <- sqrt(rowSums((clean(facts, table) - clean(facts, other))^2))[seq_len(n - 1L)]
    max(moved / declared(facts))
  }, 0))
}

test_that("in a search no iterate of the papers' streams changes by more than its bound", {
  withr::local_seed(1)
  for (family in c("gaussian", "binomial")) {
    for (p in 1:3) {
      for (method in c("pigd", "pgiga", "poffl", "pocp")) {
        facts <- iterate_facts(method, 12, columns = p, family = family, psi = 0.3, ball = 3,
          clip = 0.3)
        ratio <- worst_ratio(facts)
        expect_lte(ratio, 1 + 1e-9)
        if (p == 1 && family == "gaussian") expect_gt(ratio, if (method == "pocp") 0.1 else 0.6)
      }
    }
  }
})

test_that("pocp's logistic iterate is the minimiser on the ball and can move 0.48 of its bound", {
  withr::local_seed(3)
  x <- matrix(stats::runif(80, -1, 1), 40)
  table <- cbind(x, as.numeric(stats::runif(40) < stats::plogis(3 * x[, 1])))
  for (ball in c(0.4, 1.1, 9)) {
    facts <- iterate_facts("pocp", 40, columns = 2, family = "binomial", psi = 0.02, ball = ball,
      radius = sqrt(2))
    found <- clean(facts, table)
    for (t in c(1, 7, 39)) {
      rows <- seq_len(t)
      slope <- function(v) {
        eta <- drop(x[rows, , drop = FALSE] %*% v)
        drop(crossprod(x[rows, , drop = FALSE], stats::plogis(eta) - table[rows, 3])) + t * 0.02 * v
      }
      v <- found[t, ]
      expect_lte(sqrt(sum(v^2)), ball * (1 + 1e-12))
      g <- slope(v)
      if (sqrt(sum(v^2)) < ball * (1 - 1e-9)) {
        expect_lt(max(abs(g)), 1e-9)
      } else { # the gradient points into the ball
        expect_lt(sqrt(sum((g / sqrt(sum(g^2)) + v / sqrt(sum(v^2)))^2)), 1e-6)
      }
    }
  }
  # With a single row, y = 1 and 0, the leaders are v and -v with psi v = plogis(-v), which is half
  # of the declared sensitivity at large psi.
  facts <- iterate_facts("pocp", 3, family = "binomial", psi = 20, ball = 3)
  zero <- rbind(c(1, 0), c(0, 0), c(0, 0))
  one <- rbind(c(1, 1), c(0, 0), c(0, 0))
  moved <- abs(clean(facts, zero) - clean(facts, one))[1:2]
  expect_true(all(moved <= declared(facts)))
  expect_gt(min(moved / declared(facts)), 0.48)
  # One row is replaced among many rows that keep both slopes at their ends.
  facts <- iterate_facts("pocp", 30, family = "binomial", psi = 0.5, ball = 30, columns = 2)
  far <- cbind(rep(0, 30), 1, 0)
  ends <- list(c(1, 0, 0), c(1, 0, 1))
  shifted <- lapply(ends, function(row) clean(facts, rbind(row, far[-1, ])))
  moved <- sqrt(rowSums((shifted[[1]] - shifted[[2]])^2))[1:29]
  expect_true(all(moved <= declared(facts)))
})

test_that("logistic pocp pays once, limits the horizon, and is close to glm() at epsilon = Inf", {
  withr::local_seed(4)
  x <- stats::runif(400, -1, 1)
  rows <- data.frame(x = x, y = stats::runif(400) < stats::plogis(4 * x))
  open <- function(...) {
    dp_online(y ~ x, horizon = 400, bounds = list(y = c(FALSE, TRUE), x = c(-1, 1)),
      family = "binomial", method = "pocp", ...
    )
  }
  ledger <- dp_ledger(1, 1e-6)
  stream <- open(epsilon = 1, ledger = ledger)
  update(stream, rows)
  expect_true(stream$privacy$holds)
  expect_true(all(is.finite(coef(stream))))
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  free <- open(epsilon = Inf, psi = 1e-3)
  update(free, rows)
  expect_equal(unname(coef(free)[["x"]]), coef(glm(y ~ x, binomial, rows))[["x"]], tolerance = 0.2)
  expect_error(
    dp_online(y ~ x, epsilon = 1, horizon = 1e5, bounds = list(y = c(FALSE, TRUE), x = c(-1, 1)),
      family = "binomial", method = "pocp"),
    "20,000", class = "dpsc_error_argument"
  )
})

test_that("published methods pgiga and poffl exceed their stated sensitivities", {
  # For the box of PGIGA, f = -+ 10 v + v^2/2 on [-1, 1] at step 200 gives 0.2, compared with 2 G /
  # (psi t), G = 11.
  shift <- 2 / (1 * 200) * 2 * 10
  expect_equal(shift / (2 * 11 / 200), 1.8182, tolerance = 1e-4)
  # The first rows have the printed step, 2 / (psi t), and the repaired claim, which is half of it.
  printed <- iterate_facts("pgiga", 12, published = TRUE, psi = 1, ball = 10)
  table <- cbind(rep(1, 12), 0)
  other <- table
  table[6, 2] <- 1
  other[6, 2] <- -1
  moved <- max(abs(clean(printed, table) - clean(printed, other)))
  expect_gt(moved / declared(iterate_facts("pgiga", 12, psi = 1, ball = 10))[[6L]], 1.5)
  # Without 1/psi the average of POffL changes by several times the sensitivity that its noise
  # covers.
  facts <- iterate_facts("poffl", 200, published = TRUE, psi = 0.01, clip = 0.1, ball = 100)
  table <- cbind(c(1, rep(0, 199)), 0)
  other <- table
  table[1, 2] <- 1
  other[1, 2] <- -1
  moved <- abs(clean(facts, table) - clean(facts, other))[200]
  expect_gt(moved / declared(facts)[[1L]], 1)
})

test_that("the papers' streams stop at the horizon, state a guarantee and charge a ledger once", {
  withr::local_seed(2)
  x <- stats::runif(300, -1, 1)
  rows <- data.frame(x = x, y = 0.5 * x)
  bounds <- list(y = c(-1, 1), x = c(-1, 1))
  for (method in c("pocp", "pigd", "pgiga", "poffl")) {
    ledger <- dp_ledger(1, 1e-6)
    stream <- dp_online(y ~ 0 + x,
      epsilon = 1, horizon = 300, bounds = bounds, method = method, ledger = ledger
    )
    expect_true(stream$privacy$holds)
    expect_identical(nrow(as.data.frame(ledger)), 1L)
    update(stream, rows)
    expect_identical(glance(stream)$steps, 300)
    expect_true(abs(coef(stream)) <= 1)
    expect_error(update(stream, rows[1, ]), class = "dpsc_error_stream")
    expect_error(checkpoint(stream, tempfile()), class = "dpsc_error_checkpoint")
    published <- dp_online(y ~ 0 + x,
      epsilon = 1, horizon = 300, bounds = bounds, method = method, calibration = "published"
    )
    expect_false(published$privacy$holds)
    expect_output(print(published), "NOT PRIVATE: the nominal epsilon = 1")
    # Without noise the algorithms learn.
    unnoised <- dp_online(y ~ 0 + x, epsilon = Inf, horizon = 300, bounds = bounds, method = method)
    update(unnoised, rows)
    expect_gt(coef(unnoised), 0.2)
  }
  expect_error(dp_online(y ~ x, epsilon = 1, horizon = Inf, bounds = bounds, method = "pigd"),
    class = "dpsc_error_argument")
  expect_error(dp_online(y ~ x, epsilon = 1, horizon = 9, bounds = bounds,
    calibration = "published"),
    class = "dpsc_error_argument")
  expect_error(dp_online(y ~ x, epsilon = 50, horizon = 9, bounds = bounds, method = "pigd",
    calibration = "published"), class = "dpsc_error_argument")
})
