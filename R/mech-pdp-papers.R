# Privacy loss of each person from the papers' methods of dp_glm(): a linear term or noise on the
# output, in public units. PRIVATE, for the curator only. Formulas: inst/proofs/papers.md, section
# 8.

#' Losses by a method of the papers
#' @param table (`matrix`, PRIVATE)\cr rows as `lm_table()` gives them.
#' @param losses (`function` of fit, rows in public units and delta).
#' @noRd
paper_losses <- function(fit, table, delta, losses) {
  if (fit$family != "binomial") {
    abort(c(
      "Losses of single people by method {.val {fit$method}} exist for logistic regression only.",
      i = "For method {.val objective}, {.fn pdp} takes every family."
    ), "argument")
  }
  rows <- paper_rows_cpp(table, fit$public$facts$design)
  rows$y <- as.double(rows$y > 0)
  losses(fit, rows, delta)
}

#' Losses of methods with a linear term, rows in public units
#' @noRd
linear_row_losses <- function(fit, rows, delta) {
  plan <- fit$plan
  length <- sqrt(rowSums(rows$x^2))
  worst <- sort(unique(ceiling(length * 1024) / 1024))
  own <- match(ceiling(length * 1024) / 1024, worst)
  gaussian <- fit$method == "kst" && fit$privacy$delta > 0
  stages <- seq_along(plan$scale)
  cover <- fit$privacy$epsilon * 1e-3
  nominal <- nominal_epsilon(fit, delta)
  renyi <- fit$method == "napp" && plan$approximate
  if (gaussian) {
    curvature <- log1p(0.25 * worst^2 / plan$ridge)
    removal <- curvature + shift_epsilon(worst / plan$scale, delta)
    replacement <- rep(nominal, length(worst))
  } else if (renyi) {
    removal <- vapply(worst, renyi_removal, 0, plan = plan, d = ncol(rows$x),
      delta = delta)
    replacement <- rep(nominal, length(worst))
  } else {
    each <- lapply(stages, function(k) {
      x <- worst / plan$scale[[k]]
      c <- worst^2 / plan$ridge[[k]]
      one <- 1 / plan$scale[[k]]
      taken <- mapply(joint_loss_cpp, x, c)
      list(removal = taken, replacement = pmax(
        taken + one, joint_loss_cpp(one, 1 / plan$ridge[[k]]) + x
      ))
    })
    removal <- Reduce(`+`, lapply(each, `[[`, "removal"))
    replacement <- Reduce(`+`, lapply(each, `[[`, "replacement"))
    replacement <- pmin(replacement, nominal - cover)
  }
  realised <- realised_stages(fit, rows)
  row_losses(pmin(removal[own] + cover, nominal), pmin(replacement[own] + cover, nominal), realised)
}

#' Epsilon at delta of taking out a row of length `reach` (Renyi, add or remove)
#'
#' exp(t D) <= M(1) + M(a) exp(t c (1 - a)) + exp(t c a^2), M the moments of the noise's loss at
#' this length (inst/proofs/glm.md, Theorem 3, last line); stages add.
#' @noRd
renyi_removal <- function(reach, plan, d, delta) {
  a <- 0.7072
  add <- function(...) {
    x <- c(...)
    max(x) + log(sum(exp(x - max(x))))
  }
  value <- function(log_t) {
    t <- exp(log_t)
    total <- 0
    for (k in seq_along(plan$scale)) {
      c <- reach^2 / plan$ridge[[k]]
      one <- spherical_log_moment_cpp(t, reach / plan$scale[[k]], d)
      part <- spherical_log_moment_cpp(t, a * reach / plan$scale[[k]], d)
      total <- total + add(one, part + t * c * (1 - a), t * c * a^2)
    }
    (total - (t + 1) * log1p(1 / t) - log(t) - log(delta)) / t
  }
  if (reach == 0) {
    return(0)
  }
  grid <- seq(-2, 9, 0.25)
  max(0, min(vapply(grid, value, 0)))
}

#' log of densities with the person over without, at every stage's coefficients
#' @noRd
realised_stages <- function(fit, rows) {
  d <- ncol(rows$x)
  units <- stage_units(fit, d)
  out <- numeric(nrow(rows$x))
  centre <- numeric(d)
  for (k in seq_along(units)) {
    theta <- units[[k]]
    p <- stats::plogis(drop(rows$x %*% theta))
    out <- out + realised_linear(rows$x, p - rows$y, p * (1 - p), theta, centre,
      fit$plan$ridge[[k]], fit$plan$scale[[k]], fit$method == "kst" && fit$privacy$delta > 0)
    centre <- theta
  }
  out
}

#' Coefficients of every stage in the units of the rows, which have length at most 1
#' @noRd
stage_units <- function(fit, d) {
  lapply(fit$release$scaled, function(theta) theta * sqrt(d))
}

#' Losses of output perturbation: how far the minimiser moves without the person
#' @noRd
output_row_losses <- function(fit, rows, delta) {
  d <- ncol(rows$x)
  ridge <- fit$plan$ridge[[1L]]
  theta <- ridge_logistic_cpp(rows$x, rows$y, rep(ridge, d), numeric(d), 1e-10 * (fit$nobs + 1))
  move <- minimiser_moves(rows$x, rows$y, theta, ridge)
  gaussian <- fit$privacy$delta > 0 && fit$plan$approximate
  scale <- fit$plan$output
  cover <- fit$privacy$epsilon * 1e-3
  loss <- function(shift) if (gaussian) shift_epsilon(shift / scale, delta) else shift / scale
  drawn <- stage_units(fit, d)[[1L]]
  noise <- drawn - theta
  away <- sqrt(colSums((noise - t(move$step))^2))
  size <- function(v) if (gaussian) v^2 / (2 * scale^2) else v / scale
  row_losses(
    loss(move$bound) + cover, loss(pmin(move$bound + 1 / ridge, 2 / ridge)) + cover,
    size(away) - size(sqrt(sum(noise^2)))
  )
}

#' Minimiser without each person less the one with everybody: a Newton step, and a bound of its norm
#'
#' With r at least the move's norm, curvatures between the two change by a factor of at most exp(r)
#' (rows have length at most 1), so the step is off by (exp(r) - 1) |g| in the norm of H^-1.
#' @noRd
minimiser_moves <- function(x, y, theta, ridge) {
  p <- stats::plogis(drop(x %*% theta))
  g <- (p - y) * x
  H <- crossprod(x, p * (1 - p) * x) + diag(ridge, ncol(x))
  inverse <- chol2inv(chol(H))
  solved <- x %*% inverse
  a <- p * (1 - p) * rowSums(solved * x)
  # H without the person: Sherman and Morrison.
  step <- (p - y) * solved / (1 - a)
  norm <- sqrt(rowSums(step^2))
  local <- sqrt(pmax(0, (p - y)^2 * rowSums(solved * x) / (1 - a)))
  least <- pmax(ridge, min(eigen(H, symmetric = TRUE, only.values = TRUE)$values) -
    p * (1 - p) * rowSums(x^2))
  bound <- sqrt(rowSums(g^2)) / ridge
  for (i in 1:6) bound <- pmin(bound, norm + expm1(bound) * local / sqrt(least))
  list(step = step, bound = bound)
}
