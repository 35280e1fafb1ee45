# The privacy of generalised linear models: attacks on proofs/glm.md.

test_that("the moments of spherical Laplace noise equal their closed form", {
  # Expectations by quadrature over radius and angle.
  slow <- function(t, e, d) {
    f <- function(angle) {
      vapply(angle, function(a) {
        g <- function(r) {
          loss <- (e^2 + 2 * r * e * cos(a)) / (sqrt(r^2 + e^2 + 2 * r * e * cos(a)) + r)
          stats::dgamma(r, d) * exp(t * loss)
        }
        stats::integrate(g, 0, 20, rel.tol = 1e-10)$value +
          stats::integrate(g, 20, Inf, rel.tol = 1e-10)$value
      }, 0) * sin(angle)^(d - 2)
    }
    total <- stats::integrate(function(a) sin(a)^(d - 2), 0, pi, rel.tol = 1e-11)$value
    log(stats::integrate(f, 0, pi, rel.tol = 1e-9)$value / total)
  }
  for (d in c(2L, 3L, 8L)) {
    for (e in c(0.3, 2)) {
      for (t in c(0.5, 7)) {
        expect_lt(abs(spherical_log_moment_cpp(t, e, d) - slow(t, e, d)), 1e-8)
      }
    }
  }
  # The one-dimensional case is computed by hand, with R's Bessel functions.
  t <- 3
  e <- 0.8
  one <- log((t + 1) / (2 * t + 1) * exp(t * e) + t / (2 * t + 1) * exp(-(t + 1) * e))
  expect_equal(spherical_log_moment_cpp(t, e, 1L), one, tolerance = 1e-8)
  for (d in c(2L, 5L, 40L)) {
    for (e in c(0.01, 1, 9)) {
      z <- e / 2
      w <- z * 25
      nu <- (d - 2) / 2
      part <- function(a, b) {
        log(besselK(z, a, TRUE)) - z + log(besselI(w, b, TRUE)) + w + a * log(2 / z) +
          b * log(2 / w)
      }
      both <- c(part(nu, nu + 1), part(nu + 1, nu))
      value <- max(both) + log(sum(exp(both - max(both)))) + d * log(z) + lgamma(d / 2) -
        lgamma((d - 1) / 2) - log(pi) / 2 - lgamma(d) + lgamma(nu + 0.5) + lgamma(nu + 1.5)
      # A margin of 1e-9 is added.
      expect_lt(abs(spherical_log_moment_cpp(12, e, d) - value - 1e-9), 5e-10)
    }
  }
  # The known values were computed by other means.
  known <- rbind(
    c(40, 0.76, 4, 0.6319626020), c(10, 3, 4, 2.5376364691), c(40, 1.16, 31, 0.5593547579),
    c(3, 4.3, 31, 0.8481964127)
  )
  for (i in seq_len(nrow(known))) {
    order <- known[i, 1]
    value <- spherical_log_moment_cpp(order - 1, known[i, 2], as.integer(known[i, 3])) / (order - 1)
    expect_equal(value, known[i, 4], tolerance = 1e-8)
    expect_gte(value, known[i, 4])
  }
  expect_equal(spherical_delta_cpp(1, 1.2, 2L), 0.032627797, tolerance = 1e-5)
  expect_equal(spherical_delta_cpp(1, 1.2, 4L), 0.00491162282, tolerance = 1e-5)
  expect_equal(spherical_delta_cpp(1, 1.2, 11L), 2.1389837e-05, tolerance = 1e-5)
  expect_gte(spherical_delta_cpp(1, 1.2, 4L), 0.00491162282)
})

test_that("calibrations of dp_glm() equal reference values and keep the requested delta", {
  # The values come from the accurate quadrature of the second review; the two-signed form is at
  # most 1.2e-4 smaller.
  wanted <- rbind(
    c(0.5, 0.38637, 0.41530, 0.60145), c(1, 0.76433, 0.81149, 1.16608),
    c(4, 2.99857, 3.07697, 4.32180)
  )
  for (i in 1:3) {
    for (j in 1:3) {
      d <- c(4L, 11L, 31L)[[j]]
      rho <- cdp_rho(wanted[i, 1], 1e-6) * c(0.1, 0.2, 0.2)[[j]]
      found <- calibrate_objective_cpp("pairs", wanted[i, 1], 1e-6, rho, wanted[i, 1] / 2, d)
      expect_equal(found[["reach"]], wanted[i, j + 1], tolerance = 2e-4)
      expect_lt(found[["log.delta"]], log(1e-6))
      # A slightly larger value would fail, so the calibration is not loose either.
      t <- found[["order"]] - 1
      delta <- function(reach, c) {
        objective_log_moment_cpp("pairs", t, reach, c, d) + t * ((t + 1) * rho - wanted[i, 1]) -
          (t + 1) * log1p(1 / t) - log(t)
      }
      expect_gt(delta(found[["reach"]] * 1.001, wanted[i, 1] / 2), log(1e-6))
      # The test notices a fault, half the ridge.
      expect_gt(delta(found[["reach"]], wanted[i, 1]), log(1e-6))
    }
  }
})

# The largest of the terms in the lemma. `split` = 0 gives Lemma 1.
lemma_bound <- function(V, ends, other, c, split) {
  corners <- outer(ends, other, Vectorize(V))
  edges <- vapply(other, function(s) V(0, s), 0)
  if (split == 0) return(max(corners, edges + c))
  inner <- outer(split * ends, other, Vectorize(V))
  max(corners, inner + c * (1 - split), edges + c * split^2)
}

random_lemma <- function(split, k0 = 1, wrong_chord = FALSE) {
  d <- sample(1:3, 1L)
  b <- stats::rnorm(d) * 10^stats::runif(1, -2, 1)
  x <- stats::rnorm(d) * 10^stats::runif(1, -1, 0.5)
  x2 <- stats::rnorm(d) * 10^stats::runif(1, -1, 0.5)
  c <- 10^stats::runif(1, -2, 1)
  h <- if (stats::runif(1) < 0.5) function(v) sqrt(sum(v^2)) else function(v) sum(v^2) / 2
  M <- 10^stats::runif(1, -0.5, 0.5)
  y <- M * stats::rbeta(2, 0.5, 0.5)
  V <- function(s, s2) h(b + s * x - s2 * x2) - h(b)
  ends <- c(-y[[1L]], M - y[[1L]])
  other <- c(-y[[2L]], M - y[[2L]])
  u <- stats::rbeta(2, 0.7, 0.7)
  loss <- V(ends[[1L]] + M * u[[1L]], other[[1L]] + M * u[[2L]]) +
    log1p(k0 * c * u[[1L]] * (1 - u[[1L]]))
  bound <- if (wrong_chord) {
    max(outer(ends, other, Vectorize(V)))
  } else {
    lemma_bound(V, ends, other, c, split)
  }
  loss - bound
}

test_that("Lemmas 1 and 2 of glm.md hold at all tested points; planted faults are detected", {
  # Plants faults 41, 42.
  withr::local_seed(1)
  most <- function(tries, ...) {
    max(replicate(if (is_audit()) tries else tries / 4, random_lemma(...)))
  }
  expect_lte(most(8000, 0), 1e-12)
  for (a in c(0.7072, 0.9)) expect_lte(most(6000, a), 1e-12)
  # In the faults the terms at slope zero are missing, or the curvature is doubled. A search ends
  # with its first example.
  example <- function(tries, ...) {
    largest <- -Inf
    for (i in seq_len(tries)) {
      largest <- max(largest, random_lemma(...))
      if (largest > 0.01) break
    }
    largest
  }
  expect_gt(example(3000, 0, wrong_chord = TRUE), 0.01)
  expect_gt(example(8000, 0.7072, k0 = 3), 0.01)
})

test_that("slopes and curvatures of dp_glm()'s losses equal formulas and keep the proof's bound", {
  t <- c(seq(-30, 30, 0.01), -700, 700)
  for (family in c("binomial", "poisson", "gaussian")) {
    for (span in if (family == "binomial") 1 else c(2, 3.7, 150)) {
      loss <- exact_loss(family, span)
      for (y in if (family == "gaussian") c(-5, 0, 9) else c(0, span / 3, span)) {
        core <- glm_loss_cpp(family, span, t, rep(y, length(t)))
        expect_equal(core$slope, loss$slope(t, y), tolerance = 1e-12)
        expect_equal(core$curvature, loss$curvature(t, y), tolerance = 1e-9)
        expect_identical(c(core$unit, core$bend), c(loss$unit, loss$bend))
        ends <- loss$ends(y)
        u <- (core$slope - ends[[1L]]) / diff(ends)
        expect_true(all(u >= -1e-15 & u <= 1 + 1e-15))
        # For log-cosh the c of the theorem is half of k0 R^2 / Lambda.
        k0 <- if (family == "gaussian") 2 * core$bend else core$bend
        expect_true(all(core$curvature <= k0 * u * (1 - u) + 1e-9))
        # The curvature is the derivative of the slope.
        h <- 1e-5
        near <- abs(t) < 20 & abs(t - log(span / 2)) > 2 * h
        rise <- (loss$slope(t + h, y) - loss$slope(t - h, y))[near] / (2 * h)
        expect_equal(core$curvature[near], rise, tolerance = 1e-6)
      }
    }
  }
})

test_that("exact densities of dp_glm() in one and two dimensions satisfy the Renyi bound", {
  withr::local_seed(4)
  tightest <- 0
  for (d in 1:2) {
    b <- noise_nodes(d)
    for (family in c("binomial", "poisson", "gaussian")) {
      span <- if (family == "binomial") 1 else 2
      for (epsilon in c(0.5, 2)) {
        claim <- exact_claim(epsilon, 1e-2, d, family, span)
        for (k in 1:5) {
          pair <- exact_pair(d, family, span)
          losses <- exact_losses(
            pair[[1L]], pair[[2L]], claim$loss, claim$ridge, claim$kappa, b
          )
          expect_lt(mean(pmax(0, -expm1(epsilon - losses))), 1e-2)
          for (t in c(1, 6)) {
            bound <- objective_log_moment_cpp(claim$slopes, t, claim$reach, claim$c, d)
            expect_lte(log(mean(exp(t * losses))), bound + 1e-3)
          }
          tightest <- max(tightest, mean(pmax(0, -expm1(epsilon - losses))) / 1e-2)
        }
      }
    }
  }
  # No delta reaches a point of the privacy curve given by one order, but the largest delta is close
  # to it.
  expect_gt(tightest, 0.1)
})

test_that("at delta = 0 dp_glm()'s log density ratios are within epsilon with the full ridge", {
  # Plants faults 43.
  withr::local_seed(5)
  largest <- faulty <- 0
  for (d in 1:2) {
    b <- noise_nodes(d, radii = 60L, angles = 36L)
    for (family in c("binomial", "poisson", "gaussian")) {
      span <- if (family == "binomial") 1 else 2
      claim <- exact_claim(1, 0, d, family, span)
      for (k in 1:6) {
        pair <- exact_pair(d, family, span)
        loss_at <- function(ridge) {
          max(abs(exact_losses(pair[[1L]], pair[[2L]], claim$loss, ridge, claim$kappa, b)))
        }
        largest <- max(largest, loss_at(claim$ridge))
        faulty <- max(faulty, loss_at(claim$ridge / 4))
      }
    }
  }
  expect_lte(largest, 1 + 1e-9)
  expect_gt(largest, 0.95)
  expect_gt(faulty, 1.01)
})

test_that("by exact densities the loss of dp_glm() under linear constraints is within epsilon", {
  # Plants faults 44.
  withr::local_seed(5)
  largest <- sprung <- faulty <- moved <- 0
  for (family in c("binomial", "poisson", "gaussian")) {
    span <- if (family == "binomial") 1 else 2
    claim <- exact_claim(1, 0, 2L, family, span)
    for (k in 1:8) {
      pair <- exact_pair(2L, family, span)
      # Half of the pairs have the same regressors, so that their outcomes may differ most.
      m <- nrow(pair[[1L]]$x)
      if (k %% 2) {
        pair[[2L]]$x[m, ] <- pair[[1L]]$x[m, ]
        pair[[2L]]$w[[m]] <- pair[[1L]]$w[[m]]
      }
      normal <- stats::rnorm(2)
      limit <- stats::rnorm(1) * claim$kappa / claim$ridge
      loss_at <- function(ridge, ...) {
        max(abs(exact_half_plane(pair[[1L]], pair[[2L]], claim$loss, ridge, claim$kappa, normal,
          limit, nodes = 70L, ...)$loss))
      }
      largest <- max(largest, loss_at(claim$ridge))
      sprung <- max(sprung, loss_at(claim$ridge, stiff = 30 * claim$ridge))
      faulty <- max(faulty, loss_at(claim$ridge / 4))
      # The fault is a limit that depends on the rows.
      moved <- max(moved, loss_at(claim$ridge,
        stiff = 30 * claim$ridge, moved = limit + 0.3 * claim$kappa / claim$ridge
      ))
    }
  }
  expect_lte(max(largest, sprung), 1 + 1e-9)
  expect_gt(min(largest, sprung), 0.95)
  expect_gt(faulty, 1.1)
  expect_gt(moved, 2)
  # With delta > 0 the faces and the interior together satisfy the Renyi bound.
  for (family in c("binomial", "gaussian")) {
    claim <- exact_claim(1, 1e-2, 2L, family, if (family == "binomial") 1 else 2)
    for (k in 1:3) {
      pair <- exact_pair(2L, family, claim$loss$unit)
      limit <- stats::rnorm(1) * claim$kappa / claim$ridge
      both <- exact_half_plane(
        pair[[1L]], pair[[2L]], claim$loss, claim$ridge, claim$kappa, stats::rnorm(2), limit
      )
      # The density on the face is correct, since the masses add up to one.
      expect_equal(sum(both$mass), 1, tolerance = 2e-3)
      expect_gt(sum(both$edge), 0.01)
      expect_lt(sum(both$mass * pmax(0, -expm1(1 - both$loss))), 1e-2)
      for (t in c(1, 6)) {
        bound <- objective_log_moment_cpp(claim$slopes, t, claim$reach, claim$c, 2L)
        expect_lte(log(sum(both$mass * exp(t * both$loss))), bound + 3e-3)
      }
    }
  }
})

test_that("solutions of dp_glm() under linear limits satisfy the normal-cone condition", {
  data <- glm_people(3000)
  facts <- glm_facts_of(n = 3000, epsilon = 3, intervals = FALSE)
  A <- rbind(c(1, 1), c(0, -1), c(1, 0))
  b <- c(-0.2, 0.5, 5)
  facts$wishes <- list(
    lasso = 0, ridge = 0, group = 0, groups = list(), lower = rep(-1e300, 2), upper = rep(1e300, 2),
    A = A, b = b, equal = rep(FALSE, 3)
  )
  found <- solved_glm(glm_table_of(data), facts, c(1, -1, 2))
  gradient <- found$gradient(found$theta)
  S <- slope_map(found$release, facts)
  left <- b - drop(A %*% S %*% found$theta[-1])
  expect_gt(min(left), -2e-3)
  expect_lt(max(abs(left[1:2])), 2e-3)
  # If two constraints bind in two dimensions, their forces solve one linear system and point
  # outwards.
  force <- solve(t(A[1:2, ] %*% S), -gradient[-1])
  expect_true(all(force > 0))
  expect_lt(abs(gradient[[1L]]), 0.3)
})

test_that("in one dimension dp_glm()'s worst pair attains epsilon, and exceeds it at half ridge", {
  # Plants faults 45.
  claim <- exact_claim(1, 0, 1L, "binomial", 1)
  worst <- function(ridge) max(exact_worst(claim$loss, ridge, claim$kappa))
  expect_lte(worst(claim$ridge), 1 + 1e-9)
  expect_gt(worst(claim$ridge), 0.999)
  expect_gt(worst(claim$ridge / 2), 1.04)
})

test_that("dp_glm() keeps its delta if noise radii have the right gamma shape, not a smaller one", {
  claim <- exact_claim(1, 1e-2, 2L, "binomial", 1)
  delta <- function(shape) mean(pmax(0, -expm1(1 - exact_opposite(claim, shape))))
  expect_lt(delta(2), 1e-2)
  expect_gt(delta(1), 2e-2)
  # The sampler draws the right distribution of lengths.
  norms <- replicate(4000, sqrt(sum(gamma_norm_noise_cpp(5L, 2, "secure")^2)))
  expect_gt(stats::ks.test(norms, "pgamma", shape = 5, scale = 2)$p.value, 1e-6)
  expect_lt(stats::ks.test(norms, "pgamma", shape = 1, scale = 2)$p.value, 1e-6)
})

test_that("scaled rows of dp_glm() stay within their limits for extreme and missing values", {
  withr::local_seed(1)
  formula <- y ~ a + b + I(a^2) + g
  data <- glm_people(1000)
  far <- data
  far[c("a", "b")] <- lapply(far[c("a", "b")], function(x) {
    x * 10^stats::runif(length(x), -3, 5) * sample(c(-1, 1), length(x), TRUE)
  })
  far$a[1:20] <- c(Inf, -Inf, NA, NaN, 1e308)
  far$y[30] <- NA
  far$g[31] <- "unknown"
  for (family in c("binomial", "poisson", "gaussian")) {
    facts <- glm_facts_of(formula, n = 1000, family = family)
    p <- length(facts$design$columns)
    table <- glm_table_of(data, formula, family)
    release <- glm_audit_cpp(table, facts, rep(0.1, p + 1), "R", NULL)$release
    rows <- glm_rows_cpp(glm_table_of(far, formula, family), facts, release)
    length <- sqrt(rowSums(rows$x^2))
    expect_equal(rows$limit, sqrt(p + 1))
    expect_lte(max(rows$weight * length), rows$limit)
    expect_lte(max(rows$weight * length^2), rows$limit^2)
    expect_gt(max(rows$weight * length), rows$limit * 0.999)
    expect_true(all(is.finite(rows$x)) && all(rows$x[, 1] == 1))
    # Infinity and 1e308 are clipped to the bound; NaN is missing.
    gone <- c(which(is.na(far$a)), 30, 31)
    expect_identical(rows$weight[gone], rep(0, 10))
    expect_true(all(rows$weight[-gone] > 0))
    loss <- exact_loss(family, release$span)
    if (family != "gaussian") {
      expect_true(all(rows$outcome >= 0 & rows$outcome <= loss$unit))
    }
  }
})

test_that("every step of dp_glm() except the minimiser costs no more than declared", {
  withr::local_seed(9)
  reached <- list()
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- glm_people(400, family)
    top <- glm_bounds(family)$y
    for (delta in c(1e-6, 0)) {
      for (k in 1:12) {
        pair <- lapply(1:2, function(i) {
          c(a = sample(c(-20, 20, 3, NA), 1), b = sample(c(-5, 5, 0), 1), y = sample(c(top, 0), 1))
        })
        one <- two <- data
        one[1L, c("a", "b", "y")] <- as.list(pair[[1L]])
        two[1L, c("a", "b", "y")] <- as.list(pair[[2L]])
        ratio <- glm_replayed(one, two, family, delta, stats::rnorm(3))
        # The minimiser itself changes, and its distance from the exact minimiser cannot be measured
        # here.
        ratio <- ratio[names(ratio) != "accuracy of the solver"]
        expect_lte(max(ratio), 1 + 1e-9)
        for (name in names(ratio)) reached[[name]] <- max(reached[[name]], ratio[[name]])
      }
    }
  }
  expect_gt(max(unlist(reached[grep("^moments", names(reached))])), 0.7)
  expect_gt(reached[["cap of the outcome"]], 0.9)
  # The curvature is rarely largest in both data sets, so the limit is low.
  expect_gt(reached[["information"]], 0.1)
  expect_gt(max(unlist(reached[grep("^median", names(reached))])), 0.4)
})

test_that("the minimiser of dp_glm() is within the declared distance of the exact minimiser", {
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- glm_people(3000, family)
    for (epsilon in c(0.3, 3)) {
      facts <- glm_facts_of(n = 3000, epsilon = epsilon, family = family)
      found <- solved_glm(glm_table_of(data, family = family), facts, c(2, -1, 3))
      release <- found$release
      call <- found$call
      grid <- found$grid
      expect_true(all(call$value == round(call$value)))
      # sensitivity^2 / (V - 16) = mu^2, sensitivity = 2 tau / (ridge grid) + sqrt(d).
      steps <- glm_plan_cpp(facts)$steps
      mu <- steps$mu[steps$step == "accuracy of the solver"]
      moves <- mu * sqrt(call$scale[[1L]] - 16)
      tolerance <- (moves - sqrt(3)) / 2 * release$ridge * grid
      expect_gt(tolerance, 0)
      # Rounding to the grid also changes the gradient, so the exact minimiser is computed.
      exact <- found$theta
      for (i in 1:20) {
        t <- drop(found$rows$x %*% exact)
        curve <- found$rows$weight * found$loss$curvature(t, found$rows$outcome)
        H <- crossprod(found$rows$x, curve * found$rows$x)
        exact <- exact - drop(solve(H + diag(release$ridge, 3), found$gradient(exact)))
      }
      far <- sqrt(sum((found$theta - exact)^2))
      expect_lte(far, tolerance / release$ridge + sqrt(3) * grid / 2)
      # The noise that covers the solver's error is small compared with the noise of the estimate.
      noise <- release$kappa * 2 / (max(eigen(H)$values) + release$ridge)
      expect_lt(release$out.sd, 0.2 * noise)
    }
  }
})

test_that("minimisers of dp_glm() with penalties or limits satisfy the optimality conditions", {
  data <- glm_people(3000)
  wanted <- list(
    list(lasso = 0.03, ridge = 0.01, lower = rep(-1e300, 2), upper = rep(1e300, 2)),
    list(lasso = 0, ridge = 0, lower = c(-1e300, -0.2), upper = c(0.1, 1e300)),
    list(lasso = 0.2, ridge = 0, lower = c(0.05, -1e300), upper = rep(1e300, 2))
  )
  active <- NULL
  for (wish in wanted) {
    facts <- glm_facts_of(n = 3000, epsilon = 3, intervals = FALSE)
    facts$wishes <- c(wish, list(group = 0, groups = list()))
    found <- solved_glm(glm_table_of(data), facts, c(1, -1, 2))
    gradient <- found$gradient(found$theta)
    # The columns have the standard deviations of the release.
    S <- slope_map(found$release, facts)
    sd <- sqrt(colSums(solve(S)^2))
    z <- drop(sd * S %*% found$theta[-1])
    force <- drop(solve(t(sd * S), gradient[-1])) + 3000 * wish$ridge * z
    near <- 1e-4 * max(1, abs(z))
    lower <- wish$lower * sd
    upper <- wish$upper * sd
    for (j in 1:2) {
      at_lower <- abs(z[[j]] - lower[[j]]) < near
      at_upper <- abs(z[[j]] - upper[[j]]) < near
      at_zero <- abs(z[[j]]) < near
      weight <- 3000 * wish$lasso
      low <- if (at_lower) -Inf else if (at_zero || z[[j]] < 0) -weight else weight
      high <- if (at_upper) Inf else if (at_zero || z[[j]] > 0) weight else -weight
      expect_gt(-force[[j]], low - 0.01 * 3000 * 1e-2)
      expect_lt(-force[[j]], high + 0.01 * 3000 * 1e-2)
    }
    expect_lt(abs(gradient[[1L]]), 0.3)
    active <- c(active, abs(c(z, z - lower, z - upper)) < near)
  }
  expect_gt(sum(active), 1)
})

test_that("plans of dp_glm() spend the whole budget and no more", {
  for (family in c("binomial", "poisson", "gaussian")) {
    for (n in c(60, 3000, 1e6)) {
      for (epsilon in c(0.2, 1, 8)) {
        for (delta in c(0, 1e-6)) {
          facts <- glm_facts_of(n = n, epsilon = epsilon, delta = delta, family = family)
          plan <- glm_plan_cpp(facts)
          steps <- plan$steps
          own <- steps$step == "linear term of the objective"
          if (delta == 0) {
            expect_lte(sum(steps$epsilon), epsilon)
            expect_gt(sum(steps$epsilon), epsilon * (1 - 1e-9))
            expect_identical(plan$c, plan$reach / 2)
          } else {
            cost <- ifelse(steps$law == "exponential", (steps$sensitivity / steps$scale)^2 / 8,
              steps$mu^2 / 2)
            expect_equal(plan$rho, sum(cost[!own]), tolerance = 1e-9)
            t <- plan$order - 1
            slopes <- glm_families[[family]]$slopes
            log_delta <- objective_log_moment_cpp(slopes, t, plan$reach, plan$c, 3L) +
              t * ((t + 1) * plan$rho - epsilon) - (t + 1) * log1p(1 / t) - log(t)
            expect_lt(log_delta, log(delta))
            expect_gt(log_delta, log(delta) - 1e-3)
          }
        }
      }
    }
  }
})

test_that("noise draws of dp_glm() do not depend on people, even if their rows are missing", {
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- glm_people(300, family)
    gone <- data
    gone$y[] <- NA
    ratio <- glm_replayed(data, gone, family, 1e-6, c(1, 0, 0))
    expect_true(all(is.finite(ratio)))
  }
})

test_that("in dp_glm() the order of rows changes only rounding errors, by at most one unit", {
  data <- glm_people(3000)
  facts <- glm_facts_of(n = 3000)
  first <- glm_audit_cpp(glm_table_of(data), facts, c(1, 2, 3), "R", NULL)
  outputs <- lapply(first$calls, `[[`, "output")
  turned <- glm_table_of(data[rev(seq_len(3000)), ])
  second <- glm_audit_cpp(turned, facts, c(1, 2, 3), "R", outputs)
  values <- function(run) lapply(run$calls, `[[`, "value")
  at <- which(vapply(first$calls, `[[`, "", "label") == "accuracy of the solver")
  expect_identical(values(first)[-at], values(second)[-at])
  expect_lte(max(abs(values(first)[[at]] - values(second)[[at]])), 1)
})

test_that("no object by dp_glm() contains a person's value or a sum without noise", {
  data <- glm_people(300)
  formula <- y ~ a + b
  fit <- suppressWarnings(seeded_glm(formula, data, epsilon = 1, bounds = glm_bounds()))
  X <- cbind(1, data$a, data$b)
  plain <- suppressWarnings(stats::glm(formula, stats::binomial(), data))
  secrets <- c(
    data$a, data$b, data$a / 20, data$b / 5, crossprod(X)[-1], colMeans(X)[-1],
    crossprod(X, data$y), stats::cov(X[, -1]), stats::coef(plain), stats::residuals(plain),
    stats::fitted(plain), stats::vcov(plain), stats::deviance(plain), stats::hatvalues(plain)
  )
  newdata <- data.frame(a = 1:3, b = 0)
  objects <- list(
    fit, summary(fit), tidy(fit, conf.int = TRUE), glance(fit), augment(fit, newdata),
    predict(fit, newdata, "response", "confidence"), vcov(fit), formula(fit),
    utils::capture.output(print(fit)), utils::capture.output(print(summary(fit))), report(fit)
  )
  for (object in objects) expect_no_canary(object, secrets, "object")
  expect_match(canary_found(list(fit, data$a[[3]]), secrets), "a number")
  kinds <- rapply(unclass(fit), function(x) is.environment(x) || is.function(x), how = "unlist")
  expect_false(any(kinds))
})
