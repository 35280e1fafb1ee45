// What released mean and second moments say about people, before any target is looked at.
#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace dpsc {

/// Mean and whitened covariance of people's features, scaled units, with the noise's deviations.
/// The first `pre` features are of the pre-period, the others one a period. RELEASED.
struct gram_statistics {
  Eigen::MatrixXd loadings;     // T x d: features of a scaled row
  Eigen::Index pre = 0;         // p
  Eigen::Index covariates = 0;  // rows of loadings after those of the pre-period
  double weight = 1.0;          // of a post-period's value among the features
  bool demean = false;          // features are relative to a row's own pre-period mean
  Eigen::VectorXd mean;         // d
  Eigen::MatrixXd restore;      // d x d: whitened features to features
  Eigen::MatrixXd covariance;   // d x d, whitened
  double mean_sd = 0.0;         // of the noise, whitened units
  double moment_sd = 0.0;       // on the diagonal; entries off it have half the variance

  /// What is known of a row before the treatment: periods and covariates.
  Eigen::Index T0() const { return loadings.rows() - T1(); }
  Eigen::Index periods_before() const { return T0() - covariates; }
  Eigen::Index T1() const { return mean.size() - pre; }
};

/// Edge of the spectrum of the noise: a d x d symmetric matrix whose diagonal has this deviation
/// and whose other entries have half the variance (semicircle law: 2 b, b = sd sqrt(d / 2)).
inline double spectral_edge(double sd, Eigen::Index d) {
  return 2.0 * sd * std::sqrt(static_cast<double>(d) / 2.0);
}

/// Within the noise's edge an eigenvalue carries nothing.
inline Eigen::VectorXd shrink_spectrum(const Eigen::VectorXd& values, double edge) {
  return values.unaryExpr(
      [edge](double l) { return l > edge ? std::sqrt(std::max(l * l - edge * edge, 0.0)) : 0.0; });
}

/// The nearest positive semidefinite matrix.
inline Eigen::MatrixXd positive_part(const Eigen::MatrixXd& m) {
  if (m.size() == 0) return m;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(m);
  return spectrum.eigenvectors() * spectrum.eigenvalues().cwiseMax(0.0).asDiagonal() *
         spectrum.eigenvectors().transpose();
}

/// Denoised moments, split into pre-period (A) and post-period (B).
struct moments_model {
  explicit moments_model(const gram_statistics& s)
      : edge(spectral_edge(s.moment_sd, s.mean.size())),
        mean(s.mean),
        whitened(s.covariance),
        restore_A(s.restore.topRows(s.pre).transpose()),
        restore_B(s.restore.bottomRows(s.T1()).transpose()),
        mean_sd(s.mean_sd),
        moment_sd(s.moment_sd) {
    const Eigen::Index d = mean.size();
    if (edge > 0.0) {
      const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(s.covariance);
      const Eigen::VectorXd& values = spectrum.eigenvalues();
      const Eigen::MatrixXd root = s.restore * spectrum.eigenvectors() *
                                   shrink_spectrum(values, edge).cwiseSqrt().asDiagonal();
      covariance = root * root.transpose();
      // Eigenvalues increase: those within the edge come first.
      const Eigen::Index lost = (values.array() <= edge).count();
      noise_directions = spectrum.eigenvectors().leftCols(lost);
    } else {
      covariance = s.restore * s.covariance * s.restore.transpose();
      noise_directions.resize(d, 0);
    }
  }

  /// Of some features only: those at `to` are predicted from those at `from`.
  moments_model(const gram_statistics& s, const std::vector<Eigen::Index>& from,
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

  Eigen::Index pre() const { return restore_A.cols(); }
  Eigen::Index post() const { return restore_B.cols(); }

  double edge;
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;            // of features, denoised
  Eigen::MatrixXd whitened;              // as released
  Eigen::MatrixXd restore_A, restore_B;  // whitened x features
  Eigen::MatrixXd noise_directions;      // whitened directions below the edge
  double mean_sd, moment_sd;
};

}  // namespace dpsc
