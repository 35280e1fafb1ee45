# The sensitivity of ridge weights to one donor, for users. The sensitivities of the other steps are
# computed in C++ (inst/include/dpsc/mechanism/weights_sensitivity.hpp). Proofs:
# inst/proofs/ridge.md.

#' Exact sensitivity of ridge synthetic control weights
#'
#' Computes the largest Euclidean distance between the ridge weights
#' `(X X' + (lambda / 2) I)^-1 X y` of two panels with the same target `y`. The panels `X` differ in
#' one donor's row `x`, and `mean(x^2) <= bound^2`. The sensitivity is `||y|| sqrt(2 / lambda)` if
#' `T0 bound^2 >= lambda / 2`, and `||y|| sqrt(2 / lambda) 2 sqrt(q) / (1 + q)` with
#' `q = 2 T0 bound^2 / lambda` otherwise. It does not depend on the number of donors, and is
#' attained for every `y`.
#'
#' @param y_norm (`number`)\cr Euclidean norm of the target before the treatment, in scaled units.
#' @param T0 (`count`)\cr number of periods before the treatment.
#' @param lambda (`number`, positive)\cr ridge penalty: `lambda / 2` times the squared norm of the
#'   weights is added to the sum of squares.
#' @param bound (`number`)\cr bound on the root mean square of a donor's row; 1 if every value is
#'   within `[-1, 1]`.
#' @return A number. PUBLIC.
#' @references Rho, S., Cummings, R. and Misra, V. (2023). Differentially Private Synthetic Control.
#'   AISTATS. Their bound is `4 T0 sqrt(8 + n) / lambda`.
#' @examples
#' ridge_sensitivity(y_norm = sqrt(10), T0 = 10, lambda = 10)
#' 4 * 10 * sqrt(8 + 100) / 10 # the published bound for 100 donors
#' @export
ridge_sensitivity <- function(y_norm, T0, lambda, bound = 1) door("ridge_sensitivity", {
  y_norm <- check_number(y_norm, 0)
  T0 <- check_count(T0, 1)
  lambda <- check_number(lambda, 0, open = "min")
  bound <- check_number(bound, 0, infinite = TRUE)
  ridge_sensitivity_cpp(y_norm, T0, lambda, bound)
})
