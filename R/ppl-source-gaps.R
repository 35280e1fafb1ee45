# Panels with gaps outside R. A roster declares units, roles and periods, which are never derived
# from the data. The engine fills each row separately (R/ppl-source-gaps-sql.R).

#' Build a panel with gaps from a source and a roster
#'
#' Rows in a database have no order. If a donor, or a protected treated unit, has several rows in a
#' period, the largest outcome and all values of covariates are used.
#' @param people (`list`)\cr its `data` is a `dp_source`, one table or files. PRIVATE.
#' @noRd
#' @exportS3Method
panel_of_roster.dp_source <- function(formula, people, request) {
  if (!is.null(people$index)) abort_index_given()
  roster <- people$roster
  covariates <- people$covariates
  formula <- check_panel_formula(formula)
  columns <- formula_columns(formula)
  table <- with_index_of(roster_table(people$data, columns), roster$unit, roster$periods)
  if (request$hide) check_people_travel(table)
  request$ask <- ask_of_units(request$ask, roster$unit[!is.na(roster$from)])
  treatment <- roster_treatment(roster, request$quiet, request$ask)
  periods <- roster$periods
  kinds <- as.data.frame(lapply(table$kinds, `[`, 0L))
  names(kinds) <- table$index
  for (k in 1:2) data_column(kinds, table$index[[k]], list(roster$unit, periods)[[k]])
  check_whole_periods(periods)
  if (is.numeric(roster$unit) && !is.object(roster$unit) && any(abs(roster$unit) >= 2^53)) {
    abort(c(
      "Numbers of 16 or more digits are rounded, so they cannot be units of a roster.",
      i = "Use units that are text, also in the database."
    ), c("roster", "panel"))
  }
  if (length(periods) > 300L) abort_periods(length(periods))
  middle <- row_middle(people$bounds, length(periods), request$private)
  check_covariate_fields(table, names(covariates))
  treated_rows <- rows_again(
    columns$outcome, roster$unit[treatment$units], covariates, request$hide
  )
  own <- treated_rows(table)
  table <- with_seen(table, ordered_by(treated_rows), ordered_rows(own))
  own <- own[own$time %in% periods, , drop = FALSE]
  unit <- match(own$unit, roster$unit[treatment$units])
  time <- match(own$time, periods)
  repeated <- duplicated(cbind(unit, time))
  check_target_rows(own$time[repeated], table$index[[1L]], request)
  cells <- which(!repeated)
  rows <- matrix(NA_real_, length(treatment$units), length(periods))
  rows[cbind(unit[cells], time[cells])] <- own$y[cells]
  rows <- fill_rows(rows, list(
    units = seq_along(treatment$units), T0 = treatment$T0, adopted = treatment$adopted
  ), middle)
  check_filled(rows, columns$outcome)
  rownames(rows) <- unit_labels(roster$unit[treatment$units])
  donors <- roster$unit[-treatment$units]
  panel <- new_panel_design(
    NULL, c(list(target = rows, times = periods), treatment),
    "formula", whole_count(length(donors)), columns$outcome,
    table$index
  )
  design <- list(
    outcome = columns$outcome, periods = periods,
    roster = list(units = donors, T0 = treatment$T0, middle = middle)
  )
  if (length(covariates)) {
    found <- roster_covariates(own, people, treatment, request)
    panel$covariates <- found$covariates
    design$covariates <- found$design
  }
  panel$donors <- structure(
    list(parts = list(table), n = as.double(length(donors)), design = design),
    class = "dp_elsewhere"
  )
  panel
}

#' The single table for a roster
#' @noRd
roster_table <- function(source, columns) {
  parts <- long_parts(source)
  if (length(parts) != 1L || !inherits(parts[[1L]], "dp_table")) {
    abort(c(
      "{.code na = \"interpolate\"} needs one table or one set of files, not several sources.",
      i = "The source of a unit without rows would be unknown."
    ), "argument")
  }
  table <- parts[[1L]]
  check_panel_table(table, columns$outcome)
  table
}

#' The treated units' covariates, in the order of the roster
#' @noRd
roster_covariates <- function(own, people, treatment, request) {
  roster <- people$roster
  times <- list(plain = roster$periods)
  units <- roster$unit[treatment$units]
  # Every unit of the roster, also a unit without rows, in the order of the roster.
  none <- own[rep(NA_integer_, length(units)), , drop = FALSE]
  none$unit <- units
  none$time <- roster$periods[[1L]]
  # These rows come first, so that known values of the period overwrite them.
  all <- rbind(none, own)
  at <- match(all$unit, units)
  all$unit <- at
  source_covariates(all, times, treatment$T0, people, request)
}

#' Questions to be asked again, in environments without rows
#' @noRd
rows_again <- function(outcome, units, covariates, hide) {
  force(list(outcome, units, covariates, hide))
  function(table) roster_rows(table, outcome, units, covariates, hide)
}

#' @noRd
ordered_by <- function(ask) {
  force(ask)
  function(table) ordered_rows(ask(table))
}

#' Rows of the treated units, with the largest outcomes first
#' @param hide (`flag`)\cr are these people protected?
#' @noRd
roster_rows <- function(table, outcome, units, covariates, hide) {
  con <- table$con
  name <- fresh_name(table$dialect)
  kept <- keep_units(table, name, units)
  on.exit(quiet_sql(con, paste("DROP TABLE", kept)))
  table <- with_outcome(table, outcome)
  cells <- treated_cells(table, covariates, hide)
  rows <- joined_units(table, kept)
  found <- run_sql(con, paste0(
    "SELECT dpsc_r, ", paste(c(time_column(table), cells), collapse = ", "), " FROM ", rows
  ), TRUE, what = "Reading the treated units")
  names(found) <- c("unit", "time", "y", covariate_name(names(covariates)))
  found <- with_text_levels(found, table, covariates)
  found$unit <- units[found$unit]
  found$y <- as.double(found$y)
  found$y[!is.finite(found$y)] <- NA
  found <- found[order(-found$y), , drop = FALSE]
  if (nrow(found)) found$on <- 1
  found[c("unit", "time", "y", "on", covariate_name(names(covariates)))]
}
