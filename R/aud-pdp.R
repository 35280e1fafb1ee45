# Privacy loss of each donor from one release. The code reads the raw panel, so all results are
# PRIVATE and for the curator only, except `pdp_bound()`, which reads only the row in its argument.

#' Privacy loss of each donor
#'
#' The guarantee of a release bounds the loss of any donor in any panel. `pdp()` computes, after the
#' release, the privacy loss of each donor in *this* panel (per-instance differential privacy, Wang,
#' 2019), which is often far smaller than epsilon. These losses depend on the donors' data without
#' noise, so they are for the **curator only**. The guarantee does not cover the losses, and a
#' donor's loss reveals information about the donor. Never publish losses, and never choose the
#' noise by them. The bounds by [pdp_bound()] may be published.
#'
#' The loss is computed for two kinds of neighbouring panels. *Removal*: the donor's contribution to
#' the sums is removed, and the number of donors is unchanged (for `"output"` and `"objective"` the
#' row becomes the middle of the bounds). *Replacement*: the donor's row is replaced by any row
#' within the bounds, as in the guarantee, and the result is a certified upper bound. The
#' computation depends on the method:
#'
#' * `"output"`: the exact change of the ridge weights by a removal, from the donor's weight and
#'   leverage (`inst/proofs/ridge.md`). One fit suffices for all donors. The outcomes after the
#'   treatment change by the norm of the row.
#' * `"objective"`, `calibration = "tight"`: the terms of the proof (the largest gradient difference
#'   over the feasible set, and the determinant) for this donor instead of the worst possible donor.
#' * `"objective"`, `calibration = "published"`: the Renyi divergence of the two Gaussian
#'   distributions of the weights (removal only). With `delta = 0`, for which the published
#'   guarantee is not valid, the loss is infinite. The published noise does not guarantee the stated
#'   epsilon, so a donor's loss can exceed this epsilon.
#' * `"gram"`: the exact shifts of the released moments by the donor's clipped features, given the
#'   released radii and transforms. The other steps, which choose radii and calibrate the intervals,
#'   contribute the largest loss of any donor. The loss is for *this run*: with other noise, radii
#'   and losses would be different.
#'
#' In a release with `protect = "everyone"` treated people also have losses, from the rounds on
#' treated people. Donors have losses from the rounds on donors and from the last step on donors.
#' Losses are summed separately in the two groups.
#'
#' The losses of the steps add up as if the results of all steps had been published. For `"output"`
#' and `"objective"` only a product of the results is published, so the true loss can be lower.
#' Gaussian steps add up to one Gaussian shift `mu`, and the exact trade-off of the Gaussian
#' mechanism gives epsilon at the given delta. Discrete Gaussian noise with variance V (in squared
#' steps of its grid) is counted as normal noise with variance V - 16, from which it can be computed
#' (`inst/proofs/accounting.md`).
#'
#' @param x (`dp_release`, `dp_synth` or `dp_cohorts`)\cr a private release, or a fit that contains
#'   a private release. Growing releases, and releases with covariates or weights, are refused,
#'   since the losses of single people are not known. For [dp_lm()] and [dp_glm()] see [pdp_rows].
#' @param donors (`matrix`, [dp_chunks()] for `"gram"`, or `formula`)\cr the panel of the release,
#'   with donors and periods in the same order. A formula `outcome ~ treated` needs `data` and
#'   `index`. If the formula computes the outcome from columns with limits, `x` must be the fit,
#'   since a release does not contain limits of columns. PRIVATE.
#' @param target (`numeric` of length T or `matrix`, or `NULL`)\cr the target, which is only
#'   compared with the target in the release. For a release with `protect = "everyone"`: the treated
#'   people's rows, PRIVATE.
#' @param T0 (`count`)\cr number of periods before the treatment, which is only compared with the
#'   number in the release. With `protect = "everyone"` and several dates: one number per treated
#'   person.
#' @param data,index see [dp_synth()].
#' @param delta (`number`, in \[0, 1))\cr the delta for which epsilon is computed. `NULL`: the delta
#'   of the release.
#' @param epsilon (`number`, at least 0)\cr the privacy loss for which delta is computed.
#' @param ... arguments of methods. Unknown arguments are refused.
#' @return `pdp()`: an object of class `dp_pdp`, PRIVATE, a list:
#'   * `donors`: a data frame with one row per donor in the panel's order, without names. Its
#'     columns are `donor` (position), `removal` and `replacement` (epsilon), and `mu_removal` and
#'     `mu_replacement` (Gaussian shifts; `NA` if the loss is not from a Gaussian shift). With
#'     `protect = "everyone"` the columns `account` (donors or treated people) and `person`
#'     (position in the account) replace `donor`.
#'   * `worst`: the release's epsilon.
#'   * `delta`, `method`, `calibration`: the delta of the losses, and the method and calibration of
#'     the release.
#'   * `holds`: whether the release's guarantee is valid.
#'
#'   [write_release()] refuses this object.
#'
#'   `pdp_delta()`: a data frame with each donor's delta at `epsilon`, for a removal and for a
#'   replacement. If the losses are not from a single Gaussian shift, the call stops with an error.
#'   PRIVATE.
#' @section Errors: `dpsc_error_argument`, and `dpsc_error_panel` for a panel that cannot be the
#'   panel of the release. No error contains a donor's value.
#' @references Wang, Y.-X. (2019). Per-instance Differential Privacy. Journal of Privacy and
#'   Confidentiality 9(1).
#'
#'   Dong, J., Roth, A. and Su, W. (2022). Gaussian Differential Privacy. JRSS B 84(1).
#' @examples
#' panel <- sim_panel(n = 300, T0 = 10, T1 = 3)
#' release <- dp_release(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1), method = "output"
#' )
#' loss <- pdp(release, panel$donors)
#' loss
#' summary(loss)
#' @export
pdp <- function(x, ...) {
  UseMethod("pdp")
}

#' @rdname pdp
#' @export
pdp.default <- function(x, ...) door("pdp", {
  if (inherits(x, names(without_losses))) {
    reason <- without_losses[[which(inherits(x, names(without_losses), TRUE) > 0)[[1L]]]]
    abort_unknown_losses("this result",
      x = reason, i = "The guarantee bounds each of these losses."
    )
  }
  abort(c(
    "{.arg x} must be a private release or a fit that contains a release.",
    x = "It is {describe(x)}."
  ), "argument")
})

#' Reasons for unknown losses of people in some results, as in the help page `pdp_rows`
#' @noRd
without_losses <- c(
  dp_selection = paste(
    "A person changes the scores of many candidates at once, and no formula for that person's loss",
    "is proved."
  ),
  dp_stream = "A stream does not keep the rows that it has read.",
  dp_aggregate = "The assignment of people to blocks is not stored.",
  dp_description = "A description has many steps, whose losses are not added up by person."
)

#' @rdname pdp
#' @export
pdp.dp_synth <- function(x, ...) door("pdp", {
  pdp.dp_release(limited_release(x), ...)
})

#' @rdname pdp
#' @export
pdp.dp_cohorts <- function(x, ...) door("pdp", {
  pdp.dp_release(limited_release(x), ...)
})

#' The release of a fit, with the limits to which the columns of a formula's outcome are clipped
#' @noRd
limited_release <- function(fit) {
  release <- fit$release
  release$limits <- fit$limits
  release
}

#' The panel of a formula, with the columns of its outcome clipped as for the release
#' @noRd
pdp_panel <- function(release, formula, data, index, hide = FALSE) {
  formula <- outcome_limits(formula, release$limits, names(data))$formula
  panel_from_formula(formula, panel_people(data, index), plain_request(hide))
}

#' @rdname pdp
#' @export
pdp.dp_release <- function(x, donors, target = NULL, T0 = NULL, data = NULL, index = NULL,
                           delta = NULL, ...) door("pdp", {
  check_no_dots(...)
  check_noisy(x)
  unknown <- c(
    if (is_growing(x)) "a growing release",
    if (!is.null(x$panel$covariates) || !is.null(x$panel$weights)) {
      "a release with covariates or weights"
    }
  )
  if (length(unknown)) {
    abort_unknown_losses(unknown[[1L]],
      i = "The release's epsilon = {format(x$privacy$epsilon)} bounds each of these losses."
    )
  }
  delta <- loss_delta(x, delta)
  check_given(missing(donors), "donors", "the released panel")
  if (!is.null(x$panel$treated)) {
    people <- pdp_people(x, donors, target, T0, data, index)
    return(new_pdp(x, pdp_everyone(x, people, delta), delta, "person"))
  }
  donors <- pdp_donors(x, donors, target, T0, data, index)
  loss <- mechanism_table$dp_synth[[x$method]]$loss(x, donors, delta)
  new_pdp(x, data.frame(donor = seq_len(x$panel$n), loss), delta)
})

#' @param unit (`string` or `NULL`)\cr name of the people with these losses, if they are not donors.
#' @noRd
new_pdp <- function(release, losses, delta, unit = NULL) {
  structure(c(list(
    donors = losses, worst = release$privacy$epsilon, delta = delta, method = release$method,
    calibration = release$calibration, holds = release$privacy$holds,
    reason = release$privacy$reason
  ), if (!is.null(unit)) list(unit = unit, of = "panel")), class = "dp_pdp")
}

#' The people of a release for everyone, with their sizes checked
#' @inheritParams pdp
#' @return As [people_by_account()]. PRIVATE.
#' @noRd
pdp_people <- function(release, donors, target, T0, data, index) {
  if (inherits(donors, "formula") && !inherits(data, "dp_source")) {
    panel <- pdp_panel(release, donors, data, index, hide = TRUE)
    donors <- panel$donors
    target <- panel$target
    T0 <- panel$adopted
  } else {
    check_given(is.null(target), "target", "the treated people's rows")
    target <- check_target(target, release$panel$T0 + release$panel$T1)
  }
  donors <- pdp_donors(release, donors, NULL, NULL, data, index)
  people_by_account(release, donors, target, T0)
}

#' @rdname pdp
#' @export
pdp_delta <- function(x, epsilon, ...) door("pdp_delta", {
  check_no_dots(...)
  if (!inherits(x, "dp_pdp")) {
    abort(c("{.arg x} must come from {.fn pdp}.", x = "It is {describe(x)}."), "argument")
  }
  epsilon <- check_number(epsilon, 0, infinite = TRUE)
  if (anyNA(x$donors$mu_removal)) {
    abort(c(
      "These losses are not from a single Gaussian shift, so delta is not known for every epsilon.",
      i = "Call {.fn pdp} with another {.arg delta} instead."
    ), "argument")
  }
  known <- intersect(c("donor", "person", "account"), names(x$donors))
  data.frame(
    x$donors[known], removal = shift_delta(x$donors$mu_removal, epsilon),
    replacement = shift_delta(x$donors$mu_replacement, epsilon)
  )
})

#' The donors of a release, with their sizes checked
#' @return A double matrix (n x T, outcome units) or `dp_chunks`. PRIVATE.
#' @noRd
pdp_donors <- function(release, donors, target, T0, data, index) {
  facts <- release$panel
  periods <- facts$T0 + facts$T1
  if (inherits(donors, "dp_source") || inherits(data, "dp_source")) {
    abort(c(
      "{.fn pdp} needs donors' rows in this R session.",
      i = "Read the rows into a data frame or a matrix, or give {.fn dp_chunks}."
    ), "argument")
  }
  if (inherits(donors, "formula")) {
    panel <- pdp_panel(release, donors, data, index)
    T0 <- panel$T0
    target <- panel$target
    donors <- panel$donors
  } else if (inherits(donors, "dp_chunks")) {
    if (!gives_moments(release$method)) {
      abort("{.fn pdp} takes chunks of donors only for releases by method {.val gram}.", "argument")
    }
    panel <- panel_from_donors.dp_chunks(donors, target %||% numeric(periods), facts$T0)
    sizes <- c(panel$n, length(panel$times))
  } else {
    check_donor_matrix(donors)
    check_donors_finite(donors, "donors")
    storage.mode(donors) <- "double"
  }
  if (is.matrix(donors)) sizes <- dim(donors)
  if (!all(sizes == c(facts$n, periods)) || !isTRUE((T0 %||% facts$T0) == facts$T0)) {
    abort(c(
      "This panel cannot be the released panel.",
      x = paste(
        "The released panel has {facts$n} donors, {facts$T0} periods before the treatment and",
        "{facts$T1} from the treatment on."
      ),
      i = "Give the same donors as to {.fn dp_release}."
    ), "panel")
  }
  if (!is.null(target)) {
    target <- check_target(target, periods)
    if (!gives_moments(release$method)) {
      check_fitted_target(release, mean_target(target, rep(1, nrow(target))))
    }
  }
  donors
}

# Gaussian shifts ----------------------------------------------------------------------------------
