// One round of a private regression: a radius for whitened regressors w, a clip for the residual r
// of the last fit, then the Gram matrix of (s w, clip(s r), s) under one noise, s = min(1, R/|w|).
// Proofs: inst/proofs/regression.md, sections 3 and 4.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../noise/symmetric.hpp"
#include "moments.hpp"
#include "regression_rows.hpp"

namespace dpsc {

/// The finest grid whose noise the exact sampler can draw, and whose sums are exact.
void plan_outer(lm_round_plan& out, const std::string& label, double n, Eigen::Index p,
                double weight, const total_budget& budget, double share);

/// Released values of a round, in its own frame: per unit of weight. RELEASED.
struct lm_round {
  lm_frame frame;
  double radius = 0.0, clip = 0.0;
  double weight = 0.0;         // mean of s^2 over all n (case weights are in s)
  Eigen::VectorXd mean;        // of w
  double residual = 0.0;       // mean of r
  Eigen::MatrixXd covariance;  // of w
  Eigen::VectorXd cross;       // of w with r
  double variance = 0.0;       // of r
  // Standard deviations of the noise: of entries of w by w off the diagonal (on it, larger by sqrt
  // 2), of w by r, of r by r, and of the means of w and of r.
  double sd_covariance = 0.0, sd_cross = 0.0, sd_variance = 0.0, sd_mean = 0.0, sd_residual = 0.0;
};

/// Lower limit of a weight, so that noise cannot move it to zero.
constexpr double least_weight = 0.1;

namespace rounds_detail {

/// A weight dominated by noise is replaced by its value when nearly all rows count in full.
double likely_weight(double noisy, double sd);

/// Standard deviations of the noise in the moments of a round, once its weight is known.
void read_deviations(lm_round& out, const lm_round_plan& plan, double n, double zoom_w,
                     double zoom_r);

/// Sums with noise, turned into moments per unit of weight.
void read_moments(lm_round& out, const Eigen::MatrixXd& noisy, const lm_round_plan& plan, double n,
                  double zoom_w, double zoom_r);

}  // namespace rounds_detail

/// A limit as an integer number of steps of the features, at least one.
double limit_steps(double limit, double unit);

/// `radius` and `clip` are public, or from earlier released values; so is `far`, beyond which
/// residuals are counted (0: they are not counted).
lm_round release_round(const row_source& source, const lm_design& design,
                       const lm_location& location, const lm_frame& frame,
                       const lm_round_plan& plan, double n, double radius, double clip, double far,
                       lm_kept& kept, noise& draws, const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "regression_rounds.cpp"
#endif
