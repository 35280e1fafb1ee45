// Sampling errors that do not assume one variance, from the noisy second moments of scores.
// Post-processing. Notes: inst/proofs/regression.md, section 6.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "../mechanism/regression_scores.hpp"
#include "pooled.hpp"

namespace dpsc {

/// Second moments of scores, shrunk towards their value under a constant variance, by the share of
/// the difference that noise explains; in units of that value's root.
struct shrunk_meat {
  Eigen::MatrixXd value;
  double kept;  // 1: as released, 0: a constant variance

  /// `likely`: the middle matrix of the sandwich under a constant variance, up to a factor.
  shrunk_meat(const lm_scores& scores, const Eigen::MatrixXd& likely);
};

/// Replaces the sampling covariance of a full model.
void apply_scores(const lm_pool& pool, const lm_units& units, const lm_scores& scores, double n,
                  lm_estimate& out);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "sandwich.cpp"
#endif
