// The least of theta'A theta / 2 - v'theta on a box, A with a ridge in it.
#pragma once

#include <Eigen/Core>

namespace dpsc {

/// To a gradient of at most `tolerance` along which the box can be left nowhere: within that over
/// the smallest eigenvalue of the minimiser.
Eigen::VectorXd minimise_in_box(const Eigen::MatrixXd& A, const Eigen::VectorXd& v, double limit,
                                double tolerance);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "box_ridge.cpp"
#endif
