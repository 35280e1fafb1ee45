#' Settings of a private fit
#'
#' All settings are public. Do not choose any setting from the donors' data.
#'
#' @param rng (`string`)\cr the source of the noise. `"secure"` is the operating system's
#'   cryptographic generator. `"R"` is R's generator under [set.seed()], for simulations and tests
#'   only. A release with `"R"` is marked NOT PRIVATE, because anybody who knows the seed can remove
#'   the noise.
#' @param lambda (`number`, positive, or `NULL`)\cr ridge penalty, in the parametrisation of Rho,
#'   Cummings and Misra (sum of squares plus `lambda / 2` times the squared norm), on the scale
#'   where the bounds are `[-1, 1]`. With `NULL` the penalty of methods `"output"` and `"objective"`
#'   is the number of pre-periods; a fit by `"gram"` averages over penalties, at no cost.
#' @param features (`count`, `Inf` or `NULL`)\cr number of features that describe the pre-period in
#'   a release by method `"gram"`. With `NULL` the number is computed from public facts alone, and
#'   grows with the number of donors and the budget. With `Inf` every pre-period is a feature;
#'   [conformal()] and [placebo_time()] need this value for a private fit. `Inf` reduces accuracy if
#'   there are few donors. Decide before the release, since another release spends budget again.
#' @param intervals (`flag`)\cr for a release by method `"gram"`: whether to spend a part of the
#'   budget on the donors' own placebo errors, without which there is no interval and no p-value.
#'   With `FALSE` this part is spent on the estimate. Decide before the release, since later
#'   intervals need a new release.
#' @param target_round (`flag`)\cr for a release by method `"gram"` with one public target: whether
#'   the release may contain a third round of moments, and after it a round of sums in the target's
#'   direction, which corrects the prediction for the target (see [dp_release()]). With `FALSE`
#'   there are two rounds of moments, as in releases for several dates or with covariates. For
#'   `protect = "everyone"`: whether there may be a third round of moments.
#' @param split (`number`, in (0, 1), or `NULL`)\cr for methods `"output"` and `"objective"`: the
#'   share of the budget for the weights; the rest is for the outcomes from the treatment on. `NULL`
#'   means the share that minimises the error of a prediction from privacy noise, computed from
#'   public facts, or one half with `calibration = "published"`.
#' @param cap (`number`, positive, or `NULL`)\cr for method `"objective"` with tight calibration:
#'   the largest absolute weight of a donor. `NULL` means `2 / sqrt(n)` for n donors, but at most 1.
#' @param curvature (`number`, positive, or `NULL`)\cr the constant `c` of the published objective
#'   perturbation. `NULL` means the published value, `(1 + sqrt(16 n - 15)) T0` for n donors and T0
#'   pre-periods.
#' @param settings (`list`)\cr settings of a classical estimator (`epsilon = Inf`):
#'   * `lambda`, and `alpha` (1 for the lasso, 0 for a ridge), for `"elastic"`;
#'   * `lambda` for `"penalised"` (required), `"augmented"` and `"mcnnm"` (`NULL` means
#'     cross-validation);
#'   * `rule` for `"augmented"`: `"1se"` (the largest penalty within one standard error of the best)
#'     or `"min"`;
#'   * `rank` for `"hsvt"` (`NULL` means a threshold) and for `"factor"` (`NULL` means
#'     cross-validation over ranks from 0 to `most`);
#'   * `zeta` and `zeta_periods`, the penalties on the weights of units and of periods, for
#'     `"sdid"`;
#'   * `predictors` for every estimator except `"hsvt"` and `"elastic"`, unless the formula names
#'     covariates: a list of `donors` (a matrix, donors x predictors) and `target` (one value per
#'     predictor);
#'   * `covariates`, which change over time, for `"sdid"`, `"factor"` and `"mcnnm"`: a list of
#'     `donors` (an array, donors x periods x covariates) and `target` (a matrix, periods x
#'     covariates);
#'   * `v`, the importances of predictors, by name or position, for `"predictors"` (`NULL` means a
#'     nested search) and for `"simplex"`, `"demeaned"` and `"penalised"` (a predictor with
#'     importance 1 counts as one period).
#' @param donor_names (`flag`)\cr whether the donors' identifiers are public, so that
#'   [weights()][coef.dp_synth()] of methods `"output"` and `"objective"` may show them. Neighbours
#'   then arise by replacing one person's row, but not the person's identifier. This guarantee does
#'   not hide membership in the data, and `neighbours` in the privacy record states this. With
#'   `FALSE` the weights of named people are in a random order, which is not stored.
#' @return A list of class `dp_control`. PUBLIC.
#' @section Errors: `dpsc_error_argument`.
#' @examples
#' dp_control()
#' dp_control(rng = "R", lambda = 10)
#' @export
dp_control <- function(rng = c("secure", "R"), lambda = NULL, features = NULL, split = NULL,
                       cap = NULL, curvature = NULL, donor_names = FALSE, settings = list(),
                       intervals = TRUE, target_round = TRUE) door("dp_control", {
  optional <- function(x, ..., arg) {
    if (is.null(x)) NULL else check_number(x, ..., arg = arg)
  }
  if (!is.list(settings)) {
    abort(c("{.arg settings} must be a list.", x = "It is {describe(settings)}."), "argument")
  }
  structure(list(
    rng = check_choice(rng, c("secure", "R")),
    lambda = optional(lambda, 0, open = "min", arg = "lambda"),
    features = if (!is.null(features)) check_features(features),
    split = optional(split, 0, 1, open = c("min", "max"), arg = "split"),
    cap = optional(cap, 0, open = "min", arg = "cap"),
    curvature = optional(curvature, 0, open = "min", arg = "curvature"),
    donor_names = check_flag(donor_names), settings = settings,
    intervals = check_flag(intervals),
    target_round = check_flag(target_round)
  ), class = "dp_control")
})

# A constant, built after all files are read, like the table of methods.
delayedAssign("default_control", dp_control())

#' @export
print.dp_control <- function(x, ...) {
  cat("Settings of a private fit (NULL: the public default)\n")
  for (name in names(x)) {
    value <- x[[name]]
    text <- if (is.list(value)) paste("a list of", length(value)) else describe_value(value)
    cat("  ", formatC(name, width = -12L), " ", text, "\n", sep = "")
  }
  invisible(x)
}

check_features <- function(features) {
  if (identical(features, Inf)) Inf else check_count(features, 1)
}

#' Check settings again, since a list can be edited
#'
#' `rng` can also be a tape of random bytes, or the noise of a running audit; such a fit is not
#' private.
#' @noRd
check_control <- function(control) {
  if (!inherits(control, "dp_control")) {
    abort(c(
      "{.arg control} must come from {.fn dp_control}.", x = "It is {describe(control)}."
    ), "argument")
  }
  # Settings that the user did not edit were checked when they were made.
  if (identical(control, default_control)) {
    return(control)
  }
  fields <- unclass(control)
  if (!is.list(fields) || !setequal(names(fields), names(formals(dp_control))) ||
      anyDuplicated(names(fields))) {
    abort(c(
      "{.arg control} must come from {.fn dp_control}.", x = "It has wrong fields."
    ), "argument")
  }
  if (typeof(fields$rng) == "externalptr") {
    check_noise_open(fields$rng)
    fields$rng <- "R"
  }
  if (is.raw(fields$rng)) fields$rng <- "R"
  do.call(dp_control, fields)
  control
}

#' Refuse noise of a finished audit, or of another session
#' @noRd
check_noise_open <- function(noise) {
  if (!noise_open_cpp(noise)) {
    abort(c(
      "Noise from an audit can be used only in that audit, while the audit runs.",
      i = "Take {.arg control} from {.fn dp_control}."
    ), "argument")
  }
}

#' The checked budget of a call
#' @return A list: `private`, `epsilon`, `delta` (0 without privacy), `rng`. PUBLIC.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_budget`.
#' @noRd
checked_budget <- function(epsilon, delta, ledger, control) {
  epsilon <- check_epsilon(epsilon)
  delta <- check_number(delta, 0, 1, open = "max")
  control <- check_control(control)
  check_ledger(ledger)
  private <- is.finite(epsilon)
  if (!private) check_nothing_to_charge(ledger)
  check_draws_here()
  list(private = private, epsilon = epsilon, delta = if (private) delta else 0, rng = control$rng)
}

#' Refuse a ledger for a fit without privacy
#' @noRd
check_nothing_to_charge <- function(ledger) {
  if (!is.null(ledger)) {
    abort(c(
      "{.code epsilon = Inf} is not private and cannot be charged to a ledger.",
      i = "Give a finite {.arg epsilon}, or drop {.arg ledger}."
    ), "budget")
  }
}
