# Methods of a fit of several adoption dates, which read the fit and no donors.

#' @rdname dp_cohorts
#' @export
tidy.dp_cohorts <- function(x, type = c("event", "cohort", "calendar", "group_time", "overall"),
                            conf.int = FALSE, conf.level = 0.95, simultaneous = FALSE,
                            ...) door("tidy", {
  tidy_effects(x, conf.int, conf.level, simultaneous, ..., type = type)
})

#' @rdname dp_cohorts
#' @export
glance.dp_cohorts <- function(x, ...) door("glance", {
  release <- x$release
  overall <- cohort_table(x, "overall")
  data.frame(
    method = release$method, estimator = x$estimator, n.donors = as.integer(release$panel$n),
    n.cohorts = length(x$cohorts), n.targets = length(x$adopted), people = sum(x$size),
    periods = length(release$panel$times), effect = overall$estimate,
    std.error = overall$std.error, pre.rmse = cohorts_rmse(x),
    epsilon = release$privacy$epsilon, delta = release$privacy$delta, rho = release$privacy$rho,
    private = release$privacy$holds
  )
})

#' @noRd
cohorts_rmse <- function(x) {
  if (is_released_group(x$cohorts[[1L]])) return(NA_real_)
  sqrt(mean(unlist(lapply(x$cohorts, residuals.dp_synth))^2))
}

#' @rdname dp_cohorts
#' @export
augment.dp_cohorts <- function(x, ...) {
  stacked(x$cohorts, "cohort", augment.dp_synth)
}

#' @rdname dp_cohorts
#' @export
coef.dp_cohorts <- function(object, type = "event", ...) door("coef", {
  coef_effects(object, type, ...)
})

#' @rdname dp_cohorts
#' @export
vcov.dp_cohorts <- function(object, type = "event", ...) door("vcov", {
  type <- check_cohort_type(type)
  cohort_covariance(object, type)
})

#' @rdname dp_cohorts
#' @export
confint.dp_cohorts <- function(object, parm = NULL, level = 0.95, type = "event",
                               simultaneous = FALSE, ...) door("confint", {
  confint_effects(object, parm, level, simultaneous, type, ...)
})

#' @rdname dp_cohorts
#' @export
nobs.dp_cohorts <- function(object, ...) as.integer(object$release$panel$n)

#' @rdname dp_cohorts
#' @export
formula.dp_cohorts <- function(x, ...) formula.dp_synth(x)

#' @rdname dp_cohorts
#' @export
effects.dp_cohorts <- function(object, ...) each_fit("effects", object, stats::effects, ...)

#' @rdname dp_cohorts
#' @export
predict.dp_cohorts <- function(object, ...) each_fit("predict", object, stats::predict, ...)

#' @rdname dp_cohorts
#' @export
fitted.dp_cohorts <- function(object, ...) each_fit("fitted", object, stats::fitted, ...)

#' @rdname dp_cohorts
#' @export
residuals.dp_cohorts <- function(object, ...) each_fit("residuals", object, stats::residuals, ...)

#' @rdname dp_cohorts
#' @export
weights.dp_cohorts <- function(object, ...) each_fit("weights", object, stats::weights, ...)

#' @rdname dp_cohorts
#' @export
conformal.dp_cohorts <- function(...) refuse_several("conformal", "cohort")

#' @rdname dp_cohorts
#' @export
placebo_time.dp_cohorts <- function(...) refuse_several("placebo_time", "cohort")

#' @rdname dp_cohorts
#' @export
penalty_path.dp_cohorts <- function(...) refuse_several("penalty_path", "cohort")

#' @rdname dp_cohorts
#' @export
placebo_space.dp_cohorts <- function(...) refuse_several("placebo_space", "cohort")

#' @rdname dp_cohorts
#' @export
leave_one_out.dp_cohorts <- function(...) refuse_several("leave_one_out", "cohort")

#' @rdname dp_cohorts
#' @export
simulate.dp_cohorts <- function(...) refuse_several("simulate", "cohort")

#' @rdname dp_cohorts
#' @export
as.data.frame.dp_cohorts <- function(x, ..., type = "group_time", level = 0.95,
                                     simultaneous = FALSE,
                                     measure = c("effect", "percent",
                                     "cumulative")) door("as.data.frame", {
  measure <- check_choice(measure, c("effect", "percent", "cumulative"))
  level <- check_level(level)
  if (measure == "effect") {
    return(tidy_effects(x, TRUE, level, simultaneous, type = type))
  }
  simultaneous <- check_flag(simultaneous)
  measured_cohorts(x, check_cohort_type(type), measure, level, simultaneous)
})

# Prints -------------------------------------------------------------------------------------------

#' @rdname dp_cohorts
#' @export
print.dp_cohorts <- function(x, level = 0.95, ...) {
  cat(cohort_headline(x), cohort_lines(x), "", overall_lines(x, level), "", sep = "\n")
  print_cohort_table(x, "event", level)
  say_lines(x, "", next_cohort_lines(x), doubt_lines(fit_doubts(x)), "", privacy_lines(x),
    growing_line(x$release)
  )
}

#' @rdname dp_cohorts
#' @export
summary.dp_cohorts <- function(object, level = 0.95, ...) door("summary", {
  check_no_dots(...)
  level <- check_level(level)
  types <- c(event = "event", cohort = "cohort", calendar = "calendar")
  structure(c(
    list(fit = object, level = level), lapply(types, function(type) {
      tidy.dp_cohorts(object, type, conf.int = TRUE, conf.level = level)
    })
  ), class = "summary.dp_cohorts")
})

#' @rdname dp_cohorts
#' @export
print.summary.dp_cohorts <- function(x, ...) {
  fit <- x$fit
  cat(cohort_headline(fit), cohort_lines(fit), "", overall_lines(fit, x$level), sep = "\n")
  titles <- c(
    event = "By periods since adoption", cohort = "By cohort", calendar = "By period"
  )
  for (type in names(titles)) {
    cat("\n", titles[[type]], "\n", sep = "")
    print_cohort_table(fit, type, x$level)
  }
  say_lines(x, "", cohort_meaning(fit), "", privacy_summary(fit), growing_line(fit$release))
}

cohort_headline <- function(fit) {
  fit_headline(fit, paste(length(fit$cohorts), "adoption dates"))
}

cohort_lines <- function(fit) {
  panel <- fit$release$panel
  sizes <- cohort_sizes(fit$cohorts)
  shown <- utils::head(paste0(names(fit$cohorts), " (", cohort_members(fit, sizes), ")"), 8L)
  c(
    paste0("  ", panel$outcome, ": ", count_of(panel$n, "donor"), ", never treated; ",
      count_of(length(panel$times), "period"), if (length(covariates_told(fit$release))) {
        paste0("; covariates: ", paste(covariates_told(fit$release), collapse = ", "))
      }),
    gaps_line(fit$release),
    strwrap(paste0("treated from: ", enumerate(shown, length(sizes))), 92L,
      prefix = "    ", initial = "  "
    ),
    if (is_released_group(fit)) {
      protects_line(fit, TRUE)
    } else if (fit$release$privacy$private) {
      donors_only_line
    }
  )
}

#' Words on the composition of each cohort
#' @noRd
cohort_members <- function(fit, sizes) {
  units <- as.integer(table(fit$adopted))
  ifelse(sizes == units, vapply(units, count_of, "", "unit"),
    paste0(vapply(units, count_of, "", "unit"), " of ", sizes, " people")
  )
}

overall_lines <- function(fit, level) {
  row <- cohort_table(fit, "overall", level)
  release <- fit$release
  limits <- if (!is.na(row$conf.low)) {
    paste0("  [", format(100 * level, digits = 4L), " % interval: ", format_value(row$conf.low),
      ", ", format_value(row$conf.high), "; p ", format_p(row$p.value), "]")
  }
  noise <- release$privacy$private && !is.na(row$privacy.se)
  c(
    paste0("  overall effect   ", format_value(row$estimate), limits),
    cohort_reasons(fit, level), cohort_quality_lines(fit),
    if (noise && !is.na(row$std.error)) {
      standard_error_text(row)
    },
    if (noise && is_swamping(row$privacy.se, release)) swamped_line(row$privacy.se, release),
    weak_line(fit)
  )
}

#' Reasons for missing intervals of cohorts
#' @noRd
cohort_reasons <- function(fit, level) {
  reasons <- unlist(lapply(fit$cohorts, missing_interval, level = level))
  if (!length(reasons)) {
    return(NULL)
  }
  reasons <- sub("[.]$", "", reasons)
  which <- vapply(unique(reasons), function(reason) {
    enumerate(utils::head(names(reasons)[reasons == reason], 5L), sum(reasons == reason))
  }, "")
  every <- length(reasons) == length(fit$cohorts) && length(which) == 1L
  paste0("  no interval", if (!every) paste0(" for ", which), ": ", names(which))
}

#' Shortcomings of classical cohorts' pre-treatment fits
#' @noRd
cohort_quality_lines <- function(fit) {
  classical <- Filter(function(one) inherits(one, "dp_synth_classical"), fit$cohorts)
  said <- lapply(classical, fit_quality_lines)
  kinds <- c("PERFECT FIT", "THE WEIGHTS ARE NOT UNIQUE", "POOR FIT")
  meaning <- c(
    "there are probably too many donors for so few periods, and the weights may not be unique",
    "other weights fit equally well", "the weighted donors do not follow the target"
  )
  unlist(lapply(seq_along(kinds), function(i) {
    has <- vapply(said, function(lines) any(startsWith(trimws(lines), kinds[[i]])), NA)
    if (!any(has)) {
      return(NULL)
    }
    names <- enumerate(utils::head(names(said)[has], 5L), sum(has))
    strwrap(paste0(kinds[[i]], " before the treatment (", names, "): ", meaning[[i]], "."), 92L,
      prefix = "    ", initial = "  "
    )
  }))
}

print_cohort_table <- function(fit, type, level) {
  table <- cohort_table(fit, type, level)
  # The overall average is already printed.
  table <- table[!table$term %in% "average", ]
  before <- type == "event" & table$kind != "effect"
  most <- 12L
  left <- max(0L, sum(!before) - most)
  table <- rbind(utils::tail(table[before, ], 4L), utils::head(table[!before, ], most))
  shown <- effects_shown(table, level)
  if (type != "cohort") shown$cohorts <- table$cohorts
  if (type == "event") shown[[" "]] <- ifelse(table$kind == "effect", "", table$kind)
  rows <- if (type == "event") sprintf("%+d", table$event) else table$term
  # Residuals are not effects, so their row names carry no sign.
  rownames(shown) <- sub("^[+]0$", "0", rows)
  print(shown)
  if (left) cat("  and ", count_of(left, "more row"), ": see tidy()\n", sep = "")
}

cohort_meaning <- function(fit) {
  if (is.null(fit$errors)) {
    return("  NOT PRIVATE. placebo_space(fit$cohorts[[1]]) and similar functions take one cohort.")
  }
  c(
    if (!is_released_group(fit)) {
      "  Rows before 0 are residuals of the fit or errors of forecasts from all earlier periods."
    },
    "  Intervals are for each row alone; for joint intervals use confint(simultaneous = TRUE)."
  )
}

next_cohort_lines <- function(fit) {
  before <- if (!is_released_group(fit)) " earlier rows are residuals or forecast errors."
  c(
    paste0("  0 is the first treated period;", before, " plot(fit) draws this table."),
    "  tidy(fit, type = ) gives effects by event, cohort, calendar or group_time.",
    "  fit$cohorts contains one fit per cohort."
  )
}

# Report -------------------------------------------------------------------------------------------

#' @rdname dp_cohorts
#' @export
report.dp_cohorts <- function(x, format = c("text", "markdown", "latex"), level = 0.95,
                              ...) door("report", {
  check_no_dots(...)
  level <- check_level(level)
  x$release <- known_release(x$release)
  format <- check_choice(format, c("text", "markdown", "latex"))
  new_report(
    result = cohort_sentences(x, level), methods = cohort_methods_words(x),
    release = x$release, estimator = x$estimator, format = format
  )
})

cohort_sentences <- function(fit, level) {
  limits <- function(row) {
    if (is.na(row$conf.low)) {
      return("no interval is stated")
    }
    paste0(
      format(100 * level, digits = 4L), " % interval ", format_value(row$conf.low), " to ",
      format_value(row$conf.high), ", p ", format_p(row$p.value)
    )
  }
  overall <- cohort_table(fit, "overall", level)
  event <- cohort_table(fit, "event", level)
  first <- event[event$event %in% 0, ]
  c(
    paste0(
      "The estimated average effect of the treatment on ", fit$release$panel$outcome, " over ",
      length(fit$cohorts), " cohorts (", count_of(length(fit$adopted), "treated unit"), ") is ",
      format_value(overall$estimate), " (", limits(overall), "; ", short_guarantee(fit), ")."
    ),
    paste0(
      "In the cohorts' first treated periods the average effect is ", format_value(first$estimate),
      " (",
      limits(first), ")."
    )
  )
}

cohort_methods_words <- function(fit) {
  release <- fit$release
  panel <- release$panel
  parts <- if (is.null(fit$errors)) character() else known_parts(fit$cohorts[[1L]])
  paste(c(
    paste0(
      "The treatment was adopted at ", length(fit$cohorts), " dates. For each cohort we estimated ",
      "what the outcome (", panel$outcome, ") would have been without the treatment, by ",
      estimator_words(release, fit$estimator), " from ",
      count_of(panel$n, "unit"), " that ", if (panel$n == 1) "is" else "are",
      " never treated, with the R package dpsc ", as.character(utils::packageVersion("dpsc")),
      ". Averages over cohorts weight each cohort by its number of people."
    ),
    covariates_words(release), bounds_words(release), gaps_words(release), fit_doubts(fit),
    release_words(release),
    interval_words(release, parts)
  ), collapse = " ")
}
