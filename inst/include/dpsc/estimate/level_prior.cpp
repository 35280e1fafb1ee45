// Bodies of level_prior.hpp.
#pragma once

#include "level_prior.hpp"

namespace dpsc {

bool has_level_feature(const gram_statistics& s) {
  if (!s.demean || s.pre < 2) return false;
  const auto level = s.loadings.col(0).head(s.periods_before());
  return level[0] > 0.0 && (level.array() == level[0]).all();
}

Eigen::MatrixXd autoregression(double phi, Eigen::Index periods) {
  Eigen::MatrixXd out(periods, periods);
  for (Eigen::Index i = 0; i < periods; ++i)
    for (Eigen::Index j = 0; j < periods; ++j)
      out(i, j) = std::pow(phi, static_cast<double>(std::abs(i - j)));
  return out;
}

level_prior make_level_prior(const gram_statistics& s) {
  const Eigen::Index d = s.mean.size(), T1 = s.T1(), p = s.pre;
  const Eigen::MatrixXd covariance = s.restore * s.covariance * s.restore.transpose();
  const Eigen::MatrixXd spread = s.restore * s.restore.transpose();
  level_prior out;
  const double noise = s.moment_sd * spread(0, 0);
  const double variance = std::max({covariance(0, 0), 0.5 * noise, 1e-12});

  // Least squares with entries weighted by their noise; correlations weighted by their likelihood.
  const Eigen::MatrixXd X = covariance.bottomRightCorner(d - 1, d - 1);
  const Eigen::VectorXd size = spread.diagonal().tail(d - 1);
  const Eigen::ArrayXXd weight = ((size * size.transpose()).array() +
                                  spread.bottomRightCorner(d - 1, d - 1).array().square() + 1e-300)
                                     .inverse();
  const double half = std::max(s.moment_sd * s.moment_sd / 2.0, 1e-300);
  std::vector<double> misfit, change;
  for (double phi : {0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98}) {
    const Eigen::MatrixXd all =
        s.loadings.transpose() * autoregression(phi, s.loadings.rows()) * s.loadings;
    const Eigen::ArrayXXd M = all.bottomRightCorner(d - 1, d - 1).array();
    const double scale = std::max(
        0.0, (weight * M * X.array()).sum() / std::max((weight * M.square()).sum(), 1e-300));
    misfit.push_back((weight * (X.array() - scale * M).square()).sum() / half);
    change.push_back(scale * all.row(0).segment(p, T1).mean());
  }
  const double least = *std::min_element(misfit.begin(), misfit.end());
  double sum = 0.0, total = 0.0;
  for (std::size_t k = 0; k < misfit.size(); ++k) {
    const double likely = std::exp((least - misfit[k]) / 4.0);
    sum += likely * change[k];
    total += likely;
  }
  // At most the level itself can regress to the mean. The part of the variance of levels that may
  // be noise counts as evidence against a regression, and a variance below the noise is no evidence
  // for one.
  const double most = s.weight / s.loadings.col(0).sum();
  const double full = std::min(0.0, std::max(-most, sum / total / (variance + noise)));
  out.change = full * std::max(0.0, 1.0 - noise / variance);
  out.doubt = 0.5 * std::fabs(full);
  return out;
}

}  // namespace dpsc
