// Bodies of elastic.hpp.
#pragma once

#include "elastic.hpp"

#include <algorithm>
#include <cmath>

namespace dpsc {

namespace {

/// The distance of a coordinate from its optimality condition; `slope`: the smooth part's
/// derivative.
double violation(double weight, double slope, double lasso) {
  if (weight > 0.0) return std::fabs(slope + lasso);
  if (weight < 0.0) return std::fabs(slope - lasso);
  return std::max(0.0, std::fabs(slope) - lasso);
}

}  // namespace

elastic_fit fit_elastic(const simplex_ls::matrix_ref& donors, const simplex_ls::vector_ref& target,
                        double lambda, double alpha, runtime host) {
  const double lasso = lambda * alpha, ridge = lambda * (1.0 - alpha);
  // One donor's periods are adjacent in memory.
  const Eigen::MatrixXd x = donors.transpose();
  const Eigen::VectorXd square = x.colwise().squaredNorm();
  const double near = 1e-12 * (2.0 * (x.transpose() * target).cwiseAbs().maxCoeff() + lasso);
  elastic_fit out;
  out.weights = Eigen::VectorXd::Zero(x.cols());
  Eigen::VectorXd rest = target;
  for (int sweep = 0; sweep < 50000; ++sweep) {
    host.tick(4.0 * static_cast<double>(x.size()));
    rest = target - x * out.weights;
    out.kkt = 0.0;
    for (Eigen::Index j = 0; j < x.cols(); ++j) {
      const double product = x.col(j).dot(rest), old = out.weights[j];
      out.kkt = std::max(out.kkt, violation(old, 2.0 * (ridge * old - product), lasso));
      const double pull = 2.0 * (product + square[j] * old);
      const double kept = std::max(0.0, std::fabs(pull) - lasso);
      const double least = 2.0 * (square[j] + ridge);
      out.weights[j] = least > 0.0 && kept > 0.0 ? std::copysign(kept / least, pull) : 0.0;
      rest += (old - out.weights[j]) * x.col(j);
    }
    if (out.kkt <= near) break;
  }
  rest = target - x * out.weights;
  const Eigen::VectorXd slope = 2.0 * (ridge * out.weights - x.transpose() * rest);
  out.kkt = 0.0;
  for (Eigen::Index j = 0; j < x.cols(); ++j)
    out.kkt = std::max(out.kkt, violation(out.weights[j], slope[j], lasso));
  out.objective =
      rest.squaredNorm() + lasso * out.weights.lpNorm<1>() + ridge * out.weights.squaredNorm();
  return out;
}

}  // namespace dpsc
