#' Privacy accounting
#'
#' Converts between noise scales and privacy budgets; no data are needed. `gaussian_sigma()` and
#' `gaussian_delta()` are for the analytic Gaussian mechanism. `cdp_rho()`, `cdp_epsilon()` and
#' `cdp_delta()` convert between zero-concentrated differential privacy (zCDP) and approximate
#' differential privacy, at the optimal order of the Renyi divergence. All results are computed in
#' log space and rounded so that the guarantee remains valid, with a relative error of up to about
#' 1e-11. Results are therefore as accurate for a `delta` of 1e-300 as for 1e-5.
#'
#' @param epsilon (`number`, at least 0)\cr privacy loss.
#' @param delta (`number`, in (0, 1))\cr failure probability; `cdp_rho()` and `cdp_epsilon()` also
#'   accept 1.
#' @param sensitivity (`number`, positive)\cr L2 sensitivity, in the units of `sigma`.
#' @param sigma (`number`, positive)\cr standard deviation of the noise.
#' @param rho (`number`, at least 0)\cr zCDP parameter.
#' @return A number. `gaussian_sigma()` returns the smallest standard deviation of noise that gives
#'   (epsilon, delta)-privacy, `gaussian_delta()` and `cdp_delta()` the smallest delta,
#'   `cdp_epsilon()` the smallest epsilon, and `cdp_rho()` the largest rho. PUBLIC.
#' @section Errors: `dpsc_error_argument` for a value outside its range.
#' @references Balle, B. and Wang, Y.-X. (2018). Improving the Gaussian Mechanism for Differential
#'   Privacy, Theorem 8.
#'
#'   Canonne, C., Kamath, G. and Steinke, T. (2020). The Discrete Gaussian for Differential Privacy,
#'   Corollary 13.
#' @examples
#' gaussian_sigma(epsilon = 1, delta = 1e-6)
#' cdp_rho(epsilon = 1, delta = 1e-6)
#' cdp_epsilon(rho = 0.1, delta = 1e-6)
#' @export
gaussian_sigma <- function(epsilon, delta, sensitivity = 1) door("gaussian_sigma", {
  epsilon <- check_number(epsilon, 0)
  delta <- check_number(delta, 0, 1, open = c("min", "max"))
  sensitivity <- check_number(sensitivity, 0, open = "min")
  sensitivity / gaussian_mu_cpp(epsilon, delta)
})

#' @rdname gaussian_sigma
#' @export
gaussian_delta <- function(epsilon, sigma, sensitivity = 1) door("gaussian_delta", {
  epsilon <- check_number(epsilon, 0, infinite = TRUE)
  sigma <- check_number(sigma, 0, open = "min")
  sensitivity <- check_number(sensitivity, 0, open = "min")
  exp(log_gaussian_delta_cpp(epsilon, sensitivity / sigma))
})

#' @rdname gaussian_sigma
#' @export
cdp_rho <- function(epsilon, delta) door("cdp_rho", {
  epsilon <- check_number(epsilon, 0, infinite = TRUE)
  delta <- check_number(delta, 0, 1, open = "min")
  cdp_rho_cpp(epsilon, delta)
})

#' @rdname gaussian_sigma
#' @export
cdp_epsilon <- function(rho, delta) door("cdp_epsilon", {
  rho <- check_number(rho, 0)
  delta <- check_number(delta, 0, 1, open = "min")
  cdp_epsilon_cpp(rho, delta)
})

#' @rdname gaussian_sigma
#' @export
cdp_delta <- function(rho, epsilon) door("cdp_delta", {
  rho <- check_number(rho, 0, infinite = TRUE)
  epsilon <- check_number(epsilon, 0, infinite = TRUE)
  exp(log_cdp_delta_cpp(rho, epsilon))
})
