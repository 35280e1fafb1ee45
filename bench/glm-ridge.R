# Ridge and constraints in the mechanism of dp_glm(). Not private: seeded.
#   glm-ridge.csv        coverage of 95 % intervals of slopes of a ridge fit: about the ridge fit of
#                        the population, with the release's weights and units (the estimand),
#                        and about the slopes without a ridge (not the estimand)
#   glm-constraints.csv  error of the linear predictor, root mean square of runs, with slopes that
#                        are on a simplex, non-negative or falling: without constraints, with
#                        constraints in the mechanism, and with the release moved afterwards
# The designs are as in bench/glm.R. DPSC_BENCH_SCALE multiplies the runs.
library(dpsc)
delta <- 1e-6
more <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))
bench <- parse("bench/glm.R")
for (e in bench) {
  if (is.call(e) && identical(as.list(e)[1:2], list(as.name("<-"), as.name("make_people")))) {
    eval(e)
  }
}

# The ridge fit of the population in the coordinates of the release, with slopes in the units of the
# formula.
population_slopes <- function(fit, people, ridge) {
  design <- people$design
  crowd <- make_people(20000, ncol(people$data) - 1L, design)
  x <- cbind(1, as.matrix(crowd$data[-1]))
  facts <- fit$public$facts
  table <- dpsc:::lm_table(fit$columns, crowd$data, TRUE)
  rows <- dpsc:::glm_rows_cpp(table, facts, fit$release)
  y <- stats::plogis(drop(x %*% crowd$truth))
  release <- fit$release
  release$information <- diag(1e16, ncol(x))
  release$information.sd <- 1
  facts$wishes <- NULL
  coefficients <- function(theta) {
    release$theta <- theta
    as.double(dpsc:::glm_estimate_cpp(release, facts)$coefficients)
  }
  zero <- coefficients(numeric(ncol(x)))
  map <- vapply(seq_len(ncol(x)), function(j) {
    coefficients(diag(ncol(x))[j, ]) - zero
  }, numeric(ncol(x)))
  S <- map[-1, -1, drop = FALSE]
  back <- diag(sqrt(colSums(solve(S)^2)), nrow(S)) %*% S
  P <- matrix(0, ncol(x), ncol(x))
  P[-1, -1] <- ridge * crossprod(back)
  theta <- numeric(ncol(x))
  for (i in 1:50) {
    m <- stats::plogis(drop(rows$x %*% theta))
    g <- colMeans(rows$weight * (m - y) * rows$x) + drop(P %*% theta)
    step <- solve(crossprod(rows$x, rows$weight * m * (1 - m) * rows$x) / nrow(x) + P, g)
    theta <- theta - step
    if (sum(step^2) < 1e-20) break
  }
  (zero + drop(map %*% theta))[-1]
}

cells <- expand.grid(
  n = c(2000, 10000), p = c(3, 10), design = c("n", "iw"), epsilon = 1, ridge = c(0.02, 0.2),
  stringsAsFactors = FALSE
)
rows <- lapply(seq_len(nrow(cells)), function(i) {
  set.seed(700 + i)
  cell <- cells[i, ]
  runs <- max(2, round(more * if (cell$n > 5000) 15 else 30))
  total <- rowSums(replicate(runs, {
    people <- make_people(cell$n, cell$p, cell$design)
    people$design <- cell$design
    fit <- suppressWarnings(dp_glm(y ~ ., people$data, "binomial", cell$epsilon, delta,
      people$bounds, penalty = list(ridge = cell$ridge), control = dp_control(rng = "R")
    ))
    reach <- stats::qnorm(0.975) * sqrt(diag(vcov(fit)))[-1]
    own <- abs(coef(fit)[-1] - population_slopes(fit, people, cell$ridge)) < reach
    plain <- abs(coef(fit) - people$truth)[-1] < reach
    known <- fit$identified[-1]
    c(own = sum(own), known = sum(known), both = sum(own & known), plain = sum(plain))
  }))
  all <- runs * cell$p
  out <- cbind(cell, runs = runs, coverage = round(total[["own"]] / all, 3),
    coverage_identified = round(total[["both"]] / total[["known"]], 3),
    identified = round(total[["known"]] / all, 3),
    without_ridge = round(total[["plain"]] / all, 3)
  )
  print(out, row.names = FALSE)
  out
})
utils::write.csv(do.call(rbind, rows), "bench/results/glm-ridge.csv", row.names = FALSE)

# Constraints --------------------------------------------------------------------------------------

p <- 5L
sigma <- 0.5^abs(outer(1:p, 1:p, "-"))
falling <- matrix(0, p - 1L, p)
falling[cbind(1:(p - 1), 1:(p - 1))] <- -1
falling[cbind(1:(p - 1), 2:p)] <- 1
kinds <- list(
  simplex = list(truth = c(0.5, 0.3, 0.2, 0, 0), limits = list(simplex = TRUE)),
  nonnegative = list(truth = c(1, 0.5, 0, 0, 0), limits = list(A = -diag(p), b = numeric(p))),
  falling = list(truth = c(1, 1, 0.5, 0.5, 0), limits = list(A = falling, b = numeric(p - 1)))
)
cells <- expand.grid(
  kind = names(kinds), n = c(500, 2000, 10000), epsilon = c(0.5, 1, 4), stringsAsFactors = FALSE
)
rows <- lapply(seq_len(nrow(cells)), function(i) {
  set.seed(800 + i)
  cell <- cells[i, ]
  kind <- kinds[[cell$kind]]
  runs <- max(2, round(more * if (cell$n > 5000) 12 else 40))
  errors <- replicate(runs, {
    x <- matrix(stats::rnorm(cell$n * p), cell$n) %*% chol(sigma)
    colnames(x) <- paste0("x", 1:p)
    y <- as.double(stats::runif(cell$n) < stats::plogis(-0.5 + drop(x %*% kind$truth)))
    bounds <- c(list(y = c(0, 1)), stats::setNames(rep(list(c(-8, 8)), p), colnames(x)))
    seed <- sample.int(1e6, 1L)
    off <- function(constraints) {
      set.seed(seed)
      e <- coef(suppressWarnings(dp_glm(y ~ ., data.frame(y, x), "binomial", cell$epsilon, delta,
        bounds, constraints = constraints, control = dp_control(rng = "R")
      )))[-1] - kind$truth
      sqrt(drop(e %*% sigma %*% e))
    }
    out <- c(free = off(NULL), inside = off(kind$limits), after = off(c(kind$limits, after = TRUE)))
    set.seed(seed + 1L)
    out
  })
  out <- cbind(cell, runs = runs, t(signif(sqrt(rowMeans(errors^2)), 3)))
  print(out, row.names = FALSE)
  out
})
utils::write.csv(do.call(rbind, rows), "bench/results/glm-constraints.csv", row.names = FALSE)
