// Intervals for single slopes that are valid however little is known about the curvature (after
// Anderson and Rubin, 1949; nuisance slopes minimised out as in Guggenberger et al., 2012).
// Post-processing. Notes: inst/proofs/regression.md, section 6.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "pooled.hpp"

namespace dpsc {

/// The least |c - A u|^2 / (v_c + v_C |u|^2) over u.
double least_ratio(const Eigen::VectorXd& c, const Eigen::MatrixXd& A, double v_c, double v_C);

/// All slopes beta that the pooled equations c = C (beta - b) + noise do not reject: limits of each
/// slope in the formula's units, infinite if its set is not an interval, and the smallest
/// `quantile` whose set contains 0.
///
/// With one slope at b + delta along l, the others free, the least of |c - C(beta - b)|^2 over its
/// variance `v_c + v_C |beta - b|^2` is the smallest root of an arrow matrix; the condition that it
/// is at most `quantile` is a quadratic inequality in delta. Noise of a symmetric matrix has twice
/// the variance along the vector that it multiplies: v_C counts that everywhere.
Eigen::MatrixXd anderson_rubin(const lm_pool& pool, const lm_units& units, double rows,
                               double quantile);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "anderson_rubin.cpp"
#endif
