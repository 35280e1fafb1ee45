// A treated group whose members are protected, too: what its people share, released by the same two
// steps as the donors' moments, in coordinates that the donors' release made. The donors are not
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

namespace dpsc {

/// What is public about a treated group. `dimension` of a person's features follows from the
/// donors' plan: their pre-period features, the own level if those are demeaned, and one residual a
/// period.
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
// Shares of the moments' two rounds.
constexpr double moments1 = 0.45, moments2 = 0.55;
// Shares of a person's expected squared length: residuals, past, level.
constexpr double residual = 0.86, past = 0.10, level = 0.04;
// Deviations of a period's residual from their average count so much.
constexpr double shape = 0.4;
// People's levels are taken to spread so much, scaled units.
constexpr double level_spread = 0.3;
// The likeliest radius in units of the expected length, what half an octave below and above it
// costs, and the share of people that may lie beyond it. About a centre that was found people are
// no longer than expected, unless it was found near the edge of what the first round could see.
constexpr double radius = 1.4, below = 1.2, above = 0.9, above_found = 2.0, edge = 0.5;
constexpr double beyond = 0.12;
// Rows are cut at so much of the radius over the root of the noise that it makes, within limits:
// where many people share it, noise is cheaper than what the cut takes off skewed rows.
constexpr double cut = 0.17, cut_least = 0.7, cut_most = 4.0;
// Of the donors' budget, for the mean of their own residuals, cut as those of the treated are.
constexpr double control = 0.07;
// A past is taken to differ from the donors' if it stands out of its noise by so many deviations.
constexpr double stands_out = 2.0;
// The first round's mean is taken to be biased by so much of the distance at which it found the
// group's residuals.
constexpr double first_doubt = 0.4;
}  // namespace treated_constants

/// Fixed before anything is drawn. PUBLIC.
struct treated_plan {
  double radius1 = 0.0, radius2 = 0.0;  // exponents
  moments_step moments1, moments2;
  moments_step control;  // of the donors
  double total = 0.0;    // mu, or epsilon
  std::vector<step_record> records;

  /// Where rows are cut, in units of the radius that holds them.
  double cut(double m) const;

  /// Deviation of the noise on the group's mean, in units of the length at which rows are cut.
  double noise(double m) const;
};

treated_plan plan_treated(const treated_facts& facts);

/// From a scaled row to what is released of it, v = loadings' x - origin: the whitened past, the
/// own level, and the residuals after the row's own past. A function of the donors' release.
/// RELEASED.
struct treated_frame {
  Eigen::MatrixXd loadings;  // T x d
  Eigen::VectorXd origin;    // d
  Eigen::MatrixXd path;      // T x d: from v to a path in scaled units
  Eigen::VectorXd flat;      // T: the path of v = 0
  Eigen::Index pre = 0, level = 0, T1 = 0;
  Eigen::VectorXd average;    // d: v to the average residual
  double own_variance = 0.0;  // of one person's average residual, as the donors' release has it

  treated_frame(const gram_statistics& s, double second);
};

/// One round as it was made. RELEASED or PUBLIC.
struct treated_round {
  Eigen::VectorXd origin;
  double radius, exponent, clipped, constant, noise;
};

/// What is released of a treated group. RELEASED.
struct treated_release {
  Eigen::MatrixXd loadings;
  Eigen::VectorXd mean;    // of v, about the donors
  double mean_sd = 0.0;    // of its noise, each coordinate
  double of_first = 0.0;   // weight of the first round in that mean; the last has the rest
  Eigen::VectorXd path;    // T, scaled units; a past that does not stand out is the donors'
  Eigen::VectorXd lean;    // T, the same with the past that is likeliest: its errors are the path's
  Eigen::MatrixXd moves;   // T x d: what noise of one deviation in each coordinate does to it
  double second = 0.0;     // of one person's average residual about the group's
  double second_sd = 0.0;  // of its noise
  double own_variance = 0.0;  // the same, as the donors' release has it
  std::vector<treated_round> rounds;
};

namespace treated_detail {

/// How many rows lie beyond each of some radii: nested, as whole squares are compared.
class rows_beyond {
 public:
  explicit rows_beyond(std::vector<double> squared_radii);

  void add(const Eigen::MatrixXd& z);

  /// Those beyond, less what may be. Replacing a row changes them within a range of one.
  std::vector<std::int64_t> losses(double allowed) const;

 private:
  std::vector<double> squared_;
  std::vector<std::int64_t> first_;
};

/// A radius that holds nearly all rows, likeliest at `middle`; `above`: what half an octave more
/// costs.
double choose_treated_radius(const row_source& source, const grid_map& rows, double m,
                             double middle, double above, double exponent, const std::string& label,
                             noise& draws, const ticker& tick);

/// Positive-part shrinkage (James and Stein, 1961) of a noisy vector towards zero.
Eigen::VectorXd shrunk(const Eigen::VectorXd& x, double sd);

/// The same, but zero unless it stands out of its noise.
Eigen::VectorXd significant(const Eigen::VectorXd& x, double sd);

/// Where the second round is centred: what of the first one stands out of its noise. The average
/// residual, their deviations, the past and the level each by themselves.
Eigen::VectorXd centre_of(const treated_frame& frame, const noisy_moments& first);

/// Did the first round find the group near the edge of what its radius let it see?
bool at_the_edge(const treated_frame& frame, const noisy_moments& first, double radius);

/// The last round's mean, and the first one's as far as its cut, about the donors, may be trusted.
struct pooled_mean {
  Eigen::VectorXd mean;
  double sd = 0.0;     // of the noise, each coordinate
  double first = 0.0;  // weight of the first round

  pooled_mean(const treated_frame& frame, const noisy_moments& one, const Eigen::VectorXd& last,
              double last_sd);
};

}  // namespace treated_detail

treated_release run_treated(const treated_plan& plan, const treated_facts& facts,
                            const gram_statistics& s, double second, const row_scale& scale,
                            const row_source& source, noise& draws, const ticker& tick);

/// The donors' own mean of the same features, cut at the same length about their own centre: what
/// the cut takes off skewed residuals, and what the first release's noise left in them. RELEASED.
noisy_moments run_control(const moments_step& step, double n, const Eigen::MatrixXd& loadings,
                          const treated_round& first, const treated_round& last,
                          const row_scale& scale, const row_source& donors, noise& draws,
                          const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "treated_release.cpp"
#endif
