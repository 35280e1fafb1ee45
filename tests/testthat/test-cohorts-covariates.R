# Several adoption dates and covariates together, `y ~ treated | x1 + x2`.

test_that("features of a later cohort are ordered as past, covariates, future", {
  withr::local_seed(8)
  rows <- matrix(stats::runif(80 * 14, -1, 1), 80)
  facts <- gram_facts_of(T0 = 6, T1 = 6, n = 80, features = 3, y = (1:6) / 6)
  facts$covariates <- 2
  plan <- gram_plan_cpp(c(facts, group = FALSE))
  features <- rows %*% plan$loadings
  s <- list(
    loadings = plan$loadings, pre = plan$pre, covariates = 2, weight = plan$weight,
    demean = plan$demean, mean = colMeans(features), restore = diag(ncol(features)),
    covariance = crossprod(sweep(features, 2, colMeans(features))) / 80, mean_sd = 1e-7,
    moment_sd = 1e-7
  )
  expect_true(s$demean)
  for (T0 in c(6L, 9L)) {
    order <- cohort_order(6, 2, T0, 12)
    expect_equal(order, if (T0 == 6) 1:14 else c(1:6, 9:11, 7:8, 12:14))
    view <- cohort_view_cpp(s, T0)
    own <- rows[, order]
    features <- own %*% view$loadings
    expect_equal(view$mean, colMeans(features))
    expect_equal(
      view$restore %*% view$covariance %*% t(view$restore),
      crossprod(sweep(features, 2, colMeans(features))) / 80
    )
    level <- rowMeans(own[, seq_len(T0)])
    expect_equal(
      features[, view$pre + seq_len(12 - T0)], s$weight * (own[, -seq_len(T0 + 2)] - level)
    )
  }
})

test_that("without privacy every cohort's fit is a ridge regression on its past and covariates", {
  p <- staggered_covariates()
  fit <- staggered_fit(p, control = dp_control(lambda = 3))
  donors <- seq_len(p$n)
  for (T0 in c(5, 7)) {
    pre <- seq_len(T0)
    x <- cbind((cbind(p$y[, pre], p$x1) - 50) / 50, 2 * p$values[, 2:3] - 1)
    post <- (p$y[, -pre] - 50) / 50
    z <- sweep(x, 2, colMeans(x[donors, ]))
    away <- sweep(post, 2, colMeans(post[donors, ]))
    # The penalty of dp_control() is added to the sum over donors and is halved.
    slopes <- solve(
      crossprod(z[donors, ]) + diag(3 / 2, ncol(z)), crossprod(z[donors, ], away[donors, ])
    )
    group <- p$n + which(p$dates == T0)
    expected <- 50 + 50 * (colMeans(post[donors, ]) + drop(colMeans(z[group, ]) %*% slopes))
    one <- fit$cohorts[[as.character(T0 + 1)]]
    expect_equal(unname(predict(one)[1, ]), unname(expected), tolerance = 1e-8)
    others <- p$units[p$n + which(p$dates != T0)]
    # The dates of the other cohorts determine the periods of a covariate's mean, but constant
    # covariates are unaffected.
    alone <- staggered_fit(p,
      data = p$data[!p$data$unit %in% others, ], control = dp_control(lambda = 3)
    )
    expect_equal(tidy(one, conf.int = TRUE), tidy(alone, conf.int = TRUE), tolerance = 1e-7)
  }
  without <- staggered_fit(p, y ~ on, bounds = p$bounds["y"], control = dp_control(lambda = 3))
  expect_gt(abs(glance(without)$effect - glance(fit)$effect), 1e-3)
  expect_equal(tidy(update(fit), "group_time"), tidy(fit, "group_time"))
  # The date is not among the dates of the release, and the rows are too many to be stored.
  treated <- p$n + 1:4
  other <- dp_synth(fit$release,
    target = p$y[treated, ], T0 = c(5, 6, 7, 7), covariates = p$values[treated, ]
  )
  expect_named(other$cohorts, c("6", "7", "8"))
  data <- p$data
  from <- c(rep(Inf, p$n), 5, 6, 7, 7)[match(data$unit, p$units)]
  data$on <- as.integer(data$time > from)
  again <- staggered_fit(p, data = data, control = dp_control(lambda = 3))
  expect_equal(
    tidy(other$cohorts[["7"]], conf.int = TRUE)[, -1],
    tidy(again$cohorts[["7"]], conf.int = TRUE)[, -1], tolerance = 1e-7
  )
})

test_that("cohort fits with a large budget are near non-private fits; covariates cut std.error", {
  p <- staggered_covariates(n = 3000, dates = rep(c(5, 7), each = 40))
  raw <- tidy(staggered_fit(p), "cohort")$estimate
  control <- dp_control(rng = "R")
  with <- withr::with_seed(3, staggered_fit(p, epsilon = 50, control = control))
  without <- withr::with_seed(3, staggered_fit(p, y ~ on,
    bounds = p$bounds["y"], epsilon = 50, control = control
  ))
  with <- tidy(with, "cohort")
  without <- tidy(without, "cohort")
  expect_lt(max(abs(with$estimate - raw)), 0.5)
  expect_lt(with$std.error[[1]], 0.6 * without$std.error[[1]])
  expect_false(anyNA(with$std.error))
})

test_that("calibration for cohorts uses placebo errors with periods in each cohort's order", {
  withr::local_seed(9)
  n <- 250
  rows <- matrix(stats::runif(n * 13, -0.9, 0.9), n)
  bounds <- new_bounds(c(-1, 1), 11)
  facts <- c(gram_facts_of(T0 = 6, T1 = 5, n = n, epsilon = 3), group = FALSE, covariates = 2)
  options <- gram_options(TRUE, n, bounds)
  dates <- c(6L, 8L)
  scale <- insert_scale(bounds, 2, 6)
  # Bounds that differ by column are reordered with the columns.
  scale$centre <- scale$centre + seq(-0.1, 0.1, length.out = 13)
  scale$half <- seq(1, 0.8, length.out = 13)
  run <- withr::with_seed(4, cohort_audit_cpp(
    rows, facts, dates, scale, options, "R", NULL
  ))
  s <- run$statistics
  grid <- sweep(rows, 2, scale$centre)
  limit <- rep(scale$half, each = n)
  grid <- round(pmin(pmax(grid, -limit), limit) * 2^20) / 2^20
  clip <- s$cohorts$intervals$clip
  mine <- vapply(dates, function(T0) {
    own <- grid[, cohort_order(6, 2, T0, 11)]
    fits <- gram_estimate_cpp(cohort_view_cpp(s, T0), options, own, rep(1, n))
    path <- do.call(rbind, lapply(fits, `[[`, "path"))
    error <- rowMeans((own - path)[, -seq_len(T0 + 2)])
    sum(floor(2^20 * pmin(1, (error / clip)^2)))
  }, 0)
  expect_equal(run$calls[[6]]$value, mine, tolerance = 1e-6)
})

test_that("replacing a donor's outcomes and covariates changes no step beyond its sensitivity", {
  # Plants faults 15.
  p <- staggered_covariates(n = 300, dates = c(5, 7))
  donor <- p$data$unit == "u0001"
  swapped <- function(y, x1, g) {
    data <- p$data
    data$y[donor] <- y[data$time[donor]]
    data$x1[donor] <- x1
    data$g[donor] <- g
    data
  }
  pairs <- list(
    list(swapped(rep(0, 9), 0, "a"), swapped(rep(100, 9), 100, "b")),
    list(swapped(rep(50, 9), 0, "c"), swapped(c(rep(0, 7), 100, 100), 1e9, "never heard of"))
  )
  replay <- function(pair, ...) {
    recorder <- new_recorder()
    scope <- hooked_namespace(recorder, list(cohort_release_cpp = cohort_hook(recorder, ...)))
    audit_replay(list(recorder = recorder, ours = TRUE, run = function(data) {
      suppressWarnings(staggered_fit(p,
        data = data, epsilon = 2, fun = scope$dp_release.formula, control = dp_control(rng = "R")
      ))$privacy
    }), pair, 2)
  }
  for (pair in pairs) expect_false(withr::with_seed(5, replay(pair)$violated))
  # These covariates are not clipped; their weight is a public constant for bounds of [-1, 1].
  wild <- function(donors, mode) {
    if (mode == "replay") donors[2:40, ] <- donors[rep(1, 39), ]
    donors
  }
  expect_true(withr::with_seed(5, replay(pairs[[1]], wild)$violated))
})

test_that("a release for several dates with covariates is read back and contains no donor's data", {
  skip_if_not_installed("jsonlite")
  p <- staggered_covariates(n = 400, dates = rep(c(5, 7), each = 20))
  ledger <- dp_ledger(4, 1e-6)
  fit <- staggered_fit(p, epsilon = 4, ledger = ledger)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  file <- withr::local_tempfile()
  write_release(fit$release, file)
  release <- read_release(file)
  expect_identical(release, fit$release)
  treated <- p$n + seq_along(p$dates)
  again <- dp_synth(release,
    target = p$y[treated, ], T0 = p$dates, covariates = p$values[treated, ]
  )
  expect_equal(tidy(again, "event"), tidy(fit, "event"))
  donors <- seq_len(p$n)
  secrets <- c(p$y[donors, ], p$x1[donors], mean(p$x1[donors]), (p$x1[donors] - 50) / 50)
  expect_no_canary(fit, secrets, "fit")
  results <- crossings_of(function(scope) {
    staggered_fit(p, epsilon = 4, fun = scope$dp_synth.formula)
  })
  expect_no_canary(results, secrets, "crossings")
  expect_error(
    dp_synth(release, target = p$y[treated, ], T0 = p$dates), class = "dpsc_error_covariate"
  )
})

test_that("a roster can have several dates, and gaps are filled from a unit's other values", {
  p <- staggered_covariates(n = 200, dates = rep(c(5, 7), each = 2))
  roster <- dp_roster(p$units, c(rep(NA, p$n), p$dates + 1), 1:9)
  full <- withr::with_seed(1, staggered_fit(p, epsilon = 4, control = dp_control(rng = "R")))
  same <- withr::with_seed(1, staggered_fit(p,
    epsilon = 4, na = "interpolate", roster = roster, control = dp_control(rng = "R")
  ))
  expect_equal(tidy(same, "group_time"), tidy(full, "group_time"))
  # The last unit adopts after period 7 and is observed in period 6 only.
  last <- p$units[[p$n + 4]]
  few <- p$data[p$data$unit != last | p$data$time == 6, ]
  sparse <- staggered_fit(p, y ~ on,
    data = few, bounds = p$bounds["y"], na = "interpolate", roster = roster
  )
  seen <- p$y[p$n + 4, 6]
  expect_equal(unname(sparse$cohorts[["8"]]$units$target[2, ]), rep(seen, 9))
  early <- dp_roster(p$units, c(rep(NA, p$n), 2, 6, 8, 8), 1:9)
  expect_error(staggered_fit(p, na = "interpolate", roster = early), class = "dpsc_error_panel")
})

test_that("each cohort uses the predictors of its own units", {
  p <- staggered_covariates(n = 30)
  for (estimator in c("predictors", "augmented")) {
    fit <- staggered_fit(p, y ~ on | x1, bounds = NULL, estimator = estimator)
    for (date in c(5, 7)) {
      others <- p$units[p$n + which(p$dates != date)]
      alone <- staggered_fit(p, y ~ on | x1,
        data = p$data[!p$data$unit %in% others, ], bounds = NULL, estimator = estimator
      )
      expect_equal(fit$cohorts[[as.character(date + 1)]]$counterfactual, alone$counterfactual)
    }
  }
  # Forecasts before the adoption also use covariates, since constant covariates are known at any
  # date.
  last <- fit$forecasts[fit$forecasts$cohort == 2 & fit$forecasts$period == 6, ]
  sooner <- p$data
  sooner$on <- as.integer(sooner$unit %in% p$units[p$n + 3:4] & sooner$time > 5)
  sooner <- sooner[!sooner$unit %in% p$units[p$n + 1:2] & sooner$time < 7, ]
  then <- staggered_fit(p, y ~ on | x1, data = sooner, bounds = NULL, estimator = "augmented")
  expect_equal(last$residual, effects(then)[[1]], tolerance = 1e-6)
})
