# Several adoption dates: estimates, averages, methods, errors.

no_noise_statistics <- function(rows, T0, p = 3) {
  facts <- gram_facts_of(T0 = T0, T1 = ncol(rows) - T0, n = nrow(rows), features = p,
    y = seq_len(T0) / T0)
  plan <- gram_plan_cpp(c(facts, group = FALSE))
  features <- rows %*% plan$loadings
  mean <- colMeans(features)
  list(
    loadings = plan$loadings, pre = plan$pre, weight = plan$weight, demean = plan$demean,
    mean = mean, restore = diag(length(mean)), covariance = crossprod(sweep(features, 2, mean)) /
      nrow(rows), mean_sd = 1e-7, moment_sd = 1e-7
  )
}

test_that("moments for a later cohort are computed from features centred at its own level", {
  rows <- cohort_panel(80, 6, 6)$donors
  s <- no_noise_statistics(rows, 6)
  expect_true(s$demean)
  view <- cohort_view_cpp(s, 9L)
  expect_identical(view$pre, s$pre + 3L)
  features <- rows %*% view$loadings
  expect_equal(view$mean, colMeans(features))
  expect_equal(
    view$restore %*% view$covariance %*% t(view$restore),
    crossprod(sweep(features, 2, colMeans(features))) / nrow(rows)
  )
  # The past consists of features of 6 periods, then 3 single periods. The future consists of
  # outcomes minus the mean of all 9 periods.
  own <- rowMeans(rows[, 1:9])
  expect_equal(features[, view$pre + 1:3], s$weight * (rows[, 10:12] - own))
  expect_equal(features[, s$pre + 1:3], s$weight * (rows[, 7:9] - rowMeans(rows[, 1:6])))
  expect_error(cohort_view_cpp(s, 5L), "own future")
  expect_error(cohort_view_cpp(s, 12L), "own future")
})

test_that("without noise a cohort's fit equals the fit of a panel with its adoption date alone", {
  panel <- cohort_panel(120, 8, 5, k = 3)
  target <- panel$target
  fit <- dp_synth(panel$donors, target = target, T0 = c(8, 10, 10), size = 5, epsilon = Inf)
  expect_named(fit$cohorts, c("9", "11"))
  alone <- dp_synth(panel$donors,
    target = target[2:3, ], T0 = 10, size = 5, epsilon = Inf
  )
  expect_equal(fit$cohorts[["11"]]$counterfactual, alone$counterfactual, tolerance = 1e-9)
  expect_equal(tidy(fit$cohorts[["11"]], conf.int = TRUE), tidy(alone, conf.int = TRUE),
    tolerance = 1e-7
  )
  # The effects and limits of the cohort equal the effects and limits in the table.
  cells <- tidy(fit, "group_time", conf.int = TRUE)
  own <- tidy(alone, conf.int = TRUE)[-1, ]
  columns <- c("estimate", "std.error", "p.value", "conf.low", "conf.high")
  expect_equal(
    cells[cells$cohort == "11", columns], own[columns], tolerance = 1e-7, ignore_attr = TRUE
  )
})

test_that("averages over cohorts are weighted by numbers of people", {
  panel <- cohort_panel(150, 6, 6, k = 4)
  size <- c(1, 3, 2, 4)
  dates <- c(6, 8, 6, 10)
  fit <- dp_synth(panel$donors, target = panel$target, T0 = dates, size = size, epsilon = Inf)
  cells <- tidy(fit, "group_time")
  people <- c(`7` = 3, `9` = 3, `11` = 4)
  average <- function(of) stats::weighted.mean(of$estimate, people[of$cohort])
  event <- tidy(fit, "event")
  for (e in 0:5) {
    here <- cells[cells$event == e, ]
    row <- event[event$event %in% e, ]
    expect_equal(row$estimate, average(here))
    expect_identical(row$cohorts, nrow(here))
    expect_equal(row$people, sum(people[here$cohort]))
  }
  calendar <- tidy(fit, "calendar")
  for (t in 7:12) {
    expect_equal(calendar$estimate[calendar$period %in% t], average(cells[cells$period == t, ]))
  }
  cohort <- tidy(fit, "cohort")
  means <- tapply(cells$estimate, factor(cells$cohort, names(people)), mean)
  expect_equal(cohort$estimate[-1], as.vector(means))
  overall <- stats::weighted.mean(means, people)
  for (type in c("event", "cohort", "calendar", "overall")) {
    expect_equal(tidy(fit, type)$estimate[[1]], overall)
  }
  expect_equal(glance(fit)$effect, overall)
  expect_equal(unname(coef(fit, "calendar")), calendar$estimate)
  # A cohort's target is the mean of its people.
  mean <- colSums(panel$target[c(1, 3), ] * c(1, 2)) / 3
  expect_equal(fit$cohorts[["7"]]$target[1, ], mean)
})

test_that("difference-in-differences without noise equals its closed form", {
  panel <- cohort_panel(50, 6, 4)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = c(6, 8), epsilon = Inf, estimator = "did"
  )
  donors <- colMeans(panel$donors)
  cells <- tidy(fit, "group_time")
  for (g in 1:2) {
    T0 <- c(6, 8)[[g]]
    gap <- panel$target[g, ] - donors
    expect_equal(
      cells$estimate[cells$cohort == T0 + 1], gap[-seq_len(T0)] - mean(gap[seq_len(T0)])
    )
  }
})

test_that("without noise mean effects are within 20 % of Callaway-Sant'Anna and imputation", {
  for (data in list(stagg_like(), castle_like())) {
    fits <- lapply(c("ridge", "did"), function(estimator) {
      dp_synth(y ~ treated, data, c("unit", "time"), epsilon = Inf, estimator = estimator)
    })
    oracles <- list(callaway_santanna(data), imputation(data))
    people <- tapply(data$unit, data$first, function(u) length(unique(u)))
    for (fit in fits) {
      cells <- tidy(fit, "group_time")
      cohort <- tidy(fit, "cohort")[-1, ]
      for (oracle in oracles) {
        expect_equal(as.numeric(cells$cohort), oracle$cohort)
        expect_equal(cells$period, oracle$period)
        expect_gt(stats::cor(cells$estimate, oracle$estimate), 0.6)
        theirs <- tapply(oracle$estimate, oracle$cohort, mean)
        weight <- people[names(theirs)]
        expect_equal(glance(fit)$effect, stats::weighted.mean(theirs, weight), tolerance = 0.2)
        large <- abs(theirs) > 0.5
        expect_identical(sign(cohort$estimate[large]), as.vector(sign(theirs[large])))
      }
    }
  }
})

test_that("a cohort with one pre-period is refused; other effects are within 25 % of imputation", {
  data <- mpdta_like()
  expect_error(
    dp_synth(y ~ treated, data, c("unit", "time"), epsilon = Inf), class = "dpsc_error_panel"
  )
  later <- data[data$first != 2004, ]
  fit <- dp_synth(y ~ treated, later, c("unit", "time"), epsilon = Inf)
  truth <- imputation(later)
  expect_equal(tidy(fit, "group_time")$estimate, truth$estimate, tolerance = 0.25)
  expect_true(all(coef(fit, "cohort") < 0))
})

test_that("invalid inputs for several adoption dates raise errors and spend nothing", {
  data <- stagg_like()
  ledger <- dp_ledger(epsilon = 1, delta = 1e-6)
  fit <- function(data, ...) {
    dp_synth(y ~ treated, data, c("unit", "time"), epsilon = 1,
      protect = "donors", bounds = c(-5, 8), ledger = ledger,
      ...
    )
  }
  off <- data
  off$treated[off$unit == data$unit[data$first == 5][[1]] & off$time == 8] <- 0
  expect_error(fit(off), "must last to the end", class = "dpsc_error_panel")
  early <- data
  early$treated[early$first == 4 & early$time == 2] <- 1
  early$treated[early$first == 4 & early$time == 3] <- 1
  expect_error(fit(early, size = 30), "before the adoption of every cohort.*\n.*2 or before: ",
    class = "dpsc_error_panel"
  )
  # Messages do not name single people.
  expect_error(fit(early), "Some treated unit has fewer periods", class = "dpsc_error_panel")
  expect_error(fit(data[is.finite(data$first), ]), "never treated", class = "dpsc_error_panel")
  for (method in c("output", "objective")) {
    expect_error(fit(data, method = method), "takes one adoption date",
      class = "dpsc_error_argument"
    )
  }
  expect_equal(nrow(as.data.frame(ledger)), 0)
  panel <- cohort_panel(60)
  matrix <- function(T0) {
    dp_synth(panel$donors, target = panel$target, T0 = T0, epsilon = 1,
      protect = "donors", bounds = c(-1, 1))
  }
  expect_error(matrix(c(8, 9, 10)), "one for each row", class = "dpsc_error_argument")
  expect_error(matrix(c(1, 9)), "before the adoption", class = "dpsc_error_panel")
  expect_error(matrix(c(8, 13)), "observed in at least one period from", class = "dpsc_error_panel")
  expect_error(matrix(c(8, 9.5)), "whole number", class = "dpsc_error_argument")
})

test_that("one date repeated for every unit is equivalent to a single date", {
  panel <- cohort_panel(60)
  one <- dp_synth(panel$donors, target = panel$target, T0 = 8, epsilon = Inf)
  each <- dp_synth(panel$donors, target = panel$target, T0 = c(8, 8), epsilon = Inf)
  expect_identical(each, one)
})

test_that("with several dates a formula, a matrix and chunks give the same fit", {
  panel <- cohort_panel(300)
  names <- c(sprintf("d%04d", 1:300), "x1", "x2")
  rows <- rbind(panel$donors, panel$target)
  data <- data.frame(
    unit = rep(names, 13), time = rep(1:13, each = 302), outcome = as.vector(rows),
    on = as.numeric(outer(1:302, 1:13, function(i, t) (i == 301 & t > 8) | (i == 302 & t > 10)))
  )
  data <- data[withr::with_seed(2, sample(nrow(data))), ]
  rownames(panel$target) <- c("x1", "x2")
  from_matrix <- cohort_fit_of(panel)
  from_data <- withr::with_seed(1, dp_synth(outcome ~ on, data, c("unit", "time"),
    epsilon = 4, protect = "donors", bounds = c(-1, 1), control = dp_control(rng = "R")
  ))
  expect_equal(tidy(from_data, "group_time"), tidy(from_matrix, "group_time"))
  expect_identical(formula(from_data), outcome ~ on, ignore_attr = TRUE)
  blocks <- list(panel$donors[1:100, ], panel$donors[101:300, ])
  from_chunks <- withr::with_seed(1, dp_synth(dp_chunks(function(i) blocks[[i]], 2),
    target = panel$target, T0 = c(8, 10), epsilon = 4, protect = "donors", bounds = c(-1, 1),
    control = dp_control(rng = "R")
  ))
  expect_equal(tidy(from_chunks, "event"), tidy(from_matrix, "event"))
  # A second fit, from the release, equals the first fit.
  again <- dp_synth(from_matrix$release, target = panel$target, T0 = c(8, 10))
  expect_equal(tidy(again, "event"), tidy(from_matrix, "event"))
})

test_that("a release for several dates is written, read, and used for one or more dates", {
  skip_if_not_installed("jsonlite")
  panel <- cohort_panel(500)
  for (delta in c(1e-6, 0)) {
    release <- withr::with_seed(3, dp_release(panel$donors,
      target = panel$target, T0 = c(8, 10), epsilon = 4,
      protect = "donors", delta = delta, bounds = c(-1, 1),
      control = dp_control(rng = "R")
    ))
    expect_output(print(release), "2 adoption dates")
    path <- withr::local_tempfile(fileext = ".json")
    write_release(release, path, allow_not_private = TRUE)
    expect_identical(read_release(path), release)
    doctored <- release
    doctored$statistics$cohorts$intervals$second_sd <-
      doctored$statistics$cohorts$intervals$second_sd / 2
    write_release(doctored, path, allow_not_private = TRUE)
    expect_error(read_release(path), "noise", class = "dpsc_error_release")
    doctored <- release
    doctored$statistics$cohorts$T0 <- c(8, 99)
    write_release(doctored, path, allow_not_private = TRUE)
    expect_error(read_release(path), "adoption dates", class = "dpsc_error_release")
  }
  # A later date has an estimate. A date without calibration has a reason instead of an interval.
  other <- dp_synth(release, target = panel$target[1, ], T0 = 9)
  expect_s3_class(other, "dp_synth")
  expect_output(
    print(other), "no interval: the release has no calibration for this adoption date"
  )
  first <- dp_synth(release, target = panel$target[1, ])
  expect_identical(first$release$panel$T0, 8L)
  expect_false(anyNA(tidy(first)$std.error))
  expect_error(dp_synth(release, target = panel$target, T0 = c(5, 9)),
    "the number of periods before the first adoption", class = "dpsc_error_argument"
  )
  one <- withr::with_seed(3, dp_release(panel$donors,
    target = panel$target, T0 = 8, epsilon = 4,
    protect = "donors", bounds = c(-1, 1), control = dp_control(rng = "R")
  ))
  both <- dp_synth(one, target = panel$target, T0 = c(8, 10))
  expect_false(anyNA(tidy(both$cohorts[["9"]])$std.error))
  expect_true(all(is.na(tidy(both, "overall")$std.error)))
  expect_output(print(both), "no interval for 11: the release has no calibration")
})

test_that("forecasts before the adoption equal single-date fits with fewer periods", {
  panel <- cohort_panel(200, 8, 5)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = c(8, 10), epsilon = Inf, estimator = "did"
  )
  expect_identical(fit$forecasts$period, c(9L, 10L))
  ahead <- vapply(8:9, function(T0) {
    one <- dp_synth(panel$donors[, 1:(T0 + 1)],
      target = panel$target[2, 1:(T0 + 1)], T0 = T0, epsilon = Inf, estimator = "did"
    )
    effects(one)[[1]]
  }, 0)
  expect_equal(fit$forecasts$residual, ahead, ignore_attr = TRUE)
  event <- tidy(fit, "event")
  expect_equal(event$estimate[event$event %in% c(-2, -1)], ahead)
  expect_identical(event$kind[event$event %in% c(-3, -2, -1, 0)],
    c("fitted", "forecast", "forecast", "effect"))
  fitted <- (residuals(fit$cohorts[[1]])[, 6] + residuals(fit$cohorts[[2]])[, 8]) / 2
  expect_equal(event$estimate[event$event %in% -3], fitted, ignore_attr = TRUE)
})

test_that("estimators simplex, demeaned and hsvt fit every cohort separately", {
  panel <- cohort_panel(25, 8, 5)
  rownames(panel$donors) <- paste0("d", 1:25)
  for (estimator in c("simplex", "demeaned", "hsvt")) {
    fit <- dp_synth(panel$donors,
      target = panel$target, T0 = c(8, 10), epsilon = Inf, estimator = estimator
    )
    for (g in 1:2) {
      alone <- dp_synth(panel$donors,
        target = panel$target[g, ], T0 = c(8, 10)[[g]], epsilon = Inf, estimator = estimator
      )
      expect_equal(effects(fit$cohorts[[g]]), effects(alone), ignore_attr = TRUE)
      expect_equal(weights(fit$cohorts[[g]]), weights(alone))
    }
    expect_equal(
      glance(fit)$effect, mean(vapply(fit$cohorts, function(one) mean(effects(one)), 0))
    )
    expect_true(all(is.na(tidy(fit, "event")$std.error)))
    expect_true(all(is.na(vcov(fit, "cohort"))))
    expect_output(print(fit), "NOT PRIVATE")
    expect_output(print(summary(fit)), "NOT PRIVATE")
  }
  expect_s3_class(placebo_space(fit$cohorts[[2]]), "dp_placebo_space")
})

test_that("the print states which classical cohorts have a perfect or a poor fit", {
  panel <- cohort_panel(60, 3, 4)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = c(3, 4), epsilon = Inf, estimator = "simplex"
  )
  expect_output(print(fit), "PERFECT FIT before the treatment \\(4")
  shifted <- dp_synth(panel$donors,
    target = panel$target + 2, T0 = c(3, 4), epsilon = Inf, estimator = "simplex"
  )
  expect_output(print(shifted), "POOR FIT before the treatment \\(4, 5\\)")
})

test_that("cohort effects for West Germany and Italy equal the results of package scpi", {
  data <- utils::read.csv(shared_data("scpi_germany.csv"))
  data$on <- as.numeric((data$country == "West Germany" & data$year >= 1991) |
    (data$country == "Italy" & data$year >= 1992))
  fit <- dp_synth(gdp ~ on, data, c("country", "year"), epsilon = Inf, estimator = "simplex")
  expect_equal(unname(coef(fit, "cohort"))[-1], c(-1.8476, -1.1211), tolerance = 1e-4)
})

test_that("with several dates tidy(), coef(), vcov() and confint() report the same effects", {
  panel <- cohort_panel(800)
  fit <- cohort_fit_of(panel, size = 30)
  for (type in c("event", "cohort", "calendar", "group_time", "overall")) {
    table <- tidy(fit, type, conf.int = TRUE)
    table <- table[table$kind == "effect", ]
    expect_equal(unname(coef(fit, type)), table$estimate)
    covariance <- vcov(fit, type)
    expect_equal(unname(sqrt(diag(covariance))), table$std.error)
    expect_gte(min(eigen(covariance, only.values = TRUE)$values), -1e-10)
    limits <- confint(fit, type = type)
    expect_equal(unname(limits[, 1]), table$conf.low)
    wide <- tidy(fit, type, conf.int = TRUE, simultaneous = TRUE)
    wide <- wide[wide$kind == "effect", ]
    expect_true(all(wide$conf.high - wide$conf.low >= table$conf.high - table$conf.low - 1e-12))
  }
  expect_identical(rownames(confint(fit, parm = c("0", "1"))), c("0", "1"))
  expect_error(confint(fit, parm = "99"), class = "dpsc_error_argument")
  expect_error(tidy(fit, "static"), class = "dpsc_error_argument")
  expect_identical(nobs(fit), 800L)
  expect_identical(nrow(augment(fit)), 26L)
  expect_identical(nrow(as.data.frame(fit)), 8L)
  expect_output(print(fit), "treated from: 9 \\(1 unit of 30 people\\), 11")
  expect_output(print(summary(fit)), "By cohort")
  text <- report(fit)
  expect_match(text$result[[1]], "over 2 cohorts \\(2 treated units\\)")
  expect_match(text$methods, "adopted at 2 dates")
  expect_match(report(fit, "latex")$result[[1]], "\\\\%")
  expect_error(formula(fit), class = "dpsc_error_argument")
})

test_that("with several adoption dates, periods can be calendar dates or strings", {
  panel <- cohort_panel(60)
  days <- as.Date("2020-01-01") + 31 * 0:12
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = c(8, 10), epsilon = Inf, times = days
  )
  expect_named(fit$cohorts, format(days[c(9, 11)]))
  expect_s3_class(tidy(fit, "calendar")$period, "Date")
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = c(8, 10), epsilon = Inf, times = letters[1:13]
  )
  expect_identical(tidy(fit, "group_time")$period[1:2], c("i", "j"))
})

test_that("update() reproduces a fit of several dates, changes its estimator and refuses epsilon", {
  panel <- cohort_panel(400, k = 4)
  fit <- cohort_fit_of(panel, c(10, 8, 10, 8), size = c(1, 3, 2, 4))
  same <- update(fit)
  for (type in c("event", "cohort", "group_time")) expect_equal(tidy(same, type), tidy(fit, type))
  did <- update(fit, estimator = "did")
  expect_output(print(did), "difference-in-differences")
  expect_output(print(did), "intervals are for another estimator")
  expect_false(isTRUE(all.equal(coef(did), coef(fit))))
  expect_equal(update(fit, size = c(5, 3, 2, 4))$size, c(3, 4, 5, 2))
  expect_error(update(fit, epsilon = 2), class = "dpsc_error_argument")
})

test_that("effects() and predict() of a cohort fit give lists; six functions ask for one cohort", {
  panel <- cohort_panel(60)
  fit <- dp_synth(panel$donors, target = panel$target, T0 = c(8, 10), epsilon = Inf)
  expect_identical(effects(fit)[["11"]], effects(fit$cohorts[["11"]]))
  expect_identical(lengths(predict(fit)), c(`9` = 5L, `11` = 3L))
  expect_identical(lengths(residuals(fit)), lengths(fitted(fit)))
  verbs <- list(conformal, placebo_time, penalty_path, placebo_space, leave_one_out, simulate)
  for (verb in verbs) {
    expect_error(verb(fit), "takes one cohort", class = "dpsc_error_argument")
  }
})

test_that("cohort fits with other features, penalty, estimator or delta are near noiseless fits", {
  panel <- cohort_panel(900)
  settings <- list(
    list(control = dp_control(rng = "R", features = Inf)),
    list(control = dp_control(rng = "R", lambda = 20)),
    list(estimator = "did", control = dp_control(rng = "R")),
    list(delta = 0, control = dp_control(rng = "R"))
  )
  for (setting in settings) {
    fit <- withr::with_seed(6, do.call(dp_synth, c(list(
      panel$donors, target = panel$target, T0 = c(8, 10), epsilon = 4, bounds = c(-1, 1),
      protect = "donors"
    ), setting)))
    expect_false(anyNA(tidy(fit, "group_time", conf.int = TRUE)[c("conf.low", "p.value")]))
    truth <- dp_synth(panel$donors,
      target = panel$target, T0 = c(8, 10), epsilon = Inf,
      estimator = fit$estimator
    )
    error <- abs(coef(fit, "cohort") - coef(truth, "cohort"))
    expect_true(all(error < 5 * tidy(fit, "cohort")$privacy.se + 0.1))
  }
})

test_that("the effect on a cohort with one treated period has one interval in all tables", {
  panel <- cohort_panel(600, 8, 5)
  fit <- cohort_fit_of(panel, c(8, 12), size = 1)
  drawn <- list(average = 0.9, period = 3, band = 1.4)
  fit$release$statistics$cohorts$intervals[names(drawn)] <- drawn
  fit <- dp_synth(fit$release, target = panel$target, T0 = c(8, 12), size = 1)
  one <- as.list(utils::tail(tidy(fit, conf.int = TRUE, type = "cohort"), 1L))
  cell <- as.list(utils::tail(tidy(fit, conf.int = TRUE, type = "group_time"), 1L))
  expect_false(is.na(one$conf.low))
  for (column in c("estimate", "std.error", "p.value", "conf.low", "conf.high")) {
    expect_equal(one[[column]], cell[[column]])
  }
})
