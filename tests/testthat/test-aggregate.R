# Sample and aggregate: one person changes one answer. Tests of the distribution of the released
# median.

seeded_aggregate <- function(..., seed = 5) {
  withr::local_seed(seed)
  dp_aggregate(..., control = dp_control(rng = "R"))
}

test_that("changing one answer changes quantile losses by at most 100, their differences by 200", {
  compositions <- function(n, cells) {
    if (cells == 1L) return(list(n))
    unlist(lapply(0:n, function(k) {
      lapply(compositions(n - k, cells - 1L), function(rest) c(k, rest))
    }), recursive = FALSE)
  }
  for (percent in c(25, 50, 75)) {
    widest <- farthest <- 0
    for (n in 2:6) {
      for (state in compositions(n, 4L)) {
        own <- quantile_losses_cpp(state, percent)
        expect_gte(min(own), 0)
        for (from in which(state > 0)) {
          for (to in setdiff(1:4, from)) {
            other <- state
            other[from] <- other[from] - 1
            other[to] <- other[to] + 1
            move <- quantile_losses_cpp(other, percent) - own
            widest <- max(widest, diff(range(move)))
            farthest <- max(farthest, abs(move))
          }
        }
      }
    }
    expect_lte(widest, 200)
    expect_equal(farthest, 100)
  }
  expect_identical(quantile_losses_cpp(c(1, 2, 1), 50), c(100, 0, 100))
})

test_that("dp_aggregate() charges every quantile for the full range of its losses", {
  for (delta in c(0, 1e-6)) {
    for (names in list("a", letters[1:20])) {
      facts <- list(blocks = 100, names = names, epsilon = 1, delta = delta, mean = FALSE,
        percents = c(50L, 25L, 75L))
      plan <- aggregate_plan_cpp(facts)
      # One rank counts as a loss of 100, and a loss changes by at most two ranks.
      range <- 2 * plan$exponent
      cost <- if (plan$gaussian) exponential_step_mu_cpp(range) else range
      charged <- if (plan$gaussian) plan$steps$mu else plan$steps$epsilon
      expect_equal(nrow(plan$steps), 3 * length(names))
      expect_true(all(cost <= charged * (1 + 1e-12)))
      total <- if (plan$gaussian) gdp_epsilon_cpp(gdp_compose_cpp(charged), delta) else sum(charged)
      expect_lte(total, 1 + 1e-9)
      expect_gte(total, 0.99)
    }
  }
  # As Gaussian shifts sixty draws cost less, but three draws do not.
  few <- list(blocks = 100, names = "a", epsilon = 1, delta = 1e-6, mean = FALSE, percents = 50L)
  expect_false(aggregate_plan_cpp(few)$gaussian)
  expect_true(plan$gaussian)
})

test_that("medians of equal answers hit their cell as often as the exponential mechanism implies", {
  # All answers are in one cell, whose loss is 0. The loss of every other cell is the loss of all
  # answers.
  k <- 10
  answers <- matrix(0.5, k)
  facts <- list(blocks = k, names = "a", epsilon = 2.6, delta = 0, mean = FALSE, percents = 50L)
  withr::local_seed(2)
  # A draw has 2^18 cells.
  runs <- if (is_audit()) c(400, 200) else c(40, 24)
  draws <- replicate(runs[[1L]], aggregate_release_cpp(answers, facts, "R"))
  share <- mean(abs(draws - 0.5) < 2^-17)
  # The exponent per rank is 1.3, and every other cell is five ranks away.
  expected <- 1 / (1 + (2^18 - 1) * exp(-1.3 * 5))
  expect_gt(stats::binom.test(round(share * runs[[1L]]), runs[[1L]], expected)$p.value, 1e-4)
  facts$epsilon <- 8
  draws <- replicate(runs[[2L]], aggregate_release_cpp(answers, facts, "R"))
  share <- mean(abs(draws - 0.5) < 2^-17)
  expected <- 1 / (1 + (2^18 - 1) * exp(-4 * 5))
  expect_gt(stats::binom.test(round(share * runs[[2L]]), runs[[2L]], expected)$p.value, 1e-4)
})

test_that("a mean from dp_aggregate() has noise of the planned standard deviation", {
  for (delta in c(0, 1e-6)) {
    answers <- matrix(0.25, 40, 3)
    facts <- list(blocks = 40, names = letters[1:3], epsilon = 1, delta = delta, mean = TRUE,
      percents = 50L)
    plan <- aggregate_plan_cpp(facts)
    withr::local_seed(3)
    draws <- replicate(600, aggregate_release_cpp(answers, facts, "R")[1, 1])
    sd <- (if (plan$gaussian) sqrt(plan$scale) else sqrt(2) * plan$scale) / 2^plan$grid / 40
    expect_equal(stats::sd(draws), sd, tolerance = 0.15)
    expect_equal(mean(draws), 0.25, tolerance = 5 * sd / sqrt(600) / 0.25)
    # The Laplace noise has scale d / (k epsilon), as in the dissertation.
    if (delta == 0) expect_equal(plan$scale / 2^plan$grid, 3, tolerance = 1e-5)
  }
})

test_that("a person's row changes only one block's answer, despite a statistic's side effects", {
  n <- 60
  people <- data.frame(x = seq_len(n) / n, g = factor(rep(c("a", "b"), n / 2)))
  other <- people
  other$x[7] <- 50
  levels(other$g) <- c("a", "b", "c")
  other$g[7] <- "c"
  facts <- list(n = n, blocks = 12, lower = c(-100, -100), upper = c(100, 100),
    fallback = c(0, 0))
  greedy <- function(rows) {
    # This statistic uses random numbers, prints, and leaves objects behind, depending on its rows.
    if (any(rows$x > 1)) {
      options(dpsc.left = 1, digits = 3)
      sink(nullfile())
      stats::runif(100)
    }
    warning("w")
    message(rows$x[[1]])
    print(rows)
    left <- getOption("dpsc.left", 0) + getOption("digits") + length(attributes(rows$g)) +
      sink.number()
    c(stats::rnorm(1), left + length(unique(rows$g)))
  }
  order <- rev(seq_len(n))
  digits <- getOption("digits")
  sinks <- sink.number()
  withr::local_seed(1)
  before <- .Random.seed
  seen <- capture.output(
    a <- block_answers(plain_rows(people), greedy, facts, order, 1:36),
    b <- block_answers(plain_rows(other), greedy, facts, order, 1:36)
  )
  expect_identical(seen, character())
  expect_identical(.Random.seed, before)
  expect_identical(getOption("digits"), digits)
  expect_null(getOption("dpsc.left"))
  expect_identical(sink.number(), sinks)
  expect_identical(sum(rowSums(a != b) > 0), 1L)
  # Without fresh seeds the next block would change as well, so the test can fail.
  expect_gt(length(unique(a[, 1])), 10)
})

test_that("a block's answer is clipped, or is the public fallback if it is missing or invalid", {
  facts <- list(n = 6, blocks = 6, lower = 0, upper = 10, fallback = 2)
  answer <- function(f) block_answers(1:6, f, facts, 1:6, 1:18)[, 1] * 10
  expect_equal(answer(function(x) stop("value ", x)), rep(2, 6))
  expect_equal(answer(function(x) if (x == 1) NA else x), c(2, 2:6))
  expect_equal(answer(function(x) c(x, x)), rep(2, 6))
  expect_equal(answer(function(x) "a"), rep(2, 6))
  expect_equal(answer(function(x) if (x > 3) Inf else -Inf), c(0, 0, 0, 10, 10, 10))
  expect_equal(answer(function(x) NaN), rep(2, 6))
})

test_that("dp_aggregate() estimates a 75 % quantile with a root mean square error below 0.07", {
  withr::local_seed(4)
  people <- stats::rlnorm(10000)
  truth <- stats::quantile(people, 0.75, names = FALSE)
  q75 <- function(x) stats::quantile(x, 0.75)
  found <- lapply(seq_len(if (is_audit()) 20 else 8), function(i) {
    seeded_aggregate(people, q75, lower = c(q75 = 0), upper = 10, epsilon = 1, blocks = 100,
      spread = FALSE, seed = i)
  })
  errors <- vapply(found, coef, 0) - truth
  # The estimate from the whole sample has an error of 0.027. Root mean squares; seeds are fixed.
  expect_lt(sqrt(mean(errors^2)), 0.07)
  fit <- seeded_aggregate(people, q75, lower = c(q75 = 0), upper = 10, epsilon = 2, blocks = 150)
  table <- tidy(fit, conf.int = TRUE)
  expect_identical(table$term, "q75")
  expect_lt(abs(table$estimate - truth), 6 * table$std.error)
  expect_lt(table$privacy.se, table$std.error)
  expect_identical(nobs(fit), 10000L)
  expect_identical(glance(fit)$blocks, 150)
  raw <- dp_aggregate(people, q75, lower = 0, upper = 10, epsilon = Inf, blocks = 50)
  expect_false(raw$privacy$holds)
  expect_output(print(raw), "NOT PRIVATE")
  expect_output(print(fit), "NOT PRIVATE: the nominal epsilon = 2 does not hold")
  expect_output(
    print(seeded_aggregate(people, q75, lower = 0, upper = 10, epsilon = 0.1, blocks = 30)),
    "Not identified at this budget"
  )
  mean_fit <- seeded_aggregate(people, function(x) c(mean(x), stats::median(x)),
    lower = c(mean = 0, median = 0), upper = 10, epsilon = 4, delta = 1e-6, method = "mean")
  expect_named(coef(mean_fit), c("mean", "median"))
  expect_equal(mean_fit$privacy$delta, 1e-6)
  expect_error(tidy(mean_fit, conf.int = TRUE), class = "dpsc_error_argument")
})

test_that("dp_aggregate() charges its ledger, and its result contains no rows and no function", {
  ledger <- dp_ledger(epsilon = 1)
  people <- data.frame(x = stats::runif(100), y = 1234.5)
  fit <- dp_aggregate(people, function(rows) mean(rows$x), lower = 0, upper = 1, epsilon = 0.4,
    blocks = 20, ledger = ledger)
  expect_true(fit$privacy$holds)
  expect_equal(as.data.frame(ledger)$epsilon, 0.4)
  expect_identical(as.data.frame(ledger)$kind, "pure")
  holds <- function(x) {
    if (is.function(x) || is.environment(x)) return(TRUE)
    if (is.list(x)) any(vapply(x, holds, NA)) else any(x %in% people$x)
  }
  expect_false(holds(unclass(fit)))
  expect_error(
    dp_aggregate(people, function(rows) 1, lower = 0, upper = 1, epsilon = 0.7, blocks = 20,
      ledger = ledger),
    class = "dpsc_error_budget"
  )
  expect_error(
    seeded_aggregate(people, function(rows) 1, lower = 0, upper = 1, epsilon = 0.1, blocks = 20,
      ledger = ledger),
    class = "dpsc_error_budget"
  )
  # An example that fails is detected before the charge.
  expect_error(
    dp_aggregate(people, function(rows) mean(rows$z), lower = 0, upper = 1, epsilon = 0.1,
      ledger = ledger, example = data.frame(x = 1:3)),
    class = "dpsc_error_argument"
  )
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})

test_that("invalid inputs of dp_aggregate() raise errors of the documented classes", {
  go <- function(data = 1:100, statistic = mean, ..., lower = 0, upper = 1, epsilon = 1) {
    dp_aggregate(data, statistic, ..., lower = lower, upper = upper, epsilon = epsilon)
  }
  for (bad in list(
    quote(go(statistic = "mean")), quote(go(blocks = 1)), quote(go(blocks = 101)),
    quote(go(epsilon = -1)), quote(go(epsilon = 1e-12)), quote(go(method = "mode")),
    quote(go(spread = NA)), quote(go(delta = 1))
  )) {
    expect_error(eval(bad), class = "dpsc_error_argument")
  }
  for (bad in list(
    quote(go(lower = 1)), quote(go(upper = Inf)), quote(go(lower = c(0, 0, 0), upper = c(1, 1))),
    quote(go(fallback = 2)), quote(go(lower = "a"))
  )) {
    expect_error(eval(bad), class = "dpsc_error_bounds")
  }
  for (bad in list(
    quote(go(data = list(1, 2))), quote(go(data = 1:3)), quote(go(data = NULL)),
    quote(go(data = data.frame(x = I(list(1, 2, 3, 4)))))
  )) {
    expect_error(eval(bad), class = "dpsc_error_data")
  }
})

# One person's large number turns the column into a 64-bit integer column, which must not cause an
# error.
test_that("64-bit integers become the numbers that they represent, not doubles of the same bits", {
  skip_if_not_installed("bit64")
  long <- bit64::as.integer64(c("3", "9007199254740992", "-5", NA))
  rows <- data.frame(x = 1:4, y = 1)
  rows$x <- long
  expect_identical(plain_rows(rows)$x, c(3, 2^53, -5, NA))
  expect_identical(plain_rows(long), c(3, 2^53, -5, NA))
})

# Plants faults 119.
test_that("64-bit identifiers that differ in the last digits are different people", {
  # Plants faults 119.
  skip_if_not_installed("bit64")
  rows <- data.frame(y = rep(c(0, 1), 200))
  # One person is different in the second table; the number of people is public, and stays.
  rows$id <- bit64::as.integer64("90000000000000000") + rep(0:199, 2L)
  other <- rows
  other$id[c(7, 207)] <- bit64::as.integer64("77")
  people <- function(rows) {
    nobs(dp_aggregate(rows, function(p) mean(p$y), lower = 0, upper = 1, epsilon = 1, blocks = 5,
      person = ~id))
  }
  expect_equal(people(rows), 200)
  expect_equal(people(other), 200)
})

test_that("messages and errors of a user's statistic are suppressed and cannot end the call", {
  people <- seq(0.5, 100, length.out = 200)
  secret <- "of person 99"
  loud <- list(
    function(x) {
      if (any(x > 99)) try(stop("secret ", secret))
      mean(x)
    },
    function(x) {
      if (any(x > 99)) cat("secret", secret, file = stderr())
      mean(x)
    },
    function(x) {
      if (any(x > 99)) {
        stop(structure(class = c("own", "condition"), list(message = secret, call = NULL)))
      }
      mean(x)
    },
    function(x) {
      if (any(x > 99)) invokeRestart("abort")
      mean(x)
    }
  )
  said <- withr::local_tempfile()
  for (statistic in loud) {
    ledger <- dp_ledger(2, 1e-6)
    heard <- file(said, "w")
    sink(heard, type = "message")
    found <- tryCatch(
      dp_aggregate(people, statistic, lower = 0, upper = 100, epsilon = 1, ledger = ledger),
      finally = {
        sink(type = "message")
        close(heard)
      }
    )
    expect_s3_class(found, "dp_aggregate")
    expect_identical(readLines(said), character())
    expect_no_match(geterrmessage(), secret)
    expect_identical(nrow(as.data.frame(ledger)), 1L)
  }
  expect_identical(sink.number(type = "message"), 2L)
})

test_that("a mean of 8,000 people has an interval; a median over 50 blocks has none", {
  withr::local_seed(6)
  # Blocks contain at least 30 people, which gives 96 / epsilon blocks and the corresponding number
  # of people.
  people <- stats::rexp(8000, 0.1)
  for (epsilon in if (is_audit()) c(0.5, 1) else 0.5) {
    inside <- replicate(if (is_audit()) 60 else 3, {
      found <- suppressWarnings(dp_aggregate(people, mean,
        lower = 0, upper = 100, epsilon = epsilon, control = dp_control(rng = "R")
      ))
      table <- tidy(found, conf.int = TRUE)
      expect_true(table$identified)
      table$conf.low < 10 && 10 < table$conf.high
    })
    if (is_audit()) expect_gte(mean(inside), 0.9)
  }
  few <- dp_aggregate(people, mean, blocks = 50, lower = 0, upper = 100, epsilon = 0.5,
    method = "median", spread = TRUE)
  expect_false(glance(few)$identified)
  expect_true(is.na(tidy(few)$std.error))
  expect_output(print(few), "Not identified")
})

test_that("dp_aggregate() prints why an interval is missing: budget, small blocks or no spread", {
  withr::local_seed(7)
  people <- stats::rexp(1000)
  go <- function(...) {
    seeded_aggregate(people, mean, lower = 0, upper = 10, ...)
  }
  # One median of 33 blocks of 30 people gets the whole budget.
  small <- go(epsilon = 1)
  expect_identical(small$method, "median")
  expect_identical(small$plan$blocks, 33)
  expect_identical(nrow(small$privacy$steps), 1L)
  expect_true(is.na(tidy(small)$std.error))
  # A fifth of such medians come from empty parts of a wide range.
  expect_false(small$plan$identified)
  expect_output(print(small), "Not identified at this budget")
  wide <- go(epsilon = 1, blocks = 60, method = "median", spread = FALSE)
  expect_output(print(wide), "No interval: the standard deviation over blocks was not released")
  # Requested blocks of four people give an estimate and no error.
  crowded <- go(epsilon = 1, blocks = 250, method = "winsorised")
  expect_true(crowded$plan$identified)
  expect_true(is.na(tidy(crowded)$std.error))
  expect_output(print(crowded), "No interval: blocks have fewer than 30 people")
  expect_identical(go(epsilon = 1, blocks = 30, method = "winsorised")$plan$identified, FALSE)
  expect_identical(go(epsilon = 8)$method, "winsorised")
  expect_false(is.na(tidy(go(epsilon = 8))$std.error))
})

test_that("replacing an answer changes the sum of a winsorised mean by at most its sensitivity", {
  withr::local_seed(8)
  facts <- list(blocks = 30, names = "a", epsilon = 1, delta = 0, mean = FALSE, located = TRUE,
    percents = 50L)
  plan <- aggregate_plan_cpp(facts)
  expect_equal(sum(plan$steps$epsilon), 1, tolerance = 1e-6)
  expect_identical(plan$steps$law, c("exponential", "exponential", "discrete_laplace"))
  # The window and the median are released. For any values of these, one answer changes the sum by
  # at most 2 x 2^grid.
  reach <- 2^plan$grid
  expect_identical(plan$steps$sensitivity[[3L]], 2 * reach)
  for (round in 1:200) {
    answers <- stats::runif(30)
    other <- answers
    other[[sample.int(30, 1)]] <- sample(c(0, 1, stats::runif(1), NaN), 1)
    median <- stats::runif(1)
    window <- min(1, 10^stats::runif(1, -6, 1))
    part <- function(x) {
      ifelse(is.nan(x), 0, round(pmin(pmax((x - median) / window, -1), 1) * reach))
    }
    expect_lte(abs(sum(part(answers)) - sum(part(other))), plan$steps$sensitivity[[3L]])
    # One answer also changes the rank of only one distance.
    expect_lte(sum(abs(answers - median) != abs(other - median), na.rm = TRUE), 1)
  }
  delta <- c(facts, list())
  delta$delta <- 1e-6
  delta$names <- letters[1:20]
  many <- aggregate_plan_cpp(delta)
  expect_true(many$gaussian)
  expect_lte(gdp_epsilon_cpp(gdp_compose_cpp(many$steps$mu), 1e-6), 1 + 1e-9)
})

test_that("a winsorised mean from dp_aggregate() has noise of the planned standard deviation", {
  withr::local_seed(9)
  k <- 400
  answers <- matrix(0.4 + 0.01 * stats::qnorm(stats::ppoints(k)), k)
  facts <- list(blocks = k, names = "a", epsilon = 4, delta = 0, mean = FALSE, located = TRUE,
    percents = 50L)
  out <- replicate(300, aggregate_release_cpp(answers, facts, "R"))
  expect_equal(mean(out[1, 2, ]), 0.4, tolerance = 2e-3)
  expect_equal(stats::median(out[1, 3, ]), 0.01, tolerance = 0.05)
  plan <- aggregate_plan_cpp(facts)
  # Laplace noise in windows of six standard deviations is nearly the only error, since few answers
  # are clipped.
  expect_equal(stats::sd(out[1, 1, ]), 6 * 0.01 * sqrt(2) * plan$scale / 2^plan$grid / k,
    tolerance = 0.2)
})

test_that("half blocks remove a variance's bias; if the statistic fails on them, nothing changes", {
  withr::local_seed(10)
  facts <- list(n = 6000, blocks = 200, lower = 0, upper = 10, fallback = 5)
  people <- stats::rexp(6000)
  variance <- function(x) mean((x - mean(x))^2)
  order <- sample.int(6000)
  plain <- 10 * mean(block_answers(people, variance, facts, order, 1:600))
  better <- 10 * mean(block_answers(people, variance, c(facts, correct = TRUE), order, 1:600))
  # With divisor n the variance of 30 people is too small by a thirtieth.
  expect_equal(plain, stats::var(people) * 29 / 30, tolerance = 0.01)
  expect_equal(better, stats::var(people), tolerance = 0.01)
  # If the statistic fails on one half, the answer of the block remains unchanged.
  touchy <- function(x) if (length(x) < 20) stop("few") else mean(x)
  expect_equal(
    block_answers(people, touchy, c(facts, correct = TRUE), order, 1:600),
    block_answers(people, touchy, facts, order, 1:600)
  )
})

test_that("a statistic that plots writes no rows to a file or an open device", {
  # Plants faults 95.
  folder <- withr::local_tempdir()
  withr::local_dir(folder)
  open <- function() list(grDevices::dev.list(), grDevices::dev.cur())
  before <- open()
  people <- data.frame(age = stats::rnorm(900, 40, 10))
  of <- function(statistic) {
    seeded_aggregate(people, statistic, lower = 0, upper = 100, epsilon = 20,
      example = people[1:30, , drop = FALSE])
  }
  found <- of(function(rows) graphics::boxplot(rows$age)$stats[[3L]])
  expect_equal(found$estimate[[1L]], 40, tolerance = 0.1)
  suppressWarnings(of(function(rows) {
    graphics::hist(rows$age)
    if (nrow(rows) < 60) stop("a plot is open")
    1
  }) |> try(silent = TRUE))
  expect_identical(open(), before)
  expect_identical(list.files(folder), character())
  # A device of the user stays the current one, and receives nothing.
  file <- file.path(folder, "own.pdf")
  grDevices::pdf(file)
  own <- grDevices::dev.cur()
  of(function(rows) graphics::boxplot(rows$age)$stats[[3L]])
  expect_identical(grDevices::dev.cur(), own)
  grDevices::dev.off()
  expect_false(any(grepl("/Type /Page\\b(?!s)", readLines(file, warn = FALSE),
    perl = TRUE, useBytes = TRUE)))
})

test_that("no condition of a statistic leaves its block, and no attached rows stay", {
  people <- data.frame(x = stats::runif(400))
  seen <- character()
  of <- function(statistic) {
    tryCatch(
      withCallingHandlers(
        suppressWarnings(
          seeded_aggregate(people, statistic, lower = 0, upper = 1, epsilon = 9)
        ),
        condition = function(c) seen <<- c(seen, conditionMessage(c))
      ),
      info = function(c) "left", condition = function(c) "left"
    )
  }
  before <- search()
  told <- of(function(rows) {
    rlang::signal(paste("value", rows$x[[1L]]), "info")
    attach(rows, name = "people")
    mean(rows$x)
  })
  expect_s3_class(told, "dp_aggregate")
  expect_false(any(grepl("value", seen)))
  expect_identical(search(), before)
  expect_s3_class(of(function(rows) invokeRestart("abort")), "dp_aggregate")
})

test_that("a draw misses the cell of equal answers with a probability of at most .02", {
  for (epsilon in c(0.3, 1, 4)) {
    for (blocks in c(30, 97, 160, 333)) {
      facts <- list(core = list(
        blocks = blocks, names = "x", epsilon = epsilon, delta = 0, mean = FALSE, located = TRUE,
        percents = 50L
      ))
      plan <- aggregate_plan_cpp(facts$core)
      counts <- c(rep(0, 2^plan$cells - 1), blocks)
      # The law of the draw, from its losses.
      weight <- exp(-plan$exponent * quantile_losses_cpp(counts, 50) / 100)
      missed <- 1 - weight[[2^plan$cells]] / sum(weight)
      if (plan$cells > 3) expect_lte(missed, 0.02)
      # Twice as many cells would exceed this probability, unless the number is at its limit.
      if (plan$cells > 3 && plan$cells < 18) expect_gt(2 * missed, 0.0195)
    }
  }
})

test_that("equal answers are found, and answers far narrower than the limits, too", {
  far <- function(value, k) {
    vapply(seq_len(k), function(i) {
      found <- suppressWarnings(seeded_aggregate(data.frame(x = 1:3990), function(rows) value(),
        seed = i, lower = 0, upper = 100, epsilon = 1))
      c(abs(found$estimate[[1L]] - 25.3), found$quantiles[, "spread"])
    }, numeric(2L))
  }
  for (value in list(function() 25.3, function() stats::rnorm(1L, 25.3, 0.9))) {
    found <- far(value, 60L)
    # A draw finds a remote cell with probability .02 at most.
    expect_lte(sum(found[2L, ] > 10), 10)
    expect_lt(stats::median(found[1L, ]), 1)
  }
})

test_that("a statistic that always fails causes a warning, and results take the example's names", {
  expect_warning(
    lost <- seeded_aggregate(data.frame(x = 1:12000), function(rows) stop("no"), lower = 0,
      upper = 1, epsilon = 1, blocks = 300),
    "equals .*fallback", class = "dpsc_warning_fallback"
  )
  expect_output(print(lost), "the statistic may have\\s+failed")
  # With few blocks the cell of the common answer may not be found, which the standard deviation
  # shows.
  lost$quantiles[, "spread"] <- 0.51
  expect_output(print(lost), "is impossible within\\s+the")
  expect_warning(warn_of_fallback(lost), "same answer", class = "dpsc_warning_fallback")
  # A quantile has a name. Names that a statistic computes from people are ignored.
  q <- function(x) stats::quantile(x, c(0.25, 0.75))
  found <- seeded_aggregate(stats::runif(9000), q, lower = c(0, 0), upper = 1, epsilon = 2,
    example = stats::runif(20))
  expect_named(coef(found), c("25%", "75%"))
  plain <- seeded_aggregate(stats::runif(9000), q, lower = c(0, 0), upper = 1, epsilon = 2)
  expect_named(coef(plain), c("statistic1", "statistic2"))
})

test_that("a difference of times, whose unit one person may change, is refused", {
  # Plants faults 122.
  start <- as.POSIXct("2024-01-01", tz = "UTC") + 1:2000
  stay <- (start + 5000) - start
  refused <- function(data) {
    expect_error(
      dp_aggregate(data, function(p) stats::median(as.numeric(unlist(p))), lower = 0, upper = 100,
        epsilon = 5),
      "units = \"hours\"", class = "dpsc_error_data"
    )
  }
  refused(stay)
  refused(data.frame(stay))
  expect_error(
    dp_synth(matrix(stats::runif(16000), 2000), target = stats::runif(8), T0 = 5, epsilon = 5,
      bounds = c(0, 1), weights = stay, max_weight = 20),
    "finite numbers, one per donor", class = "dpsc_error_argument"
  )
})
