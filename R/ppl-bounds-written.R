# Meaning of `bounds` for a formula's code, one convention for every verb: an entry named by a
# column limits that column, an entry named by an expression's text limits the expression.

#' Meaning of `bounds`
#'
#' In [dp_synth()], [dp_release()], [dp_lm()], [dp_glm()], [dp_select()], [dp_online()] and their
#' plans `bounds` is a list by name, known before the data are seen:
#'
#' * `cost = c(0, 5000)`: the limits of a *column*. Values outside are moved to the nearest limit,
#'   before anything is computed of them: `log(cost)` is then the log of the clipped column, and its
#'   limits follow.
#' * `` `log(cost)` = c(0, 9) ``: the limits of an *expression*, named by its text as the formula
#'   writes it. Its values are clipped after it was computed.
#' * `sex = c("f", "m")`: all levels of a factor, the first of which is the baseline;
#'   `ill = c(FALSE, TRUE)`: a logical, or numbers 0 and 1.
#'
#' Both entries may be given; then both clip. They work alike for outcomes, regressors and
#' covariates. An unnamed `c(lower, upper)` is for the outcome, if the formula's left side is a
#' single column. For an expression it could mean either, and the call stops before any budget is
#' spent. Levels and types that a column's class cannot have are refused likewise.
#'
#' [dp_aggregate()] and [dp_stream_sum()] have no formula: their limits are for the released
#' numbers.
#' @name dp_bounds
NULL

#' Names in code that may be columns, in the order of writing
#' @noRd
columns_in <- function(code) all.vars(unqualified(code))

#' A formula's left side, or an outcome without a name
#' @noRd
left_side <- function(formula) {
  if (inherits(formula, "formula") && length(formula) == 3L) formula[[2L]] else quote(outcome)
}

#' `bounds` as a list by name
#' @param bounds (`any`)\cr as the user gave it.
#' @param left (`language`)\cr the formula's left side, of which an unnamed entry is.
#' @param strict (`flag`)\cr refuse an unnamed entry where the left side is computed?
#' @section Errors: `dpsc_error_bounds`.
#' @noRd
named_bounds <- function(bounds, left, strict = TRUE) {
  if (is.null(bounds) || is.data.frame(bounds)) {
    return(bounds)
  }
  if (!is.list(bounds)) bounds <- list(bounds)
  names <- rlang::names2(bounds)
  blank <- which(!nzchar(names))
  if (length(blank) == 1L) {
    if (strict) check_named(bounds, left)
    names[[blank]] <- written(left)
  }
  rlang::set_names(bounds, vapply(names, as_written, ""))
}

#' The same of a formula that must have an outcome and regressors, checked to be a list
#' @noRd
bounds_of_regression <- function(formula, bounds) {
  if (!inherits(formula, "formula") || length(formula) != 3L) {
    abort(c(
      "The formula must be {.code outcome ~ regressors}.", x = "It is {describe(formula)}."
    ), "argument")
  }
  bounds <- named_bounds(bounds, formula[[2L]])
  check_bounds_list(bounds)
  bounds
}

#' A name of `bounds` with the spaces that R itself would write
#' @noRd
as_written <- function(name) {
  code <- if (grepl("(", name, fixed = TRUE)) tryCatch(str2lang(name), error = function(e) NULL)
  if (is.call(code)) written(code) else name
}

#' Refuse an unnamed entry that could be for the expression or for its column
#' @noRd
check_named <- function(bounds, left) {
  # Code that contains data has a separate error, which does not show the data.
  if (is.symbol(left) || is.null(bounds) || is.data.frame(bounds) || !is_plain_code(left)) {
    return(invisible(NULL))
  }
  if (!is.list(bounds)) bounds <- list(bounds)
  blank <- which(!nzchar(rlang::names2(bounds)))
  if (length(blank) != 1L) {
    return(invisible(NULL))
  }
  limits <- bounds[[blank]]
  several <- is.call(left) && identical(left[[1L]], quote(cbind))
  parts <- if (several) as.list(left)[-1L] else list(left)
  numbers <- limits_text(limits)
  spell <- function(names) {
    names <- ifelse(names == make.names(names), names, paste0("`", names, "`"))
    paste0("bounds = list(", paste0(names, " = ", numbers, collapse = ", "), ")")
  }
  label <- code_label(left, "outcome")
  columns <- spell(unique(unlist(lapply(parts, columns_in))))
  text <- spell(vapply(parts, function(part) gsub("`", "", code_label(part, "outcome")), ""))
  abort(c(
    "{.arg bounds} must name a column or an expression: {.code {label}} is no single column.",
    i = paste(
      "Limits of the {if (several) 'columns' else 'variable'}, before the formula:",
      "{.code {columns}}."
    ),
    i = paste(
      "Limits of the {if (several) 'outcomes' else 'expression'}, by",
      "{if (several) 'their' else 'its'} text: {.code {text}}."
    )
  ), "bounds")
}

check_bounds_list <- function(bounds) {
  if (!is.list(bounds) || is.data.frame(bounds) || !length(bounds) ||
      any(!nzchar(rlang::names2(bounds))) || anyDuplicated(names(bounds))) {
    abort(c(
      "{.arg bounds} must be a list named by variable.",
      i = "For example {.code list(y = c(0, 10), age = c(18, 90), sex = c(\"f\", \"m\"))}.",
      i = "They come from prior knowledge about the variables, never from the data."
    ), "bounds")
  }
}

expand_terms <- function(formula, bounds) {
  check_no_bar(formula[[3L]])
  outcome <- all.vars(formula[[2L]])
  others <- setdiff(names(bounds), c(outcome, written(formula[[2L]])))
  computed <- vapply(others, is_expression, NA)
  # `.` is expanded from the public bounds, never from the columns of a table.
  if ("." %in% all.vars(formula[[3L]]) && any(computed)) {
    all <- Reduce(function(a, b) call("+", a, b), lapply(others, function(name) {
      if (is_expression(name)) str2lang(name) else as.name(name)
    }))
    formula[[3L]] <- do.call(substitute, list(formula[[3L]], list(. = call("(", all))))
  }
  skeleton <- as.data.frame(stats::setNames(
    rep(list(0), length(others) + length(outcome)), c(outcome, others)
  ), optional = TRUE)
  tryCatch(
    stats::terms(formula, data = skeleton),
    error = function(e) abort("The formula cannot be read.", "argument")
  )
}

#' Is a name of `bounds` the text of code?
#' @noRd
is_expression <- function(name) {
  code <- if (grepl("(", name, fixed = TRUE)) tryCatch(str2lang(name), error = function(e) NULL)
  is.call(code) && all(called_by_code(code) %in% c(names(rowwise_functions), "factor", "as.factor"))
}

#' Refuse a bar between terms, which is a logical OR and looks like a second part
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_no_bar <- function(right) {
  if (!is.call(right) || !is.symbol(right[[1L]])) {
    return(invisible(NULL))
  }
  operator <- as.character(right[[1L]])
  if (operator %in% c("|", "||")) {
    abort(c(
      "This formula cannot have a second part: {.code {operator}} between terms means OR.",
      x = "The right-hand side has {.code {code_label(right, operator)}}.",
      i = "Add terms with {.code +}. For the OR of two conditions write {.code I(a | b)}."
    ), "argument")
  }
  if (operator %in% c("+", "-", "*", ":", "/", "^", "%in%", "(")) {
    for (part in as.list(right)[-1L]) check_no_bar(part)
  }
}


# Code ---------------------------------------------------------------------------------------------

#' Code in which every column that has limits is clipped to them
#' @param limits (`list` by column)\cr `c(lower, upper)`; other entries are left alone.
#' @noRd
clipped_code <- function(code, limits) {
  limits <- Filter(function(x) is.numeric(x) && length(x) == 2L, limits)
  if (is.symbol(code)) {
    own <- limits[[as.character(code)]]
    return(if (is.null(own)) code else call("pmin", call("pmax", code, own[[1L]]), own[[2L]]))
  }
  if (is.call(code)) {
    parts <- as.list(code)
    full <- !vapply(parts, identical, NA, quote(expr = )) # nolint
    full[[1L]] <- FALSE
    parts[full] <- lapply(parts[full], clipped_code, limits)
    code <- as.call(parts)
  }
  code
}
