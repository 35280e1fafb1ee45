// A treated group whose members are protected, too: the mean of its people, released by the same
// two steps as the donors' moments, in coordinates from the donors' release. The donors are not
// read here. Proofs: inst/proofs/treated.md.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../estimate/moments_model.hpp"
#include "../mechanism/budget.hpp"
#include "../mechanism/moments.hpp"
#include "../rows/source.hpp"
#include "treated_location.hpp"
#include "treated_tail.hpp"

namespace dpsc {

/// Public facts about a treated group. The `dimension` of a person's features follows from the
/// donors' plan: their pre-period features, the person's level if these are demeaned, and one
/// residual per period.
struct treated_facts {
  double m = 0.0;  // people
  double n = 0.0;  // donors
  Eigen::Index T0 = 0, T1 = 0;
  Eigen::Index pre = 0;
  bool level = false;
  double epsilon = 0.0, delta = 0.0;
  double control = std::numeric_limits<double>::quiet_NaN();  // share of the donors; NaN: by rule

  Eigen::Index dimension() const { return pre + (level ? 1 : 0) + T1; }
};

/// Found by simulation (bench/protect.R); none depends on data.
namespace treated_constants {
// Shares of the moments' rounds.
constexpr double moments[] = {0.3, 0.3, 0.4};
constexpr int rounds = 3;
// Shares of a person's expected squared length for residuals, past and level.
constexpr double residual = 0.95, past = 0.036, level = 0.014;
// Weight of each period's deviation from the average residual, relative to the best weight for
// single periods, within limits: the average matters most.
constexpr double shape_lean = 0.6, shape_least = 0.4, shape_most = 2.0;
// Assumed standard deviation of people's levels, scaled units.
constexpr double level_spread = 0.3;
// The share of people that may lie beyond a radius.
constexpr double beyond = 0.12;
// The radius of the donors' residuals: its search range, in units of the expected length and in
// steps of 1/8 octave, and the price per step.
constexpr double look_radius = 1.4, look_step = 0.125, look_price = 0.75;
constexpr int look_lowest = -16;
// Prices of a treated radius, per half octave from the donors' radius: for each step down, and for
// the first and each further step up. Most groups vary around the centre as donors do, unless a
// group was found far from it.
constexpr double below = 1.2, above_first = 2.8, above = 0.8, above_found = 1.0, above_far = 0.8;
// The same for a group that was located away from the donors.
constexpr double above_placed_first = 2.5, above_placed = 0.8;
// The located centre is rejected if the first round's mean is farther from it than this share of
// the radius.
constexpr double nobody = 0.8;
// An average residual is far from a centre if it exceeds this share of the radius plus this number
// of standard deviations of its noise.
constexpr double edge = 0.25, edge_noise = 1.5;
// Wanted exponent of a radius choice times the number of people, and limits of its share of the
// budget.
constexpr double votes = 7.0, votes_least = 0.004, votes_most = 0.07, donor_votes = 40.0;
// Rows are clipped at this multiple of the radius, divided by the root of the resulting noise on
// the group's and the donors' means, within limits: in large groups noise costs less than clipping
// skewed rows.
constexpr double cut = 0.146, cut_least = 0.6, cut_most = 4.0;
// Share of the donors' budget for the radius of their own residuals, for the share of a shift that
// clipping keeps, and for the mean of their residuals, clipped like the treated people's. Then the
// parts of that share.
constexpr double control = 0.07, look_least = 0.01, look_most = 0.1, look_kept = 0.15;
// The retained share is estimated at these multiples of the usual length; at twice the last
// multiple it is taken as 1.
constexpr double kept_at[] = {0.5, 1.0, 2.0};
constexpr int kept_points = 3;
constexpr double kept_floor = 0.1;
// A past counts as different from the donors' past if it exceeds its noise by this number of
// standard deviations.
constexpr double stands_out = 2.0;
// The assumed bias of a round's mean, as a share of the distance at which the round found the
// residuals; the whole of any distance beyond its radius.
constexpr double doubt = 0.15;
}  // namespace treated_constants

/// The plan of the step on the length and shape of the donors' own residuals, before anything is
/// drawn. PUBLIC.
struct look_plan {
  double radius = 0.0;  // exponent
  unit_noise kept;      // a row keeps at most 2^bits
  std::vector<step_record> records;
};

/// Fixed before anything is drawn. PUBLIC.
struct treated_plan {
  unit_noise place;
  double radius = 0.0;  // exponent of each round's choice of a radius
  std::vector<moments_step> moments;
  look_plan look;        // of the donors
  moments_step control;  // of the donors
  double total = 0.0;    // mu, or epsilon
  bool tail = false;     // people far from the others are counted, too
  std::vector<step_record> records;

  /// The length at which rows are clipped, in units of the radius that contains them.
  double cut(const treated_facts& facts) const;

  /// Standard deviation of the noise on the group's mean by all rounds, in units of the length at
  /// which rows are clipped.
  double noise(double m) const;
};

treated_plan plan_treated(const treated_facts& facts);

/// From a scaled row to its released features, v = loadings' x - origin: the whitened past, the
/// row's level, and the residuals given the row's past. A function of the donors' release.
/// RELEASED.
struct treated_frame {
  Eigen::MatrixXd loadings;  // T x d
  Eigen::VectorXd origin;    // d
  Eigen::MatrixXd path;      // T x d: from v to a path in scaled units
  Eigen::VectorXd flat;      // T: the path of v = 0
  Eigen::Index pre = 0, level = 0, T1 = 0;
  Eigen::VectorXd average;    // d: v to the average residual
  double own_variance = 0.0;  // of one person's average residual, from the donors' release
  double by_residual = 0.0;   // from an average residual, scaled units, to the average of features

  treated_frame(const gram_statistics& s, double second);
};

/// Properties of the donors' residuals: the radius that contains nearly all, and the share of a
/// shift that remains after clipping there and at other multiples of it. RELEASED.
struct donor_look {
  double radius = 0.0;
  Eigen::VectorXd kept;  // at treated_constants::kept_at times base
  double kept_sd = 0.0;  // of its noise
  double base = 0.0;

  /// The retained share after clipping at another length, by interpolation.
  double kept_of(double length) const;
};

/// The record of one round. RELEASED or PUBLIC.
struct treated_round {
  Eigen::VectorXd origin;
  double radius, exponent, clipped, constant, noise;
  Eigen::VectorXd mean;  // of clipped rows about the origin
  double mean_sd = 0.0;
  double kept = 1.0;  // of a shift
  tail_knots at;      // without knots if people far from the others are not counted
  Eigen::VectorXd tail;
  double tail_sd = 0.0;
  Eigen::MatrixXd both;
  double both_sd = 0.0;
};

/// The released values of a treated group. RELEASED.
struct treated_release {
  Eigen::MatrixXd loadings;
  Eigen::VectorXd origin;  // of the donors
  group_location place;
  Eigen::VectorXd mean;       // of v, about the donors
  double mean_sd = 0.0;       // of its noise, per coordinate
  Eigen::VectorXd weights;    // of the rounds in that mean
  double stray = 0.0;         // variance of its error from clipping, along any one direction
  double kept = 1.0;          // share of a shift that the last round keeps
  Eigen::VectorXd path;       // T, scaled units; a past within its noise is the donors' past
  Eigen::VectorXd lean;       // T, the same with the likeliest past; same errors as the path
  Eigen::MatrixXd moves;      // T x d: change of the path per standard deviation of noise
  double second = 0.0;        // of one person's average residual around the group's
  double second_sd = 0.0;     // of its noise
  double own_variance = 0.0;  // the same, from the donors' release
  std::vector<treated_round> rounds;
};

namespace treated_detail {

/// The number of rows beyond each of several radii. The sets of rows are nested, since integer
/// squares are compared.
class rows_beyond {
 public:
  explicit rows_beyond(std::vector<double> squared_radii);

  void add(const Eigen::MatrixXd& z);

  /// The number beyond, minus the permitted number, at least 0. Replacing a row changes these
  /// losses within a range of one.
  std::vector<std::int64_t> losses(double allowed) const;

 private:
  std::vector<double> squared_;
  std::vector<std::int64_t> first_;
};

/// Radii middle 2^(k step), k from `lowest`, and their public log-priors: `below` times k for k <
/// 0, 0 at the middle, - first - (k - 1) next above.
struct radius_search {
  double middle, step;
  int lowest;
  double below, first, next;

  double radius(int k) const { return middle * std::pow(2.0, k * step); }
  double prior(int k) const { return k < 0 ? below * k : k == 0 ? 0.0 : -(first + (k - 1) * next); }
};

/// A radius that contains nearly all rows, as far as its price permits.
double choose_treated_radius(const row_source& source, const grid_map& rows, double m,
                             const radius_search& search, double exponent, const std::string& label,
                             noise& draws, const ticker& tick);

/// The share of a shift of the last T1 features, averaged over directions, that remains after
/// clipping rows at some radii: inside, all of it; outside, R / |z| of the component orthogonal to
/// z. Integers from 0 to 2^bits per row and radius.
class kept_shares {
 public:
  kept_shares(std::vector<double> squared_radii, Eigen::Index T1, int bits);

  void add(const Eigen::MatrixXd& z);

  const Eigen::VectorXd& sums() const { return sums_; }

 private:
  std::vector<double> squared_;
  Eigen::Index T1_;
  double one_;
  Eigen::VectorXd sums_;
};

/// Positive-part shrinkage (James and Stein, 1961) of a noisy vector towards zero.
Eigen::VectorXd shrunk(const Eigen::VectorXd& x, double sd);

/// The same, but zero unless the vector clearly exceeds its noise.
Eigen::VectorXd significant(const Eigen::VectorXd& x, double sd);

/// The centre of the next round: the part of a mean that exceeds its noise. The average residual,
/// the deviations, the past and the level are treated separately; `noisy` are the directions that
/// exceed their noise.
struct next_centre {
  Eigen::VectorXd centre;
  double noisy = 0.0;

  next_centre(const treated_frame& frame, const Eigen::VectorXd& mean, double sd);
};

/// Did a round find the group near its radius?
bool at_the_edge(const treated_frame& frame, const treated_round& round);

/// Did a round around a located centre find everybody beyond its clip, towards the donors? Then the
/// location was due to noise.
bool nobody_there(const treated_frame& frame, const treated_round& round, double place);

/// Squared distance of residuals, from a noisy estimate minus the variance of its noise. It counts
/// only if it stands out from the noise, or if a round has already found the residuals near its
/// edge.
double distance_squared(const treated_frame& frame, const Eigen::VectorXd& missed, double sd,
                        bool near_edge);

/// Mean of the rounds, each weighted by its precision: noise, and bias from clipping around the
/// round's centre.
struct pooled_mean {
  Eigen::VectorXd mean;
  double sd = 0.0;  // of the noise, each coordinate
  Eigen::VectorXd weights;
  double stray = 0.0;  // variance of its error from clipping, along any one direction

  pooled_mean(const treated_frame& frame, const std::vector<treated_round>& rounds);
};

}  // namespace treated_detail

/// The length of donors' residuals, and the share of a shift that clipping keeps, with the frame's
/// loadings and origin. Donors only. RELEASED.
donor_look run_look(const treated_plan& plan, const treated_facts& facts,
                    const Eigen::MatrixXd& loadings, const Eigen::VectorXd& origin,
                    const row_scale& scale, const row_source& donors, noise& draws,
                    const ticker& tick);

treated_release run_treated(const treated_plan& plan, const treated_facts& facts,
                            const gram_statistics& s, double second, const donor_look& look,
                            const row_scale& scale, const row_source& source, noise& draws,
                            const ticker& tick);

/// The donors' own mean of the same features, clipped at the same length around their own centre:
/// it shows the effect of clipping on skewed residuals and the remaining effect of the first
/// release's noise. RELEASED.
tail_moments run_control(const treated_plan& plan, const treated_facts& facts,
                         const Eigen::MatrixXd& loadings, const Eigen::VectorXd& origin,
                         double radius, const tail_knots& at, const row_scale& scale,
                         const row_source& donors, noise& draws, const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "treated_release.cpp"
#endif
