# The ledger's arithmetic against the exported conversions, and its semantics.

release_panel_small <- function() toy_panel(n = 40, T0 = 5, T1 = 2)

charge <- function(ledger, epsilon, delta = 1e-6, method = "gram", ..., p = release_panel_small()) {
  dp_release(p$donors,
    target = p$target, T0 = p$T0, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
    method = method, ledger = ledger, control = dp_control(rng = "R"), ...
  )
}

# The epsilon that a printed ledger says is spent.
printed_spent <- function(ledger) {
  line <- grep("spent of", format(ledger), value = TRUE)
  as.numeric(sub(".*epsilon ([^ ]+) spent.*", "\\1", line))
}

test_that("charges in zCDP add up as zCDP and are converted once", {
  ledger <- dp_ledger(3, 1e-6)
  rho <- cdp_rho(1, 1e-6)
  for (k in 1:4) {
    charge(ledger, 1)
    expect_equal(as.data.frame(ledger)$rho, rep(rho, k))
    expect_equal(printed_spent(ledger), cdp_epsilon(k * rho, 1e-6), tolerance = 1e-3)
  }
  expect_lt(cdp_epsilon(4 * rho, 1e-6), 2.2)
})

test_that("the limit is where the arithmetic says it is", {
  rho <- cdp_rho(1, 1e-6)
  total <- cdp_epsilon(2 * rho, 1e-6)
  enough <- dp_ledger(total * (1 + 1e-7), 1e-6)
  short <- dp_ledger(total * (1 - 1e-6), 1e-6)
  charge(enough, 1)
  charge(enough, 1)
  charge(short, 1)
  expect_error(charge(short, 1), class = "dpsc_error_budget")
  expect_error(charge(enough, 0.01), class = "dpsc_error_budget")
  expect_identical(nrow(as.data.frame(enough)), 2L)
  expect_identical(nrow(as.data.frame(short)), 1L)
})

test_that("a split of the total is accepted in all its parts, and nothing more", {
  for (parts in c(1, 3, 10)) {
    ledger <- dp_ledger(1, 0)
    for (i in seq_len(parts)) charge(ledger, 1 / parts, delta = 0)
    expect_error(charge(ledger, 1e-3, delta = 0), class = "dpsc_error_budget")
    expect_identical(nrow(as.data.frame(ledger)), as.integer(parts))

    ledger <- dp_ledger(1, 1e-6)
    for (i in seq_len(parts)) {
      charge(ledger, 1 / parts, 1e-6 / parts, "objective", calibration = "published")
    }
    expect_error(charge(ledger, 1e-3, 1e-9, "objective"), class = "dpsc_error_budget")

    ledger <- dp_ledger(1, 1e-6)
    rho <- cdp_rho(1, 1e-6)
    for (i in seq_len(parts)) charge(ledger, cdp_epsilon(rho / parts, 1e-6))
    expect_error(charge(ledger, 0.05), class = "dpsc_error_budget")
  }
})

test_that("pure, approximate and zCDP charges mix", {
  ledger <- dp_ledger(5, 1e-6)
  rho <- cdp_rho(1, 1e-6)
  charge(ledger, 1)
  charge(ledger, 0.5, 0, "output")
  # The pure cost adds up as it is, or as zCDP, whichever is less.
  both <- c(0.5 + cdp_epsilon(rho, 1e-6), cdp_epsilon(rho + 0.5^2 / 2, 1e-6))
  expect_equal(printed_spent(ledger), min(both), tolerance = 1e-3)
  charge(ledger, 0.7, 4e-7, "objective")
  both <- c(0.5 + cdp_epsilon(rho, 6e-7), cdp_epsilon(rho + 0.5^2 / 2, 6e-7))
  expect_equal(printed_spent(ledger), 0.7 + min(both), tolerance = 1e-3)
  expect_identical(as.data.frame(ledger)$kind, c("zcdp", "pure", "approximate"))
  # Many small pure costs are cheaper as zCDP.
  ledger <- dp_ledger(5, 1e-6)
  for (i in 1:40) charge(ledger, 0.1, 0, "output")
  expect_equal(printed_spent(ledger), cdp_epsilon(40 * 0.1^2 / 2, 1e-6), tolerance = 1e-3)
})

test_that("a ledger without failure probability takes pure releases only", {
  ledger <- dp_ledger(10, 0)
  expect_error(charge(ledger, 0.1), class = "dpsc_error_budget")
  expect_error(charge(ledger, 0.1, 1e-6, "objective"), class = "dpsc_error_budget")
  charge(ledger, 4, 0)
  charge(ledger, 6, 0, "objective")
  expect_equal(printed_spent(ledger), 10)
  expect_error(charge(ledger, 1e-3, 0), class = "dpsc_error_budget")
})

test_that("a delta that a ledger does not hold is refused", {
  ledger <- dp_ledger(2, 1e-6)
  expect_error(charge(ledger, 1, 2e-6, "objective"), class = "dpsc_error_budget")
  charge(ledger, 1, 1e-6, "objective")
  # No failure probability is left for zCDP.
  expect_error(charge(ledger, 1), class = "dpsc_error_budget")
  charge(ledger, 1, 0)
  expect_identical(nrow(as.data.frame(ledger)), 2L)
})

test_that("a refused charge leaves no trace and says how much is left", {
  ledger <- dp_ledger(1, 1e-6)
  charge(ledger, 0.8)
  before <- serialize(as.data.frame(ledger), NULL)
  error <- expect_error(charge(ledger, 0.9), class = "dpsc_error_budget")
  expect_match(conditionMessage(error), "Nothing was released and nothing was spent")
  expect_identical(serialize(as.data.frame(ledger), NULL), before)
  left <- as.numeric(sub(".*About epsilon = ([0-9.e-]+) is left.*", "\\1", conditionMessage(error)))
  expect_error(charge(ledger, left * 1.01), class = "dpsc_error_budget")
  expect_s3_class(charge(ledger, left * 0.99), "dp_release")
})

test_that("copies share one balance, also inside functions", {
  ledger <- dp_ledger(1, 1e-6)
  copy <- ledger
  (function(l) charge(l, 0.9))(copy)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_error(charge(ledger, 0.9), class = "dpsc_error_budget")
  other <- dp_ledger(1, 1e-6)
  expect_identical(nrow(as.data.frame(other)), 0L)
})

test_that("a ledger survives saveRDS() and readRDS()", {
  ledger <- dp_ledger(1, 1e-6)
  charge(ledger, 0.5)
  path <- withr::local_tempfile(fileext = ".rds")
  saveRDS(ledger, path)
  again <- readRDS(path)
  expect_s3_class(again, "dp_ledger")
  expect_identical(as.data.frame(again), as.data.frame(ledger))
  expect_identical(format(again), format(ledger))
  expect_error(charge(again, 0.9), class = "dpsc_error_budget")
  charge(again, 0.5)
  expect_identical(nrow(as.data.frame(again)), 2L)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})

test_that("as.data.frame() and print() tell the history", {
  ledger <- dp_ledger(2, 1e-6)
  expect_output(print(ledger), "nothing spent yet")
  expect_output(print(ledger), "epsilon 0 spent of 2; about 2 left", fixed = TRUE)
  expect_identical(dim(as.data.frame(ledger)), c(0L, 5L))
  charge(ledger, 0.5)
  charge(ledger, 0.5, 0, "output")
  charge(ledger, 0.5, 1e-7, "objective")
  table <- as.data.frame(ledger)
  expect_named(table, c("label", "kind", "epsilon", "delta", "rho"))
  expect_identical(table$delta, c(0, 0, 1e-7))
  text <- utils::capture.output(out <- withVisible(print(ledger)))
  expect_false(out$visible)
  expect_identical(out$value, ledger)
  expect_match(text, "1. release by method \"gram\": rho = 0.0066", fixed = TRUE, all = FALSE)
  expect_match(text, "2. release by method \"output\": epsilon = 0.5", fixed = TRUE, all = FALSE)
  expect_match(text, "3. .*objective.*: epsilon = 0.5, delta = 1e-07", all = FALSE)
})

test_that("bad totals are refused", {
  for (bad in list(0, -1, NA, Inf, "1", c(1, 2), NULL)) {
    expect_error(dp_ledger(bad), class = "dpsc_error_argument")
  }
  for (bad in list(-1, 1, NA, "0", c(0, 0), NULL)) {
    expect_error(dp_ledger(1, bad), class = "dpsc_error_argument")
  }
  expect_error(dp_ledger(), class = "dpsc_error_argument")
})

test_that("a ledger of another session cannot pay until it is taken over", {
  ledger <- dp_ledger(2, 1e-6)
  dpsc:::spend(ledger, dpsc:::new_cost("pure", epsilon = 0.5), "first")
  copy <- unserialize(serialize(ledger, NULL))
  copy$session <- c(process = 1, started = 0)
  expect_error(
    dpsc:::spend(copy, dpsc:::new_cost("pure", epsilon = 0.1), "x"), "another R session",
    class = "dpsc_error_budget"
  )
  expect_identical(nrow(as.data.frame(copy)), 1L)
  resumed <- dp_ledger(resume = copy)
  expect_identical(as.data.frame(resumed), as.data.frame(ledger))
  dpsc:::spend(resumed, dpsc:::new_cost("pure", epsilon = 0.1), "second")
  expect_identical(nrow(as.data.frame(resumed)), 2L)
  expect_identical(nrow(as.data.frame(copy)), 1L)
  expect_error(dp_ledger(1, resume = copy), class = "dpsc_error_argument")
  expect_error(dp_ledger(resume = list()), class = "dpsc_error_argument")
})
