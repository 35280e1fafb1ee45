// Sums over people of a function of each person's features, in exact integer arithmetic: blocks,
// chunks and machines may be added in any order, bit for bit.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "row_map.hpp"

namespace dpsc {

/// Squared norms of the rows; exact when the entries are integers within a checked row map.
Eigen::ArrayXd squared_row_norms(const Eigen::MatrixXd& z);

/// An integer that doubles represent exactly.
inline bool is_count(double x) { return x >= 0.0 && x <= 0x1.0p53 && x == std::floor(x); }

/// The squared norm that each radius keeps per squared radius, minus a price for rows beyond it.
///
/// A row inside radius r (|z|^2 <= r^2, integers) adds round(2^bits |z|^2 / r^2), a row outside
/// subtracts `price` 2^bits. A row at the origin adds nothing at any radius, so many such rows have
/// no influence. Replacing a row changes the sums, over the radii, within a range of (price + 2)
/// 2^bits.
class radius_energy {
 public:
  radius_energy(std::vector<double> squared_radii, int price, int bits);

  void add(const Eigen::MatrixXd& z);

  /// The sums of `add()`, computed elsewhere: for each radius the part kept by rows within it and
  /// the number of rows beyond it.
  void add_sums(const std::vector<double>& kept, const std::vector<double>& beyond, double rows);

  const std::vector<double>& squared_radii() const { return squared_radii_; }
  /// One over the squared radii, in the energy's steps.
  const std::vector<double>& inverse() const { return inverse_; }
  /// The energy of a row on the radius, and the cost of a row outside in units of it.
  double one() const { return one_; }
  int price() const { return price_; }

  /// The sums themselves, as add_sums() takes them. PRIVATE.
  const std::vector<double>& kept() const { return kept_; }
  std::vector<double> beyond() const;

  /// Losses of the choice: the largest possible sum over rows minus the actual sum. Integers, never
  /// negative.
  std::vector<std::int64_t> losses() const;

 private:
  std::vector<double> squared_radii_, inverse_;
  int price_;
  double one_;
  std::vector<double> kept_, outside_;
  double rows_ = 0.0;
};

/// Sum of the rows, each clipped to a radius and put on a finer or coarser grid.
///
/// w = round(z min(1, radius / |z|) zoom) with zoom = (limit - sqrt(d) / 2)(1 - 2^-40) / radius:
/// rounding lengthens a row by sqrt(d) / 2 at most, so |w| <= limit holds in integers.
class clipped_sums {
 public:
  clipped_sums(Eigen::Index dimension, double radius, double limit);

  /// Grid steps of the clipped row per step of the features.
  static double zoom(Eigen::Index dimension, double radius, double limit);

  /// The clipped rows: integers, |w| <= limit; with shares in [0, 1] of each.
  const Eigen::MatrixXd& clip(const Eigen::MatrixXd& z);
  const Eigen::MatrixXd& clip(const Eigen::MatrixXd& z, const Eigen::ArrayXd& share);

  void add(const Eigen::MatrixXd& z) { sum_ += clip(z).colwise().sum().transpose(); }
  void add(const Eigen::MatrixXd& z, const Eigen::ArrayXd& share) {
    sum_ += clip(z, share).colwise().sum().transpose();
  }

  /// The sums of `add()` over `rows` rows, computed elsewhere.
  void add_sums(const Eigen::VectorXd& sum, double rows);

  double zoom() const { return zoom_; }
  double radius() const { return radius_; }
  double limit() const { return std::sqrt(limit2_); }
  const Eigen::VectorXd& sum() const { return sum_; }

 protected:
  double radius_, limit2_, zoom_;
  Eigen::VectorXd sum_;
  Eigen::MatrixXd clipped_;
};

/// Sum and Gram matrix of such rows.
class clipped_moments : public clipped_sums {
 public:
  clipped_moments(Eigen::Index dimension, double radius, double limit);

  void add(const Eigen::MatrixXd& z);

  /// The sums of `add()` over `rows` rows, computed elsewhere.
  void add_sums(const Eigen::VectorXd& sum, const Eigen::MatrixXd& gram, double rows);

  Eigen::MatrixXd gram() const { return gram_.selfadjointView<Eigen::Lower>(); }

 private:
  Eigen::MatrixXd gram_;
};

/// Sum and Gram matrix of the unchanged rows: the non-private limit.
class raw_moments {
 public:
  explicit raw_moments(Eigen::Index dimension);

  void add(const Eigen::MatrixXd& z);

  const Eigen::VectorXd& sum() const { return sum_; }
  Eigen::MatrixXd gram() const { return gram_.selfadjointView<Eigen::Lower>(); }

 private:
  Eigen::VectorXd sum_;
  Eigen::MatrixXd gram_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "sums.cpp"
#endif
