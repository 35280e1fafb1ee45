// Bodies of ridge_logistic.hpp.
#pragma once

#include "ridge_logistic.hpp"

#include "../linalg.hpp"

namespace dpsc {

void ridge_logistic::records(const Eigen::VectorXd& theta, Eigen::VectorXd& slope,
                             Eigen::VectorXd* curvature) const {
  const Eigen::VectorXd t = x * theta;
  slope.resize(t.size());
  if (curvature) curvature->resize(t.size());
  if (family.kind != glm_kind::binomial) {
    for (Eigen::Index i = 0; i < t.size(); ++i) {
      slope[i] = family.slope(t[i], y[i]);
      if (curvature) (*curvature)[i] = family.curvature(t[i], y[i]);
    }
    return;
  }
  for (Eigen::Index i = 0; i < t.size(); ++i) {
    const double e = std::exp(-std::fabs(t[i]));
    const double p = t[i] > 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    slope[i] = p - y[i];
    if (curvature) (*curvature)[i] = e / ((1.0 + e) * (1.0 + e));
  }
}

Eigen::VectorXd ridge_logistic::gradient(const Eigen::VectorXd& theta,
                                         Eigen::MatrixXd* hessian) const {
  Eigen::VectorXd slope, curvature;
  records(theta, slope, hessian ? &curvature : nullptr);
  if (hessian) {
    *hessian = x.transpose() * (curvature.asDiagonal() * x);
    hessian->diagonal() += ridge;
  }
  return x.transpose() * slope + ridge.cwiseProduct(theta) + linear;
}

Eigen::VectorXd ridge_logistic::minimise(Eigen::VectorXd theta, double tolerance) const {
  Eigen::MatrixXd hessian;
  Eigen::VectorXd g = gradient(theta, &hessian);
  for (int step = 0; step < 300; ++step) {
    if (g.norm() <= tolerance) return theta;
    const Eigen::LLT<Eigen::MatrixXd> factor = llt(hessian);
    if (factor.info() != Eigen::Success) throw solver_failed();
    const Eigen::VectorXd direction = -factor.solve(g);
    double size = 1.0;
    for (int half = 0;; ++half, size /= 2.0) {
      if (half > 60) throw solver_failed();
      const Eigen::VectorXd next = theta + size * direction;
      const Eigen::VectorXd there = gradient(next, &hessian);
      if (there.norm() <= (1.0 - size / 4.0) * g.norm() || there.norm() <= tolerance) {
        theta = next;
        g = there;
        break;
      }
    }
  }
  throw solver_failed();
}

}  // namespace dpsc
