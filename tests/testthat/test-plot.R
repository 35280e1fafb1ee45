# Contents of plots, by their numbers, and appearance of plots. The plotted fits have fixed numbers,
# so pictures change only if the plots change.

fixed_fit <- function(k = 1, T1 = 4, T0 = 8, times = 2000 + seq_len(T0 + T1), private = TRUE) {
  withr::local_seed(5)
  panel <- sim_panel(60, T0, T1)
  base <- 0.3 + 0.05 * sin(seq_len(T0 + T1))
  target <- t(vapply(seq_len(k), function(i) {
    base + i / 50 + c(0.01 * cos(seq_len(T0)), rep(0.1, T1))
  }, base))
  rownames(target) <- if (k > 1) paste("group", seq_len(k)) else "programme"
  fit <- suppressWarnings(dp_synth(panel$donors,
    target = target, T0 = T0, epsilon = if (private) 1 else Inf, bounds = c(-1, 1), times = times,
    control = dp_control(rng = "R"), protect = "donors"
  ))
  # Errors from the covariances alone, without calibration by placebo errors.
  fix <- function(part, shift) {
    part$counterfactual[] <- rep(base, each = length(shift)) + shift
    part$variance <- rep(list(list(
      prediction = diag(0.0004, T1) + 0.0002, privacy = matrix(0.0003 * private, T1, T1)
    )), length(shift))
    if (private) part$spread <- rep(list(list()), length(shift))
    part
  }
  if (k > 1) fit$units <- fix(fit$units, seq_len(k) / 50)
  fix(fit, mean(seq_len(k)) / 50)
}

fixed_classical <- function(estimator = "simplex") {
  withr::local_seed(6)
  panel <- sim_panel(8, 12, 4, effect = 0.2)
  donors <- panel$donors
  rownames(donors) <- c(paste("state", 1:7), "a state with a name that no axis could ever hold")
  settings <- list()
  if (estimator == "predictors") {
    settings <- list(v = c(1, 1, 1), predictors = list(
      donors = cbind(level = rowMeans(donors[, 1:12]), early = donors[, 1], late = donors[, 12]),
      target = c(mean(panel$target[1:12]), panel$target[c(1, 12)])
    ))
  }
  dp_synth(donors,
    target = panel$target, T0 = 12, epsilon = Inf, estimator = estimator, times = 1988 + 1:16,
    control = dp_control(settings = settings)
  )
}

drawn <- function(picture, layer = NULL) {
  built <- ggplot2::ggplot_build(picture)
  if (is.null(layer)) built else built$data[[layer]]
}

texts <- function(picture) gsub("\n", " ", paste(unlist(picture$labels), collapse = " "))

test_that("effect, cumulative and percent plots of a fit show the numbers of as.data.frame()", {
  skip_if_not_installed("ggplot2")
  fit <- fixed_fit()
  for (type in c("effect", "cumulative", "percent")) {
    numbers <- as.data.frame(fit, type = type, level = 0.9, simultaneous = TRUE)
    picture <- ggplot2::autoplot(fit, type = type, level = 0.9, simultaneous = TRUE)
    band <- drawn(picture, 2L)
    expect_equal(band$ymin, numbers$conf.low, label = type)
    expect_equal(band$ymax, numbers$conf.high, label = type)
    line <- drawn(picture, 4L)
    expect_equal(line$y[line$x > 2008], numbers$estimate, label = type)
    expect_true(all(drawn(picture, 3L)$ymax < band$ymax), label = type)
  }
  expect_identical(
    drawn(ggplot2::autoplot(fit, type = "gap"))$data,
    drawn(ggplot2::autoplot(fit, type = "effect"))$data
  )
})

test_that("legends of plots give the level, the kind of interval and the part from privacy noise", {
  skip_if_not_installed("ggplot2")
  labels <- function(...) {
    ggplot2::autoplot(fixed_fit(), ...)$scales$get_scales("fill")$labels
  }
  expect_identical(labels(), c("95 % interval, each period by itself", "from privacy noise alone"))
  wide <- labels(level = 0.8, simultaneous = TRUE)
  expect_match(wide[[1L]], "80 % interval, all periods together")
})

test_that("plot() refuses unknown arguments and unknown targets", {
  skip_if_not_installed("ggplot2")
  fit <- fixed_fit(k = 2)
  expect_error(plot(fit, colour = "red"), "colour", class = "dpsc_error_argument")
  expect_error(plot(fit, colour = "red"), "[?]autoplot.dp_synth", class = "dpsc_error_argument")
  expect_error(do.call(ggplot2::autoplot, list(fit, colour = 1)), "help page|[?]autoplot.dp_synth",
    class = "dpsc_error_argument"
  )
  expect_error(plot(fit, targets = "nobody"), class = "dpsc_error_argument")
  expect_error(plot(fit, type = "weights"), "never plotted", class = "dpsc_error_argument")
})

test_that("several treated units form one group, and named units are drawn in the given order", {
  skip_if_not_installed("ggplot2")
  fit <- fixed_fit(k = 12)
  picture <- ggplot2::autoplot(fit)
  expect_identical(nrow(drawn(picture)$layout$layout), 1L)
  expect_match(texts(picture), "Mean of 12 treated units")
  some <- ggplot2::autoplot(fit, targets = c("group 12", "group 3"))
  expect_identical(as.character(drawn(some)$layout$layout$target), c("group 12", "group 3"))
  expect_match(texts(some), "2 of 12 targets")
  expect_identical(short_name(strrep("ab", 30), 10L), "abababa...")
})

test_that("a single post-treatment period is plotted as a bar as long as the interval", {
  skip_if_not_installed("ggplot2")
  for (times in list(1:9, as.Date("2020-01-01") + 7 * 1:9, letters[1:9])) {
    fit <- fixed_fit(T1 = 1, times = times)
    bar <- drawn(ggplot2::autoplot(fit), 1L)
    numbers <- as.data.frame(fit, type = "effect")
    expect_equal(bar$ymax - bar$ymin, numbers$conf.high - numbers$conf.low)
    # The label remains on its side of the treatment.
    expect_gt(bar$xmin, as.numeric(drawn(ggplot2::autoplot(fit), 5L)$xintercept))
  }
})

test_that("plots of a noise-free, a classical and a grouped fit cause no warning", {
  skip_if_not_installed("ggplot2")
  raw <- fixed_fit(private = FALSE)
  for (fit in list(raw, fixed_classical(), fixed_fit(k = 2))) {
    for (type in c("path", "effect", "cumulative", "percent", "balance")) {
      expect_no_warning(built <- drawn(ggplot2::autoplot(fit, type = type)))
      expect_gt(nrow(built$data[[1L]]), 0)
    }
  }
  expect_match(texts(ggplot2::autoplot(raw)), "NOT PRIVATE")
  # Without noise the plot does not mention noise.
  for (fit in list(raw, fixed_classical())) {
    labels <- ggplot2::autoplot(fit)$scales$get_scales("fill")$labels
    expect_false(any(grepl("noise", labels)))
  }
})

test_that("plots convert months and quarters to dates and thin out long labels of axes", {
  months <- structure(2020 + 0:8 / 12, class = "yearmon")
  expect_identical(plot_periods(months), seq(as.Date("2020-01-01"), by = "month", length.out = 9))
  quarters <- structure(2020 + 0:3 / 4, class = "yearqtr")
  expect_identical(
    plot_periods(quarters), as.Date(c("2020-01-01", "2020-04-01", "2020-07-01", "2020-10-01"))
  )
  labels <- sprintf("period %03d", 1:100)
  shown <- spread_labels(labels, 66)
  expect_lte(sum(nchar(shown) + 2), 66)
  expect_identical(shown[[1L]], labels[[1L]])
  expect_identical(spread_labels(strrep("x", 1:99), 66), "x")
  expect_identical(date_labels(as.Date(c("2020-01-01", NA))), c("2020-01", NA))
})

test_that("the balance plot compares the target with the synthetic control and the donors' mean", {
  skip_if_not_installed("ggplot2")
  fit <- fixed_classical()
  data <- balance_data(fit, 1L)
  pre <- 1:12
  expect_equal(data$difference, unname(c(
    fit$target[1, pre] - colMeans(fit$raw$donors)[pre], (fit$target - fit$counterfactual)[1, pre]
  )))
  matched <- fixed_classical("predictors")
  data <- balance_data(matched, 1L)
  given <- matched$settings$predictors
  expect_equal(
    data$difference[[4L]],
    (given$target[[1L]] - sum(weights(matched) * given$donors[, 1L])) /
      stats::sd(c(given$target[[1L]], given$donors[, 1L]))
  )
  private <- fixed_fit()
  data <- balance_data(private, 1L)
  expect_equal(data$difference[9:16], unname((private$target - private$counterfactual)[1, 1:8]))
  expect_error(
    ggplot2::autoplot(suppressWarnings(
      dp_synth(matrix(0.1, 20, 4), target = 1:4 / 10, T0 = 3, epsilon = 1, bounds = c(-1, 1),
        method = "output")
    ), type = "balance"),
    class = "dpsc_error_argument"
  )
})

test_that("a balance plot of several targets shows each target's own balance", {
  skip_if_not_installed("ggplot2")
  fit <- fixed_fit(k = 3)
  picture <- ggplot2::autoplot(fit, type = "balance", targets = c(3, 1))
  data <- picture$data
  expect_identical(levels(data$target), c("group 3", "group 1"))
  synthetic <- data[data$against == "synthetic control" & data$target == "group 3", ]
  expect_equal(
    synthetic$difference, unname((fit$units$target - fit$units$counterfactual)[3L, 1:8])
  )
})

test_that("figures omit placebos that fit badly and give the number of these placebos", {
  skip_if_not_installed("ggplot2")
  space <- placebo_space(fixed_classical())
  shown <- function(...) nlevels(ggplot2::autoplot(space, ...)$data$unit)
  times <- (space$table$rmspe_pre / space$table$rmspe_pre[[1L]])^2
  for (prune in c(1, 2, 20, Inf)) {
    expect_identical(shown(prune = prune), sum(times <= prune))
    left <- sum(times > prune)
    said <- texts(ggplot2::autoplot(space, prune = prune))
    if (left) {
      expect_match(said, paste0(left, " placebos? with more than ", prune, " times"))
    } else {
      expect_no_match(said, "Not drawn")
    }
    # All units are ranked.
    expect_match(said, paste("of", nrow(space$table)))
  }
  expect_gt(sum(times > 2), 0)
  space$table$rmspe_pre[[1L]] <- 0
  expect_identical(shown(), nrow(space$table))
  expect_error(plot(space, prune = 0.5), class = "dpsc_error_argument")
})

test_that("captions of percentage plots give the reason if effects or limits are missing", {
  skip_if_not_installed("ggplot2")
  caption <- function(fit) texts(ggplot2::autoplot(fit, type = "percent"))
  fit <- fixed_fit()
  expect_no_match(caption(fit), "no limits|The effect in per cent is not defined")
  fit$counterfactual[, 10] <- -0.1
  expect_match(
    caption(fit), "The effect in per cent is not defined where the counterfactual is not positive"
  )
  fit$counterfactual[, 9:12] <- -0.1
  expect_match(caption(fit), "The effect in per cent is not defined because the counterfactual")
  # The counterfactual is positive, but within its error of zero.
  fit$counterfactual[, 9:12] <- 0.01
  expect_match(caption(fit), "There are no limits because the counterfactual may be as low")
  fit$counterfactual[, 9] <- -0.1
  fit$counterfactual[, 12] <- 0.4
  expect_match(
    caption(fit), "The effect in per cent is not defined where .* There are no limits where"
  )
  classical <- fixed_classical()
  classical$counterfactual[] <- 1
  expect_match(caption(classical), "No limits: a classical fit")
})

test_that("lines in plots of plans end at twice the bounds' width; omitted methods are listed", {
  skip_if_not_installed("ggplot2")
  plan <- dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = 1, method = c("gram", "output"))
  picture <- ggplot2::autoplot(plan, method = c("gram", "output"))
  expect_equal(picture$coordinates$limits$y[[2L]], 4)
  expect_lt(ggplot2::autoplot(plan)$coordinates$limits$y[[2L]], 4)
  expect_match(
    ggplot2::autoplot(plan)$labels$subtitle, "of more than 10 times the smallest: output"
  )
  expect_no_match(picture$labels$subtitle, "Not shown")
})

test_that("plots of classical fits are marked NOT PRIVATE", {
  skip_if_not_installed("ggplot2")
  fit <- fixed_classical()
  space <- placebo_space(fit)
  loo <- leave_one_out(fit)
  pictures <- list(
    ggplot2::autoplot(fit), ggplot2::autoplot(fit, type = "weights"),
    ggplot2::autoplot(fit, type = "balance"), ggplot2::autoplot(space),
    ggplot2::autoplot(space, "ratio"), ggplot2::autoplot(loo), ggplot2::autoplot(loo, "weights"),
    ggplot2::autoplot(placebo_time(fit)), ggplot2::autoplot(conformal(fit, level = 0.8))
  )
  for (picture in pictures) {
    expect_match(texts(picture), "NOT PRIVATE")
    expect_no_warning(drawn(picture))
  }
})

test_that("plotting a conformal test without intervals gives an error", {
  skip_if_not_installed("ggplot2")
  expect_error(
    ggplot2::autoplot(conformal(fixed_classical(), level = 0.99)), "highest level possible",
    class = "dpsc_error_argument"
  )
})

test_that("the plot of a fit dominated by noise shows a warning", {
  skip_if_not_installed("ggplot2")
  fit <- fixed_fit()
  expect_no_match(texts(ggplot2::autoplot(fit)), "SWAMPS")
  fit$variance[[1L]]$privacy[] <- 0.3
  expect_match(texts(ggplot2::autoplot(fit)), "SWAMPS")
})

test_that("the funnel of a plan narrows as the number of donors or epsilon grows", {
  skip_if_not_installed("ggplot2")
  plan <- dp_plan(n = 1000, T0 = 10, T1 = 3, epsilon = 1, bounds = c(80, 200), method = "gram")
  built <- drawn(ggplot2::autoplot(plan, type = "funnel"))
  for (panel in 1:2) {
    of <- function(layer) built$data[[layer]][built$data[[layer]]$PANEL == panel, ]
    band <- of(1L)
    found <- of(2L)
    at <- which.min(abs(band$x - log10(c(1000, 1)[[panel]])))
    expect_equal(band$ymax[[at]], plan$table$half_width)
    expect_equal(found$y[[at]], plan$table$detectable)
    expect_equal(band$ymin, -band$ymax)
    expect_equal(of(3L)$y, -found$y)
    expect_true(all(found$y >= band$ymax))
    expect_lt(band$ymax[[nrow(band)]], band$ymax[[1L]])
  }
  expect_error(plot(plan, type = "tunnel"), class = "dpsc_error_argument")
  few <- dp_plan(n = 20, T0 = 10, T1 = 3, epsilon = 0.2, method = "output")
  expect_error(plot(few, type = "funnel"), "no interval", class = "dpsc_error_argument")
})

test_that("plots of dp_synth() fits and of coefficients match their snapshots", {
  skip_if_not_installed("ggplot2")
  skip_if_not_installed("vdiffr")
  version <- utils::packageVersion("ggplot2")
  skip_if(version < "3.4.0" || version >= "3.5.0", "the pictures were made with ggplot2 3.4")
  looks <- function(name, picture) vdiffr::expect_doppelganger(name, picture)
  fit <- fixed_fit()
  for (type in c("path", "effect", "cumulative", "percent")) {
    looks(paste("private", type), ggplot2::autoplot(fit, type = type))
  }
  looks("three targets", ggplot2::autoplot(fixed_fit(k = 3), targets = 1:3))
  looks("one period", ggplot2::autoplot(fixed_fit(T1 = 1)))
  looks("characters as periods", ggplot2::autoplot(fixed_fit(times = paste("week", 1:12))))
  classical <- fixed_classical()
  looks("classical path", ggplot2::autoplot(classical))
  looks("classical balance", ggplot2::autoplot(classical, type = "balance"))
  looks("classical weights", ggplot2::autoplot(classical, type = "weights"))
  looks("predictors balance", ggplot2::autoplot(fixed_classical("predictors"), type = "balance"))
  space <- placebo_space(classical)
  looks("placebos in space", ggplot2::autoplot(space))
  looks("placebo ratios", ggplot2::autoplot(space, "ratio"))
  looks("leave one out", ggplot2::autoplot(leave_one_out(classical)))
  looks("placebo dates", ggplot2::autoplot(placebo_time(classical)))
  looks("coefficients", draw_coefficients(data.frame(
    term = c("age", "income", "lost"), estimate = c(0.5, -0.2, 3), low = c(0.4, -0.4, -32),
    high = c(0.6, 0, 38), noise = c(0.03, 0.15, 30), identified = c(TRUE, TRUE, FALSE)
  ), "Slopes of y ~ age + income + lost", "Private with epsilon = 1, delta = 1e-06"))
  looks("pretended dates", ggplot2::autoplot(placebo_time(classical), type = "path"))
  looks("conformal", ggplot2::autoplot(conformal(classical, level = 0.8)))
})
