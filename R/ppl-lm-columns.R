# Columns of a private regression: from a formula and public bounds to variables (the contents of a
# row) and columns (products of variables). No code here uses rows; `bounds` determines ranges,
# levels, and the number and names of columns.

#' Meaning of a formula, from public facts alone
#' @param formula (`formula`)\cr `.` means all other names of `bounds`.
#' @param bounds (`list`, named by variable, PUBLIC)\cr a range, or the levels of a factor.
#' @param outcome (`function`)\cr a function from a formula's left side to its variable.
#' @param offset (`language` or `NULL`)\cr from [said_offset()]; a dot excludes its columns.
#' @return A list: `text`; `response`; `given` (checked bounds); `variables` (the columns made from
#'   rows; the response is the last); `columns` (`name`, `term`, `variables`, `powers`); `terms`;
#'   `offset` (`at`, the position of its variable, and `text`), if any. PUBLIC, without
#'   environments.
#' @noRd
lm_columns <- function(formula, bounds, outcome = lm_outcome, offset = NULL) {
  bounds <- bounds_of_regression(formula, bounds)
  given <- Map(lm_bound, bounds, names(bounds))
  terms <- expand_terms(formula, bounds[setdiff(names(bounds), all.vars(offset))])
  check_lm_terms(terms)
  known <- list(given = given, variables = list(), columns = list())
  factors <- attr(terms, "factors")
  for (k in seq_along(attr(terms, "term.labels"))) known <- add_term(known, factors, k)
  known$columns <- Filter(function(column) length(column$variables) > 0L, known$columns)
  known <- give_unclosed(known)
  response <- outcome(bare_code(formula[[2L]]), given)
  check_lm_size(known)
  own <- c(if (!is.null(offset)) list(offset_of(offset, given)), list(response))
  known$variables <- c(known$variables, own)
  shown <- if ("." %in% all.names(formula)) without_dot(formula, terms) else formula
  c(known, list(
    response = response$name, text = plain_text(shown),
    terms = attr(terms, "term.labels")
  ), if (!is.null(offset)) {
    list(offset = list(at = length(known$variables) - 1L, text = plain_text(offset)))
  })
}

#' @noRd
lm_outcome <- function(expression, given) {
  response <- whole_atom(expression, given)
  if (response$kind != "value") {
    abort(c(
      "The outcome must be numeric, not a factor and not logical.",
      i = "Give the limits of the outcome in {.arg bounds}: {.code c(lower, upper)}."
    ), "bounds")
  }
  response
}

#' @noRd
offset_of <- function(expression, given) {
  atom <- whole_atom(expression, given)
  if (atom$kind != "value") {
    abort(c(
      "The offset must be numeric, not a factor and not logical.",
      i = "Give the limits of the offset in {.arg bounds}: {.code c(lower, upper)}."
    ), "bounds")
  }
  atom$name <- paste("offset", atom$name)
  atom
}

#' The formula with its dot replaced by names
#' @noRd
without_dot <- function(formula, terms) {
  stats::reformulate(attr(terms, "term.labels"), formula[[2L]], env = baseenv())
}

check_lm_terms <- function(terms) {
  if (length(attr(terms, "offset"))) {
    abort(c(
      "The formula of a private regression cannot contain an offset.",
      i = "In a linear model subtract the offset from the outcome: {.code I(y - z) ~ x}.",
      i = "In {.fn dp_glm} use the argument {.code offset = ~ z}."
    ), "argument")
  }
  if (attr(terms, "intercept") != 1L) {
    abort(c(
      "A private regression needs its intercept.",
      i = "Drop {.code - 1} or {.code + 0}: models without an intercept are not available."
    ), "argument")
  }
  if (!length(attr(terms, "term.labels"))) {
    abort("The formula must contain at least one regressor.", "argument")
  }
}

check_lm_size <- function(known) {
  names <- vapply(known$columns, `[[`, "", "name")
  if (anyDuplicated(names)) {
    abort("Two columns have the same name: {.code {names[duplicated(names)]}}.", "argument")
  }
  if (length(names) > 500L) {
    abort(c(
      "The formula gives {length(names)} columns, but at most 500 can be released.",
      i = "If only a few of many columns matter, use {.fn dp_select}."
    ), "argument")
  }
}

#' Add the columns of one term, named and ordered as lm() does
#' @noRd
add_term <- function(known, factors, k) {
  rows <- which(factors[, k] > 0L)
  columns <- list(list(name = character(), variables = integer(), powers = integer()))
  for (row in rows) {
    atom <- lm_atom(str2lang(rownames(factors)[[row]]), known$given)
    parts <- atom_columns(known, atom, factors[row, k] == 1L)
    known <- parts$known
    # The first factor of a term varies fastest.
    columns <- unlist(lapply(parts$columns, function(part) {
      lapply(columns, function(column) {
        list(
          name = c(column$name, part$name), variables = c(column$variables, part$variable),
          powers = c(column$powers, part$power)
        )
      })
    }), recursive = FALSE)
  }
  columns <- lapply(columns, function(column) {
    merged <- tapply(column$powers, column$variables, sum)
    list(
      name = paste(column$name, collapse = ":"), term = k,
      variables = as.integer(names(merged)), powers = as.integer(merged)
    )
  })
  # The square of an indicator is the indicator; the product of two levels of one factor is zero.
  known$columns <- c(known$columns, columns)
  known
}

atom_columns <- function(known, atom, contrast) {
  if (atom$kind == "levels") {
    levels <- if (contrast) atom$levels[-1L] else atom$levels
    columns <- list()
    for (level in levels) {
      variable <- level_of(atom, level)
      found <- find_variable(known, variable)
      known <- found$known
      columns <- c(columns, list(list(name = variable$name, variable = found$at, power = 1L)))
    }
    return(list(known = known, columns = columns))
  }
  label <- atom$label %||% atom$name
  power <- atom$power %||% 1L
  found <- find_variable(known, list(
    kind = "value", name = atom$name, expression = atom$expression, lower = atom$lower,
    upper = atom$upper
  ))
  list(known = found$known, columns = list(list(
    name = label, variable = found$at, power = as.integer(power)
  )))
}

find_variable <- function(known, variable) {
  names <- vapply(known$variables, `[[`, "", "name")
  at <- match(variable$name, names)
  if (is.na(at)) {
    known$variables <- c(known$variables, list(variable))
    at <- length(known$variables)
  }
  list(known = known, at = at)
}

#' Separate, unstandardised variables for columns without their lower orders in the formula
#'
#' Other columns are computed from standardised variables and multiplied out afterwards.
#' @noRd
give_unclosed <- function(known) {
  for (column in known$columns) column_range(known, column)
  key <- function(variables, powers) {
    keep <- powers > 0L
    paste(variables[keep], powers[keep], sep = "^", collapse = "*")
  }
  repeat {
    keys <- vapply(known$columns, function(x) key(x$variables, x$powers), "")
    open <- vapply(known$columns, function(column) {
      steps <- Map(function(j, power) {
        if (known$variables[[j]]$kind == "level") power else seq(0L, power)
      }, column$variables, column$powers)
      lower <- as.matrix(expand.grid(steps))
      needed <- apply(lower, 1L, function(powers) key(column$variables, powers))
      !all(needed %in% c(keys, ""))
    }, NA)
    if (!any(open)) {
      break
    }
    for (k in which(open)) known <- give_column(known, k)
  }
  used <- sort(unique(unlist(lapply(known$columns, `[[`, "variables"))))
  # Products may refer to variables that are not columns and thus not in the table.
  known$columns <- lapply(known$columns, function(column) {
    column$variables <- match(column$variables, used)
    column
  })
  known$variables <- known$variables[used]
  known
}

give_column <- function(known, k) {
  column <- known$columns[[k]]
  range <- column_range(known, column)
  made <- find_variable(known, list(
    kind = "product", name = column$name, parts = known$variables[column$variables],
    powers = column$powers, lower = range[[1L]], upper = range[[2L]]
  ))
  known <- made$known
  known$columns[[k]]$variables <- made$at
  known$columns[[k]]$powers <- 1L
  known
}

#' Range of a product of powers of variables within their bounds
#' @noRd
column_range <- function(known, column) {
  range <- c(1, 1)
  for (i in seq_along(column$variables)) {
    variable <- known$variables[[column$variables[[i]]]]
    part <- c(variable$lower, variable$upper)
    ends <- part^column$powers[[i]]
    if (column$powers[[i]] %% 2L == 0L && prod(sign(part)) < 0) ends <- c(ends, 0)
    range <- range(outer(range, ends))
  }
  check_size_of_range(range, column$name)
}

#' The columns in the core's form
#' @noRd
lm_design <- function(columns) {
  lower <- vapply(columns$variables, `[[`, 0, "lower")
  upper <- vapply(columns$variables, `[[`, 0, "upper")
  list(
    names = vapply(columns$variables, `[[`, "", "name"), centre = (lower + upper) / 2,
    half = (upper - lower) / 2,
    indicator = vapply(columns$variables, function(x) x$kind == "level", NA),
    columns = lapply(columns$columns, `[`, c("variables", "powers")),
    weighted = isTRUE(columns$weighted), person = !is.null(columns$person$column)
  )
}

# Factors of a term --------------------------------------------------------------------------------

#' One factor of a term: a number with a range, a factor with levels, or a power with whole exponent
#' @return A list: `kind` `"value"` (with `expression`, `lower`, `upper`), `"levels"` (with
#'   `expression`, `levels`) or `"power"` (a value, and `power`).
#' @noRd
lm_atom <- function(expression, given) {
  name <- written(expression)
  inner <- strip_factor(expression)
  if (!is.symbol(expression) && !is.null(given[[name]])) {
    return(own_atom(inner, name, given[[name]]))
  }
  check_known(inner, given)
  if (is.symbol(inner)) {
    bound <- given[[as.character(inner)]]
    as_levels <- !identical(inner, expression)
    if (as_levels && is.null(bound$levels)) bound <- levels_of_pair(bound, name)
    if (isTRUE(bound$codes) && !as_levels) {
      abort(c(
        "The bounds of {.code {name}} must be {.code c(lower, upper)}.",
        i = "For numeric codes write {.code factor({name})} in the formula."
      ), "bounds")
    }
    if (!is.null(bound$levels)) {
      return(list(kind = "levels", name = name, expression = inner, levels = bound$levels))
    }
    return(list(
      kind = "value", name = name, expression = inner, lower = bound$lower, upper = bound$upper
    ))
  }
  check_rowwise(inner)
  power <- whole_power(inner, given)
  if (!is.null(power)) {
    base <- lm_atom(power$base, given)
    return(c(list(kind = "power", label = name, power = power$power), base[names(base) != "kind"]))
  }
  image_of(inner, name, given)
}

#' One factor outside products, in which a power is a separate number
#' @noRd
whole_atom <- function(expression, given) {
  atom <- lm_atom(expression, given)
  if (atom$kind == "power") image_of(expression, atom$label, given) else atom
}

#' An expression with given limits or levels, found by its text
#' @noRd
own_atom <- function(expression, name, bound) {
  check_rowwise(expression)
  if (isTRUE(bound$codes) && !is.symbol(expression)) {
    abort(c(
      "The bounds of {.code {name}} must be {.code c(lower, upper)}, or levels as text."
    ), "bounds")
  }
  if (is.symbol(expression) && is.null(bound$levels)) bound <- levels_of_pair(bound, name)
  kind <- if (is.null(bound$levels)) "value" else "levels"
  c(list(kind = kind, name = name, expression = expression), bound[c("lower", "upper", "levels")])
}

#' `I(x^k)` of a number, k = 2, 3, ..., 6
#' @noRd
whole_power <- function(expression, given) {
  inner <- expression
  while (is.call(inner) && as.character(inner[[1L]])[[1L]] %in% c("I", "(")) inner <- inner[[2L]]
  is_power <- is.call(inner) && identical(inner[[1L]], as.name("^")) && is.symbol(inner[[2L]]) &&
    is.numeric(inner[[3L]]) && inner[[3L]] %in% 2:6
  if (is_power && is.null(given[[as.character(inner[[2L]])]]$levels)) {
    list(base = inner[[2L]], power = as.integer(inner[[3L]]))
  }
}

#' Range, or levels, of a function of one row, on a public grid of its variables
#' @noRd
image_of <- function(expression, name, given) {
  variables <- all.vars(expression)
  if (!length(variables) || length(variables) > 3L) {
    abort(c(
      "{.code {name}} must be a function of one, two or three variables.",
      i = "Compute it beforehand as a column with separate bounds."
    ), "argument")
  }
  steps <- c(1001L, 101L, 41L)[[length(variables)]]
  grid <- expand.grid(lapply(given[variables], function(bound) {
    if (is.null(bound$levels)) {
      seq(bound$lower, bound$upper, length.out = steps)
    } else if (identical(bound$levels, c("FALSE", "TRUE"))) {
      c(FALSE, TRUE)
    } else {
      plain_bound(bound)
    }
  }), stringsAsFactors = FALSE, KEEP.OUT.ATTRS = FALSE)
  value <- value_by_row(expression, as.list(grid))
  if (is.logical(value) && length(value) == nrow(grid)) {
    return(list(kind = "levels", name = name, expression = expression, levels = c("FALSE", "TRUE")))
  }
  value <- if (is.numeric(value) && length(value) == nrow(grid)) value[is.finite(value)]
  if (length(value) < 2L || !(min(value) < max(value))) {
    abort(c(
      "{.code {name}} is not numeric, or does not vary within the limits in {.arg bounds}."
    ), "bounds")
  }
  range <- check_size_of_range(range(value), name)
  list(
    kind = "value", name = name, expression = expression, lower = range[[1L]],
    upper = range[[2L]]
  )
}

#' The indicator of one level, as a variable
#' @param atom (`list`)\cr an atom of kind `"levels"`.
#' @noRd
level_of <- function(atom, level, name = paste0(atom$name, level)) {
  list(
    kind = "level", name = name, expression = atom$expression, levels = atom$levels,
    level = level, lower = 0, upper = 1
  )
}
