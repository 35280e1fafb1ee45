// The public map from a person's row to a vector of integers.
//
// Every guarantee of the moments mechanism rests on it: each row is mapped by itself onto a grid of
// integers, so neighbours differ in one mapped row, and sums of integers below 2^53 are exact in
// double precision in any order.
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

/// Flags such as -fassociative-math break the above without a trace; then nothing may be released.
inline void require_exact_rounding() {
  volatile double given[4] = {0.4, 2.6, -1.3, 1048576.7};
  Eigen::ArrayXd x(4);
  for (int i = 0; i < 4; ++i) x[i] = given[i];
  const Eigen::ArrayXd rounded = nearest_integer(x);
  if (rounded[0] != 0.0 || rounded[1] != 3.0 || rounded[2] != -1.0 || rounded[3] != 1048577.0)
    throw std::logic_error("this build of dpsc does not round: compile it without -ffast-math");
}

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

  void check() const {
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

  template <typename Matrix>
  static bool is_integer(const Matrix& m) {
    return (m.array().floor() == m.array()).all();
  }
};

/// Bits of the grid that a row is rounded to, in units of the bounds' half-width.
constexpr int row_bits = 20;

/// How a person's row is scaled: bounds as centre and half-width, the latter at most one `unit`.
struct row_scale {
  Eigen::VectorXd centre;  // T, outcome units
  double unit;             // outcome units: the largest half-width
  Eigen::VectorXd half;    // T, in units: at most 1
};

/// A row map onto the grid, and what its integers mean.
struct grid_map {
  row_map map;
  double unit;   // one step of a feature, scaled units
  double reach;  // public bound on the norm of a person's features, scaled units
};

inline int ceil_log2(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return mantissa == 0.5 ? exponent - 1 : exponent;
}

/// Features loadings'x - origin of a scaled row x, as fine as exact integers allow.
inline grid_map map_on_grid(const row_scale& scale, const Eigen::MatrixXd& loadings,
                            const Eigen::VectorXd& origin) {
  const Eigen::VectorXd limit = (scale.half * std::ldexp(1.0, row_bits)).array().floor().matrix();
  // Sums q'L stay below 2^49, exact whatever their order.
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

/// No rounding and no clipping: the non-private limit.
inline row_map map_as_is(const row_scale& scale, const Eigen::MatrixXd& loadings,
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
