// Sums over donors of a public function of each donor's row, in exact integer arithmetic.
//
// Every guarantee of the default method rests on this file: each row is mapped by itself onto a
// grid of integers (so neighbours differ in one mapped row), and sums of integers below 2^53 are
// exact in double precision in any order. Blocks, chunks and machines may therefore be added in
// any order, bit for bit.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

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
  Eigen::VectorXd origin;    // d, feature grid units
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

/// Applies a row map to blocks of rows of a column-major n x T table.
template <typename Scalar>
class feature_reader {
 public:
  static constexpr Eigen::Index block_rows = 1024;  // T = 50: 400 kB, stays in cache

  feature_reader(const Scalar* table, Eigen::Index n, const row_map& map)
      : table_(table), n_(n), map_(map), identity_(is_identity(map.loadings)) {
    map_.check();
  }

  Eigen::Index blocks() const { return (n_ + block_rows - 1) / block_rows; }

  /// Features of block b: at most block_rows x d.
  const Eigen::MatrixXd& read(Eigen::Index b) {
    const Eigen::Index first = b * block_rows;
    const Eigen::Index rows = std::min(block_rows, n_ - first);
    const Eigen::Index T = map_.periods();
    scaled_.resize(rows, T);
    for (Eigen::Index t = 0; t < T; ++t) {
      const Eigen::Map<const Eigen::Array<Scalar, Eigen::Dynamic, 1>> x(table_ + t * n_ + first,
                                                                        rows);
      const auto centred = (x.template cast<double>() - map_.centre[t]) * map_.scale;
      if (map_.on_grid)
        scaled_.col(t).array() =
            nearest_integer(centred.max(-map_.limit[t]).min(map_.limit[t]).eval());
      else
        scaled_.col(t).array() = centred;
    }
    if (identity_)
      features_.swap(scaled_);
    else
      features_.noalias() = scaled_ * map_.loadings;
    for (Eigen::Index j = 0; j < map_.dimension(); ++j) {
      auto column = features_.col(j).array();
      if (map_.on_grid)
        column = nearest_integer((column * map_.rescale).eval()) - map_.origin[j];
      else
        column = column * map_.rescale - map_.origin[j];
    }
    return features_;
  }

 private:
  static bool is_identity(const Eigen::MatrixXd& m) {
    return m.rows() == m.cols() && m.isIdentity(0.0);
  }

  const Scalar* table_;
  Eigen::Index n_;
  row_map map_;
  bool identity_;
  Eigen::MatrixXd scaled_, features_;
};

/// Squared norms of the rows; exact when the entries are integers within a checked row map.
inline Eigen::ArrayXd squared_row_norms(const Eigen::MatrixXd& z) {
  Eigen::ArrayXd out = Eigen::ArrayXd::Zero(z.rows());
  for (Eigen::Index j = 0; j < z.cols(); ++j) out += z.col(j).array().square();
  return out;
}

/// How many rows have a norm of at most each radius (squared radii, increasing).
struct radius_counts {
  std::vector<double> squared_radii;
  Eigen::VectorXd counts;

  explicit radius_counts(std::vector<double> squared)
      : squared_radii(std::move(squared)),
        counts(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(squared_radii.size()))) {
    if (!std::is_sorted(squared_radii.begin(), squared_radii.end()))
      throw std::invalid_argument("radii must increase");
  }

  void add(const Eigen::MatrixXd& z) {
    const Eigen::ArrayXd norms = squared_row_norms(z);
    for (Eigen::Index i = 0; i < norms.size(); ++i) {
      const auto at = std::lower_bound(squared_radii.begin(), squared_radii.end(), norms[i]);
      if (at != squared_radii.end()) counts[at - squared_radii.begin()] += 1.0;
    }
  }

  /// Cumulative counts.
  Eigen::VectorXd result() const {
    Eigen::VectorXd out = counts;
    for (Eigen::Index i = 1; i < out.size(); ++i) out[i] += out[i - 1];
    return out;
  }
};

/// Sum and Gram matrix of the rows, each clipped to a radius and put on a finer or coarser grid.
///
/// w = round(z * min(1, radius / ||z||) * zoom), shortened where rounding carried it past
/// `clipped_radius` (an integer, about radius * zoom): ||w|| <= clipped_radius holds in integers.
class clipped_moments {
 public:
  clipped_moments(Eigen::Index dimension, double radius, double zoom, double clipped_radius,
                  bool on_grid)
      : radius_(radius), zoom_(zoom), clipped_radius_(clipped_radius), on_grid_(on_grid),
        sum_(Eigen::VectorXd::Zero(dimension)), gram_(Eigen::MatrixXd::Zero(dimension, dimension)) {
    if (on_grid && !(radius > 0.0 && zoom > 0.0 && clipped_radius >= 1.0 &&
                     clipped_radius == std::floor(clipped_radius)))
      throw std::invalid_argument("radius, zoom and clipped radius must be positive");
  }

  void add(const Eigen::MatrixXd& z) {
    const Eigen::MatrixXd& w = on_grid_ ? clip(z) : z;
    sum_ += w.colwise().sum().transpose();
    gram_.selfadjointView<Eigen::Lower>().rankUpdate(w.transpose());
  }

  const Eigen::VectorXd& sum() const { return sum_; }
  Eigen::MatrixXd gram() const { return gram_.selfadjointView<Eigen::Lower>(); }

 private:
  const Eigen::MatrixXd& clip(const Eigen::MatrixXd& z) {
    const Eigen::ArrayXd norms = squared_row_norms(z).sqrt();
    const Eigen::ArrayXd factor = zoom_ * (norms <= radius_).select(1.0, radius_ / norms);
    clipped_.resize(z.rows(), z.cols());
    for (Eigen::Index j = 0; j < z.cols(); ++j)
      clipped_.col(j).array() = nearest_integer((z.col(j).array() * factor).eval());
    const double limit = clipped_radius_ * clipped_radius_;
    const Eigen::ArrayXd lengths = squared_row_norms(clipped_);
    for (Eigen::Index i = 0; i < z.rows(); ++i)
      if (lengths[i] > limit) shorten(i, limit);
    return clipped_;
  }

  // Rounding lengthens a row by at most sqrt(d) / 2: scale down until it fits.
  void shorten(Eigen::Index i, double limit) {
    double length = clipped_.row(i).squaredNorm();
    for (double back = 1.0; length > limit; back *= 2.0) {
      const double factor = std::max(0.0, std::sqrt(limit / length) * (1.0 - back * 0x1.0p-40));
      clipped_.row(i) = (clipped_.row(i).array() * factor).unaryExpr([](double v) {
        return std::trunc(v);
      });
      length = clipped_.row(i).squaredNorm();
    }
  }

  double radius_, zoom_, clipped_radius_;
  bool on_grid_;
  Eigen::VectorXd sum_;
  Eigen::MatrixXd gram_;
  Eigen::MatrixXd clipped_;
};

}  // namespace dpsc
