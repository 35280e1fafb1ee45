# Plans for a logistic regression from public formulas alone, before any data are read.

#' Plan a logistic regression before touching any data
#'
#' Computes the factor by which privacy increases the standard errors of [dp_glm()], for several
#' numbers of people and values of epsilon. The factor is computed by formulas without data, for
#' regressors that are not nearly collinear. If all slopes are identified, the computed factor is
#' .69 to 1.41 times the factor in simulations (`bench/results/glm.csv`). Long tails of regressors
#' are not part of the formulas: with them standard errors in three data sets were 1.2 to 1.9 times
#' the forecast, and errors up to 2.6 times. For linear regression see [dp_plan_lm()].
#'
#' @param formula,bounds as in [dp_glm()]; `p` and `numbers` follow from these two arguments. If you
#'   do not give `formula` and `bounds`, give `p`.
#' @param n (`numeric`)\cr numbers of people.
#' @param epsilon (`numeric`)\cr privacy losses.
#' @param delta (`number`, in (0, 1))\cr failure probability.
#' @param share (`number` in (0, .5\])\cr the smallest share of people that is expected for a value
#'   of a 0/1 regressor, or for a level of a factor; `longer` and `identified` then refer to the
#'   coefficient of this value or level.
#' @param p (`count`)\cr number of columns without the intercept; a factor with k levels counts as k
#'   - 1 columns.
#' @param numbers (`count`)\cr the number of numeric regressors (as opposed to factors); by default
#'   `p`.
#' @param ... unused.
#' @return A data frame with one row per pair of `n` and `epsilon`. PUBLIC. Its further columns are
#'   `longer` (the ratio of standard errors with privacy to standard errors without it; `Inf` if the
#'   budget is too small for a release), `identified` (whether slopes will be identified) and
#'   `located` (whether medians will be found, so that bounds may be wide).
#' @section Errors: `dpsc_error_argument`.
#' @examples
#' bounds <- list(ill = c(FALSE, TRUE), age = c(0, 120), region = c("n", "s", "w"))
#' dp_plan_glm(ill ~ age + region, bounds, n = c(1000, 10000), epsilon = c(0.5, 1))
#' dp_plan_glm(n = c(1000, 10000, 1e5), epsilon = 1, p = 5)
#' @export
dp_plan_glm <- function(formula, bounds, n, epsilon = 1, delta = 1e-6, share = 0.5, p = NULL,
                        numbers = p, ...) door("dp_plan_glm", {
  check_no_dots(...)
  if (!missing(formula)) {
    check_plan_formula(formula)
    check_every_bound(formula, if (!missing(bounds)) bounds)
    columns <- lm_columns(formula, bounds, glm_families$binomial$outcome)
    p <- length(columns$columns)
    kinds <- vapply(columns$variables, `[[`, "", "kind")
    numbers <- sum(utils::head(kinds, -1L) != "level")
  }
  check_given(missing(n), "n", "numbers of people")
  check_given(is.null(p), "formula", "the model, or the number of its columns as {.arg p}")
  p <- check_count(p, 1, 500)
  numbers <- check_count(numbers, 0, 500)
  delta <- check_number(delta, 0, 1, open = c("min", "max"))
  share <- check_number(share, 0, 0.5, open = "min")
  for (given in list(n, epsilon)) {
    if (!is.numeric(given) || !length(given) || !all(is.finite(given)) || any(given <= 0)) {
      abort("{.arg n} and {.arg epsilon} must be positive numbers.", "argument")
    }
  }
  cells <- expand.grid(n = n, epsilon = epsilon)
  rows <- Map(function(n, epsilon) {
    plan_logistic_row(n, p, epsilon, delta, numbers, share)
  }, cells$n, cells$epsilon)
  cbind(cells, do.call(rbind, rows))
})

#' Refuse numbers as the first arguments, which in version 0.2.0 were `n` and `p`
#' @noRd
check_plan_formula <- function(formula) {
  if (is.numeric(formula)) {
    abort(c(
      "The first two arguments of {.fn dp_plan_glm} must be a formula and bounds.",
      i = paste(
        "To plan with numbers only, name them, as in {.code dp_plan_glm(n = , p = , epsilon = )}.",
        "Version 0.2.0 accepted them without names."
      )
    ), "argument")
  }
}

#' The factor of standard errors, by a first-order formula. The mean curvature per row of a logistic
#' model is about .17 in whitened coordinates, weights included. First-order noise is too small by
#' the core's factor 1.2 (measured in bench/glm.R). Rows of a rare group are as long as the limit,
#' or have weights reduced by the square.
#' @noRd
plan_logistic_row <- function(n, p, epsilon, delta, numbers, share) {
  given <- seq_len(p)
  variables <- rep(list(list(centre = 0, half = 1)), p + 1)
  facts <- list(
    n = n, epsilon = epsilon, delta = delta, family = "binomial", upper = 1, intervals = TRUE,
    design = list(
      names = paste0("x", seq_along(variables)), centre = rep(0, p + 1), half = rep(1, p + 1),
      indicator = c(given > numbers, TRUE), columns = lapply(given, function(j) {
        list(variables = j, powers = 1L)
      })
    )
  )
  plan <- tryCatch(glm_plan_cpp(facts), `dpsc::budget_too_small` = function(e) NULL)
  if (is.null(plan)) {
    return(data.frame(longer = Inf, identified = FALSE, located = FALSE))
  }
  d <- p + 1
  group <- 1 + (1 - share) / share + p - 1
  # If all columns are two-valued, no row is longer than the rows of the rarest group.
  square <- max(group, if (numbers > 0) plan$stretch * d)
  square <- min(square, max(d, plan$longest^2))
  weight <- min(1, square / group)
  told <- 0.17 * n * weight
  noise <- 1.2 * (d + 1) * (2 / plan$reach)^2 * square
  # The noise of the information, computed from rows clipped at half the limit.
  mu <- plan$steps$mu[plan$steps$step == "information"]
  doubt <- 2.5 * sqrt(2) * square / 4 / mu
  data.frame(
    longer = sqrt(1 + noise / told / weight),
    identified = told - doubt > plan$identified.from * square / plan$c, located = plan$located
  )
}
