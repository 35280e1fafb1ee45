// Coefficients from noisy moments, and the share of them that is used for prediction.
// Post-processing.
#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "../linalg.hpp"

namespace dpsc {

/// The multiple of the coefficients that is used for prediction, so that the prediction is not
/// worse than zero: 0 if noise alone could explain the cross moments.
///
/// `values`: eigenvalues of the regressors' noisy moments; `cross`: cross moments along their
/// vectors; `noise`: the variance of one of these. Their evidence is the largest log-likelihood
/// ratio of slopes with a variance of their own to no slopes; moments within the noise's edge count
/// as zero, others as one edge larger, since noise mistaken for curvature is also mistaken for
/// slopes.
inline double trusted_share(const Eigen::ArrayXd& values, const Eigen::VectorXd& cross,
                            double noise) {
  constexpr double hurdle = 2.5;
  const double edge = 0.7 * std::sqrt(2.0 * noise * static_cast<double>(cross.size()));
  const Eigen::ArrayXd curvature = (values > edge).select(values + edge, 0.0);
  double evidence = 0.0;
  for (int k = -24; k <= 6; ++k) {
    const double slopes = std::exp2(static_cast<double>(k) / 2.0);
    const Eigen::ArrayXd ratio = 1.0 + curvature.square() * (slopes / noise);
    evidence = std::max(
        evidence, 0.5 * (cross.array().square() / noise * (1.0 - 1.0 / ratio) - ratio.log()).sum());
  }
  return evidence > hurdle ? 1.0 - std::pow(hurdle / evidence, 2.0) : 0.0;
}

/// Do sums of gradients stand out from noise with standard deviation `sd`? The same likelihood
/// ratio, for isotropic noise.
inline bool stands_out(const Eigen::VectorXd& sums, double sd) {
  constexpr double hurdle = 7.0;
  const auto p = static_cast<double>(sums.size());
  const double ratio = sums.squaredNorm() / (p * sd * sd);
  return !(sd > 0.0) || (ratio > 1.0 && 0.5 * p * (ratio - 1.0 - std::log(ratio)) > hurdle);
}

/// Ridge coefficients of a linear model, and their reliability.
struct gram_solution {
  Eigen::VectorXd theta;
  double share = 1.0;       // of the coefficients, for prediction
  Eigen::MatrixXd vectors;  // of the regressors' moments
  Eigen::ArrayXd values;    // with the penalty
};

/// `all`: noisy moments of (x, y), `sd` the noise of a diagonal entry. The penalty is `damping`
/// times the edge of the noise, at least `least`, and more if theta would leave the ball.
inline gram_solution solve_moments(const Eigen::MatrixXd& all, double sd, double least,
                                   double damping, double ball) {
  const Eigen::Index p = all.rows() - 1;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen = eigh(all.topLeftCorner(p, p));
  const Eigen::ArrayXd values = eigen.eigenvalues().array().max(0.0);
  const Eigen::VectorXd h = eigen.eigenvectors().transpose() * all.col(p).head(p);
  const double ridge = std::max(damping * sd * std::sqrt(static_cast<double>(p)), least);
  const auto solve = [&](double more) {
    return Eigen::VectorXd(h.array() / (values + ridge + more));
  };
  double more = 0.0;
  if (solve(0.0).norm() > ball) {  // the penalty that puts theta on the sphere
    double low = 0.0, high = ridge;
    while (solve(high).norm() > ball) high *= 2.0;
    for (int i = 0; i < 60; ++i) {
      more = (low + high) / 2.0;
      (solve(more).norm() > ball ? low : high) = more;
    }
    more = high;
  }
  gram_solution out;
  out.vectors = eigen.eigenvectors();
  out.theta = out.vectors * solve(more);
  out.values = values + ridge + more;
  // The noise of a slope's own moments is part of its cross moment.
  const double noise = sd * sd / 2.0 * (1.0 + out.theta.squaredNorm());
  out.share = noise > 0.0 ? trusted_share(values, h, noise) : 1.0;
  return out;
}

}  // namespace dpsc
