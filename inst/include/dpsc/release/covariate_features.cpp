// Bodies of covariate_features.hpp.
#pragma once

#include "covariate_features.hpp"

namespace dpsc {

gram_features with_covariates(const gram_features& f, Eigen::Index T0, Eigen::Index q) {
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
