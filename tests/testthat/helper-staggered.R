# Long panels with several adoption dates and covariates that affect the outcome after period T0.

staggered_covariates <- function(n = 60, T0 = 5, T1 = 4, dates = c(5, 5, 7, 7), seed = 1) {
  withr::local_seed(seed)
  k <- length(dates)
  periods <- T0 + T1
  x1 <- stats::runif(n + k, 20, 80)
  g <- sample(c("a", "b", "c"), n + k, TRUE)
  y <- stats::rnorm(n + k, 50, 8) + matrix(stats::rnorm((n + k) * periods, 0, 2), n + k)
  post <- T0 + seq_len(T1)
  y[, post] <- y[, post] + 0.3 * (x1 - 50) + 6 * (g == "b")
  units <- sprintf("u%04d", seq_len(n + k))
  from <- c(rep(Inf, n), dates)
  data <- data.frame(
    unit = rep(units, periods), time = rep(seq_len(periods), each = n + k), y = as.vector(y),
    on = as.integer(outer(seq_len(n + k), seq_len(periods), function(i, t) t > from[i])),
    x1 = rep(x1, periods), g = rep(g, periods)
  )
  list(
    data = data[sample(nrow(data)), ], y = y, x1 = x1, g = g, n = n, T0 = T0, T1 = T1,
    dates = dates, units = units, values = cbind(x1, g == "b", g == "c"),
    bounds = list(y = c(0, 100), x1 = c(0, 100), g = c("a", "b", "c"))
  )
}

staggered_fit <- function(p, formula = y ~ on | x1 + g, data = p$data, ..., epsilon = Inf,
                          bounds = p$bounds, fun = dp_synth) {
  fun(formula,
    data = data, index = c("unit", "time"), epsilon = epsilon, bounds = bounds,
    protect = "donors", ...
  )
}
