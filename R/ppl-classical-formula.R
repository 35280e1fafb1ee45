# Predictors in a formula, `outcome ~ treated | x1 + over(x2, 1980:1985)`, for the estimators on raw
# data that balance them. Each unit has one number, the mean of its observed values before
# treatment.

# The estimators that balance predictors, and the estimators that use regressors.
predictor_estimators <- c("simplex", "demeaned", "penalised", "predictors", "augmented")
regressor_estimators <- c("sdid", "factor", "mcnnm")

#' Take the predictors out of the formula of a classical fit
#' @param formula (`any`)\cr the user's argument.
#' @return A list: `formula`, without the second part; `terms`, a list of expressions, or `NULL`
#'   without such terms. A formula of another form than `y ~ a | b` is returned unchanged.
#' @section Errors: `dpsc_error_panel`.
#' @noRd
split_predictors <- function(formula, estimator) {
  if (!right_is(formula, quote(`|`))) {
    return(list(formula = formula, terms = NULL))
  }
  rhs <- formula[[3L]]
  able <- c(predictor_estimators, regressor_estimators)
  if (!estimator %in% able) {
    abort(c(
      "Estimator {.val {estimator}} takes no predictors, but {.arg formula} has a second part.",
      i = "For predictors use {.or {.val {able}}}."
    ), "panel")
  }
  terms <- added_terms(rhs[[3L]])
  operators <- vapply(terms, function(term) {
    is.call(term) && is.symbol(term[[1L]]) &&
      as.character(term[[1L]]) %in% c("-", "*", ":", "^", "/", "%in%", "|", "~")
  }, NA)
  if (any(operators)) {
    abort(c(
      "Predictors must be columns joined by {.code +}.",
      x = "{.code {code_label(terms[operators][[1L]], 'A term')}} is not a column.",
      i = "Wrap arithmetic in {.code I()}. For a mean of some periods use {.code over(x, periods)}."
    ), "panel")
  }
  formula[[3L]] <- rhs[[2L]]
  list(formula = formula, terms = terms)
}

#' Columns with given bounds in the predictors
#' @param parts (`list`)\cr from `split_predictors()`.
#' @noRd
bounded_predictors <- function(parts, bounds) {
  used <- unlist(lapply(parts$terms, all.vars))
  intersect(if (is.list(bounds)) names(bounds), setdiff(used, all.vars(parts$formula[-3L])))
}

#' The terms of a sum
#' @noRd
added_terms <- function(code) {
  while (is.call(code) && identical(code[[1L]], quote(`(`))) code <- code[[2L]]
  if (is.call(code) && identical(code[[1L]], quote(`+`)) && length(code) == 3L) {
    return(c(added_terms(code[[2L]]), added_terms(code[[3L]])))
  }
  list(code)
}

#' Predictors of the units of a panel from long data
#'
#' Predictors are means over the observed periods before the treatment, or over the periods in
#' `over()`; for a factor or strings they are shares of levels. Missing values are omitted from the
#' mean.
#'
#' @param parts (`list`)\cr from `split_predictors()`.
#' @param data,index as for [dp_synth()], for a fit that is NOT PRIVATE.
#' @param panel (`dpsc_panel`)\cr made from the same data, with the donors' names.
#' @return `NULL` without terms; otherwise a list: `donors` (n x K, with row and column names),
#'   `treated` (k x K), `target` (K), the mean of the treated units, and `fixed` (`flag`: are all
#'   predictors equal in all periods of every unit?).
#' @section Errors: `dpsc_error_panel`.
#' @noRd
formula_predictors <- function(parts, data, index, panel) {
  if (is.null(parts$terms)) {
    return(NULL)
  }
  rows <- panel_rows(data, index, panel)
  columns <- lapply(parts$terms, function(term) {
    unit_means(term, environment(parts$formula), data, rows, panel$T0)
  })
  all <- check_predictor_rows(do.call(cbind, columns))
  still <- vapply(columns, function(column) isTRUE(attr(column, "still")), NA)
  split_predictor_rows(all, panel, all(still))
}

#' @noRd
check_predictor_rows <- function(all) {
  lost <- colSums(!is.finite(all))
  if (any(lost > 0)) {
    abort(c(
      "Every unit must have a value of every predictor before treatment.",
      x = "{.code {colnames(all)[lost > 0][[1L]]}} is missing for {lost[lost > 0][[1L]]} unit{?s}.",
      i = "Leave out this predictor, or give {.code over()} periods in which it is observed."
    ), "panel")
  }
  all
}

#' Predictors, separately for donors and treated units
#' @param fixed (`flag`)\cr whether predictors are equal in all periods of every unit.
#' @noRd
split_predictor_rows <- function(all, panel, fixed) {
  donors <- seq_along(panel$donor_names)
  rownames(all) <- c(panel$donor_names, rownames(panel$target))
  treated <- all[-donors, , drop = FALSE]
  list(
    donors = all[donors, , drop = FALSE], target = colMeans(treated), treated = treated,
    fixed = fixed
  )
}

#' Unit and period of each row of data, by the order of the panel
#' @return A list: `unit`, `time` (`NA` for rows outside the panel and for repeated cells), `times`
#'   (text), `n_units`, `n_times`.
#' @noRd
panel_rows <- function(data, index, panel) {
  units <- code_index(.subset2(data, index[[1L]]), index[[1L]])
  times <- code_index(.subset2(data, index[[2L]]), index[[2L]])
  labels <- c(panel$donor_names, rownames(panel$target))
  periods <- period_text(panel$times)
  unit <- match(unit_labels(units$values), labels)[units$code]
  time <- match(period_text(times$values), periods)[times$code]
  unknown <- is.na(unit) | is.na(time) | duplicated(data.frame(unit, time))
  unit[unknown] <- time[unknown] <- NA
  list(
    unit = unit, time = time, times = periods, n_units = length(labels), n_times = length(periods)
  )
}

#' One term's means by unit
#' @param rows (`list`)\cr from `panel_rows()`.
#' @return A matrix, units x columns, `NaN` without observations. `attr(, "still")`: is the term
#'   equal in all periods of every unit?
#' @noRd
unit_means <- function(term, environment, data, rows, T0) {
  chosen <- seq_len(T0)
  if (is_window(term)) chosen <- over_periods(term, environment, rows$times, T0)
  values <- term_columns(term, environment, data, rows)
  kept <- rows$time %in% chosen
  out <- mean_by(values[kept, , drop = FALSE], rows$unit[kept], rows$n_units)
  known <- which(!is.na(rows$unit))
  own <- out[rows$unit[known], , drop = FALSE]
  away <- abs(values[known, , drop = FALSE] - own) > 1e-12 * abs(own)
  attr(out, "still") <- !is_window(term) && !any(away, na.rm = TRUE)
  attr(out, "levels") <- attr(values, "levels")
  out
}

#' Is it `over(x, periods)`?
#' @noRd
is_window <- function(term) is.call(term) && identical(term[[1L]], quote(over))

#' Numeric columns of one term, with one row per row of `data`
#' @noRd
term_columns <- function(term, environment, data, rows) {
  # The fit is not private, so years may be shown in full, unlike in code_label().
  label <- if (is_plain_code(term)) paste(deparse(term, 500L), collapse = " ") else "predictor"
  if (is_window(term)) {
    check_window(term)
    term <- term[[2L]]
  }
  formula <- stats::as.formula(call("~", term), environment)
  frame <- evaluate_frame(formula, data)
  if (is.null(frame)) {
    abort_evaluation(formula, data)
  }
  values <- as_columns(frame[[1L]], label)
  if (nrow(values) != length(rows$unit)) {
    abort("{.code {label}} must have one value for each row of {.arg data}.", "panel")
  }
  values
}

mean_by <- function(values, group, n) {
  out <- vapply(seq_len(ncol(values)), function(k) {
    seen <- is.finite(values[, k])
    sums <- tabulate_sum(values[seen, k], group[seen], n)
    sums / tabulate(group[seen], n)
  }, numeric(n))
  matrix(out, n, dimnames = list(NULL, colnames(values)))
}

tabulate_sum <- function(values, group, n) {
  out <- numeric(n)
  sums <- rowsum(values, group)
  out[as.integer(rownames(sums))] <- sums
  out
}

#' A predictor as columns of numbers; for a factor or strings, one indicator per level
#' @noRd
as_columns <- function(x, label) {
  if (is.character(x)) x <- factor(x)
  if (is.factor(x)) {
    out <- outer(as.integer(x), seq_len(nlevels(x)), "==") + 0
    colnames(out) <- paste0(label, levels(x))
    attr(out, "levels") <- TRUE
    return(out)
  }
  if (is.logical(x)) x <- x + 0
  if (!is.numeric(x) || NCOL(x) != 1L || !is_plain_number(x)) {
    abort(c(
      "A predictor must be a column of numbers, logical values, strings or a factor.",
      x = "{.code {label}} is of class {class(x)[[1L]]}."
    ), "panel")
  }
  matrix(as.double(x), ncol = 1L, dimnames = list(NULL, label))
}

#' Positions of the periods that `over(x, periods)` names
#' @noRd
over_periods <- function(term, environment, times, T0) {
  check_window(term)
  named <- tryCatch(eval(term[[3L]], environment), error = function(e) NULL)
  at <- if (length(named)) match(period_text(named), times)
  if (!length(at) || anyNA(at) || any(at > T0)) {
    abort(c(
      "{.code {code_label(term, 'over()')}} must name periods before the treatment.",
      i = "These periods are {times[[1L]]} to {times[[T0]]}."
    ), "panel")
  }
  at
}

#' @noRd
check_window <- function(term) {
  if (length(term) != 3L) {
    abort("{.code over(x, periods)} needs exactly two arguments: a column and periods.", "panel")
  }
}
