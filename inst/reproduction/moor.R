# Figure 3 of Li and Liu, and their figures 4 and 5 for linear models and counts. Designs of their
# Table 4. Writes results/moor.csv and results/napp-families.csv.
# Figure 3 has no noise. It compares three solutions by their distance from the lasso's slopes:
#   two_terms  a lasso and a ridge of Lambda0 beside it
#   printed    weights max(Lambda0, Lambda / |theta|) on squares, iterated: as printed, which aims
#              at a lasso of twice the weight
#   repaired   weights max(Lambda0, Lambda / (2 |theta|)): aims at the lasso itself
# Noise of figures 4 and 5 is seeded, for these tables alone. The printed noise of both families
# divides by zero, so that the printed method cannot be run; ours is dp_glm(penalty = ).
library(dpsc)
home <- Sys.getenv("DPSC_REPRODUCTION", file.path("inst", "reproduction"))
# The paper has 500 runs of each figure. Numbers of runs here: for figure 3, for the paper's numbers
# of people, and for 10,000 people.
runs <- as.integer(strsplit(Sys.getenv("DPSC_MOOR_RUNS", "40,200,25"), ",")[[1L]])
names(runs) <- c("figure3", "paper", "many")
names16 <- paste0("x", 1:16)
families <- list(
  gaussian = list(
    half = 0.25, beta = c(1 - 0.8 * (0:7) / 7, rep(0, 8)), mean = identity,
    slope = function(eta) rep(1, length(eta)), draw = function(eta) {
      low <- stats::pnorm(-2)
      eta + 0.25 * stats::qnorm(stats::runif(length(eta), low, 1 - low))
    }
  ),
  binomial = list(
    half = 0.5, beta = c(4 - 0.5 * (0:7) / 7, rep(0, 8)), mean = stats::plogis,
    slope = stats::dlogis, draw = function(eta) as.double(stats::runif(length(eta)) < plogis(eta))
  ),
  poisson = list(
    half = 0.25, beta = c(4 - 0.5 * (0:7) / 7, rep(0, 8)), mean = exp, slope = exp,
    draw = function(eta) stats::rpois(length(eta), exp(eta))
  )
)
draw <- function(family, n) {
  x <- matrix(stats::runif(n * 16, -family$half, family$half), n, dimnames = list(NULL, names16))
  list(x = x, y = family$draw(drop(x %*% family$beta)))
}

# The minimiser of sum l + sum w theta^2, by damped Newton.
weighted <- function(family, data, w, theta = numeric(16)) {
  gradient <- function(t) {
    drop(crossprod(data$x, family$mean(drop(data$x %*% t)) - data$y)) + 2 * w * t
  }
  g <- gradient(theta)
  for (step in 1:200) {
    if (sqrt(sum(g^2)) < 1e-9) break
    eta <- drop(data$x %*% theta)
    move <- solve(crossprod(data$x, family$slope(eta) * data$x) + diag(2 * w, 16), g)
    size <- 1
    repeat {
      there <- gradient(theta - size * move)
      if (all(is.finite(there)) && sum(there^2) < sum(g^2) || size < 1e-10) break
      size <- size / 2
    }
    theta <- theta - size * move
    g <- there
  }
  theta
}
# Weights that follow the estimate until they no longer change: a fixed point with floor `low`.
followed <- function(family, data, lasso, low, more = 0) {
  theta <- weighted(family, data, rep(max(low, 1e-3) + more, 16))
  for (i in 1:300) {
    w <- pmax(low, lasso / pmax(abs(theta), 1e-7)) + more
    next_theta <- weighted(family, data, w, theta)
    if (max(abs(next_theta - theta)) < 1e-8) break
    theta <- next_theta
  }
  theta
}
# The distance of the slopes from the lasso's slopes, on one table of people for all settings.
# Lambda0 as printed is curvature over epsilon at r = 1 / 2: |x| is 1 or 2, and exp(eta) is up to
# e^7 and more, of which 20 is taken here.
settings <- expand.grid(lambda = c(1, 5, 10, 20), lambda0 = c(0.5, 2))
figure3 <- function(name, n) {
  family <- families[[name]]
  data <- draw(family, n)
  low <- settings$lambda0 * if (name == "poisson") 20 else 1
  vapply(seq_len(nrow(settings)), function(k) {
    lambda <- settings$lambda[[k]]
    target <- followed(family, data, lambda / 2, 0)
    far <- function(theta) sqrt(sum((theta - target)^2))
    c(
      two_terms = far(followed(family, data, lambda / 2, 0, more = low[[k]])),
      printed = far(followed(family, data, lambda, low[[k]])),
      repaired = far(followed(family, data, lambda / 2, low[[k]]))
    )
  }, numeric(3))
}
set.seed(2110)
moor <- do.call(rbind, lapply(names(families), function(name) {
  apart <- replicate(runs[["figure3"]], figure3(name, 500))
  data.frame(family = name, n = 500, settings, runs = runs[["figure3"]],
    t(signif(apply(apart, 1:2, mean), 3)))
}))
moor$lambda0 <- moor$lambda0 * ifelse(moor$family == "poisson", 20, 1)
print(moor, row.names = FALSE)
utils::write.csv(moor, file.path(home, "results", "moor.csv"), row.names = FALSE)

# Figures 4 and 5 have separate seeds: they do not depend on the runs of figure 3.
set.seed(2111)
bounds_of <- function(name) {
  half <- families[[name]]$half
  y <- if (name == "gaussian") c(-1.75, 1.75) else c(0, 60)
  c(list(y = y), stats::setNames(rep(list(c(-half, half)), 16), names16))
}
measure <- function(family, b, test) {
  kept <- abs(b[-1]) > 0.01
  mean <- family$mean(drop(cbind(1, test$x) %*% b))
  c(
    true = mean(kept[1:8]), false = mean(kept[9:16]),
    mse = mean((mean - test$y)^2), error = sqrt(sum((b[-1] - family$beta)^2))
  )
}
# One table of people for all settings; fits that do not depend on Lambda are computed once.
arms <- rbind(
  data.frame(epsilon = NA, lambda = NA, version = "glm"),
  data.frame(epsilon = c(0.4, 1), lambda = NA, version = "napp"),
  expand.grid(epsilon = c(0.4, 1), lambda = c(1, 5, 20), version = "ours")
)
one_run <- function(name, n, test) {
  family <- families[[name]]
  data <- draw(family, n)
  rows <- data.frame(data$x, y = data$y)
  coefficients <- function(...) {
    stats::coef(suppressWarnings(dp_glm(y ~ ., rows, name, bounds = bounds_of(name),
      control = dp_control(rng = "R"), ...)))
  }
  vapply(seq_len(nrow(arms)), function(k) {
    epsilon <- arms$epsilon[[k]]
    measure(family, switch(as.character(arms$version[[k]]),
      ours = coefficients(
        epsilon = epsilon, delta = 1e-4, penalty = list(lasso = arms$lambda[[k]] / n)
      ),
      napp = coefficients(epsilon = epsilon, delta = 1e-4, method = "napp"),
      glm = coefficients(epsilon = Inf)
    ), test)
  }, numeric(4))
}
# The paper's numbers of people, and 10,000.
cells <- data.frame(
  family = rep(c("gaussian", "poisson"), each = 3), n = c(200, 500, 10000, 500, 1000, 10000)
)
results <- do.call(rbind, Map(function(name, n) {
  test <- draw(families[[name]], 10000)
  times <- runs[[if (n < 5000) "paper" else "many"]]
  values <- replicate(times, one_run(name, n, test))
  middle <- t(signif(apply(values, 1:2, mean), 3))
  se <- signif(apply(values["error", , ], 1L, stats::sd) / sqrt(times), 2)
  out <- data.frame(family = name, n, arms, runs = times, middle, se, row.names = NULL)
  out[order(out$epsilon, out$lambda, na.last = FALSE), ]
}, cells$family, cells$n))
utils::write.csv(results, file.path(home, "results", "napp-families.csv"), row.names = FALSE)
print(results, row.names = FALSE)
