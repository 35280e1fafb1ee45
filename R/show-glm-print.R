# Prints of private generalised linear models.

#' @rdname dp_glm-methods
#' @export
print.dp_glm <- function(x, ...) {
  print_regression(x, glm_heading(x), glm_notes(x))
}

#' @rdname dp_glm-methods
#' @export
summary.dp_glm <- function(object, ...) door("summary", {
  structure(list(
    heading = glm_heading(object), coefficients = summary_matrix(generics::tidy(object), "z"),
    notes = glm_notes(object), nobs = object$nobs, private = object$privacy$private,
    privacy = privacy_summary(object)
  ), class = "summary.dp_glm")
})

#' @rdname dp_glm-methods
#' @export
print.summary.dp_glm <- function(x, ...) {
  print_summary_matrix(x)
  cat_notes(x$notes)
  cat_notes(x$privacy)
  invisible(x)
}

copied_rows_note <- paste(
  "Standard errors treat a person's rows as copies of each other. If the rows differ, the",
  "sampling part of the standard errors is too large, by a factor of up to the square root of the",
  "number of rows per person."
)

#' Note that standard errors treat a person's rows as equal, unless clustered errors are available
#' from released scores
#' @noRd
copied_rows <- function(x) {
  privacy <- x$privacy
  copied <- privacy$private && is_by_person(privacy) && is.null(x$release$scores)
  if (copied && !is.null(x$covariance)) copied_rows_note
}

#' Note on counts beyond the released cap, which change the meaning of the coefficients
#' @noRd
capped_counts <- function(x) {
  cap <- x$release$span
  if (!x$privacy$private || x$family != "poisson" || x$method != "objective" || is.null(cap) ||
    is.null(x$release$scores) || cap >= x$public$facts$upper) {
    return(NULL)
  }
  paste0(
    "Counts above ", format(cap, digits = 3), " (about ", format(100 * x$plan$beyond, digits = 2),
    " % of people or fewer) count as ", format(cap, digits = 3), ". If such counts are more ",
    "frequent at some values of a regressor, the regressor's coefficient is smaller in size than ",
    "in glm()."
  )
}

glm_heading <- function(x) {
  c(
    paste(
      family_words(x), "of", format(x$nobs, big.mark = ","), "people",
      if (x$privacy$private) paste("by", mechanism_table$dp_glm[[x$method]]$title)
    ),
    paste0("  ", x$text, offset_words(x), weight_words(x))
  )
}

#' @noRd
offset_words <- function(x) {
  if (!is.null(x$columns$offset)) paste0(", offset ", x$columns$offset$text)
}

glm_notes <- function(x) {
  lost <- names(x$identified)[!x$identified]
  c(
    if (isFALSE(x$plan$located) && has_numbers(x$columns)) bounds_served_note,
    if (length(lost) && x$privacy$private && !isTRUE(x$release$failed)) paste0(
      "Not identified at this budget: ", paste(lost, collapse = ", "), ". The ridge that privacy ",
      "needs outweighs the data, so these estimates are noise or shrunk to zero. Do not trust ",
      "their intervals."
    ),
    if (isTRUE(x$release$failed)) paste(
      "No coefficients are released: the minimiser of the noisy objective was not found to the",
      "accuracy that the proof needs. The budget is spent. The guarantee does not cover this",
      "message."
    ),
    if (x$privacy$private && !is.null(x$covariance) && length(x$public$facts$wishes)) paste(
      "Standard errors refer to the population's ridge fit, not to slopes without a ridge."
    ),
    copied_rows(x), capped_counts(x), robust_slopes(x),
    if (x$privacy$private && is.null(x$covariance)) {
      paste0("No standard errors: ", glm_no_errors(x)$reason, ".")
    },
    if (x$privacy$private) trimws(mechanism_table$dp_glm[[x$method]]$weighs %||% character()),
    wide_glm(x), regression_doubts(x),
    if (x$privacy$private) weak_budget_of_rows(x$privacy$epsilon)
  )
}

#' A robust fit has other slopes than lm() where errors are skewed or means are not linear
#' @noRd
robust_slopes <- function(x) {
  if (x$privacy$private && endsWith(family_words(x), "(log-cosh)")) {
    paste(
      "The coefficients are those of a robust regression, and differ from the coefficients of lm()",
      "if the errors are skewed. For the coefficients of lm() use dp_lm()."
    )
  }
}

#' Is there a numeric regressor, which needs a median?
#' @noRd
has_numbers <- function(columns) {
  regressors <- columns$variables[-length(columns$variables)]
  any(vapply(regressors, function(variable) variable$kind == "value", NA))
}

#' Name of a fit, from its method or its family
#' @noRd
family_words <- function(x) {
  # Without privacy the fit is that of glm().
  if (x$family == "gaussian" && !x$privacy$private) return("Linear regression (least squares)")
  own <- mechanism_table$dp_glm[[x$method]]$words
  if (x$family %in% names(own)) own[[x$family]] else glm_families[[x$family]]$words
}
