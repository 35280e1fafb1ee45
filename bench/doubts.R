# Warnings of dp_lm(), dp_glm(), dp_select() and dp_synth() for several shapes of people's numbers:
# the share of correct bounds and the share of wrong bounds that cause a warning. Usage: Rscript
# bench/doubts.R [runs].
library(dpsc)

args <- commandArgs(TRUE)
runs <- if (length(args)) as.integer(args[[1L]]) else 100L
control <- dp_control(rng = "R")

honest <- list(
  normal = function(n) list(rnorm(n, 50, 10), c(0, 100)),
  `normal, bounds ten times too wide` = function(n) list(rnorm(n, 50, 10), c(-500, 600)),
  `0/1` = function(n) list(rbinom(n, 1, 0.4), c(0, 1)),
  `rare events` = function(n) list(rbinom(n, 1, 0.01), c(0, 1)),
  `very rare events` = function(n) list(rbinom(n, 1, 0.001), c(0, 1)),
  `zero-inflated` = function(n) list(rbinom(n, 1, 0.2) * rexp(n, 1 / 500), c(0, 5000)),
  `zero-inflated, bounds ten times too wide` = function(n) {
    list(rbinom(n, 1, 0.1) * rexp(n, 1 / 500), c(0, 50000))
  },
  `heaped` = function(n) list(ifelse(runif(n) < 0.6, 40, runif(n, 0, 80)), c(0, 100)),
  `five points, most at the top` = function(n) {
    list(sample(1:5, n, TRUE, c(0.02, 0.03, 0.05, 0.2, 0.7)), c(1, 5))
  },
  `log-normal, bounds ten times too wide` = function(n) list(rlnorm(n, 5, 1), c(1, 1e5))
)
wrong <- list(
  `above the upper bound` = function(n) list(rlnorm(n, 3, 0.4), log(c(5, 100))),
  `below a lower bound` = function(n) list(rnorm(n, 3, 0.4), c(5, 100)),
  `a thousandth of the width` = function(n) list(rnorm(n, 50, 3), c(-5000, 5000)),
  `misspelt level` = function(n) list(rnorm(n, 50, 10), c(0, 100), "A")
)

warned <- function(code) {
  found <- FALSE
  withCallingHandlers(code, dpsc_warning_bounds = function(w) {
    found <<- TRUE
    invokeRestart("muffleWarning")
  }, warning = function(w) invokeRestart("muffleWarning"))
  found
}

verbs <- list(
  `dp_lm, outcome` = function(z, n, levels) {
    data <- data.frame(y = z[[1L]], x = rnorm(n), g = sample(c("a", "b"), n, TRUE))
    warned(dp_lm(y ~ x + g, data, 1, bounds = list(y = z[[2L]], x = c(-9, 9), g = levels),
      control = control))
  },
  `dp_lm, regressor` = function(z, n, levels) {
    data <- data.frame(y = rnorm(n), x = z[[1L]], g = sample(c("a", "b"), n, TRUE))
    warned(dp_lm(y ~ x + g, data, 1, bounds = list(y = c(-9, 9), x = z[[2L]], g = levels),
      control = control))
  },
  `dp_glm, regressor` = function(z, n, levels) {
    data <- data.frame(y = rbinom(n, 1, 0.5), x = z[[1L]], g = sample(c("a", "b"), n, TRUE))
    warned(dp_glm(y ~ x + g, data, epsilon = 1, control = control,
      bounds = list(y = c(0, 1), x = z[[2L]], g = levels)))
  },
  `dp_select, outcome` = function(z, n, levels) {
    data <- data.frame(y = z[[1L]], x = rnorm(n), g = sample(c("a", "b"), n, TRUE))
    warned(dp_select(y ~ x + g, data, 1, size = 2, control = control,
      bounds = list(y = z[[2L]], x = c(-9, 9), g = levels)))
  },
  `dp_synth, everyone` = function(z, n, levels) {
    # A third of the variance of people's numbers persists over eight months.
    Y <- matrix(z[[1L]], n, 10)
    mixed <- matrix(runif(10 * n) < 0.6, n)
    Y[mixed] <- sample(z[[1L]], sum(mixed), TRUE)
    group <- seq_len(n %/% 10)
    warned(dp_synth(Y[-group, ], Y[group, ], 8, 1, bounds = z[[2L]], protect = "everyone",
      control = control))
  }
)

set.seed(1)
out <- NULL
for (n in c(2000, 20000)) for (shape in c(names(honest), names(wrong))) for (verb in names(verbs)) {
  make <- c(honest, wrong)[[shape]]
  if (verb == "dp_synth, everyone" && shape == "misspelt level") next
  few <- if (verb == "dp_synth, everyone" || n > 2000) ceiling(runs / 4) else runs
  share <- mean(replicate(few, {
    z <- make(n)
    verbs[[verb]](z, n, if (length(z) > 2L) c("A", "B") else c("a", "b"))
  }))
  row <- data.frame(n, shape, honest = shape %in% names(honest), verb, runs = few, share)
  out <- rbind(out, row)
  cat(n, shape, verb, share, "\n")
}
folder <- if (dir.exists("bench/results")) "bench/results" else "."
utils::write.csv(out, file.path(folder, "doubts.csv"), row.names = FALSE)
