# A private generalised linear model in words for a paper.

#' @rdname report
#' @export
report.dp_glm <- function(x, format = c("text", "markdown", "latex"), level = 0.95,
                          ...) door("report", {
  regression_report(
    x, glm_sentences, glm_methods_words(x), glm_references(x), format, level, ...
  )
})

glm_sentences <- function(x, level) {
  kind <- switch(x$family, binomial = "log odds", poisson = "log rate", gaussian = "mean")
  if (!is.null(robust_slopes(x))) kind <- "centre (log-cosh loss)"
  table <- generics::tidy(x, conf.int = !is.null(x$covariance), conf.level = level)
  if (!is.null(x$covariance)) table$errors <- error_sources(x$privacy$private)
  coefficient_sentences(table, paste("the", kind), level)
}

glm_methods_words <- function(x) {
  privacy <- x$privacy
  what <- family_words(x)
  # Poisson is a name.
  if (!startsWith(what, "Poisson")) {
    what <- paste0(tolower(substr(what, 1L, 1L)), substring(what, 2L))
  }
  how <- if (!privacy$private) {
    "by maximum likelihood without privacy"
  } else {
    paste("by", mechanism_table$dp_glm[[x$method]]$title)
  }
  c(
    paste0(
      "The ", what, " ", x$text, offset_words(x), weight_words(x),
      if (!is.null(c(offset_words(x), weight_words(x)))) ",", " was fitted to ",
      format(x$nobs, big.mark = ","), " people ", how,
      ", with the R package dpsc ", as.character(utils::packageVersion("dpsc")), "."
    ),
    if (privacy$private) {
      paste0(
        "Bounds of numeric variables and levels of factors were fixed beforehand. ",
        mechanism_table$dp_glm[[x$method]]$weighs,
        if (!is.null(x$covariance)) {
          paste0(
            "Standard errors combine sampling error and privacy noise of known distribution, to ",
            "first order.", if (identical(dim(x$release$scores), c(1L, 1L))) {
              " They allow for the dispersion of the counts, estimated from a released sum."
            }
          )
        },
        if (is_by_person(privacy)) paste0(
          " Each person counts once, with the mean over their rows.",
          if (!is.null(copied_rows(x))) paste0(" ", copied_rows(x))
        )
      )
    },
    capped_counts(x), robust_slopes(x), wide_glm(x), regression_doubts(x)
  )
}

glm_references <- function(x) {
  if (x$privacy$private) {
    cited_works(c(mechanism_table$dp_glm[[x$method]]$references, "exact"))
  }
}
