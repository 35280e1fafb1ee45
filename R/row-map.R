# The public map from a donor's row to its features, on a grid of integers.
#
# Features are linear in the scaled row: z = L'x - origin. On the grid everything is rounded to
# integers donor by donor, so that neighbours still differ in one row of features.

# A row is rounded to 2^-20 of the bounds' half-width before anything else.
row_bits <- 20

#' A row map for the passes in C++
#' @param bounds (`dpsc_bounds`)\cr the public scale.
#' @param loadings (`matrix`, T x d)\cr features of a scaled row.
#' @param origin (`numeric(d)`)\cr subtracted, scaled units.
#' @param on_grid (`flag`)\cr `FALSE`: no rounding and no clipping, the non-private limit.
#' @return A list: `map` (for `*_cpp()`), `unit` (one grid step of a feature, scaled units), `reach`
#'   (public bound on the norm of a donor's features). PUBLIC.
#' @noRd
row_map <- function(bounds, loadings, origin, on_grid) {
  if (!on_grid) {
    return(list(map = list(
      centre = bounds$centre, scale = 1 / bounds$unit, limit = numeric(nrow(loadings)),
      loadings = loadings, rescale = 1, origin = origin, on_grid = FALSE
    ), unit = 1, reach = Inf))
  }
  limit <- floor(bounds$half * 2^row_bits)
  # Sums q'L stay below 2^49, exact whatever their order.
  loading_bits <- 28 - ceiling(log2(max(crossprod(bounds$half, abs(loadings)))))
  loadings <- round(loadings * 2^loading_bits)
  largest <- drop(crossprod(limit, abs(loadings))) / 2^(row_bits + loading_bits)
  reach <- sqrt(sum((largest + abs(origin))^2))
  # Squared norms of features stay below 2^51.
  feature_bits <- 25 - ceiling(log2(reach))
  list(
    map = list(
      centre = bounds$centre, scale = 2^row_bits / bounds$unit, limit = limit, loadings = loadings,
      rescale = 2^(feature_bits - row_bits - loading_bits), origin = round(origin * 2^feature_bits),
      on_grid = TRUE
    ),
    unit = 2^-feature_bits, reach = reach
  )
}

#' Radii in grid steps: whole numbers, one at least
#'
#' Only a target far outside the bounds, or a budget that hides nothing, gets there.
#' @noRd
radius_steps <- function(radii, rows) {
  pmax(1, floor(radii / rows$unit))
}

#' The smallest radius of a geometric grid that leaves few rows outside, privately
#'
#' Each step of the grid down (a factor 2^(-1/4)) must be worth leaving `price` more rows outside
#' it.
#' @param donors (`matrix` or `dp_chunks`, PRIVATE).
#' @param rows (`list`)\cr from [row_map()].
#' @param step (`list`)\cr from [plan_radius()].
#' @return A radius in scaled units, RELEASED.
#' @noRd
release_radius <- function(donors, rows, step, n, rng) {
  radii <- step$radii
  squared <- radius_steps(radii, rows)^2
  within <- sum_over_donors(donors, function(block) {
    list(counts = radius_counts_cpp(block, rows$map, squared))
  })$counts
  radii[[draw_exponential(within - n - step$price * seq_along(radii), step$exponent, rng)]]
}

#' Radii to choose from, and the price of a step down
#' @param exponent (`number`)\cr of the exponential mechanism.
#' @param low,high (`number`, scaled units)\cr limits of the radius.
#' @noRd
plan_radius <- function(exponent, low, high, n) {
  steps <- max(1, ceiling(4 * log2(high / low)))
  price <- floor(min(gram_constants$price / (4 * exponent), n / steps))
  list(exponent = exponent, radii = high * 2^(-(steps:0) / 4), price = max(1, price))
}

#' Sum and Gram matrix of the features, clipped to a radius, released together with one noise
#'
#' What is released is the Gram matrix of the vectors (v, K), K a public constant: its last column
#' is K times the sum. For two rows with |v| <= R, |u u' - w w'|_F <= sqrt(2) (R^2 + K^2), since
#' |uu' - ww'|^2 = |u|^4 + |w|^4 - 2 (u'w)^2. Noise of variance s^2 on the diagonal and s^2 / 2 off
#' it prices a shift by its Frobenius norm: rho = (R^2 + K^2)^2 / s^2. With Laplace noise of one
#' scale on the entries above and on the diagonal, epsilon = (d + 2) (R^2 + K^2) / scale, since
#' those of uu' add up to (|u|_1^2 + |u|^2) / 2 <= (d + 2) |u|^2 / 2.
#'
#' @param radius (`number`, scaled units, RELEASED)\cr rows are shortened to it.
#' @param step (`list`)\cr from [plan_moments()].
#' @return A list, scaled units: `mean` (d), `moment` (d x d, second moment per donor), `mean_sd`,
#'   `moment_sd` (of the noise; of a diagonal entry, those off it have half the variance). RELEASED.
#' @noRd
release_moments <- function(donors, rows, radius, step, n, rng) {
  d <- ncol(rows$map$loadings)
  radius_on_grid <- radius_steps(radius, rows)
  sums <- sum_over_donors(donors, function(block) {
    clipped_moments_cpp(
      block, rows$map, radius_on_grid, step$radius / radius_on_grid, step$radius
    )
  })
  # Above and on the diagonal of the Gram matrix of (v, K), without the constant corner.
  upper <- upper.tri(sums$gram, diag = TRUE)
  on_diagonal <- (row(sums$gram) == col(sums$gram))[upper]
  exact <- c(sums$gram[upper], step$constant * sums$sum)
  noisy <- if (step$law == "discrete_gaussian") {
    variance <- step$variance / ifelse(c(on_diagonal, logical(d)), 1, 2)
    add_discrete_gaussian(exact, variance, rng)
  } else {
    add_discrete_laplace(exact, step$scale, rng)
  }
  entries <- seq_len(sum(upper))
  moment <- matrix(0, d, d)
  moment[upper] <- noisy[entries]
  moment <- moment + t(moment) - diag(diag(moment), d)
  grid <- radius_on_grid * rows$unit / step$radius
  list(
    mean = noisy[-entries] * grid / (step$constant * n), moment = moment * grid^2 / n,
    mean_sd = step$sigma / sqrt(2) * grid / (step$constant * n), moment_sd = step$sigma * grid^2 / n
  )
}

#' Plan the joint release of sum and Gram matrix
#' @param n (`count`)\cr number of donors: sums over them, of at most `n radius^2`, must be exact.
#' @param d (`count`)\cr number of features.
#' @param rho,epsilon (`number`)\cr the step's budget; `rho` for Gaussian noise, `epsilon` for
#'   Laplace.
#' @param kappa (`number`, in (0, 1])\cr the constant K over the radius.
#' @return A list: `law`, `radius`, `constant` (grid units), `variance` or `scale`, `sigma`. PUBLIC.
#' @noRd
plan_moments <- function(n, d, kappa, rho = NULL, epsilon = NULL) {
  # The radius in grid units: as fine as the exact sampler allows.
  noise <- function(radius) {
    squared <- radius^2 + round(kappa * radius)^2
    if (is.null(epsilon)) squared / sqrt(rho) else (d + 2) * squared / epsilon
  }
  radius <- 2^seq(12, 6)
  radius <- radius[noise(radius) <= largest_sigma & n * radius^2 < 2^53][1L]
  if (is.na(radius)) {
    abort(c(
      "{.arg epsilon} is too small for this panel: the noise would not fit the exact sampler.",
      i = "Nothing was released and nothing was spent."
    ), "argument")
  }
  constant <- round(kappa * radius)
  squared <- radius^2 + constant^2
  if (is.null(epsilon)) {
    variance <- 2 * ceiling(squared^2 / (2 * rho) * (1 + 1e-12))
    list(
      law = "discrete_gaussian", radius = radius, constant = constant, variance = variance,
      sigma = sqrt(variance), sensitivity = sqrt(2) * squared, rho = rho
    )
  } else {
    scale <- ceiling((d + 2) * squared / epsilon * (1 + 1e-12))
    list(
      law = "discrete_laplace", radius = radius, constant = constant, scale = scale,
      sigma = 2 * scale, sensitivity = (d + 2) * squared, epsilon = epsilon
    )
  }
}
