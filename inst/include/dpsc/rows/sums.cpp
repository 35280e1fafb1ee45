// Bodies of sums.hpp.
#pragma once

#include "sums.hpp"

#include "wide.hpp"

namespace dpsc {

Eigen::ArrayXd squared_row_norms(const Eigen::MatrixXd& z) {
  Eigen::ArrayXd out = Eigen::ArrayXd::Zero(z.rows());
  for (Eigen::Index j = 0; j < z.cols(); ++j) out += z.col(j).array().square();
  return out;
}

radius_energy::radius_energy(std::vector<double> squared_radii, int price, int bits)
    : squared_radii_(std::move(squared_radii)),
      price_(price),
      one_(std::ldexp(1.0, bits)),
      kept_(squared_radii_.size(), 0.0),
      outside_(squared_radii_.size() + 1, 0.0) {
  if (squared_radii_.empty() || !(squared_radii_.front() >= 1.0) ||
      !std::is_sorted(squared_radii_.begin(), squared_radii_.end()))
    throw std::invalid_argument("radii must be positive and increase");
  for (double r2 : squared_radii_) inverse_.push_back(one_ / r2);
}

void radius_energy::add(const Eigen::MatrixXd& z) {
  const Eigen::ArrayXd norms = squared_row_norms(z);
  for (Eigen::Index i = 0; i < norms.size(); ++i) {
    const auto from = static_cast<std::size_t>(
        std::lower_bound(squared_radii_.begin(), squared_radii_.end(), norms[i]) -
        squared_radii_.begin());
    outside_[from] += 1.0;  // beyond all radii before `from`
    for (std::size_t k = from; k < kept_.size(); ++k)
      kept_[k] += std::min(one_, std::nearbyint(norms[i] * inverse_[k]));
  }
  rows_ += static_cast<double>(norms.size());
}

void radius_energy::add_sums(const std::vector<double>& kept, const std::vector<double>& beyond,
                             double rows) {
  const std::size_t radii = kept_.size();
  if (kept.size() != radii || beyond.size() != radii || !is_count(rows))
    throw std::invalid_argument("sums over rows do not fit the radii");
  double outer = rows;
  for (std::size_t k = 0; k < radii; ++k) {
    if (!is_count(beyond[k]) || !is_count(kept[k]) || beyond[k] > outer ||
        kept[k] > (rows - beyond[k]) * one_)
      throw std::invalid_argument("sums over rows are out of range");
    outer = beyond[k];
  }
  for (std::size_t k = 0; k < radii; ++k) {
    kept_[k] += kept[k];
    outside_[k + 1] += k + 1 < radii ? beyond[k] - beyond[k + 1] : beyond[k];
  }
  outside_[0] += rows - beyond[0];
  rows_ += rows;
}

std::vector<double> radius_energy::beyond() const {
  std::vector<double> out(kept_.size());
  double sum = 0.0;
  for (std::size_t k = out.size(); k-- > 0;) out[k] = sum += outside_[k + 1];
  return out;
}

std::vector<std::int64_t> radius_energy::losses() const {
  std::vector<std::int64_t> out(kept_.size());
  double beyond = 0.0;
  for (std::size_t k = kept_.size(); k-- > 0;) {
    beyond += outside_[k + 1];
    out[k] = static_cast<std::int64_t>(rows_ * one_ - kept_[k] + beyond * price_ * one_);
  }
  return out;
}

clipped_sums::clipped_sums(Eigen::Index dimension, double radius, double limit)
    : radius_(radius),
      limit2_(limit * limit),
      zoom_(zoom(dimension, radius, limit)),
      sum_(Eigen::VectorXd::Zero(dimension)) {
  if (!(radius >= 1.0 && limit == std::floor(limit) && zoom_ > 0.0))
    throw std::invalid_argument("a clipped row needs a positive radius and a whole limit");
}

double clipped_sums::zoom(Eigen::Index dimension, double radius, double limit) {
  return (limit - std::sqrt(static_cast<double>(dimension)) / 2.0) * (1.0 - 0x1.0p-40) / radius;
}

const Eigen::MatrixXd& clipped_sums::clip(const Eigen::MatrixXd& z) {
  return clip(z, Eigen::ArrayXd::Ones(z.rows()));
}

const Eigen::MatrixXd& clipped_sums::clip(const Eigen::MatrixXd& z, const Eigen::ArrayXd& share) {
  const Eigen::ArrayXd norms = squared_row_norms(z).sqrt();
  const Eigen::ArrayXd factor = zoom_ * (norms <= radius_).select(1.0, radius_ / norms) * share;
  clipped_.resize(z.rows(), z.cols());
  for (Eigen::Index j = 0; j < z.cols(); ++j)
    clipped_.col(j).array() = nearest_integer((z.col(j).array() * factor).eval());
  if (!(squared_row_norms(clipped_) <= limit2_).all())
    throw std::logic_error("a clipped row is longer than its limit");
  return clipped_;
}

void clipped_sums::add_sums(const Eigen::VectorXd& sum, double rows) {
  if (sum.size() != sum_.size() || !is_count(rows))
    throw std::invalid_argument("sums over rows do not fit the features");
  if (!(sum.array().floor() == sum.array()).all() || !(sum.array().abs() <= rows * limit()).all())
    throw std::invalid_argument("sums over rows are out of range");
  sum_ += sum;
}

clipped_moments::clipped_moments(Eigen::Index dimension, double radius, double limit)
    : clipped_sums(dimension, radius, limit), gram_(Eigen::MatrixXd::Zero(dimension, dimension)) {}

void clipped_moments::add(const Eigen::MatrixXd& z) {
  clipped_sums::add(z);
  add_whole_gram(clipped_, gram_, has_wide_vectors());
}

void clipped_moments::add_sums(const Eigen::VectorXd& sum, const Eigen::MatrixXd& gram,
                               double rows) {
  const Eigen::Index d = sum_.size();
  if (gram.rows() != d || gram.cols() != d || !is_count(rows))
    throw std::invalid_argument("sums over rows do not fit the features");
  const bool whole = (gram.array().floor() == gram.array()).all() && gram == gram.transpose();
  if (!whole || !(gram.trace() <= rows * limit2_) || !(gram.diagonal().array() >= 0.0).all() ||
      !(gram.array().abs() <= rows * limit2_).all())
    throw std::invalid_argument("sums over rows are out of range");
  clipped_sums::add_sums(sum, rows);
  gram_ += gram;
}

raw_moments::raw_moments(Eigen::Index dimension)
    : sum_(Eigen::VectorXd::Zero(dimension)), gram_(Eigen::MatrixXd::Zero(dimension, dimension)) {}

void raw_moments::add(const Eigen::MatrixXd& z) {
  sum_ += z.colwise().sum().transpose();
  gram_.selfadjointView<Eigen::Lower>().rankUpdate(z.transpose());
}

}  // namespace dpsc
