// A counterfactual from released moments: ridge regression of the post-period on the pre-period,
// averaged over penalties by evidence. For the prediction of a donor's own row, for calibration,
// see row_prediction.hpp.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "../mechanism/calibration.hpp"
#include "fixed_normals.hpp"
#include "level_prior.hpp"
#include "predict_columns.hpp"
#include "row_prediction.hpp"

namespace dpsc {

enum class estimator_kind { ridge, did };

struct estimator_options {
  estimator_kind kind = estimator_kind::ridge;
  bool is_private = true;
  // Per donor, on rows; NaN: averaged over penalties by evidence, which needs noise.
  double penalty = std::numeric_limits<double>::quiet_NaN();
  Eigen::VectorXd half;  // T: half-width of the bounds, scaled units
  bool errors = true;    // false: paths alone, for simulations; covariances are zero
};

/// Of one target: path and covariances, scaled units. `prediction` is the prediction error of a
/// unit drawn like the donors, `regression` the error of the donors' own regression, `privacy` the
/// error from the noise before the path is shrunk, including the part hidden by shrinkage.
/// `released` is the remaining variation over releases; `hidden` is the part removed by shrinkage,
/// which becomes an error of the estimate.
struct target_estimate {
  Eigen::VectorXd path;          // T, level included
  Eigen::MatrixXd prediction;    // T1 x T1, of one person
  Eigen::MatrixXd privacy;       // T1 x T1
  Eigen::MatrixXd released;      // T1 x T1: of the path over releases, shrunk and within bounds
  Eigen::MatrixXd hidden;        // T1 x T1; empty without errors
  Eigen::MatrixXd disagreement;  // T1 x T1, of averaged penalties, plus doubt for far targets
  double leverage = 0.0;         // w' Sigma w: error of the regression, (1 + leverage) / n
  double penalty = 0.0;          // per donor
  double variation = 0.0;        // of the pre-period around its level, over the donors' variation
  double scale = 1.0;            // of one person's interval, from the variation
};

/// Effect of the release's errors on one target's counterfactual, to first order: noise N of the
/// whitened moments moves period t by <N, form_t>, noise e of their mean by e'g_t. Two targets of
/// one release share N, e and the donors' own regression.
struct linear_error {
  std::vector<Eigen::MatrixXd> form;  // T1 of whitened x whitened, symmetric
  Eigen::MatrixXd g;                  // whitened x T1: directions of the residual
  Eigen::VectorXd w;                  // p: of the donors' features in the prediction
};

/// The direction in which a target's prediction is most uncertain, in features' units.
struct target_direction {
  Eigen::MatrixXd slopes;  // p x T1
  Eigen::VectorXd h;       // p: a row counts 1 + h'(x - mean)
  double leverage = 0.0;   // h'Ch
  double residual = 0.0;   // residual variance, mean over the periods
};

/// Result of a round for the target, outcome units. RELEASED.
struct target_correction {
  Eigen::VectorXd mean;  // T1
  double sd = 0.0;
};

/// The regression behind a target's counterfactual, averaged over penalties in the same way.
struct mean_regression {
  Eigen::MatrixXd basis;   // T0 x p: features of a row
  Eigen::VectorXd u;       // p: the target's features minus the donors'
  double level = 0.0;      // of the target, if features are relative to it
  Eigen::MatrixXd slopes;  // p x T1
  Eigen::MatrixXd solve;   // p x p
};

/// Factor for the higher-order part of the variance over releases, from the frames of earlier
/// rounds and the weights of the penalties (measured: bench/battery.R).
constexpr double gram_inflation = 1.2;

/// The multiple of the donors' mean distance beyond which a target is far: estimates for people
/// there use few donors. Beyond it, a share of one person's variance per unit of this distance is
/// added as uncertainty (measured: bench/minority.R).
constexpr double far_target = 3.0, far_doubt = 0.15;

/// Few donors have a level this many standard deviations from the mean or farther (at most 1 in 5
/// on one side: Cantelli, 1928).
constexpr double far_level = 2.0;

class counterfactual_estimator {
 public:
  counterfactual_estimator(const gram_statistics& s, const estimator_options& options);

  /// The prediction of a target as a linear function: the aim of its own round.
  target_direction direction(const Eigen::VectorXd& pre) const;

  /// `correction`: from a round for this target.
  target_estimate target(const Eigen::VectorXd& pre,
                         const target_correction* correction = nullptr) const;

  /// Distance of a group's mean from the donors: the mean square of its features given its level,
  /// relative to a random mean's (one, on average). 0 if levels are not a feature.
  double apart(const Eigen::VectorXd& pre, double people, double donors) const;

  /// The effect of the release's errors on a target: averaged over penalties, scaled units.
  linear_error linear(const Eigen::VectorXd& pre) const;

  mean_regression regression(const Eigen::VectorXd& pre) const;

  const moments_model& model() const { return model_; }

  /// The constants for predicting a donor's own row.
  const prediction_constants& constants() const { return constants_; }

 private:
  void need_errors() const;

  static double square(double x) { return x * x; }

  // Covariance of the final path under noise with this covariance around the shrunken path: over
  // fixed normal vectors, so that only the release determines the result.
  Eigen::MatrixXd finished_covariance(const Eigen::VectorXd& post,
                                      const Eigen::MatrixXd& covariance, const row_features& own,
                                      double noise) const;

  // The largest standard deviation of a variable within [-half, half] (Popoviciu, 1935).
  void cap(Eigen::MatrixXd& covariance) const;

  // Variance after a correction along h: the noise of the slopes times the covariance's noise, and
  // times the part removed by the penalty.
  Eigen::MatrixXd second_order(const prediction_fit& fit, const Eigen::VectorXd& h) const;

  void add_fit(double penalty, double log_prior, const Eigen::MatrixXd& solve, double log_det,
               const Eigen::MatrixXd& slopes, const Eigen::MatrixXd& lift);

  void add_errors(prediction_fit& fit) const;

  void add_ridge(double penalty, double log_prior, const Eigen::MatrixXd& shape);

  void add_mean();

  void prepare();

  // The donors' mean square of the pre-period around each donor's level, and the variance of their
  // levels, both at least their own noise.
  void prepare_variation();

  // The scale of a target's interval: below one if the target varies less than the donors do on
  // average, unless few donors have its level. Outcomes vary less close to a bound: if many donors
  // are there, their errors show how far such an outcome may move later.
  double own_scale(const row_features& own) const;

  gram_statistics s_;
  estimator_options options_;
  moments_model model_;
  Eigen::MatrixXd forms_;  // T1 x (T1 + 1)
  Eigen::LDLT<Eigen::MatrixXd> basis_gram_;
  prediction_constants constants_;
  double level_variance_ = 0.0;  // along `prediction_constants::flat`
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "counterfactual.cpp"
#endif
