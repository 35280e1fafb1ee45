# Notes for readers of a regression: slopes whose limits are much wider than planned.

#' Sentence on slopes with standard errors more than twice as large as planned, or `NULL`
#' @param planned (`number`)\cr ratio of standard errors with and without privacy.
#' @param where (`string`)\cr the plan.
#' @noRd
wide_slopes <- function(fit, planned, where) {
  if (!fit$privacy$private || is.null(fit$covariance) || !isTRUE(is.finite(planned))) {
    return(NULL)
  }
  ratio <- sqrt(diag(fit$covariance$total) / diag(fit$covariance$sampling))
  wide <- names(which(ratio > 2 * planned & fit$identified))
  wide <- setdiff(wide, "(Intercept)")
  if (length(wide)) {
    paste0(
      "Intervals more than twice as wide as planned: ", paste(wide, collapse = ", "), ". ", where,
      " predicts standard errors ", format(planned, digits = 2L),
      " times as large as without privacy; ",
      "here they are up to ", format(max(ratio[wide]), digits = 2L), " times as large. Rare ",
      "levels and nearly collinear regressors widen intervals."
    )
  }
}

#' @noRd
wide_lm <- function(fit) {
  if (fit$privacy$private) {
    facts <- list(
      delta = fit$privacy$delta, scores = fit$vcov == "HC", design = lm_design(fit$columns),
      share = 0.5
    )
    plan <- regression_outlook(fit$nobs, fit$privacy$epsilon, facts)
    wide_slopes(fit, sqrt(plan$ratio^2 + plan$allowance), "dp_plan_lm()")
  }
}

#' @noRd
wide_glm <- function(fit) {
  if (fit$privacy$private && fit$family == "binomial" && !is.null(fit$covariance)) {
    kinds <- vapply(fit$columns$variables, `[[`, "", "kind")
    plan <- plan_logistic_row(
      fit$nobs, length(fit$columns$columns), fit$privacy$epsilon, fit$privacy$delta,
      sum(utils::head(kinds, -1L) != "level"), 0.5
    )
    wide_slopes(fit, plan$longer, "dp_plan_glm()")
  }
}
