# Figures of coefficients, paths, plans and streams show the numbers of the other methods.

skip_if_not_installed("ggplot2")

drawn <- function(plot) {
  withr::local_pdf(NULL)
  ggplot2::ggplot_build(plot)
}

test_that("in figures the band of privacy noise lies within the interval", {
  withr::local_seed(1)
  donors <- matrix(as.double(stats::runif(400 * 10) < 0.4), 400)
  target <- c(0, 1, 0, 0, 1, 0, 1, 0, 1, 0)
  one <- dp_synth(donors,
    target = target, T0 = 7, epsilon = 3, delta = 0, bounds = c(0, 1),
    control = dp_control(rng = "R")
  )
  for (simultaneous in c(FALSE, TRUE)) {
    for (type in c("path", "effect", "cumulative")) {
      data <- effect_series(one, type, 0.95, simultaneous)
      data <- data[!is.na(data$low), ]
      expect_true(all(data$noise_low >= data$low & data$noise_high <= data$high))
    }
  }
  # Without the cut, the interval from the noise alone would exceed the limits.
  table <- effect_limits(one, 0.95)
  expect_true(any(table$estimate + 1.96 * table$privacy.se > table$conf.high))
})

test_that("plots of placebos and of leave-one-out fits are labelled with the outcome's name", {
  withr::local_seed(2)
  data <- data.frame(
    state = rep(letters[1:6], 8), year = rep(1:8, each = 6), cigsale = stats::rnorm(48)
  )
  data$law <- as.numeric(data$state == "a" & data$year > 6)
  fit <- dp_synth(cigsale ~ law, data, c("state", "year"), epsilon = Inf, estimator = "simplex")
  space <- placebo_space(fit)
  expect_identical(space$outcome, "cigsale")
  expect_identical(ggplot2::autoplot(space)$labels$y, "effect on cigsale")
  without <- leave_one_out(fit)
  expect_identical(without$outcome, "cigsale")
  expect_identical(ggplot2::autoplot(without)$labels$y, "cigsale")
})

test_that("the plotted path of a stream ends at coef(), in the units of the variables", {
  withr::local_seed(4)
  stream <- dp_online(y ~ x1 + x2,
    epsilon = 5, delta = 1e-6, horizon = 400,
    bounds = list(y = c(0, 6), x1 = c(-1, 1), x2 = c(0, 10))
  )
  rows <- data.frame(x1 = stats::runif(400, -1, 1), x2 = stats::runif(400, 0, 10))
  rows$y <- 2 + rows$x1 + 0.1 * rows$x2
  update(stream, rows)
  picture <- ggplot2::autoplot(stream)
  last <- picture$data[picture$data$step == 400, ]
  expect_equal(stats::setNames(last$estimate, as.character(last$term)), coef(stream),
    tolerance = 1e-10
  )
  expect_no_match(picture$labels$y, "scaled")
  colours <- unique(unlist(lapply(drawn(picture)$data, function(layer) layer$colour)))
  expect_identical(colours, band_colour)
  expect_length(unique(drawn(picture)$layout$layout$PANEL), 3L)
})

test_that("an unidentified coefficient does not stretch the axis of the other coefficients", {
  table <- data.frame(
    term = c("x", "z", "lost"), estimate = c(0.5, -0.2, 3), low = c(0.4, -0.3, -32),
    high = c(0.6, -0.1, 38), noise = 0.05, identified = c(TRUE, TRUE, FALSE)
  )
  data <- coefficient_data(table)
  expect_equal(attr(data, "limits"), c(-0.354, 0.654))
  expect_identical(data$cut_low, c(FALSE, FALSE, TRUE))
  expect_identical(data$cut_high, c(FALSE, FALSE, TRUE))
  expect_equal(data$from[1:2], table$low[1:2])
  expect_equal(data$to[[3L]], 0.654)
  expect_identical(data$at[[3L]], NA_real_)
  expect_identical(data$in_low[[3L]], NA_real_)
  built <- drawn(draw_coefficients(table, "t", "s"))
  expect_equal(built$layout$panel_params[[1L]]$x.range, c(-0.354, 0.654))
  said <- unlist(lapply(built$data, function(layer) layer$label))
  expect_identical(said, "-32 to 38: not identified")
  # Infinite limits are also cut, and a figure without identified coefficients gives no error.
  table$low <- -Inf
  table$identified <- FALSE
  data <- coefficient_data(table)
  expect_true(all(data$cut_low) && all(is.finite(c(data$from, data$to))))
  expect_silent(drawn(draw_coefficients(table, "t", "s")))
  none <- data.frame(
    term = "x", estimate = 0, low = NA_real_, high = NA_real_, noise = NA, identified = TRUE
  )
  expect_silent(drawn(draw_coefficients(none, "t", "s")))
})

test_that("plots of regressions show the limits of confint(), and darker limits for noise alone", {
  lm_fit <- seeded_lm(y ~ a + g + b, lm_people(6000), epsilon = 3, bounds = lm_bounds())
  glm_fit <- seeded_glm(y ~ a + g + b, glm_people(20000), epsilon = 3, bounds = glm_bounds())
  for (fit in list(lm_fit, glm_fit)) {
    picture <- ggplot2::autoplot(fit)
    data <- picture$data
    expect_true(all(data$known))
    limits <- confint(fit)[-1L, ]
    expect_equal(cbind(data$low, data$high), unname(limits))
    dark <- confint(fit, type = "privacy")[-1L, ]
    expect_equal(unname(cbind(data$in_low, data$in_high)), unname(dark), tolerance = 1e-8)
    expect_true(all(data$in_low >= data$low & data$in_high <= data$high))
    expect_silent(drawn(picture))
    expect_error(ggplot2::autoplot(fit, foo = 1), class = "dpsc_error_argument")
  }
  lost <- seeded_lm(y ~ (a + b + g + s)^2, lm_people(400), epsilon = 1, bounds = lm_bounds())
  picture <- ggplot2::autoplot(lost, level = 0.9)
  expect_false(any(picture$data$known))
  expect_silent(drawn(picture))
  open <- dp_lm(y ~ a, lm_people(60), epsilon = Inf, bounds = lm_bounds())
  expect_match(ggplot2::autoplot(open)$labels$subtitle, "NOT PRIVATE")
})

test_that("plots of paths, selections, aggregates and plans show and label their estimates", {
  withr::local_pdf(NULL)
  people <- lm_people(6000)
  path <- lm_path(seeded_lm(y ~ a + g + b + s, people, epsilon = 3, bounds = lm_bounds()))
  picture <- plot(path)
  expect_s3_class(picture, "ggplot")
  expect_equal(
    picture$data$estimate[picture$data$term == "a"], unname(path$coefficients[, "a"])
  )
  many <- path
  many$coefficients <- cbind(1, matrix(stats::rnorm(50 * 12), 50))
  colnames(many$coefficients) <- c("(Intercept)", letters[1:12])
  picture <- plot(many)
  expect_identical(nlevels(picture$data$shown), 8L)

  withr::local_seed(3)
  bounds <- c(list(y = c(-2, 2)), stats::setNames(rep(list(c(-1, 1)), 5), paste0("V", 1:5)))
  rows <- as.data.frame(matrix(stats::runif(3000 * 5, -1, 1), 3000))
  rows$y <- 0.5 * rows$V2 - 0.4 * rows$V3 + stats::rnorm(3000, sd = 0.2)
  found <- dp_select(y ~ ., rows, epsilon = 2, size = 2, bounds = bounds)
  picture <- plot(found)
  expect_equal(unname(cbind(picture$data$low, picture$data$high)),
    unname(confint(found)[as.character(picture$data$term), ])
  )
  expect_match(picture$labels$subtitle, "Conditional on the\\sselection")
  bare <- dp_select(y ~ ., rows, epsilon = 2, size = 2, bounds = bounds, refit = FALSE)
  expect_error(plot(bare), "no estimates", class = "dpsc_error_argument")

  aggregate <- function(...) {
    dp_aggregate(rows, function(d) mean(d$y), lower = -2, upper = 2, epsilon = 2, ...)
  }
  expect_match(plot(aggregate(spread = TRUE))$labels$subtitle, "sampling and privacy")
  expect_match(plot(aggregate(method = "mean"))$labels$subtitle, "noise alone")
  expect_match(plot(aggregate(spread = FALSE))$labels$subtitle, "No limits")

  plan <- dp_plan_lm(y ~ a + g, lm_bounds(), n = 20000, epsilon = 1)
  picture <- plot(plan)
  at <- picture$data[abs(picture$data$against - 20000) < 0.5, ]
  expect_equal(at$ratio, plan$ratio)
  expect_true(all(diff(stats::na.omit(picture$data$ratio[picture$data$against > 100])) < 1e-8 |
      diff(picture$data$against[picture$data$against > 100 & !is.na(picture$data$ratio)]) < 0))
  nothing <- dp_plan_lm(y ~ a + g, lm_bounds(), epsilon = 1e-6, ratio = 1.01)
  expect_error(plot(nothing), "nothing to plot", class = "dpsc_error_argument")
})

test_that("plots show a protected group's released path within the bounds and no earlier fit", {
  withr::local_seed(3)
  donors <- matrix(stats::runif(2000 * 12), 2000)
  treated <- matrix(stats::runif(200 * 12, 0.9, 1), 200)
  long <- data.frame(
    id = sprintf("p%04d", rep(1:2200, 12)), time = rep(1:12, each = 2200),
    y = as.vector(rbind(donors, treated))
  )
  long$on <- as.numeric(long$id > "p2000" & long$time > 9)
  fit <- dp_synth(y ~ on, long, c("id", "time"),
    epsilon = 1, bounds = c(0, 1), protect = "everyone", control = dp_control(rng = "R")
  )
  fit$target[] <- fit$target + 0.5
  lines <- drawn(ggplot2::autoplot(fit))$plot$layers
  data <- Filter(function(x) "line" %in% names(x), lapply(lines, function(layer) layer$data))[[1L]]
  expect_identical(levels(data$line), c("released", "counterfactual"))
  expect_lte(max(data$value, na.rm = TRUE), 1)
  past <- data$line == "counterfactual" & !data$treated
  expect_true(all(is.na(data$value[past])))
  for (type in c("effect", "percent", "cumulative")) {
    expect_true(all(ggplot2::autoplot(fit, type = type)$layers[[2L]]$data$period > 9))
  }
  expect_identical(glance(fit)$pre.rmse, NA_real_)
  expect_error(plot(fit, type = "balance"), class = "dpsc_error_protect")
  expect_error(plot(fit$release), "target", class = "dpsc_error_argument")
})

test_that("figures have a white background and name the axis and the dotted line", {
  fit <- dp_synth(matrix(stats::runif(600), 60), target = stats::runif(10), T0 = 7, epsilon = 2,
    bounds = c(0, 1), control = dp_control(rng = "R")
  )
  picture <- ggplot2::autoplot(fit)
  expect_identical(picture$theme$plot.background$fill, "white")
  expect_identical(picture$labels$x, "period")
  expect_match(picture$labels$caption, "start of the treatment")
  expect_null(ggplot2::autoplot(fit, type = "cumulative")$labels$caption)
})

test_that("in figures bands and bars are pale for intervals and dark for noise, in one colour", {
  data <- data.frame(
    target = "a", at = 1:3, low = -2:0, high = 2:4, noise_low = c(-1, 0, NA),
    noise_high = c(1, 2, NA)
  )
  for (shape in c("band", "bar", "lying")) {
    layers <- error_layers(data, shape, band_labels(0.9))
    picture <- ggplot2::ggplot() + layers
    # Figures without labels have no legend, and figures without known errors have no layer of
    # errors.
    expect_silent(drawn(ggplot2::ggplot() + error_layers(data, shape)))
    built <- do.call(rbind, lapply(drawn(picture)$data, function(layer) {
      colour <- if (shape == "band") layer$fill else layer$colour
      data.frame(colour = colour, alpha = layer$alpha)
    }))
    expect_identical(unique(built$colour), band_colour)
    expect_identical(unique(built$alpha), unname(band_alpha))
    expect_identical(nrow(built), 5L)
    none <- transform(data, low = NA, high = NA, noise_low = NA, noise_high = NA)
    expect_null(error_layers(none, shape))
  }
  expect_identical(
    unname(band_labels(0.8, ", each", FALSE)),
    c("80 % interval, each", "80 % range of the privacy noise alone, each")
  )
})

test_that("with several outcomes, paths of protected people are cut at each outcome's bounds", {
  withr::local_seed(4)
  long <- data.frame(
    id = sprintf("p%04d", rep(1:1300, 10)), time = rep(1:10, each = 1300),
    y = stats::runif(13000)
  )
  long$z <- 5 + long$y
  long$on <- as.numeric(long$id > "p1000" & long$time > 7)
  fit <- dp_synth(cbind(y, z) ~ on, long, c("id", "time"),
    epsilon = 4, bounds = list(y = c(0, 1), z = c(5, 6)), protect = "everyone",
    control = dp_control(rng = "R")
  )
  lines <- Filter(function(x) "line" %in% names(x), lapply(
    ggplot2::autoplot(fit, type = "path")$layers, function(layer) layer$data
  ))[[1L]]
  released <- lines[lines$line == "released", ]
  for (name in c("y", "z")) {
    one <- fit$outcomes[[name]]
    value <- pmin(pmax(drop(one$target), c(y = 0, z = 5)[[name]]), c(y = 1, z = 6)[[name]])
    expect_equal(released$value[released$target == name], unname(value))
  }
  # No past is plotted that the fit reproduces by construction.
  for (type in c("effect", "percent", "cumulative")) {
    picture <- ggplot2::autoplot(fit, type = type)
    expect_true(all(picture$layers[[2L]]$data$at > 7))
    expect_null(picture$labels$caption)
  }
})

test_that("text in figures is broken into lines that fit, and is smaller on a narrow page", {
  skip_if_not_installed("grid")
  fit <- dp_synth(matrix(stats::runif(600), 60), target = stats::runif(10), T0 = 7, epsilon = 2,
    bounds = c(0, 1), control = dp_control(rng = "R")
  )
  picture <- ggplot2::autoplot(fit) + ggplot2::labs(title = strrep("words of a title ", 12))
  on_page <- function(width, plot = picture) {
    withr::local_pdf(NULL, width = width, height = 4)
    built <- ggplot2::ggplot_build(plot)
    size <- built$plot$theme$text$size
    lines <- strsplit(built$plot$labels$title, "\n")[[1L]]
    drawn <- grid::textGrob(lines, gp = grid::gpar(fontsize = 1.2 * size))
    wide <- grid::convertWidth(grid::grobWidth(drawn), "in", valueOnly = TRUE)
    list(size = size, lines = length(lines), wide = wide, plot = built$plot)
  }
  for (width in c(3.3, 6.5, 12)) {
    page <- on_page(width)
    expect_lt(page$wide, width)
    expect_identical(page$size, if (width < narrow_page) narrow_text else base_text)
    # Names of terms are not broken across lines.
    expect_match(page$plot$labels$subtitle, "epsilon = 2", fixed = TRUE)
  }
  expect_gt(on_page(3.3)$lines, on_page(12)$lines)
  # The legend is below the figure on a narrow page, or absent if the user wants none.
  place <- function(plot) on_page(3.3, plot)$plot$theme$legend.position
  expect_identical(place(picture), "bottom")
  expect_identical(place(picture + ggplot2::theme_dark()), "bottom")
  expect_identical(place(picture + ggplot2::theme(legend.position = "none")), "none")
  # The user's settings remain in effect.
  larger <- picture + ggplot2::theme(text = ggplot2::element_text(size = 15))
  expect_identical(on_page(3.3, larger)$size, 15)
  expect_identical(
    whole_terms("delta = 1e-06 and 95 % of", 6L), c("delta = 1e-06", "and", "95 %", "of")
  )
  expect_null(break_lines(NULL, 11, 100))
})

test_that("the line at the treatment is midway between periods, in the time axis's class", {
  dates <- as.Date("2020-01-01") + c(0, 10, 30)
  expect_identical(between_periods(dates, 1:2), as.Date("2020-01-01") + c(5, 20))
  expect_identical(between_periods(factor(c("a", "b")), 1L), 1.5)
  expect_identical(between_periods(c(2001, 2002), 1L), 2001.5)
})

test_that("readable names can replace the names of variables in figures", {
  fit <- dp_synth(matrix(stats::runif(600), 60), target = stats::runif(10), T0 = 7, epsilon = 2,
    bounds = c(0, 1), control = dp_control(rng = "R")
  )
  said <- function(type) {
    ggplot2::autoplot(fit, type = type, labels = c(outcome = "Visits a month"))$labels$y
  }
  expect_identical(said("path"), "Visits a month")
  expect_identical(said("effect"), "effect on Visits a month")
  expect_identical(fit$release$panel$outcome, "outcome")
  slopes <- seeded_lm(y ~ a + b, lm_people(2000), epsilon = 3, bounds = lm_bounds())
  terms <- function(...) levels(ggplot2::autoplot(slopes, labels = c(...))$data$term)
  expect_identical(terms(a = "Age (years)", other = "unused"), c("b", "Age (years)"))
  for (labels in list("a", c("a", b = "c"), 1, c(a = NA), c(a = "x", a = "y"), c(a = "b"))) {
    expect_error(ggplot2::autoplot(slopes, labels = labels), class = "dpsc_error_argument")
  }
})

test_that("axes of figures have only labels that fit, and no label outside the data", {
  months <- seq(as.Date("2023-01-01"), by = "month", length.out = 24)
  labels <- function(width, times = months, panels = 1) {
    withr::local_pdf(NULL, width = width, height = 4)
    picture <- ggplot2::ggplot(data.frame(x = times, y = 0), ggplot2::aes(x, y)) +
      ggplot2::geom_point() + period_axis(times, panels)
    shown <- ggplot2::ggplot_build(picture)$layout$panel_params[[1L]]$x$get_labels()
    shown[!is.na(shown)]
  }
  # The label of January 2025 belongs to the axis, but would be cut at the edge of the page.
  expect_identical(utils::tail(labels(6.5), 1L), "2024-10")
  for (times in list(months, 2000 + 1:31, paste("week", 1:30))) {
    if (is.character(times)) times <- factor(times, levels = times)
    for (panels in 1:3) {
      narrow <- labels(3.3, times, panels)
      expect_gt(length(narrow), 0)
      expect_lte(length(narrow), length(labels(6.5, times, panels)))
      points <- (72 * 3.3 - 60) / panels
      if (length(narrow) > 1L) expect_lt(sum(nchar(narrow)) * 0.55 * 0.8 * narrow_text, points)
    }
  }
  expect_identical(labels(3.3, panels = 2), c("2023", "2024"))
  expect_identical(labels(6.5, c(5, 5)), "5")
  # Breaks are powers of ten, except for a range within one decade.
  powers <- function(values) {
    ggplot2::layer_scales(
      ggplot2::ggplot(data.frame(x = values, y = 0), ggplot2::aes(x, y)) + ggplot2::geom_point() +
        log_axis(values)
    )$x$break_positions()
  }
  expect_equal(powers(c(1, 3000)), 0:3)
  expect_true(all(powers(c(2, 7)) >= log10(2)) && length(powers(c(2, 7))) > 1L)
})

test_that("names above panels fill at most two lines; longer names are cut and end in dots", {
  withr::local_pdf(NULL, width = 3.3, height = 2.6)
  name <- "Clinic of a rather long name in a street"
  expect_identical(strip_text("short", 3), "short")
  expect_match(strip_text(name, 2), "^Clinic of a .*\n.*[.]{3}$")
  expect_no_match(strip_text(name, 3, rows = 3), "\n")
  lines <- strsplit(strip_text(name, 2), "\n")[[1L]]
  expect_true(all(nchar(lines) <= label_room(2)))
})

test_that("in figures the band of a protected group lies around the released path", {
  data <- data.frame(
    target = factor("a"), period = 1:3, .observed = c(0.4, 0.9, 0.2), .fitted = c(0.5, 0.5, 0.6),
    .lower = 0, .upper = 1, treated = c(FALSE, TRUE, TRUE), low = c(NA, 0.3, 0.3),
    high = c(NA, 0.8, 0.9), noise_low = c(NA, 0.4, 0.5), noise_high = c(NA, 0.7, 0.7)
  )
  fit <- list(
    protected = TRUE, release = list(privacy = list(private = TRUE), method = "gram"),
    variance = list(list(prediction = diag(2), privacy = diag(2)))
  )
  band <- path_bands(fit, data, 0.95, FALSE)[[1L]]$data
  # The limits of the effect are added to the counterfactual and cut at the bounds.
  expect_equal(band$low, c(0.6, 0))
  expect_equal(band$high, c(1, 0.5))
  fit$protected <- FALSE
  expect_equal(path_bands(fit, data, 0.95, FALSE)[[1L]]$data$low, c(0.3, 0.3))
  # Without an interval the legend has no entry for it.
  data$low <- data$high <- NA
  labels <- path_bands(fit, data, 0.95, FALSE)[[2L]]$labels
  expect_match(labels, "range of the privacy noise alone")
})

test_that("readable names replace variables in plots of placebos, paths and descriptions", {
  withr::local_seed(6)
  panel <- sim_panel(12, 8, 3)
  fit <- dp_synth(panel$donors,
    target = panel$target, T0 = 8, epsilon = Inf, estimator = "simplex"
  )
  named <- c(outcome = "Visits", y = "Wage", b = "Tenure")
  label <- function(x, ...) ggplot2::autoplot(x, labels = named, ...)$labels$y
  expect_identical(label(placebo_space(fit)), "effect on Visits")
  expect_identical(label(leave_one_out(fit)), "Visits")
  expect_identical(label(placebo_time(fit), type = "path"), "Visits")
  rows <- lm_people(3000)
  path <- lm_path(seeded_lm(y ~ a + b, rows, epsilon = 3, bounds = lm_bounds()))
  expect_true("Tenure" %in% levels(ggplot2::autoplot(path, labels = named)$data$shown))
  about <- dp_describe(~ a + g, rows,
    epsilon = 3, bounds = lm_bounds()[c("a", "g")], control = dp_control(rng = "R")
  )
  data <- ggplot2::autoplot(about, labels = c(a = "Age"))$data
  expect_identical(levels(data$variable), c("Age", "g (share)"))
  expect_true(all(c("p25", "median") %in% levels(data$at)))
  expect_identical(statistic_words(c("mean", "q0.025", "q0.5")), c("mean", "p2.5", "median"))
  expect_error(plot(dp_ledger(epsilon = 1)), "as.data.frame", class = "dpsc_error_argument")
})
