# The verbs of a fit of several adoption dates. All read the fit; none sees a donor.

cohort_types <- c("event", "cohort", "calendar", "group_time", "overall")

#' A type of averages, also by the names that package did has for them
#' @noRd
check_cohort_type <- function(type) {
  aliases <- c(dynamic = "event", group = "cohort")
  if (is.character(type) && length(type) == 1L && type %in% names(aliases)) {
    return(aliases[[type]])
  }
  check_choice(type, cohort_types)
}

#' @rdname dp_cohorts
#' @export
tidy.dp_cohorts <- function(x, type = c("event", "cohort", "calendar", "group_time", "overall"),
                            conf.int = FALSE, conf.level = 0.95, simultaneous = FALSE,
                            ...) door("tidy", {
  check_table_dots(...)
  level <- check_level(conf.level)
  type <- check_cohort_type(type)
  table <- cohort_table(x, type, level, check_flag(simultaneous))
  limits <- if (check_flag(conf.int)) c("conf.low", "conf.high")
  table[c(
    "term", "cohort", "period", "event", "kind", "cohorts", "people", "estimate", "std.error",
    "privacy.se", "statistic", "p.value", limits
  )]
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
  rows <- lapply(names(x$cohorts), function(name) {
    data.frame(cohort = name, augment.dp_synth(x$cohorts[[name]]))
  })
  do.call(rbind, rows)
}

#' @rdname dp_cohorts
#' @export
coef.dp_cohorts <- function(object, type = "event", ...) door("coef", {
  check_no_dots(...)
  type <- check_cohort_type(type)
  table <- cohort_table(object, type)
  table <- table[table$kind == "effect", ]
  stats::setNames(table$estimate, table$term)
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
  check_no_dots(...)
  type <- check_cohort_type(type)
  level <- check_level(level)
  table <- cohort_table(object, type, level, check_flag(simultaneous))
  table <- table[table$kind == "effect", ]
  percent <- paste(format(100 * c(1 - level, 1 + level) / 2, trim = TRUE, digits = 3L), "%")
  out <- matrix(
    c(table$conf.low, table$conf.high), ncol = 2L, dimnames = list(table$term, percent)
  )
  if (is.null(parm)) {
    return(out)
  }
  parm <- as.character(parm)
  if (!all(parm %in% table$term)) {
    unknown <- setdiff(parm, table$term)
    abort(c(
      "{.arg parm} must name rows of this type.",
      x = "There is no {.val {unknown}}.", i = "There are {.val {table$term}}."
    ), "argument")
  }
  out[parm, , drop = FALSE]
})

#' @rdname dp_cohorts
#' @export
nobs.dp_cohorts <- function(object, ...) as.integer(object$release$panel$n)

#' @rdname dp_cohorts
#' @export
formula.dp_cohorts <- function(x, ...) door("formula", formula.dp_synth(x))

#' @rdname dp_cohorts
#' @export
effects.dp_cohorts <- function(object, ...) lapply(object$cohorts, effects.dp_synth)

#' @rdname dp_cohorts
#' @export
predict.dp_cohorts <- function(object,
                               ...) door("predict", lapply(object$cohorts, predict.dp_synth, ...))

#' @rdname dp_cohorts
#' @export
fitted.dp_cohorts <- function(object, ...) door("fitted", lapply(object$cohorts, fitted.dp_synth))

#' @rdname dp_cohorts
#' @export
residuals.dp_cohorts <- function(object,
                                 ...) door("residuals", lapply(object$cohorts, residuals.dp_synth))

#' @rdname dp_cohorts
#' @export
weights.dp_cohorts <- function(object,
                               ...) door("weights", lapply(object$cohorts, weights.dp_synth))

#' What works on one cohort's fit says so
#' @noRd
one_cohort <- function(verb) function(...) door(verb, abort_several(verb, "cohort"))

#' @rdname dp_cohorts
#' @export
conformal.dp_cohorts <- one_cohort("conformal")

#' @rdname dp_cohorts
#' @export
placebo_time.dp_cohorts <- one_cohort("placebo_time")

#' @rdname dp_cohorts
#' @export
penalty_path.dp_cohorts <- one_cohort("penalty_path")

#' @rdname dp_cohorts
#' @export
placebo_space.dp_cohorts <- one_cohort("placebo_space")

#' @rdname dp_cohorts
#' @export
leave_one_out.dp_cohorts <- one_cohort("leave_one_out")

#' @rdname dp_cohorts
#' @export
simulate.dp_cohorts <- one_cohort("simulate")

#' @rdname dp_cohorts
#' @export
as.data.frame.dp_cohorts <- function(x, ..., type = "group_time", level = 0.95,
                                     simultaneous = FALSE,
                                     measure = c("effect", "percent",
                                     "cumulative")) door("as.data.frame", {
  measure <- check_choice(measure, c("effect", "percent", "cumulative"))
  if (measure == "effect") {
    return(tidy.dp_cohorts(x,
      type = type, conf.int = TRUE, conf.level = level, simultaneous = simultaneous
    ))
  }
  level <- check_level(level)
  simultaneous <- check_flag(simultaneous)
  measured_cohorts(x, check_cohort_type(type), measure, level, simultaneous)
})

# Prints -------------------------------------------------------------------------------------------

#' @rdname dp_cohorts
#' @export
print.dp_cohorts <- function(x, level = 0.95, ...) {
  cat(cohort_headline(x), cohort_lines(x), "", overall_lines(x, level), "", sep = "\n")
  print_cohort_table(x, "event", level)
  cat("", next_cohort_lines(x), doubt_lines(fit_doubts(x)), "", privacy_lines(x),
    growing_line(x$release),
    sep = "\n"
  )
  invisible(x)
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
  cat("", cohort_meaning(fit), "", privacy_summary(fit), growing_line(fit$release), sep = "\n")
  invisible(x)
}

cohort_headline <- function(fit) {
  what <- if (fit$release$privacy$private) "Private synthetic controls" else "Synthetic controls"
  paste0(
    what, " of ", length(fit$cohorts), " adoption dates by ", describe_method(fit$release),
    estimator_note(fit)
  )
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

#' Who is in each cohort, in words
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
  half_range <- max(release$bounds$upper - release$bounds$lower) / 2
  limits <- if (!is.na(row$conf.low)) {
    paste0("  [", format(100 * level, digits = 4L), " % interval: ", format_value(row$conf.low),
      ", ", format_value(row$conf.high), "; p ", format_p(row$p.value), "]")
  }
  noise <- release$privacy$private && !is.na(row$privacy.se)
  c(
    paste0("  overall effect   ", format_value(row$estimate), limits),
    cohort_reasons(fit, level), cohort_quality_lines(fit),
    if (noise && !is.na(row$std.error)) {
      paste0("  standard error ", format_value(row$std.error), ", of it privacy noise ",
        format_value(row$privacy.se))
    },
    if (noise && row$privacy.se > half_range / 4) {
      paste0(
        "  THE NOISE SWAMPS THE DATA: its standard error is ", format_value(row$privacy.se),
        ", the bounds are ", format_value(2 * half_range), " apart."
      )
    },
    weak_line(fit)
  )
}

#' Why cohorts have no interval
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
  paste0("  no interval", if (!every) paste0(" of ", which), ": ", names(which))
}

#' What is wrong with classical cohorts' fits before the treatment
#' @noRd
cohort_quality_lines <- function(fit) {
  classical <- Filter(function(one) inherits(one, "dp_synth_classical"), fit$cohorts)
  said <- lapply(classical, fit_quality_lines)
  kinds <- c("PERFECT FIT", "THE WEIGHTS ARE NOT UNIQUE", "POOR FIT")
  meaning <- c(
    "too many donors for so few periods, the weights need not be unique",
    "other donors fit as well", "donors do not follow the target"
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
  # The overall average was said before.
  table <- table[!table$term %in% "average", ]
  before <- type == "event" & table$kind != "effect"
  most <- 12L
  left <- max(0L, sum(!before) - most)
  table <- rbind(utils::tail(table[before, ], 4L), utils::head(table[!before, ], most))
  shown <- data.frame(effect = format_value(table$estimate))
  known <- !all(is.na(table$conf.low))
  if (known) {
    limits <- vapply(table[c("conf.low", "conf.high")], function(limit) {
      ifelse(is.na(limit), "", format_value(limit))
    }, character(nrow(table)))
    shown[interval_names(fit, level)] <- matrix(limits, nrow(table))
  }
  if (type != "cohort") shown$cohorts <- table$cohorts
  if (type == "event") shown[[" "]] <- ifelse(table$kind == "effect", "", table$kind)
  rows <- if (type == "event") sprintf("%+d", table$event) else table$term
  # Residuals are no effects.
  rownames(shown) <- sub("^[+]0$", "0", rows)
  print(shown)
  if (left) cat("  and ", left, " more: see tidy()\n", sep = "")
}

cohort_meaning <- function(fit) {
  if (is.null(fit$errors)) {
    return("  NOT PRIVATE: placebo_space(fit$cohorts[[1]]) and the like work on each cohort.")
  }
  c(
    if (!is_released_group(fit)) {
      "  Rows before 0 are residuals, of forecasts from all earlier periods or of the fit."
    },
    "  Intervals are for each row by itself; for all together: confint(simultaneous = TRUE)."
  )
}

next_cohort_lines <- function(fit) {
  before <- if (!is_released_group(fit)) " rows before it are residuals."
  c(
    paste0("  0 is the first treated period;", before, " plot(fit) draws this table;"),
    "  tidy(fit, type = ) gives it by event, cohort, calendar or group_time; fit$cohorts each fit."
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
      "In the first treated period it is ", format_value(first$estimate), " (", limits(first), ")."
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
      "what the outcome (", panel$outcome, ") would have been without it by ",
      estimator_words(release, fit$estimator), " from ",
      count_of(panel$n, "unit"), " that ", if (panel$n == 1) "is" else "are",
      " never treated, with the R package dpsc ",
      as.character(utils::packageVersion("dpsc")), ", and averaged over cohorts by their size."
    ),
    covariates_words(release), bounds_words(release), gaps_words(release), fit_doubts(fit),
    release_words(release),
    interval_words(release, parts)
  ), collapse = " ")
}
