// Covariates of a person are more columns of that person's row, after the periods before the
// treatment, and each is a feature of its own.
#pragma once

#include <Eigen/Core>
#include <cmath>

#include "gram_features.hpp"

namespace dpsc {

/// Weight of a covariate among the features of the first round (its bounds are [-1, 1]); the second
/// round finds its own scale.
constexpr double covariate_weight = 0.3;

/// Features of rows with q covariates between the T0 periods before the treatment and the others.
inline gram_features with_covariates(const gram_features& f, Eigen::Index T0, Eigen::Index q) {
  if (q == 0) return f;
  const Eigen::Index T1 = f.loadings.cols() - f.pre;
  gram_features out = f;
  out.pre = f.pre + q;
  out.loadings = Eigen::MatrixXd::Zero(T0 + q + T1, out.pre + T1);
  out.loadings.topLeftCorner(T0, f.pre) = f.loadings.topLeftCorner(T0, f.pre);
  out.loadings.topRightCorner(T0, T1) = f.loadings.topRightCorner(T0, T1);
  out.loadings.bottomRightCorner(T1, T1) = f.loadings.bottomRightCorner(T1, T1);
  out.loadings.block(T0, f.pre, q, q).diagonal().setConstant(covariate_weight);
  out.origin = Eigen::VectorXd::Zero(out.pre + T1);
  out.origin.head(f.pre) = f.origin.head(f.pre);
  out.origin.tail(T1) = f.origin.tail(T1);
  const double size = covariate_weight * std::sqrt(static_cast<double>(q));
  out.high = std::hypot(f.high, size);
  return out;
}

}  // namespace dpsc
