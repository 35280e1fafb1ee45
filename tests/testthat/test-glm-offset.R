# offset = in dp_glm(), for a known part of each person's linear predictor (proofs/glm.md, section
# 8).

offset_people <- function(n = 4000, family = "poisson", seed = 3) {
  withr::local_seed(seed)
  data <- data.frame(
    a = stats::rnorm(n, 3), b = stats::runif(n, -2, 2), years = exp(stats::runif(n, -1.5, 1.5))
  )
  eta <- -1 + 0.5 * data$a - 0.7 * data$b + log(data$years)
  data$y <- switch(family,
    binomial = as.double(stats::runif(n) < stats::plogis(eta)),
    poisson = stats::rpois(n, exp(eta)), gaussian = eta + stats::rnorm(n)
  )
  data
}

offset_bounds <- function(family = "poisson") {
  c(glm_bounds(family)[c("y", "a", "b")], list(years = c(0.05, 20)))
}

offset_glm <- function(data, family = "poisson", epsilon = 4, formula = y ~ a + b, ...) {
  seeded_glm(formula, data, family,
    epsilon = epsilon, bounds = offset_bounds(family), offset = ~ log(years), ...
  )
}

test_that("without privacy dp_glm() with an offset equals glm() with this offset", {
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- offset_people(500, family)
    wide <- c(glm_bounds(family)[c("a", "b")], list(years = c(0.05, 20)))
    wide$y <- switch(family, binomial = c(0, 1), c(-1e4, 1e4))
    if (family == "poisson") wide$y <- c(0, 1e4)
    known <- stats::glm(y ~ a + b, family, data, offset = log(years))
    fit <- dp_glm(y ~ ., data, family, epsilon = Inf, bounds = wide, offset = ~ log(years))
    expect_named(coef(fit), names(coef(known)))
    expect_equal(coef(fit), coef(known), tolerance = 1e-8)
    expect_equal(vcov(fit), if (family == "poisson") robust_vcov(known) else stats::vcov(known),
      tolerance = 1e-6, ignore_attr = TRUE
    )
    expect_equal(
      predict(fit, data[1:9, ], type = "response"),
      stats::predict(known, data[1:9, ], type = "response"), tolerance = 1e-8
    )
    # Limits are given by a column's name, also for a column that is a regressor.
    data$log_years <- log(data$years)
    wide$years <- NULL
    wide$log_years <- c(-5, 5)
    named <- dp_glm(y ~ a + b, data, family, epsilon = Inf, bounds = wide, offset = "log_years")
    expect_equal(coef(named), coef(known), tolerance = 1e-8)
    both <- dp_glm(y ~ a + log_years, data, family,
      epsilon = Inf, bounds = wide, offset = ~log_years
    )
    known <- stats::glm(y ~ a + log_years, family, data, offset = log_years)
    expect_equal(coef(both), coef(known), tolerance = 1e-8)
  }
})

test_that("a private fit by dp_glm() with an offset is close to the fit by glm()", {
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- offset_people(20000, family)
    known <- stats::glm(y ~ a + b, family, data, offset = log(years))
    fit <- offset_glm(data, family)
    expect_true(all(fit$identified))
    expect_lt(max(abs(coef(fit) - coef(known)) / sqrt(diag(vcov(fit)))), 4)
    # A fit without the offset has large errors, or another intercept.
    bare <- stats::glm(y ~ a + b, family, data)
    far <- function(of) sum(abs(predict(fit, data[1:50, ]) - stats::predict(of, data[1:50, ])))
    expect_lt(far(known), far(bare))
    rates <- predict(fit, transform(data[1:3, ], years = 2)) -
      predict(fit, transform(data[1:3, ], years = 1))
    expect_equal(unname(rates), rep(log(2), 3), tolerance = 1e-10)
    expect_equal(generics::augment(fit, data[1:3, ])$.fitted,
      unname(predict(fit, data[1:3, ], type = "response")))
  }
})

test_that("dp_glm() minimises its objective for limits of an offset from 1 to 1e6", {
  for (family in c("binomial", "poisson", "gaussian")) {
    for (reach in c(1, 1e3, 1e6)) {
      data <- offset_people(400, family)
      data$o <- stats::runif(400, -reach, reach)
      bounds <- c(glm_bounds(family)[c("y", "a", "b")], list(o = c(-reach, reach)))
      columns <- lm_columns(y ~ a + b, bounds, glm_families[[family]]$outcome, quote(o))
      facts <- glm_facts_of(n = 400, family = family)
      facts$design <- lm_design(columns)
      facts$offset <- columns$offset$at
      linear <- c(0.5, -2, 1)
      found <- solved_glm(lm_table(columns, data, TRUE), facts, linear)
      rows <- found$rows
      expect_gt(stats::sd(rows$offset), 0)
      slope <- found$loss$slope(drop(rows$x %*% found$theta) + rows$offset, rows$outcome)
      left <- colSums(rows$weight * slope * rows$x) + found$release$ridge * found$theta +
        found$release$kappa * linear
      # The bound covers the rounding on the grid, and the tolerance that the solver's noise covers.
      steepest <- switch(family, binomial = 0.25, poisson = found$release$span / 2, 1)
      bend <- 400 * rows$limit^2 * steepest + found$release$ridge
      near <- found$grid * sqrt(3) + found$release$out.sd
      expect_lt(sqrt(sum(left^2)), bend * near)
      unit <- if (family == "gaussian") {
        facts$design$half[[4L]] * found$release$scale[[4L]]
      } else {
        1
      }
      middle <- found$release$median[[3L]] * reach
      expect_equal(rows$offset, (data$o - middle) / unit, tolerance = 1e-4)
    }
  }
})

test_that("the privacy loss between neighbours with extreme offsets is within epsilon", {
  withr::local_seed(4)
  b <- noise_nodes(2L, radii = 60L)
  bounds <- list(y = c(0, 1), a = c(-1, 1), o = c(-30, 30))
  columns <- lm_columns(y ~ a, bounds, glm_families$binomial$outcome, quote(o))
  facts <- glm_facts_of(y ~ a, n = 400, epsilon = 1, delta = 0)
  facts$design <- lm_design(columns)
  facts$offset <- columns$offset$at
  people <- data.frame(a = stats::runif(400, -1, 1), o = 0, y = stats::rbinom(400, 1, 0.5))
  release <- glm_audit_cpp(lm_table(columns, people, TRUE), facts, c(0, 0), "R", NULL)$release
  claim <- glm_plan_cpp(facts)$objective.epsilon
  read <- function(data) {
    rows <- glm_rows_cpp(lm_table(columns, data, TRUE), facts, release)
    list(x = rows$x, w = rows$weight, y = rows$outcome, offset = rows$offset)
  }
  worst <- function(ridge) {
    max(vapply(seq_len(if (is_audit()) 40 else 20), function(i) {
      m <- sample(1:4, 1L)
      pair <- data.frame(
        a = sample(c(-1, 1, 0), m + 2L, TRUE), o = sample(c(-30, 0, 30), m + 2L, TRUE),
        y = sample(0:1, m + 2L, TRUE)
      )
      one <- read(pair[seq_len(m + 1L), ])
      two <- read(pair[c(seq_len(m), m + 2L), ])
      expect_identical(one$offset[seq_len(m)], two$offset[seq_len(m)])
      max(abs(exact_losses(one, two, exact_loss("binomial"), ridge, release$kappa, b)))
    }, 0))
  }
  found <- worst(release$ridge)
  expect_lte(found, claim * (1 + 1e-6))
  expect_gt(found, 0.6 * claim)
  # The test notices a fault, a tenth of the ridge.
  expect_gt(worst(release$ridge / 30), claim)
})

test_that("values of an offset are clipped or make their row missing, as in other columns", {
  data <- offset_people(3000)
  rows <- function(years) {
    data$years[1:40] <- years
    offset_glm(data)$release
  }
  expect_identical(rows(1e9), rows(20))
  expect_identical(rows(Inf), rows(20))
  expect_identical(rows(-5), rows(0.05))
  data$keep <- seq_len(3000) > 40
  left <- offset_glm(data, subset = keep)
  expect_identical(rows(NA), left$release)
  expect_identical(rows(NaN), left$release)
})

test_that("dp_glm() refuses invalid offsets before the charge", {
  data <- offset_people(3000)
  data$g <- "u"
  ledger <- dp_ledger(4, 1e-6)
  refused <- function(class, offset, ...) {
    given <- utils::modifyList(list(
      formula = y ~ a + b, data = data, family = "poisson", epsilon = 1, ledger = ledger,
      bounds = c(offset_bounds(), list(g = c("u", "v"))), offset = offset
    ), list(...))
    expect_error(do.call(dp_glm, given), class = paste0("dpsc_error_", class))
  }
  refused("argument", log(data$years))
  refused("argument", 3)
  refused("argument", ~3)
  refused("argument", y ~ years)
  refused("argument", NA_character_)
  refused("argument", ~ scale(years))
  refused("bounds", ~g)
  refused("bounds", ~elsewhere)
  refused("bounds", "elsewhere")
  names(data)[names(data) == "years"] <- "gone"
  refused("data", ~ log(years))
  data <- offset_people(3000, "binomial")
  bounds <- offset_bounds("binomial")
  for (method in setdiff(names(mechanism_table$dp_glm), "objective")) {
    refused("argument", ~ log(years), family = "binomial", bounds = bounds, data = data,
      method = method)
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("offsets give the same release in chunks, and a fit from a database or with `person`", {
  data <- offset_people(3000)
  here <- offset_glm(data)
  parts <- split(data, rep(1:3, each = 1000))
  chunks <- dp_chunks(function(i) parts[[i]], 3)
  expect_identical(offset_glm(chunks)$release, here$release)
  data$id <- seq_len(3000)
  each <- offset_glm(data, person = ~id)
  expect_equal(coef(each), coef(here), tolerance = 0.05)
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "people", data)
  expect_identical(names(coef(offset_glm(dp_table(con, "people")))), names(coef(here)))
})

test_that("prints, reports and files contain the offset, and predict() needs its column", {
  data <- offset_people(20000)
  fit <- offset_glm(data, epsilon = 2)
  expect_output(print(fit), "y ~ a + b, offset log(years)", fixed = TRUE)
  expect_output(print(summary(fit)), "offset log(years)", fixed = TRUE)
  expect_match(paste(report(fit), collapse = " "), "offset log(years)", fixed = TRUE)
  path <- withr::local_tempfile()
  write_release(fit, path, allow_not_private = TRUE)
  again <- suppressWarnings(read_release(path))
  expect_equal(coef(again), coef(fit))
  expect_identical(again$columns$offset, fit$columns$offset)
  expect_equal(predict(again, data[1:3, ]), predict(fit, data[1:3, ]))
  expect_error(update(fit, . ~ a), class = "dpsc_error_argument")
  expect_identical(colnames(stats::model.matrix(fit, data[1:3, ])), names(coef(fit)))
  expect_error(predict(fit, data[1:3, c("a", "b")]), class = "dpsc_error_data")
  # The planned steps include one more median.
  expect_true("median of offset log(years)" %in% fit$privacy$steps$step)
})

test_that("privacy losses from pdp() for a fit with an offset equal a direct computation", {
  data <- offset_people(800)
  fit <- offset_glm(data, epsilon = 1)
  loss <- pdp(fit, data)$donors
  rows <- glm_rows_cpp(lm_table(fit$columns, data, TRUE), fit$public$facts, fit$release)
  exact <- exact_loss("poisson", fit$release$span)
  theta <- fit$release$theta
  log_density <- function(keep) {
    w <- rows$weight * keep
    t <- drop(rows$x %*% theta) + rows$offset
    H <- crossprod(rows$x, w * exact$curvature(t, rows$outcome) * rows$x) +
      diag(fit$release$ridge, length(theta))
    b <- -(colSums(w * exact$slope(t, rows$outcome) * rows$x) + fit$release$ridge * theta)
    log(det(H)) - sqrt(sum(b^2)) / fit$release$kappa
  }
  all <- rep(1, 800)
  for (i in c(3, 333)) {
    gone <- log_density(replace(all, i, 0))
    expect_equal(loss$realised[[i]], log_density(all) - gone, tolerance = 1e-6)
  }
})
