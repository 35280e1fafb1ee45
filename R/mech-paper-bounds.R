# The accuracy bounds of Rho, Cummings and Misra (2023), as published and with the correct standard
# deviation of the noise.

#' Accuracy bounds of the published algorithms
#'
#' Computes the upper bounds of Rho, Cummings and Misra (2023) on the error
#' `E||y_hat - m_post|| / sqrt(T1)`. Here `y_hat` is the prediction by one of the paper's two
#' algorithms, and `m_post` is the signal of the target in the `T1` periods from the treatment on.
#' The bounds are Theorem 3.2 (output perturbation) and Theorem 3.5 (objective perturbation), or
#' Corollaries 5.5 and 7.2 if `weights_error` is not given. All arguments are PUBLIC or describe a
#' simulated model; the function uses no data.
#'
#' @section Forms: `"published"` is the formula of the paper. Equation 10 of the paper states that a
#' noise vector v in d dimensions with density proportional to `exp(-||v|| / a)` has expected length
#' `a`. The length has a Gamma distribution with shape d, so its expectation is `d a`, and simulated
#' errors exceed the published bounds. `"corrected"` changes only the consequences of this error and
#' of three other errors:
#' * for the paper's noise vectors `v` and `b` (with scales a and beta) and its noise matrix `W`,
#'   `E||v|| = n a`, `E||b|| = n beta`, and `E||W||_F = n T1 b` with scale `b = 2 sqrt(T1) /
#'   epsilon2`;
#' * the paper's `sqrt(2) / epsilon2` is not `b / sqrt(T1)`, which is `2 / epsilon2` and is then
#'   multiplied by `n T1` by the first correction;
#' * Gaussian noise of standard deviation beta has `E||b|| <= sqrt(n) beta`, not `sqrt(n beta)`;
#' * the ridge term of Lemma 5.6 is `lambda / 2`, not `lambda / (2 T0)`.
#'
#' The errors of simulated algorithms are below the corrected bounds, but the bounds are loose: in
#' Theorem 3.5 the factor `2 / (lambda + Delta)` could be half as large, and `T0^2` could be `T0`.
#' Neither form implies that objective perturbation is private; the published version is not
#' private.
#'
#' @param method (`string`)\cr `"output"` (Algorithm 2) or `"objective"` (Algorithm 3).
#' @param n (`count`)\cr number of donors.
#' @param T0,T1 (`count`)\cr number of periods before the treatment, and from the treatment on.
#' @param lambda (`number`, positive)\cr ridge penalty, as the paper defines it.
#' @param epsilon1,epsilon2 (`number`, positive)\cr budgets of the weights and of the outcomes.
#' @param delta (`number`, in \[0, 1))\cr failure probability. With 0 the noise vector b in the
#'   objective has a density proportional to `exp(-||b|| / beta)`; otherwise b is Gaussian.
#'   `"output"` requires 0.
#' @param form (`string`)\cr `"corrected"` or `"published"`.
#' @param signal_norm (`number`, scaled units)\cr spectral norm `||M_post||` of the donors' signal
#'   after the treatment. The default is `sqrt(n T1)`, the largest norm for outcomes in `[-1, 1]`.
#' @param noise_sd (`number`, scaled units)\cr standard deviation of the outcomes' noise.
#' @param largest_weight (`number`)\cr bound on the absolute values of the ridge weights (psi in the
#'   paper).
#' @param weights_error (`number` or `NULL`)\cr `E||f_reg - f||`, the expected error of the ridge
#'   weights without noise. `NULL`: the bound of Lemma 5.6, which needs a donor matrix that is
#'   isotropic in a low-dimensional space.
#' @param noise_max,xi (`number`)\cr for Lemma 5.6: the largest absolute value of the noise (s in
#'   the paper), and the paper's xi in (0, 1).
#' @param curvature (`number` or `NULL`)\cr the constant c of Algorithm 3. `NULL`: the paper's
#'   `(1 + sqrt(16 n - 15)) T0`.
#' @return A number in scaled units (outcomes in `[-1, 1]`). PUBLIC.
#' @section Errors: `dpsc_error_argument`.
#' @references Rho, S., Cummings, R. and Misra, V. (2023). Differentially Private Synthetic
#'   Control. AISTATS, Theorems 3.2 and 3.5, Corollaries 5.5 and 7.2.
#' @examples
#' bound <- function(form) {
#'   paper_rmse_bound("output",
#'     n = 10, T0 = 10, T1 = 3, lambda = 10, epsilon1 = 50, epsilon2 = 50, form = form,
#'     noise_sd = 0.005, largest_weight = 0.1, weights_error = 0.02
#'   )
#' }
#' bound("published")
#' bound("corrected")
#' @export
paper_rmse_bound <- function(method = c("output", "objective"), n, T0, T1, lambda, epsilon1,
                             epsilon2, delta = 0, form = c("corrected", "published"),
                             signal_norm = sqrt(n * T1), noise_sd = 0, largest_weight = 1,
                             weights_error = NULL, noise_max = 1, xi = 0.5,
                             curvature = NULL) door("paper_rmse_bound", {
  method <- check_choice(method, c("output", "objective"))
  form <- check_choice(form, c("corrected", "published"))
  n <- check_count(n, 1)
  T0 <- check_count(T0, 1)
  T1 <- check_count(T1, 1)
  lambda <- check_number(lambda, 0, open = "min")
  epsilon1 <- check_number(epsilon1, 0, open = "min")
  epsilon2 <- check_number(epsilon2, 0, open = "min")
  delta <- check_number(delta, 0, 1, open = "max")
  if (method == "output" && delta > 0) {
    abort(c(
      "The published output perturbation requires {.code delta = 0}.",
      x = "{.arg delta} is {delta}."
    ), "argument")
  }
  signal_norm <- check_number(signal_norm, 0)
  noise_sd <- check_number(noise_sd, 0)
  largest_weight <- check_number(largest_weight, 0)
  if (!is.null(curvature)) curvature <- check_number(curvature, 0, open = "min")
  corrected <- form == "corrected"
  weights_error <- if (is.null(weights_error)) {
    lemma_5_6(
      n, T0, lambda, noise_sd, check_number(noise_max, 0),
      check_number(xi, 0, 1, open = c("min", "max")), corrected
    )
  } else {
    check_number(weights_error, 0)
  }
  moved <- if (method == "output") {
    (if (corrected) n else 1) * published_ridge_sensitivity_cpp(n, T0, lambda) / epsilon1
  } else {
    lemma_7_1(n, T0, lambda, epsilon1, delta, curvature, corrected)
  }
  outcomes_noise <- (if (corrected) 2 * n * T1 else sqrt(2)) / epsilon2
  signal_norm / sqrt(T1) * (weights_error + moved) +
    (sqrt(n) * noise_sd + outcomes_noise) * (sqrt(n) * largest_weight + moved)
})

#' Lemma 5.6: bound on the error of ridge weights without noise
#' @noRd
lemma_5_6 <- function(n, T0, lambda, noise_sd, noise_max, xi, corrected) {
  ridge <- if (corrected) lambda / 2 else lambda / (2 * T0)
  noise <- sqrt(2 * n) * noise_sd * (1 + noise_max)
  (noise * T0 + ridge) / ((1 - xi) * T0 + ridge)
}

#' Lemma 7.1: bound on the expected distance of perturbed and unperturbed minimisers
#' @noRd
lemma_7_1 <- function(n, T0, lambda, epsilon, delta, curvature, corrected) {
  step <- plan_algorithm3_cpp(list(
    published = TRUE, n = n, T0 = T0, T1 = 1, epsilon = epsilon, delta = delta, half = numeric(),
    y = numeric(), lambda = lambda, curvature = curvature
  ), epsilon)
  length <- if (delta > 0) {
    if (corrected) sqrt(n) * step$scale else sqrt(n * step$scale)
  } else {
    (if (corrected) n else 1) * step$scale
  }
  shift <- if (step$mu > lambda) (1 / lambda + 1 / step$mu) * 2 * T0^2 * sqrt(n) else 0
  2 / step$mu * length + shift
}
