# Private logistic regression with unbalanced 0/1 regressors: error, coverage, and width of
# intervals. Not private: seeded. Columns and designs are as in bench/lm-dummies.R, with standard
# errors of glm() on the same rows instead of lm(). `planned` is `longer` of dp_plan_glm(share = ).
# DPSC_BENCH_SCALE multiplies the runs; DPSC_BENCH_PEOPLE lists numbers of people.
library(dpsc)
more <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))
people <- as.numeric(strsplit(Sys.getenv("DPSC_BENCH_PEOPLE", "2000,20000,200000"), ",")[[1]])
runs_of <- c(`2000` = 40, `20000` = 40, `200000` = 8)
yes <- c(FALSE, TRUE)
one <- function(n, q) runif(n) < q

designs <- list(
  list(name = "dummy .01", share = .01, f = y ~ t, x = \(n) list(t = one(n, .01))),
  list(name = "dummy .03", share = .03, f = y ~ t, x = \(n) list(t = one(n, .03))),
  list(name = "dummy .09", share = .09, f = y ~ t, x = \(n) list(t = one(n, .09))),
  list(name = "dummy .2", share = .2, f = y ~ t, x = \(n) list(t = one(n, .2))),
  list(name = "two dummies", share = .05, f = y ~ t + u,
    x = \(n) list(t = one(n, .05), u = one(n, .1))),
  list(name = "factor 90/5/5", share = .05, f = y ~ g,
    x = \(n) list(g = sample(c("a", "b", "c"), n, TRUE, c(.9, .05, .05)))),
  list(name = "t * post, 10 %", share = .05, f = y ~ t * u,
    x = \(n) list(t = one(n, .1), u = one(n, .5))),
  list(name = "80 % zeros", share = .5, f = y ~ v,
    x = \(n) list(v = ifelse(one(n, .2), 2 * rexp(n), 0))),
  list(name = "dummy .09, two normals", share = .09, f = y ~ t + a + b,
    x = \(n) list(t = one(n, .09), a = rnorm(n), b = rnorm(n))),
  list(name = "five normals", share = .5, f = y ~ a + b + c + d + e,
    x = \(n) list(a = rnorm(n), b = rnorm(n), c = rnorm(n), d = rnorm(n), e = rnorm(n))),
  list(name = "eight balanced dummies", share = .5, f = y ~ .,
    x = \(n) stats::setNames(lapply(1:8, \(k) one(n, .5)), paste0("t", 1:8))),
  list(name = "two correlated dummies", share = .12, f = y ~ t + u,
    x = \(n) {
      t <- one(n, .12)
      list(t = t, u = ifelse(one(n, .6), t, one(n, .12)))
    }),
  list(name = "rare interaction", share = .07, f = y ~ t * a,
    x = \(n) list(t = one(n, .07), a = rnorm(n)))
)

bounds_of <- function(x) {
  lapply(x, function(column) {
    if (is.logical(column)) return(yes)
    if (is.character(column)) return(letters[1:3])
    if (min(column) >= 0) c(0, 30) else c(-9, 9)
  })
}

run_once <- function(design, n) {
  data <- as.data.frame(design$x(n))
  bounds <- c(list(y = c(0, 1)), bounds_of(data))
  data$y <- 0
  columns <- stats::model.matrix(design$f, data)[, -1, drop = FALSE]
  slopes <- rep(c(0.5, -0.5), length.out = ncol(columns))
  data$y <- as.double(runif(n) < stats::plogis(-0.5 + drop(columns %*% slopes)))
  raw <- stats::glm(design$f, stats::binomial(), data)
  se <- sqrt(diag(stats::vcov(raw)))[-1]
  fit <- suppressWarnings(dp_glm(design$f, data, "binomial",
    epsilon = 1, bounds = bounds, control = dp_control(rng = "R")
  ))
  own <- coef(fit)[-1]
  limits <- confint(fit)[-1, , drop = FALSE]
  known <- fit$identified[-1]
  c(
    error = max(abs(own - slopes) / se), glm = max(abs(coef(raw)[-1] - slopes) / se),
    square = mean(((own - slopes) / se)^2), width = stats::median(sqrt(diag(vcov(fit)))[-1] / se),
    covers = mean(limits[, 1] <= slopes & slopes <= limits[, 2]), lost = mean(!known)
  )
}

planned <- function(design, n) {
  data <- as.data.frame(design$x(500))
  data$y <- 0
  p <- ncol(stats::model.matrix(design$f, data)) - 1
  numbers <- sum(vapply(data[setdiff(names(data), "y")], is.double, NA))
  dp_plan_glm(n = n, p = p, epsilon = 1, numbers = numbers, share = design$share)$longer
}

rows <- list()
for (n in people) {
  for (design in designs) {
    set.seed(22)
    runs <- max(4, round(more * runs_of[[format(n, scientific = FALSE)]]))
    values <- replicate(runs, run_once(design, n))
    middle <- apply(values, 1, stats::median, na.rm = TRUE)
    needed <- sqrt(mean(values["square", ], na.rm = TRUE))
    row <- data.frame(
      design = design$name, n = n, runs = runs, error = signif(middle[["error"]], 3),
      glm = signif(middle[["glm"]], 3),
      tail = round(
        stats::quantile(values["error", ], .95, na.rm = TRUE)[[1]] / middle[["error"]], 2
      ),
      covers = round(mean(values["covers", ], na.rm = TRUE), 3),
      width = round(middle[["width"]] / needed, 2), needed = signif(needed, 3),
      planned = signif(planned(design, n), 3), lost = round(mean(values["lost", ]), 2)
    )
    cat(paste(unlist(row), collapse = " "), "\n")
    rows <- c(rows, list(row))
    utils::write.csv(do.call(rbind, rows), "bench/results/glm-dummies.csv", row.names = FALSE)
  }
}
