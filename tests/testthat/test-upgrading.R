# vignette("upgrading"): calls of version 0.2.0 give a result, or stop with the new spelling before
# the charge.

test_that("ten calls of old versions stop with a message on the new spelling or rule, uncharged", {
  withr::local_seed(1)
  d <- data.frame(x = stats::runif(900), f = factor(rep(c("a", "b", "c"), 300)))
  d$y <- 1 + d$x + stats::runif(900)
  d$b <- d$x > 0.5
  bounds <- list(y = c(1, 3), x = c(0, 1), f = c("a", "b", "c"), b = c(FALSE, TRUE))
  ledger <- dp_ledger(9, 1e-5)
  picked <- dp_select(y ~ x + f, d, 1, size = 1, bounds = bounds[1:3])
  swapped <- expand.grid(id = 1:5, t = 1:9)
  swapped$y <- stats::runif(45)
  swapped$on <- as.integer(swapped$id == 5 & swapped$t == 9)
  old <- list(
    "list(`log(pressure)` = c(4, 6))" = quote(dp_synth(log(pressure) ~ enrolled, clinic_panel,
      c("patient", "month"), epsilon = 1, bounds = c(4, 6), size = 60, ledger = ledger)),
    "dp_plan_glm(n = " = quote(dp_plan_glm(1000, 5, 1)),
    "Unknown argument" = quote(tidy(picked, nonsense = 1)),
    "method = \"gram\"" = quote(dp_select(picked, size = 2)),
    "%in%" = quote(dp_lm(y ~ x + (f < "b"), d, 1, bounds = bounds[1:3], ledger = ledger)),
    "I(a | b)" = quote(dp_lm(y ~ x | b, d, 1, bounds = bounds, ledger = ledger)),
    "may be interchanged" = quote(dp_synth(y ~ on, swapped, c("id", "t"),
      epsilon = 1, bounds = c(0, 1), protect = "donors", ledger = ledger)),
    "informative release needs at least" = quote(
      dp_lm(y ~ x, d[1:50, ], 0.1, bounds = bounds[1:2], ledger = ledger)
    ),
    "list(`log(y)` = " = quote(
      dp_lm(log(y) ~ ., d, 1, bounds = list(log(c(1, 3)), x = c(0, 1)), ledger = ledger)
    ),
    "treatment" = quote(dp_synth(y ~ y, swapped, c("id", "t"),
      epsilon = 1, bounds = c(0, 1), protect = "donors", ledger = ledger))
  )
  for (words in names(old)) {
    error <- expect_error(eval(old[[words]]), class = "dpsc_error")
    expect_match(conditionMessage(error), words, fixed = TRUE)
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})
