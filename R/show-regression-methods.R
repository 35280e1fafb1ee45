# The methods of all private regressions, which use released coefficients and no people's values.
# Post-processing.

#' Public rows in the form of the fit
#' @return A list: `x`, the model matrix of the rows; `offset`, one number per row; `fit`, the
#'   linear predictor with the offset, by row name. Without privacy, columns that depend on earlier
#'   ones are zero, as in predict.lm().
#' @noRd
linear_predictor <- function(object, newdata) {
  check_given(missing(newdata), "newdata", "public rows to predict")
  x <- lm_matrix(object$columns, newdata)[, names(object$coefficients), drop = FALSE]
  offset <- offset_values(object$columns, newdata)
  slopes <- object$coefficients
  if (!object$privacy$private) {
    x[, is.na(slopes)] <- 0
    slopes[is.na(slopes)] <- 0
  }
  fit <- drop(x %*% slopes) + offset
  list(x = x, offset = offset, fit = stats::setNames(fit, rownames(newdata)))
}

#' Standard errors of linear predictors
#' @noRd
predictor_errors <- function(x, covariance) {
  used <- colSums(x != 0) > 0
  x <- x[, used, drop = FALSE]
  sqrt(rowSums((x %*% covariance[used, used, drop = FALSE]) * x))
}

#' Wald statistic for the hypothesis that coefficients are zero
#' @param places (`integer`)\cr positions among the coefficients.
#' @return A list: `df`; `value`, chi-squared with these degrees of freedom, or `NA` if a
#'   coefficient is not identified.
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

#' Degrees of freedom of a fit's tests; `Inf`: normal
#' @noRd
degrees_of <- function(fit) {
  if (inherits(fit, "dp_lm")) as.double(fit$df.residual) else Inf
}

#' Wald statistic as a row of a table
#' @param found (`list`)\cr `value`, chi-squared, and `df`, its degrees of freedom.
#' @param test (`string`)\cr `"F"` or `"Chisq"`.
#' @noRd
wald_row <- function(found, fit, test) {
  df <- found$df
  if (test == "F") {
    f <- found$value / df
    p <- stats::pf(f, df, degrees_of(fit), lower.tail = FALSE)
    return(data.frame(Df = df, F = f, `Pr(>F)` = p, check.names = FALSE))
  }
  p <- stats::pchisq(found$value, df, lower.tail = FALSE)
  data.frame(Df = df, Chisq = found$value, `Pr(>Chisq)` = p, check.names = FALSE)
}

#' Two fits of one release, one a submodel of the other, or `NULL`
#' @return A list: `full`, the larger fit; `places`, the positions of its additional terms;
#'   `dropped`, whether the larger fit is the first fit.
#' @noRd
nested_fits <- function(one, other) {
  if (!inherits(other, "dp_lm") || !identical(one$release, other$release)) {
    return(NULL)
  }
  dropped <- length(other$kept) < length(one$kept)
  full <- if (dropped) one else other
  small <- if (dropped) other else one
  if (all(small$kept %in% full$kept) && length(small$kept) < length(full$kept)) {
    list(full = full, places = 1L + which(!full$kept %in% small$kept), dropped = dropped)
  }
}

#' Tests of terms in the form of `anova()`
#' @param tests (`list` of data frames)\cr the tests by term.
#' @param notes (`character` or `NULL`)\cr more lines of the heading.
#' @noRd
wald_table <- function(tests, fit, notes = NULL) {
  structure(do.call(rbind, tests), class = c("anova", "data.frame"), heading = c(
    paste0("Wald tests", if (fit$privacy$private) " with sampling and privacy noise"),
    paste0("Model: ", fit$text), notes, unkept_heading(fit)
  ))
}

#' The lines of a print on a guarantee that does not hold, for the heading of a table
#' @noRd
unkept_heading <- function(fit) {
  privacy <- privacy_of(fit)
  if (!privacy$private || !privacy$holds) unkept_lines(privacy)
}

#' The positions of the coefficients of every term in the fit, by term
#' @param kept (`integer`)\cr the columns that the fit uses.
#' @noRd
term_places <- function(columns, kept = seq_along(columns$columns)) {
  terms <- vapply(columns$columns, `[[`, 0L, "term")[kept]
  places <- lapply(unique(terms), function(term) 1L + which(terms == term))
  stats::setNames(places, columns$terms[unique(terms)])
}
