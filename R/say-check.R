# All conditions are built and all arguments are checked here.
#
# A condition of the package is an output like any other: it contains no donor's value, no backtrace
# and no evaluated call. A backtrace, or a call made by do.call(), would contain the whole panel.

#' Signal a classed error that contains only its text
#' @param message (`character`)\cr cli-styled lines; the first line is the headline, and the other
#'   lines are bullets named `"x"`, `"i"` or `" "`. Interpolate names, sizes and periods, never
#'   values.
#' @param class (`string`)\cr kind of fault, appended to `dpsc_error_`.
#' @param env (`environment`)\cr the environment for the interpolation.
#' @return Never returns.
#' @noRd
abort <- function(message, class, env = rlang::caller_env()) {
  stop(make_condition(
    rlang::error_cnd, message, paste0("dpsc_error_", class), "dpsc_error", env
  ))
}

#' Signal a classed warning that contains only its text
#' @inheritParams abort
#' @return Invisible `NULL`.
#' @noRd
warn <- function(message, class, env = rlang::caller_env()) {
  warning(make_condition(
    rlang::warning_cnd, message, paste0("dpsc_warning_", class), "dpsc_warning", env
  ))
  invisible(NULL)
}

make_condition <- function(constructor, message, class, parent_class, env) {
  lines <- vapply(message, format_line, character(1), env = env)
  constructor(
    class = c(class, parent_class), message = rlang::format_error_bullets(
      rlang::set_names(lines, rlang::names2(message))
    )
  )
}

#' A line in cli's marks as text
#'
#' cli takes 3 ms per mark, much longer than most checks. Most marks are names in ticks and single
#' values without colours, which this function writes in the form of cli. It also writes file names
#' if there are no colours. cli writes all other lines.
#' @noRd
format_line <- function(line, env) {
  line <- gsub("[{][.](arg|code) ([^{}`\n]+)[}]", "`\\2`", line)
  line <- gsub("[{][.]fn ([^{}`\n:]+)[}]", "`\\1()`", line)
  plain <- gsub("[{][.](arg|code) ([{][^{}]+[}])[}]", "`\\2`", line)
  is_file <- grepl("[{][.]file [{][^{}]+[}][}]", plain) && cli::num_ansi_colors() == 1L
  if (is_file) plain <- gsub("[{][.]file ([{][^{}]+[}])[}]", "'\\1'", plain)
  places <- gregexpr("[{][^{}.?][^{}]*[}]", plain)
  between <- regmatches(plain, places, invert = TRUE)[[1L]]
  if (any(grepl("[{}]", between))) return(cli::format_inline(line, .envir = env))
  codes <- regmatches(plain, places)[[1L]]
  values <- lapply(substr(codes, 2L, nchar(codes) - 1L), function(x) eval(str2lang(x), env))
  plain <- all(vapply(values, is_plain_word, NA, is_file))
  if (!plain) return(cli::format_inline(line, .envir = env))
  enc2utf8(paste0(between, c(as.character(values), ""), collapse = ""))
}

is_plain_word <- function(x, is_file = FALSE) {
  (is.character(x) || is.numeric(x)) && !is.object(x) && length(x) == 1L && !is.na(x) &&
    !grepl(if (is_file) "[`\n\033]|^$|^ | $|  " else "[`\n\033]", x)
}

#' Is `x` a single number, finite or infinite, and not missing?
#' @noRd
is_number <- function(x) {
  is.numeric(x) && length(x) == 1L && !is.na(x)
}

is_string <- function(x) is.character(x) && length(x) == 1L && !is.na(x)

is_flag <- function(x) isTRUE(x) || isFALSE(x)

is_name <- function(x) is_string(x) && nzchar(x)

#' Checks of numbers from a file: an amount (zero only if permitted), or a given number of numbers
#' @noRd
is_amount <- function(x, zero = FALSE) {
  is_number(x) && is.finite(x) && (x > 0 || zero && x == 0)
}

is_vector_of <- function(x, size) is.numeric(x) && length(x) == size && all(is.finite(x))

is_array_of <- function(x, size) {
  is.numeric(x) && identical(dim(x), as.integer(size)) && all(is.finite(x))
}

#' Check one number
#' @param x (`any`)\cr the user's value.
#' @param min,max (`number`)\cr limits, which are allowed values unless `open` excludes them.
#' @param open (`character`)\cr the excluded limits: `"min"`, `"max"`, both, or empty.
#' @param infinite (`flag`)\cr whether `Inf` is allowed.
#' @param arg (`string`)\cr name of the argument.
#' @return `x` as a double.
#' @noRd
check_number <- function(x, min = -Inf, max = Inf, open = character(), infinite = FALSE,
                         arg = rlang::caller_arg(x)) {
  ok <- is_number(x) && (infinite || is.finite(x)) &&
    (if ("min" %in% open) x > min else x >= min) && (if ("max" %in% open) x < max else x <= max)
  if (!ok) {
    range <- describe_range(min, max, open, infinite)
    abort(c(
      "{.arg {arg}} must be one number{range}.",
      x = "It is {describe_value(x)}."
    ), "argument")
  }
  as.double(x)
}

#' Check a coverage: a number between 0 and 1
#' @inheritParams check_number
#' @noRd
check_level <- function(level, arg = rlang::caller_arg(level)) {
  check_number(level, 0, 1, open = c("min", "max"), arg = arg)
}

#' Check one whole number
#' @inheritParams check_number
#' @return `x` as an integer-valued double.
#' @noRd
check_count <- function(x, min = 0, max = Inf, arg = rlang::caller_arg(x)) {
  if (!(is_number(x) && is.finite(x) && x == round(x) && x >= min && x <= max)) {
    range <- describe_range(min, max, character(), FALSE)
    abort(c(
      "{.arg {arg}} must be one whole number{range}.",
      x = "It is {describe_value(x)}."
    ), "argument")
  }
  as.double(x)
}

#' Check one `TRUE` or `FALSE`
#' @inheritParams check_number
#' @return `x`.
#' @noRd
check_flag <- function(x, arg = rlang::caller_arg(x)) {
  if (!isTRUE(x) && !isFALSE(x)) {
    abort(c("{.arg {arg}} must be TRUE or FALSE.", x = "It is {describe_value(x)}."), "argument")
  }
  x
}

#' Check one of several words
#' @inheritParams check_number
#' @param choices (`character`)\cr the permitted words; a value equal to the whole vector means the
#'   first word.
#' @return The chosen word.
#' @noRd
check_choice <- function(x, choices, arg = rlang::caller_arg(x)) {
  if (identical(x, choices)) {
    return(choices[[1L]])
  }
  if (!rlang::is_string(x, choices)) {
    abort(c(
      "{.arg {arg}} must be one of {.or {.val {choices}}}.",
      x = "It is {describe_value(x)}."
    ), "argument")
  }
  x
}

# The range of a finite epsilon. Below it, no panel is large enough for the noise; above it, the
# noise protects nobody.
epsilon_range <- c(1e-9, 1e9)

#' Check the privacy loss of a release
#' @inheritParams check_number
#' @return `epsilon` as a double.
#' @noRd
check_epsilon <- function(epsilon) {
  epsilon <- check_number(epsilon, 0, open = "min", infinite = TRUE)
  size <- if (epsilon < epsilon_range[[1L]]) {
    "small"
  } else if (is.finite(epsilon) && epsilon > epsilon_range[[2L]]) {
    "large"
  }
  if (!is.null(size)) {
    abort(c(
      paste(
        "{.arg epsilon} is too {size}: it must lie between {format(epsilon_range[[1L]])} and",
        "{format(epsilon_range[[2L]])}, or be {.code Inf}."
      ),
      x = "It is {format(epsilon)}.",
      i = if (size == "small") {
        "With such large noise, no release is informative."
      } else {
        "Such small noise protects nobody. For a result without privacy, set {.code epsilon = Inf}."
      }
    ), "argument")
  }
  epsilon
}

#' Refuse repeated or abbreviated arguments before R refuses them
#'
#' R's own error contains the call, and the call of [do.call()] contains the data.
#' @param given (`character`)\cr names of the arguments in the caller's dots.
#' @param name (`string`)\cr the generic.
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_argument_names <- function(given, name) {
  given <- given[!is.na(given) & nzchar(given)]
  methods <- paste0(name, c(".formula", ".matrix", ".dp_release", ".dp_selection"))
  methods <- Filter(is.function, mget(methods, topenv(), ifnotfound = list(NULL)))
  known <- setdiff(unlist(lapply(methods, function(method) names(formals(method)))), c("x", "..."))
  if (all(given %in% known) && !anyDuplicated(given)) {
    return(invisible(NULL))
  }
  if ("index" %in% known) check_index_words(setdiff(given, known))
  short <- vapply(given, function(word) {
    !word %in% known && any(startsWith(known, word))
  }, NA)
  twice <- unique(given[duplicated(given)])
  if (length(twice) > 0L || any(short)) {
    abort(c(
      "Each argument must be given only once, and by its full name.",
      x = if (length(twice)) "Given more than once: {.arg {twice}}.",
      x = if (any(short)) "Abbreviated: {.arg {given[short]}}."
    ), "argument")
  }
}

#' Refuse the columns of `index` as separate arguments, as in other packages
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_index_words <- function(given) {
  words <- intersect(given, c("unit", "time", "id", "period", "unit_id", "time_id", "idvar"))
  if (length(words)) {
    abort(c(
      "The columns of unit and time must be given in {.arg index}, in this order.",
      x = "Unknown argument{?s}: {.arg {words}}.",
      i = "Write, for instance, {.code index = c(\"store\", \"week\")}."
    ), "argument")
  }
}

#' Evaluate `index`, whose columns are often written without quotes
#' @param index (`expression`)\cr the argument, evaluated here.
#' @param code (`language`)\cr the user's code.
#' @section Errors: of this class; the names in the message are the user's code.
#' @noRd
given_index <- function(index, code, class = "panel") {
  bare <- is.symbol(code) || is.call(code) && all(vapply(as.list(code)[-1L], is.symbol, NA))
  if (!bare) {
    return(index)
  }
  found <- tryCatch(list(index), error = function(e) NULL)
  if (!is.null(found) && (is.symbol(code) || is.character(found[[1L]]))) {
    return(found[[1L]])
  }
  words <- vapply(as.list(code)[-1L], as.character, "")
  if (length(words) != 2L) words <- c("store", "week")
  abort(c(
    "{.arg index} must name two columns: unit and time.",
    x = "The names of the columns are not in quotes.",
    i = "Write, for instance, {.code index = c(\"{words[[1L]]}\", \"{words[[2L]]}\")}."
  ), class)
}

#' Refuse unknown arguments
#'
#' A misspelt `epsilom = 1` must not be ignored, and R's own error may contain the data, see above.
#' @param ... the arguments in the caller's dots.
#' @noRd
check_no_dots <- function(...) {
  if (...length() > 0L) {
    given <- rlang::names2(substitute(list(...)))[-1L]
    given[!nzchar(given)] <- "(unnamed)"
    abort(c(
      "Unknown argument{?s}: {.arg {unique(given)}}.",
      i = "{help_words}"
    ), "argument")
  }
}

#' Refuse unknown arguments of methods for tables, to which table packages pass further arguments
#' @noRd
check_table_dots <- function(...) {
  given <- rlang::names2(substitute(list(...)))[-1L]
  if (!length(given)) {
    return(invisible(NULL))
  }
  if (isTRUE(list(...)$exponentiate)) {
    abort(c(
      "{.code exponentiate = TRUE} is only for coefficients of regressions.",
      i = "Leave out {.arg exponentiate}."
    ), "argument")
  }
  unknown <- given[!given %in% passed_by_tables]
  unknown[!nzchar(unknown)] <- "(unnamed)"
  if (length(unknown)) {
    abort(c("Unknown argument{?s}: {.arg {unknown}}.", i = "{help_words}"), "argument")
  }
}

passed_by_tables <- c(
  "vcov", "vcov_args", "coef_rename", "exponentiate", "data", "newdata", "parametric", "effects",
  "component", "quick", "metrics", "shape", "verbose",
  # These arguments belong to R's data.frame().
  "stringsAsFactors", "check.names"
)

# `door`, the wrapper of the exported function, adds the name of the verb's help page.
help_words <- "The help page lists the arguments."

#' Describe an argument by its type and size, without any value: a slip may put people's values, or
#' a number computed from them, in the place of any argument
#' @noRd
describe <- function(x) {
  if (is.null(x)) {
    "NULL"
  } else if (is.atomic(x) && is.null(dim(x))) {
    paste0("a vector of type ", class(x)[[1L]], " and length ", length(x))
  } else {
    paste0("an object of class ", class(x)[[1L]])
  }
}

#' Describe a public number, flag or word in full, and a larger object by its type and size
#' @noRd
describe_value <- function(x) {
  if (!is.atomic(x) || length(x) != 1L || is.object(x)) {
    return(describe(x))
  }
  if (is.character(x)) paste0("\"", cli::ansi_strtrim(x, 40L), "\"") else format(x)
}

describe_range <- function(min, max, open, infinite) {
  lower <- if (is.finite(min)) paste(if ("min" %in% open) "above" else "at least", format(min))
  upper <- if (is.finite(max)) paste(if ("max" %in% open) "below" else "at most", format(max))
  parts <- c(lower, upper, if (infinite) "possibly Inf")
  if (length(parts)) paste0(" (", paste(parts, collapse = ", "), ")") else ""
}

#' Is the object a matrix of plain numbers without a class?
#' @noRd
is_plain_table <- function(x) {
  is.matrix(x) && !is.object(x) && typeof(x) %in% c("integer", "double")
}

#' A user's rows without the attribute that marks the package's blocks as already on the grid
#' @noRd
without_grid <- function(rows) {
  if (!is.null(attr(rows, "on_grid", exact = TRUE))) attr(rows, "on_grid") <- NULL
  rows
}

#' Check that an argument was given
#'
#' R's own error for a missing argument may contain the call, and the call of [do.call()] contains
#' the data.
#' @param missing (`flag`)\cr whether the argument is missing.
#' @param arg,meaning (`string`)\cr the name and the meaning of the argument.
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_given <- function(missing, arg, meaning) {
  if (missing) {
    abort(c("{.arg {arg}} is required: {meaning}."), "argument")
  }
}

need_package <- function(name, what) {
  if (!nzchar(system.file(package = name))) {
    abort(c(
      "{what} needs package {.pkg {name}}.",
      i = "Install it with {.code install.packages(\"{name}\")}."
    ), "package")
  }
}

# Recomputed sums and products may differ in the last digits.
read_tolerance <- 1e-9
at_most <- function(x, limit) isTRUE(x <= limit * (1 + read_tolerance))
about_equal <- function(x, y) at_most(x, y) && at_most(y, x)

# Wrappers of exported functions ------------------------------------------------------------------
#
# The code of every exported function runs inside one of these wrappers ("doors"), which add the
# user's call to the conditions of the package. No code below uses the user's call.

# The number of charges in this session, with and without a ledger. A failure after a charge has
# already cost budget.
charges <- new.env(parent = emptyenv())
charges$made <- 0

#' Run an exported function's code
#'
#' For nested doors the outermost function, which the user called, determines the call in an error.
#' This call is only the name of the function, since arguments may contain people's data.
#' @param verb (`string`)\cr the function that the user called.
#' @param code (`expression`)\cr evaluated in the caller's frame, so that `missing()`,
#'   `substitute()` and `return()` work as without a door.
#' @param page (`string`)\cr the help page with the arguments, if any.
#' @param pays (`flag`)\cr whether the function may charge a budget. An error before the charge
#'   states that nothing was spent.
#' @return The value of `code`.
#' @noRd
door <- function(verb, code, page = verb, pays = FALSE) {
  before <- charges$made
  withCallingHandlers(code,
    dpsc_error = function(e) {
      if (pays && charges$made == before) e <- as_unspent(e)
      stop(as_called(e, verb, page))
    },
    dpsc_warning = function(w) {
      warning(as_called(w, verb))
      tryInvokeRestart("muffleWarning")
    }
  )
}

as_called <- function(condition, verb, page = verb) {
  condition$call <- call(verb)
  # A verb of the package has a page of the same name. A method of another package's generic is on
  # the page of its class.
  if (is.function(get0(page, topenv(), inherits = FALSE))) {
    words <- sub("The help page", paste0("`?", page, "`"), help_words, fixed = TRUE)
    condition$message <- sub(help_words, words, condition$message, fixed = TRUE)
  }
  condition
}

unspent <- "Nothing was released and nothing was spent."

#' @noRd
as_unspent <- function(condition) {
  if (!grepl(unspent, condition$message, fixed = TRUE)) {
    line <- rlang::format_error_bullets(c(i = unspent))
    condition$message <- paste0(condition$message, "\n", line)
  }
  condition
}

# The rows that this process stores for a coordinator.
worker_state <- new.env(parent = emptyenv())

#' Refuse to draw noise in a process that stores rows for another process
#' @section Errors: `dpsc_error_worker`.
#' @noRd
check_draws_here <- function() {
  if (isTRUE(worker_state$holds)) {
    abort(c(
      "This process is a worker, which sums rows for a coordinator and draws no noise.",
      i = "Make the release in the process that called {.fn dp_workers}."
    ), "worker")
  }
}
