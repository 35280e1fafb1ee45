# The verbs that all private regressions have in common: coefficients were released, people's values
# were not. Post-processing, free.

#' @rdname dp_estimates
#' @export
residuals.dp_regression <- function(object, ...) door("residuals", {
  abort_of_people("Residuals", "residuals", object$privacy$private)
})

#' @rdname dp_estimates
#' @export
fitted.dp_regression <- function(object, ...) door("fitted", {
  abort_of_people("Fitted values", "fitted", object$privacy$private)
})

abort_of_people <- function(what, name, private = TRUE) {
  abort(c(
    if (private) {
      "{what} are values of single people: a private fit does not have them."
    } else {
      "{what} are values of single people: a fit keeps none of them, without privacy neither."
    },
    i = "{.code predict(fit, newdata = )} predicts for public rows."
  ), "argument")
}

#' Public rows as the fit sees them
#' @return A list: `x`, their model matrix; `offset`, a number a row; `fit`, the linear predictor
#'   with it, by row name.
#' @noRd
linear_predictor <- function(object, newdata) {
  check_given(missing(newdata), "newdata", "public rows to predict")
  x <- lm_matrix(object$columns, newdata)[, names(object$coefficients), drop = FALSE]
  offset <- offset_values(object$columns, newdata)
  fit <- drop(x %*% object$coefficients) + offset
  list(x = x, offset = offset, fit = stats::setNames(fit, rownames(newdata)))
}

#' Standard errors of linear predictors
#' @noRd
predictor_errors <- function(x, covariance) sqrt(rowSums((x %*% covariance) * x))

#' Wald's statistic of the hypothesis that coefficients are zero
#' @param places (`integer`)\cr among the coefficients.
#' @return A list: `df`; `value`, chi-squared with so many degrees of freedom, `NA` where one of
#'   them is not identified.
#' @noRd
wald_statistic <- function(places, fit) {
  V <- fit$covariance$total[places, places, drop = FALSE]
  if (!all(fit$identified[places]) || !all(is.finite(V))) {
    return(list(df = length(places), value = NA_real_))
  }
  spectrum <- eigen(V, symmetric = TRUE)
  keep <- spectrum$values > 1e-12 * max(spectrum$values)
  along <- crossprod(spectrum$vectors[, keep, drop = FALSE], fit$coefficients[places])
  list(df = sum(keep), value = sum(along^2 / spectrum$values[keep]))
}

#' Tests of terms as `anova()` gives them
#' @param tests (`list` of data frames)\cr by term.
#' @param notes (`character` or `NULL`)\cr more lines of the heading.
#' @noRd
wald_table <- function(tests, fit, notes = NULL) {
  structure(do.call(rbind, tests), class = c("anova", "data.frame"), heading = c(
    paste0("Wald tests", if (fit$privacy$private) " with sampling and privacy noise"),
    paste0("Model: ", fit$text), notes
  ))
}

#' The places of every term's coefficients among those of the fit, by term
#' @param kept (`integer`)\cr the columns that the fit uses.
#' @noRd
term_places <- function(columns, kept = seq_along(columns$columns)) {
  terms <- vapply(columns$columns, `[[`, 0L, "term")[kept]
  places <- lapply(unique(terms), function(term) 1L + which(terms == term))
  stats::setNames(places, columns$terms[unique(terms)])
}
