# Contradictions between released numbers and their bounds: wrong units, misspelt levels, impossible
# slopes.

people_of <- function(n = 20000, seed = 2) {
  withr::local_seed(seed)
  data.frame(
    wage = exp(stats::rnorm(n, 2.5, 0.5)), age = stats::runif(n, 18, 80),
    sex = sample(c("f", "m"), n, TRUE), ill = stats::rbinom(n, 1, 0.3)
  )
}

wage_bounds <- function(...) {
  utils::modifyList(
    list(wage = c(1, 500), age = c(18, 99), sex = c("f", "m"), ill = c(FALSE, TRUE)), list(...)
  )
}

seeded <- function(code, seed = 4) {
  withr::local_seed(seed)
  eval.parent(substitute(code))
}

test_that("dp_lm(), dp_glm() and dp_select() report wrong units and misspelt levels in bounds", {
  data <- people_of()
  control <- dp_control(rng = "R")
  doubtful <- list(
    list("bound 1.5", wage_bounds(wage = log(c(5, 100)))),
    list("spelt as in the data", wage_bounds(sex = c("F", "M")))
  )
  verbs <- list(
    function(b) dp_lm(log(wage) ~ age + sex, data, 1, bounds = b, control = control),
    function(b) dp_select(log(wage) ~ age + sex, data, 1, size = 2, bounds = b, control = control)
  )
  for (verb in verbs) {
    withr::local_seed(4)
    expect_no_warning(verb(wage_bounds()), class = "dpsc_warning_bounds")
    for (one in doubtful) {
      fit <- NULL
      expect_warning(fit <- verb(one[[2L]]), one[[1L]], class = "dpsc_warning_bounds")
      shown <- paste(utils::capture.output(print(fit)), collapse = " ")
      expect_match(gsub(" +", " ", shown), one[[1L]])
    }
  }
  glm <- function(b) dp_glm(ill ~ age + sex, data, epsilon = 1, bounds = b, control = control)
  expect_no_warning(glm(wage_bounds()), class = "dpsc_warning_bounds")
  expect_warning(glm(wage_bounds(age = c(100, 1000))), "bound 100", class = "dpsc_warning_bounds")
  expect_warning(
    glm(wage_bounds(sex = c("F", "M"))), "spelt as in the data", class = "dpsc_warning_bounds"
  )
  fit <- suppressWarnings(verbs[[1L]](doubtful[[1L]][[2L]]))
  expect_match(paste(format(report(fit)), collapse = " "), "units of\\s+the\\s+data")
})

test_that("dp_glm() reports an outcome whose values all lie beyond their bound, and no usual one", {
  withr::local_seed(6)
  n <- 5000
  data <- data.frame(x = stats::rnorm(n, 50, 10))
  fitted <- function(y, family, upper) {
    data$y <- y
    dp_glm(y ~ x, data, family, epsilon = 2, bounds = list(y = c(0, upper), x = c(0, 100)),
      control = dp_control(rng = "R")
    )
  }
  wrong <- list(
    list(rep(1:2, n / 2), "binomial", 1), list(stats::rpois(n, 3) + 1000, "poisson", 10),
    list(stats::rpois(n, 40), "poisson", 20)
  )
  usual <- list(
    list(stats::rbinom(n, 1, 0.98), "binomial", 1), list(stats::rbinom(n, 1, 0.02), "binomial", 1),
    list(stats::plogis(stats::rnorm(n, 2)), "binomial", 1),
    list(pmin(stats::rpois(n, 14), 12), "poisson", 12), list(stats::rpois(n, 8), "poisson", 10)
  )
  for (one in wrong) {
    expect_warning(
      do.call(fitted, one), "Nearly all values of y are at their bound",
      class = "dpsc_warning_bounds"
    )
  }
  for (one in usual) {
    expect_no_warning(do.call(fitted, one), class = "dpsc_warning_bounds")
  }
})

test_that("braces in a name run no code and cause no error after the charge", {
  withr::local_options(dpsc_ran = NULL)
  data <- people_of(5000)
  for (name in c("wage {options(dpsc_ran = TRUE)}", "wage {")) {
    names(data)[[1L]] <- name
    limits <- stats::setNames(wage_bounds(wage = log(c(5, 100))), c(name, "age", "sex", "ill"))
    outcome <- as.name(name)
    model <- eval(bquote(.(outcome) ~ age))
    expect_warning(
      fit <- dp_lm(model, data, 1, bounds = limits[c(name, "age")]), name,
      class = "dpsc_warning_bounds", fixed = TRUE
    )
    expect_s3_class(fit, "dp_lm")
  }
  expect_null(getOption("dpsc_ran"))
})

test_that("a finished stream reports misspelt levels", {
  data <- people_of()
  run <- function(b) {
    stream <- dp_online(log(wage) ~ age + sex, 4, horizon = 20000, bounds = b,
      control = dp_control(rng = "R")
    )
    update(stream, data[1:100, ])
    update(stream, data[-(1:100), ])
    stream
  }
  withr::local_seed(1)
  expect_no_warning(run(wage_bounds()), class = "dpsc_warning_bounds")
  expect_warning(
    stream <- run(wage_bounds(sex = c("F", "M"))), "half of the rows", class = "dpsc_warning_bounds"
  )
  expect_output(print(stream), "half of the rows")
})

test_that("bounds in wrong units cause a warning in a fit that protects the treated group", {
  withr::local_seed(1)
  u <- stats::rnorm(3300)
  Y <- 120 + 15 * u + 5 * outer(u, cos(1:10)) + stats::rnorm(33000, 0, 5)
  run <- function(bounds) {
    dp_synth(Y[1:3000, ], Y[3001:3300, ], 8, 1,
      bounds = bounds, protect = "everyone", control = dp_control(rng = "R")
    )
  }
  expect_no_warning(run(c(-500, 1000)), class = "dpsc_warning_bounds")
  expect_warning(fit <- run(log(c(80, 200))), "units", class = "dpsc_warning_bounds")
  expect_output(print(fit), "Are the bounds|bounds in the units")
})

test_that("slopes of dp_lm() that are impossible within the bounds are detected and named", {
  fit <- seeded(dp_lm(log(wage) ~ age + sex + ill, people_of(),
    epsilon = 1, bounds = wage_bounds(), control = dp_control(rng = "R")
  ))
  expect_true(all(fit$identified))
  expect_false(any(impossible_slopes(fit)))
  width <- log(500)
  for (term in c("sexm", "illTRUE", "age")) {
    wild <- fit
    wild$coefficients[[term]] <- if (term == "age") 4 * width / 18 else -1.01 * width
    expect_identical(names(which(impossible_slopes(wild))), NULL, label = term)
    expect_identical(names(wild$coefficients)[-1L][impossible_slopes(wild)], term)
    expect_match(lm_doubts(wild), term, all = FALSE)
  }
  # The slope is steep in a direction in which the regressor hardly varies, so it is possible.
  wild$coefficients[] <- fit$coefficients
  wild$coefficients[["age"]] <- 0.4 * width / 18
  expect_false(any(impossible_slopes(wild)))
})

test_that("is_natural_end() recognises bounds at which many true values can lie", {
  expect_true(is_natural_end(0, 5000, -1))
  expect_true(is_natural_end(0, 1, 1))
  expect_true(is_natural_end(1, 2, -1))
  expect_false(is_natural_end(0, 5000, 1))
  expect_false(is_natural_end(5, 100, -1))
  for (bits in c(3L, 8L, 13L)) {
    for (k in c(0, 1, 2^bits - 1)) {
      expect_identical(location_bits((k + 0.5) * 2^(1 - bits) - 1), bits)
    }
  }
})

test_that("bounds of width 1 are doubted if hardly any outcome differs, but not for rare events", {
  control <- dp_control(rng = "R")
  run <- function(y, n = 20000) {
    data <- data.frame(y = y, age = stats::runif(n, 18, 80))
    dp_lm(y ~ age, data, 2, bounds = list(y = c(0, 1), age = c(0, 120)), control = control)
  }
  withr::local_seed(5)
  for (i in 1:3) {
    expect_warning(run(stats::rnorm(20000, 40, 5)), "bound 1", class = "dpsc_warning_bounds")
  }
  for (rate in c(0.005, 0.02, 0.5, 0.98, 0.99, 0.995)) {
    expect_no_warning(run(stats::rbinom(20000, 1, rate)), class = "dpsc_warning_bounds")
  }
  expect_no_warning(run(stats::rbeta(20000, 50, 1)), class = "dpsc_warning_bounds")
  expect_false(is_natural_end(0, 1, 1, alone = TRUE))
  expect_true(is_natural_end(0, 1, -1, alone = TRUE))
})

test_that("a panel whose outcomes all exceed bounds of width 1 is doubted; one of events is not", {
  withr::local_seed(1)
  run <- function(Y) {
    dp_synth(Y[1:1000, ], Y[1001:1100, ], 8, 1,
      bounds = c(0, 1), protect = "everyone", control = dp_control(rng = "R")
    )
  }
  expect_warning(
    run(matrix(stats::rnorm(11000, 50, 5), 1100)), "units", class = "dpsc_warning_bounds"
  )
  for (rate in c(0.02, 0.5, 0.98)) {
    expect_no_warning(
      run(matrix(stats::rbinom(11000, 1, rate), 1100)), class = "dpsc_warning_bounds"
    )
  }
})

test_that("dp_describe() doubts bounds in wrong units by its released numbers, and prints so", {
  control <- dp_control(rng = "R")
  withr::local_seed(6)
  data <- data.frame(
    wage = stats::rnorm(4000, 22, 2), rare = stats::rbinom(4000, 1, 0.02),
    often = stats::rbinom(4000, 1, 0.98), cost = stats::rbinom(4000, 1, 0.2) * 500
  )
  limits <- list(wage = c(0, 100), rare = c(0, 1), often = c(0, 1), cost = c(0, 5000))
  expect_no_warning(
    dp_describe(~ wage + rare + often + cost, data, epsilon = 1, bounds = limits,
      control = control),
    class = "dpsc_warning_bounds"
  )
  expect_warning(
    found <- dp_describe(~wage, data, epsilon = 1, bounds = list(wage = c(0, 10)),
      control = control),
    "bound 10", class = "dpsc_warning_bounds"
  )
  expect_output(print(found), "units of the")
  # A ceiling: the standard deviation shows that a fifth of the values are away from the bound.
  data$attended <- ifelse(stats::runif(4000) < 0.8, 100, stats::runif(4000, 0, 100))
  expect_no_warning(
    dp_describe(~attended, data, epsilon = 2, bounds = list(attended = c(0, 100)),
      control = control),
    class = "dpsc_warning_bounds"
  )
})

test_that("two releases of version 0.2.0 that have fewer fields can be printed", {
  skip_if_not_installed("jsonlite")
  old <- function(file) test_path("fixtures", "0.2.0", file)
  # A release without rounds allows no check.
  pure <- suppressWarnings(read_release(old("glm-binomial-pure.json")))
  expect_length(pure$release$rounds, 0L)
  expect_output(print(pure), "NOT KNOWN TO BE PRIVATE")
  expect_output(print(report(pure)), "NOT KNOWN TO BE PRIVATE")
  expect_output(print(readRDS(old("aggregate-median.rds"))), "121 blocks")
})
