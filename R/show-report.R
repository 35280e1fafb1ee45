# Text on a fit for a paper. Its contents are public, released, or theorems.

#' Report of a fit in words: the sentence and the methods paragraph of a paper
#'
#' `report()` describes the results, the method and the privacy guarantee in words, with the numbers
#' of the fit, at no cost.
#'
#' @param x (`dp_synth`, `dp_lm`, `dp_glm`, `dp_release` or `dp_report`)\cr a fit, or a release, for
#'   which the report contains only the methods and the guarantee. `format = "assessment"` takes any
#'   private result.
#' @param format (`string`)\cr `"text"`, `"markdown"` or `"latex"`; or `"assessment"`, which writes
#'   the paragraphs for a data protection impact assessment.
#' @param level (`number`, in (0, 1))\cr coverage of the interval.
#' @param placebo (`dp_placebo_space` or `NULL`)\cr for a classical fit without an interval, the
#'   result of [placebo_space()]; the report then gives the target's rank and the p-value.
#' @param ... unused.
#' @return A list of class `dp_report` of strings: `result` (a sentence for each average effect),
#'   `methods`, `guarantee`, `references`, and `format`. The list is printed with `cat()`, so the
#'   chunk option `results = "asis"` inserts the text into a document. For a fit that is not private
#'   the text states NOT PRIVATE instead of a guarantee. An assessment contains `processing`,
#'   `guarantee`, `questions` (singling out, linkability and inference, from the European opinion on
#'   anonymisation; absent if the guarantee is not valid), `limits` and `budget`. It is computed
#'   from public facts of the release alone.
#' @section Errors: `dpsc_error_argument`.
#' @references Kairouz, P., Oh, S. and Viswanath, P. (2015). The Composition Theorem for
#'   Differential Privacy. ICML. (A test between two neighbours, equally likely beforehand, is right
#'   with probability at most `1 - (1 - delta) / (1 + exp(epsilon))`.)
#' @examples
#' fit <- dp_synth(pressure ~ enrolled,
#'   data = clinic_panel, index = c("patient", "month"),
#'   epsilon = 1, delta = 1e-6, bounds = c(80, 200), size = 60
#' )
#' report(fit)
#' report(fit, format = "latex")$result
#' @export
report <- function(x, ...) {
  if (asks_assessment(list(...))) return(assessment_report(x))
  UseMethod("report")
}

#' @rdname report
#' @export
report.default <- function(x, ...) door("report", stop_no_report(x))

#' @rdname report
#' @export
report.dp_synth <- function(x, format = c("text", "markdown", "latex"), level = 0.95,
                            placebo = NULL, ...) door("report", {
  check_no_dots(...)
  level <- check_level(level)
  x$release <- known_release(x$release)
  format <- check_choice(format, c("text", "markdown", "latex"))
  if (!is.null(placebo) && !inherits(placebo, "dp_placebo_space")) {
    abort("{.arg placebo} must come from {.fn placebo_space}.", "argument")
  }
  new_report(
    result = result_sentences(x, level, placebo),
    methods = methods_paragraph(
      x$release, x$estimator, if (states_interval(x, level)) known_parts(x), rownames(x$target),
      c(
        fit_doubts(x), unlike_words(x), if (states_interval(x, level)) wide_words(x),
        few_unseen_sentence(x$release)
      )
    ),
    release = x$release, estimator = x$estimator, format = format
  )
})

#' @rdname report
#' @export
report.dp_release <- function(x, format = c("text", "markdown", "latex"), ...) door("report", {
  check_no_dots(...)
  x <- known_release(x)
  format <- check_choice(format, c("text", "markdown", "latex"))
  new_report(
    result = NULL, methods = methods_paragraph(x, "", character(), character()),
    release = x, estimator = "", format = format
  )
})

new_report <- function(result, methods, release, estimator, format) {
  parts <- list(
    result = result, methods = methods, guarantee = guarantee_words(release),
    references = report_references(release)
  )
  marked_report(parts, format)
}

# Sentences ----------------------------------------------------------------------------------------

#' Is there an interval of any kind, with a method to describe?
#' @noRd
states_interval <- function(fit, level) {
  is_classical(fit$release$method) || is.null(missing_interval(fit, 1L, level))
}

result_sentences <- function(fit, level, placebo) {
  table <- effect_limits(fit, level)
  panel <- fit$release$panel
  rows <- which(table$term == "average")
  vapply(rows, function(i) {
    paste0(
      "The estimated average effect of the treatment of ", table$target[[i]], " on ",
      panel$outcome, " over ", count_of(panel$T1, "period"), " is ",
      format_value(table$estimate[[i]]), " (",
      uncertainty_words(fit, table[i, ], level, placebo), "; ", short_guarantee(fit),
      ")."
    )
  }, "")
}

uncertainty_words <- function(fit, row, level, placebo) {
  parts <- known_parts(fit)
  limits <- paste0(
    format_value(row$conf.low), " to ", format_value(row$conf.high)
  )
  coverage <- paste(format(100 * level, digits = 4L), "%")
  if (!is.null(placebo)) {
    ranked <- sum(!is.na(placebo$table$rank))
    paste0(
      "rank ", placebo$table$rank[[1L]], " of ", ranked, " in the placebo test in space, p ",
      format_p(placebo$p_value)
    )
  } else if (is.na(row$conf.low) && is_classical(fit$release$method)) {
    paste(
      "no interval is stated, because this estimator gives none; placebo_errors(fit) gives",
      "standard errors, and report(fit, placebo = placebo_space(fit)) gives a rank"
    )
  } else if (is.na(row$conf.low)) {
    reason <- missing_interval(fit, match(row$target, rownames(fit$target)), level)
    paste0("no interval is stated: ", reason)
  } else if ("prediction" %in% parts) {
    paste0(
      coverage, " interval ", limits, ", p ", format_p(row$p.value)
    )
  } else {
    paste0(
      coverage, " range of the privacy noise alone ", limits,
      "; this is not a confidence interval for the effect"
    )
  }
}

short_guarantee <- function(fit) {
  privacy <- fit$release$privacy
  if (!privacy$holds) {
    return(if (isTRUE(privacy$doubt)) "NOT KNOWN TO BE PRIVATE" else "NOT PRIVATE")
  }
  who <- if (is_released_group(fit)) "each donor and each treated person" else "each donor"
  paste0(budget_words(privacy), "-differentially private for ", who)
}

budget_words <- function(privacy) {
  if (privacy$delta == 0) {
    return(format(privacy$epsilon))
  }
  paste0("(", format(privacy$epsilon), ", ", format(privacy$delta), ")")
}

methods_paragraph <- function(release, estimator, parts, targets, doubts = NULL) {
  panel <- release$panel
  treated <- if (length(targets)) enumerate(utils::head(targets, 3L), length(targets)) else "a unit"
  paste(c(
    paste0(
      "We estimated what the outcome", if (panel$outcome != "outcome") {
        paste0(" (", panel$outcome, ")")
      }, " of ", treated, " would have been ",
      "without the treatment, by ", estimator_words(release, estimator), ", with the R package ",
      "dpsc ", as.character(utils::packageVersion("dpsc")), ". The panel contains ",
      count_of(panel$n, "donor"), weights_words(release), ", ", count_of(panel$T0, "period"),
      " before the treatment and ", count_of(panel$T1, "period"), " from the treatment on."
    ),
    covariates_words(release), bounds_words(release), gaps_words(release), doubts,
    release_words(release), interval_words(release, parts)
  ), collapse = " ")
}

estimator_words <- function(release, estimator) {
  known <- published_works()[, "Words"][release$method]
  if (!is.na(known)) {
    given <- release$settings$covariates
    return(paste0(known, if (length(given)) {
      paste0(", with the covariates ", paste(given, collapse = ", "))
    }))
  }
  private <- if (release$privacy$holds) "differentially private " else ""
  base <- if (estimator == "did") {
    "difference-in-differences estimator"
  } else {
    "ridge synthetic control"
  }
  record <- mechanism_table$dp_synth[[release$method]]
  paste0("a ", private, base, if (!is.null(record)) paste0(" ", record$title))
}

bounds_words <- function(release) {
  bounds <- release$bounds
  if (!all(is.finite(c(bounds$lower, bounds$upper)))) {
    return(NULL)
  }
  same <- length(unique(bounds$lower)) == 1L && length(unique(bounds$upper)) == 1L
  paste0(
    "Outcomes were clipped to bounds set without looking at the donors' data",
    if (same) {
      paste0(" (", format(bounds$lower[[1L]]), " to ", format(bounds$upper[[1L]]), ")")
    } else {
      ", one pair for each period"
    }, "."
  )
}

release_words <- function(release) {
  privacy <- release$privacy
  if (!privacy$private) {
    return("Nothing protects the donors in this analysis: it is NOT PRIVATE.")
  }
  if (!privacy$holds) {
    return(paste0(
      if (isTRUE(privacy$doubt)) "It is unknown whether the nominal budget " else
        "The nominal budget ",
      budget_words(privacy), if (isTRUE(privacy$doubt)) " holds" else " does not hold",
      ", because ", privacy$reason, ": the analysis is NOT ",
      if (isTRUE(privacy$doubt)) "KNOWN TO BE ", "PRIVATE."
    ))
  }
  everyone <- !is.null(release$panel$treated)
  paste0(
    "Statistics of the donors ", if (everyone) "and of the treated people ", "were released once, ",
    if (is_growing(release)) {
      paste0(
        "and ", periods_grown(release), " of ",
        count_of(release$statistics$monitor$announced, "further period"),
        " since, all under one budget, "
      )
    },
    "with noise from the operating system's generator; estimates, intervals and figures are ",
    "computed from that release ", if (everyone) "alone" else "and the treated units' data",
    ". The release satisfies ", budget_words(privacy), "-differential privacy by ",
    # Readers of the paper do not need the references to files of the package.
    gsub("[;,] proofs/[a-z]+\\.md", "", privacy$theorem), ", where ",
    sub("row", "row (all periods)", neighbour_words(privacy), fixed = TRUE), ".",
    assumed_words(privacy)
  )
}

interval_words <- function(release, parts) {
  if (!"prediction" %in% parts) {
    return(NULL)
  }
  if (is_classical(release$method)) {
    return(paste(
      "The standard error is the standard deviation of the donors' placebo effects. Intervals",
      "assume normal errors."
    ))
  }
  if (!release$privacy$private) {
    return("Intervals are based on the errors of predicting each donor from the other donors.")
  }
  steps <- release$privacy$steps$step
  if (any(grepl("placebo", steps))) {
    # For a group's mean the tails of single people do not matter, so no tails are released.
    calibrated_by <- if (any(grepl("tail", steps))) "the scale and the tails" else "the scale"
    return(paste(
      "Standard errors combine the prediction error and the known distribution of the privacy",
      "noise, and are calibrated by", calibrated_by, "of the donors' own placebo errors,",
      "released under the same budget."
    ))
  }
  paste(
    "Standard errors combine the error of predicting a unit like the donors and the known",
    "distribution of the privacy noise. The p-values assume normal errors."
  )
}

#' Sentence on the meaning of the budget for one person
#' @noRd
guarantee_words <- function(release) {
  privacy <- release$privacy
  if (!privacy$holds) {
    return(if (isTRUE(privacy$doubt)) {
      "NOT KNOWN TO BE PRIVATE: the donors' guarantee may not hold."
    } else {
      "NOT PRIVATE: the donors have no guarantee."
    })
  }
  everyone <- !is.null(release$panel$treated)
  people <- if (everyone) "people" else "donors"
  person <- if (everyone) "donor or treated person" else "donor"
  right <- 1 - (1 - privacy$delta) * stats::plogis(-privacy$epsilon)
  paste0(
    "Suppose that somebody reads all released results, knows the data of all other ",
    people, ", and decides between two possible records of one ", person, ", which were equally ",
    "likely beforehand. This decision is correct with probability at most ",
    formatC(100 * right, digits = 1L, format = "f"),
    " % (by tossing a coin: 50 %). This limit is for this release alone; further releases from ",
    "the same ", people, " increase it. Public facts are the number of donors, the periods, the ",
    "bounds",
    if (!everyone && grepl("donor", privacy$neighbours)) " and the treated units' data",
    if (everyone) ", and who is treated and when", ".",
    if (privacy$epsilon > 10) " With an epsilon above 10 this guarantee protects little."
  )
}

#' References of the works with these keys, if available
#' @noRd
cited_works <- function(keys) {
  works <- published_works()[, "Reference"]
  unname(works[intersect(keys, names(works))])
}

#' Published works by key: the `Reference`, and the `Words` for an estimator within a sentence
#' @return A `character` matrix, with `NA` for missing entries.
#' @noRd
published_works <- function() {
  works <- read.dcf(system.file("works.dcf", package = "dpsc"))
  rownames(works) <- works[, "Key"]
  works
}

report_references <- function(release) {
  # The text of the theorem contains the names of its authors.
  named <- vapply(composition_works$authors, grepl, NA, release$privacy$theorem, fixed = TRUE)
  of_theorem <- composition_works$key[named]
  wanted <- if (release$method %in% names(mechanism_table$dp_synth)) {
    c(
      if (!gives_moments(release$method) || release$privacy$holds) "rcm", of_theorem,
      if (release$privacy$holds) "exact"
    )
  } else {
    switch(release$method, simplex = , predictors = "adh", release$method)
  }
  cited_works(wanted)
}
