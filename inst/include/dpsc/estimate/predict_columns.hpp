// Some columns of a person's row predicted from others, by ridge regression on released moments at
// one penalty: a counterfactual averages over such predictions, and inference over time refits
// them.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "moments_model.hpp"

namespace dpsc {

/// At one penalty per donor.
struct column_prediction {
  double log_det;          // half the log-determinant of the penalised moments
  Eigen::MatrixXd solve;   // p x p: inverse of the penalised moments
  Eigen::MatrixXd slopes;  // p x T1
};

/// @param shape p x p: the matrix that the penalty multiplies.
column_prediction predict_columns(const moments_model& model, double penalty,
                                  const Eigen::MatrixXd& shape);

/// Whitened directions of the residual of a regression with these slopes.
Eigen::MatrixXd residual_directions(const moments_model& model, const Eigen::MatrixXd& slopes);

/// Prediction error of a unit drawn like the donors: the residual moments, without negative parts
/// due to noise.
Eigen::MatrixXd residual_covariance(const moments_model& model, const Eigen::MatrixXd& g);

/// Variance of g' N h + g' e, N the noise of the moments (without its part in the directions that
/// shrinkage removes) and e the noise of the mean.
Eigen::MatrixXd privacy_covariance(const moments_model& model, const Eigen::MatrixXd& g,
                                   const Eigen::VectorXd& h);

struct weighted_penalty {
  double penalty;
  double log_prior;
};

/// Penalties around the noise's edge, with a prior that is centred at 0.4 of the edge and one
/// octave wide.
std::vector<weighted_penalty> evidence_penalties(double edge);

/// Without noise: candidate penalties, and the one with the least generalised cross-validation
/// over n donors (Golub, Heath and Wahba, 1979) for the regression of the columns after the first p
/// on these.
struct validated_penalties {
  std::vector<double> penalty;
  std::size_t best = 0;
};

validated_penalties validate_penalties(const Eigen::MatrixXd& covariance, Eigen::Index p, double n);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "predict_columns.cpp"
#endif
