# No public object contains a donor's value or name, or a statistic without noise.

methods <- list(
  c("gram", "tight"), c("output", "tight"), c("output", "published"), c("objective", "tight"),
  c("objective", "published")
)

seeded_fit <- function(p, ..., epsilon = 1) {
  withr::local_seed(11)
  canary_fit(p, ..., epsilon = epsilon, bounds = p$bounds, control = dp_control(rng = "R"))
}

objects_of <- function(fit) {
  printed <- function(x) utils::capture.output(print(x))
  summary <- summary(fit)
  objects <- list(
    fit = fit, release = fit$release, summary = summary, tidy = tidy(fit, conf.int = TRUE),
    glance = glance(fit), augment = augment(fit), effects = effects(fit),
    confint = confint(fit, simultaneous = TRUE), fitted = fitted(fit), predict = predict(fit),
    predict_all = predict(fit, type = "all"), residuals = residuals(fit), nobs = nobs(fit),
    printed_fit = printed(fit), printed_release = printed(fit$release),
    printed_summary = printed(summary), structure = utils::capture.output(utils::str(fit)),
    deparsed = deparse(unclass(fit))
  )
  if (fit$release$method != "gram") objects$weights <- weights(fit)
  objects
}

plots_of <- function(fit) {
  plots <- lapply(c(path = "path", gap = "gap"), function(t) ggplot2::autoplot(fit, type = t))
  c(plots, lapply(plots, ggplot2::ggplot_build))
}

expect_clean <- function(objects, p, label) {
  for (name in names(objects)) {
    expect_no_canary(objects[[name]], p$secrets, paste(label, name))
  }
}

test_that("the tests' search for donors' data finds planted values", {
  p <- canary_panel()
  found <- function(x) canary_found(x, p$secrets)
  expect_match(found(p$donors[3, 4]), "a number")
  expect_match(found(p$donors[3, 4]), "native")
  expect_match(found(p$data), "name")
  expect_match(found(dpsc:::panel_from_donors(p$donors, p$target, p$T0)), "number")
  expect_match(found(y ~ on), "number") # the formula's environment is this frame
  expect_match(found(simpleError("no", do.call(call, list("f", p$donors)))), "number")
  expect_match(found(format(p$donors[1, 1], digits = 15)), "text")
  expect_match(found(sprintf("mean: %.17g", mean(p$donors[, 2]))), "text")
  expect_match(found(factor(rownames(p$donors))), "name")
  expect_match(found(colMeans(p$donors)[[3]]), "number")
  # The fit without noise contains the exact statistics.
  for (method in c("gram", "output", "objective")) {
    fit <- canary_fit(p, "matrix", epsilon = Inf, bounds = p$bounds, method = method)
    if (method != "objective") expect_match(found(fit), "number")
  }
  expect_null(found(p$target))
  expect_null(found(stats::rnorm(1000)))
})

for (interface in c("formula", "matrix")) {
  for (how in c("direct", "do.call")) {
    # Every method has one call of each kind, the default method all calls.
    chosen <- if ((interface == "formula") == (how == "do.call")) methods else methods[1L]
    for (method in chosen) {
      label <- paste(c(interface, how, method), collapse = " ")
      test_that(paste("no object contains a donor's data:", label), {
        p <- canary_panel()
        fit <- seeded_fit(p, interface, how, method = method[[1L]], calibration = method[[2L]])
        expect_clean(objects_of(fit), p, label)
        release <- seeded_fit(p, interface, how, dp_release,
          method = method[[1L]], calibration = method[[2L]]
        )
        expect_clean(list(release = release), p, label)
      })
    }
  }
}

test_that("method gram passes no donor's value and no sum before noise from compiled code to R", {
  p <- canary_panel(n = 300)
  for (delta in c(0, 1e-6)) {
    for (chunked in c(FALSE, TRUE)) {
      donors <- p$donors
      if (chunked) donors <- dp_chunks(list(donors[1:100, ], donors[-(1:100), ]))
      results <- crossings_of(function(scope) {
        withr::local_seed(17)
        scope[[if (chunked) "dp_release.dp_chunks" else "dp_release.matrix"]](donors,
          target = p$target, T0 = p$T0, epsilon = 2, delta = delta, bounds = p$bounds,
          control = dp_control(rng = "R")
        )
      })
      expect_gt(length(results), 2)
      expect_no_canary(results, p$secrets, paste("crossings", delta, chunked))
      # The same draws with their recorded sums. The sums differ from zero, and the release contains
      # none of them.
      released <- Filter(function(x) is.list(x) && !is.null(x$rounds), results)
      expect_length(released, 1L)
      scale <- new_bounds(p$bounds, 8)
      public <- list(
        n = 300, T0 = 6, T1 = 2, epsilon = 2, delta = delta,
        y = (p$target[1:6] - 500) / 500, features = NaN, intervals = TRUE, group = FALSE,
        targeted = TRUE, level = TRUE
      )
      audit <- withr::with_seed(17, gram_audit_cpp(
        p$donors, public, scale, gram_options(TRUE, 300, scale), "R", NULL, FALSE
      ))
      expect_equal(audit$statistics$mean, released[[1L]]$mean, tolerance = 1e-12)
      expect_length(audit$calls, if (delta > 0) 13L else 9L)
      exact <- unlist(lapply(audit$calls, function(call) call$value))
      exact <- exact[abs(exact) > 1000]
      expect_gt(length(exact), 40)
      expect_null(canary_found(results, exact))
      expect_match(canary_found(audit, exact), "a number")
    }
  }
})

test_that("methods output and objective pass no weights before noise from compiled code to R", {
  p <- canary_panel(n = 30)
  scaled <- (p$donors - 500) / 500
  y <- (p$target[1:6] - 500) / 500
  exact <- ridge_weights_cpp(scaled[, 1:6], y, 6)
  secrets <- c(p$secrets, exact, crossprod(scaled[, 7:8], exact))
  expect_match(canary_found(list(exact), secrets), "a number")
  for (method in c("output", "objective")) {
    for (delta in c(0, 1e-6)) {
      results <- crossings_of(function(scope) {
        scope$dp_release.matrix(p$donors,
          target = p$target, T0 = p$T0, epsilon = 2, delta = delta, bounds = p$bounds,
          method = method
        )
      })
      expect_gt(length(results), 0)
      expect_no_canary(results, secrets, paste("crossings", method, delta))
    }
  }
})

test_that("no plot, plotted data or environment contains a donor's data", {
  skip_if_not_installed("ggplot2")
  p <- canary_panel()
  for (method in list(c("gram", "do.call", "formula"), c("output", "direct", "matrix"))) {
    fit <- seeded_fit(p, method[[3L]], method[[2L]], method = method[[1L]])
    expect_clean(plots_of(fit), p, paste(method, collapse = " "))
  }
  fit <- seeded_fit(p, "formula", "direct", method = "gram")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_clean(list(plot = do.call(plot, list(fit, type = "gap"))), p, "plot()")
})

test_that("no fit with chunks, several targets or a small epsilon contains a donor's data", {
  p <- canary_panel()
  expect_clean(objects_of(seeded_fit(p, "chunks", "do.call")), p, "chunks")
  expect_clean(objects_of(seeded_fit(p, "chunks", "direct", delta = 0)), p, "chunks, pure")
  expect_clean(objects_of(seeded_fit(p, "matrix", epsilon = 0.3)), p, "small epsilon")
  p$target <- rbind(a = p$target, b = p$target + 1)
  for (method in c("gram", "output")) {
    fit <- seeded_fit(p, "matrix", "do.call", method = method, protect = "donors")
    expect_clean(objects_of(fit), p, paste("two targets", method))
  }
})

test_that("no fit with secure noise contains a donor's name or value", {
  p <- canary_panel()
  for (method in c("gram", "output", "objective")) {
    fit <- canary_fit(p, "formula", "do.call", epsilon = 1, bounds = p$bounds, method = method)
    expect_false(canary_mark %in% unlist(fit, use.names = FALSE))
    expect_false(any(doubles_anywhere(serialize(fit, NULL)) %in% p$donors))
  }
})

test_that("neither a file nor a release read from a file contains a donor's data", {
  skip_if_not_installed("jsonlite")
  p <- canary_panel()
  for (method in methods) {
    release <- seeded_fit(p, "formula", "do.call", dp_release,
      method = method[[1L]], calibration = method[[2L]]
    )
    path <- withr::local_tempfile(fileext = ".json")
    out <- withVisible(do.call(write_release, list(release, path, TRUE)))
    expect_false(out$visible)
    files <- list(text = readLines(path), release = read_release(path), value = out$value)
    expect_clean(files, p, paste(method, collapse = " "))
  }
})

test_that("no ledger contains a donor's data", {
  p <- canary_panel()
  ledger <- dp_ledger(10, 1e-6)
  for (method in c("gram", "output")) {
    paid_fit <- function(...) {
      canary_fit(p, ..., epsilon = 1, bounds = p$bounds, method = method, ledger = ledger)
    }
    paid_fit("formula", "do.call")
    paid_fit("matrix", "direct")
  }
  expect_clean(list(
    ledger = ledger, environment = mget(ls(ledger, all.names = TRUE), ledger),
    table = as.data.frame(ledger),
    printed = utils::capture.output(print(ledger))
  ), p, "ledger")
})

test_that("no donor's data enter a result through attributes of public arguments", {
  p <- canary_panel()
  hang <- function(x) structure(x, secret = p$donors, names = rownames(p$donors)[seq_along(x)])
  target <- structure(p$target, secret = p$donors)
  withr::local_seed(1)
  fit <- dp_synth(p$donors,
    target = target, T0 = structure(6, secret = p$donors), epsilon = hang(1), delta = hang(1e-6),
    bounds = structure(c(0, 1000), secret = p$donors), times = hang(1:8),
    control = structure(dp_control(rng = "R"), secret = p$donors)
  )
  expect_clean(objects_of(fit), p, "matrix")
  data <- p$data
  attr(data$time, "secret") <- p$donors
  attr(data$y, "label") <- rownames(p$donors)
  attr(data, "secret") <- p$donors
  data$unit <- factor(data$unit)
  fit <- dp_synth(y ~ on, data,
    index = c("unit", "time"), epsilon = 1, bounds = p$bounds, control = dp_control(rng = "R")
  )
  expect_clean(objects_of(fit), p, "formula")
})

test_that("a column inlined in a formula is refused, and an inlined value is in no result", {
  p <- canary_panel()
  withr::local_seed(1)
  long <- function(formula, bounds = p$bounds) {
    do.call(dp_synth, list(formula, p$data, c("unit", "time"),
      epsilon = 1, bounds = bounds, control = dp_control(rng = "R")
    ))
  }
  for (code in list(quote(identity(.(p$data$y))), quote(I(.(p$data$y))), quote(.(p$data$y) + 0))) {
    formula <- stats::as.formula(eval(bquote(bquote(.(code) ~ on), list(code = code))))
    conditions <- canary_conditions(long(formula))
    expect_length(conditions, 1L)
    expect_s3_class(conditions[[1L]], "dpsc_error_panel")
    expect_no_canary(conditions[[1L]], p$secrets, "inlined column")
  }
  formula <- stats::as.formula(bquote(I(y - .(p$donors[[3L]]) + .(p$donors[[3L]])) ~ on))
  expect_clean(objects_of(long(formula, list(y = p$bounds))), p, "inlined value")
})

test_that("weights() returns donors' names if and only if they are declared public", {
  p <- canary_panel()
  withr::local_seed(1)
  for (interface in c("formula", "matrix")) {
    fit <- canary_fit(p, interface,
      epsilon = 1, bounds = p$bounds, method = "output",
      control = dp_control(rng = "R", donor_names = TRUE)
    )
    expect_setequal(names(weights(fit)), rownames(p$donors))
    fit <- canary_fit(p, interface, epsilon = 1, bounds = p$bounds, method = "output")
    expect_identical(names(weights(fit)), as.character(1:40))
  }
})

test_that("errors and warnings contain no donor's data, backtrace, parent or evaluated call", {
  p <- canary_panel()
  data <- p$data
  first <- which(data$unit == rownames(p$donors)[[1L]])[[1L]]
  bad <- function(column, value) {
    data[[column]][first] <- value
    data
  }
  with_na <- p$donors
  with_na[2, 3] <- NA
  long <- function(data = p$data, formula = y ~ on, ...) {
    given <- list(...)
    arguments <- utils::modifyList(list(epsilon = 1, bounds = p$bounds), given)
    do.call(dp_synth, c(list(formula, data, c("unit", "time")), arguments))
  }
  wide <- function(donors = p$donors, ...) {
    given <- list(...)
    arguments <- list(target = p$target, T0 = 6, epsilon = 1, bounds = p$bounds)
    do.call(dp_synth, c(list(donors), utils::modifyList(arguments, given)))
  }
  spent <- dp_ledger(0.1, 1e-6)
  fit <- wide()
  output <- wide(method = "output")
  cases <- quote(list(
    long(bad("y", NA)), long(bad("y", Inf)), long(bad("unit", NA)), long(bad("time", 2001)),
    long(bad("on", 2)), long(data[-first, ]), long(rbind(data, data[first, ])),
    long(data, as.character(y) ~ on), long(data, nowhere ~ on), long(data, stop(y) ~ on),
    long(data, log(y - 500) ~ on), long(epsilon = p$donors), long(bounds = p$donors),
    long(bounds = c(1, 0)), long(delta = p$donors), long(method = rownames(p$donors)),
    long(method = "nowhere"), long(ledger = p$donors), long(control = as.list(p$data)),
    long(ledger = spent), long(delta = 0.5), long(p$data, estimator = p$donors),
    long(secret = p$donors), wide(with_na), wide(data.frame(p$donors)),
    wide(target = p$donors[, 1:3]), wide(T0 = p$donors), wide(times = p$donors),
    wide(times = rownames(p$donors)), wide(bounds = p$donors[, 1:2]),
    wide(p$donors[1, , drop = FALSE]),
    wide(epsilon = rownames(p$donors)), wide(estimator = "did", method = "output"),
    wide(bounds = c(499, 501), method = "output", calibration = "published"),
    wide(epsilon = 1e-12), wide(delta = 0.5), wide(method = "objective", delta = 0.5),
    do.call(dp_synth, list(as.list(p$data))), do.call(dp_synth, list(p$data)),
    do.call(dp_synth, list(rownames(p$donors))), do.call(dp_synth, list(p$donors, epsilon = 1)),
    do.call(dp_synth, list(y ~ on, epsilon = 1)), do.call(dp_synth, list(y ~ on, p$data)),
    do.call(dp_synth, list(p$donors, p$target, 6)),
    do.call(dp_release, list(p$donors, p$target, 6, 1)),
    do.call(dp_synth, list(fit$release, target = p$donors[, 1:3])),
    do.call(dp_synth, list(output$release, target = p$target + 1)),
    do.call(dp_chunks, list(p$data)), do.call(write_release, list(p$donors, "x")),
    do.call(weights, list(fit)), do.call(confint, list(fit, "nowhere"))
  ))
  for (i in seq_along(cases)[-1L]) {
    code <- cases[[i]]
    label <- deparse(code)[[1L]]
    conditions <- canary_conditions(eval(code))
    expect_gt(length(conditions), 0, label = label)
    for (condition in conditions) {
      expect_true(inherits(condition, c("dpsc_error", "dpsc_warning")), label = label)
      expect_no_canary(condition, p$secrets, label)
      expect_no_canary(conditionMessage(condition), p$secrets, label)
      expect_null(condition$trace, label = label)
      expect_null(condition$parent, label = label)
      expect_length(as.list(conditionCall(condition)), 1L)
    }
  }
})

test_that("errors from dp_chunks() contain no donor's data even if the reader's errors do", {
  p <- canary_panel()
  reads <- 0
  fail_at <- function(k) {
    reads <<- 0
    dp_chunks(function(i) {
      reads <<- reads + 1
      if (reads >= k) stop(paste(p$donors[i, ], collapse = " "))
      p$donors[20 * (i - 1) + 1:20, ]
    }, 2)
  }
  for (k in 1:9) {
    conditions <- canary_conditions(dp_synth(fail_at(k),
      target = p$target, T0 = 6, epsilon = 1, bounds = p$bounds
    ))
    for (condition in conditions) {
      expect_s3_class(condition, "dpsc_error_panel")
      expect_no_canary(condition, p$secrets, paste("read", k))
    }
  }
})

test_that("no object of a fit contains a donor's whole-number value as an integer or a double", {
  withr::local_seed(5)
  donors <- matrix(sample.int(2e9, 40 * 8), 40)
  integers_anywhere <- function(bytes) {
    unlist(lapply(1:4, function(from) {
      part <- bytes[from:length(bytes)]
      count <- length(part) %/% 4L
      c(readBin(part, "integer", count, endian = "big"),
        readBin(part, "integer", count, endian = "little"))
    }))
  }
  for (method in c("gram", "output", "objective")) {
    fit <- do.call(dp_synth, list(donors,
      target = rep(1e9, 8) + 1:8, T0 = 6, epsilon = 1, bounds = c(0, 2e9), method = method,
      control = dp_control(rng = "R")
    ))
    for (object in objects_of(fit)) {
      expect_false(any(integers_anywhere(serialize(object, NULL)) %in% donors))
      expect_false(any(doubles_anywhere(serialize(object, NULL)) %in% as.double(donors)))
    }
  }
})
