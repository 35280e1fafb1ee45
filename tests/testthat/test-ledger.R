# The arithmetic of the ledger compared with the exported conversions, and the meaning of its
# entries.

release_panel_small <- function() toy_panel(n = 40, T0 = 5, T1 = 2)

charge <- function(ledger, epsilon, delta = 1e-6, method = "gram", ..., p = release_panel_small()) {
  dp_release(p$donors,
    target = p$target, T0 = p$T0, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
    method = method, ledger = ledger, ...
  )
}

kept <- list(holds = TRUE)
pay <- function(ledger, kind, ..., label = "x") {
  spend(ledger, new_cost(kind, ...), label, kept)
}
pay_gdp <- function(ledger, epsilon, delta = 1e-6) {
  pay(ledger, "gdp", epsilon = epsilon, mu = gdp_budget_cpp(epsilon, delta))
}

# The epsilon that a printed ledger states as spent.
printed_spent <- function(ledger) {
  line <- grep("spent of", format(ledger), value = TRUE)
  as.numeric(sub(".*epsilon ([^ ]+) spent.*", "\\1", line))
}

test_that("the squares of Gaussian shifts add up, and the sum is converted to epsilon once", {
  ledger <- dp_ledger(3, 1e-6)
  mu <- gdp_budget_cpp(1, 1e-6)
  for (k in 1:4) {
    charge(ledger, 1, method = "output")
    expect_equal(as.data.frame(ledger)$mu, rep(mu, k))
    expect_equal(as.data.frame(ledger)$rho, rep(mu^2 / 2, k))
    expect_equal(printed_spent(ledger), gdp_epsilon_cpp(sqrt(k) * mu, 1e-6), tolerance = 1e-3)
  }
  expect_equal(gaussian_delta(gdp_epsilon_cpp(2 * mu, 1e-6), 1 / (2 * mu)), 1e-6, tolerance = 1e-6)
  # The total is less than the cost of the same releases in zCDP.
  expect_lt(gdp_epsilon_cpp(2 * mu, 1e-6), 0.95 * cdp_epsilon(4 * mu^2 / 2, 1e-6))
})

test_that("charges of older versions add up in zCDP, and none can follow a Gaussian charge", {
  ledger <- dp_ledger(3, 1e-6)
  rho <- cdp_rho(1, 1e-6)
  for (k in 1:3) {
    pay(ledger, "zcdp", epsilon = 1, rho = rho)
    expect_equal(printed_spent(ledger), cdp_epsilon(k * rho, 1e-6), tolerance = 1e-3)
  }
  # In such a ledger later shifts and pure charges count in zCDP.
  pay(ledger, "gdp", epsilon = 0.3, mu = 0.1)
  pay(ledger, "pure", epsilon = 0.1)
  expect_equal(
    printed_spent(ledger), cdp_epsilon(3 * rho + 0.1^2 / 2 + 0.1^2 / 2, 1e-6), tolerance = 1e-3
  )
  # No shift covers a charge in zCDP.
  ledger <- dp_ledger(3, 1e-6)
  pay_gdp(ledger, 1)
  expect_error(pay(ledger, "zcdp", rho = rho), "cannot follow a charge",
    class = "dpsc_error_budget"
  )
})

test_that("a ledger accepts a second charge exactly if the composed cost is within its total", {
  total <- gdp_epsilon_cpp(sqrt(2) * gdp_budget_cpp(1, 1e-6), 1e-6)
  enough <- dp_ledger(total * (1 + 1e-7), 1e-6)
  short <- dp_ledger(total * (1 - 1e-6), 1e-6)
  charge(enough, 1, method = "output")
  charge(enough, 1, method = "output")
  charge(short, 1, method = "output")
  expect_error(charge(short, 1, method = "output"), class = "dpsc_error_budget")
  expect_error(charge(enough, 0.01, method = "output"), class = "dpsc_error_budget")
  expect_identical(nrow(as.data.frame(enough)), 2L)
  expect_identical(nrow(as.data.frame(short)), 1L)
})

test_that("a ledger accepts equal charges that use up its total, but no further charge", {
  for (parts in c(1, 3, 10)) {
    ledger <- dp_ledger(1, 0)
    for (i in seq_len(parts)) charge(ledger, 1 / parts, delta = 0)
    expect_error(charge(ledger, 1e-2, delta = 0), class = "dpsc_error_budget")
    expect_identical(nrow(as.data.frame(ledger)), as.integer(parts))

    ledger <- dp_ledger(1, 1e-6)
    for (i in seq_len(parts)) charge(ledger, 1 / parts, 1e-6 / parts, "objective")
    expect_error(charge(ledger, 1e-3, 1e-9, "objective"), class = "dpsc_error_budget")

    ledger <- dp_ledger(1, 1e-6)
    mu <- gdp_budget_cpp(1, 1e-6)
    for (i in seq_len(parts)) pay(ledger, "gdp", epsilon = 0.1, mu = mu / sqrt(parts))
    expect_error(pay_gdp(ledger, 0.05), class = "dpsc_error_budget")
    expect_identical(nrow(as.data.frame(ledger)), as.integer(parts))
  }
})

test_that("before the first Gaussian charge epsilons add up; later charges form one shift", {
  mu <- gdp_budget_cpp(1, 1e-6)
  ledger <- dp_ledger(5, 1e-6)
  charge(ledger, 0.5, 0, "output")
  charge(ledger, 0.7, 4e-7, "objective")
  expect_equal(printed_spent(ledger), 1.2, tolerance = 1e-3)
  charge(ledger, 1, method = "output")
  expect_equal(printed_spent(ledger), 1.2 + gdp_epsilon_cpp(mu, 6e-7), tolerance = 1e-3)
  # A later pure charge is a separate shift and is never added in the cheaper way.
  charge(ledger, 0.1, 0, "output")
  cover <- exponential_step_mu_cpp(2 * 0.1)
  total <- 1.2 + gdp_epsilon_cpp(sqrt(mu^2 + cover^2), 6e-7)
  expect_equal(printed_spent(ledger), total, tolerance = 1e-3)
  expect_identical(as.data.frame(ledger)$kind, c("pure", "approximate", "gdp", "pure"))
  # The delta of a later charge can no longer be subtracted from the delta of the conversion.
  before <- as.data.frame(ledger)
  error <- expect_error(charge(ledger, 0.1, 1e-9, "objective"), "cannot follow a charge",
    class = "dpsc_error_budget"
  )
  expect_match(conditionMessage(error), "Nothing was released and nothing was spent")
  expect_identical(as.data.frame(ledger), before)
})

# Randomised response in every step is the worst pure mechanism.
test_that("the Gaussian shift of pure charges bounds the composed loss of randomised responses", {
  for (epsilon in c(0.05, 0.3, 1)) {
    k <- 12
    mu <- sqrt(k) * exponential_step_mu_cpp(2 * epsilon)
    p <- stats::dbinom(0:k, k, stats::plogis(epsilon))
    q <- stats::dbinom(0:k, k, stats::plogis(-epsilon))
    for (total in seq(0, k * epsilon, length.out = 9)) {
      expect_lte(sum(pmax(p - exp(total) * q, 0)), gaussian_delta(total, 1 / mu) * (1 + 1e-9))
    }
  }
})

# An analyst observes the privacy loss of Gaussian steps, a few at a time, and stops at the best
# moment. The remaining budget then pays for one pure step (randomised response). The function
# returns the delta at epsilon, by backward induction on a grid. `left(mu)` is the pure epsilon that
# a rule still allows.
adaptive_delta <- function(epsilon, delta, total, left, steps = 30L) {
  step <- total / sqrt(steps)
  loss <- seq(-8 * total, total^2 / 2 + 9 * total + epsilon, length.out = 1601L)
  move <- outer(loss, loss, function(from, to) {
    stats::dnorm(to - from, step^2 / 2, step) * (loss[[2L]] - loss[[1L]])
  })
  after_response <- function(pure) {
    up <- stats::plogis(pure)
    gain <- function(more) pmax(1 - exp(epsilon - loss - more), 0)
    up * gain(pure) + (1 - up) * gain(-pure)
  }
  value <- pmax(1 - exp(epsilon - loss), 0)
  for (k in rev(seq_len(steps) - 1L)) {
    value <- pmax(drop(move %*% value), after_response(left(step * sqrt(k))))
  }
  stats::approx(loss, value, 0)$y
}

test_that("delta stays within the ledger's if earlier results decide when a pure charge follows", {
  for (case in list(c(1, 1e-6), c(4, 1e-6), c(1, 1e-2))) {
    epsilon <- case[[1L]]
    delta <- case[[2L]]
    total <- gdp_budget_cpp(epsilon, delta)
    # By the ledger's rule the remaining budget is one shift.
    ours <- function(mu) exponential_exponent_cpp(sqrt(max(total^2 - mu^2, 0))) / 2
    for (mu in total * c(0.1, 0.5, 0.9)) {
      ledger <- dp_ledger(epsilon, delta)
      pay(ledger, "gdp", mu = mu)
      expect_silent(pay(ledger, "pure", epsilon = ours(mu)))
      expect_error(pay(ledger, "pure", epsilon = 1e-4), class = "dpsc_error_budget")
    }
    expect_lte(adaptive_delta(epsilon, delta, total, ours), delta * 1.001)
    # Older versions added pure epsilons to the conversion, which gives no bound: the actual delta
    # is 2 to 1000 times the stated delta.
    sum_of_both <- function(mu) {
      max(0, epsilon - if (mu > 0) gdp_epsilon_cpp(mu, delta) else 0)
    }
    expect_gt(adaptive_delta(epsilon, delta, total, sum_of_both), 1.8 * delta)
  }
})

test_that("a ledger with delta = 0 pays for pure releases only", {
  ledger <- dp_ledger(10, 0)
  expect_error(charge(ledger, 0.1), class = "dpsc_error_budget")
  expect_error(charge(ledger, 0.1, 1e-6, "objective"), class = "dpsc_error_budget")
  charge(ledger, 4, 0)
  charge(ledger, 6, 0, "objective")
  expect_equal(printed_spent(ledger), 10)
  expect_error(charge(ledger, 1e-2, 0), class = "dpsc_error_budget")
})

test_that("a ledger refuses a delta above its own, and Gaussian noise once its delta is spent", {
  ledger <- dp_ledger(2, 1e-6)
  expect_error(charge(ledger, 1, 2e-6, "objective"), class = "dpsc_error_budget")
  charge(ledger, 1, 1e-6, "objective")
  # No failure probability is left for Gaussian noise.
  expect_error(charge(ledger, 1, method = "output"), class = "dpsc_error_budget")
  charge(ledger, 1, 0)
  expect_identical(nrow(as.data.frame(ledger)), 2L)
})

test_that("a refused charge leaves no trace, and the error gives the remaining budget", {
  ledger <- dp_ledger(1, 1e-6)
  pay_gdp(ledger, 0.8)
  before <- serialize(as.data.frame(ledger), NULL)
  error <- expect_error(charge(ledger, 0.9, method = "output"), class = "dpsc_error_budget")
  expect_match(conditionMessage(error), "Nothing was released and nothing was spent")
  expect_identical(serialize(as.data.frame(ledger), NULL), before)
  left <- as.numeric(sub(".*About epsilon = ([0-9.e-]+) is left.*", "\\1", conditionMessage(error)))
  expect_error(charge(ledger, left * 1.01, method = "output"), class = "dpsc_error_budget")
  expect_s3_class(charge(ledger, left * 0.99, method = "output"), "dp_release")
})

test_that("two names of one ledger share its balance, also inside functions", {
  ledger <- dp_ledger(1, 1e-6)
  copy <- ledger
  (function(l) charge(l, 0.9))(copy)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_error(charge(ledger, 0.9), class = "dpsc_error_budget")
  other <- dp_ledger(1, 1e-6)
  expect_identical(nrow(as.data.frame(other)), 0L)
})

test_that("five copies of a ledger made by saving or cloning show its charges but cannot pay", {
  ledger <- dp_ledger(1, 1e-6)
  pay_gdp(ledger, 0.5)
  path <- withr::local_tempfile(fileext = ".rds")
  saveRDS(ledger, path)
  from_load <- function() {
    file <- withr::local_tempfile()
    save(ledger, file = file)
    where <- new.env()
    load(file, envir = where)
    where$ledger
  }
  copies <- list(
    readRDS(path), unserialize(serialize(ledger, NULL)), from_load(),
    rlang::env_clone(ledger), list2env(as.list.environment(ledger), parent = emptyenv())
  )
  for (copy in copies) {
    class(copy) <- "dp_ledger"
    expect_identical(as.data.frame(copy), as.data.frame(ledger))
    expect_identical(format(copy), format(ledger))
    expect_error(charge(copy, 0.1), "is a copy", class = "dpsc_error_budget")
    expect_identical(nrow(as.data.frame(copy)), 1L)
  }
  # The original ledger can still pay, and records the charge.
  pay_gdp(ledger, 0.5)
  expect_identical(nrow(as.data.frame(ledger)), 2L)
})

test_that("if copies of a ledger are taken over in turn, only the last copy can pay", {
  ledger <- dp_ledger(1, 1e-6)
  copy <- unserialize(serialize(ledger, NULL))
  pay_gdp(ledger, 0.9)
  # The session knows the spending since the copy was made.
  resumed <- dp_ledger(resume = copy)
  expect_identical(as.data.frame(resumed), as.data.frame(ledger))
  expect_error(pay_gdp(ledger, 0.1), "another ledger has replaced it", class = "dpsc_error_budget")
  expect_error(pay_gdp(copy, 0.1), class = "dpsc_error_budget")
  expect_error(pay_gdp(resumed, 0.9), "enough budget", class = "dpsc_error_budget")
  pay_gdp(resumed, 0.1)
  again <- dp_ledger(resume = resumed)
  expect_error(pay_gdp(resumed, 0.01), class = "dpsc_error_budget")
  pay_gdp(again, 0.01)
  expect_identical(nrow(as.data.frame(again)), 3L)
})

test_that("a ledger of an older version is read, printed and taken over", {
  old <- structure(list2env(list(
    epsilon = 4, delta = 1e-6, session = c(process = 1, started = 0),
    history = data.frame(
      label = c("a", "b", "c"), kind = c("zcdp", "pure", "approximate"),
      epsilon = c(1, 0.5, 0.7), delta = c(0, 0, 4e-7), rho = c(cdp_rho(1, 1e-6), NA, NA)
    )
  ), parent = emptyenv()), class = "dp_ledger")
  expect_named(as.data.frame(old), c("label", "kind", "epsilon", "delta", "rho", "mu"))
  total <- 0.7 + cdp_epsilon(cdp_rho(1, 1e-6) + 0.5^2 / 2, 6e-7)
  expect_equal(printed_spent(old), total, tolerance = 1e-3)
  expect_error(pay_gdp(old, 0.1), "another R session", class = "dpsc_error_budget")
  new <- dp_ledger(resume = old)
  expect_match(format(new), "1. a: rho = ", fixed = TRUE, all = FALSE)
  expect_match(format(new), "3. c: epsilon = 0.7, delta = 4e-07", fixed = TRUE, all = FALSE)
  pay_gdp(new, 0.01)
  expect_identical(nrow(as.data.frame(new)), 4L)
})

test_that("as.data.frame() and print() show the charges of a ledger", {
  ledger <- dp_ledger(2, 1e-6)
  expect_output(print(ledger), "nothing spent yet")
  expect_output(print(ledger), "epsilon 0 spent of 2; about 2 left", fixed = TRUE)
  expect_output(print(ledger), "neighbouring data sets arise by replacing one person", fixed = TRUE)
  expect_identical(dim(as.data.frame(ledger)), c(0L, 6L))
  charge(ledger, 0.5, 0)
  charge(ledger, 0.5, 1e-7, "objective")
  charge(ledger, 0.5, method = "output")
  table <- as.data.frame(ledger)
  expect_named(table, c("label", "kind", "epsilon", "delta", "rho", "mu"))
  expect_identical(table$delta, c(0, 1e-7, 0))
  text <- utils::capture.output(out <- withVisible(print(ledger)))
  expect_false(out$visible)
  expect_identical(out$value, ledger)
  expect_match(text, "1. release by method \"gram\": epsilon = 0.5", fixed = TRUE, all = FALSE)
  expect_match(text, "2. .*objective.*: epsilon = 0.5, delta = 1e-07", all = FALSE)
  expect_match(text, "3. release by method \"output\": mu = 0.1241", fixed = TRUE, all = FALSE)
})

test_that("dp_ledger() refuses an invalid total", {
  for (bad in list(0, -1, NA, Inf, "1", c(1, 2), NULL)) {
    expect_error(dp_ledger(bad), class = "dpsc_error_argument")
  }
  for (bad in list(-1, 1, NA, "0", c(0, 0), NULL)) {
    expect_error(dp_ledger(1, bad), class = "dpsc_error_argument")
  }
  expect_error(dp_ledger(), class = "dpsc_error_argument")
})

test_that("a ledger from another session cannot pay until it is taken over", {
  ledger <- dp_ledger(2, 1e-6)
  spend(ledger, new_cost("pure", epsilon = 0.5), "first", kept)
  copy <- unserialize(serialize(ledger, NULL))
  copy$session <- c(process = 1, started = 0)
  expect_error(
    spend(copy, new_cost("pure", epsilon = 0.1), "x", kept), "another R session",
    class = "dpsc_error_budget"
  )
  expect_identical(nrow(as.data.frame(copy)), 1L)
  resumed <- dp_ledger(resume = copy)
  expect_identical(as.data.frame(resumed), as.data.frame(ledger))
  spend(resumed, new_cost("pure", epsilon = 0.1), "second", kept)
  expect_identical(nrow(as.data.frame(resumed)), 2L)
  expect_identical(nrow(as.data.frame(copy)), 1L)
  expect_error(dp_ledger(1, resume = copy), class = "dpsc_error_argument")
  expect_error(dp_ledger(resume = list()), class = "dpsc_error_argument")
})

test_that("an older copy of a ledger includes later charges after it is taken over", {
  ledger <- dp_ledger(1, 1e-6)
  older <- serialize(ledger, NULL)
  pay_gdp(ledger, 0.9)
  heir <- dp_ledger(resume = ledger)
  pay_gdp(heir, 0.05)
  for (i in 1:2) {
    heir <- dp_ledger(resume = unserialize(older))
    expect_identical(nrow(as.data.frame(heir)), 2L)
    expect_error(pay_gdp(heir, 0.9), "enough budget", class = "dpsc_error_budget")
  }
  # The copy comes from another session.
  foreign <- unserialize(older)
  foreign$session <- c(process = 1, started = 0)
  foreign$id <- "1-0-1"
  foreign <- serialize(foreign, NULL)
  pay_gdp(dp_ledger(resume = unserialize(foreign)), 0.9)
  again <- dp_ledger(resume = unserialize(foreign))
  expect_error(pay_gdp(again, 0.9), "enough budget", class = "dpsc_error_budget")
})
