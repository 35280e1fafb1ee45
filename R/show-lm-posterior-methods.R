# Methods of posterior draws, which contain coefficients only.

#' Methods for a linear regression by posterior sampling
#'
#' Methods `"ops"` and `"adaops"` of [dp_lm()] release only coefficients. Standard errors would need
#' another release.
#'
#' @param object,x (`dp_paper`)\cr a fit.
#' @param newdata (`data.frame`, PUBLIC)\cr rows to predict; required.
#' @param ... unused.
#' @return
#' * `predict()`: a vector with one value per row.
#' * `coef()`, `nobs()`, `formula()`: see [dp_estimates].
#' * `tidy()`: a data frame with `term`, `estimate` and `std.error` (`NA`).
#' * `glance()`: one row of facts.
#' * `augment()`: `newdata` with `.fitted`.
#' * `summary()`: the printed fit, with all facts on privacy and the steps.
#' * `vcov()`, `confint()`, `residuals()` and `fitted()` stop with an error that gives the reason.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_data`.
#' @name dp_paper-methods
NULL

#' @noRd
paper_estimates <- function(fit) {
  new_estimates(fit$coefficients,
    text = fit$text, nobs = fit$nobs, columns = c("term", "estimate", "std.error"),
    lacks = list(
      reason = "this method releases coefficients alone",
      advice = "{.code method = \"moments\"} gives intervals."
    ),
    facts = list(
      method = fit$method, nobs = fit$nobs, ridge = fit$release$ridge,
      epsilon = fit$privacy$epsilon, delta = fit$privacy$delta, private = fit$privacy$holds
    )
  )
}

#' @rdname dp_paper-methods
#' @export
predict.dp_paper <- function(object, newdata, ...) door("predict", {
  check_no_dots(...)
  linear_predictor(object, newdata)$fit
})

#' @rdname dp_paper-methods
#' @export
augment.dp_paper <- function(x, newdata, ...) door("augment", {
  check_no_dots(...)
  newdata$.fitted <- unname(linear_predictor(x, newdata)$fit)
  newdata
})

#' @rdname dp_paper-methods
#' @export
print.dp_paper <- function(x, ...) print_lines(x, paper_lines(x))

#' @rdname dp_paper-methods
#' @export
summary.dp_paper <- function(object, ...) new_summary(object, paper_lines(object), ...)

paper_lines <- function(x) {
  c(
    paste("Linear regression of", format(x$nobs, big.mark = ","), "people by", x$title),
    paste0("  ", x$text), paste("  after", x$source), "", "Coefficients:",
    utils::capture.output(print(format(x$coefficients, digits = 4L), quote = FALSE)),
    "  No standard errors: this method releases coefficients alone.", posterior_noise_words(x),
    if (x$privacy$private) weak_budget_of_rows(x$privacy$epsilon)
  )
}

#' The noise of the draw, from the plan, as the largest standard deviation of a slope
#' @noRd
posterior_noise_words <- function(x) {
  if (!x$privacy$private) {
    return(NULL)
  }
  adaptive <- mechanism_table$dp_lm[[x$method]]$adaptive
  eigenvalue <- if (adaptive) x$plan$target else x$plan$ridge
  noise <- 1 / sqrt(x$plan$gamma * eigenvalue * length(x$coefficients))
  paste0(
    "  Noise of the draw: standard deviation of a slope at most ", format(noise, digits = 2L),
    "\n  (variables scaled to -1 to 1), in addition to the shrinkage by the ridge."
  )
}
