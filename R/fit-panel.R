# From a panel or a release to a fit: what all ways of calling dp_synth() share. Donors are read by
# the release only, or by the classical estimators.

#' From a checked panel to a fit
#' @noRd
fit_panel <- function(panel, epsilon, delta, bounds, method, calibration, estimator, size,
                      ledger, control, call, protect = NULL) {
  panel <- guard_panel(panel, protect, is_private(epsilon), method, size, bounds, call)
  # The release is for the group's mean.
  panel$size <- panel$size %||% check_size(size, nrow(panel$target), call)
  if (is_classical(estimator)) {
    return(fit_raw_panel(panel, epsilon, estimator, ledger, control, call))
  }
  method <- check_choice(method, c("gram", "output", "objective"), call = call)
  estimator <- check_estimator(estimator, method, call)
  release <- release_panel(
    panel, epsilon, delta, bounds, method, calibration, ledger, control, call, estimator,
    panel$size, refuse = TRUE
  )
  fit_released(release, panel, estimator, call)
}

#' A classical estimator on a panel of one date or several. NOT PRIVATE.
#' @noRd
fit_raw_panel <- function(panel, epsilon, estimator, ledger, control, call) {
  size <- panel$size
  panel$size <- NULL
  one <- function(panel) fit_classical_panel(panel, epsilon, estimator, ledger, control, call)
  if (is.null(panel$adopted)) one(panel) else classical_cohorts(panel, size, one)
}

#' The fit of a release's own targets
#' @param panel (`dpsc_panel`)\cr with `size`; its donors are not read.
#' @noRd
fit_released <- function(release, panel, estimator, call) {
  public <- is.null(panel$treated)
  target <- if (public) panel$target
  covariates <- if (public) panel$covariates$target
  if (!is.null(panel$adopted)) {
    fit_one <- function(...) fit_release(..., call = call)
    return(fit_cohorts(
      release, target, panel$adopted, estimator, panel$size, fit_one, covariates
    ))
  }
  fit_release(release, target, estimator, panel$size, call, covariates)
}

check_estimator <- function(estimator, method, call) {
  estimator <- check_choice(estimator, c("ridge", "did", raw_estimators), call = call)
  if (is_classical(estimator)) {
    abort(c(
      "{.code estimator = {.val {estimator}}} works on raw donors, not on a release.",
      i = "Give the donors and {.code epsilon = Inf}, which is NOT PRIVATE."
    ), "argument", call)
  }
  if (estimator == "did" && method != "gram") {
    abort(c(
      "{.code estimator = \"did\"} needs {.code method = \"gram\"}.",
      i = "Methods {.val output} and {.val objective} release ridge weights only."
    ), "argument", call)
  }
  estimator
}

#' The fit of the protected people that a release holds
#' @noRd
fit_protected <- function(release, estimator, call) {
  dates <- release$statistics$cohorts$T0
  if (is.null(dates)) {
    return(fit_release(release, NULL, estimator, NULL, call))
  }
  people <- release$panel$treated
  fit_one <- function(...) fit_release(..., call = call)
  fit_cohorts(release, NULL, rep(dates, people), estimator, rep(1, sum(people)), fit_one)
}

#' Fit targets to a release
#'
#' Several targets are one group: the fit is that of their mean. Those of its members are in
#' `units`, a fit's fields of their own, for whoever asks.
#' @param release (`dp_release`).
#' @param target (`matrix`, k x T, outcome units, PUBLIC, or `NULL`)\cr `NULL`: the protected group
#'   that the release holds.
#' @param size (`numeric(k)`)\cr people in each target.
#' @param covariates (`matrix`, k x q, or `NULL`)\cr of the targets, where the release has any.
#' @return A `dp_synth`.
#' @noRd
fit_release <- function(release, target, estimator, size, call = NULL, covariates = NULL) {
  if (is.null(target)) {
    return(structure(c(
      list(release = release),
      fit_treated(release, estimator, estimate_gram, release_scale(release)),
      list(estimator = estimator, protected = TRUE)
    ), class = "dp_synth"))
  }
  group <- mean_target(target, size)
  if (release$method != "gram") check_fitted_target(release, group, call)
  mean_covariates <- if (!is.null(covariates)) {
    matrix(colSums(covariates * (size / sum(size))), 1L)
  }
  overall <- fit_targets(release, group, sum(size), estimator, mean_covariates)
  several <- nrow(target) > 1L && release$method == "gram"
  structure(c(
    list(release = release), overall, list(
      estimator = estimator,
      units = if (several) fit_targets(release, target, size, estimator, covariates)
    )
  ), class = "dp_synth")
}

#' What a release says of each target
#' @noRd
fit_targets <- function(release, target, size, estimator, covariates = NULL) {
  scale <- release_scale(release)
  scaled <- with_covariates(release, unname(to_scale(target, scale)), covariates)
  estimate <- switch(release$method, gram = estimate_gram, estimate_vertical)
  fits <- estimate(release, scaled, size, estimator)
  counterfactual <- from_scale(do.call(rbind, lapply(fits, `[[`, "path")), scale)
  rownames(counterfactual) <- rownames(target)
  out <- list(
    target = target, size = size, counterfactual = counterfactual,
    variance = lapply(fits, function(fit) {
      list(prediction = fit$prediction * scale$unit^2, privacy = fit$privacy * scale$unit^2)
    }),
    spread = lapply(fits, `[[`, "spread"), penalty = vapply(fits, `[[`, 0, "penalty")
  )
  out$covariates <- covariates
  out
}

#' Is this the target whose weights were released?
#' @noRd
check_fitted_target <- function(release, target, call) {
  pre <- target[1L, seq_len(release$panel$T0)]
  if (!isTRUE(all.equal(pre, release$settings$target, tolerance = 1e-8))) {
    abort(c(
      "This release holds weights that were fitted to another target.",
      i = "A release by {.val gram} serves any target, one by {.val {release$method}} only its own."
    ), "argument", call)
  }
}

#' Counterfactual of the vertical methods: the release holds it
#'
#' Its privacy variance follows from the two noise laws: weights carry variance a^2 each, outcomes
#' b^2, so a prediction has variance `a^2 sum_i x_i^2 + b^2 |f|^2` to first order, where f is the
#' noisy weights less their expected excess and `sum_i x_i^2 <= n` (public bound).
#' @noRd
estimate_vertical <- function(release, target, size, estimator) {
  panel <- release$panel
  T1 <- panel$T1
  statistics <- release$statistics
  noise <- release$privacy$steps
  privacy <- matrix(0, T1, T1)
  if (release$privacy$private) {
    weights_variance <- release$settings$weights_variance
    post_variance <- release$settings$post_variance
    squared <- sum(statistics$weights^2)
    half <- release_scale(release)$half[-seq_len(panel$T0)]
    privacy <- diag(post_variance * squared, T1) +
      weights_variance * panel$n * tcrossprod(half)
  }
  list(list(
    path = c(rep(NA_real_, panel$T0), statistics$counterfactual),
    prediction = matrix(NA_real_, T1, T1), privacy = privacy,
    penalty = release$settings$lambda, spread = list(
      reason = "this method releases no moments of the donors, which an interval would need"
    )
  ))
}
