# Further results of dp_lm(): sandwich errors, weights, chunks, paths, JSON.

heteroskedastic <- function(n, seed = 8) {
  withr::local_seed(seed)
  data <- data.frame(a = stats::rnorm(n), b = stats::rnorm(n))
  data$y <- 1 + data$a - 0.5 * data$b + (0.3 + 0.9 * abs(data$a)) * stats::rnorm(n)
  data
}
wide <- function(names, half = 20) stats::setNames(rep(list(c(-half, half)), length(names)), names)

test_that("sandwich standard errors equal White's without privacy and are close with privacy", {
  data <- heteroskedastic(20000)
  ols <- stats::lm(y ~ a + b, data)
  x <- stats::model.matrix(ols)
  bread <- solve(crossprod(x))
  white <- bread %*% crossprod(x * stats::residuals(ols)) %*% bread * 20000 / (20000 - 3)
  bounds <- wide(names(data))
  raw <- dp_lm(y ~ a + b, data, epsilon = Inf, bounds = bounds, vcov = "HC")
  expect_equal(vcov(raw), white, tolerance = 1e-8)
  fit <- seeded_lm(y ~ a + b, data, epsilon = 4, bounds = bounds, vcov = "HC")
  own <- sqrt(diag(vcov(fit, "sampling")))
  expect_equal(own, sqrt(diag(white)), tolerance = 0.15)
  # Errors that assume one variance would be far too small for a.
  expect_gt(white["a", "a"] / vcov(ols)["a", "a"], 1.8)
  expect_output(print(summary(fit)), "heteroskedasticity-robust")
  part <- update(fit, . ~ . - b)
  expect_output(print(part), "assume a constant variance")
})

test_that("dp_lm() refuses a column of dates before the charge", {
  data <- heteroskedastic(300)
  data$day <- as.Date("2024-01-01") + 1:300
  ledger <- dp_ledger(1, 1e-6)
  fit <- function(verb, formula, outcome = c(-20, 20), ...) {
    verb(formula, data, ...,
      epsilon = 1, ledger = ledger,
      bounds = list(y = outcome, a = c(-20, 20), b = c(-20, 20), day = c(0, 1))
    )
  }
  expect_error(fit(dp_lm, y ~ day), "days since a public date", class = "dpsc_error_data")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("dp_lm() gives the same fit from 64-bit integers as from doubles", {
  skip_if_not_installed("bit64")
  data <- heteroskedastic(2000)
  data$b <- round(4 * data$b)
  long <- replace(data, "b", list(bit64::as.integer64(data$b)))
  bounds <- wide(names(data))
  fit <- function(data, ...) seeded_lm(y ~ a + b, data, epsilon = 4, bounds = bounds, ...)
  expect_identical(fit(long), fit(data))
  expect_identical(fit(long, subset = b > 0), fit(data, subset = b > 0))
})

test_that("sandwich errors take a tenth of dp_lm()'s budget and leave its total unchanged", {
  data <- heteroskedastic(3000)
  bounds <- wide(names(data))
  for (delta in c(1e-6, 0)) {
    plain <- seeded_lm(y ~ a, data, epsilon = 8, delta = delta, bounds = bounds)
    paid <- seeded_lm(y ~ a, data, epsilon = 8, delta = delta, bounds = bounds, vcov = "HC")
    cost <- function(fit) if (delta > 0) fit$privacy$steps$mu^2 else fit$privacy$steps$epsilon
    expect_equal(sum(cost(paid)), sum(cost(plain)), tolerance = 0.01)
    last <- nrow(paid$privacy$steps)
    expect_identical(paid$privacy$steps$step[[last]], "scores")
    expect_equal(cost(paid)[[last]] / sum(cost(paid)), 0.1, tolerance = 0.02)
    expect_null(plain$release$scores)
  }
})

test_that("the scores of the worst rows of dp_lm() stay within their limit", {
  withr::local_seed(4)
  facts <- c(lm_facts_of(y ~ a + b + g, n = 2000), list(scores = TRUE))
  p <- length(facts$design$columns)
  plan <- lm_plan_cpp(facts)
  round <- plan$rounds[[length(plan$rounds)]]
  direction <- matrix(stats::rnorm(500 * p), 500)
  w <- trunc(direction / sqrt(rowSums(direction^2)) * round$limit)
  u <- cbind(w, sample(c(-1, 1), 500, TRUE) * round$residual_limit, round$constant)
  made <- lm_score_rows_cpp(u, facts)
  long <- rowSums(made$scores^2)
  expect_true(all(made$scores == round(made$scores)))
  expect_true(all(long <= made$limit^2))
  expect_gt(max(long), 0.98 * made$limit^2)
  inner <- tcrossprod(made$scores)
  moved <- sqrt(max(outer(long^2, long^2, `+`) - 2 * inner^2))
  expect_lte(moved, sqrt(2) * made$limit^2)
})

test_that("the steps of dp_lm() for counts and for scores cost no more than declared", {
  withr::local_seed(9)
  data <- lm_people(4000)
  reached <- c(rows = 0, scores = 0)
  for (delta in c(1e-6, 0)) {
    facts <- c(lm_facts_of(n = 4000, epsilon = 8, delta = delta), list(scores = TRUE))
    declared <- lm_plan_cpp(facts)$steps
    at <- match(c("rows that count, residuals far off", "scores"), declared$step)
    expect_false(anyNA(at))
    # A person who changes from a missing row to an outlier changes both counts.
    pairs <- list(
      list(c(a = NA, b = 0, y = 0), c(a = 3, b = 2, y = 30)),
      list(c(a = 20, b = 5, y = 30), c(a = -20, b = 5, y = 30)),
      list(c(a = 20, b = 0, y = -30), c(a = 3, b = 5, y = 30))
    )
    for (pair in pairs) {
      one <- two <- data
      one[1L, c("a", "b", "y")] <- as.list(pair[[1L]])
      two[1L, c("a", "b", "y")] <- as.list(pair[[2L]])
      first <- lm_audit_cpp(lm_rows(one), facts, "R", NULL)
      second <- lm_audit_cpp(
        lm_rows(two), facts, "R", lapply(first$calls, `[[`, "output")
      )
      cost <- mapply(function(a, b) {
        d <- b$value - a$value
        if (delta > 0) sqrt(sum(d^2 / (a$scale - 16))) else sum(abs(d) / a$scale)
      }, first$calls[at], second$calls[at])
      cost <- cost / (if (delta > 0) declared$mu else declared$epsilon)[at]
      expect_lte(max(cost), 1 + 1e-9)
      reached <- pmax(reached, cost)
    }
  }
  expect_gt(reached[["rows"]], 0.99)
  expect_gt(reached[["scores"]], 0.5)
})

test_that("weighted dp_lm() equals weighted lm() without privacy and is close with privacy", {
  data <- lm_people(20000)
  withr::local_seed(2)
  data$weight <- sample(c(0, 0.5, 1, 2, 5), 20000, TRUE)
  ols <- stats::lm(y ~ a + b, data, weights = weight)
  raw <- dp_lm(y ~ a + b, data, epsilon = Inf, bounds = lm_bounds(), weights = weight)
  expect_equal(coef(raw), coef(ols), tolerance = 1e-8)
  expect_equal(vcov(raw), vcov(ols), tolerance = 1e-8)
  expect_equal(sigma(raw), sigma(ols), tolerance = 1e-8)
  fit <- seeded_lm(y ~ a + b, data,
    epsilon = 50, bounds = lm_bounds(), weights = weight, max_weight = 5
  )
  expect_lt(max(abs(coef(fit) - coef(ols)) / sqrt(diag(vcov(ols)))), 2)
  expect_equal(sqrt(diag(vcov(fit, "sampling"))), sqrt(diag(vcov(ols))), tolerance = 0.1)
  expect_equal(sigma(fit), sigma(ols), tolerance = 0.1)
  bounded <- c(lm_bounds(), list(weight = c(0, 5)))
  again <- seeded_lm(y ~ a + b, data, epsilon = 50, bounds = bounded, weights = weight)
  expect_identical(coef(again), coef(fit))
  # The weights are above the largest weight, below zero, or missing.
  odd <- data
  odd$weight[1:4] <- c(1e9, -3, NA, Inf)
  expect_true(all(is.finite(coef(seeded_lm(y ~ a + b, odd,
    epsilon = 1, bounds = lm_bounds(), weights = weight, max_weight = 5
  )))))
  expect_error(dp_lm(y ~ a, data, epsilon = 1, bounds = lm_bounds(), weights = weight),
    class = "dpsc_error_argument"
  )
  expect_error(dp_lm(y ~ a, data, epsilon = 1, bounds = lm_bounds(), weights = nothing,
    max_weight = 1
  ), class = "dpsc_error_argument")
  expect_error(dp_lm(y ~ a, data, epsilon = 1, bounds = lm_bounds(), weights = weight / sum(weight),
    max_weight = 1
  ), class = "dpsc_error_argument")
})

test_that("weighted rows of dp_lm() are within their declared limits", {
  data <- lm_people(500)
  columns <- lm_columns(y ~ a + b, lm_bounds())
  columns$weighted <- TRUE
  facts <- list(n = 500, epsilon = 1, delta = 1e-6, design = lm_design(columns))
  table <- cbind(lm_table(columns, data, TRUE), seq(-1, 3, length.out = 500))
  table[7L, 4L] <- NaN
  release <- lm_audit_cpp(table, facts, "R", NULL)$release
  made <- lm_rows_cpp(table, facts, release, 1L)
  u <- made$rows
  expect_true(all(rowSums(u[, 1:2]^2) <= made$limit^2))
  expect_true(all(u[, 4L] >= 0 & u[, 4L] <= made$constant))
  expect_true(all(u[table[, 4L] <= 0 | is.nan(table[, 4L]), ] == 0))
  # Rows whose weight is cut count with the largest weight.
  expect_identical(made$constant, max(u[, 4L]))
})

test_that("chunks of rows and one data frame give identical fits by dp_lm()", {
  data <- lm_people(3000)
  data$weight <- rep(1:3, 1000)
  blocks <- split(data, rep(1:3, c(1000, 1, 1999)))
  fit <- function(x) {
    seeded_lm(y ~ a + g + log(abs(b) + 1), x,
      epsilon = 4, bounds = lm_bounds(), subset = a > 2, weights = weight, max_weight = 3,
      vcov = "HC"
    )
  }
  whole <- fit(data)
  expect_identical(fit(dp_chunks(unname(blocks))), whole)
  read <- 0
  reader <- dp_chunks(function(i) {
    read <<- read + 1
    blocks[[i]]
  }, count = 3)
  expect_identical(fit(reader), whole)
  expect_gt(read, 20)
  changing <- dp_chunks(function(i) {
    read <<- read + 1
    data[sample(3000, 1000), ]
  }, count = 3)
  ledger <- dp_ledger(5, 1e-6)
  expect_error(
    dp_lm(y ~ a, changing, epsilon = 1, bounds = lm_bounds(), ledger = ledger),
    class = "dpsc_error_reader"
  )
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_error(dp_lm(y ~ a, dp_chunks(list(as.matrix(1:3))), epsilon = 1, bounds = lm_bounds()),
    class = "dpsc_error_data"
  )
})

test_that("lm_path() gives optimal penalised slopes and, at penalty 0, the fit's slopes", {
  withr::local_seed(11)
  n <- 30000
  data <- as.data.frame(matrix(stats::rnorm(n * 6), n))
  data$y <- 2 * data$V1 - data$V2 + stats::rnorm(n)
  raw <- dp_lm(y ~ ., data, epsilon = Inf, bounds = wide(names(data)))
  none <- lm_path(raw, penalties = c(1, 0))
  expect_equal(coef(none, 0), coef(raw), tolerance = 1e-6)
  # The optimality conditions are for columns of variance one.
  x <- scale(as.matrix(data[1:6])) * sqrt(n / (n - 1))
  for (alpha in c(1, 0.5, 0)) {
    b <- coef(lm_path(raw, alpha, penalties = 0.2))[-1L] * attr(x, "scaled:scale") *
      sqrt((n - 1) / n)
    g <- drop(crossprod(x, data$y - mean(data$y) - x %*% b)) / n - 0.2 * (1 - alpha) * b
    expect_equal(g[b != 0], 0.2 * alpha * sign(b[b != 0]), tolerance = 1e-6, ignore_attr = TRUE)
    expect_true(all(abs(g[b == 0]) <= 0.2 * alpha * (1 + 1e-8)))
  }
  fit <- seeded_lm(y ~ ., data, epsilon = 1, bounds = wide(names(data)))
  lasso <- lm_path(fit)
  expect_identical(lasso$path$df[[1L]], 0)
  expect_true(all(coef(lasso)[c("V1", "V2")] != 0))
  expect_equal(coef(lasso)[["V1"]], 2, tolerance = 0.05)
  near <- lm_path(fit, penalties = 0)
  expect_equal(coef(near), coef(fit), tolerance = 0.02)
  part <- lm_path(update(fit, . ~ . - V1))
  expect_named(coef(part), c("(Intercept)", paste0("V", 2:6)))
  expect_output(print(lasso), "Lasso")
  expect_length(grep("(Intercept)", utils::capture.output(print(lasso)), fixed = TRUE), 1L)
  table <- as.data.frame(lasso)
  expect_identical(table$cp, lasso$path$cp)
  expect_identical(table[lasso$best, names(coef(lasso))], as.data.frame(as.list(coef(lasso)),
    check.names = FALSE, row.names = lasso$best
  ))
  long <- tidy(lasso)
  expect_identical(long$estimate[long$term == "V1"], table$V1)
  expect_identical(long$penalty[long$term == "V2"], table$penalty)
  expect_error(lm_path(1), class = "dpsc_error_argument")
  expect_error(lm_path(fit, penalties = -1), class = "dpsc_error_argument")
})

test_that("a fit by dp_lm() is read back from JSON unchanged, and damage is detected", {
  skip_if_not_installed("jsonlite")
  data <- lm_people(3000)
  data$code <- rep(c(1, 2, 5), 1000)
  bounds <- c(lm_bounds(), list(code = c(1, 2, 5)))
  fit <- dp_lm(y ~ a * g + I(b^2) + s + factor(code), data,
    epsilon = 2, bounds = bounds, vcov = "HC", weights = code, max_weight = 5
  )
  path <- withr::local_tempfile(fileext = ".json")
  for (one in list(fit, update(fit, . ~ . - s))) {
    write_release(one, path)
    expect_identical(read_release(path), one)
  }
  for (value in c(data$a[1:50], data$y[1:50])) {
    expect_false(any(grepl(format(value, digits = 10), readLines(path), fixed = TRUE)))
  }
  text <- paste(readLines(path), collapse = "\n")
  damaged <- function(from, to) {
    changed <- sub(from, to, text)
    expect_false(identical(changed, text))
    writeLines(changed, path)
    mark_anew(path)
    expect_error(read_release(path), class = "dpsc_error_release")
  }
  content <- jsonlite::fromJSON(path, simplifyVector = FALSE)
  edit <- function(change) {
    jsonlite::write_json(change(content), path, auto_unbox = TRUE, digits = NA, null = "null")
    mark_anew(path)
    expect_error(read_release(path), class = "dpsc_error_release")
  }
  at <- function(name) match(name, unlist(content$release$names))
  edit(function(x) {
    x$release$values[[at("n")]]$values[[1L]] <- 6000L
    x
  })
  edit(function(x) {
    x$release$values[[at("formula")]]$values[[1L]] <- "y ~ system('true')"
    x
  })
  edit(function(x) {
    x$release$values[[at("vcov")]]$values[[1L]] <- "const"
    x
  })
  edit(function(x) {
    x$version <- 9
    x
  })
  damaged('"epsilon", *"delta", *"rho"', '"epsilon", "delta", "tape"')
  seeded <- seeded_lm(y ~ a, data, epsilon = 1, bounds = bounds)
  expect_error(write_release(seeded, path), class = "dpsc_error_release")
  write_release(seeded, path, allow_not_private = TRUE)
  expect_identical(read_release(path), seeded)
  raw <- dp_lm(y ~ a, data, epsilon = Inf, bounds = bounds)
  write_release(raw, path, allow_not_private = TRUE)
  expect_identical(read_release(path), raw)
})

test_that("edited moments or standard deviations contradict later rounds of a dp_lm() release", {
  facts <- lm_facts_of(n = 3000)
  release <- lm_audit_cpp(lm_rows(lm_people(3000)), facts, "R", NULL)$release
  expect_lt(lm_discrepancy_cpp(release, facts), 1e-12)
  for (round in 1:3) {
    other <- release
    other$rounds[[round]]$cross[[1L]] <- other$rounds[[round]]$cross[[1L]] + 0.01
    expect_gt(lm_discrepancy_cpp(other, facts), 1e-5)
    other <- release
    other$rounds[[round]]$sd <- other$rounds[[round]]$sd * 0.99
    expect_gt(lm_discrepancy_cpp(other, facts), 1e-3)
  }
})

test_that("released counts of rows and of outlying residuals are close to the truth", {
  data <- lm_people(20000)
  data$a[1:4000] <- NA
  fit <- seeded_lm(y ~ a + b, data, epsilon = 1, bounds = lm_bounds())
  facts <- glance(fit)
  expect_equal(facts$used, 16000, tolerance = 0.03)
  # In a normal distribution 0.3 % of the values lie beyond three standard deviations.
  expect_lt(facts$far, 0.015)
  expect_output(print(summary(fit)), "beyond three standard deviations: 0")
  expect_no_match(paste(capture.output(print(fit)), collapse = " "), "robust\\s+regression")
  # With more people, a smaller share of outliers can shift a slope by a standard error.
  fit$release$counts[] <- c(16000, 0.013 * 16000, 30)
  expect_match(robust_words(fit), "About 1.3 %.*robust regression.*R-squared is larger")
  fit$release$counts[] <- c(1600, 0.013 * 1600, 3)
  expect_null(robust_words(fit))
  few <- seeded_lm(y ~ a, lm_people(450), epsilon = 1, bounds = lm_bounds())
  expect_true(is.na(glance(few)$used))
})

test_that("bounded Anderson-Rubin limits of unresolved slopes cover at least 93 %", {
  withr::local_seed(12)
  inside <- bounded <- 0
  for (k in 1:30) {
    n <- 1000
    data <- data.frame(matrix(stats::rnorm(n * 5), n))
    data$y <- drop(as.matrix(data) %*% rep(0.3, 5)) + stats::rnorm(n)
    fit <- suppressWarnings(dp_lm(y ~ ., data,
      epsilon = 1, bounds = wide(names(data), 30), control = dp_control(rng = "R")
    ))
    limits <- lm_anderson_cpp(fit$release, lm_design(fit$columns), n, stats::qchisq(0.95, 1))
    ended <- is.finite(limits[, 1L])
    bounded <- bounded + sum(ended)
    inside <- inside + sum((limits[, 1L] < 0.3 & 0.3 < limits[, 2L])[ended])
  }
  expect_gt(bounded, 30)
  expect_gte(inside / bounded, 0.93)
  # Limits are wider at a higher level. They are close to the usual interval of the estimate if the
  # curvature is well known.
  strong <- seeded_lm(y ~ a + b, lm_people(20000), epsilon = 4, bounds = lm_bounds())
  design <- lm_design(strong$columns)
  limits <- lm_anderson_cpp(strong$release, design, 20000, stats::qchisq(0.95, 1))
  wider <- lm_anderson_cpp(strong$release, design, 20000, stats::qchisq(0.99, 1))
  expect_true(all(wider[, 1L] < limits[, 1L] & wider[, 2L] > limits[, 2L]))
  expect_equal(limits[, 1:2], unname(confint(strong)[-1L, ]), tolerance = 0.05)
  # The test of 0 agrees with the limits at every level.
  statistic <- limits[, 3L]
  for (shift in c(0.999, 1.001)) {
    at <- vapply(seq_along(statistic), function(j) {
      ends <- lm_anderson_cpp(strong$release, design, 20000, shift * statistic[[j]])[j, 1:2]
      ends[[1L]] <= 0 && 0 <= ends[[2L]]
    }, NA)
    expect_true(all(at == (shift > 1)))
  }
})

test_that("with gross outliers print(), summary() and report() mention robust regression", {
  data <- lm_people(20000)
  data$y[1:1000] <- 25
  fit <- seeded_lm(y ~ a + b, data, epsilon = 1, bounds = lm_bounds())
  expect_equal(glance(fit)$far, 0.05, tolerance = 0.2)
  expect_output(print(fit), "robust\\s+regression")
  expect_output(print(summary(fit)), "robust\\s+regression")
  expect_output(print(report(fit)), "robust\\s+regression")
})

test_that("the print of a weighted regression states its weights", {
  data <- withr::with_seed(2, data.frame(a = stats::runif(300), y = stats::runif(300), w = 1))
  bounds <- list(a = c(0, 1), y = c(0, 1), w = c(0, 1))
  fit <- dp_lm(y ~ a, data, epsilon = 4, bounds = bounds, weights = w)
  expect_match(paste(utils::capture.output(print(fit)), collapse = " "), "y ~ a, weights up to 1")
  expect_match(paste(utils::capture.output(summary(fit)), collapse = " "), "weights up to 1")
  bare <- dp_lm(y ~ a, data, epsilon = 4, bounds = bounds[1:2])
  expect_no_match(paste(utils::capture.output(print(bare)), collapse = " "), "weights")
})

test_that("dp_lm() keeps wide clips for skewed, not normal errors; intercepts are within 2 SEs", {
  fit_to <- function(errors, seed) {
    data <- withr::with_seed(seed, {
      d <- data.frame(a = stats::rnorm(20000), b = stats::rnorm(20000))
      transform(d, y = 1 + 0.5 * a - 0.5 * b + errors(20000))
    })
    fit <- suppressWarnings(withr::with_seed(seed, dp_lm(y ~ a + b, data,
      epsilon = 1, delta = 1e-6,
      bounds = list(y = c(-30, 30), a = c(-5, 5), b = c(-5, 5)),
      control = dp_control(rng = "R")
    )))
    raw <- stats::lm(y ~ a + b, data)
    list(
      clips = vapply(fit$release$rounds, `[[`, 0, "clip"),
      error = (coef(fit) - coef(raw)) / sqrt(diag(vcov(raw))),
      privacy = sqrt(diag(vcov(fit, "privacy")) / diag(vcov(raw)))
    )
  }
  skewed <- lapply(1:4, function(seed) fit_to(function(n) stats::rgamma(n, 1), seed))
  plain <- lapply(1:4, function(seed) fit_to(stats::rnorm, seed))
  stays <- function(x) x$clips[[5L]] > 1.3 * x$clips[[2L]]
  expect_true(all(vapply(skewed, stays, NA)))
  expect_false(any(vapply(plain, stays, NA)))
  own <- vapply(skewed, function(x) abs(x$error[[1L]]) / x$privacy[[1L]], 0)
  expect_lt(max(own), 2)
  # The intervals contain an allowance for skewed errors that noise may hide.
  normal <- vapply(plain, function(x) x$privacy[[1L]], 0)
  expect_lt(stats::median(normal), 1.1)
  expect_lt(max(normal), 1.7)
})

test_that("in dp_lm() a two-valued number's SE is less than 1.3 times the SE of a logical column", {
  error <- function(seed, bounds) {
    withr::local_seed(seed)
    v <- stats::rbinom(20000, 1, 0.09)
    fit <- suppressWarnings(dp_lm(y ~ v, data.frame(y = 1 + v + stats::rnorm(20000), v),
      epsilon = 1, bounds = list(y = c(-20, 20), v = bounds), control = dp_control(rng = "R")
    ))
    sqrt(diag(vcov(fit)))[[2L]]
  }
  typical <- function(bounds) stats::median(vapply(1:3, error, 0, bounds = bounds))
  declared <- typical(c(FALSE, TRUE))
  expect_lt(typical(c(0, 1)), 1.2 * declared)
  # The same limit applies if the bounds do not show the two values.
  expect_lt(typical(c(-1, 2)), 1.3 * declared)
})

test_that("dp_lm() identifies more than 70 % of five slopes from 500 people at epsilon = 1", {
  withr::local_seed(3)
  bounds <- stats::setNames(rep(list(c(-9, 9)), 6), c("y", paste0("x", 1:5)))
  fits <- replicate(40, {
    x <- matrix(stats::rnorm(2500), 500, dimnames = list(NULL, paste0("x", 1:5)))
    slopes <- c(0.5, -0.3, 0.2, 0.2, -0.1)
    data <- data.frame(y = drop(x %*% slopes) + 0.7 * stats::rnorm(500), x)
    fit <- suppressWarnings(
      dp_lm(y ~ ., data, 1, 1e-6, bounds, control = dp_control(rng = "R"))
    )
    errors <- (coef(fit)[-1] - slopes) / (0.7 / sqrt(500))
    inside <- abs(coef(fit)[-1] - slopes) < 1.96 * sqrt(diag(vcov(fit))[-1])
    c(sqrt(mean(errors^2)), mean(fit$identified[-1]), mean(inside))
  })
  # Coarse cells for medians and a long first radius had an error of 7.9 standard errors, with 4 %
  # of the slopes identified.
  expect_lt(stats::median(fits[1, ]), 5)
  expect_gt(mean(fits[2, ]), 0.7)
  expect_gt(mean(fits[3, ]), 0.9)
})

test_that("a 0/1 number keeps its slope where medians are found in few cells", {
  # With a scale near zero the slope was -9 to 30 for .3.
  slopes <- vapply(1:10, function(i) {
    withr::local_seed(i)
    n <- 900
    d <- data.frame(x = stats::rnorm(n), g = stats::rbinom(n, 1, 0.2))
    d$v <- d$x + 0.3 * d$g + stats::rnorm(n)
    fit <- suppressWarnings(dp_lm(v ~ x + g, d,
      epsilon = 1, bounds = list(x = c(-10, 10), g = c(0, 1), v = c(-20, 20)),
      control = dp_control(rng = "R")
    ))
    stats::coef(fit)[["g"]]
  }, 0)
  expect_lt(max(abs(slopes - 0.3)), 2)
})
