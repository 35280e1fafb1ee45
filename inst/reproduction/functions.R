# The experiments of Rho, Cummings and Misra (2023), section 8: data, constants of each version of
# each method, and one function that runs a setting. Sourced by reproduce.R and by the vignettes.
#
# Versions:
#   correct   the published algorithms with the noise that they require
#   code      the noise of the authors' public code (srho1/dpsc): |Laplace| times a direction, Delta
#             left out of the objective, Gaussian variance beta where beta^2 is meant. NOT PRIVATE
#   tight     this package's calibrations of the same two methods
#   gram      this package's default method
# "tight" and "gram" keep the epsilon on the axis; "correct" does for output perturbation only.

# Compiles the loops over runs, repeat_linear(), repeat_bounded() and repeat_gram(): once per
# session. `home` is inst/reproduction of the sources: an installation has no C++.
compile_loops <- function(home, env = globalenv()) {
  flags <- Sys.getenv("PKG_CXXFLAGS")
  on.exit(Sys.setenv(PKG_CXXFLAGS = flags))
  # Warnings about Eigen's templates would fill the screen.
  core <- shQuote(normalizePath(file.path(home, "..", "include")))
  Sys.setenv(PKG_CXXFLAGS = paste0(flags, " -I", core, " -g0 -w"))
  Rcpp::sourceCpp(file.path(home, "repeat.cpp"), env = env)
}

sizes <- data.frame(n = c(10, 100, 10, 100), T0 = c(10, 10, 100, 100))
lambdas <- c(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
epsilons <- c(2, 4, 10, 20, 40, 100, 200)
T1 <- 3

# One panel. "paper": the design of the text, divided by 5 T + 1 (its scaling is not stated).
make_panel <- function(n, T0, design = "paper") {
  if (design == "paper") {
    drawn <- dpsc:::simulate_linear(n + 1, T0 + T1)
    signal <- drawn$signal
    outcome <- drawn$outcome
  } else {
    periods <- T0 + T1
    between <- function(k, low, high) qnorm(runif(k, pnorm(low), pnorm(high)))
    signal <- outer(4 + between(n + 1, 3, 5), seq_len(periods)) + runif(n + 1, -1, 1)
    signal <- signal - mean(range(signal))
    signal <- signal / max(signal)
    outcome <- signal + 0.1 * between((n + 1) * periods, -1, 1)
  }
  prepare_panel(list(
    donors = outcome[-1, ], target = outcome[1, ], counterfactual = signal[1, ],
    signal = signal[-1, ], T0 = T0
  ), n, T0)
}

# The four panels of a design, the same in every session.
paper_panels <- function(design) {
  panels <- lapply(seq_len(nrow(sizes)), function(k) {
    set.seed(2023 + k)
    make_panel(sizes$n[[k]], sizes$T0[[k]], design)
  })
  stats::setNames(panels, paste(design, sizes$n, sizes$T0))
}

# The tables that reproduce.R writes, as one.
read_results <- function(folder) {
  parts <- expand.grid(
    experiment = c("lambda", "epsilon"), design = c("paper", "code"), stringsAsFactors = FALSE
  )
  do.call(rbind, Map(function(experiment, design) {
    file <- paste0(experiment, if (design == "code") "-code-data", ".csv")
    cbind(
      experiment = experiment, design = design, utils::read.csv(file.path(folder, file))
    )
  }, parts$experiment, parts$design))
}

# The part common to all settings on a panel: the eigenbasis of X X'.
prepare_panel <- function(panel, n, T0) {
  pre <- panel$donors[, seq_len(T0), drop = FALSE]
  post <- panel$donors[, -seq_len(T0), drop = FALSE]
  y <- panel$target[seq_len(T0)]
  basis <- eigen(tcrossprod(pre), symmetric = TRUE)
  list(
    panel = panel, n = n, T0 = T0, pre = pre, post = post, y = y,
    truth = panel$counterfactual[-seq_len(T0)],
    values = pmax(basis$values, 0), rotated_post = crossprod(basis$vectors, post),
    rotated_Xy = drop(crossprod(basis$vectors, pre %*% y))
  )
}

# Constants of Algorithm 2, step 1 (output perturbation).
output_constants <- function(n, T0, lambda, epsilon) {
  list(lambda = lambda, scale = 4 * T0 * sqrt(8 + n) / (lambda * epsilon))
}

# Constants of Algorithm 3, steps 1 to 5 (objective perturbation).
objective_constants <- function(n, T0, lambda, epsilon, delta) {
  curvature <- (1 + sqrt(16 * n - 15)) * T0
  left <- epsilon - 2 * log1p(curvature / lambda)
  epsilon0 <- if (left > 0) left else epsilon / 2
  extra <- if (left > 0) 0 else curvature / expm1(epsilon / 4) - lambda
  beta <- if (delta > 0) {
    4 * T0 * sqrt(8 + n) * sqrt(2 * log(2 / delta) + epsilon0) / epsilon0
  } else {
    min(4 * T0 * sqrt(8 + n), curvature * sqrt(n) + 4 * T0) / epsilon0
  }
  list(lambda = lambda, epsilon0 = epsilon0, extra = extra, beta = beta)
}

# Errors of `runs` runs at one setting.
run_setting <- function(data, version, method, lambda, epsilon, delta = 0, runs = 500) {
  if (version == "gram") {
    return(run_gram_setting(data, epsilon, delta, runs))
  }
  if (version == "tight") {
    return(run_tight_setting(data, method, lambda, epsilon, delta, runs))
  }
  law <- if (version == "code") "radial_laplace" else "gamma_norm"
  post_scale <- 2 * sqrt(T1) / (epsilon / 2)
  if (method == "out") {
    constants <- output_constants(data$n, data$T0, lambda, epsilon / 2)
    curvature <- lambda
    spread <- rep(1, data$n)
    scale <- constants$scale
  } else {
    constants <- objective_constants(data$n, data$T0, lambda, epsilon / 2, delta)
    curvature <- lambda + if (version == "code") delta else constants$extra
    spread <- 1 / (2 * data$values + curvature)
    scale <- constants$beta
    if (delta > 0 && version == "code") scale <- sqrt(scale)
  }
  repeat_linear(
    data$rotated_Xy / (data$values + curvature / 2), spread,
    if (method == "obj" && delta > 0) "gaussian" else law, scale,
    data$rotated_post, data$truth, law, post_scale, runs
  )
}

public_facts <- function(data, method, lambda, epsilon, delta) {
  panel <- dpsc:::panel_from_donors(data$panel$donors, data$panel$target, data$T0, NULL)
  panel$bounds <- c(-1, 1)
  dpsc:::public_facts(panel, list(
    epsilon = epsilon, delta = delta, method = method, calibration = "tight",
    control = dp_control(rng = "R", lambda = lambda)
  ))
}

# The tight versions take the total budget and split it by the package's public rule.
run_tight_setting <- function(data, method, lambda, epsilon, delta, runs) {
  law <- function(step) if (step$law == "discrete_gaussian") "gaussian" else step$law
  if (method == "out") {
    plan <- dpsc:::plan_output(public_facts(data, "output", lambda, epsilon, delta))
    return(repeat_linear(
      data$rotated_Xy / (data$values + lambda / 2), rep(1, data$n), law(plan$weights),
      plan$weights$scale, data$rotated_post, data$truth, law(plan$post), plan$post$scale, runs
    ))
  }
  plan <- dpsc:::plan_objective(public_facts(data, "objective", lambda, epsilon, delta))
  # An error of 1e-6 in the weights is far below the noise.
  repeat_bounded(
    data$pre, 2 * drop(data$pre %*% data$y), plan$weights$mu, plan$weights$cap, 1e-6,
    law(plan$weights), plan$weights$scale, data$post, data$truth, law(plan$post), plan$post$scale,
    runs
  )
}

# The core's releases by method "gram" and their estimates, computed in C++ without returning to R.
run_gram_setting <- function(data, epsilon, delta, runs) {
  repeat_gram(data$panel$donors, data$y, data$truth, epsilon, delta, runs)
}

# The ridge without privacy.
ridge_error <- function(data, lambda) {
  path <- crossprod(data$rotated_post, data$rotated_Xy / (data$values + lambda / 2))
  sqrt(mean((path - data$truth)^2))
}

# Mean error and its 95 % interval.
summarise_errors <- function(errors) {
  half <- 1.96 * sd(errors) / sqrt(length(errors))
  data.frame(
    runs = length(errors), rmse = mean(errors), low = mean(errors) - half,
    high = mean(errors) + half, median = median(errors)
  )
}
