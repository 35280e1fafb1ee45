# Coefficients of a stream by method "gram", and their errors, from the released moments.
# Post-processing. Proofs: inst/proofs/streams.md, section 6.

# Largest relative variance of the second-order error of coefficients, beyond which the curvature
# counts as hidden by noise (coverage: test-stream-slopes.R).
most_second_order <- 0.2

#' Least squares from released moments, without a penalty
#'
#' With A = G + N and h = G beta + X'e + n, the error of the estimate A^-1 h is A^-1 (X'e + n - N
#' beta), and its second-order term is -A^-1 N times this error. The noise of the symmetric N has
#' E N B N = v (B' + tr(B) I), where v is the variance of an entry off the diagonal.
#' @param released (`list`, RELEASED)\cr `moments` of (x, y), `moment_sd` (the noise of a diagonal
#'   entry), `rows`, and `estimate` (the shrunk coefficients).
#' @param learner (`list`, PUBLIC)\cr settings of the learner.
#' @param intercept (`flag`)\cr is the first regressor constant?
#' @return A list in scaled units: `estimate`, and `total` and `privacy` (covariances); or
#'   `estimate` (shrunk) and `reason`, the reason for missing covariances.
#' @noRd
stream_slopes <- function(released, learner, intercept) {
  shrunk <- function(reason) list(estimate = released$estimate, reason = reason)
  M <- released$moments
  p <- length(released$estimate)
  n <- released$rows
  if (is.null(M)) {
    return(shrunk("the stream was written by an earlier version, whose errors lacked a bias"))
  }
  if (n <= p) {
    return(shrunk("the stream has too few rows"))
  }
  A <- M[seq_len(p), seq_len(p), drop = FALSE]
  h <- M[seq_len(p), p + 1L]
  v <- released$moment_sd^2 / 2
  spectrum <- eigen(A, symmetric = TRUE)
  values <- spectrum$values
  least <- min(values)
  share <- v * (sum(values^-2) + least^-2)
  if (least <= 1e-9 * n * learner$radius^2 || share > most_second_order) {
    return(shrunk(if (v > 0) hidden_curvature else "the regressors are collinear so far"))
  }
  inverse <- spectrum$vectors %*% (t(spectrum$vectors) / values)
  square <- inverse %*% inverse
  theta <- drop(inverse %*% h)
  noise <- v * ((1 + sum(theta^2)) * square + tcrossprod(inverse %*% theta))
  left <- max(0, M[p + 1L, p + 1L] - sum(theta * h)) / (n - p)
  first <- noise + left * inverse
  second <- function(W) v * (sum(diag(W)) * square + inverse %*% W %*% inverse)
  bias <- tcrossprod(v * inverse %*% (inverse %*% theta + sum(1 / values) * theta))
  shorter <- shortened_curvature(A, released, learner, intercept)
  shortened <- tcrossprod(inverse %*% shorter %*% theta)
  # Errors are shown if the least curvature is above a limit, which noise may have caused.
  above <- least * (1 - sqrt(share / most_second_order)) / released$moment_sd
  widened <- if (v > 0) (1 + 0.4 * max(0, 1 - above / 2))^2 else 1
  list(
    estimate = theta, privacy = widened * (noise + second(noise) + bias),
    total = widened * (first + second(first) + bias + shortened)
  )
}

hidden_curvature <- paste(
  "the noise hides the curvature of the regressors so far; the coefficients are shrunk to zero"
)

#' Allowance for rows that were shortened to `radius` while their outcome was not
#'
#' A row x shortened to s x adds s^2 x x' to the moments but s x x' beta to the cross moments, so
#' their difference is D beta, where D is the sum of (1/s - 1) (s x)(s x)'. The released moment of
#' the intercept is the sum of s^2, which implies the sum of 1 - s^2, up to noise and missing rows;
#' the mean square length of rows limits it whatever the number of missing rows.
#' @return D, with directions distributed as in all rows. RELEASED.
#' @noRd
shortened_curvature <- function(A, released, learner, intercept) {
  p <- nrow(A)
  r2 <- learner$radius^2
  if (r2 >= p * (1 - 1e-12)) {
    return(diag(0, p))
  }
  n <- released$rows
  fixed <- if (intercept) 1 else 0
  weight <- if (intercept) max(min(A[1L, 1L], n), n / 100) else n
  slopes <- if (intercept) seq_len(p)[-1L] else seq_len(p)
  curvature <- A[slopes, slopes, drop = FALSE]
  free <- sum(diag(curvature))
  # The largest share for this mean square length: some rows have one length, the others none.
  lengths <- seq(r2, p, length.out = 50L)
  most <- n * max(pmin(1, free / weight / (lengths - fixed)) * (1 - r2 / lengths))
  lost <- if (intercept) min(most, max(0, n - A[1L, 1L]) + 0.4 * released$moment_sd) else most
  s <- sqrt(max(1 - lost / n, r2 / p))
  D <- diag(0, p)
  D[slopes, slopes] <- curvature * (r2 - fixed) / free
  if (intercept) D[1L, 1L] <- 1
  D * lost / (s * (1 + s))
}
