// Numbers of a paper's first table from a released description, each with its errors and limits.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "../mechanism/describe_plan.hpp"

namespace dpsc {

/// Where values of a group are added up: between `low` and `high`, about `middle`. RELEASED.
struct describe_window {
  double low = 0.0, middle = 0.0, high = 0.0;
  double width() const { return std::max(high - middle, middle - low); }
};

/// Of one number in one group. RELEASED.
struct described_number {
  Eigen::VectorXd quantiles;
  Eigen::Vector2d radii = Eigen::Vector2d::Zero();  // below and above the median; 0: not drawn
  Eigen::VectorXd sums;                             // people, z, z^2, z^4, people beyond
};

struct described {
  std::vector<described_number> numbers;  // number by number, group by group
  Eigen::VectorXd table, sizes;
};

/// The window of a group, from earlier draws: post-processing.
describe_window window_of(const describe_facts& facts, const describe_plan& plan,
                          const described_number& found, std::size_t number);

/// Of limits: the upper quantile of a normal law, and the chance of both tails.
struct describe_level {
  double reach = 1.96, alpha = 0.05;
};

/// An estimate, its standard error, the part of it that privacy adds, and limits.
using described_row = Eigen::Matrix<double, 1, 5>;

/// People, mean, standard deviation, then the quantiles: a row each.
Eigen::MatrixXd number_rows(const describe_facts& facts, const describe_plan& plan,
                            const described_number& found, std::size_t number,
                            const describe_level& level);

/// Levels of one factor in one group: a share each. `n`: rows where there is one group, else 0.
Eigen::MatrixXd level_rows(const describe_plan& plan, const Eigen::VectorXd& counts, double n,
                           const describe_level& level);

/// Sizes of groups: noise alone.
Eigen::MatrixXd size_rows(const describe_plan& plan, const Eigen::VectorXd& sizes, double n,
                          const describe_level& level);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "described.cpp"
#endif
