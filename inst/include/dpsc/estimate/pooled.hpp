// Coefficients, their errors and submodels from the noisy moments of all rounds together.
// Post-processing: nothing here reads people's rows. Notes: inst/proofs/regression.md, section 6.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../accountant/gaussian.hpp"
#include "../mechanism/regression_rounds.hpp"
#include "clipped.hpp"
#include "moments_model.hpp"
#include "tails.hpp"

namespace dpsc {

/// The part of a residual's shift that clipping may hide, as an assumed share of the shift's
/// length.
constexpr double clipping_doubt = 0.05;

/// Standard deviation of the difference between the sampling errors of the level under a narrow and
/// a wide clip: this constant over the narrow clip (in standard deviations of the residuals), in
/// standard errors of a mean.
constexpr double clipping_difference = 0.45;

/// The change of the level, in standard deviations, that shows that errors are skew.
constexpr double skew_from = 2.0;

/// The same for slopes: standard deviations of a chi-square above its mean.
constexpr double slopes_from = 3.0;

/// The remaining bias relative to the change: `left_narrow` of the level and of slopes under a
/// narrow clip; of slopes under a wide clip that does not move the level `left_wide` over its
/// square (in standard deviations) plus `left_heavy` times the part of the variance that the narrow
/// clip hid; at most `left_most` (measured: bench/lm-skew.R).
constexpr double left_narrow = 0.8, left_wide = 4.0, left_heavy = 1.5, left_most = 3.0;

/// Changes of slopes, in squares of their noise per direction: assumed in skew errors at least; and
/// from which slopes are corrected, since below this the correction's noise exceeds its use, by at
/// most a multiple of the change.
constexpr double least_real = 1.0, corrects_from = 8.0, corrects_most = 1.5;

/// Usual distances of robust fits from least squares in real data, in standard deviations of the
/// residuals, per whitened direction: per root of the weight that is lost by shortening, at a
/// radius of sqrt(p) at most, and by a clip of `usual_clip` deviations, of slopes and of the level;
/// the power of radius^2 and clip by which they fall (measured: bench/lm-real.R).
constexpr double usual_shortened = 0.09, usual_radius = 0.03, usual_slope = 0.012;
constexpr double usual_intercept = 0.045, usual_clip = 1.5, usual_power = 1.5;

/// Usual distances that intervals allow for where noise would hide the distance in any wide round:
/// two in three tasks have a smaller one. Noise hides it if a round with a radius of 2 sqrt(p) and
/// a clip of 2 deviations has `unseen_noise` sampling errors of noise.
constexpr double unseen_distances = 1.5, unseen_noise = 1.8;

/// The square of the number of usual distances. `slope_noise`: of a round, in sampling errors, per
/// unit of radius and relative clip.
inline double unseen_square(double slope_noise, double p) {
  return slope_noise * 4.0 * std::sqrt(p) > unseen_noise ? unseen_distances * unseen_distances
                                                         : 1.0;
}

/// Factor for the higher-order part of privacy variances (measured: bench/lm.R).
constexpr double privacy_inflation = 1.2;

/// The round with a wide clip, from 0, and the least ratio of its clip to the one before.
constexpr std::size_t tried_round = 2;
constexpr double least_step = 1.3;

/// All rounds in the frame of the last one. RELEASED.
struct lm_pool {
  explicit lm_pool(const std::vector<lm_round>& given);

  Eigen::Index p() const { return covariance.rows(); }
  const lm_round& last() const { return rounds.back(); }
  /// Half the edge of the covariance's noise.
  double floor() const { return std::max(sd * std::sqrt(static_cast<double>(p())), 1e-12); }
  /// Noise along one direction exceeds this in one of 160 releases (standard deviation: sqrt(2)
  /// sd).
  double told() const { return std::max(floor(), 2.5 * std::sqrt(2.0) * sd); }
  /// A round with a much wider clip than the last round has much noisier, or biased, residuals; if
  /// the last rounds are wide because errors are skew, the narrow ones are biased.
  bool left_out(std::size_t t) const {
    return rounds[t].clip > 2.0 * last().clip * 1.0001 || (stays_wide() && t < tried_round);
  }
  /// Is a later round as wide as the one that tries a wide clip?
  bool stays_wide() const {
    return tries() && rounds.size() > tried_round + 1 &&
           last().clip > least_step * rounds[tried_round - 1].clip;
  }
  /// See unseen_square().
  double unseen(double n) const {
    const double noise = last().sd_cross * std::sqrt(n) / (last().radius * last().clip);
    return unseen_square(noise, static_cast<double>(p()));
  }
  /// Is there a round with a much wider clip than the one before?
  bool tries() const {
    return rounds.size() > tried_round &&
           rounds[tried_round].clip > least_step * rounds[tried_round - 1].clip;
  }

  std::vector<lm_round> rounds;               // per unit of their mean weight
  Eigen::MatrixXd covariance;                 // of w, last frame, not shrunk
  double sd = 0.0;                            // of its noise, off the diagonal
  std::vector<Eigen::VectorXd> slope, cross;  // of each round, last frame
  std::vector<double> cross_variance;
  // The part of the difference between a round's covariance and the pooled covariance that noise
  // does not explain, since rounds with other radii weight rows differently; and the variance of
  // its noise.
  std::vector<Eigen::MatrixXd> own;
  std::vector<double> own_variance;
  std::vector<double> kept_slope;  // share of cross moments that a round's clip keeps

 private:
  /// Replaces each round's weight by a common one: a round's own weight is noisy and would multiply
  /// its estimate of the remaining slope.
  void share_weight();
};

/// Rounds weighted by the precision of their cross moments at a slope theta: sum_t w_t (c_t / k_t +
/// C_t b_t) = (sum_t w_t C_t) beta + noise, each round with its own C_t.
struct pooled_cross {
  std::vector<double> weights;
  Eigen::MatrixXd covariance;  // sum_t w_t C_t, not shrunk
  double variance;             // of an entry of `value`

  pooled_cross(const lm_pool& pool, const Eigen::VectorXd& theta);

  /// The left side, given the sum of the C_t in the form used for the solution.
  Eigen::VectorXd value(const Eigen::MatrixXd& C) const;

 private:
  const lm_pool& pool_;
  Eigen::MatrixXd own_;
};

/// The full model in the last frame. RELEASED.
struct lm_solution {
  Eigen::VectorXd theta;       // slopes
  Eigen::MatrixXd covariance;  // of w, shrunk
  Eigen::MatrixXd directions;  // its eigenvectors
  Eigen::VectorXd values;      // and eigenvalues
  Eigen::VectorXd privacy;     // variance of theta along them
  Eigen::VectorXd resolved;    // eigenvalues over the floor
  double residual = 0.0;       // variance
  double response = 0.0;       // largest plausible variance of the response
};

namespace pooled_detail {

void shrink_covariance(const lm_pool& pool, const Eigen::MatrixXd& C, lm_solution& out,
                       Eigen::VectorXd& raw);

/// Slopes along the eigenvectors: ridge, averaged over priors by their evidence.
Eigen::VectorXd evidence_mean(const Eigen::VectorXd& l, const Eigen::VectorXd& c, double v,
                              double scale2);

/// Variance of the residual at slopes theta (last frame), over the rounds that count.
double residual_variance(const lm_pool& pool, const Eigen::MatrixXd& C,
                         const Eigen::VectorXd& theta);

/// The slopes follow the noise v of the cross moments c, so the residuals' variance at the slopes
/// is too small by this much on average: sum_i v h_i (2 - h_i) / l_i along the eigenvectors, h_i
/// the share theta_i l_i / c_i that the prior keeps (1: no prior).
double followed_noise(const Eigen::ArrayXd& l, const Eigen::ArrayXd& c, const Eigen::ArrayXd& theta,
                      double v);

}  // namespace pooled_detail

lm_solution solve_pool(const lm_pool& pool);

/// The change of the level of the response at the regressors' mean from the narrow round to the
/// wide ones, and the standard deviation of its noise and of its sampling error.
struct lm_shift {
  double value = 0.0, sd = 0.0;
  Eigen::VectorXd slopes;        // their change, in the last frame
  double slopes_variance = 0.0;  // per direction, of its noise and sampling error

  /// Do they exceed noise?
  bool moves_level() const { return std::fabs(value) > skew_from * sd; }
  bool moves_slopes() const;
};

lm_shift shift_by_clip(const lm_pool& pool, const lm_solution& solution, double rows);

/// The largest magnification of a combination of standardised columns: nearly collinear columns
/// would otherwise use up the grid.
constexpr double longest_direction = 256.0;

/// The second whitening lengthens a direction by at most the inverse root of this, since a
/// direction with clipped rows appears short.
constexpr double longest_lengthening = 0.25;

/// The frame of the next round.
lm_frame next_frame(const lm_pool& pool, const lm_solution& solution);

/// From standardised units to the formula's: columns = shift + map' (raw columns), y = y_centre +
/// y_scale y_t. RELEASED.
struct lm_units {
  Eigen::MatrixXd map;    // p x p: standardised column k is shift_k + sum_c map(k, c) raw_c
  Eigen::VectorXd shift;  // p
  double y_centre, y_scale;
  double range = 1e6;  // of the response, standardised, by its bounds
};

/// Coefficients of a model in the formula's units; intercept first. RELEASED.
struct lm_estimate {
  Eigen::VectorXd coefficients;
  Eigen::MatrixXd privacy, sampling;  // covariances
  double residual = 0.0;              // variance
  double r_squared = 0.0;
  double rows = 0.0;  // number of rows for sampling errors
  bool robust = false;
  Eigen::VectorXd identified;  // of each slope: the least eigenvalue over noise that it uses
};

namespace pooled_detail {

/// Adds the intercept, whose error includes that of the fit at the columns' mean. `excess`: see
/// robust_excess().
void add_intercept(const lm_pool& pool, const lm_units& units, const lm_solution& solution,
                   const Eigen::VectorXd& beta, const Eigen::MatrixXd& privacy,
                   const Eigen::MatrixXd& sampling, double excess, double n, lm_estimate& out);

}  // namespace pooled_detail

/// The level's shift by wide clips, extrapolated to no clip. `b`: slopes of standardised columns.
lm_tail tail_of(const lm_pool& pool, const lm_units& units, const Eigen::VectorXd& b);

/// Are errors skew by the level, under wide clips?
bool extrapolates(const lm_pool& pool, const lm_shift& shift);

/// Where the budget does not permit a wide round, nothing shows how far shortened rows and clipped
/// residuals move the fit from least squares: a mean that is not linear and skewed errors move it
/// by this much in most data. Variance per direction of whitened columns, and of the level.
double usual_slopes(const lm_pool& pool, const lm_solution& solution);
/// The former for residuals of variance one; `reach`: the clip; `weight`: mean of s^2.
double usual_slopes(double radius, double reach, double p, double weight);
double usual_level(const lm_pool& pool, const lm_solution& solution);
double usual_level(double reach);

/// The square of the bias that narrow clips may leave in the level, standardised response.
double level_doubt(const lm_pool& pool, const lm_solution& solution, const lm_shift& shift,
                   double rows);

/// Bias of slopes in the last frame, if errors are skew and differ between rows: a multiple of
/// their change by a wider clip, as far as it, or the level's change, is credible.
struct slope_bias {
  Eigen::VectorXd value;  // subtracted: the part that the slopes' change proves
  Eigen::MatrixXd doubt;  // covariance of the rest
};

slope_bias clipping_bias(const lm_pool& pool, const lm_units& units, const lm_solution& solution,
                         double rows);

/// The variance of the difference between slopes and those of least squares by sampling alone, over
/// the sampling variance of the latter, if tails beyond the wide clip are as heavy as t^-3.
double robust_excess(const lm_pool& pool, const lm_units& units);

/// The weighted number of rows.
double effective_rows(const lm_pool& pool, double n);

/// `rows`: the number of rows for sampling errors.
lm_estimate estimate_full(const lm_pool& pool, const lm_units& units, double rows);

/// The pooled covariance at the fit, unshrunk except where noise makes it indefinite.
Eigen::MatrixXd floored_covariance(const lm_pool& pool, const Eigen::VectorXd& theta);

/// A model with some of the columns, from the same unshrunk moments, since shrinking one column's
/// share would change the others' slopes.
lm_estimate estimate_part(const lm_pool& pool, const lm_units& units, double rows,
                          const std::vector<int>& kept);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "pooled.cpp"
#endif
