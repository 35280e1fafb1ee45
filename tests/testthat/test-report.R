# The text of a report compared with the fit that it describes.

report_fit <- function(rng = "secure", epsilon = 1, ...) {
  withr::local_seed(51)
  panel <- sim_panel(500, 8, 2, effect = 0.3)
  suppressWarnings(dp_synth(panel$donors,
    target = panel$target, T0 = 8, epsilon = epsilon, bounds = c(-1, 1),
    control = dp_control(rng = rng), ...
  ))
}

test_that("the report's sentence on the result gives estimate, interval, p-value and budget", {
  fit <- report_fit()
  said <- report(fit, level = 0.9)$result
  limits <- confint(fit, "average", level = 0.9)
  for (number in c(coef(fit)[["average"]], limits)) {
    expect_match(said, format_value(number), fixed = TRUE)
  }
  expect_match(said, "90 % interval")
  expect_match(said, format_p(tidy(fit)$p.value[[1L]]), fixed = TRUE)
  expect_match(said, "(1, 1e-06)-differentially private for each donor", fixed = TRUE)
})

test_that("the report's guarantee gives the success rate of the best test between neighbours", {
  # The share of successes of the most powerful test of randomised response at epsilon equals this
  # number.
  for (epsilon in c(0.1, 1, 3)) {
    said <- report(report_fit(epsilon = epsilon, delta = 0))$guarantee
    share <- exp(epsilon) / (1 + exp(epsilon))
    expect_match(said, sprintf("at most %.1f %%", 100 * share), fixed = TRUE)
  }
  # With delta > 0 a brute-force search covers all tests inside the (epsilon, delta) region.
  delta <- 0.1
  alpha <- seq(0, 1, length.out = 1e5 + 1)
  beta <- pmax(0, 1 - delta - exp(1) * alpha, exp(-1) * (1 - delta - alpha))
  said <- report(report_fit(delta = delta))$guarantee
  expect_match(said, sprintf("at most %.1f %%", 100 * (1 - min(alpha + beta) / 2)), fixed = TRUE)
  expect_match(report(report_fit(epsilon = 20))$guarantee, "protects little")
  expect_no_match(said, "protects little")
})

test_that("reports of results that are not private state this fact in place of a guarantee", {
  fits <- list(
    report_fit(epsilon = Inf), report_fit(rng = "R"),
    report_fit(method = "objective", calibration = "published"),
    report_fit(epsilon = Inf, estimator = "simplex")
  )
  for (fit in fits) {
    for (part in c("result", "methods", "guarantee")) {
      expect_match(report(fit)[[part]], "NOT PRIVATE")
    }
    expect_no_match(report(fit)$result, "differentially private")
  }
})

test_that("a report does not call a range for noise alone an interval", {
  fit <- report_fit(method = "output")
  expect_match(report(fit)$result, "not a confidence interval")
  expect_no_match(report(fit)$result, "p =")
  expect_match(report(report_fit(epsilon = Inf, estimator = "simplex"))$result, "no interval")
})

test_that("the references of a report match the theorem that it names", {
  fit <- report_fit()
  author <- regmatches(
    fit$release$privacy$theorem, regexpr("Bun|Dong", fit$release$privacy$theorem)
  )
  expect_match(report(fit)$references, paste0("^", author), all = FALSE)
  pure <- report(report_fit(delta = 0))
  expect_match(pure$references, "Dwork", all = FALSE)
  expect_match(pure$result, "; 1-differentially private", fixed = TRUE)
})

test_that("the report of a classical fit with placebos gives its rank and cites Abadie", {
  fit <- dp_synth(matrix(sin(1:120), 12),
    target = cos(1:10), T0 = 7, epsilon = Inf, estimator = "simplex"
  )
  space <- placebo_space(fit)
  said <- report(fit, placebo = space)
  expect_match(said$result, paste("rank", space$table$rank[[1L]], "of 13"))
  expect_match(said$references, "Abadie", all = FALSE)
  expect_error(report(fit, placebo = 0.03), class = "dpsc_error_argument")
})

test_that("the markup of a report escapes special characters of its format", {
  text <- "50 % of a_b {x} & #1 ~ ^ \\ <0.1, (-2)"
  expect_identical(
    mark_up(text, "latex"),
    paste0(
      "50~\\% of a\\_b \\{x\\} \\& \\#1 \\textasciitilde{} \\textasciicircum{} ",
      "\\textbackslash{} $<$0.1, ($-$2)"
    )
  )
  expect_identical(mark_up("a_b *c* #1 <x>", "markdown"), "a\\_b \\*c\\* \\#1 \\<x\\>")
  fit <- report_fit()
  rownames(fit$target) <- "group_1 & co"
  expect_match(report(fit, "latex")$result, "group\\_1 \\& co", fixed = TRUE)
  expect_match(report(fit, "text")$result, "group_1 & co", fixed = TRUE)
})

test_that("a fit's report prints in three formats; its release's report gives the same guarantee", {
  fit <- report_fit()
  for (format in c("text", "markdown", "latex")) {
    printed <- utils::capture.output(print(report(fit, format)))
    expect_match(printed, "Guarantee", all = FALSE)
    expect_true(format != "text" || max(nchar(printed)) <= 90)
  }
  release <- report(fit$release)
  expect_null(release$result)
  expect_identical(release$guarantee, report(fit)$guarantee)
  expect_error(report(1), class = "dpsc_error_argument")
  expect_error(report(fit, "html"), class = "dpsc_error_argument")
})

test_that("the LaTeX output of a report compiles", {
  skip_if(!nzchar(Sys.which("pdflatex")), "pdflatex is not installed")
  withr::local_dir(withr::local_tempdir())
  lines <- utils::capture.output(print(report(report_fit(), "latex")))
  writeLines(c("\\documentclass{article}\\begin{document}", lines, "\\end{document}"), "r.tex")
  status <- system2("pdflatex", c("-halt-on-error", "r.tex"), stdout = FALSE)
  expect_identical(status, 0L)
})

test_that("tables and plots for publications contain no donor's data", {
  p <- canary_panel()
  for (method in c("gram", "output")) {
    fit <- suppressWarnings(canary_fit(p,
      how = "do.call", epsilon = 1, bounds = p$bounds, method = method,
      control = dp_control(rng = "R")
    ))
    objects <- list(
      coef = coef(fit), vcov = vcov(fit), privacy = vcov(fit, type = "privacy"),
      report = report(fit), latex = report(fit, "latex"), update = update(fit),
      cumulative = as.data.frame(fit, type = "cumulative"),
      percent = as.data.frame(fit, type = "percent"), parameters = get_parameters.dp_synth(fit)
    )
    if (!anyNA(diag(vcov(fit)))) objects$simulate <- simulate(fit, 3, seed = 1)
    if (requireNamespace("ggplot2", quietly = TRUE)) {
      types <- c("path", "effect", "cumulative", "percent", if (method == "gram") "balance")
      for (type in types) {
        objects[[type]] <- ggplot2::ggplot_build(ggplot2::autoplot(fit, type = type))
      }
    }
    for (name in names(objects)) {
      expect_no_canary(objects[[name]], p$secrets, paste(method, name))
    }
    refused <- list(quote(weights(fit)), quote(update(fit, epsilon = 2)), quote(formula(fit)),
      quote(plot(fit, type = "weights")), quote(plot(fit, targets = "x")))
    for (code in refused[c(method == "gram", rep(TRUE, 4L))]) {
      for (condition in canary_conditions(eval(code))) {
        expect_no_canary(condition, p$secrets, deparse(code))
      }
    }
  }
})

test_that("plots of placebo_time(), conformal() and penalty_path() contain no donor's values", {
  skip_if_not_installed("ggplot2")
  p <- canary_panel()
  draw <- function(verb, ...) {
    secret <- p$donors # nolint: object_usage_linter.
    fit <- suppressWarnings(canary_fit(p,
      epsilon = 5, bounds = p$bounds, control = dp_control(rng = "R", features = Inf)
    ))
    ggplot2::ggplot_build(ggplot2::autoplot(verb(fit, ...)))
  }
  expect_no_canary(draw(placebo_time), p$secrets, "placebo_time")
  expect_no_canary(draw(conformal, level = 0.6), p$secrets, "conformal")
  expect_no_canary(draw(penalty_path), p$secrets, "penalty_path")
})

test_that("without an interval a report gives the reason and mentions no calibration", {
  withr::local_seed(52)
  few <- sim_panel(60, 8, 2)
  fit <- dp_synth(few$donors, target = few$target, T0 = 8, epsilon = 1, bounds = c(-1, 1))
  expect_true(is.na(confint(fit)[1L, 1L]))
  said <- report(fit)
  expect_match(
    said$result, "no interval is stated: 60 donors at epsilon = 1 cannot calibrate an interval"
  )
  expect_no_match(said$methods, "Standard errors|p-values|calibrated by")
  expect_match(report(report_fit())$methods, "calibrated by")
  # The text does not repeat an uninformative name.
  expect_match(said$methods, "what the outcome of target would have been", fixed = TRUE)
})

test_that("an assessment by report() gives budget, neighbours and charge of a private result", {
  skip_if_not_installed("RSQLite")
  skip_if_not_installed("openssl")
  ledger <- dp_ledger(9, 1e-5, path = withr::local_tempfile(fileext = ".sqlite"))
  people <- data.frame(x = seq(0, 1, length.out = 900), y = seq(0, 1, length.out = 30))
  bounds <- list(x = c(0, 1), y = c(0, 1))
  found <- list(
    dp_describe(~x, people, epsilon = 1, bounds = bounds, ledger = ledger),
    dp_lm(y ~ x, people, epsilon = 2, bounds = bounds, ledger = ledger),
    dp_aggregate(people, function(rows) mean(rows$x),
      lower = 0, upper = 1, epsilon = 0.5, ledger = ledger),
    report_fit()
  )
  for (x in found) {
    parts <- report(x, format = "assessment")
    privacy <- dpsc:::privacy_of(x)
    expect_s3_class(parts, "dp_report")
    expect_match(parts$guarantee, paste("epsilon =", privacy$epsilon), fixed = TRUE)
    expect_match(parts$guarantee, sub("^replace ", "", privacy$neighbours), fixed = TRUE)
    expect_match(parts$limits, "not certified", fixed = TRUE)
    # Dwork and Roth (2014), Theorem 2.2 and the version of this theorem with delta.
    expect_identical(grepl("delta more than k times", parts$limits), privacy$delta > 0)
    paid <- privacy$charge$hash %||% "No ledger"
    expect_match(parts$budget, paid, fixed = TRUE)
    expect_match(capture.output(print(parts)), "^Singling out", all = FALSE)
  }
  expect_match(report(found[[1]], "assessment")$processing, "900 people", fixed = TRUE)
  raw <- report(dp_lm(y ~ x, people, epsilon = Inf, bounds = bounds), format = "assessment")
  expect_match(raw$guarantee, "NOT PRIVATE", fixed = TRUE)
  expect_null(raw$questions)
  expect_error(report(found[[1]]), "assessment", class = "dpsc_error_argument")
  expect_error(report(people, format = "assessment"), class = "dpsc_error_argument")
})
