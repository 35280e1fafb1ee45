# Check that the parts of a release from a file agree. Facts implied by other parts are recomputed,
# so that a damaged or edited file is noticed. This check does not prove the origin of the file:
# only a signature can expose a forger who recomputes everything.

#' Contradictions within a release, in words, or `NULL`
#'
#' `find_release_problem()` checks types and sizes first. Every check takes the release and returns
#' a string or `NULL`.
#' @param release (`dp_release`)\cr parts of the right types and sizes.
#' @noRd
release_conflict <- function(release) {
  method <- mechanism_table$dp_synth[[release$method]]
  checks <- c(
    record_conflict, promise_conflict, if (release$privacy$private) c(step_conflict, method$cost),
    method$noise, growing_conflict
  )
  for (check in checks) {
    problem <- check(release)
    if (!is.null(problem)) {
      return(problem)
    }
  }
}

#' Check of the privacy record, with origin of the noise, neighbours, and fields of a release
#' without noise
#' @noRd
record_conflict <- function(release) {
  privacy <- release$privacy
  # In versions up to 0.2.0, the neighbours of releases with names were the neighbours of releases
  # without names.
  told <- c(neighbours_of(release$panel$treated), if (!is.null(release$panel$donor_names)) {
    neighbours_of(NULL, named = TRUE)
  })
  first_fault(
    "The privacy record is wrong." =
      !privacy$rng %in% c("secure", "R") || !privacy$neighbours %in% told,
    "The release is marked private, but its bounds are not finite." =
      privacy$private && !all(is.finite(unlist(release$bounds[c("lower", "upper")]))),
    "The release is marked not private, but its privacy record contains a budget." =
      !privacy$private && !(is.null(privacy$steps) && is.na(privacy$rho) && privacy$delta == 0)
  )
}

#' Does the guarantee follow from method, calibration, steps and source of the noise?
#'
#' The words of the guarantee are from this package, and [read_release()] restores these words.
#' @noRd
promise_conflict <- function(release) {
  promise <- read_promise(release)
  # A release with a known fault is written with `holds = FALSE`.
  fault <- release
  fault$privacy[names(promise)] <- promise
  fault$privacy[c("looked", "doubt")] <- NULL
  promise$holds <- c(promise$holds, known_release(fault)$privacy$holds)
  said <- release$privacy
  if (!said$holds %in% promise$holds || !identical(promise$exact, said$exact)) {
    "The guarantee in the privacy record does not follow from the method and the noise."
  }
}

read_promise <- function(release) {
  privacy <- release$privacy
  public <- list(
    private = privacy$private, method = release$method, calibration = release$calibration,
    delta = privacy$delta, control = list(rng = privacy$rng), treated = release$panel$treated,
    monitor = release$statistics$monitor$announced
  )
  guarantee(public, list(steps = privacy$steps))
}

#' Does every step have a known distribution, and a charge of at least the cost of its noise?
#' @noRd
step_conflict <- function(release) {
  steps <- release$privacy$steps
  numbers <- c("sensitivity", "scale", "epsilon", "rho")
  positive <- function(x) is.numeric(x) && all(is.finite(x)) && all(x > 0)
  typed <- nrow(steps) > 0L && is.character(steps$step) && is.character(steps$law) &&
    positive(steps$sensitivity) && positive(steps$scale) &&
    all(vapply(steps[numbers], function(x) is.numeric(x) || all(is.na(x)), NA)) &&
    all(steps$epsilon > 0, steps$rho > 0, na.rm = TRUE)
  if (!typed || !all(steps$law %in% c(exact_laws, "gamma_norm", "gaussian"))) {
    return("The noise steps are wrong.")
  }
  ratio <- steps$sensitivity / steps$scale
  pure <- steps$law %in% c("discrete_laplace", "gamma_norm") |
    (steps$law == "exponential" & is.na(steps$rho))
  composed <- steps$law %in% c("discrete_gaussian", "exponential") & !pure
  charged <- all(mapply(at_most, ratio[pure], steps$epsilon[pure])) && if (in_shifts(steps)) {
    choice <- steps$law[composed] == "exponential"
    shift <- ratio[composed]
    shift[choice] <- vapply(shift[choice], exponential_step_mu_cpp, 0)
    all(mapply(at_most, shift, steps$mu[composed])) &&
      all(mapply(at_most, steps$rho[composed], steps$mu[composed]^2 / 2))
  } else {
    rho <- ifelse(steps$law == "exponential", ratio^2 / 8, ratio^2 / 2)
    all(mapply(at_most, rho[composed], steps$rho[composed]))
  }
  if (!charged) "A noise step has less noise than its cost requires."
}

#' Fault of a release from a file, in words, or `NULL`
#'
#' Sizes and types must agree, so that an edited or damaged file fails here and not during a fit.
#' @noRd
release_problem <- function(release) {
  tryCatch(find_release_problem(release), error = function(e) {
    "A part has the wrong type."
  })
}

find_release_problem <- function(release) {
  parts <- c("method", "calibration", "statistics", "panel", "bounds", "settings", "privacy")
  lists <- c("statistics", "panel", "bounds", "settings", "privacy")
  columns <- c("step", "law", "sensitivity", "scale", "epsilon", "rho")
  all_are <- function(is, values) all(vapply(values, is, NA))
  is_size <- function(x, min) is_number(x) && is.finite(x) && x >= min && x == round(x)
  is_vector <- function(x, size) is.numeric(x) && length(x) == size && !anyNA(x)
  panel <- release$panel
  names <- panel$donor_names
  bounds <- release$bounds
  privacy <- release$privacy
  first_fault(
    "Parts are missing." = !all(parts %in% names(release)),
    "A part has the wrong type." = !all_are(is.list, release[lists]),
    "The sizes of the panel are missing or wrong." =
      !(is_size(panel$n, 1) && is_size(panel$T0, 2) && is_size(panel$T1, 1)),
    "The periods or names do not match the sizes of the panel." =
      !is_string(panel$outcome) || !is.atomic(panel$times) ||
        length(panel$times) != panel$T0 + panel$T1 ||
        !(is.null(names) || (is.character(names) && length(names) == panel$n)),
    "The rule for gaps is unknown." =
      !is.null(panel$gaps) && !identical(panel$gaps, "interpolate"),
    "The bounds do not match the panel." =
      !all_are(function(x) is_vector(x, panel$T0 + panel$T1), bounds[c("lower", "upper")]) ||
        any(bounds$lower >= bounds$upper),
    "The method is unknown." =
      !is_string(release$method) || !release$method %in% names(mechanism_table$dp_synth) ||
        !is_string(release$calibration) || !release$calibration %in% c("tight", "published"),
    "The privacy record is wrong." =
      !all_are(is_flag, privacy[c("private", "holds", "exact")]) ||
        !all_are(is_string, privacy[c("neighbours", "theorem", "reason", "rng")]) ||
        !is_number(privacy$epsilon) || privacy$epsilon <= 0 ||
        !is_number(privacy$delta) || privacy$delta < 0 || privacy$delta >= 1 ||
        !is.numeric(privacy$rho) || length(privacy$rho) != 1L ||
        privacy$private != is.finite(privacy$epsilon) ||
        privacy$private !=
          (is.data.frame(privacy$steps) && all(columns %in% names(privacy$steps))),
    "The version in the privacy record is wrong." =
      !is.null(privacy$version) && !is_string(privacy$version),
    "The assumptions in the privacy record are wrong." =
      !is.null(privacy$assumes) && !is_string(privacy$assumes)
  ) %||%
    variant_problem(release) %||% growing_problem(release) %||%
    mechanism_table$dp_synth[[release$method]]$problem(base_release(release)) %||%
    cohorts_problem(release) %||% treated_problem(release) %||% release_conflict(release)
}

#' Does a release contain a field that its method does not use?
#' @noRd
variant_problem <- function(release) {
  parts <- release$statistics
  needed <- c(
    if (!is.null(parts$monitor)) "growing",
    if (!is.null(parts$cohorts)) "dates",
    if (!is.null(parts$treated) || !is.null(release$panel$treated)) "everyone"
  )
  if (!all(vapply(needed, has_variant, NA, method = release$method))) {
    "The statistics do not belong to the method."
  }
}
