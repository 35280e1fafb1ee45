# Losses of single people in regressions, compared with refits without them.

pdp_fit <- function(method, delta, ..., n = 120) {
  withr::local_seed(2)
  dp_glm(z ~ a + g, paper_people(n), "binomial", epsilon = 1, delta = delta,
    bounds = paper_bounds(), method = method, ..., control = dp_control(rng = "R"))
}

# Rows in the form of the papers' methods, and the rows of this table without person i.
rows_of <- function(fit, data) {
  rows <- paper_rows_cpp(lm_table(fit$columns, data, TRUE), fit$public$facts$design)
  rows$y <- as.double(rows$y > 0)
  rows
}

without <- function(rows, i) {
  rows$x[i, ] <- 0
  rows$y[i] <- 0
  rows
}

test_that("pdp() of a posterior draw gives the realised losses of refits without each person", {
  data <- paper_people(400)
  for (method in c("ops", "adaops")) {
    withr::local_seed(2)
    fit <- dp_lm(y ~ a + g, data, epsilon = 2, delta = 1e-5, bounds = paper_bounds(),
      method = method, settings = if (method == "ops") list(ridge = 60) else list(),
      control = dp_control(rng = "R"))
    rows <- paper_rows_cpp(lm_table(fit$columns, data, TRUE), fit$facts$design)
    loss <- pdp(fit, data)
    expect_s3_class(loss, "dp_pdp")
    gamma <- fit$plan$gamma
    drawn <- fit$release$theta * sqrt(3)
    law <- function(rows) {
      H <- crossprod(rows$x) + diag(fit$release$ridge, 3)
      list(H = H, mean = drop(solve(H, crossprod(rows$x, rows$y))))
    }
    log_density <- function(of) {
      0.5 * log(det(of$H)) - gamma / 2 * sum((drawn - of$mean) * (of$H %*% (drawn - of$mean)))
    }
    all <- law(rows)
    whole <- if (method == "ops") 2 else 1
    part <- if (method == "ops") 1e-5 else 1e-5 / 3
    for (i in c(1, 7, 23, 400)) {
      out <- law(without(rows, i))
      expect_equal(loss$donors$realised[[i]], log_density(all) - log_density(out))
      x <- rows$x[i, ]
      leverage <- sum(x * solve(out$H, x))
      error <- rows$y[[i]] - sum(x * out$mean)
      own <- posterior_loss_cpp(leverage, gamma, error, part / (1 + exp(whole / 2)), TRUE)
      expect_lte(own, whole / 2)
      if (method == "ops") expect_equal(loss$donors$removal[[i]], own)
      expect_gte(loss$donors$removal[[i]], own * (1 - 1e-9))
    }
    expect_true(all(loss$donors$removal <= loss$donors$replacement))
    expect_true(all(loss$donors$replacement <= 2 + 1e-9))
  }
})

test_that("pdp() gives log density ratios as realised losses of papers' methods in dp_glm()", {
  data <- paper_people(120)
  for (case in list(
    list("objective-public", 0), list("objective-public", 1e-6), list("cms", 0), list("kst", 1e-6),
    list("kst", 0), list("napp", 0), list("napp", 1e-6)
  )) {
    fit <- pdp_fit(case[[1L]], case[[2L]])
    rows <- rows_of(fit, data)
    loss <- pdp(fit, data)
    scale <- fit$plan$scale
    ridge <- fit$plan$ridge
    gaussian <- case[[1L]] == "kst" && case[[2L]] > 0
    log_density <- function(rows) {
      total <- 0
      centre <- numeric(3)
      for (k in seq_along(scale)) {
        theta <- fit$release$scaled[[k]] * sqrt(3)
        p <- stats::plogis(drop(rows$x %*% theta))
        b <- -(colSums((p - rows$y) * rows$x) + ridge[[k]] * (theta - centre))
        H <- crossprod(rows$x, p * (1 - p) * rows$x) + diag(ridge[[k]], 3)
        size <- if (gaussian) sum(b^2) / (2 * scale[[k]]^2) else sqrt(sum(b^2)) / scale[[k]]
        total <- total + log(det(H)) - size
        centre <- theta
      }
      total
    }
    for (i in c(2, 50, 119)) {
      realised <- log_density(rows) - log_density(without(rows, i))
      expect_equal(loss$donors$realised[[i]], realised, tolerance = 1e-6)
      if (case[[2L]] == 0) expect_lte(abs(realised), loss$donors$removal[[i]])
    }
    expect_true(all(loss$donors$removal <= loss$donors$replacement + 1e-12))
    expect_true(all(loss$donors$replacement <= 1 + 1e-9))
    # People with short rows are less distinguishable.
    short <- data
    short$z[5] <- NA
    gone <- pdp(fit, short)$donors
    expect_lt(gone$removal[[5]], 0.002)
    expect_equal(gone$realised[[5]], 0)
  }
})

test_that("under output perturbation refits without one person move by 80 to 100 % of the bound", {
  data <- paper_people(60)
  for (delta in c(0, 1e-6)) {
    fit <- pdp_fit("output", delta, settings = list(ridge = 2), n = 60)
    rows <- rows_of(fit, data)
    theta <- ridge_logistic_cpp(rows$x, rows$y, rep(2, 3), numeric(3), 1e-11)
    move <- minimiser_moves(rows, theta, 2)
    loss <- pdp(fit, data)$donors
    for (i in c(1, 20, 33, 60)) {
      out <- without(rows, i)
      exact <- ridge_logistic_cpp(out$x, out$y, rep(2, 3), numeric(3), 1e-11) - theta
      expect_lte(sqrt(sum(exact^2)), move$bound[[i]] * (1 + 1e-9))
      expect_gt(sqrt(sum(exact^2)), 0.8 * move$bound[[i]])
      expect_equal(move$step[i, ], exact, tolerance = 0.1)
    }
    expect_true(all(loss$removal < loss$replacement & loss$replacement <= 1.01))
  }
})

test_that("a person's loss in dp_lm() equals the loss from sums recomputed without the person", {
  data <- paper_people(400)
  for (delta in c(1e-6, 0)) {
    withr::local_seed(1)
    fit <- dp_lm(y ~ a, data, epsilon = 4, delta = delta, bounds = paper_bounds(),
      control = dp_control(rng = "R"))
    loss <- pdp(fit, data)
    facts <- list(n = 400, epsilon = 4, delta = delta, design = lm_design(fit$columns))
    plan <- lm_plan_cpp(facts)
    sums <- function(data, k) {
      u <- lm_rows_cpp(lm_table(fit$columns, data, TRUE), facts, fit$release, k)$rows
      crossprod(u)
    }
    i <- 17
    gone <- data
    gone$y[i] <- NA
    steps <- plan$steps
    moments <- startsWith(steps$step, "moments")
    shift <- vapply(seq_along(fit$release$rounds), function(k) {
      move <- sums(data, k) - sums(gone, k)
      upper <- move[upper.tri(move)]
      noise <- plan$rounds[[k]]$noise
      if (delta > 0) {
        (sum(diag(move)^2) + 2 * sum(upper^2)) / (noise - 32)
      } else {
        (sum(abs(diag(move))) + sum(abs(upper))) / noise
      }
    }, 0)
    if (delta > 0) {
      mu <- sqrt(sum(steps$mu[!moments]^2) + sum(shift))
      expect_equal(loss$donors$mu_removal[[i]], mu, tolerance = 1e-9)
      expect_equal(loss$donors$removal[[i]], gdp_epsilon_cpp(mu, delta), tolerance = 1e-6)
    } else {
      expect_equal(loss$donors$removal[[i]], sum(steps$epsilon[!moments]) + sum(shift))
    }
    expect_true(all(loss$donors$removal <= loss$donors$replacement + 1e-9))
    expect_true(all(loss$donors$replacement <= 4 * (1 + 1e-6)))
    expect_lt(stats::median(loss$donors$removal), 4)
  }
})

test_that("realised losses of dp_glm() equal log density ratios and are at most epsilon", {
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- glm_people(800, family)
    for (delta in c(1e-6, 0)) {
      fit <- seeded_glm(y ~ a + b, data, family, epsilon = 1, delta = delta,
        bounds = glm_bounds(family))
      loss <- pdp(fit, data)
      rows <- glm_rows_cpp(lm_table(fit$columns, data, TRUE), fit$public$facts, fit$release)
      exact <- exact_loss(family, fit$release$span)
      theta <- fit$release$theta
      d <- length(theta)
      needed <- function(keep) {
        w <- rows$weight * keep
        t <- drop(rows$x %*% theta)
        H <- crossprod(rows$x, w * exact$curvature(t, rows$outcome) * rows$x) +
          diag(fit$release$ridge, d)
        b <- -(colSums(w * exact$slope(t, rows$outcome) * rows$x) + fit$release$ridge * theta)
        list(b = b, log_density = log(det(H)) - sqrt(sum(b^2)) / fit$release$kappa)
      }
      # A refit with the linear term of the evaluated density returns the same coefficients.
      refit <- function(keep, b) {
        at <- theta + 0.1
        for (step in 1:60) {
          t <- drop(rows$x %*% at)
          w <- rows$weight * keep
          g <- colSums(w * exact$slope(t, rows$outcome) * rows$x) + fit$release$ridge * at + b
          H <- crossprod(rows$x, w * exact$curvature(t, rows$outcome) * rows$x) +
            diag(fit$release$ridge, d)
          at <- at - drop(solve(H, g))
        }
        at
      }
      all <- rep(1, 800)
      for (i in c(3, 333)) {
        gone <- replace(all, i, 0)
        expect_equal(loss$donors$realised[[i]],
          needed(all)$log_density - needed(gone)$log_density, tolerance = 1e-6)
        expect_equal(refit(gone, needed(gone)$b), theta, tolerance = 1e-6)
      }
      expect_true(all(loss$donors$removal <= loss$donors$replacement + 1e-12))
      expect_true(all(loss$donors$replacement <= 1))
      expect_true(all(abs(loss$donors$realised) <= 1))
      expect_lt(min(loss$donors$removal), 1)
    }
    short <- data
    short$a[5] <- NA
    expect_lt(pdp(fit, short)$donors$removal[[5]], min(pdp(fit, data)$donors$removal))
    expect_equal(pdp(fit, short)$donors$realised[[5]], 0)
  }
  limited <- seeded_glm(y ~ a, glm_people(800), bounds = glm_bounds(), epsilon = 1,
    penalty = list(lasso = 0.01))
  expect_error(pdp(limited, glm_people(800)), class = "dpsc_error_argument")
})

test_that("exact losses of single people in dp_glm() are within their bounds in three families", {
  # In one dimension, a row at its limit among saturated rows is removed, and all of the curvature
  # is nearby.
  withr::local_seed(8)
  for (family in c("binomial", "poisson", "gaussian")) {
    span <- if (family == "poisson") 4 else 1
    for (delta in c(0, 1e-2)) {
      claim <- exact_claim(1, delta, 1L, family, span)
      fit <- list(
        family = family, privacy = list(epsilon = 1, delta = delta),
        release = list(theta = 0, kappa = claim$kappa, ridge = claim$ridge, span = span),
        plan = list(rho = 0, c = claim$c, objective.epsilon = 1)
      )
      b <- noise_nodes(1L, radii = 4000L)
      for (y in if (family == "poisson") c(0, 1, 4) else c(0, 1)) {
        rows <- list(x = matrix(1), weight = 1, outcome = y, offset = 0, limit = 1)
        bound <- whitened_row_losses(fit, rows, delta)$removal
        for (k in 0:3) {
          for (to in c(-40, 40)) {
            side <- list(
              x = matrix(1, k, 1), y = rep(span, k), w = rep(1, k), offset = rep(to, k)
            )
            with <- list(
              x = rbind(side$x, 1), y = c(side$y, y), w = c(side$w, 1), offset = c(side$offset, 0)
            )
            gone <- replace(with, "w", list(c(side$w, 0)))
            there <- exact_losses(with, gone, claim$loss, claim$ridge, claim$kappa, b)
            back <- -exact_losses(gone, with, claim$loss, claim$ridge, claim$kappa, b)
            if (delta == 0) {
              expect_lte(max(abs(there), abs(back)), bound + 1e-6)
            } else {
              expect_lte(mean(pmax(0, 1 - exp(bound - there))), delta)
              expect_lte(mean(pmax(0, 1 - exp(bound + back))), delta)
            }
          }
        }
      }
    }
  }
})

test_that("summary() of pdp() gives the means of the losses, and invalid calls give errors", {
  data <- paper_people(200)
  fit <- pdp_fit("cms", 0, n = 200)
  loss <- pdp(fit, data)
  expect_output(print(loss), "CURATOR ONLY")
  expect_output(print(loss), "Realised loss for the released values")
  told <- summary(loss)
  expect_equal(unname(told$mean), c(mean(loss$donors$removal), mean(loss$donors$replacement)))
  expect_equal(unname(told$sd[[1L]]), stats::sd(loss$donors$removal))
  expect_output(print(told), "people")
  expect_error(pdp(fit, data[-1, ]), class = "dpsc_error_data")
  expect_error(pdp(fit, data[c("z", "a")]), class = "dpsc_error_data")
  expect_error(pdp(fit), class = "dpsc_error_argument")
  expect_error(pdp(fit, data, delta = 2), class = "dpsc_error_argument")
  expect_error(pdp(fit, data, subsat = 1), class = "dpsc_error_argument")
  raw <- dp_glm(z ~ a, data, "binomial", epsilon = Inf, bounds = paper_bounds())
  expect_error(pdp(raw, data), class = "dpsc_error_argument")
  printed <- pdp_fit("napp", 0, calibration = "published", n = 200)
  expect_error(pdp(printed, data), class = "dpsc_error_argument")
})
