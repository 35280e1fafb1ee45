# What a private generalised linear model says of itself.

#' @rdname dp_glm-methods
#' @export
print.dp_glm <- function(x, ...) {
  cat(glm_heading(x), sep = "\n")
  cat("\nCoefficients:\n")
  print(format(x$coefficients, digits = 4L), quote = FALSE)
  notes <- glm_notes(x)
  if (length(notes)) cat("\n", paste0(notes, "\n"), sep = "")
  invisible(x)
}

#' @rdname dp_glm-methods
#' @export
summary.dp_glm <- function(object, ...) {
  table <- tidy.dp_glm(object)
  coefficients <- as.matrix(table[c("estimate", "std.error", "privacy.se", "statistic", "p.value")])
  dimnames(coefficients) <- list(
    table$term, c("Estimate", "Std. Error", "of which privacy", "z value", "Pr(>|z|)")
  )
  structure(list(
    heading = glm_heading(object), coefficients = coefficients, notes = glm_notes(object),
    nobs = object$nobs, private = object$privacy$private
  ), class = "summary.dp_glm")
}

#' @rdname dp_glm-methods
#' @export
print.summary.dp_glm <- function(x, ...) {
  cat(x$heading, sep = "\n")
  cat("\nCoefficients (errors: sampling", if (x$private) " and privacy together", "):\n", sep = "")
  stats::printCoefmat(x$coefficients,
    digits = 4L, signif.stars = FALSE, cs.ind = 1:3, tst.ind = 4L, P.values = TRUE,
    has.Pvalue = TRUE
  )
  if (length(x$notes)) cat("\n", paste0(x$notes, "\n"), sep = "")
  invisible(x)
}

glm_heading <- function(x) {
  c(
    paste(
      glm_families()[[x$family]]$words, "of", format(x$nobs, big.mark = ","), "people",
      if (x$privacy$private) paste("by", glm_mechanisms()[[x$method]]$title)
    ),
    paste0("  ", x$text), paste0("  ", row_promise(x$privacy))
  )
}

glm_notes <- function(x) {
  lost <- names(x$identified)[!x$identified]
  c(
    if (isFALSE(x$plan$located) && has_numbers(x$columns)) paste(
      "Medians are not identified at this budget: bounds served instead. Tighter bounds, more",
      "people or a larger epsilon help."
    ),
    if (length(lost) && x$privacy$private && !isTRUE(x$release$failed)) paste0(
      "Not identified at this budget: ", paste(lost, collapse = ", "), ". The ridge that privacy ",
      "needs outweighs the rows: estimates are noise, or drawn to zero; do not trust their ",
      "intervals."
    ),
    if (isTRUE(x$release$failed)) paste(
      "The minimiser was not found to the accuracy that the proof needs. Nothing of it is",
      "released, and the budget is spent. That this happened is not covered by the guarantee."
    ),
    if (x$privacy$private && !is.null(x$covariance) && length(x$public$facts$wishes)) paste(
      "Standard errors are about the population's own ridge fit, not slopes without a ridge."
    ),
    if (x$privacy$private && is.null(x$covariance)) {
      paste0("No standard errors: ", glm_no_errors(x)$reason, ".")
    },
    if (x$privacy$private) weak_budget_of_rows(x$privacy$epsilon)
  )
}

#' Is some regressor a number, whose median had to be found?
#' @noRd
has_numbers <- function(columns) {
  regressors <- columns$variables[-length(columns$variables)]
  any(vapply(regressors, function(variable) variable$kind == "value", NA))
}
