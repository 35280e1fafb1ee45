# The methods of a fit of several outcomes. They combine the results of the single fits and read no
# donors.

#' @noRd
#' @exportS3Method
effects_table.dp_outcomes <- function(fit, level = 0.95, simultaneous = FALSE, type = NULL,
                                      shrink = FALSE) {
  own <- outcome_level(fit, level, simultaneous)
  table <- stacked(fit$outcomes, "outcome", effects_table, own, simultaneous, type, shrink)
  table$label <- paste0(table$outcome, ": ", table$label)
  table
}

#' @rdname dp_outcomes
#' @export
tidy.dp_outcomes <- function(x, conf.int = FALSE, conf.level = 0.95, simultaneous = FALSE, ...,
                             shrink = FALSE) door("tidy", {
  tidy_effects(x, conf.int, conf.level, simultaneous, ..., shrink = shrink)
})

#' @rdname dp_outcomes
#' @export
glance.dp_outcomes <- function(x, ...) {
  out <- stacked(x$outcomes, "outcome", generics::glance)
  out[c("epsilon", "delta", "rho")] <- x$privacy[c("epsilon", "delta", "rho")]
  out$private <- x$privacy$holds
  out
}

#' @rdname dp_outcomes
#' @export
augment.dp_outcomes <- function(x, ...) stacked(x$outcomes, "outcome", generics::augment)

#' @rdname dp_outcomes
#' @export
as.data.frame.dp_outcomes <- function(x, row.names = NULL, optional = FALSE, ..., level = 0.95,
                                      simultaneous = FALSE) door("as.data.frame", {
  level <- check_level(level)
  simultaneous <- check_flag(simultaneous)
  stacked(x$outcomes, "outcome", as.data.frame, ...,
    level = outcome_level(x, level, simultaneous), simultaneous = simultaneous
  )
})

#' @rdname dp_outcomes
#' @export
coef.dp_outcomes <- function(object, ...) door("coef", coef_effects(object, ...))

#' @rdname dp_outcomes
#' @export
vcov.dp_outcomes <- function(object, ...) door("vcov", {
  each <- lapply(object$outcomes, stats::vcov, ...)
  at <- rep(names(each), vapply(each, nrow, 0L))
  names <- paste0(at, ": ", unlist(lapply(each, rownames)))
  out <- matrix(NA_real_, length(at), length(at), dimnames = list(names, names))
  for (name in names(each)) out[at == name, at == name] <- each[[name]]
  out
})

#' @rdname dp_outcomes
#' @export
confint.dp_outcomes <- function(object, parm = NULL, level = 0.95, simultaneous = FALSE,
                                ...) door("confint", {
  confint_effects(object, parm, level, simultaneous, ...)
})

#' @rdname dp_outcomes
#' @export
effects.dp_outcomes <- function(object, ...) each_fit("effects", object, stats::effects, ...)

#' @rdname dp_outcomes
#' @export
predict.dp_outcomes <- function(object, ...) each_fit("predict", object, stats::predict, ...)

#' @rdname dp_outcomes
#' @export
fitted.dp_outcomes <- function(object, ...) each_fit("fitted", object, stats::fitted, ...)

#' @rdname dp_outcomes
#' @export
residuals.dp_outcomes <- function(object, ...) each_fit("residuals", object, stats::residuals, ...)

#' @rdname dp_outcomes
#' @export
weights.dp_outcomes <- function(object, ...) each_fit("weights", object, stats::weights, ...)

#' @rdname dp_outcomes
#' @export
nobs.dp_outcomes <- function(object, ...) stats::nobs(object$outcomes[[1L]])

#' @rdname dp_outcomes
#' @export
formula.dp_outcomes <- function(x, ...) formula.dp_synth(x)

#' @rdname dp_outcomes
#' @export
update.dp_outcomes <- function(object, ...) {
  object$outcomes <- lapply(object$outcomes, stats::update, ...)
  object
}

#' @rdname dp_outcomes
#' @export
conformal.dp_outcomes <- function(...) refuse_several("conformal", "outcome")

#' @rdname dp_outcomes
#' @export
placebo_time.dp_outcomes <- function(...) refuse_several("placebo_time", "outcome")

#' @rdname dp_outcomes
#' @export
penalty_path.dp_outcomes <- function(...) refuse_several("penalty_path", "outcome")

#' @rdname dp_outcomes
#' @export
placebo_space.dp_outcomes <- function(...) refuse_several("placebo_space", "outcome")

#' @rdname dp_outcomes
#' @export
leave_one_out.dp_outcomes <- function(...) refuse_several("leave_one_out", "outcome")

#' @rdname dp_outcomes
#' @export
simulate.dp_outcomes <- function(...) refuse_several("simulate", "outcome")

# Prints -------------------------------------------------------------------------------------------

#' @rdname dp_outcomes
#' @export
print.dp_outcomes <- function(x, level = 0.95, ...) {
  cat(outcome_headline(x), outcome_people(x), "", sep = "\n")
  for (name in names(x$outcomes)) {
    cat(outcome_lines(x$outcomes[[name]], name, level), sep = "\n")
  }
  say_lines(x, "",
    "  fit$outcomes contains one fit per outcome; tidy(fit) returns the effects on all outcomes.",
    "",
    privacy_lines(x, all_outcomes), weak_together(x)
  )
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
    table <- rows_of_effects(table)
    shown <- effects_shown(table, x$level)
    rownames(shown) <- table$term
    print(shown)
    cat("\n")
  }
  say_lines(x, privacy_summary(fit, all_outcomes), weak_together(fit))
}

outcome_headline <- function(fit) {
  fit_headline(fit$outcomes[[1L]], paste(length(fit$outcomes), "outcomes"))
}

#' Words on the people, who are the same for all outcomes
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
  # Statements on the budget appear once, for all outcomes.
  lines <- setdiff(lines, weak_line(fit))
  c(paste0("  ", name), paste0("  ", lines))
}

# A single outcome would report its share.
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
    # The reported budget covers all outcomes.
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
