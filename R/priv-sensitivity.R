# How much one donor can move the quantities that noise is added to. All arguments and results are
# PUBLIC; proofs are in inst/proofs/ridge.md and inst/proofs/objective.md.

#' Exact sensitivity of ridge synthetic control weights
#'
#' The largest Euclidean distance between the ridge weights
#' `(X X' + (lambda / 2) I)^-1 X y` of two panels that differ in one donor's row `x`, where
#' `mean(x^2) <= bound^2` and the target `y` is the same:
#' `||y|| sqrt(2 / lambda)` if `T0 bound^2 >= lambda / 2`, and
#' `||y|| sqrt(2 / lambda) 2 sqrt(q) / (1 + q)` with `q = 2 T0 bound^2 / lambda` otherwise. It does
#' not depend on the number of donors, and is attained for every `y`.
#'
#' @param y_norm (`number`)\cr Euclidean norm of the target before treatment, scaled units.
#' @param T0 (`count`)\cr number of periods before treatment.
#' @param lambda (`number`, positive)\cr ridge penalty (the sum of squares is penalised by
#'   `lambda / 2` times the squared norm of the weights).
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
  r <- T0 * bound^2 / (lambda / 2)
  2 * y_norm / sqrt(lambda / 2) * if (r >= 1) 1 / 2 else sqrt(r) / (1 + r)
})

#' Sensitivity of ridge weights as published (Lemma 4.5): valid, and many times too large
#' @noRd
published_ridge_sensitivity <- function(n, T0, lambda) {
  4 * T0 * sqrt(8 + n) / lambda
}

#' Exact sensitivity of the donors' post-period outcomes (one row replaced)
#' @noRd
post_sensitivity <- function(T1, bound = 1) {
  2 * bound * sqrt(T1)
}

#' Bound c on the change of curvature: restricted determinants change by at most `1 + c / mu`
#'
#' `H = 2 X X' + mu I` is restricted to the directions along a face of the feasible set. With the
#' free donors' rows `x_j` and signs `s_j`, the determinant is that of a T0 x T0 matrix which one
#' donor changes by a matrix of rank one:
#' * no constraint or a box: by `2 x x'`, so `c = 2 T0 bound^2`;
#' * a face of the L1 ball (`k` free donors, signed weights with a fixed sum): the scatter of
#'   `s_j x_j` about their mean changes by `(1 - 1/k) (s x - m)(s x - m)'`, m the others' mean,
#'   so `c = 8 T0 bound^2 (1 - 1/n)`.
#' Both are attained. The published constant, `(1 + sqrt(16 n - 15)) T0`, is larger for n > 1 and is
#' squared there.
#' @param faces (`string`)\cr `"none"`, `"box"`, or `"l1"` (the L1 ball, with or without a cap).
#' @return A number. PUBLIC.
#' @noRd
curvature_bound <- function(n, T0, faces = c("l1", "box", "none"), bound = 1) {
  faces <- match.arg(faces)
  factor <- if (faces == "l1") max(2, 8 * (1 - 1 / n)) else 2
  factor * T0 * bound^2
}

#' Bound c of the published objective perturbation
#' @noRd
published_curvature <- function(n, T0) {
  (1 + sqrt(16 * n - 15)) * T0
}

#' Largest difference of the gradients `2 X (X'f - y)` of two neighbours, over f in C
#'
#' `C = {||f||_1 <= 1, |f_j| <= cap}`. With u the replaced donor's absolute weight, the others hold
#' at most `min(1 - u, (n - 1) cap)`. Along the donor's own coordinate the difference is at most
#' `2 sum(own)`, along each other one `4 u sum(half^2)`. The exact supremum is convex in u between
#' the kinks, so the ends of the pieces suffice. For the default cap the bound is attained.
#' @param cap (`number`, in (0, 1])\cr the cap.
#' @param y (`numeric(T0)`)\cr target before treatment, any size.
#' @param half (`numeric(T0)`)\cr donors' values are within `[-half, half]`.
#' @return A number. PUBLIC.
#' @noRd
gradient_sensitivity <- function(n, T0, cap, y = rep(1, T0), half = rep(1, T0)) {
  bound_at <- function(u) {
    rest <- half * min(1 - u, (n - 1) * cap) + abs(y)
    # max over s = |x + x'| of (2 half - s)(s u + rest), period by period
    own <- ifelse(rest >= 2 * half * u, 2 * half * rest, (2 * half * u + rest)^2 / (4 * u))
    apart <- sqrt((2 * sum(own))^2 + (n - 1) * (4 * u * sum(half^2))^2)
    # Own and other coordinates want s = 0 together when there are others (see the proof).
    together <- if (n > 1) 4 * sum(half * sqrt(rest^2 + (n - 1) * (u * half)^2)) else Inf
    min(apart, together)
  }
  kink <- 1 - (n - 1) * cap
  ends <- c(0, cap, if (kink > 0 && kink < cap) kink)
  max(vapply(ends, bound_at, numeric(1)))
}
