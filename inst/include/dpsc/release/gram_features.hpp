// The public features of a person's row whose moments method "gram" releases.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../rows/weighted.hpp"

namespace dpsc {

/// All public facts of a release. Scaled units: the bounds are [-half, half].
struct panel_facts {
  double n = 0.0;
  Eigen::Index T0 = 0, T1 = 0;
  Eigen::Index covariates = 0;  // columns between the two
  double epsilon = 0.0, delta = 0.0;
  Eigen::VectorXd y;  // T0: the (mean) target before the treatment
  double features = std::numeric_limits<double>::quiet_NaN();  // wanted; NaN: by rule; Inf: all
  bool intervals = true;
  bool targeted = false;  // a separate round for y, if it pays
  bool thrice = false;    // a third round of moments, if it pays, even without a round for y
  bool group = false;     // intervals are for the mean of many people, not for one
  bool level = false;     // if rows are demeaned, their own level is a feature, too
  weight_limits weights;  // of people's weights, the last column of their rows
};

/// Found by simulation over public designs (bench/accuracy.R); none depends on data.
namespace gram_constants {
// The first round's share of the moments' budget; the other rounds divide the rest evenly.
constexpr double first_round = 0.25 / 0.97;
// Number of pre-period features: 1.5 x^(1/3) - 1, x = n sqrt(rho).
constexpr double features = 1.5;
// The number of features per period from which rows are neither demeaned nor compressed.
constexpr double full = 1.5;
// Weight of the level beside demeaned features; the second round estimates its scale.
constexpr double level = 0.3;
// Weight of a post-period's value among the features.
constexpr double weight = 0.65;
// kappa^2 of the first release; for the second, 26 / x within limits.
constexpr double kappa1 = 0.5, kappa2 = 26.0, kappa2_least = 0.1, kappa2_most = 1.0;
// Radii of whitened rounds, in units of the whitened standard deviation; at least a share of the
// standard deviation that exceeds the noise, and a larger share if rows outside have a high price,
// so that many identical rows cannot attract a radius. The price is high in every round for the
// mean of many people, and in the first round only for one person, whose slopes suffer more from
// the noise of a larger radius.
constexpr double spread_low = 0.15, seen_low = 0.35, seen_priced = 0.5, spread_high = 4.0;
// Share of the target's own round, and the n sqrt(rho) from which it pays. Releases with this round
// have three rounds of moments, up to an n sqrt(rho) beyond which time matters more than noise.
constexpr double target = 0.12, least_targeted = 40.0, most_thrice = 20000.0;
// The radius of a whitened round, relative to the radius that keeps most energy: a half up to x =
// 500, then growing with the cube root of x up to four fifths.
constexpr double shorten_least = 0.5, shorten_signal = 500.0, shorten_most = 0.8;
// A radius is not reduced if the target is far from the donors: `far_target`, or for the mean of
// many people this multiple of their mean distance.
constexpr double far_group = 0.5;
// Radii of the target's own round, in units of the residuals' scale in its direction. Values
// clipped in earlier rounds are far outside.
constexpr double target_low = 0.7, target_high = 64.0;
}  // namespace gram_constants

struct gram_features {
  Eigen::MatrixXd loadings;  // T x d
  Eigen::VectorXd origin;    // d
  Eigen::Index pre = 0;
  double weight = 1.0;
  bool demean = false;
  double low = 0.0, high = 0.0;  // radii to search
};

/// Orthonormal functions of time over sqrt(T0): the target's own path, then cosines.
/// With `level` the constant comes first; without it all have mean zero.
Eigen::MatrixXd public_basis(const Eigen::VectorXd& y, Eigen::Index p, bool level);

double deviation(const Eigen::VectorXd& y);

/// Features in which all periods have the same role, for inference that compares periods.
gram_features every_period(const Eigen::VectorXd& y, Eigen::Index T1);

/// The pre-period as p averages: along the target's own demeaned path, then along cosines of rising
/// frequency; the post-period minus the row's own pre-period mean, times a weight. With more donors
/// or budget there are more features, and finally all of them: the level too, without demeaning.
/// The origin is the target's own features with its level extrapolated, so that donors like the
/// target are short rows. `signal` is n sqrt(rho).
gram_features choose_features(const panel_facts& facts, double signal);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "gram_features.cpp"
#endif
