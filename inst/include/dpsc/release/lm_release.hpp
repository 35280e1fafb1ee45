// A private linear regression from facts to release: location, then rounds of weighted moments.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../estimate/pooled.hpp"
#include "../mechanism/location.hpp"
#include "../mechanism/regression_rounds.hpp"
#include "../mechanism/regression_scores.hpp"

namespace dpsc {

/// Public facts of a regression.
struct lm_facts {
  double n = 0.0, epsilon = 0.0, delta = 0.0;
  bool scores = false;           // release scores, for heteroskedasticity-robust errors
  double kept = lm_kept().most;  // most numbers kept in memory within a round
  lm_design design;
  std::vector<std::string> located;  // names, for the records
};

/// Shares of the budget: one table, fixed before the first draw.
struct lm_shares {
  double location = 0.0;  // of all its draws
  double moments = 0.0;
  double counts = 0.0, scores = 0.0;
  int rounds = 0;

  void check() const;
};

/// Fixed before anything is drawn. PUBLIC.
struct lm_plan {
  lm_shares shares;
  location_plan location;
  std::vector<lm_round_plan> rounds;
  lm_counts_plan counts;
  lm_scores_plan scores;
  double total = 0.0, rho = 0.0;
  double signal = 0.0;  // n sqrt(rho)
  double first_radius = 0.0, first_reach = 0.0;
  // Of the rounds after the first: the least clip, and the least ratio to the clip before.
  double least_reach = 0.0, least_fall = 0.0;
  double radius = 0.0, longest = 0.0;  // of the rounds after the first: least and most
  double strength = 0.0;               // mu of all moments, times the root of n
  double slope_noise = 0.0;  // of a round, in sampling errors, per unit of radius and relative clip
  double edge = 0.0;         // of a round's noisy covariance, per unit of squared radius
  Eigen::Index columns = 0;
  double numbers = 0.0;  // of the columns, those that are not indicators
  double n = 0.0;
  bool resolved = false;  // do the moments of all columns stand out from noise?
  bool tried = false;     // is the third round's clip wide?
  std::vector<step_record> records;
};

namespace lm_constants {
constexpr double location_most = 0.33, location_least = 0.08;
constexpr double counts = 0.005, scores = 0.1;
constexpr double resolved = 12.0;    // n sqrt(rho) over p^1.5
constexpr double least_found = 6.5;  // n x / 2 of a location draw, where cells are few
constexpr int scale_bits = 6;
constexpr int rounds = 5, rounds_pure = 3;  // delta > 0, delta = 0
// Radii over sqrt(p), and clips over the residual's standard deviation: as large as the noise
// permits.
constexpr double first_radius = 1.25, widest_radius = 5.0, radius_gain = 0.1;
constexpr double first_reach = 1.5, least_reach = 1.1, most_reach = 3.0, reach_gain = 0.24;
// The first round's smallest radius over sqrt(p) and smallest clip, which it has if the noise of
// its covariance is large: a radius whose edge exceeds `first_edge` is shortened. Then the least
// radius and clip of later rounds are smaller, too.
constexpr double first_radius_least = 0.8, first_reach_least = 1.0, first_edge = 0.15;
constexpr double noisy_radius = 0.85, noisy_reach = 0.85;
// A clip may fall to this part of the one before; the larger one if noise is large, since then the
// spread of the residuals is hardly known.
constexpr double least_fall = 0.25, noisy_fall = 0.5;
constexpr double longest = 0.33;      // of n mu / sqrt(p): the squared largest radius
constexpr double far = 3.0;           // standard deviations
constexpr double longer_most = 16.0;  // square of a direction's length in a frame
// A wide round: the least strength over the radius; the least radius over sqrt(p) of the first one;
// its clip in standard deviations, which grows with the root of the strength until skewness was
// measured; and the least ratio of wide clips to the narrow one.
constexpr double tried_from = 5.0, wide_radius = 2.0;
constexpr double wide_least = 2.0, wide_most = 6.0, wide_step = 1.6;
// The edge of the covariance's noise magnifies the noise of slopes by 1/(1 - edge_gain * edge).
constexpr double edge_gain = 1.2, edge_most = 0.6;
// The weight of the usual squared bias against noise, where radius and clip are chosen: below 1,
// since a model may hold.
constexpr double bias_weight = 0.5;
// The noise of rounds together, in sampling errors of a slope, that a clip with less bias is worth
// at least: in narrow rounds, in wide ones, and in wide ones with skewness.
constexpr double spare_noise = 0.1, wide_spare = 0.08, free_noise = 0.35;
// The longest radius without clips, over sqrt(p).
constexpr double free_radius = 20.0;
constexpr double first_weight = 0.6, later_weight = 0.9;  // of residuals, if noise is large
// Factors of expected errors, fitted to bench/lm.R: of the number of rows, since some are
// shortened, and of the noise of slopes, for terms beyond the first order.
constexpr double outlook_rows = 0.92, outlook_noise = 1.12;
}  // namespace lm_constants

/// rho of Gaussian noise as large as that of the Laplace steps.
double lm_rho(const total_budget& budget, Eigen::Index p, int rounds);

lm_plan plan_lm(const lm_facts& facts);

/// Public constants of the first round, and of later rounds, from released moments.
struct lm_limits {
  double radius, clip, far;
};

/// A variable whose variance is nearly the largest possible for its mean has few values other than
/// its bounds (Bhatia and Davis, 2000).
constexpr double two_valued = 0.7;

/// Smallest and largest value of a column in standardised units: for a variable its bounds, for a
/// product of indicators 0 and 1.
void two_values(const lm_design& design, const lm_location& location, Eigen::Index k, double& low,
                double& high);

/// For a 0/1 column, a product of such columns, or a variable at its bounds: the share of its rarer
/// value. Else 0. Mean and variance in standardised units.
double rarer_share(const lm_design& design, const lm_location& location, Eigen::Index k,
                   double mean, double variance);

/// The number of columns that are 0 wherever column k is: their variables include those of column
/// k.
double columns_within(const lm_design& design, Eigen::Index k);

/// Mean square of the rows of a group with share q that alone has some of the p columns, which have
/// variance `longer`; others have variance one.
inline double group_square(double q, double longer, double own, double p) {
  return own * longer * (1.0 - q) / q + p - own;
}

/// The radius contains the rarest group that exceeds the noise.
/// Post-processing: shares are from released means.
double radius_of(const lm_plan& plan, const lm_design& design, const lm_location& location,
                 const lm_round& last, const lm_frame& next);

/// A radius, and a clip over the residual's standard deviation.
struct lm_size {
  double radius, reach;
};

/// The size, no smaller than `least` and with no clip above `most`, that minimises the noise of a
/// slope that `rounds` rounds share plus the usual squared bias times its weight.
lm_size balance(const lm_plan& plan, double weight, double rounds, const lm_size& least,
                double most);

/// The variance of a slope from residuals clipped at c deviations, normal errors, over that of
/// lm().
double clipped_square(double c);

/// For a slope whose model holds, relative to lm(): the variance with normal errors, and the
/// deviation of the noise.
struct lm_outlook {
  double square, privacy;
};

lm_outlook outlook_of(const lm_plan& plan, const lm_size& size, double rounds);

/// Sizes of narrow rounds, of the first wide round and of later ones. `tries`: the third round is
/// wide; `stays`: so are later ones. `rounds`: this number of rounds of the last size would have
/// the noise of all rounds.
struct lm_course {
  bool tries = false, stays = false;
  lm_size narrow, tried, wide;
  double rounds = 0.0;
};

/// `radius`: the least; `most`: the clip that exceeds every residual, in standard deviations;
/// `shift`: the change by the wide clip that was measured, in standard errors of a mean; 0: none.
lm_course course_of(const lm_plan& plan, double radius, double most, double shift);

/// The allowance of a slope's variance for the usual distance from least squares, in sampling
/// variances, as far as a plan knows it.
double planned_allowance(const lm_plan& plan, double radius);

/// The change of the level of the response, or of the slopes, by the wide clip, in standard errors
/// of a mean; 0 where noise may explain it.
double skewness_of(const lm_pool& pool, const lm_solution& solution, double rows);

/// The limits of the round after those of the pool, with the clip in standard deviations of the
/// residuals; `next`: the frame of that round. The last rounds' clips are wide if the third round's
/// moves the level, or where they err no more than narrow ones. Post-processing.
lm_limits next_limits(const lm_plan& plan, const lm_design& design, const lm_location& location,
                      const lm_pool& pool, const lm_solution& solution, const lm_frame& next);

lm_limits first_limits(const lm_plan& plan);

struct lm_release {
  lm_location location;
  std::vector<lm_round> rounds;
  std::optional<lm_counts> counts;
  std::optional<lm_scores> scores;
};

lm_release run_lm(const lm_plan& plan, const lm_facts& facts, const row_source& source,
                  noise& draws, const ticker& tick);

/// Largest discrepancy between a release's frames, grids and noise levels and those that follow
/// from its plan and its noisy moments. Close to 0, unless a part was changed or damaged.
double release_discrepancy(const lm_plan& plan, const lm_facts& facts, const lm_release& release);

/// The number of rows for sampling errors. With case weights a release's total weight does not give
/// the number of rows: then the noisy count is used, or, conservatively, the weight.
double sampling_rows(const lm_pool& pool, const std::optional<lm_counts>& counts, bool weighted,
                     double n);

// Units -------------------------------------------------------------------------------------------

/// Every product of standardised variables, multiplied out in the formula's columns. Needs all
/// columns of lower order: `closed` is true if they are present.
lm_units multiply_out(const lm_design& design, const lm_location& location, bool& closed);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "lm_release.cpp"
#endif
