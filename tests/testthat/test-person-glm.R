# Several rows of one person in dp_glm(): attacks on proofs/person.md, section 3.

person_bounds <- list(
  y = c(FALSE, TRUE), k = c(0, 30), z = c(-30, 30), a = c(-20, 20), b = c(-5, 5)
)
person_families <- list(
  binomial = y ~ a + b, poisson = k ~ a + b, gaussian = z ~ a + b
)

glm_rows_of_people <- function(n = 2500, most = 4, seed = 8) {
  withr::local_seed(seed)
  id <- rep(sample(n), sample(seq_len(most), n, TRUE))
  a <- stats::rnorm(n, 3)[id] + stats::rnorm(length(id), sd = 0.3)
  b <- stats::runif(n, -2, 2)[id]
  data.frame(
    id = id, a = a, b = b, y = stats::runif(length(id)) < stats::plogis(0.5 * a - b - 1.5),
    k = stats::rpois(length(id), exp(0.3 - 0.3 * b)), z = 1 + 0.5 * a + stats::rnorm(length(id))
  )
}

person_glm <- function(family, data, ..., epsilon = 2) {
  force(data)
  withr::local_seed(5)
  dp_glm(person_families[[family]], data, family,
    epsilon = epsilon, bounds = person_bounds, control = dp_control(rng = "R"), ...
  )
}

test_that("neither `person` with one row each nor copies of all rows change a fit by dp_glm()", {
  single <- glm_rows_of_people(most = 1)
  single$y[4] <- NA
  several <- glm_rows_of_people(1200)
  shuffled <- function(data, k) data[withr::with_seed(4, sample(rep(seq_len(nrow(data)), k))), ]
  for (family in names(person_families)) {
    for (delta in c(0, 1e-6)) {
      plain <- person_glm(family, single, delta = delta)
      by_person <- person_glm(family, shuffled(single, 1), delta = delta, person = ~id)
      # The solver's point is within its tolerance, which is far below the noise that covers it.
      steps <- c("theta", "information")
      same <- setdiff(names(plain$release), steps)
      expect_identical(by_person$release[same], plain$release[same])
      expect_equal(by_person$release[steps], plain$release[steps], tolerance = 1e-4)
    }
    once <- person_glm(family, several, person = ~id)
    again <- person_glm(family, shuffled(several, 5), person = ~id)
    expect_identical(again$release[same], once$release[same])
    expect_equal(coef(again), coef(once), tolerance = 1e-4)
    expect_identical(once$nobs, 1200L)
  }
})

test_that("in no step of dp_glm() do several rows of a person cost more than one row", {
  withr::local_seed(12)
  others <- glm_rows_of_people(120, most = 2)
  hostile <- function(rows) {
    data.frame(
      id = 1e4, a = sample(c(-20, 20, 4, NA), rows, TRUE), b = sample(c(-5, 5), rows, TRUE),
      y = sample(c(FALSE, TRUE), rows, TRUE), k = sample(c(0, 30, 3), rows, TRUE),
      z = sample(c(-30, 30), rows, TRUE)
    )
  }
  reached <- 0
  for (family in names(person_families)) {
    for (delta in c(0, 1e-6)) {
      verb <- audit_mechanism(function(people, control) {
        dp_glm(person_families[[family]], people, family,
          epsilon = 8, delta = delta, bounds = person_bounds, person = ~id, control = control
        )
      })
      for (i in 1:6) {
        sizes <- sample(c(1, 2, 3, 40), 2)
        audit <- dp_audit(verb, rbind(others, hostile(sizes[[1]])),
          rbind(hostile(sizes[[2]]), others), n_runs = 1, mode = "replay"
        )
        expect_false(audit$violated)
        reached <- max(reached, audit$table$ratio)
      }
    }
  }
  expect_gt(reached, 0.5)
})

test_that("an audit detects sums over a person's rows in place of means, for dp_glm()", {
  withr::local_seed(13)
  others <- glm_rows_of_people(120, most = 2)
  verb <- audit_mechanism(function(people, control) {
    dp_glm(y ~ a + b, people, "binomial",
      epsilon = 8, bounds = person_bounds, control = control
    )
  })
  many <- others[rep(1, 12), ]
  many[c("a", "b")] <- list(4, 1)
  audit <- dp_audit(
    verb, rbind(others, transform(many, y = TRUE)), rbind(others, transform(many, y = FALSE)),
    n_runs = 1, mode = "replay"
  )
  expect_true(audit$violated)
})

test_that("without privacy each person has weight one in dp_glm(), and SEs are clustered", {
  data <- glm_rows_of_people(300)
  data$a[7] <- NA
  used <- !is.na(data$a)
  share <- 1 / stats::ave(as.numeric(used), data$id, FUN = sum)
  for (family in c("binomial", "poisson")) {
    fit <- suppressWarnings(dp_glm(person_families[[family]], data, family,
      epsilon = Inf, bounds = person_bounds, person = ~id
    ))
    model <- stats::update(person_families[[family]], . ~ .)
    environment(model) <- environment()
    known <- suppressWarnings(stats::glm(model, family, data, weights = share))
    expect_equal(coef(fit), coef(known), tolerance = 1e-6)
    scores <- rowsum(
      stats::model.matrix(known) * (share[used] * (known$y - stats::fitted(known))), data$id[used]
    )
    bread <- summary(known)$cov.unscaled
    n <- nrow(scores)
    expect_equal(
      unname(vcov(fit)), unname(bread %*% crossprod(scores) %*% bread * n / (n - 3)),
      tolerance = 1e-5
    )
  }
})

test_that("dp_glm() with `person` refuses unproved methods and constraints before the charge", {
  ledger <- dp_ledger(epsilon = 5, delta = 1e-5)
  data <- glm_rows_of_people(200)
  fit <- function(...) {
    dp_glm(y ~ a + b, data, "binomial",
      epsilon = 1, bounds = person_bounds, person = ~id, ledger = ledger, ...
    )
  }
  papers <- setdiff(names(mechanism_table$dp_glm), "objective")
  for (method in papers) expect_error(fit(method = method), class = "dpsc_error_argument")
  expect_error(fit(constraints = list(simplex = TRUE)), class = "dpsc_error_argument")
  data <- dp_sources(list(data, data))
  expect_error(fit(), "one place", class = "dpsc_error_argument")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("a fit by dp_glm() and its file state how people were declared", {
  data <- glm_rows_of_people(800)
  fit <- person_glm("binomial", data, person = ~id)
  file <- withr::local_tempfile(fileext = ".json")
  write_release(fit, file, allow_not_private = TRUE)
  read <- read_release(file)
  expect_identical(read$privacy$neighbours, fit$privacy$neighbours)
  expect_equal(vcov(read), vcov(fit))
  expect_match(paste(capture.output(print(read)), collapse = "\n"), "copies of each other")
  expect_error(pdp(fit, data), class = "dpsc_error_argument")
  declared <- person_glm("binomial", data, person = "row")
  expect_match(declared$privacy$neighbours, "as declared")
})
