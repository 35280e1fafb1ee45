// Bodies of nearest_within.hpp.
#pragma once

#include "nearest_within.hpp"

#include <algorithm>
#include <cmath>

#include "../linalg.hpp"

namespace dpsc {

namespace nearest_detail {

constexpr int most_sweeps = 20000;

/// Multipliers of the rows: G = A V A', `left` = A from - b. Rows that are `equal` have any sign.
inline Eigen::VectorXd dual_ascent(const Eigen::MatrixXd& G, Eigen::VectorXd left,
                                   const std::vector<bool>& equal) {
  Eigen::VectorXd force = Eigen::VectorXd::Zero(left.size());
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    double moved = 0.0;
    for (Eigen::Index k = 0; k < force.size(); ++k) {
      double to = force(k) + left(k) / G(k, k);
      if (!equal[static_cast<std::size_t>(k)]) to = std::max(0.0, to);
      const double step = to - force(k);
      if (step == 0.0) continue;
      left -= G.col(k) * step;
      force(k) = to;
      moved = std::max(moved, std::fabs(step));
    }
    if (moved <= 1e-13 * std::max(1.0, force.cwiseAbs().maxCoeff())) break;
  }
  return force;
}

/// Least-squares solution of a positive semidefinite system, without small directions.
inline Eigen::VectorXd solve_known(const Eigen::MatrixXd& symmetric, const Eigen::VectorXd& right) {
  const auto parts = eigh(symmetric);
  const Eigen::VectorXd size = parts.eigenvalues();
  const double most = size.cwiseAbs().maxCoeff();
  Eigen::VectorXd inner = parts.eigenvectors().transpose() * right;
  for (Eigen::Index i = 0; i < size.size(); ++i)
    inner(i) = size(i) > 1e-10 * most ? inner(i) / size(i) : 0.0;
  return parts.eigenvectors() * inner;
}

inline std::vector<Eigen::Index> binding(const Eigen::VectorXd& force,
                                         const std::vector<bool>& equal) {
  const double least = 1e-9 * std::max(1.0, force.cwiseAbs().maxCoeff());
  std::vector<Eigen::Index> out;
  for (Eigen::Index k = 0; k < force.size(); ++k)
    if (equal[static_cast<std::size_t>(k)] || force(k) > least) out.push_back(k);
  return out;
}

/// Multipliers that make these rows hold exactly, and are zero elsewhere.
inline Eigen::VectorXd exact_force(const Eigen::MatrixXd& G, const Eigen::VectorXd& left,
                                   const std::vector<Eigen::Index>& binds) {
  const Eigen::Index count = static_cast<Eigen::Index>(binds.size());
  Eigen::MatrixXd bound(count, count);
  Eigen::VectorXd right(count), out = Eigen::VectorXd::Zero(left.size());
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::Index row = binds[static_cast<std::size_t>(i)];
    right(i) = left(row);
    for (Eigen::Index j = 0; j < count; ++j)
      bound(i, j) = G(row, binds[static_cast<std::size_t>(j)]);
  }
  const Eigen::VectorXd force = solve_known(bound, right);
  for (Eigen::Index i = 0; i < count; ++i) out(binds[static_cast<std::size_t>(i)]) = force(i);
  return out;
}

/// Makes a limit on a single coordinate hold to the last digit.
inline void keep_single(Eigen::VectorXd& x, const linear_limits& limits,
                        const std::vector<Eigen::Index>& binds) {
  for (const Eigen::Index k : binds) {
    if ((limits.A.row(k).array() != 0.0).count() != 1) continue;
    Eigen::Index j = 0;
    limits.A.row(k).cwiseAbs().maxCoeff(&j);
    x(j) = limits.b(k) / limits.A(k, j) + 0.0;
  }
}

}  // namespace nearest_detail

std::optional<Eigen::VectorXd> nearest_within(const Eigen::VectorXd& from, const Eigen::MatrixXd& V,
                                              const linear_limits& limits) {
  using namespace nearest_detail;
  if (limits.A.rows() == 0) return from;
  const Eigen::ArrayXd size = (limits.A * V).cwiseProduct(limits.A).rowwise().sum().array().sqrt();
  const Eigen::MatrixXd A = limits.A.array().colwise() / size;
  const Eigen::VectorXd b = limits.b.array() / size;
  const Eigen::MatrixXd G = A * V * A.transpose();
  const Eigen::VectorXd left = A * from - b;
  const auto binds = binding(dual_ascent(G, left, limits.equal), limits.equal);
  Eigen::VectorXd x = from;
  if (!binds.empty()) {
    x -= V * (A.transpose() * exact_force(G, left, binds));
    keep_single(x, limits, binds);
  }
  const Eigen::VectorXd off = A * x - b;
  const double slack = 1e-7 * std::max(1.0, left.cwiseAbs().maxCoeff());
  for (Eigen::Index k = 0; k < off.size(); ++k) {
    const double broken = limits.equal[static_cast<std::size_t>(k)] ? std::fabs(off(k)) : off(k);
    if (!(broken <= slack)) return std::nullopt;
  }
  return x;
}

}  // namespace dpsc
