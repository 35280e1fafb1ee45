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

  void check() const;

  /// The largest norm of a row's products, before rounding.
  double longest() const;

  Eigen::MatrixXd rows(const Eigen::MatrixXd& z) const;
};

/// Products of the features of a grid, coarser if their squared norms could exceed 2^53.
struct grid_products {
  product_map map;
  double unit;  // one step of a product, scaled units
};

grid_products products_on_grid(const grid_map& rows);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "products.cpp"
#endif
