// Bodies of leave_one_out.hpp.
#pragma once

#include "leave_one_out.hpp"

#include "../linalg.hpp"

namespace dpsc {

donor_moments moments_of(const Eigen::Ref<const Eigen::MatrixXd>& rows) {
  const Eigen::VectorXd mean = rows.colwise().mean();
  const Eigen::MatrixXd centred = rows.rowwise() - mean.transpose();
  const double n = static_cast<double>(rows.rows());
  return {mean, centred.transpose() * centred / n, n};
}

Eigen::VectorXd own_variation(const Eigen::Ref<const Eigen::MatrixXd>& pre) {
  return (pre.colwise() - pre.rowwise().mean()).rowwise().squaredNorm();
}

deleted_ridge::deleted_ridge(donor_moments moments, Eigen::Index T0, double penalty,
                             double softness)
    : moments_(std::move(moments)), T0_(T0), softness_(softness), ridge_(std::isfinite(penalty)) {
  const Eigen::Index periods = moments_.mean.size();
  if (T0 < 1 || T0 >= periods || moments_.covariance.rows() != periods ||
      moments_.covariance.cols() != periods)
    throw std::invalid_argument("the moments do not fit the periods");
  if (!(moments_.n >= 2.0) || !(penalty > 0.0) || !(softness > 0.0))
    throw std::domain_error("two donors at least, and a positive penalty, are needed");
  if (!moments_.mean.allFinite() || !moments_.covariance.allFinite())
    throw std::domain_error("the donors must be finite");
  const Eigen::Index T1 = periods - T0;
  const Eigen::MatrixXd pre = moments_.covariance.topLeftCorner(T0, T0);
  if (ridge_) {
    root_ = llt(pre + penalty * Eigen::MatrixXd::Identity(T0, T0));
    if (root_.info() != Eigen::Success)
      throw std::domain_error("the penalty is too small for these donors");
    slopes_ = root_.solve(moments_.covariance.topRightCorner(T0, T1));
    freedom_ = 1.0 + root_.solve(pre).trace();
  } else {
    slopes_ = Eigen::MatrixXd::Constant(T0, T1, 1.0 / static_cast<double>(T0));
  }
  const Eigen::VectorXd path = moments_.mean.head(T0);
  const double level = path.mean(), common = pre.sum() / static_cast<double>(T0);
  variation_ = (path.array() - level).matrix().squaredNorm() + pre.trace() - common;
}

Eigen::VectorXd deleted_ridge::spread() const {
  const Eigen::Index T1 = slopes_.cols();
  Eigen::MatrixXd residual(moments_.mean.size(), T1);
  residual << -slopes_, Eigen::MatrixXd::Identity(T1, T1);
  const Eigen::MatrixXd squares = residual.transpose() * moments_.covariance * residual;
  Eigen::VectorXd out(outcomes());
  out << squares.mean(), squares.diagonal();
  const double left = std::max(1.0 - freedom_ / moments_.n, 1.0 / moments_.n);
  return out.array().max(0.0).sqrt() / left;
}

deleted_errors deleted_ridge::errors(const matrix_ref& rows) const {
  const Eigen::MatrixXd x = centred(rows);
  const Eigen::MatrixXd residual =
      rows.rightCols(outcomes() - 1).rowwise() - moments_.mean.tail(outcomes() - 1).transpose();
  deleted_errors out{with_average(residual - x * slopes_),
                     Eigen::VectorXd::Constant(rows.rows(), 1.0 / moments_.n)};
  if (ridge_)
    out.leverage +=
        root_.matrixL().solve(x.transpose()).colwise().squaredNorm().transpose() / moments_.n;
  out.error.array().colwise() /= (1.0 - out.leverage.array());
  return out;
}

Eigen::VectorXd deleted_ridge::predict(const vector_ref& pre) const {
  const Eigen::VectorXd post =
      moments_.mean.tail(outcomes() - 1) + slopes_.transpose() * (pre - moments_.mean.head(T0_));
  Eigen::VectorXd out(outcomes());
  out << post.mean(), post;
  return out;
}

double deleted_ridge::leverage(const vector_ref& pre) const {
  const Eigen::VectorXd u = pre - moments_.mean.head(T0_);
  return (1.0 + (ridge_ ? u.dot(root_.solve(u)) : 0.0)) / moments_.n;
}

Eigen::VectorXd deleted_ridge::row_scale(const vector_ref& variation, double sum,
                                         double joined) const {
  const double mean = (moments_.n * variation_ + sum) / (moments_.n + joined);
  if (!std::isfinite(softness_) || !(mean > 0.0)) return Eigen::VectorXd::Ones(variation.size());
  return ((softness_ + variation.array() / mean) / (softness_ + 1.0)).sqrt();
}

deleted_limits deleted_ridge::limits(const matrix_ref& rows, const vector_ref& pre) const {
  const deleted_errors own = errors(rows);
  const Eigen::Index n = rows.rows(), m = outcomes();
  const double variation = own_variation(pre.transpose())[0];
  const Eigen::VectorXd scale = row_scale(own_variation(rows.leftCols(T0_)), variation, 1.0);
  const double target = row_scale(Eigen::VectorXd::Constant(1, variation), variation, 1.0)[0];
  Eigen::VectorXd shared = Eigen::VectorXd::Constant(n, 1.0);
  if (ridge_) shared += centred(rows) * root_.solve(pre - moments_.mean.head(T0_));
  shared /= moments_.n;
  const double at_target = leverage(pre);

  deleted_limits out{Eigen::MatrixXd(n, m), Eigen::MatrixXd(n, m), Eigen::VectorXd(n),
                     root_mean_square(own.error, scale)};
  // Identical rows are tied, and rounding must not break a tie.
  const Eigen::RowVectorXd slack =
      1e-9 * out.spread.transpose().array() + 1e-12 * moments_.mean.cwiseAbs().maxCoeff();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (Eigen::Index i = 0; i < n; ++i) {
    const double left = 1.0 - own.leverage[i], a = shared[i];
    const double g = a / (left * (1.0 + at_target) + a * a);
    const double ratio = target / scale[i], pull = ratio * g;
    // |d| <= ratio |error (1 - g a) - g d|: an interval unless the target's pull is too strong.
    if (!(std::abs(pull) < 1.0)) {
      out.low.row(i).setConstant(-infinite);
      out.high.row(i).setConstant(infinite);
      out.band[i] = infinite;
      continue;
    }
    const Eigen::RowVectorXd free = ratio * (1.0 - g * a) * own.error.row(i);
    const Eigen::RowVectorXd one = free / (1.0 + pull), other = -free / (1.0 - pull);
    out.low.row(i) = one.cwiseMin(other) - slack;
    out.high.row(i) = one.cwiseMax(other) + slack;
    out.band[i] = largest(free, out.spread) / (1.0 - std::abs(pull)) * (1.0 + 1e-9) + 1e-9;
  }
  return out;
}

double deleted_ridge::largest(const Eigen::RowVectorXd& errors, const Eigen::VectorXd& spread) {
  double out = 0.0;
  for (Eigen::Index t = 1; t < errors.size(); ++t)
    if (spread[t] > 0.0) out = std::max(out, std::abs(errors[t]) / spread[t]);
  return out;
}

Eigen::MatrixXd deleted_ridge::centred(const matrix_ref& rows) const {
  return rows.leftCols(T0_).rowwise() - moments_.mean.head(T0_).transpose();
}

Eigen::MatrixXd deleted_ridge::with_average(const Eigen::MatrixXd& periods) {
  Eigen::MatrixXd out(periods.rows(), periods.cols() + 1);
  out << periods.rowwise().mean(), periods;
  return out;
}

Eigen::VectorXd deleted_ridge::root_mean_square(const Eigen::MatrixXd& errors,
                                                const Eigen::VectorXd& scale) {
  const Eigen::MatrixXd relative = errors.array().colwise() / scale.array();
  return relative.array().square().colwise().mean().sqrt();
}

deleted_counts::deleted_counts(const deleted_ridge& ridge)
    : ridge_(ridge),
      spread_(ridge.spread()),
      counts_(Eigen::MatrixXd::Zero(cells, ridge.outcomes() + 1)),
      powers_(Eigen::MatrixXd::Zero(3, ridge.outcomes())) {}

void deleted_counts::add(const Eigen::Ref<const Eigen::MatrixXd>& rows, Eigen::Index T0) {
  const deleted_errors own = ridge_.errors(rows);
  const Eigen::VectorXd scale = ridge_.row_scale(own_variation(rows.leftCols(T0)));
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    const Eigen::RowVectorXd error = own.error.row(i) / scale[i];
    for (Eigen::Index t = 0; t < spread_.size(); ++t) {
      const double score = spread_[t] > 0.0 ? std::abs(error[t]) / spread_[t] : 0.0;
      const double squared = score * score, plain = squared * scale[i] * scale[i];
      counts_(cell(score), t) += 1.0;
      powers_.col(t) += Eigen::Vector3d(squared, plain, plain * plain);
    }
    counts_(cell(deleted_ridge::largest(error, spread_)), spread_.size()) += 1.0;
  }
}

Eigen::VectorXd deleted_counts::ends() {
  Eigen::VectorXd out(cells);
  for (Eigen::Index k = 0; k + 1 < cells; ++k)
    out[k] = std::exp2(lowest + static_cast<double>(k) / octave);
  out[cells - 1] = std::numeric_limits<double>::infinity();
  return out;
}

Eigen::Index deleted_counts::cell(double score) {
  const double at = std::ceil((std::log2(score) - lowest) * octave);
  if (!(at > 0.0)) return 0;
  return std::min(static_cast<Eigen::Index>(std::min(at, 1e6)), cells - 1);
}

}  // namespace dpsc
