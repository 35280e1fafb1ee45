# Simulated people for generalised linear models, and exact densities of objective perturbation in
# one and two dimensions, computed independently of the package.

# White's errors (HC1) of a model with a canonical link, by formula.
robust_vcov <- function(fit) {
  x <- stats::model.matrix(fit)
  bread <- stats::summary.glm(fit)$cov.unscaled
  n <- nrow(x)
  bread %*% crossprod(x * (fit$y - stats::fitted(fit))) %*% bread * n / (n - ncol(x))
}

glm_people <- function(n = 4000, family = "binomial", seed = 3) {
  withr::local_seed(seed)
  data <- data.frame(
    a = stats::rnorm(n, 3), b = stats::runif(n, -2, 2), g = sample(c("u", "v", "w"), n, TRUE)
  )
  eta <- -1 + 0.5 * data$a - 0.7 * data$b + 0.5 * (data$g == "v")
  data$y <- switch(family,
    binomial = as.double(stats::runif(n) < stats::plogis(eta)),
    poisson = stats::rpois(n, exp(0.5 * eta)), gaussian = eta + stats::rt(n, 3)
  )
  data
}

glm_bounds <- function(family = "binomial") {
  y <- switch(family, binomial = c(0, 1), poisson = c(0, 200), gaussian = c(-50, 50))
  list(y = y, a = c(-20, 20), b = c(-5, 5), g = c("u", "v", "w"))
}

seeded_glm <- function(..., seed = 5) {
  withr::local_seed(seed)
  dp_glm(..., control = dp_control(rng = "R"))
}

glm_columns_of <- function(formula, family = "binomial", bounds = glm_bounds(family)) {
  lm_columns(formula, bounds, glm_families[[family]]$outcome)
}

glm_facts_of <- function(formula = y ~ a + b, n = 400, epsilon = 1, delta = 1e-6,
                         family = "binomial", intervals = TRUE) {
  columns <- glm_columns_of(formula, family)
  list(
    n = n, epsilon = epsilon, delta = delta, design = lm_design(columns), family = family,
    upper = columns$variables[[length(columns$variables)]]$upper, intervals = intervals
  )
}

glm_table_of <- function(data, formula = y ~ a + b, family = "binomial") {
  lm_table(glm_columns_of(formula, family), data, TRUE)
}

# The solver's result for a linear term, on the grid of the solver, and the problem: rows in the
# coordinates of the release, and the gradient of the objective without penalties.
solved_glm <- function(table, facts, linear) {
  run <- glm_audit_cpp(table, facts, linear, "R", NULL)
  release <- run$release
  call <- Filter(function(x) x$label == "accuracy of the solver", run$calls)[[1L]]
  grid <- release$out.sd / sqrt(call$scale[[1L]])
  rows <- glm_rows_cpp(table, facts, release)
  loss <- exact_loss(facts$family, release$span)
  list(
    release = release, call = call, grid = grid, theta = call$value * grid, rows = rows,
    loss = loss, gradient = function(theta) {
      t <- drop(rows$x %*% theta) + rows$offset
      colSums(rows$weight * loss$slope(t, rows$outcome) * rows$x) + release$ridge * theta +
        release$kappa * linear
    }
  )
}

# Slopes in the units of the formula are S theta, without the intercepts.
slope_map <- function(release, facts) {
  facts$wishes <- NULL
  d <- length(release$theta)
  # With a huge information matrix no shrinkage needs to be undone.
  release$information <- diag(1e14, d)
  release$information.sd <- 1
  slopes <- function(theta) {
    release$theta <- theta
    as.double(glm_estimate_cpp(release, facts)$coefficients)[-1]
  }
  vapply(2:d, function(j) slopes(diag(d)[j, ]) - slopes(numeric(d)), numeric(d - 1))
}

# Losses by definition: slope, curvature, unit of length, and the ratio of k0 R^2 / Lambda to c.
exact_loss <- function(family, span = 1) {
  switch(family,
    binomial = list(
      slope = function(t, y) stats::plogis(t) - y,
      curvature = function(t, y) stats::plogis(t) * stats::plogis(-t), unit = 1, bend = 1,
      ends = function(y) c(-y, 1 - y)
    ),
    poisson = list(
      slope = function(t, y) tent(t, span) - y,
      curvature = function(t, y) pmin(tent(t, span), span - tent(t, span)), unit = span,
      bend = 2 * span, ends = function(y) c(-y, span - y)
    ),
    gaussian = list(
      slope = function(t, y) -span * tanh((y - t) / span),
      curvature = function(t, y) 1 - tanh((y - t) / span)^2, unit = span, bend = 2,
      ends = function(y) c(-span, span)
    )
  )
}

tent <- function(t, M) {
  middle <- log(M / 2)
  ifelse(t <= middle, exp(pmin(t, middle)), M - M / 2 * exp(-pmax(t - middle, 0)))
}

# The weight of a row in d = ncol dimensions.
exact_weight <- function(x) {
  q <- sqrt(ncol(x)) / sqrt(rowSums(x^2))
  pmin(q, q^2)
}

# Equally likely nodes of spherical Laplace noise of scale one, in one or two dimensions. `shape` is
# the shape of the Gamma distribution of the norm; a value other than d is a planted fault.
noise_nodes <- function(d, radii = 150L, angles = 72L, shape = d) {
  r <- stats::qgamma((seq_len(radii) - 0.5) / radii, shape)
  if (d == 1L) {
    return(matrix(c(r, -r)))
  }
  turn <- 2 * pi * (seq_len(angles) - 0.5) / angles
  r <- rep(r, angles)
  turn <- rep(turn, each = radii)
  cbind(r * cos(turn), r * sin(turn))
}

log_noise <- function(b, d, shape = d) {
  r <- sqrt(rowSums(b^2))
  -r + (shape - d) * log(r)
}

# Minimisers for all linear terms at once, and log-ratios of the minimiser's densities on two data
# sets that differ in the last row. `data` is a list of x (rows), w, y, offset. Offsets do not
# change the proof, but they make its worst case possible.
exact_losses <- function(data, other, loss, ridge, kappa, b, shape = ncol(b)) {
  d <- ncol(b)
  parts <- function(rows, theta) {
    g <- ridge * theta
    H <- array(0, c(nrow(theta), d, d))
    for (i in seq_len(d)) H[, i, i] <- ridge
    for (k in seq_along(rows$w)) {
      t <- drop(theta %*% rows$x[k, ]) + rows$offset[[k]]
      s <- rows$w[[k]] * loss$slope(t, rows$y[[k]])
      c <- rows$w[[k]] * loss$curvature(t, rows$y[[k]])
      for (i in seq_len(d)) {
        g[, i] <- g[, i] + s * rows$x[k, i]
        for (j in seq_len(d)) H[, i, j] <- H[, i, j] + c * rows$x[k, i] * rows$x[k, j]
      }
    }
    det <- if (d == 1L) H[, 1, 1] else H[, 1, 1] * H[, 2, 2] - H[, 1, 2]^2
    list(g = g, H = H, det = det)
  }
  solve_all <- function(H, det, g) {
    if (d == 1L) return(g / H[, 1, 1])
    cbind(H[, 2, 2] * g[, 1] - H[, 1, 2] * g[, 2], H[, 1, 1] * g[, 2] - H[, 1, 2] * g[, 1]) / det
  }
  linear <- kappa * b
  theta <- -linear / ridge
  at <- parts(data, theta)
  for (step in 1:200) {
    g <- at$g + linear
    size <- sqrt(rowSums(g^2))
    if (max(size) < 1e-9 * kappa) break
    move <- solve_all(at$H, at$det, g)
    length <- rep(1, nrow(theta))
    repeat {
      new <- parts(data, theta - length * move)
      bad <- sqrt(rowSums((new$g + linear)^2)) > (1 - length / 4) * size & size > 1e-12 * kappa
      if (!any(bad) || min(length) < 1e-6) break
      length[bad] <- length[bad] / 2
    }
    theta <- theta - length * move
    at <- new
  }
  stopifnot(max(sqrt(rowSums((at$g + linear)^2))) < 1e-6 * kappa)
  far <- parts(other, theta)
  log_noise(b, d, shape) + log(at$det) - log_noise(-far$g / kappa, d, shape) - log(far$det)
}

# Random data: some rows that both data sets share, and a pair of different rows, mostly at the
# limits.
exact_pair <- function(d, family, span) {
  m <- sample(0:3, 1L)
  draw <- function(k) {
    if (d == 1L) matrix(1, k, 1L) else cbind(rep(1, k), stats::rnorm(k, sd = 3))
  }
  outcome <- function(k) {
    switch(family,
      binomial = sample(c(0, 1, stats::runif(1)), k, TRUE),
      poisson = sample(c(0, span, span * stats::runif(1)), k, TRUE),
      gaussian = stats::rnorm(k, sd = 3 * span)
    )
  }
  shared <- draw(m)
  own <- draw(2L)
  if (d == 2L && stats::runif(1) < 0.7) {
    # Rows at a chosen angle whose weighted length is the limit.
    angle <- stats::runif(1, -pi / 2, pi / 2)
    own[, 2] <- c(1, -1) * pmin(50, abs(tan(angle)))
  }
  y <- outcome(m + 1L)
  data <- list(x = rbind(shared, own[1L, ]), y = y)
  other <- list(x = rbind(shared, own[2L, ]), y = c(y[seq_len(m)], outcome(1L)))
  data$w <- exact_weight(data$x)
  other$w <- exact_weight(other$x)
  offset <- sample(c(0, 0, -40, 40), m + 2L, TRUE)
  data$offset <- offset[seq_len(m + 1L)]
  other$offset <- offset[c(seq_len(m), m + 2L)]
  # In some cases one data set lacks the row.
  if (stats::runif(1) < 0.15) other$w[[m + 1L]] <- 0
  list(data, other)
}

# The constants of the mechanism at c = epsilon / 2.
exact_claim <- function(epsilon, delta, d, family, span) {
  loss <- exact_loss(family, span)
  slopes <- glm_families[[family]]$slopes
  c <- epsilon / 2
  reach <- if (delta > 0) {
    calibrate_objective_cpp(slopes, epsilon, delta, 0, c, d)[["reach"]]
  } else {
    epsilon
  }
  list(
    loss = loss, slopes = slopes, c = c, reach = reach, ridge = loss$bend * d / c,
    kappa = 2 * loss$unit * sqrt(d) / reach
  )
}

# In one dimension one outcome is saturated at the opposite end, and the person's outcome has
# curvature near the given theta. Saturated rows that both data sets share change the linear term
# that a given theta needs. The losses are absolute.
exact_worst <- function(loss, ridge, kappa) {
  b <- noise_nodes(1L, radii = 4000L)
  unlist(lapply(0:6, function(k) {
    side <- list(x = matrix(1, k, 1), y = rep(1, k), offset = rep(-40, k))
    data <- list(
      x = rbind(side$x, 1), y = c(side$y, 0), w = rep(1, k + 1), offset = c(side$offset, 0)
    )
    other <- list(
      x = rbind(side$x, -1), y = c(side$y, 0), w = rep(1, k + 1), offset = c(side$offset, 40)
    )
    abs(exact_losses(data, other, loss, ridge, kappa, b))
  }))
}

# In two dimensions the saturated rows are at right angles to each other.
exact_opposite <- function(claim, shape) {
  data <- list(x = matrix(c(1, 1), 1), y = 0, w = 1, offset = 40)
  other <- list(x = matrix(c(1, -1), 1), y = 1, w = 1, offset = -40)
  exact_losses(
    data, other, claim$loss, claim$ridge, claim$kappa, noise_nodes(2L, radii = 400L, shape = shape),
    shape
  )
}

# The gradient of the data part and the ridge, and the Hessian, at many two-dimensional theta.
exact_slopes <- function(rows, loss, ridge, theta) {
  out <- list(g = ridge * theta, h11 = ridge, h12 = 0, h22 = ridge)
  for (k in seq_along(rows$w)) {
    x <- rows$x[k, ]
    t <- drop(theta %*% x) + rows$offset[[k]]
    out$g <- out$g + outer(rows$w[[k]] * loss$slope(t, rows$y[[k]]), x)
    c <- rows$w[[k]] * loss$curvature(t, rows$y[[k]])
    out$h11 <- out$h11 + c * x[[1L]]^2
    out$h12 <- out$h12 + c * x[[1L]] * x[[2L]]
    out$h22 <- out$h22 + c * x[[2L]]^2
  }
  out
}

# Terms that the springs of a half plane normal'theta <= limit add to gradient and Hessian.
spring_slopes <- function(at, theta, normal, limit, stiff) {
  far <- drop(theta %*% normal) - limit
  on <- far > 0
  at$g <- at$g + outer(stiff * far * on, normal)
  at$h11 <- at$h11 + stiff * on * normal[[1L]]^2
  at$h12 <- at$h12 + stiff * on * normal[[1L]] * normal[[2L]]
  at$h22 <- at$h22 + stiff * on * normal[[2L]]^2
  at
}

# Densities of the minimiser over a half plane for two data sets, in two dimensions and with pure
# noise of this scale: inside (a density in the plane), and on the edge (a density along a line,
# integrated over the normal cone). With `stiff`, springs replace the edge. `moved` is the limit for
# the other data (a planted fault). Returns a list: `mass` under the first data (the sum is about
# one), `loss`.
exact_half_plane <- function(data, other, loss, ridge, kappa, normal, limit, stiff = NULL,
                             moved = limit, nodes = 220L, reach = 14) {
  normal <- normal / sqrt(sum(normal^2))
  along <- c(-normal[[2L]], normal[[1L]])
  noise <- function(g) -sqrt(rowSums(g^2)) / kappa - log(2 * pi * kappa^2)
  # Minimisers lie within this distance, except with probability of about exp(-reach).
  far <- (reach * kappa + loss$unit * 1.5 * length(data$w)) / ridge
  side <- far * sinh(seq(-5, 5, length.out = nodes)) / sinh(5)
  step <- far * cosh(seq(-5, 5, length.out = nodes)) / sinh(5) * 10 / (nodes - 1)
  # Distances from the limit, across the edge.
  depth <- if (is.null(stiff)) side[side < 0] else side
  width <- if (is.null(stiff)) step[side < 0] else step
  theta <- outer(rep(limit + depth, nodes), normal) + outer(rep(side, each = length(depth)), along)
  inside <- function(rows, limit) {
    at <- exact_slopes(rows, loss, ridge, theta)
    if (!is.null(stiff)) at <- spring_slopes(at, theta, normal, limit, stiff)
    noise(at$g) + log(at$h11 * at$h22 - at$h12^2)
  }
  p <- inside(data, limit)
  q <- inside(other, moved)
  out <- list(mass = exp(p) * rep(width, nodes) * rep(step, each = length(depth)), loss = p - q)
  if (!is.null(stiff)) {
    return(out)
  }
  theta <- outer(rep(limit, nodes), normal) + outer(side, along)
  pull <- kappa * 60 * ((seq_len(400) - 0.5) / 400)^3
  own <- kappa * 60 * 3 * ((seq_len(400) - 0.5) / 400)^2 / 400
  edge <- function(rows) {
    at <- exact_slopes(rows, loss, ridge, theta)
    cone <- vapply(seq_len(nodes), function(i) {
      sum(own * exp(noise(outer(pull, normal) + rep(at$g[i, ], each = 400L))))
    }, 0)
    log(cone) + log(at$h11 * along[[1L]]^2 + 2 * at$h12 * along[[1L]] * along[[2L]] +
      at$h22 * along[[2L]]^2)
  }
  p <- edge(data)
  q <- edge(other)
  list(mass = c(out$mass, exp(p) * step), loss = c(out$loss, p - q), edge = exp(p) * step)
}

# The cost of every step on neighbours, given the same released answers and linear term. A column
# `w` contains case weights.
glm_replayed <- function(data, other, family, delta, linear, intervals = TRUE) {
  facts <- glm_facts_of(
    n = nrow(data), epsilon = 8, delta = delta, family = family, intervals = intervals
  )
  facts$design$weighted <- !is.null(data$w)
  table <- function(rows) cbind(glm_table_of(rows, family = family), rows$w)
  first <- glm_audit_cpp(table(data), facts, linear, "R", NULL)
  outputs <- lapply(first$calls, `[[`, "output")
  second <- glm_audit_cpp(table(other), facts, linear, "R", outputs)
  public <- function(run) lapply(run$calls, `[`, c("label", "law", "scale", "output"))
  expect_identical(public(first), public(second))
  expect_identical(first$release, second$release)
  steps <- glm_plan_cpp(facts)$steps
  steps <- steps[match(vapply(first$calls, `[[`, "", "label"), steps$step), ]
  observed <- mapply(function(a, b) {
    move <- b$value - a$value
    switch(a$law,
      exponential = {
        range <- diff(range(move)) * a$scale
        if (delta > 0) exponential_step_mu_cpp(range) else range
      },
      discrete_gaussian = sqrt(sum(move^2 / (a$scale - 16))), sum(abs(move) / a$scale)
    )
  }, first$calls, second$calls)
  stats::setNames(observed / (if (delta > 0) steps$mu else steps$epsilon), steps$step)
}
