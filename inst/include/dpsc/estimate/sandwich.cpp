// Bodies of sandwich.hpp.
#pragma once

#include "sandwich.hpp"

#include "../linalg.hpp"

namespace dpsc {

shrunk_meat::shrunk_meat(const lm_scores& scores, const Eigen::MatrixXd& likely) {
  const Eigen::Index d = likely.rows();
  const Eigen::LLT<Eigen::MatrixXd> root = llt(likely);
  const auto inner = [&root](const Eigen::MatrixXd& m) {
    const Eigen::MatrixXd half = root.matrixL().solve(m);
    return Eigen::MatrixXd(root.matrixL().solve(half.transpose()));
  };
  Eigen::MatrixXd own = inner(scores.meat);
  own = ((own + own.transpose()) / 2.0).eval();
  const double D = static_cast<double>(d);
  const double level = std::max(own.trace() / D, 1e-300);
  // Noise of the entries, as if the root were close to a multiple of the identity.
  Eigen::VectorXd sd = Eigen::VectorXd::Constant(d, std::sqrt(scores.sd_slopes));
  sd[d - 1] = std::sqrt(scores.sd_constant);
  sd = sd.cwiseQuotient(likely.diagonal().cwiseSqrt());
  const double square = sd.squaredNorm();
  const double noise = square * square + sd.array().pow(4).sum() - 2.0 * square * square / D / D;
  const Eigen::MatrixXd off = own - level * Eigen::MatrixXd::Identity(d, d);
  const double spread = off.squaredNorm();
  kept = spread > 0.0 ? std::max(0.0, 1.0 - noise / spread) : 1.0;
  own = level * Eigen::MatrixXd::Identity(d, d) + kept * off;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(own);
  const double least = level * std::min(0.5, std::max(0.05, kept * std::sqrt(noise) / level / D));
  own = spectrum.eigenvectors() * spectrum.eigenvalues().cwiseMax(least).asDiagonal() *
        spectrum.eigenvectors().transpose();
  value = root.matrixL() * own * root.matrixU();
}

void apply_scores(const lm_pool& pool, const lm_units& units, const lm_scores& scores, double n,
                  lm_estimate& out) {
  const Eigen::Index p = pool.p();
  const lm_solution s = solve_pool(pool);
  // The last frame's covariance in the frame of the scores, where rows have mean 0.
  const Eigen::MatrixXd to =
      lu_solve_all(pool.last().frame.whiten, scores.frame.whiten).transpose();
  const Eigen::MatrixXd C = to * s.covariance * to.transpose();
  const double weight = std::max(pool.last().weight, least_weight);
  Eigen::MatrixXd likely = Eigen::MatrixXd::Zero(p + 1, p + 1);
  likely.topLeftCorner(p, p) = C;
  likely(p, p) = 1.0;
  const shrunk_meat meat(scores, likely);
  Eigen::MatrixXd bread = Eigen::MatrixXd::Zero(p + 1, p + 1);
  bread.topLeftCorner(p, p) = ldlt(C).solve(Eigen::MatrixXd::Identity(p, p));
  bread(p, p) = 1.0;
  // From (slopes of w, fit at the centre) to (intercept, slopes) in the formula's units.
  Eigen::MatrixXd back = Eigen::MatrixXd::Zero(p + 1, p + 1);
  back.bottomLeftCorner(p, p) = units.y_scale * units.map.transpose() * scores.frame.whiten;
  const Eigen::VectorXd mean = lu_solve(units.map, scores.frame.centre - units.shift);
  back.row(0).head(p) = -mean.transpose() * back.bottomLeftCorner(p, p);
  back(0, p) = units.y_scale;
  const Eigen::MatrixXd half = back * bread;
  // Slope of a clipped residual, and the columns' degrees of freedom.
  const double left = clip_slope(pool.last());
  const double df = std::max(1.0, out.rows - static_cast<double>(p) - 1.0);
  // The errors of least squares; the difference belongs to the part for privacy.
  const double least = clipped_efficiency(pool.last());
  const double factor = out.rows / df / (least * left * left * n * weight * weight);
  out.sampling = factor * half * meat.value * half.transpose();
  out.robust = true;
}

}  // namespace dpsc
