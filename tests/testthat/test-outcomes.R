# Several outcomes, `cbind(y1, y2) ~ treated`: one charge, and one release per outcome.

two_outcomes <- function(n = 400, dates = rep(5, 30), seed = 1) {
  p <- staggered_covariates(n = n, dates = dates, seed = seed)
  withr::local_seed(seed)
  p$data$z <- 5 + (p$data$y - 50) / 20 + stats::rnorm(nrow(p$data), 0, 0.3)
  p$both <- list(y = c(0, 100), z = c(0, 10))
  p
}

outcome_fit <- function(p, formula = cbind(y, z) ~ on, ..., bounds = p$both, epsilon = 4, seed = 1,
                        protect = "donors", control = dp_control(rng = "R"), data = p$data,
                        fun = dp_synth) {
  withr::local_seed(seed)
  fun(formula, data, c("unit", "time"),
    epsilon = epsilon, bounds = bounds, protect = protect, control = control, ...
  )
}

test_that("each outcome's release equals a release with its share of the budget, bit for bit", {
  p <- two_outcomes()
  for (delta in c(1e-6, 0)) {
    fit <- outcome_fit(p, delta = delta)
    share <- share_of_epsilon(4, delta, 1 / 2)
    alone <- withr::with_seed(1, lapply(c(y = "y", z = "z"), function(name) {
      dp_synth(stats::reformulate("on", name), p$data, c("unit", "time"),
        epsilon = share, delta = delta, bounds = p$both[[name]], protect = "donors",
        control = dp_control(rng = "R")
      )
    }))
    for (name in c("y", "z")) {
      expect_identical(fit$outcomes[[name]]$release, alone[[name]]$release)
      expect_identical(
        tidy(fit, conf.int = TRUE)[tidy(fit)$outcome == name, -1],
        tidy(alone[[name]], conf.int = TRUE), ignore_attr = TRUE
      )
    }
  }
})

test_that("three outcomes cost the requested budget once, also if treated people are protected", {
  p <- two_outcomes(n = 500, dates = rep(5, 200))
  p$data$w <- 10 - p$data$z
  three <- c(p$both, list(w = c(0, 10)))
  for (protect in c("donors", "everyone")) {
    for (delta in c(1e-6, 0)) {
      ledger <- dp_ledger(4, 1e-6)
      fit <- outcome_fit(p, cbind(y, z, w) ~ on,
        bounds = three, delta = delta, protect = protect, ledger = ledger, control = dp_control()
      )
      charged <- as.data.frame(ledger)
      expect_identical(nrow(charged), 1L)
      expect_match(charged$label, "3 outcomes")
      steps <- fit$privacy$steps
      expect_setequal(steps$outcome, names(three))
      for (account in split(steps, steps$account %||% "donors")) {
        if (delta > 0) {
          expect_lte(sum(account$mu^2), gdp_budget_cpp(4, delta)^2 * (1 + 1e-9))
          expect_gte(sum(account$mu^2), gdp_budget_cpp(4, delta)^2 * 0.99)
        } else {
          expect_lte(sum(account$epsilon), 4 * (1 + 1e-9))
        }
      }
      expect_identical(unique(glance(fit)$epsilon), 4)
      expect_true(all(glance(fit)$private))
      expect_lt(fit$outcomes$y$release$privacy$epsilon, 4)
    }
  }
})

test_that("if ledgers are compulsory, a ledger in the call pays for several outcomes", {
  p <- two_outcomes()
  withr::local_options(dpsc.require_ledger = TRUE)
  expect_error(outcome_fit(p, control = dp_control()), class = "dpsc_error_budget")
  ledger <- dp_ledger(4, 1e-6)
  outcome_fit(p, ledger = ledger, control = dp_control())
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})

test_that("check_composed() refuses steps of several outcomes that cost more than the budget", {
  steps <- data.frame(mu = c(0.3, 0.4), epsilon = NA_real_)
  budget <- list(epsilon = gdp_epsilon_cpp(0.51, 1e-6), delta = 1e-6)
  expect_silent(check_composed(steps, outcome_cost(budget)))
  # Accounts without common people each receive the whole budget.
  both <- cbind(rbind(steps, steps), account = rep(c("a", "b"), each = 2))
  expect_silent(check_composed(both, outcome_cost(budget)))
  budget$epsilon <- gdp_epsilon_cpp(0.49, 1e-6)
  expect_error(check_composed(steps, outcome_cost(budget)), class = "dpsc_error_internal")
  expect_error(check_composed(both, outcome_cost(budget)), class = "dpsc_error_internal")
})

# The cost of the changes in a replay on a neighbour, given their noise, as a share of the squared
# budget.
moved_share <- function(p, neighbour, epsilon, changes = list()) {
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, c(list(gram_release_cpp = core_hook(recorder)), changes))
  calls <- record_and_replay(list(recorder = recorder, run = function(data) {
    suppressWarnings(outcome_fit(p, data = data, epsilon = epsilon, fun = scope$dp_synth.formula))
    list()
  }), p$data, neighbour)
  cost <- vapply(calls, function(call) {
    shift <- call_shift(call)
    if (call$law == "exponential") exponential_step_mu_cpp(shift) else shift / sqrt(max(call$scale))
  }, 0)
  sum(cost^2) / gdp_budget_cpp(epsilon, 1e-6)^2
}

test_that("an audit of two outcomes finds no cost above the budget and detects double spending", {
  p <- two_outcomes(n = 60, dates = 5)
  others <- p$data$unit != "u0061"
  p$data$y[others] <- 50
  p$data$z[others] <- 5
  one <- p$data$unit == "u0001"
  neighbour <- p$data
  # A flat row is zero relative to its level. One of them jumps up in the first data set and down in
  # the second.
  up <- as.numeric(p$data$time[one] > 5)
  p$data[one, c("y", "z")] <- cbind(100 * up, 10 * up)
  neighbour[one, c("y", "z")] <- cbind(100 - 100 * up, 10 - 10 * up)
  honest <- moved_share(p, neighbour, 2)
  expect_lte(honest, 1)
  # The fault is that each outcome gets the whole budget, and that the total is not checked.
  greedy <- list(
    share_of_epsilon = function(epsilon, delta, share) epsilon,
    check_composed = function(steps, cost, holds) NULL
  )
  expect_gt(moved_share(p, neighbour, 2, greedy), 1)
  expect_gt(honest, 0.5)
})

test_that("without privacy fits of two outcomes contain the separate fits, for four estimators", {
  p <- two_outcomes(n = 40, dates = c(5, 5))
  for (estimator in c("ridge", "did", "simplex", "sdid")) {
    fit <- outcome_fit(p, epsilon = Inf, estimator = estimator, bounds = NULL)
    one <- dp_synth(z ~ on, p$data, c("unit", "time"), epsilon = Inf, estimator = estimator)
    expect_equal(fit$outcomes$z[c("counterfactual", "target")], one[c("counterfactual", "target")])
    expect_output(print(fit), "NOT PRIVATE")
  }
})

test_that("percentages, sums and limits of several outcomes equal the results of single fits", {
  p <- two_outcomes(n = 600)
  fit <- outcome_fit(p)
  expect_s3_class(fit, "dp_outcomes")
  for (type in c("effect", "cumulative", "percent")) {
    all <- as.data.frame(fit, type = type)
    each <- as.data.frame(fit$outcomes$z, type = type)
    expect_equal(all[all$outcome == "z", -1], each, ignore_attr = TRUE)
    expect_false(anyNA(all$conf.low))
  }
  wide <- tidy(fit, conf.int = TRUE, simultaneous = TRUE)
  one <- tidy(fit$outcomes$y, conf.int = TRUE, conf.level = 0.975, simultaneous = TRUE)
  expect_equal(wide$conf.low[wide$outcome == "y"], one$conf.low)
  expect_named(coef(fit), paste0(rep(c("y", "z"), each = 5), ": ", c("average", 6:9)))
  covariance <- vcov(fit)
  expect_equal(covariance[1:5, 1:5], vcov(fit$outcomes$y), ignore_attr = TRUE)
  expect_true(all(is.na(covariance[1:5, 6:10])))
  expect_identical(rownames(confint(fit, parm = "z: average")), "z: average")
  expect_identical(colnames(confint(fit, simultaneous = TRUE)), c("2.5 %", "97.5 %"))
  expect_error(confint(fit, parm = "w"), class = "dpsc_error_argument")
  expect_named(predict(fit), c("y", "z"))
  expect_equal(residuals(fit)$z, residuals(fit$outcomes$z))
  expect_equal(effects(fit)$y, effects(fit$outcomes$y))
  expect_identical(nobs(fit), 600L)
  expect_identical(formula(fit), cbind(y, z) ~ on, ignore_attr = TRUE)
  expect_identical(nrow(augment(fit)), 18L)
  expect_identical(update(fit, estimator = "did")$outcomes$z$estimator, "did")
  expect_identical(update(fit)$outcomes, fit$outcomes)
  for (verb in list(
    conformal, placebo_time, penalty_path, placebo_space, leave_one_out, simulate
  )) {
    expect_error(verb(fit), "takes one outcome", class = "dpsc_error_argument")
  }
  secure <- outcome_fit(p, control = dp_control())
  expect_output(print(secure), "epsilon = 4, delta = 1e-06.*for all outcomes together")
  expect_output(print(summary(secure)), "z: mean and moments, whitened")
  expect_output(print(summary(secure)), "97.5 %")
  text <- report(secure)
  expect_length(text$result, 2)
  expect_match(text$result, "(4, 1e-06)", fixed = TRUE, all = TRUE)
})

test_that("fits of two outcomes accept several dates, covariates, a roster and a database table", {
  p <- two_outcomes(n = 500, dates = rep(c(5, 7), each = 20))
  fit <- outcome_fit(p)
  table <- tidy(fit, type = "cohort", conf.int = TRUE)
  expect_identical(table$cohort, rep(c(NA, "6", "8"), 2))
  expect_output(print(fit), "treated from: 6 .20 units., 8 .20 units.")
  expect_equal(
    coef(fit, type = "cohort")[["z: 8"]], coef(fit$outcomes$z, type = "cohort")[["8"]]
  )
  limits <- c(p$both, p$bounds[-1])
  more <- outcome_fit(p, cbind(y, z) ~ on | x1 + g, bounds = limits)
  expect_identical(more$outcomes$z$release$panel$covariates$name, c("x1", "g: b", "g: c"))
  roster <- dp_roster(p$units, c(rep(NA, p$n), p$dates + 1), 1:9)
  same <- outcome_fit(p, na = "interpolate", roster = roster)
  expect_equal(tidy(same, type = "group_time"), tidy(fit, type = "group_time"))
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite())
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "people", p$data)
  there <- withr::with_seed(1, dp_synth(cbind(y, z) ~ on,
    dp_table(con, "people", c("unit", "time")), epsilon = 4, bounds = p$both, protect = "donors",
    control = dp_control(rng = "R")
  ))
  expect_equal(tidy(there, type = "group_time"), tidy(fit, type = "group_time"))
})

test_that("neither a fit of two outcomes nor compiled code that it calls returns a donor's value", {
  p <- two_outcomes(n = 220)
  donors <- p$data$unit %in% p$units[seq_len(p$n)]
  secrets <- c(p$data$y[donors], p$data$z[donors], mean(p$data$y[donors]), sum(p$data$z[donors]))
  results <- crossings_of(function(scope) {
    outcome_fit(p, fun = scope$dp_synth.formula)
  })
  expect_no_canary(results, secrets, "crossings")
  fit <- outcome_fit(p)
  things <- list(
    fit, tidy(fit, conf.int = TRUE), summary(fit), report(fit), capture.output(print(summary(fit)))
  )
  for (thing in things) expect_no_canary(thing, secrets, "fit")
  expect_false(holds_text(fit, "u0001"))
})

test_that("invalid calls with several outcomes stop with a classed error and spend nothing", {
  p <- two_outcomes(n = 60, dates = c(5, 5))
  ledger <- dp_ledger(4, 1e-6)
  fails <- function(class, text, ...) {
    expect_error(outcome_fit(p, ..., ledger = ledger, control = dp_control()), text, class = class)
  }
  fails("dpsc_error_panel", "need different names", cbind(y, y) ~ on)
  fails("dpsc_error_panel", "need different names", cbind(y, y = log(z)) ~ on)
  fails("dpsc_error_bounds", "no limits for `?z", bounds = p$both["y"])
  fails("dpsc_error_bounds", "not a single column", bounds = c(0, 100))
  fails("dpsc_error_bounds", "could be a column or the outcome", cbind(y = log(y), z) ~ on)
  fails("dpsc_error_bounds", NULL, bounds = c(p$both, list(w = c(0, 1))))
  fails("dpsc_error_bounds", NULL, bounds = list(y = c(0, 100), z = c(10, 0)))
  fails("dpsc_error_bounds", "miss the target", bounds = list(y = c(0, 100), z = c(80, 90)))
  fails("dpsc_error_argument", "gram", method = "output")
  fails("dpsc_error_argument", NULL, estimator = "simplex")
  fails("dpsc_error_panel", NULL, cbind(y, nothing) ~ on,
    bounds = list(y = c(0, 100), nothing = c(0, 1)))
  fails("dpsc_error_protect", "required", protect = NULL)
  fails("dpsc_error_panel", "only one outcome", fun = dp_release)
  fails("dpsc_error_budget", "does not hold enough", epsilon = 5)
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  expect_error(
    dp_synth(cbind(y, z) ~ on, p$data, c("unit", "time"), bounds = p$both, protect = "donors"),
    "`epsilon` is required"
  )
  # cbind() with one column gives one outcome.
  one <- dp_synth(cbind(y) ~ on, p$data, c("unit", "time"), epsilon = Inf)
  expect_s3_class(one, "dp_synth")
})

test_that("the figure of two outcomes with one treatment date is a ggplot with two panels", {
  skip_if_not_installed("ggplot2")
  p <- two_outcomes(n = 600)
  fit <- outcome_fit(p)
  withr::local_pdf(NULL)
  for (type in c("path", "effect", "cumulative", "percent", "balance")) {
    picture <- ggplot2::autoplot(fit, type = type)
    expect_s3_class(picture, "ggplot")
    built <- ggplot2::ggplot_build(picture)
    expect_identical(as.character(built$layout$layout$target), c("y", "z"))
    expect_identical(anyDuplicated(built$layout$layout$SCALE_Y), 0L)
    if (type %in% c("effect", "cumulative", "percent")) {
      points <- built$data[[length(built$data) - 1L]]
      drawn <- lapply(c(y = 1, z = 2), function(panel) points$y[points$PANEL == panel])
      for (name in names(drawn)) {
        said <- as.data.frame(fit$outcomes[[name]], type = type)$estimate
        expect_equal(utils::tail(drawn[[name]], length(said)), said)
      }
    }
  }
  expect_s3_class(plot(fit), "ggplot")
  # The displayed guarantee is for all outcomes together.
  expect_match(ggplot2::autoplot(fit)$labels$subtitle, "epsilon = 4", fixed = TRUE)
  expect_error(plot(fit, type = "weights"), class = "dpsc_error_argument")
  expect_error(plot(fit, type = "nix"), class = "dpsc_error_argument")

  several <- outcome_fit(two_outcomes(n = 400, dates = c(4, 5, 6)))
  for (type in c("event", "dynamic", "cohort", "calendar")) {
    built <- ggplot2::ggplot_build(ggplot2::autoplot(several, type = type))
    expect_identical(as.character(built$layout$layout$target), c("y", "z"))
  }
  built <- ggplot2::ggplot_build(ggplot2::autoplot(several, type = "path"))
  expect_identical(nrow(built$layout$layout), 6L)
})
