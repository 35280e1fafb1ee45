# The records of the methods of dp_online() for the table of methods.

#' Record of a method that learns from a stream
#'
#' @param core (`string`)\cr the name of the method in the core.
#' @param ... fields that differ from the defaults:
#'   * `families` (`character`): the families of models that the method fits.
#'   * `step` (`string`): a row's contribution to the noisy sums, which is a `"vector"` or a matrix
#'     of products, `"gram"`; `more` is the number of rows of the matrix beyond the number of
#'     columns.
#'   * `damping` (`number`), `penalty` (`function` of learner, plan and horizon): settings of the
#'     core's learner.
#'   * `printed` (`string` or `NULL`): for methods of Thakurta (2013), chapter 5, with new noise for
#'     each iterate, the reason why the published constants fail. `once`: is the result released
#'     once, at the end? `most` (`function` of family): number of steps of the longest horizon.
#' @noRd
learner_of <- function(core, title, ...) {
  fields <- with_fields(list(
    core = core, families = c("gaussian", "binomial"), step = "vector", more = 0, damping = 1,
    penalty = function(learner, plan, horizon) 0, printed = NULL, once = FALSE,
    most = function(family) 1e7
  ), list(...))
  do.call(new_mechanism, c(list("dp_online", title, needs = "rows"), fields))
}

#' @noRd
learners <- function() {
  ratio <- paste(
    "the published proof contains errors (Azuma's constant, a density ratio), but the noise",
    "suffices"
  )
  list(
    gram = learner_of("gram", "moments so far",
      step = "gram", more = 1, families = "gaussian"
    ),
    ftal = learner_of("ftal", "follow the approximate leader", damping = 2),
    ftrl = learner_of("ftrl", "follow the regularised leader", penalty = ftrl_penalty),
    pocp = learner_of("pocp", "private online convex programming", printed = ratio,
      most = function(family) if (family == "binomial") 20000 else 1e7
    ),
    pigd = learner_of("pigd", "private implicit gradient descent", printed = ratio),
    pgiga = learner_of("pgiga", "private generalised infinitesimal gradient ascent",
      printed = "the published sensitivity lacks a factor of 2 (Lemma 5.12)"
    ),
    poffl = learner_of("poffl", "offline learning by an online algorithm", once = TRUE,
      printed = "the published sensitivity lacks the factor 1/psi (equation 5.23)"
    )
  )
}

#' Public guess of the standard deviation of a prefix sum of gradients after t of the planned steps
#' @noRd
prefix_sd <- function(learner, plan, t) {
  if (!is.finite(plan$rho)) {
    return(0)
  }
  factor <- if (plan$facts$noise == "tree") {
    sqrt(plan$reach^2 * log2(2 * t) / 3)
  } else {
    horizon <- plan$facts$horizon
    sqrt((1.066 + log(t) / pi) * (1.066 + log(horizon) / pi)) * sqrt(plan$facts$times)
  }
  2 * learner$clip * factor / sqrt(2 * plan$rho)
}

#' The penalty that minimises the regret bound; with 0 the penalty grows with time, for an unknown
#' horizon
#' @noRd
ftrl_penalty <- function(learner, plan, horizon) {
  if (!is.finite(horizon)) {
    return(0)
  }
  noise <- sqrt(learner$columns) * prefix_sd(learner, plan, horizon)
  sqrt(2 * horizon * learner$clip * (learner$clip + noise)) / (2 * learner$ball)
}
