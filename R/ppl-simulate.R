#' Simulate a panel with a known effect
#'
#' Simulates a panel by one of two designs. Before the effect is added, all outcomes are within
#' `c(-1, 1)`, so bounds need not be chosen from data.
#'
#' The designs are:
#'
#' * `"factor"`: unit effects `a_i`, time effects `d_t`, autoregressive factors `f_t` with random
#'   loadings `l_i`, and noise `e_it`. Without treatment the outcome of unit i in period t is
#'   `a_i + d_t + l_i' f_t + e_it`, clipped to `[-1, 1]`.
#' * `"linear"`: the design of Rho, Cummings and Misra (2023), section 8. The signal is `theta_i t`
#'   with slopes `theta_i` from a normal distribution with mean 4 and variance 1, truncated to
#'   \[3, 5\]. The noise is normal with mean 0 and variance 0.1, truncated to \[-1, 1\]. The paper
#'   does not state how outcomes are scaled to `[-1, 1]`. This function divides signal and noise by
#'   `5 T + 1`, for T periods in all, which ensures the bounds.
#'
#' @param n (`count`)\cr number of donors.
#' @param T0,T1 (`count`)\cr number of periods before the treatment, and from the treatment on.
#' @param design (`string`)\cr `"factor"` or `"linear"`.
#' @param effect (`numeric`, length 1 or T1)\cr effect added to the target from the treatment on.
#' @param factors (`count`)\cr for `"factor"`: number of factors.
#' @param persistence (`number`, in \[0, 1))\cr for `"factor"`: autocorrelation of the factors and
#'   of the time effect.
#' @param loading_sd,unit_sd,time_sd,noise_sd (`number`)\cr for `"factor"`: standard deviations of
#'   the loadings (for factors of variance 1), the unit effects, the time effect, and the noise.
#' @return A list of class `sim_panel`, drawn with R's generator:
#'   * `donors`: a matrix with one row per donor and one column per period.
#'   * `target`: the outcomes of the target in all periods.
#'   * `counterfactual`: the signal of the target without treatment and without noise, in all
#'     periods.
#'   * `effect`: the effect in each of the T1 periods from the treatment on.
#'   * `T0`, `design`: the arguments.
#'
#'   `as.data.frame()` returns long data with columns `unit`, `time`, `outcome` and `treated`.
#' @section Errors: `dpsc_error_argument`.
#' @references Rho, S., Cummings, R. and Misra, V. (2023). Differentially Private Synthetic Control.
#'   AISTATS, section 8.
#' @examples
#' panel <- sim_panel(n = 100, T0 = 12, T1 = 4, effect = 0.2)
#' str(panel)
#' head(as.data.frame(panel))
#' @export
sim_panel <- function(n, T0, T1 = 3, design = c("factor", "linear"), effect = 0, factors = 3,
                      persistence = 0.8, loading_sd = 0.075, unit_sd = 0.2, time_sd = 0.05,
                      noise_sd = 0.05) door("sim_panel", {
  n <- check_count(n, 1)
  T0 <- check_count(T0, 1)
  T1 <- check_count(T1, 1)
  design <- check_choice(design, c("factor", "linear"))
  if (!is.numeric(effect) || !length(effect) %in% c(1L, T1) || !all(is.finite(effect))) {
    abort(c(
      "{.arg effect} must be one finite number, or one for each of the {T1} treated period{?s}.",
      x = "It is {describe_value(effect)}."
    ), "argument")
  }
  periods <- T0 + T1
  panel <- if (design == "linear") {
    simulate_linear(n + 1, periods)
  } else {
    simulate_factor(n + 1, periods,
      factors = check_count(factors, 0),
      persistence = check_number(persistence, 0, 1, open = "max"),
      loading_sd = check_number(loading_sd, 0),
      unit_sd = check_number(unit_sd, 0),
      time_sd = check_number(time_sd, 0),
      noise_sd = check_number(noise_sd, 0)
    )
  }
  effect <- rep_len(as.double(effect), T1)
  structure(list(
    donors = panel$outcome[-1L, , drop = FALSE],
    target = panel$outcome[1L, ] + c(numeric(T0), effect),
    counterfactual = panel$signal[1L, ], effect = effect, T0 = T0, design = design
  ), class = "sim_panel")
})

simulate_linear <- function(units, periods) {
  scale <- 5 * periods + 1
  signal <- outer(rnorm_between(units, 4, 1, 3, 5), seq_len(periods))
  noise <- rnorm_between(units * periods, 0, sqrt(0.1), -1, 1)
  list(signal = signal / scale, outcome = (signal + noise) / scale)
}

simulate_factor <- function(units, periods, factors, persistence, loading_sd, unit_sd, time_sd,
                            noise_sd) {
  paths <- vapply(seq_len(factors + 1), function(j) {
    stationary_path(periods, persistence)
  }, numeric(periods))
  paths <- matrix(paths, periods)
  loadings <- matrix(stats::rnorm(units * factors, sd = loading_sd), units)
  signal <- stats::rnorm(units, sd = unit_sd) + tcrossprod(loadings, paths[, -1L, drop = FALSE]) +
    rep(time_sd * paths[, 1L], each = units)
  noise <- stats::rnorm(units * periods, sd = noise_sd)
  clip <- function(x) pmax(pmin(x, 1), -1)
  list(signal = clip(signal), outcome = clip(signal + noise))
}

#' A stationary AR(1) path of variance one
#' @noRd
stationary_path <- function(periods, persistence) {
  innovations <- stats::rnorm(periods, sd = c(1, rep(sqrt(1 - persistence^2), periods - 1)))
  as.double(stats::filter(innovations, persistence, method = "recursive"))
}

rnorm_between <- function(n, mean, sd, lower, upper) {
  limits <- stats::pnorm(c(lower, upper), mean, sd)
  stats::qnorm(stats::runif(n, limits[[1L]], limits[[2L]]), mean, sd)
}

#' @rdname sim_panel
#' @param x (`sim_panel`)\cr a simulated panel.
#' @param row.names,optional,... unused.
#' @export
as.data.frame.sim_panel <- function(x, row.names = NULL, optional = FALSE, ...) {
  units <- c("target", sprintf("donor%06d", seq_len(nrow(x$donors))))
  periods <- length(x$target)
  data.frame(
    unit = rep(units, periods), time = rep(seq_len(periods), each = length(units)),
    outcome = as.vector(rbind(x$target, x$donors)),
    treated = as.integer(outer(seq_along(units), seq_len(periods), function(i, t) {
      i == 1L & t > x$T0
    }))
  )
}

#' @export
print.sim_panel <- function(x, ...) {
  cat(
    "Simulated panel, design \"", x$design, "\": ", nrow(x$donors), " donors, ",
    x$T0, " periods before the treatment, ", length(x$effect), " from the treatment on\n",
    "  average effect ", format(mean(x$effect), digits = 3L), "\n",
    sep = ""
  )
  invisible(x)
}

#' Evaluate code with R's generator from a seed, and restore the state of the generator afterwards
#' @noRd
with_generator <- function(seed, code) {
  if (is.null(seed)) {
    return(code)
  }
  scope <- globalenv()
  old <- get0(".Random.seed", scope, inherits = FALSE)
  on.exit(if (is.null(old)) {
    rm(".Random.seed", envir = scope)
  } else {
    assign(".Random.seed", old, scope)
  })
  set.seed(seed)
  code
}
