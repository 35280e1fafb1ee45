# Several rows of one person: attacks on proofs/person.md.

person_people <- function(n = 1500, most = 4, seed = 8) {
  data <- lm_people(n, seed)
  withr::local_seed(seed)
  data$id <- sample(n)
  rows <- rep(seq_len(n), sample(seq_len(most), n, TRUE))
  out <- data[rows, ]
  out$a <- out$a + stats::rnorm(nrow(out), sd = 0.3)
  out$y <- out$y + stats::rnorm(nrow(out))
  out[sample(nrow(out)), ]
}

person_lm <- function(data, ..., formula = y ~ a + b + g, epsilon = 2) {
  force(data)
  seeded_lm(formula, data, epsilon = epsilon, bounds = lm_bounds(), ...)
}

test_that("one row per person in any order gives the dp_lm() fit without `person`, bit for bit", {
  data <- lm_people(1500)
  data$id <- withr::with_seed(2, sample(1e6, 1500))
  data$a[3] <- NA
  data$w <- rep(1:3 / 3, 500)
  shuffled <- data[withr::with_seed(3, sample(1500)), ]
  for (delta in c(0, 1e-6)) {
    for (vcov in c("const", "HC")) {
      plain <- person_lm(data, delta = delta, vcov = vcov)
      by_person <- person_lm(shuffled, delta = delta, vcov = vcov, person = ~id)
      expect_identical(by_person$release, plain$release)
      expect_identical(by_person$covariance, plain$covariance)
      expect_identical(by_person$nobs, plain$nobs)
    }
  }
  plain <- person_lm(data, weights = w, max_weight = 1, subset = s, vcov = "HC")
  by_person <- person_lm(
    shuffled, weights = w, max_weight = 1, subset = s, vcov = "HC", person = ~id
  )
  expect_identical(by_person$release, plain$release)
})

test_that("repeating all rows changes no dp_lm() release, even if people's row counts differ", {
  data <- person_people()
  for (vcov in c("const", "HC")) {
    once <- person_lm(data, person = ~id, vcov = vcov)
    for (k in c(2, 7)) {
      rows <- withr::with_seed(k, sample(rep(seq_len(nrow(data)), k)))
      expect_identical(person_lm(data[rows, ], person = ~id, vcov = vcov)$release, once$release)
    }
  }
  # One person has more rows than a block of the reader.
  long <- rbind(data, data[rep(which(data$id == data$id[[1]]), 3000), ])
  expect_identical(person_lm(long, person = ~id)$release, person_lm(data, person = ~id)$release)
  expect_identical(once$nobs, 1500L)
  expect_match(once$privacy$neighbours, "all rows of one person")
})

test_that("identifiers as numbers, text, factors or dates define the same people", {
  data <- person_people(400)
  of <- function(id) {
    data$id <- id
    person_lm(data, person = ~id)$release
  }
  known <- of(data$id)
  expect_identical(of(as.character(data$id)), known)
  expect_identical(of(factor(data$id)), known)
  expect_identical(of(as.Date("2020-01-01") + data$id), known)
  # Rows without an identifier are omitted without an error.
  gone <- data$id == data$id[[1]]
  missing <- data
  missing$id[gone] <- NA
  left <- person_lm(missing, person = ~id)
  expect_identical(left$nobs, 399L)
  expect_identical(left$release, person_lm(data[!gone, ], person = ~id)$release)
})

# Neighbours differ in all rows of one person, which are replaced by another person's rows.
hostile_person <- function(rows) {
  corner <- function() c(20, 5, 30) * sample(c(-1, 1), 3, TRUE)
  near <- function() c(a = 4, b = 1.1, y = 30 * sample(c(-1, 1), 1))
  pick <- function(i) {
    switch(sample(4, 1),
      corner(), near(), stats::runif(3, -1, 1) * c(20, 5, 30), c(NA, 0, 0)
    )
  }
  values <- vapply(seq_len(rows), pick, numeric(3))
  data.frame(a = values[1, ], b = values[2, ], y = values[3, ], id = 1)
}

test_that("in no step of dp_lm() do several rows of a person cost more than one row", {
  withr::local_seed(12)
  others <- lm_people(300)[c("a", "b", "y")]
  others$id <- 1 + rep(1:150, 2)
  reached <- 0
  for (delta in c(1e-6, 0)) {
    for (vcov in c("const", "HC")) {
      verb <- audit_mechanism(function(people, control) {
        dp_lm(y ~ a + b, people, epsilon = 8, delta = delta, vcov = vcov, person = ~id,
          bounds = lm_bounds()[c("y", "a", "b")], control = control)
      })
      for (k in 1:12) {
        pair <- lapply(sample(c(1, 1, 2, 3, 50), 2), hostile_person)
        if (k == 1) pair <- list(
          data.frame(a = 4, b = 1.1, y = 30, id = 1),
          data.frame(a = 4, b = 1.1, y = c(-30, -30), id = 1)
        )
        audit <- dp_audit(
          verb, rbind(others, pair[[1]]), rbind(pair[[2]], others), n_runs = 1, mode = "replay"
        )
        expect_false(audit$violated)
        reached <- max(reached, audit$table$ratio)
      }
    }
  }
  expect_lte(reached, 1 + 1e-9)
  expect_gt(reached, 0.9)
})

test_that("an audit detects sums over a person's rows in place of means, for dp_lm()", {
  withr::local_seed(13)
  others <- lm_people(300)[c("a", "b", "y")]
  verb <- audit_mechanism(function(people, control) {
    dp_lm(y ~ a + b, people, epsilon = 8, bounds = lm_bounds()[c("y", "a", "b")], control = control)
  })
  one <- data.frame(a = rep(4, 3), b = 1.1, y = 30)
  two <- transform(one, y = -30)
  audit <- dp_audit(verb, rbind(others, one), rbind(others, two), n_runs = 1, mode = "replay")
  expect_true(audit$violated)
})

test_that("mean outer products of a person's worst rows stay within the declared bound", {
  # A search for the worst case of mean_outer uses rows of the largest length, few of which differ.
  withr::local_seed(14)
  worst <- 0
  for (p in c(1, 3, 8)) {
    d <- p + 2
    limit <- c(64, 512)[[1 + p %% 2]]
    constant <- max(1, round(limit / sqrt(p + 1)))
    bound <- 2 * (limit^2 + constant^2)
    keep <- 1 - 1.1 * d / (sqrt(2) * bound)
    row <- function() {
      w <- stats::rnorm(p)
      w <- trunc(w / sqrt(sum(w^2)) * limit)
      c(w, sample(c(-1, 1), 1) * trunc(sqrt(limit^2 + constant^2)), constant)
    }
    mean_of <- function(m) {
      first <- tcrossprod(row())
      G <- (first * (m - 1) + tcrossprod(row())) / m
      if (all(G == round(G))) G else round(keep * G)
    }
    for (i in 1:300) {
      moved <- mean_of(sample(c(1, 2, 3, 100, 1e6), 1)) - mean_of(sample(c(1, 2, 5, 1e4), 1))
      worst <- max(worst, sqrt(sum(moved^2)) / (sqrt(2) * bound))
    }
  }
  expect_lte(worst, 1)
  expect_gt(worst, 0.9)
})

test_that("without privacy each person has weight one in dp_lm(), and SEs are clustered", {
  data <- person_people(300)
  data$y[7] <- NA
  fit <- suppressWarnings(
    dp_lm(y ~ a + b, data, epsilon = Inf, bounds = lm_bounds(), person = ~id)
  )
  share <- 1 / stats::ave(as.numeric(!is.na(data$y)), data$id, FUN = sum)
  known <- stats::lm(y ~ a + b, data, weights = share)
  expect_equal(coef(fit), coef(known))
  x <- stats::model.matrix(known)
  used <- !is.na(data$y)
  scores <- rowsum(x * (share[used] * stats::residuals(known)), data$id[used])
  bread <- solve(crossprod(x * sqrt(share[used])))
  n <- nrow(scores)
  expect_equal(
    unname(vcov(fit)), unname(bread %*% crossprod(scores) %*% bread * n / (n - 3)),
    tolerance = 1e-8
  )
})

test_that("refusals of dp_lm() calls with `person` cost nothing and do not depend on row counts", {
  ledger <- dp_ledger(epsilon = 5, delta = 1e-5)
  data <- person_people(200)
  single <- data[!duplicated(data$id), ]
  fit <- function(data, ..., person = ~id) {
    dp_lm(y ~ a + b, data, epsilon = 1, bounds = lm_bounds(), ledger = ledger, person = person, ...)
  }
  told <- function(...) tryCatch(fit(...), dpsc_error = function(e) conditionMessage(e))
  for (rows in list(data, single)) {
    expect_error(fit(rows, method = "ops"), class = "dpsc_error_argument")
    expect_error(fit(rows, method = "adaops"), class = "dpsc_error_argument")
    expect_error(fit(dp_sources(list(rows, rows))), "one place", class = "dpsc_error_argument")
    expect_error(fit(rows, person = "id"), class = "dpsc_error_argument")
    expect_error(fit(rows, person = ~ id + a), class = "dpsc_error_argument")
    expect_error(fit(rows, person = y ~ id), class = "dpsc_error_argument")
    expect_error(fit(rows, person = ~other), class = "dpsc_error_data")
    listed <- rows
    listed$id <- as.list(listed$id)
    expect_error(fit(listed), class = "dpsc_error_data")
  }
  # One data set has one row per person, the other several rows per person. The number of people and
  # the text are the same.
  few <- data.frame(y = 0, a = 0, b = 0, id = c(1, 2, 3, NA))
  expect_identical(told(few), told(few[rep(1:4, 50), ]))
  expect_match(told(few), "People: 3")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("a fit by dp_lm() and its file state how people were declared", {
  data <- person_people(300)
  fit <- person_lm(data, person = ~id)
  file <- withr::local_tempfile(fileext = ".json")
  write_release(fit, file, allow_not_private = TRUE)
  read <- read_release(file)
  expect_identical(read$privacy$neighbours, fit$privacy$neighbours)
  expect_equal(vcov(read), vcov(fit))
  expect_match(paste(capture.output(summary(read)), collapse = "\n"), "clustered by person")
  expect_match(format(report(read)), "clustered by person", all = FALSE)
  expect_error(pdp(fit, data), class = "dpsc_error_argument")
  declared <- person_lm(data, person = "row", vcov = "const")
  expect_match(declared$privacy$neighbours, "as declared")
  expect_identical(declared$release, person_lm(data)$release)
  # The object reveals neither the number of rows nor their people.
  held <- unlist(lapply(rapply(unclass(fit), identity, how = "unlist"), as.character))
  expect_false(as.character(nrow(data)) %in% held)
})

test_that("fits with `person` and their errors contain no identifier", {
  data <- person_people(200)
  secret <- sprintf("secret-%05d", data$id)
  data$id <- secret
  ids <- unique(secret)
  held <- function(x) {
    text <- rawToChar(serialize(x, NULL, ascii = TRUE))
    any(vapply(ids, grepl, NA, x = text, fixed = TRUE))
  }
  expect_true(held(list(ids[[7]])))
  fit <- function(...) {
    dp_lm(y ~ a + b, data, epsilon = 8, bounds = lm_bounds(), person = ~id, ...)
  }
  expect_false(held(suppressWarnings(fit())))
  expect_false(held(suppressWarnings(fit(control = dp_control(rng = "R")))))
  # Errors before and after the charge do not name any person either.
  told <- tryCatch(fit(subset = nothing), error = identity)
  expect_s3_class(told, "dpsc_error_argument")
  expect_false(held(told))
})

test_that("a file of a fit with changed statements about people is refused", {
  data <- person_people(300)
  single <- data[!duplicated(data$id), ]
  fits <- list(
    person_lm(data, person = ~id), person_lm(single, person = "row", vcov = "const"),
    person_lm(single, person = "row", vcov = "const", method = "ops")
  )
  for (fit in fits) {
    file <- withr::local_tempfile(fileext = ".json")
    write_release(fit, file, allow_not_private = TRUE)
    expect_identical(read_release(file)$privacy$neighbours, fit$privacy$neighbours)
    text <- paste(readLines(file), collapse = "\n")
    others <- list(
      c("all rows of one person", "one person's row"), c("(by id)", "(by it)"),
      c(", as declared", ""), c('"column": "id"', '"column": "it"'), c("300", "299")
    )
    for (pair in others) {
      changed <- gsub(pair[[1]], pair[[2]], text, fixed = TRUE)
      if (changed == text) next
      writeLines(changed, file)
      expect_error(read_release(file), class = "dpsc_error")
    }
  }
})
