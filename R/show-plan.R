# The text of a plan.

#' @rdname dp_plan
#' @export
print.dp_plan <- function(x, ...) {
  cat("Plan (no data were used", if (x$people$kind == "pilot") " except the pilot", "): ",
    paste(plan_known(x), collapse = ", "), "\n",
    sep = ""
  )
  lines <- c(plan_assumption(x), plan_covariate_words(x), plan_target_words(x))
  for (line in lines) cat(paste0("  ", strwrap(line, 95), "\n"), sep = "")
  cat("\n")
  print(plan_shown(x), row.names = FALSE, right = FALSE)
  cat(plan_legend(x), sep = "")
  for (line in plan_advice(x)) cat(paste0("  ", strwrap(line, 95), "\n"), sep = "")
  invisible(x)
}

#' Words on the question of a plan
#' @noRd
plan_known <- function(x) {
  several <- length(x$T0) > 1L
  c(
    if (!is.null(x$n)) count_of(x$n, "donor"),
    if (!several) paste0(x$T0, " + ", x$T1, " periods"),
    if (several) {
      paste0(max(x$T0) + x$T1, " periods, adoptions after ", and_words(format(x$T0, trim = TRUE)))
    },
    if (!is.null(x$epsilon)) paste("epsilon =", format(x$epsilon)),
    paste("delta =", format(x$delta)),
    if (!is.null(x$error)) paste("error wanted:", format(x$error)),
    if (!is.null(x$effect) && is_open(x)) {
      paste0(
        "effect of ", format(x$effect), " to be detected with power ", percent_shown(x$power)
      )
    }
  )
}

#' Does the plan compute this quantity?
#' @noRd
is_open <- function(x) is.null(x$n) || is.null(x$epsilon) || is.null(x$size)

and_words <- function(words) {
  if (length(words) < 2L) words else paste(
    paste(words[-length(words)], collapse = ", "), "and", words[[length(words)]]
  )
}

#' Words on the assumptions of a plan about people
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
      "Assumed: people's levels have standard deviation ", format(people$between), ". Each ",
      "person's values vary around the person's level with standard deviation ",
      format(people$within), " (", round(100 * people$shared),
      " % of this variance follows patterns that others share); ", range, "."
    ),
    paste0(
      "Assumed: people like sim_panel(\"", people$kind, "\"), ", range,
      ". Their outcomes vary over more of the bounds' width than most real outcomes. Give ",
      "sd_between and sd_within, or a public pilot."
    )
  )
}

#' @noRd
plan_covariate_words <- function(x) {
  if (x$covariates > 0) {
    paste0(
      "The ", if (x$covariates > 1) paste0(x$covariates, " "), "covariate",
      if (x$covariates == 1) " explains " else "s explain ", round(100 * x$explained),
      " % of the variance of people's changes."
    )
  }
}

plan_target_words <- function(x) {
  size <- x$table$size[!is.na(x$table$T0) & x$table$method == x$table$method[[1L]]]
  several <- length(size) > 1L
  who <- if (anyNA(size)) {
    "the mean of a group"
  } else if (several) {
    "the means of the groups"
  } else if (size > 1) {
    paste("the mean of", count_words(size), "people")
  } else {
    "one person"
  }
  paste0(
    "Root mean square errors of the estimated effect on ", who, ", in outcome units.",
    if (x$protect == "everyone") " The treated people are also protected.",
    if (several) " Errors of one period are given by time since adoption."
  )
}

plan_shown <- function(x) {
  table <- x$table
  several <- length(x$T0) > 1L
  number <- function(values) ifelse(is.na(values), "-", format_value(values))
  count <- function(values) {
    ifelse(is.na(values), "-", formatC(values, format = "d", big.mark = ","))
  }
  columns <- list(
    adoption = if (several) ifelse(is.na(table$T0), "all", paste("after", table$T0)),
    method = if (!several) paste0(table$method, ifelse(table$recommended, " *", "")),
    donors = if (!several || is.null(x$n)) count(table$n),
    epsilon = if (!several || is.null(x$epsilon)) number(table$epsilon),
    people = if (several || is.null(x$size)) count(table$size),
    `error, one period` = number(table$error),
    `of which noise` = if (!several) number(table$privacy),
    `error without privacy` = number(table$floor), average = number(table$average),
    `95 %` = if (several) width_shown(table$half_width),
    power = if (!is.null(x$effect)) percent_shown(table$power),
    `one person` = if (!all(is.na(table$person) | table$size == 1)) number(table$person)
  )
  data.frame(Filter(Negate(is.null), columns), check.names = FALSE)
}

width_shown <- function(width) ifelse(is.na(width), "-", paste0("+- ", format_value(width)))

percent_shown <- function(share) ifelse(is.na(share), "-", paste0(round(100 * share), " %"))

#' The meaning of symbols in the table
#' @noRd
plan_legend <- function(x) {
  legend <- c(
    if (length(x$T0) == 1L && any(x$table$recommended)) "* recommended",
    if (is_open(x) && any(is.na(x$table$error))) {
      "-: not reached with 10 million donors, epsilon = 1000 or a group of 10,000 people"
    },
    if (!is.null(x$effect)) {
      paste0(
        "power: for an average effect of ", format(x$effect), ", by the two-sided 5 % test"
      )
    }
  )
  if (length(legend)) paste0("\n", paste0("  ", legend, collapse = "\n"), "\n")
}

#' Availability and width of an interval, with advice
#' @noRd
plan_advice <- function(x) {
  row <- x$table[x$table$method == "gram", ][1L, ]
  if (is.na(row$method) || is.na(x$interval$calibrated)) {
    return(character())
  }
  if (!x$interval$calibrated) {
    return(uncalibrated_words(x, row))
  }
  if (is.na(row$half_width)) {
    return("There will be no 95 % interval for the mean of this many people.")
  }
  c(
    if (is.na(row$detectable)) short_words(row) else paste0(
      "95 % interval of the average effect: about +- ", format_value(row$half_width), ". ",
      detectable_words(x, row)
    ),
    if (row$given < 0.95) given_words(x, row),
    if (row$half_width > diff(x$bounds) / 4) {
      paste0(
        "This interval covers more than half of the bounds' width, so the release would hardly ",
        "add information. Use more donors, a larger budget, or narrower bounds if they are certain."
      )
    },
    covariates_worth(x)
  )
}

uncalibrated_words <- function(x, row) {
  instead <- c(
    if (!is.na(x$interval$n)) paste(count_of(x$interval$n, "donor"), "at this epsilon"),
    if (!is.na(x$interval$epsilon)) {
      paste("epsilon =", format(x$interval$epsilon), "with this number of donors")
    }
  )
  paste0(
    "No 95 % interval: ", count_of(row$n, "donor"), " at epsilon = ", format(row$epsilon),
    " are too few to calibrate prediction errors.",
    if (length(instead)) paste0(" An interval needs ", paste(instead, collapse = ", or "), ".")
  )
}

detectable_words <- function(x, row) {
  if (!is.finite(row$detectable)) {
    return(paste0("No effect is detected with power ", percent_shown(x$power), "."))
  }
  paste0(
    "An effect of ", format_value(row$detectable), " is detected with power ",
    percent_shown(x$power), " (two-sided 5 % test). Smaller effects are detected less often."
  )
}

#' @noRd
short_words <- function(row) {
  paste0(
    "Intervals will be too short: the 95 % interval of the average effect, about +- ",
    format_value(row$half_width), ", covers the effect in only ", percent_shown(row$coverage),
    " of simulated releases. A few people change far more than the others, and the release ",
    "reduces their part of the mean. This plan is not recommended."
  )
}

given_words <- function(x, row) {
  share <- paste0(
    "In about ", round(100 * (1 - row$given)), " % of releases there is no interval, because "
  )
  paste0(share, if (x$protect == "everyone") {
    "the treated people are too far from the donors, or the donors' errors are too small."
  } else {
    "the donors' errors are too small relative to the noise for this many people."
  })
}

#' The results of a study of the same people without covariates
#' @noRd
covariates_worth <- function(x) {
  if (!is.null(x$without)) {
    paste0(
      "Without the covariates the error of the average would be ",
      format_value(x$without$average), ", with an interval of about +- ",
      format_value(x$without$half_width), "."
    )
  }
}
