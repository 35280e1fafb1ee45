# Method "gram": two joint releases of mean and second moments of the donors' features. The first
# finds where the donors are and how they are spread; the second looks again from there.

# Found by simulation over public designs (bench/accuracy.R); none depends on data.
gram_constants <- list(
  # Shares of the budget: radius, moments; again after whitening.
  shares = c(radius1 = 0.015, moments1 = 0.25, radius2 = 0.015, moments2 = 0.72),
  # Number of pre-period features: 1.5 x^(1/3) - 1, where x = n sqrt(rho).
  features = 1.5,
  # When the rule gives this many features per period, rows are neither demeaned nor compressed.
  full = 1.5,
  # Weight of a post-period's value among the features.
  weight = 0.65,
  # Rows that each step down of the radius may leave outside, in units of the exponent's inverse.
  price = 10,
  # kappa^2 of the first release, and of the second: 26 / (n sqrt(rho)), within limits.
  kappa1 = 0.5, kappa2 = c(0.1, 26, 1),
  # Radii of the second release, in units of the whitened spread.
  spread = c(0.15, 4)
)

#' Public constants of the gram release
#' @param public (`list`)\cr from `public_facts()`.
#' @return A list: `features`, `steps_plan`, `cost`, `steps`, `settings`. PUBLIC.
#' @noRd
plan_gram <- function(public) {
  settings <- list(lambda = public$control$lambda)
  if (!public$private) {
    return(list(cost = NULL, steps = NULL, settings = settings))
  }
  gaussian <- public$delta > 0
  budget <- if (gaussian) cdp_rho_cpp(public$epsilon, public$delta) else public$epsilon
  signal <- gram_signal(public, budget)
  features <- gram_features(public, signal)
  shares <- as.list(gram_constants$shares * budget)
  exponent <- function(share) if (gaussian) sqrt(8 * share) else share
  moments <- function(share, kappa) {
    d <- ncol(features$loadings)
    if (gaussian) {
      plan_moments(public$n, d, kappa, rho = share)
    } else {
      plan_moments(public$n, d, kappa, epsilon = share)
    }
  }
  limits <- gram_constants$kappa2
  steps <- list(
    radius1 = plan_radius(exponent(shares$radius1), features$low, features$high, public$n),
    moments1 = moments(shares$moments1, sqrt(gram_constants$kappa1)),
    radius2 = exponent(shares$radius2),
    moments2 = moments(
      shares$moments2, sqrt(min(max(limits[[2L]] / signal, limits[[1L]]), limits[[3L]]))
    )
  )
  list(
    features = features, steps_plan = steps,
    cost = if (gaussian) {
      new_cost("zcdp", epsilon = public$epsilon, rho = budget)
    } else {
      new_cost("pure", epsilon = public$epsilon)
    },
    steps = rbind(
      describe_radius("radius", steps$radius1$exponent, gaussian),
      describe_moments("mean and moments", steps$moments1),
      describe_radius("radius, whitened", steps$radius2, gaussian),
      describe_moments("mean and moments, whitened", steps$moments2)
    ),
    settings = settings
  )
}

#' Donors times the root of the budget: what decides how much the moments can tell
#'
#' With Laplace noise on about `T1 + 4` features, the rho of Gaussian noise of the same size.
#' @noRd
gram_signal <- function(public, budget) {
  rho <- if (public$delta > 0) budget else (budget / (2 * (public$T1 + 4)))^2
  public$n * sqrt(rho)
}

describe_radius <- function(what, exponent, gaussian) {
  describe_step(what, list(
    law = "exponential", sensitivity = 1, scale = 1 / exponent,
    epsilon = if (!gaussian) exponent, rho = if (gaussian) exponent^2 / 8
  ))
}

describe_moments <- function(what, step) {
  describe_step(what, c(
    step[c("law", "sensitivity")],
    scale = step$sigma, step[c("epsilon", "rho")]
  ))
}

#' The public features of a donor's row
#'
#' The pre-period as p averages: along the target's own demeaned path, then along cosines of rising
#' frequency (orthonormal, over `sqrt(T0)`); the post-period as it is, less the row's own pre-period
#' mean, times a weight. More donors or budget pay for more features, and in the end for all there
#' is: the level of a row too, and no demeaning. The origin is the target's own
#' features with its level continued flat, so that donors like the target are short rows.
#' @param signal (`number`)\cr from [gram_signal()].
#' @return A list: `loadings` (T x d), `origin` (d), `pre` (p), `weight`, `demean` (whether features
#'   are relative to a row's own level), `low` and `high` (radii to search, scaled units). PUBLIC.
#' @noRd
gram_features <- function(public, signal) {
  T0 <- public$T0
  T1 <- public$T1
  # Where donors may be: a target beyond the bounds is no centre for them.
  public$y <- pmax(pmin(public$y, 1), -1)
  weight <- gram_constants$weight
  p <- public$control$features %||% (floor(gram_constants$features * signal^(1 / 3)) - 1)
  if (is.infinite(p)) {
    return(every_period(public))
  }
  level <- p >= gram_constants$full * T0
  basis <- public_basis(public$y, max(1, min(T0 - 1, p)), level)
  p <- ncol(basis)
  demean <- if (level) matrix(0, T0, T1) else matrix(-weight / T0, T0, T1)
  loadings <- rbind(cbind(basis, demean), cbind(matrix(0, T1, p), diag(weight, T1)))
  size <- sqrt(1 + weight^2 * T1)
  high <- 2 * size
  low <- 0.5 * size * stats::sd(public$y) * sqrt(1 - 1 / T0)
  list(
    loadings = loadings, demean = !level, pre = p, weight = weight,
    origin = drop(crossprod(loadings, c(public$y, rep(mean(public$y), T1)))),
    low = min(max(low, high / 2^10), high / 2), high = high
  )
}

#' Features that treat all periods alike, for inference that compares periods
#' @noRd
every_period <- function(public) {
  T0 <- public$T0
  periods <- T0 + public$T1
  weight <- 1 / sqrt(T0)
  high <- 2 * sqrt(periods / T0)
  low <- high / 4 * stats::sd(public$y) * sqrt(1 - 1 / T0)
  list(
    loadings = diag(weight, periods), demean = FALSE, pre = T0, weight = weight,
    origin = weight * c(public$y, rep(mean(public$y), public$T1)),
    low = min(max(low, high / 2^10), high / 2), high = high
  )
}

#' Orthonormal functions of time over `sqrt(T0)`: the target's own, then cosines
#' @param y (`numeric(T0)`, PUBLIC).
#' @param p (`count`)\cr how many, besides the level.
#' @param level (`flag`)\cr whether the constant is one; if not, all have mean zero.
#' @noRd
public_basis <- function(y, p, level) {
  T0 <- length(y)
  own <- y - mean(y)
  cosines <- cos(pi * outer(seq_len(T0) - 0.5, seq_len(p)) / T0)
  candidates <- cbind(if (level) 1, if (sum(own^2) > 1e-16 * T0) own, cosines)
  decomposition <- qr(candidates)
  p <- min(p + level, decomposition$rank)
  qr.Q(decomposition)[, seq_len(p), drop = FALSE] / sqrt(T0)
}

#' Release by method gram
#' @inheritParams run_output
#' @param donors (`matrix` or `dp_chunks`, n x T, outcome units, PRIVATE).
#' @return A list, scaled units: the public `loadings`, `pre`, `weight`; `mean` (d) of the features;
#'   `restore` (d x d), from whitened features to features; `covariance` (d x d) of the whitened
#'   features; `mean_sd`, `moment_sd`, the noise in whitened units; `rounds`, from `gram_round()`,
#'   what [pdp()] and [pdp_bound()] need. RELEASED.
#' @noRd
run_gram <- function(plan, donors, public) {
  if (!public$private) {
    return(raw_moments(donors, public))
  }
  rng <- public$control$rng
  n <- public$n
  features <- plan$features
  steps <- plan$steps_plan

  rows <- row_map(public$bounds, features$loadings, features$origin, on_grid = TRUE)
  radius <- release_radius(donors, rows, steps$radius1, n, rng)
  first <- release_moments(donors, rows, radius, steps$moments1, n, rng)

  frame <- whitening(first, radius)
  centre <- features$origin + frame$centre
  rounds <- list(
    gram_round(features$loadings, features$origin, radius, steps$radius1, steps$moments1)
  )
  loadings <- features$loadings %*% frame$whiten
  origin <- drop(crossprod(frame$whiten, centre))
  rows <- row_map(public$bounds, loadings, origin, on_grid = TRUE)
  limits <- gram_constants$spread * frame$spread
  step <- plan_radius(steps$radius2, limits[[1L]], limits[[2L]], n)
  radius <- release_radius(donors, rows, step, n, rng)
  second <- release_moments(donors, rows, radius, steps$moments2, n, rng)
  list(
    loadings = features$loadings, pre = features$pre, weight = features$weight,
    demean = features$demean,
    mean = centre + drop(frame$restore %*% second$mean), restore = frame$restore,
    covariance = second$moment - tcrossprod(second$mean),
    mean_sd = second$mean_sd, moment_sd = second$moment_sd,
    rounds = c(rounds, list(gram_round(loadings, origin, radius, step, steps$moments2)))
  )
}

#' Centre and whitening transform from the first release
#'
#' Directions in which the noise is larger than the donors' spread are kept at the noise's size.
#' @return A list: `centre` (d), `whiten` (d x d, features to whitened features by `whiten'`),
#'   `restore` (back), `spread` (root mean square of whitened rows). RELEASED.
#' @noRd
whitening <- function(first, radius) {
  d <- length(first$mean)
  noise <- spectral_edge(first$moment_sd, d)
  spectrum <- eigen(first$moment - tcrossprod(first$mean), symmetric = TRUE)
  values <- pmin(shrink_spectrum(spectrum$values, noise) + noise, radius^2)
  scale <- sqrt(values / max(values))
  list(
    centre = first$mean * min(1, radius / sqrt(sum(first$mean^2))),
    whiten = spectrum$vectors %*% diag(1 / scale, d),
    restore = spectrum$vectors %*% diag(scale, d), spread = sqrt(d * max(values))
  )
}

#' The donors' mean and moments as they are
#' @noRd
raw_moments <- function(donors, public) {
  periods <- public$T0 + public$T1
  unit <- diag(periods)
  pass <- function(origin) {
    rows <- row_map(public$bounds, unit, origin, on_grid = FALSE)
    sum_over_donors(donors, function(block) {
      clipped_moments_cpp(block, rows$map, 1, 1, 1)
    })
  }
  # Two passes: moments about a rough origin lose digits.
  mean <- pass(numeric(periods))$sum / public$n
  centred <- pass(mean)
  shift <- centred$sum / public$n
  list(
    loadings = unit, pre = public$T0, weight = 1, demean = FALSE, mean = mean + shift,
    restore = unit, covariance = centred$gram / public$n - tcrossprod(shift),
    mean_sd = 0, moment_sd = 0
  )
}

#' What is wrong with the statistics of a gram release, or `NULL`
#' @noRd
gram_problem <- function(release) {
  s <- release$statistics
  T1 <- release$panel$T1
  d <- length(s$mean)
  is_array <- function(x, size) {
    is.numeric(x) && identical(dim(x), as.integer(size)) && all(is.finite(x))
  }
  is_amount <- function(x, positive) is_number(x) && is.finite(x) && x >= 0 && (x > 0 || !positive)
  lambda <- release$settings$lambda
  fits <- is.numeric(s$mean) && all(is.finite(s$mean)) && is_number(s$pre) && s$pre >= 1 &&
    s$pre == d - T1 && is_array(s$loadings, c(release$panel$T0 + T1, d)) &&
    is_array(s$covariance, c(d, d)) && is_array(s$restore, c(d, d)) &&
    is.logical(s$demean) && length(s$demean) == 1L && !is.na(s$demean) &&
    is_amount(s$weight, TRUE) && is_amount(s$mean_sd, FALSE) && is_amount(s$moment_sd, FALSE) &&
    (is.null(lambda) || is_amount(lambda, TRUE)) && rounds_fit(s$rounds, dim(s$loadings))
  if (!fits) "The statistics do not fit the sizes of the panel."
}
