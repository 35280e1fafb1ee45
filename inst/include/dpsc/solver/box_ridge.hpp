// The minimiser of theta'A theta / 2 - v'theta on a box; A includes a ridge.
#pragma once

#include <Eigen/Core>

namespace dpsc {

/// Ends when the part of the gradient along which the box permits movement is at most `tolerance`:
/// the distance to the minimiser is then at most `tolerance` over the smallest eigenvalue.
Eigen::VectorXd minimise_in_box(const Eigen::MatrixXd& A, const Eigen::VectorXd& v, double limit,
                                double tolerance);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "box_ridge.cpp"
#endif
