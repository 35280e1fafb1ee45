# Privacy loss of each donor from methods "output" and "objective", where a donor is a feature of
# the ridge regression. One fit gives closed forms for all donors. All results are PRIVATE.

#' Change of the ridge weights by each donor
#'
#' Let `K = X'X + c I`, `h_i = x_i' K^-1 x_i` and `g_i = |K^-1 x_i|^2`. The removal of donor i
#' changes the weights `f = X K^-1 y` by `|f_i| sqrt(1 - h_i - c g_i) / (1 - h_i)`. A replacement by
#' a row z with `|z|^2 <= reach` changes them by at most this value plus `sup |f(z) - f(0)|`. The
#' supremum is at most `S_i`, where `S_i^2 = y' [K_-i^-1 - (K_-i + reach I)^-1] y`, and at most half
#' of the global sensitivity.
#' @param x (`matrix`, n x T0, scaled, PRIVATE).
#' @param y (`numeric(T0)`, scaled).
#' @param lambda (`number`)\cr `c = lambda / 2`.
#' @param reach (`number`)\cr bound on the squared norm of a row.
#' @param cap (`number`)\cr global sensitivity under removal.
#' @return A list of vectors of length n: `weights`, `leverage`, `squared`, `removal`, `search`
#'   (S_i), `replacement`.
#' @noRd
ridge_shifts <- function(x, y, lambda, reach, cap = Inf) {
  c <- lambda / 2
  inverse <- function(extra) {
    chol2inv(chol(crossprod(x) + diag(c + extra, ncol(x))))
  }
  K <- inverse(0)
  K2 <- inverse(reach)
  rows <- x %*% K
  weights <- drop(rows %*% y)
  h <- pmin(rowSums(rows * x), 1 - .Machine$double.eps)
  g <- rowSums(rows^2)
  removal <- abs(weights) * sqrt(pmax(1 - h - c * g, 0)) / (1 - h)
  # The formula of Sherman and Morrison for K_-i^-1 and (K_-i + reach I)^-1 in the product y' . y.
  rows2 <- x %*% K2
  search <- sum(y * (K %*% y)) + weights^2 / (1 - h) -
    sum(y * (K2 %*% y)) - drop(rows2 %*% y)^2 / (1 - rowSums(rows2 * x))
  search <- sqrt(pmax(search, 0))
  removal <- pmin(removal, cap)
  list(
    weights = weights, leverage = h, squared = g, removal = removal, search = search,
    replacement = removal + pmin(search, cap)
  )
}

#' Change of the outcomes after the treatment by each donor
#' @param post (`matrix`, n x T1, scaled, PRIVATE).
#' @param half (`numeric(T1)`)\cr bounds.
#' @noRd
post_shifts <- function(post, half) {
  list(
    removal = sqrt(rowSums(post^2)),
    replacement = sqrt(rowSums((abs(post) + rep(half, each = nrow(post)))^2))
  )
}

#' The parts of a vertical release from which its losses are computed
#' @param donors (`matrix`, n x T, outcome units, PRIVATE).
#' @noRd
vertical_pieces <- function(release, donors) {
  scale <- release_scale(release)
  scaled <- clip_to_scale(donors, scale)
  pre <- seq_len(release$panel$T0)
  list(
    x = scaled[, pre, drop = FALSE], post = scaled[, -pre, drop = FALSE],
    y = (release$settings$target - scale$centre[pre]) / scale$unit,
    lambda = release$settings$lambda, half = scale$half[pre], half_post = scale$half[-pre],
    steps = release$privacy$steps
  )
}

#' Losses of a release by method output
#' @inheritParams vertical_pieces
#' @noRd
pdp_output <- function(release, donors, delta) {
  p <- vertical_pieces(release, donors)
  reach <- sum(p$half^2)
  cap <- ridge_sensitivity(
    sqrt(sum(p$y^2)), length(p$y), p$lambda, sqrt(mean(p$half^2))
  ) / 2
  weights <- ridge_shifts(p$x, p$y, p$lambda, reach, cap)
  post <- post_shifts(p$post, p$half_post)
  scale <- p$steps$scale
  if (all(p$steps$law == "gamma_norm")) {
    epsilon <- function(kind) weights[[kind]] / scale[[1L]] + post[[kind]] / scale[[2L]]
    return(loss_table(epsilon("removal"), epsilon("replacement")))
  }
  mu <- function(kind) {
    sqrt(grid_shift(weights[[kind]], scale[[1L]], nrow(p$x))^2 +
      grid_shift(post[[kind]], scale[[2L]], ncol(p$post))^2)
  }
  shift_losses(mu("removal"), mu("replacement"), delta)
}

#' A shift in standard deviations, including the rounding to the noise's grid
#'
#' The grid is 2^-26 standard deviations or finer.
#' @param count (`count`)\cr number of values that change.
#' @noRd
grid_shift <- function(shift, scale, count) {
  shift / scale + ifelse(shift > 0, sqrt(count) * 2^-26, 0)
}

# Objective perturbation ---------------------------------------------------------------------------

#' Losses of a release by method objective
#' @inheritParams pdp_output
#' @noRd
pdp_objective <- function(release, donors, delta) {
  p <- vertical_pieces(release, donors)
  step <- p$steps[1L, ]
  deviation <- if (step$law == "gaussian") step$scale else sqrt(nrow(p$x) + 1) * step$scale
  p$mu <- deviation / sqrt(release$settings$weights_variance)
  post <- post_shifts(p$post, p$half_post)
  last <- p$steps[nrow(p$steps), ]
  # As in the release, each step of the tight version uses half of a positive delta.
  part <- if (release$calibration == "tight") delta / 2 else delta
  post_loss <- lapply(post, function(shift) {
    if (last$law == "gamma_norm") {
      shift / last$scale
    } else {
      shift_epsilon(grid_shift(shift, last$scale, ncol(p$post)), part)
    }
  })
  if (release$calibration == "published") {
    removal <- if (step$law == "gaussian") {
      gaussian_objective_removal(p$x, p$y, p$mu, step$scale, delta)
    } else {
      ifelse(rowSums(p$x != 0) > 0, Inf, 0)
    }
    return(loss_table(removal + post_loss$removal, NA_real_))
  }
  p$cap <- release$settings$cap
  if (is.null(p$cap)) {
    abort(c(
      "This release does not contain the weights' cap, on which its donors' losses depend.",
      i = "The release was made by an older version of the package."
    ), "argument")
  }
  cover <- p$steps$epsilon[[2L]]
  bounded <- bounded_terms(p, step$sensitivity)
  loss <- function(kind) {
    q <- bounded$gradient[[kind]] / step$scale
    first <- bounded$determinant[[kind]] + if (step$law == "gaussian") {
      rayleigh_epsilon(q, part * exp(-cover / 2))
    } else {
      q
    }
    first + ifelse(first > 0, cover, 0) + post_loss[[kind]]
  }
  loss_table(loss("removal"), loss("replacement"))
}

#' Gradient and determinant terms of the tight version, donor by donor
#'
#' Let f be in `C = {|f|_1 <= 1, |f_j| <= cap}` and `u = |f_i|`. The removal of x changes the
#' gradient by at most `2 (u |x|^2 + best(1 - u) + |x'y|)` along the donor's coordinate, where
#' `best(w)` distributes the weight w over the donors with the largest `|x_j'x|`, and by `2 u x_j'x`
#' along the other coordinates. Both bounds are attained. The norm is convex in u between kinks of
#' `best`, so the ends of the pieces suffice. For a replacement by any row within the bounds,
#' `|x_t| + half_t` replaces `|x_t|` as the change in period t.
#'
#' For determinants let `q(x) = |K^-1/2 (x - m)| sqrt(2 / mu)` with K >= I. The log-ratio of the
#' determinants is `log(1 + q(x)^2) - log(1 + q(x')^2)`, and the slope of `log(1 + q^2)` is at most
#' 1 and at most 2q. For a box m = 0; otherwise m is a signed mean of the other donors' rows, which
#' is no longer than the longest row.
#' @param p (`list`)\cr from [vertical_pieces()], with `mu` and `cap`.
#' @param sensitivity (`number`)\cr the sensitivity of the gradient, over all panels.
#' @return A list of `gradient` and `determinant`, each a list of `removal` and `replacement`.
#' @noRd
bounded_terms <- function(p, sensitivity) {
  n <- nrow(p$x)
  reach <- sum(p$half^2)
  norm2 <- rowSums(p$x^2)
  size <- abs(p$x)
  # The bound is largest at an end of the range of the donor's weight, or at its kink.
  kink <- 1 - floor(1 / p$cap) * p$cap
  ends <- unique(c(0, if (kink > 0 && kink < p$cap) kink, min(p$cap, 1)))
  largest <- function(own, others, offset) {
    others <- sort(others, decreasing = TRUE)
    best <- function(w) sum(pmin(pmax(w - p$cap * (seq_along(others) - 1), 0), p$cap) * others)
    moved <- vapply(ends, function(u) {
      4 * (u * own + best(1 - u) + offset)^2 + 4 * u^2 * sum(others^2)
    }, 0)
    min(sqrt(max(moved)), sensitivity)
  }
  removal <- vapply(seq_len(n), function(i) {
    x <- p$x[i, ]
    largest(norm2[[i]], abs(drop(p$x[-i, , drop = FALSE] %*% x)), abs(sum(x * p$y)))
  }, 0)
  replacement <- vapply(seq_len(n), function(i) {
    change <- size[i, ] + p$half
    others <- drop(size[-i, , drop = FALSE] %*% change)
    largest(max(norm2[[i]], reach - norm2[[i]]), others, sum(change * abs(p$y)))
  }, 0)
  faces <- if (n * p$cap <= 1) "box" else "l1"
  worst <- log1p(curvature_bound_cpp(n, ncol(p$x), faces, sqrt(mean(p$half^2))) / p$mu)
  longest <- if (faces == "box") 0 else sqrt(max(norm2))
  # `far` is the norm of the longer row; `gap` bounds the distance of the rows and the sum of their
  # norms.
  ratio <- function(far, gap) {
    k <- 2 / p$mu
    pmin(worst, log1p(k * (far + longest)^2), sqrt(k) * gap, k * gap * (gap + 2 * longest))
  }
  norm <- sqrt(norm2)
  list(
    gradient = list(removal = removal, replacement = replacement),
    determinant = list(
      removal = ratio(norm, norm), replacement = ratio(sqrt(reach), norm + sqrt(reach))
    )
  )
}

#' Epsilon at delta of `q R + q^2 / 2`, for a Rayleigh variable R (inst/proofs/objective.md, section
#' 4)
#' @noRd
rayleigh_epsilon <- function(q, delta) {
  log_delta <- function(epsilon) {
    tail <- function(z) stats::pnorm(z, lower.tail = FALSE, log.p = TRUE)
    front <- log(2 * pi) / 2 + log(q) + epsilon
    beyond <- front + tail(epsilon / q + q / 2)
    within <- log(pmax(-expm1(epsilon - q^2 / 2) + exp(front + tail(q)), 0))
    ifelse(q == 0, -Inf, ifelse(q^2 <= 2 * epsilon, beyond, within))
  }
  bisect(log_delta, q * sqrt(-2 * log(delta)) + q^2 / 2, log(delta))
}

#' Removal under the published objective perturbation with a Gaussian linear term
#'
#' The distribution of the weights is `N(A^-1 X y, (scale^2 / 4) A^-2)` with `A = XX' + (mu / 2) I`,
#' so its covariance depends on the donors. In coordinates in which this distribution is standard
#' normal, the removal of donor i changes mean and covariance only in the span of `e_i`, `X x_i` and
#' `X K^-1 x_i`. Inner products in these three dimensions can be computed from vectors of length T0.
#' Epsilon is the larger value of the two directions, each converted from Renyi divergences and
#' minimised over orders (Canonne, Kamath and Steinke, 2020, Proposition 12).
#' @noRd
gaussian_objective_removal <- function(x, y, mu, scale, delta) {
  moment <- crossprod(x)
  K <- chol2inv(chol(moment + diag(mu / 2, ncol(x))))
  mean <- drop(x %*% (K %*% y))
  vapply(seq_len(nrow(x)), function(i) {
    if (all(x[i, ] == 0)) {
      return(0)
    }
    renyi_epsilon(removal_laws(x[i, ], moment, K, mu / 2, mean[[i]], scale), delta)
  }, 0)
}

#' Eigenvalues m of the precision and squared mean shifts, in coordinates in which the distribution
#' with the donor is standard normal
#' @noRd
removal_laws <- function(x, moment, K, c, mean, scale) {
  a <- drop(K %*% x)
  Gx <- drop(moment %*% x)
  Ga <- drop(moment %*% a)
  s <- sum(x^2)
  h <- sum(x * a)
  xGa <- sum(x * Ga)
  # In the basis e, Xx, XK^-1 x, E = A_0 - A maps w to -(Xx'w - s e'w) e - (e'w) Xx.
  gram <- matrix(c(1, s, h, s, sum(x * Gx), xGa, h, xGa, sum(a * Ga)), 3L)
  own <- c((1 - h) / c, h, sum(a^2))
  cross <- c((s - xGa) / c, xGa, sum(Gx * drop(K %*% a)))
  map <- diag(3) - rbind(cross - s * own, own, 0)
  spectrum <- eigen(gram, symmetric = TRUE)
  keep <- spectrum$values > 1e-13 * spectrum$values[[1L]]
  root <- sqrt(spectrum$values[keep])
  V <- spectrum$vectors[, keep, drop = FALSE]
  map <- (root * t(V)) %*% map %*% (V %*% diag(1 / root, sum(keep)))
  precision <- eigen(crossprod(map), symmetric = TRUE)
  shift <- 2 / scale * mean * c / (1 - h) * drop(crossprod(precision$vectors, root * V[1L, ]))
  list(m = pmax(precision$values, .Machine$double.xmin), shift = shift^2)
}

renyi_epsilon <- function(laws, delta) {
  order <- 1 + 10^seq(-3, 5, length.out = 400L)
  divergence <- function(spread, log_det) {
    ok <- apply(spread > 0, 1L, all)
    spread[!ok, ] <- 1
    value <- order / 2 * drop((1 / spread) %*% laws$shift) -
      (rowSums(log(spread)) + log_det) / (2 * (order - 1))
    ifelse(ok, value, Inf)
  }
  both <- list(
    divergence(outer(order, 1 / laws$m) + 1 - order, order * sum(log(laws$m))),
    divergence(order + outer(1 - order, 1 / laws$m), (1 - order) * sum(log(laws$m)))
  )
  extra <- log1p(-1 / order) - (log(delta) + log(order)) / (order - 1)
  max(0, vapply(both, function(d) min(d + extra), 0))
}
