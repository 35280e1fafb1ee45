# What people read off a selection.

#' Read a selection
#'
#' @param x,object (`dp_selection`)\cr from [dp_select()].
#' @param newdata (`data.frame`)\cr rows to predict.
#' @param conf.int (`flag`)\cr add limits. They TAKE THE SELECTION AS GIVEN: they treat the chosen
#'   variables as if they had been fixed beforehand, and are too short for what a choice among many
#'   candidates makes of chance.
#' @param conf.level (`number`, in (0, 1))\cr their coverage.
#' @param ... unused.
#' @return
#' * `tidy()`: `term`, `rank` (order of the picks; 0 for the intercept), and with a refit
#'   `estimate`, `std.error` (sampling and privacy), `privacy.se`, `statistic`, `p.value`, all for
#'   a selection that is given. By method `"gram"` the same noise chooses and fits: unless every
#'   candidate is taken, errors and tests are `NA`.
#' * `glance()`: one row of facts. `coef()`: estimates, `vcov()`, `confint()`: with the same
#'   proviso. `nobs()`: the number of people. `predict()`: a vector. `autoplot()`: a ggplot,
#'   which `plot()` draws. `summary()`: the print, and all on privacy.
#' @name tidy.dp_selection
NULL

#' @rdname tidy.dp_selection
#' @export
tidy.dp_selection <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  call <- public_call("tidy")
  rank <- stats::setNames(seq_along(x$selected), x$selected)
  if (is.null(x$coefficients)) {
    return(data.frame(term = names(rank), rank = unname(rank)))
  }
  terms <- names(x$coefficients)
  error <- sqrt(diag(vcov.dp_selection(x)))
  statistic <- unname(x$coefficients) / error
  out <- data.frame(
    term = terms, rank = ifelse(terms %in% names(rank), rank[terms], 0),
    estimate = unname(x$coefficients), std.error = error,
    privacy.se = sqrt(diag(x$covariance$privacy)), statistic = statistic,
    p.value = 2 * stats::pnorm(-abs(statistic)), row.names = NULL
  )
  if (check_flag(conf.int, call = call)) out <- add_limits(out, error, conf.level, call)
  out
}

#' @rdname tidy.dp_selection
#' @export
glance.dp_selection <- function(x, ...) {
  data.frame(
    method = x$method, nobs = x$facts$n, candidates = x$facts$p, size = x$facts$size,
    abstained = x$abstained, epsilon = x$privacy$epsilon, delta = x$privacy$delta,
    private = x$privacy$holds
  )
}

#' @rdname tidy.dp_selection
#' @export
coef.dp_selection <- function(object, ...) {
  check_no_dots(..., call = public_call("coef"))
  object$coefficients
}

#' @rdname tidy.dp_selection
#' @export
predict.dp_selection <- function(object, newdata, ...) {
  call <- public_call("predict")
  check_no_dots(..., call = call)
  check_given(missing(newdata), "newdata", "the rows to predict", call)
  if (is.null(object$scaled)) {
    abort("This selection was made without a regression ({.code refit = FALSE}).", "argument", call)
  }
  table <- table_of_rows(object$columns, newdata, outcome = FALSE, call = call)
  score <- drop(table[, object$scaled$places, drop = FALSE] %*% object$scaled$theta)
  score[is.nan(score)] <- NA_real_
  outcome <- object$columns$outcome
  pmax(pmin(score * outcome$half + outcome$centre, outcome$upper), outcome$lower)
}

#' @rdname tidy.dp_selection
#' @export
print.dp_selection <- function(x, ...) print_lines(x, selection_lines(x))

#' @rdname tidy.dp_selection
#' @export
summary.dp_selection <- function(object, ...) new_summary(object, selection_lines(object), ...)

selection_lines <- function(x) {
  chosen <- if (x$abstained) {
    "  abstained: the data are not stable enough to name a support (an output, and paid for)"
  } else if (length(x$selected)) {
    strwrap(paste(x$selected, collapse = ", "), 90L, prefix = "  ")
  } else {
    "  no variable"
  }
  c(
    paste0(if (x$privacy$private) "Private selection" else "Selection", " of at most ",
      x$facts$size, " of ",
      x$facts$p, " variables by method \"", x$method, "\""),
    chosen,
    if (!is.null(x$coefficients)) {
      shown <- x$coefficients
      c("", paste0("  ", formatC(names(shown), width = -max(nchar(names(shown)))), "  ",
        formatC(shown, digits = 4L, format = "g")),
      if (chosen_by_its_noise(x)) {
        "  No intervals: the noise of these estimates chose the variables, too."
      } else {
        "  Intervals of tidy() take the selection as given."
      })
    },
    if (!is.null(x$hurdle)) {
      paste0(
        "  This budget finds variables whose scaled covariance with what is left is above about ",
        formatC(x$hurdle, digits = 2L, format = "g"), ".")
    },
    doubt_lines(x$doubts)
  )
}
