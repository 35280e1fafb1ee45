// Where the residuals of a protected group are, on average over its periods, before its rounds: a
// noisy vector to which each person adds one unit, and the likeliest place. Proof:
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
// The group's sum over the deviation of one entry's noise, and limits of the share that it costs.
constexpr double signal = 5.0, least = 0.004, most = 0.2;
// A person's average residual is taken to vary so much more than the donors' release has it.
constexpr double wider = 1.1;
// Knots are so many of these deviations apart, further out a sixth of their distance from zero.
constexpr double gap = 4.0, growth = 6.0;
constexpr int most_knots = 60;  // on each side
// What the donors' own place counts beforehand, in log odds against one as wide next to it.
constexpr double zero = 3.0;
constexpr int between = 4;  // places that are compared in a gap
}  // namespace location_constants

/// Noise on sums of vectors of whole numbers from 0 to 2^bits. PUBLIC.
struct unit_noise {
  law kind = law::discrete_gaussian;
  int bits = 0;
  double noise = 0.0;  // variance, or Laplace scale
  double sigma = 0.0;  // deviation
  step_record record;

  /// `norm` and `absolute`: by how much replacing a person moves a sum, in units of 2^bits.
  unit_noise(const std::string& label, const total_budget& budget, double share, double norm,
             double absolute);
  unit_noise() = default;
};

/// The part of a budget that finds the place of m people.
double location_share(const total_budget& budget, double m);

unit_noise plan_location(const total_budget& budget, double m);

/// The place that was found, in units of the average of the residuals' features. RELEASED.
struct group_location {
  Eigen::VectorXd knots, counts;
  double counts_sd = 0.0;  // of the noise of each
  double centre = 0.0;     // zero: where the donors are
  double doubt = 0.0;      // deviation of what is not known about another centre
};

namespace treated_detail {

/// Knots on both sides of zero up to `reach`.
Eigen::VectorXd location_knots(double gap, double reach);

/// Where x is between knots: cos and sin of a quarter circle, to the knots on its sides.
struct knot_weights {
  Eigen::Index left = 0;
  double to_left = 1.0, to_right = 0.0;

  knot_weights(const Eigen::VectorXd& knots, double x);
};

/// Every row adds a vector of whole numbers, none below zero, as long as 2^bits at most.
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

/// The likeliest centre of m people with deviation `sd` about it.
void find_centre(group_location& found, double m, double sd);

}  // namespace treated_detail

/// `own`: deviation of one person's average residual; `reach`: how far one can be. Both in units of
/// the average of the last T1 features. RELEASED.
group_location run_location(const unit_noise& step, const row_source& source, const grid_map& rows,
                            double m, Eigen::Index T1, double own, double reach, noise& draws,
                            const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "treated_location.cpp"
#endif
