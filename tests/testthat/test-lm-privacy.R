# The privacy of regressions: attacks on proofs/regression.md.

test_that("replacing one of 3 to 6 rows changes losses of a median by amounts at most 2 apart", {
  compositions <- function(n, cells) {
    if (cells == 1L) return(list(n))
    unlist(lapply(0:n, function(k) {
      lapply(compositions(n - k, cells - 1L), function(rest) c(k, rest))
    }), recursive = FALSE)
  }
  widest <- farthest <- 0
  for (n in 3:6) {
    # The last part of a composition is the number of missing rows.
    for (state in compositions(n, 5L)) {
      own <- median_losses_cpp(state[1:4], state[[5]])
      for (from in which(state > 0)) {
        for (to in setdiff(1:5, from)) {
          other <- state
          other[from] <- other[from] - 1
          other[to] <- other[to] + 1
          move <- median_losses_cpp(other[1:4], other[[5]]) - own
          widest <- max(widest, diff(range(move)))
          farthest <- max(farthest, abs(move))
        }
      }
    }
  }
  # Losses are doubled, so that n may be odd. A range of 4 therefore corresponds to 2.
  expect_equal(widest, 4)
  expect_equal(farthest, 2)
})

test_that("dp_lm() charges the draw of a median for the full range of its losses", {
  for (delta in c(0, 1e-6)) {
    facts <- lm_facts_of(n = 1e5, delta = delta)
    plan <- lm_plan_cpp(facts)
    run <- lm_audit_cpp(lm_rows(lm_people(500)), c(list(n = 1e5), facts[-1]), "R", NULL)
    # The exponent is per unit of a doubled loss.
    exponent <- run$calls[[1]]$scale
    range <- 4 * exponent
    step <- plan$steps[1, ]
    expect_identical(step$step, "median of a")
    cost <- if (delta > 0) exponential_step_mu_cpp(range) else range
    charged <- if (delta > 0) step$mu else step$epsilon
    expect_lte(cost, charged * (1 + 1e-12))
    expect_gte(cost, charged * 0.98)
  }
})

test_that("integer rows of dp_lm() and their outer products stay within declared limits", {
  withr::local_seed(1)
  formula <- y ~ a + b + I(a^2) + g
  worst <- 0
  for (epsilon in c(0.1, 1, 4)) {
    facts <- lm_facts_of(formula, n = 1000, epsilon = epsilon)
    data <- lm_people(1000)
    far <- data
    far[c("y", "a", "b")] <- lapply(far[c("y", "a", "b")], function(x) {
      x * 10^stats::runif(length(x), -3, 5) * sample(c(-1, 1), length(x), TRUE)
    })
    # Rows exactly as long as the radius have the largest effect, and opposite residuals make the
    # worst pair.
    near <- 21:800
    far[near, c("a", "b")] <- data[near, c("a", "b")]
    far$y[near] <- 1e3 * rep_len(c(-1, 1), length(near))
    far$a[1:20] <- c(Inf, -Inf, NA, NaN, 1e308)
    release <- lm_audit_cpp(lm_rows(data, formula), facts, "R", NULL)$release
    for (round in seq_along(release$rounds)) {
      made <- lm_rows_cpp(lm_rows(far, formula), facts, release, round)
      u <- made$rows
      p <- ncol(u) - 2L
      expect_true(all(u == round(u)))
      expect_true(all(rowSums(u[, 1:p]^2) <= made$limit^2))
      expect_lte(max(abs(u[, p + 1])), made$residual_limit)
      expect_true(all(u[, p + 2] >= 0 & u[, p + 2] <= made$constant))
      expect_identical(made$bound, made$limit^2 + made$residual_limit^2 + made$constant^2)
      # |uu' - vv'|^2 = |u|^4 + |v|^4 - 2 (u'v)^2
      inner <- tcrossprod(u)
      size <- diag(inner)
      moved <- outer(size^2, size^2, `+`) - 2 * inner^2
      worst <- max(worst, sqrt(max(moved)) / (sqrt(2) * made$bound))
    }
  }
  expect_lte(worst, 1)
  expect_gt(worst, 0.99)
})

# The cost of every step on neighbours, given the same released answers.
replayed_cost <- function(data, other, formula, epsilon, delta, bounds = lm_bounds()) {
  facts <- lm_facts_of(formula, n = nrow(data), epsilon = epsilon, delta = delta, bounds = bounds)
  first <- lm_audit_cpp(lm_rows(data, formula, bounds), facts, "R", NULL)
  outputs <- lapply(first$calls, `[[`, "output")
  second <- lm_audit_cpp(lm_rows(other, formula, bounds), facts, "R", outputs)
  public <- function(run) lapply(run$calls, `[`, c("label", "law", "scale", "output"))
  expect_identical(public(first), public(second))
  steps <- lm_plan_cpp(facts)$steps
  observed <- mapply(function(a, b) {
    d <- b$value - a$value
    switch(a$law,
      exponential = {
        range <- diff(range(d)) * a$scale
        if (delta > 0) exponential_step_mu_cpp(range) else range
      },
      discrete_gaussian = sqrt(sum(d^2 / (a$scale - 16))), sum(abs(d) / a$scale)
    )
  }, first$calls, second$calls)
  declared <- if (delta > 0) steps$mu else steps$epsilon
  expect_length(observed, length(declared))
  stats::setNames(observed / declared, steps$law)
}

test_that("every step of dp_lm() costs at most its declared loss, and some nearly attain it", {
  withr::local_seed(9)
  data <- lm_people(400)
  extremes <- list(
    c(a = 20, b = 5, y = 30), c(a = -20, b = -5, y = -30), c(a = 20, b = -5, y = -30),
    c(a = NA, b = 0, y = 0), c(a = 3, b = 0, y = 2.5), c(a = 3, b = 2, y = 30),
    c(a = Inf, b = 0, y = 0), c(a = 4, b = 1.1, y = 30), c(a = 4, b = 1.1, y = -30)
  )
  reached <- c(exponential = 0, discrete_gaussian = 0, discrete_laplace = 0)
  for (delta in c(1e-6, 0)) {
    for (k in 1:40) {
      pair <- extremes[if (k == 1) 8:9 else sample(length(extremes), 2L)]
      # Half of the rows lie anywhere within the bounds.
      if (k > 20) pair <- lapply(1:2, function(i) stats::runif(3, -1, 1) * c(20, 5, 30))
      one <- two <- data
      one[1L, c("a", "b", "y")] <- as.list(pair[[1L]])
      two[1L, c("a", "b", "y")] <- as.list(pair[[2L]])
      ratio <- replayed_cost(one, two, y ~ a + b, epsilon = 8, delta = delta)
      expect_lte(max(ratio), 1 + 1e-9)
      for (law in unique(names(ratio))) {
        reached[[law]] <- max(reached[[law]], ratio[names(ratio) == law])
      }
    }
  }
  expect_gt(reached[["exponential"]], 0.95)
  expect_gt(reached[["discrete_gaussian"]], 0.9)
  expect_gt(reached[["discrete_laplace"]], 0.5)
})

test_that("dp_lm() has no step for radii or clips; a rare level adds no undeclared cost", {
  withr::local_seed(10)
  bounds <- c(lm_bounds(), list(z = c(0, 1)))
  formula <- y ~ a + g * s + z
  for (delta in c(1e-6, 0)) {
    steps <- lm_plan_cpp(
      lm_facts_of(formula, n = 2000, epsilon = 4, delta = delta, bounds = bounds)
    )$steps$step
    expect_length(grep("radius|clip", steps), 0L)
    for (k in 1:6) {
      data <- lm_people(2000)
      data$g <- ifelse(seq_len(2000) %% 50 == 0, "w", "u")
      data$z <- as.numeric(seq_len(2000) %% 40 == 1)
      one <- two <- data
      one[1L, c("a", "g", "y", "z")] <- list(stats::runif(1, -20, 20), "v", 30, 1)
      two[1L, c("a", "g", "y", "z")] <- list(3, c("w", "u")[[1 + k %% 2]], -30, (k %% 3) / 2)
      ratio <- replayed_cost(one, two, formula, epsilon = 4, delta = delta, bounds = bounds)
      expect_lte(max(ratio), 1 + 1e-9)
    }
  }
})

test_that("a replay of dp_lm() detects that two people instead of one are replaced", {
  withr::local_seed(9)
  one <- two <- lm_people(400)
  one[1:2, c("a", "b", "y")] <- list(20, 5, 30)
  two[1:2, c("a", "b", "y")] <- list(-20, 5, -30)
  for (delta in c(1e-6, 0)) {
    ratio <- replayed_cost(one, two, y ~ a + b, epsilon = 8, delta = delta)
    expect_gt(max(ratio), 1.5)
  }
})

test_that("the steps of dp_lm() spend 97 to 100 % of the budget for 50 to 1e6 rows", {
  for (n in c(50, 300, 5000, 1e6)) {
    for (epsilon in c(0.1, 1, 8)) {
      for (delta in c(0, 1e-6)) {
        plan <- lm_plan_cpp(lm_facts_of(n = n, epsilon = epsilon, delta = delta))
        spent <- if (delta > 0) sqrt(sum(plan$steps$mu^2)) else sum(plan$steps$epsilon)
        expect_lte(sum(plan$shares), 1 + 1e-12)
        expect_lte(spent, plan$total * (1 + 1e-9))
        expect_gte(spent, plan$total * 0.97)
      }
    }
  }
})

test_that("if all rows are missing, dp_lm() makes the same draws, with moments of 0 before noise", {
  data <- lm_people(300)
  gone <- data
  gone$y[] <- NA
  facts <- lm_facts_of(n = 300)
  first <- lm_audit_cpp(lm_rows(data), facts, "R", NULL)
  outputs <- lapply(first$calls, `[[`, "output")
  second <- lm_audit_cpp(lm_rows(gone), facts, "R", outputs)
  expect_identical(first$release, second$release)
  values <- unlist(lapply(second$calls, `[[`, "value"))
  expect_true(all(is.finite(values)))
  moments <- Filter(function(call) call$law == "discrete_gaussian", second$calls)
  expect_true(all(unlist(lapply(moments, `[[`, "value")) == 0))
})

test_that("in dp_lm() a row with one missing value is left out and changes no other row", {
  data <- lm_people(300)
  facts <- lm_facts_of(n = 300)
  first <- lm_audit_cpp(lm_rows(data), facts, "R", NULL)
  outputs <- lapply(first$calls, `[[`, "output")
  for (column in c("y", "a", "b")) {
    for (value in c(NA, NaN)) {
      gone <- data
      gone[17L, column] <- value
      alone <- data
      alone[17L, ] <- NA
      one <- lm_audit_cpp(lm_rows(gone), facts, "R", outputs)
      two <- lm_audit_cpp(lm_rows(alone), facts, "R", outputs)
      expect_identical(one, two)
    }
  }
  # The difference is the contribution of this row.
  at <- which(vapply(first$calls, `[[`, "", "law") == "discrete_gaussian")
  for (round in seq_along(at)) {
    u <- lm_rows_cpp(lm_rows(data), facts, first$release, round)$rows[17L, ]
    outer <- tcrossprod(u)
    left <- first$calls[[at[[round]]]]$value - one$calls[[at[[round]]]]$value
    expect_identical(left, outer[upper.tri(outer, diag = TRUE)])
  }
})

test_that("the order of rows does not change a release by dp_lm()", {
  data <- lm_people(3000)
  facts <- lm_facts_of(n = 3000)
  first <- lm_audit_cpp(lm_rows(data), facts, "R", NULL)
  outputs <- lapply(first$calls, `[[`, "output")
  second <- lm_audit_cpp(lm_rows(data[rev(seq_len(3000)), ]), facts, "R", outputs)
  expect_identical(first, second)
})

test_that("no object by dp_lm() contains a person's value or a sum without noise", {
  data <- lm_people(600)
  bounds <- lm_bounds()
  formula <- y ~ a + b
  fit <- seeded_lm(formula, data, epsilon = 1, bounds = bounds)
  X <- cbind(1, data$a, data$b, data$y)
  scaled <- cbind(data$a / 20, data$b / 5, data$y / 30)
  ols <- stats::lm(formula, data)
  secrets <- c(
    data$a, data$b, data$y, scaled, crossprod(X)[-1], colMeans(X)[-1], crossprod(scaled),
    stats::cov(X[, -1]), stats::coef(ols), stats::residuals(ols), stats::fitted(ols),
    stats::vcov(ols), stats::deviance(ols)
  )
  newdata <- data.frame(a = 1:3, b = 0)
  objects <- list(
    fit, summary(fit), update(fit, . ~ . - b), anova(fit), tidy(fit, conf.int = TRUE), glance(fit),
    augment(fit, newdata), predict(fit, newdata, interval = "prediction"), vcov(fit), formula(fit),
    utils::capture.output(print(fit)), utils::capture.output(print(summary(fit)))
  )
  for (object in objects) expect_no_canary(object, secrets, "object")
  expect_match(canary_found(list(fit, data$a[[3]]), secrets), "a number")
})
