# Planning before any data is touched: expected errors from closed forms and committed simulations.

#' Plan a release before touching any data
#'
#' What error to expect from each method with so many donors, periods and so much budget; how many
#' donors an error needs; what epsilon. It sees no data: errors are those for donors like
#' [sim_panel()]'s, whose outcomes use the bounds as a sensible user would give them. Donors that
#' fill the bounds less do better.
#'
#' Sources: for `"gram"` and `"objective"` a table of simulated errors that comes with the package,
#' interpolated on the log scale (`data-raw/plan_table.R`); for `"output"` the known variances of
#' its two noise laws. Tight calibration throughout.
#'
#' @param n (`count` or `NULL`)\cr number of donors. `NULL`: how many are needed for `error`.
#' @param T0,T1 (`count`)\cr periods before the treatment and from it on.
#' @param epsilon (`number` or `NULL`)\cr privacy loss. `NULL`: what is needed for `error`.
#' @param delta (`number`, in \[0, 1))\cr failure probability.
#' @param method (`character`)\cr methods to compare.
#' @param error (`number` or `NULL`)\cr error wanted, outcome units; then one of `n` and `epsilon`
#'   is `NULL`.
#' @param bounds (`numeric(2)`)\cr the public bounds; errors are in their units.
#' @param design (`string`)\cr donors like which design of [sim_panel()].
#' @param x,object (`dp_plan`)\cr a plan.
#' @param type (`string`)\cr of the plot: `"error"`, against donors and epsilon; or `"funnel"`: the
#'   95 % interval of one period of no effect, for the recommended method, and how much of it more
#'   donors or more budget would take away.
#' @param ... unused.
#' @return A list of class `dp_plan`: the arguments, and `table`, a data frame with one row a
#'   method: `method`, `n`, `epsilon`, `error` (root mean squared error of the counterfactual,
#'   outcome units), `privacy` (its part from noise), `floor` (error without privacy), `noise`
#'   (standard deviation of the noise on one released weight or moment, scaled units), `penalty`
#'   (`NA` where the fit chooses it from the release), `recommended`. `n` and `epsilon` are `NA` for
#'   a method that cannot reach `error`. PUBLIC.
#' @section Errors: `dpsc_error_argument`.
#' @examples
#' dp_plan(n = 1000, T0 = 20, T1 = 4, epsilon = 1)
#' # How many donors for an error of 3 mmHg, and what epsilon for 2,000 of them?
#' dp_plan(T0 = 18, T1 = 6, epsilon = 1, error = 3, bounds = c(80, 200))
#' dp_plan(n = 2000, T0 = 18, T1 = 6, error = 3, bounds = c(80, 200))
#' @export
dp_plan <- function(n = NULL, T0, T1 = 1, epsilon = NULL, delta = 1e-6,
                    method = c("gram", "output", "objective"), error = NULL, bounds = c(-1, 1),
                    design = c("factor", "linear")) {
  call <- public_call("dp_plan")
  check_given(missing(T0), "T0", "the number of periods before the treatment", call)
  T0 <- check_count(T0, 2, call = call)
  T1 <- check_count(T1, 1, call = call)
  delta <- check_number(delta, 0, 1, open = "max", call = call)
  design <- check_choice(design, c("factor", "linear"), call = call)
  method <- vapply(method, check_choice, "", c("gram", "output", "objective"),
    arg = "method", call = call, USE.NAMES = FALSE
  )
  unit <- new_bounds(bounds, 1, call)$unit
  n <- if (!is.null(n)) check_count(n, 2, call = call)
  epsilon <- if (!is.null(epsilon)) check_number(epsilon, 0, open = "min", call = call)
  error <- if (!is.null(error)) check_number(error, 0, open = "min", call = call)
  unknown <- is.null(n) + is.null(epsilon)
  if (unknown != !is.null(error)) {
    abort(c(
      "Give {.arg n} and {.arg epsilon}, or {.arg error} and one of the two.",
      i = "The one that is missing is what the plan answers."
    ), "argument", call)
  }
  facts <- list(T0 = T0, T1 = T1, delta = delta, design = design)
  rows <- lapply(method, function(method) {
    at <- if (unknown == 0) c(n, epsilon) else solve_plan(method, n, epsilon, error / unit, facts)
    plan_row(method, at[[1L]], at[[2L]], facts, unit)
  })
  table <- do.call(rbind, rows)
  table$recommended <- recommend(table, is.null(n), is.null(epsilon))
  structure(c(
    list(table = table), facts, list(n = n, epsilon = epsilon, error = error, bounds = bounds)
  ), class = "dp_plan")
}

recommend <- function(table, asks_n, asks_epsilon) {
  score <- if (asks_n) table$n else if (asks_epsilon) table$epsilon else table$error
  !is.na(score) & score == suppressWarnings(min(score, na.rm = TRUE))
}

plan_row <- function(method, n, epsilon, facts, unit) {
  if (is.na(n) || is.na(epsilon)) {
    return(data.frame(
      method = method, n = n, epsilon = epsilon, error = NA_real_, privacy = NA_real_,
      floor = plan_floor(method, facts) * unit, noise = NA_real_, penalty = NA_real_
    ))
  }
  error <- plan_error(method, n, epsilon, facts)
  floor <- min(plan_floor(method, facts), error)
  data.frame(
    method = method, n = n, epsilon = epsilon, error = error * unit,
    privacy = sqrt(error^2 - floor^2) * unit, floor = floor * unit,
    noise = plan_noise(method, n, epsilon, facts),
    penalty = if (method == "gram") NA_real_ else facts$T0
  )
}

#' The donors or the epsilon at which a method's error falls to what is wanted
#' @return `c(n, epsilon)`, `NA` where no value up to 10^7 donors, or from 0.01 to 1000, does.
#' @noRd
solve_plan <- function(method, n, epsilon, error, facts) {
  find <- function(excess, low, high) {
    if (excess(low) <= 0) {
      return(exp(low))
    }
    if (excess(high) > 0) {
      return(NA_real_)
    }
    exp(stats::uniroot(excess, c(low, high), tol = 1e-6)$root)
  }
  if (is.null(n)) {
    answer <- find(function(l) {
      log(plan_error(method, exp(l), epsilon, facts) / error)
    }, log(10), log(1e7))
    c(ceiling(answer), epsilon)
  } else {
    answer <- find(function(l) {
      log(plan_error(method, n, exp(l), facts) / error)
    }, log(0.01), log(1000))
    c(n, signif(answer, 4L))
  }
}

# Errors, on the scale where the bounds are [-1, 1] -----------------------------------------------

plan_error <- function(method, n, epsilon, facts) {
  switch(method,
    gram = {
      x <- gram_signal(
        list(n = n, T1 = facts$T1, delta = facts$delta),
        if (facts$delta > 0) cdp_rho_cpp(epsilon, facts$delta) else epsilon
      )
      interpolate(plan_table$gram, list(x = x, T0 = facts$T0, T1 = facts$T1), facts$design)
    },
    output = output_error(n, epsilon, facts),
    objective = objective_error(n, epsilon, facts)
  )
}

plan_floor <- function(method, facts) {
  reference <- plan_table$reference
  reference$error <- if (method == "gram") reference$gram else reference$output
  interpolate(reference, list(T0 = facts$T0), facts$design)
}

#' Public facts of a release that has not been made, with an ordinary target
#' @noRd
plan_facts <- function(method, n, epsilon, facts) {
  reference <- plan_table$reference
  reference$error <- reference$y
  norm <- interpolate(reference, list(T0 = facts$T0), facts$design)
  list(
    method = method, calibration = "tight", private = TRUE, epsilon = epsilon, delta = facts$delta,
    n = n, T0 = facts$T0, T1 = facts$T1, half = rep(1, facts$T0 + facts$T1),
    y = rep(norm / sqrt(facts$T0), facts$T0), control = dp_control()
  )
}

step_deviation <- function(step, dimension) {
  if (step$law == "gamma_norm") sqrt(dimension + 1) * step$scale else step$scale
}

#' Noise variances a^2 of a weight and b^2 of an outcome give a prediction the variance
#' `n a^2 (m + b^2) + b^2 |f|^2`, m the mean square of an outcome, |f|^2 about 1/n.
#' @noRd
output_error <- function(n, epsilon, facts) {
  plan <- plan_output(plan_facts("output", n, epsilon, facts))
  a <- step_deviation(plan$weights, n)
  b <- step_deviation(plan$post, n * facts$T1)
  reference <- plan_table$reference
  reference$error <- reference$square
  square <- interpolate(reference, list(T0 = facts$T0), facts$design)
  sqrt(plan_floor("output", facts)^2 + n * a^2 * (square + b^2) + b^2 / n)
}

#' Tabulated at delta = 1e-6 and T1 = 3; elsewhere in proportion to the noise on the outcomes
#' @noRd
objective_error <- function(n, epsilon, facts) {
  tabulated <- interpolate(plan_table$objective, list(
    n = n, epsilon = epsilon, T0 = facts$T0
  ), facts$design)
  if (facts$delta == 1e-6 && facts$T1 == 3) {
    return(tabulated)
  }
  noise <- function(facts) {
    plan <- plan_objective(plan_facts("objective", n, epsilon, facts))
    step_deviation(plan$post, n * facts$T1)
  }
  standard <- facts
  standard$delta <- 1e-6
  standard$T1 <- 3
  tabulated * noise(facts) / noise(standard)
}

#' Standard deviation of the noise on one weight, or on one moment of the donors
#' @noRd
plan_noise <- function(method, n, epsilon, facts) {
  public <- plan_facts(method, n, epsilon, facts)
  switch(method,
    gram = {
      public$bounds <- new_bounds(c(-1, 1), facts$T0 + facts$T1)
      step <- plan_gram(public)$steps_plan$moments2
      step$sigma / (step$radius^2 * n)
    },
    output = step_deviation(plan_output(public)$weights, n),
    objective = {
      step <- plan_objective(public)$weights
      step_deviation(step, n) / step$mu
    }
  )
}

#' Multilinear interpolation of log errors in the logs of the coordinates, held constant outside
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

# Methods ------------------------------------------------------------------------------------------

#' @rdname dp_plan
#' @export
print.dp_plan <- function(x, ...) {
  known <- c(
    if (!is.null(x$n)) count_of(x$n, "donor"), paste0(x$T0, " + ", x$T1, " periods"),
    if (!is.null(x$epsilon)) paste("epsilon =", format(x$epsilon)),
    paste("delta =", format(x$delta)),
    if (!is.null(x$error)) paste("error wanted:", format(x$error))
  )
  cat("Plan (no data were looked at): ", paste(known, collapse = ", "), "\n",
    "  root mean squared error of the counterfactual, bounds ", x$bounds[[1L]], " to ",
    x$bounds[[2L]], ", donors like sim_panel(\"", x$design, "\")\n\n",
    sep = ""
  )
  table <- x$table
  shown <- data.frame(
    method = paste0(table$method, ifelse(table$recommended, " *", "")),
    donors = formatC(table$n, format = "d", big.mark = ","), epsilon = format_value(table$epsilon),
    error = format_value(table$error), `of it noise` = format_value(table$privacy),
    `without privacy` = format_value(table$floor), check.names = FALSE
  )
  unknown <- is.na(table$n) | is.na(table$epsilon)
  shown[unknown, c("donors", "epsilon", "error", "of it noise")] <- "-"
  print(shown, row.names = FALSE, right = FALSE)
  cat("\n  * recommended", if (any(!table$recommended & is.na(table$error))) {
    "; -: cannot reach that error with 10 million donors or epsilon = 1000"
  }, "\n", sep = "")
  invisible(x)
}
