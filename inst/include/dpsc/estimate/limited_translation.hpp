// Shrinkage of periods towards each other by at most half a standard deviation: limited translation
// (Efron and Morris, 1972) of released effects. Post-processing. Derivation:
// inst/proofs/treated.md, section 5.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

namespace dpsc {

namespace translation_constants {
// With fewer periods the variation of effects cannot be estimated; from six periods on they may
// follow a line.
constexpr Eigen::Index least_periods = 4, line_periods = 6;
// The largest distance of a centre from the released value, in standard deviations of its noise
// around the common value, or of its own noise, whichever is smaller.
constexpr double most = 0.5;
// Nodes of the half-Cauchy prior, at the middles of equal probabilities.
constexpr int nodes = 64;
}  // namespace translation_constants

/// The target of the shrinkage: y ~ N(X b + u, C), u ~ N(0, tau^2 I), tau half-Cauchy.
struct translation_model {
  Eigen::MatrixXd X;          // a constant, and a line
  Eigen::VectorXd deviation;  // of each period's noise around the common noise
  double scale = 0.0;         // of tau

  explicit translation_model(const Eigen::MatrixXd& covariance);

  /// Posterior mean of X b + u.
  Eigen::VectorXd centre(const Eigen::VectorXd& y, const Eigen::MatrixXd& covariance) const;
};

/// The changes nearest to `wanted` that are within +- `most` and add up to zero.
Eigen::VectorXd moves_within(const Eigen::VectorXd& wanted, const Eigen::VectorXd& most);

/// The changes to released effects, which add up to zero, so that the average is unchanged.
Eigen::VectorXd limited_translation(const Eigen::VectorXd& y, const Eigen::MatrixXd& covariance);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "limited_translation.cpp"
#endif
