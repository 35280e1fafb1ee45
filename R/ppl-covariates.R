# The values of covariates: one per person, from that person's rows alone.

#' Covariates of all units, with one row per unit
#'
#' A person's covariate is, for numbers, the mean over the person's rows before the treatment, after
#' clipping to the bounds, and for a factor the first known level. For the mechanism the numbers and
#' their mean are rounded to a grid of 2^20 steps in half of the bounds' width, so that the results
#' of a database are equal to the last bit. No message depends on a protected person's values. For
#' public treated units, and for fits without privacy, a factor that varies within a unit is an
#' error.
#' @param people (`list`)\cr `data`, columns by name; `covariates`, from [split_bounds()]; `na`.
#'   With gaps a person's available values are used, or the middle of the bounds without available
#'   values.
#' @param units,times (`list`)\cr from [code_index()].
#' @param treatment (`list`)\cr from [find_treatment()].
#' @param request (`list`)\cr `private`; `hide`, whether the treated units' data are also private;
#'   `ask` (`function`), called before a message about a treated unit.
#' @return A list: `values` (units x columns, PRIVATE), `scaled` (the values in the mechanism's
#'   units), `columns` (data frame: `name`, `lower`, `upper`, PUBLIC).
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
    # Without privacy, covariates need no declaration.
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

#' Are missing values of these people allowed?
#' @noRd
has_gaps <- function(people) people$na[[1L]] == "interpolate"

#' Covariates of donors and of treated units; for donors also in the mechanism's units
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
  # A person's values are in the order of time, for any order of the rows.
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

#' Numbers on the core's grid, clipped at its ends
#' @noRd
covariate_cells <- function(x, centre, half) {
  nearest_whole(pmin(pmax((x - centre) * (covariate_one / half), -covariate_one), covariate_one))
}

#' The nearest integer, ties to even, as in the core
#' @noRd
nearest_whole <- function(x) (x + 6755399441055744) - 6755399441055744

#' @noRd
factor_covariate <- function(x, name, people, units, times, treatment, request) {
  levels <- people$covariates[[name]]
  check_levels_fit(levels, type_of_cells(x), name)
  if (is.numeric(levels) && !is.numeric(x)) {
    abort(c(
      "{.arg bounds} of {.code {name}} must be its levels: it is a factor.",
      x = "The bounds are numbers."
    ), "bounds")
  }
  held <- cell_levels(x, levels %||% character())
  x <- cell_text(x)
  # An unknown level remains in the data, since it is not a missing value.
  x[!is.na(held)] <- levels[held[!is.na(held)]]
  if (!has_gaps(people) && anyNA(x)) {
    abort(c(
      "Covariates must be known for every unit.", x = "{.code {name}} is missing for some unit.",
      i = row_by_row_advice
    ), "covariate")
  }
  # Only without privacy may levels be undeclared.
  if (is.null(levels)) levels <- sort(unique(x[!is.na(x)]), method = "radix")
  if (length(levels) < 2L) {
    abort(c(
      "{.code {name}} has only one level and contains no information.",
      i = "Remove this covariate from the formula."
    ), "covariate")
  }
  shown <- if (!request$private) {
    seq_along(units$values)
  } else if (!request$hide) {
    treatment$units
  }
  # A missing value is not a level.
  rows <- units$code %in% shown & !is.na(x)
  varies <- lengths(lapply(split(x[rows], units$code[rows]), unique)) > 1L
  if (any(varies)) {
    request$ask()
    abort(c(
      "A factor must have the same level in all rows of a unit.",
      x = "{.code {name}} varies within {sum(varies)} unit{?s}.",
      i = "Use its level before the treatment."
    ), "covariate")
  }
  # The earliest known level is assigned last and therefore remains.
  first <- character(length(units$values))
  at <- order(times$code, decreasing = TRUE)
  at <- at[!is.na(x[at])]
  first[units$code[at]] <- x[at]
  # The first level is the reference. An unknown level counts as the first level.
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
