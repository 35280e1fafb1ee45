# Methods of selections.

#' Read a selection
#'
#' @param x,object (`dp_selection`)\cr from [dp_select()].
#' @param newdata (`data.frame`)\cr rows to predict.
#' @param ... unused.
#' @return
#' * `tidy()`: a data frame with `term` and `rank` (the order of selection; 0 for the intercept).
#'   With a refit there are also `estimate`, `std.error` (for sampling and privacy), `privacy.se`,
#'   `statistic` and `p.value`, all conditional on the selection. For method `"gram"` the same noise
#'   affects selection and fit, so in a private selection `std.error`, tests and confidence limits
#'   are `NA` unless every candidate is selected. Confidence limits TAKE THE SELECTION AS GIVEN:
#'   they treat the selected variables as fixed beforehand, and are too narrow because they ignore
#'   the selection among many candidates.
#' * `coef()`, `vcov()`, `confint()`, `glance()`, `nobs()`: see [dp_estimates]. The results of these
#'   methods are also conditional on the selection.
#' * `predict()`: a vector of predictions within the outcome's bounds, `NA` for rows in which a
#'   regressor is missing. Without a refit the call stops with an error.
#' * `autoplot()`: a ggplot; `plot()` draws it.
#' * `summary()`: the printed selection, with all facts on privacy and the steps.
#' @name dp_selection-methods
NULL

#' @noRd
selection_estimates <- function(fit) {
  terms <- names(fit$coefficients) %||% fit$selected
  covariance <- lapply(fit$covariance, named_square, names = terms)
  if (!is.null(fit$coefficients) && chosen_by_its_noise(fit)) covariance$total[] <- NA
  new_estimates(fit$coefficients,
    index = data.frame(term = as.character(terms), rank = match(terms, fit$selected, 0L)),
    columns = append(error_columns, "rank", 1L), covariance = covariance, nobs = fit$facts$n,
    lacks = if (is.null(fit$coefficients)) {
      list(reason = paste("this selection contains no regression, since", no_refit_reason(fit)))
    },
    facts = list(
      method = fit$method, nobs = fit$facts$n, candidates = fit$facts$p, size = fit$facts$size,
      abstained = fit$abstained, epsilon = fit$privacy$epsilon, delta = fit$privacy$delta,
      private = fit$privacy$holds
    )
  )
}

#' Did the noise of the fit also affect the choice? If so, intervals have half of their nominal
#' coverage.
#' @noRd
chosen_by_its_noise <- function(x) {
  by_moments <- is.null(mechanism_table$dp_select[[x$method]]$pick)
  x$privacy$private && by_moments && length(x$selected) < x$facts$p
}

no_refit_reason <- function(x) {
  if (isTRUE(x$facts$refit)) "no variable was selected" else "it was made with refit = FALSE"
}

#' @rdname dp_selection-methods
#' @export
predict.dp_selection <- function(object, newdata, ...) door("predict", {
  check_no_dots(...)
  check_given(missing(newdata), "newdata", "the rows to predict")
  if (is.null(object$scaled)) {
    abort("This selection contains no regression, since {no_refit_reason(object)}.", "argument")
  }
  table <- table_of_rows(object$columns, newdata, outcome = FALSE)
  score <- drop(table[, object$scaled$places, drop = FALSE] %*% object$scaled$theta)
  score[is.nan(score)] <- NA_real_
  outcome <- object$columns$outcome
  pmax(pmin(score * outcome$half + outcome$centre, outcome$upper), outcome$lower)
})

#' @rdname dp_selection-methods
#' @export
print.dp_selection <- function(x, ...) print_lines(x, selection_lines(x))

#' @rdname dp_selection-methods
#' @export
summary.dp_selection <- function(object, ...) new_summary(object, selection_lines(object), ...)

#' The ranges to which a refit clips its variables, where the release found them
#' @noRd
clipped_words <- function(x) {
  columns <- c(x$columns$regressors, list(x$columns$outcome))
  names <- vapply(columns, `[[`, "", "name")
  located <- !vapply(columns, function(column) is.null(column$deviation), NA)
  used <- columns[located & names %in% c(x$selected, x$columns$outcome$name)]
  if (length(used)) {
    ranges <- vapply(used, function(column) {
      paste(column$name, format_value(column$lower), "to", format_value(column$upper))
    }, "")
    strwrap(paste0(
      "Slopes are for variables clipped to these ranges: ", paste(ranges, collapse = ", "),
      ". For variables with long tails they differ from the slopes of lm()."
    ), 90L, prefix = "  ")
  }
}

selection_lines <- function(x) {
  chosen <- if (x$abstained) {
    "  abstained: no set of variables is stable enough to be released (the budget is spent)"
  } else if (length(x$selected)) {
    strwrap(paste(x$selected, collapse = ", "), 90L, prefix = "  ")
  } else {
    "  no variable was selected"
  }
  c(
    paste0(if (x$privacy$private) "Private selection" else "Selection",
      if (x$facts$size < x$facts$p) paste0(" of at most ", x$facts$size, " of ") else " from ",
      count_of(x$facts$p, "variable"), " by method \"", x$method, "\""),
    chosen,
    if (!is.null(x$coefficients)) {
      shown <- x$coefficients
      c("", paste0("  ", formatC(names(shown), width = -max(nchar(names(shown)))), "  ",
        formatC(shown, digits = 4L, format = "g")),
      if (chosen_by_its_noise(x)) {
        "  No intervals: the noise of these estimates also determined the selection."
      } else {
        "  Intervals of tidy() treat the selection as fixed."
      }, clipped_words(x))
    },
    if (!is.null(x$hurdle)) {
      paste0(
        "  This budget finds variables whose ",
        c(covariance = "scaled covariance", `rank correlation` = "rank correlation (tau)")[[
          mechanism_table$dp_select[[x$method]]$hurdle
        ]], " with the residual is above about ",
        formatC(x$hurdle, digits = 2L, format = "g"), ".")
    },
    doubt_lines(x$doubts)
  )
}
