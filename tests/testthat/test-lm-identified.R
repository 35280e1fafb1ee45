# Tests and limits of identified slopes if other slopes are not identified.

seeded_moments <- function(formula, data, bounds, ...) {
  suppressWarnings(dp_lm(formula, data, bounds = bounds, control = dp_control(rng = "R"), ...))
}

# Slopes: .1 for age, .8 for school, 0 for all other columns. `lost` determines the slope that is
# not identified: a constant column, a level of .5 %, or nearly collinear columns.
wages_of <- function(lost, n = 4000) {
  d <- data.frame(
    age = round(stats::runif(n, 18, 80)), school = stats::rpois(n, 11), x = stats::rnorm(n),
    g = stats::runif(n) < 0.3
  )
  bounds <- list(
    wage = c(-20, 100), age = c(0, 120), school = c(0, 40), x = c(-10, 10), g = c(FALSE, TRUE)
  )
  if (lost == "constant") {
    d$lost <- rep(1, n)
    bounds$lost <- c(0, 10)
  } else if (lost == "rare") {
    d$lost <- sample(c("a", "b", "c"), n, TRUE, c(0.6, 0.395, 0.005))
    bounds$lost <- c("a", "b", "c")
  } else {
    d$lost <- d$x + stats::rnorm(n, sd = 0.01)
    bounds$lost <- c(-10, 10)
  }
  d$wage <- 20 + 0.1 * d$age + 0.8 * d$school + stats::rnorm(n, sd = 5)
  list(data = d, bounds = bounds)
}

wages_formula <- wage ~ age + school + x + g + lost

# Do statistic, p-value, limits, summary and anova of identified slopes belong to one test?
expect_one_test <- function(fit) {
  table <- tidy(fit, conf.int = TRUE)
  expect_identical(table$identified, unname(fit$identified))
  known <- table$identified
  expect_equal(table$statistic[known], (table$estimate / table$std.error)[known])
  expect_equal(
    table$p.value[known], 2 * stats::pt(-abs(table$statistic[known]), df.residual(fit))
  )
  for (level in c(0.5, 0.9, 0.95, 0.99)) {
    limits <- confint(fit, level = level)
    outside <- limits[, 1L] > 0 | limits[, 2L] < 0
    expect_identical(unname(outside)[known], (table$p.value < 1 - level)[known])
  }
  # A slope that is not identified has no statistic, and a p-value only with the limits of its test.
  expect_true(all(is.na(table$statistic[!known])))
  lost <- which(!known & !is.na(table$p.value))
  outside <- table$conf.low > 0 | table$conf.high < 0
  expect_identical((table$p.value < 0.05)[lost], outside[lost])
  shown <- summary(fit)$coefficients
  expect_equal(unname(shown[, "t value"]), table$statistic)
  expect_equal(unname(shown[, "Pr(>|t|)"]), table$p.value)
  places <- term_places(fit$columns, fit$kept)
  single <- lengths(places) == 1L
  terms <- stats::anova(fit)
  at <- unlist(places[single])
  tested <- known[at]
  expect_equal(terms$F[single][tested], table$statistic[at][tested]^2)
  expect_equal(terms$`Pr(>F)`[single][tested], table$p.value[at][tested])
  expect_true(all(is.na(terms$F[single][!tested])))
  if (rlang::is_installed("parameters")) {
    read <- parameters::parameters(fit)
    expect_equal(read$p, table$p.value)
    expect_equal(read$CI_low, table$conf.low)
  }
}

test_that("p-values of identified slopes are below 0.05 if and only if intervals exclude 0", {
  withr::local_seed(31)
  lost <- 0
  for (design in c("constant", "rare", "collinear")) {
    for (k in 1:(if (is_audit()) 40 else 8)) {
      p <- wages_of(design)
      fit <- seeded_moments(wages_formula, p$data, p$bounds, epsilon = c(0.5, 1, 2)[k %% 3 + 1])
      expect_one_test(fit)
      lost <- lost + (!all(fit$identified[-1L]) && any(fit$identified[-1L]))
      expect_one_test(stats::update(fit, . ~ . - x))
    }
  }
  expect_gt(lost, 12)
  p <- wages_of("constant")
  expect_one_test(seeded_moments(wages_formula, p$data, p$bounds, epsilon = 4, vcov = "HC"))
  raw <- seeded_moments(wages_formula, p$data, p$bounds, epsilon = Inf)
  expect_identical(names(which(!raw$identified)), "lost")
  expect_output(print(raw), "is constant or a combination of earlier columns: lost")
  expect_one_test(raw)
})

test_that("one test gives p-values and intervals if the budget does not resolve the moments", {
  withr::local_seed(32)
  for (k in 1:6) {
    n <- 600
    common <- stats::rnorm(n)
    data <- data.frame(0.6 * matrix(stats::rnorm(n * 5), n) + 0.8 * common)
    data$y <- drop(as.matrix(data) %*% rep(0.3, 5)) + stats::rnorm(n)
    bounds <- stats::setNames(rep(list(c(-30, 30)), 6), names(data))
    fit <- seeded_moments(y ~ ., data, bounds, epsilon = 1)
    expect_false(fit$plan$resolved)
    expect_one_test(fit)
  }
})

test_that("tests of identified slopes hold their level if another slope is not identified", {
  withr::local_seed(33)
  runs <- if (is_audit()) 400 else 40
  for (design in c("constant", "rare", "collinear")) {
    rejects <- replicate(runs, {
      p <- wages_of(design)
      fit <- seeded_moments(wages_formula, p$data, p$bounds, epsilon = 1)
      known <- fit$identified[-1L]
      table <- tidy(fit, conf.int = TRUE)[-1L, ]
      truth <- c(age = 0.1, school = 0.8)[table$term]
      truth[is.na(truth)] <- 0
      at <- !all(known) & known & !grepl("lost", table$term)
      c(
        sum(at), sum(table$p.value[at & truth == 0] < 0.05),
        sum((table$conf.low > truth | table$conf.high < truth)[at])
      )
    })
    total <- rowSums(rejects)
    expect_gt(total[[1L]], runs)
    expect_lte(total[[2L]] / total[[1L]], 0.06)
    expect_lte(total[[3L]] / total[[1L]], 0.06)
  }
})

test_that("prints and tables mark slopes that are not identified and name their test", {
  for (design in c("constant", "collinear")) {
    p <- withr::with_seed(34, wages_of(design))
    fit <- withr::with_seed(34, seeded_moments(wages_formula, p$data, p$bounds, epsilon = 2))
    expect_false(fit$identified[["lost"]])
    table <- tidy(fit)
    expect_identical(table$identified[table$term == "lost"], FALSE)
    # x is one of the two nearly collinear columns.
    known <- c("age", "school", if (design == "constant") "x", "gTRUE")
    expect_true(all(known %in% table$term[table$identified]))
    text <- paste(utils::capture.output(print(summary(fit))), collapse = " ")
    expect_match(text, "Not identified at this budget: .*lost")
    missing <- design == "constant"
    expect_identical(unname(is.na(coef(fit)[c("lost", "age")])), c(missing, FALSE))
    expect_match(text, if (missing) "They have no estimate" else "Anderson and Rubin's test")
  }
})

test_that("a number that noise does not tell from a constant has no slope, and a submodel does", {
  # Bounds ten thousand times too wide: the slope of .1 was "identified" as 0 with a tiny error.
  withr::local_seed(35)
  n <- 5000
  for (width in c(1e5, 1e6)) {
    for (k in 1:4) {
      p <- data.frame(x = stats::rnorm(n, 50, 10), z = stats::rnorm(n))
      p$y <- 0.1 * p$x + p$z + stats::rnorm(n)
      bounds <- list(y = c(-50, 50), x = c(0, width), z = c(-5, 5))
      expect_warning(
        fit <- dp_lm(y ~ x + z, p, epsilon = 2, bounds = bounds, control = dp_control(rng = "R")),
        "Noise hides that these columns vary at all, so they have no slope: x"
      )
      expect_identical(names(which(is.na(coef(fit)))), c("(Intercept)", "x"))
      expect_true(is.na(confint(fit)["x", 1L]))
      part <- stats::update(fit, . ~ z)
      expect_true(all(part$identified))
      expect_lt(abs(coef(part)[["z"]] - 1), 4 * sqrt(vcov(part)["z", "z"]))
    }
  }
})
