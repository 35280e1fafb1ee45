# Covariates of people outside R: integers that the engine computes from a person's rows, in the
# query that reshapes outcomes, by the rule of `covariates_of_units()`.

#' Covariates of the public units, and the facts for queries about the other units
#' @param treated (`data.frame`)\cr rows of the treated units: `unit`, `time`, `y`, `on`, then the
#'   covariates in the order of `declared`.
#' @param times (`list`)\cr from [common_periods()].
#' @return A list: `covariates` of a panel, without donors, and `design`.
#' @noRd
source_covariates <- function(treated, times, T0, people, request) {
  declared <- people$covariates
  for (name in names(declared)) {
    text <- is.character(treated[[covariate_name(name)]])
    if (!request$private && is.null(declared[[name]]) && text) {
      abort(c(
        "{.arg bounds} must give the levels of {.code {name}}, which is text in the database."
      ), "bounds")
    }
  }
  units <- code_index(treated$unit, "unit")
  people$data <- stats::setNames(
    as.list(treated)[covariate_name(names(declared))], names(declared)
  )
  treatment <- list(T0 = T0, units = seq_along(units$values))
  times <- list(code = match(treated$time, times$plain))
  found <- covariates_of_units(people, units, times, treatment, request)
  list(
    covariates = list(donors = NULL, target = found$values, columns = found$columns),
    design = list(declared = declared, columns = found$columns, T0 = T0)
  )
}

#' Convert covariates to the mechanism's units while blocks are read, only without privacy
#' @param wide (`list`)\cr from [make_wide()].
#' @noRd
raw_covariates <- function(wide, design) {
  if (is.null(wide$grid)) {
    at <- design$T0 + seq_len(nrow(design$columns))
    wide$finish <- function(block) {
      block[, at] <- scaled_covariates(block[, at, drop = FALSE], design$columns)
      block
    }
  }
  wide
}

#' Treated people's covariates, as text where levels are declared
#'
#' An engine without strict types has no logical type. If all cells of a column are missing, its
#' driver returns logical values, which [treated_cells()] cannot prevent: in other cases the column
#' is text.
#' @param found (`data.frame`)\cr a result with columns named by [covariate_name()]. PRIVATE.
#' @noRd
with_text_levels <- function(found, table, declared) {
  if (!table$dialect$loose) {
    return(found)
  }
  for (name in covariate_name(names(Filter(is.character, declared)))) {
    if (is.logical(found[[name]])) found[[name]] <- as.character(found[[name]])
  }
  found
}

#' Names of covariates among the treated units' columns
#' @noRd
covariate_name <- function(name) sprintf("x: %s", name %||% character())

#' Refuse covariates that are not columns of the table
#' @noRd
check_covariate_fields <- function(table, names) {
  unknown <- setdiff(names, table$fields)
  if (length(unknown)) {
    abort(c(
      "Covariates must be columns of the table.", x = "There is no {.code {unknown[[1L]]}}."
    ), "covariate")
  }
}

# SQL ---------------------------------------------------------------------------------------------

#' Covariates in the query that reshapes people's rows
#'
#' @param periods (`character`)\cr literals of all periods.
#' @param gaps (`flag`)\cr whether values may be missing. Available values are then used, or without
#'   them the middle of the bounds or the first level of a factor.
#' @param private (`flag`)\cr `TRUE`: whole numbers on the grid; `FALSE`: unchanged numbers.
#' @return A list of SQL: `inner`, aggregates of one person's rows; `outer`, one number per column
#'   computed from these aggregates; `whole`, the condition that no value is missing.
#' @noRd
sql_covariates <- function(table, covariates, periods, gaps, private) {
  declared <- covariates$declared
  names <- names(declared)
  check_covariate_fields(table, names)
  row <- cell_row(table, names)
  time <- time_column(table)
  parts <- lapply(seq_along(names), function(k) {
    levels <- declared[[k]]
    if (is.character(levels)) {
      at <- paste(time, "=", periods)
      return(sql_factor_covariate(names[[k]], k, levels, at, row, gaps, private))
    }
    before <- paste0(time, " IN (", paste(periods[seq_len(covariates$T0)], collapse = ", "), ")")
    sql_number_covariate(names[[k]], k, levels, before, covariates$T0, row, gaps, private)
  })
  list(
    inner = unlist(lapply(parts, `[[`, "inner")), outer = unlist(lapply(parts, `[[`, "outer")),
    whole = paste(unlist(lapply(parts, `[[`, "whole")), collapse = " AND ")
  )
}

#' A numeric covariate: the rounded mean of whole numbers over the rows before the treatment
#' @param before (`string`)\cr condition of a row before the treatment.
#' @noRd
sql_number_covariate <- function(name, k, limits, before, T0, row, gaps, private) {
  dialect <- row$dialect
  x <- paste0("(", number_column(name, row), ")")
  largest <- sql_real(.Machine$double.xmax, dialect)
  finite <- sql_is_finite(x, dialect)
  one <- sql_whole(covariate_one)
  cell <- if (private) {
    half <- diff(limits) / 2
    sql_cell(x, list(
      centre = sum(limits) / 2, scale = covariate_one / half, limit = covariate_one
    ), dialect)
  } else if (is.null(limits)) {
    x
  } else {
    ends <- vapply(limits, sql_real, "", dialect)
    paste0("CASE WHEN ", x, " < ", ends[[1L]], " THEN ", ends[[1L]], " WHEN ", x, " > ",
      ends[[2L]], " THEN ", ends[[2L]], " ELSE ", x, " END")
  }
  # If gaps are allowed, infinite values, NaN and missing values are gaps.
  beyond <- c(
    paste0(x, " > ", largest, " AND -", x, " < ", x), paste0(x, " < -", largest)
  )[rep(gaps && private, 2L)]
  when <- paste(" WHEN", before, "AND", c(finite, beyond), "THEN")
  said <- paste(when, c(cell, one, paste0("-", one))[seq_along(when)])
  sum <- paste0("s", k)
  count <- paste0("o", k)
  mean <- paste0(sql_cast(sum, dialect$real), " / ", sql_cast(count, dialect$real))
  mean <- if (private) sql_cast(sql_rint(paste0("(", mean, ")"), dialect), dialect$small) else mean
  none <- if (private || is.null(limits)) sql_whole(0) else sql_real(sum(limits) / 2, dialect)
  list(
    inner = c(
      paste0("SUM(CASE", paste(said, collapse = ""), " ELSE 0 END) AS ", sum),
      paste0("SUM(CASE", paste(when, "1", collapse = ""), " ELSE 0 END) AS ", count)
    ),
    outer = if (gaps) {
      paste0("CASE WHEN ", count, " > 0 THEN ", mean, " ELSE ", none, " END")
    } else {
      paste0("CASE WHEN ", count, " = ", T0, " THEN ", mean, " END")
    },
    whole = if (!gaps) paste(count, "=", T0)
  )
}

#' A factor as covariate: the first known level, as indicators of all levels except the first
#' @param at (`character`)\cr conditions for a row to be in a period.
#' @noRd
sql_factor_covariate <- function(name, k, levels, at, row, gaps, private) {
  known <- paste0(row$short[[name]], " IS NOT NULL")
  holds <- vapply(levels[-1L], holds_level, "", name = name, row = row)
  # An unknown level counts as the first level.
  code <- paste0(
    "CASE ", paste0("WHEN ", holds, " THEN ", seq_along(holds), collapse = " "), " WHEN ", known,
    " THEN 0 END"
  )
  looked <- if (gaps) seq_along(at) else 1L
  f <- paste0("f", k, "_", looked)
  first <- if (length(f) == 1L) {
    f
  } else {
    paste0("CASE ", paste0("WHEN ", f, " IS NOT NULL THEN ", f, collapse = " "), " ELSE 0 END")
  }
  yes <- if (private) sql_whole(covariate_one) else "1"
  no <- if (private) paste0("-", sql_whole(covariate_one)) else "0"
  list(
    inner = c(
      paste0("MAX(CASE WHEN ", at[looked], " THEN ", code, " END) AS ", f),
      if (!gaps) paste0("SUM(CASE WHEN ", known, " THEN 0 ELSE 1 END) AS m", k)
    ),
    outer = paste0(
      "CASE WHEN (", first, ") = ", seq_along(holds), " THEN ", yes, " ELSE ", no, " END"
    ),
    whole = if (!gaps) paste0("m", k, " = 0")
  )
}
