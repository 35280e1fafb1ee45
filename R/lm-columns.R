# Columns of a private regression: from a formula and public bounds to variables (what a row holds)
# and columns (products of variables). Nothing here looks at rows: ranges, levels, the number of
# columns and their names come from `bounds`. Rows become numbers one at a time.

#' What a formula means, from public facts alone
#' @param formula (`formula`)\cr `.` means all other names of `bounds`.
#' @param bounds (`list`, named by variable, PUBLIC)\cr a range, or the levels of a factor.
#' @param outcome (`function`)\cr the variable that a formula's left side is.
#' @return A list: `text`; `response`; `given` (checked bounds); `variables` (what rows are turned
#'   into; the response is the last); `columns` (`name`, `term`, `variables`, `powers`); `terms`.
#'   PUBLIC, without environments.
#' @noRd
lm_columns <- function(formula, bounds, call, outcome = lm_outcome) {
  if (!inherits(formula, "formula") || length(formula) != 3L) {
    abort(c(
      "The formula must be {.code outcome ~ regressors}.", x = "It is {describe(formula)}."
    ), "argument", call)
  }
  check_bounds_list(bounds, call)
  given <- Map(function(x, name) lm_bound(x, name, call), bounds, names(bounds))
  terms <- expand_terms(formula, bounds, call)
  check_lm_terms(terms, call)
  known <- list(given = given, variables = list(), columns = list())
  factors <- attr(terms, "factors")
  for (k in seq_along(attr(terms, "term.labels"))) known <- add_term(known, factors, k, call)
  known$columns <- Filter(function(column) length(column$variables) > 0L, known$columns)
  known <- give_unclosed(known, call)
  response <- outcome(formula[[2L]], given, call)
  check_lm_size(known, call)
  known$variables <- c(known$variables, list(response))
  c(known, list(
    response = response$name, text = plain_text(terms_formula(formula, terms)),
    terms = attr(terms, "term.labels")
  ))
}

#' @noRd
lm_outcome <- function(expression, given, call) {
  response <- lm_atom(expression, given, call)
  if (response$kind == "power") response <- image_of(expression, response$label, given, call)
  if (response$kind != "value") {
    abort("The outcome must be a number with a range in {.arg bounds}.", "bounds", call)
  }
  response
}

#' The formula with its dot written out
#' @noRd
terms_formula <- function(formula, terms) {
  if (!"." %in% all.names(formula)) {
    return(formula)
  }
  stats::reformulate(attr(terms, "term.labels"), formula[[2L]], env = baseenv())
}

check_lm_terms <- function(terms, call) {
  verb <- verb_of(call)
  if (length(attr(terms, "offset"))) {
    abort(c(
      "{.fn {verb}} has no offsets.",
      i = if (verb == "dp_lm") "Take the offset off the outcome: {.code I(y - z) ~ x}."
    ), "argument", call)
  }
  if (attr(terms, "intercept") != 1L) {
    abort(c(
      "{.fn {verb}} needs its intercept.",
      i = "Drop {.code - 1} or {.code + 0}: moments about the mean are what is released."
    ), "argument", call)
  }
  if (!length(attr(terms, "term.labels"))) {
    abort("The formula has no regressors.", "argument", call)
  }
}

#' The function the user called
#' @noRd
verb_of <- function(call) {
  if (is.null(call)) "dp_lm" else as.character(call[[1L]])
}

check_lm_size <- function(known, call) {
  verb <- verb_of(call)
  names <- vapply(known$columns, `[[`, "", "name")
  if (anyDuplicated(names)) {
    abort("Two columns have the same name: {.code {names[duplicated(names)]}}.", "argument", call)
  }
  if (length(names) > 500L) {
    abort(c(
      "The formula has {length(names)} columns; {.fn {verb}} takes 500 at most.",
      i = "{.fn dp_select} is for many columns of which few matter."
    ), "argument", call)
  }
}

#' One entry of `bounds`
#' @return A list with `lower` and `upper`, or with `levels` (strings); `values` as given.
#' @noRd
lm_bound <- function(x, name, call) {
  if (is.factor(x)) x <- levels(x)
  if (is.character(x) || is.logical(x)) {
    levels <- as.character(if (is.logical(x)) sort(unique(x)) else x)
    if (length(levels) < 2L || anyNA(x) || anyDuplicated(levels)) {
      abort("The levels of {.code {name}} must be two different ones at least.", "bounds", call)
    }
    return(list(levels = levels))
  }
  if (is.numeric(x) && length(x) > 2L && all(is.finite(x)) && !anyDuplicated(x)) {
    return(list(levels = as.character(x), codes = TRUE))
  }
  range <- check_range(x, name, call)
  list(lower = range[[1L]], upper = range[[2L]])
}

#' What one factor of a term is
#' @return A list: `kind` `"value"` (with `expression`, `lower`, `upper`), `"levels"` (with
#'   `expression`, `levels`) or `"power"` (a value, and `power`).
#' @noRd
lm_atom <- function(expression, given, call) {
  name <- gsub("`", "", plain_text(expression), fixed = TRUE)
  inner <- strip_factor(expression)
  check_known(inner, given, call)
  if (is.symbol(inner)) {
    bound <- given[[as.character(inner)]]
    as_levels <- !identical(inner, expression)
    if (as_levels && is.null(bound$levels)) bound <- levels_of_pair(bound, name, call)
    if (isTRUE(bound$codes) && !as_levels) {
      abort(c(
        "The bounds of {.code {name}} must be {.code c(lower, upper)}.",
        i = "For a number that is a code, write {.code factor({name})} in the formula."
      ), "bounds", call)
    }
    if (!is.null(bound$levels)) {
      return(list(kind = "levels", name = name, expression = inner, levels = bound$levels))
    }
    return(list(
      kind = "value", name = name, expression = inner, lower = bound$lower, upper = bound$upper
    ))
  }
  check_rowwise(inner, call)
  power <- whole_power(inner, given)
  if (!is.null(power)) {
    base <- lm_atom(power$base, given, call)
    return(c(list(kind = "power", label = name, power = power$power), base[names(base) != "kind"]))
  }
  image_of(inner, name, given, call)
}

#' Two numbers are levels where nothing lies between them: 0 and 1
#' @noRd
levels_of_pair <- function(bound, name, call) {
  if (bound$upper - bound$lower != 1) {
    abort(c(
      "{.code {name}} needs its public levels, not a range.",
      i = "Give every code, as in {.code c(0, 1, 2, 3)}, or levels as text."
    ), "bounds", call)
  }
  list(levels = as.character(c(bound$lower, bound$upper)))
}

strip_factor <- function(expression) {
  is_factor <- is.call(expression) && length(expression) == 2L && is.symbol(expression[[2L]]) &&
    is.symbol(expression[[1L]]) && as.character(expression[[1L]]) %in% c("factor", "as.factor")
  if (is_factor) expression[[2L]] else expression
}

check_known <- function(expression, given, call) {
  unknown <- setdiff(all.vars(expression), names(given))
  if (length(unknown)) {
    abort(c(
      "{.arg bounds} has no entry for {.code {unknown}}.",
      i = "Every variable of the formula needs its public range, or its public levels."
    ), "bounds", call)
  }
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
image_of <- function(expression, name, given, call) {
  variables <- all.vars(expression)
  if (!length(variables) || length(variables) > 3L) {
    abort(c(
      "{.code {name}} must be a function of one, two or three variables.",
      i = "Put it in a column of its own, with bounds of its own."
    ), "argument", call)
  }
  steps <- c(1001L, 101L, 41L)[[length(variables)]]
  grid <- expand.grid(lapply(given[variables], function(bound) {
    if (is.null(bound$levels)) {
      seq(bound$lower, bound$upper, length.out = steps)
    } else if (isTRUE(bound$codes)) {
      as.double(bound$levels)
    } else if (identical(bound$levels, c("FALSE", "TRUE"))) {
      c(FALSE, TRUE)
    } else {
      bound$levels
    }
  }), stringsAsFactors = FALSE, KEEP.OUT.ATTRS = FALSE)
  value <- value_by_row(expression, as.list(grid))
  if (is.logical(value) && length(value) == nrow(grid)) {
    return(list(kind = "levels", name = name, expression = expression, levels = c("FALSE", "TRUE")))
  }
  value <- if (is.numeric(value) && length(value) == nrow(grid)) value[is.finite(value)]
  if (length(value) < 2L || !(min(value) < max(value))) {
    abort(c(
      "{.code {name}} is not a number that varies within {.arg bounds}."
    ), "bounds", call)
  }
  range <- check_size_of_range(range(value), name, call)
  list(
    kind = "value", name = name, expression = expression, lower = range[[1L]],
    upper = range[[2L]]
  )
}

# Terms -------------------------------------------------------------------------------------------

#' Add the columns of one term, named and ordered as lm() does
#' @noRd
add_term <- function(known, factors, k, call) {
  rows <- which(factors[, k] > 0L)
  columns <- list(list(name = character(), variables = integer(), powers = integer()))
  for (row in rows) {
    atom <- lm_atom(str2lang(rownames(factors)[[row]]), known$given, call)
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
  # An indicator is its own square; two levels of one factor never meet.
  known$columns <- c(known$columns, columns)
  known
}

atom_columns <- function(known, atom, contrast) {
  if (atom$kind == "levels") {
    levels <- if (contrast) atom$levels[-1L] else atom$levels
    columns <- list()
    for (level in levels) {
      name <- paste0(atom$name, level)
      found <- find_variable(known, list(
        kind = "level", name = name, expression = atom$expression, levels = atom$levels,
        level = level, lower = 0, upper = 1
      ))
      known <- found$known
      columns <- c(columns, list(list(name = name, variable = found$at, power = 1L)))
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

#' Columns whose lower orders are not in the formula become variables of their own, as they are
#'
#' Others are built from standardised variables and multiplied out afterwards.
#' @noRd
give_unclosed <- function(known, call) {
  for (column in known$columns) column_range(known, column, call)
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
    for (k in which(open)) known <- give_column(known, k, call)
  }
  used <- sort(unique(unlist(lapply(known$columns, `[[`, "variables"))))
  # Products refer to variables that may have no column: those stay out of the table.
  known$columns <- lapply(known$columns, function(column) {
    column$variables <- match(column$variables, used)
    column
  })
  known$variables <- known$variables[used]
  known
}

give_column <- function(known, k, call) {
  column <- known$columns[[k]]
  range <- column_range(known, column, call)
  made <- find_variable(known, list(
    kind = "product", name = column$name, parts = known$variables[column$variables],
    powers = column$powers, lower = range[[1L]], upper = range[[2L]]
  ))
  known <- made$known
  known$columns[[k]]$variables <- made$at
  known$columns[[k]]$powers <- 1L
  known
}

#' What a product of powers can be, within the bounds of its variables
#' @noRd
column_range <- function(known, column, call) {
  range <- c(1, 1)
  for (i in seq_along(column$variables)) {
    variable <- known$variables[[column$variables[[i]]]]
    part <- c(variable$lower, variable$upper)
    ends <- part^column$powers[[i]]
    if (column$powers[[i]] %% 2L == 0L && prod(sign(part)) < 0) ends <- c(ends, 0)
    range <- range(outer(range, ends))
  }
  check_size_of_range(range, column$name, call)
}

#' The columns in the core's terms
#' @noRd
lm_design <- function(columns) {
  lower <- vapply(columns$variables, `[[`, 0, "lower")
  upper <- vapply(columns$variables, `[[`, 0, "upper")
  list(
    names = vapply(columns$variables, `[[`, "", "name"), centre = (lower + upper) / 2,
    half = (upper - lower) / 2,
    indicator = vapply(columns$variables, function(x) x$kind == "level", NA),
    columns = lapply(columns$columns, `[`, c("variables", "powers")),
    weighted = isTRUE(columns$weighted)
  )
}

# Rows --------------------------------------------------------------------------------------------

#' The numbers of people's rows, one column a variable
#'
#' What is missing, or a level that is not public, makes a value `NaN`; the core counts such a row
#' as nothing. Errors depend on names and types of columns only.
#' @param data (`data.frame`, PRIVATE).
#' @param clip (`flag`)\cr clip the formula's variables to their bounds before any function.
#' @param variables (`list`)\cr which of `columns$variables`.
#' @return A matrix of doubles. PRIVATE.
#' @noRd
lm_table <- function(columns, data, clip, call, variables = columns$variables) {
  if (!is.data.frame(data)) {
    abort(c(
      "{.arg data} must be a data frame.", x = "It is {describe_people(data)}."
    ), "data", call)
  }
  # The core clips every variable; what goes into a function is clipped before it.
  inner <- Filter(function(variable) !is.symbol(variable$expression), variables)
  clip <- if (clip) unlist(lapply(inner, symbols_of))
  plain <- plain_values(columns, data, clip, call, unique(unlist(lapply(variables, symbols_of))))
  out <- matrix(0, nrow(data), length(variables))
  for (j in seq_along(variables)) {
    out[, j] <- variable_values(variables[[j]], plain, nrow(data), call)
  }
  out
}

symbols_of <- function(variable) {
  if (variable$kind == "product") {
    unlist(lapply(variable$parts, symbols_of))
  } else {
    all.vars(variable$expression)
  }
}

#' The formula's variables as plain vectors: a column's own class could do anything
#' @param clip (`character`)\cr which of them to clip to their bounds.
#' @noRd
plain_values <- function(columns, data, clip, call, needed) {
  missing <- setdiff(needed, names(data))
  if (length(missing)) {
    abort("The rows have no column {.code {missing}}.", "data", call)
  }
  out <- lapply(stats::setNames(nm = needed), function(name) {
    x <- data[[name]]
    bound <- columns$given[[name]]
    if (!is.atomic(x) || !is.null(dim(x))) {
      abort("Column {.code {name}} must be a plain vector.", "data", call)
    }
    if (is.null(bound$levels)) {
      if (is.factor(x) || !(is.numeric(x) || is.logical(x))) {
        abort(c(
          "Column {.code {name}} is not numeric, and {.arg bounds} gives it a range.",
          i = "Give its public levels instead."
        ), "data", call)
      }
      x <- as.double(unclass(x))
      return(if (name %in% clip) pmax(pmin(x, bound$upper), bound$lower) else x)
    }
    text <- as.character(x)
    text[!text %in% bound$levels] <- NA
    if (identical(bound$levels, c("FALSE", "TRUE"))) {
      as.logical(text)
    } else if (isTRUE(bound$codes)) {
      as.double(text)
    } else {
      text
    }
  })
  out
}

variable_values <- function(variable, plain, rows, call) {
  if (variable$kind == "product") {
    value <- rep(1, rows)
    for (i in seq_along(variable$parts)) {
      part <- variable_values(variable$parts[[i]], plain, rows, call)
      value <- value * part^variable$powers[[i]]
    }
    return(value)
  }
  value <- value_by_row(variable$expression, plain)
  if (is.null(value) || length(value) != rows || !is.atomic(value)) {
    abort(c(
      "{.code {variable$name}} cannot be computed from the rows.",
      i = "It must give one number, or one level, a row."
    ), "data", call)
  }
  if (variable$kind == "level") {
    value <- as.character(value)
    value[!value %in% variable$levels] <- NA
    return(as.double(value == variable$level))
  }
  as.double(value)
}

#' Rows that a private choice leaves out weigh nothing; n stays
#' @param subset (`expression` or `NULL`).
#' @noRd
leave_out <- function(table, subset, data, call) {
  if (is.null(subset)) {
    return(table)
  }
  check_rowwise(subset, call)
  unknown <- setdiff(all.vars(subset), names(data))
  if (length(unknown)) {
    abort(c(
      "{.arg subset} names {.code {unknown}}, which the rows do not have.",
      i = "It must be a condition on columns of {.arg data}."
    ), "argument", call)
  }
  keep <- value_by_row(subset, columns_of_code(subset, data, call))
  if (!is.logical(keep) || length(keep) != nrow(table)) {
    abort("{.arg subset} must give TRUE or FALSE a row.", "argument", call)
  }
  table[is.na(keep) | !keep, ] <- NaN
  table
}

#' Columns of the model for public rows, in the formula's units
#' @return A matrix with one named column a column of the model, intercept first.
#' @noRd
lm_matrix <- function(columns, newdata, call) {
  regressors <- columns$variables[-length(columns$variables)]
  model_columns(columns, lm_table(columns, newdata, clip = FALSE, call, variables = regressors))
}

#' Columns of the model from variables' values, intercept first
#' @noRd
model_columns <- function(columns, table) {
  out <- vapply(columns$columns, function(column) {
    value <- rep(1, nrow(table))
    for (i in seq_along(column$variables)) {
      value <- value * table[, column$variables[[i]]]^column$powers[[i]]
    }
    value
  }, numeric(nrow(table)))
  out <- cbind(1, matrix(out, nrow(table)))
  colnames(out) <- c("(Intercept)", vapply(columns$columns, `[[`, "", "name"))
  out
}

#' A checked entry of `bounds`, as one gives it
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
