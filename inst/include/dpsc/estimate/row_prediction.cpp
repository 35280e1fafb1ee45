// Bodies of row_prediction.hpp.
#pragma once

#include "row_prediction.hpp"

#include <algorithm>
#include <cmath>

namespace dpsc {

row_features prediction_constants::features(const Eigen::VectorXd& pre) const {
  row_features out;
  out.mean = pre.head(before).mean();
  out.level = demean ? out.mean : 0.0;
  const Eigen::VectorXd x = basis.transpose() * pre;
  const double along = flat.dot(x);
  out.variation = std::max(0.0, x.squaredNorm() - along * along) / typical_variation;
  out.u = x - mean;
  return out;
}

Eigen::VectorXd prediction_constants::evidence_weights(const Eigen::VectorXd& u) const {
  Eigen::VectorXd evidence(static_cast<Eigen::Index>(fits.size()));
  const double power = (evidence_freedom + static_cast<double>(u.size())) / 2.0;
  for (std::size_t k = 0; k < fits.size(); ++k)
    evidence[static_cast<Eigen::Index>(k)] =
        fits[k].log_prior - fits[k].log_det -
        power * std::log1p(u.dot(fits[k].solve * u) / evidence_freedom);
  const Eigen::VectorXd out = (evidence.array() - evidence.maxCoeff()).exp();
  return out / out.sum();
}

double kept_of_path(const Eigen::VectorXd& about, double noise) {
  const double signal = std::min(
      std::max(0.0, about.squaredNorm() / static_cast<double>(about.size()) - noise), 0.25);
  return noise > 0.0 ? signal / (signal + noise) : 1.0;
}

double prediction_constants::flat_of(const row_features& own) const {
  const double back = level.change * own.u[0] / weight;
  return own.mean - own.level + (level.change != 0.0 ? back : 0.0);
}

void prediction_constants::finish(Eigen::VectorXd& post, const row_features& own,
                                  double noise) const {
  if (!is_private) {
    post.array() += own.level;
    return;
  }
  const double flat_path = flat_of(own);
  post.array() -= flat_path;
  post *= kept_of_path(post, noise);
  post.array() += flat_path + own.level;
  post = post.cwiseMin(half).cwiseMax(-half);
}

void predict_row(const prediction_constants& c, const Eigen::VectorXd& pre, row_estimate& out) {
  const Eigen::Index T1 = c.after.size(), forms = T1 + 1;
  const row_features own = c.features(pre);
  const Eigen::VectorXd weights = c.evidence_weights(own.u);
  Eigen::MatrixXd posts(T1, weights.size());
  Eigen::VectorXd along(T1 + 2 * forms);
  out.post = Eigen::VectorXd::Zero(T1);
  out.variance = Eigen::VectorXd::Zero(forms);
  for (Eigen::Index k = 0; k < weights.size(); ++k) {
    if (weights[k] < least_evidence) continue;
    const prediction_fit& fit = c.fits[static_cast<std::size_t>(k)];
    along.noalias() = fit.along * own.u;
    posts.col(k) = c.after + along.head(T1);
    out.post += weights[k] * posts.col(k);
    const double length = own.u.dot(fit.length * own.u), lost = own.u.dot(fit.lost * own.u);
    out.variance +=
        weights[k] * (fit.prediction_of + c.form_noise * (length * fit.g2 - lost * fit.lost2 +
                                                          along.segment(T1, forms).cwiseAbs2() -
                                                          along.tail(forms).cwiseAbs2()));
  }
  for (Eigen::Index k = 0; k < weights.size(); ++k) {
    if (weights[k] < least_evidence) continue;
    const Eigen::VectorXd apart = posts.col(k) - out.post;
    const double mean = apart.mean();
    out.variance[0] += weights[k] * mean * mean;
    out.variance.tail(T1) += weights[k] * apart.cwiseAbs2();
  }
  out.variance /= c.weight * c.weight;
  out.post /= c.weight;
  c.finish(out.post, own, c.mean_noise);
  if (c.is_private) {
    out.variance[0] = std::min(out.variance[0], 2.0 * c.half.mean() * c.half.mean());
    out.variance.tail(T1) = out.variance.tail(T1).cwiseMin(2.0 * c.half.cwiseAbs2());
  }
  out.variation = own.variation;
}

}  // namespace dpsc
