// The part of a protected group's mean that is due to people far from the others, from the rounds'
// tails and the donors' tail. Post-processing. Notes: inst/proofs/treated.md, section 4.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "treated_tail.hpp"

namespace dpsc {

/// Found by simulation (bench/protect-responders.R); none depends on data.
namespace far_constants {
// The prior weight of a tail in the estimate is `prior` times the variance of the rest of the mean,
// per variance of the noise that the tail would add; in errors, and for donors, it is `doubted`.
constexpr double prior = 0.02, doubted = 0.3;
// Standard deviation of a tail, in units of the standard deviation of its noise.
constexpr double spread = 4.0;
// Standard deviations below which a tail counts as noise: at the first knot, and at others.
constexpr double first_gate = 1.9, gate = 2.4;
// If there are people at the first knot, the others may be distributed unlike donors, too: the
// assumed error, as a share of the effect of the people at this knot.
constexpr double others = 0.6;
// Assumed places of far people between two knots, and the weight from which a place counts.
constexpr double places[] = {1.0, 1.25, 1.5, 1.75}, counts = 0.3;
}  // namespace far_constants

/// The tail of one round on its own knots, and the round's weight in the group's mean. RELEASED.
struct weighted_tail {
  double weight = 1.0;
  Eigen::VectorXd knots, tail;
  double tail_sd = 0.0;
  Eigen::MatrixXd both;
  double both_sd = 0.0;
};

/// RELEASED.
struct far_people {
  // Estimate and error variance, in units of the sum of the residuals' features over the root of
  // their number.
  double shift = 0.0, variance = 0.0;
  // At each knot of the last round: the net share of far people beyond the donors', the standard
  // deviation of its noise, and how clearly it exceeds this noise.
  Eigen::VectorXd knots, share, sd, z;

  /// Weights times knots add up to a far person's average residual (Lemma 9), so the sum over knots
  /// is unbiased, but its noise is far larger than the noise of the rest. A knot counts only as far
  /// as the people there, net and on both sides, exceed their noise. `donors`: their tail on the
  /// last round's knots. `calm`: variance of the noise of the rest of the mean.
  far_people(const std::vector<weighted_tail>& rounds, const weighted_tail& donors, double calm);

  /// The smallest share of a group, alike and far from the others, that noise does not hide.
  double least_seen() const { return far_constants::gate * sd.maxCoeff(); }
};

namespace far_detail {

/// Weights of far people on knots, one column per assumed place.
Eigen::MatrixXd far_places(Eigen::Index knots);

/// Probability that a noisy value of z standard deviations is not zero, but normal with standard
/// deviation `spread`.
double far_chance(double z, double prior);

}  // namespace far_detail

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "far_people.cpp"
#endif
