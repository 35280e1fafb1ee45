// Bodies of products.hpp.
#pragma once

#include "products.hpp"

namespace dpsc {

void product_map::check() const {
  features.check();
  int exponent = 0;
  if (!features.on_grid || dimension() < 1 || std::frexp(lift, &exponent) != 0.5 ||
      std::frexp(slope, &exponent) != 0.5 || !(longest() <= 0x1.0p26))
    throw std::invalid_argument("products of features could leave the range of exact integers");
}

double product_map::longest() const {
  const Eigen::VectorXd reach =
      ((features.limit.transpose() * features.loadings.cwiseAbs()).transpose() * features.rescale +
       features.origin.cwiseAbs())
          .array() +
      1.0;
  return reach.tail(dimension()).norm() * (lift + slope * reach[0]);
}

Eigen::MatrixXd product_map::rows(const Eigen::MatrixXd& z) const {
  const Eigen::ArrayXd gain = lift + z.col(0).array() * slope;
  Eigen::MatrixXd out(z.rows(), z.cols() - 1);
  for (Eigen::Index t = 0; t < out.cols(); ++t)
    out.col(t).array() = nearest_integer((z.col(t + 1).array() * gain).eval());
  return out;
}

grid_products products_on_grid(const grid_map& rows) {
  product_map map{rows.map, 1.0, rows.unit};
  const double shrink = std::ldexp(1.0, -std::max(0, ceil_log2(map.longest()) - 26));
  map.lift *= shrink;
  map.slope *= shrink;
  return {map, rows.unit / shrink};
}

}  // namespace dpsc
