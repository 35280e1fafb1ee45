# Selection: recall of the true support (s = 5).
#   selection.csv: x_j = clip(N/2, +-1), AR(cor) columns, |theta_j| = .4 with signs + - + + -,
#   noise .2, y clipped
#     to +-1; delta = 1e-6; .8 of the budget to the selection. `best_known`: document values. Rows
#     of
#     moments have length sqrt(.3 p), known from the design.
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
      refit = method != "gram",
    radius = if (method == "gram") sqrt(0.3 * p), ...
  )
  mean(data$truth %in% found$selected)
}

rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(i)
  scale <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))
  reps <- max(2, round(scale * if (cell$n * cell$p > 5e5) 6 else 20))
  results <- replicate(reps, {
    data <- simulate(cell$n, cell$p, cell$cor)
    value <- function(method) recall(data, cell$p, cell$epsilon, method)
    c(
      screening = value("screening"), pursuit = value("pursuit"),
        frank.wolfe = value("frank-wolfe"),
      gram = if (cell$p <= 100) value("gram") else NA,
        votes = if (cell$p <= 100) value("votes") else NA,
      stability = value("stability")
    )
  })
  out <- round(rowMeans(results), 2)
  cat(cell$cor, cell$p, cell$n, cell$epsilon, out, "\n")
  data.frame(cell[1:4], as.list(out), replications = reps, cell[5:9])
})
utils::write.csv(do.call(rbind, rows), "bench/results/selection.csv", row.names = FALSE, na = "")
