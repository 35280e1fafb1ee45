# Outcomes that are computed row by row. Under a finite epsilon one donor's change must move that
# donor's row and no other: `y / max(y)` or `rank(y)` would move everybody's.

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

#' Evaluate an outcome row by row
#'
#' Only columns of the data, constants and the functions above exist where it is evaluated, so that
#' neither a function of the user's with the name of one of these nor a vector computed before can
#' make rows depend on each other. A single number of the formula's environment is a constant.
#'
#' A column by itself is taken as it is: how it was computed is the user's.
#' @param code (`language`)\cr the left-hand side of the formula.
#' @param environment (`environment`)\cr that of the formula.
#' @param data (`data.frame`)\cr long data. PRIVATE.
#' @return The outcome as it comes (PRIVATE), or `NULL` if its evaluation failed.
#' @section Errors: `dpsc_error_panel` for code that may mix rows.
#' @noRd
evaluate_rowwise <- function(code, environment, data, call = NULL) {
  code <- unqualified(code)
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
        "are fine."
      ),
      i = paste(
        "Anything else: add it to {.arg data} as a column. The guarantee then does not cover how",
        "it was computed; see {.code vignette(\"preparing-data\")}."
      )
    ), "panel", call)
  }
  if (is.symbol(code) && as.character(code) %in% names(data)) {
    return(.subset2(data, as.character(code)))
  }
  values <- lapply(rlang::set_names(all.vars(code)), function(name) {
    if (name %in% names(data)) plain_column(.subset2(data, name)) else find_value(name, environment)
  })
  # A name that stands for nothing.
  if (any(vapply(values, is.null, NA))) {
    return(NULL)
  }
  scope <- list2env(values, parent = list2env(rowwise_functions, parent = emptyenv()))
  tryCatch(
    withCallingHandlers(eval(code, scope), warning = function(w) tryInvokeRestart("muffleWarning")),
    error = function(e) NULL
  )
}

#' Why code may mix rows, in words, or `NULL`
#' @noRd
rowwise_problem <- function(code, environment, data) {
  other <- setdiff(called_by_code(code), names(rowwise_functions))
  # Functions and variables that do not exist are left to the error that names them.
  known <- grepl("[: ]", other) | vapply(other, exists, NA, envir = environment, mode = "function")
  other <- other[known]
  if (length(other) > 0L) {
    shown <- paste0("`", utils::head(other, 3L), "`", collapse = ", ")
    return(paste0("It calls ", shown, ", which may look at several rows at once."))
  }
  if (!has_single_constants(code)) {
    return("A vector is written into it.")
  }
  for (name in setdiff(all.vars(code), names(data))) {
    value <- find_value(name, environment)
    if (!is.null(value) && !is_single(value)) {
      return(paste0("`", name, "` is no column of the data and no single number."))
    }
  }
  for (name in intersect(all.vars(code), names(data))) {
    if (is.call(code) && is.null(plain_column(.subset2(data, name)))) {
      return(paste0("`", name, "` is of a class whose arithmetic is not known to go row by row."))
    }
  }
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
    as.vector(x)
  } else if (is.factor(x) && all(class(x) %in% c("ordered", "factor"))) {
    x
  }
}

is_single <- function(x) {
  is.atomic(x) && length(x) == 1L && is.null(attributes(x))
}

find_value <- function(name, environment) {
  tryCatch(
    {
      value <- get(name, envir = environment)
      if (!is.function(value)) value
    },
    error = function(e) NULL
  )
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
