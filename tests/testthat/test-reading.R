# Methods that every fit supports. Their values agree with other methods, or an error gives the
# reason.

class_of_error <- function(code) {
  class(tryCatch(code, error = identity))[[1L]]
}

small_stream <- function(n = 600) {
  withr::local_seed(4)
  stream <- dp_online(y ~ x1 + x2,
    epsilon = 5, delta = 1e-6, horizon = 1000, control = dp_control(rng = "R"),
    bounds = list(y = c(-3, 3), x1 = c(-1, 1), x2 = c(0, 10))
  )
  rows <- data.frame(x1 = stats::runif(n, -1, 1), x2 = stats::runif(n, 0, 10))
  rows$y <- rows$x1 + 0.1 * rows$x2 + stats::rnorm(n, sd = 0.3)
  update(stream, rows)
  stream
}

small_selection <- function(...) {
  withr::local_seed(4)
  rows <- as.data.frame(matrix(stats::runif(3000 * 5, -1, 1), 3000))
  rows$y <- 0.5 * rows$V2 - 0.4 * rows$V3 + stats::rnorm(3000, sd = 0.2)
  bounds <- c(list(y = c(-2, 2)), stats::setNames(rep(list(c(-1, 1)), 5), paste0("V", 1:5)))
  dp_select(y ~ ., rows, epsilon = 2, size = 2, bounds = bounds,
    control = dp_control(rng = "R"), ...)
}

small_aggregate <- function(...) {
  withr::local_seed(4)
  dp_aggregate(data.frame(a = stats::rnorm(4000)), function(d) c(mean(d$a), stats::sd(d$a)),
    lower = c(mean = -2, sd = 0), upper = c(mean = 2, sd = 3), epsilon = 5,
    control = dp_control(rng = "R"), ...
  )
}

test_that("vcov() and confint() of streams, selections and aggregates give the numbers of tidy()", {
  fits <- list(small_stream(), small_selection(), small_aggregate(spread = TRUE))
  for (fit in fits) {
    table <- tidy(fit, conf.int = TRUE, conf.level = 0.9)
    expect_equal(unname(sqrt(diag(vcov(fit)))), table$std.error, tolerance = 1e-12)
    limits <- confint(fit, level = 0.9)
    expect_equal(unname(limits), unname(as.matrix(table[c("conf.low", "conf.high")])),
      tolerance = 1e-12
    )
    expect_identical(dimnames(limits), list(names(coef(fit)), c("5 %", "95 %")))
    expect_identical(dimnames(vcov(fit)), rep(list(names(coef(fit))), 2L))
    expect_identical(confint(fit, 2L), confint(fit)[2L, , drop = FALSE])
    expect_error(confint(fit, "nobody"), class = "dpsc_error_argument")
    expect_error(confint(fit, level = 2), class = "dpsc_error_argument")
    expect_error(vcov(fit, what = 1), class = "dpsc_error_argument")
  }
  expect_equal(sqrt(diag(vcov(fits[[1L]], type = "privacy"))),
    stats::setNames(tidy(fits[[1L]])$privacy.se, names(coef(fits[[1L]])))
  )
  expect_equal(unname(sqrt(diag(vcov(fits[[2L]], type = "privacy")))), tidy(fits[[2L]])$privacy.se)
  # The release does not contain the correlation of medians of the same blocks.
  expect_identical(vcov(fits[[3L]])[1L, 2L], NA_real_)
  expect_error(confint(small_aggregate(spread = FALSE)), "without its standard deviation",
    class = "dpsc_error_argument"
  )
  bare <- small_selection(refit = FALSE)
  expect_error(vcov(bare), class = "dpsc_error_argument")
  expect_error(confint(bare), class = "dpsc_error_argument")
})

test_that("confidence limits of running sums refer to the last recorded step", {
  withr::local_seed(2)
  sums <- dp_stream_count(epsilon = 2, delta = 1e-6, horizon = 400, categories = c("a", "b"),
    control = dp_control(rng = "R")
  )
  update(sums, sample(c("a", "b"), 300, TRUE))
  last <- tidy(sums, conf.int = TRUE)
  last <- last[last$step == 300, ]
  expect_equal(unname(confint(sums)), unname(as.matrix(last[c("conf.low", "conf.high")])),
    tolerance = 1e-10
  )
  expect_equal(unname(sqrt(diag(vcov(sums)))), last$privacy.se, tolerance = 1e-10)
  expect_identical(nobs(sums), 300)
  table <- summary(sums)$table
  expect_equal(table$estimate, unname(coef(sums)))
  expect_equal(table$privacy.se, last$privacy.se, tolerance = 1e-10)
})

test_that("nobs(), formula() or summary() give the numbers of streams, selections and ledgers", {
  stream <- small_stream()
  expect_identical(nobs(stream), 600)
  expect_equal(nobs(small_selection()), 3000)
  expect_identical(deparse(formula(stream)), "y ~ x1 + x2")
  expect_identical(environment(formula(stream)), baseenv())
  expect_identical(summary(stream)$table, tidy(stream))
  expect_output(print(summary(stream)), "std.error.*NOT PRIVATE")
  ledger <- dp_ledger(epsilon = 2, delta = 1e-6)
  dp_lm(y ~ g, lm_people(500), epsilon = 0.5, bounds = lm_bounds(), ledger = ledger)
  said <- summary(ledger)
  expect_equal(said$spent, 0.5, tolerance = 1e-6)
  expect_identical(said$charges, as.data.frame(ledger))
  expect_identical(capture.output(print(said)), capture.output(print(ledger)))
})

test_that("predict() gives standard errors as for lm() and glm() and refuses unused arguments", {
  people <- lm_people(500)
  open <- dp_lm(y ~ a + g, people, epsilon = Inf, bounds = lm_bounds())
  theirs <- stats::lm(y ~ a + g, people)
  new <- people[1:5, ]
  ours <- predict(open, new, se.fit = TRUE)
  reference <- stats::predict(theirs, new, se.fit = TRUE)
  expect_equal(ours$fit, reference$fit, tolerance = 1e-8)
  expect_equal(ours$se.fit, reference$se.fit, tolerance = 1e-6)
  expect_equal(ours$df, reference$df)
  expect_equal(ours$residual.scale, reference$residual.scale, tolerance = 1e-6)
  band <- predict(open, new, se.fit = TRUE, interval = "prediction")
  expect_equal(band$fit, predict(open, new, interval = "prediction"))
  expect_equal(band$se.fit, ours$se.fit)
  for (family in c("binomial", "poisson")) {
    data <- glm_people(800, family)
    fit <- dp_glm(y ~ a + g, data, epsilon = Inf, bounds = glm_bounds(family), family = family)
    other <- stats::glm(y ~ a + g, family, data)
    for (type in c("link", "response")) {
      ours <- predict(fit, data[1:5, ], type = type, se.fit = TRUE)
      reference <- stats::predict(other, data[1:5, ], type = type, se.fit = TRUE)
      expect_equal(ours$fit, reference$fit, tolerance = 1e-6)
      se <- reference$se.fit
      if (family == "poisson") {
        x <- stats::model.matrix(other)[1:5, ]
        se <- sqrt(rowSums((x %*% robust_vcov(other)) * x)) *
          if (type == "response") reference$fit else 1
      }
      expect_equal(ours$se.fit, se, tolerance = 1e-4)
    }
    expect_identical(family(fit)$family, family)
    expect_error(predict(fit, data[1:5, ], foo = 1), "foo", class = "dpsc_error_argument")
  }
  private <- dp_lm(y ~ a + g, people, epsilon = 1, bounds = lm_bounds())
  m <- cbind(1, new$a, new$g == "v", new$g == "w")
  expect_equal(unname(predict(private, new, se.fit = TRUE)$se.fit),
    sqrt(rowSums((m %*% vcov(private)) * m))
  )
  expect_error(predict(private, new, foo = 1), "foo", class = "dpsc_error_argument")
  expect_error(predict(private, new, type = "terms"), "type", class = "dpsc_error_argument")
  expect_error(predict(private, new, se.fit = NA), class = "dpsc_error_argument")
  bare <- dp_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds("poisson"), family = "poisson",
    intervals = FALSE)
  expect_error(predict(bare, data[1:2, ], se.fit = TRUE), "no standard errors",
    class = "dpsc_error_argument"
  )
})

test_that("anova() tests terms of dp_glm() by vcov() or marks the terms as not identified", {
  data <- glm_people(1500)
  open <- dp_glm(y ~ a + g, data, epsilon = Inf, bounds = glm_bounds())
  table <- anova(open)
  expect_identical(rownames(table), c("a", "g"))
  theirs <- stats::glm(y ~ a + g, stats::binomial(), data)
  b <- stats::coef(theirs)[3:4]
  chi <- drop(b %*% solve(stats::vcov(theirs)[3:4, 3:4], b))
  expect_equal(table["g", "Chisq"], chi, tolerance = 1e-4)
  expect_identical(table["g", "Df"], 2L)
  expect_equal(table["g", 3L], stats::pchisq(chi, 2, lower.tail = FALSE), tolerance = 1e-3)
  expect_no_match(attr(table, "heading")[[1L]], "noise")
  private <- seeded_glm(y ~ a + g, data, epsilon = 3, bounds = glm_bounds())
  V <- vcov(private)
  z <- coef(private)[["a"]]^2 / V["a", "a"]
  private$identified[] <- TRUE
  expect_equal(anova(private)["a", "Chisq"], z)
  private$identified[["gv"]] <- FALSE
  lost <- anova(private)
  expect_identical(is.na(lost$Chisq), c(FALSE, TRUE))
  expect_output(print(lost), "Not identified at this budget, so not tested: g")
  expect_error(anova(open, open), "deviances", class = "dpsc_error_argument")
  expect_error(update(open, . ~ a), "another budget", class = "dpsc_error_argument")
  bare <- seeded_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(), intervals = FALSE)
  expect_error(anova(bare), "no standard errors", class = "dpsc_error_argument")
})

test_that("the report of a regression states the guarantee, or that there is no guarantee", {
  people <- lm_people(4000)
  fit <- seeded_lm(y ~ a + g, people, epsilon = 3, bounds = lm_bounds())
  said <- report(fit)
  expect_length(said$result, 3L)
  limits <- format_value(confint(fit)["a", ])
  expect_match(said$result[[1L]], paste(limits[[1L]], "to", limits[[2L]]), fixed = TRUE)
  expect_match(said$guarantee, "NOT PRIVATE")
  real <- dp_lm(y ~ a + g, people, epsilon = 3, bounds = lm_bounds())
  expect_match(report(real)$guarantee, "epsilon = 3 and delta = 1e-06")
  lost <- dp_lm(y ~ (a + b + g + s)^2, people[1:400, ], epsilon = 1, bounds = lm_bounds())
  expect_match(report(lost)$result[[1L]], "not identified at this budget")
  open <- report(dp_lm(y ~ a + g, people, epsilon = Inf, bounds = lm_bounds(), vcov = "HC"))
  expect_match(open$guarantee, "NOT PRIVATE")
  expect_match(open$references, "White")
  expect_no_match(paste(open$methods, open$result, collapse = " "), "noise|privacy together")
  expect_match(report(real, format = "latex")$result[[1L]], "\\%", fixed = TRUE)
  expect_error(report(real, placebo = 1), class = "dpsc_error_argument")
})

test_that("pdp() gives donors' losses for a fit with several dates, also as a table", {
  panel <- sim_panel(n = 60, T0 = 6, T1 = 4)
  fit <- dp_synth(panel$donors,
    target = rbind(a = panel$target, b = panel$target), T0 = c(6, 8), epsilon = 2,
    bounds = c(-1, 1), protect = "donors"
  )
  loss <- pdp(fit, panel$donors)
  expect_identical(loss, pdp(fit$release, panel$donors))
  expect_identical(tidy(loss), as.data.frame(loss))
})

test_that("errors of dp_audit(), dp_plan_online() and dp_plan_select() name the missing argument", {
  bounds <- list(y = c(0, 1), x = c(0, 1))
  asked <- list(
    mechanism = quote(dp_audit()), data = quote(dp_audit(function(x) x)),
    neighbour = quote(dp_audit(function(x) x, 1)), bounds = quote(dp_plan_online(y ~ x)),
    horizon = quote(dp_plan_online(y ~ x, bounds)),
    epsilon = quote(dp_plan_online(y ~ x, bounds, 100)), n = quote(dp_plan_select(y ~ x, bounds)),
    size = quote(dp_plan_select(y ~ x, bounds, 100))
  )
  for (name in names(asked)) {
    expect_error(eval(asked[[name]]), paste0("`", name, "` is required"),
      class = "dpsc_error_argument"
    )
  }
})
