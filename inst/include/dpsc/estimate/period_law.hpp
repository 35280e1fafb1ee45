// The effect of clipping on a period's sums, for normal people: a simulation with fixed numbers.
// Public; formulas: inst/proofs/growing.md, section 4.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "../mechanism/one_period.hpp"
#include "fixed_normals.hpp"

namespace dpsc {

/// Moments of normal rows clipped to a radius, relative to unclipped rows, given the remaining
/// spectrum: factors of at most one.
double moments_kept(const Eigen::VectorXd& spectrum, double radius);

/// A period of simulated normal people. Half of them mirror the others.
class period_law {
 public:
  explicit period_law(const Eigen::VectorXd& aim);

  struct kept {
    double aim, other;  // parts of a shift of residuals along the aim, and across it
  };

  /// For residuals with this variance, clipped to a radius.
  kept shifts(double radius, double variance) const;

  /// Means of the first and the last second moment, at such variances of residuals and likeness.
  std::array<double, 2> seconds(double radius, double variance, double spread) const;

 private:
  static constexpr Eigen::Index people = 1024;

  period_detail::person_numbers numbers(Eigen::Index i, double variance, double spread) const;

  double along(const period_detail::person_numbers& z, const Eigen::VectorXd& direction) const;

  double sum_along(const period_detail::person_numbers& z, double radius,
                   const Eigen::VectorXd& direction) const;

  Eigen::VectorXd aim_, across_;
  Eigen::MatrixXd people_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "period_law.cpp"
#endif
