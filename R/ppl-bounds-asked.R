# One error requests all limits that `bounds` lacks, with a line to paste: from the formula and
# the classes of its columns, which are public.

#' Refuse `bounds` that lack some of a formula's variables
#' @param formula,bounds (`any`)\cr as the user gave them; `NULL` bounds: none were given.
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
  if (is.null(bounds)) {
    abort(c(
      "{.arg bounds} is required: public limits of every variable.", to_paste(kinds, given),
      i = if ("." %in% all.vars(formula)) "The dot stands for all other names in {.arg bounds}."
    ), "argument")
  }
  if (length(kinds)) {
    abort(c(
      "{.arg bounds} has no entry for {.code {names(kinds)}}.",
      i = "Every variable of the formula needs its public range, or its public levels.",
      to_paste(kinds, given)
    ), "bounds")
  }
}

#' Variables of a formula without limits: blank ones, as text, by name
#' @param given (`character`)\cr names of the limits that are there.
#' @noRd
lacking_limits <- function(formula, given, data) {
  atoms <- formula_atoms(formula)
  atoms <- atoms[!vapply(atoms, function(atom) written(atom) %in% given, NA)]
  kinds <- lapply(atoms, function(atom) {
    names <- setdiff(columns_in(atom), c(given, "."))
    as_levels <- !identical(strip_factor(atom), atom)
    rlang::set_names(vapply(names, blank_limits, "", data = data, as_levels = as_levels), names)
  })
  kinds <- unlist(kinds)
  kinds[!duplicated(names(kinds))]
}

#' The outcome and the factors of all terms
#' @noRd
formula_atoms <- function(formula) {
  terms <- tryCatch(
    stats::terms(formula, allowDotAsName = TRUE), error = function(e) NULL
  )
  as.list(attr(terms, "variables"))[-1L]
}

#' Limits to be filled in, by a column's class; pasted as they are, each is an error
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

#' A line to paste: given limits, and blanks to fill in
#' @param kinds (`character`)\cr blank limits by name.
#' @param given (`list`)\cr limits by name; any but two numbers could be people's values.
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
    i = "Limits and levels come from prior knowledge, never from the data: {.code ?dp_bounds}."
  )
}

#' The bounds to give for one outcome
#' @param label (`string`)\cr the outcome as the formula writes it.
#' @noRd
outcome_to_paste <- function(label) {
  if (label == make.names(label)) {
    "bounds = c(lower, upper)"
  } else {
    paste0("bounds = list(`", gsub("`", "", label, fixed = TRUE), "` = c(lower, upper))")
  }
}
