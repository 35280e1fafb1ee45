# One file format for all releases. Reading returns the written object, every changed value of a
# file is refused by name, and recomputed marks must agree with the plan.

skip_if_not_installed("jsonlite")

file_people <- function(n = 3000) {
  withr::local_seed(8)
  data <- data.frame(x = stats::runif(n, -1, 1), g = rep(c("a", "b"), n / 2))
  data$y <- 1 + data$x / 2 + (data$g == "b") + stats::rnorm(n) / 4
  data$z <- stats::runif(n) < stats::plogis(data$x)
  data
}

file_objects <- function() {
  p <- toy_panel(25, 5, 2)
  many <- toy_panel(400, 5, 2)
  data <- file_people()
  bounds <- list(y = c(-3, 5), x = c(-1, 1), g = c("a", "b"), z = c(FALSE, TRUE))
  of <- function(...) bounds[c(...)]
  panel <- function(p, ...) {
    dp_release(p$donors, target = p$target, T0 = 5, epsilon = 2, bounds = c(-1, 1), ...)
  }
  fitted <- function(...) dp_lm(y ~ x + g, data, 1, bounds = of("y", "x", "g"), ...)
  chosen <- function(method, ...) {
    dp_select(y ~ x + g, data, 4, size = 1, bounds = of("y", "x", "g"), method = method, ...)
  }
  answer <- function(method, ...) {
    dp_aggregate(data, function(rows) mean(rows$y), lower = c(y = -3), upper = 5, epsilon = 1,
      method = method, ...)
  }
  suppressWarnings(list(
    gram = panel(many), output = panel(p, method = "output"),
    objective = panel(p, method = "objective", delta = 0), lm = fitted(),
    hc = fitted(vcov = "HC", delta = 0), ops = fitted(method = "ops"),
    adaops = fitted(method = "adaops"), gram_selection = chosen("gram"),
    pursuit = chosen("pursuit"), stability = chosen("stability"),
    votes = chosen("votes", refit = FALSE),
    glm = dp_glm(z ~ x + g, data, epsilon = 2, bounds = of("z", "x", "g")),
    napp = dp_glm(z ~ x, data, epsilon = 2, bounds = of("z", "x"), method = "napp"),
    described = dp_describe(~ y + g, data, epsilon = 1, bounds = of("y", "g")),
    table1 = dp_describe(~ y + g, data, ~z, 1, 0, bounds, quantiles = 0.9),
    winsorised = answer("winsorised"), median = answer("median"),
    mean = answer("mean", delta = 1e-6),
    raw = dp_aggregate(data, function(rows) mean(rows$y), lower = -3, upper = 5, epsilon = Inf)
  ))
}

objects <- file_objects()

test_that("files of releases by six functions are read back as identical objects", {
  path <- withr::local_tempfile(fileext = ".json")
  for (name in names(objects)) {
    x <- objects[[name]]
    write_release(x, path, allow_not_private = TRUE)
    again <- read_release(path)
    expect_identical(again, x, label = name)
    expect_identical(utils::capture.output(print(again)), utils::capture.output(print(x)))
    expect_no_canary(readLines(path), file_people()$y[1:200], name)
  }
  expect_error(write_release(objects$raw, path), "NOT PRIVATE", class = "dpsc_error_release")
  grown <- dp_select(objects$gram_selection, size = 2)
  write_release(grown, path)
  expect_identical(read_release(path), grown)
  old <- objects$mean
  old$release <- NULL
  expect_error(write_release(old, path), "0.2.0", class = "dpsc_error_release")
})

test_that("text in a file is not run as code, even with recomputed checksums", {
  path <- withr::local_tempfile(fileext = ".json")
  withr::local_options(dpsc_ran = NULL)
  codes <- c(
    "options(dpsc_ran = TRUE)", "`~`(formula = options(dpsc_ran = TRUE), y)",
    "`~`(y, x, call = options(dpsc_ran = TRUE))", "y ~ {options(dpsc_ran = TRUE); x}",
    "y ~ `{options(dpsc_ran = TRUE)}`"
  )
  put <- list(
    lm = function(x, code) {
      x$columns$text <- code
      x
    },
    glm = function(x, code) {
      x$text <- code
      x
    },
    napp = function(x, code) {
      x$public$options$settings <- stats::setNames(list(1), "{options(dpsc_ran = TRUE)}")
      x
    },
    table1 = function(x, code) {
      x$columns$by <- code
      x
    }
  )
  put$ops <- put$gram_selection <- put$described <- put$lm
  for (name in names(put)) {
    for (code in codes) {
      write_release(put[[name]](objects[[name]], code), path)
      expect_error(read_release(path), class = "dpsc_error_release")
      expect_null(getOption("dpsc_ran"), label = paste(name, code))
    }
  }
  model <- objects$lm
  model$text <- codes[[1L]]
  write_release(model, path)
  expect_error(read_release(path), class = "dpsc_error_release")
  expect_null(getOption("dpsc_ran"))
})

test_that("a file of a release with a changed field is refused, and the error names the field", {
  for (name in setdiff(names(objects), "hc")) {
    found <- leaf_results(objects[[name]], anew = FALSE)
    expect_identical(found$leaf[!grepl("^refused", found$result)], character(), label = name)
    inside <- !found$leaf %in% c("format", "version", "kind")
    field <- sub("^([^$[]*([$][^$[]*)?).*", "\\1", found$leaf)
    named <- mapply(grepl, paste("field", field), found$result, MoreArgs = list(fixed = TRUE))
    expect_identical(found$leaf[inside & !named], character(), label = name)
  }
})

# Values that determine no other value in a file: measurements, limits, choices without a cost.
free_fields <- paste0("^(", paste(c(
  "panel[$](times|outcome)", "asked[$](size|estimator)",
  "asked[$]control[$](intervals|target_round|features)", "privacy[$]version", "bounds", "weighted",
  "max_weight", "nobs", "n", "names", "blocks", "facts[$](n|share|refit)", "lower", "upper",
  "fallback", "spread", "correct"
), collapse = "|"), ")\\b")

test_that("edits of budget, steps or guarantee are refused or undone despite new checksums", {
  for (name in c("output", "objective", "lm", "glm", "adaops", "pursuit", "winsorised", "mean")) {
    found <- leaf_results(objects[[name]], anew = TRUE)
    public <- !grepl("^(statistics|release)\\b", found$leaf)
    other <- found$leaf[public & found$result == "other"]
    expect_identical(grep(free_fields, other, invert = TRUE, value = TRUE), character(),
      label = name)
    expect_true(all(grepl("^refused|^same", found$result[grepl("steps[$]scale", found$leaf)])))
  }
})

test_that("a release by method gram whose steps differ from its plan is refused", {
  path <- withr::local_tempfile(fileext = ".json")
  for (column in c("sensitivity", "scale", "rho", "mu")) {
    forged <- objects$gram
    steps <- forged$privacy$steps
    at <- utils::tail(which(!is.na(steps[[column]])), 1L)
    forged$privacy$steps[[column]][at] <- steps[[column]][at] * 1.01
    write_release(forged, path)
    expect_error(read_release(path), class = "dpsc_error_release", label = column)
  }
  forged <- objects$gram
  forged$bounds <- lapply(forged$bounds, `*`, 1.5)
  write_release(forged, path)
  expect_error(read_release(path), "asked[$]y", class = "dpsc_error_release")
})
