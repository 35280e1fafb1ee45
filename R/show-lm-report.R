# A private regression in words for a paper.

#' @rdname report
#' @export
report.dp_lm <- function(x, format = c("text", "markdown", "latex"), level = 0.95,
                         ...) door("report", {
  regression_report(
    x, lm_sentences, lm_methods_words(x), lm_references(x), format, level, ...
  )
})

lm_sentences <- function(x, level) {
  table <- generics::tidy(x, conf.int = TRUE, conf.level = level)
  errors <- error_sources(x$privacy$private)
  table$errors <- errors
  known <- table$identified & !is.na(table$p.value)
  table$errors[known] <- paste0("p ", vapply(table$p.value[known], format_p, ""), ", ", errors)
  coefficient_sentences(table, plain_text(stats::formula(x)[[2L]]), level)
}

lm_methods_words <- function(x) {
  private <- x$privacy$private
  paste(c(
    paste0(
      "The linear regression ", x$text, " was fitted to ", format(x$nobs, big.mark = ","),
      " people", if (private) {
        paste0(
          ", from moments released with noise in ", count_of(length(x$release$rounds), "round")
        )
      } else {
        " by least squares without privacy"
      }, ", with the R package dpsc ", as.character(utils::packageVersion("dpsc")), "."
    ),
    if (private) paste(
      "Bounds of variables and levels of factors were fixed beforehand; residuals beyond a bound",
      "of at least .85 standard deviations were clipped."
    ),
    robust_words(x),
    if (private) paste0(
      "Standard errors combine sampling error and privacy noise of known distribution",
      if (x$robust) paste0(", and ", robust_errors_words(x)), "."
    ) else if (x$robust) paste0("Standard errors ", robust_errors_words(x), "."),
    allowance_words(x),
    if (is_by_person(x$privacy)) paste(
      "Each person counts once, with the mean over their rows, for any number of rows."
    ),
    wide_lm(x), lm_doubts(x)
  ), collapse = " ")
}

robust_errors_words <- function(x) {
  if (is_by_person(x$privacy)) "are clustered by person" else "allow for heteroskedasticity"
}

lm_references <- function(x) {
  cited_works(c(
    if (x$privacy$private) c(if (x$privacy$delta > 0) "gdp" else "pure", "exact"),
    if (x$robust) "white"
  ))
}
