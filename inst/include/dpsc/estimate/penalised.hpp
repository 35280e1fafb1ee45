// Ridge and lasso from mean, covariance and cross moments of columns: post-processing of a release.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "pooled.hpp"

namespace dpsc {

/// Moments of raw columns and response, and the noise of the cross moments. RELEASED.
struct column_moments {
  Eigen::VectorXd mean;        // p
  Eigen::MatrixXd covariance;  // positive definite
  Eigen::VectorXd cross;       // with the response
  double response_mean = 0.0, response = 0.0;
  Eigen::MatrixXd doubt;  // covariance of the error of `cross - covariance beta`
};

/// From the pooled rounds, unshrunk except where noise makes it indefinite.
column_moments pooled_columns(const lm_pool& pool, const lm_units& units, double rows);

/// Slopes for each penalty, by coordinate descent on columns of variance one:
/// b'Sb/2 - b'm + lambda (alpha |b|_1 + (1 - alpha)/2 |b|^2). One row per penalty.
Eigen::MatrixXd penalised_path(const Eigen::MatrixXd& covariance, const Eigen::VectorXd& cross,
                               double alpha, const std::vector<double>& penalties);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "penalised.cpp"
#endif
