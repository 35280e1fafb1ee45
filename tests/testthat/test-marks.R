# Every view of a seeded result is marked NOT PRIVATE.

seeded_objects <- function() {
  withr::local_seed(7)
  n <- 300L
  rows <- data.frame(y = stats::runif(n), x = stats::runif(n), b = stats::runif(n) < 0.5)
  bounds <- list(y = c(0, 1), x = c(0, 1))
  flags <- list(b = c(FALSE, TRUE), x = c(0, 1))
  control <- dp_control(rng = "R")
  panel <- sim_panel(n = 200, T0 = 8, T1 = 2)
  synth <- function(...) {
    dp_synth(panel$donors, target = panel$target, T0 = 8, epsilon = 4, bounds = c(-1, 1), ...)
  }
  periods <- synth(control = dp_control(rng = "R", features = Inf))
  fit <- synth(control = control)
  lm <- dp_lm(y ~ x, rows, epsilon = 1, bounds = bounds, control = control)
  glm <- dp_glm(b ~ x, rows, "binomial", epsilon = 1, bounds = flags, control = control)
  online <- dp_online(y ~ x, epsilon = 1, horizon = n, bounds = bounds, control = control)
  sums <- dp_stream_sum(c(0, 1), epsilon = 1, horizon = n, control = control)
  list(
    fit = fit, summary = summary(fit), release = fit$release,
    monitor = synth(control = control, monitor = 2), path = penalty_path(fit),
    conformal = conformal(periods), dates = placebo_time(periods), lm = lm, lm_path = lm_path(lm),
    lm_summary = summary(lm), glm = glm, glm_summary = summary(glm),
    online = update(online, rows), sums = update(sums, rows$y), online_summary = summary(online),
    selection = dp_select(y ~ x, rows, 1, size = 1, bounds = bounds, control = control),
    aggregate = dp_aggregate(rows, function(part) mean(part$y),
      lower = 0, upper = 1, epsilon = 1, control = control
    )
  )
}

test_that("prints and plots of results drawn with a seed contain NOT PRIVATE", {
  skip_if_not_installed("ggplot2")
  objects <- suppressWarnings(seeded_objects())
  for (name in names(objects)) {
    shown <- paste(utils::capture.output(print(objects[[name]])), collapse = " ")
    expect_match(shown, "NOT PRIVATE", label = name)
  }
  plotted <- c("fit", "monitor", "path", "conformal", "dates", "lm", "lm_path", "glm", "online",
    "sums", "selection")
  for (name in plotted) {
    # Some results have no plot.
    labels <- tryCatch(unlist(ggplot2::autoplot(objects[[name]])$labels),
      dpsc_error = function(e) NULL
    )
    if (is.null(labels)) next
    expect_match(paste(labels, collapse = " "), "NOT PRIVATE", label = paste("plot of", name))
  }
  for (name in c("fit", "lm", "glm", "online", "sums", "selection", "aggregate")) {
    expect_false(glance(objects[[name]])$private)
  }
})

test_that("prints of a fit drawn with the operating system's noise do not contain NOT PRIVATE", {
  panel <- sim_panel(n = 200, T0 = 8, T1 = 2)
  fit <- dp_synth(panel$donors, target = panel$target, T0 = 8, epsilon = 4, bounds = c(-1, 1))
  expect_no_match(utils::capture.output(print(penalty_path(fit))), "NOT PRIVATE")
  expect_no_match(utils::capture.output(print(fit)), "NOT PRIVATE")
})
