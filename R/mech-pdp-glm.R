# Privacy loss of each person from method "objective" of dp_glm(): log-ratios of densities at the
# released coefficients, and Renyi bounds by the length of a row. PRIVATE, for the curator only.
# Formulas: inst/proofs/papers.md, section 8.

#' Losses of objective perturbation by the default method of dp_glm()
#' @param rows,others (`list`, PRIVATE)\cr rows from `glm_rows_cpp()`: the people of the fit, and
#'   other people or `NULL`.
#' @noRd
whitened_row_losses <- function(fit, rows, delta, others = NULL) {
  d <- ncol(rows$x)
  scale <- fit$release$kappa
  ridge <- fit$release$ridge
  realised <- if (is.null(others)) realised_whitened(fit, rows) else NA_real_
  rows <- others %||% rows
  loss <- glm_loss_cpp(fit$family, fit$release$span, numeric(), numeric())
  up <- function(x, most) pmin(ceiling(x * 1024) / 1024, most)
  reach <- up(rows$weight * sqrt(rowSums(rows$x^2)), rows$limit)
  # The bound on the curvature is weight |xi|^2, which may exceed the square of weight |xi|.
  most <- up(rows$weight * rowSums(rows$x^2), rows$limit^2)
  bend <- loss$bend * most / ridge
  ends <- slope_ends(fit$family, fit$release$span, rows$outcome)
  nominal <- nominal_epsilon(fit, delta)
  if (fit$privacy$delta > 0) {
    key <- paste(reach, most, ends$low, ends$high)
    first <- which(!duplicated(key))
    losses <- vapply(first, function(i) {
      longest <- reach[[i]] / scale * c(ends$low[[i]], ends$high[[i]])
      renyi_taken(
        list(longest[longest > 0]), bend[[i]], fit$family == "gaussian", d, fit$plan$rho, delta
      )
    }, 0)
    removal <- losses[match(key, key[first])]
    return(row_losses(pmin(removal, nominal), nominal, realised))
  }
  # At a corner the loss is the length of the shift. At slope zero the curvature is at most `bend`
  # (glm.md, Theorem 2 with one row).
  other <- fit$privacy$epsilon - fit$plan$objective.epsilon
  corner <- reach / scale * pmax(ends$low, ends$high)
  removal <- ifelse(reach > 0, pmax(corner, bend), 0)
  one <- loss$unit * rows$limit / scale
  replacement <- pmax(corner + one, one + bend, corner + fit$plan$c)
  row_losses(pmin(other + removal, nominal), pmin(other + replacement, nominal), realised)
}

#' Log-ratio of densities at the released coefficients
#' @noRd
realised_whitened <- function(fit, rows) {
  theta <- fit$release$theta
  t <- drop(rows$x %*% theta) + rows$offset
  loss <- glm_loss_cpp(fit$family, fit$release$span, t, rows$outcome)
  realised_linear(rows$x, rows$weight * loss$slope, rows$weight * loss$curvature, theta,
    numeric(ncol(rows$x)), fit$release$ridge, fit$release$kappa, FALSE)
}

#' Largest distances of a person's slope below and above zero, given the outcome
#' @noRd
slope_ends <- function(family, span, outcome) {
  switch(family,
    binomial = list(low = outcome, high = 1 - outcome),
    poisson = list(low = outcome, high = span - outcome),
    gaussian = list(low = rep(span, length(outcome)), high = rep(span, length(outcome)))
  )
}

#' Epsilon at delta of removing a row with slopes up to these lengths, in units of the noise scale
#'
#' The bound is exp(t D) <= sum over ends of M(1) + M(a) exp(t c (1 - a)), and exp(t c a^2) once,
#' where M are the moments of the noise's loss at a length. For a symmetric slope (1 + a^2) / 2
#' replaces a^2 (inst/proofs/glm.md, Lemma 2 with one row). For the addition of a row, curvature
#' only reduces the loss. The losses of stages with independent noise add up.
#' @param lengths (`list` of `numeric`)\cr lengths above zero, for each stage.
#' @param c (`numeric`)\cr ratio of curvature to ridge for each stage.
#' @noRd
renyi_taken <- function(lengths, c, symmetric, d, rho, delta) {
  if (!sum(lengths(lengths))) {
    return(0)
  }
  a <- 0.7072
  middle <- if (symmetric) (1 + a^2) / 2 else a^2
  add <- function(terms) {
    top <- do.call(pmax, terms)
    top + log(Reduce(`+`, lapply(terms, function(x) exp(x - top))))
  }
  values_at <- function(log_t) {
    t <- exp(log_t)
    stage <- function(ends, c) {
      # All orders are computed together, since half of the time for a moment depends on the length
      # alone.
      moments <- function(part, more) {
        lapply(ends * part, function(x) spherical_log_moment_cpp(t, x, d) + more)
      }
      add(c(moments(1, 0), moments(a, t * c * (1 - a)), list(t * c * middle)))
    }
    total <- Reduce(`+`, Map(stage, lengths, c))
    (total + t * (t + 1) * rho - (t + 1) * log1p(1 / t) - log(t) - log(delta)) / t
  }
  # Every order gives a valid bound; take the best of a coarse grid, then of a fine grid around it.
  coarse <- seq(-2, 9, 0.75)
  values <- values_at(coarse)
  near <- coarse[[which.min(values)]] + c(-0.5, -0.25, 0.25, 0.5)
  max(0, min(values, values_at(near)))
}

#' log p(theta with the person) / p(theta without), from one factorisation
#'
#' @param slope,curvature (`numeric`, PRIVATE)\cr slope and curvature of every person's weighted
#'   loss at theta.
#' @noRd
realised_linear <- function(x, slope, curvature, theta, centre, ridge, scale, gaussian) {
  g <- slope * x
  H <- crossprod(x, curvature * x) + diag(ridge, ncol(x))
  b <- -(colSums(g) + ridge * (theta - centre))
  a <- curvature * colSums(backsolve(chol(H), t(x), transpose = TRUE)^2)
  # Without the person the linear term of theta is b + g.
  size <- function(v) if (gaussian) v^2 / (2 * scale^2) else v / scale
  moved <- sqrt(pmax(0, sum(b^2) + 2 * drop(g %*% b) + rowSums(g^2)))
  -log1p(-pmin(a, 1 - 1e-12)) + size(moved) - size(sqrt(sum(b^2)))
}
