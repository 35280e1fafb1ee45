# The wording of prints, reports and errors agrees with the call, the fit and the people concerned.

text_of <- function(x) paste(capture.output(print(x)), collapse = "\n")
message_of <- function(code) {
  gsub("\\s+", " ", conditionMessage(tryCatch(code, condition = identity)))
}

simple_cigarettes <- function(...) {
  withr::local_seed(2)
  donors <- matrix(stats::rnorm(12 * 10, 100, 5), 12, dimnames = list(LETTERS[1:12], NULL))
  data <- data.frame(
    state = rep(c(rownames(donors), "ca"), 10), year = rep(1970:1979, each = 13),
    cigsale = c(rbind(donors, colMeans(donors[1:3, ])))
  )
  data$law <- as.numeric(data$state == "ca" & data$year >= 1977)
  dp_synth(cigsale ~ law, data, c("state", "year"), epsilon = Inf, estimator = "simplex", ...)
}

test_that("the note on noise for a small protected group refers to treated people, not donors", {
  said_of <- function(n, m, epsilon) {
    fit <- withr::with_seed(1, suppressWarnings(
      protected_fit(protected_panel_of(n = n, m = m), epsilon = epsilon)
    ))
    # The noise is so large that it exceeds any bounds.
    row <- data.frame(std.error = NA_real_, privacy.se = 1)
    paste(noise_note(fit, row), collapse = "\n")
  }
  said <- said_of(1450, 50, 1)
  expect_match(said, "THE NOISE SWAMPS THE DATA")
  expect_match(said, "50 treated people at epsilon = 1 are too few")
  expect_no_match(said, "donors")
  # With as many treated people as donors, the number of donors is the reason.
  expect_match(said_of(100, 120, 1), "100 donors at epsilon = 1 cannot")
})

test_that("prints of dp_glm() mention medians only for numeric regressors", {
  people <- glm_people(2000)
  few <- seeded_glm(y ~ g, people, epsilon = 0.5, bounds = glm_bounds()[c("y", "g")])
  expect_false(few$plan$located)
  expect_no_match(text_of(few), "Medians")
  # Without this replacement a public rule would refuse the call before the charge.
  with_number <- with_internal(
    "check_hopeful", function(...) NULL,
    seeded_glm(y ~ g + a, people, epsilon = 0.001, bounds = glm_bounds())
  )
  expect_false(with_number$plan$located)
  expect_match(text_of(with_number), "Medians are not identified")
})

test_that("the print of a classical fit refers to weights() for the weights that are not shown", {
  fit <- simple_cigarettes()
  fit$weights[] <- seq_along(fit$weights) / sum(seq_along(fit$weights))
  said <- gsub("\\s+", " ", text_of(fit))
  expect_match(said, "and 7 more: see weights\\(\\)")
  expect_length(weights(fit), 12)
})

test_that("the report of a classical fit mentions no budget and names functions with intervals", {
  said <- report(simple_cigarettes())$result
  expect_no_match(said, "budget")
  expect_match(said, "placebo_errors(fit)", fixed = TRUE)
  expect_match(said, "placebo = placebo_space(fit)", fixed = TRUE)
})

test_that("the error for a misplaced covariate recommends a bar in the formula", {
  panel <- data.frame(
    id = rep(1:30, 6), t = rep(1:6, each = 30), y = stats::runif(180), age = 40,
    tr = as.numeric(rep(1:30, 6) == 1 & rep(1:6, each = 30) > 4)
  )
  said <- message_of(dp_synth(y ~ tr + age, panel, c("id", "t"), epsilon = 1, bounds = c(0, 1)))
  expect_match(said, "Covariates follow a bar: `outcome ~ treated | age + sex`", fixed = TRUE)
  expect_match(said, "several terms")
  said <- message_of(dp_synth(y ~ tr + age, panel, c("id", "t"),
    epsilon = 1, bounds = list(y = c(0, 1), age = c(0, 99))
  ))
  expect_match(said, "follow a bar")
  expect_no_match(said, "Besides")
  said <- message_of(dp_synth(y ~ tr - age, panel, c("id", "t"), epsilon = 1, bounds = c(0, 1)))
  expect_no_match(said, "follow a bar")
  # With covariates in the formula, the message names the entry of `bounds` that matches nothing.
  said <- message_of(dp_synth(y ~ tr | age, panel, c("id", "t"),
    epsilon = 1, bounds = list(y = c(0, 1), age = c(0, 99), sex = c(0, 1))
  ))
  expect_match(said, "The formula does not contain `sex`", fixed = TRUE)
})

test_that("fits can be written, and the error for a part of a regression recommends the fit", {
  skip_if_not_installed("jsonlite")
  path <- withr::local_tempfile(fileext = ".json")
  panel <- sim_panel(n = 300, T0 = 6, T1 = 3)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = 6, epsilon = 2, bounds = c(-1, 1)
  )
  write_release(fit, path)
  expect_identical(read_release(path), fit$release)
  targets <- rbind(a = panel$target, b = panel$target)
  staggered <- dp_synth(panel$donors,
    target = targets, T0 = c(6, 7), epsilon = 2, bounds = c(-1, 1), protect = "donors"
  )
  write_release(staggered, path)
  expect_identical(read_release(path), staggered$release)
  regression <- dp_lm(y ~ g, lm_people(500), epsilon = 1, bounds = lm_bounds())
  said <- message_of(write_release(regression$release, path))
  expect_match(said, "write_release(fit, path)", fixed = TRUE)
  expect_no_match(said, "fit$release", fixed = TRUE)
  expect_error(write_release(simple_cigarettes(), path), "no release",
    class = "dpsc_error_release"
  )
  for (given in list(fit, staggered, regression, fit$release)) {
    expect_error(write_release(given), "`path` is required", class = "dpsc_error_argument")
  }
  expect_error(read_release(), "`path` is required", class = "dpsc_error_argument")
})

test_that("averages over cohorts can be requested by the names that `did::aggte()` uses", {
  panel <- sim_panel(n = 300, T0 = 6, T1 = 4)
  fit <- dp_synth(panel$donors,
    target = rbind(a = panel$target, b = panel$target), T0 = c(6, 8), epsilon = 2,
    bounds = c(-1, 1), protect = "donors"
  )
  expect_identical(tidy(fit, type = "dynamic"), tidy(fit, type = "event"))
  expect_identical(tidy(fit, type = "group"), tidy(fit, type = "cohort"))
  expect_identical(coef(fit, type = "group"), coef(fit, type = "cohort"))
  expect_identical(vcov(fit, type = "dynamic"), vcov(fit, type = "event"))
  expect_identical(confint(fit, type = "group"), confint(fit, type = "cohort"))
  expect_identical(as.data.frame(fit, type = "dynamic"), as.data.frame(fit, type = "event"))
  expect_error(tidy(fit, type = "static"), class = "dpsc_error_argument")
  # With several dates the treated people are also public, as the print states.
  expect_match(text_of(fit), "protects the donors; the treated units' data are public")
  expect_match(text_of(summary(fit)), "protects the donors")
})

test_that("prints and errors of fits without privacy do not call the fits private or noisy", {
  people <- lm_people(300)
  open <- dp_lm(y ~ a + g, people, epsilon = Inf, bounds = lm_bounds())
  closed <- dp_lm(y ~ a + g, people, epsilon = 1, bounds = lm_bounds())
  expect_match(text_of(summary(closed)), "\\(noisy\\)")
  expect_no_match(text_of(summary(open)), "noisy|privacy together")
  for (verb in list(residuals, fitted)) {
    expect_match(message_of(verb(closed)), "which a private fit does not contain")
    expect_no_match(message_of(verb(open)), "a private fit")
    expect_error(verb(open), "which a fit does not contain", class = "dpsc_error_argument")
  }
  open <- dp_glm(y ~ a, glm_people(300), epsilon = Inf, bounds = glm_bounds())
  for (verb in list(residuals, fitted, deviance, logLik, hatvalues)) {
    expect_no_match(message_of(verb(open)), "a private fit")
    expect_error(verb(open), "which a fit does not contain", class = "dpsc_error_argument")
  }
  expect_no_match(text_of(summary(open)), "privacy together")
})

test_that("update() with another estimator keeps the outcome's name and the formula", {
  fit <- simple_cigarettes()
  other <- update(fit, estimator = "sdid")
  expect_match(text_of(other), "cigsale: 12 donors")
  expect_identical(formula(other), formula(fit))
})

test_that("if a ledger refuses a call, the error gives the budget that remains for this call", {
  people <- lm_people(500)
  ledger <- dp_ledger(epsilon = 1, delta = 1e-6)
  lm_call <- function(epsilon, ...) {
    dp_lm(y ~ g, people, epsilon = epsilon, bounds = lm_bounds(), ledger = ledger, ...)
  }
  said <- message_of(lm_call(2))
  expect_match(said, "About epsilon = 1 is left for a release like this one.", fixed = TRUE)
  expect_no_match(said, "gram")
  lm_call(0.4)
  left <- as.numeric(sub(".*About epsilon = ([0-9.]+) is.*", "\\1", message_of(lm_call(0.99))))
  # The reported remaining budget can be spent, but not much more.
  expect_error(lm_call(left * 1.01), class = "dpsc_error_budget")
  lm_call(left * 0.999)
  # Method "objective" of a GLM adds a separate delta.
  ledger <- dp_ledger(epsilon = 1, delta = 1e-6)
  glm_call <- function(epsilon) {
    dp_glm(y ~ g, glm_people(500), epsilon = epsilon, delta = 5e-7, bounds = glm_bounds(),
      ledger = ledger)
  }
  glm_call(0.4)
  expect_match(message_of(glm_call(0.7)), "About epsilon = 0.6 is left for a release",
    fixed = TRUE
  )
  glm_call(0.6)
  pure <- dp_ledger(epsilon = 1)
  said <- message_of(dp_lm(y ~ g, people, epsilon = 1, bounds = lm_bounds(), ledger = pure))
  expect_match(said, "like this one, but with `delta = 0`", fixed = TRUE)
})

test_that("prints give p-values without padding", {
  expect_identical(format_p(1), "= 1")
  expect_identical(format_p(0.0312), "= 0.031")
})
