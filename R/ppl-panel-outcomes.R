# Panels from a formula, of one outcome or of several, `cbind(y1, y2) ~ treated`, each with separate
# bounds. The row of a person contains all outcomes.

#' Separate several outcomes
#' @param formula (`any`)\cr the user's argument; its other faults are found later.
#' @param bounds (`list` or `NULL`)\cr bounds by outcome and by covariate.
#' @return `NULL` for one outcome; otherwise a list by outcome of lists with `formula`, `bounds`
#'   (of the outcome and of the covariates) and `own` (the outcome's name).
#' @section Errors: `dpsc_error_panel`, `dpsc_error_bounds`.
#' @noRd
split_outcomes <- function(formula, bounds, private) {
  several <- inherits(formula, "formula") && length(formula) == 3L && is.call(formula[[2L]]) &&
    (identical(formula[[2L]][[1L]], quote(cbind)) ||
      identical(formula[[2L]][[1L]], quote(base::cbind)))
  if (!several || length(formula[[2L]]) == 2L) {
    return(NULL)
  }
  sides <- as.list(formula[[2L]])[-1L]
  names <- outcome_names(sides)
  check_named(bounds, formula[[2L]])
  limits <- outcome_bounds(bounds, sides, names, private)
  out <- lapply(seq_along(sides), function(k) {
    formula[[2L]] <- sides[[k]]
    list(formula = formula, bounds = limits[[k]], own = names[[k]])
  })
  rlang::set_names(out, names)
}

#' Names of outcomes: the given names, or the text of the outcomes
#' @noRd
outcome_names <- function(sides) {
  given <- names(sides) %||% character(length(sides))
  written <- vapply(sides, code_label, "", default = "")
  names <- ifelse(nzchar(given), given, written)
  if (any(!nzchar(names)) || anyDuplicated(names) || "deparse.level" %in% names) {
    abort(c(
      "Several outcomes need different names, as in {.code cbind(sales, visits) ~ treated}.",
      i = "Name computed outcomes: {.code cbind(sales = log(sales), visits)}."
    ), "panel")
  }
  names
}

#' Bounds of each outcome, with the bounds of the other columns
#' @param sides,names (`list`, `character`)\cr outcomes as written, and their names.
#' @return A list with one element per outcome, in the form for [split_bounds()].
#' @noRd
outcome_bounds <- function(bounds, sides, names, private) {
  if (is.null(bounds) && !private) {
    return(vector("list", length(names)))
  }
  if (is.list(bounds)) names(bounds) <- as_written(rlang::names2(bounds))
  own <- Map(function(side, name) {
    intersect(names(bounds), c(name, written(side), columns_in(side)))
  }, sides, names)
  missing <- names[!lengths(own)]
  if (!is.list(bounds) || length(missing) || anyDuplicated(names(bounds))) {
    abort(c(
      "{.arg bounds} must be a list that gives limits for each outcome by name.",
      x = if (length(missing)) "It has no limits for {.code {missing}}.",
      if (is.null(bounds) || is.list(bounds)) {
        kinds <- vapply(rlang::set_names(missing), blank_limits, "")
        to_paste(kinds, bounds)
      } else {
        c(i = "Write, for instance, {.code bounds = list(sales = c(0, 500), visits = c(0, 31))}.")
      },
      i = "Limits of a computed outcome can have the name of the outcome, its text or its columns.",
      i = "See {.code ?dp_bounds}."
    ), "bounds")
  }
  check_own_names(sides, names, bounds)
  others <- setdiff(names(bounds), unlist(own))
  lapply(own, function(name) bounds[c(name, others)])
}

#' Refuse an outcome with the name of a column from which it is computed, since limits would be
#' ambiguous
#' @noRd
check_own_names <- function(sides, names, bounds) {
  torn <- vapply(seq_along(sides), function(k) {
    is.call(sides[[k]]) && names[[k]] %in% all.vars(sides[[k]]) && names[[k]] %in% names(bounds)
  }, NA)
  if (any(torn)) {
    k <- which(torn)[[1L]]
    name <- names[[k]]
    text <- code_label(sides[[k]], "outcome")
    limits <- limits_text(bounds[[name]])
    abort(c(
      "{.code {name}} in {.arg bounds} could be a column or the outcome computed from this column.",
      i = "Write the outcome without a name: {.code {text}}.",
      i = "To limit the column, write {.code bounds = list({name} = {limits})}.",
      i = "To limit the outcome, write {.code bounds = list(`{text}` = {limits})}."
    ), "bounds")
  }
}

#' The panel of one outcome
#' @param people (`list`)\cr from [panel_people()].
#' @param request (`list`)\cr from [panel_request()]; its `bounds` are for the outcome and
#'   covariates. For a classical estimator the formula names predictors.
#' @param own (`string` or `NULL`)\cr the outcome's given name.
#' @return A panel, with `bounds` of the outcome and `limits` of its columns.
#' @noRd
formula_panel <- function(formula, people, request, own = NULL) {
  left <- left_side(formula)
  bounds <- named_bounds(request$bounds, left, strict = FALSE)
  predictors <- if (isTRUE(request$classical)) split_predictors(formula, request$estimator)
  parts <- if (is.null(predictors)) split_covariates(formula) else predictors
  # Without privacy, covariates need no bounds, but the call may contain bounds from a private call.
  names <- if (is.null(predictors)) parts$names else bounded_predictors(parts, bounds)
  limits <- split_bounds(bounds, names, request$private, left, own, people$data)
  named <- c(parts$names, request$weights$column)
  if (length(named)) check_public_indicator(parts$formula, named, request$private)
  outcome <- outcome_limits(parts$formula, limits$outcome, names(people$data), own)
  people["bounds"] <- list(outcome$limits)
  people$covariates <- if (is.null(predictors)) limits$covariates
  if (!is.null(request$weights)) {
    people$covariates <- weighed_covariates(people$covariates, request$weights, people$data)
  }
  panel <- panel_with_gaps(outcome$formula, people, request)
  # Errors in the formula are reported first.
  if (is.call(left)) check_named(request$bounds, left)
  panel$outcome <- code_label(left, "outcome")
  found <- if (isTRUE(request$estimator %in% regressor_estimators)) {
    formula_regressors(predictors, people$data, people$index, panel, has_gaps(people))
  } else if (!is.null(predictors)) {
    list(predictors = formula_predictors(predictors, people$data, people$index, panel))
  }
  panel$predictors <- found$predictors
  panel$regressors <- found$covariates
  panel$assumes <- assumptions_of(people$data, people$roster)
  panel$bounds <- outcome$limits
  panel$limits <- if (is.call(left)) limits$outcome
  if (is.null(request$weights)) panel else take_weights(panel, request)
}

#' Refuse a public treatment that is computed from a private covariate
#'
#' Otherwise a donor's value could turn the donor into a target.
#' @section Errors: `dpsc_error_panel`.
#' @noRd
check_public_indicator <- function(formula, covariates, private) {
  if (!inherits(formula, "formula") || length(formula) != 3L) {
    return(invisible(NULL))
  }
  shared <- intersect(all.vars(formula[[3L]]), covariates)
  if (private && length(shared)) {
    abort(c(
      "The treatment indicator is public and must not be computed from a covariate.",
      x = "{.code {shared}} {?is a covariate/are covariates}, and covariates are private.",
      i = "Use a column that marks treated units and periods."
    ), "panel")
  }
}
