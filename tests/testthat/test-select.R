# Selection: odds of choices on the worst neighbours, attacks on certificates, releases.

sparse_rows <- function(n, p, s = 3, size = 0.5, sd = 0.2) {
  x <- pmax(pmin(matrix(stats::rnorm(n * p, sd = 0.5), n), 1), -1)
  where <- seq_len(s) * 2
  y <- drop(x[, where, drop = FALSE] %*% (size * rep(c(1, -1), length.out = s))) + stats::rnorm(n,
    sd = sd)
  data.frame(x = unname(x), y = pmax(pmin(y, 1), -1))
}
select_bounds <- function(rows) stats::setNames(rep(list(c(-1, 1)), ncol(rows)), names(rows))
seeded <- dp_control(rng = "R")
pick_facts <- function(size = 1, exponent = 1, rho_step = Inf, blocks = 2, ball = 1,
  intercept = FALSE) {
  list(size = size, exponent = exponent, rho_step = rho_step, blocks = blocks, ball = ball,
    intercept = intercept)
}
first_pick_rate <- function(table, method, facts, draws = 4000) {
  mean(replicate(draws, dpsc:::select_pick_cpp(table, method, facts, "R")[[1L]]) == 1)
}

selection_methods <- c(
  "ranks", "pursuit", "gram", "screening", "votes", "frank-wolfe", "exhaustive", "blocks",
  "subsamples", "stability", "lasso"
)

test_that("a noisy choice of a variable has the probabilities of the exponential mechanism", {
  withr::local_seed(1)
  loss <- c(0, 3, 1, 40)
  draws <- replicate(6000, select_choose_cpp(loss, 2, 4, "R"))
  mass <- exp(-loss / 2)
  expect_not_rejected(stats::chisq.test(table(factor(draws, 1:4))[1:3],
    p = mass[1:3] / sum(mass[1:3]))$p.value)
  expect_identical(select_choose_cpp(c(5, 2, 2), Inf, 1, "R"), 2L)
  # Losses of 2^50 do not overflow.
  expect_identical(select_choose_cpp(c(2^50, 0), 5, 4, "R"), 2L)
})

test_that("for the worst neighbours the log odds of a choice change by the exponent", {
  # Plants faults 47.
  withr::local_seed(2)
  # The utilities are (3, 1) and (1, 3), so the odds change from exp(x/2) to exp(-x/2).
  base <- rbind(c(1, 1, 1), c(1, 1, 1))
  one <- rbind(base, c(1, -1, 1))
  two <- rbind(base, c(-1, 1, 1))
  loss <- function(rate) stats::qlogis(rate)
  for (method in c("pursuit", "screening")) {
    moved <- loss(first_pick_rate(one, method, pick_facts(exponent = 2))) -
      loss(first_pick_rate(two, method, pick_facts(exponent = 2)))
    # Two rates come from 4,000 draws each, so the standard error of their difference is 0.05.
    expect_lt(abs(moved - 2), 0.25)
  }
  # The fault is a doubled exponent, which ignores that utilities change in both directions.
  moved <- loss(first_pick_rate(one, "pursuit", pick_facts(exponent = 4))) -
    loss(first_pick_rate(two, "pursuit", pick_facts(exponent = 4)))
  expect_gt(moved, 2.5)
  # Two blocks with one row each vote: the counts are (2, 0) and (1, 1).
  one <- rbind(c(1, 0, 1), c(1, 0, 1))
  two <- rbind(c(1, 0, 1), c(0, 1, 1))
  moved <- loss(first_pick_rate(one, "votes", pick_facts(exponent = 2))) -
    loss(first_pick_rate(two, "votes", pick_facts(exponent = 2)))
  expect_lt(abs(moved - 2), 0.25)
})

rank_facts <- function(size = 1, exponent = 1, steps = FALSE) {
  list(size = size, exponent = exponent, rho_step = Inf, location = 0, locate_picks = FALSE,
    steps = steps, centred = steps)
}

test_that("for the worst person the log odds of a choice by ranks change by the exponent", {
  # Plants faults 85.
  withr::local_seed(17)
  rate <- function(table, exponent) {
    mean(replicate(4000, {
      select_ranks_cpp(table, rep(TRUE, 3), rank_facts(exponent = exponent), "R")$order == 1
    }))
  }
  # The last person is outside all others, so every pair of this person changes, in opposite
  # directions.
  base <- rbind(c(-0.5, -0.5, -0.5), c(0, 0, 0), c(0.5, 0.5, 0.5))[rep(1:3, 2), ]
  moved <- function(exponent) {
    stats::qlogis(rate(rbind(base, c(1, -1, 1)), exponent)) -
      stats::qlogis(rate(rbind(base, c(-1, 1, 1)), exponent))
  }
  expect_lt(abs(moved(2) - 2), 0.25)
  # The fault is twice the exponent, as if a person were in half of the pairs.
  expect_gt(moved(4), 2.5)
})

test_that("with few people variables are chosen by Kendall's correlation over all pairs", {
  withr::local_seed(18)
  for (repetition in 1:20) {
    table <- matrix(stats::runif(6 * 5, -1, 1), 6)
    kendall <- abs(stats::cor(table[, 1:4], table[, 5], method = "kendall"))
    found <- select_ranks_cpp(table, rep(TRUE, 5), rank_facts(4, Inf), "R")$order
    expect_identical(kendall[found], sort(kendall, decreasing = TRUE))
    # Monotone transformations do not change the result.
    expect_identical(found, select_ranks_cpp(table^3, rep(TRUE, 5), rank_facts(4, Inf), "R")$order)
  }
  # A row with a missing value counts as a row of zeros.
  table[2, 3] <- NaN
  zero <- table
  zero[2, ] <- 0
  picks <- function(x) select_ranks_cpp(x, rep(TRUE, 5), rank_facts(4, Inf, TRUE), "R")$order
  expect_identical(picks(table), picks(zero))
})

test_that("dp_select() finds a variable whose effect another variable hides, and a 0/1 variable", {
  withr::local_seed(19)
  n <- 4000
  x <- matrix(stats::rnorm(n * 6), n)
  x[, 2] <- 0.8 * x[, 1] + 0.6 * x[, 2]
  flag <- as.integer(stats::runif(n) < 0.2)
  # V2 alone is nearly uncorrelated with the outcome, since V1 hides its effect.
  y <- x[, 1] - 0.75 * x[, 2] + flag + stats::rnorm(n, sd = 0.5)
  rows <- data.frame(x, flag, f = factor(sample(c("a", "b"), n, TRUE)), y)
  bounds <- c(stats::setNames(rep(list(c(-40, 40)), 6), paste0("X", 1:6)),
    list(flag = c(0, 1), f = c("a", "b"), y = c(-50, 50)))
  for (refit in c(TRUE, FALSE)) {
    found <- dp_select(y ~ ., rows, epsilon = 2, size = 3, bounds = bounds, refit = refit,
      control = seeded)
    expect_setequal(found$selected, c("X1", "X2", "flag"))
  }
})

test_that("the table of mechanisms lists the methods of dp_select() in the documented order", {
  expect_identical(names(dpsc:::mechanism_table$dp_select), selection_methods)
})

test_that("the budget shares of a selection add up to the whole budget", {
  tests <- c("blocks", "subsamples", "stability", "lasso")
  for (method in setdiff(selection_methods, c("gram", tests))) {
    for (refit in c(TRUE, FALSE)) {
      facts <- list(n = 500, p = 12, intercept = TRUE, share = 0.8, refit = refit, size = 3)
      budget <- dpsc:::stream_budget(1, 1e-6, NULL, dp_control())
      shares <- dpsc:::selection_shares(method, facts, budget)
      constants <- dpsc:::selection_constants(list(), facts, method)
      choice <- dpsc:::choice_budget(method, shares, constants)
      picks <- switch(method, "frank-wolfe" = 12, exhaustive = 1, 3)
      sums <- switch(method, pursuit = 4, screening = 1, 0)
      spent <- picks * choice$exponent^2 / 8 + sums * choice$rho_step +
        if (refit) shares$fit_rho else 0
      expect_equal(spent, budget$rho)
    }
  }
})

test_that("without noise every method of dp_select() finds the support", {
  withr::local_seed(3)
  rows <- sparse_rows(6000, 8)
  truth <- c("x.2", "x.4", "x.6")
  for (method in selection_methods) {
    found <- dp_select(y ~ ., rows, epsilon = Inf, size = 3, bounds = select_bounds(rows),
      method = method, settings = if (method == "subsamples") list(subsets = 15000) else list())
    expect_setequal(found$selected, truth)
    fit <- stats::lm(stats::reformulate(found$selected, "y"), rows)
    expect_equal(coef(found), stats::coef(fit), tolerance = 0.05)
    expect_output(print(found), "NOT PRIVATE: epsilon = Inf")
  }
})

test_that("at epsilon = 4 seven methods of dp_select() find the support and estimate its slopes", {
  withr::local_seed(4)
  rows <- sparse_rows(8000, 10)
  truth <- c("x.2", "x.4", "x.6")
  for (method in c("ranks", "pursuit", "gram", "screening", "votes", "frank-wolfe", "stability")) {
    found <- dp_select(y ~ 0 + ., rows,
      epsilon = 4, size = 3, bounds = select_bounds(rows), method = method, control = seeded
    )
    expect_setequal(found$selected, truth)
    table <- tidy(found, conf.int = TRUE)
    expect_identical(table$term[order(table$rank)], found$selected)
    # Standard errors are missing if the same noise determines selection and fit.
    expect_identical(anyNA(table$std.error), method == "gram")
    expect_identical(anyNA(table$conf.low), method == "gram")
    error <- if (method == "gram") 0 else table$std.error
    expect_true(all(abs(abs(table$estimate) - 0.5) < 4 * error + 0.05))
    expect_equal(predict(found, rows[1:3, ]),
      drop(pmax(pmin(as.matrix(rows[1:3, found$selected]) %*% coef(found), 1), -1)),
        ignore_attr = TRUE)
  }
})

test_that("a selection charges the ledger once; seeded selections and overspending are refused", {
  rows <- sparse_rows(2000, 6)
  ledger <- dp_ledger(4, 1e-6)
  pays <- function(...) {
    dp_select(y ~ 0 + ., rows, size = 3, bounds = select_bounds(rows), ledger = ledger, ...)
  }
  expect_error(pays(epsilon = 1, control = seeded), "seed", class = "dpsc_error_budget")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  pays(epsilon = 4)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_error(pays(epsilon = 1), class = "dpsc_error_budget")
  for (method in c("subsamples", "votes")) {
    found <- dp_select(y ~ 0 + ., rows, epsilon = 4, size = 1, bounds = select_bounds(rows),
      method = method, control = seeded)
    expect_match(found$privacy$theorem, "Theorem")
  }
})

test_that("a selection by method gram allows a further selection at no cost", {
  withr::local_seed(5)
  rows <- sparse_rows(5000, 6)
  found <- dp_select(y ~ ., rows, epsilon = 2, size = 3, bounds = select_bounds(rows),
    method = "gram", control = seeded)
  again <- dp_select(found, size = 2)
  expect_identical(again$selected, found$selected[1:2])
  expect_identical(again$privacy, found$privacy)
  expect_length(coef(again), 3L)
  other <- dp_select(y ~ ., rows, epsilon = 2, size = 2, bounds = select_bounds(rows),
    method = "votes")
  expect_error(dp_select(other, size = 1), class = "dpsc_error_argument")
})

test_that("tables pass the stability test with the probabilities that Laplace noise implies", {
  withr::local_seed(6)
  rate <- function(distance, epsilon, delta) {
    mean(replicate(20000, select_passes_cpp(distance * 1024, 1026, epsilon, delta, "R")))
  }
  for (epsilon in c(0.5, 2)) {
    expect_lt(abs(rate(0, epsilon, 0.05) - 0.05), 0.008)
    # The expected rate is P(Z >= log(1/(2 delta))/epsilon - d) with Laplace noise.
    d <- 1.2
    expect_lt(abs(rate(d, epsilon, 0.05) - 0.05 * exp(epsilon * d * 1024 / 1026)), 0.012)
  }
  # The threshold is log(1 / (2 delta)) / epsilon: 13.12 at (1, 1e-6).
  expect_false(select_passes_cpp(0, 1026, 1000, 1e-6, "R"))
})

stable_facts <- function(n, ...) {
  given <- list(size = 1, penalty = 0.1 * n, tau = 0.6, psi = 0.25, kappa1 = 0.5, kappa2 = 0.5,
    blocks = 5,
    intercept = FALSE)
  utils::modifyList(given, list(...))
}
distance <- function(table, method, facts) select_distance_cpp(table, method, facts, "R")

# Walks over neighbours towards instability. The distance may decrease by one per step, and the
# support may not change while the distance is positive.
attack <- function(method, n, facts, steps = 25, y_sd = 0.1) {
  x <- matrix(stats::runif(n * 3, -1, 1), n)
  table <- cbind(x, pmax(pmin(0.6 * x[, 1] + stats::rnorm(n, sd = y_sd), 1), -1))
  now <- distance(table, method, facts)
  worst <- 0
  positive <- 0
  for (step in seq_len(steps)) {
    tried <- lapply(1:3, function(k) {
      other <- table
      # The corners are directed at variables outside the support.
      other[sample.int(n, 1L), ] <- c(sample(c(-1, 1), 3, TRUE), sample(c(-1, 1), 1))
      list(table = other, found = distance(other, method, facts))
    })
    for (one in tried) {
      worst <- max(worst, abs(one$found$distance - now$distance))
      if (max(one$found$distance, now$distance) > 0) {
        positive <- positive + 1
        testthat::expect_identical(one$found$support, now$support)
      }
    }
    least <- which.min(vapply(tried, function(one) one$found$distance, 0))
    table <- tried[[least]]$table
    now <- tried[[least]]$found
  }
  c(worst = worst, positive = positive)
}

test_that("an attack on stability certificates finds no false certificate", {
  withr::local_seed(7)
  # The walks use given constants, and the constants that certify the largest distance.
  free <- stable_facts(400, psi = 0, kappa1 = 0, kappa2 = 0)
  for (facts in list(stable_facts(400), free)) {
    huber <- vapply(1:6, function(k) attack("stability", 400, facts), c(0, 0))
    expect_lte(max(huber[1L, ]), 1026 / 1024)
    expect_gt(sum(huber[2L, ]), 50)
  }
  # The distance of the other test is positive only for a large table.
  n <- 3000
  for (psi in c(0.12, 0)) {
    lasso <- attack("lasso", n, stable_facts(n, size = 1, psi = psi, penalty = 0.1 * n), steps = 8)
    expect_lte(lasso[["worst"]], 1026 / 1024)
    expect_gt(lasso[["positive"]], 10)
  }
})

test_that("the attack on stability certificates refutes a certificate that claims too much", {
  # Plants faults 48.
  withr::local_seed(8)
  # The fault is that one person could change only a tenth of the certificate's allowance.
  n <- 400
  x <- matrix(stats::runif(n * 3, -1, 1), n)
  table <- cbind(x, 0.6 * x[, 1])
  honest <- distance(table, "stability", stable_facts(n))$distance
  claimed <- 10 * honest
  walk <- table
  # In the same walk each step reduces the true distance by at most one, so the false distance
  # decreases by more.
  falls <- vapply(1:12, function(k) {
    walk[k, ] <<- c(1, 1, 1, -1)
    10 * distance(walk, "stability", stable_facts(n))$distance
  }, 0)
  expect_gt(max(-diff(c(claimed, falls))), 1026 / 1024)
})

test_that("the stability test gives the counterexample to the published LASSO test distance 0", {
  # Plants faults 49.
  # A small support, and a variable outside it just below the penalty: one person
  # suffices to include it.
  n <- 4000
  a <- rep(c(1, 0), c(n / 2, n / 2))
  penalty <- 600
  y <- ifelse(a == 1, 0.8, (penalty - 0.2) / (n / 2))
  table <- cbind(a, 1 - a, 0, round(y * 1024) / 1024)
  table[n / 2 + 1, 4] <- 0
  facts <- stable_facts(n, size = 2, psi = 0.1, penalty = sum(table[, 2] * table[, 4]) + 0.5)
  found <- distance(table, "lasso", facts)
  expect_identical(found$support, 1L)
  expect_identical(found$distance, 0)
  table[n / 2 + 1, 4] <- 1
  expect_identical(distance(table, "lasso", facts)$support, 1:2)
})

test_that("with overlapping subsets a neighbour changes the distance by at most one", {
  withr::local_seed(14)
  n <- 40
  facts <- stable_facts(n, subsets = 400, rate = 0.1)
  x <- matrix(stats::runif(n * 3, -1, 1), n)
  table <- cbind(x, pmax(pmin(0.8 * x[, 1] + stats::rnorm(n, sd = 0.1), 1), -1))
  at <- function(table, seed) withr::with_seed(seed, distance(table, "subsamples", facts))
  positive <- 0
  for (seed in 1:25) {
    now <- at(table, seed)
    positive <- positive + (now$distance > 0)
    for (k in 1:6) {
      other <- table
      other[sample.int(n, 1L), ] <- c(sample(c(-1, 1), 3, TRUE), sample(c(-1, 1), 1))
      moved <- at(other, seed)
      expect_lte(abs(moved$distance - now$distance), 1)
      if (now$distance > 0) expect_identical(moved$support, now$support)
    }
  }
  expect_gt(positive, 5)
  # The printed rate and number at (1, 1e-6) with 1,000 people.
  printed <- dpsc:::subset_constants(NULL, 1000, list(epsilon = 1, delta = 1e-6))
  expect_equal(1 / printed$rate, 442.0963, tolerance = 1e-6)
  expect_equal(printed$subsets, 4.05e6, tolerance = 1e-3)
  # If that number of subsets is impossible, it is smaller, since any number is private.
  fewer <- dpsc:::subset_constants(NULL, 1e5, list(epsilon = 1, delta = 1e-6))
  expect_identical(fewer$rate, printed$rate)
  expect_lt(fewer$subsets * (1 + fewer$rate * 1e5), 5e7)
  for (subsets in list(4e6, 3000)) {
    expect_error(dpsc:::subset_constants(subsets, 1e5, list(epsilon = 1, delta = 1e-6)),
      class = "dpsc_error_argument"
    )
  }
})

test_that("method subsamples reports how many people it needs, and this number suffices", {
  withr::local_seed(15)
  go <- function(rows, ...) {
    dp_select(y ~ ., rows, epsilon = 4, size = 2, bounds = select_bounds(rows),
      method = "subsamples", ...)
  }
  ledger <- dp_ledger(4, 1e-6)
  rows <- sparse_rows(500, 5, s = 2)
  said <- conditionMessage(expect_error(go(rows, ledger = ledger), class = "dpsc_error_argument"))
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  least <- as.numeric(gsub("[^0-9]", "", sub(" people.*", "", said)))
  expect_error(go(sparse_rows(least - 1, 5, s = 2)), class = "dpsc_error_argument")
  found <- go(sparse_rows(least, 5, s = 2), ledger = ledger)
  expect_setequal(found$selected, c("x.2", "x.4"))
})

test_that("method stability certifies more without a user's constants than with such constants", {
  withr::local_seed(16)
  n <- 4000
  draws <- list(
    function(k) stats::runif(k, -1, 1), function(k) sample(c(-1, 1), k, TRUE),
    function(k) pmax(pmin(stats::rnorm(k, sd = 0.5), 1), -1)
  )
  for (draw in draws) {
    x <- matrix(draw(n * 8), n)
    y <- 0.4 * (x[, 2] - x[, 4] + x[, 6]) + stats::rnorm(n, sd = 0.2)
    rows <- data.frame(x = unname(x), y = pmax(pmin(y, 1), -1))
    found <- dp_select(y ~ 0 + ., rows, epsilon = 4, size = 3, bounds = select_bounds(rows),
      method = "stability", refit = FALSE)
    expect_setequal(found$selected, c("x.2", "x.4", "x.6"))
    # No constants of a user could certify a larger distance, except for the coarseness of the grid.
    table <- cbind(x, rows$y)
    free <- distance(table, "stability", stable_facts(n, size = 3, penalty = 0.035 * n, psi = 0,
      kappa1 = 0, kappa2 = 0))$distance
    given <- vapply(c(0.1, 0.16, 0.25, 0.4), function(psi) {
      distance(table, "stability", stable_facts(n, size = 3, penalty = 0.035 * n, psi = psi,
        kappa1 = 1, kappa2 = 1.2))$distance
    }, 0)
    expect_gt(free, 1)
    expect_gt(free, max(given))
  }
})

test_that("an abstention of dp_select() counts as an answer and is charged", {
  withr::local_seed(9)
  rows <- sparse_rows(300, 6)
  for (method in c("stability", "lasso", "blocks")) {
    ledger <- dp_ledger(1, 1e-6)
    found <- dp_select(y ~ ., rows,
      epsilon = 0.9, delta = 9e-7, size = 3, bounds = select_bounds(rows), method = method,
        ledger = ledger,
      settings = list(blocks = 30)
    )
    expect_true(found$abstained)
    expect_length(found$selected, 0L)
    expect_output(print(found), "abstained")
    expect_named(coef(found), "(Intercept)")
    expect_identical(nrow(as.data.frame(ledger)), 1L)
    expect_error(dp_select(y ~ ., rows, epsilon = 0.5, size = 3, bounds = select_bounds(rows),
      ledger = ledger), class = "dpsc_error_budget")
  }
})

test_that("without noise the exponential mechanism over supports selects the best support", {
  withr::local_seed(10)
  rows <- sparse_rows(200, 6, s = 2)
  found <- dp_select(y ~ 0 + ., rows,
    epsilon = Inf, size = 2, bounds = select_bounds(rows), method = "exhaustive",
      settings = list(ball = 9)
  )
  pairs <- utils::combn(6, 2)
  left <- apply(pairs, 2, function(k) sum(stats::lm.fit(as.matrix(rows[k]), rows$y)$residuals^2))
  expect_setequal(found$selected, names(rows)[pairs[, which.min(left)]])
})

test_that("objects of four methods of dp_select() do not contain a planted value of the data", {
  rows <- sparse_rows(400, 6)
  canary <- 0.123456789101112
  rows$x.1[[7L]] <- canary
  for (method in c("ranks", "pursuit", "gram", "votes")) {
    found <- do.call(dp_select, list(y ~ ., rows, epsilon = 1, size = 2,
      bounds = select_bounds(rows),
      method = method))
    bytes <- serialize(unclass(found), NULL, xdr = FALSE)
    expect_length(grepRaw(writeBin(canary, raw()), bytes, fixed = TRUE), 0L)
    expect_lt(length(bytes), 30000)
  }
})

test_that("dp_select() refuses invalid arguments before any charge", {
  rows <- sparse_rows(60, 6)
  ledger <- dp_ledger(1, 1e-6)
  make <- function(...) {
    given <- list(x = y ~ ., data = rows, epsilon = 1, size = 2, bounds = select_bounds(rows),
      ledger = ledger)
    new <- list(...)
    given[names(new)] <- new
    do.call(dp_select, given)
  }
  expect_error(make(size = 9), class = "dpsc_error_argument")
  expect_error(make(size = 0), class = "dpsc_error_argument")
  expect_error(make(delta = 0), class = "dpsc_error_argument")
  expect_error(make(method = "lars"), class = "dpsc_error_argument")
  expect_error(make(share = 1), class = "dpsc_error_argument")
  expect_error(make(settings = list(block = 3)), class = "dpsc_error_argument")
  expect_error(make(method = "stability", settings = list(psi = 0.01)),
    class = "dpsc_error_argument")
  expect_error(make(bounds = list(y = c(-1, 1))), class = "dpsc_error")
  expect_error(make(data = as.list(rows)), class = "dpsc_error_data")
  expect_error(dp_select(rows), class = "dpsc_error_argument")
  expect_error(make(unknown = 1), class = "dpsc_error_argument")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # A missing value causes no error.
  rows$x.1[[3L]] <- NA
  expect_silent(found <- make(data = rows))
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})

test_that("dp_select() refuses a budget outside the samplers' range before the charge", {
  withr::local_seed(3)
  rows <- data.frame(y = stats::runif(300), x = stats::runif(300))
  bounds <- list(y = c(0, 1), x = c(0, 1))
  ledger <- dp_ledger(1, 1e-3)
  for (refit in c(TRUE, FALSE)) {
    for (given in list(
      list("pursuit", 1e-5, 1e-6), list("screening", 1e-6, 1e-6), list("blocks", 1e-9, 1e-6),
      list("blocks", 0.1, 5e-324)
    )) {
      expect_error(
        dp_select(y ~ x, rows, given[[2L]], given[[3L]],
          size = 1, bounds = bounds, method = given[[1L]], refit = refit, ledger = ledger
        ),
        class = "dpsc_error_argument"
      )
    }
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # A stability test without a subsequent regression uses the whole budget.
  found <- dp_select(y ~ x, rows, 1, size = 1, bounds = bounds, method = "blocks", refit = FALSE)
  expect_s3_class(found, "dp_selection")
})

test_that("dp_select() succeeds at an epsilon above the largest exponent of a choice", {
  withr::local_seed(3)
  rows <- data.frame(y = stats::runif(300), x = stats::runif(300), z = stats::runif(300))
  rows$y <- (rows$y + 4 * rows$x) / 5
  bounds <- list(y = c(0, 1), x = c(0, 1), z = c(0, 1))
  for (epsilon in c(300, 1e9)) {
    found <- dp_select(y ~ x + z, rows, epsilon,
      size = 1, bounds = bounds, method = "votes", refit = FALSE
    )
    expect_identical(found$selected, "x")
  }
})

test_that("dp_select() does not shrink slopes of variables declared as c(0, 1) or as logical", {
  flag <- function(lower, upper) list(list(levels = NULL, lower = lower, upper = upper))
  full <- list(intercept = TRUE, regressors = rep(flag(0, 1), 3))
  expect_equal(usual_length(full), 2)
  expect_lt(usual_length(list(intercept = TRUE, regressors = rep(flag(0, 2), 3))), 2)
  set.seed(1)
  n <- 20000
  rows <- data.frame(a = rbinom(n, 1, 0.1), b = rbinom(n, 1, 0.5), x = runif(n, -1, 1))
  rows$y <- pmin(pmax(-0.6 * rows$a + 0.2 * rows$b + 0.3 * rows$x + rnorm(n, sd = 0.2), -2), 2)
  bounds <- list(y = c(-2, 2), a = c(0, 1), b = c(FALSE, TRUE), x = c(-1, 1))
  # Without noise the only difference from lm() comes from the clipping of long rows.
  found <- dp_select(y ~ a + b + x, rows, epsilon = Inf, size = 3, bounds = bounds, method = "gram")
  expect_equal(unname(coef(found)[c("a", "b")]), unname(coef(lm(y ~ a + b + x, rows))[2:3]),
    tolerance = 0.01
  )
})

# Medians and scales first -------------------------------------------------------------------------

wide_people <- function(n, p, wide) {
  x <- matrix(stats::rnorm(n * p, 2), n)
  rows <- as.data.frame(x)
  rows$flag <- as.integer(stats::runif(n) < 0.3)
  rows$g <- sample(c("a", "b", "c"), n, TRUE)
  rows$y <- 10 + x[, 2] - x[, 4] + rows$flag + stats::rnorm(n)
  list(rows = rows, bounds = c(
    list(y = 10 + c(-8, 8) * wide, flag = c(0, 1), g = c("a", "b", "c")),
    stats::setNames(rep(list(2 + c(-4, 4) * wide), p), paste0("V", seq_len(p)))
  ))
}

test_that("with bounds 20 times too wide dp_select() finds the variables and their slopes", {
  withr::local_seed(11)
  p <- wide_people(20000, 8, 20)
  for (method in c("pursuit", "gram", "screening", "ranks")) {
    found <- dp_select(y ~ ., p$rows, epsilon = 2, size = 3, bounds = p$bounds, method = method,
      control = seeded)
    expect_true(all(c("V2", "V4") %in% found$selected), label = method)
    expect_equal(coef(found)[c("V2", "V4")], c(V2 = 1, V4 = -1), tolerance = 0.12)
    # Clipped numbers are limited to four (three) standard deviations around the median.
    two <- Filter(function(x) x$name == "V2", found$columns$regressors)[[1L]]
    reach <- if (method == "gram") 3 else 4
    expect_equal(c(two$lower, two$upper), 2 + c(-reach, reach), tolerance = 0.3)
    # 0/1 columns and levels of factors keep their limits.
    flag <- Filter(function(x) x$name == "flag", found$columns$regressors)[[1L]]
    expect_identical(c(flag$lower, flag$upper), c(0, 1))
    expect_equal(unname(predict(found, p$rows[1:20, ])), unname(drop(
      coef(found)[[1L]] + as.matrix(cbind(p$rows[c("V2", "V4", "flag")],
        p$rows$g == "b", p$rows$g == "c")[1:20, ]) %*%
        ifelse(is.na(coef(found)[c("V2", "V4", "flag", "gb", "gc")]), 0,
          coef(found)[c("V2", "V4", "flag", "gb", "gc")])
    )), tolerance = 0.05)
  }
})

test_that("the charges for medians, scales, choices and fit of a selection add up to the budget", {
  p <- wide_people(3000, 8, 20)
  budget <- dpsc:::stream_budget(1, 1e-6, NULL, dp_control())
  columns <- dpsc:::new_columns(y ~ ., p$bounds, "gaussian")
  facts <- list(n = 3000, p = 11, size = 3, intercept = TRUE, refit = TRUE, share = 0.8,
    numbers = sum(dpsc:::number_places(columns)))
  expect_identical(facts$numbers, 9L)
  for (method in c("pursuit", "gram", "screening", "frank-wolfe")) {
    shares <- dpsc:::selection_shares(method, facts, budget)
    location <- shares$location
    # Each number has two choices, each with a range of twice the exponent.
    expect_equal(location$rho, 2 * facts$numbers * (2 * location$exponent)^2 / 8)
    expect_lte(location$rho, 0.4 * budget$rho * (1 + 1e-12))
    rest <- if (is.null(shares$select_rho)) shares$fit_rho else shares$select_rho + shares$fit_rho
    expect_equal(location$rho + rest, budget$rho)
  }
  for (method in c("votes", "exhaustive", "stability")) {
    expect_null(dpsc:::selection_shares(method, facts, budget)$location)
  }
  # The outcome and as many variables as are chosen, and steps beside the choices.
  facts$indicators <- dpsc:::count_indicators(columns)
  expect_identical(dpsc:::choose_selection(NULL, facts, budget), "ranks")
  expect_identical(facts$indicators, 3L)
  shares <- dpsc:::selection_shares("ranks", facts, budget)
  location <- shares$location
  expect_equal(location$rho, 4 * location$exponent^2)
  expect_lte(location$rho, 0.2 * budget$rho)
  expect_identical(unlist(location[c("picks", "steps", "centred")], use.names = FALSE),
    rep(TRUE, 3))
  choice <- dpsc:::choice_budget("ranks", shares, list(size = 3))
  spent <- location$rho + 3 * choice$exponent^2 / 8 + 3 * choice$rho_step + shares$fit_rho
  expect_equal(spent, budget$rho)
  # The outcome takes two values.
  binary <- utils::modifyList(facts, list(numbers = 8L))
  expect_identical(dpsc:::choose_selection(NULL, binary, budget), "pursuit")
  binary$n <- 1000
  binary$size <- 6
  expect_identical(dpsc:::choose_selection(NULL, binary, budget), "screening")
  facts$n <- 300
  expect_null(dpsc:::selection_shares("pursuit", facts, budget)$location)
  # Only the outcome is located, for the mean that 0/1 variables need.
  alone <- dpsc:::selection_shares("ranks", facts, budget)$location
  expect_identical(unlist(alone[c("picks", "steps")], use.names = FALSE), c(FALSE, FALSE))
  expect_equal(alone$rho, alone$exponent^2)
  expect_lte(alone$rho, 0.4 * budget$rho)
  facts$n <- 100
  expect_null(dpsc:::selection_shares("ranks", facts, budget)$location)
  expect_identical(dpsc:::choose_selection(NULL, facts, budget), "ranks")
})

# test-lm-privacy.R tests one person's influence with the same draws of dp_lm().
test_that("medians and scales of a selection are near direct computations from the columns", {
  withr::local_seed(12)
  p <- wide_people(801, 4, 2)
  p$rows$V1[5:40] <- NA
  columns <- dpsc:::new_columns(y ~ ., p$bounds, "gaussian")
  table <- dpsc:::table_of_rows(columns, p$rows)
  found <- dpsc:::find_location(table, columns, list(exponent = 1, cell = 2^-12), "R")
  there <- table[stats::complete.cases(table), -1L]
  numbers <- which(dpsc:::number_places(columns))
  expect_lte(max(abs(apply(there, 2L, stats::median) - found$median)[numbers]), 2e-3)
  # Half of the missing rows count on each side, so radii contain half of all rows.
  ratio <- apply(there, 2L, stats::mad, constant = 1 / 0.6744898)[numbers] / found$scale[numbers]
  expect_lte(max(abs(log2(ratio))), 0.3)
  expect_identical(found$scale[-numbers], rep(1, ncol(there) - length(numbers)))
})

test_that("a selection with medians and scales is read back unchanged from its file", {
  skip_if_not_installed("jsonlite")
  withr::local_seed(13)
  p <- wide_people(20000, 6, 5)
  found <- dp_select(y ~ ., p$rows, epsilon = 4, size = 2, bounds = p$bounds)
  expect_false(is.null(found$location))
  path <- withr::local_tempfile(fileext = ".json")
  write_release(found, path)
  expect_identical(read_release(path), found)
})

test_that("slopes of numbers with few values are never those of a copy without variation", {
  slopes <- vapply(1:12, function(i) {
    withr::local_seed(i)
    d <- data.frame(g = sample(1:5, 10000, TRUE, c(.05, .1, .2, .35, .3)), x = stats::rnorm(10000))
    d$y <- 0.5 * d$g - 0.5 * d$x + stats::rnorm(10000)
    found <- dp_select(y ~ g + x, d, epsilon = 2, size = 2, method = "ranks",
      bounds = list(y = c(-20, 40), g = c(1, 5), x = c(-10, 10)), control = dp_control(rng = "R"))
    table <- tidy(found)
    table$estimate[match("g", table$term)]
  }, 0)
  expect_lt(max(abs(slopes - 0.5), na.rm = TRUE), 0.25)
  expect_gt(sum(!is.na(slopes)), 9)
})
