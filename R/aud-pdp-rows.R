# Privacy loss of each person in the table of a private regression. The code reads raw rows, so all
# results are PRIVATE and for the curator only. Formulas: inst/proofs/papers.md, section 8.

#' Privacy loss of each person in a regression
#'
#' Computes, after a private regression, the privacy loss of each person in *this* table, as [pdp()]
#' does for panels. The losses depend on the rows without noise, so they are for the **curator
#' only**: never publish them, and never choose the noise by them.
#'
#' `removal` compares this table with the table without the person's row. `replacement` compares
#' this table with every table that contains another row in place of the person's row, and is a
#' certified upper bound at `delta`. Steps that find medians, scales and radii contribute their full
#' charge to both losses. `realised` is the log ratio of the densities with and without the person's
#' row, at the released coefficients: the information about the person in this release. `realised`
#' can be negative, includes only the steps that draw a linear term or an output, and does not bound
#' the losses from later releases.
#'
#' * For [dp_lm()] with method `"moments"` the loss is computed from the exact Gaussian shifts that
#'   the person's row causes in every round.
#' * For [dp_lm()] with methods `"ops"` and `"adaops"` the loss is the exact two-sided loss of the
#'   posterior draw, computed from leverage and leave-one-out residual (Wang, 2019, with the errors
#'   of Theorem 14 corrected). One matrix factorisation suffices for all people.
#' * For [dp_glm()] with the papers' methods, for every family, the loss is computed from slope and
#'   curvature of the loss function at the worst point, for a row of this length (for counts, and
#'   with coefficients in a box, also with this outcome). For method `"output"` the loss is computed
#'   from the change of the minimiser, by a Newton step with a bound on its remainder.
#' * For [dp_glm()] with method `"objective"` without a penalty, for every family, the loss is the
#'   Renyi bound for this row's weighted length and, for counts, this row's outcome. One matrix
#'   factorisation suffices for all people. With few people the weights make nearly all rows
#'   equally long (see [dp_glm()], Estimand). The bounds of most people are then nearly equal, and
#'   only `realised` differs.
#'
#' @param x (`dp_lm`, `dp_paper` or `dp_glm`)\cr a private fit.
#' @param data (`data.frame`, PRIVATE)\cr the rows to which `x` was fitted, in any order.
#' @param subset (`expression`)\cr as in the fit.
#' @section Fits without known losses of single people: The guarantee also bounds the losses from
#'   the following fits, but the loss of a single person is not available:
#'   * of [dp_glm()], if the minimiser was not found;
#'   * with a penalty or constraints, because a whole set of noise values leads to the same fit on
#'     an edge of the penalty, and the probability of this set has no closed form;
#'   * with weights, with several rows per person and with `vcov = "HC"`, because no formula is
#'     proved;
#'   * for the published version of NAPP-ERM, because its losses are infinite;
#'   * for [dp_select()], because a person changes the scores of many candidates at once, and tests
#'     depend on the smallest gap between these scores;
#'   * for [dp_online()] and [dp_stream_sum()], because rows are not stored;
#'   * for [dp_aggregate()], because the assignment of people to blocks is not stored;
#'   * for [dp_describe()], because the losses of its many steps are not added up by person.
#' @param newdata (`data.frame` or `NULL`, PRIVATE)\cr rows of people who are *not* in `data`. The
#'   result is then the loss of each of these people if they joined in place of a missing row,
#'   without `realised`. Wang (2019) calls the losses of all people who might join "pDP for all".
#' @param delta (`number`, in \[0, 1))\cr the delta for which epsilon is computed. `NULL`: the delta
#'   of the fit.
#' @param ... unused.
#' @return An object of class `dp_pdp` as from [pdp()], PRIVATE. Its element `donors` is a data
#'   frame with one row per person. The columns are the columns of [pdp()], with `person` (position)
#'   in place of `donor`, and `realised`. Mean, standard deviation and quantiles of the losses
#'   ("moment pDP") are in [summary()][print.dp_pdp()].
#' @section Errors: `dpsc_error_argument`, `dpsc_error_data`.
#' @references Wang, Y.-X. (2019). Per-instance Differential Privacy. Journal of Privacy and
#'   Confidentiality 9(1).
#'
#'   Redberg, R. and Wang, Y.-X. (2021). Privately Publishable Per-instance Privacy. NeurIPS.
#' @examples
#' n <- 2000
#' people <- data.frame(x = runif(n, -1, 1))
#' people$y <- pmin(pmax(people$x + rnorm(n, sd = 0.3), -3), 3)
#' fit <- dp_lm(y ~ x, people, epsilon = 1, bounds = list(y = c(-3, 3), x = c(-1, 1)))
#' summary(pdp(fit, people))
#' @name pdp_rows
NULL

#' @rdname pdp_rows
#' @export
pdp.dp_lm <- function(x, data, subset = NULL, delta = NULL, newdata = NULL, ...) door("pdp", {
  if (x$columns$weighted || !is.null(x$release$scores)) {
    abort_unknown_losses("this fit",
      i = "Losses are known for a fit without {.arg weights} and with {.code vcov = \"const\"}."
    )
  }
  at <- pdp_rows_input(x, data, substitute(subset), delta, ...)
  # A person's shift depends only on the person's row and on released values.
  loss <- lm_row_losses(x, outsiders(x, newdata) %||% at$table, at$delta)
  new_row_losses(x, loss, at$delta, "moments")
})

#' @rdname pdp_rows
#' @export
pdp.dp_paper <- function(x, data, subset = NULL, delta = NULL, newdata = NULL, ...) door("pdp", {
  at <- pdp_rows_input(x, data, substitute(subset), delta, ...)
  rows <- paper_rows_cpp(at$table, x$facts$design)
  others <- outsiders(x, newdata)
  loss <- if (is.null(others)) {
    posterior_row_losses(x, rows, at$delta)
  } else {
    posterior_joining_losses(x, rows, paper_rows_cpp(others, x$facts$design), at$delta)
  }
  new_row_losses(x, loss, at$delta, x$method)
})

#' @rdname pdp_rows
#' @export
pdp.dp_glm <- function(x, data, subset = NULL, delta = NULL, newdata = NULL, ...) door("pdp", {
  at <- pdp_rows_input(x, data, substitute(subset), delta, ...)
  if (isTRUE(x$release$failed) || length(x$public$facts$wishes) || isTRUE(x$columns$weighted)) {
    abort_unknown_losses("this fit",
      i = paste(
        "Losses are known for a fit that succeeded, without {.arg penalty}, {.arg constraints}",
        "or {.arg weights}."
      )
    )
  }
  record <- mechanism_table$dp_glm[[x$method]]
  if (!x$privacy$holds && nzchar(x$privacy$reason) && x$calibration %in% names(record$broken)) {
    abort(c(
      "NAPP-ERM as published has infinite privacy losses for some rows.",
      i = "A release with {.code calibration = \"tight\"} has finite losses for all rows."
    ), "argument")
  }
  loss <- record$loss(x, at$table, at$delta, outsiders(x, newdata))
  new_row_losses(x, loss, at$delta, x$method, x$calibration)
})

#' @return A list: `table` (PRIVATE), `delta`.
#' @noRd
pdp_rows_input <- function(x, data, subset, delta, ...) {
  check_no_dots(...)
  check_given(missing(data), "data", "the rows to which the model was fitted")
  if (!is.null(x$columns$person$column)) {
    abort_unknown_losses("a fit with several rows per person",
      i = "The guarantee bounds each of these losses."
    )
  }
  check_noisy(x, "Fit", "fit", "person")
  delta <- loss_delta(x, delta)
  table <- lm_table(x$columns, data, TRUE)
  if (!is.null(subset)) table <- leave_out(table, subset, data)
  if (nrow(table) != x$nobs) {
    abort(c(
      "{.arg data} cannot be the rows of the fit.",
      x = "The fit has {x$nobs} rows; {.arg data} has {nrow(table)} rows."
    ), "data")
  }
  list(table = table, delta = delta)
}

#' @return Rows of people who are not in the data (PRIVATE), or `NULL`.
#' @noRd
outsiders <- function(x, newdata) {
  if (is.null(newdata)) {
    return(NULL)
  }
  if (!is.data.frame(newdata) || nrow(newdata) == 0L) {
    abort(c(
      "{.arg newdata} must be a data frame with one row for each person who might join.",
      x = "It is {describe(newdata)}."
    ), "argument")
  }
  lm_table(x$columns, newdata, TRUE)
}

new_row_losses <- function(x, loss, delta, method, calibration = "tight") {
  structure(list(
    donors = data.frame(person = seq_len(nrow(loss)), loss),
    worst = x$privacy$epsilon, delta = delta,
    method = method, calibration = calibration, holds = x$privacy$holds,
    reason = x$privacy$reason, unit = "person"
  ), class = "dp_pdp")
}

# Moments -----------------------------------------------------------------------------------------

#' Gaussian shifts by a person's row in the rounds of dp_lm(), with the full charge of other steps
#' @noRd
lm_row_losses <- function(fit, table, delta) {
  facts <- list(
    n = fit$nobs, epsilon = fit$privacy$epsilon, delta = fit$privacy$delta,
    design = lm_design(fit$columns)
  )
  plan <- lm_plan_cpp(facts)
  rounds <- seq_along(fit$release$rounds)
  steps <- plan$steps
  moments <- startsWith(steps$step, "moments")
  stopifnot(sum(moments) == length(rounds))
  taken <- replaced <- 0
  for (k in rounds) {
    made <- lm_rows_cpp(table, facts, fit$release, k)
    noise <- plan$rounds[[k]]$noise
    if (fit$privacy$delta > 0) {
      squared <- rowSums(made$rows^2)
      # |uu' - vv'|^2 is largest for orthogonal u and v.
      taken <- taken + squared^2 / (noise - 32)
      replaced <- replaced + (squared^2 + made$bound^2) / (noise - 32)
    } else {
      # The sum covers the entries on and above the diagonal.
      taken <- taken + (rowSums(abs(made$rows))^2 + rowSums(made$rows^2)) / 2 / noise
      replaced <- replaced + steps$epsilon[moments][[k]]
    }
  }
  if (fit$privacy$delta > 0) {
    other <- sum(steps$mu[!moments]^2)
    mu <- lapply(list(taken, replaced), function(shift) sqrt(other + shift) * discrete_margin)
    return(data.frame(shift_losses(mu[[1L]], mu[[2L]], delta), realised = NA_real_))
  }
  other <- sum(steps$epsilon[!moments])
  row_losses(other + taken, other + replaced)
}

# Posterior draws ---------------------------------------------------------------------------------

#' Exact loss of a posterior draw by the removal of a row, from one factorisation for all people
#' @noRd
posterior_row_losses <- function(fit, rows, delta) {
  law <- posterior_law(fit, rows)
  inside <- pmin(colSums(backsolve(law$root, t(rows$x), transpose = TRUE)^2), 1 - 1e-12)
  # The residual from a fit without the person.
  error <- drop(rows$y - rows$x %*% law$theta) / (1 - inside)
  loss <- posterior_losses(fit, rows, inside / (1 - inside), error, delta)
  realised <- realised_posterior(fit, rows, inside, error, law$theta)
  row_losses(loss$removal, loss$replacement, realised)
}

#' Losses of people outside the data who would replace a missing row
#' @noRd
posterior_joining_losses <- function(fit, rows, others, delta) {
  law <- posterior_law(fit, rows)
  leverage <- colSums(backsolve(law$root, t(others$x), transpose = TRUE)^2)
  error <- drop(others$y - others$x %*% law$theta)
  loss <- posterior_losses(fit, others, leverage, error, delta)
  row_losses(loss$removal, loss$replacement)
}

#' Root of the posterior precision without its factor gamma, and posterior mean
#' @noRd
posterior_law <- function(fit, rows) {
  root <- chol(crossprod(rows$x) + diag(fit$release$ridge, ncol(rows$x)))
  xy <- crossprod(rows$x, rows$y)
  list(root = root, theta = drop(backsolve(root, backsolve(root, xy, transpose = TRUE))))
}

#' @param leverage,error (`numeric`)\cr leverage and residual of each person in a fit without this
#'   person.
#' @noRd
posterior_losses <- function(fit, rows, leverage, error, delta) {
  epsilon <- fit$privacy$epsilon
  adaptive <- mechanism_table$dp_lm[[fit$method]]$adaptive
  part <- if (adaptive) delta / 3 else delta
  whole <- if (adaptive) epsilon / 2 else epsilon
  one_way <- part / (1 + exp(whole / 2))
  removal <- posterior_loss_cpp(leverage, fit$plan$gamma, error, one_way, TRUE)
  # Any row may replace the person's row; each direction takes half of the budget.
  half <- if (is.finite(nominal_epsilon(fit, delta))) whole / 2 else Inf
  removal <- pmin(removal, half)
  replacement <- removal + half
  if (adaptive) {
    shift <- sqrt(pmin(rowSums(rows$x^2), 1)) * (2^20 + 2) / sqrt(fit$plan$variance - 16)
    removal <- removal + shift_epsilon(shift, part)
    replacement <- replacement + nominal_epsilon(fit, delta) / 2
  }
  list(removal = removal, replacement = replacement)
}

#' Log-ratio of the densities with and without the person at the drawn coefficients
#' @noRd
realised_posterior <- function(fit, rows, inside, error, theta) {
  drawn <- fit$release$theta * sqrt(ncol(rows$x))
  own <- rows$y - drop(rows$x %*% drawn)
  # Adding the person increases H by xx'. The exponent increases by the person's squared residual
  # minus the improvement of the best fit.
  -0.5 * log1p(-inside) - fit$plan$gamma / 2 * (own^2 - (1 - inside) * error^2)
}
