# Losses of single people by the papers' methods for counts and linear models, compared with exact
# distributions in one dimension and with densities at the released coefficients. Also losses of
# people who are not in the data.

families_people <- function(n = 150) {
  withr::local_seed(4)
  data <- data.frame(a = stats::runif(n, -1, 1), b = stats::runif(n, 0, 2))
  data$y <- pmax(-3, pmin(3, 0.5 + data$a - 0.4 * data$b + stats::rnorm(n, 0, 0.4)))
  data$k <- pmin(9, stats::rpois(n, exp(0.5 + 0.5 * data$a)))
  data$z <- data$y > 0
  data
}

families_fit <- function(formula, family, method, delta, data = families_people(), ...) {
  withr::local_seed(2)
  limits <- list(y = c(-3, 3), k = c(0, 9), z = c(FALSE, TRUE), a = c(-1, 1), b = c(0, 2))
  suppressWarnings(dp_glm(formula, data, family, epsilon = 1, delta = delta, bounds = limits,
    method = method, intervals = FALSE, control = dp_control(rng = "R"), ...))
}

# A second implementation of a record's slope and curvature.
record <- function(family, span = 2) {
  sigmoid <- function(t) 1 / (1 + exp(-t))
  middle <- log(span / 2)
  mean <- function(t) ifelse(t <= middle, exp(pmin(t, middle)), span - span / 2 * exp(middle - t))
  switch(family,
    binomial = list(
      slope = function(t, y) sigmoid(t) - y, bend = function(t, y) sigmoid(t) * sigmoid(-t)
    ),
    poisson = list(
      slope = function(t, y) mean(t) - y, bend = function(t, y) pmin(mean(t), span - mean(t))
    ),
    gaussian = list(
      slope = function(t, y) -span * tanh((y - t) / span),
      bend = function(t, y) 1 / cosh((y - t) / span)^2
    ),
    squared = list(slope = function(t, y) t - y, bend = function(t, y) 1 + 0 * t)
  )
}

test_that("realised losses of NAPP equal log density ratios and are within the bounds", {
  data <- families_people()
  for (delta in c(0, 1e-6)) {
    for (case in list(list(k ~ a + b, "poisson", 9), list(y ~ a + b, "gaussian", 0.25))) {
      fit <- families_fit(case[[1L]], case[[2L]], "napp", delta)
      loss <- pdp(fit, data)$donors
      one <- record(case[[2L]], case[[3L]])
      x <- cbind(1, data$a, data$b - 1) / sqrt(3)
      y <- if (case[[2L]] == "poisson") data$k else data$y / 3
      log_density <- function(keep) {
        total <- 0
        centre <- numeric(3)
        for (k in 1:2) {
          theta <- fit$release$scaled[[k]] * sqrt(3)
          t <- drop(x %*% theta)
          b <- -(colSums(keep * one$slope(t, y) * x) + fit$plan$ridge[[k]] * (theta - centre))
          H <- crossprod(x, keep * one$bend(t, y) * x) + diag(fit$plan$ridge[[k]], 3)
          total <- total + log(det(H)) - sqrt(sum(b^2)) / fit$plan$scale[[k]]
          centre <- theta
        }
        total
      }
      for (i in c(2, 50, 149)) {
        keep <- replace(rep(1, 150), i, 0)
        expect_equal(loss$realised[[i]], log_density(1) - log_density(keep), tolerance = 1e-4)
        if (delta == 0) expect_lte(abs(loss$realised[[i]]), loss$removal[[i]])
      }
      expect_true(all(loss$removal <= loss$replacement + 1e-12 & loss$replacement <= 1 + 1e-9))
      short <- data
      short$a[5] <- NA
      gone <- pdp(fit, short)$donors
      expect_lt(gone$removal[[5]], 0.002)
      expect_identical(gone$realised[[5]], 0)
    }
  }
  # A count in the middle of the range changes the slope by half as much as a count at an end.
  fit <- families_fit(k ~ a + b, "poisson", "napp", 0)
  data$a[1:2] <- data$a[[1L]]
  data$b[1:2] <- data$b[[1L]]
  data$k[1:2] <- c(0, 4)
  loss <- pdp(fit, data)$donors$removal
  expect_lt(loss[[2L]], 0.8 * loss[[1L]])
})

# In one dimension, the log-density of the minimiser of all rows' losses, a ridge and b times theta,
# over a grid of linear predictors. `rows` are (x, y), in addition to many rows near zero that add
# only `offset`.
exact_law <- function(one, rows, ridge, log_noise, theta, offset) {
  slope <- ridge * theta + offset
  bend <- rep(ridge, length(theta))
  for (i in seq_len(nrow(rows))) {
    t <- rows[i, 1L] * theta
    slope <- slope + rows[i, 1L] * one$slope(t, rows[i, 2L])
    bend <- bend + rows[i, 1L]^2 * one$bend(t, rows[i, 2L])
  }
  list(density = log_noise(-slope) + log(bend), slope = slope)
}

# A fit and rows with the fields that the bounds use.
bound_input <- function(family, span, x, y, scale, ridge, box = 0) {
  facts <- list(
    x = matrix(x), y = y, reach = abs(x), unit = if (box > 0) 1 + box else span,
    apart = if (box > 0) 2 + box else 2 * span, symmetric = family == "gaussian", box = box,
    bend = switch(family, binomial = 1, poisson = 2 * span, 2),
    steepest = if (family == "binomial") 1 / 4 else 1, span = span
  )
  facts$ends <- if (box > 0) box_ends(facts) else slope_ends(family, span, y)
  list(
    rows = facts,
    fit = list(family = family, method = "napp", plan = list(scale = scale, ridge = ridge))
  )
}

test_that("computed losses for removal and replacement bound the exact losses of one-stage NAPP", {
  theta <- seq(-40, 40, length.out = 4001)
  for (family in c("binomial", "poisson", "gaussian")) {
    span <- if (family == "poisson") 4 else 1
    one <- record(family, span)
    for (case in list(c(0.8, 1), c(3, 0.3), c(1.5, 6))) {
      noise <- function(b) -abs(b) / (span * case[[1L]])
      ridge <- span * case[[2L]]
      for (y in switch(family, poisson = c(0, 1, 2, 4), binomial = 0:1, 0.5)) {
        for (x in c(1, 0.5)) {
          input <- bound_input(family, span, x, y, span * case[[1L]], ridge)
          bound <- pure_losses(input$fit, input$rows)
          most <- other <- 0
          # A distant row, on either side of the person's row, replaces no row or the person's row.
          for (offset in c(-200, -2, 0, 2, 200) * span) {
            law <- function(...) exact_law(one, rbind(...), ridge, noise, theta, offset)$density
            for (base in list(NULL, c(-1, 0))) {
              with <- law(base, c(x, y))
              most <- max(most, abs(with - law(base, c(0, 0))))
              for (end in c(0, span)) {
                for (at in c(-1, 1)) other <- max(other, abs(with - law(base, c(at, end))))
              }
            }
          }
          expect_lte(most, bound$removal + 1e-9)
          expect_gt(most, 0.6 * bound$removal)
          expect_lte(other, bound$replacement + 1e-9)
        }
      }
    }
  }
})

test_that("exact distributions of one stage of NAPP satisfy the Renyi bound at delta = 0.001", {
  theta <- seq(-60, 60, length.out = 20001)
  delta <- 1e-3
  for (family in c("binomial", "poisson", "gaussian")) {
    span <- if (family == "poisson") 4 else 1
    one <- record(family, span)
    noise <- function(b) -abs(b) / (2 * span)
    for (y in switch(family, poisson = c(0, 2, 4), binomial = 0:1, 0.5)) {
      input <- bound_input(family, span, 1, y, 2 * span, 3 * span)
      bound <- renyi_removals(input$fit, input$rows, delta)
      for (offset in c(-8, -1, 0, 1, 8) * span) {
        mass <- function(rows) {
          p <- exp(exact_law(one, rows, 3 * span, noise, theta, offset)$density)
          p / sum(p)
        }
        with <- mass(rbind(c(1, y)))
        gone <- mass(rbind(c(0, 0)))
        expect_lte(hockey_stick(with, gone, bound), delta)
        expect_lte(hockey_stick(gone, with, bound), delta)
      }
    }
  }
})

test_that("on a box exact distributions satisfy the loss bounds inside and at the faces", {
  # The masses are the cells of a fine grid, and the parts beyond each wall.
  masses <- function(rows, ridge, box, offset, cdf) {
    theta <- seq(-box, box, length.out = 4001)
    slope <- exact_law(record("squared"), rows, ridge, identity, theta, offset)$slope
    # The minimiser is below theta if the term exceeds minus the slope.
    below <- 1 - cdf(-slope)
    c(below[[1L]], diff(below), 1 - below[[4001L]])
  }
  for (box in c(0.3, 2)) {
    for (y in c(-1, 0.2, 1)) {
      for (x in c(1, 0.4)) {
        pure <- bound_input("gaussian", 1, x, y, 1.5, 2, box)
        bound <- pure_losses(pure$fit, pure$rows)
        laplace <- function(b) ifelse(b < 0, exp(b / 1.5) / 2, 1 - exp(-b / 1.5) / 2)
        sided <- gaussian_removal(pure$fit, pure$rows, 1e-3)
        normal <- function(b) stats::pnorm(b, sd = 1.5)
        most <- worst <- 0
        for (offset in c(-6, -2, 0, 2, 6)) {
          both <- lapply(list(laplace = laplace, normal = normal), function(cdf) {
            list(
              with = masses(rbind(c(x, y)), 2, box, offset, cdf),
              gone = masses(rbind(c(0, 0)), 2, box, offset, cdf),
              other = masses(rbind(c(-1, y)), 2, box, offset, cdf)
            )
          })
          ratio <- abs(log(both$laplace$with / both$laplace$gone))
          most <- max(most, ratio)
          expect_lte(max(abs(log(both$laplace$with / both$laplace$other))), bound$replacement)
          worst <- max(worst, hockey_stick(both$normal$with, both$normal$gone, sided),
            hockey_stick(both$normal$gone, both$normal$with, sided))
        }
        expect_lte(most, bound$removal + 1e-6)
        expect_gt(most, 0.5 * bound$removal)
        expect_lte(worst, 1e-3)
        expect_gt(worst, 0)
      }
    }
  }
})

test_that("on a box realised losses include the probability of noise beyond a face", {
  data <- families_people(60)
  for (box in c(1, 0.1)) {
    fit <- families_fit(y ~ a, "gaussian", "kst", 1e-6, data, settings = list(box = box))
    loss <- pdp(fit, data)$donors
    expect_true(all(loss$removal <= loss$replacement + 1e-12 & loss$replacement <= 1))
    x <- cbind(1, data$a) / sqrt(2)
    y <- data$y / 3
    limit <- box * sqrt(2)
    theta <- fit$release$scaled[[1L]] * sqrt(2)
    wall <- abs(theta) > limit * (1 - 1e-4)
    theta[wall] <- sign(theta[wall]) * limit
    sd <- fit$plan$scale
    log_density <- function(keep) {
      H <- crossprod(x, keep * x) + diag(fit$plan$ridge, 2)
      b <- -(drop(H %*% theta) - colSums(keep * y * x))
      free <- stats::dnorm(b[!wall], sd = sd, log = TRUE)
      beyond <- vapply(which(wall), function(j) {
        ends <- if (theta[[j]] > 0) c(-Inf, b[[j]]) else c(b[[j]], Inf)
        log(stats::integrate(stats::dnorm, ends[[1L]], ends[[2L]], sd = sd, rel.tol = 1e-10)$value)
      }, 0)
      log(det(H[!wall, !wall, drop = FALSE])) + sum(free) + sum(beyond)
    }
    if (box == 0.1) expect_true(any(wall))
    for (i in c(1, 30, 60)) {
      keep <- replace(rep(1, 60), i, 0)
      # Released coefficients differ from the minimiser by noise that covers the solver's error.
      expect_equal(loss$realised[[i]], log_density(1) - log_density(keep), tolerance = 1e-3)
    }
  }
  # No closed form is known for spherical noise at a wall.
  pure <- families_fit(y ~ a, "gaussian", "kst", 0, data, settings = list(box = 0.05))
  expect_true(all(is.na(pdp(pure, data)$donors$realised)))
  expect_true(all(is.finite(pdp(pure, data)$donors$removal)))
})

test_that("people outside the data have the same losses as members with the same row", {
  data <- families_people()
  extra <- data.frame(
    a = c(0.9, -0.2), b = c(0, 1.3), y = c(-3, 0.1), k = c(9, 2), z = c(TRUE, FALSE)
  )
  inside <- rbind(data[-(1:2), ], extra)
  for (case in list(
    list(k ~ a + b, "poisson", "napp"), list(y ~ a + b, "gaussian", "napp"),
    list(y ~ a + b, "gaussian", "kst"), list(z ~ a + b, "binomial", "cms"),
    list(k ~ a + b, "poisson", "objective"), list(z ~ a + b, "binomial", "objective")
  )) {
    delta <- if (case[[3L]] == "cms") 0 else 1e-6
    fit <- families_fit(case[[1L]], case[[2L]], case[[3L]], delta)
    joining <- pdp(fit, data, newdata = extra)$donors
    expect_identical(nrow(joining), 2L)
    expect_true(all(is.na(joining$realised)))
    own <- pdp(fit, inside)$donors[149:150, ]
    expect_equal(joining$removal, own$removal)
    expect_equal(joining$replacement, own$replacement)
  }
  # Output perturbation uses the minimiser with one additional person.
  fit <- families_fit(z ~ a + b, "binomial", "output", 1e-6, settings = list(ridge = 2))
  read <- function(data) {
    paper_loss_rows_cpp(lm_table(fit$columns, data, TRUE), paper_facts(fit$public, "output"))
  }
  rows <- read(data)
  others <- read(extra)
  theta <- ridge_logistic_cpp(rows$x, rows$y, rep(2, 3), numeric(3), 1e-11)
  move <- minimiser_moves(rows, theta, 2, others)
  for (i in 1:2) {
    more <- ridge_logistic_cpp(rbind(rows$x, others$x[i, ]), c(rows$y, others$y[[i]]), rep(2, 3),
      numeric(3), 1e-11)
    exact <- more - theta
    expect_equal(move$step[i, ], exact, tolerance = 0.05)
    expect_lte(sqrt(sum(exact^2)), move$bound[[i]] * (1 + 1e-9))
    expect_gt(sqrt(sum(exact^2)), 0.8 * move$bound[[i]])
  }
  joining <- pdp(fit, data, newdata = extra)$donors
  expect_equal(joining$removal, shift_epsilon(move$bound / fit$plan$output, 1e-6) + 1e-3)
  expect_error(pdp(fit, data, newdata = extra[0, ]), class = "dpsc_error_argument")
})

test_that("pdp() refuses results whose individual losses are unknown and gives the reason", {
  data <- families_people()
  bounds <- list(y = c(-3, 3), a = c(-1, 1), b = c(0, 2))
  refused <- function(x, reason) expect_error(pdp(x, data), reason, class = "dpsc_error_argument")
  refused(dp_select(y ~ a + b, data, epsilon = 1, bounds = bounds, method = "exhaustive", size = 1),
    "candidates")
  refused(dp_stream_sum(c(-1, 1), epsilon = 1, horizon = 200), "rows")
  refused(dp_aggregate(data, function(d) mean(d$a), lower = -1, upper = 1, epsilon = 1), "block")
  refused(dp_describe(~a, data, epsilon = 1, bounds = bounds), "steps")
  refused(1, "private release")
})
