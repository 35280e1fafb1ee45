# Method "gram": two joint releases of mean and second moments of the donors' features. The first finds
# where the donors are and how they are spread; the second looks again from there.

#' Public constants of the gram release
#' @param public (`list`)\cr from `public_facts()`.
#' @return A list of class `dpsc_plan`: features, steps and costs. PUBLIC.
#' @noRd
plan_gram <- function(public) {
  if (!public$private) {
    return(list(cost = NULL, steps = NULL, settings = list(lambda = public$control$lambda)))
  }
  features <- public_features(public)
  d <- ncol(features$loadings)
  gaussian <- public$delta > 0
  budget <- if (gaussian) cdp_rho_cpp(public$epsilon, public$delta) else public$epsilon
  shares <- gram_shares
  exponent <- function(share) if (gaussian) sqrt(8 * share * budget) else share * budget
  moments <- function(share, kappa) {
    if (gaussian) {
      plan_moments(d, kappa, rho = share * budget)
    } else {
      plan_moments(d, kappa, epsilon = share * budget)
    }
  }
  steps <- list(
    radius1 = list(exponent = exponent(shares[["radius1"]])),
    moments1 = moments(shares[["moments1"]], gram_kappa[[1L]]),
    radius2 = list(exponent = exponent(shares[["radius2"]])),
    moments2 = moments(shares[["moments2"]], gram_kappa[[2L]])
  )
  list(
    features = features, steps_plan = steps,
    cost = if (gaussian) {
      new_cost("zcdp", epsilon = public$epsilon, rho = budget)
    } else {
      new_cost("pure", epsilon = public$epsilon)
    },
    steps = rbind(
      describe_radius("radius", steps$radius1, gaussian),
      describe_moments("mean and moments", steps$moments1),
      describe_radius("radius after whitening", steps$radius2, gaussian),
      describe_moments("mean and moments after whitening", steps$moments2)
    ),
    settings = list(lambda = public$control$lambda)
  )
}

# Shares of the budget, found by simulation over public designs (bench/).
gram_shares <- c(radius1 = 0.02, moments1 = 0.25, radius2 = 0.03, moments2 = 0.7)
gram_kappa <- c(0.7, 0.5)

describe_radius <- function(what, step, gaussian) {
  describe_step(what, list(
    law = "exponential", sensitivity = 1, scale = 1 / step$exponent,
    epsilon = if (!gaussian) step$exponent, rho = if (gaussian) step$exponent^2 / 8
  ))
}

describe_moments <- function(what, step) {
  describe_step(what, c(step[c("law", "sensitivity")], scale = step$sigma, step[c("epsilon", "rho")]))
}

#' Release by method gram
#' @inheritParams run_output
#' @param donors (`matrix` or `dp_chunks`, n x T, outcome units, PRIVATE).
#' @noRd
run_gram <- function(plan, donors, public) {
  if (!public$private) {
    return(raw_moments(donors, public))
  }
  rng <- public$control$rng
  n <- public$n
  features <- plan$features
  loadings <- features$loadings
  origin <- features$origin
  steps <- plan$steps_plan

  rows <- row_map(public$bounds, loadings, origin, on_grid = TRUE)
  price <- radius_price(steps$radius1$exponent, n)
  radius <- release_radius(
    donors, rows, c(steps$radius1, low = rows$reach / 2^10, high = rows$reach, price = price), n, rng
  )
  first <- release_moments(donors, rows, radius, steps$moments1, n, rng)

  frame <- whitening(first, radius)
  centre <- origin + frame$centre
  rows <- row_map(
    public$bounds, loadings %*% frame$whiten, drop(crossprod(frame$whiten, centre)), on_grid = TRUE
  )
  d <- ncol(loadings)
  price <- radius_price(steps$radius2$exponent, n)
  radius <- release_radius(donors, rows, c(steps$radius2,
    low = sqrt(d) / 2, high = 16 * sqrt(d), price = price
  ), n, rng)
  second <- release_moments(donors, rows, radius, steps$moments2, n, rng)
  list(
    loadings = loadings, pre = features$pre, weight = features$weight, demean = TRUE,
    mean = centre + drop(frame$restore %*% second$mean), restore = frame$restore,
    covariance = second$moment - tcrossprod(second$mean),
    mean_sd = second$mean_sd, moment_sd = second$moment_sd
  )
}

#' Rows that a smaller radius may leave outside, for each step of the grid
#' @noRd
radius_price <- function(exponent, n) {
  max(1, floor(min(1.7 / exponent, n / 3) / 4))
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

#' The public features of a donor's row
#' @return A list: `loadings` (T x d), `origin` (d), `pre` (how many describe the pre-period), `weight`
#'   of the post-period's features. PUBLIC.
#' @noRd
public_features <- function(public) {
  T0 <- public$T0
  T1 <- public$T1
  pre <- seq_len(T0)
  p <- min(4, T0 - 1)
  cosines <- cos(pi * outer(pre - 0.5, seq_len(p)) / T0) * sqrt(2 / T0)
  y <- public$y - mean(public$y)
  basis <- qr.Q(qr(cbind(y, cosines)))[, seq_len(p), drop = FALSE] / sqrt(T0)
  loadings <- rbind(
    cbind(basis, matrix(-1 / T0, T0, T1)), cbind(matrix(0, T1, p), diag(T1))
  )
  list(loadings = loadings, origin = c(drop(crossprod(basis, public$y)), numeric(T1)), pre = p, weight = 1)
}

#' Centre and whitening transform from the first release
#' @noRd
whitening <- function(first, radius) {
  d <- length(first$mean)
  edge <- first$moment_sd * sqrt(d / 2)
  centre <- first$mean * min(1, radius / sqrt(sum(first$mean^2)))
  spectrum <- eigen(first$moment - tcrossprod(first$mean), symmetric = TRUE)
  values <- pmin(shrink_spectrum(spectrum$values, 2 * edge) + 2 * edge, radius^2)
  list(
    centre = centre, whiten = spectrum$vectors %*% diag(1 / sqrt(values), d),
    restore = spectrum$vectors %*% diag(sqrt(values), d)
  )
}

shrink_spectrum <- function(values, edge) {
  ifelse(values > edge, sqrt(pmax(values^2 - edge^2, 0)), 0)
}

#' What is wrong with the statistics of a gram release, or `NULL`
#' @noRd
gram_problem <- function(release) {
  s <- release$statistics
  d <- length(s$mean)
  has_size <- function(x, size) is.numeric(x) && identical(dim(x), as.integer(size))
  fits <- d > release$panel$T1 && has_size(s$loadings, c(release$panel$T0 + release$panel$T1, d)) &&
    has_size(s$covariance, c(d, d)) && has_size(s$restore, c(d, d))
  if (!fits) "The statistics do not fit the sizes of the panel."
}
