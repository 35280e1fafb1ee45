// Fixed normal numbers, to compute the effect of noise or clipping on a nonlinear function by
// post-processing.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dpsc {

/// Standard normal numbers, always the same ones: Box and Muller (1958) on SplitMix64 (Steele, Lea
/// and Flood, 2014). No privacy claim depends on them.
class fixed_normal {
 public:
  double operator()();

 private:
  double uniform();

  std::uint64_t state_ = 20240607;
};

/// Standard normal vectors in pairs of opposite sign; their mean is zero and their covariance the
/// identity, exactly.
Eigen::MatrixXd fixed_normals(Eigen::Index d);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "fixed_normals.cpp"
#endif
