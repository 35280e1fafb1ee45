# The panel from donors outside R. Periods, treated units and the number of donors, all public, are
# read now; donors' rows remain at their source until the release.

#' Build a panel from a formula and a source
#' @param formula (`formula`)\cr `outcome ~ treated`, where both are columns.
#' @param people (`list`)\cr a list with a `dp_source` as `data`, and an index for every part.
#'   PRIVATE.
#' @return A `dpsc_panel` whose `donors` are `dp_elsewhere`.
#' @section Errors: `dpsc_error_panel`, as from [panel_from_formula()].
#' @noRd
#' @exportS3Method
panel_from_formula.dp_source <- function(formula, people, request) {
  if (!is.null(people$index)) abort_index_given()
  formula <- check_panel_formula(formula)
  columns <- c(formula_columns(formula), list(
    covariates = names(people$covariates), hide = request$hide, declared = people$covariates
  ))
  found <- lapply(long_parts(people$data), seen_facts, columns = columns)
  parts <- lapply(found, `[[`, "part")
  facts <- lapply(found, `[[`, "facts")
  times <- common_periods(facts)
  treated <- do.call(rbind, lapply(facts, `[[`, "treated"))
  n <- sum(vapply(facts, `[[`, 0, "n"))
  if (!is.null(treated) && n == 0) check_donor_count(n, no_donor_advice)
  request$ask <- ask_of_units(request$ask, treated$unit)
  design <- source_design(treated, times, n, columns, request)
  panel <- new_panel_design(
    NULL, design, "formula", whole_count(n),
    columns$outcome, unlist(facts[[1L]][c("unit", "time")])
  )
  own <- if (length(people$covariates)) {
    source_covariates(treated, times, design$T0, people, request)
  }
  panel$covariates <- own$covariates
  panel$donors <- structure(list(
    parts = parts, n = n, design = list(
      outcome = columns$outcome, treated = columns$treated,
      on = unlist(lapply(facts, `[[`, "on"))[[1L]],
      periods = times$plain, covariates = own$design
    )
  ), class = "dp_elsewhere")
  panel
}

#' @noRd
#' @exportS3Method
panel_from_donors.dp_source <- function(donors, target, T0, times = NULL, hide = FALSE) {
  parts <- if (inherits(donors, "dp_sources")) donors$parts else list(donors)
  if (any(vapply(parts, is.data.frame, NA))) {
    abort(c(
      "A source of donors cannot contain data frames.",
      i = "Give each data frame as a matrix, with one row per donor and one column per period."
    ), "argument")
  }
  long <- vapply(parts, inherits, NA, c("dp_table", "dp_workers"))
  seen <- lapply(parts[long], seen_facts, columns = NULL)
  parts[long] <- lapply(seen, `[[`, "part")
  facts <- lapply(seen, `[[`, "facts")
  n_times <- if (any(long)) length(common_periods(facts)$values)
  found <- if (any(long)) common_periods(facts)
  n <- sum(vapply(facts, `[[`, 0, "n"))
  for (k in which(!long)) {
    part <- if (inherits(parts[[k]], "dp_chunks")) {
      checked_chunks(parts[[k]], target, T0, times, hide)
    } else {
      parts[[k]] <- check_donor_matrix(parts[[k]])
      check_donors_finite(parts[[k]], "donors")
      list(donors = parts[[k]], n = nrow(parts[[k]]), columns = ncol(parts[[k]]))
    }
    if (is.null(n_times)) n_times <- part$columns
    if (part$columns != n_times) {
      abort("All sources of donors must have the same periods.", "panel")
    }
    parts[[k]] <- part$donors
    n <- n + part$n
  }
  check_donor_count(n, "Check that the sources contain rows. All their units count as donors.")
  design <- design_public(target, T0, times %||% found$values, n_times, hide)
  elsewhere <- structure(
    list(parts = parts, n = n, design = list(periods = found$plain)), class = "dp_elsewhere"
  )
  panel <- new_panel_design(elsewhere, design, "chunks", whole_count(n))
  panel$assumes <- assumptions_of(donors)
  panel
}

#' A count as an integer, if it is within the range of R's integers
#' @noRd
whole_count <- function(n) if (n <= .Machine$integer.max) as.integer(n) else n

checked_chunks <- function(chunks, target, T0, times, hide) {
  panel <- panel_from_donors.dp_chunks(chunks, target, T0, times, hide)
  list(donors = panel$donors, n = panel$n, columns = panel$T0 + panel$T1)
}

#' The columns in a formula, since an engine does not compute expressions
#' @noRd
formula_columns <- function(formula) {
  sides <- list(outcome = formula[[2L]], treated = formula[[3L]])
  if (!all(vapply(sides, is.symbol, NA))) {
    abort(c(
      "For donors outside R, both sides of {.arg formula} must be columns.",
      i = paste(
        "Compute the outcome in the database, by a view or",
        "{.code dp_table(tbl(con, \"sales\") |> mutate(y = log(sales)))}."
      )
    ), "panel")
  }
  lapply(sides, as.character)
}

long_parts <- function(source) {
  parts <- if (inherits(source, "dp_sources")) source$parts else list(source)
  if (!all(vapply(parts, inherits, NA, c("dp_table", "dp_workers")))) {
    abort(c(
      "With a formula all sources must be tables, files or workers.",
      i = "Matrices and chunks need {.arg target} and {.arg T0}."
    ), "argument")
  }
  parts
}

#' Does a table contain an index and the requested columns?
#' @noRd
check_panel_table <- function(table, names) {
  if (is.null(table$index)) {
    abort("A table of a panel needs {.arg index}: its columns of unit and time.", "argument")
  }
  unknown <- setdiff(names, table$fields)
  if (length(unknown)) {
    abort(c(
      "{.arg formula} names {.code {unknown}}, but the table contains no such column.",
      i = "Check the spelling and the case."
    ), "panel")
  }
}

#' Public facts of one part: periods, treated units' rows, number of donors
#' @return A list: `periods`, `treated` (`unit`, `time`, `y`, `on`), `n`, `on` (literal), names.
#' @noRd
part_facts <- function(part, columns) UseMethod("part_facts")

#' @noRd
#' @exportS3Method
part_facts.dp_table <- function(part, columns) {
  check_own_process(part)
  table <- part
  con <- table$con
  outcome <- columns$outcome %||% table$outcome
  check_panel_table(table, c(outcome, columns$treated))
  check_given(is.null(outcome), "outcome", "the outcome's column, in dp_table()")
  names <- columns$covariates
  if (length(names)) check_covariate_fields(table, names)
  if (isTRUE(columns$hide) && !isTRUE(columns$travel)) check_people_travel(table)
  table <- with_outcome(table, outcome)
  unit <- unit_column(table)
  time <- time_column(table)
  treated <- if (!is.null(columns)) indicator_column(table, columns$treated)
  by <- paste(c(time, treated), collapse = ", ")
  counts <- run_sql(con, paste0(
    "SELECT ", by, ", ", sql_count("dpsc_n", table$dialect), ", ",
    # A name is missing if and only if its cell is.
    sql_count("dpsc_u", table$dialect, quoted(con, table$index[[1L]])),
    " FROM ", table$from, " GROUP BY ", by
  ), TRUE, what = "Inspecting the periods")
  if (nrow(counts) == 0L) abort("The table has no rows.", "panel")
  # Columns are found by position, since the engine may change their names.
  n <- counts[[length(counts) - 1L]]
  if (anyNA(counts[[1L]]) || any(n != counts[[length(counts)]])) {
    abort(c(
      "Every row must have a unit and a period.",
      x = "{.code {table$index[[1L]]}} or {.code {table$index[[2L]]}} is missing in some row."
    ), "panel")
  }
  if (length(unique(counts[[1L]])) > 900L) abort_periods(length(unique(counts[[1L]])))
  out <- list(
    periods = unique(counts[[1L]]), unit = table$index[[1L]], time = table$index[[2L]],
    rows = sum(n)
  )
  own <- 0
  if (!is.null(treated)) {
    on <- counts[[2L]]
    yes <- check_treated(on, columns$treated)
    if (length(yes)) {
      out$on <- if (is.logical(on)) as.character(DBI::dbQuoteLiteral(con, TRUE)) else "1"
      cells <- treated_cells(table, columns$declared, isTRUE(columns$hide))
      named <- sql_names(table, isTRUE(columns$hide))
      shown <- c(named[[1L]], time, cells[[1L]], treated, cells[-1L], named[-1L])
      out$treated <- run_sql(con, paste0(
        "SELECT ", paste(shown, collapse = ", "), " FROM ", table$from, " WHERE ", unit,
        " IN (SELECT ", unit, " FROM ", table$from, " WHERE ", treated, " = ", out$on, ")"
      ), TRUE, what = "Reading the treated units")
      names(out$treated) <- c(
        "unit", "time", "y", "on", if (length(names)) covariate_name(names),
        rep("text", length(named) - 1L)
      )
      exact <- exact_names(out$treated$unit, out$treated[["text"]], isTRUE(columns$hide))
      out$treated$text <- NULL
      out$treated$unit <- exact$unit
      out$literal <- exact$literal
      out$treated <- with_text_levels(out$treated, table, columns$declared)
      check_treated_units(out$treated)
      own <- nrow(out$treated)
    }
  }
  out$n <- (out$rows - own) / length(out$periods)
  if (out$n != floor(out$n)) {
    abort(c(
      "The panel must be balanced: every unit must have a row in every period.",
      x = "At least one unit has no row, or several rows, in a period.", i = row_by_row_advice
    ), "panel")
  }
  out
}

#' A table with the names of its treated units, whose rows are no donors' rows
#'
#' The treated units of other parts do not matter: a donor who has the name of one of them is still
#' a donor. Names of protected people are in no statement, so the engine is asked for them later. It
#' is also asked for names that a literal would not write exactly.
#' @param facts (`list`)\cr from [part_facts()].
#' @noRd
with_own_units <- function(part, facts, hide) {
  part$own <- if (!hide && isTRUE(facts$literal)) code_index(facts$treated$unit, "unit")$values
  part
}

#' Does every unit in the treated units' rows have a treated row?
#'
#' If the engine and R disagreed on which names are equal, a donor's rows would be in the target.
#' @noRd
check_treated_units <- function(treated) {
  on <- treated$on %in% c(1, TRUE)
  if (!all(treated$unit %in% treated$unit[on])) {
    abort(c(
      "The database returned rows of other units than the treated units.",
      i = "Use whole numbers as units, or read the rows from another kind of database."
    ), c("engine", "panel"))
  }
}

#' Public facts of a part, and the part with these facts to be asked again
#' @return A list: `part`, `facts`.
#' @noRd
seen_facts <- function(part, columns) {
  facts <- part_facts(part, columns)
  if (inherits(part, "dp_table")) {
    part <- with_own_units(part, facts, isTRUE(columns$hide))
    part <- with_seen(part, facts_again(columns), compared_facts(facts))
  }
  list(part = part, facts = facts)
}

#' The question to be asked again, in an environment without rows
#' @noRd
facts_again <- function(columns) {
  force(columns)
  function(table) compared_facts(part_facts(table, columns))
}

#' Facts without an order, since the rows of an engine have none
#' @noRd
compared_facts <- function(facts) {
  list(facts$rows, facts$n, sort(facts$periods), ordered_rows(facts$treated))
}

#' Refuse protected treated people whose rows the user does not permit to leave the database
#' @section Errors: `dpsc_error_argument`, before their data are read.
#' @noRd
check_people_travel <- function(source) {
  if (source$compute == "database" && !source$calibrate) {
    abort(c(
      paste(
        "With {.code protect = \"everyone\"} the sums over treated people are computed in R, so",
        "rows of these people would leave their source."
      ),
      i = "Permit this by {.code calibrate = TRUE}, or set {.code protect = \"donors\"}."
    ), "argument")
  }
}

#' Periods that all parts contain, sorted as in a data frame
#' @return As from [code_index()], with `plain`, the unchanged values from the engine.
#' @noRd
common_periods <- function(facts) {
  first <- code_index(facts[[1L]]$periods, facts[[1L]]$time)
  plain <- facts[[1L]]$periods[order(first$code)]
  check_whole_periods(plain)
  for (other in facts) {
    if (!setequal(other$periods, facts[[1L]]$periods)) {
      abort("All sources of donors must have the same periods.", "panel")
    }
  }
  first$plain <- plain
  first
}

#' @noRd
check_whole_periods <- function(periods) {
  if (is.numeric(periods) && !is.object(periods) && any(periods != floor(periods))) {
    abort(c(
      "Periods in a database must be whole numbers, dates or strings.",
      i = "Number the periods in the database."
    ), "panel")
  }
}

#' Treated units by name, then one placeholder per unnamed unit
#' @noRd
pad_units <- function(units, count) {
  units$values <- c(units$values, rep(units$values[NA_integer_], count))
  units
}

#' Target and T0 from the treated units' rows
#' @noRd
source_design <- function(treated, times, n, columns, request) {
  ask <- request$ask
  hide <- request$hide
  quiet <- request$quiet
  if (is.null(treated)) {
    abort(c(
      "At least one unit must be treated.",
      x = "The treatment indicator is 0 in every row.",
      i = "Set it to 1 for the treated unit from the first treated period on."
    ), "panel")
  }
  units <- code_index(treated$unit, "unit")
  if (request$private) check_few_numbers(units, times, n, ask)
  own <- list(
    code = match(treated$time, times$plain), values = times$values, name = times$name,
    alphabetical = times$alphabetical
  )
  y <- check_outcome(treated$y, columns$outcome)
  rows <- check_treated(treated$on, columns$treated)
  named <- units$values
  # Of the donors, the checks need only whether there are enough.
  padded <- pad_units(units, min(n, 2))
  # This check comes before any message that names a period, since the periods might be the donors.
  check_orientation(padded, own, rows, ask)
  if (quiet) {
    units$values <- rep("a treated unit", length(named))
    padded <- pad_units(units, min(n, 2))
  }
  cells <- match_cells(
    units, own, if (hide) integer() else seq_along(units$values), quiet, ask
  )
  treatment <- find_treatment(padded, own, rows, quiet, ask)
  target <- numeric(length(y))
  target[cells] <- y
  target <- matrix(target, length(units$values), length(times$values))
  rownames(target) <- unit_labels(if (hide) units$values else named)
  if (!all_finite_cpp(target)) {
    abort_target_gaps(target, times$values, columns$outcome, quiet, ask)
  }
  warn_calendar_gap(times$values, times$name)
  list(
    target = target, times = times$values, T0 = treatment$T0, adopted = treatment$adopted
  )
}

#' Build a panel from chunks, after one pass that checks every block
#'
#' The pass stores the size and a checksum of every block, for comparison in later passes.
#' @return A `dpsc_panel` whose `donors` are the chunks.
#' @noRd
#' @exportS3Method
panel_from_donors.dp_chunks <- function(donors, target, T0, times = NULL, hide = FALSE) {
  # Weights are one more column.
  more <- sum(donors$weighted)
  design <- NULL
  # The first block determines the periods.
  donors <- check_blocks(donors, first = function(columns) {
    design <<- design_public(target, T0, times, columns - more, hide)
  })
  n <- count_rows(donors)
  check_donor_count(n, "Rows of the blocks are donors, and columns are periods.")
  new_panel_design(donors, design, "chunks", n)
}

#' Check every block of donors, and store its size and checksum
#'
#' This is the first pass over chunks, in this process and in workers. [read_block()] compares later
#' passes with it.
#' @param first (`function`)\cr a function of the number of columns, called for the first block.
#' @return The chunks with `sizes` and `checksums`. PRIVATE.
#' @noRd
check_blocks <- function(donors, first = NULL) {
  sizes <- checksums <- vector("list", donors$count)
  for (i in seq_len(donors$count)) {
    block <- read_block(donors, i)
    check_donor_matrix(block)
    if (i == 1L) {
      if (!is.null(first)) first(ncol(block))
    } else if (ncol(block) != sizes[[1L]][[2L]]) {
      abort(c(
        "All blocks of donors must have the same periods.",
        x = "Block {i} has {ncol(block)} column{?s}; block 1 has {sizes[[1L]][[2L]]}."
      ), "panel")
    }
    check_donors_finite(block, "donors")
    sizes[[i]] <- dim(block)
    checksums[[i]] <- checksum_cpp(block)
  }
  donors$sizes <- sizes
  donors$checksums <- checksums
  donors
}
