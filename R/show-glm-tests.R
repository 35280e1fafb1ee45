# Tests of the terms of a private generalised linear model, and refusals of other tests.

#' @rdname dp_glm-methods
#' @export
anova.dp_glm <- function(object, ...) door("anova", {
  if (...length()) {
    abort(c(
      "{.fn anova} of a fit by {.fn dp_glm} accepts only that fit, and tests its terms.",
      i = "Two fits are two releases, and their deviances depend on people's rows."
    ), "argument")
  }
  glm_covariance(object, "total")
  tests <- lapply(term_places(object$columns), function(places) {
    wald_row(wald_statistic(places, object), object, "Chisq")
  })
  lost <- names(tests)[vapply(tests, function(test) is.na(test$Chisq), NA)]
  wald_table(tests, object, if (length(lost)) {
    paste0("Not identified at this budget, so not tested: ", paste(lost, collapse = ", "))
  })
})
