# The simulated people of a plan come from a design, from given standard deviations, or from a
# public pilot.

#' Simulated people, from facts given by the user
#' @param spreads (`list`)\cr `between`, `within` (outcome units, or `NULL`), `shared`.
#' @param pilot (`matrix`, outcome units, PUBLIC, or `NULL`).
#' @param scale (`dpsc_bounds`)\cr the bounds of one period.
#' @return A list: `kind` and its parameters for `simulate_gram_cpp()`, scaled units.
#' @noRd
plan_people <- function(design, spreads, pilot, scale, periods) {
  given <- !vapply(spreads[c("between", "within")], is.null, NA)
  if (!is.null(pilot)) {
    if (any(given)) {
      abort(c(
        "{.arg pilot} cannot be combined with {.arg sd_between} or {.arg sd_within}.",
        i = "Give either {.arg pilot} or the two standard deviations."
      ), "argument")
    }
    return(pilot_people(pilot, scale, periods))
  }
  if (all(given)) {
    return(spread_people(spreads, scale, periods))
  }
  if (any(given)) {
    abort(c(
      "{.arg sd_between} and {.arg sd_within} must be given together.",
      x = "Only {.arg {c('sd_between', 'sd_within')[given]}} is given.",
      i = paste(
        "Give the standard deviation of people's levels, and the standard deviation of a person's",
        "outcome over time."
      )
    ), "argument")
  }
  design_people(design)
}

design_people <- function(design) {
  if (design == "linear") {
    return(list(kind = "linear"))
  }
  list(
    kind = "factor", level = 0.2, loading = 0.075, time = 0.05, drift = 0, noise = 0.05, shift = 0
  )
}

#' @noRd
pilot_people <- function(pilot, scale, periods) {
  if (is.data.frame(pilot)) pilot <- as.matrix(pilot)
  if (!is.matrix(pilot) || !is.numeric(pilot) || !all(is.finite(pilot)) || ncol(pilot) != periods) {
    abort(c(
      "{.arg pilot} must be a matrix of finite numbers, one row per person, one column per period.",
      x = "It is {describe(pilot)}; the plan has {periods} periods.",
      i = "A pilot must be public data, never the donors to be protected."
    ), "argument")
  }
  if (nrow(pilot) < 20) {
    abort(c(
      "{.arg pilot} must have at least 20 people.",
      x = "It has {nrow(pilot)} row{?s}.",
      i = "With fewer people, give {.arg sd_between} and {.arg sd_within} instead."
    ), "argument")
  }
  rows <- (unname(pilot) - scale$centre[[1L]]) / scale$unit
  list(kind = "pilot", rows = pmin(pmax(rows, -1), 1))
}

#' @noRd
spread_people <- function(spreads, scale, periods) {
  between <- check_number(spreads$between, 0, open = "min", arg = "sd_between")
  within <- check_number(spreads$within, 0, open = "min", arg = "sd_within")
  largest <- 0.999 * scale$unit
  if (sqrt(between^2 + within^2) > largest) {
    abort(c(
      "Such large standard deviations are impossible within {.arg bounds}.",
      x = paste(
        "{.arg sd_between} and {.arg sd_within} combine to",
        "{signif(sqrt(between^2 + within^2), 3)}; half the width of {.arg bounds} is",
        "{signif(scale$unit, 3)}."
      ),
      i = "Give the standard deviations and the bounds in the units of the outcome."
    ), "argument")
  }
  latent <- latent_spreads(between / scale$unit, within / scale$unit)
  # The standard deviations refer to the panel's periods, in which a part of a persistent path
  # appears as level.
  seen <- path_seen(periods)
  path <- latent[[2L]] / sqrt(seen[["within"]])
  alone <- (1 - spreads$shared) / 2
  moved <- seen[["level"]] * path^2 * (spreads$shared + alone)
  list(
    kind = "spreads", level = sqrt(max(latent[[1L]]^2 - moved, latent[[1L]]^2 / 4)),
    loading = path * sqrt(spreads$shared / 3), time = latent[[2L]] / 2,
    # A person's deviations persist in part: half of the variance is an autoregressive path, half is
    # noise.
    drift = path * sqrt(alone), noise = latent[[2L]] * sqrt(alone), shift = 0,
    between = between, within = within, shared = spreads$shared
  )
}

#' Parts of an autoregressive path with variance one: its level, and the variance around this level
#' @noRd
path_seen <- function(periods, persistence = 0.8) {
  lag <- seq_len(periods - 1)
  level <- (periods + 2 * sum((periods - lag) * persistence^lag)) / periods^2
  list(level = level, within = (1 - level) * periods / (periods - 1))
}

#' Standard deviations of normal variables that have the requested standard deviations after
#' clipping
#'
#' The values are found by repeated correction on simulated people. With distant bounds no value is
#' clipped.
#' @return `c(between, within)`, scaled units.
#' @noRd
latent_spreads <- function(between, within) {
  wanted <- c(between, within)
  latent <- wanted
  if (3 * sqrt(sum(wanted^2)) < 1) {
    return(latent)
  }
  periods <- 40L
  for (i in seq_len(25L)) {
    rows <- simulate_people_cpp(list(
      kind = "spreads", level = latent[[1L]], loading = 0, time = 0, drift = 0,
      noise = latent[[2L]], shift = 0
    ), 400L, periods - 1L, 1L, 0L, 1L, 1)$donors
    level <- rowMeans(rows)
    inside <- mean(rowSums((rows - level)^2)) / (periods - 1)
    found <- sqrt(c(max(stats::var(level) - inside / periods, 1e-8), max(inside, 1e-8)))
    latent <- pmin(latent * pmin(pmax(wanted / found, 0.5), 2), 30)
  }
  latent
}
