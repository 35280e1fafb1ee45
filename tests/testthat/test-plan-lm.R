# Plans of regressions, selections and streams, which use public facts and are close to the results.

plan_bounds <- function(p, half = 30) {
  stats::setNames(rep(list(c(-half, half)), p + 1L), c("y", paste0("X", seq_len(p))))
}

test_that("the error that dp_plan_lm() predicts is 0.7 to 1.4 times the observed error", {
  withr::local_seed(6)
  for (case in list(c(p = 2, n = 3000, epsilon = 1), c(p = 6, n = 10000, epsilon = 2))) {
    p <- case[["p"]]
    n <- case[["n"]]
    bounds <- plan_bounds(p)
    errors <- replicate(30, {
      data <- data.frame(matrix(stats::rnorm(n * p), n))
      data$y <- rowSums(data) + stats::rnorm(n)
      fit <- suppressWarnings(dp_lm(y ~ ., data,
        epsilon = case[["epsilon"]], bounds = bounds, control = dp_control(rng = "R")
      ))
      mean((coef(fit)[-1L] - 1)^2) * n
    })
    plan <- dp_plan_lm(y ~ ., bounds, n = n, epsilon = case[["epsilon"]])
    expect_gt(plan$ratio / sqrt(mean(errors)), 0.7)
    expect_lt(plan$ratio / sqrt(mean(errors)), 1.4)
    # Clipping of residuals increases a normal variance by up to 9 %.
    expect_gte(plan$ratio^2, 1 + plan$privacy^2)
    expect_lt(plan$ratio^2, 1.1 + plan$privacy^2)
  }
})

test_that("dp_plan_lm() returns the required number of people or the required epsilon", {
  bounds <- plan_bounds(3)
  people <- dp_plan_lm(y ~ ., bounds, epsilon = 1, ratio = 1.5)
  at <- function(n, epsilon) dp_plan_lm(y ~ ., bounds, n = n, epsilon = epsilon)$ratio
  expect_lte(at(people$n, 1), 1.5)
  expect_gt(at(round(0.98 * people$n), 1), 1.5)
  budget <- dp_plan_lm(y ~ ., bounds, n = 5000, ratio = 1.5)
  expect_lte(at(5000, budget$epsilon), 1.5)
  expect_gt(at(5000, 0.9 * budget$epsilon), 1.5)
  lost <- dp_plan_lm(y ~ ., bounds, n = 200, epsilon = 0.5)
  expect_true(is.na(lost$ratio))
  expect_false(is.na(at(lost$least_n, 0.5)))
  expect_false(is.na(at(200, lost$least_epsilon)))
  expect_output(print(lost), "not be found")
  expect_output(print(people), "times the errors of lm")
  balanced <- dp_plan_lm(y ~ ., bounds, epsilon = 1, ratio = 1.2, delta = 0)
  expect_identical(balanced$n, NA_real_)
  expect_output(print(balanced), "use a larger epsilon, or delta\\s+above 0")
  expect_output(print(dp_plan_lm(y ~ ., bounds, n = 10, ratio = 1.0001)),
    "no epsilon up to a million reaches")
  # The scores cost budget; factor levels need no medians.
  paid <- dp_plan_lm(y ~ ., bounds, n = 5000, epsilon = 1, vcov = "HC")
  expect_gt(paid$ratio, at(5000, 1))
  levels <- dp_plan_lm(y ~ g, list(y = c(0, 1), g = c("a", "b", "c")), n = 5000, epsilon = 1)
  expect_identical(levels$located, 1L)
  # A rarer level needs longer rows. A level that the noise hides has no ratio.
  rare <- function(n, share) {
    dp_plan_lm(y ~ g, list(y = c(0, 1), g = c("a", "b")), n = n, epsilon = 1, share = share)
  }
  expect_gt(rare(20000, 0.01)$ratio, 1.3 * rare(20000, 0.1)$ratio)
  expect_gt(rare(20000, 0.1)$ratio, rare(20000, 0.5)$ratio)
  expect_true(is.na(rare(1000, 0.005)$ratio))
  expect_output(print(rare(1000, 0.005)), "group with a share of 0.005")
  expect_identical(levels$columns, 2L)
})

test_that("hurdles of dp_plan_select() fall with n and epsilon and match simulated selections", {
  bounds <- plan_bounds(40, 1)
  plan <- function(n, epsilon) {
    dp_plan_select(y ~ ., bounds, n = n, size = 2, epsilon = epsilon, signal = 0.08)
  }
  here <- plan(2000, 1)
  expect_identical(here$method, c("ranks", "pursuit", "screening", "gram"))
  expect_identical(sum(here$recommended), 1L)
  expect_true(all(plan(4000, 1)$hurdle < here$hurdle))
  expect_true(all(plan(2000, 2)$hurdle < here$hurdle))
  withr::local_seed(3)
  draw <- function(n, slope) {
    data <- data.frame(matrix(stats::runif(n * 40, -1, 1), n))
    data$y <- slope * (data$X3 - data$X9) + stats::runif(n, -0.5, 0.5)
    data
  }
  # In the units of the plan, values are clipped at 1.2 robust standard deviations from the median.
  expect_true(all(here$located))
  scaled <- function(x) {
    half <- location_reach[["choice"]] * stats::mad(x)
    pmin(pmax((x - stats::median(x)) / half, -1), 1)
  }
  many <- draw(1e5, 0.1)
  covariance <- mean(scaled(many$X3) * scaled(many$y)) / 0.1
  found <- function(signal, method) {
    mean(replicate(30, {
      picked <- dp_select(y ~ ., draw(2000, signal / covariance),
        epsilon = 1, size = 2, bounds = bounds, method = method, refit = FALSE, share = 0.8,
        control = dp_control(rng = "R")
      )$selected
      mean(c("X3", "X9") %in% picked)
    }))
  }
  hurdles <- dp_plan_select(y ~ ., bounds,
    n = 2000, size = 2, epsilon = 1, refit = FALSE
  )$hurdle
  for (at in 1:2) {
    method <- here$method[[at]]
    expect_gt(found(1.5 * hurdles[[at]], method), 0.8)
    expect_lt(found(0.5 * hurdles[[at]], method), 0.4)
    share <- found(hurdles[[at]], method)
    expect_gt(share, 0.4)
    expect_lt(share, 0.85)
  }
})

test_that("plans of streams improve with horizon and epsilon and name the method of dp_online()", {
  bounds <- plan_bounds(5, 1)
  plan <- function(horizon, epsilon) dp_plan_online(y ~ ., bounds, horizon, epsilon)
  expect_lt(plan(1e5, 1)$regret, plan(1e4, 1)$regret)
  expect_lt(plan(1e4, 4)$useful_from, plan(1e4, 1)$useful_from)
  stream <- dp_online(y ~ ., epsilon = 1, horizon = 1e4, bounds = bounds)
  expect_identical(plan(1e4, 1)$method, stream$learner$method)
})

test_that("invalid arguments of three planning functions give errors of a documented class", {
  bounds <- plan_bounds(2)
  fails <- function(...) expect_error(dp_plan_lm(...), class = "dpsc_error_argument")
  fails(y ~ ., bounds)
  fails(y ~ ., bounds, n = 100)
  fails(y ~ ., bounds, n = 100, epsilon = 1, ratio = 2)
  fails(y ~ ., bounds, n = 100, ratio = 0.5)
  fails(y ~ ., bounds, n = 2, epsilon = 1)
  fails(y ~ ., bounds, n = 100, epsilon = 1, share = 0.7)
  expect_error(dp_plan_lm(y ~ zz, bounds, n = 100, epsilon = 1), class = "dpsc_error_bounds")
  expect_error(dp_plan_select(y ~ ., bounds, n = 100, size = 3, epsilon = 1),
    class = "dpsc_error_argument"
  )
  expect_error(dp_plan_online(y ~ ., bounds, horizon = 1, epsilon = 1),
    class = "dpsc_error_argument"
  )
})
