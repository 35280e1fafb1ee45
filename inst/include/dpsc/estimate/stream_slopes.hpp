// Coefficients of a stream by method "gram", and their errors, from its released moments.
// Post-processing. Proofs: inst/proofs/streams.md, section 6.
#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace dpsc {

/// Largest relative variance of the second-order error of coefficients, beyond which the curvature
/// counts as hidden by noise (coverage: tests/testthat/test-stream-slopes.R).
constexpr double most_second_order = 0.2;

/// RELEASED moments of (x, y) in scaled units, and PUBLIC facts of the stream.
struct stream_moments {
  Eigen::MatrixXd sums;   // p + 1 x p + 1
  double sd = 0.0;        // of the noise in a diagonal entry
  double rows = 0.0;      // number of rows
  double radius = 1.0;    // longer rows were shortened to it
  bool intercept = true;  // is the first regressor constant?
};

/// What the moments tell about slopes.
enum class stream_curvature { known, few_rows, collinear, hidden };

/// RELEASED, scaled units. Without a known curvature only `curvature` is set.
struct stream_slopes {
  stream_curvature curvature = stream_curvature::hidden;
  Eigen::VectorXd estimate;
  Eigen::MatrixXd privacy, total;  // covariances
};

/// Least squares from released moments, without a penalty. With A = G + N and h = G beta + X'e + n,
/// the error of A^-1 h is A^-1 (X'e + n - N beta), and its second-order term is -A^-1 N times this
/// error. The noise of the symmetric N has E N B N = v (B' + tr(B) I), where v is the variance of
/// an entry off the diagonal.
stream_slopes solve_stream(const stream_moments& given);

/// Allowance for rows that were shortened to the radius while their outcome was not. A row x
/// shortened to s x adds s^2 x x' to the moments but s x x' beta to the cross moments, so their
/// difference is D beta, where D is the sum of (1/s - 1) (s x)(s x)'. The released moment of the
/// intercept is the sum of s^2, which implies the sum of 1 - s^2, up to noise and missing rows; the
/// sum of squares of the other regressors limits it whatever the number of missing rows. Returns a
/// matrix with the directions of all rows, whose trace without noise is at least that of D.
Eigen::MatrixXd shortened_curvature(const stream_moments& given);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "stream_slopes.cpp"
#endif
