# Weights of donors in dp_synth(), from a survey or a population. A weight is one more column of a
# person's row, as private as the other columns. Proof: inst/proofs/gram.md, section 10.

#' A request with the user's weights and their limits, and with `bounds` without the limits of the
#' weights' column
#' @param weights (`any`)\cr the user's expression for long data, or the user's argument for donors
#'   as a matrix or in chunks.
#' @param max_weight (`number` or `NULL`).
#' @param formula (`formula` or `NULL`)\cr the formula of long data.
#' @return `request`, with `weights` if the user gave weights: `column` (`string`) or `x`, and
#'   `limits` (`numeric(2)`; `NULL`: the limits of the donors' weights, without privacy).
#' @section Errors: `dpsc_error_argument`.
#' @noRd
with_weights <- function(request, weights, max_weight, formula) {
  most <- largest_weight(weights, max_weight, request$bounds, request$private)
  is_long <- !is.null(formula)
  if (is_long && !is.symbol(weights)) {
    abort(c(
      "{.arg weights} must be a column of {.arg data}.",
      i = "To use computed weights, add them to {.arg data} as a column."
    ), "argument")
  }
  column <- if (is_long) as.character(weights)
  if (is_long && column %in% all.vars(rlang::f_lhs(formula))) {
    abort("{.code {column}} cannot be both the outcome and the weights.", "argument")
  }
  bound <- if (is.list(request$bounds) && is_long) request$bounds[[column]]
  if (!is.null(bound)) request$bounds[[column]] <- NULL
  least <- if (is.numeric(bound) && length(bound) == 2L) min(max(0, bound[[1L]]), most) else 0
  free <- !request$private && is.null(max_weight) && is.null(bound)
  request$weights <- list(
    column = column, x = if (!is_long) weights, limits = if (!free) c(least, most)
  )
  refuse_weights(request)
  request
}

#' Refuse, before any charge, weights without a meaning or without a theorem
#' @noRd
refuse_weights <- function(request) {
  reason <- if (request$classical) {
    paste(
      "Estimator", dQuote(request$estimator, FALSE), "determines the donors' weights itself, and",
      "does not use survey weights."
    )
  } else if (!identical(request$method, "gram")) {
    paste("No theorem covers weights for method", paste0(dQuote(request$method[[1L]], FALSE), "."))
  } else if (request$private && identical(request$delta, 0)) {
    "The noise of weighted sums is Gaussian, which needs delta > 0."
  } else if (identical(request$protect, "everyone")) {
    "Weights require public treated units, `protect = \"donors\"`."
  } else if (!is.null(request$monitor)) {
    "No theorem covers weights in a release that grows."
  } else if (!is.null(request$control$lambda)) {
    "The meaning of a given penalty depends on the total weight: leave `lambda` out."
  } else if (identical(request$control$features, Inf)) {
    "`features = Inf` is for conformal(), which compares people of equal weights."
  }
  if (!is.null(reason)) abort(c("{.arg weights} cannot be used here.", x = "{reason}"), "argument")
}

#' Refuse weights with several outcomes or dates, or with donors outside R
#' @noRd
refuse_weighted_panel <- function(panel, several = FALSE) {
  reason <- if (several) {
    "No theorem covers weights with several outcomes: fit each outcome separately."
  } else if (!is.null(panel$adopted)) {
    "Weights require one adoption date: fit each date separately, with one ledger."
  } else if (!is.matrix(panel$donors) && !inherits(panel$donors, "dp_chunks")) {
    "Sources do not compute sums of weighted rows: give a data frame, a matrix or chunks."
  }
  if (!is.null(reason)) abort(c("{.arg weights} cannot be used here.", x = "{reason}"), "argument")
}

#' Declarations of covariates, with the weights as last covariate
#' @noRd
weighed_covariates <- function(covariates, weights, data) {
  if (is.data.frame(data) && !weights$column %in% names(data)) {
    abort("{.arg data} contains no column {.code {weights$column}} for {.arg weights}.", "argument")
  }
  if (weights$column %in% names(covariates)) {
    abort("{.code {weights$column}} cannot be both a covariate and the weights.", "argument")
  }
  c(covariates, rlang::set_names(list(weights$limits), weights$column))
}

#' A panel with the weights in its last covariate, as each person's mean before the treatment
#' @return `panel` with `weights` (`numeric(n)`, PRIVATE) and `weight_limits` (PUBLIC).
#' @noRd
take_weights <- function(panel, request) {
  refuse_weighted_panel(panel)
  found <- panel$covariates
  last <- nrow(found$columns)
  if (!identical(found$columns$name[[last]], request$weights$column)) {
    name <- request$weights$column
    abort("{.arg weights} must be numbers: {.code {name}} is a factor.", "argument")
  }
  weights <- found$donors[, last]
  panel$covariates <- if (last > 1L) {
    c(
      lapply(found[c("donors", "target", "scaled")], function(x) x[, -last, drop = FALSE]),
      list(columns = found$columns[-last, ])
    )
  }
  weighted_panel(panel, weights, request)
}

#' A panel of a matrix or of chunks, with its weights
#' @noRd
take_given_weights <- function(panel, request) {
  x <- request$weights$x
  refuse_weighted_panel(panel)
  if (inherits(panel$donors, "dp_chunks")) {
    return(weighted_panel(panel, NULL, request))
  }
  plain <- is_plain_number(x) && cell_kind(x) == "number" && is.null(dim(x)) && length(x) == panel$n
  if (!plain || !all_finite_cpp(cbind(x))) {
    abort(c(
      "{.arg weights} must be finite numbers, one per donor.",
      i = paste(
        "For {.fn dp_chunks} put the weights into the last column of each block, and write",
        "{.code weights = \"last\"}."
      )
    ), "argument")
  }
  weighted_panel(panel, as.double(x), request)
}

weighted_panel <- function(panel, weights, request) {
  limits <- request$weights$limits %||% c(0, max(weights, 0))
  if (limits[[2L]] <= 0) abort("{.arg weights} are all zero.", "argument")
  panel$weights <- weights
  panel$weight_limits <- limits
  panel
}

#' Chunks with weights in the last column
#' @noRd
weighted_chunks <- function(x, request) {
  given <- request$weights$x
  if (inherits(x, "dp_chunks")) {
    if (!identical(given, "last")) {
      abort(c(
        "For chunks {.arg weights} must be {.val last}, the last column of each block.",
        x = "It is {describe(given)}."
      ), "argument")
    }
    if (is.null(request$weights$limits)) {
      abort("For chunks {.arg weights} needs {.arg max_weight}.", "argument")
    }
    x$weighted <- TRUE
  }
  x
}

weights_words <- function(release) {
  limits <- release$panel$weights
  if (!is.null(limits)) {
    mean <- release$statistics$share * limits[[2L]]
    paste0(
      " (weights up to ", format(limits[[2L]], digits = 3L),
      if (release$privacy$private) paste0(", mean about ", format(signif(mean, 2))), ")"
    )
  }
}
