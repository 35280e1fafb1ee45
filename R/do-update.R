# update() changes a fit at no cost from its release, or adds new periods that were paid for.

#' @rdname coef.dp_synth
#' @importFrom stats update
#' @export
update.dp_synth <- function(object, newdata = NULL, target = NULL, estimator = NULL, lambda,
                            size = NULL, ...) door("update", {
  # As in older versions, a numeric second argument is a target.
  if (is.numeric(newdata) && is.null(target) &&
        (is.null(dim(newdata)) || !is_growing(object$release))) {
    target <- newdata
    newdata <- NULL
  }
  if (holds_rows(newdata)) {
    changed <- !missing(lambda) || !is.null(estimator) || !is.null(size)
    return(with_new_periods(object, newdata, target, changed, ...))
  }
  if (...length() || !is.null(newdata) || inherits(target, "formula")) {
    abort(c(
      paste(
        "{.fn update} can change only {.arg target}, {.arg size}, {.arg estimator} and",
        "{.arg lambda}."
      ),
      i = paste(
        "These changes cost nothing. Any other change needs a new release, which spends budget:",
        "call {.fn dp_synth}."
      )
    ), "argument")
  }
  # The fit of several treated units is for the group; `units` stores its members.
  members <- object$units %||% object
  if (is.null(target)) size <- size %||% members$size
  estimator <- estimator %||% object$estimator
  if (inherits(object, "dp_synth_classical")) {
    target <- target %||% object$target
    return(update_classical(object, target, estimator, if (!missing(lambda)) lambda))
  }
  arguments <- list(object$release, estimator = estimator)
  # The release contains the group that it protects.
  if (!is.null(target) || !is_released_group(object)) {
    arguments$target <- target %||% members$target
    arguments$size <- size
    if (is.null(target)) arguments$covariates <- members$covariates
  }
  if (!missing(lambda)) arguments["lambda"] <- list(lambda)
  do.call("dp_synth", arguments)
})

#' Draw new periods, if no other change is requested
#' @param changed (`flag`)\cr whether any other change is requested.
#' @noRd
with_new_periods <- function(object, newdata, target, changed, ...) {
  known <- c("index", "formula", "times", "na", "roster", "ledger", "again")
  if (changed || length(...names()) != ...length() || !all(...names() %in% known)) {
    abort(c(
      "With {.arg newdata}, {.fn update} accepts only {.arg {c('target', known)}}.",
      i = "New periods use the fit's estimator, penalty and size."
    ), "argument")
  }
  update_growing(object, newdata, target, ...)
}

#' @noRd
update_classical <- function(fit, target, estimator, lambda) {
  settings <- if (estimator == fit$estimator) fit$settings else list()
  if (!is.null(lambda)) settings$lambda <- lambda
  raw <- fit$raw
  same <- estimator == fit$estimator && identical(as.vector(target), as.vector(fit$target))
  if (!same && length(covariate_names(fit$settings))) {
    abort(c(
      "{.fn update} of a fit with covariates can change {.arg lambda} alone.",
      x = "Another target has its own covariates, and estimators use them differently.",
      i = "Call {.fn dp_synth} with the formula."
    ), "argument")
  }
  out <- dp_synth(raw$donors,
    target = target, T0 = raw$T0, times = raw$times, epsilon = Inf, estimator = estimator,
    control = dp_control(settings = settings)
  )
  # The donors' matrix does not contain the name of the outcome.
  out$release$panel$outcome <- fit$release$panel$outcome
  out$formula <- fit$formula
  out
}

#' @rdname dp_cohorts
#' @export
update.dp_cohorts <- function(object, estimator = NULL, lambda, size = NULL, ...) door("update", {
  if (...length() || inherits(object$cohorts[[1L]], "dp_synth_classical")) {
    abort(c(
      paste(
        "With several adoption dates, {.fn update} can change only {.arg estimator}, {.arg lambda}",
        "and {.arg size}, and only of a fit to a release."
      ),
      i = "These changes cost nothing. For any other change, call {.fn dp_synth}."
    ), "argument")
  }
  if (is_released_group(object)) {
    arguments <- list(object$release, estimator = estimator %||% object$estimator)
    if (!missing(lambda)) arguments["lambda"] <- list(lambda)
    return(do.call("dp_synth", arguments))
  }
  paths <- lapply(object$cohorts, function(fit) (fit$units %||% fit)$target)
  # Units are sorted by cohort and keep their order within a cohort.
  order <- order(object$adopted)
  arguments <- list(
    object$release, target = do.call(rbind, paths), T0 = object$adopted[order],
    estimator = estimator %||% object$estimator,
    size = if (is.null(size)) object$size[order] else rep_len(size, length(order))[order]
  )
  covariates <- lapply(object$cohorts, function(fit) (fit$units %||% fit)$covariates)
  arguments$covariates <- do.call(rbind, unname(covariates))
  if (!missing(lambda)) arguments["lambda"] <- list(lambda)
  do.call("dp_synth", arguments)
})
