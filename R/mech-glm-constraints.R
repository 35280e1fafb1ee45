# Linear constraints on slopes of a private generalised linear model, with public rows A and limits
# b. The core minimises with the constraints as stiff quadratic penalties ("springs"). Afterwards,
# or instead, the code here moves the released point to the nearest feasible point in the metric of
# the released errors: post-processing.

#' @param limits (`list`, PUBLIC)\cr `A`, `b`, `simplex`, `lower`, `upper`, as in `dp_glm()`.
#' @param names (`character`)\cr the names of the slopes.
#' @return A list: `A` (one row per constraint, one column per slope), `b`, `equal` (one flag per
#'   row). PUBLIC.
#' @noRd
linear_limits <- function(limits, names) {
  p <- length(names)
  out <- list(A = matrix(0, 0L, p), b = numeric(), equal = logical())
  add <- function(A, b, equal = FALSE) {
    out <<- list(
      A = rbind(out$A, unname(A)), b = c(out$b, b), equal = c(out$equal, rep(equal, length(b)))
    )
  }
  if (xor(is.null(limits$A), is.null(limits$b))) {
    abort("{.code A} and {.code b} must be given together.", "argument")
  }
  if (!is.null(limits$A)) {
    A <- check_constraint_rows(limits$A, names)
    b <- limits$b
    if (!is.numeric(b) || length(b) != nrow(A) || !all(is.finite(b))) {
      abort("{.code b} must contain one finite number for each row of {.code A}.", "argument")
    }
    add(A, as.double(b))
  }
  if (check_flag(limits$simplex %||% FALSE, arg = "constraints$simplex")) {
    add(-diag(p), numeric(p))
    add(matrix(1, 1L, p), 1, TRUE)
  }
  lower <- check_limits(limits$lower, -1e300, names)
  upper <- check_limits(limits$upper, 1e300, names)
  add(-diag(p)[lower > -1e300, , drop = FALSE], -lower[lower > -1e300])
  add(diag(p)[upper < 1e300, , drop = FALSE], upper[upper < 1e300])
  at <- nearest_within_cpp(numeric(p), diag(p), out)
  if (is.null(at)) {
    abort("The constraints are infeasible: no slopes satisfy all of them.", "argument")
  }
  out
}

check_constraint_rows <- function(A, names) {
  if (is.numeric(A) && is.null(dim(A))) A <- t(A)
  ok <- is.matrix(A) && is.numeric(A) && all(is.finite(A)) && nrow(A) > 0L && nrow(A) <= 500L &&
    all(rowSums(A != 0) > 0)
  if (ok && !is.null(colnames(A))) {
    ok <- all(colnames(A) %in% names) && !anyDuplicated(colnames(A))
    if (ok) {
      whole <- matrix(0, nrow(A), length(names))
      whole[, match(colnames(A), names)] <- A
      return(whole)
    }
  }
  if (!ok || ncol(A) != length(names)) {
    abort(c(
      paste(
        "{.code A} must be a matrix of finite numbers, with one row per constraint and one column",
        "per slope."
      ),
      i = "The columns must be the slopes {.val {names}}, in this order or with these names.",
      i = "Give 1 to 500 rows, each with a number other than 0."
    ), "argument")
  }
  A
}

#' Coefficients, intercept first, moved to the nearest point that satisfies the limits on slopes
#' @noRd
constrain_estimate <- function(estimate, limits, within = FALSE) {
  V <- estimate$privacy + estimate$sampling
  limits$A <- cbind(0, limits$A)
  V <- V / mean(diag(V))
  from <- as.double(estimate$coefficients)
  nearest <- function(limits) {
    nearest_within_cpp(from, V, limits) %||%
      # If the metric is numerically singular, each slope is treated separately.
      nearest_within_cpp(from, diag(pmax(diag(V), 1e-6)), limits)
  }
  tight <- limits
  if (within) {
    # The minimiser satisfies these constraints with equality, except for the noise that covers the
    # solver's error.
    blur <- sqrt(rowSums((limits$A %*% estimate$blur) * limits$A))
    tight$equal <- limits$equal | drop(limits$A %*% from) - limits$b > -8 * blur
  }
  estimate$coefficients <- nearest(tight) %||% nearest(limits) %||% rep(NA_real_, length(from))
  estimate
}

#' One limit per slope, from a single number or from numbers with names
#' @noRd
check_limits <- function(given, free, names) {
  out <- rep(free, length(names))
  if (is.null(given)) {
    return(out)
  }
  ok <- is.numeric(given) && !anyNA(given) && all(is.finite(given)) &&
    (length(given) == 1L && is.null(names(given)) ||
      length(given) && !is.null(names(given)) && all(names(given) %in% names) &&
        !anyDuplicated(names(given)))
  if (!ok) {
    abort(c(
      "{.code lower} and {.code upper} must each be one number, or numbers named by slopes.",
      i = "The slopes are {.val {names}}."
    ), "argument")
  }
  if (is.null(names(given))) out[] <- given else out[match(names(given), names)] <- given
  out
}
