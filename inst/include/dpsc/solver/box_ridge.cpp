// Bodies of box_ridge.hpp.
#pragma once

#include "box_ridge.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <vector>

#include "../linalg.hpp"
#include "glm_newton.hpp"

namespace dpsc {

namespace {

/// The part of the gradient along which the box permits movement.
Eigen::VectorXd free_gradient(const Eigen::VectorXd& g, const Eigen::VectorXd& theta,
                              double limit) {
  Eigen::VectorXd out = g;
  for (Eigen::Index j = 0; j < g.size(); ++j) {
    if (theta[j] >= limit) out[j] = std::max(g[j], 0.0);
    if (theta[j] <= -limit) out[j] = std::min(g[j], 0.0);
  }
  return out;
}

/// Coordinate descent, which determines which bounds of the box are attained.
void sweep(const Eigen::MatrixXd& A, const Eigen::VectorXd& v, double limit,
           Eigen::VectorXd& theta) {
  for (Eigen::Index j = 0; j < theta.size(); ++j) {
    const double rest = v[j] - A.row(j).dot(theta) + A(j, j) * theta[j];
    theta[j] = std::min(limit, std::max(-limit, rest / A(j, j)));
  }
}

/// A step towards the exact minimum over the coordinates strictly within their bounds, up to the
/// first bound.
void settle(const Eigen::MatrixXd& A, const Eigen::VectorXd& v, double limit,
            Eigen::VectorXd& theta) {
  std::vector<Eigen::Index> off;
  for (Eigen::Index j = 0; j < theta.size(); ++j)
    if (std::fabs(theta[j]) < limit) off.push_back(j);
  const auto size = static_cast<Eigen::Index>(off.size());
  if (size == 0) return;
  const Eigen::VectorXd g = A * theta - v;
  Eigen::MatrixXd own(size, size);
  Eigen::VectorXd part(size);
  for (Eigen::Index a = 0; a < size; ++a) {
    part[a] = g[off[static_cast<std::size_t>(a)]];
    for (Eigen::Index b = 0; b < size; ++b)
      own(a, b) = A(off[static_cast<std::size_t>(a)], off[static_cast<std::size_t>(b)]);
  }
  const Eigen::VectorXd step = llt(own).solve(part);
  double share = 1.0;
  for (Eigen::Index a = 0; a < size; ++a) {
    const double at = theta[off[static_cast<std::size_t>(a)]];
    const double room = step[a] > 0.0 ? at + limit : limit - at;
    if (std::fabs(step[a]) > room) share = std::min(share, room / std::fabs(step[a]));
  }
  for (Eigen::Index a = 0; a < size; ++a)
    theta[off[static_cast<std::size_t>(a)]] -= share * step[a];
  theta = theta.cwiseMin(limit).cwiseMax(-limit);
}

}  // namespace

Eigen::VectorXd minimise_in_box(const Eigen::MatrixXd& A, const Eigen::VectorXd& v, double limit,
                                double tolerance) {
  Eigen::VectorXd theta = llt(A).solve(v).cwiseMin(limit).cwiseMax(-limit);
  for (int i = 0; i < 100000; ++i) {
    if (free_gradient(A * theta - v, theta, limit).norm() <= tolerance) return theta;
    sweep(A, v, limit, theta);
    settle(A, v, limit, theta);
  }
  throw solver_failed();
}

}  // namespace dpsc
