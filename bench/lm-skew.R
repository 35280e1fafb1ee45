# Private linear regression with skewed or heavy-tailed errors, on CPS wages (AER) and on simulated
# people. Not private: seeded.
#   largest  largest error of a slope relative to lm(), in lm()'s standard errors, median over runs
#   sample   share of slopes of lm() in 95 % intervals of the privacy part; `worst`: of one slope
#   covers   share of true slopes in 95 % intervals
#   width    median standard error in standard errors of lm()
#   wide     share of runs whose last round has a wide clipping bound
# DPSC_BENCH_SCALE multiplies the runs.
library(dpsc)
set.seed(22)
runs <- max(4, round(30 * as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))))
yes <- c(FALSE, TRUE)

lognormal <- function(n) (exp(.8 * rnorm(n)) - exp(.32)) / sqrt((exp(.64) - 1) * exp(.64))
errors <- list(
  lognormal = function(x, t) lognormal(length(x)),
  `lognormal, spread by regressor` = function(x, t) {
    exp(.4 * x) * (1 + .7 * t) * lognormal(length(x))
  },
  t3 = function(x, t) rt(length(x), 3) / sqrt(3),
  `asymmetric mixture` = function(x, t) {
    q <- plogis(-2.2 + .7 * x + .8 * t)
    3 * ((runif(length(x)) < q) - q) + .7 * rnorm(length(x))
  },
  `normal, spread by regressor` = function(x, t) exp(.5 * x) * rnorm(length(x))
)

run_once <- function(formula, data, bounds, epsilon, truth) {
  ols <- stats::lm(formula, data)
  se <- sqrt(diag(stats::vcov(ols)))[-1]
  fit <- suppressWarnings(
    dp_lm(formula, data, epsilon = epsilon, bounds = bounds, control = dp_control(rng = "R"))
  )
  off <- (coef(fit) - coef(ols))[-1]
  reach <- stats::qnorm(0.975)
  all <- sqrt(diag(vcov(fit)))[-1]
  rounds <- fit$release$rounds
  c(
    largest = max(abs(off / se)), width = stats::median(all / se),
    covers = if (is.null(truth)) NA else mean(abs(coef(fit)[-1] - truth) < reach * all),
    wide = length(rounds) > 3 && rounds[[length(rounds)]]$clip > 1.3 * rounds[[2]]$clip,
    abs(off) < reach * sqrt(diag(vcov(fit, "privacy")))[-1]
  )
}

rows <- list()
add_row <- function(design, n, epsilon, values) {
  inside <- rowMeans(values[-(1:4), , drop = FALSE])
  row <- data.frame(
    design = design, n = n, epsilon = epsilon, runs = ncol(values),
    largest = round(stats::median(values["largest", ]), 2), sample = round(mean(inside), 3),
    worst = round(min(inside), 3), covers = round(mean(values["covers", ]), 3),
    width = round(stats::median(values["width", ]), 2), wide = round(mean(values["wide", ]), 2)
  )
  cat(paste(unlist(row), collapse = " "), "\n")
  rows <<- c(rows, list(row))
  utils::write.csv(do.call(rbind, rows), "bench/results/lm-skew.csv", row.names = FALSE)
}

if (requireNamespace("AER", quietly = TRUE)) {
  data("CPS1988", package = "AER")
  model <- log(wage) ~ education + experience + I(experience^2) + ethnicity + smsa + region +
    parttime
  bounds <- c(
    list(wage = c(10, 30000), education = c(0, 25), experience = c(-10, 80)),
    lapply(CPS1988[c("ethnicity", "smsa", "region", "parttime")], levels)
  )
  for (epsilon in c(0.5, 1, 2, 4, 10, 1e4)) {
    values <- replicate(runs, run_once(model, CPS1988, bounds, epsilon, NULL))
    add_row("CPS1988", nrow(CPS1988), epsilon, values)
  }
}

for (design in names(errors)) {
  for (n in c(5000, 20000)) {
    values <- replicate(runs, {
      x <- rnorm(n)
      t <- runif(n) < .2
      people <- data.frame(y = 1 + .5 * x - .5 * t + errors[[design]](x, t), x, t)
      run_once(y ~ x + t, people, list(y = c(-20, 20), x = c(-9, 9), t = yes), 1, c(.5, -.5))
    })
    add_row(design, n, 1, values)
  }
}
