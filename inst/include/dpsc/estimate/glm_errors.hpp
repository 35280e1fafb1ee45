// Coefficients and their errors from the released minimiser and information matrix.
// Post-processing: nothing here reads people's rows. Notes: inst/proofs/glm.md, section 6.
#pragma once

#include <Eigen/Core>

#include "../mechanism/glm_family.hpp"
#include "../rows/glm_rows.hpp"

namespace dpsc {

/// Released moments of columns with two values, in standardised units. RELEASED.
struct rare_columns {
  Eigen::VectorXd centre;
  Eigen::MatrixXd back;  // from whitened coordinates to columns
  Eigen::VectorXd share, rare, common;

  bool any() const { return share.size() > 0 && share.maxCoeff() > 0.0; }
};

/// Components of errors, in whitened coordinates. RELEASED.
struct glm_facts_released {
  glm_family family;
  double n = 0.0, ridge = 0.0, kappa = 0.0;
  double out_sd = 0.0;          // of the noise that covers the solver's error
  Eigen::VectorXd theta;        // intercept first
  Eigen::MatrixXd information;  // noisy; empty: not released
  double information_sd = 0.0;  // of its diagonal; off it, smaller by sqrt 2
  Eigen::MatrixXd penalty;      // of the requested ridge; empty: none
  row_weighting weighting;
  rare_columns rare;
  Eigen::MatrixXd scores;  // noisy second moments of scores, or their trace; empty: not released
  double scores_sd = 0.0;  // like information_sd
  double weight = 1.0;     // mean case weight over the largest, or a lower bound
};

/// Theta, corrected for shrinkage to first order, and the parts of its covariance. RELEASED.
struct glm_covariance {
  Eigen::VectorXd theta;
  Eigen::MatrixXd privacy;   // of the noise and of possible remaining bias from the ridge
  Eigen::MatrixXd sampling;  // of the fit without noise
  Eigen::MatrixXd inverse;   // (information + ridge)^-1, with a conservative information
};

/// The number of standard deviations of the information's noise that a direction must exceed: one
/// in two hundred columns that are zero for everybody passes.
constexpr double information_doubt = 2.5;

/// Factor for the higher-order part of privacy variances (measured: bench/glm.R).
constexpr double glm_inflation = 1.2;

/// A coefficient is weak if its curvature is below this share of the mean.
constexpr double weak_curvature = 0.5;

constexpr int information_redraws = 40;

namespace glm_detail {

/// An orthonormal basis, in whitened coordinates, whose first `count` vectors are the coefficients
/// with little curvature: of columns that are rare, or that the moments' noise hid.
struct weak_basis {
  Eigen::MatrixXd Q;
  Eigen::Index count = 0;
};

/// The true information matrix hardly mixes a weak coefficient with the rest of the model, but its
/// noise does, and the weak coefficient's large error multiplies this mixing. So mixed entries are
/// kept only to the extent that they exceed the noise, and each block is shrunk separately.
Eigen::MatrixXd parted_information(const Eigen::MatrixXd& noisy, double sd, double least,
                                   const weak_basis& weak);

}  // namespace glm_detail

glm_covariance glm_errors(const glm_facts_released& f);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "glm_errors.cpp"
#endif
