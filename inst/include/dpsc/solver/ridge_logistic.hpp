// Logistic regression, or another family's, with a ridge for each coefficient and a linear term:
// Newton's method from a start, damped by the gradient.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>

#include "glm_newton.hpp"

namespace dpsc {

/// sum_i log(1 + exp(x_i'theta)) - y_i x_i'theta + sum_j ridge_j theta_j^2 / 2 + linear'theta.
/// A row with `present` 0 does not count.
struct ridge_logistic {
  const Eigen::MatrixXd& x;
  const Eigen::VectorXd& y;
  Eigen::VectorXd ridge, linear;
  glm_family family{};

  /// Slopes y-hat - y and curvatures of all rows.
  void records(const Eigen::VectorXd& theta, Eigen::VectorXd& slope,
               Eigen::VectorXd* curvature) const;

  Eigen::VectorXd gradient(const Eigen::VectorXd& theta, Eigen::MatrixXd* hessian) const;

  /// From `theta`, to a gradient of at most `tolerance`.
  Eigen::VectorXd minimise(Eigen::VectorXd theta, double tolerance) const;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "ridge_logistic.cpp"
#endif
