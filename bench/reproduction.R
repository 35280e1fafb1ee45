# Speed of the simulation loop behind inst/reproduction: seconds for 1,000 fits. The comparisons are
# a plain R loop of the same algorithm (ridge system solved and noise drawn in R in every run), the
# same loop without the constant work, and dp_synth() for the default method. DPSC_BENCH=gram
# measures the default method alone and keeps the other rows.
library(dpsc)
source("inst/reproduction/functions.R")
compile_loops("inst/reproduction")

radial <- function(d, scale) {
  z <- stats::rnorm(d)
  z / sqrt(sum(z^2)) * stats::rgamma(1, d, scale = scale)
}

project <- function(data, f, scale) {
  noisy <- data$post + matrix(radial(length(data$post), scale), data$n)
  sqrt(mean((drop(crossprod(noisy, f)) - data$truth)^2))
}

plain_output <- function(data, lambda, epsilon, runs) {
  scale <- output_constants(data$n, data$T0, lambda, epsilon / 2)$scale
  vapply(seq_len(runs), function(i) {
    f <- solve(tcrossprod(data$pre) + diag(lambda / 2, data$n), data$pre %*% data$y)
    project(data, drop(f) + radial(data$n, scale), 2 * sqrt(T1) / (epsilon / 2))
  }, 0)
}

plain_objective <- function(data, lambda, epsilon, runs) {
  constants <- objective_constants(data$n, data$T0, lambda, epsilon / 2, 0)
  vapply(seq_len(runs), function(i) {
    hessian <- 2 * tcrossprod(data$pre) + diag(lambda + constants$extra, data$n)
    f <- solve(hessian, 2 * data$pre %*% data$y - radial(data$n, constants$beta))
    project(data, drop(f), 2 * sqrt(T1) / (epsilon / 2))
  }, 0)
}

hoisted_output <- function(data, lambda, epsilon, runs) {
  scale <- output_constants(data$n, data$T0, lambda, epsilon / 2)$scale
  f <- drop(solve(tcrossprod(data$pre) + diag(lambda / 2, data$n), data$pre %*% data$y))
  vapply(seq_len(runs), function(i) {
    project(data, f + radial(data$n, scale), 2 * sqrt(T1) / (epsilon / 2))
  }, 0)
}

hoisted_objective <- function(data, lambda, epsilon, runs) {
  constants <- objective_constants(data$n, data$T0, lambda, epsilon / 2, 0)
  inverse <- solve(2 * tcrossprod(data$pre) + diag(lambda + constants$extra, data$n))
  linear <- 2 * drop(data$pre %*% data$y)
  vapply(seq_len(runs), function(i) {
    f <- drop(inverse %*% (linear - radial(data$n, constants$beta)))
    project(data, f, 2 * sqrt(T1) / (epsilon / 2))
  }, 0)
}

package_loop <- function(method) {
  function(data, lambda, epsilon, runs) {
    control <- dp_control(rng = "R", lambda = if (method != "gram") lambda)
    for (i in seq_len(runs)) {
      dp_synth(data$panel$donors,
        target = data$panel$target, T0 = data$T0, epsilon = epsilon, delta = 0,
        bounds = c(-1, 1), method = method, control = control
      )
    }
  }
}

# The median of three runs, per 1,000 fits.
per_thousand <- function(run, runs) {
  times <- replicate(3, system.time(run(runs))[["elapsed"]])
  stats::median(times) / runs * 1000
}

loops <- list(
  list("correct", "out", "plain R loop", plain_output),
  list("correct", "obj", "plain R loop", plain_objective),
  list("correct", "out", "R loop, invariants hoisted", hoisted_output),
  list("correct", "obj", "R loop, invariants hoisted", hoisted_objective),
  list("tight", "out", "dp_synth() in a loop", package_loop("output")),
  list("tight", "obj", "dp_synth() in a loop", package_loop("objective")),
  list("gram", "gram", "dp_synth() in a loop", package_loop("gram"))
)

file <- "bench/results/reproduction-speed.csv"
only <- Sys.getenv("DPSC_BENCH")
if (nzchar(only)) loops <- Filter(function(loop) loop[[1L]] == only, loops)

rows <- list()
for (i in seq_len(nrow(sizes))) {
  set.seed(i)
  data <- make_panel(sizes$n[[i]], sizes$T0[[i]])
  for (loop in loops) {
    fast <- per_thousand(function(runs) {
      run_setting(data, loop[[1L]], loop[[2L]], data$T0, 10, 0, runs)
    }, if (loop[[1L]] == "correct") 20000 else 2000)
    slow <- per_thousand(function(runs) {
      loop[[4L]](data, data$T0, 10, runs)
    }, if (loop[[1L]] == "correct") 500 else 100)
    rows[[length(rows) + 1L]] <- data.frame(
      n = data$n, T0 = data$T0, version = loop[[1L]], method = loop[[2L]],
      seconds_per_1000 = signif(fast, 3), compared_with = loop[[3L]],
      seconds_per_1000_compared = signif(slow, 3), ratio = signif(slow / fast, 3)
    )
  }
}
results <- do.call(rbind, rows)
if (nzchar(only)) {
  others <- utils::read.csv(file)
  results <- rbind(others[others$version != only, ], results)
  results <- results[order(match(results$T0, sizes$T0), results$n), ]
}
utils::write.csv(results, file, row.names = FALSE)
print(results)
