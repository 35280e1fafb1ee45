// The nearest point that satisfies linear constraints, in a given metric. Post-processing of
// released coefficients: everything is RELEASED or PUBLIC.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

namespace dpsc {

/// A x <= b; rows that are `equal` hold exactly.
struct linear_limits {
  Eigen::MatrixXd A;
  Eigen::VectorXd b;
  std::vector<bool> equal;
};

/// argmin (x - from)' V^{-1} (x - from) within the limits. Hildreth's dual ascent (1957) finds the
/// binding rows; one linear system then makes them hold exactly. Empty if no such point was found.
std::optional<Eigen::VectorXd> nearest_within(const Eigen::VectorXd& from, const Eigen::MatrixXd& V,
                                              const linear_limits& limits);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "nearest_within.cpp"
#endif
