# Planning before any data are touched: the questions a plan answers, and its words.

#' Plan a release before touching any data
#'
#' The expected error for a number of donors, of periods and a budget; whether there will be an
#' interval, and its width; the number of donors, or the epsilon, needed for a given error. It sees
#' no protected data: it simulates panels of people with the given spreads, and releases and
#' estimates them as [dp_synth()] would, with the same code. Made-up people have their own fixed
#' random numbers, so a plan answers the same question always alike and leaves R's generator as it
#' is.
#'
#' Describe the people as well as you can:
#' * `pilot`, rows of other people, which must be PUBLIC: an old survey, another clinic's published
#'   table, a synthetic panel. **Never the donors who shall be protected, nor a part of them**: a
#'   plan reveals its input without noise.
#' * `sd_between` and `sd_within`: the standard deviation of people's levels, and of a person's
#'   deviations from the own level from period to period, apart from movements common to all. From
#'   experience, from the literature, or from another public source.
#' * Neither: people like those of [sim_panel()], whose outcomes fill the bounds as with sensibly
#'   chosen bounds. Real people rarely do, and fare better.
#'
#' Errors of methods `"output"` and `"objective"` come from the known variances of their noise and
#' from a table of simulated ones (`data-raw/plan_table.R`), with the tight calibration. More than
#' 1,000 donors are simulated with 1,000 and a larger budget that gives the same noise.
#'
#' @param n (`count` or `NULL`)\cr number of donors. `NULL`: how many are needed for `error`.
#' @param T0,T1 (`count`)\cr periods before the treatment, and from the treatment on.
#' @param epsilon (`number` or `NULL`)\cr privacy loss. `NULL`: the value needed for `error`.
#' @param delta (`number`, in \[0, 1))\cr failure probability.
#' @param method (`character`)\cr methods to compare.
#' @param error (`number` or `NULL`)\cr error of a period that is wanted, outcome units; then one of
#'   `n` and `epsilon` is `NULL`.
#' @param bounds (`numeric(2)`)\cr the public bounds; errors are in their units.
#' @param design (`string`)\cr people like which design of [sim_panel()], where neither spreads nor
#'   a pilot are given.
#' @param sd_between,sd_within (`number`, positive, outcome units, PUBLIC)\cr standard deviations of
#'   people's levels, and of a person about the own level over time.
#' @param shared (`number`, in \[0, 1))\cr share of a person's variance over time that follows
#'   patterns which other people have as well (seasons, trends, shocks that hit some more than
#'   others), so that donors help to foretell it. 0 where people vary by themselves, near 1 where
#'   they follow trends of their own steepness; with `sd_within` only.
#' @param pilot (`matrix` or `data.frame`, people x (T0 + T1), outcome units, PUBLIC)\cr rows of
#'   people who are like the donors but need no protection; at least 20.
#' @param size (`count`)\cr number of people whose mean the target is.
#' @param protect (`string`)\cr whom the release protects. For `"everyone"` there is no plan: the
#'   error states whether a group of that `size` is large enough for the budget.
#' @param x,object (`dp_plan`)\cr a plan.
#' @param type (`string`)\cr of the plot: `"error"`, against donors and epsilon; or `"funnel"`: the
#'   range within which 95 % of the effects of one period lie that are none, for the recommended
#'   method, and how much of it more donors or more budget would take away.
#' @param ... unused.
#' @return A list of class `dp_plan`: the arguments, `interval` (`calibrated`: will there be a 95 %
#'   interval; and the least `n`, at this epsilon, and the least `epsilon`, at this n, from which
#'   there is one), and `table`, a data frame with one row a method, errors in outcome units:
#'   * `method`, `n`, `epsilon`: `NA` for a method that cannot reach `error`.
#'   * `error`: root mean squared error of one period's counterfactual, against the outcome that the
#'     target (the mean of `size` people) would have had. This is the distance of an estimated
#'     effect from the true one.
#'   * `privacy`: its part from noise; `floor`: the error without privacy.
#'   * `average`: the error of the average effect over the T1 periods.
#'   * `half_width`: of the 95 % interval of the average effect, the median to expect; `NA` where
#'     there will be none. `given`: the share of releases that give an interval, as some find that
#'     they cannot.
#'   * `person`: as `error`, were the target one person.
#'   * `noise`: standard deviation of the noise on one released weight or moment, scaled units.
#'   * `penalty`: `NA` where the fit chooses it from the release.
#'   * `recommended`.
#'
#'   PUBLIC, if the pilot is.
#' @section Errors: `dpsc_error_argument`.
#' @examples
#' # Blood pressures: people's levels differ by 11 mmHg, months by 4.
#' dp_plan(
#'   n = 1000, T0 = 18, T1 = 6, epsilon = 1, bounds = c(80, 200), sd_between = 11, sd_within = 4,
#'   method = "gram"
#' )
#' # The programme's group has 60 people; and what if a public panel of other people is at hand?
#' pilot <- 140 + 60 * sim_panel(n = 200, T0 = 18, T1 = 6)$donors
#' dp_plan(
#'   n = 1000, T0 = 18, T1 = 6, epsilon = 1, bounds = c(80, 200), pilot = pilot, size = 60,
#'   method = "gram"
#' )
#' @export
dp_plan <- function(n = NULL, T0, T1 = 1, epsilon = NULL, delta = 1e-6,
                    method = c("gram", "output", "objective"), error = NULL, bounds = c(-1, 1),
                    design = c("factor", "linear"), sd_between = NULL, sd_within = NULL,
                    shared = 0.4, pilot = NULL, size = 1, protect = c("donors",
                    "everyone")) door("dp_plan", {
  check_given(missing(T0), "T0", "the number of periods before the treatment")
  protect <- check_choice(protect, c("donors", "everyone"))
  check_plan_dates(T0)
  T0 <- check_count(T0, 2)
  T1 <- check_count(T1, 1)
  delta <- check_number(delta, 0, 1, open = "max")
  size <- check_count(size, 1)
  method <- vapply(method, check_choice, "", c("gram", "output", "objective"),
    arg = "method", USE.NAMES = FALSE
  )
  scale <- new_bounds(bounds, 1)
  n <- if (!is.null(n)) check_count(n, 2)
  epsilon <- if (!is.null(epsilon)) check_number(epsilon, 0, open = "min")
  if (!is.null(epsilon)) epsilon <- check_number(epsilon, 1e-9, 1e9)
  error <- if (!is.null(error)) check_number(error, 0, open = "min")
  unknown <- is.null(n) + is.null(epsilon)
  if (unknown != !is.null(error)) {
    abort(c(
      "Give {.arg n} and {.arg epsilon}, or {.arg error} and one of the two.",
      i = "The plan computes the missing one."
    ), "argument")
  }
  design <- check_choice(design, c("factor", "linear"))
  shared <- check_number(shared, 0, 1, open = "max")
  spreads <- list(between = sd_between, within = sd_within, shared = shared)
  people <- plan_people(design, spreads, pilot, scale, T0 + T1)
  facts <- list(T0 = T0, T1 = T1, delta = delta, people = people, size = size)
  if (protect == "everyone") refuse_protected_plan(n, epsilon, facts)
  table <- plan_table_rows(method, n, epsilon, error, facts, scale$unit)
  structure(c(
    list(table = table, interval = plan_interval(table, facts)), facts, list(
      n = n, epsilon = epsilon, error = error, bounds = bounds,
      design = if (people$kind %in% c("factor", "linear")) people$kind
    )
  ), class = "dp_plan")
})

#' A plan is for one date: the others cost nothing more
#' @noRd
check_plan_dates <- function(T0) {
  if (is.numeric(T0) && length(T0) > 1L) {
    abort(c(
      "A plan is for one adoption date.",
      i = paste(
        "One release serves all dates. Plan for the first, {.code T0 = {min(T0)}}, with the",
        "periods from it on as {.arg T1}, and for later ones with their own {.arg T0}."
      )
    ), "argument")
  }
}

#' A protected group's own noise is not planned for; whether it is large enough is known
#' @noRd
refuse_protected_plan <- function(n, epsilon, facts) {
  known <- !is.null(n) && !is.null(epsilon) && facts$size > 1
  share <- 1 - control_share
  plan <- if (known) gram_plan_of(n, share_of_epsilon(epsilon, facts$delta, share), facts)
  serves <- if (!is.null(plan)) {
    group <- treated_facts(
      list(n = n, T0 = facts$T0, T1 = facts$T1, all_epsilon = epsilon, delta = facts$delta),
      plan[c("pre", "demean")], facts$size
    )
    made <- tryCatch(treated_plan_cpp(group), `dpsc::budget_too_small` = function(e) NULL)
    !is.null(made) && made$noise <= largest_group_noise
  }
  abort(c(
    "A plan is for a public target, {.code protect = \"donors\"}.",
    x = "It does not include the noise on a protected group's own mean.",
    i = if (!is.null(serves)) {
      paste(
        "A group of {count_words(facts$size)} people is",
        if (serves) "large enough" else "too small", "to be protected at this budget."
      )
    },
    i = paste(
      "Plan for {.code protect = \"donors\"}. In simulations with 200 people or more protected,",
      "the average erred up to 1.7 times as much where the effect was within 5 % of the bounds'",
      "width, and 5 times as much where it was 25 % of it."
    )
  ), "argument")
}

plan_table_rows <- function(method, n, epsilon, error, facts, unit) {
  rows <- lapply(method, function(method) {
    at <- if (is.null(error)) {
      c(n, epsilon)
    } else {
      solve_plan(method, n, epsilon, error / unit, facts)
    }
    plan_row(method, at[[1L]], at[[2L]], facts, unit)
  })
  table <- do.call(rbind, rows)
  table$recommended <- recommend(table, is.null(n), is.null(epsilon))
  table
}

recommend <- function(table, asks_n, asks_epsilon) {
  score <- if (asks_n) table$n else if (asks_epsilon) table$epsilon else table$error
  !is.na(score) & score == suppressWarnings(min(score, na.rm = TRUE))
}

plan_row <- function(method, n, epsilon, facts, unit) {
  of <- plan_methods()[[method]]
  known <- !is.na(n) && !is.na(epsilon)
  at <- if (known) {
    plan_errors(method, n, epsilon, facts)
  } else {
    # The error that remains at any n and epsilon.
    list(
      error = NA_real_, floor = plan_scene(facts)$floor, average = NA_real_, half_width = NA_real_,
      given = NA_real_
    )
  }
  person <- if (known && facts$size > 1) {
    plan_errors(method, n, epsilon, utils::modifyList(facts, list(size = 1)))$error
  } else {
    at$error
  }
  floor <- min(at$floor, at$error, na.rm = TRUE)
  data.frame(
    method = method, n = n, epsilon = epsilon, error = at$error * unit,
    privacy = sqrt(at$error^2 - floor^2) * unit, floor = floor * unit, average = at$average * unit,
    half_width = at$half_width * unit, given = at$given, person = person * unit,
    noise = if (known) of$noise(n, epsilon, facts) else NA_real_, penalty = of$penalty(facts)
  )
}

#' Will method gram give an interval, and if not: what would?
#' @return A list: `calibrated` (flag or `NA`), `n`, `epsilon` (`NA` where nothing would).
#' @noRd
plan_interval <- function(table, facts) {
  row <- table[table$method == "gram", ]
  if (!nrow(row) || is.na(row$n) || is.na(row$epsilon)) {
    return(list(calibrated = NA, n = NA_real_, epsilon = NA_real_))
  }
  works <- function(n, epsilon) isTRUE(gram_plan_of(n, epsilon, facts)$calibrated)
  list(
    calibrated = works(row$n, row$epsilon),
    n = ceiling(first_that(function(x) works(ceiling(x), row$epsilon), 2, 1e9)),
    epsilon = signif_up(first_that(function(x) works(row$n, x), 1e-6, 1e6))
  )
}

# Words --------------------------------------------------------------------------------------------

#' @rdname dp_plan
#' @export
print.dp_plan <- function(x, ...) {
  known <- c(
    if (!is.null(x$n)) count_of(x$n, "donor"), paste0(x$T0, " + ", x$T1, " periods"),
    if (!is.null(x$epsilon)) paste("epsilon =", format(x$epsilon)),
    paste("delta =", format(x$delta)),
    if (!is.null(x$error)) paste("error wanted:", format(x$error))
  )
  cat("Plan (no data were looked at", if (x$people$kind == "pilot") " but the pilot", "): ",
    paste(known, collapse = ", "), "\n",
    sep = ""
  )
  cat(paste0("  ", strwrap(plan_assumption(x), 95), "\n"), sep = "")
  cat("  ", plan_target_words(x), "\n\n", sep = "")
  print(plan_shown(x), row.names = FALSE, right = FALSE)
  unreachable <- any(!x$table$recommended & is.na(x$table$error))
  cat("\n  * recommended", if (unreachable) {
    "; -: cannot reach that error with 10 million donors or epsilon = 1000"
  }, "\n", sep = "")
  for (line in plan_advice(x)) cat(paste0("  ", strwrap(line, 95), "\n"), sep = "")
  invisible(x)
}

#' A plan's assumptions about people
#' @noRd
plan_assumption <- function(x) {
  people <- x$people
  range <- paste0("bounds ", format(x$bounds[[1L]]), " to ", format(x$bounds[[2L]]))
  switch(people$kind,
    pilot = paste0(
      "Assumed: donors and target are like the ", nrow(people$rows), " people of the pilot; ",
      range, "."
    ),
    spreads = paste0(
      "Assumed: people's levels differ by ", format(people$between), " (standard deviation), a ",
      "person varies around the own level by ", format(people$within), ", ",
      round(100 * people$shared), " % of its variance in patterns that other people have as well; ",
      range, "."
    ),
    paste0(
      "Assumed: people like sim_panel(\"", people$kind, "\"), ", range,
      ". They fill the bounds more than most real people do: give sd_between and sd_within, or a ",
      "public pilot."
    )
  )
}

plan_target_words <- function(x) {
  target <- if (x$size > 1) paste("the mean of", x$size, "people") else "one person"
  paste0("Errors (root mean square) of the effect on ", target, ", in outcome units")
}

plan_shown <- function(x) {
  table <- x$table
  shown <- data.frame(
    method = paste0(table$method, ifelse(table$recommended, " *", "")),
    donors = formatC(table$n, format = "d", big.mark = ","), epsilon = format_value(table$epsilon),
    `error, one period` = format_value(table$error), `of which noise` = format_value(table$privacy),
    `error without privacy` = format_value(table$floor), average = format_value(table$average),
    check.names = FALSE
  )
  if (x$size > 1) shown$`one person` <- format_value(table$person)
  unknown <- is.na(table$error)
  errors <- c("error, one period", "of which noise", "average", if (x$size > 1) "one person")
  shown[unknown, errors] <- "-"
  shown$donors[is.na(table$n)] <- "-"
  shown$epsilon[is.na(table$epsilon)] <- "-"
  shown
}

#' Availability and width of an interval, with advice
#' @noRd
plan_advice <- function(x) {
  row <- x$table[x$table$method == "gram", ]
  if (!nrow(row) || is.na(x$interval$calibrated)) {
    return(character())
  }
  half <- diff(x$bounds) / 2
  if (!x$interval$calibrated) {
    instead <- c(
      if (!is.na(x$interval$n)) paste(count_of(x$interval$n, "donor"), "at this epsilon"),
      if (!is.na(x$interval$epsilon)) paste("epsilon =", format(x$interval$epsilon), "here")
    )
    return(paste0(
      "No 95 % interval: ", count_of(row$n, "donor"), " at epsilon = ", format(row$epsilon),
      " are too few to calibrate prediction errors. An interval needs ",
      paste(instead, collapse = ", or "), "."
    ))
  }
  if (is.na(row$half_width)) {
    return("There will be no 95 % interval for a mean of so many people.")
  }
  c(
    paste0(
      "95 % interval of the average effect: about +- ", format_value(row$half_width),
      ". An effect smaller than that would mostly be missed."
    ),
    if (row$given < 0.95) {
      paste0(
        "In about ", round(100 * (1 - row$given)), " % of releases there is no interval: the ",
        "donors' own errors are too small relative to their noise for so many people."
      )
    },
    if (row$half_width > 0.5 * half) {
      paste0(
        "That is the size of the bounds: the release would hardly add to them. Take ",
        "more donors, more budget, or narrower bounds that are still certain."
      )
    }
  )
}
