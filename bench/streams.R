# Online learning: cumulative regret over the regret of always predicting with theta = 0 (1:
# useless, above 1: harmful), and speed.
#   streams.csv: |x| = 1, delta = 1e-6. Linear: y = clip(x'theta + 0.2 N, +-1), sd(x'theta) = 0.5.
#     Logistic: sd(x'theta) = 2. Every private method uses its public defaults, without tuning.
#     `best_known`: values of the same method in the document, at the best tuning constant of a grid
#     and with noise calibrated by the curve of continuous Gaussian noise, 7 % below the noise by
#     zCDP, which the ledger adds up.
#     pigd, pgiga, pocp, poffl are the tight methods of Thakurta (2013), chapter 5. poffl releases
#     once, at the end, and its release is judged on all rows. A logistic pocp has horizons up to
#     20,000.
#   streams-speed.csv: seconds for a million steps of p = 20, and the size of the state.
library(dpsc)

# T, p and epsilon, with the values in the document for FTRL, FTAL (buffers), FTAL (tree) and
# moments.
cells <- utils::read.csv(text = "model,p,epsilon,T,best_ftrl,best_ftal_tree,best_ftal,best_gram
linear,5,1,1000,.48,.89,.50,.53
linear,5,1,10000,.11,.16,.068,.076
linear,5,1,100000,.029,.020,.007,.010
linear,5,4,1000,.26,.30,.16,.19
linear,5,4,10000,.050,.040,.018,.020
linear,5,4,100000,.012,.005,.002,.003
linear,20,1,1000,.89,1.2,1.3,.89
linear,20,1,10000,.34,.55,.27,.31
linear,20,1,100000,.085,.096,.044,.048
linear,20,4,10000,.13,.19,.097,.11
linear,20,4,100000,.035,.030,.012,.014
logistic,5,1,1000,.69,.80,.69,
logistic,5,1,10000,.19,.25,.12,
logistic,5,1,100000,.047,.039,.017,
logistic,5,4,10000,.078,.079,.035,
logistic,20,1,10000,.52,.75,.43,
logistic,20,1,100000,.11,.16,.066,
logistic,20,4,100000,.058,.048,.022,")

simulate <- function(model, p, horizon) {
  x <- matrix(stats::rnorm(horizon * p), horizon)
  x <- x / sqrt(rowSums(x^2))
  theta <- stats::rnorm(p)
  theta <- theta / sqrt(sum(theta^2)) * sqrt(p) * (if (model == "linear") 0.5 else 2)
  eta <- drop(x %*% theta)
  y <- if (model == "linear") {
    pmax(pmin(eta + 0.2 * stats::rnorm(horizon), 1), -1)
  } else {
    stats::rbinom(horizon, 1, stats::plogis(eta))
  }
  list(x = x, y = y)
}
# The loss in excess of the best fixed coefficients, relative to the excess loss of predicting zero.
regret <- function(model, data, eta) {
  if (model == "linear") {
    best <- stats::lm.fit(data$x, data$y)$fitted.values
    loss <- function(eta) sum((data$y - eta)^2) / 2
  } else {
    best <- suppressWarnings(
      stats::glm.fit(data$x, data$y, family = stats::binomial())$linear.predictors
    )
    loss <- function(eta) sum(log1p(exp(eta)) - data$y * eta)
  }
  (loss(eta) - loss(best)) / (loss(0 * eta) - loss(best))
}
open_stream <- function(model, data, epsilon, method, noise) {
  names <- names(data.frame(data$x))
  bounds <- c(
    list(y = if (model == "linear") c(-1, 1) else c(0, 1)),
    stats::setNames(rep(list(c(-1, 1)), length(names)), names)
  )
  dp_online(y ~ 0 + .,
    epsilon = epsilon, delta = 1e-6, horizon = length(data$y), bounds = bounds, radius = 1,
    family = if (model == "linear") "gaussian" else "binomial", method = method, noise = noise
  )
}
# The release after the last row, applied to all rows, for "poffl", which releases once.
in_the_end <- function(model, data, epsilon, method) {
  stream <- open_stream(model, data, epsilon, method, NULL)
  update(stream, data.frame(y = data$y, data$x))
  drop(data$x %*% coef(stream))
}
progressive <- function(model, data, epsilon, method, noise = "blt") {
  stream <- open_stream(model, data, epsilon, method, noise)
  rows <- data.frame(y = data$y, data$x)
  # The scores before each row is used, without clipping to the bounds. Clipping would only reduce
  # the loss.
  table <- dpsc:::table_of_rows(stream$columns, rows)
  dpsc:::stream_advance_cpp(stream$state, table, FALSE, TRUE, stream$rng)$scores
}

rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(i)
  scale <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))
  n <- max(2, round(scale * switch(as.character(cell$T), `1000` = 30, `10000` = 8, 3)))
  linear <- cell$model == "linear"
  results <- replicate(n, {
    data <- simulate(cell$model, cell$p, cell$T)
    value <- function(...) {
      regret(cell$model, data, progressive(cell$model, data, cell$epsilon, ...))
    }
    c(
      ftrl = value("ftrl"), ftal_tree = value("ftal", "tree"), ftal = value("ftal"),
      gram = if (linear) value("gram") else NA, pigd = value("pigd", NULL),
      pgiga = value("pgiga", NULL),
      pocp = if (linear || cell$T <= 10000) value("pocp", NULL) else NA,
      poffl_at_end = regret(
        cell$model, data, in_the_end(cell$model, data, cell$epsilon, "poffl")
      )
    )
  })
  out <- signif(rowMeans(results), 2)
  cat(cell$model, cell$p, cell$epsilon, cell$T, out, "\n")
  data.frame(cell[1:4], as.list(out), cell[5:8])
})
utils::write.csv(do.call(rbind, rows), "bench/results/streams.csv", row.names = FALSE, na = "")

steps <- 1e6
p <- 20
table <- matrix(stats::runif(steps * (p + 1), -1, 1), steps)
speed <- lapply(c("blt", "tree"), function(noise) {
  facts <- list(
    noise = noise, shape = "vector", size = p, horizon = steps, times = 1, apart = 1,
    rho = cdp_rho(1, 1e-6), epsilon = 0
  )
  learner <- list(
    method = "ftal", family = "binomial", columns = p, radius = sqrt(p), clip = sqrt(p),
    ball = 3 * sqrt(p), psi = 0.2, lambda = 0, damping = 2
  )
  state <- dpsc:::stream_open_cpp(dpsc:::stream_plan_cpp(facts), learner)
  time <- system.time(dpsc:::stream_advance_cpp(state, table, FALSE, FALSE, "secure"))
  file <- tempfile()
  dpsc:::stream_save_cpp(state, file, dpsc:::state_id_cpp(), raw(), FALSE, "secure", 0L)
  data.frame(
    noise = noise, steps = steps, p = p, seconds_of_processor = signif(sum(time[1:2]), 3),
    seconds = signif(time[[3L]], 3), state_kilobytes = round(file.size(file) / 1024)
  )
})
speed <- do.call(rbind, speed)
utils::write.csv(speed, "bench/results/streams-speed.csv", row.names = FALSE)
print(speed)
