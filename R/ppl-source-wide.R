# One row of integers per person, in a temporary table of the engine. The table is built once per
# release and read in blocks or queried for sums.

#' The map from rows to the core's grid, with centre, scale and limit, and with an `id`
#' @param covariates (`count`)\cr columns after the first `T0` periods.
#' @return A list with these fields, and with `times`, the columns that are periods.
#' @noRd
grid_of <- function(bounds, covariates = 0L, T0 = NULL) {
  scale <- if (covariates > 0L) insert_scale(bounds, covariates, T0) else bounds
  columns <- length(scale$centre)
  map <- row_map_cpp(scale, diag(columns), numeric(columns))
  between <- if (covariates > 0L) T0 + seq_len(covariates)
  c(map[c("centre", "scale", "limit", "id")], list(times = setdiff(seq_len(columns), between)))
}

#' The temporary table of one row per person, checked
#' @param table (`dp_table`)\cr with `own`, from [with_own_units()], unless no unit is treated.
#' @param design (`list`)\cr `outcome` and `treated` (columns), `periods`, and if any `covariates`,
#'   from [source_covariates()], and `roster`, from [panel_of_roster()].
#' @param grid (`list` or `NULL`)\cr from [grid_of()]; `NULL`: unchanged outcomes.
#' @param covariates (`function`)\cr [sql_covariates()], if the design has covariates.
#' @return A list: `name` of the table, `n`, `periods` (columns), `grid`, `close`, and the facts
#'   that are needed to read the table.
#' @noRd
make_wide <- function(table, design, grid, covariates = NULL) {
  con <- table$con
  dialect <- table$dialect
  given <- table
  table <- with_outcome(table, design$outcome %||% table$outcome)
  name <- fresh_name(dialect)
  periods <- period_literals(table, design$periods)
  if (sum(nchar(periods)) + 900 * length(periods) > 9e5) abort_periods(length(periods))
  roster <- paste0(name, "_units")
  close <- function() {
    quiet_sql(con, c(
      paste("DROP TABLE IF EXISTS", c(
        name, paste0(name, "_cuts"), if (!is.null(design$roster)) quoted(con, roster)
      )),
      dialect$after
    ))
  }
  quiet_sql(con, dialect$before)
  done <- FALSE
  on.exit(if (!done) close())
  if (!is.null(design$covariates)) {
    design$covariates <- c(design$covariates, covariates(
      table, design$covariates, periods, !is.null(design$roster), !is.null(grid)
    ))
  }
  columns <- length(periods) + NROW(design$covariates$columns)
  n <- in_snapshot(given, function() {
    if (is.null(design$roster)) {
      fill_wide(table, design, grid, periods, name)
    } else {
      fill_from_roster(table, design, grid, periods, name, roster)
    }
    if (dialect$index) {
      run_sql(con, paste0("CREATE UNIQUE INDEX ", name, "_r ON ", name, " (r)"))
    }
    check_wide(con, name, length(periods), columns, dialect)
  })
  done <- TRUE
  list(
    con = con, name = name, n = n, periods = columns, dialect = dialect, grid = grid,
    block = table$block, calibrate = table$calibrate, close = close
  )
}

#' Reshape people to wide rows, group by group
#' @param periods (`character`)\cr literals.
#' @noRd
fill_wide <- function(table, design, grid, periods, name) {
  con <- table$con
  dialect <- table$dialect
  unit <- unit_column(table)
  time <- time_column(table)
  outcome <- table$y
  text <- is.character(table$kinds[[1L]])
  groups <- if (table$groups > 1) {
    cut_units(table, design, paste0(name, "_cuts"), time, periods, text)
  } else {
    1L
  }
  for (b in seq_len(groups)) {
    chosen <- if (groups > 1L) sql_group(unit, paste0(name, "_cuts"), b, groups, dialect, text)
    before <- if (b > 1L) {
      sql_numbers(con, sql_size(name, dialect))[[1L]]
    } else {
      0
    }
    people <- list(
      from = donors_from(table, design, chosen), unit = unit, time = time, outcome = outcome,
      text = text, before = before
    )
    query <- sql_wide(people, periods, grid, dialect, design$covariates)
    keep_rows(table, name, query, b == 1L)
  }
}

#' Reshape the donors of a roster to wide rows and fill their gaps, group by group
#' @noRd
fill_from_roster <- function(table, design, grid, periods, name, units) {
  n <- length(design$roster$units)
  kept <- keep_units(table, units, design$roster$units)
  size <- ceiling(n / table$groups)
  for (first in seq(0, n - 1, by = size)) {
    where <- if (size < n) {
      paste("ro.dpsc_r >", sql_whole(first), "AND ro.dpsc_r <=", sql_whole(first + size))
    }
    query <- sql_filled(
      joined_units(table, kept, where), time_column(table), table$y, periods, grid,
      design$roster, table$dialect, design$covariates
    )
    keep_rows(table, name, query, first == 0)
  }
}

#' Store the rows of a query in a new or existing temporary table
#' @noRd
keep_rows <- function(table, name, query, first) {
  text <- if (first) table$dialect$make(name, query) else paste("INSERT INTO", name, query)
  run_sql(table$con, text, what = "Preparing the donors' rows")
}

#' The number of people in a wide table, with an error for an incomplete table
#' @noRd
check_wide <- function(con, name, periods, columns, dialect) {
  found <- sql_numbers(con, sql_check(name, periods, dialect, columns - periods))
  if (columns > periods && found[[2L]] > 0) {
    abort(c(
      "Covariates must be known and finite for everybody before the treatment.",
      x = "A covariate of some donor is missing or not finite.", i = row_by_row_advice
    ), "covariate")
  }
  if (found[[length(found)]] > 0) {
    abort(c(
      "Every donor must have one finite outcome in every period.",
      x = "Some donor has no row, several rows, or a value that is missing or not finite.",
      i = row_by_row_advice
    ), "panel")
  }
  found[[1L]]
}

abort_periods <- function(n_times) {
  abort(c(
    "There are too many periods for one query of this database.",
    x = "There are {n_times} periods.",
    i = "Check that {.arg index} names the unit first and the time second."
  ), "panel")
}

#' Divide people into groups that are reshaped one after the other
#'
#' The groups are formed by the identifiers in one period. A person without a row in this period
#' causes a later error.
#' @return The number of groups.
#' @noRd
cut_units <- function(table, design, name, time, periods, text) {
  con <- table$con
  unit <- unit_column(table)
  from <- donors_from(table, design, paste(time, "=", periods[[1L]]))
  n <- sql_numbers(con, sql_size(from, table$dialect))[[1L]]
  size <- max(1, ceiling(n / table$groups))
  run_sql(con, table$dialect$make(name, sql_cuts(from, unit, size, table$dialect, text)),
    what = "Preparing the donors' rows"
  )
  max(1L, as.integer(ceiling(n / size)))
}

#' Long rows of donors, that is, of all units that are never treated
#' @param chosen (`character`)\cr further conditions.
#' @noRd
donors_from <- function(table, design, chosen = NULL) {
  if (!is.null(design$treated)) {
    unit <- unit_column(table)
    chosen <- c(paste(unit, "NOT IN", treated_units(table, design)), chosen)
  }
  paste(c(table$from, if (length(chosen)) c("WHERE", paste(chosen, collapse = " AND "))),
    collapse = " ")
}

#' The names of the table's treated units, or a query for many units
#' @noRd
treated_units <- function(table, design) {
  units <- table$own
  if (length(units) <= 1000L && length(units) > 0L) {
    return(paste0("(", paste(sql_literals(table$con, units), collapse = ", "), ")"))
  }
  unit <- unit_column(table)
  paste0(
    "(SELECT ", unit, " FROM ", table$from, " WHERE ",
    indicator_column(table, design$treated), " = ", design$on, " AND ", unit, " IS NOT NULL)"
  )
}

#' Periods as literals, since SQLite stores a date as text or as a number of days, possibly
#' different between rows
#' @noRd
period_literals <- function(table, values) {
  plain <- sql_literals(table$con, values)
  days <- if (inherits(values, "Date")) as.double(values)
  if (is.null(days) || !table$dialect$loose || any(days != floor(days))) {
    return(plain)
  }
  kind <- paste0("typeof(", quoted(table$con, table$index[[2L]]), ")")
  paste0(
    "(CASE ", kind, " WHEN 'text' THEN ", plain, " ELSE ", vapply(days, sql_whole, ""), " END)"
  )
}

#' Blocks of a wide table, in the order of the identifiers
#'
#' The first reading of a block determines its checksum.
#' @return `dp_chunks` whose `reader` is called by [read_block()].
#' @noRd
stream_rows <- function(wide) {
  numbered_chunks(wide$n, wide$block, function(first, last, charged) {
    query <- sql_block(wide$name, wide$periods, first, last)
    block <- fetch_rows(wide, query, last - first, charged)
    if (is.null(wide$finish)) block else wide$finish(block)
  }, wide$close)
}

#' Numbered rows or people as chunks, each compared with its first reading
#' @param read (`function`)\cr a function of two numbers (the last row read before, and the last row
#'   to read) and of a flag (was the ledger charged?).
#' @noRd
numbered_chunks <- function(n, block, read, close) {
  sums <- new.env(parent = emptyenv())
  count <- max(1, ceiling(n / block))
  reader <- function(i, charged) {
    rows <- read((i - 1) * block, min(n, i * block), charged)
    same_block(sums, i, rows, charged)
  }
  structure(list(
    reader = read_once(reader, count), count = count, n = n, close = close
  ), class = "dp_chunks")
}

#' A reader that reads a single block only once, so that memory contains one block at a time
#' @noRd
read_once <- function(reader, count) {
  force(reader)
  kept <- NULL
  function(i, charged) {
    if (count > 1) {
      return(reader(i, charged))
    }
    if (is.null(kept)) kept <<- reader(i, charged)
    kept
  }
}

#' A block, checked against its first reading
#' @param sums (`environment`)\cr checksums of blocks.
#' @noRd
same_block <- function(sums, i, block, charged) {
  key <- as.character(i)
  sum <- checksum_cpp(block)
  if (is.null(sums[[key]])) {
    assign(key, sum, sums)
  } else if (!identical(sums[[key]], sum)) {
    abort_changed(charged)
  }
  block
}

#' Rows of a wide table as a matrix, with a check of their number
#' @noRd
fetch_rows <- function(wide, query, rows, charged) {
  block <- run_sql(wide$con, query, TRUE, charged, "Reading the donors")
  gridded <- !is.null(wide$grid)
  ok <- nrow(block) == rows && length(block) == wide$periods &&
    all(vapply(block, is.numeric, NA))
  if (!ok) abort_changed(charged)
  # A column contains integers or, in some engines, doubles.
  values <- unlist(block, use.names = FALSE)
  if (gridded) storage.mode(values) <- "integer" else storage.mode(values) <- "double"
  block <- matrix(values, rows, wide$periods)
  if (!all_finite_cpp(block)) abort_changed(charged)
  if (gridded) attr(block, "on_grid") <- wide$grid$id
  block
}

# Sums computed by the engine ---------------------------------------------------------------------

#' A wide table with sums computed by its engine
#' @noRd
asked_table <- function(wide) {
  structure(list(
    n = wide$n, calibrate = wide$calibrate, close = wide$close,
    ask = function(question, charged) ask_table(wide, question, charged),
    sample = function(places, charged) sample_table(wide, places, charged),
    ready = function() check_places(wide)
  ), class = "dp_asked")
}

#' Rows at some positions of a wide table; the positions are in a temporary table, so that no
#' statement, which an engine may log, contains a position
#' @param places (`environment`)\cr see [sample_rows()]. PRIVATE.
#' @noRd
sample_table <- function(wide, places, charged) {
  if (is.null(places$at)) {
    return(fetch_rows(wide, sql_block(wide$name, wide$periods, 0, wide$n), wide$n, charged))
  }
  at <- places$at[places$at < wide$n] + 1
  if (wide$n <= .Machine$integer.max) at <- as.integer(at)
  name <- paste0(wide$name, "_at")
  on.exit(quiet_sql(wide$con, paste("DROP TABLE", quoted(wide$con, name))))
  kept <- keep_units(wide, name, at, if (charged) charge_stays)
  fetch_rows(wide, sql_sample(wide$name, kept, wide$periods), length(at), charged)
}

#' Check before the charge that positions can be stored; otherwise the table is closed
#' @noRd
check_places <- function(wide) {
  done <- FALSE
  on.exit(if (!done) wide$close())
  name <- paste0(wide$name, "_at")
  keep_units(wide, name, 1L)
  quiet_sql(wide$con, paste("DROP TABLE", quoted(wide$con, name)))
  done <- TRUE
}

ask_table <- function(wide, question, charged) {
  own <- c("centre", "scale", "limit")
  stopifnot(identical(question$map[own], wide$grid[own]))
  if (question$kind == "energy") {
    sums <- sql_numbers(wide$con, sql_energy(wide$name, question, wide$dialect), charged)
    radii <- length(question$squared)
    return(list(
      rows = sums[[1L]], kept = unname(sums[1L + seq_len(radii)]),
      beyond = unname(sums[1L + radii + seq_len(radii)])
    ))
  }
  d <- summed_count(question$map)
  parts <- lapply(sql_moments(wide$name, question, wide$dialect), function(query) {
    sql_numbers(wide$con, query, charged)
  })
  rows <- vapply(parts, `[[`, 0, 1L)
  if (length(unique(rows)) != 1L) abort_changed(charged)
  sums <- unlist(lapply(parts, `[`, -1L), use.names = FALSE)
  if (question$kind == "sums") {
    return(list(rows = rows[[1L]], sum = sums))
  }
  at <- moment_pairs(d)
  gram <- matrix(0, d, d)
  gram[cbind(at$i, at$j)] <- gram[cbind(at$j, at$i)] <- sums[-seq_len(d)]
  list(rows = rows[[1L]], sum = sums[seq_len(d)], gram = gram)
}
