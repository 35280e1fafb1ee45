// Model of people from the released mean and second moments, independent of a target.
#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace dpsc {

/// Mean and whitened covariance of people's features, scaled units, with the noise's standard
/// deviations. The first `pre` features are of the pre-period, the others one per period. RELEASED.
struct gram_statistics {
  Eigen::MatrixXd loadings;     // T x d: features of a scaled row
  Eigen::Index pre = 0;         // p
  Eigen::Index covariates = 0;  // rows of loadings after the rows of the pre-period
  double weight = 1.0;          // of a post-period's value among the features
  bool demean = false;          // features are relative to a row's own pre-period mean
  Eigen::VectorXd mean;         // d
  Eigen::MatrixXd restore;      // d x d: whitened features to features
  Eigen::MatrixXd covariance;   // d x d, whitened
  double mean_sd = 0.0;         // of the noise, whitened units
  double moment_sd = 0.0;       // on the diagonal; entries off it have half the variance

  /// Known part of a row before the treatment: periods and covariates.
  Eigen::Index T0() const { return loadings.rows() - T1(); }
  Eigen::Index periods_before() const { return T0() - covariates; }
  Eigen::Index T1() const { return mean.size() - pre; }
};

/// Edge of the spectrum of the noise, a d x d symmetric matrix whose diagonal entries have standard
/// deviation `sd` and whose other entries have half the variance (semicircle law: 2 b, b = sd
/// sqrt(d / 2)).
double spectral_edge(double sd, Eigen::Index d);

/// An eigenvalue below the noise's edge is uninformative.
Eigen::VectorXd shrink_spectrum(const Eigen::VectorXd& values, double edge);

/// The nearest positive semidefinite matrix.
Eigen::MatrixXd positive_part(const Eigen::MatrixXd& m);

/// Denoised moments, split into pre-period (A) and post-period (B).
struct moments_model {
  explicit moments_model(const gram_statistics& s);

  /// For some features only: the features `to` are predicted from the features `from`.
  moments_model(const gram_statistics& s, const std::vector<Eigen::Index>& from,
                const std::vector<Eigen::Index>& to);

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

#ifdef DPSC_ONE_UNIT
#include "moments_model.cpp"
#endif
