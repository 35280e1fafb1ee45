# What a plan says of protected groups and of several dates.

test_that("a plan for everyone or for several dates is refused with a remedy", {
  plan <- function(...) dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = 1, method = "gram", ...)
  expect_error(plan(protect = "everyone", size = 200), "200 people is large enough",
    class = "dpsc_error_argument"
  )
  expect_error(plan(protect = "everyone", size = 5), "5 people is too small",
    class = "dpsc_error_argument"
  )
  expect_error(plan(protect = "everyone"), "public target", class = "dpsc_error_argument")
  expect_error(dp_plan(n = 1000, T0 = c(8, 10), T1 = 3, epsilon = 1), "T0 = 8",
    class = "dpsc_error_argument"
  )
})

test_that("the plan and the release agree on the group size needed", {
  for (m in c(5, 15, 40, 200)) {
    p <- protected_panel_of(n = 600, m = m, T0 = 8)
    ledger <- dp_ledger(2, 1e-6)
    refused <- tryCatch({
      dp_release(p$donors,
        target = p$group, T0 = 8, epsilon = 1, bounds = c(-1, 1), protect = "everyone",
        ledger = ledger
      )
      FALSE
    }, dpsc_error_argument = function(e) TRUE)
    said <- tryCatch(
      dp_plan(n = 600, T0 = 8, T1 = 2, epsilon = 1, size = m, protect = "everyone"),
      dpsc_error_argument = conditionMessage
    )
    expect_identical(grepl("too small", said), refused)
    expect_identical(nrow(as.data.frame(ledger)), if (refused) 0L else 1L)
  }
})
