# Gaussian differential privacy of single steps (inst/proofs/accounting.md), compared with
# distributions whose delta can be summed exactly.

# delta(epsilon) of two finite distributions, for epsilon of any sign.
delta_of <- function(p, q, epsilon) {
  vapply(epsilon, function(e) sum(pmax(p - exp(e) * q, 0)), 0)
}

# The delta of two Gaussians at distance mu, with an error of about 1e-16.
gaussian_curve <- function(mu, epsilon) {
  stats::pnorm(mu / 2 - epsilon / mu) - exp(epsilon) * stats::pnorm(-mu / 2 - epsilon / mu)
}

test_that("an exponential draw of exponent x has shift 2 probit(logistic(x / 2)), rounded up", {
  x <- c(1e-8, 1e-3, 0.1, 1, 1.999, 2, 2.001, 5, 30, 800, 2000)
  mu <- vapply(x, exponential_step_mu_cpp, 0)
  exact <- -2 * stats::qnorm(stats::plogis(-x / 2, log.p = TRUE), log.p = TRUE)
  expect_equal(mu, exact, tolerance = 1e-8)
  expect_true(all(mu[x >= 0.1] >= exact[x >= 0.1]))
  expect_equal(exponential_step_mu_cpp(1e-300) / 1e-300, sqrt(2 * pi) / 4, tolerance = 1e-11)
  expect_identical(exponential_step_mu_cpp(0), 0)
  # Conversion in both directions never exceeds the original value.
  mu <- 10^seq(-12, 2, by = 0.25)
  again <- vapply(mu, function(m) exponential_step_mu_cpp(exponential_exponent_cpp(m)), 0)
  expect_true(all(again <= mu) && all(again >= mu * (1 - 1e-11)))
})

test_that("delta for losses within a range is below a Gaussian curve that a binary test attains", {
  set.seed(1)
  epsilon <- seq(-6, 6, by = 0.1)
  worst <- -Inf
  for (x in c(0.05, 0.3, 1, 3, 8)) {
    mu <- exponential_step_mu_cpp(x)
    bound <- gaussian_curve(mu, epsilon)
    for (i in seq_len(if (is_audit()) 300 else 60)) {
      size <- sample(2:6, 1)
      q <- stats::rgamma(size, sample(c(0.1, 1, 5), 1)) + 1e-9
      q <- q / sum(q)
      # The losses are arbitrary within a range of x, and half of them take only the end points.
      loss <- x * if (i %% 2) stats::runif(size) else sample(0:1, size, TRUE)
      p <- q * exp(loss) / sum(q * exp(loss))
      expect_lte(max(delta_of(p, q, epsilon) - bound), 1e-14)
      expect_lte(max(delta_of(q, p, epsilon) - bound), 1e-14)
    }
    # A binary test at any location on the line. In the middle both type II errors are equal.
    type2_excess <- function(logit, shift) {
      q <- stats::plogis(logit - x)
      stats::plogis(-logit) - stats::pnorm(stats::qnorm(q, lower.tail = FALSE) - shift)
    }
    places <- seq(-8, 8 + x, by = 0.05)
    expect_true(all(type2_excess(places, mu) >= -1e-14))
    expect_equal(type2_excess(x / 2, mu), 0, tolerance = 1e-10)
    expect_lt(type2_excess(x / 2, mu * (1 - 1e-6)), 0)
  }
})

test_that("the exponential mechanism for counts does not exceed its Gaussian privacy curve", {
  set.seed(2)
  epsilon <- seq(-3, 3, by = 0.1)
  for (i in seq_len(200)) {
    x <- stats::runif(1, 0.1, 3)
    size <- sample(2:8, 1)
    utility <- stats::rpois(size, 3)
    moved <- utility + sample(0:1, size, TRUE)
    p <- exp(x * utility) / sum(exp(x * utility))
    q <- exp(x * moved) / sum(exp(x * moved))
    bound <- gaussian_curve(exponential_step_mu_cpp(x), epsilon)
    expect_lte(max(delta_of(p, q, epsilon) - bound), 1e-14)
    expect_lte(max(delta_of(q, p, epsilon) - bound), 1e-14)
  }
})

test_that("a discrete Gaussian is a rounded Gaussian up to the error bound in the proof", {
  # With small t2 the error exp(-2 pi^2 t2) of the lemma is visible.
  for (t2 in c(0.3, 0.6, 1)) {
    s2 <- 3
    whole <- -60:60
    image <- vapply(-5:5, function(k) {
      stats::integrate(function(y) {
        theta <- vapply(y, function(v) sum(exp(-(whole - v)^2 / (2 * t2))), 0)
        stats::dnorm(y, sd = sqrt(s2 - t2)) * exp(-(k - y)^2 / (2 * t2)) / theta
      }, -25, 25, rel.tol = 1e-12, subdivisions = 2000L)$value
    }, 0)
    error <- 2.01 * exp(-2 * pi^2 * t2)
    ratio <- image / discrete_gaussian_mass(-5:5, s2)
    expect_true(all(abs(log(ratio)) <= -2 * log1p(-error) + 1e-10))
  }
  expect_lt(2.01 * exp(-2 * pi^2 * 16), 1e-136)
})

test_that("discrete Gaussians stay below the privacy curve of their mu at integer shifts", {
  epsilon <- seq(0, 4, by = 0.125)
  k <- -1500:1500
  for (mu in c(0.3, 1, 2.5)) {
    for (shift in c(1, 2, 7, 40)) {
      variance <- gaussian_vector_variance_cpp(shift, mu)
      p <- discrete_gaussian_mass(k, variance)
      q <- discrete_gaussian_mass(k - shift, variance)
      expect_lte(max(delta_of(p, q, epsilon) - gaussian_curve(mu, epsilon)), 1e-14)
    }
    # A variance large compared with 16 reaches the curve.
    expect_equal(delta_of(p, q, 0), gaussian_curve(mu, 0), tolerance = 0.02)
  }
  expect_identical(gaussian_vector_variance_cpp(4, 1), 33)
  expect_identical(gaussian_step_variance_cpp(4, 1), 66)
})

test_that("variances of integer noise give at most, and almost, the requested Gaussian shift mu", {
  set.seed(3)
  for (i in seq_len(200)) {
    R <- 2^sample(6:12, 1)
    bound <- R^2 + sample.int(R, 1)^2
    mu <- 10^stats::runif(1, -3, 1)
    V <- gaussian_step_variance_cpp(bound, mu)
    expect_identical(2 * floor(V / 2), V)
    # The variance is V - 16 on the diagonal and V / 2 - 16 off it, both at least (V - 32) times the
    # weight of the entry.
    u <- stats::rnorm(5)
    v <- stats::rnorm(5)
    u <- u * sqrt(bound / sum(u^2))
    v <- v * sqrt(bound / sum(v^2))
    D <- outer(u, u) - outer(v, v)
    cost <- sum(diag(D)^2) / (V - 16) + sum(D[upper.tri(D)]^2) / (V / 2 - 16)
    expect_lte(cost, mu^2 * (1 - 5e-13))
    expect_lte(2 * bound^2 / (V - 32), mu^2 * (1 - 5e-13))
    expect_lte(gaussian_step_mu_cpp(bound, V), mu)
    expect_gte(gaussian_step_mu_cpp(bound, V), mu * (1 - mu^2 / bound^2) * (1 - 1e-11))
  }
  # Orthogonal vectors attain the bound.
  expect_equal(sum((outer(c(3, 0), c(3, 0)) - outer(c(0, 3), c(0, 3)))^2), 2 * 9^2)
})

test_that("choices and Gaussian noise together stay just below the budget's privacy curve", {
  delta <- 1e-6
  shares <- c(0.015, 0.97, 0.015)
  for (epsilon in c(0.5, 1, 4)) {
    mu <- gdp_budget_cpp(epsilon, delta)
    expect_lte(gdp_compose_cpp(mu * sqrt(shares)), mu * (1 + 1e-13))
    exponent <- exponential_exponent_cpp(mu * sqrt(shares[[1L]]))
    expect_lte(exponential_step_mu_cpp(exponent), mu * sqrt(shares[[1L]]))
    rest <- mu * sqrt(shares[[2L]])
    # Two binary tests precede the Gaussian, over a grid of locations of both tests. There are four
    # outcomes, computed exactly.
    total <- function(a, b) {
      loss <- function(p, x) {
        logit <- stats::qlogis(p)
        c(log(p / stats::plogis(logit - x)), log((1 - p) / stats::plogis(x - logit)))
      }
      all <- expand.grid(first = 1:2, second = 1:2)
      mass <- c(a, 1 - a)[all$first] * c(b, 1 - b)[all$second]
      sum(mass * gaussian_curve(
        rest, epsilon - loss(a, exponent)[all$first] - loss(b, exponent)[all$second]
      ))
    }
    places <- stats::plogis(seq(-4, 4, by = 0.25))
    found <- max(outer(places, places, Vectorize(total)))
    expect_lte(found, delta)
    expect_gte(found, 0.75 * delta)
  }
})

test_that("a total Gaussian shift mu is converted back to its epsilon", {
  for (delta in c(1e-12, 1e-6, 0.1)) {
    for (epsilon in c(0, 1e-3, 1, 30)) {
      mu <- gdp_budget_cpp(epsilon, delta)
      expect_lt(mu, gaussian_mu_cpp(epsilon, delta))
      expect_equal(gdp_epsilon_cpp(mu, delta), epsilon, tolerance = 1e-9)
      expect_lte(gaussian_delta(gdp_epsilon_cpp(mu, delta), 1 / mu), delta)
    }
  }
  expect_identical(gdp_epsilon_cpp(0, 1e-6), 0)
  expect_identical(gdp_epsilon_cpp(1e-8, 1e-6), 0)
  expect_identical(gdp_compose_cpp(numeric()), 0)
  expect_equal(gdp_compose_cpp(c(3, 4)), 5)
  expect_identical(gdp_compose_cpp(c(3e200, Inf)), Inf)
  expect_equal(gdp_compose_cpp(c(3e200, 4e200)), 5e200)
})

test_that("for method gram accounting by zCDP needs 4.7 to 6.8 % more noise than by GDP", {
  shares <- c(radius1 = 0.015, moments1 = 0.25, radius2 = 0.015, moments2 = 0.72)
  # The shares are unchanged and all steps are scaled together. The values come from an independent
  # computation.
  pins <- c("0.5" = 1.0677, "1" = 1.0634, "2" = 1.0587, "4" = 1.0533, "8" = 1.0468)
  for (epsilon in names(pins)) {
    rho <- cdp_rho(as.numeric(epsilon), 1e-6)
    mu <- gdp_budget_cpp(as.numeric(epsilon), 1e-6)
    excess <- function(factor) {
      radii <- vapply(factor * sqrt(8 * shares[c(1, 3)] * rho), exponential_step_mu_cpp, 0)
      sum(radii^2) + 2 * rho * sum(shares[c(2, 4)]) * factor^2 - mu^2
    }
    expect_equal(
      stats::uniroot(excess, c(1, 1.2), tol = 1e-10)$root, pins[[epsilon]], tolerance = 5e-5
    )
  }
})

l1_of_moments <- function(w, v, constant) {
  D <- outer(w, w) - outer(v, v)
  sum(abs(D[upper.tri(D, diag = TRUE)])) + constant * sum(abs(w - v))
}

test_that("no pair of rows exceeds the L1 sensitivity of moments, but some nearly attain it", {
  set.seed(4)
  for (d in c(1, 2, 5, 10)) {
    for (kappa2 in c(0.1, 0.5, 1)) {
      R <- 64
      K <- round(sqrt(kappa2) * R)
      bound <- laplace_gram_sensitivity_cpp(R, K, d)
      expect_lte(bound, (R^2 + K^2) * sqrt(d * (d + 5) / 2) * (1 + 1e-11))
      expect_lte(bound, R^2 * sqrt(d * (d + 3) / 2) * (1 + 1e-11) + 2 * K * sqrt(d) * R)
      on_sphere <- function(w) w * R / max(R, sqrt(sum(w^2)))
      value <- function(both) {
        l1_of_moments(on_sphere(both[seq_len(d)]), on_sphere(both[-seq_len(d)]), K)
      }
      # The rows begin along the two worst sign patterns and are then refined. They are truncated to
      # integers.
      found <- 0
      for (start in if (is_audit()) seq_len(12) else 4:9) {
        both <- stats::rnorm(2 * d, sd = R)
        if (start <= 6) both <- R / sqrt(d) * sample(c(-1, 1), 2 * d, TRUE)
        best <- stats::optim(both, value, control = list(fnscale = -1, maxit = 1500))
        found <- max(found, best$value)
        w <- trunc(on_sphere(best$par[seq_len(d)]))
        v <- trunc(on_sphere(best$par[-seq_len(d)]))
        expect_lte(l1_of_moments(w, v, K), bound)
      }
      expect_lte(found, bound)
      # For d = 1 there are only two directions.
      if (d > 1) expect_gt(found, 0.85 * bound)
    }
  }
})

test_that("no pair of small integer rows exceeds the L1 sensitivity of moments", {
  for (case in list(c(3, 1), c(3, 3), c(5, 2))) {
    R <- case[[1L]]
    K <- case[[2L]]
    rows <- as.matrix(expand.grid(-R:R, -R:R))
    rows <- rows[rowSums(rows^2) <= R^2, ]
    most <- 0
    for (i in seq_len(nrow(rows))) {
      for (j in seq_len(i)) most <- max(most, l1_of_moments(rows[i, ], rows[j, ], K))
    }
    expect_lte(most, laplace_gram_sensitivity_cpp(R, K, 2))
    # The last entry is free, since a row may be missing, so the corner is an entry like any other.
    expect_lte(most, laplace_outer_sensitivity_cpp(R^2 + K^2, 3))
  }
})

test_that("no random pair of vectors exceeds the L1 sensitivity of unconstrained outer products", {
  for (m in c(2, 3, 5)) {
    bound <- laplace_outer_sensitivity_cpp(4, m)
    set.seed(m)
    most <- max(replicate(300, {
      u <- stats::rnorm(m)
      v <- stats::rnorm(m)
      l1_of_moments(2 * u / sqrt(sum(u^2)), 2 * v / sqrt(sum(v^2)), 0)
    }))
    expect_lte(most, bound)
  }
  # For m = 1 there is no second direction, so the value is compared with the bound.
  expect_equal(laplace_outer_sensitivity_cpp(4, 1), 4 * sqrt(2), tolerance = 1e-11)
})

test_that("functions for Gaussian differential privacy refuse arguments outside their range", {
  expect_error(exponential_step_mu_cpp(-1))
  expect_error(exponential_exponent_cpp(NaN))
  expect_error(gdp_epsilon_cpp(1, 0))
  expect_error(gaussian_vector_variance_cpp(1, 0))
  expect_error(gaussian_vector_mu_cpp(1, 16))
  expect_error(laplace_gram_sensitivity_cpp(1, 1, 0))
  expect_error(gdp_compose_cpp(c(1, -1)))
})
