// Bodies of mcnnm.hpp.
#pragma once

#include "mcnnm.hpp"

namespace dpsc {

target_completion::target_completion(const matrix_completion::matrix_ref& donors,
                                     const Eigen::Ref<const Eigen::VectorXd>& target,
                                     const std::vector<Eigen::Index>& periods,
                                     const panel_covariates& given, runtime host) {
  const Eigen::Index n = donors.rows(), T = donors.cols();
  if (target.size() != T || given.units.rows() != n + 1 || given.varying.rows() != n + 1)
    throw std::invalid_argument("donors, target and covariates do not fit together");
  Eigen::MatrixXd all(n + 1, T);
  all.topRows(n) = donors;
  all.row(n) = target.transpose();
  std::vector<Eigen::Index> cells;
  for (const Eigen::Index t : periods) cells.push_back(t * (n + 1) + n);
  const effects_projection effects(told_by_donors(given.units));
  Eigen::MatrixXd columns = varying_residuals(effects, given, T, periods);
  own_.resize(T, columns.cols());
  for (Eigen::Index k = 0; k < columns.cols(); ++k) {
    Eigen::MatrixXd x = given.one(k, T);
    effects.fill(x, periods);
    for (Eigen::Index t = 0; t < T; ++t) own_(t, k) = columns(t * (n + 1) + n, k);
    for (const Eigen::Index t : periods) own_(t, k) = given.one(k, T)(n, t) - x(n, t);
  }
  // Orthonormal, so that slopes on them determine slopes on the columns in any units.
  if (columns.cols() > 0) {
    scale_ = columns.colwise().norm();
    scale_ = (scale_.array() > 0.0).select(scale_.cwiseInverse(), 1.0);
    columns *= scale_.asDiagonal();
    turn_.setThreshold(1e-10);
    turn_.compute(columns);
    rank_ = turn_.rank();
    columns = turn_.householderQ() * Eigen::MatrixXd::Identity(columns.rows(), rank_).eval();
  }
  problem_ = std::make_unique<matrix_completion>(all, std::move(cells), effects.basis(), columns);
  problem_->host = std::move(host);
}

Eigen::VectorXd target_completion::slopes(const completion_fit& fit) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(own_.cols());
  if (rank_ == 0) return out;
  const Eigen::MatrixXd root =
      turn_.matrixR().topLeftCorner(rank_, rank_).template triangularView<Eigen::Upper>();
  out.head(rank_) = root.triangularView<Eigen::Upper>().solve(fit.slopes);
  return scale_.asDiagonal() * (turn_.colsPermutation() * out);
}

Eigen::VectorXd target_completion::path(const completion_fit& fit) const {
  return fit.fitted.bottomRows(1).transpose() + own_ * slopes(fit);
}

std::vector<Eigen::Index> held_out(Eigen::Index T0, Eigen::Index T, Eigen::Index folds,
                                   Eigen::Index fold) {
  std::vector<Eigen::Index> out;
  for (Eigen::Index t = fold; folds > 0 && t < T0; t += folds) out.push_back(t);
  for (Eigen::Index t = T0; t < T; ++t) out.push_back(t);
  return out;
}

double completion_theta(double lambda, Eigen::Index rows, Eigen::Index T, Eigen::Index T0) {
  return 0.5 * lambda * static_cast<double>((rows - 1) * T + T0);
}

mcnnm_fit fit_mcnnm(const matrix_completion::matrix_ref& donors,
                    const Eigen::Ref<const Eigen::VectorXd>& target, Eigen::Index T0, double lambda,
                    const panel_covariates& given, runtime host) {
  const Eigen::Index n = donors.rows(), T = donors.cols();
  target_completion whole(donors, target, held_out(T0, T), given, std::move(host));
  const completion_fit fit = whole.problem().fit(completion_theta(lambda, n + 1, T, T0), {});
  mcnnm_fit out;
  out.counterfactual = whole.path(fit);
  out.slopes = whole.slopes(fit);
  out.objective = fit.objective;
  out.kkt = fit.kkt;
  out.rank = fit.values.size();
  out.weights = fit.smooth.row(n).head(n).transpose() / (1.0 - fit.smooth(n, n));
  if (T > T0) {
    const Eigen::MatrixXd said = given.explained(out.slopes, T).rightCols(T - T0);
    const Eigen::MatrixXd rest = donors.rightCols(T - T0) - said.topRows(n);
    out.intercept =
        (out.counterfactual.tail(T - T0) - said.row(n).transpose() - rest.transpose() * out.weights)
            .mean();
  }
  return out;
}

mcnnm_errors cross_validate_mcnnm(const matrix_completion::matrix_ref& donors,
                                  const Eigen::Ref<const Eigen::VectorXd>& target, Eigen::Index T0,
                                  int penalties, double smallest, const panel_covariates& given,
                                  runtime host) {
  const Eigen::Index n = donors.rows(), T = donors.cols();
  if (T0 < 2 || penalties < 2 || !(smallest > 0.0 && smallest < 1.0))
    throw std::invalid_argument("cross-validation needs two periods and a path of penalties");
  const completion_settings rough{1e-4, 300};
  target_completion whole(donors, target, held_out(T0, T), given, host);
  const double largest = whole.problem().largest_theta({}) / completion_theta(1.0, n + 1, T, T0);
  mcnnm_errors out;
  out.lambda.resize(penalties);
  for (int j = 0; j < penalties; ++j)
    out.lambda[j] = largest * std::pow(smallest, static_cast<double>(j) / (penalties - 1));
  out.error.setZero(penalties);
  if (!(largest > 0.0)) return out;
  const Eigen::Index folds = std::min<Eigen::Index>(T0, 20);
  for (Eigen::Index fold = 0; fold < folds; ++fold) {
    target_completion part(donors, target, held_out(T0, T, folds, fold), given, host);
    for (int j = 0; j < penalties; ++j) {
      const double theta = completion_theta(out.lambda[j], n + 1, T, T0);
      const Eigen::VectorXd fitted = part.path(part.problem().fit(theta, rough));
      for (Eigen::Index t = fold; t < T0; t += folds)
        out.error[j] += std::pow(target[t] - fitted[t], 2) / static_cast<double>(T0);
    }
  }
  return out;
}

}  // namespace dpsc
