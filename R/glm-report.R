# A private generalised linear model in words, for a paper.

#' @rdname report
#' @export
report.dp_glm <- function(x, format = c("text", "markdown", "latex"), level = 0.95, ...) {
  call <- public_call("report")
  check_no_dots(..., call = call)
  level <- check_number(level, 0, 1, open = c("min", "max"), call = call)
  format <- check_choice(format, c("text", "markdown", "latex"), call = call)
  parts <- list(
    result = glm_sentences(x, level), methods = glm_methods_words(x),
    guarantee = glm_guarantee_words(x), references = glm_references(x)
  )
  structure(c(lapply(parts, mark_up, format), format = format), class = "dp_report")
}

glm_sentences <- function(x, level) {
  kind <- switch(x$family, binomial = "log odds", poisson = "log rate", gaussian = "mean")
  table <- tidy.dp_glm(x, conf.int = !is.null(x$covariance), conf.level = level)[-1L, ]
  vapply(seq_len(nrow(table)), function(i) {
    row <- table[i, ]
    paste0(
      "The coefficient of ", row$term, " on the ", kind, " is ", format_value(row$estimate),
      if (!row$identified) {
        " (not identified at this budget)"
      } else if (!is.null(x$covariance)) {
        paste0(
          " (", format(100 * level, digits = 4L), " % interval ", format_value(row$conf.low),
          " to ", format_value(row$conf.high), ", sampling and privacy together)"
        )
      }, "."
    )
  }, "")
}

glm_methods_words <- function(x) {
  privacy <- x$privacy
  what <- glm_families()[[x$family]]$words
  what <- paste0(tolower(substr(what, 1L, 1L)), substring(what, 2L))
  how <- if (!privacy$private) {
    "by maximum likelihood without privacy"
  } else {
    paste("by", glm_mechanisms()[[x$method]]$title)
  }
  c(
    paste0(
      "The model ", x$text, " was fitted to ", format(x$nobs, big.mark = ","), " people, a ", what,
      ", ", how, ", with the R package dpsc."
    ),
    if (privacy$private) {
      paste0(
        "Bounds of numbers and levels of factors were fixed beforehand. ",
        if (x$method == "objective") {
          "Rows far from the middle weigh less, by a function of the regressors. "
        },
        if (!is.null(x$covariance)) {
          paste(
            "Standard errors add those of sampling and of the privacy noise, whose law is known,",
            "to first order."
          )
        }
      )
    }
  )
}

glm_guarantee_words <- function(x) {
  privacy <- x$privacy
  if (!privacy$holds) {
    return(paste0("NOT PRIVATE: ", privacy$reason, "."))
  }
  right <- 1 - (1 - privacy$delta) * stats::plogis(-privacy$epsilon)
  paste0(
    "The release is (epsilon, delta)-differentially private with epsilon = ",
    format_epsilon(privacy$epsilon), " and delta = ", format(privacy$delta),
    "; neighbours: ", privacy$neighbours, ". Somebody who reads everything that was released, ",
    "and even knows all other rows, decides between two possible rows of one person, as likely as ",
    "each other beforehand, correctly with probability at most ",
    formatC(100 * right, digits = 1L, format = "f"),
    " % (a coin: 50 %). Further releases from the same people add to it. Public are the number of ",
    "rows, the formula, the bounds and the levels."
  )
}

glm_references <- function(x) {
  if (!x$privacy$private) {
    return(NULL)
  }
  c(
    if (identical(x$method, "objective")) c(
      paste(
        "Kifer, D., Smith, A. and Thakurta, A. (2012). Private Convex Empirical Risk Minimization",
        "and High-dimensional Regression. COLT."
      ),
      paste(
        "Redberg, R., Koskela, A. and Wang, Y.-X. (2023). Improving the Privacy and Practicality",
        "of Objective Perturbation for Differentially Private Linear Learners. NeurIPS."
      )
    ),
    paste(
      "Canonne, C., Kamath, G. and Steinke, T. (2020). The Discrete Gaussian for Differential",
      "Privacy. NeurIPS."
    )
  )
}
