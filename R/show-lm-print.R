# Prints of private regressions.

#' @rdname dp_lm-methods
#' @export
print.dp_lm <- function(x, ...) {
  print_regression(x, lm_heading(x), lm_notes(x))
}

#' @rdname dp_lm-methods
#' @export
summary.dp_lm <- function(object, ...) door("summary", {
  structure(list(
    heading = lm_heading(object), coefficients = summary_matrix(generics::tidy(object), "t"),
    robust = object$robust, sigma = object$sigma, r.squared = object$r.squared,
    df.residual = object$df.residual, notes = c(lm_notes(object), allowance_words(object)),
    robust_by = if (is_by_person(object$privacy)) {
      "clustered by person"
    } else {
      "heteroskedasticity-robust"
    },
    nobs = object$nobs, far = far_words(object), private = object$privacy$private,
    privacy = privacy_summary(object)
  ), class = "summary.dp_lm")
})

#' @rdname dp_lm-methods
#' @export
print.summary.dp_lm <- function(x, ...) {
  print_summary_matrix(x, if (x$robust) paste0(" (", x$robust_by, ")"))
  noisy <- if (x$private) " (noisy)"
  cat(
    "\nResidual standard error: ", format(x$sigma, digits = 4L), noisy, ", R-squared: ",
    format(x$r.squared, digits = 3L), noisy, "\n", sep = ""
  )
  if (length(x$far)) cat(x$far, "\n", sep = "")
  cat_notes(x$notes)
  cat_notes(x$privacy)
  invisible(x)
}

lm_heading <- function(x) {
  c(
    paste("Linear regression of", format(x$nobs, big.mark = ","), "people"),
    paste0("  ", x$text, weight_words(x))
  )
}

#' Notes for the reader of a fit, on limits of the budget and a weak guarantee
#' @noRd
lm_notes <- function(x) {
  lost <- names(x$identified)[!x$identified]
  unlimited <- x$plan$located & x$privacy$private & is.na(x$coefficients[lost])
  c(
    if (!x$plan$located) bounds_served_note,
    # A missing slope is not shrunk.
    if (!x$plan$resolved && !all(is.na(x$coefficients))) paste(
      "The moments of the columns are not resolved at this budget: slopes are shrunk and intervals",
      "are wide. Fewer columns, more people or a larger epsilon help."
    ),
    if (length(lost) && x$privacy$private) paste0(
      "Not identified at this budget: ", paste(lost, collapse = ", "), ". ",
      if (all(unlimited)) {
        "They have no estimate."
      } else if (x$plan$located) {
        paste(
          "Their intervals contain all slopes that are compatible with the noisy moments (with the",
          "p-value of Anderson and Rubin's test), or all slopes that the outcome's standard",
          "deviation allows (without a p-value)."
        )
      } else {
        "Their intervals are unbounded."
      }
    ),
    if (length(lost) && !x$privacy$private) paste0(
      "Not identified, because the column is constant or a combination of earlier columns: ",
      paste(lost, collapse = ", "), "."
    ),
    robust_words(x), wide_lm(x),
    if (x$vcov == "HC" && !x$robust) {
      "Sampling errors of a submodel assume a constant variance, unlike those of the full model."
    },
    lm_doubts(x),
    if (x$privacy$private) weak_budget_of_rows(x$privacy$epsilon)
  )
}

#' @noRd
far_words <- function(x) {
  counts <- lm_counts(x)
  if (!x$privacy$private || is.na(counts[["far"]])) {
    return(NULL)
  }
  paste0(
    if (is_by_person(x$privacy)) "People" else "Rows", " used: about ",
    format(signif(counts[["used"]], 3), big.mark = ","),
    "; residuals beyond three standard deviations: ", format(100 * counts[["far"]], digits = 2L),
    " % (both noisy)."
  )
}

#' @rdname lm_path
#' @export
print.dp_lm_path <- function(x, ...) {
  kind <- if (x$alpha == 1) "Lasso" else if (x$alpha == 0) "Ridge" else "Elastic net"
  cat(kind, " of ", x$text, " at ", nrow(x$path), " penalties, from one release\n", sep = "")
  best <- x$path[x$best, ]
  cat(
    "Best: penalty ", format(best$penalty, digits = 3L), ", R-squared ",
    format(best$r.squared, digits = 3L), if (x$privacy$private) " (noisy)", "\n", sep = ""
  )
  print(format(x$coefficients[x$best, ], digits = 4L), quote = FALSE)
  cat_notes(privacy_lines(x))
  invisible(x)
}

#' @rdname lm_path
#' @export
as.data.frame.dp_lm_path <- function(x, row.names = NULL, optional = FALSE, ...) {
  data.frame(x$path, x$coefficients, row.names = row.names, check.names = FALSE)
}

#' @rdname lm_path
#' @export
tidy.dp_lm_path <- function(x, ...) door("tidy", {
  check_table_dots(...)
  steps <- nrow(x$path)
  data.frame(
    term = rep(colnames(x$coefficients), each = steps), step = seq_len(steps),
    estimate = as.vector(x$coefficients), penalty = x$path$penalty, stringsAsFactors = FALSE
  )
})
