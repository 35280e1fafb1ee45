# Tests of a private generalised linear model's terms, and what its release cannot give.

#' @rdname dp_glm-methods
#' @export
anova.dp_glm <- function(object, ...) door("anova", {
  if (...length()) {
    abort(c(
      "{.fn anova} of a {.fn dp_glm} tests the terms of one fit.",
      i = "Two fits are two releases: their deviances are values of people."
    ), "argument")
  }
  glm_covariance(object, "total")
  tests <- lapply(term_places(object$columns), wald_chi_square, fit = object)
  lost <- names(tests)[vapply(tests, function(test) is.na(test$Chisq), NA)]
  wald_table(tests, object, if (length(lost)) {
    paste0("Not identified at this budget, so not tested: ", paste(lost, collapse = ", "))
  })
})

wald_chi_square <- function(places, fit) {
  test <- wald_statistic(places, fit)
  data.frame(
    Df = test$df, Chisq = test$value,
    `Pr(>Chisq)` = stats::pchisq(test$value, test$df, lower.tail = FALSE), check.names = FALSE
  )
}
