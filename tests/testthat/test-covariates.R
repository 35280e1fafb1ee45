# Covariates, `y ~ treated | x1 + x2`: their meaning, by brute force, and their privacy.

# The outcome of these people after the treatment depends on x1 and the group g, not only on their
# past.
covariate_panel <- function(n = 60, T0 = 5, T1 = 2, k = 1, seed = 1) {
  withr::local_seed(seed)
  x1 <- stats::runif(n + k, 20, 80)
  g <- sample(c("a", "b", "c"), n + k, TRUE)
  level <- stats::rnorm(n + k, 50, 8)
  y <- level + matrix(stats::rnorm((n + k) * (T0 + T1), 0, 2), n + k)
  y[, T0 + seq_len(T1)] <- y[, T0 + seq_len(T1)] + 0.3 * (x1 - 50) + 6 * (g == "b")
  units <- sprintf("u%04d", seq_len(n + k))
  periods <- T0 + T1
  data <- data.frame(
    unit = rep(units, periods), time = rep(seq_len(periods), each = n + k), y = as.vector(y),
    on = as.integer(outer(seq_len(n + k), seq_len(periods), function(i, t) i > n & t > T0)),
    x1 = rep(x1, periods), g = rep(g, periods)
  )
  list(
    data = data[sample(nrow(data)), ], y = y, x1 = x1, g = g, n = n, T0 = T0, T1 = T1,
    bounds = list(y = c(0, 100), x1 = c(0, 100), g = c("a", "b", "c"))
  )
}

covariate_fit <- function(p, formula = y ~ on | x1 + g, data = p$data, ..., epsilon = Inf,
                          bounds = p$bounds, fun = dp_synth) {
  fun(formula,
    data = data, index = c("unit", "time"), epsilon = epsilon, bounds = bounds, ...
  )
}

test_that("without privacy a fit is a ridge regression on past outcomes and covariates", {
  p <- covariate_panel()
  fit <- covariate_fit(p, control = dp_control(lambda = 3))
  pre <- seq_len(p$T0)
  scaled <- (cbind(p$y[, pre], p$x1) - 50) / 50
  x <- cbind(scaled, 2 * (p$g == "b") - 1, 2 * (p$g == "c") - 1)
  post <- (p$y[, -pre] - 50) / 50
  donors <- seq_len(p$n)
  centre <- colMeans(x[donors, ])
  z <- sweep(x, 2, centre)
  # The penalty of dp_control() is added to the sum over donors and is halved.
  slopes <- solve(
    crossprod(z[donors, ]) + diag(3 / 2, ncol(z)),
    crossprod(z[donors, ], sweep(post[donors, ], 2, colMeans(post[donors, ])))
  )
  expected <- 50 + 50 * (colMeans(post[donors, ]) + drop(z[p$n + 1, ] %*% slopes))
  expect_equal(unname(predict(fit)[1, ]), expected, tolerance = 1e-8)
  expect_false(isTRUE(all.equal(
    predict(covariate_fit(p, y ~ on, bounds = p$bounds["y"], control = dp_control(lambda = 3))),
    predict(fit), tolerance = 1e-3
  )))
  expect_false(anyNA(tidy(fit, conf.int = TRUE)$conf.low))
  expect_equal(update(fit)$counterfactual, fit$counterfactual)
})

test_that("with a large budget the private fit with covariates is near the non-private fit", {
  p <- covariate_panel(n = 3000)
  withr::local_seed(3)
  truth <- mean(effects(covariate_fit(p)))
  control <- dp_control(rng = "R")
  with <- mean(effects(covariate_fit(p, epsilon = 50, control = control)))
  without <- mean(effects(
    covariate_fit(p, y ~ on, bounds = p$bounds["y"], epsilon = 50, control = control)
  ))
  expect_lt(abs(with - truth), 1)
  expect_gt(abs(without - truth), abs(with - truth))
})

test_that("covariates reduce the errors for targets whose outcomes they explain", {
  errors <- function(formula, bounds) {
    vapply(1:12, function(seed) {
      p <- covariate_panel(n = 1500, seed = seed)
      fit <- withr::with_seed(seed, covariate_fit(p, formula,
        bounds = bounds, epsilon = 2, control = dp_control(rng = "R")
      ))
      mean(effects(fit))
    }, 0)
  }
  p <- covariate_panel()
  with <- errors(y ~ on | x1 + g, p$bounds)
  without <- errors(y ~ on, p$bounds["y"])
  expect_lt(sqrt(mean(with^2)), 0.7 * sqrt(mean(without^2)))
})

test_that("a release with covariates is read back, fits new targets and contains no donor's data", {
  p <- covariate_panel(n = 400)
  fit <- covariate_fit(p, epsilon = 4)
  file <- withr::local_tempfile()
  write_release(fit$release, file)
  release <- read_release(file)
  expect_identical(release, fit$release)
  expect_identical(release$panel$covariates$name, c("x1", "g: b", "g: c"))
  own <- p$n + 1L
  again <- dp_synth(release,
    target = p$y[own, ], covariates = c(p$x1[own], p$g[own] == "b", p$g[own] == "c")
  )
  expect_equal(unname(predict(again)), unname(predict(fit)))
  expect_error(dp_synth(release, target = p$y[own, ]), class = "dpsc_error_covariate")
  expect_error(conformal(fit), class = "dpsc_error_release")
  donors <- seq_len(p$n)
  expect_no_canary(fit, c(p$y[donors, ], p$x1[donors]), "covariates")
  damaged <- release
  damaged$panel$covariates <- NULL
  expect_type(release_problem(damaged), "character")
})

test_that("a fit that protects everyone contains no covariate and no mean of the treated group", {
  p <- covariate_panel(n = 600, k = 150)
  fit <- covariate_fit(p, epsilon = 4, protect = "everyone")
  expect_null(release_problem(fit$release))
  expect_length(fit$target, p$T0 + p$T1)
  people <- c(p$y, p$x1)
  expect_no_canary(fit, people[people != 0], "everyone")
  group <- p$n + seq_len(150)
  means <- c(mean(p$x1[group]), colMeans(p$y[group, ]))
  expect_no_canary(fit, c(means, (means - 50) / 50), "group means")
  expect_lt(abs(mean(effects(fit))), 5)
})

test_that("a person's covariates depend on that person's rows alone, not on their order", {
  p <- covariate_panel(n = 30)
  data <- p$data[order(p$data$unit, p$data$time), ]
  # A number is the mean before the treatment, with each value clipped to the bounds. A factor is
  # the value in the first period.
  data$x1[data$unit == "u0001"] <- c(10, 20, 300, -50, 40, 1e6, 1e6)
  data$g[data$unit == "u0001"] <- c("b", "a", "c", "zzz", "a", "a", "a")
  data$g[data$unit == "u0002"] <- "unheard of"
  values <- function(data) {
    parts <- split_covariates(y ~ on | x1 + g)
    limits <- split_bounds(p$bounds, parts$names, TRUE, quote(y))
    read_panel(
      parts$formula, data, c("unit", "time"), private = TRUE, covariates = limits$covariates
    )$covariates$donors
  }
  found <- values(data)
  expect_equal(found[1, ], c(mean(c(10, 20, 100, 0, 40)), 1, 0))
  expect_equal(found[2, 2:3], c(0, 0))
  expect_identical(values(data[sample(nrow(data)), ]), found)
  other <- data
  other$x1[other$unit == "u0001"] <- 0
  other$g[other$unit == "u0001"] <- "new level"
  expect_identical(values(other)[-1, ], found[-1, ])
  expect_identical(dim(values(other)), dim(found))
})

test_that("invalid covariates raise errors and spend nothing", {
  p <- covariate_panel(n = 30)
  ledger <- dp_ledger(1, 1e-6)
  fails <- function(class, text, ...) {
    for (fun in list(dp_synth, dp_release)) {
      expect_error(
        covariate_fit(p, ..., epsilon = 1, ledger = ledger, fun = fun), text, class = class
      )
    }
  }
  fails("dpsc_error_covariate", "columns", y ~ on | log(x1))
  fails("dpsc_error_covariate", "columns", y ~ on | x1 + x1)
  fails("dpsc_error_covariate", "columns", y ~ on | x1 * g)
  fails("dpsc_error_bounds", "no limits for", y ~ on | nothing)
  fails("dpsc_error_covariate", "no `?nothing", y ~ on | nothing,
    bounds = list(y = c(0, 100), nothing = c(0, 1)))
  fails("dpsc_error_bounds", "must be a list", bounds = c(0, 100))
  fails("dpsc_error_bounds", "no limits for", bounds = p$bounds[1:2])
  fails("dpsc_error_bounds", "no limits for `?y", bounds = p$bounds[2:3])
  fails("dpsc_error_bounds", "two finite numbers", bounds = replace(p$bounds, "x1", list(c(5, 5))))
  # Text is read as numbers, since otherwise one person's text would decide on an error about a
  # column's type.
  fails("dpsc_error_covariate", "missing or not finite",
    bounds = replace(p$bounds, "g", list(c(0, 1))))
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  expect_error(
    covariate_fit(p, epsilon = 1, method = "output"), "gram", class = "dpsc_error_covariate"
  )
  # Without privacy, bounds of covariates are neither needed nor used.
  expect_error(covariate_fit(p, estimator = "hsvt"), class = "dpsc_error_panel")
  expect_identical(
    weights(covariate_fit(p, estimator = "simplex")),
    weights(covariate_fit(p, estimator = "simplex", bounds = NULL))
  )
  one <- dp_control(settings = list(rank = 1))
  expect_identical(
    effects(covariate_fit(p, estimator = "factor", control = one)),
    effects(covariate_fit(p, estimator = "factor", control = one, bounds = c(0, 100)))
  )
  # A public target's factor must not vary. No message concerns a donor's factor.
  treated <- p$data$unit == "u0031"
  varying <- replace(p$data, "g", list(replace(p$data$g, which(treated)[1], "zzz")))
  expect_error(covariate_fit(p, data = varying, epsilon = 1), class = "dpsc_error_protect")
  expect_error(covariate_fit(p, data = varying, epsilon = 1, protect = "donors"), "varies within",
    class = "dpsc_error_covariate"
  )
  varying <- replace(p$data, "g", list(replace(p$data$g, which(!treated)[1], "zzz")))
  expect_s3_class(
    suppressWarnings(covariate_fit(p, data = varying, epsilon = 8)), "dp_synth"
  )
  expect_error(covariate_fit(p, data = varying), "varies within", class = "dpsc_error_covariate")
})

test_that("limits of a covariate that are too close for computing are refused before the charge", {
  p <- covariate_panel()
  p$bounds$x1 <- c(0, 5e-324)
  ledger <- dp_ledger(10, 1e-3)
  expect_error(covariate_fit(p, epsilon = 5, ledger = ledger), "1e-100 apart",
    class = "dpsc_error_bounds"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})
