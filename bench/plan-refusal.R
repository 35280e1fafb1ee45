# Designs in which donors are uninformative: the basis of plan_refusal() (R/mech-refusal.R). Prints
# its results and writes bench/results/plan-refusal.csv.
#
# In the best case for the donors, people are nearly equal and share a change after the treatment of
# a third to four fifths of the bounds' half-width. `left` is the error of the release over the
# error of extrapolating the target's level (the change), the smallest of four panels. `noise` is
# the noise of the second moments over their largest value. `refused` is the answer of
# plan_refusal().
library(dpsc)

error_left <- function(n, T0, T1, epsilon, delta, releases) {
  best <- vapply(list(c(0.3, 0.02), c(0.3, 0.3), c(0.8, 0.02), c(0.8, 0.3)), function(x) {
    people <- list(
      kind = "common", level = x[[2L]], loading = 0, time = 0, drift = 0, noise = 0.02,
      shift = x[[1L]]
    )
    facts <- list(
      n = n, T0 = T0, T1 = T1, epsilon = epsilon, delta = delta, group = FALSE
    )
    error <- dpsc:::simulate_gram_cpp(people, facts, 1L, 1L, releases, 0L, 1)$error
    sqrt(mean(error^2)) / x[[1L]]
  }, 0)
  min(best)
}

cells <- expand.grid(
  epsilon = c(0.05, 0.1, 0.25, 0.5, 1, 2, 4), n = c(5, 10, 20, 30, 50, 100, 300), T0 = 10,
  T1 = c(1, 6), delta = c(0, 1e-6), releases = as.integer(Sys.getenv("DPSC_BENCH_RELEASES", "80"))
)
cells$left <- cells$noise <- NA_real_
for (i in seq_len(nrow(cells))) {
  cell <- cells[i, ]
  plan <- dpsc:::gram_plan_of(cell$n, cell$epsilon, c(cell, size = 1))
  cells$noise[[i]] <- plan$moment_noise
  cells$left[[i]] <- do.call(error_left, cell[c("n", "T0", "T1", "epsilon", "delta", "releases")])
}
cells$refused <- cells$noise > dpsc:::hopeless_noise
cells[c("left", "noise")] <- lapply(cells[c("left", "noise")], signif, 3)
print(cells, row.names = FALSE)
cat("refused:", sum(cells$refused), "cells; the least error left there:",
  min(cells$left[cells$refused]), "\n")
utils::write.csv(cells, "bench/results/plan-refusal.csv", row.names = FALSE)
