# Columns of a description, from a formula and public bounds alone.

#' Meaning of `~ age + sex` and `~ arm`
#' @return A list: `text`, `by` (strings), `given` (checked bounds), `variables` (the columns
#'   computed from rows: numbers, then one indicator per level, then one indicator per group),
#'   `numbers`, `factors` and `groups` (variables; a factor contains `levels`). PUBLIC, without
#'   environments.
#' @noRd
describe_columns <- function(formula, by, bounds) {
  atoms <- described_atoms(formula, "formula")
  groups <- if (!is.null(by)) described_atoms(by, "by")
  if (length(groups) > 1L) {
    abort("{.arg by} must be one variable, such as {.code ~ arm}.", "argument")
  }
  check_bounds_list(bounds)
  given <- Map(function(x, name) lm_bound(x, name), bounds, names(bounds))
  whole <- whole_numbers(bounds)
  read <- function(atoms) lapply(atoms, describe_atom, given)
  known <- read(atoms)
  groups <- if (length(groups)) read(groups)[[1L]]
  if (!is.null(groups) && groups$kind != "levels") {
    abort(c(
      "{.arg by} must be a variable with public levels, but {.code {groups$name}} has a range.",
      i = "Give its levels in {.arg bounds}; for codes write {.code ~ factor({groups$name})}."
    ), "bounds")
  }
  known <- lapply(known, function(atom) {
    c(atom, if (atom$kind == "value") list(whole = atom$name %in% whole))
  })
  is_factor <- vapply(known, function(atom) atom$kind == "levels", NA)
  factors <- known[is_factor]
  list(
    text = plain_text(formula), by = if (!is.null(by)) plain_text(by), given = given,
    variables = c(
      known[!is_factor], unlist(lapply(factors, indicators_of), recursive = FALSE),
      indicators_of(groups)
    ), whole = whole, numbers = known[!is_factor], factors = factors, groups = groups,
    order = vapply(known, `[[`, "", "name")
  )
}

#' Names of `bounds` with limits of R's integer type that are not too far apart
#' @noRd
whole_numbers <- function(bounds) {
  few <- function(x) is.integer(x) && !is.factor(x) && length(x) == 2L && diff(x) <= 65536
  names(bounds)[vapply(bounds, few, NA)]
}

#' Terms of a formula without a left side
#' @noRd
described_atoms <- function(formula, argument) {
  if (!inherits(formula, "formula") || length(formula) != 2L) {
    abort(c(
      "{.arg {argument}} must be a formula without a left side, such as {.code ~ age + sex}.",
      x = if (inherits(formula, "formula")) "It has a left side." else "It is {describe(formula)}."
    ), "argument")
  }
  check_no_bar(formula[[2L]])
  terms <- tryCatch(stats::terms(formula), error = function(e) {
    abort(c(
      "{.fn terms} cannot read {.arg {argument}}.",
      i = "Join variables by {.code +}, and put arithmetic in {.code I()}."
    ), "argument")
  })
  labels <- attr(terms, "term.labels")
  if (!length(labels) || any(attr(terms, "order") > 1L) || length(attr(terms, "offset"))) {
    abort(c(
      "{.arg {argument}} must name variables, joined by {.code +}.",
      i = "Write a product as {.code I(a * b)}."
    ), "argument")
  }
  lapply(labels, str2lang)
}

#' @noRd
describe_atom <- function(expression, given) {
  atom <- whole_atom(expression, given)
  atom[intersect(c("kind", "name", "expression", "lower", "upper", "levels"), names(atom))]
}

#' One 0/1 variable per level
#' @noRd
indicators_of <- function(atom) {
  lapply(atom$levels, function(level) level_of(atom, level))
}
