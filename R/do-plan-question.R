# Questions to a plan: expected errors; the number of donors, budget or group size for a goal; and
# power.

#' The checked question of a plan
#' @param scale (`dpsc_bounds`)\cr the bounds of one period.
#' @return A list: `n`, `epsilon`, `size` (`NULL`: unknown), `unknown` (`string` or `NULL`),
#'   `error`, `effect` (scaled units or `NULL`), `power`.
#' @noRd
plan_question <- function(n, epsilon, size, error, effect, power, scale) {
  n <- if (!is.null(n)) check_count(n, 2)
  epsilon <- if (!is.null(epsilon)) check_number(epsilon, 0, open = "min")
  if (!is.null(epsilon)) epsilon <- check_number(epsilon, 1e-9, 1e9)
  error <- if (!is.null(error)) check_number(error, 0, open = "min")
  effect <- if (!is.null(effect)) check_plan_effect(effect, scale)
  power <- check_number(power, 0.05, 1, open = c("min", "max"))
  unknown <- c("n", "epsilon", "size")[c(is.null(n), is.null(epsilon), is.null(size))]
  check_plan_goal(unknown, error, effect)
  list(
    n = n, epsilon = epsilon, size = size, unknown = if (length(unknown)) unknown,
    error = if (!is.null(error)) error / scale$unit,
    effect = if (!is.null(effect)) effect / scale$unit, power = power
  )
}

#' @noRd
check_plan_effect <- function(effect, scale) {
  effect <- check_number(effect)
  if (effect == 0 || abs(effect) >= 2 * scale$unit) {
    abort(c(
      "{.arg effect} must not be 0, and must be smaller in size than the width of {.arg bounds}.",
      x = "It is {signif(effect, 3)}; the width of {.arg bounds} is {signif(2 * scale$unit, 3)}.",
      i = "Give {.arg effect} in the units of the outcome."
    ), "argument")
  }
  effect
}

#' Check that exactly one of n, epsilon and size is unknown with a goal, and none without a goal
#' @noRd
check_plan_goal <- function(unknown, error, effect) {
  goals <- (!is.null(error)) + (!is.null(effect))
  if (length(unknown) > 1L || (length(unknown) == 1L && goals == 0L)) {
    abort(c(
      "A plan needs {.arg n}, {.arg epsilon} and {.arg size}, or a goal and two of these three.",
      x = "Not given: {.arg {unknown}}.",
      i = paste(
        "The goal is {.arg error}, or {.arg effect} with {.arg power}. The plan computes the",
        "missing quantity."
      )
    ), "argument")
  }
  if (length(unknown) == 1L && goals == 2L) {
    abort(c(
      "{.arg error} and {.arg effect} are two goals, but a plan can have only one.",
      i = "Give one of the two."
    ), "argument")
  }
  if (!length(unknown) && !is.null(error)) {
    abort(c(
      "{.arg error} is a goal, but no quantity is missing.",
      i = "Set {.arg n}, {.arg epsilon} or {.arg size} to {.code NULL}: the plan computes it."
    ), "argument")
  }
}

# Power --------------------------------------------------------------------------------------------

#' The power of the two-sided 5 % test of the average effect
#'
#' Estimates are normal around the effect, with the usual error as standard deviation. The test
#' rejects if zero is outside the 95 % interval, and never rejects without an interval.
#' @param row (`list`)\cr `average`, `half_width`, `given`, `coverage`, `short`, from
#'   [plan_errors()].
#' @noRd
power_of <- function(row, effect) {
  if (has_no_test(row)) {
    return(NA_real_)
  }
  error <- usual_error(row)
  reach <- stats::pnorm((abs(effect) - row$half_width) / error) +
    stats::pnorm((-abs(effect) - row$half_width) / error)
  row$given * reach
}

#' Standard deviation of the errors of the average, without rare errors that are far larger
#'
#' If a few people change far more than the others, one person's root mean square error can exceed
#' the interval, although nearly all errors are within it.
#' @noRd
usual_error <- function(row) {
  if (row$half_width >= 1.5 * row$average || is.null(row$coverage)) {
    return(row$average)
  }
  row$half_width / stats::qnorm((1 + min(row$coverage, 0.975)) / 2)
}

#' A test by an interval that is too short would often reject an effect of zero
#' @noRd
has_no_test <- function(row) is.na(row$half_width) || isTRUE(row$short)

#' The smallest effect that is detected with a given power; `NA` without a test, `Inf` if no effect
#' is
#' @noRd
least_effect <- function(row, power) {
  if (has_no_test(row)) {
    return(NA_real_)
  }
  if (row$given <= power || !is.finite(row$average)) {
    return(Inf)
  }
  lacks <- function(effect) power_of(row, effect) - power
  if (lacks(0) >= 0) {
    return(0)
  }
  far <- row$half_width + usual_error(row) * (1 + max(0, stats::qnorm(power / row$given)))
  stats::uniroot(lacks, c(0, far), tol = 1e-8 * far)$root
}

#' Power and smallest detectable effect of each row of a method
#' @param rows (`data.frame`)\cr from [plan_errors()].
#' @return A list: `power` (`NA` without a given effect) and `detectable` (scaled units).
#' @noRd
plan_power <- function(rows, method, at, question, facts) {
  each <- function(rows, of, ...) {
    vapply(seq_len(nrow(rows)), function(i) of(rows[i, ], ...), 0)
  }
  power <- if (is.null(question$effect)) NA_real_ else each(rows, power_of, question$effect)
  detectable <- if (facts$protect == "donors" || anyNA(rows$average)) {
    each(rows, least_effect, question$power)
  } else if (!is.null(question$unknown) && !is.null(question$effect)) {
    # At the goal these errors belong to an effect close to the detectable effect.
    each(rows, least_effect, question$power)
  } else {
    found <- detectable_among_protected(method, at, question, facts)
    if (is.finite(found[[1L]])) found else rep(Inf, nrow(rows))
  }
  list(power = power, detectable = detectable)
}

#' The smallest detectable effect, if the errors of protected people grow with the effect
#' @return One number per row of [plan_errors()], in scaled units.
#' @noRd
detectable_among_protected <- function(method, at, question, facts) {
  facts$studies <- plan_searched
  rows_at <- function(effect) {
    facts$effect <- effect
    plan_errors(method, at$n, at$epsilon, facts)
  }
  least <- function(effect) least_effect(rows_at(effect)[1L, ], question$power)
  start <- least(0)
  if (is.na(start) || !is.finite(start)) {
    return(start)
  }
  # An effect d is detectable if the errors under this effect detect it: least(d) / d falls below 1.
  found <- solve_decreasing(function(d) least(d) / d, 1, start * c(1, 8), steps = 1L)
  if (is.na(found)) {
    return(Inf)
  }
  rows <- rows_at(found)[-1L, ]
  c(found, vapply(seq_len(nrow(rows)), function(i) least_effect(rows[i, ], question$power), 0))
}

# Inverse questions --------------------------------------------------------------------------------

#' The donors, the epsilon or the size at which a method reaches the goal
#' @return A list: `n`, `epsilon`, `size`. The unknown quantity is `NA` if no value within
#'   [plan_limits] reaches the goal.
#' @noRd
solve_question <- function(method, question, facts) {
  at <- list(n = question$n, epsilon = question$epsilon, size = facts$size)
  unknown <- question$unknown
  if (is.null(unknown)) {
    return(at)
  }
  limits <- plan_limits[[unknown]]
  if (unknown == "size" && facts$protect == "donors") limits[[1L]] <- 1
  progress <- plan_progress(method)
  on.exit(progress$close())
  value_at <- function(x, studies = plan_searched) {
    progress$step()
    at[[unknown]] <- if (unknown == "epsilon") x else round(x)
    facts$studies <- studies
    goal_value(method, at, question, facts)
  }
  goal <- question$error %||% abs(question$effect)
  bracket <- bracket_of(value_at, goal, plan_starts[[unknown]], limits)
  answer <- solve_decreasing(value_at, goal, bracket, plan_steps(method, facts))
  answer <- corrected(function(x) value_at(x, plan_studies), goal, answer, limits)
  at[[unknown]] <- if (unknown == "epsilon") rounded_up(answer, 3L) else ceiling(answer)
  at
}

#' A number with a few significant digits that is not below x
#' @noRd
rounded_up <- function(x, digits) {
  unit <- 10^(floor(log10(x)) + 1 - digits)
  signif(ceiling(x / unit - 1e-9) * unit, digits)
}

# The search range and starting value of each unknown.
plan_limits <- list(n = c(10, 1e7), epsilon = c(0.01, 1000), size = c(2, 1e4))
plan_starts <- list(n = 1000, epsilon = 1, size = 100)

#' Two numbers, at most a given factor apart, between which a decreasing function reaches a value,
#' or the last two numbers within the limits
#' @noRd
bracket_of <- function(f, value, start, limits, factor = 4) {
  x <- c(start, start)
  if (f(start) > value) {
    while (x[[2L]] < limits[[2L]] && f(x[[2L]]) > value) {
      x <- c(x[[2L]], min(x[[2L]] * factor, limits[[2L]]))
    }
  } else {
    while (x[[1L]] > limits[[1L]] && f(x[[1L]]) <= value) {
      x <- c(max(x[[1L]] / factor, limits[[1L]]), x[[1L]])
    }
  }
  x
}

#' The number of bisections of the interval that contains the answer
#' @noRd
plan_steps <- function(method, facts) {
  if (is_study(facts)) 2L else plan_methods()[[method]]$steps
}

#' One further step from an answer by few simulations, if this answer misses the goal with more
#' simulations
#' @param f (`function`)\cr a decreasing function.
#' @noRd
corrected <- function(f, value, x, limits) {
  off <- if (is.na(x)) 0 else log(f(x) / value)
  if (abs(off) < 0.05) {
    return(x)
  }
  # The step assumes errors that fall as the square root of the unknown, or more slowly.
  step <- sign(off) * min(2 * abs(off), log(3))
  then <- log(f(exp(log(x) + step)) / value)
  if (off < 0 && is.infinite(then)) {
    # If there is no test at that value, the answer is the smallest value with a test.
    below <- max(exp(log(x) + step), limits[[1L]])
    return(solve_decreasing(f, value, c(below, x), steps = 6L))
  }
  if (is.finite(off) && is.finite(then) && off != then) {
    # Below the last value there may be no test, so a downward step does not extrapolate.
    step <- step * min(max(off / (off - then), 0), if (off < 0) 1 else 1.5)
  }
  min(max(exp(log(x) + step), limits[[1L]]), limits[[2L]])
}

#' The quantity that must reach the goal: the error of a period, or the effect with the required
#' power
#' @noRd
goal_value <- function(method, at, question, facts) {
  facts$size <- rep_len(at$size, length(study_dates(facts)))
  rows <- tryCatch(
    plan_errors(method, at$n, at$epsilon, facts),
    # The plan is refused, since the group, the number of donors or the budget is too small.
    dpsc_error_argument = function(e) NULL
  )
  if (is.null(rows)) {
    return(Inf)
  }
  if (!is.null(question$error)) {
    return(rows$error[[1L]])
  }
  least <- least_effect(rows[1L, ], question$power)
  if (is.na(least)) Inf else max(least, 1e-12)
}

#' The point at which a decreasing function reaches a value, by bisection on the log scale and
#' linear interpolation of logs. Simulated errors vary by a few per cent, so further steps would not
#' improve the answer.
#' @noRd
solve_decreasing <- function(f, value, limits, steps) {
  x <- log(limits)
  y <- log(c(f(limits[[1L]]), f(limits[[2L]]))) - log(value)
  if (y[[1L]] <= 0) {
    return(limits[[1L]])
  }
  if (y[[2L]] > 0) {
    return(NA_real_)
  }
  for (i in seq_len(steps)) {
    middle <- mean(x)
    found <- log(f(exp(middle))) - log(value)
    at <- if (found > 0) 1L else 2L
    x[[at]] <- middle
    y[[at]] <- found
  }
  if (!is.finite(y[[1L]])) exp(x[[2L]]) else exp(x[[1L]] + diff(x) * y[[1L]] / (y[[1L]] - y[[2L]]))
}

#' A cli progress bar in interactive sessions, shown after two seconds
#' @noRd
plan_progress <- function(method, steps = 12L) {
  if (!plan_methods()[[method]]$bar) {
    return(list(step = function() NULL, close = function() NULL))
  }
  bar <- cli::cli_progress_bar("Simulating releases", total = steps, .auto_close = FALSE)
  done <- 0L
  list(
    step = function() {
      # A completed progress bar disappears, so the last step stays open.
      done <<- min(done + 1L, steps - 1L)
      cli::cli_progress_update(set = done, id = bar)
    },
    close = function() cli::cli_progress_done(id = bar)
  )
}
