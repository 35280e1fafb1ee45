# Simulated people for the benches of private linear regression.

make_people <- function(p, cond, n, r2, tails) {
  values <- exp(seq(0, -log(cond), length.out = p))
  rotate <- qr.Q(qr(matrix(rnorm(p^2), p)))
  sigma <- stats::cov2cor(rotate %*% (values * t(rotate)))
  spectrum <- eigen(sigma, symmetric = TRUE)
  x <- matrix(rnorm(n * p), n) %*% (sqrt(spectrum$values) * t(spectrum$vectors))
  # The slopes are equal in every principal direction.
  slopes <- rowSums(spectrum$vectors)
  slopes <- slopes * sqrt(r2 / sum(slopes * (sigma %*% slopes)))
  noise <- if (tails == "t3") rt(n, 3) / sqrt(3) else rnorm(n)
  y <- drop(x %*% slopes) + sqrt(1 - r2) * noise
  list(
    data = data.frame(y = y, x), slopes = slopes, sigma = sigma,
    se = sqrt((1 - r2) * diag(solve(sigma)) / n)
  )
}

# For 10x the half-width is 30 standard deviations, and the middle is wrong by 10 standard
# deviations.
limits <- list(`10x` = c(-40, 20), `3x` = c(-9, 9), tight = c(-3.5, 3.5))

scaled_rows <- function(people, range) {
  z <- as.matrix(people$data)
  z <- (pmax(pmin(z, range[[2]]), range[[1]]) - mean(range)) / (diff(range) / 2)
  list(x = cbind(1, z[, -1]), y = z[, 1])
}
