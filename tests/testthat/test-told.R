# Prints and reports state the origin of the numbers: gaps, covariates, widths.

gappy <- function(drop, ...) {
  withr::local_seed(11)
  p <- expand.grid(id = sprintf("u%03d", 1:300), t = 1:8, stringsAsFactors = FALSE)
  p$y <- stats::rnorm(nrow(p), 50, 5)
  p$age <- rep(stats::runif(300, 20, 80), 8)
  p$sex <- rep(c("f", "m"), length.out = 300)[match(p$id, unique(p$id))]
  p$on <- as.integer(p$id == "u300" & p$t > 5)
  roster <- dp_roster(unique(p$id), from = c(rep(NA, 299), 6), periods = 1:8)
  dp_synth(y ~ on | age + sex, p[-drop, ], c("id", "t"),
    epsilon = 2, size = 40, protect = "donors", na = "interpolate", roster = roster,
    bounds = list(y = c(20, 80), age = c(0, 100), sex = c("f", "m")),
    control = dp_control(rng = "R"), ...
  )
}

printed <- function(x) paste(utils::capture.output(print(x)), collapse = " ")

test_that("prints, reports and files mention gaps and covariates but not the number of gaps", {
  fits <- suppressWarnings(list(gappy(c(3, 500)), gappy(c(3, 500, 700, 900, 1000))))
  for (fit in fits) {
    for (said in list(printed(fit), printed(summary(fit)), printed(fit$release))) {
      expect_match(said, "gaps are filled", fixed = TRUE)
      expect_match(said, "covariates: age, sex", fixed = TRUE)
    }
    expect_match(report(fit)$methods, "Gaps in a row were filled from that row alone", fixed = TRUE)
    expect_match(
      report(fit)$methods, "The prediction also uses covariates (age, sex)", fixed = TRUE
    )
  }
  # The text is the same for any number of gaps.
  line <- function(fit) grep("gaps", utils::capture.output(print(fit)), value = TRUE)
  expect_identical(line(fits[[1L]]), line(fits[[2L]]))
  expect_no_match(line(fits[[1L]]), "[0-9]")
  skip_if_not_installed("jsonlite")
  path <- withr::local_tempfile(fileext = ".json")
  suppressWarnings(write_release(fits[[1L]], path, allow_not_private = TRUE))
  expect_identical(read_release(path)$panel, fits[[1L]]$release$panel)
  other <- fits[[1L]]$release
  other$panel$gaps <- "zero"
  expect_match(release_problem(other), "rule for gaps")
})

test_that("prints and reports of a fit without gaps or covariates mention neither", {
  p <- toy_panel(60, 5, 2)
  fit <- dp_synth(p$donors, p$target, 5, epsilon = 1, bounds = c(-1, 1), size = 30)
  for (said in c(printed(fit), report(fit)$methods)) expect_no_match(said, "gap|covariate")
})

test_that("prints and reports state that an interval is more than twice as wide as usual", {
  withr::local_seed(4)
  p <- sim_panel(n = 1000, T0 = 10, T1 = 2)
  fit <- dp_synth(p$donors, p$target, 10,
    epsilon = 2, bounds = c(-1, 1), control = dp_control(rng = "R")
  )
  fit$spread[[1L]][c("floor", "average")] <- list(4, 1.2)
  expect_no_match(printed(fit), "times as wide")
  fit$spread[[1L]]$average <- 2.5
  expect_match(printed(fit), "5 times as wide as the released moments", fixed = TRUE)
  expect_match(printed(summary(fit)), "5 times as wide")
  expect_match(report(fit)$methods, "5 times as wide")
})

test_that("prints and reports name the slopes with intervals more than twice as wide as planned", {
  withr::local_seed(2)
  n <- 20000
  d <- data.frame(x = stats::rnorm(n), rare = as.numeric(stats::runif(n) < 0.02))
  d$y <- d$x + d$rare + stats::rnorm(n)
  d$ill <- stats::runif(n) < stats::plogis(d$x)
  bounds <- list(y = c(-10, 10), x = c(-6, 6), rare = c(0, 1), ill = c(FALSE, TRUE))
  control <- dp_control(rng = "R")
  fit <- dp_lm(y ~ x, d, epsilon = 1, bounds = bounds[1:2], control = control)
  expect_no_match(printed(fit), "as planned")
  fit <- dp_lm(y ~ x + rare, d, epsilon = 1, bounds = bounds[1:3], control = control)
  ratio <- sqrt(diag(vcov(fit)) / diag(vcov(fit, type = "sampling")))
  plan <- dp_plan_lm(y ~ x + rare, bounds[1:3], n = n, epsilon = 1)
  planned <- sqrt(plan$ratio^2 + plan$allowance)
  wide <- setdiff(names(which(ratio > 2 * planned & fit$identified)), "(Intercept)")
  expect_identical(length(wide) > 0L, grepl("as planned", printed(fit)))
  # In this case the result of the comparison is certain.
  fit$covariance$total["x", "x"] <- fit$covariance$sampling["x", "x"] * (2.1 * planned)^2
  fit$identified[["x"]] <- TRUE
  expect_match(printed(fit), "twice as wide as planned: x", fixed = TRUE)
  expect_match(report(fit)$methods, "twice as wide as planned: x", fixed = TRUE)
  fit <- dp_glm(ill ~ x, d, epsilon = 1, bounds = bounds[c("ill", "x")], control = control)
  expect_no_match(printed(fit), "as planned")
  expect_match(printed(fit), "Rows far from the middle have smaller weights")
  planned <- dp_plan_glm(n = n, p = 1, epsilon = 1)$longer
  fit$covariance$total["x", "x"] <- fit$covariance$sampling["x", "x"] * (2.1 * planned)^2
  expect_match(printed(fit), "twice as wide as planned: x", fixed = TRUE)
})
