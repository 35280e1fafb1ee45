# Selection: recall of the true support (s = 5).
#   selection.csv: x_j = clip(N/2, +-1), AR(cor) columns, |theta_j| = 0.4 with signs + - + + -,
#     noise 0.2, y clipped to +-1; delta = 1e-6; 0.8 of the budget for the selection. `best_known`:
#     values of the document.
#   selection-wide.csv: s = 4 among normal variables, correlated variables, or dummies and
#     log-normal variables; an effect of half a standard deviation, noise 1, bounds `wide` times as
#     wide as needed; epsilon 1.
library(dpsc)

cells <- utils::read.csv(header = FALSE, col.names = c(
  "cor", "p", "n", "epsilon", "best_screening", "best_pursuit", "best_frank.wolfe", "best_gram",
  "best_votes"
), text = "
0,20,500,1,.57,.53,.39,.54,.46
0,20,500,4,.99,.99,.80,.99,.91
0,20,2000,1,.99,1.0,.81,1.0,.97
0,100,500,1,.18,.18,.09,.10,.12
0,100,500,4,.89,.88,.50,.25,.51
0,100,2000,1,.97,.95,.69,.26,.53
0,100,2000,4,1.0,1.0,1.0,.89,1.0
0,100,10000,1,1.0,1.0,1.0,1.0,
0,500,500,4,.76,.78,.28,,
0,500,2000,1,.93,.85,.36,,
0,500,2000,4,1.0,1.0,1.0,,
.8,100,2000,1,.49,.42,.24,.12,.38
.8,100,2000,4,.57,.94,.81,.54,.62
.8,100,10000,1,.60,.97,.93,.65,
.8,100,10000,4,.60,1.0,1.0,1.0,")

simulate <- function(n, p, cor) {
  z <- matrix(stats::rnorm(n * p), n)
  if (cor > 0) for (j in 2:p) z[, j] <- cor * z[, j - 1] + sqrt(1 - cor^2) * z[, j]
  x <- pmax(pmin(z / 2, 1), -1)
  where <- if (cor > 0) seq(2, by = 3, length.out = 5) else round(seq(2, p - 1, length.out = 5))
  y <- drop(x[, where] %*% (0.4 * c(1, -1, 1, 1, -1))) + 0.2 * stats::rnorm(n)
  rows <- as.data.frame(x)
  rows$y <- pmax(pmin(y, 1), -1)
  list(rows = rows, truth = paste0("V", where))
}
recall <- function(data, p, epsilon, method, ...) {
  bounds <- c(list(y = c(-1, 1)), stats::setNames(rep(list(c(-1, 1)), p), paste0("V", seq_len(p))))
  found <- dp_select(y ~ 0 + ., data$rows,
    epsilon = epsilon, delta = 1e-6, size = 5, bounds = bounds, method = method,
    refit = !identical(method, "gram"), ...
  )
  mean(data$truth %in% found$selected)
}

rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(i)
  scale <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))
  reps <- max(2, round(scale * if (cell$n * cell$p > 5e5) 12 else 40))
  results <- replicate(reps, {
    data <- simulate(cell$n, cell$p, cell$cor)
    value <- function(method) recall(data, cell$p, cell$epsilon, method)
    c(
      screening = value("screening"), pursuit = value("pursuit"),
        frank.wolfe = value("frank-wolfe"),
      gram = if (cell$p <= 100) value("gram") else NA,
        votes = if (cell$p <= 100) value("votes") else NA,
      stability = value("stability"), default = recall(data, cell$p, cell$epsilon, NULL)
    )
  })
  out <- round(rowMeans(results), 2)
  cat(cell$cor, cell$p, cell$n, cell$epsilon, out, "\n")
  data.frame(cell[1:4], as.list(out), replications = reps, cell[5:9])
})
utils::write.csv(do.call(rbind, rows), "bench/results/selection.csv", row.names = FALSE, na = "")

wide_cells <- utils::read.csv(header = FALSE, col.names = c("n", "p", "wide", "design"), text = "
2000,20,1,normal
2000,20,2.5,normal
4000,60,2.5,normal
2000,20,2.5,correlated
10000,60,1,correlated
10000,20,2.5,mixed
2000,8,1.3,mixed
500,10,1,normal")

simulate_wide <- function(n, p, design) {
  z <- matrix(stats::rnorm(n * p), n)
  if (design == "correlated") for (j in 2:p) z[, j] <- 0.6 * z[, j - 1] + 0.8 * z[, j]
  if (design == "mixed") {
    dummies <- seq(3, p, 4)
    skewed <- seq(4, p, 4)
    z[, dummies] <- as.numeric(z[, dummies] > 0.8)
    z[, skewed] <- exp(0.8 * z[, skewed])
  }
  where <- round(seq(2, p - 1, length.out = 4))
  rows <- stats::setNames(as.data.frame(z), paste0("V", seq_len(p)))
  rows$y <- drop(scale(z[, where]) %*% c(0.5, -0.5, 0.5, -0.5)) + stats::rnorm(n)
  list(rows = rows, truth = paste0("V", where))
}

# Public limits by the kind of the column, not by its values.
wide_bounds <- function(p, design, wide) {
  of <- function(j) {
    if (design == "mixed" && j %% 4 == 3) return(c(0, 1))
    if (design == "mixed" && j %% 4 == 0) return(c(0, 8 * wide))
    c(-3, 3) * wide
  }
  c(list(y = c(-5, 5) * wide), stats::setNames(lapply(seq_len(p), of), paste0("V", seq_len(p))))
}

wide_rows <- lapply(seq_len(nrow(wide_cells)), function(i) {
  cell <- wide_cells[i, ]
  set.seed(100 + i)
  reps <- max(2, round(20 * as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))))
  results <- replicate(reps, {
    data <- simulate_wide(cell$n, cell$p, cell$design)
    value <- function(method) {
      found <- suppressWarnings(dp_select(y ~ ., data$rows,
        epsilon = 1, size = 4, bounds = wide_bounds(cell$p, cell$design, cell$wide),
        method = method, refit = !identical(method, "gram")
      ))
      mean(data$truth %in% found$selected)
    }
    c(default = value(NULL), pursuit = value("pursuit"), gram = value("gram"),
      screening = value("screening"), votes = value("votes"))
  })
  out <- round(rowMeans(results), 2)
  cat(cell$n, cell$p, cell$wide, cell$design, out, "\n")
  data.frame(cell, as.list(out), replications = reps)
})
utils::write.csv(do.call(rbind, wide_rows), "bench/results/selection-wide.csv", row.names = FALSE)
