# Other private linear regressions for comparison, as generous as their papers allow. Neighbours
# replace one row. Rows are scaled to [-1, 1] by the public bounds, with a constant: d entries,
# |x|^2 <= d, |y| <= 1. The zCDP constants are as tight as ours. Every function returns the slopes
# without the intercept, in scaled units, which are the units of the outcome if all bounds are
# equal. Methods with an additional constant return one row per setting, and the bench takes the
# best row in hindsight.

# Independent noise of variance sd^2 on the diagonal and half of this variance off it.
symmetric_noise <- function(d, sd) {
  e <- matrix(0, d, d)
  e[upper.tri(e, diag = TRUE)] <- rnorm(d * (d + 1) / 2, sd = sd / sqrt(2))
  diag(e) <- diag(e) * sqrt(2)
  e[lower.tri(e)] <- t(e)[lower.tri(e)]
  e
}

# Wang (2018), Algorithm 2: a third of rho for each of the smallest eigenvalue, X'X and X'y.
ada_ssp <- function(rows, rho, delta) {
  d <- ncol(rows$x)
  sd <- d / sqrt(2 * rho / 3)
  ridge <- ada_ridge(rows, sd, delta)
  # |xx' - vv'|_F <= sqrt(2) d, |xy - vw| <= 2 sqrt(d).
  gram <- crossprod(rows$x) + symmetric_noise(d, sqrt(2) * sd)
  cross <- crossprod(rows$x, rows$y) + rnorm(d, sd = 2 * sqrt(d) / sqrt(2 * rho / 3))
  drop(solve(gram + diag(ridge, d), cross))[-1]
}

ada_ridge <- function(rows, sd, delta) {
  d <- ncol(rows$x)
  smallest <- min(eigen(crossprod(rows$x), TRUE, TRUE)$values) + rnorm(1, sd = sd)
  smallest <- max(0, smallest - sd * sqrt(2 * log(6 / delta)))
  max(0, sqrt(d * log(2 * d^2 / 0.05)) * sd - smallest)
}

# One noise for all moments of (x, y), and a ridge at the edge of the noise.
ssp <- function(rows, rho) {
  z <- cbind(rows$x, rows$y)
  d <- ncol(z)
  sd <- d / sqrt(rho)
  gram <- crossprod(z) + symmetric_noise(d, sd)
  at <- seq_len(d - 1)
  drop(solve(gram[at, at] + diag(2 * sd * sqrt(d / 2), d - 1), gram[at, d]))[-1]
}

# Gradient descent on all rows with clipped gradients. Replacing a row changes a sum of gradients by
# at most 2 clip.
dp_gd <- function(rows, rho) {
  n <- nrow(rows$x)
  d <- ncol(rows$x)
  norms <- sqrt(rowSums(rows$x^2))
  top <- max(eigen(crossprod(rows$x) / n, TRUE, TRUE)$values)
  settings <- expand.grid(steps = c(5, 20, 60), clip = sqrt(d) * c(0.05, 0.2, 0.6),
    rate = c(0.3, 1, 1.8) / top)
  slopes <- apply(settings, 1, function(s) {
    b <- numeric(d)
    sd <- 2 * s[["clip"]] / sqrt(2 * rho / s[["steps"]])
    for (k in seq_len(s[["steps"]])) {
      r <- drop(rows$y - rows$x %*% b)
      r <- r * pmin(1, s[["clip"]] / (norms * abs(r) + 1e-300))
      b <- b + s[["rate"]] * (drop(crossprod(rows$x, r)) + rnorm(d, sd = sd)) / n
      if (!all(is.finite(b)) || sum(b^2) > 1e6) return(rep(0, d))
    }
    b
  })
  t(slopes)[, -1, drop = FALSE]
}

# Kifer, Smith and Thakurta (2012), Theorem 2: Huber's loss with slope c has gradients of at most
# sqrt(d) c and curvature of at most d per row. The linear term is Gaussian, and the ridge is 2 d /
# epsilon.
objective <- function(rows, epsilon, delta) {
  d <- ncol(rows$x)
  gram <- crossprod(rows$x)
  settings <- expand.grid(slope = c(0.05, 0.2, 0.6), ridge = c(1, 4))
  slopes <- apply(settings, 1, function(s) {
    zeta <- sqrt(d) * s[["slope"]]
    linear <- rnorm(d, sd = zeta * sqrt(8 * log(2 / delta) + 4 * epsilon) / epsilon)
    ridge <- s[["ridge"]] * 2 * d / epsilon
    b <- numeric(d)
    step <- chol2inv(chol(gram + diag(ridge, d)))
    for (k in 1:200) {
      r <- drop(rows$y - rows$x %*% b)
      score <- drop(crossprod(rows$x, pmax(pmin(r, s[["slope"]]), -s[["slope"]])))
      move <- drop(step %*% (score - ridge * b - linear))
      b <- b + move
      if (sqrt(sum(move^2)) < 1e-9) break
    }
    b
  })
  t(slopes)[, -1, drop = FALSE]
}

# Tang, Aydore, Kearns, Rho, Roth, Wang, Wang and Wu (2023): repeated least squares on clipped
# residuals, with one noisy X'X.
boosted_ada_ssp <- function(rows, rho, delta, rounds = 20, clip = 0.5) {
  d <- ncol(rows$x)
  sd <- d / sqrt(2 * rho / 3)
  per_round <- 2 * sqrt(d) * clip / sqrt(2 * rho / 3 / rounds)
  ridge <- ada_ridge(rows, sd, delta)
  inverse <- solve(crossprod(rows$x) + symmetric_noise(d, sqrt(2) * sd) + diag(ridge, d))
  b <- numeric(d)
  for (k in seq_len(rounds)) {
    r <- pmax(pmin(drop(rows$y - rows$x %*% b), clip), -clip)
    b <- b + drop(inverse %*% (crossprod(rows$x, r) + rnorm(d, sd = per_round)))
  }
  b[-1]
}

# Zhang, Zhang, Xiao, Yang and Winslett (2012): Laplace noise on the coefficients of the objective
# (pure privacy), whose L1 sensitivity is 2 (2 d + d^2). Directions whose eigenvalues are not
# positive are dropped.
functional <- function(rows, epsilon) {
  d <- ncol(rows$x)
  scale <- 2 * (2 * d + d^2) / epsilon
  laplace <- function(n) rexp(n, 1 / scale) - rexp(n, 1 / scale)
  noise <- matrix(0, d, d)
  # Each off-diagonal entry occurs twice in the objective.
  noise[upper.tri(noise)] <- laplace(d * (d - 1) / 2) / 2
  noise <- noise + t(noise) + diag(laplace(d), d)
  gram <- crossprod(rows$x) + noise + diag(4 * sqrt(2) * scale, d)
  # The linear coefficients are -2 x'y.
  cross <- crossprod(rows$x, rows$y) + laplace(d) / 2
  spectrum <- eigen(gram, symmetric = TRUE)
  keep <- spectrum$values > 1e-9 * abs(spectrum$values[[1]])
  v <- spectrum$vectors[, keep, drop = FALSE]
  drop(v %*% (crossprod(v, cross) / spectrum$values[keep]))[-1]
}

# Amin, Joseph, Ribero and Vassilvitskii (2023): least squares on disjoint parts. If a test finds
# the volumes safe, a point is drawn by its approximate (axis-aligned) Tukey depth among the parts'
# results. One row per number of parts, NA if the test refuses. The method uses raw rows and needs
# no bounds.
tukey_em <- function(people, epsilon, delta) {
  x <- cbind(1, as.matrix(people$data[-1]))
  n <- nrow(x)
  d <- ncol(x)
  parts <- c(250, 500, 1000, 2000)
  parts <- parts[n / parts >= d + 1]
  if (!length(parts)) return(matrix(NA_real_, 1, d - 1))
  t(vapply(parts, function(m) {
    of <- sample(rep(seq_len(m), length.out = n))
    models <- vapply(split(seq_len(n), of), function(i) {
      stats::.lm.fit(x[i, , drop = FALSE], people$data$y[i])$coefficients
    }, numeric(d))
    tukey_draw(models, epsilon / 2, delta / 2)[-1]
  }, numeric(d - 1)))
}

tukey_draw <- function(models, epsilon, delta) {
  m <- ncol(models)
  d <- nrow(models)
  ordered <- apply(models, 1, sort)
  depths <- floor(m / 2)
  sides <- ordered[m + 1 - seq_len(depths), , drop = FALSE] -
    ordered[seq_len(depths), , drop = FALSE]
  volume <- rowSums(log(pmax(sides, 1e-300)))
  least <- floor(m / 4)
  # The number of rows to change until the volumes of a neighbour could be unsafe (their Lemma 3.8).
  safe <- -1
  for (k in seq_len(least - 2)) {
    g <- seq_len(depths - least - k - 1)
    if (!length(g)) break
    if (any(volume[least - k - 1 + 0 * g] - volume[least + k + g + 1] - epsilon * g / 2 <=
              log(delta))) {
      safe <- k
    } else {
      break
    }
  }
  laplace <- rexp(1, epsilon) - rexp(1, epsilon)
  if (!(safe + laplace > log(1 / (2 * delta)) / epsilon)) return(rep(NA_real_, d))
  depth <- least:(depths - 1)
  shell <- volume[depth] + log1p(-pmin(1 - 1e-15, exp(volume[depth + 1] - volume[depth])))
  score <- shell + epsilon * depth / 2
  i <- depth[sample.int(length(depth), 1, prob = exp(score - max(score)))]
  repeat {
    point <- stats::runif(d, ordered[i, ], ordered[m + 1 - i, ])
    inner <- point > ordered[i + 1, ] & point < ordered[m - i, ]
    if (!all(inner)) return(point)
  }
}

# DPpack 0.2.2 from CRAN, with four ridges. Its constants are valid only for adding or removing a
# row.
dppack <- function(people, range, epsilon, delta) {
  p <- ncol(people$data) - 1
  t(vapply(c(0.01, 1, 100, 1e4), function(gamma) {
    fit <- DPpack::LinearRegressionDP$new("l2", epsilon, delta, gamma)
    done <- tryCatch(
      {
        utils::capture.output(suppressWarnings(suppressMessages(
          fit$fit(people$data[-1], people$data[1], rep(range[[2]], p + 1),
            rep(range[[1]], p + 1), TRUE)
        )))
        TRUE
      },
      error = function(e) FALSE
    )
    if (done) as.numeric(fit$coeff)[-1] else rep(NA_real_, p)
  }, numeric(p)))
}
