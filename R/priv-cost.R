# The cost of a release, and the history of the costs of several releases.

#' The cost of a release, in its proof's unit
#' @param kind (`string`)\cr `"gdp"`, `"zcdp"`, `"pure"` or `"approximate"`.
#' @param epsilon,delta,rho,mu (`number`)\cr the parameters of the kind. A mu-GDP release is (mu^2 /
#'   2)-zCDP, which determines `rho` if it is not given.
#' @param pure (`flag`)\cr whether all steps are pure.
#' @noRd
new_cost <- function(kind = c("zcdp", "pure", "approximate", "gdp"), epsilon = NA_real_, delta = 0,
                     rho = if (is.na(mu)) NA_real_ else mu^2 / 2, mu = NA_real_, pure = FALSE) {
  if (pure) {
    return(new_cost("pure", epsilon = epsilon))
  }
  list(kind = match.arg(kind), epsilon = epsilon, delta = delta, rho = rho, mu = mu)
}

#' A plan from the core; an epsilon outside its range causes a package error
#' @param plan (`expression`)\cr the call to the core.
#' @param model (`string`)\cr the planned model.
#' @noRd
planned <- function(plan, model) {
  tryCatch(plan, `dpsc::budget_too_small` = function(e) {
    abort(c(
      "{.arg epsilon} is too small for {model}: the noise would exceed the sampler's range.",
      i = "Give a larger {.arg epsilon}."
    ), "argument")
  })
}

#' Warn of a failure probability that would permit the publication of somebody's row
#' @param who (`string`)\cr the person to whom the row belongs.
#' @noRd
warn_of_delta <- function(delta, n, who = "person") {
  warn(c(
    "{.arg delta} = {delta} is not below 1/n = {signif(1 / n, 2)}.",
    i = "Such a guarantee would allow the publication of some {who}'s row without noise."
  ), "delta")
}

#' Are the steps' costs Gaussian shifts? Version 0.1.0 counted in zCDP.
#' @noRd
in_shifts <- function(steps) is.numeric(steps$mu) && any(!is.na(steps$mu))

# Authors of the proof of adaptive composition, by the kind of privacy that composes; `key` refers
# to inst/works.dcf.
composition_works <- data.frame(
  row.names = c("zero-concentrated", "Gaussian", "pure"), key = c("zcdp", "gdp", "pure"),
  authors = c("Bun and Steinke", "Dong, Roth and Su", "Dwork and Roth"),
  year = c(2016, 2022, 2014)
)

#' The theorem of adaptive composition
#' @param kind (`string`)\cr the kind of privacy that composes.
#' @param proof (`string`)\cr the file in `inst/proofs`.
#' @noRd
composition_theorem <- function(kind, proof) {
  work <- composition_works[kind, ]
  paste0(
    "adaptive composition of ", kind, " differential privacy (", work$authors, ", ", work$year,
    "; proofs/", proof, ".md)"
  )
}

#' Stop before a charge below the joint cost of the planned steps
#'
#' Within each account, epsilons add up, and squares of Gaussian shifts add up; each of several
#' disjoint groups has its own account. If one proof covers several steps (kind `"approximate"`),
#' steps with a separate epsilon must still be within the charge.
#' @param steps (`data.frame` or `NULL`)\cr the steps of a plan. `NULL`: a single draw. PUBLIC.
#' @param cost (`list`)\cr from [new_cost()].
#' @param holds (`flag`)\cr whether the guarantee is valid. Otherwise a step may have no cost.
#' @noRd
check_composed <- function(steps, cost, holds = TRUE) {
  unit <- c(pure = "epsilon", approximate = "epsilon", gdp = "mu", zcdp = "rho")[[cost$kind]]
  parts <- steps[[unit]]
  if (is.null(parts)) {
    return(invisible())
  }
  if (unit == "mu") parts <- parts^2
  paid <- if (unit == "mu") cost$mu^2 else cost[[unit]]
  account <- steps$account %||% rep("donors", nrow(steps))
  together <- tapply(parts, account, sum, na.rm = cost$kind == "approximate" || !holds)
  if (!all(together <= paid * (1 + 1e-11))) {
    abort("The planned steps cost more than the charge. Please report this.", "internal")
  }
}

#' A history of charges with all columns, also for histories from older versions
#' @noRd
complete_history <- function(history) {
  if (is.null(history$mu)) history$mu <- rep(NA_real_, nrow(history))
  history
}
