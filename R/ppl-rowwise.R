# Row-by-row code on people: the functions that it may call, and its evaluation. A change of one
# person must change only the row of that person.

#' Comparisons of cells for row-wise code
#' @param same (`function`)\cr a function of two cells: are the cells equal?
#' @noRd
comparisons <- function(same) {
  list(
    "==" = function(x, y) same(x, y), "!=" = function(x, y) !same(x, y),
    # The values are written out in the formula (see `plain_code()`).
    "%in%" = function(x, ...) {
      Reduce(`|`, lapply(list(...), function(value) same(x, value) %in% TRUE))
    }
  )
}

# Elementwise functions: each value of the result depends only on the same element of the arguments,
# if every argument has length 1 or one value per row. Numeric arguments first become doubles, text
# by `cell_numbers()`, so that neither the class of a column nor text in one cell changes other
# rows. Excluded although they look similar: cumsum() and the like, `&&` and `||` (the first value
# decides), `[`, `:`.
#' @param numbers (`function`)\cr cells as doubles.
#' @noRd
make_rowwise <- function(numbers) {
  of_doubles <- function(f) {
    force(f)
    function(...) do.call(f, lapply(list(...), numbers))
  }
  of_base <- c(
    "+", "-", "*", "/", "^", "%%", "%/%", "<", "<=", ">", ">=", "!", "&", "|", "xor",
    "log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "abs", "sign",
    "round", "signif", "floor", "ceiling", "trunc",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "is.nan", "is.finite", "is.infinite"
  )
  functions <- lapply(mget(of_base, envir = baseenv()), of_doubles)
  functions$plogis <- of_doubles(function(q, location = 0, scale = 1) {
    stats::plogis(q, location, scale)
  })
  functions$qlogis <- of_doubles(function(p, location = 0, scale = 1) {
    stats::qlogis(p, location, scale)
  })
  functions$pnorm <- of_doubles(function(q, mean = 0, sd = 1) stats::pnorm(q, mean, sd))
  functions$qnorm <- of_doubles(function(p, mean = 0, sd = 1) stats::qnorm(p, mean, sd))
  functions[["("]] <- functions$I <- function(x) x
  functions$as.numeric <- functions$as.double <- function(x) numbers(x)
  functions$as.integer <- function(x) trunc(numbers(x))
  functions$as.logical <- function(x) as.logical(numbers(x))
  # A logical argument such as na.rm would be read from the first row, not row by row.
  functions$pmin <- function(..., na.rm = FALSE) {
    if (!is_single(na.rm)) stop("not one flag")
    do.call(pmin, c(lapply(list(...), numbers), na.rm = na.rm))
  }
  functions$pmax <- function(..., na.rm = FALSE) {
    if (!is_single(na.rm)) stop("not one flag")
    do.call(pmax, c(lapply(list(...), numbers), na.rm = na.rm))
  }
  functions
}

rowwise_functions <- local({
  functions <- c(make_rowwise(cell_numbers), comparisons(same_cells))
  functions$is.na <- function(x) is.na(if (is_text(x)) x else cell_numbers(x))
  functions$as.character <- function(x) cell_text(x)
  # With a test of length 1, base R's function would give all rows the value of the first row.
  # Moreover, the type of its result depends on the tests of all rows.
  functions$ifelse <- function(test, yes, no) {
    size <- max(length(test), length(yes), length(no))
    # With a quoted constant both sides become text, for any content of the column.
    quoted <- any(vapply(list(yes, no), function(x) is_text(x) && length(x) == 1L, NA))
    value <- if (quoted || (is_text(yes) && is_text(no))) cell_text else cell_numbers
    test <- rep_len(as.logical(cell_numbers(test)), size)
    out <- rep_len(value(yes), size)
    otherwise <- which(!test)
    out[otherwise] <- rep_len(value(no), size)[otherwise]
    out[is.na(test)] <- NA
    out
  }
  functions
})

# In blocks the type of a value depends on no class: columns are cells (see `block_cells()`).
delayedAssign("rowwise_in_blocks", {
  c(make_rowwise(block_numbers), comparisons(block_same), list(
    is.na = function(x) block_missing(x), as.character = function(x) block_cells(x),
    ifelse = function(test, yes, no) block_chosen(test, yes, no)
  ))
})

# Functions that accept strings. All other functions would read a quoted constant as a number.
functions_of_text <- c(
  "(", "I", "==", "!=", "%in%", "c", "ifelse", "is.na", "as.character", "as.Date", "as.POSIXct"
)

# Functions that make dates from single constants. For a column the first value would determine the
# format.
is_constant_date <- function(code) {
  is.call(code) && is.symbol(code[[1L]]) &&
    as.character(code[[1L]]) %in% c("as.Date", "as.POSIXct") &&
    all(vapply(arguments_of(code), is_single, NA))
}

is_single <- function(x) {
  is.atomic(x) && length(x) == 1L && is.null(attributes(x))
}

#' Refuse code of a formula that could use several rows at once
#' @param code (`language`).
#' @noRd
check_rowwise <- function(code) {
  unknown <- setdiff(called_by_code(code), names(rowwise_functions))
  if ("cbind" %in% unknown) {
    abort(c(
      "The formula can have only one outcome, without {.fn cbind}.",
      i = "For counts of successes and failures use one row per trial.",
      i = "For several outcomes make one call per outcome."
    ), "argument")
  }
  if (length(unknown)) {
    abort(c(
      "The formula can only use functions of one row at a time, not {.code {unknown}}.",
      x = "A function of several rows could reveal information without noise.",
      i = "Compute the column beforehand, with public constants in place of other people's values."
    ), "argument")
  }
  if (!has_single_constants(code)) {
    abort(c(
      "The formula can only use columns and single numbers, but it contains a vector.",
      i = "Add the vector to the rows as a column, with separate bounds."
    ), "argument")
  }
  check_text_compared(code)
}

#' Refuse a string where a number is needed: text has no order
#' @noRd
check_text_compared <- function(code) {
  what <- takes_no_text(code)
  if (!is.null(what)) {
    abort(c(
      paste(
        "Text can be compared only by {.code ==}, {.code !=} and {.code %in%}, not by",
        "{.code {what}}."
      ),
      x = "The formula contains a string where a number is needed.",
      i = "Text and factors have no order here. Write a date as {.code as.Date(\"2020-01-31\")}."
    ), "argument")
  }
}

#' The first function with a string argument that it does not accept, or `NULL`
#' @noRd
takes_no_text <- function(code) {
  if (!is.call(code)) {
    return(NULL)
  }
  head <- if (is.symbol(code[[1L]])) as.character(code[[1L]]) else ""
  given <- arguments_of(code)
  if (!head %in% functions_of_text && any(vapply(given, is.character, NA))) {
    return(head)
  }
  for (part in given) {
    found <- takes_no_text(part)
    if (!is.null(found)) {
      return(found)
    }
  }
}

#' Evaluate checked code in an environment with these columns and row-wise functions only
#' @param columns (`list`)\cr plain vectors. PRIVATE or PUBLIC.
#' @param blocks (`flag`)\cr whether a reader may have guessed the classes of columns, block by
#'   block.
#' @return The value, or `NULL` if the evaluation fails.
#' @noRd
value_by_row <- function(code, columns, blocks = FALSE) {
  functions <- if (blocks) rowwise_in_blocks else rowwise_functions
  scope <- list2env(columns, parent = list2env(functions, parent = emptyenv()))
  tryCatch(
    suppressWarnings(plain_cells(eval(plain_code(code, blocks), scope))),
    error = function(e) NULL
  )
}

#' Columns used in code, as doubles, with factors as text, or in blocks as cells
#' @param data (`data.frame`, PRIVATE).
#' @param blocks (`flag`)\cr as in [value_by_row()].
#' @section Errors: `dpsc_error_data`, from names and classes alone.
#' @noRd
columns_of_code <- function(code, data, blocks = FALSE) {
  names <- all.vars(code)
  missing <- setdiff(names, names(data))
  if (length(missing)) abort("The rows contain no column {.code {missing}}.", "data")
  lapply(stats::setNames(nm = names), function(name) {
    x <- .subset2(data, name)
    (if (blocks) block_cells(x) else plain_column(x)) %||% abort(paste(
      "Column {.code {name}} must be a vector of numbers, logical values, text or dates, or a",
      "factor."
    ), "data")
  })
}

#' Code with numbers in place of strings that are compared with a column of dates, since the cells
#' of such a column are numbers
#' @param data (`data.frame`)\cr only its columns' classes are used.
#' @param blocks (`flag`)\cr as in [value_by_row()]: no class is used, and a date in the ISO format
#'   is a number in every comparison, since such a cell is a number.
#' @noRd
with_dates <- function(code, data, blocks = FALSE) {
  if (!is.call(code)) {
    return(code)
  }
  parts <- as.list(code)
  given <- parts[-1L]
  dates <- Filter(function(x) {
    !blocks && is.symbol(x) && !identical(x, quote(expr = )) && # nolint
      cell_kind(.subset2(data, as.character(x))) == "date"
  }, given)
  compared <- is.symbol(code[[1L]]) &&
    as.character(code[[1L]]) %in% c("==", "!=", "<", "<=", ">", ">=")
  if (compared && blocks) parts[-1L] <- lapply(given, date_constant)
  if (compared && !blocks && length(given) == 2L && length(dates) == 1L) {
    column <- .subset2(data, as.character(dates[[1L]]))
    given <- lapply(given, function(x) if (is.character(x)) date_number(x, column) else x)
    return(as.call(c(parts[[1L]], given)))
  }
  code_of_parts(parts, with_dates, data, blocks)
}

#' A string with an ISO date as days; other constants and code unchanged
#' @noRd
date_constant <- function(code) {
  if (!is.character(code) || !grepl(paste0("^", iso_day, "$"), code)) {
    return(code)
  }
  days <- days_of_text(code)
  if (is.na(days)) code else days
}

date_number <- function(text, column) {
  value <- tryCatch(
    if (inherits(column, "Date")) {
      as.Date(text)
    } else {
      as.POSIXct(text, tz = attr(column, "tzone")[1L] %||% "")
    },
    error = function(e) NA
  )
  as.double(value)
}

#' Names of the functions that code calls: names, `package::name`, or "a function written in it"
#' @noRd
called_by_code <- function(code) {
  if (!is.call(code)) {
    return(character())
  }
  head <- code[[1L]]
  own <- if (is.symbol(head)) {
    as.character(head)
  } else if (is_qualified(head)) {
    paste(as.character(head)[c(2L, 1L, 3L)], collapse = "")
  } else {
    "a function defined in it"
  }
  given <- arguments_of(code)
  if (is_constant_date(code)) {
    return(character())
  }
  if (own %in% c("%in%", "as.Date", "as.POSIXct")) {
    if (is_of_table(code)) given <- given[1L] else own <- paste(own, "of a column")
  }
  unique(c(own, unlist(lapply(given, called_by_code))))
}

#' Does the code have the form `x %in% c(...)` with constants?
#' @noRd
is_of_table <- function(code) {
  is.call(code) && identical(code[[1L]], quote(`%in%`)) && length(code) == 3L &&
    is_constant_table(code[[3L]])
}

#' Code with the constants of `%in%` written out and constant dates as numbers
#' @noRd
plain_code <- function(code, blocks = FALSE) {
  if (is_constant_date(code)) {
    value <- eval(code, baseenv())
    return(if (blocks) block_numbers(value) else as.double(value))
  }
  if (!is.call(code)) {
    return(code)
  }
  parts <- as.list(code)
  if (is_of_table(code)) {
    parts <- c(parts[1:2], if (is.call(parts[[3L]]) && identical(parts[[3L]][[1L]], quote(c))) {
      as.list(parts[[3L]])[-1L]
    } else {
      parts[3L]
    })
  }
  code_of_parts(parts, plain_code, blocks)
}

#' A constant, or several constants in `c()`
#' @noRd
is_constant_table <- function(code) {
  several <- is.call(code) && identical(code[[1L]], quote(c)) && length(code) > 1L
  constants <- if (several) lapply(as.list(code)[-1L], without_sign) else list(without_sign(code))
  all(vapply(constants, is_single, NA))
}

without_sign <- function(code) {
  signed <- is.call(code) && length(code) == 2L && identical(code[[1L]], quote(`-`))
  if (signed) code[[2L]] else code
}

#' The nonempty arguments of a call
#' @noRd
arguments_of <- function(code) {
  Filter(function(part) !identical(part, quote(expr = )), as.list(code)[-1L]) # nolint
}

is_qualified <- function(code) {
  is.call(code) && length(code) == 3L && all(vapply(as.list(code), is.symbol, NA)) &&
    as.character(code[[1L]]) %in% c("::", ":::")
}

#' Code with `f` in place of `base::f` and `stats::f`
#' @noRd
unqualified <- function(code) {
  if (!is.call(code)) {
    return(code)
  }
  head <- code[[1L]]
  parts <- as.list(code)
  if (is_qualified(head) && as.character(head[[2L]]) %in% c("base", "stats")) {
    parts[[1L]] <- head[[3L]]
  }
  code_of_parts(parts, unqualified, head = FALSE)
}

has_single_constants <- function(code) {
  if (is.call(code)) {
    return(all(vapply(arguments_of(code), has_single_constants, NA)))
  }
  is.symbol(code) || is_single(code)
}

# Outcomes of long data ----------------------------------------------------------------------------
# Outcomes that are computed row by row. With a finite epsilon, a change of one donor must change
# only the row of that donor: `y / max(y)` or `rank(y)` would change every row.

#' Evaluate an outcome row by row
#'
#' The evaluation environment contains only columns of the data, constants and `rowwise_functions`,
#' so that neither a user's function with one of these names nor a precomputed vector can make rows
#' depend on each other. A single number in the formula's environment is a constant.
#'
#' The user is responsible for the computation of columns before the call.
#' @param code (`language`)\cr the left-hand side of the formula.
#' @param environment (`environment`)\cr the formula's environment.
#' @param data (`data.frame`)\cr long data. PRIVATE.
#' @return The unchecked outcome (PRIVATE), or `NULL` if its evaluation failed.
#' @section Errors: `dpsc_error_panel` for code that may mix rows.
#' @noRd
evaluate_rowwise <- function(code, environment, data) {
  code <- with_dates(unqualified(code), data)
  problem <- rowwise_problem(code, environment, data)
  if (!is.null(problem)) {
    abort(c(
      paste(
        "With a finite {.arg epsilon} the outcome must be computed row by row, or one donor would",
        "change the rows of others."
      ),
      x = "{problem}",
      i = paste(
        "Arithmetic and functions such as {.fn log} or {.fn ifelse} of columns and single numbers",
        "are allowed."
      ),
      i = paste(
        "Add any other outcome to {.arg data} as a column. The guarantee then does not cover how",
        "the column was computed; see {.code ?preparing_data}."
      )
    ), "panel")
  }
  check_text_compared(code)
  if (is.symbol(code) && as.character(code) %in% names(data)) {
    return(outcome_column(.subset2(data, as.character(code))))
  }
  values <- lapply(rlang::set_names(all.vars(code)), function(name) {
    if (name %in% names(data)) plain_column(.subset2(data, name)) else find_value(name, environment)
  })
  # A name in the code has no value.
  if (any(vapply(values, is.null, NA))) {
    return(NULL)
  }
  outcome_column(value_by_row(code, values))
}

#' A column as the outcome, as numbers if its class permits numbers
#' @noRd
outcome_column <- function(x) {
  if (is.null(plain_column(x)) || cell_kind(x) == "date") x else cell_numbers(plain_column(x))
}

#' Words on the reason why code may mix rows, or `NULL`
#' @noRd
rowwise_problem <- function(code, environment, data) {
  other <- setdiff(called_by_code(code), names(rowwise_functions))
  # Missing functions and variables are left to a later error, which names them.
  known <- grepl("[: ]", other) | vapply(other, exists, NA, envir = environment, mode = "function")
  other <- other[known]
  if (length(other) > 0L) {
    shown <- paste0("`", utils::head(other, 3L), "`", collapse = ", ")
    return(paste0("It calls ", shown, ", which may use several rows at once."))
  }
  if (!has_single_constants(code)) {
    return("It contains a vector.")
  }
  for (name in setdiff(all.vars(code), names(data))) {
    value <- find_value(name, environment)
    if (!is.null(value) && !is_single(value)) {
      return(paste0("`", name, "` is neither a column of the data nor a single number."))
    }
  }
  for (name in intersect(all.vars(code), names(data))) {
    if (is.call(code) && is.null(plain_column(.subset2(data, name)))) {
      return(paste0("`", name, "` is of a class whose arithmetic is not known to be row-wise."))
    }
  }
}

find_value <- function(name, environment) {
  tryCatch(
    {
      value <- get(name, envir = environment)
      if (is.function(value)) {
        NULL
      } else if (length(value) == 1L && cell_kind(value) == "date") {
        cell_numbers(value)
      } else {
        value
      }
    },
    error = function(e) NULL
  )
}
