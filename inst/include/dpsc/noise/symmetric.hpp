// Noise on a symmetric matrix of sums.
#pragma once

#include <Eigen/Core>
#include <string>

#include "noise.hpp"

namespace dpsc {

/// A symmetric matrix of sums plus noise, in one step: with variance `noise_scale` on the diagonal
/// and half of it off the diagonal, or with one Laplace scale.
/// @param beside further sums in the same step, with the noise of off-diagonal entries.
Eigen::MatrixXd add_symmetric(const Eigen::MatrixXd& exact, const std::string& label, law kind,
                              double noise_scale, noise& draws, Eigen::VectorXd* beside = nullptr);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "symmetric.cpp"
#endif
