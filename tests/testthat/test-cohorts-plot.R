# Plots of several adoption dates.

plotted_cohorts <- function(epsilon = 4, estimator = "ridge", n = 400) {
  panel <- cohort_panel(n, 8, 6, k = 3, seed = 5)
  rownames(panel$target) <- c("north", "south", "west")
  control <- if (is.finite(epsilon)) dp_control(rng = "R") else dp_control()
  withr::with_seed(2, dp_synth(panel$donors,
    target = panel$target, T0 = c(8, 10, 10), size = 25, epsilon = epsilon,
    protect = "donors", bounds = c(-1, 1),
    times = 2001:2014, estimator = estimator, control = control
  ))
}

test_that("plots of fits with several adoption dates show the numbers of their tables", {
  skip_if_not_installed("ggplot2")
  fit <- plotted_cohorts()
  for (type in c("event", "cohort", "calendar")) {
    for (simultaneous in c(FALSE, TRUE)) {
      picture <- ggplot2::autoplot(fit, type = type, simultaneous = simultaneous)
      table <- tidy(fit, type, conf.int = TRUE, simultaneous = simultaneous)[-1, ]
      bars <- ggplot2::layer_data(picture, 2L)
      known <- !is.na(table$conf.low)
      expect_equal(bars$ymin[seq_len(sum(known))], table$conf.low[known])
      expect_equal(bars$ymax[seq_len(sum(known))], table$conf.high[known])
      expect_equal(ggplot2::layer_data(picture, 3L)$y, table$estimate)
    }
  }
  expect_match(picture$labels$subtitle, "400 donors; NOT PRIVATE \\(nominal epsilon = 4")
  lines <- ggplot2::layer_data(ggplot2::autoplot(fit, type = "path"), 2L)
  expect_equal(sort(unique(lines$PANEL)), factor(1:2), ignore_attr = TRUE)
  expect_error(ggplot2::autoplot(fit, type = "weights"), class = "dpsc_error_argument")
  expect_error(ggplot2::autoplot(fit, colour = 1), class = "dpsc_error_argument")
})

test_that("the plot of a cohort fit without privacy has no error bars and states NOT PRIVATE", {
  skip_if_not_installed("ggplot2")
  fit <- plotted_cohorts(Inf, "simplex", 20)
  picture <- ggplot2::autoplot(fit)
  expect_length(picture$layers, 3)
  expect_match(picture$labels$subtitle, "NOT PRIVATE")
  expect_identical(levels(picture$data$kind), c("effect", "forecast", "fitted"))
  expect_silent(ggplot2::ggplot_build(picture))
})

test_that("a plot of a fit with several adoption dates contains no donor's data", {
  skip_if_not_installed("ggplot2")
  panel <- cohort_panel(300)
  rownames(panel$donors) <- sprintf("secret%03d", 1:300)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = c(8, 10), epsilon = 4, protect = "donors", bounds = c(-1, 1)
  )
  for (type in c("event", "cohort", "calendar", "path")) {
    picture <- ggplot2::autoplot(fit, type = type)
    expect_false(holds_text(picture, "secret"))
    expect_false(holds_number(picture, panel$donors[[5, 5]]))
  }
})

test_that("plots of fits with several adoption dates match their snapshots", {
  skip_if_not_installed("ggplot2")
  skip_if_not_installed("vdiffr")
  version <- utils::packageVersion("ggplot2")
  skip_if(version < "3.4.0" || version >= "3.5.0", "the pictures were made with ggplot2 3.4")
  fit <- plotted_cohorts()
  for (type in c("event", "cohort", "calendar", "path")) {
    vdiffr::expect_doppelganger(paste("private", type), ggplot2::autoplot(fit, type = type))
  }
  classical <- plotted_cohorts(Inf, "simplex", 20)
  vdiffr::expect_doppelganger("classical event", ggplot2::autoplot(classical))
})
