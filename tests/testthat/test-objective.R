# A slow oracle that tries every face of C and keeps the point that satisfies the conditions for a
# minimum. The codes are 0 for zero, +-1 for free, +-2 for the cap.
brute_force_minimum <- function(h, g, cap) {
  n <- length(g)
  codes <- as.matrix(expand.grid(rep(list(-2:2), n)))
  for (row in seq_len(nrow(codes))) {
    code <- codes[row, ]
    for (on_sum in c(TRUE, FALSE)) {
      if (!on_sum && any(code == 0)) next
      free <- abs(code) == 1
      f <- ifelse(abs(code) == 2, sign(code) * cap, 0)
      theta <- 0
      if (any(free)) {
        s <- sign(code[free])
        rhs <- g[free] - h[free, , drop = FALSE] %*% f
        if (on_sum) {
          system <- rbind(cbind(h[free, free, drop = FALSE], s), c(s, 0))
          answer <- tryCatch(solve(system, c(rhs, 1 - sum(abs(f)))), error = function(e) NULL)
          if (is.null(answer)) next
          f[free] <- answer[seq_along(s)]
          theta <- answer[[length(answer)]]
        } else {
          f[free] <- solve(h[free, free, drop = FALSE], rhs)
        }
      } else if (on_sum) {
        if (abs(sum(abs(f)) - 1) > 1e-9) next
        pull <- sign(code) * (g - drop(h %*% f))
        theta <- max(0, abs(g - drop(h %*% f))[code == 0])
        if (any(pull[abs(code) == 2] < theta)) next
      }
      if (kkt_violation(h, g, cap, f, theta) < 1e-9) {
        return(f)
      }
    }
  }
  stop("no face has a minimum")
}

kkt_violation <- function(h, g, cap, f, theta) {
  pull <- g - drop(h %*% f)
  size <- abs(f)
  capped <- size >= cap - 1e-12
  inside <- size > 1e-12 & !capped
  max(
    sum(size) - 1, size - cap, -theta, theta * (1 - sum(size)),
    abs(pull - theta * sign(f))[inside], (theta - pull * sign(f))[capped],
    (abs(pull) - theta)[size <= 1e-12], 0
  )
}

test_that("the projection onto the bounded set of method objective meets the KKT conditions", {
  withr::local_seed(1)
  for (i in 1:100) {
    n <- sample(c(1, 2, 5, 40), 1)
    cap <- stats::runif(1, 0.01, 1.2)
    z <- stats::rnorm(n) * 10^stats::runif(1, -3, 3)
    if (i %% 5 == 0) z <- round(z) # ties
    p <- project_capped_l1_cpp(z, cap)
    theta <- max(0, (abs(z) - abs(p))[abs(p) > 1e-12 & abs(p) < cap - 1e-12])
    if (all(abs(p) <= 1e-12 | abs(p) >= cap - 1e-12)) {
      theta <- if (sum(abs(p)) < 1 - 1e-9) 0 else max(0, abs(z)[abs(p) <= 1e-12])
    }
    expect_lt(kkt_violation(diag(n), z, cap, p, theta) / max(1, abs(z)), 1e-9)
  }
})

test_that("the solver of method objective finds the same minimum as an enumeration of all faces", {
  withr::local_seed(2)
  for (i in 1:40) {
    n <- sample(2:4, 1)
    T0 <- 3
    x <- matrix(stats::runif(n * T0, -1, 1), n)
    mu <- 10^stats::runif(1, -2, 2)
    cap <- sample(c(1, 0.6, 0.35, 0.1), 1)
    g <- stats::rnorm(n) * 10^stats::runif(1, -1, 2)
    exact <- brute_force_minimum(2 * tcrossprod(x) + mu * diag(n), g, cap)
    answer <- capped_l1_qp_cpp(x, g, mu, cap, 1e-10)
    expect_true(answer$certified)
    expect_lte(sqrt(sum((answer$solution - exact)^2)), max(answer$distance, 1e-9))
  }
})

test_that("the certificate of method objective bounds the solver's error at three tolerances", {
  withr::local_seed(3)
  for (mu in c(1e-3, 0.1, 10, 1e4, 1e8)) {
    n <- 150
    T0 <- 12
    x <- matrix(0.9 * sin(seq_len(T0)), n, T0, byrow = TRUE) +
      matrix(stats::runif(n * T0, -0.1, 0.1), n)
    g <- 2 * drop(x %*% sin(seq_len(T0))) + 10 * stats::rnorm(n)
    cap <- 2 / sqrt(n)
    best <- capped_l1_qp_cpp(x, g, mu, cap, 0)
    h <- 2 * tcrossprod(x) + mu * diag(n)
    f <- best$solution
    inside <- abs(f) > 0 & abs(f) < cap
    theta <- if (sum(abs(f)) < 1 - 1e-9) 0 else stats::median(abs(g - drop(h %*% f))[inside])
    expect_lt(kkt_violation(h, g, cap, f, theta) / max(abs(g)), 1e-7)
    for (tolerance in c(1, 1e-2, 1e-5)) {
      loose <- capped_l1_qp_cpp(x, g, mu, cap, tolerance)
      expect_true(loose$certified)
      expect_lte(loose$distance, max(tolerance, best$distance))
      expect_lte(sqrt(sum((loose$solution - f)^2)), loose$distance + best$distance)
    }
  }
})

test_that("the solver of method objective refuses invalid problems", {
  x <- matrix(1, 2, 2)
  expect_error(capped_l1_qp_cpp(x, 1, 1, 1, 1e-9), class = "std::invalid_argument")
  expect_error(capped_l1_qp_cpp(x, c(1, 1), 0, 1, 1e-9), class = "std::domain_error")
  expect_error(capped_l1_qp_cpp(x, c(1, NA), 1, 1, 1e-9), class = "std::domain_error")
  expect_error(capped_l1_qp_cpp(x, c(1, 1), 1, 0, 1e-9), class = "std::domain_error")
})

public_example <- function(n = 2, T0 = 2, T1 = 2, epsilon = 2, delta = 0, calibration = "tight",
                           y = rep(1, T0), half = rep(1, T0 + T1), ...) {
  list(
    method = "objective", calibration = calibration, private = is.finite(epsilon),
    epsilon = epsilon, delta = delta, n = n, T0 = T0, T1 = T1, half = half, y = y,
    bounds = list(centre = numeric(T0 + T1), unit = 1, half = half),
    control = dp_control(rng = "R", ...)
  )
}

# The exact distribution of the minimiser over C for two donors: densities on the interior and the
# edges, and masses of the corners. `log_noise(b)` takes a matrix of two columns.
points_of_law <- function(cap, size) {
  axis <- (seq_len(size) - 0.5) / size * 2 * cap - cap
  inside <- as.matrix(expand.grid(axis, axis))
  inside <- inside[rowSums(abs(inside)) < 1, , drop = FALSE]
  along <- (seq_len(4 * size) - 0.5) / (4 * size)
  flat <- (1 - cap) * (2 * along - 1)
  slant <- (1 - cap) + (2 * cap - 1) * along
  edges <- list()
  for (a in c(-1, 1)) {
    edges <- c(edges, list(
      list(at = cbind(a * cap, flat), normal = c(a, 0), length = 2 * (1 - cap)),
      list(at = cbind(flat, a * cap), normal = c(0, a), length = 2 * (1 - cap))
    ))
    for (b in c(-1, 1)) {
      edges <- c(edges, list(list(
        at = cbind(a * slant, b * (1 - slant)), normal = c(a, b) / sqrt(2),
        length = sqrt(2) * (2 * cap - 1)
      )))
    }
  }
  list(inside = inside, cell = (2 * cap / size)^2, edges = edges, cap = cap)
}

log_law <- function(points, x, y, mu, log_noise, reach) {
  h <- 2 * tcrossprod(x) + mu * diag(2)
  minus_gradient <- function(f) -sweep(f %*% h, 2L, 2 * drop(x %*% y))
  inside <- as.numeric(determinant(h)$modulus) + log_noise(minus_gradient(points$inside))
  # The trapezoid rule integrates over rays on a square-root scale, which is fine near the face.
  steps <- if (is_audit()) 1500 else 300
  node <- seq(0, 1, length.out = steps + 1)
  weight <- c(0.5, rep(1, steps - 1), 0.5) / steps
  ray <- reach * node^2
  jacobian <- 2 * reach * node
  edges <- lapply(points$edges, function(edge) {
    tangent <- c(-edge$normal[2L], edge$normal[1L])
    b <- minus_gradient(edge$at)
    mass <- vapply(seq_len(nrow(b)), function(i) {
      beyond <- cbind(b[i, 1L] - ray * edge$normal[1L], b[i, 2L] - ray * edge$normal[2L])
      sum(weight * jacobian * exp(log_noise(beyond)))
    }, numeric(1))
    log(drop(tangent %*% h %*% tangent)) + log(mass)
  })
  list(inside = inside, edges = edges, vertices = log_corners(points, minus_gradient, log_noise,
    reach))
}

# The cone of each corner lies between the normals of the slanted edge and of the flat edge.
log_corners <- function(points, minus_gradient, log_noise, reach) {
  cap <- points$cap
  node <- (seq_len(600) - 0.5) / 600
  ray <- rep(reach * node^2, each = 60)
  area <- rep(2 * reach * node / 600 * reach * node^2, each = 60) * pi / 4 / 60
  angle <- rep((seq_len(60) - 0.5) / 60 * pi / 4, 600)
  corners <- expand.grid(a = c(-1, 1), b = c(-1, 1), flip = c(FALSE, TRUE))
  vapply(seq_len(nrow(corners)), function(i) {
    k <- corners[i, ]
    size <- if (k$flip) c(1 - cap, cap) else c(cap, 1 - cap)
    normal <- cbind(cos(angle), sin(angle))
    if (k$flip) normal <- normal[, 2:1]
    normal <- sweep(normal, 2L, c(k$a, k$b), `*`)
    b <- minus_gradient(rbind(size * c(k$a, k$b)))
    log(sum(area * exp(log_noise(sweep(-normal * ray, 2L, drop(b), `+`)))))
  }, numeric(1))
}

total_mass <- function(law, points) {
  edge <- mapply(function(l, e) mean(exp(l)) * e$length, law$edges, points$edges)
  sum(exp(law$inside)) * points$cell + sum(edge) + sum(exp(law$vertices))
}

flat_loss <- function(law, other) unlist(law) - unlist(other)

hockey_stick <- function(law, other, points, epsilon) {
  excess <- function(p, q) pmax(exp(p) - exp(epsilon + q), 0)
  edge <- mapply(function(p, q, e) mean(excess(p, q)) * e$length, law$edges, other$edges,
    points$edges)
  sum(excess(law$inside, other$inside)) * points$cell + sum(edge) +
    sum(excess(law$vertices, other$vertices))
}

neighbours <- function() {
  one <- c(1, 1)
  list(
    list(rbind(-one, one), rbind(one, one)), list(rbind(-one, -one), rbind(one, -one)),
    list(rbind(one, 0 * one), rbind(-one, 0 * one)), list(rbind(c(1, -1), one), rbind(one, one)),
    list(rbind(c(1, 0.3), c(-1, 1)), rbind(c(-1, 1), c(-1, 1)))
  )
}

gamma_norm_law <- function(scale) {
  function(b) -sqrt(rowSums(b^2)) / scale - log(2 * pi * scale^2)
}

# These budgets and curvatures put most of the mass on corners, on edges, or inside.
audit_cases <- list(c(1, 6), c(2, 1.3), c(2, 20), c(2, 300), c(8, 2), c(8, 30))

audit_step <- function(case, delta, cap = 0.8) {
  public <- public_example(epsilon = 2 * case[[1L]], delta = delta, cap = cap)
  bounded_step(public, case[[1L]], case[[2L]])
}

test_that("under tight objective perturbation with delta = 0 exact losses are at most epsilon", {
  points <- points_of_law(0.8, 30)
  worst <- numeric()
  for (case in audit_cases) {
    step <- audit_step(case, 0)
    noise <- gamma_norm_law(step$scale)
    loss <- 0
    for (pair in neighbours()) {
      laws <- lapply(pair, log_law, points = points, y = c(1, 1), mu = step$mu,
        log_noise = noise, reach = 40 * step$scale + 40)
      # The density formula is correct, since its integral is one (if the grid resolves it).
      if (step$mu <= 30) {
        expect_equal(total_mass(laws[[1L]], points), 1, tolerance = 0.02)
      }
      loss <- max(loss, abs(flat_loss(laws[[1L]], laws[[2L]])))
    }
    expect_lte(loss, step$epsilon * (1 + 1e-3))
    worst <- c(worst, loss / step$epsilon)
  }
  expect_gt(min(worst), 0.3) # the audit can detect a fault
  expect_gt(max(worst), 0.6)
})

test_that("under tight objective perturbation with delta > 0 exact deltas are within the claim", {
  # Plants faults 46.
  points <- points_of_law(0.8, 30)
  gaussian <- function(sd) function(b) -rowSums(b^2) / (2 * sd^2) - log(2 * pi * sd^2)
  audit <- function(step, sd) {
    max(vapply(neighbours(), function(pair) {
      laws <- lapply(pair, log_law, points = points, y = c(1, 1), mu = step$mu,
        log_noise = gaussian(sd), reach = 12 * sd + 40)
      max(hockey_stick(laws[[1L]], laws[[2L]], points, step$epsilon),
        hockey_stick(laws[[2L]], laws[[1L]], points, step$epsilon))
    }, numeric(1)))
  }
  for (case in audit_cases[c(1, 2, 3, 6)]) {
    step <- audit_step(case, 0.05)
    expect_lte(audit(step, step$scale), step$delta)
  }
  expect_gt(audit(step, step$scale / 4), step$delta) # too little noise is noticed
})

test_that("published objective perturbation can exceed its epsilon in over 55 % of the draws", {
  withr::local_seed(4)
  public <- public_example(10, 10, 1, epsilon = 20, calibration = "published")
  step <- plan_objective(public)$weights
  low <- rbind(-1, matrix(1, 9, 1))[, rep(1, 10)]
  high <- matrix(1, 10, 10)
  log_density <- function(f, x) {
    h <- 2 * tcrossprod(x) + step$mu * diag(10)
    b <- 2 * drop(x %*% public$y) - drop(h %*% f)
    as.numeric(determinant(h)$modulus) - sqrt(sum(b^2)) / step$scale
  }
  loss <- replicate(400, {
    f <- run_objective(list(weights = step, post = list()), cbind(low, 0), public)$weights
    log_density(f, low) - log_density(f, high)
  })
  expect_gt(mean(loss > step$epsilon), 0.55)
  expect_lt(mean(loss > step$epsilon), 0.75)
  expect_gt(max(loss), 3 * step$epsilon)
})

test_that("objective's Gaussian scale meets its tail bound and is below the published scale", {
  for (epsilon0 in c(0.01, 0.5, 3, 20)) {
    for (delta in c(1e-3, 1e-6, 1e-10)) {
      scale <- gaussian_objective_scale(1, epsilon0, delta)
      expect_lt(scale, sqrt(2 * log(1 / delta) + epsilon0) / epsilon0)
      q <- 1 / scale
      f <- function(r) r * exp(-r^2 / 2) * -expm1(epsilon0 - q * r - q^2 / 2)
      from <- (epsilon0 - q^2 / 2) / q
      expect_gte(from, -1e-9)
      exact <- stats::integrate(f, from, from + 40, rel.tol = 1e-9, abs.tol = 0)$value
      expect_lte(exact, delta * (1 + 1e-6))
      if (from > 1e-6) expect_gt(exact, 0.99 * delta)
    }
  }
})

test_that("constants of published objective perturbation equal the constants of its Algorithm 3", {
  public <- public_example(10, 10, 3, epsilon = 2, delta = 1e-6, calibration = "published")
  step <- plan_objective(public)$weights
  curvature <- (1 + sqrt(145)) * 10
  expect_equal(step$mu, curvature / (exp(0.25) - 1))
  expect_equal(step$scale, 40 * sqrt(18) * sqrt(2 * log(2e6) + 0.5) / 0.5)
  public <- public_example(10, 10, 3, epsilon = 20, calibration = "published")
  step <- plan_objective(public)$weights
  log_ratio <- log(1 + 2 * curvature / 10 + curvature^2 / 100)
  expect_equal(step$mu, 10)
  expect_equal(step$scale, 40 * sqrt(18) / (10 - log_ratio))
  public$control <- dp_control(rng = "R", curvature = 1e-9)
  expect_equal(plan_objective(public)$weights$scale, 4e1 / 10, tolerance = 1e-6)
})

test_that("the steps of method objective add up to the budget, with less noise than published", {
  for (delta in c(0, 1e-6)) {
    for (epsilon in c(0.1, 1, 10, 200)) {
      public <- public_example(100, 10, 3, epsilon, delta)
      plan <- plan_objective(public)
      step <- plan$weights
      # The two epsilons of step 1 and the epsilon of step 2 add up to the total.
      post <- if (delta > 0) gdp_epsilon_cpp(plan$post$shift, delta / 2) else plan$post$epsilon
      expect_lte(step$epsilon + step$cover$epsilon + post, epsilon * (1 + 1e-9))
      expect_gt(step$epsilon + step$cover$epsilon + post, epsilon * 0.999)
      expect_equal(step$epsilon0 + log1p(step$curvature / step$mu), step$epsilon)
      expect_gte(step$mu, 10)
      expect_lte(step$delta * exp(step$cover$epsilon / 2), delta / 2)
      expect_equal(plan$cost$kind, if (delta > 0) "approximate" else "pure")
      expect_equal(step$cover$scale * step$cover$epsilon, 2 * step$tolerance)
      public$control$split <- 0.5
      step <- plan_objective(public)$weights
      public$calibration <- "published"
      published <- plan_objective(public)$weights
      expect_lt(step$sensitivity, published$sensitivity / 3.8)
      expect_lt(step$scale, published$scale)
    }
  }
})

test_that("without noise method objective gives the constrained minimiser, or ridge as published", {
  withr::local_seed(5)
  x <- matrix(stats::runif(40, -1, 1), 5)
  public <- public_example(5, 6, 2, epsilon = Inf, y = stats::runif(6, -1, 1), lambda = 0.5)
  fit <- run_objective(plan_objective(public), x, public)
  expect_lte(sum(abs(fit$weights)), 1 + 1e-9)
  h <- 2 * tcrossprod(x[, 1:6]) + 0.5 * diag(5)
  objective <- function(f) sum(f * (h %*% f)) / 2 - sum(f * (2 * x[, 1:6] %*% public$y))
  for (i in 1:50) {
    other <- project_capped_l1_cpp(fit$weights + stats::rnorm(5) * 0.1, 2 / sqrt(5))
    expect_gte(objective(other), objective(fit$weights) - 1e-9)
  }
  expect_equal(fit$counterfactual, drop(crossprod(x[, 7:8], fit$weights)))
  public$calibration <- "published"
  fit <- run_objective(plan_objective(public), x, public)
  expect_equal(fit$weights, ridge_weights_cpp(x[, 1:6], public$y, 0.5))
})

test_that("method objective uses equally many random numbers for different donors", {
  public <- public_example(6, 4, 2, epsilon = 4, delta = 1e-6)
  plan <- plan_objective(public)
  position <- function(x) {
    withr::local_seed(6)
    fit <- run_objective(plan, x, public)
    expect_length(fit$weights, 6)
    expect_length(fit$counterfactual, 2)
    stats::runif(1)
  }
  expect_equal(position(matrix(0, 6, 6)), position(matrix(1, 6, 6)))
  expect_equal(position(matrix(-1:1 + 0, 6, 6)), position(matrix(1, 6, 6)))
})

test_that("the solver's certified error for method objective is within the declared accuracy", {
  public <- public_example(30, 5, 2, epsilon = 20, delta = 0)
  plan <- plan_objective(public)
  withr::local_seed(7)
  x <- matrix(stats::runif(30 * 7, -1, 1), 30)
  weights <- run_objective(plan, x, public)$weights
  expect_lte(sum(abs(weights)), 1 + 30 * 30 * plan$weights$cover$scale)
  # The public accuracy covers the certificate that the solver computes, including rounding.
  for (epsilon in c(1, 20, 500)) {
    for (delta in c(0, 1e-6)) {
      public <- public_example(30, 5, 2, epsilon, delta)
      step <- plan_objective(public)$weights
      b <- switch(step$law,
        gaussian = gaussian_noise_cpp(30, step$scale, "R"),
        gamma_norm = gamma_norm_noise_cpp(30, step$scale, "R")
      )
      linear <- 2 * drop(x[, 1:5] %*% public$y) - b
      answer <- capped_l1_qp_cpp(x[, 1:5], linear, step$mu, step$cap, step$tolerance)
      expect_lte(answer$distance, step$tolerance)
    }
  }
  expect_lt(plan$weights$tolerance, 1e-7)
})

test_that("method objective's curvature has expected error at most 0.1 % above a grid search's", {
  for (case in list(list(30, 5, 1, 0), list(1000, 12, 4, 1e-6))) {
    n <- case[[1L]]
    T0 <- case[[2L]]
    public <- public_example(n, T0, 3, case[[3L]], case[[4L]], split = 0.5)
    step <- plan_objective(public)$weights
    trend <- 2 * n * T0 / 3
    error <- function(mu) {
      at <- bounded_step(public, step$epsilon, mu, step$cover$epsilon)
      ratio <- at$sensitivity / at$epsilon0
      variance <- ratio^2 * if (case[[4L]] > 0) at$epsilon0 - 2 * log(at$delta) else n + 1
      noise <- n * variance / mu^2
      room <- at$cap / (at$cap + noise)
      (noise * room + (1 - room * trend / (trend + mu))^2) / 3
    }
    from <- max(T0, step$curvature / expm1(0.9 * step$epsilon))
    to <- max(from, trend, step$curvature / expm1(0.5 * step$epsilon))
    slow <- vapply(exp(seq(log(from), log(to), length.out = 2000)), error, 0)
    expect_lte(error(step$mu), min(slow) * 1.001)
    expect_true(step$mu >= from * (1 - 1e-12) && step$mu <= to * (1 + 1e-12))
  }
})
