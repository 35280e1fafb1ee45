# Coefficients of streams by method gram, and their standard errors, from released moments.

slopes_of <- function(design, epsilon, bounds, horizon = nrow(design), ...) {
  stream <- dp_online(y ~ ., epsilon = epsilon, horizon = horizon, bounds = bounds,
    control = dp_control(rng = "R"), ...)
  update(stream, design)
}
two_normals <- function(n, sd = 1) {
  x <- matrix(stats::rnorm(2 * n), n, dimnames = list(NULL, c("x1", "x2")))
  data.frame(y = 2 * x[, 1L] - x[, 2L] + stats::rnorm(n, sd = sd), x)
}
normal_bounds <- list(y = c(-10, 10), x1 = c(-5, 5), x2 = c(-5, 5))
#' Shares of streams whose intervals contain the truth, of the streams with intervals
coverage_of <- function(reps, truth, make) {
  inside <- replicate(reps, {
    table <- tidy(make(), conf.int = TRUE)
    table$conf.low <= truth & truth <= table$conf.high
  })
  list(covered = rowMeans(inside, na.rm = TRUE), shown = mean(!is.na(inside[1L, ])))
}

test_that("95 % intervals of a stream with wide bounds cover all coefficients", {
  withr::local_seed(1)
  reps <- if (is_audit()) 400 else 60
  least <- if (is_audit()) 0.93 else 0.88
  for (epsilon in c(3, 50)) {
    found <- coverage_of(reps, c(0, 2, -1), function() {
      slopes_of(two_normals(3000), epsilon, normal_bounds)
    })
    expect_gt(min(found$covered), least)
    expect_gt(found$shown, 0.7)
  }
  # Midway through the horizon, with trees, and with a rare indicator.
  found <- coverage_of(reps, c(1, 1, 1), function() {
    rows <- data.frame(x1 = stats::rnorm(2000), x2 = stats::rbinom(2000, 1, 0.1))
    rows$y <- 1 + rows$x1 + rows$x2 + stats::rnorm(2000)
    slopes_of(rows, 8, list(y = c(-7, 7), x1 = c(-4, 4), x2 = c(0, 1)), 4000, noise = "tree")
  })
  expect_gt(min(found$covered), least)
  expect_equal(found$shown, 1)
})

test_that("standard errors allow for rows that are clipped to the radius", {
  withr::local_seed(2)
  bounds <- c(list(y = c(-7, 7)), stats::setNames(rep(list(c(-1, 1)), 4), paste0("x", 1:4)))
  truth <- c(0.5, 1, -1, 1, 0.5)
  found <- coverage_of(30, truth, function() {
    x <- matrix(sample(c(-1, 1), 8000, TRUE), 2000, dimnames = list(NULL, paste0("x", 1:4)))
    slopes_of(data.frame(y = drop(cbind(1, x) %*% truth) + stats::rnorm(2000), x), 20, bounds)
  })
  expect_gt(min(found$covered), 0.9)
})

test_that("covariances of a stream's slopes equal simulated covariances to second order", {
  withr::local_seed(3)
  p <- 3L
  G <- 1000 * (diag(p) + 0.3)
  beta <- c(0.5, -1, 2)
  sd <- 130
  rows <- 5000
  errors <- 400
  clean <- rbind(cbind(G, G %*% beta), c(G %*% beta, sum(beta * (G %*% beta)) + errors))
  learner <- list(radius = 2)
  solved <- lapply(seq_len(4000), function(i) {
    noise <- matrix(stats::rnorm((p + 1)^2, sd = sd / sqrt(2)), p + 1)
    noise[lower.tri(noise)] <- t(noise)[lower.tri(noise)]
    diag(noise) <- diag(noise) * sqrt(2)
    stream_slopes(list(moments = clean + noise, moment_sd = sd, rows = rows,
      estimate = numeric(p)), learner, TRUE)
  })
  expect_true(all(vapply(solved, function(s) is.null(s$reason), NA)))
  off <- vapply(solved, function(s) s$estimate - beta, numeric(p))
  stated <- rowMeans(vapply(solved, function(s) diag(s$privacy), numeric(p)))
  expect_equal(stated / rowMeans(off^2), rep(1, p), tolerance = 0.1)
})

test_that("a stream whose curvature is hidden by noise has no standard errors, and a reason", {
  withr::local_seed(4)
  rows <- two_normals(1500)
  bounds <- lapply(normal_bounds, `*`, 3)
  stream <- slopes_of(rows, 0.5, bounds)
  expect_true(all(is.na(tidy(stream, conf.int = TRUE)$conf.low)))
  expect_error(confint(stream), "hides the curvature", class = "dpsc_error_argument")
  expect_error(vcov(stream), "hides the curvature", class = "dpsc_error_argument")
  expect_output(print(stream), "no standard errors: the noise hides the curvature")
  expect_equal(predict(stream, rows[1:2, ]), c(0, 0))
  # A stream of an earlier version has no moments.
  stream$released$moments <- NULL
  expect_error(vcov(stream), "earlier version")
})

test_that("the print of a stream does not contradict its p-values", {
  withr::local_seed(5)
  stream <- slopes_of(two_normals(3000), 8, normal_bounds)
  stream$released$share <- 0
  expect_lt(min(tidy(stream)$p.value), 0.05)
  expect_output(print(stream), "too uncertain for predictions")
  stream <- slopes_of(two_normals(3000), 0.3, normal_bounds)
  expect_output(print(stream), "all coefficients may be noise")
})
