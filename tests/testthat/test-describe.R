# The first table of a paper: numbers, distributions, attacks. Proof: inst/proofs/describe.md.

describe_people <- function(n = 3000, seed = 4) {
  withr::local_seed(seed)
  data.frame(
    age = round(stats::runif(n, 18, 90)), cost = stats::rlnorm(n, 7, 1),
    sex = sample(c("f", "m"), n, TRUE), arm = sample(c("new", "old"), n, TRUE)
  )
}

describe_bounds <- list(
  age = c(0, 120), cost = c(0, 1e5), sex = c("f", "m"), arm = c("new", "old")
)

described <- function(data, ..., formula = ~ age + sex + cost, epsilon = 1, delta = 1e-6,
                      bounds = describe_bounds) {
  dp_describe(formula, data, epsilon = epsilon, delta = delta, bounds = bounds, ...)
}

numbers_of <- function(found, variable, statistic, column = "estimate") {
  table <- tidy(found)
  table[[column]][table$variable == variable & table$statistic == statistic]
}

replayed <- function(verb, here, there) {
  withr::local_seed(6)
  dp_audit(audit_mechanism(verb), here, there, n_runs = 1, mode = "replay")
}

test_that("with a large budget dp_describe() is near the exact statistics of every group", {
  data <- describe_people()
  # With heavier tails, a few people would be clipped at any budget.
  data$cost <- withr::with_seed(2, stats::rgamma(nrow(data), 2, scale = 500))
  data$age[1:50] <- NA
  data$sex[51:60] <- "x"
  for (delta in c(0, 1e-6)) {
    found <- described(data, by = ~arm, epsilon = 300, delta = delta)
    truth <- described(data, by = ~arm, epsilon = Inf)
    a <- tidy(found)
    b <- tidy(truth)
    expect_identical(a[1:4], b[1:4])
    off <- abs(a$estimate - b$estimate)
    # In a wide window the sum of squares contains more noise.
    spread <- b$variable == "cost" & b$statistic == "sd"
    expect_lt(max((off / (abs(b$estimate) + 1))[!spread]), 0.02)
    expect_lt(max((off / a$privacy.se)[spread]), 6)
    expect_true(all(a$conf.low <= a$estimate & a$estimate <= a$conf.high))
    expect_true(all(a$std.error >= a$privacy.se))
  }
  expect_identical(numbers_of(truth, "age", "n"), as.double(table(data$arm[-(1:50)])))
  expect_equal(numbers_of(truth, "cost", "mean"), unname(c(tapply(data$cost, data$arm, mean))))
  expect_equal(
    numbers_of(truth, "sex", "share")[1:2],
    as.double(prop.table(table(data$sex[data$arm == "new"])[c("f", "m")]))
  )
})

test_that("95 % limits of dp_describe() cover means, SDs and quantiles in at least 93 % of runs", {
  runs <- if (is_audit()) 400 else 60
  truth <- c(
    mean = exp(0.5), sd = sqrt((exp(1) - 1) * exp(1)), q0.5 = 1, q0.75 = exp(stats::qnorm(0.75))
  )
  inside <- vapply(seq_len(runs), function(run) {
    withr::local_seed(run)
    data <- data.frame(x = stats::rlnorm(5000))
    table <- tidy(dp_describe(~x, data,
      epsilon = 1, bounds = list(x = c(0, 200)), control = dp_control(rng = "R")
    ))
    at <- match(names(truth), table$statistic)
    table$conf.low[at] <= truth & truth <= table$conf.high[at]
  }, NA[rep(1, 4)])
  expect_gte(min(rowMeans(inside)), 0.93 - 2 * sqrt(0.93 * 0.07 / runs))
})

test_that("moving or removing one row changes losses of quantiles within the proved bounds", {
  losses <- place_losses_cpp
  withr::local_seed(5)
  for (run in 1:200) {
    counts <- as.double(stats::rpois(6, 2))
    q <- sample(c(50, 250, 500, 900), 1)
    own <- losses(counts, q)
    expect_identical(own[[1]], max(-q * sum(counts), q * sum(counts) - 1000 * counts[[1]]))
    from <- sample(which(counts > 0), 1)
    less <- replace(counts, from, counts[[from]] - 1)
    moved <- less + as.double(seq_along(counts) == sample(6, 1))
    expect_lte(max(abs(losses(moved, q) - own)), 1000)
    expect_lte(diff(range(losses(less, q) - own)), 2 * max(q, 1000 - q))
  }
})

# Probabilities of all tuples of a joint choice, from the weights of the choice. The first list
# varies fastest.
joint_law <- function(losses, exponent, of_tuple = max) {
  found <- joint_choice_cpp(losses, exponent, 0L, "R")
  clipped <- lapply(losses, function(own) pmin(pmax(own, -found$cap), found$cap))
  tuple <- apply(do.call(expand.grid, clipped), 1L, of_tuple)
  if (!identical(of_tuple, max)) {
    return(exp(-exponent * tuple) / sum(exp(-exponent * tuple)))
  }
  share <- found$weight / max(found$weight) / found$tuples
  from <- rev(cumsum(rev(share)))
  from[match(tuple, found$loss)] / sum(share * found$tuples)
}

test_that("the probability of a joint choice decreases exponentially with its largest loss", {
  losses <- list(c(-700, 300, 900, 2000), c(100, -250, 400, 1e6), c(0, 0, 500, 800))
  exponent <- 0.001
  law <- joint_law(losses, exponent)
  tuple <- apply(do.call(expand.grid, lapply(losses, pmin, 96e3)), 1L, max)
  expect_equal(law, exp(-exponent * tuple) / sum(exp(-exponent * tuple)), tolerance = 1e-6)
  drawn <- withr::with_seed(3, joint_choice_cpp(losses, exponent, 20000L, "R")$drawn)
  seen <- tabulate(1L + drawn[1L, ] + 4L * drawn[2L, ] + 16L * drawn[3L, ], 64L)
  likely <- law > 1e-3
  expect_gt(stats::chisq.test(seen[likely], p = law[likely], rescale.p = TRUE)$p.value, 1e-4)
  expect_lte(max(seen[law < 1e-9]), 0)
  # An exact-loss audit computes the same distribution.
  at <- c(1, 2, 0)
  expect_equal(
    dpsc:::joint_log_law(unlist(losses), exponent, at), log(law[[1 + 1 + 8]]), tolerance = 1e-6
  )
})

test_that("a replaced row changes a joint choice's log probability by at most twice the exponent", {
  # Plants faults 80, 81.
  withr::local_seed(9)
  exponent <- 0.3
  quantiles <- c(250, 500, 750)
  lists <- function(counts) lapply(quantiles, function(q) place_losses_cpp(counts, q))
  move <- function(counts, from, to) {
    counts[from] <- counts[from] - 1
    counts[to] <- counts[to] + 1
    counts
  }
  worst <- function(exponent, of_tuple = max) {
    ratios <- vapply(1:60, function(run) {
      # In some runs one cell contains many people, and all other cells are on one side of it.
      counts <- as.double(stats::rpois(6, 3)) + 30 * (seq_len(6) == run %% 8)
      law <- joint_law(lists(counts), exponent / 1000, of_tuple)
      from <- sample(which(counts > 0), 1)
      there <- joint_law(lists(move(counts, from, sample(6, 1))), exponent / 1000, of_tuple)
      max(abs(log(law / there)))
    }, 0)
    max(ratios)
  }
  expect_lte(worst(exponent), 2 * exponent)
  # The faults are a doubled exponent, and the sum of the losses instead of the largest loss.
  expect_gt(worst(2 * exponent), 2 * exponent)
  expect_gt(worst(exponent, sum), 2 * exponent)
})

test_that("if public grid values repeat, the privacy loss of a choice is within its budget", {
  # Plants faults 82.
  withr::local_seed(12)
  exponent <- 0.3
  law <- function(counts, copies) {
    lists <- lapply(c(250, 500), function(q) rep(place_losses_cpp(counts, q), copies))
    own <- joint_law(lists, exponent / 1000)
    # The probability of a cell is the sum over its copies.
    cell <- rep(seq_along(copies), copies)
    pair <- expand.grid(cell, cell)
    tapply(own, paste(pair[[1L]], pair[[2L]]), sum)
  }
  worst <- function(copies_of) {
    max(vapply(1:40, function(run) {
      counts <- as.double(stats::rpois(5, 3)) + 20 * (seq_len(5) == run %% 7)
      from <- sample(which(counts > 0), 1)
      there <- replace(counts, from, counts[[from]] - 1)
      to <- sample(5, 1)
      there[to] <- there[to] + 1
      max(abs(log(law(counts, copies_of(counts)) / law(there, copies_of(there)))))
    }, 0))
  }
  expect_lte(worst(function(counts) c(9, 1, 4, 1, 2)), 2 * exponent)
  expect_gt(worst(function(counts) 1 + (counts > 3)), 2 * exponent)
})

test_that("round numbers replace grid points and keep the order; copies add at most 20 %", {
  for (grid in list(c(0, 120, 65536, 0), c(-50, 150, 65536, 3), c(3, 1e5, 65536, 9),
    c(-2e-3, 1e-3, 65536, 4), c(0, 1200, 1200, 0))) {
    points <- round_points_cpp(grid[[1]], grid[[2]], grid[[3]], as.integer(grid[[4]]))
    cells <- length(points$value)
    expect_identical(points$cell, as.double(seq_len(cells) - 1))
    expect_false(is.unsorted(points$value, strictly = TRUE))
    expect_lte(sum(points$copies), 1.2 * cells)
    if (grid[[1]] <= 0) expect_gt(points$copies[points$value == 0], max(1, cells / 257))
  }
  ages <- round_points_cpp(0, 120, 65536, 0L)
  expect_true(all(0:120 %in% ages$value))
  expect_identical(ages$step[match(c(0, 43, 40, 100), ages$value)], c(Inf, 1, 10, 100))
  expect_identical(ages$step[[1001]], 0)
})

test_that("under numeric bounds 95 % of quantiles of integers are whole; coverage is at least .9", {
  draw <- function(n) round(stats::rbeta(n, 2, 2.5) * 72 + 18)
  truth <- withr::with_seed(1, stats::quantile(draw(1e6), c(0.25, 0.5, 0.75), type = 1))
  covered <- vapply(1:40, function(seed) {
    withr::local_seed(seed)
    table <- tidy(dp_describe(~x, data.frame(x = draw(40000)),
      epsilon = 1, bounds = list(x = c(0, 120)), control = dp_control(rng = "R")
    ))[4:6, ]
    c(table$conf.low <= truth & truth <= table$conf.high, table$estimate == round(table$estimate))
  }, NA[1:6])
  expect_gte(min(rowMeans(covered[1:3, ])), 0.9)
  expect_gte(mean(covered[4:6, ]), 0.95)
})

test_that("limits of the mean under a power-law tail have coverage of at least 90 %", {
  draw <- function(n) pmin(10 / sqrt(stats::runif(n)), 5000)
  # The expectation of a value that is cut at the bound is 2 a - a^2 / bound.
  truth <- 20 - 100 / 5000
  covered <- vapply(1:40, function(seed) {
    withr::local_seed(seed)
    table <- tidy(dp_describe(~x, data.frame(x = draw(20000)),
      epsilon = 1, bounds = list(x = c(0, 5000)), control = dp_control(rng = "R")
    ))[2, ]
    table$conf.low <= truth && truth <= table$conf.high
  }, NA)
  expect_gte(mean(covered), 0.9)
})

test_that("replacing a row changes the sums of dp_describe() by at most their sensitivity", {
  z <- seq(-1, 1, by = 0.02)
  pairs <- expand.grid(a = z, b = z, oa = 0:1, ob = 0:1)
  parts <- function(k) {
    with(pairs, cbind(a - b, k * (a^2 - b^2), k * (a^4 - b^4), k * (oa - ob)))
  }
  # With one group, values and squares are relative to the middle of the window, the other two sums
  # to the median. A missing value counts as the median, `b`.
  one <- function(rest) {
    far <- expand.grid(a = z, b = z, power = 0:1, beyond = 0:1)
    with(far, cbind(a - b, a^2 - b^2, rest * power, rest * beyond))
  }
  expect_lte(max(rowSums(one(0.25)^2)) + 0.5^2, 4.375)
  expect_gt(max(rowSums(one(0.25)^2)) + 0.5^2, 4.37)
  expect_lte(max(rowSums(abs(one(0.0625)))) + 0.25, 2.625)
  expect_gt(max(rowSums(abs(one(0.0625)))) + 0.25, 2.62)
  expect_lte(max(rowSums(parts(0.5)^2)), 4.25)
  expect_lte(max(rowSums(abs(parts(0.25)))), 2.3)
  expect_gt(max(rowSums(parts(0.5)^2)), 4.2)
  expect_gt(max(rowSums(abs(parts(0.25)))), 2.28)
})

test_that("a replay audit of dp_describe() finds no violation for the tested pairs of neighbours", {
  base <- describe_people(400)
  change <- function(...) {
    there <- base
    there[1, names(list(...))] <- list(...)
    there
  }
  others <- list(
    change(age = 0, cost = 1e5, sex = "m", arm = "old"), change(age = NA, cost = NA),
    change(arm = NA), change(arm = setdiff(c("new", "old"), base$arm[[1]]), cost = 1e5, age = 120)
  )
  first <- change(age = 120, cost = 0, sex = "f", arm = "new")
  for (delta in c(0, 1e-5)) {
    for (by in list(NULL, ~arm)) {
      for (other in others) {
        audit <- replayed(function(people, control) {
          described(people, by = by, delta = delta, control = control)
        }, first, other)
        expect_false(audit$violated)
        expect_lte(max(audit$table$ratio), 1)
        expect_identical(utils::tail(audit$table$observed, 1), 0)
      }
    }
  }
})

test_that("an audit detects a description that understates its budget", {
  base <- describe_people(400)
  there <- base
  there[1, ] <- list(120, 1e5, "m", "old")
  base[1, ] <- list(0, 0, "f", "new")
  audit <- replayed(function(people, control) {
    found <- described(people, by = ~arm, delta = 0, control = control)
    found$privacy$epsilon <- 0.2
    found
  }, base, there)
  expect_true(audit$violated)
})

test_that("dp_describe() is charged once; invalid input raises an error and spends nothing", {
  data <- describe_people(500)
  ledger <- dp_ledger(epsilon = 2, delta = 1e-5)
  refused <- function(code, class) expect_error(code, class = paste0("dpsc_error_", class))
  refused(described(data, formula = age ~ sex, ledger = ledger), "argument")
  refused(described(data, formula = ~ age:sex, ledger = ledger), "argument")
  refused(described(data, formula = ~other, ledger = ledger), "bounds")
  refused(described(data, by = ~age, ledger = ledger), "bounds")
  refused(described(data, by = ~ arm + sex, ledger = ledger), "argument")
  refused(described(data, quantiles = 1.5, ledger = ledger), "argument")
  refused(described(data, person = "sex", ledger = ledger), "argument")
  refused(described(data["age"], ledger = ledger), "data")
  refused(described(as.matrix(data["age"]), ledger = ledger), "data")
  refused(described(data, epsilon = 1e-9, delta = 0, ledger = ledger), "argument")
  expect_identical(nrow(ledger$history), 0L)
  found <- described(data, by = ~arm, ledger = ledger)
  expect_identical(nrow(ledger$history), 1L)
  expect_true(found$privacy$holds)
})

test_that("chunks give the same description as rows in memory bit for bit, files up to 1e-12", {
  data <- describe_people(300)
  draw <- function(data) {
    withr::local_seed(3)
    described(data, by = ~arm, control = dp_control(rng = "R"))$release
  }
  whole <- draw(data)
  expect_identical(draw(dp_chunks(list(data[1:100, ], data[101:300, ]))), whole)
  skip_if_not_installed("duckdb")
  file <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(data, file, row.names = FALSE)
  expect_equal(draw(dp_files(file, compute = "here")), whole, tolerance = 1e-12)
  refusal <- expect_error(described(dp_files(file, compute = "database"), by = ~arm),
    class = "dpsc_error_argument")
  expect_match(conditionMessage(refusal), "rows")
})

test_that("a description, its print, its file and its errors contain no person's value", {
  skip_if_not_installed("jsonlite")
  withr::local_seed(8)
  data <- data.frame(x = stats::runif(300, 100, 900), g = rep(canary_mark, 300))
  path <- withr::local_tempfile(fileext = ".json")
  said <- canary_conditions({
    found <- described(data, formula = ~x, by = ~g,
      bounds = list(x = c(0, 1000), g = c("a", "b")))
    utils::capture.output(print(found), summary(found))
    write_release(found, path)
    described(data, formula = ~g, bounds = list(g = c(0, 1)))
    described(data, formula = ~x, by = ~x, bounds = list(x = c(0, 1000)))
  })
  secrets <- c(data$x, mean(data$x), sum(data$x), stats::sd(data$x), stats::quantile(data$x))
  expect_no_canary(found, secrets, "description")
  expect_no_canary(tidy(found), secrets, "table")
  expect_no_canary(readLines(path), secrets, "file")
  expect_no_canary(lapply(said, conditionMessage), secrets, "conditions")
})

test_that("quantiles of variables declared as whole numbers are whole", {
  data <- describe_people(2000)
  found <- described(data, formula = ~age, bounds = list(age = c(0L, 120L)))
  quantiles <- tidy(found)[4:6, ]
  expect_identical(quantiles$estimate, round(quantiles$estimate))
  expect_identical(quantiles$conf.high, round(quantiles$conf.high))
})

test_that("a standard deviation smaller than its noise is marked and has confidence limits", {
  data <- describe_people(500)
  found <- described(data)
  table <- dpsc:::description_table(found, 0.95)
  own <- which(table$variable == "cost" & table$statistic == "sd")
  table$estimate[own] <- table$conf.low[own] <- 0
  table$conf.high[own] <- 250
  cells <- dpsc:::description_cells(table)
  expect_identical(cells[[own]], "below the noise (0 to 250)")
  expect_false(any(startsWith(cells[-own][table$estimate[-own] != 0], "below")))
  # Without privacy a standard deviation of 0 is printed as 0.
  flat <- described(data.frame(age = rep(3, 20)), formula = ~age, epsilon = Inf)
  expect_match(capture.output(print(flat)), "age, sd +0", all = FALSE)
})

test_that("the print of a description is a table and marks results that are not private", {
  data <- describe_people(500)
  text <- capture.output(print(described(data, by = ~arm)))
  expect_match(text, "new +old", all = FALSE)
  expect_match(text, "age, median", all = FALSE)
  expect_match(text, "sex f .* %", all = FALSE)
  expect_match(text, "private: epsilon = 1", all = FALSE)
  raw <- capture.output(print(described(data, epsilon = Inf)))
  expect_match(raw, "NOT PRIVATE", all = FALSE)
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(described(data, by = ~arm)), "ggplot")
})

test_that("limits of standard deviations under heavy tails have coverage of at least 90 %", {
  # The t distribution with 2.5 degrees of freedom has no fourth moment. The standard deviation
  # refers to these bounds.
  bounds <- list(x = c(-500, 1500))
  truth <- 10.69
  covered <- vapply(1:20, function(seed) {
    x <- withr::with_seed(seed, 51.3 + 5 * stats::rt(2000, 2.5))
    table <- withr::with_seed(seed, tidy(dp_describe(~x, data.frame(x = x),
      epsilon = 1, bounds = bounds, control = dp_control(rng = "R")
    )))
    at <- table$statistic == "sd"
    table$conf.low[at] <= truth && truth <= table$conf.high[at]
  }, NA)
  expect_gte(mean(covered), 0.9)
})

test_that("the print explains why several counts of one group differ", {
  data <- describe_people(400)
  text <- function(...) paste(utils::capture.output(print(described(data, ...))), collapse = " ")
  expect_match(text(by = ~arm), "counts of the same people can differ")
  expect_no_match(text(by = ~arm, epsilon = Inf), "counts of the same people can differ")
  expect_no_match(text(formula = ~age), "counts of the same people can differ")
})

test_that("a variable's count is at most its group's released size; its limits have coverage .93", {
  runs <- if (is_audit()) 200 else 25
  inside <- vapply(seq_len(runs), function(run) {
    withr::local_seed(run)
    data <- describe_people(800, seed = run)
    # A tenth of the ages in one group are missing.
    data$age[data$arm == "new" & seq_len(800) %% 10 == 0] <- NA
    table <- tidy(described(data, by = ~arm, control = dp_control(rng = "R")))
    sizes <- table[table$variable == "arm", ]
    counts <- table[table$variable %in% c("age", "cost") & table$statistic == "n", ]
    size <- sizes[match(counts$group, sizes$group), ]
    expect_true(all(counts$estimate <= pmax(1, size$estimate)))
    expect_true(all(counts$conf.high <= size$estimate + 4 * size$std.error))
    truth <- mapply(function(variable, group) {
      sum(!is.na(data[[variable]]) & data$arm == group)
    }, counts$variable, counts$group)
    mean(counts$conf.low <= truth & truth <= counts$conf.high)
  }, 0)
  expect_gte(mean(inside), 0.93 - 2 * sqrt(0.93 * 0.07 / (4 * runs)))
})
