# Code of which each row of people gives its own value: what it may call, and its evaluation. One
# person's change must move that person's row and no other.

# Functions each value of whose result depends on the same place of its arguments alone, when every
# argument has length 1 or one value a row. Not here although they look alike: cumsum() and its kin,
# `&&` and `||` (the first value decides), as.Date() (the first value gives the format), `%in%` (its
# table may be a column), `[`, `:` and c().
rowwise_functions <- local({
  of_base <- c(
    "(", "+", "-", "*", "/", "^", "%%", "%/%",
    "<", "<=", ">", ">=", "==", "!=", "!", "&", "|", "xor",
    "log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "abs", "sign",
    "round", "signif", "floor", "ceiling", "trunc",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "is.na", "is.nan", "is.finite", "is.infinite", "as.logical", "as.character"
  )
  functions <- mget(of_base, envir = baseenv())
  functions$I <- function(x) x
  # A factor's codes depend on all its levels, which may have been found in the data.
  functions$as.numeric <- functions$as.double <- function(x) {
    if (is.factor(x)) stop("a factor") else as.double(x)
  }
  functions$as.integer <- function(x) if (is.factor(x)) stop("a factor") else as.integer(x)
  # Flags such as na.rm or lower.tail are not taken by place but from the first row.
  functions$pmin <- function(..., na.rm = FALSE) {
    if (!is_single(na.rm)) stop("not one flag")
    pmin(..., na.rm = na.rm)
  }
  functions$pmax <- function(..., na.rm = FALSE) {
    if (!is_single(na.rm)) stop("not one flag")
    pmax(..., na.rm = na.rm)
  }
  functions$plogis <- function(q, location = 0, scale = 1) stats::plogis(q, location, scale)
  functions$qlogis <- function(p, location = 0, scale = 1) stats::qlogis(p, location, scale)
  functions$pnorm <- function(q, mean = 0, sd = 1) stats::pnorm(q, mean, sd)
  functions$qnorm <- function(p, mean = 0, sd = 1) stats::qnorm(p, mean, sd)
  # With a test of length 1 that of base gives the first row's value to all, and the type of its
  # result depends on the tests of all rows.
  functions$ifelse <- function(test, yes, no) {
    if (!all(vapply(list(test, yes, no), is_plain_value, NA))) stop("not numeric")
    size <- max(length(test), length(yes), length(no))
    test <- rep_len(as.logical(test), size)
    out <- rep_len(as.double(yes), size)
    otherwise <- which(!test)
    out[otherwise] <- rep_len(as.double(no), size)[otherwise]
    out[is.na(test)] <- NA
    out
  }
  functions
})

is_plain_value <- function(x) {
  !is.object(x) && (is.logical(x) || is.numeric(x))
}

#' A column on which base R's arithmetic acts: numbers, logicals, strings and factors
#'
#' Methods of other classes may do anything (compared with a string, dates take their format from
#' the first); a class on top of plain numbers, such as that of labels, is dropped.
#' @return The column, or `NULL`.
#' @noRd
plain_column <- function(x) {
  if (!is.atomic(x) || NCOL(x) != 1L) {
    NULL
  } else if (!is.object(x) || (is.numeric(x) && is_plain_number(x))) {
    readable(as.vector(x))
  } else if (is.factor(x) && all(class(x) %in% c("ordered", "factor"))) {
    x
  }
}

#' Strings without those that no encoding makes readable, which are missing
#'
#' R makes an error of comparing or converting one of these: a person's cell would tell of itself,
#' some messages even its value.
#' @param x (`any`). PRIVATE.
#' @noRd
readable <- function(x) {
  if (is.character(x)) x[!validEnc(x) | Encoding(x) == "bytes"] <- NA_character_
  x
}

is_single <- function(x) {
  is.atomic(x) && length(x) == 1L && is.null(attributes(x))
}

#' Refuse code of a formula that could look at several rows at once
#' @param code (`language`).
#' @noRd
check_rowwise <- function(code, call) {
  unknown <- setdiff(called_by_code(code), names(rowwise_functions))
  if (length(unknown)) {
    abort(c(
      "The formula may only use functions of one row at a time, not {.code {unknown}}.",
      x = "A function that sees several rows can learn from them without noise.",
      i = "Make the column before, from public constants."
    ), "argument", call)
  }
  if (!has_single_constants(code)) {
    abort(c(
      "The formula may only use columns and single numbers: a vector is written into it.",
      i = "Add it to the rows as a column, with bounds of its own."
    ), "argument", call)
  }
}

#' Evaluate checked code, where only these columns and row by row functions exist
#' @param columns (`list`)\cr plain vectors. PRIVATE or PUBLIC.
#' @return The value, or `NULL` where there is none.
#' @noRd
value_by_row <- function(code, columns) {
  scope <- list2env(columns, parent = list2env(rowwise_functions, parent = emptyenv()))
  tryCatch(
    withCallingHandlers(eval(code, scope), warning = function(w) tryInvokeRestart("muffleWarning")),
    error = function(e) NULL
  )
}

#' Columns that code names, as plain vectors; factors as text, dates as numbers
#'
#' A factor's codes depend on everybody's levels, and a class's methods may do anything.
#' @param data (`data.frame`, PRIVATE).
#' @section Errors: `dpsc_error_data`, from names and types alone.
#' @noRd
columns_of_code <- function(code, data, call) {
  names <- all.vars(code)
  missing <- setdiff(names, names(data))
  if (length(missing)) abort("The rows have no column {.code {missing}}.", "data", call)
  lapply(stats::setNames(nm = names), function(name) {
    x <- .subset2(data, name)
    check_plain_numbers(x, name, call)
    value <- if (is.factor(x)) {
      readable(as.character(x))
    } else if (is.atomic(x) && inherits(x, c("Date", "POSIXct"))) {
      as.double(unclass(x))
    } else {
      plain_column(x)
    }
    value %||% abort("Column {.code {name}} must be a plain vector.", "data", call)
  })
}

#' Names of what code calls: functions, `package::name`, or "a function written in it"
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
    "a function written into it"
  }
  unique(c(own, unlist(lapply(arguments_of(code), called_by_code))))
}

#' The arguments of a call, without empty ones
#' @noRd
arguments_of <- function(code) {
  Filter(function(part) !identical(part, quote(expr = )), as.list(code)[-1L]) # nolint
}

is_qualified <- function(code) {
  is.call(code) && length(code) == 3L && all(vapply(as.list(code), is.symbol, NA)) &&
    as.character(code[[1L]]) %in% c("::", ":::")
}

#' Code in which `base::f` and `stats::f` are `f`
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
  is_empty <- vapply(parts, identical, NA, quote(expr = )) # nolint
  is_empty[[1L]] <- TRUE
  parts[!is_empty] <- lapply(parts[!is_empty], unqualified)
  as.call(parts)
}

has_single_constants <- function(code) {
  if (is.call(code)) {
    return(all(vapply(arguments_of(code), has_single_constants, NA)))
  }
  is.symbol(code) || is_single(code)
}
