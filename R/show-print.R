#' Print and summarise a fit or a release
#'
#' The print gives the estimated quantity, the average effect with its interval (or the reason why
#' there is no interval), and the privacy guarantee with its theorem. If the guarantee is not valid,
#' the print states NOT PRIVATE and the reason.
#'
#' The last lines of a summary list the steps that used the budget. For method `"gram"` these can be
#' the clipping radius, the donors' mean and moments, both again in coordinates with equal variances
#' (`whitened`), the donors' prediction errors (`placebo error`), and sums in the target's direction
#' (`target`).
#'
#' @param x,object (`dp_synth`, `dp_release` or `summary.dp_synth`)\cr the object to print.
#' @param level (`number`, in (0, 1))\cr coverage of the intervals.
#' @param ... unused.
#' @return `print()` returns its argument, invisibly. `summary()` of a fit returns a list of class
#'   `summary.dp_synth`:
#'   * `fit` and `level`: the arguments.
#'   * `effects`: a data frame, the average first, then each period: `target`, `term`, `estimate`,
#'     `conf.low`, `conf.high`, `p.value` (of no effect), `privacy.se` (standard deviation of the
#'     estimate over releases), in outcome units; limits and `p.value` are `NA` without an interval.
#'   * `simultaneous`: limits that cover all periods jointly.
#'   * `test`: the test for an effect in any period, a list of `statistic` (the largest effect in
#'     units of its standard error), `periods` and `p.value`. The p-value allows for the search over
#'     all periods, and is calibrated on the donors' largest placebo errors. `test` is `NULL`
#'     without an interval or without privacy.
#' @examples
#' panel <- sim_panel(n = 1000, T0 = 10, T1 = 3, effect = 0.3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 2, bounds = c(-1, 1)
#' )
#' summary(fit)
#' @name print.dp_synth
NULL

#' @rdname print.dp_synth
#' @export
print.dp_synth <- function(x, level = 0.95, ...) {
  say_lines(x, fit_headline(x), describe_targets(x), "", average_lines(x, level),
    doubt_lines(fit_doubts(x)), "", privacy_lines(x), growing_line(x$release)
  )
}

#' @rdname print.dp_synth
#' @export
print.dp_release <- function(x, ...) {
  print_lines(x, release_lines(x), c(privacy_lines(x), growing_line(x)))
}

#' @rdname print.dp_synth
#' @export
summary.dp_release <- function(object, ...) {
  new_summary(object, c(release_lines(object), growing_line(object)), ...)
}

release_lines <- function(x) {
  title <- if (x$privacy$private) "Private release of donors'" else "Release of donors' raw"
  c(
    paste0(title, " statistics by ", describe_method(x)), panel_line(x), gaps_line(x),
    doubt_lines(panel_doubts(x))
  )
}

#' @rdname print.dp_synth
#' @export
summary.dp_synth <- function(object, level = 0.95, ...) door("summary", {
  check_no_dots(...)
  level <- check_level(level)
  columns <- c("target", "term", "estimate", "conf.low", "conf.high", "p.value", "privacy.se")
  structure(list(
    fit = object, level = level, effects = effect_limits(object, level)[columns],
    simultaneous = effect_limits(object, level, simultaneous = TRUE)[columns[1:5]],
    test = any_effect_test(object)
  ), class = "summary.dp_synth")
})

#' @rdname print.dp_synth
#' @export
print.summary.dp_synth <- function(x, ...) {
  fit <- x$fit
  cat(fit_headline(fit), describe_targets(fit), "", sep = "\n")
  table <- x$effects
  shown <- effects_shown(table, x$level)
  if (fit$release$privacy$private) shown[["privacy SE"]] <- format_value(table$privacy.se)
  rownames(shown) <- table$term
  print(shown)
  said <- c(
    sub("^ +", "", missing_line(fit, x$level)), average_test_line(table), any_test_line(x$test),
    interval_meaning(fit)
  )
  said <- c(said, unlike_words(fit), wide_words(fit), fit_doubts(fit))
  cat("\n", if (length(said)) paste0(c(said, ""), "\n"), sep = "")
  say_lines(x, privacy_summary(fit), growing_line(fit$release))
}

# Lines --------------------------------------------------------------------------------------------

#' @param of (`string` or `NULL`)\cr the common subject of several fits.
#' @noRd
fit_headline <- function(fit, of = NULL) {
  paste0(
    if (fit$release$privacy$private) "Private synthetic control" else "Synthetic control",
    if (!is.null(of)) paste0("s of ", of), " by ", describe_method(fit$release),
    if (fit$estimator == "did") ", difference-in-differences"
  )
}

describe_method <- function(release) {
  if (is_classical(release$method)) {
    return(paste0("estimator \"", release$method, "\""))
  }
  paste0(
    "method \"", release$method, "\"",
    if (has_calibrations(release$method)) paste0(", ", release$calibration, " calibration")
  )
}

panel_line <- function(release) {
  panel <- release$panel
  dates <- length(release$statistics$cohorts$T0)
  paste0(
    "  ", panel$outcome, ": ", count_of(panel$n, "donor"), weights_words(release), ", ",
    count_of(panel$T0, "period"), " before and ", panel$T1, " from the ",
    if (dates) "first adoption" else "treatment", " on",
    if (dates) paste0("; ", dates, " adoption dates"),
    if (!is.null(panel$covariates)) {
      paste0("; covariates: ", paste(covariates_told(release), collapse = ", "))
    }
  )
}

describe_targets <- function(fit) {
  size <- sum(fit$size)
  protected <- is_released_group(fit)
  people <- if (size > 1 && is.null(fit$units) && !protected) {
    paste0(" (mean of ", size, " people)")
  }
  c(
    paste0("  treated: ", rownames(fit$target)[[1L]], people), panel_line(fit$release),
    gaps_line(fit$release), protects_line(fit, protected)
  )
}

#' Words on the protected people, if misunderstanding is possible
#' @noRd
protects_line <- function(fit, protected) {
  if (!fit$release$privacy$private) {
    return(NULL)
  }
  if (protected) {
    c(
      "  protects everyone, donors and treated people: results about treated people contain noise",
      paste0("  ", few_unseen_words(fit$release))
    )
  } else if (grepl("^mean of .* treated units$", rownames(fit$target)[[1L]])) {
    donors_only_line
  } else if (sum(fit$size) == 1) {
    "  protects the donors; the treated unit's data are public"
  }
}

#' A limitation of averages over protected people
#' @noRd
few_unseen_words <- function(release) {
  least <- least_seen(release)
  paste0(
    "an effect on only a few treated people",
    if (!is.null(least)) {
      paste0(" (fewer than about ", format(100 * min(1, signif(least, 1))), " %)")
    }, " is not seen"
  )
}

#' The same as a sentence, for a group that is protected by noise
#' @noRd
few_unseen_sentence <- function(release) {
  if (release$privacy$private && !is.null(release$panel$treated)) {
    paste0(sub("^an", "An", few_unseen_words(release)), ".")
  }
}

donors_only_line <- "  protects the donors; the treated units' data are public"

average_lines <- function(fit, level) {
  table <- effect_limits(fit, level)
  row <- table[table$term == "average", ]
  c(
    paste0("  average effect   ", format_value(row$estimate), interval_text(fit, row, level)),
    missing_line(fit, level), doubt_lines(c(unlike_words(fit), wide_words(fit))),
    noise_note(fit, row),
    carry_note(fit), weak_line(fit)
  )
}

interval_text <- function(fit, row, level) {
  if (is.na(row$conf.low)) {
    return("")
  }
  limits <- paste0(format_value(row$conf.low), ", ", format_value(row$conf.high))
  coverage <- paste(format(100 * level, digits = 4L), "% interval")
  if (noise_only(fit)) {
    paste0("  [", coverage, " of the privacy noise alone: ", limits, "]")
  } else {
    paste0("  [", coverage, ": ", limits, "; p ", format_p(row$p.value), "]")
  }
}

#' Reason for a missing interval
#' @noRd
missing_line <- function(fit, level) {
  reason <- if (!noise_only(fit)) missing_interval(fit, 1L, level)
  if (!is.null(reason)) {
    paste0("  no interval: ", sub("[.]$", "", reason))
  }
}

#' The p-value of the average, and the question that it answers
#' @noRd
average_test_line <- function(table) {
  p <- table$p.value[table$term == "average"]
  if (!is.na(p)) paste0("Is there an effect on average? p ", format_p(p))
}

#' The p-value of the largest effect
#' @noRd
any_test_line <- function(test) {
  # The effect in the only period is the average effect.
  if (is.null(test) || test$periods == 1L) {
    return(NULL)
  }
  paste0(
    "Is there an effect in any of the ", count_of(test$periods, "period"), "? p ",
    format_p(test$p.value), " (largest ratio of an effect to its standard error for joint ",
    "intervals: ", format(test$statistic, digits = 3L), ")"
  )
}

#' Coverage of the intervals
#' @noRd
interval_meaning <- function(fit) {
  if (!is.null(missing_interval(fit)) || noise_only(fit)) {
    return(NULL)
  }
  c(
    paste0("Intervals are for ", people_words(fit), if (fit$release$panel$T1 > 1L) {
      ", each period by itself; for joint intervals use confint(simultaneous = TRUE)"
    }, "."),
    if (fit$release$privacy$private) {
      "Intervals are calibrated on the donors' placebo errors, which are released with noise."
    } else {
      "Intervals are based on the donors' leave-one-out errors."
    }
  )
}

#' The people to whom the effect refers
#' @noRd
people_words <- function(fit) {
  size <- sum(fit$size)
  if (size == 1) "one unit drawn like the donors" else paste("the mean of", size, "people")
}

#' The share of noise in the estimate, and its meaning
#' @noRd
noise_note <- function(fit, row) {
  release <- fit$release
  if (!release$privacy$private || is.na(row$privacy.se)) {
    return(NULL)
  }
  noise <- raw_noise(fit, row)
  c(
    if (!is.na(row$std.error) && !noise_only(fit)) {
      standard_error_text(row)
    } else {
      paste0(
        "  standard error from the privacy noise alone: ", format_value(signif(row$privacy.se, 3L))
      )
    },
    if (is_swamping(noise, release)) {
      unlike <- " before the estimate is shrunk towards the target's own level"
      line <- swamped_line(noise, release, if (noise > row$privacy.se) unlike)
      paste0(line, "\n  ", too_few_words(fit))
    }
  )
}

#' The standard error, and the part of it from the privacy noise alone
#' @noRd
standard_error_text <- function(row) {
  paste0(
    "  standard error ", format_value(signif(row$std.error, 3L)), " (privacy noise alone: ",
    format_value(signif(row$privacy.se, 3L)), ")"
  )
}

#' Standard deviation of the noise on the average before the estimate is shrunk towards the target's
#' level; after shrinkage the noise would seem small
#' @noRd
raw_noise <- function(fit, row) {
  if (is.null(fit$variance[[1L]]$noise)) row$privacy.se else model_errors(fit, 1L, "noise")[[1L]]
}

#' The group that is too small for the budget, the smaller of two protected groups
#'
#' Each group has the whole budget, so the noise of a mean is inversely proportional to the size of
#' the group.
#' @noRd
too_few_words <- function(fit) {
  release <- fit$release
  at <- paste0(" at epsilon = ", format(release$privacy$epsilon))
  treated <- release$panel$treated
  if (is_released_group(fit) && treated < release$panel$n) {
    paste0(count_words(treated), " treated people", at, " are too few for this protection; ",
      "more people or a larger epsilon help.")
  } else {
    paste0(count_of(release$panel$n, "donor"), at, " cannot support this method; ",
      "dp_plan() gives the number of donors or the budget that it needs.")
  }
}

#' Does the counterfactual differ from the target's past?
#' @noRd
carry_note <- function(fit) {
  release <- fit$release
  if (!release$privacy$private || !gives_moments(release$method)) {
    return(NULL)
  }
  pre <- seq_len(release$panel$T0)
  own <- mean(fit$target[1L, pre])
  shift <- max(abs(fit$counterfactual[1L, -pre] - own))
  if (shift <= 1e-6 * max(release$bounds$upper - release$bounds$lower)) {
    paste(
      "  This is the target's own before-after difference: the noise hides everything that the",
      "donors could contribute."
    )
  }
}

#' Notes on a budget that protects little, and on repeated releases
#' @noRd
weak_line <- function(fit) {
  weak <- weak_budget(fit$release$privacy$epsilon)
  if (!is.null(weak)) strwrap(weak, 92L, prefix = "  ")
}
