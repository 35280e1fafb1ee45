// Products of a person's features: v_t = round((1 + f) r_t) of features (f, r), all integers. Each
// is a function of one row. Proof: inst/proofs/gram.md, section 5.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "row_map.hpp"

namespace dpsc {

/// From a row to v_t = round(r_t (lift + slope f)): features (f, r) of `features`, `lift` and
/// `slope` powers of two. PUBLIC or RELEASED.
struct product_map {
  row_map features;
  double lift = 1.0, slope = 1.0;

  Eigen::Index dimension() const { return features.dimension() - 1; }

  void check() const {
    features.check();
    int exponent = 0;
    if (!features.on_grid || dimension() < 1 || std::frexp(lift, &exponent) != 0.5 ||
        std::frexp(slope, &exponent) != 0.5 || !(longest() <= 0x1.0p26))
      throw std::invalid_argument("products of features could leave the range of exact integers");
  }

  /// No row's products are longer, but for their rounding.
  double longest() const {
    const Eigen::VectorXd reach =
        ((features.limit.transpose() * features.loadings.cwiseAbs()).transpose() *
             features.rescale +
         features.origin.cwiseAbs())
            .array() +
        1.0;
    return reach.tail(dimension()).norm() * (lift + slope * reach[0]);
  }

  Eigen::MatrixXd rows(const Eigen::MatrixXd& z) const {
    const Eigen::ArrayXd gain = lift + z.col(0).array() * slope;
    Eigen::MatrixXd out(z.rows(), z.cols() - 1);
    for (Eigen::Index t = 0; t < out.cols(); ++t)
      out.col(t).array() = nearest_integer((z.col(t + 1).array() * gain).eval());
    return out;
  }
};

/// Products of the features of a grid, coarser where their squared norms would not stay below 2^53.
struct grid_products {
  product_map map;
  double unit;  // one step of a product, scaled units
};

inline grid_products products_on_grid(const grid_map& rows) {
  product_map map{rows.map, 1.0, rows.unit};
  const double shrink = std::ldexp(1.0, -std::max(0, ceil_log2(map.longest()) - 26));
  map.lift *= shrink;
  map.slope *= shrink;
  return {map, rows.unit / shrink};
}

}  // namespace dpsc
