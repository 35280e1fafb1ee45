// Bodies of row_map.hpp.
#pragma once

#include "row_map.hpp"

namespace dpsc {

void require_exact_rounding() {
  volatile double given[4] = {0.4, 2.6, -1.3, 1048576.7};
  Eigen::ArrayXd x(4);
  for (int i = 0; i < 4; ++i) x[i] = given[i];
  const Eigen::ArrayXd rounded = nearest_integer(x);
  if (rounded[0] != 0.0 || rounded[1] != 3.0 || rounded[2] != -1.0 || rounded[3] != 1048577.0)
    throw std::logic_error("this build of dpsc does not round: compile it without -ffast-math");
}

void row_map::check() const {
  const Eigen::Index T = periods(), d = dimension();
  if (T < 1 || d < 1 || limit.size() != T || loadings.rows() != T || origin.size() != d)
    throw std::invalid_argument("the parts of a row map do not fit together");
  if (!(std::isfinite(scale) && scale > 0.0 && std::isfinite(rescale) && rescale > 0.0))
    throw std::invalid_argument("the scales of a row map must be positive and finite");
  if (!centre.allFinite() || !loadings.allFinite() || !origin.allFinite())
    throw std::invalid_argument("a row map must be finite");
  if (!on_grid) return;
  require_exact_rounding();
  constexpr double exact = 9007199254740992.0;  // 2^53
  int exponent = 0;
  if (std::frexp(rescale, &exponent) != 0.5)
    throw std::invalid_argument("the rescaling of a row map must be a power of two");
  if (!(limit.maxCoeff() < exact / 8) || !is_integer(loadings) || !is_integer(origin) ||
      !is_integer(limit))
    throw std::invalid_argument("a row map on the grid must hold integers");
  const Eigen::RowVectorXd largest = limit.transpose() * loadings.cwiseAbs();
  if (!(largest.maxCoeff() < exact / 8))
    throw std::overflow_error("a row map could leave the range of exact integers");
  const Eigen::VectorXd reach =
      (largest.transpose() * rescale).array().ceil() + origin.array().abs() + 1.0;
  if (!(reach.squaredNorm() < exact))
    throw std::overflow_error("a feature vector could leave the range of exact integers");
}

int ceil_log2(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return mantissa == 0.5 ? exponent - 1 : exponent;
}

grid_map map_on_grid(const row_scale& scale, const Eigen::MatrixXd& loadings,
                     const Eigen::VectorXd& origin) {
  const Eigen::VectorXd limit = (scale.half * std::ldexp(1.0, row_bits)).array().floor().matrix();
  // Sums q'L stay below 2^49, exact in any order.
  const Eigen::RowVectorXd largest_column = scale.half.transpose() * loadings.cwiseAbs();
  const int loading_bits = 28 - ceil_log2(largest_column.maxCoeff());
  const Eigen::MatrixXd whole = (loadings * std::ldexp(1.0, loading_bits)).unaryExpr([](double v) {
    return std::nearbyint(v);
  });
  const Eigen::VectorXd largest = (limit.transpose() * whole.cwiseAbs()).transpose() *
                                  std::ldexp(1.0, -(row_bits + loading_bits));
  const double reach = (largest + origin.cwiseAbs()).norm();
  // Squared norms of features stay below 2^51.
  const int feature_bits = 25 - ceil_log2(reach);
  row_map map{scale.centre,
              std::ldexp(1.0, row_bits) / scale.unit,
              limit,
              whole,
              std::ldexp(1.0, feature_bits - row_bits - loading_bits),
              (origin * std::ldexp(1.0, feature_bits)).unaryExpr([](double v) {
                return std::nearbyint(v);
              }),
              true};
  return {map, std::ldexp(1.0, -feature_bits), reach};
}

row_map map_as_is(const row_scale& scale, const Eigen::MatrixXd& loadings,
                  const Eigen::VectorXd& origin) {
  return {scale.centre,
          1.0 / scale.unit,
          Eigen::VectorXd::Zero(scale.centre.size()),
          loadings,
          1.0,
          origin,
          false};
}

}  // namespace dpsc
