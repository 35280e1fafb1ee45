# Unions of groups' releases: the moments of all donors, and the guarantee.

group_releases <- function(panel, cuts, epsilon = 1, features = 4) {
  of <- findInterval(seq_len(nrow(panel$donors)), c(1, cuts + 1))
  lapply(split(seq_len(nrow(panel$donors)), of), function(rows) {
    dp_release(panel$donors[rows, ],
      target = panel$target, T0 = panel$T0, epsilon = epsilon, bounds = c(-1, 1),
      control = dp_control(rng = "R", features = features)
    )
  })
}
union_of <- function(parts) do.call(combine_releases, unname(parts))

test_that("with little noise the moments of a union of releases are near those of all donors", {
  withr::local_seed(2)
  panel <- sim_panel(n = 3000, T0 = 10, T1 = 3)
  panel$donors[1:1000, ] <- pmin(panel$donors[1:1000, ] + 0.3, 1)
  parts <- group_releases(panel, c(1000, 1800), epsilon = 1e4)
  union <- union_of(parts)
  s <- union$statistics
  features <- panel$donors %*% s$loadings
  expect_equal(s$mean, colMeans(features), tolerance = 0.02)
  own <- s$restore %*% s$covariance %*% t(s$restore)
  expect_equal(own, stats::cov(features), tolerance = 0.05, ignore_attr = TRUE)
  expect_identical(union$panel$n, 3000)
  expect_identical(union$groups, c(1000, 800, 1200))
})

test_that("the noise variance of the mean of a union is 0.5 to 3 times the stated variance", {
  withr::local_seed(3)
  panel <- sim_panel(n = 2000, T0 = 8, T1 = 2)
  made <- replicate(40, {
    s <- union_of(group_releases(panel, 900))$statistics
    exact <- panel$donors %*% s$loadings
    error <- forwardsolve(s$restore, s$mean - colMeans(exact))
    c(mean = mean(error^2) / s$mean_sd^2)
  })
  # The difference includes the effect of clipping at the radius.
  expect_gt(mean(made), 0.5)
  expect_lt(mean(made), 3)
})

test_that("a union of two groups has under twice one release's RMSE and at least 85 % coverage", {
  withr::local_seed(4)
  results <- replicate(40, {
    panel <- sim_panel(n = 3000, T0 = 10, T1 = 3, effect = 0)
    union <- union_of(group_releases(panel, 1500))
    whole <- dp_release(panel$donors,
      target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1),
      control = dp_control(rng = "R", features = 4)
    )
    error <- function(release) {
      fit <- dp_synth(release, target = panel$target)
      table <- tidy(fit, conf.int = TRUE)
      average <- table[table$term == "average", ]
      c(abs(average$estimate), average$conf.low < 0 && 0 < average$conf.high)
    }
    c(error(union), error(whole))
  })
  # The noise of a union of two groups is sqrt(2) times the noise of one release.
  expect_lt(sqrt(mean(results[1, ]^2)), 2 * sqrt(mean(results[3, ]^2)))
  expect_gte(mean(results[2, ]), 0.85)
})

test_that("a union of releases states the epsilon of one group and the steps of every group", {
  withr::local_seed(5)
  panel <- sim_panel(n = 1200, T0 = 8, T1 = 2)
  parts <- group_releases(panel, 600)
  union <- union_of(parts)
  expect_identical(union$privacy$epsilon, 1)
  expect_identical(union$privacy$rho, parts[[1L]]$privacy$rho)
  expect_match(union$privacy$neighbours, "same group")
  expect_match(union$privacy$theorem, "parallel composition")
  expect_false(union$privacy$holds)
  for (group in 1:2) {
    own <- union$privacy$steps[union$privacy$steps$group == group, ]
    expect_equal(own[names(own) != "group"], parts[[group]]$privacy$steps, ignore_attr = TRUE)
  }
  expect_error(write_release(union, tempfile(), allow_not_private = TRUE),
    class = "dpsc_error_release"
  )
})

test_that("combine_releases() refuses releases with different targets, bounds or features", {
  withr::local_seed(6)
  panel <- sim_panel(n = 1200, T0 = 8, T1 = 2)
  parts <- group_releases(panel, 600)
  fails <- function(class, ...) {
    expect_error(combine_releases(...), class = paste0("dpsc_error_", class))
  }
  fails("argument", parts[[1L]])
  fails("argument", parts[[1L]], 3)
  fails("release", parts[[1L]], parts[[1L]])
  fails("release", union_of(parts), parts[[1L]])
  other <- panel
  other$target <- -panel$target
  fails("release", parts[[1L]], group_releases(other, 600)[[2L]])
  wider <- dp_release(panel$donors[1:600, ],
    target = panel$target, T0 = 8, epsilon = 1, bounds = c(-2, 2), control = dp_control(rng = "R")
  )
  fails("release", parts[[2L]], wider)
  fails("release", parts[[1L]], group_releases(panel, 600, features = 5)[[2L]])
  raw <- lapply(list(1:600, 601:1200), function(rows) {
    dp_release(panel$donors[rows, ],
      target = panel$target, T0 = 8, epsilon = Inf, bounds = c(-1, 1)
    )
  })
  fails("release", raw[[1L]], raw[[2L]])
})

test_that("a union needs equal covariates and refuses releases with several dates", {
  p <- staggered_covariates(n = 300, dates = 5)
  make <- function(formula = y ~ on | x1 + g, bounds = p$bounds) {
    staggered_fit(p, formula,
      bounds = bounds, epsilon = 4, fun = dp_release, control = dp_control(features = 3)
    )
  }
  union <- combine_releases(make(), make())
  fit <- dp_synth(union, target = p$y[301, ], covariates = p$values[301, ])
  expect_true(is.finite(mean(effects(fit))))
  expect_error(combine_releases(make(), make(y ~ on, p$bounds["y"])), "covariates differ",
    class = "dpsc_error_release"
  )
  dated <- staggered_covariates(n = 300, dates = c(5, 7))
  several <- lapply(1:2, function(i) {
    staggered_fit(dated, y ~ on, bounds = p$bounds["y"], epsilon = 4, fun = dp_release)
  })
  expect_error(combine_releases(several[[1]], several[[2]]), "several adoption dates",
    class = "dpsc_error_release"
  )
})
