# What people read off a posterior draw: coefficients, and that there is no more.

#' Read a linear regression by posterior sampling
#'
#' Methods `"ops"` and `"adaops"` of [dp_lm()] release coefficients and nothing else. So there are
#' no standard errors: those would be another release.
#'
#' @param object,x (`dp_paper`)\cr a fit.
#' @param newdata (`data.frame`, PUBLIC)\cr rows to predict; required.
#' @param ... unused.
#' @return
#' * `coef()`: a vector. `predict()`: a vector, one value a row. `nobs()`: the number of people.
#' * `tidy()`: `term`, `estimate`, `std.error` (`NA`). `glance()`: one row of facts. `augment()`:
#'   `newdata` with `.fitted`.
#'   `summary()`: the print, and all on privacy with its steps.
#' * `vcov()`, `confint()`, `residuals()`, `fitted()`: an error that says why.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_data`.
#' @name dp_paper-methods
NULL

#' @rdname dp_paper-methods
#' @export
predict.dp_paper <- function(object, newdata, ...) {
  call <- public_call("predict")
  check_no_dots(..., call = call)
  linear_predictor(object, newdata, call)$fit
}

#' @rdname dp_paper-methods
#' @export
vcov.dp_paper <- function(object, ...) {
  abort_of_paper(object, "vcov")
}

#' @rdname dp_paper-methods
#' @export
confint.dp_paper <- function(object, ...) {
  abort_of_paper(object, "confint")
}

abort_of_paper <- function(object, name) {
  abort(c(
    "Method {.val {object$method}} releases coefficients alone: there are no errors to tell.",
    i = "{.code method = \"moments\"} releases what intervals need."
  ), "argument", public_call(name))
}

#' @rdname dp_paper-methods
#' @export
tidy.dp_paper <- function(x, ...) {
  check_no_dots(..., call = public_call("tidy"))
  data.frame(
    term = names(x$coefficients), estimate = unname(x$coefficients), std.error = NA_real_
  )
}

#' @rdname dp_paper-methods
#' @export
glance.dp_paper <- function(x, ...) {
  data.frame(
    method = x$method, nobs = x$nobs, ridge = x$release$ridge,
    epsilon = x$privacy$epsilon, delta = x$privacy$delta, private = x$privacy$holds
  )
}

#' @rdname dp_paper-methods
#' @export
augment.dp_paper <- function(x, newdata, ...) {
  newdata$.fitted <- unname(linear_predictor(x, newdata, public_call("augment"))$fit)
  newdata
}

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

#' The draw's own noise, from the plan: the standard deviation of a slope, where it is largest
#' @noRd
posterior_noise_words <- function(x) {
  if (!x$privacy$private) {
    return(NULL)
  }
  eigenvalue <- if (x$method == "adaops") x$plan$target else x$plan$ridge
  noise <- 1 / sqrt(x$plan$gamma * eigenvalue * length(x$coefficients))
  paste0(
    "  The draw's noise is ", format(noise, digits = 2L), " at most (standard deviation of a slope",
    " where all variables\n  range from -1 to 1), beside what the ridge takes off."
  )
}
