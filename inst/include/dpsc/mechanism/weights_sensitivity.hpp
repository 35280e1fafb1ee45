// Sensitivity to one donor of weights on donors, of their objective and of its curvature. All
// PUBLIC. Proofs: inst/proofs/ridge.md, inst/proofs/objective.md.
#pragma once

#include <Eigen/Core>

namespace dpsc {

/// Largest Euclidean distance between the ridge weights (XX' + (lambda / 2) I)^-1 X y of two panels
/// that differ in one donor's row. The root mean square of a row is at most `bound`. The distance
/// does not depend on the number of donors, and is attained for every y.
double ridge_sensitivity(double y_norm, double T0, double lambda, double bound = 1.0);

/// The published bound (Rho, Cummings and Misra, 2023, Lemma 4.5): valid, but many times too large.
double published_ridge_sensitivity(double n, double T0, double lambda);

/// The sensitivity of the donors' outcomes after the treatment.
double post_sensitivity(double T1, double bound = 1.0);

/// The faces of the feasible set on which a minimiser may lie.
enum class faces { none, box, l1 };

/// c: determinants of 2 XX' + mu I, restricted to directions along a face, change by at most
/// 1 + c / mu. With no constraint or a box one donor changes the matrix by 2 x x'. On a face of the
/// L1 ball (k free donors, signed weights with a fixed sum) the scatter of s_j x_j about their mean
/// changes by (1 - 1 / k) (s x - m)(s x - m)', m the others' mean. Both are attained.
double curvature_bound(double n, double T0, faces which, double bound = 1.0);

/// The published c: larger for n > 1, and squared there.
double published_curvature(double n, double T0);

/// Largest difference of the gradients 2 X (X'f - y) of two neighbours over
/// C = {||f||_1 <= 1, |f_j| <= cap}. With u the replaced donor's absolute weight, the others hold
/// at most min(1 - u, (n - 1) cap). Along the donor's own coordinate the difference is at most
/// 2 sum(own), along each other one 4 u sum(half^2). The supremum is convex in u between the kinks,
/// so the ends of the pieces suffice. For the default cap it is attained.
/// @param y (T0) the target before the treatment, any size.
/// @param half (T0) donors' values are within [-half, half].
double gradient_sensitivity(double n, double cap, const Eigen::VectorXd& y,
                            const Eigen::VectorXd& half);

/// |E| / c of one panel: computed ridge weights are the exact ones for X'X + c I + E, c = lambda/2.
/// In any order of summation a Gram matrix of n rows is off by at most n u times its trace, which
/// is at most n T0; a Cholesky solve is backward stable (Higham, 2002, Theorem 10.4).
double ridge_backward_error(double n, double T0, double lambda);

/// With a larger error, rounding could reveal donors. Up to it, a Cholesky factorisation cannot
/// fail for any rows (ibid., Theorem 10.7), and rounding adds about a tenth to the sensitivity at
/// most.
constexpr double most_backward_error = 0.05;

/// The effect of rounding on ridge weights, for two panels: at most
/// |X (X'X + c I)^-1| |E| |y| / c, the first norm at most 1 / (2 sqrt(c)) and sqrt(n T0) / c. Twice
/// that, for safety.
double ridge_rounding(double n, double T0, double lambda, double y_norm);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "weights_sensitivity.cpp"
#endif
