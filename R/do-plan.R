# Plans before any data are read: the questions that a plan answers, and its wording.

#' Plan a release before touching any data
#'
#' A plan gives the expected error for given numbers of donors and periods and a given budget, and
#' states whether there will be an interval. A plan also gives the interval's width, the smallest
#' detectable effect, the power for a given effect, and the number of donors, the budget or the
#' group size that a given error or power requires. A plan uses no protected data. It simulates
#' panels of people who differ as you state, and analyses these panels with the code of
#' [dp_synth()]. The simulation uses fixed random numbers, so a plan is reproducible, and R's
#' generator remains unchanged.
#'
#' Describe the people as precisely as you can:
#' * `pilot` contains PUBLIC rows of other people, from an old survey, another clinic's published
#'   table or a synthetic panel. **Never use any of the donors who are to be protected**, since a
#'   plan reveals its input without noise.
#' * `sd_between` is the standard deviation of people's levels. `sd_within` is the standard
#'   deviation, over periods, of a person's deviations from their own level, apart from common
#'   movements. Give these two values together, and without a `pilot`. Take them from experience,
#'   the literature or another public source.
#' * Without these arguments people are simulated as in [sim_panel()], where outcomes use the whole
#'   width of sensible bounds. Real outcomes rarely use the whole width, so their errors are smaller
#'   than planned.
#'
#' With `protect = "everyone"`, several adoption dates or covariates, whole studies are simulated,
#' released and fitted by the functions of [dp_synth()]. The errors of a protected group grow with
#' the effect on the group, so they are computed for the given `effect`, or for no effect if
#' `effect` is `NULL`. Such plans take some seconds.
#'
#' Power refers to the two-sided 5 % test of the average effect, which rejects if zero is outside
#' the 95 % interval. A release without an interval detects no effect. `detectable` is the smallest
#' effect that is detected with the requested `power`. For a protected group, `detectable` is
#' computed with the errors under this effect.
#'
#' For methods `"output"` and `"objective"` with the tight calibration, errors come from the known
#' variances of the noise and from a table of simulated errors (`data-raw/plan_table.R`). If there
#' are more than 1,000 donors (2,000 with a single protected group), the plan simulates 1,000 (or
#' 2,000) donors, with a larger budget that gives the same noise. Protected groups are then reduced
#' by the factor by which the budget grows. This factor is limited so that the smallest group keeps
#' 100 people, or all its people if there are fewer. For the accuracy of plans see
#' `bench/results/plan.csv` and `plan-studies.csv` in the source package.
#'
#' @param n (`count` or `NULL`)\cr number of donors. `NULL` requests the number needed for `error`,
#'   or for `effect` with `power`.
#' @param T0 (`count`, or several)\cr periods before the treatment; with several adoption dates one
#'   number for each date, in any order. One release serves all dates, see [dp_cohorts].
#' @param T1 (`count`)\cr periods from the treatment on; with several dates, periods from the last
#'   date on.
#' @param epsilon (`number` or `NULL`)\cr privacy loss. `NULL` requests the smallest sufficient
#'   value.
#' @param delta (`number`, in \[0, 1))\cr failure probability.
#' @param method (`character`)\cr the methods to compare, or for `plot()` the methods to draw.
#'   Several dates, protected treated people and covariates require `"gram"`, which is then the
#'   default.
#' @param error (`number` or `NULL`)\cr the required error of a period, in outcome units. With this
#'   argument one of `n`, `epsilon` and `size` must be `NULL`.
#' @param bounds (`numeric(2)`)\cr the public bounds, in outcome units.
#' @param design (`string`)\cr the design of [sim_panel()] for the simulated people, if neither
#'   standard deviations nor a pilot is given.
#' @param sd_between,sd_within (`number`, positive, outcome units, PUBLIC)\cr standard deviation of
#'   people's levels, and standard deviation of a person's outcome about their own level over time.
#' @param shared (`number`, in \[0, 1))\cr share of a person's variance over time that donors help
#'   to predict, since other people follow the same patterns (seasons, trends, shocks that affect
#'   some people more than others). The share is 0 if people vary independently, and near 1 if they
#'   follow trends with different slopes. This argument has an effect only with `sd_between` and
#'   `sd_within`.
#' @param pilot (`matrix` or `data.frame`, people x (T0 + T1), outcome units, PUBLIC)\cr rows of at
#'   least 20 people who are like the donors but need no protection.
#' @param size (`count`, or one for each date, or `NULL`)\cr number of people over whom the target
#'   is averaged, or number of protected treated people. `NULL` requests the number needed (at each
#'   date).
#' @param protect (`string`)\cr the protected people: only the `"donors"`, or `"everyone"`. The
#'   latter includes the treated people, of whom there must be enough.
#' @param effect (`number` or `NULL`, outcome units)\cr an average effect to be detected. If `n`,
#'   `epsilon` and `size` are given, the plan gives the power to detect this effect. If one of these
#'   three arguments is `NULL`, the plan gives its value at which the effect is detected with
#'   `power`.
#' @param power (`number`, above 0.05 and below 1)\cr the power for `detectable`, and the required
#'   power if a quantity is `NULL`.
#' @param covariates (`count`, at most 50)\cr number of covariates in the fit; a factor counts as
#'   its number of levels minus one. Covariates are simulated as uniform over their bounds.
#' @param explained (`number`, in \[0, 1))\cr the R-squared of a regression in data of other people.
#'   The outcome of this regression is a person's change from before to after the first adoption,
#'   and the regressors are the covariates. Covariates that explain only people's levels do not
#'   help, since the past already reveals these levels. If `explained` is 0, covariates only reduce
#'   accuracy.
#' @param x,object (`dp_plan`)\cr a plan.
#' @param type (`string`)\cr the figure. `"error"` shows the error of a period against donors and
#'   epsilon, for the recommended method and for methods with up to ten times its error. `"funnel"`
#'   shows the 95 % interval of the average effect around zero, and the smallest detectable effect,
#'   for the recommended method.
#' @param ... unused.
#' @return A list of class `dp_plan`, PUBLIC if the pilot is public:
#'   * the arguments, except `method`; `people` contains the facts from `sd_between`, `sd_within`,
#'     `shared` and `pilot`.
#'   * `interval`: a list of `calibrated` (whether there will be a 95 % interval by `"gram"`; `NA`
#'     if `method` does not contain `"gram"`), and of `n` and `epsilon`, the smallest number of
#'     donors and the smallest epsilon for which there is an interval if the other argument is
#'     unchanged.
#'   * `facts`: the quantities that determine the errors, in scaled units (bounds -1 and 1).
#'   * `without`, with covariates only: `error`, `average` and `half_width` of a study of the same
#'     people without covariates.
#'   * `table`: see below.
#'
#'   `table` is a data frame with one row per method and errors in outcome units. With several dates
#'   the first row is for all dates together, and each other row is for one date. The columns are:
#'   * `method`; `T0`, the date, or `NA` for all dates; `size`, the number of people; `n`,
#'     `epsilon`. A requested quantity is `NA` for a method that cannot reach the goal.
#'   * `error`: root mean squared error of one period's counterfactual, compared with the outcome
#'     that the target (the mean of `size` people) would have had. It is also the error of the
#'     estimated effect in this period. In the row for all dates this column is the error of the
#'     averages by time since the adoption.
#'   * `privacy`: the part of the error from noise; `floor`: the error without privacy.
#'   * `average`: the error of the average effect over the treated periods.
#'   * `half_width`: the expected (median) half-width of the 95 % interval of the average effect, or
#'     `NA` if there will be no interval; `period_width`: the expected half-width for one period.
#'     `given`: the share of releases that give an interval. `coverage`: the share of simulated
#'     errors of the average within the intervals of simulated releases.
#'   * `power`: the power to detect `effect`, or `NA` if `effect` is not given; `detectable`: the
#'     smallest effect that is detected with the requested power, or `Inf` if there is no such
#'     effect. Both columns are `NA` without a test, and if `coverage` is below .9 by two standard
#'     errors: a few people change far more than the others, so that intervals are too short.
#'   * `person`: the `error` for a target of one person; `NA` if whole studies are simulated.
#'   * `noise`: standard deviation of the noise on one released weight or moment, in scaled units.
#'   * `penalty`: the ridge penalty; `NA` if the fit averages over penalties.
#'   * `recommended`: whether this method is recommended; never if intervals are too short.
#' @section Errors: `dpsc_error_bounds` and `dpsc_error_argument`. The latter is also raised if a
#'   group is too small to be protected at this budget (the message gives the required size and
#'   budget), if `error` and `effect` are both goals, if an argument is `NULL` although there is no
#'   goal, and if `error` is given although no argument is `NULL`.
#' @examples
#' # Blood pressures: people's levels differ by 11 mmHg, months by 4.
#' dp_plan(
#'   n = 1000, T0 = 18, T1 = 6, epsilon = 1, bounds = c(80, 200), sd_between = 11, sd_within = 4,
#'   method = "gram"
#' )
#' # The programme's group has 60 people; a public panel of other people is available.
#' pilot <- 140 + 60 * sim_panel(n = 200, T0 = 18, T1 = 6)$donors
#' dp_plan(
#'   n = 1000, T0 = 18, T1 = 6, epsilon = 1, bounds = c(80, 200), pilot = pilot, size = 60,
#'   method = "gram"
#' )
#' # How large must the group be for an effect of 2 mmHg to be detected with a power of 80 %?
#' dp_plan(
#'   n = 1000, T0 = 18, T1 = 6, epsilon = 1, bounds = c(80, 200), sd_between = 11, sd_within = 4,
#'   size = NULL, effect = 2, method = "gram"
#' )
#' \donttest{
#' # Two waves of patients who are protected, too.
#' dp_plan(
#'   n = 3000, T0 = c(12, 15), T1 = 6, epsilon = 1, bounds = c(80, 200), sd_between = 11,
#'   sd_within = 4, size = c(300, 200), protect = "everyone"
#' )
#' }
#' @export
dp_plan <- function(n = NULL, T0, T1 = 1, epsilon = NULL, delta = 1e-6,
                    method = c("gram", "output", "objective"), error = NULL, bounds = c(-1, 1),
                    design = c("factor", "linear"), sd_between = NULL, sd_within = NULL,
                    shared = 0.4, pilot = NULL, size = 1, protect = c("donors", "everyone"),
                    effect = NULL, power = 0.8, covariates = 0,
                    explained = 0, ...) door("dp_plan", {
  check_no_dots(...)
  check_given(missing(T0), "T0", "the number of periods before the treatment")
  scale <- new_bounds(bounds, 1)
  protect <- check_choice(protect, c("donors", "everyone"))
  delta <- check_number(delta, 0, 1, open = "max")
  question <- plan_question(n, epsilon, size, error, effect, power, scale)
  groups <- plan_groups(T0, T1, size, protect)
  known <- plan_covariates(covariates, explained)
  design <- check_choice(design, c("factor", "linear"))
  shared <- check_number(shared, 0, 1, open = "max")
  spreads <- list(between = sd_between, within = sd_within, shared = shared)
  people <- plan_people(design, spreads, pilot, scale, groups$T0 + groups$T1)
  facts <- plan_facts_of(groups, delta, people, protect, known, question)
  method <- plan_methods_asked(if (missing(method)) NULL else method, facts)
  table <- plan_table_rows(method, question, facts, scale$unit)
  structure(c(
    list(table = table, interval = plan_interval(table, facts)),
    list(without = without_covariates(table, facts, scale$unit)), list(
      T0 = study_dates(facts), T1 = T1, delta = delta, people = people, size = facts$size,
      n = question$n, epsilon = question$epsilon, error = error, bounds = bounds,
      design = if (people$kind %in% c("factor", "linear")) people$kind, protect = protect,
      effect = effect, power = question$power, covariates = known$count,
      explained = known$explained, facts = facts
    )
  ), class = "dp_plan")
})

#' The checked dates and groups of a plan
#' @return A list: `T0`, the number of periods before the first adoption; `T1`, the number of
#'   periods from the first adoption on; `dates`, in order, or `NULL` for a single date; `size`, one
#'   number per date, or `NULL` if the size is the unknown quantity.
#' @noRd
plan_groups <- function(T0, T1, size, protect) {
  T1 <- check_count(T1, 1)
  fits <- is.numeric(T0) && length(T0) > 0L && all(is.finite(T0)) && all(T0 >= 2) &&
    all(T0 == round(T0)) && !anyDuplicated(T0)
  if (!fits) {
    abort(c(
      "{.arg T0} must be a whole number, at least 2, or several different such numbers.",
      x = "It is {describe_value(T0)}.",
      i = "With several adoption dates, give the number of periods before each date."
    ), "argument")
  }
  size <- if (!is.null(size)) check_plan_size(size, length(T0), protect)
  order <- order(T0)
  list(
    T0 = min(T0), T1 = max(T0) + T1 - min(T0), dates = if (length(T0) > 1L) T0[order],
    size = size[order]
  )
}

#' @noRd
check_plan_size <- function(size, dates, protect) {
  size <- check_size(size, dates)
  if (protect == "everyone" && any(size < 2)) {
    abort(c(
      "{.code protect = \"everyone\"} needs a group of treated people: give its {.arg size}.",
      x = "{.arg size} is {describe_value(size)}.",
      i = "An estimate that protects a single person reveals nothing about that person."
    ), "argument")
  }
  size
}

#' @return A list: `count`, the number of covariates, and `explained`, see [dp_plan()].
#' @noRd
plan_covariates <- function(covariates, explained) {
  count <- check_count(covariates, 0, 50)
  explained <- check_number(explained, 0, 1, open = "max")
  if (explained > 0 && count == 0) {
    abort(c(
      "{.arg explained} is above 0, but {.arg covariates} is 0.",
      i = paste(
        "Give the number of covariates (a factor counts as its number of levels less one), or",
        "leave out {.arg explained}."
      )
    ), "argument")
  }
  list(count = count, explained = explained)
}

#' The facts on which a plan's errors depend besides donors and budget, in scaled units
#' @return A list: `T0`, `T1`, `dates`, `size` (see [plan_groups()]), `delta`, `people`, `protect`,
#'   `covariates` (count), `explained`, `effect` (for protected people, whose errors depend on it;
#'   else 0), `studies` (the number of simulated studies, if whole studies are simulated, see
#'   [is_study()]).
#' @noRd
plan_facts_of <- function(groups, delta, people, protect, known, question) {
  effect <- if (protect == "everyone") question$effect %||% 0 else 0
  c(groups[c("T0", "T1")], list(dates = groups$dates), list(
    size = groups$size, delta = delta, people = people, protect = protect,
    covariates = known$count, explained = known$explained, effect = effect, studies = plan_studies
  ))
}

#' The methods to compare
#' @param method (`character` or `NULL`)\cr `NULL`: all methods that support the request.
#' @noRd
plan_methods_asked <- function(method, facts) {
  all <- names(plan_methods())
  if (is.null(method)) {
    return(if (is_study(facts)) "gram" else all)
  }
  method <- vapply(method, check_choice, "", all, arg = "method", USE.NAMES = FALSE)
  if (is_study(facts) && !identical(unique(method), "gram")) {
    abort(c(
      paste(
        "Protected treated people, several adoption dates and covariates need",
        "{.code method = \"gram\"}."
      ),
      x = "{.arg method} is {.val {method}}."
    ), "argument")
  }
  unique(method)
}

plan_table_rows <- function(method, question, facts, unit) {
  rows <- lapply(method, function(method) {
    at <- solve_question(method, question, facts)
    plan_rows(method, at, question, facts, unit)
  })
  table <- do.call(rbind, rows)
  # No other method has intervals, so none takes the place of one whose intervals are too short.
  table$recommended <- recommend(table, question$unknown) & !short_methods(table)
  table[names(table) != "short"]
}

#' Rows of the methods whose interval of the average is too short
#' @noRd
short_methods <- function(table) {
  first <- table[!duplicated(table$method), ]
  table$method %in% first$method[first$short]
}

#' Flags of the rows of the methods with the best answer
#' @noRd
recommend <- function(table, unknown) {
  first <- table[!duplicated(table$method), ]
  score <- first[[unknown %||% "error"]]
  best <- first$method[!is.na(score) & score == suppressWarnings(min(score, na.rm = TRUE))]
  table$method %in% best
}

#' A method's results at its answer: one row, or one row for all dates together and one row per date
#' @param at (`list`)\cr `n`, `epsilon`, `size`; one may be `NA`, if no value reaches the goal.
#' @noRd
plan_rows <- function(method, at, question, facts, unit) {
  known <- !anyNA(unlist(at))
  facts$size <- rep_len(at$size, length(study_dates(facts)))
  rows <- if (known) plan_errors(method, at$n, at$epsilon, facts) else unknown_errors(facts)
  found <- plan_power(rows, method, at, question, facts)
  floor <- pmin(rows$floor, rows$error, na.rm = TRUE)
  dates <- study_dates(facts)
  together <- length(dates) > 1L
  frame_of(
    method = method, T0 = c(if (together) NA, dates),
    size = c(if (together) sum(facts$size), facts$size), n = at$n, epsilon = at$epsilon,
    error = rows$error * unit, privacy = sqrt(rows$error^2 - floor^2) * unit, floor = floor * unit,
    average = rows$average * unit, half_width = rows$half_width * unit,
    period_width = rows$period_width * unit, given = rows$given, coverage = rows$coverage,
    power = found$power, detectable = found$detectable * unit,
    person = plan_person(method, at, rows, facts, known) * unit,
    noise = if (known) plan_methods()[[method]]$noise(at$n, at$epsilon, facts) else NA_real_,
    penalty = plan_methods()[[method]]$penalty(facts), short = rows$short %in% TRUE
  )
}

#' The result without any n or epsilon that reaches the goal, with the error without privacy
#' @noRd
unknown_errors <- function(facts) {
  rows <- length(facts$size) + (length(facts$size) > 1L)
  plain <- !is_study(facts) && !anyNA(facts$size)
  data.frame(
    error = rep(NA_real_, rows), floor = if (plain) plan_scene(facts)$floor else NA_real_,
    average = NA_real_, half_width = NA_real_, period_width = NA_real_, given = NA_real_,
    coverage = NA_real_, short = NA
  )
}

#' The error in one period for a target of one person; `NA` without a simulation
#' @noRd
plan_person <- function(method, at, rows, facts, known) {
  if (is_study(facts) || !known) {
    return(NA_real_)
  }
  if (facts$size == 1) {
    return(rows$error)
  }
  plan_errors(method, at$n, at$epsilon, utils::modifyList(facts, list(size = 1)))$error
}

#' Will method gram return an interval, and otherwise, which n or epsilon would be enough?
#' @return A list: `calibrated` (flag or `NA`), `n`, `epsilon` (`NA` if no value is enough).
#' @noRd
plan_interval <- function(table, facts) {
  rows <- table[table$method == "gram", ]
  row <- rows[1L, ]
  if (is.na(row$method) || is.na(row$n) || is.na(row$epsilon) || is.na(row$size)) {
    return(list(calibrated = NA, n = NA_real_, epsilon = NA_real_))
  }
  facts$size <- rows$size[!is.na(rows$T0)]
  plan_of <- if (is_study(facts)) study_plan else gram_plan_of
  works <- function(n, epsilon) isTRUE(plan_of(n, epsilon, facts)$calibrated)
  list(
    calibrated = works(row$n, row$epsilon),
    n = ceiling(first_that(function(x) works(ceiling(x), row$epsilon), 2, 1e9)),
    epsilon = signif_up(first_that(function(x) works(row$n, x), 1e-6, 1e6))
  )
}

#' The results of a study of the same people without covariates
#' @return A list in outcome units, or `NULL` without covariates.
#' @noRd
without_covariates <- function(table, facts, unit) {
  if (facts$covariates == 0 || anyNA(table[1L, c("n", "epsilon", "size")])) {
    return(NULL)
  }
  facts$size <- table$size[!is.na(table$T0)]
  facts$known <- FALSE
  row <- plan_errors("gram", table$n[[1L]], table$epsilon[[1L]], facts)[1L, ]
  as.list(row[c("error", "average", "half_width")] * unit)
}
