// Bodies of moments_model.hpp.
#pragma once

#include "moments_model.hpp"

#include "../linalg.hpp"

namespace dpsc {

double spectral_edge(double sd, Eigen::Index d) {
  return 2.0 * sd * std::sqrt(static_cast<double>(d) / 2.0);
}

Eigen::VectorXd shrink_spectrum(const Eigen::VectorXd& values, double edge) {
  return values.unaryExpr(
      [edge](double l) { return l > edge ? std::sqrt(std::max(l * l - edge * edge, 0.0)) : 0.0; });
}

Eigen::MatrixXd positive_part(const Eigen::MatrixXd& m) {
  if (m.size() == 0) return m;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(m);
  return spectrum.eigenvectors() * spectrum.eigenvalues().cwiseMax(0.0).asDiagonal() *
         spectrum.eigenvectors().transpose();
}

moments_model::moments_model(const gram_statistics& s)
    : edge(spectral_edge(s.moment_sd, s.mean.size())),
      mean(s.mean),
      whitened(s.covariance),
      restore_A(s.restore.topRows(s.pre).transpose()),
      restore_B(s.restore.bottomRows(s.T1()).transpose()),
      mean_sd(s.mean_sd),
      moment_sd(s.moment_sd) {
  const Eigen::Index d = mean.size();
  if (edge > 0.0) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(s.covariance);
    const Eigen::VectorXd& values = spectrum.eigenvalues();
    const Eigen::MatrixXd root = s.restore * spectrum.eigenvectors() *
                                 shrink_spectrum(values, edge).cwiseSqrt().asDiagonal();
    covariance = root * root.transpose();
    // Eigenvalues increase: the ones below the edge come first.
    const Eigen::Index lost = (values.array() <= edge).count();
    noise_directions = spectrum.eigenvectors().leftCols(lost);
  } else {
    covariance = s.restore * s.covariance * s.restore.transpose();
    noise_directions.resize(d, 0);
  }
}

moments_model::moments_model(const gram_statistics& s, const std::vector<Eigen::Index>& from,
                             const std::vector<Eigen::Index>& to)
    : moments_model(s) {
  const moments_model all = *this;
  std::vector<Eigen::Index> keep = from;
  keep.insert(keep.end(), to.begin(), to.end());
  for (Eigen::Index at : keep)
    if (at < 0 || at >= all.mean.size()) throw std::out_of_range("there is no such feature");
  const auto size = static_cast<Eigen::Index>(keep.size());
  mean.resize(size);
  covariance.resize(size, size);
  Eigen::MatrixXd restore(s.restore.cols(), size);
  for (Eigen::Index i = 0; i < size; ++i) {
    const Eigen::Index at = keep[static_cast<std::size_t>(i)];
    mean[i] = all.mean[at];
    restore.col(i) = s.restore.row(at).transpose();
    for (Eigen::Index j = 0; j < size; ++j)
      covariance(i, j) = all.covariance(at, keep[static_cast<std::size_t>(j)]);
  }
  restore_A = restore.leftCols(static_cast<Eigen::Index>(from.size()));
  restore_B = restore.rightCols(static_cast<Eigen::Index>(to.size()));
}

}  // namespace dpsc
