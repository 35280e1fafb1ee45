# Speed and memory of the default method, as ratios of processor time measured in one run, which
# other work on the machine hardly changes.
#   1. 1,000,000 donors x 50 periods: the whole dp_synth() call, compared with one crossprod() of
#      the same matrix with the same BLAS (named in the table) plus one pass over the data (a sum);
#      and peak memory over the input.
#   2. The same for 10,000 donors x (20 before + 100 after). Half of the time is for the donors'
#      errors.
#   3. A single fit at n = 100, T = 50: dp_synth(), its part in the core (plan, release, estimate),
#      and MASS::lm.ridge() of the target's past on the past of the donors, which is not private.
# DPSC_BENCH=single measures only the third, in a few seconds, and keeps the other rows.
library(dpsc)

large <- !identical(Sys.getenv("DPSC_BENCH"), "single")
n <- as.integer(Sys.getenv("DPSC_BENCH_DONORS", "1000000"))
T0 <- 45L
T1 <- 5L
set.seed(1)

# Seconds per call: the minimum over some runs of several calls each.
processor_time <- function(f, calls = 1L, runs = 3L) {
  f()
  min(replicate(runs, {
    before <- proc.time()
    for (i in seq_len(calls)) f()
    sum((proc.time() - before)[c("user.self", "sys.self")]) / calls
  }))
}

measure_large <- function() {
  donors <- matrix(stats::rnorm(n * (T0 + T1), sd = 0.3), n)
  target <- stats::rnorm(T0 + T1, sd = 0.3)

  fit <- function() {
    dp_synth(donors, target = target, T0 = T0, epsilon = 1, delta = 1e-7, bounds = c(-1, 1))
  }

  # Peak resident memory of the process while an expression runs. Linux records this peak and can
  # reset it.
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

  seconds <- c(
    processor_time(fit), processor_time(function() crossprod(donors)),
    processor_time(function() sum(donors))
  )
  data.frame(
    measure = c(
      paste("dp_synth() over (crossprod() + one pass), 1e6 x 50, BLAS",
        basename(extSoftVersion()["BLAS"])),
      "peak memory over input (input = 1)",
      "dp_synth(), seconds", "crossprod(), seconds", "one pass, seconds"
    ),
    value = c(seconds[[1L]] / (seconds[[2L]] + seconds[[3L]]), (input + extra) / input, seconds),
    limit = c("2", "1.5", "", "", "")
  )
}

# The panel has many periods after the treatment.
measure_late <- function() {
  donors <- matrix(stats::rnorm(1e4 * 120, sd = 0.3), 1e4)
  target <- stats::rnorm(120, sd = 0.3)
  seconds <- c(
    processor_time(function() {
      dp_synth(donors, target = target, T0 = 20, epsilon = 1, delta = 1e-6, bounds = c(-1, 1))
    }),
    processor_time(function() crossprod(donors), 10L), processor_time(function() sum(donors), 10L)
  )
  data.frame(
    measure = "dp_synth() over (crossprod() + one pass), 1e4 x (20 + 100)",
    value = seconds[[1L]] / (seconds[[2L]] + seconds[[3L]]), limit = "6"
  )
}

# Milliseconds, all measured in one run.
measure_single <- function() {
  small <- sim_panel(n = 100, T0 = 45, T1 = 5)
  panel <- dpsc:::panel_from_donors(small$donors, small$target, 45)
  panel$bounds <- c(-1, 1)
  public <- dpsc:::public_facts(panel, list(
    epsilon = 1, delta = 1e-6, method = "gram", calibration = "tight", control = dp_control()
  ))
  facts <- dpsc:::gram_facts(public)
  scale <- public$bounds
  options <- dpsc:::gram_options(TRUE, 100, public$bounds)
  y <- as.numeric(small$target)
  past <- as.data.frame(t(small$donors[, 1:45]))
  milliseconds <- 1000 * c(
    processor_time(function() {
      dp_synth(small$donors,
        target = small$target, T0 = 45, epsilon = 1, bounds = c(-1, 1)
      )
    }, 100L),
    processor_time(function() {
      statistics <- dpsc:::gram_release_cpp(small$donors, facts, scale, options, "secure")
      dpsc:::gram_estimate_cpp(statistics, options, matrix(y, 1L), 1)
    }, 100L),
    processor_time(function() MASS::lm.ridge(y[1:45] ~ ., past, lambda = 1), 100L)
  )
  data.frame(
    measure = c(
      "single fit at n = 100, T = 50, milliseconds", "its part in the core, milliseconds",
      "MASS::lm.ridge() of the same, not private, milliseconds", "single fit over MASS::lm.ridge()"
    ),
    value = c(milliseconds, milliseconds[[1L]] / milliseconds[[3L]]),
    limit = c("2", "0.5", "", "")
  )
}

file <- "bench/results/speed.csv"
single <- measure_single()
others <- if (large) {
  rbind(measure_large(), measure_late())
} else {
  utils::read.csv(file, colClasses = c(limit = "character"))
}
others <- others[!others$measure %in% single$measure, ]
results <- rbind(others, single)
results$value <- signif(results$value, 3L)
if (!large || n == 1e6) utils::write.csv(results, file, row.names = FALSE)
print(results, right = FALSE)
