# Families of private generalised linear models, and their outcomes.

#' A family in the form for glm()
#' @noRd
family_law <- function(family) {
  switch(family,
    binomial = stats::binomial(), poisson = stats::poisson(), gaussian = stats::gaussian()
  )
}

#' A family's name from an argument of glm()
#' @param family (`string`, function or `family`).
#' @noRd
check_family <- function(family) {
  if (is.function(family)) family <- tryCatch(family(), error = function(e) NULL)
  link <- NULL
  if (inherits(family, "family")) {
    link <- family$link
    family <- family$family
  }
  # The errors allow for overdispersion under either name.
  if (rlang::is_string(family, c("quasibinomial", "quasipoisson"))) {
    family <- sub("quasi", "", family)
  }
  if (!rlang::is_string(family, names(glm_families))) {
    abort(c(
      "{.arg family} must be one of {.or {.val {names(glm_families)}}}.",
      i = if (identical(family, "Gamma")) {
        "The mechanism needs a loss with a bounded slope. The slope of the Gamma loss is unbounded."
      }
    ), "argument")
  }
  if (!is.null(link) && link != glm_families[[family]]$link) {
    abort(c(
      "Family {.val {family}} is available only with link {.val {glm_families[[family]]$link}}.",
      x = "The given link is {.val {link}}.",
      i = "With other links the loss has an unbounded slope, or a curvature that costs budget."
    ), "argument")
  }
  family
}

#' The variable of a binary outcome, which is 1 for the second value
#' @noRd
binary_outcome <- function(expression, given) {
  response <- lm_atom(expression, given)
  if (response$kind == "levels" && length(response$levels) == 2L) {
    return(level_of(response, response$levels[[2L]], response$name))
  }
  if (response$kind != "value" || response$lower != 0 || response$upper != 1) {
    abort(c(
      "The outcome of a binomial model must have two values.",
      i = paste(
        "In {.arg bounds} give {.code c(0, 1)} for a number, {.code c(FALSE, TRUE)} for a logical,",
        "or two levels, of which the second is the event."
      )
    ), "bounds")
  }
  response
}

#' A count outcome: a nonnegative number
#' @noRd
count_outcome <- function(expression, given) {
  response <- lm_outcome(expression, given)
  if (response$lower < 0 || response$upper < 1) {
    abort(c(
      "The lower bound of a count must be at least 0, and the upper bound at least 1.",
      x = "The bounds are {response$lower} and {response$upper}."
    ), "bounds")
  }
  response
}

#' The records of families, by name
#'
#' Fields: `link`; `outcome`, a function from the formula's left side and the bounds to the
#' outcome's variable; `mean`, a function of a linear predictor; `slopes`, the name of the loss in
#' calibrations. PUBLIC.
#' @noRd
glm_families <- list(
  binomial = list(
    link = "logit", outcome = binary_outcome, mean = stats::plogis, slopes = "pairs",
    words = "Logistic regression"
  ),
  poisson = list(
    link = "log", outcome = count_outcome, mean = exp, slopes = "pairs",
    words = "Poisson regression (capped)"
  ),
  gaussian = list(
    # The function is defined in a file that is read later.
    link = "identity", outcome = function(...) lm_outcome(...), mean = identity,
    slopes = "symmetric", words = "Robust linear regression (log-cosh)"
  )
)
