// One more period of people in an earlier release: a short vector per person, clipped to a radius,
// summed, with noise. Proof: inst/proofs/growing.md, sections 1 and 2.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../rows/source.hpp"
#include "calibration.hpp"
#include "moments.hpp"

namespace dpsc {

/// Found by simulation over public designs (bench/monitor.R); none depends on data.
namespace period_constants {
// Number of directions in which people's residuals are compared, the target's first; a release may
// have fewer.
constexpr Eigen::Index directions = 4;
// Length of a person's vector: the residual times one and each direction, and three second moments.
constexpr Eigen::Index parts = directions + 4;
// Weights of the other sums and of the second moments, which matter less than the target's sum.
constexpr double other = 0.25, second = 0.25;
// Likeness, and the residuals in second moments, are clipped at this number of standard deviations.
constexpr double cut = 3.0;
// The likeliest radius, the cost of half an octave below and above it, and the share of people that
// may lie beyond it.
constexpr double radius = 2.0, below = 1.2, above = 0.9, beyond = 0.1;
// Vectors are clipped at this multiple of the radius, divided by the root of the resulting noise,
// within limits: with many people, noise costs less than clipping.
constexpr double stretch = 0.05, stretch_least = 0.5, stretch_most = 3.0;
}  // namespace period_constants

/// Budget and steps of one announced period: the same for all of them. PUBLIC.
struct period_plan {
  double n = 0.0;
  double exponent = 0.0;  // of the choice of a radius
  law kind = law::discrete_gaussian;
  double limit = 0.0;  // R: whole grid units
  double noise = 0.0;  // variance, or Laplace scale
  double sigma = 0.0;
  std::vector<step_record> records;  // two

  /// Standard deviation of a mean's noise, in units of the radius.
  double relative_noise() const { return sigma / (n * inner_limit()); }

  /// Rounding lengthens a vector by at most half the root of its dimension.
  double inner_limit() const;

  double stretch() const;
};

/// `share`: the share of the total budget that each period gets.
period_plan plan_period(const total_budget& budget, double share, double n);

/// From a scaled row to numbers that are affine in it: the residual of the period, the average
/// residual so far, and the directions; all in units of their own standard deviation. A function of
/// earlier released values, and public. RELEASED.
struct period_frame {
  Eigen::MatrixXd loadings;  // T x (2 + k)
  Eigen::VectorXd origin;    // 2 + k
  Eigen::VectorXd aim;       // 1 + k: of one and the directions in the sum that the target needs

  Eigen::Index directions() const { return aim.size() - 1; }
};

/// Released values of one period: means of people's vectors, in the frame's units. RELEASED.
struct period_release {
  Eigen::VectorXd means;  // of shortened vectors: 1 + k, zeros, three second moments
  double radius = 0.0;
  double sd = 0.0;  // of the noise of each
};

namespace period_detail {

using person_vector = Eigen::Matrix<double, period_constants::parts, 1>;
using person_numbers = Eigen::Matrix<double, 1, period_constants::directions + 2>;

/// One person's vector from the person's own numbers. `aim` has length one.
person_vector vector_of(const person_numbers& z, const Eigen::VectorXd& aim);

/// Visits everybody's vector, one at a time, with the same number of people in every pass. PRIVATE.
template <typename Visit>
void each_vector(const row_source& source, const grid_map& rows, const Eigen::VectorXd& aim,
                 double n, const Visit& visit, const ticker& tick) {
  person_numbers one = person_numbers::Zero();
  double seen = 0.0;
  source.pass([&](const table_view& table) {
    block_reader reader(table, rows.map);
    for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
      const Eigen::MatrixXd& z = reader.features(b);
      for (Eigen::Index i = 0; i < z.rows(); ++i) {
        for (Eigen::Index j = 0; j < z.cols(); ++j) one[j] = z(i, j) * rows.unit;
        visit(vector_of(one, aim));
      }
      seen += static_cast<double>(z.rows());
      tick(static_cast<double>(z.rows() * (rows.map.periods() + 40)));
    }
  });
  if (seen != n) throw std::invalid_argument("the rows are not as many as were announced");
}

}  // namespace period_detail

/// Radius, then sums: two passes over people, whose rows are needed here, since no question to a
/// row_source clips vectors in this way.
period_release release_period(const row_source& source, const row_scale& scale,
                              const period_frame& frame, const period_plan& plan, noise& draws,
                              const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "one_period.cpp"
#endif
