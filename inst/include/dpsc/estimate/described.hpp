// The statistics of a paper's first table from a released description, each with standard errors
// and limits.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "../mechanism/describe_plan.hpp"

namespace dpsc {

/// The window in which a group's values are summed: between `low` and `high`. Fourth powers are
/// about the median, `middle`; values and squares about `center`. RELEASED.
struct describe_window {
  double low = 0.0, middle = 0.0, high = 0.0, center = 0.0;
  double width() const { return std::max(high - middle, middle - low); }
  double half() const { return std::max(high - center, center - low); }

  /// A value, moved into the window, in units of its half width, and in [-1, 1].
  double scaled(double x) const { return in_unit(x, center, half()); }
  double from_middle(double x) const { return in_unit(x, middle, width()); }

 private:
  double in_unit(double x, double from, double unit) const {
    const double inside = std::min(high, std::max(low, x));
    return std::min(1.0, std::max(-1.0, (inside - from) / unit));
  }
};

/// Statistics of one variable in one group. RELEASED.
struct described_number {
  Eigen::VectorXd quantiles;
  Eigen::Vector2d radii = Eigen::Vector2d::Zero();  // below and above the median; 0: not drawn
  Eigen::VectorXd sums;                             // people, z, z^2, z^4, people beyond

  bool reached() const { return radii.maxCoeff() > 0.0; }
};

struct described {
  std::vector<described_number> numbers;  // number by number, group by group
  Eigen::VectorXd table, sizes;
};

/// Does this group ask for radii? With late radii, only if its quartiles coincide.
bool asks_radii(const describe_facts& facts, const describe_plan& plan,
                const described_number& found);

/// The window of a group, from earlier draws: post-processing.
describe_window window_of(const describe_facts& facts, const describe_plan& plan,
                          const described_number& found, std::size_t number);

/// For limits: the upper quantile of a normal distribution, and the probability of both tails; do
/// limits of means and deviations allow for people whom noise hides far from all others?
struct describe_level {
  double reach = 1.96, alpha = 0.05;
  bool clusters = true;
};

/// An estimate, its standard error, the part of this error that is due to privacy, and limits.
using described_row = Eigen::Matrix<double, 1, 5>;

/// The most people who may have a value of a variable: a group's released size, with its noise. By
/// person shares of groups follow the rows that have a value, so that only n is a bound.
struct described_group {
  double size = 0.0, error = 0.0;
};

described_group group_of(const describe_facts& facts, const describe_plan& plan,
                         const described& found, std::size_t group);

/// Number of people, mean, standard deviation, then the quantiles: one row each.
Eigen::MatrixXd number_rows(const describe_facts& facts, const describe_plan& plan,
                            const described_number& found, std::size_t number,
                            const described_group& group, const describe_level& level);

/// People who may lie beyond the window although no released number shows them: the largest shares
/// below and above it, and its ends. A share is 0 if they are too few, see `cluster`.
Eigen::Vector4d unseen_people(const describe_facts& facts, const describe_plan& plan,
                              const described_number& found, std::size_t number,
                              const described_group& group, const describe_level& level);

/// Levels of one factor in one group, one share each. `n`: the number of rows if there is one
/// group, else 0. `whole`: are exact counts whole numbers?
Eigen::MatrixXd level_rows(const describe_plan& plan, const Eigen::VectorXd& counts, double n,
                           const describe_level& level, bool whole);

/// Sizes of groups, with noise as their only error.
Eigen::MatrixXd size_rows(const describe_plan& plan, const Eigen::VectorXd& sizes, double n,
                          const describe_level& level);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "described.cpp"
#endif
