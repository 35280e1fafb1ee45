# Updates of a growing fit with new periods.

#' Monitor a treated unit: a release that grows
#'
#' `dp_synth(..., monitor = 24)` makes a private fit and charges the budget for 24 further periods
#' in advance. After each period, `update(fit, newdata)` draws the noisy sums of this period and
#' returns the fit with one more effect, without a further charge.
#'
#' @section Released quantities: The first release is by method `"gram"`, with .45 of the budget. It
#'   determines every donor's weight in the target's counterfactual, as a function of the donor's
#'   past and covariates. For each new period a few sums over the donors are released, and each
#'   person's contribution is clipped to a radius. These are sums of the donors' prediction errors,
#'   in the direction of the weights and, less precisely, in the directions in which donors differ
#'   most. Three second moments are also released, for the intervals. New noise is drawn for each
#'   period, and earlier results do not change. The formulas and the proof are in
#'   `proofs/growing.md`.
#'
#' @section Changes after the first release: **Intervals of new periods can be too short** if
#'   donors change after the first release in a way that it has not seen: a large shift, even one
#'   common to all, much larger variation, or a shift of some donors. Such changes are shortened to
#'   the radius, and the intervals do not include this error. In simulations with 2,000 donors and
#'   `epsilon = 1`, 95 % intervals of such periods covered 20 to 63 %. One new release of all
#'   periods covered 97 %, except if a few donors change a lot.
#'
#' @section Who is protected: Neighbouring data sets arise by replacing the whole row of one donor,
#'   in all past and future periods and in every update. The first release and all announced periods
#'   together are (epsilon, delta)-private, at any stopping time and for any later data, because
#'   each period has a fixed share of the budget and its guarantee is valid for all rows. Past
#'   values in `newdata` may therefore have been revised: a revision neither weakens the guarantee
#'   nor changes earlier results. `update()` does not compare past values, since an error about a
#'   changed cell would reveal information about a person. It compares only public facts: the number
#'   of people, the periods and the target's past.
#'
#' The guarantee is for the announced number of draws. **Do not draw a period twice**: save the fit
#' that `update()` returns ([write_release()]), and do not update an older copy. If you give a
#' [dp_ledger()] to each `update()`, the ledger records the drawn periods and refuses a second draw,
#' also after it is saved and resumed in another session. Without a ledger only the current session
#' records the drawn periods. An update of an older copy in another session, or in a fork of this
#' session, would then spend the same share twice without a warning.
#'
#' @section Data:
#' `newdata` contains the complete data again: the same people with all earlier periods and the new
#' periods, in the form of the fit's data. The past is needed again because a fit contains no
#' person's row. The numbers of donors and treated units, and the earlier periods, must be the same
#' as in the fit. The guarantee also requires the same people, which cannot be checked, since no
#' name is stored. `na` determines the treatment of people who left: with `"interpolate"` their last
#' value is continued. New periods follow the last period immediately, with the bounds of the last
#' period; several new periods are drawn one by one.
#'
#' Covariates (`y ~ treated | x1 + x2`) are measured before the treatment and remain as in the first
#' release. `newdata` must contain the same columns, with the bounds and levels stored in the fit,
#' and the target's covariates must not change.
#'
#' For the first release and for each update, rows may be in a [dp_table()], in [dp_files()] or in
#' [dp_sources()], and need not be in the same place each time. Seeded results equal the results
#' from memory, bit for bit. An update reshapes the rows once, before anything is drawn, and reads
#' them twice for each new period. Updates need `compute = "here"`, since each person's numbers are
#' clipped before summation, which database engines and workers cannot do.
#'
#' @section Limits: Monitoring requires method `"gram"`, estimator `"ridge"`, one adoption date, one
#' outcome, `protect = "donors"`, and rows that are read in R. Other calls are refused before any
#' budget is spent. Monitor several dates or outcomes separately, with one [dp_ledger()]. For
#' several dates the error message gives the `epsilon` to use. In simulations
#' (`bench/monitor-dates.R` in the source package) separate fits have smaller errors than one
#' release with periods split over dates, and mostly smaller errors than a new release in each
#' period. New periods are valid only for the fit's target (the mean of several treated units). New
#' people cannot join: the first release fixes the number of donors. The noise of each period grows
#' with the square root of the number of announced periods (with `delta = 0`, in proportion to this
#' number), so announce only the periods that you need. [pdp()] refuses growing releases.
#' [conformal()], [placebo_time()] and [penalty_path()] use the first release only, and refuse a fit
#' with added periods.
#'
#' @section Arguments of update():
#' * `newdata` (`data.frame`, [dp_table()], [dp_files()], [dp_sources()], `matrix` or
#'   [dp_chunks()]): the panel with all its periods. PRIVATE.
#' * `target` (`numeric` or `matrix`): the treated units' outcomes in all periods, if `newdata` is a
#'   matrix, chunks or a source with donors only. Outcomes that are already in the fit must not
#'   change. PUBLIC.
#' * `index`, `formula`: for long data; by default the fit's index and formula. A fit from a written
#'   release contains neither. A [dp_table()] contains its `index`.
#' * `na`, `roster`, `times`: as in [dp_synth()]. A roster must contain the fit's periods and the
#'   new ones, and `times` is needed only if `times` was given for the fit.
#' * `ledger` ([dp_ledger()] or `NULL`): the ledger that was charged for the first release, if any.
#' * `again` (`flag`): whether to draw a period a second time, because the first draw was lost. The
#'   second draw uses the share of another announced period.
#'
#' @param object (`dp_synth` or `dp_release`)\cr a fit or release made with `monitor`.
#' @param ... unused; an unknown argument causes an error.
#' @return `update()` returns a `dp_synth` with the new periods. `monitor_left()` returns the number
#'   of announced periods that can still be drawn.
#' @section Errors: `dpsc_error_monitor` if the fit was made without `monitor`, if `newdata`
#'   contains no new period, skips a period or does not begin with the fit's periods, if the number
#'   of people or the target's past differs, if rows are not read in R, if a period was drawn
#'   before, or if no announced period is left. `dpsc_error_covariate` if covariates differ. Other
#'   errors about the input are as in [dp_synth()]. These errors occur before anything is drawn.
#' @seealso [dp_synth()], [write_release()]; [update.dp_synth()] for changes by `update()` that cost
#' nothing.
#' @examples
#' panel <- sim_panel(n = 1000, T0 = 10, T1 = 4, effect = 0.3)
#' # So far one period after the treatment is known.
#' fit <- dp_synth(panel$donors[, 1:11],
#'   target = panel$target[1:11], T0 = 10, epsilon = 2, bounds = c(-1, 1), monitor = 3
#' )
#' fit <- update(fit, panel$donors[, 1:12], target = panel$target[1:12])
#' fit
#' monitor_left(fit)
#' @name dp_monitor
NULL

#' @rdname dp_monitor
#' @export
monitor_left <- function(object, ...) door("monitor_left", {
  check_no_dots(...)
  release <- if (inherits(object, "dp_release")) object else object$release
  if (!is_growing(release)) {
    abort("This fit or release cannot grow: it was made without {.arg monitor}.", "argument")
  }
  periods_left(release)
})

#' A fit with the new periods in the data
#' @param object,newdata,target,times,ledger,again see [dp_monitor].
#' @param ... `index`, `formula`, `na` and `roster`, see [dp_monitor].
#' @return A `dp_synth`.
#' @noRd
update_growing <- function(object, newdata, target = NULL, times = NULL, ledger = NULL,
                           again = FALSE, ...) {
  release <- object$release
  if (!is_growing(release)) {
    abort(c(
      "New periods cannot be added to this fit: they were not paid for in advance.",
      i = "Pay for new periods with {.code dp_synth(..., monitor = )}."
    ), "monitor")
  }
  again <- check_flag(again)
  check_draws_here()
  panel <- newer_panel(object, newdata, target, times, ...)
  group <- mean_target(panel$target, release$statistics$monitor$size)
  check_newer(object, panel, group)
  covariates <- newer_covariates(release, panel)
  donors <- open_newer(release, panel)
  on.exit(close_donors(donors))
  for (period in seq_len(panel$T1 - release$panel$T1)) {
    release <- grow_release(release, panel, donors, ledger, again)
  }
  rownames(group) <- rownames(object$target)
  fit <- fit_release(
    release, group, "ridge", sum(release$statistics$monitor$size), covariates
  )
  fit$formula <- object$formula
  fit$limits <- object$limits
  fit$index <- object$index
  fit
}

#' The panel from new data, with the usual checks
#' @noRd
newer_panel <- function(object, newdata, target, times, index = NULL, ...) {
  if (inherits(newdata, "tbl_lazy")) {
    newdata <- dp_table(newdata, index = index %||% object$index)
    index <- NULL
  }
  elsewhere <- is_elsewhere(newdata)
  if (elsewhere && !is.null(index)) abort_index_given()
  # The source contains donors only, or long rows.
  if (elsewhere && is.null(target)) {
    return(newer_long_panel(object, panel_people(newdata), ...))
  }
  if (is.data.frame(newdata)) {
    people <- panel_people(newdata)
    people$index <- index %||% object$index
    return(newer_long_panel(object, people, ...))
  }
  check_given(is.null(target), "target", "the treated unit's outcome, one value per period")
  panel_from_donors(newdata, target, object$release$panel$T0, times)
}

#' @param people (`list`)\cr a list with `data`, and for a data frame also `index`.
#' @noRd
newer_long_panel <- function(object, people, formula = object$formula,
                             na = c("error", "interpolate"), roster = NULL) {
  elsewhere <- is_elsewhere(people$data)
  if (is.null(formula)) {
    abort(c(
      "{.arg formula} is required: this fit does not contain its formula.",
      i = "Give the same formula as to {.fn dp_synth}.",
      i = if (elsewhere) "For a source that holds donors only, give {.arg target}."
    ), "argument")
  }
  if (is.null(people$index) && !elsewhere) {
    abort(c(
      "{.arg index} is required: this fit does not contain the names of its columns.",
      i = "Give the columns of unit and time as in {.fn dp_synth}."
    ), "argument")
  }
  release <- object$release
  bounds <- cbind(release$bounds$lower, release$bounds$upper)
  people$bounds <- if (inherits(roster, "dp_roster")) {
    longer_bounds(bounds, max(length(roster$periods), nrow(bounds)))
  }
  people[c("na", "roster")] <- list(check_gaps(na, roster), roster)
  parts <- split_covariates(formula)
  check_public_indicator(parts$formula, parts$names, TRUE)
  parts$formula <- outcome_limits(parts$formula, object$limits, names(people$data))$formula
  people$covariates <- known_covariates(release$panel$covariates, parts$names)
  panel_with_gaps(parts$formula, people, plain_request())
}

#' Declarations of a release's covariates
#'
#' A factor's reference level is not in a release and is not needed: values other than the listed
#' levels count as the reference.
#' @param columns (`data.frame` or `NULL`)\cr the release's columns of covariates.
#' @param names (`character` or `NULL`)\cr covariates that the formula names.
#' @return As from [split_bounds()].
#' @section Errors: `dpsc_error_covariate`.
#' @noRd
known_covariates <- function(columns, names) {
  declared <- lapply(names, function(name) {
    at <- match(name, columns$name)
    if (!is.na(at)) {
      return(c(columns$lower[[at]], columns$upper[[at]]))
    }
    lead <- paste0(name, ": ")
    levels <- columns$name[startsWith(as.character(columns$name), lead)]
    if (!length(levels)) abort_other_covariates(columns)
    levels <- substring(levels, nchar(lead) + 1L)
    c(other_level(levels), levels)
  })
  rlang::set_names(declared, names)
}

#' A level that is none of the levels, but of the same type, since the column may contain numbers,
#' flags or dates
#' @noRd
other_level <- function(levels) {
  candidates <- if (all(levels %in% c("FALSE", "TRUE"))) {
    c("FALSE", "TRUE")
  } else if (all(grepl("^[-+]?[0-9]", levels))) {
    setdiff(0:length(levels), text_numbers(levels))
  }
  setdiff(c(candidates, "another", paste(c("not", levels), collapse = " ")), levels)[[1L]]
}

abort_other_covariates <- function(columns) {
  abort(c(
    "{.arg newdata} must contain the fit's covariates, in the same order.",
    x = if (is.null(columns)) {
      "The fit has no covariates."
    } else {
      "The fit's covariates are {.val {columns$name}}."
    }
  ), c("covariate", "monitor"))
}

#' Do a panel's covariates agree with the fit's, and are the target's covariates unchanged?
#' @return The covariates of the mean target, 1 x q, or `NULL`. PUBLIC.
#' @section Errors: `dpsc_error_covariate`, `dpsc_error_monitor`.
#' @noRd
newer_covariates <- function(release, panel) {
  known <- release$panel$covariates
  if (!isTRUE(all.equal(panel$covariates$columns, known))) abort_other_covariates(known)
  if (is.null(known)) {
    return(NULL)
  }
  own <- mean_target(panel$covariates$target, release$statistics$monitor$size)
  if (!same_between(release, own)) {
    abort(c(
      "The target's covariates in {.arg newdata} differ from its covariates in the fit.",
      i = "The release is for the fit's values of the covariates: use the same values."
    ), "monitor")
  }
  unname(own)
}

#' Bounds by period, with the last period's bounds for new periods
#' @noRd
longer_bounds <- function(bounds, periods) {
  bounds[pmin(seq_len(periods), nrow(bounds)), , drop = FALSE]
}

#' Do the new data continue the periods of the fit? Only public facts are compared.
#' @section Errors: `dpsc_error_monitor`.
#' @noRd
check_newer <- function(object, panel, group) {
  known <- object$release$panel
  old <- known$T0 + known$T1
  fail <- function(what, ...) {
    abort(c(what, ...), "monitor")
  }
  if (!is.null(panel$adopted)) fail("{.arg newdata} must have only one adoption date.")
  size <- object$release$statistics$monitor$size
  if (panel$n != known$n || nrow(panel$target) != length(size)) {
    fail(
      "{.arg newdata} must contain the same people as the fit's data.",
      x = paste(
        "It has {panel$n} donor{?s} and {nrow(panel$target)} treated unit{?s}; the fit has",
        "{known$n} and {length(size)}."
      ),
      i = "Keep the rows of people who left; {.code na = \"interpolate\"} fills their gaps."
    )
  }
  periods <- panel$T0 + panel$T1
  if (periods <= old) {
    fail(
      "{.arg newdata} contains no new period.",
      x = "The fit has {old} period{?s}, and {.arg newdata} has {periods} period{?s}."
    )
  }
  same <- identical(period_text(panel$times[seq_len(old)]), period_text(known$times))
  if (!same || panel$T0 != known$T0) {
    fail(
      "{.arg newdata} must begin with exactly the periods that the fit already has.",
      x = if (same) "The treatment begins in another period.",
      i = "The fit's last period is {period_text(known$times[[old]])}."
    )
  }
  skipped <- skipped_period(panel$times, old)
  if (!is.na(skipped)) {
    fail(
      "{.arg newdata} skips a period.",
      x = paste(
        "{period_text(panel$times[[skipped]])} does not follow",
        "{period_text(panel$times[[skipped - 1L]])}."
      ),
      i = "New periods must follow the last period without a gap, so that each is drawn once."
    )
  }
  if (!isTRUE(all.equal(unname(group[1L, seq_len(old)]), unname(object$target[1L, ]),
        tolerance = 1e-8))) {
    fail(
      "The target's past in {.arg newdata} differs from its past in the fit.",
      i = "The release is for the target's values in the fit: use the same values."
    )
  }
  left <- periods_left(object$release)
  if (periods - old > left) {
    abort(c(
      paste(
        "{.arg newdata} has {periods - old} new period{?s}, but {left} announced period{?s}",
        "{?is/are} left."
      ),
      i = "Make a new release for more periods."
    ), c("monitor", "budget"))
  }
}

#' The first new period with a gap before it that is larger than all gaps between known periods, or
#' `NA`
#'
#' Strings and factors have no distance.
#' @param old (`count`)\cr number of known periods.
#' @noRd
skipped_period <- function(times, old) {
  if (is.character(times)) {
    return(NA_integer_)
  }
  steps <- diff(as.numeric(unclass(times)))
  known <- steps[seq_len(old - 1L)]
  new <- seq_along(steps) >= old
  # Months differ in length by up to a tenth.
  far <- which(new & steps > 1.3 * max(known))
  if (length(far)) far[[1L]] + 1L else NA_integer_
}

#' The bounds of a release's periods and of new periods
#' @return A `dpsc_bounds`.
#' @noRd
newer_bounds <- function(release, periods) {
  bounds <- cbind(release$bounds$lower, release$bounds$upper)
  new_bounds(longer_bounds(bounds, periods), periods)
}

#' Donors of all periods, opened once for all new periods, before the first draw
#' @return As from [open_donors()]; the caller closes them. PRIVATE.
#' @section Errors: `dpsc_error_monitor` if only sums are available; the errors of [open_donors()].
#' @noRd
open_newer <- function(release, panel) {
  check_growing_source(release$method, panel$donors)
  public <- list(
    private = TRUE, bounds = newer_bounds(release, panel$T0 + panel$T1), T0 = panel$T0,
    covariates = release$panel$covariates
  )
  mechanism_rows(open_donors(panel$donors, public, FALSE), "donors", panel, public)
}

#' A release with one further period, which is recorded as drawn before the draw
#' @param donors (`any`)\cr from `open_newer()`. PRIVATE.
#' @noRd
grow_release <- function(release, panel, donors, ledger, again) {
  monitor <- release$statistics$monitor
  periods <- release$panel$T0 + release$panel$T1 + 1L
  bounds <- newer_bounds(release, periods)
  base <- growing_base(release)
  q <- NROW(release$panel$covariates)
  donors <- first_periods(donors, periods + q, grid_of(bounds, q, release$panel$T0)$id)
  draw <- take_draw(monitor, length(monitor$periods) + 1L, ledger, again)
  drawn <- draw_period(release, base, after_charge(donors, TRUE), bounds)
  release$statistics$monitor$drawn <- draw$taken
  if (!is.null(release$privacy$charge)) release$privacy$charge$drawn <- draw$hash
  release$statistics$monitor$periods <- c(monitor$periods, list(drawn))
  release$panel$T1 <- release$panel$T1 + 1L
  release$panel$times <- panel$times[seq_len(periods)]
  if (!is.null(panel$gaps)) release$panel$gaps <- panel$gaps
  release$bounds <- bounds[c("lower", "upper")]
  release
}

#' Donors up to a period, and their covariates
#'
#' Rows of a database engine are on the grid of all periods. New periods have the last period's
#' bounds, so the cells of a period are the same as on the grid of the first periods, and the
#' identifier of this grid is used.
#' @param grid (`numeric(2)`)\cr the `id` of the grid of the first periods.
#' @noRd
first_periods <- function(donors, columns, grid) {
  cut <- function(block) {
    if (ncol(block) == columns) return(block)
    out <- block[, seq_len(columns), drop = FALSE]
    if (!is.null(attr(block, "on_grid"))) attr(out, "on_grid") <- grid
    out
  }
  if (is.matrix(donors)) {
    return(cut(donors))
  }
  all <- donors
  donors$reader <- function(i, charged) {
    all$charged <- charged
    cut(read_block(all, i))
  }
  donors
}
