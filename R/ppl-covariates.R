# Covariates of people: more columns of a person's row, `outcome ~ treated | x1 + x2`. One value a
# person, by a rule that looks at that person's rows alone.

#' Take the covariates off a formula
#' @param formula (`any`)\cr what the user gave; its faults are found later.
#' @return A list: `formula` (without covariates), `names` (`NULL` without any).
#' @section Errors: `dpsc_error_covariate`.
#' @noRd
split_covariates <- function(formula) {
  two <- inherits(formula, "formula") && length(formula) == 3L && is.call(formula[[3L]]) &&
    identical(formula[[3L]][[1L]], quote(`|`))
  if (!two) {
    return(list(formula = formula, names = NULL))
  }
  names <- added_names(formula[[3L]][[3L]])
  if (is.null(names) || anyDuplicated(names)) {
    abort(c(
      "Covariates must be columns, each once: {.code outcome ~ treated | x1 + x2}.",
      i = "Add what is computed from columns to {.arg data} as a column of its own."
    ), "covariate")
  }
  formula[[3L]] <- formula[[3L]][[2L]]
  list(formula = formula, names = names)
}

#' Names that are added up, or `NULL`
#' @noRd
added_names <- function(code) {
  if (is.symbol(code)) {
    return(as.character(code))
  }
  if (!is.call(code) || !identical(code[[1L]], quote(`+`)) || length(code) != 3L) {
    return(NULL)
  }
  left <- added_names(code[[2L]])
  right <- added_names(code[[3L]])
  if (!is.null(left) && !is.null(right)) c(left, right)
}

#' The outcome's bounds, and what is declared of the covariates
#' @param bounds (`numeric`, `matrix`, `list` or `NULL`)\cr as the user gave it.
#' @param names (`character` or `NULL`)\cr covariates.
#' @param left (`language`)\cr the outcome.
#' @param own (`string`)\cr another name that the outcome was given.
#' @return A list: `outcome`, entries of the outcome by name; `covariates`, a list by name of
#'   `numeric(2)` or of levels (`character`), or `NULL` for one of which nothing is declared.
#' @section Errors: `dpsc_error_bounds`.
#' @noRd
split_bounds <- function(bounds, names, private, left = quote(outcome), own = NULL) {
  given <- names(bounds)
  outcome <- intersect(given, c(own, written(left), columns_in(left)))
  missing <- if (private) setdiff(names, given)
  unknown <- setdiff(given, c(outcome, names))
  label <- code_label(left, "outcome")
  if (length(missing) || length(unknown) || anyDuplicated(given) ||
      (length(bounds) && private && !length(outcome))) {
    abort(c(
      "{.arg bounds} must be a list that names the outcome and each covariate once.",
      x = if (length(missing)) "There is nothing for {.code {missing}}.",
      x = if (length(bounds) && private && !length(outcome)) {
        "There is nothing for {.code {label}}."
      },
      x = if (length(unknown)) "The formula has no {.code {unknown}}.",
      x = if (anyDuplicated(given)) "Some name is there twice.",
      i = paste(
        "For instance {.code bounds = list(y = c(0, 9), age = c(0, 99), sex = c(\"f\", \"m\"))}:",
        "two numbers, or all levels of a factor, from what is known and not from the data."
      ),
      i = if (length(unknown) && !length(names)) covariate_advice
    ), "bounds")
  }
  covariates <- rlang::set_names(lapply(names, function(name) {
    check_covariate_bounds(bounds[[name]], name)
  }), names)
  list(outcome = bounds[outcome], covariates = covariates)
}

#' The outcome's code, with each column cut to its limits, and the limits of its values
#' @param limits (`list`)\cr entries of the outcome, from [split_bounds()].
#' @param formula (`formula`)\cr whose left side the outcome is.
#' @param columns (`character`)\cr names of the data's columns.
#' @param own (`string`)\cr as there.
#' @return A list: `formula`, `limits` as [new_bounds()] takes them.
#' @section Errors: `dpsc_error_bounds`.
#' @noRd
outcome_limits <- function(formula, limits, columns, own = NULL) {
  left <- left_side(formula)
  whole <- limits[[written(left)]] %||% if (!is.null(own)) limits[[own]]
  if (is_flag_pair(whole)) whole <- c(0, 1)
  if (is.symbol(left) || !length(limits)) {
    return(list(formula = formula, limits = whole))
  }
  limits <- limits[intersect(names(limits), columns_in(left))]
  if (any(vapply(limits, is.matrix, NA))) {
    abort(c(
      "Limits that differ by period must be those of the expression.",
      i = "Name them by its text, {.code {code_label(left, 'outcome')}}."
    ), "bounds")
  }
  checked <- Map(lm_bound, limits, names(limits))
  if (is.null(whole) && length(limits)) tell_whose(names(limits), left)
  plain <- unqualified(with_constants(left, environment(formula), c(columns, names(limits))))
  formula[[2L]] <- clipped_code(left, limits)
  list(formula = formula, limits = whole %||% implied_limits(plain, checked))
}

#' Version 0.2.0 took a named entry for the outcome's whatever its name
#' @noRd
tell_whose <- function(columns, left) {
  label <- code_label(left, "the outcome")
  rlang::inform(
    paste0(
      "bounds of ", paste(columns, collapse = ", "), " are those of the column, before ", label,
      " is computed; name limits of the outcome by its text. (In 0.2.0 they were the outcome's.)"
    ),
    class = "dpsc_message_bounds", .frequency = "once", .frequency_id = "dpsc_whose_bounds"
  )
}

#' Limits that an expression's columns imply
#' @noRd
implied_limits <- function(code, checked) {
  check_known(code, checked)
  check_rowwise(code)
  name <- code_label(code, "outcome")
  ends <- lapply(checked, function(x) if (is.null(x$levels)) c(x$lower, x$upper) else x$levels)
  corners <- value_by_row(code, as.list(expand.grid(ends, stringsAsFactors = FALSE)))
  if (is.numeric(corners) && !all(is.finite(corners))) {
    abort(c(
      "{.code {name}} is not finite at the limits of its columns.",
      i = "Give limits within which it is, as above 0 for a log."
    ), "bounds")
  }
  image <- image_of(code, name, checked)
  if (is.null(image$levels)) c(image$lower, image$upper) else c(0, 1)
}

#' Code with the single numbers that its environment holds written out
#' @noRd
with_constants <- function(code, environment, columns) {
  constants <- lapply(rlang::set_names(setdiff(all.vars(code), columns)), find_value, environment)
  do.call(substitute, list(code, Filter(is_single, constants)))
}

#' @noRd
check_covariate_bounds <- function(x, name) {
  # A flag is a number, 0 or 1.
  if (is_flag_pair(x)) x <- c(0, 1)
  limits <- is.numeric(x) && length(x) == 2L && all(is.finite(x)) && x[[1L]] < x[[2L]] &&
    is.finite(x[[2L]] - x[[1L]])
  levels <- is.character(x) && length(x) >= 2L && !anyNA(x) && !anyDuplicated(x)
  if (!is.null(x) && !limits && !levels) {
    abort(c(
      "{.arg bounds} of {.code {name}} must be two finite numbers, or the levels of a factor.",
      i = "Lower limit first; two levels at least, each once."
    ), "bounds")
  }
  x
}

#' Covariates of every unit, one row each
#'
#' The rule for one person: of numbers the mean over that person's rows before the treatment, each
#' cut to the bounds; of a factor the first level that is known. For the mechanism numbers are first
#' put on a grid of 2^20 steps in half the bounds' width, as is their mean: then it is the same from
#' a database, to the last bit. No message depends on a protected
#' person's values. Of public treated units, and where nothing is private, a factor that varies
#' within a unit is an error.
#' @param people (`list`)\cr `data`, columns by name; `covariates`, from [split_bounds()]; `na`:
#'   with gaps what a person has counts, and the middle of the bounds where there is nothing.
#' @param units,times (`list`)\cr from [code_index()].
#' @param treatment (`list`)\cr from [find_treatment()].
#' @param request (`list`)\cr `private`; `hide`: are the treated units' data private, too? `ask`
#'   (`function`): called before a message about a treated unit.
#' @return A list: `values` (units x columns, PRIVATE), `scaled`, the same in the mechanism's units,
#'   `columns` (data frame: `name`, `lower`, `upper`, PUBLIC).
#' @section Errors: `dpsc_error_covariate`.
#' @noRd
covariates_of_units <- function(people, units, times, treatment, request) {
  data <- people$data
  parts <- lapply(names(people$covariates), function(name) {
    if (!name %in% names(data)) {
      abort(c(
        "Covariates must be columns of {.arg data}.", x = "There is no {.code {name}}."
      ), "covariate")
    }
    x <- .subset2(data, name)
    kind <- cell_kind(x)
    if (!kind %in% c("number", "flag", "text", "factor")) abort_covariate_type(name, x)
    # Without privacy nothing may be declared.
    declared <- people$covariates[[name]]
    is_factor <- is.character(declared) || (is.null(declared) && kind %in% c("text", "factor"))
    make <- if (is_factor) factor_covariate else numeric_covariate
    make(x, name, people, units, times, treatment, request)
  })
  list(
    values = do.call(cbind, lapply(parts, `[[`, "values")),
    scaled = do.call(cbind, lapply(parts, `[[`, "scaled")),
    columns = do.call(rbind, lapply(parts, `[[`, "columns"))
  )
}

#' May values of these people be missing?
#' @noRd
has_gaps <- function(people) people$na[[1L]] == "interpolate"

#' Covariates of donors and treated units apart; of donors also in the mechanism's units
#' @param found (`list`)\cr from [covariates_of_units()].
#' @noRd
split_units <- function(found, treated) {
  list(
    donors = found$values[-treated, , drop = FALSE], target = found$values[treated, , drop = FALSE],
    scaled = unname(found$scaled[-treated, , drop = FALSE]), columns = found$columns
  )
}

#' @noRd
numeric_covariate <- function(x, name, people, units, times, treatment, request) {
  x <- cell_numbers(x)
  T0 <- treatment$T0
  before <- which(times$code <= T0)
  if (!has_gaps(people)) check_covariate_finite(x[before], name)
  limits <- people$covariates[[name]] %||% c(-Inf, Inf)
  columns <- data.frame(name = name, lower = limits[[1L]], upper = limits[[2L]])
  # A person's values in the order of time, whatever the order of the rows.
  values <- matrix(NA_real_, length(units$values), T0)
  at <- cbind(units$code[before], times$code[before])
  values[at] <- pmin(pmax(x[before], limits[[1L]]), limits[[2L]])
  mean <- rowMeans(values, na.rm = TRUE)
  mean[!is.finite(mean)] <- if (is.finite(limits[[1L]])) mean(limits) else 0
  mean <- matrix(mean)
  scaled <- if (request$private) {
    values[at] <- covariate_cells(x[before], sum(limits) / 2, diff(limits) / 2)
    cells <- nearest_whole(rowSums(values, na.rm = TRUE) / rowSums(!is.na(values)))
    matrix(ifelse(is.nan(cells), 0, cells) / covariate_one)
  } else {
    scaled_covariates(mean, columns)
  }
  list(values = mean, scaled = scaled, columns = columns)
}

# Steps of the core's grid in half a range (inst/include/dpsc/rows/row_map.hpp).
covariate_one <- 1048576

#' Numbers on that grid, cut at its ends
#' @noRd
covariate_cells <- function(x, centre, half) {
  nearest_whole(pmin(pmax((x - centre) * (covariate_one / half), -covariate_one), covariate_one))
}

#' The nearest whole number, half to even, as the core has it
#' @noRd
nearest_whole <- function(x) (x + 6755399441055744) - 6755399441055744

#' @noRd
factor_covariate <- function(x, name, people, units, times, treatment, request) {
  levels <- people$covariates[[name]]
  check_levels_fit(levels, type_of_cells(x), name)
  if (is.numeric(levels) && !is.numeric(x)) {
    abort(c(
      "{.arg bounds} of {.code {name}} must be its levels: it is a factor.",
      x = "They are numbers."
    ), "bounds")
  }
  held <- cell_levels(x, levels %||% character())
  x <- cell_text(x)
  # An unknown level stays what it is: it is not missing.
  x[!is.na(held)] <- levels[held[!is.na(held)]]
  if (!has_gaps(people) && anyNA(x)) {
    abort(c(
      "Covariates must be known for everybody.", x = "{.code {name}} is missing for somebody.",
      i = row_by_row_advice
    ), "covariate")
  }
  # Declared where anything is private.
  if (is.null(levels)) levels <- sort(unique(x[!is.na(x)]), method = "radix")
  if (length(levels) < 2L) {
    abort("{.code {name}} has one level only, which tells nothing.", "covariate")
  }
  shown <- if (!request$private) {
    seq_along(units$values)
  } else if (!request$hide) {
    treatment$units
  }
  # A gap is no level.
  rows <- units$code %in% shown & !is.na(x)
  varies <- lengths(lapply(split(x[rows], units$code[rows]), unique)) > 1L
  if (any(varies)) {
    request$ask()
    abort(c(
      "A factor must have one level for each unit.",
      x = "{.code {name}} varies within {sum(varies)} unit{?s}.",
      i = "Use its level before the treatment."
    ), "covariate")
  }
  # The earliest known one is written last.
  first <- character(length(units$values))
  at <- order(times$code, decreasing = TRUE)
  at <- at[!is.na(x[at])]
  first[units$code[at]] <- x[at]
  # The first level is what the others are compared with; an unknown one counts as it.
  values <- vapply(levels[-1L], function(level) as.double(first %in% level), numeric(length(first)))
  values <- matrix(values, length(first))
  columns <- data.frame(name = paste0(name, ": ", levels[-1L]), lower = 0, upper = 1)
  list(values = values, scaled = scaled_covariates(values, columns), columns = columns)
}

#' @noRd
check_covariate_finite <- function(x, name) {
  if (!all_finite_cpp(as.matrix(x))) {
    abort(c(
      "Covariates must be finite for everybody before the treatment.",
      x = "{.code {name}} is missing or not finite for somebody.", i = row_by_row_advice
    ), "covariate")
  }
}

#' @noRd
abort_covariate_type <- function(name, x) {
  abort(c(
    "Covariates must be numbers, logicals, strings or factors.",
    x = "{.code {name}} is of class {class(x)[[1L]]}."
  ), "covariate")
}

#' Covariates in the mechanism's units: their bounds are \[-1, 1\]; without bounds as they are
#' @param values (`matrix`, k x q).
#' @noRd
scaled_covariates <- function(values, columns) {
  finite <- is.finite(columns$lower)
  centre <- ifelse(finite, (columns$lower + columns$upper) / 2, 0)
  half <- ifelse(finite, (columns$upper - columns$lower) / 2, 1)
  unname(sweep(sweep(values, 2L, centre), 2L, half, `/`))
}

#' Rows with covariates between the periods before and after the treatment
#' @param rows (`matrix`, k x T).
#' @param between (`matrix`, k x q, or `NULL`).
#' @noRd
insert_covariates <- function(rows, between, T0) {
  if (is.null(between)) {
    return(rows)
  }
  pre <- seq_len(T0)
  unname(cbind(rows[, pre, drop = FALSE], between, rows[, -pre, drop = FALSE]))
}

#' A scale for rows with covariates
#' @noRd
insert_scale <- function(scale, q, T0) {
  if (q == 0L) {
    return(scale)
  }
  scale$centre <- append(scale$centre, numeric(q), T0)
  scale$half <- append(scale$half, rep(1, q), T0)
  scale
}

#' The scale of rows with the covariates that a release knows
#' @noRd
rows_scale <- function(release) {
  insert_scale(release_scale(release), NROW(release$panel$covariates), release$panel$T0)
}
