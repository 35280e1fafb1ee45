# The verbs of a fit of several outcomes: those of each outcome's fit, put together. None sees a
# donor.

#' The tables of all outcomes, one below the other
#' @param table (`function`)\cr of one outcome's fit.
#' @noRd
by_outcome <- function(x, table) {
  rows <- lapply(names(x$outcomes), function(name) {
    cbind(data.frame(outcome = name), table(x$outcomes[[name]]))
  })
  out <- do.call(rbind, rows)
  rownames(out) <- NULL
  out
}

#' @rdname dp_outcomes
#' @export
tidy.dp_outcomes <- function(x, conf.int = FALSE, conf.level = 0.95, simultaneous = FALSE,
                             ...) door("tidy", {
  level <- check_level(conf.level)
  simultaneous <- check_flag(simultaneous)
  by_outcome(x, function(fit) {
    generics::tidy(fit,
      conf.int = conf.int, conf.level = outcome_level(x, level, simultaneous),
      simultaneous = simultaneous, ...
    )
  })
})

#' @rdname dp_outcomes
#' @export
glance.dp_outcomes <- function(x, ...) {
  out <- by_outcome(x, generics::glance)
  out[c("epsilon", "delta", "rho")] <- x$privacy[c("epsilon", "delta", "rho")]
  out$private <- x$privacy$holds
  out
}

#' @rdname dp_outcomes
#' @export
augment.dp_outcomes <- function(x, ...) by_outcome(x, generics::augment)

#' @rdname dp_outcomes
#' @export
as.data.frame.dp_outcomes <- function(x, row.names = NULL, optional = FALSE, ..., level = 0.95,
                                      simultaneous = FALSE) door("as.data.frame", {
  level <- check_level(level)
  simultaneous <- check_flag(simultaneous)
  by_outcome(x, function(fit) {
    as.data.frame(fit, ...,
      level = outcome_level(x, level, simultaneous), simultaneous = simultaneous
    )
  })
})

#' @rdname dp_outcomes
#' @export
coef.dp_outcomes <- function(object, ...) door("coef", {
  each <- lapply(object$outcomes, stats::coef, ...)
  stats::setNames(unlist(each, use.names = FALSE), outcome_terms(each))
})

#' @noRd
outcome_terms <- function(each) {
  paste0(rep(names(each), lengths(each)), ": ", unlist(lapply(each, names)))
}

#' @rdname dp_outcomes
#' @export
vcov.dp_outcomes <- function(object, ...) {
  each <- lapply(object$outcomes, stats::vcov, ...)
  sizes <- vapply(each, nrow, 0L)
  out <- matrix(NA_real_, sum(sizes), sum(sizes))
  last <- cumsum(sizes)
  for (k in seq_along(each)) {
    rows <- last[[k]] - sizes[[k]] + seq_len(sizes[[k]])
    out[rows, rows] <- each[[k]]
  }
  terms <- unlist(lapply(each, rownames), use.names = FALSE)
  dimnames(out) <- rep(list(paste0(rep(names(each), sizes), ": ", terms)), 2L)
  out
}

#' @rdname dp_outcomes
#' @export
confint.dp_outcomes <- function(object, parm = NULL, level = 0.95, simultaneous = FALSE,
                                ...) door("confint", {
  level <- check_level(level)
  simultaneous <- check_flag(simultaneous)
  each <- lapply(object$outcomes, function(fit) {
    stats::confint(fit,
      level = outcome_level(object, level, simultaneous), simultaneous = simultaneous, ...
    )
  })
  out <- do.call(rbind, each)
  sizes <- vapply(each, nrow, 0L)
  # Of all outcomes together each one's level is higher.
  asked <- paste(format(100 * c(1 - level, 1 + level) / 2, trim = TRUE, digits = 3L), "%")
  dimnames(out) <- list(paste0(rep(names(each), sizes), ": ", rownames(out)), asked)
  if (is.null(parm)) {
    return(out)
  }
  parm <- as.character(parm)
  if (!all(parm %in% rownames(out))) {
    unknown <- setdiff(parm, rownames(out))
    abort(c(
      "{.arg parm} must name effects.",
      x = "There is no {.val {unknown}}.", i = "There are {.val {rownames(out)}}."
    ), "argument")
  }
  out[parm, , drop = FALSE]
})

#' @rdname dp_outcomes
#' @export
effects.dp_outcomes <- function(object, ...) lapply(object$outcomes, stats::effects, ...)

#' @rdname dp_outcomes
#' @export
predict.dp_outcomes <- function(object, ...) lapply(object$outcomes, stats::predict, ...)

#' @rdname dp_outcomes
#' @export
fitted.dp_outcomes <- function(object, ...) lapply(object$outcomes, stats::fitted, ...)

#' @rdname dp_outcomes
#' @export
residuals.dp_outcomes <- function(object, ...) lapply(object$outcomes, stats::residuals, ...)

#' @rdname dp_outcomes
#' @export
weights.dp_outcomes <- function(object, ...) lapply(object$outcomes, stats::weights, ...)

#' @rdname dp_outcomes
#' @export
nobs.dp_outcomes <- function(object, ...) stats::nobs(object$outcomes[[1L]])

#' @rdname dp_outcomes
#' @export
formula.dp_outcomes <- function(x, ...) door("formula", formula.dp_synth(x))

#' @rdname dp_outcomes
#' @export
update.dp_outcomes <- function(object, ...) {
  object$outcomes <- lapply(object$outcomes, stats::update, ...)
  object
}

#' What works on one outcome's fit says so
#' @noRd
one_outcome <- function(verb) function(...) door(verb, abort_several(verb, "outcome"))

#' @rdname dp_outcomes
#' @export
conformal.dp_outcomes <- one_outcome("conformal")

#' @rdname dp_outcomes
#' @export
placebo_time.dp_outcomes <- one_outcome("placebo_time")

#' @rdname dp_outcomes
#' @export
penalty_path.dp_outcomes <- one_outcome("penalty_path")

#' @rdname dp_outcomes
#' @export
placebo_space.dp_outcomes <- one_outcome("placebo_space")

#' @rdname dp_outcomes
#' @export
leave_one_out.dp_outcomes <- one_outcome("leave_one_out")

#' @rdname dp_outcomes
#' @export
simulate.dp_outcomes <- one_outcome("simulate")

# Prints -------------------------------------------------------------------------------------------

#' @rdname dp_outcomes
#' @export
print.dp_outcomes <- function(x, level = 0.95, ...) {
  cat(outcome_headline(x), outcome_people(x), "", sep = "\n")
  for (name in names(x$outcomes)) {
    cat(outcome_lines(x$outcomes[[name]], name, level), sep = "\n")
  }
  cat("", "  fit$outcomes holds each fit; tidy(fit) all effects, with a column outcome.", "",
    privacy_lines(x, all_outcomes), weak_together(x), sep = "\n"
  )
  invisible(x)
}

#' @rdname dp_outcomes
#' @export
summary.dp_outcomes <- function(object, level = 0.95, ...) door("summary", {
  check_no_dots(...)
  level <- check_level(level)
  structure(list(
    fit = object, level = level, outcomes = lapply(object$outcomes, summary, level = level)
  ), class = "summary.dp_outcomes")
})

#' @rdname dp_outcomes
#' @export
print.summary.dp_outcomes <- function(x, ...) {
  fit <- x$fit
  cat(outcome_headline(fit), outcome_people(fit), "", sep = "\n")
  for (name in names(fit$outcomes)) {
    cat(name, "\n", sep = "")
    table <- generics::tidy(fit$outcomes[[name]], conf.int = TRUE, conf.level = x$level)
    if (!is.null(table$kind)) table <- table[table$kind == "effect", ]
    shown <- data.frame(
      effect = format_value(table$estimate), low = format_value(table$conf.low),
      high = format_value(table$conf.high)
    )
    names(shown)[-1L] <- interval_names(fit, x$level)
    if (all(is.na(table$conf.low))) shown <- shown[1L]
    rownames(shown) <- table$term
    print(shown)
    cat("\n")
  }
  cat(privacy_summary(fit, all_outcomes), weak_together(fit), sep = "\n")
  invisible(x)
}

outcome_headline <- function(fit) {
  first <- fit$outcomes[[1L]]
  what <- if (fit$privacy$private) "Private synthetic controls" else "Synthetic controls"
  paste0(
    what, " of ", length(fit$outcomes), " outcomes by ", describe_method(first$release),
    estimator_note(first)
  )
}

#' Who the people are: the same for all outcomes
#' @noRd
outcome_people <- function(fit) {
  first <- fit$outcomes[[1L]]
  if (inherits(first, "dp_cohorts")) {
    return(cohort_lines(first)[-1L])
  }
  first$release$panel$outcome <- paste(names(fit$outcomes), collapse = ", ")
  describe_targets(first)
}

#' One outcome's average effect
#' @noRd
outcome_lines <- function(fit, name, level) {
  lines <- if (inherits(fit, "dp_cohorts")) {
    overall_lines(fit, level)
  } else {
    c(average_lines(fit, level), if (inherits(fit, "dp_synth_classical")) fit_quality_lines(fit))
  }
  # What is said of the budget is of all outcomes.
  lines <- setdiff(lines, weak_line(fit))
  c(paste0("  ", name), paste0("  ", lines))
}

# What one of them states is its share.
all_outcomes <- "for all outcomes together"

weak_together <- function(fit) {
  weak <- if (fit$privacy$private) weak_budget(fit$privacy$epsilon)
  if (!is.null(weak)) strwrap(weak, 92L, prefix = "  ")
}

# Plots and reports --------------------------------------------------------------------------------

#' @rdname dp_outcomes
#' @export
report.dp_outcomes <- function(x, format = c("text", "markdown", "latex"), ...) door("report", {
  format <- check_choice(format, c("text", "markdown", "latex"))
  each <- lapply(x$outcomes, function(fit) {
    # The budget is that of all outcomes.
    share <- c("epsilon", "delta", "rho")
    release <- fit$release
    release$privacy[share] <- x$privacy[share]
    fit$release <- release
    report(fit, format = format, ...)
  })
  out <- each[[1L]]
  for (part in c("result", "methods", "guarantee", "references")) {
    out[[part]] <- unique(unlist(lapply(each, `[[`, part), use.names = FALSE))
  }
  out
})
