# Offsets of private generalised linear models: a known part of a person's linear predictor, from
# columns with public limits. An offset is one more variable, between the regressors and the
# outcome, but not a column of the model. Proof: inst/proofs/glm.md, section 8.

#' The expression in `offset`, which is computed from columns
#' @param offset (one-sided formula or string).
#' @section Errors: `dpsc_error_argument`.
#' @noRd
said_offset <- function(offset) {
  if (is_name(offset)) {
    return(as.name(offset))
  }
  formula <- inherits(offset, "formula") && length(offset) == 2L && !holds_column(offset[[2L]])
  if (!formula || !length(all.vars(offset[[2L]]))) {
    abort(c(
      "{.arg offset} must be a formula such as {.code ~ log(years)}, or a column's name.",
      x = "It is {describe(offset)}.", i = "The offset's columns need limits in {.arg bounds}."
    ), "argument")
  }
  bare_code(offset[[2L]])
}

#' The formula of all variables that need limits
#' @noRd
formula_with <- function(formula, offset) {
  if (!inherits(formula, "formula") || length(formula) != 3L) {
    return(formula)
  }
  formula[[3L]] <- call("+", formula[[3L]], offset)
  formula
}

#' Offsets of public rows
#' @return One number per row; 0 if the model has no offset.
#' @noRd
offset_values <- function(columns, newdata) {
  at <- columns$offset$at
  if (is.null(at)) {
    return(numeric(nrow(newdata)))
  }
  drop(lm_table(columns, newdata, clip = FALSE, variables = columns$variables[at]))
}
