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
