# Expected errors of a future release, in units in which the bounds are [-1, 1].

# Number of simulated panels per plan, and number of these with intervals.
plan_releases <- 96L
plan_intervals <- 16L
# Number of simulated studies for a plan that needs whole studies, and for one step of a search.
plan_studies <- 40L
plan_searched <- 12L
# The largest number of simulated donors; a larger budget represents more donors. A simulated group
# has at most the second number of people, since the error of a larger group's mean is hardly
# smaller.
plan_donors <- 1000
most_in_group <- 2000

#' Cache of simulations, so that no simulation is run twice
#' @noRd
remembered <- function(key, value) {
  key <- rlang::hash(key)
  if (is.null(plan_memory[[key]])) {
    if (length(plan_memory) > 2000L) rm(list = ls(plan_memory), envir = plan_memory)
    plan_memory[[key]] <- value
  }
  plan_memory[[key]]
}
plan_memory <- new.env(parent = emptyenv())

# Method gram --------------------------------------------------------------------------------------

gram_errors <- function(n, epsilon, facts) {
  remembered(list("gram", n, epsilon, facts), {
    plan <- gram_plan_of(n, epsilon, facts)
    if (is.null(plan)) {
      # Such a release is impossible; only the bounds are known.
      data.frame(
        error = Inf, floor = NA_real_, average = Inf, half_width = NA_real_,
        period_width = NA_real_, given = 0, coverage = NA_real_, short = NA
      )
    } else {
      simulated_errors(n, epsilon, facts, plan$calibrated)
    }
  })
}

simulated_errors <- function(n, epsilon, facts, calibrated) {
  # The number of simulated people is rounded down; the remainder of n is represented by a larger
  # budget.
  people <- min(floor(n), plan_donors)
  # A large group is expensive to simulate.
  size <- min(facts$size, most_in_group)
  targets <- max(1L, min(10L, as.integer(most_in_group / size)))
  # A step of a search needs fewer panels.
  releases <- if (isTRUE(facts$studies < plan_studies)) plan_releases / 2 else plan_releases
  sim <- simulate_gram_cpp(
    facts$people, list(
      n = people, T0 = facts$T0, T1 = facts$T1, delta = facts$delta,
      epsilon = same_noise(epsilon, n / people, facts$delta), group = facts$size >= group_size
    ), targets, size, releases, if (calibrated) plan_intervals else 0L, 1
  )
  # The first target of each release gives the error of the release. The error without privacy of
  # the same target reflects chance in its future and serves as a control variate, with its mean
  # over all targets.
  own <- seq.int(1L, nrow(sim$error), by = targets)
  error <- function(of) {
    raw <- rowMeans(of(sim$raw)^2)
    floor <- mean(raw)
    released <- controlled(rowMeans(of(sim$error[own, , drop = FALSE])^2), raw[own], floor)
    c(error = sqrt(max(released, floor / 2)), floor = sqrt(floor))
  }
  period <- error(identity)
  average <- error(function(x) matrix(rowMeans(x)))
  widths <- if (calibrated) interval_widths(sim$intervals, n, epsilon) else matrix(NA_real_, 2L, 1L)
  half_width <- plan_half_width(widths[1L, ])
  data.frame(
    error = period[["error"]], floor = period[["floor"]], average = average[["error"]],
    half_width = half_width, period_width = plan_half_width(widths[2L, ]),
    given = mean(!is.na(widths[1L, ])),
    # The errors are the errors of a release with the simulated number of donors.
    plan_coverage(rowMeans(sim$error[own, , drop = FALSE]), if (calibrated && people < n) {
      interval_widths(sim$intervals, people, epsilon)[1L, ]
    } else {
      widths[1L, ]
    })
  )
}

#' The share of simulated errors of the average within simulated half-widths of its interval
#'
#' Intervals are too short if this share is below .9 by two standard errors. A few people who change
#' far more than the others move a mean, but a release's moments hardly contain them.
#' @param error (`numeric`)\cr one error per release.
#' @param half_widths (`numeric`)\cr one per release with intervals; `NA` without an interval.
#' @return A data frame of one row: `coverage`, `short`; both `NA` without an interval.
#' @noRd
plan_coverage <- function(error, half_widths) {
  # In some releases, not in all, the interval allows for a few people's changes.
  given <- half_widths[!is.na(half_widths)]
  coverage <- if (length(given)) mean(outer(abs(error), given, `<=`)) else NA_real_
  data.frame(coverage = coverage, short = coverage + 2 * sqrt(0.09 / length(error)) < 0.9)
}

#' A mean, corrected by a control variate with known mean
#' @param largest (`number`)\cr upper limit of the slope.
#' @noRd
controlled <- function(x, control, expected, largest = 2) {
  spread <- stats::var(control)
  slope <- if (isTRUE(spread > 0)) stats::cov(x, control) / spread else 0
  mean(x) - min(max(slope, 0), largest) * (mean(control) - expected)
}

#' The epsilon with which the mean of fewer donors, reduced by a given factor, has the same noise
#' @noRd
same_noise <- function(epsilon, factor, delta) {
  if (factor == 1) {
    return(epsilon)
  }
  if (delta == 0) {
    return(epsilon * factor)
  }
  cdp_epsilon_cpp(cdp_rho_cpp(epsilon, delta) * factor^2, delta)
}

plan_half_width <- function(widths) {
  if (all(is.na(widths))) NA_real_ else stats::median(widths, na.rm = TRUE)
}

#' Half-widths of simulated 95 % intervals, `NA` without an interval
#' @return A matrix with a row for the average effect, a row for the effect in one period, and one
#'   column per release.
#' @noRd
interval_widths <- function(intervals, n, epsilon) {
  vapply(intervals, function(e) {
    # The parts of a release that the intervals require.
    release <- list(
      panel = list(n = n, T1 = NROW(e$privacy)), privacy = list(private = TRUE, epsilon = epsilon),
      settings = list(lambda = NULL), statistics = list(
        intervals = c(e$intervals, list(estimator = "ridge")), target = list(radius = e$shortened)
      )
    )
    own <- group_variance(e$intervals, e)
    shift <- hidden_shift(release, e)
    e$prediction <- own * (1 / e$size + (1 + e$leverage) / n) + e$disagreement + shift^2
    spread <- interval_spread(release, e, "ridge")
    if (!is.null(spread$reason)) {
      return(c(NA_real_, NA_real_))
    }
    variance <- e$prediction + e$privacy
    error <- sqrt(spread$floor * c(mean(variance), stats::median(diag(variance))))
    # A counterfactual lies within the bounds.
    pmin(1, interval_quantile(0.95) * c(spread$average, spread$period) * error)
  }, numeric(2L))
}

# Methods output and objective ---------------------------------------------------------------------

#' @noRd
vertical_errors <- function(deviation, n, epsilon, facts) {
  truth <- plan_scene(facts)
  noise <- deviation(n, epsilon, facts, truth)
  data.frame(
    error = sqrt(truth$floor^2 + noise[[1L]]^2), floor = truth$floor,
    # The noise of the weights affects the whole path. If its effect on the average is unknown, use
    # the noise of a single period.
    average = sqrt(truth$average^2 + (if (is.na(noise[[2L]])) noise[[1L]] else noise[[2L]])^2),
    half_width = NA_real_, period_width = NA_real_, given = 0, coverage = NA_real_, short = NA
  )
}

#' Errors without privacy of simulated people, their mean squared outcomes after the treatment, and
#' the Euclidean length of a pre-period
#' @noRd
plan_scene <- function(facts) {
  remembered(list("scene", facts[c("T0", "T1", "people", "size")]), {
    size <- min(facts$size, most_in_group)
    without <- simulate_gram_cpp(facts$people, list(
      n = 300, T0 = facts$T0, T1 = facts$T1, epsilon = 1, delta = 1e-6, group = FALSE
    ), max(1L, min(10L, as.integer(most_in_group / size))), size, 40L, 0L, 2)$raw
    rows <- simulate_people_cpp(facts$people, 400L, facts$T0, facts$T1, 0L, 1L, 3)$donors
    pre <- seq_len(facts$T0)
    list(
      floor = sqrt(mean(without^2)), average = sqrt(mean(rowMeans(without)^2)),
      square = mean(rows[, -pre]^2), average_square = mean(rowMeans(rows[, -pre, drop = FALSE])^2),
      norm = sqrt(mean(rowSums(rows[, pre]^2)))
    )
  })
}

#' Public facts of a hypothetical release with an ordinary target
#' @noRd
plan_facts <- function(method, n, epsilon, facts) {
  norm <- plan_scene(facts)$norm
  list(
    method = method, calibration = "tight", private = TRUE, epsilon = epsilon, delta = facts$delta,
    n = n, T0 = facts$T0, T1 = facts$T1, half = rep(1, facts$T0 + facts$T1),
    y = rep(norm / sqrt(facts$T0), facts$T0), control = dp_control()
  )
}

step_deviation <- function(step, dimension) {
  if (step$law == "gamma_norm") sqrt(dimension + 1) * step$scale else step$scale
}

#' Standard deviations of predictions. With noise variances a^2 of a weight and b^2 of an outcome,
#' the variance is `n a^2 (m + b^2) + b^2 |f|^2`, where m is the mean square of an outcome and |f|^2
#' is about 1/n.
#' @return Standard deviations for a period and for the average of the periods.
#' @noRd
output_noise <- function(n, epsilon, facts, truth) {
  plan <- plan_output(plan_facts("output", n, epsilon, facts))
  a <- step_deviation(plan$weights, n)
  b <- step_deviation(plan$post, n * facts$T1)
  of <- function(square, b2) sqrt(n * a^2 * (square + b2) + b2 / n)
  c(of(truth$square, b^2), of(truth$average_square, b^2 / facts$T1))
}

#' Error from a table for delta = 1e-6 and T1 = 3, scaled by the noise on outcomes for other values
#' @noRd
objective_noise <- function(n, epsilon, facts, truth) {
  tabulated <- interpolate(plan_table$objective, list(
    n = n, epsilon = epsilon, T0 = facts$T0
  ), if (facts$people$kind == "linear") "linear" else "factor")
  if (facts$delta == 1e-6 && facts$T1 == 3) {
    return(c(tabulated, NA_real_))
  }
  noise <- function(facts) {
    plan <- plan_objective(plan_facts("objective", n, epsilon, facts))
    step_deviation(plan$post, n * facts$T1)
  }
  scale <- noise(facts) / noise(utils::modifyList(facts, list(delta = 1e-6, T1 = 3)))
  c(tabulated * scale, NA_real_)
}

#' Multilinear interpolation of log errors in the logs of the coordinates, constant beyond the grid
#' @param table (`data.frame`)\cr a full grid with a column `error`, and `design`.
#' @param at (`list`)\cr one number for each coordinate.
#' @noRd
interpolate <- function(table, at, design) {
  table <- table[table$design == design, ]
  weight <- rep(1, nrow(table))
  for (name in names(at)) {
    knots <- sort(unique(table[[name]]))
    position <- min(max(log(at[[name]]), log(knots[[1L]])), log(knots[[length(knots)]]))
    hat <- vapply(seq_along(knots), function(i) {
      stats::approx(log(knots), as.numeric(seq_along(knots) == i), position)$y
    }, 0)
    weight <- weight * hat[match(table[[name]], knots)]
  }
  exp(sum(weight * log(table$error)))
}
