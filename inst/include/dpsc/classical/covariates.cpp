// Bodies of covariates.hpp.
#pragma once

#include "covariates.hpp"

namespace dpsc {

Eigen::VectorXd cells_of(const Eigen::MatrixXd& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), values.size());
}

unit_columns::unit_columns(const Eigen::MatrixXd& values, const Eigen::VectorXd& root) {
  const Eigen::VectorXd even = root / root.norm();
  columns = root.asDiagonal() * values;
  columns -= even * (even.transpose() * columns).eval();
  scale = Eigen::RowVectorXd::Zero(values.cols());
  for (Eigen::Index k = 0; k < values.cols(); ++k) {
    const double norm = columns.col(k).norm();
    if (norm > 1e-10 * values.col(k).norm()) scale[k] = 1.0 / norm;
    columns.col(k) *= scale[k];
  }
}

panel_covariates panel_covariates::rows(Eigen::Index count) const {
  return {varying.topRows(count), units.topRows(count)};
}

Eigen::MatrixXd panel_covariates::explained(const Eigen::VectorXd& slopes, Eigen::Index T) const {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(varying.rows(), T);
  for (Eigen::Index k = 0; k < slopes.size(); ++k) out += slopes[k] * one(k, T);
  return out;
}

Eigen::MatrixXd told_by_donors(const Eigen::MatrixXd& units) {
  const Eigen::Index n = units.rows() - 1, q = units.cols();
  if (n < 1) throw std::invalid_argument("there must be a donor");
  if (q == 0) return units;
  const Eigen::MatrixXd donors = units.topRows(n);
  const unit_columns shape(donors, Eigen::VectorXd::Ones(n));
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> parts;
  parts.setThreshold(1e-10);
  parts.compute(shape.columns.transpose());
  const Eigen::Index rank = shape.scale.isZero(0.0) ? 0 : parts.rank();
  const Eigen::MatrixXd span = parts.householderQ() * Eigen::MatrixXd::Identity(q, rank).eval();
  return (units.rowwise() - donors.colwise().mean()) * shape.scale.asDiagonal() * span;
}

effects_projection::effects_projection(const Eigen::MatrixXd& units, double last)
    : root_(Eigen::VectorXd::Ones(units.rows())) {
  const Eigen::Index N = units.rows();
  if (N < 1 || !units.allFinite() || !(last > 0.0))
    throw std::invalid_argument("units' covariates must be finite, weights positive");
  root_[N - 1] = std::sqrt(last);
  const unit_columns shape(units, root_);
  scale_ = shape.scale;
  Eigen::Index rank = 0;
  if (units.cols() > 0) {
    decomposed_.setThreshold(1e-10);
    decomposed_.compute(shape.columns);
    rank = decomposed_.rank();
  }
  basis_.resize(N, 1 + rank);
  basis_.col(0) = root_ / root_.norm();
  if (rank > 0)
    basis_.rightCols(rank) = decomposed_.householderQ() * Eigen::MatrixXd::Identity(N, rank).eval();
}

Eigen::MatrixXd effects_projection::residual(Eigen::MatrixXd values) const {
  const Eigen::VectorXd levels = values.rowwise().mean();
  values.colwise() -= levels;
  const Eigen::MatrixXd across = basis_.transpose() * (root_.asDiagonal() * values);
  values.noalias() -= root_.cwiseInverse().asDiagonal() * (basis_ * across);
  return values;
}

void effects_projection::fill(Eigen::MatrixXd& values,
                              const std::vector<Eigen::Index>& periods) const {
  const Eigen::Index last = values.rows() - 1;
  const double left = static_cast<double>(values.cols()) - static_cast<double>(periods.size());
  if (periods.empty()) return;
  if (left < 1.0) throw std::invalid_argument("a row without an observed cell");
  for (const Eigen::Index t : periods) values(last, t) = 0.0;
  const Eigen::MatrixXd now = residual(values);
  // The share of the last row's value that remains in its own residual: 0 if no other row
  // determines its coefficients.
  const double share = std::max(1.0 - basis_.row(last).squaredNorm(), 1e-12);
  double sum = 0.0;
  for (const Eigen::Index t : periods) sum += now(last, t);
  for (const Eigen::Index t : periods) values(last, t) = -(now(last, t) + sum / left) / share;
}

Eigen::MatrixXd effects_projection::by_period(Eigen::MatrixXd values) const {
  if (scale_.size() == 0) return Eigen::MatrixXd::Zero(0, values.cols());
  const Eigen::VectorXd levels = values.rowwise().mean();
  values.colwise() -= levels;
  const Eigen::MatrixXd out = decomposed_.solve(root_.asDiagonal() * values);
  return scale_.asDiagonal() * out;
}

Eigen::VectorXd regression_weights(const Eigen::MatrixXd& units, const Eigen::RowVectorXd& target) {
  const Eigen::Index n = units.rows();
  Eigen::VectorXd out = Eigen::VectorXd::Constant(n, 1.0 / static_cast<double>(n));
  if (units.cols() == 0) return out;
  const unit_columns shape(units, Eigen::VectorXd::Ones(n));
  const Eigen::RowVectorXd goal = (target - units.colwise().mean()).cwiseProduct(shape.scale);
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> parts;
  parts.setThreshold(1e-10);
  parts.compute(shape.columns.transpose());
  return out + parts.solve(goal.transpose());
}

Eigen::VectorXd few_slopes(Eigen::MatrixXd columns, const Eigen::VectorXd& goal) {
  Eigen::VectorXd scale = Eigen::VectorXd::Ones(columns.cols());
  for (Eigen::Index k = 0; k < columns.cols(); ++k) {
    const double norm = columns.col(k).norm();
    if (norm > 0.0) scale[k] = 1.0 / norm;
  }
  columns *= scale.asDiagonal();
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> parts;
  parts.setThreshold(1e-10);
  parts.compute(columns);
  return scale.asDiagonal() * parts.solve(goal);
}

Eigen::MatrixXd varying_residuals(const effects_projection& effects, const panel_covariates& given,
                                  Eigen::Index T, const std::vector<Eigen::Index>& periods) {
  Eigen::MatrixXd out(given.varying.rows() * T, given.count(T));
  for (Eigen::Index k = 0; k < out.cols(); ++k) {
    Eigen::MatrixXd x = given.one(k, T);
    effects.fill(x, periods);
    Eigen::MatrixXd left = effects.residual(x);
    for (const Eigen::Index t : periods) left(left.rows() - 1, t) = 0.0;
    if (left.norm() <= 1e-10 * x.norm()) left.setZero();
    out.col(k) = cells_of(left);
  }
  return out;
}

Eigen::Index first_redundant(const panel_covariates& given, Eigen::Index T) {
  const auto repeated = [](Eigen::MatrixXd columns, const Eigen::VectorXd& sizes) {
    for (Eigen::Index k = 0; k < columns.cols(); ++k) {
      // Twice, to reduce rounding errors.
      for (int pass = 0; pass < 2; ++pass)
        for (Eigen::Index j = 0; j < k; ++j)
          columns.col(k) -= columns.col(j).dot(columns.col(k)) * columns.col(j);
      const double norm = columns.col(k).norm();
      if (!(norm > 1e-8 * sizes[k])) return k + 1;
      columns.col(k) /= norm;
    }
    return Eigen::Index{0};
  };
  const Eigen::RowVectorXd mean = given.units.colwise().mean();
  const Eigen::Index unit =
      repeated(given.units.rowwise() - mean, given.units.colwise().norm().transpose());
  if (unit > 0) return unit;
  const Eigen::MatrixXd left = varying_residuals(effects_projection(given.units), given, T, {});
  Eigen::VectorXd sizes(left.cols());
  for (Eigen::Index k = 0; k < left.cols(); ++k) sizes[k] = given.one(k, T).norm();
  const Eigen::Index varying = repeated(left, sizes);
  return varying > 0 ? given.units.cols() + varying : 0;
}

covariate_adjustment adjust_for(const Eigen::Ref<const Eigen::MatrixXd>& donors,
                                const Eigen::Ref<const Eigen::VectorXd>& target, Eigen::Index T0,
                                const panel_covariates& given, double weight) {
  const Eigen::Index n = donors.rows(), T = donors.cols();
  if (target.size() != T || T0 < 1 || T0 > T || given.varying.rows() != n + 1 ||
      given.units.rows() != n + 1)
    throw std::invalid_argument("covariates and outcomes do not fit together");
  std::vector<Eigen::Index> after;
  for (Eigen::Index t = T0; t < T; ++t) after.push_back(t);
  const Eigen::MatrixXd units = told_by_donors(given.units);
  const effects_projection effects(units, weight);
  const Eigen::VectorXd root = effects.root_weights();
  const auto weighted = [&](const Eigen::MatrixXd& values) {
    return cells_of(root.asDiagonal() * values);
  };
  Eigen::MatrixXd all(n + 1, T);
  all.topRows(n) = donors;
  all.row(n) = target.transpose();
  Eigen::MatrixXd filled = all;
  effects.fill(filled, after);
  covariate_adjustment out;
  if (given.count(T) > 0) {
    Eigen::MatrixXd columns = varying_residuals(effects, given, T, after);
    for (Eigen::Index k = 0; k < columns.cols(); ++k)
      columns.col(k) = weighted(Eigen::Map<Eigen::MatrixXd>(columns.col(k).data(), n + 1, T));
    out.slopes = few_slopes(columns, weighted(effects.residual(filled)));
  }
  Eigen::MatrixXd said = given.explained(out.slopes, T);
  if (units.cols() > 0) {
    Eigen::MatrixXd rest = all - said;
    effects.fill(rest, after);
    said += units * effects.by_period(rest);
  }
  out.donors = donors - said.topRows(n);
  out.path = said.row(n).transpose();
  return out;
}

}  // namespace dpsc
