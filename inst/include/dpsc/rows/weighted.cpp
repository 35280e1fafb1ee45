// Bodies of weighted.hpp.
#pragma once

#include "weighted.hpp"

#include "wide.hpp"

namespace dpsc {

double weight_limits::share(double weight) const {
  const double cut = weight > least ? std::min(weight, most) : least;
  return std::floor(std::ldexp(cut / most, weight_bits)) * std::ldexp(1.0, -weight_bits);
}

weighted_table::weighted_table(const table_view& whole, const weight_limits& limits)
    : rows(whole), whole_(whole), limits_(limits) {
  if (!limits.given()) return;
  if (whole.grid != 0) throw std::invalid_argument("rows on a grid hold no weights");
  // Columns follow each other: the last one is left out.
  --rows.columns;
}

Eigen::ArrayXd weighted_table::shares(Eigen::Index first, Eigen::Index count) const {
  Eigen::ArrayXd out = Eigen::ArrayXd::Ones(count);
  if (!limits_.given()) return out;
  const Eigen::Index from = rows.columns * whole_.rows + first;
  for (Eigen::Index i = 0; i < count; ++i)
    out[i] = limits_.share(whole_.reals ? whole_.reals[from + i]
                                        : static_cast<double>(whole_.integers[from + i]));
  return out;
}

weighted_moments::weighted_moments(Eigen::Index dimension, double radius, double limit,
                                   double constant)
    : rows_(dimension, radius, limit),
      constant_(constant),
      gram_(Eigen::MatrixXd::Zero(dimension + 1, dimension + 1)) {
  if (!(constant >= 1.0 && constant <= limit && constant == std::floor(constant)))
    throw std::invalid_argument("the constant of weighted rows must be a whole number");
}

void weighted_moments::add(const Eigen::MatrixXd& z, const Eigen::ArrayXd& share) {
  const Eigen::ArrayXd root = share.sqrt();
  both_.resize(z.rows(), z.cols() + 1);
  both_.leftCols(z.cols()) = rows_.clip(z, root);
  both_.col(z.cols()).array() = nearest_integer((root * constant_).eval());
  add_whole_gram(both_, gram_, has_wide_vectors());
}

void mean_share::add(double share, double sd) {
  sum_ += share / (sd * sd);
  precision_ += 1.0 / (sd * sd);
}

double mean_share::value() const {
  const double low = std::max(limits_.least / limits_.most, 1.0 / std::sqrt(precision_));
  return std::min(1.0, std::max(low, sum_ / precision_));
}

}  // namespace dpsc
