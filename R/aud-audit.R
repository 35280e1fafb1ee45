# Audits compare the privacy loss demonstrated for a mechanism with its claimed loss. The modes are
# in aud-blackbox.R, aud-loss.R and aud-replay.R.

#' Audit the privacy loss of a mechanism
#'
#' Runs a mechanism on two neighbouring panels and searches for a privacy loss above the claimed
#' loss. An audit can refute a claim but cannot prove it, since it uses one pair of panels and
#' finitely many runs.
#'
#' @section Modes:
#' * `"blackbox"` audits any function of a panel that returns numbers. Half of the runs are used to
#'   find events that distinguish the panels, by thresholds on a linear discriminant, on single
#'   coordinates and on distances. The other half of the runs gives the frequencies of these events.
#'   Let p be the lower Clopper-Pearson limit of an event's probability on one panel, and q the
#'   upper limit on the other panel: then `epsilon >= log((p - delta) / q)`. The claim is also
#'   refuted if the output never changes between runs on a panel (as with a fixed seed), but depends
#'   on the panel.
#' * `"loss"` computes the exact privacy loss of each output, from `log_density` or, for releases of
#'   this package, from the known distribution of every noise step. Methods with a step of unknown
#'   density, such as `"objective"` with `calibration = "tight"`, are refused. The result is delta
#'   as a function of epsilon, with confidence limits.
#' * `"replay"` records every call for noise in a run on `data`, and repeats the calls in a run on
#'   `neighbour`, which receives the same noisy outputs. The distance between the two values before
#'   noise must not exceed the declared sensitivity, and the number, distribution, size and scale of
#'   the calls must be equal.
#'
#' @section Audits of real data: The result of an audit on real donors is not private. Audit
#' simulated panels, or treat the result like the data.
#'
#' @param mechanism (`function` or `dp_audit_mechanism`)\cr a function from a panel to numbers, or a
#'   release of this package as described by [audit_mechanism()]. With `mode = "replay"` the
#'   function takes a second argument, a function `add_noise(value, scale, sensitivity, law)` which
#'   must draw all noise. `law` is `"gaussian"` (then `scale` is the standard deviation),
#'   `"laplace"` or `"gamma_norm"` (a random direction, and a norm with a gamma distribution).
#' @param data,neighbour (`any`)\cr two neighbouring panels in the form of `mechanism`'s argument.
#'   For a release that [audit_mechanism()] describes by its method, the panels are matrices with
#'   one row per donor and one column per period, and `neighbour` arises by replacing one row of
#'   `data`; with `protect = "everyone"` the treated people are in the last rows.
#' @param epsilon,delta (`number`)\cr the claim of the mechanism. The default for releases of this
#'   package is the claim of [audit_mechanism()].
#' @param n_runs (`count`)\cr number of runs on each panel, for `"blackbox"` at least 20.
#' @param ... further arguments of `mechanism`.
#' @param mode (`string`)\cr see Modes. The default is `"loss"` if `log_density` is given, and
#'   `"blackbox"` otherwise.
#' @param log_density (`function`)\cr `log_density(output, panel)` returns the log-density of an
#'   output, up to a constant that is equal for both panels.
#' @param level (`number`, in (0, 1))\cr joint confidence level of the lower bounds.
#' @return An object of class `dp_audit`, a list:
#'   * `mode`, `n_runs`, `level`: the arguments.
#'   * `claimed`: `epsilon` and `delta`.
#'   * `observed`: lower bounds on `epsilon` and `delta` with confidence `level`, for `"loss"` also
#'     the largest `loss`. For `"replay"`: `ratio`, the largest ratio of actual to declared
#'     sensitivity.
#'   * `violated`: whether the claim is refuted; `NA` if the change of a call is not known.
#'   * `note`: an explanation, or `NULL`.
#'   * `table`: the table that `tidy()` returns.
#'   * `curve`: for mode `"loss"`, delta as a function of epsilon.
#'
#'   The object contains neither data nor outputs, but its numbers depend on the data.
#' @section Errors: `dpsc_error_argument`, and any condition that `mechanism` signals.
#' @references
#' Jagielski, M., Ullman, J. and Oprea, A. (2020). Auditing Differentially Private Machine Learning:
#' How Private is Private SGD? NeurIPS.
#'
#' Maurer, A. and Pontil, M. (2009). Empirical Bernstein Bounds and Sample Variance Penalization.
#' COLT.
#' @examples
#' # A Gaussian mechanism that uses its standard deviation as its variance.
#' sigma <- gaussian_sigma(epsilon = 1, delta = 1e-5, sensitivity = 20)
#' wrong <- function(panel) sum(panel) + rnorm(1, sd = sqrt(sigma))
#' data <- matrix(0, 5, 4)
#' neighbour <- rbind(5, matrix(0, 4, 4))
#' audit <- dp_audit(wrong, data, neighbour, epsilon = 1, delta = 1e-5, n_runs = 500)
#' audit
#' tidy(audit)
#'
#' # The noise calls of one of the package's releases.
#' panel <- sim_panel(n = 30, T0 = 6, T1 = 2)
#' ours <- audit_mechanism("gram", target = panel$target, T0 = 6, epsilon = 1)
#' other <- panel$donors
#' other[1, ] <- -1
#' dp_audit(ours, panel$donors, other, n_runs = 20, mode = "replay")
#' @export
dp_audit <- function(mechanism, data, neighbour, epsilon = NULL, delta = NULL, n_runs = 1000, ...,
                     mode = NULL, log_density = NULL, level = 0.95) door("dp_audit", {
  check_given(missing(mechanism), "mechanism", "the mechanism to audit")
  check_given(missing(data), "data", "one of two neighbouring data sets")
  check_given(missing(neighbour), "neighbour", "the other of two neighbouring data sets")
  ours <- inherits(mechanism, "dp_audit_mechanism")
  if (!ours && !is.function(mechanism)) {
    abort(c(
      "{.arg mechanism} must be a function of a panel, or a result of {.fn audit_mechanism}.",
      x = "It is {describe(mechanism)}."
    ), "argument")
  }
  if (ours) check_no_dots(...)
  mode <- check_choice(
    mode %||% if (is.null(log_density)) "blackbox" else "loss", c("blackbox", "loss", "replay")
  )
  claimed <- check_claim(mechanism, epsilon, delta, mode)
  n_runs <- check_count(n_runs, if (mode == "blackbox") 20 else 1)
  level <- check_level(level)
  pair <- list(data = data, neighbour = neighbour)
  if (ours && is.null(mechanism$verb)) check_audit_pair(pair)
  result <- switch(mode,
    blackbox = audit_blackbox(as_black_box(mechanism, ...), pair, claimed, n_runs, level),
    loss = audit_loss(mechanism, pair, claimed, n_runs, level, log_density, ...),
    replay = audit_replay(as_hooked(mechanism, ...), pair, n_runs)
  )
  structure(
    c(list(mode = mode, claimed = claimed, n_runs = n_runs, level = level), result),
    class = "dp_audit"
  )
})

#' Describe a release of this package to [dp_audit()]
#'
#' Describes a release by one of the methods of [dp_release()], or any call of a function that has
#' an argument `control`, for example a call with covariates, chunks, several outcomes, a group's
#' `size` or updates. The audit passes a noise generator through `control`. This generator works
#' only in an audit, and a fit with its noise is marked NOT PRIVATE.
#'
#' @param method (`string`, or `function(people, control)`)\cr the method of a release, or a
#'   function that analyses people by a call of this package. [dp_audit()] calls such a function
#'   with `data` and with `neighbour`. With a function only `epsilon`, `delta` and `control` are
#'   used, and `epsilon` is not needed for mode `"replay"`.
#' @inheritParams dp_release
#' @param calibration (`string`)\cr `"tight"` (default) or, for the papers' methods, `"published"`.
#' @param target (`numeric(T)`)\cr the target's outcomes; omitted with `protect = "everyone"`.
#' @param T0 (`count`, or one for each treated person)\cr number of periods before the treatment.
#' @param protect (`string`)\cr `"donors"` or `"everyone"`. With `"everyone"` the panels for
#'   [dp_audit()] contain donors and treated people, one row per person, with the treated people
#'   last.
#' @param treated (`count` or `NULL`)\cr with `protect = "everyone"`, the number of treated people.
#' @param control (`dp_control`)\cr settings. The default of this function, `rng = "R"`, is faster
#'   than `"secure"`, and an audit can then be repeated with [set.seed()]. The noise has the same
#'   distribution.
#' @param ... unused; an unknown argument causes an error.
#' @return An object of class `dp_audit_mechanism`: the arguments of [dp_release()] except the
#'   donors, or the function and its budget. PUBLIC. In [dp_audit()] the object represents the
#'   function from people to released statistics.
#' @examples
#' panel <- sim_panel(n = 20, T0 = 5, T1 = 2)
#' audit_mechanism("output", target = panel$target, T0 = 5, epsilon = 1, delta = 0)
#'
#' # A call of another verb.
#' people <- data.frame(x = runif(400), y = runif(400))
#' other <- people
#' other[1, ] <- c(0, 1)
#' regression <- audit_mechanism(function(people, control) {
#'   dp_lm(y ~ x, people, epsilon = 1, bounds = list(x = c(0, 1), y = c(0, 1)), control = control)
#' })
#' dp_audit(regression, people, other, n_runs = 2, mode = "replay")
#' @export
audit_mechanism <- function(method = "gram",
                            calibration = c("tight", "published"), target, T0, epsilon,
                            delta = 1e-6, bounds = c(-1, 1), control = dp_control(rng = "R"),
                            protect = c("donors", "everyone"),
                            treated = NULL, ...) door("audit_mechanism", {
  check_no_dots(...)
  if (is.function(method)) {
    return(audited_verb(method, if (missing(epsilon)) NULL else epsilon, delta, control))
  }
  protect <- check_choice(protect, c("donors", "everyone"))
  everyone <- protect == "everyone"
  if (everyone) {
    treated <- check_count(treated, 2)
    T0 <- vapply(T0, check_count, 0, min = 1, arg = "T0")
    if (!length(T0) %in% c(1L, treated)) {
      abort("{.arg T0} must be one number, or one number per treated person.", "argument")
    }
  } else {
    T0 <- check_count(T0, 1)
  }
  structure(list(
    method = check_choice(method, names(mechanism_table$dp_synth)),
    calibration = check_choice(calibration, c("tight", "published")),
    target = if (!everyone) target, T0 = T0, protect = protect, treated = treated,
    epsilon = check_number(epsilon, 0, open = "min"),
    delta = check_number(delta, 0, 1, open = "max"), bounds = bounds,
    control = check_control(control)
  ), class = "dp_audit_mechanism")
})

#' A call of any verb as an audited mechanism
#' @noRd
audited_verb <- function(verb, epsilon, delta, control) {
  if (length(formals(verb)) < 2L) {
    abort(c(
      "A function given as {.arg method} must have two arguments: the people and {.arg control}.",
      i = paste(
        "Write, for example,",
        "{.code function(people, control) dp_lm(y ~ x, people, control = control, ...)}."
      )
    ), "argument")
  }
  structure(list(
    method = "verb", verb = verb,
    epsilon = if (!is.null(epsilon)) check_number(epsilon, 0, open = "min"),
    delta = check_number(delta, 0, 1, open = "max"), control = check_control(control)
  ), class = "dp_audit_mechanism")
}

#' @export
print.dp_audit_mechanism <- function(x, ...) {
  if (!is.null(x$verb)) {
    cat("A function that makes a private release, to be audited\n")
    return(invisible(x))
  }
  cat(
    "Release by method \"", x$method, "\" (", x$calibration, "), epsilon = ", format(x$epsilon),
    ", delta = ", format(x$delta), if (x$protect == "everyone") ", which protects everyone",
    ", to be audited\n",
    sep = ""
  )
  invisible(x)
}

#' @noRd
check_claim <- function(mechanism, epsilon, delta, mode) {
  ours <- inherits(mechanism, "dp_audit_mechanism")
  if (ours) {
    epsilon <- epsilon %||% mechanism$epsilon
    delta <- delta %||% mechanism$delta
  }
  if (is.null(epsilon)) {
    # A replay compares sensitivities, so it needs no budget.
    if (mode == "replay") return(list(epsilon = NA_real_, delta = NA_real_))
    abort("{.arg epsilon} is required: the epsilon that the mechanism claims.", "argument")
  }
  list(
    epsilon = check_number(epsilon, 0),
    delta = check_number(delta %||% 0, 0, 1, open = "max")
  )
}

#' @noRd
check_audit_pair <- function(pair) {
  fits <- function(x) is.matrix(x) && is.numeric(x)
  if (!fits(pair$data) || !fits(pair$neighbour) ||
        !identical(dim(pair$data), dim(pair$neighbour))) {
    abort(c(
      "{.arg data} and {.arg neighbour} must be numeric matrices of the same size.",
      i = "Give one row per person. Replace one person's row to make the neighbour."
    ), "argument")
  }
  differing <- sum(rowSums(pair$data != pair$neighbour) > 0)
  if (!identical(differing, 1L)) {
    abort(c(
      "{.arg data} and {.arg neighbour} must differ in exactly one row.",
      i = "Replace one person's row of {.arg data} to make the neighbour."
    ), "argument")
  }
}
