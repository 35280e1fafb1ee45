# The fit: shapes, names and units of the values of its methods, and the limits without privacy
# compared with base R.

fit_panel_of <- function(p, ..., epsilon = 1, bounds = c(-1, 1), donors = p$donors,
                         target = p$target, rng = "R", seed = 1) {
  withr::local_seed(seed)
  dp_synth(donors,
    target = target, T0 = p$T0, epsilon = epsilon, bounds = bounds,
    control = dp_control(rng = rng), ...
  )
}

printed <- function(x) utils::capture.output(print(x))

# Ridge synthetic control with an intercept in two forms: weights of donors, and a regression over
# periods. `lambda / 2` multiplies the squared norm, on the scale of the panel.
ridge_by_hand <- function(donors, y, T0, lambda, intercept = TRUE) {
  pre <- seq_len(T0)
  mean <- if (intercept) colMeans(donors) else rep(0, ncol(donors))
  x <- sweep(donors, 2, mean)
  u <- y[pre] - mean[pre]
  w <- solve(tcrossprod(x[, pre]) + diag(lambda / 2, nrow(x)), x[, pre] %*% u)
  b <- solve(crossprod(x[, pre]) + diag(lambda / 2, T0), crossprod(x[, pre], x))
  list(vertical = drop(mean + crossprod(x, w)), horizontal = drop(mean + crossprod(b, u)))
}

test_that("with epsilon = Inf method gram is the ridge synthetic control of the donors' data", {
  p <- toy_panel(n = 30, T0 = 8, T1 = 3)
  withr::local_seed(1)
  for (lambda in c(0.01, 1, 50)) {
    for (shift in c(0, 1000)) {
      donors <- p$donors + shift
      target <- p$target + shift
      fit <- dp_synth(donors,
        target = target, T0 = 8, epsilon = Inf, control = dp_control(lambda = lambda)
      )
      hand <- ridge_by_hand(donors, target[1, ], 8, lambda)
      expect_lt(max(abs(hand$vertical - hand$horizontal)), 1e-8)
      expect_lt(max(abs(predict(fit, "all") - hand$vertical)), 1e-8)
      expect_equal(fit$penalty, lambda)
    }
  }
  # With bounds the penalty refers to their scale. Values are not clipped.
  fit <- dp_synth(p$donors,
    target = p$target, T0 = 8, epsilon = Inf, control = dp_control(lambda = 2),
    bounds = c(-0.5, 0.5)
  )
  hand <- ridge_by_hand(2 * p$donors, 2 * p$target[1, ], 8, 2)
  expect_lt(max(abs(predict(fit, "all") - hand$horizontal / 2)), 1e-8)
  # The same fit results if the penalty that it chose is given.
  fit <- dp_synth(p$donors, target = p$target, T0 = 8, epsilon = Inf)
  hand <- ridge_by_hand(p$donors, p$target[1, ], 8, fit$penalty)
  expect_lt(max(abs(predict(fit, "all") - hand$vertical)), 1e-8)
  expect_lt(max(abs(predict(fit, "all") - hand$horizontal)), 1e-8)
})

test_that("with epsilon = Inf method gram is ridge regression even with more periods than donors", {
  p <- toy_panel(n = 6, T0 = 20, T1 = 2)
  fit <- dp_synth(p$donors,
    target = p$target, T0 = 20, epsilon = Inf, control = dp_control(lambda = 0.1)
  )
  hand <- ridge_by_hand(p$donors, p$target[1, ], 20, 0.1)
  expect_lt(max(abs(predict(fit, "all") - hand$vertical)), 1e-8)
})

test_that("without privacy fits from chunks or to several targets equal separate fits", {
  p <- toy_panel(n = 30, T0 = 8, T1 = 3, k = 2)
  whole <- dp_synth(p$donors, target = p$target, T0 = 8, epsilon = Inf)
  chunks <- dp_chunks(list(p$donors[20:30, ], p$donors[1:19, ]))
  expect_equal(predict(dp_synth(chunks, p$target, 8, Inf), "all"), predict(whole, "all"))
  # The group's fit is the fit of its mean. A member's fit is the fit of that member alone.
  second <- dp_synth(p$donors, target = p$target[2, ], T0 = 8, epsilon = Inf)
  members <- fit_view(whole, "unit")
  expect_equal(unname(predict(second)[1, ]), unname(predict(members)[2, ]))
  expect_identical(whole$target[1, ], colMeans(p$target))
  expect_equal(unname(predict(whole)[1, ]), colMeans(unname(predict(members))))
  sized <- dp_synth(p$donors, target = p$target, T0 = 8, epsilon = Inf, size = c(3, 1))
  expect_equal(sized$target[1, ], drop(c(0.75, 0.25) %*% p$target))
  expect_identical(sized$size, 4)
})

test_that("with epsilon = Inf published output and objective are ridge without an intercept", {
  p <- toy_panel(n = 30, T0 = 8, T1 = 3)
  for (lambda in list(NULL, 0.5, 40)) {
    penalty <- if (is.null(lambda)) 8 else lambda
    hand <- ridge_by_hand(p$donors, p$target[1, ], 8, penalty, intercept = FALSE)
    weights <- solve(
      tcrossprod(p$donors[, 1:8]) + diag(penalty / 2, 30), p$donors[, 1:8] %*% p$target[1, 1:8]
    )
    for (method in c("output", "objective")) {
      fit <- dp_synth(p$donors,
        target = p$target, T0 = 8, epsilon = Inf, method = method, calibration = "published",
        bounds = c(-1, 1), control = dp_control(lambda = lambda)
      )
      expect_lt(max(abs(predict(fit) - hand$vertical[9:11])), 1e-8)
      expect_lt(max(abs(weights(fit) - weights)), 1e-8)
      expect_identical(fit$penalty, penalty)
    }
  }
})

test_that("with epsilon = Inf method objective minimises the ridge objective in its bounded set", {
  p <- toy_panel(n = 30, T0 = 8, T1 = 3)
  fit <- dp_synth(p$donors,
    target = p$target, T0 = 8, epsilon = Inf, method = "objective", bounds = c(-1, 1)
  )
  f <- unname(weights(fit))
  cap <- 2 / sqrt(30)
  expect_lte(sum(abs(f)), 1 + 1e-9)
  expect_lte(max(abs(f)), cap + 1e-9)
  value <- function(f) sum((p$target[1, 1:8] - f %*% p$donors[, 1:8])^2) + 8 / 2 * sum(f^2)
  withr::local_seed(1)
  for (i in 1:200) {
    other <- pmax(pmin(f + rnorm(30, sd = 10^-sample(1:6, 1)), cap), -cap)
    other <- other / max(1, sum(abs(other)))
    expect_gte(value(other), value(f) - 1e-10)
  }
  expect_equal(unname(predict(fit)[1, ]), drop(f %*% p$donors[, 9:11]))
})

test_that("with epsilon = Inf estimator did is difference-in-differences", {
  p <- toy_panel(n = 30, T0 = 8, T1 = 3, k = 2)
  fit <- dp_synth(p$donors, target = p$target, T0 = 8, epsilon = Inf, estimator = "did")
  mean <- colMeans(p$donors)
  expected <- (p$target[, 9:11] - rowMeans(p$target[, 1:8])) -
    rep(mean[9:11] - mean(mean[1:8]), each = 2)
  expect_lt(max(abs(effects(fit_view(fit, "unit")) - expected)), 1e-10)
  expect_lt(max(abs(effects(fit) - colMeans(expected))), 1e-10)
  expect_match(printed(fit)[[1L]], "difference-in-differences")
  # With many donors or a large budget the private fit approaches the fit without privacy, however
  # the features are chosen.
  withr::local_seed(3)
  panel <- sim_panel(20000, 10, 3, effect = 0.1)
  for (rows in list(1:500, 1:3000, 1:20000)) {
    donors <- panel$donors[rows, ]
    fit <- dp_synth(donors,
      target = panel$target, T0 = 10, epsilon = 40000 / length(rows), bounds = c(-1, 1),
      estimator = "did", control = dp_control(rng = "R")
    )
    mean <- colMeans(donors)
    expected <- panel$target[11:13] - mean(panel$target[1:10]) - (mean[11:13] - mean(mean[1:10]))
    expect_lt(max(abs(effects(fit) - expected)), 0.02)
  }
})

test_that("dp_synth() recovers a known effect from a large panel", {
  withr::local_seed(2)
  for (effect in list(0.3, c(0.1, 0.2, 0.3))) {
    panel <- sim_panel(20000, 20, 3, effect = effect, noise_sd = 0.02)
    fit <- dp_synth(panel$donors,
      target = panel$target, T0 = 20, epsilon = 2, bounds = c(-1.3, 1.3),
      control = dp_control(rng = "R")
    )
    expect_lt(max(abs(effects(fit) - panel$effect)), 0.1)
    expect_lt(abs(mean(effects(fit)) - mean(panel$effect)), 0.06)
    interval <- confint(fit, "average")
    expect_true(interval[[1L]] <= mean(effect) && mean(effect) <= interval[[2L]])
    expect_gt(interval[[1L]], 0)
    expect_lt(tidy(fit)$p.value[[1L]], 0.01)
  }
})

test_that("outcomes and bounds in other units give the same effects in the new units", {
  p <- toy_panel(n = 40, T0 = 6, T1 = 2)
  grid <- function(x) round(x * 2^10) / 2^10
  donors <- grid(p$donors)
  target <- grid(p$target)
  for (method in c("gram", "output", "objective")) {
    for (calibration in c("tight", "published")) {
      for (epsilon in c(1, Inf)) {
        fits <- lapply(list(c(1, 0), c(64, 256)), function(unit) {
          fit_panel_of(p,
            donors = unit[[1L]] * donors + unit[[2L]], target = unit[[1L]] * target + unit[[2L]],
            bounds = unit[[1L]] * c(-1, 1) + unit[[2L]], method = method, calibration = calibration,
            epsilon = epsilon
          )
        })
        label <- paste(method, calibration, epsilon)
        for (verb in list(effects, confint)) {
          expect_equal(verb(fits[[2L]]), 64 * verb(fits[[1L]]), tolerance = 1e-12, label = label)
        }
        errors <- lapply(fits, function(fit) tidy(fit)$std.error)
        expect_equal(errors[[2L]], 64 * errors[[1L]], tolerance = 1e-12, label = label)
        expect_equal(predict(fits[[2L]]), 64 * predict(fits[[1L]]) + 256, tolerance = 1e-12)
      }
    }
  }
})

test_that("functions for a fit by method gram return values of the documented shape and type", {
  p <- toy_panel(n = 400, T0 = 6, T1 = 2, k = 2)
  days <- as.Date("2024-01-01") + 7 * 0:7
  fit <- fit_panel_of(p, times = days, epsilon = 4, protect = "donors")
  all <- format(days)
  post <- all[7:8]
  name <- "mean of 2 treated units"
  group <- colMeans(p$target)

  expect_identical(dimnames(effects(fit)), list(name, post))
  expect_identical(dimnames(predict(fit)), list(name, post))
  expect_identical(dimnames(predict(fit, "pre")), list(name, all[1:6]))
  expect_identical(dimnames(predict(fit, type = "all")), list(name, all))
  expect_identical(fitted(fit), predict(fit, "pre"))
  expect_equal(unname(residuals(fit)), group[1:6] - unname(fitted(fit)), ignore_attr = TRUE)
  expect_equal(unname(effects(fit)[1, ]), group[7:8] - unname(predict(fit)[1, ]))
  expect_identical(nobs(fit), 400L)

  terms <- c("average", post)
  for (type in c("overall", "unit")) {
    view <- fit_view(fit, type)
    names <- if (type == "unit") rownames(p$target) else name
    table <- tidy(fit, type = type)
    expect_named(table, c(
      "target", "term", "estimate", "std.error", "privacy.se", "statistic", "p.value"
    ))
    expect_identical(table$target, rep(names, each = 3))
    expect_identical(table$term, rep(terms, length(names)))
    expect_equal(table$estimate, c(rbind(rowMeans(effects(view)), t(effects(view)))))
    expect_true(all(table$std.error > 0))
    expect_equal(table$statistic, table$estimate / table$std.error)
    expect_equal(table$p.value, 2 * pnorm(-abs(table$statistic)))
    wide <- tidy(fit, conf.int = TRUE, conf.level = 0.2, type = type)
    expect_identical(wide[names(table)], table)
    expect_equal(wide$conf.high - wide$conf.low, 2 * qnorm(0.6) * table$std.error)
  }

  table <- tidy(fit)
  limits <- confint(fit, level = 0.2)
  wide <- tidy(fit, conf.int = TRUE, conf.level = 0.2)
  expect_equal(unname(limits), unname(as.matrix(wide[c("conf.low", "conf.high")])))
  expect_identical(colnames(limits), c("40 %", "60 %"))
  expect_identical(rownames(limits), terms)
  both <- confint(fit, level = 0.2, simultaneous = TRUE)
  band <- effect_table(fit)$band.error
  # Limits are cut at the bounds.
  reach <- qnorm((1 + 0.2^(1 / 2)) / 2) * band[[2L]]
  effect <- table$estimate[[2L]]
  allowed <- group[[7L]] + c(-1, 1)
  cut <- c(max(effect - reach, allowed[[1L]]), min(effect + reach, allowed[[2L]]))
  expect_equal(unname(both[2, ]), cut)
  expect_equal(both[1, 2] - both[1, 1], 2 * qnorm(0.6) * band[[1L]])
  # No limit is outside the bounds.
  far <- confint(fit, level = 1 - 1e-12)
  expect_equal(unname(far[-1, 1]), group[7:8] - 1)
  expect_equal(unname(far[-1, 2]), group[7:8] + 1)

  expect_identical(dim(glance(fit)), c(1L, 12L))
  expect_identical(glance(fit)$effect, mean(effects(fit)))
  expect_equal(glance(fit)$pre.rmse, sqrt(mean(residuals(fit)^2)))
  expect_identical(glance(fit)[c("method", "estimator", "n.donors")],
    data.frame(method = "gram", estimator = "ridge", n.donors = 400L)
  )

  table <- augment(fit)
  expect_named(table, c("target", "period", "treated", ".observed", ".fitted", ".resid"))
  expect_identical(table$period, days)
  expect_identical(table$treated, rep(c(FALSE, TRUE), c(6, 2)))
  expect_equal(table$.observed, group)
  expect_equal(table$.observed - table$.fitted, table$.resid)
  expect_error(weights(fit), class = "dpsc_error_argument")
})

test_that("without a calibration a fit has an estimate and the reason for a missing interval", {
  p <- toy_panel(n = 40, T0 = 6, T1 = 2)
  fit <- fit_panel_of(p)
  expect_true(all(is.finite(effects(fit))))
  expect_true(all(is.na(confint(fit))))
  table <- tidy(fit, conf.int = TRUE)
  expect_true(all(is.na(table$std.error)) && all(is.na(table$p.value)))
  expect_true(all(table$privacy.se > 0))
  expect_null(summary(fit)$test)
  expect_match(printed(fit), "no interval: 40 donors at epsilon = 1", all = FALSE)
  expect_no_match(printed(fit), "% interval")
  # The summary and the figure also state that the band from the noise alone is not an interval.
  expect_match(printed(summary(fit)), "^no interval: 40 donors at epsilon = 1", all = FALSE)
  if (requireNamespace("ggplot2", quietly = TRUE)) {
    for (type in c("path", "effect")) {
      under <- ggplot2::autoplot(fit, type = type)$labels$subtitle
      expect_match(under, "NO INTERVAL: 40 donors at epsilon = 1")
    }
  }
  # The fit uses another estimator than the estimator whose errors were released.
  fit <- fit_panel_of(toy_panel(n = 400, T0 = 6, T1 = 2), epsilon = 4)
  expect_false(anyNA(confint(fit)))
  other <- update(fit, estimator = "did")
  expect_true(all(is.na(confint(other))))
  expect_match(printed(other), "another estimator", all = FALSE)
  expect_match(printed(update(fit, lambda = 7)), "another penalty", all = FALSE)
})

test_that("update() keeps a group's target and its number of people", {
  p <- toy_panel(n = 400, T0 = 6, T1 = 2, k = 2)
  fit <- fit_panel_of(p, epsilon = 4, size = c(30, 10), protect = "donors")
  expect_identical(update(fit), fit)
  other <- update(fit, estimator = "did")
  expect_identical(other$size, 40)
  expect_identical(other$units$size, c(30, 10))
  expect_identical(other$target, fit$target)
  expect_identical(update(fit, target = p$target[1, ])$size, 1)
})

test_that("for a group, methods output and objective use the mean of its people", {
  p <- toy_panel(n = 40, T0 = 6, T1 = 2, k = 2)
  for (method in c("output", "objective")) {
    ledger <- dp_ledger(2, 1e-5)
    fit <- dp_synth(p$donors,
      target = p$target, T0 = 6, epsilon = 1, bounds = c(-1, 1), method = method,
      size = c(3, 1), ledger = ledger, protect = "donors"
    )
    expect_equal(fit$release$settings$target, drop(c(0.75, 0.25) %*% p$target[, 1:6]))
    expect_identical(nrow(as.data.frame(ledger)), 1L)
  }
})

test_that("fits by methods output and objective return NA for results that they cannot give", {
  p <- toy_panel(n = 40, T0 = 6, T1 = 2)
  for (method in c("output", "objective")) {
    fit <- fit_panel_of(p, method = method)
    expect_named(weights(fit), as.character(1:40))
    expect_true(all(is.na(fitted(fit))))
    expect_true(all(is.na(residuals(fit))))
    expect_true(all(is.finite(effects(fit))))
    table <- tidy(fit, conf.int = TRUE)
    expect_true(all(is.na(table$statistic)) && all(is.na(table$p.value)))
    expect_true(all(table$std.error > 0))
    expect_equal(unname(confint(fit)), unname(as.matrix(table[c("conf.low", "conf.high")])))
    expect_match(printed(fit), "of the privacy noise alone", all = FALSE)
    expect_false(any(grepl("; p ", printed(fit), fixed = TRUE)))
    fit <- fit_panel_of(p, method = method, epsilon = Inf)
    expect_true(all(is.na(confint(fit))))
    expect_false(any(grepl("% interval", printed(fit))))
    expect_match(printed(fit), "no interval: ", all = FALSE)
  }
})

test_that("methods for fits by dp_synth() refuse invalid arguments", {
  p <- toy_panel(n = 40, T0 = 6, T1 = 2)
  fit <- fit_panel_of(p)
  expect_identical(rownames(confint(fit, c("8", "average"))), c("8", "average"))
  expect_identical(rownames(confint(fit, 7)), "7")
  expect_error(confint(fit, "6"), class = "dpsc_error_argument")
  for (bad in list(0, 1, 95, NA, "0.9", c(0.8, 0.9))) {
    expect_error(confint(fit, level = bad), class = "dpsc_error_argument")
    expect_error(summary(fit, level = bad), class = "dpsc_error_argument")
    expect_error(tidy(fit, conf.int = TRUE, conf.level = bad), class = "dpsc_error_argument")
  }
  expect_error(confint(fit, simultaneous = NA), class = "dpsc_error_argument")
  expect_error(tidy(fit, conf.int = "yes"), class = "dpsc_error_argument")
  expect_error(predict(fit, "both"), class = "dpsc_error_argument")
  expect_error(fit_panel_of(p, estimator = "lasso"), class = "dpsc_error_argument")
  skip_if_not_installed("ggplot2")
  expect_error(plot(fit, type = "placebo"), class = "dpsc_error_argument")
  expect_error(plot(fit, level = 2), class = "dpsc_error_argument")
  expect_error(ggplot2::autoplot(fit, donors = TRUE), class = "dpsc_error_argument")
})

test_that("a formula and a matrix give the same fit, and log() is the natural logarithm", {
  p <- toy_panel(n = 40, T0 = 6, T1 = 2)
  long <- function(formula, data, bounds) {
    withr::local_seed(8)
    dp_synth(formula, data, c("unit", "time"), 1,
      bounds = bounds, control = dp_control(rng = "R")
    )
  }
  data <- p$data
  fit <- long(y ~ treated, data, c(-1, 1))
  wide <- fit_panel_of(p, times = p$times, seed = 8)
  expect_identical(fit$counterfactual, wide$counterfactual)
  data$e <- exp(data$y)
  limits <- list("log(e)" = c(-1, 1))
  expect_equal(predict(long(log(e) ~ treated, data, limits), "all"), predict(fit, "all"))
  expect_output(print(long(log(e) ~ treated, data, limits)), "log(e): 40 donors", fixed = TRUE)
  data$unit <- factor(data$unit, levels = rev(unique(data$unit)))
  expect_equal(predict(long(y ~ treated, data, c(-1, 1))), predict(fit))
  skip_if_not_installed("tibble")
  expect_identical(long(y ~ treated, tibble::as_tibble(p$data), c(-1, 1)), fit)
})

test_that("fits keep periods of seven classes (factors as text), and their plots can be built", {
  skip_if_not_installed("ggplot2")
  p <- toy_panel(n = 40, T0 = 6, T1 = 2, k = 2)
  kinds <- list(
    1:8, 2000.5 + 1:8, as.Date("2020-01-31") + 30 * 1:8, letters[8:1],
    as.POSIXct("2020-01-01", tz = "UTC") + 86400 * 1:8, factor(letters[1:8], levels = letters[1:8]),
    as.difftime(1:8, units = "days")
  )
  for (times in kinds) {
    for (target in list(p$target, p$target[1, ])) {
      fit <- fit_panel_of(p, times = times, target = target, protect = "donors")
      expect_output(print(summary(fit)))
      kept <- if (is.factor(times)) as.character(times) else times
      expect_identical(augment(fit)$period[1:8], kept)
      for (type in c("path", "gap")) {
        built <- ggplot2::ggplot_build(ggplot2::autoplot(fit, type = type))
        expect_s3_class(built$plot, "ggplot")
      }
    }
  }
  # A plot contains the target, the counterfactual and the band, in one panel per target.
  built <- ggplot2::ggplot_build(ggplot2::autoplot(fit))
  expect_identical(length(unique(built$data[[1L]]$PANEL)), 1L)
})

test_that("plots by three methods with one post-period state the privacy, with and without noise", {
  skip_if_not_installed("ggplot2")
  p <- toy_panel(n = 40, T0 = 6, T1 = 1)
  for (method in c("gram", "output", "objective")) {
    for (epsilon in c(1, Inf)) {
      fit <- fit_panel_of(p, method = method, epsilon = epsilon)
      for (type in c("path", "gap")) {
        expect_no_warning(built <- ggplot2::ggplot_build(ggplot2::autoplot(fit, type = type)))
        text <- paste(built$plot$labels$title, built$plot$labels$subtitle)
        expect_match(text, "NOT PRIVATE")
      }
    }
  }
  fit <- fit_panel_of(p, rng = "secure")
  expect_match(ggplot2::autoplot(fit)$labels$subtitle, "private with epsilon = 1, delta = 1e-06")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_invisible(plot(fit))
})

test_that("print() and summary() match their snapshots", {
  p <- toy_panel(n = 400, T0 = 6, T1 = 2, k = 2)
  # The numbers are random, and so are the notes on data dominated by noise and on wide intervals.
  shape <- function(x) {
    text <- sub("^    id [0-9a-f]{32}$", "    id #", printed(x))
    text <- gsub("[-+]?[0-9][0-9.]*(e[-+]?[0-9]+)?", "#", text)
    text <- gsub(" +", " ", gsub("p [=<] #", "p = #", text))
    text <- text[!grepl("SWAMPS|cannot support|before-after", text)]
    wide <- "(?s)[^\n]*The interval is # times.*?are large[.]\n?"
    strsplit(sub(wide, "", paste(text, collapse = "\n"), perl = TRUE), "\n")[[1L]]
  }
  for (method in c("gram", "output")) {
    # The noise determines whether a group has an interval; a single person has an interval here.
    target <- if (method == "gram") p$target[1, ] else p$target
    fit <- fit_panel_of(p, method = method, rng = "secure", epsilon = 4, target = target,
      protect = "donors"
    )
    expect_snapshot(writeLines(shape(fit)))
    expect_snapshot(writeLines(shape(summary(fit))))
  }
  few <- toy_panel(n = 40, T0 = 6, T1 = 2)
  expect_snapshot(writeLines(shape(fit_panel_of(few, rng = "secure", epsilon = 0.5))))
  expect_snapshot(writeLines(shape(fit_panel_of(p, epsilon = Inf))))
})

test_that("print() and summary() invisibly return the object that they print", {
  fit <- fit_panel_of(toy_panel(n = 40, T0 = 6, T1 = 2))
  for (x in list(fit, fit$release, summary(fit))) {
    utils::capture.output(out <- withVisible(print(x)))
    expect_false(out$visible)
    expect_identical(out$value, x)
  }
  summary <- summary(fit, level = 0.9)
  expect_identical(summary$level, 0.9)
  expect_equal(unname(as.matrix(summary$effects[c("conf.low", "conf.high")])),
    unname(confint(fit, level = 0.9))
  )
  expect_true(all(summary$effects$privacy.share >= 0 & summary$effects$privacy.share <= 1))
})
