# An error about a mistake in a first call contains the line that corrects it, and costs no budget.

asked <- function(call) conditionMessage(tryCatch(call, dpsc_error = identity))

people <- data.frame(
  y = c(1, 2, 3), x = 1:3, sex = c("f", "m", "f"), ill = c(TRUE, FALSE, TRUE), code = c(1, 2, 1)
)

test_that("one error lists all missing bounds by class, with a line of code to complete", {
  wanted <- paste0(
    "bounds = list(y = c(lower, upper), x = c(lower, upper), sex = c(\"...\", \"...\"), ",
    "ill = c(FALSE, TRUE), code = c(\"...\", \"...\"))"
  )
  f <- y ~ x + I(x^2) + sex + ill + factor(code)
  ledger <- dp_ledger(1, 1e-6)
  for (call in expression(
    dp_lm(f, people, epsilon = 1, ledger = ledger),
    dp_glm(f, people, epsilon = 1, ledger = ledger, family = "gaussian"),
    dp_select(f, people, epsilon = 1, size = 1, ledger = ledger)
  )) {
    error <- expect_error(eval(call), "`bounds` is required", class = "dpsc_error_argument")
    expect_match(conditionMessage(error), wanted, fixed = TRUE)
    expect_match(conditionMessage(error), "nothing was spent")
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # Plans use no data: a variable is a factor if the formula declares it.
  wanted <- "bounds = list(y = c(0, 9), x = c(lower, upper), g = c(\"...\", \"...\"))"
  f <- y ~ x * factor(g)
  for (call in expression(
    dp_plan_lm(f, list(y = c(0, 9)), n = 100, epsilon = 1),
    dp_plan_select(f, list(y = c(0, 9)), n = 100, size = 1, epsilon = 1),
    dp_plan_online(f, list(y = c(0, 9)), horizon = 10, epsilon = 1),
    dp_online(f, epsilon = 1, horizon = 10, bounds = list(y = c(0, 9)))
  )) {
    error <- expect_error(eval(call), "no entry for", class = "dpsc_error_bounds")
    expect_match(conditionMessage(error), wanted, fixed = TRUE)
  }
})

test_that("bounds can be named by an expression's text, and placeholder levels are refused", {
  said <- asked(dp_lm(log(y) ~ x + exp(code), people, epsilon = 1, bounds = list(
    `log(y)` = c(0, 9), x = c(0, 9)
  )))
  expect_match(said, "no entry for `code`", fixed = TRUE)
  expect_match(
    said, "list(`log(y)` = c(0, 9), x = c(0, 9), code = c(lower, upper))", fixed = TRUE
  )
  expect_match(asked(dp_lm(y ~ ., people, epsilon = 1)), "dot stands for all other names")
  ledger <- dp_ledger(1, 1e-6)
  limits <- list(y = c(0, 9), sex = c("...", "..."))
  expect_error(
    dp_lm(y ~ sex, people, epsilon = 1, bounds = limits, ledger = ledger),
    "levels of `?sex", class = "dpsc_error_bounds"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("suggested code does not repeat a vector longer than a pair, which may be data", {
  said <- asked(dp_lm(y ~ x + sex, people, epsilon = 1, bounds = list(y = c(0, 9), x = 71:75)))
  expect_match(said, "Add to `bounds`: `sex = c(\"...\", \"...\")`", fixed = TRUE)
  expect_no_match(said, "7[1-5]")
})

test_that("one error lists the missing bounds of a panel's outcome and covariates", {
  panel <- transform(clinic_panel, sex = "f", age = 40)
  run <- function(f, ...) asked(dp_synth(f, panel, c("patient", "month"), epsilon = 1, ...))
  wanted <- "list(pressure = c(lower, upper), age = c(lower, upper), sex = c(\"...\", \"...\"))"
  expect_match(run(pressure ~ enrolled | age + sex), wanted, fixed = TRUE)
  expect_match(
    run(pressure ~ enrolled | age + sex, bounds = list(age = c(0, 99))),
    "list(age = c(0, 99), pressure = c(lower, upper), sex = c(\"...\", \"...\"))", fixed = TRUE
  )
  expect_match(run(pressure ~ enrolled), "bounds = c(lower, upper)", fixed = TRUE)
  expect_match(
    run(log(pressure) ~ enrolled), "bounds = list(`log(pressure)` = c(lower, upper))", fixed = TRUE
  )
  expect_match(
    run(cbind(pressure, age) ~ enrolled, bounds = list(age = c(0, 99))),
    "list(age = c(0, 99), pressure = c(lower, upper))", fixed = TRUE
  )
})

test_that("an error shows how to give `index` if unit and time are separate or not quoted", {
  for (fun in list(dp_synth, dp_release)) {
    for (more in list(
      list(unit = "patient", time = "month"), list(id = "patient", period = "month")
    )) {
      arguments <- list(pressure ~ enrolled, clinic_panel, epsilon = 1, bounds = c(80, 200))
      error <- expect_error(do.call(fun, c(arguments, more)), class = "dpsc_error_argument")
      expect_match(conditionMessage(error), "index = c(\"store\", \"week\")", fixed = TRUE)
    }
  }
  for (call in expression(
    dp_synth(pressure ~ enrolled, clinic_panel, c(patient, month), epsilon = 1),
    dp_release(pressure ~ enrolled, clinic_panel, c(patient, month), epsilon = 1),
    dp_synth(pressure ~ enrolled, clinic_panel, list(patient, month), epsilon = 1)
  )) {
    error <- expect_error(eval(call), "are not in quotes", class = "dpsc_error_panel")
    expect_match(conditionMessage(error), "index = c(\"patient\", \"month\")", fixed = TRUE)
    expect_match(conditionMessage(error), "nothing was spent")
  }
  expect_error(
    dp_synth(pressure ~ enrolled, clinic_panel, nothing, epsilon = 1),
    "are not in quotes", class = "dpsc_error_panel"
  )
  # Column names may be stored in variables.
  key <- "patient"
  when <- "month"
  both <- c(key, when)
  for (call in expression(
    dp_synth(pressure ~ enrolled, clinic_panel, c(key, when), epsilon = 1),
    dp_synth(pressure ~ enrolled, clinic_panel, both, epsilon = 1)
  )) {
    expect_match(asked(eval(call)), "`bounds` is required")
  }
  expect_error(dp_files("nothing.csv", c(patient, month)), "quotes", class = "dpsc_error_argument")
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite())
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "clinic", as.data.frame(clinic_panel))
  expect_error(
    dp_table(con, "clinic", c(patient, month)), "quotes", class = "dpsc_error_argument"
  )
})

test_that("a misspelt column is reported before bounds, and an invalid `size` before `protect`", {
  data <- data.frame(age = 1:100, y = 1:100)
  limits <- list(y = c(0, 100))
  for (call in expression(
    dp_lm(y ~ agee, data, 1, bounds = limits),
    dp_describe(~agee, data, epsilon = 1, bounds = limits),
    dp_describe(~y, data, by = ~agee, epsilon = 1, bounds = limits)
  )) {
    expect_error(eval(call), "`agee` is not a column of `data`", class = "dpsc_error_data")
  }
  for (size in list("60", 0, -3)) {
    expect_error(
      dp_synth(y ~ on, data, c("id", "t"), epsilon = 1, bounds = c(0, 1), size = size),
      "`size` must be", class = "dpsc_error_argument"
    )
  }
})

test_that("dates as units, and a panel without donors, are reported before `protect`", {
  data <- expand.grid(id = sprintf("u%02d", 1:30), t = as.Date("2020-01-01") + 1:8)
  data$y <- stats::rnorm(240)
  data$on <- as.numeric(data$id %in% c("u29", "u30") & data$t > as.Date("2020-01-07"))
  run <- function(data, index, ...) {
    dp_synth(y ~ on, data, index, epsilon = 1, bounds = c(-1, 1), ...)
  }
  expect_error(run(data, c("t", "id")), "`index` must name the unit first")
  all <- transform(data, on = as.numeric(t > as.Date("2020-01-07")))
  expect_error(run(all, c("id", "t")), "There must be donors", class = "dpsc_error_panel")
  ends <- transform(data, on = on * (t < as.Date("2020-01-09")))
  expect_error(run(ends, c("id", "t"), protect = "donors"), "must last to the end")
})

test_that("dp_describe() warns of a large delta only if its plan uses delta", {
  data <- data.frame(age = rep(1:100, 20))
  run <- function(epsilon) {
    dp_describe(~age, data, epsilon = epsilon, delta = 1e-3, bounds = list(age = c(0, 120)))
  }
  expect_no_warning(found <- run(0.5), class = "dpsc_warning_delta")
  expect_identical(found$privacy$delta, 0)
})

test_that("step() of a private fit stops with a classed error, and predictions are documented", {
  data <- data.frame(x = stats::runif(2000, 0, 9), g = rep(c("a", "b"), 1000))
  data$y <- data$x + stats::rnorm(2000)
  limits <- list(y = c(-9, 20), x = c(0, 9), g = c("a", "b"))
  fit <- dp_lm(y ~ x + g, data, 4, bounds = limits)
  expect_error(stats::step(fit), "single people's rows", class = "dpsc_error_argument")
  own <- predict(fit, data.frame(x = c(9, 500, 1), g = c("a", "a", "c")))
  expect_gt(own[[2L]], own[[1L]] + 100)
  expect_identical(own[[3L]], NA_real_)
})
