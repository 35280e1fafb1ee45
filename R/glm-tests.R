# Tests of a private generalised linear model's terms, and what its release cannot give.

#' @rdname dp_glm-methods
#' @export
anova.dp_glm <- function(object, ...) {
  call <- public_call("anova")
  if (...length()) {
    abort(c(
      "{.fn anova} of a {.fn dp_glm} tests the terms of one fit.",
      i = "Two fits are two releases: their deviances are values of people."
    ), "argument", call)
  }
  glm_covariance(object, "total", call)
  terms <- vapply(object$columns$columns, `[[`, 0L, "term")
  tests <- lapply(unique(terms), function(term) wald_chi_square(1L + which(terms == term), object))
  out <- do.call(rbind, tests)
  rownames(out) <- object$columns$terms[unique(terms)]
  lost <- rownames(out)[is.na(out$Chisq)]
  structure(out, class = c("anova", "data.frame"), heading = c(
    paste0("Wald tests", if (object$privacy$private) " with sampling and privacy noise"),
    paste0("Model: ", object$text),
    if (length(lost)) {
      paste0("Not identified at this budget, so not tested: ", paste(lost, collapse = ", "))
    }
  ))
}

#' Are coefficients zero? By their total covariance; `NA` where one is not identified
#' @param places (`integer`)\cr among the coefficients.
#' @noRd
wald_chi_square <- function(places, fit) {
  none <- data.frame(Df = length(places), Chisq = NA_real_, p = NA_real_)
  names(none)[[3L]] <- "Pr(>Chisq)"
  b <- fit$coefficients[places]
  V <- fit$covariance$total[places, places, drop = FALSE]
  if (!all(fit$identified[places]) || !all(is.finite(V))) {
    return(none)
  }
  spectrum <- eigen(V, symmetric = TRUE)
  keep <- spectrum$values > 1e-12 * max(spectrum$values)
  none$Df <- sum(keep)
  none$Chisq <- sum(
    crossprod(spectrum$vectors[, keep, drop = FALSE], b)^2 / spectrum$values[keep]
  )
  none[["Pr(>Chisq)"]] <- stats::pchisq(none$Chisq, none$Df, lower.tail = FALSE)
  none
}
