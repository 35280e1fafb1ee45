// Bodies of gram_features.hpp.
#pragma once

#include "gram_features.hpp"

namespace dpsc {

Eigen::MatrixXd public_basis(const Eigen::VectorXd& y, Eigen::Index p, bool level) {
  const Eigen::Index T0 = y.size();
  std::vector<Eigen::VectorXd> candidates;
  if (level) candidates.push_back(Eigen::VectorXd::Ones(T0));
  const Eigen::VectorXd own = y.array() - y.mean();
  if (own.squaredNorm() > 1e-16 * static_cast<double>(T0)) candidates.push_back(own);
  constexpr double pi = 3.14159265358979323846;
  for (Eigen::Index k = 1; k <= p; ++k) {
    Eigen::VectorXd wave(T0);
    for (Eigen::Index t = 0; t < T0; ++t)
      wave[t] = std::cos(pi * (static_cast<double>(t) + 0.5) * static_cast<double>(k) /
                         static_cast<double>(T0));
    candidates.push_back(wave);
  }
  const Eigen::Index wanted = p + (level ? 1 : 0);
  Eigen::MatrixXd basis(T0, 0);
  for (const Eigen::VectorXd& candidate : candidates) {
    if (basis.cols() == wanted) break;
    Eigen::VectorXd rest = candidate;
    // Twice, since one pass leaves rounding errors that are not orthogonal.
    for (int i = 0; i < 2; ++i) rest -= basis * (basis.transpose() * rest);
    if (!(rest.norm() > 1e-7 * candidate.norm())) continue;
    basis.conservativeResize(T0, basis.cols() + 1);
    basis.col(basis.cols() - 1) = rest.normalized();
  }
  return basis / std::sqrt(static_cast<double>(T0));
}

double deviation(const Eigen::VectorXd& y) {
  return std::sqrt((y.array() - y.mean()).square().mean());
}

gram_features every_period(const Eigen::VectorXd& y, Eigen::Index T1) {
  const Eigen::Index T0 = y.size(), periods = T0 + T1;
  gram_features out;
  out.pre = T0;
  out.weight = 1.0 / std::sqrt(static_cast<double>(T0));
  out.loadings = Eigen::MatrixXd::Identity(periods, periods) * out.weight;
  out.origin.resize(periods);
  out.origin << out.weight * y, Eigen::VectorXd::Constant(T1, out.weight * y.mean());
  out.high = 2.0 * std::sqrt(static_cast<double>(periods) / static_cast<double>(T0));
  out.low = out.high / 4.0 * deviation(y);
  return out;
}

gram_features choose_features(const panel_facts& facts, double signal) {
  using namespace gram_constants;
  const Eigen::Index T0 = facts.T0, T1 = facts.T1;
  // Clipped to the donors' range: a target beyond the bounds cannot be their centre.
  const Eigen::VectorXd y = facts.y.cwiseMin(1.0).cwiseMax(-1.0);
  const double asked = std::isnan(facts.features)
                           ? std::floor(gram_constants::features * std::cbrt(signal)) - 1.0
                           : facts.features;
  gram_features out;
  if (std::isinf(asked)) {
    out = every_period(y, T1);
  } else {
    const bool level = !facts.level && asked >= full * static_cast<double>(T0);
    // The level replaces the fastest cosine.
    const bool beside = facts.level;
    const double shapes = asked - (beside ? 1.0 : 0.0);
    const double p = std::max(1.0, std::min(static_cast<double>(T0 - 1), shapes));
    Eigen::MatrixXd basis = public_basis(y, static_cast<Eigen::Index>(p), level);
    if (beside) {
      Eigen::MatrixXd both(T0, basis.cols() + 1);
      both << Eigen::VectorXd::Constant(T0, gram_constants::level / static_cast<double>(T0)), basis;
      basis = both;
    }
    out.pre = basis.cols();
    out.weight = gram_constants::weight;
    out.demean = !level;
    out.loadings = Eigen::MatrixXd::Zero(T0 + T1, out.pre + T1);
    out.loadings.topLeftCorner(T0, out.pre) = basis;
    if (out.demean)
      out.loadings.topRightCorner(T0, T1).setConstant(-out.weight / static_cast<double>(T0));
    out.loadings.bottomRightCorner(T1, T1).diagonal().setConstant(out.weight);
    Eigen::VectorXd flat(T0 + T1);
    flat << y, Eigen::VectorXd::Constant(T1, y.mean());
    out.origin = out.loadings.transpose() * flat;
    const double size = std::sqrt(1.0 + out.weight * out.weight * static_cast<double>(T1));
    out.high = 2.0 * size;
    out.low = 0.5 * size * deviation(y);
  }
  out.low = std::min(std::max(out.low, out.high / 1024.0), out.high / 2.0);
  return out;
}

}  // namespace dpsc
