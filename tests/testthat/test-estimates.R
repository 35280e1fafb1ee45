# One record of estimates, and every method written once for this record.

estimate_objects <- function() {
  withr::local_seed(5)
  rows <- data.frame(x = stats::runif(2000))
  rows$y <- (rows$x + stats::runif(2000)) / 2
  rows$b <- rows$y > 0.5
  unit <- list(y = c(0, 1), x = c(0, 1))
  control <- dp_control(rng = "R")
  glm <- function(...) {
    dp_glm(b ~ x, rows, "binomial",
      epsilon = 4, bounds = list(b = c(FALSE, TRUE), x = c(0, 1)), control = control, ...
    )
  }
  online <- function(...) {
    update(dp_online(y ~ x, 4, horizon = 2000, bounds = unit, control = control, ...), rows)
  }
  mean_of <- function(...) {
    dp_aggregate(rows, function(part) c(mean(part$y), mean(part$x)),
      lower = c(m = 0, k = 0), upper = 1, epsilon = 4, control = control, ...
    )
  }
  list(
    lm = dp_lm(y ~ x, rows, epsilon = 4, bounds = unit, control = control),
    ops = dp_lm(y ~ x, rows, 4, delta = 1e-6, bounds = unit, method = "ops", control = control),
    glm = glm(), bare = glm(intervals = FALSE),
    select = dp_select(y ~ x, rows, 4, size = 1, bounds = unit, control = control),
    aggregate = mean_of(), mean = mean_of(method = "mean"), online = online(),
    ftrl = online(method = "ftrl"),
    sum = update(dp_stream_sum(c(0, 1), 4, horizon = 2000, control = control), rows$y)
  )
}

test_that("for ten fits coef(), vcov(), confint() and tidy() agree, or an error gives the reason", {
  objects <- suppressWarnings(estimate_objects())
  for (name in names(objects)) {
    fit <- objects[[name]]
    e <- estimates(fit)
    expect_identical(check_estimates(e), e)
    expect_identical(coef(fit), e$estimate, label = name)
    expect_true(is.numeric(nobs(fit)), label = name)
    expect_identical(nrow(glance(fit)), 1L)
    expect_identical(glance(fit)$private, FALSE)
    if (name != "sum") expect_identical(tidy(fit)$term, names(coef(fit)))
    total <- e$covariance$total
    if (is.null(total)) {
      for (verb in list(vcov, confint)) {
        expect_error(verb(fit), "no standard errors", class = "dpsc_error_argument")
      }
      if (name != "mean") expect_true(all(is.na(tidy(fit, conf.int = TRUE)$conf.low)))
      next
    }
    expect_identical(vcov(fit), total)
    limits <- confint(fit, level = 0.9)
    expect_identical(rownames(limits), names(coef(fit)))
    if (name != "sum") {
      table <- tidy(fit, conf.int = TRUE, conf.level = 0.9)
      expect_identical(table$conf.low, unname(limits[, 1L]), label = name)
      expect_equal(table$std.error, unname(sqrt(diag(total))), label = name)
      odds <- tidy(fit, conf.int = TRUE, conf.level = 0.9, exponentiate = TRUE)
      expect_equal(odds$conf.high, exp(table$conf.high))
    }
    expect_true(all(diag(vcov(fit, "privacy")) <= diag(total), na.rm = TRUE))
    expect_error(vcov(fit, what = 1), class = "dpsc_error_argument")
    expect_error(confint(fit, "nobody"), class = "dpsc_error_argument")
  }
})

test_that("four classes of fits share one function each for coef(), vcov() and similar methods", {
  classes <- c("dp_regression", "dp_selection", "dp_aggregate", "dp_stream")
  for (verb in c("coef", "vcov", "confint", "tidy", "glance", "nobs")) {
    one <- get(paste0(verb, "_estimates"))
    for (class in classes) {
      expect_identical(utils::getS3method(verb, class, envir = asNamespace("dpsc")), one)
    }
  }
})
