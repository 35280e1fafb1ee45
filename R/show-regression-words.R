# Text shared by the methods of private regressions, on screen and in a paper.

#' Print a regression with heading, coefficients and notes
#' @noRd
print_regression <- function(x, heading, notes) {
  cat(heading, sep = "\n")
  cat("\nCoefficients:\n")
  print(format(x$coefficients, digits = 4L), quote = FALSE)
  cat_notes(notes)
  cat_notes(privacy_lines(x))
  invisible(x)
}

cat_notes <- function(notes) {
  if (length(notes)) cat("\n", paste0(notes, "\n"), sep = "")
}

#' The matrix printed by `summary()`
#' @param table (`data.frame`)\cr from `tidy()`.
#' @param letter (`string`)\cr `"t"` or `"z"`.
#' @noRd
summary_matrix <- function(table, letter) {
  out <- as.matrix(table[c("estimate", "std.error", "privacy.se", "statistic", "p.value")])
  dimnames(out) <- list(table$term, c(
    "Estimate", "Std. Error", "of which privacy", paste(letter, "value"),
    paste0("Pr(>|", letter, "|)")
  ))
  out
}

#' Print the heading and the coefficients of a summary
#' @param errors (`string` or `NULL`)\cr further words on sampling errors.
#' @noRd
print_summary_matrix <- function(x, errors = NULL) {
  cat(x$heading, sep = "\n")
  cat("\nCoefficients (errors: sampling", errors, if (x$private) " and privacy together", "):\n",
    sep = "")
  stats::printCoefmat(x$coefficients,
    digits = 4L, signif.stars = FALSE, cs.ind = 1:3, tst.ind = 4L, P.values = TRUE,
    has.Pvalue = TRUE
  )
}

# Notes --------------------------------------------------------------------------------------------

bounds_served_note <- paste(
  "Medians are not identified at this budget, so bounds were used instead. Tighter bounds, more",
  "people or a larger epsilon help."
)

weak_budget_of_rows <- function(epsilon) {
  if (epsilon > weak_epsilon) {
    paste0("epsilon = ", format(epsilon, digits = 4L), " protects little.")
  }
}

# Papers -------------------------------------------------------------------------------------------

#' Sentences on the slopes, one per slope
#' @param table (`data.frame`)\cr the table of all coefficients, the intercept first, with limits,
#'   `identified`, and words on standard errors as `errors`, if available.
#' @param on (`string`)\cr the outcome, or the function of it that is modelled.
#' @noRd
coefficient_sentences <- function(table, on, level) {
  vapply(seq_len(nrow(table))[-1L], function(i) {
    row <- table[i, ]
    paste0(
      "The coefficient of ", row$term, " in the model of ", on, " is ", format_value(row$estimate),
      if (!row$identified) {
        " (not identified at this budget)"
      } else if (!is.null(row$errors)) {
        paste0(
          " (", percent_text(level), " interval ", format_value(row$conf.low), " to ",
          format_value(row$conf.high), ", ", row$errors, ")"
        )
      }, "."
    )
  }, "")
}

#' A report of a regression
#' @param sentences (`function` of the fit and the level)\cr a function that returns the results.
#' @noRd
regression_report <- function(x, sentences, methods, references, format, level, ...) {
  check_no_dots(...)
  level <- check_level(level)
  format <- check_choice(format, c("text", "markdown", "latex"))
  marked_report(list(
    result = sentences(x, level), methods = methods, guarantee = guarantee_of_rows(x$privacy),
    references = references
  ), format)
}

guarantee_of_rows <- function(privacy) {
  privacy <- known_privacy(privacy)
  if (!privacy$holds) {
    doubt <- isTRUE(privacy$doubt)
    return(paste0(
      if (doubt) "NOT KNOWN TO BE PRIVATE: " else "NOT PRIVATE: ", privacy$reason, "."
    ))
  }
  right <- 1 - (1 - privacy$delta) * stats::plogis(-privacy$epsilon)
  several <- is_by_person(privacy)
  paste0(
    "The release is (epsilon, delta)-differentially private with epsilon = ",
    format_epsilon(privacy$epsilon), " and delta = ", format(privacy$delta),
    ", where ", neighbour_words(privacy), ". Proof: ", privacy$theorem, "; ",
    noise_words(privacy), ". Suppose that somebody reads all released results, knows all ",
    "other rows, and decides between two possible ", if (several) "sets of ",
    "rows of one person, which were equally likely beforehand. This decision is correct with ",
    "probability at most ", formatC(100 * right, digits = 1L, format = "f"),
    " % (by tossing a coin: 50 %). Further releases from these people's data increase this limit. ",
    "Public facts are the number of ", if (several) "people" else "rows",
    ", the formula, ", and_words(c("the bounds", "the levels", public_of_treated(privacy))), ".",
    assumed_words(privacy)
  )
}

#' The noisy number of used rows, and the share of residuals beyond three standard deviations, or
#' `NA`
#' @noRd
lm_counts <- function(x) {
  if (!x$privacy$private) {
    return(c(used = x$release$rows, far = 0, noise = 0))
  }
  counts <- x$release$counts
  # Versions up to 0.2.0 counted clipped residuals instead.
  if (is.null(counts) || !"far" %in% names(counts)) {
    return(c(used = NA_real_, far = NA_real_, noise = NA_real_))
  }
  used <- min(max(counts[["rows"]], 1), x$nobs)
  c(used = used, far = min(max(counts[["far"]] / used, 0), 1), noise = counts[["sd"]] / used)
}

#' Sentence on gross outliers, to which a fit with clipped residuals is robust, or `NULL`
#'
#' In a normal distribution .3 % of the values lie beyond three standard deviations. The share is
#' reported from 2 % on, or if the excess may move a slope by a standard error, which decreases with
#' the root of n. In both cases the share must exceed the noise of the count. Without clipping the
#' fit is not robust.
#' @noRd
robust_words <- function(x) {
  counts <- lm_counts(x)
  least <- min(0.02, 0.003 + 1 / sqrt(counts[["used"]]) + counts[["noise"]])
  if (!x$privacy$private || is.na(counts[["far"]]) ||
        counts[["far"]] < max(least, 2 * counts[["noise"]]) || is.infinite(last_clip(x))) {
    return(NULL)
  }
  paste0(
    "About ", format(100 * counts[["far"]], digits = 2L), " % of the residuals lie beyond three ",
    "standard deviations, and residuals beyond ", format(last_clip(x), digits = 2L),
    " standard deviations are clipped. The slopes belong to a robust regression (Huber's), not to ",
    "least squares, and may differ from the slopes of lm() by several standard errors. The ",
    "residual standard error is smaller than in lm(), and R-squared is larger."
  )
}

#' Words on the part of standard errors that is not noise
#' @noRd
allowance_words <- function(x) {
  if (x$privacy$private && x$plan$resolved && is.finite(last_clip(x))) paste(
    "Rows with extreme regressors or large residuals count less than in lm(). Standard errors",
    "allow for the usual effect of these weights on real data. The effect is larger if the mean of",
    "the outcome is far from linear in the regressors."
  )
}

#' The last round's clipping bound in residual standard deviations; `Inf` if the bounds allow no
#' larger residual
#' @noRd
last_clip <- function(x) {
  rounds <- x$release$rounds
  clip <- rounds[[length(rounds)]]$clip
  scale <- x$release$scale[[length(x$release$scale)]]
  outcome <- x$columns$variables[[length(x$columns$variables)]]
  if (clip * scale > 2 * (1 - 1e-9)) {
    return(Inf)
  }
  clip * scale * (outcome$upper - outcome$lower) / 2 / x$sigma
}

#' The largest case weight of a regression; without privacy weights are not limited
#' @noRd
weight_words <- function(x) {
  if (!isTRUE(x$columns$weighted)) {
    return(NULL)
  }
  if (!x$privacy$private) {
    return(", with weights")
  }
  paste0(", weights up to ", format(x$max_weight %||% x$public$max_weight))
}

#' Sources of the errors in a sentence on a coefficient
#' @noRd
error_sources <- function(private) {
  if (private) "sampling and privacy together" else "sampling alone; NOT PRIVATE"
}
