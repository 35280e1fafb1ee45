# Accuracy: root mean squared error of the counterfactual, compared with the target's noise-free
# path after the treatment, on the [-1, 1] scale. Medians over replications.
#   accuracy.csv: the default method in the paper's design and a factor design, compared with
#     private difference-in-differences with the same budget, the ridge without privacy, and the
#     smallest error of the prototypes (`best_known` below).
#   accuracy-published.csv: the default method in the paper's design, compared with the published
#     algorithms with correct noise and with their tight versions.
library(dpsc)

replications <- function(n) {
  scale <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))
  max(10, round(scale * if (n >= 1e4) 100 else if (n >= 1000) 200 else 300))
}
delta <- 1e-6

simulate <- function(design, n, T0) {
  if (design == "paper") {
    sim_panel(n, T0, 3, design = "linear")
  } else {
    sim_panel(n, T0, 3, time_sd = 0)
  }
}
post <- function(panel, path) {
  T0 <- panel$T0
  sqrt(mean((path[-seq_len(T0)] - panel$counterfactual[-seq_len(T0)])^2))
}
fit <- function(panel, epsilon, ...) {
  dp_synth(panel$donors,
    target = panel$target, T0 = panel$T0, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
    control = dp_control(rng = "R"), ...
  )
}
# The donors' mean path with Gaussian noise that covers the sensitivity implied by the bounds,
# shifted to the target's level.
private_did <- function(panel, epsilon) {
  periods <- ncol(panel$donors)
  noise <- 2 * sqrt(periods) / sqrt(2 * cdp_rho(epsilon, delta)) / nrow(panel$donors)
  mean <- colMeans(panel$donors) + stats::rnorm(periods, sd = noise)
  pre <- seq_len(panel$T0)
  pmax(pmin(mean - mean(mean[pre]) + mean(panel$target[pre]), 1), -1)
}

best_known <- utils::read.csv(text = "design,n,T0,epsilon,best
paper,100,10,1,.18
paper,100,10,4,.17
paper,1000,10,1,.014
paper,1000,10,4,.0035
paper,1000,40,1,.016
paper,1000,40,4,.0049
paper,10000,10,1,.0028
paper,10000,10,4,.0027
paper,10000,40,1,.0007
paper,10000,40,4,.0006
factor,100,10,1,.25
factor,300,40,4,.050
factor,1000,10,1,.063
factor,1000,10,4,.054
factor,1000,40,1,.050
factor,1000,40,4,.025
factor,10000,10,1,.046
factor,10000,10,4,.030
factor,10000,40,1,.013
factor,10000,40,4,.017")
cells <- merge(
  expand.grid(
    epsilon = c(1, 4), T0 = c(10, 40), n = c(100, 300, 1000, 10000), design = c("paper", "factor"),
    stringsAsFactors = FALSE
  ), best_known,
  all.x = TRUE, sort = FALSE
)
cells <- cells[order(cells$design, cells$n, cells$T0, cells$epsilon), ]

rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(1000 + cell$n + cell$T0 + nchar(cell$design))
  errors <- replicate(replications(cell$n), {
    panel <- simulate(cell$design, cell$n, cell$T0)
    c(
      dpsc = post(panel, fit(panel, cell$epsilon)$counterfactual),
      did = post(panel, private_did(panel, cell$epsilon)),
      non_private = post(panel, fit(panel, Inf)$counterfactual)
    )
  })
  cat(cell$design, cell$n, cell$T0, cell$epsilon, signif(apply(errors, 1L, stats::median), 3), "\n")
  data.frame(cell[c("design", "n", "T0", "epsilon")],
    as.list(signif(apply(errors, 1L, stats::median), 3)),
    best_known = cell$best, replications = ncol(errors))
})
utils::write.csv(do.call(rbind, rows), "bench/results/accuracy.csv", row.names = FALSE, na = "")

published <- expand.grid(
  epsilon = c(1, 2, 4, 10, 20, 40, 100, 200), T0 = c(10, 100), n = c(10, 100, 1000)
)
rows <- lapply(seq_len(nrow(published)), function(i) {
  cell <- published[i, ]
  set.seed(2000 + i)
  errors <- replicate(max(10, replications(cell$n) %/% 10), {
    panel <- simulate("paper", cell$n, cell$T0)
    error <- function(method, calibration) {
      fitted <- fit(panel, cell$epsilon, method = method, calibration = calibration)
      post(panel, fitted$counterfactual)
    }
    c(
      dpsc = error("gram", "tight"), output_published = error("output", "published"),
      output_tight = error("output", "tight"),
      objective_published = error("objective", "published"),
      objective_tight = error("objective", "tight"),
      zero = sqrt(mean(panel$counterfactual[-seq_len(panel$T0)]^2))
    )
  })
  data.frame(cell[c("n", "T0", "epsilon")], as.list(signif(apply(errors, 1L, stats::median), 3)),
    replications = ncol(errors))
})
utils::write.csv(do.call(rbind, rows), "bench/results/accuracy-published.csv", row.names = FALSE)
