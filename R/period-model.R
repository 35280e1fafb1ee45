# Ridge regression of some periods on others from released moments, at one penalty: what inference
# over time refits. The estimate itself is in C++ (inst/include/dpsc/estimate/counterfactual.hpp).

#' Edge of the spectrum of the noise: a d x d symmetric matrix whose diagonal has this deviation
#'
#' Entries off the diagonal have half the variance; by the semicircle law the eigenvalues fill
#' `[-2 b, 2 b]`, `b = sd sqrt(d / 2)`.
#' @noRd
spectral_edge <- function(sd, d) {
  2 * sd * sqrt(d / 2)
}

#' Shrink eigenvalues: within the noise's edge they carry nothing
#' @noRd
shrink_spectrum <- function(values, edge) {
  ifelse(values > edge, sqrt(pmax(values^2 - edge^2, 0)), 0)
}

#' The target's pre-period in the release's terms
#' @return A list: `level` (what demeaned features are relative to), `u` (its features less the
#'   donors' mean).
#' @noRd
target_features <- function(s, y, T0) {
  pre <- seq_len(T0)
  A <- seq_len(s$pre)
  list(
    level = if (s$demean) mean(y[pre]) else 0,
    u = drop(crossprod(s$loadings[pre, A, drop = FALSE], y[pre])) - s$mean[A]
  )
}

#' What the estimator needs of the statistics
#' @return A list: indices `A` (pre) and `B` (post) of the features, `mean`, denoised `covariance`
#'   of the features, the rows of `restore` that belong to A and B (transposed: whitened x
#'   features), the whitened covariance as released, the directions that are `noise`, the noise's
#'   sizes and its edge.
#' @noRd
gram_model <- function(s) {
  d <- length(s$mean)
  A <- seq_len(s$pre)
  B <- seq_len(d)[-A]
  edge <- spectral_edge(s$moment_sd, d)
  spectrum <- eigen(s$covariance, symmetric = TRUE)
  # Without noise the covariance is used as it is.
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

#' Ridge prediction at one penalty
#'
#' With N the noise of the whitened moments and e that of their mean, the prediction moves by
#' `g' N h + g' e`, g and h the whitened directions of the residual and of the solution. Shrinkage
#' takes away, to first order, the part of N that lies within the directions below the edge.
#' @param u (`numeric(p)`)\cr the target's features less the donors' mean.
#' @param penalty (`number`)\cr per donor, scaled units.
#' @param shape (`matrix`, p x p)\cr what the penalty multiplies.
#' @return A list: `fitted` (d), `prediction`, `privacy` (T1 x T1), `penalty`, `evidence`.
#' @noRd
fit_penalty <- function(model, u, penalty, shape) {
  A <- model$A
  B <- model$B
  covariance <- model$covariance
  root <- chol(covariance[A, A, drop = FALSE] + penalty * shape)
  solve_system <- function(z) backsolve(root, backsolve(root, z, transpose = TRUE))
  w <- solve_system(u)
  g <- model$restore_B - model$restore_A %*% solve_system(covariance[A, B, drop = FALSE])
  h <- drop(model$restore_A %*% w)
  # Variance of g' N h for noise on the directions given: |g|^2 |h|^2 + (g'h)^2, times sd^2 / 2.
  moved <- function(g, h) crossprod(g) * sum(h^2) + tcrossprod(drop(crossprod(g, h)))
  lost <- moved(crossprod(model$noise, g), crossprod(model$noise, h))
  list(
    fitted = model$mean + drop(crossprod(covariance[A, , drop = FALSE], w)),
    prediction = residual_covariance(model, g),
    privacy = model$moment_sd^2 / 2 * (moved(g, h) - lost) + model$mean_sd^2 * crossprod(g),
    penalty = penalty, evidence = -sum(u * w) / 2 - sum(log(diag(root)))
  )
}

#' Ridge predictions over a grid of penalties around the noise's edge
#'
#' Weighted by how likely they make the target's own pre-period, if it were drawn like the donors,
#' and by a prior centred at 0.8 of half the edge, one octave wide.
#' @noRd
fit_penalties <- function(model, u) {
  octaves <- seq(-5, 5, by = 0.5)
  shape <- crossprod(model$restore_A)
  lapply(octaves, function(octave) {
    fit <- fit_penalty(model, u, model$edge / 2 * 2^octave, shape)
    fit$evidence <- fit$evidence - (octave - log2(0.8))^2 / 2
    fit
  })
}

#' Prediction error of a unit drawn like the donors: the residual moments
#'
#' They carry noise of deviation `moment_sd |g|^2`. Whatever of it is negative is cut.
#' @param g (`matrix`, d x T1)\cr whitened directions of the residual.
#' @noRd
residual_covariance <- function(model, g) {
  raw <- crossprod(g, model$whitened %*% g)
  if (model$moment_sd == 0 || ncol(g) == 0L) {
    return(raw)
  }
  spectrum <- eigen(raw, symmetric = TRUE)
  spectrum$vectors %*% (pmax(spectrum$values, 0) * t(spectrum$vectors))
}

#' Penalty of the non-private fit: generalised cross-validation over the donors
#'
#' Golub, Heath and Wahba (1979), for the regression of the post-period on the pre-period with
#' donors as samples.
#' @noRd
choose_penalty <- function(model, n) {
  A <- model$A
  B <- model$B
  spectrum <- eigen(model$covariance[A, A, drop = FALSE], symmetric = TRUE)
  l <- pmax(spectrum$values, 0)
  cross <- rowSums(crossprod(spectrum$vectors, model$covariance[A, B, drop = FALSE])^2)
  total <- sum(diag(model$covariance)[B])
  candidates <- penalty_candidates(model)
  score <- vapply(candidates, function(penalty) {
    freedom <- sum(l / (l + penalty)) + 1
    error <- total - sum(cross * (l + 2 * penalty) / (l + penalty)^2)
    if (freedom >= n - 1) Inf else error / (1 - freedom / n)^2
  }, 0)
  candidates[[which.min(score)]]
}

penalty_candidates <- function(model) {
  top <- eigen(model$covariance[model$A, model$A, drop = FALSE],
    symmetric = TRUE, only.values = TRUE)$values[[1L]]
  top * 10^seq(-10, 2, by = 0.25)
}
