// Location of a protected group's residuals, averaged over its periods, before its rounds: the
// likeliest location given a noisy vector to which each person adds one unit. Proof:
// inst/proofs/treated.md, section 2 (Lemma 8).
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../mechanism/budget.hpp"
#include "../mechanism/moments.hpp"
#include "../rows/source.hpp"

namespace dpsc {

/// Found by simulation (bench/protect.R); none depends on data.
namespace location_constants {
// The group's sum over the standard deviation of one entry's noise, and limits of the budget share
// for it.
constexpr double signal = 5.0, least = 0.004, most = 0.2;
// The standard deviation of a person's average residual is assumed larger by this factor than in
// the donors' release.
constexpr double wider = 1.1;
// Distance between knots in these standard deviations; farther out it is a sixth of the distance
// from zero.
constexpr double gap = 4.0, growth = 6.0;
constexpr int most_knots = 60;  // on each side
// Prior log odds of the donors' own location against an adjacent one of the same width.
constexpr double zero = 3.0;
constexpr int between = 4;  // candidate locations in a gap
}  // namespace location_constants

/// Noise on sums of vectors of integers from 0 to 2^bits. PUBLIC.
struct unit_noise {
  law kind = law::discrete_gaussian;
  int bits = 0;
  double noise = 0.0;  // variance, or Laplace scale
  double sigma = 0.0;  // standard deviation
  step_record record;

  /// `norm` and `absolute`: L2 and L1 sensitivity of a sum to replacing a person, in units of
  /// 2^bits.
  unit_noise(const std::string& label, const total_budget& budget, double share, double norm,
             double absolute);
  unit_noise() = default;
};

/// The share of a budget for locating m people.
double location_share(const total_budget& budget, double m);

unit_noise plan_location(const total_budget& budget, double m);

/// The estimated location, in units of the average of the residuals' features. RELEASED.
struct group_location {
  Eigen::VectorXd knots, counts;
  double counts_sd = 0.0;  // of the noise of each
  double centre = 0.0;     // zero: the donors' location
  double doubt = 0.0;      // standard error of a centre other than zero
};

namespace treated_detail {

/// Knots on both sides of zero up to `reach`.
Eigen::VectorXd location_knots(double gap, double reach);

/// Position of x between two knots: the weights of the two are cosine and sine of an angle in a
/// quarter circle.
struct knot_weights {
  Eigen::Index left = 0;
  double to_left = 1.0, to_right = 0.0;

  knot_weights(const Eigen::VectorXd& knots, double x);
};

/// Every row adds a vector of non-negative integers whose length is at most 2^bits.
class soft_counts {
 public:
  /// `knots` in units of the sum of a row's last T1 features.
  soft_counts(Eigen::VectorXd knots, Eigen::Index T1, int bits);

  void add(const Eigen::MatrixXd& z);

  const Eigen::VectorXd& sums() const { return sums_; }

 private:
  Eigen::VectorXd knots_;
  Eigen::Index T1_;
  double one_;
  Eigen::VectorXd sums_;
};

/// The likeliest centre of m people who vary around it with standard deviation `sd`.
void find_centre(group_location& found, double m, double sd);

}  // namespace treated_detail

/// `own`: standard deviation of one person's average residual; `reach`: its largest possible
/// distance from zero. Both in units of the average of the last T1 features. RELEASED.
group_location run_location(const unit_noise& step, const row_source& source, const grid_map& rows,
                            double m, Eigen::Index T1, double own, double reach, noise& draws,
                            const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "treated_location.cpp"
#endif
