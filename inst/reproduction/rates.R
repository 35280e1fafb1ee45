# Rho, Cummings and Misra (2023): the rate of Corollary 5.5 beside measured errors, the pair of
# Lemma 4.7 beside the exact sensitivity, and rejection sampling as section 8.3 proposes it. Writes
# results/rates.csv, results/lower.csv and results/rejection.csv. Noise is seeded, for these alone.
library(dpsc)
home <- Sys.getenv("DPSC_REPRODUCTION", file.path("inst", "reproduction"))
source(file.path(home, "functions.R"))
compile_loops(home)
runs <- as.integer(Sys.getenv("DPSC_RATES_RUNS", "200"))
write <- function(table, name) {
  print(table, row.names = FALSE)
  utils::write.csv(table, file.path(home, "results", name), row.names = FALSE)
}

# Corollary 5.5 with lambda = T0 and epsilon = 50 for each of the two steps. `ridge`: without noise.
rates <- do.call(rbind, Map(function(n, T0) {
  set.seed(n + T0)
  data <- make_panel(n, T0)
  ridge <- drop(crossprod(data$rotated_post, data$rotated_Xy / (data$values + T0 / 2)))
  bound <- function(form) {
    paper_rmse_bound("output",
      n = n, T0 = T0, T1 = T1, lambda = T0, epsilon1 = 50, epsilon2 = 50, form = form,
      noise_sd = stats::sd(data$panel$donors - data$panel$signal),
      signal_norm = norm(data$panel$signal[, -seq_len(T0), drop = FALSE], "2"),
      largest_weight = max(abs(data$rotated_Xy / (data$values + T0 / 2))), weights_error = 0
    )
  }
  error <- function(version) mean(run_setting(data, version, "out", T0, 100, runs = runs))
  data.frame(
    n, T0, runs, ridge = sqrt(mean((ridge - data$truth)^2)), correct = error("correct"),
    tight = error("tight"), gram = error("gram"), bound_published = bound("published"),
    bound_corrected = bound("corrected")
  )
}, c(10, 30, 100, 300, 100, 100), c(10, 10, 10, 10, 30, 100)))
rates[-(1:3)] <- signif(rates[-(1:3)], 3)
write(rates, "rates.csv")

# Lemma 4.7: T0 = n, lambda = 2 T0; its "regularization coefficient" is lambda / 2, not 1.
pair <- function(n, coefficient) {
  weights <- function(first) {
    X <- rbind(rep(first, n), matrix(1 / n, n - 1, n))
    drop(X %*% solve(crossprod(X) + diag(coefficient, n), rep(1, n)))
  }
  sqrt(sum((weights(1) - weights(0))^2))
}
n <- c(10, 30, 100, 300)
lower <- data.frame(
  n, pair_at_1 = vapply(n, pair, 0, coefficient = 1), pair_as_defined = mapply(pair, n, n),
  exact_at_1 = mapply(function(n) ridge_sensitivity(sqrt(n), n, 2), n),
  exact_as_defined =
    mapply(function(n) ridge_sensitivity(sqrt(n), n, 2 * n), n),
  published = 4 * n * sqrt(8 + n) / (2 * n)
)
lower[-1] <- signif(lower[-1], 4)
write(lower, "lower.csv")

# Section 8.3: draw weights again until they are close to the weights without noise. Lengths are in
# units of the sensitivity over epsilon, for noise with density exp(-length). `plain`: the shortest
# share `kept` of the draws is kept. A share `outside` of the kept draws lies where no draw is kept
# for a neighbour: a delta that no epsilon can remove. At epsilon = 1 the minimisers of neighbours
# are one unit apart.
plain <- do.call(rbind, Map(function(d, kept) {
  set.seed(d)
  longest <- stats::qgamma(kept, d)
  z <- matrix(stats::rnorm(d * 20000), ncol = d)
  z <- z / sqrt(rowSums(z^2)) * stats::qgamma(stats::runif(20000, 0, kept), d)
  z[, 1] <- z[, 1] + 1
  data.frame(how = "plain", d, kept, outside = mean(rowSums(z^2) > longest^2))
}, c(10, 10, 100, 100), c(0.5, 0.05, 0.5, 0.05)))
# `selected`: Liu and Talwar (2019): of about K draws the draw with the smallest noisy distance,
# where a draw and its distance cost epsilon / 3 together. Its length is relative to the length of
# one draw at epsilon; `free`: as if the distance cost nothing. The draw's share is varied from .5
# to .9; the best result is shown.
selected <- do.call(rbind, Map(function(d, K) {
  set.seed(d + K)
  one <- function(share) {
    mean(replicate(60, {
      k <- 1 + stats::rgeom(1, 1 / K)
      length <- stats::rgamma(k, d) * 3 / share
      if (share == 1) {
        return(min(length))
      }
      told <- length + (stats::rexp(k) - stats::rexp(k)) * 3 / (1 - share)
      length[[which.min(told)]]
    })) / d
  }
  shares <- vapply(c(0.5, 0.7, 0.8, 0.9), one, 0)
  data.frame(how = "selected", d, K, length = min(shares), free = one(1))
}, rep(c(10, 100), each = 3), rep(c(100, 1e4, 1e5), 2)))
both <- merge(plain, selected, by = c("how", "d"), all = TRUE)
numbers <- vapply(both, is.numeric, NA)
both[numbers] <- signif(both[numbers], 3)
write(both, "rejection.csv")
