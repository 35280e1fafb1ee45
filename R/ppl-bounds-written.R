# Meaning of `bounds` for the code of a formula, the same for every verb: an entry whose name is a
# column limits that column; an entry whose name is the text of an expression limits the expression.

#' Meaning of `bounds`
#'
#' In [dp_synth()], [dp_release()], [dp_lm()], [dp_glm()], [dp_select()], [dp_online()],
#' [dp_describe()] and the planning functions the argument `bounds` takes a named list, which must
#' be known before the data are seen. The entries of this list have three forms:
#'
#' * `cost = c(0, 5000)` gives the limits of a *column*. Values outside the limits are moved to the
#'   nearest limit before anything is computed from the column. `log(cost)` is then the log of the
#'   clipped column, and its limits follow from the limits of the column.
#' * `` `log(cost)` = c(0, 9) `` gives the limits of an *expression*, named by its text in the
#'   formula. The values of the expression are clipped after the computation.
#' * `sex = c("f", "m")` gives all levels of a factor, of which the first is the baseline. `ill =
#'   c(FALSE, TRUE)` declares a logical column, or a column of the numbers 0 and 1.
#'
#' You may give entries for a column and for an expression of this column; then both the column and
#' the expression are clipped. Limits work in the same way for outcomes, regressors and covariates.
#' An unnamed `c(lower, upper)` limits the outcome if the formula's left side is a single column. If
#' the left side is an expression, an unnamed pair could limit the column or the expression, so the
#' call stops before any budget is spent. Levels and types that are impossible for the class of a
#' column are also refused.
#'
#' [dp_aggregate()] and [dp_stream_sum()] have no formula; their `bounds` limit the released
#' numbers.
#' @name dp_bounds
NULL

#' Names in code that may be columns, in order of appearance
#' @noRd
columns_in <- function(code) all.vars(if (is.call(code)) unqualified(code) else code)

#' A formula's left side, or a placeholder for an outcome without a name
#' @noRd
left_side <- function(formula) {
  if (inherits(formula, "formula") && length(formula) == 3L) formula[[2L]] else quote(outcome)
}

#' `bounds` as a list by name
#' @param bounds (`any`)\cr in the user's form.
#' @param left (`language`)\cr the formula's left side, to which an unnamed entry belongs.
#' @param strict (`flag`)\cr whether to refuse an unnamed entry if the left side is computed.
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
    if (strict && !is.symbol(left)) check_named(bounds, left)
    names[[blank]] <- written(left)
  }
  rlang::set_names(bounds, as_written(names))
}

#' `bounds` as a checked list by name, for a formula that must have an outcome and regressors
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

#' The call with a name of `bounds` as its text, or `NULL`
#' @noRd
named_call <- function(name) {
  code <- if (grepl("(", name, fixed = TRUE)) tryCatch(str2lang(name), error = function(e) NULL)
  if (is.call(code)) code
}

#' Names of `bounds` with spaces as in R's deparsed code
#' @noRd
as_written <- function(names) {
  vapply(names, function(name) {
    code <- named_call(name)
    if (is.null(code)) name else written(code)
  }, "", USE.NAMES = FALSE)
}

#' Refuse an unnamed entry that could be for the expression or for its column
#' @noRd
check_named <- function(bounds, left) {
  # Code that contains data causes a separate error, which does not show the data.
  if (is.null(bounds) || is.data.frame(bounds) || !is_plain_code(left)) {
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
    "The limits in {.arg bounds} need a name, since {.code {label}} is not a single column.",
    i = paste(
      "To limit columns before the {if (several) 'outcomes are' else 'expression is'} computed,",
      "write {.code {columns}}."
    ),
    i = "To limit the {if (several) 'outcomes' else 'expression'}, write {.code {text}}."
  ), "bounds")
}

check_bounds_list <- function(bounds) {
  if (!is.list(bounds) || is.data.frame(bounds) || !length(bounds) ||
      any(!nzchar(rlang::names2(bounds))) || anyDuplicated(names(bounds))) {
    abort(c(
      "{.arg bounds} must be a list with one named entry per variable.",
      i = "Write, for example, {.code list(y = c(0, 10), age = c(18, 90), sex = c(\"f\", \"m\"))}.",
      i = "Take limits from prior knowledge about the variables, never from the data."
    ), "bounds")
  }
}

#' One entry of `bounds`
#' @return A list with `lower` and `upper`, or with `levels` (strings) and, if the levels were given
#'   as numbers, `codes` (`TRUE`).
#' @noRd
lm_bound <- function(x, name) {
  if (is.factor(x)) x <- levels(x)
  if (is.character(x) || is.logical(x)) {
    levels <- as.character(if (is.logical(x)) sort(unique(x)) else x)
    if (length(levels) < 2L || anyNA(x) || anyDuplicated(levels)) {
      abort(
        "{.arg bounds} must give at least two levels of {.code {name}}, none missing or repeated.",
        "bounds"
      )
    }
    return(list(levels = levels))
  }
  if (is.numeric(x) && length(x) > 2L && all(is.finite(x)) && !anyDuplicated(x)) {
    return(list(levels = as.character(x), codes = TRUE))
  }
  range <- check_range(x, name)
  list(lower = range[[1L]], upper = range[[2L]])
}

#' Levels of a pair of numbers that differ by 1, such as 0 and 1
#' @noRd
levels_of_pair <- function(bound, name) {
  if (bound$upper - bound$lower != 1) {
    abort(c(
      "{.arg bounds} must give the levels of {.code {name}}, not a range.",
      i = "Give every code, as in {.code c(0, 1, 2, 3)}, or levels as text."
    ), "bounds")
  }
  list(levels = as.character(c(bound$lower, bound$upper)))
}

#' A checked entry of `bounds`, in the user's form
#' @noRd
plain_bound <- function(bound) {
  if (is.null(bound$levels)) {
    c(bound$lower, bound$upper)
  } else if (isTRUE(bound$codes)) {
    as.double(bound$levels)
  } else {
    bound$levels
  }
}

check_known <- function(expression, given) {
  unknown <- setdiff(all.vars(expression), names(given))
  if (length(unknown)) {
    abort(c(
      "{.arg bounds} has no entry for {.code {unknown}}.",
      i = "Every variable of the formula needs a public range or public levels.",
      i = if (is.call(expression)) {
        "You can also limit the whole expression: name the limits by its text."
      }
    ), "bounds")
  }
}

expand_terms <- function(formula, bounds) {
  check_no_bar(formula[[3L]])
  outcome <- all.vars(formula[[2L]])
  others <- setdiff(names(bounds), c(outcome, written(formula[[2L]])))
  # `.` is expanded from the public bounds, never from the columns of a table.
  if ("." %in% all.vars(formula[[3L]]) && any(vapply(others, is_expression, NA))) {
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
    error = function(e) {
      abort(c(
        "{.fn terms} cannot read the formula.",
        i = "Join terms by {.code +}, {.code :} or {.code *}, and put arithmetic in {.code I()}."
      ), "argument")
    }
  )
}

#' Is a name in `bounds` the text of code?
#' @noRd
is_expression <- function(name) {
  code <- named_call(name)
  known <- c(names(rowwise_functions), "factor", "as.factor")
  !is.null(code) && all(called_by_code(code) %in% known)
}

#' Refuse a bar between terms, which is a logical OR and looks like a second part of the formula
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
      x = "The right-hand side contains {.code {code_label(right, operator)}}.",
      i = "Add terms with {.code +}. For the OR of two conditions write {.code I(a | b)}."
    ), "argument")
  }
  if (operator %in% c("+", "-", "*", ":", "/", "^", "%in%", "(")) {
    for (part in as.list(right)[-1L]) check_no_bar(part)
  }
}

# Code ---------------------------------------------------------------------------------------------

#' Code in which every column that has limits is clipped to them
#' @param limits (`list` by column)\cr `c(lower, upper)`; other entries are unchanged.
#' @noRd
clipped_code <- function(code, limits) {
  limits <- Filter(function(x) is.numeric(x) && length(x) == 2L, limits)
  if (is.symbol(code)) {
    own <- limits[[as.character(code)]]
    return(if (is.null(own)) code else call("pmin", call("pmax", code, own[[1L]]), own[[2L]]))
  }
  if (!is.call(code)) code else code_of_parts(as.list(code), clipped_code, limits, head = FALSE)
}

# The error for lacking limits ---------------------------------------------------------------------
#
# One error requests all limits that `bounds` lacks, with a line to paste. The line follows from the
# formula and the public classes of its columns.

#' Refuse a formula with variables that neither a data frame nor `bounds` contains
#' @noRd
check_in_data <- function(names, data) {
  absent <- if (is.data.frame(data)) setdiff(names, names(data))
  if (length(absent)) abort(c(
    "{.arg data} must contain all variables of the formula.",
    x = "{.code {absent}} {?is not a column/are not columns} of {.arg data}."
  ), c("data", "bounds"))
}

#' Refuse `bounds` that lack some of a formula's variables
#' @param formula,bounds (`any`)\cr in the user's form; `bounds` is `NULL` if it was not given.
#' @param data (`any`)\cr people's rows, of which only classes of columns are read.
#' @section Errors: `dpsc_error_argument` without any bounds, else `dpsc_error_bounds`.
#' @noRd
check_every_bound <- function(formula, bounds, data = NULL) {
  readable <- inherits(formula, "formula") && length(formula) == 3L && !holds_column(formula)
  if (!readable || is.data.frame(bounds)) {
    check_given(is.null(bounds), "bounds", "public limits of every variable")
    return(invisible(NULL))
  }
  check_no_bar(formula[[3L]])
  given <- named_bounds(bounds, formula[[2L]])
  kinds <- lacking_limits(formula, names(given), data)
  check_in_data(names(kinds), data)
  if (is.null(bounds)) {
    abort(c(
      "{.arg bounds} is required: public limits of every variable.", to_paste(kinds, given),
      i = if ("." %in% all.vars(formula)) "The dot stands for all other names in {.arg bounds}."
    ), "argument")
  }
  if (length(kinds)) {
    abort(c(
      "{.arg bounds} has no entry for {.code {names(kinds)}}.",
      i = "Every variable of the formula needs a public range or public levels.",
      to_paste(kinds, given)
    ), "bounds")
  }
}

#' Blank limits as text, by name, for the variables of a formula without limits
#' @param given (`character`)\cr names of the given limits.
#' @noRd
lacking_limits <- function(formula, given, data) {
  # The variables are the outcome and the factors of all terms.
  terms <- tryCatch(stats::terms(formula, allowDotAsName = TRUE), error = function(e) NULL)
  atoms <- as.list(attr(terms, "variables"))[-1L]
  atoms <- atoms[!vapply(atoms, function(atom) written(atom) %in% given, NA)]
  kinds <- lapply(atoms, function(atom) {
    names <- setdiff(columns_in(atom), c(given, "."))
    as_levels <- !identical(strip_factor(atom), atom)
    rlang::set_names(vapply(names, blank_limits, "", data = data, as_levels = as_levels), names)
  })
  kinds <- unlist(kinds)
  kinds[!duplicated(names(kinds))]
}

#' Blank limits by the class of a column, which cause an error until they are filled in
#' @noRd
blank_limits <- function(name, data = NULL, as_levels = FALSE) {
  column <- if (is.data.frame(data) && name %in% names(data)) .subset2(data, name)
  if (is.logical(column)) {
    "c(FALSE, TRUE)"
  } else if (as_levels || is.character(column) || is.factor(column)) {
    "c(\"...\", \"...\")"
  } else {
    "c(lower, upper)"
  }
}

#' A line to paste, with the given limits and blanks to fill in
#' @param kinds (`character`)\cr blank limits by name.
#' @param given (`list`)\cr limits by name; entries other than two numbers could be people's values.
#' @return Bullets of an error.
#' @noRd
to_paste <- function(kinds, given = NULL) {
  known <- vapply(given, limits_text, "")
  shown <- if (any(known == "...")) kinds else c(known, kinds)
  names <- names(shown)
  names <- ifelse(names == make.names(names), names, paste0("`", names, "`"))
  entries <- paste0(names, " = ", shown, collapse = ", ")
  line <- if (length(shown) == length(known) + length(kinds)) {
    paste0("bounds = list(", entries, ")")
  } else {
    entries
  }
  lead <- if (startsWith(line, "bounds")) "Fill in and paste" else "Add to {.arg bounds}"
  as_shown <- gsub("([{}])", "\\1\\1", line)
  c(
    i = paste0(lead, ": {.code ", as_shown, "}."),
    i = "Take limits and levels from prior knowledge, never from the data: see {.code ?dp_bounds}."
  )
}

#' The bounds that are needed for one outcome
#' @param label (`string`)\cr the outcome as the formula writes it.
#' @noRd
outcome_to_paste <- function(label) {
  if (label == make.names(label)) {
    "bounds = c(lower, upper)"
  } else {
    paste0("bounds = list(`", gsub("`", "", label, fixed = TRUE), "` = c(lower, upper))")
  }
}

#' Is it `c(FALSE, TRUE)`, in either order?
#' @noRd
is_flag_pair <- function(x) is.logical(x) && identical(sort(unname(x)), c(FALSE, TRUE))

#' A pair of limits as code; other values could be people's values and are not shown
#' @noRd
limits_text <- function(x) {
  pair <- is.atomic(x) && !is.object(x) && is.null(dim(x)) && length(x) == 2L
  if (pair) paste(deparse(unname(x), 500L), collapse = "") else "..."
}

#' The largest possible case weight, which is given or is the upper bound of the weights' column
#' @noRd
largest_weight <- function(weights, max_weight, bounds, private) {
  if (is.null(weights)) {
    abort("{.arg max_weight} can be given only together with {.arg weights}.", "argument")
  }
  if (is.call(weights) && identical(weights[[1L]], as.name("~"))) {
    own <- plain_text(weights[[length(weights)]])
    abort(c(
      "{.arg weights} must be a column or an expression that uses one row, without {.code ~}.",
      i = "Write {.code weights = {own}}."
    ), "argument")
  }
  if (is.null(max_weight) && is.symbol(weights) && is.list(bounds)) {
    bound <- bounds[[as.character(weights)]]
    if (is.numeric(bound) && length(bound) == 2L) max_weight <- bound[[2L]]
  }
  if (is.null(max_weight) && !private) {
    return(1)
  }
  if (is.null(max_weight)) {
    abort(c(
      "{.arg weights} needs {.arg max_weight}, the largest possible weight.",
      i = "Give a public value. Larger weights are reduced to this value, and noise grows with it."
    ), "argument")
  }
  check_number(max_weight, 0, open = "min")
}
