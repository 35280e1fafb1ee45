# From a formula and long data to two vectors, outcome and treatment. The user's code is checked and
# evaluated here; the formula and its environment are not passed on.

#' Check that a formula has the form `outcome ~ treated`
#' @param formula (`any`)\cr the user's argument.
#' @return `formula` with its environment and no other attribute.
#' @section Errors: `dpsc_error_panel`.
#' @noRd
check_panel_formula <- function(formula) {
  problem <- formula_problem(formula)
  if (!is.null(problem)) {
    abort(c(
      "{.arg formula} must be {.code outcome ~ treated}.",
      x = "{problem}",
      i = paste(
        "Put the outcome on the left, one 0/1 indicator on the right, and unit and time in",
        "{.arg index}. Wrap arithmetic on the right in {.code I()}."
      ),
      i = if (has_several_terms(formula)) covariate_advice
    ), "panel")
  }
  environment <- environment(formula)
  attributes(formula) <- list(
    class = "formula", .Environment = if (is.null(environment)) globalenv() else environment
  )
  formula
}

#' Fault of a formula, in words, or `NULL`
#' @noRd
formula_problem <- function(formula) {
  if (!inherits(formula, "formula")) {
    return(paste0("It is an object of class ", class(formula)[[1L]], "."))
  }
  if (length(formula) != 3L) {
    return("It has no left-hand side.")
  }
  if ("." %in% all.vars(formula)) {
    return("It contains a dot, which stands for no column here.")
  }
  rhs <- formula[[3L]]
  if ("offset" %in% called_functions(rhs)) {
    return("It contains an offset.")
  }
  while (is.call(rhs) && identical(rhs[[1L]], quote(`(`))) {
    rhs <- rhs[[2L]]
  }
  operator <- if (is.call(rhs) && is.symbol(rhs[[1L]])) as.character(rhs[[1L]]) else ""
  if (operator %in% c("+", "-")) {
    paste(
      "Its right-hand side",
      if (length(rhs) == 2L) "begins with a sign." else "contains several terms."
    )
  } else if (operator %in% c(":", "*", "^", "/", "%in%")) {
    "Its right-hand side contains an interaction."
  } else if (operator == "|") {
    "Its right-hand side contains a second part."
  } else if (length(all.vars(rhs)) == 0L) {
    "Its right-hand side names no variable."
  }
}

# Advice if covariates are added to the treatment, or if bounds name columns outside the formula.
covariate_advice <- "Covariates follow a bar: {.code outcome ~ treated | age + sex}."

#' Does the right side contain several terms?
#' @noRd
has_several_terms <- function(formula) {
  right_is(formula, quote(`+`)) && length(formula[[3L]]) == 3L
}

#' Evaluate both sides of a checked formula
#'
#' Both sides are evaluated by [stats::model.frame()], so that `log(y)` is the logarithm and a
#' variable may be in the formula's environment. The outcome of a private fit is evaluated by
#' [evaluate_rowwise()]. Warnings ("NaNs produced") are suppressed, since their call may contain
#' data: the check for non-finite values finds their causes. For the same reason a package error
#' without a parent replaces an error of the user's code.
#'
#' @param formula (`formula`)\cr from [check_panel_formula()].
#' @param data (`data.frame`)\cr long data. PRIVATE.
#' @param n_rows (`integer`)\cr its number of rows.
#' @param index (`character(2)`)\cr columns of unit and time, which are public.
#' @param private (`flag`)\cr is epsilon finite?
#' @return A list with `outcome` (`numeric`, one value per row, outcome units): PRIVATE; `treated`
#'   (`integer`): the rows with indicator 1, in increasing order. PUBLIC.
#' @section Errors: `dpsc_error_panel` for a formula that cannot be evaluated, an outcome that is
#'   not numeric or may mix rows, a treatment that is not 0/1.
#' @noRd
evaluate_formula <- function(formula, data, n_rows, index, private) {
  if (private) {
    check_indicator(formula, index)
    outcome <- evaluate_rowwise(formula[[2L]], environment(formula), data)
    # The formula without its left-hand side gives the treatment.
    frame <- evaluate_frame(formula[-2L], data)
    treated <- frame[[1L]]
    failed <- is.null(outcome) || is.null(frame)
    sizes <- if (!failed) c(NROW(outcome), nrow(frame))
  } else {
    frame <- evaluate_frame(formula, data)
    outcome <- frame[[1L]]
    treated <- frame[[2L]]
    failed <- is.null(frame)
    sizes <- nrow(frame)
  }
  if (failed) {
    abort_evaluation(formula, data)
  }
  if (any(sizes != n_rows)) {
    found <- sizes[sizes != n_rows][[1L]]
    abort(c(
      "The variables of {.arg formula} must have one value for each row of {.arg data}.",
      x = "{.arg data} has {n_rows} row{?s}, but a variable has {found} value{?s}.",
      i = "Use columns of {.arg data}."
    ), "panel")
  }
  list(
    outcome = check_outcome(outcome, code_label(formula[[2L]], "outcome")),
    treated = check_treated(treated, code_label(formula[[3L]], "treated"))
  )
}

evaluate_frame <- function(formula, data) {
  tryCatch(
    suppressWarnings(stats::model.frame.default(formula, data, na.action = stats::na.pass)),
    error = function(e) NULL
  )
}

#' Check that the public treatment is not computed from the outcome
#'
#' Any other single column is accepted, and the index columns are public.
#' @noRd
check_indicator <- function(formula, index) {
  shared <- setdiff(intersect(all.vars(formula[[2L]]), all.vars(formula[[3L]])), index)
  if (length(shared) > 0L && (is.call(formula[[3L]]) || is.symbol(formula[[2L]]))) {
    abort(c(
      "The treatment indicator is public and must not be computed from the outcome.",
      x = "Both sides of {.arg formula} name {.code {shared}}.",
      i = "Use a column that marks treated units and periods."
    ), "panel")
  }
}

#' Error for a formula that could not be evaluated, with names from the formula only
#' @noRd
abort_evaluation <- function(formula, data) {
  environment <- environment(formula)
  is_value <- function(name) {
    tryCatch(!is.function(get(name, envir = environment)), error = function(e) FALSE)
  }
  code <- without_qualified_names(formula)
  variables <- setdiff(all.vars(code), names(data))
  variables <- variables[!vapply(variables, is_value, NA)]
  functions <- called_functions(code)
  functions <- functions[!vapply(functions, exists, NA, envir = environment, mode = "function")]
  if (length(variables) > 0L) {
    abort(c(
      "{.arg formula} names {length(variables)} unknown variable{?s}: {.code {variables}}.",
      x = "{cli::qty(length(variables))}{?It is/They are} not in {.arg data}.",
      i = "Check the spelling against the column names of {.arg data}."
    ), "panel")
  }
  if (length(functions) > 0L) {
    abort(c(
      "{.arg formula} calls {length(functions)} unknown function{?s}: {.code {functions}}.",
      i = "Load the function's package, or add the result to {.arg data} as a column."
    ), "panel")
  }
  abort(c(
    "{.arg formula} could not be evaluated with {.arg data}.",
    x = "Each side must be a vector with one value for each row of {.arg data}.",
    i = "Compute the outcome and the treatment indicator first and add them as columns."
  ), "panel")
}

#' Check the type of an outcome
#' @param outcome (`any`)\cr the evaluated left-hand side. PRIVATE.
#' @param label (`string`)\cr the user's code.
#' @return `outcome` as doubles without attributes; TRUE is 1.
#' @noRd
check_outcome <- function(outcome, label) {
  check_one_column(outcome, "outcome", label)
  dim(outcome) <- NULL
  if (!cell_kind(outcome) %in% c("number", "flag")) {
    codes <- is.factor(outcome) || is.character(outcome)
    abort(c(
      "The outcome must be numeric or logical.",
      x = "{.code {label}} is of class {class(outcome)[[1L]]}.",
      # The condition is needed because the codes of a factor with levels 0 and 1 are 1 and 2.
      i = if (codes) {
        "For an event write a condition on this column, such as {.code {label} == \"yes\"}."
      } else {
        "Convert the column with {.code as.numeric()}."
      }
    ), "panel")
  }
  cell_numbers(outcome)
}

#' Check that a side of the formula is a vector or a matrix of one column
#' @noRd
check_one_column <- function(x, what, label) {
  columns <- NCOL(x)
  if (columns != 1L) {
    abort(c(
      "The {what} must be one column.",
      x = "{.code {label}} has {columns} columns.",
      i = "Fit each column separately."
    ), "panel")
  }
}

#' Check the treatment indicator and find the treated rows
#' @param treated (`any`)\cr the evaluated right-hand side: 0/1 numbers, logical, or a factor with
#'   levels 0 and 1 or FALSE and TRUE. PUBLIC.
#' @param label (`string`)\cr the user's code.
#' @return The rows (`integer`) with indicator 1.
#' @noRd
check_treated <- function(treated, label) {
  check_one_column(treated, "treatment indicator", label)
  kind <- class(treated)[[1L]]
  attr(treated, "dim") <- NULL
  # No method of the column's class is called.
  type <- cell_kind(treated)
  plain <- without_attributes(treated)
  missing <- is.atomic(plain) && anyNA(plain)
  rows <- integer()
  if (type == "factor") {
    levels <- as.character(attr(treated, "levels"))
    ok <- all(levels %in% c("0", "1")) || all(levels %in% c("FALSE", "TRUE"))
    problem <- "{.code {label}} is a factor with levels other than 0 and 1, or FALSE and TRUE."
    rows <- which(plain == match(TRUE, levels %in% c("1", "TRUE")))
  } else if (type %in% c("number", "flag") && !inherits(treated, "integer64")) {
    rows <- which(plain != 0)
    ok <- all(plain[rows] == 1)
    problem <- "{.code {label}} contains values other than 0 and 1."
  } else {
    ok <- FALSE
    problem <- "{.code {label}} is of class {kind}."
  }
  if (!ok || missing) {
    abort(c(
      "The treatment indicator must be 0 or 1 in every row.",
      x = if (ok) "{.code {label}} is missing in some row." else problem,
      i = paste(
        "Use 0/1 numbers, FALSE/TRUE, or a factor of these, with 1 only for the treated units",
        "in post-treatment periods."
      )
    ), "panel")
  }
  rows
}
