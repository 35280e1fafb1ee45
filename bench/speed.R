# Speed and memory of the default method, as ratios measured in one run.
#   1. 1,000,000 donors x 50 periods: the whole dp_synth() call against one crossprod() of the same
#      matrix with the same BLAS plus one pass over the data (a sum), and peak memory over the
#      input.
#   2. A single fit at n = 100, T = 50.
library(dpsc)

n <- as.integer(Sys.getenv("DPSC_BENCH_DONORS", "1000000"))
T0 <- 45L
T1 <- 5L
set.seed(1)
donors <- matrix(stats::rnorm(n * (T0 + T1), sd = 0.3), n)
target <- stats::rnorm(T0 + T1, sd = 0.3)

fit <- function() {
  dp_synth(donors, target = target, T0 = T0, epsilon = 1, delta = 1e-7, bounds = c(-1, 1))
}

# Peak resident memory of the process while an expression runs (Linux keeps it, and can reset it).
resident <- function(what) {
  status <- readLines("/proc/self/status")
  as.numeric(gsub("[^0-9]", "", grep(what, status, value = TRUE))) / 2^10
}
extra <- NA_real_
if (file.access("/proc/self/clear_refs", 2L) == 0L) {
  invisible(gc(full = TRUE))
  before <- resident("^VmRSS")
  cat("5", file = "/proc/self/clear_refs")
  invisible(fit())
  extra <- resident("^VmHWM") - before
}
input <- as.numeric(utils::object.size(donors)) / 2^20

times <- bench::mark(
  dp_synth = fit(), crossprod = crossprod(donors), pass = sum(donors),
  check = FALSE, memory = FALSE, min_iterations = 3
)
seconds <- as.numeric(times$median)

small <- sim_panel(n = 100, T0 = 45, T1 = 5)
single <- bench::mark(
  dp_synth(small$donors, target = small$target, T0 = 45, epsilon = 1, bounds = c(-1, 1)),
  memory = FALSE, min_iterations = 50
)

results <- data.frame(
  measure = c(
    "dp_synth() over (crossprod() + one pass), 1e6 x 50", "peak memory over input (input = 1)",
    "dp_synth(), seconds", "crossprod(), seconds", "one pass, seconds",
    "single fit at n = 100, T = 50, milliseconds"
  ),
  value = signif(c(
    seconds[[1L]] / (seconds[[2L]] + seconds[[3L]]), (input + extra) / input, seconds,
    1000 * as.numeric(single$median)
  ), 3L),
  limit = c("2", "1.5", "", "", "", "")
)
if (n == 1e6) utils::write.csv(results, "bench/results/speed.csv", row.names = FALSE)
print(results, right = FALSE)
