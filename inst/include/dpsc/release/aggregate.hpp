// Sample and aggregate: a statistic on each of k disjoint blocks of people, and a private centre of
// the k answers. Proof: inst/proofs/papers.md, section 1.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "../mechanism/budget.hpp"
#include "../noise/noise.hpp"

namespace dpsc {

/// Facts known before any block is read. PUBLIC.
struct aggregate_facts {
  std::int64_t blocks = 0;
  std::vector<std::string> names;  // one per statistic
  double epsilon = 1.0;
  double delta = 0.0;
  bool mean = false;          // clipped mean instead of quantiles
  bool located = false;       // median, spread, then a mean within a window of both
  std::vector<int> percents;  // which quantiles over blocks
};

struct aggregate_plan {
  std::vector<step_record> records;
  bool gaussian = false;  // how the draws are charged
  double total = 0.0;     // mu, or epsilon
  double exponent = 0.0;  // quantiles: the cost of one rank
  double scale = 0.0;     // mean: variance or Laplace scale in grid steps
  int grid_bits = 0;      // mean: 2^bits steps from lower to upper
  int cell_bits = 18;     // quantiles: 2^bits cells
};

constexpr int aggregate_shift = 40;

// A located mean: shares of the budget, and the half-width of its window in standard deviations.
constexpr double located_choice_share = 0.25;
constexpr double located_mean_share = 0.5;
constexpr double located_window = 6.0;
// The probability of a remote cell for the located median and spread: the number of cells is as
// large as this permits if all answers are equal.
constexpr double located_wrong = 0.02;
constexpr int located_least_bits = 3, located_most_bits = 18;
// Half of a normal distribution lies within this number of standard deviations.
constexpr double normal_upper_quartile = 0.67448975019608171;

/// Losses of cells as candidates for a quantile: integers, 0 for the cell of the quantile, 100 per
/// rank.
///
/// If the answer of one block changes, `below` and `upto` change by at most one and a loss by at
/// most 100: up on one side of the quantile, down on the other.
std::vector<std::int64_t> quantile_losses(const std::vector<std::int64_t>& counts, int percent);

std::vector<std::string> aggregate_labels(const aggregate_facts& facts);

aggregate_plan plan_quantiles(const aggregate_facts& facts);

/// The sum of integers within +- 2^bits, to which a person contributes one.
step_record located_mean_record(const std::string& label, const total_budget& budget, double share,
                                aggregate_plan& plan);

/// Median, median distance from it, and mean within a window based on both: three steps per
/// statistic, each using the steps before it.
aggregate_plan plan_located(const aggregate_facts& facts);

aggregate_plan plan_mean(const aggregate_facts& facts);

aggregate_plan plan_aggregate(const aggregate_facts& facts);

/// The number of a column's answers in each of 2^bits equal cells of [0, 1].
std::vector<std::int64_t> cell_counts(const Eigen::Ref<const Eigen::VectorXd>& answers, int bits);

/// A private quantile of values in [0, 1]: a place in the drawn cell, in its middle or at its end.
double drawn_quantile(const Eigen::Ref<const Eigen::VectorXd>& values, int percent,
                      const aggregate_plan& plan, const std::string& label, noise& draws,
                      double place = 0.5);

/// Statistics x (mean, median, scale as a normal standard deviation), in units of the limits'
/// width. RELEASED.
Eigen::MatrixXd run_located(const aggregate_plan& plan,
                            const Eigen::Ref<const Eigen::MatrixXd>& answers, noise& draws);

/// `answers`: blocks x statistics in [0, 1], PRIVATE. Returns statistics x quantiles (or x 1) in
/// [0, 1]; a mean may lie outside.
Eigen::MatrixXd run_aggregate(const aggregate_plan& plan, const aggregate_facts& facts,
                              const Eigen::Ref<const Eigen::MatrixXd>& answers, noise& draws);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "aggregate.cpp"
#endif
