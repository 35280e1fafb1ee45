# The expected values are reference values from the derivation, computed before this code was
# written, and results of brute force.

# gaussian shifts ----

test_that("the epsilon of a Gaussian shift inverts its delta and equals reference values", {
  anchors <- data.frame(
    mu = c(1, 0.1, 0.5), delta = c(1e-6, 1e-5, 1e-3),
    epsilon = c(4.8865541175, 0.3406693647, 1.3522762448)
  )
  for (i in seq_len(nrow(anchors))) {
    got <- shift_epsilon(anchors$mu[i], anchors$delta[i])
    expect_equal(got, anchors$epsilon[i], tolerance = 1e-9)
  }
  # In a ridge regression of people, the delta at epsilon = 0.5 of a shift of 0.2134...
  expect_equal(shift_delta(0.14941814230541078 / 0.7, 0.5), 8.815283620752772e-4, tolerance = 1e-12)
  # The rows of a ridge regression: six people, two columns.
  shifts <- c(
    0.181833813439, 0.257494548847, 0.114153739148, 0.186859980409, 0.311012179855, 0.175508969053
  )
  expect_equal(shift_epsilon(shifts / 2, 1e-6), c(
    0.358445657899, 0.520042327084, 0.217963109189, 0.369046692140, 0.636650022683, 0.345135382414
  ), tolerance = 1e-9)
  mu <- c(1e-4, 0.01, 0.3, 2, 9)
  for (delta in c(1e-12, 1e-6, 0.01)) {
    epsilon <- shift_epsilon(mu, delta)
    exact <- mapply(function(e, m) gaussian_delta(e, 1 / m), epsilon, mu)
    expect_true(all(exact <= delta * (1 + 1e-8)))
    expect_equal(exact[epsilon > 0], rep(delta, sum(epsilon > 0)), tolerance = 1e-6)
  }
  expect_identical(shift_epsilon(c(0, 1), 0), c(0, Inf))
})

# ridge weights ----

test_that("privacy shifts of ridge weights equal the reference values", {
  x <- outer(1:3, 1:4, function(i, t) sin(i * t))
  y <- cos(1:4) / 2
  shifts <- ridge_shifts(x, y, lambda = 1, reach = 4, cap = 0.483792297597)
  weights <- c(0.1026314416870, 0.1049291252231, 0.0625201869639)
  expect_equal(shifts$weights, weights, tolerance = 1e-11)
  leverage <- c(0.791044729141, 0.816005868709, 0.498745756352)
  expect_equal(shifts$leverage, leverage, tolerance = 1e-11)
  squared <- c(0.321133690361, 0.293150644793, 0.491467957224)
  expect_equal(shifts$squared, squared, tolerance = 1e-11)
  removal <- c(0.1080433011742, 0.1103156328756, 0.0630485176635)
  expect_equal(shifts$removal, removal, tolerance = 1e-11)
  expect_equal(shifts$search, c(0.886513895375, 0.891771799064, 0.863105952142), tolerance = 1e-11)
  expect_equal(shifts$replacement, removal + 0.483792297597, tolerance = 1e-11)
  sigma <- 2 * sqrt(4) / (2 * sqrt(0.5)) * sqrt(2 * log(1.25e5))
  expect_equal(sigma, 13.7031786189, tolerance = 1e-10)
  expect_equal(shift_epsilon(removal / sigma, 1e-5),
    c(0.02087830030, 0.02136992086, 0.01139018907), tolerance = 1e-8)
  expect_equal(removal / (4 * 4 * sqrt(11)), c(0.002036017563, 0.002078838425, 0.001188115208),
    tolerance = 1e-9)
  replaced <- ridge(with_row(x, 2, c(1, -1, 1, -1)), y, 1)
  expect_equal(distance(ridge(x, y, 1), replaced), 0.12264297133, tolerance = 1e-10)
})

test_that("the shift of ridge weights by a donor's removal equals the change in a refit", {
  for (case in 1:12) {
    withr::local_seed(case)
    n <- sample(2:12, 1)
    T0 <- sample(2:12, 1)
    lambda <- 10^stats::runif(1, -2, 2)
    x <- matrix(stats::runif(n * T0, -1, 1), n)
    y <- stats::runif(T0, -1, 1)
    cap <- ridge_sensitivity(sqrt(sum(y^2)), T0, lambda) / 2
    shifts <- ridge_shifts(x, y, lambda, T0, cap)
    brute <- vapply(seq_len(n), function(i) {
      distance(ridge(x, y, lambda), ridge(with_row(x, i, 0), y, lambda))
    }, 0)
    expect_equal(shifts$removal, brute, tolerance = 1e-8)
    expect_true(all(shifts$replacement <= 2 * cap * (1 + 1e-12)))
  }
})

test_that("replacements of a row found by optimisation stay within the bound on their shift", {
  for (case in 1:6) {
    withr::local_seed(case)
    n <- sample(1:5, 1) + 1
    T0 <- sample(2:6, 1)
    lambda <- 10^stats::runif(1, -1, 1.5)
    x <- matrix(sample(c(-1, 1), n * T0, TRUE) * stats::runif(n * T0)^0.3, n)
    y <- stats::runif(T0, -1, 1)
    cap <- ridge_sensitivity(sqrt(sum(y^2)), T0, lambda) / 2
    bound <- ridge_shifts(x, y, lambda, T0, cap)$replacement[[1L]]
    f <- ridge(x, y, lambda)
    moved <- function(z) distance(f, ridge(with_row(x, 1L, z), y, lambda))
    starts <- c(
      list(sign(y), -sign(y), -x[1L, ]), replicate(4, stats::runif(T0, -1, 1), simplify = FALSE)
    )
    found <- max(vapply(starts, function(z) {
      -stats::optim(z, function(z) -moved(z), method = "L-BFGS-B", lower = -1, upper = 1)$value
    }, 0), replicate(100, moved(sample(c(-1, 1), T0, TRUE))))
    expect_lte(found, bound * (1 + 1e-9))
  }
})

# output ----

test_that("pdp() computes losses under output perturbation for the noise that was added", {
  panel <- toy_panel(n = 8, T0 = 5, T1 = 2)
  lambda <- 3
  x <- panel$donors[, 1:5]
  post <- sqrt(rowSums(panel$donors[, 6:7]^2))
  y <- panel$target[1:5]
  moved <- vapply(1:8, function(i) {
    distance(ridge(x, y, lambda), ridge(with_row(x, i, 0), y, lambda))
  }, 0)
  gaussian <- release_of(panel, "output", control = list(lambda = lambda))
  loss <- pdp(gaussian, panel$donors)
  scale <- gaussian$privacy$steps$scale
  mu <- sqrt((moved / scale[[1]])^2 + (post / scale[[2]])^2)
  expect_equal(loss$donors$mu_removal, mu, tolerance = 1e-5)
  expect_equal(loss$donors$removal, shift_epsilon(mu, 1e-6), tolerance = 1e-5)
  for (release in list(
    release_of(panel, "output", delta = 0, control = list(lambda = lambda)),
    release_of(panel, "output", calibration = "published", control = list(lambda = lambda))
  )) {
    scale <- release$privacy$steps$scale
    loss <- pdp(release, panel$donors, panel$target, T0 = 5)
    expect_equal(loss$donors$removal, moved / scale[[1]] + post / scale[[2]], tolerance = 1e-10)
    expect_true(all(loss$donors$replacement <= loss$worst))
  }
})

test_that("pdp() clips values outside the bounds as the release does", {
  panel <- toy_panel(n = 6)
  release <- release_of(panel, "output")
  wild <- panel$donors
  wild[3, ] <- c(50, -50, 50, -50, 50, 50)
  clipped <- pmax(pmin(wild, 1), -1)
  expect_identical(pdp(release, wild)$donors, pdp(release, clipped)$donors)
})

# objective ----

# The largest difference of gradients by a removal, over a grid of u with the remaining weights
# allocated greedily.
reached_gradient <- function(p, i) {
  n <- nrow(p$x)
  x <- p$x[i, ]
  product <- drop(p$x %*% x)
  side <- -sign(sum(x * p$y))
  max(vapply(seq(0, p$cap, length.out = 400), function(u) {
    f <- numeric(n)
    left <- 1 - u
    for (j in setdiff(order(-abs(product)), i)) {
      f[j] <- sign(product[j]) * side * min(left, p$cap)
      left <- left - abs(f[j])
    }
    f[i] <- u * side
    out <- with_row(p$x, i, 0)
    distance(2 * p$x %*% (crossprod(p$x, f) - p$y), 2 * out %*% (crossprod(out, f) - p$y))
  }, 0))
}

test_that("gradient and determinant terms bound the changes at random points of the feasible set", {
  for (case in 1:6) {
    withr::local_seed(case)
    n <- sample(3:8, 1)
    T0 <- sample(2:5, 1)
    panel <- toy_panel(n = n, T0 = T0, seed = case)
    # With a cap of 1 / (2 n) the set is a box, and the constraint on the sum is never active.
    cap <- if (case <= 3) 2 / sqrt(n) else 1 / (2 * n)
    p <- list(
      x = panel$donors[, seq_len(T0)], y = panel$target[seq_len(T0)], half = rep(1, T0),
      mu = 10^stats::runif(1, -1, 2), cap = min(1, cap)
    )
    terms <- bounded_terms(p, sensitivity = Inf)
    hessian <- function(x) 2 * tcrossprod(x) + diag(p$mu, n)
    gradient <- function(x, f) drop(hessian(x) %*% f - 2 * x %*% p$y)
    for (attempt in seq_len(if (is_audit()) 100 else 40)) {
      f <- stats::rnorm(n) * stats::rbinom(n, 1, 0.5)
      f <- p$cap * f / max(abs(f), 1e-9)
      f <- f / max(1, sum(abs(f)))
      i <- sample.int(n, 1)
      # On a face some coordinates are free, with signs, and their signed sum may be fixed.
      free <- which(stats::runif(n) < 0.7)
      basis <- diag(n)[, free, drop = FALSE]
      if (n * p$cap > 1 && length(free) > 1 && attempt %% 2) {
        signs <- sample(c(-1, 1), length(free), TRUE)
        basis <- basis %*% qr.Q(qr(signs), complete = TRUE)[, -1, drop = FALSE]
      }
      determinant_of <- function(x) determinant(crossprod(basis, hessian(x) %*% basis))$modulus
      for (kind in c("removal", "replacement")) {
        row <- if (kind == "removal") numeric(T0) else sample(c(-1, 0, 1), T0, TRUE)
        other <- with_row(p$x, i, row)
        expect_lte(distance(gradient(p$x, f), gradient(other, f)),
          terms$gradient[[kind]][[i]] * (1 + 1e-12))
        if (length(free)) {
          expect_lte(abs(determinant_of(p$x) - determinant_of(other)),
            terms$determinant[[kind]][[i]] + 1e-9)
        }
      }
    }
    # A removal reaches the bound if all signs agree and the weight is allocated to the best donors.
    expect_equal(reached_gradient(p, 1L), terms$gradient$removal[[1]], tolerance = 1e-3)
  }
})

test_that("the epsilon for a Rayleigh tail satisfies its definition by an integral", {
  for (q in c(0.01, 0.3, 1.5)) {
    for (delta in c(1e-8, 1e-3, 0.2)) {
      epsilon <- rayleigh_epsilon(q, delta)
      density <- function(r) r * exp(-r^2 / 2) * pmax(1 - exp(epsilon - q * r - q^2 / 2), 0)
      from <- max(0, epsilon / q - q / 2)
      exact <- stats::integrate(density, from, from + 12, rel.tol = 1e-10)$value
      expect_lte(exact, delta * (1 + 1e-6))
      if (epsilon > 0) expect_equal(exact, delta, tolerance = 1e-5)
    }
  }
})

test_that("removal losses of published objective equal converted Renyi divergences", {
  withr::local_seed(4)
  for (T0 in 2:4) {
    n <- 5
    x <- matrix(stats::runif(n * T0, -1, 1), n)
    y <- stats::runif(T0, -1, 1)
    mu <- 6
    scale <- 7
    law <- function(x) {
      A <- tcrossprod(x) + diag(mu / 2, n)
      list(mean = drop(solve(A, x %*% y)), cov = scale^2 / 4 * solve(A %*% A))
    }
    divergence <- function(a, p, q) {
      St <- a * q$cov + (1 - a) * p$cov
      log_det <- function(m) determinant(m)$modulus[[1]]
      if (min(eigen(St, TRUE)$values) <= 0) return(Inf)
      a / 2 * sum((p$mean - q$mean) * solve(St, p$mean - q$mean)) - 1 / (2 * (a - 1)) *
        (log_det(St) - (1 - a) * log_det(p$cov) - a * log_det(q$cov))
    }
    delta <- 1e-6
    convert <- function(a, d) d + log1p(-1 / a) - (log(delta) + log(a)) / (a - 1)
    orders <- 1 + 10^seq(-3, 5, length.out = 400)
    got <- gaussian_objective_removal(x, y, mu, scale, delta)
    for (i in 1:n) {
      P <- law(x)
      Q <- law(with_row(x, i, 0))
      forth <- min(vapply(orders, function(a) convert(a, divergence(a, P, Q)), 0))
      back <- min(vapply(orders, function(a) convert(a, divergence(a, Q, P)), 0))
      expect_equal(got[[i]], max(0, forth, back), tolerance = 1e-6)
    }
  }
})

test_that("losses under tight objective perturbation are at most the guarantee's epsilon", {
  panel <- toy_panel(n = 12, T0 = 5)
  panel$donors[4, ] <- 0
  for (delta in c(1e-6, 0)) {
    tight <- pdp(release_of(panel, "objective", delta = delta), panel$donors)
    expect_true(all(tight$donors$removal <= tight$worst))
    expect_true(all(tight$donors$replacement <= tight$worst * (1 + 1e-9)))
    expect_identical(tight$donors$removal[[4]], 0)
    published <- pdp(
      release_of(panel, "objective", calibration = "published", delta = delta), panel$donors
    )
    expect_identical(published$donors$removal[[4]], 0)
    expect_true(all(is.na(published$donors$replacement)))
    if (delta == 0) expect_true(all(published$donors$removal[-4] == Inf))
    if (delta > 0) expect_true(all(is.finite(published$donors$removal)))
  }
})

# the object ----

test_that("losses by pdp() are printed as curator-only, not written to files, and name no donor", {
  panel <- toy_panel(n = 20)
  loss <- pdp(release_of(panel, "output"), panel$donors)
  expect_output(print(loss), "CURATOR ONLY - data-dependent, not covered by the guarantee")
  expect_output(print(summary(loss)), "CURATOR ONLY")
  path <- withr::local_tempfile()
  expect_error(write_release(loss, path), "curator only", class = "dpsc_error_release")
  expect_false(file.exists(path))
  # The object contains no name and no value of the panel.
  rownames(panel$donors) <- paste0("zqx-", 1:20)
  loss <- pdp(release_of(panel, "output"), panel$donors)
  expect_false(holds_text(loss, "zqx"))
  expect_identical(loss$donors$donor, 1:20)
  wrong <- c(
    signalled(pdp(release_of(panel, "output"), panel$donors[-1, ])),
    signalled(pdp(release_of(panel, "output"), with_row(panel$donors, 2, NA)))
  )
  expect_false(holds_text(wrong, "zqx"))
  expect_false(any(vapply(panel$donors, function(v) holds_number(wrong, v), NA)))
})

test_that("summaries of pdp() give quantiles of losses and shares of donors below an epsilon", {
  panel <- toy_panel(n = 20)
  loss <- pdp(release_of(panel, "gram", epsilon = 2), panel$donors)
  s <- summary(loss, epsilon = stats::median(loss$donors$removal), probs = c(0, 1))
  expect_equal(s$quantiles["removal", ], range(loss$donors$removal), ignore_attr = TRUE)
  expect_equal(s$shares["removal", 1], 0.5)
  expect_identical(as.data.frame(loss), loss$donors)
  delta <- pdp_delta(loss, loss$donors$removal[[3]])
  expect_equal(delta$removal[[3]], 1e-6, tolerance = 1e-6)
  expect_true(all(pdp_delta(loss, 2)$replacement <= 1e-6))
})

test_that("the bound on the generalisation error is above the exact gap for a known mechanism", {
  # Each person is a fair bit. One bit is released with a probability that is logistic in the sum,
  # and a missing person counts as one half. The loss is one if the released bit differs from the
  # person's bit.
  n <- 6
  gaps <- vapply(c(0.05, 0.2, 0.5, 1), function(slope) {
    chance <- function(sum) stats::plogis(slope * (sum - n / 2))
    sums <- 0:n
    share <- stats::dbinom(sums, n, 0.5)
    wrong <- (sums * (1 - chance(sums)) + (n - sums) * chance(sums)) / n
    loss <- function(bit) { # loss of a person with this bit, beside n - 1 others
      with <- chance(0:(n - 1) + bit)
      without <- chance(0:(n - 1) + 0.5)
      pmax(abs(log(with / without)), abs(log((1 - with) / (1 - without))))
    }
    bound <- vapply(seq_len(n), function(i) {
      generalisation_bound(c(loss(0)[[i]], loss(1)[[i]]), 0)
    }, 0)
    c(gap = 0.5 - sum(share * wrong), bound = sum(stats::dbinom(0:(n - 1), n - 1, 0.5) * bound))
  }, numeric(2))
  expect_true(all(gaps["gap", ] > 0 & gaps["gap", ] <= gaps["bound", ]))
  expect_equal(generalisation_bound(rep(0.1, 3), 1e-6), exp(0.2) - 1 + 1e-6 * (1 + exp(0.1)))
  s <- summary(pdp(release_of(toy_panel(n = 20), "output"), toy_panel(n = 20)$donors))
  expect_equal(s$generalisation, generalisation_bound(s$pdp$donors$removal, s$pdp$delta))
  expect_output(print(s), "Generalisation error: .*Proposition 9")
})

test_that("pdp() gives the same losses for a fit and its release, and for a matrix and a formula", {
  panel <- toy_panel(n = 15)
  fit <- suppressWarnings(dp_synth(panel$donors,
    target = panel$target, T0 = panel$T0, epsilon = 1, bounds = c(-1, 1)
  ))
  by_matrix <- pdp(fit, panel$donors)
  expect_identical(by_matrix, pdp(fit$release, panel$donors))
  expect_identical(by_matrix, pdp(fit, y ~ treated, data = panel$data, index = c("unit", "time")))
  larger <- pdp(fit, panel$donors, delta = 1e-3)
  expect_true(all(larger$donors$removal <= by_matrix$donors$removal))
})

test_that("pdp(), pdp_bound() and pdp_delta() refuse invalid input with classed errors", {
  panel <- toy_panel(n = 10)
  release <- release_of(panel, "output")
  argument <- function(code) expect_error(code, class = "dpsc_error_argument")
  problem <- function(code) expect_error(code, class = "dpsc_error_panel")
  argument(pdp(1))
  argument(pdp(release))
  argument(pdp(release, panel$donors, delta = 2))
  argument(pdp(release, panel$donors, detla = 1e-6))
  argument(pdp(release_of(panel, "output", epsilon = Inf), panel$donors))
  argument(pdp(release, dp_chunks(list(panel$donors)), panel$target))
  argument(pdp(release, panel$donors, target = -panel$target))
  problem(pdp(release, panel$donors[, -1]))
  problem(pdp(release, panel$donors, T0 = 3))
  problem(pdp(release, as.data.frame(panel$donors)))
  argument(pdp_bound(release))
  argument(pdp_bound(release_of(panel, "gram"), norm = -1))
  argument(pdp_bound(release_of(panel, "gram"), row = 1:3))
  argument(pdp_delta(1, 1))
  argument(pdp_delta(pdp(release_of(panel, "output", delta = 0), panel$donors), 1))
  argument(summary(pdp(release, panel$donors), probs = 2))
})

test_that("autoplot() draws the losses of pdp() for three methods without messages", {
  skip_if_not_installed("ggplot2")
  panel <- toy_panel(n = 20)
  for (method in c("output", "gram", "objective")) {
    picture <- ggplot2::autoplot(pdp(release_of(panel, method), panel$donors))
    expect_s3_class(picture, "ggplot")
    expect_silent(ggplot2::ggplot_build(picture))
  }
})
