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

/// Placebo errors of people (column 0: the average; then the periods), their variances under the
/// model, and each row's own scale. PRIVATE.
struct placebo_errors {
  Eigen::MatrixXd error;     // m x (T1 + 1)
  Eigen::MatrixXd variance;  // m x (T1 + 1)
  Eigen::VectorXd scale;     // m
  Eigen::VectorXd share;     // m: relative weights, if people have weights; else empty
  double mean_share = 1.0;   // mean of these, RELEASED

  /// Binary places of a share in the losses, and the integer by which a row counts in them.
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
  double reach_exponent = 0.0;  // of a group: of the draw for errors far beyond the range
  double tail = 0.05;           // share of errors that may lie outside
  int second_bits = 20;         // squared errors over the squared clip are multiples of 2^-bits
  law second_law = law::discrete_gaussian;
  double second_noise = 0.0;  // variance, or Laplace scale
  double second_sigma = 0.0;
  bool group = false;  // second moment only: a mean of many people has no heavy tails
  std::vector<step_record> records;

  bool made() const { return rows > 0.0; }
  /// The place of the second moment among the records.
  std::size_t second_at() const { return group ? 2 : 1; }
};

/// RELEASED.
struct calibration {
  bool made = false;
  double clip = 0.0;       // larger errors count as equal to it, scaled units
  double calm = 0.0;       // of a group: contains nearly all errors; at most the clip
  double second = 0.0;     // mean squared placebo error of the average
  double second_sd = 0.0;  // standard deviation of its noise
  double average = 1.0, period = 1.0, band = 1.0;  // tail factors
  double tail = 0.05;
  bool group = false;  // no tail factors

  /// The errors' mean square as used in an interval: at least half of its noise's standard
  /// deviation.
  double floor() const { return std::max(second, 0.5 * second_sd); }
};

/// A row's own scale: its pre-period variation around its own level, relative to the donors' mean.
inline double row_scale_factor(double variation) { return std::sqrt((4.0 + variation) / 5.0); }

/// A range of the donors' errors is small if it is at most `part` of half the bounds' width, or
/// `least` over the number of donors: twice the least candidate. Its draw has a price per half
/// octave, so that a small range does not exclude a few people with large errors if most people
/// have hardly any (measured: bench/battery.R, designs rare and costs).
struct small_range {
  static constexpr double part = 1.0 / 15.0, least = 20.0;
};

/// The share of donors whom the draw of the errors' range lets lie beyond it at no loss. PUBLIC.
double unseen_share(double clip_exponent, double donors);

/// Variance of one person's error due to donors beyond a small range of errors, scaled units, by
/// target (a row; the first periods are before the treatment). Where nearly everybody's outcome
/// stays at a bound, few people cause most of the error: those who leave it. Errors beyond the
/// range are not in the released second moment. If the range is small and the target stays within
/// it of a bound before the treatment, `unseen_share` counts with an error of half the bounds'
/// width. `half`: half-widths of the bounds by period. RELEASED.
Eigen::VectorXd unseen_variance(double clip, double clip_exponent, double donors,
                                const Eigen::MatrixXd& targets, const Eigen::VectorXd& half,
                                Eigen::Index T0);

/// Bound on the shift of a group's counterfactual by a few donors who change far more than others,
/// scaled units. Rows longer than R are shortened, and a shift is at most the tail's second moment
/// T over 4 R. If the tail's errors lie anywhere within the range C, it is about 2 T / C or less.
/// `second`: upper limit of the errors' second moment; `model`: the moment by the release's
/// formulas; `shortened`: R, infinite if it is unknown. RELEASED.
double hidden_shift(double calm, double clip, double second, double model, double shortened);

/// Two-sided normal quantile with probability `tail` outside m intervals jointly (Sidak, 1967).
double two_sided_quantile(double tail, double statements = 1.0);

/// Required gain from a clip larger by half an octave, in log odds: for a person, and for the mean
/// of many, whose interval grows with the noise of a larger clip.
constexpr double clip_price = 0.7, group_clip_price = 1.2;

/// The price of a group's range that is more than an octave larger than the range of nearly all
/// errors, and of each further half octave. By chance one release in a hundred has a far larger
/// range. Up to an octave, which repairs a range drawn too small, each half octave has its price.
constexpr double reach_price = 6.9, reach_step = 0.1;

/// If exponent times rows is smaller, a tail cannot be calibrated.
constexpr double least_signal = 20.0;

/// The same limit for the second moment, on which the interval of a group is based.
constexpr double least_group_signal = 40.0;

/// And for a range of a group's largest errors.
constexpr double least_reach_signal = 133.0;

/// Shares of the budget: for the clip, its extension for a group, the second moment, and each of
/// three tail factors.
struct calibration_shares {
  double clip = 0.0, reach = 0.0, second = 0.0, factor = 0.0;
  double total() const { return clip + reach + second + 3.0 * factor; }
};

/// The number of donors whose placebo errors calibrate the intervals: enough to keep the shares
/// small for every budget, and no more, since their rows must leave their source.
constexpr double calibration_rows = 10000.0, most_calibration_rows = 100000.0;

/// With many donors the lower limits of the shares are multiplied by this number, so that they no
/// longer bind.
constexpr double least_share_of_many = 0.1;

/// The number of rows, out of n, that calibrate the intervals. PUBLIC.
double rows_to_calibrate(const total_budget& budget, double n);

/// `least`: multiplies the lower limits of the shares.
calibration_shares share_calibration(const total_budget& budget, double m, bool group,
                                     double least = 1.0);

/// Can intervals be calibrated at all? A public rule.
bool can_calibrate(const total_budget& budget, double m, bool group, double least = 1.0);

calibration_plan plan_calibration(const total_budget& budget, const calibration_shares& shares,
                                  double m, bool group);

/// Candidate factors: in fine steps around 1, then in threefold steps.
std::vector<double> tail_factors();

namespace calibration_detail {

constexpr int shift = 20;

/// The number of values beyond each of several increasing thresholds. NaN counts as beyond all.
class beyond_counts {
 public:
  explicit beyond_counts(const std::vector<double>& thresholds);

  void add(double v, std::int64_t part = 1);

  /// The counts minus the permitted number, at least 0.
  std::vector<std::int64_t> losses(double allowed) const;

 private:
  std::vector<double> thresholds_;
  std::vector<std::int64_t> first_;
};

/// Candidate ranges for nearly all errors.
std::vector<double> range_candidates(Eigen::Index rows);

/// Log-prior of the factors. Fine steps above one cost little. Threefold steps cost more, and most
/// where the draw distinguishes tails well (`signal`: exponent times rows), so that an interval is
/// hardly ever nine times too long by chance.
std::vector<double> factor_prior(std::size_t factors, double signal);

/// `rows`: the people who have these values; each counts by `rows.part()`.
std::vector<std::int64_t> beyond(const Eigen::MatrixXd& values,
                                 const std::vector<double>& thresholds, double allowed,
                                 const placebo_errors& rows = {});

/// A private choice by these losses.
private_choice choice_beyond(const std::vector<std::int64_t>& losses, double exponent,
                             const std::vector<double>& log_prior, int bits);

/// The range of a group's errors: `calm`, or a larger one if more people lie beyond it than its
/// price. The mean of a group depends on a few people with far larger errors than all others, whom
/// the draw of the calm range leaves out at any budget, since their distance, and not their number,
/// determines its price.
std::size_t extended_range(const Eigen::MatrixXd& values, const std::vector<double>& clips,
                           std::size_t calm, const calibration_plan& plan,
                           const placebo_errors& rows, noise& draws);

}  // namespace calibration_detail

/// The five draws, one after the other, on the same people. Neighbours differ in one row of `rows`.
calibration release_calibration(const placebo_errors& rows, const calibration_plan& plan,
                                noise& draws);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "calibration.cpp"
#endif
