# Measurements of vignette("papers"): every table there that has no script of its own. Writes
# results/papers.csv (long: table, row, column, value) and results/papers-leverage.csv (points).
# Noise is seeded, for these tables alone, so that nothing here is private. Minutes, one core.
library(dpsc)
home <- Sys.getenv("DPSC_REPRODUCTION", file.path("inst", "reproduction"))
seeded <- dp_control(rng = "R")
tables <- list()
record <- function(name, values) {
  values <- as.matrix(values)
  tables[[name]] <<- data.frame(
    table = name, row = rownames(values)[row(values)], column = colnames(values)[col(values)],
    value = signif(as.vector(values), 4)
  )
  print(signif(values, 3))
}
root_mean <- function(squares) sqrt(mean(squares))
# A plan refuses a fit in which no coefficient would be identified: NA in the table.
or_missing <- function(fit, size) {
  tryCatch(suppressWarnings(fit), dpsc_error_argument = function(e) {
    list(coefficients = rep(NA_real_, size))
  })
}

# --- Effects on the estimates ---------------------------------------------------------------------
set.seed(1)
n <- 2000
people <- data.frame(a = runif(n, -1, 1), b = runif(n, -1, 1), c = runif(n, -1, 1))
truth <- c(0.3, 1.5, -1, 0)
people$y <- runif(n) < plogis(drop(cbind(1, as.matrix(people)) %*% truth))
bounds <- list(y = c(FALSE, TRUE), a = c(-1, 1), b = c(-1, 1), c = c(-1, 1))
sample_fit <- coef(glm(y ~ a + b + c, binomial, people))
error <- function(method, calibration = NULL, delta = 0, times = 20) {
  root_mean(replicate(times, coef(dp_glm(y ~ a + b + c, people,
    epsilon = 1, delta = delta, bounds = bounds, method = method, calibration = calibration,
    intervals = FALSE, control = seeded
  )) - sample_fit)^2)
}
record("logistic", rbind(error = c(
  output = error("output"), `output, published` = error("output", "published"),
  cms = error("cms"), kst = error("kst", "published", 1e-6),
  `objective-public` = error("objective-public"), napp = error("napp"),
  objective = error("objective", delta = 1e-6), glm = root_mean((sample_fit - truth)^2)
)))

n <- 20000
rows <- data.frame(a = runif(n, -1, 1), b = runif(n, -1, 1))
rows$y <- pmax(-3, pmin(3, 0.2 + rows$a - 0.5 * rows$b + rnorm(n, sd = 0.5)))
least <- coef(lm(y ~ a + b, rows))
edges <- list(y = c(-3, 3), a = c(-1, 1), b = c(-1, 1))
record("linear", rbind(error = vapply(c(ops = "ops", adaops = "adaops", moments = "moments"),
  function(method) {
    root_mean(replicate(20, coef(dp_lm(y ~ a + b, rows,
      epsilon = 1, bounds = edges, method = method, control = seeded
    )) - least)^2)
  }, 0)))

# --- Losses of single people ----------------------------------------------------------------------
drawn <- dp_lm(y ~ a + b, rows, epsilon = 1, bounds = edges, method = "ops", control = seeded)
loss <- as.data.frame(pdp(drawn, rows))
record("sampled", rbind(loss = c(
  promise = 1, largest = max(loss$removal), mean = mean(loss$removal),
  `realised, least` = min(loss$realised), `realised, most` = max(loss$realised)
)))

m <- 3000
persons <- data.frame(a = rnorm(m), b = runif(m, -1, 1))
eta <- 0.4 + 0.6 * persons$a - 0.5 * persons$b
outcome <- list(
  binomial = rbinom(m, 1, plogis(eta)), poisson = pmin(rpois(m, exp(eta)), 50),
  gaussian = eta + rt(m, 3)
)
edge <- list(binomial = c(0, 1), poisson = c(0, 50), gaussian = c(-50, 50))
record("realised", t(vapply(names(outcome), function(family) {
  persons$y <- outcome[[family]]
  fit <- dp_glm(y ~ a + b, persons, family,
    epsilon = 1, bounds = list(y = edge[[family]], a = c(-8, 8), b = c(-1, 1)), control = seeded
  )
  realised <- as.data.frame(pdp(fit, persons))$realised
  stats::setNames(
    stats::quantile(realised, c(0, 0.05, 0.5, 0.95, 1)), c("least", "5 %", "median", "95 %", "most")
  )
}, numeric(5))))

# Figure 1, and the left half of Figure 2: exact losses, or maxima over the unit ball.
set.seed(2019)
# Of normal noise of standard deviation 4, at delta = 1e-6, by bisection.
epsilon_of <- function(shift) {
  mu <- shift / 4
  low <- 0 * mu
  high <- low + 100
  for (i in 1:50) {
    e <- (low + high) / 2
    holds <- pnorm(mu / 2 - e / mu) - exp(e) * pnorm(-mu / 2 - e / mu) <= 1e-6
    high[holds] <- e[holds]
    low[!holds] <- e[!holds]
  }
  high
}
three_losses <- function(n, d = 10, ridge = 1) {
  unit <- function(x) x / sqrt(rowSums(x^2))
  X <- unit(matrix(rnorm(n * d), n))
  y <- pmax(-1, pmin(1, drop(X %*% t(unit(matrix(rnorm(d), 1)))) + 0.5 * rnorm(n)))
  H <- solve(crossprod(X) + diag(ridge, d))
  theta <- drop(H %*% crossprod(X, y))
  XH <- X %*% H
  people <- abs(y - drop(X %*% theta)) * sqrt(rowSums(XH^2)) / (1 - rowSums(XH * X))
  one <- function(u) { # movement of the estimate by a row along u, with the worst outcome
    x <- u / sqrt(sum(u^2))
    -(1 + abs(sum(x * theta))) * sqrt(sum((H %*% x)^2)) / (1 + drop(x %*% H %*% x))
  }
  directions <- cbind(eigen(H)$vectors, theta)
  anybody <- -min(apply(directions, 2, function(u) optim(u, one, method = "BFGS")$value))
  worst <- optimize(function(s) (1 + s * sqrt(n) / (ridge + s^2)) / (ridge + s^2 + 1), c(0, 5),
    maximum = TRUE
  )
  own <- epsilon_of(people)
  c(
    promise = epsilon_of(worst$objective), anybody = epsilon_of(anybody), largest = max(own),
    median = stats::median(own), mean = mean(own), least = min(own)
  )
}
crowds <- c(30, 60, 120, 240, 480, 960, 1920)
record("figure1", t(vapply(stats::setNames(crowds, crowds), three_losses, numeric(6))))

# Leverage and residual: `quakes`.
quake_bounds <- list(
  mag = c(3.5, 6.5), stations = c(0, 150), depth = c(0, 700), lat = c(-40, -10), long = c(160, 190)
)
quake_fit <- function(epsilon, method = "ops") {
  dp_lm(mag ~ stations + depth + lat + long, quakes,
    epsilon = epsilon, bounds = quake_bounds, method = method, control = seeded
  )
}
set.seed(2018)
drawn <- quake_fit(1)
exact <- as.data.frame(pdp(drawn, quakes))$removal
scaled <- function(name) {
  2 * (quakes[[name]] - quake_bounds[[name]][1]) / diff(quake_bounds[[name]]) - 1
}
# Rows have length 1 at most.
X <- cbind(1, vapply(names(quake_bounds)[-1], scaled, numeric(1000))) / sqrt(5)
H <- solve(crossprod(X) + diag(drawn$plan$ridge, 5))
leverage <- rowSums((X %*% H) * X)
mu <- leverage / (1 - leverage)
e <- abs(scaled("mag") - drop(X %*% H %*% crossprod(X, scaled("mag")))) / (1 - leverage)
theorem14 <- function(mu, e, gamma, L = log(2 / 1e-6)) {
  abs(-log1p(mu) + gamma * mu * e^2 / (1 + mu)) / 2 + mu / 2 * L + sqrt(gamma * mu * L) * e
}
printed <- theorem14(mu, e, drawn$plan$gamma)
ranks <- function(x) cor(x, exact, method = "spearman")
record("leverage", rbind(value = c(
  leverage = ranks(leverage), residual = ranks(e), product = ranks(sqrt(mu) * e),
  `ratio, least` = min(printed / exact), `ratio, most` = max(printed / exact)
)))
points <- signif(data.frame(leverage, residual = e, exact, printed), 3)
utils::write.csv(points[seq(1, 1000, 4), ], file.path(home, "results", "papers-leverage.csv"),
  row.names = FALSE
)

set.seed(2018)
grid <- expand.grid(
  method = c("ops", "adaops", "moments"), promise = c(0.5, 1, 3, 10), stringsAsFactors = FALSE
)
lost <- t(mapply(function(method, epsilon) {
  loss <- as.data.frame(pdp(quake_fit(epsilon, method), quakes))$removal
  c(mean = mean(loss), largest = max(loss))
}, grid$method, grid$promise))
rownames(lost) <- paste(grid$promise, grid$method)
record("promised", lost)

# The right half of Figure 2.
set.seed(2015)
ten <- data.frame(matrix(runif(9000, -1, 1), 1000))
ten$y <- drop(as.matrix(ten) %*% rep(c(0.2, -0.2, 0.1), 3)) + 0.1 * rnorm(1000)
ten$y <- pmax(-1, pmin(1, ten$y))
wide <- stats::setNames(rep(list(c(-1, 1)), 10), c("y", paste0("X", 1:9)))
record("figure2", t(vapply(c(a = 10, b = 10^1.5, c = 100, d = 10^2.5, e = 1000), function(epsilon) {
  fit <- dp_lm(y ~ ., ten,
    epsilon = epsilon, bounds = wide, method = "ops", settings = list(ridge = 10), control = seeded
  )
  gamma <- fit$plan$gamma
  loss <- as.data.frame(pdp(fit, ten))$removal
  c(
    risk = 10 / (2 * gamma), promise = epsilon, exponential = 2 * gamma, largest = max(loss),
    mean = mean(loss), least = min(loss)
  )
}, numeric(6))))

# --- NAPP-ERM's designs ---------------------------------------------------------------------------
set.seed(2110)
sixteen <- paste0("x", 1:16)
beta <- c(4 - 0.5 * (0:7) / 7, rep(0, 8))
limits_of <- function(half, y) {
  c(list(y = y), stats::setNames(rep(list(c(-half, half)), 16), sixteen))
}
columns <- function(n, half) matrix(runif(n * 16, -half, half), n, dimnames = list(NULL, sixteen))
logistic_design <- function(n) {
  x <- columns(n, 0.5)
  data.frame(x, y = runif(n) < plogis(drop(x %*% beta)))
}
half <- limits_of(0.5, c(FALSE, TRUE))
arms <- list(
  `not private` = list(epsilon = Inf),
  `napp as printed` = list(method = "napp", calibration = "published", delta = 0),
  `cms as printed` = list(method = "cms", calibration = "published", delta = 0),
  `objective, pure` = list(method = "objective-public", delta = 0),
  `napp, pure` = list(method = "napp", delta = 0),
  `napp, delta` = list(method = "napp", delta = 1e-5),
  `dp_glm(), delta` = list(method = "objective", delta = 1e-5, intervals = FALSE),
  `dp_glm(), lasso` = list(method = "objective", delta = 1e-5, penalty = list(lasso = 0.01))
)
run_arm <- function(arm, n, times) {
  root_mean(replicate(times, {
    given <- list(formula = y ~ ., data = logistic_design(n), family = "binomial", epsilon = 1,
      bounds = half, control = seeded)
    coef(or_missing(do.call(dp_glm, utils::modifyList(given, arm)), 17))[-1] - beta
  })^2 * 16)
}
sizes <- c(500, 1000, 10000)
errors <- t(vapply(arms, function(arm) {
  mapply(run_arm, list(arm), sizes, c(20, 20, 10))
}, numeric(3)))
colnames(errors) <- paste("n =", sizes)
record("napp", errors)
support <- vapply(c(1000, 10000), function(n) {
  found <- rowMeans(replicate(10, coef(dp_glm(y ~ ., logistic_design(n),
    epsilon = 1, delta = 1e-5, bounds = half, penalty = list(lasso = 0.03), control = seeded
  ))[-1] != 0))
  c(right = mean(found[1:8]), wrong = mean(found[9:16]))
}, numeric(2))
colnames(support) <- paste("n =", c(1000, 10000))
record("support", support)

gamma <- c(1 - 0.8 * (0:7) / 7, rep(0, 8))
quarter <- limits_of(0.25, c(-1.75, 1.75))
linear_design <- function(n) {
  x <- columns(n, 0.25)
  cut <- pnorm(c(-0.5, 0.5), sd = 0.25)
  data.frame(x, y = drop(x %*% gamma) + qnorm(runif(n, cut[[1]], cut[[2]]), sd = 0.25))
}
by_lm <- function(method) {
  function(d) {
    dp_lm(y ~ ., d,
      epsilon = 1, delta = 1e-5, bounds = quarter, method = method, control = seeded
    )
  }
}
linear_arms <- list(
  `not private` = function(d) lm(y ~ ., d),
  `dp_glm(), log-cosh` = function(d) {
    dp_glm(y ~ ., d, "gaussian",
      epsilon = 1, delta = 1e-5, bounds = quarter, intervals = FALSE, control = seeded
    )
  },
  `dp_lm(), moments` = by_lm("moments"), `dp_lm(), ops` = by_lm("ops"),
  `dp_lm(), adaops` = by_lm("adaops")
)
linear_error <- function(n, fit, times) {
  root_mean(replicate(times, coef(or_missing(fit(linear_design(n)), 17))[-1] - gamma)^2 * 16)
}
linear_errors <- t(vapply(linear_arms, function(fit) {
  c(`n = 500` = linear_error(500, fit, 20), `n = 10000` = linear_error(10000, fit, 10))
}, numeric(2)))
record("napp-linear", linear_errors)

count_bounds <- limits_of(0.25, c(0, 2000))
count_error <- function(n, epsilon, times) {
  root_mean(replicate(times, {
    x <- columns(n, 0.25)
    d <- data.frame(x, y = pmin(rpois(n, exp(drop(x %*% beta))), 2000))
    fit <- if (is.finite(epsilon)) {
      or_missing(dp_glm(y ~ ., d, "poisson", epsilon = epsilon, delta = 1e-4,
        bounds = count_bounds, intervals = FALSE, control = seeded), 17)
    } else {
      glm(y ~ ., poisson, d)
    }
    coef(fit)[-1] - beta
  })^2 * 16)
}
counts <- vapply(sizes, function(n) {
  c(`not private` = count_error(n, Inf, 10), `epsilon = 1` = count_error(n, 1, 10),
    `epsilon = 8` = count_error(n, 8, 10))
}, numeric(3))
colnames(counts) <- paste("n =", sizes)
record("napp-counts", counts)

# --- The dissertation's rates ---------------------------------------------------------------------
set.seed(2013)
four <- paste0("x", 1:4)
unit <- c(list(y = c(FALSE, TRUE)), stats::setNames(rep(list(c(-1, 1)), 4), four))
rate_arms <- c(
  output = "output", kst = "kst", `objective-public` = "objective-public", objective = "objective"
)
rates <- vapply(c(500, 2000, 8000, 32000), function(n) {
  x <- matrix(runif(n * 4, -1, 1), n, dimnames = list(NULL, four))
  d <- data.frame(x, y = runif(n) < plogis(drop(x %*% c(1, -1, 0.5, 0))))
  without <- coef(glm(y ~ ., binomial, d))
  vapply(rate_arms, function(method) {
    fit <- function() {
      suppressWarnings(dp_glm(y ~ ., d, "binomial",
        epsilon = 1, bounds = unit, method = method, intervals = FALSE, control = seeded,
        calibration = if (method == "kst") "published"
      ))
    }
    root_mean(replicate(10, coef(fit()) - without)^2 * 5)
  }, 0)
}, numeric(4))
colnames(rates) <- paste("n =", c(500, 2000, 8000, 32000))
record("rates", rates)

# Linear regression: Algorithm 4.1 and AdaSSP as printed, for rows that are added or removed.
box <- function(p) {
  c(list(y = c(-p, p)), stats::setNames(rep(list(c(-1, 1)), p), paste0("X", seq_len(p))))
}
linear_data <- function(n, p) {
  d <- data.frame(matrix(runif(n * p, -1, 1), n))
  d$y <- drop(as.matrix(d) %*% rep_len(c(0.8, -0.5, 0.3, 0), p)) + rnorm(n, sd = 0.5)
  d$y <- pmax(-p, pmin(p, d$y))
  d
}
algorithm41 <- function(d, p, epsilon = 1, delta = 1e-6) {
  X <- as.matrix(d[seq_len(p)])
  A <- crossprod(X) + diag(2 * p / epsilon, p)
  noise <- rnorm(p, sd = sqrt(p^3 * (32 * log(2 / delta) + 16 * epsilon)) / epsilon)
  v <- drop(crossprod(X, d$y)) - noise
  optim(numeric(p), function(t) sum(t * (A %*% t)) / 2 - sum(v * t), function(t) drop(A %*% t) - v,
    method = "L-BFGS-B", lower = -1, upper = 1
  )$par
}
adassp <- function(d, p, epsilon = 1, delta = 1e-6) {
  X <- as.matrix(d[seq_len(p)]) / sqrt(p) # rows of length 1 at most
  A <- crossprod(X)
  s <- sqrt(log(6 / delta)) / (epsilon / 3)
  least <- max(0, min(eigen(A)$values) + s * rnorm(1) - log(6 / delta) / (epsilon / 3))
  ridge <- max(0, sqrt(p * log(6 / delta) * log(2 * p^2 / 0.05)) / (epsilon / 3) - least)
  Z <- matrix(rnorm(p^2), p)
  Z[lower.tri(Z)] <- t(Z)[lower.tri(Z)]
  drop(solve(A + s * Z + diag(ridge, p), crossprod(X, d$y) + s * p * rnorm(p))) / sqrt(p)
}
by_method <- function(method) {
  function(d, p) {
    coef(or_missing(dp_lm(y ~ ., d,
      epsilon = 1, bounds = box(p), method = method, control = seeded
    ), p + 1))[-1]
  }
}
log_cosh <- function(d, p) {
  coef(suppressWarnings(
    dp_glm(y ~ ., d, "gaussian", epsilon = 1, bounds = box(p), intervals = FALSE, control = seeded)
  ))[-1]
}
slopes <- function(rows) {
  unname(lm.fit(cbind(1, as.matrix(rows[-ncol(rows)])), rows$y)$coefficients[-1])
}
aggregated <- function(d, p) {
  dp_aggregate(d, slopes,
    lower = rep(-1, p), upper = rep(1, p), epsilon = 1, delta = 1e-6,
    method = "mean", blocks = nrow(d) / 100, control = seeded
  )$estimate
}
regressions <- list(
  `Algorithm 4.1` = algorithm41, `dp_aggregate()` = aggregated, AdaSSP = adassp,
  ops = by_method("ops"), adaops = by_method("adaops"), `dp_lm()` = by_method("moments"),
  `dp_glm(), log-cosh` = log_cosh
)
from_lm <- function(fit, n, p) {
  sqrt(mean(replicate(4, {
    d <- linear_data(n, p)
    sum((fit(d, p) - coef(lm(y ~ ., d))[-1])^2)
  })))
}
many <- c(`n = 2000` = 2000, `n = 8000` = 8000, `n = 32000` = 32000)
set.seed(2013)
record("linear-rates", t(vapply(regressions, function(fit) {
  vapply(many, from_lm, 0, fit = fit, p = 4)
}, many)))
set.seed(2012)
widths <- c(`p = 2` = 2, `p = 4` = 4, `p = 8` = 8, `p = 16` = 16)
record("linear-width", t(vapply(regressions[-2], function(fit) {
  vapply(widths, function(p) from_lm(fit, 10000, p), 0)
}, widths)))

utils::write.csv(do.call(rbind, tables), file.path(home, "results", "papers.csv"),
  row.names = FALSE
)
