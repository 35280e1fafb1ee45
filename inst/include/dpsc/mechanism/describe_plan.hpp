// Budget and steps of a description of people's columns: a table of counts, quantiles and
// moments by group. Proof: inst/proofs/describe.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../noise/noise.hpp"
#include "budget.hpp"
#include "round_points.hpp"

namespace dpsc {

/// Facts known before any row is read. PUBLIC. Columns of the rows: numbers, then one per level of
/// every factor, then one per group, then, if people may have several rows, the person.
struct describe_facts {
  double n = 0.0, epsilon = 0.0, delta = 0.0;
  std::vector<std::string> numbers, factors;
  std::vector<double> lower, upper;
  std::vector<int> whole;      // is a number an integer?
  std::vector<int> levels;     // of each factor
  int groups = 0;              // 0: no groups
  std::vector<int> quantiles;  // in thousandths, increasing; quartiles among them
  bool person = false;         // does the last column number people, whose rows are adjacent?

  int parts() const { return std::max(1, groups); }
  double range(std::size_t j) const { return upper[j] - lower[j]; }
  void check() const;
};

/// Joint noise on the integers of all groups.
struct describe_sums {
  double one = 0.0;                 // grid steps per unit
  double small = 0.0;               // grid steps per person in a count
  double square = 0.0, rest = 0.0;  // of z^2; of z^4 and people beyond
  double sensitivity = 0.0, scale = 0.0;

  /// Standard deviation of the noise on a number in units of `unit` grid steps.
  double deviation(bool gaussian, double unit) const {
    return (gaussian ? std::sqrt(scale) : std::sqrt(2.0) * scale) / unit;
  }
};

struct describe_plan {
  bool gaussian = false;
  bool joint = false;             // one draw of all quantiles, and one of both radii?
  double total = 0.0;             // rho, or epsilon
  std::vector<double> exponents;  // cost of one rank, for each quantile
  double tail = 0.0;              // exponent of a radius; 0: none is drawn
  double beyond = 0.0;            // people that a radius leaves out
  bool late = false;              // are radii drawn only for columns whose quartiles coincide?
  int cell_bits = 0;
  describe_sums moments, table, sizes;
  describe_sums after;  // moments of a column whose late radii were drawn
  double spent = 0.0;

  /// Noise of a column's sums of powers.
  const describe_sums& powers(bool radii) const { return late && radii ? after : moments; }
};

namespace describe_constants {
constexpr int fine_bits = 16, shift = 40;
constexpr double number = 1.0, factor = 0.5, sizes = 0.3;  // weights of the requested parts
constexpr double quantiles = 0.6;                          // of a number's share
constexpr double places_few = 0.75, places_many = 0.45;    // the same with few and with many people
constexpr double few_ranks = 25.0, many_ranks = 250.0;     // cost of a quarter of a group
constexpr double tails = 0.2, few_tails = 0.1;             // of a number's share, taken off first
constexpr double far_tail = 0.005;                         // of a group: below it, few_tails
constexpr double sure = 2.0;                               // log odds against a far radius
// The same for joint draws.
constexpr double joint = 0.56, joint_few = 0.65, joint_many = 0.32;
constexpr double joint_few_ranks = 100.0, joint_many_ranks = 2500.0;
constexpr double joint_tails = 0.16, joint_few_tails = 0.08, joint_far = 0.04, joint_sure = 4.8;
constexpr int joint_most = 20;        // quantiles in one draw
constexpr int radii = 21;             // by factors of sqrt 2, from the bounds
constexpr double widest_tail = 0.15;  // of a group; beyond it a radius is hardly a tail: late radii
// Late radii: their part of the moments' share, log odds against a far radius, and the group's
// share that they leave out at most.
constexpr double late_share = 0.5, late_sure = 3.0, late_tail = 0.25;
constexpr double few = 10.0;        // below this range, few points
constexpr double window = 7.0;      // distances of quartiles, where there is no radius
constexpr double misplaced = 0.05;  // of a group beyond a window without radius
// Limits allow for clusters of this share of a group, far from all others, and for larger ones.
constexpr double cluster = 0.02;
// The tail between radius and window is known if fewer people are beyond the radius, and if the
// power law from quartile to radius is not flatter.
constexpr double known_tail = 0.06, flattest = 1.2;
constexpr double heavy = 2.3;    // of one quartile's distance to the other's
constexpr double thinner = 4.0;  // of people just beyond a quantile
constexpr int powers = 5;        // people, z, z^2, z^4, people beyond
}  // namespace describe_constants

/// Are the counts of two levels released as their sum and their difference?
inline bool by_difference(const describe_plan& plan, std::int64_t entries, bool several) {
  return !plan.gaussian && entries == 2 && !several;
}

/// Cost of one rank for a draw of the quantile at the fraction `a`, with `share` of the total.
double rank_exponent(const describe_plan& plan, double share, double a, int parts);

describe_plan plan_describe(const describe_facts& facts);

/// The error of one of several ranks drawn jointly, in units of 1 / exponent: its standard
/// deviation, and the limit that it exceeds with probability alpha.
double rank_deviation(int jointly);
double rank_limit(int jointly, double alpha);

/// A variable's grid: one point per integer, or 2^16 + 1 points; and its cells as candidates.
place_grid fine_grid(const describe_facts& facts, std::size_t number);
place_grid grid_of(const describe_facts& facts, const describe_plan& plan, std::size_t number);

/// Losses of the cells of a histogram as candidates for the quantile k / 1000: 1000 per rank,
/// negative within the cell of the quantile.
std::vector<std::int64_t> place_losses(const std::vector<std::int64_t>& counts, int thousandths);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "describe_plan.cpp"
#endif
