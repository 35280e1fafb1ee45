# dp_aggregate(): coverage and error of the default, over shapes and over statistics that are biased
# in small samples. Writes bench/results/aggregate.csv. DPSC_RUNS gives the number of runs (default
# 100).
library(dpsc)

runs <- as.integer(Sys.getenv("DPSC_RUNS", "100"))
shapes <- list(
  normal = function(n) stats::rnorm(n), exponential = function(n) stats::rexp(n),
  lognormal = function(n) stats::rlnorm(n), gamma = function(n) stats::rgamma(n, 0.3),
  uniform = function(n) stats::runif(n),
  mixture = function(n) stats::rexp(n) * (stats::runif(n) < 0.6)
)
statistics <- list(
  mean = function(rows) mean(rows$x),
  "90 % quantile" = function(rows) stats::quantile(rows$x, 0.9, names = FALSE),
  sd = function(rows) stats::sd(rows$x),
  "logit slope" = function(rows) {
    stats::glm.fit(cbind(1, rows$z), rows$b, family = stats::binomial())$coefficients[[2L]]
  }
)
people <- function(shape, n) {
  z <- stats::rnorm(n)
  data.frame(x = shapes[[shape]](n), z = z, b = stats::rbinom(n, 1L, stats::plogis(z - 1)))
}

set.seed(1)
cells <- expand.grid(n = c(1000, 10000), shape = names(shapes), statistic = names(statistics),
  stringsAsFactors = FALSE)
# The slope of the logit does not depend on the shape, so one shape suffices.
cells <- cells[cells$statistic != "logit slope" | cells$shape == "normal", ]
rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  statistic <- statistics[[cell$statistic]]
  truth <- if (cell$statistic == "logit slope") 1 else statistic(people(cell$shape, 2e6))
  found <- replicate(if (cell$statistic == "logit slope") ceiling(runs / 4) else runs, {
    data <- people(cell$shape, cell$n)
    fit <- suppressWarnings(dp_aggregate(data, statistic, lower = -20, upper = 20, epsilon = 1,
      control = dp_control(rng = "R")))
    c(fit$estimate - truth, fit$std.error, suppressWarnings(statistic(data)) - truth)
  })
  given <- !is.na(found[2L, ])
  data.frame(cell,
    interval = mean(given), cover = mean(abs(found[1L, given]) < 1.96 * found[2L, given]),
    rmse = sqrt(mean(found[1L, ]^2)), se = stats::median(found[2L, ]),
    without.privacy = sqrt(mean(found[3L, ]^2)), runs = ncol(found)
  )
})
out <- do.call(rbind, rows)
print(out, digits = 3, row.names = FALSE)
utils::write.csv(format(out, digits = 4), file.path("bench", "results", "aggregate.csv"),
  row.names = FALSE)
