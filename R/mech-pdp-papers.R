# Privacy loss of each person from the papers' methods of dp_glm(), which add a linear term, or
# noise to the output, in public units. PRIVATE, for the curator only. Formulas:
# inst/proofs/papers.md, section 8.

#' Losses by a method of the papers
#' @param facts (`list`)\cr facts for the core. PUBLIC.
#' @param table,others (`matrix`, PRIVATE)\cr rows from `lm_table()`: the people of the fit, and
#'   other people or `NULL`.
#' @param losses (`function` of fit, rows in public units, rows of other people, and delta).
#' @noRd
paper_losses <- function(fit, facts, table, others, delta, losses) {
  read <- function(table) if (!is.null(table)) paper_loss_rows_cpp(table, facts)
  losses(fit, read(table), read(others), delta)
}

#' Losses of methods with a linear term, rows in public units
#' @noRd
linear_row_losses <- function(fit, rows, others, delta) {
  of <- others %||% rows
  of$reach <- pmin(ceiling(sqrt(rowSums(of$x^2)) * 1024) / 1024, 1)
  of$ends <- if (of$box > 0) box_ends(of) else slope_ends(fit$family, of$span, of$y)
  bounds <- if (gaussian_term(fit)) {
    list(removal = gaussian_removal(fit, of, delta), replacement = Inf)
  } else if (fit$method == "napp" && fit$plan$approximate) {
    list(removal = renyi_removals(fit, of, delta), replacement = Inf)
  } else {
    pure_losses(fit, of)
  }
  cover <- fit$privacy$epsilon * 1e-3
  nominal <- nominal_epsilon(fit, delta)
  realised <- if (!is.null(others)) {
    NA_real_
  } else if (rows$box > 0) {
    realised_on_box(fit, rows)
  } else {
    realised_stages(fit, rows)
  }
  row_losses(pmin(bounds$removal + cover, nominal), pmin(bounds$replacement + cover, nominal),
    realised)
}

gaussian_term <- function(fit) fit$method == "kst" && fit$privacy$delta > 0

#' Largest distances below and above zero of the slopes of half a squared residual on a box
#' @noRd
box_ends <- function(rows) {
  most <- rows$box * sqrt(ncol(rows$x)) * rowSums(abs(rows$x))
  list(low = most + rows$y, high = most - rows$y)
}

#' Losses under Gaussian noise, from one shift for each of the two extreme slopes, since the loss is
#' convex in the slope
#' @noRd
gaussian_removal <- function(fit, rows, delta) {
  shift <- function(end) abs(end) * rows$reach / fit$plan$scale
  log1p(rows$steepest * rows$reach^2 / fit$plan$ridge) +
    sided_epsilon(shift(rows$ends$low), shift(rows$ends$high), delta)
}

#' Bounds at every delta from worst-case slope and curvature, added up over the stages
#' @noRd
pure_losses <- function(fit, rows) {
  each <- lapply(seq_along(fit$plan$scale), function(k) {
    stage_losses(rows, fit$plan$scale[[k]], fit$plan$ridge[[k]])
  })
  list(
    removal = Reduce(`+`, lapply(each, `[[`, "removal")),
    replacement = Reduce(`+`, lapply(each, `[[`, "replacement"))
  )
}

#' Bounds for one stage. On a box the curvature is one at every slope; otherwise it vanishes as the
#' slope approaches its limit (inst/proofs/papers.md, section 8)
#' @noRd
stage_losses <- function(rows, scale, ridge) {
  steep <- pmax(abs(rows$ends$low), abs(rows$ends$high)) * rows$reach / scale
  if (rows$box > 0) {
    removal <- steep + log1p(rows$reach^2 / ridge)
    other <- pmin(steep + rows$unit / scale, rows$apart / scale)
    return(list(removal = removal, replacement = other + log1p(1 / ridge)))
  }
  loss <- if (rows$symmetric) even_loss_cpp else joint_loss_cpp
  one <- rows$unit / scale
  lengths <- unique(rows$reach)
  top <- mapply(loss, lengths * one, rows$bend * lengths^2 / ridge)[match(rows$reach, lengths)]
  # If the outcome lies within the range, the limit of the slope is smaller by the distance to the
  # nearer end.
  removal <- top - (rows$reach * one - steep)
  list(removal = removal, replacement = pmax(removal + one, loss(one, rows$bend / ridge) + steep))
}

#' Epsilon at delta of removing a row from NAPP-ERM's stages (Renyi), computed once for equal rows
#' @noRd
renyi_removals <- function(fit, rows, delta) {
  rows$reach <- pmin(ceiling(rows$reach * 128) / 128, 1)
  key <- paste(rows$reach, rows$ends$low, rows$ends$high)
  first <- which(!duplicated(key))
  losses <- vapply(first, function(i) {
    reach <- c(rows$ends$low[[i]], rows$ends$high[[i]]) * rows$reach[[i]]
    renyi_taken(
      lapply(fit$plan$scale, function(scale) reach[reach > 0] / scale),
      rows$bend * rows$reach[[i]]^2 / fit$plan$ridge, rows$symmetric, ncol(rows$x), 0, delta
    )
  }, 0)
  losses[match(key, key[first])]
}

#' Log-ratio of the densities with and without the person, at every stage's coefficients
#' @noRd
realised_stages <- function(fit, rows) {
  units <- stage_units(fit, ncol(rows$x))
  out <- numeric(nrow(rows$x))
  centre <- numeric(ncol(rows$x))
  for (k in seq_along(units)) {
    theta <- units[[k]]
    loss <- glm_loss_cpp(fit$family, rows$span, drop(rows$x %*% theta), rows$y)
    out <- out + realised_linear(rows$x, loss$slope, loss$curvature, theta, centre,
      fit$plan$ridge[[k]], fit$plan$scale[[k]], gaussian_term(fit))
    centre <- theta
  }
  out
}

#' Log-ratio on a box, from the density of the coefficients inside the box, and at a face from the
#' probability of all linear terms that lead to this face. `NA` if a spherical term leads to a face,
#' since no closed form is known
#' @noRd
realised_on_box <- function(fit, rows) {
  d <- ncol(rows$x)
  scale <- fit$plan$scale
  limit <- rows$box * sqrt(d)
  theta <- stage_units(fit, d)[[1L]]
  # The noise that covers the solver's error exceeds this length only with probability exp(-60).
  wall <- abs(theta) > limit - fit$plan$cover * (d + sqrt(120 * d) + 61)
  if (any(wall) && !gaussian_term(fit)) {
    return(rep(NA_real_, nrow(rows$x)))
  }
  theta[wall] <- sign(theta[wall]) * limit
  slope <- drop(rows$x %*% theta) - rows$y
  out <- numeric(nrow(rows$x))
  if (!all(wall)) {
    out <- realised_linear(rows$x[, !wall, drop = FALSE], slope, rep(1, nrow(rows$x)),
      theta[!wall], numeric(sum(!wall)), fit$plan$ridge, scale, gaussian_term(fit))
  }
  for (j in which(wall)) {
    # Limits of the linear terms that lead to this bound, with the person and without.
    g <- slope * rows$x[, j]
    edge <- -(sum(g) + fit$plan$ridge * theta[[j]])
    beyond <- function(b) stats::pnorm(sign(theta[[j]]) * b / scale, log.p = TRUE)
    out <- out + beyond(edge) - beyond(edge + g)
  }
  out
}

#' Coefficients of every stage, for rows scaled to length at most 1
#' @noRd
stage_units <- function(fit, d) {
  lapply(fit$release$scaled, function(theta) theta * sqrt(d))
}

#' Losses of output perturbation, from the change of the minimiser without the person
#' @noRd
output_row_losses <- function(fit, rows, others, delta) {
  d <- ncol(rows$x)
  ridge <- fit$plan$ridge[[1L]]
  theta <- ridge_logistic_cpp(rows$x, rows$y, rep(ridge, d), numeric(d), 1e-10 * (fit$nobs + 1))
  move <- minimiser_moves(rows, theta, ridge, others)
  gaussian <- fit$privacy$delta > 0 && fit$plan$approximate
  scale <- fit$plan$output
  cover <- fit$privacy$epsilon * 1e-3
  loss <- function(shift) if (gaussian) shift_epsilon(shift / scale, delta) else shift / scale
  noise <- stage_units(fit, d)[[1L]] - theta
  away <- sqrt(colSums((noise - t(move$step))^2))
  size <- function(v) if (gaussian) v^2 / (2 * scale^2) else v / scale
  row_losses(
    loss(move$bound) + cover, loss(pmin(move$bound + 1 / ridge, 2 / ridge)) + cover,
    if (is.null(others)) size(away) - size(sqrt(sum(noise^2))) else NA_real_
  )
}

#' Minimiser without each person minus the minimiser with everybody, as a Newton step with a bound
#'
#' Let r be at least the norm of the difference. Curvatures between the two minimisers then change
#' by a factor of at most exp(r), since rows have length at most 1, so the error of the step is at
#' most (exp(r) - 1) |g| in the norm of H^-1. For `others` the minimiser includes each of these
#' people in turn.
#' @noRd
minimiser_moves <- function(rows, theta, ridge, others = NULL) {
  sign <- if (is.null(others)) -1 else 1 # sign of the row that H gains
  of <- others %||% rows
  p <- stats::plogis(drop(rows$x %*% theta))
  H <- crossprod(rows$x, p * (1 - p) * rows$x) + diag(ridge, ncol(rows$x))
  own <- stats::plogis(drop(of$x %*% theta))
  slope <- own - of$y
  curvature <- own * (1 - own)
  solved <- of$x %*% chol2inv(chol(H))
  length <- rowSums(solved * of$x)
  # The formula of Sherman and Morrison for H without the person, or with another row.
  a <- 1 + sign * curvature * length
  step <- -sign * slope * solved / a
  norm <- sqrt(rowSums(step^2))
  local <- sqrt(pmax(0, slope^2 * length / a))
  smallest <- min(eigen(H, symmetric = TRUE, only.values = TRUE)$values)
  least <- pmax(ridge, smallest + pmin(sign, 0) * curvature * rowSums(of$x^2))
  bound <- abs(slope) * sqrt(rowSums(of$x^2)) / ridge
  for (i in 1:6) bound <- pmin(bound, norm + expm1(bound) * local / sqrt(least))
  list(step = step, bound = bound)
}
