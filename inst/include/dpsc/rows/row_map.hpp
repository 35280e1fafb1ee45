// The public map from a person's row to a vector of integers.
//
// Every guarantee of the moments mechanism depends on this map: each row is mapped separately onto
// a grid of integers, so neighbours differ in one mapped row, and sums of integers below 2^53 are
// exact in double precision in any order.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>

// (x + magic) - magic is x to such a compiler: nothing would be rounded, and sums of donors' values
// would keep fractions that no noise hides.
#if defined(__FAST_MATH__) || defined(_M_FP_FAST)
#error "dpsc needs exact floating-point arithmetic: build it without -ffast-math and -Ofast"
#endif

namespace dpsc {

/// Nearest integer, for |x| < 2^51, in two additions that vectorise.
template <typename Derived>
auto nearest_integer(const Eigen::ArrayBase<Derived>& x) {
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  return (x + magic) - magic;
}

/// Throws if compiler flags such as -fassociative-math have broken this rounding: then nothing may
/// be released.
void require_exact_rounding();

/// The public map from a donor's row to its features.
///
/// q_t = round(clip((x_t - centre_t) * scale, -limit_t, limit_t)), all integers;
/// z   = round(q' loadings * rescale) - origin, all integers.
/// `loadings` holds integers, so that q' loadings is exact; `rescale` is a power of two. With
/// `on_grid = false` nothing is rounded or clipped: the non-private limit.
struct row_map {
  Eigen::VectorXd centre;    // T, outcome units
  double scale;              // grid units per outcome unit
  Eigen::VectorXd limit;     // T, grid units
  Eigen::MatrixXd loadings;  // T x d
  double rescale;
  Eigen::VectorXd origin;  // d, feature grid units
  bool on_grid;

  Eigen::Index periods() const { return centre.size(); }
  Eigen::Index dimension() const { return loadings.cols(); }

  void check() const;

  template <typename Matrix>
  static bool is_integer(const Matrix& m) {
    return (m.array().floor() == m.array()).all();
  }
};

/// log2 of the number of grid steps per half-width of the bounds; rows are rounded to this grid.
constexpr int row_bits = 20;

/// The scale of a person's row: centre and half-width of the bounds; half-widths are at most one
/// `unit`.
struct row_scale {
  Eigen::VectorXd centre;  // T, outcome units
  double unit;             // outcome units: the largest half-width
  Eigen::VectorXd half;    // T, in units: at most 1
};

/// A row map onto the grid, and the meaning of its integers.
struct grid_map {
  row_map map;
  double unit;   // one step of a feature, scaled units
  double reach;  // public bound on the norm of a person's features, scaled units
};

int ceil_log2(double x);

/// Features loadings'x - origin of a scaled row x, as fine as exact integers allow.
grid_map map_on_grid(const row_scale& scale, const Eigen::MatrixXd& loadings,
                     const Eigen::VectorXd& origin);

/// No rounding and no clipping: the non-private limit.
row_map map_as_is(const row_scale& scale, const Eigen::MatrixXd& loadings,
                  const Eigen::VectorXd& origin);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "row_map.cpp"
#endif
