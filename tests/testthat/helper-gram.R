# The core of method "gram" in the form that tests call: public facts, and noise that is recorded or
# replayed.

gram_facts_of <- function(T0 = 6, T1 = 2, n = 200, epsilon = 1, delta = 1e-6,
                          y = sin(seq_len(T0)) / 2, features = NaN, intervals = TRUE,
                          targeted = FALSE) {
  list(
    n = n, T0 = T0, T1 = T1, epsilon = epsilon, delta = delta, y = y, features = features,
    intervals = intervals, targeted = targeted
  )
}

gram_core <- function(donors, facts, bounds = c(-1, 1), outputs = NULL, doubled = FALSE) {
  bounds <- new_bounds(bounds, ncol(donors))
  gram_audit_cpp(
    donors, facts, bounds, gram_options(TRUE, nrow(donors), bounds), "R", outputs,
    doubled
  )
}

call_parts <- function(calls, part) lapply(calls, `[[`, part)

# The noise of a call may depend only on released and public values.
public_parts <- function(run) lapply(run$calls, `[`, c("label", "law", "scale", "offset", "output"))

# A random public map, with bounds by period and loadings over many orders of magnitude.
random_map <- function(periods = sample(2:9, 1), d = sample.int(periods, 1)) {
  half <- 10^stats::runif(periods, -sample(c(0, 2, 9, 100), 1), 0)
  middle <- stats::rnorm(periods) * half * sample(c(0, 1, 1e4), 1)
  unit <- 10^stats::runif(1, -100, 100)
  bounds <- new_bounds(cbind(middle - 2 * half, middle + 2 * half) * unit, periods)
  loadings <- matrix(stats::rnorm(periods * d), periods) * 10^stats::runif(1, -50, 50)
  loadings <- loadings %*% diag(10^stats::runif(d, 0, sample(c(1, 7, 12), 1)), d)
  origin <- stats::rnorm(d) * max(abs(loadings)) * sample(c(0, 1, 1e3), 1)
  list(bounds = bounds, loadings = loadings, origin = origin)
}

# Rows inside the bounds, at the bounds and far beyond them, and the rows that maximise a feature.
random_rows <- function(map, n = 12) {
  bounds <- map$bounds
  periods <- length(bounds$half)
  width <- rep(bounds$upper - bounds$lower, each = n)
  x <- matrix(rep(bounds$lower, each = n) + stats::runif(n * periods) * width, n)
  x[1:3, ] <- sample(c(-1, 1), 3 * periods, TRUE) * .Machine$double.xmax
  x[4, ] <- bounds$upper
  x[5, ] <- bounds$centre
  x[6, ] <- ifelse(map$loadings[, 1] < 0, -1, 1) * .Machine$double.xmax
  x[7, ] <- -x[6, ]
  x
}

# A slow oracle: ridge regression on released moments written out in R, beside the regression of the
# core.

# Edge of the spectrum of a d x d symmetric noise matrix whose diagonal has this standard deviation
#
# Entries off the diagonal have half the variance. By the semicircle law the eigenvalues fill
# `[-2 b, 2 b]`, `b = sd sqrt(d / 2)`.
spectral_edge <- function(sd, d) {
  2 * sd * sqrt(d / 2)
}

# Shrunken eigenvalues: eigenvalues within the edge of the noise are uninformative.
shrink_spectrum <- function(values, edge) {
  ifelse(values > edge, sqrt(pmax(values^2 - edge^2, 0)), 0)
}

# The statistics that the estimator needs
# Returns: A list: indices `A` (pre) and `B` (post) of the features, `mean`, the denoised
# `covariance` of the features, the rows of `restore` for A and B (transposed: whitened x features),
# the whitened covariance as released, the directions of pure `noise`, the standard deviations of
# the noise, and its edge.
gram_model <- function(s) {
  d <- length(s$mean)
  A <- seq_len(s$pre)
  B <- seq_len(d)[-A]
  edge <- spectral_edge(s$moment_sd, d)
  spectrum <- eigen(s$covariance, symmetric = TRUE)
  # Without noise the covariance is used without shrinkage.
  noise <- spectrum$vectors[, spectrum$values <= edge, drop = FALSE]
  covariance <- if (edge > 0) {
    root <- s$restore %*% spectrum$vectors %*% diag(sqrt(shrink_spectrum(spectrum$values, edge)), d)
    tcrossprod(root)
  } else {
    s$restore %*% s$covariance %*% t(s$restore)
  }
  list(
    A = A, B = B, mean = s$mean, covariance = covariance, whitened = s$covariance,
    restore_A = t(s$restore[A, , drop = FALSE]), restore_B = t(s$restore[B, , drop = FALSE]),
    noise = noise, mean_sd = s$mean_sd, moment_sd = s$moment_sd, edge = edge
  )
}

# The share of a row's level that returns to the mean, from released moments, by least squares over
# a grid of correlations. With `full`, the noise is not yet subtracted from the variance of levels.
oracle_return <- function(s, full = FALSE) {
  d <- length(s$mean)
  X <- (s$restore %*% s$covariance %*% t(s$restore))
  spread <- tcrossprod(s$restore)
  keep <- 2:d
  fit_one <- function(phi) {
    time <- seq_len(nrow(s$loadings))
    all <- crossprod(s$loadings, phi^abs(outer(time, time, "-"))) %*% s$loadings
    data <- expand.grid(i = keep, j = keep)
    at <- as.matrix(data)
    variance <- spread[cbind(at[, 1], at[, 1])] * spread[cbind(at[, 2], at[, 2])] + spread[at]^2
    fit <- stats::lm.wfit(cbind(all[at]), X[at], 1 / variance)
    scale <- max(0, fit$coefficients)
    misfit <- sum((X[at] - scale * all[at])^2 / variance) / (s$moment_sd^2 / 2)
    c(misfit, scale * mean(all[1, (s$pre + 1):d]))
  }
  fits <- vapply(c(0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98), fit_one, c(0, 0))
  likely <- exp((min(fits[1, ]) - fits[1, ]) / 4)
  noise <- s$moment_sd * spread[1, 1]
  back <- -sum(likely * fits[2, ]) / sum(likely) / (X[1, 1] + noise) * 0.3 / s$weight
  back <- min(1, max(0, back))
  if (full) back else back * max(0, 1 - noise / X[1, 1])
}

# Slopes towards which the ridge shrinks: the level returns by that share, and the other features
# have no effect.
level_slopes <- function(s, back = oracle_return(s)) {
  rbind(
    rep(-back * s$weight / 0.3, length(s$mean) - s$pre),
    matrix(0, s$pre - 1, length(s$mean) - s$pre)
  )
}

# Ridge prediction at one penalty
#
# Let N be the noise of the whitened moments, e the noise of their mean, and g and h the whitened
# directions of the residual and of the solution. Then the prediction moves by `g' N h + g' e`. To
# first order, shrinkage removes the part of N within the directions below the edge.
# u (`numeric(p)`): the target's features minus the donors' mean.
# penalty (`number`): the penalty per donor, in scaled units.
# shape (`matrix`, p x p): the factor of the penalty.
# about (`matrix`, p x T1): the slopes towards which the penalty shrinks.
# Returns: A list: `fitted` (d), `slopes` (p x T1), `prediction`, `privacy` (T1 x T1), `penalty`,
# `distance` (the squared distance relative to the donors), `rest` (the part of the first feature
# that is shrunk towards `about`), `evidence`.
fit_penalty <- function(model, u, penalty, shape,
                        about = matrix(0, length(model$A), length(model$B))) {
  A <- model$A
  B <- model$B
  covariance <- model$covariance
  root <- chol(covariance[A, A, drop = FALSE] + penalty * shape)
  solve_system <- function(z) backsolve(root, backsolve(root, z, transpose = TRUE))
  w <- solve_system(u)
  inner <- covariance[A, A, drop = FALSE]
  slopes <- about + solve_system(covariance[A, B, drop = FALSE] - inner %*% about)
  g <- model$restore_B - model$restore_A %*% slopes
  h <- drop(model$restore_A %*% w)
  # The variance of g' N h for noise in the given directions is sd^2 / 2 times |g|^2 |h|^2 +
  # (g'h)^2.
  moved <- function(g, h) crossprod(g) * sum(h^2) + tcrossprod(drop(crossprod(g, h)))
  lost <- moved(crossprod(model$noise, g), crossprod(model$noise, h))
  list(
    fitted = model$mean + c(drop(inner %*% w), drop(u %*% slopes)), slopes = slopes,
    rest = u[[1L]] - sum(inner[1L, ] * w),
    prediction = residual_covariance(model, g),
    privacy = model$moment_sd^2 / 2 * (moved(g, h) - lost) + model$mean_sd^2 * crossprod(g),
    penalty = penalty, distance = sum(u * w) / length(u),
    # The evidence is for Student's t with four degrees of freedom.
    evidence = -(4 + length(u)) / 2 * log1p(sum(u * w) / 4) - sum(log(diag(root)))
  )
}

# Ridge predictions over a grid of penalties around the edge of the noise
#
# The weights are the likelihood of the target's pre-period under each penalty, if the target was
# drawn like the donors, and a prior centred at 0.8 of half the edge, one octave wide.
fit_penalties <- function(model, u, ...) {
  octaves <- seq(-5, 5, by = 0.5)
  shape <- crossprod(model$restore_A)
  lapply(octaves, function(octave) {
    fit <- fit_penalty(model, u, model$edge / 2 * 2^octave, shape, ...)
    fit$evidence <- fit$evidence - (octave - log2(0.8))^2 / 2
    fit
  })
}

# Prediction error of a unit drawn like the donors, from the residual moments
#
# The residual moments contain noise of standard deviation `moment_sd |g|^2`. Negative parts are set
# to zero. g (`matrix`, d x T1): whitened directions of the residual.
residual_covariance <- function(model, g) {
  raw <- crossprod(g, model$whitened %*% g)
  if (model$moment_sd == 0 || ncol(g) == 0L) {
    return(raw)
  }
  spectrum <- eigen(raw, symmetric = TRUE)
  spectrum$vectors %*% (pmax(spectrum$values, 0) * t(spectrum$vectors))
}
