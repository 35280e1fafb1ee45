# Medians and scales, at the start of a selection or of its choices. They determine the limits of
# the columns, so that much too wide bounds cost little accuracy. Only the draws use people's
# values; all else is post-processing.

# The largest share of the budget, and the value of n exponent / 2 that suffices for fine cells. If
# bounds are ten times too wide, choices in units of the bounds find hardly any variable. If bounds
# are right, the location costs little accuracy.
location_share <- 0.4
location_enough <- 16
# Clipping bounds in robust standard deviations on either side of the median: for choices, for
# moments that are also fitted, for refits. A choice uses covariances of clipped values, and tighter
# clipping needs less noise. Half of 2.4 finds more variables in every design (bench/selection.R).
location_reach <- c(choice = 1.2, moments = 3, refit = 4)

#' The draws that find medians and scales, from public facts
#' @return A list: `exponent`, `cell` (width of a median's cell, scaled units), `rho` (of all
#'   draws). `NULL` if medians would not be found or the method needs no medians. If the picked
#'   variables are located, also the fields of [picks_location()]. PUBLIC.
#' @noRd
selection_location <- function(method, facts, budget) {
  locates <- mechanism_table$dp_select[[method]]$locates
  if (locates == "none" || is.null(facts$numbers)) {
    return(NULL)
  }
  if (locates == "picked") {
    return(picks_location(facts, budget))
  }
  exponent <- min(sqrt(location_share * budget$rho / facts$numbers), 2 * location_enough / facts$n)
  cell <- select_cells_cpp(facts$n, exponent)
  # Each column has two draws. The changes of their losses have a range of twice the exponent.
  if (!is.null(cell)) list(exponent = exponent, cell = cell, rho = facts$numbers * exponent^2)
}

# A pursuit by ranks uses residuals if the noise of a step's slope, in standard deviations, is below
# this value. Otherwise residuals give worse choices than the outcome (bench/selection.R, on designs
# not used to find this value).
largest_step_noise <- 0.13

# Below this noise the steps of a pursuit, which are orthogonal, distinguish better than ranks
# between variables that replace each other (with n = 20,000 and correlations of 0.8, from epsilon =
# 4).
orthogonal_step_noise <- 0.004

#' Location of the picked variables and the outcome, with at most a fifth of the budget
#'
#' The location is needed for steps, for the limits of a refit, and for the outcome's mean, which
#' columns of zeros and ones need. Without the mean, only half of these columns would be found, so
#' two fifths are justified.
#' @return A list: `exponent`, `cell`, `rho`; `picks` (whether the picked variables are located, or
#'   only the outcome), `steps`, `centred` (flags); or `NULL`.
#' @noRd
picks_location <- function(facts, budget) {
  candidates <- facts$p - facts$indicators
  outcome <- facts$numbers - candidates
  plan <- function(columns) {
    exponent <- min(
      2 * location_enough / facts$n, max(sqrt(0.1 * budget$rho / columns), 24 / facts$n)
    )
    list(exponent = exponent, rho = columns * exponent^2)
  }
  affordable <- function(plan, share = 0.2) plan$rho <= share * budget$rho
  all <- plan(max(min(facts$size, candidates) + outcome, 1))
  centred <- facts$indicators > 0
  steps <- facts$size > 1 && affordable(all) &&
    step_noise(facts, budget$rho - all$rho, facts$size - 1 + centred) < largest_step_noise
  picks <- affordable(all) && (steps || facts$refit)
  out <- if (picks) all else plan(1)
  if (!picks && !(centred && affordable(out, location_share))) {
    return(NULL)
  }
  cell <- select_cells_cpp(facts$n, out$exponent)
  if (!is.null(cell)) {
    c(out, list(cell = cell, picks = picks, steps = steps, centred = centred))
  }
}

#' Noise on the slope of a step if a number of sums share the budget
#' @noRd
step_noise <- function(facts, rho, sums) {
  6 / facts$n / sqrt(2 * sums_share * selection_share(facts) * rho / sums)
}

#' @param picked (`integer`)\cr from [pick_by_ranks()].
#' @return As [find_location()]; `NULL` if no column was located.
#' @noRd
location_of_picks <- function(picked, plan) {
  found <- attr(picked, "location")
  if (any(found$scale != shared_scale)) c(found, list(cell = plan$cell))
}

#' Located columns of the table: numeric variables, except variables with bounds 0 and 1, and the
#' outcome last
#' @noRd
number_places <- function(columns) {
  c(unlist(lapply(columns$regressors, function(column) {
    rep(!always_full(column), length(column_names(column, columns$intercept)))
  })), !always_full(columns$outcome))
}

#' Number of candidates that are not located, which are columns of zeros and ones
#' @noRd
count_indicators <- function(columns) sum(!utils::head(number_places(columns), -1L))

#' Candidates with values zero or one in the scaled table (other candidates with two values are -1
#' or 1)
#' @noRd
zero_one_places <- function(columns) {
  unlist(lapply(columns$regressors, function(column) {
    zero <- !is.null(column$levels) || (always_full(column) && !columns$intercept)
    rep(zero, length(column_names(column, columns$intercept)))
  }))
}

#' Find medians and scales
#' @param table (`matrix`)\cr from [table_of_rows()]. PRIVATE.
#' @param plan (`list` or `NULL`)\cr from [selection_location()].
#' @return `median` and `scale` of the table's columns, scaled units, and `cell`; or `NULL`.
#'   RELEASED.
#' @noRd
find_location <- function(table, columns, plan, rng) {
  if (!is.null(plan)) {
    if (columns$intercept) table <- table[, -1L, drop = FALSE]
    found <- select_locate_cpp(table, number_places(columns), plan$exponent, rng)
    c(found, list(cell = plan$cell))
  }
}

#' Columns with limits set by their medians and scales
#' @param location (`list` or `NULL`)\cr from [find_location()].
#' @param what (`string`)\cr purpose of the columns: a name of `location_reach`.
#' @noRd
located_columns <- function(columns, location, what) {
  if (is.null(location)) {
    return(columns)
  }
  first <- first_places(columns)
  near <- function(column, at) {
    located_column(
      column, location$median[[at]], location$scale[[at]], location$cell, location_reach[[what]],
      columns$intercept
    )
  }
  columns$regressors <- Map(near, columns$regressors, first[-length(first)], USE.NAMES = FALSE)
  columns$outcome <- near(columns$outcome, first[[length(first)]])
  columns
}

#' The positions of each variable's first column, and of the outcome, among the table's columns
#' @noRd
first_places <- function(columns) {
  cumsum(c(1L, lengths(lapply(columns$regressors, column_names, columns$intercept))))
}

#' Limits from medians and scales; bounds remain for a variable that was not located, or with one
#' value for half of the people
#' @noRd
located_column <- function(column, median, scale, cell, reach, intercept) {
  if (always_full(column) || scale == shared_scale) {
    return(column)
  }
  ends <- column$centre + column$half * (median + c(-1, 1) * (reach * scale + cell / 2))
  range <- pmin(pmax(ends, column$lower), column$upper)
  if (diff(range) < 1e-9 * column$half) {
    return(column)
  }
  out <- c(column[c("name", "expression")], scale_of(range, intercept))
  out$deviation <- scale * column$half / out$half
  out
}

#' A table in the units of other limits, row by row
#' @param table (`matrix`)\cr scaled by `from`. PRIVATE.
#' @return The table, clipped and scaled by `to`. PRIVATE.
#' @noRd
rescaled_table <- function(table, from, to) {
  first <- as.integer(from$intercept)
  change <- function(at, from, to) {
    if (!identical(from, to)) {
      table[, at] <<- clip_scaled(table[, at] * from$half + from$centre, to)
    }
  }
  at <- first + first_places(from)
  Map(change, at, c(from$regressors, list(from$outcome)), c(to$regressors, list(to$outcome)))
  table
}

#' Contradictions between bounds and medians or scales, for nearly all values at a bound, or for a
#' very small scale
#' @noRd
location_doubts <- function(columns, location) {
  if (is.null(location)) {
    return(character())
  }
  at <- first_places(columns)
  facts <- Map(function(column, median, scale) {
    if (!always_full(column)) {
      shared <- scale == shared_scale
      ends <- shared && location$cell <= 2^-7 && 1 - abs(median) <= location$cell
      data.frame(
        name = column$name, lower = column$lower, upper = column$upper,
        end = if (ends) sign(median) else 0, narrow = !shared && scale < 0.002
      )
    }
  }, c(columns$regressors, list(columns$outcome)), location$median[at], location$scale[at])
  doubt_words(do.call(rbind, facts))
}
