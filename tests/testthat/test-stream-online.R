# Learning from streams: formulas by hand, replay audits with planted faults, errors, canaries.

unit_bounds <- function(p, y = c(-1, 1)) {
  c(list(y = y), stats::setNames(rep(list(c(-1, 1)), p), paste0("x", seq_len(p))))
}
linear_stream <- function(n, p = 3, sd = 0.2) {
  x <- matrix(stats::runif(n * p, -1, 1), n, dimnames = list(NULL, paste0("x", seq_len(p))))
  data.frame(y = drop(x %*% rep(c(0.4, -0.3), length.out = p)) + stats::rnorm(n, sd = sd), x)
}
unnoised <- function(..., epsilon = Inf) dp_online(..., epsilon = epsilon)
simulated <- dp_control(rng = "R")

test_that("without noise the steps of ftal and ftrl equal values computed by hand", {
  # For FTAL, p = 1, x = 1, y = 1, psi = 1 gives theta_2 = theta_3 = 1.
  plan <- stream_plan("tree", shape = "vector", horizon = 4, rho = Inf)
  rows <- cbind(rep(1, 3), 1)
  out <- stream_path_cpp(plan, stream_learner("ftal", ball = 10), rows, "secure")
  expect_equal(drop(out$estimate), c(1, 1, 1), tolerance = 1e-5)
  # For FTRL, theta = -S / lambda with S = -1, then -1 - (1 - 1/2).
  out <- stream_path_cpp(plan, stream_learner("ftrl", ball = 10, lambda = 2), rows, "secure")
  expect_equal(drop(out$estimate), c(0.5, 0.75, 0.875), tolerance = 1e-5)
})

test_that("without noise a stream by method gram is least squares, in the user's units", {
  withr::local_seed(1)
  rows <- data.frame(a = stats::runif(400, 2, 6), g = sample(c("u", "v", "w"), 400, TRUE))
  rows$y <- 3 + 0.5 * log(rows$a) + (rows$g == "v") + stats::rnorm(400, sd = 0.1)
  stream <- unnoised(y ~ log(a) + g,
    horizon = 400, bounds = list(y = c(0, 8), `log(a)` = log(c(2, 6)), g = c("u", "v", "w")),
    radius = 2
  )
  update(stream, rows)
  expect_equal(coef(stream), stats::coef(stats::lm(y ~ log(a) + g, rows)), tolerance = 1e-3)
  table <- tidy(stream, conf.int = TRUE)
  classical <- summary(stats::lm(y ~ log(a) + g, rows))$coefficients
  expect_equal(table$std.error, unname(classical[, 2L]), tolerance = 2e-2)
  expect_lt(max(table$privacy.se), 1e-12)
  expect_equal(predict(stream, rows[1:5, ]), unname(stats::predict(stats::lm(y ~ log(a) + g,
    rows))[1:5]),
    tolerance = 1e-3)
  expect_output(print(stream), "NOT PRIVATE: epsilon = Inf")
  # A model without an intercept has no centring either.
  stream <- unnoised(y ~ 0 + a, horizon = 400, bounds = list(y = c(0, 8), a = c(2, 6)))
  update(stream, rows)
  expect_equal(coef(stream), stats::coef(stats::lm(y ~ 0 + a, rows)), tolerance = 1e-3)
})

test_that("a logistic stream at epsilon = 4 has errors below 0.35 after 20,000 rows", {
  withr::local_seed(2)
  n <- 20000
  rows <- data.frame(x1 = stats::runif(n, -1, 1), x2 = stats::runif(n, -1, 1))
  rows$y <- ifelse(stats::runif(n) < stats::plogis(1.5 * rows$x1 - rows$x2), "yes", "no")
  for (noise in c("blt", "tree")) {
    stream <- dp_online(y ~ x1 + x2,
      epsilon = 4, horizon = n, noise = noise, family = "binomial", control = simulated,
      bounds = list(y = c("no", "yes"), x1 = c(-1, 1), x2 = c(-1, 1))
    )
    expect_identical(stream$learner$method, "ftal")
    update(stream, rows)
    expect_lt(max(abs(coef(stream) - c(0, 1.5, -1))), 0.35)
    expect_true(all(is.na(tidy(stream)$std.error)) && all(tidy(stream)$privacy.se > 0))
    chance <- predict(stream, data.frame(x1 = c(-1, 1), x2 = 0))
    expect_true(chance[[1L]] < 0.35 && chance[[2L]] > 0.65)
  }
})

test_that("95 % intervals of a stream by method gram cover more than 88 % at epsilon = 4", {
  withr::local_seed(3)
  truth <- c(0, 0.4, -0.3, 0.4)
  inside <- replicate(60, {
    stream <- dp_online(y ~ ., epsilon = 4, horizon = 2000, bounds = unit_bounds(3),
      control = simulated)
    update(stream, linear_stream(2000))
    table <- tidy(stream, conf.int = TRUE)
    table$conf.low <= truth & truth <= table$conf.high
  })
  # The ridge causes slight shrinkage, so coverage is close to its level, but not exact.
  expect_gt(mean(inside), 0.88)
})

test_that("one row changes all releases of a stream by at most the charged sensitivity", {
  withr::local_seed(4)
  n <- 40
  for (noise in all_noises) {
    for (method in c("gram", "ftal", "ftrl")) {
      gram <- method == "gram"
      plan <- stream_plan(noise, shape = if (gram) "gram" else "vector", size = 2 + gram,
        horizon = n)
      worst <- 0
      for (k in 1:6) {
        x <- matrix(stats::runif(3 * n, -1, 1), n)
        at <- c(1, 1, 1, 7, 20, n)[[k]]
        # The pairs are rows beyond all bounds, and the worst pair, with equal regressors and
        # opposite outcomes.
        pairs <- if (k == 1) {
          list(c(1, 0, 1), c(1, 0, -1))
        } else {
          list(10 * stats::rnorm(3), 10 * stats::rnorm(3))
        }
        worst <- max(worst, replayed_share(plan, stream_learner(method, 2),
          replace_rows(x, at, pairs[[1L]]), replace_rows(x, at, pairs[[2L]])))
      }
      expect_lte(worst, 1 + 1e-9)
      expect_gt(worst, if (noise == "tree") 0.8 else 0.97)
    }
  }
})

test_that("an audit detects a stream that does not clip its gradients", {
  # Plants faults 26.
  withr::local_seed(5)
  n <- 16
  plan <- stream_plan("blt", shape = "vector", size = 2, horizon = n)
  x <- matrix(stats::runif(3 * n, -1, 1), n)
  first <- replace_rows(x, 1, c(3, 0, 1))
  second <- replace_rows(x, 1, c(3, 0, -1))
  fine <- stream_learner("ftal", 2)
  expect_lte(replayed_share(plan, fine, first, second), 1 + 1e-9)
  # The core checks the length of integer rows again, so a wrong radius alone does no harm.
  expect_lte(replayed_share(plan, stream_learner("ftal", 2, radius = 9), first, second), 1 + 1e-9)
  # A unit larger than the unit for which the noise was planned does harm.
  unclipped <- plan
  unclipped$unit <- 2 * plan$unit
  expect_gt(replayed_share(unclipped, fine, first, second, charged = plan), 3)
})

test_that("a stream dominated by noise predicts the middle of the bounds, as its plan states", {
  withr::local_seed(21)
  rows <- data.frame(matrix(stats::rnorm(1500 * 3), 1500))
  eta <- rows$X1 - rows$X2
  for (family in c("gaussian", "binomial")) {
    linear <- family == "gaussian"
    rows$y <- if (linear) eta + stats::rnorm(1500) else stats::rbinom(1500, 1, stats::plogis(eta))
    bounds <- lapply(rows, function(x) c(-15, 15))
    if (!linear) bounds$y <- c(0, 1)
    stream <- dp_online(y ~ ., epsilon = 0.5, horizon = 1500, bounds = bounds, family = family,
      control = dp_control(rng = "R"))
    found <- update(stream, rows, predict = TRUE)
    middle <- mean(bounds$y)
    expect_lt(sum((rows$y - found)^2), 1.01 * sum((rows$y - middle)^2))
    plan <- dp_plan_online(y ~ ., bounds, 1500, 0.5, family = family, width = 15)
    expect_gt(plan$regret, 0.7)
    expect_lt(plan$regret, 1.1)
    # With a large budget all coefficients are used for prediction.
    ample <- dp_online(y ~ ., epsilon = Inf, horizon = 1500, bounds = bounds, family = family)
    update(ample, rows)
    expect_identical(ample$released$share, 1)
  }
  expect_output(print(stream), "all coefficients may be noise")
  expect_equal(predict(stream, rows[1:2, ]), c(0.5, 0.5))
})

test_that("a stream uses rows once and in order, and predicts each row before using it", {
  withr::local_seed(6)
  rows <- linear_stream(50)
  stream <- unnoised(y ~ ., horizon = 50, bounds = unit_bounds(3), method = "ftal")
  one <- unnoised(y ~ ., horizon = 50, bounds = unit_bounds(3), method = "ftal")
  together <- update(stream, rows, predict = TRUE)
  apart <- vapply(seq_len(50), function(i) {
    before <- predict(one, rows[i, ])
    update(one, rows[i, ])
    before
  }, 0)
  expect_equal(together, apart)
  expect_identical(stream$released, one$released)
  # A batch is one step.
  batch <- unnoised(y ~ ., horizon = 2, bounds = unit_bounds(3), batch = TRUE)
  update(batch, rows[1:20, ])
  update(batch, rows[21:50, ])
  whole <- unnoised(y ~ ., horizon = 50, bounds = unit_bounds(3))
  update(whole, rows)
  expect_equal(coef(batch), coef(whole), tolerance = 1e-9)
  expect_identical(glance(batch)$steps, 2)
})

test_that("dp_online() accepts empty batches of rows, which count as steps", {
  bounds <- list(y = c(0, 1), x = c(0, 1), g = c("a", "b", "c"))
  none <- data.frame(y = numeric(), x = numeric(), g = character())
  for (family in c("gaussian", "binomial")) {
    stream <- dp_online(y ~ x + g,
      epsilon = 1, horizon = 3, bounds = bounds, batch = TRUE, family = family
    )
    update(stream, none)
    update(stream, data.frame(y = 1, x = 0.5, g = "b"))
    expect_identical(update(stream, none, predict = TRUE), numeric())
    expect_equal(c(stream$released$steps, stream$released$rows), c(3, 1))
    expect_true(all(is.finite(coef(stream))))
    expect_length(predict(stream, none), 0L)
  }
})

test_that("invalid rows and arguments of streams cause classed errors; unusual values cause none", {
  stream <- dp_online(y ~ x1 + g, epsilon = 1, horizon = 10,
    bounds = list(y = c(0, 1), x1 = c(0, 1), g = c("a", "b")))
  good <- data.frame(y = 0.5, x1 = 0.2, g = "a")
  expect_error(update(stream, good[1:2]), class = "dpsc_error_data")
  expect_error(update(stream, 1:3), class = "dpsc_error_data")
  expect_error(update(stream, good[rep(1, 11), ]), class = "dpsc_error_stream")
  expect_identical(glance(stream)$steps, 0)
  # Unusual values of one person cause no error, no warning and no other number of steps.
  strange <- rbind(good, list(NA, 0.1, "a"), list(1, Inf, "b"), list(0, 0, "no such level"))
  expect_silent(update(stream, strange))
  expect_identical(glance(stream)$steps, 4)
  # This also applies to the class of a cell.
  expect_silent(update(stream, transform(good, x1 = as.POSIXlt("2020-01-01"))))
  expect_identical(glance(stream)$steps, 5)
  make <- function(...) {
    given <- list(formula = y ~ x1, epsilon = 1, horizon = 5, bounds = list(y = c(0, 1), x1 = c(0,
      1)))
    do.call(dp_online, utils::modifyList(given, list(...)))
  }
  expect_error(make(formula = y ~ x1:x1 + x2:x1, bounds = list(y = c(0, 1), x1 = 0:1, x2 = 0:1)),
    class = "dpsc_error_argument")
  expect_error(make(formula = y ~ scale(x1)), class = "dpsc_error_argument")
  expect_error(make(formula = y ~ poly(x1, 2)), class = "dpsc_error_argument")
  expect_error(make(formula = y ~ x9), class = "dpsc_error_bounds")
  expect_error(make(bounds = list(y = c(1, 0), x1 = c(0, 1))), class = "dpsc_error_bounds")
  expect_error(make(bounds = c(0, 1)), class = "dpsc_error_bounds")
  expect_error(make(epsilon = -1), class = "dpsc_error_argument")
  expect_error(make(delta = 0), class = "dpsc_error_argument")
  expect_error(make(method = "pursuit"), class = "dpsc_error_argument")
  expect_error(make(method = "gram", family = "binomial"), class = "dpsc_error_argument")
  expect_error(make(noise = "toeplitz", horizon = 5000), class = "dpsc_error_argument")
  expect_error(make(participation = 2), class = "dpsc_error_argument")
  expect_error(make(horizon = 0), class = "dpsc_error_argument")
})

test_that("a stream charges the ledger once, when the stream is opened", {
  ledger <- dp_ledger(1, 1e-6)
  stream <- dp_online(y ~ x1, epsilon = 0.8, horizon = 10, bounds = unit_bounds(1), ledger = ledger)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_equal(as.data.frame(ledger)$rho, cdp_rho(0.8, 1e-6))
  update(stream, linear_stream(5, 1))
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_error(dp_stream_count(epsilon = 0.8, horizon = 5, ledger = ledger),
    class = "dpsc_error_budget")
  expect_error(unnoised(y ~ x1, horizon = 5, bounds = unit_bounds(1), ledger = ledger),
    class = "dpsc_error_budget")
  expect_lte(stream$privacy$steps$rho, stream$privacy$rho)
})

test_that("a stream contains no row of the data, and a copy in another process does not run", {
  canary <- 0.123456789101112
  rows <- linear_stream(30, 2)
  rows$x1[[7L]] <- canary
  stream <- dp_online(y ~ ., epsilon = 1, horizon = 60, bounds = unit_bounds(2), noise = "toeplitz")
  do.call(update, list(stream, rows))
  bytes <- serialize(as.list.environment(stream), NULL, xdr = FALSE)
  for (value in c(canary, rows$y[[7L]])) {
    expect_length(grepRaw(writeBin(value, raw()), bytes, fixed = TRUE), 0L)
  }
  copy <- unserialize(serialize(stream, NULL))
  expect_identical(coef(copy), coef(stream))
  expect_error(update(copy, rows), class = "dpsc_error")
  skip_on_os("windows")
  job <- parallel::mcparallel(tryCatch(update(stream, rows), error = function(e) class(e)))
  expect_true("dpsc_error_stream" %in% parallel::mccollect(job)[[1L]])
  update(stream, rows)
  expect_identical(glance(stream)$steps, 60)
})

test_that("the print of a seeded stream states that it is not private", {
  stream <- dp_online(y ~ x1, epsilon = 1, horizon = 10, bounds = unit_bounds(1),
    control = simulated)
  expect_output(print(stream), "NOT PRIVATE: the nominal epsilon = 1")
  expect_false(glance(stream)$private)
})

test_that("running sums and counts are in the user's units", {
  withr::local_seed(9)
  x <- stats::runif(100, 10, 20)
  stream <- dp_stream_sum(c(10, 20), epsilon = Inf, horizon = 100)
  update(stream, x)
  expect_equal(coef(stream), c(sum = sum(x)), tolerance = 1e-6)
  two <- dp_stream_sum(list(a = c(0, 1), b = c(-5, 5)), epsilon = 1, horizon = Inf, noise = "tree")
  update(two, data.frame(b = 1:3, a = 1))
  expect_identical(dim(tidy(two)), c(6L, 5L))
  expect_identical(glance(two)$horizon, Inf)
  counts <- dp_stream_count(epsilon = Inf, horizon = 9, categories = c("a", "b"))
  update(counts, c("a", "b", "zzz", NA, "a"))
  expect_equal(coef(counts), c(a = 2, b = 1), tolerance = 1e-6)
  private <- dp_stream_count(epsilon = 1, delta = 0, horizon = 500, control = simulated)
  update(private, rep(TRUE, 500))
  expect_lt(abs(coef(private) - 500), 8 * utils::tail(tidy(private)$privacy.se, 1))
  # The class of an entry causes no error, and such entries are not counted.
  more <- dp_stream_count(epsilon = Inf, horizon = 3)
  expect_silent(update(more, c("a", "TRUE", "0.0")))
  expect_equal(coef(more), c(count = 1), tolerance = 1e-6)
  expect_silent(update(counts, 1:2))
  expect_equal(coef(counts), c(a = 2, b = 1), tolerance = 1e-6)
  expect_error(update(private, list("a")), class = "dpsc_error_data")
  expect_error(dp_stream_sum(c(1, 1), epsilon = 1, horizon = 2), class = "dpsc_error_bounds")
  expect_error(dp_stream_count(epsilon = 1, horizon = 2, categories = "a"),
    class = "dpsc_error_argument")
})

test_that("plots of streams show released values", {
  skip_if_not_installed("ggplot2")
  stream <- dp_stream_count(epsilon = 1, horizon = 20, control = simulated)
  expect_error(plot(stream), class = "dpsc_error_stream")
  update(stream, rep(1, 20))
  picture <- ggplot2::autoplot(stream)
  expect_identical(picture$data$estimate, tidy(stream)$estimate)
})

test_that("prints of streams give the size of the noise, and errors quote invalid bounds", {
  sums <- dp_stream_sum(c(0, 10), epsilon = 1, horizon = 20, control = dp_control(rng = "R"))
  expect_no_match(paste(stream_lines(sums), collapse = " "), "(noise", fixed = TRUE)
  update(sums, 3)
  se <- sqrt(diag(vcov(sums)))
  expect_match(
    paste(stream_lines(sums), collapse = " "), paste0("(noise ", formatC(se, digits = 3), ")"),
    fixed = TRUE
  )
  expect_error(dp_stream_sum(c(3, 1), epsilon = 1, horizon = 2), "They are 3 and 1",
    class = "dpsc_error_bounds"
  )
  expect_error(dp_stream_sum(as.Date(c("2020-01-01", "2021-01-01")), epsilon = 1, horizon = 2),
    "A date is not a number", class = "dpsc_error_bounds"
  )
})
