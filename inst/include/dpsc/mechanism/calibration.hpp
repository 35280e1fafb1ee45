// Private calibration of intervals by the donors' own placebo errors: their second moment, and the
// excess of their tails over the model's tails. Proofs: inst/proofs/gram.md, section 4.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "moments.hpp"

namespace dpsc {

/// Placebo errors of people: column 0 the average, then the periods; their variances under the
/// model; and each row's own scale. PRIVATE.
struct placebo_errors {
  Eigen::MatrixXd error;     // m x (T1 + 1)
  Eigen::MatrixXd variance;  // m x (T1 + 1)
  Eigen::VectorXd scale;     // m
  Eigen::VectorXd share;     // m: of people with weights; else empty
  double mean_share = 1.0;   // theirs, RELEASED

  /// Bits of a share in losses, and a row's part in them: a whole number.
  int bits() const { return share.size() > 0 ? weight_bits : 0; }
  std::int64_t part(Eigen::Index i) const {
    return share.size() > 0 ? static_cast<std::int64_t>(std::ldexp(share[i], weight_bits)) : 1;
  }
};

/// Public constants of the calibration's steps.
struct calibration_plan {
  double rows = 0.0;  // m: donors whose placebo errors are used
  double clip_exponent = 0.0;
  double factor_exponent = 0.0;
  double tail = 0.05;    // share of errors that may lie outside
  int second_bits = 20;  // squared errors are multiples of 2^-bits of the clip's square
  law second_law = law::discrete_gaussian;
  double second_noise = 0.0;  // variance, or Laplace scale
  double second_sigma = 0.0;
  bool group = false;  // second moment only: tails fade in the mean of many people
  std::vector<step_record> records;

  bool made() const { return rows > 0.0; }
};

/// RELEASED.
struct calibration {
  bool made = false;
  double clip = 0.0;       // errors beyond it count as if on it, scaled units
  double second = 0.0;     // mean squared placebo error of the average
  double second_sd = 0.0;  // deviation of its noise
  double average = 1.0, period = 1.0, band = 1.0;  // tail factors
  double tail = 0.05;
  bool group = false;  // no tail factors

  /// Lower limit of the errors' mean square in an interval: noise must not hide it.
  double floor() const { return std::max(second, 0.5 * second_sd); }
};

/// A row's own scale: its pre-period variation around its own level, relative to the donors' mean.
inline double row_scale_factor(double variation) { return std::sqrt((4.0 + variation) / 5.0); }

/// Two-sided normal quantile with probability `tail` outside m intervals jointly (Sidak, 1967).
double two_sided_quantile(double tail, double statements = 1.0);

/// Required gain from a clip larger by half an octave, in log odds: for a person, and for the mean
/// of many, whose interval grows with the noise of a larger clip.
constexpr double clip_price = 0.7, group_clip_price = 1.2;

/// Below this many units of exponent times rows, a tail cannot be calibrated.
constexpr double least_signal = 20.0;

/// The same for the second moment that an interval of a group needs.
constexpr double least_group_signal = 40.0;

/// Shares of the budget: clip, second moment, and three times the factor's.
struct calibration_shares {
  double clip = 0.0, second = 0.0, factor = 0.0;
  double total() const { return clip + second + 3.0 * factor; }
};

/// The number of donors whose placebo errors calibrate the intervals: enough to keep the shares
/// small for every budget, and no more, since their rows leave their source.
constexpr double calibration_rows = 10000.0, most_calibration_rows = 100000.0;

/// The smallest shares as a fraction of the shares with fewer donors: there the shares' floors have
/// no effect.
constexpr double least_share_of_many = 0.1;

/// The number of rows, of n, that calibrate. PUBLIC.
double rows_to_calibrate(const total_budget& budget, double n);

/// `least`: the floors' part.
calibration_shares share_calibration(const total_budget& budget, double m, bool group,
                                     double least = 1.0);

/// Can intervals be calibrated at all? A public rule.
bool can_calibrate(const total_budget& budget, double m, bool group, double least = 1.0);

calibration_plan plan_calibration(const total_budget& budget, const calibration_shares& shares,
                                  double m, bool group);

/// Factors to choose from: fine around 1, then by threes.
std::vector<double> tail_factors();

namespace calibration_detail {

constexpr int shift = 20;

/// The number of values beyond each of several increasing thresholds. NaN lies beyond all.
class beyond_counts {
 public:
  explicit beyond_counts(const std::vector<double>& thresholds);

  void add(double v, std::int64_t part = 1);

  /// Minus the permitted number.
  std::vector<std::int64_t> losses(double allowed) const;

 private:
  std::vector<double> thresholds_;
  std::vector<std::int64_t> first_;
};

/// Candidate ranges for nearly all errors.
std::vector<double> range_candidates(Eigen::Index rows);

/// Fine steps above one cost little, threefold steps more, and the more the better the draw
/// distinguishes tails (`signal`: units of exponent times rows), so that an interval is hardly ever
/// nine times too long by chance.
std::vector<double> factor_prior(std::size_t factors, double signal);

/// `rows`: whose values they are, by their parts.
std::vector<std::int64_t> beyond(const Eigen::MatrixXd& values,
                                 const std::vector<double>& thresholds, double allowed,
                                 const placebo_errors& rows = {});

/// A choice by such losses.
private_choice choice_beyond(const std::vector<std::int64_t>& losses, double exponent,
                             const std::vector<double>& log_prior, int bits);

}  // namespace calibration_detail

/// The five draws, one after the other on the same people. Neighbours differ in one row of `rows`.
calibration release_calibration(const placebo_errors& rows, const calibration_plan& plan,
                                noise& draws);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "calibration.cpp"
#endif
