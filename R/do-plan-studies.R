# Whole studies of simulated people, released and fitted by the functions of dp_synth(). Plans use
# them for designs that the core's simulation does not cover: protected groups, several adoption
# dates, covariates.

# Intervals are computed for this number of a plan's first studies.
study_intervals <- 12L
# The number of studies if several protected groups make each study expensive.
few_studies <- c(24L, 8L)
study_seed <- 2024L
# The largest number of simulated donors; a larger budget represents more donors.
study_donors <- 1000
# The smallest number of simulated people for a protected group; a larger budget represents the
# rest. A group is never represented by more people than it contains.
study_group <- c(100, 5000)

#' Does a plan need simulations of whole studies?
#' @param facts (`list`)\cr from [plan_facts_of()].
#' @noRd
is_study <- function(facts) {
  facts$protect == "everyone" || !is.null(facts$dates) || facts$covariates > 0
}

#' The plan of a release for n donors and epsilon, or `NULL` if the release would be refused
#' @noRd
study_plan <- function(n, epsilon, facts) {
  public <- c(
    plan_facts("gram", n, epsilon, utils::modifyList(facts, list(size = 1))),
    list(size = min(facts$size), dates = facts$dates),
    if (facts$protect == "everyone") list(treated = facts$size),
    if (facts$covariates > 0) list(covariates = covariate_columns(facts$covariates))
  )
  plan <- tryCatch(release_mechanism(public)$plan(public), dpsc_error_argument = function(e) NULL)
  if (!is.null(plan)) list(calibrated = plan$calibrated, moment_noise = plan$noise)
}

covariate_columns <- function(k) {
  data.frame(name = paste0("x", seq_len(k)), lower = -1, upper = 1)
}

#' Errors of a study with n donors and epsilon
#' @return As [plan_errors()], for all dates together, and then for each of several dates.
#' @noRd
study_errors <- function(n, epsilon, facts) {
  remembered(list("study", n, epsilon, facts), {
    made <- study_sizes(n, epsilon, facts)
    dear <- facts$protect == "everyone" && !is.null(facts$dates)
    studies <- if (dear) few_studies[[1L + made$search]] else facts$studies
    intervals <- min(studies, study_intervals)
    with_generator(study_seed, {
      # The result must not depend on the user's choice of generator.
      set.seed(study_seed, "Mersenne-Twister", "Inversion", "Rejection")
      runs <- lapply(seq_len(studies), function(r) one_study(made, r, r <= intervals))
    })
    study_rows(runs, made, facts)
  })
}

#' The simulated design for n donors, with fewer donors and a larger budget that gives the same
#' noise
#'
#' Protected groups are reduced by the same factor, as long as enough people remain.
#' @return A list: `n`, `epsilon`, `size` (by date), `facts`, `search` (is the design a step of a
#'   search?).
#' @noRd
study_sizes <- function(n, epsilon, facts) {
  m <- facts$size
  # A protected group is compared with many donors.
  most <- study_donors * (if (facts$protect == "everyone" && is.null(facts$dates)) 2 else 1)
  people <- min(floor(n), most)
  share <- people / n
  if (facts$protect == "everyone") {
    share <- max(share, min(1, study_group[[1L]] / min(m)))
    m <- pmax(1, round(m * share))
  }
  list(
    n = people, epsilon = same_noise(epsilon, 1 / share, facts$delta),
    size = pmin(m, study_group[[2L]]), facts = facts, search = facts$studies < plan_studies
  )
}

#' One study: the errors of its effects with a release, and with the same estimator without privacy
#' @param intervals (`flag`)\cr whether to compute intervals, which takes time.
#' @return A list: `error`, `raw`, from [study_measures()]; `luck`, from [study_luck()];
#'   `width`, a matrix with columns `average` and `period`, or `NULL`.
#' @noRd
one_study <- function(made, seed, intervals) {
  people <- study_people(made, seed)
  fit <- study_fit(people, made, made$epsilon)
  error <- study_measures(fit, people, made)
  # A step of a search needs only this error, unless each simulated person represents several
  # people.
  raw <- if (bare_step(made)) {
    error
  } else {
    study_measures(study_fit(people, made, Inf), people, made)
  }
  list(
    error = error, raw = raw, luck = study_luck(people, made),
    width = if (intervals) study_widths(fit, made)
  )
}

#' Is this a step of a search in which no simulated person represents several people?
#' @noRd
bare_step <- function(made) made$search && identical(made$size, made$facts$size)

#' Simulated donors and treated people, scaled units
#' @return A list: `donors` (n x T); `treated` (m x T) with the effect; `without`, the treated
#'   people without the effect; `cohort`, the position of each treated person's date; `between`, the
#'   covariates of all people, or `NULL`.
#' @noRd
study_people <- function(made, seed) {
  facts <- made$facts
  k <- sum(made$size)
  group <- all(made$size > 1)
  drawn <- simulate_people_cpp(
    facts$people, made$n + if (group) k else 0, facts$T0, facts$T1, if (group) 0L else k,
    if (group) 2L else 1L, study_seed + seed
  )
  rows <- rbind(drawn$donors, drawn$targets)
  between <- study_covariates(nrow(rows), facts)
  rows <- foretold(rows, between, facts)
  donors <- seq_len(made$n)
  cohort <- rep(seq_along(made$size), made$size)
  without <- rows[-donors, , drop = FALSE]
  after <- outer(study_dates(facts)[cohort], seq_len(ncol(rows)), `<`)
  list(
    donors = rows[donors, , drop = FALSE], without = without, cohort = cohort,
    treated = pmin(pmax(without + facts$effect * after, -1), 1), between = between
  )
}

study_dates <- function(facts) facts$dates %||% facts$T0

#' Covariates with values over the whole range of their bounds, or `NULL`
#' @noRd
study_covariates <- function(people, facts) {
  if (facts$covariates > 0) {
    matrix(stats::runif(people * facts$covariates, -1, 1), people)
  }
}

#' Rows whose change from before to after the first adoption is partly predicted by covariates
#'
#' The variance of the change between people remains the same, and the covariates explain a share of
#' it.
#' @noRd
foretold <- function(rows, between, facts) {
  if (is.null(between) || facts$explained == 0) {
    return(rows)
  }
  pre <- seq_len(facts$T0)
  change <- rowMeans(rows[, -pre, drop = FALSE]) - rowMeans(rows[, pre, drop = FALSE])
  change <- change - mean(change)
  # A uniform variable on [-1, 1] has variance 1/3.
  score <- rowSums(between) / sqrt(ncol(between) / 3)
  share <- facts$explained
  move <- sqrt(share) * stats::sd(change) * score - (1 - sqrt(1 - share)) * change
  rows[, -pre] <- pmin(pmax(rows[, -pre] + move, -1), 1)
  rows
}

#' The fit of simulated people by the functions of [dp_synth()]
#' @param epsilon (`number`)\cr privacy loss. `Inf`: a fit without privacy to the same people.
#' @noRd
study_fit <- function(people, made, epsilon) {
  facts <- made$facts
  single <- is.finite(epsilon) && facts$protect == "everyone"
  request <- panel_request(
    epsilon = epsilon, delta = facts$delta, bounds = if (is.finite(epsilon)) c(-1, 1),
    method = "gram", calibration = "tight", estimator = "ridge",
    size = if (!single) made$size, ledger = NULL, control = dp_control(rng = "R"),
    protect = facts$protect, monitor = NULL
  )
  own <- function(x) if (single) x else cohort_means(x, people$cohort)
  dates <- study_dates(facts)
  panel <- donors_panel(
    people$donors, own(people$treated), if (single) dates[people$cohort] else dates, NULL, request
  )
  panel$covariates <- study_known(people, facts, own)
  # Warnings would concern simulated people only.
  suppressWarnings({
    panel <- guard_panel(panel, request)
    fit_released(of_simulated(release_panel(panel, request)), panel)
  })
}

cohort_means <- function(x, cohort) unname(rowsum(x, cohort)) / tabulate(cohort)

#' Covariates in a panel's form
#' @param own (`function`)\cr a function from the treated people's rows to the rows in the panel.
#' @noRd
study_known <- function(people, facts, own) {
  if (is.null(people$between) || isFALSE(facts$known)) {
    return(NULL)
  }
  donors <- seq_len(nrow(people$donors))
  known <- people$between[donors, , drop = FALSE]
  list(
    donors = known, scaled = known, target = own(people$between[-donors, , drop = FALSE]),
    columns = covariate_columns(ncol(known))
  )
}

#' The errors of a fit's effects, for all dates together and then for each of several dates
#' @return A matrix with columns `average`, the error of the average effect, and `period`, the root
#'   mean square of the errors by time since the adoption.
#' @noRd
study_measures <- function(fit, people, made) {
  truth <- cohort_means(people$treated, people$cohort) - cohort_means(people$without, people$cohort)
  dates <- study_dates(made$facts)
  fits <- fit$cohorts %||% list(fit)
  error <- lapply(seq_along(dates), function(g) {
    effects_of(fits[[g]])[1L, ] - truth[g, -seq_len(dates[[g]])]
  })
  each <- t(vapply(error, function(e) c(mean(e), sqrt(mean(e^2))), numeric(2L)))
  out <- if (length(dates) > 1L) rbind(together(error, each[, 1L], made$size), each) else each
  dimnames(out) <- list(NULL, c("average", "period"))
  out
}

#' Errors of the overall average and of the averages by time since the adoption
#' @noRd
together <- function(error, average, size) {
  events <- vapply(seq_len(max(lengths(error))), function(e) {
    reach <- lengths(error) >= e
    stats::weighted.mean(vapply(error[reach], `[[`, 0, e), size[reach])
  }, 0)
  c(stats::weighted.mean(average, size), sqrt(mean(events^2)))
}

#' Half-widths of a fit's 95 % intervals, scaled units; `NA` without an interval
#' @noRd
study_widths <- function(fit, made) {
  width <- function(table) {
    error <- table$std.error[(table$kind %||% rep("effect", nrow(table))) == "effect"]
    pmin(1, interval_quantile(0.95) * c(error[[1L]], stats::median(error[-1L])))
  }
  out <- lapply(fit$cohorts %||% list(fit), function(one) width(tidy(one)))
  if (!is.null(fit$cohorts)) {
    out <- c(list(width(tidy(fit, type = if (made$search) "overall" else "event"))), out)
  }
  do.call(rbind, out)
}

# From studies to expected errors ------------------------------------------------------------------

#' The squared chance difference between the changes of treated people and donors, relative to its
#' expectation, as a control variate with mean one
#' @return As [study_measures()].
#' @noRd
study_luck <- function(people, made) {
  dates <- study_dates(made$facts)
  each <- lapply(seq_along(dates), function(g) {
    pre <- seq_len(dates[[g]])
    change <- function(rows) rows[, -pre, drop = FALSE] - rowMeans(rows[, pre, drop = FALSE])
    donors <- change(people$donors)
    chance <- 1 / made$size[[g]] + 1 / made$n
    gap <- colMeans(change(people$without[people$cohort == g, , drop = FALSE])) - colMeans(donors)
    list(gap = gap, expected = c(
      stats::var(rowMeans(donors)), mean(colMeans(sweep(donors, 2L, colMeans(donors))^2))
    ) * chance)
  })
  expected <- do.call(rbind, lapply(each, `[[`, "expected"))
  gap <- lapply(each, `[[`, "gap")
  found <- t(vapply(gap, function(x) c(mean(x)^2, mean(x^2)), numeric(2L)))
  if (length(dates) > 1L) {
    weight <- (made$size / sum(made$size))^2
    found <- rbind(together(gap, vapply(gap, mean, 0), made$size)^2, found)
    expected <- rbind(colSums(weight * expected), expected)
  }
  found / pmax(expected, .Machine$double.xmin)
}

#' @param runs (`list`)\cr from [one_study()].
#' @noRd
study_rows <- function(runs, made, facts) {
  # A real group is larger than the simulated group, so its mean varies less.
  less <- made$size / facts$size
  if (length(less) > 1L) less <- c(sum(made$size) / sum(facts$size), less)
  widths <- Filter(Negate(is.null), lapply(runs, `[[`, "width"))
  rows <- lapply(seq_along(less), function(i) {
    of <- function(part) t(vapply(runs, function(run) run[[part]][i, ], numeric(2L)))
    period <- expected_error(of("error")[, 2L]^2, of("raw")[, 2L]^2, of("luck")[, 2L], less[[i]])
    average <- expected_error(of("error")[, 1L]^2, of("raw")[, 1L]^2, of("luck")[, 1L], less[[i]])
    width <- t(vapply(widths, function(width) width[i, ], numeric(2L)))
    half_width <- plan_half_width(width[, 1L])
    data.frame(
      # A step of a search computes no errors without privacy.
      error = period[["error"]], floor = if (bare_step(made)) NA_real_ else period[["floor"]],
      average = average[["error"]],
      half_width = half_width * average[["shrunk"]],
      period_width = plan_half_width(width[, 2L]) * period[["shrunk"]],
      given = mean(!is.na(width[, 1L])), plan_coverage(of("error")[, 1L], width[, 1L])
    )
  })
  do.call(rbind, rows)
}

#' Root mean squares of errors with and without privacy
#' @param squared,raw (`numeric`)\cr squared errors of studies, with and without privacy.
#' @param less (`number`)\cr the reduction of `raw` for the real group.
#' @return A vector: `error`, `floor`, and `shrunk`, the ratio of the real group's error to the
#'   simulated error.
#' @noRd
expected_error <- function(squared, raw, luck, less) {
  floor <- max(controlled(raw, luck, 1, 2 * mean(raw)), mean(raw) / 4)
  made <- max(controlled(squared, luck, 1, 2 * mean(squared)), floor / 2)
  real <- max(made - (1 - less) * floor, less * floor / 2)
  c(error = sqrt(real), floor = sqrt(less * floor), shrunk = sqrt(real / made))
}

# The methods that a plan compares ----------------------------------------------------------------

#' One record of a plan's functions per method; the functions depend on n, epsilon and facts
#'
#' `errors`: see [plan_errors()]. `noise`: the standard deviation of the noise on one weight, or on
#' one moment of the donors. `penalty`: a function of facts. `steps`: the number of bisections of
#' the interval that contains the answer to an inverse question. `bar`: does the search take long?
#' @noRd
plan_methods <- function() {
  list(
    gram = list(
      errors = function(n, epsilon, facts) {
        if (is_study(facts)) study_errors(n, epsilon, facts) else gram_errors(n, epsilon, facts)
      },
      noise = function(n, epsilon, facts) {
        plan_of <- if (is_study(facts)) study_plan else gram_plan_of
        plan_of(n, epsilon, facts)$moment_noise %||% NA_real_
      },
      penalty = function(facts) NA_real_, steps = 4L, bar = TRUE
    ),
    output = vertical_plan(output_noise, function(n, epsilon, facts) {
      step_deviation(plan_output(plan_facts("output", n, epsilon, facts))$weights, n)
    }),
    objective = vertical_plan(objective_noise, function(n, epsilon, facts) {
      step <- plan_objective(plan_facts("objective", n, epsilon, facts))$weights
      step_deviation(step, n) / step$mu
    })
  )
}

vertical_plan <- function(deviation, noise) {
  list(
    errors = function(n, epsilon, facts) vertical_errors(deviation, n, epsilon, facts),
    noise = noise, penalty = function(facts) facts$T0, steps = 8L, bar = FALSE
  )
}

#' Errors of a method at n donors and epsilon
#' @param facts (`list`)\cr from [plan_facts_of()].
#' @return A data frame with one row for all adoption dates together, and then one row for each of
#'   several dates. Columns: `error` (of a period), `floor` (the error without privacy), `average`,
#'   `half_width` (of the interval of the average), `period_width`, `given` (share of releases with
#'   an interval), and `coverage` and `short` from [plan_coverage()].
#' @noRd
plan_errors <- function(method, n, epsilon, facts) {
  plan_methods()[[method]]$errors(n, epsilon, facts)
}
