# The expected accuracy of a private regression, from its plan, before any data are read.

#' Plan a private regression before touching any data
#'
#' Computes the expected error of [dp_lm()] for a number of people and a budget, or the number of
#' people or the epsilon needed for a given error. The computation uses the plan of [dp_lm()] for
#' this formula and these bounds.
#'
#' The planned ratio compares the error of [dp_lm()] with the error of [stats::lm()] for the same
#' people. A ratio of 1.5 means a standard error that is 1.5 times as large. The ratios hardly
#' depend on the outcome, the slopes, or the width of the bounds. In simulations (`bench/plan-lm.R`)
#' the planned error was .85 to 1.25 times the observed error in 29 of 30 designs whose moments are
#' resolved. In the remaining design (300 people, two columns, `epsilon = 1`) it was two thirds of
#' the observed error.
#'
#' A rare level requires a larger limit on the length of rows, and therefore more noise for every
#' slope. Give the share of people with the rarest level as `share`.
#'
#' @inheritParams dp_lm
#' @param n (`count` or `NULL`)\cr number of people. `NULL`: the plan gives the number needed for
#'   `ratio`.
#' @param epsilon (`number` or `NULL`)\cr privacy loss. `NULL`: the plan gives the value needed for
#'   `ratio`.
#' @param share (`number` in (0, .5\], PUBLIC)\cr the smallest share of people that is expected for
#'   a value of a 0/1 regressor, or for a level of a factor. If the noise hides such a rare level,
#'   `ratio` is `NA`.
#' @param ratio (`number`, above 1)\cr the required error of a slope if the model is correct,
#'   divided by the error of `lm()`. With a `ratio`, either `n` or `epsilon` must be `NULL`. The
#'   standard errors of [dp_lm()] exceed this error, by an allowance for nonlinear means.
#' @param x (`dp_plan_lm`)\cr a plan.
#' @param ... unused.
#' @return An object of class `dp_plan_lm`, a list. PUBLIC:
#'   * `n`, `epsilon`, `delta`: number of people and budget (`NA` if no value suffices).
#'   * `columns`, `located`: the number of columns, and the number of columns that need a median.
#'   * `ratio`: the error of a slope divided by the error of `lm()`; `NA` where moments are not
#'     resolved or medians are not found.
#'   * `privacy`: the privacy part of `ratio`, in standard errors of `lm()`.
#'   * `resolved`, `found`: whether moments are resolved, and whether medians are found.
#'   * `allowance`: the allowance of standard errors for nonlinear means and skewed errors, in
#'     sampling variances (see [dp_lm()]).
#'   * `least_n`, `least_epsilon`: the smallest number of people, and the smallest epsilon, for
#'     which moments are resolved and medians are found.
#'   * `facts`: columns implied by formula and bounds.
#'
#'   `autoplot()` returns a ggplot of `ratio` against the number of people and against epsilon;
#'   `plot()` draws it.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_bounds`.
#' @examples
#' bounds <- list(wage = c(1, 1000), age = c(0, 120), region = c("n", "s"))
#' dp_plan_lm(log(wage) ~ age + region, bounds, n = 20000, epsilon = 1)
#' dp_plan_lm(log(wage) ~ age + region, bounds, epsilon = 1, ratio = 1.2)
#' @export
dp_plan_lm <- function(formula, bounds, n = NULL, epsilon = NULL, delta = 1e-6, ratio = NULL,
                       vcov = c("const", "HC"), share = 0.5, ...) door("dp_plan_lm", {
  check_no_dots(...)
  check_every_bound(formula, if (!missing(bounds)) bounds)
  vcov <- check_choice(vcov, c("const", "HC"))
  columns <- lm_columns(formula, bounds)
  p <- length(columns$columns)
  delta <- check_number(delta, 0, 1, open = "max")
  n <- if (!is.null(n)) check_count(n, p + 2)
  epsilon <- if (!is.null(epsilon)) check_number(epsilon, 1e-9, 1e9)
  ratio <- if (!is.null(ratio)) check_number(ratio, 1, open = "min")
  check_one_unknown(n, epsilon, ratio, "ratio")
  share <- check_number(share, 0, 0.5, open = "min")
  facts <- list(
    delta = delta, scores = vcov == "HC", design = lm_design(columns), share = share
  )
  at <- function(n, epsilon) regression_outlook(n, epsilon, facts)
  good <- function(n, epsilon) isTRUE(at(n, epsilon)$ratio <= ratio)
  wanted <- ratio
  if (is.null(n)) n <- ceiling(first_that(function(x) good(ceiling(x), epsilon), p + 2, 1e9))
  if (is.null(epsilon)) epsilon <- signif_up(first_that(function(x) good(n, x), 1e-6, 1e6))
  known <- !is.na(n) && !is.na(epsilon)
  here <- if (known) at(n, epsilon) else list(ratio = NA_real_, privacy = NA_real_)
  serves <- function(n, epsilon) !is.na(at(n, epsilon)$ratio)
  structure(c(list(
    text = columns$text, n = n, epsilon = epsilon, delta = delta, share = share, wanted = wanted,
    columns = p,
    located = sum(!facts$design$indicator), facts = facts
  ), here, list(
    least_n = if (known) ceiling(first_that(function(x) serves(ceiling(x), epsilon), p + 2, 1e9)),
    least_epsilon = if (known) signif_up(first_that(function(x) serves(n, x), 1e-6, 1e6))
  )), class = "dp_plan_lm")
})

#' Check that exactly one quantity is missing if an error is required, and none otherwise
#' @noRd
check_one_unknown <- function(n, epsilon, wanted, name) {
  if (is.null(n) + is.null(epsilon) != !is.null(wanted)) {
    abort(c(
      "Exactly one of {.arg n}, {.arg epsilon} and {.arg {name}} must be left out.",
      i = "The plan computes the missing quantity."
    ), "argument")
  }
}

#' Expected error of a slope relative to lm(), for the row lengths that the smallest share requires
#' @noRd
regression_outlook <- function(n, epsilon, facts) {
  plan <- tryCatch(lm_plan_cpp(c(list(n = n, epsilon = epsilon), facts)),
    `dpsc::budget_too_small` = function(e) NULL
  )
  none <- list(ratio = NA_real_, privacy = NA_real_, resolved = FALSE, found = FALSE,
    allowance = NA_real_)
  if (is.null(plan)) {
    return(none)
  }
  none$resolved <- plan$resolved && plan$held
  none$found <- plan$located || all(facts$design$indicator)
  if (!none$resolved || !none$found) {
    return(none)
  }
  list(
    ratio = sqrt(plan$square), privacy = plan$privacy, resolved = TRUE, found = TRUE,
    allowance = plan$allowance
  )
}

#' Words for a ratio that cannot be reached by any number of people or any epsilon
#' @noRd
unreached_words <- function(x) {
  ratio <- format(x$wanted)
  if (is.na(x$epsilon)) {
    people <- format(x$n, big.mark = ",", scientific = FALSE)
    return(paste0(
      "With ", people, " people, no epsilon up to a million reaches a ratio of ", ratio, "."
    ))
  }
  paste0(
    "At epsilon = ", format(x$epsilon), ", a billion people do not reach a ratio of ", ratio, ".",
    if (x$delta == 0) paste(
      " With delta = 0, clipping balances its bias with the noise at every number of people: use a",
      "larger epsilon, or delta above 0."
    )
  )
}

#' @rdname dp_plan_lm
#' @export
print.dp_plan_lm <- function(x, ...) {
  cat("Plan of a private regression (no data were used)\n  ", x$text, "\n", sep = "")
  cat("  ", count_of(x$columns, "column"), "; numeric variables, outcome included: ", x$located,
    "; delta = ", format(x$delta), "\n", sep = "")
  if (is.na(x$n) || is.na(x$epsilon)) {
    cat(strwrap(unreached_words(x), 95, 2, 2), sep = "\n")
    return(invisible(x))
  }
  cat("  ", format(x$n, big.mark = ",", scientific = FALSE), " people, epsilon = ",
    format(x$epsilon), ":", sep = "")
  if (!is.na(x$ratio)) {
    cat(" slope errors are about ", format(x$ratio, digits = 3L), " times the errors of lm() if ",
      "its model holds.\n  Standard errors, which do not assume this model, are about ",
      format(sqrt(x$ratio^2 + x$allowance), digits = 3L), " times the errors of lm().\n", sep = "")
    return(invisible(x))
  }
  what <- c(
    if (!x$found) "medians of numeric variables will not be found",
    if (!x$resolved && x$share < 0.5) {
      paste("the moments of a group with a share of", format(x$share), "will be hidden by noise")
    } else if (!x$resolved) {
      "the moments of all columns will be hidden by noise"
    }
  )
  instead <- c(
    if (!is.na(x$least_n)) {
      paste(format(x$least_n, big.mark = ",", scientific = FALSE), "people at this epsilon")
    },
    if (!is.na(x$least_epsilon)) {
      paste("epsilon =", format(x$least_epsilon), "with this number of people")
    }
  )
  words <- paste0(
    paste(what, collapse = ", and "), ". Intervals will be very wide. ",
    if (length(instead)) {
      paste0("A useful release needs ", paste(instead, collapse = ", or "), ". ")
    },
    "Fewer columns, fewer levels or tighter bounds help."
  )
  cat("\n", paste0("  ", strwrap(words, 95), "\n"), sep = "")
  invisible(x)
}
