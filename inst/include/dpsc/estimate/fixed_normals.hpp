// Normal vectors that are always the same: what noise of a known covariance does to a function that
// is not linear, by post-processing alone.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dpsc {

/// Standard normal vectors in pairs of opposite sign, always the same; their mean is zero and their
/// covariance the identity, exactly.
inline Eigen::MatrixXd fixed_normals(Eigen::Index d) {
  const Eigen::Index pairs = std::max<Eigen::Index>(128, 4 * d);
  std::uint64_t state = 1;
  const auto uniform = [&state] {  // Knuth's linear congruences: no law of privacy rests on them
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (static_cast<double>(state >> 11) + 0.5) * 0x1.0p-53;
  };
  Eigen::MatrixXd half(d, pairs);
  for (Eigen::Index k = 0; k < half.size(); ++k) {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    half(k % d, k / d) = radius * std::cos(2.0 * 3.14159265358979323846 * uniform());
  }
  const Eigen::LLT<Eigen::MatrixXd> root(half * half.transpose() / static_cast<double>(pairs));
  root.matrixL().solveInPlace(half);
  Eigen::MatrixXd out(d, 2 * pairs);
  out << half, -half;
  return out;
}

}  // namespace dpsc
