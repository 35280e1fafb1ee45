# weights = in dp_glm(), for case weights up to a public largest weight (proofs/glm.md, section 9).

weighted_people <- function(n = 4000, family = "binomial", seed = 3) {
  data <- glm_people(n, family, seed)
  withr::local_seed(seed + 1)
  # Weights depend on a regressor and, given this regressor, on the outcome. People with large
  # weights are fewer, and their intercept differs.
  data$w <- stats::runif(n, 0.2, 1) * ifelse(data$g == "u", 3, 1)
  data
}

weighted_bounds <- function(family = "binomial") c(glm_bounds(family), list(w = c(0, 3)))

test_that("without privacy weighted dp_glm() equals glm(), and its standard errors equal HC1", {
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- weighted_people(500, family)
    bounds <- weighted_bounds(family)
    bounds$y <- if (family == "binomial") c(0, 1) else c(if (family == "poisson") 0 else -1e4, 1e4)
    known <- suppressWarnings(stats::glm(y ~ a + b + g, family, data, weights = w))
    fit <- dp_glm(y ~ a + b + g, data, family, epsilon = Inf, bounds = bounds, weights = w)
    expect_equal(coef(fit), coef(known), tolerance = 1e-7)
    # White's errors (HC1), by formula.
    x <- stats::model.matrix(known)
    law <- if (family == "gaussian") 1 else known$family$variance(stats::fitted(known))
    bread <- solve(crossprod(x, data$w * law * x))
    score <- x * (data$w * (data$y - stats::fitted(known)))
    expect_equal(vcov(fit), bread %*% crossprod(score) %*% bread * 500 / (500 - ncol(x)),
      tolerance = 1e-5, ignore_attr = TRUE
    )
    # Only the ratios of weights matter, and a row of weight zero counts as missing.
    data$w <- 2 * data$w
    expect_equal(
      coef(dp_glm(y ~ a + b + g, data, family, epsilon = Inf, bounds = bounds, weights = w)),
      coef(known), tolerance = 1e-7
    )
    data$w[1:50] <- 0
    less <- suppressWarnings(stats::glm(y ~ a + b + g, family, data, weights = w))
    fit <- dp_glm(y ~ a + b + g, data, family, epsilon = Inf, bounds = bounds, weights = w)
    expect_equal(coef(fit), coef(less), tolerance = 1e-7)
  }
})

test_that("if all weights are at the maximum, dp_glm() gives the unweighted coefficients", {
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- glm_people(3000, family)
    data$w <- 5
    for (delta in c(1e-6, 0)) {
      bare <- seeded_glm(y ~ a + b, data, family, epsilon = 4, delta = delta,
        bounds = glm_bounds(family), intervals = FALSE)
      fit <- seeded_glm(y ~ a + b, data, family, epsilon = 4, delta = delta,
        bounds = c(glm_bounds(family), list(w = c(0, 5))), weights = w, intervals = FALSE)
      expect_identical(fit$release$theta, bare$release$theta)
      expect_null(fit$release$scores)
    }
  }
})

test_that("the private weighted intercept of dp_glm() is nearer the weighted than the plain fit", {
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- weighted_people(40000, family)
    # Outcomes differ if weights are large.
    extra <- stats::quantile(data$w, 0.6) < data$w
    data$y <- switch(family,
      binomial = as.double(data$y | extra & seq_len(40000) %% 3 == 0), poisson = data$y + 2 * extra,
      gaussian = data$y + 2 * extra
    )
    known <- dp_glm(y ~ a + b, data, family,
      epsilon = Inf, bounds = weighted_bounds(family), weights = w)
    fit <- seeded_glm(y ~ a + b, data, family,
      epsilon = 8, bounds = weighted_bounds(family), weights = w)
    expect_true(all(fit$identified))
    bare <- dp_glm(y ~ a + b, data, family, epsilon = Inf, bounds = weighted_bounds(family))
    if (family == "binomial") {
      expect_lt(max(abs(coef(fit) - coef(known)) / sqrt(diag(vcov(fit)))), 4)
    }
    expect_lt(abs(coef(fit)[[1]] - coef(known)[[1]]), abs(coef(fit)[[1]] - coef(bare)[[1]]))
  }
})

test_that("dp_glm() with weights gives sampling standard errors of the weighted estimator", {
  data <- weighted_people(60000)
  ratio <- function(...) {
    fit <- seeded_glm(y ~ a + b + g, data,
      epsilon = 20, bounds = weighted_bounds(), weights = w, ...)
    known <- dp_glm(y ~ a + b + g, data, epsilon = Inf, bounds = weighted_bounds(), weights = w)
    sqrt(diag(fit$covariance$sampling) / diag(known$covariance$sampling))
  }
  found <- ratio()
  expect_lt(max(found), 1.15)
  expect_gt(min(found), 0.9)
  # The value that the model implies for equal weights is different.
  unweighted <- seeded_glm(y ~ a + b + g, data, epsilon = 20, bounds = weighted_bounds())
  known <- dp_glm(y ~ a + b + g, data, epsilon = Inf, bounds = weighted_bounds(), weights = w)
  naive <- sqrt(diag(unweighted$covariance$sampling) / diag(known$covariance$sampling))
  expect_lt(min(naive), 0.9)
})

test_that("released coefficients of dp_glm() with weights minimise the weighted objective", {
  withr::local_seed(6)
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- glm_people(400, family)
    data$w <- stats::runif(400)
    facts <- glm_facts_of(n = 400, family = family)
    facts$design$weighted <- TRUE
    table <- cbind(glm_table_of(data, family = family), data$w)
    linear <- c(0.5, -2, 1)
    found <- solved_glm(table, facts, linear)
    rows <- found$rows
    length <- rowSums(rows$x^2)
    q <- rows$limit / sqrt(length)
    expect_equal(rows$weight, data$w * ifelse(q < 1, q^2, q), tolerance = 1e-6)
    left <- found$gradient(found$theta)
    steepest <- switch(family, binomial = 0.25, poisson = found$release$span / 2, 1)
    bend <- 400 * rows$limit^2 * steepest + found$release$ridge
    expect_lt(sqrt(sum(left^2)), bend * (found$grid * sqrt(3) + found$release$out.sd))
  }
})

# Exact densities for neighbours with the worst weights, in a fit with one column and delta = 0.
worst_weighted <- function(ridge, scale = 1) {
  withr::local_seed(4)
  b <- noise_nodes(2L, radii = 60L)
  facts <- glm_facts_of(y ~ a, n = 400, epsilon = 1, delta = 0)
  facts$design$weighted <- TRUE
  people <- data.frame(a = stats::runif(400, -20, 20), y = stats::rbinom(400, 1, 0.5))
  table <- cbind(glm_table_of(people, y ~ a), stats::runif(400))
  release <- glm_audit_cpp(table, facts, c(0, 0), "R", NULL)$release
  read <- function(data) {
    rows <- glm_rows_cpp(cbind(glm_table_of(data, y ~ a), data$w), facts, release)
    list(x = rows$x, w = rows$weight * scale, y = rows$outcome, offset = rows$offset)
  }
  worst <- max(vapply(1:40, function(i) {
    m <- sample(1:4, 1L)
    pair <- data.frame(
      a = sample(c(-20, 20, 0), m + 2L, TRUE), y = sample(0:1, m + 2L, TRUE),
      # The core cuts weights above the largest weight.
      w = sample(c(0, 0.1, 1, 1e6, -3), m + 2L, TRUE)
    )
    one <- read(pair[seq_len(m + 1L), ])
    two <- read(pair[c(seq_len(m), m + 2L), ])
    loss <- exact_loss("binomial")
    max(abs(exact_losses(one, two, loss, release$ridge * ridge, release$kappa, b)))
  }, 0))
  c(found = worst, claim = glm_plan_cpp(facts)$objective.epsilon)
}

test_that("the privacy loss between neighbours with extreme weights is within epsilon", {
  # Plants faults 76.
  found <- worst_weighted(1)
  expect_lte(found[["found"]], found[["claim"]] * (1 + 1e-6))
  expect_gt(found[["found"]], 0.6 * found[["claim"]])
  # The fault is weights that are not divided by the largest weight, so that noise for people of
  # weight one covers rows of weight three.
  found <- worst_weighted(1, 3)
  expect_gt(found[["found"]], found[["claim"]])
})

test_that("with extreme weights no step of dp_glm() but the minimiser costs more than its charge", {
  withr::local_seed(9)
  reached <- list()
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- glm_people(400, family)
    data$w <- stats::runif(400)
    top <- glm_bounds(family)$y
    for (delta in c(1e-6, 0)) {
      for (k in 1:12) {
        pair <- lapply(1:2, function(i) {
          c(
            a = sample(c(-20, 20, 3, NA), 1), b = sample(c(-5, 5, 0), 1),
            y = sample(c(top, 0), 1), w = sample(c(0, 0.3, 1, 1e6, NA), 1)
          )
        })
        one <- two <- data
        one[1L, names(pair[[1L]])] <- as.list(pair[[1L]])
        two[1L, names(pair[[2L]])] <- as.list(pair[[2L]])
        ratio <- glm_replayed(one, two, family, delta, stats::rnorm(3))
        ratio <- ratio[names(ratio) != "accuracy of the solver"]
        expect_lte(max(ratio), 1 + 1e-9)
        for (name in names(ratio)) reached[[name]] <- max(reached[[name]], ratio[[name]])
      }
    }
  }
  expect_gt(reached[["scores"]], 0.4)
  expect_gt(max(unlist(reached[grep("^moments", names(reached))])), 0.5)
})

test_that("dp_glm() clips weights to their limits; rows of weight 0 or NA count as missing", {
  data <- weighted_people(3000)
  released <- function(w, ...) {
    data$w[1:40] <- w
    seeded_glm(y ~ a + b, data, epsilon = 4, bounds = weighted_bounds(), weights = w, ...)$release
  }
  expect_identical(released(1e9), released(3))
  expect_identical(released(Inf), released(3))
  expect_identical(released(-5), released(0))
  data$keep <- seq_len(3000) > 40
  expect_identical(released(NA), released(1, subset = keep))
  expect_identical(released(0), released(1, subset = keep))
})

test_that("dp_glm() refuses invalid weights before the charge", {
  data <- weighted_people(3000)
  ledger <- dp_ledger(4, 1e-6)
  refused <- function(..., class = "argument") {
    expect_error(
      dp_glm(y ~ a + b, data, "binomial", epsilon = 1, bounds = glm_bounds(), ledger = ledger, ...),
      class = paste0("dpsc_error_", class)
    )
  }
  refused(weights = w)
  refused(max_weight = 3)
  refused(weights = w, max_weight = 0)
  refused(weights = w, max_weight = -1)
  refused(weights = elsewhere, max_weight = 1)
  refused(weights = 3, max_weight = 3)
  refused(weights = scale(w), max_weight = 3)
  refused(weights = w, max_weight = 3, penalty = list(ridge = 0.1))
  for (method in setdiff(names(mechanism_table$dp_glm), "objective")) {
    refused(weights = w, max_weight = 3, method = method)
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("weighted dp_glm() gives the same fit in chunks, in a database and with `person`", {
  data <- weighted_people(3000)
  fit <- function(data, ...) {
    seeded_glm(y ~ a + b, data, epsilon = 4, bounds = weighted_bounds(), weights = w, ...)
  }
  here <- fit(data)
  parts <- split(data, rep(1:3, each = 1000))
  expect_identical(fit(dp_chunks(function(i) parts[[i]], 3))$release, here$release)
  # One row per person gives the same result.
  data$id <- seq_len(3000)
  each <- fit(data, person = ~id)
  expect_equal(each$release$theta, here$release$theta, tolerance = 1e-6)
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "people", data)
  expect_identical(fit(dp_table(con, "people"))$release, here$release)
})

test_that("dp_glm() with weights clusters standard errors by person", {
  withr::local_seed(12)
  data <- weighted_people(20000)
  data$w <- 3
  twice <- rbind(data, data)
  twice$id <- rep(seq_len(20000), 2)
  fit <- function(data, ...) {
    seeded_glm(y ~ a + b, data, epsilon = 20, bounds = weighted_bounds(), weights = w, ...)
  }
  one <- fit(data)
  copied <- fit(twice, person = ~id)
  expect_equal(diag(copied$covariance$sampling), diag(one$covariance$sampling), tolerance = 0.15)
  # If the two rows of a person come from two people, each person contributes twice the information.
  data$id <- rep(seq_len(10000), 2)
  apart <- fit(data, person = ~id)
  expect_equal(diag(apart$covariance$sampling), diag(one$covariance$sampling), tolerance = 0.15)
  expect_no_match(paste(report(apart), collapse = " "), "copies")
  expect_no_match(paste(utils::capture.output(print(apart)), collapse = " "), "copies")
})

test_that("prints, reports and files contain the largest weight; pdp() refuses weighted fits", {
  data <- weighted_people(20000)
  fit <- seeded_glm(y ~ a + b, data, epsilon = 2, bounds = weighted_bounds(), weights = w)
  expect_output(print(fit), "y ~ a + b, weights up to 3", fixed = TRUE)
  expect_match(paste(report(fit), collapse = " "), "weights up to 3", fixed = TRUE)
  expect_true("scores" %in% fit$privacy$steps$step)
  path <- withr::local_tempfile()
  write_release(fit, path, allow_not_private = TRUE)
  again <- suppressWarnings(read_release(path))
  expect_equal(coef(again), coef(fit))
  expect_equal(vcov(again), vcov(fit))
  expect_identical(again$public$max_weight, 3)
  # The weight is a function of the row.
  named <- seeded_glm(y ~ a + b, data, epsilon = 2, bounds = weighted_bounds(), weights = w / 2,
    max_weight = 1.5)
  expect_identical(named$release$theta, fit$release$theta)
  expect_error(pdp(fit, data), "weights", class = "dpsc_error_argument")
  expect_error(dp_glm(y ~ a + b, data, epsilon = 2, bounds = weighted_bounds(), weights = ~w),
    "weights = w", fixed = TRUE, class = "dpsc_error_argument")
  bounded <- seeded_glm(y ~ a + b, data, epsilon = 2, bounds = weighted_bounds(), weights = w,
    constraints = list(lower = c(a = 0)))
  expect_gte(coef(bounded)[["a"]], 0)
})
