# Speed of the estimators on raw data, compared in the same run with quadprog, kernlab::ipop and, if
# installed, synthdid and MCPanel. Plain R replaces missing packages. Run from the package's top
# folder: Rscript bench/classical.R. Data for Proposition 99 come from data/smoking.csv in the
# folder DPSC_SHARED; without this folder a panel of the same size is simulated. Writes
# bench/results/classical.csv.
library(dpsc)
internal <- asNamespace("dpsc")

# The median over `times` samples of the mean of `inner` runs. The clock is too coarse for single
# runs.
median_seconds <- function(expr, times, inner = 1) {
  body <- substitute(for (i in seq_len(inner)) expr, list(inner = inner, expr = substitute(expr)))
  run <- as.function(list(body), envir = parent.frame())
  run <- compiler::cmpfun(run)
  run()
  stats::median(vapply(seq_len(times), function(i) {
    start <- bench::hires_time()
    run()
    bench::hires_time() - start
  }, 0)) / inner
}

factor_panel <- function(n, periods, seed = 1) {
  set.seed(seed)
  factors <- matrix(rnorm(4 * periods), 4)
  loadings <- rbind(matrix(rexp(4 * n), n), rep(1, 4))
  values <- 100 + 10 * loadings %*% factors + matrix(rnorm((n + 1) * periods, sd = 2), n + 1)
  list(donors = values[seq_len(n), ], target = values[n + 1, ])
}

proposition_99 <- function() {
  file <- file.path(Sys.getenv("DPSC_SHARED"), "data", "smoking.csv")
  if (!file.exists(file)) {
    return(c(factor_panel(38, 31), T0 = 19, real = FALSE))
  }
  data <- read.csv(file)
  wide <- tapply(data$cigsale, list(data$state, data$year), mean)
  list(
    donors = wide[rownames(wide) != "California", ], target = wide["California", ], T0 = 19,
    real = TRUE, data = data
  )
}

rows <- list()
record <- function(what, size, ours, other = NA, times_other = NA, excess = NA, target = "") {
  rows[[length(rows) + 1L]] <<- data.frame(
    what = what, size = size, seconds = signif(ours, 4), compared_with = other,
    ratio = signif(times_other / ours, 4), objective_excess = signif(excess, 3), target = target
  )
}

objective <- function(w, x, y) sum((drop(w %*% x) - y)^2)

compare_solvers <- function(x, y, size, repeats) {
  n <- nrow(x)
  gram <- tcrossprod(x)
  # quadprog needs a positive definite matrix. This ridge is the smallest that it accepts reliably.
  ridge <- diag(1e-9 * mean(diag(gram)), n)
  linear <- drop(x %*% y)
  bounds <- cbind(1, diag(n))
  fit <- internal$simplex_fit_cpp(x, y, length(y), FALSE, 0)
  inner <- if (n < 100) 50 else 1
  periods <- length(y)
  solve <- internal$simplex_fit_cpp
  ours <- median_seconds(solve(x, y, periods, FALSE, 0), repeats[[1]], inner)
  # The excess is relative to the other objective; below 0 our objective is lower.
  excess <- function(w) fit$objective / objective(w, x, y) - 1
  if (requireNamespace("quadprog", quietly = TRUE)) {
    run <- function() {
      quadprog::solve.QP(gram + ridge, linear, bounds, c(1, rep(0, n)), meq = 1)$solution
    }
    w <- pmax(run(), 0)
    record("simplex solve", size, ours, "quadprog::solve.QP", median_seconds(run(), repeats[[2]]),
      excess(w / sum(w)), "ratio >= 20")
  }
  if (requireNamespace("kernlab", quietly = TRUE)) {
    run <- function() {
      kernlab::primal(kernlab::ipop(
        c = -matrix(linear), H = gram, A = matrix(1, 1, n), b = 1, l = matrix(0, n),
        u = matrix(1, n), r = 0
      ))
    }
    w <- pmax(run(), 0)
    record("simplex solve", size, ours, "kernlab::ipop", median_seconds(run(), repeats[[3]]),
      excess(w / sum(w)), "ratio >= 100")
  }
}

panel <- proposition_99()
pre <- seq_len(panel$T0)
compare_solvers(panel$donors[, pre], panel$target[pre], "T0 = 19, n = 38", c(200, 200, 50))
large <- factor_panel(1000, 100)
compare_solvers(large$donors, large$target, "T0 = 100, n = 1000", c(50, 3, 1))
wide <- factor_panel(2000, 200)
record("simplex solve", "T0 = 200, n = 2000",
  median_seconds(internal$simplex_fit_cpp(wide$donors, wide$target, 200L, FALSE, 0), 20))

fit <- structure(list(
  raw = list(
    donors = panel$donors, target = matrix(panel$target, 1), T0 = panel$T0, times = 1970:2000
  ),
  estimator = "simplex", settings = list()
), class = c("dp_synth_classical", "dp_synth"))
single <- function() internal$fit_classical(panel$donors, panel$target, panel$T0)
conformal_test <- function() {
  internal$conformal_p(internal$conformal_engine_classical(fit), panel$T0, 12)
}
intervals <- function() {
  effects <- (panel$target - single()$counterfactual)[-pre]
  internal$conformal_interval(
    internal$conformal_engine_classical(fit), panel$T0, effects, level = 0.9
  )
}
whole <- function() {
  single()
  placebo_space(fit)
  leave_one_out(fit)
  conformal_test()
}
size <- if (panel$real) "Proposition 99" else "simulated 38 x 31"
record("fit_classical()", size, median_seconds(single(), 200))
record("placebo_space(), 38 placebos", size, median_seconds(placebo_space(fit), 200))
record("leave_one_out()", size, median_seconds(leave_one_out(fit), 200))
record("conformal p-value", size, median_seconds(conformal_test(), 200))
record("conformal intervals, 12 periods and average", size, median_seconds(intervals(), 100))
record("fit, placebos, leave-one-out, conformal p", size, median_seconds(whole(), 200),
  target = "< 0.010 s")
record("the same and all conformal intervals", size, median_seconds({
  whole()
  intervals()
}, 100), target = "< 0.010 s")

if (panel$real) {
  mean_of <- function(column, years) {
    wide <- tapply(panel$data[[column]], list(panel$data$state, panel$data$year), mean)
    rowMeans(wide[, as.character(years), drop = FALSE], na.rm = TRUE)
  }
  means <- cbind(
    mean_of("lnincome", 1980:1988), mean_of("retprice", 1980:1988),
    mean_of("age15to24", 1980:1988), mean_of("beer", 1984:1988), mean_of("cigsale", 1988),
    mean_of("cigsale", 1980), mean_of("cigsale", 1975)
  )
  fit$estimator <- "predictors"
  fit$settings <- list(predictors = list(
    donors = means[rownames(panel$donors), ], target = means["California", ]
  ))
  record("nested V and 38 nested placebos", size, median_seconds(placebo_space(fit), 3),
    target = "< 1 s")
}

# The estimators with a model, with and without the choice of penalty or rank, and their placebos.
model_estimators <- list(
  sdid = list(zeta = 10, zeta_periods = 1e-5), augmented = list(lambda = 430),
  factor = list(rank = 2), mcnnm = list(lambda = 0.05)
)

# Frank-Wolfe with the steps of synthdid's defaults: at most 10,000, stopped at small decreases.
frank_wolfe <- function(x, y, ridge, intercept = TRUE, steps = 1e4, least = 1e-5) {
  if (intercept) {
    x <- x - rowMeans(x)
    y <- y - mean(y)
  }
  w <- rep(1 / nrow(x), nrow(x))
  value <- Inf
  for (i in seq_len(steps)) {
    error <- drop(crossprod(x, w)) - y
    gradient <- drop(x %*% error) + ridge * w
    j <- which.min(gradient)
    direction <- -w
    direction[[j]] <- direction[[j]] + 1
    along <- drop(crossprod(x, direction))
    size <- -sum(gradient * direction) / (sum(along^2) + ridge * sum(direction^2))
    w <- w + min(1, max(0, size)) * direction
    last <- value
    value <- sum((drop(crossprod(x, w)) - y)^2) + ridge * sum(w^2)
    if (last - value < least^2) break
  }
  w
}

soft_impute <- function(y, mask, lambda, rounds = 1000, tolerance = 1e-9) {
  low <- y * 0
  u <- rep(0, nrow(y))
  v <- rep(0, ncol(y))
  for (i in seq_len(rounds)) {
    u <- rowSums(mask * (y - low - rep(v, each = nrow(y)))) / rowSums(mask)
    v <- colSums(mask * (y - low - u)) / colSums(mask)
    parts <- svd(mask * (y - outer(u, v, "+") - low) + low)
    new <- parts$u %*% (pmax(parts$d - lambda * sum(mask) / 2, 0) * t(parts$v))
    if (max(abs(new - low)) < tolerance) break
    low <- new
  }
  outer(u, v, "+") + new
}

peers_of <- function(x, y, T0) {
  all <- rbind(x, y)
  n <- nrow(x)
  mask <- matrix(1, n + 1, ncol(x))
  mask[n + 1, -seq_len(T0)] <- 0
  has <- function(package) requireNamespace(package, quietly = TRUE)
  list(
    sdid = if (has("synthdid")) {
      list("synthdid::synthdid_estimate", function() synthdid::synthdid_estimate(all, n, T0))
    } else {
      list("Frank-Wolfe in R", function() {
        frank_wolfe(x[, seq_len(T0)], y[seq_len(T0)], 100 * T0)
        frank_wolfe(t(x[, seq_len(T0)]), rowMeans(x[, -seq_len(T0)]), 1e-10 * n)
      })
    },
    augmented = list("solve() and quadprog", function() {
      pre <- x[, seq_len(T0)]
      base <- quadprog::solve.QP(
        tcrossprod(pre) + diag(1e-9 * mean(pre^2) * T0, n), drop(pre %*% y[seq_len(T0)]),
        cbind(1, diag(n)), c(1, rep(0, n)), meq = 1
      )$solution
      centred <- sweep(pre, 2, colMeans(pre))
      base + drop(centred %*% solve(
        crossprod(centred) + diag(430, T0), y[seq_len(T0)] - drop(base %*% pre)
      ))
    }),
    factor = list("svd() in R", function() {
      centred <- scale(x - rowMeans(x), scale = FALSE)
      f <- cbind(1, svd(centred, nu = 0, nv = 2)$v)
      drop(f %*% qr.solve(f[seq_len(T0), ], (y - colMeans(x))[seq_len(T0)])) + colMeans(x)
    }),
    mcnnm = if (has("MCPanel")) {
      list("MCPanel::mcnnm_fit", function() {
        MCPanel::mcnnm_fit(all, mask, 0.05, niter = 1e4, rel_tol = 1e-12)
      })
    } else {
      list("soft-impute in R", function() soft_impute(all, mask, 0.05))
    }
  )
}

peers <- if (requireNamespace("quadprog", quietly = TRUE)) {
  peers_of(panel$donors, drop(panel$target), panel$T0)
}
for (estimator in names(model_estimators)) {
  fixed <- model_estimators[[estimator]]
  fit_once <- function(settings) {
    internal$fit_classical(panel$donors, panel$target, panel$T0, estimator, settings)
  }
  ours <- median_seconds(fit_once(fixed), 50)
  peer <- peers[[estimator]]
  other <- if (!is.null(peer)) median_seconds(peer[[2L]](), 3)
  record(paste("estimator", estimator), size, ours, if (is.null(peer)) NA else peer[[1L]],
    if (is.null(peer)) NA else other, target = "ratio >= 1"
  )
  record(paste("estimator", estimator, "with its choices"), size, median_seconds(
    fit_once(list()), 5
  ))
  fit$estimator <- estimator
  fit$settings <- fixed
  record(paste("estimator", estimator, "and 38 placebos"), size, median_seconds(
    placebo_space(fit), 5
  ))
}

results <- do.call(rbind, rows)
dir.create("bench/results", showWarnings = FALSE, recursive = TRUE)
write.csv(results, "bench/results/classical.csv", row.names = FALSE)
print(results, right = FALSE)
