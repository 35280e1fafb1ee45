# One convention for bounds in every verb: by the name of a column, or by the text of an expression.

cost_people <- function(n = 3000) {
  withr::local_seed(1)
  data <- data.frame(
    age = stats::runif(n, 20, 80), ill = stats::rbinom(n, 1, 0.4), flag = stats::runif(n) < 0.5,
    sex = sample(c("f", "m"), n, TRUE)
  )
  data$cost <- exp(4 + 0.01 * data$age + 0.5 * data$ill + stats::rnorm(n, 0, 0.3))
  data
}

test_that("the error for unnamed bounds of an expression shows both valid forms", {
  data <- cost_people()
  ledger <- dp_ledger(1, 1e-6)
  formula <- log(cost) ~ age
  calls <- list(
    function(b) dp_lm(formula, data, 1, bounds = b, ledger = ledger),
    function(b) dp_glm(formula, data, "gaussian", 1, bounds = b, ledger = ledger),
    function(b) dp_select(formula, data, 1, size = 1, bounds = b, ledger = ledger),
    function(b) dp_online(formula, 1, horizon = 100, bounds = b, ledger = ledger),
    function(b) dp_plan_lm(formula, b, n = 1000, epsilon = 1),
    function(b) dp_plan_select(formula, b, 1000, 1, 1),
    function(b) dp_plan_online(formula, b, 1000, 1)
  )
  for (run in calls) {
    for (bounds in list(c(1, 5000), list(c(1, 5000), age = c(18, 99)))) {
      said <- conditionMessage(expect_error(run(bounds), class = "dpsc_error_bounds"))
      expect_match(said, "bounds = list(cost = c(1, 5000))", fixed = TRUE)
      expect_match(said, "bounds = list(`log(cost)` = c(1, 5000))", fixed = TRUE)
    }
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("bounds of a column and equivalent bounds of its expression give equal coefficients", {
  data <- cost_people()
  of_column <- list(cost = c(1, 1e5), age = c(1, 99), ill = c(FALSE, TRUE))
  of_text <- list(`log(cost)` = log(c(1, 1e5)), `log( age )` = log(c(1, 99)), ill = c(FALSE, TRUE))
  formula <- log(cost) ~ log(age) + ill
  control <- dp_control(rng = "R")
  verbs <- list(
    function(b) coef(dp_lm(formula, data, 20, bounds = b, control = control)),
    function(b) coef(dp_glm(formula, data, "gaussian", 20, bounds = b, control = control)),
    function(b) coef(dp_select(formula, data, 20, size = 2, bounds = b, control = control)),
    function(b) {
      stream <- dp_online(formula, 20, horizon = 3000, bounds = b, control = control)
      update(stream, data)
      coef(stream)
    }
  )
  for (run in verbs) {
    a <- withr::with_seed(7, run(of_column))
    b <- withr::with_seed(7, run(of_text))
    expect_identical(names(a), names(b))
    expect_equal(a, b, tolerance = 1e-6)
  }
  # `.` stands for all other entries, including expressions.
  dot <- withr::with_seed(7, dp_lm(log(cost) ~ ., data, 20, bounds = of_text, control = control))
  expect_equal(coef(dot), withr::with_seed(7, verbs[[1L]](of_text)))
  # The limits of a column clip it before the expression is computed. A file contains both
  # spellings.
  columns <- lm_columns(log(cost) ~ age, list(cost = c(100, 200), age = c(18, 99)))
  expect_identical(range(lm_table(columns, data, TRUE)[, 2L]), log(c(100, 200)))
  stream <- new_columns(
    log(cost) ~ age, list(cost = c(100, 200), age = c(18, 99)), "gaussian"
  )
  expect_equal(range(table_of_rows(stream, data)[, 3L]), c(-1, 1))
  fit <- withr::with_seed(1, dp_lm(formula, data, 20, bounds = of_text, control = control))
  file <- withr::local_tempfile()
  write_release(fit, file, allow_not_private = TRUE)
  expect_equal(coef(read_release(file)), coef(fit))
})

test_that("bounds of a panel's outcome refer to a column or an expression, as in regressions", {
  withr::local_seed(1)
  p <- expand.grid(id = sprintf("u%03d", 1:400), t = 1:8, stringsAsFactors = FALSE)
  u <- stats::rnorm(400)[as.integer(substring(p$id, 2))]
  p$y <- exp(4 + 0.3 * u + 0.05 * p$t * u + stats::rnorm(nrow(p), 0, 0.1))
  p$z <- p$y / 2
  p$on <- as.integer(p$id > "u390" & p$t > 6)
  run <- function(formula, bounds, fun = dp_synth, ...) {
    withr::with_seed(3, fun(formula, p, c("id", "t"), 4,
      bounds = bounds, protect = "donors", control = dp_control(rng = "R"), ...
    ))
  }
  a <- run(log(y) ~ on, list(y = c(10, 400)))
  b <- run(log(y) ~ on, list(`log(y)` = log(c(10, 400))))
  expect_equal(effects(a), effects(b))
  expect_identical(a$release$panel$outcome, "log(y)")
  # Values are clipped before the logarithm, so values of 0 cause no error.
  p$y[1] <- 0
  expect_s3_class(run(log(y) ~ on, list(y = c(10, 400))), "dp_synth")
  expect_error(run(log(y) ~ on, list(y = c(0, 400))), "not finite", class = "dpsc_error_bounds")
  for (fun in list(dp_synth, dp_release)) {
    for (bounds in list(log(c(10, 400)), list(log(c(10, 400))), cbind(rep(2, 8), 6))) {
      expect_error(run(log(z) ~ on, bounds, fun), "a single column", class = "dpsc_error_bounds")
    }
  }
  expect_equal(
    effects(run(z ~ on, c(0, 200))), effects(run(z ~ on, list(z = c(0, 200))))
  )
  expect_error(run(z ~ on, list(zz = c(0, 200))), "no limits for", class = "dpsc_error_bounds")
  said <- conditionMessage(
    expect_error(run(cbind(log(z), y) ~ on, c(0, 400)), class = "dpsc_error_bounds")
  )
  expect_match(said, "list(z = c(0, 400), y = c(0, 400))", fixed = TRUE)
  expect_match(said, "list(`log(z)` = c(0, 400), y = c(0, 400))", fixed = TRUE)
  both <- run(cbind(log(z), y) ~ on, list(z = c(5, 200), y = c(0, 400)))
  own <- run(cbind(lz = log(z), y) ~ on, list(lz = log(c(5, 200)), y = c(0, 400)))
  expect_equal(unname(coef(both)), unname(coef(own)))
  # In version 0.2.0, limits under the name of the outcome applied to the expression.
  expect_error(
    run(cbind(z = log(z), y) ~ on, list(z = log(c(5, 200)), y = c(0, 400))),
    "could be a column or the outcome", class = "dpsc_error_bounds"
  )
})

test_that("update() clips an outcome of 0 in a new period to the bounds before the logarithm", {
  withr::local_seed(1)
  p <- expand.grid(id = sprintf("u%03d", 1:400), t = 1:9, stringsAsFactors = FALSE)
  p$y <- exp(stats::rnorm(400)[as.integer(substring(p$id, 2))] / 3 + 4)
  p$on <- as.integer(p$id == "u400" & p$t > 6)
  p$y[p$t == 9 & p$id == "u001"] <- 0
  fit <- dp_synth(log(y) ~ on, p[p$t < 9, ], c("id", "t"), 4,
    bounds = list(y = c(5, 1000)), protect = "donors", monitor = 1, control = dp_control(rng = "R")
  )
  expect_identical(update(fit, p)$release$panel$T1, 3L)
})

test_that("levels impossible for a column's class are refused; logical levels match 0/1", {
  data <- cost_people()
  ledger <- dp_ledger(9, 1e-6)
  bounds <- list(cost = c(1, 5000), ill = c("no", "yes"), flag = c("no", "yes"))
  for (formula in list(cost ~ ill, cost ~ flag)) {
    expect_error(
      dp_lm(formula, data, 1, bounds = bounds, ledger = ledger), "do not match its column",
      class = "dpsc_error_bounds"
    )
  }
  expect_error(
    dp_select(cost ~ ill, data, 1, size = 1, bounds = bounds[-3L], ledger = ledger),
    "do not match its column", class = "dpsc_error_bounds"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  run <- function(data, levels) {
    withr::with_seed(2, coef(dp_lm(cost ~ ill, data, 50,
      bounds = list(cost = c(1, 5000), ill = levels), control = dp_control(rng = "R"))))
  }
  expect_equal(run(data, c(FALSE, TRUE)), run(transform(data, ill = ill == 1), c(FALSE, TRUE)))
  expect_gt(run(data, c(FALSE, TRUE))[["illTRUE"]], 20)
  # Both spellings of 100000 are numbers.
  expect_true(all(is_number_text(c("1", "0.5", "100000", "1e+05", "-3"))))
  expect_false(any(is_number_text(c("01", "a", "", NA))))
})

test_that("a misplaced bar, or a treatment computed from a covariate, is refused without charge", {
  data <- cost_people()
  bounds <- list(cost = c(1, 5000), age = c(18, 99), ill = c(0, 1), flag = c(FALSE, TRUE))
  ledger <- dp_ledger(1, 1e-6)
  for (formula in list(cost ~ age | ill, cost ~ age || ill, cost ~ age + (ill | flag))) {
    expect_error(dp_lm(formula, data, 1, bounds = bounds, ledger = ledger),
      "cannot have a second part", class = "dpsc_error_argument")
    expect_error(dp_glm(formula, data, "gaussian", 1, bounds = bounds, ledger = ledger),
      "cannot have a second part", class = "dpsc_error_argument")
    expect_error(dp_select(formula, data, 1, size = 1, bounds = bounds, ledger = ledger),
      "cannot have a second part", class = "dpsc_error_argument")
  }
  expect_error(lm_columns(cost ~ I(ill > 0 | flag), bounds), NA)
  p <- expand.grid(id = 1:50, t = 1:8)
  p$y <- stats::runif(nrow(p))
  p$age <- p$id + 20
  expect_error(
    dp_synth(y ~ I(age > 69 & t > 6) | age, p, c("id", "t"), 1,
      bounds = list(y = c(0, 1), age = c(18, 99)), protect = "donors", ledger = ledger),
    "computed from a covariate", class = "dpsc_error_panel"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("a column of people in the place of its levels is refused, or only levels are kept", {
  # Plants faults 110.
  n <- 60
  d <- data.frame(y = (1:n) / n, x = (1:n) / n, h = rep(c("ll", "kk"), n / 2))
  d$b <- d$x > 0.5
  limits <- function(h) list(y = c(0, 1), x = c(0, 1), h = h)
  calls <- list(
    dp_lm = function(h) dp_lm(y ~ x + h, d, 50, bounds = limits(h)),
    dp_glm = function(h) {
      dp_glm(b ~ x + h, d, epsilon = 50, bounds = c(limits(h)[-1L], list(b = c(FALSE, TRUE))))
    },
    dp_select = function(h) dp_select(y ~ x + h, d, 50, size = 1, bounds = limits(h)),
    dp_online = function(h) dp_online(y ~ x + h, 50, horizon = n, bounds = limits(h)),
    dp_describe = function(h) dp_describe(~h, d, epsilon = 50, bounds = list(h = h))
  )
  for (name in names(calls)) {
    expect_error(calls[[name]](d$h), "repeated", class = "dpsc_error_bounds", label = name)
    fit <- suppressWarnings(try(calls[[name]](factor(d$h)), silent = TRUE))
    if (inherits(fit, "try-error")) next
    # No vector of any part has one entry per person.
    long <- function(x) {
      if (is.environment(x)) x <- mget(ls(x), x)
      if (is.list(x)) return(any(vapply(unclass(x), long, NA)))
      length(x) == n
    }
    expect_false(long(fit), label = name)
  }
})

test_that("bounds that are too close together for their size are refused before the charge", {
  narrow <- c(1, 1 + 2^-40)
  d <- data.frame(x = rep(1, 500), y = (1:500) / 500)
  ledger <- dp_ledger(2)
  expect_error(
    dp_describe(~x, d, epsilon = 1, delta = 0, bounds = list(x = narrow), ledger = ledger),
    "too close together", class = "dpsc_error_bounds"
  )
  expect_error(dp_lm(y ~ x, d, 1, bounds = list(y = c(0, 1), x = narrow), ledger = ledger),
    "too close together", class = "dpsc_error_bounds")
  expect_identical(nrow(ledger$history), 0L)
})
