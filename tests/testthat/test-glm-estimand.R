# The estimand of dp_glm() and its sampling errors if the model is wrong (proofs/glm.md, sections 1
# and 9).

overdispersed <- function(n, seed = 3) {
  withr::local_seed(seed)
  data <- data.frame(a = stats::runif(n), b = stats::rbinom(n, 1, 0.2))
  data$y <- pmin(stats::rnbinom(n, size = 1, mu = exp(0.1 + 0.8 * data$a + 0.3 * data$b)), 20)
  data
}
count_bounds <- list(y = c(0, 20), a = c(0, 1), b = c(0, 1))

test_that("for overdispersed counts standard errors of dp_glm() are near robust errors of glm()", {
  data <- overdispersed(20000)
  plain <- stats::glm(y ~ a + b, "poisson", data)
  x <- stats::model.matrix(plain)
  bread <- stats::vcov(plain)
  robust <- sqrt(diag(bread %*% crossprod(x * (data$y - stats::fitted(plain))) %*% bread))
  # The errors that assume the model are far too small here.
  expect_lt(max(sqrt(diag(bread)) / robust), 0.65)
  fit <- seeded_glm(y ~ a + b, data, "poisson", epsilon = 4, bounds = count_bounds)
  ratio <- sqrt(diag(fit$covariance$sampling)) / robust
  expect_gt(min(ratio), 0.88)
  expect_lt(max(ratio), 1.15)
  open <- dp_glm(y ~ a + b, data, "poisson", epsilon = Inf, bounds = count_bounds)
  expect_equal(sqrt(diag(vcov(open))), robust, tolerance = 1e-3, ignore_attr = TRUE)
  # The scores are a step of the budget, and absent if no errors are requested.
  expect_identical(sum(fit$privacy$steps$step == "dispersion"), 1L)
  bare <- seeded_glm(y ~ a + b, data, "poisson",
    epsilon = 4, bounds = count_bounds, intervals = FALSE
  )
  expect_false("dispersion" %in% bare$privacy$steps$step)
  other <- seeded_glm(I(y > 0) ~ a, data, epsilon = 4, bounds = count_bounds)
  expect_false("dispersion" %in% other$privacy$steps$step)
})

test_that("the privacy loss of dp_glm()'s dispersion step is 0.6 to 1 times the declared loss", {
  withr::local_seed(12)
  largest <- c()
  for (delta in c(1e-6, 0)) {
    data <- glm_people(400, "poisson")
    found <- 0
    for (k in 1:25) {
      one <- two <- data
      # A row at the limit with the largest count is replaced by other rows or by none.
      one[1L, c("a", "b", "y")] <- list(sample(c(-20, 20), 1), sample(c(-5, 5), 1), 200)
      two[1L, c("a", "b", "y")] <- list(
        sample(c(-20, 3, 20, NA), 1), sample(c(-5, 0, 5), 1), sample(c(0, 200), 1)
      )
      ratio <- glm_replayed(one, two, "poisson", delta, stats::rnorm(3))
      found <- max(found, ratio[["dispersion"]])
    }
    largest <- c(largest, found)
  }
  expect_lte(max(largest), 1 + 1e-9)
  expect_gt(min(largest), 0.6)
})

test_that("standard errors of dp_glm() for counts are clustered by person", {
  data <- overdispersed(6000)
  data$id <- seq_len(6000)
  twice <- rbind(data, data)
  fit <- seeded_glm(y ~ a + b, twice, "poisson",
    epsilon = 8, bounds = count_bounds, person = ~id
  )
  one <- dp_glm(y ~ a + b, data, "poisson", epsilon = Inf, bounds = count_bounds)
  ratio <- sqrt(diag(fit$covariance$sampling) / diag(vcov(one)))
  expect_gt(min(ratio), 0.85)
  expect_lt(max(ratio), 1.2)
})

test_that("in dp_glm() quasipoisson() gives the fit of poisson, and quasibinomial means binomial", {
  data <- overdispersed(3000)
  fit <- seeded_glm(y ~ a, data, quasipoisson(), epsilon = 4, bounds = count_bounds)
  same <- seeded_glm(y ~ a, data, "poisson", epsilon = 4, bounds = count_bounds)
  expect_identical(coef(fit), coef(same))
  expect_identical(fit$family, "poisson")
  expect_identical(
    dp_glm(b ~ a, data, "quasibinomial", epsilon = Inf, bounds = count_bounds)$family, "binomial"
  )
})

test_that("dp_glm() gives rows within the length limit weight 1, on request or for many people", {
  data <- glm_people(20000)
  weights <- function(data, settings = list(), epsilon = 1) {
    fit <- seeded_glm(y ~ a + b, data,
      epsilon = epsilon, bounds = glm_bounds(), settings = settings
    )
    rows <- glm_rows_cpp(glm_table_of(data, y ~ a + b), fit$public$facts, fit$release)
    length <- sqrt(rowSums(rows$x^2))
    expect_true(all(rows$weight * length <= rows$limit))
    expect_true(all(rows$weight * length^2 <= rows$limit^2))
    q <- rows$limit / length
    list(fit = fit, rows = rows, q = q)
  }
  short <- weights(data, list(length = 0))
  expect_equal(short$rows$weight, with(short, ifelse(q < 1, q^2, q)), tolerance = 1e-6)
  expect_identical(short$rows$limit, sqrt(3))
  for (settings in list(list(), list(length = 1), list(length = 3))) {
    flat <- weights(data, settings)
    expect_equal(flat$rows$weight, pmin(1, flat$q^2), tolerance = 1e-6)
  }
  expect_identical(flat$rows$limit, 3 * sqrt(3))
  few <- weights(data[1:1500, ])
  expect_equal(few$rows$weight, with(few, ifelse(q < 1, q^2, q)), tolerance = 1e-6)
  # By the public rule the length increases with people and decreases with columns, in steps of half
  # a doubling.
  stretch <- function(n, formula = y ~ a + b, ...) {
    glm_plan_cpp(glm_facts_of(formula, n = n, epsilon = 1, ...))$stretch
  }
  found <- vapply(c(1500, 5000, 20000, 1e5), stretch, 0)
  expect_true(all(diff(found) >= 0) && found[[1]] < 1 && found[[3]] > 1)
  expect_lt(stretch(20000, y ~ a * b * g), found[[3]])
  expect_equal(2 * log2(found) %% 1, round(2 * log2(found) %% 1))
})

test_that("with equal weights dp_glm()'s slope is within 2 SEs of glm()'s under a wrong model", {
  withr::local_seed(8)
  data <- data.frame(a = stats::rexp(60000))
  # The logit bends, so the slope of distant rows differs.
  data$y <- stats::rbinom(60000, 1, stats::plogis(-1 + 1.5 * pmin(data$a, 1)))
  data$a <- pmin(data$a, 10)
  bounds <- list(y = c(0, 1), a = c(0, 10))
  plain <- stats::glm(y ~ a, "binomial", data)
  off <- function(length) {
    fit <- seeded_glm(y ~ a, data,
      epsilon = 20, bounds = bounds,
      settings = if (is.null(length)) list() else list(length = length)
    )
    unname((coef(fit) - coef(plain)) / sqrt(diag(vcov(plain))))[[2L]]
  }
  expect_gt(off(0), 10)
  expect_lt(abs(off(4)), 2)
  expect_lt(abs(off(NULL)), abs(off(0)) / 3)
})

test_that("dp_glm() refuses an invalid limit on the length of rows before the charge", {
  data <- glm_people(2000)
  for (settings in list(
    list(length = 0.5), list(length = "0"), list(length = "1"), list(length = c(1, 2)),
    list(ridge = 1), list(2)
  )) {
    expect_error(
      seeded_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(), settings = settings),
      class = "dpsc_error_argument"
    )
  }
})

test_that("prints of dp_glm() mention counts above a cap; standard errors include the cap's bias", {
  data <- overdispersed(20000)
  fit <- seeded_glm(y ~ a + b, data, "poisson", epsilon = 4, bounds = count_bounds)
  # The same release with a higher cap has a smaller bias and no note on the bound.
  low <- high <- fit
  low$release$span <- 6
  high$release$span <- 40
  bias <- function(x) sqrt(diag(glm_estimate_cpp(x$release, x$public$facts)$privacy))[[1L]]
  expect_gt(bias(low), 1.5 * bias(fit))
  expect_match(
    paste(utils::capture.output(print(low)), collapse = " "), "Counts above 6 (about", fixed = TRUE
  )
  expect_no_match(paste(utils::capture.output(print(high)), collapse = " "), "Counts above")
  said <- paste(report(low), collapse = " ")
  expect_match(said, "Counts above 6")
  expect_match(said, "They allow for the dispersion of the counts")
})

test_that("a file of a fit by dp_glm() contains the row limit, the dispersion and its step", {
  data <- overdispersed(6000)
  fit <- seeded_glm(y ~ a + b, data, "poisson",
    epsilon = 4, bounds = count_bounds, settings = list(length = 2)
  )
  file <- withr::local_tempfile(fileext = ".json")
  write_release(fit, file, allow_not_private = TRUE)
  read <- read_release(file)
  expect_equal(coef(read), coef(fit))
  expect_equal(vcov(read), vcov(fit))
  expect_identical(read$privacy$steps$step, fit$privacy$steps$step)
  expect_identical(read$release$limit, fit$release$limit)
  expect_true(read$release$flat)
})
