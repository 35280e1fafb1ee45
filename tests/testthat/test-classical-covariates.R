# Covariates of the estimators on raw data: regressors of "sdid", "factor" and "mcnnm", and balanced
# columns of "simplex", "demeaned" and "penalised". The oracles share no code with the core.

# Slopes, and coefficients by period, from lm() with dummies on the untreated cells.
dummies_fit <- function(panel, with_units, weight = 1) {
  all <- panel$all
  cells <- expand.grid(unit = factor(seq_len(nrow(all))), time = factor(seq_len(ncol(all))))
  cells$y <- as.vector(all)
  cells$x1 <- as.vector(panel$x[, , 1])
  cells$x2 <- as.vector(panel$x[, , 2])
  cells$z <- panel$z[cells$unit, 1] - mean(panel$predictors$donors)
  treated <- cells$unit == nrow(all) & as.integer(cells$time) > panel$T0
  cells$w <- ifelse(cells$unit == nrow(all), weight, 1)
  formula <- if (with_units) y ~ x1 + x2 + unit + time + z:time else y ~ x1 + x2 + unit + time
  fit <- stats::lm(formula, cells[!treated, ], weights = cells$w[!treated])
  slopes <- unname(stats::coef(fit)[c("x1", "x2")])
  said <- panel$x[, , 1] * slopes[[1]] + panel$x[, , 2] * slopes[[2]]
  if (with_units) {
    drift <- stats::coef(fit)[paste0("time", seq_len(ncol(all)), ":z")]
    if (all(is.na(drift))) drift <- stats::coef(fit)[paste0("z:time", seq_len(ncol(all)))]
    drift[is.na(drift)] <- 0
    said <- said + outer(panel$z[, 1] - mean(panel$predictors$donors), drift - mean(drift))
  }
  list(slopes = slopes, said = said)
}

test_that("estimator sdid partials out covariates as lm() does and then fits the residuals", {
  for (weight in c(1, 3)) {
    for (with_units in c(FALSE, TRUE)) {
      panel <- regressor_panel(seed = 2 + with_units)
      given <- list(covariates = panel$covariates, treated = weight)
      if (with_units) given$predictors <- panel$predictors
      fit <- fit_classical(panel$donors, panel$target, 9, "sdid", given)
      slow <- dummies_fit(panel, with_units, weight)
      expect_equal(unname(fit$slopes), slow$slopes, tolerance = 1e-9)
      rest <- panel$all - slow$said
      plain <- fit_classical(rest[1:12, ], rest[13, ], 9, "sdid", list(treated = weight))
      expect_equal(fit$settings$zeta, plain$settings$zeta, tolerance = 1e-9)
      expect_equal(fit$weights, plain$weights, tolerance = 1e-7)
      expect_equal(
        unname(fit$counterfactual), unname(plain$counterfactual + slow$said[13, ]),
        tolerance = 1e-7
      )
    }
  }
  expect_named(fit$slopes, c("price", "rain"))
  # A shift of a unit's covariate does not change the fit.
  moved <- given
  moved$predictors$donors <- 1000 - 3 * given$predictors$donors
  moved$predictors$target <- 1000 - 3 * given$predictors$target
  again <- fit_classical(panel$donors, panel$target, 9, "sdid", moved)
  expect_equal(again$counterfactual, fit$counterfactual, tolerance = 1e-8)
})

# Alternating least squares of slopes, coefficients by period, effects, and singular vectors.
slow_interactive <- function(panel, rank, with_units, rounds = 4000) {
  y <- panel$donors
  n <- nrow(y)
  base <- cbind(rep(1, n), if (with_units) panel$predictors$donors)
  residual <- function(m) stats::lm.fit(base, m - rowMeans(m))$residuals
  left <- residual(y)
  columns <- cbind(
    as.vector(residual(panel$covariates$donors[, , 1])),
    as.vector(residual(panel$covariates$donors[, , 2]))
  )
  common <- left * 0
  beta <- c(0, 0)
  for (i in seq_len(rounds)) {
    before <- beta
    beta <- unname(stats::lm.fit(columns, as.vector(left - common))$coefficients)
    parts <- svd(left - matrix(columns %*% beta, n), rank, rank)
    common <- parts$u %*% (parts$d[seq_len(rank)] * t(parts$v))
    if (max(abs(beta - before)) < 1e-12) break
  }
  adjusted <- y - panel$covariates$donors[, , 1] * beta[[1]] -
    panel$covariates$donors[, , 2] * beta[[2]]
  own <- drop(panel$covariates$target %*% beta)
  like <- cbind(1, if (with_units) panel$predictors$target)
  time <- drop(like %*% qr.coef(qr(base), adjusted))
  pre <- seq_len(panel$T0)
  design <- cbind(1, parts$v)
  coefficients <- qr.coef(qr(design[pre, ]), (panel$target - own - time)[pre])
  list(beta = beta, path = unname(time + drop(design %*% coefficients) + own))
}

test_that("estimator factor with covariates equals alternating least squares", {
  for (rank in 1:2) {
    for (with_units in c(FALSE, TRUE)) {
      panel <- regressor_panel(seed = rank)
      given <- list(covariates = panel$covariates, rank = rank)
      if (with_units) given$predictors <- panel$predictors
      fit <- fit_classical(panel$donors, panel$target, 9, "factor", given)
      slow <- slow_interactive(panel, rank, with_units)
      expect_equal(unname(fit$slopes), slow$beta, tolerance = 1e-7)
      expect_equal(fit$counterfactual, slow$path, tolerance = 1e-6)
      expect_lt(fit$kkt, 1e-8)
      # The remainder is the weighted donors minus the part of the covariates.
      said <- function(x) apply(x, seq_len(length(dim(x)) - 1L), function(v) sum(v * fit$slopes))
      path <- drop(fit$weights %*% (panel$donors - said(panel$covariates$donors))) +
        fit$intercept + said(panel$covariates$target)
      expect_equal(path, fit$counterfactual, tolerance = 1e-7)
      expect_equal(sum(fit$weights), 1, tolerance = 1e-9)
    }
  }
  none <- fit_classical(panel$donors, panel$target, 9, "factor",
    list(covariates = panel$covariates, rank = 0)
  )
  donors_only <- panel
  donors_only$all <- panel$donors
  donors_only$x <- panel$x[1:12, , ]
  cells <- expand.grid(unit = factor(1:12), time = factor(1:13))
  two_way <- stats::lm(
    as.vector(panel$donors) ~ as.vector(panel$x[1:12, , 1]) + as.vector(panel$x[1:12, , 2]) +
      cells$unit + cells$time
  )
  expect_equal(unname(none$slopes), unname(stats::coef(two_way)[2:3]), tolerance = 1e-9)
})

test_that("with covariates estimator factor chooses its rank by leaving out single periods", {
  panel <- regressor_panel(n = 20)
  fit <- fit_classical(panel$donors, panel$target, 9, "factor", list(covariates = panel$covariates))
  for (r in 1:3) {
    beta <- slow_interactive(panel, r, FALSE)$beta
    rest <- panel$all - panel$x[, , 1] * beta[[1]] - panel$x[, , 2] * beta[[2]]
    donors <- rest[1:20, ]
    f <- svd(scale(donors - rowMeans(donors), scale = FALSE))$v[, seq_len(r), drop = FALSE]
    design <- cbind(1, f)[1:9, ]
    own <- (rest[21, ] - colMeans(donors))[1:9]
    error <- vapply(1:9, function(t) {
      own[t] - sum(design[t, ] * qr.solve(design[-t, , drop = FALSE], own[-t]))
    }, 0)
    expect_equal(fit$settings$path$error[r + 1], mean(error^2), tolerance = 1e-5)
  }
  expect_identical(fit$settings$rank, 2L)
})

# Effects, slopes and one step of shrinkage alternate on the observed cells.
slow_completion_with <- function(panel, lambda, with_units, rounds = 3000) {
  y <- panel$all
  mask <- y * 0 + 1
  mask[nrow(y), -seq_len(panel$T0)] <- 0
  seen <- mask == 1
  cells <- expand.grid(unit = factor(seq_len(nrow(y))), time = factor(seq_len(ncol(y))))
  z <- panel$z[cells$unit, 1] - mean(panel$z)
  design <- cbind(
    as.vector(panel$x[, , 1]), as.vector(panel$x[, , 2]),
    stats::model.matrix(if (with_units) ~ unit + time + z:time else ~ unit + time, cells)
  )
  seen_qr <- qr(design[as.vector(seen), ])
  low <- y * 0
  for (i in seq_len(rounds)) {
    b <- qr.coef(seen_qr, (y - low)[seen])
    b[is.na(b)] <- 0
    said <- matrix(design %*% b, nrow(y))
    parts <- svd(mask * (y - said - low) + low)
    low <- parts$u %*% (pmax(parts$d - lambda * sum(mask) / 2, 0) * t(parts$v))
  }
  list(beta = unname(b[1:2]), path = unname((said + low)[nrow(y), ]), rank = sum(parts$d > lambda))
}

test_that("mcnnm with covariates agrees with alternating soft-impute", {
  for (with_units in c(FALSE, TRUE)) {
    panel <- regressor_panel(n = 6, T0 = 6, T1 = 2, seed = 4)
    for (lambda in c(0.03, 0.1)) {
      given <- list(covariates = panel$covariates, lambda = lambda)
      if (with_units) given$predictors <- panel$predictors
      fit <- fit_classical(panel$donors, panel$target, 6, "mcnnm", given)
      slow <- slow_completion_with(panel, lambda, with_units)
      expect_equal(unname(fit$slopes), slow$beta, tolerance = 1e-5)
      expect_equal(fit$counterfactual, slow$path, tolerance = 1e-5)
      expect_lt(fit$kkt, 1e-6)
      post <- 7:8
      said <- function(x) x[, , 1] * fit$slopes[[1]] + x[, , 2] * fit$slopes[[2]]
      rest <- panel$donors - said(panel$covariates$donors)
      own <- drop(panel$covariates$target %*% fit$slopes)
      path <- drop(fit$weights %*% rest) + fit$intercept + own
      expect_equal(path[post], fit$counterfactual[post], tolerance = 1e-6)
      expect_equal(sum(fit$weights), 1, tolerance = 1e-9)
    }
  }
})

test_that("mcnnm fits of wide and tall panels with covariates meet the optimality conditions", {
  for (shape in list(c(5, 18), c(30, 6))) {
    panel <- regressor_panel(shape[[1]], shape[[2]] - 2, 2, seed = 5)
    given <- list(covariates = panel$covariates, predictors = panel$predictors, lambda = 0.03)
    fit <- fit_classical(panel$donors, panel$target, panel$T0, "mcnnm", given)
    T0 <- panel$T0
    n <- shape[[1]] + 1L
    # Missing cells filled with the values of the fit, minus the part of the covariates, must give
    # the same fit.
    filled <- panel$all
    filled[n, -seq_len(T0)] <- fit$counterfactual[-seq_len(T0)]
    filled <- filled - panel$x[, , 1] * fit$slopes[[1]] - panel$x[, , 2] * fit$slopes[[2]]
    base <- cbind(1, panel$z)
    left <- stats::lm.fit(base, filled - rowMeans(filled))$residuals
    parts <- svd(left)
    theta <- 0.03 * (shape[[1]] * shape[[2]] + T0) / 2
    kept <- pmax(parts$d - theta, 0)
    expect_gt(sum(kept > 0), 0)
    residual <- parts$u %*% (pmin(parts$d, theta) * t(parts$v))
    expect_lt(max(abs(residual[n, -seq_len(T0)])), 1e-6)
    seen <- residual * 0 + 1
    seen[n, -seq_len(T0)] <- 0
    for (k in 1:2) expect_lt(abs(sum(residual * seen * panel$x[, , k])), 1e-4)
    expect_equal(fit$objective, sum(pmin(parts$d, theta)^2) / 2 + theta * sum(kept),
      tolerance = 1e-7
    )
  }
})

test_that("the cross-validation of mcnnm's penalty includes the covariates", {
  panel <- regressor_panel(n = 6, T0 = 6, T1 = 2, seed = 6)
  fit <- fit_classical(panel$donors, panel$target, 6, "mcnnm", list(covariates = panel$covariates))
  path <- fit$settings$path
  for (j in c(6, 14)) {
    error <- vapply(1:6, function(t) {
      held <- panel
      order <- c(setdiff(1:6, t), t, 7:8)
      held$all <- panel$all[, order]
      held$x <- panel$x[, order, ]
      held$T0 <- 5
      slow <- slow_completion_with(held, path$lambda[j] * 54 / 53, FALSE, 1200)
      panel$target[t] - slow$path[6]
    }, 0)
    expect_equal(path$error[j], mean(error^2), tolerance = 2e-3)
  }
})

test_that("a covariate removes most of a shift that it explains; with slope 0 it changes nothing", {
  panel <- regressor_panel(n = 30, T0 = 14, T1 = 4, slopes = c(0, 0), drift = 0, seed = 8)
  # A covariate causes the whole change of the target after the treatment.
  shift <- panel$all * 0
  withr::with_seed(1, shift[] <- rnorm(length(shift)))
  shift[31, 15:18] <- shift[31, 15:18] + 6
  moved <- panel$all + 2 * shift
  effect <- function(all, fit) mean((all[31, ] - fit$counterfactual)[15:18])
  for (estimator in c("sdid", "factor", "mcnnm")) {
    settings <- switch(estimator,
      sdid = list(zeta = 1, zeta_periods = 0.1), factor = list(rank = 2), mcnnm = list(lambda = .02)
    )
    fit <- function(all, ...) {
      fit_classical(all[1:30, ], all[31, ], 14, estimator, c(settings, list(...)))
    }
    given <- function(x) list(donors = x[1:30, ], target = x[31, ])
    plain <- fit(panel$all)
    with <- fit(panel$all, covariates = given(shift))
    again <- fit(moved, covariates = given(shift))
    expect_equal(unname(again$slopes - with$slopes), 2, tolerance = 1e-6)
    expect_equal(effect(moved, again), effect(panel$all, with), tolerance = 1e-5)
    # Two-way effects do not remove the factors, which add noise to the slope of sdid.
    away <- abs(effect(moved, again) - effect(panel$all, plain))
    expect_lt(away, if (estimator == "sdid") 3 else 0.3)
    expect_gt(abs(effect(moved, fit(moved)) - effect(panel$all, plain)), 5)
    if (estimator == "mcnnm") next
    # The covariate has no effect after its part is subtracted from the outcome.
    seen <- shift * 0 + 1
    seen[31, if (estimator == "sdid") 15:18 else 1:18] <- 0
    filled <- panel$all
    if (estimator == "sdid") {
      cells <- expand.grid(unit = factor(1:31), time = factor(1:18))
      two_way <- stats::lm(as.vector(filled) ~ cells$unit + cells$time, subset = seen == 1)
      left <- filled * 0
      left[seen == 1] <- stats::residuals(two_way)
    } else {
      two_way <- scale(panel$all[1:30, ] - rowMeans(panel$all[1:30, ]), scale = FALSE)
      parts <- svd(two_way)
      left <- rbind(parts$u[, -(1:2)] %*% (parts$d[-(1:2)] * t(parts$v[, -(1:2)])), 0)
    }
    silent <- shift - left * sum(shift * left) / sum(left^2)
    none <- fit(panel$all, covariates = given(silent))
    expect_lt(abs(none$slopes[[1]]), 1e-8)
    expect_equal(unname(none$counterfactual), unname(plain$counterfactual), tolerance = 1e-7)
  }
})

test_that("estimators factor and sdid with covariates recover the path of a panel without noise", {
  panel <- regressor_panel(n = 14, T0 = 10, T1 = 3, seed = 9)
  withr::with_seed(2, {
    f <- cumsum(rnorm(13))
    common <- outer(rnorm(15), f) + outer(rnorm(15, 5), rep(1, 13))
  })
  all <- common + 1.5 * panel$x[, , 1] - 0.8 * panel$x[, , 2] + outer(panel$z[, 1], 1:13 / 10)
  fit <- fit_classical(all[-15, ], all[15, ], 10, "factor", list(
    rank = 1, covariates = panel$covariates, predictors = panel$predictors
  ))
  expect_equal(unname(fit$slopes), c(1.5, -0.8), tolerance = 1e-7)
  expect_equal(fit$counterfactual, unname(all[15, ]), tolerance = 1e-7)
  flat <- all - common
  fit <- fit_classical(flat[-15, ], flat[15, ], 10, "sdid", list(
    covariates = panel$covariates, predictors = panel$predictors, zeta = 1, zeta_periods = 1
  ))
  expect_equal(fit$counterfactual, unname(flat[15, ]), tolerance = 1e-7)
})

test_that("simplex estimators balance covariates scaled by the outcome's standard deviation", {
  panel <- regressor_panel(seed = 11)
  z <- withr::with_seed(3, cbind(panel$z, share = runif(13)))
  given <- list(donors = z[-13, ], target = z[13, ])
  x <- panel$donors[, 1:9]
  unit <- sd(scale(x, scale = FALSE))
  for (v in list(NULL, c(4, 0.25))) {
    scale <- sqrt(if (is.null(v)) 1 else v) * unit / apply(given$donors, 2, sd)
    both <- function(x, y) {
      list(x = cbind(x, sweep(given$donors, 2, scale, "*")), y = c(y, given$target * scale))
    }
    run <- function(estimator, ...) {
      settings <- c(list(predictors = given, v = v), list(...))
      fit_classical(panel$donors, panel$target, 9, estimator, settings)
    }
    b <- both(x, panel$target[1:9])
    loss <- function(w, b, lambda) {
      sum((b$y - drop(w %*% b$x))^2) + lambda * sum(w * colSums((t(b$x) - b$y)^2))
    }
    fit <- run("simplex")
    expect_equal(unname(fit$weights), unname(slow_simplex(b$x, b$y)), tolerance = 1e-4)
    expect_equal(fit$objective, loss(fit$weights, b, 0), tolerance = 1e-8)
    expect_equal(unname(fit$counterfactual), unname(drop(fit$weights %*% panel$donors)))
    # An optimiser without constraints computes the weights on the simplex, with the penalty.
    fit <- run("penalised", lambda = 0.2)
    softmax <- function(a) exp(a - max(a)) / sum(exp(a - max(a)))
    slow <- optim(log(fit$weights + 0.02), function(a) loss(softmax(a), b, 0.2),
      method = "BFGS", control = list(maxit = 5000, reltol = 1e-14)
    )
    expect_lte(loss(fit$weights, b, 0.2), slow$value * (1 + 1e-9))
    expect_equal(loss(fit$weights, b, 0.2), slow$value, tolerance = 1e-3)
    # With an intercept each unit's mean is subtracted from its outcomes. The standard deviation of
    # the result scales the covariates.
    unit_own <- sd(scale(x - rowMeans(x), scale = FALSE))
    factor <- unit_own / unit
    own <- list(
      x = cbind(x - rowMeans(x), sweep(given$donors, 2, scale * factor, "*")),
      y = c(panel$target[1:9] - mean(panel$target[1:9]), given$target * scale * factor)
    )
    fit <- run("demeaned")
    expect_equal(unname(fit$weights), unname(slow_simplex(own$x, own$y)), tolerance = 1e-4)
    path <- drop(fit$weights %*% panel$donors)
    expect_equal(fit$intercept, mean((panel$target - path)[1:9]))
  }
  # A covariate of importance zero has no influence; importances are matched by name.
  plain <- fit_classical(panel$donors, panel$target, 9, "simplex")
  one <- function(v) {
    fit_classical(panel$donors, panel$target, 9, "simplex", list(predictors = given, v = v))$weights
  }
  expect_equal(one(c(1e-14, 0)), plain$weights, tolerance = 1e-5)
  expect_equal(one(c(share = 2, age = 3)), one(c(3, 2)))
  # The units of measurement do not affect the weights.
  moved <- given
  moved$donors[, 1] <- 50 - 1000 * given$donors[, 1]
  moved$target[[1]] <- 50 - 1000 * given$target[[1]]
  again <- fit_classical(panel$donors, panel$target, 9, "simplex", list(predictors = moved))
  expect_equal(again$weights, one(c(1, 1)), tolerance = 1e-7)
})
