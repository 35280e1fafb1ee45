# Moments of the chosen columns, computed as one step of a stream, and the resulting fit.

#' Covariance in scaled units, or rank correlation, at which a variable is found 2 times in 3
#'
#' In a choice by noisy covariances, the covariance must exceed the largest of p - 1 other
#' covariances. These contain the noise of the choice (a Gumbel distribution with scale g) and
#' sampling noise with standard deviation s. On average the largest of them is g log p + s^2 / (2
#' g), but no more than the maximum of the sampling noise alone (as in the random energy model:
#' Derrida, 1981). A normal variable that is clipped at 1.2 standard deviations has variance one
#' half in units of its limits. For a variable that is not located, the bounds are assumed to be at
#' three standard deviations. Kendall's rank correlation of independent variables has a standard
#' deviation of 2 / (3 sqrt(n)); half of the rank correlation is used.
#' @noRd
covariance_hurdle <- function(method, facts, constants) {
  kind <- mechanism_table$dp_select[[method]]$hurdle
  if (kind == "none" || is.infinite(constants$exponent)) {
    return(NULL)
  }
  g <- 4 / constants$exponent / facts$n
  ranks <- kind == "rank correlation"
  s <- (if (ranks) 1 / 3 else if (constants$located) 1 / 2 else 1 / 9) / sqrt(facts$n)
  widest <- sqrt(2 * log(facts$p))
  others <- if (s <= g * widest) g * log(facts$p) + s^2 / (2 * g) else s * widest
  (1 + ranks) * (others + g * log(2))
}

select_from_moments <- function(selection) {
  forced <- as.integer(selection$facts$intercept)
  moments <- selection$moments
  used <- select_moments_cpp(moments$moments, selection$facts$size, forced, moments$sd)
  selection$selected <- selection$columns$names[used]
  if (selection$facts$refit) {
    all <- c(seq_len(forced), used)
    selection <- add_fit(selection, moments, all, all)
  }
  selection
}

#' Sums of products of people's scaled variables, released once
#' @noRd
selection_moments <- function(table, columns, plan, radius, rng, rho = NULL, budget = NULL) {
  p <- ncol(table) - 1L
  if (is.null(plan)) plan <- moments_plan(p, rho, budget)
  learner <- list(
    method = "gram", family = "gaussian", columns = as.double(p),
    radius = radius %||% usual_length(columns), clip = 1, ball = 1e6, psi = 1, lambda = 0,
      damping = 1
  )
  state <- stream_open_cpp(plan, learner)
  stream_advance_cpp(state, table, TRUE, FALSE, rng)
  stream_moments_cpp(state)
}

#' A release of moments, as a stream with one step for all rows
#' @noRd
moments_plan <- function(p, rho, budget) {
  budget$rho <- rho
  plan_stream("tree", "gram", p + 1, 1, c(times = 1, apart = 1), budget)
}

#' The columns of a part of the table, with only the facts that determine the norm of a row
#' @noRd
sub_columns <- function(columns, used) {
  lengths <- unlist(lapply(columns$regressors, function(column) {
    stub <- list(
      lower = if (always_full(column)) 0 else -1, upper = 1, deviation = column$deviation
    )
    rep(list(stub), length(column_names(column, columns$intercept)))
  }), recursive = FALSE)
  list(intercept = columns$intercept, regressors = lengths[used - columns$intercept])
}

#' @param rows (`integer`)\cr positions in the moments. `places`: positions among all columns.
#' @noRd
add_fit <- function(selection, moments, rows, places) {
  fit <- fit_moments_cpp(moments$moments, rows, moments$sd, moments$rows)
  units <- unscaling(selection$columns)
  map <- units$map[places, places, drop = FALSE]
  selection$coefficients <- stats::setNames(
    drop(map %*% fit$theta) + units$shift[places], selection$columns$names[places]
  )
  selection$covariance <- list(
    privacy = map %*% fit$privacy %*% t(map), total = map %*% fit$total %*% t(map)
  )
  selection$scaled <- list(places = places, theta = fit$theta)
  selection
}

#' Columns in the units of their moments, and hence of slopes
#' @noRd
fitted_columns <- function(columns, location, method) {
  what <- if (is.null(mechanism_table$dp_select[[method]]$pick)) "moments" else "refit"
  located_columns(columns, location, what)
}
