// Bodies of limited_translation.hpp.
#pragma once

#include "limited_translation.hpp"

#include "../linalg.hpp"

namespace dpsc {

translation_model::translation_model(const Eigen::MatrixXd& covariance) {
  using namespace translation_constants;
  const Eigen::Index periods = covariance.rows();
  const double size = static_cast<double>(periods);
  X = Eigen::MatrixXd::Ones(periods, periods < line_periods ? 1 : 2);
  if (X.cols() == 2) X.col(1) = Eigen::VectorXd::LinSpaced(periods, -1.0, 1.0);
  Eigen::MatrixXd across = Eigen::MatrixXd::Identity(periods, periods);
  across -= X * ldlt(X.transpose() * X).solve(X.transpose());
  const Eigen::VectorXd variance = (across * covariance * across).diagonal().cwiseMax(0.0);
  deviation = (variance * (size / (size - static_cast<double>(X.cols())))).cwiseSqrt();
  scale = std::sqrt(deviation.squaredNorm() / size);
}

Eigen::VectorXd translation_model::centre(const Eigen::VectorXd& y,
                                          const Eigen::MatrixXd& covariance) const {
  using namespace translation_constants;
  const double pi = std::acos(-1.0);
  std::vector<double> logs;
  std::vector<Eigen::VectorXd> means;
  for (int k = 0; k < nodes; ++k) {
    const double tau = scale * std::tan(0.5 * pi * (k + 0.5) / nodes);
    Eigen::MatrixXd total = covariance;
    // A variance far below the noise is added, since the covariance may be singular.
    total.diagonal().array() += tau * tau + 1e-9 * scale * scale;
    const Eigen::LLT<Eigen::MatrixXd> root = llt(total);
    if (root.info() != Eigen::Success) continue;
    const Eigen::MatrixXd lower = root.matrixL();
    const Eigen::MatrixXd inner = X.transpose() * root.solve(X);
    const Eigen::LLT<Eigen::MatrixXd> fit = llt(inner);
    const Eigen::MatrixXd inner_lower = fit.matrixL();
    const Eigen::VectorXd line = X * fit.solve(X.transpose() * root.solve(y));
    const Eigen::VectorXd left = y - line, weighed = root.solve(left);
    means.push_back(line + tau * tau * weighed);
    logs.push_back(-lower.diagonal().array().log().sum() -
                   inner_lower.diagonal().array().log().sum() - 0.5 * left.dot(weighed));
  }
  if (means.empty()) return y;
  const double top = *std::max_element(logs.begin(), logs.end());
  Eigen::VectorXd out = Eigen::VectorXd::Zero(y.size());
  double all = 0.0;
  for (std::size_t k = 0; k < means.size(); ++k) {
    const double weight = std::exp(logs[k] - top);
    out += weight * means[k];
    all += weight;
  }
  return out / all;
}

Eigen::VectorXd moves_within(const Eigen::VectorXd& wanted, const Eigen::VectorXd& most) {
  // The sum of clip(wanted - shift) decreases in the shift.
  double low = (wanted - most).minCoeff(), high = (wanted + most).maxCoeff();
  const auto moves = [&](double shift) {
    return Eigen::VectorXd((wanted.array() - shift).max(-most.array()).min(most.array()));
  };
  for (int k = 0; k < 200 && high > low; ++k) {
    const double middle = 0.5 * (low + high);
    (moves(middle).sum() > 0.0 ? low : high) = middle;
    if (middle == low && middle == high) break;
  }
  return moves(0.5 * (low + high));
}

Eigen::VectorXd limited_translation(const Eigen::VectorXd& y, const Eigen::MatrixXd& covariance) {
  using namespace translation_constants;
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(y.size());
  if (y.size() < least_periods || !y.allFinite() || !covariance.allFinite()) return none;
  const translation_model model(covariance);
  if (!(model.scale > 0.0)) return none;
  // A period with less noise than the others is limited by its own noise.
  const Eigen::VectorXd own = covariance.diagonal().cwiseMax(0.0).cwiseSqrt();
  return moves_within(model.centre(y, covariance) - y, most * model.deviation.cwiseMin(own));
}

}  // namespace dpsc
