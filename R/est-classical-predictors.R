# Predictors of the classical estimators: one row per donor, matched by name.

#' Check predictors, and put them into the donors' order
#' @param given (`list`)\cr `donors`, a matrix with one row per donor, and `target`, one value per
#'   predictor.
#' @return The predictors as doubles, and `fixed`: are the predictors known to be equal in all
#'   periods? NOT PRIVATE.
#' @noRd
check_predictors <- function(given, donors) {
  ok <- is.list(given) && is.matrix(given$donors) && is.numeric(given$donors) &&
    ncol(given$donors) >= 1L && is.numeric(given$target) &&
    length(given$target) == ncol(given$donors)
  if (!ok) {
    abort(c(
      "The setting {.arg predictors} has the wrong form.",
      i = paste(
        "It must be a list of {.code donors} (matrix: donors x predictors) and {.code target} (one",
        "value per predictor)."
      )
    ), "argument")
  }
  given <- match_predictors(given, donors)
  if (!all(is.finite(given$donors)) || !all(is.finite(given$target))) {
    abort("The predictors must be finite.", "argument")
  }
  storage.mode(given$donors) <- "double"
  list(
    donors = given$donors, target = as.double(given$target), fixed = isTRUE(given$fixed)
  )
}

#' Donors' predictors in the order of the donors, and the target's predictors in the order of the
#' columns
#'
#' If names are given, predictors are matched by name and never by position: a shuffled matrix would
#' give a wrong fit without a warning. Rows of other units are omitted.
#' @noRd
match_predictors <- function(given, donors) {
  donor_names <- rownames(donors)
  # The default row names are the numbers of the donors.
  if (identical(donor_names, as.character(seq_len(nrow(donors))))) {
    donor_names <- NULL
  }
  own <- rownames(given$donors)
  if (!is.null(own)) {
    at <- match(donor_names %||% seq_len(nrow(donors)), own)
    lacking <- sum(is.na(at))
    if (lacking > 0L || anyDuplicated(own)) {
      abort(c(
        "The rows of the predictors do not match the donors by name.",
        x = if (lacking > 0L) "Donors without a row of their name: {lacking} of {nrow(donors)}.",
        x = if (anyDuplicated(own)) "Some row names occur more than once.",
        i = "Name the rows of {.code predictors$donors} exactly as the units are named."
      ), "argument")
    }
    given$donors <- given$donors[at, , drop = FALSE]
  } else if (!is.null(donor_names) || nrow(given$donors) != nrow(donors)) {
    abort(c(
      "The predictors cannot be matched with the donors.",
      x = if (!is.null(donor_names)) "The donors have names; rows of the predictors have no names.",
      x = if (is.null(donor_names)) {
        "There are {nrow(donors)} donors and {nrow(given$donors)} rows."
      },
      i = "Give {.code predictors$donors} one row per donor, with the donors' names as row names."
    ), "argument")
  }
  columns <- colnames(given$donors)
  named <- names(given$target)
  if (!is.null(columns) && !is.null(named)) {
    if (anyDuplicated(columns) || !setequal(columns, named)) {
      abort(c(
        "The target's predictors differ from the donors' predictors.",
        i = "{.code names(predictors$target)} must equal {.code colnames(predictors$donors)}."
      ), "argument")
    }
    given$target <- given$target[columns]
  }
  given
}

complete_predictors <- function(raw, settings) {
  if (is.null(settings$predictors)) {
    abort(c(
      "Estimator {.val predictors} needs predictors.",
      i = paste(
        "Name columns in the formula, {.code outcome ~ treated | x1 + x2}, or give a setting",
        "{.arg predictors}."
      )
    ), "argument")
  }
  given <- check_predictors(settings$predictors, raw$donors)
  v <- check_importances(settings$v, given)
  judged <- settings$judged %||% seq_len(raw$T0)
  if (!(is.numeric(judged) && length(judged) >= 1L && all(judged %in% seq_len(raw$T0)))) {
    abort("{.arg judged} must be the positions of periods before treatment.", "argument")
  }
  effort <- list(screened = 400, starts = 6, evaluations = 150)
  for (name in names(effort)) {
    if (!is.null(settings[[name]])) {
      effort[[name]] <- check_count(settings[[name]], 1, 1e6, arg = name)
    }
  }
  c(list(predictors = given, v = v, judged = as.integer(judged)), effort)
}

#' Importances of predictors, by name or by position
#' @noRd
check_importances <- function(v, given) {
  if (!is.null(names(v)) && setequal(names(v), colnames(given$donors))) {
    v <- unname(v[colnames(given$donors)])
  }
  if (!is.null(v) && !(is.numeric(v) && length(v) == ncol(given$donors) && all(is.finite(v)) &&
    all(v >= 0) && sum(v) > 0)) {
    abort(c(
      "{.arg v} must contain one weight per predictor: at least 0, and not all 0.",
      i = "Omit {.arg v} to use the estimator's default weights."
    ), "argument")
  }
  v
}

#' Settings of the simplex family, with predictors that are balanced in addition to outcomes
#'
#' @param settings (`list`)\cr `predictors`, and `v`, the importance of each predictor (default 1,
#'   the importance of one period).
#' @noRd
complete_balanced <- function(raw, settings) {
  if (is.null(settings$predictors)) {
    if (!is.null(settings$v)) {
      abort(c(
        "{.arg v} weights predictors, but there are no predictors.",
        i = "Omit {.arg v}, or name predictors in the formula."
      ), "argument")
    }
    return(list())
  }
  given <- check_predictors(settings$predictors, raw$donors)
  v <- check_importances(settings$v, given) %||% rep(1, ncol(given$donors))
  list(predictors = given, v = v)
}

#' Balanced variables: outcomes before the treatment, then predictors on the scale of the outcomes
#'
#' A predictor is centred and scaled to the standard deviation of all centred outcomes, as in
#' package augsynth. With importance 1 a predictor counts as one period.
#' @param demean (`flag`)\cr whether outcomes are centred at each unit's mean.
#' @noRd
balanced_columns <- function(donors, target, T0, predictors, v = NULL, demean = FALSE) {
  pre <- seq_len(T0)
  out <- list(donors = donors[, pre, drop = FALSE], target = target[pre])
  if (demean) {
    out$donors <- out$donors - rowMeans(out$donors)
    out$target <- out$target - mean(out$target)
  }
  if (is.null(predictors)) {
    return(out)
  }
  centre <- colMeans(predictors$donors)
  spread <- apply(predictors$donors, 2L, stats::sd)
  spread[!is.finite(spread) | spread == 0] <- Inf
  # The standard deviation of all centred outcomes is the unit.
  unit <- stats::sd(sweep(out$donors, 2L, colMeans(out$donors)))
  scale <- sqrt(v %||% 1) * unit / spread
  list(
    donors = cbind(out$donors, sweep(sweep(predictors$donors, 2L, centre), 2L, scale, "*")),
    target = c(out$target, (predictors$target - centre) * scale)
  )
}

#' Predictors on comparable scales, divided by their standard deviations over all units
#' @noRd
scale_predictors <- function(donors, target = NULL) {
  spread <- apply(rbind(donors, target), 2L, stats::sd)
  # A constant predictor does not distinguish donors, so any scale gives the same result.
  spread[!is.finite(spread) | spread == 0] <- 1
  list(
    donors = sweep(donors, 2L, spread, "/"), target = if (!is.null(target)) target / spread
  )
}

fit_predictors <- function(donors, target, T0, settings) {
  scaled <- scale_predictors(settings$predictors$donors, settings$predictors$target)
  judged <- settings$judged[settings$judged <= T0]
  if (length(judged) == 0L) {
    judged <- seq_len(T0)
  }
  fit <- nested_fit_cpp(
    scaled$donors, scaled$target, donors[, judged, drop = FALSE], target[judged],
    as.double(settings$v), settings$screened, settings$starts, settings$evaluations
  )
  names(fit$importance) <- colnames(settings$predictors$donors)
  fit$intercept <- 0
  fit$counterfactual <- drop(crossprod(donors, fit$weights))
  fit
}

#' Counterfactual of every donor from all other donors, with a separate search for each
#' @noRd
placebo_predictors <- function(raw, settings) {
  scaled <- scale_predictors(settings$predictors$donors)
  nested_placebos_cpp(
    scaled$donors, raw$donors, settings$judged, as.double(settings$v), settings$screened,
    settings$starts, settings$evaluations
  )$paths
}
